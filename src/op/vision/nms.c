/* vision.nms_select: greedy suppression of boxes, by class; -1 fills up. How many boxes stay depends on data:
 * the extent is a symbol that `bind_extent` has bound before. */
#include "op/code.h"

#include "op/vision/vision.h"

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
static const tn_attr_field nms_fields[] = TN_ATTR_TABLE(tn_nms_attr, TN_NMS_ATTRS);

const tn_op tn_op_vision_nms_select = {
    .name = "vision.nms_select",
    .doc = "Boxes that stay after greedy suppression, best first, for each batch and class; -1 fills up.",
    .attr_size = sizeof(tn_nms_attr), .attr = nms_fields,
    .nin = 5, .min_in = 5, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = nms_in,
    .infer = nms_infer, .body = nms_body,
};
/* clang-format on */
