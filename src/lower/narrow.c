/* NarrowLanes: masks of lanes compare int32. An index has 64 bits, so a comparison of lanes by their indices takes two
 * or more vectors for each vector of data, and their results are packed into one. How far lanes are from a bound
 * fits 32 bits:
 *
 *     ramp(base + 8, 1, 8) < splat(bound, 8)    is    ramp(8i32, 1i32, 8) < splat(i32(bound - base), 8)
 *
 * where the difference is limited to what is beyond all lanes. Neighbouring vectors compare the same difference. */
#include "lower/lower_impl.h"

enum { FAR = 1 << 30, MAX_LANE = 1 << 20 }; /* the limit; the most that constants of lanes may be */

/* Lanes l = 0, 1 ... have the value base + first + step*l. */
typedef struct {
    const tn_expr *base;
    int64_t first, step;
} line;

static bool is_near(int64_t v) { return v >= -MAX_LANE && v <= MAX_LANE; }

static bool is_small(const tn_expr *e, int64_t *out) { return tn_is_int(e, out) && is_near(*out); }

static bool line_of(tn_pool *p, const tn_expr *e, line *out)
{
    line a, b;
    int64_t n;
    switch (e->kind) {
    case TN_E_SPLAT: *out = (line){e->src[0], 0, 0}; return true;
    case TN_E_RAMP: *out = (line){e->src[0], 0, 0}; return is_small(e->src[1], &out->step);
    case TN_E_ADD:
    case TN_E_SUB:
        if (!line_of(p, e->src[0], &a) || !line_of(p, e->src[1], &b))
            return false;
        *out = e->kind == TN_E_ADD ? (line){tn_add(p, a.base, b.base), 0, a.step + b.step}
                                   : (line){tn_sub(p, a.base, b.base), 0, a.step - b.step};
        return is_near(out->step);
    case TN_E_MUL:
        if (!line_of(p, e->src[0], &a) || !line_of(p, e->src[1], &b) || (a.step && b.step))
            return false;
        n = 0;
        if ((a.step && !is_small(b.base, &n)) || (b.step && !is_small(a.base, &n)))
            return false;
        *out = (line){tn_mul(p, a.base, b.base), 0, n * (a.step + b.step)};
        return is_near(out->step);
    default: return false;
    }
}

/* The constant of a sum moves to `first`. */
static void take_constant(tn_pool *p, line *x)
{
    tn_affine sum;
    if (!tn_affine_of(p, x->base, &sum))
        return;
    x->first += sum.c;
    sum.c = 0;
    x->base = tn_affine_expr(p, &sum);
}

static const tn_expr *narrow(tn_pool *p, const tn_expr *e, void *user)
{
    (void)user;
    bool compares = e->kind == TN_E_LT || e->kind == TN_E_LE || e->kind == TN_E_EQ || e->kind == TN_E_NE;
    line a, b;
    if (!compares || e->dtype.lanes == 1 || !tn_dtype_is_index(e->src[0]->dtype) ||
        !line_of(p, e->src[0], &a) || !line_of(p, e->src[1], &b))
        return NULL;
    line x = {tn_sub(p, b.base, a.base), 0, a.step - b.step}; /* step*l against first + base */
    if (x.step == 0 || !is_near(x.step))
        return NULL;
    take_constant(p, &x);
    if (!is_near(x.first))
        return NULL;
    const tn_expr *far = tn_min(p, tn_max(p, x.base, tn_idx(p, -FAR)), tn_idx(p, FAR));
    const tn_expr *lanes = tn_ramp(p, tn_int(p, TN_I32, -x.first), tn_int(p, TN_I32, x.step), e->dtype.lanes);
    return tn_bin(p, (enum tn_ek)e->kind, lanes, tn_splat(p, tn_cast(p, TN_I32, far), e->dtype.lanes));
}

/* Not those of lanes of 64 bits, whose masks have as many. */
static const tn_expr *narrow_mask(tn_pool *p, const tn_expr *e, void *user)
{
    const tn_expr *src[3];
    int at = e->kind == TN_E_SELECT ? 0 : -1;
    if (e->kind == TN_E_LOAD && tn_load_mask(e))
        at = (int)e->u.load.n_index;
    if (at < 0 || e->dtype.lanes == 1 || e->dtype.bits > 32 || tn_dtype_is_index(e->dtype))
        return NULL;
    TN_ASSERT(e->nsrc <= 3);
    for (int i = 0; i < e->nsrc; i++)
        src[i] = i == at ? tn_rewrite(p, e->src[i], narrow, user) : e->src[i];
    return tn_rebuild(p, e, src);
}

static const tn_expr *narrow_expr(const tn_expr *e, void *user)
{
    return e->has_load || e->dtype.lanes > 1 ? tn_rewrite(user, e, narrow_mask, NULL) : e;
}

static bool narrow_stmt(tn_stmt *s, void *user)
{
    tn_pool *p = user;
    if (tn_stmt_is_nest(s))
        return false;
    tn_stmt_exprs(s, narrow_expr, p);
    if (s->kind == TN_S_STORE && s->u.store.mask && s->u.store.value->dtype.bits <= 32)
        s->u.store.mask = tn_rewrite(p, s->u.store.mask, narrow, NULL);
    return true;
}

tn_status tn_lower_narrow(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_stmt_walk(&f->body, narrow_stmt, NULL, f->pool);
    return TN_OK;
}
