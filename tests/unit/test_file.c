/* base/file: mapping, refusals, whole-or-nothing writing. */
#include "base/file.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct {
    tn_ctx ctx;
    char dir[64], path[128];
} fixture;

static int up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    tn_ctx_init(&f->ctx);
    snprintf(f->dir, sizeof f->dir, "tn-file-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    snprintf(f->path, sizeof f->path, "%s/a", f->dir);
    *state = f;
    return 0;
}

static int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int down(void **state)
{
    fixture *f = *state;
    char link[128];
    snprintf(link, sizeof link, "%s/link", f->dir);
    unlink(f->path);
    unlink(link);
    int err = rmdir(f->dir);
    tn_ctx_deinit(&f->ctx);
    free(f);
    return err;
}

static void expect(fixture *f, const char *text, size_t n)
{
    tn_file m;
    assert_int_equal(tn_file_map(&f->ctx, f->path, &m), TN_OK);
    assert_int_equal(m.n, n);
    assert_non_null(m.at);
    assert_memory_equal(m.at, text, n);
    tn_file_unmap(&m);
}

static void write_then_map(void **state)
{
    fixture *f = *state;
    assert_int_equal(tn_file_write(&f->ctx, f->path, "first", 5), TN_OK);
    expect(f, "first", 5);
    assert_int_equal(tn_file_write(&f->ctx, f->path, "2", 1), TN_OK);
    expect(f, "2", 1);
    assert_int_equal(tn_file_write(&f->ctx, f->path, NULL, 0), TN_OK);
    expect(f, "", 0);
    assert_int_equal(entries(f->dir), 1);
}

static void link_keeps_its_place(void **state)
{
    fixture *f = *state;
    char link[128];
    snprintf(link, sizeof link, "%s/link", f->dir);
    assert_int_equal(tn_file_write(&f->ctx, f->path, "old", 3), TN_OK);
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(tn_file_write(&f->ctx, link, "new", 3), TN_OK);
    expect(f, "new", 3);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void refusals(void **state)
{
    fixture *f = *state;
    char missing[128];
    snprintf(missing, sizeof missing, "%s/no/such", f->dir);
    tn_file m;
    assert_int_equal(tn_file_map(&f->ctx, missing, &m), TN_FAIL);
    assert_int_equal(m.n, 0);
    assert_int_equal(tn_file_map(&f->ctx, f->dir, &m), TN_FAIL);
    assert_int_equal(tn_file_write(&f->ctx, missing, "x", 1), TN_FAIL);
    assert_int_equal(tn_file_write(&f->ctx, f->dir, "x", 1), TN_FAIL);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_int_equal(tn_file_map(&f->ctx, f->path, &m), TN_FAIL); /* must not wait for a writer */
    static const char *const id[] = {"base-E001", "base-E002", "base-E003", "base-E003", "base-E002"};
    assert_int_equal(f->ctx.n_diag, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(f->ctx.diag[i].id, id[i]);
    assert_string_equal(f->ctx.diag[0].loc.file, missing);
    assert_int_equal(entries(f->dir), 1);
}

static void device_is_not_replaced(void **state)
{
    fixture *f = *state;
    struct stat st;
    assert_int_equal(tn_file_write(&f->ctx, "/dev/null", "x", 1), TN_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

/* A full disk, played by the file size limit: the old file stays whole, and the temporary goes. */
static void failure_keeps_the_old_file(void **state)
{
    fixture *f = *state;
    static char big[8192];
    struct rlimit old, small;
    assert_int_equal(tn_file_write(&f->ctx, f->path, "old", 3), TN_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tn_status s = tn_file_write(&f->ctx, f->path, big, sizeof big);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(s, TN_FAIL);
    assert_string_equal(f->ctx.diag[0].id, "base-E003");
    expect(f, "old", 3);
    assert_int_equal(entries(f->dir), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(write_then_map, up, down),
        cmocka_unit_test_setup_teardown(link_keeps_its_place, up, down),
        cmocka_unit_test_setup_teardown(refusals, up, down),
        cmocka_unit_test_setup_teardown(device_is_not_replaced, up, down),
        cmocka_unit_test_setup_teardown(failure_keeps_the_old_file, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
