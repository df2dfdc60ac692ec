/* Layers of convolutional networks with the channels first, as many formats have them. */
#include "frontend/import/layers.h"

#include "op/qnn/qnn.h"

/* ---- windows ---- */

bool imp_layer_init(imp_node *c, tn_value x, imp_layer *w)
{
    imp_window any;
    *w = (imp_layer){.groups = 1};
    if (!imp_window_init(c, x, false, &any))
        return false;
    w->dims = any.dims;
    for (int i = 0; i < IMP_MAX_SPATIAL; i++)
        w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
    return true;
}

void imp_layer_list(imp_node *c, const imp_layer *w, const char *name, tn_ints list, int64_t least,
                    int64_t out[])
{
    if (list.n > 1 && list.n != (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "%s has %u entries, but the data has %d spatial dimensions", name,
                   (unsigned)list.n, w->dims);
    for (int i = 0; i < w->dims && list.n && !c->bad; i++) {
        out[i] = list.at[list.n == 1 ? 0 : i];
        if (out[i] < least || out[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "%s contains %lld, which is not in [%lld, 2^31)", name,
                       (long long)out[i], (long long)least);
    }
}

static bool window_of(imp_node *c, tn_value x, const imp_layer *l, imp_window *w)
{
    int64_t pad[2 * IMP_MAX_SPATIAL];
    if (!imp_window_init(c, x, false, w))
        return false;
    for (int i = 0; i < l->dims; i++) {
        w->kernel[i] = l->kernel[i];
        w->stride[i] = l->stride[i];
        w->dilation[i] = l->dilation[i];
        pad[i] = l->before[i];
        pad[l->dims + i] = l->after[i];
    }
    imp_pad_both(c, w, pad);
    for (int i = 0; i < l->dims; i++)
        (void)imp_window_span(c, w, i);
    return !c->bad;
}

tn_value imp_bias_add(imp_node *c, tn_value x, tn_value bias, int64_t axis)
{
    tn_axis_attr a = {axis};
    return bias.def ? imp_call2(c, &tn_op_nn_bias_add, &a, x, bias) : x;
}

static bool is_quantised(tn_value x)
{
    tn_dtype t = imp_type(x)->dtype;
    return tn_dtype_is_int(t) && t.bits == 8;
}

/* int32 sums of 8-bit numbers; volumes have no operator of their own. */
static tn_value conv_sums(imp_node *c, tn_value x, tn_value weight, const imp_window *w, int64_t groups)
{
    tn_conv2d_attr a;
    bool plane = w->dims == 2;
    if (!imp_conv_attr(c, w, weight, groups, plane ? &tn_op_qnn_conv2d : imp_conv_op(w->dims), &a))
        return (tn_value){0};
    if (!plane) {
        tn_value wide = imp_cast(c, x, TN_I32);
        return imp_call2(c, imp_conv_op(w->dims), &a, wide, imp_cast(c, weight, TN_I32));
    }
    tn_value one = imp_const(c, TN_F32, 1), none = imp_const(c, imp_type(x)->dtype, 0);
    tn_value in[6] = {x, weight, none, imp_const(c, imp_type(weight)->dtype, 0), one, one};
    return imp_call(c, &tn_op_qnn_conv2d, &a, 6, in);
}

tn_value imp_layer_conv(imp_node *c, tn_value x, tn_value weight, tn_value bias, const imp_layer *l)
{
    imp_window w;
    if (!window_of(c, x, l, &w) || !imp_window_of_weight(c, weight, &w))
        return (tn_value){0};
    tn_value y =
        is_quantised(x) ? conv_sums(c, x, weight, &w, l->groups) : imp_conv(c, x, weight, &w, l->groups);
    return imp_bias_add(c, y, bias, 1);
}

tn_value imp_layer_conv_transpose(imp_node *c, tn_value x, tn_value weight, tn_value bias, const imp_layer *l)
{
    imp_window w;
    if (!window_of(c, x, l, &w) || !imp_window_of_weight(c, weight, &w))
        return (tn_value){0};
    return imp_bias_add(c, imp_conv_transpose(c, x, weight, &w, l->more, l->groups), bias, 1);
}

tn_value imp_layer_pool(imp_node *c, enum imp_pool_kind kind, tn_value x, const imp_layer *l)
{
    imp_window w;
    tn_pool2d_attr a;
    if (!window_of(c, x, l, &w) || !imp_pool_attr(c, &w, imp_pool_op(kind, w.dims), &a))
        return (tn_value){0};
    a.ceil_mode = l->ceil_mode;
    a.count_include_pad = l->count_include_pad;
    return imp_call1(c, imp_pool_op(kind, w.dims), &a, x);
}

tn_value imp_layer_global(imp_node *c, const tn_op *op, tn_value x, bool keep)
{
    int64_t axes[IMP_MAX_RANK];
    int n = imp_rank(x) - 2;
    for (int i = 0; i < n; i++)
        axes[i] = 2 + i;
    if (!c->bad && n < 1)
        imp_refuse(c, IMP_TOO_LARGE, "data %s has no spatial dimensions", imp_type_text(c, imp_type(x)));
    tn_axes_attr a = {tn_ints_make(c->arena, n < 1 ? 0 : (uint32_t)n, axes), keep, false};
    return imp_call1(c, op, &a, x);
}

/* ---- layers without windows ---- */

tn_value imp_flatten(imp_node *c, tn_value x, int axis)
{
    const tn_type *t = imp_type(x);
    if (!c->bad && axis > t->n)
        imp_refuse(c, IMP_OPERANDS, "%s has not the %d dimensions that are to be the rows of a matrix",
                   imp_type_text(c, t), axis);
    if (c->bad || (t->n == 2 && axis == 1))
        return x;
    const tn_expr *dim[2] = {imp_product(c, t, 0, axis), imp_product(c, t, axis, t->n)};
    return axis == 1 && t->n > 1 ? imp_unary(c, &tn_op_nn_batch_flatten, x) : imp_reshape(c, x, 2, dim);
}

tn_value imp_layer_dense(imp_node *c, tn_value x, tn_value weight, tn_value bias)
{
    imp_zeros none;
    if (is_quantised(x))
        none = (imp_zeros){imp_const(c, imp_type(x)->dtype, 0), imp_const(c, imp_type(weight)->dtype, 0)};
    return imp_bias_add(c, imp_dense(c, x, weight, is_quantised(x) ? &none : NULL), bias, -1);
}

tn_value imp_softmax(imp_node *c, const tn_op *op, tn_value x, int64_t axis)
{
    tn_axis_attr a = {axis};
    return imp_call1(c, op, &a, x);
}

tn_value imp_batch_norm(imp_node *c, const tn_value in[5], int64_t axis, double epsilon)
{
    tn_batch_norm_attr a = {axis, epsilon, true, true};
    return imp_call(c, &tn_op_nn_batch_norm, &a, 5, in);
}

tn_value imp_along(imp_node *c, tn_value v, int axis, int rank)
{
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad || rank > IMP_MAX_RANK)
        return (tn_value){0};
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? imp_product(c, imp_type(v), 0, imp_rank(v)) : tn_idx(c->pool, 1);
    return imp_reshape(c, v, rank, dim);
}

tn_value imp_resize2d(imp_node *c, tn_value x, const tn_expr *h, const tn_expr *w, const char *method,
                      const char *mode)
{
    const tn_expr *size[2] = {h, w};
    tn_resize_attr a;
    if (c->bad || tn_attr_init(c->pool, tn_op_image_resize2d.attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    a.method = method;
    a.coordinate_transformation_mode = mode;
    a.rounding_method = "floor"; /* nearest_neighbor alone asks */
    return imp_resize(c, x, false, (tn_dims){2, size}, a);
}
