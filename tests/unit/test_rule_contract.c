/* Rule contract on random contractions: two to four operands over up to six axes, with windows, strides,
 * groups, padding masks, symbolic extents, integer operands less a zero point, epilogues. Scheduled by the
 * rule the function computes what its plain loops do, bit for bit (sums of small integers), as blocks and
 * lowered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sanitized.h"
#include "schedule/sums.h"
#include "target/target.h"

enum { TRIALS = 400, TRIALS_SANITIZED = 40 };

static void one_trial(uint64_t seed, const char *machine, int *done, int *by_lanes)
{
    bench x;
    bench_init(&x);
    tn_machine m;
    machine_named(&x, machine, &m);
    gen g = {.r = {seed}};
    make_axes(&g);
    const char *text = make_text(&x, &g);
    tn_buf_deinit(&g.params);
    tn_buf_deinit(&g.sum);
    tn_func *f = read_func(&x, text);
    int64_t sym[1] = {13};
    tn_sched s;
    tn_rule_apply(&s, f, &m, NULL, &x.arena, &x.pool);
    const char *trace = trace_text(&x, &s);
    *done += strncmp(trace, "# rule contract", 15) == 0;
    *by_lanes += strncmp(trace, "# rule contract/along", 21) == 0;
    bool same = tn_func_verify(s.func) == TN_OK && same_results(&x, f, s.func, sym, seed, 0);
    if (same) {
        tn_flat flat;
        same = tn_lower(s.func, &m, &tn_pipeline_cpu, &flat) == TN_OK &&
               same_results(&x, f, s.func, sym, seed, 0);
    }
    if (!same) {
        fprintf(stderr, "seed %llu, %s\n%s%s%s", (unsigned long long)seed, machine, text, trace, diags(&x));
        fail_msg("other results");
    }
    bench_deinit(&x);
}

static void random_contractions_keep_their_results(void **state)
{
    (void)state;
    int done = 0, along = 0, n = RUN_FEWER ? TRIALS_SANITIZED : TRIALS;
    const char *from = getenv("TENON_SEED");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    for (int i = 0; i < n; i++)
        one_trial(first + (uint64_t)i, i % 3 ? "avx512" : "avx2", &done, &along);
    print_message("%d by rule contract, %d of them with lanes along the reduction\n", done, along);
    assert_true(done > n / 3); /* the rule is really taken, both ways */
    assert_true(along > n / 20 && along < done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_contractions_keep_their_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
