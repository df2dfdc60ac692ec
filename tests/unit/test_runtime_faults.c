/* Every allocation fails once: the answer is TNR_E_MEMORY, nothing leaks, and the next attempt works.
 * The allocator is replaced through the C library's own names, which sanitizers claim for themselves: there
 * the test only runs without faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/toy.h"
#include "runtime/toy_model.h"
#include "runtime/calls.h"
#include "runtime/states.h"
#include "runtime/values.h"
#include "runtime/family.h"

#include <errno.h>
#include <stdbool.h>

static bool counting;
static long left = -1; /* allocations until the fault; negative: none */
static long live;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NO_FAULTS
#endif
#endif
#else
#define NO_FAULTS
#endif

#ifndef NO_FAULTS
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static void *took(void *p)
{
    live += counting && p;
    return p;
}

static bool fault(void)
{
    if (!counting || left < 0 || left-- > 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n) { return fault() ? NULL : took(__libc_malloc(n)); }

void *calloc(size_t n, size_t size) { return fault() ? NULL : took(__libc_calloc(n, size)); }

void *aligned_alloc(size_t align, size_t n) { return fault() ? NULL : took(__libc_memalign(align, n)); }

void free(void *p)
{
    live -= counting && p;
    __libc_free(p);
}
#endif

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
        counting = true;
        left = n;
        tnr_status status = tnr_run(inst, &err);
        bool over = left >= 0;
        counting = false;
        left = -1;
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
            counting = true;
            left = n;
            live = 0;
            status = whole_life(&parts, executor, &io, &err, &differs);
            bool struck = left < 0;
            counting = false;
            left = -1;
            assert_int_equal(live, 0);
            assert_null(differs);
            if (status && (status != TNR_E_MEMORY || err.code != TNR_E_MEMORY))
                fail_msg("allocation %ld: status %d \"%s\"", n, status, err.message);
#ifndef NO_FAULTS
            assert_int_equal(struck, status != TNR_OK); /* no fault goes unnoticed */
#else
            (void)struck;
#endif
        }
#ifndef NO_FAULTS
        assert_true(n > 20);
#endif
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
        status = tnr_instance_new(m, NULL, &inst, err);
    if (!status)
        status = tnr_set_input(inst, "x", &t, err);
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
    static void (*const make[])(maker *) = {make_twice,  make_recursion, make_sum, make_cache,
                                            make_filled, make_closure,   make_list};
    static const tnr_family *const needed[]
        __attribute__((used)) = {&tnr_family_frame, &tnr_family_state, &tnr_family_value};
    static maker m;
    (void)state;
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        make[i](&m);
        long n = 0;
        for (tnr_status status = TNR_E_MEMORY; status; n++) {
            tnr_error err = {0};
            counting = true;
            left = n;
            live = 0;
            status = short_life(&m.library, &err);
            counting = false;
            left = -1;
            assert_int_equal(live, 0);
            if (status && status != TNR_E_MEMORY)
                fail_msg("program %zu, allocation %ld: %s", i, n, err.message);
        }
#ifndef NO_FAULTS
        assert_true(n > 20);
#endif
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
