/* Boxes of detectors: suppression of those that overlap better ones. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/boxes.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

#include <string.h>

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

/* Padded: max_output_size entries, zeros after the last box. */
static void pad_boxes(imp_node *c, tn_value chosen, bool with_scores)
{
    const tn_expr *n = imp_extent_in(c, imp_in(c, 2), "max_output_size");
    if (c->bad)
        return;
    imp_padded p = imp_pad_boxes(c, chosen, n);
    imp_out(c, 0, imp_cast(c, p.place, TN_I32));
    if (with_scores)
        imp_out_any(c, 1, imp_padded_scores(c, &p, imp_in(c, 1)));
    imp_out_any(c, with_scores ? 2 : 1, p.count);
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
                   "soft_nms_sigma must be the constant 0, because softened scores are not supported");
    if (padded) {
        pad_boxes(c, chosen, five);
        return;
    }
    tn_value at = c->bad ? chosen : kept(c, chosen);
    imp_out(c, 0, at);
    tn_value count = c->bad ? at : imp_cast(c, imp_extent_of(c, at, 0), TN_I32);
    if (five)
        imp_out_any(c, 1, imp_take(c, scores, at, 0));
    imp_out_any(c, five ? 2 : 1, count);
}

// clang-format off
const imp_row tf_rows_boxes[] = {
    {"NonMaxSuppression",     1, 0, 3, 1, nms,        NULL},
    {"NonMaxSuppressionV2",   1, 0, 4, 1, nms,        NULL},
    {"NonMaxSuppressionV3",   1, 0, 5, 1, nms,        NULL},
    {"NonMaxSuppressionV4",   1, 0, 5, 2, nms_padded, NULL},
    {"NonMaxSuppressionV5",   1, 0, 6, 3, nms_padded, NULL},
    {0},
};
// clang-format on
