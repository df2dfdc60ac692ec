/* Arithmetic of elements, comparisons, conversions, activations, products of matrices. */
#include "frontend/paddle/paddle.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- one operand ---- */

static void unary(imp_node *c) { pd_out(c, "Out", imp_unary(c, c->row->relay, pd_in(c, "X"))); }
static void real_unary(imp_node *c)
{
    pd_out(c, "Out", imp_unary(c, c->row->relay, pd_real(c, pd_in(c, "X"))));
}

static tn_value product(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_multiply, a, b); }
static tn_value sum(imp_node *c, tn_value a, tn_value b) { return imp_binary(c, &tn_op_add, a, b); }
static tn_value difference(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, &tn_op_subtract, a, b);
}

static void square(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    pd_out(c, "Out", product(c, x, x));
}

static void reciprocal(imp_node *c)
{
    tn_value x = pd_real(c, pd_in(c, "X"));
    pd_out(c, "Out", imp_binary(c, &tn_op_divide, pd_number(c, x, 1), x));
}

static void logarithm(imp_node *c)
{
    bool ten = strcmp(c->row->op, "log10") == 0;
    tn_value l = imp_unary(c, &tn_op_log, pd_real(c, pd_in(c, "X")));
    pd_out(c, "Out", imp_with(c, &tn_op_multiply, l, ten ? 0.43429448190325182765 : 1.4426950408889634074));
}

/* log(u) x / (u - 1) for u = 1 + x, which is exact near 0 (Kahan) */
static void log1p_(imp_node *c)
{
    tn_value x = pd_real(c, pd_in(c, "X")), one = pd_number(c, x, 1);
    tn_value u = sum(c, x, one), near = difference(c, u, one), plain = imp_unary(c, &tn_op_log, u);
    tn_value lost = imp_binary(c, &tn_op_equal, near, pd_number(c, x, 0)),
             far = imp_unary(c, &tn_op_isinf, u);
    tn_value ratio = imp_binary(c, &tn_op_divide, x, imp_choose(c, lost, one, near));
    tn_value exact = imp_choose(c, lost, x, product(c, plain, ratio));
    pd_out(c, "Out", imp_choose(c, far, plain, exact));
}

/* Below 0 as nn.elu has it, above exp(x) (1 - exp(-x)). */
static void expm1_(imp_node *c) { pd_out(c, "Out", imp_expm1(c, pd_real(c, pd_in(c, "X")))); }

/* To the nearest integer, halves away from 0. */
static void round_(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    if (imp_attr_int(c, "decimals", 0) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "attribute decimals must be 0");
    if (tn_dtype_is_float(imp_type(x)->dtype)) {
        tn_value up = imp_unary(c, &tn_op_trunc, x), rest = imp_unary(c, &tn_op_abs, difference(c, x, up));
        tn_value half = imp_binary(c, &tn_op_greater_equal, rest, pd_number(c, x, 0.5));
        x = imp_choose(c, half, sum(c, up, imp_unary(c, &tn_op_sign, x)), up);
    }
    pd_out(c, "Out", x);
}

static void logit(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    double e = imp_attr_float(c, "eps", 1e-6f);
    if (e > 0)
        x = imp_clip(c, x, e, 1 - e);
    tn_value rest = difference(c, pd_number(c, x, 1), x);
    pd_out(c, "Out", imp_unary(c, &tn_op_log, imp_binary(c, &tn_op_divide, x, rest)));
}

/* ---- activations ---- */

static void with_alpha(imp_node *c, const char *name, float def)
{
    tn_alpha_attr a = {imp_attr_float(c, name, def)};
    pd_out(c, "Out", imp_call1(c, c->row->relay, &a, pd_in(c, "X")));
}

static void leaky_relu(imp_node *c) { with_alpha(c, "alpha", 0.02f); }
static void elu(imp_node *c) { with_alpha(c, "alpha", 1); }

static void thresholded_relu(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_alpha_attr a = {imp_attr_float(c, "threshold", 1)};
    double rest = imp_attr_float(c, "value", 0);
    tn_value above = imp_binary(c, &tn_op_greater, x, pd_number(c, x, a.alpha));
    pd_out(c, "Out",
           rest == 0 ? imp_call1(c, &tn_op_nn_thresholded_relu, &a, x)
                     : imp_choose(c, above, x, pd_number(c, x, rest)));
}

static void selu(imp_node *c)
{
    tn_selu_attr a = {imp_attr_float(c, "alpha", 1.67326319217681884765625f),
                      imp_attr_float(c, "scale", 1.05070102214813232421875f)};
    pd_out(c, "Out", imp_call1(c, &tn_op_nn_selu, &a, pd_in(c, "X")));
}

static void relu6(imp_node *c)
{
    double most = imp_attr_float(c, "threshold", 6);
    pd_out(c, "Out", imp_clip(c, pd_in(c, "X"), 0, most));
}

static void brelu(imp_node *c)
{
    double least = imp_attr_float(c, "t_min", 0), most = imp_attr_float(c, "t_max", 24);
    pd_out(c, "Out", imp_clip(c, pd_in(c, "X"), least, most));
}

static void hard_sigmoid(imp_node *c)
{
    tn_alphabeta_attr a = {imp_attr_float(c, "slope", 0.2f), imp_attr_float(c, "offset", 0.5f)};
    pd_out(c, "Out", imp_call1(c, &tn_op_nn_hard_sigmoid, &a, pd_in(c, "X")));
}

/* x * min(max(x + offset, 0), threshold) / scale */
static void hard_swish(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    double threshold = imp_attr_float(c, "threshold", 6), scale = imp_attr_float(c, "scale", 6),
           offset = imp_attr_float(c, "offset", 3);
    tn_value gate = imp_clip(c, imp_with(c, &tn_op_add, x, offset), 0, threshold);
    pd_out(c, "Out",
           threshold == 6 && scale == 6 && offset == 3
               ? imp_unary(c, &tn_op_nn_hardswish, x)
               : product(c, x, imp_with(c, &tn_op_divide, gate, scale)));
}

static void swish(imp_node *c)
{
    tn_alpha_attr a = {imp_attr_float(c, "beta", 1)};
    pd_out(c, "Out", imp_call1(c, &tn_op_nn_swish, &a, pd_in(c, "X")));
}

static void gelu(imp_node *c)
{
    bool near = pd_bool(c, "approximate", false);
    pd_out(c, "Out", imp_unary(c, near ? &tn_op_nn_gelu_tanh : &tn_op_nn_gelu, pd_in(c, "X")));
}

/* log(1 + exp(beta x)) / beta, x itself beyond the threshold */
static void softplus(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    double beta = imp_attr_float(c, "beta", 1), threshold = imp_attr_float(c, "threshold", 20);
    tn_value scaled = beta == 1 ? x : imp_with(c, &tn_op_multiply, x, beta);
    tn_value y = imp_unary(c, &tn_op_nn_softplus, scaled);
    y = beta == 1 ? y : imp_with(c, &tn_op_divide, y, beta);
    pd_out(c, "Out", imp_choose(c, imp_binary(c, &tn_op_greater, scaled, pd_number(c, x, threshold)), x, y));
}

static void shrink(imp_node *c)
{
    bool soft = strcmp(c->row->op, "softshrink") == 0;
    double by = imp_attr_float(c, soft ? "lambda" : "threshold", 0.5f);
    tn_shrink_attr a = {by, soft ? by : 0};
    pd_out(c, "Out", imp_call1(c, &tn_op_nn_shrink, &a, pd_in(c, "X")));
}

static void tanh_shrink(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    pd_out(c, "Out", difference(c, x, imp_unary(c, &tn_op_tanh, x)));
}

static void stanh(imp_node *c)
{
    double a = imp_attr_float(c, "scale_a", 0.67f), b = imp_attr_float(c, "scale_b", 1.7159f);
    tn_value inner = imp_with(c, &tn_op_multiply, pd_in(c, "X"), a);
    pd_out(c, "Out", imp_with(c, &tn_op_multiply, imp_unary(c, &tn_op_tanh, inner), b));
}

static void logsigmoid(imp_node *c)
{
    tn_value back = imp_unary(c, &tn_op_nn_softplus, imp_unary(c, &tn_op_negative, pd_in(c, "X")));
    pd_out(c, "Out", imp_unary(c, &tn_op_negative, back));
}

static void mish(imp_node *c)
{
    imp_attr_ignore(c, "threshold"); /* beyond it the result is the same */
    unary(c);
}

/* One slope, one a channel, or one an element. */
static void prelu(imp_node *c)
{
    tn_value x = pd_in(c, "X"), alpha = pd_in(c, "Alpha");
    const char *mode = imp_attr_string(c, "mode", "all");
    bool last = pd_is_last(c, "data_format");
    int rank = imp_rank(x);
    if (!c->bad && strcmp(mode, "channel") == 0 && rank > 1)
        alpha = imp_along(c, alpha, last ? rank - 1 : 1, rank);
    else if (!c->bad && strcmp(mode, "element") == 0)
        alpha = imp_rank(alpha) == rank ? alpha : imp_unsqueeze(c, alpha, 0);
    else if (!c->bad)
        alpha = imp_reshape(c, alpha, 0, NULL);
    pd_out(c, "Out", imp_binary(c, &tn_op_nn_prelu, x, alpha));
}

/* The largest of groups of neighbouring channels. */
static void maxout(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    int64_t groups = imp_attr_int(c, "groups", 1), n = 0;
    int axis = imp_axis(c, imp_attr_int(c, "axis", 1), imp_rank(x));
    const tn_expr *dim[IMP_MAX_RANK + 1];
    int rank = imp_rank(x);
    if (!c->bad &&
        (!tn_is_int(imp_type(x)->dim[axis], &n) || groups < 1 || n % groups || rank >= IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "the channels are not split into groups of %lld", (long long)groups);
    if (c->bad)
        return;
    for (int i = 0; i < rank; i++)
        dim[i < axis ? i : i + 1] = imp_type(x)->dim[i];
    dim[axis] = tn_idx(c->pool, n / groups);
    dim[axis + 1] = tn_idx(c->pool, groups);
    pd_out(c, "Out", imp_reduce(c, &tn_op_max, imp_reshape(c, x, rank + 1, dim), axis + 1));
}

/* ---- several operands ---- */

/* The wider of two types, as Paddle promotes. */
static tn_dtype wider(tn_dtype a, tn_dtype b)
{
    bool real = tn_dtype_is_float(a), other = tn_dtype_is_float(b);
    if (real != other)
        return real ? a : b;
    if (tn_dtype_is_bool(a))
        return b;
    return tn_dtype_is_bool(b) || a.bits >= b.bits ? a : b;
}

/* y with ones behind, so that its first dimension is dimension `axis` of x. */
static tn_value aligned(imp_node *c, tn_value x, tn_value y, int64_t axis)
{
    int more = 0, rank = imp_rank(x), own = imp_rank(y);
    if (axis >= 0 && own <= rank && axis + own <= rank)
        more = rank - own - (int)axis;
    tn_expand_dims_attr e = {own, more};
    return more && !c->bad ? imp_call1(c, &tn_op_expand_dims, &e, y) : y;
}

static tn_value element_binary(imp_node *c, const tn_op *op)
{
    tn_value x = pd_in(c, "X"), y = pd_in(c, "Y");
    tn_dtype t = wider(imp_type(x)->dtype, imp_type(y)->dtype);
    y = aligned(c, x, y, imp_attr_int(c, "axis", -1));
    x = imp_cast(c, x, t);
    return imp_binary(c, op, x, imp_cast(c, y, t));
}

static void binary(imp_node *c) { pd_out(c, "Out", element_binary(c, c->row->relay)); }

/* Quotients of integers are real numbers in JSON, and cut off towards 0 before. */
static void divide(imp_node *c)
{
    bool whole =
        tn_dtype_is_int(imp_type(pd_in(c, "X"))->dtype) && tn_dtype_is_int(imp_type(pd_in(c, "Y"))->dtype);
    pd_out(c, "Out", element_binary(c, whole ? &tn_op_trunc_divide : &tn_op_divide));
}

static void true_divide(imp_node *c)
{
    tn_value x = pd_real(c, pd_in(c, "X")), y = pd_real(c, pd_in(c, "Y"));
    tn_dtype t = wider(imp_type(x)->dtype, imp_type(y)->dtype);
    x = imp_cast(c, x, t);
    pd_out(c, "Out", imp_binary(c, &tn_op_divide, x, imp_cast(c, y, t)));
}

static void floor_divide(imp_node *c)
{
    bool whole = tn_dtype_is_int(imp_type(pd_in(c, "X"))->dtype);
    pd_out(c, "Out", element_binary(c, whole ? &tn_op_divide : &tn_op_floor_divide));
}

/* fmax, fmin: of a number and NaN the number */
static void but_nan(imp_node *c)
{
    tn_value x = pd_in(c, "X"), y = pd_in(c, "Y");
    tn_value y_odd = imp_unary(c, &tn_op_isnan, y), x_odd = imp_unary(c, &tn_op_isnan, x);
    tn_value both = imp_binary(c, c->row->relay, x, y);
    if (tn_dtype_is_float(imp_type(x)->dtype))
        both = imp_choose(c, x_odd, y, imp_choose(c, y_odd, x, both));
    pd_out(c, "Out", both);
}

static void logical(imp_node *c)
{
    tn_value x = imp_cast(c, pd_in(c, "X"), TN_BOOL1), y = imp_cast(c, pd_in(c, "Y"), TN_BOOL1);
    pd_out(c, "Out", imp_binary(c, c->row->relay, x, y));
}

static void logical_not(imp_node *c)
{
    pd_out(c, "Out", imp_unary(c, &tn_op_logical_not, imp_cast(c, pd_in(c, "X"), TN_BOOL1)));
}

static void bitwise(imp_node *c)
{
    static const tn_op *const of_bools[] = {&tn_op_logical_and, &tn_op_logical_or, &tn_op_logical_xor};
    static const tn_op *const of_ints[] = {&tn_op_bitwise_and, &tn_op_bitwise_or, &tn_op_bitwise_xor};
    const tn_op *op = c->row->relay;
    tn_value x = pd_in(c, "X"), y = pd_in(c, "Y");
    for (int i = 0; i < 3 && tn_dtype_is_bool(imp_type(x)->dtype); i++)
        op = op == of_ints[i] ? of_bools[i] : op;
    pd_out(c, "Out", imp_binary(c, op, x, y));
}

static void bitwise_not(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    bool truth = tn_dtype_is_bool(imp_type(x)->dtype);
    pd_out(c, "Out", imp_unary(c, truth ? &tn_op_logical_not : &tn_op_bitwise_not, x));
}

static void add_all(imp_node *c)
{
    uint32_t n = pd_count(c, "X");
    tn_value v = pd_at(c, "X", 0);
    for (uint32_t i = 1; i < n; i++)
        v = sum(c, v, pd_at(c, "X", i));
    pd_out(c, "Out", v);
}

/* x * scale + bias, or (x + bias) * scale */
static void scale(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_dtype t = imp_type(x)->dtype;
    bool after = pd_bool(c, "bias_after_scale", true);
    double by = imp_attr_float(c, "scale", 1), more = imp_attr_float(c, "bias", 0);
    bool given = pd_count(c, "ScaleTensor") > 0;
    tn_value k = pd_scalar_in(c, "ScaleTensor", NULL, by, t),
             b = pd_scalar_in(c, "BiasTensor", NULL, more, t);
    if (pd_count(c, "ScaleTensor") == 0 && !tn_dtype_is_float(t))
        k = imp_const(c, t, trunc(by)), b = imp_const(c, t, trunc(more));
    bool plain = !given && by == 1, still = !pd_count(c, "BiasTensor") && more == 0;
    if (!after)
        x = still ? x : sum(c, x, b);
    x = plain ? x : product(c, x, k);
    if (after)
        x = still ? x : sum(c, x, b);
    pd_out(c, "Out", x);
}

static void increment(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    pd_out(c, "Out", imp_with(c, &tn_op_add, x, imp_attr_float(c, "step", 1)));
}

static void clip(imp_node *c)
{
    tn_value x = pd_in(c, "X");
    tn_dtype t = imp_type(x)->dtype;
    tn_value low = pd_scalar_in(c, "Min", "min", 0, t), high = pd_scalar_in(c, "Max", "max", 0, t);
    double least, most;
    if (tn_dtype_is_float(t) && imp_scalar(c, low, &least) && imp_scalar(c, high, &most))
        pd_out(c, "Out", imp_clip(c, x, least, most));
    else
        pd_out(c, "Out", imp_binary(c, &tn_op_minimum, imp_binary(c, &tn_op_maximum, x, low), high));
}

static void power(imp_node *c)
{
    tn_value x = pd_in(c, "X"), y = pd_scalar_in(c, "FactorTensor", "factor", 1, imp_type(x)->dtype);
    double n;
    if (imp_scalar(c, y, &n) && (n == 1 || n == 2 || n == 3)) {
        tn_value p = x;
        for (int i = 1; i < (int)n; i++)
            p = product(c, p, x);
        pd_out(c, "Out", p);
        return;
    }
    pd_out(c, "Out", imp_binary(c, &tn_op_power, x, y));
}

static void cast(imp_node *c)
{
    imp_attr_need(c, "out_dtype");
    pd_out(c, "Out", imp_cast(c, pd_in(c, "X"), pd_dtype(c, "out_dtype", TN_F32)));
}

static void where(imp_node *c)
{
    tn_value x = pd_in(c, "X"), y = pd_in(c, "Y");
    tn_dtype t = wider(imp_type(x)->dtype, imp_type(y)->dtype);
    tn_value condition = imp_cast(c, pd_in(c, "Condition"), TN_BOOL1);
    x = imp_cast(c, x, t);
    pd_out(c, "Out", imp_choose(c, condition, x, imp_cast(c, y, t)));
}

/* x + w (y - x) */
static void lerp(imp_node *c)
{
    tn_value x = pd_in(c, "X"), d = difference(c, pd_in(c, "Y"), x);
    pd_out(c, "Out", sum(c, x, product(c, pd_in(c, "Weight"), d)));
}

static void atan2_(imp_node *c)
{
    const double pi = 3.14159265358979323846;
    tn_value y = pd_in(c, "X1"), x = pd_in(c, "X2"), zero = pd_number(c, x, 0);
    tn_value angle = imp_unary(c, &tn_op_atan, imp_binary(c, &tn_op_divide, y, x));
    tn_value above = imp_binary(c, &tn_op_greater_equal, y, zero);
    tn_value up = imp_with(c, &tn_op_add, angle, pi), down = imp_with(c, &tn_op_subtract, angle, pi);
    tn_value left = imp_choose(c, above, up, down);
    tn_value steep = imp_with(c, &tn_op_multiply, imp_unary(c, &tn_op_sign, y), pi / 2);
    tn_value rest = imp_choose(c, imp_binary(c, &tn_op_less, x, zero), left, steep);
    pd_out(c, "Out", imp_choose(c, imp_binary(c, &tn_op_greater, x, zero), angle, rest));
}

/* ---- products of matrices ---- */

static tn_value turned(imp_node *c, tn_value v, bool turn)
{
    int64_t perm[IMP_MAX_RANK];
    int rank = imp_rank(v);
    if (!turn || c->bad || rank < 2) /* a vector is as it is */
        return v;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return imp_transpose(c, v, rank, perm);
}

static void matmul(imp_node *c)
{
    bool second = strcmp(c->row->op, "matmul_v2") == 0;
    bool tx = pd_bool(c, second ? "trans_x" : "transpose_X", false),
         ty = pd_bool(c, second ? "trans_y" : "transpose_Y", false);
    double alpha = second ? 1 : imp_attr_float(c, "alpha", 1);
    if (!second && imp_attr_int(c, "head_number", 1) > 1)
        imp_refuse(c, IMP_BAD_VALUE, "attribute head_number must be 1");
    tn_value x = turned(c, pd_in(c, "X"), tx), y = turned(c, pd_in(c, "Y"), ty);
    tn_value p = imp_matmul(c, x, y, NULL);
    pd_out(c, "Out", alpha == 1 ? p : imp_with(c, &tn_op_multiply, p, alpha));
}

static void plain_matmul(imp_node *c)
{
    tn_value y = pd_in(c, strcmp(c->row->op, "mv") == 0 ? "Vec" : "Y");
    pd_out(c, "Out", imp_matmul(c, pd_in(c, "X"), y, NULL));
}

/* Dimensions before a place are rows, those behind it columns. */
static void mul(imp_node *c)
{
    tn_value x = pd_in(c, "X"), y = pd_in(c, "Y");
    const tn_type *t = imp_type(x), *u = imp_type(y);
    int64_t rows = imp_attr_int(c, "x_num_col_dims", 1), inner = imp_attr_int(c, "y_num_col_dims", 1);
    const tn_expr *dim[2 * IMP_MAX_RANK];
    int n = 0;
    if (!c->bad &&
        (rows < 1 || rows >= t->n || inner < 1 || inner >= u->n || rows + u->n - inner > IMP_MAX_RANK))
        imp_refuse(c, IMP_BAD_VALUE, "operands %s and %s are not matrices of that form", imp_type_text(c, t),
                   imp_type_text(c, u));
    if (c->bad)
        return;
    for (int i = 0; i < rows; i++)
        dim[n++] = t->dim[i];
    for (int i = (int)inner; i < u->n; i++)
        dim[n++] = u->dim[i];
    tn_value left = imp_flatten(c, x, (int)rows), right = imp_flatten(c, y, (int)inner);
    tn_value p = imp_matmul(c, left, right, NULL);
    pd_out(c, "Out", n == 2 ? p : imp_reshape(c, p, n, dim));
}

static void dot(imp_node *c)
{
    tn_value p = product(c, pd_in(c, "X"), pd_in(c, "Y"));
    pd_out(c, "Out", imp_reduce(c, &tn_op_sum, p, imp_rank(p) - 1));
}

static void addmm(imp_node *c)
{
    tn_value x = pd_in(c, "Input"), p = imp_matmul(c, pd_in(c, "X"), pd_in(c, "Y"), NULL);
    double alpha = imp_attr_float(c, "Alpha", 1), beta = imp_attr_float(c, "Beta", 1);
    p = alpha == 1 ? p : imp_with(c, &tn_op_multiply, p, alpha);
    pd_out(c, "Out", sum(c, p, beta == 1 ? x : imp_with(c, &tn_op_multiply, x, beta)));
}

static void fc(imp_node *c)
{
    const char *act = imp_attr_string(c, "activation_type", "");
    int64_t rows = imp_attr_int(c, "in_num_col_dims", 1);
    tn_value x = pd_in(c, "Input"), w = pd_in(c, "W"), b = pd_opt(c, "Bias");
    const tn_type *t = imp_type(x);
    const tn_expr *dim[IMP_MAX_RANK];
    imp_attr_ignore(c, "padding_weights");
    if (!c->bad && (rows < 1 || rows >= t->n || imp_rank(w) != 2 || (*act && strcmp(act, "relu") != 0)))
        imp_refuse(c, IMP_BAD_VALUE, "it is of a form that is not supported");
    if (c->bad)
        return;
    for (int i = 0; i < rows; i++)
        dim[i] = t->dim[i];
    dim[rows] = imp_type(w)->dim[1];
    tn_value y = imp_matmul(c, imp_flatten(c, x, (int)rows), w, NULL);
    y = b.def ? sum(c, y, b) : y;
    y = *act ? imp_unary(c, &tn_op_nn_relu, y) : y;
    pd_out(c, "Out", rows == 1 ? y : imp_reshape(c, y, (int)rows + 1, dim));
}

// clang-format off
const imp_row pd_rows_element[] = {
    {"abs",                  1, 0, -1, -1, unary,            &tn_op_abs},
    {"acos",                 1, 0, -1, -1, real_unary,       &tn_op_acos},
    {"acosh",                1, 0, -1, -1, real_unary,       &tn_op_acosh},
    {"addmm",                1, 0, -1, -1, addmm,            NULL},
    {"asin",                 1, 0, -1, -1, real_unary,       &tn_op_asin},
    {"asinh",                1, 0, -1, -1, real_unary,       &tn_op_asinh},
    {"atan",                 1, 0, -1, -1, real_unary,       &tn_op_atan},
    {"atan2",                1, 0, -1, -1, atan2_,           NULL},
    {"atanh",                1, 0, -1, -1, real_unary,       &tn_op_atanh},
    {"bitwise_and",          1, 0, -1, -1, bitwise,          &tn_op_bitwise_and},
    {"bitwise_not",          1, 0, -1, -1, bitwise_not,      NULL},
    {"bitwise_or",           1, 0, -1, -1, bitwise,          &tn_op_bitwise_or},
    {"bitwise_xor",          1, 0, -1, -1, bitwise,          &tn_op_bitwise_xor},
    {"bmm",                  1, 0, -1, -1, plain_matmul,     NULL},
    {"brelu",                1, 0, -1, -1, brelu,            NULL},
    {"cast",                 1, 0, -1, -1, cast,             NULL},
    {"ceil",                 1, 0, -1, -1, unary,            &tn_op_ceil},
    {"celu",                 1, 0, -1, -1, elu,              &tn_op_nn_celu},
    {"clip",                 1, 0, -1, -1, clip,             NULL},
    {"cos",                  1, 0, -1, -1, real_unary,       &tn_op_cos},
    {"cosh",                 1, 0, -1, -1, real_unary,       &tn_op_cosh},
    {"dot",                  1, 0, -1, -1, dot,              NULL},
    {"elementwise_add",      1, 0, -1, -1, binary,           &tn_op_add},
    {"elementwise_div",      1, 0, -1, -1, divide,           NULL},
    {"elementwise_floordiv", 1, 0, -1, -1, floor_divide,     NULL},
    {"elementwise_fmax",     1, 0, -1, -1, but_nan,          &tn_op_maximum},
    {"elementwise_fmin",     1, 0, -1, -1, but_nan,          &tn_op_minimum},
    {"elementwise_max",      1, 0, -1, -1, binary,           &tn_op_maximum},
    {"elementwise_min",      1, 0, -1, -1, binary,           &tn_op_minimum},
    {"elementwise_mod",      1, 0, -1, -1, binary,           &tn_op_floor_mod},
    {"elementwise_mul",      1, 0, -1, -1, binary,           &tn_op_multiply},
    {"elementwise_pow",      1, 0, -1, -1, binary,           &tn_op_power},
    {"elementwise_prod",     1, 0, -1, -1, binary,           &tn_op_multiply},
    {"elementwise_sub",      1, 0, -1, -1, binary,           &tn_op_subtract},
    {"elu",                  1, 0, -1, -1, elu,              &tn_op_nn_elu},
    {"equal",                1, 0, -1, -1, binary,           &tn_op_equal},
    {"erf",                  1, 0, -1, -1, unary,            &tn_op_erf},
    {"exp",                  1, 0, -1, -1, real_unary,       &tn_op_exp},
    {"expm1",                1, 0, -1, -1, expm1_,           NULL},
    {"fc",                   1, 0, -1, -1, fc,               NULL},
    {"floor",                1, 0, -1, -1, unary,            &tn_op_floor},
    {"floor_mod",            1, 0, -1, -1, binary,           &tn_op_floor_mod},
    {"gelu",                 1, 0, -1, -1, gelu,             NULL},
    {"grad_add",             1, 0, -1, -1, binary,           &tn_op_add},
    {"greater_equal",        1, 0, -1, -1, binary,           &tn_op_greater_equal},
    {"greater_than",         1, 0, -1, -1, binary,           &tn_op_greater},
    {"hard_shrink",          1, 0, -1, -1, shrink,           NULL},
    {"hard_sigmoid",         1, 0, -1, -1, hard_sigmoid,     NULL},
    {"hard_swish",           1, 0, -1, -1, hard_swish,       NULL},
    {"increment",            1, 0, -1, -1, increment,        NULL},
    {"isfinite_v2",          1, 0, -1, -1, real_unary,       &tn_op_isfinite},
    {"isinf_v2",             1, 0, -1, -1, real_unary,       &tn_op_isinf},
    {"isnan_v2",             1, 0, -1, -1, real_unary,       &tn_op_isnan},
    {"leaky_relu",           1, 0, -1, -1, leaky_relu,       &tn_op_nn_leaky_relu},
    {"lerp",                 1, 0, -1, -1, lerp,             NULL},
    {"less_equal",           1, 0, -1, -1, binary,           &tn_op_less_equal},
    {"less_than",            1, 0, -1, -1, binary,           &tn_op_less},
    {"log",                  1, 0, -1, -1, real_unary,       &tn_op_log},
    {"log10",                1, 0, -1, -1, logarithm,        NULL},
    {"log1p",                1, 0, -1, -1, log1p_,           NULL},
    {"log2",                 1, 0, -1, -1, logarithm,        NULL},
    {"logical_and",          1, 0, -1, -1, logical,          &tn_op_logical_and},
    {"logical_not",          1, 0, -1, -1, logical_not,      NULL},
    {"logical_or",           1, 0, -1, -1, logical,          &tn_op_logical_or},
    {"logical_xor",          1, 0, -1, -1, logical,          &tn_op_logical_xor},
    {"logit",                1, 0, -1, -1, logit,            NULL},
    {"logsigmoid",           1, 0, -1, -1, logsigmoid,       NULL},
    {"matmul",               1, 0, -1, -1, matmul,           NULL},
    {"matmul_v2",            1, 0, -1, -1, matmul,           NULL},
    {"maxout",               1, 0, -1, -1, maxout,           NULL},
    {"minus",                1, 0, -1, -1, binary,           &tn_op_subtract},
    {"mish",                 1, 0, -1, -1, mish,             &tn_op_nn_mish},
    {"mul",                  1, 0, -1, -1, mul,              NULL},
    {"mv",                   1, 0, -1, -1, plain_matmul,     NULL},
    {"not_equal",            1, 0, -1, -1, binary,           &tn_op_not_equal},
    {"pir_divide",           1, 0, -1, -1, true_divide,      NULL},
    {"pow",                  1, 0, -1, -1, power,            NULL},
    {"prelu",                1, 0, -1, -1, prelu,            NULL},
    {"reciprocal",           1, 0, -1, -1, reciprocal,       NULL},
    {"relu",                 1, 0, -1, -1, unary,            &tn_op_nn_relu},
    {"relu6",                1, 0, -1, -1, relu6,            NULL},
    {"round",                1, 0, -1, -1, round_,           NULL},
    {"rsqrt",                1, 0, -1, -1, real_unary,       &tn_op_rsqrt},
    {"scale",                1, 0, -1, -1, scale,            NULL},
    {"selu",                 1, 0, -1, -1, selu,             NULL},
    {"sigmoid",              1, 0, -1, -1, real_unary,       &tn_op_sigmoid},
    {"sign",                 1, 0, -1, -1, unary,            &tn_op_sign},
    {"silu",                 1, 0, -1, -1, swish,            NULL},
    {"sin",                  1, 0, -1, -1, real_unary,       &tn_op_sin},
    {"sinh",                 1, 0, -1, -1, real_unary,       &tn_op_sinh},
    {"softplus",             1, 0, -1, -1, softplus,         NULL},
    {"softshrink",           1, 0, -1, -1, shrink,           NULL},
    {"softsign",             1, 0, -1, -1, unary,            &tn_op_nn_softsign},
    {"sqrt",                 1, 0, -1, -1, real_unary,       &tn_op_sqrt},
    {"square",               1, 0, -1, -1, square,           NULL},
    {"stanh",                1, 0, -1, -1, stanh,            NULL},
    {"sum",                  1, 0, -1, -1, add_all,          NULL},
    {"swish",                1, 0, -1, -1, swish,            NULL},
    {"tan",                  1, 0, -1, -1, real_unary,       &tn_op_tan},
    {"tanh",                 1, 0, -1, -1, real_unary,       &tn_op_tanh},
    {"tanh_shrink",          1, 0, -1, -1, tanh_shrink,      NULL},
    {"thresholded_relu",     1, 0, -1, -1, thresholded_relu, NULL},
    {"trunc",                1, 0, -1, -1, unary,            &tn_op_trunc},
    {"where",                1, 0, -1, -1, where,            NULL},
    {0},
};
// clang-format on
