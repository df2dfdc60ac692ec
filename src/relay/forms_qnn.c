/* Forms (forms.h): quantised numbers in fixed-point arithmetic, as TVM makes them. */
#include "relay/forms.h"

#include "ir/eval.h"
#include "op/nn/nn.h"
#include "op/qnn/qnn.h"

#include <math.h>
#include <string.h>

enum { MOST_CHANNELS = 1 << 20 };

static tn_value integer32(form_call *c, int64_t v) { return form_number(c, TN_I32, (double)v); }

/* Integers within what t has, as t. */
static tn_value saturated(form_call *c, tn_value x, tn_dtype t)
{
    const tn_type *have = form_type(c, x);
    if (!have || tn_dtype_eq(have->dtype, t))
        return x;
    const bool natural = t.code == TN_UINT;
    const double most = ldexp(1, natural ? t.bits : t.bits - 1) - 1, least = natural ? 0 : -most - 1;
    x = form_make2(c, &tn_op_maximum, x, form_number(c, have->dtype, least));
    return form_cast(c, form_make2(c, &tn_op_minimum, x, form_number(c, have->dtype, most)), t);
}

/* One number, or one for each element along an axis of `rank` dimensions, so that it is broadcast. */
static tn_value spread(form_call *c, tn_value v, int64_t axis, int rank)
{
    const tn_type *t = form_type(c, v);
    const tn_expr *dim[FORM_MAX_RANK];
    if (!t || !t->n)
        return v;
    if (t->n != 1 || rank > FORM_MAX_RANK)
        return form_refuse(c, "needs scales and zero points that are one number, or a list along an axis");
    if (tn_is_value(t->dim[0], 1))
        return form_reshaped(c, v, 0, NULL);
    axis = form_axis(c, axis, rank);
    for (int d = 0; d < rank; d++)
        dim[d] = d == axis ? t->dim[0] : form_idx(c, 1);
    return form_reshaped(c, v, (uint32_t)rank, dim);
}

static tn_value shifted(form_call *c, tn_value x, tn_value by)
{
    return form_make2(c, &tn_op_right_shift, x, by);
}

/* ---- fixed_point_multiply_per_axis ---- */

/* (data, multiplier, left shift, right shift): data * 2^left * multiplier / 2^(31 + right), rounded, ties up. */
static tn_value fixed_point_per_axis(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]), *m = form_type(c, c->in[1]);
    const tn_expr *dim[FORM_MAX_RANK];
    tn_value by[3];
    if (!t || !m || !tn_dtype_eq(t->dtype, TN_I32) || m->n != (int)c->a.ints.n)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs int32, and numbers for each of its axes");
    for (int d = 0; d < t->n; d++)
        dim[d] = form_idx(c, 1);
    for (int k = 0, last = -1; k < m->n && !c->bad; k++) {
        const int axis = (int)form_axis(c, c->a.ints.at[k], t->n);
        if (axis <= last)
            return form_refuse(c, "needs axes in order");
        dim[axis] = m->dim[k];
        last = axis;
    }
    for (int k = 0; k < 3; k++)
        by[k] = form_reshaped(c, form_cast(c, c->in[k + 1], TN_I64), (uint32_t)t->n, dim);
    tn_value x = form_cast(c, c->in[0], TN_I64), one = form_integer(c, 1);
    if (c->a.x)
        x = form_make2(c, &tn_op_left_shift, x, by[1]);
    x = form_make2(c, &tn_op_multiply, x, by[0]);
    tn_value half = form_make2(c, &tn_op_add, by[2], form_integer(c, 30));
    x = form_make2(c, &tn_op_add, x, form_make2(c, &tn_op_left_shift, one, half));
    tn_value right = form_make2(c, &tn_op_add, by[2], form_integer(c, 31));
    return form_cast(c, shifted(c, x, right), TN_I32);
}

/* ---- qnn.requantize with another compute_dtype ---- */

/* factor = multiplier / 2^(31 + right), with a left shift in the multiplier. */
static bool fixed_point(double factor, int64_t *multiplier, int64_t *right)
{
    int shift = 0;
    if (!(factor >= 0) || factor >= 0x1p31)
        return false;
    int64_t m = (int64_t)round(ldexp(frexp(factor, &shift), 31));
    if (m == (int64_t)1 << 31) {
        m /= 2;
        shift++;
    }
    *multiplier = shift > 0 ? m << shift : m;
    *right = shift > 0 ? 0 : -(int64_t)shift;
    return *right <= 31;
}

/* The numbers of a constant scale; 0: it is none. */
static int64_t read_scales(form_call *c, tn_value v, double **out)
{
    const tn_type *t = form_type(c, v);
    int64_t n = 1;
    if (!t || t->n > 1 || (t->n == 1 && !tn_is_int(t->dim[0], &n)) || !tn_op_is(v.def, &tn_op_constant) ||
        !v.def->blob || !tn_dtype_is_float(t->dtype) || n < 1 || n > MOST_CHANNELS)
        return 0;
    *out = TN_NEW_N(&c->p->scratch, double, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] =
            tn_scalar_read(t->dtype, (const char *)v.def->blob->at + (size_t)i * tn_dtype_bytes(t->dtype)).f;
    return n;
}

static tn_value constants(form_call *c, int64_t n, const int64_t at[])
{
    return tn_val(tn_make_constant(c->p->g, c->p->scope->region, NULL, TN_I64, n > 1, &n, at, NULL));
}

/* Integers times in / out: products of 64 bits, rounded as they are shifted. */
static tn_value scaled(form_call *c, const tn_qnn_attr *a, tn_value x, tn_value in, tn_value out, int rank)
{
    double *from, *to;
    const int64_t n = read_scales(c, in, &from), one = read_scales(c, out, &to);
    bool same = n == 1 && one == 1 && from[0] == to[0];
    if (!n || one != 1)
        return form_refuse(c, "with compute_dtype int64 needs scales that are constants");
    if (same)
        return x;
    int64_t *by = TN_NEW_N(&c->p->scratch, int64_t, (size_t)n),
            *half = TN_NEW_N(&c->p->scratch, int64_t, (size_t)n),
            *right = TN_NEW_N(&c->p->scratch, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        if (!fixed_point(from[i] / to[0], &by[i], &right[i]))
            return form_refuse(c, "with compute_dtype int64 needs scales that are not so far apart");
        half[i] = (int64_t)1 << (30 + right[i]);
        right[i] += 31;
    }
    tn_value m = spread(c, constants(c, n, by), a->axis, rank);
    tn_value add = spread(c, constants(c, n, half), a->axis, rank);
    tn_value shift = spread(c, constants(c, n, right), a->axis, rank);
    x = form_make2(c, &tn_op_multiply, form_cast(c, x, TN_I64), m);
    if (strcmp(a->rounding, "TONEAREST") == 0) {
        tn_value up = form_make2(c, &tn_op_greater_equal, x, form_integer(c, 0));
        add = form_where(c, up, add, form_make2(c, &tn_op_subtract, add, form_integer(c, 1)));
    }
    return form_cast(c, shifted(c, form_make2(c, &tn_op_add, x, add), shift), TN_I32);
}

/* In floats of type f; the zero point is added before the sum is rounded. */
static tn_value in_floats(form_call *c, const tn_qnn_attr *a, const tn_value in[5], int rank, tn_dtype f)
{
    const tn_op *const minus = &tn_op_subtract;
    tn_value x = form_cast(c, in[0], f), zero = spread(c, form_cast(c, in[2], f), a->axis, rank);
    tn_value from = spread(c, form_cast(c, in[1], f), a->axis, rank),
             to = spread(c, form_cast(c, in[3], f), a->axis, rank);
    x = form_make2(c, minus, x, zero);
    x = form_make2(c, &tn_op_multiply, form_make2(c, &tn_op_divide, from, to), x);
    x = form_make2(c, &tn_op_add, x, spread(c, form_cast(c, in[4], f), a->axis, rank));
    tn_value half = form_number(c, f, 0.5),
             up = form_make1(c, &tn_op_floor, NULL, form_make2(c, &tn_op_add, x, half));
    if (strcmp(a->rounding, "TONEAREST") == 0) {
        tn_value below = form_make2(c, &tn_op_less, x, form_number(c, f, 0));
        tn_value down = form_make1(c, &tn_op_ceil, NULL, form_make2(c, minus, x, half));
        up = form_where(c, below, down, up);
    }
    return form_cast(c, up, TN_I32);
}

tn_value form_requantized(form_call *c, tn_qnn_attr a, const tn_value in[5])
{
    const tn_type *t = form_type(c, in[0]);
    a.rounding = !a.rounding || strcmp(a.rounding, "None") == 0 ? "UPWARD" : a.rounding;
    if (!t)
        return (tn_value){0};
    const bool few = tn_dtype_is_int(a.out_dtype) && a.out_dtype.bits <= 16;
    if (!tn_dtype_is_int(t->dtype) || t->dtype.bits > 32 || (!few && !tn_dtype_eq(a.out_dtype, TN_I32)))
        return form_refuse(
            c, "needs integers of at most 32 bits, and an out_dtype of at most 16 bits, or int32");
    if (strcmp(a.rounding, "UPWARD") != 0 && strcmp(a.rounding, "TONEAREST") != 0)
        return form_refuse(c, "needs rounding UPWARD or TONEAREST");
    const bool wide = strcmp(a.compute_dtype, "float64") == 0;
    if (wide || strcmp(a.compute_dtype, "float32") == 0)
        return saturated(c, in_floats(c, &a, in, t->n, wide ? TN_F64 : TN_F32), a.out_dtype);
    if (strcmp(a.compute_dtype, "int64") != 0)
        return form_refuse(c, "needs compute_dtype float32, float64 or int64");
    tn_value x = form_cast(c, in[0], TN_I32), zero = spread(c, form_cast(c, in[2], TN_I32), a.axis, t->n);
    x = scaled(c, &a, form_make2(c, &tn_op_subtract, x, zero), in[1], in[3], t->n);
    x = form_make2(c, &tn_op_add, x, spread(c, form_cast(c, in[4], TN_I32), a.axis, t->n));
    return saturated(c, x, a.out_dtype);
}

/* ---- layers ---- */

/* x, its scale and zero point, the result's; as qnn.requantize does it without attributes. */
static tn_value requantized(form_call *c, tn_value x, const tn_value scale[4], tn_dtype t)
{
    const tn_qnn_attr a = {.axis = -1, .rounding = "UPWARD", .out_dtype = t};
    return form_make(c, &tn_op_qnn_requantize, &a, 5,
                     (const tn_value[]){x, scale[0], scale[1], scale[2], scale[3]});
}

/* e^(x / -unit) of integers x <= 0 as integers, the largest of which along the axis is as precise as can be:
 * powers of two for whole units, and the line 1 - r / 2 between them. */
static tn_value exponentials(form_call *c, tn_value x, int64_t unit, int64_t axis)
{
    tn_value half = form_make2(c, &tn_op_right_shift, x, integer32(c, 1)),
             part = form_make2(c, &tn_op_right_shift, x, integer32(c, 4)), step = integer32(c, -unit);
    x = form_make2(c, &tn_op_subtract, form_make2(c, &tn_op_add, x, half), part); /* times log2(e), about */
    tn_value whole = form_make2(c, &tn_op_trunc_divide, x, step);
    whole = form_make2(c, &tn_op_maximum, whole, integer32(c, 0));
    whole = form_make2(c, &tn_op_minimum, whole, integer32(c, 20));
    tn_value rest = form_make2(c, &tn_op_multiply, whole, step);
    rest = form_make2(c, &tn_op_subtract, x, rest);
    rest = form_make2(c, &tn_op_right_shift, rest, integer32(c, 1));
    rest = form_make2(c, &tn_op_add, rest, integer32(c, unit));
    tn_value most = form_reduced(c, &tn_op_max, whole, axis, true);
    return form_make2(c, &tn_op_left_shift, rest, form_make2(c, &tn_op_subtract, most, whole));
}

/* qnn.softmax(data, its scale and zero point, the result's): Algorithm 1 of arXiv 2207.01405, in int32;
 * the result has steps of 1/128 before it gets its own. */
static tn_value softmax(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    double scale;
    if (!t || !tn_dtype_eq(t->dtype, TN_DT(TN_INT, 8)) || !form_constant(c, c->in[1], &scale) ||
        !(scale > 0 && scale <= 1) || 1 / scale >= 1 << 20)
        return c->bad ? (tn_value){0} : form_refuse(c, "needs int8, and a constant scale that is at most 1");
    const int64_t axis = form_axis(c, c->a.axis, t->n), unit = (int64_t)roundf(1.0f / (float)scale);
    tn_value x = form_cast(c, c->in[0], TN_I32);
    x = form_make2(c, &tn_op_subtract, x, form_cast(c, c->in[2], TN_I32));
    x = form_make2(c, &tn_op_subtract, x, form_reduced(c, &tn_op_max, x, axis, true));
    x = exponentials(c, x, unit, axis);
    tn_value sum = form_reduced(c, &tn_op_sum, x, axis, true), all = integer32(c, 1 << 30);
    x = form_make2(c, &tn_op_multiply, form_make2(c, &tn_op_trunc_divide, all, sum), x);
    x = form_make2(c, &tn_op_right_shift, x, integer32(c, 23));
    tn_value step = form_number(c, TN_F32, 1.0 / 128), zero = integer32(c, 0);
    return requantized(c, x, (const tn_value[]){step, zero, c->in[3], c->in[4]}, t->dtype);
}

/* qnn.avg_pool2d(data, its scale and zero point, the result's): the mean, toward zero, of what has the
 * result's scale. */
static tn_value avg_pool(form_call *c)
{
    const tn_type *t = form_type(c, c->in[0]);
    tn_pool2d_attr a = {.pool_size = c->a.ints,
                        .strides = c->a.ints2,
                        .dilation = c->a.ints3,
                        .padding = c->a.dims,
                        .layout = c->a.s,
                        .ceil_mode = c->a.x,
                        .count_include_pad = c->a.y};
    pforeign other = {0};
    if (!t)
        return (tn_value){0};
    tn_value x = requantized(c, c->in[0], c->in + 1, TN_I32);
    return saturated(c, form_finished(c, &tn_op_nn_avg_pool2d, &a, 1, &x, &other), t->dtype);
}

/* clang-format off */
static const tn_attr_field
    per_axis[] = {FORM_ATTR(BOOL, "is_lshift_required", x, "False"), FORM_ATTR(BOOL, "is_rshift_required", y, "False"),
                  FORM_ATTR(INTS, "axes", ints, NULL), FORM_END},
    axis_last[] = {FORM_ATTR(I64, "axis", axis, "-1"), FORM_END},
    pooling[] = {FORM_ATTR(INTS, "pool_size", ints, NULL), FORM_ATTR(INTS, "strides", ints2, "[1, 1]"),
                 FORM_ATTR(INTS, "dilation", ints3, "[1, 1]"), FORM_ATTR(DIMS, "padding", dims, "[0, 0]"),
                 FORM_ATTR(STR, "layout", s, "\"NCHW\""), FORM_ATTR(STR, "out_layout", t, "\"\""),
                 FORM_ATTR(BOOL, "ceil_mode", x, "False"), FORM_ATTR(BOOL, "count_include_pad", y, "False"),
                 FORM_END};

const form form_rows_qnn[] = {
    {"fixed_point_multiply_per_axis", 4, 4, fixed_point_per_axis, per_axis,
     "data * 2^(left - right) * multiplier / 2^31, rounded, ties up."},
    {"qnn.softmax", 5, 5, softmax, axis_last, "Softmax of quantised numbers, in integers."},
    {"qnn.avg_pool2d", 5, 5, avg_pool, pooling, "Means of windows over quantised images."},
    {0},
};
/* clang-format on */
