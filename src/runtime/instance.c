/* Instances: what the caller gives and gets. Every tensor is checked against the slot it is for, and the
 * message says what was expected; nothing is copied but shapes. */
#include "runtime/family.h"

#include "base/size.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/guard.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

#include <inttypes.h>
#include <string.h>

/* ---- making ---- */

tnr_status tnr_frame_init(tnr_frame *f, tnr_instance *instance, const tnr_function *code, tnr_error *err)
{
    const tn_program_function *p = code->function;
    size_t n_dim = 0;
    *f = (tnr_frame){.instance = instance, .code = code};
    for (uint32_t i = 0; i < code->n_input; i++)
        n_dim += p->slot[code->input[i]].ndim;
    f->input = tnr_mem_new(code->n_input, sizeof *f->input);
    f->shapes = tnr_mem_new(n_dim + 2 * (size_t)p->n_symbol + p->n_slot, sizeof *f->shapes);
    f->bytes = tnr_mem_new(p->n_slot, sizeof *f->bytes);
    f->ptr = tnr_mem_new(p->n_slot, sizeof *f->ptr);
    f->segment = tnr_mem_new(p->n_segment, sizeof *f->segment);
    f->value = code->handles ? tnr_mem_new(p->n_slot, sizeof *f->value) : NULL;
    if (!f->input || !f->shapes || !f->bytes || !f->ptr || !f->segment || (code->handles && !f->value))
        return tnr_fail_memory(err, n_dim * 8 + (size_t)p->n_slot * 32);
    f->sym = f->shapes + n_dim;
    f->probe = f->sym + p->n_symbol;
    f->offset = f->probe + p->n_symbol;
    int64_t *shape = f->shapes;
    for (uint32_t i = 0; i < code->n_input; shape += p->slot[code->input[i++]].ndim)
        f->input[i].shape = shape;
    return instance->checked ? tnr_guard_new(f, err) : TNR_OK;
}

void tnr_frame_deinit(tnr_frame *f)
{
    if (!f->code)
        return;
    tnr_guard_free(f);
    for (uint32_t i = 0; f->segment && i < f->code->function->n_segment; i++)
        tnr_devices[TNR_HOST].free(f->segment[i].at);
    tnr_devices[TNR_HOST].free(f->arena);
    void *const block[] = {f->input,   f->shapes, f->bytes, f->ptr,
                           f->segment, f->value,  f->view,  f->view_shape};
    for (size_t i = 0; i < sizeof block / sizeof block[0]; i++)
        tnr_mem_free(block[i]);
    *f = (tnr_frame){0};
}

static tnr_status allocate(tnr_instance *inst, tnr_error *err)
{
    const tnr_function *x = inst->exe->code;
    const tn_program_function *p = x->function;
    size_t n_dim = 0;
    for (uint32_t i = 0; i < x->n_output; i++)
        n_dim += 2u * p->slot[x->output[i]].ndim;
    inst->output_given = tnr_mem_new(x->n_output, sizeof *inst->output_given);
    inst->output = tnr_mem_new(x->n_output, sizeof *inst->output);
    inst->shapes = tnr_mem_new(n_dim + inst->exe->max_operand, sizeof *inst->shapes);
    inst->arg = tnr_mem_new(inst->exe->max_operand, sizeof *inst->arg);
    if (!inst->output_given || !inst->output || !inst->shapes || !inst->arg)
        return tnr_fail_memory(err, n_dim * 8 + (size_t)inst->exe->max_operand * 16);
    inst->call_sym = inst->shapes + n_dim;
    int64_t *shape = inst->shapes;
    for (uint32_t i = 0; i < x->n_output; i++) {
        inst->output_given[i].shape = shape;
        inst->output[i].shape = shape + p->slot[x->output[i]].ndim;
        shape += 2 * p->slot[x->output[i]].ndim;
    }
    inst->frame = &inst->main;
    return tnr_frame_init(&inst->main, inst, x, err);
}

/* What the program's families keep in an instance. */
static tnr_status open_families(tnr_instance *inst, tnr_error *err)
{
    tnr_status status = TNR_OK;
    for (uint32_t id = 0; !status && id < TNR_N_FAMILY; id++)
        if ((inst->exe->families >> id & 1) && tnr_family_get(id) && tnr_family_get(id)->open)
            status = tnr_family_get(id)->open(inst, err);
    return status;
}

static void close_families(tnr_instance *inst)
{
    for (uint32_t id = 0; id < TNR_N_FAMILY; id++)
        if ((inst->exe->families >> id & 1) && tnr_family_get(id) && tnr_family_get(id)->close)
            tnr_family_get(id)->close(inst);
}

/* The first model node of the program that is control flow, or NULL. */
static const char *branch(const tnr_module *module)
{
    const tn_program_function *p =
        module->has[TNR_EXECUTOR_AOT] ? module->exe[TNR_EXECUTOR_AOT].code->function : NULL;
    for (uint32_t i = 0; p && i < p->n_inst; i++)
        if (p->inst[i].op == TN_INST_JUMP_FALSE)
            return p->inst[i].node;
    return NULL;
}

tnr_status tnr_instance_new(tnr_module *module, const tnr_instance_options *options,
                            tnr_instance **out_instance, tnr_error *err)
{
    tnr_instance_options o = options ? *options : (tnr_instance_options){0};
    if (!module || !out_instance || o.threads < 0 || o.executor < 0 || o.executor >= TNR_N_EXECUTOR ||
        (o.flags & ~(uintptr_t)TNR_INSTANCE_CHECK))
        return tnr_fail_argument("tnr_instance_new", err);
    if (!module->has[o.executor] && o.executor == TNR_EXECUTOR_GRAPH && branch(module))
        return tnr_fail(
            err, TNR_E_EXECUTOR, 0,
            "the graph executor cannot run this package: %.400s is control flow; use the aot executor",
            branch(module));
    if (!module->has[o.executor])
        return tnr_fail(
            err, TNR_E_EXECUTOR, 0,
            o.executor == TNR_EXECUTOR_GRAPH
                ? "the graph executor cannot run this package: it has no mod.json (the model is not static)"
                : "the aot executor cannot run this package: mod.so has no program; use the graph executor");
    tnr_instance *inst = tnr_mem_new(1, sizeof *inst);
    if (!inst)
        return tnr_fail_memory(err, sizeof *inst);
    tnr_module_retain(module);
    inst->module = module;
    inst->exe = &module->exe[o.executor];
    inst->threads_wanted = o.threads;
    inst->checked = (o.flags & TNR_INSTANCE_CHECK) != 0;
    tnr_status status = allocate(inst, err);
    if (!status)
        status = open_families(inst, err);
    if (status)
        tnr_instance_free(inst);
    else
        *out_instance = inst;
    return status;
}

void tnr_instance_free(tnr_instance *instance)
{
    if (!instance)
        return;
    close_families(instance);
    tnr_frame_deinit(&instance->main);
    for (uint32_t i = 0; instance->output && i < instance->exe->code->n_output; i++)
        tnr_devices[TNR_HOST].free(instance->output[i].own);
    void *const block[] = {instance->output_given, instance->output, instance->shapes,
                           instance->scratch,      instance->arg,    instance->arg_view};
    for (size_t i = 0; i < sizeof block / sizeof block[0]; i++)
        tnr_mem_free(block[i]);
    tnr_module_release(instance->module);
    tnr_mem_free(instance);
}

tnr_module *tnr_instance_module(const tnr_instance *instance) { return instance->module; }

void tnr_profile_set(tnr_instance *instance, tnr_profile_fn *fn, void *user)
{
    instance->profile = fn;
    instance->profile_user = user;
}

/* ---- giving tensors ---- */

static tnr_status is_value(const char *what, const tnr_tensor_info *info, tnr_error *err)
{
    return tnr_fail(
        err, TNR_E_DTYPE, 0,
        "%s \"%.400s\" is a value, not a tensor; use tnr_set_input_value and tnr_get_output_value", what,
        info->name);
}

/* A tensor fits what an input or output is described as: type, rank, fixed dimensions, ranges of symbols. */
static tnr_status check_fit(const tnr_instance *inst, const char *what, const tnr_tensor_info *info,
                            const int32_t *bind, const DLTensor *t, tnr_error *err)
{
    char have[TNR_SHAPE_TEXT], want[TNR_SHAPE_TEXT];
    if (info->dtype.code == kDLOpaqueHandle)
        return is_value(what, info, err);
    if (!tnr_dtype_same(t->dtype, info->dtype)) {
        char have_type[24], want_type[24];
        return tnr_fail(err, TNR_E_DTYPE, 0, "%s \"%.400s\" is %s, expected %s", what, info->name,
                        tnr_dtype_print(t->dtype, have_type, sizeof have_type),
                        tnr_dtype_print(info->dtype, want_type, sizeof want_type));
    }
    if (t->ndim != info->ndim || (t->ndim > 0 && !t->shape))
        return tnr_fail(err, TNR_E_SHAPE, 0,
                        "%s \"%.400s\" has %" PRId32 " dimensions, expected %" PRId32 ": %.400s", what,
                        info->name, t->ndim, info->ndim,
                        tnr_shape_print(info->ndim, info->shape, info->symbol, want));
    for (int32_t d = 0; d < t->ndim; d++)
        if (t->shape[d] < 0 || (info->shape[d] >= 0 && t->shape[d] != info->shape[d]))
            return tnr_fail(err, TNR_E_SHAPE, 0, "%s \"%.400s\" has shape %.400s, but must have %.400s", what,
                            info->name, tnr_shape_print(t->ndim, t->shape, NULL, have),
                            tnr_shape_print(info->ndim, info->shape, info->symbol, want));
    for (int32_t d = 0; bind && d < t->ndim; d++) {
        const tn_symbol *s = bind[d] < 0 ? NULL : &inst->exe->code->function->symbol[bind[d]];
        bool nothing =
            s && t->shape[d] == 0 && s->min == 1; /* an empty batch: bind.c sees what comes of it */
        if (s && !nothing && (t->shape[d] < s->min || t->shape[d] > s->max))
            return tnr_fail(err, TNR_E_SHAPE, 0,
                            "%s \"%.400s\": dimension %" PRId32 " (%.400s) is %" PRId64
                            ", but must be from %" PRId64 " to %" PRId64,
                            what, info->name, d, s->name, t->shape[d], s->min, s->max);
    }
    return TNR_OK;
}

static tnr_status give(tnr_instance *inst, const char *what, const tnr_tensor_info *info, const int32_t *bind,
                       const DLTensor *t, tnr_given *to, tnr_error *err)
{
    void *data;
    uint64_t bytes;
    tnr_status status = check_fit(inst, what, info, bind, t, err);
    if (!status)
        status = tnr_tensor_data(t, what, info->name, &data, &bytes, err);
    if (status)
        return status;
    to->data = data;
    to->bytes = bytes;
    to->set = true;
    if (t->ndim > 0)
        memcpy(to->shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
    return TNR_OK;
}

tnr_status tnr_set_input_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor, tnr_error *err)
{
    if (!instance || !tensor || index >= instance->exe->code->n_input)
        return tnr_fail_argument("tnr_set_input", err);
    const int32_t *bind = instance->exe->code->function->slot[instance->exe->code->input[index]].bind;
    instance->stepping = false;
    return give(instance, "input", tnr_module_input(instance->module, index), bind, tensor,
                &instance->main.input[index], err);
}

tnr_status tnr_set_input(tnr_instance *instance, const char *name, const DLTensor *tensor, tnr_error *err)
{
    int64_t i = instance ? tnr_input_find(instance->module, name) : 0;
    return i < 0 ? tnr_fail_name(instance->module, true, name, err)
                 : tnr_set_input_at(instance, (uint32_t)i, tensor, err);
}

tnr_status tnr_set_output_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor, tnr_error *err)
{
    if (!instance || index >= instance->exe->code->n_output)
        return tnr_fail_argument("tnr_set_output", err);
    tnr_given *to = &instance->output_given[index];
    if (tensor) {
        tnr_status status =
            give(instance, "output", tnr_module_output(instance->module, index), NULL, tensor, to, err);
        if (status)
            return status;
    }
    to->set = tensor != NULL;
    instance->ran = instance->stepping = false; /* views of the last run end here */
    return TNR_OK;
}

tnr_status tnr_set_output(tnr_instance *instance, const char *name, const DLTensor *tensor, tnr_error *err)
{
    int64_t i = instance ? tnr_output_find(instance->module, name) : 0;
    return i < 0 ? tnr_fail_name(instance->module, false, name, err)
                 : tnr_set_output_at(instance, (uint32_t)i, tensor, err);
}

/* ---- getting tensors ---- */

tnr_status tnr_get_output_at(tnr_instance *instance, uint32_t index, DLTensor *out_view, tnr_error *err)
{
    if (!instance || !out_view || index >= instance->exe->code->n_output)
        return tnr_fail_argument("tnr_get_output", err);
    const tnr_tensor_info *info = tnr_module_output(instance->module, index);
    if (info->dtype.code == kDLOpaqueHandle)
        return is_value("output", info, err);
    if (!instance->ran)
        return tnr_fail_not_run(err);
    *out_view = (DLTensor){.data = instance->output[index].at,
                           .device = {kDLCPU, 0},
                           .ndim = info->ndim,
                           .dtype = info->dtype,
                           .shape = instance->output[index].shape};
    return TNR_OK;
}

tnr_status tnr_get_output(tnr_instance *instance, const char *name, DLTensor *out_view, tnr_error *err)
{
    int64_t i = instance ? tnr_output_find(instance->module, name) : 0;
    return i < 0 ? tnr_fail_name(instance->module, false, name, err)
                 : tnr_get_output_at(instance, (uint32_t)i, out_view, err);
}

tnr_status tnr_output_shape(tnr_instance *instance, uint32_t index, int64_t *out_shape, tnr_error *err)
{
    const tnr_function *x = instance ? instance->exe->code : NULL;
    if (!x || !out_shape || index >= x->n_output)
        return tnr_fail_argument("tnr_output_shape", err);
    tnr_status status = tnr_bind_symbols(&instance->main, true, err);
    const tn_slot *s = &x->function->slot[x->output[index]];
    bool unknown = status || s->segment || tnr_has_empty_symbol(&instance->main, NULL);
    for (uint32_t d = 0; !status && d < s->ndim; d++) {
        int64_t extent = unknown ? -1 : tnr_size_get(s->dim[d], instance->main.probe);
        out_shape[d] = extent < 0 ? -1 : extent;
    }
    return status;
}

tnr_status tnr_copy_output_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor, tnr_error *err)
{
    DLTensor from;
    tnr_status status =
        tensor ? tnr_get_output_at(instance, index, &from, err) : tnr_fail_argument("tnr_copy_output", err);
    if (status)
        return status;
    tnr_tensor_info info = *tnr_module_output(instance->module, index);
    info.shape = from.shape; /* of this run: nothing symbolic is left */
    info.symbol = NULL;
    void *to;
    uint64_t bytes;
    status = check_fit(instance, "output", &info, NULL, tensor, err);
    if (!status)
        status = tnr_tensor_data(tensor, "output", info.name, &to, &bytes, err);
    if (!status && bytes > 0)
        memmove(to, from.data, (size_t)bytes);
    return status;
}

tnr_status tnr_copy_output(tnr_instance *instance, const char *name, const DLTensor *tensor, tnr_error *err)
{
    int64_t i = instance ? tnr_output_find(instance->module, name) : 0;
    return i < 0 ? tnr_fail_name(instance->module, false, name, err)
                 : tnr_copy_output_at(instance, (uint32_t)i, tensor, err);
}

/* ---- memory ---- */

tnr_status tnr_memory_get(tnr_instance *instance, tnr_memory *out_memory, tnr_error *err)
{
    if (!instance || !out_memory)
        return tnr_fail_argument("tnr_memory_get", err);
    tnr_status status = tnr_bind_symbols(&instance->main, false, err);
    if (status)
        return status;
    const tnr_exe *exe = instance->exe;
    const tnr_function *x = exe->code;
    const tn_program_function *p = x->function;
    if (tnr_has_empty_symbol(&instance->main, NULL)) { /* nothing is run */
        *out_memory = (tnr_memory){.constants = exe->constant_bytes};
        for (uint32_t i = 0; i < x->n_input; i++)
            out_memory->inputs += instance->main.input[i].bytes;
        return TNR_OK;
    }
    for (uint32_t i = p->n_symbol - p->n_late; i < p->n_symbol; i++)
        instance->main.probe[i] = instance->ran ? instance->main.sym[i] : 0; /* those of the last run */
    const int64_t *sym = instance->main.probe;
    tnr_memory m = {.constants = exe->constant_bytes, .arena = (uint64_t)tnr_size_get(p->arena_bytes, sym)};
    for (uint32_t i = 0; i < x->n_input; i++)
        m.inputs += (uint64_t)tnr_size_get(p->slot[x->input[i]].bytes, sym);
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        if (instance->output_given[i].set || tnr_size_get(s->offset, sym) < 0)
            m.outputs += (uint64_t)tnr_size_get(s->bytes, sym);
    }
    for (uint32_t i = 0; i < p->n_segment; i++)
        m.arena += (uint64_t)tnr_size_get(p->segment_bytes[i], sym);
    if (instance->pool)
        m.arena += instance->pool->slabs + instance->pool->most;
    for (uint32_t i = 0; i < exe->program->n_state; i++)
        m.states += exe->program->state[i].bytes;
    m.scratch = exe->scratch_bytes * tnr_instance_threads(instance);
    *out_memory = m;
    return TNR_OK;
}

tnr_status tnr_peak_bytes(tnr_instance *instance, uint64_t *out_bytes, tnr_error *err)
{
    tnr_memory m;
    tnr_status status =
        out_bytes ? tnr_memory_get(instance, &m, err) : tnr_fail_argument("tnr_peak_bytes", err);
    if (!status)
        *out_bytes = m.constants + m.arena + m.inputs + m.outputs + m.scratch + m.states;
    return status;
}
