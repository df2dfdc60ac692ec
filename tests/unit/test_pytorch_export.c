/* Programs of torch.export in archives that are made here, as torch 2.8 and newer write them and as older versions did:
 * what they give as Relay, and what is said of broken ones. In the texts ' stands for the quotes of JSON, ` for '. */
#include "pytorch/archive.h"

static const float weight[] = {1, 2, 3};

static const char *json(char *text)
{
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at == '`' ? '\'' : *at;
    return text;
}

static void expect_all(archive *a, const char *const want[3])
{
    tn_buf said = {0};
    finish(a);
    read_into(&said, &a->file, NULL);
    for (int i = 0; i < 3 && want[i]; i++)
        expect(tn_buf_cstr(&said), want[i]);
    tn_buf_deinit(&said);
    tn_buf_deinit(&a->file);
}

static void add_json(archive *a, const char *name, const char *text)
{
    char *copy = strdup(text);
    add(a, name, json(copy), strlen(copy));
    free(copy);
}

/* ---- the newer form ---- */

/* clang-format off */
#define NAMED(n) "{'as_tensor': {'name': '" n "'}}"
#define ARG(value, kind) "{'name': '', 'arg': " value ", 'kind': " kind "}"
#define NODE(target, inputs, name) "{'target': '" target "', 'name': '" name "', 'inputs': [" inputs \
    "], 'outputs': [" NAMED(name) "]}"
#define BINARY(op, a, b, name) NODE("torch.ops.aten." op ".Tensor", ARG(NAMED(a), "1") ", " ARG(NAMED(b), "1"), name \
    )
#define GRAPH(inputs, nodes, outputs) "{'as_graph': {'name': 'g', 'graph': {'inputs': [" inputs "], 'nodes': [" \
    nodes "], 'outputs': [" outputs "]}}}"
#define TENSORS(names) "{'as_tensors': [" names "]}"
#define GIVES(n) "{'user_output': {'arg': " NAMED(n) "}}"
#define PROGRAM(nodes, outputs) "{'graph_module': {'graph': {'tensor_values': {'x': {'dtype': 7, 'sizes': " \
    "[{'as_expr': {'expr_str': 'Mul(Integer(2), Symbol(`s0`, positive=True, integer=True))'}}, {'as_int': 3}]}, " \
    "'y': {'dtype': 7, 'sizes': [{'as_int': 2}, {'as_int': 3}]}}, 'nodes': [" nodes \
    "]}, 'signature': {'input_specs': [{'parameter': {'arg': {'name': 'p_w'}, 'parameter_name': 'w'}}, " \
    "{'user_input': {'arg': " NAMED("x") "}}, {'user_input': {'arg': " NAMED("y") \
    "}}, {'user_input': {'arg': {'as_sym_int': {'as_name': 'n'}}}}], 'output_specs': [" outputs "]}}}"
#define ADD BINARY("add", "x", "p_w", "add")
#define RELU GRAPH("{'as_tensor': {'name': 'a'}}", NODE("torch.ops.aten.relu.default", ARG(NAMED("a"), "1"), "b"), \
    NAMED("b"))
#define TWICE GRAPH("{'as_tensor': {'name': 'a'}}", BINARY("add", "a", "a", "b"), NAMED("b"))
#define LESS GRAPH("{'as_tensor': {'name': 'a'}}", NODE("torch.ops.aten.sum.default", ARG(NAMED("a"), "1"), "s") \
    ", " NODE("torch.ops.aten.lt.Scalar", ARG(NAMED("s"), "1") ", " ARG("{'as_int': 9}", "1"), "b"), NAMED("b"))
#define SUM GRAPH("{'as_tensor': {'name': 'a'}}, {'as_tensor': {'name': 'c'}}", BINARY("add", "a", "c", "b"), NAMED( \
    "b") ", " NAMED("b"))
#define TWO GRAPH("{'as_tensor': {'name': 'a'}}, {'as_tensor': {'name': 'c'}}", BINARY("add", "a", "c", "b"), \
    NAMED("b"))
#define POSITIVE NODE("torch.ops.aten.gt.Scalar", ARG(NAMED("s"), "1") ", " ARG("{'as_int': 0}", "1"), "c")
#define HIGHER(op, inputs, name) NODE("torch.ops.higher_order." op, inputs, name)
#define ROW NODE("torch.ops.aten.select.int", ARG(NAMED("y"), "1") ", " ARG("{'as_int': 0}", "1") ", " ARG( \
    "{'as_int': 0}", "1"), "row")

static const struct {
    const char *text, *want[3];
} newer[] = {
    {PROGRAM(ADD, GIVES("add")), {"%x: Tensor[(n2_s0, 3), float32]", "add(%x, ", "%n: int64"}},
    {PROGRAM(NODE("torch.ops.aten.mul.Scalar", ARG(NAMED("x"), "1") ", " ARG("{'as_sym_int': {'as_name': 'n'}}", "1"
     ), "m"), GIVES("m")), {"multiply(%x, "}},
    /* an input that changes is a result, too, in both forms of a graph */
    {PROGRAM(ADD, "{'user_input_mutation': {'arg': {'name': 'add'}, 'user_input_name': 'x'}}, " GIVES("p_w")), {
     "add(%x, ", "\"x_out\""}},
    {PROGRAM(BINARY("add_", "x", "p_w", "a") ", " BINARY("mul", "x", "x", "b"), GIVES("b")), {"multiply(%0, %0)",
     "\"x_out\"", "(%1, %0)"}},
    {PROGRAM(ADD, "{'buffer_mutation': {'arg': {'name': 'add'}, 'buffer_name': 'n'}}"), {
     "it changes a buffer that it does not have"}},
    {PROGRAM(ADD, "{'gradient_to_parameter': {'arg': {'name': 'add'}, 'parameter_name': 'w'}}"), {
     "a result of the kind gradient_to_parameter", "pytorch-E023"}},
    {PROGRAM(ADD, GIVES("nothing")), {"the program uses \"nothing\", which it does not set", "pytorch-E003"}},
    {"{'graph_module': 1}", {"pytorch-E019"}},
    {PROGRAM("{'inputs': []}", GIVES("x")), {"a node has no operator", "pytorch-E019"}},
    {PROGRAM(NODE("torch.ops.aten.", ARG(NAMED("x"), "1"), "r"), GIVES("x")), {"a node has no operator"}},
    {"{'graph_module': {'graph': {}, 'signature': {'input_specs': [{'custom_obj': {'arg': {'name': 'o', "
     "'class_fqn': 'my.Queue'}, 'custom_obj_name': 'o'}}], 'output_specs': []}}}", {"the class my.Queue",
     "pytorch-E022"}},
    /* graphs that are called */
    {PROGRAM(HIGHER("wrap_with_set_grad_enabled", ARG("{'as_bool': false}", "1") ", " ARG(RELU, "1") ", " ARG(NAMED(
     "x"), "1"), "r"), GIVES("r")), {"nn.relu(%x)"}},
    {PROGRAM(HIGHER("wrap_with_autocast", ARG("{'as_string': 'cpu'}", "1") ", " ARG("{'as_scalar_type': 13}", "1")
     ", " ARG("{'as_bool': true}", "1") ", " ARG("{'as_none': true}", "1") ", " ARG(GRAPH(
     "{'as_tensor': {'name': 'a'}}", NODE("torch.ops.aten.linear.default", ARG(NAMED("a"), "1") ", " ARG(NAMED("a"),
     "1"), "b"), NAMED("b")), "1") ", " ARG(NAMED("y"), "1"), "r"), GIVES("r")), {"dtype=\"bfloat16\"",
     "Tensor[(2, 2), bfloat16]"}},
    {PROGRAM(NODE("torch.ops.aten.sum.default", ARG(NAMED("x"), "1"), "s") ", " POSITIVE ", " HIGHER("cond", ARG(
     NAMED("c"), "1") ", " ARG(RELU, "1") ", " ARG(TWICE, "1") ", " ARG(TENSORS("{'name': 'x'}"), "1"), "r"), GIVES(
     "r")), {"if (", "nn.relu(%x)", "add(%x, %x)"}},
    {PROGRAM(HIGHER("cond", ARG("{'as_bool': false}", "1") ", " ARG(RELU, "1") ", " ARG(TWICE, "1") ", " ARG(TENSORS
     ("{'name': 'x'}"), "1"), "r"), GIVES("r")), {"add(%x, %x)"}},
    {PROGRAM(HIGHER("while_loop", ARG(LESS, "1") ", " ARG(TWICE, "1") ", " ARG(TENSORS("{'name': 'y'}"), "1") ", "
     ARG(TENSORS(""), "1"), "r"), GIVES("r")), {"loop ("}},
    {PROGRAM(HIGHER("map_impl", ARG(RELU, "1") ", " ARG(TENSORS("{'name': 'y'}"), "1") ", " ARG(TENSORS(""), "1"),
     "r"), GIVES("r")), {"nn.relu(", "concatenate("}},
    {PROGRAM(HIGHER("map_impl", ARG(RELU, "1") ", " ARG(TENSORS("{'name': 'x'}"), "1") ", " ARG(TENSORS(""), "1"),
     "r"), GIVES("r")), {"loop (", "scatter"}},
    {PROGRAM(ROW ", {'target': 'torch.ops.higher_order.scan', 'name': 's', 'inputs': [" ARG(SUM, "1") ", " ARG(
     TENSORS("{'name': 'row'}"), "1") ", " ARG(TENSORS("{'name': 'y'}"), "1") ", " ARG(TENSORS(""), "1")
     "], 'outputs': [" NAMED("last") ", " NAMED("all") "]}", GIVES("last") ", " GIVES("all")), {"concatenate(",
     "Tensor[(3), float32], Tensor[(2, 3), float32]"}},
    {PROGRAM(HIGHER("scan", ARG(SUM, "1") ", " ARG(TENSORS("{'name': 'y'}"), "1") ", " ARG(TENSORS("{'name': 'y'}"),
     "1") ", " ARG("{'as_int': 1}", "1"), "r"), GIVES("r")), {"along another dimension than the first",
     "pytorch-E024"}},
    {PROGRAM(HIGHER("cond", ARG(NAMED("x"), "1"), "r"), GIVES("r")), {"higher_order::cond has other arguments than "
     "PyTorch gives it", "pytorch-E021"}},
    {PROGRAM(HIGHER("wrap", ARG(RELU, "1") ", " ARG(NAMED("x"), "1") ", " ARG(NAMED("x"), "1"), "r"), GIVES("r")), {
     "a graph takes 1 values, but is called with 2", "pytorch-E003"}},
    {PROGRAM(HIGHER("flex_attention", ARG(NAMED("x"), "1"), "r"), GIVES("r")), {
     "operator higher_order::flex_attention is not supported", "pytorch-E004"}},
};

static void programs_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        archive a = {0};
        add_json(&a, "m/models/model.json", newer[i].text);
        add_json(&a, "m/data/weights/model_weights_config.json",
                 "{'config': {'w': {'path_name': 'w0', 'tensor_meta': {'dtype': 7, 'sizes': [{'as_int': 3}], "
                 "'strides': "
                 "[{'as_int': 1}], 'storage_offset': {'as_int': 0}}}}}");
        add(&a, "m/data/weights/w0", weight, sizeof weight);
        add_json(&a, "m/data/constants/model_constants_config.json", "{'config': {}}");
        expect_all(&a, newer[i].want);
    }
}

/* ---- the older forms ---- */

/* A dict of one float tensor over the 12 bytes of storage 0, as torch.save writes it. */
#define TENSOR \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\3tQK\0" \
    "(K\3t(K\1t\x89}tR"
#define DICT "\x80\2}(X\1\0\0\0w" TENSOR "u."

static void add_saved(archive *a, const char *name, const char *order)
{
    archive in = {0};
    add(&in, "w/data.pkl", DICT, sizeof DICT - 1);
    add(&in, "w/byteorder", order, strlen(order));
    add(&in, "w/data/0", weight, sizeof weight);
    finish(&in);
    add(a, name, in.file.at, in.file.n);
    tn_buf_deinit(&in.file);
}

#define OLD_ARG(name, value) "{'name': '" name "', 'arg': " value "}"
#define OLD_NODE(target, inputs, name) "{'target': '" target "', 'inputs': [" inputs "], 'outputs': [" NAMED(name) \
    "], 'metadata': {}}"
/* torch 2.2 to 2.7: all arguments are named, numbers are Python's */
#define OLD(nodes, outputs) "{'graph_module': {'graph': {'tensor_values': {'x': {'dtype': 7, 'sizes': [{'as_expr': " \
    "{'expr_str': 's0', 'hint': {'as_int': 2}}}, {'as_int': 3}]}}, 'nodes': [" nodes \
    "]}, 'signature': {'input_specs': [{'buffer': {'arg': {'name': 'b_w'}, 'buffer_name': 'w', 'persistent': " \
    "true}}, {'user_input': {'arg': " NAMED("x") "}}, {'constant_input': {'name': 'y', 'value': {'as_none': " \
    "[]}}}], 'output_specs': [" outputs "]}}, 'range_constraints': {'s0': {'min_val': 0, 'max_val': Infinity}}}"
/* torch 2.1: every member of a union, tables for a signature */
#define UNION(n) "{'as_none': null, 'as_tensor': {'name': '" n "'}, 'as_int': null, 'as_ints': null}"
#define OLDEST(nodes, outputs, changed) "{'graph_module': {'graph': {'inputs': [" UNION("arg0_1") ", " UNION( \
    "arg1_1") "], 'outputs': [" outputs "], 'tensor_values': {'arg1_1': {'meta': {'dtype': 7, 'sizes': " \
    "[{'as_expr': null, 'as_int': 2}, {'as_expr': null, 'as_int': 3}]}}}, 'nodes': [" nodes \
    "]}, 'signature': {'inputs_to_parameters': {}, 'inputs_to_buffers': {'arg0_1': 'w'}, 'user_inputs': " \
    "['arg1_1'], 'user_outputs': ['m'], 'buffers_to_mutate': {" changed "}}}}"

static const struct {
    const char *weights, *text, *want[3];
} older[] = {
    {"m.pt", OLD(OLD_NODE("torch.ops.aten.mul.Tensor", OLD_ARG("self", NAMED("x")) ", " OLD_ARG("other", NAMED("b_w"
     )), "m"), GIVES("m")), {"%x: Tensor[(s0, 3), float32]", "multiply(%x, "}},
    /* an argument that is left out in the middle; one that only a name gives */
    {"m.pt", OLD(OLD_NODE("torch.ops.aten.max.dim", OLD_ARG("self", NAMED("x")) ", " OLD_ARG("dim", "{'as_int': 1}")
     ", " OLD_ARG("keepdim", "{'as_bool': true}"), "m") ", " OLD_NODE("torch.ops.aten.add.Tensor", OLD_ARG("self",
     NAMED("x")) ", " OLD_ARG("other", NAMED("x")) ", " OLD_ARG("alpha", "{'as_int': 5}"), "a"), GIVES("a")), {
     "multiply(%x, 5f)"}},
    {"m.pt", OLD(OLD_NODE("torch.ops.aten.softmax.int", OLD_ARG("self", NAMED("x")) ", " OLD_ARG("dim",
     "{'as_int': 1}") ", " OLD_ARG("dtype", "{'as_scalar_type': 6}"), "m"), GIVES("m")), {"nn.softmax(", "float16]"}
     },
    {"m.pt", OLD("{'target': 'torch.ops.aten.sym_size.int', 'inputs': [" OLD_ARG("self", NAMED("x")) ", " OLD_ARG(
     "dim", "{'as_int': 0}") "], 'outputs': [{'as_sym_int': {'as_name': 'n'}}]}, {'target': '_operator.mul', "
     "'inputs': [" OLD_ARG("a", "{'as_sym_int': {'as_name': 'n'}}") ", " OLD_ARG("b", "{'as_int': 3}")
     "], 'outputs': [{'as_sym_int': {'as_name': 'k'}}]}, " OLD_NODE("torch.ops.aten.view.default", OLD_ARG("self",
     NAMED("x")) ", " OLD_ARG("size", "{'as_sym_ints': [{'as_name': 'k'}]}"), "m"), GIVES("m")), {"reshape(%x",
     "-> Tensor[(s0*3), float32]"}},
    {"m.pt", OLD(OLD_NODE("torch.ops.aten.clamp.default", OLD_ARG("self", NAMED("x")) ", " OLD_ARG("max",
     "{'as_float': Infinity}") ", " OLD_ARG("min", "{'as_float': -1.5}"), "m"), GIVES("m")), {"-1.5"}},
    {"m.pt", OLD(OLD_NODE("torch.ops.aten.add.Tensor", OLD_ARG("self", NAMED("x")) ", " OLD_ARG("other", NAMED("b_w"
     )), "m"), "{'buffer_mutation': {'arg': {'name': 'b_w'}, 'buffer_name': 'w'}}, " GIVES("m")), {
     "%w: Tensor[(3), float32] /* state */"}},
    /* torch 2.2 and 2.4: a plain name; a graph called by another name; a map with all its values in a row */
    {"m.pt", OLD(OLD_NODE("torch.ops.aten.ne.Scalar", OLD_ARG("self", NAMED("b_w")) ", "
     OLD_ARG("other", "{'as_int': 2}"), "c") ", " OLD_NODE("torch.ops.aten.index.Tensor", OLD_ARG("self", NAMED("x"))
     ", " OLD_ARG("indices", "{'as_optional_tensors': [{'as_none': []}, {'as_tensor': 'c'}]}"), "m"), GIVES("m")),
     {"take("}},
    {"m.pt", OLD(OLD_NODE("torch._higher_order_ops.wrap.wrap_with_set_grad_enabled", OLD_ARG("", "{'as_bool': true}")
     ", " OLD_ARG("", RELU) ", " OLD_ARG("", NAMED("x")), "m"), GIVES("m")), {"nn.relu(%x)"}},
    {"m.pt", OLD(OLD_NODE("torch.ops.higher_order.map_impl", OLD_ARG("", TWO) ", " OLD_ARG("", "{'as_int': 1}") ", "
     OLD_ARG("", NAMED("b_w")) ", " OLD_ARG("", NAMED("b_w")), "m"), GIVES("m")), {"Tensor[(3, 3), float32]"}},
    {"none.pt", OLD("", GIVES("x")), {"the weight w is missing, or pickled", "pytorch-E019"}},
    {"big.pt", OLD("", GIVES("x")), {"its numbers are big-endian", "pytorch-E018"}},
    {"text.pt", OLD("", GIVES("x")), {"pytorch-E001"}},
    {"m.json", OLDEST(OLD_NODE("torch.ops.aten.add.Tensor", OLD_ARG("self", UNION("arg1_1")) ", " OLD_ARG("other",
     UNION("arg0_1")) ", " OLD_ARG("alpha", "{'as_none': null, 'as_int': 2}"), "m"), UNION("m"), ""), {
     "%arg1_1: Tensor[(2, 3), float32]", "add(%arg1_1, meta[relay.Constant][0] /* (3) */)"}},
    {"m.json", OLDEST(OLD_NODE("torch.ops.aten.neg.default", OLD_ARG("self", UNION("arg0_1")), "n") ", " OLD_NODE(
     "torch.ops.aten.add.Tensor", OLD_ARG("self", UNION("arg1_1")) ", " OLD_ARG("other", UNION("n")), "m"), UNION(
     "n") ", " UNION("m"), "'n': 'w'"), {"%w: Tensor[(3), float32] /* state */", "negative(%w)", "add(%arg1_1, "}},
};

/* clang-format on */

static void older_programs_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof older / sizeof *older; i++) {
        archive a = {0};
        const char *form = older[i].weights;
        bool oldest = strstr(form, ".json");
        const char *name = oldest ? "serialized_state_dict.json" : "serialized_state_dict.pt";
        add_json(&a, "serialized_exported_program.json", older[i].text);
        if (form[0] == 't')
            add_json(&a, name, "no archive");
        else if (form[0] != 'n')
            add_saved(&a, name, form[0] == 'b' ? "big" : "little");
        add(&a, "version", "1", 1);
        expect_all(&a, older[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_read),
        cmocka_unit_test(older_programs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
