/* Operators of com.microsoft that ONNX has too, with operands of other forms, and small ones beside them: ExpandDims,
 * GatherND, GridSample, LinearAttention, CausalConvWithState, Pad, Range, Unique; CDist, Inverse. */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* Converts the node as ONNX's operator of that name and version; absent operands are not given. */
static void as_onnx(imp_node *c, const char *op, int64_t version, uint32_t n, const tn_value in[])
{
    const tn_bytes name = {(const uint8_t *)op, strlen(op)};
    tn_bytes *given = TN_NEW_N(c->arena, tn_bytes, n);
    tn_value *operand = TN_NEW_N(c->arena, tn_value, n);
    for (uint32_t i = 0; i < n; i++) {
        operand[i] = in[i];
        given[i] = in[i].def ? name : (tn_bytes){0};
    }
    c->row = imp_row_of(c->im, (tn_bytes){0}, name, version, c->loc, true);
    c->version = version;
    c->n_in = n;
    c->in_name = given;
    c->given = operand;
    if (!c->bad)
        c->row->convert(c);
}

/* An axis: one number of rank 0 or 1. */
static void expand_dims(imp_node *c)
{
    const tn_value in[2] = {imp_in(c, 0), imp_flat(c, imp_in(c, 1))};
    as_onnx(c, "Unsqueeze", 13, 2, in);
}

static void gather_nd(imp_node *c)
{
    const tn_value in[2] = {imp_in(c, 0), imp_in(c, 1)};
    as_onnx(c, "GatherND", 11, 2, in);
}

/* The node as ONNX's operator of the same name, with all of its operands. */
static void renamed(imp_node *c, int64_t version)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, imp_n_in(c));
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = imp_opt(c, i);
    as_onnx(c, c->row->op, version, imp_n_in(c), in);
}

/* An attribute that ONNX's operator lacks, and that may only have the value that changes nothing. */
static void only(imp_node *c, const char *name, int64_t value)
{
    int64_t is = imp_attr_int(c, name, value);
    if (is != value && !c->bad)
        imp_fail(c, "onnx-E095", "%s=%lld of %s is not supported", name, (long long)is, c->row->op);
}

static void grid_sample(imp_node *c) { renamed(c, 16); }

static void linear_attention(imp_node *c)
{
    only(c, "state_window", 0);
    renamed(c, 27);
}

static void causal_conv(imp_node *c)
{
    only(c, "ndim", 1);
    only(c, "dilation", 1);
    only(c, "channels_last", 0);
    only(c, "state_channels_last", 0);
    only(c, "state_update_capacity", 0);
    only(c, "state_window", 0);
    only(c, "state_length", 0);
    only(c, "input_channel_offset", 0);
    only(c, "input_channels", 0);
    renamed(c, 27);
}

/* In the order of first appearance. */
static void unique(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    if (c->bad)
        return;
    imp_unique u = imp_unique_of(c, imp_flat(c, x), 0, 0);
    imp_out(c, 0, u.x);
    imp_out_any(c, 1, u.inverse);
    imp_out_any(c, 2, u.count);
}

/* The pads may be a matrix of one row. */
static void pad(imp_node *c)
{
    const tn_value in[3] = {imp_in(c, 0), imp_flat(c, imp_in(c, 1)), imp_opt(c, 2)};
    as_onnx(c, "Pad", 13, 3, in);
}

/* By steps of 1 where none are given. */
static void range(imp_node *c)
{
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_opt(c, 2)};
    in[2] = in[2].def ? in[2] : imp_const(c, imp_type(in[0])->dtype, 1);
    as_onnx(c, "Range", 11, 3, in);
}

static void inverse(imp_node *c) { imp_out(c, 0, imp_unary(c, &tn_op_inverse, imp_in(c, 0))); }

/* Distances of each row of A from each row of B; sums of squares of differences, not of products, which cancel. */
static void cdist(imp_node *c)
{
    const char *metric = imp_attr_string(c, "metric", "sqeuclidean");
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    bool root = strcmp(metric, "euclidean") == 0;
    if (!root && strcmp(metric, "sqeuclidean") != 0)
        imp_fail(c, "onnx-E009", "metric is \"%s\"; sqeuclidean and euclidean are known", metric);
    if (!c->bad && (imp_rank(a) != 2 || imp_rank(b) != 2))
        imp_fail(c, "onnx-E022", "%s and %s must be matrices", imp_type_text(c, imp_type(a)),
                 imp_type_text(c, imp_type(b)));
    tn_value d = imp_binary(c, &tn_op_subtract, imp_unsqueeze(c, a, 1), b);
    d = imp_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, d, d), 2);
    imp_out(c, 0, root ? imp_unary(c, &tn_op_sqrt, d) : d);
}

// clang-format off
const imp_row onnx_rows_forms[] = {
    {"CausalConvWithState", 1, 0, 4, 2, causal_conv,      NULL},
    {"CDist",               1, 0, 2, 1, cdist,            NULL},
    {"ExpandDims",          1, 0, 2, 1, expand_dims,      NULL},
    {"GatherND",            1, 0, 2, 1, gather_nd,        NULL},
    {"GridSample",          1, 0, 2, 1, grid_sample,      NULL},
    {"Inverse",             1, 0, 1, 1, inverse,          NULL},
    {"LinearAttention",     1, 0, 6, 2, linear_attention, NULL},
    {"Pad",                 1, 0, 3, 1, pad,              NULL},
    {"Range",               1, 0, 3, 1, range,            NULL},
    {"Unique",              1, 0, 1, 3, unique,           NULL},
    {0},
};
// clang-format on
