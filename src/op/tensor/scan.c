/* Running sums, products and extrema along an axis: cumsum, cumprod, cummax, cummin. What stands beside the axis are
 * tasks; where the axis is not the last one, vectors run along it, each step reading the result of the one before;
 * where it is, some rows run along together, so that a step of one need not wait for the step before it. */
#include "op/code.h"

#include "op/gradient.h"
#include "op/tensor/tensor.h"

enum {
    RUN = 64, /* elements of the last dimension that run along together */
    ROWS = 4  /* rows of it, if it is the axis */
};

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
static void scan_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[], const char *name,
                      enum tn_ek op, enum tn_reducer reducer)
{
    const tn_scan_attr *a = n->attr;
    tn_tensor *t;
    tn_code c = tn_code_open(te, n, 0, name, &t);
    tn_pool *p = c.p;
    const tn_expr *at[TN_RULE_MAX_RANK], *last[TN_RULE_MAX_RANK], *from[TN_RULE_MAX_RANK],
        *one = tn_idx(p, 1);
    int axis = (int)(a->axis < 0 ? a->axis + t->ndim : a->axis);
    out[0] = t;
    const tn_expr *extent[TN_RULE_MAX_RANK], *var[TN_RULE_MAX_RANK],
        *neutral = tn_te_neutral(p, reducer, t->dtype);
    int n_extent = 0, rank = t->ndim, beside = axis < rank - 1 ? rank - 1 : rank - 2;
    int64_t each, together = axis < rank - 1 ? RUN : ROWS;
    for (int i = 0; i < rank;
         i++) /* tasks: all positions but along the axis; of the dimension beside it, runs */
        if (i != axis)
            extent[n_extent++] = i == beside ? tn_ceildiv(p, t->dim[i], together) : t->dim[i];
    tn_code_each(&c, n_extent, extent, var);
    for (int i = 0, k = 0; i < rank; i++)
        at[i] = i == axis ? NULL : var[k++];
    const tn_expr *k = tn_code_for(&c, "k", t->dim[axis]), *before = tn_sub(p, k, one),
                  *end = tn_sub(p, t->dim[axis], one);
    if (beside >= 0) {
        const tn_expr *run = tn_idx(p, together), *first = tn_mul(p, at[beside], run),
                      *left = tn_sub(p, t->dim[beside], first);
        bool whole = tn_is_int(t->dim[beside], &each) && each % together == 0;
        const tn_expr *length = whole ? run : tn_min(p, left, run);
        at[beside] = tn_add(p, first,
                            axis < rank - 1 ? tn_code_spread(&c, "i", length) : tn_code_for(&c, "i", length));
    }
    at[axis] = a->reverse ? tn_sub(p, end, k) : k;
    for (int i = 0; i < t->ndim; i++)
        last[i] = from[i] = at[i];
    last[axis] = a->reverse ? tn_sub(p, end, before) : before;
    from[axis] = a->exclusive ? last[axis] : at[axis];
    const tn_expr *inner = tn_lt(p, tn_idx(p, 0), k);
    const tn_expr *sum = tn_load(p, t->dtype, t->buffer, t->ndim, last, inner, neutral);
    const tn_expr *term =
        a->exclusive ? tn_at_if(te, in[0], t->ndim, from, inner, neutral) : tn_at(te, in[0], t->ndim, from);
    tn_code_store(&c, t->buffer, t->ndim, at, tn_bin(p, op, sum, term));
}

static void cumsum_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    scan_body(te, n, in, out, "cumsum", TN_E_ADD, TN_RED_SUM);
}

static void cumprod_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    scan_body(te, n, in, out, "cumprod", TN_E_MUL, TN_RED_PROD);
}

static void cummax_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    scan_body(te, n, in, out, "cummax", TN_E_MAX, TN_RED_MAX);
}

static void cummin_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    scan_body(te, n, in, out, "cummin", TN_E_MIN, TN_RED_MIN);
}

/* clang-format off */
static const char *const data_in[] = {"data"};
static const tn_attr_field scan_fields[] = TN_ATTR_TABLE(tn_scan_attr, TN_SCAN_ATTRS);

#define SCAN(id, derivative, says) \
    const tn_op tn_op_##id = { \
        .name = #id, .doc = says, .attr_size = sizeof(tn_scan_attr), .attr = scan_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in, \
        .infer = scan_infer, .body = id##_body, .gradient = derivative, \
    };
SCAN(cumsum, tn_gradient_cumsum, "Running sums along an axis.")
SCAN(cumprod, NULL, "Running products along an axis.")
SCAN(cummax, NULL, "The largest element so far along an axis; NaN from the first one on.")
SCAN(cummin, NULL, "The smallest element so far along an axis; NaN from the first one on.")
/* clang-format on */
