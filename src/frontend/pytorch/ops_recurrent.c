/* Recurrent layers and cells: the projection of all inputs is one layer, the recurrence nn.recurrent, one for each
 * direction. PyTorch's gates stand in another order than those of nn.recurrent. */
#include "frontend/pytorch/ops.h"

#include <string.h>

typedef struct kind {
    const char *cell, *activations;
    int gates;
    int order[4]; /* which gate of PyTorch's is gate i */
} kind;

static const kind lstm = {"lstm", "", 4, {0, 3, 1, 2}}, gru = {"gru", "", 3, {1, 0, 2}},
                  rnn_tanh = {"rnn", "tanh", 1, {0}}, rnn_relu = {"rnn", "relu", 1, {0}};

static const kind *kind_of(imp_node *c)
{
    const char *s = pt_of(c)->row->schema;
    return *s == 'l' ? &lstm : *s == 'g' ? &gru : strncmp(s, "rnn_relu", 8) == 0 ? &rnn_relu : &rnn_tanh;
}

/* The rows of a weight or bias in the order of nn.recurrent. */
static tn_value ordered(imp_node *c, const kind *k, tn_value v, int64_t units)
{
    tn_value part[4];
    if (!v.def || k->gates == 1)
        return v;
    for (int i = 0; i < k->gates; i++)
        part[i] = imp_slice(c, v, 0, k->order[i] * units, (k->order[i] + 1) * units);
    return imp_concat(c, (uint32_t)k->gates, part, 0);
}

typedef struct weights {
    tn_value w, r, bw, br; /* biases may be absent */
} weights;

/* x [steps, batch, width]; the node's results are all steps and the last states. */
static tn_value direction(imp_node *c, const kind *k, tn_value x, const weights *p, tn_value h, tn_value s,
                          bool reverse)
{
    int64_t units = 0;
    tn_value in[7] = {{0}}, rbias = {0};
    if (c->bad || imp_rank(p->r) != 2 || !tn_is_int(imp_type(p->r)->dim[1], &units)) {
        imp_refuse(c, IMP_OPERANDS, "the weights of a recurrent layer must be matrices of known width");
        return (tn_value){0};
    }
    tn_value bias = ordered(c, k, p->bw, units), br = ordered(c, k, p->br, units);
    if (k == &gru && br.def) { /* the last part is multiplied by the reset gate */
        tn_value part[2] = {imp_slice(c, br, 0, 0, 2 * units)};
        rbias = imp_slice(c, br, 0, 2 * units, 3 * units);
        part[1] = pt_mul(c, rbias, pt_num(c, rbias, 0));
        br = imp_concat(c, 2, part, 0);
    }
    bias = bias.def && br.def ? pt_add(c, bias, br) : bias.def ? bias : br;
    const tn_expr *rdim[] = {tn_idx(c->pool, k->gates), tn_idx(c->pool, units), tn_idx(c->pool, units)};
    tn_value w = ordered(c, k, p->w, units);
    in[0] = pt_linear(c, x, w, bias);
    in[1] = imp_reshape(c, ordered(c, k, p->r, units), 3, rdim);
    in[2] = h;
    in[3] = s;
    in[5] = rbias;
    tn_recurrent_attr a;
    (void)tn_attr_init(c->pool, tn_op_nn_recurrent.attr, sizeof a, &a);
    a.cell = k->cell;
    a.activations = k->activations;
    a.reverse = reverse;
    a.linear_before_reset = k == &gru;
    return imp_call(c, &tn_op_nn_recurrent, &a, 7, in);
}

/* ---- cells: one step ---- */

static tn_value batched(imp_node *c, tn_value v) { return imp_rank(v) == 1 ? imp_unsqueeze(c, v, 0) : v; }

static void cell(imp_node *c)
{
    const kind *k = kind_of(c);
    tn_value x = pt_in(c, 0), h, s = {0};
    uint32_t n;
    bool alone = imp_rank(x) == 1;
    if (k == &lstm) {
        tn_value *state = pt_list_in(c, 1, &n);
        h = n == 2 ? batched(c, state[0]) : (tn_value){0};
        s = n == 2 ? batched(c, state[1]) : (tn_value){0};
    } else {
        h = batched(c, pt_in(c, 1));
    }
    weights p = {pt_in(c, 2), pt_in(c, 3), pt_in(c, 4), pt_in(c, 5)};
    tn_value y = direction(c, k, imp_unsqueeze(c, batched(c, x), 0), &p, h, s, false),
             out[2] = {{y.def, 1}, {y.def, 2}};
    for (int i = 0; i < 2 && alone && !c->bad; i++)
        out[i] = i == 0 || k == &lstm ? imp_squeeze(c, out[i], 0) : out[i];
    if (k == &lstm)
        pt_out_many(c, PT_TUPLE, 2, out);
    else
        pt_out(c, out[0]);
}

/* ---- layers ---- */

/* State number i of [layers * directions, batch, units]. */
static tn_value state_of(imp_node *c, tn_value all, int64_t i)
{
    return all.def ? pt_select(c, all, 0, i) : all;
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) */
static void layers(imp_node *c)
{
    const kind *k = kind_of(c);
    uint32_t n_state = 1, n;
    tn_value x = pt_in(c, 0), state[2] = {{0}};
    if (k == &lstm) {
        tn_value *list = pt_list_in(c, 1, &n_state);
        for (uint32_t i = 0; i < 2 && i < n_state; i++)
            state[i] = list[i];
    } else {
        state[0] = pt_in(c, 1);
    }
    tn_value *p = pt_list_in(c, 2, &n);
    bool biases = pt_truth(c, 3), two = pt_truth(c, 7), batch_first = pt_truth(c, 8),
         alone = imp_rank(x) == 2;
    int64_t count = pt_integer(c, 4), ways = two ? 2 : 1;
    uint32_t each = biases ? 4 : 2;
    if (pt_truth(c, 6) && pt_real(c, 5) != 0)
        imp_refuse(c, IMP_BAD_VALUE,
                   "dropout in training mode is not supported; call model.eval() before saving it");
    if (!c->bad && (count < 1 || count > 256 || n != (uint32_t)(count * ways) * each))
        imp_refuse(c, IMP_OPERANDS, "a recurrent layer has %u weights (projections are not supported)",
                   (unsigned)n);
    if (c->bad)
        return;
    x = alone ? imp_unsqueeze(c, x, 1) : batch_first ? pt_swap(c, x, 0, 1) : x;
    for (int i = 0; i < 2 && alone; i++)
        state[i] = state[i].def ? imp_unsqueeze(c, state[i], 1) : state[i];
    tn_value *last = TN_NEW_N(c->arena, tn_value, (size_t)(2 * count * ways));
    for (int64_t l = 0; l < count && !c->bad; l++) {
        tn_value way[2];
        for (int64_t d = 0; d < ways && !c->bad; d++) {
            int64_t i = l * ways + d;
            const tn_value *w = p + i * each;
            weights q = {w[0], w[1], biases ? w[2] : (tn_value){0}, biases ? w[3] : (tn_value){0}};
            tn_value h = state_of(c, state[0], i), s = state_of(c, state[1], i);
            way[d] = direction(c, k, x, &q, h, s, d == 1);
            last[i] = c->bad ? way[d] : imp_unsqueeze(c, (tn_value){way[d].def, 1}, 0);
            if (k == &lstm && !c->bad)
                last[count * ways + i] = imp_unsqueeze(c, (tn_value){way[d].def, 2}, 0);
        }
        x = c->bad ? x : imp_concat(c, (uint32_t)ways, way, 2);
    }
    if (c->bad)
        return;
    tn_value out[3] = {alone ? imp_squeeze(c, x, 1) : batch_first ? pt_swap(c, x, 0, 1) : x};
    for (int i = 0; i < (k == &lstm ? 2 : 1); i++) {
        out[i + 1] = imp_concat(c, (uint32_t)(count * ways), last + i * count * ways, 0);
        out[i + 1] = alone ? imp_squeeze(c, out[i + 1], 1) : out[i + 1];
    }
    pt_out_many(c, PT_TUPLE, k == &lstm ? 3 : 2, out);
}

#define CELL "(Tensor input, any hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"
#define LAYERS \
    "(Tensor input, any hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, " \
    "bool " \
    "bidirectional, bool batch_first)"
const pt_row pt_rows_recurrent[] = {
    {"lstm_cell" CELL, cell, NULL, 0},
    {"gru_cell" CELL, cell, NULL, 0},
    {"rnn_tanh_cell" CELL, cell, NULL, 0},
    {"rnn_relu_cell" CELL, cell, NULL, 0},
    {"lstm" LAYERS, layers, NULL, 0},
    {"gru" LAYERS, layers, NULL, 0},
    {"rnn_tanh" LAYERS, layers, NULL, 0},
    {"rnn_relu" LAYERS, layers, NULL, 0},
    {0},
};
