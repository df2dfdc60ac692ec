/* The AOT executor on hand-written tables: results, symbols, errors, caller's memory, profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/aot.h"

#include <xmmintrin.h>

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

static void shapes_of_outputs_are_known_before_the_run(void **state)
{
    fixture *f = *state;
    tnr_instance *inst = instance(f);
    toy_io io;
    DLTensor v;
    int64_t shape[5][8];
    expect(&f->err, tnr_output_shape(inst, 0, shape[0], &f->err), TNR_E_STATE, "input \"x\" is not set");
    for (int64_t n = 3; n < 8; n += 4) {
        toy_fill(&io, n, 5);
        assert_int_equal(toy_set(inst, &io, NULL), TNR_OK);
        for (uint32_t i = 0; i < 5; i++)
            assert_int_equal(tnr_output_shape(inst, i, shape[i], NULL), TNR_OK);
        assert_int_equal(tnr_run(inst, &f->err), TNR_OK);
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(tnr_get_output_at(inst, i, &v, NULL), TNR_OK);
            assert_memory_equal(shape[i], v.shape, (size_t)v.ndim * sizeof *v.shape);
        }
    }
    int64_t none[] = {0, 8};
    DLTensor empty = toy_tensor(io.x, kDLFloat, 32, 2, none);
    assert_int_equal(tnr_set_input(inst, "x", &empty, NULL), TNR_OK);
    tnr_status status = tnr_output_shape(inst, 0, shape[0], NULL); /* nothing is divided by 0 */
    assert_true(status == TNR_E_SHAPE || (status == TNR_OK && shape[0][0] == -1));
    assert_int_equal(tnr_output_shape(inst, 5, shape[0], NULL), TNR_E_ARG);
    assert_int_equal(tnr_output_shape(inst, 0, NULL, NULL), TNR_E_ARG);
    assert_int_equal(tnr_output_shape(NULL, 0, shape[0], NULL), TNR_E_ARG);
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
        cmocka_unit_test(shapes_of_outputs_are_known_before_the_run),
        cmocka_unit_test(bad_tensors_are_refused_by_name),
        cmocka_unit_test(symbols_must_agree),
        cmocka_unit_test(an_empty_batch_gives_empty_outputs),
        cmocka_unit_test(two_inputs_that_bind_one_symbol_must_agree),
        cmocka_unit_test(a_failing_check_names_node_and_text),
        cmocka_unit_test(a_program_can_fail_with_a_text),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(profiles_every_instruction),
        cmocka_unit_test(profiles_arithmetic),
        cmocka_unit_test(an_instance_runs_once_at_a_time),
        cmocka_unit_test(floating_point_control_is_ours_and_given_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
