/* Reductions, norms, running sums. */
#include "frontend/paddle/paddle.h"

#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* Axes from an operand or attribute, with all of them where none is given; false: failed. */
static bool read_axes(imp_node *c, tn_value x, const char *attr, const char *keep, tn_axes_attr *a)
{
    int rank = imp_rank(x);
    tn_ints axes = pd_ints(c, "AxisTensor", "AxisTensorList", attr);
    int64_t *at = TN_NEW_N(c->arena, int64_t, axes.n);
    bool all = pd_bool(c, "reduce_all", false) || axes.n == 0 || rank == 0;
    for (uint32_t i = 0; i < axes.n && !c->bad && !all; i++)
        at[i] = imp_axis(c, axes.at[i], rank);
    *a = (tn_axes_attr){all ? (tn_ints){0} : (tn_ints){axes.n, at}, pd_bool(c, keep, false), false};
    return !c->bad;
}

static tn_value reduced(imp_node *c, const tn_op *op, tn_value x, const tn_axes_attr *a)
{
    return imp_rank(x) ? imp_call1(c, op, a, x) : x;
}

/* Bools are reduced as 0 and 1; sums of them, and of small integers, are int64. */
static void reduce(imp_node *c)
{
    tn_axes_attr a;
    tn_value x = pd_in(c, "X");
    const tn_op *op = c->row->relay;
    bool truth =
        op != c->row->relay || strcmp(c->row->op, "reduce_any") == 0 || strcmp(c->row->op, "reduce_all") == 0;
    tn_dtype t = imp_type(x)->dtype, to = pd_dtype(c, "out_dtype", t);
    if (!read_axes(c, x, "dim", "keep_dim", &a))
        return;
    bool adds = op == &tn_op_sum || op == &tn_op_prod;
    if (!imp_has_attr(c, "out_dtype") || (adds && imp_attr_int(c, "out_dtype", -1) < 0))
        to = adds && (tn_dtype_is_bool(t) || (tn_dtype_is_int(t) && t.bits < 64)) ? TN_I64 : t;
    tn_value v = truth ? imp_cast(c, imp_cast(c, x, TN_BOOL1), TN_U8) : adds ? imp_cast(c, x, to) : x;
    v = reduced(c, op, v, &a);
    pd_out(c, "Out", imp_cast(c, v, truth ? TN_BOOL1 : to));
}

static void mean(imp_node *c)
{
    static const tn_axes_attr all;
    tn_value x = pd_in(c, "X");
    pd_out(c, "Out", reduced(c, &tn_op_mean, x, &all));
}

static tn_value square(imp_node *c, tn_value x) { return imp_binary(c, &tn_op_multiply, x, x); }

static void logsumexp(imp_node *c)
{
    tn_axes_attr a;
    tn_value x = pd_in(c, "X");
    if (!read_axes(c, x, "axis", "keepdim", &a))
        return;
    pd_out(c, "Out", imp_log_sum_exp(c, x, a.axis, a.keepdims));
}

/* (sum |x|^p)^(1/p) */
static tn_value p_norm_of(imp_node *c, tn_value x, double p, const tn_axes_attr *a)
{
    tn_value m = imp_unary(c, &tn_op_abs, x);
    if (isinf(p))
        return reduced(c, p > 0 ? &tn_op_max : &tn_op_min, m, a);
    if (p == 0)
        return reduced(
            c, &tn_op_sum,
            imp_cast(c, imp_binary(c, &tn_op_not_equal, x, pd_number(c, x, 0)), imp_type(x)->dtype), a);
    if (p == 1)
        return reduced(c, &tn_op_sum, m, a);
    if (p == 2)
        return imp_unary(c, &tn_op_sqrt, reduced(c, &tn_op_sum, square(c, x), a));
    tn_value s = reduced(c, &tn_op_sum, imp_with(c, &tn_op_power, m, p), a);
    return imp_with(c, &tn_op_power, s, 1 / p);
}

static void p_norm(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    double p = imp_attr_float(c, "porder", 2);
    int64_t axis = imp_attr_int(c, "axis", -1);
    bool list = pd_bool(c, "asvector", false);
    tn_axes_attr a = {.keepdims = pd_bool(c, "keepdim", false)};
    imp_attr_ignore(c, "epsilon");
    axis = list ? 0 : imp_axis(c, axis, imp_rank(x));
    a.axis = list ? (tn_ints){0} : tn_ints_make(c->arena, 1, &axis);
    pd_out(c, "Out", p_norm_of(c, x, p, &a));
}

static void frobenius_norm(imp_node *c)
{
    tn_axes_attr a;
    tn_value x = pd_in(c, "X");
    imp_attr_ignore(c, "out_dtype");
    if (read_axes(c, x, "dim", "keep_dim", &a))
        pd_out(c, "Out", p_norm_of(c, x, 2, &a));
}

static void whole_norm(imp_node *c)
{
    static const tn_axes_attr all;
    tn_value x = pd_in(c, "X");
    bool squared = strcmp(c->row->op, "squared_l2_norm") == 0;
    tn_value n = reduced(c, &tn_op_sum, squared ? square(c, x) : imp_unary(c, &tn_op_abs, x), &all);
    pd_out(c, "Out", squared && !c->bad ? imp_unsqueeze(c, n, 0) : n);
}

static void dist(imp_node *c)
{
    static const tn_axes_attr all;
    tn_value d = imp_binary(c, &tn_op_subtract, pd_in(c, "X"), pd_in(c, "Y"));
    pd_out(c, "Out", p_norm_of(c, d, imp_attr_float(c, "p", 2), &all));
}

/* x / sqrt(sum x^2 + epsilon) along an axis, and the divisor */
static void norm(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int64_t axis = imp_axis(c, imp_attr_int(c, "axis", -1), imp_rank(x));
    double epsilon = imp_attr_float(c, "epsilon", 1e-10f);
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &axis), true, false};
    tn_value n = imp_with(c, &tn_op_add, imp_call1(c, &tn_op_sum, &a, square(c, x)), epsilon);
    n = imp_unary(c, &tn_op_sqrt, n);
    pd_out(c, "Out", imp_binary(c, &tn_op_divide, x, n));
    pd_out(c, "Norm", n);
}

/* ---- running sums ---- */

static void scan(imp_node *c)
{
    bool product = c->row->relay == &tn_op_cumprod;
    tn_value x = pd_in(c, "X");
    tn_dtype t = imp_type(x)->dtype;
    bool flat = pd_bool(c, "flatten", false) || imp_rank(x) == 0;
    int64_t axis = pd_int(c, "AxisTensor", product ? "dim" : "axis", -1);
    tn_scan_attr a = {.exclusive = pd_bool(c, "exclusive", false), .reverse = pd_bool(c, "reverse", false)};
    tn_value v = flat && !c->bad ? imp_rank(x) ? imp_flat(c, x) : imp_unsqueeze(c, x, 0) : x;
    a.axis = flat ? 0 : imp_axis(c, axis, imp_rank(v));
    if (!c->bad && tn_is_value(imp_product(c, imp_type(v), 0, imp_rank(v)), 1))
        a.exclusive = false; /* PaddlePaddle copies one element */
    v = tn_dtype_is_small(t) && tn_dtype_is_float(t) ? imp_cast(c, v, TN_F32) : v;
    pd_out(c, "Out", imp_cast(c, imp_call1(c, c->row->relay, &a, v), t));
}

// clang-format off
const imp_row pd_rows_reduce[] = {
    {"cumprod",         1, 0, -1, -1, scan,           &tn_op_cumprod},
    {"cumsum",          1, 0, -1, -1, scan,           &tn_op_cumsum},
    {"dist",            1, 0, -1, -1, dist,           NULL},
    {"frobenius_norm",  1, 0, -1, -1, frobenius_norm, NULL},
    {"l1_norm",         1, 0, -1, -1, whole_norm,     NULL},
    {"logsumexp",       1, 0, -1, -1, logsumexp,      NULL},
    {"mean",            1, 0, -1, -1, mean,           NULL},
    {"norm",            1, 0, -1, -1, norm,           NULL},
    {"p_norm",          1, 0, -1, -1, p_norm,         NULL},
    {"reduce_all",      1, 0, -1, -1, reduce,         &tn_op_min},
    {"reduce_amax",     1, 0, -1, -1, reduce,         &tn_op_max},
    {"reduce_amin",     1, 0, -1, -1, reduce,         &tn_op_min},
    {"reduce_any",      1, 0, -1, -1, reduce,         &tn_op_max},
    {"reduce_max",      1, 0, -1, -1, reduce,         &tn_op_max},
    {"reduce_mean",     1, 0, -1, -1, reduce,         &tn_op_mean},
    {"reduce_min",      1, 0, -1, -1, reduce,         &tn_op_min},
    {"reduce_prod",     1, 0, -1, -1, reduce,         &tn_op_prod},
    {"reduce_sum",      1, 0, -1, -1, reduce,         &tn_op_sum},
    {"squared_l2_norm", 1, 0, -1, -1, whole_norm,     NULL},
    {0},
};
// clang-format on
