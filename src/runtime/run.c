/* Running a program: a short loop over its instructions. Everything was checked before, at load (exe.c) and
 * when the symbols were bound (bind.c); here remain the caller's buffers, which may change from run to
 * run. */
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/floating.h"
#include "runtime/guard.h"
#include "runtime/host.h"
#include "runtime/family.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/pool.h"
#include "runtime/state.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* Before their uses: clang links them otherwise. */
#pragma weak tnr_frames_drop
#pragma weak tnr_hosts_ready
#pragma weak tnr_states_ready
#pragma weak tnr_values_begin
#pragma weak tnr_values_end

/* ---- the caller's buffers ---- */

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a && b && a_bytes > 0 && b_bytes > 0 && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

/* An input must not lie where the run writes: not in the instance (an output view of the last run), not in an
 * output. */
static tnr_status check_input_place(const tnr_frame *f, uint32_t i, tnr_error *err)
{
    const tnr_function *x = f->code;
    const tnr_given *in = &f->input[i];
    const char *name = tnr_module_input(f->instance->module, i)->name;
    bool inside = overlap(in->data, in->bytes, f->arena, f->arena_room);
    for (uint32_t s = 0; f->instance->state && s < f->instance->exe->program->n_state; s++)
        inside = inside || overlap(in->data, in->bytes, f->instance->state[s].at,
                                   f->instance->exe->program->state[s].bytes);
    for (uint32_t o = 0; o < x->n_output; o++) {
        const tnr_given *out = &f->instance->output_given[o];
        inside = inside ||
                 overlap(in->data, in->bytes, f->instance->output[o].own, f->instance->output[o].own_room);
        if (out->set && overlap(in->data, in->bytes, out->data, out->bytes))
            return tnr_fail(err, TNR_E_LAYOUT, 0,
                            "input \"%.400s\" overlaps the memory given for output \"%.400s\"", name,
                            tnr_module_output(f->instance->module, o)->name);
    }
    if (inside)
        return tnr_fail(err, TNR_E_LAYOUT, 0,
                        "input \"%.400s\" lies in the instance's own memory, which the run overwrites: "
                        "copy it out first, or give memory for that output",
                        name);
    return TNR_OK;
}

static tnr_status check_places(const tnr_frame *f, tnr_error *err)
{
    const tnr_function *x = f->code;
    for (uint32_t i = 0; i < x->n_input; i++) {
        tnr_status status = f->input[i].set ? check_input_place(f, i, err) : TNR_OK;
        if (status)
            return status;
    }
    for (uint32_t a = 0; a < x->n_output; a++)
        for (uint32_t b = a + 1; b < x->n_output && f->instance->output_given[a].set; b++)
            if (f->instance->output_given[b].set &&
                overlap(f->instance->output_given[a].data, f->instance->output_given[a].bytes,
                        f->instance->output_given[b].data, f->instance->output_given[b].bytes))
                return tnr_fail(err, TNR_E_LAYOUT, 0,
                                "the memory given for outputs \"%.400s\" and \"%.400s\" overlaps",
                                tnr_module_output(f->instance->module, a)->name,
                                tnr_module_output(f->instance->module, b)->name);
    return TNR_OK;
}

/* Addresses of inputs and outputs for this run; an output in the arena is copied to the caller at the end. */
static tnr_status place_tensors(tnr_frame *f, tnr_error *err)
{
    const tnr_function *x = f->code;
    tnr_status status = TNR_OK;
    for (uint32_t i = 0; i < x->n_input; i++)
        f->ptr[x->input[i]] = f->input[i].data;
    for (uint32_t i = 0; !status && i < x->n_output; i++)
        if (!x->function->slot[x->output[i]].segment)
            status = tnr_place_output(f, i, err);
    return status;
}

/* After the walk: outputs that equal another slot, and outputs that were made in the arena for the caller. */
tnr_status tnr_deliver(tnr_instance *inst, tnr_error *err)
{
    const tnr_frame *f = &inst->main;
    const tnr_function *x = f->code;
    tnr_status status = f->value ? tnr_values_end(inst, err) : TNR_OK;
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &x->function->slot[x->output[i]];
        const void *from = f->ptr[s->alias >= 0 ? s->alias : (int64_t)x->output[i]];
        uint64_t bytes = f->bytes[x->output[i]];
        if (from != f->instance->output[i].at && bytes > 0)
            memcpy(f->instance->output[i].at, from, (size_t)bytes);
    }
    inst->ran = !status;
    return status;
}

/* ---- profiles ---- */

void tnr_slot_view(tnr_frame *f, uint32_t i)
{
    const tn_slot *s = &f->code->function->slot[i];
    if (!f->view)
        return;
    f->view[i].data = f->ptr[i];
    for (uint32_t d = 0; d < s->ndim; d++)
        f->view[i].shape[d] = tnr_size_get(s->dim[d], f->sym);
}

/* Addresses and shapes of the slots of a segment. */
static void set_views(tnr_frame *f, uint32_t segment)
{
    const tn_program_function *p = f->code->function;
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].segment == segment)
            tnr_slot_view(f, i);
}

static tnr_status make_views(tnr_frame *f, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    size_t n_dim = 0;
    for (uint32_t i = 0; i < p->n_slot; i++)
        n_dim += p->slot[i].ndim;
    if (!f->view)
        f->view = tnr_mem_new(p->n_slot, sizeof *f->view);
    if (!f->view_shape)
        f->view_shape = tnr_mem_new(n_dim, sizeof *f->view_shape);
    if (!f->instance->arg_view)
        f->instance->arg_view = tnr_mem_new(f->instance->exe->max_operand, sizeof *f->instance->arg_view);
    if (!f->view || !f->view_shape || !f->instance->arg_view)
        return tnr_fail_memory(err, p->n_slot * sizeof *f->view + n_dim * 8);
    int64_t *shape = f->view_shape;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot *s = &p->slot[i];
        f->view[i] = (DLTensor){
            .device = {kDLCPU, 0}, .ndim = (int32_t)s->ndim, .dtype = tnr_slot_dtype(s), .shape = shape};
        shape += s->ndim;
    }
    set_views(f, 0);
    return TNR_OK;
}

uint64_t tnr_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t positive(int64_t n) { return n > 0 ? (uint64_t)n : 0; }

/* f->instance->call_sym: those of this call. */
static tnr_operations operations_of(const tnr_frame *f, const tn_inst *in)
{
    const tn_operations *all = f->instance->exe->library->operations;
    if (in->op != TN_INST_CALL || !all)
        return (tnr_operations){0};
    return (tnr_operations){.floats = positive(tnr_size_get(all[in->a].floats, f->instance->call_sym)),
                            .bfloat16 = positive(tnr_size_get(all[in->a].bfloat16, f->instance->call_sym)),
                            .integers = positive(tnr_size_get(all[in->a].integers, f->instance->call_sym))};
}

/* Of the instruction that ran last. */
void tnr_event(tnr_frame *f, uint32_t at, uint32_t variant, uint64_t nanoseconds, tnr_profile_event *out)
{
    const tn_inst *in = &f->code->function->inst[at];
    const uint32_t *op = f->code->function->operand + in->operand;
    const tn_kernel *k = in->op == TN_INST_CALL ? &f->instance->exe->library->kernel[in->a] : NULL;
    *out = (tnr_profile_event){.node = in->node,
                               .kernel = k ? k->name : "__copy",
                               .nanoseconds = nanoseconds,
                               .index = at,
                               .variant = variant,
                               .n_in = k ? k->n_in : 1,
                               .n_out = k ? k->n_out : 1,
                               .arg = f->instance->arg_view,
                               .slot = op,
                               .operations = operations_of(f, in),
                               .function = f->code->function->name};
    for (uint32_t i = 0; i < out->n_in + out->n_out; i++)
        f->instance->arg_view[i] = f->view[op[i]];
}

static void report(tnr_frame *f, uint32_t at, uint32_t variant, uint64_t nanoseconds)
{
    tnr_profile_event e;
    tnr_event(f, at, variant, nanoseconds, &e);
    tnr_floating ours = tnr_floating_default();
    f->instance->profile(f->instance->profile_user, &e);
    tnr_floating_restore(ours);
}

/* ---- the loop ---- */

static tnr_status call(tnr_frame *f, uint32_t at, uint32_t *out_variant, tnr_error *err)
{
    const tnr_function *x = f->code;
    const tn_inst *in = &x->function->inst[at];
    const tn_kernel *k = &f->instance->exe->library->kernel[in->a];
    const uint32_t *op = x->function->operand + in->operand;
    uint32_t n_arg = k->n_in + k->n_out;
    for (uint32_t i = 0; i < n_arg; i++)
        f->instance->arg[i] = f->ptr[op[i]];
    for (uint32_t i = 0; i < k->n_sym; i++)
        f->instance->call_sym[i] = f->sym[op[n_arg + i]];
    bool room = f->work_offset < f->arena_bytes;
    bool own = in->n_operand > n_arg + k->n_sym;
    uint32_t work = own ? op[n_arg + k->n_sym] : 0;
    tnr_call_site site = {.kernel = k,
                          .node = in->node,
                          .position = at,
                          .arg = f->instance->arg,
                          .sym = k->n_sym ? f->instance->call_sym : NULL,
                          .user = f->instance->module->user ? f->instance->module->user[in->a] : NULL,
                          .work = own    ? f->ptr[work]
                                  : room ? f->arena + f->work_offset
                                         : NULL,
                          .work_room = own    ? f->bytes[work]
                                       : room ? f->arena_bytes - f->work_offset
                                              : 0,
                          .scratch = f->instance->scratch,
                          .scratch_stride = f->instance->exe->scratch_bytes,
                          .threads = f->instance->threads,
                          .check = f->instance->checked,
                          .cancel = &f->instance->cancel};
    return tnr_devices[TNR_HOST].launch(&site, out_variant, err);
}

/* ---- symbols bound during the run ---- */

static tnr_status read_extent(const tnr_frame *f, uint32_t at, int64_t *out, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    const uint32_t *op = p->operand + p->inst[at].operand;
    const tn_slot *s = &p->slot[op[0]];
    uint32_t size = (s->bits + 7u) / 8u;
    const uint8_t *from = (const uint8_t *)f->ptr[op[0]] + (size_t)op[1] * size;
    if ((uint64_t)(op[1] + 1) * size > f->bytes[op[0]])
        return tnr_fail(err, TNR_E_FORMAT, at, "%.400s: an extent is read from a place that has none",
                        p->inst[at].node);
    uint64_t v = 0;
    memcpy(&v, from, size);
    unsigned above = 64 - s->bits;
    *out = s->code == kDLInt ? (int64_t)(v << above) >> above : (int64_t)(v << above >> above);
    return TNR_OK;
}

static tnr_status bind_late(tnr_frame *f, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    const tn_inst *in = &p->inst[at];
    const uint32_t *op = p->operand + in->operand;
    const tn_symbol *s = in->op == TN_INST_CHECK ? NULL : &p->symbol[in->a];
    int64_t v = 0;
    tnr_status status = TNR_OK;
    if (in->op == TN_INST_BIND)
        v = tnr_size_get(p->size[op[0]], f->sym);
    else
        status = read_extent(f, at, &v, err);
    if (status)
        return status;
    if (!s) {
        int64_t want = tnr_size_get(p->size[op[2]], f->sym);
        return v == want ? TNR_OK
                         : tnr_fail(err, TNR_E_CHECK, at,
                                    "%.400s: an extent is %" PRId64 ", but must be %" PRId64 " (%.400s)",
                                    in->node, v, want, f->instance->exe->program->text[in->a]);
    }
    status = tnr_check_extent(s, v, "", in->node, at, err);
    if (!status)
        f->sym[in->a] = v;
    return status;
}

static tnr_status plan(tnr_frame *f, uint32_t at, tnr_error *err)
{
    uint32_t segment = f->code->function->inst[at].a;
    tnr_status status = tnr_plan(f, segment, at, err);
    if (!status && f->guard)
        status = tnr_guard_place(f, segment, err);
    if (!status)
        set_views(f, segment);
    return status;
}

static tnr_status copy(tnr_frame *f, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    const uint32_t *op = p->operand + p->inst[at].operand;
    if (f->bytes[op[0]] != f->bytes[op[1]])
        return tnr_fail(err, TNR_E_SHAPE, at,
                        "%.400s: a tensor of %" PRIu64 " bytes would become one of %" PRIu64,
                        p->inst[at].node, f->bytes[op[0]], f->bytes[op[1]]);
    if (f->bytes[op[1]] > 0) /* slots may share storage */
        memmove(f->ptr[op[1]], f->ptr[op[0]], (size_t)f->bytes[op[1]]);
    return TNR_OK;
}

/* How many rows of so many bytes a slot has: a state that grows, as many as its extent says. */
static uint64_t rows_of(const tnr_frame *f, uint32_t slot, uint64_t row)
{
    const tn_slot *s = &f->code->function->slot[slot];
    uint64_t rows = row > 0 ? f->bytes[slot] / row : 0;
    if (s->kind != TN_SLOT_STATE || f->instance->exe->program->state[s->alias].axis < 0)
        return rows;
    uint64_t extent = (uint64_t)f->instance->state[s->alias].extent;
    return extent < rows ? extent : rows;
}

/* SET and STORE. */
static tnr_status write_slot(tnr_frame *f, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    const tn_inst *in = &p->inst[at];
    const uint32_t *op = p->operand + in->operand;
    int64_t v = tnr_size_get(p->size[op[in->n_operand - 1]], f->sym);
    if (in->op == TN_INST_SET) {
        memcpy(f->ptr[op[0]], &v, sizeof v);
        return TNR_OK;
    }
    uint64_t row = f->bytes[op[0]], rows = rows_of(f, op[1], row);
    if (v < 0 || (row > 0 && (uint64_t)v >= rows))
        return tnr_fail(err, TNR_E_CHECK, at,
                        "%.400s: row %" PRId64 " of a result is beyond its %" PRIu64 " rows", in->node, v,
                        rows);
    if (row > 0)
        memcpy((uint8_t *)f->ptr[op[1]] + (uint64_t)v * row, f->ptr[op[0]], (size_t)row);
    return TNR_OK;
}

/* FLAT instructions without effects of their own: where the program goes on. */
static void jump(tnr_frame *f, const tn_inst *in, const uint32_t *op)
{
    bool taken = in->op == TN_INST_JUMP         ? true
                 : in->op == TN_INST_JUMP_FALSE ? !*(const uint8_t *)f->ptr[op[0]]
                                                : tnr_size_get(f->code->function->size[op[0]], f->sym) == 0;
    if (taken)
        f->at = in->a;
}

static tnr_status instruction(tnr_frame *f, uint32_t *out_variant, tnr_error *err)
{
    uint32_t at = f->at++;
    const tn_inst *in = &f->code->function->inst[at];
    switch (in->op) {
    case TN_INST_CALL: return call(f, at, out_variant, err);
    case TN_INST_COPY: return copy(f, at, err);
    case TN_INST_BIND:
    case TN_INST_BIND_SLOT:
    case TN_INST_CHECK: return bind_late(f, at, err);
    case TN_INST_PLAN: return plan(f, at, err);
    case TN_INST_SET:
    case TN_INST_STORE: return write_slot(f, at, err);
    case TN_INST_JUMP:
    case TN_INST_JUMP_ZERO:
    case TN_INST_JUMP_FALSE: jump(f, in, f->code->function->operand + in->operand); return TNR_OK;
    case TN_INST_FAIL:
        return tnr_fail(err, TNR_E_CHECK, at, "%.400s: %.400s", in->node,
                        f->instance->exe->program->text[in->a]);
    default: return tnr_family_get(tnr_family_of(in->op))->run(f, in, err);
    }
}

tnr_status tnr_instruction(tnr_frame *f, uint32_t *out_variant, tnr_error *err)
{
    uint32_t at = f->at;
    tnr_status status = instruction(f, out_variant, err);
    return status || !f->guard ? status : tnr_guard_look(f, at, err);
}

tnr_frame *tnr_settle(tnr_instance *inst, tnr_status *out_status, tnr_error *err)
{
    for (;;) {
        tnr_frame *f = inst->frame;
        if (f->at < f->code->function->n_inst)
            return f;
        if (f == &inst->main)
            return NULL;
        bool last = !f->caller; /* it fills a state */
        *out_status = tnr_family_get(TNR_FAMILY_FRAME)->run(f, NULL, err);
        if (*out_status || last)
            return NULL;
    }
}

tnr_status tnr_walk(tnr_instance *inst, tnr_error *err)
{
    tnr_status status = TNR_OK;
    for (;;) {
        tnr_frame *f = inst->frame;
        if (f->at >= f->code->function->n_inst && !(f = tnr_settle(inst, &status, err)))
            return status;
        uint64_t start = inst->profile ? tnr_now() : 0;
        uint32_t variant = 0, at = f->at;
        if (!(status = tnr_cancel_look(&inst->cancel, at, err)))
            status = tnr_instruction(f, &variant, err);
        if (status)
            return status;
        if (inst->profile && f->code->function->inst[at].op <= TN_INST_COPY)
            report(f, at, variant, tnr_now() - start);
    }
}

tnr_status tnr_frame_place(tnr_frame *f, bool views, tnr_error *err)
{
    tnr_status status = place_tensors(f, err);
    if (!status && f->guard && !f->instance->empty)
        status = tnr_guard_place(f, 0, err);
    if (!status && (views || f->instance->hosts) && !f->instance->empty) /* what host functions get, too */
        status = make_views(f, err);
    f->at = 0;
    return status;
}

tnr_status tnr_prepare(tnr_instance *inst, bool views, tnr_error *err)
{
    inst->ran = inst->stepping = false;
    if (inst->main.value)
        tnr_values_begin(inst);
    if (inst->frame != &inst->main) /* the last run has failed there */
        tnr_frames_drop(inst);
    tnr_status status = check_places(&inst->main, err);
    if (!status && inst->hosts)
        status = tnr_hosts_ready(inst, err);
    if (!status && inst->state)
        status = tnr_states_ready(inst, err);
    if (!status)
        status = tnr_bind(&inst->main, err);
    if (!status && !inst->empty)
        status = tnr_bind_threads(inst, err);
    return status ? status : tnr_frame_place(&inst->main, views, err);
}

tnr_status tnr_enter(tnr_instance *instance, const char *function, tnr_error *err)
{
    if (!instance)
        return tnr_fail_argument(function, err);
    if (atomic_exchange_explicit(&instance->running, 1, memory_order_acquire))
        return tnr_fail(err, TNR_E_STATE, 0, "the instance is already running; make one instance per thread");
    return TNR_OK;
}

void tnr_leave(tnr_instance *instance) { atomic_store_explicit(&instance->running, 0, memory_order_release); }

tnr_status tnr_run(tnr_instance *instance, tnr_error *err)
{
    tnr_status status = tnr_enter(instance, "tnr_run", err);
    if (status)
        return status;
    status = tnr_prepare(instance, instance->profile != NULL, err);
    if (!status && !instance->empty) {
        tnr_floating callers = tnr_floating_default();
        tnr_pool_busy();
        status = tnr_walk(instance, err);
        tnr_pool_idle();
        tnr_floating_restore(callers);
    }
    if (!status)
        status = tnr_deliver(instance, err);
    tnr_leave(instance);
    return status;
}
