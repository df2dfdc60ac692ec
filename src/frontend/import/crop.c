/* Parts of images in new sizes: the four pixels around each position, weighed. */
#include "frontend/import/crop.h"

typedef struct side { /* positions along rows or columns: [n, size] */
    tn_value low, high, part, inside;
} side;

static side read_side(imp_node *c, const imp_crop *k, int axis, tn_value at)
{
    tn_value last = imp_cast(c, imp_extent_of(c, k->image, axis), TN_F32);
    last = imp_with(c, &tn_op_subtract, last, 1);
    side s = {.inside = {0}};
    if (k->outside.def) {
        tn_value above = imp_with(c, &tn_op_greater_equal, at, 0);
        s.inside = imp_binary(c, &tn_op_logical_and, above, imp_binary(c, &tn_op_less_equal, at, last));
    }
    tn_value held = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_minimum, at, last), 0);
    if (k->nearest)
        held = imp_with(c, &tn_op_add, held, 0.5); /* what is not below 0 is rounded away from it */
    s.low = imp_unary(c, &tn_op_floor, held);
    s.high = imp_unary(c, &tn_op_ceil, held);
    s.part = imp_binary(c, &tn_op_subtract, held, s.low);
    return s;
}

/* As [n, height, width, 1]. */
static tn_value spread(imp_node *c, tn_value v, bool rows)
{
    v = imp_rank(v) == 3 ? v : imp_unsqueeze(c, v, rows ? 2 : 1);
    return imp_unsqueeze(c, v, 3);
}

/* Positions as integers, inside of the dimension whatever they are (a box may be no number). */
static tn_value position(imp_node *c, tn_value image, int axis, tn_value at)
{
    tn_value last = imp_with(c, &tn_op_subtract, imp_extent_of(c, image, axis), 1);
    at = imp_binary(c, &tn_op_minimum, imp_cast(c, at, TN_I64), last);
    return imp_with(c, &tn_op_maximum, at, 0);
}

/* The pixels of image [b, ...] at (which, y, x): [n, height, width, channels]. */
static tn_value pixels(imp_node *c, tn_value image, tn_value which, tn_value y, tn_value x)
{
    tn_value part[3] = {which, position(c, image, 1, y), position(c, image, 2, x)}, shape[3];
    tn_value all = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_add, part[0], part[1]), part[2]);
    for (int i = 0; i < 3; i++)
        shape[i] = imp_broadcast_like(c, part[i], all);
    tn_gather_nd_attr a = {0};
    return imp_call2(c, &tn_op_gather_nd, &a, image, imp_concat(c, 3, shape, 3));
}

static tn_value mix(imp_node *c, const imp_crop *k, tn_value a, tn_value b, tn_value part)
{
    if (k->shares) {
        tn_value one = imp_const(c, TN_F32, 1), rest = imp_binary(c, &tn_op_subtract, one, part);
        tn_value first = imp_binary(c, &tn_op_multiply, a, rest),
                 second = imp_binary(c, &tn_op_multiply, b, part);
        return imp_binary(c, &tn_op_add, first, second);
    }
    tn_value more = imp_binary(c, &tn_op_multiply, imp_binary(c, &tn_op_subtract, b, a), part);
    return imp_binary(c, &tn_op_add, a, more);
}

tn_value imp_make_crop(imp_node *c, const imp_crop *k)
{
    if (c->bad)
        return (tn_value){0};
    side y = read_side(c, k, 1, k->row), x = read_side(c, k, 2, k->column);
    tn_extent_attr images = {tn_dims_make(c->arena, 1, &imp_type(k->image)->dim[0])};
    tn_value which = imp_call1(c, &tn_op_checked_index, &images, imp_cast(c, k->which, TN_I64));
    which = imp_unsqueeze(c, imp_unsqueeze(c, imp_unsqueeze(c, which, 1), 2), 3);
    tn_value top = spread(c, y.low, true), left = spread(c, x.low, false);
    tn_value v = pixels(c, k->image, which, top, left);
    if (!k->nearest) {
        tn_value bottom = spread(c, y.high, true), right = spread(c, x.high, false);
        tn_value down = spread(c, y.part, true), along = spread(c, x.part, false);
        v = mix(c, k, v, pixels(c, k->image, which, top, right), along);
        tn_value low = pixels(c, k->image, which, bottom, left);
        low = mix(c, k, low, pixels(c, k->image, which, bottom, right), along);
        v = mix(c, k, v, low, down);
    }
    if (!k->outside.def)
        return v;
    tn_value rows = spread(c, y.inside, true), columns = spread(c, x.inside, false);
    return imp_choose(c, imp_binary(c, &tn_op_logical_and, rows, columns), v, k->outside);
}

/* Where `size` rows or columns lie between `from` and `to` [n, 1]. */
static tn_value side_of_boxes(imp_node *c, tn_value image, int axis, tn_value from, tn_value to,
                              const tn_expr *size)
{
    tn_value last = imp_cast(c, imp_extent_of(c, image, axis), TN_F32);
    last = imp_with(c, &tn_op_subtract, last, 1);
    tn_value middle = imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_add, from, to), 0.5);
    middle = imp_binary(c, &tn_op_multiply, middle, last);
    if (tn_is_value(size, 1))
        return middle;
    tn_value n = imp_cast(c, imp_count_up(c, size), TN_F32);
    tn_value steps = imp_with(c, &tn_op_subtract, imp_cast(c, imp_extent_of(c, n, 0), TN_F32), 1);
    tn_value step = imp_binary(c, &tn_op_multiply, imp_binary(c, &tn_op_subtract, to, from), last);
    step = imp_binary(c, &tn_op_divide, step, steps);
    tn_value begin = imp_binary(c, &tn_op_multiply, from, last),
             more = imp_binary(c, &tn_op_multiply, n, step);
    tn_value at = imp_binary(c, &tn_op_add, begin, more);
    return size->kind == TN_E_INT ? at : imp_choose(c, imp_with(c, &tn_op_equal, steps, 0), middle, at);
}

tn_value imp_make_crop_of_boxes(imp_node *c, const imp_crop *k, tn_value boxes, tn_dims size)
{
    imp_crop cut = *k;
    tn_value edge[4];
    for (int i = 0; i < 4; i++)
        edge[i] = imp_slice(c, boxes, 1, i, i + 1);
    cut.row = side_of_boxes(c, k->image, 1, edge[0], edge[2], size.at[0]);
    cut.column = side_of_boxes(c, k->image, 2, edge[1], edge[3], size.at[1]);
    return imp_make_crop(c, &cut);
}
