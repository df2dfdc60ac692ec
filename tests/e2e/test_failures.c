/* What ends a call early: allocations that fail, limits, cancels. Over small models of all kinds, the call returns an
 * error, leaves no file, and the session goes on. Leaks are the sanitizers' to find.
 *
 * By default a few allocations of each call on every other model fail; with TENON_SLOW=1 one from each place
 * (tests/faults.h). A part of that:
 *     e2e_failures MODEL [CALL [FROM TO]]     by number; a negative number means all; places FROM to before TO */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "driver/driver.h"
#include "e2e/small_models.h"
#include "faults.h"
#include "tenon/relay.h"
#include "tenon/te.h"
#include "tenon/tenon.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], output[80];

static struct { /* named on the command line */
    bool only;
    int model, call;
    uint64_t from, to;
} part;

static bool thorough(void) { return part.only || getenv("TENON_SLOW") != NULL; }

/* Files in the folder whose names begin so. */
static int count_files(const char *prefix)
{
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(d);
    return n;
}

static void assert_nothing_left(const char *what)
{
    if (count_files("out.") || count_files("tenon-"))
        fail_msg("%s: something is left in %s", what, folder);
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        fail_msg("%s: a child is left", what);
}

static char said[1000]; /* by the last call that matters */

/* ---- allocations ---- */

static const tenon_options one_thread = {.size = sizeof(tenon_options), .threads = 1};

/* Zeros for each input. */
static int interpret(tenon_module *m, const char *stage)
{
    static const int64_t zeros[4096];
    const tenon_module_info *info = tenon_module_inspect(m);
    tenon_tensor in[4];
    const tenon_tensor *out;
    int n;
    if (!info)
        return 1;
    assert_true(info->n_input <= 4);
    for (uint32_t i = 0; i < info->n_input; i++) {
        const tenon_value_info *x = &info->input[i];
        in[i] = (tenon_tensor){.name = x->name,
                               .code = x->dtype.code,
                               .bits = x->dtype.bits,
                               .ndim = x->ndim,
                               .data = (void *)(uintptr_t)zeros,
                               .bytes = (size_t)(x->dtype.bits < 8 ? 8 : x->dtype.bits) / 8};
        for (int d = 0; d < x->ndim; d++) {
            in[i].shape[d] = x->shape[d] < 0 ? 2 : x->shape[d];
            in[i].bytes *= (size_t)in[i].shape[d];
        }
    }
    return tenon_interpret(m, &one_thread, stage, (int)info->n_input, in, &n, &out);
}

/* Each gets a module of the model (READ, FROM_MEMORY: none) and returns what the call returned. */
static tenon *session;
static const char *path;

static int do_read(tenon_module *m)
{
    (void)m;
    m = tenon_module_read(session, path, &one_thread);
    int failed = !m;
    faults_end();
    snprintf(said, sizeof said, "%s", tenon_messages(session));
    tenon_module_free(m);
    return failed;
}
static int do_inspect(tenon_module *m) { return !tenon_module_inspect(m); }
static int do_print(tenon_module *m) { return !tenon_module_print(m); }
static int do_pass(tenon_module *m) { return tenon_pass_run(m, "SimplifyExpr,FoldConstant,FuseOps", NULL); }
static int do_view(tenon_module *m) { return !tenon_function_inspect(m, "main"); }
static int do_copy(tenon_module *m)
{
    tenon_module *copy = tenon_module_copy(m);
    int failed = !copy || !tenon_module_print(copy);
    faults_end();
    snprintf(said, sizeof said, "%s", tenon_messages(session));
    tenon_module_free(copy);
    return failed;
}
static int do_check(tenon_module *m) { return tenon_check(m, &one_thread); }
static int do_build(tenon_module *m) { return tenon_build(m, &one_thread, output, NULL); }
static int do_build_all(tenon_module *m)
{
    (void)setenv("TENON_CACHE", "off", 1);
    int failed = do_build(m);
    (void)unsetenv("TENON_CACHE");
    return failed;
}
static int do_relay(tenon_module *m) { return interpret(m, "relay"); }
static int do_flat(tenon_module *m) { return interpret(m, "flat"); }

static int do_dump(tenon_module *m)
{
    const char *text;
    return tenon_module_dump(m, &one_thread, "flat", &text, NULL, NULL);
}

static int do_memory(tenon_module *m)
{
    void *data;
    size_t n;
    int failed = tenon_build_memory(m, &one_thread, &data, &n, NULL);
    tenon_package_free(data);
    return failed;
}

static int do_here(tenon_module *m)
{
    tnr_module *code;
    int failed = tenon_build_here(m, &one_thread, &code, NULL);
    if (!failed)
        tnr_module_release(code);
    return failed;
}

/* What the rest of the API makes by hand: a Relay function, a kernel. */
static int do_relay_api(tenon_module *unused)
{
    (void)unused;
    const int64_t shape[] = {3, 4};
    const float weights[12] = {1, 2, 3};
    tenon_module *m = tenon_module_new(session);
    int failed = tenon_symbol(m, "n", 1, 100);
    tenon_function *f = failed ? NULL : tenon_function_new(m, "main"); /* other calls take what may be NULL */
    tenon_value *v[2] = {tenon_param(f, "x", "Tensor[(n, 4), float32]"),
                         tenon_constant(f, "float32", 2, shape, weights)};
    tenon_value *y = tenon_call(f, "nn.dense", 2, v, "units=3");
    tenon_value *z = tenon_relay(f, "nn.relu(%0) + 1f", 1, &y);
    failed = failed || !*tenon_value_type(z) || tenon_function_end(f, 1, &z);
    failed = failed || !tenon_module_print(m);
    faults_end();
    snprintf(said, sizeof said, "%s", tenon_messages(session));
    tenon_module_free(m);
    return failed;
}

static int do_te_api(tenon_module *unused)
{
    (void)unused;
    tnr_module *code = NULL;
    tenon_kernel *k = tenon_kernel_new(session, "rows");
    tenon_te *x = tenon_te_input(k, "a", "Tensor[(16, 8), float32]");
    tenon_te *c = tenon_te_new(k, "c", "Tensor[(16), float32]", "i");
    tenon_expr *at[2] = {tenon_var(c, "i"), tenon_te_over(c, "r", "8")};
    int failed = tenon_te_reduce(c, "sum", tenon_load(c, x, 2, at)) || tenon_kernel_end(k, 1, &c) ||
                 tenon_step(k, "i r = loops \"out\"") || tenon_step(k, "parallel i") ||
                 !tenon_kernel_print(k) || tenon_kernel_build(k, &one_thread, &code);
    tenon_module *m = failed ? NULL : tenon_kernel_module(k);
    tenon_kernel *again = tenon_kernel_from_module(m, NULL);
    failed = failed || tenon_kernel_rule(again, NULL) || !tenon_kernel_inspect(again);
    faults_end();
    snprintf(said, sizeof said, "%s", tenon_messages(session));
    tnr_module_release(code);
    tenon_kernel_free(again);
    tenon_module_free(m);
    tenon_kernel_free(k);
    return failed;
}

enum { NO_MODULE = 1, ONCE = 2 }; /* the call reads or makes one; no model plays a part */
static const struct {
    const char *name;
    int (*act)(tenon_module *m);
    int flags;
    uint64_t tries; /* if not thorough */
} calls[] = {
    {"read", do_read, NO_MODULE, 6},
    {"inspect", do_inspect, 0, 2},
    {"print", do_print, 0, 2},
    {"run passes", do_pass, 0, 3},
    {"build, all code", do_build_all, 0, 1},
    {"build", do_build, 0, 2},
    {"build in memory", do_memory, 0, 1},
    {"build here", do_here, 0, 1},
    {"check", do_check, 0, 1},
    {"dump", do_dump, 0, 1},
    {"interpret Relay", do_relay, 0, 2},
    {"interpret", do_flat, 0, 2},
    {"relay.h", do_relay_api, NO_MODULE | ONCE, 12},
    {"te.h", do_te_api, NO_MODULE | ONCE, 5},
    {"copy", do_copy, 0, 2},
    {"view a function", do_view, 0, 2},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* The call with the allocation of number `at` failing, 0: none. The session may be used afterwards. */
static int act(size_t call, uint64_t at)
{
    tenon_module *m = NULL;
    if (!(calls[call].flags & NO_MODULE))
        m = tenon_module_read(session, path, &one_thread);
    if (!m && !(calls[call].flags & NO_MODULE))
        fail_msg("%s", tenon_messages(session));
    tn_session_fail(session, faults_hook, NULL);
    faults_begin(at);
    int failed = calls[call].act(m);
    if (atomic_load(&faults.on)) {
        faults_end();
        snprintf(said, sizeof said, "%s", tenon_messages(session));
    }
    tn_session_fail(session, NULL, NULL);
    tenon_module_free(m);
    return failed;
}

static void fail_one(size_t call, const char *model, uint64_t at, unsigned *went_on)
{
    char where[160];
    snprintf(where, sizeof where, "%s, %s, allocation %llu", model, calls[call].name, (unsigned long long)at);
    int failed = act(call, at);
    if (failed && !strstr(said, "[base-E004]") && !strstr(said, "not enough memory") &&
        !strstr(said, "out of memory") && !strstr(said, strerror(ENOMEM)))
        fail_msg("%s: %s", where, said);
    *went_on += !failed; /* what the cache holds, say, can be done without */
    if (!failed)
        (void)!unlink(output);
    assert_nothing_left(where);
}

/* From every place, or a few allocations of all. */
static void sweep(int model, size_t call)
{
    session = tenon_new();
    path = model_path(folder, model);
    unsigned went_on = 0;
    if (act(call, 0)) /* fills the cache */
        fail_msg("%s, %s: %s", models[model].name, calls[call].name, said);
    (void)!unlink(output);
    if (thorough()) {
        faults.n_first = 0;
        atomic_store(&faults.listing, true);
        assert_int_equal(act(call, 0), 0);
        atomic_store(&faults.listing, false);
        (void)!unlink(output);
    }
    uint64_t all = atomic_load(&faults.n), step = all / calls[call].tries + 1;
    assert_true(all > 2);
    uint64_t n = thorough() ? faults.n_first : (all + step - 1) / step;
    uint64_t to = part.to < n ? part.to : n;
    for (uint64_t i = part.from; i < to; i++)
        fail_one(call, models[model].name, thorough() ? faults.first[i] : 1 + i * step, &went_on);
    assert_true(went_on < (thorough() ? 40 : 4));
    assert_int_equal(act(call, 0), 0); /* the session goes on */
    (void)!unlink(output);
    if (thorough())
        printf("%s, %s: %llu allocations, %llu places new, %u done without\n", models[model].name,
               calls[call].name, (unsigned long long)all, (unsigned long long)n, went_on);
    fflush(stdout);
    tenon_free(session);
}

static bool is_asked_for(int model, size_t call)
{
    if (calls[call].flags & ONCE)
        return model == (part.model < 0 ? 0 : part.model);
    if (!thorough())
        return ((size_t)model + call) % 2 == 0;
    return (part.model < 0 || part.model == model);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int model = 0; model < MODELS; model++)
        for (size_t call = 0; call < CALLS; call++)
            if ((part.call < 0 || part.call == (int)call) && is_asked_for(model, call))
                sweep(model, call);
}

/* ---- cancelling ---- */

typedef struct {
    double after, at;
    int flag;
} canceller;

static void *cancel(void *arg)
{
    canceller *c = arg;
    usleep((useconds_t)(c->after * 1e6));
    c->at = tn_now();
    __atomic_store_n(&c->flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void a_call_is_cancelled(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    path = model_path(folder, 0);
    double whole = 0, most = 0;
    for (int i = 0; i < 2; i++) { /* the second with what the first left in the cache, as those below */
        whole = tn_now();
        assert_int_equal(tenon_build(tenon_module_read(t, path, NULL), NULL, output, NULL), 0);
        (void)!unlink(output);
        whole = tn_now() - whole;
    }
    unsigned seed = 1, n_cancelled = 0;
    for (int i = 0; i < (thorough() ? 200 : 8); i++) {
        canceller c = {.after = whole * (double)(rand_r(&seed) % 1000) / 1000};
        tenon_options o = {.size = sizeof o, .cancel = &c.flag};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel, &c), 0);
        tenon_module *m = tenon_module_read(t, path, &o);
        int failed = !m || tenon_build(m, &o, output, NULL);
        double end = tn_now();
        snprintf(said, sizeof said, "%s", tenon_messages(t));
        pthread_join(thread, NULL);
        if (failed) {
            assert_string_equal(said, "error: cancelled [base-E008]\n");
            most = end - c.at > most ? end - c.at : most;
            n_cancelled++;
        }
        tenon_module_free(m);
        (void)!unlink(output);
        assert_nothing_left("cancelled");
    }
    assert_true(n_cancelled > 0);
    assert_true(most < 5); /* of a loaded machine; a quiet one needs milliseconds */
    if (thorough())
        printf("%u cancelled, the slowest after %.0f ms\n", n_cancelled, most * 1e3);
    tenon_free(t);
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "./failures-%d", (int)getpid());
    snprintf(output, sizeof output, "%s/out.tar", folder);
    char command[160];
    snprintf(command, sizeof command, "mkdir -p %s/cache", folder);
    (void)setenv("TMPDIR", folder, 1);
    return system(command);
}

static int teardown(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int n, char **arg)
{
    part.only = n > 1;
    part.model = n > 1 ? atoi(arg[1]) : -1;
    part.call = n > 2 ? atoi(arg[2]) : -1;
    part.from = n > 4 ? strtoull(arg[3], NULL, 10) : 0;
    part.to = n > 4 ? strtoull(arg[4], NULL, 10) : UINT64_MAX;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_call_is_cancelled),
    };
    if (part.only)
        cmocka_set_test_filter("every_*");
    return cmocka_run_group_tests(tests, setup, teardown);
}
