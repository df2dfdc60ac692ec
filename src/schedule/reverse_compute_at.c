/* Step reverse_compute_at: a consumer block moves under a loop of its producers and computes there just the
 * region that one turn of that loop produces. The region must be a box that the producers' iterations tile
 * exactly, and every read of the consumer must be indexed by its own iterations, so that the box says how far
 * each of them runs. */
#include "schedule/sched_impl.h"

enum { MAX_WRITERS = 4, MAX_SOURCES = 4, MAX_DIMS = 16 };

typedef struct {
    const tn_expr *lo, *extent;
} span; /* of one dimension in one turn of the loop */

/* A buffer that the consumer reads and that is made under the loop. */
typedef struct {
    uint32_t buffer, ndim;
    tn_stmt *writer[MAX_WRITERS]; /* blocks under the loop that store to it, the last one finishes it */
    int n_writer;
    bool outside; /* others store to it elsewhere */
    span dim[MAX_DIMS];
} source;

typedef struct {
    tn_sched *s;
    tn_stmt *consumer, *loop;
    source src[MAX_SOURCES];
    int n_src;
    const span
        *iter[TN_MAX_LOOPS]; /* how far each of the consumer's iterations runs; NULL: over its whole domain */
} move;

static tn_stmt *finisher(const source *x) { return x->writer[x->n_writer - 1]; }

static bool reads(tn_sched *s, const tn_stmt *block, uint32_t buffer)
{
    tn_stmt *reader[64];
    int n = tn_blocks_accessing(&s->func->body, buffer, false, 64, reader);
    bool found = false;
    for (int i = 0; i < n && i < 64; i++)
        found |= reader[i] == block;
    return found;
}

static tn_verdict find_writers(move *m, uint32_t buffer)
{
    tn_stmt *writer[64];
    source x = {.buffer = buffer};
    int n = tn_blocks_accessing(&m->s->func->body, buffer, true, 64, writer);
    for (int i = 0; i < n; i++) {
        if (i == 64)
            return TN_REJECT_REGION;
        if (tn_stmt_inside(writer[i], m->loop)) {
            if (x.n_writer == MAX_WRITERS)
                return TN_REJECT_REGION;
            x.writer[x.n_writer++] = writer[i];
        } else if (writer[i] != m->consumer) {
            x.outside = true;
            if (!tn_runs_before(writer[i], m->loop)) /* not under the loop: before its nest */
                return TN_REJECT_DEPEND;
        }
    }
    if (x.n_writer && m->n_src == MAX_SOURCES)
        return TN_REJECT_REGION;
    if (x.n_writer)
        m->src[m->n_src++] = x;
    return TN_DONE;
}

static tn_verdict find_sources(move *m)
{
    for (uint32_t b = 0; b < m->s->func->n_buffer; b++) {
        if (b == tn_block_target(m->consumer) || !reads(m->s, m->consumer, b))
            continue; /* what it adds to itself has no other producer */
        tn_verdict v = find_writers(m, b);
        if (v != TN_DONE)
            return v;
    }
    return m->n_src ? TN_DONE : TN_REJECT_NAME;
}

/* ---- regions ---- */

/* The box that a writer stores to in one turn of `loop` (NULL: of the function). */
static bool box_of(tn_sched *s, const tn_stmt *loop, const tn_stmt *writer, uint32_t buffer,
                   uint32_t *out_ndim, span out[MAX_DIMS])
{
    const tn_stmt *store = writer->u.block.body.first;
    if (!store || store->kind != TN_S_STORE || store->u.store.buffer != buffer ||
        store->u.store.n_index > MAX_DIMS)
        return false;
    *out_ndim = store->u.store.n_index;
    for (uint32_t d = 0; d < *out_ndim; d++) {
        const tn_expr *e = tn_block_over_loops(s, writer, store->u.store.index[d]);
        if (!tn_region_1d(s, loop, writer, e, &out[d].lo, &out[d].extent))
            return false;
    }
    return true;
}

/* Does the finishing writer alone store to the whole buffer, over all loops around it? */
static bool covers_all(tn_sched *s, const source *x)
{
    span all[MAX_DIMS];
    uint32_t n;
    tn_pool *p = s->func->pool;
    if (!box_of(s, NULL, finisher(x), x->buffer, &n, all))
        return false;
    for (uint32_t d = 0; d < n; d++)
        if (!tn_is_value(all[d].lo, 0) ||
            tn_prove(p, NULL, tn_le(p, s->func->buffer[x->buffer].dim[d], all[d].extent)) != 1)
            return false;
    return true;
}

static bool same_span(tn_pool *p, const span *a, const span *b)
{
    return tn_equal(p, NULL, a->lo, b->lo) && tn_equal(p, NULL, a->extent, b->extent);
}

/* Turns of the spatial loops between `loop` and the writer. */
static const tn_expr *turns_inside(tn_sched *s, const tn_stmt *loop, const tn_stmt *writer)
{
    const tn_stmt *inner[TN_MAX_LOOPS];
    const tn_expr *turns = tn_idx(s->func->pool, 1);
    int n = tn_loops_between(loop, writer, TN_MAX_LOOPS, inner);
    for (int i = 0; i < n; i++)
        if (tn_loop_feeds(s, inner[i], writer, TN_ITER_SPATIAL) ||
            tn_loop_feeds(s, inner[i], writer, TN_ITER_SCAN))
            turns = tn_mul(s->func->pool, turns, inner[i]->u.loop.extent);
    return turns;
}

/* The region produced in one turn: the same for all writers, tiled exactly by the last, which is done by then. */
static tn_verdict find_region(const move *m, source *x)
{
    tn_sched *s = m->s;
    tn_pool *p = s->func->pool;
    const tn_expr *box = tn_idx(p, 1);
    if (!box_of(s, m->loop, finisher(x), x->buffer, &x->ndim, x->dim) || (x->outside && !covers_all(s, x)))
        return TN_REJECT_REGION;
    for (int i = 0; i + 1 < x->n_writer; i++) {
        span other[MAX_DIMS];
        uint32_t n;
        if (!box_of(s, m->loop, x->writer[i], x->buffer, &n, other))
            return TN_REJECT_REGION;
        for (uint32_t d = 0; d < n; d++)
            if (!same_span(p, &other[d], &x->dim[d]))
                return TN_REJECT_REGION;
    }
    for (uint32_t d = 0; d < x->ndim; d++)
        box = tn_mul(p, box, x->dim[d].extent);
    for (const tn_stmt *l = m->loop; l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && (tn_loop_feeds(s, l, finisher(x), TN_ITER_REDUCE) ||
                                    tn_loop_feeds(s, l, finisher(x), TN_ITER_SCAN)))
            return TN_REJECT_REDUCE;
    return tn_equal(p, NULL, box, turns_inside(s, m->loop, finisher(x))) ? TN_DONE : TN_REJECT_REGION;
}

/* ---- the consumer ---- */

typedef struct {
    move *m;
    const source *x;
    bool ok;
} match;

/* Does the producer make dimension d as far as the consumer's iteration runs? Else what the consumer does
 * behind it, where it does not read, would be lost. */
static bool runs_as_far(const match *w, uint32_t d, const tn_iter *it)
{
    const tn_stmt *producer = finisher(w->x), *store = producer->u.block.body.first;
    int i = tn_own_iteration(producer, store->u.store.index[d]);
    tn_pool *p = w->m->s->func->pool;
    return i >= 0 && tn_prove(p, NULL, tn_le(p, it->extent, producer->u.block.iter[i].extent)) == 1;
}

/* Is dimension d of the region its first element, in every turn? A turn beyond the end makes nothing, and a consumer
 * that reads the first would run again. */
static bool is_first(const match *w, uint32_t d)
{
    const span *x = &w->x->dim[d];
    tn_pool *p = w->m->s->func->pool;
    tn_facts facts;
    tn_stmt_facts(w->m->s->func, w->m->loop->u.loop.body.first, &facts);
    bool first = tn_is_value(x->extent, 1) && tn_prove(p, &facts, tn_eq(p, x->lo, tn_idx(p, 0))) == 1;
    tn_facts_deinit(&facts);
    return first;
}

/* Each index of a read is an iteration of the consumer's own (or 0 where the region is the first cell). */
static bool match_load(const tn_expr *e, void *user)
{
    match *w = user;
    move *m = w->m;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != w->x->buffer)
        return true;
    bool reads_part = tn_load_mask(e) || (m->consumer->u.block.mask && m->consumer->u.block.init.first);
    for (uint32_t d = 0; d < e->u.load.n_index && w->ok; d++) {
        int i = tn_own_iteration(m->consumer, e->src[d]);
        if (i >= 0 && reads_part && !runs_as_far(w, d, &m->consumer->u.block.iter[i]))
            w->ok = false;
        else if (i < 0)
            w->ok = tn_is_value(e->src[d], 0) && is_first(w, d);
        else if (m->iter[i])
            w->ok = same_span(m->s->func->pool, m->iter[i], &w->x->dim[d]);
        else
            m->iter[i] = &w->x->dim[d];
    }
    return w->ok;
}

static const tn_expr *match_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, match_load, user);
    return e;
}

static tn_verdict match_reads(move *m)
{
    for (int k = 0; k < m->n_src; k++) {
        match w = {m, &m->src[k], true};
        for (tn_stmt *x = m->consumer->u.block.body.first; x; x = x->next)
            tn_stmt_exprs(x, match_expr, &w);
        for (tn_stmt *x = m->consumer->u.block.init.first; x; x = x->next)
            tn_stmt_exprs(x, match_expr, &w);
        if (!w.ok)
            return TN_REJECT_REGION;
    }
    for (uint32_t i = 0; i < m->consumer->u.block.n_iter; i++)
        if (m->iter[i] && m->consumer->u.block.iter[i].kind != TN_ITER_SPATIAL &&
            !tn_is_value(m->iter[i]->lo, 0))
            return TN_REJECT_REDUCE; /* a reduction in pieces, whose first might not come first */
    return TN_DONE;
}

/* It can be moved if it has a plain nest, and is all that stores to its target. */
static tn_verdict check_consumer(const move *m, tn_stmt **out_top)
{
    int64_t target = tn_block_target(m->consumer);
    tn_verdict v = tn_plain_nest(m->consumer, out_top);
    if (v == TN_DONE && (target < 0 || !tn_writes_alone(m->s, m->consumer, (uint32_t)target)))
        v = TN_REJECT_REDUCE; /* its init would stay behind */
    return v;
}

/* A condition that only ends the producer's sums earlier, where a reduction was split: it says nothing of the region,
 * for the first step always holds. */
static bool ends_sums(const move *m, const tn_stmt *producer, const tn_expr *term)
{
    tn_pool *p = m->s->func->pool;
    const tn_expr *zero = tn_idx(p, 0), *first = term;
    bool inside = false;
    for (tn_stmt *l = tn_stmt_parent(producer); l && l != m->loop; l = tn_stmt_parent(l)) {
        if (l->kind != TN_S_FOR || !tn_uses(term, l->u.loop.var))
            continue;
        if (tn_loop_feeds(m->s, l, producer, TN_ITER_SPATIAL) ||
            tn_loop_feeds(m->s, l, producer, TN_ITER_SCAN))
            return false;
        first = tn_subst(p, first, 1, &l->u.loop.var, &zero);
        inside = true;
    }
    return inside && tn_prove(p, NULL, first) == 1;
}

static bool stores_by(const tn_stmt *producer, const tn_expr *iteration)
{
    const tn_stmt *store = producer->u.block.body.first;
    bool by = false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++)
        by |= tn_uses(store->u.store.index[d], iteration);
    return by;
}

/* When a producer runs: the conditions that splits put on loops, and the ends of spatial iterations that no dimension
 * of the region shows. -1: more than `max`. */
static int terms_of(const move *m, const tn_stmt *producer, int max, const tn_expr *out[])
{
    tn_pool *p = m->s->func->pool;
    tn_facts facts;
    int n = tn_loop_terms(producer, max, out);
    tn_stmt_facts(m->s->func, producer, &facts);
    for (uint32_t i = 0; i < producer->u.block.n_iter && n >= 0; i++) {
        const tn_iter *it = &producer->u.block.iter[i];
        const tn_expr *inside = tn_block_over_loops(m->s, producer, tn_lt(p, it->var, it->extent));
        if (it->kind != TN_ITER_SPATIAL || stores_by(producer, it->var) || tn_prove(p, &facts, inside) == 1)
            continue;
        if (n == max)
            n = -1;
        else
            out[n++] = inside;
    }
    tn_facts_deinit(&facts);
    return n;
}

/* Conditions on loops that a producer is under hold for its consumer too; on loops inside of `loop` they would make the
 * region no box. An init runs whatever they say, and would begin sums again that other turns have made. */
static tn_verdict check_terms(const move *m)
{
    const tn_expr *term[TN_MAX_TERMS];
    for (int k = 0; k < m->n_src; k++) {
        const tn_stmt *producer = finisher(&m->src[k]);
        int n = terms_of(m, producer, TN_MAX_TERMS, term);
        for (int i = 0; i < n; i++) {
            if (ends_sums(m, producer, term[i]))
                continue;
            if (m->consumer->u.block.init.first)
                return TN_REJECT_MASK;
            for (const tn_stmt *l = tn_stmt_parent(producer); l && l != m->loop; l = tn_stmt_parent(l))
                if (l->kind == TN_S_FOR && tn_uses(term[i], l->u.loop.var))
                    return TN_REJECT_MASK;
        }
        if (n < 0)
            return TN_REJECT_MASK;
    }
    return TN_DONE;
}

/* What a turn makes may begin before the first element where indices fall: then so would the consumer's iterations,
 * which are kept from going beyond their end alone. */
static bool begins_inside(const move *m)
{
    tn_pool *p = m->s->func->pool;
    tn_facts facts;
    bool all = true;
    tn_stmt_facts(m->s->func, m->loop->u.loop.body.first, &facts);
    for (uint32_t i = 0; i < m->consumer->u.block.n_iter; i++)
        all &= !m->iter[i] ||
               tn_prove(p, &facts, tn_le(p, tn_idx(p, 0), tn_simplify(p, &facts, m->iter[i]->lo))) == 1;
    tn_facts_deinit(&facts);
    return all;
}

/* ---- the step ---- */

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

static void put_under(move *m, tn_stmt *top)
{
    tn_pool *p = m->s->func->pool;
    tn_stmt *b = m->consumer, *loop[TN_MAX_LOOPS];
    int n = tn_stmt_loops(b, TN_MAX_LOOPS, loop);
    declare_before(m->s, b, tn_top_of(m->loop));
    tn_stmt_remove(top);
    tn_body_append(&m->loop->u.loop.body, top);
    for (int i = 0; i < n; i++) {
        if (!m->iter[i])
            continue;
        loop[i]->u.loop.extent = m->iter[i]->extent;
        b->u.block.iter[i].value = tn_add(p, m->iter[i]->lo, loop[i]->u.loop.var);
    }
    for (int k = 0; k < m->n_src; k++) {
        const tn_expr *term[TN_MAX_TERMS];
        int n_term = terms_of(m, finisher(&m->src[k]), TN_MAX_TERMS, term);
        for (int i = 0; i < n_term; i++)
            if (!ends_sums(m, finisher(&m->src[k]), term[i]))
                tn_block_require(m->s, b, term[i]);
    }
    tn_block_guard_domain(m->s, b);
}

tn_verdict tn_do_reverse_compute_at(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    move m = {.s = s,
              .consumer = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL,
              .loop = tn_sched_loop(s, t->in[0])};
    if (!m.consumer)
        return TN_REJECT_NAME;
    if (tn_stmt_inside(m.consumer, m.loop) || m.loop->u.loop.kind == TN_LOOP_VECTOR)
        return TN_REJECT_LOOP;
    tn_stmt *top;
    tn_verdict v = find_sources(&m);
    for (int k = 0; k < m.n_src && v == TN_DONE; k++)
        v = find_region(&m, &m.src[k]);
    if (v == TN_DONE)
        v = check_consumer(&m, &top);
    if (v == TN_DONE)
        v = match_reads(&m);
    if (v == TN_DONE)
        v = check_terms(&m);
    if (v == TN_DONE && !begins_inside(&m))
        v = TN_REJECT_MASK;
    if (v == TN_DONE)
        put_under(&m, top);
    return v;
}
