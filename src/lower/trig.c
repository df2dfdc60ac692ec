/* sin, cos, tan: |x| = (n + F) pi/2 with |F| <= 1/2, then polynomials of r = F pi/2.
 *
 * F is found by multiplying the integer M of |x| = M 2^E with the bits of 2/pi that matter to it (Payne and
 * Hanek 1983): those whose product is a multiple of 4 are left out, so the product is as exact for 2^1000 as
 * for 3. The words of 2/pi are picked by halving steps, one select a word, so there is no table in memory and
 * lanes need not agree. Absolute error of F: 2^-60 in 64 bits (float32), 2^-124 in 128 (float64), which is
 * enough for the arguments next to a multiple of pi/2 (2^-33 and 2^-62 away). Nothing depends on |x| being
 * small.
 */
#include "lower/intrin_gen.h"

#include <math.h>

/* sin(r) / r and cos(r) over r^2, without their first term 1 */
static const double sin32[] = {-0x1.555546p-3, 0x1.110776p-7, -0x1.9952f6p-13};
static const double cos32[] = {-0.5, 0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80ap-16};
static const double sin64[] = {-0x1.5555555555548p-3, 0x1.111111110f730p-7,   -0x1.a01a019be91cdp-13,
                               0x1.71de35550ea17p-19, -0x1.ae5e4b51f9110p-26, 0x1.5d8b3e75ab3e9p-33};
static const double cos64[] = {-0.5,
                               0x1.555555555554bp-5,
                               -0x1.6c16c16c1500dp-10,
                               0x1.a01a019c8dcfbp-16,
                               -0x1.27e4f7f04c65fp-22,
                               0x1.1ee9dac76b72ep-29,
                               -0x1.8fa5e93570512p-37};

/* 2/pi: word i has the weight 2^(55 - 32(i + 1)); in the second 2^(26 - 32(i + 1)). */
static const uint32_t two_over_pi_wide[] = {
    0x00000000, 0x00000145, 0xf306dc9c, 0x882a53f8, 0x4eafa3ea, 0x69bb81b6, 0xc52b3278, 0x872083fc,
    0xa2c757bd, 0x778ac36e, 0x48dc7484, 0x9ba5c00c, 0x925dd413, 0xa32439fc, 0x3bd63962, 0x534e7dd1,
    0x046bea5d, 0x768909d3, 0x38e04d68, 0xbefc8273, 0x23ac7306, 0xa673e939, 0x08bf177b, 0xf250763f,
    0xf12fffbc, 0x0b301fde, 0x5e2316b4, 0x14da3eda, 0x6cfd9e4f, 0x96136e9e, 0x8c7ecd3c, 0xbfd45aea,
    0x4f758fd7, 0xcbe2f67a, 0x0e73ef14, 0xa525d4d7, 0xf6bf623f, 0x1aba10ac, 0x06608df8};
static const uint32_t two_over_pi[] = {0x00000028, 0xbe60db93, 0x91054a7f, 0x09d5f47d,
                                       0x4d377036, 0xd8a5664f, 0x10e4107f, 0x9458eaf7};

/* ---- integers of 64 bits ---- */

typedef struct {
    tn_pool *p;
    tn_dtype t;
} whole;

static ex num(const whole *w, uint64_t v) { return tn_int(w->p, w->t, (int64_t)v); }
static ex shl(const whole *w, ex a, int n) { return tn_bin(w->p, TN_E_SHL, a, num(w, (uint64_t)n)); }
static ex shr(const whole *w, ex a, int n) { return tn_bin(w->p, TN_E_SHR, a, num(w, (uint64_t)n)); }
static ex low(const whole *w, ex a) { return tn_bin(w->p, TN_E_BITAND, a, num(w, UINT32_MAX)); }
static ex high(const whole *w, ex a) { return shr(w, a, 32); }

static ex bit_set(const whole *w, ex a, int bit)
{
    return tn_bin(w->p, TN_E_NE, tn_bin(w->p, TN_E_BITAND, a, num(w, UINT64_C(1) << bit)), num(w, 0));
}

static ex sum(const whole *w, int n, const ex v[])
{
    ex s = v[0];
    for (int i = 1; i < n; i++)
        s = tn_add(w->p, s, v[i]);
    return s;
}

/* The n words of 2/pi from bit `at` on, whose multiples of 2^-32(i + 1) matter: at >= 0. */
static void window(const whole *w, bool wide, ex at, int n, ex out[])
{
    ex word[39];
    const uint32_t *v = wide ? two_over_pi_wide : two_over_pi;
    const int top = wide ? 5 : 2,
              total = wide ? 39 : 8; /* the highest bit of the word number is set for 2^top alone */
    for (int i = 0; i < total; i++)
        word[i] = num(w, v[i]);
    ex last = bit_set(w, at, 5 + top);
    for (int i = 0; i <= n; i++)
        word[i] = tn_select(w->p, last, word[i + (1 << top)], word[i]);
    for (int b = top - 1; b >= 0; b--) {
        ex set = bit_set(w, at, 5 + b);
        for (int i = 0; i < n + (1 << b); i++)
            word[i] = tn_select(w->p, set, word[i + (1 << b)], word[i]);
    }
    ex within = tn_bin(w->p, TN_E_BITAND, at, num(w, 31));
    for (int i = 0; i < n; i++) {
        ex both = tn_bin(w->p, TN_E_BITOR, shl(w, word[i], 32), word[i + 1]);
        out[i] = high(w, tn_bin(w->p, TN_E_SHL, both, within));
    }
}

/* F/4 mod 1 in 64 bits, for m < 2^24. */
static ex fraction(const whole *w, ex m, ex at)
{
    ex u[3], p[3];
    window(w, false, at, 3, u);
    for (int i = 0; i < 3; i++)
        p[i] = tn_mul(w->p, m, u[i]);
    ex c2 = tn_add(w->p, low(w, p[1]), high(w, p[2]));
    ex c1 = sum(w, 3, (ex[]){low(w, p[0]), high(w, p[1]), high(w, c2)});
    return tn_bin(w->p, TN_E_BITOR, shl(w, c1, 32), low(w, c2));
}

/* The same in 128 bits, for m < 2^53: the upper 64, and *rest. */
static ex fraction_wide(const whole *w, ex m, ex at, ex *rest)
{
    ex u[6], p[6], q[6], ml = low(w, m), mh = high(w, m);
    window(w, true, at, 6, u);
    for (int i = 0; i < 6; i++) {
        p[i] = tn_mul(w->p, ml, u[i]);
        q[i] = tn_mul(w->p, mh, u[i]);
    }
    ex c[5];
    for (int d = 4; d > 0; d--) {
        ex part[] = {low(w, p[d - 1]), high(w, p[d]), low(w, q[d]), high(w, q[d + 1]),
                     d < 4 ? high(w, c[d + 1]) : NULL};
        c[d] = sum(w, d < 4 ? 5 : 4, part);
    }
    *rest = tn_bin(w->p, TN_E_BITOR, shl(w, c[3], 32), low(w, c[4]));
    return tn_bin(w->p, TN_E_BITOR, shl(w, c[1], 32), low(w, c[2]));
}

/* r of a >= 0 in float64, and n mod 4 as u64. A float32 is given as the float64 it is. What comes of infinity
 * and NaN is some number. */
static ex reduced(const gen *d, ex a, bool wide, ex *n)
{
    whole w = {d->p, tn_dtype_lanes(TN_DT(TN_UINT, 64), d->t.lanes)};
    ex b = tn_bitcast(d->p, w.t, a), rest = NULL;
    ex m = tn_bin(d->p, TN_E_BITAND, b, num(&w, (UINT64_C(1) << 52) - 1));
    m = tn_bin(d->p, TN_E_BITOR, m, num(&w, UINT64_C(1) << 52));
    ex at = tn_sub(d->p, shr(&w, b, 52), num(&w, 1022)); /* 0 for a = 1/2 */
    ex f = wide ? fraction_wide(&w, m, at, &rest) : fraction(&w, shr(&w, m, 29), at);
    ex turn = shr(&w, tn_add(d->p, f, num(&w, UINT64_C(1) << 61)), 62);
    ex r = tn_cast(d->p, TN_F64, tn_cast(d->p, TN_I64, tn_sub(d->p, f, shl(&w, turn, 62))));
    if (wide)
        r = add(d, r, mul(d, tn_cast(d->p, TN_F64, tn_cast(d->p, TN_I64, shr(&w, rest, 1))), k(d, 0x1p-63)));
    ex small = tn_lt(d->p, a, k(d, 0x1.921fb54442d18p-1));
    *n = tn_select(d->p, small, num(&w, 0), turn);
    return tn_select(d->p, small, a, mul(d, r, k(d, 0x1.921fb54442d18p+0 * 0x1p-62)));
}

/* r + (r z) S(z): of the small terms alone the rounding of products counts. */
static ex sin_near(const gen *g, ex r, ex z)
{
    return add(g, mul(g, mul(g, r, z), g->wide ? POLY(g, z, sin64) : POLY(g, z, sin32)), r);
}

static ex cos_near(const gen *g, ex z)
{
    return add(g, mul(g, z, g->wide ? POLY(g, z, cos64) : POLY(g, z, cos32)), k(g, 1));
}

static ex finite_only(const gen *g, ex x, ex r)
{
    return tn_select(g->p, tn_lt(g->p, mag(g, x), k(g, INFINITY)), r, k(g, NAN));
}

ex tn_gen_wave(const gen *g, ex x, int quadrant)
{
    tn_pool *p = g->p;
    gen d = gen_for(p, tn_dtype_lanes(TN_F64, g->t.lanes));
    ex n, r = reduced(&d, tn_cast(p, TN_F64, mag(g, x)), g->wide, &n);
    r = tn_cast(p, tn_dtype_lanes(g->t, 1), r);
    ex z = mul(g, r, r), s = sin_near(g, r, z), c = cos_near(g, z);
    ex q = add(g, tn_cast(p, tn_dtype_lanes(g->it, 1), n), ki(g, quadrant));
    ex odd = tn_bin(p, TN_E_NE, tn_bin(p, TN_E_BITAND, q, ki(g, 1)), ki(g, 0));
    ex minus = tn_bin(p, TN_E_SHL, tn_bin(p, TN_E_BITAND, q, ki(g, 2)), ki(g, g->t.bits - 2));
    ex y = real(g, tn_bin(p, TN_E_BITXOR, bits(g, tn_select(p, odd, c, s)), minus));
    return finite_only(g, x, quadrant ? y : flip_sign(g, y, x));
}

/* Both types in float64. */
ex tn_gen_tan(const gen *g, ex x)
{
    tn_pool *p = g->p;
    gen d = gen_for(p, tn_dtype_lanes(TN_F64, g->t.lanes));
    ex n, r = reduced(&d, tn_cast(p, TN_F64, mag(g, x)), g->wide, &n);
    ex z = mul(&d, r, r), s = sin_near(&d, r, z), c = cos_near(&d, z);
    ex odd = tn_bin(p, TN_E_EQ, tn_bin(p, TN_E_BITAND, n, tn_int(p, n->dtype, 1)), tn_int(p, n->dtype, 1));
    ex t = quo(&d, tn_select(p, odd, mul(&d, c, k(&d, -1)), s), tn_select(p, odd, s, c));
    return finite_only(g, x, flip_sign(g, tn_cast(p, tn_dtype_lanes(g->t, 1), t), x));
}
