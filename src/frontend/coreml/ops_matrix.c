/* Products of matrices, rows of tables, attention. */
#include "frontend/coreml/coreml.h"

#include <math.h>
#include <string.h>

/* x [.., in] or, of four and five dimensions, [.., channels, rows, columns] as a matrix; the result as x. */
static void inner_product(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    int64_t dim[2] = {imp_attr_int(c, "outputChannels", 0), imp_attr_int(c, "inputChannels", 0)};
    bool image = t->n >= 4;
    const tn_expr *d[IMP_MAX_RANK], *one = tn_idx(c->pool, 1);
    imp_attr_ignore(c, "int8DynamicQuantize");
    tn_value w = cm_weights(c, "weights", 2, dim), b = cm_weights_if(c, "hasBias", "bias", 1, dim);
    if (c->bad || t->n > 5 || t->n < 1) {
        imp_refuse(c, IMP_OPERANDS, "data %s has too many dimensions", imp_type_text(c, t));
        return;
    }
    for (int i = 0; i < t->n; i++)
        d[i] = t->dim[i];
    if (image) {
        d[t->n - 3] = imp_product(c, t, t->n - 3, t->n);
        x = imp_reshape(c, x, t->n - 2, d);
    } else if (t->n == 1) {
        x = imp_unsqueeze(c, x, 0);
    }
    tn_value y = imp_layer_dense(c, x, w, b);
    d[image ? t->n - 3 : t->n - 1] = tn_idx(c->pool, dim[0]);
    d[t->n - 1] = image ? one : d[t->n - 1];
    if (image)
        d[t->n - 2] = one;
    imp_out(c, 0, image || t->n == 1 ? imp_reshape(c, y, t->n, d) : y);
}

/* Rows of a table [channels, entries]. */
static tn_value looked_up(imp_node *c, tn_value at, int64_t entries, int64_t channels)
{
    int64_t dim[2] = {channels, entries};
    tn_value table = imp_transposed(c, cm_weights(c, "weights", 2, dim));
    tn_value rows = imp_take(c, table, imp_cast(c, at, TN_I64), 0);
    return imp_bias_add(c, rows, cm_weights_if(c, "hasBias", "bias", 1, &channels), -1);
}

static void embedding(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    const tn_type *t = imp_type(x);
    const tn_expr *d[IMP_MAX_RANK];
    int64_t n = imp_attr_int(c, "outputChannels", 0);
    if (!c->bad && (t->n < 4 || t->n > IMP_MAX_RANK || !tn_is_value(t->dim[t->n - 1], 1) ||
                    !tn_is_value(t->dim[t->n - 2], 1) || !tn_is_value(t->dim[t->n - 3], 1)))
        imp_refuse(c, IMP_OPERANDS, "indices %s must be [.., 1, 1, 1]", imp_type_text(c, t));
    if (c->bad)
        return;
    memcpy(d, t->dim, (size_t)t->n * sizeof *d);
    tn_value at = imp_reshape(c, x, t->n - 3, d);
    d[t->n - 3] = tn_idx(c->pool, n);
    imp_out(c, 0, imp_reshape(c, looked_up(c, at, imp_attr_int(c, "inputDim", 0), n), t->n, d));
}

/* Indices [.., 1] */
static void embedding_nd(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t n = imp_attr_int(c, "embeddingSize", 0);
    if (!c->bad && (imp_rank(x) < 2 || !tn_is_value(imp_type(x)->dim[imp_rank(x) - 1], 1)))
        imp_refuse(c, IMP_OPERANDS, "indices %s must be [.., 1]", imp_type_text(c, imp_type(x)));
    tn_value at = imp_squeeze(c, x, imp_rank(x) - 1);
    imp_out(c, 0, looked_up(c, at, imp_attr_int(c, "vocabSize", 0), n));
}

/* x [.., in]; weights [out, in], bias [out] or absent */
static tn_value rows_times(imp_node *c, tn_value x, tn_value w, tn_value b)
{
    bool list = imp_rank(x) == 1;
    tn_value y = imp_layer_dense(c, list ? imp_unsqueeze(c, x, 0) : x, w, b);
    return list ? imp_squeeze(c, y, 0) : y;
}

/* Two operands, or one and weights [in, out], which lie column by column. */
static void batched_matmul(imp_node *c)
{
    tn_value a = imp_in(c, 0);
    int64_t dim[2] = {imp_attr_int(c, "weightMatrixSecondDimension", 0),
                      imp_attr_int(c, "weightMatrixFirstDimension", 0)};
    bool ta = cm_flag(c, "transposeA"), tb = cm_flag(c, "transposeB");
    imp_attr_ignore(c, "int8DynamicQuantize");
    if (c->n_in > 1) { /* lists are a row and a column, and the result stays a matrix */
        tn_value b = imp_in(c, 1);
        a = imp_rank(a) == 1 ? imp_unsqueeze(c, a, 0) : a;
        b = imp_rank(b) == 1 ? imp_unsqueeze(c, b, 1) : b;
        a = imp_transposed_if(c, a, ta);
        b = imp_transposed_if(c, b, tb);
        imp_out(c, 0, imp_matmul(c, a, b, NULL));
        return;
    }
    tn_value w = cm_weights(c, "weights", 2, dim), b = cm_weights_if(c, "hasBias", "bias", 1, dim);
    imp_out(c, 0, rows_times(c, a, w, b));
}

static void matmul(imp_node *c)
{
    bool ta = cm_flag(c, "transpose_x"), tb = cm_flag(c, "transpose_y");
    tn_value a = cm_in(c, 0, "x"), b = cm_in(c, 1, "y");
    a = imp_transposed_if(c, a, ta);
    b = imp_transposed_if(c, b, tb);
    imp_out(c, 0, imp_matmul(c, a, b, NULL));
}

static void linear(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), w = cm_in(c, 1, "weight"), b = cm_opt(c, 2, "bias");
    imp_out(c, 0, rows_times(c, x, w, b));
}

static void einsum(imp_node *c)
{
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    uint32_t n = 0;
    tn_einsum_attr a = {imp_attr_string(c, "equation", "")};
    const cm_operation *o = c->origin;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (imp_is(o->key[i].name, "values")) {
            in[n++] = imp_opt(c, i);
            o->key[i].asked = true;
        }
    imp_attr_ignore(c, "values");
    imp_out(c, 0, imp_call(c, &tn_op_einsum, &a, (int)n, in));
}

/* softmax(query key^T / sqrt(width) + mask) value; a mask of bools says which keys count. */
static void attention(imp_node *c)
{
    tn_value q = cm_in(c, 0, "query"), k = cm_in(c, 1, "key"), v = cm_in(c, 2, "value"),
             mask = cm_opt(c, 3, "attn_mask");
    int64_t width = 1;
    int rank = imp_rank(q);
    if (!c->bad && (rank < 3 || imp_rank(k) != rank || imp_rank(v) != rank ||
                    !tn_is_int(imp_type(q)->dim[rank - 1], &width) || width < 1))
        imp_refuse(c, IMP_OPERANDS, "query %s, key %s and value %s do not fit", imp_type_text(c, imp_type(q)),
                   imp_type_text(c, imp_type(k)), imp_type_text(c, imp_type(v)));
    tn_value score = imp_matmul(c, q, imp_transposed_if(c, k, true), NULL);
    score = imp_with(c, &tn_op_multiply, score, 1 / sqrt((double)width));
    if (mask.def && tn_dtype_is_bool(imp_type(mask)->dtype)) {
        tn_dtype t = imp_type(score)->dtype;
        tn_value stays = imp_const(c, t, 0), goes = imp_const(c, t, -INFINITY);
        mask = imp_choose(c, mask, stays, goes);
    }
    score = mask.def ? cm_bin(c, &tn_op_add, score, mask) : score;
    imp_out(c, 0, imp_matmul(c, imp_softmax(c, &tn_op_nn_softmax, score, -1), v, NULL));
}

// clang-format off
const imp_row cm_rows_matrix[] = {
    {"innerProduct",   0, 0,  1, 1, inner_product,  NULL},
    {"embedding",      0, 0,  1, 1, embedding,      NULL},
    {"embeddingND",    0, 0,  1, 1, embedding_nd,   NULL},
    {"batchedMatmul",  0, 0,  2, 1, batched_matmul, NULL},
    {"matmul",         0, 0, -1, 1, matmul,         NULL},
    {"linear",         0, 0, -1, 1, linear,         NULL},
    {"einsum",         0, 0, -1, 1, einsum,         NULL},
    {"scaled_dot_product_attention", 0, 0, -1, 1, attention, NULL},
    {0},
};
// clang-format on
