/* Operators whose extents depend on data. The extents are symbols that `bind_extent` has bound before; the operators
 * compute what belongs there and never count themselves.
 *
 *   where_true          positions at which a list of bools holds
 *   dyn.reshape         a reshape of which only the run knows that it is one
 *   dyn.broadcast_to    repeats dimensions of which only the run knows whether they are 1
 *   dyn.strided_slice   begins and strides in tensors
 */
#include "op/code.h"

#include "op/tensor/tensor.h"

static const char *const data_in[] = {"data", "begin", "strides"};

/* ---- where_true: one pass, in order ---- */

static tn_status where_true_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, 1, &t));
    if (!tn_dtype_is_bool(t->dtype))
        return tn_rule_fail(g, n, "op-E011", "data must be bool, but is %s", tn_rule_type_text(g, t));
    if (a->extent.n != 1)
        return tn_rule_fail(g, n, "op-E007", "extent has %u entries; one is expected", (unsigned)a->extent.n);
    return tn_rule_result(g, n, 0, TN_I64, 1, a->extent.at);
}

static void where_true_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_code c = tn_code_open(te, n, 0, "where_true", &out[0]);
    tn_pool *p = c.p;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1);
    tn_code_each(&c, 0, NULL, NULL);
    uint32_t count = tn_code_buffer(&c, "count", TN_I64, 1, &one, TN_SCOPE_REGISTER);
    tn_code_store(&c, count, 1, &zero, tn_int(p, TN_I64, 0));
    const tn_expr *i = tn_code_for(&c, "i", in[0]->dim[0]);
    tn_code_if(&c, tn_at1(te, in[0], i));
    tn_body *found = c.at;
    const tn_expr *at = tn_code_let(&c, "at", tn_cast(p, TN_IDX, tn_code_load(&c, count, 1, &zero)));
    tn_code_store(&c, count, 1, &zero, tn_add(p, tn_code_load(&c, count, 1, &zero), tn_int(p, TN_I64, 1)));
    tn_code_if(&c, tn_lt(p, at, out[0]->dim[0]));
    tn_code_store(&c, out[0]->buffer, 1, &at, tn_cast(p, TN_I64, i));
    c.at = found;
}

/* clang-format off */
static const tn_attr_field extent_fields[] = TN_ATTR_TABLE(tn_extent_attr, TN_EXTENT_ATTRS);

const tn_op tn_op_where_true = {
    .name = "where_true", .doc = "Positions at which a list of bools holds, in order; how many is given.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = where_true_infer, .body = where_true_body,
};
/* clang-format on */

/* ---- dyn.reshape ---- */

static tn_status dyn_reshape_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->extent.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "the result has %u dimensions; at most %d are supported",
                            (unsigned)a->extent.n, TN_RULE_MAX_RANK);
    return tn_rule_result(g, n, 0, t->dtype, (int)a->extent.n, a->extent.at);
}

/* There is nothing to read; nothing is asked for either. */
static bool has_nothing(tn_te *te, tn_tensor *out, const tn_tensor *in)
{
    for (int i = 0; i < in->ndim; i++)
        if (tn_is_value(in->dim[i], 0)) {
            tn_te_define(te, out, tn_const(te->pool, out->dtype, 0));
            return true;
        }
    return false;
}

static void dyn_reshape_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "reshape", "injective", NULL);
    if (has_nothing(te, t, in[0]))
        return;
    tn_rule_reshape_index(te->pool, (tn_dims){in[0]->ndim, in[0]->dim}, (tn_dims){t->ndim, t->dim}, t->axis,
                          index);
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* clang-format off */
const tn_op tn_op_dyn_reshape = {
    .name = "dyn.reshape", .doc = "A reshape to extents bound during the run, where their product was checked.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP | TN_OP_SHARES, .fuse = TN_FUSE_INJECTIVE,
    .in_name = data_in, .infer = dyn_reshape_infer, .compute = dyn_reshape_compute,
    .moves_to = tn_rule_reshape_moves,
};
/* clang-format on */

/* ---- dyn.broadcast_to ---- */

static tn_status dyn_broadcast_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    TN_TRY(dyn_reshape_infer(g, n));
    const tn_type *t = tn_in_type(n, 0);
    if (a->extent.n < t->n)
        return tn_rule_fail(g, n, "op-E003", "%s has more dimensions than the result",
                            tn_rule_type_text(g, t));
    return TN_OK;
}

static void dyn_broadcast_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "broadcast_to", "injective", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *one = tn_idx(p, 1), *zero = tn_idx(p, 0);
    if (has_nothing(te, t, in[0]))
        return;
    for (int i = 0; i < in[0]->ndim; i++) {
        const tn_expr *d = in[0]->dim[i], *axis = t->axis[t->ndim - in[0]->ndim + i];
        index[i] = d == t->dim[t->ndim - in[0]->ndim + i] ? axis : tn_select(p, tn_eq(p, d, one), zero, axis);
    }
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* clang-format off */
const tn_op tn_op_dyn_broadcast_to = {
    .name = "dyn.broadcast_to", .doc = "Repeats a tensor to extents bound during the run.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = dyn_broadcast_infer, .compute = dyn_broadcast_compute,
};
/* clang-format on */

/* ---- dyn.strided_slice: begins are positions in [0, extent) already ---- */

static tn_status dyn_slice_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t, *b, *s;
    int64_t k, m;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, 1, &b));
    TN_TRY(tn_rule_tensor(g, n, 2, 1, &s));
    if (!tn_dtype_is_int(b->dtype) || !tn_dtype_is_int(s->dtype) || !tn_is_int(b->dim[0], &k) ||
        !tn_is_int(s->dim[0], &m) || k != t->n || m != t->n || a->extent.n != t->n)
        return tn_rule_fail(g, n, "op-E007",
                            "begin, strides and extent must have an integer for each dimension of %s",
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, a->extent.at);
}

static void dyn_slice_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "slice", "injective", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *zero = tn_idx(p, 0), *one = tn_idx(p, 1);
    if (has_nothing(te, t, in[0]))
        return;
    for (int i = 0; i < t->ndim; i++) {
        const tn_expr *b = tn_cast(p, TN_IDX, tn_at1(te, in[1], tn_idx(p, i))),
                      *s = tn_cast(p, TN_IDX, tn_at1(te, in[2], tn_idx(p, i)));
        const tn_expr *at = tn_add(p, b, tn_mul(p, t->axis[i], s));
        index[i] = tn_max(p, zero, tn_min(p, at, tn_sub(p, in[0]->dim[i], one)));
    }
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

/* clang-format off */
const tn_op tn_op_dyn_strided_slice = {
    .name = "dyn.strided_slice", .doc = "A part of a tensor whose begins and strides are data, its extents bound.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = dyn_slice_infer, .compute = dyn_slice_compute,
};
/* clang-format on */
