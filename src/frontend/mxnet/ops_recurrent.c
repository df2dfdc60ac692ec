/* MXNet's fused recurrent layers (RNN): several layers of RNN, GRU or LSTM, of one direction or two. All weights lie in
 * one list: of each layer and direction those of the data [gates * units, in] and of the state [gates * units, units];
 * behind them all biases in the same order. Gates are i f c o (LSTM) and r z n (GRU); nn.recurrent has i o f c and
 * z r n. */
#include "frontend/mxnet/mxnet.h"

#include <string.h>

enum { RNN_RELU, RNN_TANH, LSTM, GRU };

typedef struct stack {
    int kind;
    int64_t gates, units, layers, directions, used; /* used: of the list */
    tn_value list;
    tn_recurrent_attr attr;
} stack;

static const int *order_of(const stack *s)
{
    static const int plain[] = {0}, lstm[] = {0, 3, 1, 2}, gru[] = {1, 0, 2};
    return s->kind == LSTM ? lstm : s->kind == GRU ? gru : plain;
}

/* The next n elements of the list. */
static tn_value next(imp_node *c, stack *s, int64_t n)
{
    tn_value v = imp_slice(c, s->list, 0, s->used, s->used + n);
    s->used += n;
    return v;
}

/* Gates [gates * units, width] in the order of nn.recurrent; width 0: a list. */
static tn_value reordered(imp_node *c, const stack *s, tn_value v, int64_t width)
{
    const tn_expr *dim[2] = {tn_idx(c->pool, s->gates * s->units), tn_idx(c->pool, width)};
    tn_value part[4];
    v = imp_reshape(c, v, width ? 2 : 1, dim);
    for (int g = 0; g < s->gates && s->gates > 1; g++) {
        int64_t from = order_of(s)[g] * s->units;
        part[g] = imp_slice(c, v, 0, from, from + s->units);
    }
    return s->gates > 1 ? imp_concat(c, (uint32_t)s->gates, part, 0) : v;
}

/* State k of layer and direction `i`; absent where it begins with zeros. */
static tn_value state_of(imp_node *c, uint32_t k, int64_t i)
{
    tn_value v = imp_opt(c, k);
    if (!v.def || imp_rank(v) != 3 || tn_is_value(imp_type(v)->dim[1], 0))
        return (tn_value){0};
    return imp_squeeze(c, imp_slice(c, v, 0, i, i + 1), 0);
}

typedef struct cell { /* weights of one layer and direction */
    tn_value w, r, wb, rb;
} cell;

/* The bias of the data: both, but of GRU's new gate the state's is added before the reset, *inner. */
static tn_value bias_of(imp_node *c, const stack *s, const cell *k, tn_value *inner)
{
    *inner = (tn_value){0};
    if (s->kind != GRU)
        return imp_binary(c, &tn_op_add, k->wb, k->rb);
    const int64_t around[] = {0, s->units};
    tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 2, around), .pad_mode = "constant"};
    *inner = imp_slice(c, k->rb, 0, 2 * s->units, 3 * s->units);
    tn_value gates = imp_call1(c, &tn_op_nn_pad, &zeros, imp_slice(c, k->rb, 0, 0, 2 * s->units));
    return imp_binary(c, &tn_op_add, k->wb, gates);
}

static tn_value run_cell(imp_node *c, stack *s, tn_value x, const cell *k, int64_t i, bool reverse)
{
    const tn_expr *dim[3] = {tn_idx(c->pool, s->gates), tn_idx(c->pool, s->units), tn_idx(c->pool, s->units)};
    tn_value in[7] = {{0}}, bias = bias_of(c, s, k, &in[5]);
    in[0] = imp_layer_dense(c, x, k->w, bias);
    in[1] = imp_reshape(c, k->r, 3, dim);
    in[2] = state_of(c, 2, i);
    if (s->kind == LSTM)
        in[3] = state_of(c, 3, i);
    s->attr.reverse = reverse;
    return imp_call(c, &tn_op_nn_recurrent, &s->attr, 7, in);
}

static bool read_stack(imp_node *c, stack *s)
{
    static const char *const modes[] = {"rnn_relu", "rnn_tanh", "lstm", "gru", NULL};
    static const char *const cells[] = {"rnn", "rnn", "lstm", "gru"}, *const acts[] = {"relu", "", "", ""};
    static const int gates[] = {1, 1, 4, 3};
    imp_attr_need(c, "mode");
    *s = (stack){.kind = mx_choice(c, "mode", LSTM, modes), .units = mx_int(c, "state_size", 0)};
    s->gates = gates[s->kind];
    s->layers = mx_int(c, "num_layers", 1);
    s->directions = mx_bool(c, "bidirectional", false) ? 2 : 1;
    s->attr.cell = cells[s->kind];
    s->attr.activations = tn_intern(c->g->ctx, acts[s->kind]);
    s->attr.linear_before_reset = s->kind == GRU;
    s->list = imp_in(c, 1);
    imp_attr_ignore(c, "p"); /* dropout */
    imp_attr_ignore(c, "state_outputs");
    imp_attr_ignore(c, "lstm_state_clip_nan");
    if (mx_int(c, "projection_size", 0) || mx_bool(c, "use_sequence_length", false) ||
        mx_text(c, "lstm_state_clip_min", NULL) || mx_text(c, "lstm_state_clip_max", NULL))
        imp_refuse(c, IMP_BAD_VALUE,
                   "projections, clipped states and lengths of sequences are not supported");
    if (s->units < 1 || s->units > 1 << 20 || s->layers < 1 || s->layers > 256)
        imp_refuse(c, IMP_BAD_VALUE, "state_size is %lld and num_layers is %lld", (long long)s->units,
                   (long long)s->layers);
    return !c->bad;
}

/* Weights of all layers, then all biases. */
static cell *read_cells(imp_node *c, stack *s, int64_t in)
{
    int64_t n = s->layers * s->directions, rows = s->gates * s->units, all, units = s->units;
    cell *k = TN_NEW_N(c->arena, cell, (size_t)n);
    int64_t need =
        rows * s->directions * ((in + units + 2) + (s->layers - 1) * (s->directions * units + units + 2));
    if (imp_rank(s->list) != 1 || !tn_is_int(imp_type(s->list)->dim[0], &all) || all != need)
        imp_refuse(c, IMP_OPERANDS, "the weights are %s, but %lld numbers are needed",
                   imp_type_text(c, imp_type(s->list)), (long long)need);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t width = i < s->directions ? in : s->directions * s->units;
        k[i].w = reordered(c, s, next(c, s, rows * width), width);
        k[i].r = reordered(c, s, next(c, s, rows * s->units), s->units);
    }
    for (int64_t i = 0; i < n && !c->bad; i++) {
        k[i].wb = reordered(c, s, next(c, s, rows), 0);
        k[i].rb = reordered(c, s, next(c, s, rows), 0);
    }
    return k;
}

static void rnn(imp_node *c)
{
    stack s;
    tn_value x = imp_in(c, 0);
    int64_t in;
    if (!read_stack(c, &s))
        return;
    if (imp_rank(x) != 3 || !tn_is_int(imp_type(x)->dim[2], &in) || in > 1 << 24) {
        imp_refuse(c, IMP_OPERANDS, "data %s must be [steps, batch, width]", imp_type_text(c, imp_type(x)));
        return;
    }
    const cell *k = read_cells(c, &s, in);
    size_t n = (size_t)(s.layers * s.directions);
    tn_value *last = TN_NEW_N(c->arena, tn_value, 2 * n), part[2];
    for (int64_t i = 0; i < (int64_t)n && !c->bad; i++) {
        int64_t d = i % s.directions;
        tn_value y = run_cell(c, &s, x, &k[i], i, d == 1);
        part[d] = y;
        last[i] = imp_unsqueeze(c, (tn_value){y.def, 1}, 0);
        if (s.kind == LSTM)
            last[n + (size_t)i] = imp_unsqueeze(c, (tn_value){y.def, 2}, 0);
        if (d == s.directions - 1)
            x = imp_concat(c, (uint32_t)s.directions, part, 2);
    }
    if (c->bad)
        return;
    imp_out(c, 0, x);
    if (c->n_out > 1)
        imp_out(c, 1, imp_concat(c, (uint32_t)n, last, 0));
    if (c->n_out > 2 && s.kind == LSTM)
        imp_out(c, 2, imp_concat(c, (uint32_t)n, last + n, 0));
}

// clang-format off
const imp_row mx_rows_recurrent[] = {
    {"RNN",      0, 0, 4, 3, rnn, NULL},
    {"_npx_rnn", 0, 0, 4, 3, rnn, NULL},
    {0},
};
// clang-format on
