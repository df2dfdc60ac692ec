/* The loop pipeline. Read top to bottom; each pass says what it establishes.
 *
 *   scheduled blocks
 *     MakePhases     every top-level nest is a parallel loop: one phase, its iterations the tasks
 *     LowerBlocks    blocks become guarded statements; stores to registers are unmasked, their loads masked
 *     Simplify       index arithmetic, decided conditions, loops of one iteration
 *     TightenLoops   conditions move out of loops they do not depend on, or become loop bounds
 *     PartitionTail  full tiles and turns get a copy of the body without conditions
 *     Unswitch       a mask that all lanes share is an IF around the vector loop
 *     Flatten        layouts applied; every buffer is one-dimensional
 *     Unroll         unrolled loops become straight lines
 *     Vectorize      vector loops become vector expressions: from here on the function is flat
 *     LoadStrided    lanes a short stride apart are loads in a row and shuffles
 *     TransposeTiles scatters beside each other become contiguous stores of a transposed tile
 *     Registers      register buffers are indexed by constants, one vector an element
 *     ChunkSums      long sums are added up in chunks (never in strict functions)
 *     LowerIntrin    exp, tanh ... become their polynomials
 *     LowerSmall     small floats are computed in float32, 2- and 4-bit integers in bytes
 *     ContractFma    a*b + c becomes fma where the machine has it (never in strict functions)
 *     ShareLoads     what a straight line computes twice is named once
 *     PlanMemory     places in scratch and work memory
 *   flat
 */
#include "lower/lower_impl.h"

#include <string.h>

const tn_lower_pass tn_lower_passes[] = {
    {"MakePhases", "turns every top-level nest into a parallel loop", tn_lower_make_phases},
    {"LowerBlocks", "turns blocks into guarded statements", tn_lower_blocks},
    {"Simplify", "simplifies index arithmetic, decided conditions and loops of one iteration",
     tn_lower_simplify},
    {"TightenLoops", "moves conditions out of loops or turns them into loop bounds", tn_lower_tighten},
    {"PartitionTail", "gives full tiles and iterations a body without conditions", tn_lower_partition},
    {"Unswitch", "moves a mask that all lanes share around their loop", tn_lower_unswitch},
    {"Flatten", "applies layouts and makes buffers one-dimensional", tn_lower_flatten},
    {"Simplify", "", tn_lower_simplify},
    {"Unroll", "turns unrolled loops into straight-line code", tn_lower_unroll},
    {"Vectorize", "turns vector loops into vector expressions", tn_lower_vectorize},
    {"Simplify", "", tn_lower_simplify},
    {"LoadStrided", "turns loads with short strides into contiguous loads and shuffles", tn_lower_strided},
    {"TransposeTiles", "turns adjacent scatters into contiguous stores of a transposed tile",
     tn_lower_transpose},
    {"Registers", "gives register buffers constant indices", tn_lower_registers},
    {"ChunkSums", "adds up long sums in chunks", tn_lower_chunk_sums},
    {"LowerIntrin", "replaces exp, tanh and the like by polynomials", tn_lower_intrinsics},
    {"LowerSmall", "computes small floats in float32, and 2- and 4-bit integers in bytes", tn_lower_small},
    {"ContractFma", "turns a*b + c into a fused multiply-add where the machine has it", tn_lower_contract},
    {"ShareLoads", "computes repeated expressions of straight-line code once", tn_lower_share},
    {"PlanMemory", "assigns places in scratch and work memory", tn_lower_plan},
};
const size_t tn_n_lower_passes = sizeof tn_lower_passes / sizeof *tn_lower_passes;

const tn_lower_pass *tn_lower_pass_find(const char *name)
{
    for (size_t i = 0; i < tn_n_lower_passes; i++)
        if (strcmp(tn_lower_passes[i].name, name) == 0)
            return &tn_lower_passes[i];
    return NULL;
}

tn_status tn_lower(tn_func *f, const struct tn_machine *m, tn_flat *out)
{
    return tn_lower_watched(f, m, NULL, out);
}

tn_status tn_lower_watched(tn_func *f, const struct tn_machine *m, const tn_lower_watch *watch, tn_flat *out)
{
    for (size_t i = 0; i < tn_n_lower_passes; i++) {
        tn_poll_now();
        if (watch)
            watch->at(watch->user, &tn_lower_passes[i], f, false);
        TN_TRY(tn_lower_passes[i].run(f, m));
        if (watch)
            watch->at(watch->user, &tn_lower_passes[i], f, true);
#ifdef TN_DEBUG
        TN_TRY(tn_func_verify(f));
#endif
    }
    memset(out, 0, sizeof *out);
    out->func = f;
    out->work_bytes = tn_idx(f->pool, 0);
    for (uint32_t b = 0; b < f->n_buffer; b++) {
        const tn_buffer *x = &f->buffer[b];
        uint64_t bytes;
        int64_t n;
        if (x->param < 0 && x->scope == TN_SCOPE_LOCAL && tn_is_int(x->dim[0], &n)) {
            bytes = x->scratch_offset + ((uint64_t)n * tn_dtype_bytes(x->dtype) + 63) / 64 * 64;
            out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
        }
        if (x->param < 0 && x->scope == TN_SCOPE_GLOBAL && x->work_offset) {
            const tn_expr *size = tn_mul(f->pool, x->dim[0], tn_idx(f->pool, tn_dtype_bytes(x->dtype)));
            size = tn_mul(f->pool, tn_ceildiv(f->pool, size, 64), tn_idx(f->pool, 64));
            out->work_bytes = tn_simplify(
                f->pool, NULL, tn_max(f->pool, out->work_bytes, tn_add(f->pool, x->work_offset, size)));
        }
    }
    return TN_OK;
}

/* ---- conjunctions ---- */

int tn_terms(const tn_expr *cond, const tn_expr *out[TN_MAX_TERMS])
{
    const tn_expr *todo[TN_MAX_TERMS];
    int n = 0, k = 0;
    todo[k++] = cond;
    while (k > 0) {
        const tn_expr *e = todo[--k];
        if (e->kind == TN_E_AND && n + k + 2 <= TN_MAX_TERMS) {
            todo[k++] = e->src[1];
            todo[k++] = e->src[0];
        } else {
            out[n++] = e;
        }
    }
    return n;
}

const tn_expr *tn_both(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return a && b ? tn_and(p, a, b) : a ? a : b;
}

const tn_expr *tn_terms_join(tn_pool *p, int n, const tn_expr *const term[])
{
    const tn_expr *e = NULL;
    for (int i = 0; i < n; i++)
        e = tn_both(p, e, term[i]);
    return e;
}

typedef struct {
    tn_func *f;
    const tn_expr *cond;
    bool (*pick)(const tn_func *f, const tn_expr *load, void *user);
    void *user;
} masker;

bool tn_note_definition(tn_stmt *s, void *user)
{
    if (s->kind == TN_S_FOR)
        tn_map_put(user, tn_map_key(s->u.loop.var), 1);
    if (s->kind == TN_S_LET)
        tn_map_put(user, tn_map_key(s->u.let.var), 1);
    return true;
}

static bool is_outside(const tn_expr *e, void *user)
{
    uint64_t x;
    return !tn_map_get(user, tn_map_key(e), &x);
}

bool tn_uses_defined(const tn_expr *e, const tn_map *defined)
{
    return !tn_each(e, is_outside, (tn_map *)(uintptr_t)defined);
}

static bool is_elsewhere(const tn_expr *e, void *buffer)
{
    return e->kind != TN_E_LOAD || e->u.load.buffer != *(const uint32_t *)buffer;
}

bool tn_loads_from(const tn_expr *e, uint32_t buffer)
{
    return e->has_load && !tn_each(e, is_elsewhere, &buffer);
}

static const tn_expr *mask_load(tn_pool *p, const tn_expr *e, void *user)
{
    masker *m = user;
    if (e->kind != TN_E_LOAD || (m->pick && !m->pick(m->f, e, m->user)))
        return NULL;
    const tn_expr *mask = tn_load_mask(e), *other = tn_load_other(e);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)e->u.load.n_index, e->src, tn_both(p, m->cond, mask),
                   other ? other : tn_const(p, e->dtype, 0));
}

const tn_expr *tn_mask_loads(tn_func *f, const tn_expr *e, const tn_expr *cond,
                             bool (*pick)(const tn_func *f, const tn_expr *load, void *user), void *user)
{
    masker m = {f, cond, pick, user};
    return e->has_load ? tn_rewrite(f->pool, e, mask_load, &m) : e;
}
