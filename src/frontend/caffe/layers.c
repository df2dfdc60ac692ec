/* Caffe's layers, the table of their converters, and what the shared importer must know of Caffe. */
#include "frontend/caffe/caffe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

/* Fields name, or name_h and name_w. */
static void list(imp_node *c, cf_field *m, const imp_layer *w, const char *name, int64_t least, int64_t out[])
{
    const char *stem = strcmp(name, "kernel_size") == 0 ? "kernel" : name;
    imp_layer_list(c, w, name, cf_ints(c, m, name), least, out);
    for (int i = 0; i < 2 && w->dims == 2; i++) {
        const char *one = tn_arena_printf(&c->im->scratch, "%s_%c", stem, i ? 'w' : 'h');
        out[i] = cf_int(c, m, one, out[i]);
        if (!c->bad && out[i] < least)
            imp_refuse(c, IMP_BAD_VALUE, "%s is %lld, but must be at least %lld", one, (long long)out[i],
                       (long long)least);
    }
}

static bool read_window(imp_node *c, cf_field *m, tn_value x, imp_layer *w)
{
    if (!imp_layer_init(c, x, w))
        return false;
    list(c, m, w, "kernel_size", 1, w->kernel);
    list(c, m, w, "stride", 1, w->stride);
    list(c, m, w, "pad", 0, w->before);
    memcpy(w->after, w->before, sizeof w->after);
    return !c->bad;
}

static int64_t channels(imp_node *c, tn_value x, int axis)
{
    int64_t n = 1;
    if (!c->bad && (imp_rank(x) <= axis || !tn_is_int(imp_type(x)->dim[axis], &n) || n < 1))
        imp_refuse(c, IMP_OPERANDS, "data %s has no fixed number of channels", imp_type_text(c, imp_type(x)));
    return n;
}

static tn_value bias_of(imp_node *c, cf_field *m, uint32_t i, int64_t n)
{
    return cf_bool(c, m, "bias_term", true) ? cf_weight(c, i, 1, &n) : (tn_value){0};
}

static void convolution(imp_node *c)
{
    cf_field *m = cf_param(c, "convolution_param");
    tn_value x = imp_in(c, 0);
    bool turned = strcmp(c->row->op, "Deconvolution") == 0;
    int64_t in = channels(c, x, 1), out = cf_int(c, m, "num_output", 0), dim[2 + IMP_MAX_SPATIAL];
    imp_layer w;
    if (!read_window(c, m, x, &w))
        return;
    list(c, m, &w, "dilation", 1, w.dilation);
    w.groups = cf_int(c, m, "group", strncmp(c->row->op, "Depthwise", 9) == 0 ? in : 1);
    if (cf_int(c, m, "axis", 1) != 1 || out < 1 || w.groups < 1 || in % w.groups || out % w.groups)
        imp_refuse(c, IMP_BAD_VALUE, "%lld outputs in %lld groups do not fit %lld channels, or axis is not 1",
                   (long long)out, (long long)w.groups, (long long)in);
    if (c->bad)
        return;
    dim[0] = turned ? in : out;
    dim[1] = (turned ? out : in) / w.groups;
    memcpy(dim + 2, w.kernel, sizeof w.kernel);
    tn_value weight = cf_weight(c, 0, 2 + (uint32_t)w.dims, dim), bias = bias_of(c, m, 1, out);
    if (!c->bad)
        imp_out(c, 0,
                turned ? imp_layer_conv_transpose(c, x, weight, bias, &w)
                       : imp_layer_conv(c, x, weight, bias, &w));
}

static void pooling(imp_node *c)
{
    static const char *const kinds[] = {"MAX", "AVE", "0", "1", NULL}, *const rounds[] = {"CEIL", "FLOOR",
                                                                                          "0", "1", NULL};
    cf_field *m = cf_param(c, "pooling_param");
    tn_value x = imp_in(c, 0);
    int kind = cf_choice(c, m, "pool", 0, kinds) & 1;
    imp_layer w;
    bool global = cf_bool(c, m, "global_pooling", false);
    if (!read_window(c, m, x, &w))
        return;
    w.ceil_mode = !(cf_choice(c, m, "round_mode", 0, rounds) & 1) && cf_bool(c, m, "ceil_mode", true);
    w.count_include_pad = true;
    for (int i = 0; i < w.dims && !global; i++) {
        int64_t in, k = w.kernel[i], s = w.stride[i], p = w.before[i];
        bool known = tn_is_int(imp_type(x)->dim[2 + i], &in) && w.ceil_mode && in + 2 * p >= k;
        if (known && !p && (in - k + s - 1) / s * s >= in)
            imp_refuse(c, IMP_BAD_VALUE,
                       "a window lies behind the data, where Caffe's result is not defined");
    }
    imp_out(c, 0,
            global ? imp_layer_global(c, kind ? &tn_op_mean : &tn_op_max, x, true)
                   : imp_layer_pool(c, kind ? IMP_POOL_AVERAGE : IMP_POOL_MAX, x, &w));
}

/* ---- matrices ---- */

static void inner_product(imp_node *c)
{
    static const int64_t swap[] = {1, 0};
    cf_field *m = cf_param(c, "inner_product_param");
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    int64_t n = cf_int(c, m, "num_output", 0), in = 0;
    int axis = imp_axis(c, cf_int(c, m, "axis", 1), imp_rank(x));
    bool turned = cf_bool(c, m, "transpose", false);
    const tn_expr *dim[IMP_MAX_RANK];
    tn_value flat = c->bad ? x : imp_flatten(c, x, axis);
    if (!c->bad && (n < 1 || !tn_is_int(imp_type(flat)->dim[1], &in)))
        imp_refuse(c, IMP_OPERANDS, "data %s has no fixed extents, or num_output is %lld",
                   imp_type_text(c, t), (long long)n);
    if (c->bad)
        return;
    tn_value weight = cf_weight(c, 0, 2, turned ? (const int64_t[]){in, n} : (const int64_t[]){n, in});
    weight = turned && !c->bad ? imp_transpose(c, weight, 2, swap) : weight;
    tn_value bias = bias_of(c, m, 1, n);
    tn_value y = imp_layer_dense(c, flat, weight, bias);
    for (int i = 0; i < axis; i++)
        dim[i] = t->dim[i];
    dim[axis] = tn_idx(c->pool, n);
    imp_out(c, 0, axis == 1 ? y : imp_reshape(c, y, axis + 1, dim));
}

static void embed(imp_node *c)
{
    cf_field *m = cf_param(c, "embed_param");
    int64_t dim[2] = {cf_int(c, m, "input_dim", 0), cf_int(c, m, "num_output", 0)};
    tn_value at = imp_cast(c, imp_in(c, 0), TN_I64), table = cf_weight(c, 0, 2, dim);
    tn_value rows = imp_take(c, table, at, 0), bias = bias_of(c, m, 1, dim[1]);
    imp_out(c, 0, imp_bias_add(c, rows, bias, -1));
}

/* ---- elementwise ---- */

static void activation(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

static void relu(imp_node *c)
{
    tn_alpha_attr a = {cf_real(c, cf_param(c, "relu_param"), "negative_slope", 0)};
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, a.alpha == 0 ? imp_unary(c, &tn_op_nn_relu, x) : imp_call1(c, &tn_op_nn_leaky_relu, &a, x));
}

static void relu6(imp_node *c) { imp_out(c, 0, imp_clip(c, imp_in(c, 0), 0, 6)); }

static void prelu(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool shared = cf_bool(c, cf_param(c, "prelu_param"), "channel_shared", false);
    int64_t n = shared ? 1 : channels(c, x, 1);
    tn_value slope = cf_weight(c, 0, 1, &n);
    imp_out(c, 0, imp_binary(c, &tn_op_nn_prelu, x, shared ? slope : imp_along(c, slope, 1, imp_rank(x))));
}

static void elu(imp_node *c)
{
    tn_alpha_attr a = {cf_real(c, cf_param(c, "elu_param"), "alpha", 1)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_elu, &a, imp_in(c, 0)));
}

static tn_value affine(imp_node *c, tn_value x, double scale, double shift)
{
    x = scale == 1 ? x : imp_with(c, &tn_op_multiply, x, scale);
    return shift == 0 ? x : imp_with(c, &tn_op_add, x, shift);
}

/* (shift + scale x) ^ power */
static void power(imp_node *c)
{
    cf_field *m = cf_param(c, "power_param");
    double p = cf_real(c, m, "power", 1);
    tn_value x = affine(c, imp_in(c, 0), cf_real(c, m, "scale", 1), cf_real(c, m, "shift", 0));
    imp_out(c, 0,
            p == 1   ? x
            : p == 2 ? imp_binary(c, &tn_op_multiply, x, x)
                     : imp_with(c, &tn_op_power, x, p));
}

/* base ^ (shift + scale x); base -1: e */
static void exponential(imp_node *c)
{
    cf_field *m = cf_param(c, "exp_param");
    double base = cf_real(c, m, "base", -1), ln = base == -1 ? 1 : log(base);
    double scale = cf_real(c, m, "scale", 1), shift = cf_real(c, m, "shift", 0);
    if (base != -1 && !(base > 0))
        imp_refuse(c, IMP_BAD_VALUE, "base is %g, but must be above 0", base);
    imp_out(c, 0, imp_unary(c, &tn_op_exp, affine(c, imp_in(c, 0), scale * ln, shift * ln)));
}

static void logarithm(imp_node *c)
{
    cf_field *m = cf_param(c, "log_param");
    double base = cf_real(c, m, "base", -1);
    tn_value x = affine(c, imp_in(c, 0), cf_real(c, m, "scale", 1), cf_real(c, m, "shift", 0));
    if (base != -1 && (!(base > 0) || base == 1))
        imp_refuse(c, IMP_BAD_VALUE, "base is %g, but must be above 0 and not 1", base);
    tn_value y = imp_unary(c, &tn_op_log, x);
    imp_out(c, 0, base == -1 ? y : imp_with(c, &tn_op_multiply, y, 1 / log(base)));
}

static void threshold(imp_node *c)
{
    double t = cf_real(c, cf_param(c, "threshold_param"), "threshold", 0);
    imp_out(c, 0, imp_cast(c, imp_with(c, &tn_op_greater, imp_in(c, 0), t), TN_F32));
}

static void identity(imp_node *c)
{
    for (uint32_t i = 0; i < c->n_out; i++)
        imp_out(c, i, imp_in(c, 0));
}

static void eltwise(imp_node *c)
{
    static const char *const kinds[] = {"PROD", "SUM", "MAX", NULL};
    static const tn_op *const ops[] = {&tn_op_multiply, &tn_op_add, &tn_op_maximum};
    cf_field *m = cf_param(c, "eltwise_param"), *coeff = cf_find(m, "coeff");
    int kind = cf_choice(c, m, "operation", 1, kinds);
    tn_value y = {0};
    (void)cf_bool(c, m, "stable_prod_grad", true);
    for (uint32_t i = 0; i < imp_n_in(c); i++) {
        tn_value x = imp_in(c, i);
        const char *k = coeff ? imp_text(c->im, coeff->value) : "1";
        double f = strtod(k, NULL);
        x = f == 1 || kind != 1 ? x : imp_with(c, &tn_op_multiply, x, f);
        y = i ? imp_binary(c, ops[kind], y, x) : x;
        coeff = coeff ? cf_again(coeff) : NULL;
    }
    imp_out(c, 0, y);
}

/* ---- normalisation ---- */

static void batch_norm(imp_node *c)
{
    cf_field *m = cf_param(c, "batch_norm_param");
    tn_value x = imp_in(c, 0);
    int64_t n = channels(c, x, 1), one = 1;
    double eps = cf_real(c, m, "eps", 1e-5);
    (void)cf_bool(c, m, "use_global_stats", true);
    tn_value mean = cf_weight(c, 0, 1, &n), variance = cf_weight(c, 1, 1, &n),
             factor = cf_weight(c, 2, 1, &one);
    float f = 1;
    if (c->bad)
        return;
    memcpy(&f, factor.def->blob->at, 4); /* both are sums of this many */
    f = f == 0 ? 0 : 1 / f;
    mean = imp_with(c, &tn_op_multiply, mean, (double)f);
    variance = imp_with(c, &tn_op_multiply, variance, (double)f);
    tn_value zero = imp_with(c, &tn_op_multiply, mean, 0), gamma = imp_with(c, &tn_op_add, zero, 1);
    imp_out(c, 0, imp_batch_norm(c, (const tn_value[]){x, gamma, zero, mean, variance}, 1, eps));
}

/* v, whose dimensions are those of x from `axis` on, in the places of these. */
static tn_value from_axis(imp_node *c, tn_value v, int axis, tn_value x)
{
    const tn_expr *dim[IMP_MAX_RANK];
    int rank = imp_rank(x), n = imp_rank(v);
    if (!c->bad && axis + n > rank)
        imp_refuse(c, IMP_OPERANDS, "%s does not fit %s from axis %d on", imp_type_text(c, imp_type(v)),
                   imp_type_text(c, imp_type(x)), axis);
    if (c->bad)
        return v;
    for (int i = 0; i < rank; i++)
        dim[i] = i >= axis && i < axis + n ? imp_type(v)->dim[i - axis] : tn_idx(c->pool, 1);
    return imp_reshape(c, v, rank, dim);
}

/* Scale: a factor, and perhaps a bias; Bias: a term. Each is the second operand or weights. */
static void scale(imp_node *c)
{
    bool term = strcmp(c->row->op, "Bias") == 0, two = imp_n_in(c) > 1;
    cf_field *m = cf_param(c, term ? "bias_param" : "scale_param");
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, cf_int(c, m, "axis", 1), imp_rank(x));
    int64_t n = cf_int(c, m, "num_axes", 1);
    bool more = !term && cf_bool(c, m, "bias_term", false);
    tn_value by = two ? imp_in(c, 1) : cf_weight(c, 0, 0, NULL);
    if (n == 0 && !two && !c->bad)
        by = imp_reshape(c, by, 0, NULL);
    tn_value y = imp_binary(c, term ? &tn_op_add : &tn_op_multiply, x, from_axis(c, by, axis, x));
    tn_value bias = more ? cf_weight(c, two ? 0 : 1, 0, NULL) : (tn_value){0};
    imp_out(c, 0, more ? imp_binary(c, &tn_op_add, y, from_axis(c, bias, axis, x)) : y);
}

static void lrn(imp_node *c)
{
    static const char *const regions[] = {"ACROSS_CHANNELS", "0", NULL};
    cf_field *m = cf_param(c, "lrn_param");
    tn_lrn_attr a = {.axis = 1,
                     .size = cf_int(c, m, "local_size", 5),
                     .alpha = cf_real(c, m, "alpha", 1),
                     .beta = cf_real(c, m, "beta", 0.75),
                     .bias = cf_real(c, m, "k", 1)};
    (void)cf_choice(c, m, "norm_region", 0, regions);
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, imp_in(c, 0)));
}

/* SSD: x / sqrt(sum of squares), times a factor for each channel */
static void normalize(imp_node *c)
{
    cf_field *m = cf_param(c, "norm_param");
    tn_value x = imp_in(c, 0);
    bool all = cf_bool(c, m, "across_spatial", true), shared = cf_bool(c, m, "channel_shared", true);
    static const int64_t axes[] = {1, 2, 3};
    tn_axes_attr a = {tn_ints_make(c->arena, all ? 3 : 1, axes), true, false};
    double eps = cf_real(c, m, "eps", 1e-10);
    (void)cf_find(m, "scale_filler");
    int64_t n = shared ? 1 : channels(c, x, 1);
    tn_value sum = imp_call1(c, &tn_op_sum, &a, imp_binary(c, &tn_op_multiply, x, x));
    tn_value y =
        imp_binary(c, &tn_op_divide, x, imp_unary(c, &tn_op_sqrt, imp_with(c, &tn_op_add, sum, eps)));
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, y, imp_along(c, cf_weight(c, 0, 1, &n), 1, imp_rank(x))));
}

static void mvn(imp_node *c)
{
    cf_field *m = cf_param(c, "mvn_param");
    bool all = cf_bool(c, m, "across_channels", false), divide = cf_bool(c, m, "normalize_variance", true);
    double eps = cf_real(c, m, "eps", 1e-9);
    static const int64_t axes[] = {1, 2, 3};
    tn_value x = imp_in(c, 0);
    tn_axes_attr a = {tn_ints_make(c->arena, all ? 3 : 2, axes + (all ? 0 : 1)), true, false};
    tn_value mean = imp_call1(c, &tn_op_mean, &a, x), d = imp_binary(c, &tn_op_subtract, x, mean);
    tn_value deviation =
        imp_unary(c, &tn_op_sqrt, imp_call1(c, &tn_op_mean, &a, imp_binary(c, &tn_op_multiply, d, d)));
    imp_out(c, 0, divide ? imp_binary(c, &tn_op_divide, d, imp_with(c, &tn_op_add, deviation, eps)) : d);
}

static void softmax(imp_node *c)
{
    int64_t axis = cf_int(c, cf_param(c, "softmax_param"), "axis", 1);
    imp_out(c, 0, imp_softmax(c, &tn_op_nn_softmax, imp_in(c, 0), axis));
}

/* ---- shapes ---- */

static void concat(imp_node *c)
{
    cf_field *m = cf_param(c, "concat_param");
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = imp_in(c, i);
    int64_t axis = cf_int(c, m, "axis", cf_int(c, m, "concat_dim", 1));
    imp_out(c, 0, c->n_in ? imp_concat(c, imp_n_in(c), in, axis) : imp_in(c, 0));
}

static void slice(imp_node *c)
{
    cf_field *m = cf_param(c, "slice_param");
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, cf_int(c, m, "axis", cf_int(c, m, "slice_dim", 1)), imp_rank(x));
    tn_ints points = cf_ints(c, m, "slice_point");
    int64_t n = (int64_t)c->n_out, extent = 0, from = 0;
    if (!c->bad && points.n != (points.n ? c->n_out - 1 : 0))
        imp_refuse(c, IMP_BAD_VALUE, "there are %u slice_points for %zu results", (unsigned)points.n,
                   c->n_out);
    if (!c->bad && !points.n && (!tn_is_int(imp_type(x)->dim[axis], &extent) || n < 1 || extent % n))
        imp_refuse(c, IMP_BAD_VALUE, "axis %d of %s cannot be cut into %lld equal parts", axis,
                   imp_type_text(c, imp_type(x)), (long long)n);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t to = points.n ? (i + 1 < n ? points.at[i] : INT64_MAX) : from + extent / n;
        imp_out(c, (uint32_t)i, imp_slice(c, x, axis, from, to));
        from = to;
    }
}

static void flatten(imp_node *c)
{
    cf_field *m = cf_param(c, "flatten_param");
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int first = imp_axis(c, cf_int(c, m, "axis", 1), t->n),
        last = imp_axis(c, cf_int(c, m, "end_axis", -1), t->n), n = 0;
    if (!c->bad && first > last)
        imp_refuse(c, IMP_BAD_VALUE, "axis %d lies behind end_axis %d", first, last);
    if (c->bad)
        return;
    for (int i = 0; i < first; i++)
        dim[n++] = t->dim[i];
    dim[n++] = imp_product(c, t, first, last + 1);
    for (int i = last + 1; i < t->n; i++)
        dim[n++] = t->dim[i];
    imp_out(c, 0, imp_reshape(c, x, n, dim));
}

/* Entries of the shape: 0 keeps a dimension, -1 takes the rest; dimensions outside of [axis, axis + num_axes) stay. */
static void reshape(imp_node *c)
{
    cf_field *m = cf_param(c, "reshape_param");
    tn_ints shape = cf_ints(c, cf_find(m, "shape"), "dim");
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    int64_t axis = cf_int(c, m, "axis", 0), count = cf_int(c, m, "num_axes", -1);
    const tn_expr *dim[2 * IMP_MAX_RANK];
    int n = 0;
    axis += axis < 0 ? t->n + 1 : 0;
    count = count < 0 ? t->n - axis : count;
    if (!c->bad &&
        (axis < 0 || axis > t->n || axis + count > t->n || shape.n + (uint32_t)(t->n - count) > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "axis %lld and num_axes %lld do not fit %s", (long long)axis,
                   (long long)count, imp_type_text(c, t));
    for (int64_t i = 0; i < axis && !c->bad; i++)
        dim[n++] = t->dim[i];
    for (uint32_t i = 0; i < shape.n && !c->bad; i++)
        if (shape.at[i] < -1 || (shape.at[i] == 0 && axis + i >= t->n))
            imp_refuse(c, IMP_BAD_VALUE, "dim %u of the shape is %lld", (unsigned)i, (long long)shape.at[i]);
        else
            dim[n++] = shape.at[i] ? tn_idx(c->pool, shape.at[i]) : t->dim[axis + i];
    for (int64_t i = axis + count; i < t->n && !c->bad; i++)
        dim[n++] = t->dim[i];
    tn_reshape_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)n, dim), true};
    imp_out(c, 0, c->bad ? x : imp_reshape_to(c, x, &a));
}

static void permute(imp_node *c)
{
    tn_ints order = cf_ints(c, cf_param(c, "permute_param"), "order");
    tn_value x = imp_in(c, 0);
    if (!c->bad && order.n != (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "order has %u entries for %s", (unsigned)order.n,
                   imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_transpose(c, x, (int)order.n, order.at));
}

/* x cut to the extents of the second operand, from `offset` on. */
static void crop(imp_node *c)
{
    cf_field *m = cf_param(c, "crop_param");
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    tn_ints offset = cf_ints(c, m, "offset");
    int axis = imp_axis(c, cf_int(c, m, "axis", 2), imp_rank(x));
    int64_t n;
    for (int i = axis; i < imp_rank(x) && !c->bad; i++) {
        int64_t from = !offset.n ? 0 : offset.at[offset.n == 1 ? 0 : (uint32_t)(i - axis)];
        if ((offset.n > 1 && offset.n != (uint32_t)(imp_rank(x) - axis)) || imp_rank(like) <= i ||
            !tn_is_int(imp_type(like)->dim[i], &n))
            imp_refuse(c, IMP_OPERANDS, "%s cannot be cut as %s is", imp_type_text(c, imp_type(x)),
                       imp_type_text(c, imp_type(like)));
        else
            x = imp_slice(c, x, i, from, from + n);
    }
    imp_out(c, 0, x);
}

static void tile(imp_node *c)
{
    cf_field *m = cf_param(c, "tile_param");
    tn_value x = imp_in(c, 0);
    int64_t reps[IMP_MAX_RANK];
    int axis = imp_axis(c, cf_int(c, m, "axis", 1), imp_rank(x));
    for (int i = 0; i < imp_rank(x); i++)
        reps[i] = i == axis ? cf_int(c, m, "tiles", 1) : 1;
    tn_tile_attr a = {tn_make_dims(c->g, (uint32_t)imp_rank(x), reps)};
    imp_out(c, 0, imp_call1(c, &tn_op_tile, &a, x));
}

static void reduction(imp_node *c)
{
    static const char *const kinds[] = {"SUM", "ASUM", "SUMSQ", "MEAN", NULL};
    cf_field *m = cf_param(c, "reduction_param");
    int kind = cf_choice(c, m, "operation", 0, kinds);
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, cf_int(c, m, "axis", 0), imp_rank(x));
    int64_t axes[IMP_MAX_RANK];
    for (int i = axis; i < imp_rank(x); i++)
        axes[i - axis] = i;
    tn_axes_attr a = {tn_ints_make(c->arena, (uint32_t)(imp_rank(x) - axis), axes), false, false};
    x = kind == 1 ? imp_unary(c, &tn_op_abs, x) : kind == 2 ? imp_binary(c, &tn_op_multiply, x, x) : x;
    tn_value y = imp_call1(c, kind == 3 ? &tn_op_mean : &tn_op_sum, &a, x);
    imp_out(c, 0, affine(c, y, cf_real(c, m, "coeff", 1), 0));
}

static void shuffle_channel(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t g = cf_int(c, cf_param(c, "shuffle_channel_param"), "group", 1), n = channels(c, x, 1);
    static const int64_t swap[] = {0, 2, 1, 3, 4};
    if (!c->bad && (imp_rank(x) != 4 || g < 1 || n % g))
        imp_refuse(c, IMP_BAD_VALUE, "%lld groups do not fit %s", (long long)g,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_expr *const *d = imp_type(x)->dim;
    const tn_expr *dim[5] = {d[0], tn_idx(c->pool, g), tn_idx(c->pool, n / g), d[2], d[3]};
    imp_out(c, 0, imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 5, dim), 5, swap), 4, d));
}

// clang-format off
static const imp_row rows[] = {
    {"Convolution",          0, 0,  1, 1, convolution,     NULL},
    {"ConvolutionDepthwise", 0, 0,  1, 1, convolution,     NULL},
    {"DepthwiseConvolution", 0, 0,  1, 1, convolution,     NULL},
    {"Deconvolution",        0, 0,  1, 1, convolution,     NULL},
    {"Pooling",              0, 0,  1, 1, pooling,         NULL},
    {"InnerProduct",         0, 0,  1, 1, inner_product,   NULL},
    {"Embed",                0, 0,  1, 1, embed,           NULL},
    {"ReLU",                 0, 0,  1, 1, relu,            NULL},
    {"ReLU6",                0, 0,  1, 1, relu6,           NULL},
    {"PReLU",                0, 0,  1, 1, prelu,           NULL},
    {"ELU",                  0, 0,  1, 1, elu,             NULL},
    {"Sigmoid",              0, 0,  1, 1, activation,      &tn_op_sigmoid},
    {"TanH",                 0, 0,  1, 1, activation,      &tn_op_tanh},
    {"AbsVal",               0, 0,  1, 1, activation,      &tn_op_abs},
    {"BNLL",                 0, 0,  1, 1, activation,      &tn_op_nn_softplus},
    {"Power",                0, 0,  1, 1, power,           NULL},
    {"Exp",                  0, 0,  1, 1, exponential,     NULL},
    {"Log",                  0, 0,  1, 1, logarithm,       NULL},
    {"Threshold",            0, 0,  1, 1, threshold,       NULL},
    {"Dropout",              0, 0,  1, 1, identity,        NULL},
    {"Split",                0, 0,  1, -1, identity,       NULL},
    {"Eltwise",              0, 0, -1, 1, eltwise,         NULL},
    {"BatchNorm",            0, 0,  1, 1, batch_norm,      NULL},
    {"Scale",                0, 0,  2, 1, scale,           NULL},
    {"Bias",                 0, 0,  2, 1, scale,           NULL},
    {"LRN",                  0, 0,  1, 1, lrn,             NULL},
    {"Normalize",            0, 0,  1, 1, normalize,       NULL},
    {"MVN",                  0, 0,  1, 1, mvn,             NULL},
    {"Softmax",              0, 0,  1, 1, softmax,         NULL},
    {"Concat",               0, 0, -1, 1, concat,          NULL},
    {"Slice",                0, 0,  1, -1, slice,          NULL},
    {"Flatten",              0, 0,  1, 1, flatten,         NULL},
    {"Reshape",              0, 0,  1, 1, reshape,         NULL},
    {"Permute",              0, 0,  1, 1, permute,         NULL},
    {"Crop",                 0, 0,  2, 1, crop,            NULL},
    {"Tile",                 0, 0,  1, 1, tile,            NULL},
    {"Reduction",            0, 0,  1, 1, reduction,       NULL},
    {"ShuffleChannel",       0, 0,  1, 1, shuffle_channel, NULL},
    {0},
};
// clang-format on
static const imp_table tables[] = {{NULL, rows}, {NULL, cf_rows_detection}, {0}};

const imp_format cf_format = {
    .version = "version",
    .tables = tables,
    .id =
        {
            [IMP_NO_OUTPUTS] = "caffe-E001",    [IMP_BAD_TENSOR] = "caffe-E001",
            [IMP_UNKNOWN_NAME] = "caffe-E001",  [IMP_NAME_TWICE] = "caffe-E001",
            [IMP_BAD_FILE] = "caffe-E002",      [IMP_UNKNOWN_OPERATOR] = "caffe-E003",
            [IMP_OTHER_VERSION] = "caffe-E003", [IMP_UNSUPPORTED_RESULT] = "caffe-E003",
            [IMP_ATTR_TYPE] = "caffe-E004",     [IMP_ATTR_MISSING] = "caffe-E004",
            [IMP_ATTR_UNKNOWN] = "caffe-E004",  [IMP_BAD_VALUE] = "caffe-E004",
            [IMP_NOT_CONSTANT] = "caffe-E005",  [IMP_OPERANDS] = "caffe-E005",
            [IMP_TOO_LARGE] = "caffe-E005",     [IMP_NO_TENSOR] = "caffe-E006",
            [IMP_NO_INPUT] = "caffe-E006",      [IMP_OTHER_RANK] = "caffe-E006",
            [IMP_BAD_SIZES] = "caffe-E006",     [IMP_SYMBOLS] = "caffe-E006",
            [IMP_MEMORY] = "caffe-E007",        [IMP_ERRORS] = "caffe-E007",
        },
};
