/* Arithmetic of elements, reductions, products of matrices, comparisons, conversions. */
#include "frontend/tensorflow/tf.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

tn_value tf_number(imp_node *c, tn_value like, double v) { return imp_const(c, imp_type(like)->dtype, v); }

tn_value tf_scalar_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    return imp_rank(v) ? imp_reshape(c, v, 0, NULL) : v;
}

static void unary(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

static void binary(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    imp_attr_ignore(c, "incompatible_shape_error");
    imp_out(c, 0, imp_binary(c, c->row->relay, x, y));
}

static void variadic(imp_node *c)
{
    tn_value v = imp_in(c, 0);
    imp_attr_ignore(c, "N");
    imp_attr_ignore(c, "shape"); /* of AccumulateNV2 */
    for (uint32_t i = 1; i < imp_n_in(c); i++)
        v = imp_binary(c, c->row->relay, v, imp_in(c, i));
    imp_out(c, 0, v);
}

/* ---- division ---- */

/* Of integers towards zero. */
static void divide(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    bool whole = tn_dtype_is_int(imp_type(x)->dtype);
    imp_out(c, 0, imp_binary(c, whole ? &tn_op_trunc_divide : &tn_op_divide, x, y));
}

static void floor_divide(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    bool whole = tn_dtype_is_int(imp_type(x)->dtype);
    imp_out(c, 0, imp_binary(c, whole ? &tn_op_divide : &tn_op_floor_divide, x, y));
}

/* 0 where the one operand (number c->row->since) is 0; since: see the rows. */
static void or_zero(imp_node *c, const tn_op *op, uint32_t where)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    tn_value zero = tf_number(c, x, 0);
    tn_value none = imp_binary(c, &tn_op_equal, where ? y : x, zero);
    tn_value r = imp_binary(c, op, x, y);
    imp_out(c, 0, imp_choose(c, none, zero, r));
}

static void no_nan(imp_node *c) { or_zero(c, c->row->relay, 1); }
static void xdivy(imp_node *c) { or_zero(c, &tn_op_divide, 0); }

static tn_value log1p_of(imp_node *c, tn_value x)
{
    tn_value one = tf_number(c, x, 1);
    tn_value u = imp_binary(c, &tn_op_add, x, one);
    tn_value near = imp_binary(c, &tn_op_subtract, u, one);
    tn_value lost = imp_binary(c, &tn_op_equal, near, tf_number(c, x, 0));
    tn_value far = imp_unary(c, &tn_op_isinf, u);
    tn_value plain = imp_unary(c, &tn_op_log, u);
    tn_value safe = imp_choose(c, lost, one, near);
    tn_value ratio = imp_binary(c, &tn_op_divide, x, safe);
    tn_value exact = imp_binary(c, &tn_op_multiply, plain, ratio); /* Kahan: log(u) x / (u - 1) */
    exact = imp_choose(c, lost, x, exact);
    return imp_choose(c, far, plain, exact);
}

static void log1p_(imp_node *c) { imp_out(c, 0, log1p_of(c, imp_in(c, 0))); }

/* x * log(y), 0 where x is 0. */
static void x_log(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    tn_value zero = tf_number(c, x, 0);
    tn_value l = strcmp(c->row->op, "Xlogy") == 0 ? imp_unary(c, &tn_op_log, y) : log1p_of(c, y);
    tn_value none = imp_binary(c, &tn_op_equal, x, zero);
    tn_value product = imp_binary(c, &tn_op_multiply, x, l);
    imp_out(c, 0, imp_choose(c, none, zero, product));
}

/* ---- functions made of others ---- */

/* Below 0 as nn.elu has it, above from there: exp(x) (1 - exp(-x)). */
static void expm1_(imp_node *c) { imp_out(c, 0, imp_expm1(c, imp_in(c, 0))); }

static void square(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, x, x));
}

static void squared_difference(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    tn_value d = imp_binary(c, &tn_op_subtract, x, y);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, d, d));
}

static void reciprocal(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_divide, tf_number(c, x, 1), x));
}

static void erfc_(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_value e = imp_unary(c, &tn_op_erf, x);
    imp_out(c, 0, imp_binary(c, &tn_op_subtract, tf_number(c, x, 1), e));
}

tn_value tf_atan2(imp_node *c, tn_value y, tn_value x)
{
    const double pi = 3.14159265358979323846;
    tn_value zero = tf_number(c, x, 0);
    tn_value angle = imp_unary(c, &tn_op_atan, imp_binary(c, &tn_op_divide, y, x));
    tn_value up = imp_binary(c, &tn_op_add, angle, tf_number(c, x, pi));
    tn_value down = imp_binary(c, &tn_op_subtract, angle, tf_number(c, x, pi));
    tn_value above = imp_binary(c, &tn_op_greater_equal, y, zero);
    tn_value left = imp_choose(c, above, up, down);
    tn_value sign = imp_unary(c, &tn_op_sign, y);
    tn_value steep = imp_binary(c, &tn_op_multiply, sign, tf_number(c, x, pi / 2));
    tn_value is_left = imp_binary(c, &tn_op_less, x, zero);
    tn_value is_right = imp_binary(c, &tn_op_greater, x, zero);
    tn_value rest = imp_choose(c, is_left, left, steep);
    return imp_choose(c, is_right, angle, rest);
}

static void atan2_(imp_node *c)
{
    tn_value y = imp_in(c, 0), x = imp_in(c, 1);
    imp_out(c, 0, tf_atan2(c, y, x));
}

static void clip(imp_node *c, double low, double high)
{
    tn_clip_attr a = {low, high};
    imp_out(c, 0, imp_call1(c, &tn_op_clip, &a, imp_in(c, 0)));
}

static void relu6(imp_node *c) { clip(c, 0, 6); }

static void clip_by_value(imp_node *c)
{
    tn_value x = imp_in(c, 0), low = imp_in(c, 1), high = imp_in(c, 2);
    tn_clip_attr a = {0, 0};
    if (tn_dtype_is_float(imp_type(x)->dtype) && imp_scalar(c, low, &a.a_min) &&
        imp_scalar(c, high, &a.a_max) && !imp_rank(low) && !imp_rank(high) && a.a_min <= a.a_max)
        imp_out(c, 0, imp_call1(c, &tn_op_clip, &a, x));
    else
        imp_out(c, 0, imp_binary(c, &tn_op_maximum, imp_binary(c, &tn_op_minimum, x, high), low));
}

static void with_alpha(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "alpha", c->row->relay == &tn_op_nn_elu ? 1 : 0.2f)};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

static void selu(imp_node *c)
{
    tn_selu_attr a;
    if (tn_attr_init(c->pool, tn_op_nn_selu.attr, sizeof a, &a) == TN_OK)
        imp_out(c, 0, imp_call1(c, &tn_op_nn_selu, &a, imp_in(c, 0)));
}

static void l2_loss(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_value sum = tf_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, x), (tn_ints){0}, false);
    imp_out(c, 0, imp_binary(c, &tn_op_multiply, sum, tf_number(c, x, 0.5)));
}

/* The base's type; small whole exponents are products. */
static void power(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    double n;
    if (imp_scalar(c, y, &n) && imp_rank(y) <= imp_rank(x) && (n == 1 || n == 2 || n == 3)) {
        tn_value p = x;
        for (int i = 1; i < (int)n; i++)
            p = imp_binary(c, &tn_op_multiply, p, x);
        imp_out(c, 0, p);
        return;
    }
    imp_out(c, 0, imp_binary(c, &tn_op_power, x, y));
}

/* ---- comparisons, choice, conversion ---- */

/* Near enough: |x - y| < tolerance. */
static void approximate_equal(imp_node *c)
{
    tn_value x = imp_in(c, 0), y = imp_in(c, 1);
    double by = imp_attr_float(c, "tolerance", 1e-5f);
    tn_value d = imp_unary(c, &tn_op_abs, imp_binary(c, &tn_op_subtract, x, y));
    imp_out(c, 0, imp_binary(c, &tn_op_less_equal, d, tf_number(c, x, by)));
}

/* Select: a list of conditions is for the first dimension. */
static void choose(imp_node *c)
{
    tn_value condition = imp_in(c, 0), x = imp_in(c, 1), y = imp_in(c, 2);
    tn_expand_dims_attr e = {1, imp_rank(x) - 1};
    if (strcmp(c->row->op, "Select") == 0 && imp_rank(condition) == 1 && imp_rank(x) > 1)
        condition = imp_call1(c, &tn_op_expand_dims, &e, condition);
    imp_out(c, 0, imp_choose(c, condition, x, y));
}

static void cast(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "DstT");
    imp_attr_ignore(c, "Truncate");
    tn_dtype t = tf_attr_dtype(c, "DstT", TN_F32);
    imp_out(c, 0, imp_cast(c, x, t));
}

static void bitcast(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_out(c, 0, imp_bitcast(c, x, tf_attr_dtype(c, "type", TN_F32)));
}

/* ---- reductions ---- */

tn_ints tf_axes_in(imp_node *c, uint32_t i, int rank)
{
    tn_ints a = imp_ints_in(c, imp_in(c, i), "the axes");
    int64_t *at = TN_NEW_N(c->arena, int64_t, a.n);
    for (uint32_t k = 0; k < a.n && !c->bad; k++)
        at[k] = imp_axis(c, a.at[k], rank);
    return (tn_ints){a.n, at};
}

tn_value tf_reduce(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep)
{
    tn_axes_attr a = {axes, keep, false};
    return imp_call1(c, op, &a, x);
}

/* Means of integers are rounded towards zero; bools are reduced as 0 and 1. No axes: nothing is reduced. */
static void reduce(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    bool keep = imp_attr_int(c, "keep_dims", 0) != 0;
    tn_ints axes = tf_axes_in(c, 1, imp_rank(x));
    if (c->bad || axes.n == 0) {
        imp_out(c, 0, x);
        return;
    }
    tn_value v = tn_dtype_is_bool(t) ? imp_cast(c, x, TN_U8) : x;
    imp_out(c, 0, imp_cast(c, tf_reduce(c, c->row->relay, v, axes, keep), t));
}

static void euclidean_norm(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    bool keep = imp_attr_int(c, "keep_dims", 0) != 0;
    tn_ints axes = tf_axes_in(c, 1, imp_rank(x));
    tn_value sum = axes.n ? tf_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, x), axes, keep)
                          : imp_binary(c, &tn_op_multiply, x, x);
    imp_out(c, 0, imp_unary(c, &tn_op_sqrt, sum));
}

static void arg(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_arg_attr a = {.axis = imp_has(c, 1) ? imp_int_in(c, imp_in(c, 1), "the axis") : 0,
                     .dtype = tf_attr_dtype(c, "output_type", TN_I64)};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, x));
}

static void scan(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    tn_scan_attr a = {.axis = imp_int_in(c, imp_in(c, 1), "the axis"),
                      .exclusive = imp_attr_int(c, "exclusive", 0) != 0,
                      .reverse = imp_attr_int(c, "reverse", 0) != 0};
    x = tn_dtype_is_small(t) ? imp_cast(c, x, TN_F32) : x;
    imp_out(c, 0, imp_cast(c, imp_call1(c, c->row->relay, &a, x), t));
}

static void softmax(imp_node *c)
{
    tn_axis_attr a = {-1};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

/* ---- matrices ---- */

/* The last two dimensions exchanged. */
static tn_value turned(imp_node *c, tn_value v, bool turn)
{
    int64_t perm[IMP_MAX_RANK];
    int rank = imp_rank(v);
    if (!turn || c->bad)
        return v;
    if (rank < 2) {
        imp_refuse(c, IMP_TOO_LARGE, "operand %s is no matrix; the model is damaged",
                   imp_type_text(c, imp_type(v)));
        return v;
    }
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return imp_transpose(c, v, rank, perm);
}

static tn_value product(imp_node *c, const char *turn_a, const char *turn_b)
{
    tn_value a = imp_in(c, 0), b = imp_in(c, 1);
    static const char *const notes[] = {"a_is_sparse", "b_is_sparse", "grad_a", "grad_b", "grad_x", "grad_y"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    if (imp_has_attr(c, "Tout")) { /* of BatchMatMulV3: sums of this type, also of narrower numbers */
        tn_dtype t = tf_attr_dtype(c, "Tout", TN_F32);
        a = imp_cast(c, a, t);
        b = imp_cast(c, b, t);
    }
    a = turned(c, a, imp_attr_int(c, turn_a, 0) != 0);
    b = turned(c, b, imp_attr_int(c, turn_b, 0) != 0);
    return imp_matmul(c, a, b, NULL);
}

static void matmul(imp_node *c) { imp_out(c, 0, product(c, "transpose_a", "transpose_b")); }
static void batch_matmul(imp_node *c) { imp_out(c, 0, product(c, "adj_x", "adj_y")); }

static void einsum(imp_node *c)
{
    imp_attr_need(c, "equation");
    imp_attr_ignore(c, "N");
    tn_einsum_attr a = {imp_attr_string(c, "equation", "")};
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = imp_in(c, i);
    imp_out(c, 0, imp_call(c, &tn_op_einsum, &a, (int)c->n_in, in));
}

/* ---- quantisation that is simulated ---- */

typedef struct range {
    tn_value low, high, step;
} range;

/* TensorFlow's rule: the range is moved so that 0 is one of its numbers. */
static range nudged(imp_node *c, tn_value min, tn_value max)
{
    double bits = (double)imp_attr_int(c, "num_bits", 8);
    double least = imp_attr_int(c, "narrow_range", 0) ? 1 : 0, most = exp2(bits) - 1;
    tn_value first = tf_number(c, min, least), last = tf_number(c, min, most);
    tn_value step = imp_binary(c, &tn_op_subtract, max, min);
    step = imp_binary(c, &tn_op_divide, step, tf_number(c, min, most - least));
    tn_value zero = imp_binary(c, &tn_op_subtract, first, imp_binary(c, &tn_op_divide, min, step));
    tn_value half = imp_binary(c, &tn_op_add, zero, tf_number(c, min, 0.5));
    tn_clip_attr within = {least, most};
    zero = imp_call1(c, &tn_op_clip, &within, imp_unary(c, &tn_op_floor, half));
    tn_value low = imp_binary(c, &tn_op_subtract, first, zero);
    tn_value high = imp_binary(c, &tn_op_subtract, last, zero);
    return (range){imp_binary(c, &tn_op_multiply, low, step), imp_binary(c, &tn_op_multiply, high, step),
                   step};
}

static void quantise(imp_node *c, tn_value x, tn_value min, tn_value max)
{
    range r = nudged(c, min, max);
    tn_value v = imp_binary(c, &tn_op_minimum, x, r.high);
    v = imp_binary(c, &tn_op_maximum, v, r.low);
    tn_value inverse = imp_binary(c, &tn_op_divide, tf_number(c, x, 1), r.step);
    v = imp_binary(c, &tn_op_multiply, imp_binary(c, &tn_op_subtract, v, r.low), inverse);
    v = imp_unary(c, &tn_op_floor, imp_binary(c, &tn_op_add, v, tf_number(c, x, 0.5)));
    v = imp_binary(c, &tn_op_multiply, v, r.step);
    imp_out(c, 0, imp_binary(c, &tn_op_add, v, r.low));
}

static void fake_quant(imp_node *c)
{
    tn_value x = imp_in(c, 0), min = imp_in(c, 1), max = imp_in(c, 2);
    quantise(c, x, min, max);
}

static void fake_quant_args(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_value min = tf_number(c, x, imp_attr_float(c, "min", -6));
    tn_value max = tf_number(c, x, imp_attr_float(c, "max", 6));
    quantise(c, x, min, max);
}

// clang-format off
const imp_row tf_rows_math[] = {
    {"Abs",               1, 0,  1, 1, unary,              &tn_op_abs},
    {"Acos",              1, 0,  1, 1, unary,              &tn_op_acos},
    {"Acosh",             1, 0,  1, 1, unary,              &tn_op_acosh},
    {"Add",               1, 0,  2, 1, binary,             &tn_op_add},
    {"AddV2",             1, 0,  2, 1, binary,             &tn_op_add},
    {"AddN",              1, 0, -1, 1, variadic,           &tn_op_add},
    {"AccumulateNV2",     1, 0, -1, 1, variadic,           &tn_op_add},
    {"All",               1, 0,  2, 1, reduce,             &tn_op_min},
    {"Any",               1, 0,  2, 1, reduce,             &tn_op_max},
    {"ApproximateEqual",  1, 0,  2, 1, approximate_equal,  NULL},
    {"ArgMax",            1, 0,  2, 1, arg,                &tn_op_argmax},
    {"ArgMin",            1, 0,  2, 1, arg,                &tn_op_argmin},
    {"Asin",              1, 0,  1, 1, unary,              &tn_op_asin},
    {"Asinh",             1, 0,  1, 1, unary,              &tn_op_asinh},
    {"Atan",              1, 0,  1, 1, unary,              &tn_op_atan},
    {"Atan2",             1, 0,  2, 1, atan2_,             NULL},
    {"Atanh",             1, 0,  1, 1, unary,              &tn_op_atanh},
    {"BatchMatMul",       1, 0,  2, 1, batch_matmul,       NULL},
    {"BatchMatMulV2",     1, 0,  2, 1, batch_matmul,       NULL},
    {"BatchMatMulV3",     1, 0,  2, 1, batch_matmul,       NULL},
    {"Bitcast",           1, 0,  1, 1, bitcast,            NULL},
    {"BitwiseAnd",        1, 0,  2, 1, binary,             &tn_op_bitwise_and},
    {"BitwiseOr",         1, 0,  2, 1, binary,             &tn_op_bitwise_or},
    {"BitwiseXor",        1, 0,  2, 1, binary,             &tn_op_bitwise_xor},
    {"Cast",              1, 0,  1, 1, cast,               NULL},
    {"Ceil",              1, 0,  1, 1, unary,              &tn_op_ceil},
    {"ClipByValue",       1, 0,  3, 1, clip_by_value,      NULL},
    {"Cos",               1, 0,  1, 1, unary,              &tn_op_cos},
    {"Cosh",              1, 0,  1, 1, unary,              &tn_op_cosh},
    {"Cumprod",           1, 0,  2, 1, scan,               &tn_op_cumprod},
    {"Cumsum",            1, 0,  2, 1, scan,               &tn_op_cumsum},
    {"Div",               1, 0,  2, 1, divide,             NULL},
    {"DivNoNan",          1, 0,  2, 1, no_nan,             &tn_op_divide},
    {"Einsum",            1, 0, -1, 1, einsum,             NULL},
    {"Elu",               1, 0,  1, 1, with_alpha,         &tn_op_nn_elu},
    {"Equal",             1, 0,  2, 1, binary,             &tn_op_equal},
    {"Erf",               1, 0,  1, 1, unary,              &tn_op_erf},
    {"Erfc",              1, 0,  1, 1, erfc_,              NULL},
    {"EuclideanNorm",     1, 0,  2, 1, euclidean_norm,     NULL},
    {"Exp",               1, 0,  1, 1, unary,              &tn_op_exp},
    {"Expm1",             1, 0,  1, 1, expm1_,             NULL},
    {"FakeQuantWithMinMaxArgs", 1, 0, 1, 1, fake_quant_args, NULL},
    {"FakeQuantWithMinMaxVars", 1, 0, 3, 1, fake_quant,    NULL},
    {"FakeQuantWithMinMaxVarsPerChannel", 1, 0, 3, 1, fake_quant, NULL},
    {"Floor",             1, 0,  1, 1, unary,              &tn_op_floor},
    {"FloorDiv",          1, 0,  2, 1, floor_divide,       NULL},
    {"FloorMod",          1, 0,  2, 1, binary,             &tn_op_floor_mod},
    {"Greater",           1, 0,  2, 1, binary,             &tn_op_greater},
    {"GreaterEqual",      1, 0,  2, 1, binary,             &tn_op_greater_equal},
    {"Inv",               1, 0,  1, 1, reciprocal,         NULL},
    {"Invert",            1, 0,  1, 1, unary,              &tn_op_bitwise_not},
    {"IsFinite",          1, 0,  1, 1, unary,              &tn_op_isfinite},
    {"IsInf",             1, 0,  1, 1, unary,              &tn_op_isinf},
    {"IsNan",             1, 0,  1, 1, unary,              &tn_op_isnan},
    {"L2Loss",            1, 0,  1, 1, l2_loss,            NULL},
    {"LeakyRelu",         1, 0,  1, 1, with_alpha,         &tn_op_nn_leaky_relu},
    {"LeftShift",         1, 0,  2, 1, binary,             &tn_op_left_shift},
    {"Less",              1, 0,  2, 1, binary,             &tn_op_less},
    {"LessEqual",         1, 0,  2, 1, binary,             &tn_op_less_equal},
    {"Log",               1, 0,  1, 1, unary,              &tn_op_log},
    {"Log1p",             1, 0,  1, 1, log1p_,             NULL},
    {"LogicalAnd",        1, 0,  2, 1, binary,             &tn_op_logical_and},
    {"LogicalNot",        1, 0,  1, 1, unary,              &tn_op_logical_not},
    {"LogicalOr",         1, 0,  2, 1, binary,             &tn_op_logical_or},
    {"LogSoftmax",        1, 0,  1, 1, softmax,            &tn_op_nn_log_softmax},
    {"MatMul",            1, 0,  2, 1, matmul,             NULL},
    {"Max",               1, 0,  2, 1, reduce,             &tn_op_max},
    {"Maximum",           1, 0,  2, 1, binary,             &tn_op_maximum},
    {"Mean",              1, 0,  2, 1, reduce,             &tn_op_mean},
    {"Min",               1, 0,  2, 1, reduce,             &tn_op_min},
    {"Minimum",           1, 0,  2, 1, binary,             &tn_op_minimum},
    {"Mod",               1, 0,  2, 1, binary,             &tn_op_mod},
    {"Mul",               1, 0,  2, 1, binary,             &tn_op_multiply},
    {"MulNoNan",          1, 0,  2, 1, no_nan,             &tn_op_multiply},
    {"Neg",               1, 0,  1, 1, unary,              &tn_op_negative},
    {"NotEqual",          1, 0,  2, 1, binary,             &tn_op_not_equal},
    {"Pow",               1, 0,  2, 1, power,              NULL},
    {"Prod",              1, 0,  2, 1, reduce,             &tn_op_prod},
    {"RealDiv",           1, 0,  2, 1, binary,             &tn_op_divide},
    {"Reciprocal",        1, 0,  1, 1, reciprocal,         NULL},
    {"Relu",              1, 0,  1, 1, unary,              &tn_op_nn_relu},
    {"Relu6",             1, 0,  1, 1, relu6,              NULL},
    {"RightShift",        1, 0,  2, 1, binary,             &tn_op_right_shift},
    {"Rint",              1, 0,  1, 1, unary,              &tn_op_round},
    {"Round",             1, 0,  1, 1, unary,              &tn_op_round},
    {"Rsqrt",             1, 0,  1, 1, unary,              &tn_op_rsqrt},
    {"Select",            1, 0,  3, 1, choose,             NULL},
    {"SelectV2",          1, 0,  3, 1, choose,             NULL},
    {"Selu",              1, 0,  1, 1, selu,               NULL},
    {"Sigmoid",           1, 0,  1, 1, unary,              &tn_op_sigmoid},
    {"Sign",              1, 0,  1, 1, unary,              &tn_op_sign},
    {"Sin",               1, 0,  1, 1, unary,              &tn_op_sin},
    {"Sinh",              1, 0,  1, 1, unary,              &tn_op_sinh},
    {"Softmax",           1, 0,  1, 1, softmax,            &tn_op_nn_softmax},
    {"Softplus",          1, 0,  1, 1, unary,              &tn_op_nn_softplus},
    {"Softsign",          1, 0,  1, 1, unary,              &tn_op_nn_softsign},
    {"Sqrt",              1, 0,  1, 1, unary,              &tn_op_sqrt},
    {"Square",            1, 0,  1, 1, square,             NULL},
    {"SquaredDifference", 1, 0,  2, 1, squared_difference, NULL},
    {"Sub",               1, 0,  2, 1, binary,             &tn_op_subtract},
    {"Sum",               1, 0,  2, 1, reduce,             &tn_op_sum},
    {"Tan",               1, 0,  1, 1, unary,              &tn_op_tan},
    {"Tanh",              1, 0,  1, 1, unary,              &tn_op_tanh},
    {"TruncateDiv",       1, 0,  2, 1, divide,             NULL},
    {"TruncateMod",       1, 0,  2, 1, binary,             &tn_op_mod},
    {"Xdivy",             1, 0,  2, 1, xdivy,              NULL},
    {"Xlog1py",           1, 0,  2, 1, x_log,              NULL},
    {"Xlogy",             1, 0,  2, 1, x_log,              NULL},
    {0},
};
// clang-format on
