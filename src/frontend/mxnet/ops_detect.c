/* Detections in MXNet: boxes from anchors, suppression of those that overlap better ones, proposals of regions. */
#include "frontend/import/boxes.h"
#include "frontend/import/propose.h"
#include "frontend/mxnet/mxnet.h"

#include "op/tensor/tensor.h"

#include <math.h>

static tn_value column(imp_node *c, tn_value v, int64_t i)
{
    return imp_slice(c, v, imp_rank(v) - 1, i, i + 1);
}

/* ---- MultiBoxDetection ---- */

/* Boxes [batch, n, 4] from differences [batch, 4 n] to anchors [1, n, 4]. */
static tn_value decoded(imp_node *c, tn_value loc, tn_value anchor)
{
    double variance[4] = {0.1, 0.1, 0.2, 0.2};
    uint32_t n;
    (void)mx_floats(c, "variances", 4, &n, variance);
    return imp_multibox_boxes(c, loc, anchor, variance, mx_bool(c, "clip", true));
}

/* Of sorted boxes of the best class each: bool [batch, n], which stay. */
static tn_value kept(imp_node *c, tn_value boxes, tn_value score, tn_value which, tn_value valid,
                     int64_t classes)
{
    double overlap = mx_float(c, "nms_threshold", 0.5);
    bool force = mx_bool(c, "force_suppress", false);
    const tn_type *t = imp_type(score);
    imp_nms how = {.overlap = (double)nextafterf((float)overlap, 0), .least = -1e38, .most = -1};
    tn_value none = imp_const(c, t->dtype, -3e38), open = imp_unsqueeze(c, valid, 1), best;
    if (!force) {
        tn_value k = imp_cast(c, imp_count_up(c, tn_idx(c->pool, classes)), imp_type(which)->dtype);
        tn_value column_of = imp_unsqueeze(c, which, 1), all = imp_along(c, k, 1, 3);
        tn_value own = imp_binary(c, &tn_op_equal, column_of, all);
        open = imp_binary(c, &tn_op_logical_and, own, open);
    }
    tn_value by_class = imp_choose(c, open, imp_unsqueeze(c, score, 1), none);
    return c->bad ? score : imp_marked(c, imp_suppress(c, boxes, by_class, &how, &best), t->dim[1]);
}

/* Rows [class or -1, score, left, top, right, bottom], the best first; rows without a class are -1. */
static void multibox_detection(imp_node *c)
{
    tn_value prob = imp_in(c, 0), loc = imp_in(c, 1), anchor = imp_in(c, 2);
    double least = mx_float(c, "threshold", 0.01);
    int64_t classes = 0, most = mx_int(c, "nms_topk", -1), n = 0;
    if (mx_int(c, "background_id", 0) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "attribute background_id must be 0");
    if (!c->bad && (imp_rank(prob) != 3 || imp_rank(loc) != 2 || imp_rank(anchor) != 3 ||
                    !tn_is_int(imp_type(prob)->dim[1], &classes) || !tn_is_int(imp_type(prob)->dim[2], &n) ||
                    classes < 2))
        imp_refuse(c, IMP_OPERANDS, "scores %s, boxes %s and anchors %s do not fit",
                   imp_type_text(c, imp_type(prob)), imp_type_text(c, imp_type(loc)),
                   imp_type_text(c, imp_type(anchor)));
    if (c->bad)
        return;
    if (most > 0 && most < n)
        imp_refuse(c, IMP_BAD_VALUE, "nms_topk is %lld, but only one that keeps all %lld boxes is supported",
                   (long long)most, (long long)n);
    tn_value boxes = decoded(c, loc, anchor), some = imp_slice(c, prob, 1, 1, classes);
    tn_arg_attr by_class = {.axis = 1, .dtype = TN_I64};
    tn_value score = imp_reduce(c, &tn_op_max, some, 1), which = imp_call1(c, &tn_op_argmax, &by_class, some);
    tn_value sure = imp_with(c, &tn_op_greater_equal, score, least),
             no = imp_const(c, imp_type(score)->dtype, -3e38);
    tn_value key = imp_choose(c, sure, score, no);
    tn_topk_attr all = {.axis = 1, .dtype = TN_I64};
    all.k = tn_dims_make(c->arena, 1, &imp_type(prob)->dim[2]);
    tn_value sorted = imp_call1(c, &tn_op_topk, &all, key), order = {sorted.def, 1};
    tn_axis_attr along = {1};
    boxes = imp_rows_at(c, boxes, order);
    score = imp_call2(c, &tn_op_gather, &along, score, order);
    which = imp_call2(c, &tn_op_gather, &along, which, order);
    tn_value valid = imp_with(c, &tn_op_greater_equal, score, least);
    tn_value stays =
        imp_binary(c, &tn_op_logical_and, valid, kept(c, boxes, score, which, valid, classes - 1));
    tn_value minus = imp_const(c, imp_type(score)->dtype, -1);
    tn_value part[3] = {
        imp_unsqueeze(c, imp_choose(c, stays, imp_cast(c, which, imp_type(score)->dtype), minus), 2),
        imp_unsqueeze(c, score, 2), boxes};
    tn_value rows = imp_concat(c, 3, part, 2);
    imp_out(c, 0, imp_choose(c, imp_unsqueeze(c, valid, 2), rows, minus));
}

/* What a network is trained with. */
static void multibox_target(imp_node *c)
{
    for (size_t i = 0; i < c->n_attr; i++)
        imp_attr_ignore(c, imp_text(c->im, c->attr[i].name));
    imp_refuse(
        c, IMP_OPERANDS,
        "it makes targets to train with from labels, which inference does not have; export what the network "
        "detects: net = symbol.get_internals()[\"NAME_output\"], with the name of its last layer");
}

/* ---- box_nms ---- */

static const char *const forms[] = {"corner", "center", NULL};

static tn_value corners_of(imp_node *c, tn_value box)
{
    tn_value centre = imp_slice(c, box, 2, 0, 2),
             half = imp_with(c, &tn_op_multiply, imp_slice(c, box, 2, 2, 4), 0.5);
    tn_value part[2] = {imp_binary(c, &tn_op_subtract, centre, half),
                        imp_binary(c, &tn_op_add, centre, half)};
    return imp_concat(c, 2, part, 2);
}

static tn_value centres_of(imp_node *c, tn_value box)
{
    tn_value low = imp_slice(c, box, 2, 0, 2), high = imp_slice(c, box, 2, 2, 4);
    tn_value part[2] = {imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_add, low, high), 0.5),
                        imp_binary(c, &tn_op_subtract, high, low)};
    return imp_concat(c, 2, part, 2);
}

/* Boxes of different classes moved so far apart that they never meet; in float64, so that none changes. */
static tn_value moved_apart(imp_node *c, tn_value box, tn_value which)
{
    static const tn_axes_attr all;
    box = imp_cast(c, box, TN_F64);
    tn_value most = imp_call1(c, &tn_op_max, &all, box), least = imp_call1(c, &tn_op_min, &all, box);
    tn_value span = imp_with(c, &tn_op_add, imp_binary(c, &tn_op_subtract, most, least), 1);
    tn_value step = imp_binary(c, &tn_op_multiply, imp_cast(c, which, TN_F64), span);
    return imp_binary(c, &tn_op_add, box, step);
}

/* The columns of the box replaced by others. */
static tn_value with_box(imp_node *c, tn_value rows, tn_value box, int64_t at)
{
    int64_t width = 0;
    (void)tn_is_int(imp_type(rows)->dim[2], &width);
    tn_value part[3];
    uint32_t n = 0;
    if (at > 0)
        part[n++] = imp_slice(c, rows, 2, 0, at);
    part[n++] = box;
    if (at + 4 < width)
        part[n++] = imp_slice(c, rows, 2, at + 4, width);
    return imp_concat(c, n, part, 2);
}

/* Rows that stay, the best first, then rows of -1. */
static void box_nms(imp_node *c)
{
    tn_value x = imp_in(c, 0), best;
    int64_t coord = mx_int(c, "coord_start", 2), score = mx_int(c, "score_index", 1),
            id = mx_int(c, "id_index", -1), most = mx_int(c, "topk", -1),
            background = mx_int(c, "background_id", -1), width = 0, n = 0;
    imp_nms how = {.overlap = mx_float(c, "overlap_thresh", 0.5),
                   .least = mx_float(c, "valid_thresh", 0),
                   .most = most > 0 ? most : -1};
    bool force = mx_bool(c, "force_suppress", false) || id < 0;
    int from = mx_choice(c, "in_format", 0, forms), to = mx_choice(c, "out_format", 0, forms),
        rank = imp_rank(x);
    const tn_type *t = imp_type(x);
    if (!c->bad && (rank < 2 || !tn_is_int(t->dim[rank - 1], &width) || !tn_is_int(t->dim[rank - 2], &n) ||
                    coord < 0 || coord + 4 > width || score < 0 || score >= width || id >= width))
        imp_refuse(c, IMP_OPERANDS, "data %s has no boxes at column %lld", imp_type_text(c, t),
                   (long long)coord);
    if (imp_wants(c, 1))
        imp_refuse(c, IMP_OPERANDS, "the positions of the rows that stay are not supported as a result");
    if (c->bad)
        return;
    const tn_expr *three[3] = {imp_product(c, t, 0, rank - 2), t->dim[rank - 2], t->dim[rank - 1]};
    tn_value rows = imp_reshape(c, x, 3, three), box = imp_slice(c, rows, 2, coord, coord + 4),
             points = imp_squeeze(c, column(c, rows, score), 2);
    tn_value corner = from ? corners_of(c, box) : box;
    if (id >= 0 && background >= 0) {
        tn_value hidden =
            imp_with(c, &tn_op_equal, imp_squeeze(c, column(c, rows, id), 2), (double)background);
        points = imp_choose(c, hidden, imp_const(c, t->dtype, -3e38), points);
    }
    if (from != to)
        rows = with_box(c, rows, to ? centres_of(c, corner) : corner, coord);
    if (!force) {
        corner = moved_apart(c, corner, column(c, rows, id));
        points = imp_cast(c, points, TN_F64);
    }
    tn_value at = imp_suppress(c, corner, imp_unsqueeze(c, points, 1), &how, &best);
    if (c->bad)
        return;
    int64_t have = n;
    (void)tn_is_int(imp_type(at)->dim[2], &have);
    at = imp_squeeze(c, at, 1);
    tn_value there = imp_with(c, &tn_op_greater_equal, at, 0);
    tn_value taken = imp_rows_at(c, rows, imp_with(c, &tn_op_maximum, at, 0)),
             none = imp_const(c, t->dtype, -1);
    tn_value row = imp_unsqueeze(c, there, 2), out = imp_choose(c, row, taken, none);
    if (have < n) {
        const tn_expr *pad[6] = {tn_idx(c->pool, 0),        tn_idx(c->pool, 0), tn_idx(c->pool, 0),
                                 tn_idx(c->pool, n - have), tn_idx(c->pool, 0), tn_idx(c->pool, 0)};
        tn_pad_attr a = {
            .pad_width = tn_dims_make(c->arena, 6, pad), .pad_value = -1, .pad_mode = "constant"};
        out = imp_call1(c, &tn_op_nn_pad, &a, out);
    }
    imp_out(c, 0, rank == 3 ? out : imp_reshape(c, out, rank, t->dim));
}

/* ---- Proposal, MultiProposal ---- */

/* The anchors of the first place, in the order and with the roundings of Faster R-CNN. */
static void make_anchors(imp_node *c, imp_anchors *r)
{
    double scale[64] = {4, 8, 16, 32}, ratio[64] = {0.5, 1, 2};
    uint32_t scales, ratios;
    scales = mx_floats(c, "scales", 64, &scales, scale) ? scales : 4;
    ratios = mx_floats(c, "ratios", 64, &ratios, ratio) ? ratios : 3;
    float side = (float)r->stride, centre = (float)(0.5 * (side - 1.0F));
    r->kinds = 0;
    for (uint32_t i = 0; i < ratios && !c->bad; i++)
        for (uint32_t k = 0; k < scales; k++, r->kinds++) {
            float q = (float)ratio[i], s = (float)scale[k];
            float w = floorf(sqrtf(floorf(side * side / q)) + 0.5F) * s, h = floorf(w / s * q + 0.5F) * s;
            float size[2] = {w, h};
            for (int d = 0; d < 2; d++) {
                r->low[d][r->kinds] = centre - 0.5F * (size[d] - 1.0F);
                r->size[d][r->kinds] = centre + 0.5F * (size[d] - 1.0F) - r->low[d][r->kinds] + 1.0F;
            }
        }
}

/* Rows [image, left, top, right, bottom] and their scores, as many for each image. */
static void proposal(imp_node *c)
{
    imp_anchors *anchors = TN_NEW(c->arena, imp_anchors);
    int64_t before = mx_int(c, "rpn_pre_nms_top_n", 6000), after = mx_int(c, "rpn_post_nms_top_n", 300),
            stride = mx_int(c, "feature_stride", 16);
    const imp_proposals p = {.anchors = anchors,
                             .least = (double)mx_int(c, "rpn_min_size", 16),
                             .differences = mx_bool(c, "iou_loss", false),
                             .overlap = mx_float(c, "threshold", 0.7),
                             .before = before > 0 ? before : -1,
                             .after = after};
    imp_attr_ignore(c, "output_score");
    if (after < 1 || after > 1 << 24)
        imp_refuse(c, IMP_BAD_VALUE, "attribute rpn_post_nms_top_n is %lld, but must be at least 1",
                   (long long)after);
    if (stride < 1 || stride > 1 << 20)
        imp_refuse(c, IMP_BAD_VALUE, "attribute feature_stride is %lld, but must be at least 1",
                   (long long)stride);
    anchors->stride = (double)stride;
    make_anchors(c, anchors);
    const tn_value score = imp_in(c, 0), delta = imp_in(c, 1), info = imp_in(c, 2);
    tn_value scores;
    imp_out(c, 0, imp_propose(c, &p, (const tn_value[]){score, delta, info}, &scores));
    imp_out_any(c, 1, scores);
}

// clang-format off
const imp_row mx_rows_detect[] = {
    {"_contrib_MultiBoxDetection",           0, 0, 3, 1, multibox_detection, NULL},
    {"_npx_multibox_detection",              0, 0, 3, 1, multibox_detection, NULL},
    {"_contrib_MultiBoxTarget",              0, 0, 3, 3, multibox_target,    NULL},
    {"_npx_multibox_target",                 0, 0, 3, 3, multibox_target,    NULL},
    {"_contrib_box_nms",                     0, 0, 1, 2, box_nms,            NULL},
    {"_contrib_box_non_maximum_suppression", 0, 0, 1, 2, box_nms,            NULL},
    {"_contrib_Proposal",                    0, 0, 3, 2, proposal,           NULL},
    {"_contrib_MultiProposal",               0, 0, 3, 2, proposal,           NULL},
    {0},
};
// clang-format on
