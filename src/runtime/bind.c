/* From input shapes to memory: bind symbols, check everything that follows from them, place the slots.
 *
 * A program without symbols passes here once; one with symbols pays a comparison per run unless they change.
 * The arena only grows while sizes stay within a factor of four, so alternating lengths do not reallocate.
 *
 * Programs are proven for symbols of at least 1. Where a symbol is 0, as an empty batch, nothing is run: the
 * outputs get their shapes, and if each of them is empty that is the result; if not, the input's dimension is
 * refused. */
#include "base/size.h"
#include "runtime/error.h"
#include "runtime/instance.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>

/* ---- symbols ---- */

/* The input set that bound symbol s: the first, in order, with a dimension that does. */
static const char *binder(const tnr_instance *inst, int32_t s)
{
    const tnr_exe *x = inst->exe;
    for (uint32_t i = 0; i < x->n_input; i++) {
        const tn_slot *slot = &x->main->slot[x->input[i]];
        for (uint32_t d = 0; inst->input[i].set && slot->bind && d < slot->ndim; d++)
            if (slot->bind[d] == s)
                return slot->name;
    }
    return "";
}

static tnr_status bind_input(tnr_instance *inst, const tn_slot *slot, const tnr_given *in, tnr_error *err)
{
    for (uint32_t d = 0; slot->bind && d < slot->ndim; d++) {
        int32_t s = slot->bind[d];
        if (s < 0)
            continue;
        const tn_symbol *symbol = &inst->exe->main->symbol[s];
        if (inst->probe[s] < 0)
            inst->probe[s] = in->shape[d]; /* its range was checked when it was set */
        else if (inst->probe[s] != in->shape[d])
            return tnr_fail(err, TNR_E_SHAPE, 0,
                            "input \"%.400s\": dimension %" PRIu32 " is %" PRId64 ", but it is %.400s and "
                            "input \"%.400s\" has %.400s = %" PRId64,
                            slot->name, d, in->shape[d], symbol->name, binder(inst, s), symbol->name,
                            inst->probe[s]);
    }
    return TNR_OK;
}

/* Dimensions that bind nothing must equal what the symbols say. */
static tnr_status check_dimensions(const tnr_instance *inst, uint32_t i, tnr_error *err)
{
    const tn_slot *slot = &inst->exe->main->slot[inst->exe->input[i]];
    const tnr_given *in = &inst->input[i];
    for (uint32_t d = 0; d < slot->ndim; d++) {
        int64_t expected =
            slot->bind && slot->bind[d] >= 0 ? in->shape[d] : tnr_size_get(slot->dim[d], inst->probe);
        if (in->shape[d] == expected)
            continue;
        char shape[TNR_SHAPE_TEXT];
        const tnr_tensor_info *info = tnr_module_input(inst->module, i);
        return tnr_fail(err, TNR_E_SHAPE, 0,
                        "input \"%.400s\": dimension %" PRIu32 " is %" PRId64 ", expected %" PRId64
                        ": its shape is %.400s, and other inputs fix the symbols",
                        slot->name, d, in->shape[d], expected,
                        tnr_shape_print(info->ndim, info->shape, info->symbol, shape));
    }
    return TNR_OK;
}

tnr_status tnr_bind_symbols(tnr_instance *inst, bool need_all, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    const tn_program_function *p = x->main;
    for (uint32_t s = 0; s < p->n_symbol; s++)
        inst->probe[s] = -1;
    for (uint32_t i = 0; i < x->n_input; i++) {
        const tn_slot *slot = &p->slot[x->input[i]];
        if (!inst->input[i].set && need_all)
            return tnr_fail(err, TNR_E_STATE, 0, "input \"%.400s\" is not set", slot->name);
        tnr_status status = inst->input[i].set ? bind_input(inst, slot, &inst->input[i], err) : TNR_OK;
        if (status)
            return status;
    }
    for (uint32_t s = 0; s < p->n_symbol - p->n_late; s++)
        if (inst->probe[s] < 0)
            return tnr_fail(err, TNR_E_STATE, 0, "%.400s is not known yet; first set an input that has it",
                            p->symbol[s].name);
    for (uint32_t i = 0; i < x->n_input; i++) {
        tnr_status status = inst->input[i].set ? check_dimensions(inst, i, err) : TNR_OK;
        if (status)
            return status;
    }
    return TNR_OK;
}

/* ---- sizes ---- */

static tnr_status contradiction(const tn_slot *s, uint32_t at, const char *what, tnr_error *err)
{
    return tnr_fail(err, TNR_E_FORMAT, at,
                    "the program contradicts itself for these dimensions: slot %" PRIu32 " \"%.400s\" %s", at,
                    s->name, what);
}

/* Inputs and outputs are dense, so their byte count is known from their shape. */
static bool bytes_fit_shape(const tnr_instance *inst, const tn_slot *s, uint64_t bytes)
{
    int64_t shape[64]; /* exe.c refuses more dimensions */
    uint64_t dense;
    for (uint32_t d = 0; d < s->ndim; d++)
        shape[d] = tnr_size_get(s->dim[d], inst->sym);
    return tnr_tensor_bytes(tnr_slot_dtype(s), s->ndim, shape, &dense, NULL) == TNR_OK && dense == bytes;
}

/* The nodes that compute a slot: those of the first call that has it; calls stand in order. */
static const char *node_of(const tnr_instance *inst, uint32_t slot)
{
    const tn_program_function *p = inst->exe->main;
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const uint32_t *op = p->operand + p->inst[i].operand;
        uint32_t n_slot = p->inst[i].n_operand;
        if (p->inst[i].op != TN_INST_CALL)
            continue;
        const tn_kernel *k = &inst->exe->library->kernel[p->inst[i].a];
        n_slot = n_slot < k->n_in + k->n_out ? n_slot : k->n_in + k->n_out;
        for (uint32_t j = 0; j < n_slot; j++)
            if (op[j] == slot)
                return p->inst[i].node;
    }
    return p->slot[slot].name;
}

/* An extent less than 0 says that an input is too small, as an image is for a window. */
static tnr_status check_extents(const tnr_instance *inst, uint32_t at, tnr_error *err)
{
    const tn_slot *s = &inst->exe->main->slot[at];
    for (uint32_t d = 0; d < s->ndim; d++) {
        int64_t extent = tnr_size_get(s->dim[d], inst->sym);
        if (extent < 0)
            return tnr_fail(err, TNR_E_SHAPE, 0,
                            "an input is too small for %.400s: dimension %" PRIu32
                            " of its result would be %" PRId64 ", but must be at least 0",
                            node_of(inst, s->alias >= 0 ? (uint32_t)s->alias : at), d, extent);
    }
    return TNR_OK;
}

/* arena_bytes: of the arena that the slot's segment has. */
static tnr_status size_slot(tnr_instance *inst, uint32_t at, uint64_t arena_bytes, tnr_error *err)
{
    const tn_slot *s = &inst->exe->main->slot[at];
    int64_t bytes = tnr_size_get(s->bytes, inst->sym), offset = -1, end;
    if (bytes < 0)
        return contradiction(s, at, "has a negative size", err);
    if (s->kind <= TN_SLOT_OUTPUT && !bytes_fit_shape(inst, s, (uint64_t)bytes))
        return contradiction(s, at, "has a size that does not fit its shape", err);
    if (s->kind == TN_SLOT_TEMP || s->kind == TN_SLOT_OUTPUT)
        offset = tnr_size_get(s->offset, inst->sym);
    if (offset < (s->kind == TN_SLOT_TEMP ? 0 : -1) || (offset > 0 && offset % 64 != 0))
        return contradiction(s, at, "has an offset that is negative or not a multiple of 64", err);
    if (offset >= 0 && (!tn_i64_add(offset, bytes, &end) || (uint64_t)end > arena_bytes))
        return contradiction(s, at, "does not fit into the arena", err);
    inst->bytes[at] = (uint64_t)bytes;
    inst->offset[at] = offset;
    return TNR_OK;
}

/* Both sides of every copy have the same size: what exe.c could not see where sizes depend on symbols. */
static tnr_status check_copies(const tnr_instance *inst, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].alias >= 0 && !p->slot[i].segment && inst->bytes[p->slot[i].alias] != inst->bytes[i])
            return tnr_fail(err, TNR_E_SHAPE, i,
                            "%.400s: with these inputs a tensor of %" PRIu64
                            " bytes would be reshaped to %" PRIu64,
                            p->slot[i].name, inst->bytes[p->slot[i].alias], inst->bytes[i]);
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const uint32_t *op = p->operand + p->inst[i].operand;
        if (p->inst[i].op == TN_INST_COPY && !p->slot[op[0]].segment && !p->slot[op[1]].segment &&
            inst->bytes[op[0]] != inst->bytes[op[1]])
            return tnr_fail(err, TNR_E_SHAPE, i,
                            "%.120s: with these inputs a tensor of %" PRIu64
                            " bytes would be reshaped to %" PRIu64,
                            p->inst[i].node, inst->bytes[op[0]], inst->bytes[op[1]]);
    }
    return TNR_OK;
}

static tnr_status size_all(tnr_instance *inst, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        tnr_status status = p->slot[i].segment ? TNR_OK : check_extents(inst, i, err);
        if (status)
            return status;
    }
    int64_t arena = tnr_size_get(p->arena_bytes, inst->sym), work = tnr_size_get(p->work_offset, inst->sym);
    if (arena < 0 || (uint64_t)arena > SIZE_MAX / 2 || work < 0 || work % 64 != 0)
        return tnr_fail(err, TNR_E_FORMAT, 0,
                        "the program contradicts itself for these dimensions: arena of %" PRId64
                        " bytes, work memory at %" PRId64,
                        arena, work);
    inst->arena_bytes = (uint64_t)arena;
    inst->work_offset = (uint64_t)work;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        if (p->slot[i].segment)
            continue;
        tnr_status status = size_slot(inst, i, inst->arena_bytes, err);
        if (status)
            return status;
    }
    return check_copies(inst, err);
}

/* ---- memory ---- */

/* Make *at hold n bytes. Grows when too small; shrinks only when four times too large. */
static tnr_status fit(void **at, uint64_t *room, uint64_t n, tnr_error *err)
{
    if (*at && n <= *room && n >= *room / 4)
        return TNR_OK;
    tnr_mem_free(*at); /* first, so that old and new do not add up */
    *room = 0;
    *at = tnr_mem_aligned((size_t)n);
    if (!*at)
        return tnr_fail_memory(err, n);
    *room = n;
    return TNR_OK;
}

tnr_status tnr_block_fit(tnr_block *block, uint64_t n, tnr_error *err)
{
    return fit(&block->at, &block->room, n, err);
}

static tnr_status place_all(tnr_instance *inst, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    const tn_program_function *p = x->main;
    void *arena = inst->arena;
    tnr_status status = fit(&arena, &inst->arena_room, inst->arena_bytes, err);
    inst->arena = arena;
    if (status)
        return status;
    for (uint32_t i = 0; i < p->n_slot; i++)
        inst->ptr[i] = inst->offset[i] >= 0 ? inst->arena + inst->offset[i] : x->fixed[i];
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        for (uint32_t d = 0; d < s->ndim && !p->slot[x->output[i]].segment; d++)
            inst->output[i].shape[d] = tnr_size_get(s->dim[d], inst->sym);
    }
    return TNR_OK;
}

tnr_status tnr_place_output(tnr_instance *inst, uint32_t i, tnr_error *err)
{
    uint32_t slot = inst->exe->output[i];
    const tnr_given *out = &inst->output_given[i];
    tnr_result *r = &inst->output[i];
    const tnr_tensor_info *info = tnr_module_output(inst->module, i);
    if (out->set && info->ndim > 0 &&
        memcmp(out->shape, r->shape, (size_t)info->ndim * sizeof *r->shape) != 0) {
        char have[TNR_SHAPE_TEXT], want[TNR_SHAPE_TEXT];
        return tnr_fail(
            err, TNR_E_SHAPE, 0,
            "the memory given for output \"%.400s\" has shape %.400s, but this run produces %.400s",
            info->name, tnr_shape_print(info->ndim, out->shape, NULL, have),
            tnr_shape_print(info->ndim, r->shape, NULL, want));
    }
    if (inst->offset[slot] < 0 && !out->set) {
        tnr_status status = fit(&r->own, &r->own_room, inst->bytes[slot], err);
        if (status)
            return status;
    }
    if (inst->offset[slot] < 0)
        inst->ptr[slot] = out->set ? out->data : r->own;
    r->at = out->set ? out->data : inst->ptr[slot];
    return TNR_OK;
}

tnr_status tnr_plan(tnr_instance *inst, uint32_t segment, uint32_t at, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    const tn_program_function *p = x->main;
    tnr_block *block = &inst->segment[segment - 1];
    for (uint32_t i = 0; i < p->n_slot; i++) {
        tnr_status status = p->slot[i].segment == segment ? check_extents(inst, i, err) : TNR_OK;
        if (status)
            return status;
    }
    int64_t bytes = tnr_size_get(p->segment_bytes[segment - 1], inst->sym);
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 2)
        return tnr_fail(err, TNR_E_FORMAT, at, "%.400s: its results would take %" PRId64 " bytes",
                        p->inst[at].node, bytes);
    tnr_status status = tnr_block_fit(block, (uint64_t)bytes, err);
    for (uint32_t i = 0; !status && i < p->n_slot; i++) {
        if (p->slot[i].segment != segment)
            continue;
        status = size_slot(inst, i, (uint64_t)bytes, err);
        inst->ptr[i] = inst->offset[i] >= 0 ? (uint8_t *)block->at + inst->offset[i] : NULL;
    }
    for (uint32_t i = 0; !status && i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        if (p->slot[x->output[i]].segment != segment)
            continue;
        for (uint32_t d = 0; d < s->ndim; d++)
            inst->output[i].shape[d] = tnr_size_get(s->dim[d], inst->sym);
        status = tnr_place_output(inst, i, err);
    }
    return status;
}

/* ---- empty inputs ---- */

bool tnr_has_empty_symbol(const tnr_instance *inst, uint32_t *out_symbol)
{
    const tn_program_function *p = inst->exe->main;
    for (uint32_t s = 0; s < p->n_symbol - p->n_late; s++)
        if (inst->probe[s] == 0 && p->symbol[s].min > 0) {
            if (out_symbol)
                *out_symbol = s;
            return true;
        }
    return false;
}

static tnr_status refuse_empty(const tnr_instance *inst, uint32_t symbol, uint32_t output, const char *why,
                               tnr_error *err)
{
    return tnr_fail(err, TNR_E_SHAPE, 0,
                    "input \"%.400s\": dimension %.400s is 0, and output \"%.400s\" %s: at least 1 is needed",
                    binder(inst, (int32_t)symbol), inst->exe->main->symbol[symbol].name,
                    tnr_module_output(inst->module, output)->name, why);
}

/* Shapes of the outputs, each of which must be empty. */
static tnr_status bind_empty(tnr_instance *inst, uint32_t symbol, tnr_error *err)
{
    const tnr_exe *x = inst->exe;
    const tn_program_function *p = x->main;
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        bool empty = false;
        if (p->slot[x->output[i]].segment)
            return refuse_empty(inst, symbol, i, "has a shape that depends on data", err);
        for (uint32_t d = 0; d < s->ndim; d++) {
            int64_t extent = tnr_size_get(s->dim[d], inst->probe);
            if (extent < 0)
                return refuse_empty(inst, symbol, i, "would have a negative extent", err);
            inst->output[i].shape[d] = extent;
            empty = empty || extent == 0;
        }
        if (!empty)
            return refuse_empty(inst, symbol, i, "would not be empty", err);
        inst->bytes[x->output[i]] = 0;
        inst->offset[x->output[i]] = -1;
    }
    return TNR_OK;
}

tnr_status tnr_bind(tnr_instance *inst, tnr_error *err)
{
    const tn_program_function *p = inst->exe->main;
    size_t n = (p->n_symbol - p->n_late) * sizeof *inst->sym;
    tnr_status status = tnr_bind_symbols(inst, true, err);
    if (status)
        return status;
    uint32_t symbol = 0;
    inst->empty = tnr_has_empty_symbol(inst, &symbol);
    if (inst->empty) {
        inst->bound = false;
        return bind_empty(inst, symbol, err);
    }
    if (!inst->bound || memcmp(inst->sym, inst->probe, n) != 0) {
        inst->bound = false;
        memcpy(inst->sym, inst->probe, n);
        status = size_all(inst, err);
        if (!status)
            status = place_all(inst, err);
        if (status)
            return status;
        inst->bound = true;
    }
    return TNR_OK;
}

uint32_t tnr_instance_threads(const tnr_instance *inst)
{
    int32_t n = inst->threads_wanted ? inst->threads_wanted : tnr_threads_get();
    return (uint32_t)(n < TNR_POOL_MAX ? n : TNR_POOL_MAX);
}

tnr_status tnr_bind_threads(tnr_instance *inst, tnr_error *err)
{
    uint32_t threads = tnr_instance_threads(inst);
    uint64_t each = inst->exe->scratch_bytes;
    size_t bytes;
    if (each > 0 && (!inst->scratch || threads != inst->threads)) {
        tnr_mem_free(inst->scratch);
        inst->scratch = tn_size_mul((size_t)each, threads, &bytes) ? tnr_mem_aligned(bytes) : NULL;
        if (!inst->scratch)
            return tnr_fail_memory(err, each * threads);
    }
    inst->threads = threads;
    return TNR_OK;
}
