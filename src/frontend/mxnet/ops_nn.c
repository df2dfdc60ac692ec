/* Layers of MXNet: convolution, pooling, matrices, resizing. */
#include "frontend/mxnet/mxnet.h"

#include "op/image/image.h"

#include <string.h>

/* ---- windows ---- */

/* Layouts other than channels first are transposed around the layer. */
typedef struct order {
    int n;
    int64_t to_first[IMP_MAX_RANK], back[IMP_MAX_RANK];
} order;

/* n 0: channels are first already. */
static order read_order(imp_node *c, int rank)
{
    static const char *const first[] = {"NCW", "NCHW", "NCDHW"}, *const last[] = {"NWC", "NHWC", "NDHWC"};
    const char *layout = mx_text(c, "layout", "");
    order o = {0};
    int dims = rank - 2;
    if (!*layout || dims < 1 || dims > IMP_MAX_SPATIAL || strcmp(layout, first[dims - 1]) == 0)
        return o;
    if (strcmp(layout, last[dims - 1]) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "attribute layout is \"%s\"; %s and %s are supported for this data",
                   layout, first[dims - 1], last[dims - 1]);
    o.n = rank;
    o.to_first[0] = o.back[0] = 0;
    o.to_first[1] = rank - 1;
    o.back[rank - 1] = 1;
    for (int i = 0; i < dims; i++) {
        o.to_first[2 + i] = 1 + i;
        o.back[1 + i] = 2 + i;
    }
    return o;
}

static tn_value reorder(imp_node *c, tn_value v, const order *o, const int64_t perm[])
{
    return o->n && imp_rank(v) == o->n ? imp_transpose(c, v, o->n, perm) : v;
}

static bool read_window(imp_node *c, tn_value x, imp_layer *w)
{
    tn_ints kernel, stride, dilate, pad;
    if (!imp_layer_init(c, x, w))
        return false;
    (void)mx_ints(c, "kernel", &kernel);
    (void)mx_ints(c, "stride", &stride);
    (void)mx_ints(c, "dilate", &dilate);
    (void)mx_ints(c, "pad", &pad);
    imp_layer_list(c, w, "kernel", kernel, 1, w->kernel);
    imp_layer_list(c, w, "stride", stride, 1, w->stride);
    imp_layer_list(c, w, "dilate", dilate, 1, w->dilation);
    if (pad.n == 2 * (uint32_t)w->dims && pad.n > 2) { /* NNVM: before each dimension, then after each */
        imp_layer_list(c, w, "pad", (tn_ints){pad.n / 2, pad.at}, 0, w->before);
        imp_layer_list(c, w, "pad", (tn_ints){pad.n / 2, pad.at + pad.n / 2}, 0, w->after);
    } else {
        imp_layer_list(c, w, "pad", pad, 0, w->before);
        memcpy(w->after, w->before, sizeof w->after);
    }
    w->groups = mx_int(c, "num_group", 1);
    return !c->bad;
}

static tn_value bias_in(imp_node *c, uint32_t i, bool none)
{
    return mx_bool(c, "no_bias", none) ? (tn_value){0} : imp_in(c, i);
}

/* The weight as OIHW. MXNet's lies as the data does; NNVM says how. */
static tn_value first_weight(imp_node *c, tn_value weight, const order *o)
{
    static const char *const layouts[] = {"OIHW", "HWIO", "OHWI", NULL};
    static const int64_t perm[][4] = {{0, 1, 2, 3}, {3, 2, 0, 1}, {0, 3, 1, 2}};
    if (!imp_has_attr(c, "kernel_layout"))
        return reorder(c, weight, o, o->to_first);
    int layout = mx_choice(c, "kernel_layout", 0, layouts);
    return layout && imp_rank(weight) == 4 ? imp_transpose(c, weight, 4, perm[layout]) : weight;
}

tn_value mx_convolve(imp_node *c, tn_value x, tn_value weight, tn_value bias)
{
    imp_layer w;
    order o = read_order(c, imp_rank(x));
    imp_attr_ignore(c, "num_filter");
    x = reorder(c, x, &o, o.to_first);
    weight = first_weight(c, weight, &o);
    return read_window(c, x, &w) ? reorder(c, imp_layer_conv(c, x, weight, bias, &w), &o, o.back)
                                 : (tn_value){0};
}

static void convolution(imp_node *c)
{
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = bias_in(c, 2, false);
    imp_out(c, 0, mx_convolve(c, x, weight, bias));
}

/* target_shape says the result's extents: what is too much is cut off, one more before than after where it is odd. */
static void aim(imp_node *c, tn_value x, imp_layer *w)
{
    tn_ints target, adj;
    bool given = mx_ints(c, "target_shape", &target);
    (void)mx_ints(c, "adj", &adj);
    imp_layer_list(c, w, "adj", adj, 0, w->more);
    for (uint32_t i = 0; given && i < target.n; i++)
        given = target.at[i] > 0;
    int64_t size[IMP_MAX_SPATIAL] = {0}, in;
    if (!given || !target.n)
        return;
    imp_layer_list(c, w, "target_shape", target, 1, size);
    for (int i = 0; i < w->dims && !c->bad; i++) {
        if (!tn_is_int(imp_type(x)->dim[2 + i], &in)) {
            imp_refuse(c, IMP_OPERANDS, "target_shape needs data with fixed extents, but it is %s",
                       imp_type_text(c, imp_type(x)));
            return;
        }
        int64_t over = w->stride[i] * (in - 1) + w->dilation[i] * (w->kernel[i] - 1) + 1 - size[i];
        if (over < 0)
            imp_refuse(c, IMP_BAD_VALUE, "target_shape is larger than the result without padding");
        w->more[i] = over & 1;
        w->before[i] = w->after[i] = (over + 1) / 2;
    }
}

static void deconvolution(imp_node *c)
{
    imp_layer w;
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = bias_in(c, 2, true);
    order o = read_order(c, imp_rank(x));
    imp_attr_ignore(c, "num_filter");
    x = reorder(c, x, &o, o.to_first);
    weight = reorder(c, weight, &o, o.to_first);
    if (!read_window(c, x, &w))
        return;
    aim(c, x, &w);
    imp_out(c, 0, reorder(c, imp_layer_conv_transpose(c, x, weight, bias, &w), &o, o.back));
}

/* ---- pooling ---- */

/* "full": a last, partial window counts, even one that begins in the padding, which we do not have. */
static void check_full(imp_node *c, tn_value x, const imp_layer *w)
{
    for (int i = 0; i < w->dims; i++) {
        int64_t in, k = w->kernel[i], s = w->stride[i], p = w->before[i];
        bool known = tn_is_int(imp_type(x)->dim[2 + i], &in);
        if (known && in + 2 * p >= k && (in + 2 * p - k + s - 1) / s * s >= in + p)
            imp_refuse(
                c, IMP_BAD_VALUE,
                "a window along dimension %d lies in the padding alone, where MXNet's result is not defined",
                2 + i);
    }
}

/* The padding as elements of value 0; whole: so many that no window is partial. */
static tn_value padded(imp_node *c, tn_value x, imp_layer *w, bool whole)
{
    int64_t width[2 * IMP_MAX_RANK] = {0};
    for (int i = 0; i < w->dims; i++) {
        width[4 + 2 * i] = w->before[i];
        width[5 + 2 * i] = w->after[i] + (whole && w->ceil_mode ? w->stride[i] - 1 : 0);
        w->before[i] = w->after[i] = 0;
    }
    w->ceil_mode = w->ceil_mode && !whole;
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 2 * (uint32_t)imp_rank(x), width),
                     .pad_mode = "constant"};
    return imp_call1(c, &tn_op_nn_pad, &a, x);
}

/* To Pooling_v1 the padding is zeros, also for the largest of a window, and each window has as many elements. */
static tn_value pool_with(imp_node *c, tn_value x, int type, imp_layer *w)
{
    enum { MAX, AVG, SUM };
    bool zeros = strcmp(c->row->op, "Pooling_v1") == 0;
    int64_t area = 1;
    if (type == MAX)
        return imp_layer_pool(c, IMP_POOL_MAX, zeros ? padded(c, x, w, false) : x, w);
    if (type == SUM || zeros)
        x = padded(c, x, w, true);
    for (int i = 0; i < w->dims; i++)
        area *= w->kernel[i];
    tn_value y = imp_layer_pool(c, IMP_POOL_AVERAGE, x, w);
    return type == SUM ? imp_with(c, &tn_op_multiply, y, (double)area) : y;
}

tn_value mx_pool(imp_node *c, tn_value x)
{
    static const char *const types[] = {"max", "avg", "sum", NULL}, *const ends[] = {"valid", "full", NULL};
    static const tn_op *const global[] = {&tn_op_max, &tn_op_mean, &tn_op_sum};
    imp_layer w;
    order o = read_order(c, imp_rank(x));
    x = reorder(c, x, &o, o.to_first);
    int type = mx_choice(c, "pool_type", 0, types);
    bool whole = mx_bool(c, "global_pool", false);
    imp_attr_ignore(c, "p_value");
    if (!read_window(c, x, &w))
        return (tn_value){0};
    w.ceil_mode = mx_choice(c, "pooling_convention", 0, ends) == 1;
    w.count_include_pad = mx_bool(c, "count_include_pad", true);
    if (w.ceil_mode && !whole)
        check_full(c, x, &w);
    tn_value y = whole ? imp_layer_global(c, global[type], x, true) : pool_with(c, x, type, &w);
    return reorder(c, y, &o, o.back);
}

static void pooling(imp_node *c) { imp_out(c, 0, mx_pool(c, imp_in(c, 0))); }

/* x over its last axis by rows of weights, each the mean of some elements: cell i of n has those from floor(i e / n) to
 * ceil((i + 1) e / n) of e. */
static tn_value mean_cells(imp_node *c, tn_value x, int64_t cells)
{
    int64_t extent;
    int rank = imp_rank(x);
    if (c->bad || !tn_is_int(imp_type(x)->dim[rank - 1], &extent) || cells < 1 || extent < 1 ||
        cells > INT32_MAX / extent) {
        imp_refuse(c, IMP_OPERANDS, "data %s must have fixed extents", imp_type_text(c, imp_type(x)));
        return (tn_value){0};
    }
    float *at = TN_NEW_N(c->arena, float, (size_t)(cells * extent));
    for (int64_t i = 0; i < cells; i++) {
        int64_t from = i * extent / cells, to = ((i + 1) * extent + cells - 1) / cells;
        for (int64_t k = from; k < to; k++)
            at[i * extent + k] = 1 / (float)(to - from);
    }
    int64_t dim[2] = {cells, extent};
    return imp_layer_dense(c, x, tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 2, dim, at, NULL)),
                           (tn_value){0});
}

static void adaptive_avg_pool(imp_node *c)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    tn_ints size;
    tn_value x = imp_in(c, 0);
    int64_t cells[2] = {1, 1};
    if (mx_ints(c, "output_size", &size) && size.n) {
        cells[0] = size.at[0];
        cells[1] = size.at[size.n > 1];
    }
    if (!c->bad && imp_rank(x) != 4)
        imp_refuse(c, IMP_OPERANDS, "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    if (cells[0] == 1 && cells[1] == 1) {
        imp_out(c, 0, imp_layer_global(c, &tn_op_mean, x, true));
        return;
    }
    tn_value rows = imp_transpose(c, mean_cells(c, x, cells[1]), 4, turned);
    imp_out(c, 0, imp_transpose(c, mean_cells(c, rows, cells[0]), 4, turned));
}

/* ---- matrices ---- */

tn_value mx_connect(imp_node *c, tn_value x, tn_value weight, tn_value bias)
{
    imp_attr_ignore(c, "num_hidden");
    if (mx_bool(c, "flatten", true))
        x = imp_flatten(c, x, 1);
    return imp_layer_dense(c, x, weight, bias);
}

static void fully_connected(imp_node *c)
{
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = bias_in(c, 2, false);
    imp_out(c, 0, mx_connect(c, x, weight, bias));
}

/* A matrix with what comes last, or first, as one dimension. */
static tn_value turned(imp_node *c, tn_value v)
{
    static const int64_t swap[] = {1, 0};
    return imp_transpose(c, v, 2, swap);
}

/* The last axis of a with the first of b; least: how many dimensions the result has at least. */
static void contract(imp_node *c, tn_value a, tn_value b, int least)
{
    const tn_expr *dim[2 * IMP_MAX_RANK];
    int n = 0;
    const tn_type *s = imp_type(a), *t = imp_type(b);
    if (!c->bad && (s->n < 1 || t->n < 1 || s->n + t->n - 2 > IMP_MAX_RANK))
        imp_refuse(c, IMP_OPERANDS, "operands %s and %s do not fit", imp_type_text(c, s),
                   imp_type_text(c, t));
    if (c->bad)
        return;
    for (int i = 0; i < s->n - 1; i++)
        dim[n++] = s->dim[i];
    for (int i = 1; i < t->n; i++)
        dim[n++] = t->dim[i];
    tn_value rows = imp_flatten(c, a, s->n - 1), columns = turned(c, imp_flatten(c, b, 1));
    tn_value y = imp_layer_dense(c, rows, columns, (tn_value){0});
    while (n < least)
        dim[n++] = tn_idx(c->pool, 1);
    imp_out(c, 0, n == 2 && s->n == 2 ? y : imp_reshape(c, y, n, dim));
}

/* After the axes were reversed as the node says. */
static void dot(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    bool ta = mx_bool(c, "transpose_a", false), tb = mx_bool(c, "transpose_b", false);
    imp_attr_ignore(c, "forward_stype");
    a = ta && imp_rank(a) > 1 ? imp_unary(c, &tn_op_transpose, a) : a;
    b = tb && imp_rank(b) > 1 ? imp_unary(c, &tn_op_transpose, b) : b;
    contract(c, a, b, 1);
}

/* NumPy's: the last axis of a with the last but one of b. */
static void np_dot(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    int64_t perm[IMP_MAX_RANK];
    int n = imp_rank(b);
    if (!c->bad && (n == 0 || imp_rank(a) == 0)) {
        imp_out(c, 0, imp_binary(c, &tn_op_multiply, a, b));
        return;
    }
    for (int i = 0; i < n; i++)
        perm[i] = i == 0 ? n - 2 : i < n - 1 ? i - 1 : i;
    contract(c, a, n > 2 ? imp_transpose(c, b, n, perm) : b, 0);
}

/* Matrices over leading dimensions, which become one. */
static tn_value matrices(imp_node *c, tn_value v)
{
    const tn_type *t = imp_type(v);
    if (c->bad || t->n == 3)
        return v;
    if (t->n < 2) {
        imp_refuse(c, IMP_OPERANDS, "operand %s is not a matrix", imp_type_text(c, t));
        return v;
    }
    const tn_expr *dim[3] = {imp_product(c, t, 0, t->n - 2), t->dim[t->n - 2], t->dim[t->n - 1]};
    return imp_reshape(c, v, 3, dim);
}

static tn_value batch_product(imp_node *c, tn_value a, tn_value b, bool ta, bool tb)
{
    tn_matmul_attr m;
    const tn_type *t = imp_type(a);
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad || tn_attr_init(c->pool, tn_op_nn_batch_matmul.attr, sizeof m, &m) != TN_OK)
        return (tn_value){0};
    m.transpose_a = ta;
    m.transpose_b = tb;
    tn_value p = matrices(c, a), q = matrices(c, b);
    tn_value y = imp_call2(c, &tn_op_nn_batch_matmul, &m, p, q);
    if (c->bad || t->n == 3)
        return y;
    for (int i = 0; i < t->n; i++)
        dim[i] = i < t->n - 2 ? t->dim[i] : imp_type(y)->dim[i - t->n + 3];
    return imp_reshape(c, y, t->n, dim);
}

static void batch_dot(imp_node *c)
{
    imp_attr_ignore(c, "forward_stype");
    imp_out(c, 0,
            batch_product(c, imp_in(c, 0), imp_in(c, 1), mx_bool(c, "transpose_a", false),
                          mx_bool(c, "transpose_b", false)));
}

static void gemm2(imp_node *c)
{
    double alpha = mx_float(c, "alpha", 1), beta = mx_float(c, "beta", 1);
    bool third = c->row->max_in > 2;
    if (mx_int(c, "axis", -2) != -2)
        imp_refuse(c, IMP_BAD_VALUE, "attribute axis must be -2");
    tn_value y = batch_product(c, imp_in(c, 0), imp_in(c, 1), mx_bool(c, "transpose_a", false),
                               mx_bool(c, "transpose_b", false));
    y = alpha == 1 ? y : imp_with(c, &tn_op_multiply, y, alpha);
    imp_out(c, 0, third ? imp_binary(c, &tn_op_add, y, imp_with(c, &tn_op_multiply, imp_in(c, 2), beta)) : y);
}

/* ---- resizing ---- */

static const tn_expr *times(imp_node *c, const tn_expr *e, int64_t k)
{
    return imp_simplify(c, tn_mul(c->pool, e, tn_idx(c->pool, k)));
}

static bool is_image(imp_node *c, tn_value x)
{
    if (!c->bad && imp_rank(x) != 4)
        imp_refuse(c, IMP_OPERANDS, "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    return !c->bad;
}

/* A transposed convolution of each channel with the weight that is an operand. */
static tn_value upsample_linear(imp_node *c, tn_value x, int64_t scale)
{
    imp_layer w;
    int64_t channels;
    if (!imp_layer_init(c, x, &w) || !tn_is_int(imp_type(x)->dim[1], &channels))
        return (tn_value){0};
    w.groups = channels;
    for (int i = 0; i < 2; i++) {
        w.stride[i] = scale;
        w.kernel[i] = 2 * scale - scale % 2;
        w.before[i] = w.after[i] = scale / 2;
    }
    return imp_layer_conv_transpose(c, x, imp_in(c, 1), (tn_value){0}, &w);
}

static void upsampling(imp_node *c)
{
    static const char *const types[] = {"nearest", "bilinear", NULL}, *const modes[] = {"concat", "sum",
                                                                                        NULL};
    int64_t scale = mx_int(c, "scale", 1);
    tn_value x = imp_in(c, 0), *part = TN_NEW_N(c->arena, tn_value, c->n_in);
    int type = mx_choice(c, "sample_type", 0, types), mode = mx_choice(c, "multi_input_mode", 0, modes);
    imp_attr_ignore(c, "num_filter");
    if (scale < 1 || scale > 1 << 16)
        imp_refuse(c, IMP_BAD_VALUE, "attribute scale is %lld, but must be at least 1", (long long)scale);
    if (!is_image(c, x))
        return;
    if (type == 1) {
        imp_out(c, 0, upsample_linear(c, x, scale));
        return;
    }
    const tn_expr *h = times(c, imp_type(x)->dim[2], scale), *w = times(c, imp_type(x)->dim[3], scale);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        part[i] = imp_resize2d(c, imp_in(c, i), h, w, "nearest_neighbor", "asymmetric");
    for (uint32_t i = 1; i < imp_n_in(c) && mode == 1; i++)
        part[0] = imp_binary(c, &tn_op_add, part[0], part[i]);
    imp_out(c, 0, imp_concat(c, mode == 1 ? 1 : imp_n_in(c), part, 1));
}

static void bilinear_resize(imp_node *c)
{
    static const char *const modes[] = {"size", "like", NULL};
    tn_value x = imp_in(c, 0);
    int mode = mx_choice(c, "mode", 0, modes);
    int64_t size[2] = {mx_int(c, "height", 1), mx_int(c, "width", 1)}, in;
    const tn_expr *to[2];
    if (!is_image(c, x) || (mode == 1 && !is_image(c, imp_in(c, 1))))
        return;
    for (int i = 0; i < 2; i++) {
        double scale = mx_float(c, i ? "scale_width" : "scale_height", 0);
        to[i] = tn_idx(c->pool, size[i]);
        if (mode == 1)
            to[i] = imp_type(imp_in(c, 1))->dim[2 + i];
        else if (scale > 0 && tn_is_int(imp_type(x)->dim[2 + i], &in))
            to[i] = tn_idx(c->pool, (int64_t)((double)in * scale));
        else if (scale > 0)
            imp_refuse(c, IMP_OPERANDS, "scales need data of fixed extents, but it is %s",
                       imp_type_text(c, imp_type(x)));
    }
    imp_out(c, 0,
            imp_resize2d(c, x, to[0], to[1], "linear",
                         mx_bool(c, "align_corners", true) ? "align_corners" : "half_pixel"));
}

// clang-format off
const imp_row mx_rows_nn[] = {
    {"Convolution",                  0, 0, 3, 1, convolution,       NULL},
    {"Convolution_v1",               0, 0, 3, 1, convolution,       NULL},
    {"_npx_convolution",             0, 0, 3, 1, convolution,       NULL},
    {"Deconvolution",                0, 0, 3, 1, deconvolution,     NULL},
    {"_npx_deconvolution",           0, 0, 3, 1, deconvolution,     NULL},
    {"Pooling",                      0, 0, 1, 1, pooling,           NULL},
    {"Pooling_v1",                   0, 0, 1, 1, pooling,           NULL},
    {"_npx_pooling",                 0, 0, 1, 1, pooling,           NULL},
    {"_contrib_AdaptiveAvgPooling2D", 0, 0, 1, 1, adaptive_avg_pool, NULL},
    {"FullyConnected",               0, 0, 3, 1, fully_connected,   NULL},
    {"_npx_fully_connected",         0, 0, 3, 1, fully_connected,   NULL},
    {"dot",                          0, 0, 2, 1, dot,               NULL},
    {"_np_dot",                      0, 0, 2, 1, np_dot,            NULL},
    {"batch_dot",                    0, 0, 2, 1, batch_dot,         NULL},
    {"_npx_batch_dot",               0, 0, 2, 1, batch_dot,         NULL},
    {"_linalg_gemm2",                0, 0, 2, 1, gemm2,             NULL},
    {"linalg_gemm2",                 0, 0, 2, 1, gemm2,             NULL},
    {"_linalg_gemm",                 0, 0, 3, 1, gemm2,             NULL},
    {"UpSampling",                   0, 0, -1, 1, upsampling,       NULL},
    {"_contrib_BilinearResize2D",    0, 0, 2, 1, bilinear_resize,   NULL},
    {0},
};
// clang-format on
