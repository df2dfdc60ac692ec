/* Vectorize: the body of a vector loop is written once, its variable being the ramp 0 .. lanes-1. Loads and
 * stores whose offset grows by one a lane are contiguous, by zero scalar, loads a constant way apart shuffles of
 * contiguous ones (pattern.c), else gathers and scatters. A
 * condition that depends on the lane becomes a mask. Lanes that reduce into one element are combined by a tree.
 * Vector loops that do not fit were unrolled before.
 * Register buffers that lanes do not index in order move to the task's memory. */
#include "lower/lower_impl.h"

typedef struct {
    tn_func *f;
    const tn_expr *var; /* the loop's */
    uint16_t lanes;
    const tn_expr *mask; /* conditions around, vector of bool; NULL: none */
    const tn_expr *cond; /* the same before vectorisation */
    bool idle;           /* they may hold in no lane */
    tn_map memo;         /* expression -> its vector form under `mask` */
    tn_map lets;         /* variable of a LET that varies by lane -> the vector variable */
    tn_facts facts;      /* at the loop: of what is around it, not of the conditions inside */
    tn_status status;
} vec;

static const tn_expr *splat(vec *v, const tn_expr *e)
{
    return e->dtype.lanes == 1 ? tn_splat(v->f->pool, e, v->lanes) : e;
}

static const tn_expr *vector(vec *v, const tn_expr *e);

static bool is_fixed(const tn_expr *e, void *user)
{
    const vec *v = user;
    uint64_t x;
    return e != v->var && !(e->kind == TN_E_VAR && tn_map_get(&v->lets, tn_map_key(e), &x));
}

/* Does e differ from lane to lane? */
static bool varies(vec *v, const tn_expr *e) { return !tn_each(e, is_fixed, v); }

static const tn_expr *both(vec *v, const tn_expr *a, const tn_expr *b)
{
    return a && b ? tn_and(v->f->pool, splat(v, a), splat(v, b)) : a ? a : b;
}

static bool shares_variable(const tn_expr *e, void *user)
{
    const tn_expr *cond = user;
    return !(e->kind == TN_E_VAR && tn_uses(cond, e));
}

/* Whether a scalar load is inside of its buffer whatever the masks say. */
static bool always_inside(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    const tn_buffer *b = &v->f->buffer[e->u.load.buffer];
    if (e->src[0]->has_load || b->ndim != 1)
        return false;
    return tn_prove(p, &v->facts, tn_le(p, tn_idx(p, 0), e->src[0])) == 1 &&
           tn_prove(p, &v->facts, tn_lt(p, e->src[0], b->dim[0])) == 1;
}

/* Does a register buffer hold what every lane reads, whatever the masks say? Its cells are whole vectors of the type
 * whose lanes filled them, but those of a narrower type are longer. */
static bool holds_lanes(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    const tn_buffer *b = &v->f->buffer[e->u.load.buffer];
    const tn_expr *coef, *rest;
    if (b->scope != TN_SCOPE_REGISTER || !tn_linear(p, NULL, e->src[0], v->var, &coef, &rest))
        return false;
    for (int k = 0; k < 2; k++) {
        const tn_expr *lane = tn_idx(p, k ? v->lanes - 1 : 0),
                      *at = tn_subst(p, e->src[0], 1, &v->var, &lane);
        if (tn_prove(p, &v->facts, tn_le(p, tn_idx(p, 0), at)) != 1 ||
            tn_prove(p, &v->facts, tn_lt(p, at, b->dim[0])) != 1)
            return false;
    }
    return true;
}

/* A load whose offset does not depend on the lane. Under a lane mask it stays scalar unless the mask may be
 * what keeps it inside its buffer: where the two share a variable, or there may be no lane that reads. */
static const tn_expr *uniform_load(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    const tn_expr *own = tn_load_mask(e);
    bool near = v->f->buffer[e->u.load.buffer].scope == TN_SCOPE_REGISTER;
    bool own_varies = own && (varies(v, own) || varies(v, tn_load_other(e)));
    bool tied = v->cond && !near && (v->idle || !tn_each(e->src[0], shares_variable, (void *)v->cond));
    if (!own_varies && (!tied || always_inside(v, e)))
        return e;
    if (near || always_inside(v, e)) {
        const tn_expr *whole = tn_load(p, e->dtype, e->u.load.buffer, 1, e->src, NULL, NULL);
        const tn_expr *mask = splat(v, vector(v, own)), *other = splat(v, vector(v, tn_load_other(e)));
        return tn_select(p, mask, splat(v, whole), other);
    }
    const tn_expr *mask = both(v, own ? vector(v, own) : NULL, v->mask),
                  *at = tn_splat(p, e->src[0], v->lanes);
    const tn_expr *other = own ? vector(v, tn_load_other(e)) : tn_const(p, e->dtype, 0);
    return tn_load(p, tn_dtype_lanes(e->dtype, v->lanes), e->u.load.buffer, 1, &at, splat(v, mask),
                   splat(v, other));
}

/* The scalar offset of a contiguous access, or the offsets of all lanes. */
static const tn_expr *offset(vec *v, const tn_expr *index)
{
    tn_pool *p = v->f->pool;
    const tn_expr *coef, *rest;
    if (index->has_load || !tn_linear(p, NULL, index, v->var, &coef, &rest) || varies(v, rest) ||
        varies(v, coef)) {
        const tn_expr *all = vector(v, index);
        return all->kind == TN_E_RAMP && tn_is_value(all->src[1], 1) ? all->src[0] : all;
    }
    return tn_is_value(coef, 1) ? rest : tn_ramp(p, rest, coef, v->lanes);
}

static const tn_expr *vector_load(vec *v, const tn_expr *e)
{
    tn_pool *p = v->f->pool;
    const tn_expr *own = tn_load_mask(e);
    if (!varies(v, e->src[0]))
        return uniform_load(v, e);
    const tn_expr *at = offset(v, e->src[0]), *whole = NULL;
    if (at->dtype.lanes > 1 && !v->mask)
        whole = tn_pattern_load(v->f, &v->facts, e, v->var, v->lanes);
    if (whole && own) {
        const tn_expr *mask = splat(v, vector(v, own));
        return tn_select(p, mask, whole, splat(v, vector(v, tn_load_other(e))));
    }
    if (whole)
        return whole;
    const tn_expr *around = v->mask && !holds_lanes(v, e) ? v->mask : NULL;
    const tn_expr *mask = both(v, own ? vector(v, own) : NULL, around);
    const tn_expr *other = own ? vector(v, tn_load_other(e)) : tn_const(p, e->dtype, 0);
    return tn_load(p, tn_dtype_lanes(e->dtype, v->lanes), e->u.load.buffer, 1, &at,
                   mask ? splat(v, mask) : NULL, mask ? splat(v, other) : NULL);
}

/* ---- bytes that lanes read in groups (tensor.c): an int32 that is a load of a few bytes ---- */

/* The group's mask in two: `own` is the same for all lanes; `lanes` is what differs, as a scalar condition. */
static void split_mask(vec *v, const tn_expr *mask, uint16_t group, const tn_expr **own,
                       const tn_expr **lanes)
{
    tn_pool *p = v->f->pool;
    const tn_expr *term[TN_MAX_TERMS], *inner[TN_MAX_TERMS];
    int n = mask ? tn_terms(mask, term) : 0;
    *own = *lanes = NULL;
    for (int i = 0; i < n; i++) {
        if (!varies(v, term[i])) {
            *own = tn_both(p, *own, term[i]);
            continue;
        }
        int k = tn_terms(term[i]->src[0], inner); /* a splat: tensor.c saw to it */
        for (int j = 0; j < k; j++) {
            const tn_expr *each = tn_splat(p, inner[j], group);
            if (varies(v, inner[j]))
                *lanes = tn_both(p, *lanes, inner[j]);
            else
                *own = tn_both(p, *own, each);
        }
    }
}

static const tn_expr *bits(vec *v, const tn_expr *load, uint16_t lanes)
{
    return tn_expr_make(v->f->pool, TN_E_BITCAST, tn_dtype_lanes(TN_I32, lanes), (tn_payload){0}, 1, &load);
}

static const tn_expr *load_bytes(vec *v, const tn_expr *load, uint16_t lanes, const tn_expr *at,
                                 const tn_expr *mask)
{
    tn_pool *p = v->f->pool;
    tn_dtype t = tn_dtype_lanes(load->dtype, lanes);
    const tn_expr *zero = tn_splat(p, tn_const(p, tn_dtype_lanes(t, 1), 0), lanes);
    return tn_load(p, t, load->u.load.buffer, 1, &at, mask, mask ? zero : NULL);
}

/* All lanes read one group. */
static const tn_expr *one_group(vec *v, const tn_expr *load)
{
    tn_pool *p = v->f->pool;
    uint16_t group = load->dtype.lanes;
    const tn_expr *own, *lanes;
    split_mask(v, tn_load_mask(load), group, &own, &lanes);
    const tn_expr *b = bits(v, load_bytes(v, load, group, load->src[0], own), 1);
    return lanes ? tn_select(p, splat(v, vector(v, lanes)), splat(v, b), splat(v, tn_int(p, TN_I32, 0))) : b;
}

/* Each lane reads the group after that of the lane before: the bytes lie beside each other. */
static const tn_expr *groups(vec *v, const tn_expr *load)
{
    tn_pool *p = v->f->pool;
    uint16_t group = load->dtype.lanes;
    const tn_expr *coef, *rest, *own, *lanes, *mask = NULL, *k = tn_idx(p, group);
    bool linear = tn_linear(p, NULL, load->src[0], v->var, &coef, &rest);
    TN_ASSERT(linear && tn_is_value(coef, group));
    vec byte = {
        .f = v->f, .var = tn_func_add_var(v->f, "byte", TN_IDX), .lanes = (uint16_t)(v->lanes * group)};
    split_mask(v, tn_load_mask(load), group, &own, &lanes);
    if (lanes) {
        const tn_expr *lane = tn_bin(p, TN_E_FLOORDIV, byte.var, k);
        mask = vector(&byte, tn_subst(p, lanes, 1, &v->var, &lane));
    }
    const tn_expr *term[TN_MAX_TERMS];
    int n = own ? tn_terms(own, term) : 0;
    for (int i = 0; i < n; i++) {
        const tn_expr *t = term[i]->kind == TN_E_SPLAT ? term[i]->src[0] : NULL;
        if (!t) /* an index that counts up within the group, below a bound */
            t = tn_lt(p, tn_add(p, term[i]->src[0]->src[0], tn_bin(p, TN_E_FLOORMOD, byte.var, k)),
                      term[i]->src[1]->kind == TN_E_SPLAT ? term[i]->src[1]->src[0] : term[i]->src[1]);
        mask = both(&byte, mask, vector(&byte, t));
    }
    const tn_expr *all = load_bytes(v, load, byte.lanes, rest, mask ? splat(&byte, mask) : NULL);
    tn_map_deinit(&byte.memo);
    tn_map_deinit(&byte.lets);
    return bits(v, all, v->lanes);
}

static bool is_group(const tn_expr *e)
{
    return e->kind == TN_E_BITCAST && e->dtype.lanes == 1 && e->src[0]->dtype.lanes > 1 &&
           e->src[0]->kind == TN_E_LOAD;
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
    if (e->kind == TN_E_VAR && tn_map_get(&v->lets, tn_map_key(e), &known))
        return (const tn_expr *)(uintptr_t)known;
    if (e->nsrc == 0)
        return e;
    if (tn_map_get(&v->memo, tn_map_key(e), &known))
        return (const tn_expr *)(uintptr_t)known;
    const tn_expr *r;
    if (e->kind == TN_E_LOAD) {
        r = vector_load(v, e);
    } else if (is_group(e)) {
        r = varies(v, e->src[0]->src[0]) ? groups(v, e->src[0]) : one_group(v, e->src[0]);
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

/* ---- lanes that reduce into one element ---- */

/* Lane l and lane l + n/2 are combined, then again in the half that is left; each half is named, before s. */
static const tn_expr *combined(tn_func *f, tn_stmt *s, enum tn_ek k, const tn_expr *e)
{
    tn_pool *p = f->pool;
    for (int n = e->dtype.lanes / 2; n > 0; n /= 2) {
        const tn_expr *half = tn_func_add_var(f, "half", e->dtype);
        tn_body_insert(s->list, s, tn_stmt_let(f, half, e));
        e = tn_bin(p, k, tn_lanes(p, half, NULL, 0, n, 1), tn_lanes(p, half, NULL, n, n, 1));
    }
    return e;
}

/* acc op term, the same acc in all lanes: acc op all terms. NULL: it is not that. */
static const tn_expr *reduced(vec *v, tn_stmt *s)
{
    const tn_expr *e = s->u.store.value, *src[2];
    bool associates = e->kind == TN_E_ADD || e->kind == TN_E_MUL || e->kind == TN_E_MAX ||
                      e->kind == TN_E_MIN || e->kind == TN_E_AND || e->kind == TN_E_OR;
    bool some = v->mask || (s->u.store.mask && varies(v, s->u.store.mask));
    if (!associates || some || v->f->strict)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const tn_expr *acc = e->src[i];
        if (acc->kind != TN_E_LOAD || acc->u.load.buffer != s->u.store.buffer || tn_load_mask(acc) ||
            acc->src[0] != s->u.store.index[0] || tn_loads_from(e->src[1 - i], s->u.store.buffer))
            continue;
        src[i] = acc;
        src[1 - i] = combined(v->f, s, (enum tn_ek)e->kind, splat(v, vector(v, e->src[1 - i])));
        return tn_bin(v->f->pool, (enum tn_ek)e->kind, src[0], src[1]);
    }
    return NULL;
}

static void store(vec *v, tn_stmt *s)
{
    const tn_expr *all = varies(v, s->u.store.index[0]) ? NULL : reduced(v, s);
    if (all) {
        s->u.store.value = all;
        return;
    }
    const tn_expr *index = s->u.store.index[0], *own = s->u.store.mask;
    const tn_expr *value = vector(v, s->u.store.value), *mask = both(v, own ? vector(v, own) : NULL, v->mask);
    if (!varies(v, index)) {
        s->u.store.value = value;
        s->u.store.mask = mask;
        /* lanes would race: the schedule steps refuse such loops */
        if (value->dtype.lanes > 1 || (mask && mask->dtype.lanes > 1))
            v->status =
                tn_error(v->f->ctx, "lower-E001", NULL,
                         "%s: several lanes of a vector loop store to the same element; do not vectorize it",
                         v->f->name);
        return;
    }
    s->u.store.index[0] = offset(v, index);
    s->u.store.value = splat(v, value);
    s->u.store.mask = mask ? splat(v, mask) : NULL;
}

static void let(vec *v, tn_stmt *s)
{
    const tn_expr *var = s->u.let.var, *value = vector(v, s->u.let.value);
    s->u.let.value = value;
    if (value->dtype.lanes == 1)
        return;
    s->u.let.var = tn_func_add_var(v->f, v->f->var[var->u.i].name, value->dtype);
    tn_map_put(&v->lets, tn_map_key(var), tn_map_key(s->u.let.var));
}

/* What is known of a condition in lane number `lane`: 1 true, 0 false, -1 nothing. */
static int in_lane(vec *v, const tn_expr *cond, int lane)
{
    const tn_expr *at = tn_idx(v->f->pool, lane);
    return tn_prove(v->f->pool, &v->facts, tn_subst(v->f->pool, cond, 1, &v->var, &at));
}

/* Does it surely hold in the first lane, or in the last? */
static bool in_some_lane(vec *v, const tn_expr *cond)
{
    return in_lane(v, cond, 0) == 1 || in_lane(v, cond, v->lanes - 1) == 1;
}

/* A bound that grows evenly with the lane fails in all if it fails in the first and the last. */
static bool in_no_lane(vec *v, const tn_expr *cond)
{
    const tn_expr *term[TN_MAX_TERMS], *coef, *rest;
    int n = tn_terms(cond, term);
    for (int i = 0; i < n; i++) {
        tn_pool *p = v->f->pool;
        if ((term[i]->kind != TN_E_LT && term[i]->kind != TN_E_LE) || term[i]->has_load ||
            !tn_dtype_is_index(term[i]->src[0]->dtype) ||
            !tn_linear(p, NULL, tn_sub(p, term[i]->src[0], term[i]->src[1]), v->var, &coef, &rest))
            continue;
        if (in_lane(v, term[i], 0) == 0 && in_lane(v, term[i], v->lanes - 1) == 0)
            return true;
    }
    return false;
}

static void body(vec *v, tn_body *b, int depth);

static void branch(vec *v, tn_stmt *s, int depth)
{
    tn_pool *p = v->f->pool;
    const tn_expr *c0 = s->u.cond.cond;
    if (!varies(v, c0) && !(v->mask && c0->has_load)) {
        body(v, &s->u.cond.then, depth + 1);
        body(v, &s->u.cond.other, depth + 1);
        return;
    }
    tn_body *part[2] = {&s->u.cond.then, &s->u.cond.other};
    const tn_expr *old_mask = v->mask, *old_cond = v->cond;
    const bool old_idle = v->idle;
    for (int i = 0; i < 2; i++) {
        const tn_expr *c = i ? tn_not(p, c0) : c0;
        if (!part[i]->first || in_no_lane(v, c))
            continue;
        v->mask = both(v, old_mask, vector(v, c));
        v->cond = tn_both(p, old_cond, c);
        v->idle = !in_some_lane(v, v->cond);
        tn_map_clear(&v->memo);
        body(v, part[i], depth + 1);
        v->mask = old_mask;
        v->cond = old_cond;
        v->idle = old_idle;
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
        case TN_S_STORE: store(v, s); break;
        case TN_S_IF: branch(v, s, depth); break;
        case TN_S_FOR: body(v, &s->u.loop.body, depth + 1); break;
        case TN_S_LET: let(v, s); break;
        default: TN_ASSERT(!"a statement that tn_vector_loop_fits refuses");
        }
    }
}

typedef struct {
    const tn_expr *var;
    bool lets, bad;
} fitness;

static bool try_stmt(tn_stmt *s, void *user)
{
    fitness *w = user;
    w->lets |= s->kind == TN_S_LET;
    w->bad |=
        s->kind == TN_S_CHECK || s->kind == TN_S_BUFFER || s->kind == TN_S_BLOCK || s->kind == TN_S_PREFETCH;
    if (s->kind == TN_S_FOR) {
        const tn_expr *n = s->u.loop.extent;
        w->bad |=
            s->u.loop.kind == TN_LOOP_VECTOR || n->has_load || tn_uses(n, w->var) || (w->lets && n->nsrc > 0);
    }
    return !w->bad;
}

bool tn_vector_loop_fits(const tn_stmt *loop)
{
    int64_t lanes;
    fitness w = {.var = loop->u.loop.var};
    if (!tn_is_int(loop->u.loop.extent, &lanes) || lanes < 2 || lanes > 64 || (lanes & (lanes - 1)) != 0)
        return false;
    tn_stmt_walk((tn_body *)&loop->u.loop.body, try_stmt, NULL, &w);
    return !w.bad;
}

static tn_status vectorize_loop(tn_func *f, tn_stmt *s)
{
    if (!tn_vector_loop_fits(s))
        return tn_error(f->ctx, "lower-E006", NULL,
                        "%s: vector loop `%s` contains a statement that lanes cannot execute together; "
                        "unroll it (pass Unroll does)",
                        f->name, f->var[s->u.loop.var->u.i].name);
    vec v = {.f = f, .var = s->u.loop.var, .lanes = (uint16_t)s->u.loop.extent->u.i};
    tn_stmt_facts(f, s, &v.facts);
    body(&v, &s->u.loop.body, 0);
    tn_map_deinit(&v.memo);
    tn_map_deinit(&v.lets);
    tn_facts_deinit(&v.facts);
    tn_body_move(s->list, s, &s->u.loop.body);
    tn_stmt_remove(s);
    return v.status;
}

static tn_status vectorize_list(tn_func *f, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        tn_body *in[2];
        if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_TENSOR)
            tn_tensor_lanes(f, s);
        int n = tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            TN_TRY(vectorize_list(f, in[i], depth + 1));
        if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_VECTOR)
            TN_TRY(vectorize_loop(f, s));
    }
    return TN_OK;
}

/* ---- registers that lanes index out of order ---- */

static void settle(tn_func *f, uint32_t buffer, const tn_expr *index)
{
    if (f->buffer[buffer].scope == TN_SCOPE_REGISTER && index->kind != TN_E_INT)
        f->buffer[buffer].scope = TN_SCOPE_LOCAL;
}

static bool settle_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        settle(user, e->u.load.buffer, e->src[0]);
    return true;
}

static const tn_expr *settle_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, settle_load, user);
    return e;
}

static bool settle_stmt(tn_stmt *s, void *user)
{
    if (s->kind == TN_S_STORE)
        settle(user, s->u.store.buffer, s->u.store.index[0]);
    tn_stmt_exprs(s, settle_expr, user);
    return true;
}

tn_status tn_lower_vectorize(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    TN_TRY(vectorize_list(f, &f->body, 0));
    tn_stmt_walk(&f->body, settle_stmt, NULL, f);
    f->stage = TN_STAGE_FLAT; /* no unrolled or vector loop, no register index that varies is left */
    return TN_OK;
}
