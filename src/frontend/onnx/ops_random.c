/* Random numbers: from the node's seed, the same in every run. A node without one asks for other numbers each time,
 * which a compiled model does not give: it is refused. */
#include "frontend/onnx/onnx.h"

#include "ir/eval.h"
#include "op/nn/nn.h"
#include "op/random/random.h"
#include "op/tensor/tensor.h"

#include <string.h>

static int64_t seed(onnx_conv *c)
{
    if (!onnx_has_attr(c, "seed"))
        onnx_fail(
            c, "onnx-E009",
            "attribute seed is missing; a compiled model gives the same numbers in every run, so set a seed");
    unsigned char bits[8] = {0};
    tn_scalar_write(TN_F32, bits, (tn_scalar){.f = onnx_attr_float(c, "seed", 0)});
    return tn_scalar_read(TN_I32, bits).i;
}

/* The dtype of attribute dtype, else def. */
static tn_dtype result_type(onnx_conv *c, tn_dtype def)
{
    if (onnx_has_attr(c, "dtype") &&
        !onnx_dtype(c->im, onnx_attr_int(c, "dtype", 0), "the result", c->loc, &def))
        c->bad = true;
    return def;
}

static void random(onnx_conv *c)
{
    bool like = strstr(c->row->op, "Like") != NULL, normal = c->row->op[6] == 'N';
    tn_random_attr a = {.distribution = normal ? "normal" : "uniform", .seed = seed(c)};
    if (like) {
        const tn_type *t = onnx_type(onnx_in(c, 0));
        a.shape = (tn_dims){t->n, t->dim};
        a.dtype = result_type(c, t->dtype);
    } else {
        tn_ints list = {0};
        onnx_attr_need(c, "shape");
        (void)onnx_attr_ints(c, "shape", &list);
        const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, list.n);
        for (uint32_t i = 0; i < list.n; i++)
            e[i] = tn_idx(c->pool, list.at[i]);
        a.shape = (tn_dims){list.n, e};
        a.dtype = result_type(c, TN_F32);
    }
    a.low = normal ? onnx_attr_float(c, "mean", 0) : onnx_attr_float(c, "low", 0);
    a.high = normal ? onnx_attr_float(c, "scale", 1) : onnx_attr_float(c, "high", 1);
    onnx_out(c, 0, onnx_call(c, &tn_op_random, &a, 0, NULL));
}

/* One with the operand's probability. */
static void bernoulli(onnx_conv *c)
{
    tn_value p = onnx_in(c, 0);
    const tn_type *t = onnx_type(p);
    tn_dtype to = result_type(c, t->dtype), wide = t->dtype.bits == 64 ? TN_F64 : TN_F32;
    tn_random_attr a = {{t->n, t->dim}, "uniform", 0, 1, seed(c), wide};
    tn_value drawn = onnx_call(c, &tn_op_random, &a, 0, NULL);
    onnx_out(c, 0, onnx_cast(c, onnx_call2(c, &tn_op_less, NULL, drawn, onnx_cast(c, p, wide)), to));
}

/* Rows of log-probabilities, up to a summand: of sample_size uniform numbers each, in how many classes'
 * probabilities, added up, it lies. */
static void multinomial(onnx_conv *c)
{
    tn_value x = onnx_in(c, 0);
    const tn_type *t = onnx_type(x);
    int64_t samples = onnx_attr_int(c, "sample_size", 1), last = 0, two = 2;
    tn_dtype to = result_type(c, TN_I32), wide = t->dtype.bits == 64 ? TN_F64 : TN_F32;
    if (!c->bad && (t->n != 2 || !tn_is_int(t->dim[1], &last) || last < 1 || samples < 1))
        onnx_fail(c, "onnx-E009",
                  "the operand is %s and sample_size %lld; it needs rows with a known number of classes, and "
                  "a sample_size of at least 1",
                  onnx_type_text(c, t), (long long)samples);
    int32_t from = (int32_t)seed(c);
    if (c->bad)
        return;
    const tn_expr *const shape[2] = {t->dim[0], tn_idx(c->pool, samples)};
    tn_random_attr a = {tn_dims_make(c->arena, 2, shape), "uniform", 0, 1, from, wide};
    tn_axis_attr classes = {1};
    tn_scan_attr sums = {1, false, false};
    tn_axes_attr count = {tn_ints_make(c->arena, 1, &two), false, false};
    tn_value p = onnx_call1(c, &tn_op_nn_softmax, &classes, onnx_cast(c, x, wide)),
             edge = onnx_unsqueeze(c, onnx_call1(c, &tn_op_cumsum, &sums, p), 1),
             drawn = onnx_unsqueeze(c, onnx_call(c, &tn_op_random, &a, 0, NULL), 2),
             passed = onnx_cast(c, onnx_call2(c, &tn_op_less_equal, NULL, edge, drawn), TN_I32),
             index = onnx_call1(c, &tn_op_sum, &count, passed);
    /* sums are rounded */
    index = onnx_call2(c, &tn_op_minimum, NULL, index, onnx_const(c, TN_I32, (double)(last - 1)));
    onnx_out(c, 0, onnx_cast(c, index, to));
}

// clang-format off
const onnx_row onnx_rows_random[] = {
    {"RandomNormal",       1, 28, 0, 1, random,    NULL},
    {"RandomUniform",      1, 28, 0, 1, random,    NULL},
    {"RandomNormalLike",   1, 28, 1, 1, random,    NULL},
    {"RandomUniformLike",  1, 28, 1, 1, random,    NULL},
    {"Bernoulli",         15, 28, 1, 1, bernoulli, NULL},
    {"Multinomial",        7, 28, 1, 1, multinomial, NULL},
    {0},
};
// clang-format on
