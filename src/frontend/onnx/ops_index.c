/* Reading and writing by indices: Gather and its kin, Scatter and its kin, OneHot, ReverseSequence, TopK, ArgMax.
 *
 * Indices count from the front, or from the end if they are negative. Constant ones are checked here; others pass
 * checked_index, which fails the call where one is outside of the data.
 */
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- indices ---- */

static bool within(imp_node *c, tn_dims known, int64_t extent, bool *negative)
{
    int64_t at;
    *negative = false;
    for (uint32_t i = 0; i < known.n; i++) {
        if (!tn_is_int(known.at[i], &at))
            return false;
        if (at < -extent || at >= extent)
            imp_fail(c, "onnx-E009", "index %lld is outside of the %lld elements; the model is damaged",
                     (long long)at, (long long)extent);
        *negative |= at < 0;
    }
    return true;
}

/* Indices into an axis of extent d, counted from the front. */
static tn_value checked(imp_node *c, tn_value indices, const tn_expr *d)
{
    int64_t extent;
    tn_dims known;
    bool negative;
    if (imp_host(c, indices, &known) && tn_is_int(d, &extent) && within(c, known, extent, &negative) &&
        !negative)
        return indices;
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &d)};
    return imp_call1(c, &tn_op_checked_index, &a, indices);
}

/* Rows of indices: entry k of the last dimension is for dimension first + k of t. */
static tn_value checked_rows(imp_node *c, tn_value indices, const tn_type *t, int64_t first)
{
    int64_t n = 0;
    const tn_type *i = imp_type(indices);
    if (c->bad || i->n < 1 || !tn_is_int(i->dim[i->n - 1], &n) || n < 1 || first < 0 || first + n > t->n)
        return indices; /* the operator says what is wrong, or nothing is selected */
    tn_extent_attr a = {tn_dims_make(c->arena, (uint32_t)n, t->dim + first)};
    return imp_call1(c, &tn_op_checked_index, &a, indices);
}

/* ---- reading ---- */

/* One constant index is a slice: what moves no data at all if its reader is near. Of an unknown extent only the ends
 * are sure to be there, if it is not 0. */
static bool gather_one(imp_node *c, tn_value x, int64_t axis, tn_value indices)
{
    int64_t at, extent, step = 1;
    tn_dims known;
    bool negative;
    const tn_expr *d = imp_type(x)->dim[axis];
    if (imp_rank(x) < 2 || imp_rank(indices) > 1 || !imp_host(c, indices, &known) || known.n != 1 ||
        !tn_is_int(known.at[0], &at))
        return false;
    const tn_expr *first = tn_simplify_extent(c->g, tn_min(c->pool, d, tn_idx(c->pool, 1)));
    if (tn_is_int(d, &extent) ? !within(c, known, extent, &negative)
                              : (at != 0 && at != -1) || !tn_is_value(first, 1))
        return false;
    int64_t end = at == -1 ? INT64_MAX : at + 1;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &at), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    tn_squeeze_attr drop = {tn_ints_make(c->arena, 1, &axis)};
    tn_value v = imp_call1(c, &tn_op_strided_slice, &a, x);
    imp_out(c, 0, imp_rank(indices) == 0 ? imp_call1(c, &tn_op_squeeze, &drop, v) : v);
    return true;
}

static void gather(imp_node *c)
{
    tn_value x = imp_in(c, 0), indices = imp_in(c, 1);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    if (c->bad)
        return;
    tn_take_attr a = {axis, "clip"};
    if (gather_one(c, x, axis, indices))
        return;
    imp_out(c, 0, imp_call2(c, &tn_op_take, &a, x, checked(c, indices, imp_type(x)->dim[axis])));
}

static void gather_elements(imp_node *c)
{
    tn_value x = imp_in(c, 0), indices = imp_in(c, 1);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    if (c->bad)
        return;
    tn_axis_attr a = {axis};
    imp_out(c, 0, imp_call2(c, &tn_op_gather, &a, x, checked(c, indices, imp_type(x)->dim[axis])));
}

static void gather_nd(imp_node *c)
{
    tn_value x = imp_in(c, 0), indices = imp_in(c, 1);
    tn_gather_nd_attr a = {c->version >= 12 ? imp_attr_int(c, "batch_dims", 0) : 0};
    imp_out(c, 0, imp_call2(c, &tn_op_gather_nd, &a, x, checked_rows(c, indices, imp_type(x), a.batch_dims)));
}

/* ---- writing ---- */

static const char *reduction(imp_node *c, int since)
{
    const char *r = c->version >= since ? imp_attr_string(c, "reduction", "none") : "none";
    return strcmp(r, "none") == 0 ? "update" : r;
}

/* bool: or is the larger, and the smaller of two; they are moved as bytes. */
static tn_value scatter_call(imp_node *c, const tn_op *op, tn_scatter_attr a)
{
    tn_value in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = imp_in(c, i);
    tn_dtype t = imp_type(in[0])->dtype;
    if (tn_dtype_is_bool(t) && a.reduction[1] != 'p')
        for (int i = 0; i < 3; i += 2)
            in[i] = imp_cast(c, in[i], TN_U8);
    return imp_cast(c, imp_call(c, op, &a, 3, in), t);
}

static void scatter_elements(imp_node *c)
{
    int64_t axis = imp_attr_int(c, "axis", 0);
    imp_out(c, 0, scatter_call(c, &tn_op_scatter_elements, (tn_scatter_attr){axis, reduction(c, 16)}));
}

/* Constant rows of indices, when they name a box of data in order: a slice. Walked over outer dimensions `dim`, index
 * j goes up by one with one of them (each with an index of its own, in order) or stays. */
typedef struct box {
    const tn_type *rows;
    const tn_node *constant;
    int64_t n, dim[IMP_MAX_RANK];
    int outer;
} box;

static int64_t index_at(const box *b, int64_t row, int64_t j)
{
    uint32_t size = tn_dtype_bytes(b->rows->dtype);
    return tn_scalar_read(b->rows->dtype,
                          (const char *)b->constant->blob->at + (size_t)(row * b->n + j) * size)
        .i;
}

/* The outer dimension that index j follows, -1: none, -2: more than one, or not by ones. */
static int follows(const box *b, int64_t j)
{
    int which = -1;
    int64_t stride = 1;
    for (int a = b->outer - 1; a >= 0; a--) {
        int64_t step = b->dim[a] > 1 ? index_at(b, stride, j) - index_at(b, 0, j) : 0;
        if (step && (step != 1 || which >= 0))
            return -2;
        which = step ? a : which;
        stride *= b->dim[a];
    }
    return which;
}

static bool is_box(const box *b, const tn_type *data, int64_t begin[], int64_t end[])
{
    int64_t rows = 1, moved = 0, extent;
    int with[IMP_MAX_RANK], last = -1;
    for (int a = 0; a < b->outer; a++) {
        rows *= b->dim[a];
        moved += b->dim[a] > 1;
    }
    for (int64_t j = 0; j < b->n; j++) {
        int a = with[j] = follows(b, j);
        if (a == -2 || (a >= 0 && a <= last) || !tn_is_int(data->dim[j], &extent))
            return false;
        last = a >= 0 ? a : last;
        moved -= a >= 0;
        begin[j] = index_at(b, 0, j);
        end[j] = begin[j] + (a >= 0 ? b->dim[a] : 1);
        if (begin[j] < 0 || end[j] > extent)
            return false;
    }
    if (moved)
        return false;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < b->n; j++) {
            int64_t place = r;
            for (int a = b->outer - 1; a > with[j] && with[j] >= 0; a--)
                place /= b->dim[a];
            if (index_at(b, r, j) != begin[j] + (with[j] >= 0 ? place % b->dim[with[j]] : 0))
                return false;
        }
    return true;
}

/* The slice that constant indices name; false: they are none, or no box. */
static bool scatter_slice(imp_node *c)
{
    tn_value x = imp_in(c, 0), indices = imp_in(c, 1), updates = imp_in(c, 2);
    const tn_type *t = imp_type(x);
    box b = {.rows = imp_type(indices), .constant = indices.def};
    int64_t begin[IMP_MAX_RANK], end[IMP_MAX_RANK], axes[IMP_MAX_RANK], all[IMP_MAX_RANK], count = 1;
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad || !tn_op_is(indices.def, &tn_op_constant) || !b.constant->blob || b.rows->n < 1 ||
        b.rows->n > IMP_MAX_RANK || !tn_type_dims_const(b.rows, all))
        return false;
    b.outer = b.rows->n - 1;
    b.n = all[b.outer];
    for (int a = 0; a < b.rows->n; a++)
        count *= b.dim[a] = all[a];
    if (count < 1 || b.n > t->n || b.constant->blob->n < (size_t)count * tn_dtype_bytes(b.rows->dtype) ||
        !is_box(&b, t, begin, end))
        return false;
    for (int j = 0; j < t->n; j++) {
        axes[j] = j;
        dim[j] = j < b.n ? tn_idx(c->pool, end[j] - begin[j]) : t->dim[j];
    }
    tn_slice_attr a = {tn_make_dims(c->g, (uint32_t)b.n, begin),
                       tn_make_dims(c->g, (uint32_t)b.n, end),
                       {0},
                       tn_ints_make(c->arena, (uint32_t)b.n, axes)};
    imp_out(c, 0, imp_call2(c, &tn_op_strided_set, &a, x, imp_reshape(c, updates, t->n, dim)));
    return true;
}

static void scatter_nd(imp_node *c)
{
    if (strcmp(reduction(c, 16), "update") == 0 && scatter_slice(c))
        return;
    imp_out(c, 0, scatter_call(c, &tn_op_scatter_nd, (tn_scatter_attr){0, reduction(c, 16)}));
}

/* Without write_indices the update stands at the beginning. */
static void tensor_scatter(imp_node *c)
{
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_opt(c, 2)};
    tn_tensor_scatter_attr a = {imp_attr_int(c, "axis", -2), imp_attr_string(c, "mode", "linear")};
    int axis = imp_axis(c, a.axis, imp_rank(in[0]));
    if (c->bad || imp_rank(in[1]) != imp_rank(in[0])) {
        imp_fail(c, "onnx-E009", "the update has another rank than the cache; the model is damaged");
        return;
    }
    if (!in[2].def) {
        const tn_expr *batch = imp_type(in[0])->dim[0];
        tn_broadcast_to_attr to = {tn_dims_make(c->arena, 1, &batch)};
        in[2] = imp_call1(c, &tn_op_broadcast_to, &to, imp_const(c, TN_I64, 0));
    } else if (strcmp(a.mode, "linear") == 0) { /* the update must fit behind the index */
        const tn_expr *most = imp_type(in[0])->dim[axis], *used = imp_type(in[1])->dim[axis];
        const tn_expr *places =
            imp_simplify(c, tn_add(c->pool, tn_sub(c->pool, most, used), tn_idx(c->pool, 1)));
        in[2] = checked(c, in[2], places);
    }
    imp_out(c, 0, imp_call(c, &tn_op_tensor_scatter, &a, 3, in));
}

/* ---- OneHot, ReverseSequence ---- */

static tn_value part_of_two(imp_node *c, tn_value pair, int64_t i)
{
    int64_t next = i + 1, axis = 0, step = 1;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &i), tn_make_dims(c->g, 1, &next),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return imp_reshape(c, imp_call1(c, &tn_op_strided_slice, &a, pair), 0, NULL);
}

static void one_hot(imp_node *c)
{
    tn_value indices = imp_in(c, 0), depth = imp_in(c, 1), values = imp_in(c, 2);
    tn_one_hot_attr a = {.axis = imp_attr_int(c, "axis", -1)};
    double d;
    if (imp_scalar(c, depth, &d)) /* of any number type */
        a.depth = tn_make_dims(c->g, 1, &(int64_t){d >= 0 && d <= INT32_MAX ? (int64_t)d : -1});
    else
        a.depth = imp_extents_in(c, imp_cast(c, depth, TN_I64), "the depth");
    if (!tn_dtype_is_int(imp_type(indices)->dtype))
        indices = imp_cast(c, indices, TN_I64);
    if (c->version < 11 && imp_type(indices)->dtype.code == TN_INT) { /* below 0 is outside: no row has it */
        indices = imp_cast(c, indices, TN_I64);
        tn_value below = imp_binary(c, &tn_op_less, indices, imp_i64(c, 0));
        indices = imp_choose(c, below, imp_i64(c, INT32_MAX), indices);
    }
    tn_value in[3] = {indices, part_of_two(c, values, 1), part_of_two(c, values, 0)};
    imp_out(c, 0, imp_call(c, &tn_op_one_hot, &a, 3, in));
}

static void reverse_sequence(imp_node *c)
{
    tn_reverse_sequence_attr a = {imp_attr_int(c, "time_axis", 0), imp_attr_int(c, "batch_axis", 1)};
    imp_out(c, 0, imp_call2(c, &tn_op_reverse_sequence, &a, imp_in(c, 0), imp_in(c, 1)));
}

/* ---- TopK, ArgMax, ArgMin ---- */

static void topk(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_topk_attr a = {.dtype = TN_I64};
    a.axis = imp_axis(c, imp_attr_int(c, "axis", -1), imp_rank(x));
    if (c->version < 10) {
        imp_attr_need(c, "k");
        a.k = tn_make_dims(c->g, 1, &(int64_t){imp_attr_int(c, "k", 0)});
    } else {
        a.k = imp_extents_in(c, imp_in(c, 1), "K");
    }
    if (c->version >= 11) {
        a.is_ascend = imp_attr_int(c, "largest", 1) == 0;
        imp_attr_ignore(c, "sorted"); /* sorted is one of the orders that unsorted allows */
    }
    tn_value values = imp_call1(c, &tn_op_topk, &a, x);
    imp_out(c, 0, values);
    imp_out_any(c, 1, (tn_value){values.def, 1});
}

static void arg(imp_node *c)
{
    tn_arg_attr a = {
        .axis = imp_attr_int(c, "axis", 0), .keepdims = imp_attr_int(c, "keepdims", 1) != 0, .dtype = TN_I64};
    if (c->version >= 12)
        a.select_last_index = imp_attr_int(c, "select_last_index", 0) != 0;
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

// clang-format off
const imp_row onnx_rows_index[] = {
    {"Gather",           1,  0, 2, 1, gather,           NULL},
    {"GatherElements",  11,  0, 2, 1, gather_elements,  NULL},
    {"GatherND",        11,  0, 2, 1, gather_nd,        NULL},
    {"Scatter",          9, 10, 3, 1, scatter_elements, NULL},
    {"Scatter",         11,  0, 3, 1, scatter_elements, NULL}, /* deprecated, but written */
    {"ScatterElements", 11,  0, 3, 1, scatter_elements, NULL},
    {"ScatterND",       11,  0, 3, 1, scatter_nd,       NULL},
    {"TensorScatter",   24,  0, 3, 1, tensor_scatter,   NULL},
    {"OneHot",           9,  0, 3, 1, one_hot,          NULL},
    {"ReverseSequence", 10,  0, 2, 1, reverse_sequence, NULL},
    {"TopK",             1,  9, 1, 2, topk,             NULL},
    {"TopK",            10,  0, 2, 2, topk,             NULL},
    {"ArgMax",           1,  0, 1, 1, arg,              &tn_op_argmax},
    {"ArgMin",           1,  0, 1, 1, arg,              &tn_op_argmin},
    {0},
};
// clang-format on
