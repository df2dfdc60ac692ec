/* Windows over any dimensions, and what goes between elements: DILATE, REDUCE_WINDOW and their forms of StableHLO. */
#include "frontend/tflite/reduction.h"

enum { MAX_WINDOW = 4096 };

/* `by` - 1 elements of value `rest` (rank 0) between those of x along dimension d. */
static tn_value spread(imp_node *c, tn_value x, int d, int64_t by, tn_value rest)
{
    const tn_type *t = imp_type(x);
    const tn_expr *apart[IMP_MAX_RANK + 1], *gap[IMP_MAX_RANK + 1], *joined[IMP_MAX_RANK];
    int64_t n = 0;
    if (c->bad || by == 1)
        return x;
    if (t->n >= IMP_MAX_RANK || by < 1 || by > INT32_MAX || !tn_is_int(t->dim[d], &n) || n < 1) {
        imp_refuse(c, IMP_BAD_VALUE, "%lld elements cannot stand between those of %s", (long long)by - 1,
                   imp_type_text(c, t));
        return x;
    }
    for (int i = 0; i <= t->n; i++) {
        apart[i] = i <= d ? t->dim[i] : i == d + 1 ? tn_idx(c->pool, 1) : t->dim[i - 1];
        gap[i] = i == d + 1 ? tn_idx(c->pool, by - 1) : apart[i];
    }
    for (int i = 0; i < t->n; i++)
        joined[i] = i == d ? tn_idx(c->pool, n * by) : t->dim[i];
    tn_broadcast_to_attr wide = {tn_dims_make(c->arena, (uint32_t)t->n + 1, gap)};
    tn_value both[2] = {imp_reshape(c, x, t->n + 1, apart), imp_call1(c, &tn_op_broadcast_to, &wide, rest)};
    x = imp_reshape(c, imp_concat(c, 2, both, d + 1), t->n, joined);
    return imp_slice(c, x, d, 0, (n - 1) * by + 1);
}

static tn_value scalar(imp_node *c, tn_value v) { return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v; }

static void dilate(imp_node *c)
{
    tn_value x = imp_in(c, 0), rest = scalar(c, imp_in(c, 2));
    tn_ints by = imp_ints_in(c, imp_in(c, 1), "dilations");
    if ((int)by.n != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "%u dilations for %s", (unsigned)by.n, imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < by.n && !c->bad; i++)
        x = spread(c, x, (int)i, by.at[i], rest);
    imp_out(c, 0, x);
}

/* x with elements before, after (below 0: cut off) and between those of each dimension. */
static tn_value padded(imp_node *c, tn_value x, tn_value rest, const tn_ints *low, const tn_ints *high,
                       const tn_ints *between)
{
    const tn_expr *width[2 * IMP_MAX_RANK];
    bool any = false;
    uint32_t n = (uint32_t)imp_rank(x);
    if (low->n != n || high->n != n || between->n != n)
        imp_refuse(c, IMP_BAD_VALUE, "its paddings do not fit %s", imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        x = spread(c, x, (int)i, between->at[i] + 1, rest);
        width[2 * i] = tn_idx(c->pool, low->at[i]);
        width[2 * i + 1] = tn_idx(c->pool, high->at[i]);
        any = any || low->at[i] || high->at[i];
    }
    tn_pad_attr a = {.pad_width = tn_dims_make(c->arena, c->bad ? 0 : 2 * n, width), .pad_mode = "constant"};
    return any ? imp_call2(c, &tn_op_nn_pad, &a, x, rest) : x;
}

static void pad(imp_node *c)
{
    tn_ints low = {0}, high = {0}, between = {0};
    tn_value x = imp_in(c, 0), rest = scalar(c, imp_in(c, 1));
    (void)imp_attr_ints(c, "edge_padding_low", &low);
    (void)imp_attr_ints(c, "edge_padding_high", &high);
    (void)imp_attr_ints(c, "interior_padding", &between);
    imp_out(c, 0, padded(c, x, rest, &low, &high, &between));
}

/* Every `step`-th of the n elements of dimension d from `from` on, `n` of them. */
static tn_value stepped(imp_node *c, tn_value x, int d, int64_t from, int64_t n, int64_t step)
{
    int64_t end = from + (n - 1) * step + 1, axis = d;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

/* Windows along one dimension: what they join has no order, so dimensions go one after the other. */
static tn_value joined_along(imp_node *c, tn_value x, int d, const int64_t w[3], const tn_op *op)
{
    int64_t extent = 0, size = w[0], step = w[1], dilation = w[2];
    if (c->bad || !tn_is_int(imp_type(x)->dim[d], &extent) || size < 1 || step < 1 || dilation < 1 ||
        size > MAX_WINDOW || dilation > INT32_MAX || (size - 1) * dilation >= extent) {
        imp_refuse(c, IMP_BAD_VALUE, "windows of %lld elements do not fit %s", (long long)size,
                   imp_type_text(c, imp_type(x)));
        return x;
    }
    int64_t n = (extent - (size - 1) * dilation - 1) / step + 1;
    tn_value y = stepped(c, x, d, 0, n, step);
    for (int64_t k = 1; k < size && !c->bad; k++)
        y = imp_binary(c, op, y, stepped(c, x, d, k * dilation, n, step));
    return y;
}

static tn_value reduced(imp_node *c, tn_value x, tn_value first, const tn_ints w[3], const tn_op *op)
{
    int rank = imp_rank(x);
    for (int k = 0; k < 3; k++)
        if ((int)w[k].n != rank)
            imp_refuse(c, IMP_BAD_VALUE, "its windows do not fit %s", imp_type_text(c, imp_type(x)));
    for (int d = 0; d < rank && !c->bad; d++)
        x = joined_along(c, x, d, (const int64_t[]){w[0].at[d], w[1].at[d], w[2].at[d]}, op);
    return imp_binary(c, op, x, first);
}

/* Data, the first value, windows, steps, dilations. */
static void reduce_window(imp_node *c)
{
    static const tn_op *const op[] = {NULL,           &tn_op_add,         &tn_op_multiply,  &tn_op_minimum,
                                      &tn_op_maximum, &tn_op_logical_and, &tn_op_logical_or};
    static const char *const names[] = {"window_shape", "window_strides", "window_dilations"};
    int64_t function = imp_attr_int(c, "reduce_function", 0);
    tn_value x = imp_in(c, 0), first = scalar(c, imp_in(c, 1));
    tn_ints w[3];
    for (uint32_t i = 0; i < 3; i++)
        w[i] = imp_ints_in(c, imp_in(c, 2 + i), names[i]);
    if (function < 1 || function > 6)
        imp_refuse(c, IMP_BAD_VALUE, "reduce_function is %lld", (long long)function);
    if (!c->bad)
        imp_out(c, 0, reduced(c, x, first, w, op[function]));
}

/* Options that are not given are 1 in each dimension. */
static tn_ints ones_or(imp_node *c, const char *name, int rank)
{
    static const int64_t ones[IMP_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    tn_ints v = {0};
    return imp_attr_ints(c, name, &v) && v.n ? v : tn_ints_make(c->arena, (uint32_t)rank, ones);
}

/* Pairs of widths as what goes before and after; of the data's dilations what goes between. */
static tn_value window_data(imp_node *c, tn_value x, tn_value rest)
{
    tn_ints pairs = {0}, base = ones_or(c, "base_dilations", imp_rank(x));
    int64_t low[IMP_MAX_RANK] = {0}, high[IMP_MAX_RANK] = {0}, between[IMP_MAX_RANK] = {0};
    uint32_t n = (uint32_t)imp_rank(x);
    if ((imp_attr_ints(c, "padding", &pairs) && pairs.n && pairs.n != 2 * n) || base.n != n)
        imp_refuse(c, IMP_BAD_VALUE, "its paddings do not fit %s", imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        low[i] = pairs.n ? pairs.at[2 * i] : 0;
        high[i] = pairs.n ? pairs.at[2 * i + 1] : 0;
        between[i] = base.at[i] - 1;
    }
    return c->bad ? x : padded(c, x, rest, &(tn_ints){n, low}, &(tn_ints){n, high}, &(tn_ints){n, between});
}

static void hlo_reduce_window(imp_node *c)
{
    tn_value x = imp_in(c, 0), first = scalar(c, imp_in(c, 1));
    const tfl_reduction *how = tfl_reduction_of(c, imp_attr_int(c, "body_subgraph_index", 0));
    tn_ints w[3] = {
        {0}, ones_or(c, "window_strides", imp_rank(x)), ones_or(c, "window_dilations", imp_rank(x))};
    (void)imp_attr_ints(c, "window_dimensions", &w[0]);
    if (c->n_out != 1 || imp_n_in(c) != 2 || (how && how->keeps_new))
        imp_refuse(c, IMP_BAD_VALUE, "only one tensor, joined by one operator, is supported");
    x = window_data(c, x, first);
    if (!c->bad)
        imp_out(c, 0, reduced(c, x, first, w, how->binary));
}

// clang-format off
const imp_row tfl_rows_window[] = {
    {"DILATE",                  1, 0, 3, 1, dilate,            NULL},
    {"REDUCE_WINDOW",           1, 0, 5, 1, reduce_window,     NULL},
    {"STABLEHLO_PAD",           1, 0, 2, 1, pad,               NULL},
    {"STABLEHLO_REDUCE_WINDOW", 1, 0, -1, -1, hlo_reduce_window, NULL},
    {0},
};
// clang-format on
