/* ShareLoads: in a list of statements, a value (a load, or floating-point arithmetic over loads) that is used twice is named by a LET
 * before its first use. Buffers stored to anywhere in the list are left alone, so no load passes a store. Index
 * arithmetic is left to the backends. Cost: linear in the expressions of the list. */
#include "lower/lower_impl.h"

typedef struct {
    tn_func *f;
    tn_map uses;              /* expression -> references to it (edges and statement slots) */
    tn_map done;              /* expression -> what stands for it in the rest of the list */
    tn_map local;             /* the same, for the statement at hand only: what reads buffers stored to here */
    tn_map stored;            /* buffers stored to in this list */
    tn_stmt *at;              /* statement being rewritten */
} share;

static bool reads_stored(const tn_expr *e, void *user)
{
    share *w = user;
    uint64_t x;
    return !(e->kind == TN_E_LOAD && tn_map_get(&w->stored, e->u.load.buffer, &x));
}

/* Worth a name: used twice and no cheaper to write again. */
static bool worth(const share *w, const tn_expr *e)
{
    uint64_t n = 0;
    tn_map_get(&w->uses, tn_map_key(e), &n);
    return n >= 2 && !tn_dtype_is_bool(e->dtype) && !tn_dtype_is_index(e->dtype) && e->kind != TN_E_SPLAT;
}

static void bump(share *w, const tn_expr *e)
{
    uint64_t n = 0;
    tn_map_get(&w->uses, tn_map_key(e), &n);
    tn_map_put(&w->uses, tn_map_key(e), n + 1);
}

static bool count_edges(const tn_expr *e, void *user)
{
    share *w = user;
    uint64_t n = 0;
    tn_map_get(&w->uses, tn_map_key(e) | 1, &n); /* odd key: edges of e already counted */
    if (n)
        return true;
    tn_map_put(&w->uses, tn_map_key(e) | 1, 1);
    for (int i = 0; i < e->nsrc; i++)
        if (e->src[i]->has_load)
            bump(w, e->src[i]);
    return true;
}

static const tn_expr *count(const tn_expr *e, void *user)
{
    if (e->has_load) {
        bump(user, e);
        tn_each(e, count_edges, user);
    }
    return e;
}

static const tn_expr *rewrite(share *w, const tn_expr *e)
{
    uint64_t v;
    if (!e->has_load)
        return e;
    if (tn_map_get(&w->done, tn_map_key(e), &v) || tn_map_get(&w->local, tn_map_key(e), &v))
        return (const tn_expr *)(uintptr_t)v;
    const tn_expr *src[16];
    bool changed = false;
    TN_ASSERT(e->nsrc <= 16);
    for (int i = 0; i < e->nsrc; i++) {
        src[i] = rewrite(w, e->src[i]);
        changed |= src[i] != e->src[i];
    }
    const tn_expr *r = changed ? tn_expr_with(w->f->pool, e, src) : e;
    bool lasting = tn_each(e, reads_stored, w);
    if (worth(w, e) && (lasting || e->kind != TN_E_LOAD)) {
        const tn_expr *var = tn_func_add_var(w->f, "t", e->dtype);
        tn_body_insert(w->at->list, w->at, tn_stmt_let(w->f, var, r));
        r = var;
    }
    tn_map_put(lasting ? &w->done : &w->local, tn_map_key(e), (uint64_t)(uintptr_t)r);
    return r;
}

static const tn_expr *rewrite_slot(const tn_expr *e, void *user)
{
    return rewrite(user, e);
}

static bool note_stores(tn_stmt *s, void *user)
{
    share *w = user;
    if (s->kind == TN_S_STORE)
        tn_map_put(&w->stored, s->u.store.buffer, 1);
    return true;
}

static void body(tn_func *f, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    share w = {.f = f};
    tn_stmt_walk(b, note_stores, NULL, &w);
    for (tn_stmt *s = b->first; s; s = s->next)
        if (s->kind == TN_S_STORE || s->kind == TN_S_LET)
            tn_stmt_exprs(s, count, &w);
    for (tn_stmt *s = b->first; s; s = s->next) {
        w.at = s;
        tn_map_clear(&w.local);
        if (s->kind == TN_S_STORE || s->kind == TN_S_LET)
            tn_stmt_exprs(s, rewrite_slot, &w);
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            body(f, in[i], depth + 1);
    }
    tn_map_deinit(&w.uses);
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
