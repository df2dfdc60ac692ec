/* The verifier of programs: each text of tests/program/broken has one fault, and the verifier says which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"

enum { MOST = 256 };

/* What the verifier says of a program as text; "" if it is right. */
static void verify(const char *path, const char *text, size_t n, char says[512])
{
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_program_ir program;
    const tn_kernel_signature *kernel;
    uint32_t n_kernel;
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&pool, &ctx, &arena, NULL);
    bool read = tn_program_parse(&ctx, &pool, &arena, path, text, n, &program, &n_kernel, &kernel) == TN_OK;
    bool right = read && tn_program_verify(&ctx, &pool, &program, n_kernel, kernel) == TN_OK;
    assert_int_equal(right, ctx.n_diag == 0);
    snprintf(says, 512, "%s%s", read ? "" : "not read: ", ctx.n_diag ? ctx.diag[0].message : "");
    tn_arena_deinit(&arena);
    tn_ctx_deinit(&ctx);
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The programs of a folder below tests/program, in order of their names. */
static size_t list(const char *folder, char *out[MOST])
{
    size_t n = 0;
    char path[512];
    snprintf(path, sizeof path, "%s/tests/program/%s", getenv("TENON_SOURCE_DIR"), folder);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strstr(e->d_name, ".program")) {
            assert_true(n < MOST);
            out[n] = malloc(strlen(path) + strlen(e->d_name) + 2);
            sprintf(out[n++], "%s/%s", path, e->d_name);
        }
    closedir(d);
    qsort(out, n, sizeof *out, compare);
    return n;
}

/* Each begins with "# refused: " and what the verifier says of it. */
static void broken_programs_are_refused(void **state)
{
    static const char prefix[] = "# refused: ";
    (void)state;
    char *path[MOST], says[512], reason[256];
    int failed = 0;
    tn_ctx ctx;
    tn_ctx_init(&ctx);
    size_t n = list("broken", path);
    assert_true(n >= 60);
    for (size_t i = 0; i < n; i++) {
        tn_file f;
        assert_int_equal(tn_file_map(&ctx, path[i], &f), TN_OK);
        const char *text = (const char *)f.at, *end = memchr(text, '\n', f.n);
        assert_true(end && strncmp(text, prefix, strlen(prefix)) == 0);
        snprintf(reason, sizeof reason, "%.*s", (int)(end - text - (ptrdiff_t)strlen(prefix)),
                 text + strlen(prefix));
        verify(path[i], text, f.n, says);
        if (!strstr(says, reason) || !strstr(says, "internal error")) {
            print_error("%s: %s\n", strrchr(path[i], '/') + 1, *says ? says : "accepted");
            failed++;
        }
        tn_file_unmap(&f);
        free(path[i]);
    }
    tn_ctx_deinit(&ctx);
    assert_int_equal(failed, 0);
}

/* Up to the program of a Relay text. */
static void make(tn_build *b, tn_ctx *ctx, const char *text)
{
    tn_status (*const stage[])(tn_build *) = {tn_stage_graph, tn_stage_tir, tn_stage_schedule, tn_stage_lower,
                                              tn_stage_program};
    tn_ctx_init(ctx);
    tn_build_init(b, ctx, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3});
    assert_int_equal(tn_target_parse(b), TN_OK);
    b->model = "t.relay";
    b->file = (tn_file){.at = (const uint8_t *)text, .n = strlen(text)};
    assert_int_equal(tn_stage_import(b), TN_OK);
    tn_names_settle(b);
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++)
        assert_int_equal(stage[i](b), TN_OK);
}

/* In a chain, every second slot lies in the same place: work for each pair of those would take minutes. */
static void long_programs_are_quick(void **state)
{
    (void)state;
    enum { N = 6000 };
    tn_ctx ctx;
    tn_build b;
    char *text = malloc(N * 40u + 200), *at = text;
    assert_non_null(text);
    at += sprintf(
        at, "#[version = \"0.0.5\"]\ndef @main(%%x: Tensor[(2, 3), float32]) {\n  %%0 = nn.softmax(%%x);\n");
    for (int i = 1; i < N; i++)
        at += sprintf(at, "  %%%d = nn.softmax(%%%d);\n", i, i - 1);
    sprintf(at, "  %%%d\n}\n", N - 1);
    make(&b, &ctx, text);
    double start = tn_now();
    assert_int_equal(tn_program_verify(&ctx, &b.pool, &b.program, (uint32_t)b.groups.n, b.signature), TN_OK);
    assert_true(tn_now() - start < 5);
    tn_build_deinit(&b);
    tn_ctx_deinit(&ctx);
    free(text);
}

/* driver-E070 */
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_programs_are_refused),
                                       cmocka_unit_test(long_programs_are_quick)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
