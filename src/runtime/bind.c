/* From input shapes to memory: bind symbols, check everything that follows from them, place the slots.
 *
 * A program without symbols passes here once; one with symbols pays a comparison per run unless they change.
 * The arena only grows while sizes stay within a factor of four, so alternating lengths do not reallocate.
 *
 * Programs are proven for symbols of at least 1. Where a symbol is 0, as an empty batch, nothing is run: the
 * outputs get their shapes, and if each of them is empty that is the result; if not, the input's dimension is
 * refused. */
#include "base/size.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/family.h"
#include "runtime/instance.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/pool.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>

static bool is_main(const tnr_frame *f) { return f == &f->instance->main; }

/* ---- symbols ---- */

/* The input set that bound symbol s: the first, in order, with a dimension that does. */
static const char *binder(const tnr_frame *f, int32_t s)
{
    const tnr_function *x = f->code;
    for (uint32_t i = 0; i < x->n_input; i++) {
        const tn_slot *slot = &x->function->slot[x->input[i]];
        for (uint32_t d = 0; f->input[i].set && slot->bind && d < slot->ndim; d++)
            if (slot->bind[d] == s)
                return slot->name;
    }
    return "";
}

static tnr_status bind_input(tnr_frame *f, const tn_slot *slot, const tnr_given *in, tnr_error *err)
{
    for (uint32_t d = 0; slot->bind && d < slot->ndim; d++) {
        int32_t s = slot->bind[d];
        if (s < 0)
            continue;
        const tn_symbol *symbol = &f->code->function->symbol[s];
        if (f->probe[s] < 0)
            f->probe[s] = in->shape[d]; /* its range was checked when it was set */
        else if (f->probe[s] != in->shape[d])
            return tnr_fail(err, TNR_E_SHAPE, 0,
                            "input \"%.400s\": dimension %" PRIu32 " is %" PRId64 ", but it is %.400s and "
                            "input \"%.400s\" has %.400s = %" PRId64,
                            slot->name, d, in->shape[d], symbol->name, binder(f, s), symbol->name,
                            f->probe[s]);
    }
    return TNR_OK;
}

/* Dimensions that bind nothing must equal what the symbols say. */
static tnr_status check_dimensions(const tnr_frame *f, uint32_t i, tnr_error *err)
{
    const tn_slot *slot = &f->code->function->slot[f->code->input[i]];
    const tnr_given *in = &f->input[i];
    for (uint32_t d = 0; d < slot->ndim; d++) {
        int64_t expected =
            slot->bind && slot->bind[d] >= 0 ? in->shape[d] : tnr_size_get(slot->dim[d], f->probe);
        if (in->shape[d] == expected)
            continue;
        char shape[TNR_SHAPE_TEXT];
        const tnr_tensor_info *info = tnr_module_input(f->instance->module, i);
        return tnr_fail(err, TNR_E_SHAPE, 0,
                        "input \"%.400s\": dimension %" PRIu32 " is %" PRId64 ", expected %" PRId64
                        ": its shape is %.400s, and other inputs fix the symbols",
                        slot->name, d, in->shape[d], expected,
                        tnr_shape_print(info->ndim, info->shape, info->symbol, shape));
    }
    return TNR_OK;
}

tnr_status tnr_bind_symbols(tnr_frame *f, bool need_all, tnr_error *err)
{
    const tnr_function *x = f->code;
    const tn_program_function *p = x->function;
    for (uint32_t s = 0; s < p->n_symbol; s++)
        f->probe[s] = -1;
    for (uint32_t i = 0; i < x->n_input; i++) {
        const tn_slot *slot = &p->slot[x->input[i]];
        if (!f->input[i].set && need_all)
            return tnr_fail(err, TNR_E_STATE, 0, "input \"%.400s\" is not set", slot->name);
        tnr_status status = f->input[i].set ? bind_input(f, slot, &f->input[i], err) : TNR_OK;
        if (status)
            return status;
    }
    for (uint32_t s = 0; s < p->n_symbol - p->n_late; s++)
        if (f->probe[s] < 0)
            return tnr_fail(err, TNR_E_STATE, 0, "%.400s is not known yet; first set an input that has it",
                            p->symbol[s].name);
    for (uint32_t i = 0; i < x->n_input; i++) {
        tnr_status status = f->input[i].set ? check_dimensions(f, i, err) : TNR_OK;
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
static bool bytes_fit_shape(const tnr_frame *f, const tn_slot *s, uint64_t bytes)
{
    int64_t shape[64]; /* exe.c refuses more dimensions */
    uint64_t dense;
    for (uint32_t d = 0; d < s->ndim; d++)
        shape[d] = tnr_size_get(s->dim[d], f->sym);
    return tnr_tensor_bytes(tnr_slot_dtype(s), s->ndim, shape, &dense, NULL) == TNR_OK && dense == bytes;
}

/* The nodes that compute a slot: those of the first call that has it; calls stand in order. */
static const char *node_of(const tnr_frame *f, uint32_t slot)
{
    const tn_program_function *p = f->code->function;
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const uint32_t *op = p->operand + p->inst[i].operand;
        uint32_t n_slot = p->inst[i].n_operand;
        if (p->inst[i].op != TN_INST_CALL)
            continue;
        const tn_kernel *k = &f->instance->exe->library->kernel[p->inst[i].a];
        n_slot = n_slot < k->n_in + k->n_out ? n_slot : k->n_in + k->n_out;
        for (uint32_t j = 0; j < n_slot; j++)
            if (op[j] == slot)
                return p->inst[i].node;
    }
    return p->slot[slot].name;
}

/* An extent less than 0 says that an input is too small, as an image is for a window. */
static tnr_status check_extents(const tnr_frame *f, uint32_t at, tnr_error *err)
{
    const tn_slot *s = &f->code->function->slot[at];
    for (uint32_t d = 0; d < s->ndim; d++) {
        int64_t extent = tnr_size_get(s->dim[d], f->sym);
        if (extent < 0)
            return tnr_fail(err, TNR_E_SHAPE, 0,
                            "an input is too small for %.400s: dimension %" PRIu32
                            " of its result would be %" PRId64 ", but must be at least 0",
                            node_of(f, s->kind == TN_SLOT_OUTPUT && s->alias >= 0 ? (uint32_t)s->alias : at),
                            d, extent);
    }
    return TNR_OK;
}

/* arena_bytes: of the arena that the slot's segment has. */
static tnr_status size_slot(tnr_frame *f, uint32_t at, uint64_t arena_bytes, tnr_error *err)
{
    const tn_slot *s = &f->code->function->slot[at];
    int64_t bytes = tnr_size_get(s->bytes, f->sym), offset = -1, end;
    if (bytes < 0)
        return contradiction(s, at, "has a negative size", err);
    bool placed = s->storage == TN_STORAGE_BYTES;
    if (is_main(f) && placed && s->kind <= TN_SLOT_OUTPUT && !bytes_fit_shape(f, s, (uint64_t)bytes))
        return contradiction(s, at, "has a size that does not fit its shape", err);
    if (placed && (s->kind == TN_SLOT_TEMP || s->kind == TN_SLOT_OUTPUT))
        offset = tnr_size_get(s->offset, f->sym);
    if (offset < (placed && s->kind == TN_SLOT_TEMP ? 0 : -1) || (offset > 0 && offset % 64 != 0))
        return contradiction(s, at, "has an offset that is negative or not a multiple of 64", err);
    if (offset >= 0 && (!tn_i64_add(offset, bytes, &end) || (uint64_t)end > arena_bytes))
        return contradiction(s, at, "does not fit into the arena", err);
    f->bytes[at] = (uint64_t)bytes;
    f->offset[at] = offset;
    return TNR_OK;
}

tnr_status tnr_slot_size(tnr_frame *f, uint32_t slot, tnr_error *err)
{
    tnr_status status = check_extents(f, slot, err);
    return status ? status : size_slot(f, slot, 0, err);
}

/* Does an instruction give it its size? */
static bool is_late(const tn_slot *s) { return s->segment || s->storage == TN_STORAGE_POOL; }

/* What shares its operand's memory has its size: what exe.c could not see where sizes depend on symbols. Copies are
 * checked as they are run: some stand where these inputs do not lead. */
static tnr_status check_aliases(const tnr_frame *f, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].kind == TN_SLOT_OUTPUT && p->slot[i].alias >= 0 && !p->slot[i].segment &&
            f->bytes[p->slot[i].alias] != f->bytes[i])
            return tnr_fail(err, TNR_E_SHAPE, i,
                            "%.400s: with these inputs a tensor of %" PRIu64
                            " bytes would be reshaped to %" PRIu64,
                            p->slot[i].name, f->bytes[p->slot[i].alias], f->bytes[i]);
    return TNR_OK;
}

static tnr_status size_all(tnr_frame *f, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        tnr_status status = is_late(&p->slot[i]) ? TNR_OK : check_extents(f, i, err);
        if (status)
            return status;
    }
    int64_t arena = tnr_size_get(p->arena_bytes, f->sym), work = tnr_size_get(p->work_offset, f->sym);
    if (arena < 0 || (uint64_t)arena > SIZE_MAX / 2 || work < 0 || work % 64 != 0)
        return tnr_fail(err, TNR_E_FORMAT, 0,
                        "the program contradicts itself for these dimensions: arena of %" PRId64
                        " bytes, work memory at %" PRId64,
                        arena, work);
    f->arena_bytes = (uint64_t)arena;
    f->work_offset = (uint64_t)work;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        if (is_late(&p->slot[i]))
            continue;
        tnr_status status = size_slot(f, i, f->arena_bytes, err);
        if (status)
            return status;
    }
    return check_aliases(f, err);
}

/* ---- memory ---- */

/* Make *at hold n bytes. Grows when too small; shrinks only when four times too large. */
static tnr_status fit(void **at, uint64_t *room, uint64_t n, tnr_error *err)
{
    if (*at && n <= *room && n >= *room / 4)
        return TNR_OK;
    tnr_devices[TNR_HOST].free(*at); /* first, so that old and new do not add up */
    *room = 0;
    *at = tnr_devices[TNR_HOST].alloc((size_t)n);
    if (!*at)
        return tnr_fail_memory(err, n);
    *room = n;
    return TNR_OK;
}

tnr_status tnr_block_fit(tnr_block *block, uint64_t n, tnr_error *err)
{
    return fit(&block->at, &block->room, n, err);
}

static tnr_status place_all(tnr_frame *f, tnr_error *err)
{
    const tnr_function *x = f->code;
    const tn_program_function *p = x->function;
    void *arena = f->arena;
    tnr_status status = fit(&arena, &f->arena_room, f->arena_bytes, err);
    f->arena = arena;
    if (status)
        return status;
    for (uint32_t i = 0; i < p->n_slot; i++)
        f->ptr[i] = f->offset[i] >= 0                  ? f->arena + f->offset[i]
                    : p->slot[i].kind == TN_SLOT_STATE ? f->instance->state[p->slot[i].alias].at
                                                       : x->fixed[i];
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        for (uint32_t d = 0; d < s->ndim && !s->segment && is_main(f); d++)
            f->instance->output[i].shape[d] = tnr_size_get(s->dim[d], f->sym);
    }
    return TNR_OK;
}

/* Of a function that another one has called: the caller's slot, whose size is known. */
static tnr_status place_result(tnr_frame *f, uint32_t i, tnr_error *err)
{
    uint32_t slot = f->code->output[i];
    if (f->bytes[slot] != f->result[i].bytes)
        return tnr_fail(
            err, TNR_E_CHECK, i,
            "function %.100s: result \"%.100s\" has %" PRIu64 " bytes, but its caller has room for %" PRIu64,
            f->code->function->name, f->code->function->slot[slot].name, f->bytes[slot], f->result[i].bytes);
    if (f->offset[slot] < 0)
        f->ptr[slot] = f->result[i].data;
    return TNR_OK;
}

tnr_status tnr_place_output(tnr_frame *f, uint32_t i, tnr_error *err)
{
    uint32_t slot = f->code->output[i];
    if (f->code->function->slot[slot].storage == TN_STORAGE_HANDLE)
        return TNR_OK;
    if (!is_main(f))
        return place_result(f, i, err);
    const tnr_given *out = &f->instance->output_given[i];
    tnr_result *r = &f->instance->output[i];
    const tnr_tensor_info *info = tnr_module_output(f->instance->module, i);
    if (out->set && info->ndim > 0 &&
        memcmp(out->shape, r->shape, (size_t)info->ndim * sizeof *r->shape) != 0) {
        char have[TNR_SHAPE_TEXT], want[TNR_SHAPE_TEXT];
        return tnr_fail(
            err, TNR_E_SHAPE, 0,
            "the memory given for output \"%.400s\" has shape %.400s, but this run produces %.400s",
            info->name, tnr_shape_print(info->ndim, out->shape, NULL, have),
            tnr_shape_print(info->ndim, r->shape, NULL, want));
    }
    if (f->offset[slot] < 0 && !out->set) {
        tnr_status status = fit(&r->own, &r->own_room, f->bytes[slot], err);
        if (status)
            return status;
    }
    if (f->offset[slot] < 0)
        f->ptr[slot] = out->set ? out->data : r->own;
    r->at = out->set ? out->data : f->ptr[slot];
    return TNR_OK;
}

tnr_status tnr_plan(tnr_frame *f, uint32_t segment, uint32_t at, tnr_error *err)
{
    const tnr_function *x = f->code;
    const tn_program_function *p = x->function;
    tnr_block *block = &f->segment[segment - 1];
    for (uint32_t i = 0; i < p->n_slot; i++) {
        tnr_status status = p->slot[i].segment == segment ? check_extents(f, i, err) : TNR_OK;
        if (status)
            return status;
    }
    int64_t bytes = tnr_size_get(p->segment_bytes[segment - 1], f->sym);
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 2)
        return tnr_fail(err, TNR_E_FORMAT, at, "%.400s: its results would take %" PRId64 " bytes",
                        p->inst[at].node, bytes);
    tnr_status status = tnr_block_fit(block, (uint64_t)bytes, err);
    for (uint32_t i = 0; !status && i < p->n_slot; i++) {
        if (p->slot[i].segment != segment)
            continue;
        status = size_slot(f, i, (uint64_t)bytes, err);
        f->ptr[i] = f->offset[i] >= 0 ? (uint8_t *)block->at + f->offset[i] : NULL;
    }
    for (uint32_t i = 0; !status && i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        if (p->slot[x->output[i]].segment != segment)
            continue;
        for (uint32_t d = 0; d < s->ndim && is_main(f); d++)
            f->instance->output[i].shape[d] = tnr_size_get(s->dim[d], f->sym);
        status = tnr_place_output(f, i, err);
    }
    return status;
}

/* ---- empty inputs ---- */

bool tnr_has_empty_symbol(const tnr_frame *f, uint32_t *out_symbol)
{
    const tn_program_function *p = f->code->function;
    for (uint32_t s = 0; s < p->n_symbol - p->n_late; s++)
        if (f->probe[s] == 0 && p->symbol[s].min > 0) {
            if (out_symbol)
                *out_symbol = s;
            return true;
        }
    return false;
}

static tnr_status refuse_empty(const tnr_frame *f, uint32_t symbol, uint32_t output, const char *why,
                               tnr_error *err)
{
    return tnr_fail(err, TNR_E_SHAPE, 0,
                    "input \"%.400s\": dimension %.400s is 0, and output \"%.400s\" %s: at least 1 is needed",
                    binder(f, (int32_t)symbol), f->code->function->symbol[symbol].name,
                    tnr_module_output(f->instance->module, output)->name, why);
}

/* Shapes of the outputs, each of which must be empty. Nothing is run, so nothing else may be left to do. */
static tnr_status bind_empty(tnr_frame *f, uint32_t symbol, tnr_error *err)
{
    const tnr_function *x = f->code;
    const tn_program_function *p = x->function;
    const tnr_exe *exe = f->instance->exe;
    if (exe->program->n_state || exe->families & 1u << TNR_FAMILY_HOST)
        return tnr_check_extent(&p->symbol[symbol], 0, "input ", binder(f, (int32_t)symbol), 0, err);
    for (uint32_t i = 0; i < x->n_output; i++) {
        const tn_slot *s = &p->slot[x->output[i]];
        bool empty = false;
        if (p->slot[x->output[i]].segment)
            return refuse_empty(f, symbol, i, "has a shape that depends on data", err);
        for (uint32_t d = 0; d < s->ndim; d++) {
            int64_t extent = tnr_size_get(s->dim[d], f->probe);
            if (extent < 0)
                return refuse_empty(f, symbol, i, "would have a negative extent", err);
            f->instance->output[i].shape[d] = extent;
            empty = empty || extent == 0;
        }
        if (!empty)
            return refuse_empty(f, symbol, i, "would not be empty", err);
        f->bytes[x->output[i]] = 0;
        f->offset[x->output[i]] = -1;
    }
    return TNR_OK;
}

tnr_status tnr_bind(tnr_frame *f, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    size_t n = (p->n_symbol - p->n_late) * sizeof *f->sym;
    tnr_status status = tnr_bind_symbols(f, true, err);
    if (status)
        return status;
    uint32_t symbol = 0;
    f->instance->empty = tnr_has_empty_symbol(f, &symbol);
    if (f->instance->empty) {
        f->bound = false;
        return bind_empty(f, symbol, err);
    }
    if (!f->bound || memcmp(f->sym, f->probe, n) != 0) {
        f->bound = false;
        memcpy(f->sym, f->probe, n);
        status = size_all(f, err);
        if (!status)
            status = place_all(f, err);
        if (status)
            return status;
        f->bound = true;
    }
    return TNR_OK;
}

uint32_t tnr_instance_threads(const tnr_instance *instance)
{
    int32_t n = instance->threads_wanted ? instance->threads_wanted : tnr_threads_get();
    return (uint32_t)(n < TNR_POOL_MAX ? n : TNR_POOL_MAX);
}

tnr_status tnr_bind_threads(tnr_instance *instance, tnr_error *err)
{
    uint32_t threads = tnr_instance_threads(instance);
    uint64_t each = instance->exe->scratch_bytes;
    size_t bytes;
    if (each > 0 && (!instance->scratch || threads != instance->threads)) {
        tnr_mem_free(instance->scratch);
        instance->scratch = tn_size_mul((size_t)each, threads, &bytes) ? tnr_mem_aligned(bytes) : NULL;
        if (!instance->scratch)
            return tnr_fail_memory(err, each * threads);
    }
    instance->threads = threads;
    return TNR_OK;
}
