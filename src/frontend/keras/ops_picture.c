/* Functions of keras.ops.image on pictures [batch, rows, columns, channels], or without a batch: parts of them, edges
 * around them, and their brightness. */
#include "frontend/keras/rows.h"

#include <string.h>

/* The dimension of the rows; the columns come next. */
static int first_side(imp_node *c, tn_value x)
{
    bool last = keras_channels_last(c);
    if (!c->bad && imp_rank(x) != 3 && imp_rank(x) != 4)
        imp_refuse(c, IMP_BAD_VALUE, "%s is no picture", imp_type_text(c, imp_type(x)));
    return imp_rank(x) - (last ? 3 : 2);
}

typedef struct sides {
    int64_t before[2], after[2]; /* rows, columns */
} sides;

/* Two of what lies before a side, after it, and the extent of the result tell the third; `sign` is 1 where the result
 * is larger. */
static bool read_sides(imp_node *c, tn_value x, int first, const char *what, int sign, sides *out)
{
    static const char *const names[2][2] = {{"top", "bottom"}, {"left", "right"}};
    static const char *const targets[2] = {"target_height", "target_width"};
    for (int i = 0; i < 2 && !c->bad; i++) {
        int64_t n = 0, two[2] = {-1, -1}, target = keras_int(c, targets[i], -1);
        target = target > INT32_MAX ? INT32_MAX : target;
        bool known = tn_is_int(imp_type(x)->dim[first + i], &n);
        for (int k = 0; k < 2; k++)
            two[k] = keras_int(c, tn_arena_printf(c->arena, "%s_%s", names[i][k], what), -1);
        int64_t all = sign * (target - n);
        for (int k = 0; k < 2 && known && target >= 0; k++)
            if (two[k] < 0)
                two[k] = all - (two[1 - k] < 0 ? 0 : two[1 - k]);
        if (two[0] < 0 || two[1] < 0 || two[0] > INT32_MAX || two[1] > INT32_MAX ||
            (sign < 0 && known && two[0] + two[1] > n))
            imp_refuse(c, IMP_BAD_VALUE, "the sides of %s do not tell a picture",
                       imp_type_text(c, imp_type(x)));
        out->before[i] = two[0];
        out->after[i] = two[1];
    }
    return !c->bad;
}

static void crop(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int first = first_side(c, x);
    sides s;
    if (c->bad || !read_sides(c, x, first, "cropping", -1, &s))
        return;
    for (int i = 0; i < 2; i++)
        x = imp_slice(c, x, first + i, s.before[i], s.after[i] ? -s.after[i] : INT64_MAX);
    keras_out(c, x);
}

static void surround(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int first = first_side(c, x);
    int64_t width[2 * IMP_MAX_RANK] = {0};
    sides s;
    if (c->bad || !read_sides(c, x, first, "padding", 1, &s))
        return;
    for (int i = 0; i < 2; i++) {
        width[2 * (first + i)] = s.before[i];
        width[2 * (first + i) + 1] = s.after[i];
    }
    tn_pad_attr a = {tn_make_dims(c->g, 2 * (uint32_t)imp_rank(x), width), 0,
                     tn_intern(c->g->ctx, "constant")};
    keras_out(c, imp_call1(c, &tn_op_nn_pad, &a, x));
}

/* One channel: what the eye makes of red, green and blue. */
static void grayscale(imp_node *c)
{
    static const double weight[] = {0.2989, 0.587, 0.114};
    tn_value x = keras_in(c, 0), sum = {0};
    bool last = keras_channels_last(c);
    int axis = first_side(c, x) + (last ? 2 : -1);
    if (!c->bad && (!tn_is_value(imp_type(x)->dim[axis], 3) || !tn_dtype_is_float(imp_type(x)->dtype)))
        imp_refuse(c, IMP_BAD_VALUE, "%s is no picture of three colours in floats",
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < 3 && !c->bad; i++) {
        tn_value part = imp_with(c, &tn_op_multiply, imp_slice(c, x, axis, i, i + 1), weight[i]);
        sum = i ? imp_binary(c, &tn_op_add, sum, part) : part;
    }
    if (!c->bad)
        keras_out(c, sum);
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_picture[] = {
    F("CropImages",     crop,      NULL),
    F("PadImages",      surround,  NULL),
    F("RGBToGrayscale", grayscale, NULL),
    END_OF_ROWS,
};
// clang-format on
