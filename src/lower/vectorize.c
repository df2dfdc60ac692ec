/* Vectorize: the body of a vector loop is written once, its variable being the ramp 0 .. lanes-1. Loads and stores whose
 * offset grows by one a lane are contiguous, by zero scalar, else gathers and scatters. A condition that depends on the
 * lane becomes a mask. Loops whose extent is no power of two, or above 64, are unrolled instead. */
#include "lower/lower_impl.h"

typedef struct {
    tn_func *f;
    const tn_expr *var;      /* the loop's */
    uint16_t lanes;
    const tn_expr *mask;     /* conditions around, vector of bool; NULL: none */
    const tn_expr *cond;     /* the same before vectorisation */
    tn_map memo;             /* expression -> its vector form under `mask` */
    tn_status status;
} vec;

static const tn_expr *splat(vec *v, const tn_expr *e)
{
    return e->dtype.lanes == 1 ? tn_splat(v->f->pool, e, v->lanes) : e;
}

static const tn_expr *vector(vec *v, const tn_expr *e);

static const tn_expr *both(vec *v, const tn_expr *a, const tn_expr *b)
{
    return a && b ? tn_and(v->f->pool, splat(v, a), splat(v, b)) : a ? a : b;
}

static bool shares_variable(const tn_expr *e, void *user)
{
    const tn_expr *cond = user;
    return !(e->kind == TN_E_VAR && tn_uses(cond, e));
}

/* A load whose offset does not depend on the lane. Under a lane mask it stays scalar unless the mask may be what keeps it
 * inside its buffer. */
static const tn_expr *uniform_load(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    const tn_expr *own = tn_load_mask(e);
    bool own_varies = own && tn_uses(own, v->var);
    bool tied = v->cond && !tn_each(e->src[0], shares_variable, (void *)v->cond);
    if (!own_varies && !tied)
        return e;
    const tn_expr *mask = both(v, own ? vector(v, own) : NULL, v->mask), *at = tn_splat(p, e->src[0], v->lanes);
    const tn_expr *other = own ? vector(v, tn_load_other(e)) : tn_const(p, e->dtype, 0);
    return tn_load(p, tn_dtype_lanes(e->dtype, v->lanes), e->u.load.buffer, 1, &at, splat(v, mask), splat(v, other));
}

static const tn_expr *vector_load(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    const tn_expr *coef, *rest, *own = tn_load_mask(e);
    if (!tn_uses(e->src[0], v->var))
        return uniform_load(v, e);
    bool contiguous = !e->src[0]->has_load && tn_linear(p, NULL, e->src[0], v->var, &coef, &rest) && tn_is_value(coef, 1);
    const tn_expr *at = contiguous ? rest : vector(v, e->src[0]);
    bool near = v->f->buffer[e->u.load.buffer].scope == TN_SCOPE_REGISTER; /* whole elements: no mask needed */
    const tn_expr *mask = both(v, own ? vector(v, own) : NULL, near ? NULL : v->mask);
    const tn_expr *other = own ? vector(v, tn_load_other(e)) : tn_const(p, e->dtype, 0);
    return tn_load(p, tn_dtype_lanes(e->dtype, v->lanes), e->u.load.buffer, 1, &at, mask ? splat(v, mask) : NULL,
                   mask ? splat(v, other) : NULL);
}

/* A sum or product of a ramp and a scalar is a ramp. */
static const tn_expr *ramp_arith(vec *v, enum tn_ek k, const tn_expr *a, const tn_expr *b)
{
    tn_pool *p = v->f->pool;
    if (b->kind == TN_E_RAMP && a->dtype.lanes == 1 && k != TN_E_SUB) {
        const tn_expr *t = a;
        a = b;
        b = t;
    }
    if (a->kind != TN_E_RAMP || b->dtype.lanes != 1)
        return NULL;
    if (k == TN_E_ADD || k == TN_E_SUB)
        return tn_ramp(p, tn_bin(p, k, a->src[0], b), a->src[1], v->lanes);
    if (k == TN_E_MUL)
        return tn_ramp(p, tn_mul(p, a->src[0], b), tn_mul(p, a->src[1], b), v->lanes);
    return NULL;
}

static const tn_expr *vector(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    uint64_t known;
    if (e == v->var)
        return tn_ramp(p, tn_int(p, e->dtype, 0), tn_int(p, e->dtype, 1), v->lanes);
    if (e->nsrc == 0 || (!tn_uses(e, v->var) && !e->has_load))
        return e;
    if (tn_map_get(&v->memo, tn_map_key(e), &known))
        return (const tn_expr *)(uintptr_t)known;
    const tn_expr *r;
    if (e->kind == TN_E_LOAD) {
        r = vector_load(v, e);
    } else {
        const tn_expr *src[16];
        bool wide = false;
        TN_ASSERT(e->nsrc <= 16);
        for (int i = 0; i < e->nsrc; i++) {
            src[i] = vector(v, e->src[i]);
            wide |= src[i]->dtype.lanes > 1;
        }
        r = wide && e->nsrc == 2 ? ramp_arith(v, (enum tn_ek)e->kind, src[0], src[1]) : NULL;
        if (!r) {
            for (int i = 0; i < e->nsrc && wide; i++)
                src[i] = splat(v, src[i]);
            r = tn_expr_with(p, e, src);
        }
    }
    tn_map_put(&v->memo, tn_map_key(e), (uint64_t)(uintptr_t)r);
    return r;
}

static void store(vec *v, tn_stmt *s)
{
    tn_pool *p = v->f->pool;
    const tn_expr *index = s->u.store.index[0], *coef, *rest, *own = s->u.store.mask;
    const tn_expr *value = vector(v, s->u.store.value), *mask = both(v, own ? vector(v, own) : NULL, v->mask);
    if (!tn_uses(index, v->var)) {
        if (value->dtype.lanes > 1 || mask) /* lanes would race: the schedule steps refuse such loops */
            v->status = tn_error(v->f->ctx, "lower-E001", NULL, "%s: lanes of a vector loop store to one element; do not vectorize it", v->f->name);
        return;
    }
    bool contiguous = !index->has_load && tn_linear(p, NULL, index, v->var, &coef, &rest) && tn_is_value(coef, 1);
    s->u.store.index[0] = contiguous ? rest : vector(v, index);
    s->u.store.value = splat(v, value);
    s->u.store.mask = mask ? splat(v, mask) : NULL;
}

static void body(vec *v, tn_body *b, int depth);

static void branch(vec *v, tn_stmt *s, int depth)
{
    tn_pool *p = v->f->pool;
    if (!tn_uses(s->u.cond.cond, v->var)) {
        body(v, &s->u.cond.then, depth + 1);
        body(v, &s->u.cond.other, depth + 1);
        return;
    }
    tn_body *part[2] = {&s->u.cond.then, &s->u.cond.other};
    const tn_expr *old_mask = v->mask, *old_cond = v->cond;
    for (int i = 0; i < 2; i++) {
        const tn_expr *c = i ? tn_not(p, s->u.cond.cond) : s->u.cond.cond;
        v->mask = both(v, old_mask, vector(v, c));
        v->cond = old_cond ? tn_and(p, old_cond, c) : c;
        tn_map_clear(&v->memo);
        body(v, part[i], depth + 1);
        v->mask = old_mask;
        v->cond = old_cond;
        tn_map_clear(&v->memo);
        tn_body_move(s->list, s, part[i]);
    }
    tn_stmt_remove(s);
}

static void body(vec *v, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        switch (s->kind) {
        case TN_S_STORE:
            store(v, s);
            break;
        case TN_S_IF:
            branch(v, s, depth);
            break;
        case TN_S_FOR:
            body(v, &s->u.loop.body, depth + 1);
            break;
        default:
            v->status = tn_error(v->f->ctx, "lower-E002", NULL, "%s: a %s statement inside a vector loop", v->f->name,
                                 s->kind == TN_S_BUFFER ? "buffer" : "check or let");
        }
    }
}

static tn_status vectorize_loop(tn_func *f, tn_stmt *s)
{
    vec v = {.f = f, .var = s->u.loop.var, .lanes = (uint16_t)s->u.loop.extent->u.i};
    body(&v, &s->u.loop.body, 0);
    tn_map_deinit(&v.memo);
    tn_body_move(s->list, s, &s->u.loop.body);
    tn_stmt_remove(s);
    return v.status;
}

static tn_status find(tn_func *f, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            TN_TRY(find(f, in[i], depth + 1));
        if (s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_VECTOR)
            continue;
        int64_t lanes;
        bool fits = tn_is_int(s->u.loop.extent, &lanes) && lanes > 1 && lanes <= 64 && (lanes & (lanes - 1)) == 0;
        if (fits)
            TN_TRY(vectorize_loop(f, s));
        else
            s->u.loop.kind = TN_LOOP_UNROLLED;
    }
    return TN_OK;
}

tn_status tn_lower_vectorize(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    return find(f, &f->body, 0);
}
