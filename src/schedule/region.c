/* What one turn of a loop touches of a buffer: the question behind moving a buffer into a loop (set_scope)
 * and behind running turns in any order (parallel, vectorize). */
#include "schedule/sched_impl.h"

typedef struct {
    tn_sched *s;
    const tn_stmt *home;
    uint32_t buffer;
    tn_box *out;
    tn_stmt *block; /* of the access at hand */
    bool reads;     /* which accesses are looked at */
    bool ok;
} visitor;

static bool at_most(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    int64_t x, y;
    return a == b || (tn_is_int(a, &x) && tn_is_int(b, &y) ? x <= y : tn_equal(p, NULL, a, b));
}

/* A read that reaches further than what was written may only do so where the block's mask is false. */
static bool masked_beyond(visitor *v, const tn_expr *index, const tn_expr *lo, const tn_expr *extent)
{
    tn_func *f = v->s->func;
    tn_facts facts;
    if (!v->block->u.block.mask || !v->block->u.block.body.first)
        return false;
    tn_stmt_facts(f, v->block->u.block.body.first, &facts);
    int known = tn_prove(f->pool, &facts, tn_lt(f->pool, tn_sub(f->pool, index, lo), extent));
    tn_facts_deinit(&facts);
    return known == 1;
}

/* How much of [0, extent) an access really touches: an iteration of the block's own stays below its extent. */
static const tn_expr *clipped(const visitor *v, const tn_expr *index, const tn_expr *lo,
                              const tn_expr *extent)
{
    int64_t a, b;
    for (uint32_t i = 0; i < v->block->u.block.n_iter && tn_is_value(lo, 0); i++) {
        const tn_iter *it = &v->block->u.block.iter[i];
        if (it->var != index)
            continue;
        bool constant = tn_is_int(it->extent, &a) && tn_is_int(extent, &b);
        return !constant || a < b ? it->extent : extent;
    }
    return extent;
}

/* Is what is read in dimension d a part of what was written, all of constant size? */
static bool reads_inside(tn_pool *p, const tn_box *b, uint32_t d, const tn_expr *lo, const tn_expr *extent)
{
    int64_t apart, n, written;
    return tn_is_int(tn_simplify(p, NULL, tn_sub(p, lo, b->lo[d])), &apart) && tn_is_int(extent, &n) &&
           tn_is_int(b->written[d], &written) && apart >= 0 && apart + n <= written;
}

/* One access: its box has the lower corner of all others; writes widen what is written, reads stay inside it, and may
 * begin elsewhere in it. */
static void join(visitor *v, const tn_expr *const *index)
{
    tn_pool *p = v->s->func->pool;
    tn_box *r = v->out;
    bool first = !r->any;
    v->ok &= v->block != NULL; /* what stands beside blocks has no box */
    for (uint32_t d = 0; d < r->ndim && v->ok; d++) {
        const tn_expr *lo, *extent, *real, *e = tn_block_over_loops(v->s, v->block, index[d]);
        if (!tn_region_1d(v->s, v->home, v->block, e, &lo, &extent)) {
            v->ok = false;
            continue;
        }
        real = clipped(v, index[d], lo, extent);
        if (first) {
            v->ok = !v->reads;
            r->lo[d] = lo;
            r->written[d] = real;
            r->extent[d] = extent;
        } else {
            if (v->reads && reads_inside(p, r, d, lo, real))
                continue;
            v->ok = lo == r->lo[d] || tn_equal(p, NULL, lo, r->lo[d]);
            bool inside = at_most(p, real, r->written[d]);
            if (!v->reads && !inside) {
                v->ok &= at_most(p, r->written[d], real);
                r->written[d] = real;
            } else if (v->reads && !inside) {
                v->ok &= masked_beyond(v, index[d], lo, r->written[d]);
            }
            if (r->extent[d] && !at_most(p, extent, r->extent[d]))
                r->extent[d] = at_most(p, r->extent[d], extent) ? extent : NULL;
        }
    }
    r->any = true;
}

static bool join_load(const tn_expr *e, void *user)
{
    visitor *v = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer == v->buffer)
        join(v, e->src);
    return true;
}

static const tn_expr *join_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, join_load, user);
    return e;
}

static bool join_stmt(tn_stmt *x, void *user)
{
    visitor *v = user;
    if (x->kind == TN_S_BLOCK)
        v->block = x;
    else if (v->block && !tn_stmt_inside(x, v->block))
        v->block = NULL;
    if (!v->reads && x->kind == TN_S_STORE && x->u.store.buffer == v->buffer)
        join(v, (const tn_expr *const *)x->u.store.index);
    if (v->reads)
        tn_stmt_exprs(x, join_expr, v);
    return v->ok;
}

static bool writes_before_reading(tn_sched *s, const tn_stmt *home, uint32_t buffer)
{
    tn_stmt *at[2];
    tn_body *body = (tn_body *)&home->u.loop.body;
    if (tn_blocks_accessing(body, buffer, true, 1, at) < 1)
        return false;
    tn_stmt *first_write = at[0];
    bool init = false;
    for (const tn_stmt *x = first_write->u.block.init.first; x; x = x->next)
        init |= x->kind == TN_S_STORE && x->u.store.buffer == buffer;
    (void)s;
    if (tn_blocks_accessing(body, buffer, false, 1, at) < 1)
        return true;
    if (at[0] == first_write)
        return init;
    for (const tn_stmt *x = at[0]; x; x = tn_stmt_parent(x)) /* which of the two comes first in the text? */
        for (const tn_stmt *y = x->next; y; y = y->next)
            if (y == first_write || tn_stmt_inside(first_write, y))
                return false;
    return true;
}

bool tn_turn_box(tn_sched *s, const tn_stmt *home, uint32_t buffer, tn_box *out)
{
    *out = (tn_box){.ndim = s->func->buffer[buffer].ndim};
    if (out->ndim > TN_BOX_DIMS || !writes_before_reading(s, home, buffer))
        return false;
    visitor v = {.s = s, .home = home, .buffer = buffer, .out = out, .ok = true};
    for (int k = 0; k < 2 && v.ok; k++) {
        v.reads = k == 1;
        v.block = NULL;
        tn_stmt_walk((tn_body *)&home->u.loop.body, join_stmt, NULL, &v);
    }
    return v.ok && out->any;
}

/* ---- what is read alone ---- */

/* The box grows, so that the span lo .. lo + extent - 1 of dimension d is inside. */
static bool widen(tn_box *b, tn_pool *p, uint32_t d, const tn_expr *lo, const tn_expr *extent)
{
    int64_t apart;
    if (!b->any) {
        b->lo[d] = lo;
        b->extent[d] = b->written[d] = extent;
        return true;
    }
    if (!tn_is_int(tn_simplify(p, NULL, tn_sub(p, lo, b->lo[d])), &apart))
        return false;
    const tn_expr *end = tn_add(p, extent, tn_idx(p, apart > 0 ? apart : 0)),
                  *old = tn_add(p, b->extent[d], tn_idx(p, apart < 0 ? -apart : 0));
    b->lo[d] = apart < 0 ? lo : b->lo[d];
    if (!at_most(p, end, old) && !at_most(p, old, end))
        return false;
    b->extent[d] = b->written[d] = tn_simplify(p, NULL, at_most(p, end, old) ? old : end);
    return true;
}

/* Is it over what is known where a turn of home begins? */
static bool known_at(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        return false;
    if (e->kind != TN_E_VAR)
        return true;
    for (const tn_stmt *l = user; l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && l->u.loop.var == e)
            return true;
    return false;
}

/* What an index that data says reads of dimension d: anything. */
static void read_all(const visitor *v, uint32_t d, const tn_expr **lo, const tn_expr **extent)
{
    *lo = tn_idx(v->s->func->pool, 0);
    *extent = v->s->func->buffer[v->buffer].dim[d];
}

static bool read_load(const tn_expr *e, void *user)
{
    visitor *v = user;
    tn_pool *p = v->s->func->pool;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != v->buffer || !v->ok)
        return v->ok;
    for (uint32_t d = 0; d < v->out->ndim && v->ok; d++) {
        const tn_expr *lo, *extent,
            *at = v->block ? tn_block_over_loops(v->s, v->block, e->src[d]) : e->src[d];
        bool known = v->block && tn_region_1d(v->s, v->home, v->block, at, &lo, &extent) &&
                     tn_each(lo, known_at, (void *)v->home);
        if (!known && v->block && at->has_load)
            read_all(v, d, &lo, &extent);
        v->ok = (known || (v->block && at->has_load)) && widen(v->out, p, d, lo, extent);
    }
    v->out->any = true;
    return v->ok;
}

static const tn_expr *read_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, read_load, user);
    return e;
}

static bool read_stmt(tn_stmt *x, void *user)
{
    visitor *v = user;
    if (x->kind == TN_S_BLOCK)
        v->block = x;
    else if (v->block && !tn_stmt_inside(x, v->block))
        v->block = NULL;
    tn_stmt_exprs(x, read_expr, v);
    return v->ok;
}

bool tn_read_box(tn_sched *s, const tn_stmt *home, uint32_t buffer, tn_box *out)
{
    *out = (tn_box){.ndim = s->func->buffer[buffer].ndim};
    visitor v = {.s = s, .home = home, .buffer = buffer, .out = out, .ok = out->ndim <= TN_BOX_DIMS};
    if (v.ok)
        tn_stmt_walk((tn_body *)&home->u.loop.body, read_stmt, NULL, &v);
    return v.ok && out->any;
}

/* ---- turns in any order ---- */

typedef struct {
    tn_sched *s;
    tn_stmt *loop;
    bool reduce, scan, fed;
} feed;

/* Does each turn of the loop have memory of its own for what the block stores? */
static bool stores_inside(const feed *w, const tn_stmt *block)
{
    int64_t target = tn_block_target(block);
    const tn_stmt *decl = target < 0 ? NULL : tn_decl_of(w->s->func, (uint32_t)target);
    return decl && tn_stmt_inside(decl, w->loop);
}

static void look_at_block(tn_stmt *block, void *user)
{
    feed *w = user;
    w->reduce |= tn_loop_feeds(w->s, w->loop, block, TN_ITER_REDUCE);
    w->scan |= tn_loop_feeds(w->s, w->loop, block, TN_ITER_SCAN);
    w->fed &= stores_inside(w, block) || tn_loop_feeds(w->s, w->loop, block, TN_ITER_SPATIAL);
}

/* Is there a dimension of which each turn touches a part of its own: is every index c*turn + rest there, with one c
 * and 0 <= rest < c? Then two turns never meet, whatever the other dimensions do (peeled copies of one block write
 * different columns). */
typedef struct {
    tn_sched *s;
    const tn_stmt *loop, *block; /* block: around the access at hand, or NULL */
    const tn_stmt *at;
    uint32_t buffer, ndim;
    int64_t part[TN_BOX_DIMS]; /* c; 0: not known yet, -1: not so */
} apart;

/* c of one index; -1: it is not of that form. */
static int64_t part_of(const apart *a, const tn_facts *facts, const tn_expr *e)
{
    tn_pool *p = a->s->func->pool;
    const tn_expr *coef, *rest;
    int64_t c;
    if (!tn_linear(p, facts, tn_simplify(p, facts, e), a->loop->u.loop.var, &coef, &rest) ||
        !tn_is_int(coef, &c) || c < 1)
        return -1;
    bool inside = tn_prove(p, facts, tn_le(p, tn_idx(p, 0), rest)) == 1 &&
                  tn_prove(p, facts, tn_lt(p, rest, tn_idx(p, c))) == 1;
    return inside ? c : -1;
}

static void compare_index(apart *a, const tn_expr *const *index)
{
    tn_facts facts;
    tn_stmt_facts(a->s->func, a->block ? a->block : a->at, &facts);
    for (uint32_t d = 0; d < a->ndim; d++) {
        if (a->part[d] < 0)
            continue;
        int64_t c = part_of(a, &facts, a->block ? tn_block_over_loops(a->s, a->block, index[d]) : index[d]);
        a->part[d] = a->part[d] == 0 || a->part[d] == c ? c : -1;
    }
    tn_facts_deinit(&facts);
}

static bool compare_load(const tn_expr *e, void *user)
{
    apart *a = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer == a->buffer)
        compare_index(a, e->src);
    return true;
}

static const tn_expr *compare_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, compare_load, user);
    return e;
}

static bool compare_stmt(tn_stmt *x, void *user)
{
    apart *a = user;
    a->at = x;
    if (x->kind == TN_S_BLOCK)
        a->block = x;
    else if (a->block && !tn_stmt_inside(x, a->block))
        a->block = NULL;
    if (x->kind == TN_S_STORE && x->u.store.buffer == a->buffer)
        compare_index(a, (const tn_expr *const *)x->u.store.index);
    tn_stmt_exprs(x, compare_expr, a);
    return true;
}

bool tn_loops_apart(tn_sched *s, int n, tn_stmt *const loop[], uint32_t buffer)
{
    apart a = {.s = s, .buffer = buffer, .ndim = s->func->buffer[buffer].ndim};
    if (a.ndim > TN_BOX_DIMS)
        return false;
    if (tn_is_value(loop[0]->u.loop.extent, 1))
        return true;
    for (int i = 0; i < n; i++) {
        a.loop = loop[i];
        a.block = NULL;
        tn_stmt_walk(&loop[i]->u.loop.body, compare_stmt, NULL, &a);
    }
    for (uint32_t d = 0; d < a.ndim; d++)
        if (a.part[d] > 0)
            return true;
    return false;
}

/* Has each turn a box of its own? One that moves with the loop is taken to: its blocks' iterations do, and differ. */
static bool moves_on(const tn_stmt *loop, const tn_box *box)
{
    for (uint32_t d = 0; d < box->ndim; d++)
        if (tn_uses(box->lo[d], loop->u.loop.var))
            return true;
    return false;
}

tn_verdict tn_turns_independent(tn_sched *s, tn_stmt *loop)
{
    feed w = {s, loop, false, false, true};
    tn_each_block(loop, look_at_block, &w);
    if (w.reduce)
        return TN_REJECT_REDUCE;
    if (w.scan && !tn_is_value(loop->u.loop.extent, 1))
        return TN_REJECT_DEPEND;
    if (!w.fed && !tn_is_value(loop->u.loop.extent, 1))
        return TN_REJECT_DEPEND; /* every turn would store to the same cells */
    for (uint32_t b = 0; b < s->func->n_buffer; b++) {
        tn_stmt *at[2];
        int writers = tn_blocks_accessing(&loop->u.loop.body, b, true, 2, at);
        if (writers == 0)
            continue;
        tn_stmt *decl = tn_decl_of(s->func, b), *reader[2];
        if (decl && tn_stmt_inside(decl, loop))
            continue; /* every turn has its own */
        int readers = tn_blocks_accessing(&loop->u.loop.body, b, false, 2, reader);
        if (writers == 1 && (readers == 0 || (readers == 1 && reader[0] == at[0])))
            continue; /* a block alone: its iterations are independent */
        tn_box r;
        if (!tn_loops_apart(s, 1, &loop, b) && !(tn_turn_box(s, loop, b, &r) && moves_on(loop, &r)))
            return TN_REJECT_DEPEND;
    }
    return TN_DONE;
}
