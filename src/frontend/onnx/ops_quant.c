/* Quantised operators: QuantizeLinear and its kin, QLinear*, *Integer, and those of com.microsoft.
 *
 * Products become qnn.* operators that give int32 sums, then one qnn.requantize; pooling and operators of one element
 * each go through real numbers, as ONNX Runtime's do.
 */
#include "frontend/import/window.h"
#include "frontend/onnx/onnx.h"

#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- scales and zero points ---- */

/* Zero point i, or one of 0 in dtype t. */
static tn_value zero_or(imp_node *c, uint32_t i, tn_dtype t)
{
    return imp_has(c, i) ? imp_in(c, i) : imp_const(c, t, 0);
}

static tn_dtype dtype_of(tn_value v) { return imp_type(v)->dtype; }

/* The axis that a vector of scales runs along; -1 where it has none. */
static int64_t scale_axis(imp_node *c, tn_value scale, int64_t axis, int rank)
{
    bool vector = imp_rank(scale) == 1 && !tn_is_value(imp_type(scale)->dim[0], 1);
    return vector ? imp_axis(c, axis, rank) : -1;
}

static tn_value quantize(imp_node *c, tn_value x, tn_value scale, tn_value zero, int64_t axis, tn_dtype t)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = t};
    return imp_call(c, &tn_op_qnn_quantize, &a, 3, (const tn_value[]){x, scale, zero});
}

static tn_value dequantize(imp_node *c, tn_value x, tn_value scale, tn_value zero, int64_t axis, tn_dtype t)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = t};
    return imp_call(c, &tn_op_qnn_dequantize, &a, 3, (const tn_value[]){x, scale, zero});
}

static tn_value times(imp_node *c, tn_value a, tn_value b)
{
    a = imp_cast(c, a, TN_F32);
    return imp_binary(c, &tn_op_multiply, a, imp_cast(c, b, TN_F32));
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* One scale for each block of `size` elements along axis: the blocks' entries repeated. */
static tn_value repeat_blocks(imp_node *c, tn_value v, const tn_type *data, int axis, int64_t size)
{
    const tn_expr *dim[IMP_MAX_RANK + 1];
    int64_t extent, blocks;
    const tn_expand_dims_attr inside = {axis + 1, 1};
    if (c->bad)
        return v;
    if (imp_rank(v) != data->n || !tn_is_int(data->dim[axis], &extent) ||
        !tn_is_int(imp_type(v)->dim[axis], &blocks) || size < 1 || blocks != (extent + size - 1) / size) {
        imp_fail(c, "onnx-E009", "block_size %lld does not fit scales %s of data %s", (long long)size,
                 imp_type_text(c, imp_type(v)), imp_type_text(c, data));
        return v;
    }
    for (int i = 0, k = 0; i < data->n; i++) {
        dim[k++] = imp_type(v)->dim[i];
        if (i == axis)
            dim[k++] = tn_idx(c->pool, size);
    }
    tn_broadcast_to_attr wide = {tn_dims_make(c->arena, (uint32_t)data->n + 1, dim)};
    v = imp_call1(c, &tn_op_broadcast_to, &wide, imp_call1(c, &tn_op_expand_dims, &inside, v));
    for (int i = axis + 1; i < data->n; i++)
        dim[i] = dim[i + 1];
    dim[axis] = tn_idx(c->pool, blocks * size);
    v = imp_reshape(c, v, data->n, dim);
    return blocks * size == extent ? v : imp_slice(c, v, axis, 0, extent);
}

typedef struct grid {
    tn_value scale, zero;
    int64_t axis;
} grid; /* operands 1 and 2 for the data of operand 0 */

static grid read_grid(imp_node *c, tn_value x, tn_dtype zero_dtype)
{
    int rank = imp_rank(x);
    grid q = {imp_in(c, 1), {0}, 0};
    if (!tn_dtype_is_float(dtype_of(q.scale)) || tn_dtype_is_minifloat(dtype_of(q.scale)))
        q.scale = imp_cast(c, q.scale, TN_F32);
    if (imp_has(c, 2) || !tn_dtype_is_float(zero_dtype)) /* floats need none */
        q.zero = zero_or(c, 2, zero_dtype);
    int64_t axis = imp_attr_int(c, "axis", 1), block = imp_attr_int(c, "block_size", 0);
    q.axis = scale_axis(c, q.scale, axis, rank);
    if (block == 0 || c->bad)
        return q;
    int at = imp_axis(c, axis, rank);
    q.scale = repeat_blocks(c, q.scale, imp_type(x), at, block);
    if (imp_has(c, 2))
        q.zero = repeat_blocks(c, q.zero, imp_type(x), at, block);
    return q;
}

/* Attribute `name` as a dtype; `def` where absent or 0. */
static tn_dtype attr_dtype(imp_node *c, const char *name, tn_dtype def)
{
    int64_t type = imp_attr_int(c, name, 0);
    tn_dtype t = def;
    if (type != 0 && !onnx_dtype(c->im, type, name, c->loc, &t))
        c->bad = true;
    return t;
}

/* v, along axis of data of `rank` dimensions where it is a vector, so that it broadcasts. */
static tn_value spread(imp_node *c, tn_value v, int64_t axis, int rank)
{
    tn_expand_dims_attr after = {1, rank - 1 - (int)axis};
    return axis >= 0 && imp_rank(v) == 1 && after.num_newaxis > 0
               ? imp_call1(c, &tn_op_expand_dims, &after, v)
               : v;
}

/* x / scale (+ zero point), divided in type `precision`: what an integer type still rounds and limits. */
static tn_value divided(imp_node *c, tn_value x, const grid *q, tn_dtype precision)
{
    int rank = imp_rank(x);
    tn_value scale = spread(c, imp_cast(c, q->scale, precision), q->axis, rank);
    x = imp_binary(c, &tn_op_divide, imp_cast(c, x, precision), scale);
    if (!q->zero.def)
        return x;
    tn_dtype wide = precision.bits > 32 ? precision : TN_F32;
    x = imp_cast(c, x, wide);
    if (tn_dtype_is_int(dtype_of(q->zero)))
        x = imp_unary(c, &tn_op_round, x);
    return imp_binary(c, &tn_op_add, x, spread(c, imp_cast(c, q->zero, wide), q->axis, rank));
}

static void quantize_linear(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool saturate = imp_attr_int(c, "saturate", 1) != 0;
    tn_dtype t = attr_dtype(c, "output_dtype", TN_U8), precision = attr_dtype(c, "precision", TN_F32);
    t = imp_has(c, 2) ? dtype_of(imp_in(c, 2)) : t;
    if (!tn_dtype_is_float(precision) || tn_dtype_is_minifloat(precision))
        imp_fail(c, "onnx-E009", "precision must be FLOAT, FLOAT16, BFLOAT16 or DOUBLE");
    grid q = read_grid(c, x, t);
    if (c->bad)
        return;
    if (tn_dtype_is_float(t))
        imp_out(c, 0, onnx_convert(c, divided(c, x, &q, precision), t, saturate));
    else if (!tn_dtype_eq(precision, TN_F32))
        imp_out(c, 0, imp_cast(c, divided(c, x, &q, precision), t));
    else
        imp_out(c, 0, quantize(c, x, q.scale, q.zero, q.axis, t));
}

static void dequantize_linear(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    grid q = read_grid(c, x, dtype_of(x));
    tn_dtype t = attr_dtype(c, "output_dtype", dtype_of(q.scale));
    if (c->bad || !tn_dtype_is_float(dtype_of(x))) {
        imp_out(c, 0, dequantize(c, x, q.scale, q.zero, q.axis, t));
        return;
    }
    int rank = imp_rank(x);
    tn_value y = imp_cast(c, x, TN_F32), scale = spread(c, imp_cast(c, q.scale, TN_F32), q.axis, rank);
    if (q.zero.def)
        y = imp_binary(c, &tn_op_subtract, y, spread(c, imp_cast(c, q.zero, TN_F32), q.axis, rank));
    imp_out(c, 0, imp_cast(c, imp_binary(c, &tn_op_multiply, y, scale), t));
}

/* ---- DynamicQuantizeLinear ---- */

/* Over the range of x and 0: scale = range / 255 (1 if there is none), zero point round(-min / scale). */
onnx_quantized onnx_quantize_dynamic(imp_node *c, tn_value x)
{
    tn_axes_attr all = {{0}, false, false};
    tn_value none = imp_const(c, TN_F32, 0), one = imp_const(c, TN_F32, 1);
    tn_value low = imp_binary(c, &tn_op_minimum, imp_call1(c, &tn_op_min, &all, x), none);
    tn_value high = imp_binary(c, &tn_op_maximum, imp_call1(c, &tn_op_max, &all, x), none);
    tn_value range = imp_binary(c, &tn_op_subtract, high, low);
    tn_value scale = imp_binary(c, &tn_op_divide, range, imp_const(c, TN_F32, 255));
    tn_value flat = imp_binary(c, &tn_op_equal, scale, none), choice[] = {flat, one, scale};
    onnx_quantized d = {.scale = imp_call(c, &tn_op_where, NULL, 3, choice)};
    tn_value zero = imp_binary(c, &tn_op_divide, imp_binary(c, &tn_op_subtract, none, low), d.scale);
    d.zero = imp_cast(c, imp_unary(c, &tn_op_round, zero), TN_U8);
    d.y = quantize(c, x, d.scale, d.zero, -1, TN_U8);
    return d;
}

static void dynamic_quantize_linear(imp_node *c)
{
    onnx_quantized d = onnx_quantize_dynamic(c, imp_in(c, 0));
    imp_out(c, 0, d.y);
    imp_out(c, 1, d.scale);
    imp_out(c, 2, d.zero);
}

/* ---- convolution ---- */

/* One entry a dimension, of one dimension: the same with a row before. */
static tn_ints with_row(imp_node *c, tn_ints v)
{
    return v.n == 1 ? tn_ints_make(c->arena, 2, (const int64_t[]){1, v.at[0]}) : v;
}

static tn_value drop_row(imp_node *c, tn_value y, bool line)
{
    static const int64_t row = 2;
    tn_squeeze_attr s = {tn_ints_make(c->arena, 1, &row)};
    return line ? imp_call1(c, &tn_op_squeeze, &s, y) : y;
}

/* v - zero in int32; zero is one number, or one for each index of the axis. */
static tn_value off_zero(imp_node *c, tn_value v, tn_value zero, int64_t axis)
{
    v = imp_cast(c, v, TN_I32);
    return imp_binary(c, &tn_op_subtract, v, spread(c, imp_cast(c, zero, TN_I32), axis, imp_rank(v)));
}

/* The sums of volumes, which qnn has no operator for. */
static tn_value volume_sums(imp_node *c, const tn_value in[6])
{
    tn_conv2d_attr a;
    tn_value weight = in[1];
    if (!onnx_conv_attr(c, in[0], &weight, &tn_op_nn_conv3d, &a))
        return (tn_value){0};
    tn_value x = off_zero(c, in[0], in[2], 1), w = off_zero(c, weight, in[3], 0);
    return imp_call2(c, &tn_op_nn_conv3d, &a, x, w);
}

/* qnn.conv2d: int32 sums of data, weight, zero points and scales (absent: 1). Data of one dimension (*out_line) is an
 * image of one row, also in the result. */
static tn_value conv_sums(imp_node *c, const tn_value in[6], bool *out_line)
{
    static const tn_expand_dims_attr row = {2, 1};
    tn_value operand[6], weight = in[1];
    tn_conv2d_attr a;
    *out_line = imp_rank(in[0]) == 3;
    if (imp_rank(in[0]) == 5)
        return volume_sums(c, in);
    if (!onnx_conv_attr(c, in[0], &weight, &tn_op_qnn_conv2d, &a))
        return (tn_value){0};
    for (int i = 0; i < 6; i++) {
        tn_value v = i == 1 ? weight : in[i];
        operand[i] = i >= 4 && !v.def                           ? imp_const(c, TN_F32, 1)
                     : *out_line && (i < 2 || imp_rank(v) == 3) ? imp_call1(c, &tn_op_expand_dims, &row, v)
                                                                : v;
    }
    if (*out_line) {
        const tn_expr *none = tn_idx(c->pool, 0);
        a.strides = with_row(c, a.strides);
        a.dilation = with_row(c, a.dilation);
        a.padding =
            tn_dims_make(c->arena, 4, (const tn_expr *const[]){none, a.padding.at[0], none, a.padding.at[1]});
        a.kernel_size = with_row(c, a.kernel_size);
    }
    return imp_call(c, &tn_op_qnn_conv2d, &a, 6, operand);
}

static void conv_integer(imp_node *c)
{
    tn_value x = imp_in(c, 0), w = imp_in(c, 1);
    tn_value in[6] = {x, w, zero_or(c, 2, dtype_of(x)), zero_or(c, 3, dtype_of(w))};
    bool line;
    tn_value y = conv_sums(c, in, &line);
    imp_out(c, 0, drop_row(c, y, line));
}

static tn_value requantize(imp_node *c, tn_value y, tn_value from, tn_value to, tn_value zero, int64_t axis)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = dtype_of(zero)};
    tn_value in[] = {y, from, imp_const(c, TN_I32, 0), to, zero};
    return imp_call(c, &tn_op_qnn_requantize, &a, 5, in);
}

static void qlinear_conv(imp_node *c)
{
    static const tn_axis_attr channels = {1};
    tn_value x = imp_in(c, 0), w = imp_in(c, 3), x_scale = imp_in(c, 1), w_scale = imp_in(c, 4);
    tn_value in[6] = {x, w, imp_in(c, 2), imp_in(c, 5), x_scale, w_scale}, bias = imp_opt(c, 8);
    bool line, last = imp_attr_int(c, "channels_last", 0) != 0;
    in[0] = last ? imp_channels_first(c, x) : x;
    tn_value y = conv_sums(c, in, &line);
    y = bias.def ? imp_call2(c, &tn_op_nn_bias_add, &channels, y, bias) : y;
    y = requantize(c, y, times(c, x_scale, w_scale), imp_in(c, 6), imp_in(c, 7), 1);
    y = drop_row(c, y, line);
    imp_out(c, 0, last ? imp_channels_last(c, y) : y);
}

/* ---- matrix products ---- */

/* Zero points and scales of matrices: one number, one for each row (axis -2) or column (-1), or broadcasting. One for
 * each row gets a dimension behind. */
static tn_value by_row(imp_node *c, tn_value v, int rank)
{
    tn_expand_dims_attr behind = {1, 1};
    bool vector = rank > 1 && imp_rank(v) == 1 && !tn_is_value(imp_type(v)->dim[0], 1);
    return vector ? imp_call1(c, &tn_op_expand_dims, &behind, v) : v;
}

/* [1, N] of a matrix is [N]. */
static tn_value by_column(imp_node *c, tn_value v)
{
    tn_squeeze_attr all = {{0}};
    return imp_rank(v) == 2 && tn_is_value(imp_type(v)->dim[0], 1) ? imp_call1(c, &tn_op_squeeze, &all, v)
                                                                   : v;
}

/* Leading dimensions of 1 up to `rank`, where v has more than one dimension. */
static tn_value lift(imp_node *c, tn_value v, int rank)
{
    tn_expand_dims_attr before = {0, rank - imp_rank(v)};
    return imp_rank(v) > 1 && before.num_newaxis > 0 ? imp_call1(c, &tn_op_expand_dims, &before, v) : v;
}

static tn_value matmul_sums(imp_node *c, tn_value a, tn_value b, tn_value a_zero, tn_value b_zero)
{
    imp_zeros z = {lift(c, by_row(c, a_zero, imp_rank(a)), imp_rank(a)), by_column(c, b_zero)};
    return imp_matmul(c, a, b, &z);
}

static void matmul_integer(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    tn_value a_zero = zero_or(c, 2, dtype_of(a)), b_zero = zero_or(c, 3, dtype_of(b));
    imp_out(c, 0, matmul_sums(c, a, b, a_zero, b_zero));
}

static void qlinear_matmul(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 3), a_scale = imp_in(c, 1), b_scale = imp_in(c, 4);
    tn_value y = matmul_sums(c, a, b, imp_in(c, 2), imp_in(c, 5));
    int rank = imp_rank(y);
    tn_value scale = lift(c, times(c, by_row(c, a_scale, rank), b_scale), rank);
    tn_value to = lift(c, by_row(c, imp_in(c, 6), rank), rank),
             zero = lift(c, by_row(c, imp_in(c, 7), rank), rank);
    imp_out(c, 0, requantize(c, y, scale, to, zero, -1));
}

/* sums * scale (+ bias), real. */
static tn_value real_sums(imp_node *c, tn_value y, tn_value scale, tn_value bias)
{
    tn_dtype t = dtype_of(scale);
    y = times(c, y, scale);
    y = bias.def ? imp_binary(c, &tn_op_add, y, imp_cast(c, bias, TN_F32)) : y;
    return imp_cast(c, y, t);
}

/* A, B, A scale, B scale, A zero point, B zero point, bias */
static void matmul_integer_to_float(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1), a_scale = imp_in(c, 2), b_scale = imp_in(c, 3);
    tn_value a_zero = zero_or(c, 4, dtype_of(a)), b_zero = zero_or(c, 5, dtype_of(b));
    tn_value y = matmul_sums(c, a, b, a_zero, b_zero);
    tn_value scale = imp_binary(c, &tn_op_multiply, by_row(c, a_scale, imp_rank(y)), b_scale);
    imp_out(c, 0, real_sums(c, y, scale, imp_opt(c, 6)));
}

/* A, B, B scale, B zero point, bias */
static void dynamic_quantize_matmul(imp_node *c)
{
    onnx_quantized a = onnx_quantize_dynamic(c, imp_in(c, 0));
    tn_value b = imp_in(c, 1), scale = imp_binary(c, &tn_op_multiply, a.scale, imp_in(c, 2));
    tn_value y = matmul_sums(c, a.y, b, a.zero, zero_or(c, 3, dtype_of(b)));
    imp_out(c, 0, real_sums(c, y, scale, imp_opt(c, 4)));
}

/* A, scale, zero point, B, scale, zero point, C, Y scale, zero point */
static void qgemm(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 3), add = imp_opt(c, 6);
    double alpha = imp_attr_float(c, "alpha", 1);
    a = imp_attr_int(c, "transA", 0) ? imp_transposed(c, a) : a;
    b = imp_attr_int(c, "transB", 0) ? imp_transposed(c, b) : b;
    tn_value y = matmul_sums(c, a, b, imp_in(c, 2), imp_in(c, 5));
    tn_value scale = times(c, imp_in(c, 1), imp_in(c, 4));
    scale = alpha == 1 ? scale : times(c, scale, imp_const(c, TN_F32, alpha));
    y = add.def ? imp_binary(c, &tn_op_add, y, add) : y;
    if (imp_has(c, 7))
        imp_out(c, 0, requantize(c, y, scale, imp_in(c, 7), zero_or(c, 8, dtype_of(a)), 1));
    else
        imp_out(c, 0, real_sums(c, y, scale, (tn_value){0}));
}

/* ---- element by element, through real numbers ---- */

/* A, scale, zero point, B, scale, zero point, C scale, zero point */
static void qlinear_binary(imp_node *c)
{
    static const tn_qnn_binary_attr last = {-1, -1};
    tn_value a = imp_in(c, 0), b = imp_in(c, 3);
    tn_dtype t = dtype_of(a);
    tn_value in[8] = {
        a, b, imp_in(c, 1), zero_or(c, 2, t), imp_in(c, 4), zero_or(c, 5, t), imp_in(c, 6), zero_or(c, 7, t)};
    imp_out(c, 0, imp_call(c, c->row->relay, &last, 8, in));
}

/* X, scale, zero point, Y scale, zero point */
static void qlinear_unary(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = dtype_of(x);
    tn_value in[5] = {x, imp_in(c, 1), zero_or(c, 2, t), imp_in(c, 3), zero_or(c, 4, t)};
    tn_alpha_attr a = {0};
    bool leaky = c->row->relay == &tn_op_qnn_leaky_relu;
    if (leaky)
        a.alpha = imp_attr_float(c, "alpha", 0.01f);
    imp_out(c, 0, imp_call(c, c->row->relay, leaky ? &a : NULL, 5, in));
}

/* The real value of operands at, at + 1, at + 2. */
static tn_value real(imp_node *c, uint32_t at)
{
    tn_value x = imp_in(c, at);
    return dequantize(c, x, imp_in(c, at + 1), zero_or(c, at + 2, dtype_of(x)), -1, TN_F32);
}

static void qlinear_pool(imp_node *c)
{
    tn_dtype t = dtype_of(imp_in(c, 0));
    bool last = imp_attr_int(c, "channels_last", 0) != 0;
    tn_value x = last ? imp_channels_first(c, real(c, 0)) : real(c, 0), y = {0};
    if (c->row->relay == &tn_op_nn_avg_pool2d) {
        y = onnx_average_pool(c, x);
    } else {
        static const int64_t batch_and_channels[] = {0, 1};
        tn_axes_attr a = {tn_ints_make(c->arena, 2, batch_and_channels), true, true};
        y = imp_call1(c, &tn_op_mean, &a, x);
    }
    y = quantize(c, y, imp_in(c, 3), zero_or(c, 4, t), -1, t);
    imp_out(c, 0, last ? imp_channels_last(c, y) : y);
}

static void qlinear_softmax(imp_node *c)
{
    tn_dtype t = dtype_of(imp_in(c, 0));
    tn_value y = onnx_softmax(c, &tn_op_nn_softmax, real(c, 0), imp_attr_int(c, "opset", 13));
    imp_out(c, 0, quantize(c, y, imp_in(c, 3), zero_or(c, 4, t), -1, t));
}

static void qlinear_mean(imp_node *c)
{
    tn_dtype t = dtype_of(imp_in(c, 0));
    tn_axes_attr a = {.keepdims = imp_attr_int(c, "keepdims", 1) != 0};
    (void)imp_attr_ints(c, "axes", &a.axis);
    tn_value y = imp_call1(c, &tn_op_mean, &a, real(c, 0));
    imp_out(c, 0, quantize(c, y, imp_in(c, 3), zero_or(c, 4, t), -1, t));
}

/* Y scale, zero point, then data, scale and zero point of each */
static void qlinear_concat(imp_node *c)
{
    enum { MOST = 1024 };
    uint32_t count = imp_n_in(c) < 2 ? 0 : (imp_n_in(c) - 2) / 3;
    tn_axis_attr a = {imp_attr_int(c, "axis", 1)};
    tn_value scale = imp_in(c, 0), zero = imp_in(c, 1);
    imp_attr_need(c, "axis");
    if (count < 1 || count > MOST || imp_n_in(c) != 2 + 3 * count)
        imp_fail(c, "onnx-E017",
                 "%u operands are given, but it takes two, plus three for each of 1 to %d tensors",
                 (unsigned)imp_n_in(c), MOST);
    if (c->bad)
        return;
    tn_value *part = TN_NEW_N(c->arena, tn_value, count);
    for (uint32_t i = 0; i < count; i++) {
        bool same = tn_value_eq(imp_in(c, 3 * i + 3), scale) && tn_value_eq(imp_in(c, 3 * i + 4), zero);
        part[i] =
            same ? imp_in(c, 3 * i + 2) : quantize(c, real(c, 3 * i + 2), scale, zero, -1, dtype_of(zero));
    }
    imp_out(c, 0, count == 1 ? part[0] : imp_call(c, &tn_op_concatenate, &a, (int)count, part));
}

/* condition, X, scale, zero point, Y, scale, zero point, Z scale, zero point */
static void qlinear_where(imp_node *c)
{
    tn_value in[3] = {imp_in(c, 0), real(c, 1), real(c, 4)};
    tn_dtype t = dtype_of(imp_in(c, 1));
    tn_value y = imp_call(c, &tn_op_where, NULL, 3, in);
    imp_out(c, 0, quantize(c, y, imp_in(c, 7), zero_or(c, 8, t), -1, t));
}

// clang-format off
const imp_row onnx_rows_quant[] = {
    {"QuantizeLinear",        10,  0, 3, 1, quantize_linear,         NULL},
    {"DequantizeLinear",      10,  0, 3, 1, dequantize_linear,       NULL},
    {"DynamicQuantizeLinear", 11,  0, 1, 3, dynamic_quantize_linear, NULL},
    {"ConvInteger",           10,  0, 4, 1, conv_integer,            NULL},
    {"QLinearConv",           10,  0, 9, 1, qlinear_conv,            NULL},
    {"MatMulInteger",         10,  0, 4, 1, matmul_integer,          NULL},
    {"QLinearMatMul",         10,  0, 8, 1, qlinear_matmul,          NULL},
    {0},
};

const imp_row onnx_rows_microsoft[] = {
    {"QuantizeLinear",           1, 0,  3, 1, quantize_linear,         NULL},
    {"DequantizeLinear",         1, 0,  3, 1, dequantize_linear,       NULL},
    {"QLinearAdd",               1, 0,  8, 1, qlinear_binary,          &tn_op_qnn_add},
    {"QLinearMul",               1, 0,  8, 1, qlinear_binary,          &tn_op_qnn_mul},
    {"QLinearSigmoid",           1, 0,  5, 1, qlinear_unary,           &tn_op_qnn_sigmoid},
    {"QLinearLeakyRelu",         1, 0,  5, 1, qlinear_unary,           &tn_op_qnn_leaky_relu},
    {"QLinearAveragePool",       1, 0,  5, 1, qlinear_pool,            &tn_op_nn_avg_pool2d},
    {"QLinearGlobalAveragePool", 1, 0,  5, 1, qlinear_pool,            &tn_op_mean},
    {"QLinearConv",              1, 0,  9, 1, qlinear_conv,            NULL},
    {"QLinearSoftmax",           1, 0,  5, 1, qlinear_softmax,         NULL},
    {"QLinearReduceMean",        1, 0,  5, 1, qlinear_mean,            NULL},
    {"QLinearConcat",            1, 0, -1, 1, qlinear_concat,          NULL},
    {"QLinearWhere",             1, 0,  9, 1, qlinear_where,           NULL},
    {"QGemm",                    1, 0,  9, 1, qgemm,                   NULL},
    {"MatMulIntegerToFloat",     1, 0,  7, 1, matmul_integer_to_float, NULL},
    {"DynamicQuantizeMatMul",    1, 0,  5, 1, dynamic_quantize_matmul, NULL},
    {0},
};
// clang-format on
