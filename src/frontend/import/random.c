/* Random numbers, and what is decided by them. */
#include "frontend/import/random.h"

#include "op/nn/nn.h"
#include "op/random/random.h"
#include "op/tensor/tensor.h"

int64_t imp_own_seed(const imp_node *c)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; c->n_out && i < c->out_name[0].n; i++)
        hash = (hash ^ ((const uint8_t *)c->out_name[0].at)[i]) * 16777619u;
    return (int32_t)hash;
}

tn_value imp_random(imp_node *c, tn_dims shape, bool normal, double low, double high, int64_t seed,
                    tn_dtype t)
{
    tn_random_attr a = {shape, normal ? "normal" : "uniform", low, high, seed, t};
    return c->bad ? (tn_value){0} : imp_call(c, &tn_op_random, &a, 0, NULL);
}

tn_value imp_random_below(imp_node *c, tn_dims shape, tn_value p, int64_t seed)
{
    tn_dtype wide = imp_type(p)->dtype.bits == 64 ? TN_F64 : TN_F32;
    tn_value drawn = imp_random(c, shape, false, 0, 1, seed, wide);
    return imp_binary(c, &tn_op_less, drawn, imp_cast(c, p, wide));
}

/* Uniform numbers: in how many classes' probabilities, added up, each lies. */
tn_value imp_random_class(imp_node *c, tn_value rows, int64_t samples, int64_t seed)
{
    const tn_type *t = imp_type(rows);
    int64_t last = 0, two = 2;
    if (!c->bad && (t->n != 2 || !tn_is_int(t->dim[1], &last) || last < 1 || samples < 1))
        imp_refuse(c, IMP_BAD_VALUE,
                   "%lld numbers are drawn of %s, but it needs rows with a known number of classes, and at "
                   "least 1 is drawn",
                   (long long)samples, imp_type_text(c, t));
    if (c->bad)
        return (tn_value){0};
    const tn_expr *const shape[2] = {t->dim[0], tn_idx(c->pool, samples)};
    tn_axis_attr classes = {1};
    tn_scan_attr sums = {1, false, false};
    tn_axes_attr count = {tn_ints_make(c->arena, 1, &two), false, false};
    tn_value p = imp_call1(c, &tn_op_nn_softmax, &classes, rows),
             edge = imp_unsqueeze(c, imp_call1(c, &tn_op_cumsum, &sums, p), 1),
             drawn = imp_random(c, tn_dims_make(c->arena, 2, shape), false, 0, 1, seed, t->dtype),
             passed = imp_binary(c, &tn_op_less_equal, edge, imp_unsqueeze(c, drawn, 2)),
             index = imp_call1(c, &tn_op_sum, &count, imp_cast(c, passed, TN_I32));
    /* sums are rounded */
    return imp_binary(c, &tn_op_minimum, index, imp_const(c, TN_I32, (double)(last - 1)));
}
