/* Dot products of bytes: four consecutive steps of a sum of products of uint8 and int8 in int32 become one dot4us, that
 * machines with such an instruction do in one step. It is exact: both wrap.
 *
 *   acc[i] = acc[i] + i32(x[a]) * i32(w[b])           acc[i] = dot4us(acc[i], bitcast(i32, x[a : 4]),
 *   ... the same with a + 1, b + 1; a + 2 ...     ->                          bitcast(i32, w[b : 4]))
 *
 * Called on the body of a vector loop just before it is vectorised, where unrolled loops are straight lines. Its
 * lanes must read w four elements apart, and x all from one place; conditions and masks must say the same of all lanes,
 * or of lanes alone. Steps may stand under conditions that differ where a sum ends within a group: there w reads 0, and
 * x whatever stands in its block. What does not fit stays as it is.
 */
#include "lower/lower_impl.h"

#include "machine/machine.h"

enum { GROUP = 4 };

typedef struct {
    tn_func *f;
    const tn_expr *var; /* the lanes' */
} dots;

typedef struct {
    tn_stmt *at, *store;  /* the statement of the list; itself, or what stands under its condition */
    const tn_expr *cond;  /* NULL: none */
    const tn_expr *x, *w; /* loads of uint8 and of int8 */
} step;

typedef struct {
    int n;
    const tn_expr *at[TN_MAX_TERMS];
} terms;

static const tn_expr *widened(const tn_expr *e)
{
    bool wide = e->kind == TN_E_CAST && tn_dtype_eq(e->dtype, TN_I32) && e->src[0]->kind == TN_E_LOAD;
    return wide && e->src[0]->dtype.lanes == 1 ? e->src[0] : NULL;
}

static bool is_self(const tn_stmt *s, const tn_expr *e)
{
    return e->kind == TN_E_LOAD && e->u.load.buffer == s->u.store.buffer && !tn_load_mask(e) &&
           e->src[0] == s->u.store.index[0];
}

/* B[i] = B[i] + i32(x) * i32(w), perhaps under a condition */
static bool read_step(tn_stmt *s, step *out)
{
    *out = (step){.at = s, .store = s};
    if (s && s->kind == TN_S_IF && !s->u.cond.other.first) {
        out->cond = s->u.cond.cond;
        out->store = s = s->u.cond.then.first;
        if (s && s->next)
            return false;
    }
    if (!s || s->kind != TN_S_STORE || s->u.store.mask || s->u.store.value->kind != TN_E_ADD ||
        !tn_dtype_eq(s->u.store.value->dtype, TN_I32))
        return false;
    const tn_expr *const *sum = s->u.store.value->src;
    int self = is_self(s, sum[0]) ? 0 : is_self(s, sum[1]) ? 1 : -1;
    if (self < 0 || sum[1 - self]->kind != TN_E_MUL)
        return false;
    const tn_expr *a = widened(sum[1 - self]->src[0]), *b = widened(sum[1 - self]->src[1]);
    if (!a || !b)
        return false;
    bool turned = tn_dtype_eq(b->dtype, TN_U8);
    out->x = turned ? b : a;
    out->w = turned ? a : b;
    return tn_dtype_eq(out->x->dtype, TN_U8) && tn_dtype_eq(out->w->dtype, TN_I8);
}

static bool differ_by(tn_pool *p, const tn_expr *a, const tn_expr *b, int64_t k)
{
    return tn_is_value(tn_simplify(p, NULL, tn_sub(p, b, a)), k);
}

static bool is_false(const tn_expr *e) { return e->kind == TN_E_INT && e->u.i == 0; }

/* ---- four conditions as one of four lanes ---- */

/* An index below a bound that counts up; NULL: it is not that. */
static const tn_expr *counting(tn_pool *p, const tn_expr *const t[GROUP])
{
    if (t[0]->kind != TN_E_LT)
        return NULL;
    for (int k = 1; k < GROUP; k++)
        if (t[k]->kind != TN_E_LT || t[k]->src[1] != t[0]->src[1] ||
            !differ_by(p, t[0]->src[0], t[k]->src[0], k))
            return NULL;
    const tn_expr *at = t[0]->src[0];
    return tn_lt(p, tn_ramp(p, at, tn_int(p, at->dtype, 1), GROUP), tn_splat(p, t[0]->src[1], GROUP));
}

/* Constants of which the first ones hold; false: they are not that. */
static bool prefix(tn_pool *p, const tn_expr *const cond[GROUP], terms *out)
{
    int held = 0;
    for (int k = 0; k < GROUP; k++) {
        bool no = cond[k] && is_false(cond[k]);
        if ((cond[k] && cond[k]->kind != TN_E_INT) || (!no && held != k))
            return false;
        held += !no;
    }
    if (held < GROUP)
        out->at[out->n++] =
            tn_lt(p, tn_ramp(p, tn_idx(p, 0), tn_idx(p, 1), GROUP), tn_splat(p, tn_idx(p, held), GROUP));
    return held > 0;
}

/* same: terms that hold for all four or none (scalar); rest: the others, of four lanes. */
static bool merge(tn_pool *p, const tn_expr *const cond[GROUP], terms *same, terms *rest)
{
    terms t[GROUP];
    *same = *rest = (terms){0};
    if (prefix(p, cond, rest))
        return true;
    for (int k = 0; k < GROUP; k++) {
        t[k].n = cond[k] ? tn_terms(cond[k], t[k].at) : 0;
        if (t[k].n != t[0].n)
            return false;
    }
    for (int i = 0; i < t[0].n; i++) {
        const tn_expr *row[GROUP] = {t[0].at[i], t[1].at[i], t[2].at[i], t[3].at[i]};
        if (row[0] == row[1] && row[0] == row[2] && row[0] == row[3])
            same->at[same->n++] = row[0];
        else if ((rest->at[rest->n++] = counting(p, row)) == NULL)
            return false;
    }
    return true;
}

/* ---- loads ---- */

static bool shares(const tn_expr *e, void *user) { return !(e->kind == TN_E_VAR && tn_uses(user, e)); }

/* Do the lanes read x from one place, and w GROUP apart? */
static bool place_fits(const dots *d, const tn_expr *index, bool one_place)
{
    const tn_expr *coef, *rest;
    if (index->has_load)
        return false;
    if (one_place)
        return !tn_uses(index, d->var);
    return tn_linear(d->f->pool, NULL, index, d->var, &coef, &rest) && tn_is_value(coef, GROUP);
}

/* The four loads as one, as an int32, where `ends` (four lanes) holds; NULL: they do not fit. */
static const tn_expr *joined(const dots *d, const tn_expr *const load[GROUP], bool one_place,
                             const terms *ends)
{
    tn_pool *p = d->f->pool;
    const tn_expr *mask = NULL, *own[GROUP], *index = load[0]->src[0];
    terms same, rest;
    for (int k = 0; k < GROUP; k++) {
        own[k] = tn_load_mask(load[k]);
        if (load[k]->u.load.buffer != load[0]->u.load.buffer || !differ_by(p, index, load[k]->src[0], k) ||
            (own[k] && !is_false(tn_load_other(load[k]))))
            return NULL;
    }
    if (!place_fits(d, index, one_place) || !merge(p, own, &same, &rest))
        return NULL;
    for (int i = 0; i < same.n; i++) {
        bool varies = tn_uses(same.at[i], d->var);
        /* the lanes' mask may be what keeps x inside */
        if (same.at[i]->has_load || (one_place && varies && !tn_each(index, shares, (void *)same.at[i])))
            return NULL;
        mask = tn_both(p, mask, tn_splat(p, same.at[i], GROUP));
    }
    for (int i = 0; i < rest.n + ends->n; i++) {
        const tn_expr *t = i < rest.n ? rest.at[i] : ends->at[i - rest.n];
        if (t->has_load || tn_uses(t, d->var))
            return NULL;
        mask = tn_both(p, mask, t);
    }
    tn_dtype t = tn_dtype_lanes(load[0]->dtype, GROUP);
    const tn_expr *other = mask ? tn_splat(p, tn_int(p, load[0]->dtype, 0), GROUP) : NULL;
    const tn_expr *four = tn_load(p, t, load[0]->u.load.buffer, 1, &index, mask, other);
    return tn_expr_make(p, TN_E_BITCAST, TN_I32, (tn_payload){0}, 1, &four);
}

/* Whole groups from here are inside the buffer if the first of the group is. */
static bool is_whole(const dots *d, const tn_expr *load)
{
    tn_pool *p = d->f->pool;
    const tn_expr *four = tn_idx(p, GROUP), *n = d->f->buffer[load->u.load.buffer].dim[0];
    return tn_is_value(tn_simplify(p, NULL, tn_bin(p, TN_E_FLOORMOD, load->src[0], four)), 0) &&
           tn_is_value(tn_simplify(p, NULL, tn_bin(p, TN_E_FLOORMOD, n, four)), 0);
}

/* ---- four steps ---- */

static void put(const dots *d, step s[GROUP], const tn_expr *x, const tn_expr *w, const terms *same)
{
    tn_pool *p = d->f->pool;
    tn_stmt *store = s[0].store;
    const tn_expr *arg[3] = {tn_load(p, TN_I32, store->u.store.buffer, 1, store->u.store.index, NULL, NULL),
                             x, w};
    store->u.store.value =
        tn_expr_make(p, TN_E_CALL, TN_I32, (tn_payload){.call = {.id = TN_F_dot4us}}, 3, arg);
    for (int k = 1; k < GROUP; k++)
        tn_stmt_remove(s[k].at);
    if (!s[0].cond)
        return;
    if (same->n) {
        s[0].at->u.cond.cond = tn_terms_join(p, same->n, same->at);
        return;
    }
    tn_body_move(s[0].at->list, s[0].at, &s[0].at->u.cond.then);
    tn_stmt_remove(s[0].at);
}

/* Contracts the group that begins here, if one does; *next is the statement after it. */
static void contract(const dots *d, tn_stmt *first, tn_stmt **next)
{
    step s[GROUP];
    const tn_expr *x[GROUP], *w[GROUP], *cond[GROUP];
    terms same, ends, none = {0};
    tn_stmt *at = first;
    for (int k = 0; k < GROUP; k++, at = at->next) {
        if (!at || !read_step(at, &s[k]) || s[k].store->u.store.buffer != s[0].store->u.store.buffer ||
            s[k].store->u.store.index[0] != s[0].store->u.store.index[0])
            return;
        x[k] = s[k].x;
        w[k] = s[k].w;
        cond[k] = s[k].cond;
    }
    if (!merge(d->f->pool, cond, &same, &ends))
        return;
    const tn_expr *b = joined(d, w, false, &ends);
    const tn_expr *a = b ? joined(d, x, true, is_whole(d, x[0]) ? &none : &ends) : NULL;
    if (!a)
        return;
    put(d, s, a, b, &same);
    *next = at;
}

static void walk(const dots *d, tn_body *b, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        next = s->next;
        if (s->kind == TN_S_FOR)
            walk(d, &s->u.loop.body, depth + 1);
        else if (s->kind == TN_S_STORE || s->kind == TN_S_IF)
            contract(d, s, &next);
    }
}

void tn_contract_dots(tn_func *f, tn_stmt *loop, const struct tn_machine *m)
{
    if (tn_machine_can(m, TN_CAN_DOT4))
        walk(&(dots){f, loop->u.loop.var}, &loop->u.loop.body, 0);
}
