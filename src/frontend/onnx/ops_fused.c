/* Operators that ONNX Runtime's optimiser writes into models: convolution and matrix product with what follows or
 * precedes them. */
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- activations by name ---- */

typedef struct activation {
    const char *name;
    const tn_op *op;
    double parameter[2];
    int n;
} activation;

static const activation activations[] = {
    {"Relu", &tn_op_nn_relu, {0}, 0},
    {"Sigmoid", &tn_op_sigmoid, {0}, 0},
    {"Tanh", &tn_op_tanh, {0}, 0},
    {"LeakyRelu", &tn_op_nn_leaky_relu, {0.01}, 1},
    {"Clip", &tn_op_clip, {-3.4028234663852886e38, 3.4028234663852886e38}, 2},
    {"HardSigmoid", &tn_op_nn_hard_sigmoid, {0.2, 0.5}, 2},
};

/* The parameters of these operators are the first fields of their attributes: one or two numbers. */
static tn_value activate(imp_node *c, tn_value y)
{
    const char *name = imp_attr_string(c, "activation", "");
    const imp_attr *given = imp_attr_find(c, "activation_params", IMP_A_FLOATS);
    const activation *a = NULL;
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(name, activations[i].name) == 0)
            a = &activations[i];
    if (!a) {
        if (name[0] && !c->bad)
            imp_fail(c, "onnx-E009", "activation \"%s\" is not known", name);
        return y;
    }
    double parameter[2] = {a->parameter[0], a->parameter[1]};
    for (int i = 0; given && i < a->n && i < (int)given->floats.n; i++)
        parameter[i] = given->floats.at[i];
    return imp_call1(c, a->op, a->n ? parameter : NULL, y);
}

/* ---- FusedConv: X, W, B, Z: activation(conv(X, W) + B + Z) ---- */

static void fused_conv(imp_node *c)
{
    static const tn_axis_attr channels = {1};
    tn_value in[2] = {imp_in(c, 0), imp_in(c, 1)}, bias = imp_opt(c, 2), more = imp_opt(c, 3);
    int rank = imp_rank(in[0]);
    const tn_op *op = rank == 3 ? &tn_op_nn_conv1d : rank == 5 ? &tn_op_nn_conv3d : &tn_op_nn_conv2d;
    tn_conv2d_attr a;
    if (!onnx_conv_attr(c, in[0], in[1], op, &a))
        return;
    tn_value y = imp_call(c, op, &a, 2, in);
    y = bias.def ? imp_call2(c, &tn_op_nn_bias_add, &channels, y, bias) : y;
    y = more.def ? imp_call2(c, &tn_op_add, NULL, y, more) : y;
    imp_out(c, 0, activate(c, y));
}

/* ---- FusedMatMul: alpha * A' B', each perhaps transposed ---- */

/* With `batch` the matrices' rows are dimension 0, before the batch. */
static tn_value turned(imp_node *c, tn_value v, bool matrix, bool batch)
{
    int64_t perm[IMP_MAX_RANK], t;
    int n = imp_rank(v);
    if (c->bad || n < 2 || (!matrix && !batch))
        return v;
    for (int i = 0; i < n; i++)
        perm[i] = batch && i < n - 1 ? (i + 1) % (n - 1) : i;
    if (matrix) {
        t = perm[n - 2];
        perm[n - 2] = perm[n - 1];
        perm[n - 1] = t;
    }
    return imp_transpose(c, v, n, perm);
}

static void fused_matmul(imp_node *c)
{
    double alpha = imp_attr_float(c, "alpha", 1);
    tn_value a =
        turned(c, imp_in(c, 0), imp_attr_int(c, "transA", 0) != 0, imp_attr_int(c, "transBatchA", 0) != 0);
    tn_value b =
        turned(c, imp_in(c, 1), imp_attr_int(c, "transB", 0) != 0, imp_attr_int(c, "transBatchB", 0) != 0);
    tn_value y = onnx_matmul(c, a, b, NULL);
    imp_out(c, 0,
            alpha == 1 ? y : imp_call2(c, &tn_op_multiply, NULL, y, imp_const(c, imp_type(y)->dtype, alpha)));
}

/* ---- Gelu and its kin ---- */

/* With a bias where it is given. */
static void gelu(imp_node *c)
{
    tn_value x = imp_in(c, 0), bias = imp_opt(c, 1);
    x = bias.def ? imp_call2(c, &tn_op_add, NULL, x, bias) : x;
    imp_out(c, 0, imp_call1(c, c->row->relay, NULL, x));
}

static void quick_gelu(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "alpha", 1.702f)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_swish, &a, imp_in(c, 0)));
}

/* ---- SkipLayerNormalization, SkipSimplifiedLayerNormalization: of the sum of two operands and a bias ---- */

static void skip_norm(imp_node *c)
{
    bool simple = c->row->relay == &tn_op_nn_rms_norm;
    tn_value x = imp_call2(c, &tn_op_add, NULL, imp_in(c, 0), imp_in(c, 1)), gamma = imp_in(c, 2),
             beta = simple ? (tn_value){0} : imp_opt(c, 3), bias = imp_opt(c, simple ? 3 : 4);
    x = bias.def ? imp_call2(c, &tn_op_add, NULL, x, bias) : x;
    tn_norm_attr a = {.axis = -1,
                      .epsilon = imp_attr_float(c, "epsilon", 1e-12f),
                      .center = beta.def != NULL,
                      .scale = true};
    const tn_value in[3] = {x, gamma, beta.def ? beta : gamma};
    imp_out(c, 0, imp_call(c, c->row->relay, &a, simple ? 2 : 3, in));
    if (imp_wants(c, 1) || imp_wants(c, 2))
        imp_fail(c, "onnx-E020", "the mean and the deviation of %s are not supported; they are for training",
                 c->row->op);
    imp_out_any(c, 3, x);
}

// clang-format off
const imp_row onnx_rows_fused[] = {
    {"Gelu",                             1, 0, 1, 1, gelu,       &tn_op_nn_gelu},
    {"BiasGelu",                         1, 0, 2, 1, gelu,       &tn_op_nn_gelu},
    {"FastGelu",                         1, 0, 2, 1, gelu,       &tn_op_nn_gelu_tanh},
    {"QuickGelu",                        1, 0, 1, 1, quick_gelu, NULL},
    {"SkipLayerNormalization",           1, 0, 5, 4, skip_norm,  &tn_op_nn_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, 0, 4, 4, skip_norm,  &tn_op_nn_rms_norm},
    {"FusedConv",   1, 0, 4, 1, fused_conv,   NULL},
    {"FusedMatMul", 1, 0, 2, 1, fused_matmul, NULL},
    {0},
};
// clang-format on
