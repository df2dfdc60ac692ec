/* Boxes of images, as data: vision.roi_align, vision.roi_pool. */
#include "op/code.h"

#include "op/vision/vision.h"

#include <string.h>

/* ---- boxes ---- */

static tn_status check_size(tn_graph *g, tn_node *n)
{
    tn_roi_attr a = *(const tn_roi_attr *)n->attr;
    TN_TRY(tn_rule_layout_is(g, n, "layout", a.layout, "NCHW", "data"));
    TN_TRY(tn_rule_ints(g, n, "pooled_size", &a.pooled_size, 2, 1, 1));
    tn_rule_set_attr(g, n, &a);
    return TN_OK;
}

static tn_status roi_result(tn_graph *g, tn_node *n, const tn_type *data, const tn_expr *count)
{
    const tn_roi_attr *a = n->attr;
    const tn_expr *dim[4] = {count, data->dim[1], tn_idx(g->pool, a->pooled_size.at[0]),
                             tn_idx(g->pool, a->pooled_size.at[1])};
    TN_TRY(tn_rule_result(g, n, 0, data->dtype, 4, dim));
    for (int i = 0; i < 4; i++)
        TN_TRY(tn_rule_elements(g, n, data, i));
    return TN_OK;
}

/* data [n, c, h, w], rois [r, 4]: x1 y1 x2 y2, batch indices [r] */
static tn_status roi_align_infer(tn_graph *g, tn_node *n)
{
    const tn_roi_attr *a = n->attr;
    const tn_type *data, *rois, *batch;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, 2, &rois));
    TN_TRY(tn_rule_tensor(g, n, 2, 1, &batch));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(check_size(g, n));
    if (!tn_dtype_eq(batch->dtype, TN_I64))
        return tn_rule_fail(g, n, "op-E011", "batch indices must be int64, but are %s; cast them",
                            tn_rule_dtype_text(g, batch->dtype));
    if (!tn_is_value(rois->dim[1], 4) || !tn_rule_agree(g, n, rois->dim[0], batch->dim[0]))
        return tn_rule_fail(g, n, "op-E008", "rois %s and batch indices %s do not match",
                            tn_rule_type_text(g, rois), tn_rule_type_text(g, batch));
    if (a->sample_ratio < 0 || a->sample_ratio > 4096 || !a->mode ||
        (strcmp(a->mode, "avg") != 0 && strcmp(a->mode, "max") != 0))
        return tn_rule_fail(g, n, "op-E007",
                            "sample_ratio is %lld, mode \"%s\"; known are 0 to 4096 and avg, max",
                            (long long)a->sample_ratio, a->mode ? a->mode : "");
    return roi_result(g, n, data, rois->dim[0]);
}

/* rois [r, 5]: batch x1 y1 x2 y2 */
static tn_status roi_pool_infer(tn_graph *g, tn_node *n)
{
    const tn_type *data, *rois;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, 2, &rois));
    TN_TRY(tn_rule_float(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(check_size(g, n));
    if (!tn_is_value(rois->dim[1], 5))
        return tn_rule_fail(g, n, "op-E008", "rois must be [r, 5], but are %s", tn_rule_type_text(g, rois));
    return roi_result(g, n, data, rois->dim[0]);
}

typedef struct box { /* being written: one result at v = (roi, channel, row, column) */
    tn_code c;
    tn_pool *p;
    const tn_roi_attr *a;
    const tn_tensor *data;
    tn_dtype t;
    const tn_expr *v[4], *batch;
    uint32_t sum; /* one element, of the task */
} box;

static const tn_expr *number(const box *b, double v) { return tn_flt(b->p, b->t, v); }

static const tn_expr *integral(const box *b, const tn_expr *v)
{
    return tn_cast(b->p, TN_IDX, tn_cast(b->p, TN_I32, v));
}

static const tn_expr *ratio(const box *b, const tn_expr *x, const tn_expr *y)
{
    return tn_bin(b->p, TN_E_DIV, x, y);
}

static const tn_expr *zero_at(const box *b) { return tn_idx(b->p, 0); }

static void put(box *b, const tn_expr *value)
{
    const tn_expr *at = zero_at(b);
    tn_code_store(&b->c, b->sum, 1, &at, value);
}

static const tn_expr *get(box *b)
{
    const tn_expr *at = zero_at(b);
    return tn_code_load(&b->c, b->sum, 1, &at);
}

static box box_open(tn_te *te, const tn_node *n, tn_tensor *const in[], const char *name, tn_tensor **t)
{
    box b = {.c = tn_code_open(te, n, 0, name, t), .p = te->pool, .a = n->attr, .data = in[0]};
    const tn_expr *one = tn_idx(te->pool, 1);
    b.t = tn_rule_accumulator(in[0]->dtype);
    tn_code_tasks(&b.c, 4, (*t)->dim, b.v, 16);
    b.sum = tn_code_buffer(&b.c, "sum", b.t, 1, &one, TN_SCOPE_LOCAL);
    return b;
}

static void check_batch(box *b, const tn_expr *batch, const char *text)
{
    b->batch = tn_code_let(&b->c, "batch", batch);
    tn_code_check(
        &b->c, tn_and(b->p, tn_le(b->p, tn_idx(b->p, 0), b->batch), tn_lt(b->p, b->batch, b->data->dim[0])),
        text);
}

/* ---- vision.roi_align ---- */

typedef struct side {
    const tn_expr *start, *bin, *count;
} side; /* of the box along rows or columns */

/* k 0: rows, 1: columns */
static side align_side(box *b, tn_te *te, const tn_tensor *rois, int k)
{
    tn_pool *p = b->p;
    const tn_expr *scale = number(b, b->a->spatial_scale), *offset = number(b, b->a->aligned ? 0.5 : 0),
                  *end[2];
    for (int i = 0; i < 2; i++) {
        const tn_expr *x = tn_cast(p, b->t, tn_at2(te, rois, b->v[0], tn_idx(p, 2 * i + 1 - k)));
        end[i] = tn_sub(p, tn_mul(p, x, scale), offset);
    }
    const tn_expr *extent = tn_sub(p, end[1], end[0]), *pooled = number(b, (double)b->a->pooled_size.at[k]);
    extent = b->a->aligned ? extent : tn_max(p, extent, number(b, 1));
    side s = {tn_code_let(&b->c, "start", end[0]), tn_code_let(&b->c, "bin", ratio(b, extent, pooled)), NULL};
    const tn_expr *adaptive = tn_max(p, integral(b, tn_intrinsic1(p, TN_F_ceil, s.bin)), tn_idx(p, 0));
    s.count = b->a->sample_ratio > 0 ? tn_idx(p, b->a->sample_ratio) : tn_code_let(&b->c, "count", adaptive);
    return s;
}

typedef struct sample {
    const tn_expr *low, *high, *part, *inside;
} sample; /* part: of the way from low to high */

static sample align_tap(box *b, const side *s, int k, const tn_expr *number_of)
{
    tn_pool *p = b->p;
    const tn_expr *extent = b->data->dim[2 + k], *last = tn_sub(p, extent, tn_idx(p, 1));
    const tn_expr *step = ratio(b, tn_mul(p, tn_add(p, tn_cast(p, b->t, number_of), number(b, 0.5)), s->bin),
                                tn_cast(p, b->t, s->count));
    const tn_expr *bin = tn_mul(p, tn_cast(p, b->t, b->v[2 + k]), s->bin);
    const tn_expr *at = tn_code_let(&b->c, "at", tn_add(p, tn_add(p, s->start, bin), step));
    sample t = {.inside = tn_and(p, tn_le(p, number(b, -1), at), tn_le(p, at, tn_cast(p, b->t, extent)))};
    at = tn_max(p, at, number(b, 0));
    t.low = tn_code_let(&b->c, "low", tn_min(p, tn_max(p, integral(b, at), tn_idx(p, 0)), last));
    t.high = tn_code_let(&b->c, "high", tn_min(p, tn_add(p, t.low, tn_idx(p, 1)), last));
    const tn_expr *part = tn_sub(p, at, tn_cast(p, b->t, t.low));
    t.part = tn_code_let(&b->c, "part", tn_select(p, tn_lt(p, t.low, last), part, number(b, 0)));
    return t;
}

static void roi_align_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    box b = box_open(te, n, in, "roi_align", &out[0]);
    tn_pool *p = b.p;
    bool largest = b.a->mode[0] == 'm';
    check_batch(&b, tn_cast(p, TN_IDX, tn_at1(te, in[2], b.v[0])),
                "vision.roi_align: a batch index is outside the data");
    side rows = align_side(&b, te, in[1], 0), columns = align_side(&b, te, in[1], 1);
    const tn_expr *first = largest ? number(&b, -3.4028234663852886e38) : number(&b, 0);
    put(&b, first);
    tn_body *after = b.c.at;
    const tn_expr *iy = tn_code_for(&b.c, "iy", rows.count), *ix = tn_code_for(&b.c, "ix", columns.count);
    sample y = align_tap(&b, &rows, 0, iy), x = align_tap(&b, &columns, 1, ix);
    const tn_expr *sum = NULL, *inside = tn_and(p, y.inside, x.inside);
    for (int k = 0; k < 4; k++) {
        const tn_expr *wy = k & 2 ? y.part : tn_sub(p, number(&b, 1), y.part),
                      *wx = k & 1 ? x.part : tn_sub(p, number(&b, 1), x.part);
        const tn_expr *v = tn_at4(te, in[0], b.batch, b.v[1], k & 2 ? y.high : y.low, k & 1 ? x.high : x.low);
        v = tn_mul(p, tn_mul(p, wy, wx), tn_cast(p, b.t, v));
        sum = !sum ? v : largest ? tn_max(p, sum, v) : tn_add(p, sum, v);
    }
    sum = tn_select(p, inside, sum, number(&b, 0));
    put(&b, largest ? tn_max(p, get(&b), sum) : tn_add(p, get(&b), sum));
    b.c.at = after;
    const tn_expr *samples = tn_mul(p, rows.count, columns.count), *none = tn_lt(p, samples, tn_idx(p, 1));
    const tn_expr *mean = ratio(&b, get(&b), tn_cast(p, b.t, tn_max(p, samples, tn_idx(p, 1))));
    const tn_expr *v = largest ? tn_select(p, none, number(&b, 0), get(&b)) : mean;
    tn_code_store(&b.c, out[0]->buffer, 4, b.v, tn_cast(p, out[0]->dtype, v));
}

/* ---- vision.roi_pool ---- */

/* Elements [from, end) of the bin along rows (k 0) or columns. */
static void pool_side(box *b, tn_te *te, const tn_tensor *rois, int k, const tn_expr **from,
                      const tn_expr **count)
{
    tn_pool *p = b->p;
    const tn_expr *corner[2], *zero = tn_idx(p, 0), *extent = b->data->dim[2 + k];
    for (int i = 0; i < 2; i++) { /* rounded, halves away from 0 */
        const tn_expr *x = tn_cast(p, b->t, tn_at2(te, rois, b->v[0], tn_idx(p, 2 * i + 2 - k)));
        x = tn_mul(p, x, number(b, b->a->spatial_scale));
        const tn_expr *away =
            tn_intrinsic1(p, TN_F_floor, tn_add(p, tn_intrinsic1(p, TN_F_abs, x), number(b, 0.5)));
        corner[i] = tn_code_let(
            &b->c, "corner",
            integral(b, tn_select(p, tn_lt(p, x, number(b, 0)), tn_sub(p, number(b, 0), away), away)));
    }
    const tn_expr *size = tn_max(p, tn_add(p, tn_sub(p, corner[1], corner[0]), tn_idx(p, 1)), tn_idx(p, 1));
    const tn_expr *bin = ratio(b, tn_cast(p, b->t, size), number(b, (double)b->a->pooled_size.at[k]));
    const tn_expr *edge[2];
    for (int i = 0; i < 2; i++) {
        const tn_expr *at = tn_mul(p, tn_cast(p, b->t, tn_add(p, b->v[2 + k], tn_idx(p, i))), bin);
        at = tn_add(p, integral(b, tn_intrinsic1(p, i ? TN_F_ceil : TN_F_floor, at)), corner[0]);
        edge[i] = tn_code_let(&b->c, "edge", tn_min(p, tn_max(p, at, zero), extent));
    }
    *from = edge[0];
    *count = tn_code_let(&b->c, "count", tn_max(p, tn_sub(p, edge[1], edge[0]), zero));
}

static void roi_pool_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    box b = box_open(te, n, in, "roi_pool", &out[0]);
    tn_pool *p = b.p;
    const tn_expr *from[2], *count[2];
    check_batch(&b, integral(&b, tn_cast(p, b.t, tn_at2(te, in[1], b.v[0], tn_idx(p, 0)))),
                "vision.roi_pool: a batch index is outside the data");
    for (int k = 0; k < 2; k++)
        pool_side(&b, te, in[1], k, &from[k], &count[k]);
    const tn_expr *empty =
        tn_bin(p, TN_E_OR, tn_eq(p, count[0], tn_idx(p, 0)), tn_eq(p, count[1], tn_idx(p, 0)));
    put(&b, tn_select(p, empty, number(&b, 0), number(&b, -3.4028234663852886e38)));
    tn_body *after = b.c.at;
    const tn_expr *y = tn_code_for(&b.c, "y", count[0]), *x = tn_code_for(&b.c, "x", count[1]);
    const tn_expr *v = tn_at4(te, in[0], b.batch, b.v[1],
                              tn_min(p, tn_add(p, from[0], y), tn_sub(p, in[0]->dim[2], tn_idx(p, 1))),
                              tn_min(p, tn_add(p, from[1], x), tn_sub(p, in[0]->dim[3], tn_idx(p, 1))));
    put(&b, tn_max(p, get(&b), tn_cast(p, b.t, v)));
    b.c.at = after;
    tn_code_store(&b.c, out[0]->buffer, 4, b.v, tn_cast(p, out[0]->dtype, get(&b)));
}

/* clang-format off */
static const tn_attr_field pool_fields[] = TN_ATTR_TABLE(tn_roi_attr, TN_ROI_POOL_ATTRS);
static const tn_attr_field align_fields[] = TN_ATTR_TABLE(tn_roi_attr, TN_ROI_ALIGN_ATTRS);
static const char *const align_in[] = {"data", "rois", "batch_indices"};

const tn_op tn_op_vision_roi_align = {
    .name = "vision.roi_align", .doc = "Boxes of images, resampled to one size.",
    .attr_size = sizeof(tn_roi_attr), .attr = align_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = align_in,
    .infer = roi_align_infer, .body = roi_align_body,
};
const tn_op tn_op_vision_roi_pool = {
    .name = "vision.roi_pool", .doc = "Boxes of images, each cut into bins of which the largest element stays.",
    .attr_size = sizeof(tn_roi_attr), .attr = pool_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = align_in,
    .infer = roi_pool_infer, .body = roi_pool_body,
};
/* clang-format on */
