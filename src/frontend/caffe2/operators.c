/* Caffe2's operators, the table of their converters, and what the shared importer must know of Caffe2. Data have the
 * channels first (order NCHW). */
#include "frontend/caffe2/caffe2.h"

#include <math.h>
#include <string.h>

/* ---- filling of weights ---- */

static void given_fill(imp_node *c)
{
    bool real = strcmp(c->row->op, "GivenTensorFill") == 0;
    tn_dtype t = real ? TN_F32 : strcmp(c->row->op, "GivenTensorIntFill") == 0 ? TN_I32 : TN_I64;
    tn_ints shape = c2_ints(c, "shape");
    const imp_attr *v = imp_attr_find(c, "values", real ? IMP_A_FLOATS : IMP_A_INTS);
    size_t count, bytes, n = !v ? 0 : real ? v->floats.n : v->ints.n;
    if (!imp_measure(c->im, c->loc->node, shape.n, shape.at, t, c->loc, &count, &bytes)) {
        c->bad = true;
        return;
    }
    if (n != count) {
        imp_refuse(c, IMP_BAD_TENSOR, "there are %zu values for %zu elements; the net is damaged", n, count);
        return;
    }
    void *to;
    const tn_blob *b = tn_graph_blob(c->g, bytes, &to);
    for (size_t i = 0; i < count; i++)
        if (t.bits == 32 && real)
            ((float *)to)[i] = v->floats.at[i];
        else if (t.bits == 32)
            ((int32_t *)to)[i] = (int32_t)v->ints.at[i];
        else
            ((int64_t *)to)[i] = v->ints.at[i];
    imp_out(c, 0, tn_val(imp_constant(c->im, t, shape.n, shape.at, b, c->loc->node)));
}

bool c2_dtype(int64_t type, tn_dtype *out)
{
    static const struct {
        int type;
        tn_dtype t;
    } rows[] = {{1, {TN_FLOAT, 32, 1}},  {2, {TN_INT, 32, 1}},   {5, {TN_BOOL, 8, 1}}, {6, {TN_UINT, 8, 1}},
                {7, {TN_INT, 8, 1}},     {8, {TN_UINT, 16, 1}},  {9, {TN_INT, 16, 1}}, {10, {TN_INT, 64, 1}},
                {12, {TN_FLOAT, 16, 1}}, {13, {TN_FLOAT, 64, 1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) {
            *out = rows[i].t;
            return true;
        }
    return false;
}

static tn_dtype dtype_of(imp_node *c, const char *name, int64_t none)
{
    int64_t type = imp_attr_int(c, name, none);
    tn_dtype t = TN_F32;
    if (!c2_dtype(type, &t))
        imp_refuse(c, IMP_BAD_VALUE, "elements of type %lld are not supported", (long long)type);
    return t;
}

static void constant_fill(imp_node *c)
{
    tn_ints shape = c2_ints(c, "shape");
    double v = imp_attr_float(c, "value", 0);
    tn_dtype t = dtype_of(c, "dtype", 1);
    if (c->n_in || imp_attr_int(c, "input_as_shape", 0))
        imp_refuse(c, IMP_BAD_VALUE, "a shape that is an operand is not supported");
    tn_broadcast_to_attr to = {tn_make_dims(c->g, shape.n, shape.at)};
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &to, imp_const(c, t, v)));
}

/* ---- windows ---- */

static void need_channels_first(imp_node *c)
{
    const char *order = imp_attr_string(c, "order", "NCHW");
    if (strcmp(order, "NCHW") && *order)
        imp_refuse(c, IMP_BAD_VALUE, "order %s is not supported, only NCHW", order);
}

/* name, name_h and name_w, or a list names */
static void list(imp_node *c, const imp_layer *w, const char *name, int64_t least, int64_t out[])
{
    imp_layer_list(c, w, name, c2_ints(c, tn_arena_printf(c->arena, "%ss", name)), least, out);
    for (int i = 0; i < w->dims; i++) {
        out[i] = imp_attr_int(c, name, out[i]);
        if (w->dims == 2)
            out[i] = imp_attr_int(c, tn_arena_printf(c->arena, "%s_%c", name, i ? 'w' : 'h'), out[i]);
        if (!c->bad && (out[i] < least || out[i] > INT32_MAX))
            imp_refuse(c, IMP_BAD_VALUE, "%s is %lld", name, (long long)out[i]);
    }
}

static bool read_window(imp_node *c, tn_value x, imp_layer *w)
{
    static const char *const sides[] = {"pad_t", "pad_l", "pad_b", "pad_r"};
    if (!imp_layer_init(c, x, w))
        return false;
    tn_ints pads = c2_ints(c, "pads");
    int64_t pad = imp_attr_int(c, "pad", 0), legacy = imp_attr_int(c, "legacy_pad", 0);
    need_channels_first(c);
    list(c, w, "kernel", 1, w->kernel);
    list(c, w, "stride", 1, w->stride);
    list(c, w, "dilation", 1, w->dilation);
    w->ceil_mode = legacy == 3;
    if (legacy != 0 && legacy != 3)
        imp_refuse(c, IMP_BAD_VALUE, "legacy_pad %lld is not supported", (long long)legacy);
    if (pads.n && pads.n != 2 * (uint32_t)w->dims)
        imp_refuse(c, IMP_BAD_VALUE, "pads has %u entries, but the data has %d spatial dimensions",
                   (unsigned)pads.n, w->dims);
    for (int i = 0; i < w->dims && !c->bad; i++) {
        w->before[i] = pads.n ? pads.at[i] : pad;
        w->after[i] = pads.n ? pads.at[w->dims + i] : pad;
        if (w->dims == 2) {
            w->before[i] = imp_attr_int(c, sides[i], w->before[i]);
            w->after[i] = imp_attr_int(c, sides[2 + i], w->after[i]);
        }
        if (w->before[i] < 0 || w->after[i] < 0 || w->before[i] > INT32_MAX || w->after[i] > INT32_MAX)
            imp_refuse(c, IMP_BAD_VALUE, "a padding is negative or too large");
    }
    return !c->bad;
}

static void convolution(imp_node *c)
{
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = imp_opt(c, 2);
    imp_layer w;
    if (!read_window(c, x, &w))
        return;
    w.groups = imp_attr_int(c, "group", 1);
    if (strncmp(c->row->op, "ConvTranspose", 13) == 0) {
        list(c, &w, "adj", 0, w.more);
        imp_out(c, 0, imp_layer_conv_transpose(c, x, weight, bias, &w));
    } else {
        tn_value y = imp_layer_conv(c, x, weight, bias, &w);
        imp_out(c, 0, strcmp(c->row->op, "ConvRelu") ? y : imp_unary(c, &tn_op_nn_relu, y));
    }
}

/* The whole image: translators from Caffe leave a window of 0 beside it. */
static void pool_all(imp_node *c, tn_value x, bool most)
{
    static const char *const window[] = {
        "kernel",   "kernels",  "kernel_h", "kernel_w",  "stride",     "strides",
        "stride_h", "stride_w", "pad",      "pads",      "pad_t",      "pad_l",
        "pad_b",    "pad_r",    "dilation", "dilations", "legacy_pad", "count_include_pad"};
    imp_layer w;
    for (size_t i = 0; i < sizeof window / sizeof *window; i++)
        imp_attr_ignore(c, window[i]);
    need_channels_first(c);
    if (imp_layer_init(c, x, &w))
        imp_out(c, 0, imp_layer_global(c, most ? &tn_op_max : &tn_op_mean, x, true));
}

static void pooling(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool most = strncmp(c->row->op, "Max", 3) == 0;
    imp_layer w;
    if (imp_attr_int(c, "global_pooling", 0)) {
        pool_all(c, x, most);
        return;
    }
    if (!read_window(c, x, &w))
        return;
    w.count_include_pad = imp_attr_int(c, "count_include_pad", 0) != 0;
    if (w.ceil_mode && !most)
        w.count_include_pad = true; /* as Caffe */
    imp_out(c, 0, imp_layer_pool(c, most ? IMP_POOL_MAX : IMP_POOL_AVERAGE, x, &w));
}

static void pad_image(imp_node *c)
{
    static const char *const modes[][2] = {
        {"constant", "constant"}, {"reflect", "reflect"}, {"edge", "edge"}};
    tn_value x = imp_in(c, 0);
    const char *given = imp_attr_string(c, "mode", "constant"), *mode = NULL;
    double value = imp_attr_float(c, "value", 0);
    imp_layer w;
    if (!read_window(c, x, &w))
        return;
    for (int i = 0; i < 3; i++)
        mode = strcmp(given, modes[i][0]) == 0 ? modes[i][1] : mode;
    if (!mode || w.dims != 2) {
        imp_refuse(c, IMP_BAD_VALUE, "mode \"%s\" is not supported for %s", given,
                   imp_type_text(c, imp_type(x)));
        return;
    }
    const int64_t width[] = {0, 0, 0, 0, w.before[0], w.after[0], w.before[1], w.after[1]};
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 8, width), .pad_value = value, .pad_mode = mode};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_pad, &a, x));
}

/* Dimension `axis`, n long, scaled: element i is element i / by, rounded down. */
static tn_value scaled(imp_node *c, tn_value x, int axis, int64_t n, double by)
{
    enum { MAX_SIZE = 1 << 20 };
    int64_t size = (int64_t)((double)n * by), *at = NULL;
    if (c->bad || size > MAX_SIZE) {
        imp_refuse(c, IMP_OPERANDS, "dimension %d of %s is too long to be scaled by %g", axis,
                   imp_type_text(c, imp_type(x)), by);
        return x;
    }
    at = TN_NEW_N(c->arena, int64_t, (size_t)size + 1);
    for (int64_t i = 0; i < size; i++) {
        int64_t from = (int64_t)((float)i / (float)by);
        at[i] = from < n ? from : n - 1;
    }
    return imp_take(c, x, imp_const_ints(c, TN_I64, 1, (uint32_t)size, at), axis);
}

static void resize_nearest(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    double h = imp_attr_float(c, "height_scale", 1), w = imp_attr_float(c, "width_scale", 1);
    int64_t scale = imp_attr_int(c, "scale", 0), rows = 0, columns = 0;
    h = scale ? (double)scale : h;
    w = scale ? (double)scale : w;
    need_channels_first(c);
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[2], &rows) ||
                    !tn_is_int(imp_type(x)->dim[3], &columns) || !(h > 0 && h < 1024 && w > 0 && w < 1024)))
        imp_refuse(c, IMP_OPERANDS, "%s cannot be scaled by %g and %g", imp_type_text(c, imp_type(x)), h, w);
    if (c->bad)
        return;
    if (h == floor(h) && w == floor(w))
        imp_out(c, 0,
                imp_resize2d(c, x, tn_idx(c->pool, rows * (int64_t)h), tn_idx(c->pool, columns * (int64_t)w),
                             "nearest_neighbor", "asymmetric"));
    else /* asymmetric coordinates are by the quotient of the sizes, which are rounded */
        imp_out(c, 0, scaled(c, scaled(c, x, 2, rows, h), 3, columns, w));
}

/* ---- matrices ---- */

static void fully_connected(imp_node *c)
{
    tn_value x = imp_in(c, 0), w = imp_in(c, 1), b = imp_opt(c, 2);
    const tn_type *t = imp_type(x), *u = imp_type(w);
    const tn_expr *dim[IMP_MAX_RANK];
    int axis = imp_axis(c, imp_attr_int(c, "axis", 1), t->n);
    bool turned = strcmp(c->row->op, "FCTransposed") == 0;
    if (!c->bad && u->n != 2) /* more dimensions are one */
        w = imp_flatten(c, w, imp_axis(c, imp_attr_int(c, "axis_w", 1), u->n));
    imp_attr_ignore(c, "axis_w");
    w = turned ? imp_transposed(c, w) : w;
    tn_value flat = c->bad ? x : imp_flatten(c, x, axis), y = imp_layer_dense(c, flat, w, b);
    if (c->bad)
        return;
    memcpy(dim, t->dim, (size_t)axis * sizeof *dim);
    dim[axis] = imp_type(y)->dim[1];
    imp_out(c, 0, axis == 1 ? y : imp_reshape(c, y, axis + 1, dim));
}

static void matmul(imp_node *c)
{
    bool ta = imp_attr_int(c, "trans_a", 0) != 0, tb = imp_attr_int(c, "trans_b", 0) != 0;
    tn_value a = imp_transposed_if(c, imp_in(c, 0), ta), b = imp_transposed_if(c, imp_in(c, 1), tb);
    imp_out(c, 0, imp_matmul(c, a, b, NULL));
}

/* ---- elementwise ---- */

static void activation(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

static void with_alpha(imp_node *c)
{
    bool leaky = c->row->relay == &tn_op_nn_leaky_relu;
    tn_alpha_attr a = {imp_attr_float(c, "alpha", leaky ? 0.01F : 1)};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

static void prelu(imp_node *c)
{
    tn_value x = imp_in(c, 0), slope = imp_in(c, 1);
    need_channels_first(c);
    bool one = !c->bad && tn_is_value(imp_product(c, imp_type(slope), 0, imp_rank(slope)), 1);
    imp_out(c, 0, imp_binary(c, &tn_op_nn_prelu, x, one ? slope : imp_along(c, slope, 1, imp_rank(x))));
}

static void clip(imp_node *c)
{
    double least = imp_attr_float(c, "min", -3.4028234e38F), most = imp_attr_float(c, "max", 3.4028234e38F);
    imp_out(c, 0, imp_clip(c, imp_in(c, 0), least, most));
}

static void scale(imp_node *c)
{
    imp_out(c, 0, imp_with(c, &tn_op_multiply, imp_in(c, 0), imp_attr_float(c, "scale", 1)));
}

static void square(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, x, x));
}

/* The dimension that an operator names by its number, or by its letter. -1: none. */
static int64_t named_axis(imp_node *c, int rank)
{
    static const char order[] = "NCHW";
    int64_t axis = imp_attr_int(c, "axis", -1);
    const char *letter = imp_attr_string(c, "axis_str", ""), *at = *letter ? strchr(order, *letter) : NULL;
    if (*letter)
        need_channels_first(c);
    if (*letter && (!at || letter[1]))
        imp_refuse(c, IMP_BAD_VALUE, "axis_str \"%s\" is not one of N, C, H and W", letter);
    axis = at ? at - order : axis;
    if (!c->bad && (axis < -1 || axis >= rank))
        imp_refuse(c, IMP_BAD_VALUE, "axis %lld does not fit %d dimensions", (long long)axis, rank);
    return axis;
}

/* The second operand lies along dimension `axis` of the first and those that follow, if one is named. */
static void arithmetic(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = {0};
    int64_t axis = named_axis(c, imp_rank(a));
    const tn_expr *dim[IMP_MAX_RANK];
    imp_attr_ignore(c, "broadcast");
    if (c->row->relay == &tn_op_power && c->n_in == 1) {
        imp_out(c, 0, imp_with(c, &tn_op_power, a, imp_attr_float(c, "exponent", 1)));
        return;
    }
    b = imp_in(c, 1);
    int rank = imp_rank(a), n = imp_rank(b);
    if (axis >= 0 && !c->bad && axis + n > rank)
        imp_refuse(c, IMP_OPERANDS, "%s does not fit %s from dimension %lld on",
                   imp_type_text(c, imp_type(b)), imp_type_text(c, imp_type(a)), (long long)axis);
    if (axis >= 0 && !c->bad) {
        for (int i = 0; i < rank; i++)
            dim[i] = i >= axis && i < axis + n ? imp_type(b)->dim[i - axis] : tn_idx(c->pool, 1);
        b = imp_reshape(c, b, rank, dim);
    }
    imp_out(c, 0, imp_binary(c, c->row->relay, a, b));
}

static void merge(imp_node *c)
{
    tn_value y = imp_in(c, 0);
    for (uint32_t i = 1; i < imp_n_in(c); i++)
        y = imp_binary(c, c->row->relay, y, imp_in(c, i));
    if (strcmp(c->row->op, "Mean") == 0)
        y = imp_with(c, &tn_op_multiply, y, 1 / (double)(c->n_in ? c->n_in : 1));
    imp_out(c, 0, strcmp(c->row->op, "SumRelu") ? y : imp_unary(c, &tn_op_nn_relu, y));
}

static void identity(imp_node *c)
{
    imp_attr_ignore(c, "ratio");
    imp_out(c, 0, imp_in(c, 0));
}

static void cast(imp_node *c)
{
    imp_attr_ignore(c, "from_type");
    tn_dtype t = dtype_of(c, "to", 1);
    imp_out(c, 0, imp_cast(c, imp_in(c, 0), t));
}

/* ---- normalisation ---- */

static void spatial_bn(imp_node *c)
{
    static const uint32_t order[] = {0, 1, 2, 3, 4}; /* x scale bias mean variance */
    tn_value in[5];
    double eps = imp_attr_float(c, "epsilon", 1e-5F);
    need_channels_first(c);
    imp_attr_ignore(c, "momentum");
    for (int i = 0; i < 5; i++)
        in[i] = imp_in(c, order[i]);
    if (imp_has_attr(c, "is_test") && !imp_attr_int(c, "is_test", 1))
        imp_refuse(c, IMP_BAD_VALUE, "the net is for training (is_test is 0); export the one for prediction");
    imp_out(c, 0, imp_batch_norm(c, in, 1, eps));
}

static void instance_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0), g = imp_in(c, 1), b = imp_in(c, 2);
    int64_t axes[IMP_MAX_RANK];
    int rank = imp_rank(x);
    double eps = imp_attr_float(c, "epsilon", 1e-5F);
    need_channels_first(c);
    for (int i = 2; i < rank; i++)
        axes[i - 2] = i;
    tn_axes_attr a = {tn_ints_make(c->arena, rank > 2 ? (uint32_t)(rank - 2) : 0, axes), true, false};
    if (rank < 3)
        imp_refuse(c, IMP_OPERANDS, "data %s has no spatial dimensions", imp_type_text(c, imp_type(x)));
    tn_value d = imp_binary(c, &tn_op_subtract, x, imp_call1(c, &tn_op_mean, &a, x));
    tn_value v = imp_call1(c, &tn_op_mean, &a, imp_binary(c, &tn_op_multiply, d, d));
    tn_value y =
        imp_binary(c, &tn_op_multiply, d, imp_unary(c, &tn_op_rsqrt, imp_with(c, &tn_op_add, v, eps)));
    y = imp_binary(c, &tn_op_multiply, y, imp_along(c, g, 1, rank));
    imp_out(c, 0, imp_binary(c, &tn_op_add, y, imp_along(c, b, 1, rank)));
}

static void lrn(imp_node *c)
{
    tn_lrn_attr a = {.axis = 1,
                     .size = imp_attr_int(c, "size", 5),
                     .alpha = imp_attr_float(c, "alpha", 1e-4F),
                     .beta = imp_attr_float(c, "beta", 0.75F),
                     .bias = imp_attr_float(c, "bias", 1)};
    need_channels_first(c);
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, imp_in(c, 0)));
}

/* Over all dimensions from `axis` on, as one. */
static void softmax(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 1), imp_rank(x));
    if (c->bad)
        return;
    bool last = axis == imp_rank(x) - 1;
    tn_value y = imp_softmax(c, c->row->relay, last ? x : imp_flatten(c, x, axis), last ? axis : 1);
    imp_out(c, 0, last ? y : imp_reshape(c, y, imp_rank(x), imp_type(x)->dim));
}

/* ---- shapes ---- */

static void concat(imp_node *c)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    int64_t axis = imp_attr_int(c, "axis", 1);
    need_channels_first(c);
    for (uint32_t i = 0; i < imp_n_in(c); i++) {
        in[i] = imp_in(c, i);
        in[i] = imp_attr_int(c, "add_axis", 0) ? imp_unsqueeze(c, in[i], axis) : in[i];
    }
    imp_out(c, 0, c->n_in ? imp_concat(c, imp_n_in(c), in, axis) : imp_in(c, 0));
}

static void split(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 1), imp_rank(x));
    tn_ints sizes = c2_ints(c, "split");
    int64_t n = (int64_t)c->n_out, extent = 0, from = 0;
    need_channels_first(c);
    if (!c->bad && (!tn_is_int(imp_type(x)->dim[axis], &extent) || n < 1 ||
                    (sizes.n ? sizes.n != c->n_out : extent % n)))
        imp_refuse(c, IMP_OPERANDS, "%s cannot be cut into %lld parts", imp_type_text(c, imp_type(x)),
                   (long long)n);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        int64_t size = sizes.n ? sizes.at[i] : extent / n;
        if (size < 0 || size > extent - from)
            imp_refuse(c, IMP_BAD_VALUE, "a part has %lld elements of %lld", (long long)size,
                       (long long)extent);
        else
            imp_out(c, (uint32_t)i, imp_slice(c, x, axis, from, from + size));
        from += c->bad ? 0 : size;
    }
    if (!c->bad && from != extent)
        imp_refuse(c, IMP_BAD_VALUE, "its parts have %lld elements of %lld", (long long)from,
                   (long long)extent);
}

/* The second result, the old shape, has no use here. 0 keeps a dimension, -1 takes the rest. */
static void reshape(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints shape = imp_has(c, 1) ? imp_ints_in(c, imp_in(c, 1), "shape") : c2_ints(c, "shape");
    tn_reshape_attr a = {tn_make_dims(c->g, shape.n, shape.at), false};
    imp_out(c, 0, c->bad ? x : imp_reshape_to(c, x, &a));
}

static void flatten(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_expr *all = c->bad ? NULL : imp_product(c, imp_type(x), 0, imp_rank(x));
    int axis = imp_axis(c, imp_attr_int(c, "axis", 1), imp_rank(x));
    if (!c->bad)
        imp_out(c, 0, strcmp(c->row->op, "Flatten") ? imp_reshape(c, x, 1, &all) : imp_flatten(c, x, axis));
}

static void transpose(imp_node *c)
{
    tn_ints axes = c2_ints(c, "axes");
    tn_value x = imp_in(c, 0);
    tn_transpose_attr a = {axes};
    imp_out(c, 0, imp_call1(c, &tn_op_transpose, &a, x));
}

static void squeeze(imp_node *c)
{
    tn_squeeze_attr a = {c2_ints(c, "dims")};
    imp_out(c, 0, imp_call1(c, &tn_op_squeeze, &a, imp_in(c, 0)));
}

static void expand_dims(imp_node *c)
{
    tn_ints dims = c2_ints(c, "dims");
    tn_value x = imp_in(c, 0);
    for (uint32_t i = 0; i < dims.n && i < IMP_MAX_RANK; i++)
        x = imp_unsqueeze(c, x, dims.at[i]);
    imp_out(c, 0, x);
}

/* A number below 0 counts from behind the last element: -1 is the end. */
static int64_t from_end(int64_t i) { return i == -1 ? INT64_MAX : i < 0 ? i + 1 : i; }

static void slice(imp_node *c)
{
    tn_ints starts = c2_ints(c, "starts"), ends = c2_ints(c, "ends");
    tn_value x = imp_in(c, 0);
    if (starts.n != ends.n || (int)starts.n > imp_rank(x) || c->n_in > 1)
        imp_refuse(c, IMP_BAD_VALUE, "%u starts and %u ends do not fit %s", (unsigned)starts.n,
                   (unsigned)ends.n, imp_type_text(c, imp_type(x)));
    for (uint32_t i = 0; i < starts.n && !c->bad; i++)
        x = imp_slice(c, x, i, from_end(starts.at[i]), from_end(ends.at[i]));
    imp_out(c, 0, x);
}

static void reduce(imp_node *c)
{
    tn_axes_attr a = {c2_ints(c, "axes"), imp_attr_int(c, "keepdims", 1) != 0, false};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

static void arg_max(imp_node *c)
{
    tn_arg_attr a = {.axis = imp_attr_int(c, "axis", -1),
                     .keepdims = imp_attr_int(c, "keepdims", 1) != 0,
                     .dtype = TN_I64};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

static void channel_shuffle(imp_node *c)
{
    static const int64_t swap[] = {0, 2, 1, 3, 4};
    tn_value x = imp_in(c, 0);
    int64_t g = imp_attr_int(c, "group", 1), n = 0;
    imp_attr_ignore(c, "kernel");
    need_channels_first(c);
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[1], &n) || g < 1 || n % g))
        imp_refuse(c, IMP_BAD_VALUE, "%lld groups do not fit %s", (long long)g,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_expr *const *d = imp_type(x)->dim;
    const tn_expr *dim[5] = {d[0], tn_idx(c->pool, g), tn_idx(c->pool, n / g), d[2], d[3]};
    imp_out(c, 0, imp_reshape(c, imp_transpose(c, imp_reshape(c, x, 5, dim), 5, swap), 4, d));
}

/* How operators run has no bearing. */
static void ignore_hints(imp_node *c)
{
    static const char *const hints[] = {"exhaustive_search",
                                        "cudnn_exhaustive_search",
                                        "ws_nbytes_limit",
                                        "use_cudnn",
                                        "shared_buffer",
                                        "init_params",
                                        "float16_compute",
                                        "is_test",
                                        "convolution_transform_strategy",
                                        "no_bias",
                                        "deterministic",
                                        "use_gpu_engine"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        imp_attr_ignore(c, hints[i]);
}

// clang-format off
static const imp_row rows[] = {
    {"GivenTensorFill",      0, 0,  0, 1, given_fill,      NULL},
    {"GivenTensorIntFill",   0, 0,  0, 1, given_fill,      NULL},
    {"GivenTensorInt64Fill", 0, 0,  0, 1, given_fill,      NULL},
    {"ConstantFill",         0, 0,  1, 1, constant_fill,   NULL},
    {"Conv",                 0, 0,  3, 1, convolution,     NULL},
    {"ConvRelu",             0, 0,  3, 1, convolution,     NULL},
    {"ConvTranspose",        0, 0,  3, 1, convolution,     NULL},
    {"MaxPool",              0, 0,  1, 1, pooling,         NULL},
    {"AveragePool",          0, 0,  1, 1, pooling,         NULL},
    {"PadImage",             0, 0,  1, 1, pad_image,       NULL},
    {"ResizeNearest",        0, 0,  1, 1, resize_nearest,  NULL},
    {"UpsampleNearest",      0, 0,  1, 1, resize_nearest,  NULL},
    {"FC",                   0, 0,  3, 1, fully_connected, NULL},
    {"FCTransposed",         0, 0,  3, 1, fully_connected, NULL},
    {"MatMul",               0, 0,  2, 1, matmul,          NULL},
    {"BatchMatMul",          0, 0,  2, 1, matmul,          NULL},
    {"Relu",                 0, 0,  1, 1, activation,      &tn_op_nn_relu},
    {"Sigmoid",              0, 0,  1, 1, activation,      &tn_op_sigmoid},
    {"Tanh",                 0, 0,  1, 1, activation,      &tn_op_tanh},
    {"Exp",                  0, 0,  1, 1, activation,      &tn_op_exp},
    {"Log",                  0, 0,  1, 1, activation,      &tn_op_log},
    {"Sqrt",                 0, 0,  1, 1, activation,      &tn_op_sqrt},
    {"Rsqrt",                0, 0,  1, 1, activation,      &tn_op_rsqrt},
    {"Abs",                  0, 0,  1, 1, activation,      &tn_op_abs},
    {"Negative",             0, 0,  1, 1, activation,      &tn_op_negative},
    {"Floor",                0, 0,  1, 1, activation,      &tn_op_floor},
    {"Ceil",                 0, 0,  1, 1, activation,      &tn_op_ceil},
    {"Sin",                  0, 0,  1, 1, activation,      &tn_op_sin},
    {"Cos",                  0, 0,  1, 1, activation,      &tn_op_cos},
    {"Softplus",             0, 0,  1, 1, activation,      &tn_op_nn_softplus},
    {"Softsign",             0, 0,  1, 1, activation,      &tn_op_nn_softsign},
    {"Not",                  0, 0,  1, 1, activation,      &tn_op_logical_not},
    {"LeakyRelu",            0, 0,  1, 1, with_alpha,      &tn_op_nn_leaky_relu},
    {"Elu",                  0, 0,  1, 1, with_alpha,      &tn_op_nn_elu},
    {"PRelu",                0, 0,  2, 1, prelu,           NULL},
    {"Clip",                 0, 0,  1, 1, clip,            NULL},
    {"Scale",                0, 0,  1, 1, scale,           NULL},
    {"Sqr",                  0, 0,  1, 1, square,          NULL},
    {"Add",                  0, 0,  2, 1, arithmetic,      &tn_op_add},
    {"Sub",                  0, 0,  2, 1, arithmetic,      &tn_op_subtract},
    {"Mul",                  0, 0,  2, 1, arithmetic,      &tn_op_multiply},
    {"Div",                  0, 0,  2, 1, arithmetic,      &tn_op_divide},
    {"Pow",                  0, 0,  2, 1, arithmetic,      &tn_op_power},
    {"EQ",                   0, 0,  2, 1, arithmetic,      &tn_op_equal},
    {"LT",                   0, 0,  2, 1, arithmetic,      &tn_op_less},
    {"LE",                   0, 0,  2, 1, arithmetic,      &tn_op_less_equal},
    {"GT",                   0, 0,  2, 1, arithmetic,      &tn_op_greater},
    {"GE",                   0, 0,  2, 1, arithmetic,      &tn_op_greater_equal},
    {"And",                  0, 0,  2, 1, arithmetic,      &tn_op_logical_and},
    {"Or",                   0, 0,  2, 1, arithmetic,      &tn_op_logical_or},
    {"Sum",                  0, 0, -1, 1, merge,           &tn_op_add},
    {"SumRelu",              0, 0, -1, 1, merge,           &tn_op_add},
    {"Mean",                 0, 0, -1, 1, merge,           &tn_op_add},
    {"Max",                  0, 0, -1, 1, merge,           &tn_op_maximum},
    {"Min",                  0, 0, -1, 1, merge,           &tn_op_minimum},
    {"Dropout",              0, 0,  1, 1, identity,        NULL},
    {"Copy",                 0, 0,  1, 1, identity,        NULL},
    {"Alias",                0, 0,  1, 1, identity,        NULL},
    {"StopGradient",         0, 0,  1, 1, identity,        NULL},
    {"Cast",                 0, 0,  1, 1, cast,            NULL},
    {"SpatialBN",            0, 0,  5, 1, spatial_bn,      NULL},
    {"InstanceNorm",         0, 0,  3, 1, instance_norm,   NULL},
    {"LRN",                  0, 0,  1, 1, lrn,             NULL},
    {"Softmax",              0, 0,  1, 1, softmax,         &tn_op_nn_softmax},
    {"LogSoftmax",           0, 0,  1, 1, softmax,         &tn_op_nn_log_softmax},
    {"Concat",               0, 0, -1, 1, concat,          NULL},
    {"DepthConcat",          0, 0, -1, 1, concat,          NULL},
    {"Split",                0, 0,  1, -1, split,          NULL},
    {"Reshape",              0, 0,  2, 1, reshape,         NULL},
    {"Flatten",              0, 0,  1, 1, flatten,         NULL},
    {"FlattenToVec",         0, 0,  1, 1, flatten,         NULL},
    {"Transpose",            0, 0,  1, 1, transpose,       NULL},
    {"Squeeze",              0, 0,  1, 1, squeeze,         NULL},
    {"ExpandDims",           0, 0,  1, 1, expand_dims,     NULL},
    {"Slice",                0, 0,  3, 1, slice,           NULL},
    {"ReduceSum",            0, 0,  1, 1, reduce,          &tn_op_sum},
    {"ReduceMean",           0, 0,  1, 1, reduce,          &tn_op_mean},
    {"ReduceMax",            0, 0,  1, 1, reduce,          &tn_op_max},
    {"ReduceMin",            0, 0,  1, 1, reduce,          &tn_op_min},
    {"ArgMax",               0, 0,  1, 1, arg_max,         &tn_op_argmax},
    {"ArgMin",               0, 0,  1, 1, arg_max,         &tn_op_argmin},
    {"ChannelShuffle",       0, 0,  1, 1, channel_shuffle, NULL},
    {0},
};
// clang-format on
static const imp_table tables[] = {{NULL, rows}, {0}};

const imp_format c2_format = {
    .tables = tables,
    .check = ignore_hints,
    .id =
        {
            [IMP_NO_OUTPUTS] = "caffe2-E001",    [IMP_BAD_TENSOR] = "caffe2-E001",
            [IMP_UNKNOWN_NAME] = "caffe2-E001",  [IMP_NAME_TWICE] = "caffe2-E001",
            [IMP_BAD_FILE] = "caffe2-E002",      [IMP_UNKNOWN_OPERATOR] = "caffe2-E003",
            [IMP_OTHER_VERSION] = "caffe2-E003", [IMP_UNSUPPORTED_RESULT] = "caffe2-E003",
            [IMP_ATTR_TYPE] = "caffe2-E004",     [IMP_ATTR_MISSING] = "caffe2-E004",
            [IMP_ATTR_UNKNOWN] = "caffe2-E004",  [IMP_BAD_VALUE] = "caffe2-E004",
            [IMP_NOT_CONSTANT] = "caffe2-E005",  [IMP_OPERANDS] = "caffe2-E005",
            [IMP_TOO_LARGE] = "caffe2-E005",     [IMP_NO_TENSOR] = "caffe2-E006",
            [IMP_NO_INPUT] = "caffe2-E006",      [IMP_OTHER_RANK] = "caffe2-E006",
            [IMP_BAD_SIZES] = "caffe2-E006",     [IMP_SYMBOLS] = "caffe2-E006",
            [IMP_MEMORY] = "caffe2-E007",        [IMP_ERRORS] = "caffe2-E007",
        },
};
