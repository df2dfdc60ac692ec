/* Rules of exact (index) arithmetic: sums, products, minimum and maximum.
 *
 * A sum is its affine form, and quotients meet their remainders there: x/k*k + x%k = x, x - x/k*k = x%k, digits
 * (x/k%j)*k + x%k = x%(k*j). A minimum absorbs the rest of a sum where terms cancel (min(i*14 + 14, n) - i*14 =
 * min(14, n - i*14)). Index only: none of this holds for integers that wrap.
 */
#include "arith/arith_impl.h"

enum { COMBINE_MAX = 8, LIST_MAX = 8 };

bool tn_simp_affine(tn_simp *c, const tn_expr *e, tn_affine *out)
{
    (void)c;
    return tn_affine_raw(e, out); /* simplified: its products are single atoms already */
}

/* ---- sums ---- */

/* Does a contain k times each term of part? The constant may differ. */
static bool contains(const tn_affine *a, const tn_affine *part, int64_t k)
{
    for (int i = 0; i < part->n; i++) {
        int64_t t;
        if (!tn_i64_mul(part->term[i].coef, k, &t) || tn_affine_coef(a, part->term[i].atom) != t)
            return false;
    }
    return part->n > 0;
}

/* a += m * (to - from) with *a unchanged on failure. */
static bool replace(tn_affine *a, int64_t m, const tn_affine *from, const tn_affine *to)
{
    tn_affine t = *a;
    if (!tn_affine_addmul(&t, from, -m) || !tn_affine_addmul(&t, to, m))
        return false;
    *a = t;
    return true;
}

static bool add_atom(const tn_affine *x, const tn_expr *atom, int64_t k, tn_affine *out)
{
    *out = *x;
    return tn_affine_term(out, atom, k);
}

/* The factor quot%j of a product, or the atom itself if it is that; NULL: none. */
static const tn_expr *digit_factor(const tn_expr *e, const tn_expr *quot)
{
    while (e->kind == TN_E_MUL) {
        bool first = e->src[0]->kind == TN_E_MUL;
        const tn_expr *f = e->src[first ? 1 : 0];
        if (f->kind == TN_E_FLOORMOD && f->src[0] == quot)
            return f;
        e = e->src[first ? 0 : 1];
    }
    return e->kind == TN_E_FLOORMOD && e->src[0] == quot ? e : NULL;
}

/* m*(x%y) + m*y*((x/y)%j) = m*(x%(y*j)), for y and j > 0 and y a single term */
static bool combine_digits(tn_simp *c, tn_affine *a, int i, const tn_affine *y, const tn_expr *quot)
{
    const tn_expr *mod = a->term[i].atom, *other;
    int64_t m = a->term[i].coef, my;
    if (y->n > 1 || (y->n == 1 && y->c != 0) || !tn_i64_mul(m, y->n == 1 ? y->term[0].coef : y->c, &my) ||
        tn_bounds_of(&c->b, mod->src[1]).lo <= 0)
        return false;
    for (int t = 0; t < a->n; t++) {
        const tn_expr *hi = t != i && a->term[t].coef == my ? digit_factor(a->term[t].atom, quot) : NULL;
        if (!hi || !tn_atom_divide(c->p, a->term[t].atom, hi, &other) ||
            other != (y->n == 1 ? y->term[0].atom : NULL) || tn_bounds_of(&c->b, hi->src[1]).lo <= 0)
            continue;
        tn_affine from = {0}, to;
        const tn_expr *whole = tn_simp_mod(c, mod->src[0], tn_simp_mul(c, mod->src[1], hi->src[1]));
        return tn_affine_term(&from, mod, 1) && tn_affine_term(&from, a->term[t].atom, my / m) &&
               tn_simp_affine(c, whole, &to) && replace(a, m, &from, &to);
    }
    return false;
}

/* Could another term be m*y*(x/y) or -m*x? With a constant y its coefficient tells. */
static bool may_combine(const tn_affine *a, int i, const tn_affine *x, const tn_affine *y)
{
    int64_t m = a->term[i].coef, mk;
    if (a->n < 2)
        return false;
    if (y->n > 0 || contains(a, x, -m))
        return true;
    if (!tn_i64_mul(m, y->c, &mk) || mk == 0)
        return false;
    for (int t = 0; t < a->n; t++)
        if (t != i && a->term[t].coef % mk == 0)
            return true;
    return false;
}

/* m*(x%y) with m*y*(x/y) in the sum gives m*x; with -m*x it gives -m*y*(x/y). */
static bool combine_mod(tn_simp *c, tn_affine *a, int i)
{
    const tn_expr *mod = a->term[i].atom, *quot;
    int64_t m = a->term[i].coef;
    tn_affine x, y, q, yq, from;
    if (!tn_simp_affine(c, mod->src[0], &x) || !tn_simp_affine(c, mod->src[1], &y) ||
        !may_combine(a, i, &x, &y))
        return false;
    quot = tn_simp_div(c, mod->src[0], mod->src[1]);
    if (!tn_simp_affine(c, quot, &q) || !tn_affine_product(c->p, &y, &q, &yq))
        return false;
    if (contains(a, &yq, m))
        return add_atom(&yq, mod, 1, &from) && replace(a, m, &from, &x);
    if (contains(a, &x, -m))
        return add_atom(&x, mod, -1, &from) && replace(a, -m, &from, &yq);
    return combine_digits(c, a, i, &y, quot);
}

/* The quotient x/y and the multiple of it that term i is: atom x/y with coefficient k*y, or product (x/y)*y. */
static const tn_expr *scaled_quotient(const tn_affine *a, int i, int64_t *k)
{
    const tn_expr *e = a->term[i].atom;
    int64_t y;
    if (e->kind == TN_E_FLOORDIV && tn_is_int(e->src[1], &y) && y != 0 && a->term[i].coef % y == 0) {
        *k = a->term[i].coef / y;
        return e;
    }
    for (int s = 0; s < 2 && e->kind == TN_E_MUL; s++) {
        if (e->src[s]->kind == TN_E_FLOORDIV && e->src[s]->src[1] == e->src[1 - s]) {
            *k = a->term[i].coef;
            return e->src[s];
        }
    }
    return NULL;
}

/* k*y*(x/y) = k*x - k*r where x%y == r is assumed. */
static bool combine_exact(tn_simp *c, tn_affine *a, const tn_expr *div, int64_t k)
{
    int64_t m, r, y;
    size_t at = 0;
    tn_affine to;
    while (tn_is_int(div->src[1], &y) && tn_bounds_residue(&c->b, div->src[0], &at, &m, &r)) {
        tn_affine from = {0};
        if (m == y)
            return tn_simp_affine(c, div->src[0], &to) && tn_affine_addmul(&to, &(tn_affine){.c = 1}, -r) &&
                   tn_affine_term(&from, div, y) && replace(a, k, &from, &to);
    }
    return false;
}

/* m*x - m*y*(x/y) = m*(x%y) */
static bool combine_div(tn_simp *c, tn_affine *a, int i)
{
    int64_t k = 0;
    const tn_expr *div = scaled_quotient(a, i, &k);
    tn_affine x, from, to;
    if (div && c->f->n_cond > 0 && combine_exact(c, a, div, k))
        return true;
    if (!div || k == INT64_MIN || !tn_simp_affine(c, div->src[0], &x) || !contains(a, &x, -k))
        return false;
    const tn_expr *mod = tn_simp_mod(c, div->src[0], div->src[1]);
    return add_atom(&x, a->term[i].atom, a->term[i].coef / -k, &from) && tn_simp_affine(c, mod, &to) &&
           replace(a, -k, &from, &to);
}

/* r + min(x, y) = min(r + x, r + y) and r - min(x, y) = max(r - x, r - y), where that makes no more terms. */
static bool combine_minmax(tn_simp *c, tn_affine *a, int i)
{
    const tn_expr *e = a->term[i].atom;
    int64_t k = a->term[i].coef;
    tn_affine rest = *a, x, y;
    if ((k != 1 && k != -1) || a->n < 2 || !tn_simp_affine(c, e->src[0], &x) ||
        !tn_simp_affine(c, e->src[1], &y))
        return false;
    int before = x.n + y.n;
    tn_affine_drop(&rest, i);
    tn_affine left = rest, right = rest;
    if (!tn_affine_addmul(&left, &x, k) || !tn_affine_addmul(&right, &y, k) || left.n + right.n > before)
        return false;
    enum tn_ek kind = (e->kind == TN_E_MIN) == (k > 0) ? TN_E_MIN : TN_E_MAX;
    const tn_expr *r = tn_simp_minmax(c, kind, tn_simp_sum(c, &left), tn_simp_sum(c, &right));
    return tn_simp_affine(c, r, a);
}

static bool combine(tn_simp *c, tn_affine *a)
{
    for (int i = 0; i < a->n; i++) {
        bool done = false;
        switch (a->term[i].atom->kind) {
        case TN_E_FLOORMOD: done = combine_mod(c, a, i); break;
        case TN_E_FLOORDIV:
        case TN_E_MUL: done = combine_div(c, a, i); break;
        case TN_E_MIN:
        case TN_E_MAX: done = combine_minmax(c, a, i); break;
        default: break;
        }
        if (done)
            return true;
    }
    return false;
}

void tn_simp_combine(tn_simp *c, tn_affine *a)
{
    if (a->n == 0 || (a->n == 1 && c->f->n_cond == 0) || c->depth >= TN_SIMP_DEPTH)
        return;
    c->depth++;
    for (int i = 0; i < COMBINE_MAX && tn_simp_afford(c) && combine(c, a); i++)
        continue;
    c->depth--;
}

const tn_expr *tn_simp_sum(tn_simp *c, const tn_affine *a)
{
    if (a->n == 0 || (a->n == 1 && c->f->n_cond == 0)) /* one term meets assumptions at most */
        return tn_affine_expr(c->p, a);
    tn_affine t = *a;
    tn_simp_combine(c, &t);
    return tn_affine_expr(c->p, &t);
}

const tn_expr *tn_simp_mul(tn_simp *c, const tn_expr *a, const tn_expr *b)
{
    tn_affine x, y, xy;
    if (tn_simp_affine(c, a, &x) && tn_simp_affine(c, b, &y) && tn_affine_product(c->p, &x, &y, &xy))
        return tn_simp_sum(c, &xy);
    return tn_simp_node2(c, TN_E_MUL, TN_IDX, a, b);
}

/* ---- minimum and maximum ---- */

/* -1: a <= b always, 1: a >= b always, 0: not known */
static int order_of(tn_simp *c, const tn_expr *a, const tn_expr *b)
{
    tn_affine d, y;
    if (!tn_simp_affine(c, a, &d) || !tn_simp_affine(c, b, &y) || !tn_affine_addmul(&d, &y, -1))
        return 0;
    tn_simp_combine(c, &d);
    if (tn_prove_le0(c, &d))
        return -1;
    y = (tn_affine){0};
    return tn_affine_addmul(&y, &d, -1) && tn_prove_le0(c, &y) ? 1 : 0;
}

/* Operands of nested k, at most LIST_MAX. */
static int operands(enum tn_ek k, const tn_expr *e, const tn_expr *out[], int n)
{
    while (e->kind == k && n < LIST_MAX - 1) {
        bool first = e->src[0]->kind == k;
        out[n++] = e->src[first ? 1 : 0];
        e = e->src[first ? 0 : 1];
    }
    if (n < LIST_MAX)
        out[n++] = e;
    return n;
}

/* min(a, max(a, b)) = a and the like: does x absorb y, an opposite of which x is an operand? */
static bool absorbs(enum tn_ek k, const tn_expr *x, const tn_expr *y)
{
    enum tn_ek other = k == TN_E_MIN ? TN_E_MAX : TN_E_MIN;
    return y->kind == other && (y->src[0] == x || y->src[1] == x);
}

/* Puts x into the list unless one there makes it needless; drops those it makes needless. */
static int insert(tn_simp *c, enum tn_ek k, const tn_expr *list[], int n, const tn_expr *x)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int r = list[i] == x ? -1 : order_of(c, list[i], x) * (k == TN_E_MIN ? 1 : -1);
        if (r < 0 || absorbs(k, list[i], x))
            return n;
        if (r > 0 || absorbs(k, x, list[i]))
            continue;
        list[kept++] = list[i];
    }
    list[kept] = x;
    return kept + 1;
}

static bool before(const tn_expr *a, const tn_expr *b)
{
    if ((a->kind == TN_E_INT) != (b->kind == TN_E_INT))
        return b->kind == TN_E_INT;
    return tn_expr_order(a, b) < 0;
}

static const tn_expr *chain(tn_simp *c, enum tn_ek k, const tn_expr *list[], int n)
{
    for (int i = 1; i < n; i++) {
        const tn_expr *x = list[i];
        int j = i;
        for (; j > 0 && before(x, list[j - 1]); j--)
            list[j] = list[j - 1];
        list[j] = x;
    }
    const tn_expr *e = list[0];
    for (int i = 1; i < n; i++)
        e = tn_simp_node2(c, k, TN_IDX, e, list[i]);
    return e;
}

/* The constant that all sums of the list share; 0: none. A plain constant has none to give. */
static int64_t shared_constant(tn_simp *c, const tn_expr *const list[], int n)
{
    int64_t k = 0;
    for (int i = 0; i < n; i++) {
        tn_affine a;
        if (!tn_simp_affine(c, list[i], &a) || a.n == 0 || a.c == 0 || (k != 0 && (a.c > 0) != (k > 0)))
            return 0;
        if (k == 0 || (k > 0 ? a.c < k : a.c > k))
            k = a.c;
    }
    return k;
}

static const tn_expr *plus(tn_simp *c, const tn_expr *e, int64_t k)
{
    tn_affine a;
    if (!tn_simp_affine(c, e, &a) || !tn_affine_addmul(&a, &(tn_affine){.c = 1}, k))
        return tn_simp_node2(c, TN_E_ADD, TN_IDX, e, tn_idx(c->p, k));
    return tn_simp_sum(c, &a);
}

const tn_expr *tn_simp_minmax(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *in[LIST_MAX], *list[LIST_MAX];
    int n = operands(k, b, in, operands(k, a, in, 0)), m = 0;
    if (a == b)
        return a;
    if (n == LIST_MAX || c->depth >= TN_SIMP_DEPTH || !tn_simp_afford(c)) /* some may be missing */
        return tn_simp_node2(c, k, TN_IDX, a, b);
    c->depth++;
    for (int i = 0; i < n; i++)
        m = insert(c, k, list, m, in[i]);
    int64_t shared = m > 1 ? shared_constant(c, list, m) : 0;
    for (int i = 0; i < m && shared != 0; i++)
        list[i] = plus(c, list[i], -shared);
    const tn_expr *e = chain(c, k, list, m);
    if (shared != 0)
        e = plus(c, e, shared);
    c->depth--;
    return e;
}

/* ---- truncating division: floor division where the dividend is not negative ---- */

const tn_expr *tn_simp_trunc(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    if (tn_bounds_of(&c->b, a).lo >= 0 && tn_bounds_of(&c->b, b).lo > 0)
        return k == TN_E_TRUNCDIV ? tn_simp_div(c, a, b) : tn_simp_mod(c, a, b);
    if (tn_is_value(b, 1))
        return k == TN_E_TRUNCDIV ? a : tn_idx(c->p, 0);
    const tn_expr *s[] = {a, b};
    const tn_expr *r = tn_fold(c->p, k, TN_IDX, (tn_payload){0}, 2, s);
    return r ? r : tn_simp_node2(c, k, TN_IDX, a, b);
}
