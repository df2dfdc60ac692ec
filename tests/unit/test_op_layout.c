/* Layout rules, shape arithmetic, constants, and what a re-inference keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include "machine/machine.h"

/* ---- layouts ---- */

/* Operand types ("=" in front: a constant), layouts offered, and what the rule makes of them; "" is the
 * identity. */
/* clang-format off */
typedef struct rule {
    const tn_op *op;
    const char *in[3], *attrs, *offer[3], *take[3], *give;
    uint32_t bits;
} rule;
static const rule rules[] = {
    {&tn_op_nn_conv2d, {"float32 1 64 8 8", "=float32 32 64 3 3"}, "", {"", ""}, {"NCHW16c", "OIHW16i16o"},
        "NCHW16c", 512},
    {&tn_op_nn_conv2d, {"float32 1 64 8 8", "=float32 32 64 3 3"}, "", {"", ""}, {"NCHW8c", "OIHW8i8o"},
        "NCHW8c", 256},
    {&tn_op_nn_conv2d, {"float32 1 64 8 8", "float32 32 64 3 3"}, "", {"", ""}, {"NCHW16c", ""}, "NCHW16c",
        512},
    {&tn_op_nn_conv2d, {"float32 1 3 8 8", "=float32 32 3 3 3"}, "", {"NCHW16c", ""}, {"", "OIHW16o"},
        "NCHW16c", 512},
    {&tn_op_nn_conv2d, {"float32 1 20 8 8", "=float32 9 20 3 3"}, "", {"", ""}, {"NCHW16c", "OIHW16i16o"},
        "NCHW16c", 512},
    {&tn_op_nn_conv2d, {"float32 1 64 8 8", "=float32 4 64 3 3"}, "", {"", ""}, {"NCHW16c", "OIHW16i16o"}, "",
        512},
    {&tn_op_nn_conv2d, {"float32 1 64 8 34", "=float32 4 64 3 3"}, "", {"NCHW16c", ""}, {"", ""}, "", 512},
    {&tn_op_nn_conv2d, {"float32 1 3 8 8", "=float32 4 3 3 3"}, "", {"", ""}, {"", ""}, "", 512},
    {&tn_op_nn_conv2d, {"float32 1 32 8 8", "=float32 32 1 3 3"}, "groups=32", {"", ""}, {"NCHW16c",
        "OIHW16o"}, "NCHW16c", 512},
    {&tn_op_nn_conv2d, {"float32 1 32 8 8", "=float32 64 1 3 3"}, "groups=32", {"", ""}, {"", ""}, "", 512},
    {&tn_op_nn_conv2d, {"float32 1 32 8 8", "=float32 32 16 3 3"}, "groups=2", {"", ""}, {"NCHW16c",
        "OIHW16i16o"}, "NCHW16c", 512},
    {&tn_op_nn_conv2d, {"float32 1 16 8 8", "=float32 32 8 3 3"}, "groups=2", {"", ""}, {"", "OIHW16o"},
        "NCHW16c", 512},
    {&tn_op_nn_conv2d, {"float32 1 32 8 8", "=float32 48 16 3 3"}, "groups=2", {"", ""}, {"", ""}, "", 512},
    {&tn_op_nn_dense, {"float32 n 64", "=float32 256 64"}, "", {"", ""}, {"", "NK32n"}, "", 512},
    {&tn_op_nn_dense, {"float32 n 64", "=float32 10 64"}, "", {"", ""}, {"", "NK16n"}, "", 512},
    {&tn_op_nn_dense, {"float32 n 64", "float32 256 64"}, "", {"", "NK8n"}, {"", ""}, "", 512},
    {&tn_op_add, {"float32 1 32 8 8", "float32 1 32 8 8"}, "", {"NCHW16c", ""}, {"NCHW16c", "NCHW16c"},
        "NCHW16c", 512},
    {&tn_op_add, {"float32 1 32 8 8", "float32 1 32 8 8"}, "", {"", "NCHW16c"}, {"NCHW16c", "NCHW16c"},
        "NCHW16c", 512},
    {&tn_op_multiply, {"float32 1 32 8 8", "float32 32 1 1"}, "", {"NCHW16c", ""}, {"NCHW16c", ""}, "NCHW16c",
        512},
    {&tn_op_multiply, {"float32 1 32 1 1", "float32 1 32 8 8"}, "", {"NCHW16c", "NCHW16c"}, {"", "NCHW16c"},
        "NCHW16c", 512},
    {&tn_op_nn_relu, {"float32 1 32 8 8"}, "", {"NCHW16c"}, {"NCHW16c"}, "NCHW16c", 512},
    {&tn_op_nn_relu, {"float32 1 32 8 8"}, "", {""}, {""}, "", 512},
    {&tn_op_nn_bias_add, {"float32 1 32 8 8", "float32 32"}, "", {"NCHW16c", ""}, {"NCHW16c", ""}, "NCHW16c",
        512},
    {&tn_op_nn_max_pool2d, {"float32 1 32 8 8"}, "pool_size=[2]", {"NCHW16c"}, {"NCHW16c"}, "NCHW16c", 512},
    {&tn_op_nn_avg_pool2d, {"float32 1 32 8 8"}, "pool_size=[2]", {"NCHW:NHWC"}, {"NCHW:NHWC"}, "NCHW:NHWC", 512},
    {&tn_op_nn_avg_pool2d, {"float32 1 32 8 8"}, "pool_size=[2]", {"NCHW4h"}, {""}, "", 512},
    {&tn_op_nn_global_avg_pool2d, {"float32 1 32 8 8"}, "", {"NCHW16c"}, {"NCHW16c"}, "NCHW16c", 512},
    {&tn_op_concatenate, {"float32 1 32 8 8", "float32 1 20 8 8"}, "axis=1", {"NCHW16c", "NCHW16c"},
        {"NCHW16c", "NCHW16c"}, "NCHW16c", 512},
    {&tn_op_concatenate, {"float32 1 20 8 8", "float32 1 32 8 8"}, "axis=1", {"NCHW16c", "NCHW16c"}, {"", ""},
        "", 512},
    {&tn_op_concatenate, {"float32 1 32 8 8", "float32 1 32 8 8"}, "axis=2", {"NCHW16c", "NCHW16c"}, {"", ""},
        "", 512},
    {&tn_op_concatenate, {"float32 1 32 8 8", "float32 1 32 8 8"}, "axis=1", {"NCHW16c", ""}, {"", ""}, "",
        512},
};
/* clang-format on */

static const tn_layout *layout_of(env *e, const char *text)
{
    const tn_layout *l = NULL;
    REQUIRE(e, !*text || tn_layout_parse(&e->ctx, text, NULL, &l) == TN_OK);
    return l;
}

static void layout_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        env e;
        tn_value in[3];
        const tn_layout *taken[3], *given = NULL;
        int n_in = 0;
        env_init(&e);
        for (; n_in < 3 && r->in[n_in]; n_in++) {
            const char *text = r->in[n_in];
            taken[n_in] = layout_of(&e, r->offer[n_in]);
            in[n_in] = *text == '='
                           ? tn_val(tn_constant_new(&e.g, e.body, NULL, type_of(&e, text + 1), NULL, "w"))
                           : operand(&e, text);
        }
        tn_node *n = tn_make_call(&e.g, e.body, NULL, r->op, n_in, in,
                                  r->op->attr ? attr_of(&e, r->op, r->attrs) : NULL, NULL);
        REQUIRE(&e, n);
        tn_machine m = {.vector_bits = r->bits};
        r->op->layout(&(tn_layout_query){.g = &e.g, .machine = &m, .node = n, .in = taken, .out = &given});
        for (int k = 0; k < n_in; k++)
            if (taken[k] != layout_of(&e, r->take[k]))
                fail_msg("row %zu (%s): operand %d gets %s, expected \"%s\"", i, r->op->name, k,
                         taken[k] ? taken[k]->text : "", r->take[k]);
        if (given != layout_of(&e, r->give))
            fail_msg("row %zu (%s): gives %s, expected \"%s\"", i, r->op->name, given ? given->text : "",
                     r->give);
        env_deinit(&e);
    }
}

/* A decided layout survives inference; the shape is inferred anew. */
static void inference_keeps_layouts(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const char *type = "float32 1 32 8 8";
    tn_node *n = node_of(&e, &tn_op_nn_relu, 1, &type, "");
    REQUIRE(&e, n);
    n->type[0] = tn_type_relayout(&e.pool, n->type[0], layout_of(&e, "NCHW16c"));
    REQUIRE(&e, tn_infer_node(&e.g, n) == TN_OK);
    assert_ptr_equal(n->type[0]->layout, layout_of(&e, "NCHW16c"));
    env_deinit(&e);
}

/* A convolution over blocked operands gives what it gives over plain ones. */
static void blocked_convolution_is_the_same(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_node *n = node_of(&e, &tn_op_nn_conv2d, 2, (const char *const[]){"float32 1 5 4 4", "float32 6 5 3 3"},
                         "padding=[1]");
    REQUIRE(&e, n);
    float *x = floats(&e, 80, 1), *w = floats(&e, 270, 2), want[96], *bx = floats(&e, 2 * 16 * 4, 3),
          *bw = floats(&e, 2 * 2 * 9 * 16, 4);
    float *out = floats(&e, 2 * 16 * 4, 5);
    run_node(&e, n, (const void *[]){x, w}, want, NULL);
    for (int i = 0; i < 80; i++) /* NCHW4c; the padded channels hold noise */
        bx[((i / 16 / 4) * 16 + i % 16) * 4 + i / 16 % 4] = x[i];
    for (int i = 0; i < 270; i++) { /* OIHW4i4o */
        int o = i / 45, c = i / 9 % 5, k = i % 9;
        bw[((((o / 4) * 2 + c / 4) * 9 + k) * 4 + c % 4) * 4 + o % 4] = w[i];
    }
    tn_te te;
    tn_tensor *in[2], *t;
    const tn_layout *nchw4c = layout_of(&e, "NCHW4c");
    tn_te_init(&te, &e.ctx, &e.arena, &e.pool, "blocked");
    in[0] = tn_te_input(&te, "x", tn_type_relayout(&e.pool, tn_in_type(n, 0), nchw4c));
    in[1] = tn_te_input(&te, "w", tn_type_relayout(&e.pool, tn_in_type(n, 1), layout_of(&e, "OIHW4i4o")));
    REQUIRE(&e, tn_define_node(&te, &e.g, n, in, &t) == TN_OK);
    tn_func *f = tn_te_finish(&te, 1, &t, &nchw4c);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    REQUIRE(&e, tn_func_run(f, (void *[]){bx, bw, out}, NULL) == TN_OK);
    for (int i = 0; i < 96; i++)
        assert_true(out[((i / 16 / 4) * 16 + i % 16) * 4 + i / 16 % 4] == want[i]);
    env_deinit(&e);
}

/* The group of the design's walk, from the records: an anchor, and one block for all that follows it. */
static void dense_bias_relu_is_two_blocks(void **state)
{
    (void)state;
    env e;
    tn_te te;
    tn_tensor *x, *w, *b, *dense, *bias, *relu;
    env_init(&e);
    tn_node *nd =
        node_of(&e, &tn_op_nn_dense, 2, (const char *const[]){"float32 n 64", "float32 256 64"}, "");
    REQUIRE(&e, nd);
    tn_value in[] = {tn_val(nd), operand(&e, "float32 256")};
    tn_node *nb = tn_make_call(&e.g, e.body, NULL, &tn_op_nn_bias_add, 2, in, NULL, NULL);
    REQUIRE(&e, nb);
    tn_value v = tn_val(nb);
    tn_node *nr = tn_make_call(&e.g, e.body, NULL, &tn_op_nn_relu, 1, &v, NULL, NULL);
    REQUIRE(&e, nr);
    tn_te_init(&te, &e.ctx, &e.arena, &e.pool, "dense_bias_relu");
    x = tn_te_input(&te, "A", tn_in_type(nd, 0));
    w = tn_te_input(&te, "W", tn_type_relayout(&e.pool, tn_in_type(nd, 1), layout_of(&e, "NK32n")));
    b = tn_te_input(&te, "b", tn_in_type(nb, 1));
    te.source = "Gemm_0";
    REQUIRE(&e, tn_define_node(&te, &e.g, nd, (tn_tensor *[]){x, w}, &dense) == TN_OK);
    REQUIRE(&e, tn_define_node(&te, &e.g, nb, (tn_tensor *[]){dense, b}, &bias) == TN_OK);
    REQUIRE(&e, tn_define_node(&te, &e.g, nr, &bias, &relu) == TN_OK);
    tn_te_inline(&te, bias);
    tn_func *f = tn_te_finish(&te, 1, &relu, NULL);
    REQUIRE(&e, tn_func_verify(f) == TN_OK);
    tn_buf text = {0};
    tn_func_print(f, &text);
    assert_string_equal(
        text.at,
        "func @dense_bias_relu(A: f32[n, 64], W: f32[256, 64, NK32n], b: f32[256]) -> (out: f32[n, 256]) {\n"
        "  buffer dense: f32[n, 256]\n"
        "  for i < n, j < 256, k < 64:\n"
        "    block dense(i: spatial, j: spatial, k: reduce) tag \"dense\" source \"Gemm_0\":\n"
        "      init dense[i, j] = 0f\n"
        "      dense[i, j] = W[j, k] * A[i, k] + dense[i, j]\n"
        "  for i < n, j < 256:\n"
        "    block out(i: spatial, j: spatial) tag \"elementwise\" source \"Gemm_0\":\n"
        "      out[i, j] = max(dense[i, j] + b[j], 0f)\n"
        "}\n");
    tn_buf_deinit(&text);
    env_deinit(&e);
}

/* ---- shape arithmetic ---- */

static tn_dims dims_of(env *e, const char *text)
{
    return (tn_dims){type_of(e, text)->n, type_of(e, text)->dim};
}

/* Operand types, their known elements (as extents of a type; NULL: not known), and the result's. */
/* clang-format off */
typedef struct value { const tn_op *op; const char *in[2], *known[2], *attrs, *want; } value;
static const value values[] = {
    {&tn_op_shape_of, {"float32 n 4 h"}, {NULL}, "dtype=\"int64\"", "int64 n 4 h"},
    {&tn_op_take, {"int64 3", "int64"}, {"int64 n 4 h", "int64 2"}, "axis=0", "int64 h"},
    {&tn_op_take, {"int64 3", "int64 2"}, {"int64 n 4 h", "int64 1 0"}, "axis=0", "int64 4 n"},
    {&tn_op_concatenate, {"int64 1", "int64 2"}, {"int64 n", "int64 4 h"}, "axis=0", "int64 n 4 h"},
    {&tn_op_strided_slice, {"int64 3"}, {"int64 n 4 h"}, "begin=[1], end=[9]", "int64 4 h"},
    {&tn_op_strided_slice, {"int64 3"}, {"int64 n 4 h"}, "begin=[-1], end=[-9], strides=[-2]", "int64 h n"},
    {&tn_op_expand_dims, {"int64"}, {"int64 n"}, "axis=0", "int64 n"},
    {&tn_op_squeeze, {"int64 1"}, {"int64 n"}, "", "int64 n"},
    {&tn_op_cast, {"int64 2"}, {"int64 n 4"}, "dtype=\"int32\"", "int32 n 4"},
    {&tn_op_reshape, {"int64 2"}, {"int64 n 4"}, "newshape=[-1]", "int64 n 4"},
    {&tn_op_add, {"int64 2", "int64"}, {"int64 n 4", "int64 1"}, "", "int64 n+1 5"},
    {&tn_op_multiply, {"int64 2", "int64 2"}, {"int64 n 4", "int64 2 h"}, "", "int64 n*2 h*4"},
    {&tn_op_subtract, {"int64 2", "int64 2"}, {"int64 9 4", "int64 2 1"}, "", "int64 7 3"},
    {&tn_op_divide, {"int64 2", "int64"}, {"int64 9 8", "int64 2"}, "", "int64 4 4"},
    {&tn_op_divide, {"int64 2", "int64"}, {"int64 9 8", "int64 0"}, "", NULL},
    {&tn_op_add, {"int64 2", "int64"}, {"int64 n 4", NULL}, "", NULL},
    {&tn_op_add, {"float32 2", "float32"}, {"float32 n 4", "float32 1"}, "", NULL},
    {&tn_op_maximum, {"int64 2", "int64"}, {"int64 7 4", "int64 5"}, "", "int64 7 5"},
    {&tn_op_minimum, {"int64 2", "int64"}, {"int64 7 4", "int64 5"}, "", "int64 5 4"},
    {&tn_op_floor_mod, {"int64 2", "int64"}, {"int64 n*8 13", "int64 8"}, "", "int64 0 5"},
    {&tn_op_mod, {"int64 2", "int64"}, {"int64 9 13", "int64 8"}, "", "int64 1 5"},
    {&tn_op_floor_mod, {"int64 2", "int64"}, {"int64 9 13", "int64 0"}, "", NULL},
    {&tn_op_trunc_divide, {"int64 2", "int64"}, {"int64 n*8 13", "int64 8"}, "", "int64 n 1"},
    {&tn_op_take, {"int64 3", "int64"}, {"int64 n 4 h", "int64 n"}, "axis=0", NULL},
    {&tn_op_cast, {"int64 2"}, {"int64 n 4"}, "dtype=\"float32\"", NULL},
};
/* clang-format on */

static void shape_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const value *v = &values[i];
        env e;
        env_init(&e);
        int n_in = v->in[1] ? 2 : 1;
        tn_node *n = node_of(&e, v->op, n_in, v->in, v->attrs);
        REQUIRE(&e, n);
        assert_true(v->op->flags & TN_OP_HOST_INDEX);
        tn_dims known[2] = {{0}, {0}}, got = {0};
        for (int k = 0; k < n_in; k++)
            if (v->known[k])
                known[k] = dims_of(&e, v->known[k]);
        bool ok = v->op->shape_value(&e.g, n, known, &got);
        if (ok != (v->want != NULL))
            fail_msg("row %zu (%s): %s", i, v->op->name, ok ? "answered" : "gave up");
        if (ok) {
            tn_dims want = dims_of(&e, v->want);
            assert_int_equal(got.n, want.n);
            for (uint32_t k = 0; k < got.n; k++)
                if (!tn_equal(&e.pool, NULL, got.at[k], want.at[k]))
                    fail_msg("row %zu (%s): element %u", i, v->op->name, k);
        }
        env_deinit(&e);
    }
}

/* ---- constants ---- */

static void constants_hold_their_data(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const int64_t dim[2] = {2, 3};
    float data[6] = {1, 2, 3, 4, 5, 6};
    tn_node *c = tn_make_constant(&e.g, e.body, NULL, TN_F32, 2, dim, data, "w");
    REQUIRE(&e, c && c->blob->n == sizeof data);
    data[0] = 9; /* copied */
    assert_true(((const float *)c->blob->at)[0] == 1 && ((const float *)c->blob->at)[5] == 6);
    assert_string_equal(c->name, "w");
    assert_true(*(const float *)tn_make_scalar(&e.g, e.body, NULL, TN_F32, 0.1)->blob->at == 0.1f);
    assert_true(*(const int64_t *)tn_make_scalar(&e.g, e.body, NULL, TN_I64, -3)->blob->at == -3);
    assert_true(*(const uint16_t *)tn_make_scalar(&e.g, e.body, NULL, TN_F16, 1)->blob->at == 0x3c00);
    const int64_t huge[2] = {INT64_MAX, INT64_MAX};
    assert_null(tn_make_constant(&e.g, e.body, NULL, TN_F32, 2, huge, data, "w"));
    assert_string_equal(e.ctx.diag[0].id, "op-E015");
    env_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_rules),
        cmocka_unit_test(inference_keeps_layouts),
        cmocka_unit_test(blocked_convolution_is_the_same),
        cmocka_unit_test(dense_bias_relu_is_two_blocks),
        cmocka_unit_test(shape_values),
        cmocka_unit_test(constants_hold_their_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
