/* Tensors made from positions, and running sums: Trilu, EyeLike, Range, Tile, CumSum, CumProd. */
#include "frontend/onnx/flow.h"

#include "op/tensor/tensor.h"

#include <math.h>

void onnx_trilu(imp_node *c)
{
    tn_value x = imp_in(c, 0), k = imp_opt(c, 1);
    tn_trilu_attr a = {imp_attr_int(c, "upper", 1) != 0};
    if (!k.def)
        k = imp_const(c, TN_I64, 0);
    else if (imp_rank(k) > 0)
        k = imp_reshape(c, k, 0, NULL);
    imp_out(c, 0, imp_call2(c, &tn_op_trilu, &a, x, k));
}

static void eye_like(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    tn_eye_attr a = {{t->n, t->dim}, imp_attr_int(c, "k", 0), t->dtype};
    if (imp_has_attr(c, "dtype") &&
        !onnx_dtype(c->im, imp_attr_int(c, "dtype", 0), "the result", c->loc, &a.dtype))
        c->bad = true;
    imp_out(c, 0, imp_call(c, &tn_op_eye, &a, 0, NULL));
}

/* ---- Range ---- */

static void range(imp_node *c)
{
    tn_value in[3];
    imp_attr_ignore(c, "stash_type"); /* 16-bit floats are computed in float32 */
    for (uint32_t i = 0; i < 3; i++) {
        in[i] = imp_in(c, i);
        in[i] = imp_rank(in[i]) > 0 ? imp_reshape(c, in[i], 0, NULL) : in[i];
    }
    imp_out(c, 0, imp_range(c, in));
}

/* ---- Tile: before opset 6 along one axis, else one count a dimension ---- */

static void tile(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_tile_attr a = {{0}};
    if (c->version >= 6 && !onnx_fix_length(c, 1, imp_rank(x), imp_rank(x)))
        return;
    if (c->version >= 6) {
        a.reps = imp_extents_in(c, imp_in(c, 1), "repeats");
    } else {
        int64_t times = imp_int_in(c, imp_in(c, 1), "tiles");
        int axis = imp_axis(c, imp_int_in(c, imp_in(c, 2), "axis"), imp_rank(x));
        const tn_expr **reps = TN_NEW_N(c->arena, const tn_expr *, IMP_MAX_RANK);
        for (int i = 0; i < imp_rank(x); i++)
            reps[i] = tn_idx(c->pool, i == axis ? times : 1);
        a.reps = (tn_dims){(uint32_t)imp_rank(x), reps};
    }
    if (!c->bad && a.reps.n != (uint32_t)imp_rank(x))
        imp_fail(c, "onnx-E009", "repeats has %u entries, but the operand is %s; the model is damaged",
                 (unsigned)a.reps.n, imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_call1(c, &tn_op_tile, &a, x));
}

/* ---- CumSum, CumProd: 16-bit floats are added in float32 ---- */

static void scan(imp_node *c)
{
    tn_value x = imp_in(c, 0), y;
    tn_dtype t = imp_type(x)->dtype;
    tn_scan_attr a = {.exclusive = imp_attr_int(c, "exclusive", 0) != 0,
                      .reverse = imp_attr_int(c, "reverse", 0) != 0};
    if (tn_dtype_is_small(t))
        x = imp_cast(c, x, TN_F32);
    if (imp_is_late(c, 1) && imp_rank(x) > 0) {
        a.axis = 1;
        tn_value at = imp_positions_of(c, imp_in(c, 1), imp_rank(x));
        y = imp_call1(c, c->row->relay, &a, imp_around(c, x, imp_shape_of(c, x), at));
        y = c->bad ? y : imp_checked_reshape(c, y, (tn_dims){imp_type(x)->n, imp_type(x)->dim});
    } else {
        a.axis = imp_int_in(c, imp_in(c, 1), "axis");
        y = imp_call1(c, c->row->relay, &a, x);
    }
    imp_out(c, 0, imp_cast(c, y, t));
}

// clang-format off
const imp_row onnx_rows_pattern[] = {
    {"Trilu",   14,  0, 2, 1, onnx_trilu, NULL},
    {"EyeLike",  9,  0, 1, 1, eye_like, NULL},
    {"Range",   11,  0, 3, 1, range,    NULL},
    {"Tile",     1,  5, 3, 1, tile,     NULL},
    {"Tile",     6,  0, 2, 1, tile,     NULL},
    {"CumSum",  11,  0, 2, 1, scan,     &tn_op_cumsum},
    {"CumProd", 26,  0, 2, 1, scan,     &tn_op_cumprod},
    {0},
};
// clang-format on
