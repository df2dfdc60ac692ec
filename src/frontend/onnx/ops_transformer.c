/* Attention of com.microsoft: Attention, (DecoderMasked)MultiHeadAttention, GroupQueryAttention, QAttention,
 * whose queries and keys may be rotated (ops_rotary.c). */
#include "frontend/onnx/attention.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- shared ---- */

static void refuse(imp_node *c, const char *what)
{
    if (!c->bad)
        imp_fail(c, "onnx-E095", "%s of %s is not supported", what, c->row->op);
}

static void refuse_attr(imp_node *c, const char *name)
{
    if (imp_attr_int(c, name, 0) != 0)
        refuse(c, tn_arena_printf(c->arena, "attribute %s", name));
}

static double scale_of(imp_node *c, tn_value query)
{
    double given = imp_attr_float(c, "scale", 0);
    int64_t size = imp_rank(query) == 4 ? onnx_known(imp_type(query)->dim[3]) : -1;
    if (size < 1 && !c->bad)
        imp_fail(c, "onnx-E022", "the size of the heads in %s must be known",
                 imp_type_text(c, imp_type(query)));
    return given != 0 ? given : 1 / sqrt((double)size);
}

static int64_t heads_attr(imp_node *c, const char *name)
{
    int64_t n = imp_attr_int(c, name, 0);
    if (n < 1 && !c->bad)
        imp_fail(c, "onnx-E009", "%s is %lld, but must be at least 1", name, (long long)n);
    return n;
}

static tn_value in_shape(imp_node *c, tn_value v, int n, const tn_expr *const dim[])
{
    return c->bad || !v.def ? v : imp_reshape(c, v, n, dim);
}

/* Part `i` of `dim` of v, without that dimension. */
static tn_value pick(imp_node *c, tn_value v, int dim, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, v, dim, i, i + 1), dim);
}

/* ---- masks of keys: integers that become numbers added to scores, 0 or `filter` ---- */

static bool is_multiple(imp_node *c, const tn_expr *n, const tn_expr *of, int64_t times)
{
    tn_pool *p = c->pool;
    return tn_is_value(imp_simplify(c, tn_sub(p, n, tn_mul(p, of, tn_idx(p, times)))), 0);
}

/* bool [b, keys] of ends of what counts, and starts where there are twice as many numbers. */
static tn_value inside(imp_node *c, tn_value ends, const tn_expr *batch, const tn_expr *keys)
{
    const tn_expr *one = tn_idx(c->pool, 1), *column[2] = {batch, one},
                  *pair[3] = {tn_idx(c->pool, 2), batch, one};
    tn_value key = imp_count_up(c, keys), start = {0};
    ends = imp_cast(c, ends, TN_I64);
    const tn_expr *n = imp_type(ends)->dim[0];
    if (is_multiple(c, n, batch, 2)) {
        tn_value both = in_shape(c, ends, 3, pair);
        ends = pick(c, both, 0, 0);
        start = pick(c, both, 0, 1);
    } else {
        bool longer = !is_multiple(c, n, batch, 1) && onnx_known(n) > 0 && onnx_known(batch) > 0;
        if (longer) /* lengths, and what serves other implementations */
            ends = imp_slice(c, ends, 0, 0, onnx_known(batch));
        ends = in_shape(c, ends, 2, column);
    }
    tn_value in = imp_binary(c, &tn_op_less, key, ends);
    return start.def ? imp_binary(c, &tn_op_logical_and, in, imp_binary(c, &tn_op_greater_equal, key, start))
                     : in;
}

/* Mask [b], [2 b], [b, keys] or [b, s, keys] for scores of `like`: [b, 1, 1 or s, keys]. */
static tn_value padding(imp_node *c, tn_value mask, const tn_type *query, const tn_expr *keys, double filter)
{
    int rank = imp_rank(mask);
    if (c->bad || !mask.def)
        return (tn_value){0};
    if (rank < 1 || rank > 3) {
        refuse(c, tn_arena_printf(c->arena, "mask %s", imp_type_text(c, imp_type(mask))));
        return (tn_value){0};
    }
    tn_value counts = rank == 1 ? inside(c, mask, query->dim[0], keys)
                                : imp_binary(c, &tn_op_greater, mask, imp_const(c, imp_type(mask)->dtype, 0));
    tn_value none = imp_const(c, query->dtype, 0);
    tn_value v = imp_choose(c, counts, none, imp_const(c, query->dtype, filter));
    v = imp_unsqueeze(c, v, 1);
    return rank == 3 ? v : imp_unsqueeze(c, v, 1);
}

static void causal(imp_node *c, onnx_attention *a, tn_value past)
{
    a->limits.causal = imp_attr_int(c, "unidirectional", 0) != 0;
    if (past.def && !c->bad && imp_rank(past) != 4)
        imp_fail(c, "onnx-E022", "past keys %s must have four dimensions", imp_type_text(c, imp_type(past)));
    if (past.def && !c->bad)
        a->limits.past = tn_dims_make(c->arena, 1, &imp_type(past)->dim[2]);
}

static onnx_attention empty(void) { return (onnx_attention){.limits = {.left = -1, .right = -1}}; }

static tn_value after(imp_node *c, tn_value past, tn_value now)
{
    tn_value both[2] = {past, now};
    return past.def && !c->bad ? imp_concat(c, 2, both, 2) : now;
}

/* ---- Attention, QAttention: x, weights, bias, mask, past [2, b, heads, rows, size], bias of scores ---- */

/* projected: [b, s, all queries, keys and values]; sizes: how many of each. */
static void attend_projected(imp_node *c, tn_value projected, const int64_t size[3], tn_value mask,
                             tn_value past)
{
    onnx_attention a = empty();
    int64_t at = 0;
    tn_value part[3], old[2] = {{0}};
    a.q_heads = a.kv_heads = heads_attr(c, "num_heads");
    for (int i = 0; i < 3; at += size[i++])
        part[i] = onnx_split_heads(c, imp_slice(c, projected, 2, at, at + size[i]), a.q_heads);
    if (c->bad)
        return;
    for (int i = 0; past.def && i < 2; i++)
        old[i] = pick(c, past, 0, i);
    a.q = part[0];
    a.k = after(c, old[0], part[1]);
    a.v = after(c, old[1], part[2]);
    causal(c, &a, old[0]);
    a.scale = scale_of(c, a.q);
    a.softmax = imp_sum_dtype(imp_type(a.q)->dtype);
    double filter = imp_attr_float(c, "mask_filter_value", -10000);
    if (c->bad)
        return;
    a.bias[0] = padding(c, mask, imp_type(a.q), imp_type(a.k)->dim[2], filter);
    a.bias[1] = c->row->max_in == 7 ? imp_opt(c, 5) : (tn_value){0};
    onnx_scores s = {.plain = {0}};
    imp_out(c, 0, onnx_join_heads(c, onnx_attend(c, &a, &s)));
    if (!imp_wants(c, 1))
        return;
    tn_value state[2] = {imp_unsqueeze(c, a.k, 0), imp_unsqueeze(c, a.v, 0)};
    imp_out(c, 1, imp_concat(c, 2, state, 0));
}

/* Sizes of queries, keys and values of all heads: thirds, where qkv_hidden_sizes does not say. */
static bool sizes_of(imp_node *c, tn_value weight, int64_t size[3])
{
    tn_ints given = {0};
    int64_t all = imp_rank(weight) == 2 ? onnx_known(imp_type(weight)->dim[1]) : -1;
    bool told = imp_attr_ints(c, "qkv_hidden_sizes", &given) && given.n > 0;
    for (int i = 0; i < 3; i++)
        size[i] = told && given.n == 3 ? given.at[i] : all / 3;
    bool fits = all > 0 && (!told || given.n == 3) && size[0] > 0 && size[1] == size[0] && size[2] > 0 &&
                size[0] <= all && size[2] <= all && size[0] + size[1] + size[2] == all;
    if (!fits && !c->bad)
        imp_fail(c, "onnx-E022", "weights %s do not hold queries, keys and values of these sizes",
                 imp_type_text(c, imp_type(weight)));
    return !c->bad;
}

static void no_shared_buffer(imp_node *c)
{
    refuse_attr(c, "past_present_share_buffer");
    refuse_attr(c, "do_rotary");
    imp_attr_ignore(c, "rotary_embedding_dim");
}

static void attention_node(imp_node *c)
{
    int64_t size[3];
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = imp_opt(c, 2);
    no_shared_buffer(c);
    if (!sizes_of(c, weight, size))
        return;
    tn_value y = imp_matmul(c, x, weight, NULL);
    y = bias.def ? imp_binary(c, &tn_op_add, y, bias) : y;
    attend_projected(c, y, size, imp_opt(c, 3), imp_opt(c, 4));
}

/* x, weights, bias, scale of x, scale of weights, mask, zero point of x, zero point of weights, past */
static void qattention(imp_node *c)
{
    int64_t size[3];
    tn_value x = imp_in(c, 0), weight = imp_in(c, 1), bias = imp_in(c, 2),
             by[2] = {imp_in(c, 3), imp_in(c, 4)};
    no_shared_buffer(c);
    if (!sizes_of(c, weight, size))
        return;
    imp_zeros zero = {imp_has(c, 6) ? imp_in(c, 6) : imp_const(c, imp_type(x)->dtype, 0),
                      imp_has(c, 7) ? imp_in(c, 7) : imp_const(c, imp_type(weight)->dtype, 0)};
    for (int i = 0; i < 2; i++)
        by[i] = imp_rank(by[i]) == 1 && tn_is_value(imp_type(by[i])->dim[0], 1)
                    ? imp_reshape(c, by[i], 0, NULL)
                    : by[i];
    zero.a = imp_rank(zero.a) == 1 ? imp_reshape(c, zero.a, 0, NULL) : zero.a;
    tn_value y = imp_cast(c, imp_matmul(c, x, weight, &zero), imp_type(bias)->dtype);
    y = imp_binary(c, &tn_op_add,
                   imp_binary(c, &tn_op_multiply, y, imp_binary(c, &tn_op_multiply, by[0], by[1])), bias);
    attend_projected(c, y, size, imp_opt(c, 5), imp_opt(c, 8));
}

/* ---- MultiHeadAttention: queries, keys, values, bias, mask, bias of scores, past keys, past values ---- */

enum { Q = 0, K, V, QKV_BIAS, KEY_MASK, SCORE_BIAS, PAST_K, PAST_V, PAST_LENGTH, INDIRECTION };

/* [b, s, heads, several, size]: number i of the several, as [b, heads, s, size] */
static tn_value packed(imp_node *c, tn_value v, int64_t i)
{
    static const int64_t order[] = {0, 2, 1, 3};
    return imp_transpose(c, pick(c, v, 3, i), 4, order);
}

/* [b, s, heads * size] with entries [from, from + heads * size) of the bias, as [b, heads, s, size] */
static tn_value biased_heads(imp_node *c, tn_value v, tn_value bias, int64_t heads, int64_t *from)
{
    if (c->bad || imp_rank(v) == 4)
        return v;
    int64_t n = imp_rank(v) == 3 ? onnx_known(imp_type(v)->dim[2]) : -1;
    if (bias.def && n > 0)
        v = imp_binary(c, &tn_op_add, v, imp_slice(c, bias, 0, *from, *from + n));
    *from += n;
    return onnx_split_heads(c, v, heads);
}

/* 5 dimensions: more than one of queries, keys and values in an operand. */
static void read_heads(imp_node *c, onnx_attention *a)
{
    tn_value q = imp_in(c, Q), k = imp_opt(c, K), v = imp_opt(c, V), bias = imp_opt(c, QKV_BIAS);
    int64_t heads = a->q_heads = a->kv_heads = heads_attr(c, "num_heads"), at = 0;
    if (c->bad)
        return;
    bool all = !k.def && imp_rank(q) == 5, pair = k.def && imp_rank(k) == 5;
    if ((!all && !k.def) || (!all && !pair && !v.def) || (bias.def && (all || pair)))
        refuse(c, "this form of queries, keys, values and bias");
    a->q = all ? packed(c, q, 0) : biased_heads(c, q, bias, heads, &at);
    a->k = all ? packed(c, q, 1) : pair ? packed(c, k, 0) : biased_heads(c, k, bias, heads, &at);
    a->v = all ? packed(c, q, 2) : pair ? packed(c, k, 1) : biased_heads(c, v, bias, heads, &at);
}

/* Queries, keys, values and their mask are of one batch; the run checks what is not known. */
static void share_batch(imp_node *c, onnx_attention *a, tn_value *mask)
{
    tn_value *const part[4] = {&a->q, &a->k, &a->v, mask};
    int n = mask->def && imp_rank(*mask) > 1 && !tn_is_value(imp_type(*mask)->dim[0], 1) ? 4 : 3;
    const tn_expr *batch = NULL;
    for (int i = 0; i < n && !c->bad; i++)
        if (!batch || onnx_known(batch) < 0)
            batch = imp_type(*part[i])->dim[0];
    for (int i = 0; i < n && !c->bad; i++)
        if (!imp_with_extent(c, part[i], 0, batch))
            imp_fail(c, "onnx-E022", "%s is not of the same batch as the other operands",
                     imp_type_text(c, imp_type(*part[i])));
}

/* Keys and values lie in buffers with room for more, of which the first PAST_LENGTH rows count. The new ones follow,
 * and the results are the buffers. */
static void append_to_buffers(imp_node *c, onnx_attention *a)
{
    tn_value past[2] = {imp_in(c, PAST_K), imp_in(c, PAST_V)};
    if (imp_has(c, KEY_MASK) || imp_has(c, SCORE_BIAS) || imp_wants(c, 3))
        refuse(c, "past_sequence_length with masks or the result qk");
    if (!c->bad && (imp_rank(past[0]) != 4 || imp_rank(a->k) != 4))
        imp_fail(c, "onnx-E022", "past_key %s must have four dimensions",
                 imp_type_text(c, imp_type(past[0])));
    if (c->bad)
        return;
    const tn_expr *rows = imp_type(past[0])->dim[2];
    tn_cache_append_attr append = {tn_dims_make(c->arena, 1, &rows)};
    tn_broadcast_to_attr each = {tn_dims_make(c->arena, 1, imp_type(a->k)->dim)};
    tn_value start = in_shape(c, imp_cast(c, imp_in(c, PAST_LENGTH), TN_I64), 0, NULL);
    tn_value length = imp_binary(c, &tn_op_add, start, imp_extent_of(c, a->k, 2));
    tn_value fits = imp_binary(c, &tn_op_less_equal, length, imp_extent_of(c, past[0], 2));
    fits = imp_binary(c, &tn_op_logical_and, fits, imp_with(c, &tn_op_greater_equal, start, 0));
    imp_demand(c, imp_cast(c, fits, TN_I64), 1,
               "the new keys do not fit into past_key after past_sequence_length");
    start = imp_call1(c, &tn_op_broadcast_to, &each, start);
    a->lengths = imp_call1(c, &tn_op_broadcast_to, &each, length);
    a->k = imp_call(c, &tn_op_nn_cache_append, &append, 3, (const tn_value[]){a->k, start, past[0]});
    a->v = imp_call(c, &tn_op_nn_cache_append, &append, 3, (const tn_value[]){a->v, start, past[1]});
}

static void multi_head_attention(imp_node *c)
{
    onnx_attention a = empty();
    tn_value past = imp_opt(c, PAST_K);
    bool buffers = imp_has(c, PAST_LENGTH);
    if (imp_has(c, INDIRECTION))
        refuse(c, "cache_indirection");
    read_heads(c, &a);
    causal(c, &a, buffers ? (tn_value){0} : past);
    if (buffers) {
        append_to_buffers(c, &a);
    } else {
        a.k = after(c, past, a.k);
        a.v = after(c, imp_opt(c, PAST_V), a.v);
    }
    tn_value mask = imp_opt(c, KEY_MASK);
    if (c->bad)
        return;
    share_batch(c, &a, &mask);
    a.scale = scale_of(c, a.q);
    a.softmax = imp_sum_dtype(imp_type(a.q)->dtype);
    double filter = imp_attr_float(c, "mask_filter_value", -10000);
    if (c->bad)
        return;
    a.bias[0] = padding(c, mask, imp_type(a.q), imp_type(a.k)->dim[2], filter);
    a.bias[1] = imp_opt(c, SCORE_BIAS);
    onnx_scores s = {.plain = {0}};
    imp_out(c, 0, onnx_join_heads(c, onnx_attend(c, &a, &s)));
    imp_out_any(c, 1, a.k);
    imp_out_any(c, 2, a.v);
    imp_out_any(c, 3, s.masked);
}

/* queries, keys, values, mask, bias of scores, past keys, past values, how many of them count, width of the beam,
 * indirection, bias: for one new row */
static void decoder_attention(imp_node *c)
{
    static const uint32_t from[] = {0, 1, 2, 10, 3, 4, 5, 6, 7, 9};
    enum { N = sizeof from / sizeof *from };
    bool buffers = imp_attr_int(c, "past_present_share_buffer", 0) != 0;
    tn_bytes *name = TN_NEW_N(c->arena, tn_bytes, N);
    tn_value *operand = TN_NEW_N(c->arena, tn_value, N);
    imp_attr_ignore(c, "output_qk");
    if (imp_has(c, 1) && imp_rank(imp_in(c, 1)) == 4 && imp_has(c, 5))
        refuse(c, "a past of keys that are a past");
    for (uint32_t i = 0; i < N; i++) {
        bool has = imp_has(c, from[i]) && (i != PAST_LENGTH || (buffers && imp_has(c, 5)));
        name[i] = has ? c->in_name[from[i]] : (tn_bytes){0};
        operand[i] = has ? imp_in(c, from[i]) : (tn_value){0};
    }
    c->n_in = N;
    c->in_name = name;
    c->given = operand;
    multi_head_attention(c);
}

/* ---- GroupQueryAttention ---- */

enum {
    GQ = 0,
    GK,
    GV,
    GPAST_K,
    GPAST_V,
    LENGTHS,
    TOTAL,
    COSINE,
    SINE,
    POSITIONS,
    GBIAS,
    SINK,
    SCALE_K,
    SCALE_V,
    NORM_Q,
    NORM_K,
    CHUNKS
};

typedef struct group {
    imp_node *c;
    onnx_attention a;
    const tn_expr *queries, *total, *kept; /* rows now, with the past of the longest, in the results */
    tn_value start;                        /* int64 [b]: keys before the queries; absent: none */
    /* of a cache that holds a window: its rows; how many there were, and the first row of it that stays, int64 [b] */
    const tn_expr *window;
    tn_value before, first;
} group;

static void read_group(group *w)
{
    imp_node *c = w->c;
    tn_value q = imp_in(c, GQ), k = imp_opt(c, GK), v = imp_opt(c, GV);
    int64_t heads = w->a.q_heads = heads_attr(c, "num_heads"),
            kv = w->a.kv_heads = heads_attr(c, "kv_num_heads");
    if (!c->bad && heads % kv != 0)
        imp_fail(c, "onnx-E009", "num_heads %lld is not a multiple of kv_num_heads %lld", (long long)heads,
                 (long long)kv);
    if (k.def != NULL && v.def == NULL)
        refuse(c, "keys without values");
    int64_t all = !c->bad && imp_rank(q) == 3 ? onnx_known(imp_type(q)->dim[2]) : -1,
            size = c->bad ? 0 : all / (heads + 2 * kv);
    if (!k.def && !c->bad && (all < 1 || all % (heads + 2 * kv) != 0))
        imp_fail(c, "onnx-E022", "%s does not hold %lld heads of queries and %lld each of keys and values",
                 imp_type_text(c, imp_type(q)), (long long)heads, (long long)kv);
    if (c->bad)
        return;
    if (!k.def) {
        k = imp_slice(c, q, 2, heads * size, (heads + kv) * size);
        v = imp_slice(c, q, 2, (heads + kv) * size, (heads + 2 * kv) * size);
        q = imp_slice(c, q, 2, 0, heads * size);
    }
    w->a.q = onnx_split_heads(c, q, heads);
    w->a.k = onnx_split_heads(c, k, kv);
    w->a.v = onnx_split_heads(c, v, kv);
}

static tn_value normed(imp_node *c, tn_value v, uint32_t weight, const char *own)
{
    double epsilon = imp_attr_float(c, own, (float)imp_attr_float(c, "qk_norm_epsilon", 1e-6f));
    tn_norm_attr a = {.axis = -1, .epsilon = epsilon, .scale = true};
    return imp_has(c, weight) ? imp_call2(c, &tn_op_nn_rms_norm, &a, v, imp_in(c, weight)) : v;
}

/* The first rows of a chunk, as many as query_seqlens says, come after those of the cache; what is behind them is not
 * told. */
static void start_of_chunks(group *w, tn_value count)
{
    imp_node *c = w->c;
    tn_value all = imp_with(c, &tn_op_add, imp_cast(c, imp_in(c, LENGTHS), TN_I64), 1);
    count = imp_cast(c, count, TN_I64);
    w->start = imp_flat(c, imp_binary(c, &tn_op_subtract, all, count));
    tn_value total = in_shape(c, imp_cast(c, imp_in(c, TOTAL), TN_I64), 0, NULL);
    tn_value rows = imp_binary(c, &tn_op_maximum, total, imp_extent_of(c, imp_in(c, GPAST_K), 2));
    tn_value room = imp_binary(c, &tn_op_subtract, rows, imp_extent_of(c, w->a.q, 2));
    tn_value fits = imp_binary(c, &tn_op_less_equal, w->start, room),
             some = imp_with(c, &tn_op_greater_equal, count, 0),
             few = imp_binary(c, &tn_op_less_equal, count, imp_extent_of(c, w->a.q, 2));
    fits = imp_binary(c, &tn_op_logical_and, fits, imp_with(c, &tn_op_greater_equal, w->start, 0));
    fits = imp_binary(c, &tn_op_logical_and, fits, imp_flat(c, imp_binary(c, &tn_op_logical_and, some, few)));
    imp_demand(c, imp_reduce(c, &tn_op_min, imp_cast(c, fits, TN_I64), 0), 1,
               "query_seqlens does not fit seqlens_k and the rows of the cache");
}

/* The first call has as many queries as keys; in later ones the queries are the last of each sequence. */
static void find_start(group *w)
{
    imp_node *c = w->c;
    w->total = imp_size_in(c, imp_in(c, TOTAL), "total_sequence_length");
    if (c->bad)
        return;
    w->queries = imp_type(w->a.q)->dim[2];
    w->kept = w->total;
    if (imp_has(c, GPAST_K) && imp_rank(imp_in(c, GPAST_K)) == 4)
        w->kept = imp_simplify(c, tn_max(c->pool, w->total, imp_type(imp_in(c, GPAST_K))->dim[2]));
    if (imp_has(c, CHUNKS) && imp_rank(imp_in(c, GPAST_K)) == 4) {
        start_of_chunks(w, imp_in(c, CHUNKS));
        return;
    }
    if (is_multiple(c, w->total, w->queries, 1))
        return;
    tn_value n = imp_extent_of(c, w->a.q, 2), length = imp_cast(c, imp_in(c, LENGTHS), TN_I64);
    tn_value all = in_shape(c, imp_cast(c, imp_in(c, TOTAL), TN_I64), 0, NULL);
    tn_value late = imp_binary(c, &tn_op_subtract, imp_with(c, &tn_op_add, length, 1), n);
    tn_value at_once = imp_binary(c, &tn_op_equal, n, all);
    w->start = imp_choose(c, at_once, imp_i64(c, 0), late);
    w->start = imp_rank(w->start) == 1 ? w->start : imp_flat(c, w->start);
    tn_value most = imp_binary(c, &tn_op_subtract, all, n);
    tn_value fits = imp_binary(c, &tn_op_less_equal, w->start, most);
    fits = imp_binary(c, &tn_op_logical_and, fits, imp_with(c, &tn_op_greater_equal, w->start, 0));
    fits = imp_reduce(c, &tn_op_min, imp_cast(c, fits, TN_I64), 0);
    imp_demand(c, fits, 1, "seqlens_k does not fit the number of queries and total_sequence_length");
}

/* Of n rows since the beginning: how many a cache of `rows` rows that must hold a window keeps. It drops as many at
 * once as it has more than the window, and one: n - each * ceil((n - rows) / each). */
static tn_value resident(group *w, tn_value n, tn_value rows, tn_value each)
{
    imp_node *c = w->c;
    tn_value over = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_subtract, n, rows), 0);
    tn_value times = imp_binary(c, &tn_op_add, over, imp_with(c, &tn_op_subtract, each, 1));
    times = imp_binary(c, &tn_op_divide, times, each);
    return imp_binary(c, &tn_op_subtract, n, imp_binary(c, &tn_op_multiply, times, each));
}

/* The cache holds the last rows only, from its row 0 on. Attention is over what it holds and the new rows. */
static void find_window(group *w)
{
    imp_node *c = w->c;
    int64_t window = imp_attr_int(c, "local_window_size", -1);
    tn_value past = imp_in(c, GPAST_K), all = imp_cast(c, imp_in(c, LENGTHS), TN_I64);
    if (imp_has(c, CHUNKS))
        refuse(c, "query_seqlens beside sliding_window_cache");
    if (window < 1 || imp_has(c, GBIAS) || imp_attr_int(c, "qk_output", 0) != 0)
        refuse(c, "sliding_window_cache without local_window_size, or with attention_bias or qk_output,");
    if (!c->bad && imp_rank(past) != 4)
        imp_fail(c, "onnx-E022", "past_key %s must have four dimensions", imp_type_text(c, imp_type(past)));
    if (c->bad)
        return;
    w->queries = imp_type(w->a.q)->dim[2];
    w->window = imp_type(past)->dim[2];
    w->kept = imp_simplify(c, tn_add(c->pool, w->window, w->queries));
    tn_value rows = imp_extent_of(c, past, 2), n = imp_extent_of(c, w->a.q, 2);
    tn_value each = imp_with(c, &tn_op_subtract, rows, (double)(window - 1));
    imp_demand(c, imp_cast(c, imp_with(c, &tn_op_greater, each, 0), TN_I64), 1,
               "the cache has fewer rows than the window");
    all = imp_flat(c, imp_with(c, &tn_op_add, all, 1));
    w->before = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_subtract, all, n), 0);
    w->start = resident(w, w->before, rows, each);
    tn_value fresh = imp_binary(c, &tn_op_subtract, all, w->before),
             held = imp_binary(c, &tn_op_add, w->start, fresh);
    w->first = imp_binary(c, &tn_op_subtract, held, resident(w, all, rows, each));
}

/* What stays of the rows of keys or values: those of the cache that holds a window. */
static tn_value windowed(group *w, tn_value rows)
{
    imp_node *c = w->c;
    if (!w->window || c->bad)
        return rows;
    tn_cache_append_attr a = {tn_dims_make(c->arena, 1, &w->window)};
    tn_value before = imp_binary(c, &tn_op_subtract, imp_i64(c, 0), w->first);
    return imp_call2(c, &tn_op_nn_cache_append, &a, rows, before);
}

static void turn_group(group *w)
{
    imp_node *c = w->c;
    bool in_turn = imp_attr_int(c, "rotary_interleaved", 0) != 0;
    if (imp_attr_int(c, "do_rotary", 0) == 0 || c->bad)
        return;
    int64_t size = onnx_turned(c, imp_in(c, COSINE));
    tn_value at = imp_opt(c, POSITIONS), first = w->window ? w->before : w->start;
    if (!at.def)
        at = onnx_counted(c, first.def ? first : imp_const_ints(c, TN_I64, 1, 1, (const int64_t[]){0}),
                          w->queries);
    tn_value cosine = onnx_angles(c, imp_in(c, COSINE), at, 1), sine = onnx_angles(c, imp_in(c, SINE), at, 1);
    w->a.q = onnx_rotate(c, w->a.q, size, in_turn, cosine, sine);
    w->a.k = onnx_rotate(c, w->a.k, size, in_turn, cosine, sine);
}

static tn_value kept(group *w, uint32_t past, tn_value rows)
{
    imp_node *c = w->c;
    tn_cache_append_attr a = {tn_dims_make(c->arena, 1, &w->kept)};
    tn_value in[3] = {rows, w->start, w->start.def ? imp_opt(c, past) : (tn_value){0}};
    bool all = !w->start.def && is_multiple(c, w->kept, w->queries, 1);
    return c->bad || all ? rows : imp_call(c, &tn_op_nn_cache_append, &a, 3, in);
}

static void limit_group(group *w)
{
    imp_node *c = w->c;
    onnx_attention *a = &w->a;
    int64_t window = imp_attr_int(c, "local_window_size", -1);
    a->limits.causal = imp_attr_int(c, "causal", 1) != 0;
    a->limits.left = window > 0 ? window - 1 : -1;
    if (w->start.def)
        a->lengths = imp_binary(c, &tn_op_add, w->start, imp_extent_of(c, a->q, 2));
    else if (!a->limits.causal)
        a->lengths = imp_with(c, &tn_op_add, imp_cast(c, imp_in(c, LENGTHS), TN_I64), 1);
    a->mask = imp_opt(c, GBIAS);
    a->sink = imp_opt(c, SINK);
    if (imp_attr_int(c, "smooth_softmax", 0) == 1 && !a->sink.def && !c->bad) {
        const tn_expr *n = tn_idx(c->pool, a->q_heads);
        tn_broadcast_to_attr heads = {tn_dims_make(c->arena, 1, &n)};
        a->sink = imp_call1(c, &tn_op_broadcast_to, &heads, imp_const(c, imp_type(a->q)->dtype, 0));
    }
}

/* ---- quantised caches: numbers times scales, of 8 bits, or of 4 bits with 8 added, two in a byte ---- */

static int64_t cache_bits(group *w)
{
    imp_node *c = w->c;
    const char *kind[2] = {imp_attr_string(c, "k_quant_type", "NONE"),
                           imp_attr_string(c, "v_quant_type", "NONE")};
    int64_t bits = imp_attr_int(c, "kv_cache_bit_width", 8);
    bool plain = strcmp(kind[0], "NONE") == 0;
    if (!c->bad && (plain != (strcmp(kind[1], "NONE") == 0) || plain != !imp_has(c, SCALE_K) ||
                    plain != !imp_has(c, SCALE_V)))
        refuse(c, "a cache of which keys or values alone are quantised");
    if (plain || c->bad)
        return 0;
    const tn_dtype t = imp_type(imp_in(c, GPAST_K))->dtype;
    if (!c->bad && !(tn_dtype_eq(t, TN_I8) && bits == 8) && !(tn_dtype_eq(t, TN_U8) && bits == 4))
        refuse(c, "a quantised cache of this type and kv_cache_bit_width");
    return bits;
}

/* Rows [b, heads, s, d] as the cache holds them. */
static tn_value to_cache(imp_node *c, tn_value rows, uint32_t scale, int64_t bits)
{
    int64_t most = (1 << (bits - 1)) - 1;
    tn_clip_attr within = {(double)-most - 1, (double)most};
    rows = imp_cast(c, rows, TN_F32);
    rows = imp_binary(c, &tn_op_divide, rows, imp_cast(c, imp_in(c, scale), TN_F32));
    rows = imp_call1(c, &tn_op_clip, &within, imp_unary(c, &tn_op_round, rows));
    if (bits == 8)
        return imp_cast(c, rows, TN_I8);
    const tn_type *t = imp_type(rows);
    if (c->bad || onnx_known(t->dim[3]) % 2 != 0) {
        refuse(c, "a cache of 4 bits for heads of odd size");
        return rows;
    }
    const tn_expr *pairs[5] = {t->dim[0], t->dim[1], t->dim[2], tn_idx(c->pool, onnx_known(t->dim[3]) / 2),
                               tn_idx(c->pool, 2)};
    rows = imp_reshape(c, imp_with(c, &tn_op_add, imp_cast(c, rows, TN_I32), 8), 5, pairs);
    tn_value low = imp_squeeze(c, imp_slice(c, rows, 4, 0, 1), 4),
             high = imp_squeeze(c, imp_slice(c, rows, 4, 1, 2), 4);
    return imp_cast(c, imp_binary(c, &tn_op_add, low, imp_with(c, &tn_op_multiply, high, 16)), TN_U8);
}

/* The other way. */
static tn_value of_cache(imp_node *c, tn_value rows, uint32_t scale, int64_t bits, tn_dtype t)
{
    if (bits == 4)
        rows = imp_with(c, &tn_op_subtract, onnx_split_bytes(c, rows, 4), 8);
    rows = imp_cast(c, rows, TN_F32);
    return imp_cast(c, imp_binary(c, &tn_op_multiply, rows, imp_cast(c, imp_in(c, scale), TN_F32)), t);
}

/* Keys and values with those of the cache; *out_k, *out_v: what the cache is afterwards. */
static void keep_group(group *w, tn_value *out_k, tn_value *out_v)
{
    imp_node *c = w->c;
    int64_t bits = cache_bits(w);
    tn_dtype t = imp_type(w->a.q)->dtype;
    if (bits && !c->bad) {
        w->a.k = to_cache(c, w->a.k, SCALE_K, bits);
        w->a.v = to_cache(c, w->a.v, SCALE_V, bits);
    }
    *out_k = w->a.k = kept(w, GPAST_K, w->a.k);
    *out_v = w->a.v = kept(w, GPAST_V, w->a.v);
    if (bits && !c->bad) {
        w->a.k = of_cache(c, w->a.k, SCALE_K, bits, t);
        w->a.v = of_cache(c, w->a.v, SCALE_V, bits, t);
    }
}

static void group_query_attention(imp_node *c)
{
    group w = {.c = c, .a = empty()};
    int64_t scores = imp_attr_int(c, "qk_output", 0);
    tn_value k, v;
    read_group(&w);
    if (imp_attr_int(c, "sliding_window_cache", 0) != 0)
        find_window(&w);
    else
        find_start(&w);
    if (!c->bad && (scores < 0 || scores > 2))
        imp_fail(c, "onnx-E009", "qk_output is %lld; 0, 1 and 2 are known", (long long)scores);
    if (c->bad)
        return;
    w.a.q = normed(c, w.a.q, NORM_Q, "q_norm_epsilon");
    w.a.k = normed(c, w.a.k, NORM_K, "k_norm_epsilon");
    turn_group(&w);
    keep_group(&w, &k, &v);
    w.a.scale = scale_of(c, w.a.q);
    w.a.cap = imp_attr_float(c, "softcap", 0);
    w.a.softmax = imp_sum_dtype(imp_type(w.a.q)->dtype);
    limit_group(&w);
    onnx_scores s = {.plain = {0}};
    imp_out(c, 0, onnx_join_heads(c, onnx_attend(c, &w.a, &s)));
    imp_out_any(c, 1, windowed(&w, k));
    imp_out_any(c, 2, windowed(&w, v));
    if (scores)
        imp_out_any(c, 3, scores == 1 ? s.masked : s.shares);
}

// clang-format off
const imp_row onnx_rows_transformer[] = {
    {"Attention",           1, 0,  7, 2, attention_node,        NULL},
    {"QAttention",          1, 0,  9, 2, qattention,            NULL},
    {"MultiHeadAttention",  1, 0, 10, 4, multi_head_attention,  NULL},
    {"DecoderMaskedMultiHeadAttention", 1, 0, 11, 4, decoder_attention, NULL},
    {"GroupQueryAttention", 1, 0, 17, 4, group_query_attention, NULL},
    {0},
};
// clang-format on
