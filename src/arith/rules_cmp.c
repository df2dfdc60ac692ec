/* Rules of comparisons of indices, all through one normal form: affine <= 0, affine == 0.
 *
 * Coefficients are divided by their gcd (rounding the constant, as integers allow), digits too small to matter
 * are dropped (16*i + j < 16*n with 0 <= j < 16 is i < n), quotients are multiplied out where that makes no more
 * terms or leaves no quotient (x/k < c is x < c*k), then bounds and assumptions decide. What is left is written
 * with positive terms on both sides: x < c, c <= x, x < y + c.
 */
#include "arith/arith_impl.h"

static int64_t abs64(int64_t x) { return x < 0 ? -x : x; }

static int64_t gcd_of(const tn_affine *a)
{
    int64_t g = 0;
    for (int i = 0; i < a->n; i++)
        g = tn_gcd(g, a->term[i].coef);
    return g;
}

static void divide_terms(tn_affine *a, int64_t g)
{
    for (int i = 0; i < a->n; i++)
        a->term[i].coef /= g;
}

static void sort_by_size(tn_affine *a)
{
    for (int i = 1; i < a->n; i++) {
        const tn_expr *atom = a->term[i].atom;
        int64_t coef = a->term[i].coef;
        int j = i;
        for (; j > 0 && abs64(a->term[j - 1].coef) < abs64(coef); j--)
            a->term[j] = a->term[j - 1];
        a->term[j].atom = atom;
        a->term[j].coef = coef;
    }
}

/* Splits off the last terms and the constant as small digits of a leading part whose coefficients share g > 1.
 * For a <= 0: needs floor(-digits/g) to be one number q, then the rest is lead/g - q <= 0. */
static bool drop_digits(tn_simp *c, tn_affine *a)
{
    int64_t pre[TN_AFFINE_MAX + 1];
    tn_affine tail = {.c = a->c};
    sort_by_size(a);
    pre[0] = 0;
    for (int i = 0; i < a->n; i++)
        pre[i + 1] = tn_gcd(pre[i], a->term[i].coef);
    for (int j = a->n - 1; j > 0; j--) {
        if (pre[1] <= 1 || !tn_affine_term(&tail, a->term[j].atom, a->term[j].coef))
            return false;
        if (pre[j] <= 1)
            continue;
        tn_range r = tn_bounds_affine(&c->b, &tail);
        if (r.lo == INT64_MIN || r.hi == INT64_MAX ||
            tn_floordiv(-r.lo, pre[j]) != tn_floordiv(-r.hi, pre[j]))
            continue;
        a->n = j;
        a->c = -tn_floordiv(-r.lo, pre[j]);
        divide_terms(a, pre[j]);
        return true;
    }
    return false;
}

static void normalise_le0(tn_simp *c, tn_affine *a)
{
    do {
        int64_t g = gcd_of(a);
        if (g > 1) {
            a->c = -tn_floordiv(-a->c, g);
            divide_terms(a, g);
        }
    } while (drop_digits(c, a));
}

/* x/k + r <= 0 is x + k*(r-1) + 1 <= 0, and r - x/k <= 0 is k*r - x <= 0, for any k > 0 that the bounds know of. */
static bool multiply_out_term(tn_simp *c, const tn_affine *a, int i, tn_affine *out)
{
    const tn_expr *q = a->term[i].atom;
    tn_affine x, k, r = *a;
    bool up = a->term[i].coef == 1;
    if (q->kind != TN_E_FLOORDIV || !(up || a->term[i].coef == -1) ||
        tn_bounds_of(&c->b, q->src[1]).lo <= 0 || !tn_affine_raw(q->src[0], &x) ||
        !tn_affine_raw(q->src[1], &k))
        return false;
    tn_affine_drop(&r, i);
    r.c -= up;
    return r.c != INT64_MAX && tn_affine_product(c->p, &k, &r, out) &&
           tn_affine_addmul(out, &x, up ? 1 : -1) && tn_affine_addmul(out, &(tn_affine){.c = 1}, up) &&
           out->c != INT64_MIN;
}

/* Done where it makes no more terms. */
static bool multiply_out(tn_simp *c, tn_affine *a)
{
    tn_affine out;
    for (int i = 0; i < a->n; i++)
        if (multiply_out_term(c, a, i, &out) && (a->n == 1 || out.n <= a->n)) {
            *a = out;
            return true;
        }
    return false;
}

static int first_quotient(const tn_affine *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == TN_E_FLOORDIV)
            return i;
    return -1;
}

/* Done where no quotient stays, whatever the number of terms: (a + (b + x/15)/33) < n. */
static bool multiply_out_all(tn_simp *c, tn_affine *a)
{
    enum { DEEPEST = 8 };
    tn_affine now = *a, next;
    int i = first_quotient(a);
    if (i < 0)
        return false;
    for (int depth = 0; i >= 0; i = first_quotient(&now)) {
        if (depth++ == DEEPEST || !multiply_out_term(c, &now, i, &next))
            return false;
        now = next;
    }
    *a = now;
    return true;
}

static int decide_le0(tn_simp *c, const tn_affine *a)
{
    tn_affine neg = {.c = 1};
    if (tn_prove_le0(c, a))
        return 1;
    return tn_affine_addmul(&neg, a, -1) && tn_prove_le0(c, &neg) ? 0 : -1;
}

/* Terms of one sign, with positive coefficients, plus k. */
static const tn_expr *side(tn_simp *c, const tn_affine *a, bool positive, int64_t k)
{
    tn_affine s = {.c = k};
    for (int i = 0; i < a->n; i++)
        if ((a->term[i].coef > 0) == positive)
            tn_affine_term(&s, a->term[i].atom, abs64(a->term[i].coef)); /* distinct atoms: cannot fail */
    return tn_affine_expr(c->p, &s);
}

static const tn_expr *compare_node(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    return tn_simp_node2(c, k, TN_BOOL1, a, b);
}

static const tn_expr *write_le0(tn_simp *c, const tn_affine *a)
{
    int pos = 0;
    for (int i = 0; i < a->n; i++)
        pos += a->term[i].coef > 0;
    if (pos == a->n) /* x <= -c */
        return compare_node(c, TN_E_LT, side(c, a, true, 0), tn_idx(c->p, 1 - a->c));
    if (pos == 0) /* c <= x */
        return compare_node(c, TN_E_LE, tn_idx(c->p, a->c), side(c, a, false, 0));
    if (a->c > 0)
        return compare_node(c, TN_E_LT, side(c, a, true, a->c - 1), side(c, a, false, 0));
    return compare_node(c, TN_E_LE, side(c, a, true, 0), side(c, a, false, -a->c));
}

const tn_expr *tn_simp_le0(tn_simp *c, tn_affine *a)
{
    tn_simp_combine(c, a);
    for (int i = 0; i < 4; i++) {
        normalise_le0(c, a);
        if (a->n == 0)
            return tn_bool(c->p, a->c <= 0);
        if (!multiply_out(c, a) && !multiply_out_all(c, a))
            break;
    }
    int known = decide_le0(c, a);
    return known >= 0 ? tn_bool(c->p, known) : write_le0(c, a);
}

/* ---- equality ---- */

static int decide_eq0(tn_simp *c, const tn_affine *a)
{
    tn_affine neg = {0}, t = {.c = 1};
    tn_range r = tn_bounds_affine(&c->b, a);
    if (a->n == 0)
        return a->c == 0;
    if (r.lo > 0 || r.hi < 0 || a->c % gcd_of(a) != 0)
        return 0;
    if (c->f->n_cond + c->f->n_upper == 0)
        return r.lo == 0 && r.hi == 0 ? 1 : -1;
    if (!tn_affine_addmul(&neg, a, -1))
        return -1;
    bool le = tn_prove_le0(c, a), ge = tn_prove_le0(c, &neg);
    if (le && ge)
        return 1;
    if (tn_affine_addmul(&t, a, 1) && tn_prove_le0(c, &t)) /* a + 1 <= 0 */
        return 0;
    t = (tn_affine){.c = 1};
    return tn_affine_addmul(&t, a, -1) && tn_prove_le0(c, &t) ? 0 : -1;
}

/* lead*g + digits == 0 where the digits hold one multiple v*g of g: lead + v == 0 and digits - v*g == 0.
 * 0: no such split; 1: split into *a and *low; 2: never equal. */
static int split_digits(tn_simp *c, tn_affine *a, tn_affine *low)
{
    int64_t pre[TN_AFFINE_MAX + 1], t;
    *low = (tn_affine){.c = a->c};
    sort_by_size(a);
    pre[0] = 0;
    for (int i = 0; i < a->n; i++)
        pre[i + 1] = tn_gcd(pre[i], a->term[i].coef);
    for (int j = a->n - 1; j > 0; j--) {
        if (pre[1] <= 1 || !tn_affine_term(low, a->term[j].atom, a->term[j].coef))
            return 0;
        tn_range r = tn_bounds_affine(&c->b, low);
        if (pre[j] <= 1 || r.lo == INT64_MIN || r.hi == INT64_MAX)
            continue;
        int64_t v = tn_floordiv(r.hi, pre[j]), first = -tn_floordiv(-r.lo, pre[j]);
        if (v < first)
            return 2;
        if (v != first || !tn_i64_mul(v, pre[j], &t) || !tn_i64_sub(low->c, t, &low->c) ||
            low->c == INT64_MIN)
            continue;
        a->n = j;
        a->c = v;
        divide_terms(a, pre[j]);
        return 1;
    }
    return 0;
}

static const tn_expr *write_eq0(tn_simp *c, tn_affine *a)
{
    int64_t g = gcd_of(a);
    int first = 0, pos = 0;
    a->c /= g;
    divide_terms(a, g);
    for (int i = 0; i < a->n; i++) {
        pos += a->term[i].coef > 0;
        if (tn_expr_order(a->term[i].atom, a->term[first].atom) < 0)
            first = i;
    }
    bool plus = pos == a->n || (pos > 0 && a->term[first].coef > 0); /* the sign that goes left */
    int64_t k = plus ? -a->c : a->c;
    if (pos == 0 || pos == a->n)
        return compare_node(c, TN_E_EQ, side(c, a, plus, 0), tn_idx(c->p, k));
    return compare_node(c, TN_E_EQ, side(c, a, plus, k < 0 ? -k : 0), side(c, a, !plus, k > 0 ? k : 0));
}

static const tn_expr *eq0(tn_simp *c, tn_affine *a)
{
    const tn_expr *all = NULL;
    tn_affine low;
    tn_simp_combine(c, a);
    for (int i = 0; i < TN_AFFINE_MAX; i++) {
        int known = decide_eq0(c, a);
        if (known == 0)
            return tn_bool(c->p, false);
        if (known == 1)
            return all ? all : tn_bool(c->p, true);
        int split = split_digits(c, a, &low);
        if (split == 2)
            return tn_bool(c->p, false);
        const tn_expr *e = split == 0 ? write_eq0(c, a) : eq0(c, &low);
        all = all ? tn_simp_junction(c, TN_E_AND, all, e) : e;
        if (split == 0)
            break;
    }
    return all;
}

const tn_expr *tn_simp_compare(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    tn_affine d, y;
    if (!tn_simp_affine(c, a, &d) || !tn_simp_affine(c, b, &y) || !tn_affine_addmul(&d, &y, -1) ||
        (k == TN_E_LT && !tn_affine_addmul(&d, &(tn_affine){.c = 1}, 1)) || d.c == INT64_MAX ||
        d.c < -INT64_MAX + 1)
        return compare_node(c, k, a, b);
    if (k == TN_E_LT || k == TN_E_LE)
        return tn_simp_le0(c, &d);
    const tn_expr *e = eq0(c, &d);
    return k == TN_E_EQ ? e : tn_simp_not(c, e);
}
