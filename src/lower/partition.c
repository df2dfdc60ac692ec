/* PartitionTail: where a tile can stick out of its tensor, the body of the tile is written twice: once for full tiles, where
 * every condition is known to hold, and once with the conditions. It is done at the innermost lists that declare register
 * buffers, else in the body of a parallel loop. */
#include "lower/lower_impl.h"

enum { MAX_TERMS = 16, MAX_LOOPS = 64 };

typedef struct {
    tn_func *f;
    const tn_stmt *home;               /* loop whose body is partitioned */
    tn_facts *facts;                   /* at home's body */
    int n;
    const tn_expr *full[MAX_TERMS];    /* conditions of a full tile */
    const tn_stmt *at;                 /* statement at hand */
    tn_map inside;                     /* variables defined in home's body */
} search;

static bool note_definition(tn_stmt *s, void *user)
{
    search *w = user;
    if (s->kind == TN_S_FOR)
        tn_map_put(&w->inside, tn_map_key(s->u.loop.var), 1);
    if (s->kind == TN_S_LET)
        tn_map_put(&w->inside, tn_map_key(s->u.let.var), 1);
    return true;
}

static bool is_outside(const tn_expr *e, void *user)
{
    const search *w = user;
    uint64_t x;
    return !tn_map_get(&w->inside, tn_map_key(e), &x);
}

/* Does e change within the body of home? */
static bool moves(search *w, const tn_expr *e)
{
    return !tn_each(e, is_outside, w);
}

/* The strongest case of `a < b` over the loops inside home, as a condition over the outside; NULL: none. */
static const tn_expr *worst_case(search *w, const tn_expr *term)
{
    tn_pool *p = w->f->pool;
    if (term->kind != TN_E_LT && term->kind != TN_E_LE)
        return NULL;
    const tn_expr *var[MAX_LOOPS], *extent[MAX_LOOPS], *lo, *hi;
    int n = 0;
    for (const tn_stmt *s = w->at; s && s != w->home; s = tn_stmt_parent(s))
        if (s->kind == TN_S_FOR && n < MAX_LOOPS) {
            var[n] = s->u.loop.var;
            extent[n++] = s->u.loop.extent;
        }
    if (!moves(w, term))
        return NULL;
    const tn_expr *d = tn_simplify(p, w->facts, tn_sub(p, term->src[0], term->src[1]));
    if (!tn_span(p, w->facts, d, n, var, extent, &lo, &hi))
        return NULL;
    hi = tn_simplify(p, w->facts, hi);
    if (moves(w, hi))
        return NULL;
    return tn_simplify(p, w->facts, tn_bin(p, (enum tn_ek)term->kind, hi, tn_idx(p, 0)));
}

static void consider(search *w, const tn_expr *cond)
{
    const tn_expr *term[32];
    if (cond->has_load || !tn_dtype_is_bool(cond->dtype))
        return;
    int n = tn_terms(w->f->pool, cond, 32, term);
    for (int i = 0; i < n; i++) {
        const tn_expr *c = worst_case(w, term[i]);
        if (!c || tn_prove(w->f->pool, w->facts, c) >= 0)
            continue; /* decided: nothing to gain, or never full */
        for (int k = 0; k < w->n && c; k++)
            if (w->full[k] == c)
                c = NULL;
        if (c && w->n < MAX_TERMS)
            w->full[w->n++] = c;
    }
}

/* Masks, and min(i, last), which is i in a full tile. */
static bool consider_load(const tn_expr *e, void *user)
{
    search *w = user;
    if (e->kind == TN_E_LOAD && tn_load_mask(e))
        consider(w, tn_load_mask(e));
    if (e->kind == TN_E_MIN && tn_dtype_is_index(e->dtype) && !e->has_load)
        for (int i = 0; i < 2; i++)
            if (moves(w, e->src[i]) && !moves(w, e->src[1 - i]))
                consider(w, tn_le(w->f->pool, e->src[i], e->src[1 - i]));
    return true;
}

static const tn_expr *consider_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, consider_load, user);
    return e;
}

static bool consider_stmt(tn_stmt *s, void *user)
{
    search *w = user;
    w->at = s;
    if (s->kind == TN_S_IF)
        consider(w, s->u.cond.cond);
    tn_stmt_exprs(s, consider_expr, w);
    return true;
}

static bool declares_register(const tn_func *f, const tn_body *b)
{
    for (const tn_stmt *s = b->first; s; s = s->next)
        if (s->kind == TN_S_BUFFER && f->buffer[s->u.decl.buffer].scope == TN_SCOPE_REGISTER)
            return true;
    return false;
}

static bool partition(tn_func *f, tn_stmt *home)
{
    tn_facts facts;
    tn_body *b = &home->u.loop.body;
    if (!b->first)
        return false;
    tn_stmt_facts(f, b->first, &facts);
    search w = {.f = f, .home = home, .facts = &facts};
    tn_stmt_walk(b, note_definition, NULL, &w);
    tn_stmt_walk(b, consider_stmt, NULL, &w);
    if (w.n > 0) {
        tn_stmt *i = tn_stmt_if(f, tn_terms_join(f->pool, w.n, w.full));
        tn_body_move(&i->u.cond.then, NULL, b);
        tn_stmt *tail = tn_stmt_clone_fresh(f, i, ".tail");
        tn_body_move(&i->u.cond.other, NULL, &tail->u.cond.then);
        tn_body_append(b, i);
    }
    tn_facts_deinit(&facts);
    tn_map_deinit(&w.inside);
    return true;
}

/* Returns true if some list inside was a candidate. */
static bool body(tn_func *f, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    bool done = false;
    for (tn_stmt *s = b->first; s; s = s->next) {
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        bool inside = false;
        for (int i = 0; i < n; i++)
            inside |= body(f, in[i], depth + 1);
        if (!inside && s->kind == TN_S_FOR && (declares_register(f, in[0]) || s->u.loop.kind == TN_LOOP_PARALLEL))
            inside = partition(f, s);
        done |= inside;
    }
    return done;
}

tn_status tn_lower_partition(tn_func *f, const struct tn_machine *m)
{
    body(f, &f->body, 0);
    return tn_lower_simplify(f, m);
}
