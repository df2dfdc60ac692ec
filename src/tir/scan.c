/* Blocks with a scan: iterations whose turns run in order, because a turn reads what those before it stored. */
#include "tir/tir.h"

typedef struct scan {
    tn_pool *pool;
    const tn_stmt *block, *store;
    const tn_expr *var; /* of the scan */
    bool apart;         /* some load of an own result is of another iteration than along the scan */
} scan;

/* An iteration of extent 1 is 0. */
static const tn_expr *without_ones(const scan *x, const tn_expr *e)
{
    const tn_expr *zero = tn_idx(x->pool, 0);
    for (uint32_t i = 0; i < x->block->u.block.n_iter; i++)
        if (tn_is_value(x->block->u.block.iter[i].extent, 1))
            e = tn_subst(x->pool, e, 1, &x->block->u.block.iter[i].var, &zero);
    return e;
}

/* Does no iteration but the scan, and no memory, decide the index? */
static bool is_along(const scan *x, const tn_expr *index)
{
    for (uint32_t i = 0; i < x->block->u.block.n_iter; i++) {
        const tn_expr *var = x->block->u.block.iter[i].var;
        if (var != x->var && tn_uses(index, var))
            return false;
    }
    return !index->has_load;
}

static bool look_at_load(const tn_expr *e, void *user)
{
    scan *x = user;
    bool own = e->kind == TN_E_LOAD && e->u.load.buffer == x->store->u.store.buffer &&
               e->u.load.n_index == x->store->u.store.n_index;
    for (uint32_t d = 0; own && d < e->u.load.n_index; d++) {
        const tn_expr *to = without_ones(x, x->store->u.store.index[d]), *from = without_ones(x, e->src[d]);
        bool along = is_along(x, to) && is_along(x, from) && (tn_uses(to, x->var) || from == to);
        x->apart |= from != to && !along;
    }
    return true;
}

static const tn_expr *look_for_loads(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, look_at_load, user);
    return e;
}

const char *tn_iters_fault(tn_pool *pool, const tn_stmt *block)
{
    scan x = {.pool = pool, .block = block, .store = block->u.block.body.first};
    int scans = 0, reductions = 0;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        scans += it->kind == TN_ITER_SCAN;
        reductions += it->kind == TN_ITER_REDUCE;
        if (it->kind > TN_ITER_SCAN)
            return "an iteration variable must be spatial, reduce or scan";
        x.var = it->kind == TN_ITER_SCAN ? it->var : x.var;
    }
    if (scans == 0)
        return NULL;
    if (scans > 1 || reductions || block->u.block.init.first || !x.store || x.store->next ||
        x.store->kind != TN_S_STORE)
        return "a block with a scan has one of them, no reduction, no init, and one store";
    tn_stmt_exprs((tn_stmt *)(uintptr_t)x.store, look_for_loads, &x); /* only looks */
    return x.apart ? "a block reads its own results of other iterations than those of its scan" : NULL;
}
