/* Layers that every model has: inputs, Dense, Embedding, masks, models inside models; and those that do nothing when a
 * model is used (Dropout, noise, random pictures). */
#include "frontend/keras/rows.h"

#include "op/tensor/tensor.h"

#include <string.h>

static void identity(imp_node *c)
{
    keras_layer_of(c)->checked = true; /* what it does in training is of no interest */
    keras_out(c, keras_in(c, 0));
}

static void dense(imp_node *c)
{
    keras_ignore(c, "units");
    keras_ignore(c, "use_bias");
    keras_ignore(c, "bias");
    keras_ignore(c, "output_dim");
    tn_value x = keras_in(c, 0), kernel = keras_variable_of(c, "kernel"), bias = keras_optional(c, "bias");
    keras_out(c, keras_activation(c, keras_dense(c, x, kernel, bias)));
}

static void einsum_dense(imp_node *c)
{
    keras_ignore(c, "output_shape");
    keras_ignore(c, "bias_axes");
    tn_value x = keras_in(c, 0), kernel = keras_variable_of(c, "kernel"), bias = keras_optional(c, "bias");
    tn_value y = keras_einsum(c, keras_text(c, "equation", ""), x, kernel);
    keras_out(c, keras_activation(c, bias.def ? imp_binary(c, &tn_op_add, y, bias) : y));
}

/* ---- Embedding ---- */

static tn_value rows_of(imp_node *c, tn_value table, tn_value at)
{
    tn_take_attr take = {0, tn_intern(c->g->ctx, "clip")};
    if (c->bad)
        return table;
    tn_extent_attr a = {tn_dims_make(c->arena, 1, imp_type(table)->dim)};
    at = tn_dtype_is_int(imp_type(at)->dtype) ? at : imp_cast(c, at, TN_DT(TN_INT, 32));
    return imp_call2(c, &tn_op_take, &take, table, imp_call1(c, &tn_op_checked_index, &a, at));
}

static void embedding(imp_node *c)
{
    keras_ignore(c, "output_dim");
    tn_value x = keras_in(c, 0), table = keras_variable_of(c, "embeddings"), mask = {0};
    if (keras_bool(c, "mask_zero", false))
        mask = imp_binary(c, &tn_op_not_equal, x, keras_like(c, x, 0));
    keras_out_masked(c, rows_of(c, table, x), mask);
}

/* Embedding, or with reverse=True the products with all of its rows. */
static void reversible_embedding(imp_node *c)
{
    static const int64_t swap[] = {1, 0};
    const tn_json *reverse = keras_constant_of(c, 1, "reverse");
    bool tied = keras_bool(c, "tie_weights", true);
    double cap = keras_real(c, "logit_soft_cap", 0);
    keras_ignore(c, "reverse_dtype");
    if (!tn_json_is(reverse, TN_JSON_BOOL) || !reverse->u.b) {
        embedding(c);
        return;
    }
    keras_ignore(c, "output_dim");
    keras_ignore(c, "mask_zero");
    tn_value kernel = tied ? imp_transpose(c, keras_variable_of(c, "embeddings"), 2, swap)
                           : keras_variable_of(c, "reverse_embeddings");
    tn_value y = keras_dense(c, keras_in(c, 0), kernel, (tn_value){0});
    if (cap != 0) {
        y = imp_unary(c, &tn_op_tanh, imp_binary(c, &tn_op_divide, y, keras_like(c, y, cap)));
        y = imp_binary(c, &tn_op_multiply, y, keras_like(c, y, cap));
    }
    keras_out(c, y);
}

/* Steps whose elements are all the mask's value become 0, and do not count. */
static void masking(imp_node *c)
{
    static const int64_t last[] = {-1};
    tn_value x = keras_in(c, 0), value = keras_like(c, x, keras_real(c, "mask_value", 0));
    tn_value differs = imp_binary(c, &tn_op_not_equal, x, value);
    tn_value any = keras_reduce(c, &tn_op_max, imp_cast(c, differs, TN_DT(TN_INT, 32)), 1, last, true);
    any = imp_binary(c, &tn_op_not_equal, any, keras_like(c, any, 0));
    tn_value y = imp_binary(c, &tn_op_multiply, x, imp_cast(c, any, imp_type(x)->dtype));
    keras_out_masked(c, y, imp_squeeze(c, any, imp_rank(any) - 1));
}

/* Of the networks ConvNeXt: each channel by a factor. */
static void layer_scale(imp_node *c)
{
    keras_ignore(c, "init_values");
    keras_ignore(c, "projection_dim");
    keras_out(c, imp_binary(c, &tn_op_multiply, keras_in(c, 0), keras_variable_of(c, "gamma")));
}

/* Of the networks InceptionResNet: what a block adds, by a factor. */
static void scaled_sum(imp_node *c)
{
    tn_value x = keras_in(c, 0), y = keras_in(c, 1);
    y = imp_binary(c, &tn_op_multiply, y, keras_like(c, y, keras_real(c, "scale", 1)));
    keras_out(c, imp_binary(c, &tn_op_add, x, y));
}

static void input(imp_node *c)
{
    keras_layer_of(c)->checked = true;
    keras_out(c, keras_in(c, 0));
}

/* A layer around another that changes nothing once training is over. */
static void inner_layer(imp_node *c)
{
    keras_layer *l = keras_layer_of(c);
    keras_call *call = TN_NEW(&c->im->scratch, keras_call);
    keras_ignore(c, "layer");
    keras_ignore(c, "power_iterations");
    keras_tensor in = {keras_in(c, 0), (tn_value){0}, NULL};
    if (!c->bad && keras_apply(c, l->n_inside ? l->inside[0] : NULL, 1, &in, call))
        keras_out_masked(c, call->out[0].v, (tn_value){0});
}

// clang-format off
const keras_row keras_rows_core[] = {
    LAYER("InputLayer",           input,                NULL, NULL, KERAS_ANY_TYPE, NULL),
    LAYER("Sequential",           keras_call_model,     NULL, NULL, KERAS_MODEL | KERAS_ANY_TYPE, NULL),
    LAYER("Pipeline",             keras_call_model,     NULL, NULL, KERAS_MODEL | KERAS_ANY_TYPE, NULL),
    LAYER("Functional",           keras_call_model,     NULL, NULL, KERAS_MODEL | KERAS_ANY_TYPE, NULL),
    LAYER("Model",                keras_call_model,     NULL, NULL, KERAS_MODEL | KERAS_ANY_TYPE, NULL),
    LAYER("Dense",                dense,                NULL, "kernel bias?use_bias", 0, NULL),
    LAYER("EinsumDense",          einsum_dense,         NULL, "kernel bias?bias_axes", KERAS_DROPS_MASK, NULL),
    LAYER("Embedding",            embedding,            NULL, "embeddings", KERAS_ANY_TYPE, NULL),
    LAYER("ReversibleEmbedding",  reversible_embedding, NULL, "embeddings reverse_embeddings?!tie_weights", 0, NULL),
    LAYER("Masking",              masking,              NULL, NULL, 0, NULL),
    LAYER("SpectralNormalization", inner_layer,         NULL, "-vector_u", 0, "layer"),
    LAYER("LayerScale",           layer_scale,          NULL, "gamma", 0, NULL),
    LAYER("CustomScaleLayer",     scaled_sum,           NULL, NULL, 0, NULL),
    LAYER("StochasticDepth",      identity,             NULL, NULL, KERAS_ANY_TYPE, NULL),
    LAYER("Identity",             identity,             NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_OLD_MASK, NULL),
    LAYER("Dropout",              identity,             NULL, NULL, 0, NULL),
    LAYER("SpatialDropout1D",     identity,             NULL, NULL, 0, NULL),
    LAYER("SpatialDropout2D",     identity,             NULL, NULL, 0, NULL),
    LAYER("SpatialDropout3D",     identity,             NULL, NULL, 0, NULL),
    LAYER("GaussianDropout",      identity,             NULL, NULL, 0, NULL),
    LAYER("GaussianNoise",        identity,             NULL, NULL, 0, NULL),
    LAYER("AlphaDropout",         identity,             NULL, NULL, 0, NULL),
    LAYER("ActivityRegularization", identity,           NULL, NULL, 0, NULL),
    END_OF_ROWS,
};
// clang-format on
