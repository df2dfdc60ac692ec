/* LowerBlocks: a block becomes its statements over loop variables.
 *
 * The init runs where all reduce iterations are 0, also those of a loop without iterations
 * (tn_func_begin_empty). A mask becomes an IF around the body, but for one case: where the target lives in
 * registers or task-local memory, the terms that only keep spatial iterations inside their extent are dropped
 * from the store (cells outside are unspecified). Loads of memory stay inside all the same: the last
 * iteration stands for those beyond it, lanes are masked. So the common tail of a tile has no branches, and what
 * reads a tile in whole lanes reads what has been written. It is not done where an operation may be undefined
 * for what a padded lane holds (an index divided, a shift, by what is loaded; an index that memory of the task says and
 * that may be outside), nor where data say the place of the store, nor for iterations of which the buffer does not hold
 * the padded ones, nor where memory is read that lists of statements fill under their masks: the terms are dropped from
 * a list of values and stores if they are from each of its stores, from other lists never.
 */
#include "lower/lower_impl.h"

typedef struct {
    tn_func *f;
    const bool *partial; /* by buffer: memory of a task that padded iterations do not fill */
    const tn_stmt *block;
    const tn_expr **from, **to; /* iteration variables and their values */
    int n, n_domain;
    const tn_expr *domain[TN_MAX_TERMS]; /* terms of its mask that are domains, not bound */
    const tn_expr *rest;                 /* the others, not bound; NULL: none */
    tn_facts facts;                      /* at the block, its mask aside */
} binding;

static const tn_expr *bind(const binding *b, const tn_expr *e)
{
    return tn_subst(b->f->pool, e, b->n, b->from, b->to);
}

/* The domain of a spatial iteration, `i < extent` over its variable, if that is what the term says; else NULL. */
static const tn_expr *domain_term(tn_pool *p, const tn_stmt *block, const tn_expr *term)
{
    if (term->kind != TN_E_LT)
        return NULL;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        if (it->kind == TN_ITER_SPATIAL && (term->src[0] == it->var || term->src[0] == it->value) &&
            term->src[1] == it->extent)
            return tn_lt(p, it->var, it->extent);
    }
    return NULL;
}

/* ---- reads of padded iterations ---- */

typedef struct {
    const binding *b;
    /* iter < extent; last: the iteration that stands for those outside, NULL: a mask does */
    const tn_expr *term, *iter, *last;
} domain;

static bool is_own(const binding *b, const tn_expr *var)
{
    bool own = false;
    for (int i = 0; i < b->n; i++)
        own |= b->from[i] == var;
    return own;
}

static bool is_constant(const tn_expr *e, void *user)
{
    (void)user;
    return e->kind != TN_E_VAR && e->kind != TN_E_LOAD;
}

/* Is it no name of a value, which may be of any variable? */
static bool is_no_name(const tn_expr *e, void *user)
{
    bool known = e->kind != TN_E_VAR;
    for (const tn_stmt *s = tn_stmt_parent(user); s && !known; s = tn_stmt_parent(s)) {
        known = s->kind == TN_S_FOR && s->u.loop.var == e;
        for (uint32_t i = 0; s->kind == TN_S_BLOCK && i < s->u.block.n_iter; i++)
            known |= s->u.block.iter[i].var == e;
    }
    return known;
}

/* Does a loop around the block, in the block around it, go through the same values of var whatever `iter` is? */
static bool is_loop_apart(const domain *w, const tn_expr *var)
{
    const tn_stmt *block = w->b->block, *s = tn_stmt_parent(block);
    const tn_expr *at = bind(w->b, w->iter);
    while (s && s->kind != TN_S_BLOCK && !(s->kind == TN_S_FOR && s->u.loop.var == var))
        s = tn_stmt_parent(s);
    return s && s->kind == TN_S_FOR && tn_each(s->u.loop.extent, is_constant, NULL) && !tn_uses(at, var) &&
           tn_each(at, is_no_name, (void *)(uintptr_t)block);
}

/* Is e free of `iter` and of variables that may stand for it? */
static bool is_apart(const tn_expr *e, void *user)
{
    const domain *w = user;
    return e->kind != TN_E_VAR || (e != w->iter && (is_own(w->b, e) || is_loop_apart(w, e)));
}

/* Does the padded iteration read a cell that the layout fills? Such a load needs no mask. */
static bool is_filled(domain *w, const tn_expr *load)
{
    tn_pool *p = w->b->f->pool;
    const tn_buffer *b = &w->b->f->buffer[load->u.load.buffer];
    const tn_expr *at = tn_simplify(p, &w->b->facts, bind(w->b, w->iter));
    if (!b->layout || b->layout->fill != TN_FILL_VALUE)
        return false;
    for (uint32_t d = 0; d < load->u.load.n_index; d++) {
        const tn_expr *end = tn_layout_readable(p, b->layout, (int)d, b->dim[d]);
        if (load->src[d] == w->iter ? tn_prove(p, &w->b->facts, tn_lt(p, at, end)) != 1
                                    : !tn_each(load->src[d], is_apart, w))
            return false;
    }
    return true;
}

/* Is the element of dimension d in the buffer in every iteration of the loops around, masked or not? */
static bool is_inside(const binding *b, const tn_expr *index, uint32_t buffer, uint32_t d)
{
    tn_pool *p = b->f->pool;
    const tn_expr *i = tn_simplify(p, &b->facts, bind(b, index));
    return tn_prove(p, &b->facts,
                    tn_and(p, tn_le(p, tn_idx(p, 0), i), tn_lt(p, i, b->f->buffer[buffer].dim[d]))) == 1;
}

/* Memory of the task may have been made large enough for padded iterations, as a reader with fewer lanes asked. */
static bool reads_inside(const binding *b, const tn_expr *load)
{
    for (uint32_t d = 0; d < load->u.load.n_index; d++)
        if (!is_inside(b, load->src[d], load->u.load.buffer, d))
            return false;
    return true;
}

static bool is_iteration(const tn_expr *e, void *user)
{
    const domain *w = user;
    return e->kind != TN_E_VAR || is_own(w->b, e);
}

/* A load whose index the domain bounds reads the last iteration's element where the iteration is outside, or has the
 * domain as a mask. */
static const tn_expr *keep_inside(tn_pool *p, const tn_expr *e, void *user)
{
    domain *w = user;
    tn_func *f = w->b->f;
    if (e->kind != TN_E_LOAD)
        return NULL;
    bool matters = false, own = f->buffer[e->u.load.buffer].scope != TN_SCOPE_GLOBAL;
    for (uint32_t d = 0; d < e->u.load.n_index; d++)
        matters |= !tn_each(e->src[d], is_apart, user);
    if (!matters || (own ? reads_inside(w->b, e) : is_filled(w, e)))
        return NULL;
    if (w->last && tn_each(e, is_iteration, user))
        return tn_subst(p, e, 1, &w->iter, &w->last);
    const tn_expr *mask = tn_load_mask(e), *other = tn_load_other(e);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)e->u.load.n_index, e->src, tn_both(p, w->term, mask),
                   other ? other : tn_const(p, e->dtype, 0));
}

/* Lanes next to each other must read next to each other: they are masked. */
static bool is_lane(const binding *b, const tn_expr *iter)
{
    for (int i = 0; i < b->n; i++)
        for (const tn_stmt *s = tn_stmt_parent(b->block); s && b->from[i] == iter; s = tn_stmt_parent(s))
            if (tn_is_lane_loop(s) && tn_uses(b->to[i], s->u.loop.var))
                return true;
    return false;
}

static const tn_expr *last_of(const binding *b, const tn_expr *term)
{
    tn_pool *p = b->f->pool;
    const tn_expr *iter = term->src[0];
    return is_lane(b, iter) ? NULL : tn_min(p, iter, tn_sub(p, term->src[1], tn_idx(p, 1)));
}

/* The condition of a store whose padded iterations are computed too: that of the iterations which stand for them. The
 * loads rely on it. */
static const tn_expr *pad_condition(const binding *b, const tn_expr *cond, int n, const tn_expr *const term[])
{
    for (int i = 0; cond && i < n; i++) {
        const tn_expr *last = last_of(b, term[i]);
        if (last)
            cond = tn_subst(b->f->pool, cond, 1, &term[i]->src[0], &last);
    }
    return cond;
}

/* The value of a store whose padded iterations are computed too; terms as `i < extent` over the block's iterations. */
static const tn_expr *pad_reads(const binding *b, const tn_expr *value, int n, const tn_expr *const term[])
{
    tn_pool *p = b->f->pool;
    for (int i = 0; i < n; i++) {
        const tn_expr *iter = term[i]->src[0];
        domain w = {b, term[i], iter, last_of(b, term[i])};
        value = tn_rewrite(p, value, keep_inside, &w);
    }
    return value;
}

/* ---- placing ---- */

typedef struct {
    const tn_expr *other;
    bool found;
} shared;

static bool is_shared(const tn_expr *e, void *user)
{
    shared *w = user;
    w->found = w->found || (e->kind == TN_E_VAR && tn_uses(w->other, e));
    return !w->found;
}

/* Do the indices, bound, share a variable? */
static bool depends(const binding *b, const tn_expr *index, const tn_expr *iter)
{
    shared w = {bind(b, iter), false};
    (void)tn_each(bind(b, index), is_shared, &w);
    return w.found;
}

/* Does every iteration of the loops around, inside the domain of `iter` or not, store inside the buffer? */
static bool stays_inside(const binding *b, const tn_stmt *s, const tn_expr *iter)
{
    for (uint32_t d = 0; d < s->u.store.n_index; d++)
        if (depends(b, s->u.store.index[d], iter) && !is_inside(b, s->u.store.index[d], s->u.store.buffer, d))
            return false;
    return true;
}

/* Does e read no memory of a task? */
static bool is_far(const tn_expr *e, void *user)
{
    const binding *b = user;
    return e->kind != TN_E_LOAD || b->f->buffer[e->u.load.buffer].scope == TN_SCOPE_GLOBAL;
}

/* Is memory that the load reads filled in padded iterations, too, and its place inside whatever they hold? */
static bool reads_filled(const tn_expr *e, void *user)
{
    binding *b = user;
    if (e->kind != TN_E_LOAD)
        return true;
    bool filled = !b->partial[e->u.load.buffer];
    for (uint32_t d = 0; d < e->u.load.n_index && filled; d++)
        filled = tn_each(e->src[d], is_far, b) || is_inside(b, e->src[d], e->u.load.buffer, d);
    return filled;
}

/* Is the value defined in padded iterations, too? */
static bool is_safe(const binding *b, const tn_expr *value)
{
    return tn_each(value, tn_is_total, NULL) && tn_each(value, reads_filled, (void *)(uintptr_t)b);
}

static bool is_index(const tn_expr *e, void *user) { return e->kind != TN_E_LOAD && tn_is_total(e, user); }

/* May domain terms be moved from this store to its loads? Not where data say its place: that of a padded iteration may
 * be another one's. */
static bool relaxed(const binding *b, const tn_stmt *s)
{
    bool placed = s->kind == TN_S_STORE && !s->u.store.mask;
    for (uint32_t d = 0; placed && d < s->u.store.n_index; d++)
        placed = tn_each(s->u.store.index[d], is_index, NULL);
    return placed && b->f->buffer[s->u.store.buffer].scope != TN_SCOPE_GLOBAL && is_safe(b, s->u.store.value);
}

static bool is_store(const tn_stmt *s) { return s->kind == TN_S_STORE; }

static bool holds_stores_only(const tn_body *list)
{
    for (const tn_stmt *s = list->first; s; s = s->next)
        if (!is_store(s))
            return false;
    return true;
}

typedef struct {
    const binding *b;
    int n;
    const tn_expr **var, **value; /* of the list so far, written out */
} named;

static const tn_expr *written_out(const named *w, const tn_expr *e)
{
    return tn_subst(w->b->f->pool, e, w->n, w->var, w->value);
}

static bool store_moves(const named *w, const tn_stmt *s, int n_domain, const tn_expr *const term[])
{
    const tn_expr **index = TN_NEW_N(w->b->f->arena, const tn_expr *, s->u.store.n_index);
    tn_stmt plain = *s;
    for (uint32_t d = 0; d < s->u.store.n_index; d++)
        index[d] = written_out(w, s->u.store.index[d]);
    plain.u.store.index = index;
    plain.u.store.value = written_out(w, s->u.store.value);
    bool moves = relaxed(w->b, &plain);
    for (int i = 0; i < n_domain && moves; i++)
        moves = stays_inside(w->b, &plain, term[i]->src[0]);
    return moves;
}

/* May the domain terms be moved from a list of values and stores to its loads? */
static bool list_moves(const binding *b, const tn_body *list, int n_domain, const tn_expr *const term[])
{
    uint32_t n = 0;
    for (const tn_stmt *s = list->first; s; s = s->next)
        n += s->kind == TN_S_LET;
    named w = {b, 0, TN_NEW_N(b->f->arena, const tn_expr *, n), TN_NEW_N(b->f->arena, const tn_expr *, n)};
    bool moves = n_domain > 0;
    for (const tn_stmt *s = list->first; s && moves; s = s->next) {
        if (s->kind == TN_S_LET) {
            w.var[w.n] = s->u.let.var;
            w.value[w.n] = written_out(&w, s->u.let.value);
            w.n++;
        }
        moves = s->kind == TN_S_LET ? is_safe(b, w.value[w.n - 1])
                                    : is_store(s) && store_moves(&w, s, n_domain, term);
    }
    return moves;
}

/* A list of other statements than stores moves as a whole: what one names, those behind it use. */
static void place_list(const binding *b, tn_body *from, tn_stmt *at, const tn_expr *cond)
{
    tn_func *f = b->f;
    for (tn_stmt *s = from->first; s; s = s->next)
        tn_stmt_subst(f, s, b->n, b->from, b->to);
    if (!cond) {
        tn_body_move(at->list, at, from);
        return;
    }
    tn_stmt *i = tn_stmt_if(f, bind(b, cond));
    tn_body_move(&i->u.cond.then, NULL, from);
    tn_body_insert(at->list, at, i);
}

static void pad_list(const binding *b, tn_body *list, int n, const tn_expr *const term[])
{
    for (tn_stmt *s = list->first; s; s = s->next)
        if (is_store(s))
            s->u.store.value = pad_reads(b, s->u.store.value, n, term);
        else
            s->u.let.value = pad_reads(b, s->u.let.value, n, term);
}

/* Moves the statements of `from` before `at`, bound, under the domain terms and the rest (neither is bound). */
static void place(const binding *b, tn_body *from, tn_stmt *at, int n_domain, const tn_expr *const term[],
                  const tn_expr *rest)
{
    tn_func *f = b->f;
    tn_pool *p = f->pool;
    const tn_expr *dom = tn_terms_join(p, n_domain, term), *all = tn_both(p, dom, rest);
    tn_stmt *next;
    if (!holds_stores_only(from)) {
        bool moves = list_moves(b, from, n_domain, term);
        if (moves)
            pad_list(b, from, n_domain, term);
        place_list(b, from, at, moves ? pad_condition(b, rest, n_domain, term) : all);
        return;
    }
    for (tn_stmt *s = from->first; s; s = next) {
        next = s->next;
        tn_stmt_remove(s);
        const tn_expr *moved[TN_MAX_TERMS], *cond = rest;
        int n_moved = 0;
        for (int i = 0; i < n_domain; i++)
            if (relaxed(b, s) && stays_inside(b, s, term[i]->src[0]))
                moved[n_moved++] = term[i];
            else
                cond = tn_both(p, term[i], cond);
        cond = pad_condition(b, cond, n_moved, moved);
        s->u.store.value = pad_reads(b, s->u.store.value, n_moved, moved);
        tn_stmt_subst(f, s, b->n, b->from, b->to);
        if (cond) {
            tn_stmt *i = tn_stmt_if(f, bind(b, cond));
            tn_body_append(&i->u.cond.then, s);
            s = i;
        }
        tn_body_insert(at->list, at, s);
    }
}

static void bind_block(tn_func *f, const bool *partial, tn_stmt *s, binding *b)
{
    uint32_t n = s->u.block.n_iter;
    const tn_expr *mask = s->u.block.mask, *term[TN_MAX_TERMS];
    *b = (binding){.f = f,
                   .partial = partial,
                   .block = s,
                   .from = TN_NEW_N(f->arena, const tn_expr *, n),
                   .to = TN_NEW_N(f->arena, const tn_expr *, n),
                   .n = (int)n};
    s->u.block.mask = NULL;
    tn_stmt_facts(f, s, &b->facts);
    s->u.block.mask = mask;
    for (uint32_t i = 0; i < n; i++) {
        b->from[i] = s->u.block.iter[i].var;
        b->to[i] = s->u.block.iter[i].value;
    }
    int k = mask ? tn_terms(mask, term) : 0;
    for (int i = 0; i < k; i++) {
        const tn_expr *d = domain_term(f->pool, s, term[i]);
        if (d)
            b->domain[b->n_domain++] = d;
        else
            b->rest = tn_both(f->pool, b->rest, term[i]);
    }
}

/* ---- memory that padded iterations do not fill ---- */

typedef struct {
    tn_func *f;
    bool *partial;
    const tn_stmt **decl; /* by buffer */
    bool grows;
    const tn_stmt *list; /* asked last; NULL: none, or there is new partial memory */
    bool moves;
} filling;

static bool note_decl(tn_stmt *s, void *user)
{
    if (s->kind == TN_S_BUFFER)
        ((filling *)user)->decl[s->u.decl.buffer] = s;
    return true;
}

static bool is_global(const tn_expr *e, void *user)
{
    return e->kind != TN_E_LOAD ||
           ((const filling *)user)->f->buffer[e->u.load.buffer].scope == TN_SCOPE_GLOBAL;
}

/* Is the index inside whatever the memory of a task holds that says it? */
static bool is_bounded(const filling *w, const tn_expr *index, const tn_expr *extent)
{
    tn_pool *p = w->f->pool;
    return tn_each(index, is_global, (void *)(uintptr_t)w) ||
           tn_prove(p, NULL, tn_and(p, tn_le(p, tn_idx(p, 0), index), tn_lt(p, index, extent))) == 1;
}

static bool reads_whole(const tn_expr *e, void *user)
{
    const filling *w = user;
    bool whole = e->kind != TN_E_LOAD || !w->partial[e->u.load.buffer];
    for (uint32_t d = 0; e->kind == TN_E_LOAD && whole && d < e->u.load.n_index; d++)
        whole = is_bounded(w, e->src[d], w->f->buffer[e->u.load.buffer].dim[d]);
    return whole;
}

/* Does the store begin with what the cell holds? */
static bool updates(const tn_expr *e, const tn_stmt *s)
{
    bool same = e->kind == TN_E_LOAD && e->u.load.buffer == s->u.store.buffer;
    for (uint32_t d = 0; d < s->u.store.n_index && same; d++)
        same = e->src[d] == s->u.store.index[d];
    for (int i = 0; i < e->nsrc && !same; i++)
        same = e->src[i]->has_load && updates(e->src[i], s);
    return same;
}

/* May it stay under its mask (`relaxed`), and leave a cell as nobody filled it? */
static bool may_be_left_out(const filling *w, const tn_stmt *s)
{
    if (updates(s->u.store.value, s))
        return false;
    return s->u.store.mask || !tn_each(s->u.store.value, tn_is_total, NULL) ||
           !tn_each(s->u.store.value, reads_whole, (void *)(uintptr_t)w);
}

/* Does the block leave cells as nobody filled them where its mask fails? A list that is more than stores stays under it
 * as a whole, unless it moves. */
static bool leaves_out(filling *w, tn_stmt *block, const tn_stmt *s)
{
    const tn_body *list = &block->u.block.body;
    binding b;
    if (holds_stores_only(list))
        return may_be_left_out(w, s);
    if (w->list == block)
        return !w->moves;
    bind_block(w->f, w->partial, block, &b);
    w->list = block;
    w->moves = !b.rest && list_moves(&b, list, b.n_domain, b.domain);
    tn_facts_deinit(&b.facts);
    return !w->moves;
}

/* A list under a mask stores nothing where the mask fails, and neither does a store that stays under its own. What is
 * declared inside of the list is gone by then. */
static bool note_store(tn_stmt *s, void *user)
{
    filling *w = user;
    if (s->kind != TN_S_STORE || w->partial[s->u.store.buffer] ||
        w->f->buffer[s->u.store.buffer].scope == TN_SCOPE_GLOBAL)
        return true;
    const tn_stmt *decl = w->decl[s->u.store.buffer];
    bool partial = false;
    for (tn_stmt *x = tn_stmt_parent(s); x && !partial && !(decl && tn_stmt_inside(decl, x));
         x = tn_stmt_parent(x))
        partial = x->kind == TN_S_BLOCK && x->u.block.mask && leaves_out(w, x, s);
    w->partial[s->u.store.buffer] = partial;
    w->grows |= partial;
    w->list = partial ? NULL : w->list;
    return true;
}

static const bool *find_partial(tn_func *f)
{
    filling w = {.f = f,
                 .partial = TN_NEW_N(f->arena, bool, f->n_buffer),
                 .decl = TN_NEW_N(f->arena, const tn_stmt *, f->n_buffer),
                 .grows = true};
    tn_stmt_walk(&f->body, note_decl, NULL, &w);
    while (w.grows) {
        w.grows = false;
        tn_stmt_walk(&f->body, note_store, NULL, &w);
    }
    return w.partial;
}

/* ---- blocks ---- */

static void lower_block(tn_func *f, const bool *partial, tn_stmt *s)
{
    tn_pool *p = f->pool;
    const tn_expr *first = NULL, *init_domain[TN_MAX_TERMS];
    int n_init = 0;
    binding b;
    bind_block(f, partial, s, &b);
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        if (it->kind == TN_ITER_REDUCE) {
            const tn_expr *zero = tn_eq(p, it->value, tn_idx(p, 0));
            first = tn_both(p, first, zero);
        } else if (s->u.block.init.first && n_init < TN_MAX_TERMS &&
                   tn_prove(p, &b.facts, tn_lt(p, tn_simplify(p, &b.facts, it->value), it->extent)) != 1) {
            init_domain[n_init++] = tn_lt(p, it->var, it->extent);
        }
    }
    s->u.block.mask = NULL;
    place(&b, &s->u.block.init, s, n_init, init_domain, first);
    place(&b, &s->u.block.body, s, b.n_domain, b.domain, b.rest);
    tn_stmt_remove(s);
    tn_facts_deinit(&b.facts);
}

static void lower_body(tn_func *f, const bool *partial, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        tn_body *inner[2];
        if (s->kind == TN_S_BLOCK) {
            lower_body(f, partial, &s->u.block.body, depth + 1);
            lower_block(f, partial, s);
            continue;
        }
        int n = tn_stmt_bodies(s, inner);
        for (int i = 0; i < n; i++)
            lower_body(f, partial, inner[i], depth + 1);
    }
}

tn_status tn_lower_blocks(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_func_begin_empty(f);
    lower_body(f, find_partial(f), &f->body, 0);
    return TN_OK;
}
