/* Sketches of random functions (contractions, other reductions, producers, epilogues) at random points of their space,
 * and what the built-in rules make of them at random points of theirs: each is refused by a verdict, or computes what
 * the loops as they stand do, bit for bit (sums of small integers), as blocks and lowered. TENON_SEED and TENON_TRIALS:
 * other functions, and so many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sanitized.h"
#include "schedule/space.h"
#include "schedule/sums.h"
#include "target/target.h"

enum { TRIALS = 120, TRIALS_SANITIZED = 15, POINTS = 5 };

typedef struct {
    int tiles, rows, right, refused;
} tally;

static bool has_word(const tn_sched *s, const char *name, const char *word)
{
    for (uint32_t i = 0; i < s->picked.n; i++)
        if (strcmp(s->picked.at[i].name, name) == 0)
            return strcmp(s->picked.at[i].candidate[s->picked.at[i].index].word, word) == 0;
    return false;
}

/* given NULL: the default, which is never refused. */
static void one_point(bench *x, const tn_space *space, const tn_picks *given, uint64_t seed, tally *n)
{
    tn_sched s;
    const int64_t sym[1] = {13};
    tn_verdict v = tn_explore(space, given, &x->arena, &x->pool, &s);
    if (v != TN_DONE) {
        if (!given)
            fail_msg("the default schedule of seed %llu is refused: %s", (unsigned long long)seed,
                     tn_verdict_texts[v]);
        n->refused++;
        return;
    }
    for (uint32_t i = 0; i < s.picked.n; i++) /* each role has a row in part.def */
        assert_int_not_equal(tn_pick_part(s.picked.at[i].name), TN_PART_OWN);
    n->tiles += has_word(&s, "sketch", "tiles") || has_word(&s, "sketch", "others");
    n->rows += has_word(&s, "sketch", "rows");
    n->right++;
    const char *trace = trace_text(x, &s);
    bool same = tn_func_verify(s.func) == TN_OK && same_results(x, space->func, s.func, sym, seed, 0);
    tn_flat flat;
    same = same && tn_lower(s.func, space->machine, &tn_pipeline_cpu, &flat) == TN_OK &&
           same_results(x, space->func, s.func, sym, seed, 0);
    if (!same) {
        fprintf(stderr, "seed %llu\n%s%s%s", (unsigned long long)seed, func_text(x, space->func), trace,
                diags(x));
        fail_msg("other results");
    }
}

static void one_function(const tn_sched_generator *by, uint64_t seed, const char *machine, tally *n)
{
    bench x;
    tn_machine m;
    bench_init(&x);
    machine_named(&x, machine, &m);
    gen g = {.r = {seed}, .any = true};
    make_axes(&g);
    const char *text = make_text(&x, &g);
    tn_buf_deinit(&g.params);
    tn_buf_deinit(&g.sum);
    const tn_space space = {by, read_func(&x, text), &m, 0};
    for (int k = 0; k < POINTS; k++) {
        tn_rng r = {seed * 100 + (uint64_t)k};
        one_point(&x, &space, k ? &(tn_picks){.random = &r} : NULL, seed, n);
    }
    bench_deinit(&x);
}

static uint64_t number_of(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : usual;
}

static int all_functions(const tn_sched_generator *by, tally *n)
{
    int trials = (int)number_of("TENON_TRIALS", RUN_FEWER ? TRIALS_SANITIZED : TRIALS);
    uint64_t first = number_of("TENON_SEED", 1);
    for (int i = 0; i < trials; i++)
        one_function(by, first + (uint64_t)i, i % 3 ? "avx2" : "avx512", n);
    return trials;
}

static void random_sketches_keep_their_results(void **state)
{
    (void)state;
    tally n = {0};
    int trials = all_functions(&tn_sketch_generator, &n);
    print_message("%d points right, %d of them in tiles and %d in rows; %d refused\n", n.right, n.tiles,
                  n.rows, n.refused);
    assert_true(n.tiles > trials && n.rows > trials / 2); /* both kinds are really there */
    assert_true(n.refused < n.right);
}

static void random_points_of_rules_keep_their_results(void **state)
{
    (void)state;
    tally n = {0};
    int trials = all_functions(&tn_rules_generator, &n);
    print_message("%d points of rules right, %d refused\n", n.right, n.refused);
    assert_true(n.right > 2 * trials);
}

/* A long sum of few results can be cut into parts that are tasks. */
static void long_sums_have_parts(void **state)
{
    (void)state;
    bench x;
    tn_machine m;
    tn_sched s;
    tally n = {0};
    bench_init(&x);
    machine_named(&x, "avx2", &m);
    tn_func *f = read_func(&x, "func @f(x: f32[6, 12000], y: f32[12000, 2]) -> (out: f32[6, 2]) {\n"
                               "  buffer acc: f32[6, 2]\n"
                               "  for i < 6, j < 2, k < 12000:\n"
                               "    block acc(i: spatial, j: spatial, k: reduce):\n"
                               "      init acc[i, j] = 0\n"
                               "      acc[i, j] = acc[i, j] + x[i, k] * y[k, j]\n"
                               "  for i < 6, j < 2:\n"
                               "    block out(i: spatial, j: spatial):\n"
                               "      out[i, j] = max(acc[i, j], 0)\n"
                               "}\n");
    const tn_space space = {&tn_sketch_generator, f, &m, 0};
    tn_picks parts = {0};
    tn_picks_set(&parts, &x.arena, "sketch", (tn_choice){"tiles", 0});
    tn_picks_set(&parts, &x.arena, "acc.rfactor", (tn_choice){"yes", 0});
    assert_int_equal(tn_explore(&space, &parts, &x.arena, &x.pool, &s), TN_DONE);
    assert_non_null(strstr(trace_text(&x, &s), "rfactor \"acc\" part_c"));
    assert_non_null(strstr(func_text(&x, s.func), "parallel for task"));
    assert_true(same_results(&x, f, s.func, NULL, 1, 0));
    for (int k = 0; k < 40; k++) {
        tn_rng r = {(uint64_t)k};
        parts.random = &r;
        one_point(&x, &space, &parts, (uint64_t)k, &n);
    }
    assert_true(n.right > 20);
    bench_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sketches_keep_their_results),
        cmocka_unit_test(random_points_of_rules_keep_their_results),
        cmocka_unit_test(long_sums_have_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
