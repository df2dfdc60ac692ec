/* ir/dtype: names both ways, and what is no name. */
#include "ir/dtype.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    tn_dtype t;
    const char *long_name, *short_name;
} rows[] = {
    {{TN_FLOAT, 32, 1}, "float32", "f32"},
    {{TN_FLOAT, 16, 8}, "float16x8", "f16x8"},
    {{TN_FLOAT, 64, 1}, "float64", "f64"},
    {{TN_BFLOAT, 16, 1}, "bfloat16", "bf16"},
    {{TN_COMPLEX, 64, 1}, "complex64", "c64"},
    {{TN_COMPLEX, 128, 1}, "complex128", "c128"},
    {{TN_INT, 8, 64}, "int8x64", "i8x64"},
    {{TN_INT, 64, 1}, "int64", "i64"},
    {{TN_UINT, 8, 1}, "uint8", "u8"},
    {{TN_UINT, 32, 4}, "uint32x4", "u32x4"},
    {{TN_BOOL, 8, 1}, "bool", "bool"},
    {{TN_BOOL, 8, 16}, "boolx16", "boolx16"},
    {{TN_INDEX, 64, 1}, "index", "index"},
    {{TN_INDEX, 64, 4}, "indexx4", "indexx4"},
    {{TN_HANDLE, 64, 1}, "handle", "handle"},
    {{TN_INT, 8, 4}, "int8x4", "i8x4"},
    {{TN_UINT, 8, 1}, "uint8", "u8"},
    {{TN_FLOAT, 32, 65535}, "float32x65535", "f32x65535"},
    {{TN_INT, 4, 1}, "int4", "i4"},
    {{TN_UINT, 2, 8}, "uint2x8", "u2x8"},
    {{TN_FLOAT8_E4M3FN, 8, 1}, "float8_e4m3fn", "f8e4m3fn"},
    {{TN_FLOAT8_E4M3, 8, 4}, "float8_e4m3x4", "f8e4m3x4"},
    {{TN_FLOAT8_E8M0FNU, 8, 1}, "float8_e8m0fnu", "f8e8m0fnu"},
    {{TN_FLOAT4_E2M1FN, 4, 1}, "float4_e2m1fn", "f4e2m1fn"},
};

static void names_go_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_buf b = {0};
        tn_dtype t = {0};
        tn_dtype_print(rows[i].t, false, &b);
        assert_string_equal(b.at, rows[i].long_name);
        assert_true(tn_dtype_parse(b.at, b.n, &t) && tn_dtype_eq(t, rows[i].t));
        tn_buf_clear(&b);
        tn_dtype_print(rows[i].t, true, &b);
        assert_string_equal(b.at, rows[i].short_name);
        memset(&t, 0, sizeof t);
        assert_true(tn_dtype_parse(b.at, b.n, &t) && tn_dtype_eq(t, rows[i].t));
        tn_buf_deinit(&b);
    }
}

static void other_text_is_no_dtype(void **state)
{
    static const char *const bad[] = {
        "",        "f",    "float",     "f8",         "f33",  "f128",         "i3",    "i0",
        "i65",     "bf32", "bool8",     "index64",    "f32x", "f32x0",        "f32x1", "f32x65536",
        "f32x4x4", "f032", "f32 ",      " f32",       "F32",  "i99999999999", "x4",    "int1",
        "uint1",   "c32",  "complex",   "i128",       "u128", "c256",         "i6",    "f8e4m3x",
        "float8",  "f8e4", "f8e4m3fnu", "float4_e2m1"};
    tn_dtype t = {7, 7, 7};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tn_dtype_parse(bad[i], strlen(bad[i]), &t))
            fail_msg("\"%s\" was read", bad[i]);
    assert_int_equal(t.code, 7);
}

static void sizes_count_lanes(void **state)
{
    (void)state;
    assert_int_equal(tn_dtype_bytes(TN_F32), 4);
    assert_int_equal(tn_dtype_bytes((tn_dtype){TN_FLOAT, 16, 8}), 16);
    assert_int_equal(tn_dtype_bytes((tn_dtype){TN_INT, 4, 1}), 1);
    assert_int_equal(tn_dtype_bytes((tn_dtype){TN_FLOAT, 64, 65535}), 524280);
}

static void floats_have_ends(void **state)
{
    (void)state;
    assert_true(tn_dtype_largest(TN_F16) == 65504 && tn_dtype_smallest(TN_F16) == 1.0 / 16384);
    assert_true(tn_dtype_largest(TN_F32) == FLT_MAX && tn_dtype_smallest(TN_F32) == FLT_MIN);
    assert_true(tn_dtype_largest(TN_DT(TN_BFLOAT, 16)) == 0x1.fep127);
    assert_true(tn_dtype_largest(TN_F64) == DBL_MAX && tn_dtype_smallest(TN_F64) == DBL_MIN);
    assert_true(tn_dtype_largest(TN_DT(TN_FLOAT8_E4M3FN, 8)) == 448);
    assert_true(tn_dtype_largest(TN_DT(TN_FLOAT8_E4M3FNUZ, 8)) == 240);
    assert_true(tn_dtype_largest(TN_DT(TN_FLOAT8_E5M2, 8)) == 57344);
    assert_true(tn_dtype_largest(TN_DT(TN_FLOAT8_E8M0FNU, 8)) == 0x1p127);
    assert_true(tn_dtype_largest(TN_DT(TN_FLOAT4_E2M1FN, 4)) == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(other_text_is_no_dtype),
        cmocka_unit_test(sizes_count_lanes),
        cmocka_unit_test(floats_have_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
