/* Mixtures of experts in com.microsoft: MoE, and QMoE, whose weights of a few bits become numbers. All experts are
 * computed for all rows, as two dense layers; those that a row is not sent to have no share in the second one's sums.
 * T: rows, E: experts, H: size of a row, I: of what lies between the layers. */
#include "frontend/import/scan.h"
#include "frontend/onnx/attention.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

enum { X = 0, ROUTER, LAYERS };      /* MoE: weights and bias of each layer */
enum { ZEROS = 11, SHARES_OF = 14 }; /* QMoE: weights, scales and bias of each layer; zero points of each */
enum { FC1 = 0, FC2, FC3, N_LAYER };

typedef struct mix {
    imp_node *c;
    tn_value weight[N_LAYER], bias[N_LAYER]; /* [E, outputs, inputs], [E, outputs]; may be absent */
    tn_value given; /* [T, E]: what experts count where router_probs only say which; absent: those do */
} mix;

static tn_value times(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }

/* ---- shares ---- */

/* [T, E], float32: the share of each expert in each row, 0 of those that are not among the k best. */
static tn_value shares(const mix *x)
{
    imp_node *c = x->c;
    static const tn_axis_attr last = {-1}, second = {1};
    int64_t k = imp_attr_int(c, "k", 1), experts = 0, column = 1;
    bool whole = imp_attr_int(c, "normalize_routing_weights", 0) != 0;
    if (imp_attr_int(c, "use_sparse_mixer", 0) != 0 && !c->bad)
        imp_fail(c, "onnx-E095", "attribute use_sparse_mixer of %s is not supported", c->row->op);
    tn_value v = imp_in(c, ROUTER);
    if (!c->bad && (imp_rank(v) != 2 || !tn_is_int(imp_type(v)->dim[1], &experts) || k < 1 || k > experts))
        imp_fail(c, "onnx-E022", "router_probs %s must be [rows, experts] of at least k, %lld, experts",
                 imp_type_text(c, imp_type(v)), (long long)k);
    if (c->bad)
        return v;
    v = imp_call1(c, &tn_op_nn_softmax, &last, imp_cast(c, v, TN_F32));
    tn_topk_attr a = {.dtype = TN_I64, .axis = 1, .k = tn_make_dims(c->g, 1, &k)};
    tn_value best = imp_call1(c, &tn_op_topk, &a, v), at = {best.def, 1};
    if (x->given.def)
        best = imp_call2(c, &tn_op_gather, &second, imp_cast(c, x->given, TN_F32), at);
    tn_axes_attr row = {tn_ints_make(c->arena, 1, &column), true, false};
    if (whole)
        best = imp_binary(c, &tn_op_divide, best, imp_call1(c, &tn_op_sum, &row, best));
    tn_scatter_attr set = {1, "update"};
    const tn_value in[3] = {c->bad ? v : imp_zeros_of(c, imp_type(v)), at, best};
    return imp_call(c, &tn_op_scatter_elements, &set, 3, in);
}

/* ---- layers ---- */

/* rows [T, H] by weights [E, n, H] and bias [E, n]: [T, E, n] */
static tn_value layer(const mix *x, tn_value rows, int which, tn_value share)
{
    imp_node *c = x->c;
    tn_value w = x->weight[which], bias = x->bias[which];
    if (!c->bad && !w.def)
        imp_fail(c, "onnx-E017", "a layer of gates and one of values are needed, but only one is given");
    if (!c->bad && (imp_rank(w) != 3 || onnx_known(imp_type(w)->dim[1]) < 1 ||
                    imp_type(w)->dim[0] != imp_type(share)->dim[1]))
        imp_fail(c, "onnx-E022", "weights %s must be [experts, outputs, inputs] for router_probs %s",
                 imp_type_text(c, imp_type(w)), imp_type_text(c, imp_type(share)));
    if (c->bad)
        return w;
    const tn_type *t = imp_type(w);
    const tn_expr *flat[2] = {imp_product(c, t, 0, 2), t->dim[2]},
                  *dim[3] = {imp_type(rows)->dim[0], t->dim[0], t->dim[1]};
    tn_value y = imp_reshape(c, imp_dense(c, rows, imp_reshape(c, w, 2, flat), NULL), 3, dim);
    return bias.def ? imp_binary(c, &tn_op_add, y, bias) : y;
}

typedef struct gate { /* of swiglu */
    double alpha, beta, limit;
    int64_t fusion; /* gates and values: in two layers, in turn, one after the other */
} gate;

/* Half i of the last dimension of [T, E, 2 n], whose halves are in turn, or first and second. */
static tn_value half(imp_node *c, tn_value v, bool in_turn, int64_t i)
{
    const tn_type *t = imp_type(v);
    int64_t n = c->bad ? 0 : onnx_known(t->dim[2]) / 2;
    if (!in_turn)
        return imp_slice(c, v, 2, i * n, (i + 1) * n);
    const tn_expr *dim[4] = {t->dim[0], t->dim[1], tn_idx(c->pool, n), tn_idx(c->pool, 2)};
    return c->bad ? v : imp_squeeze(c, imp_slice(c, imp_reshape(c, v, 4, dim), 3, i, i + 1), 3);
}

/* G * sigmoid(alpha * G) * (L + beta): G the gates, limited from above, L the values, limited from both sides. */
static tn_value swiglu(const mix *x, tn_value y, tn_value rows, tn_value share, const gate *g)
{
    imp_node *c = x->c;
    tn_value v = g->fusion ? half(c, y, g->fusion == 1, 1) : layer(x, rows, FC3, share);
    y = g->fusion ? half(c, y, g->fusion == 1, 0) : y;
    if (g->limit > 0) {
        tn_clip_attr within = {-g->limit, g->limit};
        y = imp_with(c, &tn_op_minimum, y, g->limit);
        v = imp_call1(c, &tn_op_clip, &within, v);
    }
    tn_alpha_attr a = {g->alpha};
    y = imp_call1(c, &tn_op_nn_swish, &a, y);
    return times(c, y, g->beta == 0 ? v : imp_with(c, &tn_op_add, v, g->beta));
}

static tn_value activate(const mix *x, tn_value y, tn_value rows, tn_value share)
{
    imp_node *c = x->c;
    static const tn_alpha_attr one = {1};
    const char *name = imp_attr_string(c, "activation_type", "relu");
    gate g = {imp_attr_float(c, "activation_alpha", 1), imp_attr_float(c, "activation_beta", 0),
              imp_attr_float(c, "swiglu_limit", 0), imp_attr_int(c, "swiglu_fusion", 0)};
    if (imp_attr_int(c, "swiglu_limit_after_activation", 0) != 0 && !c->bad)
        imp_fail(c, "onnx-E095", "attribute swiglu_limit_after_activation of %s is not supported",
                 c->row->op);
    if (!c->bad && (g.fusion < 0 || g.fusion > 2))
        imp_fail(c, "onnx-E009", "swiglu_fusion is %lld; 0, 1 and 2 are known", (long long)g.fusion);
    if (strcmp(name, "swiglu") == 0)
        return swiglu(x, y, rows, share, &g);
    if (x->weight[FC3].def && !c->bad)
        imp_fail(c, "onnx-E095", "a third layer (fc3) with activation \"%s\" is not supported", name);
    if (strcmp(name, "relu") == 0)
        return imp_unary(c, &tn_op_nn_relu, y);
    if (strcmp(name, "gelu") == 0)
        return imp_unary(c, &tn_op_nn_gelu_tanh, y);
    if (strcmp(name, "silu") == 0)
        return imp_call1(c, &tn_op_nn_swish, &one, y);
    if (strcmp(name, "identity") != 0 && !c->bad)
        imp_fail(c, "onnx-E009", "activation_type is \"%s\"; relu, gelu, silu, swiglu and identity are known",
                 name);
    return y;
}

/* y [T, E, I] by weights [E, H, I] and bias [E, H], in shares [T, E]: [T, H] */
static tn_value mixed(const mix *x, tn_value y, tn_value share)
{
    static const int64_t by_rows[] = {1, 0, 2};
    imp_node *c = x->c;
    tn_value w = x->weight[FC2], bias = x->bias[FC2];
    if (!c->bad && imp_rank(w) != 3)
        imp_fail(c, "onnx-E022", "weights %s must be [experts, outputs, inputs]",
                 imp_type_text(c, imp_type(w)));
    if (c->bad)
        return y;
    const tn_type *t = imp_type(w);
    tn_dtype of = imp_type(y)->dtype;
    share = imp_cast(c, share, of);
    tn_value by = imp_unsqueeze(c, share, 2), none = imp_const(c, of, 0);
    tn_value elsewhere = imp_with(c, &tn_op_equal, by, 0), part = times(c, y, by);
    y = imp_choose(c, elsewhere, none, part); /* what is infinite there has no part in it either */
    const tn_expr *flat[2] = {t->dim[1], imp_simplify(c, tn_mul(c->pool, t->dim[0], t->dim[2]))},
                  *rows[2] = {imp_type(y)->dim[0], flat[1]};
    w = imp_reshape(c, imp_transpose(c, w, 3, by_rows), 2, flat);
    y = imp_dense(c, imp_reshape(c, y, 2, rows), w, NULL);
    return bias.def ? imp_binary(c, &tn_op_add, y, imp_matmul(c, share, bias, NULL)) : y;
}

static void mixture(const mix *e)
{
    imp_node *c = e->c;
    tn_value x = imp_in(c, X), share = shares(e);
    const tn_type *t = imp_type(x);
    if (!c->bad && (t->n < 2 || t->n > 3))
        imp_fail(c, "onnx-E022", "the input %s must have two or three dimensions", imp_type_text(c, t));
    if (c->bad)
        return;
    const tn_expr *flat[2] = {imp_product(c, t, 0, t->n - 1), t->dim[t->n - 1]};
    tn_value rows = imp_reshape(c, x, 2, flat);
    if (!imp_with_extent(c, &share, 0, flat[0]) && !c->bad)
        imp_fail(c, "onnx-E022", "router_probs %s do not fit the rows of %s",
                 imp_type_text(c, imp_type(share)), imp_type_text(c, t));
    tn_value y = activate(e, layer(e, rows, FC1, share), rows, share);
    y = mixed(e, y, share);
    imp_out(c, 0, c->bad ? y : imp_reshape(c, y, t->n, t->dim));
}

static void moe(imp_node *c)
{
    mix e = {.c = c};
    for (uint32_t i = 0; i < N_LAYER; i++) {
        e.weight[i] = i == FC3 ? imp_opt(c, LAYERS + 2 * i) : imp_in(c, LAYERS + 2 * i);
        e.bias[i] = imp_opt(c, LAYERS + 2 * i + 1);
    }
    mixture(&e);
}

/* ---- weights of a few bits ---- */

/* Zero points of a layer [E, n] or [E, n, blocks], several in a byte of the last dimension; what they are without. */
static tn_value zeros(imp_node *c, uint32_t i, int64_t bits, const tn_type *scale)
{
    tn_value z = imp_opt(c, i);
    if (!z.def || c->bad)
        return imp_const(c, TN_F32, (double)(1 << (bits - 1)));
    z = imp_slice(c, onnx_split_bytes(c, z, bits), scale->n - 1, 0, onnx_known(scale->dim[scale->n - 1]));
    return imp_cast(c, z, TN_F32);
}

/* (q - zero) * scale of a layer, float32 [E, n, inputs]; scales [E, n], or [E, n, blocks] of the inputs. */
static tn_value real_weights(imp_node *c, uint32_t layer, int64_t bits, int64_t block)
{
    tn_value q = imp_opt(c, LAYERS + 3 * layer);
    if (!q.def || c->bad)
        return q;
    tn_value scale = imp_cast(c, imp_in(c, LAYERS + 3 * layer + 1), TN_F32);
    q = onnx_split_bytes(c, q, bits);
    const tn_type *t = imp_type(q), *by = imp_type(scale);
    int64_t blocks = block && !c->bad && by->n == 3 ? onnx_known(by->dim[2]) : 1;
    if (!c->bad && (t->n != 3 || by->n != (block ? 3 : 2) || by->dim[0] != t->dim[0] ||
                    by->dim[1] != t->dim[1] || (block && blocks * block != onnx_known(t->dim[2]))))
        imp_fail(c, "onnx-E022", "scales %s do not fit weights %s in blocks of %lld", imp_type_text(c, by),
                 imp_type_text(c, t), (long long)block);
    if (c->bad)
        return q;
    tn_value zero = zeros(c, ZEROS + layer, bits, by);
    const tn_expr *dim[4] = {t->dim[0], t->dim[1], tn_idx(c->pool, blocks),
                             imp_simplify(c, tn_fdiv(c->pool, t->dim[2], tn_idx(c->pool, blocks)))};
    q = imp_reshape(c, imp_cast(c, q, TN_F32), 4, dim);
    dim[3] = tn_idx(c->pool, 1);
    zero = imp_rank(zero) ? imp_reshape(c, zero, 4, dim) : zero;
    q = imp_binary(c, &tn_op_subtract, q, zero);
    q = times(c, q, imp_reshape(c, scale, 4, dim));
    return imp_reshape(c, q, 3, t->dim);
}

static int64_t bits_of(imp_node *c, const char *name, int64_t whole)
{
    int64_t bits = imp_attr_int(c, name, whole);
    if (!c->bad && bits != 2 && bits != 4 && bits != 8)
        imp_fail(c, "onnx-E095", "weights of %lld bits (%s) are not supported", (long long)bits, name);
    return bits;
}

static void refuse_forms(imp_node *c)
{
    const char *kind = imp_attr_string(c, "quant_type", "int");
    int64_t packed = imp_attr_int(c, "weights_prepacked", 0);
    imp_attr_ignore(c, "accuracy_level"); /* the least: products are of float32 here */
    if (strcmp(kind, "int") != 0 && !c->bad)
        imp_fail(c, "onnx-E095", "quant_type \"%s\" of %s is not supported", kind, c->row->op);
    if (packed > 0 && !c->bad)
        imp_fail(c, "onnx-E095", "weights packed for a device (weights_prepacked) are not supported");
}

static void qmoe(imp_node *c)
{
    static const char *const bits[N_LAYER] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                              "fc3_expert_weight_bits"};
    mix e = {.c = c, .given = imp_opt(c, SHARES_OF)};
    int64_t whole = bits_of(c, "expert_weight_bits", 4), block = imp_attr_int(c, "block_size", 0);
    refuse_forms(c);
    if (!c->bad && block < 0)
        imp_fail(c, "onnx-E009", "block_size is %lld, but must be at least 0", (long long)block);
    for (uint32_t i = 0; i < N_LAYER; i++) {
        tn_value w = real_weights(c, i, bits_of(c, bits[i], whole), block);
        e.weight[i] = w.def ? imp_cast(c, w, imp_type(imp_in(c, X))->dtype) : w;
        e.bias[i] = imp_opt(c, LAYERS + 3 * i + 2);
    }
    mixture(&e);
}

// clang-format off
const imp_row onnx_rows_experts[] = {
    {"MoE",  1, 0,  8, 1, moe,  NULL},
    {"QMoE", 1, 0, 15, 1, qmoe, NULL},
    {0},
};
// clang-format on
