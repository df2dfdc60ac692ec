/* Reductions over axes, positions of extremes, running sums. */
#include "frontend/tflite/quant.h"

#include <string.h>

static tn_axes_attr read_axes(imp_node *c, tn_value x, int64_t *out_count)
{
    tn_ints axes = imp_ints_in(c, imp_in(c, 1), "axis");
    tn_axes_attr a = {.keepdims = imp_attr_int(c, "keep_dims", 0) != 0};
    int64_t at[IMP_MAX_RANK], n;
    bool seen[IMP_MAX_RANK] = {false};
    uint32_t k = 0;
    *out_count = 1;
    for (uint32_t i = 0; i < axes.n && !c->bad; i++) {
        int axis = imp_axis(c, axes.at[i], imp_rank(x));
        if (c->bad || seen[axis])
            continue;
        seen[axis] = true;
        at[k++] = axis;
        *out_count = tn_is_int(imp_type(x)->dim[axis], &n) && *out_count >= 0 ? *out_count * n : -1;
    }
    a.axis = tn_ints_make(c->arena, k, at);
    return a;
}

/* No axes: the data as it is. */
static tn_value reduced(imp_node *c, const tn_op *op, tn_value x, const tn_axes_attr *a)
{
    return a->axis.n || c->bad ? imp_call1(c, op, a, x) : x;
}

/* Averages of integers: their sums less the zero points, times one factor that divides by their number, too. */
static void integer_mean(imp_node *c, tn_value x, const tn_axes_attr *a, int64_t count)
{
    const tfl_tensor *t = tfl_in(c, 0), *y = tfl_out(c, 0);
    tfl_factor f = tfl_factor_of((double)t->scale[0] / (double)y->scale[0]);
    int shift = count < 1 ? 0 : 63 - __builtin_clzll((unsigned long long)count);
    shift = shift < 32 ? shift : 32;
    shift = shift < 31 + f.shift ? shift : 31 + f.shift;
    if (count > 0) {
        f.multiplier = (int32_t)(((int64_t)f.multiplier << shift) / count);
        f.shift -= shift;
    }
    tn_value sum = reduced(c, &tn_op_sum, imp_cast(c, x, TN_I32), a);
    sum = tfl_with(c, &tn_op_subtract, sum, (double)t->zero[0] * (double)count);
    imp_out(c, 0, tfl_narrow(c, tfl_scaled(c, sum, 1, &f, 0), y, 0));
}

static void mean(imp_node *c)
{
    int64_t count;
    tn_value x = imp_in(c, 0);
    tn_axes_attr a = read_axes(c, x, &count);
    if (tfl_is_quantised(tfl_in(c, 0)) && tfl_is_quantised(tfl_out(c, 0)) && count >= 0)
        integer_mean(c, x, &a, count);
    else
        tfl_give(c, 0, reduced(c, &tn_op_mean, tfl_real(c, 0), &a));
}

static void reduce(imp_node *c)
{
    int64_t count;
    tn_value x = imp_in(c, 0);
    bool moves = c->row->relay == &tn_op_max || c->row->relay == &tn_op_min;
    tn_axes_attr a = read_axes(c, x, &count);
    tfl_give(c, 0, reduced(c, c->row->relay, moves ? x : tfl_real(c, 0), &a));
}

static void logical(imp_node *c)
{
    int64_t count;
    tn_value x = imp_in(c, 0);
    tn_axes_attr a = read_axes(c, x, &count);
    tn_value v = reduced(c, c->row->relay, imp_cast(c, x, TN_U8), &a);
    imp_out(c, 0, imp_cast(c, v, TN_BOOL1));
}

static void arg(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    tn_value x = imp_in(c, 0);
    imp_attr_ignore(c, "output_type");
    tn_arg_attr a = {.axis = imp_int_in(c, imp_in(c, 1), "dimension"),
                     .dtype = y && y->known ? y->dtype : TN_I32};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, x));
}

static void cumulative_sum(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_scan_attr a = {imp_int_in(c, imp_in(c, 1), "axis"), imp_attr_int(c, "exclusive", 0) != 0,
                      imp_attr_int(c, "reverse", 0) != 0};
    imp_out(c, 0, imp_call1(c, &tn_op_cumsum, &a, x));
}

// clang-format off
const imp_row tfl_rows_reduce[] = {
    {"MEAN",        1, 0, 2, 1, mean,           NULL},
    {"SUM",         1, 0, 2, 1, reduce,         &tn_op_sum},
    {"REDUCE_PROD", 1, 0, 2, 1, reduce,         &tn_op_prod},
    {"REDUCE_MAX",  1, 0, 2, 1, reduce,         &tn_op_max},
    {"REDUCE_MIN",  1, 0, 2, 1, reduce,         &tn_op_min},
    {"REDUCE_ANY",  1, 0, 2, 1, logical,        &tn_op_max},
    {"REDUCE_ALL",  1, 0, 2, 1, logical,        &tn_op_min},
    {"ARG_MAX",     1, 0, 2, 1, arg,            &tn_op_argmax},
    {"ARG_MIN",     1, 0, 2, 1, arg,            &tn_op_argmin},
    {"CUMSUM",      1, 0, 2, 1, cumulative_sum, NULL},
    {0},
};
// clang-format on
