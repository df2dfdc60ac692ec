/* Step pad: the iterations of a block become multiples of given numbers, so that loops over them split without a rest.
 *
 *     pad "acc" 4 1 8        for i < 6, j < 5, k < 20: acc[i, j] += A[i, k] * W[j, k]
 *
 * A.pad[8, 24] and W.pad[5, 24] hold what A and W do, and 0 behind it; the block computes acc.pad[8, 5], and
 * block acc.out copies what belongs to acc. A sum has more terms then. They must be 0, so the terms are
 * products in which, of floats, each factor is 0 there, and of integers one: 0 * infinity is no 0.
 */
#include "schedule/sched_impl.h"

#include <math.h>

enum { MAX_READS = 8 };

typedef struct {
    tn_sched *s;
    tn_stmt *block, *top;
    int n;                               /* iterations */
    tn_stmt *loop[TN_MAX_LOOPS];         /* of each iteration */
    const tn_expr *extent[TN_MAX_LOOPS]; /* of each, after the step */
    int n_read;
    const tn_expr *load[MAX_READS]; /* whose buffers are padded */
    uint32_t padded[MAX_READS];     /* the buffer instead */
    uint32_t target;
    tn_verdict v;
} padding;

static int own_iteration(const padding *x, const tn_expr *e)
{
    for (int i = 0; i < x->n; i++)
        if (x->block->u.block.iter[i].var == e)
            return i;
    return -1;
}

static bool grows(const padding *x, int i)
{
    return i >= 0 && x->extent[i] != x->block->u.block.iter[i].extent;
}

static bool uses_grown(const padding *x, const tn_expr *e)
{
    for (int i = 0; i < x->n; i++)
        if (grows(x, i) && tn_uses(e, x->block->u.block.iter[i].var))
            return true;
    return false;
}

/* ---- is it legal? ---- */

/* Each iteration has a loop of its own, and the loops are one nest at the top of the function. */
static tn_verdict check_nest(padding *x)
{
    tn_stmt *around[TN_MAX_LOOPS];
    tn_stmt *b = x->block;
    int n = tn_stmt_loops(b, TN_MAX_LOOPS, around);
    x->n = (int)b->u.block.n_iter;
    if (n != x->n || n == 0 || b->u.block.mask)
        return b->u.block.mask ? TN_REJECT_MASK : TN_REJECT_NEST;
    x->top = around[0];
    for (int i = 0; i < n; i++) {
        const tn_iter *it = &b->u.block.iter[i];
        x->loop[i] = NULL;
        for (int k = 0; k < n; k++)
            if (around[k]->u.loop.var == it->value)
                x->loop[i] = around[k];
        if (!x->loop[i] || x->loop[i]->u.loop.extent != it->extent ||
            x->loop[i]->u.loop.kind != TN_LOOP_SERIAL ||
            tn_body_only(&around[i]->u.loop.body) != (i + 1 < n ? around[i + 1] : b))
            return TN_REJECT_NEST;
        for (int k = 0; k < i; k++)
            if (x->loop[k] == x->loop[i])
                return TN_REJECT_NEST;
    }
    return tn_stmt_parent(x->top) ? TN_REJECT_NEST : TN_DONE;
}

static tn_verdict check_factors(padding *x, const tn_step *t)
{
    tn_pool *p = x->s->func->pool;
    bool any = false;
    if (t->narg != x->n + 1)
        return TN_REJECT_ARITY;
    for (int i = 0; i < x->n; i++) {
        const tn_arg *g = &t->arg[i + 1];
        const tn_expr *old = x->block->u.block.iter[i].extent;
        if (g->key || g->s || g->i < 1 || g->i > (1 << 16))
            return TN_REJECT_FACTOR;
        x->extent[i] = tn_simplify(p, NULL, tn_mul(p, tn_ceildiv(p, old, g->i), tn_idx(p, g->i)));
        if (tn_equal(p, NULL, x->extent[i], old))
            x->extent[i] = old;
        any |= grows(x, i);
    }
    return any ? TN_DONE : TN_REJECT_FACTOR;
}

/* A read is indexed by iterations, each index by one, wherever one of them grows. */
static bool note_load(const tn_expr *e, void *user)
{
    padding *x = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer == x->target || x->v != TN_DONE)
        return x->v == TN_DONE;
    bool any = false;
    for (uint32_t d = 0; d < e->u.load.n_index; d++) {
        any |= uses_grown(x, e->src[d]);
        if (uses_grown(x, e->src[d]) && own_iteration(x, e->src[d]) < 0)
            x->v = TN_REJECT_REGION;
    }
    bool known = !any;
    for (int i = 0; i < x->n_read; i++)
        known |= x->load[i] == e;
    if (tn_load_mask(e) && any)
        x->v = TN_REJECT_MASK;
    if (!known && (x->n_read == MAX_READS || e->u.load.n_index > TN_BOX_DIMS))
        x->v = TN_REJECT_REGION;
    else if (!known)
        x->load[x->n_read++] = e;
    return x->v == TN_DONE;
}

/* Is it 0 wherever iteration i is behind its old end? */
static bool zero_behind(const padding *x, const tn_expr *e, int i)
{
    bool whole = !tn_dtype_is_float(e->dtype);
    switch (e->kind) {
    case TN_E_CAST: return zero_behind(x, e->src[0], i);
    case TN_E_MUL: {
        bool a = zero_behind(x, e->src[0], i), b = zero_behind(x, e->src[1], i);
        return whole ? a || b : a && b;
    }
    case TN_E_LOAD:
        for (uint32_t d = 0; d < e->u.load.n_index; d++)
            if (e->src[d] == x->block->u.block.iter[i].var)
                return e->u.load.buffer != x->target;
        return false;
    default: return false;
    }
}

/* Longer sums have zeros at their end, and begin with +0, which they leave as it is. */
static tn_verdict check_sums(const padding *x)
{
    const tn_stmt *store = x->block->u.block.body.first, *init = tn_body_only(&x->block->u.block.init);
    for (int i = 0; i < x->n; i++) {
        if (!grows(x, i) || x->block->u.block.iter[i].kind != TN_ITER_REDUCE)
            continue;
        int own = tn_update_operand(x->block);
        if (own < 0 || store->u.store.value->kind != TN_E_ADD || !init || init->kind != TN_S_STORE)
            return TN_REJECT_REDUCE;
        const tn_expr *first = init->u.store.value;
        if (!(first->kind == TN_E_FLOAT ? first->u.f == 0 && !signbit(first->u.f) : tn_is_value(first, 0)) ||
            !zero_behind(x, store->u.store.value->src[1 - own], i))
            return TN_REJECT_REDUCE;
    }
    return TN_DONE;
}

/* One plain store, and of an init another one to the same cell; indexed by iterations, each by one of its own. */
static tn_verdict check_store(padding *x)
{
    const tn_stmt *store = tn_body_only(&x->block->u.block.body), *init = x->block->u.block.init.first;
    tn_func *f = x->s->func;
    if (tn_block_scans(x->block) || !store || store->kind != TN_S_STORE || store->u.store.mask ||
        store->u.store.n_index > TN_BOX_DIMS ||
        (init &&
         (init->next || init->kind != TN_S_STORE || init->u.store.mask ||
          init->u.store.buffer != store->u.store.buffer || init->u.store.n_index != store->u.store.n_index)))
        return TN_REJECT_REDUCE;
    x->target = store->u.store.buffer;
    if (f->buffer[x->target].scope != TN_SCOPE_GLOBAL || !tn_writes_alone(x->s, x->block, x->target))
        return TN_REJECT_SCOPE;
    for (uint32_t d = 0; d < store->u.store.n_index; d++) {
        const tn_expr *e = store->u.store.index[d];
        int i = own_iteration(x, e);
        if ((i < 0 ? !tn_is_value(e, 0) : x->block->u.block.iter[i].kind != TN_ITER_SPATIAL) ||
            (init && init->u.store.index[d] != e))
            return TN_REJECT_REGION;
        for (uint32_t k = 0; k < d && i >= 0; k++)
            if (store->u.store.index[k] == e)
                return TN_REJECT_REGION;
    }
    return TN_DONE;
}

static bool rest_uses_grown(const tn_expr *e, void *user)
{
    const padding *x = user;
    return e->kind == TN_E_LOAD || !grows(x, own_iteration(x, e));
}

/* Values depend on iterations that grow through indices of reads alone. */
static const tn_expr *look_at_expr(const tn_expr *e, void *user)
{
    padding *x = user;
    (void)tn_each(e, note_load, x);
    return e;
}

static const tn_expr *without_loads(tn_pool *p, const tn_expr *e, void *user)
{
    (void)user;
    return e->kind == TN_E_LOAD ? tn_const(p, e->dtype, 1) : NULL;
}

static tn_verdict check_value(padding *x, const tn_expr *value)
{
    tn_pool *p = x->s->func->pool;
    (void)look_at_expr(value, x);
    if (x->v == TN_DONE && !tn_each(tn_rewrite(p, value, without_loads, NULL), rest_uses_grown, x))
        x->v = TN_REJECT_REGION;
    return x->v;
}

static tn_verdict check(padding *x, const tn_step *t)
{
    tn_verdict v = check_nest(x);
    if (v == TN_DONE)
        v = check_factors(x, t);
    if (v == TN_DONE)
        v = check_store(x);
    if (v == TN_DONE)
        v = check_value(x, x->block->u.block.body.first->u.store.value);
    if (v == TN_DONE && x->block->u.block.init.first)
        v = check_value(x, x->block->u.block.init.first->u.store.value);
    for (int i = 0; i < x->n_read && v == TN_DONE; i++)
        v = x->s->func->buffer[x->load[i]->u.load.buffer].scope == TN_SCOPE_GLOBAL
                ? tn_contents_known(x->s, x->load[i]->u.load.buffer, x->top)
                : TN_REJECT_SCOPE;
    return v == TN_DONE ? check_sums(x) : v;
}

/* ---- the edit ---- */

static uint32_t padded_buffer(tn_sched *s, uint32_t from, uint32_t ndim, const tn_expr *const dim[])
{
    tn_buffer b = s->func->buffer[from];
    b.name = tn_arena_printf(s->arena, "%s.pad", b.name);
    b.dim = tn_arena_copy(s->func->arena, dim, ndim * sizeof *dim, 8);
    b.param = -1;
    b.written = false;
    b.layout = NULL;
    b.slack = 0;
    return tn_func_add_buffer(s->func, &b);
}

/* for c: block name(c): to[c] = from[c], where `mask` says so, else 0; before or behind `place`. */
static void copy(tn_sched *s, const char *name, uint32_t from, uint32_t to, const tn_expr *const limit[],
                 const tn_expr *const dim[], tn_stmt *before)
{
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    uint32_t n = f->buffer[to].ndim;
    tn_stmt *block = tn_stmt_block(f, name, "elementwise", (int)n), *top = block, *nest[TN_BOX_DIMS];
    const tn_expr *index[TN_BOX_DIMS], *mask = NULL;
    for (uint32_t d = 0; d < n; d++) {
        const tn_expr *loop = tn_func_add_var(f, "c", TN_IDX);
        index[d] = tn_func_add_var(f, "c", TN_IDX);
        block->u.block.iter[d] = (tn_iter){index[d], dim[d], loop, TN_ITER_SPATIAL};
        nest[d] = tn_stmt_for(f, loop, dim[d], TN_LOOP_SERIAL);
        if (limit && limit[d] != dim[d])
            mask = mask ? tn_and(p, mask, tn_lt(p, index[d], limit[d])) : tn_lt(p, index[d], limit[d]);
    }
    tn_dtype type = f->buffer[from].dtype;
    const tn_expr *value = tn_load(p, type, from, (int)n, index, mask, mask ? tn_const(p, type, 0) : NULL);
    tn_body_append(&block->u.block.body, tn_stmt_store(f, to, (int)n, index, value, NULL));
    for (uint32_t d = n; d-- > 0;) {
        tn_body_append(&nest[d]->u.loop.body, top);
        top = nest[d];
    }
    tn_body_insert(&f->body, before, top);
}

static void pad_read(padding *x, int i)
{
    tn_func *f = x->s->func;
    const tn_expr *e = x->load[i], *dim[TN_BOX_DIMS], *limit[TN_BOX_DIMS];
    uint32_t from = e->u.load.buffer;
    for (uint32_t d = 0; d < e->u.load.n_index; d++) {
        int it = own_iteration(x, e->src[d]);
        dim[d] = grows(x, it) ? x->extent[it] : f->buffer[from].dim[d];
        limit[d] = grows(x, it) ? x->block->u.block.iter[it].extent : dim[d];
    }
    x->padded[i] = padded_buffer(x->s, from, e->u.load.n_index, dim);
    tn_body_insert(&f->body, x->top, tn_stmt_decl(f, x->padded[i]));
    copy(x->s, f->buffer[x->padded[i]].name, from, x->padded[i], limit, dim, x->top);
}

static const tn_expr *replace_load(tn_pool *p, const tn_expr *e, void *user)
{
    const padding *x = user;
    if (e->kind != TN_E_LOAD)
        return NULL;
    for (int i = 0; i < x->n_read; i++)
        if (x->load[i] == e)
            return tn_load(p, e->dtype, x->padded[i], (int)e->u.load.n_index, e->src, NULL, NULL);
    return NULL;
}

/* The block writes a longer buffer, of which the part that there was is copied. */
static void pad_result(padding *x)
{
    tn_func *f = x->s->func;
    const tn_stmt *store = x->block->u.block.body.first;
    const tn_expr *dim[TN_BOX_DIMS], *part[TN_BOX_DIMS];
    bool any = false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++) {
        int i = own_iteration(x, store->u.store.index[d]);
        dim[d] = i < 0 ? tn_idx(f->pool, 1) : x->extent[i];
        part[d] = i < 0 ? dim[d] : x->block->u.block.iter[i].extent;
        any |= grows(x, i);
    }
    if (!any)
        return;
    uint32_t to = padded_buffer(x->s, x->target, store->u.store.n_index, dim);
    tn_stmt_rename_buffer(f, x->block, x->target, to);
    tn_body_insert(&f->body, x->top, tn_stmt_decl(f, to));
    copy(x->s, tn_arena_printf(x->s->arena, "%s.out", x->block->u.block.name), to, x->target, NULL, part,
         x->top->next);
}

tn_verdict tn_do_pad(tn_sched *s, tn_step *t)
{
    bool named = t->narg > 0 && t->arg[0].s && !t->arg[0].key;
    padding x = {.s = s, .block = named ? tn_func_block(s->func, t->arg[0].s) : NULL};
    if (!x.block)
        return TN_REJECT_NAME;
    tn_verdict v = check(&x, t);
    if (v != TN_DONE)
        return v;
    for (int i = 0; i < x.n_read; i++)
        pad_read(&x, i);
    tn_stmt *stores[2] = {x.block->u.block.body.first, x.block->u.block.init.first};
    for (int k = 0; k < 2 && stores[k]; k++)
        stores[k]->u.store.value = tn_rewrite(s->func->pool, stores[k]->u.store.value, replace_load, &x);
    pad_result(&x);
    for (int i = 0; i < x.n; i++) {
        x.block->u.block.iter[i].extent = x.extent[i];
        x.loop[i]->u.loop.extent = x.extent[i];
    }
    return TN_DONE;
}
