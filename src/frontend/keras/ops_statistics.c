/* Statistics of keras.ops: medians and quantiles, averages, moments, counts. */
#include "frontend/keras/rows.h"

#include <math.h>
#include <string.h>

/* The axes of a reduction, from the start and in order, all of them where none are given; their number. */
static int axes_of(imp_node *c, tn_value x, const char *names, int64_t axis[])
{
    int64_t given[IMP_MAX_RANK];
    bool named[IMP_MAX_RANK] = {false};
    int n = keras_param_list(c, 1, names, given), count = 0;
    for (int i = 0; i < n && !c->bad; i++)
        named[imp_axis(c, given[i], imp_rank(x))] = true;
    for (int i = 0; i < imp_rank(x) && !c->bad; i++)
        if (n < 0 || named[i])
            axis[count++] = i;
    return count;
}

/* ---- quantiles ---- */

/* The axes as one, which is the last. */
static tn_value gathered(imp_node *c, tn_value x, int n, const int64_t axis[])
{
    int64_t perm[IMP_MAX_RANK];
    const tn_expr *dim[IMP_MAX_RANK], *all = tn_idx(c->pool, 1);
    int rank = imp_rank(x), kept = 0;
    for (int i = 0, k = 0; i < rank; i++) {
        bool is = k < n && axis[k] == i;
        k += is;
        if (is) {
            perm[rank - n + k - 1] = i;
            all = tn_mul(c->pool, all, imp_type(x)->dim[i]);
        } else {
            dim[kept] = imp_type(x)->dim[i];
            perm[kept++] = i;
        }
    }
    dim[kept] = imp_simplify(c, all);
    return imp_reshape(c, imp_transpose(c, x, rank, perm), kept + 1, dim);
}

/* Of sorted rows, what lies at a share of the way from the first to the last: between two elements, by a
 * straight line. */
static tn_value at_share(imp_node *c, tn_value sorted, double share)
{
    int last = imp_rank(sorted) - 1;
    tn_value end = imp_with(c, &tn_op_subtract, imp_cast(c, imp_extent_of(c, sorted, last), TN_F64), 1);
    tn_value place = imp_with(c, &tn_op_multiply, end, share);
    tn_value low = imp_unary(c, &tn_op_floor, place), high = imp_unary(c, &tn_op_ceil, place);
    tn_value part = imp_cast(c, imp_binary(c, &tn_op_subtract, place, low), imp_type(sorted)->dtype);
    tn_value a = imp_take(c, sorted, imp_cast(c, low, TN_I64), last);
    tn_value b = imp_take(c, sorted, imp_cast(c, high, TN_I64), last);
    tn_value rest = imp_binary(c, &tn_op_subtract, keras_like(c, part, 1), part);
    tn_value line = imp_binary(c, &tn_op_multiply, a, rest);
    line = imp_binary(c, &tn_op_add, line, imp_binary(c, &tn_op_multiply, b, part));
    tn_value whole = imp_with(c, &tn_op_equal, part, 0), same = imp_binary(c, &tn_op_equal, a, b);
    return imp_choose(c, imp_binary(c, &tn_op_logical_or, whole, same), a, line); /* infinities, too */
}

static tn_value with_axes(imp_node *c, tn_value y, int n, const int64_t axis[])
{
    for (int i = 0; i < n; i++)
        y = imp_unsqueeze(c, y, axis[i]);
    return y;
}

/* Rows with a NaN have no quantile but NaN. */
static tn_value quantile_of(imp_node *c, tn_value x, double share, int n, const int64_t axis[])
{
    tn_value rows = gathered(c, x, n, axis);
    if (c->bad)
        return x;
    int last = imp_rank(rows) - 1;
    int64_t at = last;
    tn_topk_attr a = {.k = tn_dims_make(c->arena, 1, &imp_type(rows)->dim[last]),
                      .axis = last,
                      .is_ascend = true,
                      .dtype = TN_I32};
    tn_value sorted = imp_call1(c, &tn_op_topk, &a, rows);
    tn_value y = at_share(c, c->bad ? sorted : (tn_value){sorted.def, 0}, share);
    tn_value odd = imp_cast(c, imp_unary(c, &tn_op_isnan, rows), TN_I32);
    odd = imp_cast(c, keras_reduce(c, &tn_op_max, odd, 1, &at, false), TN_BOOL1);
    return imp_choose(c, odd, keras_like(c, y, NAN), y);
}

static void quantile(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    bool median = strcmp(c->row->op, "Median") == 0;
    const tn_json *q = median ? NULL : keras_param(c, 1, "q"), *how = keras_param(c, 3, "method");
    const tn_json *inside = tn_json_find(tn_json_find(q, "config"), "value");
    q = inside ? inside : q;
    const tn_json *given = keras_config(c, "axis");
    int n = given || c->bad ? axes_of(c, x, "axis", axis) : imp_rank(x);
    for (int i = 0; i < n && !given; i++)
        axis[i] = i;
    bool keep = keras_param_truth(c, -1, "keepdims"), list = tn_json_is(q, TN_JSON_ARRAY);
    uint32_t many = list ? q->n : 1;
    tn_value *part = TN_NEW_N(c->arena, tn_value, many + 1);
    if (n < 1 || (how && !tn_json_is_text(how, "linear")) || many < 1 || many > 1024)
        imp_refuse(c, IMP_BAD_VALUE, "quantiles must be along axes, and by linear interpolation");
    for (uint32_t i = 0; i < many && !c->bad; i++) {
        double share = 0.5;
        if (!median && (!q || !keras_number(list ? &q->u.at[i] : q, &share) || !(share >= 0 && share <= 1)))
            imp_refuse(c, IMP_NOT_CONSTANT, "quantiles must be numbers from 0 to 1 that are known");
        tn_value y = quantile_of(c, x, share, n, axis);
        y = keep ? with_axes(c, y, n, axis) : y;
        part[i] = list ? imp_unsqueeze(c, y, 0) : y;
    }
    if (!c->bad)
        keras_out(c, list ? imp_concat(c, many, part, 0) : part[0]);
}

/* ---- averages and moments ---- */

/* Weights as many as the elements, or as many as there are along the one axis. */
static void average(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value in = keras_in(c, 0), x = keras_as_float(c, in);
    int n = axes_of(c, x, "axis", axis);
    bool weighed = keras_operand(c, 2, "weights").def || keras_param(c, 2, "weights");
    if (c->bad || !weighed) {
        keras_out(c, keras_reduce(c, &tn_op_mean, x, n, axis, false));
        return;
    }
    tn_value v[2] = {x, keras_any_operand(c, 2, "weights")};
    keras_promote(c, 2, v);
    if (!c->bad && imp_rank(v[1]) == 1 && imp_rank(x) > 1 && n == 1)
        for (int i = (int)axis[0] + 1; i < imp_rank(x); i++)
            v[1] = imp_unsqueeze(c, v[1], i - axis[0]);
    else if (!c->bad && imp_rank(v[1]) != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "weights of an average must be as many as the elements along its axis");
    tn_value sum = keras_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, v[0], v[1]), n, axis, false);
    bool flat = !c->bad && imp_rank(v[1]) < imp_rank(x);
    tn_value whole = flat ? keras_reduce(c, &tn_op_sum, imp_flat(c, v[1]), 1, (int64_t[]){0}, false)
                          : keras_reduce(c, &tn_op_sum, v[1], n, axis, false);
    keras_out(c, imp_binary(c, &tn_op_divide, sum, whole));
}

static void moments(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = axes_of(c, x, "axes", axis);
    bool keep = keras_param_truth(c, 2, "keepdims");
    if (c->bad)
        return;
    tn_dtype t = imp_type(x)->dtype;
    x = tn_dtype_eq(t, TN_F16) ? imp_cast(c, x, TN_F32) : x;
    tn_value mean = keras_reduce(c, &tn_op_mean, x, n, axis, true);
    tn_value away = imp_binary(c, &tn_op_subtract, x, mean);
    tn_value squares = imp_binary(c, &tn_op_multiply, away, away);
    keras_out(c, imp_cast(c, keras_reduce(c, &tn_op_mean, x, n, axis, keep), t));
    keras_out(c, imp_cast(c, keras_reduce(c, &tn_op_mean, squares, n, axis, keep), t));
}

/* ---- counts ---- */

static void count_nonzero(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_as_number(c, keras_in(c, 0));
    int n = axes_of(c, x, "axis", axis);
    tn_value is = imp_cast(c, imp_with(c, &tn_op_not_equal, x, 0), TN_I32);
    keras_out(c, keras_reduce(c, &tn_op_sum, is, n, axis, false));
}

/* The distance from the least to the largest. */
static void range(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = axes_of(c, x, "axis", axis);
    bool keep = keras_param_truth(c, 2, "keepdims");
    tn_value most = keras_reduce(c, &tn_op_max, x, n, axis, keep);
    keras_out(c, imp_binary(c, &tn_op_subtract, most, keras_reduce(c, &tn_op_min, x, n, axis, keep)));
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_statistics[] = {
    F("Median",       quantile,      NULL),
    F("Quantile",     quantile,      NULL),
    F("Average",      average,       NULL),
    F("Moments",      moments,       NULL),
    F("CountNonzero", count_nonzero, NULL),
    F("Ptp",          range,         NULL),
    END_OF_ROWS,
};
// clang-format on
