/* Operators that hold a small graph in place of several: _sg_mkldnn_conv (convolution, batch normalisation, sum,
 * activation) and _sg_mkldnn_fully_connected, real or quantised. Real ones are what their graph says. Quantised ones
 * compute as oneDNN does: weights and biases that are real become whole numbers here, sums are int32, and what follows
 * is float32 until the one rounding at the end (frontend/mxnet/quant.h). */
#include "frontend/mxnet/quant.h"

#include <stdlib.h>
#include <string.h>

/* ---- the graph inside ---- */

typedef struct fused {
    mx_inner inner;
    const mx_node *layer, *norm, *act, *after; /* act: before the sum, after: behind it; NULL: none */
    bool sum;
} fused;

static bool is_act(const mx_node *n)
{
    static const char *const names[] = {"Activation", "LeakyReLU", "clip", "square", "sqrt", "exp", "abs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (imp_is(n->op, names[i]))
            return true;
    return false;
}

static bool read_fused(imp_node *c, const char *layer, fused *f)
{
    *f = (fused){0};
    if (!mx_read_inner(c, 0, &f->inner))
        return false;
    for (uint32_t i = 0; i < f->inner.g->n; i++) {
        const mx_node *n = &f->inner.g->node[i];
        if (imp_is(n->op, "null"))
            continue;
        const mx_node **place = imp_is(n->op, layer)         ? &f->layer
                                : imp_is(n->op, "BatchNorm") ? &f->norm
                                : !is_act(n)                 ? NULL
                                : f->sum                     ? &f->after
                                                             : &f->act;
        bool is_sum = imp_is(n->op, "elemwise_add") && !f->sum;
        if (!is_sum && (!place || *place))
            imp_refuse(c, IMP_BAD_VALUE, "its graph holds %s, which is not fused", imp_text(c->im, n->op));
        else if (is_sum)
            f->sum = true;
        else
            *place = n;
    }
    if (!c->bad && !f->layer)
        imp_refuse(c, IMP_BAD_VALUE, "its graph holds no %s; the model is damaged", layer);
    return !c->bad;
}

/* What else says that the graph holds. */
static void ignore_parts(imp_node *c)
{
    static const char *const names[] = {
        "with_bn",      "with_act",         "with_relu",         "with_sum",
        "with_eltwise", "with_postsum_act", "with_postsum_relu", "channel_wise_quantize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        imp_attr_ignore(c, names[i]);
}

static void as_graph(imp_node *c, const fused *f)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, f->inner.n),
             *out = TN_NEW_N(c->arena, tn_value, f->inner.g->n_head);
    if (f->inner.n != imp_n_in(c) || c->n_out > f->inner.g->n_head) {
        imp_refuse(c, IMP_OPERANDS,
                   "its graph takes or gives other values than its operands say; the model is damaged");
        return;
    }
    for (uint32_t i = 0; i < f->inner.n; i++)
        in[i] = imp_in(c, i);
    mx_inner_values(c, &f->inner, in, out);
    for (uint32_t i = 0; i < c->n_out; i++)
        imp_out(c, i, out[i]);
}

static bool text_is(const mx_node *n, const char *name, const char *value)
{
    return imp_is(mx_attr_text(n, name), value);
}

static double number_of(imp_node *c, const mx_node *n, const char *name, double def)
{
    tn_bytes s = mx_attr_text(n, name);
    return s.n ? strtod(tn_arena_strndup(c->arena, (const char *)s.at, s.n), NULL) : def;
}

/* ---- quantised weights ---- */

typedef struct weights {
    tn_value real, bias;   /* float32; bias may be absent */
    tn_value v, bias_sums; /* int8; int32, in numbers of the sums */
    tn_value steps;        /* of the weights, numbers for 1: one, or one a channel */
} weights;

static tn_value magnitudes(imp_node *c, tn_value v, bool by_channel)
{
    int64_t axes[IMP_MAX_RANK];
    int first = by_channel ? 1 : 0, n = imp_rank(v);
    if (!c->bad && n < first)
        imp_refuse(c, IMP_OPERANDS, "weights %s have no channels", imp_type_text(c, imp_type(v)));
    for (int i = first; i < n; i++)
        axes[i - first] = i;
    tn_axes_attr a = {tn_ints_make(c->arena, c->bad ? 0 : (uint32_t)(n - first), axes), false, false};
    tn_value most = imp_call1(c, &tn_op_max, &a, imp_unary(c, &tn_op_abs, v));
    return by_channel ? most : imp_unsqueeze(c, most, 0);
}

/* As whole numbers; by_channel: no coarser than that the bias fits half of int32. data: numbers for 1. */
static void quantise_weights(imp_node *c, weights *w, tn_value data, bool by_channel)
{
    w->steps = mx_steps(c, TN_I8, magnitudes(c, w->real, by_channel));
    if (w->bias.def && by_channel) {
        tn_value none = imp_with(c, &tn_op_equal, w->bias, 0);
        tn_value most = mx_number_by(c, 1073741824.0, imp_unary(c, &tn_op_abs, w->bias));
        most = imp_binary(c, &tn_op_minimum, w->steps, mx_by(c, most, data));
        w->steps = imp_choose(c, none, w->steps, most);
    }
    tn_value spread = by_channel ? imp_along(c, w->steps, 0, imp_rank(w->real)) : w->steps;
    w->v = mx_whole(c, mx_times(c, w->real, spread), TN_I8);
    if (w->bias.def)
        w->bias_sums = mx_whole(c, mx_times(c, w->bias, mx_times(c, w->steps, data)), TN_I32);
}

/* ---- _sg_mkldnn_conv ---- */

typedef struct conv {
    fused f;
    mx_quantised x, sum, y; /* sum: v absent where there is none */
    weights w;
    tn_value norm[4]; /* gamma, beta, mean, variance */
} conv;

static void conv_operands(imp_node *c, conv *k)
{
    uint32_t i = 0;
    bool has_bias = k->f.layer->n_in > 2;
    k->x.v = imp_in(c, i++);
    k->w.real = imp_in(c, i++);
    if (has_bias)
        k->w.bias = imp_in(c, i++);
    for (int n = 0; n < 4 && k->f.norm; n++)
        k->norm[n] = imp_in(c, i++);
    if (k->f.sum)
        k->sum.v = imp_in(c, i++);
    k->x.low = imp_in(c, i++);
    k->x.high = imp_in(c, i++);
    if (k->f.sum) {
        k->sum.low = imp_in(c, i++);
        k->sum.high = imp_in(c, i++);
    }
    if (!c->bad && i != imp_n_in(c))
        imp_refuse(c, IMP_OPERANDS, "it has %u operands, but its graph takes %u; the model is damaged",
                   (unsigned)imp_n_in(c), (unsigned)i);
}

/* The normalisation as part of weight and bias; its factors are computed in float64. */
static void fold_norm(imp_node *c, conv *k)
{
    const mx_node *n = k->f.norm;
    tn_value beta = k->norm[1], mean = k->norm[2], variance = imp_cast(c, k->norm[3], TN_F64);
    variance = imp_with(c, &tn_op_add, variance, number_of(c, n, "eps", 1e-3));
    bool fixed =
        !mx_attr_text(n, "fix_gamma").n || text_is(n, "fix_gamma", "True") || text_is(n, "fix_gamma", "1");
    tn_value gamma = fixed ? imp_const(c, TN_F64, 1) : imp_cast(c, k->norm[0], TN_F64);
    tn_value factor = imp_cast(c, mx_by(c, gamma, imp_unary(c, &tn_op_sqrt, variance)), TN_F32);
    tn_value from = k->w.bias.def ? imp_binary(c, &tn_op_subtract, mean, k->w.bias) : mean;
    k->w.bias = imp_binary(c, &tn_op_subtract, beta, mx_times(c, factor, from));
    k->w.real = mx_times(c, k->w.real, imp_along(c, factor, 0, imp_rank(k->w.real)));
}

/* Does the activation give no negative number, so that results are uint8? */
static bool is_positive(imp_node *c, const mx_node *act, bool any_slope)
{
    if (!act)
        return false;
    if (imp_is(act->op, "Activation"))
        return text_is(act, "act_type", "relu") || text_is(act, "act_type", "sigmoid") ||
               text_is(act, "act_type", "softrelu");
    if (!imp_is(act->op, "LeakyReLU"))
        return true;
    bool leaky = !mx_attr_text(act, "act_type").n || text_is(act, "act_type", "leaky");
    return leaky && (any_slope || number_of(c, act, "slope", 0.25) == 0);
}

static tn_value conv_sums(imp_node *c, conv *k)
{
    tn_value in[3] = {k->x.v, k->w.v, k->w.bias_sums};
    tn_value y = mx_apply(c, k->f.layer, in);
    return k->f.layer->n_in > 2 ? y : imp_bias_add(c, y, k->w.bias_sums, 1);
}

/* A limit of the real result, in numbers of it; without a sum uint8's own does that. */
static tn_value limited(imp_node *c, const conv *k, tn_value y, tn_value steps)
{
    tn_value most = imp_with(c, &tn_op_multiply, steps, number_of(c, k->f.act, "a_max", 0));
    return k->f.sum ? imp_binary(c, &tn_op_minimum, imp_with(c, &tn_op_maximum, y, 0), most) : y;
}

/* steps: of the result, numbers for 1; factor: of the sums, absent: 1. */
static tn_value conv_result(imp_node *c, conv *k, tn_value sums, tn_value factor, tn_value steps, tn_dtype t)
{
    if (!factor.def && !k->f.act && !k->f.sum)
        return sums;
    tn_value y = imp_cast(c, sums, TN_F32);
    y = factor.def ? mx_times(c, y, factor) : y;
    if (k->f.act)
        y = imp_is(k->f.act->op, "clip") ? limited(c, k, y, steps) : mx_apply(c, k->f.act, &y);
    if (k->f.sum) {
        tn_value each = mx_by(c, steps, mx_steps_of(c, &k->sum));
        y = imp_binary(c, &tn_op_add, y, mx_scaled(c, k->sum.v, each));
    }
    y = k->f.after ? mx_apply(c, k->f.after, &y) : y;
    return mx_whole(c, y, t);
}

static void quantised_conv(imp_node *c, conv *k)
{
    conv_operands(c, k);
    bool known = mx_calibrated(c, &k->y);
    if (!mx_takes_bytes(c, k->x.v))
        return;
    if (k->f.norm)
        fold_norm(c, k);
    tn_value data = mx_steps_of(c, &k->x);
    quantise_weights(c, &k->w, data, known);
    tn_value sums = conv_sums(c, k), factor = {0}, steps;
    const mx_node *last = k->f.sum ? k->f.after : k->f.act;
    tn_dtype t = !known ? TN_I32 : is_positive(c, last, false) ? TN_U8 : TN_I8;
    if (known) {
        steps = mx_steps(c, t, mx_magnitude(c, k->y.low, k->y.high));
        factor = imp_along(c, mx_by(c, mx_by(c, steps, data), k->w.steps), 1, imp_rank(sums));
    } else {
        tn_value most = magnitudes(c, k->w.real, false);
        mx_quantised w = {.low = most, .high = most};
        steps = mx_times(c, data, k->w.steps);
        mx_range_of_sums(c, &w, &k->x, imp_type(k->x.v)->dtype.code == TN_UINT, &k->y);
    }
    k->y.v = conv_result(c, k, sums, factor, steps, t);
    mx_quantised_out(c, k->y);
}

static void fused_conv(imp_node *c)
{
    conv *k = TN_NEW(c->arena, conv);
    bool quantised = mx_bool(c, "quantized", false);
    *k = (conv){0};
    ignore_parts(c);
    if (!read_fused(c, "Convolution", &k->f))
        return;
    if (quantised)
        quantised_conv(c, k);
    else
        as_graph(c, &k->f);
}

/* ---- _sg_mkldnn_fully_connected ---- */

/* int8 weights with a range. A bias whose numbers would not fit half of int32 makes all of them coarser. */
static void given_weights(imp_node *c, weights *w, tn_value data)
{
    bool has_bias = w->bias.def != NULL;
    uint32_t n = has_bias ? 3 : 2;
    mx_quantised q = mx_quantised_in(c, 1, n + 2);
    w->v = q.v;
    w->steps = mx_steps_of(c, &q);
    if (!has_bias)
        return;
    mx_quantised b = mx_quantised_in(c, 2, n + 4);
    tn_value own = mx_steps_of(c, &b), each = mx_by(c, mx_times(c, data, w->steps), own);
    tn_value most = mx_by(c, mx_number_by(c, 1073741823.0, mx_magnitude(c, b.low, b.high)), own);
    tn_value over = imp_binary(c, &tn_op_greater, each, most);
    tn_value coarser = mx_by(c, mx_by(c, mx_times(c, most, own), data), w->steps);
    tn_value fewer = imp_cast(c, mx_round_away(c, mx_scaled(c, q.v, coarser)), TN_I8);
    w->v = imp_choose(c, over, fewer, q.v);
    w->steps = imp_choose(c, over, mx_times(c, w->steps, coarser), w->steps);
    each = imp_choose(c, over, most, each);
    w->bias_sums = imp_cast(c, mx_round_away(c, mx_scaled(c, b.v, each)), TN_I32);
}

typedef struct dense {
    fused f;
    mx_quantised x, y;
    weights w;
    bool by_channel, real, known; /* the result is real; its range is known */
} dense;

static void dense_result(imp_node *c, dense *k, tn_value sums, tn_value data)
{
    tn_dtype t = !k->known ? TN_I32 : is_positive(c, k->f.act, true) ? TN_U8 : TN_I8;
    tn_value y = sums, one = imp_const(c, TN_F32, 1), steps = one;
    if (k->known)
        steps = mx_steps(c, t, mx_magnitude(c, k->y.low, k->y.high));
    if (k->known || k->real)
        y = mx_scaled(c, sums, mx_by(c, mx_by(c, k->f.act ? one : steps, data), k->w.steps));
    if (k->f.act) {
        y = imp_cast(c, y, TN_F32);
        y = mx_times(c, mx_apply(c, k->f.act, &y), steps);
    }
    k->y.v = k->real ? y : imp_type(y)->dtype.code == TN_FLOAT ? mx_whole(c, y, t) : y;
}

static void quantised_dense(imp_node *c, dense *k)
{
    bool has_bias = k->f.layer->n_in > 2;
    uint32_t n = has_bias ? 3 : 2;
    k->x = mx_quantised_in(c, 0, n);
    if (has_bias)
        k->w.bias = imp_in(c, 2);
    if (!mx_takes_bytes(c, k->x.v))
        return;
    if (k->by_channel && !k->known && !k->real) {
        imp_refuse(
            c, IMP_ATTR_MISSING,
            "weights by channel need the range of the result; calibrate the model (calib_mode \"naive\" or "
            "\"entropy\")");
        return;
    }
    tn_value data = mx_steps_of(c, &k->x);
    if (k->by_channel) {
        k->w.real = imp_in(c, 1);
        quantise_weights(c, &k->w, data, true);
    } else {
        given_weights(c, &k->w, data);
    }
    tn_value in[3] = {k->x.v, k->w.v, k->w.bias_sums}, sums = mx_apply(c, k->f.layer, in);
    if (!k->known && !k->real) {
        mx_quantised w = mx_quantised_in(c, 1, n + 2);
        mx_range_of_sums(c, &k->x, &w, imp_type(k->x.v)->dtype.code == TN_UINT, &k->y);
    }
    dense_result(c, k, sums, data);
    mx_quantised_out(c, k->y);
}

static void fused_dense(imp_node *c)
{
    dense *k = TN_NEW(c->arena, dense);
    bool quantised = mx_bool(c, "quantized", false);
    *k = (dense){.by_channel = mx_bool(c, "channel_wise_quantize", false),
                 .real = mx_bool(c, "enable_float_output", false)};
    k->known = mx_calibrated(c, &k->y);
    ignore_parts(c);
    if (!read_fused(c, "FullyConnected", &k->f))
        return;
    if (quantised)
        quantised_dense(c, k);
    else
        as_graph(c, &k->f);
}

// clang-format off
const imp_row mx_rows_fused[] = {
    {"_sg_mkldnn_conv",            0, 0, -1, 3, fused_conv,  NULL},
    {"_sg_mkldnn_fully_connected", 0, 0,  9, 3, fused_dense, NULL},
    {0},
};
// clang-format on
