/* The normalisation of a layer's sums in integers, with the bits of the reference kernels: the mean in units of 1/1024,
 * the inverse square root of the variance by five steps of Newton's iteration in 32-bit fixed point. */
#include "frontend/tflite/lstm.h"

#include "op/qnn/qnn.h"

enum { ITERATIONS = 5, PAIRS = 13, INTEGER_BITS = 3 };

static tn_value with(imp_node *c, const tn_op *op, tn_value v, double by) { return imp_with(c, op, v, by); }

/* The high half of twice the product, rounded, over 2^shift. */
static tn_value times_over(imp_node *c, tn_value a, tn_value b, tn_value shift)
{
    tn_rescale_attr twice = {false};
    return imp_call(c, &tn_op_qnn_rescale, &twice, 3, (const tn_value[]){a, b, shift});
}

static tn_value high(imp_node *c, tn_value a, tn_value b) { return times_over(c, a, b, tfl_int(c, 0)); }

/* v * 2^n, limited, of v that is not negative. */
static tn_value raised(imp_node *c, tn_value v, int n)
{
    tn_value over = with(c, &tn_op_greater, v, (double)((1 << (31 - n)) - 1)), most = tfl_int(c, INT32_MAX);
    return imp_choose(c, over, most, with(c, &tn_op_left_shift, v, n));
}

/* 1 / sqrt(v) of v in [2^27, 2^29), in which 2^27 is 1/4: with INTEGER_BITS, times sqrt(1/2). */
static tn_value inverse_root(imp_node *c, tn_value v)
{
    tn_value half = with(c, &tn_op_right_shift, v, 1);
    half = with(c, &tn_op_right_shift, with(c, &tn_op_add, half, 1), 1);
    tn_value x = tfl_int(c, 1 << 28), three = tfl_int(c, (1 << 28) + (1 << 27));
    for (int i = 0; i < ITERATIONS; i++) {
        tn_value cube = raised(c, high(c, high(c, x, x), x), 2 * INTEGER_BITS);
        tn_value more = high(c, three, x), less = high(c, half, cube);
        x = raised(c, imp_binary(c, &tn_op_subtract, more, less), INTEGER_BITS);
    }
    return high(c, x, tfl_int(c, 1518500250));
}

/* 1 / sqrt(v) of int32 [batch, 1] above 0, as a factor and how far what it gives is shifted to the right. */
static tn_value inverse_root_of(imp_node *c, tn_value v, tn_value *out_shift)
{
    int64_t limit[PAIRS];
    tn_axes_attr last = {tn_ints_make(c->arena, 1, (const int64_t[]){1}), true, false};
    for (int i = 0; i < PAIRS; i++)
        limit[i] = INT64_C(1) << (27 - 2 * i);
    tn_value large = with(c, &tn_op_greater_equal, v, 1 << 29), one = with(c, &tn_op_less_equal, v, 1);
    tn_value in = imp_choose(c, large, with(c, &tn_op_right_shift, v, 2), v);
    tn_value below = imp_binary(c, &tn_op_less, in, imp_const_ints(c, TN_I32, 1, PAIRS, limit));
    tn_value pairs = imp_call1(c, &tn_op_sum, &last, imp_cast(c, below, TN_I32));
    tn_value root = inverse_root(c, imp_binary(c, &tn_op_left_shift, in, with(c, &tn_op_multiply, pairs, 2)));
    tn_value shift =
        imp_binary(c, &tn_op_subtract, with(c, &tn_op_add, imp_cast(c, large, TN_I32), 11), pairs);
    tn_value left = with(c, &tn_op_maximum, imp_unary(c, &tn_op_negative, shift), 0);
    tn_value none = tfl_int(c, 0), most = tfl_int(c, INT32_MAX);
    *out_shift = imp_choose(c, one, none, with(c, &tn_op_maximum, shift, 0));
    return imp_choose(c, one, most, imp_binary(c, &tn_op_left_shift, root, left));
}

tfl_norm16 tfl_norm16_of(float scale, int64_t units)
{
    tfl_norm16 n = {.factor = tfl_factor_of((double)scale), .units = units, .guard = 1};
    float guard = 10000 * scale;
    n.factor.shift += n.factor.multiplier ? 12 : 0;
    if (guard >= 1)
        n.guard = guard < (float)INT32_MAX ? (int64_t)guard : INT32_MAX;
    return n;
}

tn_value tfl_normalised16(imp_node *c, tn_value v, tn_value weight, tn_value bias, const tfl_norm16 *n)
{
    tn_axes_attr last = {tn_ints_make(c->arena, 1, (const int64_t[]){1}), true, false};
    double unit = 1 << 20;
    tn_value wide = imp_cast(c, v, TN_I64), squares = imp_binary(c, &tn_op_multiply, wide, wide);
    tn_value mean = with(c, &tn_op_multiply, imp_call1(c, &tn_op_sum, &last, wide), 1024);
    mean = with(c, &tn_op_trunc_divide, mean, (double)n->units);
    squares = imp_call1(c, &tn_op_sum, &last, squares);
    squares = with(c, &tn_op_multiply, squares, (double)((1 << 20) / n->units));
    tn_value variance = imp_binary(c, &tn_op_subtract, squares, imp_binary(c, &tn_op_multiply, mean, mean)),
             shift;
    variance = imp_cast(c, with(c, &tn_op_trunc_divide, variance, unit), TN_I32);
    tn_value guard = tfl_int(c, n->guard);
    variance = imp_choose(c, with(c, &tn_op_less, variance, 1), guard, variance);
    tn_value root = inverse_root_of(c, variance, &shift);
    tn_value centred = imp_binary(c, &tn_op_subtract, with(c, &tn_op_multiply, wide, 1024), mean);
    wide = imp_cast(c, times_over(c, imp_cast(c, centred, TN_I32), root, shift), TN_I64);
    wide = imp_binary(c, &tn_op_multiply, wide, imp_cast(c, weight, TN_I64));
    wide = imp_binary(c, &tn_op_add, wide, imp_cast(c, bias, TN_I64));
    tn_value half = imp_const(c, TN_I64, 512), minus = imp_const(c, TN_I64, -512);
    half = imp_choose(c, with(c, &tn_op_greater, wide, 0), half, minus);
    wide = with(c, &tn_op_trunc_divide, imp_binary(c, &tn_op_add, wide, half), 1024);
    v = tfl_scaled(c, imp_cast(c, wide, TN_I32), 1, &n->factor, 0);
    return imp_clip(c, v, INT16_MIN, INT16_MAX);
}
