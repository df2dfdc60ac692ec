/* Formula rows against C's own functions; broadcasting; integers, bools and halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/tensor/tensor.h"

/* ---- one operand ---- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double relu(double x) { return x > 0 ? x : 0; }
static double leaky(double x) { return x >= 0 ? x : 0.25 * x; }
static double clipped(double x) { return x < -0.5 ? -0.5 : x > 0.75 ? 0.75 : x; }
static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double negative_of(double x) { return -x; }
static double hard_sigmoid(double x)
{
    double y = 0.25 * x + 0.5;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}
static double hardswish(double x)
{
    double y = x / 6 + 0.5;
    return x * (y < 0 ? 0 : y > 1 ? 1 : y);
}
static double elu(double x) { return x < 0 ? 1.5 * (exp(x) - 1) : x; }

/* clang-format off */
typedef struct unary { const tn_op *op; const char *attrs; double (*want)(double); bool positive; } unary;
static const unary unaries[] = {
    {&tn_op_nn_relu, "", relu, false},
    {&tn_op_nn_leaky_relu, "alpha=0.25", leaky, false},
    {&tn_op_clip, "a_min=-0.5, a_max=0.75", clipped, false},
    {&tn_op_exp, "", exp, false},
    {&tn_op_log, "", log, true},
    {&tn_op_sqrt, "", sqrt, true},
    {&tn_op_rsqrt, "", rsqrt_of, true},
    {&tn_op_sigmoid, "", sigmoid, false},
    {&tn_op_tanh, "", tanh, false},
    {&tn_op_erf, "", erf, false},
    {&tn_op_abs, "", fabs, false},
    {&tn_op_negative, "", negative_of, false},
    {&tn_op_floor, "", floor, false},
    {&tn_op_ceil, "", ceil, false},
    {&tn_op_round, "", nearbyint, false},
    {&tn_op_nn_hard_sigmoid, "alpha=0.25", hard_sigmoid, false},
    {&tn_op_nn_hardswish, "", hardswish, false},
    {&tn_op_nn_elu, "alpha=1.5", elu, false},
};
/* clang-format on */

static void unary_formulas_match_c(void **state)
{
    (void)state;
    enum { N = 200 };
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        const unary *u = &unaries[i];
        env e;
        env_init(&e);
        const char *type = "float32 4 50";
        tn_node *n = node_of(&e, u->op, 1, &type, u->attrs);
        REQUIRE(&e, n);
        float *x = floats(&e, N, i), out[N];
        double want[N];
        for (int k = 0; k < N; k++) {
            x[k] = k == 0 ? 2.5f : k == 1 ? 0.5f : k == 2 ? 3.5f : x[k] * 6; /* ties for round */
            x[k] = u->positive ? fabsf(x[k]) + 0.01f : x[k];
            want[k] = u->want(x[k]);
        }
        run_node(&e, n, (const void *[]){x}, out, NULL);
        for (int k = 0; k < N; k++)
            if (!(fabs(out[k] - want[k]) <= 2e-6 * (1 + fabs(want[k]))))
                fail_msg("%s(%g) is %.9g, expected %.9g", u->op->name, x[k], out[k], want[k]);
        env_deinit(&e);
    }
}

static void nan_stays(void **state)
{
    (void)state;
    const tn_op *ops[] = {&tn_op_nn_relu, &tn_op_clip, &tn_op_abs, &tn_op_sigmoid};
    for (int i = 0; i < 4; i++) {
        env e;
        env_init(&e);
        const char *type = "float32 1";
        tn_node *n = node_of(&e, ops[i], 1, &type, ops[i] == &tn_op_clip ? "a_min=0, a_max=6" : "");
        float out = 0, x = NAN;
        REQUIRE(&e, n);
        run_node(&e, n, (const void *[]){&x}, &out, NULL);
        if (!isnan(out))
            fail_msg("%s(nan) is %g", ops[i]->name, out);
        env_deinit(&e);
    }
}

/* ---- two operands, broadcast ---- */

static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }
static double slope(double a, double b) { return a < 0 ? b * a : a; }

/* clang-format off */
typedef struct binary { const tn_op *op; double (*want)(double, double); } binary;
static const binary binaries[] = {
    {&tn_op_add, plus}, {&tn_op_subtract, minus}, {&tn_op_multiply, times}, {&tn_op_divide, over},
    {&tn_op_maximum, fmax}, {&tn_op_minimum, fmin}, {&tn_op_nn_prelu, slope},
};
/* clang-format on */

/* Shapes against [2, 3, 4]: strides of the second operand over that shape. */
/* clang-format off */
static const struct { const char *type; int step[3], count; } seconds[] = {
    {"float32 2 3 4", {12, 4, 1}, 24}, {"float32 3 4", {0, 4, 1}, 12}, {"float32 4", {0, 0, 1}, 4},
        {"float32", {0, 0, 0}, 1},
    {"float32 2 1 4", {4, 0, 1}, 8}, {"float32 3 1", {0, 1, 0}, 3}, {"float32 1 1 1", {0, 0, 0}, 1},
};
/* clang-format on */

static void binary_formulas_broadcast(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        for (size_t s = 0; s < sizeof seconds / sizeof *seconds; s++) {
            env e;
            env_init(&e);
            tn_node *n =
                node_of(&e, binaries[i].op, 2, (const char *const[]){"float32 2 3 4", seconds[s].type}, "");
            REQUIRE(&e, n);
            float *a = floats(&e, 24, 1), *b = floats(&e, seconds[s].count, 2), out[24];
            double want[24];
            for (int k = 0; k < 24; k++) {
                const int *st = seconds[s].step;
                want[k] = binaries[i].want(a[k], b[k / 12 * st[0] + k / 4 % 3 * st[1] + k % 4 * st[2]]);
            }
            run_node(&e, n, (const void *[]){a, b}, out, NULL);
            expect_close(out, want, 24, 1e-6);
            env_deinit(&e);
        }
}

static void both_operands_may_grow(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, &tn_op_multiply, 2, (const char *const[]){"float32 3 1", "float32 2 1 4"}, "");
    REQUIRE(&e, n);
    float *a = floats(&e, 3, 1), *b = floats(&e, 8, 2), out[24];
    run_node(&e, n, (const void *[]){a, b}, out, NULL);
    for (int k = 0; k < 24; k++)
        assert_true(out[k] == a[k / 4 % 3] * b[k / 12 * 4 + k % 4]);
    env_deinit(&e);
}

static void power_matches_c(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, &tn_op_power, 2, (const char *const[]){"float32 5", "float32 5"}, "");
    REQUIRE(&e, n);
    const float a[5] = {2, 0.5f, 3, 10, 1}, b[5] = {10, 2, -1, 0.5f, 7};
    float out[5];
    double want[5];
    for (int i = 0; i < 5; i++)
        want[i] = pow(a[i], b[i]);
    run_node(&e, n, (const void *[]){a, b}, out, NULL);
    expect_close(out, want, 5, 1e-5);
    env_deinit(&e);
}

/* ---- comparisons, logic, where ---- */

static void comparisons_give_bools(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const tn_op *op; uint8_t want[4]; } row[] = { /* (1, 2) (2, 2) (3, 2) (nan, 2) */
        {&tn_op_equal, {0, 1, 0, 0}}, {&tn_op_not_equal, {1, 0, 1, 1}}, {&tn_op_less, {1, 0, 0, 0}},
        {&tn_op_less_equal, {1, 1, 0, 0}}, {&tn_op_greater, {0, 0, 1, 0}}, {&tn_op_greater_equal, {0, 1, 1,
            0}},
    };
    /* clang-format on */
    const float a[4] = {1, 2, 3, NAN}, two = 2;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, row[i].op, 2, (const char *const[]){"float32 4", "float32"}, "");
        REQUIRE(&e, n);
        uint8_t out[4];
        run_node(&e, n, (const void *[]){a, &two}, out, NULL);
        assert_memory_equal(out, row[i].want, 4);
        env_deinit(&e);
    }
}

static void logic_and_where(void **state)
{
    (void)state;
    static const uint8_t a[4] = {0, 0, 1, 1}, b[4] = {0, 1, 0, 1};
    /* clang-format off */
    static const struct { const tn_op *op; int nin; uint8_t want[4]; } row[] = {
        {&tn_op_logical_and, 2, {0, 0, 0, 1}}, {&tn_op_logical_or, 2, {0, 1, 1, 1}}, {&tn_op_logical_not, 1,
            {1, 1, 0, 0}},
        {&tn_op_equal, 2, {1, 0, 0, 1}},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, row[i].op, row[i].nin, (const char *const[]){"bool 4", "bool 4"}, "");
        REQUIRE(&e, n);
        uint8_t out[4];
        run_node(&e, n, (const void *[]){a, b}, out, NULL);
        assert_memory_equal(out, row[i].want, 4);
        env_deinit(&e);
    }
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, &tn_op_where, 3, (const char *const[]){"bool 4", "int64 4", "int64"}, "");
    REQUIRE(&e, n);
    const int64_t x[4] = {1, 2, 3, 4}, y = -1;
    int64_t out[4];
    run_node(&e, n, (const void *[]){b, x, &y}, out, NULL);
    assert_true(out[0] == -1 && out[1] == 2 && out[2] == -1 && out[3] == 4);
    env_deinit(&e);
}

/* ---- integers ---- */

static void integers_wrap_and_floor(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const tn_op *op; int32_t a, b, want; } row[] = {
        {&tn_op_add, INT32_MAX, 1, INT32_MIN}, {&tn_op_multiply, 1 << 20, 1 << 12, 0}, {&tn_op_divide, -7, 2,
            -4},
        {&tn_op_divide, 7, -2, -4}, {&tn_op_subtract, 3, 5, -2}, {&tn_op_maximum, -3, 2, 2}, {&tn_op_minimum,
            -3, 2, -3},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        tn_node *n = node_of(&e, row[i].op, 2, (const char *const[]){"int32", "int32"}, "");
        REQUIRE(&e, n);
        int32_t out;
        run_node(&e, n, (const void *[]){&row[i].a, &row[i].b}, &out, NULL);
        assert_int_equal(out, row[i].want);
        env_deinit(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_formulas_match_c),    cmocka_unit_test(nan_stays),
        cmocka_unit_test(binary_formulas_broadcast), cmocka_unit_test(both_operands_may_grow),
        cmocka_unit_test(power_matches_c),           cmocka_unit_test(comparisons_give_bools),
        cmocka_unit_test(logic_and_where),           cmocka_unit_test(integers_wrap_and_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
