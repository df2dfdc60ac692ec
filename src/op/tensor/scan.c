/* Running sums, products and extrema along an axis: cumsum, cumprod, cummax, cummin. Each step along the axis reads the
 * result of the one before. */
#include "op/gradient.h"
#include "op/rule.h"
#include "op/tensor/tensor.h"

static tn_status scan_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    int axis;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_axis(g, n, ((const tn_scan_attr *)n->attr)->axis, t->n, &axis));
    return tn_rule_result(g, n, 0, t->dtype, t->n, t->dim);
}

/* out[k] = out[k - 1] op in[k], or in[k - 1] if exclusive; from the other end if reverse. */
static void define(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[], const char *name,
                   enum tn_ek op, enum tn_reducer reducer)
{
    const tn_scan_attr *a = n->attr;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, name, "scan", NULL);
    tn_pool *p = te->pool;
    const tn_expr *last[TN_RULE_MAX_RANK], *from[TN_RULE_MAX_RANK],
        *neutral = tn_te_neutral(p, reducer, t->dtype);
    int axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis);
    const tn_expr *k = t->axis[axis], *before = tn_sub(p, k, tn_idx(p, 1)),
                  *end = tn_sub(p, t->dim[axis], tn_idx(p, 1));
    const tn_expr *step = a->reverse ? tn_sub(p, end, k) : k;
    for (int i = 0; i < t->ndim; i++)
        last[i] = from[i] = t->axis[i];
    last[axis] = a->reverse ? tn_sub(p, end, before) : before;
    from[axis] = a->exclusive ? last[axis] : step;
    const tn_expr *inner = tn_lt(p, tn_idx(p, 0), k),
                  *so_far = tn_at_if(te, t, t->ndim, last, inner, neutral);
    const tn_expr *term =
        a->exclusive ? tn_at_if(te, in[0], t->ndim, from, inner, neutral) : tn_at(te, in[0], t->ndim, from);
    tn_te_scan(te, t, axis, step, tn_bin(p, op, so_far, term));
}

static void cumsum_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    define(te, n, in, out, "cumsum", TN_E_ADD, TN_RED_SUM);
}

static void cumprod_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    define(te, n, in, out, "cumprod", TN_E_MUL, TN_RED_PROD);
}

static void cummax_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    define(te, n, in, out, "cummax", TN_E_MAX, TN_RED_MAX);
}

static void cummin_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    define(te, n, in, out, "cummin", TN_E_MIN, TN_RED_MIN);
}

/* clang-format off */
static const char *const data_in[] = {"data"};
static const tn_attr_field scan_fields[] = TN_ATTR_TABLE(tn_scan_attr, TN_SCAN_ATTRS);

#define SCAN(id, derivative, says) \
    const tn_op tn_op_##id = { \
        .name = #id, .doc = says, .attr_size = sizeof(tn_scan_attr), .attr = scan_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in, \
        .infer = scan_infer, .compute = id##_compute, .gradient = derivative, \
    };
SCAN(cumsum, tn_gradient_cumsum, "Running sums along an axis.")
SCAN(cumprod, NULL, "Running products along an axis.")
SCAN(cummax, NULL, "The largest element so far along an axis; NaN from the first one on.")
SCAN(cummin, NULL, "The smallest element so far along an axis; NaN from the first one on.")
/* clang-format on */
