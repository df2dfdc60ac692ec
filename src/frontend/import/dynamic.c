/* Extents that only the run knows: what they are is worked out by operators on small integer tensors, then
 * bound to symbols, which the types of the results name. Target shapes that the model computes while it runs:
 * reshape, expand, slice. */
#include "frontend/import/convert.h"

#include "op/control/control.h"

/* ---- on small integer tensors ---- */

tn_value imp_i64(imp_node *c, int64_t v) { return imp_const_ints(c, TN_I64, 0, 1, &v); }

static tn_value ints(imp_node *c, uint32_t n, const int64_t v[])
{
    return imp_const_ints(c, TN_I64, 1, n, v);
}

tn_value imp_reduce(imp_node *c, const tn_op *op, tn_value v, int axis)
{
    int64_t at = axis;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &at), false, false};
    return imp_call1(c, op, &a, v);
}

tn_value imp_choose(imp_node *c, tn_value condition, tn_value a, tn_value b)
{
    return imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){condition, a, b});
}

static tn_value joined(imp_node *c, tn_value a, tn_value b)
{
    tn_axis_attr axis = {0};
    return imp_call2(c, &tn_op_concatenate, &axis, a, b);
}

tn_value imp_flat(imp_node *c, tn_value v)
{
    const tn_expr *n = imp_product(c, imp_type(v), 0, imp_rank(v));
    return imp_rank(v) == 1 ? v : imp_reshape(c, v, 1, &n);
}

tn_value imp_take(imp_node *c, tn_value v, tn_value at, int axis)
{
    tn_take_attr a = {axis, "clip"};
    return imp_call2(c, &tn_op_take, &a, v, at);
}

/* ---- extents of the run ---- */

tn_value imp_count_up(imp_node *c, const tn_expr *n)
{
    tn_arange_attr a = {tn_dims_make(c->arena, 1, &n)};
    tn_value first = imp_i64(c, 0), step = imp_i64(c, 1);
    return imp_call2(c, &tn_op_arange, &a, first, step);
}

/* The elements of v, of which known[i], if not NULL, says what element i is. */
static tn_dims bind_known(imp_node *c, tn_value v, const tn_expr *const known[])
{
    tn_dims d = {0};
    tn_bind_extent_attr a = {0};
    uint32_t n = imp_rank(v) ? (uint32_t)imp_type(v)->dim[0]->u.i : 1;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, n);
    bool some = false;
    for (uint32_t i = 0; i < n; i++)
        some = some || known[i];
    for (uint32_t i = 0; i < n && some; i++)
        e[i] = known[i] ? known[i] : tn_fresh_symbol(c->g, "u", 0, INT32_MAX);
    a.extent = (tn_dims){some ? n : 0, e};
    tn_value b = imp_call1(c, &tn_op_bind_extent, &a, v);
    if (c->bad || !imp_host(c, b, &d)) {
        c->bad = true;
        return (tn_dims){0};
    }
    return d;
}

tn_dims imp_bind(imp_node *c, tn_value v, const tn_expr *most)
{
    const tn_expr *known[IMP_HOST_MAX] = {0};
    int64_t n = 1;
    if (most && tn_is_value(most, 0))
        return tn_dims_make(c->arena, 1, &most);
    if (c->bad || !v.def || imp_rank(v) > 1 || (imp_rank(v) && !tn_is_int(imp_type(v)->dim[0], &n)) ||
        n > IMP_HOST_MAX) {
        (void)imp_unary(c, &tn_op_bind_extent, v); /* reports what is wrong */
        c->bad = true;
        return (tn_dims){0};
    }
    for (int64_t i = 0; i < n; i++)
        known[i] = imp_element(c, v, i);
    tn_dims d = bind_known(c, v, known);
    for (uint32_t i = 0; i < d.n && most && tn_is_int(most, &n); i++)
        if (d.at[i]->kind == TN_E_SYM && !known[i])
            tn_graph_symbol(c->g, d.at[i]->u.s)->max = n;
    return d;
}

tn_dims imp_extents_in(imp_node *c, tn_value v, const char *what)
{
    tn_dims d;
    const tn_expr *n = v.def ? tn_type_count(c->pool, imp_type(v)) : NULL;
    if (!v.def || imp_host(c, v, &d) || !n || n->kind != TN_E_INT || n->u.i > IMP_MAX_RANK || imp_rank(v) > 1)
        return imp_host_in(c, v, what);
    return n->u.i ? imp_bind(c, v, NULL) : (tn_dims){0};
}

tn_dims imp_sizes_in(imp_node *c, tn_value v, const char *what)
{
    tn_dims d = imp_extents_in(c, v, what);
    for (uint32_t i = 0; i < d.n; i++)
        if (d.at[i]->kind == TN_E_SYM && tn_graph_symbol(c->g, d.at[i]->u.s)->min < 1)
            tn_graph_symbol(c->g, d.at[i]->u.s)->min = 1;
    return d;
}

static const tn_expr *only(imp_node *c, tn_dims d, const char *what)
{
    if (!c->bad && d.n != 1)
        imp_refuse(c, IMP_BAD_VALUE, "%s must be one number, but has %u entries", what, (unsigned)d.n);
    return d.n == 1 ? d.at[0] : tn_idx(c->pool, 1);
}

const tn_expr *imp_extent_in(imp_node *c, tn_value v, const char *what)
{
    return only(c, imp_extents_in(c, v, what), what);
}

const tn_expr *imp_size_in(imp_node *c, tn_value v, const char *what)
{
    return only(c, imp_sizes_in(c, v, what), what);
}

/* Extent d of x, as a number of the run. */
tn_value imp_extent_of(imp_node *c, tn_value x, int d)
{
    int64_t from = d, to = d + 1;
    tn_cast_attr t = {TN_I64};
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to), {0}, {0}};
    tn_value v = imp_call1(c, &tn_op_strided_slice, &a, imp_call1(c, &tn_op_shape_of, &t, x));
    return c->bad ? v : imp_reshape(c, v, 0, NULL);
}

/* Positions where a list of bools holds. */
tn_value imp_positions(imp_node *c, tn_value condition)
{
    tn_value count = imp_reduce(c, &tn_op_sum, imp_cast(c, condition, TN_I64), 0);
    tn_dims n = imp_bind(c, count, imp_type(condition)->dim ? imp_type(condition)->dim[0] : NULL);
    tn_extent_attr a = {n};
    return c->bad ? (tn_value){0} : imp_call1(c, &tn_op_where_true, &a, condition);
}

tn_value imp_shape_of(imp_node *c, tn_value x)
{
    tn_cast_attr t = {TN_I64};
    return imp_call1(c, &tn_op_shape_of, &t, x);
}

/* ---- target shapes computed while the model runs ---- */

/* Element i of a list, if it is known to be a number above `least`; else NULL. */
static const tn_expr *number_above(imp_node *c, tn_value list, uint32_t i, int64_t least)
{
    int64_t n;
    const tn_expr *e = imp_element(c, list, i);
    return e && tn_is_int(e, &n) && n > least ? e : NULL;
}

static bool unknown(imp_node *c, tn_value v)
{
    tn_dims d;
    const tn_expr *n = v.def ? tn_type_count(c->pool, imp_type(v)) : NULL;
    return n && n->kind == TN_E_INT && n->u.i <= IMP_MAX_RANK && imp_rank(v) <= 1 && !imp_host(c, v, &d);
}

/* How many entries a list has; 1 for a scalar. Reported, and 0, where only the run knows. */
static uint32_t length(imp_node *c, tn_value v)
{
    int64_t n = imp_length(v);
    if (n < 0 && !c->bad)
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "the number of entries of %s is known only in the run; give it a fixed length",
                   imp_type_text(c, imp_type(v)));
    return n < 0 ? 0 : (uint32_t)n;
}

static tn_value ones(imp_node *c, uint32_t n)
{
    int64_t one[IMP_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    return ints(c, n, one);
}

static tn_value part(imp_node *c, tn_value v, int64_t from, int64_t to)
{
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to), {0}, {0}};
    return imp_call1(c, &tn_op_strided_slice, &a, v);
}

/* v brought to n elements: ones in front, or the first n. */
static tn_value fitted(imp_node *c, tn_value v, uint32_t n, bool front)
{
    uint32_t have = length(c, v);
    if (have > n)
        return part(c, v, 0, n);
    if (have == n)
        return v;
    return front ? joined(c, ones(c, n - have), v) : joined(c, v, ones(c, n - have));
}

bool imp_with_extent(imp_node *c, tn_value *v, int axis, const tn_expr *n)
{
    const tn_type *t = imp_type(*v);
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad)
        return true;
    const tn_expr *same = imp_simplify(c, tn_eq(c->pool, n, t->dim[axis]));
    if (tn_is_value(same, 0) || tn_is_value(same, 1))
        return tn_is_value(same, 1);
    for (int d = 0; d < t->n; d++)
        dim[d] = d == axis ? n : t->dim[d];
    tn_match_shape_attr a = {tn_dims_make(c->g->arena, t->n, dim)};
    *v = imp_call1(c, &tn_op_match_shape, &a, *v);
    return true;
}

/* x in another shape, where the run finds as many elements. */
tn_value imp_checked_reshape(imp_node *c, tn_value x, tn_dims d)
{
    const tn_type *to = tn_type_tensor(c->pool, imp_type(x)->dtype, (int)d.n, d.at, NULL);
    const tn_expr *count = imp_product(c, to, 0, to->n);
    tn_bind_extent_attr same = {.extent = tn_dims_make(c->arena, 1, &count)};
    tn_extent_attr a = {d};
    tn_value had = imp_rank(x) ? imp_reduce(c, &tn_op_prod, imp_shape_of(c, x), 0) : imp_i64(c, 1);
    (void)imp_call1(c, &tn_op_bind_extent, &same, had);
    return imp_call1(c, &tn_op_dyn_reshape, &a, x);
}

tn_value imp_reshape_to(imp_node *c, tn_value x, const tn_reshape_attr *a)
{
    tn_dims d;
    if (c->bad || !x.def || tn_reshape_known(c->g, c->im->r, x, a, c->loc, &d))
        return imp_call1(c, &tn_op_reshape, a, x);
    return imp_checked_reshape(c, x, d);
}

bool imp_dynamic_reshape(imp_node *c, tn_value x, tn_value shape, bool allow_zero)
{
    if (c->bad || !x.def || !unknown(c, shape) || imp_rank(shape) != 1)
        return false;
    uint32_t n = length(c, shape);
    if (c->bad)
        return true;
    tn_value target = imp_cast(c, shape, TN_I64), zero = imp_i64(c, 0), rest = imp_i64(c, -1);
    tn_value had = imp_rank(x) ? imp_shape_of(c, x) : ones(c, 1);
    if (!allow_zero) {
        tn_value kept = imp_binary(c, &tn_op_equal, target, zero), extents = fitted(c, had, n, false);
        target = imp_choose(c, kept, extents, target);
    }
    tn_value open = imp_binary(c, &tn_op_equal, target, rest);
    tn_value all = imp_reduce(c, &tn_op_prod, had, 0), one = imp_i64(c, 1),
             fixed = imp_reduce(c, &tn_op_prod, imp_choose(c, open, one, target), 0);
    fixed = imp_choose(c, imp_binary(c, &tn_op_equal, fixed, zero), one, fixed);
    target = imp_choose(c, open, imp_binary(c, &tn_op_divide, all, fixed), target);
    const tn_expr *known[IMP_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        known[i] = number_above(c, shape, i, 0);
    tn_dims d = c->bad ? (tn_dims){0} : bind_known(c, target, known);
    imp_out(c, 0, c->bad ? x : imp_checked_reshape(c, x, d));
    return true;
}

bool imp_dynamic_expand(imp_node *c, tn_value x, tn_value shape)
{
    if (c->bad || !x.def || !unknown(c, shape) || imp_rank(shape) != 1)
        return false;
    uint32_t n = length(c, shape), rank = (uint32_t)imp_rank(x), most = n > rank ? n : rank;
    if (c->bad)
        return true;
    if (most > IMP_MAX_RANK)
        return false;
    tn_value target = fitted(c, imp_cast(c, shape, TN_I64), most, true);
    tn_value had = fitted(c, rank ? imp_shape_of(c, x) : ones(c, most), most, true);
    target = imp_choose(c, imp_binary(c, &tn_op_equal, target, imp_i64(c, 1)), had, target);
    const tn_expr *known[IMP_MAX_RANK] = {0};
    for (uint32_t i = 0; i < n; i++)
        known[most - n + i] = number_above(c, shape, i, 1);
    tn_dims d = c->bad ? (tn_dims){0} : bind_known(c, target, known);
    tn_value free = imp_with(c, &tn_op_equal, had, 1), differs = imp_binary(c, &tn_op_subtract, target, had);
    tn_value fits = imp_choose(c, free, imp_i64(c, 0), differs);
    const tn_expr *none[IMP_MAX_RANK]; /* a dimension is 1 or stays */
    for (uint32_t i = 0; i < most; i++)
        none[i] = tn_idx(c->pool, 0);
    tn_bind_extent_attr zero = {.extent = tn_dims_make(c->arena, most, none)};
    (void)imp_call1(c, &tn_op_bind_extent, &zero, fits);
    tn_extent_attr a = {d};
    imp_out(c, 0, c->bad ? (tn_value){0} : imp_call1(c, &tn_op_dyn_broadcast_to, &a, x));
    return true;
}

static tn_value peeled(tn_value v)
{
    while (v.def && v.def->nin == 1 && ((v.def->op->flags & TN_OP_SHARES) || tn_op_is(v.def, &tn_op_cast)))
        v = tn_in(v.def, 0);
    return v;
}

/* x[i : i + n], the usual way to take what belongs to an iteration: n, if that is what it is, else 0. */
static int64_t fixed_length(imp_node *c, tn_value start, tn_value end)
{
    double n;
    start = peeled(start);
    end = peeled(end);
    for (int k = 0; k < 2 && end.def && tn_op_is(end.def, &tn_op_add); k++)
        if (tn_value_eq(peeled(tn_in(end.def, k)), start) &&
            imp_scalar(c, peeled(tn_in(end.def, 1 - k)), &n) && n > 0)
            return (int64_t)n;
    return 0;
}

/* The operands of a slice for all dimensions of x, where axes are computed during the run, too. */
static void of_all_axes(imp_node *c, tn_value x, tn_value axes, tn_value v[3])
{
    static const int64_t rest[3] = {0, INT32_MAX, 1};
    int rank = imp_rank(x);
    tn_value at = imp_positions_of(c, axes, rank);
    for (int k = 0; k < 3; k++)
        if (v[k].def) {
            tn_value given = imp_cast(c, v[k], TN_I64);
            v[k] = imp_placed(c, at, given, rank, imp_i64(c, rest[k]));
        }
}

/* How many steps lead from edge[0] to edge[1], at least 0; `back`: where they are negative. */
static tn_value steps_between(imp_node *c, const tn_value edge[2], tn_value back, tn_value steps)
{
    tn_value way = imp_binary(c, &tn_op_subtract, edge[1], edge[0]);
    tn_value pace = imp_choose(c, back, imp_unary(c, &tn_op_negative, steps), steps);
    way = imp_choose(c, back, imp_unary(c, &tn_op_negative, way), way);
    tn_value count =
        imp_binary(c, &tn_op_divide,
                   imp_binary(c, &tn_op_add, way, imp_binary(c, &tn_op_subtract, pace, imp_i64(c, 1))), pace);
    return imp_binary(c, &tn_op_maximum, count, imp_i64(c, 0));
}

/* An operand of a slice whose entries, or their number, only the run knows. */
static bool late_bound(imp_node *c, tn_value v)
{
    return unknown(c, v) || (v.def && imp_rank(v) == 1 && imp_length(v) < 0);
}

/* Starts, ends and steps have as many entries as the axes, or as one of them: the run checks what is not known. */
static uint32_t slice_entries(imp_node *c, tn_value v[3], tn_value axes)
{
    const tn_value of[4] = {axes, v[0], v[1], v[2]};
    int64_t n = -1;
    for (int i = 0; i < 4 && n < 0; i++)
        n = of[i].def ? imp_length(of[i]) : -1;
    if (n < 0)
        return length(c, v[0]);
    for (int i = 0; i < 3; i++)
        if (v[i].def && imp_length(v[i]) < 0 && !imp_with_extent(c, &v[i], 0, tn_idx(c->pool, n)) && !c->bad)
            imp_refuse(c, IMP_BAD_VALUE, "starts, ends and steps must have %lld entries", (long long)n);
    return (uint32_t)n;
}

/* No dimension is as long as the largest step here, so a larger one leads as far. */
static tn_value limited_steps(imp_node *c, tn_value steps)
{
    steps = imp_cast(c, steps, TN_I64);
    if (!unknown(c, steps))
        return steps;
    steps = imp_binary(c, &tn_op_maximum, steps, imp_i64(c, -INT32_MAX));
    return imp_binary(c, &tn_op_minimum, steps, imp_i64(c, INT32_MAX));
}

/* NumPy's rules, in tensors: negative positions count from the end, then everything is clipped. */
bool imp_dynamic_slice(imp_node *c, tn_value x, tn_value start, tn_value end, tn_value axes, tn_value steps)
{
    uint32_t rank = (uint32_t)imp_rank(x);
    if (c->bad || !x.def)
        return false;
    if (axes.def && !imp_is_known(c, axes)) {
        tn_value v[3] = {start, end, steps};
        of_all_axes(c, x, axes, v);
        start = v[0];
        end = v[1];
        steps = v[2];
        axes = (tn_value){0};
    } else if (!late_bound(c, start) && !late_bound(c, end) && !late_bound(c, steps)) {
        return false;
    }
    if (c->bad)
        return true;
    tn_value given[3] = {start, end, steps};
    uint32_t n = slice_entries(c, given, axes);
    start = given[0];
    end = given[1];
    steps = given[2];
    if (!c->bad && n > rank)
        imp_refuse(c, IMP_BAD_VALUE, "starts has more entries than the operand has dimensions");
    if (c->bad)
        return true;
    tn_ints at = axes.def ? imp_ints_in(c, axes, "axes") : (tn_ints){0};
    tn_value one = ones(c, n), shape = imp_shape_of(c, x), zero = imp_i64(c, 0);
    steps = steps.def ? limited_steps(c, steps) : one;
    int64_t axis[IMP_MAX_RANK], which[IMP_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        axis[i] = axes.def && i < at.n ? imp_axis(c, at.at[i], (int)rank) : (int64_t)i;
    if (c->bad)
        return true;
    tn_value extent = imp_take(c, shape, ints(c, n, axis), 0);
    tn_value last = imp_binary(c, &tn_op_subtract, extent, imp_i64(c, 1));
    tn_value back = imp_binary(c, &tn_op_less, steps, zero);
    tn_value low[2] = {zero, imp_choose(c, back, imp_i64(c, -1), zero)},
             high = imp_choose(c, back, last, extent), edge[2] = {start, end};
    for (int k = 0; k < 2; k++) {
        tn_value v = imp_cast(c, edge[k], TN_I64);
        v = imp_rank(v) ? v : imp_unsqueeze(c, v, 0);
        tn_value from_end = imp_binary(c, &tn_op_less, v, zero);
        v = imp_choose(c, from_end, imp_binary(c, &tn_op_add, v, extent), v);
        edge[k] = imp_binary(c, &tn_op_minimum, imp_binary(c, &tn_op_maximum, v, low[k]), high);
    }
    tn_value count = steps_between(c, edge, back, steps);
    int64_t whole = n == 1 && steps.def == one.def ? fixed_length(c, start, end) : 0;
    tn_dims bound = {0};
    if (whole) { /* the run checks that it is not cut short */
        const tn_expr *length = tn_idx(c->pool, whole);
        tn_bind_extent_attr same = {.extent = tn_dims_make(c->arena, 1, &length)};
        (void)imp_call1(c, &tn_op_bind_extent, &same, count);
        bound = same.extent;
    } else {
        bound = imp_bind(c, count, NULL);
    }
    if (c->bad)
        return true;
    const tn_expr *dim[IMP_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dim[i] = imp_type(x)->dim[i];
        which[i] = n; /* a dimension that is not sliced begins at 0, by 1 */
        for (uint32_t k = 0; k < n; k++)
            if (axis[k] == i) {
                dim[i] = bound.at[k];
                which[i] = k;
            }
    }
    tn_value pick = ints(c, rank, which);
    tn_value in[3] = {x, imp_take(c, joined(c, edge[0], ints(c, 1, (int64_t[]){0})), pick, 0),
                      imp_take(c, joined(c, steps, ints(c, 1, (int64_t[]){1})), pick, 0)};
    tn_extent_attr a = {tn_dims_make(c->arena, rank, dim)};
    imp_out(c, 0, imp_call(c, &tn_op_dyn_strided_slice, &a, 3, in));
    return true;
}

/* ---- shapes that are broadcast ---- */

/* As the elements of both are known; false: they are not, or refused. */
static bool broadcast_known(imp_node *c, tn_value a, tn_value b, tn_dims *out)
{
    tn_dims x, y;
    if (!imp_host(c, a, &x) || !imp_host(c, b, &y))
        return false;
    uint32_t n = x.n > y.n ? x.n : y.n;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, n + 1), *one = tn_idx(c->pool, 1);
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        const tn_expr *u = i + x.n < n ? one : x.at[i + x.n - n], *v = i + y.n < n ? one : y.at[i + y.n - n];
        e[i] = tn_broadcast_extent(c->g, c->im->r, c->loc, u, v);
        if (!e[i])
            imp_refuse(c, IMP_OPERANDS, "its operands are shapes that do not broadcast: dimension %u differs",
                       (unsigned)i);
    }
    *out = (tn_dims){n, e};
    return !c->bad;
}

static tn_value broadcast_late(imp_node *c, tn_value a, tn_value b)
{
    tn_value v[2] = {a, b};
    int64_t n[2] = {imp_length(a), imp_length(b)}, most = n[0] > n[1] ? n[0] : n[1];
    for (int i = 0; i < 2 && !c->bad; i++) {
        const tn_expr *width[2] = {tn_idx(c->pool, most - n[i]), tn_idx(c->pool, 0)};
        tn_pad_attr p = {
            .pad_width = tn_dims_make(c->arena, 2, width), .pad_value = 1, .pad_mode = "constant"};
        v[i] = imp_call1(c, &tn_op_nn_pad, &p, v[i]);
    }
    return imp_choose(c, imp_with(c, &tn_op_equal, v[0], 1), v[1], v[0]);
}

tn_value imp_broadcast_shape(imp_node *c, tn_value a, tn_value b)
{
    tn_dims d = {0};
    bool known = !c->bad && broadcast_known(c, a, b, &d), numbers = known;
    int64_t *v = TN_NEW_N(c->arena, int64_t, d.n + 1);
    for (uint32_t i = 0; i < d.n; i++)
        numbers = numbers && tn_is_int(d.at[i], &v[i]);
    if (numbers)
        return imp_const_ints(c, imp_type(a)->dtype, 1, d.n, v);
    tn_value y = c->bad ? a : broadcast_late(c, a, b);
    if (known && !c->bad)
        imp_set_host(c, y, d);
    return y;
}
