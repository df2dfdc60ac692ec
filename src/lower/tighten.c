/* TightenLoops: an IF that is all a loop holds moves out of the loop as far as it does not depend on its
 * variable; terms that bound the variable of a serial loop, or leave a vector loop one lane, become the
 * loop's bounds, also where an operand's elements say them. So the padding mask of a convolution turns into
 * `for kh from max(0, ...) below min(3, ...)`. */
#include "lower/lower_impl.h"

enum { MAX_LETS = 8 };

typedef struct {
    tn_func *f;
    tn_facts facts;
    tn_stmt *let[MAX_LETS]; /* to be put before the loop: what its bounds load */
    int n_let;
    const tn_expr *var; /* of the loop */
} walk;

typedef struct {
    const tn_expr *var;
    bool found;
} one_place;

/* Replaces the loop's range by [lo, hi) inside its old one. */
static void set_bounds(walk *w, tn_stmt *s, const tn_expr *lo, const tn_expr *hi)
{
    tn_pool *p = w->f->pool;
    const tn_expr *zero = tn_idx(p, 0), *old = s->u.loop.var, *extent = s->u.loop.extent;
    lo = lo ? tn_simplify(p, &w->facts, tn_max(p, lo, zero)) : zero;
    hi = hi ? tn_simplify(p, &w->facts, tn_min(p, hi, extent)) : extent;
    s->u.loop.extent = tn_simplify(p, &w->facts, tn_max(p, tn_sub(p, hi, lo), zero));
    if (tn_is_value(lo, 0))
        return;
    const tn_expr *var = tn_func_add_var(w->f, w->f->var[old->u.i].name, TN_IDX), *value = tn_add(p, lo, var);
    s->u.loop.var = var;
    for (tn_stmt *c = s->u.loop.body.first; c; c = c->next)
        tn_stmt_subst(w->f, c, 1, &old, &value);
}

/* Lanes of a vector loop share the bounds of the loops inside. */
static bool lanes_share(const tn_stmt *s, const tn_expr *bound)
{
    for (s = tn_stmt_parent(s); s && bound; s = tn_stmt_parent(s))
        if (tn_is_lane_loop(s) && tn_uses(bound, s->u.loop.var))
            return false;
    return true;
}

/* Prefetches before an IF that is all else go with it: hints may be dropped where nothing is done. */
static void take_prefetches(tn_stmt *s)
{
    tn_body *b = &s->u.loop.body;
    tn_stmt *last = b->last, *x = b->first;
    while (x != last && x->kind == TN_S_PREFETCH)
        x = x->next;
    if (!last || x != last || last->kind != TN_S_IF || last->u.cond.other.first)
        return;
    tn_stmt *first = last->u.cond.then.first;
    while (b->first != last) {
        x = b->first;
        tn_stmt_remove(x);
        tn_body_insert(&last->u.cond.then, first, x);
    }
}

/* Is there a store in the loop whose place does not depend on its variable? */
static bool enter_loop(tn_stmt *s, void *user)
{
    one_place *w = user;
    bool varies = s->kind != TN_S_STORE;
    for (uint32_t i = 0; !varies && i < s->u.store.n_index; i++)
        varies = tn_uses(s->u.store.index[i], w->var);
    w->found |= !varies;
    return !w->found;
}

static bool stores_in_one_place(tn_stmt *loop)
{
    one_place w = {loop->u.loop.var, false};
    tn_stmt_walk(&loop->u.loop.body, enter_loop, NULL, &w);
    return w.found;
}

static bool is_given(const tn_expr *e, void *user)
{
    const tn_buffer *b = e->kind == TN_E_LOAD ? &((const tn_func *)user)->buffer[e->u.load.buffer] : NULL;
    return !b || (b->param >= 0 && !b->written);
}

/* Does the term change with nothing but variables, and may it be evaluated before the loop? What it loads
 * must be there: of a loop that may not run, nobody knows. */
static bool is_fixed(walk *w, const tn_stmt *loop, const tn_expr *term)
{
    tn_pool *p = w->f->pool;
    return !term->has_load || (tn_each(term, is_given, w->f) &&
                               tn_prove(p, &w->facts, tn_le(p, tn_idx(p, 1), loop->u.loop.extent)) == 1);
}

static const tn_expr *name_loaded(tn_pool *p, const tn_expr *e, void *user)
{
    walk *w = user;
    (void)p;
    if (!e->has_load || tn_uses(e, w->var) || tn_dtype_is_bool(e->dtype) || w->n_let == MAX_LETS)
        return NULL;
    const tn_expr *var = tn_func_add_var(w->f, "end", e->dtype);
    w->let[w->n_let++] = tn_stmt_let(w->f, var, e);
    return var;
}

/* The terms of a loop in which what memory says has a name; NULL if lanes do not share it. */
static const tn_expr *with_names(walk *w, const tn_stmt *s, const tn_expr *keep)
{
    w->var = s->u.loop.var;
    keep = tn_rewrite(w->f->pool, keep, name_loaded, w);
    bool shared = !keep->has_load;
    for (int i = 0; i < w->n_let; i++)
        shared = shared && lanes_share(s, w->let[i]->u.let.value);
    w->n_let = shared ? w->n_let : 0;
    return shared ? keep : NULL;
}

/* Bounds of the loop's variable from the terms of `keep`, into *lo, *hi (NULL: none) and the terms that
 * remain. A vector loop keeps its lanes, but for one that stores in one place, as its lanes may not: where only
 * one lane does anything, it becomes a loop of that one. */
static void solve(walk *w, tn_stmt *s, const tn_expr *keep, const tn_expr **lo, const tn_expr **hi,
                  const tn_expr **rest)
{
    tn_pool *p = w->f->pool;
    bool vector = s->u.loop.kind == TN_LOOP_VECTOR;
    const tn_expr *named = keep;
    *rest = keep;
    if (!keep || (s->u.loop.kind != TN_LOOP_SERIAL && !vector) || (vector && keep->has_load))
        return;
    if (keep->has_load && !(named = with_names(w, s, keep)))
        return;
    tn_solve_bounds(p, &w->facts, named, s->u.loop.var, lo, hi, rest);
    bool one = !*lo && *hi && tn_is_value(tn_simplify(p, &w->facts, *hi), 1);
    if (lanes_share(s, *lo) && lanes_share(s, *hi) && ((one && stores_in_one_place(s)) || !vector)) {
        if (vector)
            s->u.loop.kind = TN_LOOP_SERIAL;
        return;
    }
    *lo = *hi = NULL;
    *rest = keep;
    w->n_let = 0;
}

/* Takes the IF apart: what the loop keeps inside stays, the rest is returned (NULL: nothing). */
static const tn_expr *pull(walk *w, tn_stmt *s)
{
    tn_pool *p = w->f->pool;
    take_prefetches(s);
    tn_stmt *inner = s->u.loop.body.first;
    if (!inner || inner != s->u.loop.body.last || inner->kind != TN_S_IF || inner->u.cond.other.first)
        return NULL;
    const tn_expr *term[TN_MAX_TERMS], *out = NULL, *keep = NULL, *open = NULL;
    int n = tn_terms(inner->u.cond.cond, term);
    for (int i = 0; i < n; i++) {
        bool fixed = is_fixed(w, s, term[i]);
        const tn_expr **to = !fixed ? &open : tn_uses(term[i], s->u.loop.var) ? &keep : &out;
        *to = tn_both(p, *to, term[i]);
    }
    const tn_expr *lo = NULL, *hi = NULL, *rest;
    solve(w, s, keep, &lo, &hi, &rest);
    rest = open ? tn_both(p, rest, open) : rest;
    inner->u.cond.cond = rest ? rest : tn_bool(p, true);
    if (!rest) {
        tn_body_move(&s->u.loop.body, inner, &inner->u.cond.then);
        tn_stmt_remove(inner);
    }
    if (lo || hi)
        set_bounds(w, s, lo, hi);
    return out;
}

/* Of a nest that calls a unit, what none of its loops changes; the nest stays whole. */
static const tn_expr *pull_from_nest(walk *w, tn_stmt *s)
{
    tn_pool *p = w->f->pool;
    const tn_expr *term[TN_MAX_TERMS], *out = NULL, *keep = NULL;
    tn_stmt *last = s, *inner;
    while ((inner = last->u.loop.body.first) && inner->kind == TN_S_FOR)
        last = inner;
    if (!inner || inner != last->u.loop.body.last || inner->kind != TN_S_IF || inner->u.cond.other.first)
        return NULL;
    int n = tn_terms(inner->u.cond.cond, term);
    for (int i = 0; i < n; i++) {
        bool stays = term[i]->has_load;
        for (const tn_stmt *l = last; !stays; l = tn_stmt_parent(l)) {
            stays = tn_uses(term[i], l->u.loop.var);
            if (l == s)
                break;
        }
        const tn_expr **to = stays ? &keep : &out;
        *to = tn_both(p, *to, term[i]);
    }
    inner->u.cond.cond = keep ? keep : tn_bool(p, true);
    if (!keep) {
        tn_body_move(&last->u.loop.body, inner, &inner->u.cond.then);
        tn_stmt_remove(inner);
    }
    return out;
}

static bool in_nest(const tn_stmt *s)
{
    const tn_stmt *up = tn_stmt_parent(s);
    return s->u.loop.kind == TN_LOOP_TENSOR && up && up->kind == TN_S_FOR &&
           up->u.loop.kind == TN_LOOP_TENSOR;
}

static void body(walk *w, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        tn_facts_mark mark = tn_facts_here(&w->facts);
        if (s->kind == TN_S_FOR)
            tn_facts_loop(w->f->pool, &w->facts, s->u.loop.var, s->u.loop.extent);
        if (s->kind == TN_S_IF && !s->u.cond.cond->has_load)
            tn_facts_assume(&w->facts, s->u.cond.cond);
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        if (n > 0)
            body(w, in[0], depth + 1);
        tn_facts_release(&w->facts, mark);
        if (n > 1)
            body(w, in[1], depth + 1);
        if (s->kind != TN_S_FOR || s->u.loop.kind == TN_LOOP_PARALLEL || in_nest(s))
            continue;
        w->n_let = 0;
        const tn_expr *out = s->u.loop.kind == TN_LOOP_TENSOR ? pull_from_nest(w, s) : pull(w, s);
        if (out) {
            tn_stmt *i = tn_stmt_if(w->f, out);
            tn_stmt_replace(s, i);
            tn_body_append(&i->u.cond.then, s);
        }
        for (int i = 0; i < w->n_let; i++)
            tn_body_insert(s->list, s, w->let[i]);
    }
}

tn_status tn_lower_tighten(tn_func *f, const struct tn_machine *m)
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
