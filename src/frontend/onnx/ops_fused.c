/* Operators that ONNX Runtime's optimiser writes into models: convolution and matrix product with what follows or
 * precedes them. */
#include "frontend/import/window.h"
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
    static const char *const names[2] = {"activation_alpha", "activation_beta"};
    double parameter[2] = {a->parameter[0], a->parameter[1]};
    for (int i = 0; i < a->n; i++)
        parameter[i] = given && i < (int)given->floats.n ? given->floats.at[i]
                                                         : imp_attr_float(c, names[i], (float)parameter[i]);
    imp_attr_ignore(c, "activation_gamma");
    return imp_call1(c, a->op, a->n ? parameter : NULL, y);
}

/* ---- FusedConv: X, W, B, Z: activation(conv(X, W) + B + Z); NhwcConv and NhwcFusedConv: channels are last, those of
 * NhwcConv's weights, too ---- */

static void fused_conv(imp_node *c)
{
    bool last = strncmp(c->row->op, "Nhwc", 4) == 0;
    tn_value in[2] = {imp_in(c, 0), imp_in(c, 1)}, bias = imp_opt(c, 2), more = imp_opt(c, 3);
    in[0] = last ? imp_channels_first(c, in[0]) : in[0];
    in[1] = strcmp(c->row->op, "NhwcConv") == 0 ? imp_channels_first(c, in[1]) : in[1];
    more = last && more.def ? imp_channels_first(c, more) : more;
    const tn_op *op = imp_conv_op(imp_rank(in[0]) - 2);
    tn_conv2d_attr a;
    if (!onnx_conv_attr(c, in[0], &in[1], op, &a))
        return;
    tn_value y = imp_call(c, op, &a, 2, in);
    y = imp_bias(c, y, bias, false);
    y = more.def ? imp_binary(c, &tn_op_add, y, more) : y;
    y = activate(c, y);
    imp_out(c, 0, last ? imp_channels_last(c, y) : y);
}

static void nhwc_max_pool(imp_node *c)
{
    imp_out(c, 0, imp_channels_last(c, onnx_max_pool(c, imp_channels_first(c, imp_in(c, 0)), NULL)));
}

static void fused_gemm(imp_node *c) { imp_out(c, 0, activate(c, onnx_gemm(c))); }

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
    tn_value y = imp_matmul(c, a, b, NULL);
    y = alpha == 1 ? y : imp_binary(c, &tn_op_multiply, y, imp_const(c, imp_type(y)->dtype, alpha));
    imp_out(c, 0, imp_has_attr(c, "activation") ? activate(c, y) : y);
}

/* ---- Gelu and its kin ---- */

/* With a bias where it is given. */
static void gelu(imp_node *c)
{
    tn_value x = imp_in(c, 0), bias = imp_opt(c, 1);
    x = bias.def ? imp_binary(c, &tn_op_add, x, bias) : x;
    imp_out(c, 0, imp_unary(c, c->row->relay, x));
}

static void quick_gelu(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "alpha", 1.702f)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_swish, &a, imp_in(c, 0)));
}

/* gelu(X W + bias) */
static void gemm_fast_gelu(imp_node *c)
{
    tn_value y = imp_matmul(c, imp_in(c, 0), imp_in(c, 1), NULL), bias = imp_opt(c, 2);
    y = bias.def ? imp_binary(c, &tn_op_add, y, bias) : y;
    imp_out(c, 0, imp_unary(c, &tn_op_nn_gelu_tanh, y));
}

/* a + bias, halves: the first times gelu of the second */
static void bias_split_gelu(imp_node *c)
{
    tn_value x = imp_binary(c, &tn_op_add, imp_in(c, 0), imp_in(c, 1));
    int64_t n;
    if (c->bad || imp_rank(x) < 1 || !tn_is_int(imp_type(x)->dim[imp_rank(x) - 1], &n)) {
        imp_fail(c, "onnx-E022", "%s has no halves", imp_type_text(c, imp_type(x)));
        return;
    }
    tn_value gate = imp_unary(c, &tn_op_nn_gelu, imp_slice(c, x, -1, n / 2, n));
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, imp_slice(c, x, -1, 0, n / 2), gate));
}

/* x + bias + what is passed by */
static void bias_add(imp_node *c)
{
    tn_value x = imp_binary(c, &tn_op_add, imp_in(c, 0), imp_in(c, 1));
    imp_out(c, 0, imp_binary(c, &tn_op_add, x, imp_in(c, 2)));
}

// clang-format off
const imp_row onnx_rows_fused[] = {
    {"Gelu",                             1, 0, 1, 1, gelu,       &tn_op_nn_gelu},
    {"BiasGelu",                         1, 0, 2, 1, gelu,       &tn_op_nn_gelu},
    {"FastGelu",                         1, 0, 2, 1, gelu,       &tn_op_nn_gelu_tanh},
    {"QuickGelu",                        1, 0, 1, 1, quick_gelu, NULL},
    {"BiasSplitGelu",      1, 0, 2, 1, bias_split_gelu, NULL},
    {"BiasAdd",            1, 0, 3, 1, bias_add,        NULL},
    {"GemmFastGelu",       1, 0, 3, 1, gemm_fast_gelu,  NULL},
    {"FusedGemm",          1, 0, 3, 1, fused_gemm,      NULL},
    {"NhwcConv",           1, 0, 3, 1, fused_conv,      NULL},
    {"NhwcFusedConv",      1, 0, 4, 1, fused_conv,      NULL},
    {"NhwcMaxPool",        1, 0, 1, 1, nhwc_max_pool,   NULL},
    {"Trilu",              1, 0, 2, 1, onnx_trilu,      NULL},
    {"FusedMatMulActivation", 1, 0, 2, 1, fused_matmul, NULL},
    {"TransposeMatMul",    1, 0, 2, 1, fused_matmul,    NULL}, /* its older name */
    {"FusedConv",   1, 0, 4, 1, fused_conv,   NULL},
    {"FusedMatMul", 1, 0, 2, 1, fused_matmul, NULL},
    {0},
};
// clang-format on
