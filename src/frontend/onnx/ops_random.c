/* Random numbers: the same in every run. With a seed they are those of ONNX's reference implementation, which draws
 * them from NumPy's RandomState. A node without a seed has one of its own, made from the name of its result. */
#include "frontend/onnx/onnx.h"

#include "frontend/import/random.h"
#include "op/random/random.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* Does the node say a seed? Then its numbers are those that ONNX's reference implementation draws. */
static bool is_seeded(imp_node *c) { return imp_has_attr(c, "seed") && !isnan(imp_attr_float(c, "seed", 0)); }

int64_t onnx_seed(imp_node *c)
{
    if (!is_seeded(c)) {
        (void)tn_report(c->g->ctx, TN_WARNING, "onnx-W040", c->loc,
                        "it has no seed; the compiled model draws the same random numbers in every run");
        return imp_own_seed(c);
    }
    double seed = (double)(float)imp_attr_float(c, "seed", 0); /* a float, as it is; towards 0 */
    return seed > -9e18 && seed < 9e18 ? (int64_t)seed : 0;
}

/* The dtype of attribute dtype, else def. */
static tn_dtype result_type(imp_node *c, tn_dtype def)
{
    if (imp_has_attr(c, "dtype") &&
        !onnx_dtype(c->im, imp_attr_int(c, "dtype", 0), "the result", c->loc, &def))
        c->bad = true;
    return def;
}

tn_value onnx_state(imp_node *c, tn_dims shape, int64_t seed, bool normal)
{
    const tn_expr *n = tn_idx(c->pool, 1);
    for (uint32_t i = 0; i < shape.n; i++)
        n = tn_mul(c->pool, n, shape.at[i]);
    n = imp_simplify(c, n);
    tn_random_state_attr a = {tn_dims_make(c->arena, 1, &n), seed & UINT32_MAX,
                              normal ? "normal" : "uniform"};
    return imp_reshape(c, imp_call(c, &tn_op_random_state, &a, 0, NULL), (int)shape.n, shape.at);
}

/* a * v + b, where that is not v */
static tn_value scaled(imp_node *c, tn_value v, double a, double b)
{
    tn_dtype t = imp_type(v)->dtype;
    v = a == 1 ? v : imp_binary(c, &tn_op_multiply, v, imp_const(c, t, a));
    return b == 0 ? v : imp_binary(c, &tn_op_add, v, imp_const(c, t, b));
}

static void random(imp_node *c)
{
    bool like = strstr(c->row->op, "Like") != NULL, normal = c->row->op[6] == 'N', seeded = is_seeded(c);
    tn_random_attr a = {.distribution = normal ? "normal" : "uniform", .seed = onnx_seed(c)};
    if (like) {
        const tn_type *t = imp_type(imp_in(c, 0));
        a.shape = (tn_dims){t->n, t->dim};
        a.dtype = result_type(c, t->dtype);
    } else {
        tn_ints list = {0};
        imp_attr_need(c, "shape");
        (void)imp_attr_ints(c, "shape", &list);
        const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, list.n);
        for (uint32_t i = 0; i < list.n; i++)
            e[i] = tn_idx(c->pool, list.at[i]);
        a.shape = (tn_dims){list.n, e};
        a.dtype = result_type(c, TN_F32);
    }
    a.low = normal ? imp_attr_float(c, "mean", 0) : imp_attr_float(c, "low", 0);
    a.high = normal ? imp_attr_float(c, "scale", 1) : imp_attr_float(c, "high", 1);
    if (!c->bad && tn_dtype_is_complex(a.dtype))
        imp_fail(c, "onnx-E113",
                 "the operator makes real numbers, but its type would be complex; give it dtype");
    if (!seeded || !tn_dtype_is_float(a.dtype) || c->bad) {
        imp_out(c, 0, c->bad ? (tn_value){0} : imp_call(c, &tn_op_random, &a, 0, NULL));
        return;
    }
    tn_value v = imp_cast(c, onnx_state(c, a.shape, a.seed, normal), a.dtype);
    imp_out(c, 0, scaled(c, v, normal ? a.high : a.high - a.low, a.low));
}

/* The binomial numbers of NumPy's RandomState(seed), of one trial each: for a probability above a half, the complement
 * is drawn. */
static tn_value seeded_bernoulli(imp_node *c, tn_value p, int64_t seed)
{
    const tn_type *t = imp_type(p);
    tn_value one = imp_const(c, TN_F64, 1), drawn = onnx_state(c, (tn_dims){t->n, t->dim}, seed, false);
    p = imp_cast(c, p, TN_F64);
    tn_value rest = imp_binary(c, &tn_op_subtract, one, p);
    tn_value few = imp_binary(c, &tn_op_greater, drawn, rest);
    tn_value many = imp_binary(c, &tn_op_less_equal, drawn, imp_binary(c, &tn_op_subtract, one, rest));
    return imp_choose(c, imp_binary(c, &tn_op_less_equal, p, imp_const(c, TN_F64, 0.5)), few, many);
}

/* One with the operand's probability. */
static void bernoulli(imp_node *c)
{
    tn_value p = imp_in(c, 0);
    const tn_type *t = imp_type(p);
    tn_dtype to = result_type(c, t->dtype);
    int64_t seed = onnx_seed(c);
    if (is_seeded(c) && !c->bad) {
        imp_out(c, 0, imp_cast(c, seeded_bernoulli(c, p, seed), to));
        return;
    }
    imp_out(c, 0, imp_cast(c, imp_random_below(c, (tn_dims){t->n, t->dim}, p, seed), to));
}

/* Of rows of log-probabilities, up to a summand: sample_size classes each. */
static void multinomial(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int64_t samples = imp_attr_int(c, "sample_size", 1);
    tn_dtype to = result_type(c, TN_I32), wide = imp_type(x)->dtype.bits == 64 ? TN_F64 : TN_F32;
    tn_value drawn = imp_random_class(c, imp_cast(c, x, wide), samples, (int32_t)onnx_seed(c));
    imp_out(c, 0, imp_cast(c, drawn, to));
}

// clang-format off
const imp_row onnx_rows_random[] = {
    {"RandomNormal",       1,  0, 0, 1, random,    NULL},
    {"RandomUniform",      1,  0, 0, 1, random,    NULL},
    {"RandomNormalLike",   1,  0, 1, 1, random,    NULL},
    {"RandomUniformLike",  1,  0, 1, 1, random,    NULL},
    {"Bernoulli",         15,  0, 1, 1, bernoulli, NULL},
    {"Multinomial",        7,  0, 1, 1, multinomial, NULL},
    {0},
};
// clang-format on
