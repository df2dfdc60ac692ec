/* Normalisation. */
#include "frontend/pytorch/ops.h"

#include <float.h>
#include <string.h>

/* Along axis 1 of x. */
static tn_value along_channels(imp_node *c, tn_value v, int rank)
{
    const tn_expr *dim[IMP_MAX_RANK];
    if (!c->bad && imp_rank(v) != 1)
        imp_refuse(c, IMP_OPERANDS, "the numbers of the channels are %s, but must be a list",
                   imp_type_text(c, imp_type(v)));
    if (c->bad)
        return v;
    for (int d = 0; d < rank; d++)
        dim[d] = d == 1 ? imp_type(v)->dim[0] : tn_idx(c->pool, 1);
    return imp_reshape(c, v, rank, dim);
}

static tn_value ones_like(imp_node *c, tn_value x, double v)
{
    const tn_expr *n = imp_rank(x) > 1 ? imp_type(x)->dim[1] : tn_idx(c->pool, 1);
    return pt_expand(c, pt_num(c, x, v), tn_dims_make(c->arena, 1, &n));
}

/* x normalised by its own moments along axes. */
static tn_value normalised(imp_node *c, tn_value x, tn_ints axes, double eps, tn_value *mean, tn_value *rstd)
{
    tn_value m = pt_sum(c, &tn_op_mean, x, axes, true), d = pt_sub(c, x, m);
    tn_value v = pt_sum(c, &tn_op_mean, pt_mul(c, d, d), axes, true);
    tn_value r = imp_unary(c, &tn_op_rsqrt, pt_add(c, v, pt_num(c, x, eps)));
    if (mean)
        *mean = m;
    if (rstd)
        *rstd = r;
    return pt_mul(c, d, r);
}

static tn_value scaled(imp_node *c, tn_value y, tn_value w, tn_value b, int rank)
{
    if (w.def)
        y = pt_mul(c, y, along_channels(c, imp_cast(c, w, imp_type(y)->dtype), rank));
    return b.def ? pt_add(c, y, along_channels(c, imp_cast(c, b, imp_type(y)->dtype), rank)) : y;
}

/* All but the channels. */
static tn_ints batch_axes(imp_node *c, int rank)
{
    int64_t axes[IMP_MAX_RANK] = {0};
    for (int d = 2; d < rank; d++)
        axes[d - 1] = d;
    return tn_ints_make(c->arena, rank > 1 ? (uint32_t)(rank - 1) : 0, axes);
}

/* Training moves the mean and the variance that the layer has seen towards those of this batch, or, where `axes` leave
 * the batch out, towards the average over it. */
static void learn(imp_node *c, tn_value x, tn_ints axes)
{
    const tn_ints first = batch_axes(c, 2);
    const bool each = !axes.n || axes.at[0] != 0;
    double share;
    if (imp_scalar(c, pt_as(c, pt_arg(c, 6), TN_F64), &share) && share == 0)
        return;
    tn_value mean = pt_sum(c, &tn_op_mean, x, axes, false), count = imp_i64(c, 1);
    tn_value d = pt_sub(c, x, pt_sum(c, &tn_op_mean, x, axes, true));
    tn_value square = pt_sum(c, &tn_op_sum, pt_mul(c, d, d), axes, false);
    for (uint32_t i = 0; i < axes.n && !c->bad; i++)
        count = pt_mul(c, count, imp_extent_of(c, x, (int)axes.at[i]));
    tn_value one = imp_i64(c, 1);
    tn_value less = imp_binary(c, &tn_op_maximum, pt_sub(c, count, one), one);
    square = pt_div(c, square, imp_cast(c, less, imp_type(square)->dtype));
    for (int k = 0; k < 2 && !c->bad; k++) {
        pt_value had = pt_arg(c, 3 + k);
        if (had.kind != PT_TENSOR)
            continue;
        tn_value old = pt_in(c, 3 + k), of = k ? square : mean;
        of = each ? pt_sum(c, &tn_op_mean, of, first, false) : of;
        tn_value now = imp_cast(c, of, imp_type(old)->dtype);
        tn_value step = pt_as(c, pt_arg(c, 6), imp_type(old)->dtype);
        step = pt_mul(c, step, pt_sub(c, now, old));
        pt_tensor_set(pt_of(c)->p, had.tensor, pt_add(c, old, step));
    }
}

/* batch_norm(x, weight, bias, mean, var, training, momentum, eps, ...) */
static tn_value batch(imp_node *c, bool training, double eps)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 1), b = pt_in(c, 2), mean = pt_in(c, 3), var = pt_in(c, 4);
    int rank = imp_rank(x);
    if (training || !mean.def || !var.def) {
        tn_value first = pt_wide(c, x);
        tn_value y = normalised(c, first, batch_axes(c, rank), eps, NULL, NULL);
        if (training && mean.def && var.def)
            learn(c, first, batch_axes(c, rank));
        return imp_cast(c, scaled(c, y, w, b, rank), imp_type(x)->dtype);
    }
    tn_batch_norm_attr a;
    (void)tn_attr_init(c->pool, tn_op_nn_batch_norm.attr, sizeof a, &a);
    a.epsilon = eps;
    tn_dtype t = imp_type(x)->dtype;
    tn_value in[5] = {x, w.def ? imp_cast(c, w, t) : ones_like(c, x, 1),
                      b.def ? imp_cast(c, b, t) : ones_like(c, x, 0), imp_cast(c, mean, t),
                      imp_cast(c, var, t)};
    return imp_call(c, &tn_op_nn_batch_norm, &a, 5, in);
}

static void batch_norm(imp_node *c)
{
    bool first = pt_truth(c, 5);
    pt_out(c, batch(c, first, pt_real(c, 7)));
}

/* With the moments of the batch, which are empty outside of training. */
static void with_moments(imp_node *c, bool training, double eps)
{
    const tn_expr *zero = tn_idx(c->pool, 0);
    tn_value y = batch(c, training, eps), x = pt_in(c, 0), out[3] = {y}, mean, rstd;
    tn_value kind = pt_given(c, 1) ? pt_in(c, 1) : x;
    out[1] = out[2] = pt_expand(c, pt_num(c, kind, 0), tn_dims_make(c->arena, 1, &zero));
    if (training && !c->bad) {
        (void)normalised(c, x, batch_axes(c, imp_rank(x)), eps, &mean, &rstd);
        out[1] = imp_cast(c, imp_flat(c, mean), imp_type(kind)->dtype);
        out[2] = imp_cast(c, imp_flat(c, rstd), imp_type(kind)->dtype);
    }
    pt_out_many(c, PT_TUPLE, 3, out);
}

static void native_batch_norm(imp_node *c)
{
    bool training = pt_truth(c, 5);
    with_moments(c, training, pt_real(c, 7));
}

/* The running moments do not change; what they would become are results. */
static void functional_batch_norm(imp_node *c)
{
    pt_call *k = pt_of(c);
    pt_value moment[2];
    bool training = pt_truth(c, 5);
    for (int i = 0; i < 2; i++) {
        moment[i] = pt_tensor_new(k->p, pt_in(c, 3 + i));
        k->arg[3 + i] = moment[i];
    }
    with_moments(c, training, pt_real(c, 7));
    if (c->bad || !pt_is_sequence(k->out))
        return;
    for (int i = 0; i < 2; i++)
        pt_push(c->arena, k->out.list, moment[i]);
}

/* _native_batch_norm_legit without running moments */
static void of_the_batch(imp_node *c)
{
    pt_call *k = pt_of(c);
    k->arg[7] = k->arg[5]; /* eps */
    k->arg[5] = pt_bool(true);
    k->arg[3] = k->arg[4] = pt_none();
    with_moments(c, true, pt_real(c, 7));
}

static void no_training(imp_node *c) { with_moments(c, false, pt_real(c, 6)); }

static void instance_norm(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 1), b = pt_in(c, 2);
    int64_t axes[IMP_MAX_RANK];
    int rank = imp_rank(x);
    if (!pt_truth(c, 5)) {
        pt_out(c, batch(c, false, pt_real(c, 7)));
        return;
    }
    for (int d = 2; d < rank; d++)
        axes[d - 2] = d;
    const tn_ints inner = tn_ints_make(c->arena, rank > 2 ? (uint32_t)(rank - 2) : 0, axes);
    tn_value wide = pt_wide(c, x), y = normalised(c, wide, inner, pt_real(c, 7), NULL, NULL);
    learn(c, wide, inner);
    pt_out(c, imp_cast(c, scaled(c, y, w, b, rank), imp_type(x)->dtype));
}

/* The last dimensions, whose extents are listed. */
static tn_ints last_axes(imp_node *c, tn_value x, uint32_t n)
{
    int64_t axes[IMP_MAX_RANK];
    for (uint32_t i = 0; i < n && i < IMP_MAX_RANK; i++)
        axes[i] = imp_rank(x) - (int64_t)n + i;
    if (n > (uint32_t)imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "%u dimensions are normalised of %d", (unsigned)n, imp_rank(x));
    return c->bad ? (tn_ints){0} : tn_ints_make(c->arena, n, axes);
}

static void layer_norm(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 2), b = pt_in(c, 3), mean, rstd;
    tn_dtype t = imp_type(x)->dtype;
    tn_ints axes = last_axes(c, x, pt_is_sequence(pt_arg(c, 1)) ? (uint32_t)pt_arg(c, 1).list->n : 1);
    bool native = strncmp(pt_of(c)->row->schema, "native", 6) == 0;
    bool alike = w.def && b.def && tn_dtype_eq(imp_type(w)->dtype, t) && tn_dtype_eq(imp_type(b)->dtype, t);
    if (axes.n == 1 && alike && !native && imp_rank(w) == 1) {
        tn_norm_attr a;
        (void)tn_attr_init(c->pool, tn_op_nn_layer_norm.attr, sizeof a, &a);
        a.axis = -1;
        a.epsilon = pt_real(c, 4);
        pt_out(c, imp_call(c, &tn_op_nn_layer_norm, &a, 3, (const tn_value[]){x, w, b}));
        return;
    }
    tn_value first = pt_wide(c, x);
    tn_value y = normalised(c, first, axes, pt_real(c, 4), &mean, &rstd);
    y = w.def ? pt_mul(c, y, imp_cast(c, w, imp_type(y)->dtype)) : y;
    y = imp_cast(c, b.def ? pt_add(c, y, imp_cast(c, b, imp_type(y)->dtype)) : y, t);
    if (native) {
        t = w.def ? imp_type(w)->dtype : t;
        tn_value m = imp_cast(c, mean, t);
        pt_out_many(c, PT_TUPLE, 3, (const tn_value[]){y, m, imp_cast(c, rstd, t)});
    } else {
        pt_out(c, y);
    }
}

static void rms_norm(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 2), v = pt_wide(c, x);
    tn_ints axes = last_axes(c, x, pt_is_sequence(pt_arg(c, 1)) ? (uint32_t)pt_arg(c, 1).list->n : 1);
    tn_dtype t = imp_type(x)->dtype;
    double eps = pt_given(c, 3) ? pt_real(c, 3)
                 : t.bits == 64 ? DBL_EPSILON
                                : FLT_EPSILON; /* of what computes */
    tn_value s = pt_sum(c, &tn_op_mean, pt_mul(c, v, v), axes, true);
    tn_value y = pt_mul(c, v, imp_unary(c, &tn_op_rsqrt, pt_add(c, s, pt_num(c, v, eps))));
    pt_out(c, imp_cast(c, w.def ? pt_mul(c, y, imp_cast(c, w, imp_type(y)->dtype)) : y, t));
}

static tn_value group(imp_node *c, tn_value x, int64_t groups, double eps, tn_value *mean, tn_value *rstd)
{
    int rank = imp_rank(x);
    const tn_expr *dim[3];
    int64_t axis = 2;
    if (c->bad || rank < 2 || groups < 1) {
        imp_refuse(c, IMP_BAD_VALUE, "groups of channels of %d dimensions", rank);
        return x;
    }
    dim[0] = imp_type(x)->dim[0];
    dim[1] = tn_idx(c->pool, groups);
    dim[2] = imp_simplify(c, tn_fdiv(c->pool, imp_product(c, imp_type(x), 1, rank), dim[1]));
    tn_value y = normalised(c, imp_reshape(c, x, 3, dim), tn_ints_make(c->arena, 1, &axis), eps, mean, rstd);
    return imp_reshape(c, y, rank, imp_type(x)->dim);
}

static void group_norm(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 2), b = pt_in(c, 3);
    tn_dtype t = imp_type(x)->dtype;
    tn_value first = pt_wide(c, x);
    int64_t second = pt_integer(c, 1);
    tn_value y = imp_cast(c, group(c, first, second, pt_real(c, 4), NULL, NULL), t);
    pt_out(c, scaled(c, y, w, b, imp_rank(x)));
}

/* native_group_norm(x, weight, bias, n, c, hw, groups, eps) */
static void native_group_norm(imp_node *c)
{
    tn_value x = pt_in(c, 0), w = pt_in(c, 1), b = pt_in(c, 2), m, r;
    int64_t first = pt_integer(c, 6);
    tn_value y = scaled(c, group(c, x, first, pt_real(c, 7), &m, &r), w, b, imp_rank(x));
    pt_out_many(c, PT_TUPLE, 3, (const tn_value[]){y, imp_squeeze(c, m, 2), imp_squeeze(c, r, 2)});
}

static void local_response(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    tn_lrn_attr a = {pt_integer(c, 1), 1, pt_real(c, 4), pt_real(c, 2), pt_real(c, 3)};
    pt_out(c, imp_call1(c, &tn_op_nn_lrn, &a, x));
}

const pt_row pt_rows_norm[] = {
    {"batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
     "training, float momentum, float eps, any cudnn_enabled=None)",
     batch_norm, NULL, 0},
    {"native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
     "running_var, bool training, float momentum, float eps)",
     native_batch_norm, NULL, 0},
    {"_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
     "running_var, bool training, float momentum, float eps)",
     native_batch_norm, NULL, 0},
    {"_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
     "float eps)",
     of_the_batch, NULL, 0},
    {"_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
     "Tensor running_var, bool training, float momentum, float eps)",
     functional_batch_norm, NULL, 0},
    {"_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, float momentum, float eps)",
     no_training, NULL, 0},
    {"instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
     "bool use_input_stats, float momentum, float eps, any cudnn_enabled=None)",
     instance_norm, NULL, 0},
    {"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
     "eps=1e-05, any cudnn_enable=None)",
     layer_norm, NULL, 0},
    {"native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)",
     layer_norm, NULL, 0},
    {"rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)", rms_norm, NULL,
     0},
    {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, any "
     "cudnn_enabled=None)",
     group_norm, NULL, 0},
    {"native_group_norm(Tensor input, Tensor? weight, Tensor? bias, any N, any C, any HxW, int group, float "
     "eps)",
     native_group_norm, NULL, 0},
    {"local_response_norm(Tensor input, int size, float alpha, float beta, float k)", local_response, NULL,
     0},
    {0},
};
