/* Random numbers that a seed decides: Philox4x32-10 (Salmon et al., 2011), which TensorFlow's kernels on CPUs
 * use, with the same bits for integers and uniform numbers. A block of four words is counted in the second
 * half of a counter of four words; words are the low halves of uint64. */
#include "frontend/tensorflow/tf.h"

#include "op/tensor/tensor.h"

#include <string.h>

static const tn_dtype U64 = {TN_UINT, 64, 1}, U32 = {TN_UINT, 32, 1};

static tn_value word(imp_node *c, uint32_t v) { return imp_const(c, U64, v); }

static tn_value with(imp_node *c, const tn_op *op, tn_value x, uint32_t v)
{
    return imp_binary(c, op, x, word(c, v));
}

static tn_value low(imp_node *c, tn_value x) { return with(c, &tn_op_bitwise_and, x, UINT32_MAX); }
static tn_value high(imp_node *c, tn_value x) { return with(c, &tn_op_right_shift, x, 32); }
static tn_value mixed(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_bitwise_xor, a, b); }

/* Two words as one of twice the width. */
static tn_value joined(imp_node *c, tn_value l, tn_value h)
{
    return imp_binary(c, &tn_op_bitwise_or, l, with(c, &tn_op_left_shift, h, 32));
}

static void philox(imp_node *c, tn_value v[4], tn_value key0, tn_value key1)
{
    for (int i = 0; i < 10 && !c->bad; i++) {
        tn_value a = with(c, &tn_op_multiply, v[0], 0xd2511f53u),
                 b = with(c, &tn_op_multiply, v[2], 0xcd9e8d57u);
        v[0] = mixed(c, mixed(c, high(c, b), v[1]), key0);
        v[2] = mixed(c, mixed(c, high(c, a), v[3]), key1);
        v[1] = low(c, b);
        v[3] = low(c, a);
        key0 = low(c, with(c, &tn_op_add, key0, 0x9e3779b9u));
        key1 = low(c, with(c, &tn_op_add, key1, 0xbb67ae85u));
    }
}

/* Element i of a list, rank 0. */
static tn_value element(imp_node *c, tn_value list, int64_t i)
{
    return imp_squeeze(c, imp_slice(c, list, 0, i, i + 1), 0);
}

/* The key and the counter that a seed of two numbers stands for. */
static void key_counter(imp_node *c)
{
    tn_value seed = imp_in(c, 0);
    if (!c->bad && (imp_rank(seed) != 1 || !tn_is_value(imp_type(seed)->dim[0], 2) ||
                    imp_type(seed)->dtype.code != TN_INT))
        imp_refuse(c, IMP_OPERANDS, "the seed is %s, but must be two integers",
                   imp_type_text(c, imp_type(seed)));
    if (c->bad)
        return;
    seed = imp_bitcast(c, imp_cast(c, seed, TN_I64), U64);
    tn_value a = element(c, seed, 0), b = element(c, seed, 1);
    tn_value v[4] = {low(c, a), high(c, a), low(c, b), high(c, b)};
    tn_value key0 = word(c, 0x3ec8f720u), key1 = word(c, 0x02461e29u);
    philox(c, v, key0, key1);
    tn_value counter[] = {imp_unsqueeze(c, word(c, 0), 0), imp_unsqueeze(c, joined(c, v[2], v[3]), 0)};
    imp_out(c, 0, imp_unsqueeze(c, joined(c, v[0], v[1]), 0));
    if (c->n_out > 1)
        imp_out_any(c, 1, imp_concat(c, 2, counter, 0));
}

static void algorithm(imp_node *c) { imp_out(c, 0, imp_const(c, TN_I32, 1)); } /* Philox */

/* n blocks of four words: four lists. */
static void blocks(imp_node *c, tn_value key, tn_value counter, const tn_expr *n, tn_value v[4])
{
    tn_value k = element(c, key, 0), first = element(c, counter, 0), rest = element(c, counter, 1);
    tn_value at = imp_bitcast(c, imp_count_up(c, n), U64);
    at = imp_binary(c, &tn_op_add, at, first);
    tn_value zero = with(c, &tn_op_bitwise_and, at, 0);
    v[0] = low(c, at);
    v[1] = high(c, at);
    v[2] = imp_binary(c, &tn_op_add, zero, low(c, rest));
    v[3] = imp_binary(c, &tn_op_add, zero, high(c, rest));
    tn_value key0 = low(c, k), key1 = high(c, k);
    philox(c, v, key0, key1);
}

/* [0, 1): the low 23 bits of words, uint32. */
static tn_value unit(imp_node *c, tn_value words)
{
    tn_value bits = with(c, &tn_op_bitwise_and, words, 0x7fffffu);
    bits = imp_cast(c, with(c, &tn_op_bitwise_or, bits, 0x3f800000u), U32);
    return imp_with(c, &tn_op_subtract, imp_bitcast(c, bits, TN_F32), 1);
}

/* Two normal numbers of two uniform ones (Box and Muller). */
static void normal_pair(imp_node *c, tn_value v[2])
{
    tn_value size = imp_with(c, &tn_op_maximum, unit(c, v[0]), 1e-7);
    tn_value angle = imp_with(c, &tn_op_multiply, unit(c, v[1]), 6.283185307179586);
    size = imp_with(c, &tn_op_multiply, imp_unary(c, &tn_op_log, size), -2);
    size = imp_unary(c, &tn_op_sqrt, size);
    v[0] = imp_binary(c, &tn_op_multiply, imp_unary(c, &tn_op_sin, angle), size);
    v[1] = imp_binary(c, &tn_op_multiply, imp_unary(c, &tn_op_cos, angle), size);
}

/* Integers from `from` on, below `to`: the remainder of a word. */
static tn_value bounded(imp_node *c, tn_value words, tn_value from, tn_value to)
{
    from = imp_cast(c, from, TN_I64);
    tn_value range = imp_binary(c, &tn_op_subtract, imp_cast(c, to, TN_I64), from);
    words = imp_bitcast(c, words, TN_I64);
    return imp_cast(c, imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_floor_mod, words, range), from),
                    TN_I32);
}

static void drawn(imp_node *c)
{
    bool normal = strstr(c->row->op, "Normal") != NULL, whole = strstr(c->row->op, "Int") != NULL;
    tn_dtype t = tf_attr_dtype(c, "dtype", whole ? TN_I32 : TN_F32);
    tn_dims shape = imp_extents_in(c, imp_in(c, 0), "the shape");
    tn_value key = imp_in(c, 1), counter = imp_in(c, 2), v[4];
    (void)imp_in(c, 3);
    if (!c->bad && !tn_dtype_eq(t, whole ? TN_I32 : TN_F32))
        imp_refuse(c, IMP_BAD_VALUE, "only float32 and int32 are drawn");
    if (c->bad)
        return;
    const tn_expr *n = tn_idx(c->pool, 1), *three = tn_idx(c->pool, 3), *four = tn_idx(c->pool, 4);
    for (uint32_t i = 0; i < shape.n; i++)
        n = tn_mul(c->pool, n, shape.at[i]);
    n = imp_simplify(c, n);
    blocks(c, key, counter, imp_simplify(c, tn_fdiv(c->pool, tn_add(c->pool, n, three), four)), v);
    if (normal) {
        normal_pair(c, v);
        normal_pair(c, v + 2);
    }
    tn_value from = whole ? tf_scalar_in(c, 4) : key, to = whole ? tf_scalar_in(c, 5) : key;
    for (int i = 0; i < 4; i++) {
        v[i] = normal ? v[i] : whole ? bounded(c, v[i], from, to) : unit(c, v[i]);
        v[i] = imp_unsqueeze(c, v[i], 1);
    }
    tn_value all = imp_flat(c, imp_concat(c, 4, v, 1));
    all = imp_slice_to(c, all, 0, tn_idx(c->pool, 0), n);
    imp_out(c, 0, imp_reshape(c, all, (int)shape.n, shape.at));
}

// clang-format off
const imp_row tf_rows_random[] = {
    {"StatelessRandomGetAlg",        1, 0, 0, 1, algorithm,   NULL},
    {"StatelessRandomGetKeyCounter", 1, 0, 1, 2, key_counter, NULL},
    {"StatelessRandomNormalV2",      1, 0, 4, 1, drawn,       NULL},
    {"StatelessRandomUniformIntV2",  1, 0, 6, 1, drawn,       NULL},
    {"StatelessRandomUniformV2",     1, 0, 4, 1, drawn,       NULL},
    {0},
};
// clang-format on
