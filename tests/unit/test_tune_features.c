/* tune/features: what is counted in nests whose numbers can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "machine/machine.h"
#include "schedule/schedule.h"
#include "tune/features.h"
#include "tir_fixture.h"

#include <math.h>

static const char product[] = "func @f(x: f32[m, 64], y: f32[64, 32]) -> (out: f32[m, 32]) {\n"
                              "  for i < m, j < 32, k < 64:\n"
                              "    block out(i: spatial, j: spatial, k: reduce):\n"
                              "      init out[i, j] = 0f\n"
                              "      out[i, j] = out[i, j] + x[i, k] * y[k, j]\n"
                              "}\n";
static const int64_t sym[] = {48};
static const tn_machine machine = {.l1_bytes = 12000, .l2_bytes = 1 << 20};

typedef struct seen {
    fixture x;
    float at[TN_N_FEATURES];
} seen;

static void look(seen *f, const char *steps)
{
    uint32_t line;
    tn_sched s;
    fixture_init(&f->x);
    tn_sched_init(&s, read_func(&f->x, product), &f->x.arena, &f->x.pool);
    assert_int_equal(tn_trace_replay(&s, steps, strlen(steps), &line), TN_DONE);
    tn_features_of(s.func, sym, &machine, f->at);
}

static void is(const seen *f, int feature, double amount)
{
    if (fabs(f->at[feature] - log2(1 + amount)) > 1e-4)
        fail_msg("feature %d is %g, not %g", feature, exp2(f->at[feature]) - 1, amount);
}

/* Lines of 64 bytes: of x one row is 4, of y and of out 2. */
static void loops_as_they_stand(void **state)
{
    (void)state;
    seen f;
    look(&f, "");
    is(&f, TN_FEATURE_TURNS, 48 * 32 * 64);
    is(&f, TN_FEATURE_PARALLEL, 1);
    is(&f, TN_FEATURE_LANES, 1);
    is(&f, TN_FEATURE_INNER, 64);
    assert_true(f.at[TN_FEATURE_REDUCES] == 1 && f.at[TN_FEATURE_LOOPS] == 3);
    is(&f, TN_FEATURE_RESULTS, 1);
    is(&f, TN_FEATURE_SPLATS, 2);
    is(&f, TN_FEATURE_TURN_BYTES, 3 * 64);
    is(&f, TN_FEATURE_LOOP_BYTES, 64 + 256 + 64 * 64);
    is(&f, TN_FEATURE_BYTES, 48 * 128 + 48 * 256 + 64 * 128);
    is(&f, TN_FEATURE_L1_BYTES, 48 * (128 + 256 + 64 * 128)); /* a turn of i fits into 12,000 bytes */
    is(&f, TN_FEATURE_L2_BYTES, 48 * 128 + 48 * 256 + 64 * 128);
    is(&f, TN_FEATURE_NEAR_256, 128 + 256 + 64 * 128);
    assert_true(f.at[TN_FEATURE_WHOLE + 1] == 1); /* its stores: one; the init is none */
    is(&f, TN_FEATURE_REST, 0);
    fixture_deinit(&f.x);
}

static void tiles_in_registers(void **state)
{
    (void)state;
    seen f;
    look(&f, "i j k = loops \"out\"\n"
             "io ii = split i 4\n"
             "jo ji = split j 16\n"
             "reorder io jo k ii ji\n"
             "decompose_reduction \"out\" k\n"
             "vectorize ji\n"
             "unroll ii\n"
             "parallel io\n");
    is(&f, TN_FEATURE_TURNS, 48 * 32 * 64);
    is(&f, TN_FEATURE_PARALLEL, 12);
    is(&f, TN_FEATURE_LANES, 16);
    is(&f, TN_FEATURE_UNROLLED, 4);
    is(&f, TN_FEATURE_INNER, 64);
    is(&f, TN_FEATURE_RESULTS, 64);
    is(&f, TN_FEATURE_SPLATS, 4);
    is(&f, TN_FEATURE_VECTORS, 1);
    is(&f, TN_FEATURE_GATHERS, 0);
    assert_true(f.at[TN_FEATURE_REDUCES] == 1);
    is(&f, TN_FEATURE_TURN_BYTES, 4 * 64 + 4 * 64 + 64);
    is(&f, TN_FEATURE_REST, 0); /* the init, a store of its own now, is the second one */
    is(&f, TN_N_STORE_FEATURES + TN_FEATURE_TURNS, 48 * 32);
    fixture_deinit(&f.x);
}

static void lanes_of_rows_gather(void **state)
{
    (void)state;
    seen f;
    look(&f, "i j k = loops \"out\"\n"
             "io ii = split i 16\n"
             "reorder io j k ii\n"
             "decompose_reduction \"out\" k\n"
             "vectorize ii\n");
    is(&f, TN_FEATURE_VECTORS, 0);
    is(&f, TN_FEATURE_SPLATS, 1);
    is(&f, TN_FEATURE_GATHERS, 2); /* x, and out */
    fixture_deinit(&f.x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_as_they_stand),
        cmocka_unit_test(tiles_in_registers),
        cmocka_unit_test(lanes_of_rows_gather),
    };
    return cmocka_run_group_tests_name("tune_features", tests, NULL, NULL);
}
