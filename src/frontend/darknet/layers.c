/* Darknet's layers, the table of their converters, and what the shared importer must know of Darknet. */
#include "frontend/darknet/darknet.h"

#include "op/image/image.h"

#include <string.h>

static int64_t channels(imp_node *c, tn_value x)
{
    int64_t n = 1;
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[1], &n)))
        imp_refuse(c, IMP_OPERANDS, "the layer needs images, but gets %s", imp_type_text(c, imp_type(x)));
    return n;
}

/* ---- activations ---- */

static tn_value leaky(imp_node *c, tn_value x, double slope)
{
    tn_alpha_attr a = {slope};
    return imp_call1(c, &tn_op_nn_leaky_relu, &a, x);
}

static tn_value limited(imp_node *c, tn_value x, double low, double high)
{
    tn_clip_attr a = {low, high};
    return imp_call1(c, &tn_op_clip, &a, x);
}

/* Those without an operator of their own. */
static tn_value formula(imp_node *c, tn_value x, const char *name)
{
    tn_alpha_attr one = {1};
    if (strcmp(name, "leaky") == 0)
        return leaky(c, x, 0.1);
    if (strcmp(name, "relie") == 0)
        return leaky(c, x, 0.01);
    if (strcmp(name, "relu6") == 0)
        return limited(c, x, 0, 6);
    if (strcmp(name, "hardtan") == 0)
        return limited(c, x, -1, 1);
    if (strcmp(name, "ramp") == 0) {
        tn_value some = imp_with(c, &tn_op_multiply, x, 0.1);
        return imp_binary(c, &tn_op_add, imp_unary(c, &tn_op_nn_relu, x), some);
    }
    if (strcmp(name, "elu") == 0)
        return imp_call1(c, &tn_op_nn_elu, &one, x);
    if (strcmp(name, "swish") == 0)
        return imp_call1(c, &tn_op_nn_swish, &one, x);
    if (strcmp(name, "loggy") == 0)
        return imp_with(c, &tn_op_subtract, imp_with(c, &tn_op_multiply, imp_unary(c, &tn_op_sigmoid, x), 2),
                        1);
    imp_refuse(c, IMP_BAD_VALUE, "activation \"%s\" is not supported", name);
    return x;
}

tn_value dk_activate(imp_node *c, tn_value x, const char *def)
{
    static const struct {
        const char *name;
        const tn_op *op;
    } rows[] = {{"logistic", &tn_op_sigmoid},
                {"relu", &tn_op_nn_relu},
                {"tanh", &tn_op_tanh},
                {"mish", &tn_op_nn_mish},
                {"gelu", &tn_op_nn_gelu_tanh}};
    const char *name = dk_text(c, "activation", def);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return imp_unary(c, rows[i].op, x);
    return strcmp(name, "linear") == 0 ? x : formula(c, x, name);
}

static void activation(imp_node *c) { imp_out(c, 0, dk_activate(c, imp_in(c, 0), "linear")); }

/* ---- layers with weights ---- */

static void read_scales(imp_node *c, int64_t n, dk_part *p)
{
    p->gamma = dk_weights(c, 1, &n);
    p->mean = dk_weights(c, 1, &n);
    p->variance = dk_weights(c, 1, &n);
}

tn_value dk_normalized(imp_node *c, tn_value y, const dk_part *p)
{
    if (!p->gamma.def)
        return imp_bias_add(c, y, p->beta, 1);
    return imp_batch_norm(c, (const tn_value[]){y, p->gamma, p->beta, p->mean, p->variance}, 1, 1e-6);
}

dk_part dk_read_conv(imp_node *c, const int64_t dim[4], int64_t n)
{
    dk_part p = {.beta = dk_weights(c, 1, &n)};
    if (dk_int(c, "batch_normalize", 0))
        read_scales(c, n, &p);
    p.weight = dk_weights(c, 4, dim);
    return p;
}

dk_part dk_read_dense(imp_node *c, tn_value x, int64_t n)
{
    static const int64_t swap[] = {1, 0};
    bool turned = dk_of(c)->transposed;
    int64_t in = 1;
    if (!c->bad && (imp_rank(x) != 2 || !tn_is_int(imp_type(x)->dim[1], &in)))
        imp_refuse(c, IMP_OPERANDS, "the layer needs a list, but gets %s", imp_type_text(c, imp_type(x)));
    dk_part p = {.beta = dk_weights(c, 1, &n)};
    p.weight = dk_weights(c, 2, turned ? (const int64_t[]){in, n} : (const int64_t[]){n, in});
    if (dk_int(c, "batch_normalize", 0))
        read_scales(c, n, &p);
    p.weight = turned ? imp_transpose(c, p.weight, 2, swap) : p.weight;
    return p;
}

tn_value dk_dense(imp_node *c, tn_value x, const dk_part *p)
{
    return dk_normalized(c, imp_layer_dense(c, x, p->weight, (tn_value){0}), p);
}

static bool is_size(imp_node *c, const char *name, int64_t v)
{
    if (!c->bad && v < 1)
        imp_refuse(c, IMP_BAD_VALUE, "%s is %lld, but must be at least 1", name, (long long)v);
    return !c->bad;
}

static bool read_window(imp_node *c, tn_value x, imp_layer *w, int64_t size)
{
    int64_t stride = dk_int(c, "stride", 1), pad = dk_int(c, "padding", 0);
    if (dk_int(c, "pad", 0))
        pad = size / 2;
    if (!imp_layer_init(c, x, w) || !is_size(c, "size", size) || !is_size(c, "stride", stride) ||
        !is_size(c, "padding", pad + 1))
        return false;
    for (int i = 0; i < 2; i++) {
        w->kernel[i] = size;
        w->stride[i] = dk_int(c, i ? "stride_x" : "stride_y", stride);
        w->dilation[i] = dk_int(c, "dilation", 1);
        w->before[i] = w->after[i] = pad;
    }
    w->groups = dk_int(c, "groups", 1);
    return is_size(c, "groups", w->groups) && is_size(c, "dilation", w->dilation[0]);
}

static void convolutional(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t n = dk_int(c, "filters", 1), size = dk_int(c, "size", 1), in = channels(c, x);
    bool turned = strcmp(c->row->op, "deconvolutional") == 0;
    imp_layer w;
    if (dk_int(c, "binary", 0) || dk_int(c, "xnor", 0))
        imp_refuse(c, IMP_BAD_VALUE, "binary weights are not supported");
    imp_attr_ignore(c, "flipped");
    if (!is_size(c, "filters", n) || !read_window(c, x, &w, size))
        return;
    if (in % w.groups || n % w.groups)
        imp_refuse(c, IMP_BAD_VALUE, "groups is %lld, but there are %lld channels and %lld filters",
                   (long long)w.groups, (long long)in, (long long)n);
    int64_t dim[4] = {turned ? in : n, turned ? n : in / w.groups, size, size};
    dk_part p = dk_read_conv(c, dim, n);
    if (c->bad)
        return;
    tn_value y = turned ? imp_layer_conv_transpose(c, x, p.weight, (tn_value){0}, &w)
                        : imp_layer_conv(c, x, p.weight, (tn_value){0}, &w);
    imp_out(c, 0, dk_activate(c, dk_normalized(c, y, &p), "logistic"));
}

static void connected(imp_node *c)
{
    tn_value x = imp_flatten(c, imp_in(c, 0), 1);
    int64_t n = dk_int(c, "output", 1);
    if (!is_size(c, "output", n))
        return;
    dk_part p = dk_read_dense(c, x, n);
    imp_out(c, 0, dk_activate(c, dk_dense(c, x, &p), "logistic"));
}

static void batch_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t n = channels(c, x);
    dk_part p = {.beta = {0}};
    read_scales(c, n, &p);
    p.beta = imp_with(c, &tn_op_multiply, p.mean, 0);
    if (!c->bad)
        imp_out(c, 0, dk_normalized(c, x, &p));
}

/* ---- pooling, resizing, joining ---- */

/* All padding together is `padding`, the smaller half of it before. */
static void max_pool(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_layer w;
    int64_t stride = dk_int(c, "stride", 1), size = dk_int(c, "size", stride),
            pad = dk_int(c, "padding", size - 1);
    (void)channels(c, x);
    if (!imp_layer_init(c, x, &w) || !is_size(c, "size", size) || !is_size(c, "stride", stride) ||
        !is_size(c, "padding", pad + 1))
        return;
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = size;
        w.stride[i] = stride;
        w.before[i] = pad / 2;
        w.after[i] = pad - pad / 2;
    }
    imp_out(c, 0, imp_layer_pool(c, IMP_POOL_MAX, x, &w));
}

static void average_pool(imp_node *c) { imp_out(c, 0, imp_layer_global(c, &tn_op_mean, imp_in(c, 0), true)); }

static void upsample(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t stride = dk_int(c, "stride", 2);
    (void)channels(c, x);
    if (!is_size(c, "stride", stride))
        return;
    const tn_expr *size[2];
    for (int i = 0; i < 2; i++)
        size[i] = imp_simplify(c, tn_mul(c->pool, imp_type(x)->dim[2 + i], tn_idx(c->pool, stride)));
    imp_out(c, 0, imp_resize2d(c, x, size[0], size[1], "nearest_neighbor", "asymmetric"));
}

/* Blocks to channels; what is read row by row is taken for an image of more rows and columns and fewer channels. */
static void reorg(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t n = channels(c, x), s = dk_int(c, "stride", 1), h = 1, w = 1;
    tn_depth_attr a = {.block_size = s, .layout = "NCHW", .mode = "DCR"};
    bool known = !c->bad && tn_is_int(imp_type(x)->dim[2], &h) && tn_is_int(imp_type(x)->dim[3], &w);
    if (dk_int(c, "flatten", 0) || dk_int(c, "extra", 0))
        imp_refuse(c, IMP_BAD_VALUE, "flatten and extra are not supported");
    if (!c->bad && (!known || s < 1 || s > 1 << 10 || n % (s * s) || h % s || w % s))
        imp_refuse(c, IMP_BAD_VALUE, "blocks of %lld rows do not fit %s", (long long)s,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    if (dk_int(c, "reverse", 0)) {
        imp_out(c, 0, imp_call1(c, &tn_op_nn_depth_to_space, &a, x));
        return;
    }
    const tn_expr *batch = imp_type(x)->dim[0];
    const tn_expr *wide[4] = {batch, tn_idx(c->pool, n / (s * s)), tn_idx(c->pool, h * s),
                              tn_idx(c->pool, w * s)};
    const tn_expr *deep[4] = {batch, tn_idx(c->pool, n * s * s), tn_idx(c->pool, h / s),
                              tn_idx(c->pool, w / s)};
    tn_value y = imp_call1(c, &tn_op_nn_space_to_depth, &a, imp_reshape(c, x, 4, wide));
    imp_out(c, 0, imp_reshape(c, y, 4, deep));
}

static void route(imp_node *c)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    int64_t groups = dk_int(c, "groups", 1), id = dk_int(c, "group_id", 0);
    imp_attr_ignore(c, "layers");
    if (!c->n_in && !c->bad)
        imp_refuse(c, IMP_ATTR_MISSING, "layers is missing");
    for (uint32_t i = 0; i < imp_n_in(c) && !c->bad; i++) {
        in[i] = imp_in(c, i);
        int64_t n = channels(c, in[i]);
        if (groups < 1 || id < 0 || id >= groups || n % groups)
            imp_refuse(c, IMP_BAD_VALUE, "group %lld of %lld does not fit %lld channels", (long long)id,
                       (long long)groups, (long long)n);
        else if (groups > 1)
            in[i] = imp_slice(c, in[i], 1, n / groups * id, n / groups * (id + 1));
    }
    if (!c->bad)
        imp_out(c, 0, imp_concat(c, imp_n_in(c), in, 1));
}

static void shortcut(imp_node *c)
{
    tn_value sum = imp_in(c, 0);
    imp_attr_ignore(c, "from");
    if (strcmp(dk_text(c, "weights_type", "none"), "none") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "weighted shortcuts are not supported");
    imp_attr_ignore(c, "weights_normalization");
    for (uint32_t i = 1; i < imp_n_in(c) && !c->bad; i++) {
        if (channels(c, sum) != channels(c, imp_in(c, i)))
            imp_refuse(c, IMP_OPERANDS, "%s and %s are of different shapes", imp_type_text(c, imp_type(sum)),
                       imp_type_text(c, imp_type(imp_in(c, i))));
        sum = imp_binary(c, &tn_op_add, sum, imp_in(c, i));
    }
    imp_out(c, 0, dk_activate(c, sum, "linear"));
}

/* A weight for each channel, or each element, of an earlier layer. */
static void scale_channels(imp_node *c)
{
    imp_attr_ignore(c, "from");
    if (dk_int(c, "scale_wh", 0))
        imp_refuse(c, IMP_BAD_VALUE, "scale_wh is not supported");
    imp_out(c, 0, dk_activate(c, imp_binary(c, &tn_op_multiply, imp_in(c, 0), imp_in(c, 1)), "linear"));
}

static void dropout(imp_node *c) { imp_out(c, 0, imp_in(c, 0)); }

/* Which channels are summed for which, times alpha. Darknet's sum runs over the channels and begins with one too
 * few, so channel size / 2 is missing in all of them. */
static tn_value lrn_channels(imp_node *c, int64_t n, int64_t size, double alpha)
{
    const int64_t dim[4] = {n, n, 1, 1}, missing = size / 2;
    size_t count, bytes;
    void *at;
    if (c->bad || !imp_measure(c->im, c->loc->node, 4, dim, TN_F32, c->loc, &count, &bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    const tn_blob *b = tn_graph_blob(c->g, bytes, &at);
    for (int64_t to = 0; to < n; to++)
        for (int64_t from = 0; from < n; from++) {
            int near = from >= to - (size - 1) / 2 && from <= to + size / 2;
            ((float *)at)[to * n + from] = (float)(alpha * (near - (from == missing)));
        }
    return tn_val(imp_constant(c->im, TN_F32, 4, dim, b, c->loc->node));
}

static void lrn(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t size = dk_int(c, "size", 5), n = channels(c, x);
    double alpha = dk_float(c, "alpha", 1e-4), beta = dk_float(c, "beta", 0.75);
    double kappa = dk_float(c, "kappa", 1);
    imp_layer w;
    if (!is_size(c, "size", size) || !imp_layer_init(c, x, &w))
        return;
    tn_value weight = lrn_channels(c, n, size, alpha);
    if (c->bad)
        return;
    tn_value norm = imp_layer_conv(c, imp_binary(c, &tn_op_multiply, x, x), weight, (tn_value){0}, &w);
    norm = imp_with(c, &tn_op_power, imp_with(c, &tn_op_add, norm, kappa), -beta);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, x, norm));
}

static void softmax(imp_node *c)
{
    tn_value x = imp_in(c, 0), flat = imp_flatten(c, x, 1);
    double t = dk_float(c, "temperature", 1);
    int64_t groups = dk_int(c, "groups", 1), n = 1;
    if (dk_int(c, "spatial", 0) || imp_has_attr(c, "tree"))
        imp_refuse(c, IMP_BAD_VALUE, "spatial softmax and trees of classes are not supported");
    if (!c->bad && (!tn_is_int(imp_type(flat)->dim[1], &n) || groups < 1 || n % groups || t == 0))
        imp_refuse(c, IMP_BAD_VALUE, "%lld groups do not fit %s", (long long)groups,
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    flat = t == 1 ? flat : imp_with(c, &tn_op_divide, flat, t);
    const tn_expr *dim[3] = {imp_type(flat)->dim[0], tn_idx(c->pool, groups), tn_idx(c->pool, n / groups)};
    tn_value y = imp_softmax(c, &tn_op_nn_softmax, groups > 1 ? imp_reshape(c, flat, 3, dim) : flat, -1);
    imp_out(c, 0, imp_rank(x) == imp_rank(y) ? y : imp_reshape(c, y, imp_rank(x), imp_type(x)->dim));
}

/* ---- detections: boxes [x y w h object classes..] times anchors as channels ---- */

typedef struct boxes {
    tn_value x; /* [n,anchors,entries,h,w] */
    int64_t anchors, entries;
} boxes;

static bool open_boxes(imp_node *c, int64_t anchors, int64_t entries, boxes *b)
{
    tn_value x = imp_in(c, 0);
    int64_t n = channels(c, x);
    *b = (boxes){.anchors = anchors, .entries = entries};
    if (!c->bad && (anchors < 1 || entries < 5 || anchors > n || n % anchors || n / anchors != entries))
        imp_refuse(c, IMP_BAD_VALUE, "%lld anchors of %lld entries do not fit %lld channels",
                   (long long)anchors, (long long)entries, (long long)n);
    if (c->bad)
        return false;
    const tn_expr *dim[5] = {imp_type(x)->dim[0], tn_idx(c->pool, anchors), tn_idx(c->pool, entries),
                             imp_type(x)->dim[2], imp_type(x)->dim[3]};
    b->x = imp_reshape(c, x, 5, dim);
    return !c->bad;
}

static void close_boxes(imp_node *c, const tn_value part[], uint32_t n)
{
    imp_out(c, 0, imp_reshape(c, imp_concat(c, n, part, 2), 4, imp_type(imp_in(c, 0))->dim));
}

static void yolo(imp_node *c)
{
    tn_ints mask;
    boxes b;
    int64_t classes = dk_int(c, "classes", 20), num = dk_int(c, "num", 1);
    double grow = dk_float(c, "scale_x_y", 1);
    bool listed = dk_ints(c, "mask", &mask), as_they_are = dk_int(c, "new_coords", 0) != 0;
    imp_attr_ignore(c, "focal_loss");
    imp_attr_ignore(c, "embedding_layer");
    if (!open_boxes(c, listed ? mask.n : num, classes + 5, &b))
        return;
    tn_value xy = imp_slice(c, b.x, 2, 0, 2), rest = imp_slice(c, b.x, 2, 4, INT64_MAX);
    xy = as_they_are ? xy : imp_unary(c, &tn_op_sigmoid, xy);
    if (grow != 1)
        xy = imp_with(c, &tn_op_subtract, imp_with(c, &tn_op_multiply, xy, grow), 0.5 * (grow - 1));
    rest = as_they_are ? rest : imp_unary(c, &tn_op_sigmoid, rest);
    close_boxes(c, (const tn_value[]){xy, imp_slice(c, b.x, 2, 2, 4), rest}, 3);
}

static void region(imp_node *c)
{
    boxes b;
    int64_t classes = dk_int(c, "classes", 20), coords = dk_int(c, "coords", 4);
    bool soft = dk_int(c, "softmax", 0) != 0, background = dk_int(c, "background", 0) != 0;
    imp_attr_ignore(c, "classfix");
    if (coords < 4 || coords > 1 << 16)
        imp_refuse(c, IMP_BAD_VALUE, "coords is %lld", (long long)coords);
    if (!open_boxes(c, dk_int(c, "num", 1), classes + coords + 1, &b))
        return;
    tn_value xy = imp_unary(c, &tn_op_sigmoid, imp_slice(c, b.x, 2, 0, 2)),
             wh = imp_slice(c, b.x, 2, 2, coords), object = imp_slice(c, b.x, 2, coords, coords + 1),
             kinds = imp_slice(c, b.x, 2, coords + (background ? 0 : 1), INT64_MAX);
    kinds = soft ? imp_softmax(c, &tn_op_nn_softmax, kinds, 2) : imp_unary(c, &tn_op_sigmoid, kinds);
    tn_value part[4] = {xy, wh, background ? kinds : imp_unary(c, &tn_op_sigmoid, object), kinds};
    close_boxes(c, part, background ? 3 : 4);
}

// clang-format off
static const imp_row rows[] = {
    {"convolutional",   0, 0,  1, 1, convolutional,  NULL},
    {"conv",            0, 0,  1, 1, convolutional,  NULL},
    {"deconvolutional", 0, 0,  1, 1, convolutional,  NULL},
    {"connected",       0, 0,  1, 1, connected,      NULL},
    {"conn",            0, 0,  1, 1, connected,      NULL},
    {"batchnorm",       0, 0,  1, 1, batch_norm,     NULL},
    {"activation",      0, 0,  1, 1, activation,     NULL},
    {"maxpool",         0, 0,  1, 1, max_pool,       NULL},
    {"max",             0, 0,  1, 1, max_pool,       NULL},
    {"avgpool",         0, 0,  1, 1, average_pool,   NULL},
    {"avg",             0, 0,  1, 1, average_pool,   NULL},
    {"upsample",        0, 0,  1, 1, upsample,       NULL},
    {"reorg",           0, 0,  1, 1, reorg,          NULL},
    {"route",           0, 0, -1, 1, route,          NULL},
    {"shortcut",        0, 0, -1, 1, shortcut,       NULL},
    {"scale_channels",  0, 0,  2, 1, scale_channels, NULL},
    {"sam",             0, 0,  2, 1, scale_channels, NULL},
    {"dropout",         0, 0,  1, 1, dropout,        NULL},
    {"cost",            0, 0,  1, 1, dropout,        NULL},
    {"normalization",   0, 0,  1, 1, lrn,            NULL},
    {"lrn",             0, 0,  1, 1, lrn,            NULL},
    {"softmax",         0, 0,  1, 1, softmax,        NULL},
    {"soft",            0, 0,  1, 1, softmax,        NULL},
    {"yolo",            0, 0,  1, 1, yolo,           NULL},
    {"region",          0, 0,  1, 1, region,         NULL},
    {0},
};
// clang-format on
static const imp_table tables[] = {{NULL, rows}, {NULL, dk_rows_recurrent}, {0}};

const imp_format dk_format = {
    .version = "version",
    .tables = tables,
    .id =
        {
            [IMP_NO_OUTPUTS] = "darknet-E001",    [IMP_BAD_TENSOR] = "darknet-E001",
            [IMP_UNKNOWN_NAME] = "darknet-E001",  [IMP_NAME_TWICE] = "darknet-E001",
            [IMP_BAD_FILE] = "darknet-E002",      [IMP_UNKNOWN_OPERATOR] = "darknet-E003",
            [IMP_OTHER_VERSION] = "darknet-E003", [IMP_UNSUPPORTED_RESULT] = "darknet-E003",
            [IMP_ATTR_TYPE] = "darknet-E004",     [IMP_ATTR_MISSING] = "darknet-E004",
            [IMP_ATTR_UNKNOWN] = "darknet-E004",  [IMP_BAD_VALUE] = "darknet-E004",
            [IMP_NOT_CONSTANT] = "darknet-E005",  [IMP_OPERANDS] = "darknet-E005",
            [IMP_TOO_LARGE] = "darknet-E005",     [IMP_NO_TENSOR] = "darknet-E006",
            [IMP_NO_INPUT] = "darknet-E006",      [IMP_OTHER_RANK] = "darknet-E006",
            [IMP_BAD_SIZES] = "darknet-E006",     [IMP_SYMBOLS] = "darknet-E006",
            [IMP_MEMORY] = "darknet-E007",        [IMP_ERRORS] = "darknet-E007",
        },
};
