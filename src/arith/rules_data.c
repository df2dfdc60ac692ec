/* Rules of data: integers that wrap at their width, floats, conversions. None of the index rules is used here.
 *
 * Integers: Z modulo 2^bits, so sums and products of constants may be gathered, but comparisons must not be
 * moved across an addition. A rule that looks at bounds uses intervals of the operands as they are after
 * wrapping. Floats: only what keeps every bit of the result for every input, NaN and signed zero included; x +
 * 0 is not among it (-0 + 0 is +0).
 */
#include "arith/arith_impl.h"

static const tn_expr *fold2(tn_simp *c, enum tn_ek k, tn_dtype t, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *s[] = {a, b};
    return tn_fold(c->p, k, t, (tn_payload){0}, 2, s);
}

static bool is_all_ones(const tn_expr *e)
{
    return e->kind == TN_E_INT &&
           (e->u.i == -1 || (e->dtype.code == TN_UINT && e->u.i == tn_dtype_range(e->dtype).hi));
}

static const tn_expr *associative(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b);

/* (x k c1) k c2 = x k (c1 k c2) for the associative k; constants stand second. */
static const tn_expr *gather(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (b->kind != TN_E_INT || a->kind != k || a->src[1]->kind != TN_E_INT)
        return NULL;
    const tn_expr *k12 = fold2(c, k, a->dtype, a->src[1], b);
    return k12 ? associative(c, k, a->src[0], k12) : NULL;
}

static const tn_expr *wrap_sum(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    tn_dtype t = a->dtype;
    if (k == TN_E_SUB && a == b)
        return tn_int(c->p, t, 0);
    if (k == TN_E_SUB && b->kind == TN_E_INT) { /* x - c = x + (-c), modulo 2^bits */
        b = fold2(c, TN_E_SUB, t, tn_int(c->p, t, 0), b);
        k = TN_E_ADD;
    }
    if (tn_is_value(b, 0))
        return a;
    if (tn_is_value(a, 0) && k == TN_E_ADD)
        return b;
    if (k == TN_E_SUB && a->kind == TN_E_ADD && (a->src[0] == b || a->src[1] == b)) /* (x + y) - y */
        return a->src[a->src[0] == b];
    if (k == TN_E_ADD && a->kind == TN_E_SUB && a->src[1] == b) /* (x - y) + y */
        return a->src[0];
    if (k == TN_E_ADD && b->kind == TN_E_SUB && b->src[1] == a)
        return b->src[0];
    const tn_expr *r = k == TN_E_ADD ? gather(c, k, a, b) : NULL;
    return r ? r : tn_simp_node2(c, k, t, a, b);
}

static const tn_expr *wrap_mul(tn_simp *c, const tn_expr *a, const tn_expr *b)
{
    if (a->kind == TN_E_INT) {
        const tn_expr *x = a;
        a = b;
        b = x;
    }
    if (tn_is_value(b, 0))
        return b;
    if (tn_is_value(b, 1))
        return a;
    const tn_expr *r = gather(c, TN_E_MUL, a, b);
    return r ? r : tn_simp_node2(c, TN_E_MUL, a->dtype, a, b);
}

/* Division and remainder, floor and truncating. By 0 both give 0. */
static const tn_expr *wrap_div(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    bool mod = k == TN_E_FLOORMOD || k == TN_E_TRUNCMOD;
    if (tn_is_value(a, 0) || tn_is_value(b, 0) || (mod && a == b))
        return tn_int(c->p, a->dtype, 0);
    if (tn_is_value(b, 1))
        return mod ? tn_int(c->p, a->dtype, 0) : a;
    if (a->dtype.code == TN_UINT && a->dtype.bits == 64)
        return NULL; /* intervals of uint64 say nothing */
    tn_range x = tn_bounds_of(&c->b, a), y = tn_bounds_of(&c->b, b);
    if (a == b)
        return y.lo > 0 || y.hi < 0 ? tn_int(c->p, a->dtype, 1) : NULL;
    if (x.lo >= 0 && x.hi < y.lo)
        return mod ? a : tn_int(c->p, a->dtype, 0);
    return NULL;
}

static const tn_expr *wrap_bits(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return k == TN_E_BITXOR ? tn_int(c->p, a->dtype, 0) : a;
    if (tn_is_value(b, 0))
        return k == TN_E_BITAND ? b : a;
    if (is_all_ones(b) && k != TN_E_BITXOR)
        return k == TN_E_BITAND ? a : b;
    return gather(c, k, a, b);
}

static const tn_expr *associative(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *r = k == TN_E_ADD   ? wrap_sum(c, k, a, b)
                       : k == TN_E_MUL ? wrap_mul(c, a, b)
                                       : wrap_bits(c, k, a, b);
    return r ? r : tn_simp_node2(c, k, a->dtype, a, b);
}

const tn_expr *tn_simp_wrap_minmax(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return a;
    if (a->kind == TN_E_INT ||
        (b->kind != TN_E_INT && tn_expr_order(b, a) < 0)) { /* of integers either order will do */
        const tn_expr *x = a;
        a = b;
        b = x;
    }
    if (a->dtype.code == TN_UINT && a->dtype.bits == 64)
        return tn_simp_node2(c, k, a->dtype, a, b);
    tn_range x = tn_bounds_of(&c->b, a), y = tn_bounds_of(&c->b, b);
    if (x.hi <= y.lo)
        return k == TN_E_MIN ? a : b;
    if (y.hi <= x.lo)
        return k == TN_E_MIN ? b : a;
    return tn_simp_node2(c, k, a->dtype, a, b);
}

static const tn_expr *wrap_compare(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return tn_bool(c->p, k == TN_E_EQ || k == TN_E_LE);
    if (a->dtype.code == TN_UINT && a->dtype.bits == 64)
        return NULL;
    tn_range x = tn_bounds_of(&c->b, a), y = tn_bounds_of(&c->b, b);
    bool apart = x.hi < y.lo || y.hi < x.lo;
    if (k == TN_E_EQ || k == TN_E_NE)
        return apart ? tn_bool(c->p, k == TN_E_NE) : NULL;
    if (k == TN_E_LT ? x.hi < y.lo : x.hi <= y.lo)
        return tn_bool(c->p, true);
    if (k == TN_E_LT ? x.lo >= y.hi : x.lo > y.hi)
        return tn_bool(c->p, false);
    return NULL;
}

const tn_expr *tn_simp_wrap(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    enum tn_ek k = e->kind;
    switch (k) {
    case TN_E_ADD:
    case TN_E_SUB: return wrap_sum(c, k, s[0], s[1]);
    case TN_E_MUL: return wrap_mul(c, s[0], s[1]);
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD: return wrap_div(c, k, s[0], s[1]);
    case TN_E_BITAND:
    case TN_E_BITOR:
    case TN_E_BITXOR: return wrap_bits(c, k, s[0], s[1]);
    case TN_E_SHL:
    case TN_E_SHR: return tn_is_value(s[1], 0) ? s[0] : NULL;
    case TN_E_MIN:
    case TN_E_MAX: return tn_simp_wrap_minmax(c, k, s[0], s[1]);
    case TN_E_EQ:
    case TN_E_NE:
    case TN_E_LT:
    case TN_E_LE: return wrap_compare(c, k, s[0], s[1]);
    default: return NULL;
    }
}

/* ---- floats ---- */

static bool is_float(const tn_expr *e, double v)
{
    return e->kind == TN_E_FLOAT && e->u.f == v &&
           (v != 0 || __builtin_signbit(e->u.f) == __builtin_signbit(v));
}

const tn_expr *tn_simp_float(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    (void)c;
    switch (e->kind) {
    case TN_E_MUL: return is_float(s[1], 1) ? s[0] : is_float(s[0], 1) ? s[1] : NULL;
    case TN_E_DIV: return is_float(s[1], 1) ? s[0] : NULL;
    case TN_E_ADD: return is_float(s[1], -0.0) ? s[0] : is_float(s[0], -0.0) ? s[1] : NULL;
    case TN_E_SUB: return is_float(s[1], 0.0) ? s[0] : NULL;
    case TN_E_MIN:
    case TN_E_MAX: return s[0] == s[1] ? s[0] : NULL;
    default: return NULL;
    }
}

/* ---- conversions ---- */

static bool is_wrapping(tn_dtype t) { return tn_dtype_is_int(t) && t.lanes == 1; }

static bool fits(tn_range r, tn_dtype t)
{
    tn_range all = tn_dtype_range(t);
    if (t.bits == 64)
        return t.code == TN_INT ? r.lo != INT64_MIN && r.hi != INT64_MAX : r.lo >= 0 && r.hi != INT64_MAX;
    return r.lo >= all.lo && r.hi <= all.hi;
}

/* cast(t, cast(mid, x)) where the inner conversion keeps every value of x, or only drops bits the outer drops
 * as well. */
static const tn_expr *cast_of_cast(tn_simp *c, tn_dtype t, const tn_expr *inner)
{
    const tn_expr *x = inner->src[0];
    tn_dtype mid = inner->dtype, from = x->dtype;
    bool from_integer = is_wrapping(from) || tn_dtype_eq(from, TN_IDX) || tn_dtype_eq(from, TN_BOOL1);
    if (!from_integer || !(is_wrapping(mid) || tn_dtype_eq(mid, TN_IDX)) ||
        !(is_wrapping(t) || tn_dtype_eq(t, TN_IDX)))
        return NULL;
    bool kept = tn_dtype_eq(mid, TN_IDX) ? !(from.code == TN_UINT && from.bits == 64)
                                         : fits(tn_bounds_of(&c->b, x), mid);
    bool modular = is_wrapping(t) && is_wrapping(mid) && mid.bits >= t.bits && !tn_dtype_is_bool(from);
    if (!kept && !modular)
        return NULL;
    return tn_dtype_eq(t, from) ? x : tn_expr_make(c->p, TN_E_CAST, t, (tn_payload){0}, 1, &x);
}

const tn_expr *tn_simp_cast(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    const tn_expr *folded = tn_fold(c->p, TN_E_CAST, e->dtype, e->u, 1, s);
    if (folded)
        return folded;
    if (tn_dtype_eq(e->dtype, s[0]->dtype))
        return s[0];
    return s[0]->kind == TN_E_CAST ? cast_of_cast(c, e->dtype, s[0]) : NULL;
}
