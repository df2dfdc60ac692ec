/* Questions about one variable of an expression: its linear coefficient, the interval spanned, the bounds a
 * condition sets.
 *
 * All work on the simplified expression. A span is taken at the corners, so each variable must push the
 * expression one way only; a solved bound is exact over the integers: c*v + r <= 0 with c > 0 is v <
 * floor(-r/c) + 1.
 */
#include "arith/arith_impl.h"

#include <string.h>

enum { SPAN_DEPTH = 64, PARTS = 64, SOLVE_DEPTH = 8 };

static bool uses(const tn_expr *e, const tn_expr *var) { return e->nsrc == 0 ? e == var : tn_uses(e, var); }

/* ---- linear form ---- */

/* a = coef * var + rest; false: var occurs elsewhere. */
static bool split_linear(tn_pool *p, const tn_affine *a, const tn_expr *var, tn_affine *coef, tn_affine *rest)
{
    *coef = (tn_affine){0};
    *rest = (tn_affine){.c = a->c};
    for (int i = 0; i < a->n; i++) {
        const tn_expr *atom = a->term[i].atom, *m;
        int64_t k = a->term[i].coef;
        bool ok;
        if (atom == var)
            ok = tn_affine_addmul(coef, &(tn_affine){.c = 1}, k);
        else if (!uses(atom, var))
            ok = tn_affine_term(rest, atom, k);
        else
            ok = atom->kind == TN_E_MUL && tn_atom_divide(p, atom, var, &m) && m && !uses(m, var) &&
                 tn_affine_term(coef, m, k);
        if (!ok)
            return false;
    }
    return true;
}

bool tn_linear(tn_pool *p, const tn_facts *f, const tn_expr *e, const tn_expr *var, const tn_expr **out_coef,
               const tn_expr **out_rest)
{
    tn_affine a, coef, rest;
    if (!tn_dtype_eq(e->dtype, TN_IDX) || !tn_affine_raw(tn_simplify(p, f, e), &a) ||
        !split_linear(p, &a, var, &coef, &rest))
        return false;
    *out_coef = tn_affine_expr(p, &coef);
    *out_rest = tn_affine_expr(p, &rest);
    return true;
}

/* ---- span ---- */

enum { NONE = 0, UP = 1, DOWN = -1, MIXED = 2 }; /* how a variable pushes an expression */

static int both(int a, int b) { return a == b || b == NONE ? a : a == NONE ? b : MIXED; }

static int turned(int d) { return d == MIXED ? MIXED : -d; }

/* d as seen through a factor or divisor e that does not depend on the variable. */
static int scaled(const tn_facts *f, int d, const tn_expr *e, bool strict)
{
    tn_range r = tn_bounds(f, e);
    if (strict ? r.lo > 0 : r.lo >= 0)
        return d;
    return (strict ? r.hi < 0 : r.hi <= 0) ? turned(d) : MIXED;
}

static int direction(const tn_facts *f, const tn_expr *e, const tn_expr *var, int depth);

static int direction_mul(const tn_facts *f, const tn_expr *e, int a, int b)
{
    if (a == NONE || b == NONE)
        return a == b ? NONE : a == NONE ? scaled(f, b, e->src[0], false) : scaled(f, a, e->src[1], false);
    bool positive = tn_bounds(f, e->src[0]).lo >= 0 && tn_bounds(f, e->src[1]).lo >= 0;
    return positive ? both(a, b) : MIXED;
}

static int direction(const tn_facts *f, const tn_expr *e, const tn_expr *var, int depth)
{
    if (e->nsrc == 0)
        return e == var ? UP : NONE;
    if (depth == 0)
        return uses(e, var) ? MIXED : NONE;
    int d[2] = {NONE, NONE};
    for (int i = 0; i < e->nsrc; i++) {
        int di = direction(f, e->src[i], var, depth - 1);
        if (di == MIXED || (i > 1 && di != NONE))
            return MIXED;
        if (i < 2)
            d[i] = di;
    }
    if (d[0] == NONE && d[1] == NONE)
        return NONE;
    switch (e->kind) {
    case TN_E_ADD:
    case TN_E_MIN:
    case TN_E_MAX: return both(d[0], d[1]);
    case TN_E_SUB: return both(d[0], turned(d[1]));
    case TN_E_MUL: return direction_mul(f, e, d[0], d[1]);
    case TN_E_FLOORDIV:
    case TN_E_TRUNCDIV: return d[1] == NONE ? scaled(f, d[0], e->src[1], true) : MIXED;
    default: return MIXED;
    }
}

/* Does f already say 0 <= var <= extent - 1? */
static bool has_loop(const tn_facts *f, const tn_expr *var, const tn_expr *extent)
{
    uint64_t i;
    int64_t n;
    return f && tn_map_get(&f->range, tn_map_key(var), &i) && tn_is_int(extent, &n) && n > 0 &&
           f->at[i].lo == 0 && f->at[i].hi == n - 1;
}

/* A copy of f (may be NULL) in which the variables run over their extents. */
static void with_loops(tn_pool *p, const tn_facts *f, int n, const tn_expr *const var[],
                       const tn_expr *const extent[], tn_facts *g)
{
    tn_facts_init(g);
    for (size_t i = 0; f && i < f->range.n; i++) {
        const tn_expr *leaf = (const tn_expr *)(uintptr_t)f->range.entry[i].key;
        tn_facts_range(g, leaf, f->at[f->range.entry[i].value].lo, f->at[f->range.entry[i].value].hi);
    }
    for (size_t i = 0; f && i < f->n_upper; i++)
        tn_facts_upper(g, f->upper[i].leaf, f->upper[i].max);
    for (size_t i = 0; f && i < f->n_cond; i++)
        tn_facts_assume(g, f->cond[i]);
    for (int i = 0; i < n; i++)
        tn_facts_loop(p, g, var[i], extent[i]);
}

static bool span(tn_pool *p, const tn_facts *f, const tn_expr *e, int n, const tn_expr *const var[],
                 const tn_expr *const extent[], const tn_expr **out_lo, const tn_expr **out_hi)
{
    e = tn_simplify(p, f, e);
    const tn_expr *lo = e, *hi = e, *zero = tn_idx(p, 0);
    for (int i = 0; i < n; i++) {
        int d = direction(f, e, var[i], SPAN_DEPTH);
        if (d == MIXED)
            return false;
        if (d == NONE)
            continue;
        const tn_expr *last = tn_sub(p, extent[i], tn_idx(p, 1));
        lo = tn_subst(p, lo, 1, &var[i], d == UP ? &zero : &last);
        hi = tn_subst(p, hi, 1, &var[i], d == UP ? &last : &zero);
    }
    *out_lo = tn_simplify(p, f, lo);
    *out_hi = tn_simplify(p, f, hi);
    return true;
}

bool tn_span(tn_pool *p, const tn_facts *f, const tn_expr *e, int n, const tn_expr *const var[],
             const tn_expr *const extent[], const tn_expr **out_lo, const tn_expr **out_hi)
{
    tn_facts g;
    bool known = true;
    for (int i = 0; i < n; i++)
        known &= !uses(e, var[i]) || has_loop(f, var[i], extent[i]);
    if (known)
        return span(p, f, e, n, var, extent, out_lo, out_hi);
    with_loops(p, f, n, var, extent, &g);
    bool ok = span(p, &g, e, n, var, extent, out_lo, out_hi);
    tn_facts_deinit(&g);
    return ok;
}

/* ---- solving ---- */

typedef struct solver {
    tn_pool *p;
    const tn_facts *f;
    const tn_expr *var, *lo, *hi, *rest; /* lo <= var < hi; NULL: none */
} solver;

static void also(solver *s, const tn_expr *cond) { s->rest = s->rest ? tn_and(s->p, s->rest, cond) : cond; }

static void bound(solver *s, const tn_expr *lo, const tn_expr *hi)
{
    if (lo)
        s->lo = tn_simplify(s->p, s->f, s->lo ? tn_max(s->p, s->lo, lo) : lo);
    if (hi)
        s->hi = tn_simplify(s->p, s->f, s->hi ? tn_min(s->p, s->hi, hi) : hi);
}

static const tn_expr *sum(solver *s, const tn_affine *a, int64_t k)
{
    tn_affine t = {0};
    return tn_affine_addmul(&t, a, k) ? tn_affine_expr(s->p, &t) : NULL;
}

/* coef * var + rest <= 0; false: the sign of coef is not known. */
static bool solve_linear(solver *s, const tn_affine *coef, const tn_affine *rest)
{
    tn_pool *p = s->p;
    const tn_expr *c = tn_affine_expr(p, coef), *one = tn_idx(p, 1);
    tn_range r = tn_bounds(s->f, c);
    if (r.lo > 0) { /* var <= floor(-rest / coef) */
        const tn_expr *neg = sum(s, rest, -1);
        if (!neg)
            return false;
        bound(s, NULL, tn_add(p, tn_fdiv(p, neg, c), one));
        return true;
    }
    if (r.hi < 0) { /* var >= ceil(rest / -coef) */
        const tn_expr *d = sum(s, coef, -1), *x = sum(s, rest, 1);
        if (!d || !x)
            return false;
        bound(s, tn_fdiv(p, tn_sub(p, tn_add(p, x, d), one), d), NULL);
        return true;
    }
    return false;
}

static bool solve_le0(solver *s, const tn_affine *a, int depth);

/* k*(x/d) + r <= 0 where var is in x alone: x/d <= floor(-r/k), so x <= d*floor(-r/k) + d - 1; and k < 0
 * alike. */
static bool solve_quotient(solver *s, const tn_affine *a, int i, int depth)
{
    const tn_expr *e = a->term[i].atom;
    int64_t d, k = a->term[i].coef;
    tn_affine rest = *a, x, q, t = {0};
    if (!tn_is_int(e->src[1], &d) || d <= 0 || !tn_affine_raw(e->src[0], &x))
        return false;
    tn_affine_drop(&rest, i);
    const tn_expr *r =
        k > 0 ? sum(s, &rest, -1) : tn_add(s->p, tn_affine_expr(s->p, &rest), tn_idx(s->p, -k - 1));
    if (!r || !tn_affine_raw(tn_simplify(s->p, s->f, tn_fdiv(s->p, r, tn_idx(s->p, k > 0 ? k : -k))), &q))
        return false;
    if (k > 0) /* x - d*q - d + 1 <= 0 */
        return tn_affine_addmul(&t, &x, 1) && tn_affine_addmul(&t, &q, -d) &&
               tn_affine_addmul(&t, &(tn_affine){.c = 1}, 1 - d) && solve_le0(s, &t, depth - 1);
    return tn_affine_addmul(&t, &q, d) && tn_affine_addmul(&t, &x, -1) &&
           solve_le0(s, &t, depth - 1); /* d*q <= x */
}

/* A minimum above or a maximum below bounds with both operands. */
static bool solve_minmax(solver *s, const tn_affine *a, int i, int depth)
{
    const tn_expr *e = a->term[i].atom;
    tn_affine part[2], x;
    solver t = *s;
    if ((e->kind == TN_E_MIN) != (a->term[i].coef < 0))
        return false;
    for (int n = 0; n < 2; n++) {
        part[n] = *a;
        tn_affine_drop(&part[n], i);
        if (!tn_affine_raw(e->src[n], &x) || !tn_affine_addmul(&part[n], &x, a->term[i].coef) ||
            !solve_le0(&t, &part[n], depth - 1))
            return false;
    }
    *s = t;
    return true;
}

/* a <= 0 */
static bool solve_le0(solver *s, const tn_affine *a, int depth)
{
    tn_affine coef, rest;
    int at = -1, n = 0;
    if (split_linear(s->p, a, s->var, &coef, &rest)) {
        if (coef.n > 0 || coef.c != 0)
            return solve_linear(s, &coef, &rest);
        const tn_expr *x = tn_affine_expr(s->p, a);
        also(s, tn_simplify(s->p, s->f, tn_le(s->p, x, tn_idx(s->p, 0))));
        return true;
    }
    for (int i = 0; i < a->n; i++) {
        if (uses(a->term[i].atom, s->var)) {
            at = i;
            n++;
        }
    }
    if (n != 1 || depth == 0)
        return false;
    switch (a->term[at].atom->kind) {
    case TN_E_FLOORDIV: return solve_quotient(s, a, at, depth);
    case TN_E_MIN:
    case TN_E_MAX: return solve_minmax(s, a, at, depth);
    default: return false;
    }
}

/* coef * var + rest == 0 with a constant coef: one value, if coef divides rest. */
static bool solve_eq(solver *s, const tn_expr *cond)
{
    tn_affine a, b, coef, rest;
    tn_pool *p = s->p;
    if (cond->kind != TN_E_EQ || !tn_affine_raw(cond->src[0], &a) || !tn_affine_raw(cond->src[1], &b) ||
        !tn_affine_addmul(&a, &b, -1) || !split_linear(p, &a, s->var, &coef, &rest) || coef.n > 0 ||
        coef.c == 0)
        return false;
    const tn_expr *r = sum(s, &rest, coef.c > 0 ? -1 : 1), *k = tn_idx(p, coef.c > 0 ? coef.c : -coef.c);
    if (!r)
        return false;
    const tn_expr *q = tn_fdiv(p, r, k),
                  *exact = tn_simplify(p, s->f, tn_eq(p, tn_fmod(p, r, k), tn_idx(p, 0)));
    bound(s, q, tn_add(p, q, tn_idx(p, 1)));
    if (!tn_is_value(exact, 1))
        also(s, exact);
    return true;
}

static void solve_part(solver *s, const tn_expr *cond)
{
    tn_affine a;
    if (tn_is_value(cond, 1))
        return;
    if (!uses(cond, s->var) ||
        !(solve_eq(s, cond) || (tn_affine_cond(NULL, cond, &a) && solve_le0(s, &a, SOLVE_DEPTH))))
        also(s, cond);
}

void tn_solve_bounds(tn_pool *p, const tn_facts *f, const tn_expr *cond, const tn_expr *var,
                     const tn_expr **out_lo, const tn_expr **out_hi, const tn_expr **out_rest)
{
    const tn_expr *stack[PARTS];
    solver s = {p, f, var, NULL, NULL, NULL};
    int n = 0;
    stack[n++] = tn_simplify(p, f, cond);
    while (n > 0) {
        const tn_expr *e = stack[--n];
        if (e->kind == TN_E_AND && n + 2 <= PARTS) {
            stack[n++] = e->src[0];
            stack[n++] = e->src[1];
        } else {
            solve_part(&s, e);
        }
    }
    *out_lo = s.lo;
    *out_hi = s.hi;
    *out_rest = s.rest ? tn_simplify(p, f, s.rest) : NULL;
}
