/* Fused recurrent cells: one step (LSTMBlockCell, GRUBlockCell), or all of a sequence (BlockLSTM). */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/matrix.h"
#include "frontend/import/scan.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* [x, h] w + b */
static tn_value layer(imp_node *c, tn_value x, tn_value h, tn_value w, tn_value b)
{
    tn_value both = imp_concat(c, 2, (const tn_value[]){x, h}, 1);
    return imp_binary(c, &tn_op_add, imp_matmul(c, both, w, NULL), b);
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

typedef struct lstm {
    double forget, most;          /* added to the gate's sum; limit of the cell, if above 0 */
    tn_value peephole[3];         /* of the gates i, f, o; absent: none */
    uint32_t order[4];            /* which gates i, ci, f, o are among the columns of the weight */
    tn_value w;                   /* of a sequence: the weight of h [m, 4 m] */
    uint32_t n_wanted, wanted[7]; /* of a sequence: which results */
} lstm;

/* in: number of the operand that is the first peephole; second: of the second version, whose gates are i, f, ci, o. */
static void read_lstm(imp_node *c, lstm *k, uint32_t in, bool second)
{
    *k = (lstm){.forget = second ? 0 : imp_attr_float(c, "forget_bias", 1),
                .most = imp_attr_float(c, "cell_clip", second ? 0 : 3),
                .order = {0, second ? 2 : 1, second ? 1 : 2, 3}};
    bool peephole = imp_attr_int(c, "use_peephole", 0) != 0;
    for (uint32_t i = 0; i < 3; i++)
        k->peephole[i] = peephole ? imp_in(c, in + i) : (tn_value){0};
}

static tn_value peeped(imp_node *c, const lstm *k, int i, tn_value v, tn_value cell)
{
    if (!k->peephole[i].def)
        return v;
    return imp_binary(c, &tn_op_add, v, imp_binary(c, &tn_op_multiply, cell, k->peephole[i]));
}

/* all: the sums of the four gates; out: i, cs, f, o, ci, co, h */
static void lstm_step(imp_node *c, const lstm *k, tn_value all, tn_value before, tn_value out[7])
{
    tn_clip_attr within = {-k->most, k->most};
    tn_value i = gate(c, all, k->order[0], 4), ci = gate(c, all, k->order[1], 4);
    tn_value f = gate(c, all, k->order[2], 4), o = gate(c, all, k->order[3], 4);
    f = k->forget != 0 ? imp_with(c, &tn_op_add, f, k->forget) : f;
    i = imp_unary(c, &tn_op_sigmoid, peeped(c, k, 0, i, before));
    f = imp_unary(c, &tn_op_sigmoid, peeped(c, k, 1, f, before));
    ci = imp_unary(c, &tn_op_tanh, ci);
    tn_value fresh = imp_binary(c, &tn_op_multiply, i, ci), old = imp_binary(c, &tn_op_multiply, before, f);
    tn_value cs = imp_binary(c, &tn_op_add, fresh, old);
    cs = k->most > 0 ? imp_call1(c, &tn_op_clip, &within, cs) : cs;
    o = imp_unary(c, &tn_op_sigmoid, peeped(c, k, 2, o, cs));
    tn_value co = imp_unary(c, &tn_op_tanh, cs), h = imp_binary(c, &tn_op_multiply, co, o);
    const tn_value result[7] = {i, cs, f, o, ci, co, h};
    memcpy(out, result, sizeof result);
}

/* x, cs_prev, h_prev, w, wci, wcf, wco, b -> i, cs, f, o, ci, co, h */
static void lstm_cell(imp_node *c)
{
    lstm k;
    tn_value out[7];
    read_lstm(c, &k, 4, false);
    if (!are_rows(c, 4))
        return;
    tn_value all = layer(c, imp_in(c, 0), imp_in(c, 2), imp_in(c, 3), imp_in(c, 7));
    lstm_step(c, &k, all, imp_in(c, 1), out);
    for (uint32_t i = 0; i < 7; i++)
        imp_out_any(c, i, out[i]);
}

/* ---- BlockLSTM ---- */

/* x: what the data adds to the gates; states: cell and h; out: the results that are wanted side by side */
static void sequence_step(imp_node *c, const imp_scan *s, tn_value x, tn_value state[], tn_value *out)
{
    const lstm *k = s->user;
    tn_value result[7], some[7];
    tn_value all = imp_binary(c, &tn_op_add, x, imp_matmul(c, state[1], k->w, NULL));
    lstm_step(c, k, all, state[0], result);
    state[0] = result[1];
    state[1] = result[6];
    for (uint32_t i = 0; i < k->n_wanted; i++)
        some[i] = result[k->wanted[i]];
    *out = imp_concat(c, k->n_wanted, some, 1);
}

/* bool [batch, steps]: does a step come before number `end`? Absent: all do. */
static tn_value steps_before(imp_node *c, tn_value end, const tn_expr *batch, const tn_expr *steps)
{
    double n;
    const tn_expr *dim[2] = {batch, steps};
    if (imp_scalar(c, end, &n) && tn_is_value(steps, (int64_t)n))
        return (tn_value){0};
    tn_value step = imp_count_up(c, steps), is = imp_binary(c, &tn_op_less, step, imp_cast(c, end, TN_I64));
    return tf_full(c, is, (tn_dims){2, dim});
}

static const int64_t turned[] = {1, 0, 2};

/* Part `at` of the results of all steps [batch, steps, n m] as [steps, batch, m]. */
static tn_value result_of(imp_node *c, tn_value all, int64_t at, int64_t m)
{
    tn_value v = imp_slice(c, all, 2, at * m, (at + 1) * m);
    return imp_transpose(c, v, 3, turned);
}

/* seq_len_max, x [steps, batch, n], cs_prev, h_prev [batch, m], w, wci, wcf, wco, b -> as LSTMBlockCell, of each step;
 * from step seq_len_max on 0. */
static void block_lstm(imp_node *c)
{
    lstm k;
    int64_t n = 0, m = 0;
    tn_value x = imp_in(c, 1), cell = imp_in(c, 2), h = imp_in(c, 3), w = imp_in(c, 4),
             end = tf_scalar_in(c, 0);
    const tn_type *t = imp_type(x), *u = imp_type(h);
    read_lstm(c, &k, 5, c->row->op[strlen(c->row->op) - 1] == '2');
    if (!c->bad && (t->n != 3 || u->n != 2 || imp_rank(cell) != 2 || imp_rank(w) != 2 ||
                    !tn_is_int(t->dim[2], &n) || !tn_is_int(u->dim[1], &m)))
        imp_refuse(c, IMP_OPERANDS, "sequences %s with states %s are not supported; give fixed sizes",
                   imp_type_text(c, t), imp_type_text(c, u));
    if (c->bad)
        return;
    if (!imp_with_extent(c, &cell, 0, t->dim[1]) || !imp_with_extent(c, &h, 0, t->dim[1]))
        imp_refuse(c, IMP_OPERANDS, "sequences %s and states %s differ in their number; the model is damaged",
                   imp_type_text(c, t), imp_type_text(c, u));
    for (uint32_t i = 0; i < 7; i++)
        if (imp_wants(c, i))
            k.wanted[k.n_wanted++] = i;
    k.w = imp_slice(c, w, 0, n, n + m);
    tn_value sums = imp_matmul(c, x, imp_slice(c, w, 0, 0, n), NULL);
    sums = imp_binary(c, &tn_op_add, sums, imp_in(c, 8));
    const tn_expr *dim[2] = {t->dim[1], tn_idx(c->pool, m * k.n_wanted)};
    imp_scan s = {.x = imp_transpose(c, sums, 3, turned),
                  .zero_masked = true,
                  .collects = true,
                  .n_state = 2,
                  .state = {cell, h},
                  .step = sequence_step,
                  .user = &k,
                  .step_type = tn_type_tensor(c->pool, u->dtype, 2, dim, NULL)};
    s.mask = steps_before(c, end, t->dim[1], t->dim[0]);
    imp_do_scan(c, &s);
    for (uint32_t i = 0; i < k.n_wanted && !c->bad; i++)
        imp_out(c, k.wanted[i], result_of(c, s.all, i, m));
}

/* x, h_prev, w_ru, w_c, b_ru, b_c -> r, u, c, h */
static void gru_cell(imp_node *c)
{
    if (!are_rows(c, 4))
        return;
    tn_value x = imp_in(c, 0), before = imp_in(c, 1);
    tn_value all = imp_unary(c, &tn_op_sigmoid, layer(c, x, before, imp_in(c, 2), imp_in(c, 4)));
    tn_value r = gate(c, all, 0, 2), u = gate(c, all, 1, 2), held = imp_binary(c, &tn_op_multiply, r, before);
    tn_value fresh = imp_unary(c, &tn_op_tanh, layer(c, x, held, imp_in(c, 3), imp_in(c, 5)));
    /* (1 - u) c + u h */
    tn_value rest = imp_binary(c, &tn_op_subtract, tf_number(c, u, 1), u);
    tn_value part = imp_binary(c, &tn_op_multiply, rest, fresh),
             old = imp_binary(c, &tn_op_multiply, u, before);
    const tn_value out[4] = {r, u, fresh, imp_binary(c, &tn_op_add, part, old)};
    for (uint32_t k = 0; k < 4; k++)
        imp_out_any(c, k, out[k]);
}

// clang-format off
const imp_row tf_rows_cell[] = {
    {"BlockLSTM",     1, 0, 9, 7, block_lstm, NULL},
    {"BlockLSTMV2",   1, 0, 9, 7, block_lstm, NULL},
    {"GRUBlockCell",  1, 0, 6, 4, gru_cell,   NULL},
    {"LSTMBlockCell", 1, 0, 8, 7, lstm_cell,  NULL},
    {0},
};
// clang-format on
