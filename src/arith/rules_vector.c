/* Rules of vectors: index vectors as base + lane * stride, and what is the same in every lane done once.
 *
 * An operation of splats is the splat of the operation, in every domain. Sums of ramps are ramps; a quotient
 * or remainder of a ramp by a constant stays one if its stride is a multiple of the divisor or all lanes lie
 * in one bucket.
 */
#include "arith/arith_impl.h"

typedef struct line {
    const tn_expr *base, *stride;
} line; /* lane l holds base + l*stride; index */

static bool line_of(tn_simp *c, const tn_expr *e, line *out)
{
    if (e->kind != TN_E_RAMP && e->kind != TN_E_SPLAT)
        return false;
    out->base = e->src[0];
    out->stride = e->kind == TN_E_RAMP ? e->src[1] : tn_idx(c->p, 0);
    return tn_dtype_eq(out->base->dtype, TN_IDX);
}

static const tn_expr *vector_of(tn_simp *c, const tn_expr *base, const tn_expr *stride, uint16_t lanes)
{
    return tn_is_value(stride, 0) ? tn_splat(c->p, base, lanes) : tn_ramp(c->p, base, stride, lanes);
}

static const tn_expr *sum2(tn_simp *c, const tn_expr *a, const tn_expr *b, int64_t k)
{
    tn_affine x, y;
    if (!tn_simp_affine(c, a, &x) || !tn_simp_affine(c, b, &y) || !tn_affine_addmul(&x, &y, k))
        return NULL;
    return tn_simp_sum(c, &x);
}

static const tn_expr *line_sum(tn_simp *c, int64_t k, line a, line b, uint16_t lanes)
{
    const tn_expr *base = sum2(c, a.base, b.base, k), *stride = sum2(c, a.stride, b.stride, k);
    return base && stride ? vector_of(c, base, stride, lanes) : NULL;
}

static const tn_expr *line_mul(tn_simp *c, line a, line b, uint16_t lanes)
{
    if (!tn_is_value(b.stride, 0)) {
        line t = a;
        a = b;
        b = t;
    }
    if (!tn_is_value(b.stride, 0))
        return NULL;
    return vector_of(c, tn_simp_mul(c, a.base, b.base), tn_simp_mul(c, a.stride, b.base), lanes);
}

static const tn_expr *line_div(tn_simp *c, bool mod, line a, line b, uint16_t lanes)
{
    int64_t k, s;
    if (!tn_is_value(b.stride, 0) || !tn_is_int(b.base, &k) || k <= 0 || !tn_is_int(a.stride, &s))
        return NULL;
    const tn_expr *q = tn_simp_div(c, a.base, b.base), *r = tn_simp_mod(c, a.base, b.base);
    if (s % k == 0)
        return mod ? tn_splat(c->p, r, lanes) : vector_of(c, q, tn_idx(c->p, s / k), lanes);
    tn_range first = tn_bounds_of(&c->b, r);
    int64_t reach;
    if (!tn_i64_mul(s, lanes - 1, &reach) || !tn_i64_add(first.lo, reach < 0 ? reach : 0, &first.lo) ||
        !tn_i64_add(first.hi, reach > 0 ? reach : 0, &first.hi) || first.lo < 0 || first.hi >= k)
        return NULL;
    return mod ? vector_of(c, r, a.stride, lanes) : tn_splat(c->p, q, lanes);
}

/* The same truth in every lane: decided at the lanes where the difference of the sides is extreme, first and
 * last. */
static const tn_expr *line_compare(tn_simp *c, enum tn_ek k, line a, line b, uint16_t lanes)
{
    const tn_expr *end[2], *r[2];
    int64_t v[2];
    if (a.stride == b.stride)
        return tn_splat(c->p, tn_simp_compare(c, k, a.base, b.base), lanes);
    if (k != TN_E_LT && k != TN_E_LE)
        return NULL;
    const tn_expr *last = tn_idx(c->p, lanes - 1);
    end[0] = sum2(c, a.base, tn_simp_mul(c, a.stride, last), 1);
    end[1] = sum2(c, b.base, tn_simp_mul(c, b.stride, last), 1);
    if (!end[0] || !end[1])
        return NULL;
    r[0] = tn_simp_compare(c, k, a.base, b.base);
    r[1] = tn_simp_compare(c, k, end[0], end[1]);
    if (!tn_is_int(r[0], &v[0]) || !tn_is_int(r[1], &v[1]) || v[0] != v[1])
        return NULL;
    return tn_splat(c->p, r[0], lanes);
}

static const tn_expr *by_lines(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    line a, b;
    uint16_t lanes = e->dtype.lanes;
    if (e->nsrc != 2 || !line_of(c, s[0], &a) || !line_of(c, s[1], &b))
        return NULL;
    switch (e->kind) {
    case TN_E_ADD: return line_sum(c, 1, a, b, lanes);
    case TN_E_SUB: return line_sum(c, -1, a, b, lanes);
    case TN_E_MUL: return line_mul(c, a, b, lanes);
    case TN_E_FLOORDIV: return line_div(c, false, a, b, lanes);
    case TN_E_FLOORMOD: return line_div(c, true, a, b, lanes);
    case TN_E_EQ:
    case TN_E_NE:
    case TN_E_LT:
    case TN_E_LE: return line_compare(c, e->kind, a, b, lanes);
    default: return NULL;
    }
}

/* An elementwise operation whose operands are all splats. */
static const tn_expr *of_splats(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    const tn_expr *scalar[3];
    if (e->nsrc < 1 || e->nsrc > 3 || e->kind == TN_E_LOAD || e->kind == TN_E_BITCAST)
        return NULL;
    for (int i = 0; i < e->nsrc; i++) {
        if (s[i]->kind != TN_E_SPLAT)
            return NULL;
        scalar[i] = s[i]->src[0];
    }
    const tn_expr *one = tn_expr_make(c->p, e->kind, tn_dtype_lanes(e->dtype, 1), e->u, e->nsrc, scalar);
    return tn_splat(c->p, tn_simp_scalar(c, one, one->src), e->dtype.lanes);
}

/* An operand that is the same constant in every lane. */
static bool splat_of(const tn_expr *e, int64_t v)
{
    return e->kind == TN_E_SPLAT && tn_is_value(e->src[0], v);
}

static const tn_expr *bool_lanes(enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    bool is_and = k == TN_E_AND;
    for (int i = 0; i < 2; i++) {
        const tn_expr *x = i == 0 ? a : b, *y = i == 0 ? b : a;
        if (splat_of(x, is_and))
            return y;
        if (splat_of(x, !is_and))
            return x;
    }
    return a == b ? a : NULL;
}

const tn_expr *tn_simp_vector(tn_simp *c, const tn_expr *e, const tn_expr *const s[])
{
    if (e->kind == TN_E_RAMP)
        return tn_is_value(s[1], 0) ? tn_splat(c->p, s[0], e->dtype.lanes) : NULL;
    if (e->kind == TN_E_SPLAT || e->kind == TN_E_SHUFFLE)
        return NULL;
    const tn_expr *r = of_splats(c, e, s);
    if (r)
        return r;
    switch (e->kind) {
    case TN_E_AND:
    case TN_E_OR: return bool_lanes(e->kind, s[0], s[1]);
    case TN_E_SELECT: return splat_of(s[0], 1) ? s[1] : splat_of(s[0], 0) ? s[2] : s[1] == s[2] ? s[1] : NULL;
    case TN_E_MUL:
        if (tn_dtype_is_float(e->dtype) && s[1]->kind == TN_E_SPLAT && s[1]->src[0]->kind == TN_E_FLOAT &&
            s[1]->src[0]->u.f == 1)
            return s[0];
        break;
    default: break;
    }
    return by_lines(c, e, s);
}
