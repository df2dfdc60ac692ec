/* Step double_buffer: a copy that each turn of a loop makes for itself is made one turn ahead, in the other half of a
 * buffer of twice the size.
 *
 *     for k < 8:                             buffer c[2, 16]
 *       buffer c[16]                         c.first: c[0, j] = A[0, j]
 *       c: c[j] = A[k, j]                    for k < 8:
 *       ... reads c[j]                         c: c[(k + 1) % 2, j] = A[k + 1, j]    where k + 1 < 8
 *                                              ... reads c[k % 2, j]
 *
 * so that what the next turn needs is on its way while this one computes.
 */
#include "schedule/sched_impl.h"

typedef struct {
    tn_sched *s;
    tn_stmt *block, *loop, *top; /* top: the block's nest in the loop's body */
    uint32_t buffer;
    const tn_expr *half; /* in front of the indices of an access */
} doubling;

/* ---- is it legal? ---- */

static bool other_buffers(const tn_expr *e, void *user)
{
    const doubling *d = user;
    tn_stmt *writer[1];
    if (e->kind != TN_E_LOAD)
        return true;
    const tn_stmt *decl = tn_decl_of(d->s->func, e->u.load.buffer);
    return (!decl || !tn_stmt_inside(decl, d->loop)) &&
           tn_blocks_accessing(&d->loop->u.loop.body, e->u.load.buffer, true, 1, writer) == 0;
}

typedef struct {
    doubling *d;
    bool legal;
} look;

static const tn_expr *look_at_expr(const tn_expr *e, void *user)
{
    look *w = user;
    w->legal &= !e->has_load || tn_each(e, other_buffers, w->d);
    return e;
}

static bool look_at_stmt(tn_stmt *x, void *user)
{
    tn_stmt_exprs(x, look_at_expr, user);
    return true;
}

/* What it reads is there before the loop begins, and the loop does not change it. */
static bool reads_early(doubling *d)
{
    look w = {d, true};
    tn_body *body[2];
    int n = tn_stmt_bodies(d->top, body);
    (void)look_at_stmt(d->top, &w);
    for (int i = 0; i < n; i++)
        tn_stmt_walk(body[i], look_at_stmt, NULL, &w);
    return w.legal;
}

static tn_verdict check(doubling *d)
{
    tn_func *f = d->s->func;
    int64_t target = tn_block_target(d->block);
    if (!tn_stmt_inside(d->block, d->loop) || d->loop->u.loop.kind != TN_LOOP_SERIAL)
        return TN_REJECT_LOOP;
    const tn_stmt *decl = target < 0 ? NULL : tn_decl_of(f, (uint32_t)target);
    if (!decl || tn_stmt_parent(decl) != d->loop)
        return TN_REJECT_SCOPE;
    const tn_buffer *b = &f->buffer[target];
    if (b->scope != TN_SCOPE_LOCAL || b->layout || b->ndim >= TN_BOX_DIMS)
        return TN_REJECT_SCOPE;
    d->buffer = (uint32_t)target;
    d->top = tn_nest_top(d->block, d->loop);
    const tn_stmt *store = tn_body_only(&d->block->u.block.body);
    if (tn_stmt_parent(d->top) != d->loop || !store || store->u.store.n_index > TN_BOX_DIMS)
        return TN_REJECT_NEST;
    if (d->block->u.block.init.first || !tn_writes_alone(d->s, d->block, d->buffer))
        return TN_REJECT_REDUCE;
    for (const tn_stmt *x = d->loop->u.loop.body.first; x; x = x->next)
        if (x->kind != TN_S_FOR && x->kind != TN_S_BLOCK && x->kind != TN_S_BUFFER &&
            x->kind != TN_S_PREFETCH)
            return TN_REJECT_NEST; /* a let that it may use, a check that may come before it */
    for (const tn_stmt *l = tn_stmt_parent(d->block); l != d->loop; l = tn_stmt_parent(l))
        if (l->u.loop.kind == TN_LOOP_PARALLEL)
            return TN_REJECT_LOOP;
    for (const tn_stmt *l = d->loop; l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && (l->u.loop.kind == TN_LOOP_VECTOR || l->u.loop.kind == TN_LOOP_TENSOR))
            return TN_REJECT_LOOP;
    return reads_early(d) ? TN_DONE : TN_REJECT_DEPEND;
}

/* ---- the edit ---- */

static const tn_expr *prefix_load(tn_pool *p, const tn_expr *e, void *user)
{
    const doubling *d = user;
    const tn_expr *index[TN_BOX_DIMS] = {d->half};
    if (e->kind != TN_E_LOAD || e->u.load.buffer != d->buffer)
        return NULL;
    for (uint32_t i = 0; i < e->u.load.n_index; i++)
        index[i + 1] = e->src[i];
    return tn_load(p, e->dtype, d->buffer, (int)e->u.load.n_index + 1, index, tn_load_mask(e),
                   tn_load_other(e));
}

static const tn_expr *prefix_expr(const tn_expr *e, void *user)
{
    doubling *d = user;
    return e->has_load ? tn_rewrite(d->s->func->pool, e, prefix_load, d) : e;
}

static bool prefix_stmt(tn_stmt *x, void *user)
{
    tn_stmt_exprs(x, prefix_expr, user);
    return true;
}

static void prefix_store(tn_func *f, tn_stmt *block, const tn_expr *half)
{
    tn_stmt *store = block->u.block.body.first;
    const tn_expr **index = TN_NEW_N(f->arena, const tn_expr *, store->u.store.n_index + 1u);
    index[0] = half;
    for (uint32_t i = 0; i < store->u.store.n_index; i++)
        index[i + 1] = store->u.store.index[i];
    store->u.store.index = index;
    store->u.store.n_index++;
}

static tn_stmt *only_block(tn_stmt *x)
{
    while (x->kind == TN_S_FOR)
        x = tn_body_only(&x->u.loop.body);
    return x;
}

/* The copy of the first turn, before the loop. */
static void copy_first(doubling *d)
{
    tn_func *f = d->s->func;
    tn_pool *p = f->pool;
    const tn_expr *var = d->loop->u.loop.var, *zero = tn_idx(p, 0);
    tn_stmt *copy = tn_stmt_clone_fresh(d->s->func, d->top, ".first"), *block = only_block(copy);
    tn_facts facts;
    tn_stmt_subst(f, copy, 1, &var, &zero);
    tn_body_insert(d->loop->list, d->loop, copy);
    prefix_store(f, block, zero);
    tn_stmt_facts(f, d->loop, &facts);
    const tn_expr *runs = tn_lt(p, zero, d->loop->u.loop.extent);
    if (tn_prove(p, &facts, runs) != 1)
        tn_block_add_mask(d->s, block, runs);
    tn_facts_deinit(&facts);
    tn_stmt *decl = tn_decl_of(f, d->buffer);
    tn_stmt_remove(decl);
    tn_body_insert(copy->list, copy, decl);
}

tn_verdict tn_do_double_buffer(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    doubling d = {.s = s,
                  .block = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL,
                  .loop = tn_sched_loop(s, t->in[0])};
    if (!d.block)
        return TN_REJECT_NAME;
    tn_verdict v = check(&d);
    if (v != TN_DONE)
        return v;
    const tn_expr *var = d.loop->u.loop.var, *two = tn_idx(p, 2), *next = tn_add(p, var, tn_idx(p, 1));
    d.half = tn_fmod(p, var, two);
    tn_stmt_walk(&d.loop->u.loop.body, prefix_stmt, NULL, &d);
    copy_first(&d);
    tn_stmt_subst(f, d.top, 1, &var, &next);
    prefix_store(f, d.block, tn_fmod(p, next, two));
    tn_block_add_mask(s, d.block, tn_lt(p, next, d.loop->u.loop.extent));
    tn_buffer *b = &f->buffer[d.buffer];
    const tn_expr **dim = TN_NEW_N(f->arena, const tn_expr *, b->ndim + 1u);
    dim[0] = two;
    for (int i = 0; i < b->ndim; i++)
        dim[i + 1] = b->dim[i];
    b->dim = dim;
    b->ndim++;
    return TN_DONE;
}
