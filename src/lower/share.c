/* ShareLoads: in a list of statements, a value (a load, or arithmetic on data) that is used twice is named by
 * a LET before its first use. Buffers stored to anywhere in the list are left alone, so no load passes a
 * store; what depends on them is shared within one statement only. Index arithmetic is left to the backends.
 * Cost: linear in the expressions of the list. */
#include "lower/lower_impl.h"

/* References to expressions, from edges and statement slots. */
typedef struct {
    tn_map uses;    /* expression -> number */
    tn_map counted; /* expressions whose edges are counted */
} census;

typedef struct {
    tn_func *f;
    census list, one; /* of the whole list, of the statement at hand */
    tn_map data;      /* expression -> 1 + whether it computes with data, not indices alone */
    tn_map done;      /* expression -> what stands for it in the rest of the list */
    tn_map local;     /* the same, for the statement at hand only: what reads buffers stored to here */
    tn_map stored;    /* buffers stored to in this list */
    tn_stmt *at;      /* statement being rewritten */
} share;

static bool is_leaf(const tn_expr *e)
{
    return e->nsrc == 0 || (e->kind == TN_E_SPLAT && e->src[0]->nsrc == 0);
}

/* A load, a number of a data type, or bool made of such. */
static bool is_data(share *w, const tn_expr *e)
{
    uint64_t known;
    if (e->kind == TN_E_LOAD || (!tn_dtype_is_bool(e->dtype) && !tn_dtype_is_index(e->dtype)))
        return true;
    if (e->nsrc == 0)
        return false;
    if (tn_map_get(&w->data, tn_map_key(e), &known))
        return known == 2;
    bool data = false;
    for (int i = 0; i < e->nsrc; i++)
        data |= is_data(w, e->src[i]);
    tn_map_put(&w->data, tn_map_key(e), 1 + data);
    return data;
}

/* Worth a name: used twice where the name is good for, and no cheaper to write again. */
static bool worth(share *w, const tn_expr *e, bool lasting)
{
    uint64_t n = 0;
    tn_map_get(lasting ? &w->list.uses : &w->one.uses, tn_map_key(e), &n);
    return n >= 2 && e->kind != TN_E_SPLAT && !tn_dtype_is_index(e->dtype) && is_data(w, e);
}

static void bump(census *c, const tn_expr *e)
{
    uint64_t n = 0;
    tn_map_get(&c->uses, tn_map_key(e), &n);
    tn_map_put(&c->uses, tn_map_key(e), n + 1);
}

static bool count_edges(const tn_expr *e, void *user)
{
    census *c = user;
    uint64_t x;
    if (tn_map_get(&c->counted, tn_map_key(e), &x))
        return true;
    tn_map_put(&c->counted, tn_map_key(e), 1);
    for (int i = 0; i < e->nsrc; i++)
        if (!is_leaf(e->src[i]))
            bump(c, e->src[i]);
    return true;
}

static const tn_expr *count(const tn_expr *e, void *user)
{
    if (!is_leaf(e)) {
        bump(user, e);
        tn_each(e, count_edges, user);
    }
    return e;
}

static void census_clear(census *c)
{
    tn_map_clear(&c->uses);
    tn_map_clear(&c->counted);
}

static void census_deinit(census *c)
{
    tn_map_deinit(&c->uses);
    tn_map_deinit(&c->counted);
}

/* What stands for e; *lasting becomes false if it reads what this list stores to. */
static const tn_expr *rewrite(share *w, const tn_expr *e, bool *lasting)
{
    uint64_t v;
    if (is_leaf(e) || tn_map_get(&w->done, tn_map_key(e), &v))
        return is_leaf(e) ? e : (const tn_expr *)(uintptr_t)v;
    if (tn_map_get(&w->local, tn_map_key(e), &v)) {
        *lasting = false;
        return (const tn_expr *)(uintptr_t)v;
    }
    const tn_expr *src[16];
    bool changed = false, stays = e->kind != TN_E_LOAD || !tn_map_get(&w->stored, e->u.load.buffer, &v);
    TN_ASSERT(e->nsrc <= 16);
    for (int i = 0; i < e->nsrc; i++) {
        src[i] = rewrite(w, e->src[i], &stays);
        changed |= src[i] != e->src[i];
    }
    const tn_expr *r = changed ? tn_expr_with(w->f->pool, e, src) : e;
    if (worth(w, e, stays)) {
        const tn_expr *var = tn_func_add_var(w->f, "t", e->dtype);
        tn_body_insert(w->at->list, w->at, tn_stmt_let(w->f, var, r));
        r = var;
    }
    tn_map_put(stays ? &w->done : &w->local, tn_map_key(e), (uint64_t)(uintptr_t)r);
    *lasting &= stays;
    return r;
}

static const tn_expr *rewrite_slot(const tn_expr *e, void *user)
{
    bool lasting = true;
    return rewrite(user, e, &lasting);
}

static bool note_stores(tn_stmt *s, void *user)
{
    share *w = user;
    if (s->kind == TN_S_STORE)
        tn_map_put(&w->stored, s->u.store.buffer, 1);
    return true;
}

static bool straight(const tn_stmt *s) { return s->kind == TN_S_STORE || s->kind == TN_S_LET; }

static void body(tn_func *f, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    share w = {.f = f};
    tn_stmt_walk(b, note_stores, NULL, &w);
    for (tn_stmt *s = b->first; s; s = s->next)
        if (straight(s))
            tn_stmt_exprs(s, count, &w.list);
    for (tn_stmt *s = b->first; s; s = s->next) {
        w.at = s;
        tn_map_clear(&w.local);
        census_clear(&w.one);
        if (straight(s)) {
            tn_stmt_exprs(s, count, &w.one);
            tn_stmt_exprs(s, rewrite_slot, &w);
        }
        tn_body *in[2];
        int n = tn_stmt_is_nest(s) ? 0 : tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            body(f, in[i], depth + 1);
    }
    census_deinit(&w.list);
    census_deinit(&w.one);
    tn_map_deinit(&w.data);
    tn_map_deinit(&w.done);
    tn_map_deinit(&w.local);
    tn_map_deinit(&w.stored);
}

tn_status tn_lower_share(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    body(f, &f->body, 0);
    return TN_OK;
}
