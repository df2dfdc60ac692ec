/* Custom operators of MediaPipe for landmarks: the affine matrix that lays a part of an image, round some landmarks and
 * turned so that two of them lie level, over a picture of its own; that picture; and landmarks of it back in the image.
 *
 * A matrix is [1,4,4], of which the first two rows count: x' = m0 x + m1 y + m3, y' = m4 x + m5 y + m7. Version 1 of
 * the operators knows landmarks in a range of their own, version 2 in pixels of the image: factors `unit` and `part`
 * are the difference. */
#include "frontend/import/crop.h"
#include "frontend/tflite/tflite.h"

#include <math.h>
#include <string.h>

enum { MATRIX = 16 };

static tn_value plus(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }
static tn_value times(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }
/* a b op c d */
static tn_value crossed(imp_node *c, const tn_op *op, tn_value a, tn_value b, const tn_value cd[2])
{
    tn_value first = times(c, a, b), second = times(c, cd[0], cd[1]);
    return imp_binary(c, op, first, second);
}

static tn_value scaled(imp_node *c, tn_value v, double by) { return imp_with(c, &tn_op_multiply, v, by); }
static tn_value moved(imp_node *c, tn_value v, double by) { return imp_with(c, &tn_op_add, v, by); }

/* Column i of rows: [n]. */
static tn_value column(imp_node *c, tn_value rows, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, rows, 1, i, i + 1), 1);
}

/* ---- matrices ---- */

typedef struct affine {
    tn_value x[3], y[3]; /* float32, rank 0: the factors of x, of y, and what is added */
} affine;

static affine matrix_of(imp_node *c, uint32_t operand)
{
    affine m = {{{0}}, {{0}}};
    tn_value v = imp_flat(c, tfl_real(c, operand));
    if (!c->bad && imp_length(v) != MATRIX)
        imp_refuse(c, IMP_OPERANDS, "operand %s must be a matrix of 4 x 4 elements",
                   imp_type_text(c, imp_type(imp_in(c, operand))));
    for (int64_t i = 0; i < 3 && !c->bad; i++) {
        int64_t at = i < 2 ? i : 3;
        m.x[i] = imp_squeeze(c, imp_slice(c, v, 0, at, at + 1), 0);
        m.y[i] = imp_squeeze(c, imp_slice(c, v, 0, at + 4, at + 5), 0);
    }
    return m;
}

static tn_value applied(imp_node *c, const tn_value row[3], tn_value x, tn_value y)
{
    tn_value along = times(c, x, row[0]), across = times(c, y, row[1]);
    return plus(c, plus(c, along, across), row[2]);
}

static void give_matrix(imp_node *c, const affine *m)
{
    const tn_expr *dim[3] = {tn_idx(c->pool, 1), tn_idx(c->pool, 4), tn_idx(c->pool, 4)};
    tn_value zero = imp_const(c, TN_F32, 0), one = imp_const(c, TN_F32, 1);
    tn_value part[MATRIX] = {m->x[0], m->x[1], zero, m->x[2], m->y[0], m->y[1], zero, m->y[2],
                             zero,    zero,    one,  zero,    zero,    zero,    zero, one};
    for (int i = 0; i < MATRIX; i++)
        part[i] = imp_unsqueeze(c, part[i], 0);
    imp_out(c, 0, imp_reshape(c, imp_concat(c, MATRIX, part, 0), 3, dim));
}

/* ---- Landmarks2TransformMatrix ---- */

typedef struct frame {
    tn_ints subset;      /* the landmarks that must be inside */
    int64_t left, right; /* those that lie level */
    double angle;        /* ... or turned by this */
    double scale[2];     /* of the part */
    double unit[2];      /* pixels of the image in a step of a landmark */
    double part[2];      /* one step of the picture in the part */
    bool half;           /* the angle is that of a line, not of an arrow */
} frame;

/* Extents as height and width. */
static bool size_of(imp_node *c, const char *name, int64_t out[2])
{
    tn_ints v;
    imp_attr_need(c, name);
    if (c->bad || !imp_attr_ints(c, name, &v))
        return false;
    if (v.n != 2 || v.at[0] < 1 || v.at[1] < 1 || v.at[0] > INT32_MAX || v.at[1] > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s must be a height and a width; the model is damaged", name);
    else
        out[0] = v.at[0], out[1] = v.at[1];
    return !c->bad;
}

static int64_t extent_of(imp_node *c, const char *name)
{
    int64_t n = imp_attr_int(c, name, 0);
    if (n < 1 || n > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s is %lld, which is no extent; the model is damaged", name,
                   (long long)n);
    return n;
}

static void read_first(imp_node *c, frame *f)
{
    int64_t in[2] = {0}, out[2] = {0}, range = extent_of(c, "landmarks_range");
    double scale = imp_attr_float(c, "bbox_size_multiplier", 0);
    if (!size_of(c, "input_hw", in) || !size_of(c, "output_hw", out))
        return;
    if (imp_attr_int(c, "dimensions", 3) != 3)
        imp_refuse(c, IMP_BAD_VALUE, "only landmarks of three numbers are supported");
    for (int i = 0; i < 2; i++) { /* width, height */
        f->scale[i] = scale;
        f->unit[i] = (double)(in[1 - i] - 1) / (double)range;
        f->part[i] = 1 / ((double)out[1 - i] - 1);
    }
    f->half = true;
}

static void read_second(imp_node *c, frame *f)
{
    f->scale[0] = imp_attr_float(c, "scale_x", 1);
    f->scale[1] = imp_attr_float(c, "scale_y", 1);
    f->part[0] = 1 / (double)extent_of(c, "output_width");
    f->part[1] = 1 / (double)extent_of(c, "output_height");
    f->angle = imp_attr_float(c, "target_rotation_radians", 0);
    f->unit[0] = f->unit[1] = 1;
}

/* false: refused. count: landmarks that there are. */
static bool read_frame(imp_node *c, int64_t count, frame *f)
{
    bool second = c->version > 1;
    const char *name = second ? "subset_idxs" : "subset";
    f->left = imp_attr_int(c, "left_rotation_idx", -1);
    f->right = imp_attr_int(c, "right_rotation_idx", -1);
    bool inside = imp_attr_ints(c, name, &f->subset) && f->subset.n > 0;
    for (uint32_t i = 0; i < f->subset.n; i++)
        inside = inside && f->subset.at[i] >= 0 && f->subset.at[i] < count;
    if (!inside || f->left < 0 || f->left >= count || f->right < 0 || f->right >= count)
        imp_refuse(c, IMP_BAD_VALUE, "its options name landmarks that do not exist; there are %lld",
                   (long long)count);
    if (!c->bad)
        (second ? read_second : read_first)(c, f);
    return !c->bad;
}

/* Cosine and sine of the angle by which landmarks [n,3] must be turned. */
static void turn_of(imp_node *c, tn_value marks, const frame *f, tn_value *out_cos, tn_value *out_sin)
{
    const int64_t pair[2] = {f->left, f->right};
    tn_value ends = imp_take(c, marks, imp_const_ints(c, TN_I64, 1, 2, pair), 0), side[2];
    for (int i = 0; i < 2; i++) {
        tn_value at = column(c, ends, i);
        tn_value left = imp_slice(c, at, 0, 0, 1), right = imp_slice(c, at, 0, 1, 2);
        side[i] = imp_binary(c, &tn_op_subtract, right, left);
    }
    const tn_value down[2] = {side[1], side[1]};
    tn_value squares = crossed(c, &tn_op_add, side[0], side[0], down);
    tn_value length = imp_unary(c, &tn_op_sqrt, squares);
    tn_value apart = imp_with(c, &tn_op_greater, length, 0), one = imp_const(c, TN_F32, 1);
    length = imp_choose(c, apart, length, one); /* the same place twice: level */
    tn_value cosine = imp_binary(c, &tn_op_divide, side[0], length),
             sine = imp_binary(c, &tn_op_divide, side[1], length);
    cosine = imp_choose(c, apart, cosine, one);
    if (f->half) {
        tn_value back = imp_with(c, &tn_op_less, side[0], 0);
        cosine = imp_unary(c, &tn_op_abs, cosine);
        sine = imp_choose(c, back, imp_unary(c, &tn_op_negative, sine), sine);
    }
    tn_value to_cos = imp_const(c, TN_F32, cos(f->angle)), to_sin = imp_const(c, TN_F32, sin(f->angle));
    const tn_value with_sin[2] = {sine, to_sin}, with_cos[2] = {sine, to_cos};
    *out_cos = imp_squeeze(c, crossed(c, &tn_op_add, cosine, to_cos, with_sin), 0);
    *out_sin = imp_squeeze(c, crossed(c, &tn_op_subtract, cosine, to_sin, with_cos), 0);
}

/* Middle and extent of numbers [n]. */
static tn_value middle_of(imp_node *c, tn_value v, tn_value *out_extent)
{
    tn_value most = imp_reduce(c, &tn_op_max, v, 0), least = imp_reduce(c, &tn_op_min, v, 0);
    *out_extent = imp_binary(c, &tn_op_subtract, most, least);
    return scaled(c, plus(c, most, least), 0.5);
}

static void landmarks_to_matrix(imp_node *c)
{
    frame f = {.subset = {0}};
    affine m;
    tn_value v = imp_flat(c, tfl_real(c, 0)), cosine, sine, size[2], middle[2], turned[2];
    int64_t count = imp_length(v) / 3;
    const tn_expr *dim[2] = {tn_idx(c->pool, count), tn_idx(c->pool, 3)};
    if (!c->bad && (imp_length(v) < 3 || imp_length(v) % 3))
        imp_refuse(c, IMP_OPERANDS, "landmarks %s must be three numbers each, and as many as the model knows",
                   imp_type_text(c, imp_type(imp_in(c, 0))));
    if (c->bad || !read_frame(c, count, &f))
        return;
    v = imp_reshape(c, v, 2, dim);
    turn_of(c, v, &f, &cosine, &sine);
    v = imp_take(c, v, imp_const_ints(c, TN_I64, 1, f.subset.n, f.subset.at), 0);
    tn_value x = column(c, v, 0), y = column(c, v, 1);
    const tn_value y_sine[2] = {y, sine}, y_cosine[2] = {y, cosine};
    turned[0] = crossed(c, &tn_op_subtract, x, cosine, y_sine);
    turned[1] = crossed(c, &tn_op_add, x, sine, y_cosine);
    for (int i = 0; i < 2; i++) {
        middle[i] = middle_of(c, turned[i], &size[i]);
        size[i] = scaled(c, size[i], f.scale[i]);
    }
    /* from the middle of the part to its corner; both are turned back */
    for (int i = 0; i < 2; i++)
        middle[i] = imp_binary(c, &tn_op_subtract, middle[i], scaled(c, size[i], 0.5));
    tn_value minus = imp_unary(c, &tn_op_negative, sine), across[2] = {cosine, minus};
    tn_value along[2] = {sine, cosine};
    for (int i = 0; i < 2; i++) {
        tn_value *row = i ? m.y : m.x;
        const tn_value down[2] = {middle[1], along[i]};
        tn_value at = crossed(c, &tn_op_add, middle[0], across[i], down);
        row[0] = scaled(c, times(c, across[i], size[0]), f.unit[i] * f.part[0]);
        row[1] = scaled(c, times(c, along[i], size[1]), f.unit[i] * f.part[1]);
        row[2] = scaled(c, at, f.unit[i]);
    }
    give_matrix(c, &m);
}

/* ---- TransformLandmarks ---- */

static void transform_landmarks(imp_node *c)
{
    tn_value v = tfl_real(c, 0), part[3];
    affine m = matrix_of(c, 1);
    int rank = imp_rank(v);
    int64_t n = 0;
    if (!c->bad && (rank < 1 || !tn_is_int(imp_type(v)->dim[rank - 1], &n)))
        imp_refuse(c, IMP_OPERANDS, "landmarks %s must have a fixed last dimension",
                   imp_type_text(c, imp_type(v)));
    int64_t each = c->version > 1 ? n : imp_attr_int(c, "dimensions", 0);
    double scale = c->version > 1 ? 1 : imp_attr_float(c, "scale", 0);
    if (!c->bad && ((each != 2 && each != 3) || n % each || scale == 0))
        imp_refuse(c, IMP_BAD_VALUE, "landmarks %s of %lld numbers at scale %g are not supported",
                   imp_type_text(c, imp_type(v)), (long long)each, scale);
    if (c->bad)
        return;
    const tn_type *t = imp_type(v);
    const tn_expr *marks = imp_product(c, t, 0, rank - 1);
    const tn_expr *rows[2] = {imp_simplify(c, tn_mul(c->pool, marks, tn_idx(c->pool, n / each))),
                              tn_idx(c->pool, each)};
    tn_value list = imp_reshape(c, v, 2, rows), x = imp_slice(c, list, 1, 0, 1),
             y = imp_slice(c, list, 1, 1, 2);
    if (scale != 1) {
        m.x[2] = scaled(c, m.x[2], scale);
        m.y[2] = scaled(c, m.y[2], scale);
    }
    part[0] = applied(c, m.x, x, y);
    part[1] = applied(c, m.y, x, y);
    if (each == 3)
        part[2] = imp_slice(c, list, 1, 2, 3);
    imp_out(c, 0, imp_reshape(c, imp_concat(c, (uint32_t)each, part, 1), rank, t->dim));
}

/* ---- TransformTensorBilinear ---- */

/* 0 1 .. n - 1 as float32, in dimension 1 (rows) or 2 of three. */
static tn_value count(imp_node *c, int64_t n, bool rows)
{
    const tn_expr *one = tn_idx(c->pool, 1), *all = tn_idx(c->pool, n);
    const tn_expr *dim[3] = {one, rows ? all : one, rows ? one : all};
    return imp_reshape(c, imp_cast(c, imp_count_up(c, all), TN_F32), 3, dim);
}

/* The image at the places that the matrix gives; 0 outside of it. In version 2 a pixel lies at its centre. */
static void transform_image(imp_node *c)
{
    int64_t size[2] = {0}, first = 0;
    tn_value x = tfl_real(c, 0);
    affine m = matrix_of(c, 1);
    if (c->version > 1) {
        size[0] = extent_of(c, "output_height");
        size[1] = extent_of(c, "output_width");
    } else {
        const char *mode = imp_attr_string(c, "mode", "bilinear");
        if (strcmp(mode, "bilinear") != 0)
            imp_refuse(c, IMP_BAD_VALUE, "mode \"%s\" is not supported, only bilinear", mode);
        (void)size_of(c, "output_size", size);
    }
    if (!c->bad && imp_rank(x) != 4)
        imp_refuse(c, IMP_OPERANDS, "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    for (int i = 0; i < 2 && c->version > 1; i++) {
        tn_value *row = i ? m.y : m.x;
        tn_value centre = scaled(c, plus(c, row[0], row[1]), 0.5);
        row[2] = plus(c, row[2], moved(c, centre, -0.5));
    }
    tn_value down = count(c, size[0], true), right = count(c, size[1], false);
    imp_crop k = {.image = x, .which = imp_const_ints(c, TN_I64, 1, 1, &first)};
    k.column = applied(c, m.x, right, down);
    k.row = applied(c, m.y, right, down);
    k.outside = imp_const(c, TN_F32, 0);
    imp_out(c, 0, imp_make_crop(c, &k));
}

// clang-format off
const imp_row tfl_rows_landmarks[] = {
    {"Landmarks2TransformMatrix", 1, 2, 1, 1, landmarks_to_matrix, NULL},
    {"TransformLandmarks",        1, 2, 2, 1, transform_landmarks, NULL},
    {"TransformTensor",           1, 1, 2, 1, transform_image,     NULL}, /* version 1's name in MediaPipe's kernels */
    {"TransformTensorBilinear",   1, 2, 2, 1, transform_image,     NULL},
    {0},
};
// clang-format on
