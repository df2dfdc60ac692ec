/* Normalisations. */
#include "frontend/keras/rows.h"

#include <string.h>

/* Along one axis, which old versions wrote as a list. */
static void batch_norm(imp_node *c)
{
    if (keras_int(c, "mode", 0) != 0) /* of Keras 1: those of the batch or the row, in inference too */
        imp_refuse(c, IMP_BAD_VALUE, "only mode 0, by the averages that were learned, is supported");
    tn_value x = keras_in(c, 0), gamma = keras_optional(c, "gamma"), beta = keras_optional(c, "beta");
    tn_value mean = keras_variable_of(c, "moving_mean"), variance = keras_variable_of(c, "moving_variance");
    tn_batch_norm_attr a = {
        .epsilon = keras_real(c, "epsilon", 1e-3), .center = beta.def, .scale = gamma.def};
    keras_ignore(c, "center");
    keras_ignore(c, "scale");
    a.axis = c->bad ? 0 : imp_axis(c, keras_int(c, "axis", -1), imp_rank(x));
    tn_value in[] = {x, gamma.def ? gamma : variance, beta.def ? beta : mean, mean, variance};
    keras_out(c, imp_call(c, &tn_op_nn_batch_norm, &a, 5, in));
}

/* Axes in rising order; their number. */
static int read_axes(imp_node *c, tn_value x, int64_t axis[])
{
    int64_t given[IMP_MAX_RANK] = {-1};
    int n = keras_list(c, "axis", IMP_MAX_RANK, given), count = 0;
    bool named[IMP_MAX_RANK] = {false};
    for (int i = 0; i < (n < 0 ? 1 : n) && !c->bad; i++)
        named[imp_axis(c, given[i], imp_rank(x))] = true;
    for (int i = 0; i < IMP_MAX_RANK; i++)
        if (named[i])
            axis[count++] = i;
    return c->bad ? 0 : count;
}

/* v has the extents of x along the axes; as one that broadcasts to x. */
static tn_value along(imp_node *c, tn_value v, tn_value x, int n, const int64_t axis[])
{
    const tn_expr *dim[IMP_MAX_RANK];
    for (int i = 0; i < imp_rank(x); i++)
        dim[i] = tn_idx(c->pool, 1);
    for (int i = 0; i < n; i++)
        dim[axis[i]] = imp_type(x)->dim[axis[i]];
    return c->bad || !v.def ? v : imp_reshape(c, v, imp_rank(x), dim);
}

typedef struct moments {
    tn_value centred, inverse; /* x - mean; 1 / deviation */
} moments;

static moments moments_of(imp_node *c, tn_value x, int n, const int64_t axis[], double epsilon, bool rms)
{
    moments m = {.centred = x};
    if (!rms)
        m.centred = imp_binary(c, &tn_op_subtract, x, keras_reduce(c, &tn_op_mean, x, n, axis, true));
    tn_value squares = imp_binary(c, &tn_op_multiply, m.centred, m.centred);
    tn_value variance = keras_reduce(c, &tn_op_mean, squares, n, axis, true);
    m.inverse =
        imp_unary(c, &tn_op_rsqrt, imp_binary(c, &tn_op_add, variance, keras_like(c, variance, epsilon)));
    return m;
}

static tn_value scaled(imp_node *c, const moments *m, tn_value gamma, tn_value beta)
{
    tn_value y = imp_binary(c, &tn_op_multiply, m->centred, m->inverse);
    y = gamma.def ? imp_binary(c, &tn_op_multiply, y, gamma) : y;
    return beta.def ? imp_binary(c, &tn_op_add, y, beta) : y;
}

/* Sums of 16-bit floats are taken in float32. */
static tn_value widened(imp_node *c, tn_value x)
{
    return c->bad ? x : imp_cast(c, x, imp_sum_dtype(imp_type(x)->dtype));
}

static tn_value layer_norm_of(imp_node *c, tn_value x, tn_value gamma, tn_value beta, double epsilon,
                              bool rms)
{
    int64_t axis[IMP_MAX_RANK];
    int n = read_axes(c, x, axis);
    tn_norm_attr a = {.axis = -1, .epsilon = epsilon, .center = beta.def, .scale = gamma.def};
    if (c->bad)
        return x;
    if (n == 1 && axis[0] == imp_rank(x) - 1 && gamma.def && imp_rank(gamma) == 1) {
        tn_value in[] = {x, gamma, beta.def ? beta : gamma};
        return imp_call(c, rms ? &tn_op_nn_rms_norm : &tn_op_nn_layer_norm, &a, rms ? 2 : 3, in);
    }
    tn_value wide = widened(c, x);
    moments m = moments_of(c, wide, n, axis, epsilon, rms);
    gamma = keras_as(c, along(c, gamma, x, n, axis), wide);
    beta = keras_as(c, along(c, beta, x, n, axis), wide);
    return keras_as(c, scaled(c, &m, gamma, beta), x);
}

/* x / deviation: as the code of Keras has rms_scaling, not its manual, which speaks of the mean of squares. */
static tn_value by_deviation(imp_node *c, tn_value x, tn_value gamma, double epsilon)
{
    int64_t axis[IMP_MAX_RANK];
    int n = read_axes(c, x, axis);
    tn_value wide = widened(c, x);
    moments m = moments_of(c, wide, n, axis, epsilon, false);
    m.centred = wide;
    gamma = keras_as(c, along(c, gamma, x, n, axis), wide);
    return keras_as(c, scaled(c, &m, gamma, (tn_value){0}), x);
}

static void layer_norm(imp_node *c)
{
    keras_ignore(c, "center");
    keras_ignore(c, "scale");
    bool rms = keras_bool(c, "rms_scaling", false);
    tn_value gamma = keras_optional(c, "gamma"), beta = keras_optional(c, "beta");
    double epsilon = keras_real(c, "epsilon", 1e-3);
    tn_value x = keras_in(c, 0);
    keras_out(c, rms ? by_deviation(c, x, gamma, epsilon) : layer_norm_of(c, x, gamma, beta, epsilon, false));
}

static void rms_norm(imp_node *c)
{
    tn_value scale = keras_variable_of(c, "scale");
    keras_out(c,
              layer_norm_of(c, keras_in(c, 0), scale, (tn_value){0}, keras_real(c, "epsilon", 1e-6), true));
}

/* The channels, split in groups, each normalised over itself and all dimensions but the first. */
static void group_norm(imp_node *c)
{
    tn_value x = keras_in(c, 0), gamma = keras_optional(c, "gamma"), beta = keras_optional(c, "beta");
    int64_t groups = keras_int(c, "groups", 32), channels = 0, reduce[IMP_MAX_RANK];
    double epsilon = keras_real(c, "epsilon", 1e-3);
    keras_ignore(c, "center");
    keras_ignore(c, "scale");
    int axis = c->bad ? 0 : imp_axis(c, keras_int(c, "axis", -1), imp_rank(x)), n = 0;
    if (c->bad)
        return;
    bool known = tn_is_int(imp_type(x)->dim[axis], &channels);
    groups = groups == -1 ? channels : groups;
    if (!known || axis == 0 || groups < 1 || channels % groups || imp_rank(x) >= IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "%lld groups do not divide the channels of %s; the model is damaged",
                   (long long)groups, imp_type_text(c, imp_type(x)));
        return;
    }
    const tn_expr *split[IMP_MAX_RANK], *wide[IMP_MAX_RANK];
    for (int i = 0; i <= imp_rank(x); i++) {
        split[i] = imp_type(x)->dim[i > axis ? i - 1 : i < imp_rank(x) ? i : i - 1];
        wide[i] = tn_idx(c->pool, 1);
        if (i != 0 && i != axis)
            reduce[n++] = i;
    }
    split[axis] = wide[axis] = tn_idx(c->pool, groups);
    split[axis + 1] = wide[axis + 1] = tn_idx(c->pool, channels / groups);
    int rank = imp_rank(x) + 1;
    tn_value y = widened(c, imp_reshape(c, x, rank, split));
    moments m = moments_of(c, y, n, reduce, epsilon, false);
    gamma = gamma.def ? keras_as(c, imp_reshape(c, gamma, rank, wide), y) : gamma;
    beta = beta.def ? keras_as(c, imp_reshape(c, beta, rank, wide), y) : beta;
    y = keras_as(c, scaled(c, &m, gamma, beta), x);
    keras_out(c, c->bad ? y : imp_reshape(c, y, rank - 1, imp_type(x)->dim));
}

/* x / max(length, 1e-12) */
static void unit_norm(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t axis[IMP_MAX_RANK];
    int n = read_axes(c, x, axis);
    tn_value squares = keras_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, x), n, axis, true);
    tn_value least = keras_like(c, squares, imp_type(squares)->dtype.bits == 16 ? 1e-7 : 1e-24);
    tn_value inverse = imp_unary(c, &tn_op_rsqrt, imp_binary(c, &tn_op_maximum, squares, least));
    keras_out(c, imp_binary(c, &tn_op_multiply, x, inverse));
}

/* ---- functions of keras.ops: the parameters are operands ---- */

static void layer_norm_function(imp_node *c)
{
    tn_value x = keras_in(c, 0), gamma = keras_optional_operand(c, 1, "gamma scale"),
             beta = keras_optional_operand(c, 2, "beta");
    bool rms = c->row->op[0] == 'R', deviation = keras_param_truth(c, -1, "rms_scaling");
    double epsilon = keras_param_real(c, 4, "epsilon", 1e-7); /* of keras.backend, unless it was set */
    if (!c->bad)
        keras_out(c, deviation ? by_deviation(c, x, gamma, epsilon)
                               : layer_norm_of(c, x, gamma, beta, epsilon, rms));
}

static void batch_norm_function(imp_node *c)
{
    tn_value x = keras_in(c, 0), mean = keras_any_operand(c, 1, "mean"),
             variance = keras_any_operand(c, 2, "variance");
    tn_value beta = keras_optional_operand(c, 4, "offset"), gamma = keras_optional_operand(c, 5, "scale");
    tn_batch_norm_attr a = {
        .epsilon = keras_param_real(c, 6, "epsilon", 1e-3), .center = beta.def, .scale = gamma.def};
    a.axis = keras_param_axis(c, 3, "axis", -1, imp_rank(x));
    tn_value in[] = {x, gamma.def ? gamma : variance, beta.def ? beta : mean, mean, variance};
    for (int i = 1; i < 5; i++)
        in[i] = keras_as(c, in[i], x);
    keras_out(c, imp_call(c, &tn_op_nn_batch_norm, &a, 5, in));
}

// clang-format off
const keras_row keras_rows_norm[] = {
    LAYER("BatchNormalization",   batch_norm, NULL, "gamma?scale beta?center -moving_mean -moving_variance", 0, NULL),
    LAYER("BatchNormalizationV1", batch_norm, NULL, "gamma?scale beta?center -moving_mean -moving_variance", 0, NULL),
    LAYER("BatchNormalizationV2", batch_norm, NULL, "gamma?scale beta?center -moving_mean -moving_variance", 0, NULL),
    LAYER("SyncBatchNormalization", batch_norm, NULL, "gamma?scale beta?center -moving_mean -moving_variance", 0, NULL),
    LAYER("LayerNormalization",   layer_norm, NULL, "gamma?scale+rms_scaling beta?center-rms_scaling", 0, NULL),
    LAYER("RMSNormalization",     rms_norm,   NULL, "scale", KERAS_DROPS_MASK, NULL),
    LAYER("GroupNormalization",   group_norm, NULL, "gamma?scale beta?center", 0, NULL),
    LAYER("UnitNormalization",    unit_norm,  NULL, NULL, 0, NULL),
    LAYER("LayerNorm",            layer_norm_function, NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("RMSNorm",              layer_norm_function, NULL, NULL, KERAS_OPERATION, NULL),
    LAYER("BatchNorm",            batch_norm_function, NULL, NULL, KERAS_OPERATION, NULL),
    END_OF_ROWS,
};
// clang-format on
