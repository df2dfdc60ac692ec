/* Tensors that MXNet's operators make: constants, ranges, shapes. */
#include "frontend/mxnet/mxnet.h"

#include <math.h>
#include <string.h>

static tn_value filled(imp_node *c, tn_dtype t, uint32_t n, const tn_expr *const dim[], double v)
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, n, dim)};
    tn_value s = imp_const(c, t, v);
    return n ? imp_call1(c, &tn_op_broadcast_to, &a, s) : s;
}

/* What the name says, or `value`. */
static double value_of(imp_node *c)
{
    const char *op = c->row->op;
    imp_attr_ignore(c, "value");
    return strstr(op, "one")    ? 1
           : strstr(op, "full") ? mx_float(c, imp_has_attr(c, "fill_value") ? "fill_value" : "value", 0)
                                : 0;
}

/* An extent of 0 is not known: a state of a recurrent layer that begins with zeros, which the layer makes itself. */
static void fill(imp_node *c)
{
    tn_ints shape;
    const tn_expr *dim[IMP_MAX_RANK];
    tn_dtype t = mx_dtype(c, "dtype", TN_F32);
    double v = value_of(c);
    (void)mx_ints(c, "shape", &shape);
    if (shape.n > IMP_MAX_RANK)
        imp_refuse(c, IMP_TOO_LARGE, "shape has %u entries; at most %d are supported", (unsigned)shape.n,
                   IMP_MAX_RANK);
    for (uint32_t i = 0; i < shape.n && !c->bad; i++) {
        if (shape.at[i] < 0 || shape.at[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "shape contains %lld", (long long)shape.at[i]);
        dim[i] = tn_idx(c->pool, shape.at[i]);
    }
    imp_out(c, 0, c->bad ? (tn_value){0} : filled(c, t, shape.n, dim, v));
}

static void fill_like(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *like = imp_type(x);
    imp_out(c, 0, filled(c, mx_dtype(c, "dtype", like->dtype), (uint32_t)like->n, like->dim, value_of(c)));
}

static bool is_count(imp_node *c, double n)
{
    if (!c->bad && !(n >= 0 && n < 1 << 28))
        imp_refuse(c, IMP_BAD_VALUE, "the range has %g elements", n);
    return !c->bad;
}

/* n numbers: start, start + step, ..., each `times` times. */
static tn_value range(imp_node *c, tn_dtype t, double start, double step, int64_t n, int64_t times)
{
    double *at = TN_NEW_N(c->arena, double, (size_t)(n * times));
    for (int64_t i = 0; i < n * times; i++)
        at[i] = start + (double)(i / times) * step;
    int64_t dim = n * times;
    tn_value v = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F64, 1, &dim, at, NULL));
    return imp_cast(c, v, t);
}

static void arange(imp_node *c)
{
    double start = mx_float(c, "start", 0), stop = mx_float(c, "stop", NAN), step = mx_float(c, "step", 1);
    int64_t times = mx_int(c, "repeat", 1);
    tn_dtype t = mx_dtype(c, "dtype", TN_F32);
    imp_attr_ignore(c, "infer_range");
    if (isnan(stop)) {
        stop = start;
        start = 0;
    }
    double n = step != 0 ? ceil((stop - start) / step) : -1;
    n = n < 0 && step != 0 ? 0 : n;
    if (times < 1 || !is_count(c, n * (double)times))
        imp_refuse(c, IMP_BAD_VALUE, "attribute repeat is %lld", (long long)times);
    else
        imp_out(c, 0, range(c, t, start, step, (int64_t)n, times));
}

static void linspace(imp_node *c)
{
    int64_t n = mx_int(c, "num", 50);
    double start = mx_float(c, "start", 0), stop = mx_float(c, "stop", 1);
    bool end = mx_bool(c, "endpoint", true);
    tn_dtype t = mx_dtype(c, "dtype", TN_F32);
    double parts = (double)(end ? n - 1 : n);
    if (is_count(c, (double)n))
        imp_out(c, 0, range(c, t, start, parts > 0 ? (stop - start) / parts : 0, n, 1));
}

/* 0 1 2 ... for an axis of the operand, or for all its elements in its shape. */
static void arange_like(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    double start = mx_float(c, "start", 0), step = mx_float(c, "step", 1);
    bool all = strcmp(mx_text(c, "axis", "None"), "None") == 0;
    if (mx_int(c, "repeat", 1) != 1)
        imp_refuse(c, IMP_BAD_VALUE, "attribute repeat must be 1");
    int rank = imp_rank(x), axis = all ? 0 : imp_axis(c, mx_int(c, "axis", 0), rank);
    if (c->bad || !rank)
        return;
    const tn_type *t = imp_type(x);
    const tn_expr *n = all ? imp_product(c, t, 0, rank) : t->dim[axis];
    tn_value v = imp_cast(c, imp_count_up(c, n), TN_F32);
    v = step == 1 ? v : imp_with(c, &tn_op_multiply, v, step);
    v = start == 0 ? v : imp_with(c, &tn_op_add, v, start);
    imp_out(c, 0, all && rank > 1 ? imp_reshape(c, v, rank, t->dim) : v);
}

static void shape_array(imp_node *c) { imp_out(c, 0, imp_shape_of(c, imp_in(c, 0))); }

static void size_array(imp_node *c)
{
    tn_value n = imp_unary(c, &tn_op_prod, imp_shape_of(c, imp_in(c, 0)));
    imp_out(c, 0, imp_unsqueeze(c, n, 0));
}

// clang-format off
const imp_row mx_rows_create[] = {
    {"_zeros",              0, 0, 0, 1, fill,        NULL},
    {"_zeros_without_dtype", 0, 0, 0, 1, fill,       NULL},
    {"_npi_zeros",          0, 0, 0, 1, fill,        NULL},
    {"_ones",               0, 0, 0, 1, fill,        NULL},
    {"_npi_ones",           0, 0, 0, 1, fill,        NULL},
    {"_full",               0, 0, 0, 1, fill,        NULL},
    {"_npi_full",           0, 0, 0, 1, fill,        NULL},
    {"zeros_like",          0, 0, 1, 1, fill_like,   NULL},
    {"_np_zeros_like",      0, 0, 1, 1, fill_like,   NULL},
    {"ones_like",           0, 0, 1, 1, fill_like,   NULL},
    {"_np_ones_like",       0, 0, 1, 1, fill_like,   NULL},
    {"_npi_full_like",      0, 0, 1, 1, fill_like,   NULL},
    {"_arange",             0, 0, 0, 1, arange,      NULL},
    {"_npi_arange",         0, 0, 0, 1, arange,      NULL},
    {"_linspace",           0, 0, 0, 1, linspace,    NULL},
    {"_contrib_arange_like", 0, 0, 1, 1, arange_like, NULL},
    {"_npx_arange_like",    0, 0, 1, 1, arange_like, NULL},
    {"shape_array",         0, 0, 1, 1, shape_array, NULL},
    {"size_array",          0, 0, 1, 1, size_array,  NULL},
    {0},
};
// clang-format on
