/* Windows of other kinds: locally connected layers, whose kernel differs from place to place, and spectrograms. */
#include "frontend/keras/rows.h"

#include <string.h>

/* ---- LocallyConnected1D, LocallyConnected2D ---- */

enum { MAX_PLACES = 4096 };

/* Every stride-th element from `from` on, n of them. */
static tn_value every(imp_node *c, tn_value x, int64_t axis, int64_t from, int64_t stride, int64_t n)
{
    const int64_t end = from + (n - 1) * stride + 1;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &stride), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

typedef struct places {
    int dims;
    int64_t kernel[2], stride[2], out[2];
} places;

/* x [b, ..., c] as [b, places, elements of the window]; last: the channels are the last of the elements. */
static tn_value windows_of(imp_node *c, const places *p, tn_value x, bool last)
{
    int64_t n = p->kernel[0] * p->kernel[1];
    tn_value *part = TN_NEW_N(c->arena, tn_value, (size_t)n);
    const tn_type *t = imp_type(x);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        part[i] = every(c, x, 1, i / p->kernel[1], p->stride[0], p->out[0]);
        if (p->dims == 2)
            part[i] = every(c, part[i], 2, i % p->kernel[1], p->stride[1], p->out[1]);
        part[i] = last ? part[i] : imp_unsqueeze(c, part[i], imp_rank(x));
    }
    if (c->bad)
        return x;
    const tn_expr *elements = tn_mul(c->pool, t->dim[t->n - 1], tn_idx(c->pool, n));
    const tn_expr *flat[] = {t->dim[0], tn_idx(c->pool, p->out[0] * p->out[1]), imp_simplify(c, elements)};
    return imp_reshape(c, imp_concat(c, (uint32_t)n, part, imp_rank(part[0]) - 1), 3, flat);
}

static bool read_places(imp_node *c, tn_value x, places *p)
{
    *p = (places){.dims = imp_rank(x) - 2, .kernel = {1, 1}, .stride = {1, 1}, .out = {1, 1}};
    (void)keras_ints(c, "kernel_size", p->dims == 2 ? 2 : 1, p->kernel);
    (void)keras_ints(c, "strides", p->dims == 2 ? 2 : 1, p->stride);
    bool ok = !c->bad && (p->dims == 1 || p->dims == 2);
    for (int i = 0; i < p->dims && ok; i++) {
        int64_t extent = 0;
        ok = p->kernel[i] >= 1 && p->stride[i] >= 1 && tn_is_int(imp_type(x)->dim[i + 1], &extent) &&
             extent >= p->kernel[i];
        p->out[i] = ok ? (extent - p->kernel[i]) / p->stride[i] + 1 : 1;
    }
    if (!ok || p->kernel[0] > MAX_PLACES || p->kernel[1] > MAX_PLACES ||
        p->kernel[0] * p->kernel[1] > MAX_PLACES)
        imp_refuse(c, IMP_BAD_VALUE, "data %s does not suit the windows of the layer",
                   imp_type_text(c, imp_type(x)));
    return !c->bad;
}

static void locally_connected(imp_node *c)
{
    places p;
    bool last = keras_channels_last(c);
    tn_value x = keras_in(c, 0), kernel = keras_variable_of(c, "kernel"), bias = keras_optional(c, "bias");
    keras_ignore(c, "filters");
    keras_ignore(c, "use_bias");
    if (keras_int(c, "implementation", 1) != 1 || strcmp(keras_text(c, "padding", "valid"), "valid") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "implementation and padding other than 1 and valid are not supported");
    x = last || c->bad ? x : imp_channels_last(c, x);
    if (!c->bad && imp_rank(kernel) != 3)
        imp_refuse(c, IMP_BAD_TENSOR, "kernel %s must have three dimensions",
                   imp_type_text(c, imp_type(kernel)));
    if (c->bad || !read_places(c, x, &p))
        return;
    tn_value y = keras_einsum(c, "bpk,pkf->bpf", windows_of(c, &p, x, last), kernel);
    const tn_expr *filters = imp_type(kernel)->dim[2];
    const tn_expr *dim[] = {imp_type(x)->dim[0], tn_idx(c->pool, p.out[0]),
                            p.dims == 2 ? tn_idx(c->pool, p.out[1]) : filters, filters};
    y = c->bad ? y : imp_reshape(c, y, p.dims + 2, dim);
    y = last || c->bad ? y : imp_channels_first(c, y);
    if (bias.def && !last &&
        !c->bad) { /* Keras takes its elements in this order, whatever they were made for */
        const tn_expr *first[] = {filters, dim[1], dim[2]};
        bias = imp_reshape(c, bias, p.dims + 1, first);
    }
    y = bias.def ? imp_binary(c, &tn_op_add, y, bias) : y;
    keras_out(c, keras_activation(c, y));
}

/* ---- STFTSpectrogram: a convolution of each channel with the waves of a Fourier transform ---- */

/* x [channels, steps, 1] to [channels, frames, frequencies] */
static tn_value waves(imp_node *c, tn_value x, const char *name)
{
    imp_window w;
    int64_t length = keras_int(c, "frame_length", 256), step = keras_int(c, "frame_step", length / 2);
    const char *how = keras_text(c, "padding", "valid");
    tn_value weight = keras_conv_weight(c, keras_variable_of(c, name), 1);
    if (!imp_window_init(c, x, true, &w) || !imp_window_of_weight(c, weight, &w))
        return x;
    if (step < 1 || step > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "frame_step is %lld, but must be at least 1", (long long)step);
    w.stride[0] = step;
    if (strcmp(how, "same") == 0)
        imp_pad_same(c, x, &w, false);
    return imp_conv(c, x, weight, &w, 1);
}

/* Frequencies but the first and the last count twice. */
static tn_value both_sides(imp_node *c, tn_value power)
{
    int64_t n = 0;
    if (c->bad || !tn_is_int(imp_type(power)->dim[2], &n) || n < 1)
        return power;
    float *by = TN_NEW_N(c->arena, float, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        by[i] = i > 0 && i < n - 1 ? 2 : 1;
    tn_value v = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, by, NULL));
    return imp_binary(c, &tn_op_multiply, power, keras_as(c, v, power));
}

static tn_value at_least(imp_node *c, tn_value v)
{
    return imp_binary(c, &tn_op_maximum, v, keras_like(c, v, 1e-7));
}

/* atan(y / x), half a turn further where x is below 0; a quarter where it is 0. */
static tn_value angle(imp_node *c, tn_value y, tn_value x)
{
    const double pi = 3.14159265358979323846;
    tn_value zero = keras_like(c, x, 0), one = keras_like(c, x, 1);
    tn_value none = imp_binary(c, &tn_op_equal, x, zero), left = imp_binary(c, &tn_op_less, x, zero);
    tn_value a = imp_unary(c, &tn_op_atan, imp_binary(c, &tn_op_divide, y, imp_choose(c, none, one, x)));
    tn_value below = imp_binary(c, &tn_op_less, y, zero), half = keras_like(c, x, pi),
             back = keras_like(c, x, -pi);
    tn_value turned = imp_binary(c, &tn_op_add, a, imp_choose(c, below, back, half));
    tn_value quarter = imp_unary(c, &tn_op_sign, y);
    quarter = imp_binary(c, &tn_op_multiply, quarter, keras_like(c, x, pi / 2));
    turned = imp_choose(c, left, turned, a);
    return imp_choose(c, none, quarter, turned);
}

/* What the mode makes of the real and the imaginary parts. */
static tn_value spectrum(imp_node *c, tn_value x, const char *mode)
{
    tn_value re = {0}, im = {0};
    if (strcmp(mode, "imag") != 0)
        re = waves(c, x, "real_kernel");
    if (strcmp(mode, "real") != 0)
        im = waves(c, x, "imag_kernel");
    if (c->bad || !re.def || !im.def)
        return re.def ? re : im;
    if (strcmp(mode, "angle") == 0)
        return angle(c, im, re);
    if (strcmp(mode, "stft") == 0)
        return imp_concat(c, 2, (tn_value[]){re, im}, 2);
    re = imp_binary(c, &tn_op_multiply, re, re);
    tn_value power = imp_binary(c, &tn_op_add, re, imp_binary(c, &tn_op_multiply, im, im));
    if (strcmp(mode, "psd") == 0)
        return both_sides(c, power);
    tn_value magnitude = imp_unary(c, &tn_op_sqrt, at_least(c, power));
    if (strcmp(mode, "log") == 0)
        return imp_unary(c, &tn_op_log, at_least(c, magnitude));
    if (strcmp(mode, "magnitude") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "mode \"%s\" is not known; the model is damaged", mode);
    return magnitude;
}

static void stft_spectrogram(imp_node *c)
{
    static const char *const of_kernels[] = {"fft_length", "window", "periodic", "scaling"};
    static const int64_t swap[] = {0, 2, 1}, wide_last[] = {0, 2, 3, 1}, flat_last[] = {0, 2, 1, 3},
                         flat_first[] = {0, 1, 3, 2};
    bool last = keras_channels_last(c), wide = keras_bool(c, "expand_dims", false);
    tn_value x = keras_in(c, 0);
    for (size_t i = 0; i < sizeof of_kernels / sizeof *of_kernels; i++)
        keras_ignore(c, of_kernels[i]);
    if (!c->bad && imp_rank(x) != 3)
        imp_refuse(c, IMP_OPERANDS, "the signal is %s, but must have three dimensions",
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    x = last ? imp_transpose(c, x, 3, swap) : x;
    const tn_type *t = imp_type(x);
    const tn_expr *each[] = {imp_product(c, t, 0, 2), t->dim[2], tn_idx(c->pool, 1)};
    tn_value y = spectrum(c, imp_reshape(c, x, 3, each), keras_text(c, "mode", "log"));
    if (c->bad)
        return;
    const tn_expr *frames = imp_type(y)->dim[1], *n = imp_type(y)->dim[2];
    const tn_expr *split[] = {t->dim[0], t->dim[1], frames, n};
    const tn_expr *all = imp_simplify(c, tn_mul(c->pool, t->dim[1], n));
    const tn_expr *flat[] = {t->dim[0], last ? frames : all, last ? all : frames};
    y = imp_reshape(c, y, 4, split);
    if (wide)
        y = last ? imp_transpose(c, y, 4, wide_last) : y;
    else
        y = imp_reshape(c, imp_transpose(c, y, 4, last ? flat_last : flat_first), 3, flat);
    keras_out(c, y);
}

#define WAVES "real_kernel?mode!imag imag_kernel?mode!real"
// clang-format off
const keras_row keras_rows_local[] = {
    LAYER("LocallyConnected1D", locally_connected, NULL, "kernel bias?use_bias", KERAS_DROPS_MASK, NULL),
    LAYER("LocallyConnected2D", locally_connected, NULL, "kernel bias?use_bias", KERAS_DROPS_MASK, NULL),
    LAYER("STFTSpectrogram",    stft_spectrogram,  NULL, WAVES, KERAS_DROPS_MASK, NULL),
    END_OF_ROWS,
};
// clang-format on
