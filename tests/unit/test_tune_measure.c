/* tune/measure: candidates in child processes, which a crash or an endless loop may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "target/target.h"
#include "tune/measure.h"
#include "tir_fixture.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { N = 24, MANY = 40 };

/* name: what the generator below does of it */
static const char product[] = "func @%s(x: f32[m, %d], y: f32[%d, %d] constant) -> (out: f32[m, %d]) {\n"
                              "  for i < m, j < %d, k < %d:\n"
                              "    block out(i: spatial, j: spatial, k: reduce):\n"
                              "      init out[i, j] = 0f\n"
                              "      out[i, j] = out[i, j] + x[i, k] * y[k, j]\n"
                              "}\n";
static const char steps[] = "i j k = loops \"out\"\n"
                            "jo ji = split j 8\n"
                            "reorder i jo k ji\n"
                            "decompose_reduction \"out\" k\n"
                            "_ _ z = loops \"out.init\"\n"
                            "vectorize ji z\n"
                            "parallel i\n";

/* Sums that lack the last term. */
static int32_t almost(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const float *x = call->arg[0], *y = call->arg[1];
    float *out = call->arg[2];
    (void)step, (void)scratch;
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = 0; k < N - 1; k++)
            sum += x[task * N + (uint32_t)k] * y[k * N + j];
        out[task * N + (uint32_t)j] = sum;
    }
    return 0;
}

static int64_t rows(const int64_t *sym) { return sym[0]; }
static const tn_phase phase[] = {{.run = almost, .tasks = {.fn = rows}}};
static const tn_variant variant[] = {
    {.guard = {.value = 1}, .steps = {.value = 1}, .phase = phase, .n_phase = 1}};
static const tn_kernel kernel[] = {
    {.name = "wrong", .source = "", .variant = variant, .n_variant = 1, .n_in = 2, .n_out = 1, .n_sym = 1}};
static const tn_library library = {
    .version = TENON_ABI_VERSION, .n_kernel = 1, .kernel = kernel, .producer = "test", .target = "test"};

/* 40 tasks of 5 ms */
static int32_t doze(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    (void)call, (void)step, (void)task, (void)scratch;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return 0;
}

static const tn_phase dozing_phase[] = {{.run = doze, .tasks = {.value = 40}}};
static const tn_variant dozing_variant[] = {
    {.guard = {.value = 1}, .steps = {.value = 1}, .phase = dozing_phase, .n_phase = 1}};
static const tn_kernel dozing_kernel[] = {{.name = "slow",
                                           .source = "",
                                           .variant = dozing_variant,
                                           .n_variant = 1,
                                           .n_in = 2,
                                           .n_out = 1,
                                           .n_sym = 1}};
static const tn_library dozing = {.version = TENON_ABI_VERSION,
                                  .n_kernel = 1,
                                  .kernel = dozing_kernel,
                                  .producer = "test",
                                  .target = "test"};

static tn_status here(const tn_unit *u, const tn_code_options *o, void **out_code, const tn_library **out)
{
    if (strcmp(u->name, "crash") == 0)
        raise(SIGKILL);
    while (strcmp(u->name, "endless") == 0)
        pause();
    if (strcmp(u->name, "broken") == 0)
        TN_ASSERT(!"sound");
    TN_TRY(tn_generator_llvm.here(u, o, out_code, out));
    if (strcmp(u->name, "wrong") == 0)
        *out = &library;
    if (strcmp(u->name, "slow") == 0)
        *out = &dozing;
    return TN_OK;
}

static void here_free(tn_resource *code) { tn_generator_llvm.here_free(code); }

typedef struct {
    fixture x;
    tn_machine machine;
    tn_generator generator;
    tn_workload load[7];
    tn_measure_options o;
} tuning;

static const char *const names[] = {"fine", "crash", "endless", "broken", "wrong", "fine_too", "slow"};
static const int64_t sym[] = {5};

static int setup(void **state)
{
    tuning *f = *state = test_calloc(1, sizeof *f);
    fixture_init(&f->x);
    assert_int_equal(tn_machine_detect(&f->x.ctx, &f->machine), TN_OK);
    f->generator = (tn_generator){.name = "test", .here = here, .here_free = here_free};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[600];
        snprintf(text, sizeof text, product, names[i], N, N, N, N, N, N);
        f->load[i] = (tn_workload){read_func(&f->x, text), sym, 2.0 * 5 * N * N};
    }
    f->o = (tn_measure_options){.machine = &f->machine,
                                .generator = &f->generator,
                                .pipeline = &tn_pipeline_cpu,
                                .feature = f->machine.feature,
                                .n_feature = (uint32_t)f->machine.n_feature,
                                .workers = 2,
                                .threads = 1,
                                .least_seconds = 1e-4,
                                .most_seconds = 30,
                                .slower = 1.3};
    return 0;
}

static int teardown(void **state)
{
    tuning *f = *state;
    fixture_deinit(&f->x);
    test_free(f);
    return 0;
}

static tn_measurer *open_measurer(tuning *f)
{
    int error;
    tn_measurer *m = tn_measurer_new(&f->o, sizeof names / sizeof *names, f->load, &error);
    assert_int_equal(error, 0);
    return m;
}

static tn_trial one(tn_measurer *m, const char *name, const char *trace)
{
    tn_trial t;
    tn_candidate c = {.number = 7, .trace = trace, .check = true};
    while (strcmp(names[c.workload], name) != 0)
        c.workload++;
    tn_measurer_add(m, &c);
    assert_true(tn_measurer_next(m, &t));
    assert_int_equal(t.workload, c.workload);
    assert_int_equal(t.number, 7);
    return t;
}

static void what_becomes_of_candidates(void **state)
{
    tuning *f = *state;
    tn_measurer *m = open_measurer(f);
    tn_trial t = one(m, "fine", "");
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    assert_true(t.runs >= 3 && t.seconds > 0 && t.seconds <= t.median && t.compile > 0 && t.running > 0);
    t = one(m, "fine", steps);
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    char panels[sizeof steps + 64]; /* y lies as the schedule says, and gives the same */
    snprintf(panels, sizeof panels, "transform_layout \"y\" layout=AB:BA8b\n%s", steps);
    t = one(m, "fine", panels);
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    t = one(m, "fine", panels);
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    snprintf(panels, sizeof panels, "transform_layout \"y\" layout=AB:AB8b\n%s",
             steps); /* kept beside the other */
    t = one(m, "fine", panels);
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    snprintf(panels, sizeof panels, "transform_layout \"y\" layout=AB\n%s", steps); /* as it was */
    t = one(m, "fine", panels);
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    t = one(m, "fine", "transform_layout \"x\" layout=AB:BA8b\n");
    assert_int_equal(t.fate, TN_TRIAL_REFUSED);
    t = one(m, "fine", "i j k = loops \"out\"\nvectorize k\n");
    assert_int_equal(t.fate, TN_TRIAL_REFUSED);
    assert_non_null(strstr(t.why, "line 2: "));
    t = one(m, "wrong", steps);
    assert_int_equal(t.fate, TN_TRIAL_WRONG);
    assert_non_null(strstr(t.why, "out differs by "));
    t = one(m, "broken", steps);
    assert_int_equal(t.fate, TN_TRIAL_CRASHED);
    t = one(m, "crash", steps);
    assert_int_equal(t.fate, TN_TRIAL_CRASHED);
    assert_string_equal(t.why, "it ended the process");
    t = one(m, "fine", steps);
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    assert_false(tn_measurer_next(m, &t));
    tn_measurer_end(m);
}

static void an_endless_candidate_costs_one_trial(void **state)
{
    tuning *f = *state;
    f->o.most_seconds = 0.5;
    tn_measurer *m = open_measurer(f);
    tn_trial t = one(m, "endless", "");
    assert_int_equal(t.fate, TN_TRIAL_ENDLESS);
    assert_string_equal(t.why, "it did not end within 0.5 s");
    f->o.most_seconds = 30;
    tn_measurer_end(m);
}

/* Crashes among others: every candidate has one trial. apart: nobody compiles while another times. */
static void answer_all(tuning *f, bool apart)
{
    tn_measurer *m = open_measurer(f);
    if (apart)
        (void)tn_measurer_probe(m, &(tn_candidate){.trace = steps}, -2);
    uint8_t seen[MANY] = {0};
    uint32_t n = 0, done = 0;
    for (tn_trial t; done < MANY;) {
        bool crash = n % 7 == 3;
        if (n < MANY && tn_measurer_room(m)) {
            tn_measurer_add(m,
                            &(tn_candidate){crash ? 1 : n % 2 * 5, n, n % 3 ? steps : "", 1e-9, n % 5 == 0});
            n++;
            continue;
        }
        assert_true(tn_measurer_next(m, &t));
        assert_int_equal(t.fate, t.number % 7 == 3 ? TN_TRIAL_CRASHED : TN_TRIAL_TIMED);
        assert_true(t.fate != TN_TRIAL_TIMED || (t.stopped && t.runs == 1)); /* far slower than its rival */
        seen[t.number]++;
        done++;
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i], 1);
    tn_measurer_end(m);
}

static void all_are_answered(void **state)
{
    answer_all(*state, false);
    answer_all(*state, true);
}

/* Faster than its rival. */
static void what_wins_is_run_again(void **state)
{
    tuning *f = *state;
    tn_measurer *m = open_measurer(f);
    tn_trial t;
    tn_measurer_add(m, &(tn_candidate){.number = 8, .trace = steps, .rival = 1});
    assert_true(tn_measurer_next(m, &t));
    assert_true(t.runs >= 3 && !t.stopped);
    tn_measurer_end(m);
}

static void what_loses_is_ended(void **state)
{
    tuning *f = *state;
    tn_measurer *m = open_measurer(f);
    tn_trial t;
    tn_measurer_add(m, &(tn_candidate){.workload = 6, .number = 9, .trace = steps, .rival = 1e-3});
    assert_true(tn_measurer_next(m, &t));
    assert_int_equal(t.fate, TN_TRIAL_TIMED);
    assert_true(t.stopped && t.runs == 1 && t.seconds > 3e-3 &&
                t.seconds < 0.15); /* a whole run takes 0.2 s */
    tn_measurer_end(m);
}

static void constants_may_be_far(void **state)
{
    tuning *f = *state;
    f->o.far = true;
    tn_measurer *m = open_measurer(f);
    char panels[sizeof steps + 64]; /* more cells than there were */
    snprintf(panels, sizeof panels, "transform_layout \"y\" layout=AB:BA16b\n%s", steps);
    assert_int_equal(one(m, "fine", steps).fate, TN_TRIAL_TIMED);
    assert_int_equal(one(m, "fine", panels).fate, TN_TRIAL_TIMED);
    f->o.far = false;
    tn_measurer_end(m);
}

static void neighbours(void **state)
{
    tuning *f = *state;
    tn_measurer *m = open_measurer(f);
    double share = tn_measurer_probe(m, &(tn_candidate){.trace = steps}, -2); /* always: it disturbs */
    assert_true(share > -1);
    assert_int_equal(one(m, "fine", steps).fate, TN_TRIAL_TIMED);
    tn_measurer_end(m);
    f->o.workers = 1;
    m = open_measurer(f);
    assert_true(tn_measurer_probe(m, &(tn_candidate){.trace = steps}, 0.02) == 0);
    assert_int_equal(one(m, "crash", steps).fate, TN_TRIAL_CRASHED);
    assert_int_equal(one(m, "fine", steps).fate, TN_TRIAL_TIMED);
    f->o.workers = 2;
    tn_measurer_end(m);
}

/* One worker that does all: nothing is compiled beside what is timed. */
static void one_core_is_enough(void **state)
{
    tuning *f = *state;
    cpu_set_t all, first;
    int core = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&first);
    CPU_SET(core, &first);
    assert_int_equal(sched_setaffinity(0, sizeof first, &first), 0);
    f->o.workers = 0;
    tn_measurer *m = open_measurer(f);
    assert_int_equal(tn_measurer_room(m), TN_MEASURE_QUEUE);
    assert_true(tn_measurer_probe(m, &(tn_candidate){.trace = steps}, -2) == 0);
    tn_measurer_end(m);
    answer_all(f, true);
    f->o.workers = 2;
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_becomes_of_candidates),
        cmocka_unit_test(an_endless_candidate_costs_one_trial),
        cmocka_unit_test(all_are_answered),
        cmocka_unit_test(what_wins_is_run_again),
        cmocka_unit_test(what_loses_is_ended),
        cmocka_unit_test(constants_may_be_far),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(one_core_is_enough),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
