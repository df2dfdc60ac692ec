/* Guards around slots. The pattern is a NaN in float32, float16 and bfloat16, so that what is read before it is written
 * shows in results, and no number that kernels are likely to write. */
#include "runtime/guard.h"

#include "runtime/error.h"
#include "runtime/mem.h"

#include <inttypes.h>
#include <string.h>

typedef struct tnr_guarded {
    uint8_t *block; /* guard, value, guard; NULL: no memory of its own */
    uint64_t bytes; /* of the value */
} tnr_guarded;

static uint8_t pattern(uint64_t i) { return i % 2 ? 0xff : 0xa5; }

tnr_status tnr_guard_new(tnr_frame *f, tnr_error *err)
{
    f->guard = tnr_mem_new(f->code->function->n_slot, sizeof *f->guard);
    return f->guard ? TNR_OK : tnr_fail_memory(err, f->code->function->n_slot * sizeof *f->guard);
}

void tnr_guard_free(tnr_frame *f)
{
    for (uint32_t i = 0; f->guard && i < f->code->function->n_slot; i++)
        tnr_mem_free(f->guard[i].block);
    tnr_mem_free(f->guard);
}

tnr_status tnr_guard_slot(tnr_frame *f, uint32_t slot, tnr_error *err)
{
    tnr_guarded *g = &f->guard[slot];
    const tn_slot *s = &f->code->function->slot[slot];
    uint64_t bytes = f->bytes[slot], all = bytes + 2u * TNR_GUARD_BYTES;
    if (!g->block || g->bytes != bytes) {
        tnr_mem_free(g->block);
        g->block = tnr_mem_aligned((size_t)all);
        if (!g->block)
            return tnr_fail_memory(err, all);
        g->bytes = bytes;
    }
    for (uint64_t i = 0; i < all; i++)
        g->block[i] = pattern(i);
    if (s->kind == TN_SLOT_INPUT && bytes > 0)
        memcpy(g->block + TNR_GUARD_BYTES, f->ptr[slot], (size_t)bytes);
    f->ptr[slot] = g->block + TNR_GUARD_BYTES;
    return TNR_OK;
}

tnr_status tnr_guard_place(tnr_frame *f, uint32_t segment, tnr_error *err)
{
    const tn_program_function *p = f->code->function;
    tnr_status status = TNR_OK;
    for (uint32_t i = 0; !status && i < p->n_slot; i++)
        if (p->slot[i].segment == segment && p->slot[i].kind != TN_SLOT_CONST && p->slot[i].alias < 0 &&
            p->slot[i].storage == TN_STORAGE_BYTES)
            status = tnr_guard_slot(f, i, err);
    return status;
}

static tnr_status damaged(const tnr_frame *f, uint32_t slot, uint64_t byte, uint32_t at, tnr_error *err)
{
    const tn_inst *in = &f->code->function->inst[at];
    const tnr_guarded *g = &f->guard[slot];
    bool before = byte < TNR_GUARD_BYTES;
    return tnr_fail(err, TNR_E_CHECK, at,
                    "%.60s: %.70s wrote %" PRIu64 " bytes %s slot %" PRIu32 " \"%.40s\" of %" PRIu64 " bytes",
                    in->node,
                    in->op == TN_INST_CALL ? f->instance->exe->library->kernel[in->a].name : "the program",
                    before ? TNR_GUARD_BYTES - byte : byte - TNR_GUARD_BYTES - g->bytes + 1,
                    before ? "before" : "behind", slot, f->code->function->slot[slot].name, g->bytes);
}

/* Is the guard that begins at byte `from` of a block as it was made? */
static bool is_whole(const uint8_t *block, uint64_t from)
{
    const uint8_t *at = block + from;
    return at[0] == pattern(from) && at[1] == pattern(from + 1) && !memcmp(at, at + 2, TNR_GUARD_BYTES - 2);
}

tnr_status tnr_guard_look(const tnr_frame *f, uint32_t at, tnr_error *err)
{
    for (uint32_t i = 0; i < f->code->function->n_slot; i++) {
        const tnr_guarded *g = &f->guard[i];
        const uint64_t end = g->bytes + TNR_GUARD_BYTES;
        if (!g->block || (is_whole(g->block, 0) && is_whole(g->block, end)))
            continue;
        for (uint64_t k = 0; k < TNR_GUARD_BYTES; k++) {
            if (g->block[k] != pattern(k))
                return damaged(f, i, k, at, err);
            if (g->block[end + k] != pattern(end + k))
                return damaged(f, i, end + k, at, err);
        }
    }
    return TNR_OK;
}
