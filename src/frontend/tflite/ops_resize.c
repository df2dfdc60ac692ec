/* Resizing: RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR. */
#include "frontend/tflite/quant.h"

#include <math.h>

enum { BITS = 10 }; /* of the weights of signed integers */

typedef struct how {
    bool corners, half;
} how;

/* ---- signed integers: weights in fixed point, one rounding ---- */

/* Where results lie between elements of a dimension: indices and weights (of 1 << BITS) of the two beside each. */
typedef struct between {
    int64_t n;
    int64_t *at[2], *weight[2];
} between;

static between between_of(imp_node *c, int64_t in, int64_t out, const how *h)
{
    between b = {.n = out};
    const int64_t one = INT64_C(1) << BITS;
    int64_t step = (one * in + out / 2) / out;
    for (int k = 0; k < 2; k++) {
        b.at[k] = TN_NEW_N(c->arena, int64_t, (size_t)out);
        b.weight[k] = TN_NEW_N(c->arena, int64_t, (size_t)out);
    }
    if (h->corners && out > 1)
        step = (one * (in - 1) + (out - 1) / 2) / (out - 1);
    for (int64_t i = 0; i < out; i++) {
        int64_t v = i * step + (h->half ? step / 2 - one / 2 : 0);
        int64_t low = v / one > 0 ? v / one : 0, high = (v + one - 1) / one;
        b.at[0][i] = low < in ? low : in - 1;
        b.at[1][i] = high < in ? high : in - 1;
        b.weight[1][i] = v - one * low;
        b.weight[0][i] = one - b.weight[1][i];
    }
    return b;
}

/* x, of integers, with dimension `axis` as `b` says; no rounding. */
static tn_value blended(imp_node *c, tn_value x, int axis, const between *b)
{
    tn_value part[2];
    for (int k = 0; k < 2; k++) {
        tn_value at = imp_const_ints(c, TN_I64, 1, (uint32_t)b->n, b->at[k]);
        tn_value weight = imp_const_ints(c, imp_type(x)->dtype, 1, (uint32_t)b->n, b->weight[k]);
        tn_expand_dims_attr behind = {1, imp_rank(x) - 1 - axis};
        weight = imp_call1(c, &tn_op_expand_dims, &behind, weight);
        part[k] = imp_binary(c, &tn_op_multiply, imp_take(c, x, at, axis), weight);
    }
    return imp_binary(c, &tn_op_add, part[0], part[1]);
}

/* Ties of the sums, in units of 1 << 2 * BITS, go away from 0. */
static tn_value integer_bilinear(imp_node *c, tn_value x, const int64_t in[2], const int64_t out[2],
                                 const how *h)
{
    tn_dtype t = imp_type(x)->dtype, wide = t.bits == 8 ? TN_I32 : TN_I64;
    between rows = between_of(c, in[0], out[0], h), columns = between_of(c, in[1], out[1], h);
    tn_value v = blended(c, blended(c, imp_cast(c, x, wide), 1, &rows), 2, &columns);
    double half = (double)(INT64_C(1) << (2 * BITS - 1));
    tn_value above = tfl_with(c, &tn_op_greater, v, 0), up = imp_const(c, wide, half);
    v = imp_binary(c, &tn_op_add, v, imp_choose(c, above, up, imp_const(c, wide, -half)));
    return imp_cast(c, tfl_with(c, &tn_op_trunc_divide, v, 2 * half), t);
}

/* ---- uint8: float32, in the order of the reference kernel; a half is added and the rest cut off ---- */

static between real_between(imp_node *c, int64_t in, int64_t out, const how *h, float *weight[2])
{
    between b = {.n = out};
    float step = (float)in / (float)out;
    for (int k = 0; k < 2; k++) {
        b.at[k] = TN_NEW_N(c->arena, int64_t, (size_t)out);
        weight[k] = TN_NEW_N(c->arena, float, (size_t)out);
    }
    if (h->corners && out > 1)
        step = (float)(in - 1) / (float)(out - 1);
    for (int64_t i = 0; i < out; i++) {
        float v = h->half ? ((float)i + 0.5f) * step - 0.5f : (float)i * step;
        int64_t low = (int64_t)floorf(v), high = (int64_t)ceilf(v);
        b.at[0][i] = low < 0 ? 0 : low < in ? low : in - 1;
        b.at[1][i] = high < in ? high : in - 1;
        weight[1][i] = v - (float)b.at[0][i];
        weight[0][i] = 1 - weight[1][i];
    }
    return b;
}

static tn_value weights_of(imp_node *c, int64_t n, const float *at, int more)
{
    tn_value v = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, at, NULL));
    tn_expand_dims_attr behind = {1, more};
    return imp_call1(c, &tn_op_expand_dims, &behind, v);
}

static tn_value byte_bilinear(imp_node *c, tn_value x, const int64_t in[2], const int64_t out[2],
                              const how *h)
{
    float *weight[2][2];
    between b[2];
    tn_value sum = {0}, at[2][2], factor[2][2];
    for (int d = 0; d < 2; d++) {
        b[d] = real_between(c, in[d], out[d], h, weight[d]);
        for (int k = 0; k < 2 && !c->bad; k++) {
            at[d][k] = imp_const_ints(c, TN_I64, 1, (uint32_t)b[d].n, b[d].at[k]);
            factor[d][k] = imp_cast(c, weights_of(c, b[d].n, weight[d][k], 2 - d), d ? TN_F64 : TN_F32);
        }
    }
    for (int k = 0; k < 4 && !c->bad; k++) {
        int row = k & 1, column = k >> 1;
        tn_value v = imp_take(c, imp_take(c, x, at[0][row], 1), at[1][column], 2);
        v = imp_binary(c, &tn_op_multiply, imp_cast(c, v, TN_F32), factor[0][row]);
        /* exact, then rounded: the reference has no fused multiply-add */
        v = imp_cast(c, v, TN_F64);
        v = imp_cast(c, imp_binary(c, &tn_op_multiply, v, factor[1][column]), TN_F32);
        sum = k ? imp_binary(c, &tn_op_add, sum, v) : v;
    }
    return imp_cast(c, imp_unary(c, &tn_op_floor, tfl_with(c, &tn_op_add, sum, 0.5)), TN_U8);
}

/* ---- all ---- */

/* Of integers, with extents that are known: written to in and out. */
static bool is_integer_form(tn_value x, const tn_dims *size, int64_t in[2], int64_t out[2])
{
    const tn_type *t = imp_type(x);
    bool is = t->n == 4 && tn_dtype_is_int(t->dtype) && t->dtype.bits <= 16;
    for (int i = 0; i < 2 && is; i++)
        is = tn_is_int(t->dim[1 + i], &in[i]) && tn_is_int(size->at[i], &out[i]) && in[i] > 0 && out[i] > 0 &&
             in[i] < 1 << 20 && out[i] < 1 << 20;
    return is;
}

static tn_resize_attr attr_of(bool nearest, const how *h)
{
    return (tn_resize_attr){.method = nearest ? "nearest_neighbor" : "linear",
                            .coordinate_transformation_mode =
                                h->corners ? "align_corners"
                                : h->half  ? nearest ? "tf_half_pixel_for_nn" : "half_pixel"
                                           : "asymmetric",
                            .rounding_method = !nearest     ? "round"
                                               : h->corners ? "round_prefer_ceil"
                                                            : "floor",
                            .cubic_alpha = -0.5};
}

static void resize(imp_node *c)
{
    bool nearest = c->row->op[7] == 'N';
    how h = {imp_attr_int(c, "align_corners", 0) != 0, imp_attr_int(c, "half_pixel_centers", 0) != 0};
    tn_dims size = imp_extents_in(c, imp_in(c, 1), "size");
    tn_value x = imp_in(c, 0);
    int64_t in[2], out[2];
    if (!c->bad && (size.n != 2 || imp_rank(x) != 4))
        imp_refuse(c, IMP_BAD_VALUE,
                   "the size has %u entries for %s, but images of four dimensions are resized",
                   (unsigned)size.n, imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    if (!nearest && is_integer_form(x, &size, in, out)) {
        bool bytes = imp_type(x)->dtype.code == TN_UINT;
        imp_out(c, 0, (bytes ? byte_bilinear : integer_bilinear)(c, x, in, out, &h));
        return;
    }
    tn_value y = imp_resize(c, nearest ? x : tfl_real(c, 0), true, size, attr_of(nearest, &h));
    tfl_give(c, 0, y);
}

// clang-format off
const imp_row tfl_rows_resize[] = {
    {"RESIZE_BILINEAR",         1, 0, 2, 1, resize, NULL},
    {"RESIZE_NEAREST_NEIGHBOR", 1, 0, 2, 1, resize, NULL},
    {0},
};
// clang-format on
