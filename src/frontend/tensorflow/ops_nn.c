/* Layers: convolution, pooling, normalisation, bias. Data has its channels last, unless data_format says otherwise. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/window.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

bool tf_is_last(imp_node *c)
{
    const char *s = imp_attr_string(c, "data_format", "NHWC");
    return strncmp(s, "NC", 2) != 0;
}

/* Entries for the spatial dimensions of a list for all of them; those for images and channels must be 1. */
static void spatial_entries(imp_node *c, const char *name, tn_ints v, const imp_window *w, int64_t out[])
{
    if (c->bad)
        return;
    if (v.n != (uint32_t)w->dims + 2) {
        imp_refuse(c, IMP_BAD_VALUE, "%s has %u entries for data of %d dimensions; the model is damaged",
                   name, (unsigned)v.n, w->dims + 2);
        return;
    }
    if (v.at[0] != 1 || v.at[w->last ? w->dims + 1 : 1] != 1)
        imp_refuse(c, IMP_BAD_VALUE,
                   "%s is not 1 for images and channels; windows over these are not supported", name);
    for (int i = 0; i < w->dims; i++) {
        out[i] = v.at[i + (w->last ? 1 : 2)];
        if (out[i] < 1 || out[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "%s contains %lld, which is not in [1, 2^31)", name,
                       (long long)out[i]);
    }
}

static void spatial_list(imp_node *c, const char *name, const imp_window *w, int64_t out[])
{
    tn_ints v;
    if (imp_attr_ints(c, name, &v) && v.n)
        spatial_entries(c, tn_arena_printf(c->arena, "attribute %s", name), v, w, out);
}

static void explicit_pads(imp_node *c, imp_window *w)
{
    tn_ints v;
    int64_t pad[2 * IMP_MAX_SPATIAL];
    if (!imp_attr_ints(c, "explicit_paddings", &v) || v.n != 2 * ((uint32_t)w->dims + 2)) {
        imp_refuse(c, IMP_BAD_VALUE, "explicit_paddings has not two entries for each dimension");
        return;
    }
    for (int i = 0; i < w->dims; i++) {
        pad[i] = v.at[2 * (i + (w->last ? 1 : 2))];
        pad[w->dims + i] = v.at[2 * (i + (w->last ? 1 : 2)) + 1];
    }
    imp_pad_both(c, w, pad);
}

static enum imp_padding padding_of(imp_node *c)
{
    const char *how = imp_attr_string(c, "padding", "VALID");
    if (strcmp(how, "SAME") == 0 || strcmp(how, "SAME_UPPER") == 0)
        return IMP_SAME;
    if (strcmp(how, "EXPLICIT") == 0)
        return IMP_EXPLICIT;
    if (strcmp(how, "VALID") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "padding is \"%s\"; SAME, VALID and EXPLICIT are known", how);
    return IMP_VALID;
}

/* Of data; the kernel is known. */
static void read_padding(imp_node *c, tn_value x, imp_window *w)
{
    enum imp_padding how = padding_of(c);
    if (how == IMP_SAME)
        imp_pad_same(c, x, w, false);
    else if (how == IMP_EXPLICIT)
        explicit_pads(c, w);
    else
        imp_pad_none(c, w);
    if (how != IMP_EXPLICIT)
        imp_attr_ignore(c, "explicit_paddings");
}

static const char *const filter_order[] = {"", "WIO", "HWIO", "DHWIO"}, *const weight_order[] = {
                                                                            "", "OIW", "OIHW", "OIDHW"};

/* ---- convolution ---- */

static int64_t groups_of(imp_node *c, tn_value x, tn_value filter, const imp_window *w)
{
    int64_t channels = 0, each = 0;
    if (c->bad || !tn_is_int(imp_type(x)->dim[w->last ? w->dims + 1 : 1], &channels) ||
        !tn_is_int(imp_type(filter)->dim[w->dims], &each) || each < 1)
        return 1;
    return channels > each && channels % each == 0 ? channels / each : 1;
}

static bool is_filter(imp_node *c, tn_value filter, const imp_window *w)
{
    if (!c->bad && imp_rank(filter) != w->dims + 2)
        imp_refuse(c, IMP_TOO_LARGE, "the filter %s must have %d dimensions",
                   imp_type_text(c, imp_type(filter)), w->dims + 2);
    return !c->bad;
}

static void conv(imp_node *c)
{
    imp_window w;
    tn_value x = imp_in(c, 0), filter = imp_in(c, 1);
    bool last = tf_is_last(c);
    imp_attr_ignore(c, "use_cudnn_on_gpu");
    if (imp_attr_int(c, "batch_dims", 1) != 1)
        imp_refuse(c, IMP_BAD_VALUE, "attribute batch_dims must be 1");
    if (!imp_window_init(c, x, last, &w) || !is_filter(c, filter, &w))
        return;
    int64_t groups = groups_of(c, x, filter, &w);
    tn_value weight = imp_reorder(c, filter, filter_order[w.dims], weight_order[w.dims]);
    if (!imp_window_of_weight(c, weight, &w))
        return;
    spatial_list(c, "strides", &w, w.stride);
    spatial_list(c, "dilations", &w, w.dilation);
    read_padding(c, x, &w);
    imp_out(c, 0, imp_conv(c, x, weight, &w, groups));
}

static void depthwise(imp_node *c)
{
    imp_window w;
    int64_t channels = 1;
    tn_value x = imp_in(c, 0), filter = imp_in(c, 1);
    bool last = tf_is_last(c);
    if (!imp_window_init(c, x, last, &w) || !is_filter(c, filter, &w))
        return;
    (void)tn_is_int(imp_type(filter)->dim[w.dims], &channels);
    tn_value weight = imp_depthwise_weight(c, filter);
    if (!imp_window_of_weight(c, weight, &w))
        return;
    spatial_list(c, "strides", &w, w.stride);
    spatial_list(c, "dilations", &w, w.dilation);
    read_padding(c, x, &w);
    imp_out(c, 0, imp_conv(c, x, weight, &w, channels));
}

/* Conv2DBackpropInput: a transposed convolution, whose result's extents are given. */
static void conv_transpose(imp_node *c)
{
    imp_window w;
    tn_value filter = imp_in(c, 1), y = imp_in(c, 2);
    bool last = tf_is_last(c);
    imp_attr_ignore(c, "use_cudnn_on_gpu");
    tn_dims size = imp_extents_in(c, imp_in(c, 0), "the extents of the result");
    if (!imp_window_init(c, y, last, &w) || !is_filter(c, filter, &w))
        return;
    static const char *const order[] = {"", "IOW", "IOHW", "IODHW"}, *const from[] = {"", "WOI", "HWOI",
                                                                                      "DHWOI"};
    tn_value weight = imp_reorder(c, filter, from[w.dims], order[w.dims]);
    if (!imp_window_of_weight(c, weight, &w))
        return;
    spatial_list(c, "strides", &w, w.stride);
    spatial_list(c, "dilations", &w, w.dilation);
    enum imp_padding how = padding_of(c);
    if (how == IMP_EXPLICIT)
        explicit_pads(c, &w);
    else
        imp_attr_ignore(c, "explicit_paddings");
    imp_out(c, 0, imp_conv_transpose_to(c, y, weight, &w, size, how));
}

/* ---- pooling ---- */

static void pool(imp_node *c)
{
    imp_window w;
    tn_value x = imp_in(c, 0);
    bool last = tf_is_last(c);
    if (!imp_window_init(c, x, last, &w))
        return;
    if (imp_n_in(c) == 3) { /* MaxPoolV2: windows and steps are operands */
        tn_ints k = imp_ints_in(c, imp_in(c, 1), "the window"),
                s = imp_ints_in(c, imp_in(c, 2), "the strides");
        spatial_entries(c, "the window", k, &w, w.kernel);
        spatial_entries(c, "the list of strides", s, &w, w.stride);
    } else {
        imp_attr_need(c, "ksize");
        spatial_list(c, "ksize", &w, w.kernel);
        spatial_list(c, "strides", &w, w.stride);
    }
    read_padding(c, x, &w);
    enum imp_pool_kind kind = strncmp(c->row->op, "Max", 3) == 0 ? IMP_POOL_MAX : IMP_POOL_AVERAGE;
    imp_out(c, 0, imp_pool(c, kind, x, &w, false));
}

/* Positions p among all elements with the channels first as TensorFlow counts them, the channels last; `batch`: all
 * images count, else each from 0. */
static tn_value positions_last(imp_node *c, tn_value p, tn_value x, bool batch)
{
    const tn_type *t = imp_type(x);
    tn_value h = imp_extent_of(c, x, 1), w = imp_extent_of(c, x, 2), n = imp_extent_of(c, x, 3);
    tn_value plane = imp_binary(c, &tn_op_multiply, h, w), channel = imp_count_up(c, t->dim[3]);
    p = imp_binary(c, &tn_op_mod, p, plane);
    p = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, p, n), channel);
    if (!batch)
        return p;
    tn_value first = imp_count_up(c, t->dim[0]), image = imp_binary(c, &tn_op_multiply, plane, n);
    first = imp_binary(c, &tn_op_multiply, first, image);
    for (int i = 0; i < 3; i++)
        first = imp_unsqueeze(c, first, 1);
    return imp_binary(c, &tn_op_add, p, first);
}

/* A window over images, channels last, by these attributes; false: failed. */
static bool image_window(imp_node *c, tn_value x, const char *size, imp_window *w)
{
    if (!imp_window_init(c, x, true, w))
        return false;
    if (w->dims != 2)
        imp_refuse(c, IMP_OPERANDS, "%s are no images; the model is damaged", imp_type_text(c, imp_type(x)));
    imp_attr_need(c, size);
    spatial_list(c, size, w, w->kernel);
    spatial_list(c, "strides", w, w->stride);
    return !c->bad;
}

/* The largest elements, and where they are. */
static void pool_with_places(imp_node *c)
{
    imp_window w;
    tn_pool2d_attr a;
    tn_value x = imp_in(c, 0);
    tn_dtype t = tf_attr_dtype(c, "Targmax", TN_I64);
    bool batch = imp_attr_int(c, "include_batch_in_index", 0) != 0;
    if (!image_window(c, x, "ksize", &w))
        return;
    read_padding(c, x, &w);
    imp_out(c, 0, imp_pool(c, IMP_POOL_MAX, x, &w, false));
    if (!imp_pool_attr(c, &w, &tn_op_nn_max_pool_indices, &a))
        return;
    tn_value p = imp_call1(c, &tn_op_nn_max_pool_indices, &a, imp_channels_first(c, x));
    p = c->bad ? p : imp_channels_last(c, p);
    imp_out_any(c, 1, c->bad ? p : imp_cast(c, positions_last(c, p, x, batch), t));
}

/* ---- normalisation, bias ---- */

static void bias_add(imp_node *c)
{
    tn_value x = imp_in(c, 0), bias = imp_in(c, 1);
    tn_axis_attr a = {tf_is_last(c) || imp_rank(x) < 2 ? -1 : 1};
    imp_out(c, 0, imp_call2(c, &tn_op_nn_bias_add, &a, x, bias));
}

/* While training, mean and variance are those of the batch. */
static void batch_moments(imp_node *c, tn_value in[5], int axis)
{
    int64_t at = axis;
    tn_axes_attr all_but = {tn_ints_make(c->arena, 1, &at), true, true};
    const tn_type *t = imp_type(in[3]);
    tn_value mean = imp_call1(c, &tn_op_mean, &all_but, in[0]);
    tn_value d = imp_binary(c, &tn_op_subtract, in[0], mean);
    all_but.keepdims = false;
    tn_value variance = imp_call1(c, &tn_op_mean, &all_but, imp_binary(c, &tn_op_multiply, d, d));
    const tn_expr *channels = c->bad ? NULL : imp_type(in[0])->dim[axis];
    (void)t;
    in[3] = c->bad ? mean : imp_reshape(c, mean, 1, &channels);
    in[4] = variance;
}

static void batch_norm(imp_node *c)
{
    tn_value in[5];
    bool last = tf_is_last(c);
    tn_batch_norm_attr a = {1, imp_attr_float(c, "epsilon", 1e-4f), true, true};
    imp_attr_ignore(c, "exponential_avg_factor");
    for (uint32_t i = 0; i < 5; i++)
        in[i] = imp_in(c, i);
    a.axis = last ? imp_rank(in[0]) - 1 : 1;
    tn_dtype t = imp_type(in[0])->dtype;
    in[0] = imp_cast(c, in[0], imp_sum_dtype(t));
    for (int i = 1; i < 5; i++)
        in[i] = imp_cast(c, in[i], imp_type(in[0])->dtype);
    if (imp_attr_int(c, "is_training", 1) && !c->bad)
        batch_moments(c, in, (int)a.axis);
    imp_out(c, 0, imp_cast(c, imp_call(c, &tn_op_nn_batch_norm, &a, 5, in), t));
    imp_out_any(c, 1, in[3]);
    imp_out_any(c, 2, in[4]);
}

/* t, m, v, beta, gamma */
static void global_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0), mean = imp_in(c, 1), variance = imp_in(c, 2);
    tn_value beta = imp_in(c, 3), gamma = imp_in(c, 4);
    const tn_value in[5] = {x, gamma, beta, mean, variance};
    tn_batch_norm_attr a = {imp_rank(x) - 1, imp_attr_float(c, "variance_epsilon", 1e-3f), true,
                            imp_attr_int(c, "scale_after_normalization", 1) != 0};
    imp_out(c, 0, imp_call(c, &tn_op_nn_batch_norm, &a, 5, in));
}

static void lrn(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_lrn_attr a = {.size = 2 * imp_attr_int(c, "depth_radius", 5) + 1,
                     .axis = imp_rank(x) - 1,
                     .bias = imp_attr_float(c, "bias", 1),
                     .beta = imp_attr_float(c, "beta", 0.5f)};
    a.alpha = imp_attr_float(c, "alpha", 1) * (double)a.size;
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, x));
}

/* ---- Dilation2D: the largest sum of the data and a filter [height, width, channels] ---- */

static const double lowest = -3.4028234663852886e38; /* a place outside, whatever the filter adds */

static tn_value padded(imp_node *c, tn_value x, const imp_window *w, double with)
{
    const tn_expr *zero = tn_idx(c->pool, 0),
                  *width[8] = {zero, zero, w->pad[0], w->pad[2], w->pad[1], w->pad[3], zero, zero};
    tn_pad_attr a = {tn_dims_make(c->arena, 8, width), with, "constant"};
    return imp_call1(c, &tn_op_nn_pad, &a, x);
}

/* How many windows fit into the n elements of dimension i, which are padded. */
static const tn_expr *n_windows(imp_node *c, const imp_window *w, int i, const tn_expr *n)
{
    tn_pool *p = c->pool;
    const tn_expr *room = tn_sub(p, n, tn_idx(p, imp_window_span(c, w, i) - w->stride[i]));
    return imp_simplify(c, tn_max(p, tn_fdiv(p, room, tn_idx(p, w->stride[i])), tn_idx(p, 0)));
}

/* The elements below tap k of all windows along dimension i: n of them. */
static tn_value below_tap(imp_node *c, tn_value x, const imp_window *w, int i, int64_t k, const tn_expr *n)
{
    tn_value at = imp_with(c, &tn_op_multiply, imp_count_up(c, n), (double)w->stride[i]);
    return imp_take(c, x, imp_with(c, &tn_op_add, at, (double)(k * w->dilation[i])), i + 1);
}

static void dilation(imp_node *c)
{
    imp_window w;
    const tn_expr *n[2];
    tn_value x = imp_in(c, 0), filter = imp_in(c, 1), most = {0};
    if (!imp_window_init(c, x, true, &w) || w.dims != 2)
        return;
    for (int i = 0; i < 2 && !c->bad; i++)
        if (imp_rank(filter) != 3 || !tn_is_int(imp_type(filter)->dim[i], &w.kernel[i]) || w.kernel[i] > 256)
            imp_refuse(c, IMP_TOO_LARGE, "a filter %s is not supported", imp_type_text(c, imp_type(filter)));
    spatial_list(c, "strides", &w, w.stride);
    spatial_list(c, "rates", &w, w.dilation);
    if (c->bad)
        return;
    read_padding(c, x, &w);
    x = c->bad ? x : padded(c, x, &w, lowest);
    for (int i = 0; i < 2 && !c->bad; i++)
        n[i] = n_windows(c, &w, i, imp_type(x)->dim[i + 1]);
    for (int64_t k = 0; !c->bad && k < w.kernel[0] * w.kernel[1]; k++) {
        int64_t row = k / w.kernel[1], column = k % w.kernel[1];
        tn_value part = below_tap(c, x, &w, 0, row, n[0]);
        part = below_tap(c, part, &w, 1, column, n[1]);
        tn_value f = imp_squeeze(c, imp_slice(c, filter, 0, row, row + 1), 0);
        f = imp_squeeze(c, imp_slice(c, f, 0, column, column + 1), 0);
        part = imp_binary(c, &tn_op_add, part, f);
        most = k ? imp_binary(c, &tn_op_maximum, most, part) : part;
    }
    imp_out(c, 0, most);
}

/* ---- ExtractImagePatches ---- */

/* Where the taps of a window are along dimension i, [results, taps], in data [.., n, ..] that is padded. */
static tn_value tap_places(imp_node *c, const imp_window *w, int i, const tn_expr *n)
{
    tn_value first = imp_unsqueeze(c, imp_count_up(c, n_windows(c, w, i, n)), 1);
    tn_value tap = imp_count_up(c, tn_idx(c->pool, w->kernel[i]));
    first = imp_with(c, &tn_op_multiply, first, (double)w->stride[i]);
    return imp_binary(c, &tn_op_add, first, imp_with(c, &tn_op_multiply, tap, (double)w->dilation[i]));
}

/* The elements below the window at each place as channels: row by row, column by column, channel by channel. */
static void patches(imp_node *c)
{
    static const int64_t order[] = {0, 1, 3, 2, 4, 5};
    imp_window w;
    tn_value x = imp_in(c, 0);
    if (!image_window(c, x, "ksizes", &w))
        return;
    spatial_list(c, "rates", &w, w.dilation);
    if (c->bad)
        return;
    read_padding(c, x, &w);
    x = c->bad ? x : padded(c, x, &w, 0);
    if (c->bad)
        return;
    tn_value row = tap_places(c, &w, 0, imp_type(x)->dim[1]),
             column = tap_places(c, &w, 1, imp_type(x)->dim[2]);
    x = imp_take(c, imp_take(c, x, row, 1), column, 3);
    x = imp_transpose(c, x, 6, order);
    if (c->bad)
        return;
    const tn_type *t = imp_type(x);
    const tn_expr *dim[4] = {t->dim[0], t->dim[1], t->dim[2], imp_product(c, t, 3, 6)};
    imp_out(c, 0, imp_reshape(c, x, 4, dim));
}

// clang-format off
const imp_row tf_rows_nn[] = {
    {"AvgPool",                1, 0, 1, 1, pool,           NULL},
    {"AvgPool3D",              1, 0, 1, 1, pool,           NULL},
    {"BatchNormWithGlobalNormalization", 1, 0, 5, 1, global_norm, NULL},
    {"BiasAdd",                1, 0, 2, 1, bias_add,       NULL},
    {"BiasAddV1",              1, 0, 2, 1, bias_add,       NULL},
    {"Conv2D",                 1, 0, 2, 1, conv,           NULL},
    {"Conv2DBackpropInput",    1, 0, 3, 1, conv_transpose, NULL},
    {"Conv3D",                 1, 0, 2, 1, conv,           NULL},
    {"Conv3DBackpropInputV2",  1, 0, 3, 1, conv_transpose, NULL},
    {"Dilation2D",             1, 0, 2, 1, dilation,       NULL},
    {"DepthwiseConv2dNative",  1, 0, 2, 1, depthwise,      NULL},
    {"ExtractImagePatches",    1, 0, 1, 1, patches,        NULL},
    {"FusedBatchNorm",         1, 0, 5, 6, batch_norm,     NULL},
    {"FusedBatchNormV2",       1, 0, 5, 6, batch_norm,     NULL},
    {"FusedBatchNormV3",       1, 0, 5, 6, batch_norm,     NULL},
    {"LRN",                    1, 0, 1, 1, lrn,            NULL},
    {"MaxPool",                1, 0, 1, 1, pool,           NULL},
    {"MaxPoolV2",              1, 0, 3, 1, pool,           NULL},
    {"MaxPool3D",              1, 0, 1, 1, pool,           NULL},
    {"MaxPoolWithArgmax",      1, 0, 1, 2, pool_with_places, NULL},
    {0},
};
// clang-format on
