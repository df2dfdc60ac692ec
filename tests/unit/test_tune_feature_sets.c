/* tune/feature_sets: the features of AutoTVM, in nests whose numbers can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "machine/machine.h"
#include "schedule/schedule.h"
#include "tune/feature_sets.h"
#include "tir_fixture.h"

#include <math.h>
#include <stdio.h>

static const char product[] = "func @f(x: f32[m, 64], y: f32[64, 32]) -> (out: f32[m, 32]) {\n"
                              "  for i < m, j < 32, k < 64:\n"
                              "    block out(i: spatial, j: spatial, k: reduce):\n"
                              "      init out[i, j] = 0f\n"
                              "      out[i, j] = out[i, j] + x[i, k] * y[k, j]\n"
                              "}\n";
static const char ratio[] = "func @f(x: f32[96], y: f32[32]) -> (out: f32[32]) {\n"
                            "  for i < 32:\n"
                            "    block out(i: spatial):\n"
                            "      out[i] = (x[3*i] - y[i]) / (x[3*i] * x[3*i])\n"
                            "}\n";
static const int64_t sym[] = {48};
static const tn_machine machine = {.l1_bytes = 12000, .l2_bytes = 1 << 20};

static void look(fixture *x, int set, const char *text, const char *steps, float out[])
{
    uint32_t line;
    tn_sched s;
    fixture_init(x);
    tn_sched_init(&s, read_func(x, text), &x->arena, &x->pool);
    assert_int_equal(tn_trace_replay(&s, steps, strlen(steps), &line), TN_DONE);
    for (uint32_t i = 0; i < tn_feature_sets[set].n; i++)
        out[i] = NAN; /* each number is written */
    tn_feature_sets[set].of(&(tn_featured){.func = s.func, .sym = sym, .machine = &machine}, out);
    for (uint32_t i = 0; i < tn_feature_sets[set].n; i++)
        assert_true(isfinite(out[i]));
}

static void is(const float *at, double amount)
{
    if (fabs(*at - log2(1 + amount)) > 1e-4)
        fail_msg("it is %g, not %g", exp2(*at) - 1, amount);
}

static float *loop_of(float at[TN_N_ITERVAR_OF_STORE], int loop)
{
    return at + TN_N_ITERVAR_STORE + loop * TN_N_ITERVAR_OF_LOOP;
}

static void is_loop(float *loop, double length, int level, double topdown, double bottomup, int kind)
{
    is(&loop[TN_ITERVAR_LENGTH], length);
    assert_true(loop[TN_ITERVAR_LEVEL] == (float)level);
    is(&loop[TN_ITERVAR_TOPDOWN], topdown);
    is(&loop[TN_ITERVAR_BOTTOMUP], bottomup);
    for (int k = 0; k < TN_LOOP_COUNT; k++)
        assert_true(loop[TN_ITERVAR_SERIAL + k] == (k == kind));
}

/* One of the buffers from `from` on: which of two operands comes first is up to the expression. */
static void touches(float *loop, int from, double stride, double count, double reuse)
{
    for (int i = from; i < TN_ITERVAR_BUFFERS; i++) {
        const float *b = loop + TN_N_ITERVAR_LOOP + i * TN_N_ITERVAR_BUFFER;
        if (fabs(b[TN_ITERVAR_STRIDE] - log2(1 + stride)) < 1e-4 &&
            fabs(b[TN_ITERVAR_COUNT] - log2(1 + count)) < 1e-4 &&
            fabs(b[TN_ITERVAR_REUSE] - log2(1 + reuse)) < 1e-4)
            return;
    }
    fail_msg("no buffer from %d on has stride %g, count %g, reuse %g", from, stride, count, reuse);
}

/* out is stored to, so it is the first buffer. */
static void loops_as_they_stand(void **state)
{
    (void)state;
    fixture x;
    float at[TN_N_ITERVAR];
    look(&x, TN_FEATURES_ITERVAR, product, "", at);
    assert_true(at[TN_ITERVAR_ADDS] == 1 && at[TN_ITERVAR_MULS] == 1 && at[TN_ITERVAR_DIVS] == 0);
    is_loop(loop_of(at, 0), 64, 3, 48 * 32 * 64, 64, TN_LOOP_SERIAL);
    is_loop(loop_of(at, 1), 32, 2, 48 * 32, 32 * 64, TN_LOOP_SERIAL);
    is_loop(loop_of(at, 2), 48, 1, 48, 48 * 32 * 64, TN_LOOP_SERIAL);
    const float *out = loop_of(at, 2) + TN_N_ITERVAR_LOOP;
    is(&out[TN_ITERVAR_STRIDE], 32);
    is(&out[TN_ITERVAR_COUNT], 48 * 32);
    is(&out[TN_ITERVAR_REUSE], 64);
    touches(loop_of(at, 0), 1, 1, 64, 1);        /* x */
    touches(loop_of(at, 0), 1, 32, 64, 1);       /* y */
    touches(loop_of(at, 1), 1, 0, 64, 32);       /* x */
    touches(loop_of(at, 1), 1, 1, 32 * 64, 1);   /* y */
    touches(loop_of(at, 2), 1, 64, 48 * 64, 32); /* x */
    touches(loop_of(at, 2), 1, 0, 32 * 64, 48);  /* y */
    for (float *rest = loop_of(at, 3); rest < at + TN_N_ITERVAR; rest++)
        assert_true(*rest == 0);
    fixture_deinit(&x);
}

static void kinds_of_loops(void **state)
{
    (void)state;
    fixture x;
    float at[TN_N_ITERVAR];
    look(&x, TN_FEATURES_ITERVAR, product,
         "i j k = loops \"out\"\n"
         "io ii = split i 4\n"
         "jo ji = split j 16\n"
         "reorder io jo k ii ji\n"
         "decompose_reduction \"out\" k\n"
         "vectorize ji\n"
         "unroll ii\n"
         "parallel io\n",
         at);
    is_loop(loop_of(at, 0), 16, 5, 48 * 32 * 64, 16, TN_LOOP_VECTOR);
    is_loop(loop_of(at, 1), 4, 4, 12 * 2 * 64 * 4, 4 * 16, TN_LOOP_UNROLLED);
    is_loop(loop_of(at, 2), 64, 3, 12 * 2 * 64, 64 * 64, TN_LOOP_SERIAL);
    is_loop(loop_of(at, 3), 2, 2, 12 * 2, 2 * 64 * 64, TN_LOOP_SERIAL);
    is_loop(loop_of(at, 4), 12, 1, 12, 48 * 32 * 64, TN_LOOP_PARALLEL);
    touches(loop_of(at, 2), 1, 1, 4 * 64, 16);  /* x: rows of a tile by terms, for each lane */
    touches(loop_of(at, 2), 1, 32, 64 * 16, 4); /* y */
    float *init = at + TN_N_ITERVAR_OF_STORE;   /* the second store */
    assert_true(init[TN_ITERVAR_ADDS] == 0);
    is(&loop_of(init, 0)[TN_ITERVAR_LENGTH], 16);
    fixture_deinit(&x);
}

/* Each expression once; the 3 * i of an index is none of them. */
static void operations_of_values(void **state)
{
    (void)state;
    fixture x;
    float at[TN_N_ITERVAR];
    look(&x, TN_FEATURES_ITERVAR, ratio, "", at);
    assert_true(at[TN_ITERVAR_ADDS] == 1 && at[TN_ITERVAR_MULS] == 1 && at[TN_ITERVAR_DIVS] == 1);
    touches(loop_of(at, 0), 1, 3, 32, 1);
    touches(loop_of(at, 0), 1, 1, 32, 1);
    fixture_deinit(&x);
}

static void is_sample(const float *buffer, enum tn_curve curve, int x, double y, double below)
{
    const float *at = buffer + 2 * TN_CURVE_SAMPLES * curve + 2 * x;
    if (fabs(at[0] - y) > 1e-4 || fabs(at[1] - below) > 1e-4)
        fail_msg("curve %d at %d is %g, %g below; not %g, %g", curve, x, (double)at[0], (double)at[1], y,
                 below);
}

/* Of out, by loop, log2 of elements, turns that touch them again, and turns: none 0, 0, 0; k 0, 6, 6; j 5, 6, 11; i
 * 10.58, 6, 16.58. */
static void curves_have_steps(void **state)
{
    (void)state;
    fixture x;
    float at[TN_N_CURVE];
    const double all = log2(48 * 32);
    look(&x, TN_FEATURES_CURVE, product, "", at);
    is_sample(at, TN_CURVE_REUSE_BY_COUNT, 0, 6, 0);
    is_sample(at, TN_CURVE_REUSE_BY_COUNT, 4, 6, 4);
    is_sample(at, TN_CURVE_REUSE_BY_COUNT, 5, 6, 0);
    is_sample(at, TN_CURVE_REUSE_BY_COUNT, 19, 6, 19 - all);
    is_sample(at, TN_CURVE_COUNT_BY_REUSE, 5, 0, 5);
    is_sample(at, TN_CURVE_COUNT_BY_REUSE, 6, all, 0);
    is_sample(at, TN_CURVE_TURNS_BY_COUNT, 0, 6, 0);
    is_sample(at, TN_CURVE_TURNS_BY_COUNT, 5, 11, 0);
    is_sample(at, TN_CURVE_TURNS_BY_COUNT, 12, all + 6, 12 - all);
    is_sample(at, TN_CURVE_COUNT_BY_TURNS, 10, 0, 4);
    is_sample(at, TN_CURVE_COUNT_BY_TURNS, 11, 5, 0);
    is_sample(at, TN_CURVE_COUNT_BY_TURNS, 17, all, 17 - all - 6);
    for (int i = 3 * TN_N_CURVE_OF_BUFFER; i < TN_N_CURVE; i++) /* there are three buffers */
        assert_true(at[i] == 0);
    fixture_deinit(&x);
}

static void choices_are_numbers(void **state)
{
    (void)state;
    static const tn_choice rule[] = {{"gemm", 0}, {"dot", 0}}, rows[] = {{NULL, 14}, {NULL, 4}},
                           split[] = {{"1x64", 0}, {"4x16", 0}}, odd[] = {{"x", 0}, {"4x", 0}};
    const tn_pick first[] = {{"rule", 2, 1, rule}, {"dense.rows", 2, 0, rows}, {"tile", 2, 1, split}},
                  then[] = {{"rule", 2, 0, rule}, {"odd", 2, 1, odd}, {"dense.rows", 2, 1, rows}};
    const float one[] = {1, 14, 4, 16, -1, -1}, two[] = {0, 4, -1, -1, 1, -1};
    float at[TN_N_KNOBS];
    tn_knobs knobs = {0};
    tn_feature_sets[TN_FEATURES_KNOB].of(&(tn_featured){.n_pick = 3, .pick = first, .knobs = &knobs}, at);
    assert_memory_equal(at, one, sizeof one);
    tn_feature_sets[TN_FEATURES_KNOB].of(&(tn_featured){.n_pick = 3, .pick = then, .knobs = &knobs}, at);
    assert_memory_equal(at, two, sizeof two);
}

/* Choices behind those that have columns are passed over. */
static void choices_without_room(void **state)
{
    (void)state;
    enum { MANY = TN_N_KNOBS + 9 };
    static const tn_choice two[] = {{NULL, 1}, {NULL, 2}};
    tn_pick pick[MANY];
    char name[MANY][8];
    float at[TN_N_KNOBS];
    tn_knobs knobs = {0};
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "p%d", i);
        pick[i] = (tn_pick){name[i], 2, 1, two};
    }
    tn_feature_sets[TN_FEATURES_KNOB].of(&(tn_featured){.n_pick = MANY, .pick = pick, .knobs = &knobs}, at);
    for (int i = 0; i < TN_N_KNOBS; i++)
        assert_true(at[i] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_as_they_stand),  cmocka_unit_test(kinds_of_loops),
        cmocka_unit_test(operations_of_values), cmocka_unit_test(curves_have_steps),
        cmocka_unit_test(choices_are_numbers),  cmocka_unit_test(choices_without_room),
    };
    return cmocka_run_group_tests_name("tune_feature_sets", tests, NULL, NULL);
}
