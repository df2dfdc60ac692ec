/* Reductions over axes: sum, mean, mean_variance, max, min, prod, argmax, argmin. Of no elements they give
 * their neutral element. */
#include "op/rule.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

/* Which axes of a rank-`rank` operand are reduced: the listed ones (none: all), or with exclude the others.
 * */
static tn_status reduced_axes(tn_graph *g, const tn_node *n, const tn_axes_attr *a, int rank,
                              bool out[TN_RULE_MAX_RANK])
{
    TN_TRY(tn_rule_axes(g, n, a->axis, rank, out));
    for (int i = 0; i < rank; i++)
        out[i] = a->axis.n == 0 || out[i] != a->exclude;
    return TN_OK;
}

static tn_status reduce_infer(tn_graph *g, tn_node *n)
{
    const tn_axes_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    bool reduced[TN_RULE_MAX_RANK];
    int rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(reduced_axes(g, n, a, t->n, reduced));
    for (int i = 0; i < t->n; i++)
        if (!reduced[i])
            dim[rank++] = t->dim[i];
        else if (a->keepdims)
            dim[rank++] = tn_idx(g->pool, 1);
    return tn_rule_result(g, n, 0, t->dtype, rank, dim);
}

/* t := reduction of in, or where a mean is given of the squares of what differs from it; the number of elements behind
 * each result, at least 1: a mean of none is 0. */
static const tn_expr *reduce_into(tn_te *te, const tn_node *n, const tn_tensor *in, const tn_tensor *mean,
                                  tn_tensor *t, enum tn_reducer r)
{
    const tn_axes_attr *a = n->attr;
    const tn_expr *index[TN_RULE_MAX_RANK], *count = tn_idx(te->pool, 1);
    bool listed[TN_RULE_MAX_RANK] = {false};
    int axis = 0;
    for (uint32_t i = 0; i < a->axis.n; i++)
        listed[a->axis.at[i] < 0 ? a->axis.at[i] + in->ndim : a->axis.at[i]] = true;
    for (int i = 0; i < in->ndim; i++) {
        if (a->axis.n && listed[i] == a->exclude) {
            index[i] = t->axis[axis++];
            continue;
        }
        index[i] = tn_te_reduce_axis(te, t, tn_arena_printf(te->arena, "r%d", i), in->dim[i]);
        count = tn_mul(te->pool, count, in->dim[i]);
        axis += a->keepdims;
    }
    const tn_expr *term = tn_cast(te->pool, t->dtype, tn_at(te, in, in->ndim, index));
    if (mean) {
        term = tn_sub(te->pool, term, tn_at(te, mean, t->ndim, t->axis));
        term = tn_mul(te->pool, term, term);
    }
    tn_te_reduce(te, t, r, term, NULL, NULL);
    return tn_max(te->pool, count, tn_idx(te->pool, 1));
}

static tn_status mean_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(reduce_infer(g, n));
    return tn_rule_countable(g, n, 0);
}

static void mean_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *sum = tn_rule_sum(te, n, "mean_sum", "reduce", NULL);
    const tn_expr *count = tn_cast(te->pool, sum->dtype, reduce_into(te, n, in[0], NULL, sum, TN_RED_SUM));
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "mean", "elementwise", NULL);
    enum tn_ek div = tn_dtype_is_float(t->dtype) ? TN_E_DIV : TN_E_TRUNCDIV;
    const tn_expr *mean = tn_bin(te->pool, div, tn_at(te, sum, t->ndim, t->axis), count);
    tn_te_define(te, t, tn_cast(te->pool, t->dtype, mean));
}

static tn_status mean_variance_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(mean_infer(g, n));
    TN_TRY(tn_rule_float(g, n, 0));
    n->type[1] = n->type[0];
    return TN_OK;
}

/* Result k of the node is sum / count, rounded; what it is before that, which the variance differs from. */
static tn_tensor *divided(tn_te *te, const tn_node *n, const tn_tensor *sum, const tn_expr *count,
                          const char *name, tn_tensor **out)
{
    tn_tensor *t = *out = tn_rule_sum(te, n, name, "elementwise", NULL);
    const tn_expr *all = tn_cast(te->pool, sum->dtype, count);
    tn_te_define(te, t, tn_bin(te->pool, TN_E_DIV, tn_at(te, sum, t->ndim, t->axis), all));
    if (tn_dtype_eq(t->dtype, n->type[0]->dtype))
        return t;
    tn_tensor *narrow = *out = tn_rule_out(te, n, 0, name, "elementwise", NULL);
    tn_te_define(te, narrow, tn_cast(te->pool, narrow->dtype, tn_at(te, t, t->ndim, narrow->axis)));
    return t;
}

static void mean_variance_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *sum = tn_rule_sum(te, n, "mean_sum", "reduce", NULL);
    const tn_expr *count = reduce_into(te, n, in[0], NULL, sum, TN_RED_SUM);
    tn_tensor *mean = divided(te, n, sum, count, "mean", &out[0]),
              *squares = tn_rule_sum(te, n, "squares", "reduce", NULL);
    reduce_into(te, n, in[0], mean, squares, TN_RED_SUM);
    divided(te, n, squares, count, "variance", &out[1]);
}

/* Over a transposed operand whose last dimension is kept (an average over images with the channels last): over what was
 * transposed, the result transposed. */
static tn_status reduce_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    tn_value v = tn_in(n, 0);
    tn_axes_attr a = *(const tn_axes_attr *)n->attr;
    int64_t axes[TN_RULE_MAX_RANK], axis[TN_RULE_MAX_RANK], perm[TN_RULE_MAX_RANK], back[TN_RULE_MAX_RANK];
    bool reduced[TN_RULE_MAX_RANK], gone[TN_RULE_MAX_RANK] = {false};
    int rank = tn_value_type(v)->n, kept = 0;
    if (!tn_rule_sinks(v, axes) || rank < 2 || reduced_axes(g, n, &a, rank, reduced) != TN_OK ||
        reduced[rank - 1])
        return TN_OK;
    a.exclude = false;
    a.axis.n = 0;
    for (int i = 0; i < rank; i++)
        if (reduced[i]) {
            axis[a.axis.n++] = axes[i];
            gone[axes[i]] = !a.keepdims;
        }
    for (int i = 0, k = 0; i < rank; i++)
        back[i] = gone[i] ? -1 : k++;
    for (int i = 0; i < rank; i++)
        if (!gone[axes[i]])
            perm[kept++] = back[axes[i]];
    a.axis = tn_ints_make(g->arena, a.axis.n, axis);
    v = tn_in(v.def, 0);
    tn_value y = tn_val(tn_make_call(g, n->owner, n, n->op, 1, &v, &a, n->loc));
    tn_transpose_attr turn = {tn_ints_make(g->arena, (uint32_t)kept, perm)};
    if (y.def)
        *out = tn_val(tn_make_call(g, n->owner, n, &tn_op_transpose, 1, &y, &turn, n->loc));
    return out->def ? TN_OK : TN_FAIL;
}

/* The operand stays in its layout where no blocked dimension is reduced; the result has it where dimensions
 * are kept. */
static void reduce_layout(tn_layout_query *q)
{
    const tn_axes_attr *a = q->node->attr;
    bool reduced[TN_RULE_MAX_RANK];
    if (reduced_axes(q->g, q->node, a, tn_in_type(q->node, 0)->n, reduced) != TN_OK)
        q->in[0] = NULL;
    tn_layout_unmoved(q, reduced);
    for (int k = 0; k < q->node->nout; k++)
        q->out[k] = a->keepdims ? q->in[0] : NULL;
}

tn_status tn_reduce_keeping(tn_graph *g, tn_node *n, const tn_node *reduce, tn_value *out)
{
    const tn_type *from, *to = n->type[0];
    bool reduced[TN_RULE_MAX_RANK];
    if (reduce->op->simplify != reduce_simplify || reduce->nout != 1 ||
        tn_value_n_uses(tn_val((tn_node *)reduce)) != 1)
        return TN_OK;
    tn_axes_attr a = *(const tn_axes_attr *)reduce->attr;
    from = tn_in_type(reduce, 0);
    if (a.keepdims || from->n != to->n || reduced_axes(g, reduce, &a, from->n, reduced) != TN_OK)
        return TN_OK;
    for (int i = 0; i < to->n; i++)
        if (reduced[i] ? !tn_is_value(to->dim[i], 1) : to->dim[i] != from->dim[i])
            return TN_OK;
    a.keepdims = true;
    tn_value v = tn_in(reduce, 0);
    *out = tn_val(tn_make_call(g, n->owner, n, reduce->op, 1, &v, &a, reduce->loc));
    return out->def ? TN_OK : TN_FAIL;
}

/* clang-format off */
static const tn_attr_field axes_fields[] = TN_ATTR_TABLE(tn_axes_attr, TN_AXES_ATTRS);

#define RECORD(id, results, relation, derivative, says) \
    const tn_op tn_op_##id = { \
        .name = #id, .doc = says, .attr_size = sizeof(tn_axes_attr), .attr = axes_fields, \
        .nin = 1, .min_in = 1, .nout = results, .fuse = TN_FUSE_REDUCE, \
        .infer = relation, .layout = reduce_layout, .compute = id##_compute, .simplify = reduce_simplify, \
        .gradient = derivative, \
    };
#define REDUCE(id, reducer, derivative, says) \
    static void id##_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[]) \
    { \
        out[0] = tn_rule_out(te, n, 0, #id, "reduce", NULL); \
        reduce_into(te, n, in[0], NULL, out[0], reducer); \
    } \
    RECORD(id, 1, reduce_infer, derivative, says)
/* clang-format on */

REDUCE(sum, TN_RED_SUM, tn_gradient_sum, "Sum over axes.")
RECORD(mean, 1, mean_infer, tn_gradient_mean, "Mean over axes; of integers truncated.")
RECORD(mean_variance, 2, mean_variance_infer, NULL,
       "Mean over axes, and the mean of the squares of what differs from it.")
REDUCE(max, TN_RED_MAX, tn_gradient_extreme, "Largest element over axes.")
REDUCE(min, TN_RED_MIN, tn_gradient_extreme, "Smallest element over axes.")
REDUCE(prod, TN_RED_PROD, NULL, "Product over axes.")

/* ---- argmax, argmin: the extreme value, then the first (or last) position that holds it ----
 * Both are plain reductions, so they run in vectors. NaN is the extreme where there is one, as NumPy has it. */

static tn_status arg_infer(tn_graph *g, tn_node *n)
{
    const tn_arg_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int axis, rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    if (!tn_dtype_is_int(a->dtype) || a->dtype.bits < 32)
        return tn_rule_fail(g, n, "op-E011", "dtype must be int32 or int64, but is %s",
                            tn_rule_dtype_text(g, a->dtype));
    for (int i = 0; i < t->n; i++)
        if (i != axis)
            dim[rank++] = t->dim[i];
        else if (a->keepdims)
            dim[rank++] = tn_idx(g->pool, 1);
    TN_TRY(tn_rule_result(g, n, 0, a->dtype, rank, dim));
    return tn_rule_elements(g, n, t, axis);
}

/* The index of in's element with `along` on the axis, at the results' axes. */
static void arg_index(const tn_tensor *t, int rank, int axis, bool keepdims, const tn_expr *along,
                      const tn_expr *index[])
{
    for (int i = 0; i < rank; i++)
        index[i] = i == axis ? along : t->axis[i > axis && !keepdims ? i - 1 : i];
}

static void arg_compute(tn_te *te, const tn_node *n, const tn_tensor *in, tn_tensor *out[], enum tn_reducer r)
{
    const tn_arg_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK];
    const tn_type *type = n->type[0];
    int axis = (int)(a->axis < 0 ? a->axis + in->ndim : a->axis);
    te->tag = "reduce";
    tn_tensor *best =
        tn_te_new(te, "extreme", in->dtype, type->n, type->dim, type->n <= 4 ? "i j k l" : NULL);
    arg_index(best, in->ndim, axis, a->keepdims, tn_te_reduce_axis(te, best, "r", in->dim[axis]), index);
    tn_te_reduce(te, best, r, tn_at(te, in, in->ndim, index), NULL, NULL);
    tn_tensor *where = tn_te_new(te, "position", TN_I32, type->n, type->dim, type->n <= 4 ? "i j k l" : NULL);
    const tn_expr *k = tn_te_reduce_axis(te, where, "r", in->dim[axis]),
                  *last = tn_sub(p, in->dim[axis], tn_idx(p, 1));
    arg_index(where, in->ndim, axis, a->keepdims, k, index);
    const tn_expr *here = tn_at(te, in, in->ndim, index);
    const tn_expr *found = tn_eq(p, here, tn_at(te, best, type->n, where->axis));
    if (tn_dtype_is_float(in->dtype))
        found = tn_bin(p, TN_E_OR, found, tn_intrinsic1(p, TN_F_isnan, here));
    const tn_expr *none = a->select_last_index ? tn_int(p, TN_I32, 0) : tn_cast(p, TN_I32, last);
    tn_te_reduce(te, where, a->select_last_index ? TN_RED_MAX : TN_RED_MIN,
                 tn_select(p, found, tn_cast(p, TN_I32, k), none), NULL, none);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "arg", "elementwise", NULL);
    tn_rule_require_elements(te, in, axis, t);
    tn_te_define(te, t, tn_cast(p, t->dtype, tn_at(te, where, t->ndim, t->axis)));
}

/* clang-format off */
static const tn_attr_field arg_fields[] = TN_ATTR_TABLE(tn_arg_attr, TN_ARG_ATTRS);

#define ARG(id, reducer, says) \
    static void id##_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[]) \
    { \
        arg_compute(te, n, in[0], out, reducer); \
    } \
    const tn_op tn_op_##id = { \
        .name = #id, .doc = says, .attr_size = sizeof(tn_arg_attr), .attr = arg_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_REDUCE, .infer = arg_infer, .compute = id##_compute, \
    };
ARG(argmax, TN_RED_MAX, "Position of the largest element along an axis.")
ARG(argmin, TN_RED_MIN, "Position of the smallest element along an axis.")
/* clang-format on */
