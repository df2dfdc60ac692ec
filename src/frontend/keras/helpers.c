/* What converters share: arithmetic with constants, reductions, products of matrices, activations. */
#include "frontend/keras/keras.h"

#include <math.h>
#include <string.h>

/* ---- arithmetic ---- */

tn_value keras_like(imp_node *c, tn_value x, double v) { return imp_const(c, imp_type(x)->dtype, v); }

tn_value keras_as(imp_node *c, tn_value v, tn_value x)
{
    return v.def && !c->bad ? imp_cast(c, v, imp_type(x)->dtype) : v;
}

static tn_dtype wider(tn_dtype a, tn_dtype b) { return b.bits > a.bits ? b : a; }

tn_dtype keras_result_type(tn_dtype a, tn_dtype b)
{
    bool numbers =
        (tn_dtype_is_int(a) || tn_dtype_is_float(a)) && (tn_dtype_is_int(b) || tn_dtype_is_float(b));
    if (tn_dtype_is_bool(a) || tn_dtype_is_bool(b))
        return tn_dtype_is_bool(a) ? b : a;
    if (!numbers || tn_dtype_eq(a, b))
        return a;
    if (tn_dtype_is_float(a) != tn_dtype_is_float(b))
        return tn_dtype_is_float(a) ? a : b;
    if (a.code == b.code || (tn_dtype_is_float(a) && a.bits != b.bits))
        return wider(a, b);
    tn_dtype sign = a.code == TN_INT ? a : b, none = a.code == TN_INT ? b : a;
    if (tn_dtype_is_float(a) || (none.bits == 64 && sign.bits <= 64)) /* float16 and bfloat16; of 64 bits */
        return TN_F32;
    return sign.bits > none.bits ? sign : TN_DT(TN_INT, none.bits * 2);
}

void keras_promote(imp_node *c, size_t n, tn_value v[])
{
    tn_dtype t = c->bad || !n ? TN_F32 : imp_type(v[0])->dtype;
    for (size_t i = 1; i < n && !c->bad; i++)
        t = keras_result_type(t, imp_type(v[i])->dtype);
    for (size_t i = 0; i < n && !c->bad; i++)
        v[i] = imp_cast(c, v[i], t);
}

tn_value keras_as_float(imp_node *c, tn_value x)
{
    return c->bad ? x : imp_cast(c, x, keras_float_of(imp_type(x)->dtype));
}

tn_value keras_as_number(imp_node *c, tn_value x)
{
    return x.def && !c->bad && tn_dtype_is_bool(imp_type(x)->dtype) ? imp_cast(c, x, TN_I32) : x;
}

tn_value keras_reduce(imp_node *c, const tn_op *op, tn_value x, int n, const int64_t axis[], bool keep)
{
    int64_t at[IMP_MAX_RANK];
    if (n == 0) /* which the operator takes as all axes */
        return x;
    for (int i = 0; i < n && i < IMP_MAX_RANK; i++)
        at[i] = imp_axis(c, axis[i], imp_rank(x));
    tn_axes_attr a = {tn_ints_make(c->arena, (uint32_t)n, at), keep, false};
    return c->bad ? x : imp_call1(c, op, &a, x);
}

tn_value keras_softmax(imp_node *c, tn_value x, int64_t axis)
{
    tn_axis_attr a = {imp_axis(c, axis, imp_rank(x))};
    return imp_call1(c, &tn_op_nn_softmax, &a, x);
}

/* ---- products ---- */

tn_value keras_einsum(imp_node *c, const char *equation, tn_value a, tn_value b)
{
    tn_einsum_attr e = {tn_intern(c->g->ctx, equation)};
    return imp_call2(c, &tn_op_einsum, &e, a, b);
}

tn_value keras_matmul(imp_node *c, tn_value a, tn_value b)
{
    int n = imp_rank(a), m = imp_rank(b);
    if (m == 2 && n > 1)
        return keras_dense(c, a, b, (tn_value){0});
    if (n == 3 && m == 3) {
        tn_matmul_attr plain = {0};
        return imp_call2(c, &tn_op_nn_batch_matmul, &plain, a, b);
    }
    if (n == 1 || m == 1)
        return keras_einsum(c, n == 1 && m == 1 ? "k,k->" : n == 1 ? "k,...kn->...n" : "...k,k->...", a, b);
    return keras_einsum(c, "...mk,...kn->...mn", a, b);
}

tn_value keras_dense(imp_node *c, tn_value x, tn_value kernel, tn_value bias)
{
    static const int64_t swap[] = {1, 0};
    tn_dense_attr a = {0};
    if (!c->bad && imp_rank(kernel) != 2)
        imp_refuse(c, IMP_BAD_TENSOR, "the kernel is %s, but must have two dimensions; the model is damaged",
                   imp_type_text(c, imp_type(kernel)));
    if (c->bad)
        return x;
    (void)tn_is_int(imp_type(kernel)->dim[1], &a.units);
    tn_value y = imp_call2(c, &tn_op_nn_dense, &a, x, imp_transpose(c, kernel, 2, swap));
    return imp_bias(c, y, bias, true);
}

/* ---- activations ---- */

static tn_value plus(imp_node *c, tn_value x, double v)
{
    return v == 0 ? x : imp_binary(c, &tn_op_add, x, keras_like(c, x, v));
}

static tn_value times(imp_node *c, tn_value x, double v)
{
    return v == 1 ? x : imp_binary(c, &tn_op_multiply, x, keras_like(c, x, v));
}

static tn_value hard_sigmoid(imp_node *c, tn_value x)
{
    tn_alphabeta_attr a = {keras_of(c)->version >= 3 ? 1.0 / 6 : 0.2, 0.5};
    return imp_call1(c, &tn_op_nn_hard_sigmoid, &a, x);
}

static tn_value hard_silu(imp_node *c, tn_value x) { return imp_unary(c, &tn_op_nn_hardswish, x); }
static tn_value relu6(imp_node *c, tn_value x) { return imp_clip(c, x, 0, 6); }
static tn_value hard_tanh(imp_node *c, tn_value x) { return imp_clip(c, x, -1, 1); }
static tn_value softmax(imp_node *c, tn_value x) { return keras_softmax(c, x, -1); }

static tn_value log_softmax(imp_node *c, tn_value x)
{
    tn_axis_attr a = {imp_rank(x) - 1};
    return imp_call1(c, &tn_op_nn_log_softmax, &a, x);
}

static tn_value log_sigmoid(imp_node *c, tn_value x)
{
    return imp_unary(c, &tn_op_negative, imp_unary(c, &tn_op_nn_softplus, imp_unary(c, &tn_op_negative, x)));
}

static tn_value tanh_shrink(imp_node *c, tn_value x)
{
    return imp_binary(c, &tn_op_subtract, x, imp_unary(c, &tn_op_tanh, x));
}

static tn_value squareplus(imp_node *c, tn_value x)
{
    tn_value root = imp_unary(c, &tn_op_sqrt, plus(c, imp_binary(c, &tn_op_multiply, x, x), 4));
    return times(c, imp_binary(c, &tn_op_add, x, root), 0.5);
}

static tn_value glu(imp_node *c, tn_value x)
{
    int64_t n = 0;
    int last = imp_rank(x) - 1;
    if (last < 0 || !tn_is_int(imp_type(x)->dim[last], &n) || n % 2)
        imp_refuse(c, IMP_BAD_VALUE, "glu needs an even number of channels");
    if (c->bad)
        return x;
    tn_value gate = imp_unary(c, &tn_op_sigmoid, imp_slice(c, x, last, n / 2, n));
    return imp_binary(c, &tn_op_multiply, imp_slice(c, x, last, 0, n / 2), gate);
}

static tn_value sparse_sigmoid(imp_node *c, tn_value x)
{
    return imp_clip(c, times(c, plus(c, x, 1), 0.5), 0, 1);
}

/* 0 up to -1, (x + 1)^2 / 4 up to 1, then x. */
static tn_value sparse_plus(imp_node *c, tn_value x)
{
    tn_value half = times(c, plus(c, imp_clip(c, x, -1, 1), 1), 0.5);
    tn_value rest = imp_unary(c, &tn_op_nn_relu, plus(c, x, -1));
    return imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, half, half), rest);
}

static tn_value selu(imp_node *c, tn_value x)
{
    tn_selu_attr a = {1.67326319217681884765625, 1.05070102214813232421875};
    return imp_call1(c, &tn_op_nn_selu, &a, x);
}

static const struct activation {
    const char *name;
    const tn_op *op; /* without attributes, or with alpha */
    double alpha;    /* NAN: no attribute */
    tn_value (*make)(imp_node *c, tn_value x);
    const char *cell; /* what nn.recurrent calls it; NULL: it cannot */
} activations[] = {
    {"linear", NULL, NAN, NULL, "affine:1:0"},
    {"relu", &tn_op_nn_relu, NAN, NULL, "relu"},
    {"sigmoid", &tn_op_sigmoid, NAN, NULL, "sigmoid"},
    {"tanh", &tn_op_tanh, NAN, NULL, "tanh"},
    {"softmax", NULL, NAN, softmax, NULL},
    {"relu6", NULL, NAN, relu6, NULL},
    {"elu", &tn_op_nn_elu, 1, NULL, "elu:1"},
    {"selu", NULL, NAN, selu, NULL},
    {"softplus", &tn_op_nn_softplus, NAN, NULL, "softplus"},
    {"softsign", &tn_op_nn_softsign, NAN, NULL, "softsign"},
    {"hard_sigmoid", NULL, NAN, hard_sigmoid, "hardsigmoid"},
    {"exponential", &tn_op_exp, NAN, NULL, NULL},
    {"gelu", &tn_op_nn_gelu, NAN, NULL, NULL},
    {"swish", &tn_op_nn_swish, 1, NULL, NULL},
    {"silu", &tn_op_nn_swish, 1, NULL, NULL},
    {"hard_swish", NULL, NAN, hard_silu, NULL},
    {"hard_silu", NULL, NAN, hard_silu, NULL},
    {"mish", &tn_op_nn_mish, NAN, NULL, NULL},
    {"leaky_relu", &tn_op_nn_leaky_relu, 0.2, NULL, "leakyrelu:0.2"},
    {"celu", &tn_op_nn_celu, 1, NULL, NULL},
    {"log_softmax", NULL, NAN, log_softmax, NULL},
    {"log_sigmoid", NULL, NAN, log_sigmoid, NULL},
    {"hard_tanh", NULL, NAN, hard_tanh, NULL},
    {"tanh_shrink", NULL, NAN, tanh_shrink, NULL},
    {"squareplus", NULL, NAN, squareplus, NULL},
    {"glu", NULL, NAN, glu, NULL},
    {"sparse_sigmoid", NULL, NAN, sparse_sigmoid, NULL},
    {"sparse_plus", NULL, NAN, sparse_plus, NULL},
};

static const struct activation *find_activation(tn_bytes name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (imp_is(name, activations[i].name))
            return &activations[i];
    return NULL;
}

static tn_value apply_named(imp_node *c, const struct activation *a, tn_value x)
{
    tn_alpha_attr alpha = {a->alpha};
    if (a->make)
        return a->make(c, x);
    return a->op ? imp_call1(c, a->op, isnan(a->alpha) ? NULL : (const void *)&alpha, x) : x;
}

/* A layer in an activation's place. */
static tn_value apply_layer(imp_node *c, const tn_json *how, tn_value x)
{
    keras_call *call = TN_NEW(&c->im->scratch, keras_call);
    keras_layer *l = keras_read_layer(keras_of(c), how, 1);
    keras_tensor in = {.v = x};
    c->bad = c->bad || !l;
    return keras_apply(c, l, 1, &in, call) ? call->out[0].v : x;
}

tn_value keras_activate(imp_node *c, const tn_json *how, tn_value x)
{
    const tn_json *config;
    if (!how || how->kind == TN_JSON_NULL || c->bad)
        return x;
    tn_bytes name = keras_class(how, &config);
    const struct activation *a = find_activation(name);
    if (a)
        return apply_named(c, a, x);
    if (config)
        return apply_layer(c, how, x);
    imp_refuse(c, IMP_BAD_VALUE, "activation \"%s\" is not supported", imp_text(c->im, name));
    return x;
}

tn_value keras_activation(imp_node *c, tn_value x)
{
    return keras_activate(c, keras_config(c, "activation"), x);
}

const char *keras_cell_activation(imp_node *c, const char *key, const char *def)
{
    const tn_json *config, *how = keras_config(c, key);
    const tn_json *none = tn_json_find(keras_layer_of(c)->config, key);
    if (!how)
        return none ? "affine:1:0" : def;
    const struct activation *a = find_activation(keras_class(how, &config));
    if (a && strcmp(a->name, "hard_sigmoid") == 0 && keras_of(c)->version >= 3)
        return "hardsigmoid:0.16666666666666666:0.5";
    return a ? a->cell : NULL;
}
