/* Step reverse_compute_at: a consumer block moves under a loop of its producer and computes there just the
 * region that one iteration of that loop produces. The region must be a box that the producer's iterations
 * tile exactly. */
#include "schedule/sched_impl.h"

typedef struct {
    const tn_expr *lo, *extent;   /* region of one producer dimension inside the loop */
} span;

typedef struct {
    tn_stmt *consumer, *producer, *loop;
    uint32_t buffer;              /* what the consumer reads of the producer */
    uint32_t ndim;
    span dim[16];
    int iter_dim[TN_MAX_LOOPS];   /* consumer iteration -> producer dimension, or -1: full extent */
} move;

/* Finds the block under `loop` whose buffer the consumer reads. */
static tn_verdict find_producer(tn_sched *s, move *m)
{
    tn_stmt *writer[64];
    for (uint32_t b = 0; b < s->func->n_buffer; b++) {
        tn_stmt *reader[64];
        int nr = tn_blocks_accessing(&s->func->body, b, false, 64, reader), reads = 0;
        for (int i = 0; i < nr && i < 64; i++)
            reads |= reader[i] == m->consumer;
        if (!reads)
            continue;
        int nw = tn_blocks_accessing(&s->func->body, b, true, 64, writer);
        for (int i = 0; i < nw && i < 64; i++) {
            if (tn_stmt_inside(writer[i], m->loop)) {
                m->producer = writer[i];  /* the last writer wins: an init block comes before its update */
                m->buffer = b;
            } else if (writer[i] != m->consumer && !tn_stmt_inside(m->loop, writer[i])) {
                /* a full producer elsewhere: it must run before the loop's nest */
                const tn_stmt *top = m->loop, *wtop = writer[i];
                while (tn_stmt_parent(top))
                    top = tn_stmt_parent(top);
                while (tn_stmt_parent(wtop))
                    wtop = tn_stmt_parent(wtop);
                bool before = false;
                for (const tn_stmt *x = wtop; x; x = x->next)
                    before |= x == top;
                if (!before || wtop == top)
                    return TN_REJECT_DEPEND;
            }
        }
    }
    return m->producer ? TN_DONE : TN_REJECT_NAME;
}

/* The region of the buffer produced inside the loop, per dimension, and that it is tiled exactly. */
static tn_verdict find_region(tn_sched *s, move *m)
{
    tn_pool *p = s->func->pool;
    const tn_stmt *store = m->producer->u.block.body.first;
    if (!store || store->kind != TN_S_STORE || store->u.store.buffer != m->buffer || store->u.store.n_index > 16)
        return TN_REJECT_REGION;
    m->ndim = store->u.store.n_index;
    const tn_expr *box = tn_idx(p, 1), *iterations = box;
    for (uint32_t d = 0; d < m->ndim; d++) {
        const tn_expr *e = tn_block_over_loops(s, m->producer, store->u.store.index[d]);
        if (!tn_region_1d(s, m->loop, m->producer, e, &m->dim[d].lo, &m->dim[d].extent))
            return TN_REJECT_REGION;
        box = tn_mul(p, box, m->dim[d].extent);
    }
    const tn_stmt *inner[TN_MAX_LOOPS];
    int k = tn_loops_between(m->loop, m->producer, TN_MAX_LOOPS, inner);
    for (int i = 0; i < k; i++)
        if (tn_loop_feeds(s, inner[i], m->producer, TN_ITER_SPATIAL))
            iterations = tn_mul(p, iterations, inner[i]->u.loop.extent);
    for (const tn_stmt *l = m->loop; l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && tn_loop_feeds(s, l, m->producer, TN_ITER_REDUCE))
            return TN_REJECT_REDUCE;
    return tn_equal(p, NULL, box, iterations) ? TN_DONE : TN_REJECT_REGION;
}

enum { MAX_TERMS = 16 };

/* Conditions on loops that the producer is under hold for its consumer too; on loops inside of `loop` they
 * would make the region no box. */
static tn_verdict find_terms(const move *m, int *out_n, const tn_expr *out[MAX_TERMS])
{
    *out_n = tn_loop_terms(m->producer, MAX_TERMS, out);
    for (int i = 0; i < *out_n; i++)
        for (const tn_stmt *l = tn_stmt_parent(m->producer); l && l != m->loop; l = tn_stmt_parent(l))
            if (l->kind == TN_S_FOR && tn_uses(out[i], l->u.loop.var))
                return TN_REJECT_MASK;
    return *out_n < 0 ? TN_REJECT_MASK : TN_DONE;
}

typedef struct { move *m; bool ok, seen; } match;

/* Every read of the buffer must be indexed by the consumer's own iterations (or 0 where the extent is 1), alike. */
static bool match_load(const tn_expr *e, void *user)
{
    match *w = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != w->m->buffer)
        return true;
    for (uint32_t d = 0; d < e->u.load.n_index; d++) {
        int found = -1;
        for (uint32_t i = 0; i < w->m->consumer->u.block.n_iter; i++)
            if (w->m->consumer->u.block.iter[i].var == e->src[d])
                found = (int)i;
        if (found < 0) {
            w->ok &= tn_is_value(e->src[d], 0) && tn_is_value(w->m->dim[d].extent, 1);
            continue;
        }
        w->ok &= w->m->iter_dim[found] == -1 || w->m->iter_dim[found] == (int)d;
        w->ok &= !w->seen || w->m->iter_dim[found] == (int)d;
        w->m->iter_dim[found] = (int)d;
    }
    w->seen = true;
    return w->ok;
}

static const tn_expr *match_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, match_load, user);
    return e;
}

/* A consumer can be moved if each of its iterations is bound to a loop of its own, in one perfect nest. */
static tn_verdict check_consumer(tn_sched *s, move *m, tn_stmt **out_top)
{
    tn_stmt *b = m->consumer, *loop[TN_MAX_LOOPS];
    int n = tn_stmt_loops(b, TN_MAX_LOOPS, loop);
    if (n != (int)b->u.block.n_iter)
        return TN_REJECT_NEST;
    for (int i = 0; i < n; i++) {
        const tn_stmt *child = i + 1 < n ? loop[i + 1] : b;
        if (tn_body_only(&loop[i]->u.loop.body) != child || loop[i]->u.loop.kind != TN_LOOP_SERIAL)
            return TN_REJECT_NEST;
        if (b->u.block.iter[i].value != loop[i]->u.loop.var)
            return TN_REJECT_NEST;
    }
    *out_top = n ? loop[0] : b;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        m->iter_dim[i] = -1;
    match w = {m, true, false};
    for (tn_stmt *x = b->u.block.body.first; x; x = x->next)
        tn_stmt_exprs(x, match_expr, &w);
    for (tn_stmt *x = b->u.block.init.first; x; x = x->next)
        tn_stmt_exprs(x, match_expr, &w);
    (void)s;
    return w.ok && w.seen ? TN_DONE : TN_REJECT_REGION;
}

/* What b stores to must be declared before b's new place. */
static void declare_before(tn_sched *s, tn_stmt *b, tn_stmt *place)
{
    int64_t target = tn_block_target(b);
    tn_stmt *decl = target < 0 ? NULL : tn_decl_of(s->func, (uint32_t)target);
    if (!decl || tn_stmt_parent(decl))
        return;
    tn_stmt_remove(decl);
    tn_body_insert(&s->func->body, place, decl);
}

tn_verdict tn_do_reverse_compute_at(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    move m = {.consumer = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL, .loop = tn_sched_loop(s, t->in[0])};
    if (!m.consumer)
        return TN_REJECT_NAME;
    if (tn_stmt_inside(m.consumer, m.loop) || m.loop->u.loop.kind == TN_LOOP_VECTOR)
        return TN_REJECT_LOOP;
    tn_stmt *top;
    tn_verdict v = find_producer(s, &m);
    if (v == TN_DONE)
        v = find_region(s, &m);
    if (v == TN_DONE)
        v = check_consumer(s, &m, &top);
    const tn_expr *term[MAX_TERMS];
    int n_term = 0;
    if (v == TN_DONE)
        v = find_terms(&m, &n_term, term);
    if (v != TN_DONE)
        return v;

    tn_stmt *b = m.consumer, *loop[TN_MAX_LOOPS];
    int n = tn_stmt_loops(b, TN_MAX_LOOPS, loop);
    declare_before(s, b, tn_top_of(m.loop));
    tn_stmt_remove(top);
    tn_body_append(&m.loop->u.loop.body, top);
    for (int i = 0; i < n; i++) {
        if (m.iter_dim[i] < 0)
            continue;
        const span *r = &m.dim[m.iter_dim[i]];
        loop[i]->u.loop.extent = r->extent;
        b->u.block.iter[i].value = tn_add(p, r->lo, loop[i]->u.loop.var);
    }
    for (int i = 0; i < n_term; i++)
        tn_block_add_mask(s, b, term[i]);
    tn_block_guard_domain(s, b);
    return TN_DONE;
}
