/* Step rotate: a loop's last statement copies all of one buffer to another, which the next turn reads. The copy goes,
 * and the two take turns instead: they become the halves of one buffer.
 *
 *     for t:                       for t:
 *       next[i] = f(state, ...)      state[(t + 1) % 2, i] = f(state[t % 2, ...], ...)
 *       state[i] = next[i]
 *
 * What is before the loop has the first half, what is behind it the one that the last turn wrote. Each turn must write
 * all that it reads of `next`, and may not write `state` otherwise.
 */
#include "schedule/sched_impl.h"

typedef struct {
    tn_sched *s;
    tn_stmt *block, *top, *loop; /* the copy, its nest, the loop that this ends */
    uint32_t state, next;
    const tn_expr *turns;
    const tn_expr *half, *half_of_next; /* where the statement at hand stands */
} rotation;

/* ---- is it legal? ---- */

/* In the block's own iterations, in order, over whole extents. */
static bool indexes_all(const rotation *r, uint32_t buffer, uint32_t n, const tn_expr *const index[])
{
    const tn_buffer *b = &r->s->func->buffer[buffer];
    const tn_iter *it = r->block->u.block.iter;
    if (n != b->ndim || n != r->block->u.block.n_iter || b->scope != TN_SCOPE_GLOBAL || b->param >= 0 ||
        b->layout)
        return false;
    for (uint32_t d = 0; d < n; d++)
        if (index[d] != it[d].var || it[d].kind != TN_ITER_SPATIAL ||
            !tn_equal(r->s->func->pool, NULL, it[d].extent, b->dim[d]))
            return false;
    return true;
}

/* Is it the nest of a plain copy, the last statement of a loop that stands at the top? */
static bool find_copy(rotation *r)
{
    const tn_stmt *store = tn_body_only(&r->block->u.block.body);
    if (!store || store->kind != TN_S_STORE || store->u.store.mask || r->block->u.block.mask ||
        r->block->u.block.init.first)
        return false;
    const tn_expr *load = store->u.store.value;
    if (load->kind != TN_E_LOAD || tn_load_mask(load))
        return false;
    r->state = store->u.store.buffer;
    r->next = load->u.load.buffer;
    r->top = tn_own_loops(r->block);
    if (!r->top)
        return false;
    r->loop = tn_stmt_parent(r->top);
    if (r->loop && r->loop->kind == TN_S_FOR && r->loop->u.loop.extent->has_load)
        return false; /* how many turns there were, it would say anew behind the loop */
    return r->state != r->next && r->loop && r->loop->kind == TN_S_FOR &&
           r->loop->u.loop.kind == TN_LOOP_SERIAL && !r->top->next && !tn_stmt_parent(r->loop) &&
           tn_dtype_eq(r->s->func->buffer[r->state].dtype, r->s->func->buffer[r->next].dtype) &&
           indexes_all(r, r->state, store->u.store.n_index, (const tn_expr *const *)store->u.store.index) &&
           indexes_all(r, r->next, load->u.load.n_index, load->src);
}

typedef struct {
    const rotation *r;
    bool ok;
} look;

static bool look_at_load(const tn_expr *e, void *user)
{
    look *l = user;
    l->ok &= e->kind != TN_E_LOAD || e->u.load.buffer != l->r->next;
    return l->ok;
}

static const tn_expr *look_at_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, look_at_load, user);
    return e;
}

/* Does the mask keep iterations inside their domains, and nothing else? */
static bool is_domain(const tn_stmt *block, const tn_expr *mask)
{
    if (mask && mask->kind == TN_E_AND)
        return is_domain(block, mask->src[0]) && is_domain(block, mask->src[1]);
    return !mask || tn_is_domain(block, mask);
}

/* Does the store run in all turns of the loop, for all iterations of its block? */
static bool is_certain(const rotation *r, const tn_stmt *store)
{
    const tn_stmt *block = tn_stmt_parent(store);
    int64_t n;
    if (store->u.store.mask || !block || block->kind != TN_S_BLOCK || !is_domain(block, block->u.block.mask))
        return false;
    for (const tn_stmt *x = tn_stmt_parent(block); x != r->loop; x = tn_stmt_parent(x))
        if (!x || x->kind != TN_S_FOR ||
            (!tn_loop_feeds(r->s, x, block, TN_ITER_SPATIAL) && !(tn_is_int(x->u.loop.extent, &n) && n > 0)))
            return false;
    return true;
}

/* Outside of the loop nobody uses `next`; inside of it nobody else writes `state`. */
static bool look_at_stmt(tn_stmt *x, void *user)
{
    look *l = user;
    const rotation *r = l->r;
    bool inside = tn_stmt_inside(x, r->loop);
    if (x->kind == TN_S_PREFETCH)
        l->ok &= x->u.prefetch.buffer != r->state && x->u.prefetch.buffer != r->next;
    if (x->kind == TN_S_STORE && x->u.store.buffer == r->state && inside)
        l->ok &= tn_stmt_inside(x, r->block);
    if (x->kind == TN_S_STORE && x->u.store.buffer == r->next)
        l->ok &= inside && is_certain(r, x);
    if (!inside && x != r->loop)
        tn_stmt_exprs(x, look_at_expr, l);
    return l->ok;
}

static tn_verdict check(rotation *r)
{
    tn_func *f = r->s->func;
    tn_box box;
    look l = {r, true};
    if (!find_copy(r))
        return TN_REJECT_NEST;
    const tn_stmt *a = tn_decl_of(f, r->state), *b = tn_decl_of(f, r->next);
    if (!a || !b || tn_stmt_parent(a) || tn_stmt_parent(b))
        return TN_REJECT_SCOPE;
    tn_stmt_walk(&f->body, look_at_stmt, NULL, &l);
    if (!l.ok)
        return TN_REJECT_DEPEND;
    return tn_turn_box(r->s, r->loop, r->next, &box) ? TN_DONE : TN_REJECT_REGION;
}

/* ---- the edit ---- */

/* Indices of an access in the buffer of both halves, which has the number of `state`; how many they are. */
static int in_half(const rotation *r, uint32_t buffer, uint32_t n, const tn_expr *const from[],
                   const tn_expr *to[])
{
    to[0] = buffer == r->state ? r->half : r->half_of_next;
    for (uint32_t d = 0; d < n; d++)
        to[d + 1] = from[d];
    return (int)n + 1;
}

static const tn_expr *edit_load(tn_pool *p, const tn_expr *e, void *user)
{
    const rotation *r = user;
    const tn_expr *index[TN_BOX_DIMS + 1];
    if (e->kind != TN_E_LOAD || (e->u.load.buffer != r->state && e->u.load.buffer != r->next))
        return NULL;
    int n = in_half(r, e->u.load.buffer, e->u.load.n_index, e->src, index);
    return tn_load(p, e->dtype, r->state, n, index, tn_load_mask(e), tn_load_other(e));
}

static const tn_expr *edit_expr(const tn_expr *e, void *user)
{
    const rotation *r = user;
    return e->has_load ? tn_rewrite(r->s->func->pool, e, edit_load, user) : e;
}

static void edit_store(const rotation *r, tn_stmt *x)
{
    const tn_expr **index = TN_NEW_N(r->s->func->arena, const tn_expr *, TN_BOX_DIMS + 1);
    x->u.store.n_index = (uint32_t)in_half(r, x->u.store.buffer, x->u.store.n_index,
                                           (const tn_expr *const *)x->u.store.index, index);
    x->u.store.index = index;
    x->u.store.buffer = r->state;
}

static bool edit(tn_stmt *x, void *user)
{
    rotation *r = user;
    tn_pool *p = r->s->func->pool;
    const tn_expr *two = tn_idx(p, 2), *turn = r->loop->u.loop.var;
    if (!tn_stmt_parent(x) && x != r->loop)
        r->half = tn_runs_before(x, r->loop) ? tn_idx(p, 0) : tn_fmod(p, r->turns, two);
    if (x == r->loop) {
        r->half = tn_fmod(p, turn, two);
        r->half_of_next = tn_fmod(p, tn_add(p, turn, tn_idx(p, 1)), two);
    }
    tn_stmt_exprs(x, edit_expr, r);
    if (x->kind == TN_S_STORE && (x->u.store.buffer == r->state || x->u.store.buffer == r->next))
        edit_store(r, x);
    return true;
}

/* `state` gets a dimension of halves in front, `next` goes. */
static void join(const rotation *r)
{
    tn_func *f = r->s->func;
    tn_buffer *b = &f->buffer[r->state];
    const tn_expr **dim = TN_NEW_N(f->arena, const tn_expr *, b->ndim + 1);
    dim[0] = tn_idx(f->pool, 2);
    for (int d = 0; d < b->ndim; d++)
        dim[d + 1] = b->dim[d];
    b->dim = dim;
    b->ndim++;
    tn_stmt_remove(tn_decl_of(f, r->next));
}

tn_verdict tn_do_rotate(tn_sched *s, tn_step *t)
{
    rotation r = {.s = s, .block = t->arg[0].s ? tn_func_block(s->func, t->arg[0].s) : NULL};
    if (!r.block)
        return TN_REJECT_NAME;
    tn_verdict v = check(&r);
    if (v != TN_DONE)
        return v;
    for (tn_stmt *l = tn_stmt_parent(r.block); l != r.loop; l = tn_stmt_parent(l))
        tn_sched_consume(s, l);
    tn_facts facts;
    tn_stmt_facts(s->func, r.loop, &facts);
    r.turns = tn_simplify(s->func->pool, &facts,
                          tn_max(s->func->pool, r.loop->u.loop.extent, tn_idx(s->func->pool, 0)));
    tn_facts_deinit(&facts);
    tn_stmt_remove(r.top);
    join(&r);
    tn_stmt_walk(&s->func->body, edit, NULL, &r);
    return TN_DONE;
}
