/* Damaged tables of the AOT executor: an error at load, or when symbols are bound, never a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/aot.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_found_at_load),
        cmocka_unit_test(damage_is_found_when_symbols_are_bound),
        cmocka_unit_test(guards_show_stray_writes),
        cmocka_unit_test(work_memory_is_apart_from_its_call),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
