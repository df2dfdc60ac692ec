/* Arithmetic of elements: unary functions, binary operators with either kind of broadcasting, variadic ones. */
#include "frontend/onnx/onnx.h"

#include "arith/arith.h"
#include "op/tensor/tensor.h"

#include <math.h>

static void unary(onnx_conv *c)
{
    onnx_attr_ignore(c, "consumed_inputs"); /* opset 1: a hint for memory */
    onnx_out(c, 0, onnx_call1(c, c->row->relay, NULL, onnx_in(c, 0)));
}

/* Before opset 7 a second operand is only broadcast if the node says so, along `axis`. */
tn_value onnx_second(onnx_conv *c, tn_value a)
{
    tn_value b = onnx_in(c, 1);
    if (c->opset >= 7)
        return b;
    onnx_attr_ignore(c, "consumed_inputs");
    bool named = onnx_has_attr(c, "axis");
    int64_t axis = onnx_attr_int(c, "axis", 0);
    if (!onnx_attr_int(c, "broadcast", 0) || !named || c->bad)
        return b;
    int at = onnx_axis(c, axis, onnx_rank(a));
    tn_expand_dims_attr e = {onnx_rank(b), onnx_rank(a) - at - onnx_rank(b)};
    if (e.num_newaxis < 0 && !c->bad)
        onnx_fail(c, "onnx-E009", "axis %lld is too large for the %d dimensions of the second operand",
                  (long long)axis, onnx_rank(b));
    return e.num_newaxis > 0 ? onnx_call1(c, &tn_op_expand_dims, &e, b) : b;
}

static void binary(onnx_conv *c)
{
    tn_value a = onnx_in(c, 0), b = onnx_second(c, a);
    onnx_out(c, 0, onnx_call2(c, c->row->relay, NULL, a, b));
}

static bool is_sigmoid_of(tn_value s, tn_value x)
{
    return s.def && s.def->op == &tn_op_sigmoid && tn_value_eq(tn_in(s.def, 0), x);
}

/* x * sigmoid(x) is one operator, so that it joins what computes x, which had two readers else. */
static void multiply(onnx_conv *c)
{
    static const tn_alpha_attr one = {1};
    tn_value a = onnx_in(c, 0), b = onnx_second(c, a);
    if (is_sigmoid_of(a, b) || is_sigmoid_of(b, a))
        onnx_out(c, 0, onnx_call1(c, &tn_op_nn_swish, &one, is_sigmoid_of(a, b) ? b : a));
    else
        onnx_out(c, 0, onnx_call2(c, &tn_op_multiply, NULL, a, b));
}

/* ---- Div: of integers it truncates, Relay's floors ---- */

/* No element of v is known to be below `least`, and none may be. */
static bool at_least(onnx_conv *c, tn_value v, int64_t least)
{
    tn_dims d;
    if (onnx_type(v)->dtype.code == TN_UINT)
        return least == 0;
    bool holds = onnx_host(c, v, &d);
    for (uint32_t i = 0; holds && i < d.n; i++)
        holds = tn_prove(c->pool, NULL, tn_le(c->pool, tn_idx(c->pool, least), d.at[i])) == 1;
    return holds;
}

static void divide(onnx_conv *c)
{
    tn_value a = onnx_in(c, 0), b = onnx_second(c, a);
    bool sign = onnx_type(a)->dtype.code == TN_INT && !(at_least(c, a, 0) && at_least(c, b, 1));
    onnx_out(c, 0, onnx_call2(c, sign ? &tn_op_trunc_divide : &tn_op_divide, NULL, a, b));
}

/* ---- variadic ---- */

static void variadic(onnx_conv *c)
{
    onnx_attr_ignore(c, "consumed_inputs");
    tn_value v = onnx_in(c, 0);
    for (uint32_t i = 1; i < onnx_n_in(c); i++)
        v = onnx_call2(c, c->row->relay, NULL, v, onnx_in(c, i));
    onnx_out(c, 0, v);
}

static void mean(onnx_conv *c)
{
    variadic(c);
    tn_value sum = c->out[0];
    onnx_out(c, 0,
             onnx_call2(c, &tn_op_divide, NULL, sum, onnx_const(c, onnx_type(sum)->dtype, onnx_n_in(c))));
}

/* ---- with attributes ---- */

static void with_alpha(onnx_conv *c, float def)
{
    onnx_attr_ignore(c, "consumed_inputs");
    tn_alpha_attr a = {onnx_attr_float(c, "alpha", def)};
    onnx_out(c, 0, onnx_call1(c, c->row->relay, &a, onnx_in(c, 0)));
}

static void leaky_relu(onnx_conv *c) { with_alpha(c, 0.01f); }

static void elu(onnx_conv *c) { with_alpha(c, 1); }

static void hard_sigmoid(onnx_conv *c)
{
    onnx_attr_ignore(c, "consumed_inputs");
    tn_alphabeta_attr a = {onnx_attr_float(c, "alpha", 0.2f), onnx_attr_float(c, "beta", 0.5f)};
    onnx_out(c, 0, onnx_call1(c, &tn_op_nn_hard_sigmoid, &a, onnx_in(c, 0)));
}

/* The slope is broadcast to x; before opset 7 a vector runs along the channels. */
static void prelu(onnx_conv *c)
{
    onnx_attr_ignore(c, "consumed_inputs");
    tn_value x = onnx_in(c, 0), slope = onnx_in(c, 1);
    tn_expand_dims_attr e = {1, onnx_rank(x) - 2};
    if (c->opset < 7 && onnx_rank(slope) == 1 && e.num_newaxis > 0 &&
        !tn_is_value(onnx_type(slope)->dim[0], 1))
        slope = onnx_call1(c, &tn_op_expand_dims, &e, slope);
    onnx_out(c, 0, onnx_call2(c, &tn_op_nn_prelu, NULL, x, slope));
}

/* Bounds are attributes before opset 11, operands after; of floats, constant ones become attributes again. */
static void clip(onnx_conv *c)
{
    onnx_attr_ignore(c, "consumed_inputs");
    tn_value x = onnx_in(c, 0), low = c->opset >= 11 ? onnx_opt(c, 1) : (tn_value){0},
             high = c->opset >= 11 ? onnx_opt(c, 2) : low;
    tn_clip_attr a = {-INFINITY, INFINITY};
    if (c->opset < 11)
        a = (tn_clip_attr){onnx_attr_float(c, "min", -INFINITY), onnx_attr_float(c, "max", INFINITY)};
    bool constant =
        (!low.def || onnx_scalar(c, low, &a.a_min)) && (!high.def || onnx_scalar(c, high, &a.a_max));
    if (constant && (c->opset < 11 || tn_dtype_is_float(onnx_type(x)->dtype))) {
        onnx_out(c, 0, onnx_call1(c, &tn_op_clip, &a, x));
        return;
    }
    if (low.def)
        x = onnx_call2(c, &tn_op_maximum, NULL, x, low);
    if (high.def)
        x = onnx_call2(c, &tn_op_minimum, NULL, x, high);
    onnx_out(c, 0, x);
}

static void reciprocal(onnx_conv *c)
{
    onnx_attr_ignore(c, "consumed_inputs");
    tn_value x = onnx_in(c, 0);
    onnx_out(c, 0, onnx_call2(c, &tn_op_divide, NULL, onnx_const(c, onnx_type(x)->dtype, 1), x));
}

// clang-format off
const onnx_row onnx_rows_math[] = {
    {"Relu",          1, 28,  1,  1, unary,        &tn_op_nn_relu},
    {"Sigmoid",       1, 28,  1,  1, unary,        &tn_op_sigmoid},
    {"Tanh",          1, 28,  1,  1, unary,        &tn_op_tanh},
    {"Exp",           1, 28,  1,  1, unary,        &tn_op_exp},
    {"Log",           1, 28,  1,  1, unary,        &tn_op_log},
    {"Sqrt",          1, 28,  1,  1, unary,        &tn_op_sqrt},
    {"Abs",           1, 28,  1,  1, unary,        &tn_op_abs},
    {"Neg",           1, 28,  1,  1, unary,        &tn_op_negative},
    {"Floor",         1, 28,  1,  1, unary,        &tn_op_floor},
    {"Ceil",          1, 28,  1,  1, unary,        &tn_op_ceil},
    {"Round",        11, 28,  1,  1, unary,        &tn_op_round},
    {"Erf",           9, 28,  1,  1, unary,        &tn_op_erf},
    {"HardSwish",    14, 28,  1,  1, unary,        &tn_op_nn_hardswish},
    {"Reciprocal",    1, 28,  1,  1, reciprocal,   NULL},
    {"LeakyRelu",     1, 28,  1,  1, leaky_relu,   &tn_op_nn_leaky_relu},
    {"Elu",           1, 28,  1,  1, elu,          &tn_op_nn_elu},
    {"HardSigmoid",   1, 28,  1,  1, hard_sigmoid, NULL},
    {"PRelu",         1, 28,  2,  1, prelu,        NULL},
    {"Clip",          1, 10,  1,  1, clip,         NULL},
    {"Clip",         11, 28,  3,  1, clip,         NULL},
    {"Add",           1, 28,  2,  1, binary,       &tn_op_add},
    {"Sub",           1, 28,  2,  1, binary,       &tn_op_subtract},
    {"Mul",           1, 28,  2,  1, multiply,     NULL},
    {"Div",           1, 28,  2,  1, divide,       NULL},
    {"Min",           1, 28, -1,  1, variadic,     &tn_op_minimum},
    {"Max",           1, 28, -1,  1, variadic,     &tn_op_maximum},
    {"Sum",           1, 28, -1,  1, variadic,     &tn_op_add},
    {"Mean",          1, 28, -1,  1, mean,         &tn_op_add},
    {0},
};
// clang-format on
