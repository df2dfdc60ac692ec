/* Recurrent layers: RNN, GRU, LSTM. The projection of the inputs is an nn.dense over all steps at once, the
 * recurrence nn.recurrent, one for each direction; its results are Y, Y_h and Y_c. The recurrence of
 * DynamicQuantizeLSTM, which quantises its state before every step, is a loop of Relay. */
#include "frontend/import/scan.h"
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X = 0, W, R, B, LENS, H0, C0, PEEP };

typedef struct layer {
    const char *cell;
    int64_t gates, units, directions, n_activation;
    bool batch_first, linear_before_reset;
    tn_recurrent_attr attr;
    const char *activations; /* of all directions, "name:alpha:beta" with blanks between; "" the default */
    tn_value w, r, b;        /* of all directions; b may be absent */
} layer;

/* ---- attributes ---- */

static const char *const takes_alpha = " affine leakyrelu thresholdedrelu scaledtanh hardsigmoid elu ",
                         *const takes_beta = " affine scaledtanh hardsigmoid ";

static bool takes(const char *list, const char *name)
{
    char word[40];
    return strlen(name) < 36 && (snprintf(word, sizeof word, " %s ", name), strstr(list, word) != NULL);
}

/* The next entry of a list of floats, if the activation takes one; entries go to those that take them, in order. */
static bool next_float(const imp_attr *list, size_t *at, double *out)
{
    if (!list || *at >= list->floats.n)
        return false;
    *out = (double)list->floats.at[(*at)++];
    return true;
}

/* `count` activations from the `first`-th on, as nn.recurrent takes them. */
static const char *activations_of(imp_node *c, const imp_attr *names, size_t first, size_t count)
{
    const imp_attr *alpha = imp_attr_find(c, "activation_alpha", IMP_A_FLOATS),
                   *beta = imp_attr_find(c, "activation_beta", IMP_A_FLOATS);
    const char *text = "";
    size_t a = 0, b = 0;
    for (size_t i = 0; names && i < first + count; i++) {
        const tn_bytes s = names->texts.at[i];
        char *name = tn_arena_strndup(c->arena, (const char *)s.at, s.n);
        double value;
        for (char *p = name; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        const char *word = name;
        bool given = takes(takes_alpha, name) && next_float(alpha, &a, &value);
        if (given)
            word = tn_arena_printf(c->arena, "%s:%.17g", name, value);
        if (takes(takes_beta, name) && next_float(beta, &b, &value))
            word = tn_arena_printf(c->arena, "%s%s:%.17g", word, given ? "" : ":1", value);
        if (i >= first)
            text = tn_arena_printf(c->arena, "%s%s%s", text, *text ? " " : "", word);
    }
    return text;
}

static void read_direction(imp_node *c, layer *l)
{
    const char *d = imp_attr_string(c, "direction", "forward");
    if (strcmp(d, "foward") == 0) /* so the specification had it in opset 1 */
        d = "forward";
    l->directions = strcmp(d, "bidirectional") == 0 ? 2 : 1;
    l->attr.reverse = strcmp(d, "reverse") == 0;
    if (l->directions == 1 && !l->attr.reverse && strcmp(d, "forward") != 0)
        imp_fail(c, "onnx-E009", "direction is \"%s\"; forward, reverse and bidirectional are known", d);
}

static const imp_attr *read_names(imp_node *c, const layer *l)
{
    const imp_attr *names = imp_attr_find(c, "activations", IMP_A_TEXTS);
    if (names && names->texts.n != (size_t)(l->directions * l->n_activation)) {
        imp_fail(c, "onnx-E009",
                 "attribute activations has %zu entries, but %lld are needed; the model is damaged",
                 names->texts.n, (long long)(l->directions * l->n_activation));
        return NULL;
    }
    return names;
}

/* [directions, rows, ...] */
static bool fits(imp_node *c, tn_value *v, int rank, int64_t directions, int64_t rows)
{
    return imp_rank(*v) == rank && imp_with_extent(c, v, 0, tn_idx(c->pool, directions)) &&
           imp_with_extent(c, v, 1, tn_idx(c->pool, rows));
}

static void check_shapes(imp_node *c, layer *l)
{
    tn_value x = imp_in(c, X), w = l->w = imp_in(c, W), r = l->r = imp_in(c, R);
    l->b = imp_opt(c, B);
    if (c->bad)
        return;
    if (imp_rank(x) != 3 || imp_rank(w) != 3 || imp_rank(r) != 3 ||
        !tn_is_int(imp_type(r)->dim[2], &l->units)) {
        imp_fail(c, "onnx-E022",
                 "operands %s, %s and %s must have three dimensions and a fixed number of units",
                 imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(w)), imp_type_text(c, imp_type(r)));
        return;
    }
    int64_t rows = l->gates * l->units;
    if (imp_attr_int(c, "hidden_size", l->units) != l->units || !fits(c, &l->w, 3, l->directions, rows) ||
        !fits(c, &l->r, 3, l->directions, rows) || (l->b.def && !fits(c, &l->b, 2, l->directions, 2 * rows)))
        imp_fail(
            c, "onnx-E022",
            "W %s, R %s, B and hidden_size do not match %lld directions of %lld gates; the model is damaged",
            imp_type_text(c, imp_type(w)), imp_type_text(c, imp_type(r)), (long long)l->directions,
            (long long)l->gates);
}

/* ---- one direction ---- */

/* Part d of an operand whose axis `axis` is the directions. */
static tn_value part(imp_node *c, tn_value v, int64_t axis, int64_t d)
{
    if (!v.def)
        return v;
    if (imp_rank(v) <= axis) {
        imp_fail(c, "onnx-E022", "operand %s has too few dimensions; the model is damaged",
                 imp_type_text(c, imp_type(v)));
        return (tn_value){0};
    }
    return imp_squeeze(c, imp_slice(c, v, axis, d, d + 1), axis);
}

/* The bias of data, Wb + Rb; of a GRU with linear_before_reset the last third of Rb goes to *recurrent. */
static tn_value bias_of(imp_node *c, const layer *l, tn_value b, tn_value *recurrent)
{
    int64_t n = l->gates * l->units;
    *recurrent = (tn_value){0};
    if (!b.def)
        return b;
    tn_value wb = imp_slice(c, b, 0, 0, n), rb = imp_slice(c, b, 0, n, 2 * n);
    if (!l->linear_before_reset)
        return imp_binary(c, &tn_op_add, wb, rb);
    *recurrent = imp_slice(c, rb, 0, 2 * l->units, n);
    const int64_t around[] = {0, l->units};
    tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 2, around),
                         .pad_mode = tn_intern(c->g->ctx, "constant")};
    tn_value gates = imp_call1(c, &tn_op_nn_pad, &zeros, imp_slice(c, rb, 0, 0, 2 * l->units));
    return imp_binary(c, &tn_op_add, wb, gates);
}

static tn_value project(imp_node *c, tn_value x, tn_value w, tn_value bias)
{
    tn_dense_attr dense = {0};
    tn_axis_attr last = {-1};
    tn_value y = imp_call2(c, &tn_op_nn_dense, &dense, x, w);
    return bias.def ? imp_call2(c, &tn_op_nn_bias_add, &last, y, bias) : y;
}

/* One direction: its steps [steps, batch, units]; further results are the last states [batch, units]. */
static tn_value direction(imp_node *c, const layer *l, tn_value x, int64_t d)
{
    int64_t state_axis = l->batch_first ? 1 : 0;
    tn_value rbias, bias = bias_of(c, l, part(c, l->b, 0, d), &rbias);
    tn_value in[7] = {project(c, x, part(c, l->w, 0, d), bias)};
    const tn_expr *rdim[] = {tn_idx(c->pool, l->gates), tn_idx(c->pool, l->units), tn_idx(c->pool, l->units)};
    in[1] = imp_reshape(c, part(c, l->r, 0, d), 3, rdim);
    in[2] = part(c, imp_opt(c, H0), state_axis, d);
    if (l->gates == 4) {
        const tn_expr *pdim[] = {tn_idx(c->pool, 3), tn_idx(c->pool, l->units)};
        in[3] = part(c, imp_opt(c, C0), state_axis, d);
        in[4] = part(c, imp_opt(c, PEEP), 0, d);
        in[4] = in[4].def ? imp_reshape(c, in[4], 2, pdim) : in[4];
    }
    in[5] = rbias;
    in[6] = imp_opt(c, LENS);
    return imp_call(c, &tn_op_nn_recurrent, &l->attr, 7, in);
}

/* ---- results ---- */

/* The parts of all directions, [.., batch, units] each, joined on a new axis 1 or, batch first, put in that order. */
static tn_value join(imp_node *c, const layer *l, const tn_value part[])
{
    static const int64_t batch_first[] = {2, 0, 1, 3};
    tn_value v[2];
    for (int64_t d = 0; d < l->directions; d++)
        v[d] = imp_unsqueeze(c, part[d], 1);
    tn_value y = imp_concat(c, (uint32_t)l->directions, v, 1);
    return l->batch_first ? imp_transpose(c, y, 4, batch_first) : y;
}

/* The last states of all directions, [batch, units] each, joined on a new axis 0 or, batch first, 1. */
static tn_value join_state(imp_node *c, const layer *l, const tn_value part[])
{
    int64_t axis = l->batch_first ? 1 : 0;
    tn_value state[2];
    for (int64_t d = 0; d < l->directions; d++)
        state[d] = imp_unsqueeze(c, part[d], axis);
    return imp_concat(c, (uint32_t)l->directions, state, axis);
}

typedef struct results { /* of each direction: all steps, the last states */
    tn_value y[2], h[2], cell[2];
} results;

static void give(imp_node *c, const layer *l, const results *r)
{
    if (c->bad)
        return;
    imp_out_any(c, 0, join(c, l, r->y));
    imp_out_any(c, 1, join_state(c, l, r->h));
    if (l->gates == 4)
        imp_out_any(c, 2, join_state(c, l, r->cell));
}

static void recurrent(imp_node *c, layer *l)
{
    static const int64_t time_first[] = {1, 0, 2};
    results r = {0};
    read_direction(c, l);
    check_shapes(c, l);
    l->batch_first = imp_attr_int(c, "layout", 0) != 0;
    imp_attr_ignore(c, "output_sequence"); /* opset 1: whether Y is wanted */
    l->attr.cell = l->cell;
    l->attr.clip = imp_attr_float(c, "clip", 0);
    const imp_attr *names = read_names(c, l);
    tn_value x = l->batch_first && !c->bad ? imp_transpose(c, imp_in(c, X), 3, time_first) : imp_in(c, X);
    for (int64_t d = 0; d < l->directions && !c->bad; d++) {
        l->attr.reverse = l->attr.reverse || d == 1;
        l->attr.activations = tn_intern(
            c->g->ctx, activations_of(c, names, (size_t)(d * l->n_activation), (size_t)l->n_activation));
        r.y[d] = direction(c, l, x, d);
        r.h[d] = (tn_value){r.y[d].def, 1};
        r.cell[d] = (tn_value){r.y[d].def, 2};
    }
    give(c, l, &r);
}

static void rnn(imp_node *c)
{
    layer l = {.cell = "rnn", .gates = 1, .n_activation = 1};
    recurrent(c, &l);
}

static void gru(imp_node *c)
{
    layer l = {.cell = "gru", .gates = 3, .n_activation = 2};
    l.linear_before_reset = l.attr.linear_before_reset = imp_attr_int(c, "linear_before_reset", 0) != 0;
    recurrent(c, &l);
}

static void lstm(imp_node *c)
{
    layer l = {.cell = "lstm", .gates = 4, .n_activation = 3};
    l.attr.input_forget = imp_attr_int(c, "input_forget", 0) != 0;
    recurrent(c, &l);
}

/* ---- DynamicQuantizeLSTM: weights were quantised when the model was made; data and states are in the run ---- */

/* Unlike those of LSTM, weights are [directions, rows, 4 * units]. Scales and zero points follow LSTM's operands. */
enum { W_GRID = 8, R_GRID = 10 };

typedef struct rnn_function {
    const char *name;
    const tn_op *op; /* NULL: alpha * x + beta */
    int n;           /* parameters: the first fields of the operator's attributes */
    double parameter[2];
} rnn_function;

static const rnn_function functions[] = {
    {"sigmoid", &tn_op_sigmoid, 0, {0}},
    {"tanh", &tn_op_tanh, 0, {0}},
    {"relu", &tn_op_nn_relu, 0, {0}},
    {"softsign", &tn_op_nn_softsign, 0, {0}},
    {"softplus", &tn_op_nn_softplus, 0, {0}},
    {"leakyrelu", &tn_op_nn_leaky_relu, 1, {0.01}},
    {"thresholdedrelu", &tn_op_nn_thresholded_relu, 1, {1}},
    {"elu", &tn_op_nn_elu, 1, {1}},
    {"hardsigmoid", &tn_op_nn_hard_sigmoid, 2, {0.2, 0.5}},
    {"affine", NULL, 2, {1, 0}},
    {"scaledtanh", &tn_op_tanh, 2, {1, 1}}, /* alpha * tanh(beta * x) */
};

typedef struct quant_weight { /* of one direction */
    tn_value w, scale, zero;
    bool known; /* when the model is compiled */
} quant_weight;

typedef struct quant_cell { /* of one direction */
    const layer *l;
    rnn_function act[3];
    quant_weight w, r;
    tn_value peephole;
    bool lengths; /* the last column of the data says which steps count */
} quant_cell;

static void read_functions(imp_node *c, const imp_attr *names, int64_t d, rnn_function act[3])
{
    const char *text = names ? activations_of(c, names, (size_t)(3 * d), 3) : "sigmoid tanh tanh";
    for (int i = 0; i < 3 && !c->bad; i++) {
        size_t n = strcspn(text, " :");
        const rnn_function *f = NULL;
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
            if (strlen(functions[k].name) == n && memcmp(functions[k].name, text, n) == 0)
                f = &functions[k];
        if (!f) {
            imp_fail(c, "onnx-E009", "activation \"%.*s\" is not known", (int)n, text);
            return;
        }
        act[i] = *f;
        text += n;
        for (int k = 0; *text == ':' && k < 2; k++) {
            char *end;
            act[i].parameter[k] = strtod(text + 1, &end);
            text = end;
        }
        text += *text == ' ';
    }
}

static tn_value apply(imp_node *c, const rnn_function *f, tn_value x)
{
    const double *p = f->parameter;
    if (!f->op)
        return imp_with(c, &tn_op_add, imp_with(c, &tn_op_multiply, x, p[0]), p[1]);
    if (f->op != &tn_op_tanh || f->n == 0)
        return imp_call1(c, f->op, f->n ? p : NULL, x);
    x = imp_unary(c, f->op, imp_with(c, &tn_op_multiply, x, p[1]));
    return imp_with(c, &tn_op_multiply, x, p[0]);
}

/* A sum of a gate, within the limits, activated. */
static tn_value gated(imp_node *c, const quant_cell *q, int which, tn_value x)
{
    double most = q->l->attr.clip;
    tn_clip_attr within = {-most, most};
    return apply(c, &q->act[which], most > 0 ? imp_call1(c, &tn_op_clip, &within, x) : x);
}

static quant_weight read_weight(imp_node *c, uint32_t i, uint32_t grid, int64_t d)
{
    tn_value v = imp_in(c, i), zero = imp_has(c, grid + 1) ? imp_in(c, grid + 1) : (tn_value){0};
    quant_weight w = {.known = imp_is_constant(v)};
    w.w = part(c, v, 0, d);
    w.w = w.known ? imp_transposed(c, w.w) : w.w;
    w.scale = part(c, imp_in(c, grid), 0, d);
    w.zero = zero.def ? part(c, zero, 0, d) : imp_const(c, imp_type(v)->dtype, 0);
    return w;
}

/* x, quantised as a whole, by a weight. */
static tn_value quant_product(imp_node *c, tn_value x, const quant_weight *w)
{
    onnx_quantized q = onnx_quantize_dynamic(c, x);
    imp_zeros zero = {q.zero, w->zero};
    tn_value y = w->known ? imp_dense(c, q.y, w->w, &zero) : imp_matmul(c, q.y, w->w, &zero);
    y = imp_cast(c, y, TN_F32);
    return imp_binary(c, &tn_op_multiply, y, imp_binary(c, &tn_op_multiply, q.scale, w->scale));
}

static tn_value peep(imp_node *c, const quant_cell *q, int64_t k, tn_value sum, tn_value cell)
{
    if (!q->peephole.def)
        return sum;
    tn_value p = imp_slice(c, q->peephole, 0, k * q->l->units, (k + 1) * q->l->units);
    return imp_binary(c, &tn_op_add, sum, imp_binary(c, &tn_op_multiply, p, cell));
}

/* states: h, the cell and, where rows have lengths, h as it is quantised: 0 where the row ended before. */
static void quant_step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    const quant_cell *q = s->user;
    int64_t n = q->l->units;
    tn_value cell = state[1], sum = q->lengths ? imp_slice(c, x, 1, 0, 4 * n) : x, gate[4];
    sum = imp_binary(c, &tn_op_add, sum, quant_product(c, state[q->lengths ? 2 : 0], &q->r));
    for (int k = 0; k < 4; k++)
        gate[k] = imp_slice(c, sum, 1, k * n, (k + 1) * n);
    tn_value i = gated(c, q, 0, peep(c, q, 0, gate[0], cell)), f;
    if (q->l->attr.input_forget)
        f = imp_binary(c, &tn_op_subtract, imp_const(c, TN_F32, 1), i);
    else
        f = gated(c, q, 0, peep(c, q, 2, gate[2], cell));
    tn_value kept = imp_binary(c, &tn_op_multiply, f, cell), fresh = gated(c, q, 1, gate[3]);
    cell = imp_binary(c, &tn_op_add, kept, imp_binary(c, &tn_op_multiply, i, fresh));
    tn_value o = gated(c, q, 0, peep(c, q, 1, gate[1], cell)), shown = apply(c, &q->act[2], cell);
    tn_value h = *out = imp_binary(c, &tn_op_multiply, o, shown);
    if (q->lengths) {
        tn_value counts = imp_with(c, &tn_op_greater, imp_slice(c, x, 1, 4 * n, 4 * n + 1), 0);
        h = imp_choose(c, counts, h, state[0]);
        cell = imp_choose(c, counts, cell, state[1]);
        state[2] = *out = imp_choose(c, counts, *out, imp_const(c, TN_F32, 0));
    }
    state[0] = h;
    state[1] = cell;
}

/* bool [steps, batch, 1]: which steps count. */
static tn_value counting(imp_node *c, tn_value x, tn_value lengths)
{
    tn_value step = imp_unsqueeze(c, imp_count_up(c, imp_type(x)->dim[0]), 1);
    return imp_unsqueeze(c, imp_binary(c, &tn_op_less, step, imp_cast(c, lengths, TN_I64)), 2);
}

/* The steps of each row turned round. */
static tn_value turned(imp_node *c, tn_value v, tn_value lengths)
{
    tn_reverse_sequence_attr a = {0, 1};
    return lengths.def ? imp_call2(c, &tn_op_reverse_sequence, &a, v, lengths) : imp_flip(c, v, 0);
}

/* What the data add to the sums of all gates: [steps, batch, 4 * units]. Steps that no row has are not quantised. */
static tn_value quant_inputs(imp_node *c, const quant_cell *q, tn_value lengths, int64_t d)
{
    tn_value x = imp_in(c, X), rbias, bias = bias_of(c, q->l, part(c, q->l->b, 0, d), &rbias);
    if (lengths.def) {
        tn_value any = imp_reduce(c, &tn_op_max, imp_cast(c, counting(c, x, lengths), TN_I32), 1);
        any = imp_unsqueeze(c, imp_with(c, &tn_op_greater, any, 0), 1);
        x = imp_choose(c, any, x, imp_const(c, TN_F32, 0));
    }
    tn_value y = quant_product(c, x, &q->w);
    return bias.def ? imp_binary(c, &tn_op_add, y, bias) : y;
}

static void quant_direction(imp_node *c, quant_cell *q, int64_t d, results *out)
{
    static const int64_t swap[] = {1, 0, 2};
    tn_value lengths = imp_opt(c, LENS), x = quant_inputs(c, q, lengths, d);
    bool backwards = q->l->attr.reverse;
    x = backwards ? turned(c, x, lengths) : x;
    q->lengths = lengths.def != NULL;
    if (q->lengths) {
        tn_value both[2] = {x, imp_cast(c, counting(c, x, lengths), TN_F32)};
        x = imp_concat(c, 2, both, 2);
    }
    const tn_expr *dim[2] = {imp_type(x)->dim[1], tn_idx(c->pool, q->l->units)};
    if (c->bad)
        return;
    imp_scan s = {.x = imp_transpose(c, x, 3, swap), .collects = true, .step = quant_step, .user = q};
    s.step_type = tn_type_tensor(c->pool, TN_F32, 2, dim, NULL);
    for (uint32_t k = 0; k < 2; k++)
        s.state[k] = imp_has(c, H0 + k) ? part(c, imp_in(c, H0 + k), 0, d) : imp_zeros_of(c, s.step_type);
    s.state[2] = s.state[0];
    s.n_state = q->lengths ? 3 : 2;
    imp_do_scan(c, &s);
    tn_value y = c->bad ? x : imp_transpose(c, s.all, 3, swap);
    out->y[d] = backwards ? turned(c, y, lengths) : y;
    out->h[d] = s.state[0];
    out->cell[d] = s.state[1];
}

static void check_quant_shapes(imp_node *c, layer *l)
{
    tn_value x = imp_in(c, X), w = imp_in(c, W), r = imp_in(c, R);
    l->b = imp_opt(c, B);
    bool is = !c->bad && imp_rank(x) == 3 && imp_rank(w) == 3 && imp_rank(r) == 3 &&
              tn_is_int(imp_type(r)->dim[1], &l->units) && l->units > 0 && l->units <= 1 << 20;
    int64_t columns = 4 * l->units;
    is = is && tn_is_value(imp_type(w)->dim[2], columns) && tn_is_value(imp_type(r)->dim[2], columns) &&
         tn_is_value(imp_type(w)->dim[0], l->directions) && tn_is_value(imp_type(r)->dim[0], l->directions) &&
         imp_attr_int(c, "hidden_size", l->units) == l->units &&
         (!l->b.def || fits(c, &l->b, 2, l->directions, 2 * columns));
    if (!is && !c->bad)
        imp_fail(c, "onnx-E022",
                 "X %s, W %s, R %s, B and hidden_size do not match %lld directions; the model is damaged",
                 imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(w)), imp_type_text(c, imp_type(r)),
                 (long long)l->directions);
}

static void dynamic_quantize_lstm(imp_node *c)
{
    layer l = {.cell = "lstm", .gates = 4, .n_activation = 3};
    results r = {0};
    read_direction(c, &l);
    check_quant_shapes(c, &l);
    l.attr.input_forget = imp_attr_int(c, "input_forget", 0) != 0;
    l.attr.clip = imp_attr_float(c, "clip", 0);
    const imp_attr *names = read_names(c, &l);
    for (int64_t d = 0; d < l.directions && !c->bad; d++) {
        quant_cell q = {.l = &l, .w = read_weight(c, W, W_GRID, d), .r = read_weight(c, R, R_GRID, d)};
        l.attr.reverse = l.attr.reverse || d == 1;
        read_functions(c, names, d, q.act);
        q.peephole = part(c, imp_opt(c, PEEP), 0, d);
        quant_direction(c, &q, d, &r);
    }
    give(c, &l, &r);
}

// clang-format off
const imp_row onnx_rows_recurrent[] = {
    {"RNN",  1,  0, 6, 2, rnn,  NULL},
    {"GRU",  1,  0, 6, 2, gru,  NULL},
    {"LSTM", 1,  0, 8, 3, lstm, NULL},
    {0},
};

const imp_row onnx_rows_recurrent_quant[] = {
    {"DynamicQuantizeLSTM", 1, 0, 12, 3, dynamic_quantize_lstm, NULL},
    {0},
};
// clang-format on
