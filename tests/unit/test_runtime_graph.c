/* The graph executor: same bits as the AOT executor, storage as mod.json plans it, and mod.json damaged in
 * every way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/toy.h"
#include "runtime/toy_model.h"

static tn_library kernels_only(void)
{
    tn_library l = toy_static;
    l.program = NULL;
    return l;
}

static tnr_status open_json(const tn_library *library, const char *json, size_t n, tnr_module **m,
                            tnr_error *err)
{
    blob b = blob_toy_params(1);
    static blob kept; /* borrowed by the module; one module at a time */
    free(kept.at);
    kept = b;
    return tnr_module_open_parts(
        &(tnr_parts){.library = library, .json = json, .json_n = n, .params = b.at, .params_n = b.n}, m, err);
}

static tnr_instance *run(tnr_module *m, int executor, toy_io *io)
{
    tnr_instance *inst;
    tnr_error err = {0};
    tnr_status status = tnr_instance_new(m, &(tnr_instance_options){.executor = executor}, &inst, &err);
    if (!status)
        status = toy_set(inst, io, &err);
    if (!status)
        status = tnr_run(inst, &err);
    if (status)
        fail_msg("%s", err.message);
    return inst;
}

static void both_executors_give_the_same_bits(void **state)
{
    (void)state;
    tnr_module *m;
    tnr_error err;
    assert_int_equal(open_json(&toy_static, blob_toy_json, sizeof blob_toy_json - 1, &m, &err), TNR_OK);
    assert_true(tnr_module_has_executor(m, TNR_EXECUTOR_AOT) &&
                tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH));
    for (int executor = 0; executor < 2; executor++)
        for (uint32_t seed = 0; seed < 10; seed++) {
            toy_io io;
            tnr_memory memory;
            toy_fill(&io, TOY_STATIC_N, seed);
            tnr_instance *inst = run(m, executor, &io);
            assert_null(toy_differs(inst, &io));
            assert_int_equal(tnr_memory_get(inst, &memory, NULL), TNR_OK);
            assert_int_equal(memory.arena, 2 * 192 + 24); /* ids 4 and 5 at their largest, and work */
            assert_int_equal(memory.constants, 32);
            assert_int_equal(memory.outputs,
                             192 + 24 + 4 + 192); /* sum shares its id with t1: in the arena */
            tnr_instance_free(inst);
        }
    tnr_module_release(m);
}

static void runs_from_json_alone(void **state)
{
    (void)state;
    tn_library library = kernels_only();
    tnr_module *m;
    tnr_instance *inst;
    tnr_error err;
    tnr_tensor_info info;
    toy_io io;
    float rows[6];
    int64_t shape[] = {6};
    DLTensor r = toy_tensor(rows, kDLFloat, 32, 1, shape), v;
    assert_int_equal(open_json(&library, blob_toy_json, sizeof blob_toy_json - 1, &m, &err), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, &err), TNR_E_EXECUTOR);
    assert_string_equal(
        err.message,
        "the aot executor cannot run this package: mod.so has no program; use the graph executor");
    assert_int_equal(tnr_output_info(m, 1, &info, NULL), TNR_OK);
    assert_string_equal(info.name, "output_1");
    assert_int_equal(info.ndim, 1);
    assert_int_equal(info.shape[0], 48);
    toy_fill(&io, TOY_STATIC_N, 4);
    inst = run(m, TNR_EXECUTOR_GRAPH, &io);
    assert_null(toy_differs(inst, &io));
    assert_int_equal(tnr_set_output(inst, "output_2", &r, NULL),
                     TNR_OK); /* its own storage id: written directly */
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_int_equal(tnr_get_output_at(inst, 2, &v, NULL), TNR_OK);
    assert_ptr_equal(v.data, rows);
    assert_memory_equal(rows, io.rows, sizeof rows);
    io.idx[0] = -1;
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_string_equal(err.message, "Gather_0: index out of range");
    tnr_instance_free(inst);
    tnr_module_release(m);
}

/* ---- other graphs: heads that are reshapes, the same head twice, a reshaped input ---- */

static void heads_of_every_kind(void **state)
{
    (void)state;
    /* entries: x(0) idx(1) nop of x(2) rows = sum(nop)(3) nop of rows(4) */
    static const char json[] =
        "{\"nodes\":[{\"op\":\"null\",\"name\":\"x\",\"inputs\":[]},{\"op\":\"null\",\"name\":\"p1\","
        "\"inputs\":[]}," BLOB_OP("n", "__nop", "1", "[[0,0,0]]") "," BLOB_OP(
            "s", "tvmgen_default_fused_sum", "1",
            "[[2,0,0]]") "," BLOB_OP("m", "__nop", "1",
                                     "[[3,0,0]]") "],\"arg_nodes\":[0,1],"
                                                  "\"heads\":[[4,0,0],[3,0,0],[3,0,0],[2,0,0],[1,0,0]],"
                                                  "\"metadata\":{\"any\":[1,2]},"
                                                  "\"attrs\":{\"dltype\":[\"list_str\",[\"float32\","
                                                  "\"float32\",\"float32\",\"float32\",\"float32\"]],"
                                                  "\"shape\":[\"list_shape\",[[48],[1],[6,8],[6],[3,2]]],"
                                                  "\"storage_id\":[\"list_int\",[0,1,0,2,2]],"
                                                  "\"storage_scope\":[\"list_str\",[\"global\",\"global\","
                                                  "\"global\",\"global\",\"global\"]]},"
                                                  "\"node_row_ptr\":[0,1,2,3,4,5]}";
    tn_library library = kernels_only();
    tnr_module *m;
    tnr_instance *inst;
    tnr_error err = {0};
    float x[48], rows[6] = {0};
    int64_t shape[] = {48};
    DLTensor t = toy_tensor(x, kDLFloat, 32, 1, shape);
    tnr_status status = open_json(&library, json, sizeof json - 1, &m, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, TNR_OK);
    for (int i = 0; i < 48; i++)
        x[i] = (float)i;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 48; i++)
            rows[i / 8] += x[i];
    assert_int_equal(
        tnr_instance_new(m, &(tnr_instance_options){.executor = TNR_EXECUTOR_GRAPH}, &inst, NULL), TNR_OK);
    assert_int_equal(tnr_set_input(inst, "x", &t, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_null(toy_output_differs(inst, 0, 2, (int64_t[]){3, 2}, rows, 24));
    assert_null(toy_output_differs(inst, 1, 1, (int64_t[]){6}, rows, 24));
    assert_null(toy_output_differs(inst, 2, 1, (int64_t[]){6}, rows, 24));
    assert_null(toy_output_differs(inst, 3, 2, (int64_t[]){6, 8}, x, sizeof x));
    assert_null(toy_output_differs(inst, 4, 1, (int64_t[]){1}, blob_p1, 4));
    tnr_instance_free(inst);
    tnr_module_release(m);
}

/* The json with its first `from` replaced; freed by the caller. */
static char *replaced_in(const char *json, const char *from, const char *to)
{
    const char *at = strstr(json, from);
    if (!at)
        fail_msg("\"%s\" is not in the json", from);
    size_t before = (size_t)(at - json), n = strlen(json) + strlen(to) + 1;
    char *s = malloc(n);
    snprintf(s, n, "%.*s%s%s", (int)before, json, to, at + strlen(from));
    return s;
}

static char *replaced(const char *from, const char *to) { return replaced_in(blob_toy_json, from, to); }

#define ONES "\"device_index\":[\"list_int\",[1,1,1,1,1,1,1,1,1,1,1]]"
#define OFFSETS(list) "\"storage_offset\":[\"list_int\",[" list "]]"

/* Node s with a place for its work memory; freed by the caller. */
static char *with_work(const char *json, const char *offset)
{
    static const char before[] = "\"hash\":\"1234\"},\"inputs\":[[6,0,0]]},{\"op\":\"tvm_op\",\"name\":\"c\"";
    char to[128];
    snprintf(to, sizeof to, "\"work_offset\":\"%s\"%s", offset, before + strlen("\"hash\":\"1234\""));
    return replaced_in(json, before, to);
}

/* t1 and rows2 share bytes, which do not make their storage_ids one; sum's work memory lies over what is dead
 * by then. */
static void memory_is_planned_by_offsets(void **state)
{
    (void)state;
    for (int work = 0; work < 2; work++) {
        tnr_module *m;
        tnr_error err = {0};
        tnr_memory memory;
        toy_io io;
        char *planned = replaced(ONES, OFFSETS("-1,-1,-1,-1,0,192,-1,-1,-1,64,-1"));
        char *json = work ? with_work(planned, "128") : strdup(planned);
        assert_int_equal(open_json(&toy_static, json, strlen(json), &m, &err), TNR_OK);
        toy_fill(&io, TOY_STATIC_N, 5);
        tnr_instance *inst = run(m, TNR_EXECUTOR_GRAPH, &io);
        assert_null(toy_differs(inst, &io));
        assert_int_equal(tnr_memory_get(inst, &memory, NULL), TNR_OK);
        assert_int_equal(memory.arena, work ? 384 : 384 + 24);
        tnr_instance_free(inst);
        tnr_module_release(m);
        free(json);
        free(planned);
    }
}

/* Node s sums what lies in bytes 0 to 192 and writes 256 to 280. */
static void work_memory_is_apart_from_its_call(void **state)
{
    (void)state;
    static const char over[] =
        "the program is damaged: work memory that overlaps an operand or a result of kernel "
        "\"tvmgen_default_fused_sum\"";
    const struct {
        const char *offset, *message;
    } row[] = {{"0", over}, {"128", over}, {"256", over}, {"192", ""}, {"320", ""}};
    tn_library library = kernels_only();
    char *planned = replaced(ONES, OFFSETS("-1,-1,-1,-1,0,192,0,-1,256,384,-1"));
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tnr_module *m;
        tnr_error err = {0};
        toy_io io;
        char *json = with_work(planned, row[i].offset);
        tnr_status status = open_json(&library, json, strlen(json), &m, &err);
        assert_string_equal(err.message, row[i].message);
        assert_int_equal(status, *row[i].message ? TNR_E_FORMAT : TNR_OK);
        free(json);
        if (status)
            continue;
        toy_fill(&io, TOY_STATIC_N, 5);
        tnr_instance *inst = run(m, TNR_EXECUTOR_GRAPH, &io);
        assert_null(toy_differs(inst, &io));
        tnr_instance_free(inst);
        tnr_module_release(m);
    }
    free(planned);
}

/* ---- damage ---- */

static void damage_has_words(void **state)
{
    (void)state;
    static const char top[] =
        "mod.json: must be an object of nodes, arg_nodes, heads, attrs, node_row_ptr and metadata";
    static const char args[] = "mod.json: arg_nodes must list the null nodes in order";
    static const char input[] = "mod.json: node 4 (a0): an input is not the output of an earlier node";
    static const char rising[] = "mod.json: node_row_ptr must begin with 0 and must not decrease";
    const struct {
        const char *from, *to, *message;
    } row[] = {
        {"\"arg_nodes\"", "\"arg_odes\"", top},
        {"{\"nodes\":", "[{\"nodes\":", NULL},
        {"\"arg_nodes\":[0,1,2,3],", "", "mod.json: arg_nodes is missing"},
        {"\"arg_nodes\":[0,1,2,3]", "\"arg_nodes\":[0,1,2]", args},
        {"\"arg_nodes\":[0,1,2,3]", "\"arg_nodes\":[0,2,1,3]", args},
        {"\"arg_nodes\":[0,1,2,3]", "\"arg_nodes\":[0,1,2,3,4]", args},
        {"\"heads\"", "\"metadata\"", "mod.json: nodes, heads, attrs or node_row_ptr is missing"},
        {"\"shape\"", "\"shapes\"",
         "mod.json: attrs may hold shape, dltype, storage_id, storage_offset, device_index and "
         "storage_scope"},
        {"\"list_shape\"", "\"list_int\"",
         "mod.json: attrs must hold shape, dltype and storage_id, one for each output of each node"},
        {"[[6,8],[6,8],[8],[1],", "[[6,8],[6,8],[8],",
         "mod.json: attrs must hold shape, dltype and storage_id, one for each output of each node"},
        {"[1,1,1,1,1,1,1,1,1,1,1]", "[1,1,2,1,1,1,1,1,1,1,1]",
         "mod.json: device_index names a device other than the CPU (1)"},
        {"\"device_index\":[\"list_int\",[1,1,1,1,1,1,1,1,1,1,1]]",
         "\"storage_scope\":[\"list_str\",[\"global.texture\","
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]]",
         "mod.json: storage_scope names a scope other than global"},
        {"[0,1,2,3,4,5,6,7,8,9,10,11]", "[0,1,2,3,4,5,6,7,8,9,11]",
         "mod.json: node_row_ptr must have one number more than there are nodes"},
        {"[0,1,2,3,4,5,6,7,8,9,10,11]", "[0,1,2,3,4,6,5,7,8,9,10,11]", rising},
        {"[0,1,2,3,4,5,6,7,8,9,10,11]", "[1,1,2,3,4,5,6,7,8,9,10,11]", rising},
        {"[0,1,2,3,4,5,6,7,8,9,10,11]", "[0,1,2,3,99,5,6,7,8,9,10,11]", rising},
        {"[0,1,2,3,4,5,6,7,8,9,10,11]", "[0,1,3,3,4,5,6,7,8,9,10,11]",
         "mod.json: node 1 (y): a null node has no inputs and one "
         "output"},
        {"[[6,8],[6,8],[8],[1],", "[[6,8],[6,8],[8],7,",
         "mod.json: a shape is not a list of at most 64 numbers"},
        {"[[6,8],[6,8],[8],[1],", "[[6,8],[6,-8],[8],[1],",
         "mod.json: a dimension is negative or not a number"},
        {"[[6,8],[6,8],[8],[1],", "[[6,8],[6,8.5],[8],[1],",
         "mod.json: a dimension is negative or not a number"},
        {"[[6,8],[6,8],[8],[1],", "[[9223372036854775807,8],[6,8],[8],[1],",
         "mod.json: a tensor is too large"},
        {"\"int32\"", "\"int33\"", "mod.json: dltype contains an unknown type"},
        {"[0,1,2,3,4,5,4,4,6,5,7]", "[0,1,2,3,4,5,4,4,6,5,11]",
         "mod.json: a storage_id is negative or larger than the number of values"},
        {"[0,1,2,3,4,5,4,4,6,5,7]", "[0,1,2,3,4,5,4,6,6,5,7]",
         "mod.json: node 7 (reshape_nop): __nop must keep storage_id and "
         "size"},
        {"[0,1,2,3,4,5,4,4,6,5,7]", "[0,1,2,3,4,5,4,4,0,5,7]",
         "mod.json: node 8 (s): its result would overwrite an input or a constant: both have the same "
         "storage_id"},
        {"[48]", "[47]", "mod.json: node 7 (reshape_nop): __nop must keep storage_id and size"},
        {"\"op\":\"null\",\"name\":\"x\"", "\"op\":\"nul\",\"name\":\"x\"",
         "mod.json: node 0 (x): op must be null, or tvm_op with "
         "attrs"},
        {"\"op\":\"null\",\"name\":\"x\"", "\"op\":\"null\",\"name\":7",
         "mod.json: node 0: must have op, name and inputs, and may "
         "have attrs and control_deps"},
        {"\"op\":\"null\",\"name\":\"x\"", "\"op\":\"null\",\"name\":\"x\\u0000\"",
         "mod.json: node 0 (x): its name contains a zero byte"},
        {"\"name\":\"a0\"", "\"nam\":\"a0\"",
         "mod.json: node 4: must have op, name and inputs, and may have attrs and "
         "control_deps"},
        {"[[0,0,0],[1,0,0],[2,0,0]]", "[[0,0,0],[1,0,0],[4,0,0]]", input},
        {"[[0,0,0],[1,0,0],[2,0,0]]", "[[0,0,0],[1,0,0],[2,1,0]]", input},
        {"[[0,0,0],[1,0,0],[2,0,0]]", "[[0,0,0],[1,0,0],[2,0,1]]", input},
        {"[[0,0,0],[1,0,0],[2,0,0]]", "[[0,0,0],[1,0,0],[2]]", input},
        {"[[0,0,0],[1,0,0],[2,0,0]]", "[[0,0,0],[1,0,0],[-1,0,0]]", input},
        {"[[0,0,0],[1,0,0],[2,0,0]]", "[[0,0,0],[1,0,0]]",
         "mod.json: node 4 (a0): attrs must hold func_name, and num_inputs and "
         "num_outputs that fit"},
        {"\"func_name\":\"__nop\",\"num_inputs\":\"1\"", "\"func_name\":\"__nop\",\"num_inputs\":\"2\"",
         "mod.json: node 7 "
         "(reshape_nop): attrs must hold func_name, and num_inputs and num_outputs that fit"},
        {"\"num_inputs\":\"3\"", "\"num_inputs\":3",
         "mod.json: node 4 (a0): the values of attrs must be strings"},
        {"\"flatten_data\":\"0\"", "\"flatten_data\":\"1\"",
         "mod.json: node 4 (a0): flatten_data must be \"0\""},
        {"tvmgen_default_fused_sum", "tvmgen_default_fused_sin",
         "mod.json: node 8 calls \"tvmgen_default_fused_sin\", which mod.so does not have"},
        {"tvmgen_default_fused_sum", "tvmgen_default_fused_take",
         "mod.json: node 8 has 1 inputs and 1 outputs, its kernel "
         "tvmgen_default_fused_take 2 and 1"},
        {"\"heads\":[[6,0,0]", "\"heads\":[[11,0,0]", "mod.json: a head is not the output of a node"},
        {"\"heads\":[[6,0,0]", "\"heads\":[[6,1,0]", "mod.json: a head is not the output of a node"},
        {"\"name\":\"p0\"", "\"name\":\"p1\"",
         "the program is damaged: operands that do not fit"}, /* see below */
    };
    tn_library library = kernels_only();
    tnr_module *m = NULL;
    tnr_error err;
    for (size_t i = 0; i + 1 < sizeof row / sizeof row[0]; i++) {
        char *json = replaced(row[i].from, row[i].to);
        err = (tnr_error){0};
        tnr_status status = open_json(&library, json, strlen(json), &m, &err);
        if (status != TNR_E_FORMAT || (row[i].message && strcmp(err.message, row[i].message) != 0))
            fail_msg("row %zu: %d \"%s\"", i, status, err.message);
        free(json);
    }
    /* p1 is a constant of another size than mod.json says */
    char *json = replaced("\"name\":\"p0\"", "\"name\":\"p1\"");
    assert_int_equal(open_json(&library, json, strlen(json), &m, &err), TNR_E_FORMAT);
    assert_string_equal(
        err.message,
        "constant \"p1\" in mod.params is float32 of 4 bytes, but the program expects float32 of 32");
    free(json);
}

static void plans_that_cannot_be(void **state)
{
    (void)state;
    static const char place[] = "mod.json: a storage_offset is neither -1 nor a valid multiple of 64";
    static const char work[] = "mod.json: node 4 (a0): work_offset must be a valid multiple of 64";
    const struct {
        const char *from, *to, *message;
    } row[] = {
        {ONES, OFFSETS("-1,-1,-1,-1,0,192,-1,-1,-1,64"),
         "mod.json: storage_offset must have one element for each output of each node"},
        {ONES, OFFSETS("-1,-1,-1,-1,0,32,-1,-1,-1,64,-1"), place},
        {ONES, OFFSETS("-1,-1,-1,-1,0,-64,-1,-1,-1,64,-1"), place},
        {ONES, OFFSETS("-1,-1,-1,-1,0,9223372036854775744,-1,-1,-1,64,-1"), place},
        {ONES, OFFSETS("-1,-1,-1,-1,0,-1,-1,-1,-1,64,-1"),
         "mod.json: a result that is not an output has no storage_offset"},
        {ONES, OFFSETS("-1,-1,-1,-1,0,128,-1,-1,-1,64,-1"), NULL}, /* a1's result over what it reads */
        {"\"hash\":\"1234\"", "\"work_offset\":\"32\"", work},
        {"\"hash\":\"1234\"", "\"work_offset\":\"-64\"", work},
        {"\"hash\":\"1234\"", "\"work_offset\":\"64\"",
         "mod.json: node 4 (a0): work_offset needs storage_offset, which is missing from attrs"},
    };
    tn_library library = kernels_only();
    tnr_module *m = NULL;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tnr_error err = {0};
        char *json = replaced(row[i].from, row[i].to);
        tnr_status status = open_json(&library, json, strlen(json), &m, &err);
        if (status != TNR_E_FORMAT || (row[i].message && strcmp(err.message, row[i].message) != 0))
            fail_msg("row %zu: %d \"%s\"", i, status, err.message);
        free(json);
    }
}

static void executors_must_agree(void **state)
{
    (void)state;
    const struct {
        const char *from, *to, *message;
    } row[] = {
        {"\"name\":\"x\"", "\"name\":\"z\"",
         "input \"x\" of mod.so's program is missing or differs in mod.json"},
        {"\"int32\"", "\"uint32\"", "input \"idx\" of mod.so's program is missing or differs in mod.json"},
        {",[0,0,0]],\"attrs\"", "],\"attrs\"",
         "mod.json has 3 inputs and 4 outputs, but mod.so's program has 3 and 5"},
        {"[[6,0,0],[7,0,0],", "[[7,0,0],[6,0,0],", "output \"sum\" of mod.so's program differs in mod.json"},
    };
    tnr_module *m = NULL;
    tnr_error err;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *json = replaced(row[i].from, row[i].to);
        assert_int_equal(open_json(&toy_static, json, strlen(json), &m, &err), TNR_E_FORMAT);
        assert_string_equal(err.message, row[i].message);
        free(json);
    }
    assert_int_equal(open_json(&toy_symbolic, blob_toy_json, strlen(blob_toy_json), &m, &err), TNR_E_FORMAT);
    assert_string_equal(
        err.message,
        "mod.json: node 4 (a0): its kernel has symbolic dimensions, which need the aot executor");
}

static void inputs_may_come_in_another_order(void **state)
{
    (void)state;
    char *json = replaced("\"name\":\"x\"", "\"name\":\"Y\"");
    memcpy(strstr(json, "\"name\":\"y\""), "\"name\":\"x\"", 10);
    memcpy(strstr(json, "\"name\":\"Y\""), "\"name\":\"y\"", 10); /* first node is y, second x */
    memcpy(strstr(json, "[[0,0,0],[1,0,0],[2,0,0]]"), "[[1,0,0],[0,0,0],[2,0,0]]", 25);
    memcpy(strstr(json, "[[4,0,0],[1,0,0],[2,0,0]]"), "[[4,0,0],[0,0,0],[2,0,0]]", 25);
    memcpy(strstr(json, "[[5,0,0],[1,0],[2,0]]"), "[[5,0,0],[0,0],[2,0]]", 21);
    memcpy(strstr(json, ",[0,0,0]],\"attrs\""), ",[1,0,0]],\"attrs\"", 17);
    tnr_module *m;
    tnr_error err;
    toy_io io;
    assert_int_equal(open_json(&toy_static, json, strlen(json), &m, &err), TNR_OK);
    free(json);
    toy_fill(&io, TOY_STATIC_N, 9);
    tnr_instance *inst = run(m, TNR_EXECUTOR_GRAPH, &io);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);
    tnr_module_release(m);
}

static void every_prefix_is_an_error(void **state)
{
    (void)state;
    tn_library library = kernels_only();
    for (size_t n = 0; n < sizeof blob_toy_json - 1; n++) {
        char *exact = malloc(n ? n : 1);
        tnr_module *m = NULL;
        tnr_error err = {0};
        memcpy(exact, blob_toy_json, n);
        assert_int_equal(open_json(&library, exact, n, &m, &err), TNR_E_FORMAT);
        assert_int_equal(memcmp(err.message, "mod.json: ", 10), 0);
        assert_true(err.position <= n);
        free(exact);
    }
}

static void every_flipped_bit_is_survived(void **state)
{
    (void)state;
    tn_library library = kernels_only();
    size_t n = sizeof blob_toy_json - 1;
    int errors = 0;
    for (size_t i = 0; i < n * 8; i += 3) {
        char *exact = malloc(n);
        tnr_module *m;
        memcpy(exact, blob_toy_json, n);
        exact[i / 8] = (char)(exact[i / 8] ^ (1 << i % 8));
        if (open_json(&library, exact, n, &m, NULL) == TNR_OK)
            tnr_module_release(m);
        else
            errors++;
        free(exact);
    }
    assert_true(errors > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_executors_give_the_same_bits),
        cmocka_unit_test(runs_from_json_alone),
        cmocka_unit_test(heads_of_every_kind),
        cmocka_unit_test(memory_is_planned_by_offsets),
        cmocka_unit_test(work_memory_is_apart_from_its_call),
        cmocka_unit_test(damage_has_words),
        cmocka_unit_test(plans_that_cannot_be),
        cmocka_unit_test(executors_must_agree),
        cmocka_unit_test(inputs_may_come_in_another_order),
        cmocka_unit_test(every_prefix_is_an_error),
        cmocka_unit_test(every_flipped_bit_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
