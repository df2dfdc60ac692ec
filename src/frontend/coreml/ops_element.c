/* Activations and arithmetic on elements. */
#include "frontend/coreml/coreml.h"

#include <string.h>

static tn_value activated(imp_node *c, const tn_op *op, tn_value x, double alpha)
{
    tn_alpha_attr a = {alpha};
    return imp_call1(c, op, &a, x);
}

/* v of one element or one for each channel, which is dimension `axis` of x. */
static tn_value of_channels(imp_node *c, tn_value v, int axis, tn_value x)
{
    if (c->bad || !v.def || imp_rank(v) < 1 || tn_is_value(imp_type(v)->dim[0], 1))
        return v;
    if (axis < 0 || axis >= imp_rank(x))
        imp_refuse(c, IMP_OPERANDS, "data %s has no channels", imp_type_text(c, imp_type(x)));
    return imp_along(c, v, axis, imp_rank(x));
}

/* ---- the layer `activation`: one of several messages ---- */

static tn_value channel_weights(imp_node *c, const char *name, tn_value x)
{
    int64_t n = 1;
    int axis = imp_rank(x) - 3;
    if (!c->bad && (axis < 0 || !tn_is_int(imp_type(x)->dim[axis], &n)))
        imp_refuse(c, IMP_OPERANDS, "data %s has no fixed number of channels", imp_type_text(c, imp_type(x)));
    n = cm_is_one_weight(c, name) ? 1 : n;
    return of_channels(c, cm_weights(c, name, 1, &n), axis, x);
}

static tn_value sigmoid_hard(imp_node *c, tn_value x, double alpha, double beta)
{
    tn_alphabeta_attr a = {alpha, beta};
    return imp_call1(c, &tn_op_nn_hard_sigmoid, &a, x);
}

static tn_value scaled_tanh_of(imp_node *c, tn_value x, double alpha, double beta)
{
    return imp_with(c, &tn_op_multiply, imp_unary(c, &tn_op_tanh, imp_with(c, &tn_op_multiply, x, beta)),
                    alpha);
}

static tn_value parametric_softplus(imp_node *c, tn_value x, tn_value alpha, tn_value beta)
{
    return cm_bin(c, &tn_op_multiply, alpha,
                  imp_unary(c, &tn_op_nn_softplus, cm_bin(c, &tn_op_multiply, x, beta)));
}

static void activation(imp_node *c)
{
    static const struct {
        const char *name;
        const tn_op *op;
    } plain[] = {{"ReLU", &tn_op_nn_relu},
                 {"tanh", &tn_op_tanh},
                 {"sigmoid", &tn_op_sigmoid},
                 {"softsign", &tn_op_nn_softsign},
                 {"softplus", &tn_op_nn_softplus}};
    tn_value x = imp_in(c, 0), y = {0};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (cm_flag(c, plain[i].name))
            y = imp_unary(c, plain[i].op, x);
    if (cm_flag(c, "linear"))
        y = cm_affine(c, x, imp_attr_float(c, "linear.alpha", 0), imp_attr_float(c, "linear.beta", 0));
    if (cm_flag(c, "leakyReLU"))
        y = activated(c, &tn_op_nn_leaky_relu, x, imp_attr_float(c, "leakyReLU.alpha", 0));
    if (cm_flag(c, "thresholdedReLU")) {
        double limit = imp_attr_float(c, "thresholdedReLU.alpha", 0); /* x where x >= limit */
        tn_value above = imp_with(c, &tn_op_greater_equal, x, limit),
                 zero = imp_const(c, imp_type(x)->dtype, 0);
        y = imp_choose(c, above, x, zero);
    }
    if (cm_flag(c, "PReLU"))
        y = cm_bin(c, &tn_op_nn_prelu, x, channel_weights(c, "PReLU.alpha", x));
    if (cm_flag(c, "scaledTanh"))
        y = scaled_tanh_of(c, x, imp_attr_float(c, "scaledTanh.alpha", 0),
                           imp_attr_float(c, "scaledTanh.beta", 0));
    if (cm_flag(c, "sigmoidHard"))
        y = sigmoid_hard(c, x, imp_attr_float(c, "sigmoidHard.alpha", 0),
                         imp_attr_float(c, "sigmoidHard.beta", 0));
    if (cm_flag(c, "ELU"))
        y = activated(c, &tn_op_nn_elu, x, imp_attr_float(c, "ELU.alpha", 0));
    if (cm_flag(c, "parametricSoftplus")) {
        tn_value alpha = channel_weights(c, "parametricSoftplus.alpha", x),
                 beta = channel_weights(c, "parametricSoftplus.beta", x);
        y = parametric_softplus(c, x, alpha, beta);
    }
    if (!c->bad && !y.def)
        imp_refuse(c, IMP_UNKNOWN_OPERATOR, "the kind of activation is not known");
    imp_out(c, 0, y);
}

/* ---- operations with one operand ---- */

static void unary_op(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, cm_in(c, 0, "x"))); }

static void alpha_op(imp_node *c)
{
    imp_out(c, 0, activated(c, c->row->relay, cm_in(c, 0, "x"), imp_attr_float(c, "alpha", 1)));
}

static void relu6(imp_node *c) { imp_out(c, 0, imp_clip(c, cm_in(c, 0, "x"), 0, 6)); }

static void prelu(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, cm_bin(c, &tn_op_nn_prelu, x, of_channels(c, cm_in(c, 1, "alpha"), 1, x)));
}

static void silu(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, cm_bin(c, &tn_op_multiply, x, imp_unary(c, &tn_op_sigmoid, x)));
}

static void softplus_parametric(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), alpha = of_channels(c, cm_in(c, 1, "alpha"), 1, x);
    imp_out(c, 0, parametric_softplus(c, x, alpha, of_channels(c, cm_in(c, 2, "beta"), 1, x)));
}

static void scaled_tanh(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, scaled_tanh_of(c, x, imp_attr_float(c, "alpha", 1), imp_attr_float(c, "beta", 1)));
}

static void sigmoid_hard_op(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, sigmoid_hard(c, x, imp_attr_float(c, "alpha", 0.2F), imp_attr_float(c, "beta", 0.5F)));
}

static void thresholded_relu(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x"), zero = imp_const(c, imp_type(x)->dtype, 0);
    tn_value above = imp_with(c, &tn_op_greater_equal, x, imp_attr_float(c, "alpha", 1));
    imp_out(c, 0, imp_choose(c, above, x, zero));
}

static void linear_activation(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, cm_affine(c, x, imp_attr_float(c, "alpha", 1), imp_attr_float(c, "beta", 0)));
}

/* alpha x below 0, at most beta */
static void clamped_relu(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    double alpha = imp_attr_float(c, "alpha", 0), beta = imp_attr_float(c, "beta", 0);
    imp_out(c, 0, imp_with(c, &tn_op_minimum, activated(c, &tn_op_nn_leaky_relu, x, alpha), beta));
}

static void gelu(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    int64_t mode = cm_is_layer(c) ? imp_attr_int(c, "mode", 0) : 0;
    const char *text = cm_is_layer(c) ? "EXACT" : imp_attr_string(c, "mode", "EXACT");
    mode = strcmp(text, "TANH_APPROXIMATION") == 0      ? 1
           : strcmp(text, "SIGMOID_APPROXIMATION") == 0 ? 2
                                                        : mode;
    tn_alpha_attr a = {1.702};
    imp_out(c, 0,
            mode == 2   ? imp_call1(c, &tn_op_nn_swish, &a, x)
            : mode == 1 ? imp_unary(c, &tn_op_nn_gelu_tanh, x)
                        : imp_unary(c, &tn_op_nn_gelu, x));
}

static void exp2_op(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, cm_bin(c, &tn_op_power, imp_const(c, imp_type(x)->dtype, 2), x));
}

static void square(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, cm_bin(c, &tn_op_multiply, x, x));
}

/* f(x + epsilon) of 1/x, 1/sqrt(x) and log */
static void with_epsilon(imp_node *c)
{
    const char *op = c->row->op;
    double def = strcmp(op, "inverse") == 0 ? 1e-4 : strcmp(op, "rsqrt") == 0 ? 1e-12 : 1e-45;
    tn_value x = cm_in(c, 0, "x");
    double e = imp_attr_float(c, "epsilon", (float)def);
    x = e == 0 ? x : imp_with(c, &tn_op_add, x, e);
    imp_out(c, 0,
            strcmp(op, "inverse") == 0 ? cm_bin(c, &tn_op_divide, imp_const(c, imp_type(x)->dtype, 1), x)
                                       : imp_unary(c, c->row->relay, x));
}

static void threshold(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    imp_out(c, 0, imp_with(c, &tn_op_maximum, x, imp_attr_float(c, "alpha", 1)));
}

static void clip(imp_node *c)
{
    bool layer = cm_is_layer(c);
    tn_value x = cm_in(c, 0, "x");
    double least = imp_attr_float(c, layer ? "minVal" : "alpha", 0),
           most = imp_attr_float(c, layer ? "maxVal" : "beta", layer ? 0 : 1);
    imp_out(c, 0, imp_clip(c, x, least, most));
}

static void logical_not(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    x = imp_cast(c, imp_with(c, &tn_op_equal, x, 0), TN_BOOL1);
    imp_out(c, 0, cm_is_layer(c) ? imp_cast(c, x, TN_F32) : x);
}

/* The layer `unary`: one of eight functions of scale x + shift */
static void unary(imp_node *c)
{
    enum { SQRT, RSQRT, INVERSE, POWER, EXP, LOG, ABS, THRESHOLD };
    int64_t type = imp_attr_int(c, "type", 0);
    double alpha = imp_attr_float(c, "alpha", 0), eps = imp_attr_float(c, "epsilon", 0),
           scale = imp_attr_float(c, "scale", 0);
    tn_value x = cm_affine(c, imp_in(c, 0), scale == 0 ? 1 : scale, imp_attr_float(c, "shift", 0));
    eps = eps == 0 ? 1e-6 : eps;
    switch (type) {
    case SQRT: imp_out(c, 0, imp_unary(c, &tn_op_sqrt, x)); break;
    case RSQRT: imp_out(c, 0, imp_unary(c, &tn_op_rsqrt, imp_with(c, &tn_op_add, x, eps))); break;
    case INVERSE:
        x = imp_with(c, &tn_op_add, x, eps);
        imp_out(c, 0, cm_bin(c, &tn_op_divide, imp_const(c, TN_F32, 1), x));
        break;
    case POWER:
        imp_out(c, 0, alpha == 2 ? cm_bin(c, &tn_op_multiply, x, x) : imp_with(c, &tn_op_power, x, alpha));
        break;
    case EXP: imp_out(c, 0, imp_unary(c, &tn_op_exp, x)); break;
    case LOG: imp_out(c, 0, imp_unary(c, &tn_op_log, x)); break;
    case ABS: imp_out(c, 0, imp_unary(c, &tn_op_abs, x)); break;
    case THRESHOLD: imp_out(c, 0, imp_with(c, &tn_op_maximum, x, alpha)); break;
    default: imp_refuse(c, IMP_BAD_VALUE, "type %lld of a unary function is not known", (long long)type);
    }
}

/* ---- several operands ---- */

/* All operands, or one and the number alpha. */
static void merge(imp_node *c)
{
    tn_value y = imp_in(c, 0);
    bool has = imp_has_attr(c, "alpha");
    double alpha = imp_attr_float(c, "alpha", 0);
    if (imp_n_in(c) == 1 && (c->row->relay == &tn_op_add || c->row->relay == &tn_op_multiply || has))
        y = imp_with(c, c->row->relay, y, alpha);
    for (uint32_t i = 1; i < imp_n_in(c); i++)
        y = cm_bin(c, c->row->relay, y, imp_in(c, i));
    if (strcmp(c->row->op, "average") == 0 && c->n_in > 1)
        y = imp_with(c, &tn_op_multiply, y, 1 / (double)c->n_in);
    imp_out(c, 0, y);
}

static bool is_comparison(const tn_op *op)
{
    return op == &tn_op_equal || op == &tn_op_not_equal || op == &tn_op_less || op == &tn_op_less_equal ||
           op == &tn_op_greater || op == &tn_op_greater_equal;
}

static tn_value truth(imp_node *c, tn_value v)
{
    return tn_dtype_is_bool(imp_type(v)->dtype) ? v : imp_with(c, &tn_op_not_equal, v, 0);
}

/* Values of networks are floats, those of programs bools. */
static void compare(imp_node *c)
{
    tn_value a = cm_in(c, 0, "x"), b = {0};
    bool logical = !is_comparison(c->row->relay);
    if (cm_is_layer(c) && c->n_in < 2)
        b = imp_const(c, imp_type(a)->dtype, imp_attr_float(c, "alpha", 0));
    else
        b = cm_in(c, 1, "y");
    if (logical && !c->bad) {
        a = truth(c, a);
        b = truth(c, b);
    }
    tn_value y = logical ? imp_binary(c, c->row->relay, a, b) : cm_bin(c, c->row->relay, a, b);
    imp_out(c, 0, cm_is_layer(c) ? imp_cast(c, y, TN_F32) : y);
}

static void binary(imp_node *c)
{
    tn_value a = cm_in(c, 0, "x"), b = cm_in(c, 1, "y");
    imp_out(c, 0, cm_bin(c, c->row->relay, a, b));
}

/* Of networks and programs alike: the sign of the divisor. */
static void modulo(imp_node *c)
{
    tn_value a = cm_in(c, 0, "x"), b = cm_in(c, 1, "y");
    imp_out(c, 0, cm_bin(c, &tn_op_floor_mod, a, b));
}

static void floor_div(imp_node *c)
{
    tn_value a = cm_in(c, 0, "x"), b = cm_in(c, 1, "y");
    bool whole = tn_dtype_is_int(imp_type(a)->dtype) && tn_dtype_is_int(imp_type(b)->dtype);
    tn_value y = cm_bin(c, whole ? &tn_op_floor_divide : &tn_op_divide, a, b);
    imp_out(c, 0, whole ? y : imp_unary(c, &tn_op_floor, y));
}

static void real_div(imp_node *c)
{
    tn_value a = cm_in(c, 0, "x"), b = cm_in(c, 1, "y");
    if (tn_dtype_is_int(imp_type(a)->dtype) && tn_dtype_is_int(imp_type(b)->dtype))
        a = imp_cast(c, a, TN_F32);
    imp_out(c, 0, cm_bin(c, &tn_op_divide, a, b));
}

static void select_op(imp_node *c)
{
    tn_value cond = truth(c, cm_in(c, 0, "cond")), a = cm_in(c, 1, "a"), b = cm_in(c, 2, "b");
    imp_out(c, 0, imp_choose(c, cond, a, imp_cast(c, b, imp_type(a)->dtype)));
}

bool cm_dtype_of(const char *name, tn_dtype *out)
{
    static const struct {
        const char *name;
        tn_dtype t;
    } types[] = {{"int32", {TN_INT, 32, 1}},  {"int64", {TN_INT, 32, 1}}, {"fp32", {TN_FLOAT, 32, 1}},
                 {"fp16", {TN_FLOAT, 16, 1}}, {"bool", {TN_BOOL, 8, 1}},  {"int8", {TN_INT, 8, 1}},
                 {"uint8", {TN_UINT, 8, 1}},  {"int16", {TN_INT, 16, 1}}, {"uint16", {TN_UINT, 16, 1}}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            *out = types[i].t;
            return true;
        }
    return false;
}

static void cast(imp_node *c)
{
    tn_value x = cm_in(c, 0, "x");
    const char *to = imp_attr_string(c, "dtype", "");
    tn_dtype t;
    if (cm_dtype_of(to, &t))
        imp_out(c, 0, imp_cast(c, x, t));
    else
        imp_refuse(c, IMP_BAD_VALUE, "a cast to \"%s\" is not supported", to);
}

static void identity(imp_node *c) { imp_out(c, 0, cm_in(c, 0, "x")); }

// clang-format off
const imp_row cm_rows_element[] = {
    {"activation",            0, 0,  1, 1, activation,          NULL},
    {"unary",                 0, 0,  1, 1, unary,               NULL},
    {"relu",                  0, 0, -1, 1, unary_op,            &tn_op_nn_relu},
    {"relu6",                 0, 0, -1, 1, relu6,               NULL},
    {"leaky_relu",            0, 0, -1, 1, alpha_op,            &tn_op_nn_leaky_relu},
    {"elu",                   0, 0, -1, 1, alpha_op,            &tn_op_nn_elu},
    {"prelu",                 0, 0, -1, 1, prelu,               NULL},
    {"sigmoid",               0, 0, -1, 1, unary_op,            &tn_op_sigmoid},
    {"sigmoid_hard",          0, 0, -1, 1, sigmoid_hard_op,     NULL},
    {"silu",                  0, 0, -1, 1, silu,                NULL},
    {"softplus",              0, 0, -1, 1, unary_op,            &tn_op_nn_softplus},
    {"softplus_parametric",   0, 0, -1, 1, softplus_parametric, NULL},
    {"softsign",              0, 0, -1, 1, unary_op,            &tn_op_nn_softsign},
    {"scaled_tanh",           0, 0, -1, 1, scaled_tanh,         NULL},
    {"thresholded_relu",      0, 0, -1, 1, thresholded_relu,    NULL},
    {"linear_activation",     0, 0, -1, 1, linear_activation,   NULL},
    {"clampedReLU",           0, 0,  1, 1, clamped_relu,        NULL},
    {"clamped_relu",          0, 0, -1, 1, clamped_relu,        NULL},
    {"gelu",                  0, 0, -1, 1, gelu,                NULL},
    {"abs",                   0, 0, -1, 1, unary_op,            &tn_op_abs},
    {"ceil",                  0, 0, -1, 1, unary_op,            &tn_op_ceil},
    {"floor",                 0, 0, -1, 1, unary_op,            &tn_op_floor},
    {"round",                 0, 0, -1, 1, unary_op,            &tn_op_round},
    {"sign",                  0, 0, -1, 1, unary_op,            &tn_op_sign},
    {"sqrt",                  0, 0, -1, 1, unary_op,            &tn_op_sqrt},
    {"square",                0, 0, -1, 1, square,              NULL},
    {"exp",                   0, 0, -1, 1, unary_op,            &tn_op_exp},
    {"exp2",                  0, 0, -1, 1, exp2_op,             NULL},
    {"erf",                   0, 0, -1, 1, unary_op,            &tn_op_erf},
    {"sin",                   0, 0, -1, 1, unary_op,            &tn_op_sin},
    {"cos",                   0, 0, -1, 1, unary_op,            &tn_op_cos},
    {"tan",                   0, 0, -1, 1, unary_op,            &tn_op_tan},
    {"asin",                  0, 0, -1, 1, unary_op,            &tn_op_asin},
    {"acos",                  0, 0, -1, 1, unary_op,            &tn_op_acos},
    {"atan",                  0, 0, -1, 1, unary_op,            &tn_op_atan},
    {"sinh",                  0, 0, -1, 1, unary_op,            &tn_op_sinh},
    {"cosh",                  0, 0, -1, 1, unary_op,            &tn_op_cosh},
    {"tanh",                  0, 0, -1, 1, unary_op,            &tn_op_tanh},
    {"asinh",                 0, 0, -1, 1, unary_op,            &tn_op_asinh},
    {"acosh",                 0, 0, -1, 1, unary_op,            &tn_op_acosh},
    {"atanh",                 0, 0, -1, 1, unary_op,            &tn_op_atanh},
    {"inverse",               0, 0, -1, 1, with_epsilon,        NULL},
    {"rsqrt",                 0, 0, -1, 1, with_epsilon,        &tn_op_rsqrt},
    {"log",                   0, 0, -1, 1, with_epsilon,        &tn_op_log},
    {"threshold",             0, 0, -1, 1, threshold,           NULL},
    {"clip",                  0, 0, -1, 1, clip,                NULL},
    {"add",                   1, 1, -1, 1, merge,               &tn_op_add},
    {"multiply",              0, 0, -1, 1, merge,               &tn_op_multiply},
    {"average",               0, 0, -1, 1, merge,               &tn_op_add},
    {"max",                   0, 0, -1, 1, merge,               &tn_op_maximum},
    {"min",                   0, 0, -1, 1, merge,               &tn_op_minimum},
    {"maxBroadcastable",      0, 0, -1, 1, merge,               &tn_op_maximum},
    {"minBroadcastable",      0, 0, -1, 1, merge,               &tn_op_minimum},
    {"addBroadcastable",      0, 0, -1, 1, merge,               &tn_op_add},
    {"subtractBroadcastable", 0, 0,  2, 1, binary,              &tn_op_subtract},
    {"multiplyBroadcastable", 0, 0,  2, 1, binary,              &tn_op_multiply},
    {"divideBroadcastable",   0, 0,  2, 1, binary,              &tn_op_divide},
    {"powBroadcastable",      0, 0,  2, 1, binary,              &tn_op_power},
    {"modBroadcastable",      0, 0,  2, 1, modulo,              NULL},
    {"floorDivBroadcastable", 0, 0,  2, 1, floor_div,           NULL},
    {"add",                   2, 0, -1, 1, binary,              &tn_op_add},
    {"sub",                   0, 0, -1, 1, binary,              &tn_op_subtract},
    {"mul",                   0, 0, -1, 1, binary,              &tn_op_multiply},
    {"real_div",              0, 0, -1, 1, real_div,            NULL},
    {"floor_div",             0, 0, -1, 1, floor_div,           NULL},
    {"mod",                   0, 0, -1, 1, modulo,              NULL},
    {"pow",                   0, 0, -1, 1, binary,              &tn_op_power},
    {"maximum",               0, 0, -1, 1, binary,              &tn_op_maximum},
    {"minimum",               0, 0, -1, 1, binary,              &tn_op_minimum},
    {"equal",                 0, 0, -1, 1, compare,             &tn_op_equal},
    {"notEqual",              0, 0,  2, 1, compare,             &tn_op_not_equal},
    {"not_equal",             0, 0, -1, 1, compare,             &tn_op_not_equal},
    {"lessThan",              0, 0,  2, 1, compare,             &tn_op_less},
    {"less",                  0, 0, -1, 1, compare,             &tn_op_less},
    {"lessEqual",             0, 0,  2, 1, compare,             &tn_op_less_equal},
    {"less_equal",            0, 0, -1, 1, compare,             &tn_op_less_equal},
    {"greaterThan",           0, 0,  2, 1, compare,             &tn_op_greater},
    {"greater",               0, 0, -1, 1, compare,             &tn_op_greater},
    {"greaterEqual",          0, 0,  2, 1, compare,             &tn_op_greater_equal},
    {"greater_equal",         0, 0, -1, 1, compare,             &tn_op_greater_equal},
    {"logicalAnd",            0, 0,  2, 1, compare,             &tn_op_logical_and},
    {"logicalOr",             0, 0,  2, 1, compare,             &tn_op_logical_or},
    {"logicalXor",            0, 0,  2, 1, compare,             &tn_op_logical_xor},
    {"logical_and",           0, 0, -1, 1, compare,             &tn_op_logical_and},
    {"logical_or",            0, 0, -1, 1, compare,             &tn_op_logical_or},
    {"logical_xor",           0, 0, -1, 1, compare,             &tn_op_logical_xor},
    {"logicalNot",            0, 0,  1, 1, logical_not,         NULL},
    {"logical_not",           0, 0, -1, 1, logical_not,         NULL},
    {"whereBroadcastable",    0, 0,  3, 1, select_op,           NULL},
    {"select",                0, 0, -1, 1, select_op,           NULL},
    {"cast",                  0, 0, -1, 1, cast,                NULL},
    {"identity",              0, 0, -1, 1, identity,            NULL},
    {0},
};
// clang-format on
