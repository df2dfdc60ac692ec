/* Attention. Masks say which steps count; a score that does not count is lowered until its share is 0. */
#include "frontend/keras/rows.h"

#include <math.h>
#include <string.h>

/* ---- masks ---- */

/* bool [1, queries, keys]: a query sees no later key. */
static tn_value causal_mask(imp_node *c, tn_value q, tn_value k)
{
    tn_value rows = imp_unsqueeze(c, imp_count_up(c, imp_type(q)->dim[1]), 1);
    tn_value columns = imp_unsqueeze(c, imp_count_up(c, imp_type(k)->dim[1]), 0);
    return imp_unsqueeze(c, imp_binary(c, &tn_op_greater_equal, rows, columns), 0);
}

static tn_value both(imp_node *c, tn_value a, tn_value b)
{
    return !a.def ? b : !b.def ? a : imp_binary(c, &tn_op_logical_and, a, b);
}

static bool is_true(imp_node *c, const char *name)
{
    const tn_json *v = keras_constant_of(c, -1, name);
    return tn_json_is(v, TN_JSON_BOOL) && v->u.b;
}

/* Scores where the mask holds, far less elsewhere. */
static tn_value lowered(imp_node *c, tn_value scores, tn_value mask)
{
    if (!mask.def || c->bad)
        return scores;
    double much = imp_type(scores)->dtype.bits == 16 ? 3e4 : 1e9;
    tn_value less = imp_binary(c, &tn_op_subtract, scores, keras_like(c, scores, much));
    return imp_choose(c, mask, scores, less);
}

/* ---- Attention, AdditiveAttention ---- */

/* The sum over the last dimension of weight * tanh(q + k), of each query with each key. */
static tn_value additive_scores(imp_node *c, tn_value q, tn_value k, tn_value weight, tn_value inner)
{
    static const int64_t last[] = {-1};
    tn_value rows = imp_unsqueeze(c, q, 2), columns = imp_unsqueeze(c, k, 1);
    tn_value sum = imp_binary(c, &tn_op_add, rows, columns);
    sum = imp_unary(c, &tn_op_tanh, inner.def ? imp_binary(c, &tn_op_multiply, sum, inner) : sum);
    sum = weight.def ? imp_binary(c, &tn_op_multiply, sum, weight) : sum;
    return keras_reduce(c, &tn_op_sum, sum, 1, last, false);
}

static tn_value scores_of(imp_node *c, tn_value q, tn_value k)
{
    tn_matmul_attr by_rows = {.transpose_b = true};
    tn_value scale = keras_optional(c, "scale");
    if (strcmp(c->row->op, "AdditiveAttention") == 0)
        return additive_scores(c, q, k, scale, (tn_value){0});
    if (strcmp(keras_text(c, "score_mode", "dot"), "concat") == 0) {
        tn_value weight = keras_variable_of(c, "concat_score_weight");
        tn_value sum = additive_scores(c, q, k, (tn_value){0}, scale);
        return imp_binary(c, &tn_op_multiply, sum, weight);
    }
    tn_value s = imp_call2(c, &tn_op_nn_batch_matmul, &by_rows, q, k);
    return scale.def ? imp_binary(c, &tn_op_multiply, s, scale) : s;
}

static void attention(imp_node *c)
{
    tn_matmul_attr plain = {0};
    tn_value q = keras_in(c, 0), v = keras_in(c, 1), k = keras_n_in(c) > 2 ? keras_in(c, 2) : v;
    keras_ignore(c, "use_scale");
    keras_ignore(c, "score_mode");
    if (!c->bad && (imp_rank(q) != 3 || imp_rank(k) != 3 || imp_rank(v) != 3))
        imp_refuse(c, IMP_OPERANDS, "queries %s and values %s must have three dimensions",
                   imp_type_text(c, imp_type(q)), imp_type_text(c, imp_type(v)));
    if (c->bad)
        return;
    tn_value seen = keras_mask(c, 1), asked = keras_mask(c, 0);
    tn_value mask = seen.def ? imp_unsqueeze(c, seen, 1) : seen;
    if (is_true(c, "use_causal_mask") || keras_bool(c, "causal", false))
        mask = both(c, mask, causal_mask(c, q, k));
    tn_value shares = keras_softmax(c, lowered(c, scores_of(c, q, k), mask), -1);
    tn_value y = imp_call2(c, &tn_op_nn_batch_matmul, &plain, shares, v);
    if (asked.def) {
        tn_value rows = imp_cast(c, imp_unsqueeze(c, asked, 2), imp_type(y)->dtype);
        y = imp_binary(c, &tn_op_multiply, y, rows);
    }
    keras_out_masked(c, y, asked);
    if (is_true(c, "return_attention_scores"))
        keras_out_masked(c, shares, (tn_value){0});
}

/* ---- MultiHeadAttention, GroupQueryAttention ---- */

typedef struct heads {
    int64_t n, groups, size, value_size; /* groups: of keys and values */
} heads;

/* [b, t, d] by a kernel [d, heads, size] and a bias [heads, size] to [b, heads, t, size]. */
static tn_value project(imp_node *c, tn_value x, const char *of, int64_t n, int64_t size)
{
    static const int64_t order[] = {0, 2, 1, 3};
    tn_value kernel = keras_variable_of(c, tn_arena_printf(c->arena, "%s/kernel", of));
    tn_value bias = keras_optional(c, tn_arena_printf(c->arena, "%s/bias", of));
    const tn_expr *columns = tn_idx(c->pool, n * size);
    if (!c->bad && imp_rank(kernel) != 3)
        imp_refuse(c, IMP_BAD_TENSOR, "kernel %s must have three dimensions",
                   imp_type_text(c, imp_type(kernel)));
    if (c->bad)
        return x;
    const tn_expr *flat[] = {imp_type(kernel)->dim[0], columns};
    kernel = imp_reshape(c, kernel, 2, flat);
    bias = bias.def ? imp_reshape(c, bias, 1, &columns) : bias;
    const tn_expr *split[] = {imp_type(x)->dim[0], imp_type(x)->dim[1], tn_idx(c->pool, n),
                              tn_idx(c->pool, size)};
    return imp_transpose(c, imp_reshape(c, keras_dense(c, x, kernel, bias), 4, split), 4, order);
}

/* Each group's keys for all of its heads. */
static tn_value shared(imp_node *c, tn_value v, const heads *h)
{
    if (c->bad || h->n == h->groups)
        return v;
    const tn_type *t = imp_type(v);
    const tn_expr *wide[] = {t->dim[0], t->dim[1], tn_idx(c->pool, h->n / h->groups), t->dim[2], t->dim[3]};
    const tn_expr *flat[] = {t->dim[0], tn_idx(c->pool, h->n), t->dim[2], t->dim[3]};
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, 5, wide)};
    return imp_reshape(c, imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, v, 2)), 4, flat);
}

/* Argument `name`, or the mask that the operand at `position` came with. */
static tn_value mask_of(imp_node *c, const char *name, int position, const char *operand)
{
    tn_value given = keras_tensor_of(c, -1, name);
    const keras_argument *a = keras_argument_of(c, position, operand);
    return given.def ? given : a && a->n ? a->at[0].mask : given;
}

/* bool, to broadcast to [b, heads, queries, keys]; absent: everything counts. */
static tn_value whole_mask(imp_node *c, tn_value q, tn_value k, tn_value *asked)
{
    tn_value given = keras_tensor_of(c, -1, "attention_mask"), mask = {0};
    tn_value values = mask_of(c, "value_mask", 1, "value"), keys = mask_of(c, "key_mask", 2, "key");
    *asked = mask_of(c, "query_mask", 0, "query");
    if (asked->def)
        mask = imp_unsqueeze(c, imp_cast(c, *asked, TN_BOOL1), 2);
    if (values.def)
        mask = both(c, mask, imp_unsqueeze(c, imp_cast(c, values, TN_BOOL1), 1));
    if (keys.def)
        mask = both(c, mask, imp_unsqueeze(c, imp_cast(c, keys, TN_BOOL1), 1));
    if (is_true(c, "use_causal_mask"))
        mask = both(c, mask, causal_mask(c, q, k));
    if (given.def && !c->bad && imp_rank(given) > 3)
        return imp_cast(c, given, TN_BOOL1);
    if (given.def)
        mask = both(c, mask, imp_cast(c, given, TN_BOOL1));
    return mask.def && !c->bad ? imp_unsqueeze(c, mask, imp_rank(mask) - 2) : mask;
}

/* [b, heads, t, size] to [b, t, ...] by a kernel [heads, size, out]. */
static tn_value output(imp_node *c, tn_value y, const heads *h)
{
    static const int64_t order[] = {0, 2, 1, 3};
    tn_value kernel = keras_variable_of(c, "output_dense/kernel"),
             bias = keras_optional(c, "output_dense/bias");
    const tn_expr *rows = tn_idx(c->pool, h->n * h->value_size);
    if (!c->bad && imp_rank(kernel) != 3)
        imp_refuse(c, IMP_BAD_TENSOR, "kernel %s must have three dimensions",
                   imp_type_text(c, imp_type(kernel)));
    if (c->bad)
        return y;
    const tn_expr *flat[] = {rows, imp_type(kernel)->dim[2]};
    const tn_expr *joined[] = {imp_type(y)->dim[0], imp_type(y)->dim[2], rows};
    y = imp_reshape(c, imp_transpose(c, y, 4, order), 3, joined);
    return keras_dense(c, y, imp_reshape(c, kernel, 2, flat), bias);
}

static void attend(imp_node *c, const heads *h)
{
    tn_value query = keras_in(c, 0), value = keras_tensor_of(c, 1, "value"),
             key = keras_tensor_of(c, 2, "key"), asked = {0};
    key = key.def ? key : value;
    if (!value.def)
        imp_refuse(c, IMP_OPERANDS, "the layer is called without a value; the model is damaged");
    if (!c->bad && (imp_rank(query) != 3 || imp_rank(value) != 3 || imp_rank(key) != 3))
        imp_refuse(c, IMP_OPERANDS, "queries %s and values %s must have three dimensions",
                   imp_type_text(c, imp_type(query)), imp_type_text(c, imp_type(value)));
    if (!c->bad && (h->n < 1 || h->groups < 1 || h->n % h->groups || h->size < 1 || h->value_size < 1 ||
                    h->n > 65536 || h->size > 65536 || h->value_size > 65536))
        imp_refuse(c, IMP_BAD_VALUE, "%lld heads, %lld of keys, do not match; the model is damaged",
                   (long long)h->n, (long long)h->groups);
    if (c->bad)
        return;
    tn_value q = project(c, query, "query_dense", h->n, h->size);
    tn_value k = shared(c, project(c, key, "key_dense", h->groups, h->size), h);
    tn_value v = shared(c, project(c, value, "value_dense", h->groups, h->value_size), h);
    if (c->bad)
        return;
    q = imp_binary(c, &tn_op_multiply, q, keras_like(c, q, 1 / sqrt((double)h->size)));
    tn_value mask = whole_mask(c, query, key, &asked), scores = keras_einsum(c, "bhtd,bhsd->bhts", q, k);
    tn_value shares = c->bad ? q : keras_softmax(c, lowered(c, scores, mask), -1);
    bool wanted = is_true(c, "return_attention_scores");
    if (wanted && mask.def && c->version >= 3)
        shares = imp_choose(c, mask, shares, keras_like(c, shares, 0));
    keras_out_masked(c, output(c, keras_einsum(c, "bhts,bhsd->bhtd", shares, v), h), asked);
    if (wanted)
        keras_out_masked(c, shares, (tn_value){0});
}

static void multi_head(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK] = {1};
    heads h = {.n = keras_int(c, "num_heads", 1), .size = keras_int(c, "key_dim", 1)};
    h.groups = h.n;
    h.value_size = keras_int(c, "value_dim", h.size);
    int n = keras_list(c, "attention_axes", IMP_MAX_RANK, axis);
    keras_ignore(c, "use_bias");
    keras_ignore(c, "output_shape");
    keras_ignore(c, "query_shape");
    keras_ignore(c, "key_shape");
    keras_ignore(c, "value_shape");
    keras_ignore(c, "flash_attention");
    if (n > 1 || (n == 1 && axis[0] != 1))
        imp_refuse(c, IMP_BAD_VALUE, "attention_axes other than 1 are not supported");
    attend(c, &h);
}

static void grouped(imp_node *c)
{
    heads h = {.n = keras_int(c, "num_query_heads", 1),
               .groups = keras_int(c, "num_key_value_heads", 1),
               .size = keras_int(c, "head_dim", 1)};
    h.value_size = h.size;
    keras_ignore(c, "use_bias");
    keras_ignore(c, "flash_attention");
    attend(c, &h);
}

#define HEADS \
    "query_dense/kernel query_dense/bias?use_bias key_dense/kernel key_dense/bias?use_bias " \
    "value_dense/kernel value_dense/bias?use_bias output_dense/kernel output_dense/bias?use_bias"
// clang-format off
const keras_row keras_rows_attention[] = {
    LAYER("Attention",           attention,  NULL, "scale??use_scale concat_score_weight??score_mode", 0, NULL),
    LAYER("AdditiveAttention",   attention,  NULL, "scale?use_scale", 0, NULL),
    LAYER("MultiHeadAttention",  multi_head, NULL, HEADS, 0, NULL),
    LAYER("GroupedQueryAttention", grouped,  NULL, HEADS, 0, NULL),
    LAYER("GroupQueryAttention", grouped,    NULL, HEADS, 0, NULL),
    END_OF_ROWS,
};
// clang-format on
