/* cli/feed: made-up inputs, and outputs as NumPy has them. */
#include "cli/feed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 20000 };

static double half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double bfloat_value(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* Floats of 16 bits are the nearest to the double of the same seed. */
static void test_floats(void **state)
{
    static double d[N];
    static float f[N];
    static uint16_t h[N], b[N];
    double sum = 0, low = 1, high = -1;
    (void)state;
    assert_int_equal(tn_fill(d, (DLDataType){kDLFloat, 64, 1}, N, "random", 3), 0);
    assert_int_equal(tn_fill(f, (DLDataType){kDLFloat, 32, 1}, N, "random", 3), 0);
    assert_int_equal(tn_fill(h, (DLDataType){kDLFloat, 16, 1}, N, "random", 3), 0);
    assert_int_equal(tn_fill(b, (DLDataType){kDLBfloat, 16, 1}, N, "random", 3), 0);
    for (int i = 0; i < N; i++) {
        sum += d[i];
        low = fmin(low, d[i]);
        high = fmax(high, d[i]);
        assert_true(f[i] == (float)d[i]);
        assert_true(fabs(half_value(h[i]) - d[i]) <= fmax(fabs(d[i]) * 0x1p-11, 0x1p-25));
        assert_true(fabs(bfloat_value(b[i]) - d[i]) <= fabs(d[i]) * 0x1.01p-8);
    }
    assert_true(low > -1.0001 && low < -0.99 && high < 1 && high > 0.99 && fabs(sum / N) < 0.02);
}

static void test_bytes(void **state)
{
    static uint8_t u[N];
    static int8_t s[N];
    int seen[256] = {0};
    (void)state;
    tn_fill(u, (DLDataType){kDLUInt, 8, 1}, N, "random", 1);
    tn_fill(s, (DLDataType){kDLInt, 8, 1}, N, "random", 1);
    for (int i = 0; i < N; i++) {
        assert_int_equal(u[i], s[i]);
        seen[u[i]]++;
    }
    for (int v = 0; v < 256; v++)
        assert_true(v < 128 ? seen[v] > N / 128 / 2 : seen[v] == 0);
}

/* Every type takes zeros and ones; what NumPy lacks besides bfloat16 is refused. */
static void test_constants(void **state)
{
    // clang-format off
    static const struct { DLDataType type; size_t bytes; const char *one; } rows[] = {
        {{kDLFloat, 16, 1}, 2, "\0\x3c"},
        {{kDLFloat, 32, 1}, 4, "\0\0\x80\x3f"},
        {{kDLFloat, 64, 1}, 8, "\0\0\0\0\0\0\xf0\x3f"},
        {{kDLBfloat, 16, 1}, 2, "\x80\x3f"},
        {{kDLInt, 8, 1}, 1, "\1"},
        {{kDLInt, 16, 1}, 2, "\1\0"},
        {{kDLInt, 32, 1}, 4, "\1\0\0\0"},
        {{kDLInt, 64, 1}, 8, "\1\0\0\0\0\0\0\0"},
        {{kDLUInt, 8, 1}, 1, "\1"},
        {{kDLUInt, 1, 1}, 1, "\1"},
        {{kDLBool, 8, 1}, 1, "\1"},
        {{kDLInt, 4, 1}, 1, "\1"},
        {{kDLFloat, 8, 1}, 1, NULL},
        {{kDLFloat, 32, 4}, 0, NULL},
        {{kDLComplex, 64, 1}, 8, "\0\0\x80\x3f\0\0\0\0"},
        {{kDLComplex, 128, 1}, 16, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0"},
        {{kDLComplex, 32, 1}, 4, NULL},
        {{kDLOpaqueHandle, 64, 1}, 8, NULL},
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char one[16], zero[16], none[16] = {0};
        assert_int_equal(tn_element_bytes(rows[i].type), rows[i].bytes);
        assert_int_equal(tn_fill(one, rows[i].type, 1, "ones", 0), rows[i].one == NULL);
        assert_int_equal(tn_fill(zero, rows[i].type, 1, "zeros", 0), rows[i].one == NULL);
        if (!rows[i].one)
            continue;
        assert_memory_equal(one, rows[i].one, rows[i].bytes);
        assert_memory_equal(zero, none, rows[i].bytes);
    }
}

static void test_outputs(void **state)
{
    uint16_t brain[3] = {0, 0x3f80, 0xc040}; /* the first lies before byte_offset */
    uint8_t truth[2] = {1, 0};
    int64_t shape[1] = {2};
    DLTensor t = {.data = brain, .ndim = 1, .dtype = {kDLBfloat, 16, 1}, .shape = shape, .byte_offset = 2};
    tn_array a;
    (void)state;
    assert_int_equal(tn_array_of("x", &t, &a), 0);
    assert_int_equal(a.type.code, kDLFloat);
    assert_int_equal(a.type.bits, 32);
    assert_true(((float *)a.data)[0] == 1.0f && ((float *)a.data)[1] == -3.0f);
    tn_array_drop(&a);
    t = (DLTensor){.data = truth, .ndim = 1, .dtype = {kDLUInt, 1, 1}, .shape = shape};
    assert_int_equal(tn_array_of("x", &t, &a), 0);
    assert_int_equal(a.type.code, kDLBool);
    assert_int_equal(a.type.bits, 8);
    assert_int_equal(a.type.data_bytes, 2);
    assert_memory_equal(a.data, truth, 2);
    tn_array_drop(&a);
}

static void test_text(void **state)
{
    static const int64_t shape[] = {-1, 3, -1};
    static const char *const symbol[] = {"n", NULL, "?"};
    char text[512];
    tnr_tensor_info info = {.dtype = {kDLFloat, 32, 1}, .ndim = 3, .shape = shape, .symbol = symbol};
    (void)state;
    assert_string_equal(tn_info_text(&info, text), "float32[n, 3, ?]");
    info.symbol = NULL;
    assert_string_equal(tn_info_text(&info, text), "float32[?, 3, ?]");
    assert_string_equal(tn_tensor_text((DLDataType){kDLUInt, 1, 1}, 0, shape, text), "bool[]");
    int64_t many[TN_NPY_DIMS];
    for (int d = 0; d < TN_NPY_DIMS; d++)
        many[d] = INT64_MAX;
    assert_true(strlen(tn_tensor_text(info.dtype, TN_NPY_DIMS, many, text)) < 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),  cmocka_unit_test(test_bytes), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_outputs), cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
