/* Boxes of detectors: prior boxes, suppression. */
#include "frontend/import/boxes.h"

#include "op/vision/vision.h"

#include <math.h>

/* ---- prior boxes ---- */

void imp_add_prior(imp_node *c, imp_priors *p, double height, double width)
{
    if (p->n == IMP_MAX_PRIORS)
        imp_refuse(c, IMP_BAD_VALUE, "more than %d boxes at a place", IMP_MAX_PRIORS);
    if (c->bad)
        return;
    p->height[p->n] = height;
    p->width[p->n++] = width;
}

static double clipped(double v, bool clip) { return clip ? fmin(fmax(v, 0), 1) : v; }

float *imp_make_priors(imp_node *c, const imp_priors *p)
{
    const int64_t most = 1 << 24;
    if (!c->bad && (p->rows < 1 || p->columns < 1 || p->rows > most || p->columns > most / p->rows ||
                    (int64_t)p->n > most / (p->rows * p->columns)))
        imp_refuse(c, IMP_TOO_LARGE, "%u boxes at each of %lld by %lld places", (unsigned)p->n,
                   (long long)p->rows, (long long)p->columns);
    if (c->bad)
        return NULL;
    float *at = TN_NEW_N(c->arena, float, (size_t)(p->rows * p->columns * p->n * 4)), *out = at;
    for (int64_t i = 0; i < p->rows * p->columns; i++) {
        double y = ((double)(i / p->columns) + p->offset) * p->step[0],
               x = ((double)(i % p->columns) + p->offset) * p->step[1];
        for (uint32_t k = 0; k < p->n; k++) {
            *out++ = (float)clipped((x - p->width[k] / 2) / p->image[1], p->clip);
            *out++ = (float)clipped((y - p->height[k] / 2) / p->image[0], p->clip);
            *out++ = (float)clipped((x + p->width[k] / 2) / p->image[1], p->clip);
            *out++ = (float)clipped((y + p->height[k] / 2) / p->image[0], p->clip);
        }
    }
    return at;
}

/* ---- anchors of sizes and ratios ---- */

static void multibox_place(const imp_multibox *m, const int64_t extent[2], int64_t row, int64_t at,
                           float *out)
{
    const double y = ((double)row + m->offset[0]) * (m->step[0] > 0 ? m->step[0] : 1.0 / (double)extent[0]),
                 x = ((double)at + m->offset[1]) * (m->step[1] > 0 ? m->step[1] : 1.0 / (double)extent[1]);
    for (uint32_t k = 0; k < m->sizes + m->ratios - 1; k++) {
        const double s = m->size[k < m->sizes ? k : 0],
                     r = sqrt(k < m->sizes ? m->ratio[0] : m->ratio[k - m->sizes + 1]),
                     w = s * (double)extent[0] / (double)extent[1] * r / 2, h = s / r / 2,
                     edge[4] = {x - w, y - h, x + w, y + h};
        for (int e = 0; e < 4; e++)
            *out++ = (float)clipped(edge[e], m->clip);
    }
}

tn_value imp_multibox_prior(imp_node *c, tn_value x, const imp_multibox *m)
{
    int64_t size[2] = {0, 0}, most = 1 << 12;
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[2], &size[0]) ||
                    !tn_is_int(imp_type(x)->dim[3], &size[1]) || size[0] < 1 || size[1] < 1 ||
                    size[0] > most || size[1] > most))
        imp_refuse(c, IMP_OPERANDS, "data %s must be images of fixed extents", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return (tn_value){0};
    const int64_t each = m->sizes + m->ratios - 1, dim[3] = {1, size[0] * size[1] * each, 4};
    float *at = TN_NEW_N(c->arena, float, (size_t)(dim[1] * 4));
    for (int64_t i = 0; i < size[0] * size[1]; i++)
        multibox_place(m, size, i / size[1], i % size[1], at + i * each * 4);
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 3, dim, at, NULL));
}

tn_value imp_multibox_boxes(imp_node *c, tn_value differences, tn_value anchors, const double variance[4],
                            bool clip)
{
    static const tn_clip_attr inside = {0, 1};
    if (c->bad)
        return (tn_value){0};
    const tn_expr *dim[3] = {imp_type(differences)->dim[0], imp_type(anchors)->dim[1], tn_idx(c->pool, 4)};
    tn_value v = imp_reshape(c, differences, 3, dim), part[4];
    for (int i = 0; i < 2; i++) {
        tn_value low = imp_slice(c, anchors, 2, i, i + 1), high = imp_slice(c, anchors, 2, 2 + i, 3 + i),
                 move = imp_slice(c, v, 2, i, i + 1), grow = imp_slice(c, v, 2, 2 + i, 3 + i);
        tn_value size = imp_binary(c, &tn_op_subtract, high, low), sum = imp_binary(c, &tn_op_add, low, high);
        tn_value middle = imp_with(c, &tn_op_multiply, sum, 0.5);
        tn_value centre =
            imp_binary(c, &tn_op_multiply, imp_with(c, &tn_op_multiply, move, variance[i]), size);
        tn_value wide = imp_unary(c, &tn_op_exp, imp_with(c, &tn_op_multiply, grow, variance[2 + i]));
        tn_value half = imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_multiply, wide, size), 0.5);
        centre = imp_binary(c, &tn_op_add, centre, middle);
        part[i] = imp_binary(c, &tn_op_subtract, centre, half);
        part[2 + i] = imp_binary(c, &tn_op_add, centre, half);
    }
    tn_value boxes = imp_concat(c, 4, part, 2);
    return clip ? imp_call1(c, &tn_op_clip, &inside, boxes) : boxes;
}

/* ---- suppression ---- */

/* The best candidates of each class: scores and positions [batch, classes, k]. */
static tn_value candidates(imp_node *c, tn_value scores, int64_t most)
{
    const tn_expr *n = imp_type(scores)->dim[2];
    tn_topk_attr a = {.axis = 2, .dtype = TN_I64};
    const tn_expr *k = most < 0 ? n : imp_simplify(c, tn_min(c->pool, n, tn_idx(c->pool, most)));
    a.k = tn_dims_make(c->arena, 1, &k);
    return imp_call1(c, &tn_op_topk, &a, scores);
}

/* Rows of boxes [batch, n, 4] at positions [batch, classes, k]: [batch * classes, k, 4]. */
static tn_value boxes_at(imp_node *c, tn_value boxes, tn_value at)
{
    const tn_type *t = imp_type(at);
    const tn_expr *rows[2] = {t->dim[0], imp_product(c, t, 1, 3)};
    tn_gather_nd_attr a = {1};
    tn_value list = imp_unsqueeze(c, imp_reshape(c, at, 2, rows), 2);
    tn_value taken = imp_call2(c, &tn_op_gather_nd, &a, boxes, list);
    const tn_expr *dim[3] = {imp_product(c, t, 0, 2), t->dim[2], tn_idx(c->pool, 4)};
    return imp_reshape(c, taken, 3, dim);
}

/* A box whose right edge lies left of its left one, or bottom above top, is empty. */
static tn_value proper_boxes(imp_node *c, tn_value boxes, bool inclusive)
{
    tn_value low = imp_slice(c, boxes, 2, 0, 2), high = imp_slice(c, boxes, 2, 2, 4);
    tn_value empty = imp_binary(c, &tn_op_less, high, low);
    tn_value end = inclusive ? imp_with(c, &tn_op_add, high, 1) : high;
    return imp_concat(c, 2, (const tn_value[]){low, imp_choose(c, empty, low, end)}, 2);
}

tn_value imp_suppress(imp_node *c, tn_value boxes, tn_value scores, const imp_nms *how, tn_value *out_scores)
{
    *out_scores = (tn_value){0};
    if (!c->bad && (imp_rank(boxes) != 3 || imp_rank(scores) != 3))
        imp_refuse(c, IMP_OPERANDS, "boxes %s and scores %s must have three dimensions",
                   imp_type_text(c, imp_type(boxes)), imp_type_text(c, imp_type(scores)));
    if (c->bad)
        return (tn_value){0};
    tn_value best = candidates(c, scores, how->most), at = {best.def, 1};
    if (c->bad)
        return best;
    const tn_type *t = imp_type(best);
    const tn_expr *flat[3] = {imp_product(c, t, 0, 2), tn_idx(c->pool, 1), t->dim[2]};
    tn_value own = boxes_at(c, proper_boxes(c, boxes, how->inclusive), at);
    tn_value limit = imp_const(c, t->dtype, how->overlap), least = imp_const(c, t->dtype, how->least);
    tn_nms_attr a = {false};
    tn_value in[5] = {own, imp_reshape(c, best, 3, flat), imp_i64(c, INT32_MAX), limit, least};
    tn_value slot = imp_reshape(c, imp_call(c, &tn_op_vision_nms_select, &a, 5, in), 3, t->dim);
    tn_axis_attr last = {2};
    tn_value there = imp_with(c, &tn_op_greater_equal, slot, 0), place = imp_with(c, &tn_op_maximum, slot, 0);
    *out_scores = imp_call2(c, &tn_op_gather, &last, best, place);
    tn_value found = imp_call2(c, &tn_op_gather, &last, at, place), none = imp_i64(c, -1);
    return imp_choose(c, there, found, none);
}

/* An int32 of the shape of v everywhere. */
static tn_value filled(imp_node *c, tn_value v, double number)
{
    const tn_type *t = imp_type(v);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)t->n, t->dim)};
    return imp_call1(c, &tn_op_broadcast_to, &a, imp_const(c, TN_I32, number));
}

/* bool, of the shape of scores [batch, n]: is it one of the `most` best of its batch? */
static tn_value among_best(imp_node *c, tn_value scores, int64_t most)
{
    const tn_expr *n = c->bad ? NULL : imp_type(scores)->dim[1];
    tn_topk_attr a = {.axis = 1, .dtype = TN_I64};
    if (c->bad)
        return scores;
    const tn_expr *k = imp_simplify(c, tn_min(c->pool, n, tn_idx(c->pool, most)));
    a.k = tn_dims_make(c->arena, 1, &k);
    tn_value best = imp_call1(c, &tn_op_topk, &a, scores), at = {best.def, 1};
    tn_scatter_attr s = {1, "update"};
    tn_value in[3] = {filled(c, scores, 0), at, filled(c, at, 1)};
    return imp_cast(c, imp_call(c, &tn_op_scatter_elements, &s, 3, in), TN_BOOL1);
}

/* ---- detections ---- */

/* [batch, n] of what lies in [batch, classes, k] */
static tn_value by_image(imp_node *c, tn_value v)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[2] = {t->dim[0], imp_product(c, t, 1, t->n)};
    return imp_reshape(c, v, 2, dim);
}

/* Numbers 0 1 .. along dimension `axis`, in the shape of v, as a list. */
static tn_value numbers(imp_node *c, tn_value v, int axis)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[3];
    for (int i = 0; i < 3; i++)
        dim[i] = i == axis ? t->dim[i] : tn_idx(c->pool, 1);
    tn_value at = imp_reshape(c, imp_count_up(c, t->dim[axis]), 3, dim);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, 3, t->dim)};
    return imp_flat(c, imp_call1(c, &tn_op_broadcast_to, &a, at));
}

imp_detections imp_detect(imp_node *c, tn_value boxes, tn_value scores, const imp_nms *how, int64_t keep)
{
    tn_value best, at = imp_suppress(c, boxes, scores, how, &best);
    imp_detections d = {.image = {0}};
    if (c->bad)
        return d;
    tn_value there = imp_with(c, &tn_op_greater_equal, at, 0);
    if (keep >= 0) {
        tn_value least = imp_const(c, imp_type(best)->dtype, -3.4028234663852886e38);
        tn_value kept = among_best(c, by_image(c, imp_choose(c, there, best, least)), keep);
        there = imp_binary(c, &tn_op_logical_and, by_image(c, there), kept);
    } else {
        there = by_image(c, there);
    }
    const tn_expr *four[2] = {imp_product(c, imp_type(boxes), 0, 2), tn_idx(c->pool, 4)};
    tn_value row = imp_positions(c, imp_flat(c, there)), all = imp_extent_of(c, boxes, 1);
    d.image = imp_take(c, numbers(c, at, 0), row, 0);
    d.which = imp_take(c, numbers(c, at, 1), row, 0);
    d.score = imp_take(c, imp_flat(c, best), row, 0);
    tn_value first = imp_binary(c, &tn_op_multiply, d.image, all);
    d.place = imp_binary(c, &tn_op_add, first, imp_take(c, imp_flat(c, at), row, 0));
    d.box = imp_take(c, imp_reshape(c, boxes, 2, four), d.place, 0);
    d.count = imp_reduce(c, &tn_op_sum, imp_cast(c, there, TN_I32), 1);
    return d;
}

/* ---- padded lists ---- */

imp_padded imp_pad_boxes(imp_node *c, tn_value chosen, const tn_expr *n)
{
    tn_broadcast_to_attr wide = {tn_dims_make(c->arena, 1, &n)};
    tn_value more = imp_call1(c, &tn_op_broadcast_to, &wide, imp_i64(c, -1));
    tn_value all = imp_concat(c, 2, (const tn_value[]){chosen, more}, 0);
    tn_value at = imp_take(c, all, imp_count_up(c, n), 0);
    imp_padded p = {.there = imp_with(c, &tn_op_greater_equal, at, 0)};
    p.place = imp_with(c, &tn_op_maximum, at, 0);
    p.count = imp_reduce(c, &tn_op_sum, imp_cast(c, p.there, TN_I32), 0);
    return p;
}

tn_value imp_padded_scores(imp_node *c, const imp_padded *p, tn_value scores)
{
    tn_value none = imp_const(c, imp_type(scores)->dtype, 0);
    tn_value some[2] = {scores, imp_unsqueeze(c, none, 0)}; /* position 0 exists without boxes, too */
    tn_value best = imp_take(c, imp_concat(c, 2, some, 0), p->place, 0);
    return imp_choose(c, p->there, best, none);
}

/* ---- positions of rows ---- */

static tn_value repeated(imp_node *c, tn_value v, int n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n, dim)};
    return imp_call1(c, &tn_op_broadcast_to, &a, v);
}

tn_value imp_rows_at(imp_node *c, tn_value v, tn_value at)
{
    tn_gather_nd_attr a = {1};
    return imp_call2(c, &tn_op_gather_nd, &a, v, imp_unsqueeze(c, at, 2));
}

tn_value imp_marked(imp_node *c, tn_value at, const tn_expr *n)
{
    const tn_type *t = imp_type(at);
    if (c->bad)
        return at;
    const tn_expr *flat[2] = {t->dim[0], imp_product(c, t, 1, t->n)},
                  *wide[2] = {t->dim[0], imp_simplify(c, tn_add(c->pool, n, tn_idx(c->pool, 1)))};
    tn_scatter_attr a = {1, "update"};
    tn_value zeros = repeated(c, imp_const(c, TN_I32, 0), 2, wide),
             list = imp_with(c, &tn_op_add, imp_reshape(c, at, 2, flat), 1), /* 0 is none */
        ones = repeated(c, imp_const(c, TN_I32, 1), 2, flat);
    tn_value hit = imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){zeros, list, ones});
    return imp_cast(c, imp_slice(c, hit, 1, 1, INT64_MAX), TN_BOOL1);
}

tn_value imp_compacted(imp_node *c, tn_value there)
{
    const tn_type *t = imp_type(there);
    if (c->bad)
        return there;
    const tn_expr *n = t->dim[1],
                  *wide[2] = {t->dim[0], imp_simplify(c, tn_add(c->pool, n, tn_idx(c->pool, 1)))};
    tn_scan_attr before = {.axis = 1, .exclusive = true};
    tn_scatter_attr a = {1, "update"};
    tn_value none = repeated(c, imp_i64(c, -1), 2, wide), behind = imp_extent_of(c, there, 1),
             number = repeated(c, imp_unsqueeze(c, imp_count_up(c, n), 0), 2, t->dim);
    tn_value to = imp_call1(c, &tn_op_cumsum, &before, imp_cast(c, there, TN_I64));
    to = imp_choose(c, there, to, behind);
    tn_value list = imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){none, to, number});
    return imp_slice_to(c, list, 1, tn_idx(c->pool, 0), n);
}

tn_value imp_next_below(imp_node *c, tn_value v)
{
    const tn_dtype t = imp_type(v)->dtype;
    const bool wide = tn_dtype_eq(t, TN_F64);
    double x;
    if (imp_scalar(c, v, &x))
        return imp_const(c, t, wide ? nextafter(x, -1) : (double)nextafterf((float)x, -1));
    tn_value bits = imp_bitcast(c, v, wide ? TN_I64 : TN_I32);
    return imp_bitcast(c, imp_with(c, &tn_op_subtract, bits, 1), t);
}
