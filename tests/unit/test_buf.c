/* base/buf: building text, and reals that read back. */
#include "base/buf.h"
#include "base/rng.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void builds_text(void **state)
{
    (void)state;
    tn_buf b = {0};
    assert_string_equal(tn_buf_cstr(&b), "");
    tn_buf_add(&b, NULL, 0);
    assert_string_equal(b.at, "");
    tn_buf_str(&b, "ab");
    tn_buf_char(&b, 'c');
    tn_buf_fill(&b, '.', 3);
    tn_buf_fill(&b, '.', 0);
    tn_buf_printf(&b, "%d", 7);
    assert_string_equal(tn_buf_cstr(&b), "abc...7");
    assert_int_equal(b.n, 7);
    tn_buf_clear(&b);
    assert_string_equal(tn_buf_cstr(&b), "");
    for (int i = 0; i < 1000; i++) {
        tn_buf_printf(&b, "%0*d", i % 200 + 1, i % 10);
        assert_int_equal(strlen(b.at), b.n);
    }
    tn_buf_deinit(&b);
    assert_null(b.at);
}

static void little_endian(void **state)
{
    (void)state;
    static const uint8_t want[] = {4, 3, 2, 1, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 1};
    tn_buf b = {0};
    tn_buf_u32le(&b, 0x01020304);
    tn_buf_u64le(&b, 0x0123456789abcdef);
    assert_int_equal(b.n, sizeof want);
    assert_memory_equal(b.at, want, sizeof want);
    tn_buf_deinit(&b);
}

static void reals_known(void **state)
{
    (void)state;
    static const struct {
        double v;
        int single;
        const char *text;
    } row[] = {
        {0, 0, "0"},
        {-0.0, 0, "-0"},
        {1, 1, "1"},
        {0.1, 0, "0.1"},
        {(double)0.1f, 1, "0.1"},
        {1e300, 0, "1e+300"},
        {1.0 / 3, 0, "0.3333333333333333"},
        {(double)(1.0f / 3), 1, "0.33333334"},
        {DBL_MAX, 0, "1.7976931348623157e+308"},
        {5e-324, 0, "5e-324"},
        {(double)INFINITY, 0, "inf"},
        {-(double)INFINITY, 1, "-inf"},
        {(double)NAN, 0, "nan"},
        {-2.5, 0, "-2.5"},
        {123456789, 0, "123456789"},
        {0x1p-149, 1, "1e-45"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_buf b = {0};
        tn_buf_real(&b, row[i].v, row[i].single);
        assert_string_equal(tn_buf_cstr(&b), row[i].text);
        tn_buf_deinit(&b);
    }
}

/* Every bit pattern must come back; random ones, doubles and floats, subnormals included. */
static void reals_read_back(void **state)
{
    (void)state;
    tn_rng r = {1};
    tn_buf b = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = tn_rng_next(&r), mask = i % 4 ? ~(uint64_t)0 : 0x800fffffffffffffu;
        double v, back;
        float f, fback;
        bits &= mask;
        memcpy(&v, &bits, sizeof v);
        uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, sizeof f);
        if (!isfinite(v) || !isfinite(f))
            continue;
        tn_buf_clear(&b);
        tn_buf_real(&b, v, 0);
        back = strtod(b.at, NULL);
        assert_memory_equal(&back, &v, sizeof v);
        tn_buf_clear(&b);
        tn_buf_real(&b, (double)f, 1);
        fback = strtof(b.at, NULL);
        assert_memory_equal(&fback, &f, sizeof f);
    }
    tn_buf_deinit(&b);
}

static void reals_ignore_the_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip(); /* no such locale installed */
    tn_buf b = {0};
    tn_buf_real(&b, 0.5, 0);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(b.at, "0.5");
    tn_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_text),
        cmocka_unit_test(little_endian),
        cmocka_unit_test(reals_known),
        cmocka_unit_test(reals_read_back),
        cmocka_unit_test(reals_ignore_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
