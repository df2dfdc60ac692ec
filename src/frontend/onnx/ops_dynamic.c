/* Operators whose extents depend on data: NonZero, Compress, Unique, NonMaxSuppression; and target shapes that the
 * model computes while it runs (Reshape, Expand, Slice, Range). What they are is worked out by operators on small
 * integer tensors, then bound to symbols, which the types of the results name. */
#include "frontend/onnx/onnx.h"

#include "op/control/control.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

#include <string.h>

/* ---- helpers ---- */

static tn_value i64(onnx_conv *c, int64_t v) { return onnx_const_ints(c, TN_I64, 0, 1, &v); }

static tn_value ints(onnx_conv *c, uint32_t n, const int64_t v[])
{
    return onnx_const_ints(c, TN_I64, 1, n, v);
}

static tn_value reduce(onnx_conv *c, const tn_op *op, tn_value v, int axis)
{
    int64_t at = axis;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &at), false, false};
    return onnx_call1(c, op, &a, v);
}

static tn_value choose(onnx_conv *c, tn_value condition, tn_value a, tn_value b)
{
    return onnx_call(c, &tn_op_where, NULL, 3, (const tn_value[]){condition, a, b});
}

static tn_value joined(onnx_conv *c, tn_value a, tn_value b)
{
    tn_axis_attr axis = {0};
    return onnx_call2(c, &tn_op_concatenate, &axis, a, b);
}

static tn_value flat(onnx_conv *c, tn_value v)
{
    const tn_expr *n = onnx_product(c, onnx_type(v), 0, onnx_rank(v));
    return onnx_rank(v) == 1 ? v : onnx_reshape(c, v, 1, &n);
}

static tn_value expand(onnx_conv *c, tn_value v, int axis)
{
    tn_expand_dims_attr a = {axis, 1};
    return onnx_call1(c, &tn_op_expand_dims, &a, v);
}

static tn_value take(onnx_conv *c, tn_value v, tn_value at, int axis)
{
    tn_take_attr a = {axis, "clip"};
    return onnx_call2(c, &tn_op_take, &a, v, at);
}

tn_value onnx_count_up(onnx_conv *c, const tn_expr *n)
{
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &n)};
    return onnx_call2(c, &tn_op_arange, &a, i64(c, 0), i64(c, 1));
}

tn_dims onnx_bind(onnx_conv *c, tn_value v, const tn_expr *most)
{
    tn_dims d = {0};
    int64_t n;
    if (most && tn_is_value(most, 0))
        return tn_dims_make(c->arena, 1, &most);
    tn_value b = onnx_call1(c, &tn_op_bind_extent, NULL, v);
    if (c->bad || !onnx_host(c, b, &d)) {
        c->bad = true;
        return (tn_dims){0};
    }
    for (uint32_t i = 0; i < d.n && most && tn_is_int(most, &n); i++)
        if (d.at[i]->kind == TN_E_SYM)
            tn_graph_symbol(c->g, d.at[i]->u.s)->max = n;
    return d;
}

tn_dims onnx_extents_in(onnx_conv *c, tn_value v, const char *what)
{
    tn_dims d;
    const tn_expr *n = v.def ? tn_type_count(c->pool, onnx_type(v)) : NULL;
    if (!v.def || onnx_host(c, v, &d) || !n || n->kind != TN_E_INT || n->u.i > ONNX_MAX_RANK ||
        onnx_rank(v) > 1)
        return onnx_host_in(c, v, what);
    return n->u.i ? onnx_bind(c, v, NULL) : (tn_dims){0};
}

/* Extent d of x, as a number of the run. */
tn_value onnx_extent_of(onnx_conv *c, tn_value x, int d)
{
    int64_t from = d, to = d + 1;
    tn_cast_attr t = {TN_I64};
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to), {0}, {0}};
    tn_value v = onnx_call1(c, &tn_op_strided_slice, &a, onnx_call1(c, &tn_op_shape_of, &t, x));
    return c->bad ? v : onnx_reshape(c, v, 0, NULL);
}

/* Positions where a list of bools holds. */
static tn_value positions(onnx_conv *c, tn_value condition)
{
    tn_value count = reduce(c, &tn_op_sum, onnx_cast(c, condition, TN_I64), 0);
    tn_dims n = onnx_bind(c, count, onnx_type(condition)->dim ? onnx_type(condition)->dim[0] : NULL);
    tn_extent_attr a = {n};
    return c->bad ? (tn_value){0} : onnx_call1(c, &tn_op_where_true, &a, condition);
}

/* ---- NonZero ---- */

static void nonzero(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0), at, row[ONNX_MAX_RANK];
    const tn_type *t = onnx_type(x);
    int rank = t->n ? t->n : 1;
    if (c->bad)
        return;
    at = positions(c, flat(c, onnx_cast(c, x, TN_BOOL1)));
    for (int d = rank - 1; d >= 0 && !c->bad; d--) { /* the last index runs fastest */
        if (d == 0) {
            row[d] = expand(c, at, 0);
            break;
        }
        const tn_expr *e = t->dim[d];
        int64_t n;
        tn_value extent = tn_is_int(e, &n) ? i64(c, n) : onnx_extent_of(c, x, d);
        tn_value above = onnx_call2(c, &tn_op_divide, NULL, at, extent);
        row[d] = expand(
            c, onnx_call2(c, &tn_op_subtract, NULL, at, onnx_call2(c, &tn_op_multiply, NULL, above, extent)),
            0);
        at = above;
    }
    tn_axis_attr a = {0};
    onnx_out(c, 0, rank == 1 ? row[0] : onnx_call(c, &tn_op_concatenate, &a, rank, row));
}

/* ---- Compress ---- */

/* Conditions beyond the axis count as false. */
static tn_value inside(onnx_conv *c, tn_value condition, tn_value x, int axis)
{
    const tn_expr *n = onnx_type(condition)->dim[0], *extent = onnx_type(x)->dim[axis];
    int64_t given, there, none = 0;
    bool constant = tn_is_int(n, &given) && tn_is_int(extent, &there);
    if (n == extent || (constant && given <= there))
        return condition;
    if (constant) {
        tn_slice_attr front = {tn_make_dims(c->g, 1, &none), tn_make_dims(c->g, 1, &there), {0}, {0}};
        return onnx_call1(c, &tn_op_strided_slice, &front, condition);
    }
    tn_value reach = onnx_call2(c, &tn_op_less, NULL, onnx_count_up(c, n), onnx_extent_of(c, x, axis));
    return onnx_call2(c, &tn_op_logical_and, NULL, condition, reach);
}

static void compress(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0), condition = onnx_in(c, 1);
    bool along = onnx_has_attr(c, "axis");
    int64_t given = onnx_attr_int(c, "axis", 0);
    if (c->bad)
        return;
    x = along ? x : flat(c, x);
    int axis = along ? onnx_axis(c, given, onnx_rank(x)) : 0;
    if (onnx_rank(condition) != 1)
        onnx_fail(c, "onnx-E009", "the condition is %s, but must have one dimension",
                  onnx_type_text(c, onnx_type(condition)));
    if (c->bad)
        return;
    condition = inside(c, onnx_cast(c, condition, TN_BOOL1), x, axis);
    onnx_out(c, 0, take(c, x, positions(c, condition), axis));
}

/* ---- Unique ----
 * The rows (slices along the axis) are sorted, so equal ones stand beside each other, the first of the model
 * first. All in O(n log n) time and O(n) memory. NaN equals NaN and comes last. */

/* Rows of x as (n, m). */
static tn_value rows_of(onnx_conv *c, tn_value x, int axis)
{
    int64_t perm[ONNX_MAX_RANK], k = 0;
    int rank = onnx_rank(x);
    tn_dtype t = onnx_type(x)->dtype;
    perm[k++] = axis;
    for (int i = 0; i < rank; i++)
        if (i != axis)
            perm[k++] = i;
    if (tn_dtype_is_bool(t))
        x = onnx_cast(c, x, TN_U8);
    if (tn_dtype_is_float(t) && t.bits < 32)
        x = onnx_cast(c, x, TN_F32);
    x = axis ? onnx_transpose(c, x, rank, perm) : x;
    const tn_expr *dim[2] = {onnx_type(x)->dim[0], onnx_product(c, onnx_type(x), 1, rank)};
    return c->bad ? x : onnx_reshape(c, x, 2, dim);
}

static tn_value plus(onnx_conv *c, tn_value v, int64_t by)
{
    return onnx_call2(c, &tn_op_add, NULL, v, i64(c, by));
}

/* bool (n): does row i of the sorted rows differ from the one before? */
static tn_value starts_run(onnx_conv *c, tn_value rows, tn_value number)
{
    tn_value before = take(c, rows, plus(c, number, -1), 0),
             differ = onnx_call2(c, &tn_op_not_equal, NULL, rows, before);
    if (tn_dtype_is_float(onnx_type(rows)->dtype)) {
        tn_value one = onnx_call2(c, &tn_op_equal, NULL, rows, rows),
                 other = onnx_call2(c, &tn_op_equal, NULL, before, before);
        differ = onnx_call2(c, &tn_op_logical_and, NULL, differ,
                            onnx_call2(c, &tn_op_logical_or, NULL, one, other));
    }
    tn_value differences =
        reduce(c, &tn_op_sum, onnx_cast(c, differ, TN_I32), 1); /* of a row without elements 0 */
    return onnx_call2(c, &tn_op_logical_or, NULL, onnx_cast(c, differences, TN_BOOL1),
                      onnx_call2(c, &tn_op_equal, NULL, number, i64(c, 0)));
}

/* out[at[i]] = v[i], at being a permutation */
static tn_value permuted(onnx_conv *c, tn_value at, tn_value v)
{
    tn_scatter_attr a = {0, "update"};
    return onnx_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){v, at, v});
}

/* How many hold up to each position, but for the first that does. */
static tn_value rank_of(onnx_conv *c, tn_value condition)
{
    tn_scan_attr a = {0, false, false};
    return plus(c, onnx_call1(c, &tn_op_cumsum, &a, onnx_cast(c, condition, TN_I64)), -1);
}

static void unique(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    bool along = onnx_has_attr(c, "axis"), sorted = onnx_attr_int(c, "sorted", 1) != 0;
    int64_t given = onnx_attr_int(c, "axis", 0);
    if (c->bad)
        return;
    x = along ? x : flat(c, x);
    int axis = along ? onnx_axis(c, given, onnx_rank(x)) : 0;
    tn_value rows = c->bad ? x : rows_of(c, x, axis);
    if (c->bad)
        return;
    tn_value number = onnx_count_up(c, onnx_type(rows)->dim[0]),
             order = onnx_call1(c, &tn_op_sort_rows, NULL, rows);
    tn_value starts = starts_run(c, take(c, rows, order, 0), number),
             run = permuted(c, order, rank_of(c, starts));
    tn_value from = positions(c, starts);
    if (c->bad)
        return;
    tn_value place = onnx_count_up(c, onnx_type(from)->dim[0]), next = take(c, from, plus(c, place, 1), 0);
    tn_value is_last = onnx_call2(c, &tn_op_equal, NULL, next, from), n = onnx_extent_of(c, rows, 0);
    tn_value count = onnx_call2(c, &tn_op_subtract, NULL, choose(c, is_last, n, next), from);
    tn_value index = take(c, order, from, 0), inverse = run;
    if (!sorted) { /* by first appearance */
        tn_value is_first = permuted(c, order, starts), rank = rank_of(c, is_first);
        inverse = take(c, rank, take(c, index, run, 0), 0);
        tn_value back = take(c, rank, index, 0); /* of a run: where it goes */
        index = permuted(c, back, index);
        count = permuted(c, back, count);
    }
    onnx_out(c, 0, take(c, x, index, axis));
    const tn_value rest[3] = {index, inverse, count};
    for (uint32_t i = 1; i < 4 && i < c->node->output.n; i++)
        onnx_out(c, i, rest[i - 1]);
}

/* ---- NonMaxSuppression ---- */

static tn_value scalar_or(onnx_conv *c, uint32_t i, tn_dtype t, double def)
{
    tn_value v = onnx_opt(c, i);
    if (!v.def)
        return onnx_const(c, t, def);
    v = onnx_cast(c, v, t);
    return onnx_rank(v) ? onnx_reshape(c, v, 0, NULL) : v;
}

static void nms(onnx_conv *c)
{
    tn_value boxes = onnx_in(c, 0), scores = onnx_in(c, 1);
    tn_nms_attr a = {onnx_attr_int(c, "center_point_box", 0) != 0};
    if (onnx_rank(scores) != 3)
        onnx_fail(c, "onnx-E009", "the scores are %s, but must have three dimensions",
                  onnx_type_text(c, onnx_type(scores)));
    if (c->bad)
        return;
    tn_value in[5] = {boxes, scores, scalar_or(c, 2, TN_I64, 0), scalar_or(c, 3, TN_F32, 0),
                      scalar_or(c, 4, TN_F32, -3.4028234663852886e38)};
    tn_value chosen = flat(c, onnx_call(c, &tn_op_vision_nms_select, &a, 5, in));
    tn_value at = positions(c, onnx_call2(c, &tn_op_greater_equal, NULL, chosen, i64(c, 0)));
    tn_value n = onnx_extent_of(c, scores, 2), classes = onnx_extent_of(c, scores, 1);
    tn_value pair = onnx_call2(c, &tn_op_divide, NULL, at, n),
             batch = onnx_call2(c, &tn_op_divide, NULL, pair, classes);
    tn_value which =
        onnx_call2(c, &tn_op_subtract, NULL, pair, onnx_call2(c, &tn_op_multiply, NULL, batch, classes));
    const tn_value column[3] = {expand(c, batch, 1), expand(c, which, 1),
                                expand(c, take(c, chosen, at, 0), 1)};
    tn_axis_attr axis = {1};
    onnx_out(c, 0, onnx_call(c, &tn_op_concatenate, &axis, 3, column));
}

/* ---- target shapes computed while the model runs ---- */

static bool unknown(onnx_conv *c, tn_value v)
{
    tn_dims d;
    const tn_expr *n = v.def ? tn_type_count(c->pool, onnx_type(v)) : NULL;
    return n && n->kind == TN_E_INT && n->u.i <= ONNX_MAX_RANK && onnx_rank(v) <= 1 && !onnx_host(c, v, &d);
}

static uint32_t length(tn_value v) { return onnx_rank(v) ? (uint32_t)onnx_type(v)->dim[0]->u.i : 1; }

static tn_value shape_value(onnx_conv *c, tn_value x)
{
    tn_cast_attr t = {TN_I64};
    return onnx_call1(c, &tn_op_shape_of, &t, x);
}

static tn_value ones(onnx_conv *c, uint32_t n)
{
    int64_t one[ONNX_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    return ints(c, n, one);
}

static tn_value part(onnx_conv *c, tn_value v, int64_t from, int64_t to)
{
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to), {0}, {0}};
    return onnx_call1(c, &tn_op_strided_slice, &a, v);
}

/* v brought to n elements: ones in front, or the first n. */
static tn_value fitted(onnx_conv *c, tn_value v, uint32_t n, bool front)
{
    uint32_t have = length(v);
    if (have > n)
        return part(c, v, 0, n);
    if (have == n)
        return v;
    return front ? joined(c, ones(c, n - have), v) : joined(c, v, ones(c, n - have));
}

/* x in another shape, where the run finds as many elements. */
static tn_value checked_reshape(onnx_conv *c, tn_value x, tn_dims d)
{
    const tn_type *to = tn_type_tensor(c->pool, onnx_type(x)->dtype, (int)d.n, d.at, NULL);
    const tn_expr *count = onnx_product(c, to, 0, to->n);
    tn_bind_extent_attr same = {tn_dims_make(c->arena, 1, &count)};
    tn_extent_attr a = {d};
    tn_value had = onnx_rank(x) ? reduce(c, &tn_op_prod, shape_value(c, x), 0) : i64(c, 1);
    (void)onnx_call1(c, &tn_op_bind_extent, &same, had);
    return onnx_call1(c, &tn_op_dyn_reshape, &a, x);
}

tn_value onnx_reshape_to(onnx_conv *c, tn_value x, const tn_reshape_attr *a)
{
    tn_dims d;
    if (c->bad || !x.def || tn_reshape_known(c->g, c->im->r, x, a, c->loc, &d))
        return onnx_call1(c, &tn_op_reshape, a, x);
    return checked_reshape(c, x, d);
}

bool onnx_dynamic_reshape(onnx_conv *c, tn_value x, tn_value shape, bool allow_zero)
{
    if (c->bad || !x.def || !unknown(c, shape) || onnx_rank(shape) != 1)
        return false;
    uint32_t n = length(shape);
    tn_value target = onnx_cast(c, shape, TN_I64), zero = i64(c, 0), rest = i64(c, -1);
    tn_value had = onnx_rank(x) ? shape_value(c, x) : ones(c, 1);
    if (!allow_zero)
        target = choose(c, onnx_call2(c, &tn_op_equal, NULL, target, zero), fitted(c, had, n, false), target);
    tn_value open = onnx_call2(c, &tn_op_equal, NULL, target, rest);
    tn_value all = reduce(c, &tn_op_prod, had, 0),
             fixed = reduce(c, &tn_op_prod, choose(c, open, i64(c, 1), target), 0);
    fixed = choose(c, onnx_call2(c, &tn_op_equal, NULL, fixed, zero), i64(c, 1), fixed);
    target = choose(c, open, onnx_call2(c, &tn_op_divide, NULL, all, fixed), target);
    tn_dims d = onnx_bind(c, target, NULL);
    onnx_out(c, 0, c->bad ? x : checked_reshape(c, x, d));
    return true;
}

bool onnx_dynamic_expand(onnx_conv *c, tn_value x, tn_value shape)
{
    if (c->bad || !x.def || !unknown(c, shape) || onnx_rank(shape) != 1)
        return false;
    uint32_t n = length(shape), rank = (uint32_t)onnx_rank(x), most = n > rank ? n : rank;
    if (most > ONNX_MAX_RANK)
        return false;
    tn_value target = fitted(c, onnx_cast(c, shape, TN_I64), most, true);
    tn_value had = fitted(c, rank ? shape_value(c, x) : ones(c, most), most, true);
    target = choose(c, onnx_call2(c, &tn_op_equal, NULL, target, i64(c, 1)), had, target);
    tn_dims d = onnx_bind(c, target, NULL);
    tn_value fits = choose(c, onnx_call2(c, &tn_op_equal, NULL, had, i64(c, 1)), i64(c, 0),
                           onnx_call2(c, &tn_op_subtract, NULL, target, had));
    const tn_expr *none[ONNX_MAX_RANK]; /* a dimension is 1 or stays */
    for (uint32_t i = 0; i < most; i++)
        none[i] = tn_idx(c->pool, 0);
    tn_bind_extent_attr zero = {tn_dims_make(c->arena, most, none)};
    (void)onnx_call1(c, &tn_op_bind_extent, &zero, fits);
    tn_extent_attr a = {d};
    onnx_out(c, 0, c->bad ? (tn_value){0} : onnx_call1(c, &tn_op_dyn_broadcast_to, &a, x));
    return true;
}

static tn_value peeled(tn_value v)
{
    while (v.def && v.def->nin == 1 && ((v.def->op->flags & TN_OP_SHARES) || tn_op_is(v.def, &tn_op_cast)))
        v = tn_in(v.def, 0);
    return v;
}

/* x[i : i + n], the usual way to take what belongs to an iteration: n, if that is what it is, else 0. */
static int64_t fixed_length(onnx_conv *c, tn_value start, tn_value end)
{
    double n;
    start = peeled(start);
    end = peeled(end);
    for (int k = 0; k < 2 && end.def && tn_op_is(end.def, &tn_op_add); k++)
        if (tn_value_eq(peeled(tn_in(end.def, k)), start) &&
            onnx_scalar(c, peeled(tn_in(end.def, 1 - k)), &n) && n > 0)
            return (int64_t)n;
    return 0;
}

/* numpy's rules, in tensors: negative positions count from the end, then everything is clipped. */
bool onnx_dynamic_slice(onnx_conv *c, tn_value x, tn_value start, tn_value end, tn_value axes, tn_value steps)
{
    tn_dims d;
    uint32_t rank = (uint32_t)onnx_rank(x);
    if (c->bad || !x.def || (!unknown(c, start) && !unknown(c, end) && !(steps.def && unknown(c, steps))) ||
        (axes.def && !onnx_host(c, axes, &d)))
        return false;
    uint32_t n = length(start);
    tn_ints at = axes.def ? onnx_ints_in(c, axes, "axes") : (tn_ints){0};
    tn_value one = ones(c, n), shape = shape_value(c, x), zero = i64(c, 0);
    steps = steps.def ? onnx_cast(c, steps, TN_I64) : one;
    int64_t axis[ONNX_MAX_RANK], which[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < n && n <= rank; i++)
        axis[i] = axes.def && i < at.n ? onnx_axis(c, at.at[i], (int)rank) : (int64_t)i;
    if (c->bad || n > rank)
        return n > rank
                   ? (onnx_fail(c, "onnx-E009", "starts has more entries than the operand has dimensions"),
                      true)
                   : true;
    tn_value extent = take(c, shape, ints(c, n, axis), 0);
    tn_value last = onnx_call2(c, &tn_op_subtract, NULL, extent, i64(c, 1));
    tn_value back = onnx_call2(c, &tn_op_less, NULL, steps, zero);
    tn_value low[2] = {zero, choose(c, back, i64(c, -1), zero)}, high = choose(c, back, last, extent),
             edge[2] = {start, end};
    for (int k = 0; k < 2; k++) {
        tn_value v = onnx_cast(c, edge[k], TN_I64);
        v = onnx_rank(v) ? v : expand(c, v, 0);
        v = choose(c, onnx_call2(c, &tn_op_less, NULL, v, zero), onnx_call2(c, &tn_op_add, NULL, v, extent),
                   v);
        edge[k] = onnx_call2(c, &tn_op_minimum, NULL, onnx_call2(c, &tn_op_maximum, NULL, v, low[k]), high);
    }
    tn_value way = onnx_call2(c, &tn_op_subtract, NULL, edge[1], edge[0]);
    tn_value pace = choose(c, back, onnx_call1(c, &tn_op_negative, NULL, steps), steps);
    way = choose(c, back, onnx_call1(c, &tn_op_negative, NULL, way), way);
    tn_value count = onnx_call2(
        c, &tn_op_divide, NULL,
        onnx_call2(c, &tn_op_add, NULL, way, onnx_call2(c, &tn_op_subtract, NULL, pace, i64(c, 1))), pace);
    count = onnx_call2(c, &tn_op_maximum, NULL, count, zero);
    int64_t whole = n == 1 && steps.def == one.def ? fixed_length(c, start, end) : 0;
    tn_dims bound = {0};
    if (whole) { /* the run checks that it is not cut short */
        const tn_expr *length = tn_idx(c->pool, whole);
        tn_bind_extent_attr same = {tn_dims_make(c->arena, 1, &length)};
        (void)onnx_call1(c, &tn_op_bind_extent, &same, count);
        bound = same.extent;
    } else {
        bound = onnx_bind(c, count, NULL);
    }
    if (c->bad)
        return true;
    const tn_expr *dim[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dim[i] = onnx_type(x)->dim[i];
        which[i] = n; /* a dimension that is not sliced begins at 0, by 1 */
        for (uint32_t k = 0; k < n; k++)
            if (axis[k] == i) {
                dim[i] = bound.at[k];
                which[i] = k;
            }
    }
    tn_value pick = ints(c, rank, which);
    tn_value in[3] = {x, take(c, joined(c, edge[0], ints(c, 1, (int64_t[]){0})), pick, 0),
                      take(c, joined(c, steps, ints(c, 1, (int64_t[]){1})), pick, 0)};
    tn_extent_attr a = {tn_dims_make(c->arena, rank, dim)};
    onnx_out(c, 0, onnx_call(c, &tn_op_dyn_strided_slice, &a, 3, in));
    return true;
}

/* ceil((limit - start) / delta), at least 0. */
const tn_expr *onnx_dynamic_count(onnx_conv *c, const tn_value in[3])
{
    tn_value x[3];
    for (int i = 0; i < 3; i++)
        x[i] = onnx_cast(c, in[i], TN_F64);
    tn_value n = onnx_call2(c, &tn_op_divide, NULL, onnx_call2(c, &tn_op_subtract, NULL, x[1], x[0]), x[2]);
    n = onnx_cast(c, onnx_call1(c, &tn_op_ceil, NULL, n), TN_I64);
    tn_dims d = onnx_bind(c, onnx_call2(c, &tn_op_maximum, NULL, n, i64(c, 0)), NULL);
    return d.n ? d.at[0] : tn_idx(c->pool, 0);
}

// clang-format off
const onnx_row onnx_rows_dynamic[] = {
    {"NonZero",            9, 28, 1, 1, nonzero,  NULL},
    {"Compress",           9, 28, 2, 1, compress, NULL},
    {"Unique",            11, 28, 1, 4, unique,   NULL},
    {"NonMaxSuppression", 10, 28, 5, 1, nms,      NULL},
    {0},
};
// clang-format on
