/* Operators with windows: convolution, transposed convolution, pooling, of one to three spatial dimensions. */
#include "frontend/onnx/onnx.h"

#include "frontend/import/window.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* Attribute `name`: `each` lists of one entry for each spatial dimension. */
static bool read_list(imp_node *c, const char *name, const imp_window *w, uint32_t each, int64_t out[])
{
    tn_ints v;
    uint32_t n = each * (uint32_t)w->dims;
    if (!imp_attr_ints(c, name, &v) || c->bad)
        return false;
    if (v.n != n)
        imp_fail(c, "onnx-E009",
                 "attribute %s has %u entries, but %u are needed for %d-D data; the model is damaged", name,
                 (unsigned)v.n, (unsigned)n, w->dims);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        if (v.at[i] < 0 || v.at[i] > INT32_MAX)
            imp_fail(c, "onnx-E009", "attribute %s contains %lld, which is not in [0, 2^31)", name,
                     (long long)v.at[i]);
        out[i] = v.at[i];
    }
    return !c->bad;
}

/* Before operator set 6 one pad for each dimension was written too (by Caffe2's exporter): the same on both sides. */
static void read_pads(imp_node *c, imp_window *w)
{
    int64_t at[2 * IMP_MAX_SPATIAL] = {0};
    tn_ints v;
    const bool both = c->version < 6 && imp_attr_ints(c, "pads", &v) && !c->bad && v.n == (uint32_t)w->dims;
    if (!read_list(c, "pads", w, both ? 1 : 2, at))
        return;
    for (int i = 0; i < 2 * w->dims; i++)
        w->pad[i] = tn_idx(c->pool, at[both ? i % w->dims : i]);
}

enum pad_mode { PAD_GIVEN, PAD_VALID, PAD_UPPER, PAD_LOWER };

static enum pad_mode read_auto_pad(imp_node *c)
{
    const char *how = imp_attr_string(c, "auto_pad", "NOTSET");
    if (strcmp(how, "SAME_UPPER") == 0 || strcmp(how, "SAME_LOWER") == 0)
        return how[5] == 'L' ? PAD_LOWER : PAD_UPPER;
    if (strcmp(how, "VALID") == 0)
        return PAD_VALID;
    if (strcmp(how, "NOTSET") != 0 && how[0])
        imp_fail(c, "onnx-E009", "auto_pad is \"%s\"; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known",
                 how);
    return PAD_GIVEN;
}

/* strides, dilations, pads and auto_pad; w->kernel is given. */
static void read_window(imp_node *c, tn_value x, imp_window *w)
{
    (void)read_list(c, "strides", w, 1, w->stride);
    (void)read_list(c, "dilations", w, 1, w->dilation);
    read_pads(c, w);
    enum pad_mode how = read_auto_pad(c);
    if (how == PAD_VALID)
        imp_pad_none(c, w);
    else if (how != PAD_GIVEN)
        imp_pad_same(c, x, w, how == PAD_LOWER);
}

/* ---- Conv ---- */

/* The window is the weight's, from dimension 2 on, which the run checks where the model says more than the weight. */
static void read_kernel(imp_node *c, tn_value *weight, imp_window *w)
{
    int64_t given[IMP_MAX_SPATIAL];
    if (!imp_window_of_any_weight(c, *weight, w) || !read_list(c, "kernel_shape", w, 1, given))
        return;
    for (int i = 0; i < w->dims && !c->bad; i++)
        if (!imp_with_extent(c, weight, 2 + i, tn_idx(c->pool, given[i])))
            imp_fail(c, "onnx-E009", "kernel_shape[%d] is %lld, but the weight is %s; the model is damaged",
                     i, (long long)given[i], imp_type_text(c, imp_type(*weight)));
    if (!c->bad)
        (void)imp_window_of_any_weight(c, *weight, w);
}

bool onnx_conv_attr(imp_node *c, tn_value x, tn_value *weight, const tn_op *op, tn_conv2d_attr *a)
{
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return false;
    read_kernel(c, weight, &w);
    read_window(c, x, &w);
    return imp_conv_attr(c, &w, *weight, imp_attr_int(c, "group", 1), op, a);
}

static void conv(imp_node *c)
{
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = imp_opt(c, 2);
    const tn_op *op = imp_conv_op(imp_rank(x) - 2);
    tn_conv2d_attr a;
    if (onnx_conv_attr(c, x, &weight, op, &a))
        imp_out(c, 0, imp_bias(c, imp_call2(c, op, &a, x, weight), bias, false));
}

/* ---- CausalConvWithState: depthwise, over the last taps - 1 elements before x and x ---- */

static tn_value past_and_present(imp_node *c, tn_value x, tn_value past, int64_t taps)
{
    tn_axis_attr time = {2};
    if (past.def)
        return imp_call(c, &tn_op_concatenate, &time, 2, (const tn_value[]){past, x});
    const int64_t width[] = {0, 0, 0, 0, taps - 1, 0};
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 6, width), .pad_mode = "constant"};
    return imp_call1(c, &tn_op_nn_pad, &a, x);
}

static void causal_conv(imp_node *c)
{
    static const int64_t axis[] = {2}, step[] = {1};
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = imp_opt(c, 2);
    const char *act = imp_attr_string(c, "activation", "none");
    tn_conv2d_attr a;
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return;
    read_kernel(c, &weight, &w);
    if (w.dims != 1 && !c->bad)
        imp_fail(c, "onnx-E022", "data %s must have three dimensions", imp_type_text(c, imp_type(x)));
    (void)imp_window_span(c, &w, 0); /* the states are as long as the window */
    if (strcmp(act, "none") != 0 && strcmp(act, "silu") != 0 && strcmp(act, "swish") != 0)
        imp_fail(c, "onnx-E009", "activation is \"%s\"; none, silu and swish are known", act);
    if (c->bad || tn_attr_init(c->pool, tn_op_nn_conv1d.attr, sizeof a, &a) != TN_OK)
        return;
    tn_value all = past_and_present(c, x, imp_opt(c, 3), w.kernel[0]);
    (void)tn_is_int(imp_type(weight)->dim[0], &a.groups);
    tn_value y = imp_bias(c, imp_call2(c, &tn_op_nn_conv1d, &a, all, weight), bias, false);
    imp_out(c, 0, act[0] == 'n' ? y : imp_binary(c, &tn_op_multiply, y, imp_unary(c, &tn_op_sigmoid, y)));
    int64_t begin[] = {w.kernel[0] > 1 ? 1 - w.kernel[0] : INT32_MAX}, end[] = {INT32_MAX};
    tn_slice_attr last = {tn_make_dims(c->g, 1, begin), tn_make_dims(c->g, 1, end),
                          tn_ints_make(c->arena, 1, step), tn_ints_make(c->arena, 1, axis)};
    if (c->n_out > 1)
        imp_out(c, 1, imp_call1(c, &tn_op_strided_slice, &last, all));
}

/* ---- ConvTranspose ---- */

/* Padding and additional results, so that the result has the extents asked for. */
static void pad_output(imp_node *c, tn_value x, imp_window *w, enum pad_mode how, int64_t more[])
{
    tn_ints shape;
    const tn_expr *size[IMP_MAX_SPATIAL];
    bool given = imp_attr_ints(c, "output_shape", &shape) && !c->bad;
    uint32_t skip =
        given && shape.n == (uint32_t)w->dims + 2 ? 2 : 0; /* with batch and channels, as some wrote it */
    if (given && shape.n != (uint32_t)w->dims + skip)
        imp_fail(c, "onnx-E009", "output_shape has %u entries for %d-D data", (unsigned)shape.n, w->dims);
    if (how == PAD_VALID)
        imp_pad_none(c, w);
    for (int i = 0; i < w->dims && given && !c->bad; i++)
        size[i] = tn_idx(c->pool, shape.at[skip + (uint32_t)i]);
    if (given && !c->bad)
        imp_pad_output(c, x, w, size, how != PAD_UPPER, more);
    for (int i = 0; i < w->dims && !c->bad && !given && (how == PAD_UPPER || how == PAD_LOWER); i++) {
        /* of in - 1 steps, over in steps; below 0: as ONNX Runtime, no more than there is */
        const tn_expr *reach = imp_window_reach(c, w, i), *other = tn_idx(c->pool, more[i] - w->stride[i]);
        const tn_expr *total = tn_max(c->pool, tn_add(c->pool, reach, other), tn_idx(c->pool, 0));
        imp_pad_share(c, w, i, imp_simplify(c, total), how == PAD_LOWER);
    }
}

/* The result without as many elements before and after each spatial dimension as an operand says. */
static void cut(imp_node *c, tn_value y, tn_value pads)
{
    int64_t n = imp_rank(y) - 2, axis[] = {2, 3, 4};
    if (!c->bad && (imp_rank(pads) != 1 || imp_length(pads) != 2 * n))
        imp_fail(c, "onnx-E009", "pads %s do not fit data %s", imp_type_text(c, imp_type(pads)),
                 imp_type_text(c, imp_type(y)));
    if (c->bad)
        return;
    pads = imp_cast(c, pads, TN_I64);
    tn_value least = imp_with(c, &tn_op_minimum, imp_reduce(c, &tn_op_min, pads, 0), 0);
    imp_demand(c, least, 0, "pads are below 0");
    tn_value before = imp_slice(c, pads, 0, 0, n), after = imp_slice(c, pads, 0, n, 2 * n);
    tn_value end = imp_binary(c, &tn_op_subtract, imp_slice(c, imp_shape_of(c, y), 0, 2, n + 2), after);
    end = imp_with(c, &tn_op_maximum, end, 0);
    tn_value axes = imp_const_ints(c, TN_I64, 1, (uint32_t)n, axis);
    if (imp_dynamic_slice(c, y, before, end, axes, (tn_value){0}))
        return;
    tn_slice_attr a = {imp_host_in(c, before, "pads"),
                       imp_host_in(c, end, "pads"),
                       {0},
                       tn_ints_make(c->arena, (uint32_t)n, axis)};
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, y));
}

static void transposed_conv(imp_node *c, tn_value bias, bool padded)
{
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1);
    int64_t more[IMP_MAX_SPATIAL] = {0};
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return;
    read_kernel(c, &weight, &w);
    (void)read_list(c, "strides", &w, 1, w.stride);
    (void)read_list(c, "dilations", &w, 1, w.dilation);
    if (padded)
        read_pads(c, &w);
    (void)read_list(c, "output_padding", &w, 1, more);
    pad_output(c, x, &w, read_auto_pad(c), more);
    int64_t groups = imp_attr_int(c, "group", 1);
    imp_out(c, 0, imp_bias(c, imp_conv_transpose(c, x, weight, &w, more, groups), bias, false));
}

static void conv_transpose(imp_node *c) { transposed_conv(c, imp_opt(c, 2), true); }

/* X, W, pads that the run may find out, B */
static void conv_transpose_with_pads(imp_node *c)
{
    transposed_conv(c, imp_opt(c, 3), false);
    if (imp_has(c, 2) && !c->bad)
        cut(c, c->out[0], imp_in(c, 2));
}

/* ---- pooling ---- */

static bool read_pool(imp_node *c, tn_value x, const tn_op *op, imp_window *w, tn_pool2d_attr *a)
{
    imp_attr_need(c, "kernel_shape");
    (void)read_list(c, "kernel_shape", w, 1, w->kernel);
    read_window(c, x, w);
    if (!imp_pool_attr(c, w, op, a))
        return false;
    a->ceil_mode = imp_attr_int(c, "ceil_mode", 0) != 0;
    return !c->bad;
}

tn_value onnx_average_pool(imp_node *c, tn_value x)
{
    tn_pool2d_attr a;
    imp_window w;
    if (!imp_window_init(c, x, false, &w) || !read_pool(c, x, imp_pool_op(IMP_POOL_AVERAGE, w.dims), &w, &a))
        return (tn_value){0};
    a.count_include_pad = imp_attr_int(c, "count_include_pad", 0) != 0;
    return imp_call1(c, imp_pool_op(IMP_POOL_AVERAGE, w.dims), &a, x);
}

static void average_pool(imp_node *c) { imp_out(c, 0, onnx_average_pool(c, imp_in(c, 0))); }

tn_value onnx_max_pool(imp_node *c, tn_value x, tn_value *positions)
{
    tn_pool2d_attr a;
    imp_window w;
    if (!imp_window_init(c, x, false, &w) || !read_pool(c, x, imp_pool_op(IMP_POOL_MAX, w.dims), &w, &a))
        return (tn_value){0};
    tn_value y = imp_call1(c, imp_pool_op(IMP_POOL_MAX, w.dims), &a, x);
    a.layout = NULL;
    a.storage_order = imp_attr_int(c, "storage_order", 0);
    if (positions)
        *positions = imp_call1(c, &tn_op_nn_max_pool_indices, &a, x);
    return y;
}

static void max_pool(imp_node *c)
{
    tn_value positions = {0};
    imp_out(c, 0, onnx_max_pool(c, imp_in(c, 0), c->n_out > 1 ? &positions : NULL));
    imp_out_any(c, 1, positions);
}

static void lp_pool(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_pool2d_attr a;
    imp_window w;
    if (!imp_window_init(c, x, false, &w) || !read_pool(c, x, &tn_op_nn_lp_pool, &w, &a))
        return;
    a.p = c->version < 2 ? (int64_t)imp_attr_float(c, "p", 2) : imp_attr_int(c, "p", 2);
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lp_pool, &a, x));
}

/* The inverse of MaxPool: each element goes where its index says, all else is 0. */
static void max_unpool(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1), shape = imp_opt(c, 2);
    const tn_type *t = imp_type(x);
    const tn_expr *dim[2 + IMP_MAX_SPATIAL];
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return;
    imp_attr_need(c, "kernel_shape");
    (void)read_list(c, "kernel_shape", &w, 1, w.kernel);
    (void)read_list(c, "strides", &w, 1, w.stride);
    read_pads(c, &w);
    dim[0] = t->dim[0];
    dim[1] = t->dim[1];
    for (int i = 0; i < w.dims; i++) {
        const tn_expr *last = tn_sub(c->pool, t->dim[2 + i], tn_idx(c->pool, 1));
        const tn_expr *cut = tn_add(c->pool, w.pad[i], w.pad[w.dims + i]),
                      *kernel = tn_idx(c->pool, w.kernel[i]);
        const tn_expr *steps = tn_mul(c->pool, last, tn_idx(c->pool, w.stride[i]));
        dim[2 + i] = imp_simplify(c, tn_add(c->pool, steps, tn_sub(c->pool, kernel, cut)));
    }
    tn_unpool_attr a = {.from = tn_dims_make(c->arena, (uint32_t)w.dims + 2, dim)};
    a.shape = a.from;
    if (shape.def) {
        a.shape = imp_extents_in(c, shape, "output_shape");
        if (a.shape.n != a.from.n)
            imp_fail(c, "onnx-E009", "output_shape has %u entries for %s", (unsigned)a.shape.n,
                     imp_type_text(c, t));
    }
    imp_out(c, 0, imp_call2(c, &tn_op_nn_max_unpool, &a, x, imp_cast(c, at, TN_I64)));
}

/* Over all but batch and channels, of any rank. */
static tn_axes_attr spatial_axes(imp_node *c, tn_value x)
{
    static const int64_t batch_and_channels[] = {0, 1};
    if (imp_rank(x) < 3)
        imp_fail(c, "onnx-E022", "%s needs spatial dimensions, but its operand is %s; the model is damaged",
                 c->row->op, imp_type_text(c, imp_type(x)));
    return (tn_axes_attr){tn_ints_make(c->arena, 2, batch_and_channels), true, true};
}

static void global_pool(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_axes_attr a = spatial_axes(c, x);
    if (imp_rank(x) == 4)
        imp_out(c, 0,
                imp_unary(c,
                          c->row->relay == &tn_op_mean ? &tn_op_nn_global_avg_pool2d
                                                       : &tn_op_nn_global_max_pool2d,
                          x));
    else
        imp_out(c, 0, imp_call1(c, c->row->relay, &a, x));
}

/* (sum of |x|^p)^(1/p) */
static void global_lp_pool(imp_node *c)
{
    tn_dtype own = imp_type(imp_in(c, 0))->dtype, t = imp_sum_dtype(own); /* a sum of powers is large */
    tn_value x = imp_cast(c, imp_in(c, 0), t);
    double p = c->version < 2 ? imp_attr_float(c, "p", 2) : (double)imp_attr_int(c, "p", 2);
    tn_axes_attr a = spatial_axes(c, x);
    tn_value v = imp_unary(c, &tn_op_abs, x);
    if (!(p >= 1))
        imp_fail(c, "onnx-E009", "p is %g, but must be at least 1", p);
    v = p == 1   ? v
        : p == 2 ? imp_binary(c, &tn_op_multiply, v, v)
                 : imp_binary(c, &tn_op_power, v, imp_const(c, t, p));
    v = imp_call1(c, &tn_op_sum, &a, v);
    v = p == 1   ? v
        : p == 2 ? imp_unary(c, &tn_op_sqrt, v)
                 : imp_binary(c, &tn_op_power, v, imp_const(c, t, 1 / p));
    imp_out(c, 0, imp_cast(c, v, own));
}

// clang-format off
const imp_row onnx_rows_nn[] = {
    {"Conv",                1,  0, 3, 1, conv,                NULL},
    {"CausalConvWithState", 27,  0, 4, 2, causal_conv,        NULL},
    {"ConvTranspose",       1,  0, 3, 1, conv_transpose,      NULL},
    {"MaxPool",             1,  0, 1, 2, max_pool,            NULL},
    {"MaxUnpool",           9,  0, 3, 1, max_unpool,          NULL},
    {"AveragePool",         1,  0, 1, 1, average_pool,        NULL},
    {"LpPool",              1,  0, 1, 1, lp_pool,             NULL},
    {"GlobalAveragePool",   1,  0, 1, 1, global_pool,         &tn_op_mean},
    {"GlobalMaxPool",       1,  0, 1, 1, global_pool,         &tn_op_max},
    {"GlobalLpPool",        1,  0, 1, 1, global_lp_pool,      NULL},
    {0},
};

const imp_row onnx_rows_nn_microsoft[] = {
    {"ConvTransposeWithDynamicPads", 1, 0, 4, 1, conv_transpose_with_pads, NULL},
    {0},
};
// clang-format on
