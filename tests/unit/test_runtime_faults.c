/* Every allocation fails once: the answer is TNR_E_MEMORY, nothing leaks, and the next attempt works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/toy.h"
#include "runtime/toy_model.h"
#include "runtime/calls.h"
#include "runtime/host.h"
#include "runtime/states.h"
#include "runtime/values.h"
#include "runtime/family.h"

#include "faults.h"

static void on_event(void *user, const tnr_profile_event *e)
{
    (void)e;
    ++*(int *)user;
}

/* Open, instantiate, run with and without a profile, and close. */
static tnr_status whole_life(const tnr_parts *parts, int executor, toy_io *io, tnr_error *err,
                             const char **differs)
{
    tnr_module *m = NULL;
    tnr_instance *inst = NULL;
    int events = 0;
    tnr_status status = tnr_module_open_parts(parts, &m, err);
    if (!status)
        status = tnr_instance_new(m, &(tnr_instance_options){.executor = executor}, &inst, err);
    if (!status)
        status = toy_set(inst, io, err);
    if (!status)
        status = tnr_run(inst, err);
    if (!status) {
        tnr_profile_set(inst, on_event, &events);
        status = tnr_run(inst, err);
    }
    if (!status)
        *differs = events ? toy_differs(inst, io) : "no events";
    tnr_instance_free(inst);
    tnr_module_release(m);
    return status;
}

/* The same instance goes on after a failed run. */
static void survives(const tnr_parts *parts, int executor, toy_io *io)
{
    tnr_module *m;
    tnr_instance *inst;
    tnr_error err;
    assert_int_equal(tnr_module_open_parts(parts, &m, NULL), TNR_OK);
    assert_int_equal(tnr_instance_new(m, &(tnr_instance_options){.executor = executor}, &inst, NULL), TNR_OK);
    assert_int_equal(toy_set(inst, io, NULL), TNR_OK);
    for (long n = 0;; n++) {
        faults_begin((uint64_t)n + 1);
        tnr_status status = tnr_run(inst, &err);
        bool over = !atomic_load(&faults.fired);
        faults_end();
        assert_int_equal(status, over ? TNR_OK : TNR_E_MEMORY);
        if (over)
            break;
    }
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_null(toy_differs(inst, io));
    tnr_instance_free(inst);
    tnr_module_release(m);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    blob params[] = {blob_toy_params(0), blob_toy_params(1)};
    static toy_io io;
    assert_int_equal(tnr_threads_set(1, NULL), TNR_OK); /* no threads: they allocate outside the runtime */
    for (int which = 0; which < 4; which++) {
        int executor = which == 3 ? TNR_EXECUTOR_GRAPH : TNR_EXECUTOR_AOT;
        tnr_parts parts = {.library = which == 0 ? &toy_symbolic : &toy_static,
                           .json = which == 0 ? NULL : blob_toy_json,
                           .json_n = which == 0 ? 0 : sizeof blob_toy_json - 1,
                           .params = params[which % 2].at,
                           .params_n = params[which % 2].n};
        toy_fill(&io, TOY_STATIC_N, 1);
        long n = 0;
        for (tnr_status status = TNR_E_MEMORY; status; n++) {
            tnr_error err = {0};
            const char *differs = NULL;
            faults_begin((uint64_t)n + 1);
            status = whole_life(&parts, executor, &io, &err, &differs);
            faults_end();
            assert_int_equal(atomic_load(&faults.live), 0);
            assert_null(differs);
            if (status && (status != TNR_E_MEMORY || err.code != TNR_E_MEMORY))
                fail_msg("allocation %ld: status %d \"%s\"", n, status, err.message);
            assert_int_equal(atomic_load(&faults.fired), status != TNR_OK); /* no fault goes unnoticed */
        }
        assert_true(n > 20);
        survives(&parts, executor, &io);
    }
    free(params[0].at);
    free(params[1].at);
}

/* The same of programs that call functions: two runs each. */
static tnr_status short_life(const tn_library *library, tnr_error *err)
{
    float x[MAKER_N] = {1, 2, 3, 4};
    int64_t n = MAKER_N, k = 5;
    DLTensor t = maker_floats(x, &n), count = {.data = &k, .device = {kDLCPU, 0}, .dtype = {kDLInt, 64, 1}};
    tnr_module *m = NULL;
    tnr_instance *inst = NULL;
    tnr_status status = tnr_module_open_parts(&(tnr_parts){.library = library}, &m, err);
    if (!status)
        status = tnr_host_register(m, "scale", host_any, NULL, err);
    if (!status)
        status = tnr_instance_new(m, NULL, &inst, err);
    if (!status)
        status = tnr_instance_host_register(inst, "label", host_any, NULL, err);
    if (!status)
        status = tnr_set_input(inst, "x", &t, err);
    if (!status && tnr_input_find(m, "l") >= 0)
        status = host_set_list(inst, (uint32_t)tnr_input_find(m, "l"), err);
    if (!status && tnr_input_find(m, "n") >= 0)
        status = tnr_set_input(inst, "n", &count, err);
    for (int run = 0; run < 2 && !status; run++)
        status = tnr_run(inst, err);
    tnr_instance_free(inst);
    tnr_module_release(m);
    return status;
}

static void make_filled(maker *m)
{
    static tn_state states[2];
    make_sum_from(m, states);
}

static void every_allocation_of_programs_may_fail(void **state)
{
    static void (*const make[])(maker *) = {make_twice,  make_recursion, make_sum,  make_cache,
                                            make_filled, make_closure,   make_list, make_host};
    static const tnr_family *const needed[]
        __attribute__((used)) = {&tnr_family_frame, &tnr_family_host, &tnr_family_state, &tnr_family_value};
    static maker m;
    (void)state;
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        make[i](&m);
        long n = 0;
        for (tnr_status status = TNR_E_MEMORY; status; n++) {
            tnr_error err = {0};
            faults_begin((uint64_t)n + 1);
            status = short_life(&m.library, &err);
            faults_end();
            assert_int_equal(atomic_load(&faults.live), 0);
            if (status && status != TNR_E_MEMORY)
                fail_msg("program %zu, allocation %ld: %s", i, n, err.message);
        }
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_programs_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
