/* LowerIntrin: each polynomial against the C library in a wider type, over dense samples and at the corners, with and
 * without contraction. */
#include "base/rng.h"
#include "lower_program.h"
#include "sanitized.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The intrinsic of arguments x, y after LowerIntrin and, with `fma`, ContractFma. */
static tn_status build(world *w, enum tn_intrin f, tn_dtype t, bool fma, program *out)
{
    tn_func *fn = tn_func_new(&w->ctx, &w->arena, &w->pool, "f");
    tn_machine m = machine_with(fma);
    program_init(out, fn, t, t);
    return program_lower(fn, tn_intrinsic(&w->pool, f, tn_intrins[f].nargs, out->arg), tn_lower_intrinsics,
                         &m, out);
}

static double run(program *p, double x, double y)
{
    return program_run(p, (tn_scalar){.f = x}, (tn_scalar){.f = y}).f;
}

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }
static long double ncdf(long double x) { return 0.5L * erfcl(-x * 0.70710678118654752440084436210485L); }
static long double first(long double (*f)(long double), long double x) { return f(x); }

static long double reference(enum tn_intrin f, double x, double y)
{
    switch (f) {
    case TN_F_exp: return first(expl, x);
    case TN_F_log: return first(logl, x);
    case TN_F_tanh: return first(tanhl, x);
    case TN_F_sigmoid: return first(sigmoid, x);
    case TN_F_erf: return first(erfl, x);
    case TN_F_expm1: return first(expm1l, x);
    case TN_F_log1p: return first(log1pl, x);
    case TN_F_ncdf: return first(ncdf, x);
    case TN_F_sin: return first(sinl, x);
    case TN_F_cos: return first(cosl, x);
    case TN_F_tan: return first(tanl, x);
    case TN_F_asin: return first(asinl, x);
    case TN_F_acos: return first(acosl, x);
    case TN_F_atan: return first(atanl, x);
    case TN_F_sinh: return first(sinhl, x);
    case TN_F_cosh: return first(coshl, x);
    case TN_F_asinh: return first(asinhl, x);
    case TN_F_acosh: return first(acoshl, x);
    case TN_F_atanh: return first(atanhl, x);
    default: return powl(x, y);
    }
}

/* Distance of got from want in units of the last place of a float type at want. */
static double ulps(tn_dtype t, double got, long double want)
{
    int man = t.bits == 64 ? 52 : 23, low = t.bits == 64 ? -1022 : -126, e;
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : INFINITY;
    long double limit = ldexpl(2 - ldexpl(1, -man - 1), t.bits == 64 ? 1023 : 127); /* rounds to infinity */
    if (fabsl(want) >= limit)
        return isinf(got) && (got < 0) == (want < 0)                                  ? 0
               : fabs(got) >= ldexp(2 - ldexp(1, 1 - man), t.bits == 64 ? 1023 : 127) ? 1
                                                                                      : INFINITY;
    if (isinf(got))
        return (double)(fabsl(want) / limit) > 1 - ldexp(1, -man) ? 1 : INFINITY;
    frexpl(want, &e);
    e = want == 0 || e - 1 < low ? low : e - 1;
    return (double)(fabsl(got - want) / ldexpl(1, e - man));
}

typedef struct row {
    enum tn_intrin f;
    double lo, hi, limit32, limit64; /* samples, error in ulp allowed */
} row;

static const row rows[] = {
    {TN_F_exp, -104, 89, 1.2, 1.2},
    {TN_F_exp, -1, 1, 1.2, 1.2},
    {TN_F_exp, -0x1p-20, 0x1p-20, 0.6, 0.6},
    {TN_F_log, 0x1p-149, 0x1p-120, 0.6, 0.6},
    {TN_F_log, 0.3, 3, 0.9, 1.0},
    {TN_F_log, 0.999, 1.001, 0.6, 0.6},
    {TN_F_log, 3, 3e38, 0.8, 0.8},
    {TN_F_tanh, -1, 1, 1.4, 1.4},
    {TN_F_tanh, -12, 12, 1.4, 1.4},
    {TN_F_tanh, -1e-30, 1e-30, 0.1, 0.1},
    {TN_F_sigmoid, -104, 104, 2.1, 2.4},
    {TN_F_sigmoid, -4, 4, 2.1, 2.4},
    {TN_F_erf, -1.2, 1.2, 1.2, 1.2},
    {TN_F_erf, -5, 5, 1.2, 1.2},
    {TN_F_erf, -1e-20, 1e-20, 1, 1},
    {TN_F_expm1, -104, 89, 1.4, 1.9},
    {TN_F_expm1, -2, 2, 1.4, 1.9},
    {TN_F_expm1, 1e-40, 1, 1.4, 1.9},
    {TN_F_log1p, -1, 3, 1.2, 1.1},
    {TN_F_log1p, 1e-40, 3e38, 1.2, 1.1},
    {TN_F_ncdf, -1, 1, 3.7, 6.6},
    {TN_F_ncdf, -14, 9, 6.5, 4},
    {TN_F_ncdf, -38, 0, 6.5, 16},
    {TN_F_sin, -1, 1, 1.4, 1.5},
    {TN_F_sin, -100, 100, 2, 2.6},
    {TN_F_sin, -1e5, 1e5, 2, 2.6},
    {TN_F_cos, -1, 1, 1.4, 1.4},
    {TN_F_cos, -100, 100, 2, 2.6},
    {TN_F_cos, -1e5, 1e5, 2, 2.6},
    {TN_F_sin, -1e-30, 1e-30, 0.1, 0.1},
    {TN_F_sin, 1e5, 3e38, 2, 2.6},
    {TN_F_cos, 1e5, 3e38, 2, 2.6},
    {TN_F_tan, -1, 1, 0.6, 4},
    {TN_F_tan, -1e5, 1e5, 0.6, 4},
    {TN_F_tan, 1e5, 3e38, 0.6, 4},
    {TN_F_asin, -1, 1, 0.6, 1.6},
    {TN_F_asin, 1e-30, 1, 0.6, 1.6},
    {TN_F_acos, -1, 1, 0.6, 1.1},
    {TN_F_atan, -4, 4, 0.6, 1.8},
    {TN_F_atan, 1e-30, 1e30, 0.6, 1.8},
    {TN_F_sinh, -2, 2, 0.6, 1.6},
    {TN_F_sinh, -90, 90, 0.6, 1.6},
    {TN_F_sinh, 1e-30, 1, 0.6, 1.6},
    {TN_F_cosh, -2, 2, 0.6, 1.5},
    {TN_F_cosh, -90, 90, 0.6, 1.5},
    {TN_F_asinh, -4, 4, 0.6, 1.8},
    {TN_F_asinh, 1e-30, 3e38, 0.6, 1.8},
    {TN_F_acosh, 1, 3, 0.6, 2.3},
    {TN_F_acosh, 1, 3e38, 0.6, 2.3},
    {TN_F_atanh, -1, 1, 0.6, 1.3},
    {TN_F_atanh, 1e-30, 1, 0.6, 1.3},
};

static double worst_of(world *w, const row *r, tn_dtype t, bool fma, double *at)
{
    static program p;
    tn_rng rng = {7};
    double worst = 0;
    assert_int_equal(build(w, r->f, t, fma, &p), TN_OK);
    int n = (r->f < TN_F_sin ? 60000 : 15000) / (RUN_FEWER ? 16 : 1);
    for (int i = 0; i < n; i++) {
        double u = tn_rng_unit(&rng), x = r->lo + (r->hi - r->lo) * u;
        if (r->lo > 0 && i % 2 == 0)
            x = exp(log(r->lo) + (log(r->hi) - log(r->lo)) * u);
        if (t.bits == 32)
            x = (double)(float)x;
        double e = ulps(t, run(&p, x, 0), reference(r->f, x, 0));
        if (e > worst) {
            worst = e;
            *at = x;
        }
    }
    return worst;
}

static void test_accuracy(void **state)
{
    bool bad = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < 4; k++) {
            tn_dtype t = k < 2 ? TN_F32 : TN_F64;
            double at = 0, e = worst_of(*state, &rows[i], t, k & 1, &at),
                   limit = k < 2 ? rows[i].limit32 : rows[i].limit64;
            if (rows[i].f == TN_F_exp && (k & 1))
                limit = fmin(limit, 1.0);
            bool over = !(e <= limit);
            if (over || getenv("TENON_VERBOSE"))
                print_message("%s f%d %s [%g, %g]: %.3f ulp at %a (allowed %.1f)\n",
                              tn_intrins[rows[i].f].name, t.bits, k & 1 ? "fma" : "   ", rows[i].lo,
                              rows[i].hi, e, at, limit);
            bad |= over;
        }
    }
    assert_false(bad);
}

/* Arguments next to multiples of pi/2, the hardest of each type among them (J.-M. Muller, Elementary Functions). */
static void test_near_multiples(void **state)
{
    static const double hard[] = {0x1.6ac5b262ca1ffp+849, 0x1.33333333p+1000,   0x1.fffffffffffffp+1023,
                                  0x1.921fb54442d18p+0,   0x1.921fb54442d18p+1, 0x1.6cb3b9p+122,
                                  0x1.fffffep+127,        0x1.a2f2d4p+100,      0x1.921fb6p+0};
    static program p;
    static const enum tn_intrin f[] = {TN_F_sin, TN_F_cos, TN_F_tan};
    for (int k = 0; k < 3; k++) {
        for (int wide = 0; wide < 2; wide++) {
            assert_int_equal(build(*state, f[k], wide ? TN_F64 : TN_F32, true, &p), TN_OK);
            for (int i = 0; i < 3000; i++) {
                double x = i < 9 ? hard[i] : (double)(i - 9) * 0x1.921fb54442d18p+0;
                x = wide ? x : (double)(float)x;
                double e = ulps(wide ? TN_F64 : TN_F32, run(&p, x, 0), reference(f[k], x, 0));
                if (!(e <= (wide && k == 2 ? 4 : 2.5)))
                    fail_msg("%s f%d of %a: %g ulp", tn_intrins[f[k]].name, wide ? 64 : 32, x, e);
            }
        }
    }
}

static void check_pow(world *w, tn_dtype t, double span, double limit)
{
    static program p;
    double worst = 0;
    tn_rng rng = {11};
    assert_int_equal(build(w, TN_F_pow, t, true, &p), TN_OK);
    for (int i = 0; i < (RUN_FEWER ? 3000 : 30000); i++) {
        double u = tn_rng_unit(&rng), v = tn_rng_unit(&rng);
        double x = exp2(i % 3 ? 2 * span * u - span : 0.01 * u), y = i % 3 ? 4 * v - 2 : span * 130 * v;
        if (t.bits == 32) {
            x = (double)(float)x;
            y = (double)(float)y;
        }
        double e = ulps(t, run(&p, x, y), powl(x, y));
        worst = fmax(worst, e);
        if (e > limit)
            fail_msg("pow f%d (%a, %a): %g ulp", t.bits, x, y, e);
    }
    if (getenv("TENON_VERBOSE"))
        print_message("pow f%d: %.3f ulp\n", t.bits, worst);
}

static void test_pow_accuracy(void **state)
{
    check_pow(*state, TN_F32, 150, 0.6);
    check_pow(*state, TN_F64, 1070, 1.0);
}

/* ---- corners ---- */

static const double corner[] = {0.0,
                                -0.0,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                0x1p-149,
                                -0x1p-149,
                                0x1p-140,
                                0x1p-126,
                                1,
                                -1,
                                0x1.fffffep127,
                                -0x1.fffffep127,
                                88.7,
                                88.73,
                                89,
                                -87.4,
                                -103.9,
                                -103.98,
                                -104,
                                -200,
                                200,
                                20,
                                -20,
                                0.625,
                                0.9375,
                                4,
                                1e-10,
                                0.5,
                                2,
                                -2,
                                3,
                                -3,
                                2.5,
                                -2.5,
                                16777216,
                                16777217.0 * 3};
enum { N_CORNER = sizeof corner / sizeof *corner };

static bool same_sign(double got, long double want)
{
    return isnan(got) || got != 0 || !signbit(got) == !signbit(want) || want != 0;
}

static void test_corners(void **state)
{
    static program p;
    for (int f = TN_F_exp; f <= TN_F_atanh; f++) {
        if (f == TN_F_pow)
            continue;
        for (int k = 0; k < 4; k++) {
            tn_dtype t = k < 2 ? TN_F32 : TN_F64;
            assert_int_equal(build(*state, (enum tn_intrin)f, t, k & 1, &p), TN_OK);
            for (int i = 0; i < N_CORNER; i++) {
                double x = t.bits == 32 ? (double)(float)corner[i] : corner[i], got = run(&p, x, 0);
                long double want = reference((enum tn_intrin)f, x, 0);
                if (!(ulps(t, got, want) <= (f == TN_F_ncdf ? 16 : 2.5)) || !same_sign(got, want))
                    fail_msg("%s f%d of %a: %a instead of %La", tn_intrins[f].name, t.bits, x, got, want);
            }
        }
    }
}

static void test_pow_corners(void **state)
{
    static program p;
    for (int k = 0; k < 4; k++) {
        tn_dtype t = k < 2 ? TN_F32 : TN_F64;
        assert_int_equal(build(*state, TN_F_pow, t, k & 1, &p), TN_OK);
        for (int i = 0; i < N_CORNER; i++) {
            for (int j = 0; j < N_CORNER; j++) {
                double x = k < 2 ? (double)(float)corner[i] : corner[i],
                       y = k < 2 ? (double)(float)corner[j] : corner[j];
                double got = run(&p, x, y);
                long double want = powl(x, y);
                if (!(ulps(t, got, want) <= 1) || !same_sign(got, want))
                    fail_msg("pow f%d (%a, %a): %a instead of %La", t.bits, x, y, got, want);
            }
        }
    }
}

/* 16-bit floats are float32's result rounded. */
static void test_half(void **state)
{
    static program p, q;
    static const tn_dtype half[] = {{TN_FLOAT, 16, 1}, {TN_BFLOAT, 16, 1}};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(build(*state, TN_F_exp, half[k], true, &p), TN_OK);
        assert_int_equal(build(*state, TN_F_exp, TN_F32, true, &q), TN_OK);
        for (int i = -80; i < 80; i++) {
            tn_scalar want = tn_eval_cast(TN_F32, half[k], (tn_scalar){.f = run(&q, i * 0.125, 0)});
            assert_true(run(&p, i * 0.125, 0) == want.f);
        }
    }
}

/* Without an instruction for it, rounding to whole numbers is arithmetic; exact for every value, zeros keep
 * their sign. */
static void test_whole(void **state)
{
    static double (*const want[])(double) = {floor, ceil, trunc, rint};
    static program p;
    tn_rng rng = {3};
    for (int f = TN_F_floor; f <= TN_F_round; f++) {
        for (int wide = 0; wide < 2; wide++) {
            assert_int_equal(build(*state, (enum tn_intrin)f, wide ? TN_F64 : TN_F32, false, &p), TN_OK);
            assert_true(p.n > 8);
            for (int i = 0; i < 20000; i++) {
                double x =
                    i < N_CORNER ? corner[i] : ldexp(tn_rng_unit(&rng) - 0.5, (int)tn_rng_below(&rng, 56));
                x = i % 7 ? x : floor(x) + 0.5;
                x = wide ? x : (double)(float)x;
                double got = run(&p, x, 0), w = want[f - TN_F_floor](x);
                if (!(got == w || (isnan(got) && isnan(w))) || !same_sign(got, w))
                    fail_msg("%s of %a: %a instead of %a", tn_intrins[f].name, x, got, w);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_accuracy, enter, leave),
        cmocka_unit_test_setup_teardown(test_near_multiples, enter, leave),
        cmocka_unit_test_setup_teardown(test_pow_accuracy, enter, leave),
        cmocka_unit_test_setup_teardown(test_corners, enter, leave),
        cmocka_unit_test_setup_teardown(test_pow_corners, enter, leave),
        cmocka_unit_test_setup_teardown(test_half, enter, leave),
        cmocka_unit_test_setup_teardown(test_whole, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
