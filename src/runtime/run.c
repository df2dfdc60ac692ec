/* Running a program: a short loop over its instructions. Everything was checked before, at load (exe.c) and
 * when the symbols were bound (bind.c); here remain the caller's buffers, which may change from run to
 * run. */
#include "runtime/error.h"
#include "runtime/floating.h"
#include "runtime/guard.h"
#include "runtime/instance.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- the caller's buffers ---- */

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a && b && a_bytes > 0 && b_bytes > 0 && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

/* An input must not lie where the run writes: not in the instance (an output view of the last run), not in an
 * output. */
static tnr_status check_input_place(const tnr_instance *inst, uint32_t i, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    const tnr_given *in = &inst->input[i];
    const char *name = tnr_module_input(inst->module, i)->name;
    bool inside = overlap(in->data, in->bytes, inst->arena, inst->arena_room);
    for (uint32_t o = 0; o < x->n_output; o++) {
        const tnr_given *out = &inst->output_given[o];
        inside = inside || overlap(in->data, in->bytes, inst->output[o].own, inst->output[o].own_room);
        if (out->set && overlap(in->data, in->bytes, out->data, out->bytes))
            return tnr_fail(err, TNR_E_LAYOUT, 0,
                            "input \"%.400s\" overlaps the memory given for output \"%.400s\"", name,
                            tnr_module_output(inst->module, o)->name);
    }
    if (inside)
        return tnr_fail(err, TNR_E_LAYOUT, 0,
                        "input \"%.400s\" lies in the instance's own memory, which the run overwrites: "
                        "copy it out first, or give memory for that output",
                        name);
    return TNR_OK;
}

static tnr_status check_places(const tnr_instance *inst, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    for (uint32_t i = 0; i < x->n_input; i++) {
        tnr_status status = inst->input[i].set ? check_input_place(inst, i, err) : TNR_OK;
        if (status)
            return status;
    }
    for (uint32_t a = 0; a < x->n_output; a++)
        for (uint32_t b = a + 1; b < x->n_output && inst->output_given[a].set; b++)
            if (inst->output_given[b].set && overlap(inst->output_given[a].data, inst->output_given[a].bytes,
                                                     inst->output_given[b].data, inst->output_given[b].bytes))
                return tnr_fail(
                    err, TNR_E_LAYOUT, 0, "the memory given for outputs \"%.400s\" and \"%.400s\" overlaps",
                    tnr_module_output(inst->module, a)->name, tnr_module_output(inst->module, b)->name);
    return TNR_OK;
}

/* Addresses of inputs and outputs for this run; an output in the arena is copied to the caller at the end. */
static tnr_status place_tensors(tnr_instance *inst, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    tnr_status status = TNR_OK;
    for (uint32_t i = 0; i < x->n_input; i++)
        inst->ptr[x->input[i]] = inst->input[i].data;
    for (uint32_t i = 0; !status && i < x->n_output; i++)
        if (!x->main->slot[x->output[i]].segment)
            status = tnr_place_output(inst, i, err);
    return status;
}

/* After the walk: outputs that equal another slot, and outputs that were made in the arena for the caller. */
void tnr_deliver(tnr_instance *inst)
{
    const tnr_exe *x = inst->exe;
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &x->main->slot[x->output[i]];
        const void *from = inst->ptr[s->alias >= 0 ? s->alias : (int64_t)x->output[i]];
        uint64_t bytes = inst->bytes[x->output[i]];
        if (from != inst->output[i].at && bytes > 0)
            memcpy(inst->output[i].at, from, (size_t)bytes);
    }
    inst->ran = true;
}

/* ---- profiles ---- */

/* Addresses and shapes of the slots of a segment. */
static void set_views(tnr_instance *inst, uint32_t segment)
{
    const tn_program_function *p = inst->exe->main;
    for (uint32_t i = 0; inst->view && i < p->n_slot; i++) {
        if (p->slot[i].segment != segment)
            continue;
        inst->view[i].data = inst->ptr[i];
        for (uint32_t d = 0; d < p->slot[i].ndim; d++)
            inst->view[i].shape[d] = tnr_size_get(p->slot[i].dim[d], inst->sym);
    }
}

static tnr_status make_views(tnr_instance *inst, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    size_t n_dim = 0;
    for (uint32_t i = 0; i < p->n_slot; i++)
        n_dim += p->slot[i].ndim;
    if (!inst->view)
        inst->view = tnr_mem_new(p->n_slot, sizeof *inst->view);
    if (!inst->view_shape)
        inst->view_shape = tnr_mem_new(n_dim, sizeof *inst->view_shape);
    if (!inst->arg_view)
        inst->arg_view = tnr_mem_new(inst->exe->max_operand, sizeof *inst->arg_view);
    if (!inst->view || !inst->view_shape || !inst->arg_view)
        return tnr_fail_memory(err, p->n_slot * sizeof *inst->view + n_dim * 8);
    int64_t *shape = inst->view_shape;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot *s = &p->slot[i];
        inst->view[i] = (DLTensor){
            .device = {kDLCPU, 0}, .ndim = (int32_t)s->ndim, .dtype = tnr_slot_dtype(s), .shape = shape};
        shape += s->ndim;
    }
    set_views(inst, 0);
    return TNR_OK;
}

uint64_t tnr_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t positive(int64_t n) { return n > 0 ? (uint64_t)n : 0; }

/* inst->call_sym: those of this call. */
static tnr_operations operations_of(const tnr_instance *inst, const tn_inst *in)
{
    const tn_operations *all = inst->exe->library->operations;
    if (in->op != TN_INST_CALL || !all)
        return (tnr_operations){0};
    return (tnr_operations){.floats = positive(tnr_size_get(all[in->a].floats, inst->call_sym)),
                            .bfloat16 = positive(tnr_size_get(all[in->a].bfloat16, inst->call_sym)),
                            .integers = positive(tnr_size_get(all[in->a].integers, inst->call_sym))};
}

/* Of the instruction that ran last. */
void tnr_event(tnr_instance *inst, uint32_t at, uint32_t variant, uint64_t nanoseconds,
               tnr_profile_event *out)
{
    const tn_inst *in = &inst->exe->main->inst[at];
    const uint32_t *op = inst->exe->main->operand + in->operand;
    const tn_kernel *k = in->op == TN_INST_CALL ? &inst->exe->library->kernel[in->a] : NULL;
    *out = (tnr_profile_event){.node = in->node,
                               .kernel = k ? k->name : "__copy",
                               .nanoseconds = nanoseconds,
                               .index = at,
                               .variant = variant,
                               .n_in = k ? k->n_in : 1,
                               .n_out = k ? k->n_out : 1,
                               .arg = inst->arg_view,
                               .slot = op,
                               .operations = operations_of(inst, in)};
    for (uint32_t i = 0; i < out->n_in + out->n_out; i++)
        inst->arg_view[i] = inst->view[op[i]];
}

static void report(tnr_instance *inst, uint32_t at, uint32_t variant, uint64_t nanoseconds)
{
    tnr_profile_event e;
    tnr_event(inst, at, variant, nanoseconds, &e);
    tnr_floating ours = tnr_floating_default();
    inst->profile(inst->profile_user, &e);
    tnr_floating_restore(ours);
}

/* ---- the loop ---- */

static tnr_status call(tnr_instance *inst, uint32_t at, uint32_t *out_variant, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    const tn_inst *in = &x->main->inst[at];
    const tn_kernel *k = &x->library->kernel[in->a];
    const uint32_t *op = x->main->operand + in->operand;
    uint32_t n_arg = k->n_in + k->n_out;
    for (uint32_t i = 0; i < n_arg; i++)
        inst->arg[i] = inst->ptr[op[i]];
    for (uint32_t i = 0; i < k->n_sym; i++)
        inst->call_sym[i] = inst->sym[op[n_arg + i]];
    bool room = inst->work_offset < inst->arena_bytes;
    bool own = in->n_operand > n_arg + k->n_sym;
    uint32_t work = own ? op[n_arg + k->n_sym] : 0;
    tnr_call_site site = {.kernel = k,
                          .node = in->node,
                          .position = at,
                          .arg = inst->arg,
                          .sym = k->n_sym ? inst->call_sym : NULL,
                          .user = inst->module->user ? inst->module->user[in->a] : NULL,
                          .work = own    ? inst->ptr[work]
                                  : room ? inst->arena + inst->work_offset
                                         : NULL,
                          .work_room = own    ? inst->bytes[work]
                                       : room ? inst->arena_bytes - inst->work_offset
                                              : 0,
                          .scratch = inst->scratch,
                          .scratch_stride = x->scratch_bytes,
                          .threads = inst->threads};
    return tnr_launch(&site, out_variant, err);
}

/* ---- symbols bound during the run ---- */

static tnr_status read_extent(const tnr_instance *inst, uint32_t at, int64_t *out, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    const uint32_t *op = p->operand + p->inst[at].operand;
    const tn_slot *s = &p->slot[op[0]];
    uint32_t size = s->bits / 8u;
    const uint8_t *from = (const uint8_t *)inst->ptr[op[0]] + (size_t)op[1] * size;
    if ((uint64_t)(op[1] + 1) * size > inst->bytes[op[0]])
        return tnr_fail(err, TNR_E_FORMAT, at, "%.400s: an extent is read from a place that has none",
                        p->inst[at].node);
    if (s->code == kDLInt)
        *out = size == 8   ? *(const int64_t *)(const void *)from
               : size == 4 ? *(const int32_t *)(const void *)from
               : size == 2 ? *(const int16_t *)(const void *)from
                           : *(const int8_t *)from;
    else
        *out = size == 8   ? *(const int64_t *)(const void *)from
               : size == 4 ? (int64_t)*(const uint32_t *)(const void *)from
               : size == 2 ? *(const uint16_t *)(const void *)from
                           : *from;
    return TNR_OK;
}

static tnr_status bind_late(tnr_instance *inst, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    const tn_inst *in = &p->inst[at];
    const uint32_t *op = p->operand + in->operand;
    const tn_symbol *s = in->op == TN_INST_CHECK ? NULL : &p->symbol[in->a];
    int64_t v = 0;
    tnr_status status = TNR_OK;
    if (in->op == TN_INST_BIND)
        v = tnr_size_get(p->size[op[0]], inst->sym);
    else
        status = read_extent(inst, at, &v, err);
    if (status)
        return status;
    if (!s) {
        int64_t want = tnr_size_get(p->size[op[2]], inst->sym);
        return v == want ? TNR_OK
                         : tnr_fail(err, TNR_E_CHECK, at,
                                    "%.400s: an extent is %" PRId64 ", but must be %" PRId64 " (%.400s)",
                                    in->node, v, want, inst->exe->program->text[in->a]);
    }
    if (v < s->min || v > s->max)
        return tnr_fail(err, TNR_E_CHECK, at,
                        "%.400s: an extent (%.400s) is %" PRId64 ", but must be from %" PRId64 " to %" PRId64,
                        in->node, s->name, v, s->min, s->max);
    inst->sym[in->a] = v;
    return TNR_OK;
}

static tnr_status plan(tnr_instance *inst, uint32_t at, tnr_error *err)
{
    uint32_t segment = inst->exe->main->inst[at].a;
    tnr_status status = tnr_plan(inst, segment, at, err);
    if (!status && inst->guard)
        status = tnr_guard_place(inst, segment, err);
    if (!status)
        set_views(inst, segment);
    return status;
}

static tnr_status copy(tnr_instance *inst, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    const uint32_t *op = p->operand + p->inst[at].operand;
    if (inst->bytes[op[0]] != inst->bytes[op[1]])
        return tnr_fail(err, TNR_E_CHECK, at,
                        "%.400s: a tensor of %" PRIu64 " bytes would become one of %" PRIu64,
                        p->inst[at].node, inst->bytes[op[0]], inst->bytes[op[1]]);
    if (inst->bytes[op[1]] > 0) /* slots may share storage */
        memmove(inst->ptr[op[1]], inst->ptr[op[0]], (size_t)inst->bytes[op[1]]);
    return TNR_OK;
}

/* SET and STORE. */
static tnr_status write_slot(tnr_instance *inst, uint32_t at, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    const tn_inst *in = &p->inst[at];
    const uint32_t *op = p->operand + in->operand;
    int64_t v = tnr_size_get(p->size[op[in->n_operand - 1]], inst->sym);
    if (in->op == TN_INST_SET) {
        memcpy(inst->ptr[op[0]], &v, sizeof v);
        return TNR_OK;
    }
    uint64_t row = inst->bytes[op[0]], all = inst->bytes[op[1]];
    if (v < 0 || (row > 0 && (uint64_t)v >= all / row))
        return tnr_fail(err, TNR_E_CHECK, at,
                        "%.400s: iteration %" PRId64 " is beyond the known number of iterations", in->node,
                        v);
    if (row > 0)
        memcpy((uint8_t *)inst->ptr[op[1]] + (uint64_t)v * row, inst->ptr[op[0]], (size_t)row);
    return TNR_OK;
}

static tnr_status instruction(tnr_instance *inst, uint32_t at, uint32_t *out_next, uint32_t *out_variant,
                              tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    const tn_inst *in = &p->inst[at];
    const uint32_t *op = p->operand + in->operand;
    *out_next = at + 1;
    switch (in->op) {
    case TN_INST_CALL: return call(inst, at, out_variant, err);
    case TN_INST_COPY: return copy(inst, at, err);
    case TN_INST_BIND:
    case TN_INST_BIND_SLOT:
    case TN_INST_CHECK: return bind_late(inst, at, err);
    case TN_INST_PLAN: return plan(inst, at, err);
    case TN_INST_SET:
    case TN_INST_STORE: return write_slot(inst, at, err);
    case TN_INST_JUMP_ZERO:
        if (tnr_size_get(p->size[op[0]], inst->sym) == 0)
            *out_next = in->a;
        return TNR_OK;
    case TN_INST_FAIL:
        return tnr_fail(err, TNR_E_CHECK, at, "%.400s: %.400s", in->node, inst->exe->program->text[in->a]);
    case TN_INST_JUMP_FALSE:
        if (!*(const uint8_t *)inst->ptr[op[0]])
            *out_next = in->a;
        return TNR_OK;
    default: /* TN_INST_JUMP: exe.c let no other pass */ *out_next = in->a; return TNR_OK;
    }
}

tnr_status tnr_instruction(tnr_instance *inst, uint32_t at, uint32_t *out_next, uint32_t *out_variant,
                           tnr_error *err)
{
    tnr_status status = instruction(inst, at, out_next, out_variant, err);
    return status || !inst->guard ? status : tnr_guard_look(inst, at, err);
}

static tnr_status walk(tnr_instance *inst, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    for (uint32_t at = 0, next; at < p->n_inst; at = next) {
        uint64_t start = inst->profile ? tnr_now() : 0;
        uint32_t variant = 0;
        tnr_status status = tnr_instruction(inst, at, &next, &variant, err);
        if (status)
            return status;
        if (inst->profile && p->inst[at].op <= TN_INST_COPY)
            report(inst, at, variant, tnr_now() - start);
    }
    return TNR_OK;
}

tnr_status tnr_prepare(tnr_instance *inst, bool views, tnr_error *err)
{
    inst->ran = inst->stepping = false;
    tnr_status status = check_places(inst, err);
    if (!status)
        status = tnr_bind(inst, err);
    if (!status)
        status = place_tensors(inst, err);
    if (!status && inst->empty)
        return TNR_OK;
    if (!status && inst->guard)
        status = tnr_guard_place(inst, 0, err);
    if (!status)
        status = tnr_bind_threads(inst, err);
    if (!status && views)
        status = make_views(inst, err);
    return status;
}

tnr_status tnr_enter(tnr_instance *instance, const char *function, tnr_error *err)
{
    if (!instance)
        return tnr_fail(err, TNR_E_ARG, 0, "%s: instance is NULL", function);
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
        status = walk(instance, err);
        tnr_pool_idle();
        tnr_floating_restore(callers);
    }
    if (!status)
        tnr_deliver(instance);
    tnr_leave(instance);
    return status;
}
