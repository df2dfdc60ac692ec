/* Attention over heads: products of queries and keys, masks, softmax, sums of values; positions as rotations. */
#include "frontend/onnx/attention.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

int64_t onnx_known(const tn_expr *e)
{
    int64_t n;
    return tn_is_int(e, &n) ? n : -1;
}

tn_value onnx_times(imp_node *c, tn_value v, double by)
{
    return by == 1 ? v : imp_binary(c, &tn_op_multiply, v, imp_const(c, imp_type(v)->dtype, by));
}

/* ---- heads ---- */

tn_value onnx_split_heads(imp_node *c, tn_value v, int64_t heads)
{
    static const int64_t order[] = {0, 2, 1, 3};
    if (c->bad)
        return v;
    const tn_type *t = imp_type(v);
    int64_t hidden = t->n == 3 ? onnx_known(t->dim[2]) : -1;
    if (heads < 1 || hidden < 0 || hidden % heads != 0) {
        imp_fail(c, "onnx-E022", "%s cannot be cut into %lld heads; the model is damaged",
                 imp_type_text(c, t), (long long)heads);
        return (tn_value){0};
    }
    const tn_expr *dim[] = {t->dim[0], t->dim[1], tn_idx(c->pool, heads), tn_idx(c->pool, hidden / heads)};
    return imp_transpose(c, imp_reshape(c, v, 4, dim), 4, order);
}

tn_value onnx_join_heads(imp_node *c, tn_value v)
{
    static const int64_t order[] = {0, 2, 1, 3};
    v = imp_transpose(c, v, 4, order);
    if (c->bad)
        return v;
    const tn_type *t = imp_type(v);
    const tn_expr *dim[] = {t->dim[0], t->dim[1], imp_product(c, t, 2, 4)};
    return imp_reshape(c, v, 3, dim);
}

tn_value onnx_rows_of_keys(imp_node *c, const onnx_attention *a, tn_value v)
{
    const tn_type *t = imp_type(v);
    if (c->bad)
        return v;
    tn_pool *p = c->pool;
    const tn_expr *rows = tn_mul(p, t->dim[2], tn_idx(p, a->q_heads / a->kv_heads));
    const tn_expr *dim[] = {imp_simplify(c, tn_mul(p, t->dim[0], tn_idx(p, a->kv_heads))),
                            imp_simplify(c, rows), t->dim[3]};
    return imp_reshape(c, v, 3, dim);
}

tn_value onnx_flat_heads(imp_node *c, tn_value v)
{
    const tn_type *t = imp_type(v);
    if (c->bad)
        return v;
    const tn_expr *dim[] = {imp_product(c, t, 0, 2), t->dim[2], t->dim[3]};
    return imp_reshape(c, v, 3, dim);
}

/* ---- scores ---- */

/* A score for no key takes its share and is left out. */
static tn_value softmax_beside(imp_node *c, tn_value s, tn_value sink, const tn_op *op)
{
    static const tn_axis_attr last = {-1};
    const tn_type *t = imp_type(s);
    if (c->bad)
        return s;
    tn_pool *p = c->pool;
    const tn_expr *one = tn_idx(p, 1), *column[] = {one, t->dim[1], one, one},
                  *all[] = {t->dim[0], t->dim[1], t->dim[2], one};
    tn_broadcast_to_attr wide = {tn_dims_make(c->arena, 4, all)};
    sink = imp_call1(c, &tn_op_broadcast_to, &wide, imp_reshape(c, imp_cast(c, sink, t->dtype), 4, column));
    tn_value both[] = {sink, s};
    s = imp_call1(c, op, op == &tn_op_nn_softmax ? &last : NULL, imp_concat(c, 2, both, 3));
    return imp_slice(c, s, 3, 1, INT64_MAX);
}

static void shares(imp_node *c, const onnx_attention *a, onnx_scores *s)
{
    static const tn_axis_attr last = {-1};
    tn_dtype t = imp_type(a->q)->dtype;
    s->masked = s->capped =
        a->cap > 0 ? onnx_times(c, imp_unary(c, &tn_op_tanh, onnx_times(c, s->plain, 1 / a->cap)), a->cap)
                   : s->plain;
    for (int i = 0; i < 2; i++)
        if (a->bias[i].def)
            s->masked = imp_binary(c, &tn_op_add, s->masked, imp_cast(c, a->bias[i], t));
    bool masked =
        a->limits.causal || a->limits.left >= 0 || a->limits.right >= 0 || a->mask.def || a->lengths.def;
    if (masked) {
        tn_value in[] = {s->masked, a->mask, a->lengths};
        if (in[1].def && !tn_dtype_is_bool(imp_type(in[1])->dtype))
            in[1] = imp_cast(c, in[1], t);
        s->masked = imp_call(c, &tn_op_nn_attention_mask, &a->limits, 3, in);
    }
    tn_value v = imp_cast(c, s->masked, a->softmax);
    const tn_op *op = masked ? &tn_op_nn_masked_softmax : &tn_op_nn_softmax;
    v = a->sink.def ? softmax_beside(c, v, a->sink, op) : imp_call1(c, op, masked ? NULL : &last, v);
    s->shares = imp_cast(c, v, t);
}

tn_value onnx_attend(imp_node *c, const onnx_attention *a, onnx_scores *s)
{
    static const tn_matmul_attr by_rows = {.transpose_b = true}, plain = {.transpose_b = false};
    if (c->bad)
        return (tn_value){0};
    const tn_type *q = imp_type(a->q);
    const tn_expr *dim[] = {q->dim[0], q->dim[1], q->dim[2], imp_type(a->k)->dim[2]};
    bool narrow = q->dtype.bits < 32; /* scaled before, so that sums stay in range */
    tn_value query = onnx_rows_of_keys(c, a, narrow ? onnx_times(c, a->q, a->scale) : a->q);
    tn_value y = imp_call2(c, &tn_op_nn_batch_matmul, &by_rows, query,
                           imp_cast(c, onnx_flat_heads(c, a->k), q->dtype));
    s->plain = imp_reshape(c, onnx_times(c, y, narrow ? 1 : a->scale), 4, dim);
    shares(c, a, s);
    y = onnx_rows_of_keys(c, a, s->shares);
    y = imp_call2(c, &tn_op_nn_batch_matmul, &plain, y, imp_cast(c, onnx_flat_heads(c, a->v), q->dtype));
    dim[3] = imp_type(a->v)->dim[3];
    return imp_reshape(c, y, 4, dim);
}

/* ---- rotations ---- */

/* Half `k` of the last axis of v, of `size` elements: in turn, or first and second half. */
static tn_value half(imp_node *c, tn_value v, int64_t size, int64_t k, bool in_turn)
{
    const tn_type *t = imp_type(v);
    if (!in_turn || c->bad)
        return imp_slice(c, v, 3, k * size / 2, (k + 1) * size / 2);
    const tn_expr *dim[] = {t->dim[0], t->dim[1], t->dim[2], tn_idx(c->pool, size / 2), tn_idx(c->pool, 2)};
    return imp_squeeze(c, imp_slice(c, imp_reshape(c, v, 5, dim), 4, k, k + 1), 4);
}

static tn_value rotate_all(imp_node *c, tn_value x, int64_t size, bool in_turn, tn_value cosine,
                           tn_value sine)
{
    tn_value a = half(c, x, size, 0, in_turn), b = half(c, x, size, 1, in_turn);
    tn_value ca = imp_binary(c, &tn_op_multiply, cosine, a), sb = imp_binary(c, &tn_op_multiply, sine, b),
             sa = imp_binary(c, &tn_op_multiply, sine, a), cb = imp_binary(c, &tn_op_multiply, cosine, b);
    tn_value part[2] = {imp_binary(c, &tn_op_subtract, ca, sb), imp_binary(c, &tn_op_add, sa, cb)};
    if (!in_turn || c->bad)
        return imp_concat(c, 2, part, 3);
    for (int k = 0; k < 2; k++)
        part[k] = imp_unsqueeze(c, part[k], 4);
    return imp_reshape(c, imp_concat(c, 2, part, 4), 4, imp_type(x)->dim);
}

tn_value onnx_rotate(imp_node *c, tn_value x, int64_t size, bool in_turn, tn_value cosine, tn_value sine)
{
    int64_t whole = onnx_known(imp_type(x)->dim[3]);
    if (c->bad || size == whole)
        return rotate_all(c, x, size, in_turn, cosine, sine);
    tn_value part[2] = {rotate_all(c, imp_slice(c, x, 3, 0, size), size, in_turn, cosine, sine),
                        imp_slice(c, x, 3, size, INT64_MAX)};
    return imp_concat(c, 2, part, 3);
}
