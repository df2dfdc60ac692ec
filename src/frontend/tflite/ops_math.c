/* Elementwise operators: arithmetic, comparisons, activation functions. */
#include "frontend/tflite/fixed.h"

#include "op/qnn/qnn.h"

#include <math.h>
#include <string.h>

static bool quantised_pair(const imp_node *c)
{
    return tfl_is_quantised(tfl_in(c, 0)) && tfl_is_quantised(tfl_in(c, 1)) &&
           tfl_is_quantised(tfl_out(c, 0));
}

static tn_value limited(imp_node *c, tn_value v, int64_t function)
{
    bool real = tn_dtype_is_float(imp_type(v)->dtype);
    return real || function < 1 || function > 3 ? tfl_activate(c, v, function)
           : function == 1                      ? imp_clip(c, v, 0, INT32_MAX)
                           : imp_clip(c, v, function == 2 ? -1 : 0, function == 2 ? 1 : 6);
}

/* ---- sums: both operands to a common scale with 20 (of 16 bits: 15) more bits, then to the result's ---- */

static tn_value aligned(imp_node *c, uint32_t i, int bits, double twice)
{
    tfl_factor f = tfl_factor_of((double)tfl_in(c, i)->scale[0] / twice);
    tn_value v = tfl_with(c, &tn_op_multiply, tfl_centered(c, i), (double)(1 << bits));
    return tfl_scaled(c, v, 1, &f, 0);
}

static tn_value integer_sum(imp_node *c, int64_t function)
{
    const tfl_tensor *y = tfl_out(c, 0);
    int bits = y->dtype.bits == 16 ? 15 : 20;
    double twice = 2 * (double)fmaxf(tfl_in(c, 0)->scale[0], tfl_in(c, 1)->scale[0]);
    tn_value a = aligned(c, 0, bits, twice), b = aligned(c, 1, bits, twice);
    tn_value sum = imp_binary(c, c->row->relay, a, b);
    tfl_factor f = tfl_factor_of(twice / ((double)(1 << bits) * (double)y->scale[0]));
    return tfl_narrow(c, tfl_scaled(c, sum, 1, &f, 0), y, function);
}

static void sum(imp_node *c)
{
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    imp_attr_ignore(c, "pot_scale_int16");
    if (quantised_pair(c)) {
        imp_out(c, 0, integer_sum(c, function));
        return;
    }
    tn_value a = tfl_real(c, 0), b = tfl_real(c, 1);
    tfl_give(c, 0, limited(c, imp_binary(c, c->row->relay, a, b), function));
}

static void product(imp_node *c)
{
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    if (!quantised_pair(c)) {
        tn_value a = tfl_real(c, 0), b = tfl_real(c, 1);
        tfl_give(c, 0, limited(c, imp_binary(c, &tn_op_multiply, a, b), function));
        return;
    }
    const tfl_tensor *y = tfl_out(c, 0);
    float scale = tfl_in(c, 0)->scale[0] * tfl_in(c, 1)->scale[0] / y->scale[0];
    tfl_factor f = tfl_factor_of((double)scale);
    tn_value a = tfl_centered(c, 0), b = tfl_centered(c, 1);
    tn_value v = imp_binary(c, &tn_op_multiply, a, b);
    imp_out(c, 0, tfl_narrow(c, tfl_scaled(c, v, 1, &f, 0), y, function));
}

static void quotient(imp_node *c)
{
    int64_t function = imp_attr_int(c, "fused_activation_function", 0);
    tn_value a = tfl_real(c, 0), b = tfl_real(c, 1);
    bool real = tn_dtype_is_float(imp_type(a)->dtype);
    tfl_give(c, 0, limited(c, imp_binary(c, real ? &tn_op_divide : &tn_op_trunc_divide, a, b), function));
}

/* Of two operands of one type, integers as they are. */
static void pair(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    imp_out(c, 0, imp_binary(c, c->row->relay, a, b));
}

static tn_value compared(imp_node *c, uint32_t i)
{
    tfl_factor f = tfl_factor_of((double)tfl_in(c, i)->scale[0]);
    tn_value v = tfl_with(c, &tn_op_multiply, tfl_centered(c, i), 256);
    return tfl_scaled(c, v, 1, &f, 0);
}

static void comparison(imp_node *c)
{
    if (!tfl_is_quantised(tfl_in(c, 0)) || !tfl_is_quantised(tfl_in(c, 1))) {
        pair(c);
        return;
    }
    tn_value a = compared(c, 0), b = compared(c, 1);
    imp_out(c, 0, imp_binary(c, c->row->relay, a, b));
}

/* Of bytes, on the grid of sums with 7 more bits. */
static tn_value integer_square(imp_node *c)
{
    enum { MORE = 7 };
    const tfl_tensor *y = tfl_out(c, 0);
    double twice = 2 * (double)fmaxf(tfl_in(c, 0)->scale[0], tfl_in(c, 1)->scale[0]);
    tn_value a = aligned(c, 0, MORE, twice), b = aligned(c, 1, MORE, twice);
    tn_value d = imp_binary(c, &tn_op_subtract, a, b);
    tfl_factor f = tfl_factor_of(twice * twice / ((double)(1 << 2 * MORE) * (double)y->scale[0]));
    return tfl_narrow(c, tfl_scaled(c, imp_binary(c, &tn_op_multiply, d, d), 1, &f, 0), y, 0);
}

static void squared_difference(imp_node *c)
{
    if (quantised_pair(c) && tfl_out(c, 0)->dtype.bits == 8) {
        imp_out(c, 0, integer_square(c));
        return;
    }
    tn_value a = tfl_real(c, 0), b = tfl_real(c, 1);
    tn_value d = imp_binary(c, &tn_op_subtract, a, b);
    tfl_give(c, 0, imp_binary(c, &tn_op_multiply, d, d));
}

static void add_n(imp_node *c)
{
    tn_value v = imp_in(c, 0);
    for (uint32_t i = 1; i < imp_n_in(c); i++)
        v = imp_binary(c, &tn_op_add, v, imp_in(c, i));
    imp_out(c, 0, v);
}

/* ---- of one operand ---- */

static bool is_byte(const tfl_tensor *t)
{
    return tfl_is_quantised(t) && t->dtype.bits == 8 && t->n_scale == 1;
}

static float gelu_tanh(float x)
{
    return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

/* What the functions below are of the integers of operand 0. */
#define TABLE(name, formula) \
    static int64_t name(imp_node *c, int64_t q) \
    { \
        float x = tfl_table_real(c, q); \
        return tfl_table_give(c, formula); \
    }
TABLE(logistic, 1 / (1 + expf(-x)))
TABLE(hyperbolic, tanhf(x))
TABLE(exponential, expf(x))
TABLE(elu_of, x < 0 ? expm1f(x) : x)
TABLE(gelu_by_tanh, gelu_tanh(x))
TABLE(gelu_by_erf, 0.5f * x * (1 + erff(x * 0.70710678f)))

/* Cut off, not rounded. The kernels refuse to run numbers below 0, for which this is 0. */
static int64_t square_root(imp_node *c, int64_t q)
{
    const tfl_tensor *y = tfl_out(c, 0);
    float x = tfl_table_real(c, q), root = (x > 0 ? sqrtf(x) : 0) / y->scale[0];
    return (int64_t)fminf(root, 1e6f) + y->zero[0];
}

/* ... and of 16 bits. */
static float exponential_curve(imp_node *c, float x)
{
    (void)c;
    return expf(x);
}

static float logarithm_curve(imp_node *c, float x)
{
    const tfl_tensor *y = tfl_out(c, 0);
    return x > 0 ? logf(x) : (float)(-32768 - y->zero[0]) * y->scale[0];
}

static float inverse_root_curve(imp_node *c, float x)
{
    return x > 0 ? 1 / sqrtf(x) : 32767 * tfl_out(c, 0)->scale[0];
}

static float gelu_tanh_curve(imp_node *c, float x)
{
    (void)c;
    return gelu_tanh(x);
}

static float gelu_erf_curve(imp_node *c, float x)
{
    (void)c;
    return 0.5f * x * erfcf(x * -0.70710678f);
}

static const struct {
    const tn_op *op;
    int64_t (*byte)(imp_node *c, int64_t x), (*word)(imp_node *c, int64_t x);
    float (*curve)(imp_node *c, float x);
} by_table[] = {
    {&tn_op_sigmoid, logistic, tfl_logistic_of, NULL},  {&tn_op_tanh, hyperbolic, tfl_tanh_of, NULL},
    {&tn_op_exp, exponential, NULL, exponential_curve}, {&tn_op_log, NULL, NULL, logarithm_curve},
    {&tn_op_rsqrt, NULL, NULL, inverse_root_curve},     {&tn_op_sqrt, square_root, square_root, NULL}};

static tfl_grid grid_of(const tfl_tensor *t) { return (tfl_grid){t->scale[0], t->zero[0]}; }

static void by_curve(imp_node *c, float (*f)(imp_node *c, float x))
{
    imp_out(c, 0, tfl_by_curve(c, imp_in(c, 0), grid_of(tfl_in(c, 0)), grid_of(tfl_out(c, 0)), f));
}

static bool is_word(const tfl_tensor *t)
{
    return tfl_is_quantised(t) && t->dtype.bits == 16 && t->n_scale == 1;
}

static void unary(imp_node *c)
{
    bool byte = is_byte(tfl_in(c, 0)) && is_byte(tfl_out(c, 0));
    bool word = is_word(tfl_in(c, 0)) && is_word(tfl_out(c, 0));
    size_t i = 0, n = sizeof by_table / sizeof *by_table;
    while (i < n && by_table[i].op != c->row->relay)
        i++;
    if (i < n && byte && by_table[i].byte)
        tfl_by_table(c, by_table[i].byte);
    else if (i < n && word && by_table[i].word)
        tfl_by_table(c, by_table[i].word);
    else if (i < n && word && by_table[i].curve)
        by_curve(c, by_table[i].curve);
    else
        tfl_give(c, 0, imp_unary(c, c->row->relay, tfl_real(c, 0)));
}

static void gelu(imp_node *c)
{
    bool by_tanh = imp_attr_int(c, "approximate", 0) != 0;
    if (is_byte(tfl_in(c, 0)) && is_byte(tfl_out(c, 0)))
        tfl_by_table(c, by_tanh ? gelu_by_tanh : gelu_by_erf);
    else if (is_word(tfl_in(c, 0)) && is_word(tfl_out(c, 0)))
        by_curve(c, by_tanh ? gelu_tanh_curve : gelu_erf_curve);
    else
        tfl_give(c, 0, imp_unary(c, by_tanh ? &tn_op_nn_gelu_tanh : &tn_op_nn_gelu, tfl_real(c, 0)));
}

static void elu(imp_node *c)
{
    tn_alpha_attr a = {1};
    if (is_byte(tfl_in(c, 0)) && is_byte(tfl_out(c, 0)))
        tfl_by_table(c, elu_of);
    else
        tfl_give(c, 0, imp_call1(c, &tn_op_nn_elu, &a, tfl_real(c, 0)));
}

/* Integers with the scale of the result and the limits that its function has there. */
static tn_value regridded(imp_node *c, int64_t function)
{
    const tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    tfl_factor f = tfl_factor_of((double)x->scale[0] / (double)y->scale[0]);
    tn_value v = tfl_centered(c, 0);
    bool same = x->scale[0] == y->scale[0];
    return tfl_narrow(c, same ? v : tfl_scaled(c, v, 1, &f, 0), y, function);
}

static void relu(imp_node *c)
{
    static const char *const names[] = {"", "RELU", "RELU_N1_TO_1", "RELU6"};
    int64_t function = TFL_RELU_0_TO_1;
    for (int i = 1; i < 4; i++)
        function = strcmp(c->row->op, names[i]) == 0 ? i : function;
    if (tfl_is_quantised(tfl_in(c, 0)) && tfl_is_quantised(tfl_out(c, 0)))
        imp_out(c, 0, regridded(c, function));
    else
        tfl_give(c, 0,
                 function == TFL_RELU_0_TO_1 ? imp_clip(c, tfl_real(c, 0), 0, 1)
                                             : tfl_activate(c, tfl_real(c, 0), function));
}

/* Numbers below 0 times one factor, the others times another. */
static tn_value two_slopes(imp_node *c, tn_value v, tn_value below, double slope)
{
    const tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    tfl_factor pass = tfl_factor_of((double)(x->scale[0] / y->scale[0])), other = tfl_factor_of(fabs(slope));
    tn_value minus = tfl_scaled(c, below, 1, &other, 0);
    tn_value choice[] = {imp_binary(c, &tn_op_less, v, tfl_int(c, 0)),
                         slope < 0 ? imp_unary(c, &tn_op_negative, minus) : minus,
                         tfl_scaled(c, v, 1, &pass, 0)};
    return tfl_narrow(c, imp_call(c, &tn_op_where, NULL, 3, choice), y, 0);
}

static void leaky_relu(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "alpha", 0)};
    if (!tfl_is_quantised(tfl_in(c, 0)) || !tfl_is_quantised(tfl_out(c, 0))) {
        tfl_give(c, 0, imp_call1(c, &tn_op_nn_leaky_relu, &a, tfl_real(c, 0)));
        return;
    }
    tn_value v = tfl_centered(c, 0);
    float slope = tfl_in(c, 0)->scale[0] * (float)a.alpha / tfl_out(c, 0)->scale[0];
    imp_out(c, 0, two_slopes(c, v, v, (double)slope));
}

static void prelu(imp_node *c)
{
    const tfl_tensor *x = tfl_in(c, 0), *w = tfl_in(c, 1), *y = tfl_out(c, 0);
    if (!quantised_pair(c)) {
        tn_value v = tfl_real(c, 0), slope = tfl_real(c, 1);
        tfl_give(c, 0, imp_prelu(c, v, slope));
        return;
    }
    tn_value v = tfl_centered(c, 0), slope = tfl_centered(c, 1);
    tn_value below = imp_binary(c, &tn_op_multiply, v, slope);
    imp_out(c, 0, two_slopes(c, v, below, (double)(x->scale[0] * w->scale[0] / y->scale[0])));
}

/* ---- HARD_SWISH of bytes: in 16-bit fixed point ---- */

/* multiplier * 2^exponent, of 16 bits. */
static int64_t narrow_factor(float real, int *exponent)
{
    tfl_factor f = tfl_factor_of((double)real);
    *exponent = f.shift;
    return f.multiplier >= INT32_MAX - (1 << 15) ? INT16_MAX : (f.multiplier + (1 << 15)) >> 16;
}

static int64_t high_product(int64_t a, int64_t b)
{
    int64_t ab = a * b;
    return (ab + (ab >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15);
}

static int64_t shifted_right(int64_t x, int by)
{
    by = by < 62 ? by : 62; /* nothing is left of x earlier */
    int64_t mask = (INT64_C(1) << by) - 1, rest = x & mask;
    return (x >> by) + (rest > (mask >> 1) + (x < 0));
}

static int64_t saturated(int64_t x) { return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : x; }

static int64_t hard_swish_of(imp_node *c, int64_t q)
{
    const tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    float fine = (1.0f / 128.0f) * x->scale[0];
    int out_exponent, exponent;
    int64_t out_factor = narrow_factor(fine / y->scale[0], &out_exponent);
    int64_t factor = narrow_factor(fine / (3.0f / 32768.0f), &exponent), value = (q - x->zero[0]) * 128;
    int64_t scaled = high_product(value, out_factor), gate = value;
    if (exponent > 0)
        gate = saturated(gate * (INT64_C(1) << (exponent <= 32 ? exponent - 1 : 31)));
    gate = high_product(gate, factor);
    gate = exponent > 0 ? saturated(gate * 2) : exponent < 0 ? shifted_right(gate, -exponent) : gate;
    gate = (gate + (1 << 15)) >> 1;
    int64_t out = gate * scaled / (1 << 15);
    return (out_exponent > 0 ? out : shifted_right(out, -out_exponent)) + y->zero[0];
}

static void hard_swish(imp_node *c)
{
    if (is_byte(tfl_in(c, 0)) && is_byte(tfl_out(c, 0)))
        tfl_by_table(c, hard_swish_of);
    else
        tfl_give(c, 0, imp_unary(c, &tn_op_nn_hardswish, tfl_real(c, 0)));
}

static void square(imp_node *c)
{
    tn_value v = tfl_real(c, 0);
    tfl_give(c, 0, imp_binary(c, &tn_op_multiply, v, v));
}

static void zeros_like(imp_node *c)
{
    tn_value v = imp_in(c, 0), zero = imp_const(c, imp_type(v)->dtype, 0);
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, (uint32_t)imp_rank(v), imp_type(v)->dim)};
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &a, zero));
}

static void quantize(imp_node *c)
{
    const tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    if (tfl_is_quantised(x) && tfl_is_quantised(y)) {
        imp_out(c, 0, regridded(c, 0));
    } else if (tfl_is_quantised(x) && y && y->n_scale == 1 && tn_dtype_eq(y->dtype, TN_I32)) {
        tfl_factor f = tfl_factor_of((double)x->scale[0] / (double)y->scale[0]);
        tn_value v = tfl_scaled(c, tfl_centered(c, 0), 1, &f, 0);
        imp_out(c, 0, tfl_with(c, &tn_op_add, v, (double)y->zero[0]));
    } else {
        tfl_give(c, 0, tfl_real(c, 0));
    }
}

static void dequantize(imp_node *c) { imp_out(c, 0, imp_cast(c, tfl_real(c, 0), TN_F32)); }

static void cast(imp_node *c)
{
    const tfl_tensor *y = tfl_out(c, 0);
    imp_attr_ignore(c, "in_data_type");
    imp_attr_ignore(c, "out_data_type");
    if (!y || !y->known)
        imp_refuse(c, IMP_BAD_TENSOR, "the result is of a type that is not supported");
    else
        imp_out(c, 0, imp_cast(c, imp_in(c, 0), y->dtype));
}

static void fake_quant(imp_node *c)
{
    double least = imp_attr_float(c, "min", 0), most = imp_attr_float(c, "max", 0);
    int64_t bits = imp_attr_int(c, "num_bits", 8), narrow = imp_attr_int(c, "narrow_range", 0);
    float low = narrow ? 1 : 0, high = (float)((INT64_C(1) << (bits & 31)) - 1);
    float scale = ((float)most - (float)least) / (high - low), zero = low - (float)least / scale;
    zero = zero < low ? low : zero > high ? high : roundf(zero);
    tn_value v = imp_clip(c, imp_in(c, 0), (double)((low - zero) * scale), (double)((high - zero) * scale));
    tn_value from = imp_const(c, TN_F32, (double)((low - zero) * scale));
    v = imp_binary(c, &tn_op_subtract, v, from);
    v = imp_binary(c, &tn_op_multiply, v, imp_const(c, TN_F32, (double)(1 / scale)));
    v = imp_unary(c, &tn_op_floor, imp_binary(c, &tn_op_add, v, imp_const(c, TN_F32, 0.5)));
    v = imp_binary(c, &tn_op_multiply, v, imp_const(c, TN_F32, (double)scale));
    imp_out(c, 0, imp_binary(c, &tn_op_add, v, from));
}

static void select(imp_node *c)
{
    tn_value in[] = {imp_in(c, 0), imp_in(c, 1), imp_in(c, 2)};
    int more = imp_rank(in[1]) - imp_rank(in[0]);
    if (c->row->op[6] == 0 && imp_rank(in[0]) == 1 && more > 0) { /* SELECT: a condition for each row */
        tn_expand_dims_attr a = {1, more};
        in[0] = imp_call1(c, &tn_op_expand_dims, &a, in[0]);
    }
    imp_out(c, 0, imp_call(c, &tn_op_where, NULL, 3, in));
}

/* y, x: the angle of (x, y) in its quadrant. */
static void atan2_op(imp_node *c)
{
    tn_value y = imp_in(c, 0), x = imp_in(c, 1), zero = imp_const(c, TN_F32, 0),
             pi = imp_const(c, TN_F32, M_PI);
    tn_value base = imp_unary(c, &tn_op_atan, imp_binary(c, &tn_op_divide, y, x));
    tn_value below = imp_binary(c, &tn_op_less, y, zero), left = imp_binary(c, &tn_op_less, x, zero);
    tn_value up = imp_binary(c, &tn_op_add, base, pi), down = imp_binary(c, &tn_op_subtract, base, pi);
    tn_value turned = imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){below, down, up});
    tn_value v = imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){left, turned, base});
    tn_value x0 = imp_binary(c, &tn_op_equal, x, zero), y0 = imp_binary(c, &tn_op_equal, y, zero);
    tn_value both = imp_binary(c, &tn_op_logical_and, x0, y0);
    imp_out(c, 0, imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){both, zero, v}));
}

// clang-format off
const imp_row tfl_rows_math[] = {
    {"ADD",                1, 0,  2, 1, sum,                &tn_op_add},
    {"SUB",                1, 0,  2, 1, sum,                &tn_op_subtract},
    {"MUL",                1, 0,  2, 1, product,            NULL},
    {"DIV",                1, 0,  2, 1, quotient,           NULL},
    {"ADD_N",              1, 0, -1, 1, add_n,              NULL},
    {"MAXIMUM",            1, 0,  2, 1, pair,               &tn_op_maximum},
    {"MINIMUM",            1, 0,  2, 1, pair,               &tn_op_minimum},
    {"POW",                1, 0,  2, 1, pair,               &tn_op_power},
    {"FLOOR_DIV",          1, 0,  2, 1, pair,               &tn_op_floor_divide},
    {"FLOOR_MOD",          1, 0,  2, 1, pair,               &tn_op_floor_mod},
    {"SQUARED_DIFFERENCE", 1, 0,  2, 1, squared_difference, NULL},
    {"LOGICAL_AND",        1, 0,  2, 1, pair,               &tn_op_logical_and},
    {"LOGICAL_OR",         1, 0,  2, 1, pair,               &tn_op_logical_or},
    {"LOGICAL_NOT",        1, 0,  1, 1, unary,              &tn_op_logical_not},
    {"BITWISE_XOR",        1, 0,  2, 1, pair,               &tn_op_bitwise_xor},
    {"RIGHT_SHIFT",        1, 0,  2, 1, pair,               &tn_op_right_shift},
    {"ATAN2",              1, 0,  2, 1, atan2_op,           NULL},
    {"EQUAL",              1, 0,  2, 1, comparison,         &tn_op_equal},
    {"NOT_EQUAL",          1, 0,  2, 1, comparison,         &tn_op_not_equal},
    {"LESS",               1, 0,  2, 1, comparison,         &tn_op_less},
    {"LESS_EQUAL",         1, 0,  2, 1, comparison,         &tn_op_less_equal},
    {"GREATER",            1, 0,  2, 1, comparison,         &tn_op_greater},
    {"GREATER_EQUAL",      1, 0,  2, 1, comparison,         &tn_op_greater_equal},
    {"SELECT",             1, 0,  3, 1, select,             NULL},
    {"SELECT_V2",          1, 0,  3, 1, select,             NULL},
    {"ABS",                1, 0,  1, 1, unary,              &tn_op_abs},
    {"NEG",                1, 0,  1, 1, unary,              &tn_op_negative},
    {"SIGN",               1, 0,  1, 1, unary,              &tn_op_sign},
    {"FLOOR",              1, 0,  1, 1, unary,              &tn_op_floor},
    {"CEIL",               1, 0,  1, 1, unary,              &tn_op_ceil},
    {"ROUND",              1, 0,  1, 1, unary,              &tn_op_round},
    {"EXP",                1, 0,  1, 1, unary,              &tn_op_exp},
    {"LOG",                1, 0,  1, 1, unary,              &tn_op_log},
    {"SQRT",               1, 0,  1, 1, unary,              &tn_op_sqrt},
    {"RSQRT",              1, 0,  1, 1, unary,              &tn_op_rsqrt},
    {"SIN",                1, 0,  1, 1, unary,              &tn_op_sin},
    {"COS",                1, 0,  1, 1, unary,              &tn_op_cos},
    {"LOGISTIC",           1, 0,  1, 1, unary,              &tn_op_sigmoid},
    {"TANH",               1, 0,  1, 1, unary,              &tn_op_tanh},
    {"RELU",               1, 0,  1, 1, relu,               NULL},
    {"RELU6",              1, 0,  1, 1, relu,               NULL},
    {"RELU_N1_TO_1",       1, 0,  1, 1, relu,               NULL},
    {"RELU_0_TO_1",        1, 0,  1, 1, relu,               NULL},
    {"ELU",                1, 0,  1, 1, elu,                NULL},
    {"GELU",               1, 0,  1, 1, gelu,               NULL},
    {"LEAKY_RELU",         1, 0,  1, 1, leaky_relu,         NULL},
    {"PRELU",              1, 0,  2, 1, prelu,              NULL},
    {"HARD_SWISH",         1, 0,  1, 1, hard_swish,         NULL},
    {"SQUARE",             1, 0,  1, 1, square,             NULL},
    {"ZEROS_LIKE",         1, 0,  1, 1, zeros_like,         NULL},
    {"QUANTIZE",           1, 0,  1, 1, quantize,           NULL},
    {"DEQUANTIZE",         1, 0,  1, 1, dequantize,         NULL},
    {"DENSIFY",            1, 0,  1, 1, quantize,           NULL},
    {"CAST",               1, 0,  1, 1, cast,               NULL},
    {"FAKE_QUANT",         1, 0,  1, 1, fake_quant,         NULL},
    {0},
};
// clang-format on
