/* Embeddings and normalised sums of com.microsoft: (Q)EmbedLayerNormalization, Skip(Simplified)LayerNormalization,
 * (Skip)GroupNorm, NGramRepeatBlock. */
#include "frontend/import/window.h"
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

#include <math.h>

static tn_value add(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }

tn_value onnx_checked(imp_node *c, tn_value at, const tn_expr *extent)
{
    tn_extent_attr a = {tn_dims_make(c->arena, 1, &extent)};
    return imp_call1(c, &tn_op_checked_index, &a, at);
}

/* ---- normalised sums ---- */

/* The sum, normalised; moments: also its mean and 1 / deviation. */
static tn_value normalized(imp_node *c, tn_value x, tn_value gamma, tn_value beta, bool moments)
{
    tn_norm_attr a = {.axis = -1,
                      .epsilon = imp_attr_float(c, "epsilon", 1e-12f),
                      .center = beta.def != NULL,
                      .scale = true,
                      .moments = moments};
    const tn_value in[3] = {x, gamma, beta.def ? beta : gamma};
    const tn_op *op = c->row->relay;
    return imp_call(c, op, &a, op == &tn_op_nn_rms_norm ? 2 : 3, in);
}

/* 1 / root of the mean square */
static tn_value inverse_size(imp_node *c, tn_value x)
{
    int64_t last = imp_rank(x) - 1;
    tn_axes_attr a = {tn_ints_make(c->arena, 1, &last), true, false};
    x = imp_cast(c, x, TN_F32);
    tn_value mean = imp_call1(c, &tn_op_mean, &a, imp_binary(c, &tn_op_multiply, x, x));
    return imp_unary(c, &tn_op_rsqrt,
                     add(c, mean, imp_const(c, TN_F32, imp_attr_float(c, "epsilon", 1e-12f))));
}

/* x, what is passed by, gamma, beta (not of the simple form), bias: y, mean, 1 / deviation, the sum */
static void skip_norm(imp_node *c)
{
    bool simple = c->row->relay == &tn_op_nn_rms_norm, moments = imp_wants(c, 1) || imp_wants(c, 2);
    tn_value x = add(c, imp_in(c, 0), imp_in(c, 1)), gamma = imp_in(c, 2),
             beta = simple ? (tn_value){0} : imp_opt(c, 3), bias = imp_opt(c, simple ? 3 : 4);
    x = bias.def ? add(c, x, bias) : x;
    if (simple && imp_wants(c, 1))
        imp_fail(c, "onnx-E020", "%s has no mean", c->row->op);
    tn_value y = normalized(c, x, gamma, beta, moments && !simple);
    imp_out(c, 0, y);
    if (moments && !c->bad) {
        imp_out_any(c, 1, (tn_value){y.def, simple ? 0 : 1});
        imp_out_any(c, 2, simple ? inverse_size(c, x) : (tn_value){y.def, 2});
    }
    imp_out_any(c, 3, x);
}

/* ---- GroupNorm: x, gamma, beta; SkipGroupNorm: and what is passed by, bias. A result is the sum ---- */

/* What is added to data of `like`: [n, c] stands for all pixels. */
static tn_value for_pixels(imp_node *c, tn_value v, const tn_type *like, bool last)
{
    if (c->bad || imp_rank(v) != 2)
        return v;
    const tn_expr *one = tn_idx(c->pool, 1), *n = like->dim[0], *channels = like->dim[last ? 3 : 1],
                  *dim[4] = {n, last ? one : channels, one, last ? channels : one};
    return imp_reshape(c, v, 4, dim);
}

static void group_norm(imp_node *c)
{
    static const tn_alpha_attr one = {1};
    tn_value x = imp_in(c, 0), skip = imp_opt(c, 3), bias = imp_opt(c, 4);
    bool last = imp_attr_int(c, "channels_last", 1) != 0;
    int64_t activation = imp_attr_int(c, "activation", 0);
    tn_norm_attr a = {.axis = 1,
                      .epsilon = imp_attr_float(c, "epsilon", 1e-5f),
                      .center = true,
                      .scale = true,
                      .num_groups = imp_attr_int(c, "groups", 0)};
    tn_dtype t = imp_type(x)->dtype;
    imp_attr_need(c, "groups");
    imp_attr_need(c, "activation");
    if (!c->bad && imp_rank(x) != 4)
        imp_fail(c, "onnx-E022", "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    if (!c->bad && activation != 0 && activation != 1)
        imp_fail(c, "onnx-E009", "activation is %lld; 0 and 1 are known", (long long)activation);
    if (skip.def)
        x = add(c, x, for_pixels(c, skip, imp_type(x), last));
    x = bias.def ? imp_bias(c, x, bias, last) : x;
    imp_out_any(c, 1, x);
    const tn_value in[3] = {imp_cast(c, last ? imp_channels_first(c, x) : x, TN_F32),
                            imp_cast(c, imp_in(c, 1), TN_F32), imp_cast(c, imp_in(c, 2), TN_F32)};
    tn_value y = imp_call(c, &tn_op_nn_group_norm, &a, 3, in);
    y = activation ? imp_call1(c, &tn_op_nn_swish, &one, y) : y;
    y = imp_cast(c, y, t);
    imp_out(c, 0, last ? imp_channels_last(c, y) : y);
}

/* ---- EmbedLayerNormalization ---- */

static tn_value rows_of(imp_node *c, tn_value table, tn_value at)
{
    if (c->bad || imp_rank(table) != 2) {
        imp_fail(c, "onnx-E022", "the embedding %s must have two dimensions",
                 imp_type_text(c, imp_type(table)));
        return table;
    }
    return imp_take(c, table, onnx_checked(c, at, imp_type(table)->dim[0]), 0);
}

/* How many entries of each row of the mask are 1. */
static tn_value lengths(imp_node *c, tn_value mask, tn_value ids)
{
    if (c->bad)
        return ids;
    tn_broadcast_to_attr batch = {tn_dims_make(c->arena, 1, imp_type(ids)->dim)};
    if (!mask.def)
        return imp_call1(c, &tn_op_broadcast_to, &batch, imp_const(c, TN_I32, 0));
    tn_value one = imp_binary(c, &tn_op_equal, mask, imp_const(c, imp_type(mask)->dtype, 1));
    return imp_reduce(c, &tn_op_sum, imp_cast(c, one, TN_I32), 1);
}

typedef struct embedding {
    tn_value word, position, segment, gamma, beta, mask, positions;
} embedding;

static void embed(imp_node *c, const embedding *e)
{
    tn_value ids = imp_in(c, 0), segments = imp_opt(c, 1), at = e->positions;
    imp_attr_ignore(c, "mask_index_type");
    if (c->bad || imp_rank(ids) != 2) {
        imp_fail(c, "onnx-E022", "ids %s must be [batch, length]", imp_type_text(c, imp_type(ids)));
        return;
    }
    at = at.def ? at : imp_count_up(c, imp_type(ids)->dim[1]);
    tn_value x = rows_of(c, e->word, ids);
    x = add(c, x, rows_of(c, e->position, at));
    x = e->segment.def && segments.def ? add(c, x, rows_of(c, e->segment, segments)) : x;
    imp_out(c, 0, normalized(c, x, e->gamma, e->beta, false));
    imp_out_any(c, 1, lengths(c, e->mask, ids));
    imp_out_any(c, 2, x);
}

static void embed_layer_normalization(imp_node *c)
{
    embedding e = {imp_in(c, 2), imp_in(c, 3),  imp_opt(c, 4), imp_in(c, 5),
                   imp_in(c, 6), imp_opt(c, 7), imp_opt(c, 8)};
    embed(c, &e);
}

/* Operand i, its scale i + 6 (that of gamma and beta follows the embeddings'), its zero point i + 11. */
static tn_value real(imp_node *c, uint32_t i)
{
    tn_qnn_attr a = {.axis = -1, .out_dtype = TN_F32};
    tn_value in[3] = {imp_opt(c, i), imp_opt(c, i + 6), imp_opt(c, i + 11)};
    return in[0].def ? imp_call(c, &tn_op_qnn_dequantize, &a, 3, in) : in[0];
}

static void qembed_layer_normalization(imp_node *c)
{
    embedding e = {real(c, 2), real(c, 3), real(c, 4), real(c, 5), real(c, 6), imp_opt(c, 7), {0}};
    embed(c, &e);
}

/* ---- NGramRepeatBlock: ids [b, s], scores [b, vocabulary] ---- */

/* Words that would complete a sequence of n which the row of ids has already get the score -inf. There are s - n + 1
 * places where such a sequence may begin. */
static void ngram_repeat_block(imp_node *c)
{
    int64_t n = imp_attr_int(c, "ngram_size", 0);
    tn_value ids = imp_in(c, 0), scores = imp_in(c, 1), same = {0};
    const tn_type *t = imp_type(ids);
    if (!c->bad && (n < 1 || n > 1 << 20 || t->n != 2 || imp_rank(scores) != 2))
        imp_fail(c, "onnx-E022", "ids %s, scores %s and ngram_size %lld do not fit each other",
                 imp_type_text(c, t), imp_type_text(c, imp_type(scores)), (long long)n);
    if (c->bad)
        return;
    const tn_expr *zero = tn_idx(c->pool, 0),
                  *left = imp_simplify(
                      c, tn_max(c->pool, tn_sub(c->pool, t->dim[1], tn_idx(c->pool, n - 1)), zero));
    tn_value place = imp_count_up(c, left), end = imp_extent_of(c, ids, 1);
    for (int64_t k = 0; k < n - 1; k++) {
        tn_value last = imp_with(c, &tn_op_add, end, (double)(k - n + 1));
        last = imp_unsqueeze(c, imp_with(c, &tn_op_maximum, last, 0), 0);
        last = imp_take(c, ids, last, 1);
        tn_value here = imp_take(c, ids, imp_with(c, &tn_op_add, place, (double)k), 1);
        here = imp_binary(c, &tn_op_equal, here, last);
        same = same.def ? imp_binary(c, &tn_op_logical_and, same, here) : here;
    }
    tn_value next = imp_take(c, ids, imp_with(c, &tn_op_add, place, (double)(n - 1)), 1);
    tn_dtype real = imp_type(scores)->dtype;
    tn_value least = imp_const(c, real, -INFINITY), most = imp_const(c, real, INFINITY);
    tn_value score = same.def ? imp_choose(c, same, least, most) : least;
    tn_broadcast_to_attr all = {imp_type(next)->n == 2 ? tn_dims_make(c->arena, 2, imp_type(next)->dim)
                                                       : (tn_dims){0}};
    score = imp_call1(c, &tn_op_broadcast_to, &all, score);
    tn_scatter_attr a = {1, "min"};
    next = onnx_checked(c, next, imp_type(scores)->dim[1]);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_elements, &a, 3, (const tn_value[]){scores, next, score}));
}

// clang-format off
const imp_row onnx_rows_embedding[] = {
    {"EmbedLayerNormalization",          1, 0,  9, 3, embed_layer_normalization,  &tn_op_nn_layer_norm},
    {"GroupNorm",                        1, 0,  3, 1, group_norm,                 NULL},
    {"NGramRepeatBlock",                 1, 0,  2, 1, ngram_repeat_block,         NULL},
    {"QEmbedLayerNormalization",         1, 0, 18, 2, qembed_layer_normalization, &tn_op_nn_layer_norm},
    {"SkipGroupNorm",                    1, 0,  5, 2, group_norm,                 NULL},
    {"SkipLayerNormalization",           1, 0,  5, 4, skip_norm,                  &tn_op_nn_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, 0,  4, 4, skip_norm,                  &tn_op_nn_rms_norm},
    {0},
};
// clang-format on
