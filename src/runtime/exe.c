/* Checking a program: tables first, then slots, then instructions; each check is a sentence that says what is
 * wrong.
 *
 * What is established here (and relied on by bind.c and run.c): all indices are in range; operands of a call
 * are n_in + n_out slots and n_sym symbols; nothing writes to an input or a constant; every symbol is bound
 * by an input; constants exist and have the slot's type and size; sizes that are known now fit the arena;
 * within a call, results and work memory are apart from what it reads, where offsets are known now. That a
 * value is still there when a later call reads it is the planner's word. */
#include "runtime/family.h"

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

DLDataType tnr_slot_dtype(const tn_slot *slot)
{
    return slot->storage == TN_STORAGE_HANDLE ? (DLDataType){kDLOpaqueHandle, 64, 1}
                                              : (DLDataType){slot->code, slot->bits, 1};
}

static tnr_status damaged(tnr_error *err, uint64_t position, const char *what, const char *name)
{
    return tnr_fail(err, TNR_E_FORMAT, position, "the program is damaged: %s%s%.400s%s", what,
                    name ? " \"" : "", name ? name : "", name ? "\"" : "");
}

static const char *tables_fault(const tn_program_function *p)
{
    const struct {
        const void *table;
        uint32_t n;
    } row[] = {{p->slot, p->n_slot},       {p->symbol, p->n_symbol}, {p->inst, p->n_inst},
               {p->operand, p->n_operand}, {p->size, p->n_size},     {p->segment_bytes, p->n_segment}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (row[i].n > MAX_COUNT || (row[i].n > 0 && !row[i].table))
            return "a table is missing or too long";
    for (uint32_t i = 0; i < p->n_symbol; i++)
        if (!p->symbol[i].name || p->symbol[i].min < 0 || p->symbol[i].max < p->symbol[i].min)
            return "a symbol without a name or with an empty range";
    if (p->n_late > p->n_symbol)
        return "more symbols are bound during the run than exist";
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].segment > p->n_segment)
            return "a slot in a segment that does not exist";
    if (p->n_symbol == 0 && (p->arena_bytes.fn || p->work_offset.fn))
        return "an arena size depends on symbols, but there are none";
    if (!p->work_offset.fn && (p->work_offset.value < 0 || p->work_offset.value % 64 != 0))
        return "the work memory's offset is negative or not a multiple of 64";
    if (!p->arena_bytes.fn && (p->arena_bytes.value < 0 || (uint64_t)p->arena_bytes.value > SIZE_MAX / 2))
        return "the arena's size is out of range";
    return NULL;
}

/* What all functions share. */
static const char *program_fault(const tn_program *p)
{
    if (!p->function || p->n_function == 0 || p->n_function > MAX_COUNT)
        return "it has no functions";
    if (p->n_state > MAX_COUNT || (p->n_state > 0 && !p->state))
        return "a table is missing or too long";
    if (p->n_text > MAX_COUNT || (p->n_text > 0 && !p->text))
        return "a table is missing or too long";
    for (uint32_t i = 0; i < p->n_text; i++)
        if (!p->text[i])
            return "a missing text";
    return NULL;
}

/* Dimensions and byte count of a slot where they are constant. Inputs and outputs of main are dense; what
 * other functions take and give may have a layout. */
static const char *slot_size_fault(const tn_program_function *p, const tn_slot *s, bool is_main)
{
    int64_t shape[MAX_NDIM];
    bool fixed = true;
    uint64_t bytes = 0;
    if (s->ndim > MAX_NDIM || (s->ndim > 0 && !s->dim))
        return "more than 64 dimensions, or none given, in slot";
    for (uint32_t d = 0; d < s->ndim; d++) {
        fixed = fixed && !s->dim[d].fn;
        shape[d] = s->dim[d].fn ? 0 : s->dim[d].value;
    }
    if ((!fixed || s->bytes.fn || s->offset.fn) && p->n_symbol == 0)
        return "a size depends on symbols, but there are none, in slot";
    if (tnr_tensor_bytes(tnr_slot_dtype(s), s->ndim, shape, &bytes, NULL))
        return "invalid type or shape in slot";
    if (s->bytes.fn)
        return NULL;
    if (s->bytes.value < 0 || (uint64_t)s->bytes.value > SIZE_MAX / 2)
        return "byte count out of range in slot";
    if (fixed && is_main && s->kind <= TN_SLOT_OUTPUT && (uint64_t)s->bytes.value != bytes)
        return "byte count does not fit the shape of slot";
    return NULL;
}

/* Where it lives. */
static const char *slot_place_fault(const tn_program_function *p, const tn_slot *s, uint32_t at)
{
    size_t end;
    if (s->kind == TN_SLOT_STATE)
        return NULL;
    if (s->alias < -1 || s->alias >= (int64_t)p->n_slot || (s->alias >= 0 && s->kind != TN_SLOT_OUTPUT))
        return "alias out of range in slot";
    if (s->alias >= 0) {
        const tn_slot *of = &p->slot[s->alias];
        if (of->kind == TN_SLOT_TEMP || of->kind == TN_SLOT_STATE || s->alias == (int64_t)at ||
            (of->kind == TN_SLOT_OUTPUT && of->alias >= 0))
            return "an output is an alias of neither an input, a constant nor a plain output:";
        if (!of->bytes.fn && !s->bytes.fn && of->bytes.value != s->bytes.value)
            return "an alias of another size:";
    }
    if (s->kind == TN_SLOT_INPUT || s->kind == TN_SLOT_CONST || s->storage == TN_STORAGE_HANDLE ||
        s->offset.fn)
        return NULL;
    if (s->kind == TN_SLOT_OUTPUT && s->offset.value == -1)
        return NULL;
    if (s->offset.value < 0 || s->offset.value % 64 != 0)
        return "arena offset is negative or not a multiple of 64 in slot";
    if (s->segment)
        return NULL; /* checked when it is planned */
    if (!s->bytes.fn && !p->arena_bytes.fn &&
        (!tn_size_add((size_t)s->offset.value, (size_t)s->bytes.value, &end) ||
         (int64_t)end > p->arena_bytes.value))
        return "it does not fit into the arena: slot";
    return NULL;
}

static const char *bind_fault(const tn_program_function *p, const tn_slot *s, bool *bound)
{
    for (uint32_t d = 0; s->kind == TN_SLOT_INPUT && d < s->ndim; d++) {
        int32_t b = s->bind ? s->bind[d] : -1;
        if (b < -1 || b >= (int64_t)(p->n_symbol - p->n_late))
            return "binds a symbol that does not exist: input";
        if (b >= 0)
            bound[b] = true;
    }
    return NULL;
}

static tnr_status find_constant(tnr_exe *exe, tnr_function *code, const tn_slot *s, uint32_t at,
                                const tnr_params *params, tnr_error *err)
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
    code->fixed[at] = view.data;
    exe->constant_bytes += bytes;
    return TNR_OK;
}

/* A slot of a state has its type and its capacity. */
static bool is_state(const tn_program *p, const tn_slot *s)
{
    const tn_state *of = s->alias >= 0 && s->alias < (int64_t)p->n_state ? &p->state[s->alias] : NULL;
    if (!of || s->storage != TN_STORAGE_BYTES || s->code != of->code || s->bits != of->bits ||
        s->ndim != of->ndim || (of->ndim > 0 && !of->dim) || s->bytes.fn ||
        (uint64_t)s->bytes.value != of->bytes || s->segment)
        return false;
    for (uint32_t d = 0; d < s->ndim; d++)
        if (s->dim[d].fn || of->dim[d].fn || s->dim[d].value != of->dim[d].value)
            return false;
    return true;
}

static const char *handle_fault(const tn_slot *s)
{
    if (!tnr_family_get(TNR_FAMILY_VALUE))
        return "this runtime was linked without values:";
    return s->ndim > 0 || s->bytes.fn || s->bytes.value != 0 || s->offset.fn || s->segment > 0 ||
                   s->kind == TN_SLOT_CONST || s->kind == TN_SLOT_STATE
               ? "a handle with a size, or of a kind that cannot be one:"
               : NULL;
}

static const char *pool_fault(const tn_slot *s)
{
    return !tnr_family_get(TNR_FAMILY_VALUE) ? "this runtime was linked without values:"
           : s->kind != TN_SLOT_TEMP || s->offset.fn || s->offset.value != -1 || s->segment > 0
               ? "an impossible slot of the pool:"
               : NULL;
}

static const char *slot_fault(const tnr_exe *exe, const tnr_function *code, uint32_t at, bool *bound)
{
    const tn_program_function *p = code->function;
    const tn_slot *s = &p->slot[at];
    const char *fault =
        s->storage == TN_STORAGE_HANDLE ? handle_fault(s) : slot_size_fault(p, s, code == exe->code);
    if (!fault)
        fault = s->storage == TN_STORAGE_POOL ? pool_fault(s) : slot_place_fault(p, s, at);
    if (!fault)
        fault = bind_fault(p, s, bound);
    return !fault && s->kind == TN_SLOT_STATE && !is_state(exe->program, s)
               ? "a slot of a state that does not exist, or of another type or size:"
               : fault;
}

static tnr_status check_slots(tnr_exe *exe, tnr_function *code, const tnr_params *params, bool *bound,
                              tnr_error *err)
{
    const tn_program_function *p = code->function;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot *s = &p->slot[i];
        if (!s->name || s->kind > TN_SLOT_STATE || s->storage > TN_STORAGE_POOL || s->device != 0)
            return damaged(err, i, "a slot without a name or of no known kind", NULL);
        const char *fault = slot_fault(exe, code, i, bound);
        if (fault)
            return damaged(err, i, fault, s->name);
        tnr_status status = s->kind == TN_SLOT_CONST ? find_constant(exe, code, s, i, params, err) : TNR_OK;
        if (status)
            return status;
        code->steady[i] = s->storage == TN_STORAGE_POOL && !s->bytes.fn;
        if (s->storage != TN_STORAGE_BYTES) {
            code->handles = true;
            exe->families |= 1u << TNR_FAMILY_VALUE;
        }
        if (s->kind == TN_SLOT_INPUT)
            code->input[code->n_input++] = i;
        if (s->kind == TN_SLOT_OUTPUT)
            code->output[code->n_output++] = i;
    }
    for (uint32_t i = 0; i < p->n_symbol - p->n_late; i++)
        if (!bound[i])
            return damaged(err, i, "no input binds the symbol", p->symbol[i].name);
    return TNR_OK;
}

/* ---- states ---- */

static const char *state_fault(const tn_program *p, const tn_state *s)
{
    int64_t shape[MAX_NDIM];
    uint64_t bytes;
    if (!s->name || s->ndim > MAX_NDIM || (s->ndim > 0 && !s->dim) || s->device != 0)
        return "a state without a name or dimensions";
    for (uint32_t d = 0; d < s->ndim; d++) {
        if (s->dim[d].fn)
            return "a capacity that is no number, of state";
        shape[d] = s->dim[d].value;
    }
    if (tnr_tensor_bytes((DLDataType){s->code, s->bits, 1}, s->ndim, shape, &bytes, NULL) ||
        bytes != s->bytes || bytes > SIZE_MAX / 2)
        return "byte count does not fit the capacity of state";
    if (s->axis < -1 || s->axis >= (int)s->ndim || (s->axis >= 0 && (s->extent > (uint64_t)shape[s->axis])))
        return "an axis or extent out of range in state";
    if (s->init < -1 || s->init >= (int64_t)p->n_function || s->init == 0 || (s->init > 0 && s->initial))
        return "first contents that cannot be computed, of state";
    return NULL;
}

/* The function that fills it has no inputs and one output of its size. */
static bool fills(const tnr_function *code, const tn_state *s)
{
    const tn_slot *out = code->n_output == 1 ? &code->function->slot[code->output[0]] : NULL;
    return code->n_input == 0 && code->function->n_symbol == code->function->n_late && out &&
           out->storage == TN_STORAGE_BYTES && !out->bytes.fn && (uint64_t)out->bytes.value == s->bytes;
}

static tnr_status check_states(tnr_exe *exe, const tnr_params *params, tnr_error *err)
{
    const tn_program *p = exe->program;
    exe->initial = tnr_mem_new(p->n_state, sizeof *exe->initial);
    if (!exe->initial)
        return tnr_fail_memory(err, p->n_state * sizeof *exe->initial);
    for (uint32_t i = 0; i < p->n_state; i++) {
        const tn_state *s = &p->state[i];
        const char *fault = state_fault(p, s);
        DLTensor view;
        uint64_t bytes;
        if (!fault && s->init > 0 && !fills(&exe->code[s->init], s))
            fault = "a function that does not fill state";
        if (!fault && !tnr_family_get(TNR_FAMILY_STATE))
            fault = "this runtime was linked without states:";
        if (!fault && s->initial && (!tnr_params_get(params, s->initial, &view, &bytes) || bytes != s->bytes))
            fault = "mod.params lacks the first contents of state";
        if (fault)
            return damaged(err, i, fault, s->name);
        exe->families |= 1u << TNR_FAMILY_STATE | (s->init > 0 ? 1u << TNR_FAMILY_FRAME : 0);
        exe->initial[i] = s->initial ? view.data : NULL;
        exe->constant_bytes += s->initial ? bytes : 0;
    }
    return TNR_OK;
}

/* ---- instructions ---- */

static const struct { /* tenon/inst.def: what each instruction is made of */
    uint8_t family;
    char a[2], operands[9];
} form[] = {
#define INST(name, number, family, a, operands, doc) [number] = {TNR_FAMILY_##family, a, operands},
#include "tenon/inst.def"
#undef INST
};

static bool is_writable(const tn_slot *s)
{
    return s->kind == TN_SLOT_TEMP || s->kind == TN_SLOT_STATE || (s->kind == TN_SLOT_OUTPUT && s->alias < 0);
}

/* What is wrong with an operand of that letter; NULL: nothing. */
static const char *operand_fault(const tn_program_function *p, char letter, uint32_t operand)
{
    if (letter == 'n')
        return NULL;
    if (letter == 'y' || letter == 'z')
        return operand < (letter == 'y' ? p->n_symbol : p->n_size) ? NULL
               : letter == 'y'                                     ? "a symbol that does not exist at"
                                                                   : "a size that does not exist at";
    const tn_slot *s = operand < p->n_slot ? &p->slot[operand] : NULL;
    if (!s)
        return "a slot that does not exist at";
    if (strchr("wou", letter) && !is_writable(s))
        return "a slot that cannot be written at";
    if (letter == 'p'          ? s->storage == TN_STORAGE_BYTES
        : strchr("ho", letter) ? s->storage != TN_STORAGE_HANDLE
                               : strchr("swxib", letter) && s->storage == TN_STORAGE_HANDLE)
        return "a slot that holds bytes instead of a handle, or a handle instead of bytes, at";
    if (letter == 'x' && s->kind != TN_SLOT_STATE)
        return "a slot that is no state at";
    if (letter == 'i' && s->code != kDLInt && s->code != kDLUInt)
        return "an extent from a slot without integers at";
    if (letter == 'b' && (s->bytes.fn || s->bytes.value != 1))
        return "a condition that is not a bool scalar at";
    return NULL;
}

/* A state of fixed size is written like a temporary; one that grows gets rows (call_fault has kernels). */
static const char *state_operand_fault(const tnr_exe *exe, const tn_program_function *p, const tn_inst *in,
                                       char letter, uint32_t operand)
{
    const tn_slot *s = strchr("wu", letter) ? &p->slot[operand] : NULL;
    if (!s || s->kind != TN_SLOT_STATE)
        return NULL;
    int axis = exe->program->state[s->alias].axis;
    if (letter == 'u')
        return "a state as a result of a function at";
    return axis > 0 || (axis == 0 && in->op != TN_INST_STORE) ? "a state that grows is written as a whole at"
                                                              : NULL;
}

/* How many operands the first letter with a `*` stands for, where two letters have one. */
static uint32_t first_count(const tnr_exe *exe, const tn_program_function *p, const tn_inst *in)
{
    if (in->op == TN_INST_CALL)
        return exe->library->kernel[in->a].n_in;
    if (in->op == TN_INST_INVOKE)
        return exe->code[in->a].n_input;
    return in->op == TN_INST_CALL_HOST && in->n_operand ? p->operand[in->operand] : in->a;
}

/* Operands after their letters. */
static const char *operands_fault(const tnr_exe *exe, const tn_program_function *p, const tn_inst *in)
{
    const char *l = form[in->op].operands, *star = strchr(l, '*');
    const uint32_t *op = p->operand + in->operand;
    uint32_t fixed = (uint32_t)strlen(l), n = in->n_operand, k = 0, many;
    bool two = star && strchr(star + 1, '*');
    fixed -= two ? 4 : star ? 2 : 0;
    if (n < fixed || (!star && n != fixed))
        return "wrong number of operands at";
    for (bool first = true; *l; l++) {
        many = 1;
        if (l[1] == '*') {
            many = first && two ? first_count(exe, p, in) : n - fixed;
            if (many > n - fixed)
                return "wrong number of operands at";
            fixed += many;
            first = false;
        }
        for (uint32_t i = 0; i < many; i++) {
            const char *fault = operand_fault(p, *l, op[k]);
            if (!fault)
                fault = state_operand_fault(exe, p, in, *l, op[k]);
            if (fault)
                return fault;
            k++;
        }
        l += l[1] == '*';
    }
    return NULL;
}

static const char *field_fault(const tnr_exe *exe, const tn_program_function *p, const tn_inst *in)
{
    switch (form[in->op].a[0]) {
    case 'k': return in->a < exe->library->n_kernel ? NULL : "a call of a kernel that does not exist at";
    case 't': return in->a < exe->program->n_text ? NULL : "a text that does not exist at";
    case 'j': return in->a <= p->n_inst ? NULL : "a jump out of the program at";
    case 'g': return in->a > 0 && in->a <= p->n_segment ? NULL : "plans a segment that does not exist at";
    case 'f': return in->a < exe->program->n_function ? NULL : "a function that does not exist at";
    case 'y':
        return in->a < p->n_symbol && in->a >= p->n_symbol - p->n_late
                   ? NULL
                   : "binds a symbol that does not exist, or an input's, at";
    default: return NULL;
    }
}

/* Do two slots overlap? Only what is known now: offsets and sizes that are numbers. */
bool tnr_slots_overlap(const tn_program_function *p, uint32_t a, uint32_t b)
{
    const tn_slot *x = &p->slot[a], *y = &p->slot[b];
    if (x->kind == TN_SLOT_STATE || y->kind == TN_SLOT_STATE)
        return x->kind == y->kind && x->alias == y->alias;
    bool here = x->kind >= TN_SLOT_OUTPUT && x->kind != TN_SLOT_CONST && y->kind >= TN_SLOT_OUTPUT &&
                y->kind != TN_SLOT_CONST && x->segment == y->segment;
    if (!here || x->offset.fn || y->offset.fn || x->bytes.fn || y->bytes.fn || x->offset.value < 0 ||
        y->offset.value < 0 || !x->bytes.value || !y->bytes.value)
        return a == b;
    return x->offset.value < y->offset.value ? y->offset.value - x->offset.value < x->bytes.value
                                             : x->offset.value - y->offset.value < y->bytes.value;
}

const char *tnr_results_fault(const tn_program_function *p, const uint32_t *op, uint32_t n_in, uint32_t n)
{
    for (uint32_t i = n_in; i < n; i++)
        for (uint32_t k = 0; k < i && p->slot[op[i]].storage == TN_STORAGE_BYTES; k++)
            if (tnr_slots_overlap(p, op[k], op[i]))
                return "a result that overlaps an argument or another result at";
    return NULL;
}

/* May (or must) this result have the memory of this input? -1: neither. */
static int overlap_kind(const tn_kernel *k, uint32_t in, uint32_t out)
{
    for (uint32_t i = 0; i < k->n_overlap; i++)
        if (k->overlap[i].in == in && k->overlap[i].out == out)
            return (int)k->overlap[i].kind;
    return -1;
}

/* A state that grows is changed in place: a kernel that did not read it would lose what it holds. */
static bool loses_state(const tnr_exe *exe, const tn_program_function *p, const tn_inst *in,
                        const tn_kernel *k)
{
    for (uint32_t o = 0; o < k->n_out; o++) {
        const tn_slot *s = &p->slot[p->operand[in->operand + k->n_in + o]];
        bool paired = s->kind != TN_SLOT_STATE || exe->program->state[s->alias].axis < 0;
        for (uint32_t i = 0; i < k->n_in && !paired; i++)
            paired = overlap_kind(k, i, o) == TN_OVERLAP_MUST;
        if (!paired)
            return true;
    }
    return false;
}

/* Is it sound that the kernel has slot `in` as an input and slot `out` as a result? */
static bool is_apart(const tn_program_function *p, uint32_t in, uint32_t out, int kind)
{
    const tn_slot *x = &p->slot[in], *y = &p->slot[out];
    if (kind == TN_OVERLAP_MUST)
        return in == out && x->kind == TN_SLOT_STATE;
    if (kind == TN_OVERLAP_MAY &&
        (in == out ? x->kind == TN_SLOT_STATE
                   : x->offset.value == y->offset.value && x->bytes.value == y->bytes.value &&
                         x->kind != TN_SLOT_STATE))
        return true;
    return !tnr_slots_overlap(p, in, out);
}

/* Work memory that the call names overlaps neither operands nor results, and a result no operand but those the kernel
 * computes it over. O(inputs times outputs). */
static const char *call_fault(tnr_exe *exe, const tn_program_function *p, const tn_inst *in)
{
    const tn_kernel *k = &exe->library->kernel[in->a];
    const uint32_t *op = p->operand + in->operand;
    uint64_t n_arg = (uint64_t)k->n_in + k->n_out;
    bool work = in->n_operand == n_arg + k->n_sym + 1;
    if (in->n_operand != n_arg + k->n_sym && !work)
        return "wrong number of operands for kernel";
    for (uint64_t i = 0; i < in->n_operand; i++)
        if (operand_fault(p, i < k->n_in ? 's' : i < n_arg || i == n_arg + k->n_sym ? 'w' : 'y', op[i]))
            return "an operand out of range or not writable for kernel";
    if (work && p->slot[op[n_arg + k->n_sym]].kind != TN_SLOT_TEMP)
        return "work memory that is not a temporary for kernel";
    for (uint32_t i = 0; work && i < n_arg; i++)
        if (tnr_slots_overlap(p, op[n_arg + k->n_sym], op[i]))
            return "work memory that overlaps an operand or a result of kernel";
    for (uint32_t o = 0; o < k->n_out; o++)
        for (uint32_t i = 0; i < k->n_in; i++)
            if (!is_apart(p, op[i], op[k->n_in + o], overlap_kind(k, i, o)))
                return "a result that overlaps an operand of kernel";
    if (loses_state(exe, p, in, k))
        return "a state that grows is written as a whole by kernel";
    for (uint32_t v = 0; v < k->n_variant; v++)
        if (k->variant[v].scratch_bytes > exe->scratch_bytes)
            exe->scratch_bytes = (k->variant[v].scratch_bytes + 63) / 64 * 64;
    return NULL;
}

static tnr_status check_call(tnr_exe *exe, const tn_program_function *p, const tn_inst *in, uint32_t at,
                             tnr_error *err)
{
    const char *fault = call_fault(exe, p, in);
    return fault ? damaged(err, at, fault, exe->library->kernel[in->a].name) : TNR_OK;
}

static const char *flat_fault(const tn_program_function *p, const tn_inst *in)
{
    const uint32_t *op = p->operand + in->operand;
    if (in->op == TN_INST_SET && (p->slot[op[0]].bytes.fn || p->slot[op[0]].bytes.value != 8))
        return "a slot that cannot be written at";
    return NULL;
}

static tnr_status check_inst(tnr_exe *exe, const tnr_function *code, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = code->function;
    const tn_inst *in = &p->inst[at];
    if (!in->node || in->operand > p->n_operand || in->n_operand > p->n_operand - in->operand)
        return damaged(err, at, "an instruction whose operands are out of range", NULL);
    if (in->op >= TN_INST_COUNT)
        return damaged(err, at, "an unknown instruction at", in->node);
    if (in->n_operand > exe->max_operand)
        exe->max_operand = in->n_operand;
    uint32_t id = form[in->op].family;
    exe->families |= 1u << id | (id == TNR_FAMILY_VALUE ? 1u << TNR_FAMILY_FRAME : 0);
    const char *fault = field_fault(exe, p, in);
    if (!fault && in->op == TN_INST_CALL)
        return check_call(exe, p, in, at, err);
    if (!fault)
        fault = operands_fault(exe, p, in);
    if (!fault && id == TNR_FAMILY_FLAT)
        fault = flat_fault(p, in);
    if (!fault && id != TNR_FAMILY_FLAT)
        fault = tnr_family_get(id) ? tnr_family_get(id)->check(exe, code, in)
                                   : "this runtime was linked without the instruction at";
    return fault ? damaged(err, at, fault, in->node) : TNR_OK;
}

#pragma weak tnr_family_frame
#pragma weak tnr_family_host
#pragma weak tnr_family_state
#pragma weak tnr_family_value

uint32_t tnr_family_of(uint32_t op) { return form[op].family; }

const tnr_family *tnr_family_get(uint32_t id)
{
    static const tnr_family *const family[TNR_N_FAMILY] = {NULL, &tnr_family_frame, &tnr_family_host,
                                                           &tnr_family_state, &tnr_family_value};
    return family[id];
}

/* ---- functions ---- */

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

/* Tables and slots; of main the names too. */
static tnr_status check_function(tnr_exe *exe, tnr_function *code, const tnr_params *params, tnr_error *err)
{
    const tn_program_function *p = code->function;
    const char *fault = tables_fault(p);
    if (fault)
        return damaged(err, 0, fault, NULL);
    tnr_status status = TNR_OK;
    uint32_t n = p->n_slot;
    code->input = tnr_mem_new(2 * (size_t)n, sizeof *code->input);
    code->fixed = tnr_mem_new(n, sizeof *code->fixed);
    code->steady = tnr_mem_new(n, sizeof *code->steady);
    bool *bound = tnr_mem_new(p->n_symbol, sizeof *bound);
    const char **name = tnr_mem_new(n, sizeof *name);
    uint32_t *order = tnr_mem_new(n, sizeof *order);
    if (!code->input || !code->fixed || !code->steady || !bound || !name || !order) {
        status = tnr_fail_memory(err, (uint64_t)n * 32);
    } else {
        code->output = code->input + n;
        status = check_slots(exe, code, params, bound, err);
    }
    if (!status)
        status = check_names(p, code->input, code->n_input, name, order, err);
    if (!status)
        status = check_names(p, code->output, code->n_output, name, order, err);
    tnr_mem_free(bound);
    tnr_mem_free(name);
    tnr_mem_free(order);
    return status;
}

tnr_status tnr_exe_init(tnr_exe *exe, const tn_library *library, const tn_program *program,
                        const tnr_params *params, tnr_error *err)
{
    *exe = (tnr_exe){.library = library, .program = program};
    const char *fault = program_fault(program);
    if (fault)
        return damaged(err, 0, fault, NULL);
    tnr_status status = TNR_OK;
    exe->code = tnr_mem_new(program->n_function, sizeof *exe->code);
    if (!exe->code)
        return tnr_fail_memory(err, program->n_function * sizeof *exe->code);
    for (; !status && exe->n_code < program->n_function; exe->n_code++) {
        exe->code[exe->n_code].function = &program->function[exe->n_code];
        status = check_function(exe, &exe->code[exe->n_code], params, err);
    }
    if (!status)
        status = check_states(exe, params, err);
    for (uint32_t f = 0; !status && f < exe->n_code; f++)
        for (uint32_t i = 0; !status && i < exe->code[f].function->n_inst; i++)
            status = check_inst(exe, &exe->code[f], i, err);
    if (status)
        tnr_exe_deinit(exe);
    return status;
}

void tnr_exe_deinit(tnr_exe *exe)
{
    for (uint32_t f = 0; f < exe->n_code; f++) {
        tnr_mem_free(exe->code[f].input);
        tnr_mem_free(exe->code[f].fixed);
        tnr_mem_free(exe->code[f].steady);
    }
    tnr_mem_free(exe->code);
    tnr_mem_free(exe->initial);
    *exe = (tnr_exe){0};
}
