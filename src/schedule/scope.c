/* Steps on memory: cache_write (a new buffer between a block and its target) and set_scope (a buffer moves to a nearer
 * memory, sunk to the innermost body that holds all its uses and shrunk to the box touched there). */
#include "schedule/sched_impl.h"

#include <string.h>

int tn_scope_named(const char *name)
{
    for (int i = 0; name && i < TN_SCOPE_COUNT; i++)
        if (strcmp(name, tn_scope_names[i]) == 0)
            return i;
    return -1;
}

/* Block "b.out" beside b: target[i...] = cache[i...] for what b's nest writes. */
static void copy_nest(tn_sched *s, tn_stmt *block, const tn_stmt *home, uint32_t from, uint32_t to)
{
    tn_func *f = s->func;
    tn_twin w;
    const tn_stmt *store = block->u.block.body.first;
    const tn_expr *index[TN_MAX_LOOPS];
    tn_twin_make(s, block, home, NULL, tn_arena_printf(s->arena, "%s.out", block->u.block.name), 0, &w);
    w.block->u.block.tag = "elementwise";
    uint32_t n = store->u.store.n_index;
    for (uint32_t d = 0; d < n; d++)
        index[d] = tn_subst(f->pool, store->u.store.index[d], w.n, w.old, w.fresh);
    const tn_expr *v = tn_load(f->pool, f->buffer[from].dtype, from, (int)n, index, NULL, NULL);
    tn_body_append(&w.block->u.block.body, tn_stmt_store(f, to, (int)n, index, v, NULL));
    tn_stmt *top = tn_nest_top(block, home);
    tn_body_insert(top->list, top->next, w.top);
    tn_block_guard_domain(s, w.block);
}

/* One plain store, indexed by the block's own spatial iterations (or 0), each once: what is written is a box. */
static bool writes_box(const tn_stmt *b)
{
    const tn_stmt *store = tn_body_only(&b->u.block.body);
    if (!store || store->kind != TN_S_STORE || store->u.store.mask)
        return false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++) {
        bool own = tn_is_value(store->u.store.index[d], 0);
        for (uint32_t i = 0; i < b->u.block.n_iter; i++)
            own |= b->u.block.iter[i].kind == TN_ITER_SPATIAL &&
                   b->u.block.iter[i].var == store->u.store.index[d];
        if (!own)
            return false;
    }
    return true;
}

tn_verdict tn_do_cache_write(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    tn_stmt *b = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL;
    int scope = tn_scope_named(t->arg[1].s);
    tn_stmt *home = t->nin ? tn_sched_loop(s, t->in[0]) : NULL;
    if (!b || scope < 0)
        return TN_REJECT_NAME;
    if (t->nin > 1)
        return TN_REJECT_ARITY;
    if (home && !tn_stmt_inside(b, home))
        return TN_REJECT_LOOP;
    if (scope !=
        TN_SCOPE_GLOBAL) /* a whole tensor is in global memory first; set_scope moves and shrinks it */
        return TN_REJECT_SCOPE;
    int64_t target = tn_block_target(b);
    if (target < 0 || !writes_box(b) || !tn_writes_alone(s, b, (uint32_t)target) ||
        f->buffer[target].scope != TN_SCOPE_GLOBAL)
        return TN_REJECT_REGION;
    if (!tn_twin_legal(s, b, home, NULL))
        return TN_REJECT_NEST;
    tn_buffer cache = f->buffer[target];
    cache.name = tn_arena_printf(s->arena, "%s.cache", cache.name);
    cache.param = -1;
    cache.written = false;
    cache.layout = NULL;
    cache.slack = 0;
    uint32_t number = tn_func_add_buffer(f, &cache);
    tn_stmt_rename_buffer(s->func, b, (uint32_t)target, number);
    tn_body_insert(&f->body, tn_top_of(b), tn_stmt_decl(f, number));
    copy_nest(s, b, home, number, (uint32_t)target);
    return TN_DONE;
}

/* ---- set_scope ---- */

typedef struct {
    tn_sched *s;
    uint32_t buffer, to; /* accesses to `buffer` become those of `to` */
    const tn_box *at;    /* what one turn of the loop around them touches */
    tn_stmt *block;      /* block of the access at hand */
} mover;

static void shift_index(mover *m, const tn_expr *const *index, const tn_expr **out)
{
    tn_pool *p = m->s->func->pool;
    tn_facts facts;
    tn_stmt_facts(m->s->func, m->block, &facts);
    for (uint32_t d = 0; d < m->at->ndim; d++)
        out[d] =
            tn_simplify(p, &facts, tn_sub(p, tn_block_over_loops(m->s, m->block, index[d]), m->at->lo[d]));
    tn_facts_deinit(&facts);
}

static const tn_expr *shift_load(tn_pool *p, const tn_expr *e, void *user)
{
    mover *m = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != m->buffer)
        return NULL;
    const tn_expr *index[TN_BOX_DIMS];
    shift_index(m, e->src, index);
    return tn_load(p, e->dtype, m->to, (int)m->at->ndim, index, tn_load_mask(e), tn_load_other(e));
}

static const tn_expr *shift_expr(const tn_expr *e, void *user)
{
    mover *m = user;
    return e->has_load ? tn_rewrite(m->s->func->pool, e, shift_load, m) : e;
}

static bool shift_stmt(tn_stmt *x, void *user)
{
    mover *m = user;
    if (x->kind == TN_S_BLOCK)
        m->block = x;
    if (x->kind == TN_S_STORE && x->u.store.buffer == m->buffer) {
        const tn_expr *index[TN_BOX_DIMS];
        shift_index(m, (const tn_expr *const *)x->u.store.index, index);
        for (uint32_t d = 0; d < m->at->ndim; d++)
            x->u.store.index[d] = index[d];
        x->u.store.buffer = m->to;
    }
    tn_stmt_exprs(x, shift_expr, m);
    return true;
}

void tn_shift_accesses(tn_sched *s, tn_stmt *home, uint32_t buffer, uint32_t to, const tn_box *at)
{
    mover m = {.s = s, .buffer = buffer, .to = to, .at = at};
    tn_stmt_walk(&home->u.loop.body, shift_stmt, NULL, &m);
}

/* The innermost loop around all accesses; NULL: they share none. *out_n: number of accessing blocks. */
static tn_stmt *common_loop(tn_sched *s, uint32_t buffer, int *out_n)
{
    tn_stmt *at[128];
    int w = tn_blocks_accessing(&s->func->body, buffer, true, 64, at);
    int r = w > 64 ? 65 : tn_blocks_accessing(&s->func->body, buffer, false, 64, at + w);
    *out_n = w > 64 || r > 64 ? 0 : w + r;
    if (*out_n == 0)
        return NULL;
    tn_stmt *home = tn_stmt_parent(at[0]);
    for (; home; home = tn_stmt_parent(home)) {
        bool all = home->kind == TN_S_FOR;
        for (int i = 0; i < *out_n && all; i++)
            all = tn_stmt_inside(at[i], home);
        /* a buffer lives through a whole reduction or scan: the home must hold every write of an element */
        for (int i = 0; i < *out_n && all; i++)
            for (tn_stmt *l = home; l && all; l = tn_stmt_parent(l))
                if (l->kind == TN_S_FOR && i < w)
                    all = !tn_loop_feeds(s, l, at[i], TN_ITER_REDUCE) &&
                          !tn_loop_feeds(s, l, at[i], TN_ITER_SCAN);
        if (all)
            return home;
    }
    return NULL;
}

/* The layout that puts dimension `inner` of ndim innermost; NULL where it is already. */
static const tn_layout *inner_layout(tn_func *f, int ndim, int64_t inner)
{
    char text[40];
    int n = 0;
    const tn_layout *l = NULL;
    for (int d = 0; d < ndim; d++)
        text[n++] = (char)('A' + d);
    text[n++] = ':';
    for (int d = 0; d < ndim; d++)
        if (d != inner)
            text[n++] = (char)('A' + d);
    text[n++] = (char)('A' + inner);
    text[n] = 0;
    tn_status s = tn_layout_parse(f->ctx, text, NULL, &l);
    TN_ASSERT(s == TN_OK);
    return l;
}

const tn_expr *const *tn_box_dims(tn_sched *s, const tn_box *box)
{
    const tn_expr **dim = TN_NEW_N(s->arena, const tn_expr *, box->ndim);
    for (uint32_t d = 0; d < box->ndim; d++)
        dim[d] = box->extent[d];
    return dim;
}

tn_verdict tn_box_fits(const tn_box *box, tn_dtype t, int scope)
{
    int64_t bytes = tn_dtype_bytes(t), extent;
    for (uint32_t d = 0; d < box->ndim; d++) {
        if (!box->extent[d] || !tn_is_int(box->extent[d], &extent))
            return TN_REJECT_REGION;
        if (extent > (1 << 20) || (bytes *= extent) > (scope == TN_SCOPE_REGISTER ? 1 << 14 : 1 << 22))
            return TN_REJECT_SCOPE;
    }
    return TN_DONE;
}

void tn_sink_buffer(tn_sched *s, tn_stmt *home, uint32_t buffer, int scope, const tn_box *box)
{
    tn_buffer *b = &s->func->buffer[buffer];
    tn_stmt *decl = tn_decl_of(s->func, buffer);
    tn_stmt_remove(decl);
    tn_shift_accesses(s, home, buffer, buffer, box);
    b->scope = (uint8_t)scope;
    b->dim = tn_box_dims(s, box);
    b->layout = NULL;
    tn_body_insert(&home->u.loop.body, home->u.loop.body.first, decl);
}

tn_verdict tn_do_set_scope(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    const tn_arg *inner = tn_step_key(t, "inner");
    if (t->narg != 2 + (inner != NULL) || t->arg[0].key || t->arg[1].key)
        return TN_REJECT_ARITY;
    tn_stmt *b = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL;
    int scope = tn_scope_named(t->arg[1].s);
    if (!b || scope < 0)
        return TN_REJECT_NAME;
    const tn_stmt *result = tn_block_result(b); /* of a list */
    int64_t target = result ? (int64_t)result->u.store.buffer : tn_block_target(b);
    if (target < 0 || f->buffer[target].param >= 0 || f->buffer[target].ndim > 16)
        return TN_REJECT_SCOPE;
    if (inner && (inner->s || inner->i < 0 || inner->i >= f->buffer[target].ndim))
        return TN_REJECT_FACTOR;
    tn_stmt *decl = tn_decl_of(f, (uint32_t)target);
    int n;
    tn_stmt *home = common_loop(s, (uint32_t)target, &n);
    tn_box box;
    if (!decl || !home || tn_holds_tasks(home))
        return TN_REJECT_SCOPE;
    if (!tn_turn_box(s, home, (uint32_t)target, &box))
        return TN_REJECT_REGION;
    tn_verdict v = tn_box_fits(&box, f->buffer[target].dtype, scope);
    if (v != TN_DONE)
        return v;

    tn_sink_buffer(s, home, (uint32_t)target, scope, &box);
    f->buffer[target].layout = inner ? inner_layout(f, f->buffer[target].ndim, inner->i) : NULL;
    return TN_DONE;
}
