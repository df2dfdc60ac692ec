/* Reductions over axes: sum, mean, max, min, prod. */
#include "op/rule.h"

/* Which axes of a rank-`rank` operand are reduced: the listed ones (none: all), or with exclude the others.
 * */
static tn_status reduced_axes(tn_graph *g, const tn_node *n, const tn_axes_attr *a, int rank,
                              bool out[TN_RULE_MAX_RANK])
{
    TN_TRY(tn_rule_axes(g, n, a->axes, rank, out));
    for (int i = 0; i < rank; i++)
        out[i] = a->axes.n == 0 || out[i] != a->exclude;
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
    for (int i = 0; i < t->n; i++) {
        if (reduced[i] && tn_is_value(t->dim[i], 0))
            return tn_rule_fail(g, n, "op-E009", "%s has no elements along axis %d to reduce",
                                tn_rule_type_text(g, t), i);
        if (!reduced[i])
            dim[rank++] = t->dim[i];
        else if (a->keepdims)
            dim[rank++] = tn_idx(g->pool, 1);
    }
    return tn_rule_result(g, n, 0, t->dtype, rank, dim);
}

/* t := reduction of in; the number of elements behind each result. */
static const tn_expr *reduce_into(tn_te *te, const tn_node *n, const tn_tensor *in, tn_tensor *t,
                                  enum tn_reducer r)
{
    const tn_axes_attr *a = n->attr;
    const tn_expr *index[TN_RULE_MAX_RANK], *count = tn_idx(te->pool, 1);
    bool listed[TN_RULE_MAX_RANK] = {false};
    int axis = 0;
    for (uint32_t i = 0; i < a->axes.n; i++)
        listed[a->axes.at[i] < 0 ? a->axes.at[i] + in->ndim : a->axes.at[i]] = true;
    for (int i = 0; i < in->ndim; i++) {
        if (a->axes.n && listed[i] == a->exclude) {
            index[i] = t->axis[axis++];
            continue;
        }
        index[i] = tn_te_reduce_axis(te, t, tn_arena_printf(te->arena, "r%d", i), in->dim[i]);
        count = tn_mul(te->pool, count, in->dim[i]);
        axis += a->keepdims;
    }
    tn_te_reduce(te, t, r, tn_at(te, in, in->ndim, index), NULL, NULL);
    return count;
}

static tn_status mean_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(reduce_infer(g, n));
    return tn_rule_countable(g, n, 0);
}

static void mean_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *sum = tn_rule_out(te, n, 0, "mean_sum", "reduce", NULL);
    const tn_expr *count = tn_cast(te->pool, sum->dtype, reduce_into(te, n, in[0], sum, TN_RED_SUM));
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "mean", "elementwise", NULL);
    enum tn_ek div = tn_dtype_is_float(t->dtype) ? TN_E_DIV : TN_E_FLOORDIV;
    tn_te_define(te, t, tn_bin(te->pool, div, tn_at(te, sum, t->ndim, t->axis), count));
}

/* clang-format off */
static const tn_attr_field axes_fields[] = {
    {"axis", TN_A_INTS, offsetof(tn_axes_attr, axes), "None", "axes to reduce; None: all"},
    {"keepdims", TN_A_BOOL, offsetof(tn_axes_attr, keepdims), "False", "reduced axes stay, with extent 1"},
    {"exclude", TN_A_BOOL, offsetof(tn_axes_attr, exclude), "False", "axis lists what is not reduced"},
    {0},
};

#define RECORD(id, relation, says) \
    const tn_op tn_op_##id = { \
        .name = #id, .doc = says, .attr_size = sizeof(tn_axes_attr), .attr = axes_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_REDUCE, \
        .infer = relation, .compute = id##_compute, \
    };
#define REDUCE(id, reducer, says) \
    static void id##_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[]) \
    { \
        out[0] = tn_rule_out(te, n, 0, #id, "reduce", NULL); \
        reduce_into(te, n, in[0], out[0], reducer); \
    } \
    RECORD(id, reduce_infer, says)
/* clang-format on */

REDUCE(sum, TN_RED_SUM, "Sum over axes.")
RECORD(mean, mean_infer, "Mean over axes; integers floor.")
REDUCE(max, TN_RED_MAX, "Largest element over axes.")
REDUCE(min, TN_RED_MIN, "Smallest element over axes.")
REDUCE(prod, TN_RED_PROD, "Product over axes.")
