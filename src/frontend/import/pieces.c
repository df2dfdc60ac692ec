/* Ranges, mirrored edges, parts of a dimension, picks from batches and formulas, as several formats have them. */
#include "frontend/import/convert.h"

#include <math.h>

#include "op/nn/nn.h"

/* ---- ranges ---- */

static const tn_expr *no_end(imp_node *c)
{
    imp_refuse(c, IMP_BAD_VALUE,
               "a range has a step of 0, or more than 2147483647 numbers; the model is damaged");
    return tn_idx(c->pool, 0);
}

/* From integers that are known, or are expressions where the step is known; else NULL. Nothing is rounded. */
static const tn_expr *known_integers(imp_node *c, const tn_value in[3])
{
    tn_dims from, to, by;
    int64_t first, last, step;
    if (!imp_host(c, in[2], &by) || !tn_is_int(by.at[0], &step) || !imp_host(c, in[0], &from) ||
        !imp_host(c, in[1], &to))
        return NULL;
    if (step == 0)
        return no_end(c);
    if (tn_is_int(from.at[0], &first) && tn_is_int(to.at[0], &last)) {
        if (step > 0 ? first >= last : first <= last)
            return tn_idx(c->pool, 0);
        const uint64_t way = step > 0 ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last,
                       pace = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
        const uint64_t steps = (way - 1) / pace; /* between the first number and the last one */
        return steps >= INT32_MAX ? no_end(c) : tn_idx(c->pool, (int64_t)steps + 1);
    }
    if (step < -INT32_MAX || step > INT32_MAX)
        return NULL;
    const tn_expr *way =
        step > 0 ? tn_sub(c->pool, to.at[0], from.at[0]) : tn_sub(c->pool, from.at[0], to.at[0]);
    const tn_expr *count = tn_ceildiv(c->pool, way, step > 0 ? step : -step);
    return imp_simplify(c, tn_max(c->pool, count, tn_idx(c->pool, 0)));
}

/* From constant floats; else NULL. */
static const tn_expr *known_floats(imp_node *c, const tn_value in[3])
{
    double start, limit, delta;
    if (!tn_dtype_is_float(imp_type(in[0])->dtype) || !imp_scalar(c, in[0], &start) ||
        !imp_scalar(c, in[1], &limit) || !imp_scalar(c, in[2], &delta))
        return NULL;
    const double n = ceil((limit - start) / delta);
    return delta == 0 || !(n <= INT32_MAX) ? no_end(c) : tn_idx(c->pool, n > 0 ? (int64_t)n : 0);
}

/* Integers are counted as integers: float64 does not tell those above 2^53 apart. */
static tn_value late_steps(imp_node *c, const tn_value in[3])
{
    const bool real = tn_dtype_is_float(imp_type(in[0])->dtype);
    tn_value x[3];
    for (int i = 0; i < 3; i++)
        x[i] = imp_cast(c, in[i], real ? TN_F64 : TN_I64);
    if (real) {
        const tn_value way = imp_binary(c, &tn_op_subtract, x[1], x[0]);
        const tn_value n = imp_binary(c, &tn_op_divide, way, x[2]);
        return imp_cast(c, imp_unary(c, &tn_op_ceil, n), TN_I64);
    }
    const tn_value back = imp_binary(c, &tn_op_subtract, x[0], x[1]);
    return imp_unary(c, &tn_op_negative, imp_binary(c, &tn_op_floor_divide, back, x[2]));
}

static const tn_expr *late_count(imp_node *c, const tn_value in[3])
{
    double step;
    if (!imp_scalar(c, in[2], &step))
        imp_demand(c, imp_cast(c, imp_with(c, &tn_op_equal, in[2], 0), TN_I64), 0,
                   "the step of a range is 0");
    const tn_value n = late_steps(c, in), none = imp_i64(c, 0);
    tn_dims d = imp_bind(c, imp_binary(c, &tn_op_maximum, n, none), NULL);
    return d.n ? d.at[0] : tn_idx(c->pool, 0);
}

tn_value imp_range(imp_node *c, const tn_value in[3])
{
    if (c->bad)
        return (tn_value){0};
    const tn_expr *count = known_integers(c, in);
    count = count ? count : known_floats(c, in);
    count = count ? count : late_count(c, in);
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &count)};
    return imp_call2(c, &tn_op_arange, &a, in[0], in[2]);
}

/* Dimension d has so many elements: where it has a symbol the run fails if not, and says this. false: it never has. */
static bool has_at_least(imp_node *c, tn_value x, int d, int64_t least, const char *says)
{
    int64_t n;
    if (c->bad || least <= 0)
        return true;
    if (tn_is_int(imp_type(x)->dim[d], &n))
        return n >= least;
    tn_value has = imp_extent_of(c, x, d), wanted = imp_i64(c, least);
    tn_value fewer = imp_binary(c, &tn_op_less, has, wanted);
    imp_demand(c, imp_cast(c, fewer, TN_I64), 0, says);
    return true;
}

/* ---- edges ---- */

static tn_value backwards(imp_node *c, tn_value v, int64_t axis)
{
    int64_t step = -1, from = INT64_MAX, to = INT64_MIN;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &a, v);
}

tn_value imp_mirror(imp_node *c, tn_value x, tn_ints width, bool edge)
{
    for (int d = 0; d < imp_rank(x) && !c->bad; d++) {
        const int64_t *many = &width.at[2 * d], skip = edge ? 0 : 1;
        tn_value part[3];
        uint32_t n = 0;
        int64_t most = many[0] > many[1] ? many[0] : many[1];
        if (many[0] < 0 || many[1] < 0 || most > INT32_MAX ||
            !has_at_least(c, x, d, most ? most + skip : 0,
                          "paddings are wider than the data that they mirror")) {
            imp_refuse(c, IMP_BAD_VALUE, "paddings of %lld and %lld are wider than dimension %d of %s",
                       (long long)many[0], (long long)many[1], d, imp_type_text(c, imp_type(x)));
            break;
        }
        if (many[0] > 0)
            part[n++] = backwards(c, imp_slice(c, x, d, skip, many[0] + skip), d);
        part[n++] = x;
        if (many[1] > 0)
            part[n++] = backwards(c, imp_slice(c, x, d, -many[1] - skip, skip ? -skip : INT64_MAX), d);
        x = imp_concat(c, n, part, d);
    }
    return x;
}

/* ---- parts ---- */

void imp_split_sizes(imp_node *c, tn_value x, int axis, tn_ints size)
{
    int64_t after = 0, at = 0, all = 0;
    uint32_t open = size.n, n_open = 0;
    for (uint32_t i = 0; i < size.n && !c->bad; i++) {
        if (size.at[i] > INT32_MAX) {
            imp_refuse(c, IMP_BAD_VALUE, "a part has %lld elements; the model is damaged",
                       (long long)size.at[i]);
            return;
        }
        n_open += size.at[i] < 0;
        open = size.at[i] < 0 ? i : open;
        all += size.at[i] < 0 ? 0 : size.at[i];
        after = size.at[i] < 0 ? 0 : after + size.at[i];
    }
    if (!c->bad && (size.n != c->n_out || n_open > 1))
        imp_refuse(c, IMP_BAD_VALUE,
                   "there are %u sizes, %u of them open, for %zu parts; the model is damaged",
                   (unsigned)size.n, (unsigned)n_open, c->n_out);
    else if (!(n_open
                   ? has_at_least(c, x, axis, all, "a dimension is less than the parts of it that have sizes")
                   : imp_with_extent(c, &x, axis, tn_idx(c->pool, all))))
        imp_refuse(c, IMP_BAD_VALUE, "dimension %d of %s does not have the %lld elements of its parts", axis,
                   imp_type_text(c, imp_type(x)), (long long)all);
    for (uint32_t i = 0; i < size.n && !c->bad; i++) {
        int64_t end = i == open ? -after : at + size.at[i], last = end == 0 && i >= open ? INT64_MAX : end;
        imp_out(c, i, size.at[i] == 0 ? imp_slice(c, x, axis, 0, 0) : imp_slice(c, x, axis, at, last));
        at = end;
    }
}

/* Dimension `axis` as [parts, the rest]: the run checks that it has no remainder. */
static tn_value in_parts(imp_node *c, tn_value x, int axis, int64_t n)
{
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK + 1];
    for (int i = 0; i < t->n; i++)
        dim[i + (i > axis)] = t->dim[i];
    dim[axis] = tn_idx(c->pool, n);
    dim[axis + 1] = imp_simplify(c, tn_fdiv(c->pool, t->dim[axis], dim[axis]));
    return imp_reshape(c, x, t->n + 1, dim);
}

void imp_split_equal(imp_node *c, tn_value x, int axis)
{
    int64_t n = (int64_t)c->n_out, extent = -1;
    bool fixed = c->bad || tn_is_int(imp_type(x)->dim[axis], &extent);
    if (!c->bad && (n < 1 || (fixed && extent % n != 0) || (!fixed && imp_rank(x) == IMP_MAX_RANK)))
        imp_refuse(c, IMP_BAD_VALUE, "dimension %d of %s is not split into %lld equal parts", axis,
                   imp_type_text(c, imp_type(x)), (long long)n);
    if (!c->bad && !fixed)
        x = in_parts(c, x, axis, n);
    for (int64_t i = 0; i < n && !c->bad; i++)
        imp_out(c, (uint32_t)i,
                fixed ? imp_slice(c, x, axis, i * (extent / n), (i + 1) * (extent / n))
                      : imp_squeeze(c, imp_slice(c, x, axis, i, i + 1), axis));
}

/* ---- picks ---- */

tn_value imp_take_of_each(imp_node *c, tn_value x, tn_value at, int axis, int batch)
{
    int rank = imp_rank(x), between = axis - batch, picked = imp_rank(at) - batch, n = rank - 1 + picked;
    int64_t to[IMP_MAX_RANK], back[2 * IMP_MAX_RANK];
    if (!c->bad && (batch < 0 || between < 0 || picked < 0 || n > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "%d batch dimensions do not fit axis %d of %s and indices %s", batch,
                   axis, imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(at)));
    if (c->bad)
        return (tn_value){0};
    for (int i = 0; i < rank; i++)
        to[i] = i == batch ? axis : i > batch && i <= axis ? i - 1 : i;
    for (int i = 0; i < n; i++)
        back[i] = i < batch || i >= axis + picked ? i : i < axis ? i + picked : i - between;
    tn_gather_nd_attr a = {batch};
    x = between ? imp_transpose(c, x, rank, to) : x;
    tn_value y = imp_call2(c, &tn_op_gather_nd, &a, x, imp_unsqueeze(c, at, imp_rank(at)));
    return between ? imp_transpose(c, y, n, back) : y;
}

/* ---- formulas ---- */

/* nn.elu is e^x - 1 below 0; above: (1 - e^-x) e^x. */
tn_value imp_expm1(imp_node *c, tn_value x)
{
    static const tn_alpha_attr one = {1};
    tn_value minus = imp_unary(c, &tn_op_negative, imp_unary(c, &tn_op_abs, x));
    tn_value below = imp_call1(c, &tn_op_nn_elu, &one, minus); /* e^-|x| - 1 */
    tn_value share = imp_unary(c, &tn_op_negative, below);
    tn_value above = imp_binary(c, &tn_op_multiply, share, imp_unary(c, &tn_op_exp, x));
    return imp_choose(c, imp_with(c, &tn_op_less, x, 0), below, above);
}

tn_value imp_finite_or_zero(imp_node *c, tn_value v)
{
    tn_value finite = imp_unary(c, &tn_op_isfinite, v), zero = imp_const(c, imp_type(v)->dtype, 0);
    return imp_choose(c, finite, v, zero);
}

/* The largest element is taken out. Where it is infinite it is not (inf - inf); exp is exact enough there: 0 or inf. */
tn_value imp_log_sum_exp(imp_node *c, tn_value x, tn_ints axes, bool keep)
{
    if (imp_rank(x) == 0)
        return x;
    tn_dtype t = imp_type(x)->dtype;
    tn_axes_attr kept = {axes, true, false};
    x = imp_cast(c, x, imp_sum_dtype(t));
    tn_value most = imp_finite_or_zero(c, imp_call1(c, &tn_op_max, &kept, x));
    tn_value e = imp_unary(c, &tn_op_exp, imp_binary(c, &tn_op_subtract, x, most));
    tn_value sum = imp_unary(c, &tn_op_log, imp_call1(c, &tn_op_sum, &kept, e));
    tn_value y = imp_cast(c, imp_binary(c, &tn_op_add, sum, most), t);
    tn_squeeze_attr drop = {axes};
    if (keep || c->bad)
        return y;
    return axes.n ? imp_call1(c, &tn_op_squeeze, &drop, y) : imp_reshape(c, y, 0, NULL);
}

tn_value imp_prelu(imp_node *c, tn_value x, tn_value slope)
{
    tn_expand_dims_attr front = {0, imp_rank(x) - 1};
    if (!c->bad && imp_rank(slope) == 1 && front.num_newaxis > 0)
        slope = imp_call1(c, &tn_op_expand_dims, &front, slope);
    return imp_binary(c, &tn_op_nn_prelu, x, slope);
}
