/* Normalisation: batch, instance, layer, group, RMS, local response, Lp, Softmax and its kin; Dropout. */
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/random/random.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- BatchNormalization ---- */

static tn_value product(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }

/* v * a + w * (1 - a) */
static tn_value blend(imp_node *c, tn_value v, tn_value w, double a)
{
    v = imp_with(c, &tn_op_multiply, v, a);
    return imp_binary(c, &tn_op_add, v, imp_with(c, &tn_op_multiply, w, 1 - a));
}

typedef struct moments {
    tn_value mean, variance;
} moments;

static moments moments_of(imp_node *c, tn_value x, const tn_axes_attr *a)
{
    tn_value mean = imp_call1(c, &tn_op_mean_variance, a, x);
    return (moments){mean, {mean.def, 1}};
}

static tn_value minus(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_subtract, a, b); }

/* x less its mean, and the moments: the mean is taken of what differs from the first mean once more, which its
 * rounding would otherwise cost where it is large against the deviation. */
static tn_value centred(imp_node *c, tn_value x, const tn_axes_attr *a, moments *m)
{
    tn_value mean = imp_call1(c, &tn_op_mean, a, x), d = minus(c, x, mean),
             rest = imp_call1(c, &tn_op_mean, a, d);
    d = minus(c, d, rest);
    *m = (moments){imp_binary(c, &tn_op_add, mean, rest), imp_call1(c, &tn_op_mean, a, product(c, d, d))};
    return d;
}

/* Training: mean and variance are the data's own; the running ones move towards them. */
static void train_batch(imp_node *c, tn_value in[5], const tn_batch_norm_attr *a)
{
    static const int64_t channels[] = {1};
    tn_axes_attr all_but = {tn_ints_make(c->arena, 1, channels), false, true};
    double momentum = imp_attr_float(c, "momentum", 0.9f);
    if (imp_rank(in[0]) < 2)
        imp_fail(c, "onnx-E022", "data %s has no channels", imp_type_text(c, imp_type(in[0])));
    moments m = moments_of(c, in[0], &all_but);
    tn_value own[5] = {in[0], in[1], in[2], m.mean, m.variance};
    imp_out(c, 0, imp_call(c, &tn_op_nn_batch_norm, a, 5, own));
    if (c->n_out > 1)
        imp_out(c, 1, blend(c, in[3], m.mean, momentum));
    if (c->n_out > 2)
        imp_out(c, 2, blend(c, in[4], m.variance, momentum));
}

/* spatial=0: scale, bias, mean and variance have an element for each position of the data, as an array of the data's
 * shape without the batch or as a list. */
static void normalize_positions(imp_node *c, tn_value in[5], double epsilon)
{
    const tn_type *t = imp_type(in[0]);
    if (imp_rank(in[0]) < 2)
        imp_fail(c, "onnx-E022", "data %s has no channels", imp_type_text(c, t));
    for (int i = 1; i < 5 && !c->bad; i++)
        if (imp_rank(in[i]) != t->n - 1)
            in[i] = imp_reshape(c, in[i], t->n - 1, t->dim + 1);
    if (c->bad)
        return;
    tn_value e = imp_const(c, t->dtype, epsilon);
    tn_value inverse = imp_unary(c, &tn_op_rsqrt, imp_binary(c, &tn_op_add, in[4], e));
    tn_value y = minus(c, in[0], in[3]);
    y = product(c, y, product(c, in[1], inverse));
    imp_out(c, 0, imp_binary(c, &tn_op_add, y, in[2]));
}

static void batch_normalization(imp_node *c)
{
    tn_value in[5];
    tn_batch_norm_attr a = {1, imp_attr_float(c, "epsilon", 1e-5f), true, true};
    imp_attr_ignore(c, "momentum");
    imp_attr_ignore(c, "is_test"); /* before opset 7; other outputs exist only while training */
    imp_attr_ignore(c, "consumed_inputs");
    for (uint32_t i = 0; i < 5; i++)
        in[i] = imp_in(c, i);
    for (int i = 1; i < 5 && in[0].def; i++)
        in[i] = imp_cast(c, in[i], imp_type(in[0])->dtype);
    if (c->version < 9 && imp_attr_int(c, "spatial", 1) == 0)
        normalize_positions(c, in, a.epsilon);
    else if (c->version >= 14 && imp_attr_int(c, "training_mode", 0) != 0)
        train_batch(c, in, &a);
    else
        imp_out(c, 0, imp_call(c, &tn_op_nn_batch_norm, &a, 5, in));
}

/* ---- InstanceNormalization, GroupNormalization ---- */

static void instance_normalization(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2)};
    tn_norm_attr a = {
        .axis = 1, .epsilon = imp_attr_float(c, "epsilon", 1e-5f), .center = true, .scale = true};
    imp_out(c, 0, imp_call(c, &tn_op_nn_instance_norm, &a, 3, in));
}

/* Before opset 21 scale and bias have an element a group. */
static tn_value for_channels(imp_node *c, tn_value v, int64_t groups, tn_value x)
{
    const tn_type *t = imp_type(x);
    int64_t channels;
    if (c->bad || t->n < 2 || !tn_is_int(t->dim[1], &channels) || channels == groups || groups < 1 ||
        channels % groups != 0 || !tn_is_value(imp_type(v)->dim[0], groups))
        return v; /* the operator says what does not fit */
    const tn_expr *pair[2] = {tn_idx(c->pool, groups), tn_idx(c->pool, channels / groups)};
    tn_expand_dims_attr column = {1, 1};
    tn_broadcast_to_attr b = {tn_dims_make(c->arena, 2, pair)};
    v = imp_call1(c, &tn_op_broadcast_to, &b, imp_call1(c, &tn_op_expand_dims, &column, v));
    return imp_reshape(c, v, 1, &t->dim[1]);
}

static void stash_type(imp_node *c)
{
    int64_t t = imp_attr_int(c, "stash_type", 1);
    if (t != 1 && t != 11)
        imp_fail(c, "onnx-E009", "stash_type is %lld; only 1 (float) and 11 (double) are supported",
                 (long long)t);
}

static void group_normalization(imp_node *c)
{
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2)};
    imp_attr_need(c, "num_groups");
    tn_norm_attr a = {.axis = 1,
                      .epsilon = imp_attr_float(c, "epsilon", 1e-5f),
                      .center = true,
                      .scale = true,
                      .num_groups = imp_attr_int(c, "num_groups", 1)};
    if (c->version >= 21)
        stash_type(c);
    for (int i = 1; i < 3 && c->version < 21 && imp_rank(in[i]) == 1; i++)
        in[i] = for_channels(c, in[i], a.num_groups, in[0]);
    imp_out(c, 0, imp_call(c, &tn_op_nn_group_norm, &a, 3, in));
}

/* ---- LayerNormalization, RMSNormalization: over all dimensions from `axis` on ---- */

typedef struct layer {
    tn_value x;
    int axis;
    double epsilon;
    tn_ints axes;
} layer;

static bool same_dims(const tn_type *a, const tn_type *t, int from)
{
    bool same = a->n == t->n - from;
    for (int i = 0; same && i < a->n; i++)
        same = a->dim[i] == t->dim[from + i];
    return same;
}

/* The results: y, the mean, 1 / deviation. */
static void results(imp_node *c, tn_value y, tn_value mean, tn_value inverse)
{
    imp_out(c, 0, y);
    imp_out_any(c, 1, mean);
    imp_out_any(c, 2, inverse);
}

/* gamma and beta have the shape of what is normalised: one kernel over rows. */
static void rows_norm(imp_node *c, const layer *l, tn_value gamma, tn_value beta)
{
    const tn_type *t = imp_type(l->x);
    tn_norm_attr a = {.axis = -1,
                      .epsilon = l->epsilon,
                      .center = beta.def != NULL,
                      .scale = true,
                      .moments = c->n_out > 1};
    const tn_op *op = c->row->relay;
    const tn_expr *flat[2] = {imp_product(c, t, 0, l->axis), imp_product(c, t, l->axis, t->n)};
    bool last = l->axis == t->n - 1;
    tn_value in[3] = {l->x, gamma, beta.def ? beta : gamma};
    for (int i = 0; i < 3 && !last; i++)
        in[i] = imp_reshape(c, in[i], i ? 1 : 2, i ? &flat[1] : flat);
    tn_value y = imp_call(c, op, &a, op == &tn_op_nn_rms_norm ? 2 : 3, in), m[3] = {y};
    const tn_expr *row[IMP_MAX_RANK];
    for (int i = 0; i < t->n; i++)
        row[i] = i < l->axis ? t->dim[i] : tn_idx(c->pool, 1);
    for (uint32_t k = 0; k < 3 && y.def && k < y.def->nout; k++) {
        m[k] = (tn_value){y.def, k};
        m[k] = last ? m[k] : imp_reshape(c, m[k], t->n, k ? row : t->dim);
    }
    results(c, m[0], m[1], m[2]);
}

/* gamma or beta are broadcast: step by step. */
static void stepwise_norm(imp_node *c, const layer *l, tn_value gamma, tn_value beta)
{
    tn_dtype t = imp_type(l->x)->dtype;
    tn_value d = tn_dtype_eq(t, TN_F64) ? l->x : imp_cast(c, l->x, TN_F32);
    tn_axes_attr a = {l->axes, true, false};
    moments m = {0};
    if (c->row->relay == &tn_op_nn_rms_norm)
        m.variance = imp_call1(c, &tn_op_mean, &a, product(c, d, d));
    else
        d = centred(c, d, &a, &m);
    tn_value e = imp_const(c, tn_dtype_eq(t, TN_F64) ? t : TN_F32, l->epsilon),
             inverse = imp_unary(c, &tn_op_rsqrt, imp_binary(c, &tn_op_add, m.variance, e));
    tn_value y = product(c, imp_cast(c, product(c, d, inverse), t), gamma);
    results(c, beta.def ? imp_binary(c, &tn_op_add, y, beta) : y, m.mean, inverse);
}

static void layer_normalization(imp_node *c)
{
    int64_t axes[IMP_MAX_RANK];
    layer l = {.x = imp_in(c, 0)};
    tn_value gamma = imp_in(c, 1), beta = c->row->max_in > 2 ? imp_opt(c, 2) : (tn_value){0};
    const tn_type *t = imp_type(l.x);
    l.axis = imp_axis(c, imp_attr_int(c, "axis", -1), t->n);
    l.epsilon = imp_attr_float(c, "epsilon", 1e-5f);
    stash_type(c);
    if (c->bad)
        return;
    for (int i = l.axis; i < t->n; i++)
        axes[i - l.axis] = i;
    l.axes = tn_ints_make(c->arena, (uint32_t)(t->n - l.axis), axes);
    bool whole = same_dims(imp_type(gamma), t, l.axis) && (!beta.def || same_dims(imp_type(beta), t, l.axis));
    whole = whole && tn_dtype_eq(imp_type(gamma)->dtype, t->dtype);
    gamma = imp_cast(c, gamma, t->dtype);
    (whole ? rows_norm : stepwise_norm)(c, &l, gamma, beta);
}

/* ---- MeanVarianceNormalization, LpNormalization, LRN ---- */

static void mean_variance_normalization(imp_node *c)
{
    static const int64_t usual[] = {0, 2, 3};
    tn_ints axes;
    tn_value x = imp_in(c, 0);
    if (!imp_attr_ints(c, "axes", &axes))
        axes = tn_ints_make(c->arena, 3, usual);
    moments m;
    tn_value d = centred(c, x, &(tn_axes_attr){axes, true, false}, &m);
    if (c->bad)
        return;
    tn_value deviation = imp_unary(c, &tn_op_sqrt, m.variance);
    tn_value e = imp_binary(c, &tn_op_add, deviation, imp_const(c, imp_type(x)->dtype, 1e-9));
    imp_out(c, 0, imp_binary(c, &tn_op_divide, d, e));
}

/* The experimental operator before opset 9. */
static void old_mean_variance_normalization(imp_node *c)
{
    static const int64_t all[] = {1, 2, 3, 4, 5, 6, 7};
    tn_value x = imp_in(c, 0);
    int first = imp_attr_int(c, "across_channels", 0) != 0 ? 1 : 2;
    if (imp_rank(x) <= first)
        imp_fail(c, "onnx-E022", "data %s has no positions", imp_type_text(c, imp_type(x)));
    uint32_t n = c->bad ? 0 : (uint32_t)(imp_rank(x) - first);
    moments m;
    tn_value y = centred(c, x, &(tn_axes_attr){tn_ints_make(c->arena, n, all + first - 1), true, false}, &m);
    if (imp_attr_int(c, "normalize_variance", 1) != 0 && !c->bad) {
        tn_value deviation = imp_unary(c, &tn_op_sqrt, m.variance);
        tn_value e = imp_binary(c, &tn_op_add, deviation, imp_const(c, imp_type(x)->dtype, 1e-9));
        y = imp_binary(c, &tn_op_divide, y, e);
    }
    imp_out(c, 0, y);
}

/* Rows of norm 0 stay as they are. */
static void lp_normalization(imp_node *c)
{
    int64_t axis = imp_attr_int(c, "axis", -1), p = imp_attr_int(c, "p", 2);
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &axis), true, false};
    tn_dtype own = imp_type(imp_in(c, 0))->dtype, t = imp_sum_dtype(own); /* a sum of squares is large */
    tn_value x = imp_cast(c, imp_in(c, 0), t);
    if (p != 1 && p != 2)
        imp_fail(c, "onnx-E009", "p is %lld; 1 and 2 are known", (long long)p);
    tn_value sum = imp_call1(c, &tn_op_sum, &a, p == 1 ? imp_unary(c, &tn_op_abs, x) : product(c, x, x));
    tn_value norm = p == 1 ? sum : imp_unary(c, &tn_op_sqrt, sum), one = imp_const(c, t, 1);
    tn_value zero = imp_binary(c, &tn_op_equal, norm, imp_const(c, t, 0));
    tn_value by = imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){zero, one, norm});
    imp_out(c, 0, imp_cast(c, imp_binary(c, &tn_op_divide, x, by), own));
}

static void lrn(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "size");
    tn_lrn_attr a = {.size = imp_attr_int(c, "size", 1),
                     .axis = 1,
                     .bias = imp_attr_float(c, "bias", 1),
                     .alpha = imp_attr_float(c, "alpha", 1e-4f),
                     .beta = imp_attr_float(c, "beta", 0.75f)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, x));
}

/* ---- Softmax, LogSoftmax, Hardmax ---- */

static bool all_ones(const tn_type *t, int from)
{
    bool ones = true;
    for (int i = from; i < t->n; i++)
        ones = ones && tn_is_value(t->dim[i], 1);
    return ones;
}

/* Everything from `axis` on is one dimension. */
static tn_value softmax_of_rest(imp_node *c, const tn_op *op, tn_value x, int axis)
{
    const tn_type *t = imp_type(x);
    tn_axis_attr last = {-1}, here = {axis};
    if (axis < t->n && all_ones(t, axis + 1))
        return imp_call1(c, op, &here, x);
    const tn_expr *flat[2] = {imp_product(c, t, 0, axis), imp_product(c, t, axis, t->n)};
    return imp_reshape(c, imp_call1(c, op, &last, imp_reshape(c, x, 2, flat)), t->n, t->dim);
}

tn_value onnx_softmax(imp_node *c, const tn_op *op, tn_value x, int64_t opset)
{
    bool rest = opset < 13;
    int64_t given = imp_attr_int(c, "axis", rest ? 1 : -1);
    int axis = imp_axis(c, given, imp_rank(x) + (rest && given >= 0 && imp_rank(x) == 1));
    if (c->bad)
        return (tn_value){0};
    tn_axis_attr a = {axis};
    return rest ? softmax_of_rest(c, op, x, axis) : imp_call1(c, op, &a, x);
}

static void softmax(imp_node *c) { imp_out(c, 0, onnx_softmax(c, c->row->relay, imp_in(c, 0), c->version)); }

/* ---- Dropout: the identity unless training ---- */

typedef struct dropout {
    tn_value x, training, ratio; /* training absent: always */
} dropout;

/* Elements whose number, drawn from [0, 1), is below the ratio are dropped; the others grow, so that the sum stays. */
static void drop(imp_node *c, const dropout *d, tn_value *out, tn_value *mask)
{
    const tn_type *t = imp_type(d->x);
    bool seeded = imp_has_attr(c, "seed");
    int64_t seed = seeded ? imp_attr_int(c, "seed", 0) : onnx_seed(c);
    tn_dims shape = {t->n, t->dim};
    tn_random_attr a = {shape, "uniform", 0, 1, seed, TN_F32};
    tn_value ratio = imp_cast(c, d->ratio, TN_F32), one = imp_const(c, TN_F32, 1);
    ratio = imp_rank(ratio) ? imp_reshape(c, ratio, 0, NULL) : ratio;
    tn_value drawn = seeded ? onnx_state(c, shape, seed, false) : imp_call(c, &tn_op_random, &a, 0, NULL);
    tn_value keep = imp_binary(c, &tn_op_greater_equal, drawn, imp_cast(c, ratio, seeded ? TN_F64 : TN_F32));
    tn_value left = imp_binary(c, &tn_op_subtract, one, ratio);
    tn_value none = imp_binary(c, &tn_op_equal, left, imp_const(c, TN_F32, 0));
    tn_value scale = imp_cast(c, imp_binary(c, &tn_op_divide, one, imp_choose(c, none, one, left)), t->dtype);
    tn_value grown = imp_binary(c, &tn_op_multiply, d->x, scale);
    *out = imp_choose(c, keep, grown, imp_const(c, t->dtype, 0));
    *mask = keep;
    if (!d->training.def)
        return;
    tn_value idle = imp_unary(c, &tn_op_logical_not, imp_cast(c, d->training, TN_BOOL1));
    idle = imp_rank(idle) ? imp_reshape(c, idle, 0, NULL) : idle;
    *out = imp_choose(c, idle, d->x, *out);
    *mask = imp_binary(c, &tn_op_logical_or, keep, idle);
}

static void dropout_node(imp_node *c)
{
    double training = 0, ratio = 0.5;
    tn_value x = imp_in(c, 0), mask;
    dropout d = {x, {0}, {0}};
    imp_attr_ignore(c, "ratio");
    imp_attr_ignore(c, "is_test");
    imp_attr_ignore(c, "consumed_inputs");
    if (imp_has(c, 2) && !imp_scalar(c, imp_in(c, 2), &training)) {
        training = 1;
        d.training = imp_in(c, 2);
    }
    if (c->bad)
        return;
    d.ratio = imp_has(c, 1) ? imp_in(c, 1) : imp_const(c, TN_F32, ratio);
    if (training != 0 && (!imp_scalar(c, d.ratio, &ratio) || ratio != 0)) {
        drop(c, &d, &x, &mask);
        imp_out(c, 0, x);
        imp_out_any(c, 1, mask);
        return;
    }
    imp_attr_ignore(c, "seed");
    imp_out(c, 0, x);
    if (c->n_out < 2 || c->bad)
        return;
    tn_broadcast_to_attr a = {{imp_type(x)->n, imp_type(x)->dim}}; /* the mask: everything is kept */
    imp_out(c, 1,
            imp_call1(c, &tn_op_broadcast_to, &a,
                      imp_const(c, c->version < 10 ? imp_type(x)->dtype : TN_BOOL1, 1)));
}

// clang-format off
const imp_row onnx_rows_norm[] = {
    {"BatchNormalization",        1, 13, 5, 1, batch_normalization,         NULL},
    {"BatchNormalization",       14,  0, 5, 3, batch_normalization,         NULL},
    {"InstanceNormalization",     1,  0, 3, 1, instance_normalization,      NULL},
    {"GroupNormalization",       18,  0, 3, 1, group_normalization,         NULL},
    {"LayerNormalization",        1,  0, 3, 3, layer_normalization,         &tn_op_nn_layer_norm},
    {"SimplifiedLayerNormalization", 1, 0, 2, 1, layer_normalization,        &tn_op_nn_rms_norm}, /* ONNX Runtime's */
    {"RMSNormalization",         23,  0, 2, 1, layer_normalization,         &tn_op_nn_rms_norm},
    {"MeanVarianceNormalization", 1,  8, 1, 1, old_mean_variance_normalization, NULL},
    {"MeanVarianceNormalization", 9,  0, 1, 1, mean_variance_normalization, NULL},
    {"LpNormalization",           1,  0, 1, 1, lp_normalization,            NULL},
    {"LRN",                       1,  0, 1, 1, lrn,                         NULL},
    {"Softmax",                   1,  0, 1, 1, softmax,                     &tn_op_nn_softmax},
    {"LogSoftmax",                1,  0, 1, 1, softmax,                     &tn_op_nn_log_softmax},
    {"Hardmax",                   1,  0, 1, 1, softmax,                     &tn_op_nn_hardmax},
    {"Dropout",                   1,  0, 3, 2, dropout_node,                NULL},
    {0},
};
// clang-format on
