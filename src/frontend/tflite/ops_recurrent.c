/* Recurrent layers: LSTM and RNN of one step, of sequences, in both directions; SVDF. What they keep from one run to
 * the next are states of the model. Weights of 8 bits under float32 data stand for their real values. */
#include "frontend/tflite/lstm.h"

#include "frontend/import/matrix.h"
#include "op/nn/nn.h"

#include <string.h>

enum { RELU = 1, TANH = 4 };

tn_value tfl_plus(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }
tn_value tfl_times(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }

static tn_value real(imp_node *c, uint32_t i) { return imp_cast(c, tfl_real(c, i), TN_F32); }

static bool extent_of(imp_node *c, tn_value v, int d, int64_t *out)
{
    if (!c->bad && (imp_rank(v) <= d || !tn_is_int(imp_type(v)->dim[d], out) || *out < 1))
        imp_refuse(c, IMP_OPERANDS, "%s is no weight of such a layer; the model is damaged",
                   imp_type_text(c, imp_type(v)));
    return !c->bad;
}

tn_value tfl_data(imp_node *c, uint32_t i)
{
    return tfl_is_quantised(tfl_in(c, i)) ? imp_in(c, i) : real(c, i);
}

/* ---- sequences ---- */

/* Data [batch, steps, n] of any of the forms. */
tn_value tfl_steps(imp_node *c, tn_value x, const tfl_sequence *q)
{
    static const int64_t swap[] = {1, 0, 2};
    if (!c->bad && imp_rank(x) != (q->steps ? 3 : 2))
        imp_refuse(c, IMP_OPERANDS, "data %s must have %d dimensions", imp_type_text(c, imp_type(x)),
                   q->steps ? 3 : 2);
    return c->bad ? x : !q->steps ? imp_unsqueeze(c, x, 1) : q->time_major ? imp_transpose(c, x, 3, swap) : x;
}

/* ... back. */
tn_value tfl_in_form(imp_node *c, tn_value y, const tfl_sequence *q)
{
    static const int64_t swap[] = {1, 0, 2};
    return c->bad ? y : !q->steps ? imp_squeeze(c, y, 1) : q->time_major ? imp_transpose(c, y, 3, swap) : y;
}

tn_value tfl_state_of(imp_node *c, uint32_t i, tn_value x, int64_t units)
{
    if (!c->bad && imp_rank(x) < 1)
        imp_refuse(c, IMP_OPERANDS, "data without a batch: %s", imp_type_text(c, imp_type(x)));
    const tn_expr *dim[2] = {c->bad ? NULL : imp_type(x)->dim[0], tn_idx(c->pool, units)};
    return c->bad ? (tn_value){0} : tfl_state(c, i, 2, dim);
}

/* x [batch, steps, n] times a weight [units, n], for all steps. */
static tn_value projected(imp_node *c, tn_value x, tn_value weight)
{
    if (c->bad)
        return x;
    const tn_expr *const *d = imp_type(x)->dim, *rows[2] = {imp_product(c, imp_type(x), 0, 2), d[2]};
    tn_value flat = imp_reshape(c, x, 2, rows), y = imp_dense(c, flat, weight, NULL);
    const tn_expr *dim[3] = {d[0], d[1], c->bad ? d[2] : imp_type(y)->dim[1]};
    return c->bad ? y : imp_reshape(c, y, 3, dim);
}

/* ---- LSTM in float32 ---- */

/* The gates one after the other: input (if there is one), forget, cell, output. */
static tn_value joined(imp_node *c, const tfl_lstm *l, uint32_t from)
{
    tn_value v[4];
    uint32_t n = 0;
    for (uint32_t k = l->coupled; k < 4; k++)
        v[n++] = real(c, from + k);
    return c->bad ? (tn_value){0} : imp_concat(c, n, v, 0);
}

static tn_value gate_of(imp_node *c, const tfl_lstm *l, tn_value z, int k)
{
    int64_t at = k - l->coupled;
    return imp_slice(c, z, 1, at * l->units, (at + 1) * l->units);
}

/* A gate before its function: what it sees of the cell, and its normalisation. */
static tn_value completed(imp_node *c, const tfl_lstm *l, tn_value z, int k, tn_value cell)
{
    static const int64_t last[] = {1};
    if (l->peep && cell.def)
        z = tfl_plus(c, z, tfl_times(c, cell, real(c, l->peep + (uint32_t)(k == 3 ? 2 : k))));
    if (!l->norm)
        return z;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, last), true, false};
    z = imp_binary(c, &tn_op_subtract, z, imp_call1(c, &tn_op_mean, &a, z));
    tn_value variance = imp_call1(c, &tn_op_mean, &a, tfl_times(c, z, z));
    z = tfl_times(c, z, imp_unary(c, &tn_op_rsqrt, imp_with(c, &tn_op_add, variance, 1e-8)));
    z = tfl_times(c, z, real(c, l->norm + (uint32_t)k));
    return tfl_plus(c, z, real(c, l->bias + (uint32_t)k));
}

static tn_value clipped(imp_node *c, tn_value v, double limit)
{
    return limit > 0 ? imp_clip(c, v, -limit, limit) : v;
}

static tn_value sigmoid(imp_node *c, tn_value v) { return imp_unary(c, &tn_op_sigmoid, v); }

/* state: the result, the cell. x: all gates of the data. */
static void float_step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    const tfl_lstm *l = s->user;
    tn_value none = {0}, z = tfl_plus(c, x, imp_dense(c, state[0], l->recurrent, NULL)), cell = state[1];
    tn_value f = sigmoid(c, completed(c, l, gate_of(c, l, z, 1), 1, cell));
    tn_value i = !l->coupled ? sigmoid(c, completed(c, l, gate_of(c, l, z, 0), 0, cell))
                             : imp_unary(c, &tn_op_negative, imp_with(c, &tn_op_subtract, f, 1));
    tn_value g = tfl_activate(c, completed(c, l, gate_of(c, l, z, 2), 2, none), l->function);
    tn_value kept = tfl_times(c, f, cell), added = tfl_times(c, i, g);
    cell = clipped(c, tfl_plus(c, kept, added), l->cell_clip);
    tn_value o = sigmoid(c, completed(c, l, gate_of(c, l, z, 3), 3, cell));
    tn_value h = tfl_times(c, o, tfl_activate(c, cell, l->function));
    if (l->projection) {
        h = imp_dense(c, h, real(c, l->projection), NULL);
        h = imp_has(c, l->projection + 1) ? tfl_plus(c, h, real(c, l->projection + 1)) : h;
        h = clipped(c, h, l->projection_clip);
    }
    state[0] = *out = h;
    state[1] = cell;
}

/* As one operator, which has the gates in the order input, output, forget, cell. */
static tn_value whole(imp_node *c, const tfl_lstm *l, imp_scan *s)
{
    static const int order[] = {0, 3, 1, 2};
    static const int64_t time_first[] = {1, 0, 2};
    tn_recurrent_attr a = {.cell = tn_intern(c->g->ctx, "lstm"),
                           .activations = tn_intern(c->g->ctx, "sigmoid tanh tanh"),
                           .reverse = s->backwards};
    tn_value x[4], r[4], in[7] = {{0}};
    for (int k = 0; k < 4; k++) {
        x[k] = imp_slice(c, s->x, 2, order[k] * l->units, (order[k] + 1) * l->units);
        r[k] = imp_slice(c, l->recurrent, 0, order[k] * l->units, (order[k] + 1) * l->units);
    }
    const tn_expr *units = tn_idx(c->pool, l->units), *dim[3] = {tn_idx(c->pool, 4), units, units};
    if (c->bad)
        return s->x;
    in[0] = imp_transpose(c, imp_concat(c, 4, x, 2), 3, time_first);
    in[1] = imp_reshape(c, imp_concat(c, 4, r, 0), 3, dim);
    in[2] = s->state[0];
    in[3] = s->state[1];
    tn_value y = imp_call(c, &tn_op_nn_recurrent, &a, 7, in);
    if (c->bad)
        return y;
    s->state[0] = (tn_value){y.def, 1};
    s->state[1] = (tn_value){y.def, 2};
    return imp_transpose(c, y, 3, time_first);
}

static tn_value float_lstm(imp_node *c, tfl_lstm *l, tn_value x, tn_value aux)
{
    imp_scan s = {.n_state = 2, .backwards = l->backwards, .collects = true, .step = float_step, .user = l};
    l->recurrent = joined(c, l, l->recurrent_at);
    s.x = projected(c, x, joined(c, l, l->kernel));
    if (aux.def)
        s.x = tfl_plus(c, s.x, projected(c, aux, joined(c, l, l->aux)));
    if (!l->norm)
        s.x = tfl_plus(c, s.x, joined(c, l, l->bias));
    s.state[0] = tfl_state_of(c, l->state[0], x, l->results);
    s.state[1] = tfl_state_of(c, l->state[1], x, l->units);
    if (c->bad)
        return x;
    s.step_type = imp_type(s.state[0]);
    bool plain =
        !l->coupled && !l->peep && !l->norm && !l->projection && !(l->cell_clip > 0) && l->function == TANH;
    if (plain)
        s.all = whole(c, l, &s);
    else
        imp_do_scan(c, &s);
    for (int k = 0; k < 2; k++)
        tfl_set_state(c, l->state[k], s.state[k]);
    return s.all;
}

/* ---- LSTM ---- */

/* Options, and which operands are there. Weights are at from + 0, .. */
static bool read_lstm(imp_node *c, uint32_t from, tfl_lstm *l)
{
    l->function = imp_attr_int(c, "fused_activation_function", 0);
    l->cell_clip = imp_attr_float(c, "cell_clip", 0);
    l->projection_clip = imp_attr_float(c, "proj_clip", 0);
    imp_attr_ignore(c, "asymmetric_quantize_inputs");
    l->kernel = from;
    l->recurrent_at = from + 4;
    l->coupled = !imp_has(c, from);
    l->peep = imp_has(c, from + 10) ? from + 8 : 0;
    l->bias = from + 11;
    l->projection = imp_has(c, from + 15) ? from + 15 : 0;
    tn_value w = imp_in(c, from + 3), r = imp_in(c, from + 7);
    return extent_of(c, w, 0, &l->units) && extent_of(c, r, 1, &l->results);
}

static tn_value run_lstm(imp_node *c, tfl_lstm *l, tn_value x, tn_value aux)
{
    const tfl_tensor *t = tfl_in(c, 0);
    return tfl_is_quantised(t) ? tfl_integer_lstm(c, l, x) : float_lstm(c, l, x, aux);
}

static tfl_sequence sequence_of(imp_node *c)
{
    bool steps = strstr(c->row->op, "SEQUENCE") != NULL;
    bool by_default = strcmp(c->row->op, "BIDIRECTIONAL_SEQUENCE_LSTM") == 0; /* of the schema */
    return (tfl_sequence){steps, steps && imp_attr_int(c, "time_major", by_default) != 0};
}

/* Weights and data in one: the parts of the gates input, cell, forget, output. */
static void basic_lstm(imp_node *c)
{
    tn_value x = real(c, 0), w = real(c, 2), part[4];
    int64_t rows = 0;
    if (imp_attr_int(c, "cell_clip", 0) != 0 || tfl_is_quantised(tfl_in(c, 0)))
        imp_refuse(c, IMP_BAD_VALUE, "kernel_type BASIC is supported with float32 only");
    if (!extent_of(c, w, 0, &rows))
        return;
    if (imp_rank(x) != 2) {
        imp_refuse(c, IMP_OPERANDS, "data %s have no batch and features", imp_type_text(c, imp_type(x)));
        return;
    }
    const tn_expr *dim[2] = {imp_type(x)->dim[0], tn_idx(c->pool, rows / 4)};
    tn_value in[2] = {x, tfl_state(c, 1, 2, dim)}, cell = tfl_state(c, 4, 2, dim);
    tn_value both = c->bad ? x : imp_concat(c, 2, in, 1);
    tn_value bias = real(c, 3), z = tfl_plus(c, imp_dense(c, both, w, NULL), bias);
    for (int k = 0; k < 4; k++) {
        part[k] = imp_slice(c, z, 1, k * (rows / 4), (k + 1) * (rows / 4));
        part[k] = imp_unary(c, k == 1 ? &tn_op_tanh : &tn_op_sigmoid, part[k]);
    }
    tn_value added = tfl_times(c, part[0], part[1]), kept = tfl_times(c, part[2], cell);
    cell = tfl_plus(c, added, kept);
    tn_value h = tfl_times(c, part[3], imp_unary(c, &tn_op_tanh, cell));
    const tn_value out[] = {h, cell, both, z};
    for (uint32_t i = 0; i < 4; i++)
        imp_out_any(c, i, out[i]);
    tfl_set_state(c, 1, h);
    tfl_set_state(c, 4, cell);
}

static void lstm(imp_node *c)
{
    tfl_lstm l = {.state = {18, 19}, .norm = imp_has(c, 21) ? 20 : 0};
    tfl_sequence q = sequence_of(c);
    if (imp_attr_int(c, "kernel_type", 0) == 1) {
        basic_lstm(c);
        return;
    }
    if (imp_attr_int(c, "diagonal_recurrent_tensors", 0) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "diagonal_recurrent_tensors is not supported");
    tn_value x = tfl_steps(c, tfl_data(c, 0), &q);
    if (!c->bad && read_lstm(c, 1, &l))
        imp_out(c, 0, tfl_in_form(c, run_lstm(c, &l, x, (tn_value){0}), &q));
}

/* What goes through one direction, and what is added to it: the second data are for the backward direction where they
 * have no weights. */
static void both_directions(imp_node *c, tn_value x, tn_value aux, const bool has_aux[2], tn_value y[2],
                            tn_value (*run)(imp_node *c, int backwards, tn_value x, tn_value aux))
{
    for (int k = 0; k < 2 && !c->bad; k++)
        y[k] = run(c, k, k && aux.def && !has_aux[0] ? aux : x, has_aux[k] ? aux : (tn_value){0});
}

static void give_both(imp_node *c, tn_value y[2], const tfl_sequence *q)
{
    bool merged = imp_attr_int(c, "merge_outputs", 0) != 0;
    if (c->bad)
        return;
    if (merged)
        imp_out(c, 0, tfl_in_form(c, imp_concat(c, 2, y, 2), q));
    for (uint32_t k = 0; k < 2 && !merged; k++)
        imp_out_any(c, k, tfl_in_form(c, y[k], q));
}

static tn_value lstm_direction(imp_node *c, int backwards, tn_value x, tn_value aux)
{
    tfl_lstm l = {.backwards = backwards, .aux = backwards ? 44 : 40};
    l.state[0] = backwards ? 37 : 35;
    l.state[1] = l.state[0] + 1;
    return read_lstm(c, backwards ? 18 : 1, &l) ? run_lstm(c, &l, x, aux) : x;
}

static void lstm_both(imp_node *c)
{
    tfl_sequence q = sequence_of(c);
    tn_value x = tfl_steps(c, real(c, 0), &q), y[2];
    tn_value aux = imp_has(c, 39) ? tfl_steps(c, real(c, 39), &q) : (tn_value){0};
    const bool has_aux[2] = {imp_has(c, 41), imp_has(c, 45)};
    both_directions(c, x, aux, has_aux, y, lstm_direction);
    give_both(c, y, &q);
}

/* ---- RNN ---- */

typedef struct rnn {
    tn_value recurrent;
    int64_t function;
} rnn;

static void rnn_step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    const rnn *r = s->user;
    tn_value z = tfl_plus(c, x, imp_dense(c, state[0], r->recurrent, NULL));
    state[0] = *out = tfl_activate(c, z, r->function);
}

/* Weights at `from`: of the data, of the state, the bias, the state. */
static tn_value run_rnn(imp_node *c, uint32_t from, bool backwards, tn_value x, tn_value added)
{
    rnn r = {real(c, from + 1), imp_attr_int(c, "fused_activation_function", 0)};
    imp_scan s = {.n_state = 1, .backwards = backwards, .collects = true, .step = rnn_step, .user = &r};
    int64_t units = 0;
    if (!extent_of(c, r.recurrent, 0, &units))
        return x;
    tn_value bias = real(c, from + 2);
    s.x = tfl_plus(c, projected(c, x, real(c, from)), bias);
    s.x = added.def ? tfl_plus(c, s.x, added) : s.x;
    s.state[0] = tfl_state_of(c, from + 3, x, units);
    if (c->bad)
        return x;
    s.step_type = imp_type(s.state[0]);
    imp_do_scan(c, &s);
    tfl_set_state(c, from + 3, s.state[0]);
    return s.all;
}

static void rnn_layer(imp_node *c)
{
    tfl_sequence q = sequence_of(c);
    imp_attr_ignore(c, "asymmetric_quantize_inputs");
    tn_value x = tfl_steps(c, real(c, 0), &q);
    if (!c->bad)
        imp_out(c, 0, tfl_in_form(c, run_rnn(c, 1, false, x, (tn_value){0}), &q));
}

static tn_value rnn_direction(imp_node *c, int backwards, tn_value x, tn_value aux)
{
    tn_value added = aux.def ? projected(c, aux, real(c, backwards ? 11 : 10)) : aux;
    return run_rnn(c, backwards ? 5 : 1, backwards, x, added);
}

static void rnn_both(imp_node *c)
{
    tfl_sequence q = sequence_of(c);
    imp_attr_ignore(c, "asymmetric_quantize_inputs");
    tn_value x = tfl_steps(c, real(c, 0), &q), y[2];
    tn_value aux = imp_has(c, 9) ? tfl_steps(c, real(c, 9), &q) : (tn_value){0};
    const bool has_aux[2] = {imp_has(c, 10), imp_has(c, 11)};
    both_directions(c, x, aux, has_aux, y, rnn_direction);
    give_both(c, y, &q);
}

/* ---- SVDF: filters over the last steps, whose results are summed in groups of `rank` ---- */

/* The memory [batch, filters, steps] with what is newest at its end. */
static tn_value remembered(imp_node *c, tn_value memory, tn_value now, int64_t steps)
{
    tn_value newest = imp_unsqueeze(c, now, 2);
    if (c->bad || steps == 1)
        return newest;
    tn_value part[2] = {imp_slice(c, memory, 2, 0, steps - 1), newest};
    return imp_concat(c, 2, part, 2);
}

/* The memory one step further: what is oldest drops out at the front, its place at the end is 0. */
static tn_value shifted(imp_node *c, tn_value memory, int64_t steps)
{
    const tn_expr *width[6];
    tn_value v = imp_slice(c, memory, 2, 1, steps);
    for (int i = 0; i < 6; i++)
        width[i] = tn_idx(c->pool, i == 5);
    tn_pad_attr a = {.pad_width = tn_dims_make(c->arena, 6, width), .pad_mode = "constant"};
    return imp_call1(c, &tn_op_nn_pad, &a, v);
}

/* Sums of the filters' products with their weights [filters, steps]: [batch, units]. */
static tn_value filtered(imp_node *c, tn_value memory, tn_value weight, int64_t units, int64_t rank)
{
    tn_value v = imp_reduce(c, &tn_op_sum, tfl_times(c, memory, weight), 2);
    if (c->bad)
        return v;
    const tn_expr *dim[3] = {imp_type(v)->dim[0], tn_idx(c->pool, units), tn_idx(c->pool, rank)};
    return imp_reduce(c, &tn_op_sum, imp_reshape(c, v, 3, dim), 2);
}

static void give_svdf(imp_node *c, tn_value memory, int64_t filters, int64_t steps, tn_value y)
{
    const tn_expr *flat[2] = {imp_type(memory)->dim[0], tn_idx(c->pool, filters * steps)};
    if (c->bad)
        return;
    if (steps > 1) /* one of a single step is written before it is read */
        tfl_set_state(c, 4, imp_reshape(c, shifted(c, memory, steps), 2, flat));
    imp_out(c, 0, y);
}

static void svdf(imp_node *c)
{
    int64_t rank = imp_attr_int(c, "rank", 0), function = imp_attr_int(c, "fused_activation_function", 0);
    int64_t filters = 0, steps = 0;
    bool integer = tfl_is_quantised(tfl_in(c, 0));
    imp_attr_ignore(c, "asymmetric_quantize_inputs");
    tn_value x = tfl_data(c, 0), w = imp_in(c, 1), time = imp_in(c, 2);
    if (!extent_of(c, w, 0, &filters) || !extent_of(c, time, 1, &steps))
        return;
    if (rank < 1 || filters % rank != 0 || imp_rank(x) != 2 || steps > INT32_MAX / filters) {
        imp_refuse(c, IMP_BAD_VALUE, "rank %lld does not fit %lld filters", (long long)rank,
                   (long long)filters);
        return;
    }
    const tn_expr *flat[2] = {imp_type(x)->dim[0], tn_idx(c->pool, filters * steps)};
    const tn_expr *apart[3] = {flat[0], tn_idx(c->pool, filters), tn_idx(c->pool, steps)};
    tn_value state = tfl_state(c, 4, 2, flat);
    if (c->bad)
        return;
    tn_value memory = imp_reshape(c, state, 3, apart), y;
    if (integer) {
        memory = remembered(c, memory, tfl_svdf_features(c, x, w), steps);
        tn_value wide = imp_cast(c, memory, TN_I32);
        y = tfl_svdf_result(c, filtered(c, wide, imp_cast(c, time, TN_I32), filters / rank, rank), function);
    } else {
        memory = remembered(c, memory, imp_dense(c, x, real(c, 1), NULL), steps);
        y = filtered(c, memory, real(c, 2), filters / rank, rank);
        y = imp_has(c, 3) ? tfl_plus(c, y, real(c, 3)) : y;
        y = tfl_activate(c, y, function);
    }
    give_svdf(c, memory, filters, steps, y);
}

// clang-format off
const imp_row tfl_rows_recurrent[] = {
    {"LSTM",                         1, 0, 24, 4, lstm,      NULL},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", 1, 0, 24, 1, lstm,      NULL},
    {"BIDIRECTIONAL_SEQUENCE_LSTM",  1, 0, 48, 2, lstm_both, NULL},
    {"RNN",                          1, 0,  5, 1, rnn_layer, NULL},
    {"UNIDIRECTIONAL_SEQUENCE_RNN",  1, 0,  5, 1, rnn_layer, NULL},
    {"BIDIRECTIONAL_SEQUENCE_RNN",   1, 0, 12, 2, rnn_both,  NULL},
    {"SVDF",                         1, 0,  5, 1, svdf,      NULL},
    {0},
};
// clang-format on
