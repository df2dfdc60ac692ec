/* Writing by indices that are data: scatter_elements, scatter_nd.
 *
 * The result begins as a copy of data; updates follow in the order of their positions, so where indices repeat the
 * last one stays (or all are combined, in that order). Positions that cannot meet run in tasks. An index outside of
 * [-extent, extent) fails the call.
 */
#include "op/code.h"

#include "op/tensor/tensor.h"

#include <string.h>

static const char *const scatter_in[] = {"data", "indices", "updates"};
static const char *const reductions[] = {"update", "add", "mul", "min", "max", "mean"};

static tn_status scatter_operands(tn_graph *g, const tn_node *n, const char *reduction)
{
    const tn_type *t;
    bool known = false;
    for (int i = 0; i < 3; i++)
        TN_TRY(tn_rule_tensor(g, n, i, -1, &t));
    TN_TRY(tn_rule_same_dtype(g, n, 2));
    if (!tn_dtype_is_int(tn_in_type(n, 1)->dtype))
        return tn_rule_fail(g, n, "op-E011", "indices must be integers, but are %s; cast them",
                            tn_rule_dtype_text(g, tn_in_type(n, 1)->dtype));
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        known |= reduction && strcmp(reduction, reductions[i]) == 0;
    if (!known)
        return tn_rule_fail(g, n, "op-E007",
                            "unknown reduction \"%s\"; use update, add, mul, min, max or mean",
                            reduction ? reduction : "None");
    if (strcmp(reduction, "mean") == 0)
        return tn_rule_float(g, n, 0);
    return strcmp(reduction, "update") == 0 ? TN_OK : tn_rule_number(g, n, 0);
}

static const tn_expr *combined(tn_pool *p, const char *reduction, const tn_expr *old, const tn_expr *update)
{
    switch (reduction[1]) {
    case 'd': return tn_add(p, old, update);
    case 'u': return tn_mul(p, old, update);
    case 'i': return tn_min(p, old, update);
    case 'a': return tn_max(p, old, update);
    case 'e': return tn_bin(p, TN_E_DIV, tn_add(p, old, update), tn_flt(p, old->dtype, 2));
    default: return update;
    }
}

static bool has_elements(const tn_tensor *t)
{
    for (int i = 0; i < t->ndim; i++)
        if (tn_is_value(t->dim[i], 0))
            return false;
    return true;
}

/* A checked index of an axis, counted from the front. */
static const tn_expr *checked(tn_code *c, const tn_expr *value, const tn_expr *extent)
{
    tn_pool *p = c->p;
    const tn_expr *at = tn_code_let(c, "index", tn_cast(p, TN_IDX, value));
    tn_code_check(c, tn_and(p, tn_le(p, tn_sub(p, tn_idx(p, 0), extent), at), tn_lt(p, at, extent)),
                  tn_arena_printf(c->te->arena, "%s: an index is outside the data", c->name));
    return tn_code_let(c, "at", tn_select(p, tn_lt(p, at, tn_idx(p, 0)), tn_add(p, at, extent), at));
}

/* ---- scatter_elements: out[i, indices[i, j, k], k] = updates[i, j, k] for axis 1 ---- */

static tn_status elements_infer(tn_graph *g, tn_node *n)
{
    const tn_scatter_attr *a = n->attr;
    int axis;
    TN_TRY(scatter_operands(g, n, a->reduction));
    const tn_type *t = tn_in_type(n, 0), *indices = tn_in_type(n, 1), *updates = tn_in_type(n, 2);
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    bool fits = indices->n == t->n && updates->n == t->n;
    for (int i = 0; i < t->n && fits; i++) {
        int64_t have, want;
        fits =
            tn_rule_agree(g, n, indices->dim[i], updates->dim[i]) &&
            (i == axis || !tn_is_int(t->dim[i], &have) || !tn_is_int(indices->dim[i], &want) || want <= have);
    }
    if (!fits)
        return tn_rule_fail(g, n, "op-E008", "data %s, indices %s and updates %s do not match",
                            tn_rule_type_text(g, t), tn_rule_type_text(g, indices),
                            tn_rule_type_text(g, updates));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void elements_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_scatter_attr *a = n->attr;
    const tn_expr *at[TN_RULE_MAX_RANK], *extent[TN_RULE_MAX_RANK], *var[TN_RULE_MAX_RANK],
        *to[TN_RULE_MAX_RANK];
    tn_tensor *t;
    tn_code c = tn_code_open(te, n, 0, "scatter_elements", &t);
    int axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis), k = 0;
    out[0] = t;
    tn_code_fill(&c, t, tn_at(te, in[0], t->ndim, t->axis));
    if (!has_elements(in[1]))
        return;
    for (int i = 0; i < t->ndim; i++)
        if (i != axis)
            extent[k++] = in[1]->dim[i];
    tn_code_each(&c, k, extent, var);
    const tn_expr *along = tn_code_for(&c, "k", in[1]->dim[axis]);
    for (int i = 0; i < t->ndim; i++) {
        at[i] = i == axis ? along : var[i > axis ? i - 1 : i];
        to[i] = i == axis ? NULL : tn_rule_within(te, at[i], in[1]->dim[i], t->dim[i], i);
    }
    to[axis] = checked(&c, tn_at(te, in[1], t->ndim, at), t->dim[axis]);
    const tn_expr *old = tn_code_load(&c, t->buffer, t->ndim, to);
    tn_code_store(&c, t->buffer, t->ndim, to,
                  combined(c.p, a->reduction, old, tn_at(te, in[2], t->ndim, at)));
}

/* clang-format off */
static const tn_attr_field elements_fields[] = TN_ATTR_TABLE(tn_scatter_attr, TN_SCATTER_ATTRS);

const tn_op tn_op_scatter_elements = {
    .name = "scatter_elements", .doc = "data with updates put where indices say along one axis, in order.",
    .attr_size = sizeof(tn_scatter_attr), .attr = elements_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = scatter_in,
    .infer = elements_infer, .body = elements_body,
};
/* clang-format on */

/* ---- scatter_nd: out[indices[y.., 0], indices[y.., 1], ..., r..] = updates[y.., r..] ---- */

static tn_status nd_infer(tn_graph *g, tn_node *n)
{
    const tn_scatter_attr *a = n->attr;
    int64_t count = 0;
    TN_TRY(scatter_operands(g, n, a->reduction));
    const tn_type *t = tn_in_type(n, 0), *indices = tn_in_type(n, 1), *updates = tn_in_type(n, 2);
    if (indices->n < 1 || !tn_is_int(indices->dim[indices->n - 1], &count) || count > t->n)
        return tn_rule_fail(g, n, "op-E008",
                            "the last dimension of indices %s counts the dimensions of data %s",
                            tn_rule_type_text(g, indices), tn_rule_type_text(g, t));
    int outer = indices->n - 1, inner = t->n - (int)count;
    bool fits = updates->n == outer + inner;
    for (int i = 0; i < outer && fits; i++)
        fits = tn_rule_agree(g, n, updates->dim[i], indices->dim[i]);
    for (int i = 0; i < inner && fits; i++)
        fits = tn_rule_agree(g, n, updates->dim[outer + i], t->dim[count + i]);
    if (!fits)
        return tn_rule_fail(g, n, "op-E008", "data %s, indices %s and updates %s do not match",
                            tn_rule_type_text(g, t), tn_rule_type_text(g, indices),
                            tn_rule_type_text(g, updates));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void nd_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_scatter_attr *a = n->attr;
    const tn_expr *from[2 * TN_RULE_MAX_RANK], *where[TN_RULE_MAX_RANK], *to[TN_RULE_MAX_RANK];
    tn_tensor *t;
    tn_code c = tn_code_open(te, n, 0, "scatter_nd", &t);
    int outer = in[1]->ndim - 1, inner = in[2]->ndim - outer, count = t->ndim - inner;
    out[0] = t;
    tn_code_fill(&c, t, tn_at(te, in[0], t->ndim, t->axis));
    if (!has_elements(in[2]))
        return;
    tn_code_each(&c, 0, NULL, NULL); /* in order: the last of several updates stays */
    tn_code_loops(&c, outer, in[1]->dim, where);
    for (int i = 0; i < outer; i++)
        from[i] = where[i];
    for (int i = 0; i < count; i++) {
        where[outer] = tn_idx(c.p, i);
        to[i] = checked(&c, tn_at(te, in[1], outer + 1, where), t->dim[i]);
    }
    for (int i = 0; i < inner; i++) {
        const tn_expr *extent = in[2]->dim[outer + i];
        const tn_expr *v = i < inner - 1 ? tn_code_for(&c, tn_arena_printf(te->arena, "r%d", i), extent)
                                         : tn_code_spread(&c, "r", extent);
        from[outer + i] = to[count + i] = v;
    }
    const tn_expr *old = tn_code_load(&c, t->buffer, t->ndim, to),
                  *update = tn_at(te, in[2], outer + inner, from);
    tn_code_store(&c, t->buffer, t->ndim, to, combined(c.p, a->reduction, old, update));
}

/* clang-format off */
static const tn_attr_field nd_fields[] = TN_ATTR_TABLE(tn_scatter_attr, TN_SCATTER_ND_ATTRS);

const tn_op tn_op_scatter_nd = {
    .name = "put_nd", .doc = "data with parts replaced at the positions that the rows of indices name, in order.",
    .attr_size = sizeof(tn_scatter_attr), .attr = nd_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = scatter_in,
    .infer = nd_infer, .body = nd_body,
};
/* clang-format on */
