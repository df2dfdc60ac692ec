/* Rows (slices along an axis) that differ. They are sorted, so equal ones stand beside each other, the first of the
 * model first. All in O(n log n) time and O(n) memory. */
#include "frontend/import/complex.h"

/* Rows of x as (n, m). */
static tn_value rows_of(imp_node *c, tn_value x, int axis)
{
    int64_t perm[IMP_MAX_RANK], k = 0;
    if (imp_is_complex(x)) /* ordered by their real parts, then by their imaginary ones */
        x = imp_parts(c, x);
    int rank = imp_rank(x);
    tn_dtype t = imp_type(x)->dtype;
    perm[k++] = axis;
    for (int i = 0; i < rank; i++)
        if (i != axis)
            perm[k++] = i;
    if (tn_dtype_is_bool(t))
        x = imp_cast(c, x, TN_U8);
    if (tn_dtype_is_float(t) && t.bits < 32)
        x = imp_cast(c, x, TN_F32);
    x = axis ? imp_transpose(c, x, rank, perm) : x;
    const tn_expr *dim[2] = {imp_type(x)->dim[0], imp_product(c, imp_type(x), 1, rank)};
    return c->bad ? x : imp_reshape(c, x, 2, dim);
}

static tn_value plus(imp_node *c, tn_value v, int64_t by)
{
    return imp_binary(c, &tn_op_add, v, imp_i64(c, by));
}

/* bool (n): does row i of the sorted rows differ from the one before? */
static tn_value starts_run(imp_node *c, tn_value rows, tn_value number, bool nan_apart)
{
    tn_value before = imp_take(c, rows, plus(c, number, -1), 0),
             differ = imp_binary(c, &tn_op_not_equal, rows, before);
    if (tn_dtype_is_float(imp_type(rows)->dtype) && !nan_apart) {
        tn_value one = imp_binary(c, &tn_op_equal, rows, rows),
                 other = imp_binary(c, &tn_op_equal, before, before);
        differ = imp_binary(c, &tn_op_logical_and, differ, imp_binary(c, &tn_op_logical_or, one, other));
    }
    tn_value differences =
        imp_reduce(c, &tn_op_sum, imp_cast(c, differ, TN_I32), 1); /* of a row without elements 0 */
    tn_value differs = imp_cast(c, differences, TN_BOOL1), is_first = imp_with(c, &tn_op_equal, number, 0);
    return imp_binary(c, &tn_op_logical_or, differs, is_first);
}

/* out[at[i]] = v[i], at being a permutation */
static tn_value permuted(imp_node *c, tn_value at, tn_value v)
{
    tn_scatter_attr a = {0, "update"};
    return imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){v, at, v});
}

/* How many hold up to each position, but for the first that does. */
static tn_value rank_of(imp_node *c, tn_value condition)
{
    tn_scan_attr a = {0, false, false};
    return plus(c, imp_call1(c, &tn_op_cumsum, &a, imp_cast(c, condition, TN_I64)), -1);
}

imp_unique imp_unique_of(imp_node *c, tn_value x, int axis, unsigned how)
{
    imp_unique u = {0};
    if (!c->bad && axis >= imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "unique values along dimension %d of %s", axis,
                   imp_type_text(c, imp_type(x)));
    tn_value rows = c->bad ? x : rows_of(c, x, axis);
    if (c->bad)
        return u;
    tn_value number = imp_count_up(c, imp_type(rows)->dim[0]),
             order = how & IMP_UNIQUE_RUNS ? number : imp_unary(c, &tn_op_sort_rows, rows);
    tn_value starts = starts_run(c, imp_take(c, rows, order, 0), number, how & IMP_UNIQUE_NAN_APART),
             run = permuted(c, order, rank_of(c, starts));
    tn_value from = imp_positions(c, starts);
    if (c->bad)
        return u;
    tn_value place = imp_count_up(c, imp_type(from)->dim[0]), next = imp_take(c, from, plus(c, place, 1), 0);
    tn_value is_last = imp_binary(c, &tn_op_equal, next, from), n = imp_extent_of(c, rows, 0);
    u.count = imp_binary(c, &tn_op_subtract, imp_choose(c, is_last, n, next), from);
    u.index = imp_take(c, order, from, 0);
    u.inverse = run;
    if (!(how & (IMP_UNIQUE_SORTED | IMP_UNIQUE_RUNS))) { /* by first appearance */
        tn_value is_first = permuted(c, order, starts), rank = rank_of(c, is_first);
        u.inverse = imp_take(c, rank, imp_take(c, u.index, run, 0), 0);
        tn_value back = imp_take(c, rank, u.index, 0); /* of a run: where it goes */
        u.index = permuted(c, back, u.index);
        u.count = permuted(c, back, u.count);
    }
    u.x = imp_take(c, x, u.index, axis);
    return u;
}
