/* Affine forms: constant + sum of coefficient * atom, the canonical shape of every index sum.
 *
 * Atoms are expressions other than sums; a product of several non-constants is one atom whose factors are
 * ordered. Invariants: atoms are distinct, coefficients are not 0, and neither they nor the constant are
 * INT64_MIN, so they can be negated. Adding a term is O(n), n <= TN_AFFINE_MAX; taking an expression apart
 * visits at most WALK_MAX nodes.
 */
#include "arith/arith_impl.h"

#include <string.h>

enum { WALK_MAX = 512, STACK_MAX = 64, FACTOR_MAX = 16, PRODUCT_DEPTH = 6 };

int64_t tn_gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int order(const tn_expr *a, const tn_expr *b, int depth)
{
    if (a == b)
        return 0;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->nsrc != b->nsrc)
        return a->nsrc < b->nsrc ? -1 : 1;
    if (a->kind == TN_E_SYM)
        return strcmp(a->u.s, b->u.s);
    if (a->u.bits != b->u.bits)
        return a->u.bits < b->u.bits ? -1 : 1;
    int r = 0;
    for (int i = 0; i < a->nsrc && r == 0 && depth > 0; i++)
        r = order(a->src[i], b->src[i], depth - 1);
    return r;
}

int tn_expr_order(const tn_expr *a, const tn_expr *b) { return order(a, b, 32); }

/* *x += a * b */
static bool fma_ok(int64_t *x, int64_t a, int64_t b)
{
    int64_t t;
    if (!tn_i64_mul(a, b, &t) || !tn_i64_add(*x, t, &t) || t == INT64_MIN)
        return false;
    *x = t;
    return true;
}

void tn_affine_drop(tn_affine *a, int i) { a->term[i] = a->term[--a->n]; }

bool tn_affine_term(tn_affine *a, const tn_expr *atom, int64_t coef)
{
    if (coef == 0)
        return true;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].atom != atom)
            continue;
        if (!fma_ok(&a->term[i].coef, coef, 1))
            return false;
        if (a->term[i].coef == 0)
            tn_affine_drop(a, i);
        return true;
    }
    if (a->n == TN_AFFINE_MAX || coef == INT64_MIN)
        return false;
    a->term[a->n].atom = atom;
    a->term[a->n++].coef = coef;
    return true;
}

bool tn_affine_addmul(tn_affine *a, const tn_affine *b, int64_t k)
{
    if (!fma_ok(&a->c, b->c, k))
        return false;
    for (int i = 0; i < b->n; i++) {
        int64_t t;
        if (!tn_i64_mul(b->term[i].coef, k, &t) || !tn_affine_term(a, b->term[i].atom, t))
            return false;
    }
    return true;
}

int64_t tn_affine_coef(const tn_affine *a, const tn_expr *atom)
{
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom == atom)
            return a->term[i].coef;
    return 0;
}

/* ---- products ---- */

/* Appends the factors of a product atom. */
static bool factors(const tn_expr *e, const tn_expr *out[], int *n)
{
    while (e->kind == TN_E_MUL) {
        const tn_expr *leaf = e->src[1]->kind == TN_E_MUL ? e->src[0] : e->src[1];
        const tn_expr *rest = leaf == e->src[1] ? e->src[0] : e->src[1];
        if (leaf->kind == TN_E_MUL || *n == FACTOR_MAX)
            return false;
        out[(*n)++] = leaf;
        e = rest;
    }
    if (*n == FACTOR_MAX)
        return false;
    out[(*n)++] = e;
    return true;
}

static const tn_expr *monomial_of(tn_pool *p, const tn_expr *const f[], int n)
{
    const tn_expr *e = f[0];
    for (int i = 1; i < n; i++)
        e = tn_expr_make(p, TN_E_MUL, TN_IDX, (tn_payload){0}, 2, (const tn_expr *const[]){e, f[i]});
    return e;
}

/* a * b as one atom with ordered factors; NULL: too many. */
static const tn_expr *monomial(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *f[FACTOR_MAX];
    int n = 0;
    if (!factors(a, f, &n) || !factors(b, f, &n))
        return NULL;
    for (int i = 1; i < n; i++) {
        const tn_expr *x = f[i];
        int j = i;
        for (; j > 0 && tn_expr_order(x, f[j - 1]) < 0; j--)
            f[j] = f[j - 1];
        f[j] = x;
    }
    return monomial_of(p, f, n);
}

bool tn_atom_divide(tn_pool *p, const tn_expr *atom, const tn_expr *by, const tn_expr **out)
{
    const tn_expr *f[FACTOR_MAX], *d[FACTOR_MAX];
    int n = 0, m = 0;
    if (!factors(atom, f, &n) || !factors(by, d, &m))
        return false;
    for (int j = 0; j < m; j++) {
        int i = 0;
        while (i < n && f[i] != d[j])
            i++;
        if (i == n)
            return false;
        memmove(&f[i], &f[i + 1], (size_t)(n - i - 1) * sizeof *f);
        n--;
    }
    for (int i = 0; i < n / 2; i++) { /* taken apart from the last factor to the first */
        const tn_expr *x = f[i];
        f[i] = f[n - 1 - i];
        f[n - 1 - i] = x;
    }
    *out = n > 0 ? monomial_of(p, f, n) : NULL;
    return true;
}

bool tn_affine_product(tn_pool *p, const tn_affine *a, const tn_affine *b, tn_affine *out)
{
    *out = (tn_affine){0};
    if (b->n == 0)
        return tn_affine_addmul(out, a, b->c);
    if (!tn_affine_addmul(out, b, a->c))
        return false;
    for (int i = 0; i < a->n; i++) {
        int64_t k;
        if (!tn_i64_mul(a->term[i].coef, b->c, &k) || !tn_affine_term(out, a->term[i].atom, k))
            return false;
        for (int j = 0; j < b->n; j++) {
            const tn_expr *m = monomial(p, a->term[i].atom, b->term[j].atom);
            if (!m || !tn_i64_mul(a->term[i].coef, b->term[j].coef, &k) || !tn_affine_term(out, m, k))
                return false;
        }
    }
    return true;
}

/* ---- from expressions ---- */

static bool is_sum(const tn_expr *e)
{
    return e->kind == TN_E_ADD || e->kind == TN_E_SUB || e->kind == TN_E_MUL || e->kind == TN_E_INT;
}

typedef struct walk {
    tn_pool *p;
    tn_affine *out;
    int left, depth;
} walk;

static bool collect(walk *w, const tn_expr *e, int64_t scale);

static bool collect_product(walk *w, const tn_expr *e, int64_t scale)
{
    tn_affine part[2] = {{0}, {0}}, prod;
    if (!w->p)
        return tn_affine_term(w->out, e, scale);
    if (w->depth >= PRODUCT_DEPTH)
        return false;
    for (int i = 0; i < 2; i++) {
        walk inner = {w->p, &part[i], w->left, w->depth + 1};
        if (!collect(&inner, e->src[i], 1))
            return false;
        w->left = inner.left;
    }
    return tn_affine_product(w->p, &part[0], &part[1], &prod) && tn_affine_addmul(w->out, &prod, scale);
}

/* out += scale * e, taking sums apart with an explicit stack. */
static bool collect(walk *w, const tn_expr *e, int64_t scale)
{
    struct {
        const tn_expr *e;
        int64_t k;
    } stack[STACK_MAX];
    int n = 0;
    int64_t k = scale;
    for (;;) {
        if (--w->left < 0)
            return false;
        if (e->kind == TN_E_ADD || e->kind == TN_E_SUB) {
            int64_t k1 = e->kind == TN_E_SUB ? -k : k;
            bool first = is_sum(e->src[0]) && e->src[0]->kind != TN_E_INT; /* keep the deeper one for last */
            if (n == STACK_MAX)
                return false;
            stack[n].e = e->src[first ? 0 : 1];
            stack[n++].k = first ? k : k1;
            k = first ? k1 : k;
            e = e->src[first ? 1 : 0];
            continue;
        }
        if (e->kind == TN_E_MUL && (e->src[0]->kind == TN_E_INT || e->src[1]->kind == TN_E_INT)) {
            bool first = e->src[0]->kind == TN_E_INT;
            if (!tn_i64_mul(k, e->src[first ? 0 : 1]->u.i, &k) || k == INT64_MIN)
                return false;
            e = e->src[first ? 1 : 0];
            continue;
        }
        if (e->kind == TN_E_INT   ? !fma_ok(&w->out->c, e->u.i, k)
            : e->kind == TN_E_MUL ? !collect_product(w, e, k)
                                  : !tn_affine_term(w->out, e, k))
            return false;
        if (n == 0)
            return true;
        e = stack[--n].e;
        k = stack[n].k;
    }
}

static bool is_scalar_index(const tn_expr *e) { return e->dtype.code == TN_INDEX && e->dtype.lanes == 1; }

bool tn_affine_of(tn_pool *p, const tn_expr *e, tn_affine *out)
{
    walk w = {p, out, WALK_MAX, 0};
    out->c = 0;
    out->n = 0;
    return is_scalar_index(e) && collect(&w, e, 1);
}

bool tn_affine_raw(const tn_expr *e, tn_affine *out) { return tn_affine_of(NULL, e, out); }

bool tn_affine_cond(tn_pool *p, const tn_expr *cond, tn_affine *out)
{
    if ((cond->kind != TN_E_LT && cond->kind != TN_E_LE) || !is_scalar_index(cond->src[0]))
        return false;
    walk w = {p, out, WALK_MAX, 0};
    out->c = cond->kind == TN_E_LT;
    out->n = 0;
    return collect(&w, cond->src[0], 1) && collect(&w, cond->src[1], -1);
}

/* ---- to expressions ---- */

static int term_order(const tn_affine *a, int i, int j)
{
    int64_t x = a->term[i].coef, y = a->term[j].coef;
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    if (x != y)
        return x > y ? -1 : 1;
    return tn_expr_order(a->term[i].atom, a->term[j].atom);
}

static const tn_expr *join(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    return tn_expr_make(p, k, TN_IDX, (tn_payload){0}, 2, (const tn_expr *const[]){a, b});
}

static const tn_expr *scaled(tn_pool *p, const tn_expr *atom, int64_t k)
{
    return k == 1 ? atom : join(p, TN_E_MUL, atom, tn_idx(p, k));
}

/* Terms by falling coefficient, then structure: first those added, then those subtracted, the constant last. */
const tn_expr *tn_affine_expr(tn_pool *p, const tn_affine *a)
{
    int at[TN_AFFINE_MAX];
    for (int i = 0; i < a->n; i++) {
        int j = i;
        for (; j > 0 && term_order(a, i, at[j - 1]) < 0; j--)
            at[j] = at[j - 1];
        at[j] = i;
    }
    const tn_expr *e = NULL;
    int64_t c = a->c;
    for (int i = 0; i < a->n; i++) {
        const tn_expr *atom = a->term[at[i]].atom;
        int64_t k = a->term[at[i]].coef;
        if (k > 0)
            e = e ? join(p, TN_E_ADD, e, scaled(p, atom, k)) : scaled(p, atom, k);
    }
    if (!e && (c > 0 || a->n == 0)) {
        e = tn_idx(p, c);
        c = 0;
    }
    for (int i = 0; i < a->n; i++) {
        const tn_expr *atom = a->term[at[i]].atom;
        int64_t k = a->term[at[i]].coef;
        if (k < 0)
            e = e ? join(p, TN_E_SUB, e, scaled(p, atom, -k)) : scaled(p, atom, k);
    }
    if (c != 0)
        e = join(p, c > 0 ? TN_E_ADD : TN_E_SUB, e, tn_idx(p, c > 0 ? c : -c));
    return e;
}
