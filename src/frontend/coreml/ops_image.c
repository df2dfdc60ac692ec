/* Images at positions that are data, and boxes: parts in new sizes, resampling, suppression; pixels as
 * channels, blocks of the batch. */
#include "frontend/coreml/coreml.h"
#include "frontend/import/blocks.h"
#include "frontend/import/crop.h"
#include "op/image/image.h"
#include "op/vision/vision.h"

#include <math.h>
#include <string.h>

/* ---- sampling ---- */

int cm_sampling(imp_node *c, const char *name)
{
    static const char *const names[] = {"STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT", "OFFSET_CORNERS",
                                        "UNALIGN_CORNERS"};
    for (int i = 0; i < CM_N_SAMPLING; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    imp_refuse(c, IMP_BAD_VALUE, "sampling_mode \"%s\" is not supported", name);
    return CM_STRICT;
}

/* `size` positions in the interval from..to, which are float32 [n,1]: [n, size]. */
static tn_value positions(imp_node *c, tn_value from, tn_value to, int64_t size, int mode)
{
    double n = (double)size, first = mode == CM_OFFSET || mode == CM_UNALIGN ? 0.5 : 0;
    tn_value length = cm_bin(c, &tn_op_subtract, to, from), step = length;
    tn_value i = imp_cast(c, imp_count_up(c, tn_idx(c->pool, size)), TN_F32);
    if (mode <= CM_ALIGN && size == 1)
        return mode == CM_STRICT ? from : imp_with(c, &tn_op_multiply, cm_bin(c, &tn_op_add, from, to), 0.5);
    if (mode == CM_OFFSET)
        step = imp_with(c, &tn_op_maximum, length, 1);
    else if (mode > CM_ALIGN)
        step = imp_with(c, &tn_op_add, length, 1);
    step = imp_with(c, &tn_op_divide, step, mode <= CM_ALIGN ? n - 1 : n);
    tn_value at = cm_bin(c, &tn_op_multiply, first == 0 ? i : imp_with(c, &tn_op_add, i, first), step);
    if (mode == CM_UNALIGN)
        at = imp_with(c, &tn_op_maximum, imp_with(c, &tn_op_subtract, at, 0.5), 0);
    if (mode > CM_ALIGN) /* a box that ends before it begins is not held */
        at = cm_bin(c, &tn_op_minimum, at, imp_with(c, &tn_op_maximum, length, 0));
    return cm_bin(c, &tn_op_add, from, at);
}

static tn_value last_of(imp_node *c, tn_value x, int axis)
{
    return imp_with(c, &tn_op_subtract, imp_cast(c, imp_extent_of(c, x, axis), TN_F32), 1);
}

static tn_value cut(imp_node *c, imp_crop *k, tn_value x)
{
    static const int64_t last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2};
    tn_dtype t = imp_type(x)->dtype;
    k->image = imp_transpose(c, imp_cast(c, x, TN_F32), 4, last);
    return imp_cast(c, imp_transpose(c, imp_make_crop(c, k), 4, first), t);
}

tn_value cm_resize(imp_node *c, tn_value x, int64_t h, int64_t w, int mode)
{
    tn_value side[2], zero = imp_const(c, TN_F32, 0);
    if (c->bad)
        return x;
    for (int i = 0; i < 2; i++) {
        tn_value end = imp_unsqueeze(c, imp_unsqueeze(c, last_of(c, x, 2 + i), 0), 0);
        tn_value begin = imp_unsqueeze(c, imp_unsqueeze(c, zero, 0), 0);
        side[i] = positions(c, begin, end, i ? w : h, mode);
    }
    imp_crop k = {.which = imp_count_up(c, imp_type(x)->dim[0]), .row = side[0], .column = side[1]};
    return cut(c, &k, x);
}

/* ---- crop_resize ---- */

enum { MOST_PIXELS = 1 << 16 };

typedef struct crops {
    tn_value x;     /* [b, channels, rows, columns] */
    tn_value box;   /* float32 [n, 4] */
    tn_value which; /* [n]; absent: every box of every image */
    int64_t size[2];
    int mode, order; /* of sampling; of a box's numbers */
    bool parts;      /* coordinates are parts of the image */
    bool five;       /* the result has the boxes in front of the images */
    double scale, outside;
} crops;

static void read_numbers(imp_node *c, crops *k)
{
    static const char *const orders[] = {"CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST",
                                         "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST"};
    if (cm_is_layer(c)) {
        tn_ints size = cm_ints(c, "targetSize");
        k->size[0] = k->size[1] = 1;
        for (uint32_t i = 0; i < 2 && i < size.n; i++)
            k->size[i] = size.at[i];
        (void)cm_flag(c, "mode");
        (void)cm_flag(c, "boxIndicesMode");
        k->mode = (int)imp_attr_int(c, "mode.samplingMethod", 0);
        k->order = (int)imp_attr_int(c, "boxIndicesMode.boxMode", 0);
        k->parts = cm_flag(c, "normalizedCoordinates");
        k->scale = imp_attr_float(c, "spatialScale", 1);
    } else {
        const char *order = imp_attr_string(c, "box_coordinate_mode", orders[0]);
        k->size[0] = imp_attr_int(c, "target_height", 1);
        k->size[1] = imp_attr_int(c, "target_width", 1);
        k->mode = cm_sampling(c, imp_attr_string(c, "sampling_mode", "DEFAULT"));
        for (k->order = 0; k->order < 4 && strcmp(order, orders[k->order]) != 0; k->order++)
            ;
        k->parts = cm_flag(c, "normalized_coordinates");
        k->scale = imp_attr_float(c, "spatial_scale", 1);
        k->outside = imp_attr_float(c, "pad_value", 0);
    }
    if (k->mode < 0 || k->mode >= CM_N_SAMPLING || k->order < 0 || k->order > 3)
        imp_refuse(c, IMP_BAD_VALUE, "its mode of sampling or of boxes is not known");
    if (k->size[0] < 1 || k->size[1] < 1 || k->size[0] > MOST_PIXELS || k->size[1] > MOST_PIXELS)
        imp_refuse(c, IMP_BAD_VALUE, "its size is %lld by %lld, but must be 1 to %d", (long long)k->size[0],
                   (long long)k->size[1], MOST_PIXELS);
}

/* Boxes [n,1,4,1,1], or [n,1,5,1,1] with the number of their image in front; or a list [n,4] beside a list of these. */
static void read_boxes(imp_node *c, crops *k)
{
    bool list = !cm_is_layer(c) && cm_has(c, 9, "boxes");
    tn_value box = cm_in(c, 1, list ? "boxes" : "roi");
    const tn_type *t = imp_type(box);
    int at = list ? 1 : t->n - 3;
    int64_t n = 0;
    if (c->bad || at < 1 || at >= t->n || !tn_is_int(t->dim[at], &n) || (n != 4 && (n != 5 || list))) {
        imp_refuse(c, IMP_OPERANDS, "boxes are %s, but must be rows of 4 numbers", imp_type_text(c, t));
        return;
    }
    const tn_expr *dim[2] = {t->dim[0], tn_idx(c->pool, n)};
    box = imp_cast(c, imp_reshape(c, box, 2, dim), TN_F32);
    k->five = !list && !cm_of(c)->five;
    k->box = n == 5 ? imp_slice(c, box, 1, 1, 5) : box;
    if (n == 5)
        k->which = imp_flat(c, imp_slice(c, box, 1, 0, 1));
    else if (list)
        k->which = cm_has(c, 9, "box_indices") ? cm_in(c, 9, "box_indices") : imp_count_up(c, t->dim[0]);
}

/* Begin and end of the boxes along rows (0) or columns (1), in pixels: [n,1]. */
static void box_side(imp_node *c, const crops *k, int axis, tn_value *from, tn_value *to)
{
    int first = k->order & 1 ? 1 - axis : axis;
    tn_value a = imp_slice(c, k->box, 1, first, first + 1), b = imp_slice(c, k->box, 1, first + 2, first + 3);
    if (k->order > 1) {
        tn_value half = imp_with(c, &tn_op_multiply, b, 0.5);
        b = cm_bin(c, &tn_op_add, a, half);
        a = cm_bin(c, &tn_op_subtract, a, half);
    }
    tn_value scale = imp_const(c, TN_F32, k->scale == 0 ? 1 : k->scale);
    if (k->parts)
        scale = cm_bin(c, &tn_op_multiply, scale, last_of(c, k->x, 2 + axis));
    *from = cm_bin(c, &tn_op_multiply, a, scale);
    *to = cm_bin(c, &tn_op_multiply, b, scale);
}

/* v [n, size] for every image, one after the other: [n * b, size] */
static tn_value for_images(imp_node *c, tn_value v, const tn_expr *images)
{
    const tn_type *t = imp_type(v);
    const tn_expr *wide[3] = {t->dim[0], images, t->dim[1]},
                  *all[2] = {imp_simplify(c, tn_mul(c->pool, t->dim[0], images)), t->dim[1]};
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, 3, wide)};
    v = imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, v, 1));
    return imp_reshape(c, v, 2, all);
}

static void crop_resize(imp_node *c)
{
    crops k = {.scale = 1};
    read_numbers(c, &k);
    read_boxes(c, &k);
    tn_value side[2], from, to;
    k.x = cm_in(c, 0, "x");
    if (imp_rank(k.x) == 5 && cm_is_layer(c))
        k.x = imp_squeeze(c, k.x, 0);
    if (!c->bad && imp_rank(k.x) != 4)
        imp_refuse(c, IMP_OPERANDS, "data %s are no images", imp_type_text(c, imp_type(k.x)));
    if (c->bad)
        return;
    const tn_expr *boxes = imp_type(k.box)->dim[0], *images = imp_type(k.x)->dim[0];
    for (int i = 0; i < 2; i++) {
        box_side(c, &k, i, &from, &to);
        side[i] = positions(c, from, to, k.size[i], k.mode);
        side[i] = k.which.def ? side[i] : for_images(c, side[i], images);
    }
    tn_value which = k.which;
    if (!which.def) {
        tn_broadcast_to_attr a = {tn_dims_make(c->arena, 2, (const tn_expr *[]){boxes, images})};
        which = imp_flat(c, imp_call1(c, &tn_op_broadcast_to, &a, imp_count_up(c, images)));
    }
    imp_crop crop = {.which = which, .row = side[0], .column = side[1]};
    crop.outside = imp_const(c, TN_F32, k.outside);
    tn_value y = cut(c, &crop, k.x);
    const tn_type *t = imp_type(y);
    const tn_expr *dim[5] = {boxes, k.which.def ? tn_idx(c->pool, 1) : images};
    for (int i = 2; i < 5 && !c->bad; i++)
        dim[i] = t->dim[i - 1];
    imp_out(c, 0, k.five && !c->bad ? imp_reshape(c, y, 5, dim) : y);
}

/* ---- resample, affine ---- */

/* Coordinates [b, h, w, 2] as -1 to 1, the centres of the first and last pixels if `corners`, else their edges. */
static tn_value as_grid(imp_node *c, tn_value x, tn_value at, const char *mode, bool given, bool corners)
{
    tn_value part[2];
    bool pixels = strcmp(mode, "unnormalized") == 0;
    if (strcmp(mode, "normalized_zero_to_one") == 0)
        at = cm_affine(c, at, 2, -1);
    else if (!pixels && strcmp(mode, "normalized_minus_one_to_one") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "coordinates_mode \"%s\" is not known", mode);
    if (!pixels && given == corners)
        return at;
    for (int i = 0; i < 2; i++) { /* columns, rows */
        tn_value v = imp_slice(c, at, 3, i, i + 1), last = last_of(c, x, 3 - i);
        tn_value n = imp_with(c, &tn_op_add, last, 1);
        if (!pixels) {
            v = imp_with(c, &tn_op_add, v, 1);
            v = cm_bin(c, &tn_op_multiply, v, given ? last : n);
            v = imp_with(c, &tn_op_multiply, given ? v : imp_with(c, &tn_op_subtract, v, 1), 0.5);
        }
        v = corners ? cm_affine(c, v, 2, 0) : cm_affine(c, v, 2, 1);
        v = cm_bin(c, &tn_op_divide, v, corners ? imp_with(c, &tn_op_maximum, last, 1) : n);
        part[i] = imp_with(c, &tn_op_subtract, v, 1);
    }
    return imp_concat(c, 2, part, 3);
}

static tn_value sampled(imp_node *c, tn_value x, tn_value grid, tn_grid_attr a, double outside)
{
    tn_dtype t = imp_type(x)->dtype;
    bool shifted = strcmp(a.padding_mode, "zeros") == 0 && outside != 0;
    x = imp_cast(c, x, TN_F32);
    x = shifted ? imp_with(c, &tn_op_subtract, x, outside) : x;
    a.layout = "NCHW";
    tn_value y = imp_call2(c, &tn_op_image_grid_sample, &a, x, imp_cast(c, grid, TN_F32));
    return imp_cast(c, shifted ? imp_with(c, &tn_op_add, y, outside) : y, t);
}

static void resample(imp_node *c)
{
    static const char *const names[][2] = {{"constant", "zeros"},
                                           {"border", "border"},
                                           {"reflection", "reflection"},
                                           {"symmetric", "reflection"}};
    tn_value x = cm_in(c, 0, "x"), at = imp_cast(c, cm_in(c, 1, "coordinates"), TN_F32);
    const char *mode = imp_attr_string(c, "sampling_mode", ""), *pad = imp_attr_string(c, "padding_mode", ""),
               *how = imp_attr_string(c, "coordinates_mode", "");
    bool corners = cm_flag(c, "align_corners");
    double outside = imp_attr_float(c, "padding_value", 0);
    tn_grid_attr a = {.method = strcmp(mode, "nearest") == 0 ? "nearest" : "bilinear"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(pad, names[i][0]) == 0)
            a.padding_mode = names[i][1];
    if (!a.padding_mode || (strcmp(mode, "nearest") != 0 && strcmp(mode, "bilinear") != 0))
        imp_refuse(c, IMP_BAD_VALUE, "sampling_mode \"%s\" with padding_mode \"%s\" is not known", mode, pad);
    if (!c->bad && (imp_rank(x) != 4 || imp_rank(at) != 4 || !tn_is_value(imp_type(at)->dim[3], 2)))
        imp_refuse(c, IMP_OPERANDS, "coordinates %s do not fit %s", imp_type_text(c, imp_type(at)),
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    /* what is mirrored at the pixels' centres, or at their edges */
    a.align_corners = strcmp(pad, "reflection") == 0 || (strcmp(pad, "symmetric") != 0 && corners);
    imp_out(c, 0, sampled(c, x, as_grid(c, x, at, how, corners, a.align_corners), a, outside));
}

static void affine(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), theta = imp_cast(c, cm_in(c, 1, "transform_matrix"), TN_F32);
    const char *mode = imp_attr_string(c, "sampling_mode", ""), *pad = imp_attr_string(c, "padding_mode", ""),
               *how = imp_attr_string(c, "coordinates_mode", "");
    int64_t size[2] = {imp_attr_int(c, "output_height", 0), imp_attr_int(c, "output_width", 0)};
    double outside = imp_attr_float(c, "padding_value", 0);
    bool corners = cm_flag(c, "align_corners");
    if (strcmp(mode, "bilinear") != 0 || strcmp(pad, "constant") != 0 ||
        strcmp(how, "normalized_minus_one_to_one") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "modes \"%s\", \"%s\" and \"%s\" are not known", mode, pad, how);
    if (size[0] < 1 || size[1] < 1 || size[0] > MOST_PIXELS || size[1] > MOST_PIXELS)
        imp_refuse(c, IMP_BAD_VALUE, "its size is %lld by %lld, but must be 1 to %d", (long long)size[0],
                   (long long)size[1], MOST_PIXELS);
    if (!c->bad && (imp_rank(x) != 4 || imp_rank(theta) != 2 || !tn_is_value(imp_type(theta)->dim[1], 6)))
        imp_refuse(c, IMP_OPERANDS, "maps %s do not fit %s", imp_type_text(c, imp_type(theta)),
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_expr *images = imp_type(x)->dim[0], *all[2] = {images, tn_idx(c->pool, 6)},
                  *dim[3] = {images, tn_idx(c->pool, 2), tn_idx(c->pool, 3)};
    if (tn_is_value(imp_type(theta)->dim[0], 1)) {
        tn_broadcast_to_attr to = {tn_dims_make(c->arena, 2, all)};
        theta = imp_call1(c, &tn_op_broadcast_to, &to, theta);
    }
    tn_affine_grid_attr g = {tn_make_dims(c->g, 2, size), corners};
    tn_value grid = imp_call1(c, &tn_op_image_affine_grid, &g, imp_reshape(c, theta, 3, dim));
    tn_grid_attr a = {.method = "bilinear", .padding_mode = "zeros", .align_corners = corners};
    imp_out(c, 0, sampled(c, x, grid, a, outside));
}

/* ---- suppression ---- */

typedef struct suppression {
    tn_value box, score; /* float32 [b, n, 4], [b, n, classes] */
    tn_value overlap, least;
    int64_t most;
    bool turned; /* n is the last dimension */
} suppression;

static tn_value threshold(imp_node *c, uint32_t i, const char *name, double otherwise)
{
    bool score = i == 3; /* what has just this score stays */
    double v = otherwise;
    if (cm_is_layer(c) && imp_has(c, i)) {
        imp_attr_ignore(c, name);
        tn_value given = imp_cast(c, imp_in(c, i), TN_F32);
        return imp_rank(given) ? imp_reshape(c, given, 0, NULL) : given;
    }
    if (imp_has_attr(c, name))
        v = imp_attr_float(c, name, (float)otherwise);
    return imp_const(c, TN_F32, score ? (double)nextafterf((float)v, -HUGE_VALF) : v);
}

static void read_suppression(imp_node *c, suppression *s)
{
    static const int64_t turn[] = {0, 2, 1};
    bool layer = cm_is_layer(c);
    double most;
    s->turned = !layer && !cm_has(c, 9, "score_threshold");
    s->box = imp_cast(c, cm_in(c, 0, "boxes"), TN_F32);
    s->score = imp_cast(c, cm_in(c, 1, "scores"), TN_F32);
    s->overlap = threshold(c, 2, layer ? "iouThreshold" : "iou_threshold", 0);
    s->least = threshold(c, 3, layer ? "scoreThreshold" : "score_threshold", -HUGE_VAL);
    s->most = imp_attr_int(c, layer ? "maxBoxes" : "max_boxes", 1);
    if (layer && imp_has(c, 4)) {
        if (!imp_scalar(c, imp_in(c, 4), &most))
            imp_refuse(c, IMP_NOT_CONSTANT, "the number of boxes must be known at compile time");
        else
            s->most = most >= 1 && most < INT32_MAX ? (int64_t)most : 0;
    }
    if (!c->bad && (imp_rank(s->box) != 3 || imp_rank(s->score) != 3))
        imp_refuse(c, IMP_OPERANDS, "boxes %s and scores %s must have three dimensions",
                   imp_type_text(c, imp_type(s->box)), imp_type_text(c, imp_type(s->score)));
    if (s->turned) {
        s->box = imp_transpose(c, s->box, 3, turn);
        s->score = imp_transpose(c, s->score, 3, turn);
    }
    if (s->most < 1 || s->most > MOST_PIXELS)
        imp_refuse(c, IMP_BAD_VALUE, "%lld boxes are asked for, but must be 1 to %d", (long long)s->most,
                   MOST_PIXELS);
    if (cm_flag(c, layer ? "perClassSuppression" : "per_class_suppression") && !c->bad &&
        !tn_is_value(imp_type(s->score)->dim[2], 1))
        imp_refuse(c, IMP_BAD_VALUE, "suppression by class of several classes is not supported");
}

/* Rows of v [b, n, k] at positions [b, most], zeros where there is none. */
static tn_value rows_at(imp_node *c, tn_value v, tn_value at, tn_value there)
{
    tn_gather_nd_attr a = {1};
    tn_value place = imp_with(c, &tn_op_maximum, at, 0);
    v = imp_call2(c, &tn_op_gather_nd, &a, v, imp_unsqueeze(c, place, 2));
    there = imp_unsqueeze(c, there, 2);
    return imp_choose(c, there, v, imp_const(c, TN_F32, 0));
}

/* A box has the best score of its classes. Boxes, scores, positions, and how many there are of each image; where there
 * are fewer than `most`, zeros and positions of -1 follow. */
static void non_maximum_suppression(imp_node *c)
{
    static const tn_nms_attr centres = {true};
    static const int64_t turn[] = {0, 2, 1};
    bool layer = cm_is_layer(c);
    suppression s = {0};
    read_suppression(c, &s);
    if (c->bad)
        return;
    tn_dtype t[2] = {imp_type(cm_in(c, 0, "boxes"))->dtype, imp_type(cm_in(c, 1, "scores"))->dtype};
    tn_value best = imp_unsqueeze(c, imp_reduce(c, &tn_op_max, s.score, 2), 1);
    const tn_value in[5] = {s.box, best, imp_i64(c, s.most), s.overlap, s.least};
    tn_value found = imp_squeeze(c, imp_call(c, &tn_op_vision_nms_select, &centres, 5, in), 1);
    if (c->bad)
        return;
    const tn_expr *dim[2] = {imp_type(found)->dim[0], tn_idx(c->pool, s.most)};
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, 2, dim)};
    tn_value none = imp_call1(c, &tn_op_broadcast_to, &a, imp_i64(c, -1));
    tn_value at = imp_slice(c, imp_concat(c, 2, (const tn_value[]){found, none}, 1), 1, 0, s.most);
    tn_value there = imp_with(c, &tn_op_greater_equal, at, 0);
    tn_value box = rows_at(c, s.box, at, there), score = rows_at(c, s.score, at, there);
    imp_out(c, 0, imp_cast(c, s.turned ? imp_transpose(c, box, 3, turn) : box, t[0]));
    imp_out_any(c, 1, imp_cast(c, s.turned ? imp_transpose(c, score, 3, turn) : score, t[1]));
    imp_out_any(c, 2, imp_cast(c, at, layer ? TN_F32 : TN_I32));
    imp_out_any(
        c, 3, imp_cast(c, imp_reduce(c, &tn_op_sum, imp_cast(c, there, TN_I32), 1), layer ? TN_F32 : TN_I32));
}

/* ---- pixels as channels, or of the batch ---- */

/* [n,c,h,w] and blocks: the channels of a block come first in its pixels (DEPTH_TO_SPACE), or last (PIXEL_SHUFFLE). */
static tn_value blocks(imp_node *c, tn_value x, int64_t b, bool grow, bool first)
{
    static const int64_t out_first[] = {0, 3, 4, 1, 5, 2}, out_last[] = {0, 1, 4, 2, 5, 3},
                         in_first[] = {0, 3, 5, 1, 2, 4}, in_last[] = {0, 1, 3, 5, 2, 4};
    const tn_type *t = imp_type(x);
    int64_t d[4] = {0};
    for (int i = 1; i < 4 && t->n == 4 && !c->bad; i++)
        if (!tn_is_int(t->dim[i], &d[i]))
            d[i] = -1;
    if (!c->bad && (t->n != 4 || b < 1 || b > 65536 || d[1] < 1 || d[2] < 1 || d[3] < 1 ||
                    (grow ? d[1] % (b * b) : d[2] % b || d[3] % b)))
        imp_refuse(c, IMP_OPERANDS, "blocks of %lld do not fit %s", (long long)b, imp_type_text(c, t));
    if (c->bad)
        return x;
    const tn_expr *n = t->dim[0], *e = tn_idx(c->pool, b);
#define E(v) tn_idx(c->pool, v)
    if (grow) {
        const tn_expr *rest = E(d[1] / (b * b)),
                      *from[6] = {n, first ? e : rest, e, first ? rest : e, E(d[2]), E(d[3])},
                      *to[4] = {n, rest, E(d[2] * b), E(d[3] * b)};
        int64_t perm[6] = {0, 3, 4, 1, 5, 2};
        memcpy(perm, first ? out_first : out_last, sizeof perm);
        return imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 6, from), 6, perm), 4, to);
    }
    const tn_expr *from[6] = {n, E(d[1]), E(d[2] / b), e, E(d[3] / b), e},
                  *to[4] = {n, E(d[1] * b * b), E(d[2] / b), E(d[3] / b)};
#undef E
    return imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 6, from), 6, first ? in_first : in_last), 4, to);
}

static void reorganize(imp_node *c)
{
    int64_t mode = imp_attr_int(c, "mode", 0), b = imp_attr_int(c, "blockSize", 1);
    tn_value x = imp_in(c, 0);
    bool list = imp_rank(x) == 3;
    tn_value y = blocks(c, list ? imp_unsqueeze(c, x, 0) : x, b, mode != 0, mode != 2);
    imp_out(c, 0, list ? imp_squeeze(c, y, 0) : y);
}

static void blocks_operation(imp_node *c)
{
    const char *op = c->row->op;
    bool pixels = op[0] == 'p', grow = strcmp(op, "depth_to_space") == 0 || strcmp(op, "pixel_shuffle") == 0;
    const char *name = strcmp(op, "pixel_shuffle") == 0     ? "upscale_factor"
                       : strcmp(op, "pixel_unshuffle") == 0 ? "downscale_factor"
                                                            : "block_size";
    int64_t b = imp_attr_int(c, name, 1);
    imp_out(c, 0, blocks(c, cm_in(c, 0, "x"), b, grow, !pixels));
}

static void batch_blocks(imp_node *c)
{
    bool apart = strcmp(c->row->op, "space_to_batch") == 0;
    tn_value x = cm_in(c, 0, "x");
    tn_ints edges = cm_ints(c, apart ? "paddings" : "crops");
    imp_blocks b = {2, cm_ints(c, "block_shape"), tn_make_dims(c->g, edges.n, edges.at), 0};
    imp_out(c, 0, apart ? imp_space_to_batch(c, x, &b) : imp_batch_to_space(c, x, &b));
}

// clang-format off
const imp_row cm_rows_image[] = {
    {"cropResize",              0, 0,  2, 1, crop_resize,             NULL},
    {"crop_resize",             0, 0, -1, 1, crop_resize,             NULL},
    {"resample",                2, 0, -1, 1, resample,                NULL},
    {"affine",                  2, 0, -1, 1, affine,                  NULL},
    {"NonMaximumSuppression",   0, 0,  5, 4, non_maximum_suppression, NULL},
    {"non_maximum_suppression", 0, 0, -1, 4, non_maximum_suppression, NULL},
    {"reorganizeData",          0, 0,  1, 1, reorganize,              NULL},
    {"depth_to_space",          0, 0, -1, 1, blocks_operation,        NULL},
    {"space_to_depth",          0, 0, -1, 1, blocks_operation,        NULL},
    {"pixel_shuffle",           0, 0, -1, 1, blocks_operation,        NULL},
    {"pixel_unshuffle",         0, 0, -1, 1, blocks_operation,        NULL},
    {"space_to_batch",          0, 0, -1, 1, batch_blocks,            NULL},
    {"batch_to_space",          0, 0, -1, 1, batch_blocks,            NULL},
    {0},
};
// clang-format on
