/* Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

typedef struct targets {
    tn_value index, ignored;
} targets; /* classes in range; where there is none, or absent */

/* Targets that count are checked while the model runs; ignored ones become class 0, and weigh nothing. */
static targets read_targets(onnx_conv *c, tn_value t, const tn_expr *classes)
{
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &classes)};
    targets out = {t, {0}};
    tn_dtype type = onnx_type(t)->dtype;
    if (onnx_has_attr(c, "ignore_index")) {
        tn_value none = onnx_const(c, type, (double)onnx_attr_int(c, "ignore_index", -1));
        out.ignored = onnx_call2(c, &tn_op_equal, NULL, t, none);
        out.index =
            onnx_call(c, &tn_op_where, NULL, 3, (const tn_value[]){out.ignored, onnx_const(c, type, 0), t});
    }
    out.index = onnx_call1(c, &tn_op_checked_index, &a, out.index);
    return out;
}

static tn_value sum_of(onnx_conv *c, tn_value v)
{
    tn_axes_attr all = {0};
    return onnx_call1(c, &tn_op_sum, &all, v);
}

/* -weight[t] * p[t], with p [n, c, ..] and t [n, ..] */
static tn_value likelihood_loss(onnx_conv *c, tn_value p, tn_value target, tn_value weight)
{
    tn_dtype t = onnx_type(p)->dtype;
    if (onnx_rank(p) < 2 || onnx_rank(target) != onnx_rank(p) - 1)
        onnx_fail(c, "onnx-E022", "%s and targets %s do not match; the model is damaged",
                  onnx_type_text(c, onnx_type(p)), onnx_type_text(c, onnx_type(target)));
    if (c->bad)
        return (tn_value){0};
    static const tn_expand_dims_attr class_axis = {1, 1};
    static const int64_t first = 1;
    tn_squeeze_attr drop = {tn_ints_make(c->arena, 1, &first)};
    tn_axis_attr classes = {1};
    tn_take_attr from_weight = {0, "clip"};
    targets at = read_targets(c, target, onnx_type(p)->dim[1]);
    tn_value picked =
        onnx_call2(c, &tn_op_gather, &classes, p, onnx_call1(c, &tn_op_expand_dims, &class_axis, at.index));
    picked = onnx_call1(c, &tn_op_negative, NULL, onnx_call1(c, &tn_op_squeeze, &drop, picked));
    tn_value w = weight.def ? onnx_call2(c, &tn_op_take, &from_weight, weight, at.index) : (tn_value){0};
    const char *how = onnx_attr_string(c, "reduction", "mean");
    if (at.ignored.def || (!w.def && strcmp(how, "mean") == 0)) {
        tn_broadcast_to_attr whole = {{onnx_type(target)->n, onnx_type(target)->dim}};
        if (!w.def)
            w = onnx_call1(c, &tn_op_broadcast_to, &whole, onnx_const(c, t, 1));
        if (at.ignored.def)
            w = onnx_call(c, &tn_op_where, NULL, 3, (const tn_value[]){at.ignored, onnx_const(c, t, 0), w});
    }
    tn_value loss = w.def ? onnx_call2(c, &tn_op_multiply, NULL, picked, w) : picked;
    if (strcmp(how, "none") == 0)
        return loss;
    if (strcmp(how, "sum") == 0)
        return sum_of(c, loss);
    if (strcmp(how, "mean") != 0)
        onnx_fail(c, "onnx-E009", "reduction is \"%s\"; none, sum and mean are known", how);
    return onnx_call2(c, &tn_op_divide, NULL, sum_of(c, loss), sum_of(c, w));
}

static void negative_log_likelihood(onnx_conv *c)
{
    tn_value p = onnx_in(c, 0), target = onnx_in(c, 1);
    onnx_out(c, 0, likelihood_loss(c, p, target, onnx_opt(c, 2)));
}

static void softmax_cross_entropy(onnx_conv *c)
{
    tn_axis_attr classes = {1};
    tn_value p = onnx_call1(c, &tn_op_nn_log_softmax, &classes, onnx_in(c, 0)), target = onnx_in(c, 1);
    onnx_out(c, 0, likelihood_loss(c, p, target, onnx_opt(c, 2)));
    if (c->node->output.n > 1)
        onnx_out(c, 1, p);
}

// clang-format off
const onnx_row onnx_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, 28, 3, 1, negative_log_likelihood, NULL},
    {"SoftmaxCrossEntropyLoss",   12, 28, 3, 2, softmax_cross_entropy,   NULL},
    {0},
};
// clang-format on
