/* vision.nms_select: greedy suppression of boxes, by class; -1 fills up. How many boxes stay depends on data:
 * the extent is a symbol that `bind_extent` has bound before. */
#include "op/order.h"

#include "op/vision/vision.h"

/* ---- vision.nms_select: for each batch and class, candidates in the order of their scores, each compared
 * with blocks of those that stay until one suppresses it: O(boxes * selected) ---- */

enum { GROUP = 5 }; /* the operand that may be left out */

static const char *const nms_in[] = {"boxes",         "scores",          "max_output_size",
                                     "iou_threshold", "score_threshold", "group"};

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
    if (n->nin > GROUP && n->in[GROUP].def) {
        TN_TRY(tn_rule_tensor(g, n, GROUP, 2, &t));
        TN_TRY(tn_rule_same_dtype(g, n, GROUP));
        if (!tn_rule_agree(g, n, box->dim[0], t->dim[0]) || !tn_rule_agree(g, n, box->dim[1], t->dim[1]))
            return tn_rule_fail(g, n, "op-E008", "boxes are %s, but their groups %s",
                                tn_rule_type_text(g, box), tn_rule_type_text(g, t));
    }
    return tn_rule_result(g, n, 0, TN_I64, 3, score->dim);
}

/* Boxes looked at together; numbers of a box, without and with a group. */
enum { BLOCK = 16, PLAIN = 5, SIDES };

typedef struct {
    const tn_expr *low[2], *high[2], *area, *group; /* group: NULL without groups */
} rectangle;

static rectangle box_at(tn_te *te, const tn_tensor *box, const tn_expr *b, const tn_expr *i, bool center)
{
    tn_pool *p = te->pool;
    const tn_expr *v[4];
    rectangle r = {.group = NULL};
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

/* intersection / union > threshold, of a box that stays and a later one whose group is the same, or below 0 */
static const tn_expr *too_close(tn_pool *p, const rectangle *a, const rectangle *b, const tn_expr *threshold)
{
    const tn_expr *zero = tn_flt(p, threshold->dtype, 0), *side[2];
    for (int k = 0; k < 2; k++)
        side[k] =
            tn_max(p, tn_sub(p, tn_min(p, a->high[k], b->high[k]), tn_max(p, a->low[k], b->low[k])), zero);
    const tn_expr *both = tn_mul(p, side[0], side[1]);
    const tn_expr *all = tn_sub(p, tn_add(p, a->area, b->area), both);
    const tn_expr *real = tn_and(p, tn_lt(p, zero, a->area), tn_lt(p, zero, b->area));
    if (a->group)
        real = tn_and(p, real,
                      tn_bin(p, TN_E_OR, tn_lt(p, b->group, tn_flt(p, b->group->dtype, 0)),
                             tn_eq(p, a->group, b->group)));
    return tn_and(p, real, tn_lt(p, threshold, tn_bin(p, TN_E_DIV, both, all)));
}

typedef struct nms {
    tn_code c;
    tn_te *te;
    tn_tensor *const *in;
    const tn_tensor *out;
    bool center;
    int sides;                              /* PLAIN or SIDES */
    const tn_expr *v[2], *row, *zero, *one; /* batch and class; the task's number */
    const tn_expr *boxes;
    tn_order o;
    uint32_t kept, n_kept, n; /* boxes that stay, and their number; candidates (cells) */
} nms;

static const tn_expr *count_of(nms *w, uint32_t cell)
{
    return tn_code_let(&w->c, "n", tn_cast(w->c.p, TN_IDX, tn_code_get(&w->c, cell)));
}

/* Boxes above the score threshold, best first; the list that holds them. */
static const tn_expr *candidates(nms *w)
{
    tn_pool *p = w->c.p;
    tn_body *task = w->c.at;
    w->n = tn_code_cell(&w->c, "candidates", tn_int(p, TN_I32, 0));
    const tn_expr *i = tn_code_for(&w->c, "i", w->boxes), *index[3] = {w->v[0], w->v[1], i};
    const tn_expr *score = tn_code_let(&w->c, "score", tn_at(w->te, w->in[1], 3, index));
    tn_code_if(&w->c, tn_lt(p, tn_at(w->te, w->in[4], 0, NULL), score));
    const tn_expr *at = count_of(w, w->n);
    tn_order_put(&w->o, w->zero, at, tn_order_key(p, score, false), i);
    tn_code_set(&w->c, w->n, tn_cast(p, TN_I32, tn_add(p, at, w->one)));
    w->c.at = task;
    return tn_order_sort(&w->o, count_of(w, w->n));
}

static void sides_of(rectangle *r, const tn_expr **side[SIDES])
{
    side[0] = &r->low[0], side[1] = &r->low[1], side[2] = &r->high[0], side[3] = &r->high[1];
    side[4] = &r->area, side[PLAIN] = &r->group;
}

/* Where number k of kept box j is. */
static int kept_at(nms *w, int k, const tn_expr *j, const tn_expr *index[3])
{
    int n = 0;
    if (w->o.row)
        index[n++] = w->o.row;
    index[n++] = tn_idx(w->c.p, k);
    index[n++] = j;
    return n;
}

static rectangle kept_box(nms *w, const tn_expr *j)
{
    rectangle r = {.group = NULL};
    const tn_expr **side[SIDES], *index[3];
    sides_of(&r, side);
    for (int k = 0; k < w->sides; k++) {
        int n = kept_at(w, k, j, index);
        *side[k] = tn_code_load(&w->c, w->kept, n, index);
    }
    return r;
}

/* Whether box a is too close to one of those that stay, block by block. */
static const tn_expr *is_suppressed(nms *w, const rectangle *a, const tn_expr *n_kept)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr *none = tn_int(p, TN_I32, 0), *size = tn_idx(p, BLOCK);
    uint32_t close = tn_code_cell(&w->c, "close", none);
    const tn_expr *block = tn_code_for(&w->c, "block", tn_ceildiv(p, n_kept, BLOCK));
    tn_code_if(&w->c, tn_eq(p, tn_code_get(&w->c, close), none));
    const tn_expr *j = tn_add(p, tn_mul(p, block, size), tn_code_combine(&w->c, "j", size));
    rectangle b = kept_box(w, j);
    const tn_expr *hit = tn_cast(p, TN_I32, too_close(p, &b, a, tn_at(w->te, w->in[3], 0, NULL)));
    tn_code_set(&w->c, close, tn_max(p, tn_code_get(&w->c, close), hit));
    w->c.at = back;
    return tn_lt(p, none, tn_code_get(&w->c, close));
}

/* Box a stays. A block begins with boxes without area, which are close to none; so is kept what suppresses none. */
static void keep(nms *w, rectangle *a, const tn_expr *at, const tn_expr *n_kept)
{
    tn_pool *p = w->c.p;
    tn_body *back = w->c.at;
    const tn_expr **side[SIDES], *index[3], *slot[3] = {w->v[0], w->v[1], n_kept}, *size = tn_idx(p, BLOCK);
    tn_code_if(&w->c, tn_eq(p, tn_fmod(p, n_kept, size), w->zero));
    tn_body *fresh = w->c.at;
    for (int k = 0; k < w->sides; k++) {
        w->c.at = fresh;
        int n = kept_at(w, k, tn_add(p, n_kept, tn_code_spread(&w->c, "j", size)), index);
        tn_code_store(&w->c, w->kept, n, index, tn_flt(p, a->area->dtype, 0));
    }
    w->c.at = back;
    if (a->group) {
        const tn_expr *zero = tn_flt(p, a->area->dtype, 0);
        a->area = tn_select(p, tn_le(p, zero, a->group), a->area, zero);
    }
    sides_of(a, side);
    for (int k = 0; k < w->sides; k++) {
        int n = kept_at(w, k, n_kept, index);
        tn_code_store(&w->c, w->kept, n, index, *side[k]);
    }
    tn_code_store(&w->c, w->out->buffer, 3, slot, tn_cast(p, TN_I64, at));
    tn_code_set(&w->c, w->n_kept, tn_cast(p, TN_I32, tn_add(p, n_kept, w->one)));
}

static void suppress(nms *w, const tn_expr *list)
{
    tn_pool *p = w->c.p;
    tn_body *task = w->c.at;
    w->n_kept = tn_code_cell(&w->c, "kept", tn_int(p, TN_I32, 0));
    const tn_expr *k = tn_code_for(&w->c, "k", count_of(w, w->n)), *n_kept = count_of(w, w->n_kept);
    tn_code_if(&w->c, tn_lt(p, tn_cast(p, TN_I64, n_kept), tn_at(w->te, w->in[2], 0, NULL)));
    const tn_expr *at = tn_code_let(&w->c, "at", tn_order_place(&w->o, list, k)), **side[SIDES];
    rectangle a = box_at(w->te, w->in[0], w->v[0], at, w->center);
    if (w->sides == SIDES)
        a.group = tn_at2(w->te, w->in[GROUP], w->v[0], at);
    sides_of(&a, side);
    for (int i = 0; i < w->sides; i++)
        *side[i] = tn_code_let(&w->c, "side", *side[i]);
    tn_code_if(&w->c, tn_not(p, is_suppressed(w, &a, n_kept)));
    keep(w, &a, at, n_kept);
    w->c.at = task;
    n_kept = count_of(w, w->n_kept);
    const tn_expr *rest = tn_code_spread(&w->c, "rest", tn_sub(p, w->boxes, n_kept));
    const tn_expr *slot[3] = {w->v[0], w->v[1], tn_add(p, n_kept, rest)};
    tn_code_store(&w->c, w->out->buffer, 3, slot, tn_int(p, TN_I64, -1));
    w->c.at = task;
}

static void nms_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    nms w = {.c = tn_code_open(te, n, 0, "nms", &out[0]), .te = te, .in = in, .boxes = in[1]->dim[2]};
    tn_pool *p = te->pool;
    tn_dtype t = in[1]->dtype;
    const tn_expr *const *dim = in[1]->dim, *rows = tn_simplify(p, NULL, tn_mul(p, dim[0], dim[1]));
    const tn_expr *room = tn_simplify(p, NULL, tn_mul(p, tn_ceildiv(p, w.boxes, BLOCK), tn_idx(p, BLOCK)));
    w.sides = n->nin > GROUP && n->in[GROUP].def ? SIDES : PLAIN;
    const tn_expr *size[3] = {rows, tn_idx(p, w.sides), room};
    bool known = room->kind == TN_E_INT;
    w.center = ((const tn_nms_attr *)n->attr)->center_point_box;
    w.out = out[0];
    w.zero = tn_idx(p, 0), w.one = tn_idx(p, 1);
    w.o = tn_order_open(&w.c, t, rows, w.boxes);
    if (!known)
        w.kept = tn_code_buffer(&w.c, "boxes", t, 3, size, TN_SCOPE_GLOBAL);
    tn_code_each(&w.c, 2, dim, w.v);
    tn_order_begin(&w.o, &w.c, tn_add(p, tn_mul(p, w.v[0], dim[1]), w.v[1]), t);
    if (known)
        w.kept = tn_code_buffer(&w.c, "boxes", t, 2, size + 1, TN_SCOPE_LOCAL);
    suppress(&w, candidates(&w));
}

/* clang-format off */
static const tn_attr_field nms_fields[] = TN_ATTR_TABLE(tn_nms_attr, TN_NMS_ATTRS);

const tn_op tn_op_vision_nms_select = {
    .name = "vision.nms_select",
    .doc = "Boxes that stay after greedy suppression, best first, for each batch and class; -1 fills up. Boxes of "
           "different groups [b, n] do not meet; one of a group below 0 meets all, and suppresses none.",
    .attr_size = sizeof(tn_nms_attr), .attr = nms_fields,
    .nin = 6, .min_in = 5, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = nms_in,
    .infer = nms_infer, .body = nms_body,
};
/* clang-format on */
