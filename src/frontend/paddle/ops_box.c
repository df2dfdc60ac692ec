/* Boxes: regions of images, prior boxes, decoding, suppression. */
#include "frontend/paddle/paddle.h"

#include "frontend/import/boxes.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

#include <math.h>
#include <string.h>

static tn_value sum(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }
static tn_value difference(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, &tn_op_subtract, a, b);
}
static tn_value product(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }
static tn_value quotient(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_divide, a, b); }

/* ---- regions ---- */

/* Which image each region belongs to: as many ends of the images' lists as lie at or before it. */
static tn_value images_of(imp_node *c, tn_value rois)
{
    tn_value count = pd_opt(c, "RoisNum");
    if (!c->bad && (imp_rank(rois) < 1 || (count.def && imp_rank(count) != 1)))
        imp_refuse(c, IMP_BAD_VALUE, "regions of type %s, or their number for each image, are no list",
                   imp_type_text(c, imp_type(rois)));
    if (!count.def || c->bad || tn_is_value(imp_type(count)->dim[0], 1)) {
        tn_value zero = imp_i64(c, 0);
        return c->bad ? zero : pd_full(c, zero, tn_dims_make(c->arena, 1, &imp_type(rois)->dim[0]));
    }
    tn_scan_attr scan = {0, false, false};
    tn_value end = imp_call1(c, &tn_op_cumsum, &scan, imp_cast(c, count, TN_I64));
    tn_value at = imp_unsqueeze(c, imp_count_up(c, imp_type(rois)->dim[0]), 1);
    return imp_reduce(c, &tn_op_sum, imp_cast(c, imp_binary(c, &tn_op_less_equal, end, at), TN_I64), 1);
}

static void read_regions(imp_node *c, tn_roi_attr *a)
{
    int64_t size[2] = {imp_attr_int(c, "pooled_height", 1), imp_attr_int(c, "pooled_width", 1)};
    *a = (tn_roi_attr){.pooled_size = tn_ints_make(c->arena, 2, size),
                       .spatial_scale = imp_attr_float(c, "spatial_scale", 1),
                       .layout = "NCHW",
                       .mode = "avg"};
    if (!c->bad && imp_rank(pd_in(c, "ROIs")) != 2)
        imp_refuse(c, IMP_OPERANDS, "regions %s must be a matrix",
                   imp_type_text(c, imp_type(pd_in(c, "ROIs"))));
}

static void roi_align(imp_node *c)
{
    tn_roi_attr a;
    tn_value x = pd_in(c, "X"), rois = pd_in(c, "ROIs");
    int64_t ratio = imp_attr_int(c, "sampling_ratio", -1);
    read_regions(c, &a);
    a.sample_ratio = ratio > 0 ? ratio : 0;
    a.aligned = pd_bool(c, "aligned", false);
    tn_value batch = images_of(c, rois);
    pd_out(c, "Out", imp_call(c, &tn_op_vision_roi_align, &a, 3, (const tn_value[]){x, rois, batch}));
}

static void roi_pool(imp_node *c)
{
    tn_roi_attr a;
    tn_value x = pd_in(c, "X"), rois = pd_in(c, "ROIs");
    read_regions(c, &a);
    tn_value batch = imp_unsqueeze(c, imp_cast(c, images_of(c, rois), imp_type(rois)->dtype), 1);
    tn_value all = imp_concat(c, 2, (const tn_value[]){batch, rois}, 1);
    pd_out(c, "Out", imp_call2(c, &tn_op_vision_roi_pool, &a, x, all));
}

/* ---- prior boxes ---- */

static double float_at(const float *v, size_t n, size_t i) { return i < n ? (double)v[i] : 0; }

/* 1, and each other ratio once, with its inverse if `flip`. */
static size_t ratios_of(imp_node *c, double out[IMP_MAX_PRIORS])
{
    size_t n, count = 1;
    const float *given;
    bool flip = pd_bool(c, "flip", false);
    (void)pd_floats(c, "aspect_ratios", &n, &given);
    out[0] = 1;
    for (size_t i = 0; i < n && count + 2 < IMP_MAX_PRIORS; i++) {
        bool had = !(given[i] > 0);
        for (size_t k = 0; k < count; k++)
            had = had || fabs(out[k] - (double)given[i]) < 1e-6;
        if (had)
            continue;
        out[count++] = (double)given[i];
        if (flip)
            out[count++] = 1 / (double)given[i];
    }
    return count;
}

static void add_sizes(imp_node *c, imp_priors *p)
{
    size_t n_min, n_max, n_ratio;
    const float *least, *most;
    double ratio[IMP_MAX_PRIORS];
    bool largest_second = pd_bool(c, "min_max_aspect_ratios_order", false);
    (void)pd_floats(c, "min_sizes", &n_min, &least);
    (void)pd_floats(c, "max_sizes", &n_max, &most);
    n_ratio = ratios_of(c, ratio);
    for (size_t i = 0; i < n_min && !c->bad; i++) {
        double s = (double)least[i], large = i < n_max ? sqrt(s * float_at(most, n_max, i)) : 0;
        if (largest_second)
            imp_add_prior(c, p, s, s);
        if (largest_second && i < n_max)
            imp_add_prior(c, p, large, large);
        for (size_t k = largest_second; k < n_ratio; k++)
            imp_add_prior(c, p, s / sqrt(ratio[k]), s * sqrt(ratio[k]));
        if (!largest_second && i < n_max)
            imp_add_prior(c, p, large, large);
    }
}

static bool extents(imp_node *c, tn_value x, int64_t out[2])
{
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[2], &out[0]) ||
                    !tn_is_int(imp_type(x)->dim[3], &out[1])))
        imp_refuse(c, IMP_OPERANDS, "data %s must be images of fixed extents", imp_type_text(c, imp_type(x)));
    return !c->bad;
}

static void prior_box(imp_node *c)
{
    int64_t map[2] = {0}, image[2] = {0};
    double step[2] = {imp_attr_float(c, "step_h", 0), imp_attr_float(c, "step_w", 0)};
    size_t n;
    const float *variance;
    (void)pd_floats(c, "variances", &n, &variance);
    if (!extents(c, pd_in(c, "Input"), map) || !extents(c, pd_in(c, "Image"), image))
        return;
    imp_priors p = {.rows = map[0],
                    .columns = map[1],
                    .offset = imp_attr_float(c, "offset", 0.5f),
                    .clip = pd_bool(c, "clip", false)};
    for (int i = 0; i < 2; i++) {
        p.image[i] = (double)image[i];
        p.step[i] = step[0] > 0 && step[1] > 0 ? step[i] : (double)image[i] / (double)(map[i] ? map[i] : 1);
    }
    add_sizes(c, &p);
    const float *boxes = imp_make_priors(c, &p);
    if (!boxes)
        return;
    int64_t dim[4] = {map[0], map[1], p.n, 4};
    float four[4];
    for (size_t i = 0; i < 4; i++)
        four[i] = i < n ? variance[i] : 0.1F;
    tn_value row = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &dim[3], four, NULL));
    pd_out(c, "Boxes", tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 4, dim, boxes, NULL)));
    pd_out(c, "Variances", pd_full(c, row, tn_make_dims(c->g, 4, dim)));
}

/* ---- boxes as differences from prior ones ---- */

typedef struct corners {
    tn_value size[2], centre[2]; /* of x and y */
} corners;

static tn_value column(imp_node *c, tn_value v, int i) { return imp_slice(c, v, imp_rank(v) - 1, i, i + 1); }

static corners corners_of(imp_node *c, tn_value box, double more)
{
    corners r;
    for (int i = 0; i < 2; i++) {
        tn_value low = column(c, box, i), high = column(c, box, 2 + i);
        r.size[i] = difference(c, high, low);
        r.size[i] = more > 0 ? imp_with(c, &tn_op_add, r.size[i], more) : r.size[i];
        r.centre[i] = sum(c, low, imp_with(c, &tn_op_multiply, r.size[i], 0.5));
    }
    return r;
}

static tn_value decoded(imp_node *c, const corners *prior, tn_value v, double more)
{
    tn_value part[4];
    for (int i = 0; i < 2; i++) {
        tn_value centre = sum(c, product(c, column(c, v, i), prior->size[i]), prior->centre[i]);
        tn_value half =
            imp_with(c, &tn_op_multiply,
                     product(c, imp_unary(c, &tn_op_exp, column(c, v, 2 + i)), prior->size[i]), 0.5);
        part[i] = difference(c, centre, half);
        part[2 + i] = sum(c, centre, half);
        part[2 + i] = more > 0 ? imp_with(c, &tn_op_subtract, part[2 + i], more) : part[2 + i];
    }
    return imp_concat(c, 4, part, imp_rank(part[0]) - 1);
}

static tn_value encoded(imp_node *c, const corners *prior, tn_value box, double more)
{
    tn_value part[4];
    for (int i = 0; i < 2; i++) {
        tn_value low = column(c, box, i), high = column(c, box, 2 + i), size = difference(c, high, low);
        size = more > 0 ? imp_with(c, &tn_op_add, size, more) : size;
        tn_value middle = imp_with(c, &tn_op_multiply, sum(c, low, high), 0.5);
        part[i] = quotient(c, difference(c, middle, prior->centre[i]), prior->size[i]);
        part[2 + i] = imp_unary(c, &tn_op_log, imp_unary(c, &tn_op_abs, quotient(c, size, prior->size[i])));
    }
    return imp_concat(c, 4, part, imp_rank(part[0]) - 1);
}

static void box_coder(imp_node *c)
{
    tn_value prior = pd_in(c, "PriorBox"), spread = pd_opt(c, "PriorBoxVar"), target = pd_in(c, "TargetBox");
    bool back = strncmp(imp_attr_string(c, "code_type", "encode_center_size"), "decode", 6) == 0;
    double more = pd_bool(c, "box_normalized", true) ? 0 : 1;
    int64_t axis = imp_attr_int(c, "axis", 0), four = 4;
    size_t n;
    const float *variance;
    (void)pd_floats(c, "variance", &n, &variance);
    if (!c->bad && (imp_rank(prior) != 2 || imp_rank(target) != (back ? 3 : 2) || axis < 0 || axis > 1))
        imp_refuse(c, IMP_OPERANDS, "boxes %s and %s do not fit", imp_type_text(c, imp_type(prior)),
                   imp_type_text(c, imp_type(target)));
    if (!spread.def && n == 4 && !c->bad)
        spread = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &four, variance, NULL));
    if (spread.def && imp_rank(spread) == 2)
        spread = imp_unsqueeze(c, spread, back ? axis : 0);
    corners p = corners_of(c, imp_unsqueeze(c, prior, back ? axis : 0), more);
    tn_value v;
    if (back)
        v = decoded(c, &p, spread.def ? product(c, target, spread) : target, more);
    else
        v = encoded(c, &p, imp_unsqueeze(c, target, 1), more);
    pd_out(c, "OutputBox", spread.def && !back ? quotient(c, v, spread) : v);
}

/* ---- YOLO ---- */

typedef struct yolo {
    int64_t anchors, classes, h, w;
    tn_value image[2]; /* width, height, [n, 1, 1, 1] */
    double scale;
} yolo;

/* Number of each column or row of the map, [1, 1, (h,) w]. */
static tn_value places(imp_node *c, const yolo *y, int i)
{
    tn_value at = imp_cast(c, imp_count_up(c, tn_idx(c->pool, i ? y->h : y->w)), TN_F32);
    return imp_along(c, at, i ? 2 : 3, 4);
}

static tn_value sigmoid(imp_node *c, tn_value v) { return imp_unary(c, &tn_op_sigmoid, v); }

/* Component i of all anchors: [n, anchors, h, w] of x [n, anchors, 5 + classes, h, w]. */
static tn_value component(imp_node *c, tn_value x, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, x, 2, i, i + 1), 2);
}

/* Centre and half extent along x (0) or y (1), in pixels of the image. */
static void measure(imp_node *c, const yolo *y, tn_value x, int i, tn_ints anchor, int64_t down,
                    tn_value *centre, tn_value *half)
{
    int64_t cells = i ? y->h : y->w;
    float *size = TN_NEW_N(c->arena, float, (size_t)y->anchors);
    for (int64_t k = 0; k < y->anchors; k++)
        size[k] = (float)anchor.at[2 * k + i] / (float)(down * cells) / 2;
    tn_value own = tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &y->anchors, size, NULL));
    tn_value at = imp_with(c, &tn_op_multiply, sigmoid(c, component(c, x, i)), y->scale);
    at = imp_with(c, &tn_op_subtract, sum(c, at, places(c, y, i)), 0.5 * (y->scale - 1));
    *centre = product(c, imp_with(c, &tn_op_divide, at, (double)cells), y->image[i]);
    tn_value e = imp_unary(c, &tn_op_exp, component(c, x, 2 + i));
    *half = product(c, product(c, e, imp_along(c, own, 1, 4)), y->image[i]);
}

static tn_value yolo_boxes(imp_node *c, const yolo *y, tn_value x, tn_ints anchor)
{
    int64_t down = imp_attr_int(c, "downsample_ratio", 32);
    bool clip = pd_bool(c, "clip_bbox", true);
    tn_value part[4];
    for (int i = 0; i < 2 && !c->bad; i++) {
        tn_value centre, half;
        measure(c, y, x, i, anchor, down, &centre, &half);
        part[i] = difference(c, centre, half);
        part[2 + i] = sum(c, centre, half);
        if (clip) {
            tn_value last = imp_with(c, &tn_op_subtract, y->image[i], 1);
            part[i] = imp_with(c, &tn_op_maximum, part[i], 0);
            part[2 + i] = imp_binary(c, &tn_op_minimum, part[2 + i], last);
        }
    }
    for (int i = 0; i < 4; i++)
        part[i] = imp_unsqueeze(c, part[i], 4);
    return imp_concat(c, 4, part, 4);
}

static bool begin_yolo(imp_node *c, tn_value x, tn_ints anchor, bool aware, yolo *y)
{
    const tn_type *t = imp_type(x);
    int64_t channels = 0;
    *y = (yolo){.anchors = anchor.n / 2,
                .classes = imp_attr_int(c, "class_num", 1),
                .scale = imp_attr_float(c, "scale_x_y", 1)};
    if (!c->bad && (t->n != 4 || !tn_is_int(t->dim[1], &channels) || !tn_is_int(t->dim[2], &y->h) ||
                    !tn_is_int(t->dim[3], &y->w) || y->classes < 1 || y->classes > 1 << 20 ||
                    y->anchors < 1 || channels != y->anchors * (5 + aware + y->classes)))
        imp_refuse(c, IMP_OPERANDS, "data %s does not fit %lld anchors and %lld classes", imp_type_text(c, t),
                   (long long)y->anchors, (long long)y->classes);
    return !c->bad;
}

/* Boxes and scores of all places of a map; zeros where nothing is likely to be. */
static void yolo_box(imp_node *c)
{
    static const int64_t order[] = {0, 1, 3, 4, 2};
    yolo y;
    tn_value x = pd_in(c, "X"), size = imp_cast(c, pd_in(c, "ImgSize"), TN_F32), aware_of = {0};
    tn_ints anchor = pd_ints(c, NULL, NULL, "anchors");
    double least = imp_attr_float(c, "conf_thresh", 0.01f),
           share = imp_attr_float(c, "iou_aware_factor", 0.5f);
    bool aware = pd_bool(c, "iou_aware", false);
    if (!begin_yolo(c, x, anchor, aware, &y))
        return;
    if (aware) { /* how well each box fits comes before everything else */
        aware_of = sigmoid(c, imp_slice(c, x, 1, 0, y.anchors));
        x = imp_slice(c, x, 1, y.anchors, INT64_MAX);
    }
    const tn_expr *n = imp_type(x)->dim[0], *one = tn_idx(c->pool, 1), *image[4] = {n, one, one, one},
                  *five[5] = {n, tn_idx(c->pool, y.anchors), tn_idx(c->pool, 5 + y.classes),
                              tn_idx(c->pool, y.h), tn_idx(c->pool, y.w)},
                  *boxes[3] = {n, tn_idx(c->pool, y.anchors * y.h * y.w), tn_idx(c->pool, 4)},
                  *scores[3] = {n, boxes[1], tn_idx(c->pool, y.classes)};
    for (int i = 0; i < 2; i++)
        y.image[i] = imp_reshape(c, imp_slice(c, size, 1, !i, 1 + !i), 4, image);
    x = imp_reshape(c, x, 5, five);
    tn_value sure = sigmoid(c, component(c, x, 4));
    if (aware) {
        tn_value fit = imp_with(c, &tn_op_power, aware_of, share);
        sure = product(c, imp_with(c, &tn_op_power, sure, 1 - share), fit);
    }
    tn_value there = imp_with(c, &tn_op_greater_equal, sure, least), zero = imp_const(c, TN_F32, 0);
    tn_value all = yolo_boxes(c, &y, x, anchor), of_class = sigmoid(c, imp_slice(c, x, 2, 5, INT64_MAX));
    tn_value box = imp_choose(c, imp_unsqueeze(c, there, 4), all, zero);
    tn_value score = product(c, of_class, imp_unsqueeze(c, sure, 2));
    score = imp_transpose(c, imp_choose(c, imp_unsqueeze(c, there, 2), score, zero), 5, order);
    pd_out(c, "Boxes", imp_reshape(c, box, 3, boxes));
    pd_out(c, "Scores", imp_reshape(c, score, 3, scores));
}

/* ---- suppression ---- */

static tn_value without_background(imp_node *c, tn_value scores, double least)
{
    int64_t none = imp_attr_int(c, "background_label", 0);
    if (!c->bad && imp_rank(scores) != 3)
        imp_refuse(c, IMP_OPERANDS, "scores %s must have three dimensions",
                   imp_type_text(c, imp_type(scores)));
    if (none < 0 || c->bad)
        return scores;
    tn_value hidden = imp_with(c, &tn_op_equal, imp_along(c, imp_count_up(c, imp_type(scores)->dim[1]), 1, 3),
                               (double)none);
    return imp_choose(c, hidden, imp_const(c, imp_type(scores)->dtype, least), scores);
}

/* Rows [class, score, left, top, right, bottom] of all images, by image, class and score. */
static void multiclass_nms(imp_node *c)
{
    tn_value boxes = pd_in(c, "BBoxes"), scores = pd_in(c, "Scores");
    imp_nms how = {.overlap = imp_attr_float(c, "nms_threshold", 0.3f),
                   .least = imp_attr_float(c, "score_threshold", 0),
                   .most = imp_attr_int(c, "nms_top_k", -1),
                   .inclusive = !pd_bool(c, "normalized", true)};
    int64_t most = imp_attr_int(c, "keep_top_k", -1);
    if (imp_attr_float(c, "nms_eta", 1) != 1)
        imp_refuse(c, IMP_BAD_VALUE, "attribute nms_eta must be 1");
    if (pd_count(c, "RoisNum"))
        imp_refuse(c, IMP_OPERANDS, "lists of boxes of several images (RoisNum) are not supported");
    imp_detections d = imp_detect(c, boxes, without_background(c, scores, how.least), &how, most);
    if (c->bad)
        return;
    tn_value part[3] = {imp_unsqueeze(c, imp_cast(c, d.which, imp_type(boxes)->dtype), 1),
                        imp_unsqueeze(c, d.score, 1), d.box};
    pd_out(c, "Out", imp_concat(c, 3, part, 1));
    pd_out(c, "Index", imp_cast(c, imp_unsqueeze(c, d.place, 1), TN_I32));
    pd_out(c, "NmsRoisNum", d.count);
}

// clang-format off
const imp_row pd_rows_box[] = {
    {"box_coder",       1, 0, -1, -1, box_coder,      NULL},
    {"multiclass_nms",  1, 0, -1, -1, multiclass_nms, NULL},
    {"multiclass_nms2", 1, 0, -1, -1, multiclass_nms, NULL},
    {"multiclass_nms3", 1, 0, -1, -1, multiclass_nms, NULL},
    {"prior_box",       1, 0, -1, -1, prior_box,      NULL},
    {"roi_align",       1, 0, -1, -1, roi_align,      NULL},
    {"roi_pool",        1, 0, -1, -1, roi_pool,       NULL},
    {"yolo_box",        1, 0, -1, -1, yolo_box,       NULL},
    {0},
};
// clang-format on
