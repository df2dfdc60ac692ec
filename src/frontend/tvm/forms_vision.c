/* Forms of TVM's operators that suppress boxes which overlap better ones. Their results have a row for each box: what
 * stays comes first, or where it was, and the other rows hold -1 or 0. So no extent depends on the run. */
#include "frontend/tvm/forms.h"

#include "frontend/import/boxes.h"
#include "op/vision/vision.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Column i of rows [batch, n, columns]: [batch, n] */
static tn_value column(imp_node *c, tn_value rows, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, rows, 2, i, i + 1), 2);
}

/* An operand of one element as a number of this type, a constant if it is known. */
static tn_value number_in(imp_node *c, uint32_t i, tn_dtype t)
{
    const tn_value v = imp_in(c, i);
    double x;
    if (!c->bad && imp_length(v) != 1)
        imp_refuse(c, IMP_OPERANDS, "operand %u is %s, but must be one number", (unsigned)i,
                   imp_type_text(c, imp_type(v)));
    if (c->bad || imp_scalar(c, v, &x))
        return c->bad ? v : imp_const(c, t, x);
    const tn_value cast = imp_cast(c, v, t);
    return imp_rank(cast) ? imp_reshape(c, cast, 0, NULL) : cast;
}

/* Boxes are of these; other floats would be rounded elsewhere than there. */
static bool has_boxes(imp_node *c, tn_value v, int rank)
{
    const tn_dtype t = imp_type(v)->dtype;
    if (!c->bad && (imp_rank(v) != rank || (!tn_dtype_eq(t, TN_F32) && !tn_dtype_eq(t, TN_F64))))
        imp_refuse(c, IMP_OPERANDS, "boxes %s must be float32 or float64 in %d dimensions; cast them",
                   imp_type_text(c, imp_type(v)), rank);
    return !c->bad;
}

/* Rows [batch, n, columns] at positions, and `rest` where these are below 0. */
static tn_value rows_or(imp_node *c, tn_value rows, tn_value at, double rest)
{
    const tn_value there = imp_unsqueeze(c, imp_with(c, &tn_op_greater_equal, at, 0), 2),
                   taken = imp_rows_at(c, rows, imp_with(c, &tn_op_maximum, at, 0)),
                   none = imp_const(c, imp_type(rows)->dtype, rest);
    return imp_choose(c, there, taken, none);
}

/* Elements [batch, n] at positions [batch, m], and `rest` where these are below 0. */
static tn_value elements_or(imp_node *c, tn_value v, tn_value at, double rest)
{
    static const tn_axis_attr second = {1};
    const tn_value there = imp_with(c, &tn_op_greater_equal, at, 0),
                   taken = imp_call2(c, &tn_op_gather, &second, v, imp_with(c, &tn_op_maximum, at, 0)),
                   none = imp_const(c, imp_type(v)->dtype, rest);
    return imp_choose(c, there, taken, none);
}

/* How often bools hold along a dimension. */
static tn_value how_many(imp_node *c, tn_value there, int axis, tn_dtype t)
{
    return imp_reduce(c, &tn_op_sum, imp_cast(c, there, t), axis);
}

/* ---- vision.get_valid_counts ---- */

/* data [batch, n, columns], score_threshold: how many rows score more and have a class, those rows, their numbers. */
static void get_valid_counts(imp_node *c, form_call *f)
{
    const tn_value x = imp_in(c, 0);
    int64_t width = 0;
    if (!has_boxes(c, x, 3))
        return;
    if (!tn_is_int(imp_type(x)->dim[2], &width) || f->a.i < 0 || f->a.i >= width || f->a.j >= width)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs a score_index and an id_index of columns that data %s has",
                   f->name, imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_value score = column(c, x, f->a.i), least = number_in(c, 1, imp_type(x)->dtype);
    tn_value there = imp_binary(c, &tn_op_greater, score, least);
    if (f->a.j >= 0)
        there = imp_binary(c, &tn_op_logical_and, there,
                           imp_with(c, &tn_op_greater_equal, column(c, x, f->a.j), 0));
    const tn_value at = imp_compacted(c, there);
    imp_out(c, 0, how_many(c, there, 1, TN_I32));
    imp_out(c, 1, rows_or(c, x, at, -1));
    imp_out(c, 2, imp_cast(c, at, TN_I32));
}

/* ---- vision.non_max_suppression ---- */

typedef struct chosen { /* rows, the best first */
    tn_value rows;      /* of data [batch, n, columns] */
    tn_value place;     /* which they are: int64 [batch, n] */
    tn_value stays;     /* bool [batch, n] */
} chosen;

typedef struct suppression {
    form_values a; /* x force_suppress, y return_indices, z invalid_to_bottom, number top_k, i coord_start,
                      j score_index, k id_index */
    tn_value data, valid, number; /* valid: rows that count, bool [batch, n]; number: int64 [1, n] */
    tn_value most, overlap;
} suppression;

static bool read_suppression(imp_node *c, form_call *f, suppression *s)
{
    int64_t width = 0;
    const tn_value x = imp_in(c, 0), count = imp_in(c, 1);
    *s = (suppression){.a = f->a, .data = x};
    if (!has_boxes(c, x, 3))
        return false;
    if (imp_rank(count) != 1 || !tn_dtype_is_int(imp_type(count)->dtype))
        imp_refuse(c, IMP_OPERANDS, "%s needs valid_count as a list of integers, not %s", f->name,
                   imp_type_text(c, imp_type(count)));
    if (!tn_is_int(imp_type(x)->dim[2], &width) || f->a.i < 0 || f->a.i > width - 4 || f->a.j < 0 ||
        f->a.j >= width || f->a.k >= width)
        imp_refuse(c, IMP_BAD_VALUE,
                   "%s needs a coord_start, score_index and id_index of columns that data %s has", f->name,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return false;
    s->most = number_in(c, 3, TN_I64);
    s->overlap = number_in(c, 4, imp_type(x)->dtype);
    s->number = imp_unsqueeze(c, imp_count_up(c, imp_type(x)->dim[1]), 0);
    s->valid = imp_binary(c, &tn_op_less, s->number, imp_unsqueeze(c, imp_cast(c, count, TN_I64), 1));
    return !c->bad;
}

/* An iou_threshold that is not above 0 suppresses nothing, and leaves the rows in their order. */
static chosen as_they_are(imp_node *c, const suppression *s)
{
    const tn_broadcast_to_attr each = {tn_dims_make(c->arena, 2, imp_type(s->data)->dim)};
    return (chosen){s->data, imp_call1(c, &tn_op_broadcast_to, &each, s->number), s->valid};
}

/* Rows in the order of their scores; those that count come first. */
static tn_value sorted(imp_node *c, const suppression *s, chosen *out)
{
    const tn_type *t = imp_type(s->data);
    const tn_value none = imp_const(c, t->dtype, -INFINITY);
    const tn_topk_attr all = {
        .axis = 1, .dtype = TN_I64, .k = tn_dims_make(c->arena, 1, &imp_type(s->data)->dim[1])};
    const tn_value order =
        imp_call1(c, &tn_op_topk, &all, imp_choose(c, s->valid, column(c, s->data, s->a.j), none));
    *out = (chosen){.place = {order.def, 1}};
    if (c->bad)
        return s->data;
    out->rows = imp_rows_at(c, s->data, out->place);
    return column(c, out->rows, s->a.j);
}

/* Which of the rows `above`, those of a score above 0, stay. A row without a class suppresses none, and only what is to
 * suppress all classes suppresses it. */
static tn_value not_suppressed(imp_node *c, const suppression *s, tn_value rows, tn_value score,
                               tn_value above)
{
    static const tn_nms_attr corners = {false};
    const tn_type *t = imp_type(rows);
    const tn_value zero = imp_const(c, t->dtype, 0), box = imp_slice(c, rows, 2, s->a.i, s->a.i + 4);
    tn_value group = {0}, has_class = {0}, meets = above;
    if (s->a.k >= 0) {
        group = column(c, rows, s->a.k);
        has_class = imp_with(c, &tn_op_greater_equal, group, 0);
    }
    if (group.def && s->a.x) {
        const tn_value none = imp_const(c, t->dtype, -1);
        group = imp_choose(c, has_class, zero, none);
    } else if (group.def) {
        meets = imp_binary(c, &tn_op_logical_and, above, has_class);
    }
    const tn_value points = imp_unsqueeze(c, imp_choose(c, meets, score, zero), 1),
                   all = imp_i64(c, INT32_MAX), limit = imp_next_below(c, s->overlap);
    const tn_value in[6] = {box, points, all, limit, zero, group};
    const tn_value kept = imp_marked(
        c, imp_call(c, &tn_op_vision_nms_select, &corners, group.def ? 6 : 5, in), c->bad ? NULL : t->dim[1]);
    if (meets.def == above.def)
        return kept;
    const tn_value apart =
        imp_binary(c, &tn_op_logical_and, above, imp_unary(c, &tn_op_logical_not, has_class));
    return imp_binary(c, &tn_op_logical_or, kept, apart);
}

/* Rows whose score is not above 0 stay, too, and count for nothing, until as many as can be have been found. */
static chosen suppressed(imp_node *c, const suppression *s)
{
    static const tn_scan_attr so_far = {.axis = 1, .exclusive = true};
    chosen r;
    const tn_value score = sorted(c, s, &r), above_zero = imp_with(c, &tn_op_greater, score, 0);
    tn_value there = s->valid;
    if (s->a.number > 0)
        there = imp_binary(c, &tn_op_logical_and, there,
                           imp_with(c, &tn_op_less, s->number, (double)s->a.number));
    const tn_value above = imp_binary(c, &tn_op_logical_and, there, above_zero);
    const tn_value kept = not_suppressed(c, s, r.rows, score, above);
    const tn_value found = imp_call1(c, &tn_op_cumsum, &so_far, imp_cast(c, kept, TN_I64));
    const tn_value no_limit = imp_with(c, &tn_op_less, s->most, 0),
                   few = imp_binary(c, &tn_op_less, found, s->most);
    const tn_value within = imp_binary(c, &tn_op_logical_or, few, no_limit),
                   rest = imp_unary(c, &tn_op_logical_not, above_zero);
    const tn_value open =
        imp_binary(c, &tn_op_logical_and, there, imp_binary(c, &tn_op_logical_or, kept, rest));
    r.stays = imp_binary(c, &tn_op_logical_and, open, within);
    return r;
}

static chosen choose_rows(imp_node *c, const suppression *s)
{
    double overlap;
    if (imp_scalar(c, s->overlap, &overlap))
        return overlap > 0 ? suppressed(c, s) : as_they_are(c, s);
    const chosen a = suppressed(c, s), b = as_they_are(c, s);
    const tn_value any = imp_with(c, &tn_op_greater, s->overlap, 0);
    return (chosen){imp_choose(c, any, a.rows, b.rows), imp_choose(c, any, a.place, b.place),
                    imp_choose(c, any, a.stays, b.stays)};
}

/* What `indices` [batch, n] says of the rows that stay, without what is below 0; how many there are, [batch, 1]. */
static void indices_of(imp_node *c, const chosen *r)
{
    static const tn_axis_attr second = {1};
    static const tn_axes_attr all;
    const tn_value list = imp_in(c, 2);
    if (!c->bad && (imp_rank(list) != 2 || !tn_dtype_is_int(imp_type(list)->dtype)))
        imp_refuse(c, IMP_OPERANDS, "indices %s must be a matrix of integers",
                   imp_type_text(c, imp_type(list)));
    if (c->bad)
        return;
    const tn_value found = imp_call2(c, &tn_op_gather, &second, imp_cast(c, list, TN_I64), r->place),
                   none = imp_i64(c, -1), n = imp_extent_of(c, r->place, 1);
    const tn_value is = imp_choose(c, r->stays, found, none);
    const tn_value outside = imp_binary(c, &tn_op_greater, imp_unary(c, &tn_op_abs, is), n);
    const tn_value outliers = imp_call1(c, &tn_op_sum, &all, imp_cast(c, outside, TN_I64));
    imp_demand(c, outliers, 0,
               "vision.non_max_suppression: indices must be at most as many as there are boxes");
    const tn_value there = imp_with(c, &tn_op_greater_equal, is, 0);
    imp_out(c, 0, imp_cast(c, elements_or(c, is, imp_compacted(c, there), -1), TN_I32));
    imp_out(c, 1, imp_unsqueeze(c, how_many(c, there, 1, TN_I32), 1));
}

/* data [batch, n, columns], valid_count [batch], indices [batch, n], max_output_size, iou_threshold */
static void non_max_suppression(imp_node *c, form_call *f)
{
    suppression s;
    if (!read_suppression(c, f, &s))
        return;
    const chosen r = choose_rows(c, &s);
    if (f->a.y) {
        indices_of(c, &r);
        return;
    }
    const tn_value none = imp_const(c, imp_type(s.data)->dtype, -1);
    const tn_value rows = imp_choose(c, imp_unsqueeze(c, r.stays, 2), r.rows, none);
    if (!f->a.z) {
        imp_out(c, 0, rows);
        return;
    }
    const tn_value real = imp_with(c, &tn_op_greater_equal, column(c, rows, 0), 0);
    imp_out(c, 0, rows_or(c, rows, imp_compacted(c, real), -1));
}

/* ---- vision.all_class_non_max_suppression ---- */

/* Boxes [batch, n, 4] for each class alone, [batch * classes, 1, n] scores: those that score 0 or less have no area, so
 * nothing suppresses them. */
static tn_value boxes_of_classes(imp_node *c, tn_value boxes, tn_value scores)
{
    const tn_type *t = imp_type(scores);
    const tn_expr *four = tn_idx(c->pool, 4), *each[4] = {t->dim[0], t->dim[1], t->dim[2], four},
                  *flat[3] = {imp_product(c, t, 0, 2), t->dim[2], four};
    const tn_broadcast_to_attr wide = {tn_dims_make(c->arena, 4, each)};
    const tn_value all = imp_call1(c, &tn_op_broadcast_to, &wide, imp_unsqueeze(c, boxes, 1)),
                   above = imp_unsqueeze(c, imp_with(c, &tn_op_greater, scores, 0), 3),
                   none = imp_const(c, t->dtype, 0);
    return imp_reshape(c, imp_choose(c, above, all, none), 3, flat);
}

/* Positions of boxes [batch, classes, n], -1 after the last one of each class. Below a score of 0, which may be asked
 * for, boxes stay whatever they overlap, but those of -1 and less go. */
static tn_value chosen_by_class(imp_node *c, tn_value boxes, tn_value scores)
{
    static const tn_nms_attr corners = {false};
    const tn_type *t = imp_type(scores);
    double least = -1;
    const tn_value most = number_in(c, 2, TN_I64), overlap = number_in(c, 3, t->dtype),
                   limit = imp_next_below(c, overlap);
    tn_value score = number_in(c, 4, t->dtype);
    const tn_value some = imp_with(c, &tn_op_greater, most, 0), all = imp_i64(c, INT32_MAX),
                   none = imp_i64(c, 0), any = imp_with(c, &tn_op_greater, overlap, 0);
    const tn_value count = imp_choose(c, any, imp_choose(c, some, most, all), none);
    if (imp_scalar(c, score, &least) && least >= 0)
        return imp_call(c, &tn_op_vision_nms_select, &corners, 5,
                        (const tn_value[]){boxes, scores, count, limit, score});
    if (c->bad)
        return scores;
    const tn_expr *flat[3] = {imp_product(c, t, 0, 2), tn_idx(c->pool, 1), t->dim[2]};
    score = imp_with(c, &tn_op_maximum, score, -1);
    const tn_value own = boxes_of_classes(c, boxes, scores), points = imp_reshape(c, scores, 3, flat);
    const tn_value r = imp_call(c, &tn_op_vision_nms_select, &corners, 5,
                                (const tn_value[]){own, points, count, limit, score});
    return imp_reshape(c, r, 3, t->dim);
}

/* at / n, of positions that are not below 0 */
static tn_value over(imp_node *c, tn_value at, tn_value n) { return imp_binary(c, &tn_op_divide, at, n); }

static tn_value rest_of(imp_node *c, tn_value at, tn_value n, tn_value quotient)
{
    return imp_binary(c, &tn_op_subtract, at, imp_binary(c, &tn_op_multiply, quotient, n));
}

/* v where there is a box, else 0; as a last column. */
static tn_value index_column(imp_node *c, tn_value there, tn_value v)
{
    const tn_value none = imp_i64(c, 0);
    return imp_unsqueeze(c, imp_choose(c, there, v, none), imp_rank(v));
}

/* Rows [image, class, box] of all images in one list, and how many; or, of each image, rows [class, box], their scores,
 * and how many. Rows behind them are 0. */
static void all_classes(imp_node *c, form_call *f)
{
    static const tn_axis_attr second = {1};
    const tn_value boxes = imp_in(c, 0), scores = imp_in(c, 1);
    const bool of_image = strcmp(f->a.s, "tensorflow") == 0;
    if (!of_image && strcmp(f->a.s, "onnx") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs output_format onnx or tensorflow, not \"%s\"", f->name,
                   f->a.s);
    if (!has_boxes(c, boxes, 3) || !has_boxes(c, scores, 3))
        return;
    const tn_value found = chosen_by_class(c, boxes, scores);
    const tn_type *t = imp_type(found);
    if (c->bad)
        return;
    const tn_expr *lists = of_image ? t->dim[0] : tn_idx(c->pool, 1),
                  *dim[2] = {lists, imp_product(c, t, of_image ? 1 : 0, 3)};
    const tn_value flat = imp_reshape(c, found, 2, dim), n = imp_extent_of(c, scores, 2);
    const tn_value is = imp_with(c, &tn_op_greater_equal, flat, 0);
    const tn_value row = imp_compacted(c, is), there = imp_with(c, &tn_op_greater_equal, row, 0),
                   at = imp_with(c, &tn_op_maximum, row, 0), place = elements_or(c, flat, row, 0);
    const tn_value list = over(c, at, n), classes = imp_extent_of(c, scores, 1),
                   count = how_many(c, is, 1, TN_I64);
    if (!of_image) {
        const tn_value image = over(c, list, classes), which = rest_of(c, list, classes, image);
        const tn_value column_of[3] = {index_column(c, there, image), index_column(c, there, which),
                                       index_column(c, there, place)};
        imp_out(c, 0, imp_squeeze(c, imp_concat(c, 3, column_of, 2), 0));
        imp_out(c, 1, count);
        return;
    }
    const tn_value pair[2] = {index_column(c, there, list), index_column(c, there, place)};
    const tn_value from = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, list, n), place),
                   none = imp_const(c, imp_type(scores)->dtype, 0);
    const tn_value score = imp_call2(c, &tn_op_gather, &second, imp_reshape(c, scores, 2, dim), from);
    imp_out(c, 0, imp_concat(c, 2, pair, 2));
    imp_out(c, 1, imp_cast(c, imp_choose(c, there, score, none), TN_F32));
    imp_out(c, 2, count);
}

/* ---- vision.regular_non_max_suppression ---- */

/* Of scores [batch, n, classes], those of the last num_classes: [batch, num_classes, n]. false: refused. */
static bool scores_of_classes(imp_node *c, const form_call *f, tn_value points, tn_value *out)
{
    static const int64_t by_class[] = {0, 2, 1};
    const int64_t number = f->a.k;
    int64_t classes = 0;
    if (!tn_is_int(imp_type(points)->dim[2], &classes) || number < 1 || number > classes)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs num_classes from 1 to what the scores %s have", f->name,
                   imp_type_text(c, imp_type(points)));
    if (f->a.i < 1 || f->a.j < 1 || f->a.i > INT32_MAX || f->a.j > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE, "%s needs max_detections and max_detections_per_class of at least 1",
                   f->name);
    if (!(f->a.a >= 0))
        imp_refuse(c, IMP_BAD_VALUE, "%s needs an iou_threshold of at least 0", f->name);
    if (!c->bad)
        *out = imp_transpose(c, imp_slice(c, points, 2, classes - number, classes), 3, by_class);
    return !c->bad;
}

/* v [batch, ..] as [batch, n], and behind it `more` numbers. */
static tn_value with_rest(imp_node *c, tn_value v, int64_t more, double rest)
{
    const tn_type *t = imp_type(v);
    const tn_expr *flat[2] = {t->dim[0], imp_product(c, t, 1, t->n)},
                  *wide[2] = {t->dim[0], tn_idx(c->pool, more)};
    const tn_broadcast_to_attr a = {tn_dims_make(c->arena, 2, wide)};
    const tn_value part[2] = {imp_reshape(c, v, 2, flat),
                              imp_call1(c, &tn_op_broadcast_to, &a, imp_const(c, t->dtype, rest))};
    return imp_concat(c, 2, part, 1);
}

/* Are there as many scores as boxes, along dimension `axis` of the scores? false: reported. */
static bool fit_boxes(imp_node *c, tn_value boxes, tn_value *scores, int axis)
{
    const tn_type *t = imp_type(boxes);
    if (!c->bad &&
        (!imp_with_extent(c, scores, 0, t->dim[0]) || !imp_with_extent(c, scores, axis, t->dim[1])) &&
        !c->bad)
        imp_refuse(c, IMP_OPERANDS, "scores %s are not those of boxes %s",
                   imp_type_text(c, imp_type(*scores)), imp_type_text(c, t));
    return !c->bad;
}

/* boxes [batch, n, 4], scores [batch, n, classes]: the max_detections best boxes of all classes, their classes and
 * scores, and how many there are. */
static void regular(imp_node *c, form_call *f)
{
    const tn_value boxes = imp_in(c, 0);
    tn_value points = imp_in(c, 1), scores, best;
    if (!has_boxes(c, boxes, 3) || !has_boxes(c, points, 3) || !fit_boxes(c, boxes, &points, 1) ||
        !scores_of_classes(c, f, points, &scores))
        return;
    const imp_nms how = {
        .overlap = (double)(float)f->a.a, .least = (double)nextafterf((float)f->a.b, -INFINITY), .most = -1};
    const tn_value at = imp_slice(c, imp_suppress(c, boxes, scores, &how, &best), 2, 0, f->a.i);
    const tn_value score = imp_slice(c, best, 2, 0, f->a.i),
                   none = imp_const(c, imp_type(scores)->dtype, -INFINITY);
    const tn_value key = imp_choose(c, imp_with(c, &tn_op_greater_equal, at, 0), score, none);
    const tn_topk_attr some = {.axis = 1, .dtype = TN_I64, .k = tn_make_dims(c->g, 1, &f->a.j)};
    if (c->bad)
        return;
    const tn_value top = imp_call1(c, &tn_op_topk, &some, with_rest(c, key, f->a.j, -INFINITY)),
                   place = elements_or(c, with_rest(c, at, f->a.j, -1), (tn_value){top.def, 1}, -1);
    const tn_value there = imp_with(c, &tn_op_greater_equal, place, 0), zero = imp_const(c, TN_F32, 0),
                   class = over(c, (tn_value){top.def, 1}, imp_extent_of(c, at, 2));
    imp_out(c, 0, rows_or(c, boxes, place, 0));
    imp_out(c, 1, imp_choose(c, there, imp_cast(c, class, TN_F32), zero));
    imp_out(c, 2, imp_choose(c, there, imp_cast(c, top, TN_F32), zero));
    imp_out(c, 3, how_many(c, there, 1, TN_I32));
}

static tn_value read_non_max_suppression(form_call *f)
{
    return tvm_make(f, f->a.y ? 2 : 1, non_max_suppression, NULL);
}

static tn_value read_all_classes(form_call *f)
{
    return tvm_make(f, strcmp(f->a.s, "tensorflow") == 0 ? 3 : 2, all_classes, NULL);
}

TVM_READ(get_valid_counts, 3)
TVM_READ(regular, 4)

/* clang-format off */
static const tn_attr_field
    counting[] = {FORM_ATTR(I64, "id_index", j, "0"), FORM_ATTR(I64, "score_index", i, "1"), FORM_END},
    suppressing[] = {FORM_ATTR(BOOL, "force_suppress", x, "False"), FORM_ATTR(I64, "top_k", number, "-1"),
                     FORM_ATTR(I64, "coord_start", i, "2"), FORM_ATTR(I64, "score_index", j, "1"),
                     FORM_ATTR(I64, "id_index", k, "0"), FORM_ATTR(BOOL, "return_indices", y, "True"),
                     FORM_ATTR(BOOL, "invalid_to_bottom", z, "False"), FORM_END},
    by_classes[] = {FORM_ATTR(STR, "output_format", s, "\"onnx\""), FORM_END},
    of_classes[] = {FORM_ATTR(I64, "max_detections_per_class", i, NULL), FORM_ATTR(I64, "max_detections", j, NULL),
                    FORM_ATTR(I64, "num_classes", k, NULL), FORM_ATTR(F64, "iou_threshold", a, NULL),
                    FORM_ATTR(F64, "score_threshold", b, NULL), FORM_END};

const form tvm_forms_vision[] = {
    {"vision.get_valid_counts", 2, 2, read_get_valid_counts, counting, "Boxes above a score, first, and how many."},
    {"vision.non_max_suppression", 5, 5, read_non_max_suppression, suppressing,
        "Boxes that no better one of their class overlaps: their indices, or the rows."},
    {"vision.all_class_non_max_suppression", 5, 5, read_all_classes, by_classes,
        "Of boxes with a score for each class, those that no better one of the class overlaps."},
    {"vision.regular_non_max_suppression", 2, 2, read_regular, of_classes,
        "The best boxes of all classes that no better one of the class overlaps."},
    {0},
};
/* clang-format on */
