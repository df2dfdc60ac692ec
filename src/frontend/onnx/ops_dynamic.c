/* Operators whose extents depend on data: NonZero, Compress, Unique, NonMaxSuppression; and target shapes that the
 * model computes while it runs (Reshape, Expand, Slice, Range). What they are is worked out by operators on small
 * integer tensors, then bound to symbols, which the types of the results name. */
#include "frontend/onnx/onnx.h"

#include "op/control/control.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

#include <string.h>

/* ---- NonZero ---- */

static void nonzero(imp_node *c)
{
    tn_value x = imp_in(c, 0), at, row[IMP_MAX_RANK];
    const tn_type *t = imp_type(x);
    int rank = t->n ? t->n : 1;
    if (c->bad)
        return;
    at = imp_positions(c, imp_flat(c, imp_cast(c, x, TN_BOOL1)));
    for (int d = rank - 1; d >= 0 && !c->bad; d--) { /* the last index runs fastest */
        if (d == 0) {
            row[d] = imp_unsqueeze(c, at, 0);
            break;
        }
        const tn_expr *e = t->dim[d];
        int64_t n;
        tn_value extent = tn_is_int(e, &n) ? imp_i64(c, n) : imp_extent_of(c, x, d);
        tn_value above = imp_binary(c, &tn_op_divide, at, extent);
        row[d] = imp_unsqueeze(
            c, imp_binary(c, &tn_op_subtract, at, imp_binary(c, &tn_op_multiply, above, extent)), 0);
        at = above;
    }
    tn_axis_attr a = {0};
    imp_out(c, 0, rank == 1 ? row[0] : imp_call(c, &tn_op_concatenate, &a, rank, row));
}

/* ---- Compress ---- */

/* Conditions beyond the axis count as false. */
static tn_value inside(imp_node *c, tn_value condition, tn_value x, int axis)
{
    const tn_expr *n = imp_type(condition)->dim[0], *extent = imp_type(x)->dim[axis];
    int64_t given, there, none = 0;
    bool constant = tn_is_int(n, &given) && tn_is_int(extent, &there);
    if (n == extent || (constant && given <= there))
        return condition;
    if (constant) {
        tn_slice_attr front = {tn_make_dims(c->g, 1, &none), tn_make_dims(c->g, 1, &there), {0}, {0}};
        return imp_call1(c, &tn_op_strided_slice, &front, condition);
    }
    tn_value at = imp_count_up(c, n), size = imp_extent_of(c, x, axis);
    tn_value reach = imp_binary(c, &tn_op_less, at, size);
    return imp_binary(c, &tn_op_logical_and, condition, reach);
}

static void compress(imp_node *c)
{
    tn_value x = imp_in(c, 0), condition = imp_in(c, 1);
    bool along = imp_has_attr(c, "axis");
    int64_t given = imp_attr_int(c, "axis", 0);
    if (c->bad)
        return;
    x = along ? x : imp_flat(c, x);
    int axis = along ? imp_axis(c, given, imp_rank(x)) : 0;
    if (imp_rank(condition) != 1)
        imp_fail(c, "onnx-E009", "the condition is %s, but must have one dimension",
                 imp_type_text(c, imp_type(condition)));
    if (c->bad)
        return;
    condition = inside(c, imp_cast(c, condition, TN_BOOL1), x, axis);
    imp_out(c, 0, imp_take(c, x, imp_positions(c, condition), axis));
}

/* ---- Unique ---- */

static void unique(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool along = imp_has_attr(c, "axis"), sorted = imp_attr_int(c, "sorted", 1) != 0;
    int64_t given = imp_attr_int(c, "axis", 0);
    if (c->bad)
        return;
    x = along ? x : imp_flat(c, x);
    imp_unique u =
        imp_unique_of(c, x, along ? imp_axis(c, given, imp_rank(x)) : 0, sorted ? IMP_UNIQUE_SORTED : 0);
    const tn_value out[] = {u.x, u.index, u.inverse, u.count};
    for (uint32_t i = 0; i < 4; i++)
        imp_out_any(c, i, out[i]);
}

/* ---- NonMaxSuppression ---- */

static tn_value scalar_or(imp_node *c, uint32_t i, tn_dtype t, double def)
{
    tn_value v = imp_opt(c, i);
    if (!v.def)
        return imp_const(c, t, def);
    v = imp_cast(c, v, t);
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

static void nms(imp_node *c)
{
    tn_value boxes = imp_in(c, 0), scores = imp_in(c, 1);
    tn_nms_attr a = {imp_attr_int(c, "center_point_box", 0) != 0};
    if (imp_rank(scores) != 3)
        imp_fail(c, "onnx-E009", "the scores are %s, but must have three dimensions",
                 imp_type_text(c, imp_type(scores)));
    if (c->bad)
        return;
    tn_value in[5] = {boxes, scores, scalar_or(c, 2, TN_I64, 0), scalar_or(c, 3, TN_F32, 0),
                      scalar_or(c, 4, TN_F32, -3.4028234663852886e38)};
    tn_value chosen = imp_flat(c, imp_call(c, &tn_op_vision_nms_select, &a, 5, in));
    tn_value at = imp_positions(c, imp_binary(c, &tn_op_greater_equal, chosen, imp_i64(c, 0)));
    tn_value n = imp_extent_of(c, scores, 2), classes = imp_extent_of(c, scores, 1);
    tn_value pair = imp_binary(c, &tn_op_divide, at, n), batch = imp_binary(c, &tn_op_divide, pair, classes);
    tn_value which = imp_binary(c, &tn_op_subtract, pair, imp_binary(c, &tn_op_multiply, batch, classes));
    const tn_value column[3] = {imp_unsqueeze(c, batch, 1), imp_unsqueeze(c, which, 1),
                                imp_unsqueeze(c, imp_take(c, chosen, at, 0), 1)};
    tn_axis_attr axis = {1};
    imp_out(c, 0, imp_call(c, &tn_op_concatenate, &axis, 3, column));
}

// clang-format off
const imp_row onnx_rows_dynamic[] = {
    {"NonZero",            9,  0, 1, 1, nonzero,  NULL},
    {"Compress",           9,  0, 2, 1, compress, NULL},
    {"Unique",            11,  0, 1, 4, unique,   NULL},
    {"NonMaxSuppression", 10,  0, 5, 1, nms,      NULL},
    {0},
};
// clang-format on
