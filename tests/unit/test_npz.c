/* cli/npz: archives that NumPy wrote (tests/cli/npz), our own, and damaged ones. */
#include "cli/args.h"
#include "cli/npz.h"
#include "cli/zip.h"
#include "tenon/dlpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <cmocka.h>

static const char *fixture(const char *name, char path[1024])
{
    const char *root = getenv("TENON_SOURCE_DIR");
    snprintf(path, 1024, "%s/tests/cli/npz/%s", root ? root : ".", name);
    return path;
}

/* Opens with stderr in `said`. */
static int open_quietly(const char *path, tn_npz **z, char said[1024])
{
    int keep = dup(2);
    FILE *f = tmpfile();
    dup2(fileno(f), 2);
    int status = tn_npz_open(path, z);
    void *data = NULL;
    for (int i = 0; status == TN_EXIT_OK && i < tn_npz_count(*z);
         i++) { /* what opens may still hold damaged data */
        status = tn_npz_read(*z, i, &data);
        free(data);
    }
    fflush(stderr);
    dup2(keep, 2);
    close(keep);
    rewind(f);
    said[fread(said, 1, 1023, f)] = 0;
    fclose(f);
    return status;
}

static const tn_array *find(const tn_npz *z, const char *name, int *out_i)
{
    for (*out_i = 0; *out_i < tn_npz_count(z); ++*out_i)
        if (strcmp(tn_npz_at(z, *out_i)->name, name) == 0)
            return tn_npz_at(z, *out_i);
    fail_msg("no array %s", name);
    return NULL;
}

// clang-format off
static const struct { const char *name; uint8_t code, bits; const char *bytes; } kinds[] = {
    {"a_float16", kDLFloat, 16, "\0\0\0\x3c\0\x40\0\x42\0\x44\0\x45"},
    {"a_float32", kDLFloat, 32, "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40"},
    {"a_int8", kDLInt, 8, "\0\1\2\3\4\5"},
    {"a_int16", kDLInt, 16, "\0\0\1\0\2\0\3\0\4\0\5"},
    {"a_int32", kDLInt, 32, "\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0"},
    {"a_uint8", kDLUInt, 8, "\0\1\2\3\4\5"},
    {"a_uint16", kDLUInt, 16, "\0\0\1\0\2\0\3\0\4\0\5"},
    {"a_uint32", kDLUInt, 32, "\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0"},
    {"a_bool", kDLBool, 8, "\0\1\1\1\1\1"},
    {"a_float64", kDLFloat, 64, NULL}, {"a_int64", kDLInt, 64, NULL}, {"a_uint64", kDLUInt, 64, NULL},
};
// clang-format on

static void check_kinds(tn_npz *z)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int i;
        void *data;
        const tn_array *a = find(z, kinds[k].name, &i);
        assert_int_equal(a->type.code, kinds[k].code);
        assert_int_equal(a->type.bits, kinds[k].bits);
        assert_int_equal(a->type.ndim, 2);
        assert_int_equal(a->type.shape[0], 2);
        assert_int_equal(a->type.shape[1], 3);
        assert_int_equal(tn_npz_read(z, i, &data), TN_EXIT_OK);
        assert_int_equal((uintptr_t)data % 64, 0);
        if (kinds[k].bytes)
            assert_memory_equal(data, kinds[k].bytes, a->type.data_bytes);
        else if (kinds[k].code == kDLFloat)
            assert_true(((double *)data)[5] == 5.0);
        else
            assert_int_equal(((int64_t *)data)[5], 5);
        free(data);
    }
}

static void test_numpy_stored(void **state)
{
    char path[1024];
    tn_npz *z;
    void *data;
    int i;
    (void)state;
    assert_int_equal(tn_npz_open(fixture("every.npz", path), &z), TN_EXIT_OK);
    check_kinds(z);
    assert_int_equal(find(z, "scalar", &i)->type.ndim, 0);
    assert_int_equal(tn_npz_read(z, i, &data), TN_EXIT_OK);
    assert_true(*(float *)data == 2.5f);
    free(data);
    assert_int_equal(find(z, "empty", &i)->type.data_bytes, 0);
    assert_int_equal(tn_npz_read(z, i, &data), TN_EXIT_OK);
    free(data);
    tn_npz_free(z);
}

static void test_numpy_deflated(void **state)
{
    char path[1024];
    tn_npz *z;
    void *data;
    int i;
    (void)state;
    assert_int_equal(tn_npz_open(fixture("deflated.npz", path), &z), TN_EXIT_OK);
    check_kinds(z);
    find(z, "ramp", &i);
    assert_int_equal(tn_npz_read(z, i, &data), TN_EXIT_OK);
    for (int k = 0; k < 4096; k++)
        assert_true(((float *)data)[k] == (float)k);
    free(data);
    tn_npz_free(z);
}

static void test_refused(void **state)
{
    // clang-format off
    static const struct { const char *file, *says; } rows[] = {
        {"big_endian.npz", "x.npy: big-endian element type '>f4' is not supported"},
        {"text.npz", "x: texts are not supported here; save it as numbers"},
        {"make.py", "is a text file, not an .npz archive"},
        {"absent.npz", "cannot read it as .npz: No such file"},
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[1024], said[1024];
        tn_npz *z;
        assert_int_equal(open_quietly(fixture(rows[i].file, path), &z, said), TN_EXIT_ERROR);
        if (!strstr(said, rows[i].says))
            fail_msg("%s: %s", rows[i].file, said);
        tn_npz_free(z);
    }
}

/* ---- our own ---- */

static size_t read_all(const char *path, char **out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    *out = malloc(1 << 20);
    size_t n = fread(*out, 1, 1 << 20, f);
    fclose(f);
    return n;
}

static void write_all(const char *path, const char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    fclose(f);
}

static int write_arrays(const char *path, int n, const tn_array array[])
{
    tn_npz_out *z;
    int status = tn_npz_create(path, &z);
    for (int i = 0; i < n && status == TN_EXIT_OK; i++)
        status = tn_npz_add(z, &array[i]);
    return tn_npz_close(z, status);
}

static void write_two(const char *path)
{
    float x[4] = {1, -2, 3, -4};
    int64_t y[1] = {-5};
    tn_array a[2] = {
        {"output_0",
         {.code = kDLFloat, .bits = 32, .ndim = 2, .shape = {1, 4}, .data_bytes = sizeof x},
         x,
         true},
        {"output_1", {.code = kDLInt, .bits = 64, .ndim = 0, .data_bytes = sizeof y}, y, true},
    };
    assert_int_equal(write_arrays(path, 2, a), TN_EXIT_OK);
}

/* The same arrays make the same bytes: no time of day, no names of machines. */
static void test_bytes(void **state)
{
    char *a, *b;
    (void)state;
    write_two("test_npz.npz");
    size_t n = read_all("test_npz.npz", &a);
    write_two("test_npz.npz");
    assert_int_equal(read_all("test_npz.npz", &b), n);
    assert_memory_equal(a, b, n);
    assert_memory_equal(a, "PK\3\4", 4);
    assert_memory_equal(a + 8, "\0\0\0\0\x21\0", 6); /* stored; 1 January 1980, 00:00 */
    free(a);
    free(b);
    remove("test_npz.npz");
}

static void test_round_trip(void **state)
{
    tn_npz *z;
    int i;
    void *data;
    (void)state;
    write_two("test_npz.npz");
    assert_int_equal(tn_npz_open("test_npz.npz", &z), TN_EXIT_OK);
    assert_int_equal(tn_npz_count(z), 2);
    assert_int_equal(find(z, "output_0", &i)->type.shape[1], 4);
    assert_int_equal(tn_npz_read(z, i, &data), TN_EXIT_OK);
    assert_true(((float *)data)[3] == -4);
    free(data);
    find(z, "output_1", &i);
    assert_int_equal(tn_npz_read(z, i, &data), TN_EXIT_OK);
    assert_int_equal(*(int64_t *)data, -5);
    free(data);
    tn_npz_free(z);
    remove("test_npz.npz");
}

/* Every byte of a good file, changed: opened and read, or refused; never more. A change of the data is always seen. */
static void test_damaged(void **state)
{
    char *at, said[1024];
    int refused = 0;
    (void)state;
    write_two("test_npz.npz");
    size_t n = read_all("test_npz.npz", &at);
    for (size_t i = 0; i < n; i++) {
        tn_npz *z = NULL;
        at[i] ^= 0x55;
        write_all("test_npz.npz", at, n);
        at[i] ^= 0x55;
        int status = open_quietly("test_npz.npz", &z, said);
        assert_true(status == TN_EXIT_OK || *said);
        refused += status != TN_EXIT_OK;
        tn_npz_free(z);
    }
    assert_true(refused > 2 * 128); /* both headers of 128 bytes and the data behind them are under a CRC */
    for (size_t k = 0; k < n; k += 7) {
        tn_npz *z = NULL;
        write_all("test_npz.npz", at, k);
        assert_int_equal(open_quietly("test_npz.npz", &z, said), TN_EXIT_ERROR);
        tn_npz_free(z);
    }
    free(at);
    remove("test_npz.npz");
}

/* More entries than the short directory can count, and pieces: another program's reader agrees. */
static void test_zip(void **state)
{
    enum { MANY = 70000 };
    char name[16], text[8] = "";
    int err;
    (void)state;
    tn_output to;
    assert_int_equal(tn_output_open(&to, "test_npz.zip"), 0);
    tn_zip *z = tn_zip_new(&to);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(tn_zip_add(z, name, 2, (tn_zip_piece[]){{"ab", 2}, {name, strlen(name)}}), 0);
    }
    tn_zip_end(z);
    assert_int_equal(tn_outputs_close(1, (tn_output *const[]){&to}, true), 0);
    zip_t *in = zip_open("test_npz.zip", ZIP_RDONLY | ZIP_CHECKCONS, &err);
    assert_non_null(in);
    assert_int_equal(zip_get_num_entries(in, 0), MANY);
    zip_file_t *f = zip_fopen(in, "69999", 0);
    assert_non_null(f);
    assert_int_equal(zip_fread(f, text, sizeof text), 7); /* its checksum is compared at the end */
    assert_string_equal(text, "ab69999");
    assert_int_equal(zip_fclose(f), 0);
    zip_discard(in);
    remove("test_npz.zip");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_numpy_stored),
        cmocka_unit_test(test_numpy_deflated),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged),
    };
    setenv("NO_COLOR", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
