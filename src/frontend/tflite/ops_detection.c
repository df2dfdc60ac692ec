/* Boxes: suppression of those that overlap better ones, TFLite_Detection_PostProcess. */
#include "frontend/tflite/quant.h"

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
    tn_value at = first_of(c, chosen_boxes(c, boxes, scores, most, overlap, least), n);
    tn_value there = tfl_with(c, &tn_op_greater_equal, at, 0);
    tn_value position = tfl_with(c, &tn_op_maximum, at, 0);
    tn_value count = imp_reduce(c, &tn_op_sum, imp_cast(c, there, TN_I32), 0);
    imp_out(c, 0, imp_cast(c, position, TN_I32));
    if (soft) {
        tn_value none = imp_const(c, TN_F32, 0), best = imp_take(c, scores, position, 0);
        imp_out_any(c, 1, imp_choose(c, there, best, none));
    }
    imp_out_any(c, soft ? 2 : 1, count);
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
        centre = imp_call2(c, &tn_op_multiply, NULL, centre, size);
        tn_value middle = column(c, anchor, i);
        centre = imp_call2(c, &tn_op_add, NULL, centre, middle);
        tn_value half =
            imp_call1(c, &tn_op_exp, NULL, tfl_with(c, &tn_op_divide, column(c, code, 2 + i), to_size));
        half = tfl_with(c, &tn_op_multiply, imp_call2(c, &tn_op_multiply, NULL, half, size), 0.5);
        part[i] = imp_unsqueeze(c, imp_call2(c, &tn_op_subtract, NULL, centre, half), 1);
        part[2 + i] = imp_unsqueeze(c, imp_call2(c, &tn_op_add, NULL, centre, half), 1);
    }
    return imp_concat(c, 4, part, 1);
}

/* The classes' scores [n, classes], without the background. */
static tn_value class_scores(imp_node *c, int64_t classes)
{
    tn_value scores = imp_squeeze(c, tfl_real(c, 1), 0);
    int64_t all = 0;
    if (c->bad || imp_rank(scores) != 2 || !tn_is_int(imp_type(scores)->dim[1], &all) || all < classes) {
        imp_refuse(c, IMP_BAD_VALUE, "the scores %s do not fit %lld classes",
                   imp_type_text(c, imp_type(scores)), (long long)classes);
        return scores;
    }
    return imp_slice(c, scores, 1, all - classes, all);
}

static void give_row(imp_node *c, uint32_t i, tn_value v) { imp_out_any(c, i, imp_unsqueeze(c, v, 0)); }

/* One class for each box, its best: the "fast" form, which exporters write. */
static void post_process(imp_node *c)
{
    int64_t most = imp_attr_int(c, "max_detections", 0), classes = imp_attr_int(c, "num_classes", 0);
    double overlap = imp_attr_float(c, "nms_iou_threshold", 0),
           least = imp_attr_float(c, "nms_score_threshold", 0);
    imp_attr_ignore(c, "detections_per_class");
    imp_attr_ignore(c, "_output_quantized");
    imp_attr_ignore(c, "_support_output_type_float_in_quantized_op");
    if (imp_attr_int(c, "use_regular_nms", 0) != 0 || imp_attr_int(c, "max_classes_per_detection", 1) != 1)
        imp_refuse(c, IMP_BAD_VALUE,
                   "only the fast form with one class for each detection is supported; export the model with "
                   "use_regular_nms=false");
    if (most < 1 || most > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "max_detections is %lld", (long long)most);
    tn_value code = imp_squeeze(c, tfl_real(c, 0), 0), anchor = tfl_real(c, 2);
    tn_value boxes = decoded(c, code, anchor), scores = class_scores(c, classes);
    tn_value best = imp_reduce(c, &tn_op_max, scores, 1);
    tn_arg_attr by_class = {.axis = 1, .dtype = TN_I32};
    tn_value which = imp_cast(c, imp_call1(c, &tn_op_argmax, &by_class, scores), TN_F32);
    tn_value limit = imp_const(c, TN_F32, overlap), floor = imp_const(c, TN_F32, least);
    tn_value at = chosen_boxes(c, boxes, best, tfl_int(c, most), limit, floor);
    at = first_of(c, at, most);
    tn_value there = tfl_with(c, &tn_op_greater_equal, at, 0), position = tfl_with(c, &tn_op_maximum, at, 0);
    tn_value none = imp_const(c, TN_F32, 0), row = imp_unsqueeze(c, there, 1);
    give_row(c, 0, imp_choose(c, row, imp_take(c, boxes, position, 0), none));
    give_row(c, 1, imp_choose(c, there, imp_take(c, which, position, 0), none));
    give_row(c, 2, imp_choose(c, there, imp_take(c, best, position, 0), none));
    give_row(c, 3, imp_reduce(c, &tn_op_sum, imp_cast(c, there, TN_F32), 0));
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
