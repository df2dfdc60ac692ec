/* More functions of keras.ops: elements at positions, moments and norms, orders, and what is made of simpler ones.
 * Parameters are read by parameters.c. */
#include "frontend/keras/rows.h"
#include "frontend/import/scan.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool is_class(const imp_node *c, const char *class) { return strcmp(c->row->op, class) == 0; }

static tn_value with(imp_node *c, const tn_op *op, tn_value x, double v)
{
    return imp_binary(c, op, x, keras_like(c, x, v));
}

/* ---- elementwise ---- */

static void scaled_log(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    double base = is_class(c, "Log2") ? 2 : 10;
    keras_out(c, with(c, &tn_op_multiply, imp_unary(c, &tn_op_log, keras_as_float(c, x)), 1 / log(base)));
}

/* e^x - 1 as tanh(x / 2) * (e^x + 1), which keeps the digits of small numbers. */
static void exp_less(imp_node *c)
{
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    tn_value more = with(c, &tn_op_add, imp_unary(c, &tn_op_exp, x), 1);
    tn_value half = imp_unary(c, &tn_op_tanh, with(c, &tn_op_multiply, x, 0.5));
    tn_value y = imp_binary(c, &tn_op_multiply, half, more);
    tn_value large = with(c, &tn_op_greater, x, 1);
    keras_out(c, imp_choose(c, large, with(c, &tn_op_subtract, imp_unary(c, &tn_op_exp, x), 1), y));
}

/* (x + sqrt(x^2 + b)) / 2 */
static void square_plus(imp_node *c)
{
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    double b = keras_param_real(c, 1, "b", 4);
    tn_value inside = with(c, &tn_op_add, imp_binary(c, &tn_op_multiply, x, x), b);
    tn_value sum = imp_binary(c, &tn_op_add, x, imp_unary(c, &tn_op_sqrt, inside));
    keras_out(c, with(c, &tn_op_multiply, sum, 0.5));
}

/* Is it a number, infinite, finite? Integers always are numbers. */
static void test(imp_node *c)
{
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    keras_out(c, imp_unary(c, c->row->relay, x));
}

/* 0 where the divisor is 0. */
static void divide_no_nan(imp_node *c)
{
    tn_value a, b;
    if (!keras_two(c, &a, &b))
        return;
    a = keras_as_float(c, a);
    b = keras_as_float(c, b);
    tn_value none = with(c, &tn_op_equal, b, 0);
    tn_value y = imp_binary(c, &tn_op_divide, a, imp_choose(c, none, keras_like(c, b, 1), b));
    keras_out(c, imp_choose(c, none, keras_like(c, y, 0), y));
}

/* ---- moments and norms ---- */

/* The axes of a reduction, all of them where none are given. */
static int axes_of(imp_node *c, tn_value x, int position, const char *names, int64_t axis[])
{
    int n = keras_param_list(c, position, names, axis);
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        axis[i] = i;
    return n < 0 ? imp_rank(x) : n;
}

static tn_value squared(imp_node *c, tn_value x) { return imp_binary(c, &tn_op_multiply, x, x); }

static void variance(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    int n = axes_of(c, x, 1, "axis", axis);
    bool keep = keras_param_truth(c, 2, "keepdims");
    tn_value mean = keras_reduce(c, &tn_op_mean, x, n, axis, true);
    tn_value away = squared(c, imp_binary(c, &tn_op_subtract, x, mean));
    tn_value y = keras_reduce(c, &tn_op_mean, away, n, axis, keep);
    keras_out(c, is_class(c, "Std") ? imp_unary(c, &tn_op_sqrt, y) : y);
}

static void log_sum_exp(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_as_float(c, keras_in(c, 0));
    int n = axes_of(c, x, 1, "axis", axis);
    bool keep = keras_param_truth(c, 2, "keepdims");
    keras_out(c, n == 0 ? x : imp_log_sum_exp(c, x, tn_ints_make(c->arena, (uint32_t)n, axis), keep));
}

/* Along n axes: the sum of the sizes to the power of the order, to the power of 1 / order; of order 0 how many are not
 * 0; of infinity the largest size, of minus infinity the least. */
static tn_value norm_of(imp_node *c, tn_value x, double order, int n, const int64_t axis[], bool keep)
{
    tn_value size = imp_unary(c, &tn_op_abs, x);
    if (order == 2)
        return imp_unary(c, &tn_op_sqrt, keras_reduce(c, &tn_op_sum, squared(c, x), n, axis, keep));
    if (isinf(order))
        return keras_reduce(c, order > 0 ? &tn_op_max : &tn_op_min, size, n, axis, keep);
    if (order == 0)
        size = imp_cast(c, with(c, &tn_op_not_equal, x, 0), imp_type(x)->dtype);
    else if (order != 1)
        size = with(c, &tn_op_power, size, order);
    tn_value sum = keras_reduce(c, &tn_op_sum, size, n, axis, keep);
    return order == 0 || order == 1 ? sum : with(c, &tn_op_power, sum, 1 / order);
}

/* Of matrices, of order 1 or infinity, or of minus these: of the sums of the sizes along the one axis, the largest or
 * the least along the other. */
static tn_value matrix_norm(imp_node *c, tn_value x, double order, const int64_t axis[2], bool keep)
{
    int64_t at[2] = {imp_axis(c, axis[0], imp_rank(x)), imp_axis(c, axis[1], imp_rank(x))};
    int first = isinf(order) ? 1 : 0;
    if (fabs(order) != 1 && !isinf(order))
        imp_refuse(c, IMP_BAD_VALUE, "norms of matrices of order %g are not supported", order);
    tn_value sums = keras_reduce(c, &tn_op_sum, imp_unary(c, &tn_op_abs, x), 1, &at[first], true);
    tn_value y = keras_reduce(c, order > 0 ? &tn_op_max : &tn_op_min, sums, 1, &at[1 - first], true);
    tn_squeeze_attr both = {tn_ints_make(c->arena, 2, at)};
    return keep || c->bad ? y : imp_call1(c, &tn_op_squeeze, &both, y);
}

static double order_of(imp_node *c, int position, const char *names)
{
    const tn_json *v = keras_param(c, position, names);
    double order = 2;
    if (tn_json_is_text(v, "inf") || tn_json_is_text(v, "Infinity"))
        return INFINITY;
    if (v && !tn_json_is_text(v, "euclidean") && !tn_json_is_text(v, "fro") && !keras_number(v, &order))
        imp_refuse(c, IMP_BAD_VALUE, "the order of a norm must be a number, \"fro\" or \"euclidean\"");
    return order;
}

static void norm(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    bool given = keras_param(c, 1, "ord") != NULL;
    double order = order_of(c, 1, "ord");
    int n = axes_of(c, x, 2, "axis", axis);
    bool keep = keras_param_truth(c, 3, "keepdims");
    bool matrix = given && n == 2 && !tn_json_is_text(keras_param(c, 1, "ord"), "fro");
    if (given && n > 2)
        imp_refuse(c, IMP_BAD_VALUE, "norms of an order along more than two axes are not supported");
    if (!c->bad)
        keras_out(c, matrix ? matrix_norm(c, x, order, axis, keep) : norm_of(c, x, order, n, axis, keep));
}

static void normalize(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK] = {-1};
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    int n = keras_param_list(c, 1, "axis", axis);
    double order = order_of(c, 2, "order"), least = keras_param_real(c, 3, "epsilon", 1e-12);
    tn_value size = norm_of(c, x, order, n < 0 ? 1 : n, axis, true);
    keras_out(
        c, imp_binary(c, &tn_op_divide, x, with(c, &tn_op_maximum, size, order == 2 ? sqrt(least) : least)));
}

/* ---- elements at positions ---- */

/* Positions below 0 count from the end. */
static tn_value from_start(imp_node *c, tn_value at, tn_value x, int axis)
{
    tn_value n = imp_cast(c, imp_extent_of(c, x, axis), imp_type(at)->dtype);
    tn_value below = with(c, &tn_op_less, at, 0);
    return imp_choose(c, below, imp_binary(c, &tn_op_add, at, n), at);
}

static void take(imp_node *c)
{
    tn_value x = keras_any_operand(c, 0, "x"), at = keras_any_operand(c, 1, "indices");
    bool flat = !keras_param(c, 2, "axis");
    x = flat && !c->bad ? imp_flat(c, x) : x;
    int axis = flat ? 0 : keras_param_axis(c, 2, "axis", 0, imp_rank(x));
    if (!c->bad)
        keras_out(c, imp_take(c, x, from_start(c, at, x, axis), axis));
}

/* v with the extents of `other` where its own are 1, but for one axis. */
static tn_value spread_over(imp_node *c, tn_value v, tn_value other, int axis)
{
    const tn_expr *dim[IMP_MAX_RANK];
    bool same = true;
    for (int i = 0; i < imp_rank(v); i++) {
        bool one = i != axis && tn_is_value(imp_type(v)->dim[i], 1);
        dim[i] = one ? imp_type(other)->dim[i] : imp_type(v)->dim[i];
        same = same && dim[i] == imp_type(v)->dim[i];
    }
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)imp_rank(v), dim)};
    return same ? v : imp_call1(c, &tn_op_broadcast_to, &a, v);
}

static void take_along(imp_node *c)
{
    tn_value x = keras_any_operand(c, 0, "x"), at = keras_any_operand(c, 1, "indices");
    bool flat = !keras_param(c, 2, "axis");
    x = flat && !c->bad ? imp_flat(c, x) : x;
    const tn_axis_attr a = {flat ? 0 : keras_param_axis(c, 2, "axis", -1, imp_rank(x))};
    if (!c->bad && imp_rank(at) != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "the positions must have as many dimensions as %s",
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    at = spread_over(c, at, x, (int)a.axis);
    x = spread_over(c, x, at, (int)a.axis);
    keras_out(c, imp_call2(c, &tn_op_gather, &a, x, from_start(c, at, x, (int)a.axis)));
}

static void one_hot(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t depth = keras_param_whole(c, 1, "num_classes", 0), at = keras_param_whole(c, 2, "axis", -1);
    tn_dtype t = keras_param_dtype(c, 3, TN_F32);
    if (keras_param_truth(c, -1, "sparse"))
        imp_refuse(c, IMP_BAD_VALUE, "sparse results are not supported");
    if (c->bad)
        return;
    const tn_expr *n = tn_idx(c->pool, depth);
    x = imp_cast(c, x, TN_I64);
    tn_value below = with(c, &tn_op_less, x, 0); /* which no row has */
    x = imp_choose(c, below, imp_i64(c, INT32_MAX), x);
    tn_one_hot_attr a = {tn_dims_make(c->arena, 1, &n), imp_axis(c, at, imp_rank(x) + 1)};
    tn_value in[] = {x, imp_const(c, t, 1), imp_const(c, t, 0)};
    keras_out(c, imp_call(c, &tn_op_one_hot, &a, 3, in));
}

/* The least number of a float type. */
static double least_of(tn_dtype t)
{
    return t.bits == 64 ? -DBL_MAX : tn_dtype_eq(t, TN_F16) ? -65504 : -FLT_MAX;
}

/* Rows of x added up, or the largest of them, where `at` says; of no row: 0, or the least number. */
static void segment(imp_node *c)
{
    tn_value x = keras_any_operand(c, 0, "data"), at = keras_any_operand(c, 1, "segment_ids");
    int64_t n = keras_param_whole(c, 2, "num_segments", -1);
    (void)keras_param(c, 3, "sorted");
    bool adds = is_class(c, "SegmentSum"), whole = !tn_dtype_is_float(imp_type(x)->dtype);
    if (!c->bad && (n < 0 || imp_rank(at) != 1 || imp_rank(x) < 1 || (!adds && whole)))
        imp_refuse(c, IMP_BAD_VALUE, "segments need num_segments, one number a row, and floats to compare");
    if (c->bad)
        return;
    const tn_expr *dim[IMP_MAX_RANK];
    for (int i = 0; i < imp_rank(x); i++)
        dim[i] = i ? imp_type(x)->dim[i] : tn_idx(c->pool, n);
    tn_broadcast_to_attr all = {tn_dims_make(c->arena, (uint32_t)imp_rank(x), dim)};
    tn_value none =
        imp_call1(c, &tn_op_broadcast_to, &all, keras_like(c, x, adds ? 0 : least_of(imp_type(x)->dtype)));
    tn_scatter_attr how = {.reduction = adds ? "add" : "max"};
    tn_value in[] = {none, imp_unsqueeze(c, at, 1), x};
    keras_out(c, imp_call(c, &tn_op_scatter_nd, &how, 3, in));
}

/* ---- orders ---- */

static void top_k(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t k = keras_param_whole(c, 1, "k", 1);
    (void)keras_param(c, 2, "sorted");
    const tn_expr *n = tn_idx(c->pool, k);
    tn_topk_attr a = {.k = tn_dims_make(c->arena, 1, &n), .axis = imp_rank(x) - 1, .dtype = TN_I32};
    tn_value y = imp_call1(c, &tn_op_topk, &a, x);
    keras_out(c, y);
    if (!c->bad)
        keras_out(c, (tn_value){y.def, 1});
}

static void sort(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    bool truths = !c->bad && tn_dtype_is_bool(imp_type(x)->dtype);
    x = keras_as_number(c, x);
    const tn_json *given = tn_json_find(keras_layer_of(c)->config, "axis");
    if (given && given->kind == TN_JSON_NULL)
        x = imp_flat(c, x);
    int axis = keras_param_axis(c, 1, "axis", -1, imp_rank(x));
    if (c->bad)
        return;
    tn_topk_attr a = {.k = tn_dims_make(c->arena, 1, &imp_type(x)->dim[axis]),
                      .axis = axis,
                      .is_ascend = true,
                      .dtype = TN_I32};
    tn_value y = imp_call1(c, &tn_op_topk, &a, x);
    bool places = is_class(c, "Argsort");
    y = c->bad ? y : (tn_value){y.def, places};
    keras_out(c, truths && !places ? imp_cast(c, y, TN_BOOL1) : y);
}

/* ---- shapes ---- */

static void broadcast(imp_node *c)
{
    int64_t to[IMP_MAX_RANK];
    const tn_expr *dim[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "shape", to), more = n - imp_rank(x);
    if (n < 0 || more < 0)
        imp_refuse(c, IMP_NOT_CONSTANT, "the shape to repeat to must be known, and of as many dimensions");
    for (int i = 0; i < n && !c->bad; i++) /* -1: the batch, which stays */
        dim[i] = to[i] < 0 && i >= more ? imp_type(x)->dim[i - more] : tn_idx(c->pool, to[i]);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, c->bad ? 0 : (uint32_t)n, dim)};
    if (!c->bad)
        keras_out(c, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

static void full_like(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    const tn_json *v = keras_param(c, 1, "fill_value");
    tn_dtype t = keras_param_dtype(c, 2, imp_type(x)->dtype);
    tn_broadcast_to_attr a = {{imp_type(x)->n, imp_type(x)->dim}};
    if (!v)
        imp_refuse(c, IMP_NOT_CONSTANT, "fill_value must be a number that is known");
    if (!c->bad)
        keras_out(c, imp_call1(c, &tn_op_broadcast_to, &a, keras_json_tensor(c, v, t)));
}

static void swap_axes(imp_node *c)
{
    int64_t perm[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = imp_rank(x), a = keras_param_axis(c, 1, "axis1", 0, n), b = keras_param_axis(c, 2, "axis2", 0, n);
    for (int i = 0; i < n; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    keras_out(c, imp_transpose(c, x, n, perm));
}

static void move_axis(imp_node *c)
{
    int64_t from[IMP_MAX_RANK], to[IMP_MAX_RANK], perm[IMP_MAX_RANK];
    bool moved[IMP_MAX_RANK] = {false};
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "source", from), m = keras_param_list(c, 2, "destination", to);
    if (n < 0 || n != m)
        imp_refuse(c, IMP_BAD_VALUE, "source and destination must have as many axes");
    for (int i = 0; i < imp_rank(x); i++)
        perm[i] = -1;
    for (int i = 0; i < n && !c->bad; i++) {
        int at = imp_axis(c, from[i], imp_rank(x)), place = imp_axis(c, to[i], imp_rank(x));
        moved[at] = true;
        perm[place] = at;
    }
    for (int i = 0, next = 0; i < imp_rank(x) && !c->bad; i++) {
        while (next < imp_rank(x) && moved[next])
            next++;
        perm[i] = perm[i] < 0 ? next++ : perm[i];
    }
    if (!c->bad)
        keras_out(c, imp_transpose(c, x, imp_rank(x), perm));
}

static void ravel(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_flat(c, x));
}

static void roll(imp_node *c)
{
    int64_t by[IMP_MAX_RANK], axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "shift", by), m = keras_param_list(c, 2, "axis", axis);
    if (n < 1 || (m >= 0 && n != m))
        imp_refuse(c, IMP_BAD_VALUE, "shift and axis must have as many numbers");
    if (m < 0 && n > 1)
        imp_refuse(c, IMP_BAD_VALUE, "several shifts without axes are not supported");
    if (c->bad)
        return;
    tn_value y = m < 0 ? imp_roll(c, imp_flat(c, x), 0, by[0]) : x;
    for (int i = 0; i < m; i++)
        y = imp_roll(c, y, imp_axis(c, axis[i], imp_rank(x)), by[i]);
    keras_out(c, m < 0 ? imp_reshape(c, y, imp_rank(x), imp_type(x)->dim) : y);
}

static void unstack(imp_node *c)
{
    int64_t n = 0;
    tn_value x = keras_in(c, 0);
    (void)keras_param(c, 1, "num");
    int axis = keras_param_axis(c, 2, "axis", 0, imp_rank(x));
    if (!c->bad && (!tn_is_int(imp_type(x)->dim[axis], &n) || n > KERAS_MAX_RESULTS))
        imp_refuse(c, IMP_BAD_VALUE, "%s cannot be taken apart along axis %d", imp_type_text(c, imp_type(x)),
                   axis);
    for (int64_t i = 0; i < n && !c->bad; i++)
        keras_out(c, imp_squeeze(c, imp_slice(c, x, axis, i, i + 1), axis));
}

/* Of the k-th diagonal and above, or below, 0 elsewhere. */
static void triangle(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    tn_trilu_attr a = {is_class(c, "Triu")};
    tn_value k = imp_i64(c, keras_param_whole(c, 1, "k", 0));
    keras_out(c, imp_call2(c, &tn_op_trilu, &a, x, k));
}

static void cumprod(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    if (!c->bad)
        x = keras_as_number(c, imp_cast(c, x, keras_param_dtype(c, 2, imp_type(x)->dtype)));
    bool flat = !keras_param(c, 1, "axis");
    x = flat ? imp_flat(c, x) : x;
    tn_scan_attr a = {.axis = flat ? 0 : keras_param_axis(c, 1, "axis", 0, imp_rank(x))};
    keras_out(c, imp_call1(c, &tn_op_cumprod, &a, x));
}

/* Columns after each other: along the first axis of vectors, the second one of others. Rows: along the first one. */
static void stack_parts(imp_node *c)
{
    size_t n = keras_n_in(c);
    tn_value *v = TN_NEW_N(c->arena, tn_value, n + 1);
    bool rows = is_class(c, "Vstack");
    for (size_t i = 0; i < n; i++) {
        v[i] = keras_in(c, i);
        v[i] = rows && imp_rank(v[i]) == 1 ? imp_unsqueeze(c, v[i], 0) : v[i];
    }
    keras_promote(c, n, v);
    if (!n)
        imp_refuse(c, IMP_OPERANDS, "the list of operands is empty; the model is damaged");
    if (!c->bad)
        keras_out(c, imp_concat(c, (uint32_t)n, v, rows || imp_rank(v[0]) == 1 ? 0 : 1));
}

/* ---- products ---- */

/* The last dimension of the first one with the last but one of the second, whose batches do not broadcast. */
static void dot(imp_node *c)
{
    tn_value v[2] = {keras_any_operand(c, 0, "x1 x"), (tn_value){0}};
    v[1] = keras_any_operand(c, 1, "x2 y");
    keras_promote(c, 2, v);
    if (!c->bad && imp_rank(v[1]) > 2)
        imp_refuse(c, IMP_BAD_VALUE, "dot with a second operand of more than 2 dimensions is not supported");
    if (c->bad)
        return;
    bool scalar = imp_rank(v[0]) == 0 || imp_rank(v[1]) == 0;
    keras_out(c, scalar ? imp_binary(c, &tn_op_multiply, v[0], v[1]) : keras_matmul(c, v[0], v[1]));
}

static void outer(imp_node *c)
{
    tn_value v[2] = {keras_any_operand(c, 0, "x1 x"), (tn_value){0}};
    v[1] = keras_any_operand(c, 1, "x2 y");
    keras_promote(c, 2, v);
    tn_value a = imp_unsqueeze(c, imp_flat(c, v[0]), 1), b = imp_unsqueeze(c, imp_flat(c, v[1]), 0);
    keras_out(c, imp_binary(c, &tn_op_multiply, a, b));
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_function[] = {
    F("Log2",          scaled_log,    NULL),
    F("Log10",         scaled_log,    NULL),
    F("Expm1",         exp_less,      NULL),
    F("Squareplus",    square_plus,   NULL),
    F("Isnan",         test,          &tn_op_isnan),
    F("Isinf",         test,          &tn_op_isinf),
    F("Isfinite",      test,          &tn_op_isfinite),
    F("DivideNoNan",   divide_no_nan, NULL),
    F("Var",           variance,      NULL),
    F("Std",           variance,      NULL),
    F("Logsumexp",     log_sum_exp,   NULL),
    F("Norm",          norm,          NULL),
    F("Normalize",     normalize,     NULL),
    F("Take",          take,          NULL),
    F("TakeAlongAxis", take_along,    NULL),
    F("OneHot",        one_hot,       NULL),
    F("SegmentSum",    segment,       NULL),
    F("SegmentMax",    segment,       NULL),
    F("TopK",          top_k,         NULL),
    F("Sort",          sort,          NULL),
    F("Argsort",       sort,          NULL),
    F("BroadcastTo",   broadcast,     NULL),
    F("FullLike",      full_like,     NULL),
    F("Swapaxes",      swap_axes,     NULL),
    F("Moveaxis",      move_axis,     NULL),
    F("Ravel",         ravel,         NULL),
    F("Roll",          roll,          NULL),
    F("Unstack",       unstack,       NULL),
    F("Triu",          triangle,      NULL),
    F("Tril",          triangle,      NULL),
    F("Cumprod",       cumprod,       NULL),
    F("Hstack",        stack_parts,   NULL),
    F("Vstack",        stack_parts,   NULL),
    F("Dot",           dot,           NULL),
    F("Outer",         outer,         NULL),
    END_OF_ROWS,
};
// clang-format on
