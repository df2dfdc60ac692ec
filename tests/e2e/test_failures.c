/* What ends a call early: allocations that fail, limits, cancels. Over small models of all kinds, the call returns an
 * error, leaves no file, and the session goes on. Leaks are the sanitizers' to find.
 *
 * By default a few moments of each call are tried; TENON_SLOW=1 tries all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "driver/driver.h"
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

static const struct {
    const char *name, *text; /* text NULL: an ONNX file below TENON_SOURCE_DIR */
} models[] = {
    {"a convolution", "def @main(%x: Tensor[(1, 8, 9, 9), float32]) {\n"
                      "  %0 = arange(0, 37, count=[576]);\n"
                      "  %1 = reshape(cast(%0, dtype=\"float32\"), newshape=[8, 8, 3, 3]);\n"
                      "  nn.relu(nn.conv2d(%x, %1, padding=[1, 1]))\n}\n"},
    {"bytes", "def @main(%x: Tensor[(1, 3, 11, 11), uint8]) {\n"
              "  %0 = arange(0, 37, count=[1800]);\n"
              "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[24, 3, 5, 5]);\n"
              "  %2 = nn.conv2d(%x, %1, padding=[1, 1], out_dtype=\"int32\");\n"
              "  cast(round(cast(%2, dtype=\"float32\") * 0.01f), dtype=\"uint8\")\n}\n"},
    {"symbols", "#[version = \"0.0.5\"]\n"
                "#[symbols = \"past in [0, 16]\"]\n"
                "def @main(%q: Tensor[(2, s, 4), float32], %past: Tensor[(2, past, 4), float32],\n"
                "          %k: Tensor[(2, s, 4), float32]) {\n"
                "  %0 = concatenate((%past, %k), axis=1);\n"
                "  %1 = transpose(%0, axes=[0, 2, 1]);\n"
                "  nn.softmax(nn.batch_matmul(%q, %1, transpose_b=False), axis=2)\n}\n"},
    {"control flow", "def @main(%x: Tensor[(2, 8), float32], %t: Tensor[(), int64], %c: Tensor[(), bool]) {\n"
                     "  %0 = loop(%t, True, %x)(%i: int64, %v: Tensor[(2, 8), float32]) {\n"
                     "    %1 = tanh(%v);\n    (True, %1)\n  };\n"
                     "  %2 = if (%c) {\n    nn.relu(%0)\n  } else {\n    sigmoid(%0)\n  };\n  %2\n}\n"},
    {"tests/golden/inputs/dense.onnx", NULL},
};
enum { MODELS = sizeof models / sizeof *models };

static char folder[64], output[80];

static bool thorough(void) { return getenv("TENON_SLOW") != NULL; }

/* The model as a file. */
static const char *model_path(int i)
{
    static char path[4096];
    if (!models[i].text) {
        snprintf(path, sizeof path, "%s/%s", getenv("TENON_SOURCE_DIR"), models[i].name);
        return path;
    }
    snprintf(path, sizeof path, "%s/model.relay", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(models[i].text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

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

/* ---- allocations ---- */

enum doing { READ, BUILD, BUILD_ALL, CHECK, FLAT, INTERPRET, N_DOING };

static const tenon_options one_thread = {.size = sizeof(tenon_options), .threads = 1};

/* Zeros for each input. */
static int interpret(tenon_module *m)
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
    return tenon_interpret(m, &one_thread, "flat", (int)info->n_input, in, &n, &out);
}

static char said[1000]; /* by the last call that matters */

/* `at`: the allocation that fails, in the call that is meant. */
static int act(tenon *t, enum doing what, const char *path, uint64_t at)
{
    const char *text;
    int failed = 1;
    tn_session_fail(t, what == READ ? at : 0);
    tenon_module *m = tenon_module_read(t, path, &one_thread);
    snprintf(said, sizeof said, "%s", tenon_messages(t));
    if (what == READ || !m) {
        tenon_module_free(m);
        return !m;
    }
    tn_session_fail(t, at);
    switch (what) {
    case BUILD_ALL: (void)setenv("TENON_CACHE", "off", 1); __attribute__((fallthrough));
    case BUILD: failed = tenon_build(m, &one_thread, output, NULL); break;
    case CHECK: failed = tenon_check(m, &one_thread); break;
    case FLAT: failed = tenon_module_dump(m, &one_thread, "flat", &text, NULL, NULL); break;
    case INTERPRET: failed = interpret(m); break;
    default: break;
    }
    (void)unsetenv("TENON_CACHE");
    snprintf(said, sizeof said, "%s", tenon_messages(t));
    tenon_module_free(m);
    return failed;
}

static void fail_one(tenon *t, enum doing what, const char *name, const char *path, uint64_t at,
                     unsigned *went_on)
{
    char where[160];
    snprintf(where, sizeof where, "%s, call %d, allocation %llu", name, (int)what, (unsigned long long)at);
    int failed = act(t, what, path, at);
    if (failed && !strstr(said, "[base-E004]") && !strstr(said, "not enough memory"))
        fail_msg("%s: %s", where, said);
    *went_on += !failed; /* what the cache holds, say, can be done without */
    if (!failed)
        (void)!unlink(output);
    assert_nothing_left(where);
}

static void sweep(int model, enum doing what, uint64_t tries)
{
    tenon *t = tenon_new();
    const char *path = model_path(model);
    unsigned went_on = 0;
    if (act(t, what, path, UINT64_MAX))
        fail_msg("%s: %s", models[model].name, said);
    (void)!unlink(output);
    uint64_t n = tn_session_fail(t, 0), step = thorough() ? 1 : n / tries + 1;
    assert_true(n > 10);
    for (uint64_t at = 1; at <= n; at += step)
        fail_one(t, what, models[model].name, path, at, &went_on);
    assert_true(went_on < (thorough() ? 40 : 4));
    assert_int_equal(act(t, what, path, 0), 0); /* the session goes on */
    (void)!unlink(output);
    if (thorough())
        printf("%s, call %d: %llu allocations, %u done without\n", models[model].name, (int)what,
               (unsigned long long)n, went_on);
    tenon_free(t);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const uint64_t tries[N_DOING] = {8, 3, 2, 4, 6, 6};
    for (int model = 0; model < MODELS; model++)
        for (enum doing what = READ; what < N_DOING; what++)
            sweep(model, what, tries[what]);
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
    const char *path = model_path(0);
    double whole = tn_now(), most = 0;
    assert_int_equal(act(t, BUILD, path, 0), 0);
    (void)!unlink(output);
    whole = tn_now() - whole;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_call_is_cancelled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
