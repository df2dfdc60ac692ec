/* Colours: red, green and blue as hue, saturation and value and back; contrast. Channels are the last dimension. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/window.h"
#include "op/tensor/tensor.h"

/* Operand 0 as channels, computed in float32 where it is shorter; false: reported. */
static bool read_channels(imp_node *c, tn_value out[3])
{
    tn_value x = imp_in(c, 0);
    int r = imp_rank(x);
    if (!c->bad && (r < 1 || !imp_with_extent(c, &x, r - 1, tn_idx(c->pool, 3))))
        imp_refuse(c, IMP_OPERANDS, "%s are no colours: the last dimension must have three channels",
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return false;
    x = imp_cast(c, x, imp_sum_dtype(imp_type(x)->dtype));
    for (int i = 0; i < 3; i++)
        out[i] = imp_slice(c, x, r - 1, i, i + 1);
    return !c->bad;
}

static void give_channels(imp_node *c, const tn_value in[3])
{
    tn_value v = imp_concat(c, 3, in, imp_rank(in[0]) - 1);
    imp_out(c, 0, c->bad ? v : imp_cast(c, v, imp_type(imp_in(c, 0))->dtype));
}

typedef struct extremes {
    tn_value least, most, range;
} extremes;

static extremes extremes_of(imp_node *c, const tn_value rgb[3])
{
    tn_value more = imp_binary(c, &tn_op_maximum, rgb[0], rgb[1]),
             less = imp_binary(c, &tn_op_minimum, rgb[0], rgb[1]);
    extremes e = {.most = imp_binary(c, &tn_op_maximum, more, rgb[2])};
    e.least = imp_binary(c, &tn_op_minimum, less, rgb[2]);
    e.range = imp_binary(c, &tn_op_subtract, e.most, e.least);
    return e;
}

/* (a - b) / (6 range) + from */
static tn_value sector(imp_node *c, tn_value a, tn_value b, const extremes *e, double from)
{
    tn_value way = imp_binary(c, &tn_op_subtract, a, b), six = imp_with(c, &tn_op_multiply, e->range, 6);
    way = imp_binary(c, &tn_op_divide, way, six);
    return from > 0 ? imp_with(c, &tn_op_add, way, from) : way;
}

/* In [0, 1): where on the circle of colours the largest channel is, and to which side it leans; of greys 0. */
static tn_value hue_of(imp_node *c, const tn_value rgb[3], const extremes *e)
{
    tn_value red = sector(c, rgb[1], rgb[2], e, 0), green = sector(c, rgb[2], rgb[0], e, 2.0 / 6),
             blue = sector(c, rgb[0], rgb[1], e, 4.0 / 6);
    tn_value is_red = imp_binary(c, &tn_op_equal, rgb[0], e->most),
             is_green = imp_binary(c, &tn_op_equal, rgb[1], e->most), zero = tf_number(c, e->most, 0);
    tn_value h = imp_choose(c, is_red, red, imp_choose(c, is_green, green, blue));
    h = imp_choose(c, imp_binary(c, &tn_op_greater, e->range, zero), h, zero);
    tn_value turned = imp_with(c, &tn_op_add, h, 1);
    return imp_choose(c, imp_binary(c, &tn_op_less, h, zero), turned, h);
}

/* range / value; of what is not above 0: 0 */
static tn_value saturation_of(imp_node *c, const extremes *e)
{
    tn_value zero = tf_number(c, e->most, 0), part = imp_binary(c, &tn_op_divide, e->range, e->most);
    return imp_choose(c, imp_binary(c, &tn_op_greater, e->most, zero), part, zero);
}

/* How much of each channel is in the pure colour of a hue: 1 over a third of the circle, then less. */
static void pure_colour(imp_node *c, tn_value hue, tn_value out[3])
{
    static const double centre[] = {3, 2, 4};
    tn_value six = imp_with(c, &tn_op_multiply, hue, 6);
    for (int i = 0; i < 3; i++) {
        tn_value far = imp_unary(c, &tn_op_abs, imp_with(c, &tn_op_subtract, six, centre[i]));
        far = i ? imp_binary(c, &tn_op_subtract, tf_number(c, far, 2), far)
                : imp_with(c, &tn_op_subtract, far, 1);
        out[i] = imp_clip(c, far, 0, 1);
    }
}

/* (1 - saturation + saturation pure) value */
static void mix(imp_node *c, tn_value hue, tn_value saturation, tn_value value)
{
    tn_value v[3], rest = imp_binary(c, &tn_op_subtract, tf_number(c, saturation, 1), saturation);
    pure_colour(c, hue, v);
    for (int i = 0; i < 3; i++) {
        v[i] = imp_binary(c, &tn_op_add, rest, imp_binary(c, &tn_op_multiply, saturation, v[i]));
        v[i] = imp_binary(c, &tn_op_multiply, v[i], value);
    }
    give_channels(c, v);
}

static void rgb_to_hsv(imp_node *c)
{
    tn_value rgb[3];
    if (!read_channels(c, rgb))
        return;
    extremes e = extremes_of(c, rgb);
    tn_value hue = hue_of(c, rgb, &e), saturation = saturation_of(c, &e);
    give_channels(c, (const tn_value[]){hue, saturation, e.most});
}

static void hsv_to_rgb(imp_node *c)
{
    tn_value hsv[3];
    if (read_channels(c, hsv))
        mix(c, hsv[0], hsv[1], hsv[2]);
}

/* The number that operand 1 is, in the type that is computed in. */
static tn_value amount(imp_node *c, tn_value like)
{
    return imp_cast(c, tf_scalar_in(c, 1), imp_type(like)->dtype);
}

/* The largest channel and the smallest stay. */
static void adjust_hue(imp_node *c)
{
    tn_value rgb[3], v[3];
    if (!read_channels(c, rgb))
        return;
    extremes e = extremes_of(c, rgb);
    tn_value hue = hue_of(c, rgb, &e), one = tf_number(c, hue, 1);
    hue = imp_binary(c, &tn_op_add, hue, amount(c, hue));
    pure_colour(c, imp_binary(c, &tn_op_floor_mod, hue, one), v);
    for (int i = 0; i < 3; i++)
        v[i] = imp_binary(c, &tn_op_add, e.least, imp_binary(c, &tn_op_multiply, v[i], e.range));
    give_channels(c, v);
}

static void adjust_saturation(imp_node *c)
{
    tn_value rgb[3];
    if (!read_channels(c, rgb))
        return;
    extremes e = extremes_of(c, rgb);
    tn_value hue = hue_of(c, rgb, &e), saturation = saturation_of(c, &e);
    saturation = imp_binary(c, &tn_op_multiply, saturation, amount(c, saturation));
    mix(c, hue, imp_clip(c, saturation, 0, 1), e.most);
}

/* Each channel of an image: (x - mean) factor + mean. */
static void adjust_contrast(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    int r = imp_rank(x);
    int64_t *axes = TN_NEW_N(c->arena, int64_t, 2);
    axes[0] = r - 3;
    axes[1] = r - 2;
    if (!c->bad && r < 3)
        imp_refuse(c, IMP_OPERANDS, "%s are no images; the model is damaged", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    x = imp_cast(c, x, imp_sum_dtype(t));
    tn_value mean = tf_reduce(c, &tn_op_mean, x, (tn_ints){2, axes}, true);
    tn_value d = imp_binary(c, &tn_op_subtract, x, mean);
    d = imp_binary(c, &tn_op_multiply, d, amount(c, d));
    imp_out(c, 0, imp_cast(c, imp_binary(c, &tn_op_add, d, mean), t));
}

// clang-format off
const imp_row tf_rows_color[] = {
    {"AdjustContrastv2", 1, 0, 2, 1, adjust_contrast,   NULL},
    {"AdjustHue",        1, 0, 2, 1, adjust_hue,        NULL},
    {"AdjustSaturation", 1, 0, 2, 1, adjust_saturation, NULL},
    {"HSVToRGB",         1, 0, 1, 1, hsv_to_rgb,        NULL},
    {"RGBToHSV",         1, 0, 1, 1, rgb_to_hsv,        NULL},
    {0},
};
// clang-format on
