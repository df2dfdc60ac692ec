/* LowerIntrin: exp, log, tanh, sigmoid, erf, pow, sin and cos become TIR arithmetic, so every executor computes the same bits;
 * so do floor, ceil, trunc and round where the machine has no instruction for them and they would be calls.
 *
 * Coefficients: our own weighted minimax fits (Remez exchange in 200-bit arithmetic; the weight makes the error one of the
 * result's last place), rounded to the type either at once or one after the other with the rest fitted again, whichever
 * was better. Splits of ln 2 and pi/2 have so many bits in their first part that its product with the multiple is exact.
 * Nothing here relies on rounded products, so contracting a*b + c afterwards only helps.
 *
 * Largest error in ulp against a double (float64: 113-bit) libm, with and without contraction (tests/unit/test_lower_intrin.c):
 *             exp   log   tanh  sigmoid  erf   pow   sin   cos
 *   float32   1.1   0.9   1.3   2.1      1.2   0.6   1.9   1.9   with fma: exp 0.9
 *   float64   1.2   0.9   1.4   2.3      1.2    -    2.5   2.4   with fma: exp 0.9; pow has no float64 form (lower-E005)
 * sin, cos: |x| <= 10^5; the float32 form keeps that to 10^6, then the error grows with |x|.
 * 16-bit floats go through float32. Denormals, infinities, NaN and signed zeros are those of C's functions.
 */
#include "lower/lower_impl.h"

#include <math.h>
#include <string.h>

typedef const tn_expr *ex;

typedef struct {
    tn_pool *p;
    tn_dtype t, it;    /* float32 or float64 with lanes, and the signed integer of its width */
    bool wide;         /* float64 */
} gen;

static ex k(const gen *g, double c) { return tn_flt(g->p, g->t, c); }
static ex ki(const gen *g, int64_t c) { return tn_int(g->p, g->it, c); }
static ex add(const gen *g, ex a, ex b) { return tn_add(g->p, a, b); }
static ex sub(const gen *g, ex a, ex b) { return tn_sub(g->p, a, b); }
static ex mul(const gen *g, ex a, ex b) { return tn_mul(g->p, a, b); }
static ex quo(const gen *g, ex a, ex b) { return tn_bin(g->p, TN_E_DIV, a, b); }
static ex bits(const gen *g, ex a) { return tn_bitcast(g->p, g->it, a); }
static ex real(const gen *g, ex a) { return tn_bitcast(g->p, g->t, a); }
static ex mag(const gen *g, ex a) { return tn_intrinsic1(g->p, TN_F_abs, a); }
static int64_t sign_bit(const gen *g) { return g->wide ? INT64_MIN : INT32_MIN; }

static gen gen_for(tn_pool *p, tn_dtype t)
{
    gen g = {p, t, tn_dtype_lanes(t.bits == 64 ? TN_I64 : TN_I32, t.lanes), t.bits == 64};
    return g;
}

/* c[0] + c[1] x + ... by Horner's rule. */
static ex poly(const gen *g, ex x, int n, const double c[])
{
    ex r = k(g, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        r = add(g, mul(g, r, x), k(g, c[i]));
    return r;
}
#define POLY(g, x, c) poly(g, x, (int)(sizeof(c) / sizeof *(c)), c)

/* a, which is not negative, with the sign of x. */
static ex with_sign(const gen *g, ex a, ex x)
{
    return real(g, tn_bin(g->p, TN_E_BITOR, bits(g, a), tn_bin(g->p, TN_E_BITAND, bits(g, x), ki(g, sign_bit(g)))));
}

/* ---- exp: x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n p(r) ---- */

static const double exp32[] = {1, 1, 0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123d8ap-7, 0x1.6abe6ep-10};
static const double exp64[] = {1, 1, 0x1.000000000000ap-1, 0x1.55555555554fap-3, 0x1.555555555086cp-5, 0x1.1111111127c0bp-7,
                               0x1.6c16c1842dd4ep-10, 0x1.a01a012a4f8c9p-13, 0x1.a0199a0199d90p-16, 0x1.71df2557af3eep-19,
                               0x1.28ad7d4533b10p-22, 0x1.ad7f7cc403e95p-26};

/* For x between about -104 and 89 (float64: -746 and 710), or NaN. Adding 1.5 * 2^23 (2^52) rounds to a multiple that is
 * then found in the low bits; the biased exponent is added with it. `whole`: the result may be outside the normal range, so
 * the scaling by 2^n takes two steps, of which only the second may round. */
static ex exp_near(const gen *g, ex x, bool whole)
{
    const int man = g->wide ? 52 : 23, bias = g->wide ? 1023 : 127;
    const double magic = (g->wide ? 0x1.8p52 : 0x1.8p23) + (whole ? 2 * bias : bias);
    ex t = add(g, mul(g, x, k(g, 0x1.71547652b82fep+0)), k(g, magic)), n = sub(g, t, k(g, magic));
    ex r = add(g, x, mul(g, n, k(g, g->wide ? -0x1.62e42fefa4p-1 : -0x1.62e4p-1)));
    r = add(g, r, mul(g, n, k(g, g->wide ? 0x1.8432a1b0e2634p-43 : -0x1.7f7d1cf79abcap-20)));
    ex p = g->wide ? POLY(g, r, exp64) : POLY(g, r, exp32), b = bits(g, t);
    if (!whole)
        return mul(g, p, real(g, tn_bin(g->p, TN_E_SHL, b, ki(g, man))));
    ex half = tn_bin(g->p, TN_E_SHR, b, ki(g, 1)), rest = sub(g, b, half);
    p = mul(g, p, real(g, tn_bin(g->p, TN_E_SHL, half, ki(g, man))));
    return mul(g, p, real(g, tn_bin(g->p, TN_E_SHL, rest, ki(g, man))));
}

/* min and max keep a NaN that is their first operand. */
static ex lower_exp(const gen *g, ex x)
{
    ex above = tn_min(g->p, x, k(g, g->wide ? 710 : 89));
    return exp_near(g, tn_max(g->p, above, k(g, g->wide ? -746 : -104)), true);
}

/* 1 / (1 + e^-x) with e^-|x|, which cannot overflow: where x < 0 it is e^-|x| / (1 + e^-|x|). */
static ex lower_sigmoid(const gen *g, ex x)
{
    ex minus = real(g, tn_bin(g->p, TN_E_BITOR, bits(g, x), ki(g, sign_bit(g))));
    ex e = exp_near(g, tn_max(g->p, minus, k(g, g->wide ? -746 : -104)), true);
    return quo(g, tn_select(g->p, tn_lt(g->p, x, k(g, 0)), e, k(g, 1)), add(g, e, k(g, 1)));
}

/* ---- log: x = 2^e m with sqrt(1/2) <= m < sqrt(2), f = m - 1 ---- */

/* log(1 + f) = f - f^2/2 + f^3 P(f) */
static const double log32[] = {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b6p-3, -0x1.555c4ep-3, 0x1.23376ap-3,
                               -0x1.fc220ap-4, 0x1.e6f052p-4, -0x1.de3bdep-4, 0x1.145780p-4};
/* log(1 + f) = 2s + s R(s^2), s = f / (2 + f), 2s = f - s f; R(z) = z times this */
static const double log64[] = {0x1.5555555555592p-1, 0x1.999999997ff08p-2, 0x1.24924941e2f34p-2, 0x1.c71c521286beep-3,
                               0x1.74663d61b9da8p-3, 0x1.39a1db0e09e2ap-3, 0x1.2f0456be3800ap-3};

/* Takes a positive finite x apart: *f, and e as a float. */
static ex log_parts(const gen *g, ex x, ex *f)
{
    const int man = g->wide ? 52 : 23;
    const int64_t root = g->wide ? INT64_C(0x3fe6a09e667f3bcd) : 0x3f3504f3; /* sqrt(1/2) */
    ex tiny = tn_lt(g->p, x, k(g, g->wide ? 0x1p-1022 : 0x1p-126));
    ex b = bits(g, tn_select(g->p, tiny, mul(g, x, k(g, 0x1p54)), x));
    b = sub(g, b, ki(g, root));
    ex m = add(g, tn_bin(g->p, TN_E_BITAND, b, ki(g, (INT64_C(1) << man) - 1)), ki(g, root));
    *f = sub(g, real(g, m), k(g, 1));
    ex e = tn_cast(g->p, tn_dtype_lanes(g->t, 1), tn_bin(g->p, TN_E_SHR, b, ki(g, man)));
    return sub(g, e, tn_select(g->p, tiny, k(g, 54), k(g, 0)));
}

static ex lower_log(const gen *g, ex x)
{
    ex f, e = log_parts(g, x, &f), y;
    if (g->wide) {
        ex s = quo(g, f, add(g, f, k(g, 2))), z = mul(g, s, s);
        ex r = mul(g, z, POLY(g, z, log64));
        y = add(g, mul(g, s, sub(g, r, f)), mul(g, e, k(g, -0x1.8432a1b0e2634p-43)));
    } else {
        ex q = add(g, mul(g, POLY(g, f, log32), f), k(g, -0.5));
        y = add(g, mul(g, mul(g, f, f), q), mul(g, e, k(g, 0x1.7f7d1cf79abcap-20)));
    }
    ex r = add(g, mul(g, e, k(g, g->wide ? 0x1.62e42fefa4p-1 : 0x1.62e4p-1)), add(g, f, y));
    r = tn_select(g->p, tn_lt(g->p, x, k(g, INFINITY)), r, x); /* inf and NaN */
    ex low = tn_select(g->p, tn_eq(g->p, x, k(g, 0)), k(g, -INFINITY), k(g, NAN));
    return tn_select(g->p, tn_le(g->p, x, k(g, 0)), low, r);
}

/* ---- tanh: x + x^3 P(x^2) near 0, else 1 - 2 / (e^2x + 1) ---- */

static const double tanh32[] = {-0x1.555554p-2, 0x1.11107ap-3, -0x1.b9f188p-5, 0x1.63a54ep-6, -0x1.0c5eb4p-7, 0x1.1a2758p-9};
static const double tanh64[] = {-0x1.5555555555555p-2, 0x1.1111111111092p-3, -0x1.ba1ba1ba13597p-5, 0x1.664f48809319fp-6,
                                -0x1.226e35079d1f2p-7, 0x1.d6d3bf78b6768p-9, -0x1.7da23547160ffp-10, 0x1.3549bf1a38d15p-11,
                                -0x1.f485402cd1c5cp-13, 0x1.908e7e9dd1bdbp-14, -0x1.2ff7f1f6d703bp-15, 0x1.7ff438f176a7ap-17,
                                -0x1.1e101a28571a1p-19};

static ex lower_tanh(const gen *g, ex x)
{
    ex a = mag(g, x), z = mul(g, a, a);
    ex near = add(g, mul(g, mul(g, a, z), g->wide ? POLY(g, z, tanh64) : POLY(g, z, tanh32)), a);
    ex e = exp_near(g, mul(g, tn_min(g->p, a, k(g, 20)), k(g, 2)), false);
    ex far = sub(g, k(g, 1), quo(g, k(g, 2), add(g, e, k(g, 1))));
    return with_sign(g, tn_select(g->p, tn_lt(g->p, a, k(g, 0.625)), near, far), x);
}

/* ---- erf: x + x P(x^2) near 0, else 1 - erfc(x) ---- */

static const double erf32[] = {0x1.06eba8p-3, -0x1.812740p-2, 0x1.ce2d64p-4, -0x1.b80120p-6, 0x1.544aa8p-8, -0x1.a61258p-11, 0x1.4f8d86p-14};
static const double erf64[] = {0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b20p-4, -0x1.b82ce3128499bp-6,
                               0x1.565bcd0db02abp-8, -0x1.c02db3d8ec97ap-11, 0x1.f9a321a10ff3ap-14, -0x1.f4d1df3864567p-17,
                               0x1.b9def193ea7ffp-20, -0x1.5f1d3678a8b09p-23, 0x1.f7a40f83054aap-27, -0x1.386ab9ad951d8p-30,
                               0x1.05799a4d09798p-34};
/* log erfc(x) on [15/16, 4] */
static const double erfc32[] = {-0x1.d4da88p-13, -0x1.20a7d6p+0, -0x1.4655f0p-1, -0x1.a9041ep-4, 0x1.6ad858p-6, -0x1.8c3d50p-9, 0x1.969dc0p-13};
/* erfc(x) e^(x^2) on [1, 6] over u = (x - 2) / (x + 2) */
static const double erfc64[] = {0x1.058671b52c776p-2, -0x1.b57034efd3f70p-2, 0x1.eeea7dc8a778ep-3, -0x1.437f0b68c342cp-4,
                                0x1.e94715996da6ep-9, 0x1.ca95ed6de7338p-8, -0x1.bc25a2919988ap-11, -0x1.016b6fba54f40p-10,
                                0x1.6d518d199ad22p-15, 0x1.6daddc7bce54ap-13, 0x1.d029655779c0dp-16, -0x1.ca3b952bd5c3bp-16,
                                -0x1.e9e0bf67e19c6p-17, -0x1.b33bfc6c60a2ap-20};

static ex lower_erf(const gen *g, ex x)
{
    ex a = mag(g, x), z = mul(g, a, a), c = tn_min(g->p, a, k(g, g->wide ? 6 : 4)), erfc;
    ex near = add(g, mul(g, a, g->wide ? POLY(g, z, erf64) : POLY(g, z, erf32)), a);
    if (g->wide) {
        ex u = quo(g, sub(g, c, k(g, 2)), add(g, c, k(g, 2)));
        erfc = mul(g, exp_near(g, mul(g, mul(g, c, c), k(g, -1)), false), POLY(g, u, erfc64));
    } else {
        erfc = exp_near(g, POLY(g, c, erfc32), false);
    }
    ex far = sub(g, k(g, 1), erfc);
    return with_sign(g, tn_select(g->p, tn_lt(g->p, a, k(g, g->wide ? 1 : 0.9375)), near, far), x);
}

/* ---- sin, cos: x = n pi/2 + r with |r| <= pi/4 ---- */

static const double sin32[] = {1, -0x1.555546p-3, 0x1.110776p-7, -0x1.9952f6p-13};          /* sin(r) / r over r^2 */
static const double cos32[] = {1, -0.5, 0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80ap-16};    /* over r^2 */
static const double sin64[] = {1, -0x1.5555555555548p-3, 0x1.111111110f730p-7, -0x1.a01a019be91cdp-13, 0x1.71de35550ea17p-19,
                               -0x1.ae5e4b51f9110p-26, 0x1.5d8b3e75ab3e9p-33};
static const double cos64[] = {1, -0.5, 0x1.555555555554bp-5, -0x1.6c16c16c1500dp-10, 0x1.a01a019c8dcfbp-16, -0x1.27e4f7f04c65fp-22,
                               0x1.1ee9dac76b72ep-29, -0x1.8fa5e93570512p-37};

/* The reduction is done in float64 for both types. A result of a huge x is meaningless but stays within [-1, 1]. */
static ex lower_wave(const gen *g, ex x, int quadrant)
{
    tn_pool *p = g->p;
    gen d = gen_for(p, tn_dtype_lanes(TN_F64, g->t.lanes));
    ex w = tn_cast(p, TN_F64, x), t = add(&d, mul(&d, w, k(&d, 0x1.45f306dc9c883p-1)), k(&d, 0x1.8p52)), n = sub(&d, t, k(&d, 0x1.8p52));
    ex r = add(&d, w, mul(&d, n, k(&d, -0x1.921fb544p+0)));
    r = add(&d, r, mul(&d, n, k(&d, -0x1.0b4611a6p-34)));
    r = add(&d, r, mul(&d, n, k(&d, -0x1.3198a2e037073p-69)));
    r = tn_cast(p, tn_dtype_lanes(g->t, 1), r);
    r = tn_max(p, tn_min(p, r, k(g, 0.8)), k(g, -0.8));
    ex z = mul(g, r, r), s = mul(g, r, g->wide ? POLY(g, z, sin64) : POLY(g, z, sin32)), c = g->wide ? POLY(g, z, cos64) : POLY(g, z, cos32);
    ex q = add(g, tn_cast(p, tn_dtype_lanes(g->it, 1), bits(&d, t)), ki(g, quadrant));
    ex odd = tn_bin(p, TN_E_NE, tn_bin(p, TN_E_BITAND, q, ki(g, 1)), ki(g, 0));
    ex minus = tn_bin(p, TN_E_SHL, tn_bin(p, TN_E_BITAND, q, ki(g, 2)), ki(g, g->t.bits - 2));
    return real(g, tn_bin(p, TN_E_BITXOR, bits(g, tn_select(p, odd, c, s)), minus));
}

/* ---- pow in float32: 2^(y log2 |x|) in float64, whose 53 bits leave room for y log2 |x| up to 150 ---- */

/* log2((1 + s) / (1 - s)) / s over s^2, and 2^r */
static const double log2_64[] = {0x1.71547652b8251p+1, 0x1.ec709dc53c78bp-1, 0x1.2776c2932f2dap-1, 0x1.a61a2ed2b376dp-2,
                                 0x1.47955526617dap-2, 0x1.21b0f50b4abb8p-2};
static const double exp2_64[] = {1, 0x1.62e431178e9e1p-1, 0x1.ebfbe2c513443p-3, 0x1.c6ae72720acbap-5, 0x1.3b2715ae98264p-7,
                                 0x1.5f73f661e8db1p-10, 0x1.471a15164a25bp-13};

/* log2 of a >= 0 (zero: -inf, inf: inf) */
static ex log2_wide(const gen *d, ex a)
{
    ex f, e = log_parts(d, a, &f), s = quo(d, f, add(d, f, k(d, 2)));
    ex r = add(d, mul(d, s, POLY(d, mul(d, s, s), log2_64)), e);
    r = tn_select(d->p, tn_lt(d->p, a, k(d, INFINITY)), r, a);
    return tn_select(d->p, tn_eq(d->p, a, k(d, 0)), k(d, -INFINITY), r);
}

static ex exp2_wide(const gen *d, ex x)
{
    ex c = tn_max(d->p, tn_min(d->p, x, k(d, 200)), k(d, -200)); /* beyond any float32 */
    ex t = add(d, c, k(d, 0x1.8p52 + 1023)), r = sub(d, c, sub(d, t, k(d, 0x1.8p52 + 1023)));
    return mul(d, POLY(d, r, exp2_64), real(d, tn_bin(d->p, TN_E_SHL, bits(d, t), ki(d, 52))));
}

static ex lower_pow(const gen *g, ex x, ex y)
{
    tn_pool *p = g->p;
    gen d = gen_for(p, tn_dtype_lanes(TN_F64, g->t.lanes));
    ex a = tn_cast(p, TN_F64, mag(g, x)), wy = tn_cast(p, TN_F64, y);
    ex r = tn_cast(p, tn_dtype_lanes(g->t, 1), exp2_wide(&d, mul(&d, wy, log2_wide(&d, a))));
    ex half = mul(g, y, k(g, 0.5)), zero = k(g, 0), one = k(g, 1);
    ex broken = tn_bin(p, TN_E_NE, tn_intrinsic1(p, TN_F_floor, y), y);              /* no integer (or NaN) */
    ex odd = tn_and(p, tn_not(p, broken), tn_bin(p, TN_E_NE, tn_intrinsic1(p, TN_F_floor, half), half));
    ex none = tn_and(p, tn_and(p, tn_lt(p, x, zero), broken), tn_bin(p, TN_E_NE, x, k(g, -INFINITY)));
    ex minus = tn_bin(p, TN_E_BITAND, bits(g, x), ki(g, sign_bit(g)));
    r = tn_select(p, none, k(g, NAN), real(g, tn_bin(p, TN_E_BITXOR, bits(g, r), tn_select(p, odd, minus, ki(g, 0)))));
    ex flat = tn_and(p, tn_eq(p, mag(g, x), one), tn_eq(p, mag(g, y), k(g, INFINITY))); /* (+-1)^(+-inf) */
    ex unit = tn_bin(p, TN_E_OR, tn_bin(p, TN_E_OR, tn_eq(p, x, one), tn_eq(p, y, zero)), flat);
    return tn_select(p, unit, one, r);
}

/* ---- floor, ceil, trunc, round: |x| + 2^23 (2^52) rounds to a whole number; x of that size is whole ---- */

static ex lower_whole(const gen *g, enum tn_intrin f, ex x)
{
    tn_pool *p = g->p;
    const double whole = g->wide ? 0x1p52 : 0x1p23;
    ex a = mag(g, x), m = sub(g, add(g, a, k(g, whole)), k(g, whole)), r = with_sign(g, m, x);
    if (f == TN_F_trunc)
        r = with_sign(g, tn_select(p, tn_lt(p, a, m), sub(g, m, k(g, 1)), m), x);
    else if (f == TN_F_floor)
        r = tn_select(p, tn_lt(p, x, r), sub(g, r, k(g, 1)), r);
    else if (f == TN_F_ceil)
        r = with_sign(g, mag(g, tn_select(p, tn_lt(p, r, x), add(g, r, k(g, 1)), r)), x);
    return tn_select(p, tn_lt(p, a, k(g, whole)), r, x); /* NaN is not below */
}

/* ---- */

const tn_expr *tn_intrin_expand(tn_pool *p, enum tn_intrin f, tn_dtype t, const tn_expr *const arg[])
{
    if (!tn_dtype_is_float(t))
        return NULL;
    if (t.bits == 16) {
        const tn_expr *wide[2] = {NULL, NULL};
        for (int i = 0; i < tn_intrins[f].nargs; i++)
            wide[i] = tn_cast(p, TN_F32, arg[i]);
        const tn_expr *r = tn_intrin_expand(p, f, tn_dtype_lanes(TN_F32, t.lanes), wide);
        return r ? tn_cast(p, tn_dtype_lanes(t, 1), r) : NULL;
    }
    gen g = gen_for(p, t);
    switch (f) {
    case TN_F_exp: return lower_exp(&g, arg[0]);
    case TN_F_log: return lower_log(&g, arg[0]);
    case TN_F_tanh: return lower_tanh(&g, arg[0]);
    case TN_F_sigmoid: return lower_sigmoid(&g, arg[0]);
    case TN_F_erf: return lower_erf(&g, arg[0]);
    case TN_F_pow: return g.wide ? NULL : lower_pow(&g, arg[0], arg[1]);
    case TN_F_sin: return lower_wave(&g, arg[0], 0);
    case TN_F_cos: return lower_wave(&g, arg[0], 1);
    case TN_F_floor: case TN_F_ceil: case TN_F_trunc: case TN_F_round: return lower_whole(&g, f, arg[0]);
    default: return NULL;
    }
}

typedef struct {
    tn_func *f;
    bool no_rounding;   /* the machine cannot round to whole numbers */
    tn_status status;
} walk;

static const tn_expr *expand(tn_pool *p, const tn_expr *e, void *user)
{
    walk *w = user;
    if (e->kind != TN_E_CALL)
        return NULL;
    enum tn_intrin f = (enum tn_intrin)e->u.call.id;
    if (!tn_intrins[f].poly)
        return w->no_rounding && f >= TN_F_floor && f <= TN_F_round ? tn_intrin_expand(p, f, e->dtype, e->src) : NULL;
    const tn_expr *r = tn_intrin_expand(p, f, e->dtype, e->src);
    if (!r && w->status == TN_OK) {
        tn_buf type = {0};
        tn_dtype_print(tn_dtype_lanes(e->dtype, 1), false, &type);
        w->status = tn_error(w->f->ctx, "lower-E005", NULL, "%s: %s has no form for %s; cast its operands to float32", w->f->name,
                             tn_intrins[f].name, tn_buf_cstr(&type));
        tn_buf_deinit(&type);
    }
    /* what it was made of may hold calls too: pow uses floor */
    return r && w->no_rounding && f == TN_F_pow ? tn_rewrite(p, r, expand, w) : r;
}

static const tn_expr *expand_expr(const tn_expr *e, void *user)
{
    walk *w = user;
    return tn_rewrite(w->f->pool, e, expand, w);
}

static bool expand_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, expand_expr, user);
    return true;
}

tn_status tn_lower_intrinsics(tn_func *f, const struct tn_machine *m)
{
    bool x86 = strncmp(m->triple, "x86", 3) == 0 || (m->triple[0] == 'i' && strstr(m->triple, "86-"));
    walk w = {f, x86 && !tn_machine_has(m, "sse4.1"), TN_OK};
    tn_stmt_walk(&f->body, expand_stmt, NULL, &w);
    return w.status;
}
