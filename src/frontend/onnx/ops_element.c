/* Elementwise operators beyond everyday arithmetic: trigonometry, tests, bits, remainders, powers. */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

#include <string.h>

static void unary(onnx_conv *c) { onnx_out(c, 0, onnx_call1(c, c->row->relay, NULL, onnx_in(c, 0))); }

static void binary(onnx_conv *c)
{
    onnx_out(c, 0, onnx_call2(c, c->row->relay, NULL, onnx_in(c, 0), onnx_in(c, 1)));
}

static void is_inf(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    bool below = onnx_attr_int(c, "detect_negative", 1) != 0,
         above = onnx_attr_int(c, "detect_positive", 1) != 0;
    tn_value inf = onnx_call1(c, &tn_op_isinf, NULL, x), zero = onnx_const(c, onnx_type(x)->dtype, 0);
    if (!below || !above) {
        tn_value side = !below && !above ? onnx_call2(c, &tn_op_not_equal, NULL, inf, inf)
                                         : onnx_call2(c, below ? &tn_op_less : &tn_op_greater, NULL, x, zero);
        inf = onnx_call2(c, &tn_op_logical_and, NULL, inf, side);
    }
    onnx_out(c, 0, inf);
}

static void mod(onnx_conv *c)
{
    bool sign_of_a = onnx_attr_int(c, "fmod", 0) != 0;
    onnx_out(c, 0,
             onnx_call2(c, sign_of_a ? &tn_op_mod : &tn_op_floor_mod, NULL, onnx_in(c, 0), onnx_in(c, 1)));
}

static void shift(onnx_conv *c)
{
    onnx_attr_need(c, "direction");
    const char *to = onnx_attr_string(c, "direction", "");
    bool left = strcmp(to, "LEFT") == 0;
    if (!left && strcmp(to, "RIGHT") != 0)
        onnx_fail(c, "onnx-E009", "direction is \"%s\"; LEFT and RIGHT are known", to);
    onnx_out(
        c, 0,
        onnx_call2(c, left ? &tn_op_left_shift : &tn_op_right_shift, NULL, onnx_in(c, 0), onnx_in(c, 1)));
}

static void bit_cast(onnx_conv *c)
{
    tn_cast_attr a = {TN_F32};
    onnx_attr_need(c, "to");
    if (!c->bad && !onnx_dtype(c->im, onnx_attr_int(c, "to", 0), "the result", c->loc, &a.dtype))
        c->bad = true;
    onnx_out(c, 0, onnx_call1(c, &tn_op_reinterpret, &a, onnx_in(c, 0)));
}

/* ---- Pow: the result has the type of the base ---- */

/* x to a small constant power, by products; absent if the exponent is none. */
static tn_value small_power(onnx_conv *c, tn_value x, tn_value y)
{
    double n;
    if (!onnx_scalar(c, y, &n) || onnx_rank(y) > onnx_rank(x) || (n != 1 && n != 2 && n != 3))
        return (tn_value){0};
    tn_value p = x;
    for (int i = 1; i < (int)n; i++)
        p = onnx_call2(c, &tn_op_multiply, NULL, p, x);
    return p;
}

static void power(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0), y = onnx_second(c, x);
    tn_dtype t = onnx_type(x)->dtype, u = onnx_type(y)->dtype;
    bool whole = tn_dtype_is_int(t);
    tn_value small = small_power(c, x, y);
    if (small.def || (whole && tn_dtype_is_int(u))) {
        onnx_out(c, 0, small.def ? small : onnx_call2(c, &tn_op_power, NULL, x, onnx_cast(c, y, t)));
        return;
    }
    tn_dtype wide = whole ? TN_F64 : t.bits == 16 ? TN_F32 : t;
    tn_value r = onnx_call2(c, &tn_op_power, NULL, onnx_cast(c, x, wide), onnx_cast(c, y, wide));
    onnx_out(c, 0, onnx_cast(c, r, t));
}

// clang-format off
const onnx_row onnx_rows_element[] = {
    {"Sin",         7, 28, 1, 1, unary,    &tn_op_sin},
    {"Cos",         7, 28, 1, 1, unary,    &tn_op_cos},
    {"Tan",         7, 28, 1, 1, unary,    &tn_op_tan},
    {"Asin",        7, 28, 1, 1, unary,    &tn_op_asin},
    {"Acos",        7, 28, 1, 1, unary,    &tn_op_acos},
    {"Atan",        7, 28, 1, 1, unary,    &tn_op_atan},
    {"Sinh",        9, 28, 1, 1, unary,    &tn_op_sinh},
    {"Cosh",        9, 28, 1, 1, unary,    &tn_op_cosh},
    {"Asinh",       9, 28, 1, 1, unary,    &tn_op_asinh},
    {"Acosh",       9, 28, 1, 1, unary,    &tn_op_acosh},
    {"Atanh",       9, 28, 1, 1, unary,    &tn_op_atanh},
    {"Sign",        9, 28, 1, 1, unary,    &tn_op_sign},
    {"IsNaN",       9, 28, 1, 1, unary,    &tn_op_isnan},
    {"IsInf",      10, 28, 1, 1, is_inf,   NULL},
    {"Mod",        10, 28, 2, 1, mod,      NULL},
    {"Pow",         1, 28, 2, 1, power,    NULL},
    {"BitShift",   11, 28, 2, 1, shift,    NULL},
    {"BitwiseAnd", 18, 28, 2, 1, binary,   &tn_op_bitwise_and},
    {"BitwiseOr",  18, 28, 2, 1, binary,   &tn_op_bitwise_or},
    {"BitwiseXor", 18, 28, 2, 1, binary,   &tn_op_bitwise_xor},
    {"BitwiseNot", 18, 28, 1, 1, unary,    &tn_op_bitwise_not},
    {"BitCast",    26, 28, 1, 1, bit_cast, NULL},
    {0},
};
// clang-format on
