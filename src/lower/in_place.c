/* Which input an output of a flat function may lie over, byte for byte: proved from the index maps of its
 * loads and stores.
 *
 * With both at one address the function computes the same if no load of the input comes after a store of the output to
 * the same element; loads and stores of one statement may meet only in the same elements. Tasks of a parallel loop
 * are unordered, so they may not meet at all.
 *
 * An access is an interval of elements [f, f + width) with f affine in the variables of the loops around it. A variable
 * that is divided by a constant c counts as two, v = q*c + r. A load and a store meet where
 *
 *     load - store = sum over common loops of c*d + sum over their own loops of c*v + constant  lies in (-wl, ws)
 *
 * with d the difference of two iterations, |d| < extent. All solutions of that are looked for, largest
 * coefficient first (what the smaller ones can add bounds each variable); one in other iterations of a common
 * loop, or in the same one with the store first, is a refusal. So is whatever is not of this form, or takes
 * more than BUDGET steps.
 *
 * O(pairs of accesses of different distance), each usually a few steps.
 */
#include "base/vec.h"
#include "lower/lower_impl.h"

#include <string.h>

enum { MAX_TERM = 12, MAX_ACCESS = 1024, BUDGET = 400000, SPLITS = 16 };

/* A loop around accesses, or one side of a branch. */
typedef struct place {
    const struct place *up;
    const tn_stmt *branch; /* NULL: a loop */
    bool other;            /* which side */
    int depth;
} place;

/* A variable in [0, extent) of a loop, or a part of one. */
typedef struct {
    const tn_expr *var;
    const place *of;
    int64_t extent;
} digit;

typedef struct {
    int64_t coef;
    const digit *of;
} term;

typedef struct {
    const place *at;
    const tn_expr *index;
    uint32_t seq;
    int64_t width, constant;
    bool dense; /* all elements of [index, index + width) */
    int n;
    term term[MAX_TERM];
} access;
typedef tn_vec(access) accesses;

typedef struct {
    tn_func *f;
    tn_pool *p;
    uint32_t in, out; /* buffers */
    accesses load, store;
    tn_vec(digit *) digits;
    tn_vec(const tn_expr *) from, to; /* lets and loop variables, and what stands for them */
    tn_facts facts;
    uint32_t seq, next_var;
    int64_t budget;
    bool parallel, failed;
    const place *here;
} prover;

/* ---- accesses ---- */

static const tn_expr *resolved(prover *x, const tn_expr *e)
{
    return x->from.n ? tn_subst(x->p, e, (int)x->from.n, x->from.at, x->to.at) : e;
}

/* How many of the first lanes a mask leaves: ramp(192, 1, 16) < splat(197, 16) leaves 5. */
static int64_t lanes_left(const tn_expr *mask, int64_t lanes)
{
    int64_t first, stride, end;
    if (!mask || mask->kind != TN_E_LT || mask->src[0]->kind != TN_E_RAMP ||
        mask->src[1]->kind != TN_E_SPLAT || !tn_is_int(mask->src[0]->src[0], &first) ||
        !tn_is_int(mask->src[0]->src[1], &stride) || stride != 1 || !tn_is_int(mask->src[1]->src[0], &end) ||
        first < 0 || end <= first || end - first > lanes)
        return lanes;
    return end - first;
}

static void add(prover *x, accesses *to, tn_dtype t, const tn_expr *index, const tn_expr *mask)
{
    access a = {.at = x->here, .seq = x->seq, .width = t.lanes, .dense = true};
    int64_t stride;
    if (index->kind == TN_E_RAMP && tn_is_int(index->src[1], &stride) && stride > 0 && stride < INT32_MAX) {
        a.dense = stride == 1;
        a.width = (int64_t)(index->dtype.lanes - 1) * stride + 1;
        index = index->src[0];
    } else if (index->kind == TN_E_SPLAT) {
        a.width = 1;
        index = index->src[0];
    } else {
        a.width = lanes_left(mask, a.width);
    }
    /* outside a parallel loop is what every task looks at */
    if (!x->parallel || index->dtype.lanes != 1 || !tn_dtype_is_index(index->dtype) || index->has_load ||
        to->n == MAX_ACCESS) {
        x->failed = true;
        return;
    }
    a.index = resolved(x, index);
    tn_vec_push(to, a);
}

static bool note_load(const tn_expr *e, void *user)
{
    prover *x = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer == x->in)
        add(x, &x->load, e->dtype, e->src[0], tn_load_mask(e));
    return !x->failed;
}

static const tn_expr *note_loads(const tn_expr *e, void *user)
{
    if (e && e->has_load)
        tn_each(e, note_load, user);
    return e;
}

static const tn_expr *new_digit(prover *x, const place *of, int64_t extent)
{
    digit *d = TN_NEW(x->f->arena, digit);
    *d = (digit){tn_var(x->p, TN_IDX, x->next_var++), of, extent};
    tn_facts_range(&x->facts, d->var, 0, extent - 1);
    tn_vec_push(&x->digits, d);
    return d->var;
}

static void collect(prover *x, tn_body *b);

static void collect_inside(prover *x, tn_body *b, place *at)
{
    at->up = x->here;
    at->depth = x->here ? x->here->depth + 1 : 1;
    x->here = at;
    collect(x, b);
    x->here = at->up;
}

static void collect_loop(prover *x, tn_stmt *s)
{
    place *at = TN_NEW(x->f->arena, place);
    tn_range r = tn_bounds(&x->facts, resolved(x, s->u.loop.extent));
    int64_t extent = r.hi < 1 ? 1 : r.hi > INT32_MAX ? INT32_MAX : r.hi;
    bool parallel = x->parallel;
    const tn_expr *var = new_digit(x, at, extent);
    tn_vec_push(&x->from, s->u.loop.var);
    tn_vec_push(&x->to, var);
    x->parallel = parallel || s->u.loop.kind == TN_LOOP_PARALLEL;
    collect_inside(x, &s->u.loop.body, at);
    x->parallel = parallel;
}

static void collect_stmt(prover *x, tn_stmt *s)
{
    x->seq++;
    tn_stmt_exprs(s, note_loads, x);
    switch (s->kind) {
    case TN_S_STORE:
        if (s->u.store.buffer == x->out)
            add(x, &x->store, s->u.store.value->dtype, s->u.store.index[0], s->u.store.mask);
        break;
    case TN_S_FOR: collect_loop(x, s); break;
    case TN_S_IF:
        for (int side = 0; side < 2; side++) {
            place *at = TN_NEW(x->f->arena, place);
            *at = (place){.branch = s, .other = side};
            collect_inside(x, side ? &s->u.cond.other : &s->u.cond.then, at);
        }
        break;
    case TN_S_LET:
        if (tn_dtype_is_index(s->u.let.var->dtype) && !s->u.let.value->has_load) {
            const tn_expr *v = resolved(x, s->u.let.value);
            tn_vec_push(&x->from, s->u.let.var);
            tn_vec_push(&x->to, v);
        }
        break;
    default: break;
    }
}

/* Depth is that of statements, which the verifier bounds. */
static void collect(prover *x, tn_body *b)
{
    size_t known = x->from.n;
    for (tn_stmt *s = b->first; s && !x->failed; s = s->next)
        collect_stmt(x, s);
    x->from.n = x->to.n = known;
}

/* ---- affine forms ---- */

typedef struct {
    const tn_expr *var;
    int64_t by;
} divided;

static bool find_divided(const tn_expr *e, void *user)
{
    divided *d = user;
    int64_t c;
    if ((e->kind == TN_E_FLOORDIV || e->kind == TN_E_FLOORMOD) && e->src[0]->kind == TN_E_VAR &&
        tn_is_int(e->src[1], &c) && c > 1 && (!d->var || (d->var == e->src[0] && c < d->by)))
        *d = (divided){e->src[0], c};
    return true;
}

static divided first_divided(const prover *x)
{
    divided d = {0};
    for (size_t i = 0; i < x->load.n; i++)
        tn_each(x->load.at[i].index, find_divided, &d);
    for (size_t i = 0; i < x->store.n; i++)
        tn_each(x->store.at[i].index, find_divided, &d);
    return d;
}

static void replace(prover *x, accesses *in, const tn_expr *from, const tn_expr *to)
{
    for (size_t i = 0; i < in->n; i++) {
        const tn_expr *e = in->at[i].index;
        e = from ? tn_subst(x->p, e, 1, &from, &to) : e;
        in->at[i].index = tn_simplify(x->p, &x->facts, e);
    }
}

static digit *digit_of(const prover *x, const tn_expr *var)
{
    for (size_t i = 0; i < x->digits.n; i++)
        if (x->digits.at[i]->var == var)
            return x->digits.at[i];
    return NULL;
}

static void split_digits(prover *x)
{
    replace(x, &x->load, NULL, NULL);
    replace(x, &x->store, NULL, NULL);
    for (int k = 0; k < SPLITS; k++) {
        divided d = first_divided(x);
        digit *whole = d.var ? digit_of(x, d.var) : NULL;
        if (!whole)
            return;
        const tn_expr *q = new_digit(x, whole->of, (whole->extent + d.by - 1) / d.by),
                      *r = new_digit(x, whole->of, d.by < whole->extent ? d.by : whole->extent),
                      *v = tn_add(x->p, tn_mul(x->p, q, tn_idx(x->p, d.by)), r);
        replace(x, &x->load, d.var, v);
        replace(x, &x->store, d.var, v);
        whole->extent = 1; /* the parts stand for it */
    }
}

static bool linearise(prover *x, access *a)
{
    tn_affine form;
    if (!tn_affine_of(x->p, a->index, &form) || form.n > MAX_TERM)
        return false;
    a->constant = form.c;
    a->n = form.n;
    for (int i = 0; i < form.n; i++) {
        a->term[i] = (term){form.term[i].coef, digit_of(x, form.term[i].atom)};
        if (!a->term[i].of)
            return false;
    }
    return true;
}

/* ---- where a load and a store meet ---- */

typedef struct {
    int64_t coef, lo, hi;
    bool common;
} unknown;

typedef struct {
    prover *x;
    unknown v[2 * MAX_TERM];
    int64_t least[2 * MAX_TERM + 1], most[2 * MAX_TERM + 1]; /* of the sum from i on */
    int n, last_common;                                      /* terms; one behind the last common one */
    int64_t lo, hi;                                          /* of the sum */
    bool moved; /* only solutions in another iteration of a common loop */
    bool free;  /* some common loop changes nothing in either index */
} equation;

static bool contains(const place *outer, const place *p)
{
    while (p && p->depth > outer->depth)
        p = p->up;
    return p == outer;
}

static bool put(equation *e, int64_t coef, int64_t lo, int64_t hi, bool common)
{
    if (coef < 0) { /* so that all are positive */
        int64_t was = lo;
        coef = -coef;
        lo = -hi;
        hi = -was;
    }
    if (coef > (int64_t)1 << 40 || hi > INT32_MAX || lo < -INT32_MAX)
        return false;
    int k = e->n++;
    for (; k > 0 && e->v[k - 1].coef < coef; k--)
        e->v[k] = e->v[k - 1];
    e->v[k] = (unknown){coef, lo, hi, common};
    return true;
}

static bool find_equal_sum(equation *e, int i, int64_t sum, bool moved)
{
    if (e->moved && !moved && i >= e->last_common)
        return false; /* nothing to come makes it another iteration */
    if (i == e->n)
        return sum >= e->lo && sum <= e->hi && (moved || !e->moved);
    const unknown *v = &e->v[i];
    int64_t c = v->coef, a = e->lo - sum - e->most[i + 1], b = e->hi - sum - e->least[i + 1];
    int64_t from = a >= 0 ? (a + c - 1) / c : -(-a / c), to = b >= 0 ? b / c : -((-b + c - 1) / c);
    from = from > v->lo ? from : v->lo;
    to = to < v->hi ? to : v->hi;
    for (int64_t k = from; k <= to; k++)
        if (--e->x->budget < 0 || find_equal_sum(e, i + 1, sum + c * k, moved || (v->common && k != 0)))
            return true;
    return false;
}

static const term *term_of(const access *a, const digit *d)
{
    for (int i = 0; i < a->n; i++)
        if (a->term[i].of == d)
            return &a->term[i];
    return NULL;
}

/* load - store, with the common loops' variables as differences. */
static bool set_up(equation *e, const access *l, const access *s, const place *common, bool moved)
{
    e->n = 0;
    e->free = false;
    e->moved = moved;
    for (size_t i = 0; i < e->x->digits.n; i++) {
        const digit *d = e->x->digits.at[i];
        const term *tl = term_of(l, d), *ts = term_of(s, d);
        int64_t last = d->extent - 1;
        bool shared = common && contains(d->of, common), ok = true, equal = tl && ts && tl->coef == ts->coef;
        if (last == 0)
            continue;
        if (shared && equal) {
            ok = !moved || put(e, tl->coef, -last, last, true);
        } else {
            e->free = e->free || shared; /* iterations are not compared */
            ok = (!tl || put(e, tl->coef, 0, last, false)) && (!ts || put(e, -ts->coef, 0, last, false));
        }
        if (!ok)
            return false;
    }
    e->last_common = 0;
    for (int i = 0; i < e->n; i++)
        e->last_common = e->v[i].common ? i + 1 : e->last_common;
    for (int i = e->n; i >= 0; i--) {
        e->least[i] = i == e->n ? 0 : e->least[i + 1] + e->v[i].coef * e->v[i].lo;
        e->most[i] = i == e->n ? 0 : e->most[i + 1] + e->v[i].coef * e->v[i].hi;
        if (e->least[i] < -((int64_t)1 << 60) || e->most[i] > (int64_t)1 << 60)
            return false;
    }
    int64_t apart = l->constant - s->constant;
    if (apart > (int64_t)1 << 50 || apart < -((int64_t)1 << 50))
        return false;
    e->lo = -(l->width - 1) - apart;
    e->hi = s->width - 1 - apart;
    return true;
}

/* ---- the proof ---- */

/* The deepest place around both; *exclusive: they are in different sides of one branch. */
static const place *around(const access *a, const access *b, bool *exclusive)
{
    const place *p = a->at, *q = b->at, *below_p = NULL, *below_q = NULL;
    while (p != q) {
        if (!q || (p && p->depth >= q->depth)) {
            below_p = p;
            p = p->up;
        } else {
            below_q = q;
            q = q->up;
        }
    }
    *exclusive = below_p && below_q && below_p->branch && below_p->branch == below_q->branch;
    return p;
}

static bool same_form(const access *a, const access *b)
{
    return a->at == b->at && a->width == b->width && a->n == b->n &&
           (a->n == 0 || memcmp(a->term, b->term, (size_t)a->n * sizeof *a->term) == 0);
}

static bool solvable(prover *x, const access *l, const access *s, const place *common, bool moved)
{
    equation e = {.x = x};
    return !set_up(&e, l, s, common, moved) || find_equal_sum(&e, 0, 0, e.free);
}

/* met: distances of loads and stores of the first store's form that were looked at. */
static bool may_meet(prover *x, const access *l, const access *s, tn_map *met)
{
    bool exclusive, plain = same_form(l, &x->store.at[0]) && same_form(s, &x->store.at[0]);
    const place *common = around(l, s, &exclusive);
    uint64_t key = (uint64_t)(l->constant - s->constant) + 1, known;
    if (!plain || !tn_map_get(met, key, &known)) {
        if (solvable(x, l, s, common, true))
            return true;
        if (plain)
            tn_map_put(met, key, 1);
    }
    if (l->seq < s->seq || exclusive)
        return false;
    if (l->seq == s->seq && l->dense && s->dense && same_form(l, s) && l->constant == s->constant)
        return false;
    return solvable(x, l, s, common, false);
}

static bool prove(prover *x)
{
    tn_map met = {0};
    bool ok = true;
    split_digits(x);
    for (size_t i = 0; i < x->load.n && ok; i++)
        ok = linearise(x, &x->load.at[i]);
    for (size_t i = 0; i < x->store.n && ok; i++)
        ok = linearise(x, &x->store.at[i]);
    for (size_t i = 0; i < x->load.n && ok; i++)
        for (size_t k = 0; k < x->store.n && ok; k++)
            ok = !may_meet(x, &x->load.at[i], &x->store.at[k], &met);
    tn_map_deinit(&met);
    return ok;
}

bool tn_flat_in_place(tn_func *f, uint32_t input, uint32_t output)
{
    uint32_t n_in = 0;
    while (n_in < f->n_param && !f->buffer[f->param[n_in]].written)
        n_in++;
    TN_ASSERT(input < n_in && output < f->n_param - n_in);
    const tn_buffer *in = &f->buffer[f->param[input]], *out = &f->buffer[f->param[n_in + output]];
    if (!tn_dtype_eq(in->dtype, out->dtype) || !tn_equal(f->pool, NULL, in->dim[0], out->dim[0]))
        return false;
    prover x = {.f = f,
                .p = f->pool,
                .in = f->param[input],
                .out = f->param[n_in + output],
                .next_var = f->n_var,
                .budget = BUDGET};
    tn_facts_init(&x.facts);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        tn_facts_range(&x.facts, tn_sym(f->pool, f->symbol[i].name), f->symbol[i].min, f->symbol[i].max);
    collect(&x, &f->body);
    bool ok = !x.failed && prove(&x);
    tn_facts_deinit(&x.facts);
    tn_vec_deinit(&x.load);
    tn_vec_deinit(&x.store);
    tn_vec_deinit(&x.digits);
    tn_vec_deinit(&x.from);
    tn_vec_deinit(&x.to);
    return ok;
}
