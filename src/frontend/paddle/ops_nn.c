/* Layers with windows: convolution, pooling. Weights have the channels first, whatever the data has. */
#include "frontend/paddle/paddle.h"

#include "op/image/image.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* A list for the spatial dimensions; one number is for all. */
static void spatial_list(imp_node *c, const char *name, const imp_window *w, int64_t least, int64_t out[])
{
    tn_ints v = pd_ints(c, NULL, NULL, name);
    if (!c->bad && v.n > 1 && v.n != (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s has %u entries for %d spatial dimensions", name,
                   (unsigned)v.n, w->dims);
    for (int i = 0; i < w->dims && v.n && !c->bad; i++) {
        out[i] = v.at[v.n == 1 ? 0 : i];
        if (out[i] < least || out[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "attribute %s contains %lld, which is not in [%lld, 2^31)", name,
                       (long long)out[i], (long long)least);
    }
}

/* One number for each dimension, or one before and one after each. */
static void explicit_pads(imp_node *c, imp_window *w)
{
    tn_ints v = pd_ints(c, NULL, NULL, "paddings");
    int64_t pad[2 * IMP_MAX_SPATIAL] = {0};
    bool both = v.n == 2 * (uint32_t)w->dims;
    if (!c->bad && v.n > 1 && !both && v.n != (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "attribute paddings has %u entries for %d spatial dimensions",
                   (unsigned)v.n, w->dims);
    for (int i = 0; i < w->dims && v.n && !c->bad; i++) {
        pad[i] = v.at[v.n == 1 ? 0 : both ? 2 * i : i];
        pad[w->dims + i] = v.at[v.n == 1 ? 0 : both ? 2 * i + 1 : i];
    }
    for (int i = 0; i < 2 * w->dims && !c->bad; i++)
        if (pad[i] < 0 || pad[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "attribute paddings contains %lld", (long long)pad[i]);
    if (!c->bad)
        imp_pad_both(c, w, pad);
}

static void read_padding(imp_node *c, tn_value x, imp_window *w)
{
    const char *how = imp_attr_string(c, "padding_algorithm", "EXPLICIT");
    if (strcmp(how, "EXPLICIT") == 0) {
        explicit_pads(c, w);
        return;
    }
    imp_attr_ignore(c, "paddings");
    if (strcmp(how, "VALID") == 0) {
        imp_pad_none(c, w);
    } else if (strcmp(how, "SAME") == 0) { /* which does away with dilation */
        for (int i = 0; i < w->dims; i++)
            w->dilation[i] = 1;
        imp_pad_same(c, x, w, false);
    } else {
        imp_refuse(c, IMP_BAD_VALUE, "padding_algorithm is \"%s\"; EXPLICIT, SAME and VALID are known", how);
    }
}

/* ---- convolution ---- */

static bool begin_conv(imp_node *c, tn_value x, tn_value weight, imp_window *w)
{
    bool last = pd_is_last(c, "data_format");
    if (!imp_window_init(c, x, last, w) || !imp_window_of_weight(c, weight, w))
        return false;
    spatial_list(c, "strides", w, 1, w->stride);
    spatial_list(c, "dilations", w, 1, w->dilation);
    if (!c->bad)
        read_padding(c, x, w);
    return !c->bad;
}

static void conv(imp_node *c)
{
    imp_window w;
    tn_value x = pd_in(c, "Input"), weight = pd_in(c, "Filter"), bias = pd_opt(c, "Bias");
    int64_t groups = imp_attr_int(c, "groups", 1);
    if (begin_conv(c, x, weight, &w))
        pd_out(c, "Output", imp_bias(c, imp_conv(c, x, weight, &w, groups), bias, w.last));
}

/* What a given extent of the result has more than strides and windows make. */
static void read_output(imp_node *c, tn_value x, const imp_window *w, int64_t more[])
{
    tn_ints size = pd_ints(c, "OutputSize", NULL, "output_size");
    spatial_list(c, "output_padding", w, 0, more);
    if (!c->bad && size.n && size.n != (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "output_size has %u entries for %d spatial dimensions", (unsigned)size.n,
                   w->dims);
    for (int i = 0; i < w->dims && size.n && !c->bad; i++) {
        int64_t in = 0, before = 0, after = 0;
        if (!tn_is_int(imp_window_extent(x, w, i), &in) || !tn_is_int(w->pad[i], &before) ||
            !tn_is_int(w->pad[w->dims + i], &after)) {
            imp_refuse(c, IMP_NOT_CONSTANT, "output_size needs data of fixed extents, but it is %s",
                       imp_type_text(c, imp_type(x)));
            return;
        }
        more[i] = size.at[i] - ((in - 1) * w->stride[i] + imp_window_span(c, w, i) - before - after);
        if (more[i] < 0 || more[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "output_size is %lld, which these strides cannot give",
                       (long long)size.at[i]);
    }
}

static void conv_transpose(imp_node *c)
{
    imp_window w;
    int64_t more[IMP_MAX_SPATIAL] = {0};
    tn_value x = pd_in(c, "Input"), weight = pd_in(c, "Filter"), bias = pd_opt(c, "Bias");
    int64_t groups = imp_attr_int(c, "groups", 1);
    if (!begin_conv(c, x, weight, &w))
        return;
    read_output(c, x, &w, more);
    pd_out(c, "Output", imp_bias(c, imp_conv_transpose(c, x, weight, &w, more, groups), bias, w.last));
}

/* Offsets [y x] and weights of all taps are data. */
static void deformable(imp_node *c)
{
    tn_value in[4] = {pd_in(c, "Input"), pd_in(c, "Offset"), pd_in(c, "Filter"), pd_opt(c, "Mask")};
    tn_deform_attr a = {.groups = imp_attr_int(c, "groups", 1),
                        .deformable_groups = imp_attr_int(c, "deformable_groups", 1),
                        .edges = "faded"};
    tn_ints pads = pd_ints(c, NULL, NULL, "paddings");
    int64_t both[4];
    imp_attr_ignore(c, "im2col_step");
    a.strides = pd_ints(c, NULL, NULL, "strides");
    a.dilation = pd_ints(c, NULL, NULL, "dilations");
    if (!c->bad && (pads.n != 2 || a.strides.n != 2 || a.dilation.n != 2))
        imp_refuse(c, IMP_BAD_VALUE, "strides, paddings and dilations must have two entries");
    for (int i = 0; i < 4 && !c->bad; i++)
        both[i] = pads.at[i % 2];
    a.padding = tn_make_dims(c->g, c->bad ? 0 : 4, both);
    pd_out(c, "Output", imp_call(c, &tn_op_nn_deformable_conv2d, &a, in[3].def ? 4 : 3, in));
}

/* ---- pooling ---- */

/* Each result of an axis is what `op` makes of its own part of the data. */
static tn_value pooled_axis(imp_node *c, const tn_op *op, tn_value x, int axis, int64_t in, int64_t out)
{
    tn_value *part = TN_NEW_N(c->arena, tn_value, (size_t)out);
    int64_t at = axis;
    for (int64_t i = 0; i < out && !c->bad; i++)
        part[i] = pd_reduce(c, op, imp_slice(c, x, axis, i * in / out, ((i + 1) * in + out - 1) / out),
                            tn_ints_make(c->arena, 1, &at), true);
    return c->bad ? x : imp_concat(c, (uint32_t)out, part, axis);
}

/* Results of given extents: part i of n of an extent e is [floor(i e / n), ceil((i + 1) e / n)). */
static void adaptive(imp_node *c, const tn_op *op, enum imp_pool_kind kind, tn_value x, imp_window *w)
{
    bool even = true, ones = true;
    int64_t in[IMP_MAX_SPATIAL] = {0}, axes[IMP_MAX_SPATIAL];
    for (int i = 0; i < w->dims && !c->bad; i++) {
        bool known = tn_is_int(imp_window_extent(x, w, i), &in[i]);
        ones = ones && w->kernel[i] == 1;
        even = even && known && in[i] % w->kernel[i] == 0;
        axes[i] = (w->last ? 1 : 2) + i;
        if (!ones && (!known || w->kernel[i] > 1024))
            imp_refuse(c, IMP_NOT_CONSTANT, "an adaptive pool needs data of fixed extents, but it is %s",
                       imp_type_text(c, imp_type(x)));
    }
    if (c->bad)
        return;
    if (ones) {
        pd_out(c, "Out", pd_reduce(c, op, x, tn_ints_make(c->arena, (uint32_t)w->dims, axes), true));
        return;
    }
    for (int i = 0; i < w->dims && !even; i++)
        x = pooled_axis(c, op, x, (int)axes[i], in[i], w->kernel[i]);
    for (int i = 0; i < w->dims && even; i++)
        w->kernel[i] = w->stride[i] = in[i] / w->kernel[i];
    pd_out(c, "Out", even ? imp_pool(c, kind, x, w, false) : x);
}

static void pool(imp_node *c)
{
    imp_window w;
    tn_value x = pd_in(c, "X");
    bool indices = strstr(c->row->op, "with_index") != NULL;
    const char *type = indices ? "max" : imp_attr_string(c, "pooling_type", "max");
    bool most = strcmp(type, "max") == 0, last = pd_is_last(c, "data_format");
    const tn_op *op = most ? &tn_op_max : &tn_op_mean;
    enum imp_pool_kind kind = most ? IMP_POOL_MAX : IMP_POOL_AVERAGE;
    bool whole = pd_bool(c, "global_pooling", false), parts = pd_bool(c, "adaptive", false);
    bool ceiling = pd_bool(c, "ceil_mode", false), included = !pd_bool(c, "exclusive", true);
    if (!imp_window_init(c, x, last, &w))
        return;
    if (!most && strcmp(type, "avg") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "pooling_type is \"%s\"; max and avg are known", type);
    tn_ints size = pd_ints(c, "KernelSize", NULL, "ksize");
    if (!c->bad && !whole && size.n != 1 && size.n != (uint32_t)w.dims)
        imp_refuse(c, IMP_BAD_VALUE, "ksize has %u entries for %d spatial dimensions", (unsigned)size.n,
                   w.dims);
    for (int i = 0; i < w.dims && !c->bad; i++) {
        w.kernel[i] = whole ? 1 : size.at[size.n == 1 ? 0 : i];
        if (w.kernel[i] < 1 || w.kernel[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "ksize contains %lld", (long long)w.kernel[i]);
    }
    spatial_list(c, "strides", &w, 1, w.stride);
    read_padding(c, x, &w);
    if (c->bad)
        return;
    if (whole || parts) {
        adaptive(c, op, kind, x, &w);
        return;
    }
    tn_pool2d_attr a;
    const tn_op *windowed = imp_pool_op(kind, w.dims);
    if (!imp_pool_attr(c, &w, windowed, &a))
        return;
    a.ceil_mode = ceiling;
    a.count_include_pad = included;
    tn_value y = imp_call1(c, windowed, &a, w.last ? imp_channels_first(c, x) : x);
    pd_out(c, "Out", w.last && !c->bad ? imp_channels_last(c, y) : y);
}

// clang-format off
const imp_row pd_rows_nn[] = {
    {"conv2d",                     1, 0, -1, -1, conv,           NULL},
    {"conv2d_transpose",           1, 0, -1, -1, conv_transpose, NULL},
    {"conv3d",                     1, 0, -1, -1, conv,           NULL},
    {"conv3d_transpose",           1, 0, -1, -1, conv_transpose, NULL},
    {"deformable_conv",            1, 0, -1, -1, deformable,     NULL},
    {"deformable_conv_v1",         1, 0, -1, -1, deformable,     NULL},
    {"depthwise_conv2d",           1, 0, -1, -1, conv,           NULL},
    {"depthwise_conv2d_transpose", 1, 0, -1, -1, conv_transpose, NULL},
    {"max_pool2d_with_index",      1, 0, -1, -1, pool,           NULL},
    {"max_pool3d_with_index",      1, 0, -1, -1, pool,           NULL},
    {"pool2d",                     1, 0, -1, -1, pool,           NULL},
    {"pool3d",                     1, 0, -1, -1, pool,           NULL},
    {0},
};
// clang-format on
