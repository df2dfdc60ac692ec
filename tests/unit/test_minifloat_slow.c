/* Compiled conversions to each float below 32 bits give the nearest value by definition: of all float32. */
#include "tenon/tenon.h"

#include "minifloat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNK = 1 << 20 };

/* first[i]: the bits of the least float that becomes encoding i; of i = n the least that is too large */
typedef struct steps {
    const definition *d;
    int n;
    uint32_t first[(1 << 16) + 1];
    bool is_nan[1 << 16];
} steps;

static void find_steps(const definition *d, steps *s)
{
    static double value[1 << 16];
    *s = (steps){.d = d, .n = positive(d, value)};
    for (int b = 0; b < 1 << d->t.bits; b++)
        s->is_nan[b] = isnan(defined(d, b));
    for (int i = 1; i <= s->n; i++) {
        double low = value[i - 1];
        double next = i < s->n ? value[i] : d->kind == POWER ? 2 * low : 2 * low - value[i - 2];
        float mid = (float)(low + (next - low) / 2);
        memcpy(&s->first[i], &mid, sizeof mid);
        s->first[i] += d->kind != POWER && i % 2;
    }
}

/* The encoding of what is above the largest number, or -1 for NaN. */
static int above(const steps *s) { return s->d->inf ? s->d->inf : isnan(too_large(s->d, 0)) ? -1 : s->n - 1; }

/* The encoding of the float with these bits, or -1 for NaN; *i follows its magnitude. */
static int expected(const steps *s, uint32_t bits, int *i)
{
    uint32_t m = bits & 0x7fffffff;
    int sign = bits >> 31 ? 1 << (s->d->exp + s->d->man) : 0;
    bool without = !s->d->nan && s->d->kind == SIGNED;
    if (m > 0x7f800000)
        return without ? 1 << (s->d->exp + s->d->man) : -1;
    if (s->d->kind == POWER && (sign || m == 0 || m == 0x7f800000))
        return -1;
    while (*i < s->n && m >= s->first[*i + 1])
        ++*i;
    int e = *i == s->n ? above(s) : *i;
    return e < 0 || (e == 0 && s->d->kind == FNUZ) ? e : e | sign;
}

/* The magnitude after `m` from which on another encoding may be expected. */
static uint32_t next_step(const steps *s, uint32_t m, int i)
{
    if (m == 0)
        return 1;
    if (i < s->n && m < s->first[i + 1] && s->first[i + 1] < 0x7f800000)
        return s->first[i + 1];
    return m < 0x7f800000 ? 0x7f800000 : m == 0x7f800000 ? 0x7f800001 : 0x80000000;
}

static void check_one(const steps *s, uint32_t bits, int got, int want)
{
    if (want < 0 ? !s->is_nan[got] : got != want)
        fail_msg("0x%08x becomes 0x%x of type %d instead of 0x%x", bits, (unsigned)got, s->d->t.code,
                 (unsigned)want);
}

static int element(const steps *s, const char *out, uint32_t k)
{
    return s->d->t.bits == 16 ? ((const uint16_t *)out)[k] : ((const uint8_t *)out)[k];
}

/* Whole steps at a time: all their elements are equal where each is equal to the one before it. */
static void check_chunk(const steps *s, uint32_t base, const char *out, int *at)
{
    size_t bytes = s->d->t.bits == 16 ? 2 : 1;
    for (uint32_t k = 0, end; k < CHUNK; k = end) {
        int want = expected(s, base + k, at);
        uint32_t m = (base + k) & 0x7fffffff, n = next_step(s, m, *at) - m;
        end = n < CHUNK - k ? k + n : CHUNK;
        check_one(s, base + k, element(s, out, k), want);
        if (want >= 0 && !memcmp(out + k * bytes, out + (k + 1) * bytes, (end - k - 1) * bytes))
            continue;
        for (uint32_t j = k; j < end; j++)
            check_one(s, base + j, element(s, out, j), want);
    }
}

static void check_all(const steps *s, tnr_instance *x)
{
    static uint32_t in[CHUNK];
    int64_t shape[] = {CHUNK};
    tnr_error err;
    DLTensor t = {.data = in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape},
             out;
    int at = 0;
    for (uint64_t base = 0; base < UINT64_C(1) << 32; base += CHUNK) {
        at = base == UINT64_C(1) << 31 ? 0 : at;
        for (uint32_t k = 0; k < CHUNK; k++)
            in[k] = (uint32_t)base + k;
        assert_int_equal(tnr_set_input_at(x, 0, &t, &err), TNR_OK);
        assert_int_equal(tnr_run(x, &err), TNR_OK);
        assert_int_equal(tnr_get_output_at(x, 0, &out, &err), TNR_OK);
        check_chunk(s, (uint32_t)base, out.data, &at);
    }
}

static void every_float_rounds_to_nearest(void **state)
{
    static steps s;
    (void)state;
    for (int k = 0; k < N_ALL; k++) {
        char text[200];
        tn_buf name = {0};
        tnr_error err;
        tnr_module *code;
        tnr_instance *x;
        tenon *t = tenon_new();
        tn_dtype_print(all[k].t, false, &name);
        snprintf(text, sizeof text, "def @main(%%x: Tensor[(%d), float32]) { cast(%%x, dtype=\"%s\") }",
                 CHUNK, tn_buf_cstr(&name));
        tn_buf_deinit(&name);
        find_steps(&all[k], &s);
        assert_int_equal(tenon_build_here(tenon_module_parse(t, text, NULL, 0), NULL, &code, NULL), 0);
        assert_int_equal(tnr_instance_new(code, NULL, &x, &err), TNR_OK);
        check_all(&s, x);
        tnr_instance_free(x);
        tnr_module_release(code);
        tenon_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_float_rounds_to_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
