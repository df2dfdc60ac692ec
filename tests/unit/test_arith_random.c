/* Random index expressions with random ranges: simplified means the same, bounds hold what is sampled, proofs
 * are never wrong, and what is simplified stays as it is. Seeded, so every run sees the same expressions. */
#include "base/rng.h"
#include "test_arith_eval.h"

#include <stdlib.h>

enum { EXPRESSIONS = 20000, POINTS = 24, VARS = 4 };

typedef struct gen {
    world *w;
    tn_rng rng;
    const tn_expr *var[VARS + 1]; /* the last one is a symbol */
    tn_range range[VARS + 1];
} gen;

static int64_t between(gen *g, int64_t lo, int64_t hi)
{
    return lo + (int64_t)tn_rng_below(&g->rng, (uint64_t)(hi - lo) + 1);
}

static const tn_expr *constant(gen *g)
{
    static const int64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 14, 16, 32, -1, -2, -3, 0, 64};
    if (tn_rng_below(&g->rng, 8) == 0)
        return tn_idx(&g->w->pool, between(g, -100, 100));
    return tn_idx(&g->w->pool, usual[tn_rng_below(&g->rng, sizeof usual / sizeof *usual)]);
}

static const tn_expr *index_expr(gen *g, int depth);

static const tn_expr *bool_expr(gen *g, int depth)
{
    static const enum tn_ek compare[] = {TN_E_LT, TN_E_LE, TN_E_EQ, TN_E_NE};
    tn_pool *p = &g->w->pool;
    uint64_t k = tn_rng_below(&g->rng, depth > 1 ? 8 : 5);
    if (k < 5)
        return tn_bin(p, compare[tn_rng_below(&g->rng, 4)], index_expr(g, depth - 1),
                      index_expr(g, depth - 1));
    const tn_expr *a = bool_expr(g, depth - 1);
    if (k == 7)
        return tn_not(p, a);
    return tn_bin(p, k == 5 ? TN_E_AND : TN_E_OR, a, bool_expr(g, depth - 1));
}

static const tn_expr *index_expr(gen *g, int depth)
{
    static const enum tn_ek binary[] = {TN_E_ADD,      TN_E_ADD, TN_E_SUB, TN_E_MUL,      TN_E_FLOORDIV,
                                        TN_E_FLOORMOD, TN_E_MIN, TN_E_MAX, TN_E_TRUNCDIV, TN_E_TRUNCMOD};
    tn_pool *p = &g->w->pool;
    if (depth <= 0)
        return tn_rng_below(&g->rng, 4) == 0 ? constant(g) : g->var[tn_rng_below(&g->rng, VARS + 1)];
    uint64_t k = tn_rng_below(&g->rng, 24);
    if (k == 0)
        return tn_select(p, bool_expr(g, depth - 1), index_expr(g, depth - 1), index_expr(g, depth - 1));
    if (k < 6) /* x*c + y: what splits and layouts are made of */
        return tn_add(p, tn_mul(p, index_expr(g, depth - 1), constant(g)), index_expr(g, depth - 2));
    if (k < 14) { /* x/c, x%c */
        const tn_expr *c = constant(g);
        if (!tn_is_value(c, 0))
            return tn_bin(p, k < 10 ? TN_E_FLOORDIV : TN_E_FLOORMOD, index_expr(g, depth - 1), c);
    }
    enum tn_ek op = binary[tn_rng_below(&g->rng, k < 22 ? 8 : 10)];
    return tn_bin(p, op, index_expr(g, depth - 1), index_expr(g, depth - 1));
}

static void new_ranges(gen *g)
{
    for (int i = 0; i < VARS; i++) {
        int64_t lo = tn_rng_below(&g->rng, 3) ? 0 : between(g, -20, 20);
        static const int64_t extent[] = {1, 2, 3, 4, 7, 8, 14, 16, 17, 32, 100};
        g->range[i] = (tn_range){lo, lo + extent[tn_rng_below(&g->rng, sizeof extent / sizeof *extent)] - 1};
        tn_facts_range(&g->w->facts, g->var[i], g->range[i].lo, g->range[i].hi);
    }
    g->range[VARS] = (tn_range){1, 100};
    tn_facts_range(&g->w->facts, g->var[VARS], 1, 100);
}

static void sample(gen *g, point *at)
{
    at->n = VARS + 1;
    for (int i = 0; i <= VARS; i++) {
        at->leaf[i] = g->var[i];
        uint64_t edge = tn_rng_below(&g->rng, 6);
        at->value[i] = edge == 0   ? g->range[i].lo
                       : edge == 1 ? g->range[i].hi
                                   : between(g, g->range[i].lo, g->range[i].hi);
    }
}

static void gen_init(gen *g, world *w, uint64_t seed)
{
    g->w = w;
    g->rng.state = seed;
    for (uint32_t i = 0; i < VARS; i++)
        g->var[i] = tn_var(&w->pool, TN_IDX, i);
    g->var[VARS] = tn_sym(&w->pool, "n");
}

/* Simplified under other facts of the same content, so that no memo helps. */
static const tn_expr *again(gen *g, const tn_expr *e)
{
    tn_facts f;
    tn_facts_init(&f);
    for (int i = 0; i <= VARS; i++)
        tn_facts_range(&f, g->var[i], g->range[i].lo, g->range[i].hi);
    const tn_expr *r = tn_simplify(&g->w->pool, &f, e);
    tn_facts_deinit(&f);
    return r;
}

static void check_same(gen *g, const tn_expr *e, const tn_expr *s, const point *at)
{
    tn_scalar a, b;
    if (!eval_at(e, at, &a))
        return;
    bool ok = eval_at(s, at, &b);
    if (!ok || a.i != b.i)
        fail_msg("%s at v0=%lld v1=%lld v2=%lld v3=%lld n=%lld is %lld, but simplified, %s, is %s%lld",
                 text_of(g->w, e), (long long)at->value[0], (long long)at->value[1], (long long)at->value[2],
                 (long long)at->value[3], (long long)at->value[4], (long long)a.i, text_of(g->w, s),
                 ok ? "" : "undefined ", ok ? (long long)b.i : 0);
}

static void check_within(gen *g, const tn_expr *e, tn_range r, const point *at)
{
    tn_scalar a;
    if (eval_at(e, at, &a) && (a.i < r.lo || a.i > r.hi))
        fail_msg("%s is %lld, outside [%lld, %lld]", text_of(g->w, e), (long long)a.i, (long long)r.lo,
                 (long long)r.hi);
}

static void test_random(void **state)
{
    (void)state;
    int changed = 0, smaller = 0, proved = 0;
    for (int round = 0; round < EXPRESSIONS; round += 500) {
        world w;
        gen g;
        world_init(&w);
        gen_init(&g, &w, 1000 + (uint64_t)round);
        for (int i = 0; i < 500; i++) {
            if (i % 10 == 0)
                new_ranges(&g);
            bool truth = i % 4 == 3;
            const tn_expr *e = truth ? bool_expr(&g, 4) : index_expr(&g, 2 + i % 4);
            const tn_expr *s = tn_simplify(&w.pool, &w.facts, e), *t = again(&g, s);
            tn_range r = tn_bounds(&w.facts, e), rs = tn_bounds(&w.facts, s);
            int known = truth ? tn_prove(&w.pool, &w.facts, e) : -1;
            proved += known >= 0;
            smaller += s != e;
            if (s != t) {
                changed++;
                if (getenv("ARITH_VERBOSE"))
                    printf("%s\n  -> %s\n  -> %s\n", text_of(&w, e), text_of(&w, s), text_of(&w, t));
            }
            for (int k = 0; k < POINTS; k++) {
                point at;
                sample(&g, &at);
                check_same(&g, e, s, &at);
                check_same(&g, e, t, &at);
                check_within(&g, e, r, &at);
                check_within(&g, e, rs, &at);
                if (known >= 0)
                    check_same(&g, e, tn_bool(&w.pool, known), &at);
            }
        }
        world_deinit(&w);
    }
    printf("%d of %d simplified, %d conditions decided, %d changed when simplified again\n", smaller,
           EXPRESSIONS, proved, changed);
    assert_true(smaller > EXPRESSIONS / 2);
    assert_true(proved > EXPRESSIONS / 40);
    assert_true(changed * 100 <= EXPRESSIONS);
}

/* Under an assumption: what is simplified or decided holds wherever the assumption does. */
static void test_assumptions(void **state)
{
    (void)state;
    int met = 0, proved = 0, held = 0;
    for (int round = 0; round < 12; round++) {
        world w;
        gen g;
        world_init(&w);
        gen_init(&g, &w, 77 + (uint64_t)round);
        for (int i = 0; i < 500; i++) {
            if (i % 10 == 0)
                new_ranges(&g);
            tn_facts_mark mark = tn_facts_here(&w.facts);
            const tn_expr *known = bool_expr(&g, 2), *cond = bool_expr(&g, 2), *e = index_expr(&g, 3);
            if (i % 3 == 0) /* something that follows, often */
                cond = tn_bin(&w.pool, TN_E_OR, known, cond);
            tn_facts_assume(&w.facts, known);
            tn_facts_assume(&w.facts, bool_expr(&g, 1));
            const tn_expr *s = tn_simplify(&w.pool, &w.facts, e), *sc = tn_simplify(&w.pool, &w.facts, cond);
            int truth = tn_prove(&w.pool, &w.facts, cond);
            tn_range r = tn_bounds(&w.facts, e);
            proved += truth >= 0;
            held += truth == 1;
            for (int k = 0; k < POINTS; k++) {
                point at;
                tn_scalar a, b;
                sample(&g, &at);
                if (!eval_at(w.facts.cond[mark.n_cond], &at, &a) || !a.i ||
                    !eval_at(w.facts.cond[mark.n_cond + 1], &at, &b) || !b.i)
                    continue;
                met++;
                check_same(&g, e, s, &at);
                check_same(&g, cond, sc, &at);
                check_within(&g, e, r, &at);
                if (truth >= 0)
                    check_same(&g, cond, tn_bool(&w.pool, truth), &at);
            }
            tn_facts_release(&w.facts, mark);
        }
        world_deinit(&w);
    }
    printf("%d points met their assumption, %d conditions decided, %d true\n", met, proved, held);
    assert_true(met > 10000 && held > 600);
}

/* ---- sums of what clips one value: their interval is exact ---- */

static void test_clips(void **state)
{
    (void)state;
    world w;
    gen g;
    world_init(&w);
    gen_init(&g, &w, 3);
    tn_pool *p = &w.pool;
    const tn_expr *x = g.var[0];
    for (int i = 0; i < 3000; i++) {
        const tn_expr *e = tn_idx(p, between(&g, -9, 9));
        for (int64_t n = between(&g, 2, 6); n > 0; n--) {
            const tn_expr *limit = tn_idx(p, between(&g, -12, 12)), *k = tn_idx(p, between(&g, -3, 3));
            uint64_t kind = tn_rng_below(&g.rng, 5);
            e = tn_add(p, e,
                       tn_mul(p,
                              kind == 0  ? x
                              : kind < 3 ? tn_min(p, x, limit)
                                         : tn_max(p, x, limit),
                              k));
        }
        int64_t lo = between(&g, -20, 20), hi = between(&g, lo, 20);
        tn_range exact = {INT64_MAX, INT64_MIN};
        for (int64_t v = lo; v <= hi; v++) {
            point at = {{x}, {v}, 1};
            tn_scalar y;
            assert_true(eval_at(e, &at, &y));
            exact.lo = y.i < exact.lo ? y.i : exact.lo;
            exact.hi = y.i > exact.hi ? y.i : exact.hi;
        }
        tn_facts_range(&w.facts, x, lo, hi);
        tn_range r = tn_bounds(&w.facts, e);
        if (r.lo != exact.lo || r.hi != exact.hi)
            fail_msg("%s for x in [%lld, %lld]: [%lld, %lld]", text_of(&w, e), (long long)lo, (long long)hi,
                     (long long)r.lo, (long long)r.hi);
    }
    world_deinit(&w);
}

/* ---- data integers: they wrap, and nothing of index may leak ---- */

static const tn_expr *data_expr(gen *g, tn_dtype t, const tn_expr *const var[2], int depth)
{
    static const enum tn_ek binary[] = {TN_E_ADD,      TN_E_SUB,      TN_E_MUL,      TN_E_FLOORDIV,
                                        TN_E_FLOORMOD, TN_E_TRUNCDIV, TN_E_TRUNCMOD, TN_E_MIN,
                                        TN_E_MAX,      TN_E_BITAND,   TN_E_BITOR,    TN_E_BITXOR,
                                        TN_E_ADD,      TN_E_MUL,      TN_E_SHL,      TN_E_SHR};
    static const enum tn_ek compare[] = {TN_E_LT, TN_E_LE, TN_E_EQ, TN_E_NE};
    tn_pool *p = &g->w->pool;
    if (depth <= 0)
        return tn_rng_below(&g->rng, 3) ? var[tn_rng_below(&g->rng, 2)] : tn_int(p, t, between(g, -9, 9));
    const tn_expr *a = data_expr(g, t, var, depth - 1), *b = data_expr(g, t, var, depth - 1);
    uint64_t k = tn_rng_below(&g->rng, 20);
    if (k < 16)
        return tn_bin(p, binary[k], a, b);
    if (k < 18) {
        tn_dtype mid =
            k == 16 ? TN_DT(TN_INT, (uint8_t)between(g, 2, 9)) : TN_DT(TN_UINT, (uint8_t)between(g, 2, 9));
        return tn_cast(p, t, tn_cast(p, tn_rng_below(&g->rng, 3) ? mid : TN_IDX, a));
    }
    const tn_expr *c = tn_bin(p, compare[tn_rng_below(&g->rng, 4)], a, data_expr(g, t, var, depth - 1));
    return tn_select(p, k == 18 ? c : tn_not(p, c), a, b);
}

static void test_wrapping(void **state)
{
    static const tn_dtype types[] = {{TN_INT, 4, 1}, {TN_UINT, 4, 1}};
    (void)state;
    int changed = 0;
    for (int round = 0; round < 8; round++) {
        world w;
        gen g;
        world_init(&w);
        gen_init(&g, &w, 5 + (uint64_t)round);
        tn_dtype t = types[round % 2];
        const tn_expr *var[2] = {tn_var(&w.pool, t, 10), tn_var(&w.pool, t, 11)};
        for (int i = 0; i < 500; i++) {
            const tn_expr *e = data_expr(&g, t, var, 1 + i % 4),
                          *s = tn_simplify(&w.pool, i % 2 ? &w.facts : NULL, e);
            tn_range r = tn_bounds(NULL, e);
            changed += s != e;
            for (int x = 0; x < 256; x++) {
                point at = {{var[0], var[1]},
                            {tn_eval_cast(TN_I64, t, (tn_scalar){.i = x % 16}).i,
                             tn_eval_cast(TN_I64, t, (tn_scalar){.i = x / 16}).i},
                            2};
                tn_scalar a, b;
                if (!eval_at(e, &at, &a))
                    continue;
                bool ok = eval_at(s, &at, &b);
                if (!ok || a.i != b.i)
                    fail_msg("%s at %lld, %lld is %lld, but simplified, %s, is %lld", text_of(&w, e),
                             (long long)at.value[0], (long long)at.value[1], (long long)a.i, text_of(&w, s),
                             ok ? (long long)b.i : -999);
                check_within(&g, e, r, &at);
            }
        }
        world_deinit(&w);
    }
    printf("%d of 4000 data expressions simplified\n", changed);
    assert_true(changed > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_assumptions),
                                       cmocka_unit_test(test_clips), cmocka_unit_test(test_wrapping)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
