/* Flatten: layouts are applied and every buffer becomes one-dimensional, row-major over its physical extents. */
#include "lower/lower_impl.h"

typedef struct {
    tn_func *f;
    const tn_buffer *old;
} flat;

static const tn_expr *offset(flat *w, uint32_t buffer, const tn_expr *const *index)
{
    tn_pool *p = w->f->pool;
    const tn_buffer *b = &w->old[buffer];
    const tn_expr *phys[64], *dim[64];
    int n = tn_layout_naxis(b->layout, b->ndim);
    TN_ASSERT(n <= 64);
    tn_layout_index(p, b->layout, b->ndim, index, phys);
    tn_layout_dims(p, b->layout, b->ndim, b->dim, dim);
    const tn_expr *e = tn_idx(p, 0);
    for (int d = 0; d < n; d++)
        e = tn_add(p, tn_mul(p, e, dim[d]), phys[d]);
    return e;
}

static const tn_expr *flatten_load(tn_pool *p, const tn_expr *e, void *user)
{
    flat *w = user;
    if (e->kind != TN_E_LOAD)
        return NULL;
    const tn_expr *at = offset(w, e->u.load.buffer, e->src);
    return tn_load(p, e->dtype, e->u.load.buffer, 1, &at, tn_load_mask(e), tn_load_other(e));
}

static const tn_expr *flatten_expr(const tn_expr *e, void *user)
{
    flat *w = user;
    return e->has_load ? tn_rewrite(w->f->pool, e, flatten_load, w) : e;
}

static bool flatten_stmt(tn_stmt *s, void *user)
{
    flat *w = user;
    tn_stmt_exprs(s, flatten_expr, w);
    if (s->kind == TN_S_STORE) {
        s->u.store.index =
            tn_arena_copy(w->f->arena, (const tn_expr *[]){offset(w, s->u.store.buffer, s->u.store.index)},
                          sizeof(tn_expr *), 8);
        s->u.store.n_index = 1;
    }
    if (s->kind == TN_S_PREFETCH) {
        s->u.prefetch.index = tn_arena_copy(
            w->f->arena, (const tn_expr *[]){offset(w, s->u.prefetch.buffer, s->u.prefetch.index)},
            sizeof(tn_expr *), 8);
        s->u.prefetch.n_index = 1;
    }
    return true;
}

tn_status tn_lower_flatten(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    flat w = {f, tn_arena_copy(f->arena, f->buffer, f->n_buffer * sizeof *f->buffer, 8)};
    tn_stmt_walk(&f->body, flatten_stmt, NULL, &w);
    for (uint32_t i = 0; i < f->n_buffer; i++) {
        tn_buffer *b = &f->buffer[i];
        const tn_expr *dim[64], **count = TN_NEW(f->arena, const tn_expr *);
        tn_layout_dims(f->pool, b->layout, b->ndim, b->dim, dim);
        *count = tn_idx(f->pool, 1);
        for (int d = 0; d < tn_layout_naxis(b->layout, b->ndim); d++)
            *count = tn_mul(f->pool, *count, dim[d]);
        *count = tn_simplify(f->pool, NULL, *count);
        b->dim = count;
        b->ndim = 1;
        b->layout = NULL;
        b->constant = false;
    }
    return TN_OK;
}
