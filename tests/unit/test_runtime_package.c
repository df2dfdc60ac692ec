/* Packages: a tar with a real shared object, built here with the C compiler; refusals by text; several
 * instances at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "base/sha256.h"
#include "base/wire/sum.h"
#include "runtime/toy_model.h"
#include "runtime/tsan_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char dir[] = "/tmp/tenon-package-XXXXXX";

static blob read_file(const char *path)
{
    blob b = {0};
    uint8_t buffer[4096];
    FILE *f = fopen(path, "rb");
    for (size_t n; f && (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        blob_put(&b, buffer, n);
    if (f)
        fclose(f);
    return b;
}

/* tests/runtime/toy_so.c as a shared object, with one -D option; empty where there is no compiler. */
static blob build(const char *name, const char *define)
{
    const char *source = getenv("TENON_SOURCE_DIR"), *compiler = getenv("CC");
    char in[1024], out[128];
    snprintf(in, sizeof in, "%s/tests/runtime/toy_so.c", source ? source : ".");
    snprintf(out, sizeof out, "%s/%s", dir, name);
    char include[1024];
    snprintf(include, sizeof include, "-I%s/include", source ? source : ".");
    char cc[64];
    snprintf(cc, sizeof cc, "%s", compiler && !strchr(compiler, ' ') ? compiler : "cc");
    char shared[] = "-shared", pic[] = "-fPIC", level[] = "-O1", contract[] = "-ffp-contract=off", o[] = "-o",
         none[] = "-DTOY", text[64];
    snprintf(text, sizeof text, "%s", define ? define : none);
    char *argv[] = {cc, shared, pic, level, contract, include, text, o, out, in, NULL};
    pid_t child;
    int status = -1;
    if (posix_spawnp(&child, cc, NULL, NULL, argv, environ) != 0 || waitpid(child, &status, 0) != child ||
        status != 0)
        return (blob){0};
    return read_file(out);
}

static blob so_symbolic, so_static;

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return 1;
    so_symbolic = build("symbolic.so", NULL);
    so_static = build("static.so", "-DTOY_STATIC");
    if (!so_symbolic.n)
        printf("SKIPPED: no C compiler (cc) to build shared objects with\n");
    return 0;
}

static int teardown(void **state)
{
    char command[64];
    (void)state;
    free(so_symbolic.at);
    free(so_static.at);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) != 0 || tnr_threads_set(1, NULL) != TNR_OK;
}

/* A package of these parts (json NULL: none). */
static blob package(const blob *so, const char *json, int aligned)
{
    blob b = {0}, params = blob_toy_params(aligned);
    blob_tar_file(&b, "mod.so", so->at, so->n);
    if (json)
        blob_tar_file(&b, "mod.json", json, strlen(json));
    blob_tar_file(&b, "mod.params", params.at, params.n);
    blob_tar_end(&b);
    free(params.at);
    return b;
}

static void write_file(const char *path, const blob *b)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->at, 1, b->n, f), b->n);
    fclose(f);
}

static void run_and_check(tnr_module *m, int executor, int64_t n)
{
    tnr_instance *inst;
    tnr_error err = {0};
    toy_io io;
    assert_int_equal(tnr_instance_new(m, &(tnr_instance_options){.executor = executor}, &inst, &err), TNR_OK);
    toy_fill(&io, n, 11);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    tnr_status status = tnr_run(inst, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, TNR_OK);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);
}

static void opens_from_file_and_memory_in_every_way(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    char path[64];
    snprintf(path, sizeof path, "%s/model.tar", dir);
    setenv("TMPDIR", dir, 1);
    for (int aligned = 0; aligned < 2; aligned++)
        for (uint32_t flags = 0; flags < 4; flags++) {
            tnr_module *m;
            tnr_error err;
            DLTensor t;
            blob b = package(&so_static, blob_toy_json, aligned);
            write_file(path, &b);
            assert_int_equal(tnr_module_open(path, &(tnr_module_options){.flags = flags}, &m, &err), TNR_OK);
            assert_int_equal(unlink(path), 0); /* a mapping outlives the name */
            run_and_check(m, TNR_EXECUTOR_AOT, TOY_STATIC_N);
            run_and_check(m, TNR_EXECUTOR_GRAPH, TOY_STATIC_N);
            assert_int_equal(tnr_params_find(tnr_module_params(m), "p0", &t, NULL), TNR_OK);
            assert_int_equal((uintptr_t)t.data % 64, 0);
            tnr_module_release(m);
            assert_int_equal(tnr_module_open_memory(b.at, b.n, NULL, &m, &err), TNR_OK);
            run_and_check(m, TNR_EXECUTOR_AOT, TOY_STATIC_N);
            assert_int_equal(tnr_params_find(tnr_module_params(m), "p0", &t, NULL), TNR_OK);
            bool inside = (uint8_t *)t.data >= b.at && (uint8_t *)t.data < b.at + b.n;
            assert_int_equal(inside, aligned); /* no copy where the tensor lies at a multiple of 64 */
            tnr_module_release(m);
            free(b.at);
        }
    unsetenv("TMPDIR");
    char command[64];
    snprintf(command, sizeof command, "! ls %s | grep -q tenon-", dir);
    assert_int_equal(system(command), 0); /* temporary files are gone */
}

/* dlopen knows objects by name: two packages must not be taken for one, whatever descriptors they got. */
static void modules_do_not_mix(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob a = package(&so_symbolic, NULL, 1), b = package(&so_static, blob_toy_json, 1);
    tnr_module *m[4];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            assert_int_equal(
                tnr_module_open_memory(i % 2 ? b.at : a.at, i % 2 ? b.n : a.n, NULL, &m[i], NULL), TNR_OK);
        tnr_module_retain(m[1]);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(tnr_symbol_count(m[i]), i % 2 ? 0 : 1);
            run_and_check(m[i], TNR_EXECUTOR_AOT, TOY_STATIC_N);
            tnr_module_release(m[i]);
        }
        run_and_check(m[1], TNR_EXECUTOR_GRAPH, TOY_STATIC_N);
        tnr_module_release(m[1]);
    }
    free(a.at);
    free(b.at);
}

/* ---- concurrency ---- */

typedef struct runner {
    tnr_module *module;
    uint32_t seed;
    int executor;
    int bad;
} runner;

static void *run_many(void *context)
{
    runner *r = context;
    tnr_instance *inst;
    static const int64_t n[] = {1, 2, 7, 40};
    if (tnr_instance_new(r->module, &(tnr_instance_options){.executor = r->executor}, &inst, NULL)) {
        r->bad = 1000;
        return NULL;
    }
    for (uint32_t i = 0; i < 50; i++) {
        toy_io io;
        toy_fill(&io, tnr_symbol_count(r->module) ? n[(i + r->seed) % 4] : TOY_STATIC_N, r->seed * 50 + i);
        r->bad += toy_set(inst, &io, NULL) != TNR_OK || tnr_run(inst, NULL) != TNR_OK ||
                  toy_differs(inst, &io) != NULL;
    }
    tnr_instance_free(inst);
    return NULL;
}

static void four_threads_run_one_module(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob a = package(&so_symbolic, NULL, 1), b = package(&so_static, blob_toy_json, 0);
    tnr_module *m[2];
    assert_int_equal(tnr_threads_set(3, NULL), TNR_OK);
    assert_int_equal(tnr_module_open_memory(a.at, a.n, NULL, &m[0], NULL), TNR_OK);
    assert_int_equal(tnr_module_open_memory(b.at, b.n, NULL, &m[1], NULL), TNR_OK);
    for (int which = 0; which < 2; which++) {
        pthread_t t[4];
        runner r[4];
        for (uint32_t i = 0; i < 4; i++) {
            r[i] = (runner){m[which], i, which && i % 2 ? TNR_EXECUTOR_GRAPH : TNR_EXECUTOR_AOT, 0};
            assert_int_equal(pthread_create(&t[i], NULL, run_many, &r[i]), 0);
        }
        for (uint32_t i = 0; i < 4; i++) {
            pthread_join(t[i], NULL);
            assert_int_equal(r[i].bad, 0);
        }
    }
    tnr_module_release(m[0]);
    tnr_module_release(m[1]);
    free(a.at);
    free(b.at);
}

static void a_module_survives_fork(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob a = package(&so_symbolic, NULL, 1);
    tnr_module *m;
    assert_int_equal(tnr_threads_set(3, NULL), TNR_OK);
    assert_int_equal(tnr_module_open_memory(a.at, a.n, NULL, &m, NULL), TNR_OK);
    run_and_check(m, TNR_EXECUTOR_AOT, 40);
    pid_t child = fork();
    if (child == 0) {
        runner r = {m, 1, TNR_EXECUTOR_AOT, 0};
        run_many(&r);
        _exit(r.bad != 0 || tnr_threads_set(1, NULL) != TNR_OK);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    run_and_check(m, TNR_EXECUTOR_AOT, 40);
    tnr_module_release(m);
    free(a.at);
}

/* ---- refusals ---- */

static void expect_refusal(const blob *b, int code, const char *message)
{
    tnr_module *m = NULL;
    tnr_error err = {0};
    tnr_status status = tnr_module_open_memory(b->at, b->n, NULL, &m, &err);
    assert_string_equal(err.message, message);
    assert_int_equal(status, code);
    assert_int_equal(err.code, code);
    assert_null(m);
}

static void libraries_that_may_not_run_are_refused(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    const struct {
        const char *define;
        int code;
        const char *message;
    } row[] = {
        {"-DTOY_FEATURE=\"avx9000\"", TNR_E_CPU,
         "this package needs CPU feature \"avx9000\", which this machine lacks"},
        {"-DTOY_NEWER", TNR_E_VERSION,
         "this package needs a newer runtime: its kernels use an ABI above version 1; update Tenon or "
         "compile the model again"},
        {"-DTOY_VERSION=3", TNR_E_VERSION,
         "the library cannot run: a newer version of Tenon made it: its kernels use ABI version 3, but this "
         "version supports up to 1; update Tenon or compile the model again"},
        {"-DTOY_FOREIGN", TNR_E_VERSION,
         "the library has no symbol tenon_library_query: Tenon did not make it; compile the model again"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob so = build("refused.so", row[i].define);
        blob b = package(&so, NULL, 1);
        expect_refusal(&b, row[i].code, row[i].message);
        free(so.at);
        free(b.at);
    }
}

static void files_that_are_no_packages_are_refused(void **state)
{
    (void)state;
    static const blob junk = {(uint8_t *)"\x7f"
                                         "ELF",
                              4, 0};
    const struct {
        const char *name[3];
        const char *message;
    } row[] = {
        {{"mod.so"}, "not a package: mod.params is missing"},
        {{"mod.params", "mod.json"}, "not a package: mod.so is missing"},
        {{"mod.so", "mod.params", "mod.so"}, "the package is damaged: it contains \"mod.so\" twice"},
        {{"readme.txt"},
         "not a package: a package is a tar of mod.so, mod.json and mod.params, without \"readme.txt\""},
        {{"lib.so"},
         "this package cannot be run: it contains lib.so: it is a package for the VM executor of TVM, which "
         "this "
         "runtime does not have"},
        {{"mod.tar"},
         "this package cannot be run: it contains mod.tar: its code is object files; compile it with "
         "--output-format so"},
        {{"./metadata.json"},
         "this package cannot be run: it contains metadata.json: it is a model library (MLF) for "
         "microcontrollers, which is built into firmware, not run"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = {0};
        for (int k = 0; k < 3 && row[i].name[k]; k++)
            blob_tar_file(&b, row[i].name[k], junk.at, junk.n);
        blob_tar_end(&b);
        expect_refusal(&b, TNR_E_FORMAT, row[i].message);
        free(b.at);
    }
    tnr_module *m = NULL;
    tnr_error err;
    blob b = package(&junk, NULL, 1); /* a mod.so that is none */
    assert_int_equal(tnr_module_open_memory(b.at, b.n, NULL, &m, &err), TNR_E_FORMAT);
    assert_string_equal(err.message, "the library is damaged: it is no ELF file; compile the model again");
    free(b.at);
    assert_int_equal(tnr_module_open("/nowhere/model.tar", NULL, &m, &err), TNR_E_IO);
    assert_string_equal(err.message, "cannot open /nowhere/model.tar: No such file or directory");
    assert_int_equal(tnr_module_open("/", NULL, &m, &err), TNR_E_IO);
    assert_string_equal(err.message, "cannot open /: not a file, or empty");
    assert_int_equal(tnr_module_open("/dev/null", NULL, &m, &err), TNR_E_IO);
    assert_int_equal(tnr_module_open(NULL, NULL, &m, &err), TNR_E_ARG);
    assert_int_equal(tnr_module_open("x", &(tnr_module_options){.flags = 8}, &m, &err), TNR_E_ARG);
}

/* ---- modules ---- */

static const char *const module_name[] = {"mod.1.library", "mod.2.library_with_a_long_name"};

/* A package whose mod.so imports its kernels (TOY_IMPORT) from these files, NULL: none; with mod.sum. */
static blob module_package(const char *fault, const blob *first, const blob *second)
{
    blob b = {0}, list = {0}, params = blob_toy_params(1), so = build("main.so", fault);
    const blob *file[] = {&so, &params, first, second};
    const char *const name[] = {"mod.so", "mod.params", module_name[0], module_name[1]};
    for (size_t i = 0; i < 4; i++) {
        tn_sha256 s;
        uint8_t digest[32];
        char line[100];
        if (!file[i])
            continue;
        tn_sha256_init(&s);
        tn_sha256_add(&s, file[i]->at, file[i]->n);
        tn_sha256_end(&s, digest);
        tn_sum_text(digest, line);
        blob_put(&list, line, 64);
        blob_put(&list, line, (size_t)snprintf(line, sizeof line, "  %s\n", name[i]));
        blob_tar_file(&b, name[i], file[i]->at, file[i]->n);
    }
    blob_tar_file(&b, "mod.sum", list.at, list.n);
    blob_tar_end(&b);
    free(list.at);
    free(params.at);
    free(so.at);
    return b;
}

static void kernels_of_modules_run(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob b = module_package("-DTOY_IMPORT=NONE", &so_symbolic, &so_symbolic);
    for (uint32_t flags = 0; flags < 4; flags++) {
        tnr_module *m[2];
        tnr_error err;
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                tnr_module_open_memory(b.at, b.n, &(tnr_module_options){.flags = flags}, &m[i], &err),
                TNR_OK);
        run_and_check(m[0], TNR_EXECUTOR_AOT, 7);
        tnr_module_release(m[0]);
        run_and_check(m[1], TNR_EXECUTOR_AOT, 1);
        tnr_module_release(m[1]);
    }
    free(b.at);
}

static void check_texts_are_the_module_s(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob b = module_package("-DTOY_IMPORT=NONE", &so_symbolic, &so_symbolic);
    tnr_module *m;
    tnr_instance *inst;
    tnr_error err;
    toy_io io;
    assert_int_equal(tnr_module_open_memory(b.at, b.n, NULL, &m, &err), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, &err), TNR_OK);
    toy_fill(&io, 3, 1);
    io.flag = 1;
    io.idx[0] = 99;
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_string_equal(err.message, "Gather_0: index out of range");
    tnr_instance_free(inst);
    tnr_module_release(m);
    free(b.at);
}

static void modules_that_cannot_be_used_are_refused(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    const struct {
        const char *define, *message;
    } row[] = {
        {"-DTOY_IMPORT=KIND",
         "this package needs code of kind \"cuda\" (mod.2.library_with_a_long_name), which "
         "this runtime does not run"},
        {"-DTOY_IMPORT=NAME", "the library is damaged: its record has missing tables"},
        {"-DTOY_IMPORT=MODULE", "mod.so is damaged: kernel tvmgen_default_fused_sum has a module, a function "
                                "or a device that does not exist"},
        {"-DTOY_IMPORT=FUNCTION",
         "module mod.2.library_with_a_long_name: its function nothing is missing, for kernel "
         "tvmgen_default_fused_sum"},
        {"-DTOY_IMPORT=ARGUMENTS",
         "module mod.2.library_with_a_long_name: its function tvmgen_default_fused_sum has other arguments "
         "than kernel tvmgen_default_fused_sum"},
        {"-DTOY_IMPORT=OVERLAP",
         "module mod.2.library_with_a_long_name: its function tvmgen_default_fused_sum has other arguments "
         "than kernel tvmgen_default_fused_sum"},
        {"-DTOY_IMPORT=ITSELF", "module mod.1.library: it imports itself or a later module"},
        {"-DTOY_IMPORT=CIRCLE", "module mod.1.library: it imports itself or a later module"},
        {"-DTOY_IMPORT=MANY", "this package has 9 modules, but this runtime opens up to 8"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = module_package(row[i].define, &so_symbolic, &so_symbolic);
        expect_refusal(&b, TNR_E_FORMAT, row[i].message);
        free(b.at);
    }
}

static void files_of_modules_are_checked(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob junk = {(uint8_t *)"\x7f"
                            "ELF",
                 4, 0},
         newer = build("newer.so", "-DTOY_NEWER"), nested = build("nested.so", "-DTOY_IMPORT=NONE"),
         feature = build("feature.so", "-DTOY_FEATURE=\"avx9000\"");
    const struct {
        const char *define;
        const blob *second;
        int code;
        const char *message;
    } row[] = {
        {"-DTOY_IMPORT=NONE", NULL, TNR_E_FORMAT, "not a package: mod.2.library_with_a_long_name is missing"},
        {"-DTOY_IMPORT=NONE", &junk, TNR_E_FORMAT,
         "module mod.2.library_with_a_long_name: the library is damaged: it is no ELF file; compile the "
         "model "
         "again"},
        {"-DTOY_IMPORT=NONE", &newer, TNR_E_VERSION,
         "module mod.2.library_with_a_long_name: this package needs a newer runtime: its kernels use an ABI "
         "above version 1; update Tenon or compile the model again"},
        {"-DTOY_IMPORT=NONE", &feature, TNR_E_CPU,
         "module mod.2.library_with_a_long_name: this package needs CPU feature \"avx9000\", which this "
         "machine lacks"},
        {"-DTOY_IMPORT=NONE", &nested, TNR_E_FORMAT,
         "module mod.2.library_with_a_long_name: it has modules of its own"},
        {"-DTOY", &junk, TNR_E_FORMAT,
         "not a package: a package is a tar of mod.so, mod.json and mod.params, without \"mod.1.library\""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = module_package(row[i].define, &so_symbolic, row[i].second);
        expect_refusal(&b, row[i].code, row[i].message);
        free(b.at);
    }
    blob b = module_package("-DTOY_IMPORT=NONE", &so_symbolic, &so_symbolic);
    for (size_t i = 0; i < b.n; i += 512) /* the header of the second file */
        if (strcmp((char *)b.at + i, module_name[1]) == 0) {
            b.at[i + 512 + so_symbolic.n / 2] ^= 1;
            break;
        }
    expect_refusal(&b, TNR_E_FORMAT,
                   "the package is damaged: mod.2.library_with_a_long_name does not match its checksum in "
                   "mod.sum; copy the package again or compile the model again");
    free(b.at);
    free(newer.at);
    free(nested.at);
    free(feature.at);
}

/* A truncated package is an error at every header and at many other lengths. */
static void truncated_packages_are_refused(void **state)
{
    (void)state;
    if (!so_symbolic.n)
        skip();
    blob b = package(&so_static, blob_toy_json, 1);
    for (size_t n = 0; n < b.n - 512; n += n % 512 < 4 ? 1 : n % 512 == 4 ? 500 : 4) {
        tnr_module *m = NULL;
        tnr_error err;
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, b.at, n);
        if (tnr_module_open_memory(exact, n, NULL, &m, &err) == TNR_OK)
            fail_msg("%zu of %zu bytes were taken for a package", n, b.n);
        assert_null(m);
        free(exact);
    }
    free(b.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_from_file_and_memory_in_every_way),
        cmocka_unit_test(modules_do_not_mix),
        cmocka_unit_test(four_threads_run_one_module),
        cmocka_unit_test(a_module_survives_fork),
        cmocka_unit_test(libraries_that_may_not_run_are_refused),
        cmocka_unit_test(files_that_are_no_packages_are_refused),
        cmocka_unit_test(kernels_of_modules_run),
        cmocka_unit_test(check_texts_are_the_module_s),
        cmocka_unit_test(modules_that_cannot_be_used_are_refused),
        cmocka_unit_test(files_of_modules_are_checked),
        cmocka_unit_test(truncated_packages_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
