/* Floats below 32 bits: every encoding has the value that the format defines, and every conversion from float32 gives
 * the nearest of these values. The definitions and the search here share nothing with ir/eval.c. */
#include "ir/eval.h"

#include "minifloat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool alike(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static void encodings_have_their_values(void **state)
{
    (void)state;
    for (int k = 0; k < N_ALL; k++)
        for (int bits = 0; bits < 1 << all[k].t.bits; bits++) {
            uint16_t b = (uint16_t)bits, back = 0, dirty = (uint16_t)(bits | ~0u << all[k].t.bits);
            tn_scalar v = tn_scalar_read(all[k].t, &b);
            if (!alike(v.f, defined(&all[k], bits)))
                fail_msg("0x%x of type %d is %a", bits, all[k].t.code, v.f);
            tn_scalar_write(all[k].t, &back, v);
            assert_true(back == b || isnan(v.f));
            assert_true(alike(tn_scalar_read(all[k].t, &back).f, v.f));
            if (all[k].t.bits < 8) /* other bits of the byte say nothing */
                assert_true(alike(tn_scalar_read(all[k].t, &dirty).f, v.f));
        }
}

/* ---- conversions ---- */

/* The value nearest to x >= 0, given that value[i] <= x < value[i + 1] */
static double nearest(const definition *d, const double value[], int n, int i, double x)
{
    double low = value[i], high = i + 1 < n ? value[i + 1] : 2 * value[i] - value[i - (d->kind != POWER)];
    if (d->kind == POWER && i + 1 == n)
        high = 2 * low;
    bool up = x - low > high - x || (x - low == high - x && (d->kind == POWER || i % 2));
    return !up ? low : i + 1 < n ? high : too_large(d, low);
}

static void check(const definition *d, const double value[], int n, int i, float x)
{
    if (!(x >= value[i]) || (i + 1 < n && !(x < value[i + 1])) || isinf(x))
        return; /* a neighbour of the boundary that is not in this interval */
    double want = nearest(d, value, n, i, (double)x);
    double got = tn_eval_cast(TN_F32, d->t, (tn_scalar){.f = (double)x}).f;
    double minus = tn_eval_cast(TN_F32, d->t, (tn_scalar){.f = -(double)x}).f;
    if (!alike(got, want))
        fail_msg("%a becomes %a of type %d instead of %a", (double)x, got, d->t.code, want);
    if (d->kind == POWER ? !isnan(minus) : !alike(minus, want == 0 && d->kind == FNUZ ? 0.0 : -want))
        fail_msg("%a becomes %a of type %d", -(double)x, minus, d->t.code);
}

static void boundaries_round_to_nearest(void **state)
{
    static double value[1 << 16];
    (void)state;
    for (int k = 0; k < N_ALL; k++) {
        int n = positive(&all[k], value);
        for (int i = 0; i < n; i++) {
            double high = i + 1 < n              ? value[i + 1]
                          : all[k].kind == POWER ? 2 * value[i]
                                                 : 2 * value[i] - value[i - 1];
            float low = (float)value[i], mid = (float)(value[i] + (high - value[i]) / 2);
            float at[] = {low, nextafterf(low, INFINITY), nextafterf(mid, 0),
                          mid, nextafterf(mid, INFINITY), nextafterf((float)high, 0)};
            for (int j = 0; j < 6; j++)
                check(&all[k], value, n, i, at[j]);
        }
    }
}

static void the_rest_of_the_line(void **state)
{
    (void)state;
    for (int k = 0; k < N_ALL; k++) {
        const definition *d = &all[k];
        double value[2] = {defined(d, 0), tn_dtype_largest(d->t)}, over = too_large(d, value[1]);
        tn_scalar inf = {.f = (double)INFINITY}, nan = {.f = (double)NAN}, big = {.f = 3e38}, zero = {.f = 0};
        bool wide = d->t.code == TN_BFLOAT || d->kind == POWER;
        assert_true(alike(tn_eval_cast(TN_F32, d->t, inf).f, over));
        assert_true(wide || alike(tn_eval_cast(TN_F32, d->t, big).f, over));
        bool has_nan = d->nan || d->kind == FNUZ;
        assert_true(alike(tn_eval_cast(TN_F32, d->t, nan).f, has_nan ? (double)NAN : -0.0));
        assert_true(alike(tn_eval_cast(TN_F32, d->t, zero).f, d->kind == POWER ? (double)NAN : 0));
        zero.f = 1e-44; /* below every quantum but that of float8_e8m0fnu, which has no 0 */
        assert_true(alike(tn_eval_cast(TN_F32, d->t, zero).f, value[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_have_their_values),
        cmocka_unit_test(boundaries_round_to_nearest),
        cmocka_unit_test(the_rest_of_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
