/* Activations. */
#include "frontend/pytorch/ops.h"

#include "ir/eval.h"

#include <math.h>
#include <string.h>

static const tn_op *relay(imp_node *c) { return pt_of(c)->row->relay; }

static void plain(imp_node *c) { pt_out(c, imp_unary(c, relay(c), pt_float_in(c, 0))); }

static void relu(imp_node *c) { pt_out(c, imp_unary(c, &tn_op_nn_relu, pt_in(c, 0))); }

static void limited(imp_node *c, tn_value x, double low, double high)
{
    tn_clip_attr a = {low, high};
    pt_out(c, imp_call1(c, &tn_op_clip, &a, x));
}

static void relu6(imp_node *c)
{
    tn_value x = pt_in(c, 0), zero = pt_num(c, x, 0), six = pt_num(c, x, 6);
    if (tn_dtype_is_float(imp_type(x)->dtype))
        limited(c, x, 0, 6);
    else
        pt_out(c, pt_min(c, pt_max(c, x, zero), six));
}

static void hardtanh(imp_node *c)
{
    double least = pt_real(c, 1), most = pt_real(c, 2);
    tn_value x = pt_in(c, 0), low = pt_num(c, x, least), high = pt_num(c, x, most);
    if (tn_dtype_is_float(imp_type(x)->dtype))
        limited(c, x, least, most);
    else
        pt_out(c, pt_min(c, pt_max(c, x, low), high));
}

static void with_alpha(imp_node *c)
{
    tn_alpha_attr a = {pt_real(c, 1)};
    pt_out(c, imp_call1(c, relay(c), &a, pt_in(c, 0)));
}

static void elu(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    double alpha = pt_real(c, 1), scale = pt_real(c, 2), inner = pt_real(c, 3);
    tn_alpha_attr a = {1};
    tn_value zero = pt_num(c, x, 0);
    tn_value low = imp_call1(c, &tn_op_nn_elu, &a,
                             imp_binary(c, &tn_op_minimum, pt_mul(c, x, pt_num(c, x, inner)), zero));
    tn_value first = imp_binary(c, &tn_op_greater, x, zero);
    tn_value second = pt_mul(c, x, pt_num(c, x, scale));
    tn_value up = imp_choose(c, first, second, pt_mul(c, low, pt_num(c, x, alpha * scale)));
    if (scale == 1 && inner == 1) {
        a.alpha = alpha;
        up = imp_call1(c, &tn_op_nn_elu, &a, x);
    }
    pt_out(c, up);
}

static void selu(imp_node *c)
{
    tn_selu_attr a = {1.6732632423543772848170429916717, 1.0507009873554804934193349852946};
    pt_out(c, imp_call1(c, &tn_op_nn_selu, &a, pt_in(c, 0)));
}

static void gelu(imp_node *c)
{
    bool tanh = strcmp(pt_string(c, 1), "tanh") == 0;
    pt_out(c, imp_unary(c, tanh ? &tn_op_nn_gelu_tanh : &tn_op_nn_gelu, pt_in(c, 0)));
}

static void silu(imp_node *c)
{
    tn_alpha_attr a = {1};
    pt_out(c, imp_call1(c, &tn_op_nn_swish, &a, pt_in(c, 0)));
}

static void softplus(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    double beta = pt_real(c, 1), threshold = pt_real(c, 2);
    tn_value t = pt_mul(c, x, pt_num(c, x, beta));
    tn_value first = imp_unary(c, &tn_op_nn_softplus, t);
    tn_value y = pt_div(c, first, pt_num(c, x, beta));
    pt_out(c, imp_choose(c, imp_binary(c, &tn_op_greater, t, pt_num(c, x, threshold)), x, y));
}

static void hardsigmoid(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_clip_attr a = {0, 6};
    tn_value y = imp_call1(c, &tn_op_clip, &a, pt_add(c, x, pt_num(c, x, 3)));
    pt_out(c, pt_div(c, y, pt_num(c, x, 6)));
}

static void shrink(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    double l = pt_real(c, 1);
    if (x.def && tn_dtype_is_small(imp_type(x)->dtype))
        l = tn_eval_cast(TN_F64, imp_type(x)->dtype, (tn_scalar){.f = l}).f;
    tn_shrink_attr a = {l, pt_starts(c, "soft") ? l : 0};
    tn_value y = imp_call1(c, &tn_op_nn_shrink, &a, x);
    pt_out(c, imp_choose(c, imp_unary(c, &tn_op_isnan, x), x, y));
}

static void threshold(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_value below = imp_binary(c, &tn_op_less_equal, x, pt_as(c, pt_arg(c, 1), imp_type(x)->dtype));
    pt_out(c, imp_choose(c, below, pt_as(c, pt_arg(c, 2), imp_type(x)->dtype), x));
}

static void prelu(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 1);
    int64_t n;
    const tn_expr *dim[IMP_MAX_RANK];
    bool one = imp_rank(w) == 0 || (imp_rank(w) == 1 && tn_is_int(imp_type(w)->dim[0], &n) && n == 1);
    for (int d = 0; d < imp_rank(x); d++)
        dim[d] = d == 1 && !one ? imp_type(w)->dim[0] : tn_idx(c->pool, 1);
    if (imp_rank(w) <= 1)
        w = imp_reshape(c, w, imp_rank(x), dim);
    pt_out(c, imp_binary(c, &tn_op_nn_prelu, x, w));
}

static void log_sigmoid(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    pt_out(c,
           imp_unary(c, &tn_op_negative, imp_unary(c, &tn_op_nn_softplus, imp_unary(c, &tn_op_negative, x))));
}

static void tanhshrink(imp_node *c)
{
    tn_value x = pt_float_in(c, 0);
    pt_out(c, pt_sub(c, x, imp_unary(c, &tn_op_tanh, x)));
}

static void glu(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    int axis = pt_axis(c, 1, imp_rank(x));
    int64_t n = 0;
    if (c->bad || !imp_rank(x) || !tn_is_int(imp_type(x)->dim[axis], &n) || n % 2) {
        imp_refuse(c, IMP_BAD_VALUE, "the dimension that is halved must have a known, even extent");
        return;
    }
    tn_value a = imp_slice(c, x, axis, 0, n / 2), b = imp_slice(c, x, axis, n / 2, n);
    pt_out(c, pt_mul(c, a, imp_unary(c, &tn_op_sigmoid, b)));
}

tn_value pt_softmax_of(imp_node *c, const tn_op *op, tn_value x, int axis)
{
    tn_axis_attr a = {axis};
    return imp_rank(x) ? imp_call1(c, op, &a, x) : pt_num(c, x, op == &tn_op_nn_softmax);
}

static void softmax(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = imp_type(x)->dtype;
    if (pt_dtype(c, 2, &t) || !tn_dtype_is_float(t))
        x = imp_cast(c, x, t);
    pt_out(c, pt_softmax_of(c, relay(c), x, pt_axis(c, 1, imp_rank(x))));
}

/* Rows of nothing but -inf are 0. */
static void safe_softmax(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_dtype t = pt_float_type(imp_type(x)->dtype);
    (void)pt_dtype(c, 2, &t);
    x = imp_cast(c, x, t);
    int64_t axis = pt_axis(c, 1, imp_rank(x));
    tn_ints along = tn_ints_make(c->arena, imp_rank(x) > 0, &axis);
    tn_value most = pt_sum(c, &tn_op_max, x, along, true);
    tn_value none = imp_binary(c, &tn_op_equal, most, pt_num(c, x, -INFINITY));
    tn_value zero = pt_num(c, x, 0);
    pt_out(c, imp_choose(c, none, zero, pt_softmax_of(c, &tn_op_nn_softmax, x, (int)axis)));
}

static void softmin(imp_node *c)
{
    tn_value x = imp_unary(c, &tn_op_negative, pt_in(c, 0));
    pt_out(c, pt_softmax_of(c, &tn_op_nn_softmax, x, pt_axis(c, 1, imp_rank(x))));
}

/* _softmax(x, dim, half_to_float) */
static void inner_softmax(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    x = pt_truth(c, 2) ? imp_cast(c, x, TN_F32) : x;
    pt_out(c, pt_softmax_of(c, relay(c), x, pt_axis(c, 1, imp_rank(x))));
}

static void rrelu(imp_node *c)
{
    if (pt_truth(c, 3))
        imp_refuse(c, IMP_BAD_VALUE,
                   "rrelu in training mode is not supported; call model.eval() before saving it");
    tn_alpha_attr a = {(pt_real(c, 1) + pt_real(c, 2)) / 2};
    pt_out(c, imp_call1(c, &tn_op_nn_leaky_relu, &a, pt_in(c, 0)));
}

const pt_row pt_rows_activation[] = {
    {"relu(Tensor self)", relu, NULL, 0},
    {"relu6(Tensor self)", relu6, NULL, 0},
    {"hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)", hardtanh, NULL, 0},
    {"leaky_relu(Tensor self, Scalar negative_slope=0.01)", with_alpha, &tn_op_nn_leaky_relu, 0},
    {"celu(Tensor self, Scalar alpha=1)", with_alpha, &tn_op_nn_celu, 0},
    {"elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", elu, NULL, 0},
    {"selu(Tensor self)", selu, NULL, 0},
    {"gelu(Tensor self, *, str approximate=none)", gelu, NULL, 0},
    {"silu(Tensor self)", silu, NULL, 0},
    {"mish(Tensor self)", plain, &tn_op_nn_mish, 0},
    {"hardswish(Tensor self)", plain, &tn_op_nn_hardswish, 0},
    {"hardsigmoid(Tensor self)", hardsigmoid, NULL, PT_WIDE},
    {"softplus(Tensor self, Scalar beta=1, Scalar threshold=20)", softplus, NULL, PT_WIDE},
    {"softsign(Tensor self)", plain, &tn_op_nn_softsign, 0},
    {"hardshrink(Tensor self, Scalar lambd=0.5)", shrink, NULL, 0},
    {"softshrink(Tensor self, Scalar lambd=0.5)", shrink, NULL, 0},
    {"threshold(Tensor self, Scalar threshold, Scalar value)", threshold, NULL, 0},
    {"prelu(Tensor self, Tensor weight)", prelu, NULL, 0},
    {"_prelu_kernel(Tensor self, Tensor weight)", prelu, NULL, 0},
    {"log_sigmoid(Tensor self)", log_sigmoid, NULL, 0},
    {"tanhshrink(Tensor self)", tanhshrink, NULL, 0},
    {"glu(Tensor self, int dim=-1)", glu, NULL, PT_WIDE},
    {"softmax(Tensor self, int dim, ScalarType? dtype=None)", softmax, &tn_op_nn_softmax, 0},
    {"special_softmax(Tensor self, int dim, ScalarType? dtype=None)", softmax, &tn_op_nn_softmax, 0},
    {"log_softmax(Tensor self, int dim, ScalarType? dtype=None)", softmax, &tn_op_nn_log_softmax, 0},
    {"special_log_softmax(Tensor self, int dim, ScalarType? dtype=None)", softmax, &tn_op_nn_log_softmax, 0},
    {"softmin(Tensor self, int dim)", softmin, NULL, 0},
    {"_softmax(Tensor self, int dim, bool half_to_float)", inner_softmax, &tn_op_nn_softmax, 0},
    {"_log_softmax(Tensor self, int dim, bool half_to_float)", inner_softmax, &tn_op_nn_log_softmax, 0},
    {"_safe_softmax(Tensor self, int dim, ScalarType? dtype=None)", safe_softmax, NULL, 0},
    {"rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False)", rrelu,
     NULL, 0},
    {0},
};
