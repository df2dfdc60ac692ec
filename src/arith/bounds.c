/* Interval analysis: the smallest interval that can be shown to hold an index or integer expression.
 *
 * INT64_MIN / INT64_MAX as an end means unbounded; results beyond int64 become unbounded. Sums go through
 * their affine form, so equal terms cancel before intervals are added; terms that clip one value at constants
 * are taken together (clips.c). Assumptions of the form c*atom <= d narrow that atom. Each distinct node is
 * worked out once (memo); deeper than TN_BOUNDS_DEPTH counts as unbounded.
 */
#include "arith/arith_impl.h"
#include "base/vec.h"

static const tn_facts no_facts;

/* ---- arithmetic on ends, with infinities ---- */

static bool inf(int64_t x) { return x == INT64_MIN || x == INT64_MAX; }

static int64_t add_lo(int64_t a, int64_t b)
{
    int64_t r;
    return a == INT64_MIN || b == INT64_MIN || !tn_i64_add(a, b, &r) ? INT64_MIN : r;
}

static int64_t add_hi(int64_t a, int64_t b)
{
    int64_t r;
    return a == INT64_MAX || b == INT64_MAX || !tn_i64_add(a, b, &r) ? INT64_MAX : r;
}

static int64_t neg(int64_t a) { return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a; }

static int64_t mul_end(int64_t a, int64_t b)
{
    int64_t r;
    if (a == 0 || b == 0)
        return 0;
    if (!inf(a) && !inf(b) && tn_i64_mul(a, b, &r))
        return r;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

/* floor(a / b), b > 0 */
static int64_t div_end(int64_t a, int64_t b)
{
    if (b == INT64_MAX)
        return a >= 0 ? 0 : -1;
    return inf(a) ? a : tn_floordiv(a, b);
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- on intervals ---- */

static tn_range r_add(tn_range a, tn_range b) { return (tn_range){add_lo(a.lo, b.lo), add_hi(a.hi, b.hi)}; }

static tn_range r_neg(tn_range a) { return (tn_range){neg(a.hi), neg(a.lo)}; }

static tn_range r_corners(tn_range a, tn_range b, int64_t (*fn)(int64_t, int64_t))
{
    int64_t w = fn(a.lo, b.lo), x = fn(a.lo, b.hi), y = fn(a.hi, b.lo), z = fn(a.hi, b.hi);
    return (tn_range){min64(min64(w, x), min64(y, z)), max64(max64(w, x), max64(y, z))};
}

static tn_range r_mul(tn_range a, tn_range b) { return r_corners(a, b, mul_end); }

static tn_range r_join(tn_range a, tn_range b) { return (tn_range){min64(a.lo, b.lo), max64(a.hi, b.hi)}; }

static tn_range r_meet(tn_range a, tn_range b)
{
    tn_range r = {max64(a.lo, b.lo), min64(a.hi, b.hi)};
    return r.lo <= r.hi ? r : a; /* contradictory facts: anything holds; keep an interval that is one */
}

/* Largest magnitude an interval reaches, as an interval around 0. */
static tn_range r_magnitude(tn_range a)
{
    int64_t m = max64(a.lo == INT64_MIN ? INT64_MAX : a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? neg(a.hi) : a.hi);
    return (tn_range){neg(m), m};
}

/* The divisor is not 0, so an end that is 0 moves inwards. */
static tn_range r_nonzero(tn_range b)
{
    if (b.lo == 0 && b.hi > 0)
        b.lo = 1;
    if (b.hi == 0 && b.lo < 0)
        b.hi = -1;
    return b;
}

static tn_range r_floordiv(tn_range a, tn_range b)
{
    b = r_nonzero(b);
    if (b.hi < 0)
        return r_floordiv(r_neg(a), r_neg(b));
    return b.lo > 0 ? r_corners(a, b, div_end) : r_magnitude(a);
}

static tn_range r_floormod(tn_range a, tn_range b)
{
    b = r_nonzero(b);
    if (b.hi < 0)
        return r_neg(r_floormod(r_neg(a), r_neg(b)));
    int64_t top = add_hi(b.hi, -1);
    if (b.lo <= 0)
        return (tn_range){b.lo == INT64_MIN ? INT64_MIN : min64(b.lo + 1, 0), max64(top, 0)};
    if (b.lo == b.hi && !inf(a.lo) && !inf(a.hi) && tn_floordiv(a.lo, b.lo) == tn_floordiv(a.hi, b.lo))
        return (tn_range){tn_floormod(a.lo, b.lo), tn_floormod(a.hi, b.lo)};
    if (a.lo >= 0 && a.hi < b.lo)
        return a;
    return (tn_range){0, a.lo >= 0 ? min64(a.hi, top) : top};
}

static tn_range r_truncdiv(tn_range a, tn_range b)
{
    b = r_nonzero(b);
    return a.lo >= 0 && b.lo > 0 ? r_floordiv(a, b) : r_magnitude(a);
}

static tn_range r_truncmod(tn_range a, tn_range b)
{
    b = r_nonzero(b);
    if (a.lo >= 0 && b.lo > 0)
        return r_floormod(a, b);
    tn_range m = r_magnitude(b), n = r_magnitude(a);
    int64_t top = max64(min64(add_hi(m.hi, -1), n.hi), 0);
    return (tn_range){a.lo >= 0 ? 0 : neg(top), a.hi <= 0 ? 0 : top};
}

tn_range tn_dtype_range(tn_dtype t)
{
    if (tn_dtype_is_bool(t))
        return (tn_range){0, 1};
    if (t.code == TN_UINT && t.bits < 64)
        return (tn_range){0, (int64_t)((UINT64_C(1) << t.bits) - 1)};
    if (t.code == TN_INT && t.bits < 64)
        return (tn_range){-(INT64_C(1) << (t.bits - 1)), (INT64_C(1) << (t.bits - 1)) - 1};
    return TN_NO_RANGE;
}

/* ---- what assumptions say of single atoms ---- */

static void tighten(tn_memo *m, const tn_expr *atom, tn_range r)
{
    for (size_t i = 0; i < m->n_tight; i++) {
        if (m->tight[i].atom == atom) {
            m->tight[i].range = r_meet(m->tight[i].range, r);
            return;
        }
    }
    if (m->n_tight == TN_TIGHT_MAX)
        return;
    if (m->n_tight == m->cap_tight)
        m->tight = tn_vec_grow(m->tight, m->n_tight, 1, &m->cap_tight, sizeof *m->tight);
    m->tight[m->n_tight].atom = atom;
    m->tight[m->n_tight++].range = r;
}

/* k * atom + c <= 0 */
static void tighten_le(tn_memo *m, const tn_expr *atom, int64_t k, int64_t c)
{
    if (k > 0)
        tighten(m, atom, (tn_range){INT64_MIN, tn_floordiv(-c, k)});
    else
        tighten(m, atom, (tn_range){-tn_floordiv(-c, -k), INT64_MAX});
}

static void tighten_by(tn_memo *m, const tn_expr *cond, int depth)
{
    tn_affine a;
    if (cond->kind == TN_E_AND && depth > 0) {
        tighten_by(m, cond->src[0], depth - 1);
        tighten_by(m, cond->src[1], depth - 1);
    } else if (cond->kind == TN_E_EQ && tn_dtype_eq(cond->src[0]->dtype, TN_IDX)) {
        tn_affine b;
        if (tn_affine_raw(cond->src[0], &a) && tn_affine_raw(cond->src[1], &b) &&
            tn_affine_addmul(&a, &b, -1) && a.n == 1) {
            tighten_le(m, a.term[0].atom, a.term[0].coef, a.c);
            tighten_le(m, a.term[0].atom, -a.term[0].coef, -a.c);
        }
    } else if (tn_affine_cond(NULL, cond, &a) && a.n == 1) {
        tighten_le(m, a.term[0].atom, a.term[0].coef, a.c);
    }
}

static tn_range visit(const tn_bnd *b, const tn_expr *e, int depth);

static void gather_tight(const tn_bnd *b)
{
    tn_memo *m = b->m;
    m->has_tight = true;
    for (size_t i = 0; i < b->f->n_cond; i++)
        tighten_by(m, b->f->cond[i], 16);
    for (size_t i = 0; i < b->f->n_upper; i++) { /* what narrowed an extent narrows its loop */
        tn_range r = {INT64_MIN, visit(b, b->f->upper[i].max, TN_BOUNDS_DEPTH).hi};
        tighten(m, b->f->upper[i].leaf, r);
    }
}

static tn_range tight_range(const tn_bnd *b, const tn_expr *e, tn_range r)
{
    tn_memo *m = b->m;
    if (b->f->n_cond == 0)
        return r;
    if (!m->has_tight)
        gather_tight(b);
    for (size_t i = 0; i < m->n_tight; i++)
        if (m->tight[i].atom == e)
            return r_meet(r, m->tight[i].range);
    return r;
}

bool tn_bounds_residue(const tn_bnd *b, const tn_expr *x, size_t *at, int64_t *m, int64_t *r)
{
    if (b->f->n_cond == 0)
        return false;
    if (!b->m->has_tight)
        gather_tight(b);
    while (*at < b->m->n_tight) {
        const tn_expr *e = b->m->tight[*at].atom;
        tn_range known = b->m->tight[(*at)++].range;
        if (e->kind == TN_E_FLOORMOD && e->src[0] == x && tn_is_int(e->src[1], m) && *m > 0 &&
            tn_range_is_point(known) && known.lo >= 0 && known.lo < *m) {
            *r = known.lo;
            return true;
        }
    }
    return false;
}

/* ---- expressions ---- */

static tn_range leaf_range(const tn_bnd *b, const tn_expr *e)
{
    uint64_t i;
    if (tn_map_get(&b->f->range, tn_map_key(e), &i))
        return b->f->at[i];
    if (e->kind == TN_E_SYM)
        return (tn_range){0, INT32_MAX};
    return tn_dtype_is_index(e->dtype) ? TN_NO_RANGE : tn_dtype_range(e->dtype);
}

static tn_range term_range(const tn_bnd *b, const tn_affine *a, int i, int depth)
{
    int64_t k = a->term[i].coef;
    return r_mul(visit(b, a->term[i].atom, depth - 1), (tn_range){k, k});
}

/* The terms of a in x and in what clips it, which are left out of *rest. */
static tn_range clipped_range(const tn_bnd *b, const tn_affine *a, const tn_expr *x, int depth,
                              uint64_t *rest)
{
    tn_bend s[TN_AFFINE_MAX];
    tn_range r = {0, 0};
    int n = 0;
    for (int i = 0; i < a->n; i++) {
        const tn_expr *atom = a->term[i].atom;
        if (atom != x && tn_clipped(atom) != x)
            continue;
        *rest &= ~(UINT64_C(1) << i);
        s[n++] = tn_bend_of(x, atom, a->term[i].coef);
        r = r_add(r, term_range(b, a, i, depth));
    }
    return n > 1 ? r_meet(r, tn_bends_range(n, s, visit(b, x, depth - 1))) : r;
}

static tn_range affine_range(const tn_bnd *b, const tn_affine *a, int depth)
{
    _Static_assert(TN_AFFINE_MAX <= 64, "a bit for each term");
    uint64_t rest = UINT64_MAX;
    tn_range r = {a->c, a->c};
    for (int i = 0; i < a->n; i++) {
        const tn_expr *x = rest >> i & 1 ? tn_clipped(a->term[i].atom) : NULL;
        if (x)
            r = r_add(r, clipped_range(b, a, x, depth, &rest));
    }
    for (int i = 0; i < a->n; i++)
        if (rest >> i & 1)
            r = r_add(r, term_range(b, a, i, depth));
    return r;
}

static bool reaches_minus_one(tn_range r) { return r.lo <= -1 && r.hi >= -1; }

static tn_range shift_range(enum tn_ek k, tn_range a, tn_range s)
{
    if (s.lo != s.hi || s.lo < 0 || s.lo > 62)
        return k == TN_E_SHR && a.lo >= 0 ? (tn_range){0, a.hi} : TN_NO_RANGE;
    tn_range by = {INT64_C(1) << s.lo, INT64_C(1) << s.lo};
    return k == TN_E_SHL ? r_mul(a, by) : r_floordiv(a, by);
}

static tn_range bitand_range(tn_range a, tn_range b)
{
    if (a.lo >= 0 || b.lo >= 0)
        return (tn_range){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : min64(a.hi, b.hi)};
    return TN_NO_RANGE;
}

static tn_range binary_range(enum tn_ek k, tn_range x, tn_range y)
{
    switch (k) {
    case TN_E_ADD: return r_add(x, y);
    case TN_E_SUB: return r_add(x, r_neg(y));
    case TN_E_MUL: return r_mul(x, y);
    case TN_E_FLOORDIV: return r_floordiv(x, y);
    case TN_E_FLOORMOD: return r_floormod(x, y);
    case TN_E_TRUNCDIV: return r_truncdiv(x, y);
    case TN_E_TRUNCMOD: return r_truncmod(x, y);
    case TN_E_MIN: return (tn_range){min64(x.lo, y.lo), min64(x.hi, y.hi)};
    case TN_E_MAX: return (tn_range){max64(x.lo, y.lo), max64(x.hi, y.hi)};
    case TN_E_BITAND: return bitand_range(x, y);
    case TN_E_SHL:
    case TN_E_SHR: return shift_range(k, x, y);
    default: return TN_NO_RANGE;
    }
}

static bool integral(tn_dtype t) { return tn_dtype_is_index(t) || tn_dtype_is_int(t) || tn_dtype_is_bool(t); }

/* A data integer wraps unless its exact result fits: the exact interval, if it lies within the dtype, else all
 * of it. The lone trap of division, min / -1, does not fit either. */
static tn_range fitted(tn_dtype t, tn_range exact)
{
    tn_range all = tn_dtype_range(t);
    if (tn_dtype_is_index(t))
        return exact;
    if (t.bits == 64)
        return t.code == TN_INT && !inf(exact.lo) && !inf(exact.hi) ? exact : all;
    return exact.lo >= all.lo && exact.hi <= all.hi ? exact : all;
}

static tn_range node_range(const tn_bnd *b, const tn_expr *e, int depth)
{
    tn_range x, y;
    switch (e->kind) {
    case TN_E_CAST:
        if (!integral(e->src[0]->dtype))
            return tn_dtype_is_index(e->dtype) ? TN_NO_RANGE : tn_dtype_range(e->dtype);
        return fitted(e->dtype, visit(b, e->src[0], depth - 1));
    case TN_E_SELECT: return r_join(visit(b, e->src[1], depth - 1), visit(b, e->src[2], depth - 1));
    case TN_E_SPLAT: return visit(b, e->src[0], depth - 1);
    case TN_E_SHUFFLE:
        return r_join(visit(b, e->src[0], depth - 1), visit(b, e->src[e->nsrc - 1], depth - 1));
    case TN_E_RAMP:
        x = visit(b, e->src[0], depth - 1);
        y = visit(b, e->src[1], depth - 1);
        return fitted(e->dtype, r_add(x, r_mul(y, (tn_range){0, e->dtype.lanes - 1})));
    case TN_E_CALL:
        x = e->u.call.id == TN_F_abs ? visit(b, e->src[0], depth - 1) : TN_NO_RANGE;
        return fitted(e->dtype, (tn_range){x.lo >= 0 ? x.lo : x.hi < 0 ? neg(x.hi) : 0, r_magnitude(x).hi});
    default: break;
    }
    if (e->nsrc != 2 || e->kind == TN_E_LOAD || !tn_dtype_eq(e->src[0]->dtype, e->dtype) ||
        tn_dtype_is_bool(e->dtype))
        return tn_dtype_is_index(e->dtype) ? TN_NO_RANGE : tn_dtype_range(e->dtype);
    x = visit(b, e->src[0], depth - 1);
    y = visit(b, e->src[1], depth - 1);
    if (e->dtype.code == TN_UINT && e->dtype.bits == 64)
        return TN_NO_RANGE; /* values from 2^63 on are held as negative numbers */
    if ((e->kind == TN_E_FLOORDIV || e->kind == TN_E_TRUNCDIV) && e->dtype.bits == 64 &&
        tn_dtype_is_int(e->dtype) && x.lo == INT64_MIN && reaches_minus_one(y))
        return TN_NO_RANGE;
    tn_range r = binary_range(e->kind, x, y);
    if (e->kind >= TN_E_FLOORDIV && e->kind <= TN_E_TRUNCMOD && !tn_dtype_is_index(e->dtype) && y.lo <= 0 &&
        y.hi >= 0)
        r = (tn_range){min64(r.lo, 0), max64(r.hi, 0)}; /* by 0 they give 0 */
    return fitted(e->dtype, r);
}

static tn_range visit(const tn_bnd *b, const tn_expr *e, int depth)
{
    tn_affine a;
    if (e->kind == TN_E_INT)
        return (tn_range){e->u.i, e->u.i};
    if (e->kind == TN_E_VAR || e->kind == TN_E_SYM)
        return tight_range(b, e, leaf_range(b, e));
    if (depth <= 0 || !integral(e->dtype))
        return TN_NO_RANGE;
    const tn_memo_entry *seen = tn_memo_find(b->m, e);
    if (seen && seen->has_range)
        return seen->range;
    tn_range r;
    bool sum = e->kind == TN_E_ADD || e->kind == TN_E_SUB || e->kind == TN_E_MUL;
    if (sum && tn_dtype_eq(e->dtype, TN_IDX) && tn_affine_raw(e, &a) && !(a.n == 1 && a.term[0].atom == e))
        r = affine_range(b, &a, depth);
    else
        r = node_range(b, e, depth);
    r = tight_range(b, e, r);
    tn_memo_entry *m = tn_memo_at(b->m, e);
    m->range = r;
    m->has_range = true;
    return r;
}

tn_range tn_bounds_of(const tn_bnd *b, const tn_expr *e) { return visit(b, e, TN_BOUNDS_DEPTH); }

tn_range tn_bounds_affine(const tn_bnd *b, const tn_affine *a) { return affine_range(b, a, TN_BOUNDS_DEPTH); }

tn_range tn_bounds(const tn_facts *f, const tn_expr *e)
{
    tn_memo own;
    if (e->kind == TN_E_INT)
        return (tn_range){e->u.i, e->u.i};
    if (f && f->memo && f->memo->n > TN_MEMO_LIMIT)
        tn_memo_clear(f->memo);
    if (f && f->memo)
        return tn_bounds_of(&(tn_bnd){f, f->memo}, e);
    tn_memo_init(&own);
    tn_range r = tn_bounds_of(&(tn_bnd){f ? f : &no_facts, &own}, e);
    tn_memo_deinit(&own);
    return r;
}
