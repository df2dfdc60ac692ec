/* Shapes and movement: views, permutations, joining and splitting. */
#include "frontend/pytorch/ops.h"

#include "op/signal/signal.h"

#include <string.h>

tn_dims pt_shape(imp_node *c, tn_value v)
{
    return tn_dims_make(c->arena, (uint32_t)imp_rank(v), imp_type(v)->dim);
}

tn_value pt_expand(imp_node *c, tn_value v, tn_dims shape)
{
    tn_broadcast_to_attr a = {shape};
    return imp_call1(c, &tn_op_broadcast_to, &a, v);
}

tn_value pt_full(imp_node *c, tn_dims shape, tn_value v) { return shape.n ? pt_expand(c, v, shape) : v; }

tn_value pt_permute(imp_node *c, tn_value v, int n, const int64_t axis[])
{
    bool same = true;
    for (int i = 0; i < n; i++)
        same = same && axis[i] == i;
    return same ? v : imp_transpose(c, v, n, axis);
}

tn_value pt_swap(imp_node *c, tn_value v, int a, int b)
{
    int64_t axis[IMP_MAX_RANK];
    for (int i = 0; i < imp_rank(v); i++)
        axis[i] = i == a ? b : i == b ? a : i;
    return pt_permute(c, v, imp_rank(v), axis);
}

tn_value pt_select(imp_node *c, tn_value v, int axis, int64_t at)
{
    return imp_squeeze(c, imp_slice(c, v, axis, at, at + 1 ? at + 1 : INT64_MAX), axis);
}

tn_value pt_broadcast_rank(imp_node *c, tn_value v, int rank)
{
    const tn_expr *dim[IMP_MAX_RANK];
    int have = imp_rank(v);
    for (int i = 0; i < rank && rank <= IMP_MAX_RANK; i++)
        dim[i] = i < rank - have ? tn_idx(c->pool, 1) : imp_type(v)->dim[i - (rank - have)];
    return have >= rank || rank > IMP_MAX_RANK ? v : imp_reshape(c, v, rank, dim);
}

/* ---- reshape ---- */

typedef struct division {
    imp_node *c;
    bool by_none; /* perhaps */
} division;

static bool look_at_divisor(const tn_expr *e, void *user)
{
    division *d = user;
    tn_pool *p = d->c->pool;
    if ((e->kind == TN_E_FLOORDIV || e->kind == TN_E_FLOORMOD) &&
        imp_simplify(d->c, tn_max(p, e->src[1], tn_idx(p, 1))) != e->src[1])
        d->by_none = true;
    return true;
}

/* all / rest */
static const tn_expr *left_of(imp_node *c, tn_value x, const tn_expr *all, const tn_expr *rest)
{
    division d = {.c = c};
    const tn_expr *e = imp_simplify(c, tn_fdiv(c->pool, all, rest));
    (void)tn_each(e, look_at_divisor, &d);
    if (d.by_none)
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "the size that is left of %s divides by what may be 0: give the input a fixed shape "
                   "(--input-shapes)",
                   imp_type_text(c, imp_type(x)));
    return e;
}

/* -1 takes what is left. */
static tn_value reshaped(imp_node *c, tn_value x, tn_dims d)
{
    const tn_expr *all = imp_product(c, imp_type(x), 0, imp_rank(x)), *rest = tn_idx(c->pool, 1);
    const tn_expr **to = TN_NEW_N(c->arena, const tn_expr *, d.n);
    int open = -1;
    for (uint32_t i = 0; i < d.n; i++) {
        int64_t v;
        to[i] = d.at[i];
        if (tn_is_int(d.at[i], &v) && v == -1)
            open = (int)i;
        else
            rest = tn_mul(c->pool, rest, d.at[i]);
    }
    if (d.n > IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "the result would have %u dimensions", (unsigned)d.n);
        return (tn_value){0};
    }
    rest = imp_simplify(c, rest);
    if (open >= 0)
        to[open] = tn_is_value(rest, 0) ? rest : left_of(c, x, all, rest);
    tn_reshape_attr a = {tn_dims_make(c->arena, d.n, to), true};
    return imp_reshape_to(c, x, &a);
}

static void view(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    pt_out(c, reshaped(c, first, pt_dims(c, 1)));
}

static void view_as(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    pt_out(c, reshaped(c, first, pt_shape(c, pt_in(c, 1))));
}

static void view_dtype(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t;
    if (!pt_dtype(c, 1, &t))
        return;
    if (pt_of(c)->to == PT_TO_COMPLEX)
        imp_refuse(c, IMP_BAD_VALUE, "a view of complex numbers is not supported");
    pt_out(c, imp_view(c, x, t));
}

static void flatten(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x), from = pt_axis(c, 1, rank), to = pt_axis(c, 2, rank), n = 0;
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad)
        return;
    if (!rank) {
        dim[0] = tn_idx(c->pool, 1);
        pt_out(c, imp_reshape(c, x, 1, dim));
        return;
    }
    for (int d = 0; d < rank; d++) {
        if (d == from) {
            dim[n++] = imp_product(c, imp_type(x), from, to + 1);
            d = to > d ? to : d;
        } else {
            dim[n++] = imp_type(x)->dim[d];
        }
    }
    pt_out(c, n == rank ? x : imp_reshape(c, x, n, dim));
}

static void unflatten(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dims part = pt_dims(c, 2);
    int rank = imp_rank(x), at = pt_axis(c, 1, rank), n = 0;
    const tn_expr *dim[2 * IMP_MAX_RANK];
    if (rank + part.n > IMP_MAX_RANK + 1)
        imp_refuse(c, IMP_BAD_VALUE, "a tensor of %u dimensions is not supported, but of at most %d",
                   (unsigned)rank + part.n - 1, IMP_MAX_RANK);
    if (c->bad)
        return;
    for (int d = 0; d < rank; d++)
        for (uint32_t i = 0; i < (d == at ? part.n : 1); i++)
            dim[n++] = d == at ? part.at[i] : imp_type(x)->dim[d];
    pt_out(c, reshaped(c, x, tn_dims_make(c->arena, (uint32_t)n, dim)));
}

static void ravel(imp_node *c) { pt_out(c, imp_flat(c, pt_in(c, 0))); }

static void unsqueeze(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c, imp_unsqueeze(c, x, imp_axis(c, pt_integer(c, 1), imp_rank(x) + 1)));
}

/* Dimension d of x stays, so in the run it must not be 1: the result had fewer. */
static void keep_in_squeeze(imp_node *c, tn_value x, int d)
{
    const tn_expr *extent = imp_type(x)->dim[d];
    const tn_symbol_info *s = extent->kind == TN_E_SYM ? tn_graph_find_symbol(c->g, extent->u.s) : NULL;
    if (s && s->min > 1)
        return;
    tn_value one = imp_with(c, &tn_op_equal, imp_extent_of(c, x, d), 1);
    imp_demand(c, imp_cast(c, one, TN_I64), 0, "a dimension that squeeze drops where it is 1 is 1");
}

/* Dimensions of 1 among those named are dropped; without names all. */
static void squeeze(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    bool named = c->n_in > 1 && pt_given(c, 1), drop[IMP_MAX_RANK] = {0};
    tn_ints axes = named ? pt_ints(c, 1) : (tn_ints){0};
    int64_t list[IMP_MAX_RANK], n;
    uint32_t k = 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        int d = imp_axis(c, axes.at[i], rank ? rank : 1);
        if (d < rank)
            drop[d] = true;
    }
    for (int d = 0; d < rank && !c->bad; d++)
        if (named && !drop[d])
            continue;
        else if (!tn_is_int(imp_type(x)->dim[d], &n))
            keep_in_squeeze(c, x, d);
        else if (n == 1)
            list[k++] = d;
    tn_squeeze_attr a = {tn_ints_make(c->arena, k, list)};
    pt_out(c, k ? imp_call1(c, &tn_op_squeeze, &a, x) : x);
}

static tn_value expanded(imp_node *c, tn_value x, tn_dims d)
{
    const tn_expr **to = TN_NEW_N(c->arena, const tn_expr *, d.n);
    int rank = imp_rank(x), lead = (int)d.n - rank;
    if (lead < 0 || d.n > IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "%u sizes are given for %d dimensions", (unsigned)d.n, rank);
        return (tn_value){0};
    }
    for (int i = 0; i < (int)d.n; i++)
        to[i] = tn_is_value(d.at[i], -1) && i >= lead ? imp_type(x)->dim[i - lead] : d.at[i];
    return pt_expand(c, x, tn_dims_make(c->arena, d.n, to));
}

static void expand(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    pt_out(c, expanded(c, first, pt_dims(c, 1)));
}

static void expand_as(imp_node *c)
{
    tn_value first = pt_in(c, 0);
    pt_out(c, expanded(c, first, pt_shape(c, pt_in(c, 1))));
}

static void repeat(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_tile_attr a = {pt_dims(c, 1)};
    if ((int)a.reps.n < imp_rank(x)) {
        const tn_expr *dim[IMP_MAX_RANK];
        int lead = imp_rank(x) - (int)a.reps.n;
        for (int i = 0; i < imp_rank(x); i++)
            dim[i] = i < lead ? tn_idx(c->pool, 1) : a.reps.at[i - lead];
        a.reps = tn_dims_make(c->arena, (uint32_t)imp_rank(x), dim);
    }
    x = pt_broadcast_rank(c, x, (int)a.reps.n);
    pt_out(c, imp_call1(c, &tn_op_tile, &a, x));
}

/* Each element `n` times: a new dimension behind, repeated. */
static void repeat_interleave(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int64_t n = pt_integer(c, 1);
    const tn_expr *dim[IMP_MAX_RANK + 1], *to[IMP_MAX_RANK + 1];
    if (!pt_given(c, 2) || !imp_rank(x))
        x = imp_flat(c, x);
    int rank = imp_rank(x), axis = pt_given(c, 2) ? pt_axis(c, 2, rank) : 0;
    if (rank + 1 > IMP_MAX_RANK)
        imp_refuse(c, IMP_BAD_VALUE,
                   "repeating elements of %d dimensions is not supported, but of at most %d", rank,
                   IMP_MAX_RANK - 1);
    if (n < 0)
        imp_refuse(c, IMP_BAD_VALUE, "elements cannot be repeated %lld times", (long long)n);
    if (c->bad)
        return;
    for (int d = 0; d <= rank; d++)
        dim[d] = d <= axis       ? imp_type(x)->dim[d]
                 : d == axis + 1 ? tn_idx(c->pool, n)
                                 : imp_type(x)->dim[d - 1];
    for (int d = 0; d < rank; d++)
        to[d] = d == axis ? imp_simplify(c, tn_mul(c->pool, imp_type(x)->dim[d], tn_idx(c->pool, n)))
                          : imp_type(x)->dim[d];
    tn_value v = pt_expand(c, imp_unsqueeze(c, x, axis + 1), tn_dims_make(c->arena, (uint32_t)rank + 1, dim));
    pt_out(c, imp_reshape(c, v, rank, to));
}

static void repeat_by_tensor(imp_node *c)
{
    pt_out_value(c, pt_call_named(pt_of(c)->p, "repeated_by_tensor", 3, pt_of(c)->arg));
}

/* ---- permutations ---- */

static void permute(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_ints v = pt_ints(c, 1);
    int64_t axis[IMP_MAX_RANK];
    if (!c->bad && (int)v.n != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "%u dimensions are named of %d", (unsigned)v.n, imp_rank(x));
    for (uint32_t i = 0; i < v.n && !c->bad; i++)
        axis[i] = imp_axis(c, v.at[i], (int)v.n);
    pt_out(c, c->bad ? x : pt_permute(c, x, (int)v.n, axis));
}

static void transpose(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x), a = pt_axis(c, 1, rank), b = pt_axis(c, 2, rank);
    pt_out(c, rank ? pt_swap(c, x, a, b) : x);
}

static void transpose_last(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    pt_out(c, rank < 2 ? x : pt_swap(c, x, rank - 2, rank - 1));
}

static void reverse_axes(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int64_t axis[IMP_MAX_RANK];
    for (int i = 0; i < imp_rank(x); i++)
        axis[i] = imp_rank(x) - 1 - i;
    pt_out(c, pt_permute(c, x, imp_rank(x), axis));
}

static void movedim(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    tn_ints from = pt_ints(c, 1), to = pt_ints(c, 2);
    int64_t axis[IMP_MAX_RANK];
    bool used[IMP_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        axis[i] = -1;
    for (uint32_t i = 0; i < from.n && i < to.n && !c->bad; i++) {
        int s = imp_axis(c, from.at[i], rank), d = imp_axis(c, to.at[i], rank);
        if (c->bad)
            return;
        axis[d] = s;
        used[s] = true;
    }
    for (int d = 0, s = 0; d < rank && !c->bad; d++) {
        while (s < rank && used[s])
            s++;
        if (axis[d] < 0)
            axis[d] = s++;
    }
    pt_out(c, pt_permute(c, x, rank, axis));
}

/* ---- pieces ---- */

static tn_value stepped(imp_node *c, tn_value x, int axis, int64_t from, int64_t to, int64_t step)
{
    int64_t at = axis;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

/* A known number, or INT64_MIN. */
static int64_t known(imp_node *c, pt_value v, int64_t otherwise)
{
    tn_dims d;
    int64_t n;
    if (v.kind == PT_NONE)
        return otherwise;
    if (v.kind == PT_INT)
        return v.i;
    return (v.kind == PT_NUMBER || v.kind == PT_TENSOR) && imp_host(c, pt_as_tensor(c, v), &d) && d.n == 1 &&
                   tn_is_int(d.at[0], &n)
               ? n
               : INT64_MIN;
}

static tn_value as_list(imp_node *c, pt_value v, int64_t otherwise)
{
    tn_value x = v.kind == PT_NONE ? imp_i64(c, otherwise) : imp_cast(c, pt_as_tensor(c, v), TN_I64);
    return imp_unsqueeze(c, x, 0);
}

/* slice(x, dim, start, end, step) */
static void slice(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 1, imp_rank(x));
    int64_t from = known(c, pt_arg(c, 2), 0), to = known(c, pt_arg(c, 3), INT64_MAX), step = pt_integer(c, 4);
    if (c->bad)
        return;
    if (from != INT64_MIN && to != INT64_MIN) {
        pt_out(c, from == 0 && to == INT64_MAX && step == 1 ? x : stepped(c, x, axis, from, to, step));
        return;
    }
    int64_t at = axis;
    tn_value axes = imp_const_ints(c, TN_I64, 1, 1, &at), steps = imp_const_ints(c, TN_I64, 1, 1, &step);
    tn_value start = as_list(c, pt_arg(c, 2), 0), end = as_list(c, pt_arg(c, 3), INT32_MAX);
    if (!imp_dynamic_slice(c, x, start, end, axes, steps)) {
        tn_dims b = imp_host_in(c, start, "start"), e = imp_host_in(c, end, "end");
        tn_slice_attr a = {b, e, tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
        c->out[0] = imp_call1(c, &tn_op_strided_slice, &a, x);
    }
    pt_out(c, c->out[0]);
}

static void select(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 1, imp_rank(x));
    int64_t at = known(c, pt_arg(c, 2), 0), n;
    if (!imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "a tensor without dimensions has no parts to select");
    if (c->bad)
        return;
    if (at != INT64_MIN) {
        if (tn_is_int(imp_type(x)->dim[axis], &n) && (at < -n || at >= n)) {
            imp_refuse(c, IMP_BAD_VALUE, "position %lld is outside of a dimension of %lld", (long long)at,
                       (long long)n);
            return;
        }
        pt_out(c, pt_select(c, x, axis, at));
        return;
    }
    tn_value i = imp_cast(c, pt_as_tensor(c, pt_arg(c, 2)), TN_I64);
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &imp_type(x)->dim[axis])};
    pt_out(c, imp_take(c, x, imp_call1(c, &tn_op_checked_index, &a, i), axis));
}

static void narrow(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 1, imp_rank(x));
    int64_t from = pt_integer(c, 2), n = pt_integer(c, 3);
    if (n < 0 || (from > 0 && n > INT64_MAX - from))
        imp_refuse(c, IMP_BAD_VALUE, "%lld elements from position %lld on are not supported", (long long)n,
                   (long long)from);
    if (c->bad)
        return;
    pt_out(c, stepped(c, x, axis, from, from < 0 && from + n == 0 ? INT64_MAX : from + n, 1));
}

/* ---- joining ---- */

/* Empty tensors of one dimension may be joined to any; they are left out. */
static uint32_t operands(imp_node *c, tn_value *v, uint32_t n)
{
    uint32_t k = 0;
    tn_dtype t = {0};
    for (uint32_t i = 0; i < n; i++)
        t = i ? pt_promote(t, imp_type(v[i])->dtype) : imp_type(v[i])->dtype;
    for (uint32_t i = 0; i < n; i++) {
        bool empty = imp_rank(v[i]) == 1 && tn_is_value(imp_type(v[i])->dim[0], 0);
        if (empty && n > 1)
            continue;
        v[k++] = imp_cast(c, v[i], t);
    }
    if (!k && n)
        k = 1;
    return k;
}

static tn_value joined(imp_node *c, tn_value *v, uint32_t n, int axis)
{
    if (!n) {
        imp_refuse(c, IMP_OPERANDS, "an empty list is joined");
        return (tn_value){0};
    }
    return imp_concat(c, n, v, axis);
}

static void cat(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n);
    n = operands(c, v, n);
    pt_out(c, joined(c, v, n, n ? pt_axis(c, 1, imp_rank(v[0])) : 0));
}

static void stack(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n);
    n = operands(c, v, n);
    int axis = n ? imp_axis(c, pt_integer(c, 1), imp_rank(v[0]) + 1) : 0;
    for (uint32_t i = 0; i < n; i++)
        v[i] = imp_unsqueeze(c, v[i], axis);
    pt_out(c, joined(c, v, n, axis));
}

static tn_value at_least(imp_node *c, tn_value v, int rank)
{
    if (rank == 3 && imp_rank(v) == 2)
        return imp_unsqueeze(c, v, 2);
    if (rank == 3 && imp_rank(v) == 1)
        return imp_unsqueeze(c, imp_unsqueeze(c, v, 0), 2);
    return pt_broadcast_rank(c, v, rank);
}

/* hstack, vstack, dstack, column_stack */
static void stacks(imp_node *c)
{
    uint32_t n;
    const char *s = pt_of(c)->row->schema;
    tn_value *v = pt_list_in(c, 0, &n);
    n = operands(c, v, n);
    for (uint32_t i = 0; i < n; i++) {
        bool column = *s == 'c' && imp_rank(v[i]) < 2;
        v[i] = at_least(c, v[i], *s == 'd' ? 3 : *s == 'v' || *s == 'r' ? 2 : 1);
        if (column)
            v[i] = imp_unsqueeze(c, v[i], 1);
    }
    int axis = *s == 'd' ? 2 : *s == 'c' ? 1 : *s == 'h' && n && imp_rank(v[0]) > 1 ? 1 : 0;
    pt_out(c, joined(c, v, n, axis));
}

static void atleast(imp_node *c)
{
    int rank = pt_of(c)->row->schema[8] - '0';
    if (!pt_is_sequence(pt_arg(c, 0))) {
        pt_out(c, at_least(c, pt_in(c, 0), rank));
        return;
    }
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = at_least(c, v[i], rank);
    pt_out_many(c, PT_LIST, n, v);
}

static void flip(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    const char *s = pt_of(c)->row->schema;
    tn_ints axes = s[4] == '(' ? pt_ints(c, 1) : (tn_ints){0};
    int64_t one[1] = {s[4] == 'u' ? 0 : 1};
    if (s[4] != '(')
        axes = tn_ints_make(c->arena, 1, one);
    for (uint32_t i = 0; i < axes.n; i++) {
        int axis = imp_axis(c, axes.at[i], imp_rank(x) ? imp_rank(x) : 1);
        if (!c->bad && imp_rank(x))
            x = stepped(c, x, axis, -1, INT64_MIN + 1, -1);
    }
    pt_out(c, x);
}

static void roll(imp_node *c)
{
    tn_value x = pt_in(c, 0), flat = x;
    tn_ints by = pt_ints(c, 1), axes = pt_ints(c, 2);
    if (!axes.n)
        flat = imp_flat(c, x);
    for (uint32_t i = 0; i < by.n && !c->bad; i++) {
        int axis = axes.n ? imp_axis(c, i < axes.n ? axes.at[i] : 0, imp_rank(x) ? imp_rank(x) : 1) : 0;
        flat = imp_roll(c, flat, axis, by.at[i]);
    }
    pt_out(c, axes.n ? flat : imp_reshape(c, flat, imp_rank(x), imp_type(x)->dim));
}

static tn_value turned_round(imp_node *c, tn_value x, int axis)
{
    return stepped(c, x, axis, -1, INT64_MIN + 1, -1);
}

static void rot90(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int64_t k = ((pt_integer(c, 1) % 4) + 4) % 4;
    tn_ints axes = pt_ints(c, 2);
    int a = imp_axis(c, axes.n == 2 ? axes.at[0] : 0, imp_rank(x)),
        b = imp_axis(c, axes.n == 2 ? axes.at[1] : 1, imp_rank(x));
    if (k == 2)
        x = turned_round(c, turned_round(c, x, a), b);
    else if (k == 1)
        x = pt_swap(c, turned_round(c, x, b), a, b);
    else if (k == 3)
        x = turned_round(c, pt_swap(c, x, a, b), b);
    pt_out(c, x);
}

/* x[i : i + size] for i = 0, step, ... as a new last dimension */
static void unfold(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x), axis = pt_axis(c, 1, rank);
    int64_t size = pt_integer(c, 2), step = pt_integer(c, 3), n = INT64_MAX;
    if (!c->bad && rank)
        (void)tn_is_int(imp_type(x)->dim[axis], &n);
    if (c->bad || !rank || rank >= IMP_MAX_RANK || size > n || size < 1 || step < 1) {
        imp_refuse(c, IMP_BAD_VALUE, "windows of %lld elements do not fit into the dimension",
                   (long long)size);
        return;
    }
    const tn_type *t = imp_type(x);
    const tn_expr *length = tn_idx(c->pool, size), *by = tn_idx(c->pool, step), *dim[IMP_MAX_RANK];
    const tn_expr *flat[3] = {imp_product(c, t, 0, axis), t->dim[axis], imp_product(c, t, axis + 1, rank)};
    tn_frame_attr a = {tn_dims_make(c->arena, 1, &length), tn_dims_make(c->arena, 1, &by)};
    if (n == INT64_MAX) {
        tn_value extent = imp_extent_of(c, x, axis);
        tn_value less = imp_binary(c, &tn_op_less, extent, imp_i64(c, size));
        imp_demand(c, imp_cast(c, less, TN_I64), 0, "a dimension is shorter than the windows over it");
    }
    tn_value v =
        imp_call1(c, &tn_op_frame, &a, imp_reshape(c, x, 3, flat)); /* [before, windows, size, behind] */
    if (c->bad)
        return;
    for (int d = 0; d < rank; d++)
        dim[d] = d == axis ? imp_type(v)->dim[1] : t->dim[d];
    dim[rank] = length;
    pt_out(c, imp_reshape(c, pt_swap(c, v, 2, 3), rank + 1, dim));
}

/* A diagonal as the last dimension. */
static void diagonal(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int rank = imp_rank(x);
    int64_t k = pt_integer(c, 1), h = 0, w = 0;
    int a = pt_axis(c, 2, rank), b = pt_axis(c, 3, rank), n = 0;
    int64_t order[IMP_MAX_RANK];
    if (c->bad || rank < 2 || !tn_is_int(imp_type(x)->dim[a], &h) || !tn_is_int(imp_type(x)->dim[b], &w)) {
        imp_refuse(c, IMP_NOT_CONSTANT, "the dimensions of a diagonal must have known extents");
        return;
    }
    if (a == b) {
        imp_refuse(c, IMP_BAD_VALUE, "the dimensions of a diagonal are both %d", a);
        return;
    }
    for (int d = 0; d < rank; d++)
        if (d != a && d != b)
            order[n++] = d;
    order[n] = a;
    order[n + 1] = b;
    x = pt_permute(c, x, rank, order);
    int64_t from = k < 0 ? -k : 0, right = k > 0 ? k : 0, len = h - from < w - right ? h - from : w - right;
    len = len < 0 ? 0 : len;
    const tn_expr *dim[IMP_MAX_RANK];
    for (int d = 0; d < rank - 2; d++)
        dim[d] = imp_type(x)->dim[d];
    dim[rank - 2] = tn_idx(c->pool, h * w);
    int64_t *at = TN_NEW_N(c->arena, int64_t, (size_t)len + 1);
    for (int64_t i = 0; i < len; i++)
        at[i] = (from + i) * w + right + i;
    tn_value index = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_I64, 1, &len, at, NULL));
    pt_out(c, imp_take(c, imp_reshape(c, x, rank - 1, dim), index, rank - 2));
}

const pt_row pt_rows_move[] = {
    {"view(Tensor self, int dtype)", view_dtype, NULL, PT_VIEW | PT_ORDERED},
    {"view(Tensor self, int[] size)", view, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"reshape(Tensor self, int[] shape)", view, NULL, PT_VIEW | PT_PARTS | PT_ORDERED | PT_IF_ORDERED},
    {"_unsafe_view(Tensor self, int[] size)", view, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"_reshape_alias(Tensor self, int[] size, any stride=None)", view, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"view_copy(Tensor self, int[] size)", view, NULL, PT_PARTS},
    {"_reshape_copy(Tensor self, int[] size)", view, NULL, PT_PARTS},
    {"view_as(Tensor self, Tensor other)", view_as, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"reshape_as(Tensor self, Tensor other)", view_as, NULL, PT_VIEW | PT_PARTS | PT_ORDERED | PT_IF_ORDERED},
    {"flatten(Tensor self, int start_dim=0, int end_dim=-1)", flatten, NULL,
     PT_VIEW | PT_PARTS | PT_ORDERED | PT_IF_ORDERED},
    {"unflatten(Tensor self, int dim, int[] sizes)", unflatten, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"ravel(Tensor self)", ravel, NULL, PT_VIEW | PT_PARTS | PT_ORDERED | PT_IF_ORDERED},
    {"unsqueeze(Tensor self, int dim)", unsqueeze, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"unsqueeze_copy(Tensor self, int dim)", unsqueeze, NULL, PT_PARTS},
    {"squeeze(Tensor self, int[]? dim=None)", squeeze, NULL, PT_VIEW | PT_PARTS | PT_ORDERED},
    {"squeeze_copy(Tensor self, int[]? dim=None)", squeeze, NULL, PT_PARTS},
    {"expand(Tensor self, int[] size, *, any implicit=None)", expand, NULL, PT_VIEW | PT_PARTS},
    {"expand_copy(Tensor self, int[] size)", expand, NULL, PT_PARTS},
    {"broadcast_to(Tensor self, int[] size)", expand, NULL, PT_VIEW | PT_PARTS},
    {"expand_as(Tensor self, Tensor other)", expand_as, NULL, PT_VIEW | PT_PARTS},
    {"repeat(Tensor self, int[] repeats)", repeat, NULL, PT_PARTS},
    {"tile(Tensor self, int[] dims)", repeat, NULL, PT_PARTS},
    {"repeat_interleave(Tensor self, int repeats, int? dim=None, any output_size=None)", repeat_interleave,
     NULL, PT_PARTS},
    {"repeat_interleave(Tensor self, Tensor? repeats=None, int? dim=None, any output_size=None)",
     repeat_by_tensor, NULL, 0},
    {"permute(Tensor self, int[] dims)", permute, NULL, PT_VIEW | PT_PARTS},
    {"permute_copy(Tensor self, int[] dims)", permute, NULL, PT_PARTS},
    {"transpose(Tensor self, int dim0, int dim1)", transpose, NULL, PT_VIEW | PT_PARTS},
    {"swapaxes(Tensor self, int axis0, int axis1)", transpose, NULL, PT_VIEW | PT_PARTS},
    {"swapdims(Tensor self, int dim0, int dim1)", transpose, NULL, PT_VIEW | PT_PARTS},
    {"transpose_copy(Tensor self, int dim0, int dim1)", transpose, NULL, PT_PARTS},
    {"t(Tensor self)", transpose_last, NULL, PT_VIEW | PT_PARTS},
    {"mT(Tensor self)", transpose_last, NULL, PT_VIEW | PT_PARTS},
    {"adjoint(Tensor self)", transpose_last, NULL, PT_VIEW},
    {"mH(Tensor self)", transpose_last, NULL, PT_VIEW},
    {"t_copy(Tensor self)", transpose_last, NULL, PT_PARTS},
    {"numpy_T(Tensor self)", reverse_axes, NULL, PT_VIEW | PT_PARTS},
    {"prim::T(Tensor self)", reverse_axes, NULL, PT_VIEW | PT_PARTS},
    {"prim::mT(Tensor self)", transpose_last, NULL, PT_VIEW | PT_PARTS},
    {"movedim(Tensor self, int[] source, int[] destination)", movedim, NULL, PT_VIEW | PT_PARTS},
    {"moveaxis(Tensor self, int[] source, int[] destination)", movedim, NULL, PT_VIEW | PT_PARTS},
    {"slice(Tensor self, int dim=0, any start=None, any end=None, any step=1)", slice, NULL,
     PT_VIEW | PT_PARTS},
    {"slice_copy(Tensor self, int dim=0, any start=None, any end=None, any step=1)", slice, NULL, PT_PARTS},
    {"select(Tensor self, int dim, any index)", select, NULL, PT_VIEW | PT_PARTS},
    {"select_copy(Tensor self, int dim, any index)", select, NULL, PT_PARTS},
    {"narrow(Tensor self, int dim, int start, int length)", narrow, NULL, PT_VIEW | PT_PARTS},
    {"narrow_copy(Tensor self, int dim, int start, int length)", narrow, NULL, PT_PARTS},
    {"cat(Tensor[] tensors, int dim=0)", cat, NULL, PT_SUM},
    {"concat(Tensor[] tensors, int dim=0)", cat, NULL, PT_SUM},
    {"concatenate(Tensor[] tensors, int dim=0)", cat, NULL, PT_SUM},
    {"stack(Tensor[] tensors, int dim=0)", stack, NULL, PT_SUM},
    {"hstack(Tensor[] tensors)", stacks, NULL, PT_SUM},
    {"vstack(Tensor[] tensors)", stacks, NULL, PT_SUM},
    {"row_stack(Tensor[] tensors)", stacks, NULL, PT_SUM},
    {"dstack(Tensor[] tensors)", stacks, NULL, PT_SUM},
    {"column_stack(Tensor[] tensors)", stacks, NULL, PT_SUM},
    {"atleast_1d(any self)", atleast, NULL, 0},
    {"atleast_2d(any self)", atleast, NULL, 0},
    {"atleast_3d(any self)", atleast, NULL, 0},
    {"flip(Tensor self, int[] dims)", flip, NULL, PT_PARTS},
    {"fliplr(Tensor self)", flip, NULL, PT_PARTS},
    {"flipud(Tensor self)", flip, NULL, PT_PARTS},
    {"roll(Tensor self, int[] shifts, int[] dims=[])", roll, NULL, PT_PARTS},
    {"rot90(Tensor self, int k=1, int[] dims=[])", rot90, NULL, PT_PARTS},
    {"unfold(Tensor self, int dimension, int size, int step)", unfold, NULL, PT_VIEW | PT_PARTS},
    {"unfold_copy(Tensor self, int dimension, int size, int step)", unfold, NULL, PT_PARTS},
    {"diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)", diagonal, NULL, PT_VIEW | PT_PARTS},
    {"diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)", diagonal, NULL, PT_PARTS},
    {"linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", diagonal, NULL, PT_PARTS},
    {0},
};
