/* Ragged tensors as tables: rows of different lengths, with one value behind their ends. */
#include "frontend/tensorflow/tf.h"

#include <string.h>

typedef struct ragged {
    tn_value row, column; /* of each value: int64 */
    tn_value length;      /* of each row: int64 */
    const tn_expr *rows;
} ragged;

static tn_value filled(imp_node *c, const tn_expr *n, int64_t v)
{
    return tf_full(c, imp_i64(c, v), (tn_dims){1, &n});
}

static tn_value added_up(imp_node *c, tn_value v, bool exclusive)
{
    const tn_scan_attr a = {.axis = 0, .exclusive = exclusive};
    return imp_call1(c, &tn_op_cumsum, &a, v);
}

/* By the row of each value, in ascending order, and how many rows there are. */
static ragged by_rows(imp_node *c, tn_value rows, tn_value row)
{
    ragged r = {.row = imp_cast(c, row, TN_I64), .rows = imp_extent_in(c, rows, "the number of rows")};
    if (!c->bad && imp_rank(row) != 1)
        imp_refuse(c, IMP_OPERANDS, "the rows of the values are %s, but must be a list",
                   imp_type_text(c, imp_type(row)));
    if (c->bad)
        return r;
    const tn_scatter_attr add = {.reduction = "add"};
    const tn_expr *n = imp_type(r.row)->dim[0];
    tn_value none = filled(c, r.rows, 0), one = filled(c, n, 1);
    tn_value in[] = {none, imp_unsqueeze(c, r.row, 1), one};
    r.length = imp_call(c, &tn_op_scatter_nd, &add, 3, in);
    tn_value first = added_up(c, r.length, true);
    tn_value at = imp_count_up(c, n), begin = imp_take(c, first, r.row, 0);
    r.column = imp_binary(c, &tn_op_subtract, at, begin);
    return r;
}

/* By where each row begins, and where the last one ends. */
static ragged by_splits(imp_node *c, tn_value splits, tn_value values)
{
    splits = imp_cast(c, splits, TN_I64);
    tn_value from = imp_slice(c, splits, 0, 0, -1), to = imp_slice(c, splits, 0, 1, INT64_MAX);
    ragged r = {.length = imp_binary(c, &tn_op_subtract, to, from)};
    if (c->bad)
        return r;
    const tn_scatter_attr add = {.reduction = "add"};
    const tn_expr *n = imp_type(values)->dim[0], *more = tn_add(c->pool, n, tn_idx(c->pool, 1));
    r.rows = imp_type(to)->dim[0];
    tn_value in[] = {filled(c, imp_simplify(c, more), 0), imp_unsqueeze(c, to, 1), filled(c, r.rows, 1)};
    tn_value row = added_up(c, imp_call(c, &tn_op_scatter_nd, &add, 3, in), false);
    r.row = imp_slice_to(c, row, 0, tn_idx(c->pool, 0), n);
    tn_value at = imp_count_up(c, n), begin = imp_take(c, from, r.row, 0);
    r.column = imp_binary(c, &tn_op_subtract, at, begin);
    return r;
}

static bool is_type(const imp_attr *types, size_t i, const char *text)
{
    return i < types->texts.n && imp_is(types->texts.at[i], text);
}

/* One ragged dimension; what is behind the last column is left out. */
static void to_tensor(imp_node *c)
{
    const imp_attr *types = imp_attr_find(c, "row_partition_types", IMP_A_TEXTS);
    tn_value shape = imp_in(c, 0), values = imp_in(c, 1), rest = imp_in(c, 2);
    imp_attr_ignore(c, "num_row_partition_tensors");
    bool rows = types && imp_n_in(c) == 5 && is_type(types, 0, "FIRST_DIM_SIZE") &&
                is_type(types, 1, "VALUE_ROWIDS"),
         splits = types && imp_n_in(c) == 4 && is_type(types, 0, "ROW_SPLITS");
    if (!c->bad && ((!rows && !splits) || imp_rank(rest) != 0 || imp_rank(values) < 1))
        imp_refuse(c, IMP_BAD_VALUE, "only one ragged dimension with one value behind its rows is supported");
    if (c->bad)
        return;
    ragged r = rows ? by_rows(c, imp_in(c, 3), imp_in(c, 4)) : by_splits(c, imp_in(c, 3), values);
    const tn_expr *asked = imp_rank(shape) ? imp_element(c, shape, 1) : NULL, *height = NULL;
    height = imp_rank(shape) ? imp_element(c, shape, 0) : NULL;
    int64_t wide = -1, high = -1;
    bool known = (!asked || tn_is_int(asked, &wide)) && (!height || tn_is_int(height, &high));
    if (!c->bad && (!known || (imp_rank(shape) && !asked) || high >= 0))
        imp_refuse(c, IMP_BAD_VALUE, "the shape must be known, and have -1 as the number of rows");
    if (c->bad)
        return;
    tn_value most = imp_with(c, &tn_op_maximum, imp_reduce(c, &tn_op_max, r.length, 0), 0);
    const tn_expr *n =
        wide < 0 ? imp_extent_in(c, most, "the length of the longest row") : tn_idx(c->pool, wide);
    const tn_expr *dim[IMP_MAX_RANK + 1] = {r.rows, imp_simplify(c, tn_add(c->pool, n, tn_idx(c->pool, 1)))};
    for (int i = 1; i < imp_rank(values) && i < IMP_MAX_RANK; i++)
        dim[i + 1] = imp_type(values)->dim[i];
    tn_value all = tf_full(c, rest, (tn_dims){(uint32_t)imp_rank(values) + 1, dim});
    tn_value last = imp_extent_of(c, all, 1);
    last = imp_binary(c, &tn_op_minimum, r.column, imp_with(c, &tn_op_subtract, last, 1));
    tn_value at[] = {imp_unsqueeze(c, r.row, 1), imp_unsqueeze(c, last, 1)};
    tn_value in[] = {all, imp_concat(c, 2, at, 1), values};
    const tn_scatter_attr put = {.reduction = "update"};
    tn_value y = imp_call(c, &tn_op_scatter_nd, &put, 3, in);
    imp_out(c, 0, imp_slice_to(c, y, 1, tn_idx(c->pool, 0), n));
}

// clang-format off
const imp_row tf_rows_ragged[] = {
    {"RaggedTensorToTensor", 1, 0, -1, 1, to_tensor, NULL},
    {0},
};
// clang-format on
