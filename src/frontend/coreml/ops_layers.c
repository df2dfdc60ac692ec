/* Normalisation and sums that are no windows. Those of old networks work on the last three
 * dimensions: channels, rows, columns. */
#include "frontend/coreml/coreml.h"

#include <math.h>
#include <string.h>

static tn_ints last_axes(imp_node *c, tn_value x, int n)
{
    int64_t axes[IMP_MAX_RANK];
    if (!c->bad && imp_rank(x) < n)
        imp_refuse(c, IMP_OPERANDS, "data %s must have at least %d dimensions", imp_type_text(c, imp_type(x)),
                   n);
    for (int i = 0; i < n && !c->bad; i++)
        axes[i] = imp_rank(x) - n + i;
    return c->bad ? (tn_ints){0} : tn_ints_make(c->arena, (uint32_t)n, axes);
}

/* v, whose dimensions are those of the last three; one alone is that of the channels. */
static tn_value over_image(imp_node *c, tn_value v)
{
    const tn_expr *one = tn_idx(c->pool, 1);
    if (c->bad || imp_rank(v) != 1)
        return v;
    return imp_reshape(c, v, 3, (const tn_expr *[]){imp_type(v)->dim[0], one, one});
}

/* ---- normalisation ---- */

/* (x - mean) / sqrt(variance + epsilon) by the moments along axes */
static tn_value normalised(imp_node *c, tn_value x, tn_ints axes, double epsilon, bool divide)
{
    tn_dtype t = imp_type(x)->dtype;
    x = imp_cast(c, x, imp_sum_dtype(t));
    tn_value d = cm_bin(c, &tn_op_subtract, x, cm_axes(c, &tn_op_mean, x, axes, true));
    tn_value v = cm_axes(c, &tn_op_mean, cm_bin(c, &tn_op_multiply, d, d), axes, true);
    tn_value y = divide ? cm_bin(c, &tn_op_multiply, d,
                                 imp_unary(c, &tn_op_rsqrt, imp_with(c, &tn_op_add, v, epsilon)))
                        : d;
    return imp_cast(c, y, t);
}

static double epsilon(imp_node *c, const char *name, double def)
{
    double e = imp_attr_float(c, name, 0);
    return e == 0 ? def : e;
}

static void batch_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0), v[4] = {{0}};
    static const char *const names[] = {"gamma", "beta", "mean", "variance"};
    int64_t n = imp_attr_int(c, "channels", 0);
    bool moments = cm_flag(c, "computeMeanVar"), instance = cm_flag(c, "instanceNormalization");
    double eps = epsilon(c, "epsilon", 1e-5);
    if (moments && !instance)
        imp_refuse(c, IMP_BAD_VALUE, "moments over the batch are not supported");
    for (int i = 0; i < 4; i++) {
        imp_attr_ignore(c, names[i]);
        if (i < 2 || !moments)
            v[i] = cm_weights(c, names[i], 1, &n);
    }
    if (!c->bad && imp_rank(x) < 3)
        imp_refuse(c, IMP_OPERANDS, "data %s has no channels", imp_type_text(c, imp_type(x)));
    if (moments) {
        tn_value y = normalised(c, x, last_axes(c, x, 2), eps, true);
        y = cm_bin(c, &tn_op_multiply, y, over_image(c, v[0]));
        imp_out(c, 0, cm_bin(c, &tn_op_add, y, over_image(c, v[1])));
    } else {
        imp_out(c, 0, imp_batch_norm(c, (const tn_value[]){x, v[0], v[1], v[2], v[3]}, imp_rank(x) - 3, eps));
    }
}

static tn_value filled_like(imp_node *c, tn_value v, double with)
{
    tn_broadcast_to_attr to = {tn_dims_make(c->arena, imp_type(v)->n, imp_type(v)->dim)};
    return imp_call1(c, &tn_op_broadcast_to, &to, imp_const(c, imp_type(v)->dtype, with));
}

/* batch_norm and instance_norm of programs: channels are the second dimension */
static void norm_operation(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), mean = cm_opt(c, 1, "mean"), gamma = cm_opt(c, 3, "gamma"),
             beta = cm_opt(c, 4, "beta");
    double eps = imp_attr_float(c, "epsilon", 1e-5F);
    if (strcmp(c->row->op, "batch_norm") == 0) {
        if (c->bad || !mean.def)
            return;
        gamma = gamma.def ? gamma : filled_like(c, mean, 1);
        beta = beta.def ? beta : filled_like(c, mean, 0);
        imp_out(c, 0,
                imp_batch_norm(c, (const tn_value[]){x, gamma, beta, mean, cm_in(c, 2, "variance")}, 1, eps));
        return;
    }
    if (!c->bad && imp_rank(x) < 3)
        imp_refuse(c, IMP_OPERANDS, "data %s has no channels of images", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    tn_value y = normalised(c, x, last_axes(c, x, imp_rank(x) - 2), eps, true);
    y = gamma.def ? cm_bin(c, &tn_op_multiply, y, imp_along(c, gamma, 1, imp_rank(x))) : y;
    imp_out(c, 0, beta.def ? cm_bin(c, &tn_op_add, y, imp_along(c, beta, 1, imp_rank(x))) : y);
}

static void layer_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints shape = cm_ints(c, "normalizedShape");
    double eps = epsilon(c, "eps", 1e-5);
    tn_value y = normalised(c, x, last_axes(c, x, (int)shape.n), eps, true);
    tn_value gamma = cm_weights(c, "gamma", shape.n, shape.at),
             beta = cm_weights(c, "beta", shape.n, shape.at);
    imp_out(c, 0, cm_bin(c, &tn_op_add, cm_bin(c, &tn_op_multiply, y, gamma), beta));
}

/* gamma and beta have the extents of the axes, in their order. */
static tn_value at_axes(imp_node *c, tn_value v, tn_ints axes, tn_value x)
{
    const tn_expr *dim[IMP_MAX_RANK];
    int rank = imp_rank(x);
    for (int i = 0; i < rank; i++)
        dim[i] = tn_idx(c->pool, 1);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        dim[imp_axis(c, axes.at[i], rank)] = imp_type(x)->dim[imp_axis(c, axes.at[i], rank)];
    return c->bad ? v : imp_reshape(c, v, rank, dim);
}

static void layer_norm_operation(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), gamma = cm_opt(c, 1, "gamma"), beta = cm_opt(c, 2, "beta");
    tn_ints axes = cm_ints(c, "axes");
    double eps = imp_attr_float(c, "epsilon", 1e-5F);
    tn_value y = normalised(c, x, axes, eps, true);
    y = gamma.def ? cm_bin(c, &tn_op_multiply, y, at_axes(c, gamma, axes, x)) : y;
    imp_out(c, 0, beta.def ? cm_bin(c, &tn_op_add, y, at_axes(c, beta, axes, x)) : y);
}

static void mvn(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int n = cm_flag(c, "acrossChannels") ? 3 : 2;
    bool divide = cm_flag(c, "normalizeVariance");
    imp_out(c, 0, normalised(c, x, last_axes(c, x, n), epsilon(c, "epsilon", 1e-6), divide));
}

static void l2_normalize(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    double eps = epsilon(c, "epsilon", 1e-6);
    tn_value sum = cm_axes(c, &tn_op_sum, cm_bin(c, &tn_op_multiply, x, x), last_axes(c, x, 3), true);
    imp_out(c, 0,
            cm_bin(c, &tn_op_multiply, x, imp_unary(c, &tn_op_rsqrt, imp_with(c, &tn_op_add, sum, eps))));
}

static void lrn(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    tn_lrn_attr a = {.axis = layer ? imp_rank(x) - 3 : 1,
                     .size = imp_attr_int(c, layer ? "localSize" : "size", 1),
                     .alpha = imp_attr_float(c, "alpha", layer ? 0 : 1e-4F),
                     .beta = imp_attr_float(c, "beta", layer ? 0 : 0.75F),
                     .bias = imp_attr_float(c, "k", 1)};
    a.bias = a.bias == 0 ? 1 : a.bias;
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, x));
}

static void softmax(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_softmax(c, &tn_op_nn_softmax, x, imp_rank(x) < 3 ? -1 : -3));
}

static void softmax_axis(imp_node *c)
{
    int64_t axis = imp_attr_int(c, "axis", cm_is_layer(c) ? 0 : -1);
    imp_out(c, 0, imp_softmax(c, &tn_op_nn_softmax, cm_in(c, 0, "x"), axis));
}

/* ---- factors and terms of channels ---- */

/* In one of the forms [1], [c], [c,h,w]. */
static tn_value shaped(imp_node *c, const char *name, const char *shape)
{
    tn_ints dim = cm_ints(c, shape);
    return over_image(c, cm_weights(c, name, dim.n, dim.at));
}

static void scale(imp_node *c)
{
    tn_value y = cm_bin(c, &tn_op_multiply, imp_in(c, 0), shaped(c, "scale", "shapeScale"));
    bool more = cm_flag(c, "hasBias");
    imp_attr_ignore(c, "bias");
    imp_attr_ignore(c, "shapeBias");
    imp_out(c, 0, more ? cm_bin(c, &tn_op_add, y, shaped(c, "bias", "shapeBias")) : y);
}

static void bias(imp_node *c)
{
    imp_out(c, 0, cm_bin(c, &tn_op_add, imp_in(c, 0), shaped(c, "bias", "shape")));
}

/* ---- sums ---- */

static void dot(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1), n = {0};
    tn_ints axes = last_axes(c, a, 3);
    if (cm_flag(c, "cosineSimilarity")) {
        tn_value aa = cm_axes(c, &tn_op_sum, cm_bin(c, &tn_op_multiply, a, a), axes, true);
        n = imp_unary(c, &tn_op_sqrt,
                      cm_bin(c, &tn_op_multiply, aa,
                             cm_axes(c, &tn_op_sum, cm_bin(c, &tn_op_multiply, b, b), axes, true)));
    }
    tn_value y = cm_axes(c, &tn_op_sum, cm_bin(c, &tn_op_multiply, a, b), axes, true);
    imp_out(c, 0, n.def ? cm_bin(c, &tn_op_divide, y, n) : y);
}

enum reduction { SUM, MEAN, PROD, LOG_SUM, SUM_SQUARE, L1, L2, MAX, MIN, ARGMAX, LOG_SUM_EXP };

static tn_value reduced(imp_node *c, enum reduction r, tn_value x, tn_ints axes, bool keep)
{
    static const tn_op *const ops[] = {
        [SUM] = &tn_op_sum, [MEAN] = &tn_op_mean,       [PROD] = &tn_op_prod,      [LOG_SUM] = &tn_op_sum,
        [L1] = &tn_op_sum,  [L2] = &tn_op_sum,          [SUM_SQUARE] = &tn_op_sum, [MAX] = &tn_op_max,
        [MIN] = &tn_op_min, [LOG_SUM_EXP] = &tn_op_sum, [ARGMAX] = &tn_op_sum};
    if (r == L1)
        x = imp_unary(c, &tn_op_abs, x);
    if (r == SUM_SQUARE || r == L2)
        x = cm_bin(c, &tn_op_multiply, x, x);
    if (r == LOG_SUM_EXP)
        return imp_log_sum_exp(c, x, axes, keep);
    tn_value y = cm_axes(c, ops[r], x, axes, keep);
    if (r == LOG_SUM)
        return imp_unary(c, &tn_op_log, y);
    return r == L2 ? imp_unary(c, &tn_op_sqrt, y) : y;
}

static tn_value arg(imp_node *c, const tn_op *op, tn_value x, int64_t axis, bool keep)
{
    tn_arg_attr a = {.axis = axis, .keepdims = keep, .dtype = TN_I32};
    return imp_call1(c, op, &a, x);
}

/* The layer of old networks: over channels, rows or columns, which stay. Its LOGSUM is a sum of logarithms. */
static void reduce(imp_node *c)
{
    static const int64_t axes[][3] = {{-3, -2, -1}, {-2, -1}, {-3}, {-2}, {-1}};
    static const uint32_t n[] = {3, 2, 1, 1, 1};
    tn_value x = imp_in(c, 0);
    int64_t mode = imp_attr_int(c, "mode", 0), axis = imp_attr_int(c, "axis", 0);
    double eps = epsilon(c, "epsilon", 1e-6);
    if (mode < 0 || mode > ARGMAX || axis < 0 || axis > 4 || (mode == ARGMAX && n[axis & 7] != 1))
        imp_refuse(c, IMP_BAD_VALUE, "mode %lld along %lld is not supported", (long long)mode,
                   (long long)axis);
    if (c->bad)
        return;
    if (mode == LOG_SUM) {
        x = imp_unary(c, &tn_op_log, imp_with(c, &tn_op_add, x, eps));
        mode = SUM;
    }
    imp_out(c, 0,
            mode == ARGMAX
                ? imp_cast(c, arg(c, &tn_op_argmax, x, axes[axis][0], true), TN_F32)
                : reduced(c, (enum reduction)mode, x, tn_ints_make(c->arena, n[axis], axes[axis]), true));
}

/* Those with axes: layers and operations */
static void reduce_axes(imp_node *c)
{
    static const struct {
        const char *layer, *operation;
        enum reduction r;
    } names[] = {{"reduceSum", "reduce_sum", SUM},
                 {"reduceMean", "reduce_mean", MEAN},
                 {"reduceProd", "reduce_prod", PROD},
                 {"reduceLogSum", "reduce_log_sum", LOG_SUM},
                 {"reduceSumSquare", "reduce_sum_square", SUM_SQUARE},
                 {"reduceL1", "reduce_l1_norm", L1},
                 {"reduceL2", "reduce_l2_norm", L2},
                 {"reduceMax", "reduce_max", MAX},
                 {"reduceMin", "reduce_min", MIN},
                 {"reduceLogSumExp", "reduce_log_sum_exp", LOG_SUM_EXP}};
    enum reduction r = SUM;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(c->row->op, names[i].layer) == 0 || strcmp(c->row->op, names[i].operation) == 0)
            r = names[i].r;
    tn_ints axes = cm_ints(c, "axes");
    bool keep = cm_flag(c, "keepDims") || cm_flag(c, "keep_dims");
    if (cm_flag(c, "reduceAll"))
        axes.n = 0;
    imp_out(c, 0, reduced(c, r, cm_in(c, 0, "x"), axes, keep));
}

static void arg_max(imp_node *c)
{
    bool layer = cm_is_layer(c), keep = !cm_flag(c, "removeDim"),
         most = strcmp(c->row->op, "argMax") == 0 || strcmp(c->row->op, "reduce_argmax") == 0;
    tn_value x = cm_in(c, 0, "x");
    keep = layer ? keep || imp_rank(x) == 1 : cm_flag(c, "keep_dims"); /* a layer's result has a dimension */
    const char *type = imp_attr_string(c, "output_dtype", "int32");
    int64_t axis = imp_attr_int(c, "axis", layer ? 0 : -1);
    tn_value y = arg(c, most ? &tn_op_argmax : &tn_op_argmin, x, axis, keep);
    imp_out(c, 0,
            layer                         ? imp_cast(c, y, TN_F32)
            : strcmp(type, "uint16") == 0 ? imp_cast(c, y, TN_DT(TN_UINT, 16))
                                          : y);
}

// clang-format off
const imp_row cm_rows_layers[] = {
    {"batchnorm",             0, 0,  1, 1, batch_norm,           NULL},
    {"batch_norm",            0, 0, -1, 1, norm_operation,       NULL},
    {"instance_norm",         0, 0, -1, 1, norm_operation,       NULL},
    {"layerNormalization",    0, 0,  1, 1, layer_norm,           NULL},
    {"layer_norm",            0, 0, -1, 1, layer_norm_operation, NULL},
    {"mvn",                   0, 0,  1, 1, mvn,                  NULL},
    {"l2normalize",           0, 0,  1, 1, l2_normalize,         NULL},
    {"l2_norm",               0, 0, -1, 1, l2_normalize,         NULL},
    {"lrn",                   0, 0,  1, 1, lrn,                  NULL},
    {"local_response_norm",   0, 0, -1, 1, lrn,                  NULL},
    {"softmax",               1, 1,  1, 1, softmax,              NULL},
    {"softmax",               2, 0, -1, 1, softmax_axis,         NULL},
    {"softmaxND",             0, 0,  1, 1, softmax_axis,         NULL},
    {"scale",                 0, 0,  1, 1, scale,                NULL},
    {"bias",                  0, 0,  1, 1, bias,                 NULL},
    {"dot",                   0, 0,  2, 1, dot,                  NULL},
    {"reduce",                0, 0,  1, 1, reduce,               NULL},
    {"argMax",                0, 0,  1, 1, arg_max,              NULL},
    {"argMin",                0, 0,  1, 1, arg_max,              NULL},
    {"reduce_argmax",         0, 0, -1, 1, arg_max,              NULL},
    {"reduce_argmin",         0, 0, -1, 1, arg_max,              NULL},
    {"reduceSum",             0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceMean",            0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceProd",            0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceLogSum",          0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceSumSquare",       0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceL1",              0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceL2",              0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceMax",             0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceMin",             0, 0,  1, 1, reduce_axes,          NULL},
    {"reduceLogSumExp",       0, 0,  1, 1, reduce_axes,          NULL},
    {"reduce_sum",            0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_mean",           0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_prod",           0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_log_sum",        0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_sum_square",     0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_l1_norm",        0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_l2_norm",        0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_max",            0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_min",            0, 0, -1, 1, reduce_axes,          NULL},
    {"reduce_log_sum_exp",    0, 0, -1, 1, reduce_axes,          NULL},
    {0},
};
// clang-format on
