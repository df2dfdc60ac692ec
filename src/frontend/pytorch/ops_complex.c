/* Complex numbers and Fourier transforms: what takes them apart, puts them together, and what is not made of other
 * operators (architectures/complex.py has the rest). */
#include "frontend/import/fourier.h"
#include "frontend/pytorch/ops.h"

#include <math.h>

enum { MAX_LENGTH = 1 << 24 };

/* ---- parts ---- */

static void same(imp_node *c) { pt_out(c, pt_in(c, 0)); }

/* The part itself: what changes it changes the tensor. */
static void part(imp_node *c) { pt_out_value(c, pt_at(pt_arg(c, 0), pt_starts(c, "imag") ? 1 : 0)); }

/* PyTorch shares the memory of the operand with the result. */
static void give_fixed(imp_node *c, pt_value v)
{
    for (size_t i = 0; i < 2 && !c->bad; i++)
        pt_tensor_fix(pt_at(pt_arg(c, 0), i).tensor, pt_of(c)->name);
    for (size_t i = 0; i < 2 && v.kind == PT_COMPLEX; i++)
        pt_tensor_fix(pt_at(v, i).tensor, pt_of(c)->name);
    if (v.kind == PT_TENSOR)
        pt_tensor_fix(v.tensor, pt_of(c)->name);
    pt_out_value(c, v);
}

static pt_value conjugate(imp_node *c)
{
    pt_value z = pt_arg(c, 0);
    tn_value im = imp_unary(c, &tn_op_negative, pt_as_tensor(c, pt_at(z, 1)));
    return c->bad ? pt_bad() : pt_complex(pt_of(c)->p, pt_at(z, 0), pt_tensor_new(pt_of(c)->p, im));
}

static void conj_view(imp_node *c) { give_fixed(c, conjugate(c)); }

static void conj_physical(imp_node *c)
{
    pt_import *p = pt_of(c)->p;
    pt_value z = conjugate(c);
    if (!c->bad) /* a copy of the real part, which may change later */
        z = pt_complex(p, pt_tensor_new(p, pt_tensor_value(p, pt_at(z, 0).tensor)), pt_at(z, 1));
    pt_out_value(c, z);
}

static void view_as_real(imp_node *c)
{
    tn_value v = pt_joined(c, pt_arg(c, 0));
    give_fixed(c, c->bad ? pt_bad() : pt_tensor_new(pt_of(c)->p, v));
}

static void view_as_real_copy(imp_node *c) { pt_out(c, pt_joined(c, pt_arg(c, 0))); }

static bool is_pairs(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    bool is = !c->bad && imp_rank(x) && tn_is_value(imp_type(x)->dim[imp_rank(x) - 1], 2) &&
              tn_dtype_is_float(imp_type(x)->dtype);
    if (!c->bad && !is)
        imp_refuse(c, IMP_BAD_VALUE, "the operand is %s, but must be of floats with a last dimension of 2",
                   imp_type_text(c, imp_type(x)));
    return is;
}

/* Its parts are views. */
static void view_as_complex(imp_node *c)
{
    pt_import *p = pt_of(c)->p;
    pt_value v[2];
    if (!is_pairs(c))
        return;
    for (int i = 0; i < 2; i++)
        v[i] = pt_call_named(p, "select", 3, (const pt_value[]){pt_arg(c, 0), pt_int(-1), pt_int(i)});
    pt_out_value(c, pt_complex(p, v[0], v[1]));
}

static void view_as_complex_copy(imp_node *c)
{
    if (is_pairs(c))
        pt_out_value(c, pt_taken_apart(c, pt_in(c, 0)));
}

static void complex_of(imp_node *c)
{
    pt_import *p = pt_of(c)->p;
    pt_value v[2];
    tn_value part[2];
    pt_pair(c, 0, 1, part);
    if (!c->bad && !tn_dtype_is_float(imp_type(part[0])->dtype))
        imp_refuse(c, IMP_BAD_VALUE, "the parts of complex numbers must be floats");
    if (c->bad)
        return;
    for (int i = 0; i < 2; i++)
        v[i] = pt_tensor_new(p, part[i]);
    if (!tn_type_eq(imp_type(part[0]), imp_type(part[1]))) {
        pt_value both = pt_make(&p->im.scratch, PT_LIST, 2, v);
        both = pt_call_named(p, "broadcast_tensors", 1, &both);
        for (size_t i = 0; i < 2; i++)
            v[i] = pt_is_bad(both) ? both : pt_at(both, i);
    }
    pt_out_value(c, pt_complex(p, v[0], v[1]));
}

/* ---- Fourier transforms ---- */

/* x, whose last dimension has the parts, transformed along another one; `length`: n in the run, where it is not
 * known. */
static tn_value along(imp_node *c, tn_value x, int axis, const tn_expr *n, tn_value length, bool inverse,
                      bool onesided)
{
    const tn_type *t = imp_type(x);
    int r = t->n;
    int64_t known, perm[IMP_MAX_RANK];
    const tn_expr *dim[IMP_MAX_RANK];
    for (int i = 0; i < r; i++) /* the axis and the last but one change places */
        perm[i] = i == axis ? r - 2 : i == r - 2 ? axis : i;
    for (int i = 0; i < r; i++)
        dim[i] = t->dim[perm[i]];
    tn_value moved = pt_permute(c, x, r, perm);
    const tn_expr *rows[3] = {imp_product(c, imp_type(moved), 0, r - 2), dim[r - 2], dim[r - 1]};
    tn_value y = imp_reshape(c, moved, 3, rows);
    if (tn_is_int(n, &known) && (known < 1 || known > MAX_LENGTH))
        imp_refuse(c, IMP_BAD_VALUE, "a transform of length %lld is not in [1, 2^24]", (long long)known);
    if (c->bad)
        return x;
    y = tn_is_int(n, &known)
            ? imp_fourier(c, y, known, inverse, onesided)
            : imp_fourier_any(c, y, n, length.def ? length : imp_extent_of(c, y, 1), inverse, onesided);
    if (c->bad)
        return y;
    dim[r - 2] = imp_type(y)->dim[1];
    dim[r - 1] = imp_type(y)->dim[2];
    return pt_permute(c, imp_reshape(c, y, r, dim), r, perm);
}

/* y by what PyTorch divides n elements by: 0 nothing, 1 sqrt(n), 2 n. Transforms backward are divided by n already. */
static tn_value scaled(imp_node *c, tn_value y, const tn_expr *n, tn_value length, int64_t how, bool inverse)
{
    tn_dtype t = imp_type(y)->dtype;
    int64_t known;
    if (c->bad || how == (inverse ? 2 : 0))
        return y;
    if (how < 0 || how > 2) {
        imp_refuse(c, IMP_BAD_VALUE, "a normalisation of %lld is not known", (long long)how);
        return y;
    }
    if (tn_is_int(n, &known)) {
        double by = how == 1 ? sqrt((double)known) : (double)known;
        return pt_mul(c, y, imp_const(c, t, inverse ? by : 1 / by));
    }
    tn_value by = imp_cast(c, length, t);
    by = how == 1 ? imp_unary(c, &tn_op_sqrt, by) : by;
    return inverse ? pt_mul(c, y, by) : pt_div(c, y, by);
}

typedef struct transform {
    tn_value y; /* parts in the last dimension */
    int axis[IMP_MAX_RANK];
    int n_axis;
    const tn_expr *count; /* elements that a result is the sum of */
    tn_value in_run;
} transform;

static bool open_transform(imp_node *c, transform *w, tn_value x)
{
    tn_ints axes = pt_ints(c, 1);
    int rank = c->bad ? 0 : imp_rank(x) - 1;
    *w = (transform){.y = x, .count = tn_idx(c->pool, 1)};
    if (!c->bad && (rank < 1 || rank >= IMP_MAX_RANK || axes.n > (uint32_t)rank))
        imp_refuse(c, IMP_BAD_VALUE, "transforms along %u of %d dimensions are not supported",
                   (unsigned)axes.n, rank);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        w->axis[w->n_axis++] = imp_axis(c, axes.at[i], rank);
    return !c->bad;
}

static void count(imp_node *c, transform *w, const tn_expr *n, tn_value length)
{
    w->count = imp_simplify(c, tn_mul(c->pool, w->count, n));
    w->in_run = w->in_run.def ? imp_binary(c, &tn_op_multiply, w->in_run, length) : length;
}

static void step(imp_node *c, transform *w, int axis, bool inverse, bool onesided)
{
    if (c->bad)
        return;
    count(c, w, imp_type(w->y)->dim[axis], imp_extent_of(c, w->y, axis));
    w->y = along(c, w->y, axis, imp_type(w->y)->dim[axis], (tn_value){0}, inverse, onesided);
}

/* stft(self, n_fft, hop_length, win_length, window[, center, pad_mode], normalized, onesided, return_complex,
 * align_to_window) */
static void stft(imp_node *c)
{
    pt_import *p = pt_of(c)->p;
    const pt_def *d = pt_find_def(pt_library(p), pt_words("stft_of").text);
    bool centred = strstr(pt_of(c)->row->schema, "pad_mode") != NULL;
    int rest = centred ? 7 : 5;
    pt_value arg[10] = {[5] = pt_bool(false), [6] = pt_words("reflect")};
    tn_bytes none[10] = {{0}};
    for (int i = 0; i < rest; i++)
        arg[i] = pt_arg(c, i);
    for (int i = 0; i < 3; i++)
        arg[7 + i] = pt_arg(c, rest + i);
    if (pt_given(c, rest + 3) && pt_truth(c, rest + 3))
        imp_refuse(c, IMP_BAD_VALUE, "frames that are aligned to their windows are not supported");
    if (c->bad)
        return;
    pt_value v = pt_run_def(p, d, NULL, &(pt_args){10, arg, none});
    c->bad = c->bad || p->stop || pt_is_bad(v);
    pt_out_value(c, v);
}

static tn_value floats(imp_node *c, tn_value x)
{
    return c->bad ? x : pt_wide(c, imp_cast(c, x, pt_float_type(imp_type(x)->dtype)));
}

/* _fft_r2c(self, dim, normalization, onesided): the last of the dimensions is that of the real signal */
static void real_to_complex(imp_node *c)
{
    transform w;
    tn_value x = floats(c, pt_in(c, 0));
    if (!open_transform(c, &w, c->bad ? x : imp_unsqueeze(c, x, imp_rank(x))))
        return;
    if (!w.n_axis)
        imp_refuse(c, IMP_BAD_VALUE, "a transform along no dimension is not supported");
    bool half = pt_truth(c, 3);
    for (int i = w.n_axis - 1; i >= 0 && !c->bad; i--)
        step(c, &w, w.axis[i], false, half && i == w.n_axis - 1);
    pt_out_value(c, pt_taken_apart(c, scaled(c, w.y, w.count, w.in_run, pt_integer(c, 2), false)));
}

/* _fft_c2c(self, dim, normalization, forward) */
static void complex_to_complex(imp_node *c)
{
    transform w;
    bool inverse = !pt_truth(c, 3);
    if (!open_transform(c, &w, floats(c, pt_joined(c, pt_arg(c, 0)))))
        return;
    for (int i = w.n_axis - 1; i >= 0 && !c->bad; i--)
        step(c, &w, w.axis[i], inverse, false);
    tn_value y = w.n_axis ? scaled(c, w.y, w.count, w.in_run, pt_integer(c, 2), inverse) : w.y;
    pt_out_value(c, pt_taken_apart(c, y));
}

/* _fft_c2r(self, dim, normalization, last_dim_size): the last of the dimensions has the first half */
static void complex_to_real(imp_node *c)
{
    transform w;
    if (!open_transform(c, &w, floats(c, pt_joined(c, pt_arg(c, 0)))))
        return;
    if (!w.n_axis)
        imp_refuse(c, IMP_BAD_VALUE, "a transform along no dimension is not supported");
    for (int i = 0; i + 1 < w.n_axis && !c->bad; i++)
        step(c, &w, w.axis[i], true, false);
    if (c->bad)
        return;
    const tn_expr *n = pt_extent(c, pt_arg(c, 3));
    tn_value length = imp_cast(c, pt_as_tensor(c, pt_arg(c, 3)), TN_I64);
    count(c, &w, n, length);
    w.y = along(c, w.y, w.axis[w.n_axis - 1], n, length, true, true);
    tn_value y = scaled(c, w.y, w.count, w.in_run, pt_integer(c, 2), true);
    pt_out(c, c->bad ? y : imp_squeeze(c, y, imp_rank(y) - 1));
}

#define STFT(type) \
    "stft(" type " self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
#define PLAIN \
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, any align_to_window=None)"
#define CENTRED "bool center=True, str pad_mode=reflect, " PLAIN
const pt_row pt_rows_complex[] = {
    {"resolve_conj(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"resolve_neg(Tensor self)", same, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"real(Complex self)", part, NULL, 0},
    {"real(Tensor self)", same, NULL, PT_VIEW},
    {"imag(Complex self)", part, NULL, 0},
    {"complex(Tensor real, Tensor imag)", complex_of, NULL, 0},
    {"view_as_complex(Tensor self)", view_as_complex, NULL, 0},
    {"view_as_complex_copy(Tensor self)", view_as_complex_copy, NULL, 0},
    {"view_as_real(Complex self)", view_as_real, NULL, 0},
    {"view_as_real_copy(Complex self)", view_as_real_copy, NULL, 0},
    {"conj(Complex self)", conj_view, NULL, 0},
    {"conj(Tensor self)", same, NULL, PT_VIEW},
    {"_conj(Complex self)", conj_view, NULL, 0},
    {"_conj(Tensor self)", same, NULL, PT_VIEW},
    {"conj_physical(Complex self)", conj_physical, NULL, 0},
    {"conj_physical(Tensor self)", same, NULL, 0},
    {"_conj_physical(Complex self)", conj_physical, NULL, 0},
    {STFT("Tensor") PLAIN, stft, NULL, 0},
    {STFT("Complex") PLAIN, stft, NULL, 0},
    {STFT("Tensor") CENTRED, stft, NULL, 0},
    {STFT("Complex") CENTRED, stft, NULL, 0},
    {"_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided)", real_to_complex, NULL, 0},
    {"_fft_c2c(Complex self, int[] dim, int normalization, bool forward)", complex_to_complex, NULL, 0},
    {"_fft_c2r(Complex self, int[] dim, int normalization, any last_dim_size)", complex_to_real, NULL, 0},
    {0},
};
