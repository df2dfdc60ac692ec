/* asin, acos, atan, sinh, cosh, asinh, acosh, atanh in float64; float32 is computed there too and rounded.
 *
 * Coefficients: Chebyshev interpolants of (f(x)/x - 1) / x^2 over z = x^2 on the interval named, found in 400
 * bits; their relative error is below 2^-52. Splits of pi/2 and pi/4: the second part is what the first
 * lacks.
 */
#include "lower/intrin_gen.h"

#include <math.h>

/* [0, tan^2(pi/8)] */
static const double atan64[] = {-0x1.5555555555555p-2, 0x1.9999999999953p-3,  -0x1.249249248d7e6p-3,
                                0x1.c71c71c3045bap-4,  -0x1.745d165de250bp-4, 0x1.3b1392d7e8f74p-4,
                                -0x1.110e87e6a8722p-4, 0x1.e19a10824a50bp-5,  -0x1.ac7a7bd8f05c0p-5,
                                0x1.74dd67f0d3109p-5,  -0x1.1b32a3266af2ep-5, 0x1.0ad10221730d6p-6};
/* [0, 1/4] */
static const double asin64[] = {0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5,
                                0x1.f1c71c1db0623p-6, 0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6,
                                0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7, 0x1.52420b04b37bep-7,
                                0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
                                0x1.d72b2bc8155f8p-6};
/* [0, 1/4] */
static const double atanh64[] = {0x1.5555555555555p-2,  0x1.9999999999ad1p-3, 0x1.249249247e911p-3,
                                 0x1.c71c71d6cc5d1p-4,  0x1.745d1406b992ep-4, 0x1.3b1417e6e07dfp-4,
                                 0x1.1108e26d64a6dp-4,  0x1.e2c342108eb1fp-5, 0x1.a6c53053bf30cp-5,
                                 0x1.bdcd3cefa72cep-5,  0x1.92cc88a36f708p-7, 0x1.15aa7698edf42p-3,
                                 -0x1.27f230f3831a3p-3, 0x1.b016cba23eee4p-3};
/* [0, 1] */
static const double sinh64[] = {0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a01a001p-13,
                                0x1.71de3a556f96cp-19, 0x1.ae6456792a77fp-26, 0x1.612467ccb2260p-33,
                                0x1.ae777c36fd5b6p-41, 0x1.99f0806c2628dp-49};

static const double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;

/* a + a z P(z) */
static ex odd_series(const gen *d, ex a, ex z, int n, const double c[])
{
    return add(d, mul(d, mul(d, a, z), poly(d, z, n, c)), a);
}
#define ODD(d, a, z, c) odd_series(d, a, z, (int)(sizeof(c) / sizeof *(c)), c)

/* atan a = atan b + atan((a - b) / (1 + a b)) with b = 0, 1, infinity. */
static ex atan_of(const gen *d, ex x)
{
    tn_pool *p = d->p;
    ex a = mag(d, x), one = k(d, 1), mid = tn_lt(p, k(d, 0x1.a827999fcef32p-2), a),
       far = tn_lt(p, k(d, 0x1.3504f333f9de6p+1), a);
    ex top = tn_select(p, far, k(d, -1), tn_select(p, mid, sub(d, a, one), a));
    ex bottom = tn_select(p, far, a, tn_select(p, mid, add(d, a, one), one));
    ex t = quo(d, top, bottom), z = mul(d, t, t);
    ex base = tn_select(p, far, k(d, half_pi), tn_select(p, mid, k(d, half_pi / 2), k(d, 0)));
    ex rest = tn_select(p, far, k(d, half_pi_low), tn_select(p, mid, k(d, half_pi_low / 2), k(d, 0)));
    ex y = add(d, add(d, mul(d, mul(d, t, z), POLY(d, z, atan64)), rest), t);
    return with_sign(d, add(d, base, y), x);
}

/* asin a, a <= 1/2, is s + p; above, asin a = pi/2 - 2 asin s with s = sqrt((1 - a)/2). */
typedef struct {
    ex s, p, large;
} arc;

static arc arc_of(const gen *d, ex a)
{
    ex large = tn_lt(d->p, k(d, 0.5), a), half = mul(d, sub(d, k(d, 1), a), k(d, 0.5));
    ex z = tn_select(d->p, large, half, mul(d, a, a));
    ex s = tn_select(d->p, large, tn_intrinsic1(d->p, TN_F_sqrt, half), a);
    return (arc){s, mul(d, mul(d, s, z), POLY(d, z, asin64)), large};
}

static ex asin_of(const gen *d, ex x)
{
    arc r = arc_of(d, mag(d, x));
    ex two = mul(d, r.s, k(d, 2)), rest = sub(d, mul(d, r.p, k(d, 2)), k(d, half_pi_low));
    ex far = sub(d, k(d, half_pi), add(d, two, rest));
    return with_sign(d, tn_select(d->p, r.large, far, add(d, r.s, r.p)), x);
}

static ex acos_of(const gen *d, ex x)
{
    tn_pool *p = d->p;
    arc r = arc_of(d, mag(d, x));
    ex rest = sub(d, r.p, k(d, half_pi_low)), two = k(d, 2);
    ex right = mul(d, add(d, r.s, r.p), two);
    ex left = mul(d, sub(d, k(d, half_pi), add(d, r.s, rest)), two);
    ex near = sub(d, k(d, half_pi), add(d, sub(d, flip_sign(d, r.p, x), k(d, half_pi_low)), x));
    return tn_select(p, r.large, tn_select(p, tn_lt(p, x, k(d, 0)), left, right), near);
}

/* e^a / 2 does not overflow before sinh and cosh do. */
static ex half_exp(const gen *d, ex a) { return tn_gen_exp(d, tn_min(d->p, a, k(d, 711)), true, 1); }

static ex sinh_of(const gen *d, ex x)
{
    ex a = mag(d, x), h = half_exp(d, a), far = sub(d, h, quo(d, k(d, 0.25), h)),
       near = ODD(d, a, mul(d, a, a), sinh64);
    return with_sign(d, tn_select(d->p, tn_lt(d->p, a, k(d, 1)), near, far), x);
}

static ex cosh_of(const gen *d, ex x)
{
    ex h = half_exp(d, mag(d, x));
    return add(d, h, quo(d, k(d, 0.25), h));
}

/* Above 2^60 asinh and acosh are log(2a), and a^2 might overflow. */
static ex log_of_sum(const gen *d, ex a, ex u)
{
    ex huge = tn_lt(d->p, k(d, 0x1p60), a);
    return add(d, tn_gen_log1p(d, tn_select(d->p, huge, a, u)),
               tn_select(d->p, huge, k(d, 0x1.62e42fefa39efp-1), k(d, 0)));
}

static ex root(const gen *d, ex a) { return tn_intrinsic1(d->p, TN_F_sqrt, a); }

static ex asinh_of(const gen *d, ex x)
{
    ex a = mag(d, x), z = mul(d, a, a),
       u = add(d, quo(d, z, add(d, root(d, add(d, z, k(d, 1))), k(d, 1))), a);
    return with_sign(d, log_of_sum(d, a, u), x);
}

static ex acosh_of(const gen *d, ex x)
{
    ex t = sub(d, x, k(d, 1)), u = add(d, root(d, mul(d, t, add(d, t, k(d, 2)))), t);
    return tn_select(d->p, tn_lt(d->p, x, k(d, 1)), k(d, NAN), log_of_sum(d, x, u));
}

static ex atanh_of(const gen *d, ex x)
{
    ex a = mag(d, x), near = ODD(d, a, mul(d, a, a), atanh64);
    ex far = mul(d, tn_gen_log1p(d, quo(d, mul(d, a, k(d, 2)), sub(d, k(d, 1), a))), k(d, 0.5));
    return with_sign(d, tn_select(d->p, tn_lt(d->p, a, k(d, 0.5)), near, far), x);
}

ex tn_gen_inverse(const gen *d, enum tn_intrin f, ex x)
{
    switch (f) {
    case TN_F_asin: return asin_of(d, x);
    case TN_F_acos: return acos_of(d, x);
    case TN_F_atan: return atan_of(d, x);
    case TN_F_sinh: return sinh_of(d, x);
    case TN_F_cosh: return cosh_of(d, x);
    case TN_F_asinh: return asinh_of(d, x);
    case TN_F_acosh: return acosh_of(d, x);
    default: return atanh_of(d, x);
    }
}
