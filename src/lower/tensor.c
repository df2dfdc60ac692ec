/* Tensors: nests that call units (tir/unit.h). Of lanes that add products of groups, Vectorize makes the group one
 * element of a vector of int32, and the columns lanes:
 *
 *   tensor "dot4.u8s8" for j < 16, i < 4:            vector for j < 16:
 *     acc[j] = acc[j] + i32(x[k*4 + i])                acc[j] = dot4us(acc[j], bitcast(i32, x[k*4 : 4]),
 *                     * i32(w[k*64 + j*4 + i])    ->                           bitcast(i32, w[k*64 + j*4 : 4]))
 *
 * The lanes must read w a group apart, and x all from one place. A condition may end the sum within a group: there w
 * reads 0, and x whatever stands in its block, or 0 where that may be no number. What does not fit, or what the machine
 * does not have, becomes ordinary loops with the same values before Unroll: columns are lanes, terms straight lines.
 * Nests of tiles: tile.c. */
#include "lower/lower_impl.h"

#include "machine/machine.h"
#include "tir/unit.h"

typedef struct {
    int n;
    const tn_expr *at[TN_MAX_TERMS];
} terms;

typedef struct {
    tn_func *f;
    const tn_unit_row *row;
    const tn_expr *lane, *term; /* variables: of the columns, of the group */
    int group;
} call;

static const tn_expr *at_term(const call *c, const tn_expr *e, int64_t k)
{
    const tn_expr *value = tn_idx(c->f->pool, k);
    return tn_subst(c->f->pool, e, 1, &c->term, &value);
}

/* Does e grow by `by` with each turn of the loop over var? */
static bool steps_by(const call *c, const tn_expr *e, const tn_expr *var, int64_t by)
{
    const tn_expr *coef, *rest;
    return !e->has_load && tn_uses(e, var) && tn_linear(c->f->pool, NULL, e, var, &coef, &rest) &&
           tn_is_value(coef, by);
}

/* ---- conditions ---- */

/* An index below a bound that counts up in the group, as a condition of one lane a term; NULL: it is not that. */
static const tn_expr *counting(const call *c, const tn_expr *t)
{
    tn_pool *p = c->f->pool;
    if (t->kind != TN_E_LT || !steps_by(c, t->src[0], c->term, 1) || tn_uses(t->src[1], c->term))
        return NULL;
    const tn_expr *at = tn_simplify(p, NULL, at_term(c, t->src[0], 0));
    return tn_lt(p, tn_ramp(p, at, tn_int(p, at->dtype, 1), c->group), tn_splat(p, t->src[1], c->group));
}

/* same: terms that hold for the whole group or nothing of it (scalar); ends: the others, of a lane a term. */
static bool split(const call *c, const tn_expr *cond, terms *same, terms *ends)
{
    terms t = {0};
    *same = *ends = (terms){0};
    t.n = cond ? tn_terms(cond, t.at) : 0;
    for (int i = 0; i < t.n; i++)
        if (!tn_uses(t.at[i], c->term))
            same->at[same->n++] = t.at[i];
        else if ((ends->at[ends->n++] = counting(c, t.at[i])) == NULL)
            return false;
    return true;
}

/* ---- loads ---- */

static bool shares(const tn_expr *e, void *user) { return !(e->kind == TN_E_VAR && tn_uses(user, e)); }

static bool place_fits(const call *c, const tn_expr *index, bool one_place)
{
    if (!steps_by(c, index, c->term, 1))
        return false;
    return one_place ? !tn_uses(index, c->lane) : steps_by(c, index, c->lane, c->group);
}

/* The load's group as one element, where `ends` (a lane a term) holds; NULL: it does not fit. */
static const tn_expr *joined(const call *c, const tn_expr *load, bool one_place, const terms *ends)
{
    tn_pool *p = c->f->pool;
    const tn_expr *index = at_term(c, load->src[0], 0), *mask = NULL, *other = tn_load_other(load);
    terms same, own;
    bool zero = !other || tn_is_value(other, 0);
    if (!zero || !place_fits(c, load->src[0], one_place) || !split(c, tn_load_mask(load), &same, &own))
        return NULL;
    for (int i = 0; i < same.n; i++) {
        bool varies = tn_uses(same.at[i], c->lane);
        /* the lanes' mask may be what keeps x inside */
        if (same.at[i]->has_load || (one_place && varies && !tn_each(index, shares, (void *)same.at[i])))
            return NULL;
        mask = tn_both(p, mask, tn_splat(p, same.at[i], c->group));
    }
    for (int i = 0; i < own.n + ends->n; i++) {
        const tn_expr *t = i < own.n ? own.at[i] : ends->at[i - own.n];
        if (t->has_load || tn_uses(t, c->lane))
            return NULL;
        mask = tn_both(p, mask, t);
    }
    tn_dtype t = tn_dtype_lanes(load->dtype, (uint16_t)c->group);
    const tn_expr *none = mask ? tn_splat(p, tn_const(p, load->dtype, 0), c->group) : NULL;
    const tn_expr *group = tn_load(p, t, load->u.load.buffer, 1, &index, mask, none);
    return tn_expr_make(p, TN_E_BITCAST, TN_I32, (tn_payload){0}, 1, &group);
}

/* The whole group is inside the buffer if its first element is. */
static bool is_whole(const call *c, const tn_expr *load)
{
    tn_pool *p = c->f->pool;
    const tn_expr *group = tn_idx(p, c->group), *n = c->f->buffer[load->u.load.buffer].dim[0],
                  *first = at_term(c, load->src[0], 0);
    return tn_is_value(tn_simplify(p, NULL, tn_fmod(p, first, group)), 0) &&
           tn_is_value(tn_simplify(p, NULL, tn_fmod(p, n, group)), 0);
}

/* ---- nests ---- */

/* What the lanes of a nest do: sum = function(sum, x, w) where the terms of `same` hold. */
typedef struct {
    const tn_expr *x, *w;
    terms same;
} lanes;

static bool plan_lanes(tn_func *f, const tn_unit_nest *n, lanes *out)
{
    call c = {f, n->row, n->loop[TN_UNIT_COLUMNS]->u.loop.var, n->inner->u.loop.var,
              (int)n->extent[TN_UNIT_TERMS]};
    terms ends, none = {0};
    if (tn_uses(n->store->u.store.index[0], c.term) || !split(&c, n->cond, &out->same, &ends))
        return false;
    out->w = joined(&c, n->w, false, &ends);
    bool real = tn_dtype_is_float(n->row->sum), any = !real && is_whole(&c, n->x);
    out->x = out->w ? joined(&c, n->x, true, any ? &none : &ends) : NULL;
    return out->x != NULL;
}

static void put_lanes(tn_func *f, const tn_unit_nest *n, const lanes *l)
{
    tn_pool *p = f->pool;
    tn_stmt *columns = n->loop[TN_UNIT_COLUMNS], *store = n->store;
    bool turned =
        n->row->x.code == TN_INT && n->row->w.code == TN_UINT; /* the function has them the other way */
    const tn_expr *sum = tn_load(p, n->row->sum, store->u.store.buffer, 1, store->u.store.index, NULL, NULL),
                  *arg[3] = {sum, turned ? l->w : l->x, turned ? l->x : l->w};
    store->u.store.value =
        tn_expr_make(p, TN_E_CALL, n->row->sum, (tn_payload){.call = {.id = n->row->function}}, 3, arg);
    tn_stmt_remove(store);
    tn_stmt_remove(n->inner);
    if (l->same.n) {
        tn_stmt *i = tn_stmt_if(f, tn_terms_join(p, l->same.n, l->same.at));
        tn_body_append(&i->u.cond.then, store);
        store = i;
    }
    tn_body_append(&columns->u.loop.body, store);
}

/* The nest as ordinary loops of the given kinds, in the unit's order. */
static void write_out(tn_func *f, tn_stmt *s, const uint8_t kind[TN_UNIT_AXES])
{
    const tn_unit_row *row = &tn_units[s->u.loop.tensor];
    if (tn_unit_write_out(f, s)) { /* serial so far: the columns, and the terms in them */
        s->u.loop.kind = kind[TN_UNIT_COLUMNS];
        s->u.loop.body.first->u.loop.kind = kind[TN_UNIT_TERMS];
        return;
    }
    for (int axis = 0; axis < TN_UNIT_AXES; axis++) {
        if (row->most[axis] == 1 || !s || s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_TENSOR)
            continue;
        s->u.loop.kind = kind[axis];
        s->u.loop.tensor = 0;
        s = s->u.loop.body.first;
    }
}

typedef struct {
    tn_func *f;
    const struct tn_machine *m;
} walk;

static bool enter(tn_stmt *s, void *user)
{
    static const uint8_t kind[] = {TN_LOOP_SERIAL, TN_LOOP_VECTOR, TN_LOOP_SERIAL, TN_LOOP_UNROLLED};
    const walk *w = user;
    tn_unit_nest n;
    lanes l;
    if (s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_TENSOR)
        return true;
    int id = s->u.loop.tensor;
    if (tn_units[id].kind == TN_UNIT_MATRIX) /* written out, it has nests of lanes inside */
        return !tn_tensor_tile(w->f, w->m, s);
    bool may = !w->f->strict || !tn_dtype_is_float(tn_units[id].sum);
    bool fits = may && tn_unit_on(id, w->m, tn_machine_given) && !tn_unit_read(s, &tn_units[id], &n);
    if (!fits || !plan_lanes(w->f, &n, &l))
        write_out(w->f, s, kind);
    return false;
}

tn_status tn_lower_tensors(tn_func *f, const struct tn_machine *m)
{
    tn_stmt_walk(&f->body, enter, NULL, &(walk){f, m});
    return TN_OK;
}

void tn_tensor_lanes(tn_func *f, tn_stmt *s)
{
    static const uint8_t kind[] = {TN_LOOP_SERIAL, TN_LOOP_VECTOR, TN_LOOP_SERIAL, TN_LOOP_SERIAL};
    tn_unit_nest n;
    lanes l;
    if (tn_units[s->u.loop.tensor].kind == TN_UNIT_MATRIX)
        return; /* for the code generator */
    if (!tn_unit_read(s, &tn_units[s->u.loop.tensor], &n) && plan_lanes(f, &n, &l))
        put_lanes(f, &n, &l);
    write_out(f, s, kind);
}
