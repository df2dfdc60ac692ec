/* launch/: one kernel run by the runtime on the caller's memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "launch/kernel.h"

#include <math.h>
#include <string.h>

enum { TASKS = 4 };

/* The number of tasks before this one, of all steps, in order. */
static int32_t count(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    int32_t *order = call->arg[1], *next = call->arg[2];
    float *mine = scratch, *work = call->work;
    if (call->sym[0] > 8)
        return 1;
    order[(int64_t)step * TASKS + task] = (*next)++;
    ((int32_t *)call->arg[3])[task] = isnan(*mine) && (step > 0 || isnan(work[call->sym[0] - 1]));
    *mine = 0;
    work[task] = *(const float *)call->arg[0];
    return 0;
}

static int64_t is_small(const int64_t *sym) { return sym[0] < 4; }
static int64_t steps(const int64_t *sym) { return sym[0]; }
static int64_t work(const int64_t *sym) { return 4 * sym[0]; }

static const tn_phase phase[] = {{.run = count, .tasks = {.value = TASKS}}};
static const tn_variant variant[] = {
    {.guard = {.fn = is_small}, .steps = {.value = 0}, .work_bytes = {.fn = work}},
    {.guard = {.value = 1},
     .steps = {.fn = steps},
     .work_bytes = {.fn = work},
     .scratch_bytes = 4,
     .phase = phase,
     .n_phase = 1}};
static const char *const texts[] = {"too many"};
static const tn_kernel kernel[] = {{.name = "count",
                                    .source = "",
                                    .variant = variant,
                                    .n_variant = 2,
                                    .check = texts,
                                    .n_check = 1,
                                    .n_in = 1,
                                    .n_out = 3,
                                    .n_sym = 1}};
static const tn_library library = {
    .version = TENON_ABI_VERSION, .n_kernel = 1, .kernel = kernel, .producer = "test", .target = "test"};

typedef struct {
    int32_t order[9 * TASKS], next, fresh[TASKS];
} results;

static tnr_status run(int64_t n, bool check, results *out, tnr_error *err)
{
    float one = 1;
    const uint64_t bytes[] = {sizeof one, sizeof out->order, sizeof out->next, sizeof out->fresh};
    void *const arg[] = {&one, out->order, &out->next, out->fresh};
    tn_kernel_runner *r = tn_kernel_open(&(tn_kernel_use){&library, 0, "the node", bytes, &n, 1, check}, err);
    tnr_status failed = r ? tn_kernel_run(r, arg, err) : TNR_E_FORMAT;
    if (!failed && !check) {
        int32_t before = out->next;
        assert_int_equal(tn_kernel_again(r, err), TNR_OK);
        out->next = before;
    }
    tn_kernel_close(r);
    return failed;
}

static void variants_steps_and_work(void **state)
{
    (void)state;
    results r = {.next = 0};
    tnr_error err;
    assert_int_equal(run(3, false, &r, &err), TNR_OK); /* the first variant, which does nothing */
    assert_int_equal(r.next, 0);
    assert_int_equal(run(5, false, &r, &err), TNR_OK);
    assert_int_equal(r.next, 5 * TASKS);
    assert_int_equal(run(9, false, &r, &err), TNR_E_CHECK);
    assert_string_equal(err.message, "the node: too many");
}

/* In a debug run tasks come last to first; work memory at first, and scratch memory before each task, is NaN. */
static void a_debug_run_turns_tasks_around(void **state)
{
    (void)state;
    results r = {.next = 0};
    tnr_error err;
    assert_int_equal(run(4, true, &r, &err), TNR_OK);
    int32_t first = r.order[TASKS - 1];
    for (int i = 0; i < 4 * TASKS; i++)
        assert_int_equal(r.order[i] - first, i / TASKS * TASKS + TASKS - 1 - i % TASKS);
    for (int i = 0; i < TASKS; i++)
        assert_true(r.fresh[i]);
}

static void what_the_runtime_refuses(void **state)
{
    (void)state;
    static const tn_kernel nameless = {.source = ""};
    const tn_library bad = {.version = TENON_ABI_VERSION,
                            .n_kernel = 1,
                            .kernel = &nameless,
                            .producer = "test",
                            .target = "test"};
    tnr_error err;
    assert_null(tn_kernel_open(&(tn_kernel_use){.library = &bad}, &err));
    assert_string_equal(err.message, "mod.so is damaged: kernel 0 has no name");
    tn_kernel_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(variants_steps_and_work),
                                       cmocka_unit_test(a_debug_run_turns_tasks_around),
                                       cmocka_unit_test(what_the_runtime_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
