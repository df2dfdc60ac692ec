/* Functions that are called like layers: those of keras.ops (a class of operations each) and those of TensorFlow that
 * tf.keras records (TFOpLambda, by the function's name). Parameters are in the configuration, or among the
 * arguments. */
#include "frontend/keras/rows.h"
#include "frontend/import/scan.h"

#include <math.h>
#include <string.h>

/* ---- elementwise ---- */

static void unary(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_unary(c, c->row->relay, x));
}

/* Of truth values and whole numbers: as they are. */
static void keeps_whole(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, c->bad || tn_dtype_is_float(imp_type(x)->dtype) ? imp_unary(c, c->row->relay, x) : x);
}

static void size_of(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, c->bad || !tn_dtype_is_bool(imp_type(x)->dtype) ? imp_unary(c, &tn_op_abs, x) : x);
}

static void logical_not(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_unary(c, &tn_op_logical_not, imp_cast(c, x, TN_BOOL1)));
}

/* Of integers too, whose results are floats. */
static void unary_float(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_unary(c, c->row->relay, imp_cast(c, x, keras_float_of(imp_type(x)->dtype))));
}

static void binary(imp_node *c)
{
    tn_value a, b;
    if (keras_two(c, &a, &b))
        keras_out(c, imp_binary(c, c->row->relay, a, b));
}

static void logical(imp_node *c)
{
    tn_value a, b;
    if (keras_two(c, &a, &b)) {
        a = imp_cast(c, a, TN_BOOL1);
        b = imp_cast(c, b, TN_BOOL1);
        keras_out(c, imp_binary(c, c->row->relay, a, b));
    }
}

static void divide(imp_node *c)
{
    tn_value a, b;
    if (keras_two(c, &a, &b)) {
        a = imp_cast(c, a, keras_float_of(imp_type(a)->dtype));
        b = imp_cast(c, b, keras_float_of(imp_type(b)->dtype));
        keras_out(c, imp_binary(c, &tn_op_divide, a, b));
    }
}

static void square(imp_node *c)
{
    tn_value x = keras_as_number(c, keras_in(c, 0));
    keras_out(c, imp_binary(c, &tn_op_multiply, x, x));
}

static void squared_difference(imp_node *c)
{
    tn_value a, b;
    if (!keras_two(c, &a, &b))
        return;
    tn_value d = imp_binary(c, &tn_op_subtract, a, b);
    keras_out(c, imp_binary(c, &tn_op_multiply, d, d));
}

static void reciprocal(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    keras_out(c, imp_binary(c, &tn_op_divide, keras_like(c, x, 1), x));
}

/* log(1 + x) as x log(u) / (u - 1) with u = 1 + x, which keeps the digits of small numbers (Kahan). */
static void log_of_more(imp_node *c)
{
    tn_value given = keras_in(c, 0), x = imp_cast(c, given, keras_float_of(imp_type(given)->dtype));
    tn_value u = imp_with(c, &tn_op_add, x, 1), near = imp_with(c, &tn_op_subtract, u, 1);
    tn_value lost = imp_with(c, &tn_op_equal, near, 0), far = imp_unary(c, &tn_op_isinf, u);
    tn_value plain = imp_unary(c, &tn_op_log, u);
    tn_value ratio = imp_binary(c, &tn_op_divide, x, imp_choose(c, lost, keras_like(c, x, 1), near));
    tn_value exact = imp_choose(c, lost, x, imp_binary(c, &tn_op_multiply, plain, ratio));
    keras_out(c, imp_choose(c, far, plain, exact));
}

/* By the name of an activation: what stands behind "nn." of TensorFlow, or Keras's class in lower case. */
static void activate(imp_node *c)
{
    static const struct {
        const char *op, *activation;
    } rows[] = {{"Relu", "relu"},
                {"Relu6", "relu6"},
                {"Silu", "silu"},
                {"Softplus", "softplus"},
                {"Softsign", "softsign"},
                {"Selu", "selu"},
                {"HardSigmoid", "hard_sigmoid"},
                {"HardSilu", "hard_silu"},
                {"LogSigmoid", "log_sigmoid"},
                {"HardTanh", "hard_tanh"},
                {"TanhShrink", "tanh_shrink"},
                {"SparsePlus", "sparse_plus"},
                {"SparseSigmoid", "sparse_sigmoid"},
                {"nn.relu", "relu"},
                {"nn.relu6", "relu6"},
                {"nn.silu", "silu"},
                {"nn.selu", "selu"},
                {"math.softplus", "softplus"},
                {"nn.softsign", "softsign"},
                {"nn.swish", "silu"},
                {"nn.elu", "elu"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(c->row->op, rows[i].op) == 0) {
            tn_json name = {
                .kind = TN_JSON_STRING, .n = (uint32_t)strlen(rows[i].activation), .u.s = rows[i].activation};
            keras_out(c, keras_activate(c, &name, keras_in(c, 0)));
        }
}

static void leaky_relu(imp_node *c)
{
    tn_alpha_attr a = {keras_param_real(c, 1, "negative_slope alpha", 0.2)};
    keras_out(c, imp_call1(c, &tn_op_nn_leaky_relu, &a, keras_in(c, 0)));
}

static void elu(imp_node *c)
{
    tn_alpha_attr a = {keras_param_real(c, 1, "alpha", 1)};
    keras_out(c, imp_call1(c, &tn_op_nn_elu, &a, keras_in(c, 0)));
}

static void gelu(imp_node *c)
{
    const tn_json *v = keras_param(c, 1, "approximate");
    bool about = v ? tn_json_is(v, TN_JSON_BOOL) && v->u.b : strcmp(c->row->op, "Gelu") == 0;
    keras_out(c, imp_unary(c, about ? &tn_op_nn_gelu_tanh : &tn_op_nn_gelu, keras_in(c, 0)));
}

/* Over several axes, or all: x - log(sum(exp(x))), and e to the power of it. */
static tn_value softmax_over(imp_node *c, tn_value x, int n, const int64_t axis[])
{
    int64_t at[IMP_MAX_RANK];
    for (int i = 0; i < n && !c->bad; i++)
        at[i] = imp_axis(c, axis[i], imp_rank(x));
    tn_value sum = imp_log_sum_exp(c, x, tn_ints_make(c->arena, (uint32_t)n, at), true);
    tn_value y = imp_binary(c, &tn_op_subtract, x, sum);
    return c->row->relay == &tn_op_nn_softmax ? imp_unary(c, &tn_op_exp, y) : y;
}

/* keras.ops writes down no axis where all are meant, TensorFlow where the last one is. */
static void softmax(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t axis[IMP_MAX_RANK];
    int n = keras_param_list(c, 1, "axis", axis);
    const tn_json *given = tn_json_find(keras_layer_of(c)->config, "axis");
    bool all = given && given->kind == TN_JSON_NULL;
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        axis[i] = all ? i : -1;
    n = n >= 0 ? n : all ? imp_rank(x) : 1;
    tn_axis_attr a = {n == 1 && !c->bad ? imp_axis(c, axis[0], imp_rank(x)) : 0};
    keras_out(c, n == 1 ? imp_call1(c, c->row->relay, &a, x) : softmax_over(c, x, n, axis));
}

/* An end of a range in x's type; absent: there is none. */
static tn_value bound(imp_node *c, int position, const char *names, tn_value x)
{
    const tn_json *v = keras_param(c, position, names);
    if (v && !c->bad)
        return keras_json_tensor(c, v, imp_type(x)->dtype);
    tn_value end = keras_operand(c, position, names);
    return end.def && !c->bad ? imp_cast(c, end, imp_type(x)->dtype) : end;
}

/* The upper end first: where the ends are crossed, the lower one is the result. */
static void clip(imp_node *c)
{
    tn_value x = keras_as_number(c, keras_in(c, 0));
    tn_value least = bound(c, 1, "x_min clip_value_min", x), most = bound(c, 2, "x_max clip_value_max", x);
    x = most.def ? imp_binary(c, &tn_op_minimum, x, most) : x;
    keras_out(c, least.def ? imp_binary(c, &tn_op_maximum, x, least) : x);
}

static void cast(imp_node *c)
{
    const tn_json *v = keras_param(c, 1, "dtype");
    tn_value x = keras_in(c, 0);
    tn_dtype t;
    if (!v || !keras_dtype(keras_bytes(v), &t) || tn_dtype_is_string(t))
        imp_refuse(c, IMP_BAD_VALUE, "the type to convert to is not known");
    else
        keras_out(c, imp_cast(c, x, t));
}

static void where(imp_node *c)
{
    tn_value m = keras_any_operand(c, 0, "condition"), a = keras_operand(c, 1, "x1 x"),
             b = keras_operand(c, 2, "x2 y");
    if (!a.def && !b.def)
        imp_refuse(c, IMP_OPERANDS, "an operand is missing, or is of a kind that is not supported");
    if (c->bad)
        return;
    tn_dtype t = imp_type(a.def ? a : b)->dtype;
    const tn_json *left = a.def ? NULL : keras_param(c, 1, "x1 x"),
                  *right = b.def ? NULL : keras_param(c, 2, "x2 y");
    t = left || right ? keras_type_with(c, t, left ? left : right) : keras_result_type(t, imp_type(b)->dtype);
    a = left ? keras_json_tensor(c, left, t) : a;
    b = right ? keras_json_tensor(c, right, t) : b;
    tn_value in[] = {imp_cast(c, m, TN_BOOL1), imp_cast(c, a, t), imp_cast(c, b, t)};
    keras_out(c, imp_call(c, &tn_op_where, NULL, 3, in));
}

/* ---- reductions ---- */

/* What Keras 3 adds up and multiplies numbers of type t in, which has room for more. */
static tn_dtype total_type(tn_dtype t)
{
    if (tn_dtype_is_float(t) || t.bits >= 32)
        return t;
    return t.code == TN_UINT ? TN_DT(TN_UINT, 32) : TN_I32;
}

/* The largest, or the least, of all and of a number. */
static tn_value with_initial(imp_node *c, tn_value y)
{
    bool most = c->row->relay == &tn_op_max;
    const tn_json *v = most || c->row->relay == &tn_op_min ? keras_param(c, 3, "initial") : NULL;
    if (!v || c->bad)
        return y;
    tn_value other = keras_json_tensor(c, v, imp_type(y)->dtype);
    return imp_binary(c, most ? &tn_op_maximum : &tn_op_minimum, y, other);
}

static void reduce(imp_node *c)
{
    int64_t axis[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_param_list(c, 1, "axis", axis);
    bool keep = keras_param_truth(c, 2, "keepdims");
    tn_dtype t = imp_type(x)->dtype;
    const tn_op *op = c->row->relay;
    bool truths = strcmp(c->row->op, "Any") == 0 || strcmp(c->row->op, "All") == 0 ||
                  (tn_dtype_is_bool(t) && (op == &tn_op_max || op == &tn_op_min));
    for (int i = 0; n < 0 && i < imp_rank(x); i++)
        axis[i] = i;
    n = n < 0 ? imp_rank(x) : n;
    if (truths)
        x = imp_cast(c, imp_cast(c, x, TN_BOOL1), TN_I32);
    else if (op == &tn_op_mean)
        x = imp_cast(c, x, keras_float_of(t));
    else if (c->version >= 3 && (op == &tn_op_sum || op == &tn_op_prod))
        x = imp_cast(c, x, total_type(t));
    tn_value y = with_initial(c, keras_reduce(c, op, x, n, axis, keep));
    keras_out(c, truths ? imp_cast(c, y, TN_BOOL1) : y);
}

static void arg_reduce(imp_node *c)
{
    tn_value given = keras_as_number(c, keras_in(c, 0)), x = keras_without_axis(c, given, 1);
    const tn_expr *one[IMP_MAX_RANK];
    tn_arg_attr a = {.axis = keras_param_axis(c, 1, "axis dimension", 0, imp_rank(x)),
                     .keepdims = keras_param_truth(c, 2, "keepdims"),
                     .dtype = strcmp(c->row->op, "argmax") == 0 ? TN_I64 : TN_I32};
    for (int i = 0; i < imp_rank(given); i++)
        one[i] = tn_idx(c->pool, 1);
    tn_value y = imp_call1(c, c->row->relay, &a, x);
    bool all = !c->bad && a.keepdims && imp_rank(x) < imp_rank(given);
    keras_out(c, all ? imp_reshape(c, y, imp_rank(given), one) : y);
}

static void cumsum(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    if (c->version >= 3 && !c->bad)
        x = keras_as_number(c, imp_cast(c, x, keras_param_dtype(c, 2, imp_type(x)->dtype)));
    x = keras_without_axis(c, x, 1);
    tn_scan_attr a = {.axis = imp_axis(c, keras_param_whole(c, 1, "axis", 0), imp_rank(x)),
                      .exclusive = keras_param_truth(c, -1, "exclusive"),
                      .reverse = keras_param_truth(c, -1, "reverse")};
    keras_out(c, imp_call1(c, &tn_op_cumsum, &a, x));
}

/* ---- products ---- */

static tn_value swapped(imp_node *c, tn_value v)
{
    int64_t perm[IMP_MAX_RANK];
    int n = imp_rank(v);
    for (int i = 0; i < n; i++)
        perm[i] = i == n - 2 ? n - 1 : i == n - 1 ? n - 2 : i;
    return n < 2 ? v : imp_transpose(c, v, n, perm);
}

/* Products of 8-bit numbers are added up in 32 bits. */
static tn_value as_factor(imp_node *c, tn_value v)
{
    bool is = !c->bad && tn_dtype_eq(imp_type(v)->dtype, TN_I8) && c->version >= 3;
    return is ? imp_cast(c, v, TN_I32) : v;
}

static void matmul(imp_node *c)
{
    tn_value a, b;
    if (!keras_two(c, &a, &b))
        return;
    a = as_factor(c, a);
    b = as_factor(c, b);
    a = keras_param_truth(c, -1, "transpose_a") ? swapped(c, a) : a;
    b = keras_param_truth(c, -1, "transpose_b") ? swapped(c, b) : b;
    keras_out(c, keras_matmul(c, a, b));
}

static tn_value constant_factor(imp_node *c, const tn_json *v)
{
    tn_dtype t = TN_F32;
    (void)keras_json_dtype(v, &t);
    return keras_json_tensor(c, v, t);
}

static void einsum(imp_node *c)
{
    const tn_json *v = keras_param(c, -1, "subscripts equation");
    const keras_call *call = keras_call_of(c);
    tn_value in[16];
    int n = 0;
    for (size_t i = 0; i < call->n_arg; i++) {
        keras_argument *p = &call->arg[i];
        p->asked = true;
        if (!p->n && !p->name.n && n < 16 && (!tn_json_is(p->json, TN_JSON_STRING)))
            in[n++] = constant_factor(c, p->json);
        for (size_t k = 0; k < p->n && n < 16; k++)
            in[n++] = p->at[k].json ? constant_factor(c, p->at[k].json) : p->at[k].v;
    }
    keras_promote(c, (size_t)n, in);
    for (int i = 0; i < n; i++)
        in[i] = as_factor(c, in[i]);
    tn_einsum_attr a = {v ? imp_text(c->im, keras_bytes(v)) : ""};
    keras_out(c, imp_call(c, &tn_op_einsum, &a, n, in));
}

static void identity(imp_node *c) { keras_out(c, keras_in(c, 0)); }

static void full_like(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    tn_broadcast_to_attr a = {{imp_type(x)->n, imp_type(x)->dim}};
    bool ones = strstr(c->row->op, "nes") != NULL;
    tn_dtype t = keras_param_dtype(c, 1, imp_type(x)->dtype);
    keras_out(c, imp_call1(c, &tn_op_broadcast_to, &a, imp_const(c, t, ones)));
}

#define F(name, convert, relay) LAYER(name, convert, relay, NULL, KERAS_OPERATION, NULL)
// clang-format off
const keras_row keras_rows_operation[] = {
    F("Absolute",                   size_of,            &tn_op_abs),
    F("Abs",                        size_of,            &tn_op_abs),
    F("math.abs",                   unary,              &tn_op_abs),
    F("Negative",                   unary,              &tn_op_negative),
    F("math.negative",              unary,              &tn_op_negative),
    F("Exp",                        unary_float,        &tn_op_exp),
    F("math.exp",                   unary_float,        &tn_op_exp),
    F("Log",                        unary_float,        &tn_op_log),
    F("math.log",                   unary_float,        &tn_op_log),
    F("Log1p",                      log_of_more,        NULL),
    F("math.log1p",                 log_of_more,        NULL),
    F("Sqrt",                       unary_float,        &tn_op_sqrt),
    F("math.sqrt",                  unary_float,        &tn_op_sqrt),
    F("Rsqrt",                      unary_float,        &tn_op_rsqrt),
    F("math.rsqrt",                 unary_float,        &tn_op_rsqrt),
    F("Sin",                        unary_float,        &tn_op_sin),
    F("math.sin",                   unary_float,        &tn_op_sin),
    F("Cos",                        unary_float,        &tn_op_cos),
    F("math.cos",                   unary_float,        &tn_op_cos),
    F("Tanh",                       unary_float,        &tn_op_tanh),
    F("math.tanh",                  unary_float,        &tn_op_tanh),
    F("nn.tanh",                    unary_float,        &tn_op_tanh),
    F("Sigmoid",                    unary_float,        &tn_op_sigmoid),
    F("math.sigmoid",               unary_float,        &tn_op_sigmoid),
    F("nn.sigmoid",                 unary_float,        &tn_op_sigmoid),
    F("Erf",                        unary_float,        &tn_op_erf),
    F("math.erf",                   unary_float,        &tn_op_erf),
    F("Tan",                        unary_float,        &tn_op_tan),
    F("Arcsin",                     unary_float,        &tn_op_asin),
    F("Arccos",                     unary_float,        &tn_op_acos),
    F("Arctan",                     unary_float,        &tn_op_atan),
    F("Sinh",                       unary_float,        &tn_op_sinh),
    F("Cosh",                       unary_float,        &tn_op_cosh),
    F("Arcsinh",                    unary_float,        &tn_op_asinh),
    F("Arccosh",                    unary_float,        &tn_op_acosh),
    F("Arctanh",                    unary_float,        &tn_op_atanh),
    F("Floor",                      unary_float,        &tn_op_floor),
    F("math.floor",                 unary,              &tn_op_floor),
    F("Ceil",                       unary_float,        &tn_op_ceil),
    F("math.ceil",                  unary,              &tn_op_ceil),
    F("Round",                      keeps_whole,        &tn_op_round),
    F("math.round",                 unary,              &tn_op_round),
    F("Sign",                       unary,              &tn_op_sign),
    F("math.sign",                  unary,              &tn_op_sign),
    F("LogicalNot",                 logical_not,        &tn_op_logical_not),
    F("math.logical_not",           unary,              &tn_op_logical_not),
    F("Square",                     square,             NULL),
    F("math.square",                square,             NULL),
    F("SquaredDifference",          squared_difference, NULL),
    F("math.squared_difference",    squared_difference, NULL),
    F("Reciprocal",                 reciprocal,         NULL),
    F("math.reciprocal",            reciprocal,         NULL),
    F("Add",                        binary,             &tn_op_add),
    F("math.add",                   binary,             &tn_op_add),
    F("__operators__.add",          binary,             &tn_op_add),
    F("Subtract",                   binary,             &tn_op_subtract),
    F("math.subtract",              binary,             &tn_op_subtract),
    F("Multiply",                   binary,             &tn_op_multiply),
    F("math.multiply",              binary,             &tn_op_multiply),
    F("Divide",                     divide,             NULL),
    F("TrueDivide",                 divide,             NULL),
    F("math.truediv",               divide,             NULL),
    F("math.divide",                divide,             NULL),
    F("RealDiv",                    divide,             NULL),
    F("Maximum",                    binary,             &tn_op_maximum),
    F("math.maximum",               binary,             &tn_op_maximum),
    F("Minimum",                    binary,             &tn_op_minimum),
    F("math.minimum",               binary,             &tn_op_minimum),
    F("Power",                      binary,             &tn_op_power),
    F("math.pow",                   binary,             &tn_op_power),
    F("FloorDivide",                binary,             &tn_op_floor_divide),
    F("math.floordiv",              binary,             &tn_op_floor_divide),
    F("Mod",                        binary,             &tn_op_floor_mod),
    F("math.floormod",              binary,             &tn_op_floor_mod),
    F("Equal",                      binary,             &tn_op_equal),
    F("math.equal",                 binary,             &tn_op_equal),
    F("__operators__.eq",           binary,             &tn_op_equal),
    F("NotEqual",                   binary,             &tn_op_not_equal),
    F("math.not_equal",             binary,             &tn_op_not_equal),
    F("__operators__.ne",           binary,             &tn_op_not_equal),
    F("Less",                       binary,             &tn_op_less),
    F("math.less",                  binary,             &tn_op_less),
    F("LessEqual",                  binary,             &tn_op_less_equal),
    F("math.less_equal",            binary,             &tn_op_less_equal),
    F("Greater",                    binary,             &tn_op_greater),
    F("math.greater",               binary,             &tn_op_greater),
    F("GreaterEqual",               binary,             &tn_op_greater_equal),
    F("math.greater_equal",         binary,             &tn_op_greater_equal),
    F("LogicalAnd",                 logical,            &tn_op_logical_and),
    F("math.logical_and",           logical,            &tn_op_logical_and),
    F("LogicalOr",                  logical,            &tn_op_logical_or),
    F("math.logical_or",            logical,            &tn_op_logical_or),
    F("LogicalXor",                 logical,            &tn_op_logical_xor),
    F("Relu",                       activate,           NULL),
    F("Relu6",                      activate,           NULL),
    F("Silu",                       activate,           NULL),
    F("Softplus",                   activate,           NULL),
    F("Softsign",                   activate,           NULL),
    F("Selu",                       activate,           NULL),
    F("HardSigmoid",                activate,           NULL),
    F("HardSilu",                   activate,           NULL),
    F("HardTanh",                   activate,           NULL),
    F("TanhShrink",                 activate,           NULL),
    F("SparsePlus",                 activate,           NULL),
    F("SparseSigmoid",              activate,           NULL),
    F("LogSigmoid",                 activate,           NULL),
    F("nn.relu",                    activate,           NULL),
    F("nn.relu6",                   activate,           NULL),
    F("nn.silu",                    activate,           NULL),
    F("nn.selu",                    activate,           NULL),
    F("math.softplus",              activate,           NULL),
    F("nn.softsign",                activate,           NULL),
    F("nn.elu",                     activate,           NULL),
    F("LeakyRelu",                  leaky_relu,         NULL),
    F("nn.leaky_relu",              leaky_relu,         NULL),
    F("Elu",                        elu,                NULL),
    F("Gelu",                       gelu,               NULL),
    F("nn.gelu",                    gelu,               NULL),
    F("Softmax",                    softmax,            &tn_op_nn_softmax),
    F("nn.softmax",                 softmax,            &tn_op_nn_softmax),
    F("LogSoftmax",                 softmax,            &tn_op_nn_log_softmax),
    F("nn.log_softmax",             softmax,            &tn_op_nn_log_softmax),
    F("Clip",                       clip,               NULL),
    F("clip_by_value",              clip,               NULL),
    F("Cast",                       cast,               NULL),
    F("cast",                       cast,               NULL),
    F("Where",                      where,              NULL),
    F("where",                      where,              NULL),
    F("Sum",                        reduce,             &tn_op_sum),
    F("math.reduce_sum",            reduce,             &tn_op_sum),
    F("Mean",                       reduce,             &tn_op_mean),
    F("math.reduce_mean",           reduce,             &tn_op_mean),
    F("Max",                        reduce,             &tn_op_max),
    F("math.reduce_max",            reduce,             &tn_op_max),
    F("Any",                        reduce,             &tn_op_max),
    F("Amax",                       reduce,             &tn_op_max),
    F("Amin",                       reduce,             &tn_op_min),
    F("Min",                        reduce,             &tn_op_min),
    F("math.reduce_min",            reduce,             &tn_op_min),
    F("All",                        reduce,             &tn_op_min),
    F("Prod",                       reduce,             &tn_op_prod),
    F("math.reduce_prod",           reduce,             &tn_op_prod),
    F("Argmax",                     arg_reduce,         &tn_op_argmax),
    F("math.argmax",                arg_reduce,         &tn_op_argmax),
    F("Argmin",                     arg_reduce,         &tn_op_argmin),
    F("Cumsum",                     cumsum,             NULL),
    F("math.cumsum",                cumsum,             NULL),
    F("Matmul",                     matmul,             NULL),
    F("linalg.matmul",              matmul,             NULL),
    F("Einsum",                     einsum,             NULL),
    F("Identity",                   identity,           NULL),
    F("identity",                   identity,           NULL),
    F("stop_gradient",              identity,           NULL),
    F("StopGradient",               identity,           NULL),
    F("ZerosLike",                  full_like,          NULL),
    F("zeros_like",                 full_like,          NULL),
    F("OnesLike",                   full_like,          NULL),
    F("ones_like",                  full_like,          NULL),
    F("ConvertToTensor",            identity,           NULL),
    END_OF_ROWS,
};
// clang-format on
