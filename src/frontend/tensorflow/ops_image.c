/* Images: resizing, colours, boxes. Data has its channels last. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/window.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

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
        imp_refuse(c, IMP_BAD_VALUE, "the size has %u entries for %s; images of four dimensions are resized",
                   (unsigned)size.n, imp_type_text(c, imp_type(x)));
    imp_out(c, 0, c->bad ? x : imp_resize(c, imp_cast(c, x, t), true, size.at, how));
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

/* With centres of pixels the cubic is that of Keys, and what lies outside does not count. */
static void bicubic(imp_node *c)
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

/* ---- boxes ---- */

/* Numbers of the boxes that are kept, -1 after the last one: int64 [n]. */
static tn_value selected(imp_node *c)
{
    static const tn_nms_attr corners = {false};
    tn_value boxes = imp_in(c, 0), scores = imp_in(c, 1);
    tn_value most = imp_cast(c, tf_scalar_in(c, 2), TN_I64);
    tn_value overlap =
        imp_has(c, 3) ? tf_scalar_in(c, 3) : imp_const(c, TN_F32, imp_attr_float(c, "iou_threshold", 0.5f));
    tn_value least = imp_has(c, 4) ? tf_scalar_in(c, 4) : imp_const(c, TN_F32, -3.4028234663852886e38);
    if (!c->bad && (imp_rank(boxes) != 2 || imp_rank(scores) != 1))
        imp_refuse(c, IMP_BAD_VALUE, "boxes and scores are %s and %s; the model is damaged",
                   imp_type_text(c, imp_type(boxes)), imp_type_text(c, imp_type(scores)));
    if (c->bad)
        return boxes;
    boxes = imp_unsqueeze(c, boxes, 0);
    scores = imp_unsqueeze(c, imp_unsqueeze(c, scores, 0), 0);
    const tn_value in[5] = {boxes, scores, most, overlap, least};
    return imp_flat(c, imp_call(c, &tn_op_vision_nms_select, &corners, 5, in));
}

static tn_value kept(imp_node *c, tn_value chosen)
{
    tn_value some = tf_binary(c, &tn_op_greater_equal, chosen, imp_i64(c, 0));
    return imp_cast(c, imp_take(c, chosen, imp_positions(c, some), 0), TN_I32);
}

static void nms(imp_node *c)
{
    tn_value chosen = selected(c);
    imp_out(c, 0, kept(c, chosen));
}

/* V4, V5: how many there are; V5: their scores. */
static void nms_padded(imp_node *c)
{
    bool five = c->row->op[strlen(c->row->op) - 1] == '5',
         padded = imp_attr_int(c, "pad_to_max_output_size", 0) != 0;
    double sigma = 0;
    tn_value chosen = selected(c), scores = imp_in(c, 1);
    if (five && !(imp_scalar(c, imp_in(c, 5), &sigma) && sigma == 0))
        imp_refuse(c, IMP_BAD_VALUE,
                   "soft_nms_sigma must be the constant 0; softened scores are not supported");
    if (padded)
        imp_refuse(c, IMP_BAD_VALUE, "pad_to_max_output_size is not supported");
    tn_value at = c->bad ? chosen : kept(c, chosen);
    imp_out(c, 0, at);
    tn_value count = c->bad ? at : imp_cast(c, imp_extent_of(c, at, 0), TN_I32);
    if (five)
        imp_out_any(c, 1, imp_take(c, scores, at, 0));
    imp_out_any(c, five ? 2 : 1, count);
}

// clang-format off
const imp_row tf_rows_image[] = {
    {"NonMaxSuppression",     1, 0, 3, 1, nms,        NULL},
    {"NonMaxSuppressionV2",   1, 0, 4, 1, nms,        NULL},
    {"NonMaxSuppressionV3",   1, 0, 5, 1, nms,        NULL},
    {"NonMaxSuppressionV4",   1, 0, 5, 2, nms_padded, NULL},
    {"NonMaxSuppressionV5",   1, 0, 6, 3, nms_padded, NULL},
    {"ResizeBicubic",         1, 0, 2, 1, bicubic,    NULL},
    {"ResizeBilinear",        1, 0, 2, 1, bilinear,   NULL},
    {"ResizeNearestNeighbor", 1, 0, 2, 1, nearest,    NULL},
    {0},
};
// clang-format on
