/* Operators of one element each that no formula can say: cast, reinterpret, nn.bias_add, broadcast_to. */
#include "op/rule.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

static const char *const data_in[] = {"data", "bias"};

/* ---- cast ---- */

static tn_status cast_infer(tn_graph *g, tn_node *n)
{
    const tn_cast_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->dtype.bits == 0 || a->dtype.lanes != 1 || tn_dtype_is_index(a->dtype) ||
        a->dtype.code == TN_HANDLE)
        return tn_rule_fail(g, n, "op-E011", "dtype must be that of a tensor's elements, but is %s",
                            tn_rule_dtype_text(g, a->dtype));
    return tn_rule_result(g, n, 0, a->dtype, t->n, t->dim);
}

static void cast_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "cast", "elementwise", NULL);
    tn_te_define(te, t, tn_cast(te->pool, t->dtype, tn_at(te, in[0], t->ndim, t->axis)));
}

static bool cast_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    (void)g;
    out[0] = in[0];
    return in[0].at && tn_dtype_is_int(n->type[0]->dtype) && tn_dtype_is_int(tn_in_type(n, 0)->dtype);
}

/* Every value of `from`, with infinities, signs and NaN? */
static bool holds_float(tn_dtype to, tn_dtype from)
{
    if (!tn_dtype_is_float(to) || tn_dtype_encoding(to).specials != TN_IEEE)
        return false;
    tn_encoding a = tn_dtype_encoding(from), b = tn_dtype_encoding(to);
    bool least = b.bias + b.man >= a.bias + a.man + (a.specials == TN_POWERS);
    return b.man >= a.man && least && tn_dtype_largest(to) >= tn_dtype_largest(from);
}

/* Does dtype `to` hold every value of `from`? */
static bool holds(tn_dtype to, tn_dtype from)
{
    if (tn_dtype_eq(to, from) || tn_dtype_is_bool(from))
        return true;
    if (tn_dtype_is_bool(to))
        return false;
    if (tn_dtype_is_float(from))
        return holds_float(to, from);
    if (tn_dtype_is_float(to))
        return from.bits <= tn_dtype_encoding(to).man + 1 && from.bits <= tn_dtype_encoding(to).bias;
    return to.code == from.code ? to.bits >= from.bits : from.code == TN_UINT && to.bits > from.bits;
}

/* A cast to what it is; a cast behind one that loses nothing. */
static tn_status cast_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    tn_value v = tn_in(n, 0), inner = v.def->op == n->op ? tn_in(v.def, 0) : (tn_value){0};
    TN_TRY(tn_simplify_same_type(g, n, out));
    if (out->def)
        return TN_OK;
    if (!inner.def || !holds(tn_value_type(v)->dtype, tn_value_type(inner)->dtype))
        return tn_sink_transpose(g, n, out);
    *out = tn_val(tn_make_call(g, n->owner, n, n->op, 1, &inner, n->attr, n->loc));
    return out->def ? TN_OK : TN_FAIL;
}

/* clang-format off */
static const tn_attr_field cast_fields[] = TN_ATTR_TABLE(tn_cast_attr, TN_CAST_ATTRS);

const tn_op tn_op_cast = {
    .name = "cast", .doc = "Elements converted to another dtype; floats to integers truncate and saturate.",
    .attr_size = sizeof(tn_cast_attr), .attr = cast_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_HOST_INDEX | TN_OP_CHEAP, .fuse = TN_FUSE_ELEMWISE,
        .in_name = data_in,
    .infer = cast_infer, .layout = tn_layout_same, .compute = cast_compute, .shape_value = cast_value,
        .simplify = cast_simplify, .permute = tn_permute_elementwise,
    .gradient = tn_gradient_cast,
};
/* clang-format on */

/* ---- reinterpret ---- */

static tn_status reinterpret_infer(tn_graph *g, tn_node *n)
{
    const tn_cast_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->dtype.lanes != 1 || tn_dtype_is_index(a->dtype) || a->dtype.bits != t->dtype.bits)
        return tn_rule_fail(g, n, "op-E011", "data is %s, so dtype must be as wide, but is %s",
                            tn_rule_dtype_text(g, t->dtype), tn_rule_dtype_text(g, a->dtype));
    return tn_rule_result(g, n, 0, a->dtype, t->n, t->dim);
}

/* A bool is a byte of 0 or 1, so its bits are its number. */
static void reinterpret_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "reinterpret", "elementwise", NULL);
    const tn_expr *v = tn_at(te, in[0], t->ndim, t->axis);
    bool logic = tn_dtype_is_bool(v->dtype) || tn_dtype_is_bool(t->dtype);
    tn_te_define(te, t, logic ? tn_cast(p, t->dtype, v) : tn_bitcast(p, t->dtype, v));
}

/* clang-format off */
const tn_op tn_op_reinterpret = {
    .name = "reinterpret", .doc = "The same bits, as elements of another dtype of the same width.",
    .attr_size = sizeof(tn_cast_attr), .attr = cast_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ELEMWISE, .in_name = data_in,
    .infer = reinterpret_infer, .layout = tn_layout_same, .compute = reinterpret_compute,
};
/* clang-format on */

/* ---- nn.bias_add ---- */

static tn_status bias_add_infer(tn_graph *g, tn_node *n)
{
    const tn_type *data, *bias;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, 1, &bias));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(tn_rule_axis(g, n, ((const tn_axis_attr *)n->attr)->axis, data->n, &axis));
    if (!tn_rule_agree(g, n, data->dim[axis], bias->dim[0]))
        return tn_rule_fail(g, n, "op-E008", "bias is %s, but data %s has %s elements along axis %d",
                            tn_rule_type_text(g, bias), tn_rule_type_text(g, data),
                            tn_rule_dim_text(g, data->dim[axis]), axis);
    return tn_rule_result(g, n, 0, data->dtype, data->n, data->dim);
}

static void bias_add_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "bias_add", "elementwise", NULL);
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    const tn_expr *bias = tn_at1(te, in[1], t->axis[a < 0 ? a + t->ndim : a]);
    tn_te_define(te, t, tn_add(te->pool, tn_at(te, in[0], t->ndim, t->axis), bias));
}

static tn_status bias_add_canonical(tn_graph *g, tn_node *n, tn_value out[])
{
    int64_t axis = ((const tn_axis_attr *)n->attr)->axis, rank = n->type[0]->n;
    tn_expand_dims_attr a = {1, rank - 1 - (axis < 0 ? axis + rank : axis)};
    tn_value bias = tn_in(n, 1);
    if (a.num_newaxis > 0)
        bias = tn_val(tn_make_call(g, n->owner, n, &tn_op_expand_dims, 1, &bias, &a, n->loc));
    tn_value in[2] = {tn_in(n, 0), bias};
    out[0] = bias.def ? tn_val(tn_make_call(g, n->owner, n, &tn_op_add, 2, in, NULL, n->loc)) : bias;
    return out[0].def ? TN_OK : TN_FAIL;
}

static enum tn_scale bias_add_scale(const tn_node *n, bool forward, bool positive, int axis, int *other)
{
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    (void)forward;
    (void)positive;
    *other = 0;
    return axis == (a < 0 ? a + n->type[0]->n : a) ? TN_SCALE_SUM : TN_SCALE_NONE;
}

/* clang-format off */
static const tn_attr_field bias_add_fields[] = TN_ATTR_TABLE(tn_axis_attr, TN_BIAS_ADD_ATTRS);

const tn_op tn_op_nn_bias_add = {
    .name = "nn.bias_add", .doc = "Adds a vector along one axis.",
    .attr_size = sizeof(tn_axis_attr), .attr = bias_add_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_BROADCAST, .in_name = data_in,
    .infer = bias_add_infer, .layout = tn_layout_same, .compute = bias_add_compute,
    .precision = TN_PRECISION_FOLLOW, .canonical = bias_add_canonical,
    .scale = bias_add_scale, .permute = tn_permute_axis, .simplify = tn_sink_transpose,
    .gradient = tn_gradient_bias,
};
/* clang-format on */

/* ---- broadcast_to ---- */

static tn_status broadcast_to_infer(tn_graph *g, tn_node *n)
{
    const tn_broadcast_to_attr *a = n->attr;
    const tn_type *t, *both;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->shape.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "shape has %u dimensions; at most %d are supported",
                            (unsigned)a->shape.n, TN_RULE_MAX_RANK);
    const tn_type *want = tn_type_tensor(g->pool, t->dtype, (int)a->shape.n, a->shape.at, NULL);
    TN_TRY(tn_infer_broadcast(g, n, t, want, t->dtype, &both));
    bool fits = both->n == want->n;
    for (int i = 0; i < want->n && fits; i++) { /* else the run looks at them */
        const tn_expr *same = tn_simplify_extent(g, tn_eq(g->pool, both->dim[i], want->dim[i]));
        fits = tn_is_value(same, 1) || !(tn_is_value(same, 0) || tn_is_value(want->dim[i], 1));
    }
    if (!fits)
        return tn_rule_fail(g, n, "op-E005", "%s cannot be repeated to %s", tn_rule_type_text(g, t),
                            tn_rule_type_text(g, want));
    return tn_rule_result(g, n, 0, t->dtype, want->n, want->dim);
}

static void broadcast_to_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "broadcast_to", "injective", NULL);
    tn_te_define(te, t, tn_rule_at_broadcast(te, in[0], t));
}

/* clang-format off */
static const tn_attr_field broadcast_to_fields[] = TN_ATTR_TABLE(tn_broadcast_to_attr, TN_BROADCAST_TO_ATTRS);

const tn_op tn_op_broadcast_to = {
    .name = "broadcast_to", .doc = "Repeats a tensor to a larger shape by the rules of broadcasting.",
    .attr_size = sizeof(tn_broadcast_to_attr), .attr = broadcast_to_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_BROADCAST, .in_name = data_in,
    .infer = broadcast_to_infer, .compute = broadcast_to_compute, .simplify = tn_simplify_same_type,
    .gradient = tn_gradient_broadcast,
};
/* clang-format on */
