/* Boxes: suppression of those that overlap better ones, TFLite_Detection_PostProcess. */
#include "frontend/tflite/quant.h"

#include "frontend/import/boxes.h"
#include "op/vision/vision.h"

#include <string.h>

/* Positions of at most `most` (int32, rank 0) boxes [n, 4], the best scores [n] first; -1 where there are no more. */
static tn_value chosen_boxes(imp_node *c, tn_value boxes, tn_value scores, tn_value most, tn_value overlap,
                             tn_value least)
{
    tn_nms_attr a = {false};
    tn_value in[5] = {imp_unsqueeze(c, boxes, 0), {0}, {0}, overlap, least};
    in[1] = imp_unsqueeze(c, imp_unsqueeze(c, scores, 0), 0);
    in[2] = imp_cast(c, most, TN_I64);
    return imp_flat(c, imp_call(c, &tn_op_vision_nms_select, &a, 5, in));
}

/* The first n entries of a list, or more of them: -1. */
static tn_value first_of(imp_node *c, tn_value v, int64_t n)
{
    int64_t have = imp_length(v);
    const tn_expr *width[2] = {tn_idx(c->pool, 0), tn_idx(c->pool, n - have)};
    tn_pad_attr more = {
        .pad_width = tn_dims_make(c->arena, 2, width), .pad_value = -1, .pad_mode = "constant"};
    if (have < 0)
        imp_refuse(c, IMP_TOO_LARGE, "the number of boxes must be fixed");
    return c->bad || n == have ? v
           : n < have          ? imp_slice(c, v, 0, 0, n)
                               : imp_call1(c, &tn_op_nn_pad, &more, v);
}

/* boxes, scores, how many, overlap, least score (, sigma) -> positions (, scores), how many there are */
static void suppression(imp_node *c)
{
    bool soft = c->row->op[strlen(c->row->op) - 1] == '5';
    tn_value boxes = imp_in(c, 0), scores = imp_in(c, 1), most = imp_in(c, 2);
    tn_value overlap = imp_in(c, 3), least = imp_in(c, 4);
    double sigma = 0;
    if (soft && (!imp_scalar(c, imp_in(c, 5), &sigma) || sigma != 0))
        imp_refuse(c, IMP_BAD_VALUE, "soft suppression is supported with a constant sigma of 0 only");
    int64_t n = imp_int_in(c, most, "max_output_size");
    if (!c->bad && n < 0)
        imp_refuse(c, IMP_BAD_VALUE, "max_output_size is %lld; the model is damaged", (long long)n);
    tn_value chosen = chosen_boxes(c, boxes, scores, most, overlap, least);
    if (c->bad)
        return;
    imp_padded p = imp_pad_boxes(c, chosen, tn_idx(c->pool, n));
    imp_out(c, 0, imp_cast(c, p.place, TN_I32));
    if (soft)
        imp_out_any(c, 1, imp_padded_scores(c, &p, scores));
    imp_out_any(c, soft ? 2 : 1, p.count);
}

/* ---- TFLite_Detection_PostProcess ---- */

static tn_value column(imp_node *c, tn_value v, int i)
{
    return imp_squeeze(c, imp_slice(c, v, 1, i, i + 1), 1);
}

/* Boxes [n, 4] (top, left, bottom, right) from encodings and anchors (centre row and column, height, width). */
static tn_value decoded(imp_node *c, tn_value code, tn_value anchor)
{
    static const char *const names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    tn_value part[4];
    for (int i = 0; i < 2; i++) {
        double to_centre = imp_attr_float(c, names[i], 1), to_size = imp_attr_float(c, names[2 + i], 1);
        tn_value size = column(c, anchor, 2 + i),
                 centre = tfl_with(c, &tn_op_divide, column(c, code, i), to_centre);
        centre = imp_binary(c, &tn_op_multiply, centre, size);
        tn_value middle = column(c, anchor, i);
        centre = imp_binary(c, &tn_op_add, centre, middle);
        tn_value half = imp_unary(c, &tn_op_exp, tfl_with(c, &tn_op_divide, column(c, code, 2 + i), to_size));
        half = tfl_with(c, &tn_op_multiply, imp_binary(c, &tn_op_multiply, half, size), 0.5);
        part[i] = imp_unsqueeze(c, imp_binary(c, &tn_op_subtract, centre, half), 1);
        part[2 + i] = imp_unsqueeze(c, imp_binary(c, &tn_op_add, centre, half), 1);
    }
    return imp_concat(c, 4, part, 1);
}

/* The classes' scores [n, classes], without the background. */
static tn_value class_scores(imp_node *c, int64_t classes)
{
    tn_value scores = imp_squeeze(c, tfl_real(c, 1), 0);
    int64_t all = 0;
    if (c->bad || imp_rank(scores) != 2 || !tn_is_int(imp_type(scores)->dim[1], &all) || classes < 1 ||
        all < classes) {
        imp_refuse(c, IMP_BAD_VALUE, "the scores %s do not fit %lld classes",
                   imp_type_text(c, imp_type(scores)), (long long)classes);
        return scores;
    }
    return imp_slice(c, scores, 1, all - classes, all);
}

static void give_row(imp_node *c, uint32_t i, tn_value v) { imp_out_any(c, i, imp_unsqueeze(c, v, 0)); }

typedef struct detection {
    tn_value boxes, scores; /* [n, 4], [n, classes] */
    int64_t most, each;     /* detections, of each class */
    tn_value overlap, least;
} detection;

/* Detections by their boxes, classes (float32) and scores, best first; those that are not there give zeros. */
static void give_detections(imp_node *c, const detection *d, tn_value box, tn_value class, tn_value score,
                            tn_value there)
{
    tn_value none = imp_const(c, TN_F32, 0), row = imp_unsqueeze(c, there, 1);
    give_row(c, 0, imp_choose(c, row, imp_take(c, d->boxes, box, 0), none));
    give_row(c, 1, imp_choose(c, there, class, none));
    give_row(c, 2, imp_choose(c, there, score, none));
    give_row(c, 3, imp_reduce(c, &tn_op_sum, imp_cast(c, there, TN_F32), 0));
}

/* One class for each box, its best: the "fast" form, which exporters write. */
static void fast(imp_node *c, const detection *d)
{
    tn_value best = imp_reduce(c, &tn_op_max, d->scores, 1);
    tn_arg_attr by_class = {.axis = 1, .dtype = TN_I32};
    tn_value which = imp_cast(c, imp_call1(c, &tn_op_argmax, &by_class, d->scores), TN_F32);
    tn_value at = chosen_boxes(c, d->boxes, best, tfl_int(c, d->most), d->overlap, d->least);
    if (!c->bad && imp_length(at) == 0)
        imp_refuse(c, IMP_BAD_VALUE, "there are no boxes to choose from");
    at = first_of(c, at, d->most);
    tn_value there = tfl_with(c, &tn_op_greater_equal, at, 0), position = tfl_with(c, &tn_op_maximum, at, 0);
    tn_value class = imp_take(c, which, position, 0), score = imp_take(c, best, position, 0);
    give_detections(c, d, position, class, score, there);
}

/* Boxes of every class, at most `each`; then the best of all classes. */
static void regular(imp_node *c, const detection *d)
{
    static const int64_t swap[] = {1, 0};
    int64_t n = 0, classes = 0;
    const tn_type *t = imp_type(d->scores);
    if (c->bad || !tn_is_int(t->dim[0], &n) || !tn_is_int(t->dim[1], &classes) || n < 1 || classes < 1) {
        imp_refuse(c, IMP_TOO_LARGE, "the number of boxes must be fixed");
        return;
    }
    int64_t each = d->each < n ? d->each : n, all = classes * each, most = d->most < all ? d->most : all;
    const tn_expr *dim[2] = {tn_idx(c->pool, classes), tn_idx(c->pool, n)};
    tn_value by_class = imp_transpose(c, d->scores, 2, swap);
    tn_nms_attr a = {false};
    tn_value in[5] = {imp_unsqueeze(c, d->boxes, 0), imp_unsqueeze(c, by_class, 0), imp_i64(c, each),
                      d->overlap, d->least};
    tn_value at = imp_call(c, &tn_op_vision_nms_select, &a, 5, in);
    at = imp_flat(c, imp_slice(c, imp_reshape(c, imp_flat(c, at), 2, dim), 1, 0, each));
    tn_value number = imp_count_up(c, tn_idx(c->pool, all)),
             class = imp_with(c, &tn_op_divide, number, (double)each);
    tn_value there = tfl_with(c, &tn_op_greater_equal, at, 0), box = tfl_with(c, &tn_op_maximum, at, 0);
    tn_value place = imp_with(c, &tn_op_multiply, class, (double)n);
    place = imp_binary(c, &tn_op_add, place, imp_cast(c, box, TN_I64));
    tn_value score = imp_take(c, imp_flat(c, by_class), place, 0), none = imp_const(c, TN_F32, -3e38);
    score = imp_choose(c, there, score, none);
    tn_topk_attr best = {.k = tn_make_dims(c->g, 1, &most), .axis = 0, .dtype = TN_I64};
    tn_node *top = c->bad ? NULL : tn_make_call(c->g, c->im->r, NULL, &tn_op_topk, 1, &score, &best, c->loc);
    c->bad = c->bad || !top;
    if (c->bad)
        return;
    tn_value first = first_of(c, (tn_value){top, 1}, d->most); /* -1: there are fewer */
    tn_value inside = tfl_with(c, &tn_op_greater_equal, first, 0);
    first = tfl_with(c, &tn_op_maximum, first, 0);
    there = imp_binary(c, &tn_op_logical_and, inside, imp_take(c, there, first, 0));
    tn_value its_class = imp_cast(c, imp_take(c, class, first, 0), TN_F32);
    tn_value its_box = imp_take(c, box, first, 0), its_score = imp_take(c, score, first, 0);
    give_detections(c, d, its_box, its_class, its_score, there);
}

static void post_process(imp_node *c)
{
    detection d = {.most = imp_attr_int(c, "max_detections", 0),
                   .each = imp_attr_int(c, "detections_per_class", 100)};
    int64_t classes = imp_attr_int(c, "num_classes", 0);
    double overlap = imp_attr_float(c, "nms_iou_threshold", 0),
           least = imp_attr_float(c, "nms_score_threshold", 0);
    bool all = imp_attr_int(c, "use_regular_nms", 0) != 0;
    imp_attr_ignore(c, "_output_quantized");
    imp_attr_ignore(c, "_output_types");
    imp_attr_ignore(c, "_support_output_type_float_in_quantized_op");
    if (imp_attr_int(c, "max_classes_per_detection", 1) != 1 && !all)
        imp_refuse(c, IMP_BAD_VALUE, "several classes for each detection are not supported in the fast form");
    if (d.most < 1 || d.most > INT32_MAX || d.each < 1)
        imp_refuse(c, IMP_BAD_VALUE, "max_detections is %lld, detections_per_class %lld", (long long)d.most,
                   (long long)d.each);
    tn_value code = imp_squeeze(c, tfl_real(c, 0), 0), anchor = tfl_real(c, 2);
    d.boxes = decoded(c, code, anchor);
    d.scores = class_scores(c, classes);
    d.overlap = imp_const(c, TN_F32, overlap);
    d.least = imp_const(c, TN_F32, least);
    (all ? regular : fast)(c, &d);
}

// clang-format off
const imp_row tfl_rows_detection[] = {
    {"NON_MAX_SUPPRESSION_V4", 1, 0, 5, 2, suppression, NULL},
    {"NON_MAX_SUPPRESSION_V5", 1, 0, 6, 3, suppression, NULL},
    {0},
};
const imp_row tfl_rows_post_process[] = {
    {"TFLite_Detection_PostProcess", 1, 0, 3, 4, post_process, NULL},
    {0},
};
// clang-format on
