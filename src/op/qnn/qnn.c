/* Quantised numbers: qnn.quantize, qnn.dequantize, qnn.requantize, and operators that go through real numbers.
 *
 * quantize    y = saturate(round(x / scale) + zero_point)
 * dequantize  y = (x - zero_point) * scale
 * requantize  y = saturate(round((x - zero_point) * (scale / out_scale)) + out_zero_point)
 *
 * Differences of integers are exact (int32), all else is float32 and rounds to nearest, ties to even, as in ONNX. The
 * conversion to the integer type saturates. Everything expands into elementwise operators, which fuse.
 */
#include "op/qnn/build.h"

#include "ir/eval.h"
#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- building ---- */

tn_value qnn_call(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int nin, const tn_value in[])
{
    for (int i = 0; i < nin; i++)
        if (!in[i].def)
            return (tn_value){0};
    return tn_val(tn_make_call(g, n->owner, n, op, nin, in, attr, n->loc));
}

static bool stands_before(const tn_node *a, const tn_node *n)
{
    if (a->owner != n->owner)
        return false;
    while (a && a != n)
        a = a->next;
    return a == n;
}

tn_value qnn_call_once(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int nin,
                       const tn_value in[])
{
    for (const tn_use *u = in[0].def ? in[0].def->users[in[0].out] : NULL; u; u = u->next) {
        const tn_node *made = u->user;
        bool same = made && u->slot == 0 && made->op == op && made->nin == nin &&
                    (!op->attr || tn_attr_eq(op->attr, made->attr, attr));
        for (int i = 1; i < nin && same; i++)
            same = tn_value_eq(tn_in(made, i), in[i]);
        if (same && stands_before(made, n))
            return tn_val(u->user);
    }
    return qnn_call(g, n, op, attr, nin, in);
}

tn_value qnn_cast(tn_graph *g, tn_node *n, tn_value v, tn_dtype t)
{
    tn_cast_attr a = {t};
    return !v.def || tn_dtype_eq(tn_value_type(v)->dtype, t) ? v : qnn_call1(g, n, &tn_op_cast, &a, v);
}

tn_value qnn_spread(tn_graph *g, tn_node *n, tn_value v, int64_t axis, int rank)
{
    if (!v.def || tn_value_type(v)->n != 1)
        return v;
    if (tn_is_value(tn_value_type(v)->dim[0], 1)) {
        tn_squeeze_attr all = {{0}};
        return qnn_call1(g, n, &tn_op_squeeze, &all, v);
    }
    tn_expand_dims_attr after = {.axis = 1, .num_newaxis = rank - 1 - (axis < 0 ? axis + rank : axis)};
    return after.num_newaxis > 0 ? qnn_call1(g, n, &tn_op_expand_dims, &after, v) : v;
}

bool qnn_is_zero(tn_value v)
{
    int64_t low, high;
    return qnn_range(v, &low, &high) && low == 0 && high == 0;
}

bool qnn_range(tn_value v, int64_t *out_min, int64_t *out_max)
{
    while (v.def && v.def->nin == 1 && (v.def->op->flags & (TN_OP_INDEX_MAP | TN_OP_SHARES)) &&
           v.def->op != &tn_op_nn_pad)
        v = tn_in(v.def, 0);
    if (!v.def || !tn_op_is(v.def, &tn_op_constant) || !v.def->blob)
        return false;
    tn_dtype t = v.def->type[0]->dtype;
    uint32_t size = tn_dtype_bytes(t);
    if (!tn_dtype_is_int(t) || v.def->blob->n < size)
        return false;
    *out_min = INT64_MAX;
    *out_max = INT64_MIN;
    for (size_t i = 0; i + size <= v.def->blob->n; i += size) {
        int64_t x = tn_scalar_read(t, (const char *)v.def->blob->at + i).i;
        *out_min = x < *out_min ? x : *out_min;
        *out_max = x > *out_max ? x : *out_max;
    }
    return true;
}

/* ---- checking ---- */

/* Of rank 0; one element; a vector along `axis`; or of t's rank, broadcasting. */
static tn_status check_shape(tn_graph *g, const tn_node *n, int i, const tn_type *t, int64_t axis)
{
    const tn_type *s, *both;
    int at;
    TN_TRY(tn_rule_tensor(g, n, i, -1, &s));
    if (s->n == 0 || (s->n == 1 && tn_is_value(s->dim[0], 1)))
        return TN_OK;
    if (s->n == 1) {
        TN_TRY(tn_rule_axis(g, n, axis, t->n, &at));
        if (tn_rule_agree(g, n, s->dim[0], t->dim[at]))
            return TN_OK;
    } else if (s->n == t->n) {
        TN_TRY(tn_infer_broadcast(g, n, t, s, t->dtype, &both));
        if (tn_type_eq_logical(both, t))
            return TN_OK;
    }
    return tn_rule_fail(g, n, "op-E008", "%s is %s, but must be one number or a vector along axis %lld of %s",
                        tn_rule_in_name(g, n, i), tn_rule_type_text(g, s), (long long)axis,
                        tn_rule_type_text(g, t));
}

tn_status qnn_check_scale(tn_graph *g, const tn_node *n, int i, const tn_type *t, int64_t axis)
{
    TN_TRY(check_shape(g, n, i, t, axis));
    return tn_rule_float(g, n, i);
}

tn_status qnn_check_zero(tn_graph *g, const tn_node *n, int i, const tn_type *t, int64_t axis)
{
    TN_TRY(check_shape(g, n, i, t, axis));
    tn_dtype z = tn_in_type(n, i)->dtype;
    if (tn_dtype_is_int(z) && (z.bits < 32 || tn_dtype_eq(z, TN_I32)))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E011", "%s must be integers of at most 32 bits, but is %s",
                        tn_rule_in_name(g, n, i), tn_rule_type_text(g, tn_in_type(n, i)));
}

tn_status qnn_check_pair(tn_graph *g, const tn_node *n, int i, const tn_type *t, int64_t axis)
{
    TN_TRY(qnn_check_scale(g, n, i, t, axis));
    return qnn_check_zero(g, n, i + 1, t, axis);
}

static bool is_quantised(tn_dtype t, bool wide)
{
    return tn_dtype_is_int(t) && (t.bits <= 16 || (wide && tn_dtype_eq(t, TN_I32)));
}

tn_status qnn_check_data(tn_graph *g, const tn_node *n, int i, bool wide)
{
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, i, -1, &t));
    if (is_quantised(t->dtype, wide))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E011", "%s must be integers of 16 bits or less%s, but is %s",
                        tn_rule_in_name(g, n, i), wide ? ", or int32" : "", tn_rule_type_text(g, t));
}

tn_status qnn_check_out(tn_graph *g, const tn_node *n, tn_dtype t)
{
    if (is_quantised(t, true))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E011", "out_dtype must be integers of 16 bits or less, or int32, but is %s",
                        tn_rule_dtype_text(g, t));
}

/* ---- expansions ---- */

/* To whole numbers: NULL: ties to even; "UPWARD": up; "TONEAREST": away from zero. */
static tn_value rounded(tn_graph *g, tn_node *n, tn_value x, const char *how)
{
    if (!how)
        return qnn_call1(g, n, &tn_op_round, NULL, x);
    tn_value whole = strcmp(how, "TONEAREST") ? qnn_call1(g, n, &tn_op_floor, NULL, x)
                                              : qnn_call1(g, n, &tn_op_trunc, NULL, x);
    tn_value rest = qnn_call2(g, n, &tn_op_subtract, x, whole),
             half = tn_val(tn_make_scalar(g, n->owner, n, TN_F32, 0.5));
    tn_value step = tn_val(tn_make_scalar(g, n->owner, n, TN_F32, 1));
    if (strcmp(how, "TONEAREST") == 0) {
        rest = qnn_call1(g, n, &tn_op_abs, NULL, rest);
        step = qnn_call1(g, n, &tn_op_sign, NULL, x);
    }
    tn_value far = qnn_call2(g, n, &tn_op_greater_equal, rest, half);
    tn_value next = qnn_call2(g, n, &tn_op_add, whole, step);
    return qnn_call(g, n, &tn_op_where, NULL, 3, (const tn_value[]){far, next, whole});
}

/* x (float32) as integers of dtype t, of n's rank. */
static tn_value to_integers(tn_graph *g, tn_node *n, tn_value x, tn_value zero, int64_t axis, tn_dtype t,
                            const char *how)
{
    int rank = x.def ? tn_value_type(x)->n : 0;
    x = rounded(g, n, x, how);
    if (!qnn_is_zero(zero))
        x = qnn_call2(g, n, &tn_op_add, x, qnn_spread(g, n, qnn_cast(g, n, zero, TN_F32), axis, rank));
    return qnn_cast(g, n, x, t);
}

/* x - zero_point, exact, as float32. */
static tn_value difference(tn_graph *g, tn_node *n, tn_value x, tn_value zero, int64_t axis)
{
    int rank = tn_value_type(x)->n;
    if (!qnn_is_zero(zero)) {
        x = qnn_cast(g, n, x, TN_I32);
        x = qnn_call2(g, n, &tn_op_subtract, x, qnn_spread(g, n, qnn_cast(g, n, zero, TN_I32), axis, rank));
    }
    return qnn_cast(g, n, x, TN_F32);
}

static tn_status give(tn_value v, tn_value out[])
{
    out[0] = v;
    return v.def ? TN_OK : TN_FAIL;
}

/* ---- qnn.quantize ---- */

static tn_status check_rounding(tn_graph *g, const tn_node *n)
{
    const char *how = ((const tn_qnn_attr *)n->attr)->rounding;
    if (!how || strcmp(how, "UPWARD") == 0 || strcmp(how, "None") == 0 || strcmp(how, "TONEAREST") == 0)
        return TN_OK;
    return tn_rule_fail(g, n, "op-E007", "rounding \"%s\" is not supported; UPWARD, TONEAREST and None are",
                        how);
}

static tn_status quantize_infer(tn_graph *g, tn_node *n)
{
    const tn_qnn_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(check_rounding(g, n));
    TN_TRY(qnn_check_out(g, n, a->out_dtype));
    TN_TRY(qnn_check_pair(g, n, 1, t, a->axis));
    return tn_rule_result(g, n, 0, a->out_dtype, t->n, t->dim);
}

static tn_status quantize_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_qnn_attr *a = n->attr;
    tn_value x = qnn_cast(g, n, tn_in(n, 0), TN_F32), scale = qnn_cast(g, n, tn_in(n, 1), TN_F32);
    x = qnn_call2(g, n, &tn_op_divide, x, qnn_spread(g, n, scale, a->axis, n->type[0]->n));
    return give(to_integers(g, n, x, tn_in(n, 2), a->axis, a->out_dtype, a->rounding), out);
}

/* ---- qnn.dequantize ---- */

static tn_status dequantize_infer(tn_graph *g, tn_node *n)
{
    const tn_qnn_attr *a = n->attr;
    TN_TRY(qnn_check_data(g, n, 0, true));
    const tn_type *t = tn_in_type(n, 0);
    if (!tn_dtype_is_float(a->out_dtype))
        return tn_rule_fail(g, n, "op-E011", "out_dtype must be a float type, but is %s",
                            tn_rule_dtype_text(g, a->out_dtype));
    TN_TRY(qnn_check_pair(g, n, 1, t, a->axis));
    return tn_rule_result(g, n, 0, a->out_dtype, t->n, t->dim);
}

static tn_status dequantize_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_qnn_attr *a = n->attr;
    tn_value x = difference(g, n, tn_in(n, 0), tn_in(n, 2), a->axis);
    tn_value scale = qnn_spread(g, n, qnn_cast(g, n, tn_in(n, 1), TN_F32), a->axis, n->type[0]->n);
    return give(qnn_cast(g, n, qnn_call2(g, n, &tn_op_multiply, x, scale), a->out_dtype), out);
}

/* ---- qnn.requantize ---- */

static bool is_default(const char *s) { return !s || !s[0] || strcmp(s, "None") == 0; }

static tn_status requantize_infer(tn_graph *g, tn_node *n)
{
    const tn_qnn_attr *a = n->attr;
    TN_TRY(qnn_check_data(g, n, 0, true));
    const tn_type *t = tn_in_type(n, 0);
    TN_TRY(check_rounding(g, n));
    if (!is_default(a->compute_dtype) && strcmp(a->compute_dtype, "float32") != 0)
        return tn_rule_fail(g, n, "op-E007", "compute_dtype \"%s\" is not supported; only \"float32\" is",
                            a->compute_dtype);
    TN_TRY(qnn_check_out(g, n, a->out_dtype));
    TN_TRY(qnn_check_pair(g, n, 1, t, a->axis));
    TN_TRY(qnn_check_pair(g, n, 3, t, a->axis));
    return tn_rule_result(g, n, 0, a->out_dtype, t->n, t->dim);
}

static tn_status requantize_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_qnn_attr *a = n->attr;
    int rank = n->type[0]->n;
    tn_value x = difference(g, n, tn_in(n, 0), tn_in(n, 2), a->axis);
    tn_value from = qnn_spread(g, n, qnn_cast(g, n, tn_in(n, 1), TN_F32), a->axis, rank);
    tn_value to = qnn_spread(g, n, qnn_cast(g, n, tn_in(n, 3), TN_F32), a->axis, rank);
    x = qnn_call2(g, n, &tn_op_multiply, x, qnn_call2(g, n, &tn_op_divide, from, to));
    return give(to_integers(g, n, x, tn_in(n, 4), a->axis, a->out_dtype, a->rounding), out);
}

/* clang-format off */
static const tn_attr_field quantize_fields[] = TN_ATTR_TABLE(tn_qnn_attr, TN_QUANTIZE_ATTRS);
static const tn_attr_field dequantize_fields[] = TN_ATTR_TABLE(tn_qnn_attr, TN_DEQUANTIZE_ATTRS);
static const tn_attr_field requantize_fields[] = TN_ATTR_TABLE(tn_qnn_attr, TN_REQUANTIZE_ATTRS);
static const char *const quantize_in[] = {"data", "output_scale", "output_zero_point"};
static const char *const dequantize_in[] = {"data", "input_scale", "input_zero_point"};
static const char *const requantize_in[] = {"data", "input_scale", "input_zero_point", "output_scale",
    "output_zero_point"};

const tn_op tn_op_qnn_quantize = {
    .name = "qnn.quantize", .doc = "round(x / scale) + zero_point, saturating.",
    .attr_size = sizeof(tn_qnn_attr), .attr = quantize_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = quantize_in,
    .infer = quantize_infer, .expand = quantize_expand,
};
const tn_op tn_op_qnn_dequantize = {
    .name = "qnn.dequantize", .doc = "(x - zero_point) * scale.",
    .attr_size = sizeof(tn_qnn_attr), .attr = dequantize_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = dequantize_in,
    .infer = dequantize_infer, .expand = dequantize_expand,
};
const tn_op tn_op_qnn_requantize = {
    .name = "qnn.requantize", .doc = "Numbers of one scale and zero point in another, saturating.",
    .attr_size = sizeof(tn_qnn_attr), .attr = requantize_fields,
    .nin = 5, .min_in = 5, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = requantize_in,
    .infer = requantize_infer, .expand = requantize_expand,
};
/* clang-format on */

/* ---- through real numbers: quantize(f(dequantize(x), ...)) ---- */

/* Operand k's data, scale and zero point stand at data, at and at + 1. */
static tn_value real(tn_graph *g, tn_node *n, int data, int at, int64_t axis)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = TN_F32};
    tn_value in[] = {tn_in(n, data), tn_in(n, at), tn_in(n, at + 1)};
    return qnn_call(g, n, &tn_op_qnn_dequantize, &a, 3, in);
}

static tn_status quantised(tn_graph *g, tn_node *n, tn_value y, int at, tn_value out[])
{
    tn_qnn_attr a = {.axis = -1, .out_dtype = n->type[0]->dtype};
    tn_value in[] = {y, tn_in(n, at), tn_in(n, at + 1)};
    return give(qnn_call(g, n, &tn_op_qnn_quantize, &a, 3, in), out);
}

/* x, scale, zero point, output scale, output zero point */
static tn_status unary_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(qnn_check_data(g, n, 0, false));
    const tn_type *t = tn_in_type(n, 0);
    TN_TRY(qnn_check_pair(g, n, 1, t, -1));
    TN_TRY(qnn_check_pair(g, n, 3, t, -1));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static tn_status unary_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_op *of = tn_ops_find(n->op->name + 4); /* behind "qnn." */
    of = of ? of : &tn_op_nn_hardswish;
    return quantised(g, n, qnn_call1(g, n, of, NULL, real(g, n, 0, 1, -1)), 3, out);
}

static tn_status leaky_relu_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    return quantised(g, n, qnn_call1(g, n, &tn_op_nn_leaky_relu, n->attr, real(g, n, 0, 1, -1)), 3, out);
}

/* All data, all scales, all zero points, output scale and zero point */
static int n_joined(const tn_node *n) { return (n->nin - 2) / 3; }

static tn_status concatenate_infer(tn_graph *g, tn_node *n)
{
    int k = n_joined(n);
    if (n->nin < 5 || n->nin != 3 * k + 2)
        return tn_rule_fail(
            g, n, "op-E001",
            "%d operands given; it takes three for each tensor (all data, all scales, all zero "
            "points) and two for the result",
            n->nin);
    const tn_type *first = tn_in_type(n, 0), *t;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int axis;
    TN_TRY(qnn_check_data(g, n, 0, false));
    TN_TRY(tn_rule_axis(g, n, ((const tn_axis_attr *)n->attr)->axis, first->n, &axis));
    for (int i = 0; i < first->n; i++)
        dim[i] = first->dim[i];
    for (int i = 0; i < k; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, first->n, &t));
        TN_TRY(tn_rule_same_dtype(g, n, i));
        TN_TRY(qnn_check_scale(g, n, k + i, t, -1));
        TN_TRY(qnn_check_zero(g, n, 2 * k + i, t, -1));
        for (int d = 0; d < first->n; d++)
            if (d != axis && !tn_rule_agree(g, n, t->dim[d], first->dim[d]))
                return tn_rule_fail(g, n, "op-E008",
                                    "operands 0 and %d, %s and %s, differ in dimension %d, not %d", i,
                                    tn_rule_type_text(g, first), tn_rule_type_text(g, t), d, axis);
        dim[axis] = i ? tn_add(g->pool, dim[axis], t->dim[axis]) : t->dim[axis];
    }
    TN_TRY(qnn_check_pair(g, n, 3 * k, first, -1));
    return tn_rule_result(g, n, 0, first->dtype, first->n, dim);
}

static tn_status concatenate_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    int k = n_joined(n);
    tn_value *part = TN_NEW_N(g->arena, tn_value, (size_t)k), scale = tn_in(n, 3 * k),
             zero = tn_in(n, 3 * k + 1);
    tn_qnn_attr a = {.axis = -1, .out_dtype = n->type[0]->dtype};
    for (int i = 0; i < k; i++) {
        tn_value in[] = {tn_in(n, i), tn_in(n, k + i), tn_in(n, 2 * k + i), scale, zero};
        bool same = tn_value_eq(in[1], scale) && tn_value_eq(in[2], zero);
        part[i] = same ? in[0] : qnn_call(g, n, &tn_op_qnn_requantize, &a, 5, in);
    }
    return give(k == 1 ? part[0] : qnn_call(g, n, &tn_op_concatenate, n->attr, k, part), out);
}

/* lhs, rhs, lhs scale and zero point, rhs scale and zero point, output scale and zero point */
static tn_status binary_infer(tn_graph *g, tn_node *n)
{
    const tn_qnn_binary_attr *a = n->attr;
    const tn_type *both;
    TN_TRY(qnn_check_data(g, n, 0, false));
    TN_TRY(qnn_check_data(g, n, 1, false));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    const tn_type *x = tn_in_type(n, 0), *y = tn_in_type(n, 1);
    TN_TRY(qnn_check_pair(g, n, 2, x, a->lhs_axis));
    TN_TRY(qnn_check_pair(g, n, 4, y, a->rhs_axis));
    TN_TRY(tn_infer_broadcast(g, n, x, y, x->dtype, &both));
    TN_TRY(qnn_check_pair(g, n, 6, both, -1));
    return tn_rule_result(g, n, 0, x->dtype, both->n, both->dim);
}

/* Operand k's difference from its zero point, in steps of the output's scale: no division is left for each element. */
static tn_value in_steps(tn_graph *g, tn_node *n, int k, int64_t axis)
{
    tn_value x = tn_in(n, k), from = qnn_cast(g, n, tn_in(n, 2 + 2 * k), TN_F32);
    tn_value to = qnn_cast(g, n, tn_in(n, 6), TN_F32);
    int rank = tn_value_type(x)->n;
    from = qnn_spread(g, n, from, axis, rank);
    to = qnn_spread(g, n, to, -1, rank);
    x = difference(g, n, x, tn_in(n, 3 + 2 * k), axis);
    return qnn_call2(g, n, &tn_op_multiply, x, qnn_call2(g, n, &tn_op_divide, from, to));
}

static tn_status linear(tn_graph *g, tn_node *n, const tn_op *op, tn_value out[])
{
    const tn_qnn_binary_attr *a = n->attr;
    tn_value lhs = in_steps(g, n, 0, a->lhs_axis), rhs = in_steps(g, n, 1, a->rhs_axis);
    tn_value y = qnn_call2(g, n, op, lhs, rhs);
    return give(to_integers(g, n, y, tn_in(n, 7), -1, n->type[0]->dtype, NULL), out);
}

static tn_status add_expand(tn_graph *g, tn_node *n, tn_value out[]) { return linear(g, n, &tn_op_add, out); }

static tn_status subtract_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    return linear(g, n, &tn_op_subtract, out);
}

static tn_status mul_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_qnn_binary_attr *a = n->attr;
    tn_value x = real(g, n, 0, 2, a->lhs_axis), y = real(g, n, 1, 4, a->rhs_axis);
    return quantised(g, n, qnn_call2(g, n, &tn_op_multiply, x, y), 6, out);
}

/* clang-format off */
static const tn_attr_field binary_fields[] = TN_ATTR_TABLE(tn_qnn_binary_attr, TN_QNN_BINARY_ATTRS);
static const tn_attr_field slope_fields[] = TN_ATTR_TABLE(tn_alpha_attr, TN_SLOPE_ATTRS);
static const char *const unary_in[] = {"x", "scale", "zero_point", "output_scale", "output_zero_point"};
static const char *const binary_in[] = {"lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point",
    "output_scale", "output_zero_point"};

#define UNARY(id, does, attrs, table, says) \
    const tn_op tn_op_qnn_##id = { \
        .name = "qnn." #id, .doc = says, .attr_size = attrs, .attr = table, \
        .nin = 5, .min_in = 5, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = unary_in, \
        .infer = unary_infer, .expand = does, \
    };
#define BINARY(id, says) \
    const tn_op tn_op_qnn_##id = { \
        .name = "qnn." #id, .doc = says, .attr_size = sizeof(tn_qnn_binary_attr), .attr = binary_fields, \
        .nin = 8, .min_in = 8, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = binary_in, \
        .infer = binary_infer, .expand = id##_expand, \
    };
static const tn_attr_field concatenate_fields[] = TN_ATTR_TABLE(tn_axis_attr, TN_CONCATENATE_ATTRS);
const tn_op tn_op_qnn_concatenate = {
    .name = "qnn.concatenate", .doc = "Concatenates quantised tensors along one axis, on one scale.",
    .attr_size = sizeof(tn_axis_attr), .attr = concatenate_fields,
    .nin = -1, .min_in = 5, .nout = 1, .fuse = TN_FUSE_OPAQUE,
    .infer = concatenate_infer, .expand = concatenate_expand,
};
BINARY(add,       "Sum of quantised tensors.")
BINARY(subtract,  "Difference of quantised tensors.")
BINARY(mul,       "Product of quantised tensors.")
UNARY(abs,        unary_expand, 0, NULL, "Absolute value of a quantised tensor.")
UNARY(erf,        unary_expand, 0, NULL, "Error function of a quantised tensor.")
UNARY(exp,        unary_expand, 0, NULL, "e to a quantised tensor.")
UNARY(hardswish,  unary_expand, 0, NULL, "x * hard_sigmoid(x) of a quantised tensor.")
UNARY(log,        unary_expand, 0, NULL, "Natural logarithm of a quantised tensor.")
UNARY(rsqrt,      unary_expand, 0, NULL, "1 / square root of a quantised tensor.")
UNARY(sigmoid,    unary_expand, 0, NULL, "1 / (1 + exp(-x)) of a quantised tensor.")
UNARY(sqrt,       unary_expand, 0, NULL, "Square root of a quantised tensor.")
UNARY(tanh,       unary_expand, 0, NULL, "Hyperbolic tangent of a quantised tensor.")
UNARY(leaky_relu, leaky_relu_expand, sizeof(tn_alpha_attr), slope_fields, "Leaky relu of a quantised tensor.")
/* clang-format on */
