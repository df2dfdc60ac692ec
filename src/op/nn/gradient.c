/* Gradients of matrix products, convolutions and softmax. */
#include "op/gradient.h"

#include "op/nn/nn.h"
#include "op/rule.h"
#include "op/tensor/tensor.h"

#include <string.h>

static tn_value transposed(tn_gradient *q, tn_value v, uint32_t n, const int64_t order[])
{
    tn_transpose_attr a = {tn_ints_make(q->g->arena, n, order)};
    return tn_gradient_call1(q, &tn_op_transpose, &a, v);
}

/* ---- products ---- */

static const int64_t swapped[] = {1, 0};

/* A matrix of v's rows, transposed. */
static tn_value columns(tn_gradient *q, tn_value v)
{
    const tn_type *t = tn_value_type(v);
    const tn_expr *dim[2] = {tn_idx(q->g->pool, 1), t->dim[t->n - 1]};
    for (int i = 0; i < t->n - 1; i++)
        dim[0] = tn_mul(q->g->pool, dim[0], t->dim[i]);
    dim[0] = tn_simplify_extent(q->g, dim[0]);
    v = tn_gradient_reshaped(q, v, tn_type_tensor(q->g->pool, t->dtype, 2, dim, NULL));
    return transposed(q, v, 2, swapped);
}

static bool one_dtype(const tn_node *n)
{
    return tn_dtype_eq(tn_in_type(n, 0)->dtype, n->type[0]->dtype) &&
           tn_dtype_eq(tn_in_type(n, 1)->dtype, n->type[0]->dtype);
}

tn_status tn_gradient_dense(tn_gradient *q)
{
    const tn_value x = tn_in(q->node, 0), weight = tn_in(q->node, 1), g = q->of[0];
    tn_dense_attr a = {0};
    if (!one_dtype(q->node))
        return tn_gradient_refuse(q, "sums are of another type");
    if (q->wanted[0])
        q->in[0] = tn_gradient_call2(q, &tn_op_nn_dense, &a, g, transposed(q, weight, 2, swapped));
    if (q->wanted[1]) {
        tn_value of = columns(q, g); /* in an order that no compiler chooses */
        q->in[1] = tn_gradient_call2(q, &tn_op_nn_dense, &a, of, columns(q, x));
    }
    return TN_OK;
}

static tn_value product(tn_gradient *q, tn_value a, bool transpose_a, tn_value b, bool transpose_b)
{
    tn_matmul_attr m = {.transpose_a = transpose_a, .transpose_b = transpose_b};
    return tn_gradient_call2(q, &tn_op_nn_batch_matmul, &m, a, b);
}

tn_status tn_gradient_batch_matmul(tn_gradient *q)
{
    const tn_matmul_attr *a = q->node->attr;
    const tn_value x = tn_in(q->node, 0), y = tn_in(q->node, 1), g = q->of[0];
    if (!one_dtype(q->node))
        return tn_gradient_refuse(q, "sums are of another type");
    if (q->wanted[0]) {
        q->in[0] = a->transpose_a ? product(q, y, a->transpose_b, g, true)
                                  : product(q, g, false, y, !a->transpose_b);
        q->in[0] = tn_gradient_gathered(q, q->in[0], tn_value_type(x));
    }
    if (q->wanted[1]) {
        q->in[1] = a->transpose_b ? product(q, g, true, x, a->transpose_a)
                                  : product(q, x, !a->transpose_a, g, false);
        q->in[1] = tn_gradient_gathered(q, q->in[1], tn_value_type(y));
    }
    return TN_OK;
}

/* ---- softmax: y * (g - sum(g * y)); log_softmax: g - exp(y) * sum(g) ---- */

tn_status tn_gradient_softmax(tn_gradient *q)
{
    int64_t axis = ((const tn_axis_attr *)q->node->attr)->axis;
    tn_axes_attr along = {tn_ints_make(q->g->arena, 1, &axis), true, false};
    const tn_value y = tn_val((tn_node *)q->node), g = q->of[0];
    bool is_log = tn_op_is(q->node, &tn_op_nn_log_softmax);
    tn_value weighted = is_log ? g : tn_gradient_call2(q, &tn_op_multiply, NULL, g, y);
    tn_value sum = tn_gradient_call1(q, &tn_op_sum, &along, weighted);
    if (is_log) {
        tn_value p = tn_gradient_call1(q, &tn_op_exp, NULL, y);
        q->in[0] = tn_gradient_call2(q, &tn_op_subtract, NULL, g,
                                     tn_gradient_call2(q, &tn_op_multiply, NULL, p, sum));
    } else {
        q->in[0] = tn_gradient_call2(q, &tn_op_multiply, NULL, y,
                                     tn_gradient_call2(q, &tn_op_subtract, NULL, g, sum));
    }
    return TN_OK;
}

/* ---- nn.conv2d ---- */

/* By the transposed convolution, but it needs to know how many rows and columns the last windows left over. */
static tn_status of_data(tn_gradient *q)
{
    const tn_conv2d_attr *a = q->node->attr;
    const tn_type *x = tn_in_type(q->node, 0), *w = tn_in_type(q->node, 1), *y = q->node->type[0];
    int64_t left[2];
    tn_conv_transpose_attr back = {.strides = a->strides,
                                   .padding = a->padding,
                                   .dilation = a->dilation,
                                   .groups = a->groups,
                                   .data_layout = "NCHW",
                                   .kernel_layout = "IOHW",
                                   .out_layout = ""};
    for (int d = 0; d < 2; d++) {
        int64_t in, out, taps, before, after;
        if (!tn_is_int(x->dim[d + 2], &in) || !tn_is_int(y->dim[d + 2], &out) ||
            !tn_is_int(w->dim[d + 2], &taps) || !tn_is_int(a->padding.at[d], &before) ||
            !tn_is_int(a->padding.at[d + 2], &after))
            return tn_gradient_refuse(q, "the image or its window has no known size");
        left[d] = in + before + after - ((out - 1) * a->strides.at[d] + (taps - 1) * a->dilation.at[d] + 1);
    }
    back.output_padding = tn_ints_make(q->g->arena, 2, left);
    q->in[0] = tn_gradient_call2(q, &tn_op_nn_conv2d_transpose, &back, q->of[0], tn_in(q->node, 1));
    return TN_OK;
}

/* v [n, groups * c, h, w] as [c, groups * n, h, w] or, `rows`, [groups * c, n, h, w]. */
static tn_value by_channel(tn_gradient *q, tn_value v, int64_t groups, bool rows)
{
    static const int64_t order[] = {2, 1, 0, 3, 4}, plain[] = {1, 0, 2, 3};
    tn_pool *p = q->g->pool;
    const tn_type *t = tn_value_type(v);
    if (rows || groups == 1)
        return transposed(q, v, 4, plain);
    const tn_expr *g = tn_idx(p, groups), *c = tn_simplify_extent(q->g, tn_fdiv(p, t->dim[1], g));
    const tn_expr *apart[5] = {t->dim[0], g, c, t->dim[2], t->dim[3]},
                  *joined[4] = {c, tn_simplify_extent(q->g, tn_mul(p, g, t->dim[0])), t->dim[2], t->dim[3]};
    v = transposed(q, tn_gradient_reshaped(q, v, tn_type_tensor(p, t->dtype, 5, apart, NULL)), 5, order);
    return tn_gradient_reshaped(q, v, tn_type_tensor(p, t->dtype, 4, joined, NULL));
}

/* The data, each channel an image, convolved with the gradient: strides and dilation change places. */
static tn_status of_weight(tn_gradient *q)
{
    static const int64_t back[] = {1, 0, 2, 3}, axes[] = {2, 3};
    const tn_conv2d_attr *a = q->node->attr;
    const tn_type *w = tn_in_type(q->node, 1);
    tn_conv2d_attr turned = {.strides = a->dilation,
                             .padding = a->padding,
                             .dilation = a->strides,
                             .groups = a->groups,
                             .data_layout = "NCHW",
                             .kernel_layout = "OIHW",
                             .out_layout = ""};
    tn_value x = by_channel(q, tn_in(q->node, 0), a->groups, false);
    tn_value v = tn_gradient_call2(q, &tn_op_nn_conv2d, &turned, x, by_channel(q, q->of[0], a->groups, true));
    const tn_expr *from[2] = {tn_idx(q->g->pool, 0), tn_idx(q->g->pool, 0)};
    tn_slice_attr cut = {tn_dims_make(q->g->arena, 2, from),
                         tn_dims_make(q->g->arena, 2, w->dim + 2),
                         {0},
                         tn_ints_make(q->g->arena, 2, axes)};
    q->in[1] = transposed(q, tn_gradient_call1(q, &tn_op_strided_slice, &cut, v), 4, back);
    return TN_OK;
}

tn_status tn_gradient_conv2d(tn_gradient *q)
{
    const tn_conv2d_attr *a = q->node->attr;
    if (!one_dtype(q->node) || strcmp(a->data_layout, "NCHW") != 0 || strcmp(a->kernel_layout, "OIHW") != 0)
        return tn_gradient_refuse(q, "data and weight must be of one type, NCHW and OIHW");
    if (q->wanted[0])
        TN_TRY(of_data(q));
    return q->wanted[1] ? of_weight(q) : TN_OK;
}

/* ---- nn.global_avg_pool2d ---- */

tn_status tn_gradient_global_average(tn_gradient *q)
{
    static const int64_t image[] = {2, 3};
    const tn_type *t = tn_in_type(q->node, 0);
    tn_axes_attr along = {tn_ints_make(q->g->arena, 2, image), true, false};
    tn_broadcast_to_attr all = {{t->n, t->dim}};
    tn_value count = tn_gradient_call1(q, &tn_op_sum, &along, tn_gradient_filled(q, t, 1));
    tn_value share = tn_gradient_call2(q, &tn_op_divide, NULL, q->of[0], count);
    q->in[0] = tn_gradient_call1(q, &tn_op_broadcast_to, &all, share);
    return TN_OK;
}
