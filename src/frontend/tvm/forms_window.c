/* Forms of windows and signals (forms.h): Fourier transforms, dilation by a filter, correlation of two images. */
#include "frontend/tvm/forms.h"

#include "frontend/import/fourier.h"
#include "op/nn/nn.h"
#include "op/signal/signal.h"

#include <math.h>
#include <string.h>

enum { MOST_SAMPLES = 1 << 24 };

/* ---- Fourier transforms ---- */

/* dft(re, im): along the last dimension. Backward the result is divided by its length. */
static void dft(imp_node *c, form_call *f)
{
    const tn_value re = imp_in(c, 0);
    tn_value im = imp_in(c, 1);
    const tn_type *t = imp_type(re);
    const int r = t->n;
    int64_t n = 0;
    if (!c->bad && (r < 1 || imp_rank(im) != r || !tn_dtype_is_float(t->dtype)))
        imp_refuse(c, IMP_OPERANDS, "%s needs two tensors of floats that have a dimension", f->name);
    for (int d = 0; d < r && !c->bad; d++)
        if (!imp_with_extent(c, &im, d, t->dim[d]) && !c->bad)
            imp_refuse(c, IMP_OPERANDS, "%s needs two tensors of one shape", f->name);
    if (c->bad)
        return;
    if (tn_is_int(t->dim[r - 1], &n) && (n < 1 || n > MOST_SAMPLES))
        imp_refuse(c, IMP_TOO_LARGE, "%s of %lld elements is not supported", f->name, (long long)n);
    const tn_expr *rows[3] = {imp_product(c, t, 0, r - 1), t->dim[r - 1], tn_idx(c->pool, 1)};
    tn_value part[2] = {imp_reshape(c, re, 3, rows), imp_reshape(c, im, 3, rows)};
    tn_value x = imp_concat(c, 2, part, 2);
    if (c->bad)
        return;
    tn_value y = n ? imp_fourier(c, x, n, f->a.x, false)
                   : imp_fourier_any(c, x, rows[1], imp_extent_of(c, x, 1), f->a.x, false);
    for (uint32_t i = 0; i < 2; i++)
        imp_out(c, i, imp_reshape(c, imp_slice(c, y, 2, i, i + 1), r, t->dim));
}

/* Frequencies 0, 1, ... of [rows, win_length, 1]; they have the period of the window. */
static tn_value frequencies(imp_node *c, tn_value rows, int64_t n_fft, int64_t length, bool onesided)
{
    if (length == n_fft)
        return imp_fourier(c, rows, n_fft, false, onesided);
    const int64_t wanted = onesided ? n_fft / 2 + 1 : n_fft;
    tn_value all = imp_fourier(c, rows, length, false, false);
    tn_value number = imp_count_up(c, tn_idx(c->pool, wanted));
    number = imp_binary(c, &tn_op_floor_mod, number, imp_i64(c, length));
    return imp_take(c, all, number, 1);
}

/* stft(data, window) of n_fft = i, hop_length = j, win_length = k: [batch, frequencies, frames, 2]. There are as many
 * frames as there is room for n_fft elements, and each has win_length of them. */
static void stft(imp_node *c, form_call *f)
{
    static const int64_t turn[] = {0, 2, 1, 3};
    const int64_t n_fft = f->a.i, hop = f->a.j, length = f->a.k;
    const tn_value x = imp_in(c, 0);
    tn_value window = imp_in(c, 1);
    const tn_type *t = imp_type(x);
    int64_t have;
    if (!c->bad &&
        (n_fft < 1 || n_fft > MOST_SAMPLES || hop < 1 || hop > MOST_SAMPLES || length < 1 || length > n_fft))
        imp_refuse(c, IMP_BAD_VALUE, "%s needs an n_fft, a win_length up to it, and a hop_length", f->name);
    if (!c->bad && (t->n != 2 || !tn_dtype_is_float(t->dtype) || imp_rank(window) != 1 ||
                    !imp_with_extent(c, &window, 0, tn_idx(c->pool, length)) ||
                    (tn_is_int(t->dim[1], &have) && have < n_fft)))
        imp_refuse(c, IMP_OPERANDS,
                   "%s needs rows of floats, of which each has n_fft elements at least, and a window of "
                   "win_length",
                   f->name);
    if (c->bad)
        return;
    const tn_frame_attr a = {tn_make_dims(c->g, 1, &length), tn_make_dims(c->g, 1, &hop)};
    const tn_expr *room = tn_sub(c->pool, t->dim[1], tn_idx(c->pool, n_fft));
    room = tn_add(c->pool, tn_fdiv(c->pool, room, tn_idx(c->pool, hop)), tn_idx(c->pool, 1));
    tn_value y = imp_call1(c, &tn_op_frame, &a, imp_unsqueeze(c, x, 2));
    y = length == n_fft ? y : imp_slice_to(c, y, 1, tn_idx(c->pool, 0), imp_simplify(c, room));
    y = imp_binary(c, &tn_op_multiply, y, imp_unsqueeze(c, imp_cast(c, window, t->dtype), 1));
    if (c->bad)
        return;
    const tn_type *of = imp_type(y);
    const tn_expr *rows[] = {imp_product(c, of, 0, 2), of->dim[2], of->dim[3]};
    y = frequencies(c, imp_reshape(c, y, 3, rows), n_fft, length, f->a.y);
    if (c->bad)
        return;
    const tn_expr *dim[] = {of->dim[0], of->dim[1], imp_type(y)->dim[1], tn_idx(c->pool, 2)};
    y = imp_transpose(c, imp_reshape(c, y, 4, dim), 4, turn);
    imp_out(c, 0, f->a.x ? imp_with(c, &tn_op_divide, y, sqrt((double)n_fft)) : y);
}

/* ---- images ---- */

/* Before rows and columns, and after them: of 1, 2 or 4 numbers. false: reported. */
static bool read_padding(imp_node *c, const form_call *f, tn_dims given, int64_t pad[4])
{
    bool good = given.n == 1 || given.n == 2 || given.n == 4;
    for (uint32_t i = 0; i < 4 && good; i++)
        good = tn_is_int(given.at[i % given.n], &pad[i]) && pad[i] >= 0 && pad[i] < 1 << 20;
    if (!good && !c->bad)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs one, two or four widths of padding", f->name);
    return !c->bad;
}

/* Zeros around dimensions h and h + 1 of four. */
static tn_value padded(imp_node *c, tn_value x, int h, const int64_t pad[4])
{
    int64_t width[8] = {0};
    for (int i = 0; i < 4; i++)
        width[2 * (h + i % 2) + i / 2] = pad[i];
    const tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 8, width),
                           .pad_mode = tn_intern(c->g->ctx, "constant")};
    return pad[0] || pad[1] || pad[2] || pad[3] ? imp_call1(c, &tn_op_nn_pad, &a, x) : x;
}

/* What is below the windows: dimensions h and h + 1 become [rows, taps, columns, taps]. */
static tn_value below_windows(imp_node *c, const form_call *f, tn_value x, int h, const tvm_window w[2])
{
    for (int i = 1; i >= 0 && !c->bad; i--) {
        tn_value at;
        if (tvm_windows(c, f, imp_type(x)->dim[h + i], &w[i], &at))
            x = imp_take(c, x, at, h + i);
    }
    return x;
}

/* image.dilation2d(data, weight): the largest sums of what is below the window and the weight. */
static void dilation(imp_node *c, form_call *f)
{
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1);
    const bool last = strcmp(f->a.s, "NHWC") == 0,
               named = last ? strcmp(f->a.t, "HWI") == 0
                            : strcmp(f->a.s, "NCHW") == 0 && strcmp(f->a.t, "IHW") == 0;
    const int h = last ? 1 : 2, k = last ? 0 : 1;
    const tn_type *t = imp_type(x), *wt = imp_type(weight);
    const int64_t axes[2] = {h + 1, h + 3};
    int64_t pad[4], size[2] = {0};
    if (!c->bad && (!named || t->n != 4 || wt->n != 3 || f->a.ints.n != 2 || f->a.ints2.n != 2 ||
                    !tn_is_int(wt->dim[k], &size[0]) || !tn_is_int(wt->dim[k + 1], &size[1])))
        imp_refuse(c, IMP_BAD_VALUE,
                   "%s needs images and a weight of known size in the layouts NCHW and IHW, or NHWC and HWI",
                   f->name);
    if (c->bad || !read_padding(c, f, f->a.dims, pad))
        return;
    if (!imp_with_extent(c, &weight, last ? 2 : 0, t->dim[last ? 3 : 1]) && !c->bad)
        imp_refuse(c, IMP_OPERANDS, "%s has a weight of other channels than its data", f->name);
    const tvm_window w[2] = {{size[0], f->a.ints.at[0], f->a.ints2.at[0]},
                             {size[1], f->a.ints.at[1], f->a.ints2.at[1]}};
    const tn_dtype to = f->a.dtype.bits ? f->a.dtype : t->dtype;
    x = below_windows(c, f, imp_cast(c, padded(c, x, h, pad), to), h, w);
    if (c->bad)
        return;
    const tn_expr *one = tn_idx(c->pool, 1), *channels = imp_type(weight)->dim[last ? 2 : 0],
                  *rows = tn_idx(c->pool, size[0]), *columns = tn_idx(c->pool, size[1]);
    const tn_expr *const as_last[4] = {rows, one, columns, channels}, *const as_first[5] = {
                                                                          channels, one, rows, one, columns};
    weight = imp_reshape(c, imp_cast(c, weight, to), last ? 4 : 5, last ? as_last : as_first);
    const tn_axes_attr a = {.axis = tn_ints_make(c->arena, 2, axes)};
    imp_out(c, 0, imp_call1(c, &tn_op_max, &a, imp_binary(c, &tn_op_add, x, weight)));
}

/* Where windows of the second image lie along a dimension: [displacements, windows, size]. */
static tn_value displaced(imp_node *c, tn_value at, int64_t radius, int64_t step)
{
    tn_value by = imp_count_up(c, tn_idx(c->pool, 2 * radius + 1));
    by = imp_with(c, &tn_op_multiply, imp_with(c, &tn_op_subtract, by, (double)radius), (double)step);
    return imp_binary(c, &tn_op_add, at, imp_unsqueeze(c, imp_unsqueeze(c, by, 1), 2));
}

/* Means over channels and windows of products, or of differences, for each displacement of the second image. */
static tn_value compared(imp_node *c, const form_call *f, tn_value a, tn_value b, tn_value rows,
                         tn_value columns, int64_t radius)
{
    static const int64_t sums[] = {1, 4, 7}, turn[] = {0, 1, 3, 2, 4};
    a = imp_take(c, imp_take(c, a, columns, 3), rows, 2); /* [N, C, rows, size, columns, size] */
    a = imp_unsqueeze(c, imp_unsqueeze(c, a, 4), 2);
    b = imp_take(c, b, displaced(c, columns, radius, f->a.k), 3);
    b = imp_take(c, b, displaced(c, rows, radius, f->a.k), 2);
    tn_value y = f->a.x ? imp_binary(c, &tn_op_multiply, a, b)
                        : imp_unary(c, &tn_op_abs, imp_binary(c, &tn_op_subtract, a, b));
    const tn_axes_attr sum = {.axis = tn_ints_make(c->arena, 3, sums)};
    return imp_transpose(c, imp_call1(c, &tn_op_sum, &sum, y), 5, turn);
}

/* nn.correlation(a, b) of kernel_size = number, max_displacement = i, stride1 = j, stride2 = k */
static void correlation(imp_node *c, form_call *f)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1), at[2];
    const tn_type *t = imp_type(a);
    const int64_t size = f->a.number, most = f->a.i, radius = f->a.k > 0 ? most / f->a.k : -1;
    int64_t pad[4], channels = 1;
    if (!c->bad &&
        (t->n != 4 || imp_rank(b) != 4 || !tn_dtype_is_float(t->dtype) || strcmp(f->a.s, "NCHW") != 0 ||
         size < 1 || size % 2 == 0 || radius < 0 || radius > 1 << 10 || most < 0 || most > 1 << 20 ||
         size > 1 << 20 || !tn_is_int(t->dim[1], &channels)))
        imp_refuse(
            c, IMP_BAD_VALUE,
            "%s needs images of floats in the layout NCHW whose channels are known, an odd kernel_size, "
            "and steps",
            f->name);
    for (int d = 0; d < 4 && !c->bad; d++)
        if (!imp_with_extent(c, &b, d, t->dim[d]) && !c->bad)
            imp_refuse(c, IMP_OPERANDS, "%s needs two images of one shape", f->name);
    if (c->bad || !read_padding(c, f, f->a.dims, pad))
        return;
    a = padded(c, a, 2, pad);
    b = padded(c, b, 2, pad);
    for (int i = 0; i < 2 && !c->bad; i++) { /* the first window lies so far inside */
        const tn_expr *inside = tn_sub(c->pool, imp_type(a)->dim[2 + i], tn_idx(c->pool, 2 * most));
        const tvm_window w = {size, f->a.j, 1};
        if (tvm_windows(c, f, imp_simplify(c, inside), &w, &at[i]))
            at[i] = imp_with(c, &tn_op_add, at[i], (double)most);
    }
    if (c->bad)
        return;
    tn_value y = compared(c, f, a, b, at[0], at[1], radius);
    if (c->bad)
        return;
    const tn_type *of = imp_type(y);
    const tn_expr *dim[] = {of->dim[0], imp_product(c, of, 1, 3), of->dim[3], of->dim[4]};
    y = imp_reshape(c, y, 4, dim);
    imp_out(c, 0, imp_with(c, &tn_op_divide, y, (double)(size * size * channels)));
}

TVM_READ(dft, 2)
TVM_READ(stft, 1)
TVM_READ(dilation, 1)
TVM_READ(correlation, 1)

/* clang-format off */
static const tn_attr_field
    turning[] = {FORM_ATTR(BOOL, "inverse", x, "False"), FORM_END},
    framing[] = {FORM_ATTR(I64, "n_fft", i, NULL), FORM_ATTR(I64, "hop_length", j, NULL),
                 FORM_ATTR(I64, "win_length", k, NULL), FORM_ATTR(BOOL, "normalized", x, "False"),
                 FORM_ATTR(BOOL, "onesided", y, "True"), FORM_END},
    dilating[] = {FORM_ATTR(INTS, "strides", ints, "[1, 1]"), FORM_ATTR(DIMS, "padding", dims, "[0, 0]"),
                  FORM_ATTR(INTS, "dilations", ints2, "[1, 1]"), FORM_ATTR(STR, "data_layout", s, "\"NCHW\""),
                  FORM_ATTR(STR, "kernel_layout", t, "\"IHW\""), FORM_ATTR(DTYPE, "out_dtype", dtype, "\"\""),
                  FORM_END},
    comparing[] = {FORM_ATTR(I64, "kernel_size", number, "1"), FORM_ATTR(I64, "max_displacement", i, "1"),
                   FORM_ATTR(I64, "stride1", j, "1"), FORM_ATTR(I64, "stride2", k, "1"),
                   FORM_ATTR(DIMS, "padding", dims, "[0, 0]"), FORM_ATTR(BOOL, "is_multiply", x, "True"),
                   FORM_ATTR(STR, "layout", s, "\"NCHW\""), FORM_END};

const form tvm_forms_window[] = {
    {"dft", 2, 2, read_dft, turning, "The discrete Fourier transform of real and imaginary parts."},
    {"stft", 2, 2, read_stft, framing, "Fourier transforms of overlapping frames of a signal."},
    {"image.dilation2d", 2, 2, read_dilation, dilating, "The largest sums of what is below a window and its weight."},
    {"nn.correlation", 2, 2, read_correlation, comparing,
     "How alike windows of two images are, for each displacement."},
    {0},
};
/* clang-format on */
