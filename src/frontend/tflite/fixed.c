/* exp, tanh and the logistic function in 16-bit fixed point, as gemmlowp computes them: a number has `integer_bits`
 * before the point and 15 - integer_bits behind it, products are rounded to nearest with ties away from 0, sums wrap
 * round. */
#include "frontend/tflite/fixed.h"

#include <math.h>
#include <string.h>

enum { ONE = INT16_MAX /* nearest to 1 without integer bits */, ONE_2 = 1 << 13 /* with two of them */ };

static int16_t wrapped(int32_t v) { return (int16_t)(uint16_t)(uint32_t)v; }
static int16_t plus(int16_t a, int16_t b) { return wrapped((int32_t)a + b); }
static int16_t minus(int16_t a, int16_t b) { return wrapped((int32_t)a - b); }

static int16_t times(int16_t a, int16_t b)
{
    int32_t ab = (int32_t)a * b;
    if (a == INT16_MIN && b == INT16_MIN)
        return INT16_MAX;
    return wrapped((ab + (ab >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

static int32_t over_power(int32_t x, int n) /* x / 2^n, ties away from 0 */
{
    int32_t mask = (int32_t)((UINT32_C(1) << n) - 1), rest = x & mask;
    return (x >> n) + (rest > (mask >> 1) + (x < 0));
}

static int16_t to_power(int16_t x, int n) /* x * 2^n, limited */
{
    int32_t most = (1 << (15 - n)) - 1;
    return x > most ? INT16_MAX : x < -most ? INT16_MIN : wrapped((int32_t)x * (1 << n));
}

/* A constant of 32 bits in 16. */
static int16_t narrow(int32_t v) { return wrapped(over_power(v, 16)); }

/* exp of x in [-1/4, 0), without integer bits: Taylor's series round -1/8. */
static int16_t exp_of_quarter(int16_t a)
{
    int16_t middle = narrow(1895147668), third = narrow(715827883), x = plus(a, 1 << 12);
    int16_t x2 = times(x, x), x3 = times(x2, x), x4 = times(x2, x2);
    int16_t rest = plus(times(plus(wrapped(over_power(x4, 2)), x3), third), x2);
    int32_t y = (int32_t)middle + times(middle, plus(x, wrapped(over_power(rest, 1))));
    return y > INT16_MAX ? INT16_MAX : wrapped(y);
}

/* exp of x <= 0: without integer bits. */
static int16_t exp_of(int16_t a, int integer_bits)
{
    static const int32_t factor[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    int behind = 15 - integer_bits;
    int16_t quarter = wrapped(1 << (behind - 2));
    int16_t part = minus((int16_t)(a & (quarter - 1)), quarter);
    int16_t y = exp_of_quarter(to_power(part, integer_bits));
    int32_t rest = minus(part, a);
    for (int i = 0; i < 7; i++) /* exp(-2^(i - 2)) */
        if (integer_bits > i - 2 && rest & (1 << (behind + i - 2)))
            y = times(y, narrow(factor[i]));
    if (integer_bits > 5 && a < narrow(-(1 << (36 - integer_bits))))
        y = 0;
    return a ? y : ONE;
}

/* 2 / (1 + x) with two integer bits, for x in [0, 1): Newton's iteration. */
static int16_t twice_inverse(int16_t a)
{
    int32_t sum = (int32_t)a + ONE;
    int16_t half = wrapped((sum + 1) / 2), x = plus(narrow(1515870810), times(half, narrow(-1010580540)));
    for (int i = 0; i < 3; i++) {
        int16_t error = minus(ONE_2, times(half, x));
        x = plus(x, to_power(times(x, error), 2));
    }
    return x;
}

int16_t tfl_tanh16(int16_t x, int integer_bits)
{
    int16_t below = x < 0 ? x : wrapped(-(int32_t)x);
    int16_t y = to_power(minus(twice_inverse(exp_of(below, integer_bits + 1)), ONE_2), 2);
    return !x ? 0 : x < 0 ? wrapped(-(int32_t)y) : y;
}

int16_t tfl_logistic16(int16_t x, int integer_bits)
{
    int16_t below = x > 0 ? wrapped(-(int32_t)x) : x;
    int16_t y = to_power(twice_inverse(exp_of(below, integer_bits)), 1);
    return !x ? 1 << 14 : x > 0 ? y : minus(ONE, y);
}

/* ---- interpolation between 256 places of the logistic function, 1/24 apart ---- */

/* Where the function is curved, some places lie one above it, so that the chords between them are nearer to it. */
static int32_t place(int32_t i)
{
    static const uint8_t above[] = {4,  8,  12, 14, 15, 16, 17, 19, 20,  21,  22,  25,  27,  28, 29,
                                    30, 31, 33, 34, 35, 37, 39, 40, 41,  43,  44,  45,  46,  49, 50,
                                    54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255};
    return (int32_t)(65536 / (1 + exp(-i / 24.0)) + 0.5) + (memchr(above, i, sizeof above) != NULL);
}

/* x in units of 3 * 2^12 for 1. */
static int32_t in_units(imp_node *c, int64_t x)
{
    int exponent = 0, shift = 0;
    float scale = tfl_in(c, 0)->scale[0];
    bool power = frexpf(scale, &exponent) == 0.5f && (exponent == -11 || exponent == -10);
    if (power)
        return (int32_t)x * (3 << (exponent + 11));
    double factor = (double)scale * 4096 * 3;
    for (; factor <= 32767.0 / 2 && shift <= 30; shift++)
        factor *= 2;
    int64_t wide = x * (int32_t)factor + (shift > 0 ? INT64_C(1) << (shift - 1) : 0);
    return (int32_t)(wide >> shift);
}

int64_t tfl_logistic_of(imp_node *c, int64_t x)
{
    int32_t v = in_units(c, x), size = v < 0 ? -v : v, at = size >> 9;
    int64_t y = at >= 255
                    ? (int64_t)0x7fff << 10
                    : (int64_t)place(at) * (1 << 9) + (int64_t)(size & 0x1ff) * (place(at + 1) - place(at));
    y = v >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1;
    return y >> 10;
}

int64_t tfl_tanh_of(imp_node *c, int64_t x)
{
    int32_t v = in_units(c, x), size = v < 0 ? -v : v, at = size >> 8;
    int64_t y = at >= 255
                    ? (int64_t)0xffff << 8
                    : (int64_t)place(at) * (1 << 8) + (int64_t)(size & 0xff) * (place(at + 1) - place(at));
    y = v >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
    return y >> 8;
}

tn_value tfl_apply16(imp_node *c, tn_value v, int16_t (*f)(int16_t x, int integer_bits), int integer_bits)
{
    static const int64_t n = 1 << 16;
    tn_take_attr a = {0, "clip"};
    if (c->bad)
        return v;
    int16_t *table = TN_NEW_N(c->arena, int16_t, n);
    for (int64_t i = 0; i < n; i++)
        table[i] = f((int16_t)(i + INT16_MIN), integer_bits);
    tn_value k = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_DT(TN_INT, 16), 1, &n, table, NULL));
    tn_value at = imp_with(c, &tn_op_subtract, imp_cast(c, v, TN_I32), INT16_MIN);
    return imp_cast(c, imp_call2(c, &tn_op_take, &a, k, at), TN_I32);
}
