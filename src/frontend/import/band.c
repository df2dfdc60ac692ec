/* Bands of diagonals (band.h). */
#include "frontend/import/band.h"

static tn_value of_run(imp_node *c, const tn_expr *extent)
{
    return imp_extent_of(c, imp_count_up(c, extent), 0);
}

void imp_band_in_run(imp_node *c, imp_band *b)
{
    b->height = of_run(c, b->rows);
    b->width = of_run(c, b->columns);
    b->length = of_run(c, b->longest);
}

void imp_band_begin(imp_node *c, imp_band *b, const tn_expr *rows, const tn_expr *columns)
{
    tn_pool *p = c->pool;
    int64_t high, wide;
    const tn_expr *down = tn_add(p, rows, tn_idx(p, b->high < 0 ? b->high : 0)),
                  *across = tn_sub(p, columns, tn_idx(p, b->low > 0 ? b->low : 0));
    const tn_expr *most = imp_simplify(c, tn_min(p, down, across));
    bool fits = b->longest ? !tn_is_value(imp_simplify(c, tn_eq(p, b->longest, most)), 0)
                           : (!tn_is_int(rows, &high) || b->low > -high) &&
                                 (!tn_is_int(columns, &wide) || b->high < wide);
    if (!fits)
        imp_refuse(c, IMP_BAD_VALUE, "the matrix has no such diagonals [%lld, %lld]; the model is damaged",
                   (long long)b->low, (long long)b->high);
    b->longest = b->longest ? b->longest : imp_simplify(c, tn_max(p, most, tn_idx(p, 0)));
    b->rows = rows;
    b->columns = columns;
    imp_band_in_run(c, b);
}

/* How long each of the diagonals `which` (int64, of any shape) is. */
static tn_value own_length(imp_node *c, const imp_band *b, tn_value which)
{
    tn_value above = imp_with(c, &tn_op_maximum, which, 0), below = imp_with(c, &tn_op_minimum, which, 0);
    tn_value across = imp_binary(c, &tn_op_subtract, b->width, above);
    tn_value down = imp_binary(c, &tn_op_add, b->height, below);
    return imp_binary(c, &tn_op_minimum, across, down);
}

/* Where the first element of each of them stands in its row. */
static tn_value first_place(imp_node *c, const imp_band *b, tn_value which)
{
    const tn_value zero = imp_i64(c, 0);
    if (!b->right[0] && !b->right[1])
        return zero;
    const tn_value free = imp_binary(c, &tn_op_subtract, b->length, own_length(c, b, which));
    if (b->right[0] && b->right[1])
        return free;
    const tn_value up = imp_with(c, &tn_op_greater_equal, which, 0);
    return b->right[1] ? imp_choose(c, up, free, zero) : imp_choose(c, up, zero, free);
}

/* From matrices, row by row, the elements at places `at` where `inside` holds, else `rest`. */
static tn_value taken(imp_node *c, tn_value v, tn_value at, tn_value inside, tn_value rest)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad)
        return v;
    const int r = t->n - 2;
    for (int i = 0; i < r; i++)
        dim[i] = t->dim[i];
    dim[r] = imp_product(c, t, r, t->n);
    at = imp_choose(c, inside, at, imp_i64(c, 0));
    return imp_choose(c, inside, imp_take(c, imp_reshape(c, v, r + 1, dim), at, r), rest);
}

tn_value imp_band_of(imp_node *c, tn_value x, const imp_band *b, tn_value rest)
{
    int64_t n = b->high - b->low + 1, *number = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        number[i] = b->high - i;
    tn_value which = imp_unsqueeze(c, imp_const_ints(c, TN_I64, 1, (uint32_t)n, number), 1);
    tn_value first = first_place(c, b, which), size = own_length(c, b, which);
    tn_value i = imp_binary(c, &tn_op_subtract, imp_count_up(c, b->longest), first);
    tn_value begun = imp_with(c, &tn_op_greater_equal, i, 0);
    tn_value inside = imp_binary(c, &tn_op_logical_and, begun, imp_binary(c, &tn_op_less, i, size));
    tn_value column = imp_binary(c, &tn_op_add, i, imp_with(c, &tn_op_maximum, which, 0));
    tn_value row = imp_binary(c, &tn_op_subtract, i, imp_with(c, &tn_op_minimum, which, 0));
    tn_value at = imp_binary(c, &tn_op_multiply, row, b->width);
    return taken(c, x, imp_binary(c, &tn_op_add, at, column), inside, rest);
}

tn_value imp_with_band(imp_node *c, tn_value d, const imp_band *b, tn_value rest)
{
    tn_value row = imp_unsqueeze(c, imp_count_up(c, b->rows), 1), column = imp_count_up(c, b->columns);
    tn_value which = imp_binary(c, &tn_op_subtract, column, row);
    tn_value not_below = imp_with(c, &tn_op_greater_equal, which, (double)b->low),
             not_above = imp_with(c, &tn_op_less_equal, which, (double)b->high);
    tn_value inside = imp_binary(c, &tn_op_logical_and, not_below, not_above), high = imp_i64(c, b->high);
    tn_value i = imp_binary(c, &tn_op_minimum, row, column);
    i = imp_binary(c, &tn_op_add, i, first_place(c, b, which));
    tn_value at = imp_binary(c, &tn_op_multiply, imp_binary(c, &tn_op_subtract, high, which), b->length);
    return taken(c, d, imp_binary(c, &tn_op_add, at, i), inside, rest);
}
