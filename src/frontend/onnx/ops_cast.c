/* Cast and CastLike. The conversion of the language rounds to nearest, and what is too large becomes infinity or NaN
 * (docs/tir.md); saturation comes before it, as a limit, and so do the other roundings of FLOAT8E8M0. */
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

static tn_value limited(imp_node *c, tn_value x, double low, double high)
{
    tn_clip_attr a = {low, high};
    return imp_call1(c, &tn_op_clip, &a, x);
}

static tn_value reinterpreted(imp_node *c, tn_value x, tn_dtype t)
{
    tn_cast_attr a = {t};
    return imp_call1(c, &tn_op_reinterpret, &a, x);
}

/* x (float64) up or down to a power of two, by its bits. NaN stays. */
static tn_value to_power(imp_node *c, tn_value x, bool up)
{
    const int64_t digits = (INT64_C(1) << 52) - 1;
    tn_value b = reinterpreted(c, x, TN_I64);
    if (up)
        b = imp_binary(c, &tn_op_add, b, imp_const_ints(c, TN_I64, 0, 1, &digits));
    const int64_t kept = ~digits;
    b = imp_binary(c, &tn_op_bitwise_and, b, imp_const_ints(c, TN_I64, 0, 1, &kept));
    tn_value in[] = {imp_unary(c, &tn_op_isnan, x), x, reinterpreted(c, b, TN_F64)};
    return imp_call(c, &tn_op_where, NULL, 3, in);
}

static tn_value to_scale(imp_node *c, tn_value x, tn_dtype t, bool saturate)
{
    const char *mode = imp_attr_string(c, "round_mode", "up");
    x = imp_cast(c, x, TN_F64);
    x = saturate ? limited(c, x, tn_dtype_smallest(t), tn_dtype_largest(t)) : x;
    if (strcmp(mode, "up") == 0 || strcmp(mode, "down") == 0)
        x = to_power(c, x, mode[0] == 'u');
    else if (strcmp(mode, "nearest") != 0)
        imp_fail(c, "onnx-E009", "round_mode is \"%s\", but must be \"up\", \"down\" or \"nearest\"", mode);
    return imp_cast(c, x, t);
}

tn_value onnx_convert(imp_node *c, tn_value x, tn_dtype t, bool saturate)
{
    tn_dtype from = imp_type(x)->dtype;
    if (tn_dtype_is_int(t) && t.bits < 8 && tn_dtype_is_float(from)) /* wraps, as ONNX's own do */
        return imp_cast(c, imp_cast(c, x, TN_I32), t);
    if (!tn_dtype_is_minifloat(t) || tn_dtype_eq(from, t) || c->bad)
        return imp_cast(c, x, t);
    if (t.code == TN_FLOAT8_E8M0FNU)
        return to_scale(c, x, t, saturate);
    if (saturate && tn_dtype_encoding(t).specials != TN_NO_SPECIAL) {
        x = tn_dtype_is_float(from) && !tn_dtype_is_minifloat(from) ? x : imp_cast(c, x, TN_F32);
        x = limited(c, x, -tn_dtype_largest(t), tn_dtype_largest(t));
    }
    return imp_cast(c, x, t);
}

static void convert(imp_node *c, tn_value x, tn_dtype t)
{
    bool saturate = imp_attr_int(c, "saturate", 1) != 0;
    imp_attr_ignore(c, "round_mode"); /* of other types */
    if (tn_dtype_is_string(t) || c->bad)
        imp_out(c, 0, onnx_text_of(c, x));
    else
        imp_out(c, 0, onnx_convert(c, imp_is_text(x) ? onnx_number_of(c, x, t) : x, t, saturate));
}

static void cast(imp_node *c)
{
    tn_dtype t = TN_F32;
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "to");
    if (c->version < 6) {
        const char *name = imp_attr_string(c, "to", "");
        if (!c->bad && !onnx_dtype_by_name(name, &t))
            imp_fail(c, "onnx-E011", "the result has type %s, which is not supported", name);
    } else if (!c->bad && !onnx_any_dtype(c->im, imp_attr_int(c, "to", 0), "the result", c->loc, &t)) {
        c->bad = true;
    }
    convert(c, x, t);
}

static void cast_like(imp_node *c)
{
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    convert(c, x, imp_type(like)->dtype);
}

// clang-format off
const imp_row onnx_rows_cast[] = {
    {"Cast",             1,  0, 1, 1, cast,              NULL},
    {"CastLike",        15,  0, 2, 1, cast_like,         NULL},
    {0},
};
// clang-format on
