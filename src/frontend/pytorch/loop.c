/* Loops. One whose iterations are known while the model is read is written out. Another becomes a `loop` that carries
 * what its body changes. */
#include "frontend/pytorch/flow.h"

#include "op/control/control.h"
#include "op/core/core.h"

enum { MAX_TRIES = 6 };

typedef struct looping {
    pt_import *p;
    const pt_loop *l;
    pt_changes list; /* what an iteration changes: v[0] before the loop, v[1] after an iteration */
    tn_vec(const tn_type *) type;
    pt_joining j;
    tn_region *r, *outer; /* the body's; where the loop is */
    tn_value go;
    bool
        strided; /* a tensor that it carries may have its elements in another order than that of its dimensions */
} looping;

static pt_value index_of(looping *w)
{
    pt_import *p = w->p;
    tn_type const *t = tn_type_tensor(p->im.g->pool, TN_I64, 0, NULL, NULL);
    pt_number *n = TN_NEW(&p->im.scratch, pt_number);
    *n = (pt_number){PT_INT, tn_val(tn_region_add_param(p->im.g, w->r, "i", t))};
    return (pt_value){.kind = PT_NUMBER, .number = n};
}

/* One iteration, in a region of its own. */
static void iterate(looping *w, pt_value i)
{
    pt_import *p = w->p;
    p->logging++;
    w->l->body(p, w->l->user, i);
    w->go = (tn_value){0};
    if (!p->stop && !p->raised) {
        pt_value go = w->l->go ? w->l->go(p, w->l->user) : pt_bool(true);
        if (!p->stop)
            w->go = pt_number_value(p, go);
    }
    p->logging--;
}

/* What is not read before an iteration sets it begins as what the iteration makes of it, whatever that is. */
static void begin(looping *w, pt_change *x)
{
    pt_import *p = w->p;
    tn_region *r = p->im.r;
    p->im.r = w->outer;
    if (x->v[0].kind == PT_UNINITIALIZED)
        x->v[0] = pt_stand_in(p, x->v[1], w->r);
    else if (x->v[1].kind == PT_UNKNOWN)
        x->v[0] = x->v[1];
    p->im.r = r;
}

/* What an iteration changes. */
static bool probe(looping *w)
{
    pt_import *p = w->p;
    size_t regions = p->im.region.n, mark = p->log.n;
    uint32_t born = p->n_tensor;
    w->outer = p->im.r;
    w->r = p->im.r = pt_region_new(p);
    iterate(w, index_of(w));
    p->im.r = w->outer;
    if (p->stop || p->raised)
        return false;
    pt_collect(p, mark, born, 1, &w->list);
    for (size_t i = 0; i < w->list.n && !p->stop; i++) {
        w->list.at[i].v[0] = w->list.at[i].cell->v;
        begin(w, &w->list.at[i]);
    }
    pt_discard_regions(p, regions);
    return true;
}

static pt_value carried(looping *w, pt_value before, pt_value after);

static pt_value parameter(looping *w, tn_value first, pt_value *into)
{
    pt_import *p = w->p;
    size_t k = w->j.slots.n;
    const tn_type *t = k < w->type.n ? w->type.at[k] : tn_value_type(first);
    if (k >= w->type.n)
        tn_vec_push(&w->type, t);
    tn_node *n = tn_region_add_param(p->im.g, w->r, tn_arena_printf(p->im.g->arena, "carried%zu", k), t);
    pt_add_slot(&w->j, first, (tn_value){0}, into);
    return (pt_value){.kind = PT_VALUE, .value = tn_val(n)};
}

/* A value of the loop's body in place of what is before it; NONE kinds that do not change stay. */
static pt_value carried(looping *w, pt_value before, pt_value after)
{
    pt_import *p = w->p;
    pt_value *into = TN_NEW(&p->im.scratch, pt_value);
    if (pt_same(before, after) || before.kind == PT_UNSET)
        return before;
    if (before.kind == PT_VALUE && after.kind == PT_VALUE)
        return parameter(w, before.value, into);
    if (before.kind == after.kind && pt_has_tensor(before)) {
        tn_value first = pt_cell_value(p, before);
        pt_value v = pt_tensor_like(p, after, parameter(w, first, into).value);
        v.tensor->strided = w->strided;
        pt_may_be(p, v.tensor, before.tensor); /* in the first iteration */
        pt_may_be(p, v.tensor, after.tensor); /* in a later one, as what else the body makes of that tensor */
        return v;
    }
    if (pt_is_number(before) && pt_is_number(after) && pt_kind_of(before) == pt_kind_of(after)) {
        pt_number *n = TN_NEW(&p->im.scratch, pt_number);
        *n = (pt_number){pt_kind_of(before), parameter(w, pt_number_value(p, before), into).value};
        return (pt_value){.kind = PT_NUMBER, .number = n};
    }
    if (!pt_has_parts(before) || before.kind != after.kind || before.list->n != after.list->n) {
        if (before.kind == PT_LATE_LIST && after.kind == PT_LIST && pt_make_late(p, after.list))
            return before;
        if (before.kind == PT_LIST && (after.kind == PT_LIST || after.kind == PT_LATE_LIST) &&
            pt_make_late(p, before.list))
            return before;
        pt_fail(p, "pytorch-E015",
                "a loop whose number of iterations only the run knows changes %s into %s, or the length of a "
                "list",
                pt_kind_name(before.kind), pt_kind_name(after.kind));
        return before;
    }
    if (!pt_enter(p))
        return before;
    pt_value v = pt_make(&p->im.scratch, before.kind, before.list->n, NULL);
    for (size_t i = 0; i < before.list->n && !p->stop; i++)
        v.list->at[i] = carried(w, pt_at(before, i), pt_at(after, i));
    pt_leave(p);
    return v;
}

/* The values that follow what `carried` made, in its order. */
static void follow(looping *w, pt_value before, pt_value after, size_t *k)
{
    bool neither = before.kind == PT_UNKNOWN && after.kind == PT_UNKNOWN;
    if (pt_same(before, after) || before.kind == PT_UNSET || neither)
        return;
    if (pt_has_parts(before) && before.kind == after.kind && before.list->n == after.list->n) {
        after.list->chosen = true;
        for (size_t i = 0; i < before.list->n; i++)
            follow(w, pt_at(before, i), pt_at(after, i), k);
        return;
    }
    if (before.kind == after.kind && pt_has_tensor(before))
        pt_may_be(w->p, before.tensor, after.tensor);
    if (*k < w->j.slots.n)
        w->j.slots.at[*k].v[1] = pt_cell_value(w->p, after);
    ++*k;
}

/* A type for what is a now and b in the next iteration; NULL: none. */
static const tn_type *wider(pt_import *p, const tn_type *a, const tn_type *b)
{
    const tn_expr *dim[IMP_MAX_RANK];
    if (a->kind == TN_T_SEQ || b->kind == TN_T_SEQ)
        return a->kind != b->kind ? NULL : tn_type_fits(a, b) ? a : tn_type_join(p->im.g->pool, a, b);
    if (a->n != b->n || a->n > IMP_MAX_RANK || !tn_dtype_eq(a->dtype, b->dtype))
        return NULL;
    for (int d = 0; d < a->n; d++)
        dim[d] = a->dim[d] == b->dim[d] ? a->dim[d] : tn_any_dim(p->im.g->pool);
    return tn_type_fits(a, b) ? a : tn_type_tensor(p->im.g->pool, a->dtype, a->n, dim, NULL);
}

/* Is a part of it that was taken for what stays another one now? */
static bool grows(pt_value before, pt_value after, pt_value now, int depth)
{
    if (after.kind == PT_UNKNOWN && now.kind == PT_UNKNOWN)
        return false;
    bool parts = pt_has_parts(before) && before.kind == after.kind && before.kind == now.kind && depth < 16 &&
                 before.list->n == after.list->n && before.list->n == now.list->n;
    if (pt_same(before, after))
        return before.kind != PT_UNSET && !pt_same(before, now);
    for (size_t i = 0; parts && i < before.list->n; i++)
        if (grows(pt_at(before, i), pt_at(after, i), pt_at(now, i), depth + 1))
            return true;
    return false;
}

/* What an iteration with carried values changes and the first one did not, into the list. */
static bool changes_more(looping *w, size_t mark, uint32_t born)
{
    pt_import *p = w->p;
    bool more = false;
    for (size_t c = 0; c < w->list.n; c++) {
        pt_change *x = &w->list.at[c];
        if (grows(x->v[0], x->v[1], x->cell->v, 0)) {
            x->v[1] = x->cell->v;
            begin(w, x);
            more = true;
        }
    }
    for (size_t i = mark; i < p->log.n; i++) {
        const pt_log *l = &p->log.at[i];
        bool local = l->before.kind == PT_UNSET ||
                     (l->before.kind == PT_VALUE && ((const pt_tensor *)(const void *)l->cell)->born > born);
        for (size_t c = 0; c < w->list.n && !local; c++)
            local = w->list.at[c].cell == l->cell; /* is there */
        if (!local && !pt_same(l->before, l->cell->v)) {
            tn_vec_push(&w->list, ((pt_change){l->cell, {l->before, l->cell->v}}));
            begin(w, &tn_vec_last(&w->list));
            more = true;
        }
    }
    return more;
}

/* What the body changes in place may be, from an earlier iteration, what a list has a copy of. */
static void check_fixed(pt_import *p, pt_cell *cell, pt_value carried, int depth)
{
    pt_tensor *t = cell && cell->v.kind == PT_VALUE                     ? (pt_tensor *)(void *)cell
                   : carried.kind == PT_TENSOR && carried.tensor->stamp ? carried.tensor
                                                                        : NULL;
    if (t && !p->stop && pt_is_fixed(p, t))
        pt_refuse_fixed(p, "a list in a loop");
    for (size_t i = 0; pt_has_parts(carried) && i < carried.list->n && depth < 16; i++)
        check_fixed(p, NULL, pt_at(carried, i), depth + 1);
}

static void differ(pt_import *p)
{
    pt_fail(p, "pytorch-E015", "a loop changes other values in its second iteration than in its first");
}

static bool is_strided(pt_value v, int depth)
{
    bool any = depth == 16;
    for (size_t i = 0; (pt_has_tensor(v) || v.kind == PT_COMPLEX) && i < pt_tensors_in(v) && !any; i++)
        any = !pt_is_ordered(pt_tensor_at(v, i));
    for (size_t i = 0; pt_has_parts(v) && i < v.list->n && !any; i++)
        any = is_strided(pt_at(v, i), depth + 1);
    return any;
}

/* Where all tensors are ordered before and after an iteration, they are after each. */
static void note_order(looping *w)
{
    for (size_t i = 0; i < w->list.n; i++)
        w->strided = w->strided || is_strided(w->list.at[i].v[0], 0) || is_strided(w->list.at[i].v[1], 0);
}

/* The body with parameters for what it changes. false: it must be read again, since types have become wider, or it
 * changes more. */
static bool read_body(looping *w, pt_value shape[])
{
    pt_import *p = w->p;
    tn_region *outer = p->im.r;
    size_t mark = p->log.n, k = 0, n = w->list.n;
    uint32_t born = p->n_tensor;
    bool same = true, more = false;
    w->j.slots.n = 0;
    w->r = p->im.r = pt_region_new(p);
    pt_value i = index_of(w);
    note_order(w);
    for (size_t c = 0; c < n && !p->stop; c++) {
        tn_region *r = p->im.r;
        p->im.r = outer; /* values before the loop are made there */
        shape[c] = carried(w, w->list.at[c].v[0], w->list.at[c].v[1]);
        p->im.r = r;
    }
    for (size_t c = 0; c < n && !p->stop; c++)
        pt_set(p, w->list.at[c].cell, shape[c]);
    if (!p->stop)
        iterate(w, i);
    more = !p->stop && !p->raised && changes_more(w, mark, born);
    for (size_t c = 0; c < n && !more && !p->stop && !p->raised; c++)
        follow(w, w->list.at[c].v[0], w->list.at[c].cell->v, &k);
    for (size_t c = 0; c < n && !more && !p->stop && !p->raised; c++)
        check_fixed(p, w->list.at[c].cell, shape[c], 0);
    p->im.r = outer;
    pt_undo(p, mark);
    if (more && !p->stop) {
        w->type.n = 0;
        return false;
    }
    if (p->stop || p->raised || k != w->j.slots.n) {
        if (!p->stop && !p->raised)
            differ(p);
        return true;
    }
    for (size_t s = 0; s < k; s++) {
        const tn_type *t = wider(p, w->type.at[s], tn_value_type(w->j.slots.at[s].v[1]));
        if (!t) {
            pt_fail(p, "pytorch-E015", "a value that a loop carries changes its type or rank");
            return true;
        }
        same = same && t == w->type.at[s];
        w->type.at[s] = t;
    }
    return same;
}

static void loop_node(looping *w, tn_value trip, tn_value go, pt_value shape[])
{
    pt_import *p = w->p;
    tn_graph *g = p->im.g;
    size_t n = w->j.slots.n;
    tn_value *in = TN_NEW_N(&p->im.scratch, tn_value, n + 2),
             *out = TN_NEW_N(&p->im.scratch, tn_value, n + 1);
    in[0] = trip;
    in[1] = go;
    out[0] = w->go;
    for (size_t s = 0; s < n; s++) {
        in[s + 2] = w->j.slots.at[s].v[0];
        out[s + 1] = w->j.slots.at[s].v[1];
    }
    tn_loop_attr attr = {{0}};
    tn_region_set_results(g, w->r, (int)n + 1, out);
    tn_node *node =
        tn_node_new(g, p->im.r, NULL, &tn_op_loop, (int)n + 2, in, (int)n, &attr, pt_place(p, "loop"));
    tn_node_hold(g, node, 1, &w->r);
    if (tn_infer_node(g, node) != TN_OK) {
        p->stop = true;
        return;
    }
    /* cells get what `carried` made, with the loop's results in the place of its parameters */
    for (size_t s = 0; s < n; s++)
        w->j.slots.at[s].v[1] = tn_unboxed(g, (tn_value){node, (uint32_t)s});
    (void)shape;
}

/* What is behind the loop, in the order of `carried`. */
static pt_value result_of(looping *w, pt_value before, pt_value inside, size_t *k)
{
    pt_import *p = w->p;
    if (pt_same(before, inside))
        return before;
    if (pt_has_parts(inside)) {
        pt_value v = pt_make(&p->im.scratch, inside.kind, inside.list->n, NULL);
        v.list->owner = p->im.r;
        v.list->chosen = before.list->chosen = true;
        for (size_t i = 0; i < inside.list->n; i++)
            v.list->at[i] = result_of(w, pt_at(before, i), pt_at(inside, i), k);
        return v;
    }
    tn_value x = w->j.slots.at[(*k)++].v[1];
    if (inside.kind == PT_VALUE)
        return (pt_value){.kind = PT_VALUE, .value = x};
    if (!pt_has_tensor(inside))
        return pt_number_of(p, inside.number->kind, x);
    pt_value v = pt_tensor_like(p, inside, x);
    v.tensor->strided = w->strided;
    pt_may_be(p, v.tensor, before.tensor);
    return v;
}

/* A loop that gives nothing but holds checks carries a 0, which must be one behind it: so the loop stays. */
static void keep_checks(looping *w)
{
    pt_import *p = w->p;
    (void)parameter(w, imp_i64(pt_ctx(p), 0), NULL);
    if (w->j.bad) {
        differ(p);
        return;
    }
    p->im.r = w->r;
    tn_vec_last(&w->j.slots).v[1] = imp_i64(pt_ctx(p), 0);
    p->im.r = w->outer;
}

static void late_loop(pt_import *p, const pt_loop *l, pt_value trip, pt_value go)
{
    looping w = {.p = p, .l = l, .j = {.p = p}};
    imp_node *c = pt_ctx(p);
    int64_t most = INT64_MAX;
    tn_value count = trip.kind == PT_NONE ? imp_const_ints(c, TN_I64, 0, 1, &most) : pt_number_value(p, trip);
    count = imp_binary(c, &tn_op_maximum, count, imp_i64(c, 0));
    tn_value first = pt_number_value(p, go);
    size_t k = 0, regions = p->im.region.n;
    if (!c->bad && !p->stop && probe(&w)) {
        pt_value *shape = NULL;
        bool settled = false;
        for (int tries = 0; !settled && tries < MAX_TRIES; tries++) {
            if (tries)
                pt_discard_regions(p, regions);
            shape = TN_NEW_N(&p->im.scratch, pt_value, w.list.n);
            settled = read_body(&w, shape);
        }
        if (!settled && !p->stop)
            differ(p);
        if (!p->stop && p->raised)
            pt_fail(p, "pytorch-E015", "a loop whose number of iterations only the run knows raises: %s",
                    p->raised);
        bool checks = !p->stop && pt_has_checks(w.r);
        if (checks)
            keep_checks(&w);
        if (!p->stop)
            loop_node(&w, count, first, shape);
        if (checks && !p->stop)
            imp_demand(pt_ctx(p), tn_vec_last(&w.j.slots).v[1], 0, "a check of a loop has failed");
        for (size_t i = 0; i < w.list.n && !p->stop; i++) {
            pt_value v = result_of(&w, w.list.at[i].v[0], shape[i], &k);
            pt_set(p, w.list.at[i].cell, v);
        }
    }
    p->stop = p->stop || c->bad;
    tn_vec_deinit(&w.list);
    tn_vec_deinit(&w.type);
    tn_vec_deinit(&w.j.slots);
    tn_vec_deinit(&w.j.tensors);
}

void pt_loop_run(pt_import *p, const pt_loop *l)
{
    if (l->trip.kind == PT_NUMBER || (l->trip.kind == PT_INT && l->trip.i > PT_MAX_UNROLL)) {
        late_loop(p, l, l->trip, l->go ? l->go(p, l->user) : pt_bool(true));
        return;
    }
    int64_t n = l->trip.kind == PT_INT ? l->trip.i : INT64_MAX;
    for (int64_t i = 0; i < n && !p->stop && !p->raised; i++) {
        pt_value go = l->go ? l->go(p, l->user) : pt_bool(true);
        if (p->stop || p->raised || (go.kind == PT_BOOL && !go.b))
            return;
        if (go.kind == PT_NUMBER || i >= PT_MAX_UNROLL) {
            late_loop(p, l, l->trip.kind == PT_INT ? pt_int(n - i) : pt_none(), go);
            return;
        }
        l->body(p, l->user, pt_int(i));
    }
}
