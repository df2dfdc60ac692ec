/* Shapes and constants: Reshape, Flatten, Squeeze, Unsqueeze, Shape, Size, Constant, ConstantOfShape, Cast. */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* ---- Reshape, Flatten ---- */

static void reshape(onnx_conv *c)
{
    tn_ints list;
    tn_value x = onnx_in(c, 0);
    bool allow_zero = onnx_attr_int(c, "allowzero", 0) != 0;
    tn_dims shape = {0};
    onnx_attr_ignore(c, "consumed_inputs");
    if (c->opset >= 5 && onnx_dynamic_reshape(c, x, onnx_in(c, 1), allow_zero))
        return;
    if (c->opset >= 5) {
        shape = onnx_host_in(c, onnx_in(c, 1), "the shape");
    } else {
        onnx_attr_need(c, "shape");
        (void)onnx_attr_ints(c, "shape", &list);
        const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, list.n);
        for (uint32_t i = 0; i < list.n; i++)
            e[i] = tn_idx(c->pool, list.at[i]);
        shape = (tn_dims){list.n, e};
    }
    tn_reshape_attr a = {tn_dims_make(c->arena, shape.n, shape.at), allow_zero};
    onnx_out(c, 0, onnx_reshape_to(c, x, &a));
}

static void flatten(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    const tn_type *t = onnx_type(x);
    int64_t axis = onnx_attr_int(c, "axis", 1);
    if (axis < -t->n || axis > t->n)
        onnx_fail(c, "onnx-E009", "axis %lld is outside of [%d, %d]", (long long)axis, -t->n, t->n);
    if (c->bad)
        return;
    axis = axis < 0 ? axis + t->n : axis;
    const tn_expr *dim[2] = {onnx_product(c, t, 0, (int)axis), onnx_product(c, t, (int)axis, t->n)};
    onnx_out(c, 0, axis == 1 ? onnx_call1(c, &tn_op_nn_batch_flatten, NULL, x) : onnx_reshape(c, x, 2, dim));
}

/* ---- Squeeze, Unsqueeze ---- */

static void squeeze(onnx_conv *c)
{
    tn_squeeze_attr a = {0};
    tn_value x = onnx_in(c, 0);
    bool given = onnx_ints_arg(c, "axes", 13, 1, &a.axis);
    for (int d = 0; d < onnx_rank(x) && !given; d++)
        if (onnx_type(x)->dim[d]->kind != TN_E_INT)
            (void)tn_report(
                c->g->ctx, TN_WARNING, "onnx-W003", c->loc,
                "dimension %d of %s is kept, as it is not known to be 1; give the axes, or fixed shapes", d,
                onnx_type_text(c, onnx_type(x)));
    onnx_out(c, 0, given && a.axis.n == 0 ? x : onnx_call1(c, &tn_op_squeeze, &a, x));
}

/* Axes count in the result. */
static void unsqueeze(onnx_conv *c)
{
    tn_ints axes;
    tn_value x = onnx_in(c, 0);
    bool fresh[ONNX_MAX_RANK] = {false};
    if (!onnx_ints_arg(c, "axes", 13, 1, &axes))
        onnx_fail(c, "onnx-E007", "axes are missing; the model is damaged");
    int rank = onnx_rank(x) + (int)(axes.n < 100 ? axes.n : 100);
    if (rank > ONNX_MAX_RANK)
        onnx_fail(c, "onnx-E022", "the result would have %d dimensions; at most %d are supported", rank,
                  ONNX_MAX_RANK);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++) {
        int at = onnx_axis(c, axes.at[i], rank);
        if (fresh[at])
            onnx_fail(c, "onnx-E009", "axes contains axis %d twice; the model is damaged", at);
        fresh[at] = true;
    }
    for (int i = 0, n; i < rank && !c->bad; i += n + 1) { /* a run of new axes at once, from the front */
        for (n = 0; i + n < rank && fresh[i + n]; n++) {}
        tn_expand_dims_attr a = {i, n};
        x = n ? onnx_call1(c, &tn_op_expand_dims, &a, x) : x;
    }
    onnx_out(c, 0, x);
}

/* ---- Shape, Size ---- */

static void shape(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    tn_cast_attr t = {TN_I64};
    int64_t rank = onnx_rank(x), start = 0, end = rank;
    if (c->opset >= 15) {
        start = onnx_attr_int(c, "start", 0);
        end = onnx_attr_int(c, "end", rank);
    }
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end > rank ? rank : end < start ? start : end;
    if (c->bad)
        return;
    if (start == end) {
        onnx_out(c, 0, onnx_const_ints(c, TN_I64, 1, 0, NULL));
        return;
    }
    tn_value s = onnx_call1(c, &tn_op_shape_of, &t, x);
    tn_slice_attr a = {tn_make_dims(c->g, 1, &start), tn_make_dims(c->g, 1, &end), {0}, {0}};
    onnx_out(c, 0, end - start == rank ? s : onnx_call1(c, &tn_op_strided_slice, &a, s));
}

static void size(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    tn_cast_attr t = {TN_I64};
    if (c->bad)
        return;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, 1);
    e[0] = onnx_product(c, onnx_type(x), 0, onnx_rank(x));
    int64_t n;
    if (tn_is_int(e[0], &n)) {
        onnx_out(c, 0, onnx_const_ints(c, TN_I64, 0, 1, &n));
        return;
    }
    tn_value v = onnx_call1(c, &tn_op_prod, NULL, onnx_call1(c, &tn_op_shape_of, &t, x));
    if (!c->bad)
        onnx_set_host(c, v, (tn_dims){1, e});
    onnx_out(c, 0, v);
}

/* ---- constants ---- */

static tn_value float_list(onnx_conv *c, const tn_pb_array *f)
{
    int64_t n = (int64_t)f->n;
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, f->at, c->loc->node));
}

/* Exactly one of the value attributes is there. */
static void constant(onnx_conv *c)
{
    const onnx_tensor *t = onnx_attr_tensor(c, "value");
    const onnx_attr *a = NULL;
    tn_ints ints;
    if (t) {
        tn_node *n = onnx_constant(c->im, t, c->loc->node, c->loc);
        c->bad = c->bad || !n;
        onnx_out(c, 0, (tn_value){n, 0});
    } else if (onnx_has_attr(c, "value_int")) {
        int64_t v = onnx_attr_int(c, "value_int", 0);
        onnx_out(c, 0, onnx_const_ints(c, TN_I64, 0, 1, &v));
    } else if (onnx_has_attr(c, "value_ints") && onnx_attr_ints(c, "value_ints", &ints)) {
        onnx_out(c, 0, onnx_const_ints(c, TN_I64, 1, ints.n, ints.at));
    } else if (onnx_has_attr(c, "value_float")) {
        onnx_out(c, 0, onnx_const(c, TN_F32, onnx_attr_float(c, "value_float", 0)));
    } else if ((a = onnx_attr_find(c, "value_floats", ONNX_A_FLOATS))) {
        onnx_out(c, 0, float_list(c, &a->floats));
    } else if (c->node->attribute.n == 0) {
        onnx_fail(c, "onnx-E007", "attribute value is missing; the model is damaged");
    }
}

static void constant_of_shape(onnx_conv *c)
{
    tn_dims shape = onnx_extents_in(c, onnx_in(c, 0), "the shape");
    const onnx_tensor *t = onnx_attr_tensor(c, "value");
    tn_value v = onnx_const(c, TN_F32, 0);
    if (t && !c->bad) {
        tn_node *n = onnx_constant(c->im, t, c->loc->node, c->loc);
        c->bad = !n;
        v = onnx_reshape(c, (tn_value){n, 0}, 0, NULL);
    }
    if (shape.n > ONNX_MAX_RANK)
        onnx_fail(c, "onnx-E022", "the shape has %u dimensions; at most %d are supported", (unsigned)shape.n,
                  ONNX_MAX_RANK);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, shape.n, shape.at)};
    onnx_out(c, 0, shape.n ? onnx_call1(c, &tn_op_broadcast_to, &a, v) : v);
}

/* ---- Cast ---- */

static void cast(onnx_conv *c)
{
    tn_dtype t = TN_F32;
    tn_value x = onnx_in(c, 0);
    onnx_attr_ignore(c, "saturate");   /* of 8-bit floats, which are not supported */
    onnx_attr_ignore(c, "round_mode"); /* the same */
    onnx_attr_need(c, "to");
    if (c->opset < 6) {
        const char *name = onnx_attr_string(c, "to", "");
        if (!c->bad && !onnx_dtype_by_name(name, &t))
            onnx_fail(c, "onnx-E011", "the result has type %s, which is not supported", name);
    } else if (!c->bad && !onnx_dtype(c->im, onnx_attr_int(c, "to", 0), "the result", c->loc, &t)) {
        c->bad = true;
    }
    onnx_out(c, 0, onnx_cast(c, x, t));
}

static void cast_like(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0), like = onnx_in(c, 1);
    onnx_attr_ignore(c, "saturate");
    onnx_attr_ignore(c, "round_mode");
    onnx_out(c, 0, onnx_cast(c, x, onnx_type(like)->dtype));
}

// clang-format off
const onnx_row onnx_rows_shape[] = {
    {"Reshape",          1,  4, 1, 1, reshape,           NULL},
    {"Reshape",          5, 28, 2, 1, reshape,           NULL},
    {"Flatten",          1, 28, 1, 1, flatten,           NULL},
    {"Squeeze",          1, 28, 2, 1, squeeze,           NULL},
    {"Unsqueeze",        1, 28, 2, 1, unsqueeze,         NULL},
    {"Shape",            1, 28, 1, 1, shape,             NULL},
    {"Size",             1, 28, 1, 1, size,              NULL},
    {"Constant",         1, 28, 0, 1, constant,          NULL},
    {"ConstantOfShape",  9, 28, 1, 1, constant_of_shape, NULL},
    {"Cast",             1, 28, 1, 1, cast,              NULL},
    {"CastLike",        15, 28, 2, 1, cast_like,         NULL},
    {0},
};
// clang-format on
