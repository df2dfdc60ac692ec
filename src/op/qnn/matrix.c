/* Quantised products: qnn.conv2d, qnn.dense, qnn.batch_matmul. Each is the int32 sum of (x - zx) * (w - zw), exact
 * modulo 2^32; scales are not applied (that is qnn.requantize's), they are operands so that passes know them.
 *
 * Expansion, into products of the integers as they are plus corrections that fold or are one addition:
 *   sum (x - zx) * w = sum x * w  -  zx * sum w           zeros around an image become zx
 * A zero point of weights is subtracted from the weights: the difference fits int8 for most models (uint8 weights
 * around 128), else it is int16. A zero point of padded data that is not constant is subtracted from the data.
 */
#include "op/qnn/build.h"

#include "machine/machine.h"
#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"
#include "tir/unit.h"

#include <string.h>

enum { DATA, WEIGHT, DATA_ZERO, WEIGHT_ZERO, DATA_SCALE, WEIGHT_SCALE };

/* ---- shared ---- */

static tn_status check_operands(tn_graph *g, const tn_node *n, int64_t data_axis, int64_t weight_axis)
{
    TN_TRY(qnn_check_data(g, n, DATA, false));
    TN_TRY(qnn_check_data(g, n, WEIGHT, false));
    const tn_type *x = tn_in_type(n, DATA), *w = tn_in_type(n, WEIGHT);
    TN_TRY(qnn_check_zero(g, n, DATA_ZERO, x, data_axis));
    TN_TRY(qnn_check_zero(g, n, WEIGHT_ZERO, w, weight_axis));
    TN_TRY(qnn_check_scale(g, n, DATA_SCALE, x, data_axis));
    return qnn_check_scale(g, n, WEIGHT_SCALE, w, weight_axis);
}

static tn_value as_int32(tn_graph *g, tn_node *n, tn_value v) { return qnn_cast(g, n, v, TN_I32); }

/* v - zero in int16, or in int8 where that is known to hold it. */
static tn_value without_zero(tn_graph *g, tn_node *n, tn_value v, tn_value zero, int64_t axis)
{
    int64_t least, most, low, high;
    if (qnn_is_zero(zero))
        return v;
    int rank = tn_value_type(v)->n;
    bool bytes = tn_value_type(v)->dtype.bits == 8 && tn_value_type(zero)->dtype.bits == 8;
    bool known = qnn_range(v, &least, &most) && qnn_range(zero, &low, &high);
    bool narrow = known && least - high >= -128 && most - low <= 127;
    tn_dtype t = bytes ? TN_I16 : TN_I32;
    v = qnn_cast(g, n, v, t);
    v = qnn_call2(g, n, &tn_op_subtract, v, qnn_spread(g, n, qnn_cast(g, n, zero, t), axis, rank));
    return narrow ? qnn_cast(g, n, v, TN_I8) : v;
}

/* Sum over the given axes, in int32. */
static tn_value sum_over(tn_graph *g, tn_node *n, tn_value v, uint32_t count, const int64_t axes[],
                         bool keepdims)
{
    tn_axes_attr a = {tn_ints_make(g->arena, count, axes), keepdims, false};
    return qnn_call1(g, n, &tn_op_sum, &a, as_int32(g, n, v));
}

static tn_value times(tn_graph *g, tn_node *n, tn_value a, tn_value b)
{
    return qnn_call2(g, n, &tn_op_multiply, a, b);
}

static tn_status give(tn_value v, tn_value out[])
{
    out[0] = v;
    return v.def ? TN_OK : TN_FAIL;
}

/* ---- qnn.conv2d ---- */

static tn_status conv2d_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(check_operands(g, n, 1, 0));
    return tn_op_nn_conv2d.infer(g, n); /* the same attributes and first operands */
}

static bool is_padded(const tn_conv2d_attr *a)
{
    bool padded = false;
    for (uint32_t i = 0; i < a->padding.n; i++)
        padded = padded || tn_rule_may_pad(a->padding.at[i]);
    return padded;
}

/* Data surrounded by its zero point; *a loses its padding. */
static tn_value surround(tn_graph *g, tn_node *n, tn_value x, int64_t zero, tn_conv2d_attr *a)
{
    const tn_expr *const *at = a->padding.at, *o = tn_idx(g->pool, 0); /* top left bottom right */
    const tn_expr *width[8] = {o, o, o, o, at[0], at[2], at[1], at[3]};
    tn_pad_attr pad = {tn_dims_make(g->arena, 8, width), (double)zero, "constant"};
    a->padding = tn_dims_make(g->arena, 4, width);
    return qnn_call1(g, n, &tn_op_nn_pad, &pad, x);
}

static tn_status conv2d_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t taps[] = {1, 2, 3};
    tn_conv2d_attr a = *(const tn_conv2d_attr *)n->attr;
    tn_value x = tn_in(n, DATA), zx = tn_in(n, DATA_ZERO);
    tn_value w = without_zero(g, n, tn_in(n, WEIGHT), tn_in(n, WEIGHT_ZERO), 0);
    int64_t zero = 0, top = 0;
    bool known = qnn_range(zx, &zero, &top) && zero == top;
    if (!known && (is_padded(&a) || tn_value_type(zx)->n > 0)) {
        x = without_zero(g, n, x, zx, 1);
        known = true;
        zero = 0;
    }
    if (known && zero != 0 && is_padded(&a))
        x = surround(g, n, x, zero, &a);
    tn_value y = qnn_call(g, n, &tn_op_nn_conv2d, &a, 2, (const tn_value[]){x, w});
    if (known && zero == 0)
        return give(y, out);
    tn_value off = sum_over(g, n, w, 3, taps, false);
    off = times(g, n, off, qnn_spread(g, n, as_int32(g, n, zx), 0, 1));
    return give(qnn_call2(g, n, &tn_op_subtract, y, qnn_spread(g, n, off, 1, 4)), out);
}

/* ---- qnn.dense ---- */

static tn_status dense_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(check_operands(g, n, -2, 0));
    return tn_op_nn_dense.infer(g, n);
}

static tn_status dense_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t k[] = {1};
    tn_value x = tn_in(n, DATA), zx = tn_in(n, DATA_ZERO);
    tn_value w = without_zero(g, n, tn_in(n, WEIGHT), tn_in(n, WEIGHT_ZERO), 0);
    tn_value y = qnn_call(g, n, &tn_op_nn_dense, n->attr, 2, (const tn_value[]){x, w});
    if (qnn_is_zero(zx))
        return give(y, out);
    zx = qnn_spread(g, n, as_int32(g, n, zx), -2, n->type[0]->n); /* one number, or one a row */
    tn_value off = times(g, n, sum_over(g, n, w, 1, k, false), zx);
    return give(qnn_call2(g, n, &tn_op_subtract, y, off), out);
}

/* ---- qnn.batch_matmul ---- */

static tn_status batch_matmul_infer(tn_graph *g, tn_node *n)
{
    const tn_matmul_attr *a = n->attr;
    TN_TRY(check_operands(g, n, a->transpose_a ? -1 : -2, a->transpose_b ? -2 : -1));
    return tn_op_nn_batch_matmul.infer(g, n);
}

/* The sums over k of an operand as a column [b, m, 1] or a row [b, 1, n], times the other operand's zero point. */
static tn_value correction(tn_graph *g, tn_node *n, int i, bool k_last, tn_value other_zero)
{
    const int64_t k = k_last ? 2 : 1, rest = k_last ? 1 : 2;
    static const int64_t swap[] = {0, 2, 1};
    tn_transpose_attr t = {tn_ints_make(g->arena, 3, swap)};
    tn_value sums = sum_over(g, n, tn_in(n, i), 1, &k, true);
    bool column = i == DATA;
    if (column != (rest == 1))
        sums = qnn_call1(g, n, &tn_op_transpose, &t, sums);
    return times(g, n, sums, other_zero);
}

/* Extent d of operand i as an int32: a list of one, if it is known in the run alone. */
static tn_value extent_of(tn_graph *g, tn_node *n, int i, int64_t d)
{
    int64_t k, end = d + 1;
    if (tn_is_int(tn_in_type(n, i)->dim[d], &k))
        return tn_val(tn_make_scalar(g, n->owner, n, TN_I32, (double)k));
    tn_cast_attr whole = {TN_I32};
    tn_slice_attr one = {.begin = tn_make_dims(g, 1, &d), .end = tn_make_dims(g, 1, &end)};
    return qnn_call1(g, n, &tn_op_strided_slice, &one, qnn_call1(g, n, &tn_op_shape_of, &whole, tn_in(n, i)));
}

/* sum (x - zx)(y - zy) = sum xy - zy sum x - zx sum y + k zx zy */
static tn_status batch_matmul_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_matmul_attr *a = n->attr;
    tn_value in[] = {tn_in(n, DATA), tn_in(n, WEIGHT)};
    tn_value y = qnn_call(g, n, &tn_op_nn_batch_matmul, a, 2, in);
    tn_value zx = tn_in(n, DATA_ZERO), zy = tn_in(n, WEIGHT_ZERO);
    bool some_x = !qnn_is_zero(zx), some_y = !qnn_is_zero(zy);
    zx = qnn_spread(g, n, as_int32(g, n, zx), 1, 3);
    zy = qnn_spread(g, n, as_int32(g, n, zy), 2, 3);
    if (some_y)
        y = qnn_call2(g, n, &tn_op_subtract, y, correction(g, n, DATA, !a->transpose_a, zy));
    if (some_x)
        y = qnn_call2(g, n, &tn_op_subtract, y, correction(g, n, WEIGHT, a->transpose_b, zx));
    if (some_x && some_y) {
        tn_value count = extent_of(g, n, DATA, a->transpose_a ? 1 : 2);
        y = qnn_call2(g, n, &tn_op_add, y, times(g, n, times(g, n, zx, zy), count));
    }
    return give(y, out);
}

/* ---- int8 data as uint8 ----
 * Where the machine multiplies bytes of different signs alone, or faster:
 * sum x w = sum (x + 128) w - 128 sum w, and zeros around an image become 128. */

enum { SHIFT = 128 };

bool qnn_shifts(const tn_node *n, const struct tn_machine *m)
{
    bool bytes = tn_dtype_eq(tn_in_type(n, DATA)->dtype, TN_I8) &&
                 tn_dtype_eq(tn_in_type(n, WEIGHT)->dtype, TN_I8) && tn_dtype_eq(n->type[0]->dtype, TN_I32);
    bool whole = n->op != &tn_op_nn_conv2d || ((const tn_conv2d_attr *)n->attr)->groups == 1;
    return bytes && whole && tn_op_is(tn_in(n, WEIGHT).def, &tn_op_constant) &&
           tn_unit_moves(tn_unit_of(TN_UNIT_LANES, TN_I8, TN_I8, TN_I32, 0),
                         tn_unit_of(TN_UNIT_LANES, TN_U8, TN_I8, TN_I32, 0), m, tn_machine_given);
}

static tn_value shifted(tn_graph *g, tn_node *n, tn_value x)
{
    tn_value by = tn_val(tn_make_scalar(g, n->owner, n, TN_I16, SHIFT));
    return qnn_cast(g, n, qnn_call2(g, n, &tn_op_add, qnn_cast(g, n, x, TN_I16), by), TN_U8);
}

/* SHIFT times the sums of the weight over the given axes. */
static tn_value shifted_off(tn_graph *g, tn_node *n, uint32_t count, const int64_t axes[])
{
    tn_value by = tn_val(tn_make_scalar(g, n->owner, n, TN_I32, SHIFT));
    return times(g, n, sum_over(g, n, tn_in(n, WEIGHT), count, axes, false), by);
}

tn_status qnn_conv2d_shifted(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t taps[] = {1, 2, 3};
    tn_conv2d_attr a = *(const tn_conv2d_attr *)n->attr;
    tn_value x = shifted(g, n, tn_in(n, DATA));
    x = is_padded(&a) ? surround(g, n, x, SHIFT, &a) : x;
    tn_value y = qnn_call(g, n, &tn_op_nn_conv2d, &a, 2, (const tn_value[]){x, tn_in(n, WEIGHT)});
    return give(qnn_call2(g, n, &tn_op_subtract, y, qnn_spread(g, n, shifted_off(g, n, 3, taps), 1, 4)), out);
}

tn_status qnn_dense_shifted(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t k[] = {1};
    tn_value in[] = {shifted(g, n, tn_in(n, DATA)), tn_in(n, WEIGHT)};
    tn_value y = qnn_call(g, n, &tn_op_nn_dense, n->attr, 2, in);
    return give(qnn_call2(g, n, &tn_op_subtract, y, shifted_off(g, n, 1, k)), out);
}

/* clang-format off */
static const char *const product_in[] = {"data", "weight", "input_zero_point", "kernel_zero_point", "input_scale",
    "kernel_scale"};
static const char *const matmul_in[] = {"x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale"};
static const tn_attr_field conv2d_fields[] = TN_ATTR_TABLE(tn_conv2d_attr, TN_QNN_CONV2D_ATTRS);
static const tn_attr_field dense_fields[] = TN_ATTR_TABLE(tn_dense_attr, TN_QNN_DENSE_ATTRS);
static const tn_attr_field matmul_fields[] = TN_ATTR_TABLE(tn_matmul_attr, TN_QNN_BATCH_MATMUL_ATTRS);

const tn_op tn_op_qnn_conv2d = {
    .name = "qnn.conv2d", .doc = "Convolution of quantised data and weights: the int32 sums, without scales.",
    .attr_size = sizeof(tn_conv2d_attr), .attr = conv2d_fields,
    .nin = 6, .min_in = 6, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = product_in,
    .infer = conv2d_infer, .expand = conv2d_expand,
};
const tn_op tn_op_qnn_dense = {
    .name = "qnn.dense", .doc = "Product of quantised data [..., K] and weight [N, K]: the int32 sums, without scales.",
    .attr_size = sizeof(tn_dense_attr), .attr = dense_fields,
    .nin = 6, .min_in = 6, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = product_in,
    .infer = dense_infer, .expand = dense_expand,
};
const tn_op tn_op_qnn_batch_matmul = {
    .name = "qnn.batch_matmul", .doc = "Products of batches of quantised matrices: the int32 sums, without scales.",
    .attr_size = sizeof(tn_matmul_attr), .attr = matmul_fields,
    .nin = 6, .min_in = 6, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = matmul_in,
    .infer = batch_matmul_infer, .expand = batch_matmul_expand,
};
/* clang-format on */
