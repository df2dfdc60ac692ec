/* Attention, RotaryEmbedding, LinearAttention, CausalConvWithState. */
#include "frontend/onnx/onnx.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- heads ---- */

static int64_t known(const tn_expr *e)
{
    int64_t n;
    return tn_is_int(e, &n) ? n : -1;
}

/* [b, s, heads * d] to [b, heads, s, d]; heads is known to divide. */
static tn_value split_heads(onnx_conv *c, tn_value v, int64_t heads)
{
    static const int64_t order[] = {0, 2, 1, 3};
    if (c->bad)
        return v;
    const tn_type *t = onnx_type(v);
    int64_t hidden = t->n == 3 ? known(t->dim[2]) : -1;
    if (heads < 1 || hidden < 0 || hidden % heads != 0) {
        onnx_fail(c, "onnx-E022", "%s cannot be cut into %lld heads; the model is damaged",
                  onnx_type_text(c, t), (long long)heads);
        return (tn_value){0};
    }
    const tn_expr *dim[] = {t->dim[0], t->dim[1], tn_idx(c->pool, heads), tn_idx(c->pool, hidden / heads)};
    return onnx_transpose(c, onnx_reshape(c, v, 4, dim), 4, order);
}

/* [b, h, s, d] to [b, s, h * d] */
static tn_value join_heads(onnx_conv *c, tn_value v)
{
    static const int64_t order[] = {0, 2, 1, 3};
    v = onnx_transpose(c, v, 4, order);
    if (c->bad)
        return v;
    const tn_type *t = onnx_type(v);
    const tn_expr *dim[] = {t->dim[0], t->dim[1], onnx_product(c, t, 2, 4)};
    return onnx_reshape(c, v, 3, dim);
}

static tn_value times(onnx_conv *c, tn_value v, double by)
{
    return by == 1 ? v : onnx_call2(c, &tn_op_multiply, NULL, v, onnx_const(c, onnx_type(v)->dtype, by));
}

/* ---- Attention ---- */

enum { Q = 0, K, V, MASK, PAST_K, PAST_V, LENGTHS };

typedef struct attention {
    tn_value q, k, v; /* [b, heads, s, d] */
    tn_value scores;  /* [b, q heads, s, keys] */
    int64_t q_heads, kv_heads, mode;
    double scale, cap;
    tn_attention_mask_attr mask;
    tn_dtype softmax; /* type it is computed in */
} attention;

/* The heads of operand v: the attribute for three dimensions, else what the operand has. */
static tn_value heads_of(onnx_conv *c, tn_value v, const char *name, int64_t *out)
{
    int64_t given = onnx_attr_int(c, name, 0);
    if (c->bad)
        return v;
    if (onnx_rank(v) == 3) {
        *out = given;
        return split_heads(c, v, given);
    }
    *out = onnx_rank(v) == 4 ? known(onnx_type(v)->dim[1]) : -1;
    if (*out < 1)
        onnx_fail(c, "onnx-E022",
                  "%s must be [batch, heads, length, size] with a fixed number of heads, or three "
                  "dimensions with attribute %s",
                  onnx_type_text(c, onnx_type(v)), name);
    return v;
}

static tn_value with_past(onnx_conv *c, tn_value now, uint32_t past)
{
    tn_value both[2] = {onnx_opt(c, past), now};
    return both[0].def && !c->bad ? onnx_concat(c, 2, both, 2) : now;
}

static void read_softmax_type(onnx_conv *c, attention *a)
{
    int64_t type = onnx_attr_int(c, "softmax_precision", 0);
    a->softmax = onnx_type(a->q)->dtype;
    if (type == 0)
        return;
    if (!onnx_dtype(c->im, type, "softmax_precision", c->loc, &a->softmax))
        c->bad = true;
    else if (!tn_dtype_is_float(a->softmax))
        onnx_fail(c, "onnx-E009", "softmax_precision is %lld, which is not a float type", (long long)type);
}

static void read_attention(onnx_conv *c, attention *a)
{
    a->q = heads_of(c, onnx_in(c, Q), "q_num_heads", &a->q_heads);
    a->k = heads_of(c, onnx_in(c, K), "kv_num_heads", &a->kv_heads);
    a->v = heads_of(c, onnx_in(c, V), "kv_num_heads", &a->kv_heads);
    a->mode = onnx_attr_int(c, "qk_matmul_output_mode", 0);
    a->cap = onnx_attr_float(c, "softcap", 0);
    a->mask.causal = onnx_attr_int(c, "is_causal", 0) != 0;
    a->mask.left = onnx_attr_int(c, "left_window_size", -1);
    a->mask.right = onnx_attr_int(c, "right_window_size", -1);
    double scale = onnx_attr_float(c, "scale", 0);
    if (c->bad)
        return;
    int64_t size = known(onnx_type(a->q)->dim[3]);
    a->scale = onnx_has_attr(c, "scale") ? scale : 1 / sqrt((double)size);
    if (size < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads != 0 || a->mode < 0 || a->mode > 3)
        onnx_fail(c, "onnx-E009",
                  "%lld heads of queries of size %lld, %lld of keys, or qk_matmul_output_mode %lld do not "
                  "match; the model is damaged",
                  (long long)a->q_heads, (long long)size, (long long)a->kv_heads, (long long)a->mode);
    if (onnx_has(c, PAST_K) != onnx_has(c, PAST_V) || (onnx_has(c, PAST_K) && onnx_has(c, LENGTHS)))
        onnx_fail(c, "onnx-E017",
                  "past_key, past_value and nonpad_kv_seqlen cannot be combined; the model is damaged");
    if (onnx_has(c, PAST_K) && !c->bad && onnx_rank(onnx_opt(c, PAST_K)) == 4)
        a->mask.past = tn_dims_make(c->arena, 1, &onnx_type(onnx_opt(c, PAST_K))->dim[2]);
    read_softmax_type(c, a);
}

/* Queries of all heads that share keys are rows of one matrix. */
static tn_value by_key_heads(onnx_conv *c, const attention *a, tn_value v)
{
    const tn_type *t = onnx_type(v);
    if (c->bad)
        return v;
    tn_pool *p = c->pool;
    const tn_expr *rows = tn_mul(p, t->dim[2], tn_idx(p, a->q_heads / a->kv_heads));
    const tn_expr *dim[] = {onnx_simplify(c, tn_mul(p, t->dim[0], tn_idx(p, a->kv_heads))),
                            onnx_simplify(c, rows), t->dim[3]};
    return onnx_reshape(c, v, 3, dim);
}

static tn_value flat(onnx_conv *c, tn_value v)
{
    const tn_type *t = onnx_type(v);
    if (c->bad)
        return v;
    const tn_expr *dim[] = {onnx_product(c, t, 0, 2), t->dim[2], t->dim[3]};
    return onnx_reshape(c, v, 3, dim);
}

static bool wants(const onnx_conv *c, uint32_t i)
{
    return i < c->node->output.n && ((const tn_pb_bytes *)c->node->output.at)[i].n > 0;
}

/* Scores to probabilities; sets the optional result that shows what happens on the way. */
static tn_value probabilities(onnx_conv *c, attention *a)
{
    tn_value s = a->scores, shown = s;
    tn_dtype t = onnx_type(a->q)->dtype;
    if (a->cap > 0)
        s = times(c, onnx_call1(c, &tn_op_tanh, NULL, times(c, s, 1 / a->cap)), a->cap);
    shown = a->mode >= 1 ? s : shown;
    bool masked = a->mask.causal || a->mask.left >= 0 || a->mask.right >= 0 || onnx_has(c, MASK) ||
                  onnx_has(c, LENGTHS);
    if (masked) {
        tn_value in[] = {s, onnx_opt(c, MASK), onnx_opt(c, LENGTHS)};
        s = onnx_call(c, &tn_op_nn_attention_mask, &a->mask, 3, in);
    }
    shown = a->mode >= 2 ? s : shown;
    s = onnx_cast(c, s, a->softmax);
    s = masked ? onnx_call1(c, &tn_op_nn_masked_softmax, NULL, s)
               : onnx_call1(c, &tn_op_nn_softmax, &(tn_axis_attr){-1}, s);
    s = onnx_cast(c, s, t);
    if (wants(c, 3))
        onnx_out(c, 3, a->mode == 3 ? s : shown);
    return s;
}

static void convert_attention(onnx_conv *c)
{
    attention a = {0};
    static const tn_matmul_attr by_rows = {.transpose_b = true}, plain = {.transpose_b = false};
    bool joined = onnx_rank(onnx_in(c, Q)) == 3;
    read_attention(c, &a);
    a.k = with_past(c, a.k, PAST_K);
    a.v = with_past(c, a.v, PAST_V);
    if (c->bad)
        return;
    onnx_out_any(c, 1, a.k);
    onnx_out_any(c, 2, a.v);
    const tn_type *q = onnx_type(a.q);
    const tn_expr *dim[] = {q->dim[0], q->dim[1], q->dim[2], onnx_type(a.k)->dim[2]};
    bool narrow = q->dtype.bits < 32; /* scaled before, so that sums stay in range */
    tn_value query = by_key_heads(c, &a, narrow ? times(c, a.q, a.scale) : a.q);
    tn_value s = onnx_call2(c, &tn_op_nn_batch_matmul, &by_rows, query, flat(c, a.k));
    a.scores = onnx_reshape(c, times(c, s, narrow ? 1 : a.scale), 4, dim);
    tn_value y = by_key_heads(c, &a, probabilities(c, &a));
    y = onnx_call2(c, &tn_op_nn_batch_matmul, &plain, y, flat(c, a.v));
    dim[3] = onnx_type(a.v)->dim[3];
    y = onnx_reshape(c, y, 4, dim);
    onnx_out(c, 0, joined ? join_heads(c, y) : y);
}

/* ---- RotaryEmbedding ---- */

/* cos or sin [b, s, half], from rows of the table where positions are given; a new axis for the heads. */
static tn_value rotation(onnx_conv *c, uint32_t i, int64_t heads_axis)
{
    tn_value t = onnx_in(c, i);
    if (onnx_has(c, 3)) {
        tn_take_attr rows = {0, tn_intern(c->g->ctx, "clip")};
        t = onnx_call2(c, &tn_op_take, &rows, t, onnx_in(c, 3));
    }
    return onnx_unsqueeze(c, t, heads_axis);
}

/* Half `k` of the last axis of v, of `size` elements: in turn, or first and second half. */
static tn_value half(onnx_conv *c, tn_value v, int64_t size, int64_t k, bool in_turn)
{
    const tn_type *t = onnx_type(v);
    if (!in_turn || c->bad)
        return onnx_slice(c, v, 3, k * size / 2, (k + 1) * size / 2);
    const tn_expr *dim[] = {t->dim[0], t->dim[1], t->dim[2], tn_idx(c->pool, size / 2), tn_idx(c->pool, 2)};
    return onnx_squeeze(c, onnx_slice(c, onnx_reshape(c, v, 5, dim), 4, k, k + 1), 4);
}

static tn_value rotate(onnx_conv *c, tn_value x, int64_t size, bool in_turn, tn_value cosine, tn_value sine)
{
    tn_value a = half(c, x, size, 0, in_turn), b = half(c, x, size, 1, in_turn);
    tn_value part[2] = {onnx_call2(c, &tn_op_subtract, NULL, onnx_call2(c, &tn_op_multiply, NULL, cosine, a),
                                   onnx_call2(c, &tn_op_multiply, NULL, sine, b)),
                        onnx_call2(c, &tn_op_add, NULL, onnx_call2(c, &tn_op_multiply, NULL, sine, a),
                                   onnx_call2(c, &tn_op_multiply, NULL, cosine, b))};
    if (!in_turn || c->bad)
        return onnx_concat(c, 2, part, 3);
    for (int k = 0; k < 2; k++)
        part[k] = onnx_unsqueeze(c, part[k], 4);
    return onnx_reshape(c, onnx_concat(c, 2, part, 4), 4, onnx_type(x)->dim);
}

static void rotary_embedding(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    const tn_type *t = onnx_type(x);
    int64_t heads = onnx_attr_int(c, "num_heads", 0), size = onnx_attr_int(c, "rotary_embedding_dim", 0);
    bool in_turn = onnx_attr_int(c, "interleaved", 0) != 0, joined = t->n == 3;
    if (joined && heads >= 1 && known(t->dim[2]) > 0 && known(t->dim[2]) % heads == 0) {
        const tn_expr *dim[] = {t->dim[0], t->dim[1], tn_idx(c->pool, heads),
                                tn_idx(c->pool, known(t->dim[2]) / heads)};
        x = onnx_reshape(c, x, 4, dim);
    }
    if (c->bad)
        return;
    int64_t whole = onnx_rank(x) == 4 ? known(onnx_type(x)->dim[3]) : -1;
    size = size == 0 ? whole : size;
    if (whole < 0 || size < 2 || size > whole || size % 2 != 0) {
        onnx_fail(c, "onnx-E022",
                  "%s with %lld heads cannot be rotated in pairs of %lld; the model is damaged",
                  onnx_type_text(c, t), (long long)heads, (long long)size);
        return;
    }
    int64_t heads_axis = joined ? 2 : 1;
    tn_value rotated = size == whole ? x : onnx_slice(c, x, 3, 0, size);
    tn_value part[2] = {
        rotate(c, rotated, size, in_turn, rotation(c, 1, heads_axis), rotation(c, 2, heads_axis))};
    if (size < whole)
        part[1] = onnx_slice(c, x, 3, size, INT64_MAX);
    tn_value y = onnx_concat(c, size < whole ? 2 : 1, part, 3);
    onnx_out(c, 0, joined ? onnx_reshape(c, y, 3, t->dim) : y);
}

/* ---- LinearAttention ---- */

/* [b, s, heads * d] to [b, heads, s, d] in float32; one head of d 1 where the operand has that. */
static tn_value linear_operand(onnx_conv *c, uint32_t i, int64_t heads)
{
    tn_value v = onnx_opt(c, i);
    return v.def ? onnx_cast(c, split_heads(c, v, heads), TN_F32) : v;
}

/* [b, q heads, s, d] to [b, kv heads, s * group, d]: the queries of a step beside each other. */
static tn_value group_queries(onnx_conv *c, tn_value q, int64_t kv_heads, int64_t group)
{
    static const int64_t order[] = {0, 1, 3, 2, 4};
    if (c->bad)
        return q;
    tn_pool *p = c->pool;
    const tn_type *t = onnx_type(q);
    const tn_expr *split[] = {t->dim[0], tn_idx(p, kv_heads), tn_idx(p, group), t->dim[2], t->dim[3]};
    const tn_expr *rows = onnx_simplify(c, tn_mul(p, t->dim[2], tn_idx(p, group)));
    const tn_expr *joined[] = {t->dim[0], tn_idx(p, kv_heads), rows, t->dim[3]};
    return onnx_reshape(c, onnx_transpose(c, onnx_reshape(c, q, 5, split), 5, order), 4, joined);
}

static tn_value ungroup(onnx_conv *c, tn_value y, const tn_type *query, int64_t kv_heads, int64_t group)
{
    static const int64_t order[] = {0, 2, 1, 3, 4};
    if (c->bad)
        return y;
    tn_pool *p = c->pool;
    const tn_type *t = onnx_type(y);
    const tn_expr *split[] = {t->dim[0], tn_idx(p, kv_heads), query->dim[1], tn_idx(p, group), t->dim[3]};
    const tn_expr *joined[] = {query->dim[0], query->dim[1],
                               onnx_simplify(c, tn_mul(p, t->dim[3], tn_idx(p, kv_heads * group)))};
    return onnx_reshape(c, onnx_transpose(c, onnx_reshape(c, y, 5, split), 5, order), 3, joined);
}

static void check_rule(onnx_conv *c)
{
    const char *rule = onnx_attr_string(c, "update_rule", "gated_delta");
    bool gated = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    bool delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!gated && !delta && strcmp(rule, "linear") != 0)
        onnx_fail(c, "onnx-E009", "update_rule is \"%s\"; linear, gated, delta and gated_delta are known",
                  rule);
    if (gated != onnx_has(c, 4) || delta != onnx_has(c, 5))
        onnx_fail(c, "onnx-E017", "decay and beta do not match update_rule %s; the model is damaged", rule);
}

static void linear_attention(onnx_conv *c)
{
    tn_value query = onnx_in(c, 0), past = onnx_opt(c, 3);
    int64_t heads = onnx_attr_int(c, "q_num_heads", 0), kv_heads = onnx_attr_int(c, "kv_num_heads", 0);
    double scale = onnx_attr_float(c, "scale", 0);
    onnx_attr_ignore(c, "chunk_size"); /* how to compute it */
    check_rule(c);
    if (!c->bad && (kv_heads < 1 || heads < kv_heads || heads % kv_heads != 0))
        onnx_fail(c, "onnx-E009",
                  "q_num_heads %lld is not a multiple of kv_num_heads %lld; the model is damaged",
                  (long long)heads, (long long)kv_heads);
    tn_value beta = onnx_opt(c, 5), q = linear_operand(c, 0, heads);
    bool one_beta = beta.def && onnx_rank(beta) == 3 && tn_is_value(onnx_type(beta)->dim[2], 1);
    if (c->bad)
        return;
    int64_t size = known(onnx_type(q)->dim[3]), group = heads / kv_heads;
    tn_linear_attention_attr a = {scale == 0 ? 1 / sqrt((double)size) : scale};
    tn_value in[6] = {group_queries(c, q, kv_heads, group), linear_operand(c, 1, kv_heads),
                      linear_operand(c, 2, kv_heads),       past.def ? onnx_cast(c, past, TN_F32) : past,
                      linear_operand(c, 4, kv_heads),       linear_operand(c, 5, one_beta ? 1 : kv_heads)};
    tn_value all = onnx_call(c, &tn_op_nn_linear_attention, &a, 6, in);
    tn_dtype t = onnx_type(query)->dtype, state = past.def ? onnx_type(past)->dtype : t;
    tn_value y = onnx_slice(c, all, 2, 0, -size), last = onnx_slice(c, all, 2, -size, INT64_MAX);
    onnx_out(c, 0, onnx_cast(c, ungroup(c, y, onnx_type(query), kv_heads, group), t));
    onnx_out_any(c, 1, onnx_cast(c, last, state));
}

/* ---- CausalConvWithState ---- */

static tn_value causal_conv(onnx_conv *c, tn_value x, tn_value weight, tn_value bias)
{
    static const int64_t ones[] = {1, 1}, none[] = {0, 0, 0, 0};
    tn_conv2d_attr a;
    if (c->bad || tn_attr_init(c->pool, tn_op_nn_conv2d.attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    int64_t kernel[] = {1, known(onnx_type(weight)->dim[2])};
    a.channels = a.groups = known(onnx_type(weight)->dim[0]);
    a.kernel_size = tn_ints_make(c->arena, 2, kernel);
    a.strides = a.dilation = tn_ints_make(c->arena, 2, ones);
    a.padding = tn_make_dims(c->g, 4, none);
    tn_value y = onnx_call2(c, &tn_op_nn_conv2d, &a, onnx_unsqueeze(c, x, 2), onnx_unsqueeze(c, weight, 2));
    tn_axis_attr channels = {1};
    y = bias.def ? onnx_call2(c, &tn_op_nn_bias_add, &channels, y, bias) : y;
    return onnx_squeeze(c, y, 2);
}

static void causal_conv_with_state(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0), weight = onnx_in(c, 1), past = onnx_opt(c, 3);
    const char *activation = onnx_attr_string(c, "activation", "none");
    bool silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
    if (!silu && strcmp(activation, "none") != 0)
        onnx_fail(c, "onnx-E009", "activation is \"%s\"; none, silu and swish are known", activation);
    if (c->bad)
        return;
    if (onnx_rank(x) != 3 || onnx_rank(weight) != 3 || known(onnx_type(weight)->dim[2]) < 1 ||
        known(onnx_type(weight)->dim[0]) < 1) {
        onnx_fail(c, "onnx-E022",
                  "input %s and weight %s must be [batch, channels, length] and [channels, 1, window]",
                  onnx_type_text(c, onnx_type(x)), onnx_type_text(c, onnx_type(weight)));
        return;
    }
    int64_t before = known(onnx_type(weight)->dim[2]) - 1;
    const int64_t width[] = {0, 0, 0, 0, before, 0};
    tn_pad_attr zeros = {.pad_width = tn_make_dims(c->g, 6, width),
                         .pad_mode = tn_intern(c->g->ctx, "constant")};
    tn_value both[] = {past, x};
    tn_value padded = past.def ? onnx_concat(c, 2, both, 2) : onnx_call1(c, &tn_op_nn_pad, &zeros, x);
    tn_value y = causal_conv(c, padded, weight, onnx_opt(c, 2));
    tn_dtype t = onnx_type(x)->dtype;
    if (silu) {
        tn_value wide = t.bits < 32 ? onnx_cast(c, y, TN_F32) : y;
        y = onnx_cast(
            c, onnx_call2(c, &tn_op_multiply, NULL, wide, onnx_call1(c, &tn_op_sigmoid, NULL, wide)), t);
    }
    onnx_out(c, 0, y);
    if (wants(c, 1))
        onnx_out(c, 1,
                 before ? onnx_slice(c, padded, 2, -before, INT64_MAX) : onnx_slice(c, padded, 2, 0, 0));
}

// clang-format off
const onnx_row onnx_rows_attention[] = {
    {"Attention",           23, 28, 7, 4, convert_attention,      NULL},
    {"RotaryEmbedding",     23, 28, 4, 1, rotary_embedding,       NULL},
    {"LinearAttention",     26, 28, 6, 2, linear_attention,       NULL},
    {"CausalConvWithState", 26, 28, 4, 2, causal_conv_with_state, NULL},
    {0},
};
// clang-format on
