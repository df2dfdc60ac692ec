/* Loops and branches of models. A body is converted for what the loop begins with, and anew where the type of a carried
 * value turns out to change: extents that differ between iterations become any. */
#include "frontend/import/loop.h"

/* ---- blocks ---- */

tn_value imp_value_of(imp_node *c, tn_bytes name)
{
    const imp_value *v = imp_lookup(c->im, name);
    if (!v)
        imp_refuse(c, IMP_UNKNOWN_NAME, "\"%s\" is used, but nothing has computed it; the model is damaged",
                   imp_text(c->im, name));
    else if (v->state == IMP_UNUSABLE)
        imp_refuse(c, IMP_UNSUPPORTED_RESULT, "\"%s\" is a result of %s that is not supported",
                   imp_text(c->im, name), v->loc->op);
    c->bad = c->bad || !v || v->state != IMP_OK;
    return c->bad ? (tn_value){0} : v->v;
}

bool imp_too_deep(imp_node *c)
{
    if (c->im->depth >= IMP_MAX_DEPTH)
        imp_refuse(c, IMP_TOO_LARGE, "branches and loops are nested more than %d deep; simplify the model",
                   IMP_MAX_DEPTH);
    return c->bad;
}

/* ---- regions ---- */

static tn_region *new_region(imp_node *c)
{
    tn_region *r = tn_region_new(c->g, NULL);
    tn_vec_push(&c->im->region, r);
    return r;
}

/* Empties the regions made from number `from` on that no node holds. */
static void discard_regions(imp_node *c, size_t from)
{
    while (c->im->region.n > from) {
        tn_region *r = tn_vec_pop(&c->im->region);
        if (!r->holder)
            tn_region_discard(c->g, r);
    }
}

tn_value imp_bool_scalar(imp_node *c, tn_value v)
{
    const tn_type *given = v.def && !c->bad ? imp_type(v) : NULL;
    bool one = true; /* or the run finds it so */
    for (int d = 0; given && d < given->n; d++)
        one = one && imp_with_extent(c, &v, d, tn_idx(c->pool, 1));
    if (!one)
        imp_refuse(c, IMP_BAD_VALUE, "the condition is %s, but must be one bool", imp_type_text(c, given));
    v = imp_cast(c, v, TN_BOOL1);
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

/* ---- loops ---- */

static void begin_body(imp_node *c, imp_loop *l)
{
    tn_pool *p = c->pool;
    l->r = new_region(c);
    l->n_symbol = c->g->n_symbol;
    (void)tn_region_add_param(c->g, l->r, "i", tn_type_tensor(p, TN_I64, 0, NULL, NULL));
    for (uint32_t k = 0; k < l->n; k++)
        l->inner[k] = tn_val(
            tn_region_add_param(c->g, l->r, tn_arena_printf(c->arena, "carried%u", (unsigned)k), l->type[k]));
    for (uint32_t k = 0; k < l->n; k++)
        l->inner[k] = tn_unboxed(c->g, l->inner[k]);
}

/* A type for what is a now and b in the next iteration. */
static const tn_type *join(imp_node *c, const tn_type *a, const tn_type *b)
{
    const tn_expr *dim[IMP_MAX_RANK + 1];
    if (tn_type_fits(a, b))
        return a;
    const tn_type *wider = a->kind == TN_T_SEQ ? tn_type_join(c->pool, a, b) : NULL;
    if (wider)
        return wider;
    if (a->kind != TN_T_TENSOR || b->kind != TN_T_TENSOR || a->n != b->n ||
        !tn_dtype_eq(a->dtype, b->dtype) || a->n > IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE,
                   "a carried value of its loop is %s and becomes %s, which has another type",
                   imp_type_text(c, a), imp_type_text(c, b));
        return a;
    }
    for (int d = 0; d < a->n; d++)
        dim[d] = a->dim[d] == b->dim[d] ? a->dim[d] : tn_any_dim(c->pool);
    return tn_type_tensor(c->pool, a->dtype, a->n, dim, NULL);
}

/* true: a type has become wider. */
static bool widened(imp_node *c, imp_loop *l)
{
    bool wider = false;
    for (uint32_t k = 0; k < l->n && !c->bad; k++) {
        const tn_type *t = join(c, l->type[k], tn_value_type(l->next[k]));
        wider = wider || t != l->type[k];
        l->type[k] = t;
    }
    return wider && !c->bad;
}

static void convert_body(imp_node *c, imp_loop *l)
{
    tn_region *outer = c->im->r;
    for (uint32_t k = 0; k < l->n; k++)
        l->type[k] = l->type[k] ? l->type[k] : tn_value_type(l->first[k]);
    begin_body(c, l);
    c->im->r = l->r;
    l->body(c, l);
    l->go = c->bad ? l->go : imp_bool_scalar(c, l->go);
    for (uint32_t k = 0; k < l->n; k++)
        c->bad = c->bad || !l->next[k].def;
    for (uint32_t k = 0; k < l->n_collect && !c->bad; k++)
        if (imp_type(l->collected[k])->kind != TN_T_TENSOR || imp_rank(l->collected[k]) >= IMP_MAX_RANK)
            imp_refuse(c, IMP_OPERANDS, "%s cannot be collected by a loop",
                       imp_type_text(c, imp_type(l->collected[k])));
    c->im->r = outer;
}

static void settle(imp_node *c, imp_loop *l)
{
    tn_ctx *ctx = c->g->ctx;
    size_t before = ctx->n_diag, regions = c->im->region.n;
    for (;;) {
        convert_body(c, l);
        if (c->bad)
            return;
        bool again = l->again && l->again(c, l);
        if (!again)
            again = widened(c, l);
        if (!again || c->bad)
            return;
        tn_diag_rewind(ctx, before);
        discard_regions(c, regions);
    }
}

typedef struct {
    const tn_graph *g;
    uint32_t from;
    bool found;
} newer;

static bool is_newer(const tn_expr *e, void *user)
{
    newer *n = user;
    for (uint32_t i = n->from; e->kind == TN_E_SYM && i < n->g->n_symbol; i++)
        n->found = n->found || n->g->symbol[i].name == e->u.s;
    return !n->found;
}

bool imp_is_of_body(imp_node *c, const imp_loop *l, const tn_expr *e)
{
    newer n = {c->g, l->n_symbol, tn_dim_is_any(e)};
    (void)tn_each(e, is_newer, &n);
    return n.found;
}

/* Extents of what is collected; none where the body finds them out. */
static tn_loop_attr collected_extents(imp_node *c, const imp_loop *l)
{
    tn_loop_attr a = {{0}};
    const tn_expr **dim = TN_NEW_N(c->arena, const tn_expr *, l->n_collect *(IMP_MAX_RANK + 1));
    for (uint32_t k = 0; k < l->n_collect; k++) {
        const tn_type *t = imp_type(l->collected[k]);
        dim[a.collect.n++] = l->steps;
        for (int d = 0; d < t->n; d++) {
            if (!l->steps || imp_is_of_body(c, l, t->dim[d]))
                return (tn_loop_attr){{0}};
            dim[a.collect.n++] = t->dim[d];
        }
    }
    a.collect.at = dim;
    return l->steps ? a : (tn_loop_attr){{0}};
}

bool imp_make_loop(imp_node *c, imp_loop *l, tn_value go, tn_value out[])
{
    static const int64_t most = INT64_MAX;
    size_t regions = c->im->region.n;
    tn_value trip = l->trip.def ? l->trip : imp_const_ints(c, TN_I64, 0, 1, &most);
    l->collected = TN_NEW_N(c->arena, tn_value, l->n_collect);
    l->inner = TN_NEW_N(c->arena, tn_value, l->n);
    l->next = TN_NEW_N(c->arena, tn_value, l->n);
    l->type = TN_NEW_N(c->arena, const tn_type *, l->n);
    go = c->bad ? go : imp_bool_scalar(c, go);
    if (!c->bad)
        settle(c, l);
    if (c->bad) {
        discard_regions(c, regions);
        return false;
    }
    uint32_t n_out = l->n + l->n_collect;
    tn_value *in = TN_NEW_N(c->arena, tn_value, l->n + 2), *result = TN_NEW_N(c->arena, tn_value, n_out + 1);
    in[0] = trip;
    in[1] = go;
    result[0] = l->go;
    for (uint32_t k = 0; k < l->n; k++) {
        in[k + 2] = l->first[k];
        result[k + 1] = l->next[k];
    }
    for (uint32_t k = 0; k < l->n_collect; k++)
        result[l->n + 1 + k] = l->collected[k];
    tn_region_set_results(c->g, l->r, (int)n_out + 1, result);
    tn_loop_attr a = collected_extents(c, l);
    tn_node *n = tn_node_new(c->g, c->im->r, NULL, &tn_op_loop, (int)l->n + 2, in, (int)n_out, &a, c->loc);
    tn_node_hold(c->g, n, 1, (tn_region *[]){l->r});
    c->bad = tn_infer_node(c->g, n) != TN_OK;
    for (uint32_t k = 0; k < n_out && !c->bad; k++)
        out[k] = tn_unboxed(c->g, (tn_value){n, k});
    return !c->bad;
}

/* ---- branches ---- */

bool imp_make_if(imp_node *c, imp_branches *b, tn_value out[])
{
    static const tn_if_attr plain = {{0}};
    size_t regions = c->im->region.n;
    tn_region *outer = c->im->r, *side[2];
    double known;
    b->condition = c->bad ? b->condition : imp_bool_scalar(c, b->condition);
    if (c->bad)
        return false;
    if (imp_scalar(c, b->condition, &known)) {
        b->branch(c, b, known != 0, out);
        return !c->bad;
    }
    for (int i = 0; i < 2 && !c->bad; i++) {
        c->im->r = side[i] = new_region(c);
        b->branch(c, b, i == 0, out);
        for (size_t k = 0; k < b->n; k++)
            c->bad = c->bad || !out[k].def;
        if (!c->bad)
            tn_region_set_results(c->g, side[i], (int)b->n, out);
    }
    c->im->r = outer;
    if (c->bad) {
        discard_regions(c, regions);
        return false;
    }
    tn_node *n = tn_node_new(c->g, outer, NULL, &tn_op_if, 1, &b->condition, (int)b->n, &plain, c->loc);
    tn_node_hold(c->g, n, 2, side);
    c->bad = tn_infer_node(c->g, n) != TN_OK;
    for (uint32_t k = 0; k < b->n && !c->bad; k++)
        out[k] = tn_unboxed(c->g, (tn_value){n, k});
    return !c->bad;
}
