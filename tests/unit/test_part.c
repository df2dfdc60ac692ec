/* Parts of an ONNX file (tenon_file_inspect, tenon_file_cut). */
#include "tenon/tenon.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "onnx/write.h"

static const char *file(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("TENON_SOURCE_DIR"), name);
    return path;
}
#define DIGIT file("examples/models/mnist_cntk.onnx")

static void expect_id(const tenon *t, const char *id)
{
    if (tenon_diagnostic_count(t) != 1 || strcmp(tenon_diagnostic_get(t, 0)->id, id) != 0)
        fail_msg("%s expected, not %s", id, tenon_messages(t));
}

static void a_file_tells_its_nodes(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    const tenon_file_info *x;
    assert_int_equal(tenon_file_inspect(t, DIGIT, &x), 0);
    assert_int_equal(x->n_node, 12);
    assert_int_equal(x->n_input, 1); /* the initialisers are inputs too */
    assert_string_equal(x->input[0], "Input3");
    assert_string_equal(x->output[0], "Plus214_Output_0");
    assert_string_equal(x->node[3].op, "Relu");
    assert_string_equal(x->node[3].name, "ReLU32");
    assert_string_equal(x->node[3].in[0], "Plus30_Output_0");
    assert_string_equal(x->node[3].out[0], "ReLU32_Output_0");
    tenon_free(t);
}

/* Writes part-if.onnx: an If whose branches read x from outside, and `two`, an initialiser. */
static void write_if(void)
{
    tn_buf bytes = write_model("opset 17\ninput c bool\ninput x float 2\ninit two float 1 = 2\n"
                               "graph then\nnode Mul x,two -> a\noutput a\nend\n"
                               "graph else\nnode Neg x -> b\noutput b\nend\n"
                               "node If c -> y then_branch=@then else_branch=@else\noutput y\n");
    FILE *f = fopen("part-if.onnx", "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.at, 1, bytes.n, f), bytes.n);
    assert_int_equal(fclose(f), 0);
    tn_buf_deinit(&bytes);
}

/* What the graphs inside a node read from outside belongs to what the node reads. */
static void captured_values_are_operands(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    const tenon_file_info *x;
    write_if();
    assert_int_equal(tenon_file_inspect(t, "part-if.onnx", &x), 0);
    assert_int_equal(unlink("part-if.onnx"), 0);
    assert_int_equal(x->n_node, 1);
    assert_int_equal(x->node[0].n_operand, 1);
    assert_true(x->node[0].n_in > 2);
    assert_string_equal(x->node[0].in[0], "c");
    assert_string_equal(x->node[0].in[1], "x");
    tenon_free(t);
}

/* A graph inside a node, alone: what it reads from outside is its input or one of its initialisers. */
static void a_branch_is_a_model(void **state)
{
    (void)state;
    static float x[2] = {3, -4}, want[2] = {6, -8};
    tenon_tensor in = {.name = "x", .code = kDLFloat, .bits = 32, .ndim = 1, .shape = {2}};
    tenon_part part = {.size = sizeof part, .n_input = 1, .input = &in, .node = "y", .body = "then_branch"};
    tenon *t = tenon_new(), *u = tenon_new();
    const tenon_tensor *out;
    const void *data;
    size_t n;
    int n_out;
    write_if();
    assert_int_equal(tenon_file_cut(t, "part-if.onnx", &part, &data, &n), 0);
    tenon_module *m = tenon_module_from_memory(u, "part.onnx", data, n, NULL);
    in.data = x;
    in.bytes = sizeof x;
    assert_int_equal(tenon_interpret(m, NULL, "relay", 1, &in, &n_out, &out), 0);
    assert_int_equal(n_out, 1);
    assert_memory_equal(out[0].data, want, sizeof want);
    in.data = NULL;
    part.body = "body";
    assert_int_equal(tenon_file_cut(t, "part-if.onnx", &part, &data, &n), 1);
    expect_id(t, "onnx-E074");
    part.size = offsetof(tenon_part, node); /* of a program that knows nothing of graphs inside nodes */
    part.n_output = 1;
    part.output = (const char *const[]){"y"};
    assert_int_equal(tenon_file_cut(t, "part-if.onnx", &part, &data, &n), 0);
    assert_int_equal(unlink("part-if.onnx"), 0);
    tenon_free(u);
    tenon_free(t);
}

static void a_part_is_a_model(void **state)
{
    (void)state;
    const tenon_tensor in = {
        .name = "Plus30_Output_0", .code = kDLFloat, .bits = 32, .ndim = 4, .shape = {1, 8, 28, 28}};
    const char *const output[] = {"Pooling66_Output_0", "ReLU32_Output_0"};
    const tenon_part part = {
        .size = sizeof part, .n_input = 1, .n_output = 2, .input = &in, .output = output};
    tenon *t = tenon_new(), *u = tenon_new();
    const void *data;
    size_t n;
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 0);
    tenon_module *m = tenon_module_from_memory(u, "part.onnx", data, n, NULL);
    const tenon_module_info *x = tenon_module_inspect(m);
    assert_int_equal(x->n_input, 1);
    assert_string_equal(x->input[0].type, "Tensor[(1, 8, 28, 28), float32]");
    assert_int_equal(x->n_output, 2);
    assert_string_equal(x->output[0].type, "Tensor[(1, 8, 14, 14), float32]");
    assert_int_equal(x->n_operator, 2);
    tenon_free(u);
    tenon_free(t);
}

/* With the model's own inputs, initialisers that the part does not need are gone, and so are inputs of their names. */
static void a_part_keeps_what_it_needs(void **state)
{
    (void)state;
    const char *const output[] = {"Convolution28_Output_0"};
    const tenon_part part = {.size = sizeof part, .n_output = 1, .output = output};
    tenon *t = tenon_new(), *u = tenon_new();
    const void *data;
    size_t n;
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 0);
    assert_true(n < 2000); /* 800 bytes of weights */
    tenon_module *m = tenon_module_from_memory(u, "part.onnx", data, n, NULL);
    const tenon_module_info *x = tenon_module_inspect(m);
    assert_int_equal(x->n_input, 1);
    assert_string_equal(x->input[0].name, "Input3");
    tenon_free(u);
    tenon_free(t);
}

/* Of an output that the file says nothing of, the type that is given. */
static void an_output_has_a_type(void **state)
{
    (void)state;
    static const char typed[] =
        "\x0a\x01q\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x00\x0a\x00"; /* float, [?, ?] */
    const tenon_tensor type = {.name = "q", .code = kDLFloat, .bits = 32, .ndim = 2};
    const char *const output[] = {"q"};
    tenon_part part = {.size = sizeof part, .n_output = 1, .output = output};
    const void *data;
    size_t n;
    tn_buf bytes = write_model("opset 17\ninput x float 2 3\nnode Abs x -> p\nnode Neg p -> q\n"
                               "node Exp q -> y\noutput y\n");
    FILE *f = fopen("part-type.onnx", "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.at, 1, bytes.n, f), bytes.n);
    assert_int_equal(fclose(f), 0);
    tn_buf_deinit(&bytes);
    tenon *t = tenon_new();
    for (int told = 0; told < 2; told++) {
        part.output_type = told ? &type : NULL;
        assert_int_equal(tenon_file_cut(t, "part-type.onnx", &part, &data, &n), 0);
        assert_int_equal(memmem(data, n, typed, sizeof typed - 1) != NULL, told);
    }
    assert_int_equal(unlink("part-type.onnx"), 0);
    tenon_free(t);
}

static void a_value_can_be_an_initialiser(void **state)
{
    (void)state;
    static const float half[8 * 28 * 28] = {0.5f};
    const tenon_tensor in = {.name = "Plus30_Output_0",
                             .code = kDLFloat,
                             .bits = 32,
                             .ndim = 4,
                             .shape = {1, 8, 28, 28},
                             .data = (void *)(uintptr_t)half,
                             .bytes = sizeof half};
    const char *const output[] = {"ReLU32_Output_0"};
    const tenon_part part = {
        .size = sizeof part, .n_input = 1, .n_output = 1, .input = &in, .output = output};
    tenon *t = tenon_new(), *u = tenon_new();
    const tenon_tensor *out;
    const void *data;
    size_t n;
    int n_out;
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 0);
    tenon_module *m = tenon_module_from_memory(u, "part.onnx", data, n, NULL);
    assert_int_equal(tenon_interpret(m, NULL, "relay", 0, NULL, &n_out, &out), 0);
    assert_memory_equal(out[0].data, half, sizeof half);
    tenon_free(u);
    tenon_free(t);
}

static void what_cannot_be_cut_is_said(void **state)
{
    (void)state;
    static float one = 1;
    tenon_tensor in = {.name = "Plus30_Output_0", .code = kDLFloat, .bits = 32};
    const char *output[] = {"ReLU32_Output_0"};
    tenon_part part = {.size = sizeof part, .n_input = 1, .n_output = 1, .input = &in, .output = output};
    tenon *t = tenon_new();
    const tenon_file_info *x;
    const void *data;
    size_t n;
    assert_int_equal(tenon_file_inspect(t, file("tests/cli/models/small.relay"), &x), 1);
    expect_id(t, "onnx-E070");
    assert_null(x);
    assert_int_equal(tenon_file_inspect(t, file("tests/cli/absent.onnx"), &x), 1);
    in.code = kDLComplex;
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 1);
    expect_id(t, "onnx-E072");
    in.code = kDLFloat;
    in.data = &one;
    in.bytes = (size_t)INT_MAX; /* not looked at */
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 1);
    expect_id(t, "onnx-E073");
    in.bytes = sizeof one;
    output[0] = "nothing";
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 1);
    expect_id(t, "onnx-E071");
    part.size = 0;
    assert_int_equal(tenon_file_cut(t, DIGIT, &part, &data, &n), 1);
    expect_id(t, "driver-E100");
    assert_null(data);
    tenon_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_tells_its_nodes),        cmocka_unit_test(captured_values_are_operands),
        cmocka_unit_test(a_branch_is_a_model),           cmocka_unit_test(a_part_is_a_model),
        cmocka_unit_test(a_part_keeps_what_it_needs),    cmocka_unit_test(an_output_has_a_type),
        cmocka_unit_test(a_value_can_be_an_initialiser), cmocka_unit_test(what_cannot_be_cut_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
