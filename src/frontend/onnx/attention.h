#ifndef TN_FRONTEND_ONNX_ATTENTION_H
#define TN_FRONTEND_ONNX_ATTENTION_H
/* What the attention operators of ONNX and of ONNX Runtime share. b: batch, s: queries, t: keys, d: size of a head. */
#include "frontend/onnx/onnx.h"

typedef struct onnx_attention {
    tn_value q, k, v;       /* [b, heads, s, d], [b, key heads, t, d], [b, key heads, t, size of values] */
    tn_value bias[2];       /* added to the scores, each may be absent: [b or 1, heads or 1, s or 1, t] */
    tn_value mask, lengths; /* operands of nn.attention_mask, or absent */
    tn_value sink;          /* [heads]: a score for no key, or absent */
    int64_t q_heads, kv_heads;
    double scale, cap;
    tn_attention_mask_attr limits;
    tn_dtype softmax; /* type it is computed in */
} onnx_attention;

/* Scores [b, heads, s, t]: products, limited to the cap, with bias and mask, as shares of 1. */
typedef struct onnx_scores {
    tn_value plain, capped, masked, shares;
} onnx_scores;

/* [b, heads, s, size of values] */
tn_value onnx_attend(imp_node *c, const onnx_attention *a, onnx_scores *out);

/* [b, heads, s, d] to [b * key heads, s * heads that share keys, d] */
tn_value onnx_rows_of_keys(imp_node *c, const onnx_attention *a, tn_value v);
/* [b, heads, s, d] to [b * heads, s, d] */
tn_value onnx_flat_heads(imp_node *c, tn_value v);
int64_t onnx_known(const tn_expr *e); /* -1: not known */
/* [b, s, heads * d] to [b, heads, s, d]; reported if heads do not divide. */
tn_value onnx_split_heads(imp_node *c, tn_value v, int64_t heads);
/* [b, heads, s, d] to [b, s, heads * d] */
tn_value onnx_join_heads(imp_node *c, tn_value v);
tn_value onnx_times(imp_node *c, tn_value v, double by);
/* x of four dimensions: the first `size` elements of the last one are turned in pairs by the angles whose cosines and
 * sines are given, broadcast to x with size / 2 in the last dimension. in_turn: pairs are neighbours, else halves. */
tn_value onnx_rotate(imp_node *c, tn_value x, int64_t size, bool in_turn, tn_value cosine, tn_value sine);

/* ---- rotations of com.microsoft (ops_rotary.c) ---- */
/* Rows `at` [b, s] of a table of angles, for [b, heads, s, size] or [b, s, heads, size]; heads_axis 1 or 2. */
tn_value onnx_angles(imp_node *c, tn_value table, tn_value at, int heads_axis);
tn_value onnx_counted(imp_node *c, tn_value first,
                      const tn_expr *s);          /* first [b or 1] + 0, 1 .. s - 1: [b or 1, s] */
int64_t onnx_turned(imp_node *c, tn_value table); /* elements that a table of angles turns */

#endif
