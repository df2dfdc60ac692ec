/* Neural network operators: convolution, pooling, normalisation, Softmax, Dropout. */
#include "frontend/onnx/onnx.h"

#include <string.h>

/* ---- windows of one or two spatial dimensions; Relay's have two ---- */

/* pad: top left bottom right. Of 1-D data, which has one row, only the columns' entries are read. */
typedef struct window { bool line; int64_t kernel[2], stride[2], dilation[2], pad[4]; } window;

/* Data or weight of 1-D operators, with one row. Absent: of another rank, reported. */
static tn_value as_image(onnx_conv *c, tn_value x)
{
    static const tn_expand_dims_attr one_row = {2, 1};
    int rank = onnx_rank(x);
    if (rank == 3)
        return onnx_call1(c, &tn_op_expand_dims, &one_row, x);
    if (rank == 4 || c->bad)
        return x;
    onnx_fail(c, "onnx-E022", "%s%s on %s is not supported, only 1-D and 2-D (three and four dimensions)",
              rank == 5 ? "3-D " : "", c->row->op, onnx_type_text(c, onnx_type(x)));
    return (tn_value){0};
}

tn_value onnx_drop_rows(onnx_conv *c, tn_value y, bool line)
{
    static const int64_t rows = 2;
    tn_squeeze_attr s = {tn_ints_make(c->arena, 1, &rows)};
    return line ? onnx_call1(c, &tn_op_squeeze, &s, y) : y;
}

/* Attribute `name`: `each` lists of one entry for each spatial dimension. */
static void read_list(onnx_conv *c, const char *name, const window *w, uint32_t each, int64_t out[])
{
    tn_ints v;
    uint32_t dims = w->line ? 1 : 2, n = each * dims;
    if (!onnx_attr_ints(c, name, &v) || c->bad)
        return;
    if (v.n != n)
        onnx_fail(c, "onnx-E009", "attribute %s has %u entries, but %u are needed for %u-D data; the model is damaged",
                  name, (unsigned)v.n, (unsigned)n, (unsigned)dims);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        if (v.at[i] < 0 || v.at[i] > INT32_MAX)
            onnx_fail(c, "onnx-E009", "attribute %s has the entry %lld, which is not in [0, 2^31)", name,
                      (long long)v.at[i]);
        out[w->line ? 2 * i + 1 : i] = v.at[i];
    }
}

/* SAME_UPPER, SAME_LOWER: as many outputs as ceil(in / stride); an odd zero goes after, or before. */
static void pad_same(onnx_conv *c, tn_value x, window *w, bool lower)
{
    for (int i = 0; i < 2 && !c->bad; i++) {
        int64_t in, span = (w->kernel[i] - 1) * w->dilation[i] + 1, total = span - 1;
        if (w->stride[i] < 1 || span > INT32_MAX) {
            onnx_fail(c, "onnx-E009", "strides and dilations must be at least 1, windows smaller than 2^31");
        } else if (tn_is_int(onnx_type(x)->dim[2 + i], &in) && in > 0) {
            total = ((in - 1) / w->stride[i]) * w->stride[i] + span - in;
        } else if (w->stride[i] > 1) {
            onnx_fail(c, "onnx-E009",
                      "auto_pad with stride %lld needs data with fixed rows and columns, but it is %s; "
                      "give the input a fixed shape",
                      (long long)w->stride[i], onnx_type_text(c, onnx_type(x)));
        }
        total = total < 0 ? 0 : total;
        w->pad[i] = lower ? total - total / 2 : total / 2;
        w->pad[2 + i] = total - w->pad[i];
    }
}

/* strides, dilations, pads and auto_pad; w->kernel is given. */
static void read_window(onnx_conv *c, tn_value x, window *w)
{
    for (int i = 0; i < 2; i++)
        w->stride[i] = w->dilation[i] = 1;
    memset(w->pad, 0, sizeof w->pad);
    read_list(c, "strides", w, 1, w->stride);
    read_list(c, "dilations", w, 1, w->dilation);
    read_list(c, "pads", w, 2, w->pad);
    const char *how = onnx_attr_string(c, "auto_pad", "NOTSET");
    if (strcmp(how, "SAME_UPPER") == 0 || strcmp(how, "SAME_LOWER") == 0)
        pad_same(c, x, w, how[5] == 'L');
    else if (strcmp(how, "VALID") == 0)
        memset(w->pad, 0, sizeof w->pad);
    else if (strcmp(how, "NOTSET") != 0 && how[0])
        onnx_fail(c, "onnx-E009", "auto_pad is \"%s\"; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", how);
}

/* ---- Conv ---- */

static void check_kernel(onnx_conv *c, const tn_type *weight, window *w)
{
    int64_t given[2] = {0}, d;
    for (int i = 0; i < 2; i++) {
        if (!tn_is_int(weight->dim[2 + i], &w->kernel[i]))
            onnx_fail(c, "onnx-E022", "the window of weight %s must be fixed", onnx_type_text(c, weight));
        given[i] = w->kernel[i];
    }
    read_list(c, "kernel_shape", w, 1, given);
    for (int i = 0; i < 2; i++)
        if (tn_is_int(weight->dim[2 + i], &d) && given[i] != d)
            onnx_fail(c, "onnx-E009", "kernel_shape[%d] is %lld, but the weight is %s; the model is damaged",
                      i, (long long)given[i], onnx_type_text(c, weight));
}

static tn_value add_bias(onnx_conv *c, tn_value y, tn_value bias, int64_t axis)
{
    tn_axis_attr a = {axis};
    return bias.def ? onnx_call2(c, &tn_op_nn_bias_add, &a, y, bias) : y;
}

tn_value onnx_conv2d(onnx_conv *c, const tn_op *op, int n, const tn_value operand[], bool *out_line)
{
    tn_value in[8], x = operand[0], weight = operand[1];
    tn_conv2d_attr a;
    window w = {.line = onnx_rank(x) == 3};
    TN_ASSERT(n <= 8);
    if (!c->bad && onnx_rank(x) != onnx_rank(weight))
        onnx_fail(c, "onnx-E022", "data %s and weight %s must have as many dimensions; the model is damaged",
                  onnx_type_text(c, onnx_type(x)), onnx_type_text(c, onnx_type(weight)));
    x = as_image(c, x);
    weight = as_image(c, weight);
    if (c->bad || tn_attr_init(c->pool, op->attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    check_kernel(c, onnx_type(weight), &w);
    read_window(c, x, &w);
    a.strides = tn_ints_make(c->arena, 2, w.stride);
    a.dilation = tn_ints_make(c->arena, 2, w.dilation);
    a.padding = tn_ints_make(c->arena, 4, w.pad);
    a.kernel_size = tn_ints_make(c->arena, 2, w.kernel);
    a.groups = onnx_attr_int(c, "group", 1);
    (void)tn_is_int(onnx_type(weight)->dim[0], &a.channels);
    *out_line = w.line;
    in[0] = x;
    in[1] = weight;
    for (int i = 2; i < n; i++)
        in[i] = operand[i];
    return onnx_call(c, op, &a, n, in);
}

static void conv(onnx_conv *c)
{
    tn_value in[2] = {onnx_in(c, 0), onnx_in(c, 1)}, bias = onnx_opt(c, 2);
    bool line = false;
    tn_value y = onnx_conv2d(c, &tn_op_nn_conv2d, 2, in, &line);
    onnx_out(c, 0, onnx_drop_rows(c, add_bias(c, y, bias, 1), line));
}

/* ---- pooling ---- */

tn_value onnx_pool(onnx_conv *c, tn_value x)
{
    tn_pool2d_attr a;
    window w = {.line = onnx_rank(x) == 3, .kernel = {1, 1}};
    x = as_image(c, x);
    if (c->bad || tn_attr_init(c->pool, c->row->relay->attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    onnx_attr_need(c, "kernel_shape");
    read_list(c, "kernel_shape", &w, 1, w.kernel);
    read_window(c, x, &w);
    a.pool_size = tn_ints_make(c->arena, 2, w.kernel);
    a.strides = tn_ints_make(c->arena, 2, w.stride);
    a.dilation = tn_ints_make(c->arena, 2, w.dilation);
    a.padding = tn_ints_make(c->arena, 4, w.pad);
    a.ceil_mode = onnx_attr_int(c, "ceil_mode", 0) != 0;
    if (c->row->relay == &tn_op_nn_avg_pool2d)
        a.count_include_pad = onnx_attr_int(c, "count_include_pad", 0) != 0;
    else
        onnx_attr_ignore(c, "storage_order"); /* of the indices, which are not supported */
    return onnx_drop_rows(c, onnx_call1(c, c->row->relay, &a, x), w.line);
}

static void pool(onnx_conv *c)
{
    onnx_out(c, 0, onnx_pool(c, onnx_in(c, 0)));
}

/* Over all but batch and channels, of any rank. */
static void global_pool(onnx_conv *c)
{
    static const int64_t batch_and_channels[] = {0, 1};
    tn_value x = onnx_in(c, 0);
    tn_axes_attr a = {tn_ints_make(c->arena, 2, batch_and_channels), true, true};
    if (onnx_rank(x) < 3)
        onnx_fail(c, "onnx-E022", "%s of %s has nothing to go over; the model is damaged", c->row->op,
                  onnx_type_text(c, onnx_type(x)));
    if (c->row->relay == &tn_op_mean && onnx_rank(x) == 4)
        onnx_out(c, 0, onnx_call1(c, &tn_op_nn_global_avg_pool2d, NULL, x));
    else
        onnx_out(c, 0, onnx_call1(c, c->row->relay, &a, x));
}

/* ---- BatchNormalization: inference ---- */

static void batch_normalization(onnx_conv *c)
{
    tn_value in[5];
    tn_batch_norm_attr a = {1, onnx_attr_float(c, "epsilon", 1e-5f), true, true};
    onnx_attr_ignore(c, "momentum");
    onnx_attr_ignore(c, "is_test"); /* before opset 7; other outputs exist only while training */
    onnx_attr_ignore(c, "consumed_inputs");
    for (uint32_t i = 0; i < 5; i++)
        in[i] = onnx_in(c, i);
    if (onnx_attr_int(c, "spatial", 1) == 0)
        onnx_fail(c, "onnx-E009",
                  "spatial=0 (statistics for each position) is not supported; export the model with opset 9 "
                  "or later");
    if (onnx_attr_int(c, "training_mode", 0) != 0)
        onnx_fail(c, "onnx-E009", "training_mode=1 is not supported; export the model for inference");
    for (int i = 1; i < 5 && in[0].def; i++)
        in[i] = onnx_cast(c, in[i], onnx_type(in[0])->dtype);
    onnx_out(c, 0, onnx_call(c, &tn_op_nn_batch_norm, &a, 5, in));
}

/* ---- Softmax ---- */

static bool all_ones(const tn_type *t, int from)
{
    bool ones = true;
    for (int i = from; i < t->n; i++)
        ones = ones && tn_is_value(t->dim[i], 1);
    return ones;
}

/* Before opset 13 everything from `axis` on is one dimension. */
static tn_value softmax_of_rest(onnx_conv *c, tn_value x, int axis)
{
    const tn_type *t = onnx_type(x);
    tn_axis_attr last = {-1}, here = {axis};
    if (axis < t->n && all_ones(t, axis + 1))
        return onnx_call1(c, &tn_op_nn_softmax, &here, x);
    const tn_expr *flat[2] = {onnx_product(c, t, 0, axis), onnx_product(c, t, axis, t->n)};
    return onnx_reshape(c, onnx_call1(c, &tn_op_nn_softmax, &last, onnx_reshape(c, x, 2, flat)), t->n, t->dim);
}

static tn_value softmax_value(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    bool rest = c->opset < 13;
    int axis = onnx_axis(c, onnx_attr_int(c, "axis", rest ? 1 : -1), onnx_rank(x) + (rest && onnx_rank(x) == 1));
    if (c->bad)
        return (tn_value){0};
    tn_axis_attr a = {axis};
    return rest ? softmax_of_rest(c, x, axis) : onnx_call1(c, &tn_op_nn_softmax, &a, x);
}

static void softmax(onnx_conv *c)
{
    onnx_out(c, 0, softmax_value(c));
}

/* ---- Dropout: the identity unless training ---- */

static void dropout(onnx_conv *c)
{
    double training = 0;
    onnx_attr_ignore(c, "ratio");
    onnx_attr_ignore(c, "seed");
    onnx_attr_ignore(c, "is_test");
    onnx_attr_ignore(c, "consumed_inputs");
    tn_value x = onnx_in(c, 0);
    if (onnx_has(c, 2) && (!onnx_scalar(c, onnx_in(c, 2), &training) || training != 0))
        onnx_fail(c, "onnx-E009", "training_mode must be a constant false; export the model for inference");
    onnx_out(c, 0, x);
    if (c->node->output.n < 2 || c->bad)
        return;
    tn_broadcast_to_attr a = {{onnx_type(x)->n, onnx_type(x)->dim}}; /* the mask: everything is kept */
    onnx_out(c, 1,
             onnx_call1(c, &tn_op_broadcast_to, &a,
                        onnx_const(c, c->opset < 10 ? onnx_type(x)->dtype : TN_BOOL1, 1)));
}

// clang-format off
const onnx_row onnx_rows_nn[] = {
    {"Conv",                1, 28, 3, 1, conv,                NULL},
    {"MaxPool",             1, 28, 1, 1, pool,                &tn_op_nn_max_pool2d},
    {"AveragePool",         1, 28, 1, 1, pool,                &tn_op_nn_avg_pool2d},
    {"GlobalAveragePool",   1, 28, 1, 1, global_pool,         &tn_op_mean},
    {"GlobalMaxPool",       1, 28, 1, 1, global_pool,         &tn_op_max},
    {"BatchNormalization",  1, 28, 5, 1, batch_normalization, NULL},
    {"Softmax",             1, 28, 1, 1, softmax,             NULL},
    {"Dropout",             1, 28, 3, 2, dropout,             NULL},
    {0},
};
// clang-format on
