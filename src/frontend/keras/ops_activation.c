/* Activations that are layers. */
#include "frontend/keras/rows.h"

#include <string.h>

static void activation(imp_node *c) { keras_out(c, keras_activation(c, keras_in(c, 0))); }

static tn_value scaled(imp_node *c, tn_value x, double by)
{
    return imp_binary(c, &tn_op_multiply, x, keras_like(c, x, by));
}

/* threshold <= x < max: x; beyond: max; below: negative_slope * (x - threshold) */
static void relu(imp_node *c)
{
    tn_value x = keras_in(c, 0), y = x;
    double slope = keras_real(c, "negative_slope", 0), threshold = keras_real(c, "threshold", 0);
    bool limited = keras_config(c, "max_value") != NULL;
    double most = keras_real(c, "max_value", 0);
    tn_alpha_attr alpha = {slope};
    if (c->bad)
        return;
    if (threshold != 0) {
        tn_value t = keras_like(c, x, threshold), below = keras_like(c, x, 0);
        if (slope != 0)
            below = scaled(c, imp_binary(c, &tn_op_subtract, x, t), slope);
        tn_value in[] = {imp_binary(c, &tn_op_less, x, t), below, x};
        y = imp_call(c, &tn_op_where, NULL, 3, in);
    } else {
        y = slope != 0 ? imp_call1(c, &tn_op_nn_leaky_relu, &alpha, x) : imp_unary(c, &tn_op_nn_relu, x);
    }
    keras_out(c, limited ? imp_binary(c, &tn_op_minimum, y, keras_like(c, y, most)) : y);
}

static void leaky_relu(imp_node *c)
{
    tn_alpha_attr a = {keras_real(c, "negative_slope", 0.3)};
    keras_out(c, imp_call1(c, &tn_op_nn_leaky_relu, &a, keras_in(c, 0)));
}

static void with_alpha(imp_node *c)
{
    bool theta = c->row->relay == &tn_op_nn_thresholded_relu;
    tn_alpha_attr a = {keras_real(c, theta ? "theta" : "alpha", 1)};
    keras_out(c, imp_call1(c, c->row->relay, &a, keras_in(c, 0)));
}

/* alpha has the extents of x, or 1 along shared axes. */
static void prelu(imp_node *c)
{
    keras_ignore(c, "shared_axes");
    keras_out(c, imp_binary(c, &tn_op_nn_prelu, keras_in(c, 0), keras_variable_of(c, "alpha")));
}

/* e^(x - max) by the sum over several axes. */
static tn_value softmax_over(imp_node *c, tn_value x, int n, const int64_t axis[])
{
    tn_value most = keras_reduce(c, &tn_op_max, x, n, axis, true);
    tn_value e = imp_unary(c, &tn_op_exp, imp_binary(c, &tn_op_subtract, x, most));
    return imp_binary(c, &tn_op_divide, e, keras_reduce(c, &tn_op_sum, e, n, axis, true));
}

static void softmax(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK] = {-1};
    tn_value x = keras_in(c, 0), mask = keras_tensor_of(c, 1, "mask");
    int n = keras_list(c, "axis", IMP_MAX_RANK, axis);
    if (c->bad)
        return;
    if (mask.def) {
        double least = imp_type(x)->dtype.bits == 16 ? -3e4 : -1e9;
        mask = imp_cast(c, mask, TN_BOOL1);
        x = imp_choose(c, mask, x, keras_like(c, x, least));
    }
    tn_value y = n > 1 ? softmax_over(c, x, n, axis) : keras_softmax(c, x, axis[0]);
    keras_out(c, mask.def && c->version >= 3 ? imp_choose(c, mask, y, keras_like(c, y, 0)) : y);
}

// clang-format off
const keras_row keras_rows_activation[] = {
    LAYER("Activation",      activation, NULL, NULL, 0, NULL),
    LAYER("ReLU",            relu,       NULL, NULL, 0, NULL),
    LAYER("LeakyReLU",       leaky_relu, NULL, NULL, 0, NULL),
    LAYER("ELU",             with_alpha, &tn_op_nn_elu, NULL, 0, NULL),
    LAYER("ThresholdedReLU", with_alpha, &tn_op_nn_thresholded_relu, NULL, 0, NULL),
    LAYER("PReLU",           prelu,      NULL, "alpha", 0, NULL),
    LAYER("Softmax",         softmax,    NULL, NULL, 0, NULL),
    END_OF_ROWS,
};
// clang-format on
