/* Running loop passes: the table that passes.def makes, a pipeline over it, and what passes share. */
#include "lower/lower_impl.h"

#include <string.h>

enum {
#define FACT(id, doc) id = 1u << TN_FACT_##id,
#include "lower/facts.def"
#undef FACT
    NONE = 0,
    ALL = (1u << TN_N_FACTS) - 1,
    BLOCKS = PHASES | JOINED | STATEMENTS | SIMPLE | OFFSETS | STRAIGHT,
};

const tn_lower_pass tn_lower_passes[TN_N_LOWER_PASSES] = {
#define PASS(name, function, needs, gives, keeps, doc) {#name, doc, tn_lower_##function, needs, gives, keeps},
#include "lower/passes.def"
#undef PASS
};

const tn_lower_pass *tn_lower_pass_find(const char *name)
{
    for (size_t i = 0; i < TN_N_LOWER_PASSES; i++)
        if (strcmp(tn_lower_passes[i].name, name) == 0)
            return &tn_lower_passes[i];
    return NULL;
}

bool tn_lower_pass_takes_flat(const tn_lower_pass *pass)
{
    return (pass->keeps & LANES) && !(pass->gives & LANES);
}

tn_status tn_lower(tn_func *f, const struct tn_machine *m, const tn_pipeline *passes, tn_flat *out)
{
    return tn_lower_watched(f, m, passes, NULL, out);
}

tn_status tn_lower_watched(tn_func *f, const struct tn_machine *m, const tn_pipeline *passes,
                           const tn_lower_watch *watch, tn_flat *out)
{
    uint32_t have = 0;
    for (size_t i = 0; i < passes->n; i++) {
        const tn_lower_pass *pass = &tn_lower_passes[passes->pass[i]];
        tn_poll_now();
        if (watch)
            watch->at(watch->user, pass, f, false);
        TN_TRY(pass->run(f, m));
        if (watch)
            watch->at(watch->user, pass, f, true);
        have = (have & pass->keeps) | pass->gives;
#ifdef TN_DEBUG
        TN_TRY(tn_func_verify(f));
        TN_ASSERT((have & tn_facts_broken(f)) == 0);
#endif
    }
    (void)have;
    memset(out, 0, sizeof *out);
    out->func = f;
    out->work_bytes = tn_idx(f->pool, 0);
    for (uint32_t b = 0; b < f->n_buffer; b++) {
        const tn_buffer *x = &f->buffer[b];
        uint64_t bytes;
        int64_t n;
        if (x->param < 0 && (x->scope == TN_SCOPE_LOCAL || x->scope == TN_SCOPE_TILE) &&
            tn_is_int(x->dim[0], &n)) {
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
