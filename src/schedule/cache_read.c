/* Step cache_read: what is read of a buffer comes from a copy of it.
 *
 *     cache_read "W" local ko        for ko < 8, j < 16, ki < 4: reads W[j, ko*4 + ki]
 *
 * At the beginning of each turn of ko block W.cache copies the smallest box around all that the turn reads, here
 * 16 x 4 cells. Cells of the box outside of the buffer, which only masked reads reach, are left out. Without a loop the
 * whole buffer is copied before the first statement that reads it. Only what is known to be defined is copied: a
 * parameter, or a buffer that one block has filled before.
 */
#include "schedule/sched_impl.h"

#include <string.h>

typedef struct {
    tn_sched *s;
    uint32_t buffer;
    int scope;
    tn_stmt *home;   /* the loop; NULL: the function */
    tn_stmt *before; /* the copy's place: in front of it */
    tn_box box;
} reading;

static int64_t buffer_named(const tn_func *f, const char *name)
{
    for (uint32_t b = 0; name && b < f->n_buffer; b++)
        if (strcmp(f->buffer[b].name, name) == 0)
            return b;
    return -1;
}

/* ---- is all of the buffer written? ---- */

/* The values of e while the loops run, each over all its turns, have no gaps: c1*v1 + c2*v2 ... + 0, where
 * each loop goes on within the reach of those with smaller factors. Loops that it uses are noted in `used`.
 * */
static bool without_gaps(tn_sched *s, const tn_expr *e, const tn_stmt *block, const tn_expr *extent,
                         uint64_t *used)
{
    tn_pool *p = s->func->pool;
    tn_stmt *loop[TN_MAX_LOOPS];
    tn_affine a;
    int n = tn_stmt_loops((tn_stmt *)(uintptr_t)block, TN_MAX_LOOPS, loop);
    const tn_expr *reach = tn_idx(p, 1); /* values 0 .. reach - 1 are met */
    if (!tn_affine_of(p, e, &a) || a.c != 0)
        return false;
    for (int left = a.n; left > 0; left--) {
        int64_t r, least = INT64_MAX;
        int at = -1;
        for (int i = 0; i < a.n; i++)
            if (a.term[i].coef > 0 && a.term[i].coef < least) {
                at = i;
                least = a.term[i].coef;
            }
        int l = 0;
        while (at >= 0 && l < n && loop[l]->u.loop.var != a.term[at].atom)
            l++;
        if (at < 0 || l == n || (*used >> l & 1) || !tn_is_int(reach, &r) || least > r)
            return false;
        *used |= (uint64_t)1 << l;
        a.term[at].coef = 0;
        const tn_expr *turns = tn_sub(p, loop[l]->u.loop.extent, tn_idx(p, 1));
        reach = tn_simplify(p, NULL, tn_add(p, reach, tn_mul(p, tn_idx(p, least), turns)));
    }
    tn_facts facts;
    tn_stmt_facts(s->func, block, &facts);
    bool all = tn_prove(p, &facts, tn_le(p, extent, reach)) == 1;
    tn_facts_deinit(&facts);
    return all;
}

/* Its mask does nothing but keep iterations inside their extents. */
static bool guards_alone(const tn_stmt *block)
{
    const tn_expr *todo[TN_MAX_TERMS] = {block->u.block.mask};
    for (int n = block->u.block.mask ? 1 : 0; n > 0;) {
        const tn_expr *e = todo[--n];
        bool guard = false;
        if (e->kind == TN_E_AND && n + 2 <= TN_MAX_TERMS) {
            todo[n++] = e->src[0];
            todo[n++] = e->src[1];
            continue;
        }
        for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
            const tn_iter *it = &block->u.block.iter[i];
            guard |= e->kind == TN_E_LT && e->src[0] == it->var && e->src[1] == it->extent;
        }
        if (!guard)
            return false;
    }
    return true;
}

/* Each dimension is indexed by a spatial iteration of its extent, of its own, whose values have no gaps. Of a reduction
 * the init does it, which runs whatever the mask. */
static bool fills(tn_sched *s, const tn_stmt *block, uint32_t buffer)
{
    const tn_stmt *init = block->u.block.init.first,
                  *store = tn_body_only(init ? &block->u.block.init : &block->u.block.body);
    const tn_buffer *b = &s->func->buffer[buffer];
    uint64_t used = 0, taken = 0;
    if (!store || store->kind != TN_S_STORE || store->u.store.mask || (!init && !guards_alone(block)))
        return false;
    for (const tn_stmt *l = tn_stmt_parent(block); l; l = tn_stmt_parent(l))
        if (l->kind != TN_S_FOR)
            return false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++) {
        uint32_t i = 0;
        while (i < block->u.block.n_iter && block->u.block.iter[i].var != store->u.store.index[d])
            i++;
        if (i == block->u.block.n_iter
                ? !(tn_is_value(store->u.store.index[d], 0) && tn_is_value(b->dim[d], 1))
                : taken >> i & 1 || block->u.block.iter[i].kind != TN_ITER_SPATIAL ||
                      tn_prove(s->func->pool, NULL,
                               tn_le(s->func->pool, b->dim[d], block->u.block.iter[i].extent)) != 1 ||
                      !without_gaps(s, block->u.block.iter[i].value, block, b->dim[d], &used))
            return false;
        if (i < block->u.block.n_iter)
            taken |= (uint64_t)1 << i;
    }
    return true;
}

tn_verdict tn_contents_known(tn_sched *s, uint32_t buffer, const tn_stmt *place)
{
    tn_func *f = s->func;
    tn_stmt *writer[2];
    int n = tn_blocks_accessing(&f->body, buffer, true, 2, writer);
    if (f->buffer[buffer].param >= 0 && n == 0)
        return TN_DONE;
    if (n != 1)
        return TN_REJECT_DEPEND;
    const tn_stmt *at = tn_top_of(writer[0]);
    while (at && at != place)
        at = at->next;
    if (!at || tn_top_of(writer[0]) == place)
        return TN_REJECT_DEPEND;
    return f->buffer[buffer].param >= 0 || fills(s, writer[0], buffer) ? TN_DONE : TN_REJECT_REGION;
}

/* ---- where, and how much ---- */

static bool reads_under(tn_stmt *x, uint32_t buffer)
{
    tn_stmt *at[1];
    tn_body *body[2];
    int n = tn_stmt_bodies(x, body);
    for (int i = 0; i < n; i++)
        if (tn_blocks_accessing(body[i], buffer, false, 1, at) > 0)
            return true;
    return false;
}

static tn_verdict check_loop(reading *r)
{
    tn_func *f = r->s->func;
    if (r->scope != TN_SCOPE_LOCAL && r->scope != TN_SCOPE_REGISTER)
        return TN_REJECT_SCOPE;
    if (tn_holds_tasks(r->home))
        return TN_REJECT_LOOP;
    for (const tn_stmt *l = r->home; l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && (l->u.loop.kind == TN_LOOP_VECTOR || l->u.loop.kind == TN_LOOP_TENSOR))
            return TN_REJECT_LOOP;
    if (!reads_under(r->home, r->buffer))
        return TN_REJECT_NAME;
    const tn_stmt *decl = tn_decl_of(f, r->buffer);
    if (decl && tn_stmt_parent(decl))
        return TN_REJECT_SCOPE; /* what is near already needs no copy */
    if (!tn_read_box(r->s, r->home, r->buffer, &r->box))
        return TN_REJECT_REGION;
    r->before = r->home->u.loop.body.first;
    tn_verdict v = tn_box_fits(&r->box, f->buffer[r->buffer].dtype, r->scope);
    return v == TN_DONE ? tn_contents_known(r->s, r->buffer, tn_top_of(r->home)) : v;
}

static tn_verdict check_function(reading *r)
{
    tn_func *f = r->s->func;
    const tn_buffer *b = &f->buffer[r->buffer];
    if (r->scope != TN_SCOPE_GLOBAL || b->scope != TN_SCOPE_GLOBAL || b->ndim > TN_BOX_DIMS)
        return TN_REJECT_SCOPE;
    tn_stmt *writer[1];
    bool made = tn_blocks_accessing(&f->body, r->buffer, true, 1, writer) > 0;
    r->before = made ? tn_top_of(writer[0])->next : f->body.first; /* a sum reads what it writes */
    while (r->before && !reads_under(r->before, r->buffer))
        r->before = r->before->next;
    if (!r->before)
        return TN_REJECT_NAME;
    r->box.ndim = b->ndim;
    for (int d = 0; d < b->ndim; d++) {
        r->box.lo[d] = tn_idx(f->pool, 0);
        r->box.extent[d] = b->dim[d];
    }
    return tn_contents_known(r->s, r->buffer, r->before);
}

/* ---- the step ---- */

typedef struct {
    tn_pool *pool;
    uint32_t from, to;
} redirection;

static const tn_expr *redirect_load(tn_pool *p, const tn_expr *e, void *user)
{
    const redirection *r = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != r->from)
        return NULL;
    return tn_load(p, e->dtype, r->to, (int)e->u.load.n_index, e->src, tn_load_mask(e), tn_load_other(e));
}

static const tn_expr *redirect_expr(const tn_expr *e, void *user)
{
    redirection *r = user;
    return e->has_load ? tn_rewrite(r->pool, e, redirect_load, r) : e;
}

/* Prefetches stay those of the old buffer: its memory is still what is far. */
static bool redirect_stmt(tn_stmt *x, void *user)
{
    tn_stmt_exprs(x, redirect_expr, user);
    return true;
}

static void redirect_all(const reading *r, uint32_t to)
{
    redirection d = {r->s->func->pool, r->buffer, to};
    for (tn_stmt *x = r->before; x; x = x->next) {
        tn_body *body[2];
        int n = tn_stmt_bodies(x, body);
        (void)redirect_stmt(x, &d);
        for (int i = 0; i < n; i++)
            tn_stmt_walk(body[i], redirect_stmt, NULL, &d);
    }
}

static void copy_box(const reading *r, uint32_t to)
{
    tn_func *f = r->s->func;
    tn_pool *p = f->pool;
    const tn_buffer from = f->buffer[r->buffer];
    tn_stmt *block = tn_stmt_block(f, f->buffer[to].name, "elementwise", (int)r->box.ndim), *top = block;
    const tn_expr *index[TN_BOX_DIMS], *cell[TN_BOX_DIMS];
    for (uint32_t d = 0; d < r->box.ndim; d++) {
        const tn_expr *loop = tn_func_add_var(f, "c", TN_IDX);
        index[d] = tn_func_add_var(f, "c", TN_IDX);
        cell[d] = r->home ? loop : index[d];
        block->u.block.iter[d] =
            (tn_iter){index[d], from.dim[d], tn_add(p, r->box.lo[d], loop), TN_ITER_SPATIAL};
    }
    const tn_expr *value = tn_load(p, from.dtype, r->buffer, (int)r->box.ndim, index, NULL, NULL);
    tn_body_append(&block->u.block.body, tn_stmt_store(f, to, (int)r->box.ndim, cell, value, NULL));
    for (uint32_t d = r->box.ndim; d-- > 0;) {
        const tn_expr *var = r->home ? cell[d] : block->u.block.iter[d].value;
        tn_stmt *loop = tn_stmt_for(f, var, r->box.extent[d], TN_LOOP_SERIAL);
        tn_body_append(&loop->u.loop.body, top);
        top = loop;
    }
    tn_body_insert(r->home ? &r->home->u.loop.body : &f->body, r->before, top);
    tn_body_insert(top->list, top, tn_stmt_decl(f, to));
    tn_block_guard_box(r->s, block);
}

tn_verdict tn_do_cache_read(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    int64_t buffer = buffer_named(f, t->arg[0].s);
    reading r = {.s = s, .buffer = (uint32_t)buffer, .scope = tn_scope_named(t->arg[1].s)};
    if (buffer < 0 || r.scope < 0)
        return TN_REJECT_NAME;
    if (t->nin > 1)
        return TN_REJECT_ARITY;
    r.home = t->nin ? tn_sched_loop(s, t->in[0]) : NULL;
    tn_verdict v = r.home ? check_loop(&r) : check_function(&r);
    if (v != TN_DONE)
        return v;
    tn_buffer cache = f->buffer[buffer];
    cache.name = tn_arena_printf(s->arena, "%s.cache", cache.name);
    cache.dim = tn_box_dims(s, &r.box);
    cache.scope = (uint8_t)r.scope;
    cache.param = -1;
    cache.written = false;
    cache.layout = NULL;
    cache.slack = 0;
    uint32_t to = tn_func_add_buffer(f, &cache);
    if (r.home)
        tn_shift_accesses(s, r.home, r.buffer, to, &r.box);
    else
        redirect_all(&r, to);
    copy_box(&r, to);
    return TN_DONE;
}
