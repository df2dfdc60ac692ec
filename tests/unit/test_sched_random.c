/* Random schedules: whatever steps are not refused, the function computes what it did; whatever is refused
 * leaves function and trace as they were; and the printed trace, replayed, gives the same function. Sums of
 * small integers are exact in any order, so results are compared bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "schedule/random.h"

enum { TRIALS = 220 }; /* fewer do not take all kinds of steps */

/* Another decision of a sampling step: the right result, or a verdict. */
static void check_mutation(bench *x, size_t which, const tn_func *f, const tn_sched *s, gen *g)
{
    tn_sched other;
    if (tn_trace_mutate(s, f, &g->r, &x->arena, &x->pool, &other) != TN_DONE)
        return;
    g->n_mutated += !tn_trace_same(s, &other);
    if (tn_func_verify(other.func) != TN_OK ||
        !same_results(x, f, other.func, funcs[which].sym, g->r.state, 0)) {
        say(x, &other, funcs[which].name, g->r.state);
        fail_msg("other results after a mutation");
    }
    check_replay(x, f, &other);
}

typedef struct {
    int done, refused, mutated;
    uint64_t kinds; /* of the steps that were done */
} tally;

static void one_trial(size_t which, uint64_t seed, tally *n)
{
    bench x;
    tn_sched s;
    bench_init(&x);
    tn_func *f = read_func(&x, funcs[which].text);
    tn_sched_init(&s, f, &x.arena, &x.pool);
    gen g = {.s = &s, .r = {seed}};
    name_loops(&g);
    const char *before = func_text(&x, s.func);
    for (int i = 0; i < STEPS; i++) {
        uint32_t steps = s.n_step;
        tn_verdict v = random_step(&g);
        if (v == TN_DONE) {
            n->done++;
            for (uint32_t k = steps; k < s.n_step; k++)
                n->kinds |= UINT64_C(1) << s.step[k].kind;
            before = func_text(&x, s.func);
        } else {
            n->refused++;
            assert_int_equal(s.n_step, steps);
            assert_string_equal(func_text(&x, s.func), before);
        }
    }
    if (tn_func_verify(s.func) != TN_OK) {
        say(&x, &s, funcs[which].name, seed);
        fail_msg("not verified");
    }
    if (!same_results(&x, f, s.func, funcs[which].sym, seed, 0)) {
        say(&x, &s, funcs[which].name, seed);
        fail_msg("other results");
    }
    check_replay(&x, f, &s);
    check_mutation(&x, which, f, &s, &g);
    n->mutated += g.n_mutated;
    bench_deinit(&x);
}

static void random_schedules_keep_the_results(void **state)
{
    (void)state;
    tally all = {.kinds = UINT64_C(1) << TN_STEP_bind}; /* which is always refused */
    const char *from = getenv("TENON_SEED");
    int n = TRIALS;
    uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    for (size_t i = 0; i < sizeof funcs / sizeof *funcs; i++)
        for (uint64_t k = 0; k < (uint64_t)n; k++)
            one_trial(i, (first + k) * 1000 + i, &all);
    assert_true(all.done > 5 * n); /* the steps are really taken, all kinds of them */
    assert_true(all.refused > n);
    assert_true(all.mutated > n / 10);
    for (int k = 0; k < TN_STEP_COUNT && !from; k++) /* another seed may lack a rare one */
        if (!(all.kinds >> k & 1))
            fail_msg("no %s was done", tn_steps[k].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules_keep_the_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
