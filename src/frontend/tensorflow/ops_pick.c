/* Diagonals of matrices, elements that differ, and parts that are chosen by numbers. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/matrix.h"
#include "op/tensor/tensor.h"

/* ---- diagonals: of the second and third versions one, not a band of several ---- */

/* Which diagonal operand i names; absent: the main one. */
static int64_t diagonal_in(imp_node *c, uint32_t i)
{
    tn_ints k = {0};
    imp_attr_ignore(c, "align"); /* of several */
    if (imp_has(c, i))
        k = imp_ints_in(c, imp_in(c, i), "k");
    if (!c->bad && imp_has(c, i) && (k.n < 1 || k.n > 2 || k.at[0] != k.at[k.n - 1]))
        imp_refuse(c, IMP_BAD_VALUE, "k must be one diagonal; bands of several are not supported");
    if (!c->bad && k.n && (k.at[0] < INT32_MIN || k.at[0] > INT32_MAX))
        imp_refuse(c, IMP_BAD_VALUE, "k is %lld, far outside of any matrix", (long long)k.at[0]);
    return c->bad || !k.n ? 0 : k.at[0];
}

/* An extent that operand i gives; NULL: it is absent or -1. */
static const tn_expr *extent_in(imp_node *c, uint32_t i)
{
    int64_t n;
    if (!imp_has(c, i))
        return NULL;
    const tn_expr *e = imp_extent_in(c, imp_in(c, i), "an extent");
    return c->bad || (tn_is_int(e, &n) && n < 0) ? NULL : e;
}

static void matrix_diag(imp_node *c)
{
    tn_value d = imp_in(c, 0), rest = tf_number(c, d, 0);
    int64_t k = diagonal_in(c, 1);
    const tn_expr *rows = extent_in(c, 2), *columns = extent_in(c, 3);
    if (imp_has(c, 4))
        rest = tf_scalar_in(c, 4);
    imp_out(c, 0, imp_diagonal_matrix(c, d, k, rows, columns, rest));
}

/* With one diagonal nothing is filled up with operand 2. */
static void matrix_diag_part(imp_node *c) { imp_out(c, 0, imp_diagonal(c, imp_in(c, 0), diagonal_in(c, 1))); }

static void matrix_set_diag(imp_node *c)
{
    imp_out(c, 0, imp_with_diagonal(c, imp_in(c, 0), imp_in(c, 1), diagonal_in(c, 2)));
}

/* ---- elements that differ ---- */

/* In the order in which they come first. */
static void unique(imp_node *c)
{
    tn_dtype t = tf_attr_dtype(c, "out_idx", TN_I32);
    tn_ints axes = imp_has(c, 1) ? tf_axes_in(c, 1, imp_rank(imp_in(c, 0))) : (tn_ints){0};
    if (axes.n > 1)
        imp_refuse(c, IMP_BAD_VALUE, "there are %u axes; the model is damaged", (unsigned)axes.n);
    if (c->bad)
        return;
    imp_unique u = imp_unique_of(c, imp_in(c, 0), axes.n ? (int)axes.at[0] : 0, IMP_UNIQUE_NAN_APART);
    imp_out(c, 0, u.x);
    imp_out_any(c, 1, imp_cast(c, u.inverse, t));
    imp_out_any(c, 2, imp_cast(c, u.count, t));
}

/* The elements of a list that are not in another one, and where they stand. */
static void list_diff(imp_node *c)
{
    tn_dtype t = tf_attr_dtype(c, "out_idx", TN_I32);
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    if (!c->bad && (imp_rank(x) != 1 || imp_rank(y) != 1))
        imp_refuse(c, IMP_OPERANDS, "%s and %s are not two lists; the model is damaged",
                   imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(y)));
    tn_value same = c->bad ? x : imp_cast(c, tf_binary(c, &tn_op_equal, imp_unsqueeze(c, x, 1), y), TN_I64);
    tn_value none = imp_with(c, &tn_op_equal, imp_reduce(c, &tn_op_sum, same, 1), 0);
    tn_value at = imp_positions(c, none);
    imp_out(c, 0, imp_take(c, x, at, 0));
    imp_out_any(c, 1, imp_cast(c, at, t));
}

/* ---- parts ---- */

/* The dimensions that x has behind the first `from`, behind one of extent n. */
static tn_value rows_of(imp_node *c, tn_value x, int from)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK + 1] = {imp_product(c, t, 0, from)};
    for (int i = from; i < t->n; i++)
        dim[i - from + 1] = t->dim[i];
    return imp_reshape(c, x, (uint32_t)(t->n - from + 1), dim);
}

/* data, and for each of its rows the number of the result that it belongs to */
static void dynamic_partition(imp_node *c)
{
    tn_value x = imp_in(c, 0), which = imp_in(c, 1);
    imp_attr_ignore(c, "num_partitions");
    if (!c->bad && imp_rank(which) > imp_rank(x))
        imp_refuse(c, IMP_OPERANDS, "partitions %s do not fit data %s", imp_type_text(c, imp_type(which)),
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    tn_value row = rows_of(c, x, imp_rank(which));
    which = imp_flat(c, which);
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++) {
        tn_value is = imp_with(c, &tn_op_equal, which, (double)i);
        imp_out_any(c, i, imp_take(c, row, imp_positions(c, is), 0));
    }
}

/* n lists of indices, then n tensors with a row for each of them, which is that row of the result. */
static void dynamic_stitch(imp_node *c)
{
    static const tn_scatter_attr update = {0, "update"};
    uint32_t n = imp_n_in(c) / 2;
    tn_value *at = TN_NEW_N(c->arena, tn_value, n + 1), *row = TN_NEW_N(c->arena, tn_value, n + 1);
    imp_attr_ignore(c, "N");
    if (!c->bad && (n < 1 || imp_n_in(c) % 2))
        imp_refuse(c, IMP_OPERANDS, "there must be as many lists of indices as of data");
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        tn_value index = imp_in(c, i), data = imp_in(c, n + i);
        if (!c->bad && imp_rank(index) > imp_rank(data))
            imp_refuse(c, IMP_OPERANDS, "indices %s do not fit data %s", imp_type_text(c, imp_type(index)),
                       imp_type_text(c, imp_type(data)));
        row[i] = c->bad ? data : rows_of(c, data, imp_rank(index));
        at[i] = c->bad ? index : imp_cast(c, imp_flat(c, index), TN_I64);
    }
    if (c->bad)
        return;
    tn_value all = imp_concat(c, n, at, 0), rows = imp_concat(c, n, row, 0);
    tn_value count = imp_with(c, &tn_op_add, imp_reduce(c, &tn_op_max, all, 0), 1);
    const tn_type *t = imp_type(rows);
    const tn_expr *dim[IMP_MAX_RANK + 1] = {imp_extent_in(c, count, "the number of rows")};
    for (int i = 1; i < t->n; i++)
        dim[i] = t->dim[i];
    tn_value base = tf_full(c, tf_number(c, rows, 0), (tn_dims){(uint32_t)t->n, dim});
    tn_extent_attr extent = {tn_dims_make(c->arena, 1, dim)};
    all = imp_call1(c, &tn_op_checked_index, &extent, imp_unsqueeze(c, all, 1));
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &update, 3, (const tn_value[]){base, all, rows}));
}

/* ---- places in sorted numbers ---- */

/* How many of the sorted numbers [.., n] lie before each of the values [.., m]. */
static tn_value before(imp_node *c, tn_value sorted, tn_value values, const tn_op *op)
{
    int r = imp_rank(values);
    tn_value each = imp_unsqueeze(c, values, r), row = imp_unsqueeze(c, sorted, imp_rank(sorted) - 1);
    return imp_reduce(c, &tn_op_sum, imp_cast(c, tf_binary(c, op, row, each), TN_I32), r);
}

static void bucketize(imp_node *c)
{
    const imp_attr *a = imp_attr_find(c, "boundaries", IMP_A_FLOATS);
    tn_value x = imp_in(c, 0);
    int64_t n = a ? (int64_t)a->floats.n : 0;
    if (c->bad)
        return;
    tn_value limit = tn_val(
        tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, n ? a->floats.at : (const float[]){0}, NULL));
    bool wide = !tn_dtype_is_float(imp_type(x)->dtype) || imp_type(x)->dtype.bits == 64;
    tn_dtype t = wide ? TN_F64 : TN_F32; /* in which both are exact */
    limit = imp_cast(c, limit, t);
    imp_out(c, 0, before(c, limit, imp_cast(c, x, t), &tn_op_less_equal));
}

/* LowerBound: sorted numbers below a value; UpperBound: not above it. */
static void bound(imp_node *c)
{
    tn_value sorted = imp_in(c, 0), values = imp_in(c, 1);
    tn_dtype t = tf_attr_dtype(c, "out_type", TN_I32);
    if (!c->bad && (imp_rank(sorted) != 2 || imp_rank(values) != 2))
        imp_refuse(c, IMP_OPERANDS, "%s and %s are not rows of numbers; the model is damaged",
                   imp_type_text(c, imp_type(sorted)), imp_type_text(c, imp_type(values)));
    if (!c->bad)
        imp_out(c, 0, imp_cast(c, before(c, sorted, values, c->row->relay), t));
}

// clang-format off
const imp_row tf_rows_pick[] = {
    {"Bucketize",             1, 0,  1,  1, bucketize,         NULL},
    {"DynamicPartition",      1, 0,  2, -1, dynamic_partition, NULL},
    {"DynamicStitch",         1, 0, -1,  1, dynamic_stitch,    NULL},
    {"ListDiff",              1, 0,  2,  2, list_diff,         NULL},
    {"LowerBound",            1, 0,  2,  1, bound,             &tn_op_less},
    {"MatrixDiag",            1, 0,  1,  1, matrix_diag,       NULL},
    {"MatrixDiagV2",          1, 0,  5,  1, matrix_diag,       NULL},
    {"MatrixDiagV3",          1, 0,  5,  1, matrix_diag,       NULL},
    {"MatrixDiagPart",        1, 0,  1,  1, matrix_diag_part,  NULL},
    {"MatrixDiagPartV2",      1, 0,  3,  1, matrix_diag_part,  NULL},
    {"MatrixDiagPartV3",      1, 0,  3,  1, matrix_diag_part,  NULL},
    {"MatrixSetDiag",         1, 0,  2,  1, matrix_set_diag,   NULL},
    {"MatrixSetDiagV2",       1, 0,  3,  1, matrix_set_diag,   NULL},
    {"MatrixSetDiagV3",       1, 0,  3,  1, matrix_set_diag,   NULL},
    {"ParallelDynamicStitch", 1, 0, -1,  1, dynamic_stitch,    NULL},
    {"Unique",                1, 0,  1,  2, unique,            NULL},
    {"UniqueV2",              1, 0,  2,  2, unique,            NULL},
    {"UniqueWithCounts",      1, 0,  1,  3, unique,            NULL},
    {"UniqueWithCountsV2",    1, 0,  2,  3, unique,            NULL},
    {"UpperBound",            1, 0,  2,  1, bound,             &tn_op_less_equal},
    {0},
};
// clang-format on
