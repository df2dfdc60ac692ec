/* Arithmetic of elements: unary functions, binary operators with either kind of broadcasting, variadic ones. */
#include "frontend/onnx/onnx.h"

#include "arith/arith.h"
#include "op/tensor/tensor.h"

#include <float.h>
#include <math.h>

static void unary(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs"); /* opset 1: a hint for memory */
    imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0)));
}

/* Before opset 7 a second operand is only broadcast if the node says so, along `axis`. */
tn_value onnx_second(imp_node *c, tn_value a)
{
    tn_value b = imp_in(c, 1);
    if (c->version >= 7)
        return b;
    imp_attr_ignore(c, "consumed_inputs");
    bool named = imp_has_attr(c, "axis");
    int64_t axis = imp_attr_int(c, "axis", 0);
    if (!imp_attr_int(c, "broadcast", 0) || !named || c->bad)
        return b;
    int at = imp_axis(c, axis, imp_rank(a));
    tn_expand_dims_attr e = {imp_rank(b), imp_rank(a) - at - imp_rank(b)};
    if (e.num_newaxis < 0 && !c->bad)
        imp_fail(c, "onnx-E009", "axis %lld is too large for the %d dimensions of the second operand",
                 (long long)axis, imp_rank(b));
    return e.num_newaxis > 0 ? imp_call1(c, &tn_op_expand_dims, &e, b) : b;
}

static void binary(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = onnx_second(c, a);
    imp_out(c, 0, imp_binary(c, c->row->relay, a, b));
}

static bool is_sigmoid_of(tn_value s, tn_value x)
{
    return s.def && s.def->op == &tn_op_sigmoid && tn_value_eq(tn_in(s.def, 0), x);
}

/* x * sigmoid(x) is one operator, so that it joins what computes x, which had two readers else. */
static void multiply(imp_node *c)
{
    static const tn_alpha_attr one = {1};
    tn_value a = imp_in(c, 0), b = onnx_second(c, a);
    if (is_sigmoid_of(a, b) || is_sigmoid_of(b, a))
        imp_out(c, 0, imp_call1(c, &tn_op_nn_swish, &one, is_sigmoid_of(a, b) ? b : a));
    else
        imp_out(c, 0, imp_binary(c, &tn_op_multiply, a, b));
}

/* ---- Div: of integers it truncates, Relay's floors ---- */

/* No element of v is known to be below `least`, and none may be. */
static bool at_least(imp_node *c, tn_value v, int64_t least)
{
    tn_dims d;
    if (imp_type(v)->dtype.code == TN_UINT)
        return least == 0;
    bool holds = imp_host(c, v, &d);
    for (uint32_t i = 0; holds && i < d.n; i++)
        holds = tn_prove(c->pool, NULL, tn_le(c->pool, tn_idx(c->pool, least), d.at[i])) == 1;
    return holds;
}

static void divide(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = onnx_second(c, a);
    bool sign = imp_type(a)->dtype.code == TN_INT && !(at_least(c, a, 0) && at_least(c, b, 1));
    imp_out(c, 0, imp_binary(c, sign ? &tn_op_trunc_divide : &tn_op_divide, a, b));
}

/* ---- variadic ---- */

static void variadic(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_value v = imp_in(c, 0);
    for (uint32_t i = 1; i < imp_n_in(c); i++)
        v = imp_binary(c, c->row->relay, v, imp_in(c, i));
    imp_out(c, 0, v);
}

static void mean(imp_node *c)
{
    variadic(c);
    tn_value sum = c->out[0];
    imp_out(c, 0, imp_binary(c, &tn_op_divide, sum, imp_const(c, imp_type(sum)->dtype, imp_n_in(c))));
}

/* ---- with attributes ---- */

static void with_alpha(imp_node *c, float def)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_alpha_attr a = {imp_attr_float(c, "alpha", def)};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

static void leaky_relu(imp_node *c) { with_alpha(c, 0.01f); }

static void elu(imp_node *c) { with_alpha(c, 1); }

static void hard_sigmoid(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_alphabeta_attr a = {imp_attr_float(c, "alpha", 0.2f), imp_attr_float(c, "beta", 0.5f)};
    imp_out(c, 0, imp_call1(c, &tn_op_nn_hard_sigmoid, &a, imp_in(c, 0)));
}

/* The slope is broadcast to x; before opset 7 a vector runs along the channels. */
static void prelu(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_value x = imp_in(c, 0), slope = imp_in(c, 1);
    tn_expand_dims_attr e = {1, imp_rank(x) - 2};
    if (c->version < 7 && imp_rank(slope) == 1 && e.num_newaxis > 0 &&
        !tn_is_value(imp_type(slope)->dim[0], 1))
        slope = imp_call1(c, &tn_op_expand_dims, &e, slope);
    imp_out(c, 0, imp_prelu(c, x, slope));
}

/* Bounds are attributes before opset 11, operands after; of floats, constant ones become attributes again. */
static void clip(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_value x = imp_in(c, 0), low = c->version >= 11 ? imp_opt(c, 1) : (tn_value){0},
             high = c->version >= 11 ? imp_opt(c, 2) : low;
    tn_clip_attr a = {-INFINITY, INFINITY};
    const float most = c->version < 6 ? INFINITY : FLT_MAX; /* in between, infinity is no default */
    if (c->version < 11)
        a = (tn_clip_attr){imp_attr_float(c, "min", -most), imp_attr_float(c, "max", most)};
    bool constant =
        (!low.def || imp_scalar(c, low, &a.a_min)) && (!high.def || imp_scalar(c, high, &a.a_max));
    if (constant && (c->version < 11 || tn_dtype_is_float(imp_type(x)->dtype))) {
        imp_out(c, 0, imp_call1(c, &tn_op_clip, &a, x));
        return;
    }
    if (low.def)
        x = imp_binary(c, &tn_op_maximum, x, low);
    if (high.def)
        x = imp_binary(c, &tn_op_minimum, x, high);
    imp_out(c, 0, x);
}

static void reciprocal(imp_node *c)
{
    imp_attr_ignore(c, "consumed_inputs");
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_divide, imp_const(c, imp_type(x)->dtype, 1), x));
}

// clang-format off
const imp_row onnx_rows_math[] = {
    {"Relu",          1,  0,  1,  1, unary,        &tn_op_nn_relu},
    {"Sigmoid",       1,  0,  1,  1, unary,        &tn_op_sigmoid},
    {"Tanh",          1,  0,  1,  1, unary,        &tn_op_tanh},
    {"Exp",           1,  0,  1,  1, unary,        &tn_op_exp},
    {"Log",           1,  0,  1,  1, unary,        &tn_op_log},
    {"Sqrt",          1,  0,  1,  1, unary,        &tn_op_sqrt},
    {"Abs",           1,  0,  1,  1, unary,        &tn_op_abs},
    {"Neg",           1,  0,  1,  1, unary,        &tn_op_negative},
    {"Floor",         1,  0,  1,  1, unary,        &tn_op_floor},
    {"Ceil",          1,  0,  1,  1, unary,        &tn_op_ceil},
    {"Round",        11,  0,  1,  1, unary,        &tn_op_round},
    {"Erf",           9,  0,  1,  1, unary,        &tn_op_erf},
    {"HardSwish",    14,  0,  1,  1, unary,        &tn_op_nn_hardswish},
    {"Reciprocal",    1,  0,  1,  1, reciprocal,   NULL},
    {"LeakyRelu",     1,  0,  1,  1, leaky_relu,   &tn_op_nn_leaky_relu},
    {"Elu",           1,  0,  1,  1, elu,          &tn_op_nn_elu},
    {"HardSigmoid",   1,  0,  1,  1, hard_sigmoid, NULL},
    {"PRelu",         1,  0,  2,  1, prelu,        NULL},
    {"Clip",          1, 10,  1,  1, clip,         NULL},
    {"Clip",         11,  0,  3,  1, clip,         NULL},
    {"Add",           1,  0,  2,  1, binary,       &tn_op_add},
    {"Sub",           1,  0,  2,  1, binary,       &tn_op_subtract},
    {"Mul",           1,  0,  2,  1, multiply,     NULL},
    {"Div",           1,  0,  2,  1, divide,       NULL},
    {"Min",           1,  0, -1,  1, variadic,     &tn_op_minimum},
    {"Max",           1,  0, -1,  1, variadic,     &tn_op_maximum},
    {"Sum",           1,  0, -1,  1, variadic,     &tn_op_add},
    {"Mean",          1,  0, -1,  1, mean,         &tn_op_add},
    {0},
};
// clang-format on
