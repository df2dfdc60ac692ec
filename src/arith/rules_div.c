/* Rules of floor division and its remainder on indices.
 *
 * Both come from one split of the dividend by a constant divisor k > 0:  x = k*quot + g*core + low,  k =
 * g*kcore, 0 <= low < g.  Then x/k = quot + core/kcore and x%k = g*(core%kcore) + low. Multiples of k go to
 * quot; digits of x that fit below a common divisor g of the rest go to low; a core inside one bucket of kcore
 * vanishes. Since both use the same split, x/k*k + x%k finds its x again. Symbolic divisors divide as
 * polynomials do, if the remainder is provably small.
 */
#include "arith/arith_impl.h"

enum { ROUNDS = 8 };

typedef struct split {
    tn_affine quot, core, low;
    int64_t kcore, g;
} split;

static bool bucket(tn_range r, int64_t k, int64_t *q)
{
    if (r.lo == INT64_MIN || r.hi == INT64_MAX || tn_floordiv(r.lo, k) != tn_floordiv(r.hi, k))
        return false;
    *q = tn_floordiv(r.lo, k);
    return true;
}

/* core lies in one bucket q of kcore: quot += q, low takes the rest. */
static bool take_bucket(tn_simp *c, split *s)
{
    int64_t q, t;
    if (!bucket(tn_bounds_affine(&c->b, &s->core), s->kcore, &q) || !tn_i64_mul(q, s->kcore, &t) ||
        !tn_i64_sub(s->core.c, t, &s->core.c) || s->core.c == INT64_MIN ||
        !tn_affine_addmul(&s->quot, &(tn_affine){.c = 1}, q) || !tn_affine_addmul(&s->low, &s->core, s->g))
        return false;
    s->core.n = 0;
    s->core.c = 0;
    return true;
}

/* Moves multiples of kcore from core to quot. Coefficients keep their sign, the constant ends in [0, kcore). */
static bool take_multiples(split *s)
{
    int64_t q = tn_floordiv(s->core.c, s->kcore);
    s->core.c = tn_floormod(s->core.c, s->kcore);
    if (!tn_affine_addmul(&s->quot, &(tn_affine){.c = 1}, q))
        return false;
    for (int i = s->core.n - 1; i >= 0; i--) {
        q = s->core.term[i].coef / s->kcore;
        if (!tn_affine_term(&s->quot, s->core.term[i].atom, q))
            return false;
        s->core.term[i].coef %= s->kcore;
        if (s->core.term[i].coef == 0)
            tn_affine_drop(&s->core, i);
    }
    return true;
}

static void sort_by_gcd(tn_affine *a, int64_t k)
{
    for (int i = 1; i < a->n; i++) {
        const tn_expr *atom = a->term[i].atom;
        int64_t coef = a->term[i].coef, g = tn_gcd(coef, k);
        int j = i;
        for (; j > 0 && tn_gcd(a->term[j - 1].coef, k) < g; j--)
            a->term[j] = a->term[j - 1];
        a->term[j].atom = atom;
        a->term[j].coef = coef;
    }
}

/* Terms of core from `from` on, with its constant less q*g, are digits below g: to low; the others shrink by
 * g. */
static bool take_low(split *s, int from, int64_t g, int64_t q)
{
    tn_affine low = {0};
    int64_t t;
    if (!tn_i64_mul(q, g, &t) || !tn_i64_sub(s->core.c, t, &low.c) || low.c == INT64_MIN)
        return false;
    for (int i = from; i < s->core.n; i++)
        if (!tn_affine_term(&low, s->core.term[i].atom, s->core.term[i].coef))
            return false;
    if (!tn_affine_addmul(&s->low, &low, s->g))
        return false;
    s->core.n = from;
    s->core.c = q;
    for (int i = 0; i < from; i++)
        s->core.term[i].coef /= g;
    s->g *= g;
    s->kcore /= g;
    return true;
}

/* Looks for the fewest terms that are digits below a common divisor g > 1 of the other terms and kcore. */
static bool take_digits(tn_simp *c, split *s)
{
    int64_t pre[TN_AFFINE_MAX + 1], q;
    tn_affine tail = {.c = s->core.c};
    sort_by_gcd(&s->core, s->kcore);
    pre[0] = s->kcore;
    for (int i = 0; i < s->core.n; i++)
        pre[i + 1] = tn_gcd(pre[i], s->core.term[i].coef);
    for (int j = s->core.n; j > 0; j--) {
        if (pre[j] > 1 && bucket(tn_bounds_affine(&c->b, &tail), pre[j], &q))
            return take_low(s, j, pre[j], q);
        if (pre[1] <= 1 || !tn_affine_term(&tail, s->core.term[j - 1].atom, s->core.term[j - 1].coef))
            return false;
    }
    return false;
}

/* x%m = r is assumed, so x = m*(x/m) + r; where coef*m is a multiple of kcore the first part goes to quot. */
static bool take_residues(tn_simp *c, split *s)
{
    for (int i = s->core.n - 1; i >= 0; i--) {
        const tn_expr *x = s->core.term[i].atom;
        int64_t m, r, t, coef = s->core.term[i].coef;
        size_t at = 0;
        while (tn_bounds_residue(&c->b, x, &at, &m, &r)) {
            if (!tn_i64_mul(coef, m, &t) || t % s->kcore != 0)
                continue;
            const tn_expr *q = tn_simp_node2(c, TN_E_FLOORDIV, TN_IDX, x, tn_idx(c->p, m));
            tn_affine_drop(&s->core, i);
            if (!tn_affine_term(&s->quot, q, t / s->kcore) ||
                !tn_affine_addmul(&s->core, &(tn_affine){.c = r}, coef))
                return false;
            break;
        }
    }
    return true;
}

static bool split_by(tn_simp *c, const tn_affine *x, int64_t k, split *s)
{
    s->quot = s->low = (tn_affine){0};
    s->core = *x;
    s->kcore = k;
    s->g = 1;
    for (int i = 0; i < ROUNDS; i++) {
        if (take_bucket(c, s))
            return true;
        if (!take_residues(c, s) || !take_multiples(s))
            return false;
        if (take_bucket(c, s))
            return true;
        if (!take_digits(c, s))
            return true;
    }
    return true;
}

/* ---- quotient and remainder of a core ---- */

static const tn_expr *sum_of(tn_simp *c, const tn_affine *a) { return tn_affine_expr(c->p, a); }

static bool divide(tn_simp *c, const tn_affine *y, tn_affine *r, tn_affine *q);

/* (z%(y*j))/y = (z/y)%j for y, j > 0 */
static const tn_expr *quotient_of_remainder(tn_simp *c, const tn_expr *mod, const tn_expr *y)
{
    tn_affine m, j, ya;
    if (!tn_simp_affine(c, mod->src[1], &m) || !tn_simp_affine(c, y, &ya))
        return NULL;
    if (ya.n == 0) {
        j = m;
        for (int i = 0; i < m.n; i++) {
            j.term[i].coef /= ya.c;
            if (m.term[i].coef % ya.c != 0)
                return NULL;
        }
        j.c /= ya.c;
        if (m.c % ya.c != 0)
            return NULL;
    } else if (!divide(c, &ya, &m, &j) || m.n > 0 || m.c != 0) {
        return NULL;
    }
    if (tn_bounds_affine(&c->b, &j).lo <= 0)
        return NULL;
    return tn_simp_mod(c, tn_simp_div(c, mod->src[0], y), tn_simp_sum(c, &j));
}

/* (z/m + r)/y = (z + m*r)/(m*y) for m, y > 0 (what divides is not 0); or a remainder's quotient. NULL: neither. */
static const tn_expr *nested_quotient(tn_simp *c, const tn_affine *core, const tn_expr *y)
{
    tn_affine z, m;
    const tn_expr *atom = core->n == 1 && core->term[0].coef == 1 ? core->term[0].atom : NULL;
    if (!atom || (atom->kind != TN_E_FLOORDIV && atom->kind != TN_E_FLOORMOD) ||
        tn_bounds_of(&c->b, y).lo < 0)
        return NULL;
    if (atom->kind == TN_E_FLOORMOD)
        return core->c == 0 ? quotient_of_remainder(c, atom, y) : NULL;
    if (tn_bounds_of(&c->b, atom->src[1]).lo < 0 || !tn_simp_affine(c, atom->src[0], &z) ||
        !tn_simp_affine(c, atom->src[1], &m) || !tn_affine_addmul(&z, &m, core->c))
        return NULL;
    return tn_simp_div(c, tn_simp_sum(c, &z), tn_simp_mul(c, atom->src[1], y));
}

static const tn_expr *core_quotient(tn_simp *c, const tn_affine *core, const tn_expr *y)
{
    const tn_expr *r = nested_quotient(c, core, y);
    return r ? r : tn_simp_node2(c, TN_E_FLOORDIV, TN_IDX, sum_of(c, core), y);
}

/* Inside a remainder by k, z%m may give way to z if its coefficient times m is a multiple of k. */
static bool drop_inner_mod(tn_simp *c, tn_affine *core, int64_t k)
{
    for (int i = 0; i < core->n; i++) {
        const tn_expr *e = core->term[i].atom;
        int64_t m, cm, coef = core->term[i].coef;
        tn_affine z, t = *core;
        if (e->kind != TN_E_FLOORMOD || !tn_is_int(e->src[1], &m) || !tn_i64_mul(m, coef, &cm) || cm % k != 0)
            continue;
        tn_affine_drop(&t, i);
        if (!tn_simp_affine(c, e->src[0], &z) || !tn_affine_addmul(&t, &z, coef))
            continue;
        *core = t;
        return true;
    }
    return false;
}

static const tn_expr *core_remainder(tn_simp *c, tn_affine *core, int64_t k)
{
    const tn_expr *y = tn_idx(c->p, k);
    if (drop_inner_mod(c, core, k))
        return tn_simp_mod(c, tn_simp_sum(c, core), y);
    return tn_simp_node2(c, TN_E_FLOORMOD, TN_IDX, sum_of(c, core), y);
}

/* quot + core/kcore, or g*(core%kcore) + low; NULL: overflow. */
static const tn_expr *assemble(tn_simp *c, split *s, bool mod)
{
    tn_affine *out = mod ? &s->low : &s->quot, part;
    if (s->core.n > 0 || s->core.c != 0) {
        const tn_expr *e =
            mod ? core_remainder(c, &s->core, s->kcore) : core_quotient(c, &s->core, tn_idx(c->p, s->kcore));
        if (!tn_simp_affine(c, e, &part) || !tn_affine_addmul(out, &part, mod ? s->g : 1))
            return NULL;
    }
    return tn_simp_sum(c, out);
}

static const tn_expr *by_constant(tn_simp *c, const tn_affine *x, int64_t k, bool mod)
{
    split s;
    tn_affine t = {0};
    if (k > 0)
        return split_by(c, x, k, &s) ? assemble(c, &s, mod) : NULL;
    if (k == INT64_MIN || !tn_affine_addmul(&t, x, -1) || !split_by(c, &t, -k, &s))
        return NULL;
    const tn_expr *r = assemble(c, &s, mod); /* x/k = (-x)/(-k), x%k = -((-x)%(-k)) */
    return r && mod ? tn_simp_mul(c, r, tn_idx(c->p, -1)) : r;
}

/* ---- symbolic divisors ---- */

/* Takes multiples of y from r to q, guided by y's first term in canonical order. */
static bool divide(tn_simp *c, const tn_affine *y, tn_affine *r, tn_affine *q)
{
    int lead = 0;
    for (int i = 1; i < y->n; i++)
        if (tn_expr_order(y->term[i].atom, y->term[lead].atom) < 0)
            lead = i;
    *q = (tn_affine){0};
    for (int round = 0; round < TN_AFFINE_MAX; round++) {
        tn_affine one = {0}, prod;
        const tn_expr *m = NULL;
        int i = 0;
        while (i < r->n && (r->term[i].coef % y->term[lead].coef != 0 ||
                            !tn_atom_divide(c->p, r->term[i].atom, y->term[lead].atom, &m)))
            i++;
        if (i == r->n)
            return true;
        int64_t k = r->term[i].coef / y->term[lead].coef;
        one.c = m ? 0 : k;
        if ((m && !tn_affine_term(&one, m, k)) || !tn_affine_product(c->p, y, &one, &prod) ||
            !tn_affine_addmul(r, &prod, -1) || !tn_affine_addmul(q, &one, 1))
            return false;
    }
    return false;
}

static bool within(tn_simp *c, const tn_affine *r, const tn_affine *y)
{
    tn_affine t = {0};
    if (r->n == 0 && r->c == 0)
        return true;                                          /* y is not 0 */
    if (!tn_affine_addmul(&t, r, -1) || !tn_prove_le0(c, &t)) /* 0 <= r */
        return false;
    t = *r;
    return tn_affine_addmul(&t, y, -1) && tn_affine_addmul(&t, &(tn_affine){.c = 1}, 1) &&
           tn_prove_le0(c, &t); /* r < y */
}

/* Every term of a without its factor f; false: it has no such factor everywhere. */
static bool without_factor(tn_simp *c, const tn_affine *a, const tn_expr *f, tn_affine *out)
{
    *out = (tn_affine){0};
    for (int i = 0; i < a->n; i++) {
        const tn_expr *m;
        if (!tn_atom_divide(c->p, a->term[i].atom, f, &m))
            return false;
        if (m ? !tn_affine_term(out, m, a->term[i].coef)
              : !tn_affine_addmul(out, &(tn_affine){.c = 1}, a->term[i].coef))
            return false;
    }
    return a->c == 0 && a->n > 0;
}

static bool without_constant(tn_affine *a, tn_affine *b)
{
    int64_t g = tn_gcd(a->c, b->c);
    for (int i = 0; i < a->n; i++)
        g = tn_gcd(g, a->term[i].coef);
    for (int i = 0; i < b->n; i++)
        g = tn_gcd(g, b->term[i].coef);
    for (int i = 0; i < a->n && g > 1; i++)
        a->term[i].coef /= g;
    for (int i = 0; i < b->n && g > 1; i++)
        b->term[i].coef /= g;
    a->c /= g;
    b->c /= g;
    return g > 1;
}

/* x and y without what divides both (y is not 0, so neither is a factor of it); the factor that went, NULL:
 * none. */
static const tn_expr *cancel(tn_simp *c, tn_affine *x, tn_affine *y)
{
    tn_affine a, b;
    int64_t g = y->n > 0 ? y->term[0].coef : 1;
    if (without_constant(x, y))
        return tn_idx(c->p, g / y->term[0].coef);
    if (y->n != 1 || y->c != 0)
        return NULL;
    for (const tn_expr *e = y->term[0].atom; e;) {
        bool first = e->kind == TN_E_MUL && e->src[0]->kind != TN_E_MUL;
        const tn_expr *f = e->kind != TN_E_MUL ? e : e->src[first ? 0 : 1];
        if (f->kind != TN_E_MUL && without_factor(c, x, f, &a) && without_factor(c, y, f, &b)) {
            *x = a;
            *y = b;
            return f;
        }
        e = e->kind != TN_E_MUL ? NULL : e->src[first ? 1 : 0];
    }
    return NULL;
}

static const tn_expr *by_symbol(tn_simp *c, const tn_affine *x, const tn_affine *y, const tn_expr *ye,
                                bool mod)
{
    tn_affine r = *x, q, part, a = *x, b = *y;
    const tn_expr *common = cancel(c, &a, &b);
    if (common) {
        const tn_expr *num = tn_simp_sum(c, &a), *den = tn_simp_sum(c, &b);
        return mod ? tn_simp_mul(c, tn_simp_mod(c, num, den), common) : tn_simp_div(c, num, den);
    }
    if (!divide(c, y, &r, &q))
        return NULL;
    if (within(c, &r, y))
        return tn_simp_sum(c, mod ? &r : &q);
    if (y->n > 1 || y->c != 0) { /* a quotient without a small remainder would only be longer */
        r = *x;
        q = (tn_affine){0};
    }
    if (mod)
        return tn_simp_node2(c, TN_E_FLOORMOD, TN_IDX, sum_of(c, &r), ye);
    const tn_expr *e = core_quotient(c, &r, ye);
    if (!tn_simp_affine(c, e, &part) || !tn_affine_addmul(&q, &part, 1))
        return NULL;
    return tn_simp_sum(c, &q);
}

static const tn_expr *quotient(tn_simp *c, const tn_expr *x, const tn_expr *y, bool mod)
{
    tn_affine a, b;
    const tn_expr *r = NULL;
    enum tn_ek k = mod ? TN_E_FLOORMOD : TN_E_FLOORDIV;
    if (tn_is_value(y, 0) || c->depth >= TN_SIMP_DEPTH || !tn_simp_affine(c, x, &a) ||
        !tn_simp_affine(c, y, &b) || !tn_simp_afford(c))
        return tn_simp_node2(c, k, TN_IDX, x, y);
    c->depth++;
    r = b.n == 0 ? by_constant(c, &a, b.c, mod) : by_symbol(c, &a, &b, y, mod);
    c->depth--;
    return r ? r : tn_simp_node2(c, k, TN_IDX, x, y);
}

const tn_expr *tn_simp_div(tn_simp *c, const tn_expr *x, const tn_expr *y)
{
    return quotient(c, x, y, false);
}

const tn_expr *tn_simp_mod(tn_simp *c, const tn_expr *x, const tn_expr *y) { return quotient(c, x, y, true); }
