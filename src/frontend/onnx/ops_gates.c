/* Gates of com.microsoft, which exports of Mamba and DeltaNet hold beside their attention: GatedAdd, GatedRMSNorm,
 * BranchwiseRMSNorm, LinearAttentionGate, ScaledSiLU. */
#include "frontend/onnx/attention.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

static tn_value silu(imp_node *c, tn_value v)
{
    static const tn_alpha_attr one = {1};
    return imp_call1(c, &tn_op_nn_swish, &one, v);
}

/* X + Y * gate, of which the product is rounded. */
static void gated_add(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1), gate = imp_in(c, 2);
    if (imp_has(c, 3) && !c->bad)
        imp_fail(c, "onnx-E095", "operand gate_weight of %s is not supported", c->row->op);
    if (!c->bad && (imp_rank(gate) != imp_rank(x) || imp_rank(y) != imp_rank(x)))
        imp_fail(c, "onnx-E022", "gate %s does not have the dimensions of %s",
                 imp_type_text(c, imp_type(gate)), imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_binary(c, &tn_op_add, x, imp_binary(c, &tn_op_multiply, y, gate)));
}

/* Rows of the last dimension to mean square 1, float32, where nn.rms_norm has no scale, or one of two dimensions. */
static tn_value unit_rows(imp_node *c, tn_value x)
{
    double epsilon = imp_attr_float(c, "epsilon", 1e-5f);
    int64_t last = -1;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &last), true, false};
    x = imp_cast(c, x, TN_F32);
    tn_value square = imp_call1(c, &tn_op_mean, &a, imp_binary(c, &tn_op_multiply, x, x));
    return imp_binary(c, &tn_op_multiply, x,
                      imp_unary(c, &tn_op_rsqrt, imp_with(c, &tn_op_add, square, epsilon)));
}

/* The last dimension of v as rows of n elements. */
static tn_value in_rows(imp_node *c, tn_value v, int64_t n)
{
    const tn_type *t = imp_type(v);
    int64_t all = !c->bad && t->n ? onnx_known(t->dim[t->n - 1]) : -1;
    const tn_expr *dim[IMP_MAX_RANK + 1];
    if (!c->bad && (n < 1 || all < n || all % n != 0 || t->n >= IMP_MAX_RANK))
        imp_fail(c, "onnx-E022", "the last dimension of %s is not made of rows of %lld elements",
                 imp_type_text(c, t), (long long)n);
    if (c->bad)
        return v;
    for (int i = 0; i < t->n - 1; i++)
        dim[i] = t->dim[i];
    dim[t->n - 1] = tn_idx(c->pool, all / n);
    dim[t->n] = tn_idx(c->pool, n);
    return imp_reshape(c, v, t->n + 1, dim);
}

static void gated_rms_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0), scale = imp_in(c, 1), gate = imp_cast(c, imp_in(c, 2), TN_F32);
    const tn_type *t = imp_type(x);
    const char *by = imp_attr_string(c, "activation", "silu");
    bool sigmoid = strcmp(by, "sigmoid") == 0;
    if (!c->bad && !sigmoid && strcmp(by, "silu") != 0 && strcmp(by, "swish") != 0)
        imp_fail(c, "onnx-E009", "activation is \"%s\"; silu, swish and sigmoid are known", by);
    tn_norm_attr rms = {.axis = -1, .epsilon = imp_attr_float(c, "epsilon", 1e-5f), .scale = true};
    tn_value y = in_rows(c, imp_cast(c, x, TN_F32), imp_length(scale));
    y = imp_call2(c, &tn_op_nn_rms_norm, &rms, y, imp_cast(c, scale, TN_F32));
    if (c->bad)
        return;
    y = imp_reshape(c, y, t->n, t->dim);
    gate = sigmoid ? imp_unary(c, &tn_op_sigmoid, gate) : silu(c, gate);
    imp_out(c, 0, imp_cast(c, imp_binary(c, &tn_op_multiply, y, gate), t->dtype));
}

/* X [..., branches, n], or [..., branches * n]; a scale for each element of a branch, or of all. */
static void branchwise_rms_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0), scale = imp_opt(c, 1);
    const tn_type *t = imp_type(x);
    int64_t branches = imp_attr_int(c, "num_branches", 0);
    bool flat = !c->bad && branches > 0;
    if (!c->bad && (branches < 0 || t->n < (flat ? 1 : 2)))
        imp_fail(c, "onnx-E022", "%s does not have %lld branches", imp_type_text(c, t), (long long)branches);
    tn_value y = c->bad || !flat ? x : in_rows(c, x, onnx_known(t->dim[t->n - 1]) / branches);
    y = unit_rows(c, y);
    if (scale.def && !c->bad) {
        const tn_type *rows = imp_type(y);
        bool each = imp_rank(scale) == 2 || imp_length(scale) != onnx_known(rows->dim[rows->n - 1]);
        scale = each ? imp_reshape(c, scale, 2, rows->dim + rows->n - 2) : scale;
        y = imp_binary(c, &tn_op_multiply, y, imp_cast(c, scale, TN_F32));
    }
    imp_out(c, 0, c->bad ? y : imp_cast(c, imp_reshape(c, y, t->n, t->dim), t->dtype));
}

/* decay_scale * softplus(a + dt_bias), and sigmoid(b). */
static void linear_attention_gate(imp_node *c)
{
    tn_value a = imp_in(c, 0), shift = imp_in(c, 1), scale = imp_in(c, 2), b = imp_opt(c, 3);
    tn_value v = imp_binary(c, &tn_op_add, imp_cast(c, a, TN_F32), shift);
    v = imp_binary(c, &tn_op_multiply, scale, imp_unary(c, &tn_op_nn_softplus, v));
    imp_out(c, 0, imp_cast(c, v, imp_type(a)->dtype));
    if (b.def)
        imp_out_any(c, 1,
                    imp_cast(c, imp_unary(c, &tn_op_sigmoid, imp_cast(c, b, TN_F32)), imp_type(b)->dtype));
}

/* z * sigmoid(z) of z = scale * X, each rounded. */
static void scaled_silu(imp_node *c)
{
    tn_value x = imp_in(c, 0), scale = imp_opt(c, 1);
    tn_dtype t = imp_type(x)->dtype;
    double alpha = imp_attr_float(c, "alpha", 1);
    scale = scale.def ? imp_reshape(c, imp_cast(c, scale, TN_F32), 0, NULL) : imp_const(c, TN_F32, alpha);
    tn_value z = imp_cast(c, imp_binary(c, &tn_op_multiply, imp_cast(c, x, TN_F32), scale), t);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, z, imp_unary(c, &tn_op_sigmoid, z)));
}

// clang-format off
const imp_row onnx_rows_gates[] = {
    {"BranchwiseRMSNorm",   1, 0, 2, 1, branchwise_rms_norm,   NULL},
    {"GatedAdd",            1, 0, 4, 1, gated_add,             NULL},
    {"GatedRMSNorm",        1, 0, 3, 1, gated_rms_norm,        NULL},
    {"LinearAttentionGate", 1, 0, 4, 2, linear_attention_gate, NULL},
    {"ScaledSiLU",          1, 0, 2, 1, scaled_silu,           NULL},
    {0},
};
// clang-format on
