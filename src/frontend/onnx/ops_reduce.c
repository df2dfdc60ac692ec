/* Reductions over axes, which are an attribute at first and an operand since opset 18 (ReduceSum: 13). */
#include "frontend/onnx/flow.h"

#include "op/tensor/tensor.h"

typedef struct reduction {
    tn_axes_attr a;
    bool nothing;     /* the operand stays as it is */
    bool late;        /* the axes are computed during the run: */
    int n;            /* how many dimensions are reduced; -1: not known */
    tn_value at;      /* their positions, one after the other; the rank of the operand stands for none */
    tn_value reduced; /* bool: is this dimension? */
} reduction;

/* Axes that only the run knows. One that is named twice is reduced once. */
static void late_axes(imp_node *c, int rank, bool noop, reduction *r)
{
    tn_value axes = imp_in(c, 1), zero = imp_i64(c, 0);
    int64_t n = imp_length(axes);
    r->late = true;
    r->at = imp_positions_of(c, axes, rank);
    tn_value hits = imp_hits(c, r->at, rank);
    r->reduced = imp_binary(c, &tn_op_greater, hits, zero);
    r->n = (int)n;
    if (n >= 0 && n <= rank)
        return;
    r->n = -1;
    if (!noop) { /* no axes: all */
        tn_value none = imp_binary(c, &tn_op_equal, imp_reduce(c, &tn_op_sum, hits, 0), zero);
        r->reduced = imp_binary(c, &tn_op_logical_or, r->reduced, none);
    }
    tn_value own = imp_iota(c, rank);
    r->at = imp_choose(c, r->reduced, own, imp_i64(c, rank));
}

static bool reduce_attr(imp_node *c, tn_value x, reduction *r)
{
    int since = c->row->relay == &tn_op_sum && c->row->op[6] == 'S' && c->row->op[9] == 0 ? 13 : 18;
    bool noop = imp_attr_int(c, "noop_with_empty_axes", 0) != 0;
    *r = (reduction){.a.keepdims = imp_attr_int(c, "keepdims", 1) != 0};
    if (c->version >= since && imp_rank(x) > 0 && imp_is_late(c, 1)) {
        if (!r->a.keepdims && !onnx_fix_length(c, 1, 0, imp_rank(x)))
            return false;
        r->nothing = noop && imp_length(imp_in(c, 1)) == 0;
        if (imp_length(imp_in(c, 1)) != 0)
            late_axes(c, imp_rank(x), noop, r);
        return !c->bad;
    }
    bool given = imp_ints_arg(c, "axes", since, 1, &r->a.axis);
    r->nothing = noop && (!given || r->a.axis.n == 0);
    return !c->bad;
}

/* One axis after the other, each in the middle of three dimensions. */
static tn_value one_by_one(imp_node *c, const tn_op *op, tn_value x, const reduction *r)
{
    int64_t middle = 1, n = imp_length(r->at);
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &middle), true, false};
    tn_value shape = imp_shape_of(c, x), y = x;
    int rank = imp_rank(x);
    for (int64_t k = 0; k < n && !c->bad; k++) {
        tn_value at = imp_slice(c, r->at, 0, k, k + 1);
        y = imp_call1(c, op, &a, imp_around(c, y, shape, at));
        tn_value here = imp_binary(c, &tn_op_equal, imp_iota(c, rank), at);
        shape = imp_choose(c, here, imp_i64(c, 1), shape);
    }
    return imp_in_shape(c, y, shape, imp_type(x)->dim);
}

/* sum / number of elements; of integers towards zero. */
static tn_value late_mean(imp_node *c, tn_value x, const reduction *r)
{
    tn_dtype t = imp_type(x)->dtype, wide = tn_dtype_is_int(t) ? TN_I64 : imp_sum_dtype(t);
    tn_value sum = one_by_one(c, &tn_op_sum, imp_cast(c, x, wide), r);
    tn_value extents = imp_shape_of(c, x);
    tn_value count = imp_reduce(c, &tn_op_prod, imp_choose(c, r->reduced, extents, imp_i64(c, 1)), 0);
    count = imp_cast(c, imp_binary(c, &tn_op_maximum, count, imp_i64(c, 1)), wide);
    return imp_cast(c, imp_binary(c, tn_dtype_is_int(t) ? &tn_op_trunc_divide : &tn_op_divide, sum, count),
                    t);
}

/* The reduction; reduced axes that only the run knows are kept, with extent 1. */
static tn_value reduced(imp_node *c, const tn_op *op, tn_value x, const reduction *r)
{
    return r->nothing          ? x
           : !r->late          ? imp_call1(c, op, &r->a, x)
           : op == &tn_op_mean ? late_mean(c, x, r)
                               : one_by_one(c, op, x, r);
}

/* y, the result for x, without the reduced axes where they are not kept. */
static tn_value without_axes(imp_node *c, tn_value y, tn_value x, const reduction *r)
{
    if (!r->late || r->a.keepdims || c->bad)
        return y;
    const tn_expr *left = tn_idx(c->pool, imp_rank(x) - r->n);
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &left)};
    tn_value kept = imp_unary(c, &tn_op_logical_not, r->reduced);
    imp_demand(c, imp_reduce(c, &tn_op_sum, imp_cast(c, kept, TN_I64), 0), left->u.i,
               "axes must name a dimension once");
    if (left->u.i == 0)
        return imp_checked_reshape(c, y, (tn_dims){0});
    tn_value at = imp_call1(c, &tn_op_where_true, &a, kept);
    return imp_in_shape(c, y, imp_take(c, imp_shape_of(c, x), at, 0), NULL);
}

static void reduce(imp_node *c)
{
    reduction r;
    tn_value x = imp_in(c, 0);
    if (!reduce_attr(c, x, &r))
        return;
    tn_dtype t = imp_type(x)->dtype; /* bools are reduced as 0 and 1 */
    x = tn_dtype_is_bool(t) ? imp_cast(c, x, TN_U8) : x;
    imp_out(c, 0, imp_cast(c, without_axes(c, reduced(c, c->row->relay, x, &r), x, &r), t));
}

/* ---- norms: with something before the sum and after it ---- */

/* imp_log_sum_exp along axes that only the run knows, which are kept. */
static tn_value late_log_sum_exp(imp_node *c, tn_value x, const reduction *r)
{
    tn_value m = imp_finite_or_zero(c, reduced(c, &tn_op_max, x, r));
    tn_value away = imp_binary(c, &tn_op_subtract, x, imp_broadcast_like(c, m, x));
    tn_value sum = imp_unary(c, &tn_op_log, reduced(c, &tn_op_sum, imp_unary(c, &tn_op_exp, away), r));
    if (!c->bad) /* whose extents are bound twice */
        m = imp_checked_reshape(c, m, (tn_dims){(uint32_t)imp_rank(sum), imp_type(sum)->dim});
    return imp_binary(c, &tn_op_add, sum, m);
}

/* Integers go through float64 where a root or a logarithm is taken, 16-bit floats through float32. */
static void norm(imp_node *c)
{
    reduction r;
    tn_value x = imp_in(c, 0), y;
    const char *kind = c->row->op + 6; /* L1, L2, LogSum, LogSumExp, SumSquare */
    if (!reduce_attr(c, x, &r))
        return;
    tn_dtype t = imp_type(x)->dtype;
    bool root = kind[1] == '2', logarithm = kind[1] == 'o', square = root || kind[0] == 'S';
    bool whole = tn_dtype_is_int(t);
    tn_dtype wide = whole && (root || logarithm) ? TN_F64 : imp_sum_dtype(t);
    x = imp_cast(c, x, wide);
    if (logarithm && kind[6]) {
        y = r.nothing ? x
            : r.late  ? late_log_sum_exp(c, x, &r)
                      : imp_log_sum_exp(c, x, r.a.axis, r.a.keepdims);
    } else {
        if (square)
            y = imp_binary(c, &tn_op_multiply, x, x);
        else
            y = logarithm ? x : imp_unary(c, &tn_op_abs, x);
        y = reduced(c, &tn_op_sum, y, &r);
        y = root ? imp_unary(c, &tn_op_sqrt, y) : logarithm ? imp_unary(c, &tn_op_log, y) : y;
    }
    imp_out(c, 0, imp_cast(c, without_axes(c, y, x, &r), t));
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
