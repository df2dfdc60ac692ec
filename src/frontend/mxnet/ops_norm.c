/* Normalisation and softmax of MXNet. */
#include "frontend/mxnet/mxnet.h"

#include <string.h>

/* ---- batch, instance, layer, group ---- */

static tn_value filled(imp_node *c, tn_value like, double v)
{
    tn_broadcast_to_attr a = {{(uint32_t)imp_rank(like), imp_type(like)->dim}};
    tn_value s = imp_const(c, imp_type(like)->dtype, v);
    return c->bad || !imp_rank(like) ? s : imp_call1(c, &tn_op_broadcast_to, &a, s);
}

/* Before 0.9 a symbol did not name the states of a layer, only its parameters. */
static tn_value state_in(imp_node *c, uint32_t i, const char *suffix)
{
    const mx_node *n = c->origin;
    if (imp_has(c, i))
        return imp_in(c, i);
    char *name =
        tn_arena_printf(&c->im->scratch, "%.*s_%s", (int)n->name.n, (const char *)n->name.at, suffix);
    tn_value v = mx_param(mx_of(c), (tn_bytes){(const uint8_t *)name, strlen(name)});
    if (!v.def)
        imp_refuse(c, IMP_OPERANDS, "operand %u is missing, and there is no parameter \"%s\"", (unsigned)i,
                   name);
    return v;
}

static void batch_norm(imp_node *c)
{
    tn_value in[5] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2), state_in(c, 3, "moving_mean"),
                      state_in(c, 4, "moving_var")};
    double epsilon = mx_float(c, "eps", 1e-3);
    int axis = imp_axis(c, mx_int(c, "axis", 1), imp_rank(in[0]));
    imp_attr_ignore(c, "momentum");
    imp_attr_ignore(c, "use_global_stats"); /* inference has no others */
    imp_attr_ignore(c, "key");
    imp_attr_ignore(c, "ndev");
    imp_attr_ignore(c, "output_mean_var");
    imp_attr_ignore(c, "min_calib_range");
    imp_attr_ignore(c, "max_calib_range");
    if (mx_bool(c, "fix_gamma", true))
        in[1] = filled(c, in[1], 1);
    for (int i = 1; i < 5; i++)
        in[i] = imp_cast(c, in[i], imp_type(in[0])->dtype);
    imp_out(c, 0, imp_batch_norm(c, in, axis, epsilon));
    imp_out_any(c, 1, in[3]);
    imp_out_any(c, 2, in[4]);
}

static void norm_layer(imp_node *c)
{
    bool instance = c->row->relay == &tn_op_nn_instance_norm;
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2)};
    tn_norm_attr a = {.axis = instance ? 1 : mx_int(c, "axis", -1),
                      .epsilon = mx_float(c, "eps", instance ? 1e-3 : 1e-5),
                      .center = true,
                      .scale = true};
    imp_attr_ignore(c, "output_mean_var");
    imp_out(c, 0, imp_call(c, c->row->relay, &a, 3, in));
}

/* gamma and beta have an element a group, or a channel in later releases. */
static void group_norm(imp_node *c)
{
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2)};
    tn_norm_attr a = {.axis = 1,
                      .num_groups = mx_int(c, "num_groups", 1),
                      .epsilon = mx_float(c, "eps", 1e-5),
                      .center = true,
                      .scale = true};
    int64_t channels, each;
    imp_attr_ignore(c, "output_mean_var");
    bool known =
        !c->bad && imp_rank(in[0]) > 2 && tn_is_int(imp_type(in[0])->dim[1], &channels) && a.num_groups > 0;
    for (int i = 1; i < 3 && known; i++) {
        if (imp_rank(in[i]) != 1 || !tn_is_int(imp_type(in[i])->dim[0], &each) || each == channels ||
            each < 1 || channels % each)
            continue;
        const tn_expr *pair[2] = {imp_type(in[i])->dim[0], tn_idx(c->pool, channels / each)};
        const tn_expr *all = tn_idx(c->pool, channels);
        tn_broadcast_to_attr b = {tn_dims_make(c->arena, 2, pair)};
        in[i] = imp_call1(c, &tn_op_broadcast_to, &b, imp_unsqueeze(c, in[i], 1));
        in[i] = imp_reshape(c, in[i], 1, &all);
    }
    imp_out(c, 0, imp_call(c, &tn_op_nn_group_norm, &a, 3, in));
}

/* x / sqrt(sum of squares + eps), over everything but the batch, the channels, or the places */
static void l2_normalization(imp_node *c)
{
    static const char *const modes[] = {"instance", "channel", "spatial", NULL};
    int64_t axis[IMP_MAX_RANK];
    tn_value x = imp_in(c, 0);
    int mode = mx_choice(c, "mode", 0, modes), rank = imp_rank(x), n = 0;
    for (int i = mode == 2 ? 2 : 1; i < (mode == 1 ? 2 : rank); i++)
        axis[n++] = i;
    tn_axes_attr a = {tn_ints_make(c->arena, (uint32_t)n, axis), true, false};
    tn_value sum = imp_call1(c, &tn_op_sum, &a, imp_binary(c, &tn_op_multiply, x, x));
    sum = imp_with(c, &tn_op_add, sum, mx_float(c, "eps", 1e-10));
    imp_out(c, 0, imp_binary(c, &tn_op_divide, x, imp_unary(c, &tn_op_sqrt, sum)));
}

static void lrn(imp_node *c)
{
    tn_lrn_attr a = {.axis = 1,
                     .size = mx_int(c, "nsize", 5),
                     .alpha = mx_float(c, "alpha", 1e-4),
                     .beta = mx_float(c, "beta", 0.75),
                     .bias = mx_float(c, "knorm", 2)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_lrn, &a, imp_in(c, 0)));
}

/* ---- softmax ---- */

static void softmax(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    double t = mx_float(c, "temperature", 1);
    tn_dtype result = mx_dtype(c, "dtype", imp_type(x)->dtype);
    if (mx_bool(c, "use_length", false))
        imp_refuse(c, IMP_BAD_VALUE, "lengths of sequences (use_length) are not supported");
    if (c->row->op[4] == 'm' && c->row->op[5] == 'i') /* softmin */
        x = imp_unary(c, &tn_op_negative, x);
    x = t == 1 ? x : imp_with(c, &tn_op_divide, x, t);
    imp_out(c, 0, imp_cast(c, imp_softmax(c, c->row->relay, x, mx_int(c, "axis", -1)), result));
}

/* Everything behind the batch is one distribution. */
static tn_value softmax_of_rest(imp_node *c, tn_value x)
{
    const tn_type *t = imp_type(x);
    tn_value y = imp_softmax(c, &tn_op_nn_softmax, imp_flatten(c, x, 1), 1);
    return t->n == 2 ? y : imp_reshape(c, y, t->n, t->dim);
}

static void softmax_output(imp_node *c)
{
    static const char *const training[] = {"grad_scale",    "ignore_label", "use_ignore",
                                           "normalization", "out_grad",     "smooth_alpha"};
    tn_value x = imp_in(c, 0);
    for (size_t i = 0; i < sizeof training / sizeof *training; i++)
        imp_attr_ignore(c, training[i]);
    bool channels = mx_bool(c, "multi_output", false), last = mx_bool(c, "preserve_shape", false);
    imp_out(c, 0,
            channels || last ? imp_softmax(c, &tn_op_nn_softmax, x, channels ? 1 : -1)
                             : softmax_of_rest(c, x));
}

/* "instance" is each row of the last dimension, whatever its documentation says. */
static void softmax_activation(imp_node *c)
{
    static const char *const modes[] = {"instance", "channel", NULL};
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_softmax(c, &tn_op_nn_softmax, x, mx_choice(c, "mode", 0, modes) ? 1 : -1));
}

// clang-format off
const imp_row mx_rows_norm[] = {
    {"BatchNorm",               0, 0, 5, 3, batch_norm,         NULL},
    {"BatchNorm_v1",            0, 0, 5, 3, batch_norm,         NULL},
    {"CuDNNBatchNorm",          0, 0, 5, 3, batch_norm,         NULL},
    {"_contrib_SyncBatchNorm",  0, 0, 5, 3, batch_norm,         NULL},
    {"_npx_batch_norm",         0, 0, 5, 3, batch_norm,         NULL},
    {"InstanceNorm",            0, 0, 3, 1, norm_layer,         &tn_op_nn_instance_norm},
    {"LayerNorm",               0, 0, 3, 1, norm_layer,         &tn_op_nn_layer_norm},
    {"_npx_layer_norm",         0, 0, 3, 1, norm_layer,         &tn_op_nn_layer_norm},
    {"GroupNorm",               0, 0, 3, 1, group_norm,         NULL},
    {"L2Normalization",         0, 0, 1, 1, l2_normalization,   NULL},
    {"LRN",                     0, 0, 1, 1, lrn,                NULL},
    {"softmax",                 0, 0, 1, 1, softmax,            &tn_op_nn_softmax},
    {"_npx_softmax",            0, 0, 1, 1, softmax,            &tn_op_nn_softmax},
    {"softmin",                 0, 0, 1, 1, softmax,            &tn_op_nn_softmax},
    {"log_softmax",             0, 0, 1, 1, softmax,            &tn_op_nn_log_softmax},
    {"_npx_log_softmax",        0, 0, 1, 1, softmax,            &tn_op_nn_log_softmax},
    {"SoftmaxOutput",           0, 0, 1, 1, softmax_output,     NULL},
    {"Softmax",                 0, 0, 1, 1, softmax_output,     NULL},
    {"SoftmaxActivation",       0, 0, 1, 1, softmax_activation, NULL},
    {0},
};
// clang-format on
