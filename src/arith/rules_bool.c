/* Rules of bool: and, or, not, select. They hold for every truth value; those that look into comparisons say
 * of which.
 *
 * A conjunction is a list of distinct parts in structural order. Two parts that are comparisons of indices
 * whose sums differ by a constant become the stronger one; if they exclude each other the whole is false (or:
 * dually).
 */
#include "arith/arith_impl.h"

enum { PARTS_MAX = 16 };

const tn_expr *tn_simp_not(tn_simp *c, const tn_expr *a)
{
    tn_affine d, n = {.c = 1};
    switch (a->kind) {
    case TN_E_INT: return tn_bool(c->p, a->u.i == 0);
    case TN_E_NOT: return a->src[0];
    case TN_E_EQ:
    case TN_E_NE:
        return tn_simp_node2(c, a->kind == TN_E_EQ ? TN_E_NE : TN_E_EQ, a->dtype, a->src[0], a->src[1]);
    case TN_E_LT:
    case TN_E_LE:
        if (tn_dtype_is_float(a->src[0]->dtype))
            break; /* NaN: neither way */
        if (tn_affine_cond(NULL, a, &d) && tn_affine_addmul(&n, &d, -1))
            return tn_simp_le0(c, &n);
        return tn_simp_node2(c, a->kind == TN_E_LT ? TN_E_LE : TN_E_LT, a->dtype, a->src[1], a->src[0]);
    case TN_E_AND:
    case TN_E_OR:
        if (c->depth >= TN_SIMP_DEPTH)
            break;
        c->depth++;
        const tn_expr *x = tn_simp_not(c, a->src[0]), *y = tn_simp_not(c, a->src[1]);
        x = tn_simp_junction(c, a->kind == TN_E_AND ? TN_E_OR : TN_E_AND, x, y);
        c->depth--;
        return x;
    default: break;
    }
    return tn_expr_make(c->p, TN_E_NOT, a->dtype, (tn_payload){0}, 1, &a);
}

static int parts_of(enum tn_ek k, const tn_expr *e, const tn_expr *out[], int n)
{
    while (e->kind == k && n < PARTS_MAX) {
        bool first = e->src[0]->kind == k;
        const tn_expr *leaf = e->src[first ? 1 : 0];
        if (leaf->kind == k)
            n = parts_of(k, leaf, out, n); /* both are lists: built by hand; depth is bounded by PARTS_MAX */
        else
            out[n++] = leaf;
        e = e->src[first ? 0 : 1];
    }
    if (n < PARTS_MAX)
        out[n++] = e;
    return n;
}

static bool opposite(const tn_expr *a, const tn_expr *b)
{
    if (a->kind == TN_E_NOT && a->src[0] == b)
        return true;
    if (b->kind == TN_E_NOT && b->src[0] == a)
        return true;
    bool eq_ne = (a->kind == TN_E_EQ && b->kind == TN_E_NE) || (a->kind == TN_E_NE && b->kind == TN_E_EQ);
    bool lt_le = ((a->kind == TN_E_LT && b->kind == TN_E_LE) || (a->kind == TN_E_LE && b->kind == TN_E_LT)) &&
                 !tn_dtype_is_float(a->src[0]->dtype);
    return (eq_ne && a->src[0] == b->src[0] && a->src[1] == b->src[1]) ||
           (lt_le && a->src[0] == b->src[1] && a->src[1] == b->src[0]);
}

enum pair { BOTH, FIRST, SECOND, WHOLE }; /* keep both, one, or the whole junction is decided */

/* x <= 0 and y <= 0 (or: or), as x - y or x + y is a constant. */
static enum pair compare_pair(bool is_and, const tn_affine *x, const tn_affine *y)
{
    tn_affine t = *x;
    if (tn_affine_addmul(&t, y, -1) && t.n == 0)
        return (t.c >= 0) == is_and ? FIRST : SECOND; /* larger sum: stronger condition */
    t = *x;
    if (tn_affine_addmul(&t, y, 1) && t.n == 0 && (is_and ? t.c > 0 : t.c <= 1))
        return WHOLE;
    return BOTH;
}

static enum pair judge(bool is_and, const tn_expr *a, const tn_expr *b)
{
    tn_affine x, y;
    if (a == b)
        return FIRST;
    if (opposite(a, b))
        return WHOLE;
    if (tn_affine_cond(NULL, a, &x) && tn_affine_cond(NULL, b, &y) && x.n == y.n)
        return compare_pair(is_and, &x, &y);
    return BOTH;
}

const tn_expr *tn_simp_junction(tn_simp *c, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *in[PARTS_MAX], *list[PARTS_MAX] = {0};
    bool is_and = k == TN_E_AND;
    if (a->kind == TN_E_INT)
        return (a->u.i != 0) == is_and ? b : a;
    if (b->kind == TN_E_INT)
        return (b->u.i != 0) == is_and ? a : b;
    int n = parts_of(k, b, in, parts_of(k, a, in, 0)), m = 0;
    if (n == PARTS_MAX) /* some may be missing */
        return a == b ? a : tn_simp_node2(c, k, a->dtype, a, b);
    for (int i = 0; i < n; i++) {
        bool needless = false;
        for (int j = 0; j < m && !needless; j++) {
            enum pair r = judge(is_and, list[j], in[i]);
            if (r == WHOLE)
                return tn_bool(c->p, !is_and);
            needless = r == FIRST;
            if (r == SECOND)
                list[j--] = list[--m];
        }
        if (!needless)
            list[m++] = in[i];
    }
    for (int i = 1; i < m; i++) {
        const tn_expr *x = list[i];
        int j = i;
        for (; j > 0 && tn_expr_order(x, list[j - 1]) < 0; j--)
            list[j] = list[j - 1];
        list[j] = x;
    }
    const tn_expr *e = list[0];
    for (int i = 1; i < m; i++)
        e = tn_simp_node2(c, k, e->dtype, e, list[i]);
    return e;
}

/* select(a < b, a, b) of integers is a minimum; of floats it is not (NaN, signed zero). */
static const tn_expr *select_minmax(tn_simp *c, const tn_expr *cond, const tn_expr *a, const tn_expr *b)
{
    if ((cond->kind != TN_E_LT && cond->kind != TN_E_LE) || tn_dtype_is_float(a->dtype) ||
        tn_dtype_is_bool(a->dtype))
        return NULL;
    bool same = cond->src[0] == a && cond->src[1] == b, swapped = cond->src[0] == b && cond->src[1] == a;
    if (!same && !swapped)
        return NULL;
    enum tn_ek k = same ? TN_E_MIN : TN_E_MAX;
    return tn_dtype_eq(a->dtype, TN_IDX) ? tn_simp_minmax(c, k, a, b) : tn_simp_wrap_minmax(c, k, a, b);
}

const tn_expr *tn_simp_select(tn_simp *c, const tn_expr *cond, const tn_expr *a, const tn_expr *b)
{
    if (cond->kind == TN_E_INT)
        return cond->u.i != 0 ? a : b;
    if (a == b)
        return a;
    if (cond->kind == TN_E_NOT)
        return tn_simp_select(c, cond->src[0], b, a);
    if (tn_dtype_eq(a->dtype, TN_BOOL1)) {
        if (a->kind == TN_E_INT)
            return tn_simp_junction(c, a->u.i != 0 ? TN_E_OR : TN_E_AND,
                                    a->u.i != 0 ? cond : tn_simp_not(c, cond), b);
        if (b->kind == TN_E_INT)
            return tn_simp_junction(c, b->u.i != 0 ? TN_E_OR : TN_E_AND,
                                    b->u.i != 0 ? tn_simp_not(c, cond) : cond, a);
    }
    const tn_expr *r = select_minmax(c, cond, a, b);
    if (r)
        return r;
    const tn_expr *s[] = {cond, a, b};
    return tn_expr_make(c->p, TN_E_SELECT, a->dtype, (tn_payload){0}, 3, s);
}
