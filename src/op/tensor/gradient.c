/* Gradients of what moves, repeats and adds up elements. */
#include "op/gradient.h"

#include "op/rule.h"
#include "op/tensor/tensor.h"

#include <string.h>

tn_status tn_gradient_shares(tn_gradient *q)
{
    q->in[0] = tn_gradient_reshaped(q, q->of[0], tn_in_type(q->node, 0));
    return TN_OK;
}

tn_status tn_gradient_transpose(tn_gradient *q)
{
    const tn_transpose_attr *a = q->node->attr;
    int rank = q->node->type[0]->n;
    int64_t back[TN_RULE_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int64_t from = a->axes.n ? a->axes.at[i] : rank - 1 - i;
        back[from < 0 ? from + rank : from] = i;
    }
    tn_transpose_attr inverse = {tn_ints_make(q->g->arena, (uint32_t)rank, back)};
    q->in[0] = tn_gradient_call1(q, &tn_op_transpose, &inverse, q->of[0]);
    return TN_OK;
}

tn_status tn_gradient_broadcast(tn_gradient *q)
{
    q->in[0] = tn_gradient_gathered(q, q->of[0], tn_in_type(q->node, 0));
    return TN_OK;
}

tn_status tn_gradient_concatenate(tn_gradient *q)
{
    const tn_node *n = q->node;
    int rank = n->type[0]->n;
    int64_t axis = ((const tn_axis_attr *)n->attr)->axis;
    axis = axis < 0 ? axis + rank : axis;
    const tn_expr *at = tn_idx(q->g->pool, 0);
    for (int i = 0; i < n->nin; i++) {
        const tn_expr *end = tn_simplify_extent(q->g, tn_add(q->g->pool, at, tn_in_type(n, i)->dim[axis]));
        tn_slice_attr a = {tn_dims_make(q->g->arena, 1, &at),
                           tn_dims_make(q->g->arena, 1, &end),
                           {0},
                           tn_ints_make(q->g->arena, 1, &axis)};
        if (q->wanted[i])
            q->in[i] = tn_gradient_call1(q, &tn_op_strided_slice, &a, q->of[0]);
        at = end;
    }
    return TN_OK;
}

/* In zeros, at the same place. A part that is taken backwards is turned round first. */
tn_status tn_gradient_slice(tn_gradient *q)
{
    tn_slice_attr a = *(const tn_slice_attr *)q->node->attr;
    tn_graph *g = q->g;
    const tn_type *t = tn_in_type(q->node, 0), *part = q->node->type[0];
    tn_value v = q->of[0];
    for (uint32_t i = 0; i < a.strides.n; i++) {
        int64_t step = a.strides.at[i], begin, count, axis = a.axes.n ? a.axes.at[i] : (int64_t)i;
        int d = (int)(axis < 0 ? axis + t->n : axis);
        if (step > 0)
            continue;
        if (!tn_is_int(a.begin.at[i], &begin) || begin < 0 || !tn_is_int(part->dim[d], &count) || count < 1)
            return tn_gradient_refuse(q, "a part of unknown extent is taken backwards");
        int64_t last = begin + (count - 1) * step, axes = d, one = -1;
        const tn_expr *from = tn_idx(g->pool, -1), *to = tn_idx(g->pool, -INT32_MAX);
        tn_slice_attr turn = {tn_dims_make(g->arena, 1, &from), tn_dims_make(g->arena, 1, &to),
                              tn_ints_make(g->arena, 1, &one), tn_ints_make(g->arena, 1, &axes)};
        v = tn_gradient_call1(q, &tn_op_strided_slice, &turn, v);
        const tn_expr **b = tn_arena_copy(g->arena, a.begin.at, a.begin.n * sizeof *b, _Alignof(void *)),
                      **e = tn_arena_copy(g->arena, a.end.at, a.end.n * sizeof *e, _Alignof(void *));
        int64_t *s = tn_arena_copy(g->arena, a.strides.at, a.strides.n * sizeof *s, _Alignof(int64_t));
        b[i] = tn_idx(g->pool, last);
        e[i] = tn_idx(g->pool, begin + 1);
        s[i] = -step;
        a.begin.at = b;
        a.end.at = e;
        a.strides.at = s;
    }
    q->in[0] = tn_gradient_call2(q, &tn_op_strided_set, &a, tn_gradient_filled(q, t, 0), v);
    return TN_OK;
}

/* What was added is cut off, and the other way round. */
tn_status tn_gradient_pad(tn_gradient *q)
{
    const tn_pad_attr *a = q->node->attr;
    tn_pool *p = q->g->pool;
    if (strcmp(a->pad_mode, "constant") != 0 || (q->node->nin > 1 && q->wanted[1]))
        return tn_gradient_refuse(q, q->node->nin > 1 && q->wanted[1] ? "the padding value is computed"
                                                                      : "the padding repeats elements");
    const tn_expr **width = TN_NEW_N(q->g->arena, const tn_expr *, a->pad_width.n);
    for (uint32_t i = 0; i < a->pad_width.n; i++)
        width[i] = tn_simplify_extent(q->g, tn_sub(p, tn_idx(p, 0), a->pad_width.at[i]));
    tn_pad_attr cut = {.pad_width = {a->pad_width.n, width}, .pad_mode = a->pad_mode};
    q->in[0] = tn_gradient_call1(q, &tn_op_nn_pad, &cut, q->of[0]);
    return TN_OK;
}

/* v with dimensions [from, from + n) in front. */
static tn_value to_front(tn_gradient *q, tn_value v, int from, int n)
{
    int64_t axes[TN_RULE_MAX_RANK];
    int rank = tn_value_type(v)->n, at = 0;
    for (int i = 0; i < n; i++)
        axes[at++] = from + i;
    for (int i = 0; i < rank; i++)
        if (i < from || i >= from + n)
            axes[at++] = i;
    tn_transpose_attr a = {tn_ints_make(q->g->arena, (uint32_t)rank, axes)};
    return from ? tn_gradient_call1(q, &tn_op_transpose, &a, v) : v;
}

/* The last index along an axis. */
static tn_value last_index(tn_gradient *q, const tn_type *t, int axis, tn_dtype dtype)
{
    int64_t extent;
    if (tn_is_int(t->dim[axis], &extent))
        return tn_val(tn_make_scalar(q->g, q->r, NULL, dtype, (double)(extent - 1)));
    const tn_expr *from = tn_idx(q->g->pool, axis), *to = tn_idx(q->g->pool, axis + 1);
    tn_slice_attr one = {tn_dims_make(q->g->arena, 1, &from), tn_dims_make(q->g->arena, 1, &to), {0}, {0}};
    tn_cast_attr of = {dtype};
    tn_value v = tn_gradient_call1(q, &tn_op_shape_of, &of, tn_in(q->node, 0));
    v = tn_gradient_call1(q, &tn_op_strided_slice, &one, v);
    v = tn_gradient_reshaped(q, v, tn_type_tensor(q->g->pool, dtype, 0, NULL, NULL));
    return tn_gradient_call2(q, &tn_op_subtract, NULL, v, tn_val(tn_make_scalar(q->g, q->r, NULL, dtype, 1)));
}

/* Added up in zeros, where the indices say; the taken axis stands in front. */
tn_status tn_gradient_take(tn_gradient *q)
{
    const tn_take_attr *a = q->node->attr;
    const tn_type *t = tn_in_type(q->node, 0), *it = tn_in_type(q->node, 1);
    tn_graph *g = q->g;
    int axis = (int)(a->axis < 0 ? a->axis + t->n : a->axis);
    if (strcmp(a->mode, "clip") != 0)
        return tn_gradient_refuse(q, "its indices wrap");
    const tn_expr *dim[TN_RULE_MAX_RANK] = {t->dim[axis]};
    for (int i = 0, k = 1; i < t->n; i++)
        if (i != axis)
            dim[k++] = t->dim[i];
    tn_value low = tn_val(tn_make_scalar(g, q->r, NULL, it->dtype, 0)),
             high = last_index(q, t, axis, it->dtype);
    tn_value at = tn_gradient_call2(q, &tn_op_maximum, NULL, tn_in(q->node, 1), low);
    tn_expand_dims_attr last = {it->n, 1};
    at =
        tn_gradient_call1(q, &tn_op_expand_dims, &last, tn_gradient_call2(q, &tn_op_minimum, NULL, at, high));
    tn_value zeros = tn_gradient_filled(q, tn_type_tensor(g->pool, t->dtype, t->n, dim, NULL), 0);
    tn_scatter_attr add = {.axis = 0, .reduction = "add"};
    const tn_value in[3] = {zeros, at, to_front(q, q->of[0], axis, it->n)};
    const tn_value sum = tn_gradient_call(q, &tn_op_scatter_nd, &add, 3, in);
    q->in[0] = sum;
    if (axis > 0) { /* the front goes back to its place */
        int64_t axes[TN_RULE_MAX_RANK];
        for (int i = 0; i < t->n; i++)
            axes[i] = i == axis ? 0 : i < axis ? i + 1 : i;
        tn_transpose_attr back = {tn_ints_make(g->arena, (uint32_t)t->n, axes)};
        q->in[0] = tn_gradient_call1(q, &tn_op_transpose, &back, sum);
    }
    return TN_OK;
}

tn_status tn_gradient_cast(tn_gradient *q)
{
    tn_cast_attr a = {tn_in_type(q->node, 0)->dtype};
    q->in[0] = tn_gradient_call1(q, &tn_op_cast, &a, q->of[0]);
    return TN_OK;
}

tn_status tn_gradient_bias(tn_gradient *q)
{
    const tn_type *t = q->node->type[0];
    int64_t keep = ((const tn_axis_attr *)q->node->attr)->axis, axis[TN_RULE_MAX_RANK] = {0};
    uint32_t n = 0;
    keep = keep < 0 ? keep + t->n : keep;
    for (int i = 0; i < t->n; i++)
        if (i != keep)
            axis[n++] = i;
    tn_axes_attr others = {tn_ints_make(q->g->arena, n, axis), false, false};
    q->in[0] = q->of[0];
    q->in[1] = n && q->wanted[1] ? tn_gradient_call1(q, &tn_op_sum, &others, q->of[0]) : q->of[0];
    if (q->wanted[1])
        q->in[1] = tn_gradient_gathered(q, q->in[1], tn_in_type(q->node, 1));
    return TN_OK;
}

/* ---- reductions ---- */

/* v, of the result's type, with the reduced dimensions as 1. */
static tn_value with_ones(tn_gradient *q, tn_value v)
{
    const tn_axes_attr *a = q->node->attr;
    const tn_type *t = tn_in_type(q->node, 0);
    const tn_expr *dim[TN_RULE_MAX_RANK];
    bool listed[TN_RULE_MAX_RANK] = {false};
    for (uint32_t i = 0; i < a->axis.n; i++)
        listed[a->axis.at[i] < 0 ? a->axis.at[i] + t->n : a->axis.at[i]] = true;
    for (int i = 0; i < t->n; i++)
        dim[i] = a->axis.n && listed[i] == a->exclude ? t->dim[i] : tn_idx(q->g->pool, 1);
    return tn_gradient_reshaped(q, v, tn_type_tensor(q->g->pool, t->dtype, t->n, dim, NULL));
}

static tn_value spread(tn_gradient *q, tn_value v)
{
    const tn_type *t = tn_in_type(q->node, 0);
    tn_broadcast_to_attr a = {{t->n, t->dim}};
    return t->n ? tn_gradient_call1(q, &tn_op_broadcast_to, &a, with_ones(q, v)) : v;
}

tn_status tn_gradient_sum(tn_gradient *q)
{
    q->in[0] = spread(q, q->of[0]);
    return TN_OK;
}

tn_status tn_gradient_mean(tn_gradient *q)
{
    tn_value ones = tn_gradient_filled(q, tn_in_type(q->node, 0), 1);
    tn_value count = tn_gradient_call1(q, &tn_op_sum, q->node->attr, ones);
    q->in[0] = spread(q, tn_gradient_call2(q, &tn_op_divide, NULL, q->of[0], count));
    return TN_OK;
}

/* Elements that are equal share it. */
tn_status tn_gradient_extreme(tn_gradient *q)
{
    const tn_type *t = tn_in_type(q->node, 0);
    tn_cast_attr to = {t->dtype};
    tn_value hit =
        tn_gradient_call2(q, &tn_op_equal, NULL, tn_in(q->node, 0), spread(q, tn_val((tn_node *)q->node)));
    tn_value count =
        tn_gradient_call1(q, &tn_op_sum, q->node->attr, tn_gradient_call1(q, &tn_op_cast, &to, hit));
    tn_value share = spread(q, tn_gradient_call2(q, &tn_op_divide, NULL, q->of[0], count));
    const tn_value in[3] = {hit, share, tn_val(tn_make_scalar(q->g, q->r, NULL, t->dtype, 0))};
    q->in[0] = tn_gradient_call(q, &tn_op_where, NULL, 3, in);
    return TN_OK;
}

tn_status tn_gradient_cumsum(tn_gradient *q)
{
    tn_scan_attr a = *(const tn_scan_attr *)q->node->attr;
    a.reverse = !a.reverse;
    q->in[0] = tn_gradient_call1(q, &tn_op_cumsum, &a, q->of[0]);
    return TN_OK;
}

tn_status tn_gradient_power(tn_gradient *q)
{
    tn_dtype t = q->node->type[0]->dtype;
    const tn_expr *arg[2] = {tn_var(q->g->pool, t, 0), tn_var(q->g->pool, t, 1)};
    return tn_gradient_of_elements(q, tn_intrinsic(q->g->pool, TN_F_pow, 2, arg));
}
