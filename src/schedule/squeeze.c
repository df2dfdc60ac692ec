/* Step squeeze: what has extent 1 behind what has not is dropped, of iterations, loops and dimensions of buffers. The
 * cells of a buffer keep their places, for a dimension of extent 1 takes no part in any address; so what asks for the
 * innermost axis, or for axes that are one run of memory, finds those that have elements.
 *
 * Axes of extent 1 in front of all others stay: they are in nobody's way, and a reduction to one row keeps its row.
 */
#include "schedule/sched_impl.h"

enum { MAX_DIMS = 64 };

typedef struct {
    tn_sched *s;
    bool any, lanes; /* something to drop; loops are lanes, which may store along what would be dropped */
} look;

static bool is_one(const tn_expr *extent) { return tn_is_value(extent, 1); }

/* ---- iterations ---- */

/* It runs once, at 0: a guard of its domain, if there is one, always holds. */
static bool stands_at_zero(tn_stmt *block, const tn_iter *it)
{
    if (tn_is_value(it->value, 0))
        return true;
    for (const tn_stmt *l = tn_stmt_parent(block); l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && l->u.loop.var == it->value)
            return is_one(l->u.loop.extent) && l->u.loop.kind == TN_LOOP_SERIAL;
    return false;
}

/* Which iterations go, as a set of bits: of a reduction one stays. */
static uint64_t dropped_iterations(tn_stmt *block)
{
    uint64_t drop = 0;
    uint32_t n = block->u.block.n_iter, reduce = 0, kept = 0, first = 0;
    bool behind = false;
    for (uint32_t i = 0; i < n && n <= MAX_DIMS; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        bool spatial = it->kind == TN_ITER_SPATIAL, one = is_one(it->extent) && stands_at_zero(block, it);
        first = !spatial && !reduce ? i : first;
        reduce += !spatial;
        if (one && (behind || !spatial))
            drop |= (uint64_t)1 << i;
        else if (!spatial)
            kept++;
        behind |= spatial && !is_one(it->extent);
    }
    return reduce && !kept ? drop & ~((uint64_t)1 << first) : drop;
}

static void drop_iterations(tn_func *f, tn_stmt *block)
{
    uint64_t drop = dropped_iterations(block);
    const tn_expr *from[MAX_DIMS], *to[MAX_DIMS];
    uint32_t kept = 0;
    int n = 0;
    for (uint32_t i = 0; i < block->u.block.n_iter && drop; i++) {
        tn_iter *it = &block->u.block.iter[i];
        if (drop >> i & 1) {
            from[n] = it->var;
            to[n++] = tn_idx(f->pool, 0);
        } else {
            block->u.block.iter[kept++] = *it;
        }
    }
    if (n == 0)
        return;
    block->u.block.n_iter = kept;
    tn_stmt_subst(f, block, n, from, to);
    const tn_expr *mask = block->u.block.mask;
    if (mask && tn_is_value(tn_simplify(f->pool, NULL, mask), 1))
        block->u.block.mask = NULL; /* a window of one cell */
}

/* ---- loops ---- */

/* A loop that runs once and that nothing asks for is what it holds. */
static void drop_loop(tn_stmt *x, void *user)
{
    look *w = user;
    if (x->kind != TN_S_FOR || x->u.loop.kind != TN_LOOP_SERIAL || !is_one(x->u.loop.extent))
        return;
    if (tn_body_uses(&x->u.loop.body, x->u.loop.var))
        return;
    tn_body_move(x->list, x, &x->u.loop.body);
    tn_stmt_remove(x);
    tn_sched_consume(w->s, x);
}

/* ---- dimensions ---- */

static uint64_t dropped_dims(const tn_buffer *b)
{
    uint64_t drop = 0, factors = 0;
    bool behind = false;
    for (int i = 0; b->layout && i < b->layout->naxis; i++)
        if (b->layout->axis[i].factor)
            factors |= (uint64_t)1 << b->layout->axis[i].dim;
    for (int i = 0; b->given && i < b->given->naxis; i++)
        if (b->given->axis[i].factor)
            factors |= (uint64_t)1 << b->given->axis[i].dim;
    for (int d = 0; d < b->ndim && b->ndim <= MAX_DIMS; d++) {
        if (behind && is_one(b->dim[d]))
            drop |= (uint64_t)1 << d;
        behind |= !is_one(b->dim[d]);
    }
    return drop & ~factors;
}

/* Moves the indices that stay to the front; their number. */
static uint32_t keep_indices(uint64_t drop, uint32_t n, const tn_expr *const from[], const tn_expr **to)
{
    uint32_t kept = 0;
    for (uint32_t d = 0; d < n; d++)
        if (!(drop >> d & 1))
            to[kept++] = from[d];
    return kept;
}

static const tn_expr *squeeze_load(tn_pool *p, const tn_expr *e, void *user)
{
    const look *w = user;
    const tn_expr *index[MAX_DIMS];
    if (e->kind != TN_E_LOAD)
        return NULL;
    uint64_t drop = dropped_dims(&w->s->func->buffer[e->u.load.buffer]);
    if (!drop)
        return NULL;
    uint32_t n = keep_indices(drop, e->u.load.n_index, e->src, index);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)n, index, tn_load_mask(e), tn_load_other(e));
}

static const tn_expr *squeeze_expr(const tn_expr *e, void *user)
{
    const look *w = user;
    return e->has_load ? tn_rewrite(w->s->func->pool, e, squeeze_load, user) : e;
}

static bool squeeze_stmt(tn_stmt *x, void *user)
{
    const look *w = user;
    const tn_buffer *b = w->s->func->buffer;
    tn_stmt_exprs(x, squeeze_expr, user);
    if (x->kind == TN_S_STORE)
        x->u.store.n_index = keep_indices(dropped_dims(&b[x->u.store.buffer]), x->u.store.n_index,
                                          (const tn_expr *const *)x->u.store.index, x->u.store.index);
    if (x->kind == TN_S_PREFETCH)
        x->u.prefetch.n_index =
            keep_indices(dropped_dims(&b[x->u.prefetch.buffer]), x->u.prefetch.n_index,
                         (const tn_expr *const *)x->u.prefetch.index, x->u.prefetch.index);
    return true;
}

static void drop_dims(tn_func *f, tn_buffer *b)
{
    uint64_t drop = dropped_dims(b);
    if (!drop)
        return;
    const tn_expr **dim = TN_NEW_N(f->arena, const tn_expr *, b->ndim);
    if (b->layout)
        b->layout = tn_layout_without(f->ctx, b->layout, drop);
    if (b->given)
        b->given = tn_layout_without(f->ctx, b->given, drop);
    b->ndim = (uint16_t)keep_indices(drop, b->ndim, b->dim, dim);
    b->dim = dim;
}

/* ---- the step ---- */

static bool look_at(tn_stmt *x, void *user)
{
    look *w = user;
    w->any |= x->kind == TN_S_BLOCK && dropped_iterations(x) != 0;
    w->lanes |= x->kind == TN_S_FOR && x->u.loop.kind == TN_LOOP_VECTOR;
    return true;
}

static bool drop_at(tn_stmt *x, void *user)
{
    const look *w = user;
    if (x->kind == TN_S_BLOCK)
        drop_iterations(w->s->func, x);
    return true;
}

tn_verdict tn_do_squeeze(tn_sched *s, tn_step *t)
{
    (void)t;
    tn_func *f = s->func;
    look w = {s, false, false};
    tn_stmt_walk(&f->body, look_at, NULL, &w);
    if (w.lanes)
        return TN_REJECT_LOOP;
    for (uint32_t i = 0; i < f->n_buffer; i++)
        w.any |= dropped_dims(&f->buffer[i]) != 0;
    if (!w.any)
        return TN_REJECT_NEST;
    tn_stmt_walk(&f->body, drop_at, NULL, &w);
    tn_stmt_walk(&f->body, NULL, drop_loop, &w);
    tn_stmt_walk(&f->body, squeeze_stmt, NULL, &w);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        drop_dims(f, &f->buffer[i]);
    return TN_DONE;
}
