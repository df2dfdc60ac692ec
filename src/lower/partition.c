/* PartitionTail: code that sticks out of its tensor at the end is written twice, without conditions where they are
 * known to hold, and with them for what is left.
 *
 *   a serial loop whose last turns stick out is cut: turns before the first that does, then the others
 *   elsewhere (a whole task or tile) an IF chooses between full and not full; it stands at the innermost lists that
 *   declare register buffers, else in the body of a parallel loop
 *
 * The conditions that made the cut are replaced by true in the full part, so nothing hangs on whether they can be
 * proved there. Conditions in what is left are not looked at again. */
#include "lower/lower_impl.h"

enum {
    MAX_FULL = 32,
    MAX_SURE = 64,
    MAX_LOOPS = 64,
    SHORT = 8 /* turns of a loop not worth a cut in each task */
};

typedef struct {
    tn_func *f;
    const tn_stmt *part; /* loop whose body is written twice */
    bool cuts;           /* the loop itself is to be cut; else an IF stands in its body */
    tn_facts facts;      /* in its body */
    tn_map inside;       /* variables defined in its body */
    const tn_map *left;  /* loops that are what a cut left */
    const tn_stmt *at;   /* statement at hand */
    int n;
    const tn_expr *full[MAX_FULL]; /* conditions of a full part */
    bool same[MAX_FULL];           /* it is that of all lanes: where it fails, all terms behind it do */
    int n_sure;                    /* what is known there */
    struct {
        const tn_expr *what, *is,
            *else_is; /* an expression, its value; and where the condition fails for all lanes */
        int by;       /* the condition it hangs on; -1: none */
    } sure[MAX_SURE];
    int chosen; /* the condition that made the cut; -1: all */
} search;

/* Does e change within the body? */
static bool moves(search *w, const tn_expr *e) { return tn_uses_defined(e, &w->inside); }

static bool is_bound(const tn_expr *term)
{
    return (term->kind == TN_E_LT || term->kind == TN_E_LE) && tn_dtype_is_index(term->src[0]->dtype);
}

/* The strongest case of `a < b` over the loops inside, as a condition over the outside; NULL: none. */
static const tn_expr *worst_case(search *w, const tn_expr *term)
{
    tn_pool *p = w->f->pool;
    if (!is_bound(term))
        return NULL;
    const tn_expr *var[MAX_LOOPS], *extent[MAX_LOOPS], *lo, *hi;
    int n = 0;
    for (const tn_stmt *s = w->at; s && s != w->part; s = tn_stmt_parent(s)) {
        if (s->kind != TN_S_FOR || n == MAX_LOOPS)
            continue;
        if (w->cuts && s->u.loop.kind == TN_LOOP_SERIAL && tn_uses(term, s->u.loop.var))
            return NULL; /* that loop is cut */
        var[n] = s->u.loop.var;
        extent[n++] = s->u.loop.extent;
    }
    if (!moves(w, term) && !w->cuts)
        return NULL;
    const tn_expr *d = tn_simplify(p, &w->facts, tn_sub(p, term->src[0], term->src[1]));
    if (!tn_span(p, &w->facts, d, n, var, extent, &lo, &hi))
        return NULL;
    hi = tn_simplify(p, &w->facts, hi);
    if (moves(w, hi))
        return NULL;
    return tn_simplify(p, &w->facts, tn_bin(p, (enum tn_ek)term->kind, hi, tn_idx(p, 0)));
}

/* Whether the turns of the loop at which `cond` holds are its first ones, and to cut it there is worth it. */
static bool cuts_at(search *w, const tn_expr *cond)
{
    tn_pool *p = w->f->pool;
    const tn_expr *lo, *hi, *rest;
    tn_solve_bounds(p, &w->facts, cond, w->part->u.loop.var, &lo, &hi, &rest);
    if (lo || rest || !hi)
        return false;
    bool varies = false;
    for (const tn_stmt *s = tn_stmt_parent(w->part); s; s = tn_stmt_parent(s)) {
        if (s->kind == TN_S_FOR && tn_uses(hi, s->u.loop.var)) {
            if (s->u.loop.kind == TN_LOOP_VECTOR)
                return false; /* lanes share a loop */
            varies = true;
        }
    }
    int64_t n;
    return !(varies && tn_is_int(w->part->u.loop.extent, &n) && n < SHORT);
}

/* In a full part, where the term holds, `what` is `is`, and where the term fails `else_is`; NULL: not known. Returns
 * false where that says nothing. */
static bool consider_term(search *w, const tn_expr *term, const tn_expr *what, const tn_expr *is,
                          const tn_expr *else_is)
{
    const tn_expr *c = worst_case(w, term);
    int known = c ? tn_prove(w->f->pool, &w->facts, c) : 0, by = 0;
    if (known == 0 || w->n_sure == MAX_SURE || (known < 0 && w->cuts && !cuts_at(w, c)))
        return false; /* never full, or nothing to be said */
    while (by < w->n && w->full[by] != c)
        by++;
    if (known < 0 && by == MAX_FULL)
        return false;
    if (known < 0 && by == w->n) {
        w->full[w->n] = c;
        w->same[w->n++] = true;
    }
    if (known < 0)
        w->same[by] &= c == tn_simplify(w->f->pool, &w->facts, term);
    w->sure[w->n_sure].what = what;
    w->sure[w->n_sure].is = is;
    w->sure[w->n_sure].else_is = else_is;
    w->sure[w->n_sure++].by = known < 0 ? by : -1;
    return true;
}

/* A lower bound that is the same for all lanes: a loop may be cut where it begins to hold. */
static void consider_negated(search *w, const tn_expr *term)
{
    tn_pool *p = w->f->pool;
    const tn_expr *no = tn_simplify(p, &w->facts, tn_not(p, term)), *c = worst_case(w, no);
    if (c && c == no)
        consider_term(w, no, term, tn_bool(p, false), tn_bool(p, true));
}

static void consider(search *w, const tn_expr *cond)
{
    const tn_expr *term[TN_MAX_TERMS], *yes = tn_bool(w->f->pool, true), *no = tn_bool(w->f->pool, false);
    if (cond->has_load || !tn_dtype_is_bool(cond->dtype))
        return;
    int n = tn_terms(cond, term);
    for (int i = 0; i < n; i++) {
        bool known = false;
        for (int k = 0; k < w->n_sure; k++)
            known |= w->sure[k].what == term[i];
        if (!known && !consider_term(w, term[i], term[i], yes, no) && w->cuts && is_bound(term[i]))
            consider_negated(w, term[i]);
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
                consider_term(w, tn_le(w->f->pool, e->src[i], e->src[1 - i]), e, e->src[i], NULL);
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
    uint64_t x;
    w->at = s;
    if (s->kind == TN_S_FOR && tn_map_get(w->left, tn_map_key(s), &x))
        return false;
    if (s->kind == TN_S_IF)
        consider(w, s->u.cond.cond);
    tn_stmt_exprs(s, consider_expr, w);
    return true;
}

/* ---- what is sure ---- */

static const tn_expr *known_value(tn_pool *p, const tn_expr *e, void *user)
{
    const search *w = user;
    (void)p;
    for (int i = 0; i < w->n_sure; i++)
        if (w->sure[i].what == e && (w->chosen < 0 || w->sure[i].by < 0 || w->sure[i].by == w->chosen))
            return w->sure[i].is;
    return NULL;
}

/* What is left of a cut: the conditions that hold no longer than the one that made it fail there. */
static const tn_expr *failed_value(tn_pool *p, const tn_expr *e, void *user)
{
    const search *w = user;
    (void)p;
    for (int i = 0; i < w->n_sure; i++)
        if (w->sure[i].what == e)
            return w->sure[i].by < 0 ? w->sure[i].is : w->same[w->sure[i].by] ? w->sure[i].else_is : NULL;
    return NULL;
}

static const tn_expr *fail_expr(const tn_expr *e, void *user)
{
    search *w = user;
    return tn_rewrite(w->f->pool, e, failed_value, w);
}

static bool fail_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, fail_expr, user);
    return true;
}

static const tn_expr *apply_expr(const tn_expr *e, void *user)
{
    search *w = user;
    return tn_rewrite(w->f->pool, e, known_value, w);
}

static bool apply_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, apply_expr, user);
    return true;
}

static void open_search(search *w, tn_func *f, tn_stmt *part, bool cuts, const tn_map *left)
{
    *w = (search){.f = f, .part = part, .cuts = cuts, .left = left, .chosen = -1};
    tn_stmt_facts(f, part->u.loop.body.first, &w->facts);
    tn_stmt_walk(&part->u.loop.body, tn_note_definition, NULL, &w->inside);
    tn_stmt_walk(&part->u.loop.body, consider_stmt, NULL, w);
}

static void close_search(search *w)
{
    tn_facts_deinit(&w->facts);
    tn_map_deinit(&w->inside);
}

/* ---- cuts ---- */

/* From which turn of the loop on nothing is left to do, where all it does is under one condition; else its extent.
 * Loops of constant extent around lanes run long past the end of a short tensor. */
static const tn_expr *end_of(search *w, const tn_stmt *loop)
{
    tn_pool *p = w->f->pool;
    const tn_expr *var[MAX_LOOPS], *extent[MAX_LOOPS], *term[TN_MAX_TERMS], *end = loop->u.loop.extent;
    int n = 0;
    const tn_stmt *s = loop;
    while (s->kind == TN_S_FOR && n < MAX_LOOPS && s->u.loop.body.first && !s->u.loop.body.first->next) {
        if (s != loop) {
            var[n] = s->u.loop.var;
            extent[n++] = s->u.loop.extent;
        }
        s = s->u.loop.body.first;
    }
    if (s->kind != TN_S_IF || s->u.cond.other.first || s->u.cond.cond->has_load)
        return end;
    int k = tn_terms(s->u.cond.cond, term);
    for (int i = 0; i < k; i++) {
        const tn_expr *least, *most, *lo, *hi, *rest;
        if (!is_bound(term[i]))
            continue;
        const tn_expr *d = tn_simplify(p, &w->facts, tn_sub(p, term[i]->src[0], term[i]->src[1]));
        if (!tn_span(p, &w->facts, d, n, var, extent, &least, &most) || moves(w, least))
            continue;
        tn_solve_bounds(p, &w->facts, tn_bin(p, (enum tn_ek)term[i]->kind, least, tn_idx(p, 0)),
                        loop->u.loop.var, &lo, &hi, &rest);
        if (hi && !lo && !rest)
            end = tn_min(p, end, hi);
    }
    return end;
}

static bool is_no_minimum(const tn_expr *e, void *user)
{
    (void)user;
    return e->kind != TN_E_MIN && e->kind != TN_E_MAX;
}

/* The value under a name where it is long, as far as vectors around may hold one. */
static const tn_expr *named(tn_func *f, tn_stmt *before, const char *name, const tn_expr *e)
{
    for (const tn_stmt *s = tn_stmt_parent(before); s; s = tn_stmt_parent(s))
        if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_VECTOR)
            return e;
    if (tn_each(e, is_no_minimum, NULL))
        return e;
    const tn_expr *var = tn_func_add_var(f, name, TN_IDX);
    tn_body_insert(before->list, before, tn_stmt_let(f, var, e));
    return var;
}

/* The first `hi` turns of the loop are full; those up to `end` get a loop after it. */
static void cut(search *w, tn_stmt *s, const tn_expr *hi, const tn_expr *end, tn_map *left)
{
    tn_func *f = w->f;
    tn_pool *p = f->pool;
    const tn_expr *full = named(f, s, "full", hi);
    tn_stmt *tail = tn_stmt_clone(f, s);
    if (w->chosen >= 0)
        tn_stmt_walk(&tail->u.loop.body, fail_stmt, NULL, w); /* its loops are still those of the search */
    tn_stmt_freshen(f, tail, ".tail");
    const tn_expr *var = tail->u.loop.var, *value = tn_add(p, full, var);
    if (w->chosen < 0 || !w->same[w->chosen])
        tn_map_put(left, tn_map_key(tail), 1);
    tail->u.loop.extent = tn_max(p, tn_sub(p, end, full), tn_idx(p, 0));
    for (tn_stmt *c = tail->u.loop.body.first; c; c = c->next)
        tn_stmt_subst(f, c, 1, &var, &value);
    tn_body_insert(s->list, s->next, tail);
    s->u.loop.extent = full;
    tn_stmt_walk(&s->u.loop.body, apply_stmt, NULL, w);
}

static const tn_expr *first_turn_of(search *w, const tn_stmt *s, const tn_expr *cond)
{
    const tn_expr *lo, *hi, *rest;
    tn_solve_bounds(w->f->pool, &w->facts, cond, s->u.loop.var, &lo, &hi, &rest);
    return lo || rest ? NULL : hi;
}

/* The condition that fails last: the full part may be cut again at the others, which fail in what is left. NULL, and
 * chosen -1: not known. */
static const tn_expr *choose(search *w, const tn_stmt *s)
{
    tn_pool *p = w->f->pool;
    const tn_expr *best = NULL;
    for (int k = 0; k < w->n; k++) {
        const tn_expr *hi = first_turn_of(w, s, w->full[k]);
        if (!hi || (best && tn_prove(p, &w->facts, tn_le(p, hi, best)) == 1))
            continue;
        if (best && tn_prove(p, &w->facts, tn_le(p, best, hi)) != 1) {
            w->chosen = -1;
            return NULL;
        }
        best = hi;
        w->chosen = k;
    }
    return best;
}

/* false: nothing to cut. */
static bool cut_once(tn_func *f, tn_stmt *s, tn_map *left)
{
    tn_pool *p = f->pool;
    search w;
    bool done = false;
    open_search(&w, f, s, true, left);
    if (w.n > 0) {
        tn_facts facts;
        const tn_expr *hi = choose(&w, s), *zero = tn_idx(p, 0), *end = end_of(&w, s);
        if (!hi)
            hi = first_turn_of(&w, s, tn_terms_join(p, w.n, w.full));
        tn_stmt_facts(f, s, &facts);
        if (hi)
            hi = tn_simplify(p, &facts, tn_max(p, tn_min(p, hi, s->u.loop.extent), zero));
        done = hi && tn_prove(p, &facts, tn_le(p, hi, zero)) != 1;
        if (done)
            cut(&w, s, hi, tn_simplify(p, &facts, end), left);
        tn_facts_deinit(&facts);
    }
    close_search(&w);
    return done;
}

static void cut_loop(tn_func *f, tn_stmt *s, tn_map *left)
{
    for (int i = 0; i < MAX_FULL && cut_once(f, s, left); i++)
        ;
}

static void cut_loops(tn_func *f, tn_body *b, tn_map *left, int depth)
{
    TN_ASSERT(depth < 512);
    uint64_t x;
    for (tn_stmt *s = b->first; s; s = s->next) {
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        bool loop = s->kind == TN_S_FOR;
        if (loop && tn_map_get(left, tn_map_key(s), &x))
            continue;
        if (loop && s->u.loop.kind == TN_LOOP_SERIAL && in[0]->first && !s->u.loop.extent->has_load &&
            !tn_has_phases(s))
            cut_loop(f, s, left);
        for (int i = 0; i < n; i++)
            cut_loops(f, in[i], left, depth + 1);
    }
}

/* ---- tiles ---- */

static bool declares_register(const tn_func *f, const tn_body *b)
{
    for (const tn_stmt *s = b->first; s; s = s->next)
        if (s->kind == TN_S_BUFFER && f->buffer[s->u.decl.buffer].scope >= TN_SCOPE_REGISTER)
            return true;
    return false;
}

static bool partition(tn_func *f, tn_stmt *home, const tn_map *left)
{
    tn_body *b = &home->u.loop.body;
    search w;
    if (!b->first)
        return false;
    open_search(&w, f, home, false, left);
    if (w.n > 0) {
        tn_stmt *i = tn_stmt_if(f, tn_terms_join(f->pool, w.n, w.full));
        tn_body_move(&i->u.cond.then, NULL, b);
        tn_stmt *tail = tn_stmt_clone_fresh(f, i, ".tail");
        tn_body_move(&i->u.cond.other, NULL, &tail->u.cond.then);
        tn_stmt_walk(&i->u.cond.then, apply_stmt, NULL, &w);
        tn_body_append(b, i);
    }
    close_search(&w);
    return true;
}

/* Returns true if some list inside was a candidate. */
static bool body(tn_func *f, tn_body *b, const tn_map *left, int depth)
{
    TN_ASSERT(depth < 512);
    bool done = false;
    for (tn_stmt *s = b->first; s; s = s->next) {
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        bool inside = false;
        for (int i = 0; i < n; i++)
            inside |= body(f, in[i], left, depth + 1);
        if (!inside && s->kind == TN_S_FOR &&
            (declares_register(f, in[0]) || s->u.loop.kind == TN_LOOP_PARALLEL))
            inside = partition(f, s, left);
        done |= inside;
    }
    return done;
}

tn_status tn_lower_partition(tn_func *f, const struct tn_machine *m)
{
    tn_map left = {0};
    cut_loops(f, &f->body, &left, 0);
    body(f, &f->body, &left, 0);
    tn_map_deinit(&left);
    return tn_lower_simplify(f, m);
}
