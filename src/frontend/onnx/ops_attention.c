/* Attention, RotaryEmbedding, LinearAttention. */
#include "frontend/onnx/attention.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- Attention ---- */

enum { Q = 0, K, V, MASK, PAST_K, PAST_V, LENGTHS };

/* The heads of operand v: the attribute for three dimensions, else what the operand has. */
static tn_value heads_of(imp_node *c, tn_value v, const char *name, int64_t *out)
{
    int64_t given = imp_attr_int(c, name, 0);
    if (c->bad)
        return v;
    if (imp_rank(v) == 3) {
        *out = given;
        return onnx_split_heads(c, v, given);
    }
    *out = imp_rank(v) == 4 ? onnx_known(imp_type(v)->dim[1]) : -1;
    if (*out < 1)
        imp_fail(c, "onnx-E022",
                 "%s must be [batch, heads, length, size] with a fixed number of heads, or three "
                 "dimensions with attribute %s",
                 imp_type_text(c, imp_type(v)), name);
    return v;
}

static tn_value with_past(imp_node *c, tn_value now, uint32_t past)
{
    tn_value both[2] = {imp_opt(c, past), now};
    return both[0].def && !c->bad ? imp_concat(c, 2, both, 2) : now;
}

static void read_softmax_type(imp_node *c, onnx_attention *a)
{
    int64_t type = imp_attr_int(c, "softmax_precision", 0);
    a->softmax = imp_type(a->q)->dtype;
    if (type == 0)
        return;
    if (!onnx_dtype(c->im, type, "softmax_precision", c->loc, &a->softmax))
        c->bad = true;
    else if (!tn_dtype_is_float(a->softmax))
        imp_fail(c, "onnx-E009", "softmax_precision is %lld, which is not a float type", (long long)type);
}

static void read_attention(imp_node *c, onnx_attention *a, int64_t mode)
{
    a->q = heads_of(c, imp_in(c, Q), "q_num_heads", &a->q_heads);
    a->k = heads_of(c, imp_in(c, K), "kv_num_heads", &a->kv_heads);
    a->v = heads_of(c, imp_in(c, V), "kv_num_heads", &a->kv_heads);
    a->cap = imp_attr_float(c, "softcap", 0);
    a->limits.causal = imp_attr_int(c, "is_causal", 0) != 0;
    a->limits.left = imp_attr_int(c, "left_window_size", -1);
    a->limits.right = imp_attr_int(c, "right_window_size", -1);
    double scale = imp_attr_float(c, "scale", 0);
    if (c->bad)
        return;
    int64_t size = onnx_known(imp_type(a->q)->dim[3]);
    a->scale = imp_has_attr(c, "scale") ? scale : 1 / sqrt((double)size);
    if (size < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads != 0 || mode < 0 || mode > 3)
        imp_fail(c, "onnx-E009",
                 "%lld heads of queries of size %lld, %lld of keys, or qk_matmul_output_mode %lld do not "
                 "match; the model is damaged",
                 (long long)a->q_heads, (long long)size, (long long)a->kv_heads, (long long)mode);
    if (imp_has(c, PAST_K) != imp_has(c, PAST_V) || (imp_has(c, PAST_K) && imp_has(c, LENGTHS)))
        imp_fail(c, "onnx-E017",
                 "past_key, past_value and nonpad_kv_seqlen cannot be combined; the model is damaged");
    if (imp_has(c, PAST_K) && !c->bad && imp_rank(imp_opt(c, PAST_K)) == 4)
        a->limits.past = tn_dims_make(c->arena, 1, &imp_type(imp_opt(c, PAST_K))->dim[2]);
    read_softmax_type(c, a);
}

static void convert_attention(imp_node *c)
{
    onnx_attention a = {.mask = imp_opt(c, MASK), .lengths = imp_opt(c, LENGTHS)};
    bool joined = imp_rank(imp_in(c, Q)) == 3;
    int64_t mode = imp_attr_int(c, "qk_matmul_output_mode", 0);
    read_attention(c, &a, mode);
    a.k = with_past(c, a.k, PAST_K);
    a.v = with_past(c, a.v, PAST_V);
    if (c->bad)
        return;
    imp_out_any(c, 1, a.k);
    imp_out_any(c, 2, a.v);
    onnx_scores s = {.plain = {0}};
    tn_value y = onnx_attend(c, &a, &s), shown[] = {s.plain, s.capped, s.masked, s.shares};
    imp_out_any(c, 3, shown[mode]);
    imp_out(c, 0, joined ? onnx_join_heads(c, y) : y);
}

/* ---- RotaryEmbedding ---- */

/* cos or sin [b, s, half], from rows of the table where positions are given; a new axis for the heads. */
static tn_value rotation(imp_node *c, uint32_t i, int64_t heads_axis)
{
    tn_value t = imp_in(c, i);
    if (imp_has(c, 3)) {
        tn_take_attr rows = {0, tn_intern(c->g->ctx, "clip")};
        t = imp_call2(c, &tn_op_take, &rows, t, imp_in(c, 3));
    }
    return imp_unsqueeze(c, t, heads_axis);
}

static void rotary_embedding(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    int64_t heads = imp_attr_int(c, "num_heads", 0), size = imp_attr_int(c, "rotary_embedding_dim", 0);
    bool in_turn = imp_attr_int(c, "interleaved", 0) != 0, joined = t->n == 3;
    const tn_type *table = imp_type(imp_in(c, 1));
    int64_t hidden = joined ? onnx_known(t->dim[2]) : 0;
    int64_t half = c->bad || table->n < 1 ? -1 : onnx_known(table->dim[table->n - 1]);
    const tn_expr *row = size == 0 && half > 0 ? tn_idx(c->pool, 2 * half) : NULL;
    if (joined && heads >= 1 && hidden < 0 && row) /* what the table is for; else the run fails */
        (void)imp_with_extent(c, &x, 2, tn_idx(c->pool, 2 * half * heads));
    hidden = hidden < 0 && imp_rank(x) == 3 ? onnx_known(imp_type(x)->dim[2]) : hidden;
    if (joined && heads >= 1 && hidden > 0 && hidden % heads == 0) {
        const tn_expr *dim[] = {t->dim[0], t->dim[1], tn_idx(c->pool, heads),
                                tn_idx(c->pool, hidden / heads)};
        x = imp_reshape(c, x, 4, dim);
    }
    if (imp_rank(x) == 4 && onnx_known(imp_type(x)->dim[3]) < 0 && row)
        (void)imp_with_extent(c, &x, 3, row);
    if (c->bad)
        return;
    int64_t whole = imp_rank(x) == 4 ? onnx_known(imp_type(x)->dim[3]) : -1;
    size = size == 0 ? whole : size;
    if (whole < 0 || size < 2 || size > whole || size % 2 != 0) {
        imp_fail(c, "onnx-E022",
                 "%s with %lld heads cannot be rotated in pairs of %lld; the model is damaged",
                 imp_type_text(c, t), (long long)heads, (long long)size);
        return;
    }
    int64_t heads_axis = joined ? 2 : 1;
    tn_value cosine = rotation(c, 1, heads_axis), sine = rotation(c, 2, heads_axis);
    tn_value y = onnx_rotate(c, x, size, in_turn, cosine, sine);
    imp_out(c, 0, joined ? imp_reshape(c, y, 3, t->dim) : y);
}

/* ---- LinearAttention ---- */

/* [b, s, heads * d] to [b, heads, s, d] in float32; one head of d 1 where the operand has that. */
static tn_value linear_operand(imp_node *c, uint32_t i, int64_t heads)
{
    tn_value v = imp_opt(c, i);
    return v.def ? imp_cast(c, onnx_split_heads(c, v, heads), TN_F32) : v;
}

/* [b, q heads, s, d] to [b, kv heads, s * group, d]: the queries of a step beside each other. */
static tn_value group_queries(imp_node *c, tn_value q, int64_t kv_heads, int64_t group)
{
    static const int64_t order[] = {0, 1, 3, 2, 4};
    if (c->bad)
        return q;
    tn_pool *p = c->pool;
    const tn_type *t = imp_type(q);
    const tn_expr *split[] = {t->dim[0], tn_idx(p, kv_heads), tn_idx(p, group), t->dim[2], t->dim[3]};
    const tn_expr *rows = imp_simplify(c, tn_mul(p, t->dim[2], tn_idx(p, group)));
    const tn_expr *joined[] = {t->dim[0], tn_idx(p, kv_heads), rows, t->dim[3]};
    return imp_reshape(c, imp_transpose(c, imp_reshape(c, q, 5, split), 5, order), 4, joined);
}

static tn_value ungroup(imp_node *c, tn_value y, const tn_type *query, int64_t kv_heads, int64_t group)
{
    static const int64_t order[] = {0, 2, 1, 3, 4};
    if (c->bad)
        return y;
    tn_pool *p = c->pool;
    const tn_type *t = imp_type(y);
    const tn_expr *split[] = {t->dim[0], tn_idx(p, kv_heads), query->dim[1], tn_idx(p, group), t->dim[3]};
    const tn_expr *joined[] = {query->dim[0], query->dim[1],
                               imp_simplify(c, tn_mul(p, t->dim[3], tn_idx(p, kv_heads * group)))};
    return imp_reshape(c, imp_transpose(c, imp_reshape(c, y, 5, split), 5, order), 3, joined);
}

static void check_rule(imp_node *c)
{
    const char *rule = imp_attr_string(c, "update_rule", "gated_delta");
    bool gated = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    bool delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!gated && !delta && strcmp(rule, "linear") != 0)
        imp_fail(c, "onnx-E009", "update_rule is \"%s\"; linear, gated, delta and gated_delta are known",
                 rule);
    if (gated != imp_has(c, 4) || delta != imp_has(c, 5))
        imp_fail(c, "onnx-E017", "decay and beta do not match update_rule %s; the model is damaged", rule);
}

static void linear_attention(imp_node *c)
{
    tn_value query = imp_in(c, 0), past = imp_opt(c, 3);
    int64_t heads = imp_attr_int(c, "q_num_heads", 0), kv_heads = imp_attr_int(c, "kv_num_heads", 0);
    double scale = imp_attr_float(c, "scale", 0);
    imp_attr_ignore(c, "chunk_size"); /* how to compute it */
    check_rule(c);
    if (!c->bad && (kv_heads < 1 || heads < kv_heads || heads % kv_heads != 0))
        imp_fail(c, "onnx-E009",
                 "q_num_heads %lld is not a multiple of kv_num_heads %lld; the model is damaged",
                 (long long)heads, (long long)kv_heads);
    tn_value beta = imp_opt(c, 5), q = linear_operand(c, 0, heads);
    bool one_beta = beta.def && imp_rank(beta) == 3 && tn_is_value(imp_type(beta)->dim[2], 1);
    if (c->bad)
        return;
    int64_t size = onnx_known(imp_type(q)->dim[3]), group = heads / kv_heads;
    tn_linear_attention_attr a = {scale == 0 ? 1 / sqrt((double)size) : scale};
    tn_value in[6] = {group_queries(c, q, kv_heads, group), linear_operand(c, 1, kv_heads),
                      linear_operand(c, 2, kv_heads),       past.def ? imp_cast(c, past, TN_F32) : past,
                      linear_operand(c, 4, kv_heads),       linear_operand(c, 5, one_beta ? 1 : kv_heads)};
    tn_value all = imp_call(c, &tn_op_nn_linear_attention, &a, 6, in);
    tn_dtype t = imp_type(query)->dtype, state = past.def ? imp_type(past)->dtype : t;
    tn_value y = imp_slice(c, all, 2, 0, -size), last = imp_slice(c, all, 2, -size, INT64_MAX);
    imp_out(c, 0, imp_cast(c, ungroup(c, y, imp_type(query), kv_heads, group), t));
    imp_out_any(c, 1, imp_cast(c, last, state));
}

/* ---- FlexAttention (ai.onnx.preview): graphs of the model's own change scores and probabilities ---- */

/* v as the graph `name` changes it, of the same type. */
static tn_value modified(imp_node *c, const char *name, tn_value v)
{
    if (c->bad || !imp_has_attr(c, name))
        return v;
    const onnx_graph *g = onnx_attr_graph(c, name);
    tn_value *out = TN_NEW_N(c->arena, tn_value, c->bad ? 1 : g->output.n + 1);
    if (!c->bad && g->output.n != 1)
        imp_fail(c, "onnx-E017", "%s has %zu results, but must have one", name, g->output.n);
    if (c->bad || !onnx_body(c, g, c->im->r, 1, &v, out)) {
        c->bad = true;
        return v;
    }
    out[0] = imp_cast(c, out[0], imp_type(v)->dtype);
    if (!c->bad && !tn_type_eq_logical(imp_type(out[0]), imp_type(v)))
        imp_fail(c, "onnx-E022", "%s gives %s for %s, but must keep the shape", name,
                 imp_type_text(c, imp_type(out[0])), imp_type_text(c, imp_type(v)));
    return out[0];
}

static void flex_attention(imp_node *c)
{
    static const tn_matmul_attr by_rows = {.transpose_b = true}, plain = {.transpose_b = false};
    onnx_attention a = {.q = imp_in(c, Q), .k = imp_in(c, K), .v = imp_in(c, V)};
    double scale = imp_attr_float(c, "scale", 0);
    if (c->bad)
        return;
    if (imp_rank(a.q) != 4 || imp_rank(a.k) != 4 || imp_rank(a.v) != 4)
        imp_fail(c, "onnx-E022", "queries, keys and values must have four dimensions, but are %s, %s and %s",
                 imp_type_text(c, imp_type(a.q)), imp_type_text(c, imp_type(a.k)),
                 imp_type_text(c, imp_type(a.v)));
    if (c->bad)
        return;
    const tn_type *q = imp_type(a.q);
    a.q_heads = onnx_known(q->dim[1]);
    a.kv_heads = onnx_known(imp_type(a.k)->dim[1]);
    int64_t size = onnx_known(q->dim[3]);
    if (size < 1 || a.kv_heads < 1 || a.q_heads % a.kv_heads != 0)
        imp_fail(c, "onnx-E009", "%lld heads of queries of size %lld and %lld of keys do not match",
                 (long long)a.q_heads, (long long)size, (long long)a.kv_heads);
    a.scale = imp_has_attr(c, "scale") ? scale : 1 / sqrt((double)size);
    read_softmax_type(c, &a);
    if (c->bad)
        return;
    if (!imp_has_attr(c, "softmax_precision"))
        a.softmax = imp_sum_dtype(a.softmax);
    const tn_expr *dim[] = {q->dim[0], q->dim[1], q->dim[2], imp_type(a.k)->dim[2]};
    tn_value rows = onnx_rows_of_keys(c, &a, onnx_times(c, a.q, a.scale)), keys = onnx_flat_heads(c, a.k);
    tn_value s = imp_call2(c, &tn_op_nn_batch_matmul, &by_rows, rows, keys);
    s = modified(c, "score_mod", imp_cast(c, imp_reshape(c, s, 4, dim), a.softmax));
    s = modified(c, "prob_mod", imp_call1(c, &tn_op_nn_softmax, &(tn_axis_attr){-1}, s));
    tn_value weights = onnx_rows_of_keys(c, &a, s), values = imp_cast(c, onnx_flat_heads(c, a.v), a.softmax);
    tn_value y = imp_call2(c, &tn_op_nn_batch_matmul, &plain, weights, values);
    dim[3] = imp_type(a.v)->dim[3];
    imp_out(c, 0, imp_cast(c, imp_reshape(c, y, 4, dim), imp_type(a.v)->dtype));
}

// clang-format off
const imp_row onnx_rows_attention[] = {
    {"Attention",           23,  0, 7, 4, convert_attention,      NULL},
    {"RotaryEmbedding",     23,  0, 4, 1, rotary_embedding,       NULL},
    {"LinearAttention",     26,  0, 6, 2, linear_attention,       NULL},
    {0},
};
const imp_row onnx_rows_preview[] = {
    {"FlexAttention", 1, 0, 3, 1, flex_attention, NULL},
    {0},
};
// clang-format on
