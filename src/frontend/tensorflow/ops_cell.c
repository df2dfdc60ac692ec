/* One step of fused recurrent cells: LSTMBlockCell, GRUBlockCell. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/matrix.h"
#include "op/tensor/tensor.h"

/* [x, h] w + b */
static tn_value layer(imp_node *c, tn_value x, tn_value h, tn_value w, tn_value b)
{
    tn_value both = imp_concat(c, 2, (const tn_value[]){x, h}, 1);
    return tf_binary(c, &tn_op_add, imp_matmul(c, both, w, NULL), b);
}

/* Part k of the n equal ones that the columns of v have. */
static tn_value gate(imp_node *c, tn_value v, int64_t k, int64_t n)
{
    int64_t width = 0;
    if (!c->bad && (imp_rank(v) != 2 || !tn_is_int(imp_type(v)->dim[1], &width) || width % n))
        imp_refuse(c, IMP_OPERANDS, "%s are not the %lld gates of a cell; the model is damaged",
                   imp_type_text(c, imp_type(v)), (long long)n);
    return c->bad ? v : imp_slice(c, v, 1, k * (width / n), (k + 1) * (width / n));
}

static bool are_rows(imp_node *c, uint32_t n)
{
    for (uint32_t i = 0; i < n && !c->bad; i++)
        if (imp_rank(imp_in(c, i)) != 2)
            imp_refuse(c, IMP_OPERANDS, "%s are not rows of numbers; the model is damaged",
                       imp_type_text(c, imp_type(imp_in(c, i))));
    return !c->bad;
}

static tn_value with_peephole(imp_node *c, tn_value v, tn_value cell, uint32_t i)
{
    return tf_binary(c, &tn_op_add, v, tf_binary(c, &tn_op_multiply, cell, imp_in(c, i)));
}

/* x, cs_prev, h_prev, w, wci, wcf, wco, b -> i, cs, f, o, ci, co, h; the gates are i, ci, f, o. */
static void lstm_cell(imp_node *c)
{
    double forget = imp_attr_float(c, "forget_bias", 1), most = imp_attr_float(c, "cell_clip", 3);
    bool peephole = imp_attr_int(c, "use_peephole", 0) != 0;
    tn_clip_attr within = {-most, most};
    if (!are_rows(c, 4))
        return;
    tn_value before = imp_in(c, 1), all = layer(c, imp_in(c, 0), imp_in(c, 2), imp_in(c, 3), imp_in(c, 7));
    tn_value i = gate(c, all, 0, 4), ci = gate(c, all, 1, 4), f = gate(c, all, 2, 4), o = gate(c, all, 3, 4);
    f = imp_with(c, &tn_op_add, f, forget);
    i = tf_unary(c, &tn_op_sigmoid, peephole ? with_peephole(c, i, before, 4) : i);
    f = tf_unary(c, &tn_op_sigmoid, peephole ? with_peephole(c, f, before, 5) : f);
    ci = tf_unary(c, &tn_op_tanh, ci);
    tn_value fresh = tf_binary(c, &tn_op_multiply, i, ci), old = tf_binary(c, &tn_op_multiply, before, f);
    tn_value cs = tf_binary(c, &tn_op_add, fresh, old);
    cs = most > 0 ? imp_call1(c, &tn_op_clip, &within, cs) : cs;
    o = tf_unary(c, &tn_op_sigmoid, peephole ? with_peephole(c, o, cs, 6) : o);
    tn_value co = tf_unary(c, &tn_op_tanh, cs), h = tf_binary(c, &tn_op_multiply, co, o);
    const tn_value out[7] = {i, cs, f, o, ci, co, h};
    for (uint32_t k = 0; k < 7; k++)
        imp_out_any(c, k, out[k]);
}

/* x, h_prev, w_ru, w_c, b_ru, b_c -> r, u, c, h */
static void gru_cell(imp_node *c)
{
    if (!are_rows(c, 4))
        return;
    tn_value x = imp_in(c, 0), before = imp_in(c, 1);
    tn_value all = tf_unary(c, &tn_op_sigmoid, layer(c, x, before, imp_in(c, 2), imp_in(c, 4)));
    tn_value r = gate(c, all, 0, 2), u = gate(c, all, 1, 2), held = tf_binary(c, &tn_op_multiply, r, before);
    tn_value fresh = tf_unary(c, &tn_op_tanh, layer(c, x, held, imp_in(c, 3), imp_in(c, 5)));
    /* (1 - u) c + u h */
    tn_value rest = tf_binary(c, &tn_op_subtract, tf_number(c, u, 1), u);
    tn_value part = tf_binary(c, &tn_op_multiply, rest, fresh),
             old = tf_binary(c, &tn_op_multiply, u, before);
    const tn_value out[4] = {r, u, fresh, tf_binary(c, &tn_op_add, part, old)};
    for (uint32_t k = 0; k < 4; k++)
        imp_out_any(c, k, out[k]);
}

// clang-format off
const imp_row tf_rows_cell[] = {
    {"GRUBlockCell",  1, 0, 6, 4, gru_cell,  NULL},
    {"LSTMBlockCell", 1, 0, 8, 7, lstm_cell, NULL},
    {0},
};
// clang-format on
