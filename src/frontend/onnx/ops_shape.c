/* Shapes and constants: Reshape, Flatten, Squeeze, Unsqueeze, Shape, Size, Constant, ConstantOfShape. */
#include "frontend/onnx/flow.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* ---- Reshape, Flatten ---- */

static void reshape(imp_node *c)
{
    tn_ints list;
    tn_value x = imp_in(c, 0);
    bool allow_zero = imp_attr_int(c, "allowzero", 0) != 0;
    tn_dims shape = {0};
    imp_attr_ignore(c, "consumed_inputs");
    if (c->version >= 5 && !onnx_fix_length(c, 1, 0, IMP_MAX_RANK))
        return;
    if (c->version >= 5 && imp_is_late(c, 1) && imp_length(imp_in(c, 1)) == 0) {
        imp_out(c, 0, imp_checked_reshape(c, x, (tn_dims){0}));
        return;
    }
    if (c->version >= 5 && imp_dynamic_reshape(c, x, imp_in(c, 1), allow_zero))
        return;
    if (c->version >= 5) {
        shape = imp_host_in(c, imp_in(c, 1), "the shape");
    } else {
        imp_attr_need(c, "shape");
        (void)imp_attr_ints(c, "shape", &list);
        const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, list.n);
        for (uint32_t i = 0; i < list.n; i++)
            e[i] = tn_idx(c->pool, list.at[i]);
        shape = (tn_dims){list.n, e};
    }
    tn_reshape_attr a = {tn_dims_make(c->arena, shape.n, shape.at), allow_zero};
    imp_out(c, 0, imp_reshape_to(c, x, &a));
}

static void flatten(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    int64_t axis = imp_attr_int(c, "axis", 1);
    if (axis < -t->n || axis > t->n)
        imp_fail(c, "onnx-E009", "axis %lld is outside of [%d, %d]", (long long)axis, -t->n, t->n);
    if (c->bad)
        return;
    axis = axis < 0 ? axis + t->n : axis;
    const tn_expr *dim[2] = {imp_product(c, t, 0, (int)axis), imp_product(c, t, (int)axis, t->n)};
    imp_out(c, 0, axis == 1 ? imp_unary(c, &tn_op_nn_batch_flatten, x) : imp_reshape(c, x, 2, dim));
}

/* ---- Squeeze, Unsqueeze ---- */

/* Axes that only the run knows: how many there are says the rank. -1: reported, or done. */
static int late_rank(imp_node *c, tn_value x, int sign)
{
    int64_t n, rank;
    if (!onnx_fix_length(c, 1, 0, sign < 0 ? imp_rank(x) : IMP_MAX_RANK - imp_rank(x)))
        return -1;
    n = imp_length(imp_in(c, 1));
    rank = imp_rank(x) + sign * n;
    if (n == 0)
        imp_out(c, 0, x);
    else if (rank < 0 || rank > IMP_MAX_RANK)
        imp_fail(c, "onnx-E022", "the result would have %lld dimensions; 0 to %d are supported",
                 (long long)rank, IMP_MAX_RANK);
    return c->bad || n == 0 ? -1 : (int)rank;
}

static tn_value late_mask(imp_node *c, int rank)
{
    return imp_mask(c, imp_positions_of(c, imp_in(c, 1), rank), rank);
}

/* Positions where the mask does not hold, `n` of them. */
static tn_value unmasked(imp_node *c, tn_value mask, int n)
{
    const tn_expr *count = tn_idx(c->pool, n);
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &count)};
    return imp_call1(c, &tn_op_where_true, &a, imp_unary(c, &tn_op_logical_not, mask));
}

static void late_squeeze(imp_node *c, tn_value x)
{
    int rank = late_rank(c, x, -1);
    if (rank < 0)
        return;
    tn_value mask = late_mask(c, imp_rank(x)), shape = imp_shape_of(c, x);
    tn_value dropped = imp_choose(c, mask, shape, imp_i64(c, 1)); /* all are 1 */
    imp_demand(c, imp_reduce(c, &tn_op_max, dropped, 0), 1, "what is dropped");
    imp_demand(c, imp_reduce(c, &tn_op_min, dropped, 0), 1, "what is dropped");
    if (rank == 0)
        imp_out(c, 0, imp_checked_reshape(c, x, (tn_dims){0}));
    else
        imp_out(c, 0, imp_in_shape(c, x, imp_take(c, shape, unmasked(c, mask, rank), 0), NULL));
}

static void late_unsqueeze(imp_node *c, tn_value x)
{
    int rank = late_rank(c, x, 1);
    if (rank < 0)
        return;
    tn_value mask = late_mask(c, rank), one = imp_i64(c, 1);
    if (imp_rank(x) == 0) {
        const tn_expr *ones[IMP_MAX_RANK];
        for (int i = 0; i < rank; i++)
            ones[i] = tn_idx(c->pool, 1);
        imp_out(c, 0, imp_reshape(c, x, rank, ones));
        return;
    }
    tn_value from = unmasked(c, mask, imp_rank(x)), dim = imp_placed(c, from, imp_shape_of(c, x), rank, one);
    imp_out(c, 0, imp_in_shape(c, x, dim, NULL));
}

/* All dimensions of extent 1. Where only the run knows whether one is, both is compiled. */
static void squeeze_ones(imp_node *c, tn_value x)
{
    const tn_type *t = imp_type(x);
    for (int d = 0; d < t->n && !c->bad; d++) {
        int one = onnx_extent_is(c, t->dim[d], 1);
        if (one < 0) {
            onnx_fork(c, x, d, 1);
            return;
        }
        if (one)
            (void)imp_with_extent(c, &x, d, tn_idx(c->pool, 1));
    }
    tn_squeeze_attr all = {0};
    imp_out(c, 0, imp_call1(c, &tn_op_squeeze, &all, x));
}

static void squeeze(imp_node *c)
{
    tn_squeeze_attr a = {0};
    tn_value x = imp_in(c, 0);
    if (c->version >= 13 && imp_rank(x) > 0 && imp_is_late(c, 1)) {
        late_squeeze(c, x);
        return;
    }
    if (imp_ints_arg(c, "axes", 13, 1, &a.axis))
        imp_out(c, 0, a.axis.n == 0 ? x : imp_call1(c, &tn_op_squeeze, &a, x));
    else
        squeeze_ones(c, x);
}

/* Axes count in the result. */
static void unsqueeze(imp_node *c)
{
    tn_ints axes;
    tn_value x = imp_in(c, 0);
    bool fresh[IMP_MAX_RANK] = {false};
    if (c->version >= 13 && imp_is_late(c, 1)) {
        late_unsqueeze(c, x);
        return;
    }
    if (!imp_ints_arg(c, "axes", 13, 1, &axes))
        imp_fail(c, "onnx-E007", "axes are missing; the model is damaged");
    int rank = imp_rank(x) + (int)(axes.n < 100 ? axes.n : 100);
    if (rank > IMP_MAX_RANK)
        imp_fail(c, "onnx-E022", "the result would have %d dimensions; at most %d are supported", rank,
                 IMP_MAX_RANK);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++) {
        int at = imp_axis(c, axes.at[i], rank);
        if (fresh[at])
            imp_fail(c, "onnx-E009", "axes contains axis %d twice; the model is damaged", at);
        fresh[at] = true;
    }
    for (int i = 0, n; i < rank && !c->bad; i += n + 1) { /* a run of new axes at once, from the front */
        for (n = 0; i + n < rank && fresh[i + n]; n++) {}
        tn_expand_dims_attr a = {i, n};
        x = n ? imp_call1(c, &tn_op_expand_dims, &a, x) : x;
    }
    imp_out(c, 0, x);
}

/* ---- Shape, Size ---- */

static void shape(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_cast_attr t = {TN_I64};
    int64_t rank = imp_rank(x), start = 0, end = rank;
    if (c->version >= 15) {
        start = imp_attr_int(c, "start", 0);
        end = imp_attr_int(c, "end", rank);
    }
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end > rank ? rank : end < start ? start : end;
    if (c->bad)
        return;
    if (start == end) {
        imp_out(c, 0, imp_const_ints(c, TN_I64, 1, 0, NULL));
        return;
    }
    tn_value s = imp_call1(c, &tn_op_shape_of, &t, x);
    tn_slice_attr a = {tn_make_dims(c->g, 1, &start), tn_make_dims(c->g, 1, &end), {0}, {0}};
    imp_out(c, 0, end - start == rank ? s : imp_call1(c, &tn_op_strided_slice, &a, s));
}

static void size(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_cast_attr t = {TN_I64};
    if (c->bad)
        return;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, 1);
    e[0] = imp_product(c, imp_type(x), 0, imp_rank(x));
    int64_t n;
    if (tn_is_int(e[0], &n)) {
        imp_out(c, 0, imp_const_ints(c, TN_I64, 0, 1, &n));
        return;
    }
    tn_value v = imp_unary(c, &tn_op_prod, imp_call1(c, &tn_op_shape_of, &t, x));
    if (!c->bad)
        imp_set_host(c, v, (tn_dims){1, e});
    imp_out(c, 0, v);
}

/* ---- constants ---- */

static tn_value float_list(imp_node *c, const imp_attr *a)
{
    int64_t n = (int64_t)a->floats.n;
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, a->floats.at, c->loc->node));
}

/* Exactly one of the value attributes is there. */
static void constant(imp_node *c)
{
    const onnx_tensor *t = onnx_attr_tensor(c, "value");
    const imp_attr *a = NULL;
    tn_ints ints;
    if (t) {
        tn_node *n = onnx_any_constant(c->im, t, c->loc->node, c->loc);
        c->bad = c->bad || !n;
        imp_out(c, 0, (tn_value){n, 0});
    } else if ((a = imp_attr_find(c, "sparse_value", IMP_A_SPARSE_TENSOR))) {
        tn_node *n = a->sparse ? onnx_sparse_constant(c->im, a->sparse, c->loc->node, c->loc) : NULL;
        if (!a->sparse)
            imp_fail(c, "onnx-E006", "attribute %s does not hold a tensor; the model is damaged",
                     "sparse_value");
        c->bad = c->bad || !n;
        imp_out(c, 0, (tn_value){n, 0});
    } else if (imp_has_attr(c, "value_int")) {
        int64_t v = imp_attr_int(c, "value_int", 0);
        imp_out(c, 0, imp_const_ints(c, TN_I64, 0, 1, &v));
    } else if (imp_has_attr(c, "value_ints") && imp_attr_ints(c, "value_ints", &ints)) {
        imp_out(c, 0, imp_const_ints(c, TN_I64, 1, ints.n, ints.at));
    } else if (imp_has_attr(c, "value_float")) {
        imp_out(c, 0, imp_const(c, TN_F32, imp_attr_float(c, "value_float", 0)));
    } else if ((a = imp_attr_find(c, "value_floats", IMP_A_FLOATS))) {
        imp_out(c, 0, float_list(c, a));
    } else if (imp_has_attr(c, "value_string")) {
        imp_out(c, 0, imp_const_text(c, imp_attr_string(c, "value_string", "")));
    } else if (imp_has_attr(c, "value_strings")) {
        int64_t n;
        imp_out(c, 0, onnx_texts_attr(c, "value_strings", &n));
    } else if (c->n_attr == 0) {
        imp_fail(c, "onnx-E007", "attribute value is missing; the model is damaged");
    }
}

static void constant_of_shape(imp_node *c)
{
    if (!onnx_fix_length(c, 0, 0, IMP_MAX_RANK))
        return;
    tn_dims shape = imp_extents_in(c, imp_in(c, 0), "the shape");
    const onnx_tensor *t = onnx_attr_tensor(c, "value");
    tn_value v = imp_const(c, TN_F32, 0);
    if (t && !c->bad) {
        tn_node *n = onnx_constant(c->im, t, c->loc->node, c->loc);
        c->bad = !n;
        v = imp_reshape(c, (tn_value){n, 0}, 0, NULL);
    }
    if (shape.n > IMP_MAX_RANK)
        imp_fail(c, "onnx-E022", "the shape has %u dimensions; at most %d are supported", (unsigned)shape.n,
                 IMP_MAX_RANK);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, shape.n, shape.at)};
    imp_out(c, 0, shape.n ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v);
}

/* ---- ConstantFill, GivenTensorFill: experimental operators of Caffe2's exporter ---- */

/* The shape of the result: an attribute, the operand's shape, or the operand's elements; then extra_shape. */
static tn_dims fill_shape(imp_node *c)
{
    const tn_expr **d = TN_NEW_N(c->arena, const tn_expr *, 2 * IMP_MAX_RANK);
    tn_ints extra = {0}, own = {0};
    tn_dims first;
    bool elements = imp_attr_int(c, "input_as_shape", 0) != 0;
    (void)imp_attr_ints(c, "extra_shape", &extra);
    (void)imp_attr_ints(c, "shape", &own);
    if (!imp_has(c, 0))
        first = tn_make_dims(c->g, own.n, own.at);
    else if (elements)
        first = imp_extents_in(c, imp_in(c, 0), "the shape");
    else
        first = (tn_dims){(uint32_t)imp_type(imp_in(c, 0))->n, imp_type(imp_in(c, 0))->dim};
    if (first.n > IMP_MAX_RANK || extra.n > IMP_MAX_RANK || first.n + extra.n > IMP_MAX_RANK)
        imp_fail(c, "onnx-E022", "the shape has %u dimensions; at most %d are supported",
                 (unsigned)(first.n + extra.n), IMP_MAX_RANK);
    for (uint32_t i = 0; i < extra.n && !c->bad; i++)
        if (extra.at[i] < 0)
            imp_fail(c, "onnx-E009", "extra_shape has the extent %lld", (long long)extra.at[i]);
    for (uint32_t i = 0; i < first.n + extra.n && !c->bad; i++)
        d[i] = i < first.n ? first.at[i] : tn_idx(c->pool, extra.at[i - first.n]);
    return (tn_dims){c->bad ? 0 : first.n + extra.n, d};
}

static void constant_fill(imp_node *c)
{
    tn_dims shape = fill_shape(c);
    tn_dtype t = TN_F32;
    if (imp_has_attr(c, "dtype") && !onnx_dtype(c->im, imp_attr_int(c, "dtype", 1), "the result", c->loc, &t))
        c->bad = true;
    tn_value v = imp_const(c, t, imp_attr_float(c, "value", 0));
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, shape.n, shape.at)};
    imp_out(c, 0, shape.n ? imp_call1(c, &tn_op_broadcast_to, &a, v) : v);
}

static void given_tensor_fill(imp_node *c)
{
    tn_dims shape = fill_shape(c);
    const imp_attr *values = imp_attr_find(c, "values", IMP_A_FLOATS);
    imp_attr_need(c, "values");
    if (c->bad || !values)
        return;
    int64_t n = (int64_t)values->floats.n;
    tn_node *k = tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, values->floats.at, NULL);
    imp_out(c, 0, imp_reshape(c, tn_val(k), (int)shape.n, shape.at));
}

// clang-format off
const imp_row onnx_rows_shape[] = {
    {"Reshape",          1,  4, 1, 1, reshape,           NULL},
    {"Reshape",          5,  0, 2, 1, reshape,           NULL},
    {"Flatten",          1,  0, 1, 1, flatten,           NULL},
    {"Squeeze",          1,  0, 2, 1, squeeze,           NULL},
    {"Unsqueeze",        1,  0, 2, 1, unsqueeze,         NULL},
    {"Shape",            1,  0, 1, 1, shape,             NULL},
    {"Size",             1,  0, 1, 1, size,              NULL},
    {"Constant",         1,  0, 0, 1, constant,          NULL},
    {"ConstantFill",     1,  0, 1, 1, constant_fill,     NULL},
    {"GivenTensorFill",  1,  0, 1, 1, given_tensor_fill, NULL},
    {"ConstantOfShape",  9,  0, 1, 1, constant_of_shape, NULL},
    {0},
};
// clang-format on
