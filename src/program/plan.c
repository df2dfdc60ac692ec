/* Memory plan: temporaries get offsets in one arena by their lifetimes.
 *
 * Sizes may be expressions in the symbols. Placement is greedy by size (Pisarchyk, Lee: Efficient Memory
 * Management for Deep Neural Net Inference, 2020) for nominal symbol values; then, in order of nominal
 * offset, each temporary is put at the maximum of the ends of those below it that live at the same time. That
 * maximum is an expression, so the plan holds for every symbol value and is that one for the nominal value.
 * Where greedy takes more than what is alive at once, other orders are tried. O(n^2) an order.
 *
 * Large values mostly end where pages do. Behind those a few lines stay free, so that not all begin at one place of a
 * page (TN_COLOUR, base/size.h).
 */
#include "base/rng.h"
#include "base/size.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { NOMINAL = 4, COLOURED = 64 << 10, COLOURED_NOMINAL = 2 << 10 };

/* A symbol's place is taken by what it is planned for. */
static const tn_expr *with_nominal(tn_pool *p, const tn_expr *e, void *user)
{
    if (e->kind != TN_E_SYM)
        return NULL;
    tn_range r = tn_bounds(user, e);
    return tn_idx(p, NOMINAL < r.lo ? r.lo : NOMINAL > r.hi ? r.hi : NOMINAL);
}

/* A size beyond 2^63 counts as VAST: placed first, and sums of such do not overflow. O(size of e). */
int64_t tn_plan_nominal(tn_pool *p, const tn_facts *f, const tn_expr *e)
{
    static const int64_t VAST = 1LL << 40;
    int64_t v = 0;
    if (tn_is_int(e, &v))
        return v;
    e = tn_simplify(p, NULL, tn_rewrite(p, e, with_nominal, (void *)f));
    return tn_is_int(e, &v) ? v : VAST;
}

static const tn_expr *whole_lines(tn_pool *p, const tn_expr *e)
{
    return tn_simplify(p, NULL, tn_mul(p, tn_ceildiv(p, e, TN_LINE), tn_idx(p, TN_LINE)));
}

/* What stays free behind so many bytes: nothing where they end far from the end of a page. */
static int64_t apart_from_next(tn_pool *p, const tn_facts *f, const tn_expr *bytes)
{
    int64_t n = tn_plan_nominal(p, f, bytes);
    if (bytes->kind != TN_E_INT)
        return n < COLOURED_NOMINAL ? 0 : TN_COLOUR;
    return n < COLOURED || (n + TN_COLOUR) % TN_PAGE >= 2 * TN_COLOUR ? 0 : TN_COLOUR;
}

typedef struct {
    uint32_t i;
    int64_t bytes, at; /* with what stays free behind it */
    int64_t apart;     /* that */
} item;

static int64_t end_of(const item *t) { return t->at + t->bytes - t->apart; }

static int by_size(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

static int by_offset(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->i > y->i) - (x->i < y->i);
}

static bool overlap(const tn_lifetime *a, const tn_lifetime *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest nominal offset where item k fits between those placed before it. */
static int64_t first_fit(const tn_lifetime *life, const item *t, uint32_t k)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t j = 0; j < k; j++)
            if (overlap(&life[t[k].i], &life[t[j].i]) && at < t[j].at + t[j].bytes &&
                t[j].at < at + t[k].bytes) {
                at = t[j].at + t[j].bytes;
                moved = true;
            }
    }
    return at;
}

/* Places the items in their order; the bytes that takes. */
static int64_t place(const tn_lifetime *life, item *t, uint32_t n)
{
    int64_t total = 0;
    for (uint32_t k = 0; k < n; k++) {
        t[k].at = first_fit(life, t, k);
        total = end_of(&t[k]) > total ? end_of(&t[k]) : total;
    }
    return total;
}

static bool alive_at(const tn_lifetime *l, uint32_t at) { return l->first <= at && at <= l->last; }

/* The most bytes alive at once, which is where something begins: no plan takes less. */
static int64_t most_alive(const tn_lifetime *life, const item *t, uint32_t n)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < n; k++) {
        int64_t sum = 0, last = 0;
        for (uint32_t j = 0; j < n; j++)
            if (alive_at(&life[t[j].i], life[t[k].i].first)) {
                sum += t[j].bytes;
                last = t[j].apart > last ? t[j].apart : last;
            }
        most = sum - last > most ? sum - last : most;
    }
    return most;
}

/* What stands at the top of a plan that is too large is placed earlier the next time. */
static void promote(item *t, item *scratch, uint32_t n, int64_t total)
{
    uint32_t k = 0;
    for (int top = 1; top >= 0; top--)
        for (uint32_t i = 0; i < n; i++)
            if ((end_of(&t[i]) == total) == top)
                scratch[k++] = t[i];
    memcpy(t, scratch, n * sizeof *t);
}

/* Moves one thing at the top of the plan to an earlier turn, and sometimes any other one anywhere. */
static void disturb(item *t, uint32_t n, int64_t total, tn_rng *r)
{
    uint32_t from = (uint32_t)tn_rng_below(r, n), to = (uint32_t)tn_rng_below(r, n);
    for (uint32_t k = 0; k < n && tn_rng_below(r, 4); k++) {
        uint32_t i = (from + k) % n;
        if (end_of(&t[i]) == total) {
            from = i;
            to = (uint32_t)tn_rng_below(r, (uint64_t)i + 1);
            break;
        }
    }
    item x = t[from];
    if (from < to)
        memmove(&t[from], &t[from + 1], (to - from) * sizeof *t);
    else
        memmove(&t[to + 1], &t[to], (from - to) * sizeof *t);
    t[to] = x;
}

/* Tries orders of placement until the plan is as small as what is alive at once, or WORK steps are spent: by size, by
 * beginning, each followed by orders with what was in the way first (squeaky wheel optimisation: Joslin,
 * Clements, 1999), then small changes of the best one. t ends with the best places found. Is that the
 * smallest plan? */
static bool search(const tn_lifetime *life, tn_arena *scratch, uint32_t n, item *t)
{
    enum { WORK = 40000000, ROUNDS = 200 };
    item *best = TN_NEW_N(scratch, item, n), *room = TN_NEW_N(scratch, item, n);
    int64_t least = most_alive(life, t, n), rounds = WORK / ((int64_t)n * n + 1);
    tn_rng rng = {n};
    qsort(t, n, sizeof *t, by_size);
    int64_t total = place(life, t, n), best_total = total;
    memcpy(best, t, n * sizeof *t);
    for (int64_t r = 0; best_total > least && r < rounds && r < 10 * ROUNDS; r++) {
        if (r == ROUNDS) { /* begin again, in order of execution */
            for (uint32_t i = 0; i < n; i++)
                t[i].at = life[t[i].i].first;
            qsort(t, n, sizeof *t, by_offset);
        } else if (r < 2 * ROUNDS) {
            promote(t, room, n, total);
        } else {
            memcpy(t, best, n * sizeof *t);
            disturb(t, n, best_total, &rng);
        }
        total = place(life, t, n);
        if (total < best_total || (r >= 2 * ROUNDS && total == best_total)) {
            best_total = total;
            memcpy(best, t, n * sizeof *t);
        }
    }
    memcpy(t, best, n * sizeof *t);
    return best_total == least;
}

/* ---- maxima ----
 * Most maxima are of sizes where one is the larger for all values of the symbols, which the simplifier does not see
 * through roundings: floordiv(e, c) lies between (e - (c - 1))/c and e/c. */

/* Proves 0 <= e, every quotient replaced by its worst value, all times their common divisor. */
static bool never_negative(tn_pool *p, const tn_facts *f, const tn_expr *e)
{
    tn_affine a;
    int64_t all = 1, c;
    if (!tn_affine_of(p, tn_simplify(p, f, e), &a))
        return false;
    for (int i = 0; i < a.n; i++)
        if (a.term[i].atom->kind == TN_E_FLOORDIV && tn_is_int(a.term[i].atom->src[1], &c) && c > 0 &&
            all % c != 0 && (__builtin_mul_overflow(all, c, &all) || all > INT32_MAX))
            return false;
    const tn_expr *sum = tn_mul(p, tn_idx(p, a.c), tn_idx(p, all));
    for (int i = 0; i < a.n; i++) {
        const tn_expr *atom = a.term[i].atom, *k = tn_mul(p, tn_idx(p, a.term[i].coef), tn_idx(p, all));
        if (atom->kind == TN_E_FLOORDIV && tn_is_int(atom->src[1], &c) && c > 0) {
            k = tn_mul(p, tn_idx(p, a.term[i].coef), tn_idx(p, all / c));
            atom = a.term[i].coef < 0 ? atom->src[0] : tn_sub(p, atom->src[0], tn_idx(p, c - 1));
        }
        sum = tn_add(p, sum, tn_mul(p, k, atom));
    }
    return tn_prove(p, f, tn_le(p, tn_idx(p, 0), tn_simplify(p, f, sum))) == 1;
}

enum { MAX_DEPTH = 8 };

/* a >= b for all symbols? */
static bool at_least(tn_pool *p, const tn_facts *f, const tn_expr *a, const tn_expr *b, int depth)
{
    if (depth > MAX_DEPTH)
        return false;
    if (b->kind == TN_E_MAX)
        return at_least(p, f, a, b->src[0], depth + 1) && at_least(p, f, a, b->src[1], depth + 1);
    if (a->kind == TN_E_MAX)
        return at_least(p, f, a->src[0], b, depth + 1) || at_least(p, f, a->src[1], b, depth + 1);
    return never_negative(p, f, tn_sub(p, a, b));
}

const tn_expr *tn_plan_max(tn_pool *p, const tn_facts *f, const tn_expr *a, const tn_expr *b)
{
    if (a->kind == TN_E_INT && b->kind == TN_E_INT)
        return tn_max(p, a, b);
    if (at_least(p, f, a, b, 0))
        return a;
    return at_least(p, f, b, a, 0) ? b : tn_max(p, a, b);
}

const tn_expr *tn_plan_alive(tn_pool *p, const tn_facts *f, uint32_t n, const tn_lifetime life[])
{
    const tn_expr *most = tn_idx(p, 0);
    for (uint32_t k = 0; k < n; k++) {
        const tn_expr *sum = tn_idx(p, 0);
        int64_t apart = 0, last = 0;
        for (uint32_t j = 0; j < n; j++)
            if (alive_at(&life[j], life[k].first)) {
                sum = tn_add(p, sum, life[j].bytes);
                apart += life[j].apart;
                last = life[j].apart > last ? life[j].apart : last;
            }
        sum = tn_add(p, sum, tn_idx(p, apart - last));
        most = tn_plan_max(p, f, most, tn_simplify(p, f, sum));
    }
    return most;
}

/* Where the next one may begin. */
static const tn_expr *end_with(tn_pool *p, const tn_lifetime *x)
{
    return tn_add(p, tn_add(p, x->offset, x->bytes), tn_idx(p, x->apart));
}

const tn_expr *tn_plan_memory(tn_pool *p, const tn_facts *f, tn_arena *scratch, uint32_t n,
                              tn_lifetime life[], bool *out_smallest)
{
    item *t = TN_NEW_N(scratch, item, n);
    for (uint32_t i = 0; i < n; i++) {
        life[i].bytes = whole_lines(p, life[i].bytes);
        life[i].apart = apart_from_next(p, f, life[i].bytes);
        t[i] = (item){i, tn_plan_nominal(p, f, life[i].bytes) + life[i].apart, 0, life[i].apart};
    }
    bool smallest = search(life, scratch, n, t);
    if (out_smallest)
        *out_smallest = smallest;
    qsort(t, n, sizeof *t, by_offset);
    const tn_expr *total = tn_idx(p, 0);
    for (uint32_t k = 0; k < n; k++) {
        tn_lifetime *x = &life[t[k].i];
        x->offset = tn_idx(p, 0);
        for (uint32_t j = 0; j < k; j++)
            if (overlap(x, &life[t[j].i]))
                x->offset = tn_plan_max(p, f, x->offset, end_with(p, &life[t[j].i]));
        x->offset = tn_simplify(p, f, x->offset);
        total = tn_plan_max(p, f, total, tn_simplify(p, f, tn_add(p, x->offset, x->bytes)));
    }
    return tn_simplify(p, f, total);
}
