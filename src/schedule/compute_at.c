/* Step compute_at: a producer block moves to the beginning of a loop of its readers and computes there what one turn of
 * the loop reads, also if turns read the same.
 *
 *     compute_at "b" yo        for yo < 8, yi < 4: reads b[yo*4 + yi] and b[yo*4 + yi + 1]
 *
 * makes five elements of b in each turn of yo, whose own they are: b is local memory of so many then. The block's loops
 * must be its own, and are made anew where steps changed them. It makes one result, by a store or a list that ends in
 * one, whose indices must be its iterations, and all readers must be inside of the loop. What it reads must be filled
 * before it, so that nothing changes on the way.
 */
#include "schedule/sched_impl.h"

enum { MAX_READERS = 64 };

typedef struct {
    tn_sched *s;
    tn_stmt *producer, *loop, *top; /* top: of the producer's nest */
    uint32_t buffer;
    tn_box box;          /* that a turn reads */
    int of[TN_BOX_DIMS]; /* iteration by dimension; -1: none, the index is 0 */
} move;

/* Each spatial iteration indexes one dimension. */
static bool read_indices(move *m)
{
    const tn_stmt *b = m->producer, *store = tn_block_result(b);
    uint64_t used = 0;
    if (!store || store->u.store.mask || store->u.store.n_index > TN_BOX_DIMS)
        return false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++) {
        int i = m->of[d] = tn_own_iteration(b, store->u.store.index[d]);
        if (i < 0 ? !tn_is_value(store->u.store.index[d], 0)
                  : b->u.block.iter[i].kind != TN_ITER_SPATIAL || (used >> i & 1))
            return false;
        used |= i < 0 ? 0 : (uint64_t)1 << i;
    }
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        if (b->u.block.iter[i].kind == TN_ITER_SPATIAL && !(used >> i & 1))
            return false;
    return true;
}

static tn_verdict check_producer(move *m)
{
    tn_stmt *b = m->producer;
    const tn_stmt *store = tn_block_result(b);
    if (tn_block_scans(b))
        return TN_REJECT_DEPEND; /* a loop that is made anew might have another order */
    if (!store || !tn_writes_alone(m->s, b, store->u.store.buffer))
        return TN_REJECT_REDUCE;
    m->buffer = store->u.store.buffer;
    const tn_buffer *made = &m->s->func->buffer[m->buffer];
    tn_stmt *decl = tn_decl_of(m->s->func, m->buffer);
    if (!decl || tn_stmt_parent(decl) || made->scope != TN_SCOPE_GLOBAL)
        return TN_REJECT_SCOPE; /* what a result is, or what is near already */
    tn_verdict v = tn_own_nest(b, &m->top);
    return v == TN_DONE && !read_indices(m) ? TN_REJECT_NEST : v;
}

/* All that it reads was written before it. */
static bool reads_what_is_there(move *m)
{
    tn_func *f = m->s->func;
    tn_stmt *at[MAX_READERS];
    for (uint32_t b = 0; b < f->n_buffer; b++) {
        int n = tn_blocks_accessing(&f->body, b, false, MAX_READERS, at);
        bool reads = n > MAX_READERS;
        for (int i = 0; i < n && i < MAX_READERS; i++)
            reads |= at[i] == m->producer;
        bool own = f->buffer[b].param < 0 && !tn_decl_of(f, b); /* declared in the block */
        if (!reads || own || b == m->buffer)
            continue;
        n = tn_blocks_accessing(&f->body, b, true, MAX_READERS, at);
        for (int i = 0; i < n; i++)
            if (i == MAX_READERS || !tn_runs_before(at[i], m->top))
                return false;
    }
    return true;
}

static tn_verdict check_readers(move *m)
{
    tn_stmt *at[MAX_READERS];
    int n = tn_blocks_accessing(&m->s->func->body, m->buffer, false, MAX_READERS, at), inside = 0;
    for (int i = 0; i < n; i++) {
        if (i == MAX_READERS || (at[i] != m->producer && !tn_stmt_inside(at[i], m->loop)))
            return TN_REJECT_DEPEND;
        inside += at[i] != m->producer;
    }
    if (inside == 0)
        return TN_REJECT_NAME;
    if (!tn_runs_before(m->producer, m->loop) || !reads_what_is_there(m))
        return TN_REJECT_DEPEND;
    if (!tn_read_box(m->s, m->loop, m->buffer, &m->box))
        return TN_REJECT_REGION;
    return tn_box_fits(&m->box, m->s->func->buffer[m->buffer].dtype, TN_SCOPE_LOCAL);
}

/* Lanes have no memory of their own. */
static bool takes_blocks(tn_stmt *loop)
{
    if (tn_holds_tasks(loop))
        return false;
    for (const tn_stmt *l = loop; l; l = tn_stmt_parent(l))
        if (l->kind != TN_S_FOR || l->u.loop.kind == TN_LOOP_VECTOR || l->u.loop.kind == TN_LOOP_TENSOR)
            return false;
    return true;
}

/* An init runs in all of its domain but what is behind its end; so nothing may be before its beginning. */
static bool begins_inside(const move *m)
{
    tn_pool *p = m->s->func->pool;
    tn_facts facts;
    bool all = true;
    tn_stmt_facts(m->s->func, m->loop->u.loop.body.first, &facts);
    for (uint32_t d = 0; d < m->box.ndim && m->producer->u.block.init.first; d++)
        all &= tn_prove(p, &facts, tn_le(p, tn_idx(p, 0), tn_simplify(p, &facts, m->box.lo[d]))) == 1;
    tn_facts_deinit(&facts);
    return all;
}

static void put_under(move *m)
{
    tn_func *f = m->s->func;
    tn_stmt *b = m->producer, *loop[TN_MAX_LOOPS], *top;
    if (tn_plain_nest(b, &top) != TN_DONE)
        m->top = tn_nest_anew(m->s, b);
    int n = tn_stmt_loops(b, TN_MAX_LOOPS, loop);
    TN_ASSERT(n == (int)b->u.block.n_iter);
    tn_stmt_remove(m->top);
    tn_body_insert(&m->loop->u.loop.body, m->loop->u.loop.body.first, m->top);
    for (uint32_t d = 0; d < m->box.ndim; d++) {
        int i = m->of[d];
        if (i < 0)
            continue;
        loop[i]->u.loop.extent = m->box.extent[d];
        b->u.block.iter[i].value = tn_add(f->pool, m->box.lo[d], loop[i]->u.loop.var);
    }
    tn_block_guard_box(m->s, b);
    tn_sink_buffer(m->s, m->loop, m->buffer, TN_SCOPE_LOCAL, &m->box);
}

tn_verdict tn_do_compute_at(tn_sched *s, tn_step *t)
{
    move m = {.s = s,
              .producer = t->arg[0].s ? tn_func_block(s->func, t->arg[0].s) : NULL,
              .loop = tn_sched_loop(s, t->in[0])};
    if (!m.producer)
        return TN_REJECT_NAME;
    if (tn_stmt_inside(m.producer, m.loop) || !takes_blocks(m.loop))
        return TN_REJECT_LOOP;
    tn_verdict v = check_producer(&m);
    if (v == TN_DONE)
        v = check_readers(&m);
    if (v == TN_DONE && !begins_inside(&m))
        v = TN_REJECT_MASK;
    if (v == TN_DONE)
        put_under(&m);
    return v;
}
