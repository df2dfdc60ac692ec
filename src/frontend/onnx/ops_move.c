/* Data movement: Transpose, Concat, Split, Slice, Pad, Expand and what passes data on. */
#include "frontend/onnx/flow.h"

#include "op/control/control.h"
#include "op/tensor/tensor.h"

#include <string.h>

static void identity(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    imp_out(c, 0, imp_in(c, 0));
}

static void transpose(imp_node *c)
{
    tn_ints perm;
    tn_value x = imp_in(c, 0);
    bool given = imp_attr_ints(c, "perm", &perm);
    if (given && !c->bad && perm.n != (uint32_t)imp_rank(x))
        imp_fail(c, "onnx-E009", "perm has %u entries, but the operand is %s; the model is damaged",
                 (unsigned)perm.n, imp_type_text(c, imp_type(x)));
    imp_out(c, 0,
            !given   ? imp_unary(c, &tn_op_transpose, x)
            : perm.n ? imp_transpose(c, x, (int)perm.n, perm.at)
                     : x);
}

static void concat(imp_node *c)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    if (c->version >= 4)
        imp_attr_need(c, "axis");
    tn_axis_attr a = {imp_attr_int(c, "axis", 1)};
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = imp_in(c, i);
    imp_out(c, 0, imp_call(c, &tn_op_concatenate, &a, (int)c->n_in, in));
}

/* ---- Slice, Split ---- */

static tn_value slice_axis(imp_node *c, tn_value x, int axis, const tn_expr *begin, const tn_expr *end)
{
    int64_t at = axis, step = 1;
    tn_slice_attr a = {tn_dims_make(c->arena, 1, &begin), tn_dims_make(c->arena, 1, &end),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

/* starts or ends: numbers, or what a symbolic extent makes of them. */
static tn_dims slice_bounds(imp_node *c, const char *name, uint32_t i)
{
    tn_ints given;
    if (c->version >= 10)
        return imp_host_in(c, imp_in(c, i), name);
    imp_attr_need(c, name);
    (void)imp_attr_ints(c, name, &given);
    return tn_make_dims(c->g, given.n, given.at);
}

/* A start before the first element is the first in ONNX, also where steps go backwards (strided_slice: nothing is left
 * then, as in NumPy). */
static const tn_expr *slice_start(imp_node *c, const tn_expr *at, const tn_expr *extent, int64_t step)
{
    const tn_expr *zero = tn_idx(c->pool, 0);
    int64_t v;
    if (step > 0 || (tn_is_int(at, &v) && v >= -1))
        return at;
    if (at->kind == TN_E_INT && v <= -INT32_MAX)
        return zero;
    at = tn_select(c->pool, tn_lt(c->pool, at, zero), tn_add(c->pool, extent, at), at);
    return imp_simplify(c, tn_max(c->pool, at, zero));
}

/* The extent itself means "to the end". So does an end like 10^9 along a symbol: the symbol's range, which is checked
 * when it is bound, says so. */
static const tn_expr *slice_end(imp_node *c, const tn_expr *at, const tn_expr *extent, int64_t step)
{
    enum { FAR = 1 << 28 };
    const tn_expr *all = tn_idx(c->pool, INT64_MAX);
    int64_t v;
    if (!tn_is_int(at, &v))
        return imp_simplify(c, tn_sub(c->pool, at, extent)) == tn_idx(c->pool, 0) ? all : at;
    if (extent->kind != TN_E_SYM || v < FAR || v >= INT32_MAX || step < 0)
        return at;
    tn_symbol_info *s = tn_graph_symbol(c->g, extent->u.s);
    s->max = s->max < v ? s->max : v;
    return all;
}

/* No dimension is as long as the largest step here, so a larger one leads as far. */
static tn_ints limited_steps(imp_node *c, tn_ints steps)
{
    int64_t *at = TN_NEW_N(c->arena, int64_t, steps.n);
    for (uint32_t i = 0; i < steps.n; i++)
        at[i] = steps.at[i] > INT32_MAX ? INT32_MAX : steps.at[i] < -INT32_MAX ? -INT32_MAX : steps.at[i];
    return (tn_ints){steps.n, at};
}

/* Are starts, ends, axes and steps of a known length? false: c is done, by a fork, or has failed. */
static bool fix_lengths(imp_node *c)
{
    if (!onnx_fix_length(c, 1, 0, imp_rank(imp_in(c, 0))))
        return false;
    int n = (int)imp_length(imp_in(c, 1));
    for (uint32_t i = 2; i < 5 && n >= 0; i++)
        if (imp_has(c, i) && !onnx_fix_length(c, i, n, n))
            return false;
    return true;
}

static void slice(imp_node *c)
{
    tn_slice_attr a = {0};
    tn_value x = imp_in(c, 0);
    if (c->version >= 10 && !fix_lengths(c))
        return;
    if (c->version >= 10 && imp_dynamic_slice(c, x, imp_in(c, 1), imp_in(c, 2), imp_opt(c, 3), imp_opt(c, 4)))
        return;
    (void)imp_ints_arg(c, "axes", 10, 3, &a.axes);
    a.begin = slice_bounds(c, "starts", 1);
    a.end = slice_bounds(c, "ends", 2);
    if (c->version >= 10 && imp_has(c, 4))
        (void)imp_ints_arg(c, "steps", 10, 4, &a.strides);
    if (!c->bad && (a.begin.n != a.end.n || (a.axes.n && a.axes.n != a.begin.n) ||
                    (a.strides.n && a.strides.n != a.begin.n)))
        imp_fail(c, "onnx-E009",
                 "starts, ends, axes and steps have %u, %u, %u and %u entries; the model is damaged",
                 (unsigned)a.begin.n, (unsigned)a.end.n, (unsigned)a.axes.n, (unsigned)a.strides.n);
    const tn_expr **begin = TN_NEW_N(c->arena, const tn_expr *, a.begin.n),
                  **end = TN_NEW_N(c->arena, const tn_expr *, a.begin.n);
    for (uint32_t i = 0; i < a.begin.n && !c->bad; i++) {
        int axis = imp_axis(c, a.axes.n ? a.axes.at[i] : i, imp_rank(x));
        if (c->bad)
            break;
        const tn_expr *extent = imp_type(x)->dim[axis];
        int64_t step = a.strides.n ? a.strides.at[i] : 1;
        begin[i] = slice_start(c, a.begin.at[i], extent, step);
        end[i] = slice_end(c, a.end.at[i], extent, step);
    }
    a.begin = (tn_dims){a.begin.n, begin};
    a.end = (tn_dims){a.begin.n, end};
    a.strides = limited_steps(c, a.strides);
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &a, x));
}

/* An experimental operator, which became Slice of opset 10. */
static void dynamic_slice(imp_node *c)
{
    c->version = 10;
    slice(c);
}

/* Sizes of the parts as they are given; absent: none are. */
static tn_dims given_sizes(imp_node *c)
{
    tn_ints size;
    if (c->version >= 13 && imp_has(c, 1)) {
        tn_value v = imp_in(c, 1);
        if (v.def && imp_rank(v) == 1 && imp_length(v) < 0) /* as many as there are outputs */
            (void)imp_with_extent(c, &v, 0, tn_idx(c->pool, (int64_t)c->n_out));
        return imp_extents_in(c, v, "split");
    }
    if (c->version >= 13)
        return (tn_dims){0};
    bool given = imp_attr_ints(c, "split", &size);
    if (!given && c->version < 2 && imp_has(c, 1)) { /* of the type of the data */
        size = imp_whole_in(c, imp_in(c, 1), "split");
        given = !c->bad;
    }
    return given ? tn_make_dims(c->g, size.n, size.at) : (tn_dims){0};
}

/* What the run checks of a symbolic extent: it is the sum of the sizes. */
static void require_sum(imp_node *c, tn_value x, int axis, const tn_expr *sum)
{
    const tn_expr *extent = imp_type(x)->dim[axis];
    int64_t all, last;
    if (tn_is_int(extent, &all) && tn_is_int(sum, &last)) {
        if (all != last)
            imp_fail(
                c, "onnx-E009",
                "the parts have %lld elements, but axis %d of the operand has %lld; the model is damaged",
                (long long)last, axis, (long long)all);
        return;
    }
    tn_bind_extent_attr same = {.extent = tn_dims_make(c->arena, 1, &sum)};
    if (imp_simplify(c, tn_sub(c->pool, sum, extent)) != tn_idx(c->pool, 0))
        (void)imp_call1(c, &tn_op_bind_extent, &same, imp_extent_of(c, x, axis));
}

/* Where the parts end: after their sizes, or equal ones but for a smaller last one. */
static const tn_expr **split_ends(imp_node *c, const tn_expr *extent, tn_dims given)
{
    tn_pool *p = c->pool;
    int64_t n = (int64_t)c->n_out, size;
    int64_t parts = given.at || c->version < 18 ? n : imp_attr_int(c, "num_outputs", n);
    const tn_expr **end = TN_NEW_N(c->arena, const tn_expr *, (size_t)n), *at = tn_idx(p, 0);
    if (parts != n)
        imp_fail(c, "onnx-E009", "num_outputs is %lld, but the node has %lld outputs; the model is damaged",
                 (long long)parts, (long long)n);
    if (given.at && given.n != n)
        imp_fail(c, "onnx-E009", "split has %u entries for %zu outputs; the model is damaged",
                 (unsigned)given.n, c->n_out);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        const tn_expr *each = given.at ? given.at[i] : tn_ceildiv(p, extent, n);
        if (tn_is_int(each, &size) && (size < 0 || size > INT32_MAX))
            imp_fail(c, "onnx-E009", "split[%u] is %lld; the model is damaged", (unsigned)i, (long long)size);
        at = imp_simplify(c, tn_add(p, at, each));
        end[i] = given.at ? at : imp_simplify(c, tn_min(p, at, extent));
    }
    return end;
}

static void split(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    if (c->bad || c->n_out < 1 || c->n_out > UINT16_MAX)
        return;
    tn_dims given = given_sizes(c);
    const tn_expr *extent = imp_type(x)->dim[axis], *begin = tn_idx(c->pool, 0),
                  **end = split_ends(c, extent, given);
    if (!c->bad)
        require_sum(c, x, axis, end[c->n_out - 1]);
    for (size_t i = 0; i < c->n_out && !c->bad; begin = end[i++]) {
        tn_value part = slice_axis(c, x, axis, begin, end[i]);
        if (given.at && given.at[i]->kind == TN_E_SYM) /* not cut short: its own extent, which may be 1 */
            (void)imp_with_extent(c, &part, axis, given.at[i]);
        imp_out(c, (uint32_t)i, part);
    }
}

/* ---- Pad ---- */

/* The value to pad with: an attribute if it is constant and a double can say it, else the second operand. */
static tn_value pad_value(imp_node *c, tn_value x, double *value)
{
    const double exact = 9007199254740992.0; /* integers up to here are doubles */
    tn_dtype t = imp_type(x)->dtype;
    if (c->version < 11) {
        *value = imp_attr_float(c, "value", 0);
        return (tn_value){0};
    }
    tn_value v = imp_opt(c, 2);
    if (!v.def)
        return v;
    if (!tn_dtype_is_bool(t) && imp_scalar(c, v, value) && *value <= exact && *value >= -exact)
        return (tn_value){0};
    *value = 0;
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

/* Positions before and after each axis: width[2 * axis], width[2 * axis + 1]. */
static void pad_widths(imp_node *c, int rank, const tn_expr *width[])
{
    tn_ints given = {0}, axes = {0};
    tn_dims pads = {0};
    bool some = imp_has(c, 3);
    if (c->version >= 11)
        pads = imp_host_in(c, imp_in(c, 1), "pads");
    else if ((c->version < 2 && imp_attr_ints(c, "paddings", &given)) || imp_attr_ints(c, "pads", &given))
        pads = tn_make_dims(c->g, given.n, given.at); /* exporters wrote the later name before it was one */
    else
        imp_fail(c, "onnx-E007", "pads are missing; the model is damaged");
    for (int i = 0; i < 2 * rank; i++)
        width[i] = tn_idx(c->pool, 0);
    if (some)
        axes = imp_ints_in(c, imp_in(c, 3), "axes");
    uint32_t n = some ? axes.n : (uint32_t)rank;
    if (pads.n != 2 * n || n > IMP_MAX_RANK)
        imp_fail(c, "onnx-E009", "there are %u pads for %u axes; the model is damaged", (unsigned)pads.n,
                 (unsigned)n);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        int axis = imp_axis(c, some ? axes.at[i] : i, rank);
        width[2 * axis] = pads.at[i];
        width[2 * axis + 1] = pads.at[n + i];
    }
}

/* Row k of the pads, before or after, for each dimension of x. */
static tn_value late_widths(imp_node *c, tn_value x, int k)
{
    tn_value pads = imp_cast(c, imp_in(c, 1), TN_I64), axes = imp_opt(c, 3);
    int rank = imp_rank(x);
    const tn_expr *const dim[2] = {
        tn_idx(c->pool, 2), axes.def && imp_rank(axes) == 1 ? imp_type(axes)->dim[0] : tn_idx(c->pool, rank)};
    if (c->bad)
        return pads;
    tn_value row = imp_reshape_to(c, pads, &(tn_reshape_attr){tn_dims_make(c->arena, 2, dim), true});
    row = imp_squeeze(c, imp_slice(c, row, 0, k, k + 1), 0);
    if (!axes.def)
        return row;
    tn_value at = imp_positions_of(c, axes, rank);
    return imp_placed(c, at, row, rank, imp_i64(c, 0));
}

/* Pads that only the run knows. */
static void late_pad(imp_node *c, const tn_value in[2], double value, const char *mode)
{
    tn_value x = in[0], shape = imp_shape_of(c, x), zero = imp_i64(c, 0);
    tn_value before = late_widths(c, x, 0), after = late_widths(c, x, 1);
    tn_value extent = imp_binary(c, &tn_op_add, shape, imp_binary(c, &tn_op_add, before, after));
    if (mode[0] != 'c') { /* there is something to go on with, or nothing to fill */
        tn_value none = imp_binary(c, &tn_op_equal, shape, zero);
        tn_value wanted = imp_reduce(c, &tn_op_max, imp_choose(c, none, extent, zero), 0);
        imp_demand(c, wanted, 0, "there are no elements to pad with");
    }
    tn_dyn_pad_attr a = {imp_bind(c, extent, NULL), value, mode};
    const tn_value operand[3] = {x, before, in[1]};
    imp_out(c, 0, imp_call(c, &tn_op_dyn_pad, &a, in[1].def ? 3 : 2, operand));
}

static void pad(imp_node *c)
{
    tn_value in[2] = {imp_in(c, 0)};
    tn_dims known;
    int rank = imp_rank(in[0]);
    const char *mode = imp_attr_string(c, "mode", "constant");
    const tn_expr *width[2 * IMP_MAX_RANK];
    double value = 0;
    bool late = c->version >= 11 && rank > 0 && (!imp_host(c, imp_in(c, 1), &known) || imp_is_late(c, 3));
    if (!late)
        pad_widths(c, rank, width);
    if (c->version < 11)
        imp_attr_ignore(c, "value"); /* of constants alone */
    if (strcmp(mode, "constant") == 0)
        in[1] = pad_value(c, in[0], &value);
    else if (strcmp(mode, "reflect") != 0 && strcmp(mode, "edge") != 0 && strcmp(mode, "wrap") != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\"; constant, reflect, edge and wrap are known", mode);
    if (late) {
        late_pad(c, in, value, mode);
        return;
    }
    tn_pad_attr a = {tn_dims_make(c->arena, 2 * (uint32_t)rank, width), value, mode};
    imp_out(c, 0, rank && !c->bad ? imp_call(c, &tn_op_nn_pad, &a, in[1].def ? 2 : 1, in) : in[0]);
}

/* ---- Expand: where the shape says 1 the operand's dimension stays ---- */

static void expand(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    if (!onnx_fix_length(c, 1, 0, IMP_MAX_RANK))
        return;
    if (imp_is_late(c, 1) && imp_length(imp_in(c, 1)) == 0) {
        imp_out(c, 0, x);
        return;
    }
    if (imp_dynamic_expand(c, x, imp_in(c, 1)))
        return;
    tn_dims shape = imp_host_in(c, imp_in(c, 1), "the shape");
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK];
    int rank = (int)shape.n > t->n ? (int)shape.n : t->n;
    if (rank > IMP_MAX_RANK)
        imp_fail(c, "onnx-E022", "the shape has %d dimensions; at most %d are supported", rank, IMP_MAX_RANK);
    for (int i = 0; i < rank && !c->bad; i++) {
        int from = i - (rank - t->n), to = i - (rank - (int)shape.n);
        dim[i] = to < 0 || (from >= 0 && tn_is_value(shape.at[to], 1)) ? t->dim[from] : shape.at[to];
    }
    if (c->bad)
        return;
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)rank, dim)};
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

// clang-format off
const imp_row onnx_rows_move[] = {
    {"Identity",   1,  0,  1,  1, identity,  NULL},
    {"Transpose",  1,  0,  1,  1, transpose, NULL},
    {"Concat",     1,  0, -1,  1, concat,    NULL},
    {"Slice",      1,  9,  1,  1, slice,     NULL},
    {"Slice",     10,  0,  5,  1, slice,     NULL},
    {"DynamicSlice", 1, 0, 4,  1, dynamic_slice, NULL},
    {"Split",      1,  1,  2, -1, split,     NULL},
    {"Split",      2, 12,  1, -1, split,     NULL},
    {"Split",     13,  0,  2, -1, split,     NULL},
    {"Pad",        1, 10,  1,  1, pad,       NULL},
    {"Pad",       11,  0,  4,  1, pad,       NULL},
    {"Expand",     8,  0,  2,  1, expand,    NULL},
    {0},
};
// clang-format on
