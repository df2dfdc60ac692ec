/* LowerIntrin: exp, log, tanh, sigmoid, erf, ncdf, pow, sin and their kin become TIR arithmetic, so every executor
 * computes the same bits; so do floor, ceil, trunc and round where the machine has no instruction for them
 * and they would be calls. Trigonometric functions are in trig.c, inverse and hyperbolic ones in inverse.c,
 * pow in pow.c.
 *
 * Coefficients: our own weighted minimax fits (Remez exchange in 200-bit arithmetic; the weight makes the
 * error one of the result's last place), rounded to the type either at once or one after the other with the
 * rest fitted again, whichever was better. Splits of ln 2 have so many bits in their first part that
 * its product with the multiple is exact. Nothing here relies on rounded products, so contracting a*b + c
 * afterwards only helps.
 *
 * docs/numbers.md says how far from the true value they are. expm1 and log1p: 1.4, 1.2 ulp (float64: 1.9, 1.1); ncdf:
 * 6.5 (15.2, mostly from the quotient u).
 * 16-bit floats go through float32. Denormals, infinities, NaN and signed zeros are those of C's functions.
 */
#include "lower/intrin_gen.h"

#include <math.h>
#include <string.h>

/* ---- exp: x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n p(r) ---- */

static const double exp32[] = {
    1, 1, 0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123d8ap-7, 0x1.6abe6ep-10};
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

/* x - n ln 2 for n = round(x / ln 2); *t: n + magic, where n is in the low bits. */
static ex reduce_exp(const gen *g, ex x, ex rest, double magic, ex *t)
{
    ex all = rest ? add(g, x, rest) : x;
    *t = add(g, mul(g, all, k(g, 0x1.71547652b82fep+0)), k(g, magic));
    ex n = sub(g, *t, k(g, magic));
    ex r = add(g, x, mul(g, n, k(g, g->wide ? -0x1.62e42fefa4p-1 : -0x1.62e4p-1)));
    r = add(g, r, mul(g, n, k(g, g->wide ? 0x1.8432a1b0e2634p-43 : -0x1.7f7d1cf79abcap-20)));
    return rest ? add(g, r, rest) : r;
}

/* e^(x + rest), rest much smaller than x, or NULL. For x between about -104 and 89 (float64: -746 and 710), or NaN.
 * Adding 1.5 * 2^23 (2^52) rounds to a multiple that is then found in the low bits; the biased exponent is added with
 * it. `whole`: the result may be outside the normal range, so the scaling by 2^n takes two steps, of which only the
 * second may round. */
static ex exp_of_sum(const gen *g, ex x, ex rest, bool whole, int down)
{
    const int man = g->wide ? 52 : 23, bias = g->wide ? 1023 : 127;
    ex t, r = reduce_exp(g, x, rest, (g->wide ? 0x1.8p52 : 0x1.8p23) + (whole ? 2 * bias : bias) - down, &t);
    ex p = g->wide ? POLY(g, r, exp64) : POLY(g, r, exp32), b = bits(g, t);
    if (!whole)
        return mul(g, p, real(g, tn_bin(g->p, TN_E_SHL, b, ki(g, man))));
    ex half = tn_bin(g->p, TN_E_SHR, b, ki(g, 1)), more = sub(g, b, half);
    p = mul(g, p, real(g, tn_bin(g->p, TN_E_SHL, half, ki(g, man))));
    return mul(g, p, real(g, tn_bin(g->p, TN_E_SHL, more, ki(g, man))));
}

ex tn_gen_exp(const gen *g, ex x, bool whole, int down) { return exp_of_sum(g, x, NULL, whole, down); }

/* min and max keep a NaN that is their first operand. */
static ex lower_exp(const gen *g, ex x)
{
    ex above = tn_min(g->p, x, k(g, g->wide ? 710 : 89));
    return tn_gen_exp(g, tn_max(g->p, above, k(g, g->wide ? -746 : -104)), true, 0);
}

/* (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2 */
static const double expm1_32[] = {0x1p-1,        0x1.555556p-3,  0x1.5554e8p-5,
                                  0x1.1110e0p-7, 0x1.6d43b0p-10, 0x1.a1256cp-13};
static const double expm1_64[] = {0x1p-1,
                                  0x1.5555555555555p-3,
                                  0x1.5555555555557p-5,
                                  0x1.1111111111111p-7,
                                  0x1.6c16c16c15a48p-10,
                                  0x1.a01a01a01969bp-13,
                                  0x1.a01a01a9f72adp-16,
                                  0x1.71de3a5aaefb9p-19,
                                  0x1.27e4d3f50d87fp-22,
                                  0x1.ae642c5c1fa33p-26,
                                  0x1.1f7f6aa421dd8p-29,
                                  0x1.61bff1c64f494p-33};

/* 2^n (e^r - 1) + (2^n - 1), both with half of 2^n, which does not overflow before the result does. Below 2^-28 (2^-55)
 * e^x - 1 is x. */
static ex lower_expm1(const gen *g, ex x)
{
    const int man = g->wide ? 52 : 23;
    const double magic = (g->wide ? 0x1.8p52 + 1023 : 0x1.8p23 + 127) - 1;
    ex c = tn_max(g->p, tn_min(g->p, x, k(g, g->wide ? 710 : 89)), k(g, g->wide ? -50 : -30));
    ex t, r = reduce_exp(g, c, NULL, magic, &t);
    ex half = real(g, tn_bin(g->p, TN_E_SHL, bits(g, t), ki(g, man)));
    ex q = g->wide ? POLY(g, r, expm1_64) : POLY(g, r, expm1_32);
    ex y = add(g, mul(g, half, add(g, r, mul(g, mul(g, r, r), q))), sub(g, half, k(g, 0.5)));
    return tn_select(g->p, tn_lt(g->p, mag(g, x), k(g, g->wide ? 0x1p-55 : 0x1p-28)), x, mul(g, y, k(g, 2)));
}

/* 1 / (1 + e^-x) with e^-|x|, which cannot overflow: where x < 0 it is e^-|x| / (1 + e^-|x|). */
static ex lower_sigmoid(const gen *g, ex x)
{
    ex minus = real(g, tn_bin(g->p, TN_E_BITOR, bits(g, x), ki(g, sign_bit(g))));
    ex e = tn_gen_exp(g, tn_max(g->p, minus, k(g, g->wide ? -746 : -104)), true, 0);
    return quo(g, tn_select(g->p, tn_lt(g->p, x, k(g, 0)), e, k(g, 1)), add(g, e, k(g, 1)));
}

/* ---- log: x = 2^e m with sqrt(1/2) <= m < sqrt(2), f = m - 1 ---- */

/* log(1 + f) = f - f^2/2 + f^3 P(f) */
static const double log32[] = {0x1.555548p-2,  -0x1.000006p-2, 0x1.99a4b6p-3,  -0x1.555c4ep-3, 0x1.23376ap-3,
                               -0x1.fc220ap-4, 0x1.e6f052p-4,  -0x1.de3bdep-4, 0x1.145780p-4};
/* log(1 + f) = 2s + s R(s^2), s = f / (2 + f), 2s = f - s f; R(z) = z times this */
static const double log64[] = {0x1.5555555555592p-1, 0x1.999999997ff08p-2, 0x1.24924941e2f34p-2,
                               0x1.c71c521286beep-3, 0x1.74663d61b9da8p-3, 0x1.39a1db0e09e2ap-3,
                               0x1.2f0456be3800ap-3};

/* Takes a positive finite x apart: *f, and e as a float. */
ex tn_gen_log_parts(const gen *g, ex x, ex *f)
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

ex tn_gen_log(const gen *g, ex x)
{
    ex f, e = tn_gen_log_parts(g, x, &f), y;
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

/* log(1 + u), with what 1 + u loses put back. */
ex tn_gen_log1p(const gen *g, ex u)
{
    ex w = add(g, u, k(g, 1)), lost = quo(g, sub(g, u, sub(g, w, k(g, 1))), w);
    ex finite = tn_and(g->p, tn_lt(g->p, k(g, 0), w), tn_lt(g->p, u, k(g, INFINITY)));
    ex y = add(g, tn_gen_log(g, w), tn_select(g->p, finite, lost, k(g, 0)));
    return tn_select(g->p, tn_lt(g->p, mag(g, u), k(g, g->wide ? 0x1p-55 : 0x1p-28)), u, y);
}

/* ---- tanh: x + x^3 P(x^2) near 0, else 1 - 2 / (e^2x + 1) ---- */

static const double tanh32[] = {-0x1.555554p-2, 0x1.11107ap-3,  -0x1.b9f188p-5,
                                0x1.63a54ep-6,  -0x1.0c5eb4p-7, 0x1.1a2758p-9};
static const double tanh64[] = {-0x1.5555555555555p-2,  0x1.1111111111092p-3,   -0x1.ba1ba1ba13597p-5,
                                0x1.664f48809319fp-6,   -0x1.226e35079d1f2p-7,  0x1.d6d3bf78b6768p-9,
                                -0x1.7da23547160ffp-10, 0x1.3549bf1a38d15p-11,  -0x1.f485402cd1c5cp-13,
                                0x1.908e7e9dd1bdbp-14,  -0x1.2ff7f1f6d703bp-15, 0x1.7ff438f176a7ap-17,
                                -0x1.1e101a28571a1p-19};

static ex lower_tanh(const gen *g, ex x)
{
    ex a = mag(g, x), z = mul(g, a, a);
    ex near = add(g, mul(g, mul(g, a, z), g->wide ? POLY(g, z, tanh64) : POLY(g, z, tanh32)), a);
    ex e = tn_gen_exp(g, mul(g, tn_min(g->p, a, k(g, 20)), k(g, 2)), false, 0);
    ex far = sub(g, k(g, 1), quo(g, k(g, 2), add(g, e, k(g, 1))));
    return with_sign(g, tn_select(g->p, tn_lt(g->p, a, k(g, 0.625)), near, far), x);
}

/* ---- erf; of float64: x + x P(x^2) near 0, else 1 - erfc(x) ---- */

static const double erf64[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b20p-4,
                               -0x1.b82ce3128499bp-6,  0x1.565bcd0db02abp-8,   -0x1.c02db3d8ec97ap-11,
                               0x1.f9a321a10ff3ap-14,  -0x1.f4d1df3864567p-17, 0x1.b9def193ea7ffp-20,
                               -0x1.5f1d3678a8b09p-23, 0x1.f7a40f83054aap-27,  -0x1.386ab9ad951d8p-30,
                               0x1.05799a4d09798p-34};
/* erfc(x) e^(x^2) on [1, 6] over u = (x - 2) / (x + 2) */
static const double erfc64[] = {0x1.058671b52c776p-2,   -0x1.b57034efd3f70p-2,  0x1.eeea7dc8a778ep-3,
                                -0x1.437f0b68c342cp-4,  0x1.e94715996da6ep-9,   0x1.ca95ed6de7338p-8,
                                -0x1.bc25a2919988ap-11, -0x1.016b6fba54f40p-10, 0x1.6d518d199ad22p-15,
                                0x1.6daddc7bce54ap-13,  0x1.d029655779c0dp-16,  -0x1.ca3b952bd5c3bp-16,
                                -0x1.e9e0bf67e19c6p-17, -0x1.b33bfc6c60a2ap-20};

static ex lower_erf64(const gen *g, ex x)
{
    ex a = mag(g, x), z = mul(g, a, a), c = tn_min(g->p, a, k(g, 6));
    ex near = add(g, mul(g, a, POLY(g, z, erf64)), a);
    ex u = quo(g, sub(g, c, k(g, 2)), add(g, c, k(g, 2)));
    ex erfc = mul(g, tn_gen_exp(g, mul(g, mul(g, c, c), k(g, -1)), false, 0), POLY(g, u, erfc64));
    return with_sign(g, tn_select(g->p, tn_lt(g->p, a, k(g, 1)), near, sub(g, k(g, 1), erfc)), x);
}

/* float32, for which both would be computed in vectors: with m = min(|x|, b) and u = |x| - m, erf(m), which is
 * m + m P(m^2), and what erf grows by from b to b + u, which is 0 up to b. Beyond b the first adds no error:
 * erf(b) is a float32 but for 2^-35, and that is what comes out. The second, erfc(b) - erfc(b + u), is no low
 * polynomial, but with r(u) = erfc(b + u)^(1/8), v = r(0) - r(u) is one. v (2 r(0) - v) is r(0)^2 - r(u)^2,
 * and two more such steps give the eighth power. None of them enlarges the relative error. The polynomial and
 * the three factors, about 2 r(0), 2 r(0)^2 and 2 r(0)^4, were fitted together. */
static const double erf32[] = {0x1.06eba6p-3,  -0x1.8126ecp-2, 0x1.ce1b8cp-4,
                               -0x1.b69cf6p-6, 0x1.47ad90p-8,  -0x1.3c18b2p-11};
static const double erfc32_at = 0x1.cfb14cp-1, erfc32_end = 3.9375;
static const double erfc32[] = {0x1.ff80b0p-3,  0x1.665e74p-5,  -0x1.27a420p-6,
                                -0x1.c5b336p-9, 0x1.80539ap-10, -0x1.97eb2ep-14};
static const double erfc32_twice[] = {0x1.a9695ep+0, 0x1.566bf6p+0, 0x1.ca4192p-1};

static ex lower_erf32(const gen *g, ex x)
{
    ex a = mag(g, x), m = tn_min(g->p, a, k(g, erfc32_at));
    ex y = add(g, mul(g, m, POLY(g, mul(g, m, m), erf32)), m);
    ex u = sub(g, tn_min(g->p, a, k(g, erfc32_end)), m), v = mul(g, u, POLY(g, u, erfc32));
    for (int i = 0; i < 3; i++)
        v = mul(g, v, sub(g, k(g, erfc32_twice[i]), v));
    return with_sign(g, add(g, y, v), x);
}

/* ---- the normal distribution: e^(-x^2/2) R(|x|) below 0, what is left of 1 above ---- */

/* float32: R up to 14.6, where the result is 0, is a quotient of polynomials whose terms are all positive,
 * (1/2 + x (odd(x^2) + x even(x^2))) / (1 + ...). Fewer roundings add up than by Horner's rule. */
static const double ncdf32_p_odd[] = {0x1.c105bap-2, 0x1.4d574cp-5},
                    ncdf32_p_even[] = {0x1.7798c0p-3, 0x1.0e6424p-8};
static const double ncdf32_q_odd[] = {0x1.acc50ep+0, 0x1.e12d94p-2, 0x1.52e196p-7},
                    ncdf32_q_even[] = {0x1.3401b4p+0, 0x1.a1cea8p-4};
/* float64: R over u = (|x| - 6) / (|x| + 6), |x| <= 39.5 */
static const double ncdf64[] = {
    0x1.095608c7b15f1p-4,   -0x1.f89d2352c0350p-4,  0x1.b17c5d341b130p-4,   -0x1.4f7cb52484d08p-4,
    0x1.d17ec9c71a5b9p-5,   -0x1.1f2ab2c410bb8p-5,  0x1.3718190f1f222p-6,   -0x1.21e148812c9f3p-7,
    0x1.bffea21294fbep-9,   -0x1.09ab9f8369883p-10, 0x1.7a44fac27f158p-13,  0x1.9f35c54ab1a24p-17,
    -0x1.5816f20736a55p-16, 0x1.70213c129f615p-18,  0x1.ffc907122178ap-22,  -0x1.8084d0b2d1ff5p-21,
    0x1.eb452baf0a7f7p-24,  0x1.0890506805c55p-24,  -0x1.b61d9f6f94a71p-26, -0x1.2a45d82a90af7p-28,
    0x1.0f5e36c95b296p-28,  0x1.f3dae80d5b50bp-32,  -0x1.fa35d0d15c6c0p-32, -0x1.d7b3948d6c991p-34};

static ex ncdf_ratio(const gen *g, ex a)
{
    if (g->wide)
        return POLY(g, quo(g, sub(g, a, k(g, 6)), add(g, a, k(g, 6))), ncdf64);
    ex z = mul(g, a, a);
    ex p = add(g, mul(g, POLY(g, z, ncdf32_p_even), a), POLY(g, z, ncdf32_p_odd));
    ex q = add(g, mul(g, POLY(g, z, ncdf32_q_even), a), POLY(g, z, ncdf32_q_odd));
    return quo(g, add(g, mul(g, p, a), k(g, 0.5)), add(g, mul(g, q, a), k(g, 1)));
}

/* x^2 loses digits that the exponential would show: it is the exact square of x's upper half and a rest. */
static ex lower_ncdf(const gen *g, ex x)
{
    ex a = tn_min(g->p, mag(g, x), k(g, g->wide ? 39.5 : 14.6));
    ex h = real(g, tn_bin(g->p, TN_E_BITAND, bits(g, a), ki(g, g->wide ? -(INT64_C(1) << 32) : -4096)));
    ex square = mul(g, mul(g, h, h), k(g, -0.5)),
       rest = mul(g, mul(g, sub(g, a, h), add(g, a, h)), k(g, -0.5));
    ex below = mul(g, exp_of_sum(g, square, rest, true, 0), ncdf_ratio(g, a));
    return tn_select(g->p, tn_lt(g->p, k(g, 0), x), sub(g, k(g, 1), below), below);
}

/* ---- by way of float64 ---- */

static ex lower_inverse(const gen *g, enum tn_intrin f, ex x)
{
    gen d = gen_for(g->p, tn_dtype_lanes(TN_F64, g->t.lanes));
    return tn_cast(g->p, tn_dtype_lanes(g->t, 1), tn_gen_inverse(&d, f, tn_cast(g->p, TN_F64, x)));
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
    if (tn_dtype_is_small(t)) {
        const tn_expr *wide[2] = {NULL, NULL};
        for (int i = 0; i < tn_intrins[f].nargs; i++)
            wide[i] = tn_cast(p, TN_F32, arg[i]);
        const tn_expr *r = tn_intrin_expand(p, f, tn_dtype_lanes(TN_F32, t.lanes), wide);
        return r ? tn_cast(p, tn_dtype_lanes(t, 1), r) : NULL;
    }
    gen g = gen_for(p, t);
    switch (f) {
    case TN_F_exp: return lower_exp(&g, arg[0]);
    case TN_F_log: return tn_gen_log(&g, arg[0]);
    case TN_F_tanh: return lower_tanh(&g, arg[0]);
    case TN_F_sigmoid: return lower_sigmoid(&g, arg[0]);
    case TN_F_erf: return g.wide ? lower_erf64(&g, arg[0]) : lower_erf32(&g, arg[0]);
    case TN_F_expm1: return lower_expm1(&g, arg[0]);
    case TN_F_log1p: return tn_gen_log1p(&g, arg[0]);
    case TN_F_ncdf: return lower_ncdf(&g, arg[0]);
    case TN_F_pow: return tn_gen_pow(&g, arg[0], arg[1]);
    case TN_F_sin: return tn_gen_wave(&g, arg[0], 0);
    case TN_F_cos: return tn_gen_wave(&g, arg[0], 1);
    case TN_F_tan: return tn_gen_tan(&g, arg[0]);
    case TN_F_asin:
    case TN_F_acos:
    case TN_F_atan:
    case TN_F_sinh:
    case TN_F_cosh:
    case TN_F_asinh:
    case TN_F_acosh:
    case TN_F_atanh: return lower_inverse(&g, f, arg[0]);
    case TN_F_floor:
    case TN_F_ceil:
    case TN_F_trunc:
    case TN_F_round: return lower_whole(&g, f, arg[0]);
    default: return NULL;
    }
}

typedef struct {
    tn_func *f;
    bool no_rounding; /* the machine cannot round to whole numbers */
    bool large;       /* something was put in that is too large without names for what it uses twice */
} walk;

static const tn_expr *expand(tn_pool *p, const tn_expr *e, void *user)
{
    walk *w = user;
    if (e->kind != TN_E_CALL)
        return NULL;
    enum tn_intrin f = (enum tn_intrin)e->u.call.id;
    if (f == TN_F_abs && e->dtype.code == TN_UINT)
        return e->src[0];
    if (f == TN_F_abs && tn_dtype_is_index(e->dtype))
        return tn_max(p, e->src[0], tn_sub(p, tn_int(p, e->dtype, 0), e->src[0]));
    if (!tn_intrins[f].poly)
        return w->no_rounding && f >= TN_F_floor && f <= TN_F_round ? tn_intrin_expand(p, f, e->dtype, e->src)
                                                                    : NULL;
    const tn_expr *r = tn_intrin_expand(p, f, e->dtype, e->src);
    TN_ASSERT(r);
    w->large |= f >= TN_F_pow;
    /* what it was made of may hold calls too: pow uses floor */
    return w->no_rounding && f == TN_F_pow ? tn_rewrite(p, r, expand, w) : r;
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
    walk w = {f, !tn_machine_can(m, TN_CAN_ROUND), false};
    tn_stmt_walk(&f->body, expand_stmt, NULL, &w);
    return w.large ? tn_lower_share(f, m)
                   : TN_OK; /* else its text would be that of a tree, with millions of nodes */
}
