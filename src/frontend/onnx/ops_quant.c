/* Quantised operators: QuantizeLinear and its kin, QLinear*, *Integer, and those of com.microsoft.
 *
 * Products become qnn.* operators that give int32 sums, then one qnn.requantize; pooling and operators of one element
 * each go through real numbers, as ONNX Runtime's do.
 */
#include "frontend/onnx/onnx.h"

#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- scales and zero points ---- */

/* Zero point i, or one of 0 in dtype t. */
static tn_value zero_or(onnx_conv *c, uint32_t i, tn_dtype t)
{
    return onnx_has(c, i) ? onnx_in(c, i) : onnx_const(c, t, 0);
}

static tn_dtype dtype_of(tn_value v) { return onnx_type(v)->dtype; }

/* The axis that a vector of scales runs along; -1 where it has none. */
static int64_t scale_axis(onnx_conv *c, tn_value scale, int64_t axis, int rank)
{
    bool vector = onnx_rank(scale) == 1 && !tn_is_value(onnx_type(scale)->dim[0], 1);
    return vector ? onnx_axis(c, axis, rank) : -1;
}

static tn_value quantize(onnx_conv *c, tn_value x, tn_value scale, tn_value zero, int64_t axis, tn_dtype t)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = t};
    return onnx_call(c, &tn_op_qnn_quantize, &a, 3, (const tn_value[]){x, scale, zero});
}

static tn_value dequantize(onnx_conv *c, tn_value x, tn_value scale, tn_value zero, int64_t axis, tn_dtype t)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = t};
    return onnx_call(c, &tn_op_qnn_dequantize, &a, 3, (const tn_value[]){x, scale, zero});
}

static tn_value times(onnx_conv *c, tn_value a, tn_value b)
{
    return onnx_call2(c, &tn_op_multiply, NULL, onnx_cast(c, a, TN_F32), onnx_cast(c, b, TN_F32));
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* One scale for each block of `size` elements along axis: the blocks' entries repeated. */
static tn_value repeat_blocks(onnx_conv *c, tn_value v, const tn_type *data, int axis, int64_t size)
{
    int64_t extent, blocks;
    tn_take_attr a = {axis, "clip"};
    if (c->bad)
        return v;
    if (onnx_rank(v) != data->n || !tn_is_int(data->dim[axis], &extent) ||
        !tn_is_int(onnx_type(v)->dim[axis], &blocks) || size < 1 || blocks != (extent + size - 1) / size) {
        onnx_fail(c, "onnx-E009", "block_size %lld does not fit scales %s of data %s", (long long)size,
                  onnx_type_text(c, onnx_type(v)), onnx_type_text(c, data));
        return v;
    }
    int64_t *index = TN_NEW_N(c->arena, int64_t, (size_t)extent);
    for (int64_t i = 0; i < extent; i++)
        index[i] = i / size;
    return onnx_call2(c, &tn_op_take, &a, v, onnx_const_ints(c, TN_I64, 1, (uint32_t)extent, index));
}

typedef struct grid {
    tn_value scale, zero;
    int64_t axis;
} grid; /* operands 1 and 2 for the data of operand 0 */

static grid read_grid(onnx_conv *c, tn_value x, tn_dtype zero_dtype)
{
    int rank = onnx_rank(x);
    grid q = {onnx_in(c, 1), zero_or(c, 2, zero_dtype), 0};
    int64_t axis = onnx_attr_int(c, "axis", 1), block = onnx_attr_int(c, "block_size", 0);
    q.axis = scale_axis(c, q.scale, axis, rank);
    if (block == 0 || c->bad)
        return q;
    int at = onnx_axis(c, axis, rank);
    q.scale = repeat_blocks(c, q.scale, onnx_type(x), at, block);
    if (onnx_has(c, 2))
        q.zero = repeat_blocks(c, q.zero, onnx_type(x), at, block);
    return q;
}

/* Attribute `name` as a dtype; `def` where absent or 0. */
static tn_dtype attr_dtype(onnx_conv *c, const char *name, tn_dtype def)
{
    int64_t type = onnx_attr_int(c, name, 0);
    tn_dtype t = def;
    if (type != 0 && !onnx_dtype(c->im, type, name, c->loc, &t))
        c->bad = true;
    return t;
}

static void quantize_linear(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    tn_dtype t = attr_dtype(c, "output_dtype", TN_U8);
    onnx_attr_ignore(c, "saturate"); /* of float8, which is refused */
    tn_dtype precision = attr_dtype(c, "precision", TN_F32);
    if (!tn_dtype_eq(precision, TN_F32))
        onnx_fail(c, "onnx-E009", "precision must be FLOAT or absent; divisions are done in float32");
    t = onnx_has(c, 2) ? dtype_of(onnx_in(c, 2)) : t;
    grid q = read_grid(c, x, t);
    onnx_out(c, 0, quantize(c, x, q.scale, q.zero, q.axis, t));
}

static void dequantize_linear(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    grid q = read_grid(c, x, dtype_of(x));
    tn_dtype t = attr_dtype(c, "output_dtype", dtype_of(q.scale));
    onnx_out(c, 0, dequantize(c, x, q.scale, q.zero, q.axis, t));
}

/* ---- DynamicQuantizeLinear ---- */

typedef struct dynamic {
    tn_value y, scale, zero;
} dynamic;

/* uint8 over the range of x and 0: scale = range / 255 (1 if there is none), zero point round(-min / scale). */
static dynamic quantize_dynamic(onnx_conv *c, tn_value x)
{
    tn_axes_attr all = {{0}, false, false};
    tn_value none = onnx_const(c, TN_F32, 0), one = onnx_const(c, TN_F32, 1);
    tn_value low = onnx_call2(c, &tn_op_minimum, NULL, onnx_call1(c, &tn_op_min, &all, x), none);
    tn_value high = onnx_call2(c, &tn_op_maximum, NULL, onnx_call1(c, &tn_op_max, &all, x), none);
    tn_value range = onnx_call2(c, &tn_op_subtract, NULL, high, low);
    tn_value scale = onnx_call2(c, &tn_op_divide, NULL, range, onnx_const(c, TN_F32, 255));
    tn_value flat = onnx_call2(c, &tn_op_equal, NULL, scale, none), choice[] = {flat, one, scale};
    dynamic d = {.scale = onnx_call(c, &tn_op_where, NULL, 3, choice)};
    tn_value zero =
        onnx_call2(c, &tn_op_divide, NULL, onnx_call2(c, &tn_op_subtract, NULL, none, low), d.scale);
    d.zero = onnx_cast(c, onnx_call1(c, &tn_op_round, NULL, zero), TN_U8);
    d.y = quantize(c, x, d.scale, d.zero, -1, TN_U8);
    return d;
}

static void dynamic_quantize_linear(onnx_conv *c)
{
    dynamic d = quantize_dynamic(c, onnx_in(c, 0));
    onnx_out(c, 0, d.y);
    onnx_out(c, 1, d.scale);
    onnx_out(c, 2, d.zero);
}

/* ---- convolution ---- */

/* One entry a dimension, of one dimension: the same with a row before. */
static tn_ints with_row(onnx_conv *c, tn_ints v)
{
    return v.n == 1 ? tn_ints_make(c->arena, 2, (const int64_t[]){1, v.at[0]}) : v;
}

static tn_value drop_row(onnx_conv *c, tn_value y, bool line)
{
    static const int64_t row = 2;
    tn_squeeze_attr s = {tn_ints_make(c->arena, 1, &row)};
    return line ? onnx_call1(c, &tn_op_squeeze, &s, y) : y;
}

/* qnn.conv2d: int32 sums of data, weight, zero points and scales (absent: 1). Data of one dimension (*out_line) is an
 * image of one row, also in the result. */
static tn_value conv_sums(onnx_conv *c, const tn_value in[6], bool *out_line)
{
    static const tn_expand_dims_attr row = {2, 1};
    tn_value operand[6];
    tn_conv2d_attr a;
    *out_line = onnx_rank(in[0]) == 3;
    if (onnx_rank(in[0]) > 4)
        onnx_fail(c, "onnx-E022", "%s on %s is not supported, only 1-D and 2-D (three and four dimensions)",
                  c->row->op, onnx_type_text(c, onnx_type(in[0])));
    if (!onnx_conv_attr(c, in[0], in[1], &tn_op_qnn_conv2d, &a))
        return (tn_value){0};
    for (int i = 0; i < 6; i++)
        operand[i] = i >= 4 && !in[i].def ? onnx_const(c, TN_F32, 1)
                     : *out_line && (i < 2 || onnx_rank(in[i]) == 3)
                         ? onnx_call1(c, &tn_op_expand_dims, &row, in[i])
                         : in[i];
    if (*out_line) {
        const tn_expr *none = tn_idx(c->pool, 0);
        a.strides = with_row(c, a.strides);
        a.dilation = with_row(c, a.dilation);
        a.padding =
            tn_dims_make(c->arena, 4, (const tn_expr *const[]){none, a.padding.at[0], none, a.padding.at[1]});
        a.kernel_size = with_row(c, a.kernel_size);
    }
    return onnx_call(c, &tn_op_qnn_conv2d, &a, 6, operand);
}

static void conv_integer(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0), w = onnx_in(c, 1);
    tn_value in[6] = {x, w, zero_or(c, 2, dtype_of(x)), zero_or(c, 3, dtype_of(w))};
    bool line;
    tn_value y = conv_sums(c, in, &line);
    onnx_out(c, 0, drop_row(c, y, line));
}

static tn_value requantize(onnx_conv *c, tn_value y, tn_value from, tn_value to, tn_value zero, int64_t axis)
{
    tn_qnn_attr a = {.axis = axis, .out_dtype = dtype_of(zero)};
    tn_value in[] = {y, from, onnx_const(c, TN_I32, 0), to, zero};
    return onnx_call(c, &tn_op_qnn_requantize, &a, 5, in);
}

static void qlinear_conv(onnx_conv *c)
{
    static const tn_axis_attr channels = {1};
    tn_value x = onnx_in(c, 0), w = onnx_in(c, 3), x_scale = onnx_in(c, 1), w_scale = onnx_in(c, 4);
    tn_value in[6] = {x, w, onnx_in(c, 2), onnx_in(c, 5), x_scale, w_scale}, bias = onnx_opt(c, 8);
    bool line;
    tn_value y = conv_sums(c, in, &line);
    y = bias.def ? onnx_call2(c, &tn_op_nn_bias_add, &channels, y, bias) : y;
    y = requantize(c, y, times(c, x_scale, w_scale), onnx_in(c, 6), onnx_in(c, 7), 1);
    onnx_out(c, 0, drop_row(c, y, line));
}

/* ---- matrix products ---- */

/* Zero points and scales of matrices: one number, one for each row (axis -2) or column (-1), or broadcasting. One for
 * each row gets a dimension behind. */
static tn_value by_row(onnx_conv *c, tn_value v, int rank)
{
    tn_expand_dims_attr behind = {1, 1};
    bool vector = rank > 1 && onnx_rank(v) == 1 && !tn_is_value(onnx_type(v)->dim[0], 1);
    return vector ? onnx_call1(c, &tn_op_expand_dims, &behind, v) : v;
}

/* [1, N] of a matrix is [N]. */
static tn_value by_column(onnx_conv *c, tn_value v)
{
    tn_squeeze_attr all = {{0}};
    return onnx_rank(v) == 2 && tn_is_value(onnx_type(v)->dim[0], 1) ? onnx_call1(c, &tn_op_squeeze, &all, v)
                                                                     : v;
}

/* Leading dimensions of 1 up to `rank`, where v has more than one dimension. */
static tn_value lift(onnx_conv *c, tn_value v, int rank)
{
    tn_expand_dims_attr before = {0, rank - onnx_rank(v)};
    return onnx_rank(v) > 1 && before.num_newaxis > 0 ? onnx_call1(c, &tn_op_expand_dims, &before, v) : v;
}

static tn_value matmul_sums(onnx_conv *c, tn_value a, tn_value b, tn_value a_zero, tn_value b_zero)
{
    onnx_zeros z = {lift(c, by_row(c, a_zero, onnx_rank(a)), onnx_rank(a)), by_column(c, b_zero)};
    return onnx_matmul(c, a, b, &z);
}

static void matmul_integer(onnx_conv *c)
{
    tn_value a = onnx_in(c, 0), b = onnx_in(c, 1);
    onnx_out(c, 0, matmul_sums(c, a, b, zero_or(c, 2, dtype_of(a)), zero_or(c, 3, dtype_of(b))));
}

static void qlinear_matmul(onnx_conv *c)
{
    tn_value a = onnx_in(c, 0), b = onnx_in(c, 3), a_scale = onnx_in(c, 1), b_scale = onnx_in(c, 4);
    tn_value y = matmul_sums(c, a, b, onnx_in(c, 2), onnx_in(c, 5));
    int rank = onnx_rank(y);
    tn_value scale = lift(c, times(c, by_row(c, a_scale, rank), b_scale), rank);
    tn_value to = lift(c, by_row(c, onnx_in(c, 6), rank), rank),
             zero = lift(c, by_row(c, onnx_in(c, 7), rank), rank);
    onnx_out(c, 0, requantize(c, y, scale, to, zero, -1));
}

/* sums * scale (+ bias), real. */
static tn_value real_sums(onnx_conv *c, tn_value y, tn_value scale, tn_value bias)
{
    tn_dtype t = dtype_of(scale);
    y = onnx_call2(c, &tn_op_multiply, NULL, onnx_cast(c, y, TN_F32), onnx_cast(c, scale, TN_F32));
    y = bias.def ? onnx_call2(c, &tn_op_add, NULL, y, onnx_cast(c, bias, TN_F32)) : y;
    return onnx_cast(c, y, t);
}

/* A, B, A scale, B scale, A zero point, B zero point, bias */
static void matmul_integer_to_float(onnx_conv *c)
{
    tn_value a = onnx_in(c, 0), b = onnx_in(c, 1), a_scale = onnx_in(c, 2), b_scale = onnx_in(c, 3);
    tn_value y = matmul_sums(c, a, b, zero_or(c, 4, dtype_of(a)), zero_or(c, 5, dtype_of(b)));
    tn_value scale = onnx_call2(c, &tn_op_multiply, NULL, by_row(c, a_scale, onnx_rank(y)), b_scale);
    onnx_out(c, 0, real_sums(c, y, scale, onnx_opt(c, 6)));
}

/* A, B, B scale, B zero point, bias */
static void dynamic_quantize_matmul(onnx_conv *c)
{
    dynamic a = quantize_dynamic(c, onnx_in(c, 0));
    tn_value b = onnx_in(c, 1), scale = onnx_call2(c, &tn_op_multiply, NULL, a.scale, onnx_in(c, 2));
    tn_value y = matmul_sums(c, a.y, b, a.zero, zero_or(c, 3, dtype_of(b)));
    onnx_out(c, 0, real_sums(c, y, scale, onnx_opt(c, 4)));
}

/* A, scale, zero point, B, scale, zero point, C, Y scale, zero point */
static void qgemm(onnx_conv *c)
{
    tn_value a = onnx_in(c, 0), b = onnx_in(c, 3), add = onnx_opt(c, 6);
    double alpha = onnx_attr_float(c, "alpha", 1);
    a = onnx_attr_int(c, "transA", 0) ? onnx_transposed(c, a) : a;
    b = onnx_attr_int(c, "transB", 0) ? onnx_transposed(c, b) : b;
    tn_value y = matmul_sums(c, a, b, onnx_in(c, 2), onnx_in(c, 5));
    tn_value scale = times(c, onnx_in(c, 1), onnx_in(c, 4));
    scale = alpha == 1 ? scale : times(c, scale, onnx_const(c, TN_F32, alpha));
    y = add.def ? onnx_call2(c, &tn_op_add, NULL, y, add) : y;
    if (onnx_has(c, 7))
        onnx_out(c, 0, requantize(c, y, scale, onnx_in(c, 7), zero_or(c, 8, dtype_of(a)), 1));
    else
        onnx_out(c, 0, real_sums(c, y, scale, (tn_value){0}));
}

/* ---- element by element, through real numbers ---- */

/* A, scale, zero point, B, scale, zero point, C scale, zero point */
static void qlinear_binary(onnx_conv *c)
{
    static const tn_qnn_binary_attr last = {-1, -1};
    tn_value a = onnx_in(c, 0), b = onnx_in(c, 3);
    tn_dtype t = dtype_of(a);
    tn_value in[8] = {a,
                      b,
                      onnx_in(c, 1),
                      zero_or(c, 2, t),
                      onnx_in(c, 4),
                      zero_or(c, 5, t),
                      onnx_in(c, 6),
                      zero_or(c, 7, t)};
    onnx_out(c, 0, onnx_call(c, c->row->relay, &last, 8, in));
}

/* X, scale, zero point, Y scale, zero point */
static void qlinear_unary(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    tn_dtype t = dtype_of(x);
    tn_value in[5] = {x, onnx_in(c, 1), zero_or(c, 2, t), onnx_in(c, 3), zero_or(c, 4, t)};
    tn_alpha_attr a = {0};
    bool leaky = c->row->relay == &tn_op_qnn_leaky_relu;
    if (leaky)
        a.alpha = onnx_attr_float(c, "alpha", 0.01f);
    onnx_out(c, 0, onnx_call(c, c->row->relay, leaky ? &a : NULL, 5, in));
}

/* The real value of operands at, at + 1, at + 2. */
static tn_value real(onnx_conv *c, uint32_t at)
{
    tn_value x = onnx_in(c, at);
    return dequantize(c, x, onnx_in(c, at + 1), zero_or(c, at + 2, dtype_of(x)), -1, TN_F32);
}

static void qlinear_pool(onnx_conv *c)
{
    tn_dtype t = dtype_of(onnx_in(c, 0));
    if (onnx_attr_int(c, "channels_last", 0) != 0)
        onnx_fail(c, "onnx-E009", "channels_last=1 is not supported; transpose the data");
    tn_value x = real(c, 0), y = {0};
    if (c->row->relay == &tn_op_nn_avg_pool2d) {
        y = onnx_average_pool(c, x);
    } else {
        static const int64_t batch_and_channels[] = {0, 1};
        tn_axes_attr a = {tn_ints_make(c->arena, 2, batch_and_channels), true, true};
        y = onnx_call1(c, &tn_op_mean, &a, x);
    }
    onnx_out(c, 0, quantize(c, y, onnx_in(c, 3), zero_or(c, 4, t), -1, t));
}

/* Y scale, zero point, then data, scale and zero point of each */
static void qlinear_concat(onnx_conv *c)
{
    enum { MOST = 1024 };
    uint32_t count = onnx_n_in(c) < 2 ? 0 : (onnx_n_in(c) - 2) / 3;
    tn_axis_attr a = {onnx_attr_int(c, "axis", 1)};
    tn_value scale = onnx_in(c, 0), zero = onnx_in(c, 1);
    onnx_attr_need(c, "axis");
    if (count < 1 || count > MOST || onnx_n_in(c) != 2 + 3 * count)
        onnx_fail(c, "onnx-E017",
                  "%u operands are given, but it takes two, plus three for each of 1 to %d tensors",
                  (unsigned)onnx_n_in(c), MOST);
    if (c->bad)
        return;
    tn_value *part = TN_NEW_N(c->arena, tn_value, count);
    for (uint32_t i = 0; i < count; i++) {
        bool same = tn_value_eq(onnx_in(c, 3 * i + 3), scale) && tn_value_eq(onnx_in(c, 3 * i + 4), zero);
        part[i] =
            same ? onnx_in(c, 3 * i + 2) : quantize(c, real(c, 3 * i + 2), scale, zero, -1, dtype_of(zero));
    }
    onnx_out(c, 0, count == 1 ? part[0] : onnx_call(c, &tn_op_concatenate, &a, (int)count, part));
}

/* condition, X, scale, zero point, Y, scale, zero point, Z scale, zero point */
static void qlinear_where(onnx_conv *c)
{
    tn_value in[3] = {onnx_in(c, 0), real(c, 1), real(c, 4)};
    tn_dtype t = dtype_of(onnx_in(c, 1));
    onnx_out(c, 0,
             quantize(c, onnx_call(c, &tn_op_where, NULL, 3, in), onnx_in(c, 7), zero_or(c, 8, t), -1, t));
}

// clang-format off
const onnx_row onnx_rows_quant[] = {
    {"QuantizeLinear",        10, 28, 3, 1, quantize_linear,         NULL},
    {"DequantizeLinear",      10, 28, 3, 1, dequantize_linear,       NULL},
    {"DynamicQuantizeLinear", 11, 28, 1, 3, dynamic_quantize_linear, NULL},
    {"ConvInteger",           10, 28, 4, 1, conv_integer,            NULL},
    {"QLinearConv",           10, 28, 9, 1, qlinear_conv,            NULL},
    {"MatMulInteger",         10, 28, 4, 1, matmul_integer,          NULL},
    {"QLinearMatMul",         10, 28, 8, 1, qlinear_matmul,          NULL},
    {0},
};

const onnx_row onnx_rows_microsoft[] = {
    {"QuantizeLinear",           1, 1,  3, 1, quantize_linear,         NULL},
    {"DequantizeLinear",         1, 1,  3, 1, dequantize_linear,       NULL},
    {"QLinearAdd",               1, 1,  8, 1, qlinear_binary,          &tn_op_qnn_add},
    {"QLinearMul",               1, 1,  8, 1, qlinear_binary,          &tn_op_qnn_mul},
    {"QLinearSigmoid",           1, 1,  5, 1, qlinear_unary,           &tn_op_qnn_sigmoid},
    {"QLinearLeakyRelu",         1, 1,  5, 1, qlinear_unary,           &tn_op_qnn_leaky_relu},
    {"QLinearAveragePool",       1, 1,  5, 1, qlinear_pool,            &tn_op_nn_avg_pool2d},
    {"QLinearGlobalAveragePool", 1, 1,  5, 1, qlinear_pool,            &tn_op_mean},
    {"QLinearConcat",            1, 1, -1, 1, qlinear_concat,          NULL},
    {"QLinearWhere",             1, 1,  9, 1, qlinear_where,           NULL},
    {"QGemm",                    1, 1,  9, 1, qgemm,                   NULL},
    {"MatMulIntegerToFloat",     1, 1,  7, 1, matmul_integer_to_float, NULL},
    {"DynamicQuantizeMatMul",    1, 1,  5, 1, dynamic_quantize_matmul, NULL},
    {0},
};
// clang-format on
