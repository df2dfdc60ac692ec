/* Objects linked in memory: the library runs, and damaged objects are refused or linked, never read past their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/guard.h"
#include "driver/elf_link.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two objects that need each other, constants, addresses in data, memcpy and memset. */
static const char *const sources[] = {
    "#pragma GCC visibility push(hidden)\n"
    "extern const int *const table[2]; int twice(int x); int cell = 3;\n"
    "__attribute__((visibility(\"default\"))) int tenon_library_query(int n)\n"
    "{ char a[999], b[999]; __builtin_memset(a, n, n); __builtin_memcpy(b, a, n); return twice(b[n - 1]) + "
    "*table[1] + cell; }\n",
    "static const int some[3] = {1, 20, 300}; const int *const table[2] = {&some[0], &some[2]};\n"
    "int twice(int x) { return 2 * x; }\n"};
enum { N_SOURCE = 2 };

/* With sections of its own for each thing, so that there are many. False: no compiler is here. */
static bool make(int i, tn_buf *out)
{
    char name[64], command[256];
    snprintf(name, sizeof name, "./elf_link_%d_%d", (int)getpid(), i);
    snprintf(command, sizeof command,
             "gcc -x c -c -O1 -w -fPIC -fvisibility=hidden -ffreestanding -fno-builtin -fdata-sections "
             "-fno-stack-protector -o %s.o - >/dev/null 2>&1",
             name);
    FILE *p = popen(command, "w");
    assert_non_null(p);
    fputs(sources[i], p);
    bool ok = pclose(p) == 0;
    snprintf(command, sizeof command, "%s.o", name);
    FILE *f = ok ? fopen(command, "rb") : NULL;
    char part[4096];
    for (size_t n; f && (n = fread(part, 1, sizeof part, f)) > 0;)
        tn_buf_add(out, part, n);
    if (f)
        fclose(f);
    unlink(command);
    return ok;
}

static bool make_all(tn_buf code[N_SOURCE])
{
    for (int i = 0; i < N_SOURCE; i++)
        if (!make(i, &code[i]))
            return false;
    return true;
}

static void test_runs(void **state)
{
    tn_buf code[N_SOURCE] = {{0}}, so = {0};
    tn_ctx ctx;
    char path[64];
    (void)state;
    if (!make_all(code))
        skip();
    tn_ctx_init(&ctx);
    assert_true(tn_elf_link_can(N_SOURCE, code));
    if (tn_elf_link(&ctx, N_SOURCE, code, &so) != TN_OK)
        fail_msg("%s", ctx.n_diag ? ctx.diag[0].message : "");
    snprintf(path, sizeof path, "./elf_link_%d.so", (int)getpid());
    assert_int_equal(tn_file_write(&ctx, path, so.at, so.n), TN_OK);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    int (*query)(int) = NULL;
    *(void **)&query = dlsym(lib, "tenon_library_query");
    assert_non_null(query);
    assert_int_equal(query(7), 14 + 300 + 3);
    assert_null(dlsym(lib, "twice"));
    dlclose(lib);
    unlink(path);
    for (int i = 0; i < N_SOURCE; i++)
        tn_buf_deinit(&code[i]);
    tn_buf_deinit(&so);
    tn_ctx_deinit(&ctx);
}

/* OK, or refused as driver-E120. */
static bool link_once(uint32_t n, const tn_buf code[])
{
    tn_ctx ctx;
    tn_buf so = {0};
    tn_ctx_init(&ctx);
    tn_status st = tn_elf_link(&ctx, n, code, &so);
    if (st != TN_OK)
        assert_string_equal(ctx.diag[0].id, "driver-E120");
    tn_buf_deinit(&so);
    tn_ctx_deinit(&ctx);
    return st == TN_OK;
}

static void test_damage(void **state)
{
    static const uint8_t with[] = {0x00, 0xff, 0x01, 0x80};
    tn_buf code[N_SOURCE] = {{0}};
    int refused = 0;
    (void)state;
    if (!make_all(code))
        skip();
    assert_false(link_once(1, code)); /* lacks what the other one defines */
    assert_false(link_once(2, (tn_buf[]){code[0], code[0]}));
    for (size_t i = 0; i < code[0].n; i++)
        for (size_t k = 0; k < sizeof with; k++) {
            char was = code[0].at[i];
            code[0].at[i] = (char)(was ^ with[k]);
            refused += !link_once(N_SOURCE, code);
            code[0].at[i] = was;
        }
    assert_true(refused > 100);
    for (size_t n = 0; n < code[0].n; n += 7) /* in memory of its own, so that a sanitizer sees its end */
    {
        tn_buf cut = {.at = malloc(n + 1), .n = n};
        memcpy(cut.at, code[0].at, n);
        link_once(N_SOURCE, (tn_buf[]){cut, code[1]});
        free(cut.at);
    }
    for (int i = 0; i < N_SOURCE; i++)
        tn_buf_deinit(&code[i]);
}

int main(void)
{
#if !defined(__x86_64__)
    return 77;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
