/* How calls of Relay are written as nodes of NNVM. Attributes that NNVM lacks are refused. */
#include "frontend/mxnet/nnvm_write.h"

#include "op/image/image.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- elementwise ---- */

/* A node of all operands, without attributes. */
static void plain(nw_call *c)
{
    uint32_t in = nw_in(c, 0);
    nw_out(c, nw_node(c, c->row->op, true, 1, &in));
}

static bool same_shape(const tn_type *a, const tn_type *b)
{
    return a->n == b->n && memcmp(a->dim, b->dim, a->n * sizeof *a->dim) == 0;
}

static uint32_t pair(nw_call *c, bool last, const char *same, const char *repeated)
{
    const uint32_t in[] = {nw_in_wide(c, 0), nw_in_wide(c, 1)};
    bool is_same = same_shape(tn_in_type(c->n, 0), tn_in_type(c->n, 1));
    return nw_node(c, is_same ? same : repeated, last, 2, in);
}

static void with_number(nw_call *c, const char *op, uint32_t other, double v)
{
    uint32_t in = nw_in(c, other);
    nw_real(c, "scalar", v);
    nw_out(c, nw_node(c, op, true, 1, &in));
}

static void binary(nw_call *c)
{
    double v;
    if (c->row->other[1] && nw_in_number(c, 1, &v))
        with_number(c, c->row->other[1], 0, v);
    else if (c->row->other[2] && nw_in_number(c, 0, &v))
        with_number(c, c->row->other[2], 1, v);
    else
        nw_out(c, pair(c, true, c->row->op, c->row->other[0]));
}

/* NNVM divides whole numbers towards 0. */
static void divide(nw_call *c)
{
    bool whole = tn_dtype_is_int(c->n->type[0]->dtype), down = tn_op_is(c->n, &tn_op_divide);
    if (whole ? down : !down)
        nw_refuse(c, "NNVM divides whole numbers towards 0, and others exactly");
    binary(c);
}

static void compare(nw_call *c)
{
    nw_out_as(c, pair(c, true, c->row->op, c->row->op), tn_in_type(c->n, 0)->dtype);
}

static uint32_t cast_to(nw_call *c, nw_value v, tn_dtype t, bool last)
{
    if (tn_dtype_eq(v.dtype, t))
        return v.node;
    nw_word(c, "dtype", nw_dtype_name(c, t));
    return nw_node(c, "cast", last, 1, &v.node);
}

/* Of tensors of 0 and 1: products, the larger one, 1 - x. */
static void logical(nw_call *c)
{
    nw_value a = nw_in_any(c, 0), b = nw_in_any(c, 1);
    const uint32_t in[] = {a.node, cast_to(c, b, a.dtype, false)};
    nw_out_as(c, nw_node(c, c->row->op, true, 2, in), a.dtype);
}

static void logical_not(nw_call *c)
{
    nw_value v = nw_in_any(c, 0);
    nw_real(c, "scalar", 1);
    nw_out_as(c, nw_node(c, c->row->op, true, 1, &v.node), v.dtype);
}

/* A tensor of a type as one of the result's shape. */
static uint32_t repeated(nw_call *c, uint32_t node, const tn_type *t)
{
    int64_t shape[UINT8_MAX], own[UINT8_MAX];
    const tn_type *to = c->n->type[0];
    const int more = to->n - t->n;
    if (c->bad || to->n > UINT8_MAX || same_shape(t, to))
        return node;
    for (int d = 0; d < to->n; d++) {
        shape[d] = nw_result_extent(c, d);
        own[d] = 1;
        if (d >= more)
            (void)tn_is_int(t->dim[d - more], &own[d]);
    }
    if (more) {
        nw_tuple(c, "shape", to->n, own);
        node = nw_node(c, "reshape", false, 1, &node);
    }
    nw_tuple(c, "shape", to->n, shape);
    return nw_node(c, "broadcast_to", false, 1, &node);
}

static void where(nw_call *c)
{
    uint32_t in[3] = {nw_in_any(c, 0).node, nw_in_wide(c, 1), nw_in_wide(c, 2)};
    for (int i = 0; i < 3; i++)
        in[i] = repeated(c, in[i], tn_in_type(c->n, i));
    nw_out(c, nw_node(c, "where", true, 3, in));
}

static void cast(nw_call *c)
{
    tn_dtype to = ((const tn_cast_attr *)c->n->attr)->dtype;
    nw_value v = nw_in_any(c, 0);
    if (!tn_dtype_is_bool(to)) {
        nw_out(c, cast_to(c, v, to, true));
        return;
    }
    if (!tn_dtype_is_bool(tn_in_type(c->n, 0)->dtype)) { /* not 0 */
        nw_tuple(c, "shape", 1, &(int64_t){1});
        nw_word(c, "dtype", nw_dtype_name(c, v.dtype));
        nw_real(c, "fill_value", 0);
        const uint32_t in[] = {v.node, nw_node(c, "full", false, 0, NULL)};
        v.node = nw_node(c, "broadcast_not_equal", true, 2, in);
    }
    nw_out_as(c, v.node, v.dtype);
}

static void clip(nw_call *c)
{
    const tn_clip_attr *a = c->n->attr;
    nw_real(c, "a_min", a->a_min);
    nw_real(c, "a_max", a->a_max);
    plain(c);
}

static void leaky_relu(nw_call *c)
{
    nw_real(c, "alpha", ((const tn_alpha_attr *)c->n->attr)->alpha);
    plain(c);
}

/* The slopes lie along axis 1: a shape of 1s but for the channels. */
static void prelu(nw_call *c)
{
    const tn_type *t = tn_in_type(c->n, 1);
    const int rank = nw_rank(c, 0), at = t->n - rank + 1; /* where axis 1 is in the slopes */
    bool fits = rank > 1 && at >= 0 && nw_extent(c, 1, at) == nw_extent(c, 0, 1);
    for (int d = 0; d < t->n && fits; d++)
        fits = d == at || nw_extent(c, 1, d) == 1;
    if (!fits)
        nw_refuse(c, "slopes that do not run along axis 1 alone are operands, which NNVM does not have");
    uint32_t in[2] = {nw_in(c, 0), nw_in(c, 1)};
    if (t->n > 1) {
        nw_tuple(c, "shape", 1, &(int64_t){c->bad ? 0 : nw_extent(c, 0, 1)});
        in[1] = nw_node(c, "reshape", false, 1, &in[1]);
    }
    nw_out(c, nw_node(c, "prelu", true, 2, in));
}

/* ---- shapes and movement ---- */

static void shape_of_result(nw_call *c)
{
    int64_t shape[UINT8_MAX];
    const int rank = c->n->type[0]->n;
    for (int d = 0; d < rank && d < UINT8_MAX; d++)
        shape[d] = nw_result_extent(c, d);
    nw_tuple(c, "shape", (size_t)rank, shape);
}

static void reshape(nw_call *c)
{
    nw_value v = nw_in_any(c, 0);
    shape_of_result(c);
    nw_out_as(c, nw_node(c, "reshape", true, 1, &v.node), v.dtype);
}

static void broadcast_to(nw_call *c)
{
    nw_value v = {nw_in_wide(c, 0), tn_in_type(c->n, 0)->dtype};
    uint32_t node = repeated(c, v.node, tn_in_type(c->n, 0));
    nw_out(c, node);
}

static void expand_dims(nw_call *c)
{
    const tn_expand_dims_attr *a = c->n->attr;
    nw_value v = nw_in_any(c, 0);
    if (a->num_newaxis != 1) {
        reshape(c);
        return;
    }
    nw_int(c, "axis", nw_axis(a->axis, c->n->type[0]->n));
    nw_out_as(c, nw_node(c, "expand_dims", true, 1, &v.node), v.dtype);
}

static void transpose(nw_call *c)
{
    const tn_transpose_attr *a = c->n->attr;
    const int rank = nw_rank(c, 0);
    int64_t axes[UINT8_MAX];
    nw_value v = nw_in_any(c, 0);
    for (int d = 0; d < rank && d < UINT8_MAX; d++)
        axes[d] = a->axes.at ? nw_axis(a->axes.at[d], rank) : rank - 1 - d;
    nw_tuple(c, "axes", (size_t)rank, axes);
    nw_out_as(c, nw_node(c, "transpose", true, 1, &v.node), v.dtype);
}

static void concatenate(nw_call *c)
{
    const uint32_t n = c->n->nin;
    uint32_t *in = TN_NEW_N(c->w->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        in[i] = nw_in(c, i);
    nw_int(c, "axis", nw_axis(((const tn_axis_attr *)c->n->attr)->axis, nw_rank(c, 0)));
    nw_out(c, nw_node(c, "concatenate", true, n, in));
}

/* Positions that are outside were clipped by the type relation; a step back to the very first element ends before it,
 * which is one below the axis, counted from its end. */
static void strided_slice(nw_call *c)
{
    const tn_slice_attr *a = c->n->attr;
    const int rank = nw_rank(c, 0);
    int64_t begin[UINT8_MAX] = {0}, end[UINT8_MAX], step[UINT8_MAX], first[UINT8_MAX];
    uint32_t in = nw_in(c, 0);
    for (int d = 0; d < rank && d < UINT8_MAX; d++) {
        step[d] = 1;
        begin[d] = 0;
    }
    if (!nw_numbers(c, "begin", a->begin, a->begin.n, first))
        return;
    for (uint32_t i = 0; i < a->begin.n; i++) {
        int64_t d = a->axes.at ? nw_axis(a->axes.at[i], rank) : i;
        step[d] = i < a->strides.n ? a->strides.at[i] : 1;
        begin[d] = first[i] < 0 ? first[i] + nw_extent(c, 0, (int)d) : first[i];
    }
    for (int d = 0; d < rank; d++) {
        const int64_t extent = nw_extent(c, 0, d);
        begin[d] = begin[d] >= extent ? extent - 1 : begin[d];
        end[d] = begin[d] + (nw_result_extent(c, d) - 1) * step[d] + (step[d] > 0 ? 1 : -1);
        end[d] = end[d] < 0 ? end[d] - extent : end[d];
    }
    nw_tuple(c, "begin", (size_t)rank, begin);
    nw_tuple(c, "end", (size_t)rank, end);
    nw_tuple(c, "stride", (size_t)rank, step);
    nw_out(c, nw_node(c, "strided_slice", true, 1, &in));
}

static void take(nw_call *c)
{
    const tn_take_attr *a = c->n->attr;
    const uint32_t in[] = {nw_in(c, 0), nw_in(c, 1)};
    if (strcmp(a->mode, "clip") != 0)
        nw_refuse(c, "attribute mode is \"%s\", but NNVM takes the nearest element of indices outside",
                  a->mode);
    nw_int(c, "axis", nw_axis(a->axis, nw_rank(c, 0)));
    nw_out(c, nw_node(c, "take", true, 2, in));
}

static void pad(nw_call *c)
{
    const tn_pad_attr *a = c->n->attr;
    const uint32_t n = 2 * (uint32_t)nw_rank(c, 0);
    int64_t width[2 * UINT8_MAX];
    double value = a->pad_value;
    tn_buf text = {0};
    uint32_t in = nw_in(c, 0);
    if (strcmp(a->pad_mode, "constant") != 0)
        nw_refuse(c, "attribute pad_mode is \"%s\", but NNVM pads with a constant", a->pad_mode);
    if (c->n->nin > 1 && c->n->in[1].def && !nw_in_number(c, 1, &value))
        nw_refuse(c, "the value to pad with is computed, which NNVM does not have");
    if ((double)(float)value != value)
        nw_refuse(c, "the value to pad with, %.17g, is no float32, as NNVM has it", value);
    if (!nw_numbers(c, "pad_width", a->pad_width, n, width))
        return;
    for (uint32_t i = 0; i < n; i += 2) {
        if (width[i] < 0 || width[i + 1] < 0)
            nw_refuse(c, "attribute pad_width is negative, which NNVM does not have");
        tn_buf_printf(&text, "%s(%lld, %lld)", i ? ", " : "(", (long long)width[i], (long long)width[i + 1]);
    }
    tn_buf_str(&text, n == 2 ? ",)" : ")");
    nw_word(c, "pad_width", tn_buf_cstr(&text));
    nw_real(c, "pad_value", value);
    tn_buf_deinit(&text);
    nw_out(c, nw_node(c, "pad", true, 1, &in));
}

/* ---- reductions ---- */

static void reduce(nw_call *c)
{
    const tn_axes_attr *a = c->n->attr;
    const int rank = nw_rank(c, 0);
    int64_t axes[UINT8_MAX];
    uint32_t in = nw_in(c, 0), n = 0;
    for (int d = 0; d < rank && d < UINT8_MAX; d++) {
        bool listed = !a->axis.at;
        for (uint32_t i = 0; i < a->axis.n; i++)
            listed = listed || nw_axis(a->axis.at[i], rank) == d;
        if (listed != a->exclude || !a->axis.at)
            axes[n++] = d;
    }
    nw_tuple(c, "axis", n, axes); /* none are all to NNVM */
    nw_bool(c, "keepdims", a->keepdims);
    if (!n)
        nw_refuse(c, "no axis is reduced, but to NNVM that means all");
    nw_out(c, nw_node(c, c->row->op, true, 1, &in));
}

static void arg(nw_call *c)
{
    const tn_arg_attr *a = c->n->attr;
    uint32_t in = nw_in(c, 0);
    if (a->select_last_index)
        nw_refuse(c, "attribute select_last_index is True, but NNVM gives the first of equal elements");
    nw_int(c, "axis", nw_axis(a->axis, nw_rank(c, 0)));
    nw_bool(c, "keepdims", a->keepdims);
    bool own = tn_dtype_eq(a->dtype, TN_I32);
    nw_value v = {nw_node(c, c->row->op, own, 1, &in), TN_I32};
    nw_out(c, cast_to(c, v, a->dtype, true));
}

static void softmax(nw_call *c)
{
    nw_int(c, "axis", nw_axis(((const tn_axis_attr *)c->n->attr)->axis, nw_rank(c, 0)));
    plain(c);
}

// clang-format off
#define ARITHMETIC(relay, nnvm, repeated, right, left) \
    {&tn_op_##relay, "elemwise_" nnvm, binary, {"broadcast_" repeated, right, left}}
#define COMPARE(relay) {&tn_op_##relay, "broadcast_" #relay, compare, {NULL}}
#define PLAIN(relay, nnvm) {&tn_op_##relay, nnvm, plain, {NULL}}
#define ROW(relay, nnvm, write) {&tn_op_##relay, nnvm, write, {NULL}}
const nw_row nw_rows[] = {
    ARITHMETIC(add,      "add", "add", "__add_scalar__", "__add_scalar__"),
    ARITHMETIC(subtract, "sub", "sub", "__sub_scalar__", "__rsub_scalar__"),
    ARITHMETIC(multiply, "mul", "mul", "__mul_scalar__", "__mul_scalar__"),
    ARITHMETIC(power,    "pow", "pow", "__pow_scalar__", "__rpow_scalar__"),
    {&tn_op_divide,       "elemwise_div", divide, {"broadcast_div", "__div_scalar__", "__rdiv_scalar__"}},
    {&tn_op_trunc_divide, "elemwise_div", divide, {"broadcast_div", "__div_scalar__", "__rdiv_scalar__"}},
    {&tn_op_maximum, "broadcast_max", binary, {"broadcast_max", NULL, NULL}},
    {&tn_op_minimum, "broadcast_min", binary, {"broadcast_min", NULL, NULL}},
    COMPARE(equal), COMPARE(not_equal), COMPARE(greater), COMPARE(greater_equal), COMPARE(less), COMPARE(less_equal),
    ROW(logical_and, "broadcast_mul", logical), ROW(logical_or, "broadcast_max", logical),
    ROW(logical_not, "__rsub_scalar__", logical_not),
    ROW(where, NULL, where), ROW(cast, NULL, cast), ROW(clip, "clip", clip),
    PLAIN(nn_relu, "relu"), PLAIN(sigmoid, "sigmoid"), PLAIN(tanh, "tanh"), PLAIN(exp, "exp"), PLAIN(log, "log"),
    PLAIN(sqrt, "sqrt"), PLAIN(negative, "negative"), PLAIN(abs, "abs"), PLAIN(floor, "floor"), PLAIN(ceil, "ceil"),
    PLAIN(trunc, "trunc"), PLAIN(nn_batch_flatten, "flatten"),
    ROW(nn_leaky_relu, "leaky_relu", leaky_relu), ROW(nn_prelu, NULL, prelu),
    ROW(reshape, NULL, reshape), ROW(squeeze, NULL, reshape), ROW(expand_dims, NULL, expand_dims),
    ROW(broadcast_to, NULL, broadcast_to), ROW(transpose, NULL, transpose), ROW(concatenate, NULL, concatenate),
    ROW(strided_slice, NULL, strided_slice), ROW(take, NULL, take), ROW(nn_pad, NULL, pad),
    ROW(sum, "sum", reduce), ROW(mean, "mean", reduce), ROW(max, "max", reduce), ROW(min, "min", reduce),
    ROW(prod, "prod", reduce), ROW(argmax, "argmax", arg), ROW(argmin, "argmin", arg),
    ROW(nn_softmax, "softmax", softmax), ROW(nn_log_softmax, "log_softmax", softmax),
    ROW(nn_conv2d, "conv2d", nw_layer), ROW(nn_dense, "dense", nw_layer),
    ROW(nn_conv2d_transpose, "conv2d_transpose", nw_layer), ROW(nn_bias_add, NULL, nw_bias_add),
    ROW(nn_max_pool2d, "max_pool2d", nw_pool2d), ROW(nn_avg_pool2d, "avg_pool2d", nw_pool2d),
    PLAIN(nn_global_max_pool2d, "global_max_pool2d"), PLAIN(nn_global_avg_pool2d, "global_avg_pool2d"),
    ROW(nn_batch_norm, "batch_norm", nw_batch_norm), ROW(nn_lrn, "lrn", nw_lrn),
    ROW(image_resize2d, "resize", nw_resize),
    {0},
};
// clang-format on
