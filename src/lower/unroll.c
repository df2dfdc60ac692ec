/* Unroll: unrolled loops of constant extent become copies of their body, innermost first, and so do vector loops that
 * cannot become vectors, and short serial loops that index registers. A loop that would make too many statements stays
 * serial. Afterwards register buffers are indexed by constants and lanes of vector loops alone, or the function is
 * refused. Registers: each index becomes a constant and, where every access is one aligned vector, one vector is one
 * element. */
#include "lower/lower_impl.h"

enum { MAX_STATEMENTS = 1 << 15, MAX_LETS = 256, SHORT = 64 };

typedef struct {
    tn_func *f;
    int64_t made;
    bool registers; /* there are some */
} unroller;

static bool count_one(tn_stmt *s, void *user)
{
    (void)s;
    ++*(int64_t *)user;
    return true;
}

static int64_t statements(tn_body *b)
{
    int64_t n = 0;
    tn_stmt_walk(b, count_one, NULL, &n);
    return n;
}

/* What one copy of a body defines for itself: the loop variable's value, its own lets and buffers. */
typedef struct {
    int n, n_buffer;
    const tn_expr *from[MAX_LETS], *to[MAX_LETS];
    uint32_t old[MAX_LETS], fresh[MAX_LETS];
} own;

static void copy_stmt(tn_func *f, tn_stmt *at, tn_stmt *s, own *o, bool first)
{
    tn_body *in[2];
    /* where copies decide conditions differently, what is inside comes to stand side by side */
    bool fresh = !first && tn_stmt_bodies(s, in) > 0;
    tn_stmt *c = fresh ? tn_stmt_clone_fresh(f, s, "") : tn_stmt_clone(f, s);
    tn_stmt_subst(f, c, o->n, o->from, o->to);
    for (int i = 0; i < o->n_buffer; i++)
        tn_stmt_rename_buffer(f, c, o->old[i], o->fresh[i]);
    tn_body_insert(at->list, at, c);
    if (first)
        return;
    if (s->kind == TN_S_LET) {
        const tn_expr *var = s->u.let.var;
        o->from[o->n] = var;
        c->u.let.var = o->to[o->n++] = tn_func_add_var(f, f->var[var->u.i].name, var->dtype);
    } else if (s->kind == TN_S_BUFFER) {
        tn_buffer b = f->buffer[s->u.decl.buffer];
        o->old[o->n_buffer] = s->u.decl.buffer;
        c->u.decl.buffer = o->fresh[o->n_buffer++] = tn_func_add_buffer(f, &b);
    }
}

static void unroll_loop(tn_func *f, tn_stmt *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        own o = {.n = 1, .from = {s->u.loop.var}, .to = {tn_idx(f->pool, i)}};
        for (tn_stmt *c = s->u.loop.body.first; c; c = c->next)
            copy_stmt(f, s, c, &o, i == 0);
    }
    tn_stmt_remove(s);
}

/* Lets and buffers of the body's own list: each copy needs its own. */
static bool few_definitions(const tn_body *b)
{
    int n = 0;
    for (const tn_stmt *s = b->first; s; s = s->next)
        n += s->kind == TN_S_LET || s->kind == TN_S_BUFFER;
    return n < MAX_LETS;
}

/* ---- loops around indices of registers ---- */

typedef struct {
    const tn_func *f;
    const tn_expr *var;
    bool found;
} search;

static bool search_load(const tn_expr *e, void *user)
{
    search *x = user;
    if (e->kind == TN_E_LOAD && x->f->buffer[e->u.load.buffer].scope == TN_SCOPE_REGISTER)
        for (uint32_t i = 0; i < e->u.load.n_index; i++)
            x->found |= tn_uses(e->src[i], x->var);
    return !x->found;
}

static const tn_expr *search_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, search_load, user);
    return e;
}

static bool search_stmt(tn_stmt *s, void *user)
{
    search *x = user;
    if (s->kind == TN_S_STORE && x->f->buffer[s->u.store.buffer].scope == TN_SCOPE_REGISTER)
        for (uint32_t i = 0; i < s->u.store.n_index; i++)
            x->found |= tn_uses(s->u.store.index[i], x->var);
    tn_stmt_exprs(s, search_expr, x);
    return !x->found;
}

static bool indexes_registers(const unroller *u, tn_stmt *loop)
{
    int64_t n;
    search x = {u->f, loop->u.loop.var, false};
    if (!u->registers || !tn_is_int(loop->u.loop.extent, &n) || n > SHORT)
        return false;
    tn_stmt_walk(&loop->u.loop.body, search_stmt, NULL, &x);
    return x.found;
}

static void unroll_list(unroller *u, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            unroll_list(u, in[i], depth + 1);
        if (s->kind != TN_S_FOR)
            continue;
        if (s->u.loop.kind == TN_LOOP_VECTOR && !tn_vector_loop_fits(s))
            s->u.loop.kind = TN_LOOP_UNROLLED;
        if (s->u.loop.kind == TN_LOOP_SERIAL && indexes_registers(u, s))
            s->u.loop.kind = TN_LOOP_UNROLLED;
        if (s->u.loop.kind != TN_LOOP_UNROLLED)
            continue;
        int64_t extent, size = statements(&s->u.loop.body);
        bool small = tn_is_int(s->u.loop.extent, &extent) && extent <= MAX_STATEMENTS &&
                     extent * size <= MAX_STATEMENTS - u->made;
        if (small && few_definitions(&s->u.loop.body)) {
            u->made += (extent - 1) * size;
            unroll_loop(u->f, s, extent);
        } else {
            s->u.loop.kind = TN_LOOP_SERIAL;
        }
    }
}

/* ---- register indices that lanes alone may vary ---- */

typedef struct {
    tn_func *f;
    const tn_stmt *at;
    tn_status status;
} checker;

static bool is_lane(const tn_stmt *s, const tn_expr *var)
{
    for (; s; s = tn_stmt_parent(s))
        if (s->kind == TN_S_FOR && s->u.loop.var == var)
            return s->u.loop.kind == TN_LOOP_VECTOR || s->u.loop.kind == TN_LOOP_TENSOR;
    return false;
}

static bool check_leaf(const tn_expr *e, void *user)
{
    const checker *c = user;
    return e->kind == TN_E_VAR ? is_lane(c->at, e) : e->kind != TN_E_LOAD && e->kind != TN_E_SYM;
}

static tn_status varying(const tn_func *f, const tn_buffer *b)
{
    return tn_error(
        f->ctx, "lower-E003", NULL,
        "%s: register buffer %s is indexed by a value that is not constant; unroll the loops around it",
        f->name, b->name);
}

static void check_index(checker *c, uint32_t buffer, const tn_expr *index)
{
    const tn_buffer *b = &c->f->buffer[buffer];
    if (b->scope != TN_SCOPE_REGISTER || tn_each(index, check_leaf, c) || c->status != TN_OK)
        return;
    c->status = varying(c->f, b);
}

static bool check_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        for (uint32_t i = 0; i < e->u.load.n_index; i++)
            check_index(user, e->u.load.buffer, e->src[i]);
    return true;
}

static const tn_expr *check_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, check_load, user);
    return e;
}

static bool check_stmt(tn_stmt *s, void *user)
{
    checker *c = user;
    c->at = s;
    if (s->kind == TN_S_STORE)
        for (uint32_t i = 0; i < s->u.store.n_index; i++)
            check_index(c, s->u.store.buffer, s->u.store.index[i]);
    tn_stmt_exprs(s, check_expr, c);
    return true;
}

tn_status tn_lower_unroll(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    unroller u = {f, 0, false};
    checker c = {f, NULL, TN_OK};
    for (uint32_t i = 0; i < f->n_buffer; i++)
        u.registers |= f->buffer[i].scope == TN_SCOPE_REGISTER;
    unroll_list(&u, &f->body, 0);
    tn_stmt_walk(&f->body, check_stmt, NULL, &c);
    return c.status;
}

/* ---- registers ---- */

typedef struct {
    tn_func *f;
    uint16_t *lanes; /* per buffer: lanes of every access; 0: not seen; 1: scalar, or not alike */
    bool *wide;      /* per buffer: some access is a vector */
    tn_status status;
} usage;

static void access(usage *u, uint32_t buffer, const tn_expr *index, uint16_t lanes)
{
    const tn_buffer *b = &u->f->buffer[buffer];
    int64_t at;
    if (b->scope != TN_SCOPE_REGISTER)
        return;
    if (!tn_is_int(index, &at)) {
        if (u->status == TN_OK)
            u->status = varying(u->f, b);
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
    if (e->kind != TN_E_LOAD || u->f->buffer[e->u.load.buffer].scope != TN_SCOPE_REGISTER)
        return NULL;
    uint16_t lanes = u->lanes[e->u.load.buffer];
    const tn_expr *at = tn_idx(p, lanes > 1 ? e->src[0]->u.i / lanes : e->src[0]->u.i),
                  *mask = tn_load_mask(e);
    if (at == e->src[0] && !mask)
        return NULL;
    const tn_expr *r = tn_load(p, e->dtype, e->u.load.buffer, 1, &at, NULL, NULL);
    return mask ? tn_select(p, mask, r, tn_load_other(e)) : r; /* registers may be read at any time */
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
    if (s->kind == TN_S_STORE && u->f->buffer[s->u.store.buffer].scope == TN_SCOPE_REGISTER &&
        u->lanes[s->u.store.buffer] > 1)
        s->u.store.index[0] = tn_idx(u->f->pool, s->u.store.index[0]->u.i / u->lanes[s->u.store.buffer]);
    return true;
}

tn_status tn_lower_registers(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    usage u = {f, TN_NEW_N(f->arena, uint16_t, f->n_buffer), TN_NEW_N(f->arena, bool, f->n_buffer), TN_OK};
    tn_stmt_walk(&f->body, access_stmt, NULL, &u);
    TN_TRY(u.status);
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
    return TN_OK;
}
