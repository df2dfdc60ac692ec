/* pow: 2^(y log2 |x|), then the signs and the corners of C's pow.
 *
 * float32: in float64, whose 53 bits leave room for y log2 |x| up to 150. float64: log2 in two parts with
 * some 68 bits, so that y log2 |x| up to 1075 keeps 2^-57, as in W. Kahan and K. C. Ng's fdlibm: s = (m - b)
 * / (m + b) with b = 1 or 3/2, products split so that they are exact without fma; less than one ulp.
 */
#include "lower/intrin_gen.h"

#include <math.h>

/* ---- float32 ---- */

/* log2((1 + s) / (1 - s)) / s over s^2, and 2^r */
static const double log2_64[] = {0x1.71547652b8251p+1, 0x1.ec709dc53c78bp-1, 0x1.2776c2932f2dap-1,
                                 0x1.a61a2ed2b376dp-2, 0x1.47955526617dap-2, 0x1.21b0f50b4abb8p-2};
static const double exp2_64[] = {1,
                                 0x1.62e431178e9e1p-1,
                                 0x1.ebfbe2c513443p-3,
                                 0x1.c6ae72720acbap-5,
                                 0x1.3b2715ae98264p-7,
                                 0x1.5f73f661e8db1p-10,
                                 0x1.471a15164a25bp-13};

/* log2 of a >= 0 (zero: -inf, inf: inf) */
static ex log2_wide(const gen *d, ex a)
{
    ex f, e = tn_gen_log_parts(d, a, &f), s = quo(d, f, add(d, f, k(d, 2)));
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

/* ---- float64 ---- */

/* ((3/2) log((1 + s) / (1 - s)) / s - 3 - s^2) / s^4 over s^2 */
static const double logpow64[] = {0x1.3333333333332p-1, 0x1.b6db6db6de8a4p-2, 0x1.555555477460fp-2,
                                  0x1.1745e8144889dp-2, 0x1.d87c3cd6ddc56p-3, 0x1.a4dcc21f66a0dp-3};
/* e^r on |r| <= ln 2 / 2 */
static const double exp64[] = {1,
                               1,
                               0x1.000000000000ap-1,
                               0x1.55555555554fap-3,
                               0x1.555555555086cp-5,
                               0x1.1111111127c0bp-7,
                               0x1.6c16c1842dd4ep-10,
                               0x1.a01a012a4f8c9p-13,
                               0x1.a0199a0199d90p-16,
                               0x1.71df2557af3eep-19,
                               0x1.28ad7d4533b10p-22,
                               0x1.ad7f7cc403e95p-26};

/* a without its lower 32 bits: products of two such are exact */
static ex upper(const gen *d, ex a)
{
    return real(d, tn_bin(d->p, TN_E_BITAND, bits(d, a), ki(d, -(INT64_C(1) << 32))));
}

typedef struct {
    ex h, l;
} two; /* h + l, h without its lower 32 bits */

/* log2 of a positive finite a. */
static two log2_of(const gen *d, ex a)
{
    tn_pool *p = d->p;
    ex f, e = tn_gen_log_parts(d, a, &f), m = add(d, f, k(d, 1)),
          less = tn_lt(p, m, k(d, 0x1.bb67ae8584caap-1));
    m = tn_select(p, less, mul(d, m, k(d, 2)), m);
    e = tn_select(p, less, sub(d, e, k(d, 1)), e);
    ex more = tn_lt(p, k(d, 0x1.3988e1409212ep+0), m), b = tn_select(p, more, k(d, 1.5), k(d, 1));
    ex u = sub(d, m, b), w = add(d, m, b), v = quo(d, k(d, 1), w), s = mul(d, u, v);
    ex sh = upper(d, s), th = upper(d, w), tl = sub(d, m, sub(d, th, b));
    ex sl = mul(d, v, sub(d, sub(d, u, mul(d, sh, th)), mul(d, sh, tl)));
    ex z = mul(d, s, s), r = add(d, mul(d, mul(d, z, z), POLY(d, z, logpow64)), mul(d, sl, add(d, sh, s)));
    z = mul(d, sh, sh);
    th = upper(d, add(d, add(d, z, k(d, 3)), r));
    tl = sub(d, r, sub(d, sub(d, th, k(d, 3)), z));
    u = mul(d, sh, th);
    v = add(d, mul(d, sl, th), mul(d, tl, s));
    ex ph = upper(d, add(d, u, v)), pl = sub(d, v, sub(d, ph, u));
    /* 2 / (3 ln 2), and log2 of b, in two parts */
    ex zh = mul(d, ph, k(d, 0x1.ec709p-1)), dh = tn_select(p, more, k(d, 0x1.2b803p-1), k(d, 0));
    ex zl = add(d, mul(d, ph, k(d, 0x1.b87407fae93f8p-22)), mul(d, pl, k(d, 0x1.ec709dc3a03fdp-1)));
    zl = add(d, zl, tn_select(p, more, k(d, 0x1.1cfdeb43cfd00p-23), k(d, 0)));
    ex h = upper(d, add(d, add(d, add(d, zh, zl), dh), e));
    return (two){h, sub(d, zl, sub(d, sub(d, sub(d, h, e), dh), zh))};
}

/* 2^(h + l) with |h + l| <= 1100 */
static ex exp2_of(const gen *d, ex h, ex l)
{
    const double magic = 0x1.8p52 + 2 * 1023;
    ex t = add(d, add(d, h, l), k(d, magic)), b = bits(d, t);
    h = sub(d, h, sub(d, t, k(d, magic)));
    ex a = upper(d, add(d, h, l)), u = mul(d, a, k(d, 0x1.62e42p-1));
    ex v = add(d, mul(d, sub(d, l, sub(d, a, h)), k(d, 0x1.62e42fefa39efp-1)),
               mul(d, a, k(d, 0x1.fdf473de6af28p-22)));
    ex z = add(d, u, v), w = sub(d, v, sub(d, z, u)), y = POLY(d, z, exp64);
    y = add(d, y, mul(d, y, w));
    ex half = tn_bin(d->p, TN_E_SHR, b, ki(d, 1)),
       rest = sub(d, b, half); /* in two steps, for results not normal */
    y = mul(d, y, real(d, tn_bin(d->p, TN_E_SHL, half, ki(d, 52))));
    return mul(d, y, real(d, tn_bin(d->p, TN_E_SHL, rest, ki(d, 52))));
}

/* a^y for a >= 0; NaN if either is */
static ex power(const gen *d, ex a, ex y)
{
    tn_pool *p = d->p;
    ex c = tn_max(p, tn_min(p, y, k(d, 0x1p65)),
                  k(d, -0x1p65)); /* |log2 a| > 2^-53: it overflows all the same */
    two g = log2_of(d, a);
    ex yh = upper(d, c), l = add(d, mul(d, sub(d, c, yh), g.h), mul(d, c, g.l)), h = mul(d, yh, g.h),
       z = add(d, l, h);
    ex over = tn_lt(p, k(d, 1100), z), under = tn_lt(p, z, k(d, -1100));
    h = tn_select(p, over, k(d, 1100), tn_select(p, under, k(d, -1100), h));
    l = tn_select(p, over, k(d, 0), tn_select(p, under, k(d, 0), l));
    ex r = exp2_of(d, h, l), zero = k(d, 0), inf = k(d, INFINITY), falls = tn_lt(p, y, zero);
    r = tn_select(p, tn_eq(p, a, zero), tn_select(p, falls, inf, zero), r);
    r = tn_select(p, tn_eq(p, a, inf), tn_select(p, falls, zero, inf), r);
    return tn_select(p, tn_bin(p, TN_E_OR, tn_intrinsic1(p, TN_F_isnan, a), tn_intrinsic1(p, TN_F_isnan, y)),
                     k(d, NAN), r);
}

/* ---- both ---- */

ex tn_gen_pow(const gen *g, ex x, ex y)
{
    tn_pool *p = g->p;
    gen d = gen_for(p, tn_dtype_lanes(TN_F64, g->t.lanes));
    ex a = tn_cast(p, TN_F64, mag(g, x)), wy = tn_cast(p, TN_F64, y);
    ex r = g->wide ? power(&d, a, wy) : tn_cast(p, TN_F32, exp2_wide(&d, mul(&d, wy, log2_wide(&d, a))));
    ex half = mul(g, y, k(g, 0.5)), zero = k(g, 0), one = k(g, 1);
    ex broken = tn_bin(p, TN_E_NE, tn_intrinsic1(p, TN_F_floor, y), y); /* no integer (or NaN) */
    ex odd = tn_and(p, tn_not(p, broken), tn_bin(p, TN_E_NE, tn_intrinsic1(p, TN_F_floor, half), half));
    ex none = tn_and(p, tn_and(p, tn_lt(p, x, zero), broken), tn_bin(p, TN_E_NE, x, k(g, -INFINITY)));
    ex minus = tn_bin(p, TN_E_BITAND, bits(g, x), ki(g, sign_bit(g)));
    r = tn_select(p, none, k(g, NAN),
                  real(g, tn_bin(p, TN_E_BITXOR, bits(g, r), tn_select(p, odd, minus, ki(g, 0)))));
    ex flat = tn_and(p, tn_eq(p, mag(g, x), one), tn_eq(p, mag(g, y), k(g, INFINITY))); /* (+-1)^(+-inf) */
    ex unit = tn_bin(p, TN_E_OR, tn_bin(p, TN_E_OR, tn_eq(p, x, one), tn_eq(p, y, zero)), flat);
    return tn_select(p, unit, one, r);
}
