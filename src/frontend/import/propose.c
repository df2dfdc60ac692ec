/* Proposals of regions: boxes from anchors, those that are too small marked, suppression, rows repeated. */
#include "frontend/import/propose.h"

#include "frontend/import/layers.h"

enum { X = 0, Y = 1 };

typedef struct regions { /* one anchor of each kind at each place; values are [images,rows,columns,kinds] */
    const imp_proposals *p;
    const tn_expr *dim[4];
    tn_value score, delta; /* delta: ..., 4 */
    tn_value image[3];     /* height, width, scale: [images,1,1,1] */
} regions;

/* Number i of the last dimension, which stays. */
static tn_value column(imp_node *c, tn_value v, int64_t i)
{
    return imp_slice(c, v, imp_rank(v) - 1, i, i + 1);
}

static tn_value full(imp_node *c, tn_value v, int n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)n, dim)};
    return imp_call1(c, &tn_op_broadcast_to, &a, v);
}

/* [images,kinds * each,rows,columns] as [images,rows,columns,kinds,each] */
static tn_value by_place(imp_node *c, tn_value v, const regions *r, int64_t each)
{
    static const int64_t perm[] = {0, 3, 4, 1, 2};
    const tn_expr *dim[5] = {r->dim[0], r->dim[3], tn_idx(c->pool, each), r->dim[1], r->dim[2]};
    return imp_transpose(c, imp_reshape(c, v, 5, dim), 5, perm);
}

static bool read_regions(imp_node *c, const tn_value in[3], regions *r)
{
    const int64_t kinds = r->p->anchors->kinds;
    const tn_value score = in[0], delta = in[1], info = in[2];
    if (!c->bad && (imp_rank(score) != 4 || imp_rank(delta) != 4 || imp_rank(info) != 2 ||
                    !tn_is_value(imp_type(score)->dim[1], 2 * kinds) ||
                    !tn_is_value(imp_type(delta)->dim[1], 4 * kinds)))
        imp_refuse(c, IMP_OPERANDS, "scores %s, boxes %s and images %s do not fit %lld scales and ratios",
                   imp_type_text(c, imp_type(score)), imp_type_text(c, imp_type(delta)),
                   imp_type_text(c, imp_type(info)), (long long)kinds);
    if (c->bad)
        return false;
    const tn_type *t = imp_type(score);
    const tn_expr *dim[4] = {t->dim[0], t->dim[2], t->dim[3], tn_idx(c->pool, kinds)};
    for (int i = 0; i < 4; i++)
        r->dim[i] = dim[i];
    r->score = imp_squeeze(c, by_place(c, imp_slice(c, score, 1, kinds, 2 * kinds), r, 1), 4);
    r->delta = by_place(c, delta, r, 4);
    for (int i = 0; i < 3; i++)
        r->image[i] = imp_unsqueeze(c, imp_unsqueeze(c, column(c, info, i), 2), 3);
    return !c->bad;
}

static tn_value of_kinds(imp_node *c, const regions *r, const float at[])
{
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &r->p->anchors->kinds, at, NULL));
}

/* Left (d X) or top edges of boxes, and right or bottom ones, limited to the image. */
static void box_edges(imp_node *c, const regions *r, int d, tn_value out[2])
{
    tn_value place = imp_cast(c, imp_count_up(c, r->dim[d == X ? 2 : 1]), TN_F32);
    place = imp_along(c, imp_with(c, &tn_op_multiply, place, r->p->anchors->stride), d == X ? 2 : 1, 4);
    tn_value low = imp_binary(c, &tn_op_add, place, of_kinds(c, r, r->p->anchors->low[d])),
             size = of_kinds(c, r, r->p->anchors->size[d]);
    tn_value first = imp_squeeze(c, column(c, r->delta, d), 4),
             second = imp_squeeze(c, column(c, r->delta, 2 + d), 4);
    tn_value span = imp_with(c, &tn_op_subtract, size, 1);
    if (r->p->differences) {
        out[0] = imp_binary(c, &tn_op_add, low, first);
        out[1] = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_add, low, span), second);
    } else {
        tn_value middle = imp_binary(c, &tn_op_add, low, imp_with(c, &tn_op_multiply, span, 0.5));
        tn_value centre = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, first, size), middle);
        tn_value wide = imp_binary(c, &tn_op_multiply, imp_unary(c, &tn_op_exp, second), size);
        tn_value half = imp_with(c, &tn_op_multiply, imp_with(c, &tn_op_subtract, wide, 1), 0.5);
        out[0] = imp_binary(c, &tn_op_subtract, centre, half);
        out[1] = imp_binary(c, &tn_op_add, centre, half);
    }
    tn_value last = imp_with(c, &tn_op_subtract, r->image[d == X ? 1 : 0], 1);
    for (int i = 0; i < 2; i++)
        out[i] = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_minimum, out[i], last), 0);
}

/* Is a place outside the image, in the padding of a batch? */
static tn_value in_padding(imp_node *c, const regions *r)
{
    tn_value hit[2];
    for (int k = 0; k < 2; k++) {
        tn_value at = imp_cast(c, imp_count_up(c, r->dim[1 + k]), TN_F32);
        tn_value end =
            imp_unary(c, &tn_op_trunc, imp_with(c, &tn_op_divide, r->image[k], r->p->anchors->stride));
        hit[k] = imp_binary(c, &tn_op_greater_equal, imp_along(c, at, 1 + k, 4), end);
    }
    return imp_binary(c, &tn_op_logical_or, hit[0], hit[1]);
}

/* Boxes that are too small grow and score -1, as those in the padding do. edge: left, top, right, bottom. */
static void drop_small(imp_node *c, regions *r, tn_value edge[4])
{
    tn_value least = imp_with(c, &tn_op_multiply, r->image[2], r->p->least), small[2];
    for (int d = 0; d < 2; d++) {
        tn_value size = imp_with(c, &tn_op_add, imp_binary(c, &tn_op_subtract, edge[2 + d], edge[d]), 1);
        small[d] = imp_binary(c, &tn_op_less, size, least);
    }
    tn_value any = imp_binary(c, &tn_op_logical_or, small[0], small[1]),
             half = imp_with(c, &tn_op_multiply, least, 0.5);
    for (int i = 0; i < 4; i++) {
        tn_value grown = imp_binary(c, i < 2 ? &tn_op_subtract : &tn_op_add, edge[i], half);
        edge[i] = imp_choose(c, any, grown, edge[i]);
    }
    any = imp_binary(c, &tn_op_logical_or, any, in_padding(c, r));
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
    tn_value found = imp_call2(c, &tn_op_gather, &second, at, imp_binary(c, &tn_op_floor_mod, turn, count));
    return imp_with(c, &tn_op_maximum, found, 0);
}

tn_value imp_propose(imp_node *c, const imp_proposals *p, const tn_value in[3], tn_value *out_scores)
{
    regions r = {.p = p};
    *out_scores = (tn_value){0};
    if (!read_regions(c, in, &r))
        return (tn_value){0};
    tn_value x[2], y[2], best;
    box_edges(c, &r, X, x);
    box_edges(c, &r, Y, y);
    tn_value edge[4] = {x[0], y[0], x[1], y[1]};
    drop_small(c, &r, edge);
    tn_value boxes = boxes_of(c, &r, edge);
    for (int i = 2; i < 4; i++) /* a box ends behind its last pixel */
        edge[i] = imp_with(c, &tn_op_add, edge[i], 1);
    if (c->bad)
        return boxes;
    const imp_nms how = {.overlap = p->overlap, .least = -1e38, .most = p->before};
    const tn_expr *flat[2] = {r.dim[0], imp_product(c, imp_type(r.score), 1, 4)};
    tn_value score = imp_reshape(c, r.score, 2, flat), list = imp_unsqueeze(c, score, 1);
    tn_value at = imp_suppress(c, boxes_of(c, &r, edge), list, &how, &best);
    at = repeated(c, imp_squeeze(c, at, 1), p->after);
    const tn_expr *each[3] = {r.dim[0], tn_idx(c->pool, p->after), tn_idx(c->pool, 1)},
                  *rows[2] = {imp_simplify(c, tn_mul(c->pool, r.dim[0], each[1])), tn_idx(c->pool, 5)},
                  *scores[2] = {rows[0], each[2]};
    tn_axis_attr second = {1};
    tn_value image = imp_along(c, imp_cast(c, imp_count_up(c, r.dim[0]), TN_F32), 0, 3);
    tn_value part[2] = {full(c, image, 3, each), imp_rows_at(c, boxes, at)};
    *out_scores = imp_reshape(c, imp_call2(c, &tn_op_gather, &second, score, at), 2, scores);
    return imp_reshape(c, imp_concat(c, 2, part, 2), 2, rows);
}
