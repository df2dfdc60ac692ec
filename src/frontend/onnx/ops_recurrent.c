/* Recurrent layers: RNN, GRU, LSTM. The projection of the inputs is an nn.dense over all steps at once, the
 * recurrence nn.recurrent, one for each direction; its results are Y, Y_h and Y_c. */
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <ctype.h>
#include <stdio.h>
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
        return imp_call2(c, &tn_op_add, NULL, wb, rb);
    *recurrent = imp_slice(c, rb, 0, 2 * l->units, n);
    const int64_t around[] = {0, l->units};
    tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 2, around),
                         .pad_mode = tn_intern(c->g->ctx, "constant")};
    tn_value gates = imp_call1(c, &tn_op_nn_pad, &zeros, imp_slice(c, rb, 0, 0, 2 * l->units));
    return imp_call2(c, &tn_op_add, NULL, wb, gates);
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

/* Result k of all directions, the last states [batch, units], joined on a new axis 0 or, batch first, 1. */
static tn_value join_state(imp_node *c, const layer *l, const tn_value steps[], uint32_t k)
{
    int64_t axis = l->batch_first ? 1 : 0;
    tn_value state[2];
    for (int64_t d = 0; d < l->directions; d++)
        state[d] = imp_unsqueeze(c, (tn_value){steps[d].def, k}, axis);
    return imp_concat(c, (uint32_t)l->directions, state, axis);
}

static void recurrent(imp_node *c, layer *l)
{
    static const int64_t time_first[] = {1, 0, 2};
    tn_value y[2];
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
        y[d] = direction(c, l, x, d);
    }
    if (c->bad)
        return;
    imp_out_any(c, 0, join(c, l, y));
    imp_out_any(c, 1, join_state(c, l, y, 1));
    if (l->gates == 4)
        imp_out_any(c, 2, join_state(c, l, y, 2));
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

// clang-format off
const imp_row onnx_rows_recurrent[] = {
    {"RNN",  1,  0, 6, 2, rnn,  NULL},
    {"GRU",  1,  0, 6, 2, gru,  NULL},
    {"LSTM", 1,  0, 8, 3, lstm, NULL},
    {0},
};
// clang-format on
