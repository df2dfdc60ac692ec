/* Detections in MXNet: boxes from anchors, suppression of those that overlap better ones, proposals of regions. */
#include "frontend/import/boxes.h"
#include "frontend/mxnet/mxnet.h"

#include "op/tensor/tensor.h"

#include <math.h>

static tn_value column(imp_node *c, tn_value v, int64_t i)
{
    return imp_slice(c, v, imp_rank(v) - 1, i, i + 1);
}

/* Rows of v [batch, n, k] at positions [batch, m]. */
static tn_value rows_at(imp_node *c, tn_value v, tn_value at)
{
    tn_gather_nd_attr a = {1};
    return imp_call2(c, &tn_op_gather_nd, &a, v, imp_unsqueeze(c, at, 2));
}

static tn_value full(imp_node *c, tn_value v, int n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n, dim)};
    return imp_call1(c, &tn_op_broadcast_to, &a, v);
}

/* ---- MultiBoxDetection ---- */

/* Boxes [batch, n, 4] from differences [batch, 4 n] to anchors [1, n, 4]. */
static tn_value decoded(imp_node *c, tn_value loc, tn_value anchor)
{
    double variance[4] = {0.1, 0.1, 0.2, 0.2};
    uint32_t n;
    const tn_expr *dim[3] = {imp_type(loc)->dim[0], imp_type(anchor)->dim[1], tn_idx(c->pool, 4)};
    (void)mx_floats(c, "variances", 4, &n, variance);
    tn_value v = imp_reshape(c, loc, 3, dim), part[4];
    for (int i = 0; i < 2; i++) {
        tn_value low = column(c, anchor, i), high = column(c, anchor, 2 + i),
                 size = mx_binary(c, &tn_op_subtract, high, low);
        tn_value middle = imp_with(c, &tn_op_multiply, mx_binary(c, &tn_op_add, low, high), 0.5);
        tn_value centre =
            mx_binary(c, &tn_op_multiply, imp_with(c, &tn_op_multiply, column(c, v, i), variance[i]), size);
        tn_value wide =
            mx_unary(c, &tn_op_exp, imp_with(c, &tn_op_multiply, column(c, v, 2 + i), variance[2 + i]));
        tn_value half = imp_with(c, &tn_op_multiply, mx_binary(c, &tn_op_multiply, wide, size), 0.5);
        centre = mx_binary(c, &tn_op_add, centre, middle);
        part[i] = mx_binary(c, &tn_op_subtract, centre, half);
        part[2 + i] = mx_binary(c, &tn_op_add, centre, half);
    }
    tn_value boxes = imp_concat(c, 4, part, 2);
    tn_clip_attr inside = {0, 1};
    return mx_bool(c, "clip", true) ? imp_call1(c, &tn_op_clip, &inside, boxes) : boxes;
}

/* bool [batch, n]: which positions stand in a list [batch, classes, k], where -1 is none. */
static tn_value named(imp_node *c, tn_value at, const tn_expr *n)
{
    const tn_type *t = imp_type(at);
    const tn_expr *flat[2] = {t->dim[0], imp_product(c, t, 1, 3)},
                  *wide[2] = {t->dim[0], imp_simplify(c, tn_add(c->pool, n, tn_idx(c->pool, 1)))};
    tn_value list = imp_with(c, &tn_op_add, imp_reshape(c, at, 2, flat), 1); /* 0 is none */
    tn_scatter_attr a = {1, "update"};
    tn_value in[3] = {full(c, imp_const(c, TN_I32, 0), 2, wide), list,
                      full(c, imp_const(c, TN_I32, 1), 2, flat)};
    tn_value hit = imp_call(c, &tn_op_scatter_elements, &a, 3, in);
    return imp_cast(c, imp_slice(c, hit, 1, 1, INT64_MAX), TN_BOOL1);
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
        tn_value own = mx_binary(c, &tn_op_equal, column_of, all);
        open = mx_binary(c, &tn_op_logical_and, own, open);
    }
    tn_value by_class = imp_choose(c, open, imp_unsqueeze(c, score, 1), none);
    return c->bad ? score : named(c, imp_suppress(c, boxes, by_class, &how, &best), t->dim[1]);
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
    boxes = rows_at(c, boxes, order);
    score = imp_call2(c, &tn_op_gather, &along, score, order);
    which = imp_call2(c, &tn_op_gather, &along, which, order);
    tn_value valid = imp_with(c, &tn_op_greater_equal, score, least);
    tn_value stays =
        mx_binary(c, &tn_op_logical_and, valid, kept(c, boxes, score, which, valid, classes - 1));
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
    tn_value part[2] = {mx_binary(c, &tn_op_subtract, centre, half), mx_binary(c, &tn_op_add, centre, half)};
    return imp_concat(c, 2, part, 2);
}

static tn_value centres_of(imp_node *c, tn_value box)
{
    tn_value low = imp_slice(c, box, 2, 0, 2), high = imp_slice(c, box, 2, 2, 4);
    tn_value part[2] = {imp_with(c, &tn_op_multiply, mx_binary(c, &tn_op_add, low, high), 0.5),
                        mx_binary(c, &tn_op_subtract, high, low)};
    return imp_concat(c, 2, part, 2);
}

/* Boxes of different classes moved so far apart that they never meet; in float64, so that none changes. */
static tn_value moved_apart(imp_node *c, tn_value box, tn_value which)
{
    static const tn_axes_attr all;
    box = imp_cast(c, box, TN_F64);
    tn_value most = imp_call1(c, &tn_op_max, &all, box), least = imp_call1(c, &tn_op_min, &all, box);
    tn_value span = imp_with(c, &tn_op_add, mx_binary(c, &tn_op_subtract, most, least), 1);
    tn_value step = mx_binary(c, &tn_op_multiply, imp_cast(c, which, TN_F64), span);
    return mx_binary(c, &tn_op_add, box, step);
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
    tn_value taken = rows_at(c, rows, imp_with(c, &tn_op_maximum, at, 0)), none = imp_const(c, t->dtype, -1);
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

enum { MAX_ANCHORS = 64 * 64, X = 0, Y = 1 };

typedef struct regions { /* one anchor of each kind at each place; values are [images,rows,columns,kinds] */
    const tn_expr *dim[4];
    double stride;
    float size[2][MAX_ANCHORS],
        low[2][MAX_ANCHORS]; /* of the first place's anchors: width and height, left and top */
    int64_t kinds;
    tn_value score, delta; /* delta: ..., 4 */
    tn_value image[3];     /* height, width, scale: [images,1,1,1] */
} regions;

/* The anchors of the first place, in the order and with the roundings of Faster R-CNN. */
static void make_anchors(imp_node *c, regions *r)
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

/* [images,kinds * each,rows,columns] as [images,rows,columns,kinds,each] */
static tn_value by_place(imp_node *c, tn_value v, const regions *r, int64_t each)
{
    static const int64_t perm[] = {0, 3, 4, 1, 2};
    const tn_expr *dim[5] = {r->dim[0], r->dim[3], tn_idx(c->pool, each), r->dim[1], r->dim[2]};
    return imp_transpose(c, imp_reshape(c, v, 5, dim), 5, perm);
}

static bool read_regions(imp_node *c, regions *r)
{
    tn_value score = imp_in(c, 0), delta = imp_in(c, 1), info = imp_in(c, 2);
    int64_t stride = mx_int(c, "feature_stride", 16);
    r->stride = (double)stride;
    if (stride < 1 || stride > 1 << 20)
        imp_refuse(c, IMP_BAD_VALUE, "attribute feature_stride is %lld, but must be at least 1",
                   (long long)stride);
    make_anchors(c, r);
    if (!c->bad && (imp_rank(score) != 4 || imp_rank(delta) != 4 || imp_rank(info) != 2 ||
                    !tn_is_value(imp_type(score)->dim[1], 2 * r->kinds) ||
                    !tn_is_value(imp_type(delta)->dim[1], 4 * r->kinds)))
        imp_refuse(c, IMP_OPERANDS, "scores %s, boxes %s and images %s do not fit %lld scales and ratios",
                   imp_type_text(c, imp_type(score)), imp_type_text(c, imp_type(delta)),
                   imp_type_text(c, imp_type(info)), (long long)r->kinds);
    if (c->bad)
        return false;
    const tn_type *t = imp_type(score);
    const tn_expr *dim[4] = {t->dim[0], t->dim[2], t->dim[3], tn_idx(c->pool, r->kinds)};
    for (int i = 0; i < 4; i++)
        r->dim[i] = dim[i];
    r->score = imp_squeeze(c, by_place(c, imp_slice(c, score, 1, r->kinds, 2 * r->kinds), r, 1), 4);
    r->delta = by_place(c, delta, r, 4);
    for (int i = 0; i < 3; i++)
        r->image[i] = imp_unsqueeze(c, imp_unsqueeze(c, column(c, info, i), 2), 3);
    return !c->bad;
}

static tn_value anchors(imp_node *c, const regions *r, const float at[])
{
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &r->kinds, at, NULL));
}

/* Left (d X) or top edges of boxes, and right or bottom ones, limited to the image. */
static void box_edges(imp_node *c, const regions *r, int d, bool differences, tn_value out[2])
{
    tn_value place = imp_cast(c, imp_count_up(c, r->dim[d == X ? 2 : 1]), TN_F32);
    place = imp_along(c, imp_with(c, &tn_op_multiply, place, r->stride), d == X ? 2 : 1, 4);
    tn_value low = mx_binary(c, &tn_op_add, place, anchors(c, r, r->low[d])),
             size = anchors(c, r, r->size[d]);
    tn_value first = imp_squeeze(c, column(c, r->delta, d), 4),
             second = imp_squeeze(c, column(c, r->delta, 2 + d), 4);
    tn_value span = imp_with(c, &tn_op_subtract, size, 1);
    if (differences) {
        out[0] = mx_binary(c, &tn_op_add, low, first);
        out[1] = mx_binary(c, &tn_op_add, mx_binary(c, &tn_op_add, low, span), second);
    } else {
        tn_value middle = mx_binary(c, &tn_op_add, low, imp_with(c, &tn_op_multiply, span, 0.5));
        tn_value centre = mx_binary(c, &tn_op_add, mx_binary(c, &tn_op_multiply, first, size), middle);
        tn_value wide = mx_binary(c, &tn_op_multiply, mx_unary(c, &tn_op_exp, second), size);
        tn_value half = imp_with(c, &tn_op_multiply, imp_with(c, &tn_op_subtract, wide, 1), 0.5);
        out[0] = mx_binary(c, &tn_op_subtract, centre, half);
        out[1] = mx_binary(c, &tn_op_add, centre, half);
    }
    tn_value last = imp_with(c, &tn_op_subtract, r->image[d == X ? 1 : 0], 1);
    for (int i = 0; i < 2; i++)
        out[i] = imp_with(c, &tn_op_maximum, mx_binary(c, &tn_op_minimum, out[i], last), 0);
}

/* Is a place outside the image, in the padding of a batch? */
static tn_value in_padding(imp_node *c, const regions *r)
{
    tn_value hit[2];
    for (int k = 0; k < 2; k++) {
        tn_value at = imp_cast(c, imp_count_up(c, r->dim[1 + k]), TN_F32);
        tn_value end = mx_unary(c, &tn_op_trunc, imp_with(c, &tn_op_divide, r->image[k], r->stride));
        hit[k] = mx_binary(c, &tn_op_greater_equal, imp_along(c, at, 1 + k, 4), end);
    }
    return mx_binary(c, &tn_op_logical_or, hit[0], hit[1]);
}

/* Boxes that are too small grow and score -1, as those in the padding do. edge: left, top, right, bottom. */
static void drop_small(imp_node *c, regions *r, tn_value edge[4])
{
    tn_value least = imp_with(c, &tn_op_multiply, r->image[2], (double)mx_int(c, "rpn_min_size", 16)),
             small[2];
    for (int d = 0; d < 2; d++) {
        tn_value size = imp_with(c, &tn_op_add, mx_binary(c, &tn_op_subtract, edge[2 + d], edge[d]), 1);
        small[d] = mx_binary(c, &tn_op_less, size, least);
    }
    tn_value any = mx_binary(c, &tn_op_logical_or, small[0], small[1]),
             half = imp_with(c, &tn_op_multiply, least, 0.5);
    for (int i = 0; i < 4; i++) {
        tn_value grown = mx_binary(c, i < 2 ? &tn_op_subtract : &tn_op_add, edge[i], half);
        edge[i] = imp_choose(c, any, grown, edge[i]);
    }
    any = mx_binary(c, &tn_op_logical_or, any, in_padding(c, r));
    r->score = imp_choose(c, any, imp_const(c, imp_type(r->score)->dtype, -1), r->score);
}

/* [images,rows,columns,kinds] each, as boxes [images,n,4] */
static tn_value boxes_of(imp_node *c, const regions *r, const tn_value edge[4])
{
    const tn_expr *dim[3] = {r->dim[0], imp_product(c, imp_type(edge[0]), 1, 4), tn_idx(c->pool, 4)};
    tn_value part[4];
    for (int i = 0; i < 4; i++)
        part[i] = imp_unsqueeze(c, edge[i], 4);
    return imp_reshape(c, imp_concat(c, 4, part, 4), 3, dim);
}

/* Positions [images,n] of the n best of those that stay ([images,k], -1 after the last), again from the first one. */
static tn_value repeated(imp_node *c, tn_value at, int64_t n)
{
    tn_axes_attr along = {tn_ints_make(c->arena, 1, (const int64_t[]){1}), true, false};
    tn_axis_attr second = {1};
    tn_value there = imp_cast(c, imp_with(c, &tn_op_greater_equal, at, 0), TN_I64);
    tn_value count = imp_call1(c, &tn_op_sum, &along, there);
    count = imp_with(c, &tn_op_maximum, imp_with(c, &tn_op_minimum, count, (double)n), 1);
    tn_value turn = imp_unsqueeze(c, imp_count_up(c, tn_idx(c->pool, n)), 0);
    tn_value found = imp_call2(c, &tn_op_gather, &second, at, mx_binary(c, &tn_op_floor_mod, turn, count));
    return imp_with(c, &tn_op_maximum, found, 0);
}

/* Rows [image, left, top, right, bottom] and their scores, as many for each image. */
static void proposal(imp_node *c)
{
    regions *r = TN_NEW(c->arena, regions);
    int64_t before = mx_int(c, "rpn_pre_nms_top_n", 6000), after = mx_int(c, "rpn_post_nms_top_n", 300);
    bool differences = mx_bool(c, "iou_loss", false);
    imp_nms how = {
        .overlap = mx_float(c, "threshold", 0.7), .least = -1e38, .most = before > 0 ? before : -1};
    imp_attr_ignore(c, "output_score");
    if (after < 1 || after > 1 << 24)
        imp_refuse(c, IMP_BAD_VALUE, "attribute rpn_post_nms_top_n is %lld, but must be at least 1",
                   (long long)after);
    if (!read_regions(c, r))
        return;
    tn_value x[2], y[2], best;
    box_edges(c, r, X, differences, x);
    box_edges(c, r, Y, differences, y);
    tn_value edge[4] = {x[0], y[0], x[1], y[1]};
    drop_small(c, r, edge);
    tn_value boxes = boxes_of(c, r, edge);
    for (int i = 2; i < 4; i++) /* a box ends behind its last pixel */
        edge[i] = imp_with(c, &tn_op_add, edge[i], 1);
    const tn_expr *flat[2] = {r->dim[0], imp_product(c, imp_type(r->score), 1, 4)};
    tn_value score = imp_reshape(c, r->score, 2, flat), list = imp_unsqueeze(c, score, 1);
    tn_value at = imp_suppress(c, boxes_of(c, r, edge), list, &how, &best);
    at = repeated(c, imp_squeeze(c, at, 1), after);
    const tn_expr *each[3] = {r->dim[0], tn_idx(c->pool, after), tn_idx(c->pool, 1)},
                  *rows[2] = {imp_simplify(c, tn_mul(c->pool, r->dim[0], each[1])), tn_idx(c->pool, 5)},
                  *scores[2] = {rows[0], each[2]};
    tn_axis_attr second = {1};
    tn_value image = imp_along(c, imp_cast(c, imp_count_up(c, r->dim[0]), TN_F32), 0, 3);
    tn_value part[2] = {full(c, image, 3, each), rows_at(c, boxes, at)};
    imp_out(c, 0, imp_reshape(c, imp_concat(c, 2, part, 2), 2, rows));
    imp_out_any(c, 1, imp_reshape(c, imp_call2(c, &tn_op_gather, &second, score, at), 2, scores));
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
