/* Blocks with a scan: iterations whose turns run in order, because a turn reads what those before it stored. */
#include "tir/tir.h"

typedef struct scan {
    tn_pool *pool;
    const tn_stmt *block, *store;
    const tn_expr *var; /* of the scan */
    bool apart;         /* some load of an own result may be of another iteration than along the scan */
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

static bool is_of_scan(const tn_expr *e, void *user)
{
    const scan *x = user;
    return e->kind != TN_E_LOAD && (e->kind != TN_E_VAR || e == x->var);
}

/* Do the scan, symbols and numbers alone decide the index? */
static bool is_along(scan *x, const tn_expr *index) { return tn_each(index, is_of_scan, x); }

/* An iteration that has elements of its own: an index is nothing but its variable. */
static bool is_own(const scan *x, const tn_expr *index)
{
    for (uint32_t i = 0; i < x->block->u.block.n_iter; i++)
        if (index == x->block->u.block.iter[i].var)
            return index != x->var;
    return false;
}

static bool look_at_load(const tn_expr *e, void *user)
{
    scan *x = user;
    bool own = e->kind == TN_E_LOAD && e->u.load.buffer == x->store->u.store.buffer &&
               e->u.load.n_index == x->store->u.store.n_index;
    for (uint32_t d = 0; own && d < e->u.load.n_index; d++) {
        const tn_expr *to = without_ones(x, x->store->u.store.index[d]), *from = without_ones(x, e->src[d]);
        x->apart |= !(from == to && is_own(x, to)) && !(is_along(x, to) && is_along(x, from));
    }
    return true;
}

static const tn_expr *look_for_loads(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, look_at_load, user);
    return e;
}

/* Does each other iteration have elements of its own? */
static bool have_elements(const scan *x)
{
    for (uint32_t i = 0; i < x->block->u.block.n_iter; i++) {
        const tn_iter *it = &x->block->u.block.iter[i];
        bool found = it->var == x->var || tn_is_value(it->extent, 1);
        for (uint32_t d = 0; d < x->store->u.store.n_index && !found; d++)
            found = x->store->u.store.index[d] == it->var;
        if (!found)
            return false;
    }
    return true;
}

const char *tn_iters_fault(tn_pool *pool, const tn_stmt *block)
{
    scan x = {.pool = pool, .block = block, .store = block->u.block.body.first};
    int scans = 0, reductions = 0;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        if (it->kind > TN_ITER_SCAN)
            return "an iteration variable must be spatial, reduce or scan";
        scans += it->kind == TN_ITER_SCAN;
        reductions += it->kind == TN_ITER_REDUCE;
        x.var = it->kind == TN_ITER_SCAN ? it->var : x.var;
    }
    if (scans == 0)
        return NULL;
    if (scans > 1 || reductions || block->u.block.init.first || !x.store || x.store->next ||
        x.store->kind != TN_S_STORE)
        return "a block with a scan has one of them, no reduction, no init, and one store";
    if (!have_elements(&x))
        return "of a block with a scan, each other iteration must be an index of what it stores";
    tn_stmt_exprs((tn_stmt *)(uintptr_t)x.store, look_for_loads, &x); /* only looks */
    if (block->u.block.mask)
        (void)look_for_loads(block->u.block.mask, &x);
    return x.apart ? "a block reads its own results of other iterations than those of its scan" : NULL;
}
