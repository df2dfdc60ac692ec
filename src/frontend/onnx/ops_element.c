/* Elementwise operators beyond everyday arithmetic: trigonometry, tests, bits, remainders, powers. */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

#include <string.h>

static void unary(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

static void binary(imp_node *c) { imp_out(c, 0, imp_binary(c, c->row->relay, imp_in(c, 0), imp_in(c, 1))); }

/* Floats of 8 bits or less are not computed with; float32 has their numbers. */
static tn_value as_number(imp_node *c, tn_value x)
{
    return tn_dtype_is_minifloat(imp_type(x)->dtype) ? imp_cast(c, x, TN_F32) : x;
}

static void is_nan(imp_node *c) { imp_out(c, 0, imp_unary(c, &tn_op_isnan, as_number(c, imp_in(c, 0)))); }

static void is_inf(imp_node *c)
{
    tn_value x = as_number(c, imp_in(c, 0));
    bool below = imp_attr_int(c, "detect_negative", 1) != 0,
         above = imp_attr_int(c, "detect_positive", 1) != 0;
    tn_value inf = imp_unary(c, &tn_op_isinf, x), zero = imp_const(c, imp_type(x)->dtype, 0);
    if (!below || !above) {
        tn_value side = !below && !above ? imp_binary(c, &tn_op_not_equal, inf, inf)
                                         : imp_binary(c, below ? &tn_op_less : &tn_op_greater, x, zero);
        inf = imp_binary(c, &tn_op_logical_and, inf, side);
    }
    imp_out(c, 0, inf);
}

static void mod(imp_node *c)
{
    bool sign_of_a = imp_attr_int(c, "fmod", 0) != 0;
    imp_out(c, 0, imp_binary(c, sign_of_a ? &tn_op_mod : &tn_op_floor_mod, imp_in(c, 0), imp_in(c, 1)));
}

static void shift(imp_node *c)
{
    imp_attr_need(c, "direction");
    const char *to = imp_attr_string(c, "direction", "");
    bool left = strcmp(to, "LEFT") == 0;
    if (!left && strcmp(to, "RIGHT") != 0)
        imp_fail(c, "onnx-E009", "direction is \"%s\"; LEFT and RIGHT are known", to);
    imp_out(c, 0, imp_binary(c, left ? &tn_op_left_shift : &tn_op_right_shift, imp_in(c, 0), imp_in(c, 1)));
}

static void bit_cast(imp_node *c)
{
    tn_cast_attr a = {TN_F32};
    imp_attr_need(c, "to");
    if (!c->bad && !onnx_dtype(c->im, imp_attr_int(c, "to", 0), "the result", c->loc, &a.dtype))
        c->bad = true;
    tn_value x = imp_in(c, 0);
    if (!c->bad && (imp_is_complex(x) || tn_dtype_is_complex(a.dtype)) &&
        imp_type(x)->dtype.bits == a.dtype.bits)
        imp_out(c, 0, imp_bitcast(c, x, a.dtype));
    else
        imp_out(c, 0, imp_call1(c, &tn_op_reinterpret, &a, x));
}

/* ---- Pow: the result has the type of the base ---- */

/* x to a small constant power, by products; absent if the exponent is none. */
static tn_value small_power(imp_node *c, tn_value x, tn_value y)
{
    double n;
    if (!imp_scalar(c, y, &n) || imp_rank(y) > imp_rank(x) || (n != 1 && n != 2 && n != 3))
        return (tn_value){0};
    tn_value p = x;
    for (int i = 1; i < (int)n; i++)
        p = imp_binary(c, &tn_op_multiply, p, x);
    return p;
}

static void power(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = onnx_second(c, x);
    tn_dtype t = imp_type(x)->dtype, u = imp_type(y)->dtype;
    bool whole = tn_dtype_is_int(t);
    tn_value small = small_power(c, x, y);
    if (small.def || (whole && tn_dtype_is_int(u))) {
        imp_out(c, 0, small.def ? small : imp_binary(c, &tn_op_power, x, imp_cast(c, y, t)));
        return;
    }
    tn_dtype wide = whole ? TN_F64 : t.bits == 16 ? TN_F32 : t;
    tn_value base = imp_cast(c, x, wide), exponent = imp_cast(c, y, wide);
    tn_value r = imp_binary(c, &tn_op_power, base, exponent);
    imp_out(c, 0, imp_cast(c, r, t));
}

// clang-format off
const imp_row onnx_rows_element[] = {
    {"Sin",         7,  0, 1, 1, unary,    &tn_op_sin},
    {"Cos",         7,  0, 1, 1, unary,    &tn_op_cos},
    {"Tan",         7,  0, 1, 1, unary,    &tn_op_tan},
    {"Asin",        7,  0, 1, 1, unary,    &tn_op_asin},
    {"Acos",        7,  0, 1, 1, unary,    &tn_op_acos},
    {"Atan",        7,  0, 1, 1, unary,    &tn_op_atan},
    {"Sinh",        9,  0, 1, 1, unary,    &tn_op_sinh},
    {"Cosh",        9,  0, 1, 1, unary,    &tn_op_cosh},
    {"Asinh",       9,  0, 1, 1, unary,    &tn_op_asinh},
    {"Acosh",       9,  0, 1, 1, unary,    &tn_op_acosh},
    {"Atanh",       9,  0, 1, 1, unary,    &tn_op_atanh},
    {"Sign",        9,  0, 1, 1, unary,    &tn_op_sign},
    {"IsNaN",       9,  0, 1, 1, is_nan,   NULL},
    {"IsInf",      10,  0, 1, 1, is_inf,   NULL},
    {"Mod",        10,  0, 2, 1, mod,      NULL},
    {"Pow",         1,  0, 2, 1, power,    NULL},
    {"BitShift",   11,  0, 2, 1, shift,    NULL},
    {"BitwiseAnd", 18,  0, 2, 1, binary,   &tn_op_bitwise_and},
    {"BitwiseOr",  18,  0, 2, 1, binary,   &tn_op_bitwise_or},
    {"BitwiseXor", 18,  0, 2, 1, binary,   &tn_op_bitwise_xor},
    {"BitwiseNot", 18,  0, 1, 1, unary,    &tn_op_bitwise_not},
    {"BitCast",    26,  0, 1, 1, bit_cast, NULL},
    {0},
};
// clang-format on
