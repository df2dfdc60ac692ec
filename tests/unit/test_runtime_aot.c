/* The AOT executor on hand-written tables: results, symbols, errors, caller's memory, profile, damage.
 * lint: long file because the cases share the tables of one hand-written library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/toy.h"
#include "runtime/toy_model.h"

#include <stdbool.h>

#include <xmmintrin.h>

typedef struct fixture {
    blob params;
    tnr_module *module;
    tnr_error err;
} fixture;

static tnr_status open_library(const tn_library *library, const blob *params, tnr_module **m, tnr_error *err)
{
    return tnr_module_open_parts(
        &(tnr_parts){.library = library, .params = params->at, .params_n = params->n}, m, err);
}

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.params = blob_toy_params(1)};
    *state = &f;
    return open_library(&toy_symbolic, &f.params, &f.module, &f.err);
}

static int teardown(void **state)
{
    fixture *f = *state;
    tnr_module_release(f->module);
    free(f->params.at);
    return 0;
}

static tnr_instance *instance(fixture *f)
{
    tnr_instance *inst = NULL;
    assert_int_equal(tnr_instance_new(f->module, NULL, &inst, &f->err), TNR_OK);
    return inst;
}

static void expect(const tnr_error *err, tnr_status status, int code, const char *message)
{
    assert_int_equal(status, code);
    assert_int_equal(err->code, code);
    assert_string_equal(err->message, message);
}

/* ---- results ---- */

static void runs_for_every_n(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    static const int64_t n[] = {1, 2, 7, 1, 64, 3, 3};
    toy_io io;
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        toy_fill(&io, n[i], (uint32_t)i);
        assert_int_equal(toy_set(inst, &io, &f->err), TNR_OK);
        assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
        assert_null(toy_differs(inst, &io));
    }
    io.flag = 0; /* the other branch: picked = p1 */
    io.picked = 77;
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);
}

static void same_bits_for_any_number_of_threads(void **state)
{
    fixture *f = *state;
    toy_io io;
    for (int32_t pool = 1; pool <= 8; pool++) {
        assert_int_equal(tnr_threads_set(pool, &f->err), TNR_OK);
        assert_int_equal(tnr_threads_get(), pool);
        for (int32_t threads = 0; threads <= 3; threads++) {
            tnr_instance *inst;
            assert_int_equal(
                tnr_instance_new(f->module, &(tnr_instance_options){.threads = threads}, &inst, &f->err),
                TNR_OK);
            for (uint32_t seed = 0; seed < 20; seed++) {
                toy_fill(&io, 61, seed);
                assert_int_equal(toy_set(inst, &io, &f->err), TNR_OK);
                assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
                assert_null(toy_differs(inst, &io));
            }
            tnr_instance_free(inst);
        }
    }
    assert_int_equal(tnr_threads_set(0, &f->err), TNR_OK);
}

static void describes_itself(void **state)
{
    fixture *f = *state;
    tnr_tensor_info info;
    tnr_symbol_info symbol;
    assert_string_equal(tnr_module_producer(f->module), "toy 1");
    assert_string_equal(tnr_module_target(f->module), "llvm -mcpu=toy");
    assert_int_equal(tnr_module_constant_bytes(f->module), 32 + 4);
    assert_true(tnr_module_has_executor(f->module, TNR_EXECUTOR_AOT));
    assert_false(tnr_module_has_executor(f->module, TNR_EXECUTOR_GRAPH));
    assert_false(tnr_module_has_executor(f->module, 7));
    assert_int_equal(tnr_input_count(f->module), 4);
    assert_int_equal(tnr_output_count(f->module), 5);
    assert_int_equal(tnr_symbol_count(f->module), 1);
    assert_int_equal(tnr_symbol_info_get(f->module, 0, &symbol, NULL), TNR_OK);
    assert_string_equal(symbol.name, "n");
    assert_int_equal(symbol.min, 1);
    assert_int_equal(symbol.max, 4096);

    assert_int_equal(tnr_input_find(f->module, "y"), 1);
    assert_int_equal(tnr_input_find(f->module, "z"), -1);
    assert_int_equal(tnr_input_info(f->module, 1, &info, NULL),
                     TNR_OK); /* y binds nothing: n was found by trying */
    assert_string_equal(info.name, "y");
    assert_int_equal(info.ndim, 2);
    assert_int_equal(info.shape[0], -1);
    assert_string_equal(info.symbol[0], "n");
    assert_int_equal(info.shape[1], 8);
    assert_null(info.symbol[1]);
    assert_int_equal(tnr_output_find(f->module, "flat"), 1);
    assert_int_equal(tnr_output_info(f->module, 1, &info, NULL), TNR_OK);
    assert_int_equal(info.shape[0], -1);
    assert_string_equal(info.symbol[0], "?"); /* 8*n */
    assert_int_equal(tnr_output_info(f->module, 5, &info, &f->err), TNR_E_ARG);
}

/* ---- memory ---- */

static void memory_is_exact(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    tnr_memory m;
    uint64_t peak;
    toy_io io;
    assert_int_equal(tnr_threads_set(3, NULL), TNR_OK);
    expect(&f->err, tnr_memory_get(inst, &m, &f->err), TNR_E_STATE,
           "n is not known yet; first set an input that has it");
    toy_fill(&io, 7, 1);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_memory_get(inst, &m, &f->err), TNR_OK);
    assert_int_equal(m.constants, 36);
    assert_int_equal(m.arena, 2 * 256 + 28);
    assert_int_equal(m.inputs, 2 * 224 + 4 + 1);
    assert_int_equal(m.outputs, 224 + 28 + 4 + 224); /* flat rows picked echo; sum is in the arena */
    assert_int_equal(m.scratch, 3 * 128);
    assert_int_equal(tnr_peak_bytes(inst, &peak, NULL), TNR_OK);
    assert_int_equal(peak, m.constants + m.arena + m.inputs + m.outputs + m.scratch);
    tnr_instance_free(inst);
    assert_int_equal(tnr_threads_set(0, NULL), TNR_OK);
}

static void callers_memory_is_written_directly(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    float sum[7 * 8], rows[7], copy[7], echo[7 * 8];
    int64_t sum_shape[] = {7, 8}, rows_shape[] = {7}, eight[] = {8};
    DLTensor s = toy_tensor(sum, kDLFloat, 32, 2, sum_shape),
             r = toy_tensor(rows, kDLFloat, 32, 1, rows_shape);
    DLTensor e = toy_tensor(echo, kDLFloat, 32, 2, sum_shape),
             c = toy_tensor(copy, kDLFloat, 32, 1, rows_shape), view;
    toy_fill(&io, 7, 3);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "sum", &s, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "rows", &r, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "echo", &e, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &io));
    assert_memory_equal(sum, io.sum, sizeof sum);
    assert_memory_equal(rows, io.rows, sizeof rows);
    assert_memory_equal(echo, io.x, sizeof echo);
    assert_int_equal(tnr_get_output(inst, "rows", &view, NULL), TNR_OK);
    assert_ptr_equal(view.data, rows);
    assert_int_equal(tnr_copy_output(inst, "rows", &c, NULL), TNR_OK);
    assert_memory_equal(copy, rows, sizeof rows);
    c.shape = eight;
    expect(&f->err, tnr_copy_output(inst, "rows", &c, &f->err), TNR_E_SHAPE,
           "output \"rows\" has shape [8], but must have [7]");

    toy_fill(&io, 6, 3); /* other dimensions: the memory no longer fits */
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_SHAPE,
           "the memory given for output \"sum\" has shape [7, 8], but this run produces [6, 8]");
    assert_int_equal(tnr_get_output(inst, "rows", &view, &f->err), TNR_E_STATE);
    assert_int_equal(tnr_set_output(inst, "sum", NULL, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "rows", NULL, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "echo", NULL, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);
}

static void overlaps_are_refused(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    float buffer[2 * 8 + 2];
    int64_t shape[] = {2, 8}, rows_shape[] = {2};
    DLTensor s = toy_tensor(buffer, kDLFloat, 32, 2, shape),
             r = toy_tensor(buffer + 15, kDLFloat, 32, 1, rows_shape), v;
    toy_fill(&io, 2, 3);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "sum", &s, NULL), TNR_OK);
    assert_int_equal(tnr_set_output(inst, "rows", &r, NULL), TNR_OK);
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_LAYOUT,
           "the memory given for outputs \"sum\" and \"rows\" overlaps");
    r.data = buffer + 16;
    assert_int_equal(tnr_set_output(inst, "rows", &r, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &io));
    assert_int_equal(tnr_set_input(inst, "y", &s, NULL), TNR_OK);
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_LAYOUT,
           "input \"y\" overlaps the memory given for output \"sum\"");

    assert_int_equal(tnr_set_output(inst, "sum", NULL, NULL), TNR_OK);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    for (uint32_t i = 0; i < 5;
         i += 4) { /* an output of the last run as input of the next: sum (arena), echo (own) */
        assert_int_equal(tnr_get_output_at(inst, i, &v, NULL), TNR_OK);
        assert_int_equal(tnr_set_input(inst, "y", &v, NULL), TNR_OK);
        expect(&f->err, tnr_run(inst, &f->err), TNR_E_LAYOUT,
               "input \"y\" lies in the instance's own memory, which the run overwrites: copy it out first, "
               "or give memory "
               "for that output");
        assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
        assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    }
    tnr_instance_free(inst);
}

/* ---- errors by text ---- */

static void bad_tensors_are_refused_by_name(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    float data[64] = {0};
    int64_t ok[] = {2, 8}, wide[] = {2, 9}, cube[] = {2, 2, 2}, many[] = {4097, 8}, none[] = {0, 8},
            minus[] = {-1, 8}; /* none: bound, and refused or not, when it runs */
    int64_t swapped[] = {1, 2}, dense[] = {8, 1}, any[] = {77, 1}, one[] = {1, 8};
    const struct {
        const char *name;
        DLTensor t;
        int code;
        const char *message;
    } row[] = {
        {"z", toy_tensor(data, 2, 32, 2, ok), TNR_E_NAME,
         "no input is called \"z\"; inputs are: x, y, idx, flag"},
        {"x", toy_tensor(data, 2, 64, 2, ok), TNR_E_DTYPE, "input \"x\" is float64, expected float32"},
        {"x", toy_tensor(data, 0, 32, 2, ok), TNR_E_DTYPE, "input \"x\" is int32, expected float32"},
        {"x",
         {data, {1, 0}, 2, {2, 32, 4}, ok, NULL, 0},
         TNR_E_DTYPE,
         "input \"x\" is float32x4, expected float32"},
        {"x", toy_tensor(data, 2, 32, 3, cube), TNR_E_SHAPE,
         "input \"x\" has 3 dimensions, expected 2: [n, 8]"},
        {"x", toy_tensor(data, 2, 32, 2, NULL), TNR_E_SHAPE,
         "input \"x\" has 2 dimensions, expected 2: [n, 8]"},
        {"x", toy_tensor(data, 2, 32, 2, wide), TNR_E_SHAPE,
         "input \"x\" has shape [2, 9], but must have [n, 8]"},
        {"x", toy_tensor(data, 2, 32, 2, minus), TNR_E_SHAPE,
         "input \"x\" has shape [-1, 8], but must have [n, 8]"},
        {"x", toy_tensor(data, 2, 32, 2, many), TNR_E_SHAPE,
         "input \"x\": dimension 0 (n) is 4097, but must be from 1 to 4096"},
        {"x", toy_tensor(data, 2, 32, 2, none), TNR_OK, ""},
        {"x",
         {data, {1, 0}, 2, {2, 32, 1}, ok, swapped, 0},
         TNR_E_LAYOUT,
         "input \"x\" is strided: strides [1, 2], shape [2, 8]; make it dense, row-major first"},
        {"x",
         {data, {2, 0}, 2, {2, 32, 1}, ok, NULL, 0},
         TNR_E_LAYOUT,
         "input \"x\" is on device type 2; copy it to the CPU (1) first"},
        {"x", toy_tensor(NULL, 2, 32, 2, ok), TNR_E_LAYOUT, "input \"x\" has no data"},
        {"x",
         {data, {1, 0}, 2, {2, 32, 1}, ok, NULL, 2},
         TNR_E_LAYOUT,
         "input \"x\" is misaligned: its data must start at a multiple of 4 bytes"},
        {"x", {data, {1, 0}, 2, {2, 32, 1}, ok, dense, 4}, TNR_OK, ""},
        {"x", {data, {1, 0}, 2, {2, 32, 1}, one, any, 0}, TNR_OK, ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        f->err = (tnr_error){0};
        tnr_status status = tnr_set_input(inst, row[i].name, &row[i].t, &f->err);
        expect(&f->err, status, row[i].code, row[i].message);
        assert_int_equal(tnr_set_input(inst, row[i].name, &row[i].t, NULL), row[i].code);
    }
    assert_int_equal(tnr_set_input_at(inst, 4, &row[14].t, &f->err), TNR_E_ARG);
    tnr_instance_free(inst);
}

static void symbols_must_agree(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io, other;
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_STATE, "input \"x\" is not set");
    toy_fill(&io, 2, 1);
    toy_fill(&other, 3, 1);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    DLTensor y = toy_tensor(other.y, kDLFloat, 32, 2, other.matrix);
    assert_int_equal(tnr_set_input(inst, "y", &y, NULL), TNR_OK);
    expect(
        &f->err, tnr_run(inst, &f->err), TNR_E_SHAPE,
        "input \"y\": dimension 0 is 3, expected 2: its shape is [n, 8], and other inputs fix the symbols");
    assert_int_equal(toy_set(inst, &other, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &other));
    tnr_instance_free(inst);
}

/* Nothing runs where a symbol is 0: outputs without elements are the result, others refuse the dimension. */
static void an_empty_batch_gives_empty_outputs(void **state)
{
    fixture *f = *state;
    tn_slot slot[TOY_SLOTS];
    tn_program_function code = toy_symbolic_main;
    tn_program program = toy_symbolic_program;
    tn_library library = toy_symbolic;
    int64_t none[] = {0, 8}, one[] = {1, 8};
    float data[8];
    toy_io io;
    DLTensor x = toy_tensor(NULL, kDLFloat, 32, 2, none), view,
             given = toy_tensor(data, kDLFloat, 32, 2, one);
    tnr_instance *inst = instance(f);
    tnr_module *m;
    tnr_memory memory;
    tnr_profile_event event;
    int done = 0;
    toy_fill(&io, 2, 1);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_set_input(inst, "x", &x, NULL), TNR_OK);
    expect(
        &f->err, tnr_run(inst, &f->err), TNR_E_SHAPE,
        "input \"y\": dimension 0 is 2, expected 0: its shape is [n, 8], and other inputs fix the symbols");
    assert_int_equal(tnr_set_input(inst, "y", &x, NULL), TNR_OK);
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_SHAPE,
           "input \"x\": dimension n is 0, and output \"picked\" would not be empty: at least 1 is needed");
    assert_int_equal(tnr_get_output(inst, "rows", &view, NULL), TNR_E_STATE);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);

    memcpy(slot, toy_symbolic_slot, sizeof slot);
    slot[TOY_PICKED].dim = toy_dim_rows; /* [n]: all outputs are empty now */
    code.slot = slot;
    program.function = &code;
    library.program = &program;
    assert_int_equal(open_library(&library, &f->params, &m, &f->err), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, NULL), TNR_OK);
    tnr_module_release(m);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_set_input(inst, "x", &x, NULL), TNR_OK);
    assert_int_equal(tnr_set_input(inst, "y", &x, NULL), TNR_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
        assert_int_equal(tnr_get_output(inst, "sum", &view, NULL), TNR_OK);
        assert_int_equal(view.ndim, 2);
        assert_int_equal(view.shape[0], 0);
        assert_int_equal(view.shape[1], 8);
        assert_int_equal(tnr_copy_output(inst, "sum", &x, NULL), TNR_OK);
    }
    assert_int_equal(tnr_memory_get(inst, &memory, NULL), TNR_OK);
    assert_int_equal(memory.arena + memory.outputs, 0);
    assert_int_equal(tnr_debug_begin(inst, NULL), TNR_OK);
    assert_int_equal(tnr_debug_step(inst, &event, &done, NULL), TNR_OK);
    assert_int_equal(done, 1);
    assert_int_equal(tnr_set_output(inst, "sum", &given, NULL), TNR_OK);
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_SHAPE,
           "the memory given for output \"sum\" has shape [1, 8], but this run produces [0, 8]");
    tnr_instance_free(inst);
}

static void two_inputs_that_bind_one_symbol_must_agree(void **state)
{
    fixture *f = *state;
    tn_slot slot[TOY_SLOTS];
    tn_program_function code = toy_symbolic_main;
    tn_program program = toy_symbolic_program;
    tn_library library = toy_symbolic;
    toy_io io, other;
    tnr_instance *inst;
    tnr_module *m;
    memcpy(slot, toy_symbolic_slot, sizeof slot);
    slot[TOY_Y].bind = toy_bind_x;
    code.slot = slot;
    program.function = &code;
    library.program = &program;
    assert_int_equal(open_library(&library, &f->params, &m, &f->err), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, NULL), TNR_OK);
    tnr_module_release(m); /* the instance keeps it */
    toy_fill(&io, 2, 1);
    toy_fill(&other, 3, 1);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    DLTensor y = toy_tensor(other.y, kDLFloat, 32, 2, other.matrix);
    assert_int_equal(tnr_set_input(inst, "y", &y, NULL), TNR_OK);
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_SHAPE,
           "input \"y\": dimension 0 is 3, but it is n and input \"x\" has n = 2");
    tnr_instance_free(inst);
}

static void a_failing_check_names_node_and_text(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    DLTensor v;
    toy_fill(&io, 7, 5);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    expect(&f->err, tnr_get_output_at(inst, 0, &v, &f->err), TNR_E_STATE,
           "no output yet: no run has succeeded since the last change");
    io.idx[0] = 7;
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_CHECK, "Gather_0: index out of range");
    assert_int_equal(f->err.position, 6);
    assert_int_equal(tnr_get_output_at(inst, 0, &v, NULL), TNR_E_STATE);
    io.idx[0] = 6;
    io.picked = io.rows[6];
    assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);
}

static void a_program_can_fail_with_a_text(void **state)
{
    fixture *f = *state;
    tn_inst inst_table[9];
    tn_program_function code = toy_symbolic_main;
    tn_program program = toy_symbolic_program;
    tn_library library = toy_symbolic;
    tnr_module *m;
    tnr_instance *inst;
    toy_io io;
    memcpy(inst_table, toy_symbolic_inst, sizeof inst_table);
    inst_table[8] = (tn_inst){.op = TN_INST_FAIL, .node = "If_0"};
    code.inst = inst_table;
    program.function = &code;
    library.program = &program;
    assert_int_equal(open_library(&library, &f->params, &m, &f->err), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, NULL), TNR_OK);
    toy_fill(&io, 4, 1);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    io.flag = 0;
    expect(&f->err, tnr_run(inst, &f->err), TNR_E_CHECK, "If_0: this branch has no type");
    tnr_instance_free(inst);
    tnr_module_release(m);
}

static void arguments_are_checked(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f), *other;
    tnr_module *m;
    expect(
        &f->err,
        tnr_instance_new(f->module, &(tnr_instance_options){.executor = TNR_EXECUTOR_GRAPH}, &other, &f->err),
        TNR_E_EXECUTOR,
        "the graph executor cannot run this package: If_0 is control flow; use the aot executor");
    assert_int_equal(tnr_instance_new(f->module, &(tnr_instance_options){.executor = 9}, &other, NULL),
                     TNR_E_ARG);
    assert_int_equal(tnr_instance_new(f->module, &(tnr_instance_options){.threads = -1}, &other, NULL),
                     TNR_E_ARG);
    assert_int_equal(tnr_instance_new(NULL, NULL, &other, NULL), TNR_E_ARG);
    assert_int_equal(tnr_run(NULL, NULL), TNR_E_ARG);
    assert_int_equal(tnr_set_input(NULL, "x", NULL, NULL), TNR_E_ARG);
    assert_int_equal(tnr_set_output(NULL, "x", NULL, NULL), TNR_E_ARG);
    assert_int_equal(tnr_set_output(inst, NULL, NULL, NULL), TNR_E_NAME);
    assert_int_equal(tnr_get_output(NULL, "x", NULL, NULL), TNR_E_ARG);
    assert_int_equal(tnr_module_open_parts(NULL, &m, NULL), TNR_E_ARG);
    assert_int_equal(tnr_threads_set(-1, NULL), TNR_E_ARG);
    assert_int_equal(tnr_threads_set(257, NULL), TNR_E_ARG);
    tnr_instance_free(NULL);
    tnr_module_release(NULL);
    tnr_instance_free(inst);
}

/* ---- damaged tables: an error at load, never a crash ---- */

typedef struct tables { /* writable copies; a damage function breaks one thing */
    tn_slot slot[TOY_SLOTS];
    tn_inst inst[9];
    uint32_t operand[27];
    tn_kernel kernel[3];
    tn_variant variant[2];
    tn_phase phase[2];
    tn_symbol symbol[1];
    tn_program_function code;
    tn_program program;
    tn_library library;
} tables;

static const char *const missing_text[] = {NULL};
static const int32_t bind_other[] = {1, -1};
static const tn_module module_list[] = {{.name = "mod.so", .kind = "elf"},
                                        {.name = "mod.1.cuda", .kind = "cuda"}};
static const tn_device device_list[] = {{"cpu", 0, 64}, {"vta", 0, 64}};
static const tn_launch launch = {.function = "f"};
static const tn_overlap bad_in[] = {{3, 0, TN_OVERLAP_MAY}}, bad_out[] = {{0, 1, TN_OVERLAP_MAY}},
                        bad_kind[] = {{0, 0, 2}};
static const tn_size dim_7[] = {{7, NULL}};

#define DAMAGE(name, ...) \
    static void name(tables *t) { __VA_ARGS__; }
DAMAGE(newer, t->library.version = TENON_ABI_VERSION + 1)
DAMAGE(older, t->library.version = 0)
DAMAGE(no_target, t->library.target = NULL)
DAMAGE(no_features, t->library.n_feature = 1)
DAMAGE(no_kernels, t->library.kernel = NULL)
DAMAGE(no_kernel_name, t->kernel[0].name = NULL)
DAMAGE(no_source, t->kernel[1].source = NULL)
DAMAGE(no_variants, t->kernel[0].n_variant = 0)
DAMAGE(no_check, t->kernel[2].check = NULL)
DAMAGE(no_phase, t->variant[1].phase = NULL)
DAMAGE(no_run, t->phase[0].run = NULL)
DAMAGE(tasks, t->phase[0].tasks = (tn_size){-1, NULL})
DAMAGE(steps, t->variant[0].steps = (tn_size){INT64_MAX, NULL})
DAMAGE(work, t->variant[0].work_bytes = (tn_size){-1, NULL})
DAMAGE(scratch, t->variant[0].scratch_bytes = UINT64_MAX)
DAMAGE(kernel_module, t->kernel[0].module = 1)
DAMAGE(kernel_device, t->kernel[0].device = 1)
DAMAGE(no_modules, t->library.n_module = 2)
DAMAGE(other_module, t->library.module = module_list; t->library.n_module = 2)
DAMAGE(other_device, t->library.device = device_list; t->library.n_device = 2)
DAMAGE(slot_device, t->slot[TOY_T1].device = 1)
DAMAGE(no_function, t->program.function = NULL)
DAMAGE(device_phase, t->phase[0].run = NULL; t->phase[0].launch = &launch)
DAMAGE(overlap_in, t->kernel[0].overlap = bad_in; t->kernel[0].n_overlap = 1)
DAMAGE(overlap_out, t->kernel[0].overlap = bad_out; t->kernel[0].n_overlap = 1)
DAMAGE(overlap_kind, t->kernel[0].overlap = bad_kind; t->kernel[0].n_overlap = 1)
DAMAGE(no_overlap, t->kernel[0].n_overlap = 1)
DAMAGE(storage, t->slot[TOY_T1].storage = 2)
DAMAGE(segment, t->slot[TOY_T1].segment = 1)
DAMAGE(no_slots, t->code.slot = NULL)
DAMAGE(long_table, t->code.n_inst = UINT32_MAX)
DAMAGE(no_text, t->program.text = missing_text)
DAMAGE(no_symbol_name, t->symbol[0].name = NULL)
DAMAGE(empty_range, t->symbol[0].max = 0)
DAMAGE(slot_name, t->slot[TOY_T1].name = NULL)
DAMAGE(slot_kind, t->slot[TOY_T1].kind = 4)
DAMAGE(slot_ndim, t->slot[TOY_X].ndim = 65)
DAMAGE(slot_dim, t->slot[TOY_X].dim = NULL)
DAMAGE(slot_bits, t->slot[TOY_X].bits = 0)
DAMAGE(slot_bytes, t->slot[TOY_IDX].bytes.value = 8)
DAMAGE(slot_negative, t->slot[TOY_PICKED].bytes.value = -4)
DAMAGE(slot_offset, t->slot[TOY_T1].offset.value = 32)
DAMAGE(slot_below, t->slot[TOY_T1].offset.value = -1)
DAMAGE(slot_bind, t->slot[TOY_X].bind = bind_other)
DAMAGE(unbound, t->slot[TOY_X].bind = NULL)
DAMAGE(alias_range, t->slot[TOY_ECHO].alias = TOY_SLOTS)
DAMAGE(alias_temp, t->slot[TOY_ECHO].alias = TOY_T1)
DAMAGE(alias_self, t->slot[TOY_ECHO].alias = TOY_ECHO)
DAMAGE(alias_chain, t->slot[TOY_ECHO].alias = TOY_FLAT)
DAMAGE(alias_input, t->slot[TOY_X].alias = TOY_Y)
DAMAGE(alias_size, t->slot[TOY_PICKED].alias = TOY_P0)
DAMAGE(no_constant, t->slot[TOY_P0].name = "p9")
DAMAGE(constant_size, t->slot[TOY_P0].bytes.value = 28; t->slot[TOY_P0].dim = dim_7)
DAMAGE(constant_type, t->slot[TOY_P0].code = 0)
DAMAGE(two_names, t->slot[TOY_Y].name = "x")
DAMAGE(two_outputs, t->slot[TOY_ECHO].name = "sum")
DAMAGE(inst_node, t->inst[0].node = NULL)
DAMAGE(inst_op, t->inst[0].op = 5)
DAMAGE(inst_operand, t->inst[0].operand = 28)
DAMAGE(inst_operands, t->inst[8].n_operand = UINT32_MAX)
DAMAGE(call_kernel, t->inst[0].a = 3)
DAMAGE(call_count, t->inst[0].n_operand = 4)
DAMAGE(call_slot, t->operand[0] = TOY_SLOTS)
DAMAGE(call_symbol, t->operand[4] = 1)
DAMAGE(call_writes_input, t->operand[3] = TOY_X)
DAMAGE(call_writes_constant, t->operand[3] = TOY_P0)
DAMAGE(call_writes_alias, t->operand[3] = TOY_ECHO)
DAMAGE(copy_range, t->operand[18] = TOY_SLOTS)
DAMAGE(copy_input, t->operand[26] = TOY_IDX)
DAMAGE(copy_size, t->operand[25] = TOY_P0)
DAMAGE(jump, t->inst[7].a = 10)
DAMAGE(jump_false, t->inst[5].a = 10)
DAMAGE(condition, t->operand[24] = TOY_X)
DAMAGE(fail_text, t->inst[8].op = TN_INST_FAIL; t->inst[8].a = 1)
DAMAGE(work_offset, t->code.work_offset = (tn_size){32, NULL})
DAMAGE(arena, t->code.arena_bytes = (tn_size){-1, NULL})
DAMAGE(fixed_arena, t->code.arena_bytes = (tn_size){64, NULL}; t->slot[TOY_T1].bytes = (tn_size){128, NULL})
DAMAGE(no_program, t->library.program = NULL)
DAMAGE(no_symbols, t->code.n_symbol = 0)

static int64_t returns_minus_1(const int64_t *sym)
{
    (void)sym;
    return -1;
}

static int64_t returns_8(const int64_t *sym)
{
    (void)sym;
    return 8;
}

static int64_t returns_0(const int64_t *sym)
{
    (void)sym;
    return 0;
}

static int32_t phase_returns_9(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    (void)call, (void)step, (void)task, (void)scratch;
    return 9;
}

static int32_t phase_writes_before(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    (void)step, (void)scratch;
    if (task == 0)
        ((uint8_t *)call->arg[3])[-3] = 0;
    return 0;
}

DAMAGE(late_nothing, (void)t)
DAMAGE(stray_write, t->phase[0].run = phase_writes_before)

/* These only show once the symbols are bound. */
DAMAGE(late_bytes, t->slot[TOY_T1].bytes = (tn_size){0, returns_minus_1})
DAMAGE(late_io, t->slot[TOY_X].bytes = (tn_size){0, returns_8})
DAMAGE(late_offset, t->slot[TOY_T1].offset = (tn_size){0, returns_8})
DAMAGE(late_negative, t->slot[TOY_T1].offset = (tn_size){0, returns_minus_1})
DAMAGE(late_arena, t->code.arena_bytes = (tn_size){0, returns_8})
DAMAGE(late_arena_negative, t->code.arena_bytes = (tn_size){0, returns_minus_1})
DAMAGE(late_work, t->code.work_offset = (tn_size){0, returns_8})
DAMAGE(late_copy, t->slot[TOY_ROWS2].bytes = (tn_size){0, returns_8})
DAMAGE(late_alias, t->slot[TOY_FLAT].alias = TOY_ROWS)
DAMAGE(late_tasks, t->phase[0].tasks = (tn_size){0, returns_minus_1})
DAMAGE(late_steps, t->variant[1].steps = (tn_size){0, returns_minus_1})
DAMAGE(late_work_bytes, t->variant[1].work_bytes = (tn_size){1 << 20, NULL})
DAMAGE(late_guard, t->variant[1].guard = (tn_size){0, returns_0})
DAMAGE(late_status, t->phase[0].run = phase_returns_9)

static tnr_status open_damaged(const fixture *f, void (*damage)(tables *), tables *t, tnr_module **m,
                               tnr_error *err)
{
    memcpy(t->slot, toy_symbolic_slot, sizeof t->slot);
    memcpy(t->inst, toy_symbolic_inst, sizeof t->inst);
    memcpy(t->operand, toy_operand, sizeof t->operand);
    memcpy(t->kernel, toy_symbolic_kernel, sizeof t->kernel);
    memcpy(t->variant, toy_variant_add, sizeof t->variant);
    memcpy(t->phase, toy_phase_many, sizeof t->phase);
    memcpy(t->symbol, toy_symbol, sizeof t->symbol);
    t->code = toy_symbolic_main;
    t->program = toy_symbolic_program;
    t->program.function = &t->code;
    t->library = toy_symbolic;
    t->code.slot = t->slot;
    t->code.inst = t->inst;
    t->code.operand = t->operand;
    t->code.symbol = t->symbol;
    t->variant[1].phase = t->phase;
    t->kernel[0].variant = t->variant;
    t->library.kernel = t->kernel;
    t->library.program = &t->program;
    damage(t);
    return open_library(&t->library, &f->params, m, err);
}

static void nothing(tables *t) { (void)t; }

static void damage_is_found_at_load(void **state)
{
    static void (*const damage[])(tables *) = {
        newer,
        older,
        no_target,
        no_features,
        no_kernels,
        no_kernel_name,
        no_source,
        no_variants,
        no_check,
        no_phase,
        no_run,
        tasks,
        steps,
        work,
        scratch,
        kernel_module,
        kernel_device,
        no_modules,
        other_module,
        other_device,
        slot_device,
        no_function,
        device_phase,
        overlap_in,
        overlap_out,
        overlap_kind,
        no_overlap,
        storage,
        segment,
        no_slots,
        long_table,
        no_text,
        no_symbol_name,
        empty_range,
        slot_name,
        slot_kind,
        slot_ndim,
        slot_dim,
        slot_bits,
        slot_bytes,
        slot_negative,
        slot_offset,
        slot_below,
        slot_bind,
        unbound,
        alias_range,
        alias_temp,
        alias_self,
        alias_chain,
        alias_input,
        alias_size,
        no_constant,
        constant_size,
        constant_type,
        two_names,
        two_outputs,
        inst_node,
        inst_op,
        inst_operand,
        inst_operands,
        call_kernel,
        call_count,
        call_slot,
        call_symbol,
        call_writes_input,
        call_writes_constant,
        call_writes_alias,
        copy_range,
        copy_input,
        copy_size,
        jump,
        jump_false,
        condition,
        fail_text,
        work_offset,
        arena,
        fixed_arena,
        no_program,
        no_symbols,
    };
    fixture *f = *state;
    tables t;
    tnr_module *m = NULL;
    assert_int_equal(open_damaged(f, nothing, &t, &m, &f->err), TNR_OK);
    tnr_module_release(m);
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        m = NULL;
        f->err = (tnr_error){0};
        tnr_status status = open_damaged(f, damage[i], &t, &m, &f->err);
        if (status != TNR_E_FORMAT && status != TNR_E_VERSION)
            fail_msg("damage %zu was not found: %d %s", i, status, f->err.message);
        assert_null(m);
        assert_true(strlen(f->err.message) > 20);
    }
    assert_int_equal(open_damaged(f, newer, &t, &m, &f->err), TNR_E_VERSION);
    assert_int_equal(open_damaged(f, other_module, &t, &m, &f->err), TNR_E_FORMAT);
    assert_string_equal(
        f->err.message,
        "this package needs code of kind \"cuda\" (mod.1.cuda), which this runtime does not run");
    assert_int_equal(open_damaged(f, other_device, &t, &m, &f->err), TNR_E_FORMAT);
    assert_string_equal(f->err.message,
                        "this package needs a device of kind \"vta\", which this runtime does not know");
    assert_int_equal(open_damaged(f, older, &t, &m, &f->err), TNR_E_VERSION);
    assert_string_equal(
        f->err.message,
        "the library cannot run: an older version of Tenon made it for kernel ABI 0, which this version no "
        "longer reads; compile the model again");
    assert_int_equal(open_damaged(f, call_writes_input, &t, &m, &f->err), TNR_E_FORMAT);
    assert_string_equal(f->err.message,
                        "the program is damaged: an operand out of range or not writable for kernel "
                        "\"tvmgen_default_fused_add_multiply\"");
}

/* A kernel that writes outside of its result is named. */
static void guards_show_stray_writes(void **state)
{
    fixture *f = *state;
    tables t;
    tnr_module *m;
    tnr_instance *inst;
    toy_io io;
    for (int check = 0; check < 2; check++) {
        assert_int_equal(open_damaged(f, stray_write, &t, &m, &f->err), TNR_OK);
        if (!check) { /* a run as it should be is not disturbed by guards */
            tnr_module_release(m);
            assert_int_equal(open_damaged(f, late_nothing, &t, &m, &f->err), TNR_OK);
        }
        tnr_instance_options o = {.flags = TNR_INSTANCE_CHECK};
        assert_int_equal(tnr_instance_new(m, &o, &inst, &f->err), TNR_OK);
        toy_fill(&io, 5, 1);
        assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
        assert_int_equal(tnr_run(inst, &f->err), check ? TNR_E_CHECK : TNR_OK);
        tnr_instance_free(inst);
        tnr_module_release(m);
    }
    assert_non_null(
        strstr(f->err.message, "Add_0, Mul_0: tvmgen_default_fused_add_multiply wrote 3 bytes before slot "));
    assert_int_equal(tnr_instance_new(f->module, &(tnr_instance_options){.flags = 2}, &inst, &f->err),
                     TNR_E_ARG);
}

static void damage_is_found_when_symbols_are_bound(void **state)
{
    static void (*const damage[])(tables *) = {
        late_bytes, late_io,    late_offset, late_negative, late_arena,      late_arena_negative, late_work,
        late_copy,  late_alias, late_tasks,  late_steps,    late_work_bytes, late_guard,          late_status,
    };
    fixture *f = *state;
    tables t;
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        tnr_module *m;
        tnr_instance *inst;
        toy_io io;
        assert_int_equal(open_damaged(f, damage[i], &t, &m, &f->err), TNR_OK);
        assert_int_equal(tnr_instance_new(m, NULL, &inst, NULL), TNR_OK);
        toy_fill(&io, 5, 1);
        assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
        bool reshape = damage[i] == late_alias || damage[i] == late_copy; /* what the inputs may cause */
        tnr_status want = reshape ? TNR_E_SHAPE : TNR_E_FORMAT;
        if (tnr_run(inst, &f->err) != want)
            fail_msg("late damage %zu was not found", i);
        tnr_instance_free(inst);
        tnr_module_release(m);
    }
    assert_string_equal(f->err.message,
                        "Add_0, Mul_0: kernel tvmgen_default_fused_add_multiply returned status 9, which it "
                        "does not define");
}

/* The call of the sum (of bytes 0 to 192) names a temporary of 24 bytes as its work memory. */
static tnr_status open_working(const fixture *f, int64_t work_at, int64_t rows_at, tnr_module **m,
                               tnr_error *err)
{
    static tn_slot slot[TOY_STATIC_SLOTS + 1];
    static tn_inst inst[6];
    static uint32_t operand[27];
    static tn_program_function code;
    static tn_program program;
    static tn_library library;
    memcpy(slot, toy_static_slot, sizeof toy_static_slot);
    memcpy(inst, toy_static_inst, sizeof inst);
    memcpy(operand, toy_operand, sizeof operand);
    slot[TOY_STATIC_SLOTS] = slot[TOY_ROWS2]; /* its size too is a row */
    slot[TOY_STATIC_SLOTS].offset.value = work_at;
    slot[TOY_ROWS].offset.value = rows_at;
    operand[inst[3].operand + inst[3].n_operand++] = TOY_STATIC_SLOTS;
    code = toy_static_main;
    program = toy_static_program;
    code.slot = slot;
    code.n_slot++;
    code.inst = inst;
    code.operand = operand;
    library = toy_static;
    program.function = &code;
    library.program = &program;
    return open_library(&library, &f->params, m, err);
}

static void work_memory_is_apart_from_its_call(void **state)
{
    fixture *f = *state;
    const struct {
        int64_t work, rows;
        bool apart;
    } row[] = {{0, -1, false},    {128, -1, false}, {192, 192, false},
               {256, 256, false}, {192, -1, true},  {192, 256, true}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tnr_module *m = NULL;
        tnr_instance *inst;
        toy_io io;
        tnr_status status = open_working(f, row[i].work, row[i].rows, &m, &f->err);
        if (!row[i].apart) {
            expect(&f->err, status, TNR_E_FORMAT,
                   "the program is damaged: work memory that overlaps an operand or a result of kernel "
                   "\"tvmgen_default_fused_sum\"");
            assert_int_equal(f->err.position, 3);
            continue;
        }
        assert_int_equal(status, TNR_OK);
        assert_int_equal(tnr_instance_new(m, NULL, &inst, NULL), TNR_OK);
        toy_fill(&io, TOY_STATIC_N, 3);
        assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
        assert_int_equal(tnr_run(inst, NULL), TNR_OK);
        assert_null(toy_differs(inst, &io));
        tnr_instance_free(inst);
        tnr_module_release(m);
    }
}

/* ---- profile, floating point ---- */

typedef struct profile {
    int n;
    uint32_t variant[9], index[9];
    char text[9][64];
    bool args_fit;
} profile;

static void on_event(void *user, const tnr_profile_event *e)
{
    profile *p = user;
    p->variant[p->n] = e->variant;
    p->index[p->n] = e->index;
    snprintf(p->text[p->n], sizeof p->text[0], "%.20s %.40s", e->node, e->kernel);
    if (e->index == 3) /* row sums: [n, 8] -> [n] */
        p->args_fit = e->n_in == 1 && e->n_out == 1 && e->arg[0].ndim == 2 && e->arg[0].shape[1] == 8 &&
                      e->arg[1].ndim == 1 && e->arg[1].shape[0] == e->arg[0].shape[0] && e->arg[1].data;
    p->n++;
}

static void profiles_every_instruction(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    profile p = {0};
    tnr_profile_set(inst, on_event, &p);
    toy_fill(&io, 1, 5);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_int_equal(p.n, 6);
    assert_int_equal(p.variant[0], 0); /* n == 1 */
    assert_string_equal(p.text[3], "ReduceSum_0 tvmgen_default_fused_sum");
    assert_string_equal(p.text[4], "Identity_0 __copy");
    assert_int_equal(p.index[5], 6);
    assert_true(p.args_fit);
    toy_fill(&io, 9, 5);
    p = (profile){0};
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_int_equal(p.variant[0], 1);
    assert_true(p.args_fit);
    assert_null(toy_differs(inst, &io));
    tnr_profile_set(inst, NULL, NULL);
    p.n = 0;
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_int_equal(p.n, 0);
    tnr_instance_free(inst);
}

static int64_t eight_a_row(const int64_t *sym) { return 8 * sym[0]; }

static void on_event_add(void *user, const tnr_profile_event *e)
{
    const tnr_operations *o = &e->operations;
    uint64_t *sum = user, n[] = {o->floats, o->bfloat16, o->integers};
    for (int i = 0; i < 3; i++)
        sum[i] += n[i];
}

static void profiles_arithmetic(void **state)
{
    fixture *f = *state;
    tn_operations operations[3] = {{.floats = {0, eight_a_row}, .integers = {5, NULL}},
                                   {.floats = {-1, NULL}, .bfloat16 = {-1, NULL}}}; /* below 0: none */
    tn_library library = toy_symbolic;
    library.operations = operations;
    tnr_module *m;
    tnr_instance *inst;
    uint64_t sum[3] = {0};
    toy_io io;
    assert_int_equal(open_library(&library, &f->params, &m, NULL), TNR_OK);
    assert_int_equal(tnr_instance_new(m, NULL, &inst, NULL), TNR_OK);
    tnr_profile_set(inst, on_event_add, sum);
    toy_fill(&io, 9, 5);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_true(sum[0] > 0 && sum[0] % 72 == 0 && sum[1] == 0 && sum[2] == sum[0] / 72 * 5);
    tnr_instance_free(inst);
    tnr_module_release(m);
}

static void on_event_run_again(void *user, const tnr_profile_event *e)
{
    tnr_error err;
    (void)e;
    assert_int_equal(tnr_run(user, &err), TNR_E_STATE);
    assert_string_equal(err.message, "the instance is already running; make one instance per thread");
}

static void an_instance_runs_once_at_a_time(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    tnr_profile_set(inst, on_event_run_again, inst);
    toy_fill(&io, 5, 5);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    assert_int_equal(tnr_run(inst, NULL), TNR_OK);
    assert_null(toy_differs(inst, &io));
    tnr_instance_free(inst);
}

static void floating_point_control_is_ours_and_given_back(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    toy_fill(&io, 33, 5);
    assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
    unsigned callers = _mm_getcsr(),
             odd = 0x1F80u | 0x8040u | 0x6000u; /* flush denormals, round toward zero */
    _mm_setcsr(odd);
    tnr_status status = tnr_run(inst, NULL);
    unsigned after = _mm_getcsr();
    _mm_setcsr(callers);
    assert_int_equal(status, TNR_OK);
    assert_int_equal(after, odd);
    assert_null(toy_differs(inst, &io)); /* computed here with round to nearest */
    tnr_instance_free(inst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_for_every_n),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(describes_itself),
        cmocka_unit_test(memory_is_exact),
        cmocka_unit_test(callers_memory_is_written_directly),
        cmocka_unit_test(overlaps_are_refused),
        cmocka_unit_test(bad_tensors_are_refused_by_name),
        cmocka_unit_test(symbols_must_agree),
        cmocka_unit_test(an_empty_batch_gives_empty_outputs),
        cmocka_unit_test(two_inputs_that_bind_one_symbol_must_agree),
        cmocka_unit_test(a_failing_check_names_node_and_text),
        cmocka_unit_test(a_program_can_fail_with_a_text),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(damage_is_found_at_load),
        cmocka_unit_test(damage_is_found_when_symbols_are_bound),
        cmocka_unit_test(guards_show_stray_writes),
        cmocka_unit_test(work_memory_is_apart_from_its_call),
        cmocka_unit_test(profiles_every_instruction),
        cmocka_unit_test(profiles_arithmetic),
        cmocka_unit_test(an_instance_runs_once_at_a_time),
        cmocka_unit_test(floating_point_control_is_ours_and_given_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
