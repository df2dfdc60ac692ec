/* Copying a region into another place: how a call of a global function becomes its body. Linear in the nodes copied. */
#include "op/control/control.h"
#include "relay/limits.h"
#include "relay/parse.h"

#include <string.h>

typedef struct copier {
    tn_graph *g;
    tn_map node; /* old node -> new node of the same outputs */
    /* old node -> index of what stands for all its outputs: an argument, a value that there never is */
    tn_map value;
    tn_vec(tn_value) stands;
    int n_sym, cap_sym; /* symbols of the function and what they are here */
    const tn_expr **from, **to;
} copier;

static const tn_type *subst_type(copier *c, const tn_type *t)
{
    if (!c->n_sym || !t || t->kind == TN_T_ANY)
        return t;
    tn_arena *a = c->g->arena;
    tn_pool *pool = c->g->pool;
    if (t->kind == TN_T_TENSOR) {
        const tn_expr **dim = TN_NEW_N(a, const tn_expr *, t->n);
        for (int d = 0; d < t->n; d++)
            dim[d] = tn_subst(pool, t->dim[d], c->n_sym, c->from, c->to);
        return tn_type_tensor(pool, t->dtype, t->n, dim, t->layout);
    }
    const tn_type **field = TN_NEW_N(a, const tn_type *, t->n);
    for (int i = 0; i < t->n; i++) /* depth: that of types, bounded by who made them */
        field[i] = subst_type(c, t->field[i]);
    return tn_type_with(pool, t, field);
}

static void add_symbol(copier *c, const tn_expr *from, const tn_expr *to)
{
    if (c->n_sym == c->cap_sym) {
        int cap = c->cap_sym ? 2 * c->cap_sym : 16;
        const tn_expr **a = TN_NEW_N(c->g->arena, const tn_expr *, (size_t)cap),
                      **b = TN_NEW_N(c->g->arena, const tn_expr *, (size_t)cap);
        for (int i = 0; i < c->n_sym; i++) {
            a[i] = c->from[i];
            b[i] = c->to[i];
        }
        c->from = a;
        c->to = b;
        c->cap_sym = cap;
    }
    c->from[c->n_sym] = from;
    c->to[c->n_sym++] = to;
}

/* Symbols that a node binds during the run are others in each copy. */
static void rename_bound(copier *c, const tn_node *n)
{
    for (const tn_attr_field *f = n->op->flags & TN_OP_BINDS ? n->op->attr : NULL; f && f->name; f++) {
        const tn_dims *d = (const tn_dims *)(const void *)((const char *)n->attr + f->offset);
        for (uint32_t i = 0; f->kind == TN_A_DIMS && i < d->n; i++) {
            bool known = d->at[i]->kind != TN_E_SYM;
            for (int k = 0; k < c->n_sym && !known; k++)
                known = c->from[k] == d->at[i];
            if (!known) {
                const tn_symbol_info s = *tn_graph_symbol(c->g, d->at[i]->u.s);
                add_symbol(c, d->at[i], tn_fresh_symbol(c->g, "u", s.min, s.max));
            }
        }
    }
}

/* Attributes with the symbols replaced in their dimensions. */
static const void *subst_attr(copier *c, const tn_node *n)
{
    const tn_attr_field *f = n->op->attr;
    if (!f || !n->attr || !c->n_sym)
        return n->attr;
    char *attr = tn_arena_copy(c->g->arena, n->attr, n->op->attr_size, 16);
    for (; f->name; f++) {
        if (f->kind != TN_A_DIMS)
            continue;
        tn_dims *d = (tn_dims *)(void *)(attr + f->offset);
        const tn_expr **at = TN_NEW_N(c->g->arena, const tn_expr *, d->n);
        for (uint32_t i = 0; i < d->n; i++)
            at[i] = tn_subst(c->g->pool, d->at[i], c->n_sym, c->from, c->to);
        d->at = at;
    }
    return attr;
}

static tn_value copied(const copier *c, tn_value v)
{
    uint64_t at;
    if (!v.def)
        return v;
    if (tn_map_get(&c->value, tn_map_key(v.def), &at))
        return c->stands.at[at];
    if (tn_map_get(&c->node, tn_map_key(v.def), &at))
        return (tn_value){(tn_node *)(uintptr_t)at, v.out};
    return v; /* an outer value */
}

static void stand(copier *c, const tn_node *old, tn_value v)
{
    tn_map_put(&c->value, tn_map_key(old), c->stands.n);
    tn_vec_push(&c->stands, v);
}

static tn_status copy_nodes(copier *c, const tn_region *from, tn_region *to, int depth);

static tn_status copy_region(copier *c, const tn_region *from, tn_node *holder, int depth)
{
    tn_region *r = tn_region_new(c->g, holder);
    for (uint32_t i = 0; i < from->n_param; i++) {
        tn_node *old = from->param[i];
        tn_node *v = tn_region_add_param(c->g, r, old->name, subst_type(c, old->type[0]));
        v->loc = old->loc;
        tn_map_put(&c->node, tn_map_key(old), tn_map_key(v));
    }
    TN_TRY(copy_nodes(c, from, r, depth));
    tn_value *res = TN_NEW_N(c->g->arena, tn_value, from->n_result);
    for (uint32_t i = 0; i < from->n_result; i++)
        res[i] = copied(c, (tn_value){from->result[i].def, from->result[i].out});
    if (tn_op_is(holder, &tn_op_loop))
        parse_decided(c->g, r, TN_BOOL1, &res[0]);
    tn_region_set_results(c->g, r, (int)from->n_result, res);
    return TN_OK;
}

static void copy_layouts(copier *c, const tn_node *old, tn_node *n)
{
    for (int k = 0; k < n->nout && old->type; k++) {
        const tn_type *t = old->type[k];
        if (t && t->kind == TN_T_TENSOR && t->layout && n->type[k] && n->type[k]->kind == TN_T_TENSOR)
            n->type[k] = tn_type_relayout(c->g->pool, n->type[k], t->layout);
    }
}

/* A call of a function that is at hand now yields its results one by one: they become the tuple that the call was. */
static tn_node *as_tuple(copier *c, const tn_node *old, tn_node *n)
{
    if (!n || old->nout != 1 || n->nout == 1)
        return n;
    tn_value *field = TN_NEW_N(c->g->arena, tn_value, n->nout);
    for (uint32_t k = 0; k < n->nout; k++)
        field[k] = (tn_value){n, k};
    return tn_make_call(c->g, n->owner, NULL, &tn_op_tuple, n->nout, field, NULL, old->loc);
}

/* The operands of a copy. */
static tn_value *copied_inputs(copier *c, const tn_node *old, tn_region *to)
{
    tn_value *in = TN_NEW_N(c->g->arena, tn_value, old->nin);
    bool loop = tn_op_is(old, &tn_op_loop);
    for (int i = 0; i < old->nin; i++)
        in[i] = copied(c, tn_in(old, i));
    if (loop)
        parse_decided(c->g, to, TN_I64, &in[0]);
    if (loop || tn_op_is(old, &tn_op_if))
        parse_decided(c->g, to, TN_BOOL1, &in[loop]);
    return in;
}

static tn_status copy_node(copier *c, tn_node *old, tn_region *to, int depth)
{
    tn_graph *g = c->g;
    tn_node *n;
    tn_value *in = copied_inputs(c, old, to);
    const tn_value *never = parse_never(old->op, old->nin, in);
    if (never) {
        stand(c, old, *never);
        return TN_OK;
    }
    rename_bound(c, old);
    if (tn_op_is(old, &tn_op_constant)) {
        n = tn_constant_new(g, to, NULL, old->type[0], old->blob, old->name);
        n->loc = old->loc;
    } else if (tn_op_is(old, &tn_op_global) || tn_op_is(old, &tn_op_self)) {
        n = tn_node_new(g, to, NULL, old->op, 0, NULL, 1, old->attr, old->loc);
        n->type[0] = subst_type(c, old->type[0]);
    } else if (old->nregion) {
        for (int i = 0; i < old->nregion; i++)
            for (const tn_node *inner = old->region[i]->first; inner; inner = inner->next)
                rename_bound(c, inner);
        n = tn_node_new(g, to, NULL, old->op, old->nin, in, old->nout, subst_attr(c, old), old->loc);
        for (int i = 0; i < old->nregion; i++)
            TN_TRY(copy_region(c, old->region[i], n, depth + 1));
        TN_TRY(tn_infer_node(g, n));
    } else {
        n = as_tuple(c, old, tn_make_call(g, to, NULL, old->op, old->nin, in, subst_attr(c, old), old->loc));
        if (!n)
            return TN_FAIL;
    }
    copy_layouts(c, old, n);
    (void)tn_ref_take(g, n, old->type ? subst_type(c, old->type[0]) : NULL);
    tn_map_put(&c->node, tn_map_key(old), tn_map_key(n));
    return TN_OK;
}

static tn_status copy_nodes(copier *c, const tn_region *from, tn_region *to, int depth)
{
    if (depth > TN_RELAY_MAX_NEST) {
        return tn_error(c->g->ctx, "relay-E107", NULL, "closures are nested more than %d deep",
                        TN_RELAY_MAX_NEST);
    }
    for (tn_node *n = from->first; n; n = n->next)
        if (!tn_op_is(n, &tn_op_var))
            TN_TRY(copy_node(c, n, to, depth));
    return TN_OK;
}

/* One dimension of a parameter against the argument's: a symbol takes its value at first sight. */
static bool bind_dim(copier *c, const tn_expr *param, const tn_expr *arg)
{
    for (int i = 0; i < c->n_sym; i++)
        if (c->from[i] == param)
            return tn_equal(c->g->pool, NULL, c->to[i], arg);
    if (param->kind == TN_E_SYM) {
        add_symbol(c, param, arg);
        return true;
    }
    return tn_equal(c->g->pool, NULL, tn_subst(c->g->pool, param, c->n_sym, c->from, c->to), arg);
}

/* Symbols are bound by all parameters before expressions of them are compared. */
static bool bind_type(copier *c, const tn_type *param, const tn_type *arg, bool symbols)
{
    if (!arg || tn_type_is_handle(param) || tn_type_is_handle(arg))
        return arg && tn_type_fits(param, arg);
    bool ok = param->n == arg->n && tn_dtype_eq(param->dtype, arg->dtype) && param->layout == arg->layout;
    for (int d = 0; d < param->n && ok; d++)
        ok = (param->dim[d]->kind == TN_E_SYM) != symbols || bind_dim(c, param->dim[d], arg->dim[d]);
    return ok;
}

static tn_status bind(copier *c, const tn_region *from, const tn_value arg[], const tn_loc *loc)
{
    for (uint32_t i = 0; i < 2 * from->n_param; i++) {
        const tn_node *v = from->param[i % from->n_param];
        const tn_type *t = tn_value_type(arg[i % from->n_param]);
        if (!bind_type(c, v->type[0], t, i < from->n_param)) {
            tn_buf a = {0}, b = {0};
            tn_type_print(v->type[0], &a);
            if (t)
                tn_type_print(t, &b);
            else
                tn_buf_str(&b, "None");
            tn_status s = tn_error(c->g->ctx, "relay-E049", loc,
                                   "argument %u of the call is %s, but the function takes %s",
                                   i % from->n_param, tn_buf_cstr(&b), tn_buf_cstr(&a));
            tn_buf_deinit(&a);
            tn_buf_deinit(&b);
            return s;
        }
    }
    return TN_OK;
}

tn_status tn_relay_inline(tn_graph *g, const tn_region *from, tn_region *to, const tn_value arg[],
                          const tn_loc *loc, tn_value out[])
{
    copier c = {.g = g};
    tn_status s = bind(&c, from, arg, loc);
    for (uint32_t i = 0; i < from->n_param; i++)
        stand(&c, from->param[i], arg[i]);
    s = s == TN_OK ? copy_nodes(&c, from, to, 0) : s;
    for (uint32_t i = 0; i < from->n_result && s == TN_OK; i++)
        out[i] = copied(&c, (tn_value){from->result[i].def, from->result[i].out});
    tn_map_deinit(&c.node);
    tn_map_deinit(&c.value);
    tn_vec_deinit(&c.stands);
    return s;
}
