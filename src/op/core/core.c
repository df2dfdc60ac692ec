/* Structure: functions and their calls, tuples, and the change of a value's layout (parameters and constants are the
 * graph's own, ir/structure.c). None of these but relayout is a kernel. */
#include "op/rule.h"

#include "op/control/control.h"
#include "op/core/core.h"

/* ---- functions ---- */

/* The type of a result as callers know it: they do not know the extents that its body alone binds. */
static const tn_type *known_outside(tn_graph *g, const tn_region *r, const tn_type *t)
{
    if (t->kind == TN_T_TENSOR) {
        const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, t->n);
        bool same = true;
        for (int d = 0; d < t->n; d++) {
            dim[d] = t->dim[d]->kind != TN_E_INT && tn_region_binds(r, t->dim[d]) ? tn_any_dim(g->pool)
                                                                                  : t->dim[d];
            same = same && dim[d] == t->dim[d];
        }
        return same ? t : tn_type_tensor(g->pool, t->dtype, t->n, dim, t->layout);
    }
    if (t->kind !=
        TN_T_TUPLE) /* symbols inside of others are of no use: a call gives those of a tuple alone others */
        return tn_type_unbound(g->pool, t);
    const tn_type **field = TN_NEW_N(g->arena, const tn_type *, t->n);
    for (int i = 0; i < t->n; i++) /* depth: that of types */
        field[i] = known_outside(g, r, t->field[i]);
    return tn_type_tuple(g->pool, t->n, field);
}

static tn_status fn_infer(tn_graph *g, tn_node *n)
{
    TN_ASSERT(n->nregion == 1);
    const tn_region *r = n->region[0];
    const tn_type **param = TN_NEW_N(g->arena, const tn_type *, r->n_param),
                  **result = TN_NEW_N(g->arena, const tn_type *, r->n_result);
    for (uint32_t i = 0; i < r->n_param; i++)
        param[i] = r->param[i]->type[0];
    for (uint32_t i = 0; i < r->n_result; i++) {
        const tn_use *u = &r->result[i];
        result[i] = u->def && u->def->type[u->out] ? known_outside(g, r, u->def->type[u->out]) : NULL;
        if (!result[i])
            return g->ctx->n_error
                       ? TN_FAIL
                       : tn_rule_fail(g, n, "op-E016", "the type of result %u is not known", (unsigned)i);
    }
    const tn_type *all = r->n_result == 1 ? result[0] : tn_type_tuple(g->pool, (int)r->n_result, result);
    n->type[0] = tn_type_func(g->pool, (int)r->n_param, param, all);
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field fn_fields[] = TN_ATTR_TABLE(tn_fn_attr, TN_FN_ATTRS);

const tn_op tn_op_fn = {
    .name = "fn", .doc = "A function value; its region is the body.",
    .attr_size = sizeof(tn_fn_attr), .attr = fn_fields, .nout = 1, .nregion = 1,
    .fuse = TN_FUSE_NONE, .infer = fn_infer,
};
/* clang-format on */

/* ---- calls ---- */

/* Symbols of a function's parameters that stand for other dimensions at a call. */
typedef struct binding {
    int n;
    const tn_expr *from[64], *to[64];
} binding;

static bool bind_dim(tn_graph *g, binding *b, const tn_expr *param, const tn_expr *arg)
{
    if (param == arg)
        return true;
    if (param->kind != TN_E_SYM)
        return tn_rule_dim_eq(g, tn_subst(g->pool, param, b->n, b->from, b->to), arg);
    for (int i = 0; i < b->n; i++)
        if (b->from[i] == param)
            return tn_rule_dim_eq(g, b->to[i], arg);
    if (b->n == 64)
        return false;
    b->from[b->n] = param;
    b->to[b->n++] = arg;
    return true;
}

static bool bind_type(tn_graph *g, binding *b, const tn_type *param, const tn_type *arg)
{
    for (int i = 0; arg->kind == TN_T_NONE && param->kind == TN_T_TENSOR && i < param->n; i++)
        if (param->dim[i]->kind == TN_E_SYM) /* there is never such a value: nothing says the extent */
            (void)bind_dim(g, b, param->dim[i], tn_any_dim(g->pool));
    if (tn_type_is_handle(param) || tn_type_is_handle(arg))
        return tn_type_fits(param, arg);
    if (param->n != arg->n || !tn_dtype_eq(param->dtype, arg->dtype))
        return false;
    for (int i = 0; i < param->n; i++)
        if (!bind_dim(g, b, param->dim[i], arg->dim[i]))
            return false;
    return true;
}

static const tn_type *bound_type(tn_graph *g, const binding *b, const tn_type *t)
{
    if (!b->n ||
        (t->kind != TN_T_TENSOR && t->kind != TN_T_TUPLE)) /* results of other types have no symbols */
        return t;
    if (t->kind == TN_T_TUPLE) {
        const tn_type **field = TN_NEW_N(g->arena, const tn_type *, t->n);
        for (int i = 0; i < t->n; i++) /* depth: that of types */
            field[i] = bound_type(g, b, t->field[i]);
        return tn_type_tuple(g->pool, t->n, field);
    }
    const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, t->n);
    for (int i = 0; i < t->n; i++)
        dim[i] = tn_simplify_extent(g, tn_subst(g->pool, t->dim[i], b->n, b->from, b->to));
    return tn_type_tensor(g->pool, t->dtype, t->n, dim, t->layout);
}

static tn_status call_infer(tn_graph *g, tn_node *n)
{
    const tn_type *f = tn_in_type(n, 0);
    if (f->kind != TN_T_FUNC)
        return tn_rule_fail(g, n, "op-E012", "the first operand must be a function, but is %s",
                            tn_rule_type_text(g, f));
    if (n->nin != f->n)
        return tn_rule_fail(g, n, "op-E012", "%d arguments given for %s", n->nin - 1,
                            tn_rule_type_text(g, f));
    binding *b = TN_NEW(g->arena, binding);
    for (int i = 1; i < n->nin; i++) {
        const tn_type *arg = tn_in_type(n, i);
        if (!arg || !bind_type(g, b, f->field[i - 1], arg))
            return tn_rule_fail(g, n, "op-E012", "argument %d is %s, but the function takes %s", i - 1,
                                arg ? tn_rule_type_text(g, arg) : "None",
                                tn_rule_type_text(g, f->field[i - 1]));
    }
    const tn_type *result = bound_type(g, b, f->field[f->n - 1]);
    if (n->nout == 1) {
        n->type[0] = result;
        return TN_OK;
    }
    if (result->kind != TN_T_TUPLE || result->n != n->nout)
        return tn_rule_fail(g, n, "op-E012", "%d results are expected from %s", n->nout,
                            tn_rule_type_text(g, f));
    for (int i = 0; i < n->nout; i++)
        n->type[i] = result->field[i];
    return TN_OK;
}

/* clang-format off */
const tn_op tn_op_call = {
    .name = "call", .doc = "Calls a function value (the first operand) with the other operands.",
    .nin = -1, .min_in = 1, .nout = -1, .fuse = TN_FUSE_NONE, .infer = call_infer,
};
/* clang-format on */

/* ---- functions of the module ---- */

/* Its type is that of the function, which whoever makes the node knows. */
static tn_status global_infer(tn_graph *g, tn_node *n)
{
    return n->type[0] ? TN_OK : tn_rule_fail(g, n, "op-E016", "the type of its function is not known");
}

/* clang-format off */
static const tn_attr_field global_fields[] = TN_ATTR_TABLE(tn_global_attr, TN_GLOBAL_ATTRS);

const tn_op tn_op_global = {
    .name = "global", .doc = "A function of the module as a value.",
    .attr_size = sizeof(tn_global_attr), .attr = global_fields, .nout = 1, .fuse = TN_FUSE_NONE,
    .infer = global_infer,
};
/* clang-format on */

/* clang-format off */
const tn_op tn_op_self = {
    .name = "self", .doc = "The function in whose body it stands, as a value.",
    .nout = 1, .fuse = TN_FUSE_NONE, .infer = global_infer,
};
/* clang-format on */

bool tn_has_effect(const tn_node *n)
{
    bool call = n->op == &tn_op_call && n->nin && n->in[0].def;
    const tn_fn_attr *fn = call && n->in[0].def->op == &tn_op_fn ? n->in[0].def->attr : NULL;
    return (n->op->flags & TN_OP_EFFECT) || (call && !(fn && fn->Primitive));
}

/* ---- tuples ---- */

static tn_status tuple_infer(tn_graph *g, tn_node *n)
{
    const tn_type **field = TN_NEW_N(g->arena, const tn_type *, n->nin);
    for (int i = 0; i < n->nin; i++) {
        field[i] = tn_in_type(n, i);
        if (!field[i])
            return tn_rule_fail(g, n, "op-E001", "field %d is None", i);
    }
    n->type[0] = tn_type_tuple(g->pool, n->nin, field);
    return TN_OK;
}

/* clang-format off */
const tn_op tn_op_tuple = {
    .name = "tuple", .doc = "A tuple of its operands, as a value.",
    .nin = -1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = tuple_infer,
};
/* clang-format on */

static tn_status tuple_get_infer(tn_graph *g, tn_node *n)
{
    const tn_tuple_get_attr *a = n->attr;
    const tn_type *t = tn_in_type(n, 0);
    if (t->kind != TN_T_TUPLE)
        return tn_rule_fail(g, n, "op-E013", "the operand must be a tuple, but is %s",
                            tn_rule_type_text(g, t));
    if (a->index < 0 || a->index >= t->n)
        return tn_rule_fail(g, n, "op-E013", "field %lld of %s does not exist", (long long)a->index,
                            tn_rule_type_text(g, t));
    n->type[0] = t->field[a->index];
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field tuple_get_fields[] = TN_ATTR_TABLE(tn_tuple_get_attr, TN_TUPLE_GET_ATTRS);

const tn_op tn_op_tuple_get = {
    .name = "tuple_get", .doc = "One field of a tuple value.",
    .attr_size = sizeof(tn_tuple_get_attr), .attr = tuple_get_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = tuple_get_infer,
};
/* clang-format on */

/* ---- relayout ---- */

static tn_status relayout_infer(tn_graph *g, tn_node *n)
{
    const tn_relayout_attr *a = n->attr;
    const tn_type *t;
    const tn_layout *l = NULL;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->dst_layout)
        TN_TRY(tn_layout_parse(g->ctx, a->dst_layout, n->loc, &l));
    if (l && l->ndim != t->n)
        return tn_rule_fail(g, n, "op-E010", "layout %s has %d dimensions, but the operand is %s",
                            a->dst_layout, l->ndim, tn_rule_type_text(g, t));
    if (l && l->fill == TN_FILL_VALUE && !tn_op_is(tn_in(n, 0).def, &tn_op_constant))
        return tn_rule_fail(
            g, n, "op-E010",
            "layout %s has a fill, but only a constant can have one, because no kernel writes fills",
            a->dst_layout);
    n->type[0] = tn_type_relayout(g->pool, t, l);
    return TN_OK;
}

static void relayout_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "relayout", "relayout", NULL);
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, t->axis));
}

static void relayout_layout(tn_layout_query *q) { q->out[0] = q->node->type[0]->layout; /* takes any */ }

/* clang-format off */
static const tn_attr_field relayout_fields[] = TN_ATTR_TABLE(tn_relayout_attr, TN_RELAYOUT_ATTRS);

const tn_op tn_op_relayout = {
    .name = "relayout", .doc = "The same tensor in another physical layout.",
    .attr_size = sizeof(tn_relayout_attr), .attr = relayout_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_RELAYOUT, .fuse = TN_FUSE_ANCHOR,
    .infer = relayout_infer, .layout = relayout_layout, .compute = relayout_compute,
};
/* clang-format on */
