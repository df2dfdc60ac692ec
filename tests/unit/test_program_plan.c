/* The memory planner on random lifetimes: temporaries that live at the same time never share a byte, for every value of
 * the symbols; offsets are multiples of 64; the arena is near the liveness bound for the nominal value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "driver/driver.h"
#include "sanitized.h"

enum { MAX_LIVE = 40, NOMINAL = 4 }; /* NOMINAL: the value the planner places for */

typedef struct plan {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_facts facts;
    tn_lifetime life[MAX_LIVE];
    uint32_t n;
} plan;

static void plan_init(plan *x)
{
    tn_ctx_init(&x->ctx);
    tn_arena_init(&x->arena);
    tn_pool_init(&x->pool, &x->ctx, &x->arena, NULL);
    tn_graph_init(&x->g, &x->ctx, &x->arena, &x->pool);
    tn_graph_symbol(&x->g, "n")->max = 1000;
    tn_graph_symbol(&x->g, "m")->max = 1000;
    tn_graph_symbol(&x->g, "m")->min = 0;
    tn_symbol_facts(&x->g, &x->facts);
}

static void plan_deinit(plan *x)
{
    tn_facts_deinit(&x->facts);
    tn_graph_deinit(&x->g);
    tn_arena_deinit(&x->arena);
    tn_ctx_deinit(&x->ctx);
}

static const tn_expr *random_size(plan *x, tn_rng *r, bool symbolic)
{
    tn_pool *p = &x->pool;
    const tn_expr *c = tn_idx(p, (int64_t)tn_rng_below(r, tn_rng_below(r, 4) ? 5000 : 200000));
    if (!symbolic || tn_rng_below(r, 3) == 0)
        return c;
    const tn_expr *s = tn_sym(p, tn_rng_below(r, 2) ? "n" : "m");
    s = tn_mul(p, s, tn_idx(p, 1 + (int64_t)tn_rng_below(r, 900)));
    return tn_rng_below(r, 2) ? s : tn_add(p, s, c);
}

static int64_t at(plan *x, const tn_expr *e, int64_t n, int64_t m)
{
    const tn_expr *from[] = {tn_sym(&x->pool, "n"), tn_sym(&x->pool, "m")},
                  *to[] = {tn_idx(&x->pool, n), tn_idx(&x->pool, m)};
    int64_t v = -1;
    assert_true(tn_is_int(tn_simplify(&x->pool, NULL, tn_subst(&x->pool, e, 2, from, to)), &v));
    return v;
}

/* The most that lives at one moment, and what is free between. */
static int64_t bound(plan *x, int64_t n, int64_t m)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        int64_t live = 0, last = 0;
        for (uint32_t j = 0; j < x->n; j++)
            if (x->life[j].first <= x->life[i].first && x->life[i].first <= x->life[j].last) {
                live += at(x, x->life[j].bytes, n, m) + x->life[j].apart;
                last = x->life[j].apart > last ? x->life[j].apart : last;
            }
        most = live - last > most ? live - last : most;
    }
    return most;
}

static void check_plan(plan *x, const tn_expr *total, int64_t n, int64_t m)
{
    int64_t bytes = at(x, total, n, m);
    for (uint32_t i = 0; i < x->n; i++) {
        const tn_lifetime *a = &x->life[i];
        int64_t low = at(x, a->offset, n, m), high = low + at(x, a->bytes, n, m);
        assert_true(low >= 0 && low % 64 == 0 && high % 64 == 0 && high <= bytes);
        high += a->apart;
        for (uint32_t j = 0; j < i; j++) {
            const tn_lifetime *b = &x->life[j];
            int64_t from = at(x, b->offset, n, m), end = from + at(x, b->bytes, n, m) + b->apart;
            bool together = a->first <= b->last && b->first <= a->last;
            assert_false(together && low < end && from < high);
        }
    }
    assert_true(bytes >= bound(x, n, m));
}

static void random_plans(bool symbolic, double allowed)
{
    double worst = 0;
    for (uint64_t seed = 0; seed < (RUN_SANITIZED ? 25 : 100); seed++) {
        plan x;
        tn_rng r = {seed};
        plan_init(&x);
        x.n = (uint32_t)tn_rng_below(&r, MAX_LIVE + 1);
        for (uint32_t i = 0; i < x.n; i++) {
            x.life[i] = (tn_lifetime){.bytes = random_size(&x, &r, symbolic),
                                      .first = (uint32_t)tn_rng_below(&r, 30)};
            x.life[i].last = x.life[i].first + (uint32_t)tn_rng_below(&r, 8);
        }
        bool smallest;
        const tn_expr *total = tn_plan_memory(&x.pool, &x.facts, &x.arena, x.n, x.life, &smallest);
        assert_int_equal(at(&x, tn_plan_alive(&x.pool, &x.facts, x.n, x.life), NOMINAL, NOMINAL),
                         bound(&x, NOMINAL, NOMINAL));
        assert_int_equal(smallest, at(&x, total, NOMINAL, NOMINAL) == bound(&x, NOMINAL, NOMINAL));
        check_plan(&x, total, NOMINAL, NOMINAL);
        if (symbolic) {
            check_plan(&x, total, 1, 1);
            check_plan(&x, total, 1, 1000);
            check_plan(&x, total, 777, 2);
            check_plan(&x, total, 1, 0);
            check_plan(&x, total, 777, 0);
        }
        int64_t least = bound(&x, NOMINAL, NOMINAL);
        if (least)
            worst = (double)at(&x, total, NOMINAL, NOMINAL) / (double)least > worst
                        ? (double)at(&x, total, NOMINAL, NOMINAL) / (double)least
                        : worst;
        plan_deinit(&x);
    }
    if (worst > allowed)
        fail_msg("%.3f of the liveness bound, %.3f allowed", worst, allowed);
}

static void constant_sizes(void **state)
{
    (void)state;
    random_plans(false, 1.05);
}

static void symbolic_sizes(void **state)
{
    (void)state;
    random_plans(true, 1.05);
}

/* A chain: each value lives until the next is made, so two buffers are enough. */
static void a_chain_needs_two_buffers(void **state)
{
    plan x;
    (void)state;
    plan_init(&x);
    x.n = 10;
    for (uint32_t i = 0; i < x.n; i++)
        x.life[i] = (tn_lifetime){
            .bytes = tn_mul(&x.pool, tn_sym(&x.pool, "n"), tn_idx(&x.pool, 256)), .first = i, .last = i + 1};
    const tn_expr *total = tn_plan_memory(&x.pool, &x.facts, &x.arena, x.n, x.life, NULL);
    check_plan(&x, total, 3, 1);
    assert_int_equal(at(&x, total, 3, 1), 2 * 3 * 256);
    plan_deinit(&x);
}

/* Whole pages, all alive at once: each begins at another place of its page, and nothing is free behind the last. */
static void large_values_begin_at_places_of_their_own(void **state)
{
    enum { N = 4, BYTES = 64 << 10 };
    plan x;
    (void)state;
    plan_init(&x);
    x.n = N;
    for (uint32_t i = 0; i < N; i++)
        x.life[i] = (tn_lifetime){.bytes = tn_idx(&x.pool, BYTES), .first = i, .last = N};
    bool smallest;
    const tn_expr *total = tn_plan_memory(&x.pool, &x.facts, &x.arena, N, x.life, &smallest);
    check_plan(&x, total, 1, 1);
    assert_true(smallest);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(at(&x, x.life[i].offset, 1, 1) % 4096,
                                 at(&x, x.life[j].offset, 1, 1) % 4096);
    assert_int_equal(at(&x, total, 1, 1), N * BYTES + (N - 1) * x.life[0].apart);
    plan_deinit(&x);
}

static void nothing_needs_nothing(void **state)
{
    plan x;
    (void)state;
    plan_init(&x);
    assert_int_equal(at(&x, tn_plan_memory(&x.pool, &x.facts, &x.arena, 0, x.life, NULL), 1, 1), 0);
    plan_deinit(&x);
}

/* Each of many symbols has its name and its nominal value, which its range may limit. */
static void symbols_have_no_number(void **state)
{
    enum { MANY = 20000 };
    plan x;
    (void)state;
    plan_init(&x);
    tn_graph_symbol(&x.g, "u7");
    const tn_expr *last = NULL, *sum = tn_idx(&x.pool, 0);
    for (int i = 0; i < MANY; i++) {
        last = tn_fresh_symbol(&x.g, "u", i == MANY - 1 ? 9 : 1, 1000);
        assert_string_equal(i == 6 ? "u6" : i == 7 ? "u8" : last->u.s, last->u.s);
        sum = i % 100 ? sum : tn_add(&x.pool, sum, last);
    }
    assert_string_equal(last->u.s, "u20000");
    assert_string_equal(tn_fresh_symbol(&x.g, "j", 1, 2)->u.s, "j0");
    tn_facts_deinit(&x.facts);
    tn_symbol_facts(&x.g, &x.facts);
    assert_int_equal(tn_plan_nominal(&x.pool, &x.facts, tn_mul(&x.pool, last, tn_idx(&x.pool, 64))), 9 * 64);
    assert_int_equal(tn_plan_nominal(&x.pool, &x.facts, sum), MANY / 100 * NOMINAL);
    const tn_expr *vast = tn_mul(&x.pool, last, tn_idx(&x.pool, INT64_MAX / 2));
    assert_true(tn_plan_nominal(&x.pool, &x.facts, vast) > 1LL << 32);
    plan_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_sizes),
        cmocka_unit_test(symbolic_sizes),
        cmocka_unit_test(a_chain_needs_two_buffers),
        cmocka_unit_test(large_values_begin_at_places_of_their_own),
        cmocka_unit_test(nothing_needs_nothing),
        cmocka_unit_test(symbols_have_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
