/* Generated code needs nothing but memcpy and memset, with and without fma, and compiles without a warning. */
#include "base/file.h"
#include "codegen_unit.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool has_program(const char *name)
{
    const char *const argv[] = {name, "--version", NULL};
    posix_spawn_file_actions_t quiet;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1, 0);
    int failed = posix_spawnp(&pid, name, &quiet, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (!failed)
        waitpid(pid, &status, 0);
    return !failed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void assert_undefined(const char *who, const char *object)
{
    char command[128], line[256], name[128];
    snprintf(command, sizeof command, "nm -u %s", object);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p))
        if (sscanf(line, " U %127s", name) == 1 && strcmp(name, "memcpy") != 0 &&
            strcmp(name, "memset") != 0 && strcmp(name, "_GLOBAL_OFFSET_TABLE_") != 0)
            fail_msg("%s: the object needs %s", who, name);
    assert_int_equal(pclose(p), 0);
}

static void check_c(fixture *x, const tn_unit *u, const char *cc)
{
    tn_buf text = {0};
    char source[64], object[64];
    if (!has_program(cc)) {
        print_message("%s is not here\n", cc);
        return;
    }
    if (tn_emit_c(u, &text) != TN_OK)
        fail_msg("%s", diags(x));
    snprintf(source, sizeof source, "./link_%d.c", (int)getpid());
    snprintf(object, sizeof object, "./link_%d.o", (int)getpid());
    assert_int_equal(tn_file_write(&x->ctx, source, text.at, text.n), TN_OK);
    const char *const argv[] = {cc,   "-O1", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-Wno-psabi",
                                "-c", "-o",  object,           source,  NULL};
    assert_int_equal(run_command(argv), 0);
    assert_undefined(cc, object);
    unlink(source);
    unlink(object);
    tn_buf_deinit(&text);
}

static void check_llvm(fixture *x, const tn_unit *u)
{
    const tn_llvm_api *api;
    tn_buf object = {0};
    tn_code_options o = {.opt_level = 3};
    char path[64];
    if (tn_llvm_open(&x->ctx, &api) != TN_OK || api->emit(u, &o, TN_LLVM_OBJECT, &object) != TN_OK)
        fail_msg("%s", diags(x));
    snprintf(path, sizeof path, "./link_%d.o", (int)getpid());
    assert_int_equal(tn_file_write(&x->ctx, path, object.at, object.n), TN_OK);
    assert_undefined("LLVM", path);
    unlink(path);
    tn_buf_deinit(&object);
}

static void check_machine(const char *const feature[], size_t n)
{
    if (RUN_FEWER)
        skip(); /* objects are the same in each build; the equality test makes them, too */
    fixture x;
    static case_list l;
    static tn_flat flat[MAX_CASES];
    static tn_kernel_ir kernel[MAX_CASES];
    tn_machine m = {.triple = "x86_64-unknown-linux-gnu", .feature = feature, .n_feature = n};
    fixture_init(&x);
    cases_init(&l);
    tn_machine_derive(&m);
    for (int i = 0; i < l.n; i++)
        if (tn_lower(scheduled(&x, &l.at[i], read_func(&x, l.at[i].text)), &m, &tn_pipeline_cpu, &flat[i]) !=
            TN_OK)
            fail_msg("%s", diags(&x));
    tn_unit u = unit_of(&x, &l, &m, flat, kernel);
    check_c(&x, &u, "gcc");
    check_c(&x, &u, "clang-19");
    check_llvm(&x, &u);
    cases_deinit(&l);
    fixture_deinit(&x);
}

static void test_fma(void **state)
{
    static const char *const feature[] = {"sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c"};
    (void)state;
    check_machine(feature, sizeof feature / sizeof *feature);
}

static void test_plain(void **state)
{
    (void)state;
    check_machine(NULL, 0);
}

int main(void)
{
#if !defined(__x86_64__)
    return 77; /* the C of vectors of other CPUs is compiled by the equality test */
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fma), cmocka_unit_test(test_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
