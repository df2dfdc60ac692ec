/* Proofs of linear inequalities from assumptions: is a <= 0 for certain?
 *
 * First the interval of a. Then a search in the manner of Fourier and Motzkin: every assumption b <= 0 that
 * shares an atom with a (same sign) cancels it, for m*a - k*b <= 0 with m, k > 0 implies a <= 0; quotients
 * give way to what bounds them, minima and maxima to their operands, and an assumption may be multiplied by
 * what is not negative. The search is cut at one step, then at DEPTH, and has WORK to spend: a unit for each
 * sum it looks at, one more for each TERMS of its terms, and one for each rule of the simplifier that it sets
 * going. So a proof costs O(WORK * (KNOWN_MAX + TERMS)) however many facts there are and however they are
 * built, and the same on every machine; what it asks on its way is answered by intervals alone. Assumptions
 * are simplified once per state of the facts, under the ranges alone (not under themselves).
 */
#include "arith/arith_impl.h"
#include "base/vec.h"

enum { DEPTH = 5, WORK = 256, KNOWN_MAX = 128, AND_DEPTH = 64, TERMS = 8 };

/* ---- what is known ---- */

static bool same_affine(const tn_affine *a, const tn_affine *b)
{
    bool same = a->n == b->n && a->c == b->c;
    for (int i = 0; i < a->n && same; i++)
        same = a->term[i].atom == b->term[i].atom && a->term[i].coef == b->term[i].coef;
    return same;
}

/* False: it is known already, or there is no room. */
static bool push_known(tn_memo *m, const tn_affine *a)
{
    if (a->n == 0 || m->n_known == KNOWN_MAX)
        return false;
    for (uint32_t i = 0; i < m->n_known; i++)
        if (same_affine(&m->known[i], a))
            return false;
    if (m->n_known == m->cap_known)
        m->known = tn_vec_grow(m->known, m->n_known, 1, &m->cap_known, sizeof *m->known);
    m->known[m->n_known++] = *a;
    return true;
}

/* a <= 0 holds; so it does with each operand of a minimum above it or a maximum below: of some or of all of
 * them, because what is to be proved may have the others in it. */
static void add_known(tn_memo *m, const tn_affine *a, int depth)
{
    bool fresh = push_known(m, a);
    for (int i = 0; i < a->n && depth > 0 && fresh; i++) {
        const tn_expr *e = a->term[i].atom;
        int64_t k = a->term[i].coef;
        if (!(e->kind == TN_E_MIN && k < 0) && !(e->kind == TN_E_MAX && k > 0))
            continue;
        for (int s = 0; s < 2; s++) {
            tn_affine t = *a, x;
            tn_affine_drop(&t, i);
            if (tn_affine_raw(e->src[s], &x) && tn_affine_addmul(&t, &x, k))
                add_known(m, &t, depth - 1);
        }
    }
}

static void add_held(tn_memo *m, const tn_expr *cond, int depth)
{
    tn_affine a, b;
    if (cond->kind == TN_E_AND && depth > 0) {
        add_held(m, cond->src[0], depth - 1);
        add_held(m, cond->src[1], depth - 1);
        return;
    }
    if (m->n_held == m->cap_held)
        m->held = tn_vec_grow(m->held, m->n_held, 1, &m->cap_held, sizeof *m->held);
    m->held[m->n_held++] = cond;
    if (tn_affine_cond(NULL, cond, &a)) {
        add_known(m, &a, 4);
    } else if (cond->kind == TN_E_EQ && tn_affine_raw(cond->src[0], &a) && tn_affine_raw(cond->src[1], &b) &&
               tn_affine_addmul(&a, &b, -1)) {
        add_known(m, &a, 4);
        b = (tn_affine){0};
        if (tn_affine_addmul(&b, &a, -1))
            add_known(m, &b, 4);
    }
}

static void gather(tn_simp *c)
{
    const tn_facts *f = c->f;
    tn_memo *m = c->m, own;
    tn_simp plain;
    tn_facts ranges = *f;
    if (m->has_known)
        return;
    m->has_known = true;
    ranges.n_cond = ranges.n_upper = 0;
    ranges.memo = NULL;
    tn_simp_open(&plain, c->p, &ranges, &own);
    for (size_t i = 0; i < f->n_upper; i++) {
        tn_affine a;
        const tn_expr *max = tn_simp_run(&plain, f->upper[i].max);
        if (tn_affine_raw(max, &a) && (a.n > 0 || a.c != 0)) {
            tn_affine t = {0};
            if (tn_affine_term(&t, f->upper[i].leaf, 1) && tn_affine_addmul(&t, &a, -1))
                add_known(m, &t, 4);
        }
    }
    for (size_t i = 0; i < f->n_cond; i++)
        add_held(m, tn_simp_run(&plain, f->cond[i]), AND_DEPTH);
    tn_simp_close(&plain, &own);
}

const tn_expr *tn_prove_held(tn_simp *c, const tn_expr *cond)
{
    if (c->f->n_cond == 0 || cond->kind == TN_E_INT)
        return NULL;
    gather(c);
    for (size_t i = 0; i < c->m->n_held; i++) {
        const tn_expr *h = c->m->held[i];
        if (h == cond)
            return tn_bool(c->p, true);
        if ((h->kind == TN_E_NOT && h->src[0] == cond) || (cond->kind == TN_E_NOT && cond->src[0] == h) ||
            (h->kind == TN_E_NE && cond->kind == TN_E_EQ && h->src[0] == cond->src[0] &&
             h->src[1] == cond->src[1]) ||
            (h->kind == TN_E_EQ && cond->kind == TN_E_NE && h->src[0] == cond->src[0] &&
             h->src[1] == cond->src[1]))
            return tn_bool(c->p, false);
    }
    return NULL;
}

/* ---- search ---- */

static bool prove(tn_simp *c, const tn_affine *a, int depth);

/* t = a with ca*atom(i) replaced by ca*x */
static bool exchange(const tn_affine *a, int i, const tn_affine *x, tn_affine *t)
{
    int64_t k = a->term[i].coef;
    *t = *a;
    tn_affine_drop(t, i);
    return tn_affine_addmul(t, x, k);
}

/* Every coefficient by their gcd; the constant rounds up, as the sum is an integer. */
static void shrink(tn_affine *a)
{
    int64_t g = 0;
    for (int i = 0; i < a->n; i++)
        g = tn_gcd(g, a->term[i].coef);
    if (g <= 1)
        return;
    a->c = -tn_floordiv(-a->c, g);
    for (int i = 0; i < a->n; i++)
        a->term[i].coef /= g;
}

/* Cancels term i of a with the known b <= 0 where b has that atom with the same sign. */
static bool by_known(tn_simp *c, const tn_affine *a, int i, const tn_affine *b, int depth)
{
    int64_t ka = a->term[i].coef, kb = tn_affine_coef(b, a->term[i].atom);
    if (kb == 0 || (kb > 0) != (ka > 0))
        return false;
    int64_t g = tn_gcd(ka, kb), m = kb / g, k = ka / g;
    tn_affine t = {0}; /* a kilobyte: not before it is needed */
    if (!tn_affine_addmul(&t, a, m < 0 ? -m : m) || !tn_affine_addmul(&t, b, k < 0 ? k : -k))
        return false;
    shrink(&t);
    return prove(c, &t, depth - 1);
}

/* Term i is ca*(x/k), k > 0 constant. Bounds x by a known b <= 0 first, so that the rounding of x/k is kept. */
static bool by_quotient_of_known(tn_simp *c, const tn_affine *a, int i, const tn_affine *x, int depth)
{
    bool up = a->term[i].coef > 0;
    for (size_t j = 0; j < c->m->n_known && c->left > 0; j++) {
        const tn_affine *b = &c->m->known[j];
        for (int n = 0; n < x->n && c->left > 0; n++) {
            int64_t kx = x->term[n].coef, kb = tn_affine_coef(b, x->term[n].atom);
            if (kb == 0 || kx % kb != 0 || (kx / kb > 0) != up)
                continue;
            tn_affine y = *x, q, t;
            if (!tn_affine_addmul(&y, b, -(kx / kb)))
                continue;
            const tn_expr *e = tn_simp_div(c, tn_simp_sum(c, &y), a->term[i].atom->src[1]);
            if (e != a->term[i].atom && tn_affine_raw(e, &q) && exchange(a, i, &q, &t) &&
                prove(c, &t, depth - 1))
                return true;
        }
    }
    return false;
}

/* k*(x/k) <= x and x - k + 1 <= k*(x/k) */
static bool by_quotient(tn_simp *c, const tn_affine *a, int i, int depth)
{
    const tn_expr *e = a->term[i].atom;
    int64_t k, ca = a->term[i].coef;
    tn_affine x;
    if (!tn_is_int(e->src[1], &k) || k <= 0 || !tn_affine_raw(e->src[0], &x))
        return false;
    if (by_quotient_of_known(c, a, i, &x, depth))
        return true;
    tn_affine t = {0}, rest = *a;
    tn_affine_drop(&rest, i);
    if (ca < 0 && !tn_affine_addmul(&x, &(tn_affine){.c = 1}, 1 - k))
        return false;
    if (!tn_affine_addmul(&t, &rest, k) || !tn_affine_addmul(&t, &x, ca))
        return false;
    shrink(&t);
    return prove(c, &t, depth - 1);
}

/* x/y + r <= 0 wherever x + (r - 1)*y + 1 <= 0, for a symbolic y >= 0, which is not 0 where it divides. */
static bool by_symbolic_quotient(tn_simp *c, const tn_affine *a, int i, int depth)
{
    const tn_expr *e = a->term[i].atom;
    if (a->term[i].coef != 1 || e->src[1]->kind == TN_E_INT || tn_bounds_of(&c->b, e->src[1]).lo < 0)
        return false;
    tn_affine x, y, t = {0}, r = *a;
    tn_affine_drop(&r, i);
    return tn_affine_raw(e->src[0], &x) && tn_affine_raw(e->src[1], &y) &&
           tn_affine_addmul(&r, &(tn_affine){.c = 1}, -1) && tn_affine_product(c->p, &r, &y, &t) &&
           tn_affine_addmul(&t, &x, 1) && tn_affine_addmul(&t, &(tn_affine){.c = 1}, 1) &&
           prove(c, &t, depth - 1);
}

/* x%y <= y - 1 for a symbolic y >= 0, which is not 0 where it divides */
static bool by_remainder(tn_simp *c, const tn_affine *a, int i, int depth)
{
    const tn_expr *e = a->term[i].atom;
    tn_affine y, t;
    if (a->term[i].coef < 0 || e->src[1]->kind == TN_E_INT || tn_bounds_of(&c->b, e->src[1]).lo < 0)
        return false;
    return tn_affine_raw(e->src[1], &y) && tn_affine_addmul(&y, &(tn_affine){.c = 1}, -1) &&
           exchange(a, i, &y, &t) && prove(c, &t, depth - 1);
}

/* A minimum is at most either operand; where it is subtracted, both must do. */
static bool by_minmax(tn_simp *c, const tn_affine *a, int i, int depth)
{
    const tn_expr *e = a->term[i].atom;
    bool either = (e->kind == TN_E_MIN) == (a->term[i].coef > 0);
    for (int n = 0; n < 2; n++) {
        tn_affine x, t;
        bool ok = tn_affine_raw(e->src[n], &x) && exchange(a, i, &x, &t) && prove(c, &t, depth - 1);
        if (ok == either)
            return ok;
    }
    return !either;
}

/* Term i is a product with a factor that a known b <= 0 bounds: uses b times the other factors, if they are >=
 * 0. */
static bool by_product(tn_simp *c, const tn_affine *a, int i, int depth)
{
    for (size_t j = 0; j < c->m->n_known && c->left > 0; j++) {
        const tn_affine *b = &c->m->known[j];
        for (int n = 0; n < b->n; n++) {
            const tn_expr *rest;
            tn_affine factor = {0}, scaled;
            if (b->term[n].atom->kind == TN_E_MUL || (b->term[n].coef > 0) != (a->term[i].coef > 0) ||
                !tn_atom_divide(c->p, a->term[i].atom, b->term[n].atom, &rest) || !rest ||
                tn_bounds_of(&c->b, rest).lo < 0 || !tn_affine_term(&factor, rest, 1) ||
                !tn_affine_product(c->p, b, &factor, &scaled))
                continue;
            if (by_known(c, a, i, &scaled, depth))
                return true;
        }
    }
    return false;
}

static bool by_term(tn_simp *c, const tn_affine *a, int i, int depth)
{
    const tn_memo *m = c->m;
    switch (a->term[i].atom->kind) {
    case TN_E_MIN:
    case TN_E_MAX:
        if (by_minmax(c, a, i, depth))
            return true;
        break;
    case TN_E_FLOORDIV:
        if (by_quotient(c, a, i, depth) || by_symbolic_quotient(c, a, i, depth))
            return true;
        break;
    case TN_E_MUL:
        if (by_product(c, a, i, depth))
            return true;
        break;
    case TN_E_FLOORMOD:
        if (by_remainder(c, a, i, depth))
            return true;
        break;
    default: break;
    }
    for (size_t j = 0; j < m->n_known && c->left > 0; j++)
        if (by_known(c, a, i, &m->known[j], depth))
            return true;
    return false;
}

static bool prove(tn_simp *c, const tn_affine *a, int depth)
{
    if (!tn_simp_afford(c))
        return false;
    c->left -= a->n / TERMS;
    if (tn_bounds_affine(&c->b, a).hi <= 0)
        return true;
    for (int i = 0; i < a->n && depth > 0; i++)
        if (by_term(c, a, i, depth))
            return true;
    return false;
}

bool tn_prove_le0(tn_simp *c, const tn_affine *a)
{
    if (tn_bounds_affine(&c->b, a).hi <= 0)
        return true;
    if (a->n == 0 || c->proving)
        return false;
    if (c->f->n_cond + c->f->n_upper > 0)
        gather(c);
    c->proving = true;
    bool ok = false;
    for (int depth = 1; depth <= DEPTH && !ok; depth += DEPTH - 1) { /* one assumption is often enough */
        c->left = WORK;
        ok = prove(c, a, depth);
    }
    c->proving = false;
    return ok;
}

/* ---- the public questions ---- */

int tn_prove(tn_pool *p, const tn_facts *f, const tn_expr *cond)
{
    int64_t v;
    const tn_expr *e = tn_simplify(p, f, cond);
    if (e->kind == TN_E_SPLAT)
        e = e->src[0];
    return tn_is_int(e, &v) ? v != 0 : -1;
}

bool tn_equal(tn_pool *p, const tn_facts *f, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return true;
    if (!tn_dtype_eq(a->dtype, b->dtype))
        return false;
    if (tn_dtype_eq(a->dtype, TN_IDX))
        return tn_is_value(tn_simplify(p, f, tn_sub(p, a, b)), 0) ||
               tn_simplify(p, f, a) == tn_simplify(p, f, b);
    return tn_simplify(p, f, a) == tn_simplify(p, f, b);
}
