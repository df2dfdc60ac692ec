/* Convolutions, pooling, enlarging. Weights are stored window first: (D)(H)W, channels in, channels out. */
#include "frontend/import/scan.h"
#include "frontend/keras/rows.h"

#include <string.h>

static const char *const window_orders[] = {"WIO", "HWIO", "DHWIO"};
static const char *const weight_orders[] = {"OIW", "OIHW", "OIDHW"};
static const char *const transposed_from[] = {"WOI", "HWOI", "DHWOI"};
static const char *const transposed_to[] = {"IOW", "IOHW", "IODHW"};

/* ---- windows ---- */

/* valid, same; causal: zeros before the first step alone. */
static void read_padding(imp_node *c, tn_value x, imp_window *w)
{
    const char *how = keras_text(c, "padding", "valid");
    if (strcmp(how, "same") == 0)
        imp_pad_same(c, x, w, false);
    else if (strcmp(how, "causal") == 0 && w->dims == 1)
        w->pad[0] = tn_idx(c->pool, imp_window_span(c, w, 0) - 1);
    else if (strcmp(how, "valid") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "padding \"%s\" is not known; valid, same and causal (1D) are known",
                   how);
}

/* Keras 1 had one length of 1D steps under names of its own. */
static void read_steps(imp_node *c, imp_window *w)
{
    if (!keras_ints(c, "strides", w->dims, w->stride) && w->dims == 1)
        (void)keras_ints(c, "subsample_length", 1, w->stride);
    (void)keras_ints(c, "dilation_rate", w->dims, w->dilation);
    for (int i = 0; i < w->dims && !c->bad; i++)
        if (w->stride[i] < 1 || w->dilation[i] < 1 || w->stride[i] > INT32_MAX || w->dilation[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE,
                       "strides and dilation_rate must be at least 1, and smaller than 2^31");
}

static void ignore_sizes(imp_node *c)
{
    static const char *const keys[] = {"filters",          "kernel_size",   "use_bias", "bias",
                                       "nb_filter",        "nb_row",        "nb_col",   "rank",
                                       "depth_multiplier", "filter_length", "groups"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        keras_ignore(c, keys[i]);
}

/* ---- convolution ---- */

/* Dimensions `at` to `at` + dims of a kernel are the window's. */
static bool has_window(imp_node *c, tn_value kernel, int at, int dims)
{
    static const char *const old[] = {"nb_row", "nb_col"};
    int64_t window[IMP_MAX_SPATIAL] = {0};
    bool told = keras_ints(c, "kernel_size", dims, window), all = true;
    for (int i = 0; i < dims; i++) {
        if (!told)
            window[i] = keras_int(c, dims == 1 ? "filter_length" : dims == 2 ? old[i] : "", 0);
        all = all && tn_is_value(imp_type(kernel)->dim[at + i], window[i]);
    }
    return all;
}

/* A kernel (D)(H)WIO. Keras 1 had two spatial dimensions in 1D, and with Theano the channels first; Theano itself turns
 * windows round. */
static tn_value kernel_of(imp_node *c, int dims)
{
    tn_value k = keras_variable_of(c, "kernel");
    int64_t filters = keras_int(c, "filters", 0);
    if (c->bad || (c->version > 1 && !keras_of(c)->of_theano))
        return k;
    int rank = imp_rank(k);
    bool flat = dims == 1 && rank == 4;
    if (c->version == 1 && rank == dims + 2 + flat &&
        !(has_window(c, k, 0, dims) && tn_is_value(imp_type(k)->dim[rank - 1], filters)))
        k = flat ? imp_reorder(c, k, "OIWH", "WHIO")
                 : imp_reorder(c, k, weight_orders[dims - 1], window_orders[dims - 1]);
    if (flat)
        k = imp_squeeze(c, k, 1);
    for (int i = 0; i < dims && keras_of(c)->of_theano && !c->bad; i++)
        k = imp_flip(c, k, i);
    return k;
}

tn_value keras_conv_weight(imp_node *c, tn_value kernel, int dims)
{
    return imp_reorder(c, kernel, window_orders[dims - 1], weight_orders[dims - 1]);
}

tn_value keras_convolve(imp_node *c, tn_value x, tn_value weight, int64_t groups)
{
    imp_window w;
    bool last = keras_channels_last(c);
    if (!imp_window_init(c, x, last, &w) || !imp_window_of_weight(c, weight, &w))
        return x;
    read_steps(c, &w);
    read_padding(c, x, &w);
    return imp_conv(c, x, weight, &w, groups);
}

static int dims_of(imp_node *c, tn_value x)
{
    int dims = imp_rank(x) - 2;
    if (!c->bad && (dims < 1 || dims > IMP_MAX_SPATIAL))
        imp_refuse(c, IMP_TOO_LARGE, "data %s must have three to five dimensions",
                   imp_type_text(c, imp_type(x)));
    return c->bad ? 1 : dims;
}

static void conv(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int dims = dims_of(c, x);
    tn_value kernel = kernel_of(c, dims);
    int64_t groups = keras_int(c, "groups", 1);
    ignore_sizes(c);
    tn_value y = keras_convolve(c, x, keras_conv_weight(c, kernel, dims), groups);
    keras_out(c, keras_activation(c, imp_bias(c, y, keras_optional(c, "bias"), keras_channels_last(c))));
}

static tn_value depthwise(imp_node *c, tn_value x, const char *name)
{
    int64_t channels = 1;
    tn_value kernel = keras_variable_of(c, name);
    if (!c->bad &&
        (imp_rank(kernel) < 3 || !tn_is_int(imp_type(kernel)->dim[imp_rank(kernel) - 2], &channels)))
        imp_refuse(c, IMP_BAD_TENSOR, "the kernel is %s, which has too few dimensions; the model is damaged",
                   imp_type_text(c, imp_type(kernel)));
    return c->bad ? x : keras_convolve(c, x, imp_depthwise_weight(c, kernel), channels);
}

static void depthwise_conv(imp_node *c)
{
    ignore_sizes(c);
    tn_value y = depthwise(c, keras_in(c, 0), "kernel");
    keras_out(c, keras_activation(c, imp_bias(c, y, keras_optional(c, "bias"), keras_channels_last(c))));
}

/* ---- convolution as a function of keras.ops: the kernel is an operand ---- */

static void conv_of(imp_node *c)
{
    tn_value x = keras_in(c, 0), kernel = keras_any_operand(c, 1, "kernel");
    int dims = dims_of(c, x), channel = keras_channels_last(c) ? dims + 1 : 1;
    int64_t channels = 0, each = 0;
    if (!c->bad && (imp_rank(kernel) != dims + 2 || !tn_is_int(imp_type(x)->dim[channel], &channels) ||
                    !tn_is_int(imp_type(kernel)->dim[dims], &each) || each < 1 || channels % each))
        imp_refuse(c, IMP_BAD_TENSOR, "the kernel %s is not for data %s", imp_type_text(c, imp_type(kernel)),
                   imp_type_text(c, imp_type(x)));
    if (!c->bad)
        keras_out(c, keras_convolve(c, x, keras_conv_weight(c, kernel, dims), channels / each));
}

static tn_value depthwise_of(imp_node *c, tn_value x)
{
    tn_value kernel = keras_any_operand(c, 1, "kernel depthwise_kernel");
    int dims = dims_of(c, x);
    int64_t channels = 1;
    if (!c->bad && (imp_rank(kernel) != dims + 2 || !tn_is_int(imp_type(kernel)->dim[dims], &channels)))
        imp_refuse(c, IMP_BAD_TENSOR, "the kernel %s is not for data %s", imp_type_text(c, imp_type(kernel)),
                   imp_type_text(c, imp_type(x)));
    return c->bad ? x : keras_convolve(c, x, imp_depthwise_weight(c, kernel), channels);
}

static void depthwise_function(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, depthwise_of(c, x));
}

static void separable_function(imp_node *c)
{
    tn_value x = keras_in(c, 0), y = depthwise_of(c, x), kernel = keras_any_operand(c, 2, "pointwise_kernel");
    int dims = dims_of(c, x);
    imp_window w;
    if (!c->bad && imp_rank(kernel) != dims + 2)
        imp_refuse(c, IMP_BAD_TENSOR, "the kernel %s is not for data %s", imp_type_text(c, imp_type(kernel)),
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    tn_value weight = keras_conv_weight(c, kernel, dims);
    if (imp_window_init(c, y, keras_channels_last(c), &w) && imp_window_of_weight(c, weight, &w))
        keras_out(c, imp_conv(c, y, weight, &w, 1));
}

static void separable_conv(imp_node *c)
{
    ignore_sizes(c);
    tn_value x = keras_in(c, 0), y = depthwise(c, x, "depthwise_kernel");
    int dims = dims_of(c, x);
    tn_value weight = keras_conv_weight(c, keras_variable_of(c, "pointwise_kernel"), dims);
    bool last = keras_channels_last(c);
    imp_window w;
    if (!imp_window_init(c, y, last, &w) || !imp_window_of_weight(c, weight, &w))
        return;
    y = imp_conv(c, y, weight, &w, 1);
    keras_out(c, keras_activation(c, imp_bias(c, y, keras_optional(c, "bias"), last)));
}

/* How much of the natural extent, (n - 1) * stride + span, is cut off (or, below 0, lacks). */
static int64_t excess(imp_node *c, const imp_window *w, int i, bool same, bool given, int64_t more)
{
    int64_t span = imp_window_span(c, w, i), s = w->stride[i];
    if (given)
        return (same ? 2 * (w->kernel[i] / 2) : 0) - more;
    return same ? span - s : span < s ? span - s : 0;
}

static tn_value transposed(imp_node *c, tn_value x, tn_value kernel)
{
    int64_t more[IMP_MAX_SPATIAL] = {0}, after[IMP_MAX_SPATIAL] = {0};
    bool last = keras_channels_last(c), same = strcmp(keras_text(c, "padding", "valid"), "same") == 0;
    int dims = dims_of(c, x);
    imp_window w;
    if (!c->bad && imp_rank(kernel) != dims + 2)
        imp_refuse(c, IMP_BAD_TENSOR, "the kernel %s is not for data %s", imp_type_text(c, imp_type(kernel)),
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return x;
    tn_value weight = imp_reorder(c, kernel, transposed_from[dims - 1], transposed_to[dims - 1]);
    if (!imp_window_init(c, x, last, &w) || !imp_window_of_weight(c, weight, &w))
        return x;
    read_steps(c, &w);
    bool given = keras_ints(c, "output_padding", dims, more);
    for (int i = 0; i < dims && !c->bad; i++) {
        int64_t total = excess(c, &w, i, same, given, more[i]), cut = total > 0 ? total : 0;
        w.pad[i] = tn_idx(c->pool, same ? cut / 2 : 0);
        w.pad[dims + i] = tn_idx(c->pool, same ? cut - cut / 2 : cut);
        after[i] = total < 0 ? -total : 0;
    }
    return imp_conv_transpose(c, x, weight, &w, after, 1);
}

static void conv_transpose(imp_node *c)
{
    tn_value x = keras_in(c, 0), kernel = keras_variable_of(c, "kernel"), bias = keras_optional(c, "bias");
    if (c->version == 1 || keras_of(c)->of_theano)
        imp_refuse(c, IMP_BAD_VALUE,
                   "transposed convolutions of Keras 1 and of Theano are not supported; save the model "
                   "with Keras 2 and TensorFlow");
    ignore_sizes(c);
    (void)keras_int(c, "groups", 1);
    tn_value y = transposed(c, x, kernel);
    keras_out(c, keras_activation(c, imp_bias(c, y, bias, keras_channels_last(c))));
}

static void transposed_function(imp_node *c)
{
    tn_value x = keras_in(c, 0), kernel = keras_any_operand(c, 1, "kernel");
    keras_out(c, transposed(c, x, kernel));
}

/* ---- pooling ---- */

static void pool(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    bool last = keras_channels_last(c), max = c->row->op[0] == 'M';
    imp_window w;
    if (!imp_window_init(c, x, last, &w))
        return;
    (void)keras_ints(c, "pool_size", w.dims, w.kernel);
    for (int i = 0; i < w.dims; i++)
        w.stride[i] = w.kernel[i];
    (void)keras_ints(c, "stride", w.dims, w.stride); /* of Keras 1 */
    read_steps(c, &w);
    read_padding(c, x, &w);
    for (int i = 0; i < w.dims && !c->bad; i++)
        (void)imp_window_span(c, &w, i);
    keras_out(c, imp_pool(c, max ? IMP_POOL_MAX : IMP_POOL_AVERAGE, x, &w, false));
}

/* Steps of a sequence that do not count are left out of its average. */
static tn_value masked_mean(imp_node *c, tn_value x, tn_value mask, bool last, bool keep)
{
    int64_t axis = last ? 1 : 2;
    mask = imp_unsqueeze(c, imp_cast(c, mask, imp_type(x)->dtype), last ? 2 : 1);
    tn_value sum = keras_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, mask), 1, &axis, keep);
    return imp_binary(c, &tn_op_divide, sum, keras_reduce(c, &tn_op_sum, mask, 1, &axis, keep));
}

static void global_pool(imp_node *c)
{
    static const int64_t first[] = {2, 3, 4}, second[] = {1, 2, 3};
    tn_value x = keras_in(c, 0), mask = keras_mask(c, 0);
    bool last = keras_channels_last(c), keep = keras_bool(c, "keepdims", false);
    int dims = dims_of(c, x);
    if (c->row->relay == &tn_op_mean && dims == 1 && mask.def)
        keras_out(c, masked_mean(c, x, mask, last, keep));
    else
        keras_out(c, keras_reduce(c, c->row->relay, x, dims, last ? second : first, keep));
}

/* Windows of nearly equal extents, which cover the data. */
static void adaptive_pool(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    bool last = keras_channels_last(c);
    int64_t size[IMP_MAX_SPATIAL] = {1, 1, 1}, n = 0;
    int dims = dims_of(c, x);
    if (!keras_ints(c, "output_size", dims, size))
        imp_refuse(c, IMP_ATTR_MISSING, "output_size is missing; the model is damaged");
    for (int i = 0; i < dims && !c->bad; i++) {
        int axis = (last ? 1 : 2) + i;
        if (!tn_is_int(imp_type(x)->dim[axis], &n) || size[i] < 1 || size[i] > n || size[i] > 4096) {
            imp_refuse(c, IMP_NOT_CONSTANT, "adaptive pooling of %s to %lld needs a fixed, larger extent",
                       imp_type_text(c, imp_type(x)), (long long)size[i]);
            return;
        }
        tn_value *part = TN_NEW_N(c->arena, tn_value, size[i]);
        int64_t at = axis;
        for (int64_t k = 0; k < size[i]; k++)
            part[k] = keras_reduce(
                c, c->row->relay,
                imp_slice(c, x, axis, k * n / size[i], ((k + 1) * n + size[i] - 1) / size[i]), 1, &at, true);
        x = imp_concat(c, (uint32_t)size[i], part, axis);
    }
    keras_out(c, x);
}

/* ---- enlarging ---- */

/* `how` in the middle of pixels, but for the nearest one. */
static void set_method(imp_node *c, const char *how, tn_resize_attr *a)
{
    if (strcmp(how, "bilinear") == 0 || strcmp(how, "bicubic") == 0) {
        a->method = tn_intern(c->g->ctx, how[2] == 'l' ? "linear" : "cubic");
        a->coordinate_transformation_mode = tn_intern(c->g->ctx, "half_pixel");
        a->rounding_method = "round";
        a->cubic_exclude = 1;
    } else if (strcmp(how, "nearest") != 0) {
        imp_refuse(c, IMP_BAD_VALUE,
                   "interpolation \"%s\" is not supported, only nearest, area, bilinear, bicubic, lanczos3, "
                   "lanczos5, "
                   "gaussian and mitchellcubic are",
                   how);
    }
}

static void up_sampling(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    bool last = keras_channels_last(c);
    const char *how = keras_text(c, "interpolation", "nearest");
    int dims = dims_of(c, x);
    int64_t by[IMP_MAX_SPATIAL] = {2, 2, 2}, to[IMP_MAX_SPATIAL] = {0};
    const tn_expr *size[IMP_MAX_SPATIAL];
    if (!keras_ints(c, "size", dims, by))
        (void)keras_ints(c, "length", dims, by); /* of Keras 1 */
    for (int i = 0; i < dims && !c->bad; i++) {
        if (by[i] < 1 || by[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "size must be at least 1; the model is damaged");
        size[i] =
            imp_simplify(c, tn_mul(c->pool, imp_type(x)->dim[(last ? 1 : 2) + i], tn_idx(c->pool, by[i])));
        (void)tn_is_int(size[i], &to[i]);
    }
    if (dims == 2 && keras_is_filter(how) && !c->bad) {
        keras_out(c, keras_filtered(c, x, last, to, how, false));
        return;
    }
    tn_resize_attr a = {.method = tn_intern(c->g->ctx, "nearest_neighbor"),
                        .coordinate_transformation_mode = tn_intern(c->g->ctx, "asymmetric"),
                        .rounding_method = tn_intern(c->g->ctx, "floor"),
                        .cubic_alpha = -0.5};
    set_method(c, how, &a);
    if (!c->bad)
        keras_out(c, keras_resized(c, x, last, (tn_dims){(uint32_t)dims, size}, a));
}

#define KERNEL "kernel bias?use_bias"
#define SEPARABLE "depthwise_kernel pointwise_kernel bias?use_bias"
#define NO_MASK KERAS_DROPS_MASK
// clang-format off
const keras_row keras_rows_window[] = {
    LAYER("Conv1D",                 conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("Conv2D",                 conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("Conv3D",                 conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("Convolution1D",          conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("Convolution2D",          conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("Convolution3D",          conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("AtrousConvolution2D",    conv,           NULL, KERNEL, NO_MASK, NULL),
    LAYER("DepthwiseConv1D",        depthwise_conv, NULL, KERNEL, NO_MASK, NULL),
    LAYER("DepthwiseConv2D",        depthwise_conv, NULL, KERNEL, NO_MASK, NULL),
    LAYER("SeparableConv1D",        separable_conv, NULL, SEPARABLE, NO_MASK, NULL),
    LAYER("SeparableConv2D",        separable_conv, NULL, SEPARABLE, NO_MASK, NULL),
    LAYER("SeparableConvolution2D", separable_conv, NULL, SEPARABLE, NO_MASK, NULL),
    LAYER("Conv1DTranspose",        conv_transpose, NULL, KERNEL, NO_MASK, NULL),
    LAYER("Conv2DTranspose",        conv_transpose, NULL, KERNEL, NO_MASK, NULL),
    LAYER("Conv3DTranspose",        conv_transpose, NULL, KERNEL, NO_MASK, NULL),
    LAYER("Convolution2DTranspose", conv_transpose, NULL, KERNEL, NO_MASK, NULL),
    LAYER("MaxPooling1D",           pool,           NULL, NULL, NO_MASK, NULL),
    LAYER("MaxPooling2D",           pool,           NULL, NULL, NO_MASK, NULL),
    LAYER("MaxPooling3D",           pool,           NULL, NULL, NO_MASK, NULL),
    LAYER("AveragePooling1D",       pool,           NULL, NULL, NO_MASK, NULL),
    LAYER("AveragePooling2D",       pool,           NULL, NULL, NO_MASK, NULL),
    LAYER("AveragePooling3D",       pool,           NULL, NULL, NO_MASK, NULL),
    LAYER("GlobalAveragePooling1D", global_pool,    &tn_op_mean, NULL, NO_MASK, NULL),
    LAYER("GlobalAveragePooling2D", global_pool,    &tn_op_mean, NULL, NO_MASK, NULL),
    LAYER("GlobalAveragePooling3D", global_pool,    &tn_op_mean, NULL, NO_MASK, NULL),
    LAYER("GlobalMaxPooling1D",     global_pool,    &tn_op_max,  NULL, NO_MASK, NULL),
    LAYER("GlobalMaxPooling2D",     global_pool,    &tn_op_max,  NULL, NO_MASK, NULL),
    LAYER("GlobalMaxPooling3D",     global_pool,    &tn_op_max,  NULL, NO_MASK, NULL),
    LAYER("AdaptiveAveragePooling1D", adaptive_pool, &tn_op_mean, NULL, NO_MASK, NULL),
    LAYER("AdaptiveAveragePooling2D", adaptive_pool, &tn_op_mean, NULL, NO_MASK, NULL),
    LAYER("AdaptiveAveragePooling3D", adaptive_pool, &tn_op_mean, NULL, NO_MASK, NULL),
    LAYER("AdaptiveMaxPooling1D",   adaptive_pool,  &tn_op_max,  NULL, NO_MASK, NULL),
    LAYER("AdaptiveMaxPooling2D",   adaptive_pool,  &tn_op_max,  NULL, NO_MASK, NULL),
    LAYER("AdaptiveMaxPooling3D",   adaptive_pool,  &tn_op_max,  NULL, NO_MASK, NULL),
    LAYER("UpSampling1D",           up_sampling,    NULL, NULL, NO_MASK, NULL),
    LAYER("UpSampling2D",           up_sampling,    NULL, NULL, NO_MASK, NULL),
    LAYER("UpSampling3D",           up_sampling,    NULL, NULL, NO_MASK, NULL),
    LAYER("Conv",                   conv_of,        NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("DepthwiseConv",          depthwise_function, NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("SeparableConv",          separable_function, NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("ConvTranspose",          transposed_function, NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("MaxPool",                pool,           NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("AveragePool",            pool,           NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("AdaptiveMaxPool",        adaptive_pool,  &tn_op_max,  NULL, KERAS_OPERATION, NULL),
    LAYER("AdaptiveAveragePool",    adaptive_pool,  &tn_op_mean, NULL, KERAS_OPERATION, NULL),
    END_OF_ROWS,
};
// clang-format on
