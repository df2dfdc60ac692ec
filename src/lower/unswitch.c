/* Unswitch: a condition that is the same for all lanes of a vector loop, but masks what they load, becomes an IF around
 * the loop: in concatenations and paddings it says which operand the lanes read. The IF stands as far outside as the
 * condition and a perfect nest allow, below the task.
 *
 * Not for stores to registers, where the lanes of one tile must stay one straight line; nor for what is known already.
 * Each IF takes at least one mask away from both its branches, so it ends. */
#include "lower/lower_impl.h"

enum { MAX_IFS = 64 };

typedef struct {
    tn_func *f;
    tn_map inside;  /* variables defined in it, its own too */
    tn_facts facts; /* at its body */
    int n;
    const tn_expr *term[TN_MAX_TERMS]; /* conjuncts of the mask found */
} search;

/* The conjuncts of a mask that all lanes share and that are not known, in place of those found before. */
static void take_mask(search *w, const tn_expr *mask)
{
    const tn_expr *term[TN_MAX_TERMS], *open[TN_MAX_TERMS];
    int n = tn_terms(mask, term), k = 0;
    for (int i = 0; i < n; i++) {
        if (term[i]->has_load || tn_uses_defined(term[i], &w->inside))
            continue;
        int known = tn_prove(w->f->pool, &w->facts, term[i]);
        if (known == 0)
            return; /* it loads nothing here */
        if (known < 0)
            open[k++] = term[i];
    }
    for (int i = 0; i < k; i++)
        w->term[i] = open[i];
    w->n = k > 0 ? k : w->n;
}

/* Loads that lanes share are one load each; only those that differ are masked. Operands come first, so the outermost
 * load is the last to be looked at. */
static bool look_at(const tn_expr *e, void *user)
{
    search *w = user;
    bool lanes = false;
    if (e->kind != TN_E_LOAD || !tn_load_mask(e))
        return true;
    for (uint32_t d = 0; d < e->u.load.n_index; d++)
        lanes |= tn_uses_defined(e->src[d], &w->inside);
    if (lanes)
        take_mask(w, tn_load_mask(e));
    return true;
}

static bool look_at_stmt(tn_stmt *s, void *user)
{
    search *w = user;
    if (s->kind == TN_S_STORE && w->n == 0 && s->u.store.value->has_load &&
        w->f->buffer[s->u.store.buffer].scope != TN_SCOPE_REGISTER)
        tn_each(s->u.store.value, look_at, w);
    return w->n == 0;
}

/* ---- the two branches ---- */

static int count_held(const search *w, const tn_expr *cond)
{
    const tn_expr *term[TN_MAX_TERMS];
    int n = tn_terms(cond, term), held = 0;
    for (int k = 0; k < w->n; k++) {
        bool found = false;
        for (int i = 0; i < n; i++)
            found |= term[i] == w->term[k];
        held += found;
    }
    return held;
}

static const tn_expr *then_value(tn_pool *p, const tn_expr *e, void *user)
{
    const search *w = user;
    for (int k = 0; k < w->n; k++)
        if (e == w->term[k])
            return tn_bool(p, true);
    return NULL;
}

static const tn_expr *else_value(tn_pool *p, const tn_expr *e, void *user)
{
    const search *w = user;
    if (!tn_dtype_is_bool(e->dtype) || e->dtype.lanes > 1 ||
        (w->n > 1 ? e->kind != TN_E_AND || count_held(w, e) < w->n : e != w->term[0]))
        return NULL;
    return tn_bool(p, false);
}

static const tn_expr *then_expr(const tn_expr *e, void *user)
{
    return tn_rewrite(((search *)user)->f->pool, e, then_value, user);
}

static const tn_expr *else_expr(const tn_expr *e, void *user)
{
    return tn_rewrite(((search *)user)->f->pool, e, else_value, user);
}

static bool then_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, then_expr, user);
    return true;
}

static bool else_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, else_expr, user);
    return true;
}

/* The outermost statement of the perfect nest around the loop in which the condition does not change. */
static tn_stmt *home_of(tn_stmt *loop, const tn_expr *cond)
{
    tn_stmt *s = loop;
    for (tn_stmt *up = tn_stmt_parent(s); up && up->kind == TN_S_FOR; up = tn_stmt_parent(up)) {
        if (up->u.loop.kind == TN_LOOP_PARALLEL || s->prev || s->next || tn_uses(cond, up->u.loop.var))
            break;
        s = up;
    }
    return s;
}

static void split(search *w, tn_stmt *loop)
{
    tn_func *f = w->f;
    const tn_expr *cond = tn_terms_join(f->pool, w->n, w->term);
    tn_stmt *s = home_of(loop, cond), *i = tn_stmt_if(f, cond);
    tn_stmt_replace(s, i);
    tn_body_append(&i->u.cond.then, s);
    tn_body_append(&i->u.cond.other, tn_stmt_clone_fresh(f, s, ".else"));
    tn_stmt_walk(&i->u.cond.then, then_stmt, NULL, w);
    tn_stmt_walk(&i->u.cond.other, else_stmt, NULL, w);
}

/* Whether an IF took the place of the loop, or of a nest around it. */
static bool unswitch(tn_func *f, tn_stmt *loop)
{
    search w = {.f = f};
    tn_body *b = &loop->u.loop.body;
    if (!b->first)
        return false;
    tn_note_definition(loop, &w.inside);
    tn_stmt_walk(b, tn_note_definition, NULL, &w.inside);
    tn_stmt_facts(f, b->first, &w.facts);
    tn_stmt_walk(b, look_at_stmt, NULL, &w);
    bool found = w.n > 0;
    if (found)
        split(&w, loop);
    tn_facts_deinit(&w.facts);
    tn_map_deinit(&w.inside);
    return found;
}

/* ---- the loops of a function ---- */

typedef struct {
    tn_map done; /* vector loops looked at that give no IF */
    tn_stmt *next;
} walk;

static bool find_loop(tn_stmt *s, void *user)
{
    walk *w = user;
    uint64_t x;
    if (w->next || s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_VECTOR)
        return !w->next;
    if (!tn_map_get(&w->done, tn_map_key(s), &x))
        w->next = s;
    return false;
}

tn_status tn_lower_unswitch(tn_func *f, const struct tn_machine *m)
{
    walk w = {0};
    int ifs = 0;
    do {
        w.next = NULL;
        tn_stmt_walk(&f->body, find_loop, NULL, &w);
        if (w.next && !unswitch(f, w.next))
            tn_map_put(&w.done, tn_map_key(w.next), 1);
        else if (w.next)
            ifs++;
    } while (w.next && ifs < MAX_IFS);
    tn_map_deinit(&w.done);
    return ifs > 0 ? tn_lower_simplify(f, m) : TN_OK;
}
