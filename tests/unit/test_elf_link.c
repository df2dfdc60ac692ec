/* Objects linked in memory: the library runs, and damaged objects are refused or linked, never read past their end;
 * members of an archive are linked where they are needed, and functions of the C library get their versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/guard.h"
#include "driver/elf_link.h"
#include "driver/elf_model.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <elf.h>
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
static bool make_of(const char *source, int i, tn_buf *out)
{
    char name[64], command[256];
    snprintf(name, sizeof name, "./elf_link_%d_%d", (int)getpid(), i);
    snprintf(command, sizeof command,
             "gcc -x c -c -O1 -w -fPIC -fvisibility=hidden -ffreestanding -fno-builtin -fdata-sections "
             "-ffunction-sections "
             "-fno-stack-protector -o %s.o - >/dev/null 2>&1",
             name);
    FILE *p = popen(command, "w");
    assert_non_null(p);
    fputs(source, p);
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

static bool make(int i, tn_buf *out) { return make_of(sources[i], i, out); }

static bool make_all(tn_buf code[N_SOURCE])
{
    for (int i = 0; i < N_SOURCE; i++)
        if (!make(i, &code[i]))
            return false;
    return true;
}

static tn_bytes bytes_of(const tn_buf *b) { return (tn_bytes){(const uint8_t *)b->at, b->n}; }

static tn_status link_objects(tn_ctx *ctx, uint32_t n, const tn_buf code[], tn_buf *so)
{
    tn_bytes object[N_SOURCE];
    for (uint32_t i = 0; i < n; i++)
        object[i] = bytes_of(&code[i]);
    return tn_elf_link(ctx, &(tn_elf_job){.n_object = n, .object = object}, &(tn_sink){.buf = so});
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
    assert_true(tn_elf_link_can(bytes_of(&code[0])));
    if (link_objects(&ctx, N_SOURCE, code, &so) != TN_OK)
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

/* ---- with an archive: a library that has what it needs inside ---- */

/* The first refers to the second weakly, and to nothing of the third; the C library has functions of several versions,
 * and an address in a table is one of the library's own. */
static const char user_source[] =
    "extern int counted(const char *s); extern int more(void) __attribute__((weak)); extern int "
    "unused_before;\n"
    "int entry_count(const char *s) { return counted(s) + (more ? 1000 : 0); }\n";
/* clang-format off */
static const char counting[] =
    "#include <pthread.h>\n#include <string.h>\n#include <unistd.h>\n"
    "static int calls; static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c;\n"
    "extern int deeper(int (*f)(const char *), const char *s);\n"
    "__attribute__((noipa)) static int length(const char *s) { return (int)strlen(s); }\n"
    "int unused(void) { return sysconf(1); }\n"
    "int counted(const char *s) { pthread_mutex_lock(&lock); calls++; pthread_cond_init(&c, 0); "
    "pthread_cond_signal(&c); pthread_mutex_unlock(&lock); return deeper(length, s) + 100 * calls; }\n";
static const char deeper[] =
    "int (*chosen)(const char *);\n"
    "int deeper(int (*f)(const char *), const char *s) { chosen = f; return chosen(s); }\n";
/* clang-format on */
static const char *const members[] = {counting, deeper, "int more(void) { return 1; }\n"};
enum { N_MEMBER = 3 };

static void add_member(tn_buf *out, const tn_buf *object)
{
    char head[61];
    snprintf(head, sizeof head, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", "m.o/", 0, 0, 0, 0644, object->n);
    tn_buf_add(out, head, 60);
    tn_buf_add(out, object->at, object->n);
    tn_buf_fill(out, '\n', object->n % 2);
}

static bool make_archive(tn_buf *out)
{
    tn_buf_str(out, "!<arch>\n");
    for (int i = 0; i < N_MEMBER; i++) {
        tn_buf one = {0};
        if (!make_of(members[i], i, &one))
            return false;
        add_member(out, &one);
        tn_buf_deinit(&one);
    }
    return true;
}

static tn_status link_archive(tn_ctx *ctx, const tn_buf *user, tn_bytes archive, const char *root,
                              tn_bytes library, tn_buf *so)
{
    const tn_bytes object = bytes_of(user);
    const tn_elf_job job = {.n_object = 1,
                            .object = &object,
                            .archive = archive,
                            .n_root = root != NULL,
                            .root = &root,
                            .n_export = 1,
                            .exported = &(tn_elf_export){"entry_count", "count_of_user"},
                            .library = library,
                            .stays = true};
    return tn_elf_link(ctx, &job, &(tn_sink){.buf = so});
}

/* What the function gives, called twice. */
static void check_counts(tn_ctx *ctx, const tn_buf *so, const char *name, int want)
{
    char path[64];
    snprintf(path, sizeof path, "./elf_link_%d_%s.so", (int)getpid(), name);
    assert_int_equal(tn_file_write(ctx, path, so->at, so->n), TN_OK);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    int (*count)(const char *) = NULL;
    *(void **)&count = dlsym(lib, "count_of_user");
    assert_non_null(count);
    assert_int_equal(count("abc"), want + 103);
    assert_int_equal(count("abcd"), want + 204);
    assert_null(dlsym(lib, "counted"));
    unlink(path);
}

static void test_archive(void **state)
{
    tn_buf user = {0}, archive = {0}, so = {0};
    tn_file library;
    Dl_info libc;
    tn_ctx ctx;
    (void)state;
    if (!make_of(user_source, 9, &user) || !make_archive(&archive))
        skip();
    tn_ctx_init(&ctx);
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "sysconf"), &libc), 0);
    assert_int_equal(tn_file_map(&ctx, libc.dli_fname, &library), TN_OK);
    const tn_bytes whole = {library.at, library.n};
    if (link_archive(&ctx, &user, bytes_of(&archive), NULL, whole, &so) != TN_OK)
        fail_msg("%s", ctx.n_diag ? ctx.diag[0].message : "");
    assert_null(memmem(so.at, so.n, "sysconf", 7)); /* of a function that nothing calls */
    check_counts(&ctx, &so, "weak", 0);
    tn_buf_clear(&so);
    assert_int_equal(link_archive(&ctx, &user, bytes_of(&archive), "more", whole, &so), TN_OK);
    check_counts(&ctx, &so, "more", 1000);
    tn_buf_clear(&so);
    assert_int_not_equal(link_archive(&ctx, &user, bytes_of(&archive), "absent", whole, &so), TN_OK);
    assert_int_not_equal(link_archive(&ctx, &user, bytes_of(&archive), NULL, (tn_bytes){0}, &so), TN_OK);
    for (size_t n = 0; n < archive.n; n += 301) {
        tn_bytes cut = {memcpy(malloc(n + 1), archive.at, n), n};
        (void)!link_archive(&ctx, &user, cut, NULL, whole, &so);
        free((void *)cut.at);
    }
    for (size_t n = 64; n < library.n; n += library.n / 97) {
        tn_bytes cut = {memcpy(malloc(n), library.at, n), n};
        (void)!link_archive(&ctx, &user, bytes_of(&archive), NULL, cut, &so);
        free((void *)cut.at);
    }
    tn_file_unmap(&library);
    tn_buf_deinit(&user);
    tn_buf_deinit(&archive);
    tn_buf_deinit(&so);
    tn_ctx_deinit(&ctx);
}

/* ---- the object of a model ---- */

static void add_some(void *user, tn_sink *out) { tn_sink_add(out, user, 5); }

static tn_status make_model(tn_ctx *ctx, tn_bytes code, tn_buf *out)
{
    const tn_elf_model model = {
        .code = code, .entry = "model_library", .bytes = 5, .write = add_some, .user = (void *)"12345"};
    return tn_elf_model_write(ctx, &model, &(tn_sink){.buf = out});
}

/* It gets the machine and the ABI of the code; of any size of weights, its tables are aligned. */
static void test_model(void **state)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV, EM_LOONGARCH, EM_PPC64};
    Elf64_Ehdr code = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_flags = 5};
    tn_ctx ctx;
    (void)state;
    tn_ctx_init(&ctx);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        tn_buf out = {0};
        code.e_machine = machines[i];
        assert_int_equal(make_model(&ctx, (tn_bytes){(const uint8_t *)&code, sizeof code}, &out), TN_OK);
        const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)out.at;
        assert_int_equal(h->e_machine, machines[i]);
        assert_int_equal(h->e_flags, 5);
        assert_int_equal(h->e_shoff % 8, 0);
        assert_int_equal(h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr), out.n);
        assert_memory_equal(out.at + TN_ELF_MODEL_WEIGHTS, "12345", 5);
        tn_buf_deinit(&out);
    }
    code.e_machine = EM_S390;
    tn_buf none = {0};
    assert_int_not_equal(make_model(&ctx, (tn_bytes){(const uint8_t *)&code, sizeof code}, &none), TN_OK);
    assert_string_equal(ctx.diag[0].id, "driver-E121");
    assert_int_not_equal(make_model(&ctx, (tn_bytes){(const uint8_t *)&code, 9}, &none), TN_OK);
    assert_int_equal(none.n, 0);
    tn_ctx_deinit(&ctx);
}

/* ---- damage ---- */

/* OK, or refused as driver-E120. */
static bool link_once(uint32_t n, const tn_buf code[])
{
    tn_ctx ctx;
    tn_buf so = {0};
    tn_ctx_init(&ctx);
    tn_status st = link_objects(&ctx, n, code, &so);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_archive),
                                       cmocka_unit_test(test_model), cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
