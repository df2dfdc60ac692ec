/* INVOKE: functions that call functions. A call takes a frame, sets its inputs and results from the caller's slots, and
 * makes it the innermost one; when its instructions have ended, the executor's loop leaves it (run.c). Nothing of this
 * is on the machine's stack. A frame that was left is kept for the next call of its function, with its arenas and with
 * the sizes for its symbols, so a call in a loop allocates nothing after the first one. */
#include "runtime/error.h"
#include "runtime/family.h"
#include "runtime/mem.h"
#include "runtime/value.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH = 10000 }; /* TNR_DEPTH of docs/abi.md */

/* ---- frames ---- */

static tnr_status make_frame(tnr_instance *inst, const tnr_function *code, tnr_frame **out, tnr_error *err)
{
    tnr_frame *f = tnr_mem_new(1, sizeof *f);
    if (!f)
        return tnr_fail_memory(err, sizeof *f);
    tnr_status status = tnr_frame_init(f, inst, code, err);
    if (!status && !(f->result = tnr_mem_new(code->n_output, sizeof *f->result)))
        status = tnr_fail_memory(err, code->n_output * sizeof *f->result);
    if (!status) {
        *out = f;
        return TNR_OK;
    }
    tnr_frame_deinit(f);
    tnr_mem_free(f);
    return status;
}

static void free_frame(tnr_frame *f)
{
    tnr_mem_free(f->result);
    tnr_frame_deinit(f);
    tnr_mem_free(f);
}

tnr_status tnr_frame_take(tnr_instance *inst, const tnr_function *code, tnr_frame **out_frame, tnr_error *err)
{
    uint32_t most = inst->exe->program->depth, which = (uint32_t)(code - inst->exe->code);
    most = most && most < DEPTH ? most : DEPTH;
    if (inst->depth + 1 >= most)
        return tnr_fail(err, TNR_E_CHECK, inst->frame->at - 1,
                        "function %.100s: calls are nested too deeply; the limit is %" PRIu32 " frames",
                        code->function->name, most);
    tnr_frame *f = inst->spare[which];
    tnr_status status = f ? TNR_OK : make_frame(inst, code, &f, err);
    if (status)
        return status;
    if (f == inst->spare[which])
        inst->spare[which] = f->caller;
    f->caller = NULL;
    f->give = NULL;
    *out_frame = f;
    return TNR_OK;
}

#pragma weak tnr_value_pass
#pragma weak tnr_values_drop

/* Back to the free ones of its function. */
static void give_back(tnr_frame *f)
{
    if (f->value)
        tnr_values_drop(f);
    tnr_frame **list = &f->instance->spare[f->code - f->instance->exe->code];
    f->caller = *list;
    *list = f;
}

tnr_status tnr_frame_begin(tnr_frame *f, tnr_error *err)
{
    tnr_instance *inst = f->instance;
    tnr_status status = tnr_bind(f, err);
    for (uint32_t i = 0; !status && i < f->code->n_input; i++)
        if (f->bytes[f->code->input[i]] != f->input[i].bytes)
            status = tnr_fail(err, TNR_E_CHECK, inst->frame->at - 1,
                              "function %.100s: input \"%.100s\" of %" PRIu64 " bytes gets one of %" PRIu64,
                              f->code->function->name, f->code->function->slot[f->code->input[i]].name,
                              f->bytes[f->code->input[i]], f->input[i].bytes);
    if (!status)
        status = tnr_frame_place(f, inst->main.view != NULL, err);
    if (status) {
        give_back(f);
        return status;
    }
    inst->frame = f;
    inst->depth++;
    return TNR_OK;
}

static void pop(tnr_frame *f)
{
    f->instance->frame = f->caller ? f->caller : &f->instance->main;
    f->instance->depth--;
    give_back(f);
}

void tnr_frames_drop(tnr_instance *inst)
{
    while (inst->frame != &inst->main)
        pop(inst->frame);
}

/* ---- calls ---- */

static tnr_status not_written(const tnr_frame *f, const char *name, tnr_error *err)
{
    return tnr_fail(err, TNR_E_CHECK, 0,
                    "function %.100s: the handle \"%.100s\" is read before it is written",
                    f->code->function->name, name);
}

/* Input i: the caller's memory and shape, or what its handle refers to. */
static tnr_status give(tnr_frame *f, uint32_t i, const tnr_frame *from, uint32_t slot, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    const tn_slot *s = &p->slot[f->code->input[i]], *given = &from->code->function->slot[slot];
    tnr_given *to = &f->input[i];
    *to = (tnr_given){.data = from->ptr[slot], .bytes = from->bytes[slot], .shape = to->shape, .set = true};
    if (s->storage == TN_STORAGE_HANDLE && !from->value[slot])
        return not_written(f, s->name, err);
    if (s->storage == TN_STORAGE_HANDLE)
        tnr_value_pass(f, f->code->input[i], from, slot);
    for (uint32_t d = 0; d < s->ndim; d++) {
        int64_t n = given->dim[d].fn ? given->dim[d].fn(from->sym) : given->dim[d].value;
        tnr_status status =
            s->bind && s->bind[d] >= 0
                ? tnr_check_extent(&p->symbol[s->bind[d]], n, "function ", p->name, from->at - 1, err)
                : TNR_OK;
        if (status)
            return status;
        to->shape[d] = n;
    }
    return TNR_OK;
}

static tnr_status invoke(tnr_frame *caller, const tn_inst *in, tnr_error *err)
{
    const uint32_t *op = caller->code->function->operand + in->operand;
    const tnr_function *code = &caller->instance->exe->code[in->a];
    tnr_frame *f;
    tnr_status status = tnr_frame_take(caller->instance, code, &f, err);
    if (status)
        return status;
    for (uint32_t i = 0; !status && i < code->n_input; i++)
        status = give(f, i, caller, op[i], err);
    f->give = op + code->n_input;
    for (uint32_t i = 0; i < code->n_output; i++)
        f->result[i] = (tnr_given){.data = caller->ptr[f->give[i]], .bytes = caller->bytes[f->give[i]]};
    f->caller = caller;
    if (status) {
        give_back(f);
        return status;
    }
    return tnr_frame_begin(f, err);
}

/* The function has ended: what is not in the caller's slots is copied there. */
static tnr_status leave(tnr_frame *f, tnr_error *err)
{
    for (uint32_t i = 0; i < f->code->n_output; i++) {
        uint32_t slot = f->code->output[i];
        const tn_slot *s = &f->code->function->slot[slot];
        uint32_t source = s->alias >= 0 ? (uint32_t)s->alias : slot;
        const void *from = f->ptr[source];
        if (s->storage == TN_STORAGE_HANDLE && !f->value[source])
            return not_written(f, s->name, err);
        if (s->storage == TN_STORAGE_HANDLE)
            tnr_value_pass(f->caller, f->give[i], f, source);
        else if (from != f->result[i].data && f->result[i].bytes > 0)
            memmove(f->result[i].data, from, (size_t)f->result[i].bytes);
    }
    pop(f);
    return TNR_OK;
}

/* in NULL: the frame has ended. */
static tnr_status run(tnr_frame *f, const tn_inst *in, tnr_error *err)
{
    return in ? invoke(f, in, err) : leave(f, err);
}

/* ---- checks, and memory of an instance ---- */

static bool same_kind(const tn_slot *a, const tn_slot *b)
{
    bool handle = a->storage == TN_STORAGE_HANDLE;
    return handle == (b->storage == TN_STORAGE_HANDLE) &&
           (handle || (a->ndim == b->ndim && a->bits == b->bits && a->code == b->code));
}

static const char *check(const tnr_exe *exe, const tnr_function *code, const tn_inst *in)
{
    const tn_program_function *p = code->function;
    const uint32_t *op = p->operand + in->operand;
    const tnr_function *to = &exe->code[in->a];
    if (in->n_operand != to->n_input + to->n_output)
        return "wrong number of operands at";
    for (uint32_t i = 0; i < in->n_operand; i++) {
        uint32_t slot = i < to->n_input ? to->input[i] : to->output[i - to->n_input];
        if (!same_kind(&p->slot[op[i]], &to->function->slot[slot]))
            return "an argument or a result of another type than the function's at";
    }
    return tnr_results_fault(p, op, to->n_input, in->n_operand);
}

static tnr_status open_frames(tnr_instance *inst, tnr_error *err)
{
    inst->spare = tnr_mem_new(inst->exe->n_code, sizeof *inst->spare);
    return inst->spare ? TNR_OK : tnr_fail_memory(err, inst->exe->n_code * sizeof *inst->spare);
}

static void close_frames(tnr_instance *inst)
{
    if (inst->frame)
        tnr_frames_drop(inst);
    for (uint32_t i = 0; inst->spare && i < inst->exe->n_code; i++)
        for (tnr_frame *f = inst->spare[i], *next; f; f = next) {
            next = f->caller;
            free_frame(f);
        }
    tnr_mem_free(inst->spare);
}

const tnr_family tnr_family_frame = {.check = check, .run = run, .open = open_frames, .close = close_frames};
