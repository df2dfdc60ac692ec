/* Convolution, pooling, upsampling, borders: over the last three dimensions, channels, rows and columns. */
#include "frontend/coreml/coreml.h"

#include <string.h>

/* ---- data of any number of dimensions ---- */

/* With one dimension before the last `n`. */
static tn_value as_batch(imp_node *c, tn_value x, int n)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int lead = t->n - n;
    if (!c->bad && lead < 0)
        imp_refuse(c, IMP_OPERANDS, "data %s must have at least %d dimensions", imp_type_text(c, t), n);
    if (c->bad || lead == 1)
        return x;
    dim[0] = imp_product(c, t, 0, lead);
    for (int i = 0; i < n; i++)
        dim[1 + i] = t->dim[lead + i];
    return imp_reshape(c, x, n + 1, dim);
}

/* y, which has one dimension before the last n, with those that x has there. */
static tn_value as_before(imp_node *c, tn_value y, tn_value x, int n)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int lead = t->n - n;
    if (c->bad || lead == 1 || !y.def)
        return y;
    for (int i = 0; i < lead; i++)
        dim[i] = t->dim[i];
    for (int i = 0; i < n; i++)
        dim[lead + i] = imp_type(y)->dim[1 + i];
    return imp_reshape(c, y, t->n, dim);
}

/* ---- windows ---- */

static void list(imp_node *c, const imp_window *w, const char *name, int64_t def, int64_t out[])
{
    tn_ints at = cm_ints(c, name);
    for (int i = 0; i < w->dims; i++)
        out[i] = def;
    for (uint32_t i = 0; i < at.n && (int)i < w->dims; i++)
        out[i] = at.at[i];
    if (!c->bad && at.n && at.n != (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "%s has %u entries, but the data has %d spatial dimensions", name,
                   (unsigned)at.n, w->dims);
    for (int i = 0; i < w->dims && !c->bad; i++)
        if (out[i] < 1 || out[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "%s contains %lld", name, (long long)out[i]);
}

/* before each dimension, then after each */
static void pads(imp_node *c, imp_window *w, tn_ints pairs)
{
    int64_t pad[2 * IMP_MAX_SPATIAL] = {0};
    if (!c->bad && pairs.n && pairs.n != 2 * (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "the padding has %u entries, but the data has %d spatial dimensions",
                   (unsigned)pairs.n, w->dims);
    for (int i = 0; i < 2 * w->dims && pairs.n && !c->bad; i++) {
        pad[i % 2 * w->dims + i / 2] = pairs.at[i];
        if (pairs.at[i] < 0 || pairs.at[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "the padding contains %lld", (long long)pairs.at[i]);
    }
    imp_pad_both(c, w, pad);
}

enum padding { VALID, SAME, SAME_LOWER };

/* Of a layer: `valid` with amounts or `same`; of an operation: pad_type and pad. */
static enum padding read_padding(imp_node *c, imp_window *w)
{
    if (cm_is_layer(c)) {
        bool same = cm_flag(c, "same");
        int64_t mode = imp_attr_int(c, "same.asymmetryMode", 0);
        (void)cm_flag(c, "valid");
        pads(c, w, cm_ints(c, "valid.paddingAmounts"));
        return !same ? VALID : mode ? SAME_LOWER : SAME;
    }
    const char *type = imp_attr_string(c, "pad_type", "valid");
    tn_ints pairs = cm_ints(c, "pad");
    pads(c, w, strcmp(type, "custom") == 0 ? pairs : (tn_ints){0});
    if (strcmp(type, "custom") && strcmp(type, "valid") && strcmp(type, "same") && strcmp(type, "same_lower"))
        imp_refuse(c, IMP_BAD_VALUE, "pad_type is \"%s\"", type);
    return strcmp(type, "same") == 0 ? SAME : strcmp(type, "same_lower") == 0 ? SAME_LOWER : VALID;
}

/* ---- convolution ---- */

typedef struct conv {
    imp_window w;
    tn_value x, weight, bias;
    int64_t groups;
    tn_ints size; /* of the result of a transposed one; n 0: not given */
    enum padding pad;
} conv;

static void finish(imp_node *c, conv *v, tn_value given, int last)
{
    static const int64_t none[IMP_MAX_SPATIAL] = {0};
    int64_t more[IMP_MAX_SPATIAL] = {0};
    const tn_expr *size[IMP_MAX_SPATIAL];
    imp_window *w = &v->w;
    for (int i = 0; i < w->dims && last; i++) /* transposed */
        if (v->size.n >= (uint32_t)w->dims)
            size[i] = tn_idx(c->pool, v->size.at[v->size.n - (uint32_t)w->dims + (uint32_t)i]);
        else
            size[i] = tn_mul(c->pool, imp_window_extent(v->x, w, i), tn_idx(c->pool, w->stride[i]));
    if (last && (v->size.n || v->pad != VALID))
        imp_pad_output(c, v->x, w, size, v->pad == SAME_LOWER, more);
    else if (!last && v->pad != VALID)
        imp_pad_same(c, v->x, w, v->pad == SAME_LOWER);
    for (int i = 0; i < w->dims && !c->bad; i++)
        (void)imp_window_span(c, w, i);
    if (c->bad)
        return;
    tn_value y = last ? imp_conv_transpose(c, v->x, v->weight, w,
                                           memcmp(more, none, sizeof more) ? more : NULL, v->groups)
                      : imp_conv(c, v->x, v->weight, w, v->groups);
    imp_out(c, 0, as_before(c, imp_bias(c, y, v->bias, false), given, w->dims + 1));
}

static bool fits(imp_node *c, int64_t in, int64_t out, int64_t groups)
{
    if (!c->bad &&
        (in < 1 || out < 1 || groups < 1 || in > INT32_MAX || out > INT32_MAX || in % groups || out % groups))
        imp_refuse(c, IMP_BAD_VALUE, "%lld channels become %lld in %lld groups; the model is damaged",
                   (long long)in, (long long)out, (long long)groups);
    return !c->bad;
}

static void convolution(imp_node *c)
{
    conv v = {.x = as_batch(c, imp_in(c, 0), 3)};
    bool turned = cm_flag(c, "isDeconvolution");
    int64_t out = imp_attr_int(c, "outputChannels", 0), in = imp_attr_int(c, "kernelChannels", 0);
    if (!imp_window_init(c, v.x, false, &v.w))
        return;
    v.groups = imp_attr_int(c, "nGroups", 1);
    v.groups += v.groups == 0;
    list(c, &v.w, "kernelSize", 3, v.w.kernel);
    list(c, &v.w, "stride", 1, v.w.stride);
    list(c, &v.w, "dilationFactor", 1, v.w.dilation);
    v.pad = read_padding(c, &v.w);
    v.size = cm_ints(c, "outputShape");
    if (!fits(c, turned ? in : out, out, v.groups))
        return;
    int64_t dim[4] = {turned ? in : out, turned ? out / v.groups : in, v.w.kernel[0], v.w.kernel[1]};
    v.weight = c->n_in > 1 ? imp_in(c, 1) : cm_weights(c, "weights", 4, dim);
    v.bias = cm_weights_if(c, "hasBias", "bias", 1, &out);
    finish(c, &v, imp_in(c, 0), turned);
}

static const char *const sides[] = {"Front", "Back", "Top", "Bottom", "Left", "Right"};

/* The window of a layer of volumes, whose numbers have names of their own. */
static enum padding volume(imp_node *c, imp_window *w, bool dilates)
{
    static const char *const way[] = {"Depth", "Height", "Width"};
    int64_t pad[6], type = imp_attr_int(c, "paddingType", 0);
    for (int i = 0; i < 3; i++) {
        const char *kernel = tn_arena_printf(c->arena, "kernel%s", way[i]),
                   *stride = tn_arena_printf(c->arena, "stride%s", way[i]),
                   *dilation = tn_arena_printf(c->arena, "dilation%s", way[i]);
        w->kernel[i] = imp_attr_int(c, kernel, dilates ? 3 : 1);
        w->stride[i] = imp_attr_int(c, stride, 1);
        w->dilation[i] = dilates ? imp_attr_int(c, dilation, 1) : 1;
    }
    for (int i = 0; i < 6; i++)
        pad[i % 2 * 3 + i / 2] = imp_attr_int(c, tn_arena_printf(c->arena, "customPadding%s", sides[i]), 0);
    for (int i = 0; i < 6; i++)
        if (pad[i] < 0 || pad[i] > INT32_MAX || type)
            pad[i] = 0;
    imp_pad_both(c, w, pad);
    for (int i = 0; i < 3; i++)
        (void)imp_window_span(c, w, i);
    return type == 2 ? SAME : VALID;
}

static void convolution3d(imp_node *c)
{
    conv v = {.x = as_batch(c, imp_in(c, 0), 4)};
    bool turned = cm_flag(c, "isDeconvolution");
    int64_t out = imp_attr_int(c, "outputChannels", 0), in = imp_attr_int(c, "inputChannels", 0);
    if (!imp_window_init(c, v.x, false, &v.w))
        return;
    v.groups = imp_attr_int(c, "nGroups", 1);
    v.groups += v.groups == 0;
    v.pad = volume(c, &v.w, true);
    v.size = cm_ints(c, "outputShape");
    if (!fits(c, in, out, v.groups))
        return;
    int64_t dim[5] = {turned ? in : out, (turned ? out : in) / v.groups, v.w.kernel[0], v.w.kernel[1],
                      v.w.kernel[2]};
    v.weight = cm_weights(c, "weights", 5, dim);
    v.bias = cm_weights_if(c, "hasBias", "bias", 1, &out);
    finish(c, &v, imp_in(c, 0), turned);
}

/* Weights of 8 bits of a conv_quantized: weight * quant_scale + quant_bias, of the whole tensor or of each channel. */
static tn_value scaled_weight(imp_node *c, tn_value weight)
{
    const char *how = imp_attr_string(c, "quantization_type", "");
    tn_value by[2] = {cm_in(c, 3, "quant_scale"), cm_in(c, 4, "quant_bias")};
    int rank = imp_rank(weight);
    int64_t bits = imp_attr_int(c, "nbits", 8);
    if (strcmp(how, "linear") != 0 || bits != 8 || cm_has(c, 2, "bias"))
        imp_refuse(
            c, IMP_BAD_VALUE,
            "weights are quantised as \"%s\" with %lld bits%s; only \"linear\" with 8 bits and without "
            "a bias is supported: export the model with constexpr_affine_dequantize",
            how, (long long)bits, cm_has(c, 2, "bias") ? " beside a bias" : "");
    for (int i = 0; i < 2 && !c->bad; i++)
        by[i] = imp_rank(by[i]) == 1 && rank > 1 ? imp_along(c, by[i], 0, rank) : by[i];
    if (c->bad)
        return weight;
    tn_value w = cm_bin(c, &tn_op_multiply, imp_cast(c, weight, imp_type(by[0])->dtype), by[0]);
    return cm_bin(c, &tn_op_add, w, by[1]);
}

/* conv, conv_quantized and conv_transpose of programs: one to three spatial dimensions */
static void conv_operation(imp_node *c)
{
    bool turned = strcmp(c->row->op, "conv_transpose") == 0;
    conv v = {.x = cm_in(c, 0, "x"), .weight = cm_in(c, 1, "weight"), .bias = cm_opt(c, 2, "bias")};
    if (!imp_window_init(c, v.x, false, &v.w))
        return;
    list(c, &v.w, "strides", 1, v.w.stride);
    list(c, &v.w, "dilations", 1, v.w.dilation);
    v.groups = imp_attr_int(c, "groups", 1);
    v.pad = read_padding(c, &v.w);
    v.weight = strcmp(c->row->op, "conv_quantized") == 0 ? scaled_weight(c, v.weight) : v.weight;
    v.size = turned ? cm_ints(c, "output_shape") : (tn_ints){0};
    if (imp_window_of_weight(c, v.weight, &v.w))
        finish(c, &v, v.x, turned);
}

/* ---- pooling ---- */

enum pool { POOL_MAX, POOL_AVERAGE, POOL_NORM };

static tn_value pooled(imp_node *c, enum pool kind, tn_value x, const imp_window *w, bool with_padding)
{
    int64_t n = 1;
    if (kind != POOL_NORM)
        return imp_pool(c, kind == POOL_MAX ? IMP_POOL_MAX : IMP_POOL_AVERAGE, x, w, with_padding);
    for (int i = 0; i < w->dims; i++)
        n *= w->kernel[i];
    tn_value mean = imp_pool(c, IMP_POOL_AVERAGE, cm_bin(c, &tn_op_multiply, x, x), w, true);
    return imp_unary(c, &tn_op_sqrt, imp_with(c, &tn_op_multiply, mean, (double)n));
}

static enum pool pool_kind(imp_node *c)
{
    int64_t kind = imp_attr_int(c, "type", 0);
    if (kind < 0 || kind > 2)
        imp_refuse(c, IMP_BAD_VALUE, "type %lld of pooling is not known", (long long)kind);
    return (enum pool)kind;
}

static tn_value global(imp_node *c, enum pool kind, tn_value x, int dims)
{
    int64_t axes[IMP_MAX_SPATIAL];
    for (int i = 0; i < dims; i++)
        axes[i] = imp_rank(x) - dims + i;
    tn_ints all = tn_ints_make(c->arena, (uint32_t)dims, axes);
    if (kind != POOL_NORM)
        return cm_axes(c, kind == POOL_MAX ? &tn_op_max : &tn_op_mean, x, all, true);
    return imp_unary(c, &tn_op_sqrt, cm_axes(c, &tn_op_sum, cm_bin(c, &tn_op_multiply, x, x), all, true));
}

/* As Caffe: a last, partial window counts if it begins inside the data or the padding before it. */
static void last_pixel(imp_node *c, tn_value x, imp_window *w, tn_ints amounts)
{
    int64_t pad[2 * IMP_MAX_SPATIAL] = {0}, in;
    for (int i = 0; i < 2 && !c->bad; i++) {
        int64_t p = (uint32_t)i < amounts.n ? amounts.at[i] : 0, k = w->kernel[i], s = w->stride[i];
        if (!tn_is_int(imp_window_extent(x, w, i), &in) || p < 0 || p > INT32_MAX || in + 2 * p < k) {
            imp_refuse(c, IMP_BAD_VALUE, "includeLastPixel needs data with fixed extents, but it is %s",
                       imp_type_text(c, imp_type(x)));
            return;
        }
        int64_t out = (in + 2 * p - k + s - 1) / s + 1;
        out -= p > 0 && (out - 1) * s >= in + p;
        pad[i] = p;
        pad[2 + i] = (out - 1) * s + k - in - p;
    }
    imp_pad_both(c, w, pad);
}

static void pooling(imp_node *c)
{
    enum pool kind = pool_kind(c);
    tn_value given = imp_in(c, 0), x = as_batch(c, given, 3);
    bool outside = !cm_flag(c, "avgPoolExcludePadding");
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return;
    bool all = cm_flag(c, "globalPooling"), last = cm_flag(c, "includeLastPixel");
    tn_ints amounts = cm_ints(c, "includeLastPixel.paddingAmounts");
    enum padding pad = read_padding(c, &w);
    if (all) { /* its window says nothing */
        imp_attr_ignore(c, "kernelSize");
        imp_attr_ignore(c, "stride");
        imp_out(c, 0, global(c, kind, given, 2));
        return;
    }
    list(c, &w, "kernelSize", 3, w.kernel);
    list(c, &w, "stride", 1, w.stride);
    if (c->bad)
        return;
    if (last)
        last_pixel(c, x, &w, amounts);
    else if (pad != VALID)
        imp_pad_same(c, x, &w, pad == SAME_LOWER);
    imp_out(c, 0, as_before(c, pooled(c, kind, x, &w, outside), given, 3));
}

static void pooling3d(imp_node *c)
{
    enum pool kind = pool_kind(c);
    tn_value given = imp_in(c, 0), x = as_batch(c, given, 4);
    bool outside = !cm_flag(c, "countExcludePadding");
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return;
    if (volume(c, &w, false) == SAME)
        imp_pad_same(c, x, &w, false);
    imp_out(c, 0, as_before(c, pooled(c, kind, x, &w, outside), given, 4));
}

static void global_pooling3d(imp_node *c) { imp_out(c, 0, global(c, pool_kind(c), imp_in(c, 0), 3)); }

/* The last windows of ceil_mode, which begin before the end of data and padding. */
static void round_up(imp_node *c, tn_value x, imp_window *w, tn_ints pairs)
{
    int64_t in;
    for (int i = 0; i < w->dims && !c->bad; i++) {
        int64_t before = pairs.n ? pairs.at[2 * i] : 0, after = pairs.n ? pairs.at[2 * i + 1] : 0;
        if (!tn_is_int(imp_window_extent(x, w, i), &in)) {
            imp_refuse(c, IMP_BAD_VALUE, "ceil_mode needs data with fixed extents, but it is %s",
                       imp_type_text(c, imp_type(x)));
            return;
        }
        int64_t s = w->stride[i], rest = in + before + after - w->kernel[i];
        int64_t steps = rest < 0 ? 0 : (rest + s - 1) / s;
        steps -= steps > 0 && steps * s >= in + before;
        w->pad[w->dims + i] =
            tn_idx(c->pool, after + steps * s - rest > after ? after + steps * s - rest : after);
    }
}

static void pool_operation(imp_node *c)
{
    enum pool kind = strcmp(c->row->op, "max_pool") == 0 ? POOL_MAX
                     : strcmp(c->row->op, "avg_pool")    ? POOL_NORM
                                                         : POOL_AVERAGE;
    tn_value x = cm_in(c, 0, "x");
    imp_window w;
    if (!imp_window_init(c, x, false, &w))
        return;
    list(c, &w, "kernel_sizes", 1, w.kernel);
    list(c, &w, "strides", 1, w.stride);
    bool outside = !cm_flag(c, "exclude_padding_from_average"), up = cm_flag(c, "ceil_mode");
    enum padding pad = read_padding(c, &w);
    tn_ints pairs = cm_ints(c, "pad");
    if (c->bad)
        return;
    if (pad != VALID)
        imp_pad_same(c, x, &w, pad == SAME_LOWER);
    else if (up)
        round_up(c, x, &w, strcmp(imp_attr_string(c, "pad_type", "valid"), "custom") ? (tn_ints){0} : pairs);
    imp_out(c, 0, pooled(c, kind, x, &w, outside));
}

/* ---- resizing ---- */

static tn_value resized(imp_node *c, tn_value given, const tn_expr *h, const tn_expr *w, const char *method,
                        const char *mode)
{
    tn_value x = as_batch(c, given, 3);
    return as_before(c, imp_resize2d(c, x, h, w, method, mode), given, 3);
}

/* An extent times a factor. */
static const tn_expr *times(imp_node *c, tn_value x, int axis, double factor)
{
    const tn_expr *e = c->bad ? tn_idx(c->pool, 1) : imp_type(x)->dim[axis];
    int64_t n;
    if (!(factor > 0) || factor > 65536)
        imp_refuse(c, IMP_BAD_VALUE, "the scaling factor is %g", factor);
    else if (factor == (double)(int64_t)factor)
        return imp_simplify(c, tn_mul(c->pool, e, tn_idx(c->pool, (int64_t)factor)));
    else if (!c->bad && tn_is_int(e, &n))
        return tn_idx(c->pool, (int64_t)((double)n * factor + 1e-6));
    imp_refuse(c, IMP_BAD_VALUE, "a scaling factor that is no integer needs data with fixed extents");
    return e;
}

static void upsample(imp_node *c)
{
    static const char *const modes[] = {"asymmetric", "align_corners", "half_pixel"};
    tn_value x = imp_in(c, 0);
    tn_ints whole = cm_ints(c, "scalingFactor");
    const imp_attr *parts = imp_attr_find(c, "fractionalScalingFactor", IMP_A_FLOATS);
    int64_t linear = imp_attr_int(c, "mode", 0), how = imp_attr_int(c, "linearUpsampleMode", 0);
    double factor[2] = {1, 1};
    for (uint32_t i = 0; i < 2; i++)
        factor[i] = i < whole.n                    ? (double)whole.at[i]
                    : parts && i < parts->floats.n ? (double)parts->floats.at[i]
                                                   : 1;
    if (linear < 0 || linear > 1 || how < 0 || how > 2 || imp_rank(x) < 3)
        imp_refuse(c, IMP_BAD_VALUE, "mode %lld (%lld) of %s is not supported", (long long)linear,
                   (long long)how, imp_type_text(c, imp_type(x)));
    const tn_expr *h = times(c, x, imp_rank(x) - 2, factor[0]), *w = times(c, x, imp_rank(x) - 1, factor[1]);
    if (!c->bad)
        imp_out(
            c, 0,
            resized(c, x, h, w, linear ? "linear" : "nearest_neighbor", linear ? modes[how] : "asymmetric"));
}

/* A size of fixed numbers: what no mode of image.resize2d samples is sampled as parts of images are. */
static tn_value resized_to(imp_node *c, tn_value given, int64_t h, int64_t w, int mode)
{
    static const char *const modes[] = {"align_corners", "align_corners", "asymmetric", NULL, "half_pixel"};
    if (h < 1 || w < 1 || h > UINT16_MAX || w > UINT16_MAX || mode < 0 || mode >= CM_N_SAMPLING)
        imp_refuse(c, IMP_BAD_VALUE, "size %lld by %lld or mode %d is not supported", (long long)h,
                   (long long)w, mode);
    if (c->bad)
        return given;
    if (mode != CM_OFFSET && (mode != CM_ALIGN || (h > 1 && w > 1)))
        return resized(c, given, tn_idx(c->pool, h), tn_idx(c->pool, w), "linear", modes[mode]);
    return as_before(c, cm_resize(c, as_batch(c, given, 3), h, w, mode), given, 3);
}

static void resize_bilinear(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints size = cm_ints(c, "targetSize");
    int64_t mode = imp_attr_int(c, "mode.samplingMethod", 0);
    (void)cm_flag(c, "mode");
    if (size.n != 2)
        imp_refuse(c, IMP_BAD_VALUE, "targetSize has %u numbers, not 2", (unsigned)size.n);
    if (!c->bad)
        imp_out(c, 0,
                resized_to(c, x, size.at[0], size.at[1], mode < 0 || mode > CM_OFFSET ? -1 : (int)mode));
}

/* How upsample_bilinear samples. */
static const char *upsampling(imp_node *c)
{
    bool corners = imp_attr_int(c, "align_corners", 1) != 0;
    bool halves = imp_attr_int(c, "half_pixel_centers", !corners) != 0;
    return corners ? "align_corners" : halves ? "half_pixel" : "asymmetric";
}

static void upsample_operation(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    bool nearest = strstr(c->row->op, "nearest") != NULL;
    const char *mode = nearest ? "asymmetric" : upsampling(c);
    double rows = imp_attr_float(c, "scale_factor_height", 1),
           columns = imp_attr_float(c, "scale_factor_width", 1);
    if (!c->bad && imp_rank(x) < 3)
        imp_refuse(c, IMP_OPERANDS, "data %s is no image", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_expr *h = times(c, x, imp_rank(x) - 2, rows), *w = times(c, x, imp_rank(x) - 1, columns);
    if (!c->bad)
        imp_out(c, 0, resized(c, x, h, w, nearest ? "nearest_neighbor" : "linear", mode));
}

static void resize_to(imp_node *c, tn_value x, int64_t h, int64_t w, bool nearest)
{
    int mode = nearest ? CM_DEFAULT : cm_sampling(c, imp_attr_string(c, "sampling_mode", "DEFAULT"));
    if (!c->bad && imp_rank(x) < 3)
        imp_refuse(c, IMP_OPERANDS, "data %s is no image", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    imp_out(c, 0,
            nearest ? resized(c, x, tn_idx(c->pool, h < 1 ? 1 : h), tn_idx(c->pool, w < 1 ? 1 : w),
                              "nearest_neighbor", "asymmetric")
                    : resized_to(c, x, h, w, mode));
}

static void resize_operation(imp_node *c)
{
    int64_t h = imp_attr_int(c, "target_size_height", 1), w = imp_attr_int(c, "target_size_width", 1);
    resize_to(c, cm_in(c, 0, "x"), h, w, strstr(c->row->op, "nearest") != NULL);
}

/* The last dimensions of a shape, of which 0 keeps what the data has. */
static void resize(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    tn_ints shape = imp_ints_in(c, cm_in(c, 1, "shape"), "shape");
    const char *how = imp_attr_string(c, "interpolation_mode", "LINEAR");
    bool nearest = strcmp(how, "NEAREST_NEIGHBOR") == 0;
    int64_t dims = imp_attr_int(c, "resized_dims", 0), size[2] = {0, 0};
    if (!c->bad && (dims < 1 || dims > 2 || shape.n < (uint32_t)dims || imp_rank(x) < 3))
        imp_refuse(c, IMP_BAD_VALUE, "resizing %lld dimensions of %s is not supported", (long long)dims,
                   imp_type_text(c, imp_type(x)));
    if (nearest && strcmp(imp_attr_string(c, "sampling_mode", "DEFAULT"), "DEFAULT") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "this sampling_mode without interpolation is not supported");
    for (uint32_t i = 0; i < 2 && !c->bad; i++) {
        size[1 - i] = i < (uint32_t)dims ? shape.at[shape.n - 1 - i] : 0;
        if (!size[1 - i] && !tn_is_int(imp_type(x)->dim[imp_rank(x) - 1 - (int)i], &size[1 - i]))
            imp_refuse(c, IMP_NOT_CONSTANT, "the size of %s must be known at compile time",
                       imp_type_text(c, imp_type(x)));
    }
    if (!c->bad)
        resize_to(c, x, size[0], size[1], nearest);
}

/* ---- borders ---- */

static tn_value padded(imp_node *c, tn_value x, tn_ints last, const char *mode, double value)
{
    int64_t width[2 * IMP_MAX_RANK] = {0};
    uint32_t rank = (uint32_t)imp_rank(x);
    if (!c->bad && (last.n % 2 || last.n > 2 * rank))
        imp_refuse(c, IMP_BAD_VALUE, "%u amounts of padding do not fit %s", (unsigned)last.n,
                   imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < last.n && !c->bad; i++) {
        width[2 * rank - last.n + i] = last.at[i];
        if (last.at[i] < 0 || last.at[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "an amount of padding is %lld", (long long)last.at[i]);
    }
    if (c->bad)
        return x;
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 2 * rank, width), .pad_value = value, .pad_mode = mode};
    return imp_call1(c, &tn_op_nn_pad, &a, x);
}

static void padding(imp_node *c)
{
    double value = imp_attr_float(c, "constant.value", 0);
    (void)cm_flag(c, "constant");
    bool reflect = cm_flag(c, "reflection"), edge = cm_flag(c, "replication");
    tn_ints amounts = cm_ints(c, "paddingAmounts");
    imp_out(c, 0, padded(c, imp_in(c, 0), amounts, reflect ? "reflect" : edge ? "edge" : "constant", value));
}

/* The amounts as sizes of the result: where one of a dimension's two is not 0, that side is padded up to it. */
static tn_ints up_to_sizes(imp_node *c, tn_value x, tn_ints sizes)
{
    int64_t *pad = TN_NEW_N(c->arena, int64_t, sizes.n), n;
    for (uint32_t i = 0; i < sizes.n && !c->bad; i++) {
        pad[i] = 0;
        if (sizes.at[i] && (i / 2 >= (uint32_t)imp_rank(x) || !tn_is_int(imp_type(x)->dim[i / 2], &n)))
            imp_refuse(c, IMP_BAD_VALUE, "%s is not padded to %lld elements", imp_type_text(c, imp_type(x)),
                       (long long)sizes.at[i]);
        else if (sizes.at[i] > 0)
            pad[i] = sizes.at[i] > n ? sizes.at[i] - n : 0;
    }
    return (tn_ints){sizes.n, pad};
}

static void constant_pad(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints amounts = imp_has(c, 1) ? imp_ints_in(c, imp_cast(c, imp_in(c, 1), TN_I64), "the amounts")
                                    : cm_ints(c, "padAmounts");
    if (cm_flag(c, "padToGivenOutputSizeMode"))
        amounts = up_to_sizes(c, x, amounts);
    imp_out(c, 0, padded(c, x, amounts, "constant", imp_attr_float(c, "value", 0)));
}

static void pad_operation(imp_node *c)
{
    const char *mode = imp_attr_string(c, "mode", "constant");
    tn_ints amounts = cm_ints(c, "pad");
    double value = imp_attr_float(c, "constant_val", 0);
    const char *ours = strcmp(mode, "replicate") == 0 ? "edge" : tn_intern(c->g->ctx, mode);
    if (!imp_has_attr(c, "pad"))
        imp_refuse(c, IMP_NOT_CONSTANT, "amounts of padding must be known at compile time");
    if (strcmp(ours, "edge") && strcmp(ours, "reflect") && strcmp(ours, "constant"))
        imp_refuse(c, IMP_BAD_VALUE, "mode \"%s\" is not supported", mode);
    imp_out(c, 0, padded(c, cm_in(c, 0, "x"), amounts, ours, value));
}

static void crop(imp_node *c)
{
    tn_value x = imp_in(c, 0), like = imp_opt(c, 1);
    tn_ints amounts = cm_ints(c, "cropAmounts"), offset = cm_ints(c, "offset");
    int rank = imp_rank(x);
    int64_t n;
    if (!c->bad && (rank < 3 || (like.def && imp_rank(like) < 3)))
        imp_refuse(c, IMP_OPERANDS, "data %s is no image", imp_type_text(c, imp_type(x)));
    for (int i = 0; i < 2 && !c->bad; i++) {
        int axis = rank - 2 + i;
        int64_t from = like.def         ? ((uint32_t)i < offset.n ? offset.at[i] : 0)
                       : amounts.n == 4 ? amounts.at[2 * i]
                                        : 0;
        int64_t cut = amounts.n == 4 ? amounts.at[2 * i + 1] : 0;
        bool known =
            tn_is_int(imp_type(like.def ? like : x)->dim[like.def ? imp_rank(like) - 2 + i : axis], &n);
        if (known && from >= 0 && cut >= 0 && from <= INT32_MAX && cut <= INT32_MAX)
            x = imp_slice(c, x, axis, from, like.def ? from + n : n - cut);
        else
            imp_refuse(c, IMP_OPERANDS, "%s cannot be cropped", imp_type_text(c, imp_type(x)));
    }
    imp_out(c, 0, x);
}

static void crop_operation(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    static const char *const names[] = {"crop_height", "crop_width"};
    int64_t n;
    for (int i = 0; i < 2 && !c->bad; i++) {
        tn_ints cut = cm_ints(c, names[i]);
        int axis = imp_rank(x) - 2 + i;
        if (cut.n != 2 || axis < 0 || !tn_is_int(imp_type(x)->dim[axis], &n) || cut.at[0] < 0 ||
            cut.at[1] < 0)
            imp_refuse(c, IMP_BAD_VALUE, "%s does not fit %s", names[i], imp_type_text(c, imp_type(x)));
        else
            x = imp_slice(c, x, axis, cut.at[0], n - cut.at[1]);
    }
    imp_out(c, 0, x);
}

// clang-format off
const imp_row cm_rows_window[] = {
    {"convolution",               0, 0,  3, 1, convolution,      NULL},
    {"convolution3d",             0, 0,  1, 1, convolution3d,    NULL},
    {"pooling",                   0, 0,  1, 1, pooling,          NULL},
    {"pooling3d",                 0, 0,  1, 1, pooling3d,        NULL},
    {"globalPooling3d",           0, 0,  1, 1, global_pooling3d, NULL},
    {"upsample",                  0, 0,  1, 1, upsample,         NULL},
    {"resizeBilinear",            0, 0,  1, 1, resize_bilinear,  NULL},
    {"padding",                   0, 0,  1, 1, padding,          NULL},
    {"constantPad",               0, 0,  2, 1, constant_pad,     NULL},
    {"crop",                      1, 1, -1, 1, crop,             NULL},
    {"conv",                      0, 0, -1, 1, conv_operation,   NULL},
    {"conv_quantized",            0, 0, -1, 1, conv_operation,   NULL},
    {"conv_transpose",            0, 0, -1, 1, conv_operation,   NULL},
    {"max_pool",                  0, 0, -1, 1, pool_operation,   NULL},
    {"avg_pool",                  0, 0, -1, 1, pool_operation,   NULL},
    {"l2_pool",                   0, 0, -1, 1, pool_operation,   NULL},
    {"upsample_nearest_neighbor", 0, 0, -1, 1, upsample_operation, NULL},
    {"upsample_bilinear",         0, 0, -1, 1, upsample_operation, NULL},
    {"resize",                    2, 0, -1, 1, resize,           NULL},
    {"resize_nearest_neighbor",   0, 0, -1, 1, resize_operation, NULL},
    {"resize_bilinear",           0, 0, -1, 1, resize_operation, NULL},
    {"pad",                       0, 0, -1, 1, pad_operation,    NULL},
    {"crop",                      2, 0, -1, 1, crop_operation,   NULL},
    {0},
};
// clang-format on
