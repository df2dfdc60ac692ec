/* Elementwise operators of MXNet: formulas, arithmetic with tensors and numbers, comparisons (whose results are
 * numbers), activations. The names of numpy's interface (_npi_*, _np_*, _npx_*) stand beside the older ones. */
#include "frontend/mxnet/mxnet.h"

#include <math.h>
#include <string.h>

static tn_value number(imp_node *c, tn_value like, double v)
{
    return imp_const(c, imp_type(like)->dtype, v);
}

/* ---- of one operand ---- */

static void unary(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

static void identity(imp_node *c)
{
    static const char *const modes[] = {"training", "always", NULL};
    imp_attr_ignore(c, "p"); /* Dropout, which does nothing in inference */
    if (mx_choice(c, "mode", 0, modes) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "attribute mode must be training: no random numbers are made");
    imp_attr_ignore(c, "axes");
    imp_attr_ignore(c, "grad_scale");
    imp_attr_ignore(c, "normalization");
    imp_attr_ignore(c, "valid_thresh");
    imp_attr_ignore(c, "fresh_grad");
    imp_out(c, 0, imp_in(c, 0));
}

/* Of MXNet's result types: bool of numpy's operators, else the operand's. */
static tn_value as_result(imp_node *c, tn_value v, tn_value like)
{
    return c->row->op[0] == '_' && c->row->op[1] == 'n' && c->row->op[2] == 'p'
               ? imp_cast(c, v, TN_BOOL1)
               : imp_cast(c, v, imp_type(like)->dtype);
}

static void test(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, as_result(c, imp_unary(c, c->row->relay, x), x));
}

static void logical_not(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, as_result(c, imp_binary(c, &tn_op_equal, x, number(c, x, 0)), x));
}

tn_value mx_round_away(imp_node *c, tn_value x)
{
    tn_value whole = imp_unary(c, &tn_op_trunc, x);
    tn_value rest = imp_unary(c, &tn_op_abs, imp_binary(c, &tn_op_subtract, x, whole));
    tn_value more = imp_binary(c, &tn_op_add, whole, imp_unary(c, &tn_op_sign, x));
    return imp_choose(c, imp_with(c, &tn_op_greater_equal, rest, 0.5), more, whole);
}

static void round_away(imp_node *c) { imp_out(c, 0, mx_round_away(c, imp_in(c, 0))); }

static void square(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, x, x));
}

static void reciprocal(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_divide, number(c, x, 1), x));
}

static tn_value cube_root(imp_node *c, tn_value x)
{
    tn_value r = imp_with(c, &tn_op_power, imp_unary(c, &tn_op_abs, x), 1.0 / 3);
    return imp_binary(c, &tn_op_multiply, imp_unary(c, &tn_op_sign, x), r);
}

static void cbrt_of(imp_node *c) { imp_out(c, 0, cube_root(c, imp_in(c, 0))); }

static void rcbrt(imp_node *c)
{
    tn_value x = imp_in(c, 0), root = cube_root(c, x);
    imp_out(c, 0, imp_binary(c, &tn_op_divide, number(c, x, 1), root));
}

/* A factor after or before the formula: log2, log10; degrees and radians have none. */
static void scaled(imp_node *c)
{
    static const struct {
        const char *op;
        double factor;
    } rows[] = {{"log2", 1.4426950408889634},
                {"log10", 0.4342944819032518},
                {"degrees", 57.29577951308232},
                {"radians", 0.017453292519943295}};
    tn_value x = imp_in(c, 0);
    const char *op = strncmp(c->row->op, "_npi_", 5) == 0 ? c->row->op + 5 : c->row->op;
    x = c->row->relay ? imp_unary(c, c->row->relay, x) : x;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(op, rows[i].op, 4) == 0)
            imp_out(c, 0, imp_with(c, &tn_op_multiply, x, rows[i].factor));
}

/* log(u) * x / (u - 1) with u = 1 + x makes up for the rounding of u. */
static void log1p_of(imp_node *c)
{
    tn_value x = imp_in(c, 0), u = imp_with(c, &tn_op_add, x, 1), d = imp_with(c, &tn_op_subtract, u, 1);
    tn_value y =
        imp_binary(c, &tn_op_divide, imp_binary(c, &tn_op_multiply, imp_unary(c, &tn_op_log, u), x), d);
    tn_value tiny = imp_with(c, &tn_op_equal, d, 0);
    tn_value all = imp_binary(c, &tn_op_equal, d, u); /* infinite */
    imp_out(c, 0, imp_choose(c, tiny, x, imp_choose(c, all, imp_unary(c, &tn_op_log, u), y)));
}

static void expm1_of(imp_node *c) { imp_out(c, 0, imp_expm1(c, imp_in(c, 0))); }

static void clip(imp_node *c)
{
    tn_clip_attr a = {mx_float(c, "a_min", -INFINITY), mx_float(c, "a_max", INFINITY)};
    imp_out(c, 0, imp_call1(c, &tn_op_clip, &a, imp_in(c, 0)));
}

static void hard_sigmoid(imp_node *c)
{
    tn_alphabeta_attr a = {mx_float(c, "alpha", 0.2), mx_float(c, "beta", 0.5)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_hard_sigmoid, &a, imp_in(c, 0)));
}

/* 0.5 (s x)^2 near 0, else |x| - 0.5 / s^2; s = scalar */
static void smooth_l1(imp_node *c)
{
    tn_value x = imp_in(c, 0), size = imp_unary(c, &tn_op_abs, x);
    double s = mx_float(c, "scalar", 1);
    if (s == 0 && !c->bad)
        imp_refuse(c, IMP_BAD_VALUE, "attribute scalar is 0, but must be another number");
    tn_value near = imp_with(c, &tn_op_multiply, imp_binary(c, &tn_op_multiply, x, x), 0.5 * s * s);
    tn_value far = imp_with(c, &tn_op_subtract, size, 0.5 / (s * s));
    imp_out(c, 0, imp_choose(c, imp_with(c, &tn_op_less, size, 1 / (s * s)), near, far));
}

static void cast(imp_node *c) { imp_out(c, 0, imp_cast(c, imp_in(c, 0), mx_dtype(c, "dtype", TN_F32))); }

/* ---- activations ---- */

static void activation(imp_node *c)
{
    static const char *const words[] = {"relu",     "sigmoid",     "tanh", "softrelu",
                                        "softsign", "log_sigmoid", "mish", NULL};
    static const tn_op *const ops[] = {&tn_op_nn_relu,     &tn_op_sigmoid, &tn_op_tanh,   &tn_op_nn_softplus,
                                       &tn_op_nn_softsign, NULL,           &tn_op_nn_mish};
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "act_type");
    int k = mx_choice(c, "act_type", 0, words);
    if (ops[k])
        imp_out(c, 0, imp_unary(c, ops[k], x));
    else /* log(1 / (1 + e^-x)) */
        imp_out(c, 0,
                imp_unary(c, &tn_op_negative,
                          imp_unary(c, &tn_op_nn_softplus, imp_unary(c, &tn_op_negative, x))));
}

static tn_value prelu(imp_node *c, tn_value x)
{
    tn_value slope = imp_in(c, 1);
    if (imp_rank(slope) == 1 && imp_rank(x) > 1 && !tn_is_value(imp_type(slope)->dim[0], 1))
        slope = imp_along(c, slope, 1, imp_rank(x));
    return imp_binary(c, &tn_op_nn_prelu, x, slope);
}

static void leaky_relu(imp_node *c)
{
    static const char *const words[] = {"leaky", "prelu", "elu", "selu", "gelu", "rrelu", NULL};
    enum { LEAKY, PRELU, ELU, SELU, GELU, RRELU };
    tn_value x = imp_in(c, 0);
    double slope = mx_float(c, "slope", 0.25), low = mx_float(c, "lower_bound", 0.125),
           high = mx_float(c, "upper_bound", 0.334);
    int kind = mx_choice(c, "act_type", LEAKY, words);
    tn_alpha_attr a = {kind == RRELU ? (low + high) / 2 : slope};
    tn_selu_attr selu = {1.6732632423543772848170429916717, 1.0507009873554804934193349852946};
    if (kind == PRELU)
        imp_out(c, 0, prelu(c, x));
    else if (kind == GELU)
        imp_out(c, 0, imp_unary(c, &tn_op_nn_gelu, x));
    else if (kind == SELU)
        imp_out(c, 0, imp_call1(c, &tn_op_nn_selu, &selu, x));
    else
        imp_out(c, 0, imp_call1(c, kind == ELU ? &tn_op_nn_elu : &tn_op_nn_leaky_relu, &a, x));
}

/* ---- of two operands ---- */

static void binary(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    const tn_op *op = c->row->relay;
    if (op == &tn_op_divide && tn_dtype_is_int(imp_type(a)->dtype))
        op = &tn_op_trunc_divide;
    imp_out(c, 0, imp_binary(c, op, a, b));
}

static void compare(imp_node *c)
{
    tn_value a = imp_in(c, 0);
    imp_out(c, 0, as_result(c, imp_binary(c, c->row->relay, a, imp_in(c, 1)), a));
}

static tn_value truth(imp_node *c, tn_value x) { return imp_with(c, &tn_op_not_equal, x, 0); }

static void logical(imp_node *c)
{
    tn_value a = imp_in(c, 0), first = truth(c, a), second = truth(c, imp_in(c, 1));
    imp_out(c, 0, as_result(c, imp_binary(c, c->row->relay, first, second), a));
}

static tn_value hypotenuse(imp_node *c, tn_value a, tn_value b)
{
    tn_value p = imp_binary(c, &tn_op_multiply, a, a), q = imp_binary(c, &tn_op_multiply, b, b);
    return imp_unary(c, &tn_op_sqrt, imp_binary(c, &tn_op_add, p, q));
}

static void hypot_of(imp_node *c) { imp_out(c, 0, hypotenuse(c, imp_in(c, 0), imp_in(c, 1))); }

/* ---- of an operand and a number ---- */

/* The number, as the operand's type has it. */
static tn_value scalar(imp_node *c, tn_value x)
{
    double v = mx_float(c, "scalar", 1);
    imp_attr_ignore(c, "is_int");
    imp_attr_ignore(c, "reverse");
    return number(c, x, tn_dtype_is_int(imp_type(x)->dtype) ? trunc(v) : v);
}

static bool is_reversed(const imp_node *c)
{
    const char *op = c->row->op;
    op += strncmp(op, "_npi", 4) == 0 ? 4 : 0;
    return op[1] == 'r' || op[1] == 'R';
}

static void with_scalar(imp_node *c)
{
    tn_value x = imp_in(c, 0), s = scalar(c, x);
    const tn_op *op = c->row->relay;
    if (op == &tn_op_divide && tn_dtype_is_int(imp_type(x)->dtype))
        op = &tn_op_trunc_divide;
    imp_out(c, 0, is_reversed(c) ? imp_binary(c, op, s, x) : imp_binary(c, op, x, s));
}

static void compare_scalar(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, as_result(c, imp_binary(c, c->row->relay, x, scalar(c, x)), x));
}

static void logical_scalar(imp_node *c)
{
    tn_value x = imp_in(c, 0), first = truth(c, x), second = truth(c, scalar(c, x));
    imp_out(c, 0, as_result(c, imp_binary(c, c->row->relay, first, second), x));
}

static void hypot_scalar(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, hypotenuse(c, x, scalar(c, x)));
}

/* ---- of more ---- */

static void add_n(imp_node *c)
{
    tn_value sum = imp_in(c, 0);
    for (uint32_t i = 1; i < imp_n_in(c); i++)
        sum = imp_binary(c, &tn_op_add, sum, imp_in(c, i));
    imp_out(c, 0, sum);
}

static void where(imp_node *c)
{
    tn_value condition = imp_in(c, 0), a = imp_in(c, 1), b = imp_in(c, 2);
    if (imp_rank(condition) == 1 && imp_rank(a) > 1 && c->row->op[0] != '_') /* rows are chosen */
        condition = imp_along(c, condition, 0, imp_rank(a));
    imp_out(c, 0, imp_choose(c, truth(c, condition), a, b));
}

static void div_sqrt_dim(imp_node *c)
{
    int64_t n = 1;
    tn_value x = imp_in(c, 0);
    int rank = imp_rank(x);
    if (!c->bad && (rank < 1 || !tn_is_int(imp_type(x)->dim[rank - 1], &n)))
        imp_refuse(c, IMP_OPERANDS, "the last extent of %s is not known", imp_type_text(c, imp_type(x)));
    imp_out(c, 0, imp_with(c, &tn_op_divide, x, sqrt((double)n)));
}

// clang-format off
#define UNARY(name, op)  {name, 0, 0, 1, 1, unary, &tn_op_##op}, {"_npi_" name, 0, 0, 1, 1, unary, &tn_op_##op}
#define BINARY(name, numpy, op) \
    {"elemwise_" name, 0, 0, 2, 1, binary, &tn_op_##op}, {"broadcast_" name, 0, 0, 2, 1, binary, &tn_op_##op}, \
    {"_npi_" numpy, 0, 0, 2, 1, binary, &tn_op_##op}
#define COMPARE(name, op) \
    {"_" name, 0, 0, 2, 1, compare, &tn_op_##op}, {"broadcast_" name, 0, 0, 2, 1, compare, &tn_op_##op}, \
    {"_" name "_scalar", 0, 0, 1, 1, compare_scalar, &tn_op_##op}, {"_npi_" #op, 0, 0, 2, 1, compare, &tn_op_##op}, \
    {"_npi_" #op "_scalar", 0, 0, 1, 1, compare_scalar, &tn_op_##op}
#define LOGICAL(name) \
    {"_" #name, 0, 0, 2, 1, logical, &tn_op_##name}, {"broadcast_" #name, 0, 0, 2, 1, logical, &tn_op_##name}, \
    {"_" #name "_scalar", 0, 0, 1, 1, logical_scalar, &tn_op_##name}, \
    {"_npi_" #name, 0, 0, 2, 1, logical, &tn_op_##name}
#define SCALAR(name, op) {name, 0, 0, 1, 1, with_scalar, &tn_op_##op}
#define IDENTITY(name, most) {name, 0, 0, most, 1, identity, NULL}
const imp_row mx_rows_element[] = {
    UNARY("abs", abs), UNARY("exp", exp), UNARY("log", log), UNARY("sqrt", sqrt), UNARY("rsqrt", rsqrt),
    UNARY("floor", floor), UNARY("ceil", ceil), UNARY("rint", round), UNARY("trunc", trunc), UNARY("fix", trunc),
    UNARY("sign", sign), UNARY("sigmoid", sigmoid), UNARY("tanh", tanh), UNARY("negative", negative), UNARY("erf", erf),
    UNARY("sin", sin), UNARY("cos", cos), UNARY("tan", tan), UNARY("sinh", sinh), UNARY("cosh", cosh),
    UNARY("arcsin", asin), UNARY("arccos", acos), UNARY("arctan", atan), UNARY("arcsinh", asinh),
    UNARY("arccosh", acosh),    UNARY("arctanh", atanh), UNARY("relu", nn_relu),
    UNARY("softsign", nn_softsign), UNARY("absolute", abs),
    {"_npx_relu", 0, 0, 1, 1, unary, &tn_op_nn_relu},
    {"_npx_sigmoid", 0, 0, 1, 1, unary, &tn_op_sigmoid},
    {"mish", 0, 0, 1, 1, unary, &tn_op_nn_mish},
    {"_contrib_isnan", 0, 0, 1, 1, test, &tn_op_isnan},
    {"_npi_isnan", 0, 0, 1, 1, test, &tn_op_isnan},
    {"_contrib_isinf", 0, 0, 1, 1, test, &tn_op_isinf},
    {"_npi_isinf", 0, 0, 1, 1, test, &tn_op_isinf},
    {"_contrib_isfinite", 0, 0, 1, 1, test, &tn_op_isfinite},
    {"_npi_isfinite", 0, 0, 1, 1, test, &tn_op_isfinite},
    {"round", 0, 0, 1, 1, round_away, NULL},
    {"square", 0, 0, 1, 1, square, NULL},
    {"_npi_square", 0, 0, 1, 1, square, NULL},
    {"reciprocal", 0, 0, 1, 1, reciprocal, NULL},
    {"_npi_reciprocal", 0, 0, 1, 1, reciprocal, NULL},
    {"cbrt", 0, 0, 1, 1, cbrt_of, NULL},
    {"_npi_cbrt", 0, 0, 1, 1, cbrt_of, NULL},
    {"rcbrt", 0, 0, 1, 1, rcbrt, NULL},
    {"log2", 0, 0, 1, 1, scaled, &tn_op_log},
    {"_npi_log2", 0, 0, 1, 1, scaled, &tn_op_log},
    {"log10", 0, 0, 1, 1, scaled, &tn_op_log},
    {"_npi_log10", 0, 0, 1, 1, scaled, &tn_op_log},
    {"degrees", 0, 0, 1, 1, scaled, NULL},
    {"_npi_degrees", 0, 0, 1, 1, scaled, NULL},
    {"radians", 0, 0, 1, 1, scaled, NULL},
    {"_npi_radians", 0, 0, 1, 1, scaled, NULL},
    {"log1p", 0, 0, 1, 1, log1p_of, NULL},
    {"_npi_log1p", 0, 0, 1, 1, log1p_of, NULL},
    {"expm1", 0, 0, 1, 1, expm1_of, NULL},
    {"_npi_expm1", 0, 0, 1, 1, expm1_of, NULL},
    {"logical_not", 0, 0, 1, 1, logical_not, NULL},
    {"_npi_logical_not", 0, 0, 1, 1, logical_not, NULL},
    {"clip", 0, 0, 1, 1, clip, NULL},
    {"_npi_clip", 0, 0, 1, 1, clip, NULL},
    {"hard_sigmoid", 0, 0, 1, 1, hard_sigmoid, NULL},
    {"smooth_l1", 0, 0, 1, 1, smooth_l1, NULL},
    {"Cast", 0, 0, 1, 1, cast, NULL},
    {"cast", 0, 0, 1, 1, cast, NULL},
    {"_npi_cast", 0, 0, 1, 1, cast, NULL},
    {"Activation", 0, 0, 1, 1, activation, NULL},
    {"_npx_activation", 0, 0, 1, 1, activation, NULL},
    {"LeakyReLU", 0, 0, 2, 1, leaky_relu, NULL},
    {"_npx_leaky_relu", 0, 0, 2, 1, leaky_relu, NULL},
    IDENTITY("_copy", 1), IDENTITY("identity", 1), IDENTITY("_copyto", 1), IDENTITY("_np_copy", 1),
    IDENTITY("_npi_copy", 1),
    IDENTITY("BlockGrad", 1), IDENTITY("stop_gradient", 1), IDENTITY("make_loss", 1), IDENTITY("MakeLoss", 1),
    IDENTITY("Dropout", 1), IDENTITY("_npx_dropout", 1), IDENTITY("LinearRegressionOutput", 1),
    IDENTITY("MAERegressionOutput", 1), IDENTITY("SVMOutput", 1), IDENTITY("_identity_with_attr_like_rhs", 2),
    IDENTITY("IdentityAttachKLSparseReg", 1), IDENTITY("_CrossDeviceCopy", 1),
    {"amp_cast", 0, 0, 1, 1, cast, NULL},
    {"LogisticRegressionOutput", 0, 0, 1, 1, unary, &tn_op_sigmoid},
    BINARY("add", "add", add), BINARY("sub", "subtract", subtract), BINARY("mul", "multiply", multiply),
    BINARY("div", "true_divide", divide), BINARY("power", "power", power), BINARY("maximum", "maximum", maximum),
    BINARY("minimum", "minimum", minimum), BINARY("mod", "mod", floor_mod), BINARY("plus", "plus", add),
    BINARY("minus", "minus", subtract),
    {"_plus", 0, 0, 2, 1, binary, &tn_op_add}, {"_Plus", 0, 0, 2, 1, binary, &tn_op_add},
    {"_grad_add", 0, 0, 2, 1, binary, &tn_op_add},
    {"_minus", 0, 0, 2, 1, binary, &tn_op_subtract}, {"_Minus", 0, 0, 2, 1, binary, &tn_op_subtract},
    {"_sub", 0, 0, 2, 1, binary, &tn_op_subtract}, {"_add", 0, 0, 2, 1, binary, &tn_op_add},
    {"_mul", 0, 0, 2, 1, binary, &tn_op_multiply}, {"_Mul", 0, 0, 2, 1, binary, &tn_op_multiply},
    {"_div", 0, 0, 2, 1, binary, &tn_op_divide}, {"_Div", 0, 0, 2, 1, binary, &tn_op_divide},
    {"_mod", 0, 0, 2, 1, binary, &tn_op_floor_mod}, {"_Mod", 0, 0, 2, 1, binary, &tn_op_floor_mod},
    {"_power", 0, 0, 2, 1, binary, &tn_op_power}, {"_Power", 0, 0, 2, 1, binary, &tn_op_power},
    {"_maximum", 0, 0, 2, 1, binary, &tn_op_maximum}, {"_Maximum", 0, 0, 2, 1, binary, &tn_op_maximum},
    {"_minimum", 0, 0, 2, 1, binary, &tn_op_minimum}, {"_Minimum", 0, 0, 2, 1, binary, &tn_op_minimum},
    {"_hypot", 0, 0, 2, 1, hypot_of, NULL}, {"broadcast_hypot", 0, 0, 2, 1, hypot_of, NULL},
    {"_npi_hypot", 0, 0, 2, 1, hypot_of, NULL},
    COMPARE("equal", equal), COMPARE("not_equal", not_equal), COMPARE("greater", greater),
    COMPARE("greater_equal", greater_equal), COMPARE("lesser", less), COMPARE("lesser_equal", less_equal),
    LOGICAL(logical_and), LOGICAL(logical_or), LOGICAL(logical_xor),
    SCALAR("_plus_scalar", add), SCALAR("_PlusScalar", add), SCALAR("_npi_add_scalar", add),
    SCALAR("_minus_scalar", subtract), SCALAR("_MinusScalar", subtract), SCALAR("_npi_subtract_scalar", subtract),
    SCALAR("_rminus_scalar", subtract), SCALAR("_RMinusScalar", subtract), SCALAR("_npi_rsubtract_scalar", subtract),
    SCALAR("_mul_scalar", multiply), SCALAR("_MulScalar", multiply), SCALAR("_npi_multiply_scalar", multiply),
    SCALAR("_div_scalar", divide), SCALAR("_DivScalar", divide), SCALAR("_npi_true_divide_scalar", divide),
    SCALAR("_rdiv_scalar", divide), SCALAR("_RDivScalar", divide), SCALAR("_npi_rtrue_divide_scalar", divide),
    SCALAR("_power_scalar", power), SCALAR("_PowerScalar", power), SCALAR("_npi_power_scalar", power),
    SCALAR("_rpower_scalar", power), SCALAR("_RPowerScalar", power), SCALAR("_npi_rpower_scalar", power),
    SCALAR("_mod_scalar", floor_mod), SCALAR("_ModScalar", floor_mod), SCALAR("_npi_mod_scalar", floor_mod),
    SCALAR("_rmod_scalar", floor_mod), SCALAR("_RModScalar", floor_mod), SCALAR("_npi_rmod_scalar", floor_mod),
    SCALAR("_maximum_scalar", maximum), SCALAR("_MaximumScalar", maximum), SCALAR("_npi_maximum_scalar", maximum),
    SCALAR("_minimum_scalar", minimum), SCALAR("_MinimumScalar", minimum), SCALAR("_npi_minimum_scalar", minimum),
    {"_hypot_scalar", 0, 0, 1, 1, hypot_scalar, NULL},
    {"add_n", 0, 0, -1, 1, add_n, NULL},
    {"ElementWiseSum", 0, 0, -1, 1, add_n, NULL},
    {"_sum", 0, 0, -1, 1, add_n, NULL},
    {"where", 0, 0, 3, 1, where, NULL},
    {"_npi_where", 0, 0, 3, 1, where, NULL},
    {"_contrib_div_sqrt_dim", 0, 0, 1, 1, div_sqrt_dim, NULL},
    {0},
};
// clang-format on
