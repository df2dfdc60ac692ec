/* Custom operators of MediaPipe. Their options are the structs of TFLite's C API: 32-bit numbers in a row. */
#include "frontend/tflite/tflite.h"

#include "frontend/import/window.h"
#include "op/nn/nn.h"

#include <math.h>

static bool read_options(imp_node *c, uint32_t n, int64_t out[])
{
    const tfl_node *t = c->origin;
    tn_flat_vector how = tn_flat_list(&t->op, 5, 1);
    if (how.n < 4 * (size_t)n)
        imp_refuse(c, IMP_BAD_VALUE, "its options are damaged; export the model again");
    for (uint32_t i = 0; i < n && !c->bad; i++) {
        const uint8_t *at = how.buf->at + how.at + 4 * (size_t)i;
        out[i] =
            (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
    }
    return !c->bad;
}

/* ---- Convolution2DTransposeBias ---- */

/* Data, weight, bias; the options are three int32: padding (1 SAME, 2 VALID), columns and rows to step. */
static void transposed_with_bias(imp_node *c)
{
    imp_window w;
    int64_t more[2] = {0}, how[3];
    const tn_expr *size[2];
    tn_value x = tfl_real(c, 0), weight = imp_reorder(c, tfl_real(c, 1), "OHWI", "IOHW");
    if (!read_options(c, 3, how) || !imp_window_init(c, x, true, &w))
        return;
    if (w.dims != 2 || how[1] < 1 || how[2] < 1) {
        imp_refuse(c, IMP_BAD_VALUE, "its options are damaged; export the model again");
        return;
    }
    w.stride[0] = how[2];
    w.stride[1] = how[1];
    if (!imp_window_of_weight(c, weight, &w))
        return;
    for (int i = 0; i < 2; i++) {
        const tn_expr *in = imp_window_extent(x, &w, i);
        size[i] = tn_mul(c->pool, in, tn_idx(c->pool, w.stride[i]));
        if (how[0] != 1) /* VALID */
            size[i] = tn_add(c->pool, size[i], tn_idx(c->pool, w.kernel[i] - w.stride[i]));
    }
    imp_pad_output(c, x, &w, size, false, more);
    tn_value v = imp_conv_transpose(c, x, weight, &w, more, 1);
    imp_out(c, 0, imp_bias(c, v, tfl_real(c, 2), true));
}

/* ---- MaxPoolingWithArgmax2D, MaxUnpooling2D ---- */

/* Windows beside each other: padding, columns and rows to step, columns and rows of a window, activation. */
typedef struct cells {
    int64_t rows, columns, activation;
} cells;

static bool read_cells(imp_node *c, tn_value x, cells *out)
{
    int64_t how[6];
    if (!read_options(c, 6, how))
        return false;
    *out = (cells){how[4], how[3], how[5]};
    if (out->rows < 1 || out->columns < 1 || out->rows * out->columns > 1 << 16)
        imp_refuse(c, IMP_BAD_VALUE, "its options are damaged; export the model again");
    else if (how[1] != out->columns || how[2] != out->rows)
        imp_refuse(
            c, IMP_BAD_VALUE,
            "windows of %lld x %lld at steps of %lld x %lld are not supported, only such beside each other",
            (long long)out->rows, (long long)out->columns, (long long)how[2], (long long)how[1]);
    else if (!c->bad && imp_rank(x) != 4)
        imp_refuse(c, IMP_OPERANDS, "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    return !c->bad;
}

/* [n,rows h,columns w,c] as [n,h,w,rows * columns,c] */
static tn_value to_cells(imp_node *c, tn_value x, const cells *k)
{
    static const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    const tn_expr *const *d = imp_type(x)->dim;
    int64_t h, w;
    if (!tn_is_int(d[1], &h) || !tn_is_int(d[2], &w) || h % k->rows || w % k->columns) {
        imp_refuse(c, IMP_TOO_LARGE, "data %s must be whole windows of %lld x %lld",
                   imp_type_text(c, imp_type(x)), (long long)k->rows, (long long)k->columns);
        return (tn_value){0};
    }
    const tn_expr *high = tn_idx(c->pool, h / k->rows), *wide = tn_idx(c->pool, w / k->columns);
    const tn_expr *parts[] = {d[0], high, tn_idx(c->pool, k->rows), wide, tn_idx(c->pool, k->columns), d[3]};
    const tn_expr *joined[] = {d[0], high, wide, tn_idx(c->pool, k->rows * k->columns), d[3]};
    return imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 6, parts), 6, perm), 5, joined);
}

static tn_value activated(imp_node *c, tn_value v, int64_t activation)
{
    enum { NONE, RELU, RELU_N1_TO_1, RELU6 };
    if (activation == NONE)
        return v;
    if (activation < NONE || activation > RELU6)
        imp_refuse(c, IMP_BAD_VALUE,
                   "activation %lld is not one of a pooling operator; export the model again",
                   (long long)activation);
    tn_clip_attr a = {activation == RELU_N1_TO_1 ? -1 : 0, activation == RELU    ? INFINITY
                                                           : activation == RELU6 ? 6
                                                                                 : 1};
    return activation == RELU ? imp_unary(c, &tn_op_nn_relu, v) : imp_call1(c, &tn_op_clip, &a, v);
}

/* The second result says where in its window the largest element is, as a float with 0.1 added. */
static void max_with_argmax(imp_node *c)
{
    cells k;
    tn_value x = tfl_real(c, 0);
    tn_axes_attr one = {.axis = tn_ints_make(c->arena, 1, (const int64_t[]){3})};
    tn_arg_attr arg = {.axis = 3, .dtype = TN_I64};
    if (!read_cells(c, x, &k))
        return;
    x = to_cells(c, x, &k);
    imp_out(c, 0, activated(c, imp_call1(c, &tn_op_max, &one, x), k.activation));
    if (imp_wants(c, 1)) {
        tn_value at = imp_cast(c, imp_call1(c, &tn_op_argmax, &arg, x), TN_F32);
        imp_out(c, 1, imp_with(c, &tn_op_add, at, 0.1));
    }
}

/* Each element goes to its place in its window, the others are 0; a place outside of the window is none. */
static void max_unpooling(imp_node *c)
{
    static const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    cells k;
    tn_value x = tfl_real(c, 0), at = imp_cast(c, tfl_real(c, 1), TN_I64);
    if (!read_cells(c, x, &k))
        return;
    const tn_expr *const *d = imp_type(x)->dim;
    int64_t count = k.rows * k.columns;
    const tn_expr *line[] = {tn_idx(c->pool, count), tn_idx(c->pool, 1)};
    tn_value places = imp_reshape(c, imp_count_up(c, tn_idx(c->pool, count)), 2, line);
    tn_value is = imp_binary(c, &tn_op_equal, imp_unsqueeze(c, at, 3), places);
    tn_value one = imp_unsqueeze(c, x, 3), zero = imp_const(c, imp_type(x)->dtype, 0);
    tn_value v = imp_choose(c, is, one, zero);
    const tn_expr *parts[] = {d[0], d[1], d[2], tn_idx(c->pool, k.rows), tn_idx(c->pool, k.columns), d[3]};
    const tn_expr *high = imp_simplify(c, tn_mul(c->pool, d[1], parts[3]));
    const tn_expr *wide = imp_simplify(c, tn_mul(c->pool, d[2], parts[4]));
    const tn_expr *joined[] = {d[0], high, wide, d[3]};
    v = imp_transpose(c, imp_reshape(c, v, 6, parts), 6, perm);
    imp_out(c, 0, imp_reshape(c, v, 4, joined));
}

// clang-format off
const imp_row tfl_rows_custom[] = {
    {"Convolution2DTransposeBias", 1, 0, 3, 1, transposed_with_bias, NULL},
    {"MaxPoolingWithArgmax2D",     1, 0, 1, 2, max_with_argmax,      NULL},
    {"MaxUnpooling2D",             1, 0, 2, 1, max_unpooling,        NULL},
    {0},
};
// clang-format on
