/* Activations with parameters, and the elementwise operators of old experimental exporters. */
#include "frontend/onnx/onnx.h"

#include "op/tensor/tensor.h"

#include <string.h>

static void plain(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0)));
}

static void with_alpha(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "alpha", 1)};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

static void selu(imp_node *c)
{
    bool first = c->version < 6;
    imp_attr_ignore(c, "consumed_inputs");
    tn_selu_attr a = {imp_attr_float(c, "alpha", first ? 1.6732f : 1.67326319217681884765625f),
                      imp_attr_float(c, "gamma", first ? 1.0507f : 1.05070102214813232421875f)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_selu, &a, imp_in(c, 0)));
}

/* Integers are compared and shifted as floats. */
static void shrink(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    tn_shrink_attr a = {imp_attr_float(c, "lambd", 0.5f), imp_attr_float(c, "bias", 0)};
    tn_value f = tn_dtype_is_float(t) ? x : imp_cast(c, x, t.bits > 16 ? TN_F64 : TN_F32);
    imp_out(c, 0, imp_cast(c, imp_call1(c, &tn_op_nn_shrink, &a, f), t));
}

static void gelu(imp_node *c)
{
    const char *how = imp_attr_string(c, "approximate", "none");
    if (strcmp(how, "none") != 0 && strcmp(how, "tanh") != 0)
        imp_fail(c, "onnx-E009", "approximate is \"%s\"; none and tanh are known", how);
    imp_out(c, 0, imp_unary(c, how[0] == 't' ? &tn_op_nn_gelu_tanh : &tn_op_nn_gelu, imp_in(c, 0)));
}

/* The gate, a * sigmoid(alpha * a), times the value. */
static void swiglu(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "alpha", 1)};
    tn_value gate = imp_call1(c, &tn_op_nn_swish, &a, imp_in(c, 0));
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, gate, imp_in(c, 1)));
}

/* ---- experimental operators: they never belonged to a release, but old exporters wrote them ---- */

static tn_value times(imp_node *c, tn_value x, double v)
{
    return v == 1 ? x : imp_binary(c, &tn_op_multiply, x, imp_const(c, imp_type(x)->dtype, v));
}

static tn_value plus(imp_node *c, tn_value x, double v)
{
    return v == 0 ? x : imp_binary(c, &tn_op_add, x, imp_const(c, imp_type(x)->dtype, v));
}

/* alpha * x + beta */
static void affine(imp_node *c)
{
    double alpha = imp_attr_float(c, "alpha", 1), beta = imp_attr_float(c, "beta", 0);
    imp_out(c, 0, plus(c, times(c, imp_in(c, 0), alpha), beta));
}

static void scale(imp_node *c) { imp_out(c, 0, times(c, imp_in(c, 0), imp_attr_float(c, "scale", 1))); }

/* alpha * tanh(beta * x) */
static void scaled_tanh(imp_node *c)
{
    double alpha = imp_attr_float(c, "alpha", 1), beta = imp_attr_float(c, "beta", 1);
    imp_out(c, 0, times(c, imp_unary(c, &tn_op_tanh, times(c, imp_in(c, 0), beta)), alpha));
}

/* alpha * log(exp(beta * x) + 1) */
static void parametric_softplus(imp_node *c)
{
    double alpha = imp_attr_float(c, "alpha", 1), beta = imp_attr_float(c, "beta", 1);
    imp_out(c, 0, times(c, imp_unary(c, &tn_op_nn_softplus, times(c, imp_in(c, 0), beta)), alpha));
}

/* scale * x + bias of each channel */
static void image_scaler(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = times(c, x, imp_attr_float(c, "scale", 1));
    const imp_attr *bias = imp_attr_find(c, "bias", IMP_A_FLOATS);
    tn_axis_attr channels = {1};
    if (!bias || c->bad) {
        imp_out(c, 0, y);
        return;
    }
    int64_t n = (int64_t)bias->floats.n;
    if (imp_rank(x) < 2 || !tn_is_value(imp_type(x)->dim[1], n)) {
        imp_fail(c, "onnx-E009", "bias has %lld entries, which does not fit the channels of %s", (long long)n,
                 imp_type_text(c, imp_type(x)));
        return;
    }
    tn_node *k = tn_make_constant(c->g, c->im->r, NULL, TN_F32, 1, &n, bias->floats.at, NULL);
    imp_out(c, 0, imp_call2(c, &tn_op_nn_bias_add, &channels, y, imp_cast(c, tn_val(k), imp_type(x)->dtype)));
}

/* border: left, top, right, bottom; with `scale`, the extents that are left. */
static void crop(imp_node *c)
{
    tn_ints border, size;
    tn_value x = imp_in(c, 0);
    int64_t begin[2], end[2];
    static const int64_t axes[] = {2, 3}, steps[] = {1, 1};
    imp_attr_need(c, "border");
    (void)imp_attr_ints(c, "border", &border);
    bool sized = imp_attr_ints(c, "scale", &size);
    if (!c->bad && (imp_rank(x) != 4 || border.n != 4 || (sized && size.n != 2)))
        imp_fail(c, "onnx-E009", "border must have four entries, scale two, and data %s four dimensions",
                 imp_type_text(c, imp_type(x)));
    for (int i = 0; i < 2 && !c->bad; i++) {
        begin[i] = border.at[1 - i];
        end[i] = sized ? begin[i] + size.at[i] : -border.at[3 - i];
        end[i] = !sized && end[i] == 0 ? INT32_MAX : end[i];
        if (begin[i] < 0 || begin[i] > INT32_MAX ||
            (sized ? size.at[i] < 0 || end[i] > INT32_MAX : border.at[3 - i] < 0))
            imp_fail(c, "onnx-E009", "border and scale must be in [0, 2^31]");
    }
    if (c->bad)
        return;
    tn_slice_attr s = {tn_make_dims(c->g, 2, begin), tn_make_dims(c->g, 2, end),
                       tn_ints_make(c->arena, 2, steps), tn_ints_make(c->arena, 2, axes)};
    imp_out(c, 0, imp_call1(c, &tn_op_strided_slice, &s, x));
}

// clang-format off
const imp_row onnx_rows_activation[] = {
    {"Selu",               1,  0, 1, 1, selu,                NULL},
    {"Celu",              12,  0, 1, 1, with_alpha,          &tn_op_nn_celu},
    {"ThresholdedRelu",    1,  0, 1, 1, with_alpha,          &tn_op_nn_thresholded_relu},
    {"Softplus",           1,  0, 1, 1, plain,               &tn_op_nn_softplus},
    {"Softsign",           1,  0, 1, 1, plain,               &tn_op_nn_softsign},
    {"Mish",              18,  0, 1, 1, plain,               &tn_op_nn_mish},
    {"Gelu",              20,  0, 1, 1, gelu,                NULL},
    {"Swish",             24,  0, 1, 1, with_alpha,          &tn_op_nn_swish},
    {"SwiGLU",            28,  0, 2, 1, swiglu,              NULL},
    {"Shrink",             9,  0, 1, 1, shrink,              NULL},
    {"Affine",             1,  0, 1, 1, affine,              NULL},
    {"Scale",              1,  0, 1, 1, scale,               NULL},
    {"ScaledTanh",         1,  0, 1, 1, scaled_tanh,         NULL},
    {"ParametricSoftplus", 1,  0, 1, 1, parametric_softplus, NULL},
    {"ImageScaler",        1,  0, 1, 1, image_scaler,        NULL},
    {"Crop",               1,  0, 1, 1, crop,                NULL},
    {0},
};
// clang-format on
