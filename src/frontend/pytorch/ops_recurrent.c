/* Recurrent layers and cells: the projection of all inputs is one layer, the recurrence nn.recurrent, one for each
 * direction. PyTorch's gates stand in another order than those of nn.recurrent. An LSTM whose states are projected goes
 * step by step. Packed sequences are unpacked to one length (architectures/operators.py). */
#include "frontend/pytorch/ops.h"

#include "frontend/import/scan.h"

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
    tn_value w, r, bw, br,
        project; /* biases may be absent; project: of what an LSTM gives to its next step */
} weights;

/* x [steps, batch, width]; the node's results are all steps and the last states. lens: how many steps of each row of
 * the batch count; absent: all. */
static tn_value direction(imp_node *c, const kind *k, tn_value x, const weights *p, tn_value h, tn_value s,
                          tn_value lens, bool reverse)
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
    in[6] = lens;
    tn_recurrent_attr a;
    (void)tn_attr_init(c->pool, tn_op_nn_recurrent.attr, sizeof a, &a);
    a.cell = k->cell;
    a.activations = k->activations;
    a.reverse = reverse;
    a.linear_before_reset = k == &gru;
    return imp_call(c, &tn_op_nn_recurrent, &a, 7, in);
}

/* ---- LSTM with projected states ---- */

/* A step of i, f, g and o, as PyTorch has them; x: what they are without the state. */
static void projected_step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    static const tn_op *const gate[4] = {&tn_op_sigmoid, &tn_op_sigmoid, &tn_op_tanh, &tn_op_sigmoid};
    const weights *p = s->user;
    tn_value all = pt_add(c, x, pt_linear(c, state[0], p->r, (tn_value){0})), g[4] = {{0}};
    int64_t units = 0;
    if (c->bad || imp_rank(p->project) != 2 || !tn_is_int(imp_type(p->project)->dim[1], &units))
        imp_refuse(c, IMP_OPERANDS, "the weights of a recurrent layer must be matrices of known width");
    for (int i = 0; i < 4 && !c->bad; i++)
        g[i] = imp_unary(c, gate[i], imp_slice(c, all, 1, i * units, (i + 1) * units));
    if (c->bad)
        return;
    tn_value kept = pt_mul(c, g[1], state[1]), added = pt_mul(c, g[0], g[2]);
    state[1] = pt_add(c, kept, added);
    state[0] = pt_linear(c, pt_mul(c, g[3], imp_unary(c, &tn_op_tanh, state[1])), p->project, (tn_value){0});
    *out = state[0];
}

/* [batch, steps]: is the step below the row's length? */
static tn_value counted(imp_node *c, tn_value lens, tn_value x)
{
    if (!lens.def || c->bad)
        return (tn_value){0};
    tn_value step = imp_count_up(c, imp_type(x)->dim[1]);
    return imp_binary(c, &tn_op_less, step, imp_unsqueeze(c, lens, 1));
}

/* As `direction`; out: all steps, the last h and the last state of the cell. */
static void projected(imp_node *c, tn_value x, const weights *p, const tn_value state[2], tn_value lens,
                      bool reverse, tn_value out[3])
{
    tn_value bias = p->bw.def && p->br.def ? pt_add(c, p->bw, p->br) : p->bw;
    if (c->bad || !state[0].def || !state[1].def) {
        imp_refuse(c, IMP_OPERANDS, "an LSTM with projections needs its first states");
        return;
    }
    x = pt_swap(c, pt_linear(c, x, p->w, bias), 0, 1);
    imp_scan s = {.x = x,
                  .mask = counted(c, lens, x),
                  .backwards = reverse,
                  .zero_masked = true,
                  .collects = true,
                  .n_state = 2,
                  .state = {state[0], state[1]},
                  .step = projected_step,
                  .user = p,
                  .step_type = imp_type(state[0])};
    imp_do_scan(c, &s);
    if (c->bad)
        return;
    out[0] = pt_swap(c, s.all, 0, 1);
    out[1] = s.state[0];
    out[2] = s.state[1];
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
    weights p = {pt_in(c, 2), pt_in(c, 3), pt_in(c, 4), pt_in(c, 5), {0}};
    tn_value y = direction(c, k, imp_unsqueeze(c, batched(c, x), 0), &p, h, s, (tn_value){0}, false),
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

typedef struct stack { /* of layers */
    const kind *k;
    const tn_value *p; /* weights of all directions of all layers */
    uint32_t each;     /* weights of one direction */
    bool biases;
    int64_t count, ways;
    tn_value state[2], lens; /* may be absent */
} stack;

/* Direction d of layer l; out: all steps and the last states. */
static void run_direction(imp_node *c, const stack *s, tn_value x, int64_t l, int64_t d, tn_value out[3])
{
    int64_t i = l * s->ways + d;
    const tn_value *w = s->p + i * s->each;
    uint32_t n = s->biases ? 4 : 2;
    weights q = {.w = w[0], .r = w[1]};
    if (s->biases) {
        q.bw = w[2];
        q.br = w[3];
    }
    tn_value state[2] = {state_of(c, s->state[0], i), state_of(c, s->state[1], i)};
    if (s->each > n) {
        q.project = w[n];
        projected(c, x, &q, state, s->lens, d == 1, out);
        return;
    }
    tn_value y = direction(c, s->k, x, &q, state[0], state[1], s->lens, d == 1);
    for (uint32_t r = 0; r < 3 && !c->bad; r++)
        out[r] = (tn_value){y.def, r};
}

/* x [steps, batch, width]; last: the last states of all directions, h before those of the cells. */
static tn_value run_stack(imp_node *c, const stack *s, tn_value x, tn_value *last)
{
    int64_t n = s->count * s->ways;
    for (int64_t l = 0; l < s->count && !c->bad; l++) {
        tn_value way[2];
        for (int64_t d = 0; d < s->ways && !c->bad; d++) {
            tn_value y[3] = {{0}};
            run_direction(c, s, x, l, d, y);
            way[d] = y[0];
            for (int r = 0; r < (s->k == &lstm ? 2 : 1) && !c->bad; r++)
                last[r * n + l * s->ways + d] = imp_unsqueeze(c, y[1 + r], 0);
        }
        x = c->bad ? x : imp_concat(c, (uint32_t)s->ways, way, 2);
    }
    return x;
}

/* The arguments (hx, params, has_biases, num_layers, dropout, train, bidirectional) from number i on. */
static stack read_stack(imp_node *c, int i)
{
    stack s = {.k = kind_of(c), .biases = pt_truth(c, i + 2), .count = pt_integer(c, i + 3)};
    uint32_t n_state = 1, n;
    if (s.k == &lstm) {
        tn_value *list = pt_list_in(c, i, &n_state);
        for (uint32_t j = 0; j < 2 && j < n_state; j++)
            s.state[j] = list[j];
    } else {
        s.state[0] = pt_in(c, i);
    }
    s.p = pt_list_in(c, i + 1, &n);
    s.ways = pt_truth(c, i + 6) ? 2 : 1;
    if (pt_truth(c, i + 5) && pt_real(c, i + 4) != 0)
        imp_refuse(c, IMP_BAD_VALUE,
                   "dropout in training mode is not supported; call model.eval() before saving it");
    bool counted = !c->bad && s.count >= 1 && s.count <= 256;
    s.each = counted ? n / (uint32_t)(s.count * s.ways) : 0;
    uint32_t least = s.biases ? 4 : 2, more = s.each == least + 1 && s.k == &lstm;
    if (!c->bad && (!counted || s.each != least + more || n != (uint32_t)(s.count * s.ways) * s.each))
        imp_refuse(c, IMP_OPERANDS, "a recurrent layer of %lld levels has %u weights", (long long)s.count,
                   (unsigned)n);
    return s;
}

/* The last states as results 1 and 2. */
static void join_states(imp_node *c, const stack *s, const tn_value *last, tn_value out[3])
{
    uint32_t n = (uint32_t)(s->count * s->ways);
    for (int i = 0; i < (s->k == &lstm ? 2 : 1); i++)
        out[i + 1] = imp_concat(c, n, last + (size_t)i * n, 0);
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) */
static void layers(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    bool batch_first = pt_truth(c, 8), alone = imp_rank(x) == 2;
    stack s = read_stack(c, 1);
    if (c->bad)
        return;
    x = alone ? imp_unsqueeze(c, x, 1) : batch_first ? pt_swap(c, x, 0, 1) : x;
    for (int i = 0; i < 2 && alone; i++)
        s.state[i] = s.state[i].def ? imp_unsqueeze(c, s.state[i], 1) : s.state[i];
    tn_value *last = TN_NEW_N(c->arena, tn_value, (size_t)(2 * s.count * s.ways)), out[3];
    x = run_stack(c, &s, x, last);
    if (c->bad)
        return;
    out[0] = alone ? imp_squeeze(c, x, 1) : batch_first ? pt_swap(c, x, 0, 1) : x;
    join_states(c, &s, last, out);
    for (int i = 1; i < 3 && alone && !c->bad; i++)
        out[i] = i == 1 || s.k == &lstm ? imp_squeeze(c, out[i], 1) : out[i];
    pt_out_many(c, PT_TUPLE, s.k == &lstm ? 3 : 2, out);
}

/* ---- packed sequences ---- */

/* (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) */
static void packed_layers(imp_node *c)
{
    pt_import *p = pt_of(c)->p;
    stack s = read_stack(c, 2);
    if (c->bad || imp_rank(s.state[0]) != 3) {
        imp_refuse(c, IMP_OPERANDS, "layers over packed sequences need their first states");
        return;
    }
    pt_value size = pt_number_of(p, PT_INT, imp_extent_of(c, s.state[0], 1)),
             in[3] = {pt_arg(c, 0), pt_arg(c, 1), size}, x = pt_library_call(c, "unpacked", 3, in);
    if (c->bad)
        return;
    s.lens = pt_as(c, pt_at(x, 1), TN_I64);
    tn_value *last = TN_NEW_N(c->arena, tn_value, (size_t)(2 * s.count * s.ways)), out[3];
    tn_value y = run_stack(c, &s, pt_as_tensor(c, pt_at(x, 0)), last);
    if (c->bad)
        return;
    in[0] = pt_tensor_new(p, y);
    in[2] = pt_number_of(p, PT_INT, imp_extent_of(c, pt_in(c, 0), 0));
    out[0] = pt_as_tensor(c, pt_library_call(c, "packed", 3, in));
    join_states(c, &s, last, out);
    if (!c->bad)
        pt_out_many(c, PT_TUPLE, s.k == &lstm ? 3 : 2, out);
}

#define CELL "(Tensor input, any hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"
#define LAYERS \
    "(Tensor input, any hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, " \
    "bool " \
    "bidirectional, bool batch_first)"
#define PACKED \
    "(Tensor data, Tensor batch_sizes, any hx, Tensor[] params, bool has_biases, int num_layers, float " \
    "dropout, " \
    "bool train, bool bidirectional)"
const pt_row pt_rows_recurrent[] = {
    {"lstm_cell" CELL, cell, NULL, 0},
    {"gru_cell" CELL, cell, NULL, 0},
    {"rnn_tanh_cell" CELL, cell, NULL, 0},
    {"rnn_relu_cell" CELL, cell, NULL, 0},
    {"lstm" LAYERS, layers, NULL, 0},
    {"lstm" PACKED, packed_layers, NULL, 0},
    {"gru" LAYERS, layers, NULL, 0},
    {"gru" PACKED, packed_layers, NULL, 0},
    {"rnn_tanh" LAYERS, layers, NULL, 0},
    {"rnn_tanh" PACKED, packed_layers, NULL, 0},
    {"rnn_relu" LAYERS, layers, NULL, 0},
    {"rnn_relu" PACKED, packed_layers, NULL, 0},
    {0},
};
