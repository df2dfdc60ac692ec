/* Diagonals of matrices, elements that differ, and parts that are chosen by numbers. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/band.h"
#include "frontend/import/matrix.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- diagonals: one, or from the second version on a band of several, the highest first ---- */

/* The diagonals that operand i names; absent: the main one. false: reported. */
static bool band_in(imp_node *c, uint32_t i, imp_band *b)
{
    static const char *const kinds[] = {"LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"};
    enum { FAR = 1 << 16 };
    bool third = c->row->op[strlen(c->row->op) - 1] == '3';
    const char *align = third ? imp_attr_string(c, "align", "RIGHT_LEFT") : "LEFT_LEFT";
    tn_ints k = imp_has(c, i) ? imp_ints_in(c, imp_in(c, i), "k") : (tn_ints){0};
    int kind = 0;
    *b = (imp_band){0};
    while (kind < 4 && strcmp(align, kinds[kind]) != 0)
        kind++;
    if (kind == 4)
        imp_refuse(c, IMP_BAD_VALUE, "align is \"%s\"; the model is damaged", align);
    if (!c->bad && imp_has(c, i) && (k.n < 1 || k.n > 2 || k.at[0] > k.at[k.n - 1]))
        imp_refuse(c, IMP_BAD_VALUE,
                   "k is neither a diagonal nor the first and the last one of a band; the model is damaged");
    if (c->bad || !k.n)
        return !c->bad;
    b->low = k.at[0];
    b->high = k.at[k.n - 1];
    b->right[0] = (kind & 1) != 0; /* the second word of align is for the lower ones */
    b->right[1] = (kind & 2) != 0;
    if (b->low < -FAR || b->high > FAR)
        imp_refuse(c, IMP_BAD_VALUE, "k is [%lld, %lld], far outside of any matrix", (long long)b->low,
                   (long long)b->high);
    return !c->bad;
}

static bool is_one(const imp_band *b) { return b->low == b->high; }

/* An extent that operand i gives; NULL: it is absent or -1. */
static const tn_expr *extent_in(imp_node *c, uint32_t i)
{
    int64_t n;
    if (!imp_has(c, i))
        return NULL;
    const tn_expr *e = imp_extent_in(c, imp_in(c, i), "an extent");
    return c->bad || (tn_is_int(e, &n) && n < 0) ? NULL : e;
}

/* Does the last dimension but one of v, the diagonals, have as many entries as the band? false: reported. */
static bool is_band(imp_node *c, tn_value *v, const imp_band *b)
{
    const tn_expr *n = tn_idx(c->pool, b->high - b->low + 1);
    int r = imp_rank(*v);
    if (!c->bad && (r < 2 || !imp_with_extent(c, v, r - 2, n)))
        imp_refuse(c, IMP_OPERANDS, "%s are not the diagonals [%lld, %lld]; the model is damaged",
                   imp_type_text(c, imp_type(*v)), (long long)b->low, (long long)b->high);
    return !c->bad;
}

/* The matrix is as small as can be where it is not said, and square where neither extent is. */
static void matrix_diag(imp_node *c)
{
    imp_band b;
    tn_value d = imp_in(c, 0), rest = imp_has(c, 4) ? tf_scalar_in(c, 4) : tf_number(c, d, 0);
    const tn_expr *rows = extent_in(c, 2), *columns = extent_in(c, 3);
    if (!band_in(c, 1, &b))
        return;
    if (is_one(&b)) {
        imp_out(c, 0, imp_diagonal_matrix(c, d, b.low, rows, columns, rest));
        return;
    }
    if (!is_band(c, &d, &b))
        return;
    b.longest = imp_type(d)->dim[imp_rank(d) - 1];
    const tn_expr *high = tn_add(c->pool, b.longest, tn_idx(c->pool, b.high < 0 ? -b.high : 0)),
                  *wide = tn_add(c->pool, b.longest, tn_idx(c->pool, b.low > 0 ? b.low : 0));
    const tn_expr *side = rows || columns ? NULL : imp_simplify(c, tn_max(c->pool, high, wide));
    rows = rows ? rows : side ? side : imp_simplify(c, high);
    columns = columns ? columns : side ? side : imp_simplify(c, wide);
    imp_band_begin(c, &b, rows, columns);
    imp_out(c, 0, c->bad ? d : imp_with_band(c, d, &b, rest));
}

/* With one diagonal nothing is filled up with operand 2. */
static void matrix_diag_part(imp_node *c)
{
    imp_band b;
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    if (!band_in(c, 1, &b))
        return;
    if (is_one(&b)) {
        imp_out(c, 0, imp_diagonal(c, x, b.low));
        return;
    }
    tn_value rest = tf_scalar_in(c, 2);
    if (!c->bad && t->n < 2)
        imp_refuse(c, IMP_OPERANDS, "%s is no matrix; the model is damaged", imp_type_text(c, t));
    if (c->bad)
        return;
    imp_band_begin(c, &b, t->dim[t->n - 2], t->dim[t->n - 1]);
    imp_out(c, 0, c->bad ? x : imp_band_of(c, x, &b, rest));
}

static void matrix_set_diag(imp_node *c)
{
    imp_band b;
    tn_value x = imp_in(c, 0), d = imp_in(c, 1);
    const tn_type *t = imp_type(x);
    if (!band_in(c, 2, &b))
        return;
    if (is_one(&b)) {
        imp_out(c, 0, imp_with_diagonal(c, x, d, b.low));
        return;
    }
    if (!c->bad && (t->n < 2 || imp_rank(d) != t->n))
        imp_refuse(c, IMP_OPERANDS, "%s cannot have the diagonals %s", imp_type_text(c, t),
                   imp_type_text(c, imp_type(d)));
    if (c->bad || !is_band(c, &d, &b))
        return;
    imp_band_begin(c, &b, t->dim[t->n - 2], t->dim[t->n - 1]);
    if (!c->bad && !imp_with_extent(c, &d, t->n - 1, b.longest))
        imp_refuse(c, IMP_OPERANDS, "%s cannot have the diagonals %s", imp_type_text(c, t),
                   imp_type_text(c, imp_type(d)));
    imp_out(c, 0, c->bad ? x : imp_with_band(c, d, &b, x));
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
    tn_value same = c->bad ? x : imp_cast(c, imp_binary(c, &tn_op_equal, imp_unsqueeze(c, x, 1), y), TN_I64);
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
    return imp_reduce(c, &tn_op_sum, imp_cast(c, imp_binary(c, op, row, each), TN_I32), r);
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
    tn_value above = before(c, limit, imp_cast(c, x, t), &tn_op_greater); /* of a NaN: none */
    imp_out(c, 0, imp_binary(c, &tn_op_subtract, imp_const(c, TN_I32, (double)n), above));
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
