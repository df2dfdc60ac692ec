/* Questions about nests, blocks and regions that several steps ask; and the two tree edits they share. */
#include "schedule/sched_impl.h"

#include <string.h>

tn_stmt *tn_body_only(const tn_body *b) { return b->first && b->first == b->last ? b->first : NULL; }

typedef struct {
    void (*fn)(tn_stmt *, void *);
    void *user;
} each_block;

static bool visit_block(tn_stmt *s, void *user)
{
    each_block *e = user;
    if (s->kind != TN_S_BLOCK)
        return true;
    e->fn(s, e->user);
    return false; /* its rules are those of the blocks inside, too */
}

void tn_each_block(tn_stmt *root, void (*fn)(tn_stmt *block, void *user), void *user)
{
    each_block e = {fn, user};
    if (visit_block(root, &e)) {
        tn_body *body[2];
        int n = tn_stmt_bodies(root, body);
        for (int i = 0; i < n; i++)
            tn_stmt_walk(body[i], visit_block, NULL, &e);
    }
}

typedef struct {
    uint32_t buffer;
    bool found;
} load_search;

static bool is_load_of(const tn_expr *e, void *user)
{
    load_search *l = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer == l->buffer)
        l->found = true;
    return !l->found;
}

static const tn_expr *search_loads(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, is_load_of, user);
    return e;
}

typedef struct {
    uint32_t buffer;
    bool writes;
    int n, max;
    tn_stmt **out;
    tn_stmt *block;
} access_search;

static bool visit_access(tn_stmt *s, void *user)
{
    access_search *a = user;
    if (s->kind == TN_S_BLOCK && !(a->block && tn_stmt_inside(s, a->block)))
        a->block = s;
    bool hit = false;
    if (a->writes) {
        hit = s->kind == TN_S_STORE && s->u.store.buffer == a->buffer;
    } else {
        load_search l = {a->buffer, false};
        tn_stmt_exprs(s, search_loads, &l);
        hit = l.found;
    }
    tn_stmt *b = a->block && (s == a->block || tn_stmt_inside(s, a->block)) ? a->block : s;
    if (hit && (a->n == 0 || a->n > a->max || a->out[a->n - 1] != b)) {
        if (a->n < a->max)
            a->out[a->n] = b;
        a->n++;
    }
    return true;
}

int tn_blocks_accessing(tn_body *b, uint32_t buffer, bool writes, int max, tn_stmt *out[])
{
    access_search a = {buffer, writes, 0, max, out, NULL};
    tn_stmt_walk(b, visit_access, NULL, &a);
    return a.n;
}

typedef struct {
    const tn_stmt *block;
    uint32_t buffer;
    bool others;
} store_search;

static bool visit_store(tn_stmt *x, void *user)
{
    store_search *w = user;
    w->others |= x->kind == TN_S_STORE && x->u.store.buffer == w->buffer && !tn_stmt_inside(x, w->block);
    return !w->others;
}

bool tn_writes_alone(tn_sched *s, const tn_stmt *block, uint32_t buffer)
{
    store_search w = {block, buffer, false};
    tn_stmt_walk(&s->func->body, visit_store, NULL, &w);
    return !w.others;
}

int64_t tn_block_target(const tn_stmt *block)
{
    int64_t target = -1;
    for (const tn_stmt *s = block->u.block.body.first; s; s = s->next) {
        if (s->kind != TN_S_STORE || (target >= 0 && target != s->u.store.buffer))
            return -1;
        target = s->u.store.buffer;
    }
    return target;
}

typedef struct {
    uint32_t buffer;
    tn_stmt *found;
} decl_search;

static bool visit_decl(tn_stmt *s, void *user)
{
    decl_search *d = user;
    if (s->kind == TN_S_BUFFER && s->u.decl.buffer == d->buffer)
        d->found = s;
    return !d->found && s->kind != TN_S_BLOCK;
}

tn_stmt *tn_decl_of(tn_func *f, uint32_t buffer)
{
    decl_search d = {buffer, NULL};
    tn_stmt_walk(&f->body, visit_decl, NULL, &d);
    return d.found;
}

typedef struct {
    const tn_stmt *block, *result;
    int n;    /* stores to memory outside of the block */
    bool odd; /* one of them is not of its list, or a block stands inside */
} result_search;

static bool visit_own_decl(tn_stmt *x, void *user)
{
    decl_search *d = user;
    if (x->kind == TN_S_BUFFER && x->u.decl.buffer == d->buffer)
        d->found = x;
    return !d->found;
}

static bool visit_result(tn_stmt *x, void *user)
{
    result_search *r = user;
    r->odd |= x->kind == TN_S_BLOCK;
    if (x->kind != TN_S_STORE)
        return !r->odd;
    decl_search own = {x->u.store.buffer, NULL};
    tn_stmt_walk((tn_body *)(uintptr_t)&r->block->u.block.body, visit_own_decl, NULL, &own); /* only looks */
    if (!own.found) {
        r->odd |= tn_stmt_parent(x) != r->block;
        r->result = x;
        r->n++;
    }
    return true;
}

const tn_stmt *tn_block_result(const tn_stmt *block)
{
    result_search r = {.block = block};
    tn_stmt_walk((tn_body *)(uintptr_t)&block->u.block.body, visit_result, NULL, &r); /* only looks */
    return r.n == 1 && !r.odd ? r.result : NULL;
}

static const tn_stmt *block_around(const tn_stmt *s)
{
    do
        s = tn_stmt_parent(s);
    while (s && s->kind != TN_S_BLOCK);
    return s;
}

static bool is_parallel(tn_stmt *x, void *user)
{
    *(bool *)user |= x->kind == TN_S_FOR && x->u.loop.kind == TN_LOOP_PARALLEL;
    return true;
}

bool tn_holds_tasks(tn_stmt *loop)
{
    bool found = false;
    tn_stmt_walk(&loop->u.loop.body, is_parallel, NULL, &found);
    return found;
}

bool tn_block_scans(const tn_stmt *block)
{
    for (uint32_t i = 0; i < block->u.block.n_iter; i++)
        if (block->u.block.iter[i].kind == TN_ITER_SCAN)
            return true;
    return false;
}

bool tn_loop_feeds(tn_sched *s, const tn_stmt *loop, const tn_stmt *block, enum tn_iter_kind kind)
{
    const tn_stmt *around = block_around(block);
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        const tn_expr *value = around ? tn_block_over_loops(s, around, it->value) : it->value;
        if (it->kind == kind && tn_uses(value, loop->u.loop.var))
            return true;
    }
    return around && tn_loop_feeds(s, loop, around, kind);
}

void tn_block_add_mask(tn_sched *s, tn_stmt *block, const tn_expr *cond)
{
    const tn_expr *m = block->u.block.mask;
    block->u.block.mask = m ? tn_and(s->func->pool, m, cond) : cond;
}

/* Is `cond` already one of the terms of the conjunction m? */
static bool mask_has(const tn_expr *m, const tn_expr *cond)
{
    const tn_expr *todo[64];
    int n = 0;
    if (m)
        todo[n++] = m;
    while (n > 0) {
        const tn_expr *e = todo[--n];
        if (e == cond)
            return true;
        if (e->kind == TN_E_AND && n + 2 <= 64) {
            todo[n++] = e->src[0];
            todo[n++] = e->src[1];
        }
    }
    return false;
}

void tn_block_require(tn_sched *s, tn_stmt *block, const tn_expr *cond)
{
    if (!mask_has(block->u.block.mask, cond))
        tn_block_add_mask(s, block, cond);
}

void tn_block_guard_domain(tn_sched *s, tn_stmt *block)
{
    tn_pool *p = s->func->pool;
    tn_facts facts;
    const tn_expr *mask = block->u.block.mask;
    block->u.block.mask = NULL; /* facts must come from the loops alone */
    tn_stmt_facts(s->func, block, &facts);
    block->u.block.mask = mask;
    if (mask && !block->u.block.init.first) /* an init runs whatever the mask */
        tn_facts_assume(&facts, mask);
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        const tn_expr *value = tn_simplify(p, &facts, it->value);
        if (tn_prove(p, &facts, tn_lt(p, value, it->extent)) == 1)
            continue;
        tn_block_require(s, block, tn_lt(p, it->var, it->extent));
    }
    tn_facts_deinit(&facts);
}

void tn_block_guard_box(tn_sched *s, tn_stmt *block)
{
    tn_pool *p = s->func->pool;
    tn_facts facts;
    tn_stmt_facts(s->func, block, &facts);
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        if (tn_prove(p, &facts, tn_le(p, tn_idx(p, 0), tn_simplify(p, &facts, it->value))) != 1)
            tn_block_add_mask(s, block, tn_le(p, tn_idx(p, 0), it->var));
    }
    tn_facts_deinit(&facts);
    tn_block_guard_domain(s, block);
}

tn_verdict tn_plain_nest(tn_stmt *block, tn_stmt **out_top)
{
    tn_stmt *loop[TN_MAX_LOOPS];
    int n = tn_stmt_loops(block, TN_MAX_LOOPS, loop);
    if (n > TN_MAX_LOOPS || n != (int)block->u.block.n_iter)
        return TN_REJECT_NEST;
    for (int i = 0; i < n; i++) {
        const tn_stmt *child = i + 1 < n ? loop[i + 1] : block;
        if (tn_body_only(&loop[i]->u.loop.body) != child || loop[i]->u.loop.kind != TN_LOOP_SERIAL ||
            block->u.block.iter[i].value != loop[i]->u.loop.var)
            return TN_REJECT_NEST;
    }
    *out_top = n ? loop[0] : block;
    return TN_DONE;
}

tn_stmt *tn_own_loops(tn_stmt *block)
{
    tn_stmt *top = block;
    for (int i = (int)block->u.block.n_iter - 1; i >= 0; i--) {
        tn_stmt *l = tn_stmt_parent(top);
        if (!l || l->kind != TN_S_FOR || l->u.loop.kind != TN_LOOP_SERIAL ||
            tn_body_only(&l->u.loop.body) != top || block->u.block.iter[i].value != l->u.loop.var)
            return NULL;
        top = l;
    }
    return top;
}

bool tn_runs_before(tn_stmt *a, tn_stmt *b)
{
    const tn_stmt *top = tn_top_of(b), *at = tn_top_of(a)->next;
    while (at && at != top)
        at = at->next;
    return at != NULL;
}

const tn_expr *tn_block_over_loops(tn_sched *s, const tn_stmt *block, const tn_expr *e)
{
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS];
    uint32_t n = block->u.block.n_iter;
    TN_ASSERT(n <= TN_MAX_LOOPS);
    for (uint32_t i = 0; i < n; i++) {
        from[i] = block->u.block.iter[i].var;
        to[i] = block->u.block.iter[i].value;
    }
    e = tn_subst(s->func->pool, e, (int)n, from, to);
    const tn_stmt *around = block_around(block);
    return around ? tn_block_over_loops(s, around, e) : e;
}

int tn_loops_between(const tn_stmt *outer, const tn_stmt *s, int max, const tn_stmt *out[])
{
    int n = 0;
    for (const tn_stmt *p = tn_stmt_parent(s); p && p != outer; p = tn_stmt_parent(p))
        if (p->kind == TN_S_FOR && n < max)
            out[n++] = p;
    for (int i = 0; i < n / 2; i++) {
        const tn_stmt *t = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = t;
    }
    return n;
}

bool tn_region_1d(tn_sched *s, const tn_stmt *outer, const tn_stmt *at, const tn_expr *e,
                  const tn_expr **out_lo, const tn_expr **out_extent)
{
    const tn_stmt *loop[TN_MAX_LOOPS];
    const tn_expr *var[TN_MAX_LOOPS], *extent[TN_MAX_LOOPS], *lo, *hi;
    int n = tn_loops_between(outer, at, TN_MAX_LOOPS, loop);
    for (int i = 0; i < n; i++) {
        var[i] = loop[i]->u.loop.var;
        extent[i] = loop[i]->u.loop.extent;
    }
    tn_pool *p = s->func->pool;
    tn_facts facts;
    tn_stmt_facts(s->func, at, &facts);
    bool ok = tn_span(p, &facts, tn_simplify(p, &facts, e), n, var, extent, &lo, &hi);
    if (ok) {
        *out_lo = tn_simplify(p, &facts, lo);
        *out_extent = tn_simplify(p, &facts, tn_add(p, tn_sub(p, hi, lo), tn_idx(p, 1)));
    }
    tn_facts_deinit(&facts);
    return ok;
}

tn_stmt *tn_nest_top(tn_stmt *block, const tn_stmt *home)
{
    tn_stmt *top = block;
    for (tn_stmt *l = tn_stmt_parent(top);
         l && l != home && l->kind == TN_S_FOR && tn_body_only(&l->u.loop.body); l = tn_stmt_parent(l))
        top = l;
    return top;
}

int tn_own_iteration(const tn_stmt *block, const tn_expr *e)
{
    for (uint32_t i = 0; i < block->u.block.n_iter; i++)
        if (block->u.block.iter[i].var == e)
            return (int)i;
    return -1;
}

static bool only_own(const tn_expr *e, void *user)
{
    return e->kind != TN_E_VAR || tn_own_iteration(user, e) >= 0;
}

int tn_loop_terms(const tn_stmt *block, int max, const tn_expr *out[])
{
    const tn_expr *todo[64];
    int n = 0, k = 0;
    if (block->u.block.mask)
        todo[n++] = block->u.block.mask;
    while (n > 0) {
        const tn_expr *e = todo[--n];
        if (e->kind == TN_E_AND && n + 2 <= 64) {
            todo[n++] = e->src[0];
            todo[n++] = e->src[1];
        } else if (!tn_each(e, only_own, (void *)block)) {
            if (k == max)
                return -1;
            out[k++] = e;
        }
    }
    return k;
}

tn_verdict tn_own_nest(tn_stmt *block, tn_stmt **out_top)
{
    tn_stmt *at = block;
    for (tn_stmt *l = tn_stmt_parent(block); l; l = tn_stmt_parent(l)) {
        if (l->kind != TN_S_FOR || l->u.loop.kind == TN_LOOP_TENSOR || tn_body_only(&l->u.loop.body) != at)
            return TN_REJECT_NEST;
        at = l;
    }
    *out_top = at;
    return block->u.block.n_iter <= TN_MAX_LOOPS ? TN_DONE : TN_REJECT_NEST;
}

bool tn_is_domain(const tn_stmt *block, const tn_expr *e)
{
    int i = e->kind == TN_E_LT ? tn_own_iteration(block, e->src[0]) : -1;
    return i >= 0 && e->src[1] == block->u.block.iter[i].extent;
}

/* A mask without the conditions that are on loops, and those that all iterations of a plain nest meet. */
static const tn_expr *own_terms(tn_pool *p, const tn_stmt *block, const tn_expr *mask)
{
    if (mask && mask->kind == TN_E_AND) {
        const tn_expr *a = own_terms(p, block, mask->src[0]), *b = own_terms(p, block, mask->src[1]);
        return a && b ? tn_and(p, a, b) : a ? a : b;
    }
    return mask && !tn_is_domain(block, mask) && tn_each(mask, only_own, (void *)block) ? mask : NULL;
}

tn_stmt *tn_nest_anew(tn_sched *s, tn_stmt *block)
{
    tn_func *f = s->func;
    tn_stmt *old = tn_nest_top(block, NULL), *top = block;
    tn_body *home = old->list;
    tn_stmt *next = old->next;
    for (tn_stmt *l = tn_stmt_parent(block); l; l = tn_stmt_parent(l))
        tn_sched_consume(s, l);
    tn_stmt_remove(block);
    if (old != block)
        tn_stmt_remove(old);
    block->u.block.mask = own_terms(f->pool, block, block->u.block.mask);
    for (uint32_t i = block->u.block.n_iter; i-- > 0;) {
        tn_iter *it = &block->u.block.iter[i];
        it->value = tn_func_add_var(f, tn_sched_var_name(s, it->var), TN_IDX);
        tn_stmt *l = tn_stmt_for(f, it->value, it->extent, TN_LOOP_SERIAL);
        tn_body_append(&l->u.loop.body, top);
        top = l;
    }
    tn_body_insert(home, next, top);
    return top;
}

void tn_take_loop_terms(tn_sched *s, const tn_stmt *from, tn_stmt *to, int n, const tn_expr *const old[],
                        const tn_expr *const fresh[])
{
    const tn_expr *term[TN_MAX_TERMS];
    int k = tn_loop_terms(from, TN_MAX_TERMS, term);
    TN_ASSERT(k >= 0); /* refused before */
    for (int i = 0; i < k; i++) {
        bool reduce = false;
        for (const tn_stmt *l = tn_stmt_parent(from); l; l = tn_stmt_parent(l))
            reduce |= l->kind == TN_S_FOR && tn_uses(term[i], l->u.loop.var) &&
                      tn_loop_feeds(s, l, from, TN_ITER_REDUCE);
        for (uint32_t j = 0; j < from->u.block.n_iter; j++)
            reduce |= tn_uses(term[i], from->u.block.iter[j].var);
        if (!reduce)
            tn_block_add_mask(s, to, tn_subst(s->func->pool, term[i], n, old, fresh));
    }
}

bool tn_twin_legal(tn_sched *s, tn_stmt *block, const tn_stmt *home, const tn_stmt *skip)
{
    const tn_stmt *top = tn_nest_top(block, home);
    const tn_expr *term[TN_MAX_TERMS];
    if (block->u.block.n_iter > TN_MAX_LOOPS || tn_loop_terms(block, TN_MAX_TERMS, term) < 0)
        return false;
    for (const tn_stmt *l = tn_stmt_parent(top); l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR &&
            (tn_loop_feeds(s, l, block, TN_ITER_REDUCE) || tn_loop_feeds(s, l, block, TN_ITER_SCAN)))
            return false; /* its result is not whole before that loop ends */
    for (const tn_stmt *l = block; l != top;) {
        l = tn_stmt_parent(l);
        bool spatial = tn_loop_feeds(s, l, block, TN_ITER_SPATIAL),
             reduce = tn_loop_feeds(s, l, block, TN_ITER_REDUCE);
        if (l == skip || (!spatial && !reduce && tn_is_value(l->u.loop.extent, 1)))
            continue;
        if (spatial == reduce || l->u.loop.kind != TN_LOOP_SERIAL)
            return false;
    }
    return true;
}

void tn_twin_make(tn_sched *s, tn_stmt *block, const tn_stmt *home, const tn_stmt *skip, const char *name,
                  int extra, tn_twin *out)
{
    tn_func *f = s->func;
    const tn_stmt *top = tn_nest_top(block, home);
    *out = (tn_twin){0};
    for (uint32_t i = 0; i < block->u.block.n_iter; i++)
        out->n += block->u.block.iter[i].kind == TN_ITER_SPATIAL;
    out->block = out->top = tn_stmt_block(f, name, block->u.block.tag, out->n + extra);
    out->block->u.block.source = block->u.block.source;
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS];
    int n = 0;
    for (const tn_stmt *l = block; l != top && n < TN_MAX_LOOPS;) {
        l = tn_stmt_parent(l);
        if (l == skip)
            continue;
        from[n] = l->u.loop.var;
        if (!tn_loop_feeds(s, l, block, TN_ITER_SPATIAL)) {
            if (tn_is_value(l->u.loop.extent, 1) && !tn_loop_feeds(s, l, block, TN_ITER_REDUCE))
                to[n++] = tn_idx(f->pool, 0); /* terms may speak of it */
            continue;
        }
        to[n] = tn_func_add_var(f, tn_sched_var_name(s, l->u.loop.var), TN_IDX);
        tn_stmt *copy = tn_stmt_for(f, to[n++], l->u.loop.extent, TN_LOOP_SERIAL);
        tn_body_append(&copy->u.loop.body, out->top);
        out->top = copy;
    }
    int k = 0;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        tn_iter it = block->u.block.iter[i];
        if (it.kind != TN_ITER_SPATIAL)
            continue;
        out->old[k] = it.var;
        out->fresh[k] = it.var = tn_func_add_var(f, tn_sched_var_name(s, it.var), TN_IDX);
        it.value = tn_subst(f->pool, it.value, n, from, to);
        out->block->u.block.iter[k++] = it;
    }
    tn_take_loop_terms(s, block, out->block, n, from, to);
}

void tn_block_need(tn_sched *s, tn_stmt *block, const tn_expr *cond)
{
    tn_pool *p = s->func->pool;
    tn_facts facts;
    tn_stmt_facts(s->func, block, &facts);
    if (cond->kind == TN_E_AND) {
        tn_block_need(s, block, cond->src[0]);
        tn_block_need(s, block, cond->src[1]);
    } else if (tn_prove(p, &facts, tn_block_over_loops(s, block, cond)) != 1) {
        tn_block_add_mask(s, block, tn_simplify(p, &facts, cond));
    }
    tn_facts_deinit(&facts);
}

/* Is it a bound on what grows with the variables? Then it holds where they are 0, or nowhere. */
static bool is_bound(tn_pool *p, const tn_expr *cond, int n, const tn_expr *const var[])
{
    const tn_expr *coef, *rest;
    int64_t k;
    bool bound = (cond->kind == TN_E_LT || cond->kind == TN_E_LE) && tn_dtype_is_index(cond->src[0]->dtype);
    for (int i = 0; i < n && bound; i++)
        bound = tn_linear(p, NULL, tn_sub(p, cond->src[0], cond->src[1]), var[i], &coef, &rest) &&
                tn_is_int(coef, &k) && k >= 0;
    return bound;
}

bool tn_first_turn(tn_sched *s, const tn_stmt *block, int n, const tn_expr *const var[], const tn_expr **out)
{
    tn_pool *p = s->func->pool;
    const tn_expr *todo[64], *zero[TN_MAX_LOOPS];
    int k = 0;
    bool whole = true;
    *out = NULL;
    for (int i = 0; i < n; i++)
        zero[i] = tn_idx(p, 0);
    if (block->u.block.mask)
        todo[k++] = tn_block_over_loops(s, block, block->u.block.mask);
    while (k > 0) {
        const tn_expr *e = todo[--k];
        bool moves = false;
        if (e->kind == TN_E_AND && k + 2 <= 64) {
            todo[k++] = e->src[1];
            todo[k++] = e->src[0];
            continue;
        }
        for (int i = 0; i < n; i++)
            moves |= tn_uses(e, var[i]);
        if (moves && !is_bound(p, e, n, var)) {
            whole = false;
            continue;
        }
        e = tn_subst(p, e, n, var, zero);
        *out = *out ? tn_and(p, *out, e) : e;
    }
    return whole;
}

static const tn_expr *guard_load(tn_pool *p, const tn_expr *e, void *user)
{
    const tn_expr *mask = user;
    if (e->kind != TN_E_LOAD)
        return NULL;
    const tn_expr *old = tn_load_mask(e), *other = tn_load_other(e);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)e->u.load.n_index, e->src,
                   old ? tn_and(p, mask, old) : mask, other ? other : tn_const(p, e->dtype, 0));
}

const tn_expr *tn_guard_loads(tn_pool *p, const tn_expr *e, const tn_expr *mask)
{
    return e->has_load ? tn_rewrite(p, e, guard_load, (void *)(uintptr_t)mask) : e;
}
