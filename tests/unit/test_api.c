/* The public compiler API by handles (tenon/tenon.h): modules, options, diagnostics, builds. */
#include "tenon/relay.h"
#include "tenon/te.h"
#include "tenon/tune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const char text[] = "#[version = \"0.0.5\"]\n#[symbols = \"n in [1, 64]\"]\n#[outputs = [\"y\"]]\n"
                           "#[model = [\"producer_name\", \"hand\"]]\n"
                           "def @main(%x: Tensor[(n, 4), float32]) {\n"
                           "  %0 = nn.relu(%x);\n  add(%0, nn.relu(%0))\n}\n";

static const tenon_diagnostic *only(const tenon *t, const char *id)
{
    if (tenon_diagnostic_count(t) != 1 || strcmp(tenon_diagnostic_get(t, 0)->id, id) != 0)
        fail_msg("%s expected, not %s", id, tenon_messages(t));
    assert_null(tenon_diagnostic_get(t, 1));
    return tenon_diagnostic_get(t, 0);
}

static void a_module_tells_what_is_in_it(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, text, NULL, 0);
    const tenon_module_info *x = tenon_module_inspect(m);
    assert_int_equal(x->n_input, 1);
    assert_string_equal(x->input[0].name, "x");
    assert_string_equal(x->input[0].type, "Tensor[(n, 4), float32]");
    assert_string_equal(x->input[0].extent[0], "n");
    assert_int_equal(x->input[0].shape[0], -1);
    assert_int_equal(x->input[0].shape[1], 4);
    assert_int_equal(x->input[0].dtype.bits, 32);
    assert_string_equal(x->output[0].name, "y");
    assert_int_equal(x->n_function, 1);
    assert_int_equal(x->function[0].n_node, 3);
    assert_int_equal(x->n_operator, 2);
    assert_string_equal(x->op[1].name, "nn.relu");
    assert_int_equal(x->op[1].n_call, 2);
    assert_string_equal(x->symbol[0].name, "n");
    assert_int_equal(x->symbol[0].max, 64);
    assert_string_equal(x->metadata[0].value, "hand");
    assert_int_equal(x->is_tir, 0);
    tenon_free(t);
}

static void a_module_tells_its_data_types(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t,
                                         "type Shape[A, N] { Leaf, Row(N, Shape[A, N], (A, List[A])) }\n"
                                         "def @main(%x: Shape[int32, float32]) { %x }\n",
                                         NULL, 0);
    if (!m)
        fail_msg("%s", tenon_messages(t));
    const tenon_module_info *x = tenon_module_inspect(m);
    const tenon_data_info *own = NULL;
    for (uint32_t i = 0; i < x->n_data; i++)
        if (strcmp(x->data[i].name, "List") == 0)
            assert_int_equal(x->data[i].is_known, 1);
        else if (!x->data[i].is_known)
            own = &x->data[i];
    assert_int_equal(x->n_data, 2); /* of the prelude what is named */
    assert_string_equal(own->name, "Shape");
    assert_int_equal(own->n_param, 2);
    assert_int_equal(own->n_constructor, 2);
    assert_string_equal(own->constructor[0].name, "Leaf");
    assert_int_equal(own->constructor[0].n_field, 0);
    assert_int_equal(own->constructor[1].n_field, 3);
    assert_string_equal(own->constructor[1].field[0], "B");
    assert_string_equal(own->constructor[1].field[1], "Shape[A, B]");
    assert_string_equal(own->constructor[1].field[2], "(A, List[A])");
    tenon_free(t);
}

static void passes_change_a_module_and_builds_do_not(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, text, NULL, 0);
    const char *fused;
    char *before = strdup(tenon_module_print(m));
    assert_int_equal(tenon_module_dump(m, NULL, "relay-fused", &fused, NULL, NULL), 0);
    assert_non_null(strstr(fused, "Primitive=1"));
    assert_int_equal(tenon_check(m, NULL), 0);
    assert_string_equal(tenon_module_print(m), before);
    assert_int_equal(tenon_pass_run(m, "InferType,FuseOps", NULL), 0);
    assert_non_null(strstr(tenon_module_print(m), "Primitive=1"));
    assert_int_equal(tenon_pass_run(m, "FuseOpps", NULL), 1);
    const tenon_diagnostic *d = only(t, "driver-E031");
    assert_string_equal(d->text, "unknown graph pass FuseOpps");
    assert_string_equal(d->hint, "did you mean FuseOps?");
    assert_int_equal(d->severity, TENON_ERROR);
    free(before);
    tenon_free(t);
}

static void mistakes_have_a_place(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    assert_null(tenon_module_parse(t, "def @main(%x: Tensor[(2), float32]) {\n  nn.rellu(%x)\n}\n", NULL, 0));
    const tenon_diagnostic *d = only(t, "relay-E043");
    assert_int_equal(d->line, 2);
    assert_int_equal(d->col, 3);
    assert_string_equal(d->file, "<text>");
    assert_int_equal(tenon_build(NULL, NULL, "x.tar", NULL), 1); /* what was said stays */
    only(t, "relay-E043");
    tenon_module *m = tenon_module_parse(t, "def @f(%x: Tensor[(2), float32]) { %x }", NULL, 0);
    assert_int_equal(tenon_check(m, NULL), 1);
    only(t, "relay-E200");
    tenon_free(t);
}

static void options_say_how_large_they_are(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, text, NULL, 0);
    struct {
        tenon_options o;
        uint64_t newer;
    } large = {.o.size = sizeof large};
    tenon_report r = {0};
    assert_int_equal(tenon_check(m, &(tenon_options){.opt_level = 2}), 1);
    only(t, "driver-E100");
    assert_int_equal(tenon_build(m, NULL, "x.tar", &r), 1);
    only(t, "driver-E100");
    assert_int_equal(tenon_check(m, &large.o), 0);
    large.newer = 1;
    assert_int_equal(tenon_check(m, &large.o), 1);
    only(t, "driver-E101");
    const tenon_options old = {.size = offsetof(tenon_options, machine_file), .target = "c"};
    assert_int_equal(tenon_check(m, &old), 0);
    tenon_free(t);
}

static void a_module_may_be_tir(void **state)
{
    (void)state;
    static const char tir[] = "func @f(x: f32[8]) -> (y: f32[8]) {\n  for i < 8:\n    block y(i: spatial):\n"
                              "      y[i] = x[i]\n}\n";
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, tir, NULL, 0);
    if (!m)
        fail_msg("%s", tenon_messages(t));
    assert_string_equal(tenon_module_inspect(m)->function[0].name, "f");
    assert_int_equal(tenon_module_inspect(m)->function[0].n_param, 1);
    assert_int_equal(tenon_module_inspect(m)->is_tir, 1);
    assert_int_equal(tenon_pass_run(m, "Lower", NULL), 0);
    assert_non_null(strstr(tenon_module_print(m), "phase"));
    assert_int_equal(tenon_check(m, NULL), 1);
    only(t, "driver-E102");
    tenon_free(t);
}

/* The copy and its copy outlive what they were made of; passes over one leave the others as they are. */
static void copies_share_weights_and_nothing_else(void **state)
{
    (void)state;
    static const float weight[] = {1, 2, 3, 4}, data[] = {1, 10, 100, 1000};
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_new(t), *copy, *second;
    tenon_function *f = tenon_function_new(m, "main");
    tenon_value *x = tenon_param(f, "x", "Tensor[(4), float32]");
    tenon_value *w = tenon_constant(f, "float32", 1, (int64_t[]){4}, weight);
    tenon_value *y = tenon_relay(f, "multiply(%0, add(%1, %1))", 2, (tenon_value *[]){x, w});
    assert_int_equal(tenon_function_end(f, 1, &y), 0);
    char *before = strdup(tenon_module_print(m));
    copy = tenon_module_copy(m);
    assert_string_equal(tenon_module_print(copy), before);
    assert_int_equal(tenon_pass_run(m, "FoldConstant,DeadCodeElimination", NULL), 0);
    assert_null(strstr(tenon_module_print(m), "add("));
    assert_string_equal(tenon_module_print(copy), before);
    second = tenon_module_copy(copy);
    tenon_module_free(m);
    tenon_module_free(copy);
    assert_int_equal(tenon_pass_run(second, "FoldConstant", NULL), 0);
    for (int i = 0; i < 3; i++) { /* the first of these made a constant, the others borrow it */
        copy = second;
        second = tenon_module_copy(copy);
        assert_int_equal(tenon_pass_run(second, "DeadCodeElimination", NULL), 0);
        tenon_module_free(copy);
    }
    const tenon_tensor in = {.name = "x",
                             .code = kDLFloat,
                             .bits = 32,
                             .ndim = 1,
                             .shape = {4},
                             .data = (void *)(uintptr_t)data,
                             .bytes = sizeof data},
                       *out;
    int n;
    assert_int_equal(tenon_interpret(second, NULL, "relay", 1, &in, &n, &out), 0);
    for (int i = 0; i < 4; i++)
        assert_true(((const float *)out[0].data)[i] == data[i] * 2 * weight[i]);
    assert_null(tenon_module_copy(NULL));
    free(before);
    tenon_free(t);
}

static void a_cancelled_change_ends_the_module(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, text, NULL, 0), *other = tenon_module_parse(t, text, NULL, 0);
    const int yes = 1;
    const tenon_options o = {.size = sizeof o, .cancel = &yes};
    assert_int_equal(tenon_check(m, &o), 1); /* looks alone */
    assert_int_equal(tenon_check(m, NULL), 0);
    assert_int_equal(tenon_pass_run(m, "InferType", &o), 1);
    assert_int_equal(tenon_check(m, NULL), 1);
    only(t, "driver-E103");
    assert_null(tenon_module_print(m));
    only(t, "driver-E103");
    assert_int_equal(tenon_check(other, NULL), 0);
    tenon_free(t);
}

static void a_package_may_be_memory(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, text, NULL, 0);
    tenon_report r = {.size = sizeof r};
    tnr_module *module;
    tnr_error err;
    void *data;
    size_t n;
    if (tenon_build_memory(m, NULL, &data, &n, &r))
        fail_msg("%s", tenon_messages(t));
    assert_int_equal(n, r.package_bytes);
    tenon_free(t);
    assert_int_equal(tnr_module_open_memory(data, n, NULL, &module, &err), 0);
    assert_int_equal(tnr_input_count(module), 1);
    tnr_module_release(module);
    tenon_package_free(data);
}

/* One function with one thing wrong, which is what its end tells. */
static void mistake(const char *op, const char *attributes, const char *type, const char *id)
{
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_new(t);
    tenon_function *f = tenon_function_new(m, "main");
    tenon_value *x = tenon_param(f, "x", type);
    tenon_value *y = tenon_call(f, op, 1, &x, attributes);
    tenon_value *z = tenon_relay(f, "(%0, %x)", 1, &y);
    assert_int_equal(tenon_function_end(f, 1, &z), 1);
    only(t, id);
    assert_string_equal(tenon_value_type(z), "");
    tenon_free(t);
}

static void relay_is_built_by_hand(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_new(t);
    assert_int_equal(tenon_symbol(m, "n", 3, 2), 1);
    only(t, "relay-E004");
    assert_int_equal(tenon_symbol(m, "n", 1, 8), 0);
    tenon_function *twice = tenon_function_new(m, "twice");
    tenon_value *a = tenon_param(twice, "a", "Tensor[(n, 4), float32]");
    tenon_value *b = tenon_relay(twice, "%a + %a", 0, NULL);
    assert_int_equal(tenon_function_end(twice, 1, &b), 0);
    tenon_function *f = tenon_function_new(m, "main");
    assert_null(tenon_call(f, "nn.relu", 1, &a, NULL)); /* of another function */
    assert_null(tenon_function_new(m, "main"));
    only(t, "relay-E051");
    tenon_module *other = tenon_module_new(t);
    f = tenon_function_new(other, "main");
    tenon_value *x = tenon_param(f, "x", "Tensor[(n, 4), float32]");
    tenon_value *k = tenon_constant(f, "float32", 0, NULL, &(float){2});
    tenon_value *parts = tenon_call(f, "topk", 1, &x, "k=[2], axis=1");
    tenon_value *first = tenon_relay(f, "%0.0 * %1", 2, (tenon_value *[]){parts, k});
    tenon_value *both[] = {first, x};
    if (tenon_function_end(f, 2, both))
        fail_msg("%s", tenon_messages(t));
    assert_string_equal(tenon_module_inspect(other)->output[0].type, "Tensor[(n, 2), float32]");
    tnr_module *code;
    assert_int_equal(tenon_build_here(other, NULL, &code, NULL), 0);
    assert_int_equal(tnr_output_count(code), 2);
    tnr_module_release(code);
    const tenon_options c = {.size = sizeof c, .target = "c"};
    assert_int_equal(tenon_build_here(other, &c, &code, NULL), 1);
    only(t, "driver-E104");
    tenon_free(t);
    mistake("nn.rellu", NULL, "Tensor[(n, 4), float32]", "relay-E043");
    mistake("nn.softmax", "axes=1", "Tensor[(n, 4), float32]", "ir-E020");
    mistake("nn.softmax", "axis=", "Tensor[(n, 4), float32]", "ir-E001");
    mistake("nn.relu", NULL, "Tensor[(n 4), float32]", "ir-E001");
    mistake("nn.relu", NULL, "_", "relay-E053");
    t = tenon_new();
    f = tenon_function_new(tenon_module_new(t), "main");
    assert_null(tenon_constant(f, "float33", 0, NULL, NULL));
    only(t, "driver-E106");
    assert_int_equal(tenon_function_end(tenon_function_new(tenon_module_new(t), "f"), 0, NULL), 1);
    only(t, "driver-E107");
    tenon_free(t);
}

static void kernels_are_scheduled_step_by_step(void **state)
{
    (void)state;
    float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    DLTensor in = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){2, 3}, NULL, 0}, out;
    tnr_module *code;
    tnr_instance *run;
    tnr_error err;
    tenon *t = tenon_new();
    tenon_kernel *k = tenon_kernel_new(t, "rows");
    tenon_te_input(k, "x", "Tensor[(n, 3), float32]");
    tenon_te *y = tenon_te_new(k, "y", "Tensor[(n), float32]", "i");
    tenon_te_over(y, "r", "3");
    tenon_te_reduce(y, "sum", tenon_te_expr(y, "x[i, r] * 2f", 0, NULL));
    if (tenon_kernel_end(k, 1, &y))
        fail_msg("%s", tenon_messages(t));
    assert_int_equal(tenon_step(k, "i r = loops \"out\""), 0);
    assert_int_equal(tenon_step(k, "vectorize q"), 1);
    only(t, "driver-E032");
    assert_int_equal(tenon_step(k, "unroll r"), 0);
    assert_string_equal(tenon_kernel_trace(k), "i r = loops \"out\"\nunroll r\n");
    assert_non_null(strstr(tenon_kernel_print(k), "unrolled"));
    if (tenon_kernel_build(k, NULL, &code))
        fail_msg("%s", tenon_messages(t));
    assert_int_equal(tnr_instance_new(code, NULL, &run, &err), 0);
    assert_int_equal(tnr_set_input(run, "x", &in, &err), 0);
    assert_int_equal(tnr_run(run, &err), 0);
    assert_int_equal(tnr_get_output_at(run, 0, &out, &err), 0);
    assert_true(((float *)out.data)[0] == 12 && ((float *)out.data)[1] == 30);
    tnr_instance_free(run);
    tnr_module_release(code);
    k = tenon_kernel_new(t, "bad");
    y = tenon_te_new(k, "y", "Tensor[(3), float32]", "i");
    assert_int_equal(tenon_kernel_end(k, 1, &y), 1);
    only(t, "driver-E108");
    tenon_free(t);
}

static void operators_say_what_they_take(void **state)
{
    (void)state;
    tenon_operator_record op;
    tenon_attribute_record a;
    size_t i = 0;
    while (tenon_operator_get(i, &op) == 0 && strcmp(op.name, "nn.conv2d") != 0)
        i++;
    const char *doc;
    assert_string_equal(tenon_operator_name(i, &doc), op.name);
    assert_string_equal(op.doc, doc);
    assert_int_equal(op.n_operand, 2);
    assert_int_equal(op.is_structure, 0);
    assert_int_equal(tenon_operator_attribute(i, 0, &a), 0);
    assert_string_equal(a.name, "strides");
    assert_int_equal(a.kind, TENON_ATTRIBUTE_INTS);
    assert_string_equal(a.value, "[1, 1]");
    assert_int_equal(tenon_operator_attribute(i, op.n_attribute, &a), 1);
    for (i = 0; tenon_operator_get(i, &op) == 0 && strcmp(op.name, "take") != 0;)
        i++;
    assert_int_equal(tenon_operator_foreign(i, 0, &a), 0);
    assert_string_equal(a.name, "batch_dims");
    assert_int_equal(a.kind, TENON_ATTRIBUTE_INT);
    assert_string_equal(a.value, "0");
    assert_int_equal(tenon_operator_foreign(i, 1, &a), 1);
    for (i = 0; tenon_operator_get(i, &op) == 0; i++)
        if (strcmp(op.name, "fn") == 0 || strcmp(op.name, "if") == 0)
            assert_int_equal(op.is_structure, 1);
    assert_int_equal(tenon_operator_attribute(i, 0, &a), 1);
    assert_int_equal(tenon_operator_foreign(i, 0, &a), 1);
    for (i = 0; tenon_form_get(i, &op) == 0 && strcmp(op.name, "repeat") != 0; i++)
        assert_true(op.n_operand == -1 || op.n_operand >= op.least_operands);
    assert_int_equal(op.n_operand, 1);
    assert_int_equal(tenon_form_attribute(i, 0, &a), 0);
    assert_string_equal(a.name, "repeats");
    assert_null(a.value);
    while (tenon_form_get(i, &op) == 0)
        i++;
    assert_int_equal(tenon_form_attribute(i, 0, &a), 1);
}

static void same_as_file(const char *path, const void *data, size_t n)
{
    char *found = malloc(n + 1);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(found, 1, n + 1, f), n);
    assert_memory_equal(found, data, n);
    fclose(f);
    free(found);
}

static void a_stage_goes_to_files(void **state)
{
    (void)state;
    static const float weight[] = {1, 2, 3, 4};
    char dir[] = "/tmp/tenon-api-XXXXXX", path[64], beside[80];
    const char *dumped;
    const void *params;
    size_t n_params;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.relay", dir);
    snprintf(beside, sizeof beside, "%s.params", path);
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_new(t);
    tenon_function *f = tenon_function_new(m, "main");
    tenon_value *in[] = {tenon_param(f, "x", "Tensor[(4), float32]"),
                         tenon_constant(f, "float32", 1, (int64_t[]){4}, weight)};
    tenon_value *y = tenon_relay(f, "multiply(%0, %1)", 2, in);
    assert_int_equal(tenon_function_end(f, 1, &y), 0);
    assert_int_equal(tenon_module_dump_to(m, NULL, "relay", path), 0);
    assert_int_equal(tenon_module_dump(m, NULL, "relay", &dumped, &params, &n_params), 0);
    assert_true(n_params > sizeof weight);
    same_as_file(path, dumped, strlen(dumped));
    same_as_file(beside, params, n_params);
    unlink(path);
    assert_int_equal(tenon_module_dump_to(m, NULL, "tir", path), 0); /* which has no constants of its own */
    unlink(path);
    unlink(beside);
    assert_int_equal(mkdir(beside, 0700), 0); /* one of two cannot be written: neither is */
    assert_int_equal(tenon_module_dump_to(m, NULL, "relay", path), 1);
    assert_string_equal(only(t, "base-E003")->file, beside);
    assert_int_equal(access(path, F_OK), -1);
    rmdir(beside);
    assert_int_equal(rmdir(dir), 0);
    tenon_free(t);
}

/* The view of a branch, a constant, several results. */
static void a_function_is_seen_node_by_node(void **state)
{
    (void)state;
    static const char source[] = "def @main(%c: bool, %x: Tensor[(2, 4), float32] /* name=in:0 */) {\n"
                                 "  %0 = topk(%x, k=[4]) /* TopK_0 */;\n"
                                 "  if (%c) { add(%0.0, meta[relay.Constant][0] /* w (4) */) } else { "
                                 "cast(%0.1, dtype=\"float32\") }\n}\n";
    static const float w[] = {1, 2, 3, 4};
    tenon *t = tenon_new();
    tenon_module *m = tenon_relay_parse(t, source, 1, &(tenon_bytes){w, sizeof w});
    if (!m)
        fail_msg("%s", tenon_messages(t));
    const tenon_function_view *f = tenon_function_inspect(m, "main");
    assert_int_equal(f->body.n_param, 2);
    const tenon_node *x = &f->node[f->body.node[1]], *top = &f->node[f->body.node[2]],
                     *branch = &f->node[f->body.result[0].node];
    assert_string_equal(x->op, "var");
    assert_string_equal(x->name, "in:0");
    assert_string_equal(x->type[0], "Tensor[(2, 4), float32]");
    assert_string_equal(top->op, "topk");
    assert_string_equal(top->source, "TopK_0");
    assert_int_equal(top->n_result, 2);
    assert_non_null(strstr(top->attributes, "k=[4]"));
    assert_string_equal(branch->op, "if");
    assert_int_equal(branch->n_region, 2);
    const tenon_node *add = &f->node[branch->region[0].result[0].node];
    assert_string_equal(add->op, "add");
    assert_int_equal(add->operand[0].result, 0);
    assert_true(&f->node[add->operand[0].node] == top);
    const tenon_node *c = &f->node[add->operand[1].node];
    assert_string_equal(c->name, "w");
    assert_ptr_equal(c->data, w);
    assert_int_equal(c->bytes, sizeof w);
    assert_int_equal(c->shape[0], 4);
    assert_null(c->layout);
    assert_null(tenon_function_inspect(m, "f"));
    only(t, "relay-E090");
    assert_null(tenon_relay_parse(t, source, 1, &(tenon_bytes){w, 8}));
    only(t, "relay-E034");
    tenon_free(t);
}

static const char rows[] =
    "func @rows(x: f32[n, 64]) -> (y: f32[n]) {\n"
    "  buffer t: f32[n, 64]\n"
    "  for i < n, j < 64:\n    block t(i: spatial, j: spatial):\n      t[i, j] = x[i, j] * 2f\n"
    "  for i < n, k < 64:\n    block y(i: spatial, k: reduce):\n"
    "      init y[i] = 0f\n      y[i] = y[i] + t[i, k]\n}\n";

static void a_kernel_of_tir_tells_what_is_in_it(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, rows, NULL, 0), *other;
    tenon_kernel *k = tenon_kernel_from_module(m, "rows");
    assert_null(tenon_kernel_from_module(m, "columns"));
    only(t, "tir-E090");
    tenon_module_free(m);
    assert_int_equal(tenon_step(k, "a b = loops \"t\"\nbo bi = split b 16\nvectorize bi"), 0);
    const tenon_kernel_info *x = tenon_kernel_inspect(k);
    assert_string_equal(x->name, "rows");
    assert_int_equal(x->n_block, 2);
    assert_string_equal(x->block[0].name, "t");
    assert_int_equal(x->block[0].n_loop, 3);
    assert_string_equal(x->block[0].loop[0].extent, "n");
    assert_string_equal(x->block[0].loop[2].name, "bi");
    assert_string_equal(x->block[0].loop[2].extent, "16");
    assert_string_equal(x->block[0].loop[2].kind, "vector");
    assert_string_equal(x->block[1].axis[1].extent, "64");
    assert_int_equal(x->block[1].n_read, 1);
    assert_string_equal(x->block[1].read[0], "t");
    assert_int_equal(x->block[1].axis[0].reduces, 0);
    assert_int_equal(x->block[1].axis[1].reduces, 1);
    assert_int_equal(x->n_buffer, 3);
    assert_string_equal(x->buffer[1].name, "y");
    assert_int_equal(x->buffer[1].kind, TENON_BUFFER_OUTPUT);
    assert_string_equal(x->buffer[2].extent[0], "n");
    assert_int_equal(x->n_value, 3);
    assert_string_equal(x->value[2], "bi");
    other = tenon_kernel_module(k);
    assert_non_null(strstr(tenon_module_print(other), "vector for bi"));
    assert_int_equal(tenon_pass_run(other, "Lower", NULL), 0);
    assert_null(tenon_kernel_from_module(other, NULL));
    only(t, "tir-E091");
    assert_int_equal(tenon_step(k, "compute_inline \"t\""), 0);
    assert_int_equal(tenon_kernel_inspect(k)->n_buffer, 2);
    assert_int_equal(tenon_kernel_inspect(k)->n_block, 1);
    assert_int_equal(tenon_kernel_mutate(k, 1), 1); /* it has no sampling step */
    only(t, "driver-E032");
    assert_int_equal(tenon_step(k, "n = sample_categorical 3 4 decision=1"), 0);
    assert_int_equal(tenon_kernel_mutate(k, 1), 0);
    assert_non_null(strstr(tenon_kernel_trace(k), "n = sample_categorical 3 4 decision=0"));
    assert_int_equal(tenon_kernel_rule(k, NULL), 0);
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule "));
    assert_int_equal(tenon_kernel_inspect(NULL) == NULL, 1);
    tenon_free(t);
}

static void a_kernel_of_tir_runs(void **state)
{
    (void)state;
    float x[2][64], want[2] = {0, 0};
    DLTensor in = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){2, 64}, NULL, 0}, out;
    tnr_module *code;
    tnr_instance *run;
    tnr_error err;
    tenon *t = tenon_new();
    tenon_kernel *k = tenon_kernel_from_module(tenon_module_parse(t, rows, NULL, 0), NULL);
    for (int i = 0; i < 128; i++) {
        x[i / 64][i % 64] = (float)(i % 17);
        want[i / 64] += 2 * x[i / 64][i % 64];
    }
    assert_int_equal(tenon_kernel_rule(k, NULL), 0);
    if (tenon_kernel_build(k, NULL, &code))
        fail_msg("%s", tenon_messages(t));
    assert_int_equal(tnr_instance_new(code, NULL, &run, &err), 0);
    assert_int_equal(tnr_set_input(run, "x", &in, &err), 0);
    assert_int_equal(tnr_run(run, &err), 0);
    assert_int_equal(tnr_get_output(run, "y", &out, &err), 0);
    assert_true(((float *)out.data)[0] == want[0] && ((float *)out.data)[1] == want[1]);
    tnr_instance_free(run);
    tnr_module_release(code);
    static const char unbound[] =
        "func @f(x: f32[2*n]) -> (y: f32[2*n]) {\n  for i < 2*n:\n    block y(i: spatial):\n"
        "      y[i] = x[i]\n}\n";
    k = tenon_kernel_from_module(tenon_module_parse(t, unbound, NULL, 0), NULL);
    assert_int_equal(tenon_kernel_build(k, NULL, &code), 1);
    only(t, "tir-E092");
    tenon_free(t);
}

static void steps_have_names(void **state)
{
    (void)state;
    const char *doc;
    size_t n = 0;
    assert_string_equal(tenon_step_name(0, &doc), "loops");
    assert_non_null(strstr(doc, "loops"));
    while (tenon_step_name(n, NULL))
        n++;
    assert_true(n > 10);
}

static void count_trials(void *user, const tenon_tune_progress *p)
{
    assert_true(!p->record == (p->picks != NULL));
    if (p->record)
        assert_true(p->record->workload == p->tasks[p->task].workload && *p->record->trace);
    assert_true(p->trials >= *(uint32_t *)user && p->task < p->n_task);
    *(uint32_t *)user = p->trials;
}

/* What the first task computes, and the choices of a point by its number. */
static void points_are_listed(tenon_module *m, const tenon_tune_task *task)
{
    const tenon_pick *pick;
    uint32_t n;
    assert_true(task->n_operator > 0 && task->n_pick > 0);
    const tenon_tune_operator *o = &task->operators[0];
    assert_true(*o->name && o->attributes && o->n_operand > 0 && strncmp(o->type[0], "Tensor[", 7) == 0);
    const uint32_t all = task->n_pick, ways = task->pick[0].n;
    assert_true(ways > 1 && task->pick[0].index == 0);
    assert_int_equal(tenon_tune_point(m, NULL, NULL, 0, &n, &pick), 0);
    assert_int_equal(n, all);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pick[i].index, 0);
    assert_int_equal(tenon_tune_point(m, NULL, NULL, ways - 1, &n, &pick), 0);
    assert_true(n > 0 && pick[0].n == ways && pick[0].index == ways - 1 && *pick[0].candidate[ways - 1]);
    const tenon_tune_options none = {.size = sizeof none, .tasks = "7"};
    assert_int_equal(tenon_tune_point(m, NULL, &none, 0, &n, &pick), 1);
    assert_true(n == 0 && !pick);
}

static void schedules_are_searched_for(void **state)
{
    (void)state;
    const char *doc;
    uint32_t n, trials = 0;
    const tenon_tune_task *task;
    tenon *t = tenon_new();
    tenon_module *m = tenon_module_parse(t, text, NULL, 0);
    tenon_tune_options o = {
        .size = sizeof o, .trials = 6, .progress = count_trials, .progress_user = &trials};
    assert_int_equal(tenon_tune_list(m, NULL, &o, &n, &task), 0);
    assert_int_equal(n, 2); /* any n, and 1 */
    assert_true(task[0].chosen && task[0].points > 1 && task[0].trials == 0 && task[0].workload != 0);
    points_are_listed(m, &task[0]);
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 0);
    assert_int_equal(trials, 6);
    assert_int_equal(task[0].trials + task[1].trials, 6);
    assert_true(task[0].built_in_seconds > 0 && task[0].seconds > 0);
    o.tuner = tenon_tuner_name(0, &doc);
    o.tasks = "1";
    trials = 0;
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 0);
    assert_int_equal(task[0].trials, 0);
    struct {
        tenon_tune_options known;
        int more;
    } newer = {.known = o, .more = 1};
    newer.known.size = sizeof newer;
    assert_int_equal(tenon_tune_list(m, NULL, &newer.known, &n, &task), 1);
    only(t, "driver-E101");
    assert_int_equal(tenon_tune_list(m, NULL, NULL, &n, &task), 0);
    assert_int_equal(n, 2);
    o.tuner = "oracle";
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 1);
    assert_string_equal(only(t, "driver-E165")->text, "there is no tuner oracle");
    assert_string_equal(
        only(t, "driver-E165")->hint,
        "choose from xgb, ga, random, gridsearch, xgb_itervar, xgb_knob, xgb_curve, xgb_rank, "
        "xgb_rank_itervar, xgb_rank_knob, xgb_rank_curve, xgb_rank_binary, xgb_rank_binary_itervar, "
        "xgb_rank_binary_knob, xgb_rank_binary_curve");
    assert_true(n == 0 && !task);
    o.tuner = NULL;
    o.cost_model = "oracle";
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 1);
    assert_string_equal(only(t, "driver-E205")->text, "there is no cost model oracle");
    assert_string_equal(only(t, "driver-E205")->hint, "choose from trees, xgboost");
    o.cost_model = NULL;
    o.generator = "oracle";
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 1);
    assert_string_equal(only(t, "driver-E186")->text, "there is no generator of schedules oracle");
    assert_string_equal(only(t, "driver-E186")->hint, "choose rules or sketch");
    o.generator = "sketch";
    assert_int_equal(tenon_tune_list(m, NULL, &o, &n, &task), 0);
    assert_true(strncmp(task[0].built_in, "rule", 4) == 0); /* what sketches have to beat */
    trials = 0;
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 0);
    assert_int_equal(trials, 6);
    assert_true(task[1].built_in_seconds > 0 && task[1].seconds <= task[1].built_in_seconds);
    o.size = 1;
    assert_int_equal(tenon_tune(m, NULL, &o, &n, &task), 1);
    only(t, "driver-E100");
    tenon_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_tells_what_is_in_it),
        cmocka_unit_test(a_module_tells_its_data_types),
        cmocka_unit_test(passes_change_a_module_and_builds_do_not),
        cmocka_unit_test(mistakes_have_a_place),
        cmocka_unit_test(options_say_how_large_they_are),
        cmocka_unit_test(a_module_may_be_tir),
        cmocka_unit_test(copies_share_weights_and_nothing_else),
        cmocka_unit_test(a_stage_goes_to_files),
        cmocka_unit_test(a_cancelled_change_ends_the_module),
        cmocka_unit_test(a_package_may_be_memory),
        cmocka_unit_test(relay_is_built_by_hand),
        cmocka_unit_test(kernels_are_scheduled_step_by_step),
        cmocka_unit_test(operators_say_what_they_take),
        cmocka_unit_test(a_function_is_seen_node_by_node),
        cmocka_unit_test(a_kernel_of_tir_tells_what_is_in_it),
        cmocka_unit_test(a_kernel_of_tir_runs),
        cmocka_unit_test(steps_have_names),
        cmocka_unit_test(schedules_are_searched_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
