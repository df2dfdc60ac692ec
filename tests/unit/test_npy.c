/* base/wire/npy: headers read, refused by name, and written. */
#include "base/wire/npy.h"
#include "tenon/dlpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A header of the version with `dict` as it is; returns its length. */
static size_t build(char out[4096], int version, const char *dict)
{
    size_t n = strlen(dict), start = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    out[8] = (char)(n & 255);
    out[9] = (char)(n >> 8 & 255);
    if (version > 1)
        out[10] = out[11] = 0;
    memcpy(out + start, dict, n);
    return start + n;
}

typedef struct {
    const char *dict, *want; /* want: "code bits [shape] bytes", or what the refusal says */
} row;

#define DICT(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

// clang-format off
static const row rows[] = {
    {DICT("'<f4'", "False", "(1, 3, 224, 224)"), "2 32 [1,3,224,224] 602112"},
    {DICT("'<f2'", "False", "(3,)"), "2 16 [3] 6"},
    {DICT("'<f8'", "False", "()"), "2 64 [] 8"},
    {DICT("'|i1'", "False", "(0, 7)"), "0 8 [0,7] 0"},
    {DICT("'<i2'", "False", "(2,)"), "0 16 [2] 4"},
    {DICT("'<i4'", "False", "(2,)"), "0 32 [2] 8"},
    {DICT("'<i8'", "False", "(2,)"), "0 64 [2] 16"},
    {DICT("'|u1'", "False", "(2,)"), "1 8 [2] 2"},
    {DICT("'<u2'", "False", "(2,)"), "1 16 [2] 4"},
    {DICT("'=u4'", "False", "(2,)"), "1 32 [2] 8"},
    {DICT("'<u8'", "False", "(2,)"), "1 64 [2] 16"},
    {DICT("'|b1'", "False", "(2,)"), "6 8 [2] 2"},
    {DICT("'>u1'", "False", "(2,)"), "1 8 [2] 2"}, /* one byte has no order */
    {"{\"shape\":(5L,),\"descr\":\"<f4\",\"fortran_order\":False}  \n", "2 32 [5] 20"},
    {" { 'shape' : ( 5 , 6 ) , 'fortran_order' : False , 'descr' : '<f4' } ", "2 32 [5,6] 120"},
    {DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
     "2 32 [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] 4"},
    /* refused by name */
    {DICT("'<f4'", "True", "(2, 2)"), "2 32 [2,2] 16"},
    {DICT("'<f4'", "Maybe", "(2, 2)"), "header is damaged"},
    {DICT("'>f4'", "False", "(2,)"), "big-endian element type '>f4' is not supported"},
    {DICT("'<c8'", "False", "(2,)"), "5 64 [2] 16"},
    {DICT("'<c16'", "False", "(2,)"), "5 128 [2] 32"},
    {DICT("'>c16'", "False", "(2,)"), "big-endian element type '>c16' is not supported"},
    {DICT("'<c32'", "False", "(2,)"), "element type '<c32' is not supported"},
    {DICT("'<f08'", "False", "(2,)"), "element type '<f08' is not supported"},
    {DICT("'<U12'", "False", "(2,)"), "200 32 [2] 96"},
    {DICT("'<U0'", "False", "(2,)"), "element type '<U0' is not supported"},
    {DICT("'>U1'", "False", "(2,)"), "element type '>U1' is not supported"},
    {DICT("'|S5'", "False", "(2,)"), "element type '|S5' is not supported"},
    {DICT("'|O'", "False", "(2,)"), "element type '|O' is not supported"},
    {DICT("'|b4'", "False", "(2,)"), "element type '|b4' is not supported"},
    {DICT("'<i3'", "False", "(2,)"), "element type '<i3' is not supported"},
    {DICT("'\x01\xff#'", "False", "(2,)"), "element type '?""?#' is not supported"},
    {DICT("[('a', '<f4')]", "False", "(2,)"), "arrays of records are not supported"},
    {DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
     "more than 32 dimensions"},
    {DICT("'<f4'", "False", "(4294967296, 4294967296)"), "larger than memory can be"},
    {DICT("'<f4'", "False", "(4611686018427387904,)"), "larger than memory can be"},
    {DICT("'<f4'", "False", "(0, 9223372036854775807)"), "larger than memory can be"},
    /* damaged */
    {DICT("'<f4'", "False", "(9223372036854775808,)"), "header is damaged"},
    {DICT("'<f4'", "False", "(-1,)"), "header is damaged"},
    {DICT("'<f4'", "False", "(1 2)"), "header is damaged"},
    {DICT("'<f4'", "False", "(1,"), "header is damaged"},
    {DICT("'<f4'", "false", "(1,)"), "header is damaged"},
    {DICT("f4", "False", "(1,)"), "header is damaged"},
    {DICT("'<f4", "False", "(1,)"), "is not supported"}, /* the text goes on to the next quote */
    {"{'descr': '<f4', 'fortran_order': False}", "header is damaged"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "header is damaged"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", "header is damaged"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "header is damaged"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()", "header is damaged"},
    {"{", "header is damaged"},
    {"", "header is damaged"},
};
// clang-format on

static void show(const tn_npy *a, char out[512])
{
    int n = snprintf(out, 64, "%d %d [", a->code, a->bits);
    for (int d = 0; d < a->ndim; d++)
        n += snprintf(out + n, 32, "%s%lld", d ? "," : "", (long long)a->shape[d]);
    snprintf(out + n, 64, "] %zu", a->data_bytes);
}

/* The header lies at the end of its memory, so that a sanitizer sees a byte read too far. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int version = 1; version <= 3; version++) {
            char bytes[4096], text[128], got[512];
            const char *why = NULL;
            tn_npy a;
            size_t n = build(bytes, version, rows[i].dict);
            char *exact = malloc(n);
            memcpy(exact, bytes, n);
            int status = tn_npy_parse(exact, n, &a, text, &why);
            if (!status)
                show(&a, got);
            bool right = status ? strstr(why, rows[i].want) != NULL : strcmp(got, rows[i].want) == 0;
            if (!right)
                fail_msg("row %zu, version %d: %s; wanted %s", i, version, status ? why : got, rows[i].want);
            assert_true(status || a.header_bytes == n);
            free(exact);
        }
}

static void test_lengths(void **state)
{
    char bytes[4096];
    const char *why;
    (void)state;
    size_t n = build(bytes, 2, DICT("'<f4'", "False", "(1,)"));
    assert_int_equal(tn_npy_header_bytes(bytes, 12, &why), n);
    assert_int_equal(tn_npy_header_bytes(bytes, 11, &why), 0);
    bytes[10] = 1; /* 64 KiB more than there is */
    assert_int_equal(tn_npy_header_bytes(bytes, n, &why), 0);
    n = build(bytes, 1, DICT("'<f4'", "False", "(1,)"));
    assert_int_equal(tn_npy_header_bytes(bytes, 10, &why), n);
    assert_int_equal(tn_npy_header_bytes(bytes, 9, &why), 0);
    for (size_t k = 0; k < n; k++) { /* cut anywhere */
        tn_npy a;
        char text[128];
        assert_int_equal(tn_npy_parse(bytes, k, &a, text, &why), 1);
    }
    bytes[6] = 4;
    assert_int_equal(tn_npy_header_bytes(bytes, n, &why), 0);
    assert_string_equal(why, "a version of .npy that is not known");
    bytes[0] = 'x';
    assert_int_equal(tn_npy_header_bytes(bytes, n, &why), 0);
    assert_string_equal(why, "not an array in .npy format");
}

static void test_print(void **state)
{
    static const tn_npy array[] = {
        {.code = kDLFloat, .bits = 32, .ndim = 4, .shape = {1, 3, 224, 224}},
        {.code = kDLBool, .bits = 8, .ndim = 0},
        {.code = kDLUInt, .bits = 8, .ndim = 1, .shape = {7}},
        {.code = kDLInt, .bits = 64, .ndim = 2, .shape = {0, INT64_MAX / 8}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        char bytes[1024], text[128], want[512], got[512];
        const char *why;
        tn_npy back;
        size_t n = tn_npy_print(&array[i], bytes);
        assert_int_equal(n % 64, 0);
        assert_int_equal(bytes[n - 1], '\n');
        assert_int_equal(tn_npy_parse(bytes, n, &back, text, &why), 0);
        assert_int_equal(back.header_bytes, n);
        back.data_bytes = 0;
        show(&array[i], want);
        show(&back, got);
        assert_string_equal(got, want);
    }
}

/* What NumPy writes for numpy.zeros((1, 3), "f4"), to the byte. */
static void test_print_as_numpy(void **state)
{
    static const tn_npy array = {.code = kDLFloat, .bits = 32, .ndim = 2, .shape = {1, 3}};
    static const char want[] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
    char bytes[1024];
    (void)state;
    assert_int_equal(tn_npy_print(&array, bytes), 128);
    assert_memory_equal(bytes, want, sizeof want - 1);
    for (size_t i = sizeof want - 1; i < 127; i++)
        assert_int_equal(bytes[i], ' ');
}

/* Every element of a 2 x 3 x 2 array says its own index. */
static void column_major_becomes_row_major(void **state)
{
    (void)state;
    const tn_npy a = {
        .code = 0, .bits = 16, .column_major = 1, .ndim = 3, .shape = {2, 3, 2}, .data_bytes = 24};
    const int16_t in[12] = {0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121};
    int16_t out[12];
    tn_npy_row_major(&a, in, out);
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], i / 6 * 100 + i / 2 % 3 * 10 + i % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(column_major_becomes_row_major),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_as_numpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
