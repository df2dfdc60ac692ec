/* Images: resizing, cropping. Data has its channels last. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/crop.h"
#include "frontend/import/filter.h"
#include "frontend/import/window.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- resizing ---- */

/* Which old position a new one has. */
static const char *positions(imp_node *c, const char *half)
{
    bool corners = imp_attr_int(c, "align_corners", 0) != 0,
         centers = imp_attr_int(c, "half_pixel_centers", 0) != 0;
    return corners ? "align_corners" : centers ? half : "asymmetric";
}

static void resized(imp_node *c, tn_resize_attr how, tn_dtype t)
{
    tn_value x = imp_in(c, 0);
    tn_dims size = imp_sizes_in(c, imp_in(c, 1), "the size");
    if (!c->bad && (size.n != 2 || imp_rank(x) != 4))
        imp_refuse(c, IMP_BAD_VALUE,
                   "the size has %u entries for %s, but images of four dimensions are resized",
                   (unsigned)size.n, imp_type_text(c, imp_type(x)));
    imp_out(c, 0, c->bad ? x : imp_resize(c, imp_cast(c, x, t), true, size, how));
}

static bool resize_attr(imp_node *c, tn_resize_attr *a)
{
    return tn_attr_init(c->pool, tn_op_image_resize2d.attr, sizeof *a, a) == TN_OK && !c->bad;
}

static void bilinear(imp_node *c)
{
    tn_resize_attr a;
    if (!resize_attr(c, &a))
        return;
    a.method = "linear";
    a.coordinate_transformation_mode = positions(c, "half_pixel");
    resized(c, a, TN_F32);
}

static void nearest(imp_node *c)
{
    tn_resize_attr a;
    if (!resize_attr(c, &a))
        return;
    a.method = "nearest_neighbor";
    a.coordinate_transformation_mode = positions(c, "tf_half_pixel_for_nn");
    a.rounding_method =
        a.coordinate_transformation_mode[0] == 'a' && a.coordinate_transformation_mode[1] == 'l'
            ? "round_prefer_ceil"
            : "floor";
    resized(c, a, imp_type(imp_in(c, 0))->dtype);
}

/* ---- ResizeBicubic: TensorFlow rounds what lies between two pixels to parts of 1024 ---- */

enum { PARTS = 1024, TAPS = 4 };

typedef struct taps { /* of one side: the old positions that count for a new one, and how much */
    int64_t *at[TAPS];
    float *weight[TAPS];
} taps;

/* The cubic at k / 1024, and at 1 more. */
static float cubic(double a, int64_t k, bool far)
{
    double x = (double)k / PARTS + far;
    return (float)(far ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : ((a + 2) * x - (a + 3)) * x * x + 1);
}

/* With centres of pixels the cubic is that of Keys, and what lies outside does not count. */
static void weigh(const taps *t, int64_t i, float place, int64_t extent, bool centers)
{
    double a = centers ? -0.5 : -0.75;
    int64_t low = (int64_t)floorf(place), k = lrintf((place - (float)low) * PARTS);
    const float w[TAPS] = {cubic(a, k, true), cubic(a, k, false), cubic(a, PARTS - k, false),
                           cubic(a, PARTS - k, true)};
    float sum = 0;
    for (int n = 0; n < TAPS; n++) {
        int64_t at = low + n - 1, held = at < 0 ? 0 : at >= extent ? extent - 1 : at;
        t->at[n][i] = held;
        t->weight[n][i] = centers && held != at ? 0 : w[n];
        sum += t->weight[n][i];
    }
    for (int n = 0; n < TAPS && centers && fabsf(sum) > 1e-35f; n++)
        t->weight[n][i] *= 1 / sum;
}

/* x with dimension `axis` of `extent` resized to n. */
static tn_value cubic_side(imp_node *c, tn_value x, int axis, int64_t extent, int64_t n)
{
    bool corners = imp_attr_int(c, "align_corners", 0) != 0,
         centers = imp_attr_int(c, "half_pixel_centers", 0) != 0;
    float scale = corners && n > 1 ? (float)(extent - 1) / (float)(n - 1) : (float)extent / (float)n;
    taps t;
    tn_value sum = {0};
    for (int k = 0; k < TAPS; k++) {
        t.at[k] = TN_NEW_N(c->arena, int64_t, (size_t)n);
        t.weight[k] = TN_NEW_N(c->arena, float, (size_t)n);
    }
    for (int64_t i = 0; i < n; i++)
        weigh(&t, i, centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale, extent, centers);
    for (int k = 0; k < TAPS; k++) {
        tn_value w = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, t.weight[k], NULL));
        for (int d = axis + 1; d < imp_rank(x); d++)
            w = imp_unsqueeze(c, w, d - axis);
        tn_value at = imp_const_ints(c, TN_I64, 1, (uint32_t)n, t.at[k]);
        tn_value part = imp_binary(c, &tn_op_multiply, imp_take(c, x, at, axis), w);
        sum = k ? imp_binary(c, &tn_op_add, sum, part) : part;
    }
    return sum;
}

/* Sizes that only the run knows: nearly the same, with weights that are not rounded. */
static void cubic_of_run(imp_node *c)
{
    tn_resize_attr a;
    bool centers = imp_attr_int(c, "half_pixel_centers", 0) != 0;
    if (!resize_attr(c, &a))
        return;
    a.method = "cubic";
    a.coordinate_transformation_mode = positions(c, "half_pixel");
    a.cubic_alpha = centers ? -0.5 : -0.75;
    a.cubic_exclude = centers;
    resized(c, a, TN_F32);
}

/* Rows and columns of images and what they become, where these are known. */
typedef struct sides {
    int64_t from[2], to[2];
} sides;

static bool known_sides(imp_node *c, tn_value x, sides *s)
{
    tn_dims size = {0};
    const tn_type *t = imp_type(x);
    bool known = !c->bad && t->n == 4 && imp_host(c, imp_in(c, 1), &size) && size.n == 2;
    for (int i = 0; i < 2 && known; i++)
        known = tn_is_int(t->dim[i + 1], &s->from[i]) && tn_is_int(size.at[i], &s->to[i]) && s->from[i] > 0 &&
                s->to[i] > 0 && s->to[i] <= IMP_MAX_SIDE;
    return known;
}

static void bicubic(imp_node *c)
{
    tn_value x = imp_cast(c, imp_in(c, 0), TN_F32);
    sides s;
    if (known_sides(c, x, &s))
        imp_out(c, 0, cubic_side(c, cubic_side(c, x, 2, s.from[1], s.to[1]), 1, s.from[0], s.to[0]));
    else
        cubic_of_run(c);
}

/* ---- ResizeArea, ScaleAndTranslate: sums of old pixels with weights ---- */

static bool fixed_sides(imp_node *c, tn_value x, sides *s)
{
    if (!c->bad && !(known_sides(c, x, s) && s->from[0] <= IMP_MAX_SIDE && s->from[1] <= IMP_MAX_SIDE))
        imp_refuse(
            c, IMP_NOT_CONSTANT,
            "images %s and their new size must have fixed extents of at most %d; give the input a shape "
            "(--input-shapes)",
            imp_type_text(c, imp_type(x)), (int)IMP_MAX_SIDE);
    return !c->bad;
}

static void area(imp_node *c)
{
    bool corners = imp_attr_int(c, "align_corners", 0) != 0;
    tn_value x = imp_cast(c, imp_in(c, 0), TN_F32);
    sides s;
    if (!fixed_sides(c, x, &s))
        return;
    for (int i = 1; i >= 0 && !c->bad; i--) {
        bool between = corners && s.to[i] > 1;
        float scale =
            between ? (float)(s.from[i] - 1) / (float)(s.to[i] - 1) : (float)s.from[i] / (float)s.to[i];
        if (scale <= 0)
            imp_refuse(c, IMP_BAD_VALUE,
                       "with align_corners, images of one row or column cover no new pixels");
        else
            x = imp_area_side(c, x, i + 1, s.from[i], s.to[i], scale);
    }
    imp_out(c, 0, x);
}

/* Two floats that the graph has as a constant. */
static void two_floats(imp_node *c, uint32_t i, const char *what, float out[2])
{
    tn_value v = imp_in(c, i);
    const tn_type *t = imp_type(v);
    bool known = !c->bad && tn_op_is(v.def, &tn_op_constant) && t->n == 1 && tn_is_value(t->dim[0], 2) &&
                 tn_dtype_eq(t->dtype, TN_F32) && v.def->blob && v.def->blob->at;
    if (known)
        memcpy(out, v.def->blob->at, 2 * sizeof *out);
    else
        imp_refuse(c, IMP_NOT_CONSTANT, "%s must be a constant of two numbers", what);
}

static void scale_and_translate(imp_node *c)
{
    tn_value x = imp_cast(c, imp_in(c, 0), TN_F32);
    const char *kernel = imp_attr_string(c, "kernel_type", "lanczos3");
    const imp_filter *f = imp_find_filter(kernel);
    bool antialias = imp_attr_int(c, "antialias", 1) != 0;
    float scale[2] = {1, 1}, translate[2] = {0};
    sides s;
    two_floats(c, 2, "the scale", scale);
    two_floats(c, 3, "the translation", translate);
    if (!f)
        imp_refuse(c, IMP_BAD_VALUE, "attribute kernel_type is \"%s\", which is no filter", kernel);
    if (!fixed_sides(c, x, &s))
        return;
    for (int i = 0; i < 2 && !c->bad; i++)
        x = imp_filter_side(c, x, &(imp_side){i + 1, s.from[i], s.to[i], scale[i], translate[i], antialias},
                            f);
    imp_out(c, 0, x);
}

/* ---- CropAndResize ---- */

/* image, boxes [n, 4], their images [n], size */
static void crop_and_resize(imp_node *c)
{
    tn_value image = imp_in(c, 0), boxes = imp_in(c, 1);
    tn_dims size = imp_sizes_in(c, imp_in(c, 3), "the size");
    const char *method = imp_attr_string(c, "method", "bilinear");
    imp_crop k = {.image = imp_cast(c, image, TN_F32),
                  .which = imp_in(c, 2),
                  .outside = imp_const(c, TN_F32, imp_attr_float(c, "extrapolation_value", 0)),
                  .nearest = strcmp(method, "nearest") == 0};
    if (!c->bad && (size.n != 2 || imp_rank(image) != 4 || imp_rank(boxes) != 2))
        imp_refuse(c, IMP_BAD_VALUE, "boxes %s of images %s cannot be cropped",
                   imp_type_text(c, imp_type(boxes)), imp_type_text(c, imp_type(image)));
    if (!c->bad)
        imp_out(c, 0, imp_make_crop_of_boxes(c, &k, boxes, size));
}

// clang-format off
const imp_row tf_rows_image[] = {
    {"CropAndResize",         1, 0, 4, 1, crop_and_resize, NULL},
    {"ResizeArea",            1, 0, 2, 1, area,       NULL},
    {"ResizeBicubic",         1, 0, 2, 1, bicubic,    NULL},
    {"ResizeBilinear",        1, 0, 2, 1, bilinear,   NULL},
    {"ResizeNearestNeighbor", 1, 0, 2, 1, nearest,    NULL},
    {"ScaleAndTranslate",     1, 0, 4, 1, scale_and_translate, NULL},
    {0},
};
// clang-format on
