/* Reductions over axes, which are an attribute at first and an operand since opset 18 (ReduceSum: 13). */
#include "frontend/onnx/onnx.h"

static bool reduce_attr(onnx_conv *c, tn_axes_attr *a, bool *nothing)
{
    int since = c->row->relay == &tn_op_sum && c->row->op[6] == 'S' && c->row->op[9] == 0 ? 13 : 18;
    bool given = onnx_ints_arg(c, "axes", since, 1, &a->axes);
    a->keepdims = onnx_attr_int(c, "keepdims", 1) != 0;
    a->exclude = false;
    *nothing = onnx_attr_int(c, "noop_with_empty_axes", 0) != 0 && (!given || a->axes.n == 0);
    return !c->bad;
}

static void reduce(onnx_conv *c)
{
    tn_axes_attr a;
    bool nothing;
    tn_value x = onnx_in(c, 0);
    if (!reduce_attr(c, &a, &nothing))
        return;
    tn_dtype t = onnx_type(x)->dtype; /* bools are reduced as 0 and 1 */
    x = tn_dtype_is_bool(t) ? onnx_cast(c, x, TN_U8) : x;
    onnx_out(c, 0, onnx_cast(c, nothing ? x : onnx_call1(c, c->row->relay, &a, x), t));
}

// clang-format off
const onnx_row onnx_rows_reduce[] = {
    {"ReduceSum",  1, 28, 2, 1, reduce, &tn_op_sum},
    {"ReduceMean", 1, 28, 2, 1, reduce, &tn_op_mean},
    {"ReduceMax",  1, 28, 2, 1, reduce, &tn_op_max},
    {"ReduceMin",  1, 28, 2, 1, reduce, &tn_op_min},
    {"ReduceProd", 1, 28, 2, 1, reduce, &tn_op_prod},
    {0},
};
// clang-format on
