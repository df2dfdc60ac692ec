/* Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

typedef struct targets {
    tn_value index, ignored;
} targets; /* classes in range; where there is none, or absent */

/* Targets that count are checked while the model runs; ignored ones become class 0, and weigh nothing. */
static targets read_targets(imp_node *c, tn_value t, const tn_expr *classes)
{
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &classes)};
    targets out = {t, {0}};
    tn_dtype type = imp_type(t)->dtype;
    if (imp_has_attr(c, "ignore_index")) {
        tn_value none = imp_const(c, type, (double)imp_attr_int(c, "ignore_index", -1));
        out.ignored = imp_binary(c, &tn_op_equal, t, none);
        out.index =
            imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){out.ignored, imp_const(c, type, 0), t});
    }
    out.index = imp_call1(c, &tn_op_checked_index, &a, out.index);
    return out;
}

static tn_value sum_of(imp_node *c, tn_value v)
{
    tn_axes_attr all = {0};
    return imp_call1(c, &tn_op_sum, &all, v);
}

/* -weight[t] * p[t], with p [n, c, ..] and t [n, ..] */
static tn_value likelihood_loss(imp_node *c, tn_value p, tn_value target, tn_value weight)
{
    tn_dtype t = imp_type(p)->dtype;
    if (imp_rank(p) < 2 || imp_rank(target) != imp_rank(p) - 1)
        imp_fail(c, "onnx-E022", "%s and targets %s do not match; the model is damaged",
                 imp_type_text(c, imp_type(p)), imp_type_text(c, imp_type(target)));
    if (c->bad)
        return (tn_value){0};
    static const tn_expand_dims_attr class_axis = {1, 1};
    static const int64_t first = 1;
    tn_squeeze_attr drop = {tn_ints_make(c->arena, 1, &first)};
    tn_axis_attr classes = {1};
    tn_take_attr from_weight = {0, "clip"};
    targets at = read_targets(c, target, imp_type(p)->dim[1]);
    tn_value picked =
        imp_call2(c, &tn_op_gather, &classes, p, imp_call1(c, &tn_op_expand_dims, &class_axis, at.index));
    picked = imp_unary(c, &tn_op_negative, imp_call1(c, &tn_op_squeeze, &drop, picked));
    tn_value w = weight.def ? imp_call2(c, &tn_op_take, &from_weight, weight, at.index) : (tn_value){0};
    const char *how = imp_attr_string(c, "reduction", "mean");
    if (at.ignored.def || (!w.def && strcmp(how, "mean") == 0)) {
        tn_broadcast_to_attr whole = {{imp_type(target)->n, imp_type(target)->dim}};
        if (!w.def)
            w = imp_call1(c, &tn_op_broadcast_to, &whole, imp_const(c, t, 1));
        if (at.ignored.def)
            w = imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){at.ignored, imp_const(c, t, 0), w});
    }
    tn_value loss = w.def ? imp_binary(c, &tn_op_multiply, picked, w) : picked;
    if (strcmp(how, "none") == 0)
        return loss;
    if (strcmp(how, "sum") == 0)
        return sum_of(c, loss);
    if (strcmp(how, "mean") != 0)
        imp_fail(c, "onnx-E009", "reduction is \"%s\"; none, sum and mean are known", how);
    tn_value total = sum_of(c, loss);
    return imp_binary(c, &tn_op_divide, total, sum_of(c, w));
}

static void negative_log_likelihood(imp_node *c)
{
    tn_value p = imp_in(c, 0), target = imp_in(c, 1);
    imp_out(c, 0, likelihood_loss(c, p, target, imp_opt(c, 2)));
}

static void softmax_cross_entropy(imp_node *c)
{
    tn_axis_attr classes = {1};
    tn_value p = imp_call1(c, &tn_op_nn_log_softmax, &classes, imp_in(c, 0)), target = imp_in(c, 1);
    imp_out(c, 0, likelihood_loss(c, p, target, imp_opt(c, 2)));
    if (c->n_out > 1)
        imp_out(c, 1, p);
}

// clang-format off
const imp_row onnx_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", 12,  0, 3, 1, negative_log_likelihood, NULL},
    {"SoftmaxCrossEntropyLoss",   12,  0, 3, 2, softmax_cross_entropy,   NULL},
    {0},
};
// clang-format on
