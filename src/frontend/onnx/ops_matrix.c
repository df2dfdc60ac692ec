/* Matrices: Gemm and MatMul, as nn.dense (weights one row an output) or nn.batch_matmul; Einsum, Det. */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

#include <math.h>

static tn_value scaled(imp_node *c, tn_value v, double by)
{
    return by == 1 ? v : imp_binary(c, &tn_op_multiply, v, imp_const(c, imp_type(v)->dtype, by));
}

/* ---- Gemm ---- */

/* C is broadcast to the product; a vector of one entry an output is a bias. */
static tn_value add_c(imp_node *c, tn_value y, tn_value add)
{
    tn_axis_attr axis = {1};
    if (!add.def || c->bad)
        return y;
    const tn_type *t = imp_type(add), *to = imp_type(y);
    if (t->n == 1 && t->dim[0] == to->dim[1])
        return imp_call2(c, &tn_op_nn_bias_add, &axis, y, add);
    return imp_binary(c, &tn_op_add, y, add);
}

tn_value onnx_gemm(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1), add = imp_opt(c, 2);
    double alpha = imp_attr_float(c, "alpha", 1), beta = imp_attr_float(c, "beta", 1);
    bool trans_a = imp_attr_int(c, "transA", 0) != 0, trans_b = imp_attr_int(c, "transB", 0) != 0;
    if (!tn_dtype_is_float(imp_type(a)->dtype) && (alpha != nearbyint(alpha) || beta != nearbyint(beta))) {
        imp_fail(c, "onnx-E030", "%s of %s with alpha = %g and beta = %g: factors of integers must be whole",
                 c->row->op, imp_type_text(c, imp_type(a)), alpha, beta);
        return (tn_value){0};
    }
    imp_attr_ignore(c, "broadcast"); /* before opset 7: C always broadcasts here */
    if (imp_rank(a) != 2 || imp_rank(b) != 2) {
        imp_fail(c, "onnx-E022", "the operands of Gemm must be matrices, but are %s and %s",
                 imp_type_text(c, imp_type(a)), imp_type_text(c, imp_type(b)));
        return (tn_value){0};
    }
    if (trans_a)
        a = imp_transposed(c, a);
    tn_value weight = trans_b ? b : imp_transposed(c, b);
    bool scale_weight = imp_is_constant(b); /* then it is done once, when the model is compiled */
    tn_value y = imp_dense(c, a, scale_weight ? scaled(c, weight, alpha) : weight, NULL);
    y = scale_weight ? y : scaled(c, y, alpha);
    return beta == 0 ? y : add_c(c, y, add.def ? scaled(c, add, beta) : add);
}

static void gemm(imp_node *c) { imp_out(c, 0, onnx_gemm(c)); }

/* ---- MatMul ---- */

static void matmul(imp_node *c) { imp_out(c, 0, imp_matmul(c, imp_in(c, 0), imp_in(c, 1), NULL)); }

/* ---- Einsum, Det ---- */

static void einsum(imp_node *c)
{
    imp_attr_need(c, "equation");
    tn_einsum_attr a = {imp_attr_string(c, "equation", "")};
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = imp_in(c, i);
    imp_out(c, 0, imp_call(c, &tn_op_einsum, &a, (int)c->n_in, in));
}

static void det(imp_node *c) { imp_out(c, 0, imp_unary(c, &tn_op_det, imp_in(c, 0))); }

// clang-format off
const imp_row onnx_rows_matrix[] = {
    {"Gemm",   1,  0, 3, 1, gemm,   NULL},
    {"MatMul", 1,  0, 2, 1, matmul, NULL},
    {"Einsum", 12,  0, -1, 1, einsum, NULL},
    {"Det",    11,  0, 1, 1, det,    NULL},
    {0},
};
// clang-format on
