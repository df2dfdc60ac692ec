/* Recurrent layers: rnn, a stack of layers in one or both directions over [steps, batch, width]. */
#include "frontend/paddle/paddle.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

typedef struct cell { /* gates of the model in the order of nn.recurrent */
    const char *mode, *name, *activations;
    int gates, order[4];
} cell;

static const cell cells[] = {{"LSTM", "lstm", "", 4, {0, 3, 1, 2}},
                             {"GRU", "gru", "", 3, {1, 0, 2}},
                             {"RNN_TANH", "rnn", "tanh", 1, {0}},
                             {"RNN_RELU", "rnn", "relu", 1, {0}}};

typedef struct stack {
    const cell *cell;
    int64_t units, layers, ways;
    uint32_t n_weight; /* matrices: as many biases follow, or none */
    bool biases;
    tn_value lengths;
} stack;

static tn_value ordered(imp_node *c, const stack *s, tn_value v)
{
    tn_value part[4];
    const cell *k = s->cell;
    for (int i = 0; i < k->gates && !c->bad; i++)
        part[i] = imp_slice(c, v, 0, k->order[i] * s->units, (k->order[i] + 1) * s->units);
    return k->gates == 1 || c->bad ? v : imp_concat(c, (uint32_t)k->gates, part, 0);
}

/* The addend of all gates; of a GRU's new state, what the reset gate multiplies stays apart. */
static tn_value bias_of(imp_node *c, const stack *s, uint32_t at, tn_value *apart)
{
    if (!s->biases)
        return (tn_value){0};
    tn_value w = ordered(c, s, pd_at(c, "WeightList", s->n_weight + at)),
             r = ordered(c, s, pd_at(c, "WeightList", s->n_weight + at + 1));
    if (s->cell->gates == 3 && !c->bad) {
        int64_t around[] = {0, s->units};
        tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 2, around), .pad_mode = "constant"};
        *apart = imp_slice(c, r, 0, 2 * s->units, 3 * s->units);
        r = imp_call1(c, &tn_op_nn_pad, &zeros, imp_slice(c, r, 0, 0, 2 * s->units));
    }
    return imp_binary(c, &tn_op_add, w, r);
}

static tn_value state_of(imp_node *c, uint32_t which, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, pd_at(c, "PreState", which), 0, i, i + 1), 0);
}

static tn_value direction(imp_node *c, const stack *s, tn_value x, int64_t i, bool reverse)
{
    const tn_expr *dim[] = {tn_idx(c->pool, s->cell->gates), tn_idx(c->pool, s->units),
                            tn_idx(c->pool, s->units)};
    tn_value in[7] = {{0}}, bias = bias_of(c, s, (uint32_t)(2 * i), &in[5]);
    in[0] = imp_layer_dense(c, x, ordered(c, s, pd_at(c, "WeightList", (uint32_t)(2 * i))), bias);
    in[1] = imp_reshape(c, ordered(c, s, pd_at(c, "WeightList", (uint32_t)(2 * i + 1))), 3, dim);
    in[2] = state_of(c, 0, i);
    if (s->cell->gates == 4)
        in[3] = state_of(c, 1, i);
    in[6] = s->lengths;
    tn_recurrent_attr a;
    (void)tn_attr_init(c->pool, tn_op_nn_recurrent.attr, sizeof a, &a);
    a.cell = s->cell->name;
    a.activations = s->cell->activations;
    a.reverse = reverse;
    a.linear_before_reset = s->cell->gates == 3;
    return imp_call(c, &tn_op_nn_recurrent, &a, 7, in);
}

static bool read_stack(imp_node *c, stack *s)
{
    const char *mode = imp_attr_string(c, "mode", "RNN_TANH");
    *s = (stack){.units = imp_attr_int(c, "hidden_size", 0),
                 .layers = imp_attr_int(c, "num_layers", 1),
                 .ways = pd_bool(c, "is_bidirec", false) ? 2 : 1,
                 .lengths = imp_cast(c, pd_opt(c, "SequenceLength"), TN_I64)};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (strcmp(mode, cells[i].mode) == 0)
            s->cell = &cells[i];
    imp_attr_ignore(c, "dropout_prob");
    imp_attr_ignore(c, "input_size");
    imp_attr_ignore(c, "seed");
    (void)pd_count(c, "DropoutState");
    if (!c->bad && !s->cell)
        imp_refuse(c, IMP_BAD_VALUE, "mode is \"%s\"; LSTM, GRU, RNN_TANH and RNN_RELU are known", mode);
    if (!c->bad && (s->units < 1 || s->units > 1 << 20 || s->layers < 1 || s->layers > 256))
        imp_refuse(c, IMP_BAD_VALUE, "hidden_size is %lld and num_layers is %lld", (long long)s->units,
                   (long long)s->layers);
    if (c->bad)
        return false;
    s->n_weight = (uint32_t)(2 * s->layers * s->ways);
    s->biases = pd_count(c, "WeightList") == 2 * s->n_weight;
    if (pd_count(c, "WeightList") != s->n_weight && !s->biases)
        imp_refuse(c, IMP_OPERANDS, "it has %u weights, but %u are needed",
                   (unsigned)pd_count(c, "WeightList"), 2 * s->n_weight);
    return !c->bad;
}

static void rnn(imp_node *c)
{
    stack s;
    tn_value x = pd_in(c, "Input"), part[2];
    if (!read_stack(c, &s))
        return;
    int64_t n = s.layers * s.ways;
    tn_value *last = TN_NEW_N(c->arena, tn_value, (size_t)(2 * n));
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t d = i % s.ways;
        tn_value y = part[d] = direction(c, &s, x, i, d == 1);
        last[i] = imp_unsqueeze(c, (tn_value){y.def, 1}, 0);
        if (s.cell->gates == 4)
            last[n + i] = imp_unsqueeze(c, (tn_value){y.def, 2}, 0);
        if (d == s.ways - 1)
            x = imp_concat(c, (uint32_t)s.ways, part, 2);
    }
    if (c->bad)
        return;
    pd_out(c, "Out", x);
    pd_out_at(c, "State", 0, imp_concat(c, (uint32_t)n, last, 0));
    if (s.cell->gates == 4)
        pd_out_at(c, "State", 1, imp_concat(c, (uint32_t)n, last + n, 0));
}

// clang-format off
const imp_row pd_rows_recurrent[] = {
    {"rnn", 1, 0, -1, -1, rnn, NULL},
    {0},
};
// clang-format on
