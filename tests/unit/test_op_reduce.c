/* Reductions, softmax and batch normalisation against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

enum { A = 3, B = 4, C = 5 }; /* the operand is [A, B, C] */

/* clang-format off */
typedef struct form { const char *attrs, *type; bool gone[3]; } form;
static const form forms[] = {
    {"", "float32", {true, true, true}},
    {"axis=[1]", "Tensor[(3, 5), float32]", {false, true, false}},
    {"axis=[-1], keepdims=True", "Tensor[(3, 4, 1), float32]", {false, false, true}},
    {"axis=[0, 2]", "Tensor[(4), float32]", {true, false, true}},
    {"axis=[1], exclude=True, keepdims=True", "Tensor[(1, 4, 1), float32]", {true, false, true}},
};
/* clang-format on */

static double start_of(const tn_op *op)
{
    return op == &tn_op_prod ? 1 : op == &tn_op_max ? -INFINITY : op == &tn_op_min ? INFINITY : 0;
}

static double step_of(const tn_op *op, double acc, double v)
{
    return op == &tn_op_prod  ? acc * v
           : op == &tn_op_max ? fmax(acc, v)
           : op == &tn_op_min ? fmin(acc, v)
                              : acc + v;
}

static void check_reduction(const tn_op *op, const form *f)
{
    env e;
    env_init(&e);
    const char *type = "float32 3 4 5";
    tn_node *n = node_of(&e, op, 1, &type, f->attrs);
    REQUIRE(&e, n);
    tn_buf b = {0};
    tn_type_print(n->type[0], &b);
    assert_string_equal(tn_buf_cstr(&b), f->type);
    tn_buf_deinit(&b);
    float *x = floats(&e, A * B * C, 1), out[A * B * C];
    double want[A * B * C];
    int64_t count = count_of(n->type[0]);
    for (int i = 0; i < count; i++)
        want[i] = start_of(op);
    for (int i = 0; i < A * B * C; i++) {
        int at[3] = {i / (B * C), i / C % B, i % C}, dim[3] = {A, B, C}, to = 0;
        for (int d = 0; d < 3; d++)
            to = f->gone[d] ? to : to * dim[d] + at[d];
        want[to] = step_of(op, want[to], x[i]);
    }
    for (int i = 0; op == &tn_op_mean && i < count; i++)
        want[i] /= (double)(A * B * C / count);
    run_node(&e, n, (const void *[]){x}, out, NULL);
    expect_close(out, want, count, 1e-5);
    env_deinit(&e);
}

static void reductions_match_loops(void **state)
{
    (void)state;
    const tn_op *ops[] = {&tn_op_sum, &tn_op_mean, &tn_op_max, &tn_op_min, &tn_op_prod};
    for (int o = 0; o < 5; o++)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            check_reduction(ops[o], &forms[i]);
}

static void integers_reduce_exactly(void **state)
{
    (void)state;
    static const int32_t x[6] = {5, -7, 3, -1, -2, -2}; /* means 1/3, -5/3 */
    /* clang-format off */
    static const struct { const tn_op *op; int32_t want[2]; } row[] = {
        {&tn_op_sum, {1, -5}}, {&tn_op_mean, {0, -1}}, {&tn_op_max, {5, -1}}, {&tn_op_min, {-7, -2}},
            {&tn_op_prod, {-105, -4}},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        const char *type = "int32 2 3";
        tn_node *n = node_of(&e, row[i].op, 1, &type, "axis=[1]");
        REQUIRE(&e, n);
        int32_t out[2];
        run_node(&e, n, (const void *[]){x}, out, NULL);
        assert_memory_equal(out, row[i].want, sizeof out);
        env_deinit(&e);
    }
}

/* Large inputs do not overflow; each row adds up to 1. */
static void softmax_along_each_axis(void **state)
{
    (void)state;
    static const int inner[3] = {B * C, C, 1}, length[3] = {A, B, C};
    for (int axis = 0; axis < 3; axis++) {
        env e;
        env_init(&e);
        const char *type = "float32 3 4 5";
        tn_node *n = node_of(&e, &tn_op_nn_softmax, 1, &type,
                             tn_arena_printf(&e.arena, "axis=%d", axis == 2 ? -1 : axis));
        REQUIRE(&e, n);
        float *x = floats(&e, A * B * C, 1), out[A * B * C];
        double want[A * B * C];
        for (int i = 0; i < A * B * C; i++)
            x[i] = x[i] * 3 + 500;
        for (int i = 0; i < A * B * C; i++) {
            int first = i - i / inner[axis] % length[axis] * inner[axis];
            double sum = 0;
            for (int k = 0; k < length[axis]; k++)
                sum += exp(x[first + k * inner[axis]] - (double)x[i]);
            want[i] = 1 / sum;
        }
        run_node(&e, n, (const void *[]){x}, out, NULL);
        expect_close(out, want, A * B * C, 1e-5);
        tn_func *f = func_of(&e, n);
        for (tn_stmt *s = f->body.first; s; s = s->next) {
            tn_stmt *b = s;
            while (b->kind == TN_S_FOR)
                b = b->u.loop.body.first;
            assert_true(b->kind == TN_S_BUFFER || strcmp(b->u.block.tag, "softmax") == 0);
        }
        env_deinit(&e);
    }
}

/* Runs the nodes that an expansion put before `n`, in order, each by the interpreter; values by node id. */
static const float *value_of(env *e, const tn_node *n, const float *const *given, tn_node *const *param,
                             int n_param)
{
    for (int i = 0; i < n_param; i++)
        if (param[i] == n)
            return given[i];
    if (tn_op_is(n, &tn_op_constant))
        return n->blob->at;
    const void *in[4];
    for (int i = 0; i < n->nin; i++)
        in[i] = value_of(e, n->in[i].def, given, param, n_param);
    float *out = floats(e, count_of(n->type[0]), 9);
    run_node(e, n, in, out, NULL);
    return out;
}

static void batch_norm_expands_to_multiply_and_add(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        bool center = which & 1, scale = which & 2;
        env e;
        env_init(&e);
        tn_value in[5], out[3];
        tn_node *param[5];
        const float *given[5];
        for (int i = 0; i < 5; i++) {
            in[i] = operand(&e, i ? "float32 3" : "float32 2 3 4 2");
            param[i] = in[i].def;
            float *v = floats(&e, i ? 3 : 48, (uint64_t)i + 1);
            for (int k = 0; i == 4 && k < 3; k++)
                v[k] = fabsf(v[k]) + 0.1f;
            given[i] = v;
        }
        tn_node *n = tn_make_call(
            &e.g, e.body, NULL, &tn_op_nn_batch_norm, 5, in,
            attr_of(&e, &tn_op_nn_batch_norm,
                    tn_arena_printf(&e.arena, "epsilon=0.001, center=%d, scale=%d", center, scale)),
            NULL);
        REQUIRE(&e, n && n->nout == 3);
        REQUIRE(&e, tn_op_nn_batch_norm.expand(&e.g, n, out) == TN_OK);
        assert_true(tn_type_eq(tn_value_type(out[0]), n->type[0]));
        assert_ptr_equal(out[1].def, param[3]);
        assert_ptr_equal(out[2].def, param[4]);
        assert_true(tn_op_is(out[0].def, &tn_op_add));
        const float *got = value_of(&e, out[0].def, given, param, 5);
        double want[48];
        for (int i = 0; i < 48; i++) {
            int c = i / 8 % 3;
            want[i] = (given[0][i] - given[3][c]) / sqrt(given[4][c] + 0.001) * (scale ? given[1][c] : 1) +
                      (center ? given[2][c] : 0);
        }
        expect_close(got, want, 48, 1e-5);
        env_deinit(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_match_loops),
        cmocka_unit_test(integers_reduce_exactly),
        cmocka_unit_test(softmax_along_each_axis),
        cmocka_unit_test(batch_norm_expands_to_multiply_and_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
