/* Simplify: every expression under the facts of its place; decided conditions, loops of one iteration and empty
 * statements go away. */
#include "lower/lower_impl.h"

typedef struct {
    tn_func *f;
    tn_facts facts;
} walk;

/* The same for all lanes: 1 or 0; otherwise -1. */
static int decided(const tn_expr *mask)
{
    const tn_expr *e = mask->kind == TN_E_SPLAT ? mask->src[0] : mask;
    return e->kind == TN_E_INT ? e->u.i != 0 : -1;
}

/* A mask that is decided goes away. */
static const tn_expr *clean_load(tn_pool *p, const tn_expr *e, void *user)
{
    (void)user;
    int known = e->kind == TN_E_LOAD && tn_load_mask(e) ? decided(tn_load_mask(e)) : -1;
    if (known < 0)
        return NULL;
    if (!known)
        return tn_load_other(e);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)e->u.load.n_index, e->src, NULL, NULL);
}

static const tn_expr *simplify(const tn_expr *e, void *user)
{
    walk *w = user;
    e = tn_simplify(w->f->pool, &w->facts, e);
    return e->has_load ? tn_rewrite(w->f->pool, e, clean_load, NULL) : e;
}

static void body(walk *w, tn_body *b, int depth);

/* Puts the statements of `from` in place of s and continues with the first of them. */
static tn_stmt *splice(tn_stmt *s, tn_body *from)
{
    tn_stmt *first = from->first ? from->first : s->next;
    tn_body_move(s->list, s, from);
    tn_stmt_remove(s);
    return first;
}

static tn_stmt *loop(walk *w, tn_stmt *s, int depth)
{
    tn_pool *p = w->f->pool;
    tn_stmt *next = s->next;
    int64_t n;
    if (tn_is_int(s->u.loop.extent, &n) && n <= 0) {
        tn_stmt_remove(s);
        return next;
    }
    if (n == 1 && s->u.loop.extent->kind == TN_E_INT && s->u.loop.kind != TN_LOOP_PARALLEL &&
        s->u.loop.kind != TN_LOOP_TENSOR) {
        const tn_expr *from = s->u.loop.var, *to = tn_idx(p, 0);
        for (tn_stmt *c = s->u.loop.body.first; c; c = c->next)
            tn_stmt_subst(w->f, c, 1, &from, &to);
        return splice(s, &s->u.loop.body);
    }
    tn_facts_mark mark = tn_facts_here(&w->facts);
    tn_facts_loop(p, &w->facts, s->u.loop.var, s->u.loop.extent);
    body(w, &s->u.loop.body, depth + 1);
    tn_facts_release(&w->facts, mark);
    if (!s->u.loop.body.first)
        tn_stmt_remove(s);
    return next;
}

/* What holds inside `if cond`, but for conditions on lanes: they are masks, and an index must not lose its
 * lane because only one lane is left. */
static void assume(walk *w, const tn_stmt *s, const tn_expr *cond)
{
    const tn_expr *term[TN_MAX_TERMS];
    int n = cond->has_load ? 0 : tn_terms(cond, term);
    for (int i = 0; i < n; i++) {
        bool lane = false;
        for (const tn_stmt *l = s; l; l = tn_stmt_parent(l))
            lane |= tn_is_lane_loop(l) && tn_uses(term[i], l->u.loop.var);
        if (!lane)
            tn_facts_assume(&w->facts, term[i]);
    }
}

static tn_stmt *branch(walk *w, tn_stmt *s, int depth)
{
    tn_pool *p = w->f->pool;
    tn_stmt *next = s->next;
    int known = tn_prove(p, &w->facts, s->u.cond.cond);
    if (known >= 0)
        return splice(s, known ? &s->u.cond.then : &s->u.cond.other);
    tn_facts_mark mark = tn_facts_here(&w->facts);
    assume(w, s, s->u.cond.cond);
    body(w, &s->u.cond.then, depth + 1);
    tn_facts_release(&w->facts, mark);
    assume(w, s, tn_not(p, s->u.cond.cond));
    body(w, &s->u.cond.other, depth + 1);
    tn_facts_release(&w->facts, mark);
    if (!s->u.cond.then.first && !s->u.cond.other.first)
        tn_stmt_remove(s);
    return next;
}

static tn_stmt *statement(walk *w, tn_stmt *s, int depth)
{
    tn_stmt *next = s->next;
    tn_stmt_exprs(s, simplify, w);
    switch (s->kind) {
    case TN_S_FOR: return loop(w, s, depth);
    case TN_S_IF: return branch(w, s, depth);
    case TN_S_STORE:
        if (s->u.store.mask && decided(s->u.store.mask) == 0)
            tn_stmt_remove(s);
        else if (s->u.store.mask && decided(s->u.store.mask) > 0)
            s->u.store.mask = NULL;
        return next;
    case TN_S_CHECK:
        if (tn_prove(w->f->pool, &w->facts, s->u.check.cond) == 1)
            tn_stmt_remove(s);
        return next;
    default: return next;
    }
}

static void body(walk *w, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    for (tn_stmt *s = b->first; s;)
        s = statement(w, s, depth);
}

tn_status tn_lower_simplify(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    walk w = {.f = f};
    tn_facts_init(&w.facts);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        tn_facts_range(&w.facts, tn_sym(f->pool, f->symbol[i].name), f->symbol[i].min, f->symbol[i].max);
    body(&w, &f->body, 0);
    tn_facts_deinit(&w.facts);
    return TN_OK;
}
