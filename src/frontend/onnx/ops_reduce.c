/* Reductions over axes, which are an attribute at first and an operand since opset 18 (ReduceSum: 13). */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

static bool reduce_attr(imp_node *c, tn_axes_attr *a, bool *nothing)
{
    int since = c->row->relay == &tn_op_sum && c->row->op[6] == 'S' && c->row->op[9] == 0 ? 13 : 18;
    bool given = imp_ints_arg(c, "axes", since, 1, &a->axis);
    a->keepdims = imp_attr_int(c, "keepdims", 1) != 0;
    a->exclude = false;
    *nothing = imp_attr_int(c, "noop_with_empty_axes", 0) != 0 && (!given || a->axis.n == 0);
    return !c->bad;
}

static void reduce(imp_node *c)
{
    tn_axes_attr a;
    bool nothing;
    tn_value x = imp_in(c, 0);
    if (!reduce_attr(c, &a, &nothing))
        return;
    tn_dtype t = imp_type(x)->dtype; /* bools are reduced as 0 and 1 */
    x = tn_dtype_is_bool(t) ? imp_cast(c, x, TN_U8) : x;
    imp_out(c, 0, imp_cast(c, nothing ? x : imp_call1(c, c->row->relay, &a, x), t));
}

/* ---- norms: with something before the sum and after it ---- */

static tn_value sum(imp_node *c, tn_value x, const tn_axes_attr *a, bool nothing)
{
    return nothing ? x : imp_call1(c, &tn_op_sum, a, x);
}

/* log(sum(exp(x))) without overflow: the largest element m is taken out. Where m is infinite it is not (inf - inf);
 * exp(x) is exact enough there: 0 or inf. */
static tn_value log_sum_exp(imp_node *c, tn_value x, const tn_axes_attr *a)
{
    tn_axes_attr keep = *a;
    keep.keepdims = true;
    tn_dtype t = imp_type(x)->dtype;
    tn_value most = imp_call1(c, &tn_op_max, &keep, x);
    tn_value m = imp_call(c, &tn_op_where, NULL, 3,
                          (tn_value[]){imp_call1(c, &tn_op_isfinite, NULL, most), most, imp_const(c, t, 0)});
    tn_value e = imp_call1(c, &tn_op_exp, NULL, imp_call2(c, &tn_op_subtract, NULL, x, m));
    tn_value r =
        imp_call2(c, &tn_op_add, NULL, imp_call1(c, &tn_op_log, NULL, imp_call1(c, &tn_op_sum, &keep, e)), m);
    tn_squeeze_attr drop = {a->axis};
    if (a->keepdims || c->bad)
        return r;
    return a->axis.n ? imp_call1(c, &tn_op_squeeze, &drop, r) : imp_reshape(c, r, 0, NULL);
}

/* Integers go through float64 where a root or a logarithm is taken, 16-bit floats through float32. */
static void norm(imp_node *c)
{
    tn_axes_attr a;
    bool nothing;
    tn_value x = imp_in(c, 0), r;
    const char *kind = c->row->op + 6; /* L1, L2, LogSum, LogSumExp, SumSquare */
    if (!reduce_attr(c, &a, &nothing))
        return;
    tn_dtype t = imp_type(x)->dtype;
    bool root = kind[1] == '2', logarithm = kind[1] == 'o', square = root || kind[0] == 'S';
    bool whole = tn_dtype_is_int(t);
    tn_dtype wide = whole && (root || logarithm) ? TN_F64 : imp_sum_dtype(t);
    x = imp_cast(c, x, wide);
    if (logarithm && kind[6]) {
        tn_value one = nothing ? x : log_sum_exp(c, x, &a);
        imp_out(c, 0, imp_cast(c, one, t));
        return;
    }
    if (square)
        x = imp_call2(c, &tn_op_multiply, NULL, x, x);
    else if (!logarithm)
        x = imp_call1(c, &tn_op_abs, NULL, x);
    r = sum(c, x, &a, nothing);
    r = root ? imp_call1(c, &tn_op_sqrt, NULL, r) : logarithm ? imp_call1(c, &tn_op_log, NULL, r) : r;
    imp_out(c, 0, imp_cast(c, r, t));
}

// clang-format off
const imp_row onnx_rows_reduce[] = {
    {"ReduceSum",  1,  0, 2, 1, reduce, &tn_op_sum},
    {"ReduceMean", 1,  0, 2, 1, reduce, &tn_op_mean},
    {"ReduceMax",  1,  0, 2, 1, reduce, &tn_op_max},
    {"ReduceMin",  1,  0, 2, 1, reduce, &tn_op_min},
    {"ReduceProd", 1,  0, 2, 1, reduce, &tn_op_prod},
    {"ReduceL1",        1,  0, 2, 1, norm, NULL},
    {"ReduceL2",        1,  0, 2, 1, norm, NULL},
    {"ReduceLogSum",    1,  0, 2, 1, norm, NULL},
    {"ReduceLogSumExp", 1,  0, 2, 1, norm, NULL},
    {"ReduceSumSquare", 1,  0, 2, 1, norm, NULL},
    {0},
};
// clang-format on
