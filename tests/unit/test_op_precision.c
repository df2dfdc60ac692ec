/* Activations and softmax to the last place: every float16 value, and float32 values of all sizes, against double. The
 * table says how many units in the last place a result may be off. TENON_SLOW=1 takes 100 times as many of float32. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower/lower_impl.h"
#include "numeric/run.h"
#include "op/tensor/tensor.h"

static double elu(double x) { return x < 0 ? expm1(x) : x; }
static double selu(double x)
{
    double gamma = (double)1.05070102214813232421875f, alpha = (double)1.67326319217681884765625f;
    return x > 0 ? gamma * x : gamma * alpha * expm1(x);
}
static double celu(double x) { return fmax(x, 0) + fmin(2 * expm1(x / 2), 0) + (isnan(x) ? x : 0); }
static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))) + (isnan(x) ? x : 0); }
static double mish(double x) { return x * tanh(softplus(x)); }
static double gelu(double x) { return 0.5 * x * erfc(-x * 0.70710678118654752440); }
static double swish(double x) { return x / (1 + exp(-x)); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softsign(double x) { return isinf(x) ? NAN : x / (1 + fabs(x)); }
static double hardswish(double x) { return x * (fmin(fmax(x + 3, 0), 6) / 6) + (isnan(x) ? x : 0); }
static double gelu_tanh(double x)
{
    double z = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    return x / (1 + exp(-2 * z));
}

typedef struct row {
    const tn_op *op;
    const char *attrs;
    double (*want)(double);
    double half, single; /* units in the last place that float16 and float32 may be off */
    double least; /* float32 arguments below are left out: factors that are not normal numbers cost digits */
} row;

/* clang-format off */
static const row rows[] = {
    {&tn_op_nn_elu, "alpha=1", elu, 0.51, 1.5, -INFINITY},
    {&tn_op_nn_selu, "", selu, 0.51, 3, -INFINITY},
    {&tn_op_nn_celu, "alpha=2", celu, 0.51, 2, -INFINITY},
    {&tn_op_nn_softplus, "", softplus, 0.51, 2.5, -87},
    {&tn_op_nn_mish, "", mish, 0.51, 5, -85},
    {&tn_op_nn_gelu, "", gelu, 0.51, 8, -12.8},
    {&tn_op_nn_gelu_tanh, "", gelu_tanh, 0.51, 10, -2},
    {&tn_op_nn_swish, "alpha=1", swish, 0.51, 3, -85},
    {&tn_op_sigmoid, "", sigmoid, 0.51, 2.2, -87},
    {&tn_op_nn_softsign, "", softsign, 0.51, 1.5, -INFINITY},
    {&tn_op_nn_hardswish, "", hardswish, 0.51, 2, -INFINITY},
    {&tn_op_tanh, "", tanh, 0.51, 1.4, -INFINITY},
    {&tn_op_erf, "", erf, 0.51, 1.3, -INFINITY},
    {&tn_op_sinh, "", sinh, 0.51, 0.6, -INFINITY},
    {&tn_op_cosh, "", cosh, 0.51, 0.6, -INFINITY},
    {&tn_op_tan, "", tan, 0.51, 0.6, -INFINITY},
    {&tn_op_asinh, "", asinh, 0.51, 0.6, -INFINITY},
    {&tn_op_atanh, "", atanh, 0.51, 0.6, -INFINITY},
};
/* clang-format on */

/* Distance from want in units of its last place: digits after the first, smallest and largest normal exponent. */
static double ulps(double got, double want, int digits, int low, int high)
{
    int e;
    double limit = ldexp(2 - ldexp(1, -digits - 1), high); /* rounds to infinity */
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (fabs(want) >= limit * (1 - 1e-7) && isinf(got))
        return (got < 0) == (want < 0) ? 0 : INFINITY;
    if (isinf(got) || isinf(want))
        return fabs(want) >= limit && fabs(got) >= limit * (1 - ldexp(1, -digits)) ? 1 : INFINITY;
    frexp(want, &e);
    e = want == 0 || e - 1 < low ? low : e - 1;
    return fabs(got - want) / ldexp(1, e - digits);
}

/* op of the n values x, as lowering makes it. */
static void apply(const row *r, const char *type, const void *x, void *out)
{
    static const char *const features[] = {"sse4.1", "fma", "f16c"};
    tn_machine m = {.triple = "x86_64-unknown-linux-gnu", .feature = features, .n_feature = 3};
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, r->op, 1, &type, r->attrs);
    REQUIRE(&e, n);
    tn_func *f = func_of(&e, n);
    REQUIRE(&e, tn_lower_intrinsics(f, &m) == TN_OK && tn_lower_contract(f, &m) == TN_OK);
    void *arg[2] = {(void *)(uintptr_t)x, out};
    REQUIRE(&e, tn_func_run(f, arg, NULL) == TN_OK);
    env_deinit(&e);
}

static double of_half(uint16_t bits)
{
    int e = bits >> 10 & 31, man = bits & 1023;
    double v = e == 31 ? (man ? (double)NAN : (double)INFINITY)
               : e     ? ldexp(1024 + man, e - 25)
                       : ldexp(man, -24);
    return bits >> 15 ? -v : v;
}

static void every_float16(void **state)
{
    (void)state;
    enum { N = 65536 };
    static uint16_t x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double worst = 0, at = 0;
        apply(&rows[i], "float16 65536", x, y);
        for (int k = 0; k < N; k++) {
            double e = ulps(of_half(y[k]), rows[i].want(of_half(x[k])), 10, -14, 15);
            at = e > worst ? of_half(x[k]) : at;
            worst = fmax(worst, e);
        }
        print_message("%-14s float16 %.3f ulp at %g\n", rows[i].op->name, worst, at);
        if (!(worst <= rows[i].half))
            fail_msg("%s of float16 %a: %g ulp", rows[i].op->name, at, worst);
    }
}

static void float32_of_all_sizes(void **state)
{
    (void)state;
    enum { N = 16384 };
    static float x[N], y[N];
    int turns = getenv("TENON_SLOW") ? 100 : 1;
    tn_rng rng = {3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double worst = 0, at = 0;
        for (int t = 0; t < turns; t++) {
            for (int k = 0; k < N; k++) {
                double u = tn_rng_unit(&rng), v = tn_rng_unit(&rng);
                x[k] = (float)(k % 2 ? 40 * u - 20
                                     : ldexp(u < 0.5 ? -1 - v : 1 + v, (int)(254 * u * 2) % 254 - 126));
            }
            x[0] = NAN;
            x[1] = -0.0f;
            x[2] = 0x1p-149f;
            x[3] = -0x1p-149f;
            apply(&rows[i], "float32 16384", x, y);
            for (int k = 0; k < N; k++) {
                double v = (double)x[k];
                double e = v < rows[i].least ? 0 : ulps((double)y[k], rows[i].want(v), 23, -126, 127);
                at = e > worst ? (double)x[k] : at;
                worst = fmax(worst, e);
            }
        }
        print_message("%-14s float32 %.3f ulp at %g\n", rows[i].op->name, worst, at);
        if (!(worst <= rows[i].single))
            fail_msg("%s of float32 %a: %g ulp", rows[i].op->name, at, worst);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_float16),
                                       cmocka_unit_test(float32_of_all_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
