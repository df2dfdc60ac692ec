/* Boxes of detectors: suppression of those that overlap better ones. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/boxes.h"
#include "frontend/import/loop.h"
#include "frontend/import/window.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

#include <math.h>
#include <string.h>

/* ---- boxes of one list ---- */

static bool are_boxes(imp_node *c)
{
    tn_value boxes = imp_in(c, 0), scores = imp_in(c, 1);
    if (!c->bad && (imp_rank(boxes) != 2 || imp_rank(scores) != 1))
        imp_refuse(c, IMP_BAD_VALUE, "boxes and scores are %s and %s; the model is damaged",
                   imp_type_text(c, imp_type(boxes)), imp_type_text(c, imp_type(scores)));
    return !c->bad;
}

/* Numbers of the boxes that are kept, -1 after the last one: int64 [n]. */
static tn_value selected(imp_node *c)
{
    static const tn_nms_attr corners = {false};
    tn_value boxes = imp_in(c, 0), scores = imp_in(c, 1);
    tn_value most = imp_cast(c, tf_scalar_in(c, 2), TN_I64);
    tn_value overlap =
        imp_has(c, 3) ? tf_scalar_in(c, 3) : imp_const(c, TN_F32, imp_attr_float(c, "iou_threshold", 0.5f));
    tn_value least = imp_has(c, 4) ? tf_scalar_in(c, 4) : imp_const(c, TN_F32, -3.4028234663852886e38);
    if (!are_boxes(c))
        return boxes;
    boxes = imp_unsqueeze(c, boxes, 0);
    scores = imp_unsqueeze(c, imp_unsqueeze(c, scores, 0), 0);
    const tn_value in[5] = {boxes, scores, most, overlap, least};
    return imp_flat(c, imp_call(c, &tn_op_vision_nms_select, &corners, 5, in));
}

static tn_value kept(imp_node *c, tn_value chosen)
{
    tn_value some = imp_binary(c, &tn_op_greater_equal, chosen, imp_i64(c, 0));
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

/* ---- NonMaxSuppressionV5 with a sigma: a box that stays makes the scores of those that overlap it smaller,
 * however little; then the best of the rest is next ---- */

typedef struct soft {
    tn_value low[2], high[2], area; /* of all boxes, float32 [n] */
    tn_value least, factor, gone;   /* scores are above `least`; that of a box that is out */
    tn_value given, negative;       /* scores at first, and which of them are below 0 */
    tn_value number, place;         /* 0 1 .. for the boxes, and for the results */
    tn_value last;                  /* int64: number of results */
} soft;

static void read_sides(imp_node *c, tn_value boxes, soft *s)
{
    tn_value side[2];
    for (int k = 0; k < 2; k++) {
        tn_value a = imp_squeeze(c, imp_slice(c, boxes, 1, k, k + 1), 1);
        tn_value b = imp_squeeze(c, imp_slice(c, boxes, 1, k + 2, k + 3), 1);
        s->low[k] = imp_binary(c, &tn_op_minimum, a, b);
        s->high[k] = imp_binary(c, &tn_op_maximum, a, b);
        side[k] = imp_binary(c, &tn_op_subtract, s->high[k], s->low[k]);
    }
    s->area = imp_binary(c, &tn_op_multiply, side[0], side[1]);
}

/* Intersection by union of box number `at` and all boxes; 0 where one has no area. */
static tn_value overlaps(imp_node *c, const soft *s, tn_value at)
{
    tn_value side[2], zero = imp_const(c, TN_F32, 0), own = imp_take(c, s->area, at, 0);
    for (int k = 0; k < 2; k++) {
        tn_value low = imp_take(c, s->low[k], at, 0), high = imp_take(c, s->high[k], at, 0);
        low = imp_binary(c, &tn_op_maximum, s->low[k], low);
        high = imp_binary(c, &tn_op_minimum, s->high[k], high);
        side[k] = imp_binary(c, &tn_op_maximum, imp_binary(c, &tn_op_subtract, high, low), zero);
    }
    tn_value both = imp_binary(c, &tn_op_multiply, side[0], side[1]);
    tn_value all = imp_binary(c, &tn_op_subtract, imp_binary(c, &tn_op_add, s->area, own), both);
    tn_value smaller = imp_binary(c, &tn_op_minimum, s->area, own);
    tn_value real = imp_binary(c, &tn_op_greater, smaller, zero);
    return imp_choose(c, real, imp_binary(c, &tn_op_divide, both, all), zero);
}

/* Carried: scores [n], how many boxes stay, their numbers and scores. TensorFlow makes a score smaller when it is the
 * best one of all; one below 0, which grows, comes when it would without that. */
static void soft_step(imp_node *c, imp_loop *l)
{
    tn_arg_attr first = {.axis = 0, .dtype = TN_I64};
    const soft *s = l->user;
    tn_value scores = l->inner[0], count = l->inner[1], one = imp_i64(c, 1), none = imp_i64(c, 0);
    tn_value there = imp_binary(c, &tn_op_greater, scores, s->gone);
    tn_value order = imp_choose(c, imp_binary(c, &tn_op_logical_and, s->negative, there), s->given, scores);
    tn_value best = imp_call1(c, &tn_op_argmax, &first, order), score = imp_take(c, scores, best, 0);
    tn_value stays = imp_binary(c, &tn_op_greater, score, s->least);
    tn_value here = imp_binary(c, &tn_op_logical_and, imp_binary(c, &tn_op_equal, s->place, count), stays);
    tn_value share = overlaps(c, s, best);
    tn_value factor = imp_binary(c, &tn_op_multiply, imp_binary(c, &tn_op_multiply, share, share), s->factor);
    scores = imp_binary(c, &tn_op_multiply, scores, imp_unary(c, &tn_op_exp, factor));
    tn_value other = imp_binary(c, &tn_op_not_equal, s->number, best);
    other = imp_binary(c, &tn_op_logical_and, other, imp_binary(c, &tn_op_greater, scores, s->least));
    l->next[0] = imp_choose(c, other, scores, s->gone);
    l->next[1] = imp_binary(c, &tn_op_add, count, imp_choose(c, stays, one, none));
    l->next[2] = imp_choose(c, here, best, l->inner[2]);
    l->next[3] = imp_choose(c, here, score, l->inner[3]);
    tn_value more = imp_binary(c, &tn_op_less, l->next[1], s->last);
    l->go = imp_binary(c, &tn_op_logical_and, stays, more);
}

/* The boxes that stay and their scores, max_output_size entries: -1 and 0 after the last one. false: failed. */
static bool soften(imp_node *c, double sigma, tn_value *chosen, tn_value *score)
{
    soft s;
    const tn_expr *n = imp_extent_in(c, imp_in(c, 2), "max_output_size");
    tn_value boxes = imp_cast(c, imp_in(c, 0), TN_F32), scores = imp_cast(c, imp_in(c, 1), TN_F32);
    if (!c->bad && !imp_with_extent(c, &boxes, 0, imp_type(scores)->dim[0]))
        imp_refuse(c, IMP_OPERANDS, "there are boxes %s and scores %s; the model is damaged",
                   imp_type_text(c, imp_type(boxes)), imp_type_text(c, imp_type(scores)));
    if (c->bad)
        return false;
    s.least = imp_cast(c, tf_scalar_in(c, 4), TN_F32);
    s.factor = imp_const(c, TN_F32, -0.5 / sigma);
    s.gone = imp_const(c, TN_F32, -INFINITY);
    s.given = scores;
    s.negative = imp_with(c, &tn_op_less, scores, 0);
    s.number = imp_count_up(c, imp_type(scores)->dim[0]);
    s.place = imp_count_up(c, n);
    s.last = imp_extent_of(c, s.place, 0);
    read_sides(c, boxes, &s);
    tn_dims shape = {1, &n};
    tn_value above = imp_binary(c, &tn_op_greater, scores, s.least), first[4], out[4];
    first[0] = imp_choose(c, above, scores, s.gone);
    first[1] = imp_i64(c, 0);
    first[2] = tf_full(c, imp_i64(c, -1), shape);
    first[3] = tf_full(c, imp_const(c, TN_F32, 0), shape);
    imp_loop l = {.n = 4, .first = first, .body = soft_step, .user = &s};
    tn_value go = imp_binary(c, &tn_op_less, first[1], s.last);
    if (c->bad || !imp_make_loop(c, &l, go, out))
        return false;
    *chosen = out[2];
    *score = imp_cast(c, out[3], imp_type(imp_in(c, 1))->dtype);
    return true;
}

static void nms_softened(imp_node *c, double sigma, bool padded)
{
    tn_value chosen, score;
    if (!(sigma > 0))
        imp_refuse(c, IMP_BAD_VALUE, "soft_nms_sigma is %g, but must not be below 0; the model is damaged",
                   sigma);
    if (c->bad || !are_boxes(c) || !soften(c, sigma, &chosen, &score))
        return;
    tn_value some = imp_with(c, &tn_op_greater_equal, chosen, 0);
    if (!padded) {
        tn_value at = imp_positions(c, some);
        chosen = imp_take(c, chosen, at, 0);
        score = imp_take(c, score, at, 0);
    }
    imp_out(c, 0, imp_cast(c, imp_with(c, &tn_op_maximum, chosen, 0), TN_I32));
    imp_out_any(c, 1, score);
    imp_out_any(c, 2, imp_reduce(c, &tn_op_sum, imp_cast(c, some, TN_I32), 0));
}

/* V4, V5: how many there are; V5: their scores. */
static void nms_padded(imp_node *c)
{
    bool five = c->row->op[strlen(c->row->op) - 1] == '5',
         padded = imp_attr_int(c, "pad_to_max_output_size", 0) != 0;
    double sigma = 0;
    if (five && !imp_scalar(c, imp_in(c, 5), &sigma))
        imp_refuse(c, IMP_NOT_CONSTANT, "soft_nms_sigma must be a constant");
    if (c->bad || sigma != 0) {
        nms_softened(c, sigma, padded);
        return;
    }
    tn_value chosen = selected(c), scores = imp_in(c, 1);
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

/* ---- CombinedNonMaxSuppression: by image and class; then the best of all classes of an image ---- */

typedef struct combined {
    tn_value boxes, scores;    /* [batch, n, 4], or [batch, classes * n, 4]; [batch, classes, n] */
    const tn_expr *each, *all; /* most boxes of a class; rows of the results of an image */
    bool shared;               /* all classes have the same boxes */
} combined;

/* An extent of at least 1 that operand i gives. */
static const tn_expr *number_in(imp_node *c, uint32_t i, const char *what)
{
    int64_t n;
    const tn_expr *e = imp_size_in(c, imp_in(c, i), what);
    if (!c->bad && tn_is_int(e, &n) && (n < 1 || n > INT32_MAX))
        imp_refuse(c, IMP_BAD_VALUE, "%s is %lld, but must be at least 1; the model is damaged", what,
                   (long long)n);
    return e;
}

/* Boxes [batch, n, classes, 4] class by class; false: reported. */
static bool read_combined(imp_node *c, combined *d)
{
    static const int64_t turned[] = {0, 2, 1}, by_class[] = {0, 2, 1, 3};
    int64_t q = 0;
    tn_value v = imp_in(c, 0), scores = imp_in(c, 1);
    const tn_type *t = imp_type(v), *u = imp_type(scores);
    if (!c->bad && (t->n != 4 || u->n != 3 || !tn_is_value(t->dim[3], 4)))
        imp_refuse(c, IMP_BAD_VALUE, "boxes and scores are %s and %s; the model is damaged",
                   imp_type_text(c, t), imp_type_text(c, u));
    if (!c->bad && !tn_is_int(t->dim[2], &q))
        imp_refuse(c, IMP_NOT_CONSTANT, "boxes %s may be those of one class or of all", imp_type_text(c, t));
    d->shared = !c->bad && q == 1;
    if (!c->bad && !d->shared && !imp_with_extent(c, &scores, 2, t->dim[2]))
        imp_refuse(c, IMP_BAD_VALUE, "boxes %s do not fit the classes of scores %s; the model is damaged",
                   imp_type_text(c, t), imp_type_text(c, u));
    if (c->bad)
        return false;
    const tn_expr *dim[3] = {t->dim[0], imp_product(c, t, 1, 3), t->dim[3]};
    d->boxes = imp_reshape(c, d->shared ? v : imp_transpose(c, v, 4, by_class), 3, dim);
    d->scores = imp_transpose(c, scores, 3, turned);
    d->each = number_in(c, 2, "max_output_size_per_class");
    d->all = number_in(c, 3, "max_total_size");
    if (!c->bad && imp_attr_int(c, "pad_per_class", 0))
        d->all = imp_simplify(c, tn_min(c->pool, d->all, tn_mul(c->pool, d->each, imp_type(scores)->dim[2])));
    return !c->bad;
}

/* Positions of the boxes of each class that stay, best first, then -1: [batch, classes, at most d->each]. */
static tn_value kept_of_classes(imp_node *c, const combined *d)
{
    static const tn_nms_attr corners = {false};
    static const int64_t last[] = {2}, zero[] = {0};
    const tn_type *t = imp_type(d->scores);
    tn_value most = imp_cast(c, tf_scalar_in(c, 2), TN_I64), overlap = tf_scalar_in(c, 4),
             least = tf_scalar_in(c, 5);
    tn_value boxes = d->boxes, scores = d->scores;
    if (c->bad)
        return most;
    if (!d->shared) { /* each class is an image of its own */
        const tn_expr *images = imp_product(c, t, 0, 2), *one = tn_idx(c->pool, 1);
        const tn_expr *rows[3] = {images, t->dim[2], tn_idx(c->pool, 4)}, *row[3] = {images, one, t->dim[2]};
        boxes = imp_reshape(c, boxes, 3, rows);
        scores = imp_reshape(c, scores, 3, row);
    }
    const tn_value in[5] = {boxes, scores, most, overlap, least};
    tn_value at = imp_call(c, &tn_op_vision_nms_select, &corners, 5, in);
    tn_slice_attr first = {tn_make_dims(c->g, 1, zero),
                           tn_dims_make(c->arena, 1, &d->each),
                           {0},
                           tn_ints_make(c->arena, 1, last)};
    at = c->bad || d->shared ? at : imp_reshape(c, at, 3, t->dim);
    return imp_call1(c, &tn_op_strided_slice, &first, at);
}

/* [batch, classes, k] as [batch, classes * k] */
static tn_value by_image(imp_node *c, tn_value v)
{
    const tn_type *t = imp_type(v);
    if (c->bad)
        return v;
    const tn_expr *dim[2] = {t->dim[0], imp_product(c, t, 1, t->n)};
    return imp_reshape(c, v, 2, dim);
}

/* v, of the best boxes [batch, k] or [batch, k, 4], with `rows` of them, zeros from number `count` of an image on. */
static tn_value filled_up(imp_node *c, tn_value v, const tn_expr *rows, tn_value count)
{
    const tn_expr *width[6];
    const tn_type *t = imp_type(v);
    if (c->bad)
        return v;
    for (int i = 0; i < 6; i++)
        width[i] = i == 3 ? imp_simplify(c, tn_sub(c->pool, rows, t->dim[1])) : tn_idx(c->pool, 0);
    tn_pad_attr more = {tn_dims_make(c->arena, 2 * (uint32_t)t->n, width), 0, "constant"};
    tn_value there = imp_cast(c, imp_count_up(c, rows), TN_I32), zero = tf_number(c, v, 0);
    there = imp_binary(c, &tn_op_less, there, imp_unsqueeze(c, count, 1));
    for (int i = 2; i < t->n; i++)
        there = imp_unsqueeze(c, there, i);
    return imp_choose(c, there, tn_is_value(width[3], 0) ? v : imp_call1(c, &tn_op_nn_pad, &more, v), zero);
}

/* Where a class keeps fewer boxes than it may, others of score and class -1 stand, as in TensorFlow. */
static void best_of_classes(imp_node *c, const combined *d, tn_value at)
{
    static const tn_axis_attr last = {2}, second = {1};
    static const tn_gather_nd_attr rows = {1};
    tn_value there = imp_with(c, &tn_op_greater_equal, at, 0), place = imp_with(c, &tn_op_maximum, at, 0);
    tn_value none = imp_i64(c, -1), score = imp_call2(c, &tn_op_gather, &last, d->scores, place);
    score = by_image(c, imp_choose(c, there, score, imp_const(c, TN_F32, -1)));
    if (c->bad)
        return;
    tn_value which = imp_unsqueeze(c, imp_count_up(c, imp_type(d->scores)->dim[1]), 1);
    if (!d->shared) {
        tn_value first = imp_binary(c, &tn_op_multiply, which, imp_extent_of(c, d->scores, 2));
        place = imp_binary(c, &tn_op_add, place, first);
    }
    which = by_image(c, imp_choose(c, there, which, none));
    const tn_expr *k = imp_simplify(c, tn_min(c->pool, imp_type(score)->dim[1], d->all));
    tn_topk_attr top = {.k = tn_dims_make(c->arena, 1, &k), .axis = 1, .dtype = TN_I64};
    tn_value best = imp_call1(c, &tn_op_topk, &top, score), row = {best.def, 1};
    tn_value count = imp_reduce(c, &tn_op_sum, imp_cast(c, by_image(c, there), TN_I32), 1);
    tn_value room = imp_cast(c, imp_extent_of(c, imp_count_up(c, d->all), 0), TN_I32);
    count = imp_binary(c, &tn_op_minimum, count, room);
    tn_value box = imp_call2(c, &tn_op_gather, &second, by_image(c, place), row);
    box = imp_call2(c, &tn_op_gather_nd, &rows, d->boxes, imp_unsqueeze(c, box, 2));
    box = imp_attr_int(c, "clip_boxes", 1) ? imp_clip(c, box, 0, 1) : box;
    which = imp_cast(c, imp_call2(c, &tn_op_gather, &second, which, row), TN_F32);
    const tn_value rows_of[3] = {box, best, which};
    for (uint32_t i = 0; i < 3; i++)
        imp_out_any(c, i, filled_up(c, rows_of[i], d->all, count));
    imp_out_any(c, 3, count);
}

/* boxes [batch, n, 1 or classes, 4], scores [batch, n, classes], most of a class, most of all, overlap, least score */
static void combined_nms(imp_node *c)
{
    combined d;
    if (read_combined(c, &d))
        best_of_classes(c, &d, kept_of_classes(c, &d));
}

// clang-format off
const imp_row tf_rows_boxes[] = {
    {"CombinedNonMaxSuppression", 1, 0, 6, 4, combined_nms, NULL},
    {"NonMaxSuppression",     1, 0, 3, 1, nms,        NULL},
    {"NonMaxSuppressionV2",   1, 0, 4, 1, nms,        NULL},
    {"NonMaxSuppressionV3",   1, 0, 5, 1, nms,        NULL},
    {"NonMaxSuppressionV4",   1, 0, 5, 2, nms_padded, NULL},
    {"NonMaxSuppressionV5",   1, 0, 6, 3, nms_padded, NULL},
    {0},
};
// clang-format on
