/* base/wire/tar: round trips, what other writers produce, damage. tar(1) judges our archives where it is installed. */
#include "base/ctx.h"
#include "base/file.h"
#include "base/wire/tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char long_name[] =
    "a/very/long/path/that/does/not/fit/into/the/hundred/bytes/of/the/header/field/"
    "for/names/and/goes/on/for/some/more/mod.params";

static void round_trip(void **state)
{
    (void)state;
    static char big[5000];
    memset(big, 'q', sizeof big);
    static char name100[101];
    memset(name100, 'n', 100);
    const struct {
        const char *name;
        const void *data;
        size_t n;
    } row[] = {
        {"mod.so", big, 5000},
        {"mod.json", "{}", 2},
        {"empty", NULL, 0},
        {long_name, big, 512},
        {name100, "exactly a hundred", 17},
    };
    tn_buf b = {0};
    for (size_t i = 0; i < 5; i++)
        tn_tar_add(&b, row[i].name, row[i].data, row[i].n, 1234567890);
    tn_tar_end(&b);
    assert_int_equal(b.n % 512, 0);
    tn_tar t = tn_tar_open(b.at, b.n);
    tn_tar_entry e;
    const char *error;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(tn_tar_next(&t, &e), 1);
        assert_int_equal(e.name_n, strlen(row[i].name));
        assert_memory_equal(e.name, row[i].name, e.name_n);
        assert_int_equal(e.n, row[i].n);
        assert_int_equal(e.offset % 512, 0);
        assert_ptr_equal(e.at, (uint8_t *)b.at + e.offset);
        if (e.n)
            assert_memory_equal(e.at, row[i].data, e.n);
        assert_int_equal(tn_tar_find(b.at, b.n, row[i].name, &e, &error), 1);
        assert_int_equal(e.n, row[i].n);
    }
    assert_int_equal(tn_tar_next(&t, &e), 0);
    assert_null(t.error);
    assert_int_equal(tn_tar_next(&t, &e), 0);
    assert_null(t.error);
    assert_int_equal(tn_tar_find(b.at, b.n, "mod", &e, &error), 0);
    assert_null(error);
    tn_buf_deinit(&b);
}

/* Every archive that is cut somewhere is refused, and nothing outside it is read. */
static void cut_anywhere(void **state)
{
    (void)state;
    tn_buf b = {0};
    tn_tar_add(&b, long_name, "abc", 3, 0);
    tn_tar_add(&b, "x", "defg", 4, 0);
    tn_tar_end(&b);
    for (size_t n = 0; n < b.n; n += n % 512 == 511 ? 1 : n % 512 == 0 ? 1 : 510) {
        uint8_t *copy = malloc(n ? n : 1);
        memcpy(copy, b.at, n);
        tn_tar t = tn_tar_open(copy, n);
        tn_tar_entry e;
        while (tn_tar_next(&t, &e)) {}
        assert_non_null(t.error);
        free(copy);
    }
    tn_buf_deinit(&b);
}

/* A header's checksum, after the test has changed the header. */
static void seal(char *h)
{
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (uint8_t)h[i];
    snprintf(h + 148, 8, "%06o", sum);
}

static void headers(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        const char *bytes;
        size_t n;
        int sealed;
        const char *error;
    } row[] = {
        {0, "y", 1, 0, "not a tar archive, or damaged: a header's checksum is wrong"},
        {257, "vstar", 5, 1, "a tar header is not in the ustar format"},
        {124, "0000000zzzz", 11, 1, "a tar header has an invalid size"},
        {124, "            ", 12, 1, "a tar header has an invalid size"},
        {124, "77777777777", 11, 1, "the archive is cut short"},
        {124, "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, 1, "a tar header has an invalid size"},
        {124, "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12, 1, "the archive is cut short"},
        {156, "1", 1, 1, "an entry is neither a file nor a directory"},
        {156, "2", 1, 1, "an entry is neither a file nor a directory"},
        {156, "3", 1, 1, "an entry is neither a file nor a directory"},
        {345, "dir", 3, 1, "a name has two parts (ustar prefix); write the archive with --format=pax or gnu"},
        {0, "\0\0", 2, 1, "an entry has no valid name"},
        {156, "x", 1, 1, "a malformed pax record"},
        {124, "\x80\0\0\0\0\0\0\0\0\0\0\x03", 12, 1, NULL}, /* GNU's binary size */
        {156, "\0", 1, 1, NULL},                            /* the old mark of a file */
        {257, "ustar  ", 8, 1, NULL},                       /* GNU's magic */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_buf b = {0};
        tn_tar_add(&b, "x", "abc", 3, 0);
        tn_tar_end(&b);
        memcpy(b.at + row[i].at, row[i].bytes, row[i].n);
        if (row[i].sealed)
            seal(b.at);
        tn_tar t = tn_tar_open(b.at, b.n);
        tn_tar_entry e;
        int n = 0;
        while (tn_tar_next(&t, &e))
            n++;
        if (row[i].error) {
            assert_string_equal(t.error, row[i].error);
        } else {
            assert_null(t.error);
            assert_int_equal(n, 1);
            assert_memory_equal(e.at, "abc", 3);
            assert_int_equal(e.n, 3);
        }
        tn_buf_deinit(&b);
    }
}

static void pax_records(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *error;
        size_t n;
    } row[] = {
        {"20 mtime=1700000.25\n12 path=abc\n", "abc", NULL, 3},
        {"9 path=q\n12 size=  2\n", NULL, "a malformed pax size", 0},
        {"9 size=2\n", "x", NULL, 2},
        {"16 size=9999999\n", NULL, "the archive is cut short", 0},
        {"24 GNU.sparse.name=sparse\n", NULL, "a malformed pax record", 0},
        {"26 GNU.sparse.name=sparse\n", NULL, "sparse files are not supported", 0},
        {"8 path=\n", NULL, "an entry has no valid name", 0},
        {"12 path=a\0c\n", NULL, "an entry has no valid name", 0},
        {"99 path=x\n", NULL, "a malformed pax record", 0},
        {"x path=x\n", NULL, "a malformed pax record", 0},
        {"5 ab\n", NULL, "a malformed pax record", 0},
        {"4 =\n", NULL, "a malformed pax record", 0},
        {"0 a=b\n", NULL, "a malformed pax record", 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_buf b = {0};
        size_t text_n = strlen(row[i].text);
        text_n = row[i].text[text_n - 1] == '\n' ? text_n : 12; /* the row with a NUL */
        tn_tar_add(&b, "PaxHeader", row[i].text, text_n, 0);
        b.at[156] = 'x';
        seal(b.at);
        tn_tar_add(&b, "x", "abc", 3, 0);
        tn_tar_end(&b);
        tn_tar t = tn_tar_open(b.at, b.n);
        tn_tar_entry e;
        if (row[i].error) {
            assert_int_equal(tn_tar_next(&t, &e), 0);
            assert_string_equal(t.error, row[i].error);
        } else {
            assert_int_equal(tn_tar_next(&t, &e), 1);
            assert_int_equal(e.name_n, strlen(row[i].name));
            assert_memory_equal(e.name, row[i].name, e.name_n);
            assert_int_equal(e.n, row[i].n);
            assert_int_equal(tn_tar_next(&t, &e), 0);
            assert_null(t.error);
        }
        tn_buf_deinit(&b);
    }
}

static void same_name_twice(void **state)
{
    (void)state;
    tn_buf b = {0};
    tn_tar_add(&b, "a", "1", 1, 0);
    tn_tar_add(&b, "./a", "2", 1, 0);
    tn_tar_add(&b, "./b", "3", 1, 0);
    tn_tar_end(&b);
    tn_tar_entry e;
    const char *error;
    assert_int_equal(tn_tar_find(b.at, b.n, "a", &e, &error), 0);
    assert_string_equal(error, "the archive contains the same name twice");
    assert_int_equal(tn_tar_find(b.at, b.n, "b", &e, &error), 1);
    assert_memory_equal(e.at, "3", 1);
    tn_buf_deinit(&b);
}

/* tar(1) lists what we wrote, and we read what it writes in its three formats. */
static void agrees_with_tar(void **state)
{
    (void)state;
    if (system("command -v tar >/dev/null 2>&1") != 0)
        skip();
    char dir[] = "tn-tar-XXXXXX", command[512], line[512];
    assert_non_null(mkdtemp(dir));
    tn_ctx c;
    tn_ctx_init(&c);
    tn_buf b = {0};
    tn_tar_add(&b, "mod.json", "{}", 2, 1000000000);
    tn_tar_add(&b, long_name, "abc", 3, 1000000000);
    tn_tar_end(&b);
    snprintf(command, sizeof command, "%s/ours.tar", dir);
    assert_int_equal(tn_file_write(&c, command, b.at, b.n), TN_OK);
    snprintf(command, sizeof command, "cd %s && TZ=UTC tar --full-time -tvf ours.tar", dir);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_non_null(fgets(line, sizeof line, p));
    assert_string_equal(line, "-rw-r--r-- 0/0               2 2001-09-09 01:46:40 mod.json\n");
    assert_non_null(fgets(line, sizeof line, p));
    assert_non_null(strstr(line, long_name));
    assert_int_equal(pclose(p), 0);
    tn_buf_deinit(&b);

    static const char *const format[] = {"gnu", "pax", "ustar"};
    for (size_t i = 0; i < 3; i++) {
        /* the ustar format splits long names in two, which the reader refuses */
        const char *name = i == 2 ? "deep/short" : long_name;
        snprintf(
            command, sizeof command,
            "cd %s && mkdir -p t/$(dirname %s) && printf hello > t/%s && tar --format=%s -C t -cf t.tar .",
            dir, name, name, format[i]);
        assert_int_equal(system(command), 0);
        snprintf(command, sizeof command, "%s/t.tar", dir);
        tn_file f;
        assert_int_equal(tn_file_map(&c, command, &f), TN_OK);
        tn_tar_entry e;
        const char *error;
        assert_int_equal(tn_tar_find(f.at, f.n, name, &e, &error), 1);
        assert_int_equal(e.n, 5);
        assert_memory_equal(e.at, "hello", 5);
        tn_file_unmap(&f);
        snprintf(command, sizeof command, "rm -r %s/t", dir);
        assert_int_equal(system(command), 0);
    }
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    tn_ctx_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),  cmocka_unit_test(cut_anywhere),    cmocka_unit_test(headers),
        cmocka_unit_test(pax_records), cmocka_unit_test(same_name_twice), cmocka_unit_test(agrees_with_tar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
