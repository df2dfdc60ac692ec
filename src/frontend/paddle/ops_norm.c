/* Normalisation, softmax, dropout. */
#include "frontend/paddle/paddle.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* An operand of n elements, or a constant in its place. */
static tn_value or_number(imp_node *c, const char *param, double v, const tn_expr *n, tn_dtype t)
{
    tn_value given = pd_opt(c, param);
    return given.def || c->bad ? given : pd_full(c, imp_const(c, t, v), tn_dims_make(c->arena, 1, &n));
}

static void batch_norm(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int rank = imp_rank(x);
    bool last = pd_is_last(c, "data_layout");
    tn_batch_norm_attr a = {last ? rank - 1 : rank > 1, imp_attr_float(c, "epsilon", 1e-5f), true, true};
    tn_dtype t = imp_type(x)->dtype;
    if (!pd_bool(c, "is_test", true) && !pd_bool(c, "use_global_stats", false))
        imp_refuse(c, IMP_BAD_VALUE,
                   "it computes the statistics of the batch, as while training; save the model for "
                   "inference");
    (void)pd_count(c, "MomentumTensor");
    if (!c->bad && rank < 1)
        imp_refuse(c, IMP_OPERANDS, "data %s has no channels", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    const tn_expr *channels = imp_type(x)->dim[a.axis];
    tn_value mean = pd_in(c, "Mean"), variance = pd_in(c, "Variance");
    tn_dtype sums = imp_type(mean)->dtype;
    tn_value in[5] = {imp_cast(c, x, sums), or_number(c, "Scale", 1, channels, sums),
                      or_number(c, "Bias", 0, channels, sums), mean, variance};
    pd_out(c, "Y", imp_cast(c, imp_call(c, &tn_op_nn_batch_norm, &a, 5, in), t));
    pd_out(c, "MeanOut", mean);
    pd_out(c, "VarianceOut", variance);
}

/* Over all dimensions from one on, with a factor and an addend for each element of those. */
static void layer_norm(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    const tn_type *t = imp_type(x);
    int axis = imp_axis(c, imp_attr_int(c, "begin_norm_axis", 1), t->n);
    tn_norm_attr a = {
        .axis = -1, .epsilon = imp_attr_float(c, "epsilon", 1e-5f), .center = true, .scale = true};
    if (c->bad)
        return;
    const tn_expr *flat[2] = {imp_product(c, t, 0, axis), imp_product(c, t, axis, t->n)};
    bool one = axis == t->n - 1;
    tn_value gamma = or_number(c, "Scale", 1, flat[1], t->dtype),
             beta = or_number(c, "Bias", 0, flat[1], t->dtype);
    tn_value in[3] = {one ? x : imp_reshape(c, x, 2, flat), imp_cast(c, gamma, t->dtype),
                      imp_cast(c, beta, t->dtype)};
    tn_value y = imp_call(c, &tn_op_nn_layer_norm, &a, 3, in);
    pd_out(c, "Y", one ? y : imp_reshape(c, y, t->n, t->dim));
}

static void instance_norm(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    bool groups = strcmp(c->row->op, "group_norm") == 0, last = groups && pd_is_last(c, "data_layout");
    tn_norm_attr a = {
        .axis = 1, .epsilon = imp_attr_float(c, "epsilon", 1e-5f), .center = true, .scale = true};
    a.num_groups = groups ? imp_attr_int(c, "groups", 1) : 0;
    if (!c->bad && imp_rank(x) < 2)
        imp_refuse(c, IMP_TOO_LARGE, "data %s has no channels", imp_type_text(c, imp_type(x)));
    x = last && !c->bad ? imp_channels_first(c, x) : x;
    if (c->bad)
        return;
    const tn_type *t = imp_type(x);
    tn_value in[3] = {x, or_number(c, "Scale", 1, t->dim[1], t->dtype),
                      or_number(c, "Bias", 0, t->dim[1], t->dtype)};
    tn_value y = imp_call(c, groups ? &tn_op_nn_group_norm : &tn_op_nn_instance_norm, &a, 3, in);
    pd_out(c, "Y", last && !c->bad ? imp_channels_last(c, y) : y);
}

/* x / (k + alpha sum x^2)^beta over neighbouring channels */
static void lrn(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    bool last = pd_is_last(c, "data_format");
    tn_lrn_attr a = {.size = imp_attr_int(c, "n", 5),
                     .axis = last ? imp_rank(x) - 1 : 1,
                     .bias = imp_attr_float(c, "k", 2),
                     .beta = imp_attr_float(c, "beta", 0.75f)};
    a.alpha = imp_attr_float(c, "alpha", 1e-4f) * (double)a.size;
    pd_out(c, "Out", imp_call1(c, &tn_op_nn_lrn, &a, x));
}

static void softmax(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int axis = imp_axis(c, imp_attr_int(c, "axis", -1), imp_rank(x) ? imp_rank(x) : 1);
    if (imp_rank(x) == 0 && !c->bad)
        pd_out(c, "Out", imp_squeeze(c, imp_softmax(c, c->row->relay, imp_unsqueeze(c, x, 0), 0), 0));
    else
        pd_out(c, "Out", imp_softmax(c, c->row->relay, x, axis));
}

/* -log of the probability of the label, and the probabilities */
static void softmax_loss(imp_node *c)
{
    tn_value x = pd_in(c, "Logits"), label = pd_in(c, "Label");
    int64_t axis = imp_axis(c, imp_attr_int(c, "axis", -1), imp_rank(x)),
            none = imp_attr_int(c, "ignore_index", -100);
    bool soft = pd_bool(c, "soft_label", false);
    if (!pd_bool(c, "use_softmax", true))
        imp_refuse(c, IMP_BAD_VALUE, "attribute use_softmax must be true");
    tn_value l = imp_softmax(c, &tn_op_nn_log_softmax, x, axis), loss;
    if (soft) {
        loss = pd_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, label, l),
                         tn_ints_make(c->arena, 1, &axis), true);
    } else {
        tn_axis_attr a = {axis};
        label = imp_rank(label) < imp_rank(x) ? imp_unsqueeze(c, label, axis) : label;
        loss = imp_call2(c, &tn_op_gather, &a, l, label);
        tn_value ignored = imp_with(c, &tn_op_equal, label, (double)none);
        loss = imp_choose(c, ignored, pd_number(c, l, 0), loss);
    }
    pd_out(c, "Softmax", imp_softmax(c, &tn_op_nn_softmax, x, axis));
    pd_out(c, "Loss", imp_unary(c, &tn_op_negative, loss));
}

/* In inference one form passes data on, the other scales it. */
static void dropout(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    const char *how = imp_attr_string(c, "dropout_implementation", "downgrade_in_infer");
    double p = imp_attr_float(c, "dropout_prob", 0.5f);
    tn_value late = pd_opt(c, "Prob");
    if (late.def && !imp_scalar(c, late, &p))
        imp_refuse(c, IMP_NOT_CONSTANT, "the probability must be known at compile time");
    imp_attr_ignore(c, "fix_seed");
    imp_attr_ignore(c, "seed");
    (void)pd_count(c, "Seed");
    pd_out(c, "Out", strcmp(how, "upscale_in_train") == 0 ? x : imp_with(c, &tn_op_multiply, x, 1 - p));
}

// clang-format off
const imp_row pd_rows_norm[] = {
    {"batch_norm",                 1, 0, -1, -1, batch_norm,    NULL},
    {"dropout",                    1, 0, -1, -1, dropout,       NULL},
    {"group_norm",                 1, 0, -1, -1, instance_norm, NULL},
    {"instance_norm",              1, 0, -1, -1, instance_norm, NULL},
    {"layer_norm",                 1, 0, -1, -1, layer_norm,    NULL},
    {"log_softmax",                1, 0, -1, -1, softmax,       &tn_op_nn_log_softmax},
    {"lrn",                        1, 0, -1, -1, lrn,           NULL},
    {"softmax",                    1, 0, -1, -1, softmax,       &tn_op_nn_softmax},
    {"softmax_with_cross_entropy", 1, 0, -1, -1, softmax_loss,  NULL},
    {"sync_batch_norm",            1, 0, -1, -1, batch_norm,    NULL},
    {0},
};
// clang-format on
