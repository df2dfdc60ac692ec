/* Each allocation of the runtime fails once, while small models of all kinds are loaded, run in every way,
 * and freed: the call says TNR_E_MEMORY, the same call then works, and all results are as if nothing had
 * been. Leaks are the sanitizers' to find. tests/unit/test_runtime_faults.c has states, values and recursion.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/small_models.h"
#include "faults.h"
#include "tenon/tenon.h"

#include <stdio.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 16, MOST_DIMS = 8 };

static char folder[64], package[80];
static const char *model;
static tnr_error err;

/* What is to work, and may fail once. */
#define DO(call) \
    do { \
        bool before = atomic_load(&faults.fired); \
        tnr_status status = (call); \
        if (status == TNR_E_MEMORY && !before && atomic_load(&faults.fired)) \
            status = (call); \
        if (status) \
            fail_msg("%s, allocation %llu: %s: %s", model, (unsigned long long)faults.at, #call, \
                     err.message); \
    } while (0)

/* ---- what is computed ---- */

static uint64_t seen;

static void see(const void *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        seen = (seen ^ ((const uint8_t *)data)[i]) * 1099511628211u;
}

static void see_outputs(tnr_instance *run)
{
    static _Alignas(64) uint8_t copy[MOST_BYTES];
    for (uint32_t i = 0; i < tnr_output_count(tnr_instance_module(run)); i++) {
        DLTensor out;
        uint64_t n;
        DO(tnr_get_output_at(run, i, &out, &err));
        DO(tnr_tensor_bytes(out.dtype, out.ndim, out.shape, &n, &err));
        assert_true(n > 0 && n <= MOST_BYTES);
        see(out.data, n);
        out.data = copy;
        DO(tnr_copy_output_at(run, i, &out, &err));
        see(copy, n);
    }
}

static void on_event(void *user, const tnr_profile_event *e)
{
    (void)user;
    see(e->kernel, strlen(e->kernel));
}

/* ---- lives ---- */

static void set_inputs(tnr_instance *run, int64_t symbol)
{
    static _Alignas(64) uint8_t data[MOST_BYTES];
    for (size_t i = 0; i < sizeof data; i += 4)
        data[i] = 1; /* small numbers of all types; few iterations of loops */
    for (uint32_t i = 0; i < tnr_input_count(tnr_instance_module(run)); i++) {
        tnr_tensor_info info;
        int64_t shape[MOST_DIMS];
        DO(tnr_input_info(tnr_instance_module(run), i, &info, &err));
        for (int32_t d = 0; d < info.ndim; d++)
            shape[d] = info.shape[d] < 0 ? symbol : info.shape[d];
        bool wide = info.dtype.code == kDLInt && info.dtype.bits == 64;
        static const int64_t two = 2;
        DLTensor x = {.data = wide ? (void *)(uintptr_t)&two : data,
                      .device = {kDLCPU, 0},
                      .ndim = info.ndim,
                      .dtype = info.dtype,
                      .shape = shape};
        DO(tnr_set_input_at(run, i, &x, &err));
    }
}

static void run_with(tnr_instance *run, int64_t symbol)
{
    tnr_memory memory;
    set_inputs(run, symbol);
    DO(tnr_memory_get(run, &memory, &err));
    DO(tnr_run(run, &err));
    see_outputs(run);
}

static void step_through(tnr_instance *run)
{
    tnr_profile_event event;
    tnr_tensor_info info;
    DLTensor value;
    int done = 0;
    DO(tnr_debug_begin(run, &err));
    while (!done)
        DO(tnr_debug_step(run, &event, &done, &err));
    see_outputs(run);
    DO(tnr_output_info(tnr_instance_module(run), 0, &info, &err));
    DO(tnr_debug_value(run, info.name, &value, &err));
}

static void live(tnr_module *m, int executor, uintptr_t flags)
{
    tnr_instance *run = NULL;
    const tnr_instance_options o = {.executor = executor, .threads = 1, .flags = flags};
    DO(tnr_instance_new(m, &o, &run, &err));
    run_with(run, 2);
    run_with(run, 5); /* symbols grow */
    run_with(run, 1);
    tnr_profile_set(run, on_event, NULL);
    run_with(run, 2);
    tnr_profile_set(run, NULL, NULL);
    step_through(run);
    run_with(run, 3);
    tnr_instance_free(run);
}

typedef struct source {
    const void *package;
    size_t n;
    tnr_module *here; /* code in this process */
    bool graph;       /* there is a graph for the graph executor */
} source;

/* With the allocation of number `at` failing. Returns what was computed; adds to *out_n how many there were. */
static uint64_t whole_life(const source *s, uint64_t at, uint64_t *out_n)
{
    tnr_module *m = NULL, *again = NULL;
    seen = 1;
    faults_begin(at);
    DO(tnr_module_open(package, NULL, &m, &err));
    DO(tnr_module_open_memory(s->package, s->n, NULL, &again, &err));
    live(m, TNR_EXECUTOR_AOT, 0);
    live(again, TNR_EXECUTOR_AOT, TNR_INSTANCE_CHECK);
    if (s->graph)
        live(again, TNR_EXECUTOR_GRAPH, 0);
    live(s->here, TNR_EXECUTOR_AOT, 0);
    tnr_module_release(again);
    tnr_module_release(m);
    *out_n = faults_end();
    assert_int_equal(atomic_load(&faults.live), 0);
    return seen;
}

static bool has_graph(const source *s)
{
    tnr_module *m;
    tnr_instance *run = NULL;
    DO(tnr_module_open_memory(s->package, s->n, NULL, &m, &err));
    bool has = !tnr_instance_new(m, &(tnr_instance_options){.executor = TNR_EXECUTOR_GRAPH}, &run, &err);
    tnr_instance_free(run);
    tnr_module_release(m);
    return has;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        source s = {0};
        void *data = NULL;
        uint64_t n, unused;
        model = models[i].name;
        tenon_module *m = tenon_module_read(t, model_path(folder, (int)i), NULL);
        if (tenon_build(m, NULL, package, NULL) || tenon_build_memory(m, NULL, &data, &s.n, NULL) ||
            tenon_build_here(m, NULL, &s.here, NULL))
            fail_msg("%s: %s", model, tenon_messages(t));
        s.package = data;
        s.graph = has_graph(&s);
        uint64_t right = whole_life(&s, 0, &n);
        assert_true(n > 50);
        for (uint64_t at = 1; at <= n; at++)
            assert_int_equal(whole_life(&s, at, &unused), right);
        tnr_module_release(s.here);
        tenon_package_free(data);
        tenon_module_free(m);
        print_message("%s: %llu allocations\n", model, (unsigned long long)n);
    }
    tenon_free(t);
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "./run-failures-%d", (int)getpid());
    snprintf(package, sizeof package, "%s/out.tar", folder);
    char command[160];
    snprintf(command, sizeof command, "mkdir -p %s", folder);
    return tnr_threads_set(1, NULL) || system(command);
}

static int teardown(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
