/* A run one kernel at a time. The state of it is the next instruction (instance->step) and the instance's
 * memory; whatever prepares another run ends it (run.c). */
#include "runtime/error.h"
#include "runtime/floating.h"
#include "runtime/instance.h"
#include "runtime/pool.h"

#include <string.h>

static bool computes(const tn_inst *in) { return in->op == TN_INST_CALL || in->op == TN_INST_COPY; }

/* ---- steps ---- */

tnr_status tnr_debug_begin(tnr_instance *instance, tnr_error *err)
{
    tnr_status status = tnr_enter(instance, "tnr_debug_begin", err);
    if (status)
        return status;
    status = tnr_prepare(instance, true, err);
    instance->stepping = !status;
    if (instance->empty) /* all outputs are, nothing runs */
        instance->main.at = instance->exe->code->function->n_inst;
    tnr_leave(instance);
    return status;
}

typedef struct event_at { /* where the kernel that ran last stands */
    tnr_frame *frame;     /* NULL: none was left */
    uint32_t at, variant;
    uint64_t ns;
} event_at;

/* Runs up to the end of the next kernel. */
static tnr_status advance(tnr_instance *inst, event_at *e, tnr_error *err)
{
    tnr_status status = TNR_OK;
    tnr_floating callers = tnr_floating_default();
    tnr_pool_busy();
    *e = (event_at){0};
    for (tnr_frame *f; !status && !e->frame && (f = tnr_settle(inst, &status, err)) != NULL;) {
        uint64_t start = tnr_now();
        e->at = f->at;
        status = tnr_instruction(f, &e->variant, err);
        e->ns = tnr_now() - start;
        if (computes(&f->code->function->inst[e->at]))
            e->frame = f;
    }
    tnr_pool_idle();
    tnr_floating_restore(callers);
    return status;
}

static tnr_status step(tnr_instance *inst, tnr_profile_event *out_event, int *out_done, tnr_error *err)
{
    event_at e;
    if (!inst->stepping)
        return tnr_fail(err, TNR_E_STATE, 0, "no stepped run is active; call tnr_debug_begin first");
    tnr_status status = advance(inst, &e, err);
    if (status) {
        inst->stepping = false;
        return status;
    }
    *out_done = !e.frame;
    if (*out_done) {
        inst->stepping = false;
        return tnr_deliver(inst, err);
    }
    tnr_event(e.frame, e.at, e.variant, e.ns, out_event);
    return TNR_OK;
}

tnr_status tnr_debug_step(tnr_instance *instance, tnr_profile_event *out_event, int *out_done, tnr_error *err)
{
    if (!out_event || !out_done)
        return tnr_fail_argument("tnr_debug_step", err);
    tnr_status status = tnr_enter(instance, "tnr_debug_step", err);
    if (status)
        return status;
    status = step(instance, out_event, out_done, err);
    tnr_leave(instance);
    return status;
}

/* ---- values by name ---- */

/* Is `name` one of the names in "a, b, c"? */
static bool is_among(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = strstr(names, name); n && p; p = strstr(p + 1, name))
        if ((p == names || (p >= names + 2 && p[-1] == ' ' && p[-2] == ',')) &&
            (p[n] == 0 || (p[n] == ',' && p[n + 1] == ' ')))
            return true;
    return false;
}

static bool is_result(const tnr_instance *inst, const tnr_profile_event *e, const char *name)
{
    const tn_slot *s = &inst->frame->code->function->slot[e->slot[e->n_in]];
    return is_among(e->node, name) || (s->kind == TN_SLOT_OUTPUT && strcmp(s->name, name) == 0);
}

static tnr_status no_kernel(const tnr_instance *inst, const char *name, bool done, tnr_error *err)
{
    const tn_program_function *p = inst->exe->code->function;
    bool known = false;
    for (uint32_t i = 0; i < p->n_inst; i++)
        known = known || (computes(&p->inst[i]) && is_among(p->inst[i].node, name));
    return tnr_fail(
        err, TNR_E_NAME, 0, "%s computes \"%.400s\"%s", known && done ? "no kernel of this run" : "no kernel",
        name,
        known ? "" : ": it is not a node, input or output of the model, or it was folded into a constant");
}

tnr_status tnr_debug_value(tnr_instance *instance, const char *name, DLTensor *out_view, tnr_error *err)
{
    int done = 0;
    tnr_profile_event e;
    if (!name || !out_view)
        return tnr_fail_argument("tnr_debug_value", err);
    tnr_status status = tnr_debug_begin(instance, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < instance->exe->code->n_input; i++)
        if (strcmp(instance->exe->code->function->slot[instance->exe->code->input[i]].name, name) == 0) {
            *out_view = instance->main.view[instance->exe->code->input[i]];
            return TNR_OK;
        }
    while (!(status = tnr_debug_step(instance, &e, &done, err)) && !done)
        if (is_result(instance, &e, name)) {
            *out_view = e.arg[e.n_in];
            return TNR_OK;
        }
    if (status)
        return status;
    if (tnr_output_find(instance->module, name) >= 0)
        return tnr_get_output(instance, name, out_view, err);
    return no_kernel(instance, name, true, err);
}

/* ---- the program ---- */

uint32_t tnr_kernel_count(const tnr_instance *instance)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < instance->exe->code->function->n_inst; i++)
        n += computes(&instance->exe->code->function->inst[i]);
    return n;
}

tnr_status tnr_kernel_info_get(const tnr_instance *instance, uint32_t index, tnr_kernel_info *out_info,
                               tnr_error *err)
{
    const tn_program_function *p = instance ? instance->exe->code->function : NULL;
    for (uint32_t i = 0, n = 0; p && out_info && i < p->n_inst; i++) {
        const tn_inst *in = &p->inst[i];
        if (!computes(in) || n++ < index)
            continue;
        const tn_kernel *k = in->op == TN_INST_CALL ? &instance->exe->library->kernel[in->a] : NULL;
        *out_info = (tnr_kernel_info){.node = in->node,
                                      .kernel = k ? k->name : "__copy",
                                      .index = i,
                                      .n_in = k ? k->n_in : 1,
                                      .n_out = k ? k->n_out : 1,
                                      .slot = p->operand + in->operand};
        return TNR_OK;
    }
    return tnr_fail_argument("tnr_kernel_info_get", err);
}

const char *tnr_slot_name(const tnr_instance *instance, uint32_t slot)
{
    return slot < instance->exe->code->function->n_slot ? instance->exe->code->function->slot[slot].name : "";
}
