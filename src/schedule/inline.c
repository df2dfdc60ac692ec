/* Step compute_inline: the reads of a spatial block's buffer are replaced by the expression it stores. */
#include "schedule/sched_impl.h"

typedef struct {
    tn_sched *s;
    uint32_t buffer;
    const tn_stmt *block;
    const tn_expr *value; /* over the block's iteration variables */
} inliner;

static const tn_expr *inline_load(tn_pool *p, const tn_expr *e, void *user)
{
    inliner *w = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != w->buffer)
        return NULL;
    const tn_stmt *store = w->block->u.block.body.first;
    const tn_expr *from[TN_MAX_LOOPS];
    for (uint32_t d = 0; d < store->u.store.n_index; d++)
        from[d] = store->u.store.index[d];
    const tn_expr *v = tn_subst(p, w->value, (int)store->u.store.n_index, from, e->src);
    const tn_expr *mask = tn_load_mask(e);
    if (!mask)
        return v;
    /* what the reader must not touch, it still does not */
    return tn_select(p, mask, tn_guard_loads(p, v, mask), tn_load_other(e));
}

static const tn_expr *inline_expr(const tn_expr *e, void *user)
{
    inliner *w = user;
    return e->has_load ? tn_rewrite(w->s->func->pool, e, inline_load, w) : e;
}

static bool inline_stmt(tn_stmt *x, void *user)
{
    tn_stmt_exprs(x, inline_expr, user);
    return true;
}

/* Removes s and every loop that becomes empty with it. */
static void remove_nest(tn_sched *s, tn_stmt *x)
{
    for (;;) {
        tn_stmt *up = tn_stmt_parent(x);
        tn_stmt_remove(x);
        tn_sched_consume(s, x);
        if (!up || up->kind != TN_S_FOR || up->u.loop.body.first)
            return;
        x = up;
    }
}

static bool own_variables(const tn_expr *e, void *user)
{
    const tn_stmt *b = user;
    bool own = e->kind != TN_E_VAR;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        own |= b->u.block.iter[i].var == e;
    return own;
}

static bool reads_global(const tn_expr *e, void *user)
{
    const tn_func *f = user;
    return e->kind != TN_E_LOAD || f->buffer[e->u.load.buffer].scope == TN_SCOPE_GLOBAL;
}

/* One plain store to all cells, indexed by its own iteration variables in some order, no reduction, no mask. */
static tn_verdict inlinable(tn_sched *s, const tn_stmt *b)
{
    const tn_stmt *store = tn_body_only(&b->u.block.body);
    if (!store || store->kind != TN_S_STORE || store->u.store.mask || b->u.block.mask ||
        b->u.block.init.first)
        return TN_REJECT_REDUCE;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        if (b->u.block.iter[i].kind != TN_ITER_SPATIAL)
            return TN_REJECT_REDUCE;
    const tn_buffer *buf = &s->func->buffer[store->u.store.buffer];
    if (buf->param >= 0 || !tn_each(store->u.store.value, reads_global, s->func))
        return TN_REJECT_SCOPE; /* a near buffer does not live where the readers are */
    if (!tn_each(store->u.store.value, own_variables, (void *)b))
        return TN_REJECT_LOOP; /* reads by its place among loops (set_scope wrote it so) */
    for (uint32_t d = 0; d < store->u.store.n_index; d++) {
        const tn_expr *x = store->u.store.index[d];
        bool own = false;
        for (uint32_t i = 0; i < b->u.block.n_iter; i++)
            own |= b->u.block.iter[i].var == x;
        for (uint32_t k = 0; k < d; k++)
            own &= store->u.store.index[k] != x;
        if (!own && !(tn_is_value(x, 0) && tn_is_value(buf->dim[d], 1)))
            return TN_REJECT_REGION;
    }
    for (uint32_t i = 0; i < b->u.block.n_iter; i++) {
        bool indexes = false;
        for (uint32_t d = 0; d < store->u.store.n_index; d++)
            indexes |= store->u.store.index[d] == b->u.block.iter[i].var;
        if (!indexes && tn_uses(store->u.store.value, b->u.block.iter[i].var))
            return TN_REJECT_REGION; /* the readers' indices do not tell it */
    }
    return TN_DONE;
}

tn_verdict tn_do_compute_inline(tn_sched *s, tn_step *t)
{
    tn_stmt *b = t->arg[0].s ? tn_func_block(s->func, t->arg[0].s) : NULL;
    if (!b)
        return TN_REJECT_NAME;
    tn_verdict v = inlinable(s, b);
    if (v != TN_DONE)
        return v;
    tn_stmt *store = b->u.block.body.first, *decl = tn_decl_of(s->func, store->u.store.buffer);
    uint32_t buffer = store->u.store.buffer;
    if (!decl || !tn_writes_alone(s, b, buffer))
        return TN_REJECT_REGION;
    inliner w = {s, buffer, b, store->u.store.value};
    remove_nest(s, b);
    tn_stmt_walk(&s->func->body, inline_stmt, NULL, &w);
    tn_stmt_remove(decl);
    return TN_DONE;
}
