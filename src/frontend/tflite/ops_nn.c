/* Layers: convolution, pooling, fully connected, softmax, normalisation. Data has the channels last. */
#include "frontend/tflite/quant.h"

#include "op/qnn/qnn.h"

#include <stdio.h>
#include <string.h>

enum { SAME, VALID };

/* ---- windows ---- */

static void read_steps(imp_node *c, imp_window *w)
{
    static const char *const strides[] = {"stride_d", "stride_h", "stride_w"};
    static const char *const dilations[] = {"dilation_d_factor", "dilation_h_factor", "dilation_w_factor"};
    for (int i = 0; i < w->dims; i++) {
        w->stride[i] = imp_attr_int(c, strides[3 - w->dims + i], 0);
        w->dilation[i] = imp_attr_int(c, dilations[3 - w->dims + i], 1);
    }
}

static void read_padding(imp_node *c, tn_value x, imp_window *w)
{
    for (int i = 0; i < w->dims; i++)
        (void)imp_window_span(c, w, i);
    if (imp_attr_int(c, "padding", SAME) == SAME)
        imp_pad_same(c, x, w, false);
}

/* ---- integer products ---- */

static void fully_connected(imp_node *c);

/* The factor of the sums of each channel of the result. */
static tfl_factor *product_factors(imp_node *c, uint32_t *out_n)
{
    const tfl_tensor *x = tfl_in(c, 0), *w = tfl_in(c, 1), *y = tfl_out(c, 0);
    bool each = w->n_scale > 1 || (w->dtype.code == TN_INT && c->row->convert != fully_connected);
    tfl_factor *f = TN_NEW_N(c->arena, tfl_factor, w->n_scale);
    for (uint32_t i = 0; i < w->n_scale; i++) {
        double product =
            each ? (double)x->scale[0] * (double)w->scale[i] : (double)(x->scale[0] * w->scale[i]);
        f[i] = tfl_factor_of(product / (double)y->scale[0]);
    }
    *out_n = w->n_scale;
    return f;
}

static bool integers(imp_node *c)
{
    return tfl_is_quantised(tfl_in(c, 0)) && tfl_has_scales(tfl_in(c, 1)) && tfl_is_quantised(tfl_out(c, 0));
}

static tn_value zero_point(imp_node *c, uint32_t i, tn_dtype t)
{
    return imp_const(c, t, (double)tfl_in(c, i)->zero[0]);
}

/* Sums (int32, of 16-bit data int64) plus the bias, on the result's grid. Channels are the last dimension. */
static tn_value finished(imp_node *c, tn_value y, tn_value bias, int64_t function)
{
    const tfl_tensor *t = tfl_out(c, 0);
    uint32_t n;
    tfl_factor *f = product_factors(c, &n);
    tn_dtype sums = imp_type(y)->dtype;
    y = bias.def ? imp_bias(c, y, imp_cast(c, bias, sums), true) : y;
    bool once = c->row->convert == fully_connected;
    y = (once                        ? tfl_scaled_once
         : tn_dtype_eq(sums, TN_I64) ? tfl_scaled_wide
                                     : tfl_scaled)(c, y, n, f, imp_rank(y) - 1);
    return tfl_narrow(c, y, t, function);
}

/* qnn.conv2d of data with the channels last; weight: OIHW. */
static tn_value conv_sums(imp_node *c, const imp_window *w, tn_value x, tn_value weight, int64_t groups)
{
    tn_conv2d_attr a;
    tn_value one = imp_const(c, TN_F32, 1);
    if (tfl_in(c, 0)->dtype.bits ==
        16) { /* 16-bit data has no zero point; sums of many products need 64 bits */
        x = imp_cast(c, x, TN_I64);
        return imp_conv(c, x, imp_cast(c, weight, TN_I64), w, groups);
    }
    if (!imp_conv_attr(c, w, weight, groups, &tn_op_qnn_conv2d, &a))
        return (tn_value){0};
    tn_value in[] = {imp_channels_first(c, x),
                     weight,
                     zero_point(c, 0, imp_type(x)->dtype),
                     zero_point(c, 1, imp_type(weight)->dtype),
                     one,
                     one};
    return imp_channels_last(c, imp_call(c, &tn_op_qnn_conv2d, &a, 6, in));
}

/* ---- CONV_2D, DEPTHWISE_CONV_2D, CONV_3D ---- */

/* Data in float32, weights in integers: the weights' real values. */
static tn_value real_conv(imp_node *c, tn_value x, tn_value weight, const imp_window *w, int64_t groups,
                          int64_t function)
{
    tn_value y = imp_conv(c, x, weight, w, groups);
    tn_value bias = imp_has(c, 2) ? tfl_real(c, 2) : (tn_value){0};
    return tfl_activate(c, imp_bias(c, y, bias, true), function);
}

static void convolve(imp_node *c, tn_value x, tn_value weight, imp_window *w, int64_t groups)
{
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    imp_attr_ignore(c, "quantized_bias_type");
    read_steps(c, w);
    if (!imp_window_of_weight(c, weight, w))
        return;
    read_padding(c, x, w);
    if (integers(c) && w->dims == 2)
        imp_out(c, 0, finished(c, conv_sums(c, w, x, weight, groups), imp_opt(c, 2), function));
    else
        tfl_give(c, 0, real_conv(c, x, weight, w, groups, function));
}

static tn_value weights(imp_node *c)
{
    return integers(c) ? imp_in(c, 1) : imp_cast(c, tfl_real(c, 1), TN_F32);
}

static tn_value data(imp_node *c) { return integers(c) ? imp_in(c, 0) : tfl_real(c, 0); }

/* Channels of the data by those that one result channel reads. */
static int64_t group_count(imp_node *c, tn_value x, tn_value weight)
{
    int64_t all = 0, each = 0;
    const tn_type *t = imp_type(x);
    if (!tn_is_int(t->dim[t->n - 1], &all) || !tn_is_int(imp_type(weight)->dim[1], &each) || each < 1 ||
        all % each != 0) {
        imp_refuse(c, IMP_TOO_LARGE, "weight %s does not fit data %s; the model is damaged",
                   imp_type_text(c, imp_type(weight)), imp_type_text(c, t));
        return 1;
    }
    return all / each;
}

static void conv(imp_node *c)
{
    imp_window w;
    tn_value x = data(c);
    bool volume = c->row->op[5] == '3';
    if (!imp_window_init(c, x, true, &w))
        return;
    tn_value weight = weights(c);
    weight = volume ? imp_reorder(c, weight, "DHWIO", "OIDHW") : imp_reorder(c, weight, "OHWI", "OIHW");
    if (!c->bad)
        convolve(c, x, weight, &w, group_count(c, x, weight));
}

/* The weight is [1, rows, columns, channels of the result]. */
static void depthwise(imp_node *c)
{
    imp_window w;
    tn_value x = data(c);
    imp_attr_ignore(c, "depth_multiplier");
    if (!imp_window_init(c, x, true, &w))
        return;
    tn_value weight = imp_reorder(c, weights(c), "IHWO", "OIHW");
    if (!c->bad)
        convolve(c, x, weight, &w, group_count(c, x, weight));
}

/* ---- TRANSPOSE_CONV, CONV_3D_TRANSPOSE: shape of the result, weight, data, bias ---- */

static void transposed(imp_node *c)
{
    imp_window w;
    bool volume = c->row->op[0] == 'C';
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    const tfl_tensor *y = tfl_out(c, 0), *x_tensor = tfl_in(c, 2);
    bool exact = tfl_is_quantised(x_tensor) && tfl_is_quantised(y) && tfl_has_scales(tfl_in(c, 1)) && !volume,
         wide = exact && x_tensor->dtype.bits == 16; /* sums of many products need 64 bits */
    tn_value x = exact ? imp_in(c, 2) : tfl_real(c, 2), weight = exact ? imp_in(c, 1) : tfl_real(c, 1);
    tn_dims size = imp_extents_in(c, imp_in(c, 0), "output_shape");
    imp_attr_ignore(c, "quantized_bias_type");
    if (!imp_window_init(c, x, true, &w))
        return;
    weight = volume ? imp_reorder(c, weight, "DHWOI", "IODHW") : imp_reorder(c, weight, "OHWI", "IOHW");
    read_steps(c, &w);
    enum imp_padding how = imp_attr_int(c, "padding", SAME) == SAME ? IMP_SAME : IMP_VALID;
    if (!imp_window_of_weight(c, weight, &w))
        return;
    if (!exact) {
        tn_value v = imp_conv_transpose_to(c, x, weight, &w, size, how);
        v = imp_bias(c, v, imp_has(c, 3) ? tfl_real(c, 3) : (tn_value){0}, true);
        tfl_give(c, 0, tfl_activate(c, v, function));
        return;
    }
    const tfl_tensor *wt = tfl_in(c, 1);
    tfl_factor *f = TN_NEW_N(c->arena, tfl_factor, wt->n_scale);
    for (uint32_t i = 0; i < wt->n_scale; i++)
        f[i] = tfl_factor_of((double)x_tensor->scale[0] * (double)wt->scale[i] / (double)y->scale[0]);
    const tn_dtype sums = wide ? TN_I64 : TN_I32;
    x = tfl_with(c, &tn_op_subtract, imp_cast(c, x, sums), (double)x_tensor->zero[0]);
    weight = tfl_with(c, &tn_op_subtract, imp_cast(c, weight, sums), (double)wt->zero[0]);
    tn_value v = imp_conv_transpose_to(c, x, weight, &w, size, how);
    v = imp_has(c, 3) ? imp_bias(c, v, imp_cast(c, imp_in(c, 3), sums), true) : v;
    v = (wide ? tfl_scaled_wide : tfl_scaled)(c, v, wt->n_scale, f, 3);
    imp_out(c, 0, tfl_narrow(c, v, y, function));
}

/* ---- FULLY_CONNECTED ---- */

static tn_value rows_of(imp_node *c, tn_value x, tn_value weight)
{
    const tn_type *t = imp_type(x), *w = imp_type(weight);
    const tn_expr *dim[2];
    if (c->bad || w->n != 2)
        return x;
    dim[1] = w->dim[1];
    if (t->n == 2 && t->dim[1] == dim[1])
        return x;
    dim[0] = imp_simplify(c, tn_fdiv(c->pool, imp_product(c, t, 0, t->n), dim[1]));
    return imp_reshape(c, x, 2, dim);
}

static tn_value dense(imp_node *c, tn_value x, tn_value weight)
{
    tn_dense_attr a;
    const tfl_tensor *t = tfl_in(c, 0);
    tn_value one = imp_const(c, TN_F32, 1);
    if (!integers(c) || t->dtype.bits == 16) {
        x = integers(c) ? imp_cast(c, x, TN_I64) : x;
        weight = integers(c) ? imp_cast(c, weight, TN_I64) : weight;
        if (c->bad || tn_attr_init(c->pool, tn_op_nn_dense.attr, sizeof a, &a) != TN_OK)
            return (tn_value){0};
        return imp_call2(c, &tn_op_nn_dense, &a, x, weight);
    }
    if (c->bad || tn_attr_init(c->pool, tn_op_qnn_dense.attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    tn_value in[] = {
        x, weight, zero_point(c, 0, imp_type(x)->dtype), zero_point(c, 1, imp_type(weight)->dtype), one, one};
    return imp_call(c, &tn_op_qnn_dense, &a, 6, in);
}

static void fully_connected(imp_node *c)
{
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    bool keep = imp_attr_int(c, "keep_num_dims", 0) != 0;
    tn_value x = data(c), weight = weights(c);
    const tn_type *t = imp_type(x);
    if (imp_attr_int(c, "weights_format", 0) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "weights_format SHUFFLED4x16INT8 is not supported");
    imp_attr_ignore(c, "asymmetric_quantize_inputs");
    imp_attr_ignore(c, "quantized_bias_type");
    imp_attr_ignore(c, "quant_spec");
    tn_value y = dense(c, rows_of(c, x, weight), weight);
    if (c->bad)
        return;
    if (integers(c)) {
        y = finished(c, y, imp_opt(c, 2), function);
    } else {
        tn_value bias = imp_has(c, 2) ? tfl_real(c, 2) : (tn_value){0};
        y = tfl_activate(c, imp_bias(c, y, bias, true), function);
    }
    if (keep && !c->bad && t->n < 1)
        imp_refuse(c, IMP_OPERANDS, "data %s has no dimension to keep; the model is damaged",
                   imp_type_text(c, t));
    if (keep && !c->bad) {
        const tn_expr *dim[IMP_MAX_RANK];
        for (int i = 0; i + 1 < t->n; i++)
            dim[i] = t->dim[i];
        dim[t->n - 1] = imp_type(y)->dim[1];
        y = imp_reshape(c, y, t->n, dim);
    }
    tfl_give(c, 0, y);
}

static void batch_matmul(imp_node *c)
{
    bool a_turned = imp_attr_int(c, "adj_x", 0) != 0, b_turned = imp_attr_int(c, "adj_y", 0) != 0;
    imp_attr_ignore(c, "asymmetric_quantize_inputs");
    const tfl_tensor *x = tfl_in(c, 0), *w = tfl_in(c, 1), *y = tfl_out(c, 0);
    bool exact = tfl_is_quantised(x) && tfl_is_quantised(w) && tfl_is_quantised(y);
    tn_value a = exact ? tfl_centered(c, 0) : tfl_real(c, 0), b = exact ? tfl_centered(c, 1) : tfl_real(c, 1);
    bool wide = exact && y->dtype.bits == 16; /* whose sums have 64 bits */
    if (wide) {
        a = imp_cast(c, a, TN_I64);
        b = imp_cast(c, b, TN_I64);
    }
    char equation[64], batch[IMP_MAX_RANK + 1];
    int ra = imp_rank(a), rb = imp_rank(b), r = ra > rb ? ra : rb;
    if (c->bad || ra < 2 || rb < 2)
        return;
    memcpy(batch, "abcdefgh", IMP_MAX_RANK + 1);
    (void)snprintf(equation, sizeof equation, "%.*s%s,%.*s%s->%.*sij", ra - 2, batch + (r - ra),
                   a_turned ? "ki" : "ik", rb - 2, batch + (r - rb), b_turned ? "jk" : "kj", r - 2, batch);
    tn_einsum_attr e = {tn_intern(c->g->ctx, equation)};
    tn_value v = imp_call2(c, &tn_op_einsum, &e, a, b);
    if (exact) {
        tfl_factor f = tfl_factor_of((double)(x->scale[0] * w->scale[0]) / (double)y->scale[0]);
        v = tfl_narrow(c, wide ? tfl_scaled_wide(c, v, 1, &f, 0) : tfl_scaled(c, v, 1, &f, 0), y, 0);
    }
    tfl_give(c, 0, v);
}

/* ---- pooling ---- */

static bool pool_window(imp_node *c, tn_value x, imp_window *w)
{
    if (!imp_window_init(c, x, true, w))
        return false;
    if (w->dims != 2)
        imp_refuse(c, IMP_TOO_LARGE, "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    w->stride[0] = imp_attr_int(c, "stride_h", 0);
    w->stride[1] = imp_attr_int(c, "stride_w", 0);
    w->kernel[0] = imp_attr_int(c, "filter_height", 0);
    w->kernel[1] = imp_attr_int(c, "filter_width", 0);
    read_padding(c, x, w);
    return !c->bad;
}

static void max_pool(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    imp_window w;
    if (!pool_window(c, x, &w))
        return;
    tn_value y = imp_pool(c, IMP_POOL_MAX, x, &w, false);
    if (tfl_is_quantised(tfl_out(c, 0)) && function)
        y = tfl_narrow(c,
                       tfl_with(c, &tn_op_subtract, imp_cast(c, y, TN_I32), (double)tfl_out(c, 0)->zero[0]),
                       tfl_out(c, 0), function);
    else if (!tfl_is_quantised(tfl_out(c, 0)))
        y = tfl_activate(c, y, function);
    imp_out(c, 0, y);
}

/* The average of integers: of their sums, rounded away from 0 at a half. A quotient of float32 is nearer to the true
 * one than any other that could round differently, for windows of up to 2^16 elements. */
static void average_pool(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    bool exact = tfl_is_quantised(tfl_in(c, 0)) && tfl_is_quantised(y);
    tn_value x = exact ? imp_cast(c, imp_in(c, 0), TN_F32) : imp_in(c, 0);
    imp_window w;
    if (!pool_window(c, x, &w))
        return;
    tn_value v = imp_pool(c, IMP_POOL_AVERAGE, x, &w, false);
    if (!exact) {
        imp_out(c, 0, tfl_activate(c, v, function));
        return;
    }
    v = imp_cast(c, tfl_rounded(c, v), TN_I32);
    v = imp_binary(c, &tn_op_subtract, v, tfl_int(c, y->zero[0]));
    imp_out(c, 0, tfl_narrow(c, v, y, function));
}

static void l2_pool(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    imp_window w;
    if (!pool_window(c, x, &w))
        return;
    tn_value v = imp_pool(c, IMP_POOL_AVERAGE, imp_binary(c, &tn_op_multiply, x, x), &w, false);
    imp_out(c, 0, tfl_activate(c, imp_unary(c, &tn_op_sqrt, v), function));
}

/* ---- rows ---- */

static void softmax(imp_node *c)
{
    bool log = c->row->relay == &tn_op_nn_log_softmax;
    double beta = log ? 1 : imp_attr_float(c, "beta", 0);
    tn_axis_attr last = {-1};
    const tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    if (!log && tfl_is_quantised(x) && x->dtype.bits == 16 && tfl_is_quantised(y) && y->dtype.bits == 16 &&
        y->scale[0] == 1.0f / 32768) {
        imp_out(c, 0, tfl_softmax16(c, beta));
        return;
    }
    tn_value v = tfl_real(c, 0);
    if (beta != 1)
        v = imp_binary(c, &tn_op_multiply, v, imp_const(c, TN_F32, beta));
    tfl_give(c, 0, imp_call1(c, c->row->relay, &last, v));
}

static void l2_normalize(imp_node *c)
{
    static const int64_t last = -1;
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &last), true, false};
    tn_value x = tfl_real(c, 0);
    tn_value n = imp_call1(c, &tn_op_sum, &a, imp_binary(c, &tn_op_multiply, x, x));
    n = tfl_with(c, &tn_op_maximum, imp_unary(c, &tn_op_sqrt, n), 1e-6);
    tfl_give(c, 0, tfl_activate(c, imp_binary(c, &tn_op_divide, x, n), function));
}

/* `radius` channels before and as many after, as TensorFlow and LiteRT's optimised kernel have them. Its reference
 * kernel leaves out the last one. */
static void local_response(imp_node *c)
{
    int64_t size = 2 * imp_attr_int(c, "radius", 0) + 1;
    tn_lrn_attr a = {.size = size,
                     .axis = imp_rank(imp_in(c, 0)) - 1,
                     .bias = imp_attr_float(c, "bias", 0),
                     .alpha = imp_attr_float(c, "alpha", 0) * (double)size,
                     .beta = imp_attr_float(c, "beta", 0)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, imp_in(c, 0)));
}

// clang-format off
const imp_row tfl_rows_nn[] = {
    {"CONV_2D",                      1, 0, 3, 1, conv,            NULL},
    {"CONV_3D",                      1, 0, 3, 1, conv,            NULL},
    {"DEPTHWISE_CONV_2D",            1, 0, 3, 1, depthwise,       NULL},
    {"TRANSPOSE_CONV",               1, 0, 4, 1, transposed,      NULL},
    {"CONV_3D_TRANSPOSE",            1, 0, 4, 1, transposed,      NULL},
    {"FULLY_CONNECTED",              1, 0, 3, 1, fully_connected, NULL},
    {"BATCH_MATMUL",                 1, 0, 2, 1, batch_matmul,    NULL},
    {"MAX_POOL_2D",                  1, 0, 1, 1, max_pool,        NULL},
    {"AVERAGE_POOL_2D",              1, 0, 1, 1, average_pool,    NULL},
    {"L2_POOL_2D",                   1, 0, 1, 1, l2_pool,         NULL},
    {"SOFTMAX",                      1, 0, 1, 1, softmax,         &tn_op_nn_softmax},
    {"LOG_SOFTMAX",                  1, 0, 1, 1, softmax,         &tn_op_nn_log_softmax},
    {"L2_NORMALIZATION",             1, 0, 1, 1, l2_normalize,    NULL},
    {"LOCAL_RESPONSE_NORMALIZATION", 1, 0, 1, 1, local_response,  NULL},
    {0},
};
// clang-format on
