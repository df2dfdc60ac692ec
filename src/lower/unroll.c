/* Unroll: unrolled loops of constant extent become copies of their body, innermost first; with a bound on the statements
 * made (a loop beyond it stays serial unless it indexes registers). Registers: register buffers end with constant indices
 * and, where every access is one aligned vector, one vector an element. */
#include "lower/lower_impl.h"

enum { MAX_COPIES = 4096 };

static void unroll_loop(tn_func *f, tn_stmt *s, int64_t n)
{
    const tn_expr *var = s->u.loop.var;
    for (int64_t i = 0; i < n; i++) {
        const tn_expr *value = tn_idx(f->pool, i);
        for (tn_stmt *c = s->u.loop.body.first; c; c = c->next) {
            tn_stmt *copy = tn_stmt_clone(f, c);
            tn_stmt_subst(f, copy, 1, &var, &value);
            tn_body_insert(s->list, s, copy);
        }
    }
    tn_stmt_remove(s);
}

static void find(tn_func *f, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            find(f, in[i], depth + 1);
        int64_t extent;
        if (s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_UNROLLED)
            continue;
        if (tn_is_int(s->u.loop.extent, &extent) && extent <= MAX_COPIES)
            unroll_loop(f, s, extent);
        else
            s->u.loop.kind = TN_LOOP_SERIAL;
    }
}

tn_status tn_lower_unroll(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    find(f, &f->body, 0);
    return TN_OK;
}

/* ---- registers ---- */

typedef struct {
    tn_func *f;
    uint16_t *lanes;         /* per buffer: lanes of every access; 0: not seen; 1: scalar, or not alike */
    bool *wide;              /* per buffer: some access is a vector */
    bool failed;
} usage;

static void access(usage *u, uint32_t buffer, const tn_expr *index, uint16_t lanes)
{
    const tn_buffer *b = &u->f->buffer[buffer];
    int64_t at;
    if (b->scope != TN_SCOPE_REGISTER)
        return;
    if (!tn_is_int(index, &at)) {
        tn_error(u->f->ctx, "lower-E003", NULL, "%s: register buffer %s is indexed by a value that is not constant; unroll the loops around it", u->f->name, b->name);
        u->failed = true;
        return;
    }
    uint16_t *l = &u->lanes[buffer];
    u->wide[buffer] |= lanes > 1;
    if (*l == 0)
        *l = lanes;
    if (*l != lanes || at % lanes != 0)
        *l = 1;
}

static bool access_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        access(user, e->u.load.buffer, e->src[0], e->dtype.lanes);
    return true;
}

static const tn_expr *access_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, access_load, user);
    return e;
}

static bool access_stmt(tn_stmt *s, void *user)
{
    if (s->kind == TN_S_STORE)
        access(user, s->u.store.buffer, s->u.store.index[0], s->u.store.value->dtype.lanes);
    tn_stmt_exprs(s, access_expr, user);
    return true;
}

static const tn_expr *widen_load(tn_pool *p, const tn_expr *e, void *user)
{
    usage *u = user;
    if (e->kind != TN_E_LOAD || u->f->buffer[e->u.load.buffer].scope != TN_SCOPE_REGISTER || e->src[0]->dtype.lanes > 1)
        return NULL;
    uint16_t lanes = u->lanes[e->u.load.buffer];
    if (lanes <= 1)
        return NULL;
    const tn_expr *at = tn_idx(p, e->src[0]->u.i / lanes);
    return at == e->src[0] ? NULL : tn_load(p, e->dtype, e->u.load.buffer, 1, &at, NULL, NULL);
}

static const tn_expr *widen_expr(const tn_expr *e, void *user)
{
    usage *u = user;
    return e->has_load ? tn_rewrite(u->f->pool, e, widen_load, u) : e;
}

static bool widen_stmt(tn_stmt *s, void *user)
{
    usage *u = user;
    tn_stmt_exprs(s, widen_expr, u);
    if (s->kind == TN_S_STORE && u->f->buffer[s->u.store.buffer].scope == TN_SCOPE_REGISTER && u->lanes[s->u.store.buffer] > 1)
        s->u.store.index[0] = tn_idx(u->f->pool, s->u.store.index[0]->u.i / u->lanes[s->u.store.buffer]);
    return true;
}

tn_status tn_lower_registers(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    usage u = {f, TN_NEW_N(f->arena, uint16_t, f->n_buffer), TN_NEW_N(f->arena, bool, f->n_buffer), false};
    tn_stmt_walk(&f->body, access_stmt, NULL, &u);
    if (u.failed)
        return TN_FAIL;
    for (uint32_t i = 0; i < f->n_buffer; i++) {
        tn_buffer *b = &f->buffer[i];
        int64_t n;
        if (b->scope != TN_SCOPE_REGISTER || !tn_is_int(b->dim[0], &n))
            continue;
        if (u.lanes[i] == 1 && u.wide[i])
            b->scope = TN_SCOPE_LOCAL; /* scalars and vectors of one element: only memory can hold that */
        if (u.lanes[i] > 1) {
            const tn_expr **dim = TN_NEW(f->arena, const tn_expr *);
            *dim = tn_idx(f->pool, (n + u.lanes[i] - 1) / u.lanes[i]);
            b->dim = dim;
            b->dtype = tn_dtype_lanes(b->dtype, u.lanes[i]);
        }
    }
    tn_stmt_walk(&f->body, widen_stmt, NULL, &u);
    f->stage = TN_STAGE_FLAT; /* no unrolled or vector loop, no register index that varies is left */
    return TN_OK;
}
