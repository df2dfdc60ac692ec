/* Operators whose extents depend on data. The extents are symbols that `bind_extent` has bound before; the operators
 * compute what belongs there and never count themselves.
 *
 *   where_true          positions at which a list of bools holds
 *   dyn.reshape         a reshape of which only the run knows that it is one
 *   dyn.broadcast_to    repeats dimensions of which only the run knows whether they are 1
 *   dyn.strided_slice   begins and strides in tensors
 *   vision.nms_select   greedy suppression of boxes, by class; -1 fills up
 */
#include "op/code.h"

static const char *const data_in[] = {"data", "begin", "strides"};

/* ---- where_true: one pass, in order ---- */

static tn_status where_true_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, 1, &t));
    if (!tn_dtype_is_bool(t->dtype))
        return tn_rule_fail(g, n, "op-E011", "data must be bool, but is %s", tn_rule_type_text(g, t));
    if (a->extent.n != 1)
        return tn_rule_fail(g, n, "op-E007", "extent has %u entries; one is expected", (unsigned)a->extent.n);
    return tn_rule_result(g, n, 0, TN_I64, 1, a->extent.at);
}

static void where_true_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_code c = tn_code_open(te, n, 0, "where_true", &out[0]);
    tn_pool *p = c.p;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1);
    (void)tn_code_parallel(&c, "all", one);
    uint32_t count = tn_code_buffer(&c, "count", TN_I64, 1, &one, TN_SCOPE_REGISTER);
    tn_code_store(&c, count, 1, &zero, tn_int(p, TN_I64, 0));
    const tn_expr *i = tn_code_for(&c, "i", in[0]->dim[0]);
    tn_code_if(&c, tn_at1(te, in[0], i));
    tn_body *found = c.at;
    const tn_expr *at = tn_code_let(&c, "at", tn_cast(p, TN_IDX, tn_code_load(&c, count, 1, &zero)));
    tn_code_store(&c, count, 1, &zero, tn_add(p, tn_code_load(&c, count, 1, &zero), tn_int(p, TN_I64, 1)));
    tn_code_if(&c, tn_lt(p, at, out[0]->dim[0]));
    tn_code_store(&c, out[0]->buffer, 1, &at, tn_cast(p, TN_I64, i));
    c.at = found;
}

/* clang-format off */
static const tn_attr_field extent_fields[] = {
    {"extent", TN_A_DIMS, offsetof(tn_extent_attr, extent), NULL, "extents of the result"},
    {0},
};

const tn_op tn_op_where_true = {
    .name = "where_true", .doc = "Positions at which a list of bools holds, in order; how many is given.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = where_true_infer, .body = where_true_body,
};
/* clang-format on */

/* ---- dyn.reshape ---- */

static tn_status dyn_reshape_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->extent.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "the result has %u dimensions; at most %d are supported",
                            (unsigned)a->extent.n, TN_RULE_MAX_RANK);
    return tn_rule_result(g, n, 0, t->dtype, (int)a->extent.n, a->extent.at);
}

static void dyn_reshape_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_expr *index[TN_RULE_MAX_RANK];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "reshape", "injective", NULL);
    tn_rule_reshape_index(te, in[0]->ndim, in[0]->dim, t, index);
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* clang-format off */
const tn_op tn_op_dyn_reshape = {
    .name = "dyn.reshape", .doc = "A reshape to extents bound during the run, where their product was checked.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP | TN_OP_SHARES, .fuse = TN_FUSE_INJECTIVE,
    .in_name = data_in, .infer = dyn_reshape_infer, .compute = dyn_reshape_compute,
};
/* clang-format on */

/* ---- dyn.broadcast_to ---- */

static tn_status dyn_broadcast_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    TN_TRY(dyn_reshape_infer(g, n));
    const tn_type *t = tn_in_type(n, 0);
    if (a->extent.n < t->n)
        return tn_rule_fail(g, n, "op-E003", "%s has more dimensions than the result",
                            tn_rule_type_text(g, t));
    return TN_OK;
}

static void dyn_broadcast_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "broadcast_to", "injective", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *one = tn_idx(p, 1), *zero = tn_idx(p, 0);
    for (int i = 0; i < in[0]->ndim; i++) {
        const tn_expr *d = in[0]->dim[i], *axis = t->axis[t->ndim - in[0]->ndim + i];
        index[i] = d == t->dim[t->ndim - in[0]->ndim + i] ? axis : tn_select(p, tn_eq(p, d, one), zero, axis);
    }
    tn_te_define(te, t, tn_at(te, in[0], in[0]->ndim, index));
}

/* clang-format off */
const tn_op tn_op_dyn_broadcast_to = {
    .name = "dyn.broadcast_to", .doc = "Repeats a tensor to extents bound during the run.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = dyn_broadcast_infer, .compute = dyn_broadcast_compute,
};
/* clang-format on */

/* ---- dyn.strided_slice: begins are positions in [0, extent) already ---- */

static tn_status dyn_slice_infer(tn_graph *g, tn_node *n)
{
    const tn_extent_attr *a = n->attr;
    const tn_type *t, *b, *s;
    int64_t k, m;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    TN_TRY(tn_rule_tensor(g, n, 1, 1, &b));
    TN_TRY(tn_rule_tensor(g, n, 2, 1, &s));
    if (!tn_dtype_is_int(b->dtype) || !tn_dtype_is_int(s->dtype) || !tn_is_int(b->dim[0], &k) ||
        !tn_is_int(s->dim[0], &m) || k != t->n || m != t->n || a->extent.n != t->n)
        return tn_rule_fail(g, n, "op-E007",
                            "begin, strides and extent must have an integer for each dimension of %s",
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, t->n, a->extent.at);
}

static void dyn_slice_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "slice", "injective", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *zero = tn_idx(p, 0), *one = tn_idx(p, 1);
    for (int i = 0; i < t->ndim; i++) {
        const tn_expr *b = tn_cast(p, TN_IDX, tn_at1(te, in[1], tn_idx(p, i))),
                      *s = tn_cast(p, TN_IDX, tn_at1(te, in[2], tn_idx(p, i)));
        const tn_expr *at = tn_add(p, b, tn_mul(p, t->axis[i], s));
        index[i] = tn_max(p, zero, tn_min(p, at, tn_sub(p, in[0]->dim[i], one)));
    }
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

/* clang-format off */
const tn_op tn_op_dyn_strided_slice = {
    .name = "dyn.strided_slice", .doc = "A part of a tensor whose begins and strides are data, its extents bound.",
    .attr_size = sizeof(tn_extent_attr), .attr = extent_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = dyn_slice_infer, .compute = dyn_slice_compute,
};
/* clang-format on */

/* ---- vision.nms_select: for each batch and class, O(boxes * selected) ---- */

static const char *const nms_in[] = {"boxes", "scores", "max_output_size", "iou_threshold",
                                     "score_threshold"};

static tn_status nms_infer(tn_graph *g, tn_node *n)
{
    const tn_type *box, *score, *t;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &box));
    TN_TRY(tn_rule_tensor(g, n, 1, 3, &score));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    for (int i = 2; i < 5; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, 0, &t));
        if (i > 2 ? !tn_dtype_eq(t->dtype, box->dtype) : !tn_dtype_eq(t->dtype, TN_I64))
            return tn_rule_fail(g, n, "op-E011", "%s is %s", nms_in[i], tn_rule_type_text(g, t));
    }
    if (!tn_is_value(box->dim[2], 4) || !tn_rule_agree(g, n, box->dim[0], score->dim[0]) ||
        !tn_rule_agree(g, n, box->dim[1], score->dim[2]))
        return tn_rule_fail(g, n, "op-E008",
                            "boxes are %s and scores %s, but must be (b, n, 4) and (b, classes, n)",
                            tn_rule_type_text(g, box), tn_rule_type_text(g, score));
    return tn_rule_result(g, n, 0, TN_I64, 3, score->dim);
}

typedef struct {
    const tn_expr *low[2], *high[2], *area;
} rectangle;

static rectangle box_at(tn_te *te, const tn_tensor *box, const tn_expr *b, const tn_expr *i, bool center)
{
    tn_pool *p = te->pool;
    const tn_expr *v[4];
    rectangle r;
    for (int k = 0; k < 4; k++)
        v[k] = tn_at3(te, box, b, i, tn_idx(p, k));
    for (int k = 0; k < 2; k++) {
        const tn_expr *half = tn_mul(p, v[k + 2], tn_flt(p, v[k]->dtype, 0.5));
        r.low[k] = center ? tn_sub(p, v[k], half) : tn_min(p, v[k], v[k + 2]);
        r.high[k] = center ? tn_add(p, v[k], half) : tn_max(p, v[k], v[k + 2]);
    }
    r.area = tn_mul(p, tn_sub(p, r.high[0], r.low[0]), tn_sub(p, r.high[1], r.low[1]));
    return r;
}

/* intersection / union > threshold */
static const tn_expr *too_close(tn_pool *p, const rectangle *a, const rectangle *b, const tn_expr *threshold)
{
    const tn_expr *zero = tn_flt(p, threshold->dtype, 0), *side[2];
    for (int k = 0; k < 2; k++)
        side[k] =
            tn_max(p, tn_sub(p, tn_min(p, a->high[k], b->high[k]), tn_max(p, a->low[k], b->low[k])), zero);
    const tn_expr *both = tn_mul(p, side[0], side[1]);
    const tn_expr *all = tn_sub(p, tn_add(p, a->area, b->area), both);
    const tn_expr *real = tn_and(p, tn_lt(p, zero, a->area), tn_lt(p, zero, b->area));
    return tn_and(p, real, tn_lt(p, threshold, tn_bin(p, TN_E_DIV, both, all)));
}

static void nms_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    bool center = ((const tn_nms_attr *)n->attr)->center_point_box;
    tn_code c = tn_code_open(te, n, 0, "nms", &out[0]);
    tn_pool *p = c.p;
    const tn_expr *zero = tn_idx(p, 0), *one = tn_idx(p, 1), *v[2], *boxes = in[1]->dim[2];
    tn_dtype t = in[1]->dtype;
    uint32_t alive = tn_code_buffer(&c, "alive", TN_I32, 3, in[1]->dim, TN_SCOPE_GLOBAL);
    tn_code_tasks(&c, 2, in[1]->dim, v, 0);
    uint32_t best = tn_code_buffer(&c, "best", TN_I32, 1, &one, TN_SCOPE_REGISTER),
             top = tn_code_buffer(&c, "top", t, 1, &one, TN_SCOPE_REGISTER);
    tn_body *task = c.at;
    const tn_expr *i = tn_code_for(&c, "i", boxes), *index[3] = {v[0], v[1], i};
    const tn_expr *enough = tn_lt(p, tn_at(te, in[4], 0, NULL), tn_at(te, in[1], 3, index));
    tn_code_store(&c, alive, 3, index, tn_cast(p, TN_I32, enough));
    c.at = task;
    tn_code_store(&c, best, 1, &zero, tn_int(p, TN_I32, 0));
    const tn_expr *k = tn_code_for(&c, "k", boxes), *slot[3] = {v[0], v[1], k};
    tn_body *turn = c.at;
    const tn_expr *found =
        tn_le(p, tn_int(p, TN_I32, 0), tn_code_load(&c, best, 1, &zero)); /* else none is left */
    const tn_expr *wanted = tn_lt(p, tn_cast(p, TN_I64, k), tn_at(te, in[2], 0, NULL));
    const tn_expr *go = tn_code_let(&c, "go", tn_and(p, found, wanted));
    tn_code_store(&c, best, 1, &zero, tn_int(p, TN_I32, -1));
    tn_code_store(&c, top, 1, &zero, tn_flt(p, t, 0));
    tn_code_if(&c, go);
    index[2] = i = tn_code_for(&c, "j", boxes);
    const tn_expr *score = tn_code_let(&c, "score", tn_at(te, in[1], 3, index));
    const tn_expr *first = tn_lt(p, tn_code_load(&c, best, 1, &zero), tn_int(p, TN_I32, 0));
    const tn_expr *better = tn_bin(p, TN_E_OR, first, tn_lt(p, tn_code_load(&c, top, 1, &zero), score));
    tn_code_if(&c, tn_and(p, tn_lt(p, tn_int(p, TN_I32, 0), tn_code_load(&c, alive, 3, index)), better));
    tn_code_store(&c, top, 1, &zero, score);
    tn_code_store(&c, best, 1, &zero, tn_cast(p, TN_I32, i));
    c.at = turn;
    tn_code_store(&c, out[0]->buffer, 3, slot, tn_cast(p, TN_I64, tn_code_load(&c, best, 1, &zero)));
    tn_code_if(&c, tn_le(p, tn_int(p, TN_I32, 0), tn_code_load(&c, best, 1, &zero)));
    const tn_expr *at = tn_code_let(&c, "at", tn_cast(p, TN_IDX, tn_code_load(&c, best, 1, &zero)));
    index[2] = at;
    tn_code_store(&c, alive, 3, index, tn_int(p, TN_I32, 0));
    index[2] = i = tn_code_for(&c, "m", boxes);
    rectangle a = box_at(te, in[0], v[0], at, center), b = box_at(te, in[0], v[0], i, center);
    tn_code_if(&c, too_close(p, &a, &b, tn_at(te, in[3], 0, NULL)));
    tn_code_store(&c, alive, 3, index, tn_int(p, TN_I32, 0));
}

/* clang-format off */
static const tn_attr_field nms_fields[] = {
    {"center_point_box", TN_A_BOOL, offsetof(tn_nms_attr, center_point_box), "False",
        "boxes are center and size, not two corners"},
    {0},
};

const tn_op tn_op_vision_nms_select = {
    .name = "vision.nms_select",
    .doc = "Boxes that stay after greedy suppression, best first, for each batch and class; -1 fills up.",
    .attr_size = sizeof(tn_nms_attr), .attr = nms_fields,
    .nin = 5, .min_in = 5, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = nms_in,
    .infer = nms_infer, .body = nms_body,
};
/* clang-format on */
