/* Complex numbers: their parts, and Fourier transforms, which make and take them. Converters that move elements, add or
 * multiply them serve complex numbers, too (import/complex.c). */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/fourier.h"
#include "op/tensor/tensor.h"

#include <string.h>

enum { MAX_LENGTH = 1 << 20 };

/* Operand i; absent: it is no complex number, which is reported. */
static tn_value complex_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    if (!c->bad && !imp_is_complex(v))
        imp_fail(c, "tensorflow-E065", "operand %u is %s, but must be complex numbers", (unsigned)i,
                 imp_type_text(c, imp_type(v)));
    return c->bad ? (tn_value){0} : v;
}

/* ---- parts ---- */

static void part(imp_node *c)
{
    tn_value v = complex_in(c, 0);
    imp_attr_ignore(c, "Tout");
    imp_out(c, 0, imp_part(c, v, c->row->op[0] == 'I'));
}

static bool same_shape(const tn_type *a, const tn_type *b)
{
    bool same = a->n == b->n;
    for (int d = 0; d < a->n && same; d++)
        same = a->dim[d] == b->dim[d];
    return same;
}

/* Repeated to the shape t, to which it is known to fit. */
static tn_value spread(imp_node *c, tn_value v, const tn_type *t)
{
    tn_broadcast_to_attr a = {{t->n, t->dim}};
    return c->bad || same_shape(imp_type(v), t) ? v : imp_call1(c, &tn_op_broadcast_to, &a, v);
}

/* Of two parts of any shapes that broadcast: add says which one they broadcast to. */
static void complex_(imp_node *c)
{
    tn_value re = imp_in(c, 0), im = imp_in(c, 1);
    imp_attr_ignore(c, "Tout");
    if (!c->bad && !same_shape(imp_type(re), imp_type(im))) {
        const tn_type *t = imp_type(imp_binary(c, &tn_op_add, re, im));
        re = spread(c, re, t);
        im = spread(c, im, t);
    }
    imp_out(c, 0, imp_complex(c, re, im));
}

static void magnitude(imp_node *c)
{
    tn_value v = complex_in(c, 0);
    imp_attr_ignore(c, "Tout");
    if (!c->bad)
        imp_out(c, 0, imp_unary(c, &tn_op_sqrt, imp_squares(c, v)));
}

static void angle(imp_node *c)
{
    tn_value v = complex_in(c, 0), re = imp_part(c, v, 0), im = imp_part(c, v, 1);
    imp_attr_ignore(c, "Tout");
    if (!c->bad)
        imp_out(c, 0, tf_atan2(c, im, re));
}

static void conjugate(imp_node *c) { imp_out(c, 0, imp_conjugate(c, imp_in(c, 0))); }

/* ---- transforms ---- */

/* The last dimension of complex or real numbers, with length n. */
static tn_value transformed(imp_node *c, tn_value v, int64_t n, bool inverse, bool onesided)
{
    int r = imp_rank(v);
    tn_value x = imp_is_complex(v) ? imp_parts(c, v) : imp_unsqueeze(c, v, r);
    tn_value y = imp_fourier_last(c, x, n, inverse, onesided);
    bool real = inverse && onesided;
    return real ? imp_squeeze(c, y, r) : imp_unary(c, &tn_op_complex_of, y);
}

/* With the last two dimensions in each other's place. */
static tn_value turned(imp_node *c, tn_value v)
{
    int64_t perm[IMP_MAX_RANK];
    int r = imp_rank(v);
    for (int i = 0; i < r; i++)
        perm[i] = i == r - 1 ? r - 2 : i == r - 2 ? r - 1 : i;
    return imp_transpose(c, v, r, perm);
}

/* As many numbers as fft_length says along the last `dims` dimensions, or as there are. false: reported. */
static bool lengths(imp_node *c, tn_value x, int dims, int64_t n[])
{
    const tn_type *t = imp_type(x);
    tn_ints given = imp_has(c, 1) ? imp_ints_in(c, imp_in(c, 1), "fft_length") : (tn_ints){0};
    if (!c->bad && (t->n < dims || t->n >= IMP_MAX_RANK || (imp_has(c, 1) && given.n != (uint32_t)dims)))
        imp_refuse(c, IMP_OPERANDS, "%s and %u lengths do not fit a transform of %d dimensions",
                   imp_type_text(c, t), (unsigned)given.n, dims);
    for (int i = 0; i < dims && !c->bad; i++) {
        bool known = imp_has(c, 1) || tn_is_int(t->dim[t->n - dims + i], &n[i]);
        n[i] = imp_has(c, 1) ? given.at[i] : n[i];
        if (!known)
            imp_refuse(c, IMP_NOT_CONSTANT, "a length must be known; give fixed sizes (--input-shapes)");
        else if (n[i] < 1 || n[i] > MAX_LENGTH)
            imp_refuse(c, IMP_BAD_VALUE, "a length is %lld; 1 to %d are supported", (long long)n[i],
                       MAX_LENGTH);
    }
    return !c->bad;
}

static void transform(imp_node *c)
{
    const char *op = c->row->op;
    bool inverse = op[0] == 'I', real = strchr(op, 'R') != NULL;
    int dims = strchr(op, '2') ? 2 : 1;
    int64_t n[2] = {0, 0};
    tn_value v = real && !inverse ? imp_in(c, 0) : complex_in(c, 0);
    imp_attr_ignore(c, "Tcomplex");
    imp_attr_ignore(c, "Treal");
    if (c->bad || !lengths(c, v, dims, n))
        return;
    if (dims == 2 && inverse) /* rows last: the last dimension decides whether numbers are real */
        v = turned(c, transformed(c, turned(c, v), n[0], true, false));
    v = transformed(c, v, n[dims - 1], inverse, real);
    if (dims == 2 && !inverse)
        v = turned(c, transformed(c, turned(c, v), n[0], false, false));
    imp_out(c, 0, v);
}

// clang-format off
const imp_row tf_rows_complex[] = {
    {"Angle",      1, 0, 1, 1, angle,     NULL},
    {"Complex",    1, 0, 2, 1, complex_,  NULL},
    {"ComplexAbs", 1, 0, 1, 1, magnitude, NULL},
    {"Conj",       1, 0, 1, 1, conjugate, NULL},
    {"FFT",        1, 0, 1, 1, transform, NULL},
    {"FFT2D",      1, 0, 1, 1, transform, NULL},
    {"IFFT",       1, 0, 1, 1, transform, NULL},
    {"IFFT2D",     1, 0, 1, 1, transform, NULL},
    {"Imag",       1, 0, 1, 1, part,      NULL},
    {"IRFFT",      1, 0, 2, 1, transform, NULL},
    {"IRFFT2D",    1, 0, 2, 1, transform, NULL},
    {"Real",       1, 0, 1, 1, part,      NULL},
    {"RFFT",       1, 0, 2, 1, transform, NULL},
    {"RFFT2D",     1, 0, 2, 1, transform, NULL},
    {0},
};
// clang-format on

/* ---- operators of real and of complex numbers ---- */

/* As a real number: the real part. */
static void cast(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = tf_attr_dtype(c, "DstT", TN_F32);
    imp_attr_ignore(c, "Truncate");
    imp_out(c, 0, imp_cast(c, tn_dtype_is_complex(t) || tn_dtype_is_bool(t) ? x : imp_part(c, x, 0), t));
}

/* exp(re) * (cos(im) + i sin(im)) */
static void exponential(imp_node *c)
{
    tn_value x = imp_in(c, 0), size = imp_unary(c, &tn_op_exp, imp_part(c, x, 0)), turn = imp_part(c, x, 1);
    tn_value re = imp_binary(c, &tn_op_multiply, size, imp_unary(c, &tn_op_cos, turn));
    tn_value im = imp_binary(c, &tn_op_multiply, size, imp_unary(c, &tn_op_sin, turn));
    imp_out(c, 0, imp_complex(c, re, im));
}

/* Operators whose converters do the same to real and to complex numbers, and those that have one for these here. */
bool tf_convert_complex(imp_node *c)
{
    static const char *const ops[] = {
        "Add",          "Bitcast", "AddN",       "AddV2",     "BroadcastTo", "Concat",   "ConcatV2",
        "Div",          "Equal",   "ExpandDims", "Fill",      "Gather",      "GatherNd", "GatherV2",
        "Mean",         "Mul",     "Neg",        "NotEqual",  "Pack",        "Pad",      "PadV2",
        "Rank",         "RealDiv", "Reshape",    "ReverseV2", "Roll",        "Select",   "SelectV2",
        "Shape",        "ShapeN",  "Size",       "Slice",     "Split",       "SplitV",   "Squeeze",
        "StridedSlice", "Sub",     "Sum",        "Tile",      "Transpose",   "Unpack"};
    if (strcmp(c->row->op, "Cast") == 0) {
        cast(c);
        return true;
    }
    if (strcmp(c->row->op, "Exp") == 0) {
        exponential(c);
        return true;
    }
    if (strcmp(c->row->op, "ConjugateTranspose") == 0) {
        c->row->convert(c);
        imp_out(c, 0, imp_conjugate(c, c->out[0]));
        return true;
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(c->row->op, ops[i]) == 0) {
            c->row->convert(c);
            return true;
        }
    return false;
}
