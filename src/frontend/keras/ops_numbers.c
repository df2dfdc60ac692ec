/* Elementwise functions of keras.ops that are made of others, and functions of whole numbers and of NaN. */
#include "frontend/keras/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool is_class(const imp_node *c, const char *class) { return strcmp(c->row->op, class) == 0; }

static bool is_float(imp_node *c, tn_value x) { return !c->bad && tn_dtype_is_float(imp_type(x)->dtype); }

/* ---- angles and lengths ---- */

/* The sign of a 0 counts in both operands. */
static tn_value is_negative(imp_node *c, tn_value x)
{
    tn_value zero = imp_with(c, &tn_op_equal, x, 0);
    tn_value inverse = imp_binary(c, &tn_op_divide, keras_like(c, x, 1), x);
    return imp_with(c, &tn_op_less, imp_choose(c, zero, inverse, x), 0);
}

/* atan of |y| / |x|, infinities being 1 and the rest 0, mirrored into the quadrant of x and y. */
static void arctan2(imp_node *c)
{
    static const double pi = 3.14159265358979323846;
    tn_value y, x;
    if (!keras_two(c, &y, &x))
        return;
    y = keras_as_float(c, y);
    x = keras_as_float(c, x);
    tn_value size_y = imp_unary(c, &tn_op_abs, y), size_x = imp_unary(c, &tn_op_abs, x);
    tn_value far_y = imp_unary(c, &tn_op_isinf, y), far_x = imp_unary(c, &tn_op_isinf, x);
    tn_value same = imp_binary(c, &tn_op_logical_and, far_y, far_x), one = keras_like(c, x, 1);
    tn_value none = imp_with(c, &tn_op_equal, imp_binary(c, &tn_op_maximum, size_y, size_x), 0);
    tn_value plain = imp_binary(c, &tn_op_logical_or, same, none);
    size_y = imp_choose(c, same, one, size_y);
    size_x = imp_choose(c, plain, one, size_x);
    tn_value ratio = imp_binary(c, &tn_op_divide, size_y, size_x);
    tn_value angle = imp_unary(c, &tn_op_atan, ratio);
    tn_value other = imp_binary(c, &tn_op_subtract, keras_like(c, x, pi), angle);
    tn_value left = is_negative(c, x), below = is_negative(c, y);
    angle = imp_choose(c, left, other, angle);
    other = imp_unary(c, &tn_op_negative, angle);
    keras_out(c, imp_choose(c, below, other, angle));
}

static void hypot_(imp_node *c)
{
    tn_value a, b;
    if (!keras_two(c, &a, &b))
        return;
    a = imp_unary(c, &tn_op_abs, keras_as_float(c, a));
    b = imp_unary(c, &tn_op_abs, keras_as_float(c, b));
    tn_value large = imp_binary(c, &tn_op_maximum, a, b), small = imp_binary(c, &tn_op_minimum, a, b);
    tn_value plain = imp_with(c, &tn_op_equal, large, 0), far = imp_unary(c, &tn_op_isinf, large);
    plain = imp_binary(c, &tn_op_logical_or, plain, far);
    tn_value ratio =
        imp_binary(c, &tn_op_divide, small, imp_choose(c, plain, keras_like(c, large, 1), large));
    tn_value root = imp_with(c, &tn_op_add, imp_binary(c, &tn_op_multiply, ratio, ratio), 1);
    root = imp_binary(c, &tn_op_multiply, large, imp_unary(c, &tn_op_sqrt, root));
    keras_out(c, imp_choose(c, plain, large, root));
}

static void scaled(imp_node *c)
{
    static const double pi = 3.14159265358979323846;
    tn_value x = keras_in(c, 0);
    keras_out(
        c, imp_with(c, &tn_op_multiply, keras_as_float(c, x), is_class(c, "Deg2rad") ? pi / 180 : 180 / pi));
}

static void exp2_(imp_node *c)
{
    tn_value x = keras_as_float(c, keras_in(c, 0));
    keras_out(c, imp_binary(c, &tn_op_power, keras_like(c, x, 2), x));
}

/* ---- whole numbers, signs, NaN ---- */

static void trunc_(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, is_float(c, x) ? imp_unary(c, &tn_op_trunc, x) : x);
}

static void bits(imp_node *c)
{
    tn_value a, b;
    if (keras_two(c, &a, &b))
        keras_out(c, imp_binary(c, c->row->relay, a, b));
}

/* Is it the infinity of one sign? */
static void one_infinity(imp_node *c)
{
    tn_value x = keras_as_float(c, keras_in(c, 0));
    keras_out(c, imp_with(c, &tn_op_equal, x, is_class(c, "Isposinf") ? INFINITY : -INFINITY));
}

static double most_of(tn_dtype t)
{
    return t.bits == 64 ? DBL_MAX : tn_dtype_eq(t, TN_F16) ? 65504 : t.bits == 16 ? 0x1.fep127 : FLT_MAX;
}

static void nan_to_num(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    double most = c->bad ? 0 : most_of(imp_type(x)->dtype);
    double nan = keras_param_real(c, 1, "nan", 0), high = keras_param_real(c, 2, "posinf", most),
           low = keras_param_real(c, 3, "neginf", -most);
    if (!is_float(c, x)) {
        keras_out(c, x);
        return;
    }
    tn_value up = imp_with(c, &tn_op_equal, x, INFINITY), down = imp_with(c, &tn_op_equal, x, -INFINITY);
    tn_value odd = imp_unary(c, &tn_op_isnan, x), instead = keras_like(c, x, nan);
    x = imp_choose(c, odd, instead, x);
    x = imp_choose(c, up, keras_like(c, x, high), x);
    keras_out(c, imp_choose(c, down, keras_like(c, x, low), x));
}

/* ---- activations with parameters ---- */

static void shrink(imp_node *c)
{
    double limit = keras_param_real(c, 1, "threshold", 0.5);
    tn_shrink_attr a = {.lambd = limit, .bias = is_class(c, "SoftShrink") ? limit : 0};
    keras_out(c, imp_call1(c, &tn_op_nn_shrink, &a, keras_in(c, 0)));
}

static void celu(imp_node *c)
{
    tn_alpha_attr a = {keras_param_real(c, 1, "alpha", 1)};
    keras_out(c, imp_call1(c, &tn_op_nn_celu, &a, keras_in(c, 0)));
}

static void threshold(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    double limit = keras_param_real(c, 1, "threshold", 0), other = keras_param_real(c, 2, "default_value", 0);
    tn_value is = imp_with(c, &tn_op_greater, x, limit), rest = keras_like(c, x, other);
    keras_out(c, imp_choose(c, is, x, rest));
}

/* The first half times the sigmoid of the second. */
static void glu(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t n = 0;
    int axis = keras_param_axis(c, 1, "axis", -1, imp_rank(x));
    if (!c->bad && (!tn_is_int(imp_type(x)->dim[axis], &n) || n % 2))
        imp_refuse(c, IMP_BAD_VALUE, "glu needs an even number of channels");
    tn_value gate = imp_unary(c, &tn_op_sigmoid, imp_slice(c, x, axis, n / 2, n));
    keras_out(c, imp_binary(c, &tn_op_multiply, imp_slice(c, x, axis, 0, n / 2), gate));
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_numbers[] = {
    F("Arctan2",    arctan2,      NULL),
    F("Hypot",      hypot_,       NULL),
    F("Deg2rad",    scaled,       NULL),
    F("Rad2deg",    scaled,       NULL),
    F("Exp2",       exp2_,        NULL),
    F("Trunc",      trunc_,       NULL),
    F("BitwiseAnd", bits,         &tn_op_bitwise_and),
    F("BitwiseOr",  bits,         &tn_op_bitwise_or),
    F("BitwiseXor", bits,         &tn_op_bitwise_xor),
    F("Isposinf",   one_infinity, NULL),
    F("Isneginf",   one_infinity, NULL),
    F("NanToNum",   nan_to_num,   NULL),
    F("SoftShrink", shrink,       NULL),
    F("HardShrink", shrink,       NULL),
    F("Celu",       celu,         NULL),
    F("Threshold",  threshold,    NULL),
    F("Glu",        glu,          NULL),
    END_OF_ROWS,
};
// clang-format on
