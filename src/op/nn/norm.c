/* Normalisations: nn.softmax, and nn.batch_norm in its inference form. */
#include "op/rule.h"

#include "op/gradient.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

/* ---- nn.softmax ---- */

static tn_status softmax_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, ((const tn_axis_attr *)n->attr)->axis, t->n, &axis));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

/* A tensor of in's dims without `axis`. */
static tn_tensor *without_axis(tn_te *te, const tn_tensor *in, tn_dtype t, int axis, const char *name)
{
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int n = 0;
    for (int i = 0; i < in->ndim; i++)
        if (i != axis)
            dim[n++] = in->dim[i];
    return tn_te_new(te, name, t, n, dim, n <= 4 ? "i j k l" : NULL);
}

/* Element of b, which lacks `axis`, at index[] of the whole. */
static const tn_expr *at_rest(tn_te *te, const tn_tensor *b, int axis, const tn_expr *const index[])
{
    const tn_expr *rest[TN_RULE_MAX_RANK];
    for (int i = 0; i < b->ndim; i++)
        rest[i] = index[i + (i >= axis)];
    return tn_at(te, b, b->ndim, rest);
}

/* x - largest at index[], in the dtype that sums have */
static const tn_expr *below_largest(tn_te *te, const tn_tensor *x, const tn_tensor *largest, int axis,
                                    const tn_expr *const index[])
{
    tn_dtype acc = tn_rule_accumulator(x->dtype);
    return tn_sub(te->pool, tn_cast(te->pool, acc, tn_at(te, x, x->ndim, index)),
                  tn_cast(te->pool, acc, at_rest(te, largest, axis, index)));
}

/* r(rest) := reduction of x over axis. */
static void reduce_axis(tn_te *te, tn_tensor *r, const tn_tensor *x, int axis, enum tn_reducer reducer)
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    for (int i = 0; i < x->ndim; i++)
        index[i] = i == axis ? tn_te_reduce_axis(te, r, "r", x->dim[i]) : r->axis[i - (i > axis)];
    tn_te_reduce(te, r, reducer, tn_at(te, x, x->ndim, index), NULL, NULL);
}

static void softmax_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *x = in[0];
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    int axis = (int)(a < 0 ? a + x->ndim : a);
    tn_dtype acc = tn_rule_accumulator(x->dtype);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "softmax", "softmax", NULL);
    tn_tensor *largest = without_axis(te, x, x->dtype, axis, "softmax_max"),
              *sum = without_axis(te, x, acc, axis, "softmax_sum");
    tn_tensor *e = tn_te_new(te, "softmax_exp", acc, x->ndim, x->dim, x->ndim <= 4 ? "i j k l" : NULL);
    reduce_axis(te, largest, x, axis, TN_RED_MAX);
    tn_te_define(te, e, tn_intrinsic1(p, TN_F_exp, below_largest(te, x, largest, axis, e->axis)));
    reduce_axis(te, sum, e, axis, TN_RED_SUM);
    tn_tensor *share =
        without_axis(te, x, acc, axis, "softmax_share"); /* one division a row: up to 1.5 ulp */
    tn_te_define(te, share, tn_bin(p, TN_E_DIV, tn_flt(p, acc, 1), tn_at(te, sum, sum->ndim, share->axis)));
    const tn_expr *v = tn_mul(p, tn_at(te, e, x->ndim, t->axis), at_rest(te, share, axis, t->axis));
    tn_te_define(te, t, tn_cast(p, t->dtype, v));
}

/* clang-format off */
static const tn_attr_field softmax_fields[] = TN_ATTR_TABLE(tn_axis_attr, TN_SOFTMAX_ATTRS);
static const char *const data_in[] = {"data"};

const tn_op tn_op_nn_softmax = {
    .name = "nn.softmax", .doc = "exp(x - max) / sum of exp(x - max) along an axis.",
    .attr_size = sizeof(tn_axis_attr), .attr = softmax_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = data_in,
    .infer = softmax_infer, .compute = softmax_compute, .permute = tn_permute_axis,
    .gradient = tn_gradient_softmax,
};
/* clang-format on */

/* ---- nn.log_softmax: x - max - log(sum of exp(x - max)) ---- */

static int softmax_axis(const tn_node *n, const tn_tensor *x)
{
    int64_t a = ((const tn_axis_attr *)n->attr)->axis;
    return (int)(a < 0 ? a + x->ndim : a);
}

static void log_softmax_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *x = in[0];
    int axis = softmax_axis(n, x);
    te->tag = "softmax";
    tn_dtype acc = tn_rule_accumulator(x->dtype);
    tn_tensor *largest = without_axis(te, x, x->dtype, axis, "softmax_max"),
              *sum = without_axis(te, x, acc, axis, "softmax_sum");
    reduce_axis(te, largest, x, axis, TN_RED_MAX);
    const tn_expr *index[TN_RULE_MAX_RANK];
    for (int i = 0; i < x->ndim; i++)
        index[i] = i == axis ? tn_te_reduce_axis(te, sum, "r", x->dim[i]) : sum->axis[i - (i > axis)];
    tn_te_sum(te, sum, tn_intrinsic1(p, TN_F_exp, below_largest(te, x, largest, axis, index)), NULL);
    tn_tensor *shift = without_axis(te, x, acc, axis, "softmax_log");
    tn_te_define(te, shift, tn_intrinsic1(p, TN_F_log, tn_at(te, sum, sum->ndim, shift->axis)));
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "log_softmax", "softmax", NULL);
    const tn_expr *v = below_largest(te, x, largest, axis, t->axis);
    tn_te_define(te, t, tn_cast(p, t->dtype, tn_sub(p, v, at_rest(te, shift, axis, t->axis))));
}

/* ---- nn.hardmax: 1 at the first largest element ---- */

static void hardmax_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *x = in[0];
    int axis = softmax_axis(n, x);
    const tn_expr *index[TN_RULE_MAX_RANK];
    te->tag = "softmax";
    tn_tensor *largest = without_axis(te, x, x->dtype, axis, "hardmax_max");
    reduce_axis(te, largest, x, axis, TN_RED_MAX);
    tn_tensor *first = tn_te_new(te, "hardmax_first", TN_I32, largest->ndim, largest->dim, NULL);
    for (int i = 0; i < x->ndim; i++)
        index[i] = i == axis ? tn_te_reduce_axis(te, first, "r", x->dim[i]) : first->axis[i - (i > axis)];
    const tn_expr *found = tn_eq(p, tn_at(te, x, x->ndim, index), at_rest(te, largest, axis, index));
    const tn_expr *at = tn_select(p, found, tn_cast(p, TN_I32, index[axis]), tn_int(p, TN_I32, INT32_MAX));
    tn_te_reduce(te, first, TN_RED_MIN, at, NULL, NULL);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "hardmax", "softmax", NULL);
    const tn_expr *here = tn_eq(p, tn_cast(p, TN_I32, t->axis[axis]), at_rest(te, first, axis, t->axis));
    tn_te_define(te, t, tn_select(p, here, tn_const(p, t->dtype, 1), tn_const(p, t->dtype, 0)));
}

/* clang-format off */
const tn_op tn_op_nn_log_softmax = {
    .name = "nn.log_softmax", .doc = "Logarithm of nn.softmax.",
    .attr_size = sizeof(tn_axis_attr), .attr = softmax_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = data_in,
    .infer = softmax_infer, .compute = log_softmax_compute,
    .gradient = tn_gradient_softmax,
};
const tn_op tn_op_nn_hardmax = {
    .name = "nn.hardmax", .doc = "1 at the first largest element along an axis, else 0.",
    .attr_size = sizeof(tn_axis_attr), .attr = softmax_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = data_in,
    .infer = softmax_infer, .compute = hardmax_compute,
};
/* clang-format on */

/* ---- nn.lrn: x / (bias + alpha / size * sum of squares of near channels)^beta ---- */

static tn_status lrn_infer(tn_graph *g, tn_node *n)
{
    const tn_lrn_attr *a = n->attr;
    const tn_type *t;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, a->axis, t->n, &axis));
    if (a->size < 1 || a->size > INT32_MAX)
        return tn_rule_fail(g, n, "op-E007", "size is %lld, but must be in [1, 2^31)", (long long)a->size);
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

static void lrn_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_lrn_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_tensor *x = in[0];
    int axis = (int)(a->axis < 0 ? a->axis + x->ndim : a->axis);
    tn_dtype acc = tn_rule_accumulator(x->dtype);
    const tn_expr *index[TN_RULE_MAX_RANK];
    te->tag = "reduce";
    tn_tensor *sum = tn_te_new(te, "lrn_sum", acc, x->ndim, x->dim, x->ndim <= 4 ? "i j k l" : NULL);
    tn_window w = {
        .stride = 1, .dilation = 1, .before = tn_idx(p, (a->size - 1) / 2), .after = tn_idx(p, a->size / 2)};
    const tn_expr *tap = tn_te_reduce_axis(te, sum, "r", tn_idx(p, a->size));
    for (int i = 0; i < x->ndim; i++)
        index[i] = i == axis ? tn_rule_window_index(p, sum->axis[i], tap, &w) : sum->axis[i];
    const tn_expr *v = tn_cast(p, acc, tn_at(te, x, x->ndim, index));
    tn_te_sum(te, sum, tn_mul(p, v, v), tn_rule_window_inside(p, index[axis], x->dim[axis], &w));
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "lrn", "elementwise", NULL);
    const tn_expr *scaled =
        tn_mul(p, tn_at(te, sum, x->ndim, t->axis), tn_flt(p, acc, a->alpha / (double)a->size));
    const tn_expr *power[2] = {tn_add(p, scaled, tn_flt(p, acc, a->bias)), tn_flt(p, acc, a->beta)};
    v = tn_cast(p, acc, tn_at(te, x, x->ndim, t->axis));
    tn_te_define(te, t, tn_cast(p, t->dtype, tn_bin(p, TN_E_DIV, v, tn_intrinsic(p, TN_F_pow, 2, power))));
}

/* clang-format off */
static const tn_attr_field lrn_fields[] = TN_ATTR_TABLE(tn_lrn_attr, TN_LRN_ATTRS);

const tn_op tn_op_nn_lrn = {
    .name = "nn.lrn", .doc = "Local response normalisation.",
    .attr_size = sizeof(tn_lrn_attr), .attr = lrn_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = data_in,
    .infer = lrn_infer, .compute = lrn_compute,
};
/* clang-format on */

/* ---- nn.batch_norm ---- */

static tn_status batch_norm_infer(tn_graph *g, tn_node *n)
{
    const tn_batch_norm_attr *a = n->attr;
    const tn_type *data, *t;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, a->axis, data->n, &axis));
    for (int i = 1; i < 5; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, 1, &t));
        TN_TRY(tn_rule_same_dtype(g, n, i));
        if (!tn_rule_agree(g, n, t->dim[0], data->dim[axis]))
            return tn_rule_fail(g, n, "op-E008", "%s is %s, but data %s has %s elements along axis %d",
                                tn_rule_in_name(g, n, i), tn_rule_type_text(g, t), tn_rule_type_text(g, data),
                                tn_rule_dim_text(g, data->dim[axis]), axis);
    }
    n->type[1] = tn_in_type(n, 3);
    n->type[2] = tn_in_type(n, 4);
    return tn_rule_result(g, n, 0, data->dtype, data->n, data->dim);
}

/* A call before n with n's location; absent once one of the calls it builds on failed. */
static tn_value apply(tn_graph *g, tn_node *n, const tn_op *op, tn_value a, tn_value b, const void *attr)
{
    tn_value in[2] = {a, b};
    if (!a.def || (op->nin > 1 && !b.def))
        return (tn_value){0};
    return tn_val(tn_make_call(g, n->owner, n, op, op->nin, in, attr, n->loc));
}

/* y = x * s + (beta - mean * s) with s = gamma / sqrt(var + epsilon); s and the shift are vectors, so they
 * fold. */
static tn_status batch_norm_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_batch_norm_attr *a = n->attr;
    const tn_type *data = tn_in_type(n, 0);
    const tn_value none = {0}, gamma = tn_in(n, 1), beta = tn_in(n, 2), mean = tn_in(n, 3), var = tn_in(n, 4);
    tn_expand_dims_attr after = {.axis = 1,
                                 .num_newaxis = data->n - 1 - (a->axis < 0 ? a->axis + data->n : a->axis)};
    tn_value eps = tn_val(tn_make_scalar(g, n->owner, n, data->dtype, a->epsilon));
    tn_value s = apply(g, n, &tn_op_rsqrt, apply(g, n, &tn_op_add, var, eps, NULL), none, NULL);
    if (a->scale)
        s = apply(g, n, &tn_op_multiply, s, gamma, NULL);
    tn_value shift = apply(g, n, &tn_op_multiply, mean, s, NULL);
    shift = a->center ? apply(g, n, &tn_op_subtract, beta, shift, NULL)
                      : apply(g, n, &tn_op_negative, shift, none, NULL);
    if (after.num_newaxis > 0) {
        s = apply(g, n, &tn_op_expand_dims, s, none, &after);
        shift = apply(g, n, &tn_op_expand_dims, shift, none, &after);
    }
    out[0] = apply(g, n, &tn_op_add, apply(g, n, &tn_op_multiply, tn_in(n, 0), s, NULL), shift, NULL);
    out[1] = mean;
    out[2] = var;
    return out[0].def ? TN_OK : TN_FAIL;
}

/* clang-format off */
static const tn_attr_field batch_norm_fields[] = TN_ATTR_TABLE(tn_batch_norm_attr, TN_BATCH_NORM_ATTRS);
static const char *const batch_norm_in[] = {"data", "gamma", "beta", "moving_mean", "moving_var"};

const tn_op tn_op_nn_batch_norm = {
    .name = "nn.batch_norm",
        .doc = "Batch normalisation with stored mean and variance; these two are passed on as results 1 and 2.",
    .attr_size = sizeof(tn_batch_norm_attr), .attr = batch_norm_fields,
    .nin = 5, .min_in = 5, .nout = 3, .fuse = TN_FUSE_OPAQUE, .in_name = batch_norm_in,
    .infer = batch_norm_infer, .expand = batch_norm_expand,
};
/* clang-format on */
