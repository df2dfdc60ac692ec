/* States: memory of an instance that survives its runs. A state gets its first contents when a run or the caller first
 * needs it: a constant, zeros, or the result of a function of the program, which is run then. Its memory has
 * the size of its capacity and the strides of it, so growing moves nothing; the extent along the growing axis
 * is a number. */
#include "runtime/state.h"

#include "runtime/error.h"
#include "runtime/family.h"
#include "runtime/floating.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>

/* ---- contents ---- */

static const tn_state *table(const tnr_instance *inst) { return inst->exe->program->state; }

static tnr_status run_init(tnr_instance *inst, uint32_t i, tnr_error *err)
{
    const tn_state *s = &table(inst)[i];
    tnr_frame *f;
    tnr_frames_drop(inst); /* of a run that has failed */
    tnr_status status = tnr_bind_threads(inst, err);
    if (!status)
        status = tnr_frame_take(inst, &inst->exe->code[s->init], &f, err);
    if (status)
        return status;
    f->result[0] = (tnr_given){.data = inst->state[i].at, .bytes = s->bytes};
    status = tnr_frame_begin(f, err);
    if (status)
        return status;
    tnr_floating callers = tnr_floating_default();
    tnr_pool_busy();
    status = tnr_walk(inst, err);
    tnr_pool_idle();
    tnr_floating_restore(callers);
    return status;
}

/* Constants and zeros first, then what functions compute, in the program's order: they may read the others. */
tnr_status tnr_states_ready(tnr_instance *inst, tnr_error *err)
{
    const tn_program *p = inst->exe->program;
    tnr_status status = TNR_OK;
    for (uint32_t i = 0; i < p->n_state; i++) {
        tnr_state *s = &inst->state[i];
        if (s->ready)
            continue;
        s->extent = (int64_t)p->state[i].extent;
        if (inst->exe->initial[i])
            memcpy(s->at, inst->exe->initial[i], (size_t)p->state[i].bytes);
        else
            memset(s->at, 0, (size_t)p->state[i].bytes);
        s->ready = p->state[i].init < 0;
    }
    for (uint32_t i = 0; !status && i < p->n_state; i++)
        if (!inst->state[i].ready) {
            status = run_init(inst, i, err);
            inst->state[i].ready = !status;
        }
    return status;
}

/* ---- instructions ---- */

static tnr_status run(tnr_frame *f, const tn_inst *in, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    const uint32_t *op = p->operand + in->operand;
    uint32_t i = (uint32_t)p->slot[op[0]].alias;
    tnr_state *state = &f->instance->state[i];
    const tn_state *s = &table(f->instance)[i];
    if (in->op == TN_INST_BIND_STATE) {
        tnr_status status = tnr_check_extent(&p->symbol[in->a], state->extent, "", in->node, f->at - 1, err);
        if (!status)
            f->sym[in->a] = state->extent;
        return status;
    }
    int64_t v = tnr_size_get(p->size[op[1]], f->sym), max = s->dim[s->axis].value;
    if (v < 0 || v > max)
        return tnr_fail(err, TNR_E_CHECK, f->at - 1,
                        "%.100s: state \"%.100s\" would have the extent %" PRId64
                        ", but must have from 0 to %" PRId64,
                        in->node, s->name, v, max);
    state->extent = v;
    return TNR_OK;
}

static const char *check(const tnr_exe *exe, const tnr_function *code, const tn_inst *in)
{
    const tn_slot *s = &code->function->slot[code->function->operand[in->operand]];
    return exe->program->state[s->alias].axis < 0 ? "the extent of a state that does not grow at" : NULL;
}

/* ---- memory of an instance ---- */

static tnr_status open_states(tnr_instance *inst, tnr_error *err)
{
    const tn_program *p = inst->exe->program;
    size_t n_dim = 0;
    for (uint32_t i = 0; i < p->n_state; i++)
        n_dim += 2u * p->state[i].ndim;
    inst->state = tnr_mem_new(p->n_state, sizeof *inst->state);
    inst->state_shapes = tnr_mem_new(n_dim, sizeof *inst->state_shapes);
    if (!inst->state || !inst->state_shapes)
        return tnr_fail_memory(err, p->n_state * sizeof *inst->state + n_dim * 8);
    int64_t *shape = inst->state_shapes;
    for (uint32_t i = 0; i < p->n_state; i++) {
        inst->state[i].shape = shape;
        shape += 2u * p->state[i].ndim;
        inst->state[i].at = tnr_mem_aligned((size_t)p->state[i].bytes);
        if (!inst->state[i].at)
            return tnr_fail_memory(err, p->state[i].bytes);
    }
    return TNR_OK;
}

static void close_states(tnr_instance *inst)
{
    for (uint32_t i = 0; inst->state && i < inst->exe->program->n_state; i++)
        tnr_mem_free(inst->state[i].at);
    tnr_mem_free(inst->state);
    tnr_mem_free(inst->state_shapes);
}

const tnr_family tnr_family_state = {.check = check, .run = run, .open = open_states, .close = close_states};

/* ---- for the caller ---- */

uint32_t tnr_state_count(const tnr_module *module) { return module->described->program->n_state; }

tnr_status tnr_state_info_get(const tnr_module *module, uint32_t index, tnr_state_info *out_info,
                              tnr_error *err)
{
    tnr_status status = tnr_check_index("state", index, tnr_state_count(module), out_info, err);
    if (status)
        return status;
    const tn_state *s = &module->described->program->state[index];
    *out_info = (tnr_state_info){.name = s->name,
                                 .dtype = {s->code, s->bits, 1},
                                 .ndim = s->ndim,
                                 .axis = s->axis,
                                 .capacity = s->axis < 0 ? -1 : s->dim[s->axis].value,
                                 .bytes = s->bytes};
    return TNR_OK;
}

/* The state of that name with its contents, the instance being nobody else's till tnr_leave. */
static tnr_status use(tnr_instance *inst, const char *name, const char *function, uint32_t *out_i,
                      tnr_error *err)
{
    tnr_status status = tnr_enter(inst, function, err);
    if (status)
        return status;
    const tn_program *p = inst->exe->program;
    uint32_t i = 0;
    while (i < p->n_state && (!name || strcmp(p->state[i].name, name) != 0))
        i++;
    *out_i = i;
    if (i == p->n_state)
        status = tnr_fail(err, TNR_E_NAME, 0, "no state is called \"%.100s\"", name ? name : "");
    else if (inst->stepping)
        status = tnr_fail(err, TNR_E_STATE, 0, "%s: a stepped run is active", function);
    else
        status = tnr_states_ready(inst, err);
    if (status)
        tnr_leave(inst);
    return status;
}

tnr_status tnr_state_get(tnr_instance *instance, const char *name, DLTensor *out_view, tnr_error *err)
{
    uint32_t i;
    tnr_status status =
        out_view ? use(instance, name, "tnr_state_get", &i, err) : tnr_fail_argument("tnr_state_get", err);
    if (status)
        return status;
    const tn_state *s = &table(instance)[i];
    int64_t *shape = instance->state[i].shape, *stride = shape + s->ndim, step = 1;
    for (int d = s->ndim; d-- > 0; step *= s->dim[d].value) {
        shape[d] = d == s->axis ? instance->state[i].extent : s->dim[d].value;
        stride[d] = step;
    }
    *out_view = (DLTensor){.data = instance->state[i].at,
                           .device = {kDLCPU, 0},
                           .ndim = s->ndim,
                           .dtype = {s->code, s->bits, 1},
                           .shape = shape,
                           .strides = s->axis < 0 ? NULL : stride};
    tnr_leave(instance);
    return TNR_OK;
}

static tnr_status write_state(tnr_state *state, const tn_state *s, const DLTensor *t, tnr_error *err)
{
    void *from;
    uint64_t bytes, rows = 1, row = s->bytes;
    if (!tnr_dtype_same(t->dtype, (DLDataType){s->code, s->bits, 1}))
        return tnr_fail(err, TNR_E_DTYPE, 0, "state \"%.100s\" has another element type", s->name);
    bool fits = t->ndim == s->ndim;
    for (int d = 0; fits && d < s->ndim; d++)
        fits = d == s->axis ? t->shape[d] >= 0 && t->shape[d] <= s->dim[d].value
                            : t->shape[d] == s->dim[d].value;
    if (!fits)
        return tnr_fail(err, TNR_E_SHAPE, 0,
                        "the tensor for state \"%.100s\" has another shape or exceeds its capacity", s->name);
    tnr_status status = tnr_tensor_data(t, "state", s->name, &from, &bytes, err);
    if (status)
        return status;
    for (int d = 0; d < s->axis; d++)
        rows *= (uint64_t)s->dim[d].value;
    row = rows ? row / rows : 0;
    for (uint64_t r = 0; bytes > 0 && r < rows;
         r++) /* rows of the capacity, those of the tensor are shorter */
        memmove((uint8_t *)state->at + r * row, (const uint8_t *)from + r * (bytes / rows),
                (size_t)(bytes / rows));
    if (s->axis >= 0)
        state->extent = t->shape[s->axis];
    return TNR_OK;
}

tnr_status tnr_state_set(tnr_instance *instance, const char *name, const DLTensor *tensor, tnr_error *err)
{
    uint32_t i;
    tnr_status status =
        tensor ? use(instance, name, "tnr_state_set", &i, err) : tnr_fail_argument("tnr_state_set", err);
    if (status)
        return status;
    status = write_state(&instance->state[i], &table(instance)[i], tensor, err);
    tnr_leave(instance);
    return status;
}

tnr_status tnr_state_reset(tnr_instance *instance, tnr_error *err)
{
    tnr_status status = tnr_enter(instance, "tnr_state_reset", err);
    if (status)
        return status;
    for (uint32_t i = 0; instance->state && i < instance->exe->program->n_state; i++)
        instance->state[i].ready = false;
    instance->stepping = false;
    tnr_leave(instance);
    return TNR_OK;
}
