/* Checking a program: tables first, then slots, then instructions; each check is a sentence that says what is
 * wrong.
 *
 * What is established here (and relied on by bind.c and run.c): all indices are in range; operands of a call
 * are n_in + n_out slots and n_sym symbols; nothing writes to an input or a constant; every symbol is bound
 * by an input; constants exist and have the slot's type and size; sizes that are known now fit the arena;
 * within a call, results and work memory are apart from what it reads, where offsets are known now. That a
 * value is still there when a later call reads it is the planner's word. */
#include "runtime/exe.h"

#include "base/size.h"
#include "runtime/error.h"
#include "runtime/mem.h"
#include "runtime/params.h"
#include "runtime/sort.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_COUNT = 1 << 28, MAX_NDIM = 64 };

DLDataType tnr_slot_dtype(const tn_slot *slot) { return (DLDataType){slot->code, slot->bits, 1}; }

static tnr_status damaged(tnr_error *err, uint64_t position, const char *what, const char *name)
{
    return tnr_fail(err, TNR_E_FORMAT, position, "the program is damaged: %s%s%.400s%s", what,
                    name ? " \"" : "", name ? name : "", name ? "\"" : "");
}

static tnr_status check_tables(const tn_program_function *p, tnr_error *err)
{
    const struct {
        const void *table;
        uint32_t n;
    } row[] = {{p->slot, p->n_slot},       {p->symbol, p->n_symbol}, {p->inst, p->n_inst},
               {p->operand, p->n_operand}, {p->size, p->n_size},     {p->segment_bytes, p->n_segment}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (row[i].n > MAX_COUNT || (row[i].n > 0 && !row[i].table))
            return damaged(err, 0, "a table is missing or too long", NULL);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        if (!p->symbol[i].name || p->symbol[i].min < 0 || p->symbol[i].max < p->symbol[i].min)
            return damaged(err, i, "a symbol without a name or with an empty range", NULL);
    if (p->n_late > p->n_symbol)
        return damaged(err, 0, "more symbols are bound during the run than exist", NULL);
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].segment > p->n_segment)
            return damaged(err, i, "a slot in a segment that does not exist", NULL);
    if (p->n_symbol == 0 && (p->arena_bytes.fn || p->work_offset.fn))
        return damaged(err, 0, "an arena size depends on symbols, but there are none", NULL);
    if (!p->work_offset.fn && (p->work_offset.value < 0 || p->work_offset.value % 64 != 0))
        return damaged(err, 0, "the work memory's offset is negative or not a multiple of 64", NULL);
    if (!p->arena_bytes.fn && (p->arena_bytes.value < 0 || (uint64_t)p->arena_bytes.value > SIZE_MAX / 2))
        return damaged(err, 0, "the arena's size is out of range", NULL);
    return TNR_OK;
}

/* What all functions share. */
static tnr_status check_program(const tn_program *p, tnr_error *err)
{
    if (!p->function || p->n_function != 1 || p->n_state > 0)
        return damaged(err, 0, "it has no function, or several, or states", NULL);
    if (p->n_text > MAX_COUNT || (p->n_text > 0 && !p->text))
        return damaged(err, 0, "a table is missing or too long", NULL);
    for (uint32_t i = 0; i < p->n_text; i++)
        if (!p->text[i])
            return damaged(err, i, "a missing text", NULL);
    return TNR_OK;
}

/* Dimensions and byte count of a slot where they are constant. */
static tnr_status check_slot_size(const tn_program_function *p, const tn_slot *s, uint32_t at, tnr_error *err)
{
    int64_t shape[MAX_NDIM];
    bool fixed = true;
    uint64_t bytes = 0;
    if (s->ndim > MAX_NDIM || (s->ndim > 0 && !s->dim))
        return damaged(err, at, "more than 64 dimensions, or none given, in slot", s->name);
    for (uint32_t d = 0; d < s->ndim; d++) {
        fixed = fixed && !s->dim[d].fn;
        shape[d] = s->dim[d].fn ? 0 : s->dim[d].value;
    }
    if ((!fixed || s->bytes.fn || s->offset.fn) && p->n_symbol == 0)
        return damaged(err, at, "a size depends on symbols, but there are none, in slot", s->name);
    if (tnr_tensor_bytes(tnr_slot_dtype(s), s->ndim, shape, &bytes, NULL))
        return damaged(err, at, "invalid type or shape in slot", s->name);
    if (s->bytes.fn)
        return TNR_OK;
    if (s->bytes.value < 0 || (uint64_t)s->bytes.value > SIZE_MAX / 2)
        return damaged(err, at, "byte count out of range in slot", s->name);
    if (fixed && s->kind <= TN_SLOT_OUTPUT && (uint64_t)s->bytes.value != bytes)
        return damaged(err, at, "byte count does not fit the shape of slot", s->name);
    return TNR_OK;
}

/* Where it lives. */
static tnr_status check_slot_place(const tn_program_function *p, const tn_slot *s, uint32_t at,
                                   tnr_error *err)
{
    size_t end;
    if (s->alias < -1 || s->alias >= (int64_t)p->n_slot || (s->alias >= 0 && s->kind != TN_SLOT_OUTPUT))
        return damaged(err, at, "alias out of range in slot", s->name);
    if (s->alias >= 0) {
        const tn_slot *of = &p->slot[s->alias];
        if (of->kind == TN_SLOT_TEMP || s->alias == (int64_t)at ||
            (of->kind == TN_SLOT_OUTPUT && of->alias >= 0))
            return damaged(
                err, at,
                "an output is an alias of neither an input, a constant nor a plain output:", s->name);
        if (!of->bytes.fn && !s->bytes.fn && of->bytes.value != s->bytes.value)
            return damaged(err, at, "an alias of another size:", s->name);
    }
    if (s->kind == TN_SLOT_INPUT || s->kind == TN_SLOT_CONST || s->offset.fn)
        return TNR_OK;
    if (s->kind == TN_SLOT_OUTPUT && s->offset.value == -1)
        return TNR_OK;
    if (s->offset.value < 0 || s->offset.value % 64 != 0)
        return damaged(err, at, "arena offset is negative or not a multiple of 64 in slot", s->name);
    if (s->segment)
        return TNR_OK; /* checked when it is planned */
    if (!s->bytes.fn && !p->arena_bytes.fn &&
        (!tn_size_add((size_t)s->offset.value, (size_t)s->bytes.value, &end) ||
         (int64_t)end > p->arena_bytes.value))
        return damaged(err, at, "it does not fit into the arena: slot", s->name);
    return TNR_OK;
}

static tnr_status check_bind(const tn_program_function *p, const tn_slot *s, uint32_t at, bool *bound,
                             tnr_error *err)
{
    for (uint32_t d = 0; s->kind == TN_SLOT_INPUT && d < s->ndim; d++) {
        int32_t b = s->bind ? s->bind[d] : -1;
        if (b < -1 || b >= (int64_t)(p->n_symbol - p->n_late))
            return damaged(err, at, "binds a symbol that does not exist: input", s->name);
        if (b >= 0)
            bound[b] = true;
    }
    return TNR_OK;
}

static tnr_status find_constant(tnr_exe *exe, const tn_slot *s, uint32_t at, const tnr_params *params,
                                tnr_error *err)
{
    DLTensor view;
    uint64_t bytes;
    if (!tnr_params_get(params, s->name, &view, &bytes))
        return tnr_fail(err, TNR_E_FORMAT, at, "mod.params lacks the constant \"%.400s\"", s->name);
    if (s->bytes.fn || (uint64_t)s->bytes.value != bytes || !tnr_dtype_same(tnr_slot_dtype(s), view.dtype)) {
        char want[24], have[24];
        return tnr_fail(err, TNR_E_FORMAT, at,
                        "constant \"%.400s\" in mod.params is %s of %" PRIu64
                        " bytes, but the program expects %s of %" PRId64,
                        s->name, tnr_dtype_print(view.dtype, have, sizeof have), bytes,
                        tnr_dtype_print(tnr_slot_dtype(s), want, sizeof want), s->bytes.value);
    }
    exe->fixed[at] = view.data;
    exe->constant_bytes += bytes;
    return TNR_OK;
}

static tnr_status check_slots(tnr_exe *exe, const tnr_params *params, bool *bound, tnr_error *err)
{
    const tn_program_function *p = exe->main;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot *s = &p->slot[i];
        if (!s->name || s->kind > TN_SLOT_TEMP || s->storage != TN_STORAGE_BYTES || s->device != 0)
            return damaged(err, i, "a slot without a name or of no known kind", NULL);
        tnr_status status = check_slot_size(p, s, i, err);
        if (!status)
            status = check_slot_place(p, s, i, err);
        if (!status)
            status = check_bind(p, s, i, bound, err);
        if (!status && s->kind == TN_SLOT_CONST)
            status = find_constant(exe, s, i, params, err);
        if (status)
            return status;
        if (s->kind == TN_SLOT_INPUT)
            exe->input[exe->n_input++] = i;
        if (s->kind == TN_SLOT_OUTPUT)
            exe->output[exe->n_output++] = i;
    }
    for (uint32_t i = 0; i < p->n_symbol - p->n_late; i++)
        if (!bound[i])
            return damaged(err, i, "no input binds the symbol", p->symbol[i].name);
    return TNR_OK;
}

static bool writable(const tn_program_function *p, uint32_t slot)
{
    const tn_slot *s = &p->slot[slot];
    return s->kind == TN_SLOT_TEMP || (s->kind == TN_SLOT_OUTPUT && s->alias < 0);
}

/* Do two slots overlap in the arena? Only what is known now: offsets and sizes that are numbers. */
static bool overlaps(const tn_program_function *p, uint32_t a, uint32_t b)
{
    const tn_slot *x = &p->slot[a], *y = &p->slot[b];
    bool here = x->kind >= TN_SLOT_OUTPUT && x->kind != TN_SLOT_CONST && y->kind >= TN_SLOT_OUTPUT &&
                y->kind != TN_SLOT_CONST && x->segment == y->segment;
    if (!here || x->offset.fn || y->offset.fn || x->bytes.fn || y->bytes.fn || x->offset.value < 0 ||
        y->offset.value < 0 || !x->bytes.value || !y->bytes.value)
        return a == b;
    return x->offset.value < y->offset.value ? y->offset.value - x->offset.value < x->bytes.value
                                             : x->offset.value - y->offset.value < y->bytes.value;
}

/* May this result have the memory of this input? */
static bool may_overlap(const tn_kernel *k, uint32_t in, uint32_t out)
{
    for (uint32_t i = 0; i < k->n_overlap; i++)
        if (k->overlap[i].in == in && k->overlap[i].out == out)
            return true;
    return false;
}

/* A result overlaps no operand but those the kernel computes it over; work memory that the call names overlaps
 * neither. O(inputs times outputs). */
static tnr_status check_apart(const tn_program_function *p, const tn_kernel *k, const uint32_t *op, bool work,
                              uint32_t at, tnr_error *err)
{
    for (uint32_t i = 0; work && i < k->n_in + k->n_out; i++)
        if (overlaps(p, op[k->n_in + k->n_out + k->n_sym], op[i]))
            return damaged(err, at, "work memory that overlaps an operand or a result of kernel", k->name);
    for (uint32_t o = 0; o < k->n_out; o++)
        for (uint32_t i = 0; i < k->n_in; i++) {
            uint32_t in = op[i], out = op[k->n_in + o];
            bool over = may_overlap(k, i, o) && in != out &&
                        p->slot[in].offset.value == p->slot[out].offset.value &&
                        p->slot[in].bytes.value == p->slot[out].bytes.value;
            if (!over && overlaps(p, in, out))
                return damaged(err, at, "a result that overlaps an operand of kernel", k->name);
        }
    return TNR_OK;
}

static tnr_status check_call(tnr_exe *exe, const tn_inst *in, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = exe->main;
    if (in->a >= exe->library->n_kernel)
        return damaged(err, at, "a call of a kernel that does not exist", NULL);
    const tn_kernel *k = &exe->library->kernel[in->a];
    const uint32_t *op = p->operand + in->operand;
    uint64_t n_arg = (uint64_t)k->n_in + k->n_out;
    bool work = in->n_operand == n_arg + k->n_sym + 1;
    if (in->n_operand != n_arg + k->n_sym && !work)
        return damaged(err, at, "wrong number of operands for kernel", k->name);
    if (work && (op[n_arg + k->n_sym] >= p->n_slot || p->slot[op[n_arg + k->n_sym]].kind != TN_SLOT_TEMP))
        return damaged(err, at, "work memory that is not a temporary for kernel", k->name);
    for (uint64_t i = 0; i < n_arg + k->n_sym; i++)
        if (op[i] >= (i < n_arg ? p->n_slot : p->n_symbol) ||
            (i >= k->n_in && i < n_arg && !writable(p, op[i])))
            return damaged(err, at, "an operand out of range or not writable for kernel", k->name);
    tnr_status status = check_apart(p, k, op, work, at, err);
    for (uint32_t v = 0; v < k->n_variant && !status; v++)
        if (k->variant[v].scratch_bytes > exe->scratch_bytes)
            exe->scratch_bytes = (k->variant[v].scratch_bytes + 63) / 64 * 64;
    return status;
}

static tnr_status check_copy(const tn_program_function *p, const tn_inst *in, uint32_t at, tnr_error *err)
{
    const uint32_t *op = p->operand + in->operand;
    if (in->n_operand != 2 || op[0] >= p->n_slot || op[1] >= p->n_slot || !writable(p, op[1]))
        return damaged(err, at, "a copy with operands out of range or not writable at", in->node);
    tn_size from = p->slot[op[0]].bytes, to = p->slot[op[1]].bytes;
    if (!from.fn && !to.fn && from.value != to.value)
        return damaged(err, at, "a copy between slots of different sizes at", in->node);
    return TNR_OK;
}

/* JUMP_ZERO, SET and STORE. */
static tnr_status check_loop(const tn_program_function *p, const tn_inst *in, uint32_t at, tnr_error *err)
{
    const uint32_t *op = p->operand + in->operand;
    uint32_t n = in->op == TN_INST_JUMP_ZERO ? 1 : in->op == TN_INST_SET ? 2 : 3;
    if (in->n_operand != n || op[n - 1] >= p->n_size)
        return damaged(err, at, "a size that does not exist at", in->node);
    if (in->op == TN_INST_JUMP_ZERO)
        return in->a <= p->n_inst ? TNR_OK : damaged(err, at, "a jump out of the program at", in->node);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (op[i] >= p->n_slot)
            return damaged(err, at, "a slot that does not exist at", in->node);
    const tn_slot *to = &p->slot[op[n - 2]];
    if (!writable(p, op[n - 2]) || (in->op == TN_INST_SET && (to->bytes.fn || to->bytes.value != 8)))
        return damaged(err, at, "a slot that cannot be written at", in->node);
    return TNR_OK;
}

/* BIND, BIND_SLOT, CHECK and PLAN. */
static tnr_status check_late(const tnr_exe *exe, const tn_inst *in, uint32_t at, tnr_error *err)
{
    static const uint8_t n_operand[] = {
        [TN_INST_BIND] = 1, [TN_INST_BIND_SLOT] = 2, [TN_INST_CHECK] = 3, [TN_INST_PLAN] = 0};
    const tn_program_function *p = exe->main;
    const uint32_t *op = p->operand + in->operand;
    bool binds = in->op == TN_INST_BIND || in->op == TN_INST_BIND_SLOT,
         reads = in->op != TN_INST_BIND && in->op != TN_INST_PLAN;
    if (in->n_operand != n_operand[in->op])
        return damaged(err, at, "wrong number of operands at", in->node);
    if (binds && (in->a >= p->n_symbol || in->a < p->n_symbol - p->n_late))
        return damaged(err, at, "binds a symbol that does not exist, or an input's, at", in->node);
    if (in->op == TN_INST_PLAN && (in->a == 0 || in->a > p->n_segment))
        return damaged(err, at, "plans a segment that does not exist at", in->node);
    if (in->op == TN_INST_CHECK && in->a >= exe->program->n_text)
        return damaged(err, at, "a text that does not exist at", in->node);
    if (in->op != TN_INST_PLAN && !reads && op[0] >= p->n_size)
        return damaged(err, at, "a size that does not exist at", in->node);
    if (in->op == TN_INST_CHECK && op[2] >= p->n_size)
        return damaged(err, at, "a size that does not exist at", in->node);
    if (reads && (op[0] >= p->n_slot || (p->slot[op[0]].code != kDLInt && p->slot[op[0]].code != kDLUInt)))
        return damaged(err, at, "an extent from a slot without integers at", in->node);
    return TNR_OK;
}

static tnr_status check_inst(tnr_exe *exe, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = exe->main;
    const tn_inst *in = &p->inst[at];
    if (!in->node || in->operand > p->n_operand || in->n_operand > p->n_operand - in->operand)
        return damaged(err, at, "an instruction whose operands are out of range", NULL);
    if (in->n_operand > exe->max_operand)
        exe->max_operand = in->n_operand;
    switch (in->op) {
    case TN_INST_CALL: return check_call(exe, in, at, err);
    case TN_INST_COPY: return check_copy(p, in, at, err);
    case TN_INST_FAIL:
        return in->a < exe->program->n_text ? TNR_OK
                                            : damaged(err, at, "a text that does not exist at", in->node);
    case TN_INST_JUMP_FALSE:
        if (in->n_operand != 1 || p->operand[in->operand] >= p->n_slot ||
            p->slot[p->operand[in->operand]].bytes.fn || p->slot[p->operand[in->operand]].bytes.value != 1)
            return damaged(err, at, "a condition that is not a bool scalar at", in->node);
        return in->a <= p->n_inst ? TNR_OK : damaged(err, at, "a jump out of the program at", in->node);
    case TN_INST_JUMP:
        return in->a <= p->n_inst ? TNR_OK : damaged(err, at, "a jump out of the program at", in->node);
    case TN_INST_BIND:
    case TN_INST_BIND_SLOT:
    case TN_INST_CHECK:
    case TN_INST_PLAN: return check_late(exe, in, at, err);
    case TN_INST_JUMP_ZERO:
    case TN_INST_SET:
    case TN_INST_STORE: return check_loop(p, in, at, err);
    default: return damaged(err, at, "an unknown instruction at", in->node);
    }
}

/* No two inputs and no two outputs share a name. name and order have room for all slots. */
static tnr_status check_names(const tn_program_function *p, const uint32_t *slot, uint32_t n,
                              const char **name, uint32_t *order, tnr_error *err)
{
    for (uint32_t i = 0; i < n; i++)
        name[i] = p->slot[slot[i]].name;
    tnr_sort_names(name, order, n);
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(name[order[i - 1]], name[order[i]]) == 0)
            return damaged(err, slot[order[i]], "two inputs or two outputs are called", name[order[i]]);
    return TNR_OK;
}

tnr_status tnr_exe_init(tnr_exe *exe, const tn_library *library, const tn_program *program,
                        const tnr_params *params, tnr_error *err)
{
    *exe = (tnr_exe){.library = library, .program = program};
    tnr_status status = check_program(program, err);
    if (!status)
        status = check_tables(program->function, err);
    if (status)
        return status;
    const tn_program_function *p = exe->main = program->function;
    uint32_t n = p->n_slot;
    exe->input = tnr_mem_new(n, sizeof *exe->input);
    exe->output = tnr_mem_new(n, sizeof *exe->output);
    exe->fixed = tnr_mem_new(n, sizeof *exe->fixed);
    bool *bound = tnr_mem_new(p->n_symbol, sizeof *bound);
    const char **name = tnr_mem_new(n, sizeof *name);
    uint32_t *order = tnr_mem_new(n, sizeof *order);
    if (!exe->input || !exe->output || !exe->fixed || !bound || !name || !order)
        status = tnr_fail_memory(err, (uint64_t)n * 32);
    if (!status)
        status = check_slots(exe, params, bound, err);
    for (uint32_t i = 0; !status && i < p->n_inst; i++)
        status = check_inst(exe, i, err);
    if (!status)
        status = check_names(p, exe->input, exe->n_input, name, order, err);
    if (!status)
        status = check_names(p, exe->output, exe->n_output, name, order, err);
    tnr_mem_free(bound);
    tnr_mem_free(name);
    tnr_mem_free(order);
    if (status)
        tnr_exe_deinit(exe);
    return status;
}

void tnr_exe_deinit(tnr_exe *exe)
{
    tnr_mem_free(exe->input);
    tnr_mem_free(exe->output);
    tnr_mem_free(exe->fixed);
    *exe = (tnr_exe){0};
}
