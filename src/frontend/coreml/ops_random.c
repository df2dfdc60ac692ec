/* Random numbers: the same in every run, and not those that Core ML draws, whose generator is not documented. */
#include "frontend/coreml/coreml.h"

#include "frontend/import/random.h"

#include <string.h>

/* -1: none. */
static int64_t seed_of(imp_node *c)
{
    int64_t seed = imp_attr_int(c, "seed", cm_is_layer(c) ? 0 : -1);
    if (seed != -1)
        return seed;
    (void)tn_report(c->g->ctx, TN_WARNING, "coreml-W001", c->loc,
                    "it has no seed; the compiled model draws the same random numbers in every run");
    return imp_own_seed(c);
}

/* The extents of the result: of an operand, of a list in the file, or in an operand. */
static tn_dims shape_of(imp_node *c)
{
    size_t n = strlen(c->row->op);
    if (n > 4 && strcmp(c->row->op + n - 4, "Like") == 0) {
        const tn_type *t = imp_type(imp_in(c, 0));
        return (tn_dims){t->n, t->dim};
    }
    if (!cm_is_layer(c) || c->row->max_in)
        return imp_extents_in(c, cm_in(c, 0, "shape"), "shape");
    tn_ints list = cm_ints(c, "outputShape");
    return tn_make_dims(c->g, list.n, list.at);
}

/* The type of a program's operands is that of its result. */
static tn_dtype type_of(imp_node *c, const char *name)
{
    tn_value v = cm_is_layer(c) ? (tn_value){0} : cm_opt(c, UINT32_MAX, name);
    return v.def ? imp_type(v)->dtype : TN_F32;
}

static void uniform(imp_node *c)
{
    bool layer = cm_is_layer(c);
    double low = imp_attr_float(c, layer ? "minVal" : "low", 0),
           high = imp_attr_float(c, layer ? "maxVal" : "high", layer ? 0 : 1);
    tn_dims shape = shape_of(c);
    imp_out(c, 0, imp_random(c, shape, false, low, high, seed_of(c), type_of(c, "low")));
}

static void normal(imp_node *c)
{
    bool layer = cm_is_layer(c);
    double mean = imp_attr_float(c, "mean", 0),
           deviation = imp_attr_float(c, layer ? "stdDev" : "stddev", layer ? 0 : 1);
    tn_dims shape = shape_of(c);
    imp_out(c, 0, imp_random(c, shape, true, mean, deviation, seed_of(c), type_of(c, "mean")));
}

static void bernoulli(imp_node *c)
{
    tn_value p = imp_const(c, TN_F32, imp_attr_float(c, "prob", cm_is_layer(c) ? 0 : 0.5));
    tn_dims shape = shape_of(c);
    imp_out(c, 0, imp_cast(c, imp_random_below(c, shape, p, seed_of(c)), type_of(c, "prob")));
}

/* The last dimension of the operand are classes, that of the result samples. */
static void categorical(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    tn_dtype t = imp_type(x)->dtype;
    const char *mode = layer ? "" : imp_attr_string(c, "mode", "logits");
    bool logits = layer ? cm_flag(c, "isLogits") : strcmp(mode, "logits") == 0;
    int64_t samples = imp_attr_int(c, layer ? "numSamples" : "size", layer ? 0 : 1), seed = seed_of(c);
    double least = layer ? imp_attr_float(c, "eps", 0) : 0,
           temperature = layer ? imp_attr_float(c, "temperature", 0) : 1;
    int n = imp_rank(x);
    if (!logits && !layer && strcmp(mode, "probs") != 0)
        imp_refuse(c, IMP_BAD_VALUE, "mode is \"%s\"", mode);
    else if (!c->bad && (n < 1 || !(temperature > 0)))
        imp_refuse(c, IMP_BAD_VALUE, "classes are drawn of %s at temperature %g, which must be above 0",
                   imp_type_text(c, imp_type(x)), temperature);
    if (c->bad)
        return;
    const tn_expr *dim[IMP_MAX_RANK],
        *rows[2] = {imp_product(c, imp_type(x), 0, n - 1), imp_type(x)->dim[n - 1]};
    for (int i = 0; i < n - 1; i++)
        dim[i] = imp_type(x)->dim[i];
    dim[n - 1] = tn_idx(c->pool, samples);
    x = imp_reshape(c, imp_cast(c, x, TN_F32), 2, rows);
    if (!logits)
        x = imp_unary(c, &tn_op_log, least == 0 ? x : imp_with(c, &tn_op_add, x, least));
    if (temperature != 1)
        x = imp_with(c, &tn_op_divide, x, temperature);
    tn_value drawn = imp_random_class(c, x, samples, seed);
    imp_out(c, 0, imp_cast(c, imp_reshape(c, drawn, n, dim), t));
}

// clang-format off
const imp_row cm_rows_random[] = {
    {"randomUniformLike",       0, 0,  1, 1, uniform,     NULL},
    {"randomUniformStatic",     0, 0,  0, 1, uniform,     NULL},
    {"randomUniformDynamic",    0, 0,  1, 1, uniform,     NULL},
    {"random_uniform",          0, 0, -1, 1, uniform,     NULL},
    {"randomNormalLike",        0, 0,  1, 1, normal,      NULL},
    {"randomNormalStatic",      0, 0,  0, 1, normal,      NULL},
    {"randomNormalDynamic",     0, 0,  1, 1, normal,      NULL},
    {"random_normal",           0, 0, -1, 1, normal,      NULL},
    {"randomBernoulliLike",     0, 0,  1, 1, bernoulli,   NULL},
    {"randomBernoulliStatic",   0, 0,  0, 1, bernoulli,   NULL},
    {"randomBernoulliDynamic",  0, 0,  1, 1, bernoulli,   NULL},
    {"random_bernoulli",        0, 0, -1, 1, bernoulli,   NULL},
    {"categoricalDistribution", 0, 0,  1, 1, categorical, NULL},
    {"random_categorical",      0, 0, -1, 1, categorical, NULL},
    {0},
};
// clang-format on
