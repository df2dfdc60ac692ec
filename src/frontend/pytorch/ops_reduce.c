/* Reductions, cumulative sums, sorting. */
#include "frontend/pytorch/ops.h"

#include <math.h>
#include <string.h>

static const tn_op *relay(imp_node *c) { return pt_of(c)->row->relay; }

static const char *schema(imp_node *c) { return pt_of(c)->row->schema; }

tn_ints pt_axes(imp_node *c, int i, int rank)
{
    tn_ints v = pt_ints(c, i);
    int64_t *at = TN_NEW_N(c->arena, int64_t, v.n + (size_t)rank);
    uint32_t n = 0;
    for (uint32_t k = 0; k < v.n; k++) {
        int d = imp_axis(c, v.at[k], rank ? rank : 1);
        if (rank)
            at[n++] = d;
    }
    for (int d = 0; d < rank && !v.n; d++)
        at[n++] = d;
    return (tn_ints){n, at};
}

tn_value pt_sum(imp_node *c, const tn_op *op, tn_value v, tn_ints axes, bool keep)
{
    tn_axes_attr a = {axes, keep, false};
    return axes.n ? imp_call1(c, op, &a, v) : v;
}

/* Sums of integers and bools are int64. */
static tn_value summand(imp_node *c, int dtype)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    if (!pt_dtype(c, dtype, &t))
        t = tn_dtype_is_float(t) ? t : TN_I64;
    return imp_cast(c, x, t);
}

/* sum(self, dim, keepdim, dtype) and its kin */
static void total(imp_node *c)
{
    bool all = strstr(schema(c), "dim") == NULL;
    tn_value x = summand(c, all ? 1 : 3);
    tn_ints axes = all ? pt_axes(c, PT_MAX_ARG - 1, imp_rank(x)) : pt_axes(c, 1, imp_rank(x));
    bool nans = strncmp(schema(c), "nan", 3) == 0;
    if (nans && tn_dtype_is_float(imp_type(x)->dtype)) {
        tn_value first = imp_unary(c, &tn_op_isnan, x);
        x = imp_choose(c, first, pt_num(c, x, 0), x);
    }
    pt_out(c, pt_sum(c, relay(c), x, axes, !all && pt_truth(c, 2)));
}

/* What a mean of nothing is. */
static tn_value mean_along(imp_node *c, tn_value x, tn_ints axes, bool keep)
{
    tn_value y = pt_sum(c, &tn_op_mean, x, axes, keep);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        if (tn_is_value(imp_type(x)->dim[axes.at[i]], 0))
            return pt_full(c, pt_shape(c, y), pt_num(c, x, NAN));
    return y;
}

static void mean(imp_node *c)
{
    bool all = strstr(schema(c), "dim") == NULL;
    tn_value x = pt_in(c, 0);
    tn_dtype t;
    if (pt_dtype(c, all ? 1 : 3, &t))
        x = imp_cast(c, x, t);
    tn_ints axes = all ? pt_axes(c, PT_MAX_ARG - 1, imp_rank(x)) : pt_axes(c, 1, imp_rank(x));
    pt_out(c, mean_along(c, x, axes, !all && pt_truth(c, 2)));
}

/* Elements along the axes, as a number of x's type. */
static tn_value count_of(imp_node *c, tn_value x, tn_ints axes)
{
    tn_value n = imp_i64(c, 1);
    for (uint32_t i = 0; i < axes.n; i++)
        n = pt_mul(c, n, imp_extent_of(c, x, (int)axes.at[i]));
    return imp_cast(c, n, imp_type(x)->dtype);
}

static void nanmean(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_ints axes = pt_axes(c, 1, imp_rank(x));
    tn_value nan = imp_unary(c, &tn_op_isnan, x), zero = pt_num(c, x, 0);
    tn_value n = imp_choose(c, nan, zero, pt_num(c, x, 1));
    tn_value first = imp_choose(c, nan, zero, x);
    tn_value s = pt_sum(c, &tn_op_sum, first, axes, pt_truth(c, 2));
    pt_out(c, pt_div(c, s, pt_sum(c, &tn_op_sum, n, axes, pt_truth(c, 2))));
}

static tn_value variance(imp_node *c, tn_value x, tn_ints axes, double correction, bool keep,
                         tn_value *mean_out)
{
    tn_value m = pt_sum(c, &tn_op_mean, x, axes, true), d = pt_sub(c, x, m);
    tn_value s = pt_sum(c, &tn_op_sum, pt_mul(c, d, d), axes, keep);
    tn_value first = count_of(c, x, axes);
    tn_value n = pt_sub(c, first, pt_num(c, x, correction));
    n = imp_binary(c, &tn_op_maximum, n, pt_num(c, x, 0));
    *mean_out = mean_along(c, x, axes, keep);
    return pt_div(c, s, n);
}

/* var, std, var_mean, std_mean: (self, unbiased), (self, dim, unbiased, keepdim) or (self, dim, correction, keepdim) */
static void moments(imp_node *c)
{
    tn_value x = pt_float_in(c, 0), m;
    const char *s = schema(c);
    bool all = !strstr(s, "dim"), by_flag = strstr(s, "unbiased") != NULL, root = s[0] == 's';
    tn_ints axes = all ? pt_axes(c, PT_MAX_ARG - 1, imp_rank(x)) : pt_axes(c, 1, imp_rank(x));
    int at = all ? 1 : 2;
    double correction = by_flag ? pt_truth(c, at) : pt_given(c, at) ? pt_real(c, at) : 1;
    tn_value v = variance(c, x, axes, correction, !all && pt_truth(c, 3), &m);
    v = root ? imp_unary(c, &tn_op_sqrt, v) : v;
    if (strstr(s, "_mean("))
        pt_out_many(c, PT_TUPLE, 2, (const tn_value[]){v, m});
    else
        pt_out(c, v);
}

/* ---- largest and smallest ---- */

static tn_value position(imp_node *c, const tn_op *op, tn_value x, int axis, bool keep)
{
    tn_arg_attr a = {axis, keep, false, TN_I64};
    tn_dtype t = imp_type(x)->dtype;
    x = tn_dtype_is_bool(t) ? imp_cast(c, x, TN_I32) : x;
    return imp_rank(x) ? imp_call1(c, op, &a, x) : imp_i64(c, 0);
}

static tn_value most(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep)
{
    tn_dtype t = imp_type(x)->dtype;
    x = tn_dtype_is_bool(t) ? imp_cast(c, x, TN_I32) : x;
    return imp_cast(c, pt_sum(c, op, x, axes, keep), t);
}

static bool is_max(imp_node *c) { return relay(c) == &tn_op_max; }

/* max(x) */
static void most_of_all(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, most(c, relay(c), x, pt_axes(c, PT_MAX_ARG - 1, imp_rank(x)), false));
}

/* amax(x, dim, keepdim) */
static void most_along(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_ints first = pt_axes(c, 1, imp_rank(x));
    pt_out(c, most(c, relay(c), x, first, pt_truth(c, 2)));
}

/* max(x, dim, keepdim): values and positions */
static void most_and_where(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int64_t axis = pt_axis(c, 1, imp_rank(x));
    bool keep = pt_truth(c, 2);
    tn_value v = imp_rank(x) ? most(c, relay(c), x, tn_ints_make(c->arena, 1, &axis), keep) : x;
    tn_value at = position(c, is_max(c) ? &tn_op_argmax : &tn_op_argmin, x, (int)axis, keep);
    pt_out_many(c, PT_TUPLE, 2, (const tn_value[]){v, at});
}

static void aminmax(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_ints axes = pt_axes(c, 1, imp_rank(x));
    bool keep = pt_truth(c, 2);
    pt_out_many(c, PT_TUPLE, 2,
                (const tn_value[]){most(c, &tn_op_min, x, axes, keep), most(c, &tn_op_max, x, axes, keep)});
}

static void arg(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    bool keep = pt_truth(c, 2);
    int rank = imp_rank(x);
    if (pt_given(c, 1)) {
        pt_out(c, position(c, relay(c), x, pt_axis(c, 1, rank), keep));
        return;
    }
    const tn_expr *ones[IMP_MAX_RANK];
    for (int d = 0; d < rank; d++)
        ones[d] = tn_idx(c->pool, 1);
    tn_value at = position(c, relay(c), imp_flat(c, x), 0, false);
    pt_out(c, keep ? imp_reshape(c, at, rank, ones) : at);
}

/* any, all */
static void quantifier(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    bool has_dim = strstr(schema(c), "dim") != NULL;
    tn_value is = tn_dtype_is_bool(t) ? x : imp_binary(c, &tn_op_not_equal, x, pt_num(c, x, 0));
    tn_ints axes = pt_axes(c, has_dim ? 1 : PT_MAX_ARG - 1, imp_rank(x));
    tn_value first = imp_cast(c, is, TN_I32);
    tn_value v = pt_sum(c, relay(c), first, axes, has_dim && pt_truth(c, 2));
    v = imp_binary(c, &tn_op_greater, v, pt_num(c, v, 0)); /* of none: the least or the largest number */
    pt_out(c, imp_cast(c, v, tn_dtype_eq(t, TN_U8) ? TN_U8 : TN_BOOL1));
}

static void count_nonzero(imp_node *c)
{
    tn_value x = pt_in(c, 0), is = imp_binary(c, &tn_op_not_equal, x, pt_num(c, x, 0));
    tn_value first = imp_cast(c, is, TN_I64);
    pt_out(c, pt_sum(c, &tn_op_sum, first, pt_axes(c, 1, imp_rank(x)), false));
}

static void logsumexp(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    tn_ints first = pt_axes(c, 1, imp_rank(x));
    pt_out(c, imp_log_sum_exp(c, x, first, pt_truth(c, 2)));
}

/* ---- norms ---- */

static tn_value norm_of(imp_node *c, tn_value x, double p, tn_ints axes, bool keep)
{
    tn_value a = imp_unary(c, &tn_op_abs, x);
    if (p == 2)
        return imp_unary(c, &tn_op_sqrt, pt_sum(c, &tn_op_sum, pt_mul(c, x, x), axes, keep));
    if (p == 1)
        return pt_sum(c, &tn_op_sum, a, axes, keep);
    if (isinf(p))
        return pt_sum(c, p > 0 ? &tn_op_max : &tn_op_min, a, axes, keep);
    if (p == 0)
        return pt_sum(c, &tn_op_sum,
                      imp_cast(c, imp_binary(c, &tn_op_not_equal, x, pt_num(c, x, 0)), imp_type(x)->dtype),
                      axes, keep);
    tn_value s = pt_sum(c, &tn_op_sum, imp_binary(c, &tn_op_power, a, pt_num(c, x, p)), axes, keep);
    return imp_binary(c, &tn_op_power, s, pt_num(c, x, 1 / p));
}

tn_value pt_norm(imp_node *c, tn_value x, double p, tn_ints axes, bool keep)
{
    tn_value wide = pt_wide(c, x);
    return imp_cast(c, norm_of(c, wide, p, axes, keep), imp_type(x)->dtype);
}

/* (self, p, dim, keepdim, dtype); linalg_vector_norm's */
static void norm(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    tn_dtype t;
    double p = 2;
    if (pt_arg(c, 1).kind == PT_TEXT ? strcmp(pt_string(c, 1), "fro") != 0 : false) {
        imp_refuse(c, IMP_BAD_VALUE, "the norm \"%s\" is not supported", pt_string(c, 1));
        return;
    }
    if (pt_given(c, 1) && pt_arg(c, 1).kind != PT_TEXT)
        p = pt_real(c, 1);
    if (c->n_in > 4 && pt_dtype(c, 4, &t))
        x = imp_cast(c, x, t);
    tn_ints first = pt_axes(c, 2, imp_rank(x));
    pt_out(c, pt_norm(c, x, p, first, pt_truth(c, 3)));
}

static void frobenius(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    tn_ints first = pt_axes(c, 1, imp_rank(x));
    pt_out(c, pt_norm(c, x, 2, first, pt_truth(c, 2)));
}

static void dist(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_value d = pt_sub(c, v[0], v[1]);
    double first = pt_real(c, 2);
    pt_out(c, pt_norm(c, d, first, pt_axes(c, PT_MAX_ARG - 1, imp_rank(d)), false));
}

static void normalize(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    double first = pt_real(c, 1);
    tn_value n = pt_norm(c, x, first, pt_axes(c, 2, imp_rank(x)), true);
    pt_out(c, pt_div(c, x, imp_binary(c, &tn_op_maximum, n, pt_num(c, x, pt_real(c, 3)))));
}

/* ---- running sums ---- */

static void running(imp_node *c)
{
    tn_value x = summand(c, 2);
    tn_dtype t = imp_type(x)->dtype;
    tn_scan_attr a = {pt_axis(c, 1, imp_rank(x)), false, false};
    pt_out(c, imp_rank(x) ? imp_cast(c, imp_call1(c, relay(c), &a, pt_wide(c, x)), t) : x);
}

static void logcumsumexp(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    int64_t axis = pt_axis(c, 1, imp_rank(x));
    const tn_dtype t = imp_type(x)->dtype;
    if (t.bits < 32)
        x = imp_cast(c, x, TN_F32); /* exp of what is far below the largest */
    if (!imp_rank(x)) {
        pt_out(c, imp_cast(c, x, t));
        return;
    }
    tn_value high = pt_sum(c, &tn_op_max, x, tn_ints_make(c->arena, 1, &axis), true);
    tn_value first = imp_unary(c, &tn_op_isfinite, high);
    high = imp_choose(c, first, high, pt_num(c, x, 0));
    tn_scan_attr a = {axis, false, false};
    tn_value s = imp_call1(c, &tn_op_cumsum, &a, imp_unary(c, &tn_op_exp, pt_sub(c, x, high)));
    pt_out(c, imp_cast(c, pt_add(c, imp_unary(c, &tn_op_log, s), high), t));
}

/* cummax, cummin: and where the last element that is as large was found. */
static void running_most(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    tn_scan_attr a = {pt_axis(c, 1, rank), false, false};
    tn_dtype t = imp_type(x)->dtype;
    if (c->bad || !rank) {
        pt_out_many(c, PT_TUPLE, 2, (const tn_value[]){x, imp_i64(c, 0)});
        return;
    }
    x = imp_cast(c, x, tn_dtype_is_bool(t) ? TN_I8 : t);
    tn_value most = imp_call1(c, relay(c), &a, x), found = imp_binary(c, &tn_op_equal, x, most);
    if (tn_dtype_is_float(t)) /* a NaN is found, nothing is after one */
        found = imp_binary(c, &tn_op_logical_or, found, imp_binary(c, &tn_op_not_equal, x, x));
    const tn_expr *dim[IMP_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = i == a.axis ? imp_type(x)->dim[i] : tn_idx(c->pool, 1);
    tn_value place = imp_reshape(c, imp_count_up(c, imp_type(x)->dim[a.axis]), rank, dim);
    place = imp_choose(c, found, place, imp_i64(c, -1));
    tn_value v[2] = {imp_cast(c, most, t), imp_call1(c, &tn_op_cummax, &a, place)};
    pt_out_many(c, PT_TUPLE, 2, v);
}

static void diff(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 2, imp_rank(x));
    int64_t n = pt_integer(c, 1);
    if (pt_given(c, 3) || pt_given(c, 4)) {
        tn_value v[3];
        uint32_t k = 0;
        if (pt_given(c, 3))
            v[k++] = pt_in(c, 3);
        v[k++] = x;
        if (pt_given(c, 4))
            v[k++] = pt_in(c, 4);
        x = imp_concat(c, k, v, axis);
    }
    for (int64_t i = 0; i < n && i < 64 && !c->bad; i++) {
        bool logic = tn_dtype_is_bool(imp_type(x)->dtype);
        tn_value first = imp_slice(c, x, axis, 1, INT64_MAX);
        x = imp_binary(c, logic ? &tn_op_logical_xor : &tn_op_subtract, first, imp_slice(c, x, axis, 0, -1));
    }
    pt_out(c, x);
}

/* ---- sorting ---- */

static void topk(imp_node *c, tn_value x, const tn_expr *k, int axis, bool ascending, int what)
{
    if (!imp_rank(x)) {
        tn_value v[2] = {x, imp_i64(c, 0)};
        if (what < 2)
            pt_out(c, v[what]);
        else
            pt_out_many(c, PT_TUPLE, 2, v);
        return;
    }
    tn_topk_attr a = {tn_dims_make(c->arena, 1, &k), axis, ascending, TN_I64};
    tn_dtype t = imp_type(x)->dtype;
    tn_value best = imp_call1(c, &tn_op_topk, &a, imp_cast(c, x, tn_dtype_is_bool(t) ? TN_I32 : t));
    tn_value v[2] = {imp_cast(c, best, t), {best.def, 1}};
    if (c->bad)
        return;
    if (what < 2)
        pt_out(c, v[what]);
    else
        pt_out_many(c, PT_TUPLE, 2, v);
}

static void top(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    const tn_expr *first = pt_extent(c, pt_arg(c, 1));
    int second = pt_axis(c, 2, imp_rank(x));
    topk(c, x, first, second, !pt_truth(c, 3), 2);
}

/* sort, argsort, msort: of (self, dim, descending) or (self, *, stable, dim, descending) */
static void sort(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    const char *s = schema(c);
    int first = strstr(s, "stable") ? 2 : 1;
    bool msort = *s == 'm';
    int axis = msort ? 0 : pt_axis(c, first, imp_rank(x));
    const tn_expr *n = imp_rank(x) ? imp_type(x)->dim[axis] : tn_idx(c->pool, 1);
    topk(c, x, n, axis, msort || !pt_truth(c, first + 1), msort ? 0 : *s == 'a' ? 1 : 2);
}

/* The k-th smallest. */
static void kth(imp_node *c)
{
    tn_value x = pt_in(c, 0), v[2];
    int axis = pt_axis(c, 2, imp_rank(x));
    if (c->bad || !imp_rank(x)) {
        pt_out_many(c, PT_TUPLE, 2, (const tn_value[]){x, imp_i64(c, 0)});
        return;
    }
    topk(c, x, pt_extent(c, pt_arg(c, 1)), axis, true, 2);
    if (c->bad || !pt_is_sequence(pt_of(c)->out))
        return;
    for (int i = 0; i < 2; i++) {
        v[i] = imp_slice(c, pt_as_tensor(c, pt_at(pt_of(c)->out, (size_t)i)), axis, -1, INT64_MAX);
        v[i] = pt_truth(c, 3) ? v[i] : imp_squeeze(c, v[i], axis);
    }
    pt_out_many(c, PT_TUPLE, 2, v);
}

#define ALL(name, f, op, flags) {name "(Tensor self, *, ScalarType? dtype=None)", f, &tn_op_##op, flags}
#define DIMS(name, f, op, flags) \
    {name "(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None)", f, &tn_op_##op, flags}
#define MOST(name, op, arg) \
    {name "(Tensor self)", most_of_all, &tn_op_##op, 0}, \
        {name "(Tensor self, int dim, bool keepdim=False)", most_and_where, &tn_op_##op, 0}
#define MOMENTS(name) \
    {name "(Tensor self, bool unbiased)", moments, NULL, PT_WIDE}, \
        {name "(Tensor self, int[]? dim, bool unbiased, bool keepdim=False)", moments, NULL, PT_WIDE}, \
    { \
        name "(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False)", moments, \
            NULL, PT_WIDE \
    }
static void pair_most(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    pt_out(c, is_max(c) ? pt_max(c, v[0], v[1]) : pt_min(c, v[0], v[1]));
}
const pt_row pt_rows_reduce[] = {
    ALL("sum", total, sum, PT_PARTS),
    DIMS("sum", total, sum, PT_PARTS),
    ALL("nansum", total, sum, 0),
    DIMS("nansum", total, sum, 0),
    ALL("prod", total, prod, 0),
    DIMS("prod", total, prod, 0),
    ALL("mean", mean, mean, PT_PARTS),
    DIMS("mean", mean, mean, PT_PARTS),
    {"nanmean(Tensor self, int[]? dim=None, bool keepdim=False)", nanmean, NULL, 0},
    MOMENTS("var"),
    MOMENTS("std"),
    MOMENTS("var_mean"),
    MOMENTS("std_mean"),
    MOST("max", max, argmax),
    {"max(Tensor self, Tensor other)", pair_most, &tn_op_max, 0},
    MOST("min", min, argmin),
    {"min(Tensor self, Tensor other)", pair_most, &tn_op_min, 0},
    {"amax(Tensor self, int[] dim=[], bool keepdim=False)", most_along, &tn_op_max, 0},
    {"amin(Tensor self, int[] dim=[], bool keepdim=False)", most_along, &tn_op_min, 0},
    {"aminmax(Tensor self, *, int? dim=None, bool keepdim=False)", aminmax, NULL, 0},
    {"argmax(Tensor self, int? dim=None, bool keepdim=False)", arg, &tn_op_argmax, 0},
    {"argmin(Tensor self, int? dim=None, bool keepdim=False)", arg, &tn_op_argmin, 0},
    {"any(Tensor self)", quantifier, &tn_op_max, 0},
    {"any(Tensor self, int[]? dim, bool keepdim=False)", quantifier, &tn_op_max, 0},
    {"all(Tensor self)", quantifier, &tn_op_min, 0},
    {"all(Tensor self, int[]? dim, bool keepdim=False)", quantifier, &tn_op_min, 0},
    {"count_nonzero(Tensor self, int[]? dim=None)", count_nonzero, NULL, 0},
    {"logsumexp(Tensor self, int[] dim, bool keepdim=False)", logsumexp, NULL, 0},
    {"special_logsumexp(Tensor self, int[] dim, bool keepdim=False)", logsumexp, NULL, 0},
    {"norm(Tensor self, any p=2, int[] dim=[], bool keepdim=False, *, ScalarType? dtype=None)", norm, NULL,
     0},
    {"linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None)",
     norm, NULL, 0},
    {"frobenius_norm(Tensor self, int[] dim, bool keepdim=False)", frobenius, NULL, 0},
    {"dist(Tensor self, Tensor other, Scalar p=2)", dist, NULL, 0},
    {"normalize(Tensor self, float p=2, int[] dim=1, float eps=1e-12)", normalize, NULL, 0},
    {"cumsum(Tensor self, int dim, *, ScalarType? dtype=None)", running, &tn_op_cumsum, PT_PARTS},
    {"cumprod(Tensor self, int dim, *, ScalarType? dtype=None)", running, &tn_op_cumprod, 0},
    {"cummax(Tensor self, int dim)", running_most, &tn_op_cummax, 0},
    {"cummin(Tensor self, int dim)", running_most, &tn_op_cummin, 0},
    {"logcumsumexp(Tensor self, int dim)", logcumsumexp, NULL, 0},
    {"diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", diff, NULL, PT_SUM},
    {"topk(Tensor self, any k, int dim=-1, bool largest=True, bool sorted=True)", top, NULL, 0},
    {"sort(Tensor self, *, bool? stable, int dim=-1, bool descending=False)", sort, NULL, 0},
    {"sort(Tensor self, int dim=-1, bool descending=False)", sort, NULL, 0},
    {"argsort(Tensor self, *, bool stable, int dim=-1, bool descending=False)", sort, NULL, 0},
    {"argsort(Tensor self, int dim=-1, bool descending=False)", sort, NULL, 0},
    {"msort(Tensor self)", sort, NULL, 0},
    {"kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)", kth, NULL, 0},
    {0},
};
