/* Step merge: the first two iterations of every block become one, and so do the first two dimensions of the
 * buffers that the blocks index with them: rows of a batch of matrices are rows of one matrix. Nothing moves
 * in memory.
 *
 * Other buffers keep their dimensions; no access to them may depend on the two iterations.
 */
#include "schedule/sched_impl.h"

#include <string.h>

enum { UNSEEN, MERGED, KEPT };

typedef struct {
    tn_sched *s;
    uint8_t *state;           /* by buffer: UNSEEN, MERGED or KEPT */
    const tn_expr *extent[2]; /* of the two iterations, in every block; NULL: no block seen */
    const tn_expr *old[2];    /* their variables in this block */
    const tn_expr *fresh;     /* what becomes of them; while the step only looks, anything */
    bool legal;
} merging;

/* ---- is it legal? ---- */

static bool plain_axes(const tn_layout *l)
{
    for (int i = 0; l && i < l->naxis; i++)
        if (l->axis[i].dim < 2 && (l->axis[i].dim != i || l->axis[i].factor))
            return false;
    return true;
}

static bool has_extents(const merging *m, const tn_buffer *b)
{
    return b->ndim >= 2 && b->dim[0] == m->extent[0] && b->dim[1] == m->extent[1] && plain_axes(b->layout) &&
           plain_axes(b->given);
}

/* Indices of an access after the edit; *io_n: their number. */
static void edit_indices(merging *m, uint32_t buffer, uint32_t *io_n, const tn_expr *const from[],
                         const tn_expr **to)
{
    bool merged = m->old[0] && *io_n >= 2 && from[0] == m->old[0] && from[1] == m->old[1];
    uint8_t state = merged ? MERGED : KEPT;
    m->legal &= m->state[buffer] == UNSEEN || m->state[buffer] == state;
    m->legal &= !merged || has_extents(m, &m->s->func->buffer[buffer]);
    m->state[buffer] = state;
    if (merged)
        to[0] = m->fresh;
    for (uint32_t i = merged ? 2 : 0; i < *io_n; i++)
        to[i - merged] = from[i];
    *io_n -= merged;
}

static const tn_expr *edit_load(tn_pool *p, const tn_expr *e, void *user)
{
    const tn_expr *index[TN_MAX_LOOPS];
    uint32_t n = e->kind == TN_E_LOAD ? e->u.load.n_index : 0;
    if (e->kind != TN_E_LOAD || n > TN_MAX_LOOPS)
        return NULL;
    edit_indices(user, e->u.load.buffer, &n, e->src, index);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)n, index, tn_load_mask(e), tn_load_other(e));
}

static const tn_expr *edited(merging *m, const tn_expr *e)
{
    return e->has_load ? tn_rewrite(m->s->func->pool, e, edit_load, m) : e;
}

/* Nothing but the first two indices of buffers that are merged may use the two iterations. */
static const tn_expr *look_at_expr(const tn_expr *e, void *user)
{
    merging *m = user;
    const tn_expr *after = e ? edited(m, e) : NULL;
    m->legal &= !after || !m->old[0] || (!tn_uses(after, m->old[0]) && !tn_uses(after, m->old[1]));
    return e;
}

/* The block's first two iterations are spatial and have the two outermost loops of its own nest. */
static void look_at_block(merging *m, tn_stmt *block)
{
    tn_stmt *loop[TN_MAX_LOOPS];
    const tn_iter *it = block->u.block.iter;
    int n = tn_stmt_loops(block, TN_MAX_LOOPS, loop);
    m->legal &= block->u.block.n_iter >= 2 && n >= 2 && !tn_stmt_parent(loop[0]);
    for (int i = 0; i < n && m->legal; i++)
        m->legal &= tn_body_only(&loop[i]->u.loop.body) == (i + 1 < n ? loop[i + 1] : block);
    for (int i = 0; i < 2 && m->legal; i++) {
        const tn_expr *extent = m->extent[i] ? m->extent[i] : it[i].extent;
        m->legal &= it[i].kind == TN_ITER_SPATIAL && it[i].value == loop[i]->u.loop.var &&
                    loop[i]->u.loop.kind == TN_LOOP_SERIAL && it[i].extent == extent &&
                    loop[i]->u.loop.extent == extent;
        m->extent[i] = extent;
        m->old[i] = it[i].var;
    }
    for (int i = 2; i < n && m->legal; i++)
        m->legal &= !tn_uses(loop[i]->u.loop.extent, loop[0]->u.loop.var) &&
                    !tn_uses(loop[i]->u.loop.extent, loop[1]->u.loop.var);
    for (uint32_t i = 2; i < block->u.block.n_iter && m->legal; i++)
        m->legal &= !tn_uses(it[i].value, loop[0]->u.loop.var) && !tn_uses(it[i].value, loop[1]->u.loop.var);
}

static void look_at_store(merging *m, const tn_stmt *x)
{
    const tn_expr *index[TN_MAX_LOOPS];
    uint32_t n = x->u.store.n_index;
    m->legal &= n <= TN_MAX_LOOPS;
    if (!m->legal)
        return;
    edit_indices(m, x->u.store.buffer, &n, (const tn_expr *const *)x->u.store.index, index);
    for (uint32_t i = 0; i < n; i++)
        look_at_expr(index[i], m);
    look_at_expr(x->u.store.value, m);
    look_at_expr(x->u.store.mask, m);
}

static bool look(tn_stmt *x, void *user)
{
    merging *m = user;
    switch (x->kind) {
    case TN_S_FOR:
    case TN_S_BUFFER: break;
    case TN_S_BLOCK:
        look_at_block(m, x);
        if (m->legal)
            look_at_expr(x->u.block.mask, m);
        break;
    case TN_S_STORE: look_at_store(m, x); break;
    case TN_S_CHECK: look_at_expr(x->u.check.cond, m); break;
    default: m->legal = false;
    }
    return m->legal;
}

/* ---- the edit ---- */

static const char *both_names(const merging *m, const tn_expr *a, const tn_expr *b)
{
    return tn_arena_printf(m->s->arena, "%s%s", tn_sched_var_name(m->s, a), tn_sched_var_name(m->s, b));
}

static void edit_block(merging *m, tn_stmt *block)
{
    tn_func *f = m->s->func;
    tn_stmt *loop[TN_MAX_LOOPS];
    (void)tn_stmt_loops(block, TN_MAX_LOOPS, loop);
    const tn_expr *var[2] = {loop[0]->u.loop.var, loop[1]->u.loop.var};
    const tn_expr *extent = tn_simplify(f->pool, NULL, tn_mul(f->pool, m->extent[0], m->extent[1]));
    tn_stmt *merged =
        tn_stmt_for(f, tn_func_add_var(f, both_names(m, var[0], var[1]), TN_IDX), extent, TN_LOOP_SERIAL);
    tn_body_move(&merged->u.loop.body, NULL, &loop[1]->u.loop.body);
    tn_stmt_replace(loop[0], merged);
    tn_sched_consume(m->s, loop[0]);
    tn_sched_consume(m->s, loop[1]);
    tn_iter *it = block->u.block.iter;
    m->old[0] = it[0].var;
    m->old[1] = it[1].var;
    m->fresh = tn_func_add_var(f, both_names(m, it[0].var, it[1].var), TN_IDX);
    it[0] =
        (tn_iter){.var = m->fresh, .extent = extent, .value = merged->u.loop.var, .kind = TN_ITER_SPATIAL};
    memmove(&it[1], &it[2], (block->u.block.n_iter - 2) * sizeof *it);
    block->u.block.n_iter--;
}

static const tn_expr *edit_expr(const tn_expr *e, void *user) { return edited(user, e); }

static bool edit(tn_stmt *x, void *user)
{
    merging *m = user;
    if (x->kind == TN_S_BLOCK)
        edit_block(m, x);
    tn_stmt_exprs(x, edit_expr, user);
    if (x->kind == TN_S_STORE)
        edit_indices(m, x->u.store.buffer, &x->u.store.n_index, (const tn_expr *const *)x->u.store.index,
                     x->u.store.index);
    return true;
}

static void edit_buffer(const merging *m, tn_buffer *b)
{
    tn_func *f = m->s->func;
    const tn_expr **dim = TN_NEW_N(f->arena, const tn_expr *, b->ndim - 1);
    dim[0] = tn_simplify(f->pool, NULL, tn_mul(f->pool, b->dim[0], b->dim[1]));
    for (int d = 2; d < b->ndim; d++)
        dim[d - 1] = b->dim[d];
    if (b->layout)
        b->layout = tn_layout_without(f->ctx, b->layout, 1);
    if (b->given)
        b->given = tn_layout_without(f->ctx, b->given, 1);
    b->ndim--;
    b->dim = dim;
}

tn_verdict tn_do_merge(tn_sched *s, tn_step *t)
{
    (void)t;
    tn_func *f = s->func;
    merging m = {.s = s,
                 .state = TN_NEW_N(s->arena, uint8_t, f->n_buffer),
                 .fresh = tn_idx(f->pool, 0),
                 .legal = true};
    tn_stmt_walk(&f->body, look, NULL, &m);
    if (!m.legal || !m.extent[0])
        return TN_REJECT_NEST;
    tn_stmt_walk(&f->body, edit, NULL, &m);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        if (m.state[i] == MERGED)
            edit_buffer(&m, &f->buffer[i]);
    return TN_DONE;
}
