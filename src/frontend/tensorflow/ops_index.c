/* Reading and writing by indices: Gather and Scatter with their kin, OneHot, TopK, Where, bands of matrices. Indices
 * that the run computes are checked; TensorFlow refuses those outside, too. */
#include "frontend/tensorflow/tf.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* ---- indices ---- */

static bool inside(imp_node *c, tn_value at, const tn_expr *extent)
{
    tn_dims known;
    int64_t n, i;
    if (!imp_host(c, at, &known) || !tn_is_int(extent, &n))
        return false;
    for (uint32_t k = 0; k < known.n; k++) {
        if (!tn_is_int(known.at[k], &i))
            return false;
        if (i < 0 || i >= n)
            imp_refuse(c, IMP_BAD_VALUE, "index %lld is outside of the %lld elements; the model is damaged",
                       (long long)i, (long long)n);
    }
    return true;
}

/* Entry k of the last dimension is for extent[k]. */
static tn_value checked(imp_node *c, tn_value at, uint32_t n, const tn_expr *const extent[])
{
    tn_extent_attr a = {tn_dims_make(c->arena, n, extent)};
    if (c->bad || (n == 1 && inside(c, at, extent[0])))
        return at;
    return imp_call1(c, &tn_op_checked_index, &a, at);
}

static tn_value checked_rows(imp_node *c, tn_value at, const tn_type *t, int64_t first)
{
    int64_t n = 0;
    const tn_type *i = imp_type(at);
    if (c->bad || i->n < 1 || !tn_is_int(i->dim[i->n - 1], &n) || n < 1 || first < 0 || first + n > t->n)
        return at; /* the operator says what is wrong, or nothing is selected */
    return checked(c, at, (uint32_t)n, t->dim + first);
}

/* ---- reading ---- */

/* One constant index is a slice, which moves no data if its reader is near. */
static bool gather_one(imp_node *c, tn_value x, int axis, tn_value at)
{
    int64_t i, n;
    tn_dims known;
    if (imp_rank(x) < 2 || imp_rank(at) > 0 || !imp_host(c, at, &known) || !tn_is_int(known.at[0], &i) ||
        !tn_is_int(imp_type(x)->dim[axis], &n) || !inside(c, at, imp_type(x)->dim[axis]))
        return false;
    imp_out(c, 0, imp_squeeze(c, imp_slice(c, x, axis, i, i + 1), axis));
    return true;
}

static void gather_along(imp_node *c, tn_value x, tn_value at, int64_t where, int64_t batch)
{
    int axis = imp_axis(c, where, imp_rank(x));
    batch = batch < 0 ? batch + imp_rank(at) : batch;
    imp_attr_ignore(c, "validate_indices");
    if (c->bad || (!batch && gather_one(c, x, axis, at)))
        return;
    at = checked(c, at, 1, &imp_type(x)->dim[axis]);
    imp_out(c, 0, batch ? imp_take_of_each(c, x, at, axis, (int)batch) : imp_take(c, x, at, axis));
}

static void gather(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    int64_t batch = imp_attr_int(c, "batch_dims", 0);
    int64_t axis = imp_has(c, 2) ? imp_int_in(c, imp_in(c, 2), "the axis") : 0;
    gather_along(c, x, at, axis, batch);
}

static void gather_nd(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_in(c, 1);
    tn_gather_nd_attr a = {0};
    imp_attr_ignore(c, "bad_indices_policy");
    at = checked_rows(c, at, imp_type(x), 0);
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, x, at));
}

/* ---- writing ---- */

static tn_value scattered(imp_node *c, tn_value x, tn_value at, tn_value updates, const char *how)
{
    tn_scatter_attr a = {0, how};
    imp_attr_ignore(c, "bad_indices_policy");
    at = checked_rows(c, at, imp_type(x), 0);
    return imp_call(c, &tn_op_scatter_nd, &a, 3, (const tn_value[]){x, at, updates});
}

static void scatter_nd(imp_node *c)
{
    tn_value at = imp_in(c, 0), updates = imp_in(c, 1);
    tn_dims shape = imp_extents_in(c, imp_in(c, 2), "the shape");
    tn_value zero = tf_full(c, tf_number(c, updates, 0), shape);
    imp_out(c, 0, scattered(c, zero, at, updates, "add"));
}

static void tensor_scatter(imp_node *c)
{
    static const struct {
        const char *op, *how;
    } kinds[] = {{"TensorScatterUpdate", "update"},
                 {"TensorScatterAdd", "add"},
                 {"TensorScatterMin", "min"},
                 {"TensorScatterMax", "max"},
                 {"TensorScatterSub", "sub"}};
    const char *how = "update";
    tn_value x = imp_in(c, 0), at = imp_in(c, 1), updates = imp_in(c, 2);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        how = strcmp(c->row->op, kinds[i].op) == 0 ? kinds[i].how : how;
    if (strcmp(how, "sub") == 0) {
        updates = imp_unary(c, &tn_op_negative, updates);
        how = "add";
    }
    imp_out(c, 0, scattered(c, x, at, updates, how));
}

static void sparse_to_dense(imp_node *c)
{
    tn_value at = imp_in(c, 0), values = imp_in(c, 2), rest = tf_scalar_in(c, 3);
    tn_dims shape = imp_extents_in(c, imp_in(c, 1), "the shape");
    imp_attr_ignore(c, "validate_indices");
    if (imp_rank(at) > 0 && imp_rank(values) == 0) /* one value for all */
        values = tf_full(c, values, tn_dims_make(c->arena, 1, imp_type(at)->dim));
    at = imp_rank(at) < 2 ? imp_unsqueeze(c, at, imp_rank(at)) : at;
    imp_out(c, 0, scattered(c, tf_full(c, rest, shape), at, values, "update"));
}

static void invert_permutation(imp_node *c)
{
    tn_value p = imp_in(c, 0);
    tn_scatter_attr a = {0, "update"};
    if (c->bad || imp_rank(p) != 1)
        return;
    tn_value place = imp_cast(c, imp_count_up(c, imp_type(p)->dim[0]), imp_type(p)->dtype);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){p, p, place}));
}

/* ---- patterns ---- */

static void one_hot(imp_node *c)
{
    tn_value at = imp_in(c, 0), on = tf_scalar_in(c, 2), off = tf_scalar_in(c, 3);
    tn_one_hot_attr a = {imp_extents_in(c, imp_in(c, 1), "the depth"), imp_attr_int(c, "axis", -1)};
    if (imp_type(at)->dtype.code == TN_INT) { /* below 0 is outside: no row has it */
        at = imp_cast(c, at, TN_I64);
        tn_value below = imp_binary(c, &tn_op_less, at, imp_i64(c, 0));
        at = imp_choose(c, below, imp_i64(c, INT32_MAX), at);
    }
    imp_out(c, 0, imp_call(c, &tn_op_one_hot, &a, 3, (const tn_value[]){at, on, off}));
}

static tn_value reversed(imp_node *c, tn_value x, int64_t axis)
{
    int64_t step = -1, from = INT64_MAX, to = INT64_MIN;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

static void reverse(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool flags = strcmp(c->row->op, "Reverse") == 0;
    tn_ints at = flags ? imp_ints_in(c, imp_in(c, 1), "the dimensions") : tf_axes_in(c, 1, imp_rank(x));
    for (uint32_t i = 0; i < at.n && !c->bad; i++)
        if (!flags || at.at[i])
            x = reversed(c, x, flags ? (int64_t)i : at.at[i]);
    imp_out(c, 0, x);
}

static void reverse_sequence(imp_node *c)
{
    tn_value x = imp_in(c, 0), n = imp_in(c, 1);
    tn_reverse_sequence_attr a = {imp_attr_int(c, "seq_dim", 1), imp_attr_int(c, "batch_dim", 0)};
    imp_out(c, 0, imp_call2(c, &tn_op_reverse_sequence, &a, x, n));
}

static void roll(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints shift = imp_ints_in(c, imp_in(c, 1), "the shift"), axes = tf_axes_in(c, 2, imp_rank(x));
    for (uint32_t i = 0; i < axes.n && i < shift.n && !c->bad; i++)
        x = imp_roll(c, x, (int)axes.at[i], shift.at[i]);
    imp_out(c, 0, x);
}

/* What lies between the diagonals; a negative number of them is all. */
static void band_part(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t lower = imp_int_in(c, imp_in(c, 1), "num_lower"),
            upper = imp_int_in(c, imp_in(c, 2), "num_upper");
    if (lower >= 0) {
        tn_trilu_attr a = {true};
        x = imp_call2(c, &tn_op_trilu, &a, x, imp_i64(c, -lower));
    }
    if (upper >= 0) {
        tn_trilu_attr a = {false};
        x = imp_call2(c, &tn_op_trilu, &a, x, imp_i64(c, upper));
    }
    imp_out(c, 0, x);
}

static void topk(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_topk_attr a = {.axis = imp_rank(x) - 1, .dtype = tf_attr_dtype(c, "index_type", TN_I32)};
    imp_attr_ignore(c, "sorted"); /* sorted is one of the orders that unsorted allows */
    if (imp_has(c, 1)) {
        a.k = imp_extents_in(c, imp_in(c, 1), "k");
    } else {
        imp_attr_need(c, "k");
        a.k = tn_make_dims(c->g, 1, &(int64_t){imp_attr_int(c, "k", 1)});
    }
    tn_value values = imp_call1(c, &tn_op_topk, &a, x);
    imp_out(c, 0, values);
    imp_out_any(c, 1, (tn_value){values.def, 1});
}

/* Is the number of each row at its target among the k largest? Not where the target is no class, or a number of the
 * row is not finite. */
static void in_top_k(imp_node *c)
{
    tn_value x = imp_in(c, 0), target = imp_cast(c, imp_in(c, 1), TN_I64);
    tn_value k = imp_has(c, 2) ? imp_cast(c, imp_in(c, 2), TN_I64) : imp_i64(c, imp_attr_int(c, "k", 0));
    if (!c->bad && (imp_rank(x) != 2 || imp_rank(target) != 1))
        imp_refuse(c, IMP_OPERANDS, "predictions %s and targets %s do not fit", imp_type_text(c, imp_type(x)),
                   imp_type_text(c, imp_type(target)));
    if (c->bad)
        return;
    tn_axis_attr along = {1};
    tn_value last = imp_with(c, &tn_op_subtract, imp_extent_of(c, x, 1), 1);
    tn_value at = imp_binary(c, &tn_op_minimum, imp_with(c, &tn_op_maximum, target, 0), last);
    tn_value is_class = imp_binary(c, &tn_op_equal, at, target);
    tn_value own = imp_call2(c, &tn_op_gather, &along, x, imp_unsqueeze(c, at, 1));
    tn_value above = imp_cast(c, imp_binary(c, &tn_op_greater, x, own), TN_I64);
    tn_value few = imp_binary(c, &tn_op_less, imp_reduce(c, &tn_op_sum, above, 1), k);
    tn_value finite = imp_cast(c, imp_unary(c, &tn_op_isfinite, x), TN_I64);
    finite = imp_cast(c, imp_reduce(c, &tn_op_min, finite, 1), TN_BOOL1);
    finite = imp_binary(c, &tn_op_logical_and, finite, is_class);
    imp_out(c, 0, imp_binary(c, &tn_op_logical_and, few, finite));
}

/* Positions where x is not 0, a row each. */
static void where(imp_node *c)
{
    tn_value x = imp_in(c, 0), column[IMP_MAX_RANK];
    const tn_type *t = imp_type(x);
    int rank = t->n;
    if (c->bad || rank < 1)
        return;
    tn_value at = imp_positions(c, imp_flat(c, imp_cast(c, x, TN_BOOL1)));
    for (int d = rank - 1; d >= 0 && !c->bad; d--) { /* the last index runs fastest */
        int64_t n;
        if (d == 0) {
            column[d] = imp_unsqueeze(c, at, 1);
            break;
        }
        tn_value extent = tn_is_int(t->dim[d], &n) ? imp_i64(c, n) : imp_extent_of(c, x, d);
        tn_value above = imp_binary(c, &tn_op_divide, at, extent);
        tn_value whole = imp_binary(c, &tn_op_multiply, above, extent);
        column[d] = imp_unsqueeze(c, imp_binary(c, &tn_op_subtract, at, whole), 1);
        at = above;
    }
    imp_out(c, 0, c->bad ? x : imp_concat(c, (uint32_t)rank, column, 1));
}

// clang-format off
const imp_row tf_rows_index[] = {
    {"Gather",              1, 0, 2, 1, gather,             NULL},
    {"GatherNd",            1, 0, 2, 1, gather_nd,          NULL},
    {"GatherV2",            1, 0, 3, 1, gather,             NULL},
    {"InvertPermutation",   1, 0, 1, 1, invert_permutation, NULL},
    {"MatrixBandPart",      1, 0, 3, 1, band_part,          NULL},
    {"OneHot",              1, 0, 4, 1, one_hot,            NULL},
    {"Reverse",             1, 0, 2, 1, reverse,            NULL},
    {"ReverseSequence",     1, 0, 2, 1, reverse_sequence,   NULL},
    {"ReverseV2",           1, 0, 2, 1, reverse,            NULL},
    {"Roll",                1, 0, 3, 1, roll,               NULL},
    {"ScatterNd",           1, 0, 3, 1, scatter_nd,         NULL},
    {"SparseToDense",       1, 0, 4, 1, sparse_to_dense,    NULL},
    {"TensorScatterAdd",    1, 0, 3, 1, tensor_scatter,     NULL},
    {"TensorScatterMax",    1, 0, 3, 1, tensor_scatter,     NULL},
    {"TensorScatterMin",    1, 0, 3, 1, tensor_scatter,     NULL},
    {"TensorScatterSub",    1, 0, 3, 1, tensor_scatter,     NULL},
    {"TensorScatterUpdate", 1, 0, 3, 1, tensor_scatter,     NULL},
    {"InTopK",              1, 0, 2, 1, in_top_k,           NULL},
    {"InTopKV2",            1, 0, 3, 1, in_top_k,           NULL},
    {"TopK",                1, 0, 1, 2, topk,               NULL},
    {"TopKV2",              1, 0, 2, 2, topk,               NULL},
    {"Where",               1, 0, 1, 1, where,              NULL},
    {0},
};
// clang-format on
