/* Reductions of MXNet. Axes are one number, several, or none: all. */
#include "frontend/mxnet/mxnet.h"

#include <string.h>

static tn_axes_attr axes_of(imp_node *c)
{
    tn_axes_attr a = {.keepdims = mx_bool(c, "keepdims", false), .exclude = mx_bool(c, "exclude", false)};
    (void)mx_ints(c, "axis", &a.axis);
    imp_attr_ignore(c, "initial");
    if (a.exclude && !a.axis.n)
        a.exclude = false;
    return a;
}

/* MXNet has no scalars before numpy's interface: a result without dimensions has one of extent 1. */
static tn_value not_scalar(imp_node *c, tn_value v)
{
    return !c->bad && imp_rank(v) == 0 && c->row->op[0] != '_' ? imp_unsqueeze(c, v, 0) : v;
}

static tn_value without_nan(imp_node *c, tn_value x, double v)
{
    tn_value is_nan = imp_unary(c, &tn_op_isnan, x);
    return imp_choose(c, is_nan, imp_const(c, imp_type(x)->dtype, v), x);
}

static void reduce(imp_node *c)
{
    tn_axes_attr a = axes_of(c);
    tn_value x = imp_in(c, 0);
    if (strncmp(c->row->op, "nan", 3) == 0)
        x = without_nan(c, x, c->row->relay == &tn_op_prod);
    x = imp_cast(c, x, mx_dtype(c, "dtype", imp_type(x)->dtype));
    imp_out(c, 0, not_scalar(c, imp_call1(c, c->row->relay, &a, x)));
}

/* The sum of magnitudes, or the root of the sum of squares. */
static void norm(imp_node *c)
{
    int64_t order = mx_int(c, "ord", 2);
    tn_axes_attr a = axes_of(c);
    tn_value x = imp_in(c, 0);
    imp_attr_ignore(c, "out_dtype");
    if (order != 1 && order != 2)
        imp_refuse(c, IMP_BAD_VALUE, "attribute ord is %lld; 1 and 2 are supported", (long long)order);
    x = order == 1 ? imp_unary(c, &tn_op_abs, x) : imp_binary(c, &tn_op_multiply, x, x);
    tn_value y = imp_call1(c, &tn_op_sum, &a, x);
    imp_out(c, 0, not_scalar(c, order == 1 ? y : imp_unary(c, &tn_op_sqrt, y)));
}

/* The position as a float. In 0.9.4 and before, axis -1 stood for none. */
static void arg(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const char *axis = mx_text(c, "axis", "None");
    bool all = strcmp(axis, "None") == 0 || (mx_of(c)->version < 905 && strcmp(axis, "-1") == 0);
    tn_arg_attr a = {.keepdims = mx_bool(c, "keepdims", false), .dtype = TN_I64};
    if (strcmp(c->row->op, "argmax_channel") == 0) {
        a.axis = 1;
        all = false;
    } else if (!all) {
        a.axis = imp_axis(c, mx_int(c, "axis", 0), imp_rank(x));
    }
    const tn_expr *one[IMP_MAX_RANK];
    int rank = imp_rank(x);
    for (int i = 0; i < rank; i++)
        one[i] = tn_idx(c->pool, 1);
    x = all && !c->bad ? imp_flat(c, x) : x;
    tn_dtype t = c->row->op[0] == '_' ? TN_I64 : TN_F32;
    tn_value y = imp_cast(c, imp_call1(c, c->row->relay, &a, x), t);
    imp_out(c, 0, not_scalar(c, all && a.keepdims && !c->bad ? imp_reshape(c, y, rank, one) : y));
}

static void moments(imp_node *c)
{
    tn_axes_attr a = {.keepdims = mx_bool(c, "keepdims", false)};
    (void)mx_ints(c, "axes", &a.axis);
    tn_value mean = imp_call1(c, &tn_op_mean_variance, &a, imp_in(c, 0));
    imp_out(c, 0, not_scalar(c, mean));
    imp_out_any(c, 1, not_scalar(c, (tn_value){mean.def, 1}));
}

static void cumsum(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool all = strcmp(mx_text(c, "axis", "None"), "None") == 0;
    x = all && !c->bad ? imp_flat(c, x) : x;
    x = imp_cast(c, x, mx_dtype(c, "dtype", imp_type(x)->dtype));
    tn_scan_attr a = {.axis = all ? 0 : imp_axis(c, mx_int(c, "axis", 0), imp_rank(x))};
    imp_out(c, 0, imp_call1(c, &tn_op_cumsum, &a, x));
}

// clang-format off
const imp_row mx_rows_reduce[] = {
    {"sum",       0, 0, 1, 1, reduce,  &tn_op_sum},
    {"sum_axis",  0, 0, 1, 1, reduce,  &tn_op_sum},
    {"_np_sum",   0, 0, 1, 1, reduce,  &tn_op_sum},
    {"_npi_sum",  0, 0, 1, 1, reduce,  &tn_op_sum},
    {"nansum",    0, 0, 1, 1, reduce,  &tn_op_sum},
    {"mean",      0, 0, 1, 1, reduce,  &tn_op_mean},
    {"_npi_mean", 0, 0, 1, 1, reduce,  &tn_op_mean},
    {"max",       0, 0, 1, 1, reduce,  &tn_op_max},
    {"max_axis",  0, 0, 1, 1, reduce,  &tn_op_max},
    {"_np_max",   0, 0, 1, 1, reduce,  &tn_op_max},
    {"_npi_max",  0, 0, 1, 1, reduce,  &tn_op_max},
    {"min",       0, 0, 1, 1, reduce,  &tn_op_min},
    {"min_axis",  0, 0, 1, 1, reduce,  &tn_op_min},
    {"_np_min",   0, 0, 1, 1, reduce,  &tn_op_min},
    {"_npi_min",  0, 0, 1, 1, reduce,  &tn_op_min},
    {"prod",      0, 0, 1, 1, reduce,  &tn_op_prod},
    {"_np_prod",  0, 0, 1, 1, reduce,  &tn_op_prod},
    {"nanprod",   0, 0, 1, 1, reduce,  &tn_op_prod},
    {"norm",      0, 0, 1, 1, norm,    NULL},
    {"argmax",    0, 0, 1, 1, arg,     &tn_op_argmax},
    {"_npi_argmax", 0, 0, 1, 1, arg,   &tn_op_argmax},
    {"argmax_channel", 0, 0, 1, 1, arg, &tn_op_argmax},
    {"argmin",    0, 0, 1, 1, arg,     &tn_op_argmin},
    {"_npi_argmin", 0, 0, 1, 1, arg,   &tn_op_argmin},
    {"moments",   0, 0, 1, 2, moments, NULL},
    {"_np_cumsum", 0, 0, 1, 1, cumsum, NULL},
    {"cumsum",    0, 0, 1, 1, cumsum,  NULL},
    {0},
};
// clang-format on
