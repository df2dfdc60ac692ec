/* Reading by indices that are data: checked_index, gather, gather_nd, one_hot, reverse_sequence, tensor_scatter.
 *
 * An expression cannot fail, so whoever must refuse an index outside of its range passes it through checked_index
 * first: the call fails there, with the node's name. Reading operators themselves clamp, so that no index ever leaves
 * a buffer.
 */
#include "op/code.h"

#include "op/tensor/tensor.h"

#include <string.h>

static const tn_expr *clamped(tn_pool *p, const tn_expr *at, const tn_expr *extent)
{
    return tn_min(p, tn_max(p, at, tn_idx(p, 0)), tn_sub(p, extent, tn_idx(p, 1)));
}

static tn_status integers(tn_graph *g, const tn_node *n, int i)
{
    tn_dtype t = tn_in_type(n, i)->dtype;
    return tn_dtype_is_int(t) ? TN_OK
                              : tn_rule_fail(g, n, "op-E011", "%s must be integers, but are %s; cast them",
                                             tn_rule_in_name(g, n, i), tn_rule_dtype_text(g, t));
}

/* ---- checked_index ---- */

static tn_status checked_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(integers(g, n, 0));
    if (a->extent.n < 1 || a->extent.n > TN_RULE_MAX_RANK ||
        (a->extent.n > 1 && (t->n < 1 || !tn_is_value(t->dim[t->n - 1], a->extent.n))))
        return tn_rule_fail(g, n, "op-E007",
                            "extent has %u entries; one, or one for each entry of the last dimension "
                            "of %s is expected",
                            (unsigned)a->extent.n, tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

/* The extent that an index at position `last` of the last dimension is for. */
static const tn_expr *extent_at(tn_pool *p, tn_dims extent, const tn_expr *last)
{
    const tn_expr *e = extent.at[extent.n - 1];
    for (int k = (int)extent.n - 2; k >= 0; k--)
        e = tn_select(p, tn_eq(p, last, tn_idx(p, k)), extent.at[k], e);
    return e;
}

/* Says the operator as the model does; who runs the kernel says the node. */
static const char *range_text(tn_te *te, const tn_node *n, tn_dims extent)
{
    int64_t most;
    const char *op = n->loc && n->loc->op ? n->loc->op : "gather";
    if (extent.n == 1 && tn_is_int(extent.at[0], &most))
        return tn_arena_printf(te->arena, "%s: an index is outside [%lld, %lld)", op, (long long)-most,
                               (long long)most);
    return tn_arena_printf(te->arena, "%s: an index is outside the data", op);
}

static void checked_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_extent_attr *a = n->attr;
    const tn_expr *at[TN_RULE_MAX_RANK];
    tn_tensor *t;
    tn_code c = tn_code_open(te, n, 0, "checked_index", &t);
    tn_pool *p = c.p;
    out[0] = t;
    for (uint32_t i = 0; i < a->extent.n; i++)
        tn_te_symbols(te, a->extent.at[i]);
    tn_code_each(&c, t->ndim, t->dim, at);
    const tn_expr *extent = extent_at(p, a->extent, t->ndim ? at[t->ndim - 1] : tn_idx(p, 0));
    const tn_expr *value = tn_code_let(&c, "value", tn_at(te, in[0], t->ndim, at));
    const tn_expr *index = tn_code_let(&c, "index", tn_cast(p, TN_IDX, value));
    tn_code_check(&c, tn_and(p, tn_le(p, tn_sub(p, tn_idx(p, 0), extent), index), tn_lt(p, index, extent)),
                  range_text(te, n, a->extent));
    const tn_expr *front = tn_add(p, value, tn_cast(p, t->dtype, extent));
    tn_code_store(&c, t->buffer, t->ndim, at,
                  tn_select(p, tn_lt(p, value, tn_int(p, t->dtype, 0)), front, value));
}

static bool checked_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    const tn_extent_attr *a = n->attr;
    int64_t extent, v;
    if (!in[0].at || a->extent.n != 1 || !tn_is_int(a->extent.at[0], &extent))
        return false;
    const tn_expr **value = TN_NEW_N(g->arena, const tn_expr *, in[0].n);
    for (uint32_t i = 0; i < in[0].n; i++) {
        if (!tn_is_int(in[0].at[i], &v) || v < -extent || v >= extent)
            return false;
        value[i] = tn_idx(g->pool, v < 0 ? v + extent : v);
    }
    out[0] = (tn_dims){in[0].n, value};
    return true;
}

/* clang-format off */
static const tn_attr_field extent_fields[] = TN_ATTR_TABLE(tn_extent_attr, TN_CHECKED_INDEX_ATTRS);
static const char *const index_in[] = {"indices"};

const tn_op tn_op_checked_index = {
    .name = "checked_index", .doc = "Indices counted from the front; one outside of [-extent, extent) fails the call.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_HOST_INDEX, .fuse = TN_FUSE_OPAQUE, .in_name = index_in,
    .infer = checked_infer, .body = checked_body, .shape_value = checked_value,
};
/* clang-format on */

/* ---- gather: out[i, j, k] = data[i, indices[i, j, k], k] for axis 1 ---- */

static tn_status gather_infer(tn_graph *g, tn_node *n)
{
    const tn_type *data, *indices;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, data->n, &indices));
    TN_TRY(integers(g, n, 1));
    TN_TRY(tn_rule_axis(g, n, ((const tn_axis_attr *)n->attr)->axis, data->n, &axis));
    for (int i = 0; i < data->n; i++) {
        int64_t have, want;
        if (i != axis && tn_is_int(data->dim[i], &have) && tn_is_int(indices->dim[i], &want) && want > have)
            return tn_rule_fail(g, n, "op-E008", "indices %s are larger than data %s in dimension %d",
                                tn_rule_type_text(g, indices), tn_rule_type_text(g, data), i);
    }
    return tn_rule_result(g, n, 0, data->dtype, indices->n, indices->dim);
}

static void gather_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "gather", "injective", NULL);
    int axis = (int)(a < 0 ? a + t->ndim : a);
    for (int i = 0; i < t->ndim; i++)
        index[i] = i == axis ? NULL : tn_rule_within(te, t->axis[i], t->dim[i], in[0]->dim[i], i);
    const tn_expr *at = tn_cast(te->pool, TN_IDX, tn_at(te, in[1], t->ndim, t->axis));
    index[axis] = clamped(te->pool, at, in[0]->dim[axis]);
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

/* clang-format off */
static const char *const data_in[] = {"data", "indices", "updates"};
static const tn_attr_field axis_fields[] = TN_ATTR_TABLE(tn_axis_attr, TN_GATHER_ATTRS);

const tn_op tn_op_gather = {
    .name = "gather", .doc = "Of each position of indices, the element of data with that index along one axis.",
    .attr_size = sizeof(tn_axis_attr), .attr = axis_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = gather_infer, .compute = gather_compute,
};
/* clang-format on */

/* ---- gather_nd: out[b.., y.., r..] = data[b.., indices[b.., y.., 0], indices[b.., y.., 1], ..., r..] ---- */

static tn_status gather_nd_infer(tn_graph *g, tn_node *n)
{
    const tn_gather_nd_attr *a = n->attr;
    const tn_type *data, *indices;
    const tn_expr *dim[2 * TN_RULE_MAX_RANK];
    int64_t count = 0;
    int rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, -1, &indices));
    TN_TRY(integers(g, n, 1));
    if (a->batch_dims < 0 || a->batch_dims >= indices->n || a->batch_dims > data->n)
        return tn_rule_fail(g, n, "op-E007", "batch_dims is %lld, but data is %s and indices are %s",
                            (long long)a->batch_dims, tn_rule_type_text(g, data),
                            tn_rule_type_text(g, indices));
    if (!tn_is_int(indices->dim[indices->n - 1], &count) || count > data->n - a->batch_dims)
        return tn_rule_fail(g, n, "op-E008",
                            "the last dimension of indices %s counts the dimensions of data %s",
                            tn_rule_type_text(g, indices), tn_rule_type_text(g, data));
    for (int i = 0; i < a->batch_dims; i++)
        if (!tn_rule_agree(g, n, data->dim[i], indices->dim[i]))
            return tn_rule_fail(g, n, "op-E008", "batches differ: data is %s, indices are %s",
                                tn_rule_type_text(g, data), tn_rule_type_text(g, indices));
    for (int i = 0; i < indices->n - 1; i++)
        dim[rank++] = indices->dim[i];
    for (int i = (int)(a->batch_dims + count); i < data->n; i++)
        dim[rank++] = data->dim[i];
    return tn_rule_result(g, n, 0, data->dtype, rank, dim);
}

static void gather_nd_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_gather_nd_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *where[TN_RULE_MAX_RANK], *index[TN_RULE_MAX_RANK];
    int outer = in[1]->ndim - 1, count = 0;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "gather_nd", "injective", NULL);
    for (int i = 0; i < outer; i++)
        where[i] = t->axis[i];
    for (int i = 0; i < a->batch_dims; i++)
        index[i] = t->axis[i];
    int64_t k;
    for (count = 0; tn_is_int(in[1]->dim[outer], &k) && count < k; count++) {
        where[outer] = tn_idx(p, count);
        const tn_expr *at = tn_cast(p, TN_IDX, tn_at(te, in[1], outer + 1, where));
        index[a->batch_dims + count] = clamped(p, at, in[0]->dim[a->batch_dims + count]);
    }
    for (int i = (int)a->batch_dims + count; i < in[0]->ndim; i++)
        index[i] = t->axis[outer + i - (int)a->batch_dims - count];
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* clang-format off */
static const tn_attr_field gather_nd_fields[] = TN_ATTR_TABLE(tn_gather_nd_attr, TN_GATHER_ND_ATTRS);

const tn_op tn_op_gather_nd = {
    .name = "take_nd", .doc = "Parts of data, each at the position that a row of indices (the last dimension) names.",
    .attr_size = sizeof(tn_gather_nd_attr), .attr = gather_nd_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = gather_nd_infer, .compute = gather_nd_compute,
};
/* clang-format on */

/* ---- one_hot ---- */

static tn_status one_hot_infer(tn_graph *g, tn_node *n)
{
    const tn_one_hot_attr *a = n->attr;
    const tn_type *t, *on;
    const tn_expr *dim[TN_RULE_MAX_RANK + 1], *depth;
    int axis, rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(integers(g, n, 0));
    for (int i = 1; i < 3; i++)
        TN_TRY(tn_rule_tensor(g, n, i, 0, &on));
    if (!tn_dtype_eq(on->dtype, tn_in_type(n, 1)->dtype))
        return tn_rule_fail(g, n, "op-E004", "on_value is %s but off_value is %s; cast one of them",
                            tn_rule_dtype_text(g, tn_in_type(n, 1)->dtype), tn_rule_dtype_text(g, on->dtype));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n + 1, &axis));
    TN_TRY(tn_rule_extent(g, n, "depth", a->depth, &depth));
    for (int i = 0; i <= t->n; i++) {
        if (i == axis)
            dim[rank++] = depth;
        if (i < t->n)
            dim[rank++] = t->dim[i];
    }
    return tn_rule_result(g, n, 0, on->dtype, rank, dim);
}

/* An index outside of [-depth, depth) has no place: off everywhere. */
static void one_hot_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_one_hot_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *where[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "one_hot", "injective", NULL);
    int axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis), k = 0;
    for (int i = 0; i < t->ndim; i++)
        if (i != axis)
            where[k++] = t->axis[i];
    const tn_expr *at = tn_cast(p, TN_I64, tn_at(te, in[0], k, where)),
                  *depth = tn_cast(p, TN_I64, t->dim[axis]);
    at = tn_select(p, tn_lt(p, at, tn_int(p, TN_I64, 0)), tn_add(p, at, depth), at);
    const tn_expr *here = tn_eq(p, at, tn_cast(p, TN_I64, t->axis[axis]));
    tn_te_define(te, t, tn_select(p, here, tn_at(te, in[1], 0, NULL), tn_at(te, in[2], 0, NULL)));
}

/* clang-format off */
static const char *const one_hot_in[] = {"indices", "on_value", "off_value"};
static const tn_attr_field one_hot_fields[] = TN_ATTR_TABLE(tn_one_hot_attr, TN_ONE_HOT_ATTRS);

const tn_op tn_op_one_hot = {
    .name = "one_hot", .doc = "Along a new axis, on_value at the index and off_value elsewhere.",
    .attr_size = sizeof(tn_one_hot_attr), .attr = one_hot_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = one_hot_in,
    .infer = one_hot_infer, .compute = one_hot_compute,
};
/* clang-format on */

/* ---- reverse_sequence ---- */

static tn_status reverse_infer(tn_graph *g, tn_node *n)
{
    const tn_reverse_sequence_attr *a = n->attr;
    const tn_type *t, *lengths;
    int seq, batch;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, 1, &lengths));
    TN_TRY(integers(g, n, 1));
    TN_TRY(tn_rule_axis(g, n, a->seq_axis, t->n, &seq));
    TN_TRY(tn_rule_axis(g, n, a->batch_axis, t->n, &batch));
    if (seq == batch)
        return tn_rule_fail(g, n, "op-E007", "seq_axis and batch_axis are both %d", seq);
    if (!tn_rule_agree(g, n, lengths->dim[0], t->dim[batch]))
        return tn_rule_fail(g, n, "op-E008", "seq_lengths is %s, but data %s has %s sequences along axis %d",
                            tn_rule_type_text(g, lengths), tn_rule_type_text(g, t),
                            tn_rule_dim_text(g, t->dim[batch]), batch);
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void reverse_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_reverse_sequence_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "reverse_sequence", "injective", NULL);
    int seq = (int)(a->seq_axis < 0 ? a->seq_axis + t->ndim : a->seq_axis),
        batch = (int)(a->batch_axis < 0 ? a->batch_axis + t->ndim : a->batch_axis);
    for (int i = 0; i < t->ndim; i++)
        index[i] = t->axis[i];
    const tn_expr *length = tn_min(p, tn_cast(p, TN_IDX, tn_at1(te, in[1], t->axis[batch])), t->dim[seq]);
    const tn_expr *back = tn_sub(p, tn_sub(p, length, tn_idx(p, 1)), t->axis[seq]);
    index[seq] = tn_select(p, tn_le(p, tn_idx(p, 0), back), back, t->axis[seq]);
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

/* clang-format off */
static const char *const reverse_in[] = {"data", "seq_lengths"};
static const tn_attr_field reverse_fields[] = TN_ATTR_TABLE(tn_reverse_sequence_attr, TN_REVERSE_SEQUENCE_ATTRS);

const tn_op tn_op_reverse_sequence = {
    .name = "reverse_sequence", .doc = "The first seq_lengths elements of each sequence turned round.",
    .attr_size = sizeof(tn_reverse_sequence_attr), .attr = reverse_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = reverse_in,
    .infer = reverse_infer, .compute = reverse_compute,
};
/* clang-format on */

/* ---- tensor_scatter: a cache whose rows from write_indices on are replaced ---- */

static tn_status cache_infer(tn_graph *g, tn_node *n)
{
    const tn_tensor_scatter_attr *a = n->attr;
    const tn_type *t, *u, *w;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, t->n, &u));
    TN_TRY(tn_rule_tensor(g, n, 2, 1, &w));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(integers(g, n, 2));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    if (axis == 0)
        return tn_rule_fail(g, n, "op-E007", "axis is 0, the batch");
    if (!a->mode || (strcmp(a->mode, "linear") != 0 && strcmp(a->mode, "circular") != 0))
        return tn_rule_fail(g, n, "op-E007", "mode \"%s\" is not supported, only \"linear\" and \"circular\"",
                            a->mode ? a->mode : "None");
    for (int i = 0; i < t->n; i++)
        if (i != axis && !tn_rule_agree(g, n, t->dim[i], u->dim[i]))
            return tn_rule_fail(g, n, "op-E008",
                                "data %s and updates %s differ in dimension %d, where only %d may",
                                tn_rule_type_text(g, t), tn_rule_type_text(g, u), i, axis);
    if (!tn_rule_agree(g, n, w->dim[0], t->dim[0]))
        return tn_rule_fail(g, n, "op-E008", "write_indices is %s, but data is %s", tn_rule_type_text(g, w),
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void cache_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_tensor_scatter_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "tensor_scatter", "injective", NULL);
    int axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis);
    for (int i = 0; i < t->ndim; i++)
        index[i] = t->axis[i];
    const tn_expr *first = tn_cast(p, TN_IDX, tn_at1(te, in[2], t->axis[0]));
    const tn_expr *at = tn_sub(p, t->axis[axis], first);
    if (a->mode[0] == 'c')
        at = tn_fmod(p, at, t->dim[axis]);
    const tn_expr *fresh = tn_and(p, tn_le(p, tn_idx(p, 0), at), tn_lt(p, at, in[1]->dim[axis]));
    index[axis] = at;
    tn_te_define(te, t, tn_at_if(te, in[1], t->ndim, index, fresh, tn_at(te, in[0], t->ndim, t->axis)));
}

/* clang-format off */
static const char *const cache_in[] = {"data", "updates", "write_indices"};
static const tn_attr_field cache_fields[] = TN_ATTR_TABLE(tn_tensor_scatter_attr, TN_TENSOR_SCATTER_ATTRS);

const tn_op tn_op_tensor_scatter = {
    .name = "tensor_scatter", .doc = "data with updates written along axis from write_indices[batch] on.",
    .attr_size = sizeof(tn_tensor_scatter_attr), .attr = cache_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = cache_in,
    .infer = cache_infer, .compute = cache_compute,
};
/* clang-format on */
