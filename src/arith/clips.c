/* Terms that clip one value at constants, k*min(x, c) and k*max(x, c), and k*x beside them: their sum is a piecewise
 * linear function of x, so its least and its largest value over an interval are at the ends or where it bends. Exact,
 * where the terms' own intervals know nothing of each other: min(x, 30) - min(x, 20) lies in [0, 10] for every x.
 * O(n^2) for n terms, O(n) where their limits are in order.
 */
#include "arith/arith_impl.h"

static bool is_finite(int64_t x) { return x != INT64_MIN && x != INT64_MAX; }

const tn_expr *tn_clipped(const tn_expr *e)
{
    bool clips = (e->kind == TN_E_MIN || e->kind == TN_E_MAX) && e->src[1]->kind == TN_E_INT &&
                 is_finite(e->src[1]->u.i);
    return clips ? e->src[0] : NULL;
}

tn_bend tn_bend_of(const tn_expr *x, const tn_expr *atom, int64_t k)
{
    if (atom == x)
        return (tn_bend){.k = k, .before = k, .after = k};
    bool min = atom->kind == TN_E_MIN;
    return (tn_bend){.at = atom->src[1]->u.i, .k = k, .before = min ? k : 0, .after = min ? 0 : k};
}

static void sort(int n, tn_bend s[])
{
    for (int i = 1; i < n; i++) {
        tn_bend x = s[i];
        int j = i;
        for (; j > 0 && s[j - 1].at > x.at; j--)
            s[j] = s[j - 1];
        s[j] = x;
    }
}

/* *sum += a*b */
static bool add(int64_t *sum, int64_t a, int64_t b)
{
    int64_t product;
    return tn_i64_mul(a, b, &product) && tn_i64_add(*sum, product, sum);
}

/* The sum's value and slope from `at` on, and its slope before all bends. */
typedef struct {
    int64_t at, value, slope, first;
} place;

static bool start(int n, const tn_bend s[], int64_t at, place *out)
{
    *out = (place){.at = at};
    for (int i = 0; i < n; i++) {
        int64_t by, slope = at < s[i].at ? s[i].before : s[i].after;
        if (!tn_i64_sub(at, s[i].at, &by) || !add(&out->value, s[i].k, s[i].at) ||
            !add(&out->value, slope, by) || !tn_i64_add(out->slope, slope, &out->slope) ||
            !tn_i64_add(out->first, s[i].before, &out->first))
            return false;
    }
    return true;
}

/* Goes on to `at`, which no bend comes before, and widens r by the value there. */
static bool go(place *p, int64_t at, tn_range *r)
{
    int64_t by;
    if (!tn_i64_sub(at, p->at, &by) || !add(&p->value, p->slope, by))
        return false;
    p->at = at;
    r->lo = p->value < r->lo ? p->value : r->lo;
    r->hi = p->value > r->hi ? p->value : r->hi;
    return true;
}

tn_range tn_bends_range(int n, tn_bend s[], tn_range x)
{
    place p;
    sort(n, s);
    int64_t from = is_finite(x.lo) ? x.lo : s[0].at < x.hi ? s[0].at : x.hi;
    if (!start(n, s, from, &p))
        return TN_NO_RANGE;
    tn_range r = {p.value, p.value};
    for (int i = 0; i < n && s[i].at < x.hi; i++) {
        if (s[i].at <= from)
            continue;
        if (!go(&p, s[i].at, &r) || !add(&p.slope, s[i].after, 1) || !add(&p.slope, s[i].before, -1))
            return TN_NO_RANGE;
    }
    if (is_finite(x.hi) && !go(&p, x.hi, &r))
        return TN_NO_RANGE;
    if ((!is_finite(x.lo) && p.first > 0) || (!is_finite(x.hi) && p.slope < 0))
        r.lo = INT64_MIN;
    if ((!is_finite(x.lo) && p.first < 0) || (!is_finite(x.hi) && p.slope > 0))
        r.hi = INT64_MAX;
    return r;
}
