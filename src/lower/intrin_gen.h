#ifndef TN_LOWER_INTRIN_GEN_H
#define TN_LOWER_INTRIN_GEN_H
/* What the polynomials of intrinsics (intrin.c, trig.c, inverse.c, pow.c) are written with. */
#include "lower/lower_impl.h"

typedef const tn_expr *ex;

typedef struct {
    tn_pool *p;
    tn_dtype t, it; /* float32 or float64 with lanes, and the signed integer of its width */
    bool wide;      /* float64 */
} gen;

static inline ex k(const gen *g, double c) { return tn_flt(g->p, g->t, c); }
static inline ex ki(const gen *g, int64_t c) { return tn_int(g->p, g->it, c); }
static inline ex add(const gen *g, ex a, ex b) { return tn_add(g->p, a, b); }
static inline ex sub(const gen *g, ex a, ex b) { return tn_sub(g->p, a, b); }
static inline ex mul(const gen *g, ex a, ex b) { return tn_mul(g->p, a, b); }
static inline ex quo(const gen *g, ex a, ex b) { return tn_bin(g->p, TN_E_DIV, a, b); }
static inline ex bits(const gen *g, ex a) { return tn_bitcast(g->p, g->it, a); }
static inline ex real(const gen *g, ex a) { return tn_bitcast(g->p, g->t, a); }
static inline ex mag(const gen *g, ex a) { return tn_intrinsic1(g->p, TN_F_abs, a); }
static inline int64_t sign_bit(const gen *g) { return g->wide ? INT64_MIN : INT32_MIN; }

static inline gen gen_for(tn_pool *p, tn_dtype t)
{
    gen g = {p, t, tn_dtype_lanes(t.bits == 64 ? TN_I64 : TN_I32, t.lanes), t.bits == 64};
    return g;
}

/* c[0] + c[1] x + ... by Horner's rule. */
static inline ex poly(const gen *g, ex x, int n, const double c[])
{
    ex r = k(g, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        r = add(g, mul(g, r, x), k(g, c[i]));
    return r;
}
#define POLY(g, x, c) poly(g, x, (int)(sizeof(c) / sizeof *(c)), c)

/* a, which is not negative, with the sign of x. */
static inline ex with_sign(const gen *g, ex a, ex x)
{
    return real(
        g, tn_bin(g->p, TN_E_BITOR, bits(g, a), tn_bin(g->p, TN_E_BITAND, bits(g, x), ki(g, sign_bit(g)))));
}

/* a with the sign of x flipped in: a is turned round where x is negative. */
static inline ex flip_sign(const gen *g, ex a, ex x)
{
    return real(
        g, tn_bin(g->p, TN_E_BITXOR, bits(g, a), tn_bin(g->p, TN_E_BITAND, bits(g, x), ki(g, sign_bit(g)))));
}

/* e^x * 2^-down; whole: results outside of the normal range too. */
ex tn_gen_exp(const gen *g, ex x, bool whole, int down);
ex tn_gen_log(const gen *g, ex x);
ex tn_gen_log1p(const gen *g, ex u);
/* A positive finite x as 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). */
ex tn_gen_log_parts(const gen *g, ex x, ex *f);
/* sin for quadrant 0, cos for 1. */
ex tn_gen_wave(const gen *g, ex x, int quadrant);
ex tn_gen_tan(const gen *g, ex x);
/* asin to atanh but tan, for float64. */
ex tn_gen_inverse(const gen *d, enum tn_intrin f, ex x);
ex tn_gen_pow(const gen *g, ex x, ex y);

#endif
