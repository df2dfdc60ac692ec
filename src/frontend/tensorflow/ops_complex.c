/* Complex numbers: a value of them is a tuple of two tensors, their real and their imaginary parts. Fourier transforms
 * make such values; an operator that moves elements or adds them does so with each of the parts. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/fourier.h"
#include "op/tensor/tensor.h"

#include <string.h>

enum { MAX_LENGTH = 1 << 20, FLOAT = 1, DOUBLE, COMPLEX64 = 8, COMPLEX128 = 18 }; /* of DataType */

bool tf_is_complex(tn_value v) { return imp_is_list(v); }
bool tf_is_complex_type(int64_t type) { return type == COMPLEX64 || type == COMPLEX128; }

static tn_value pair(imp_node *c, tn_value re, tn_value im)
{
    const tn_value in[] = {re, im};
    tn_node *n = c->bad ? NULL : tn_make_call(c->g, c->im->r, NULL, &tn_op_tuple, 2, in, NULL, c->loc);
    c->bad = c->bad || !n;
    return n ? tn_val(n) : (tn_value){0};
}

static tn_value part_of(tn_value v, int k) { return tf_is_complex(v) ? tn_in(v.def, k) : v; }

/* Operand i; absent: it is no complex number, which is reported. */
static tn_value complex_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    if (!c->bad && !tf_is_complex(v))
        imp_fail(
            c, "tensorflow-E065",
            "operand %u is %s, but must be complex numbers that a transform or Complex made where it stands",
            (unsigned)i, imp_type_text(c, imp_type(v)));
    return c->bad ? (tn_value){0} : v;
}

/* ---- parts ---- */

static void part(imp_node *c)
{
    tn_value v = complex_in(c, 0);
    imp_attr_ignore(c, "Tout");
    if (!c->bad)
        imp_out(c, 0, part_of(v, c->row->op[0] == 'I'));
}

static void complex_(imp_node *c)
{
    tn_value re = imp_in(c, 0), im = imp_in(c, 1);
    imp_attr_ignore(c, "Tout");
    imp_out(c, 0, pair(c, re, im));
}

static tn_value squares(imp_node *c, tn_value v)
{
    tn_value re = part_of(v, 0), im = part_of(v, 1);
    re = tf_binary(c, &tn_op_multiply, re, re);
    return tf_binary(c, &tn_op_add, re, tf_binary(c, &tn_op_multiply, im, im));
}

static void magnitude(imp_node *c)
{
    tn_value v = complex_in(c, 0);
    imp_attr_ignore(c, "Tout");
    if (!c->bad)
        imp_out(c, 0, tf_unary(c, &tn_op_sqrt, squares(c, v)));
}

static void angle(imp_node *c)
{
    tn_value v = complex_in(c, 0);
    imp_attr_ignore(c, "Tout");
    if (!c->bad)
        imp_out(c, 0, tf_atan2(c, part_of(v, 1), part_of(v, 0)));
}

static tn_value conjugated(imp_node *c, tn_value v)
{
    if (c->bad || !tf_is_complex(v)) /* of real numbers: themselves */
        return v;
    return pair(c, part_of(v, 0), tf_unary(c, &tn_op_negative, part_of(v, 1)));
}

static void conjugate(imp_node *c) { imp_out(c, 0, conjugated(c, imp_in(c, 0))); }

/* As a constant of their parts, which protobuf has one after the other. One number may stand for all. */
tn_value tf_complex_constant(imp_node *c, const tf_tensor *t)
{
    const tf_dim *given = t->tensor_shape ? t->tensor_shape->dim.at : NULL;
    uint32_t n = t->tensor_shape ? (uint32_t)t->tensor_shape->dim.n : 0;
    tn_pb_array list = t->dtype == COMPLEX64 ? t->scomplex_val : t->dcomplex_val;
    tf_dim dim[IMP_MAX_RANK];
    int64_t extent[IMP_MAX_RANK], count = 1;
    if (n >= IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "the constant has %u dimensions", (unsigned)n);
        return (tn_value){0};
    }
    for (uint32_t i = 0; i < n; i++) {
        dim[i] = given[i];
        extent[i] = given[i].size;
        count = extent[i] < 0 || count > INT32_MAX || extent[i] > INT32_MAX ? -1 : count * extent[i];
    }
    bool one = list.n == 2 && count != 1;
    if (count < 0 || (!t->tensor_content.n && !one && list.n != 2 * (size_t)count)) {
        imp_refuse(c, IMP_BAD_TENSOR, "its elements are not in the file; the model is damaged");
        return (tn_value){0};
    }
    dim[one ? 0 : n] = (tf_dim){.size = 2};
    tf_shape shape = {.dim = {.at = dim, .n = one ? 1 : n + 1}};
    tf_tensor parts = {.dtype = t->dtype == COMPLEX64 ? FLOAT : DOUBLE, .tensor_shape = &shape};
    parts.tensor_content = one ? (tn_bytes){0} : t->tensor_content;
    parts.float_val = t->scomplex_val;
    parts.double_val = t->dcomplex_val;
    tn_value v = tf_constant(c, &parts), part[2];
    for (int k = 0; k < 2 && !c->bad; k++) {
        int last = one ? 0 : (int)n;
        part[k] = imp_squeeze(c, imp_slice(c, v, last, k, k + 1), last);
        part[k] = one ? tf_full(c, part[k], tn_make_dims(c->g, n, extent)) : part[k];
    }
    return c->bad ? (tn_value){0} : pair(c, part[0], part[1]);
}

/* ---- transforms ---- */

/* The last dimension of complex or real numbers, with length n. */
static tn_value transformed(imp_node *c, tn_value v, int64_t n, bool inverse, bool onesided)
{
    int r = imp_rank(part_of(v, 0));
    tn_value in[] = {imp_unsqueeze(c, part_of(v, 0), r), {0}};
    if (tf_is_complex(v))
        in[1] = imp_unsqueeze(c, part_of(v, 1), r);
    tn_value x = imp_concat(c, in[1].def ? 2 : 1, in, r), y = imp_fourier_last(c, x, n, inverse, onesided);
    tn_value re = imp_squeeze(c, imp_slice(c, y, r, 0, 1), r);
    if (inverse && onesided)
        return re;
    return pair(c, re, imp_squeeze(c, imp_slice(c, y, r, 1, 2), r));
}

/* With the last two dimensions in each other's place. */
static tn_value turned(imp_node *c, tn_value v)
{
    int64_t perm[IMP_MAX_RANK];
    int r = imp_rank(part_of(v, 0));
    for (int i = 0; i < r; i++)
        perm[i] = i == r - 1 ? r - 2 : i == r - 2 ? r - 1 : i;
    tn_value re = imp_transpose(c, part_of(v, 0), r, perm);
    return tf_is_complex(v) ? pair(c, re, imp_transpose(c, part_of(v, 1), r, perm)) : re;
}

/* As many numbers as fft_length says along the last `dims` dimensions, or as there are. false: reported. */
static bool lengths(imp_node *c, tn_value x, int dims, int64_t n[])
{
    const tn_type *t = imp_type(part_of(x, 0));
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

static void product(imp_node *c, tn_value a, tn_value b)
{
    tn_value re = tf_binary(c, &tn_op_multiply, part_of(a, 0), part_of(b, 0)),
             im = tf_binary(c, &tn_op_multiply, part_of(a, 0), part_of(b, 1));
    re = tf_binary(c, &tn_op_subtract, re, tf_binary(c, &tn_op_multiply, part_of(a, 1), part_of(b, 1)));
    im = tf_binary(c, &tn_op_add, im, tf_binary(c, &tn_op_multiply, part_of(a, 1), part_of(b, 0)));
    imp_out(c, 0, pair(c, re, im));
}

/* a times the conjugate of b, divided by its square. */
static void quotient(imp_node *c, tn_value a, tn_value b)
{
    tn_value square = squares(c, b), re = tf_binary(c, &tn_op_multiply, part_of(a, 0), part_of(b, 0)),
             im = tf_binary(c, &tn_op_multiply, part_of(a, 1), part_of(b, 0));
    re = tf_binary(c, &tn_op_add, re, tf_binary(c, &tn_op_multiply, part_of(a, 1), part_of(b, 1)));
    im = tf_binary(c, &tn_op_subtract, im, tf_binary(c, &tn_op_multiply, part_of(a, 0), part_of(b, 1)));
    re = tf_binary(c, &tn_op_divide, re, square);
    imp_out(c, 0, pair(c, re, tf_binary(c, &tn_op_divide, im, square)));
}

bool tf_cast_to_complex(imp_node *c, tn_value x)
{
    const imp_attr *a = imp_attr_find(c, "DstT", IMP_A_INT);
    if (c->bad || !a || !tf_is_complex_type(a->i))
        return false;
    tn_value re = imp_cast(c, x, a->i == COMPLEX64 ? TN_F32 : TN_F64), zero = tf_number(c, re, 0);
    imp_out(c, 0, pair(c, re, tf_full(c, zero, (tn_dims){(uint32_t)imp_rank(re), imp_type(re)->dim})));
    return true;
}

/* Of complex numbers: the real part. */
static void cast(imp_node *c, tn_value x)
{
    const imp_attr *a = imp_attr_find(c, "DstT", IMP_A_INT);
    imp_attr_ignore(c, "Truncate");
    if (a && tf_is_complex_type(a->i))
        imp_out(c, 0, x);
    else
        imp_out(c, 0, imp_cast(c, part_of(x, 0), tf_attr_dtype(c, "DstT", TN_F32)));
}

/* As the row's converter, for each of the parts. */
static void by_parts(imp_node *c)
{
    tn_value *given = TN_NEW_N(&c->im->scratch, tn_value, c->n_in),
             *own = TN_NEW_N(&c->im->scratch, tn_value, c->n_in),
             *re = TN_NEW_N(&c->im->scratch, tn_value, c->n_out);
    for (uint32_t i = 0; i < c->n_in; i++)
        own[i] = imp_opt(c, i);
    for (int k = 0; k < 2 && !c->bad; k++) {
        for (uint32_t i = 0; i < c->n_in; i++)
            given[i] = part_of(own[i], k);
        c->given = given;
        c->row->convert(c);
        for (size_t o = 0; o < c->n_out && k == 0; o++)
            re[o] = c->out[o];
    }
    for (size_t o = 0; o < c->n_out && !c->bad; o++)
        if (c->out[o].def)
            imp_out(c, (uint32_t)o, pair(c, re[o], c->out[o]));
}

bool tf_convert_complex(imp_node *c)
{
    static const char *const parts[] = {
        "Add",          "AddN",      "AddV2",    "BroadcastTo", "Concat",    "ConcatV2", "ExpandDims",
        "Gather",       "GatherNd",  "GatherV2", "Mean",        "Neg",       "Pack",     "Pad",
        "Reshape",      "ReverseV2", "Roll",     "Slice",       "Split",     "SplitV",   "Squeeze",
        "StridedSlice", "Sub",       "Sum",      "Tile",        "Transpose", "Unpack"};
    if (strcmp(c->row->op, "Mul") == 0 && c->n_in == 2) {
        product(c, imp_in(c, 0), imp_in(c, 1));
        return true;
    }
    if ((strcmp(c->row->op, "RealDiv") == 0 || strcmp(c->row->op, "Div") == 0) && c->n_in == 2) {
        quotient(c, imp_in(c, 0), imp_in(c, 1));
        return true;
    }
    if (strcmp(c->row->op, "Cast") == 0) {
        cast(c, imp_in(c, 0));
        return true;
    }
    if (strcmp(c->row->op, "ConjugateTranspose") == 0) {
        by_parts(c);
        imp_out(c, 0, conjugated(c, c->out[0]));
        return true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(c->row->op, parts[i]) == 0) {
            by_parts(c);
            return true;
        }
    return false;
}
