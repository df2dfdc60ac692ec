/* Regions of images: vision.roi_align, vision.roi_pool (boxes that are data), nn.col2im (blocks that overlap), and the
 * moves between channels and space, nn.depth_to_space and nn.space_to_depth. */
#include "op/code.h"

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
#define ROI_FIELDS \
    {"pooled_size", TN_A_INTS, offsetof(tn_roi_attr, pooled_size), NULL, "rows and columns of each result"}, \
    {"spatial_scale", TN_A_F64, offsetof(tn_roi_attr, spatial_scale), NULL, \
        "pixels of the data for one of the boxes"}, \
    {"layout", TN_A_STR, offsetof(tn_roi_attr, layout), "\"NCHW\"", "order of the data's dimensions"}
static const tn_attr_field pool_fields[] = {ROI_FIELDS, {0}};
static const tn_attr_field align_fields[] = {
    ROI_FIELDS,
    {"sample_ratio", TN_A_I64, offsetof(tn_roi_attr, sample_ratio), "0",
        "samples of a bin, each way; 0: as it has pixels"},
    {"aligned", TN_A_BOOL, offsetof(tn_roi_attr, aligned), "False", "pixels' centres lie at halves"},
    {"mode", TN_A_STR, offsetof(tn_roi_attr, mode), "\"avg\"",
        "avg, or max: the largest weighted corner of any sample"},
    {0},
};
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

/* ---- nn.col2im: [n, c * taps, blocks] -> [n, c, image..]; what overlaps is added up ---- */

enum { MAX_IMAGE = 3 };

static tn_window col_window(const tn_col2im_attr *a, int i)
{
    return (tn_window){.stride = a->strides.at[i],
                       .dilation = a->dilation.at[i],
                       .before = a->padding.at[i],
                       .after = a->padding.at[a->image.n + (uint32_t)i]};
}

static const tn_expr *blocks_along(tn_pool *p, const tn_col2im_attr *a, int i)
{
    tn_window w = col_window(a, i);
    return tn_rule_window_extent(p, tn_idx(p, a->image.at[i]), tn_idx(p, a->block.at[i]), &w);
}

static tn_status col2im_infer(tn_graph *g, tn_node *n)
{
    tn_col2im_attr a = *(const tn_col2im_attr *)n->attr;
    const tn_type *t;
    const tn_expr *dim[2 + MAX_IMAGE], *blocks = tn_idx(g->pool, 1);
    uint32_t dims = a.image.n;
    int64_t taps = 1, rows;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    if (dims < 1 || dims > MAX_IMAGE || a.block.n != dims)
        return tn_rule_fail(g, n, "op-E007", "image has %u entries, block %u; both need the same, 1 to %d",
                            (unsigned)dims, (unsigned)a.block.n, MAX_IMAGE);
    TN_TRY(tn_rule_ints(g, n, "image", &a.image, dims, 1, 1));
    TN_TRY(tn_rule_ints(g, n, "block", &a.block, dims, 1, 1));
    TN_TRY(tn_rule_steps(g, n, &a.strides, &a.dilation, &a.padding, dims));
    tn_rule_set_attr(g, n, &a);
    for (uint32_t i = 0; i < dims; i++) {
        taps = taps > INT32_MAX ? taps : taps * a.block.at[i];
        blocks = tn_mul(g->pool, blocks, blocks_along(g->pool, &a, (int)i));
        dim[2 + i] = tn_idx(g->pool, a.image.at[i]);
    }
    if (!tn_is_int(t->dim[1], &rows) || rows % taps != 0 || !tn_rule_agree(g, n, t->dim[2], blocks))
        return tn_rule_fail(g, n, "op-E008", "data %s must have a multiple of %lld rows and %s columns",
                            tn_rule_type_text(g, t), (long long)taps,
                            tn_rule_dim_text(g, tn_simplify_extent(g, blocks)));
    dim[0] = t->dim[0];
    dim[1] = tn_idx(g->pool, rows / taps);
    return tn_rule_result(g, n, 0, t->dtype, (int)dims + 2, dim);
}

static void col2im_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    static const char *const names[] = {"k0", "k1", "k2"};
    const tn_col2im_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "col2im", "reduce", NULL);
    const tn_expr *row = t->axis[1], *column = tn_idx(p, 0), *where = NULL, *zero = tn_idx(p, 0);
    for (int i = 0; i < t->ndim - 2; i++) {
        const tn_expr *tap = tn_te_reduce_axis(te, t, names[i], tn_idx(p, a->block.at[i])),
                      *s = tn_idx(p, a->strides.at[i]);
        const tn_expr *at = tn_add(p, t->axis[2 + i], a->padding.at[i]);
        at = tn_sub(p, at, tn_mul(p, tap, tn_idx(p, a->dilation.at[i])));
        const tn_expr *block = tn_fdiv(p, at, s), *count = blocks_along(p, a, i);
        const tn_expr *inside = tn_and(p, tn_le(p, zero, block), tn_lt(p, block, count));
        if (a->strides.at[i] > 1)
            inside = tn_and(p, inside, tn_eq(p, tn_fmod(p, at, s), zero));
        where = tn_rule_both(p, where, inside);
        row = tn_add(p, tn_mul(p, row, tn_idx(p, a->block.at[i])), tap);
        column = tn_add(p, tn_mul(p, column, count), block);
    }
    tn_te_sum(te, t, tn_at3(te, in[0], t->axis[0], row, column), where);
}

/* clang-format off */
static const tn_attr_field col2im_fields[] = {
    {"image", TN_A_INTS, offsetof(tn_col2im_attr, image), NULL, "extents of the image"},
    {"block", TN_A_INTS, offsetof(tn_col2im_attr, block), NULL, "extents of a block"},
    {"strides", TN_A_INTS, offsetof(tn_col2im_attr, strides), "[1]", "distance of the blocks"},
    {"dilation", TN_A_INTS, offsetof(tn_col2im_attr, dilation), "[1]", "distance of a block's elements"},
    {"padding", TN_A_DIMS, offsetof(tn_col2im_attr, padding), "[0]",
        "of the image: before each dimension, then after each"},
    {0},
};
static const char *const data_in[] = {"data"};

const tn_op tn_op_nn_col2im = {
    .name = "nn.col2im", .doc = "Puts columns of blocks back into an image; what overlaps is added up.",
    .attr_size = sizeof(tn_col2im_attr), .attr = col2im_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = data_in,
    .infer = col2im_infer, .compute = col2im_compute,
};
/* clang-format on */

/* ---- nn.depth_to_space, nn.space_to_depth ---- */

static tn_status check_depth(tn_graph *g, const tn_node *n, const tn_type **out)
{
    const tn_depth_attr *a = n->attr;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, out));
    TN_TRY(tn_rule_layout_is(g, n, "layout", a->layout, "NCHW", "data"));
    if (!a->mode || (strcmp(a->mode, "DCR") != 0 && strcmp(a->mode, "CRD") != 0))
        return tn_rule_fail(g, n, "op-E007", "mode is \"%s\"; DCR and CRD are known", a->mode ? a->mode : "");
    if (a->block_size < 1 || a->block_size > 64)
        return tn_rule_fail(g, n, "op-E007", "block_size is %lld; it must be in [1, 64]",
                            (long long)a->block_size);
    return TN_OK;
}

static tn_status depth_to_space_infer(tn_graph *g, tn_node *n)
{
    const tn_depth_attr *a = n->attr;
    const tn_type *t;
    int64_t c;
    TN_TRY(check_depth(g, n, &t));
    int64_t b = a->block_size;
    if (!tn_is_int(t->dim[1], &c) || c % (b * b) != 0)
        return tn_rule_fail(g, n, "op-E008", "channels of %s are not a multiple of %lld",
                            tn_rule_type_text(g, t), (long long)(b * b));
    const tn_expr *k = tn_idx(g->pool, b);
    const tn_expr *dim[4] = {t->dim[0], tn_idx(g->pool, c / (b * b)), tn_mul(g->pool, t->dim[2], k),
                             tn_mul(g->pool, t->dim[3], k)};
    return tn_rule_result(g, n, 0, t->dtype, 4, dim);
}

/* As the phases of a transposed convolution; CRD has one group a channel. */
static tn_status depth_to_space_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t none[] = {0, 0};
    const tn_depth_attr *a = n->attr;
    int64_t block[] = {a->block_size, a->block_size}, c = 1;
    (void)tn_is_int(n->type[0]->dim[1], &c);
    tn_phases_attr p = {.strides = tn_ints_make(g->arena, 2, block),
                        .groups = a->mode[0] == 'C' && c > 0 ? c : 1,
                        .skip = tn_ints_make(g->arena, 2, none),
                        .size = tn_dims_make(g->arena, 2, n->type[0]->dim + 2)};
    tn_value x = tn_in(n, 0);
    out[0] = tn_val(tn_make_call(g, n->owner, n, &tn_op_nn_interleave_phases, 1, &x, &p, n->loc));
    return out[0].def ? TN_OK : TN_FAIL;
}

static tn_status space_to_depth_infer(tn_graph *g, tn_node *n)
{
    const tn_depth_attr *a = n->attr;
    const tn_type *t;
    int64_t e;
    TN_TRY(check_depth(g, n, &t));
    const tn_expr *k = tn_idx(g->pool, a->block_size);
    for (int i = 2; i < 4; i++)
        if (tn_is_int(t->dim[i], &e) && e % a->block_size != 0)
            return tn_rule_fail(g, n, "op-E008", "dimension %d of %s is not a multiple of block_size %lld", i,
                                tn_rule_type_text(g, t), (long long)a->block_size);
    const tn_expr *dim[4] = {t->dim[0], tn_mul(g->pool, t->dim[1], tn_mul(g->pool, k, k)),
                             tn_fdiv(g->pool, t->dim[2], k), tn_fdiv(g->pool, t->dim[3], k)};
    return tn_rule_result(g, n, 0, t->dtype, 4, dim);
}

static void space_to_depth_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_depth_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "space_to_depth", "injective", NULL);
    const tn_expr *b = tn_idx(p, a->block_size), *bb = tn_mul(p, b, b), *c = in[0]->dim[1];
    bool crd = a->mode[0] == 'C';
    const tn_expr *phase = crd ? tn_fmod(p, t->axis[1], bb) : tn_fdiv(p, t->axis[1], c);
    const tn_expr *channel = crd ? tn_fdiv(p, t->axis[1], bb) : tn_fmod(p, t->axis[1], c);
    const tn_expr *y = tn_add(p, tn_mul(p, t->axis[2], b), tn_fdiv(p, phase, b)),
                  *x = tn_add(p, tn_mul(p, t->axis[3], b), tn_fmod(p, phase, b));
    tn_te_define(te, t, tn_at4(te, in[0], t->axis[0], channel, y, x));
}

/* clang-format off */
static const tn_attr_field depth_fields[] = {
    {"block_size", TN_A_I64, offsetof(tn_depth_attr, block_size), NULL, "rows and columns of a block"},
    {"layout", TN_A_STR, offsetof(tn_depth_attr, layout), "\"NCHW\"", "order of the data's dimensions"},
    {"mode", TN_A_STR, offsetof(tn_depth_attr, mode), "\"DCR\"",
        "DCR: a block's elements lie whole sets of channels apart; CRD: beside each other"},
    {0},
};

const tn_op tn_op_nn_depth_to_space = {
    .name = "nn.depth_to_space", .doc = "Channels become blocks of pixels.",
    .attr_size = sizeof(tn_depth_attr), .attr = depth_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = depth_to_space_infer, .expand = depth_to_space_expand,
};
const tn_op tn_op_nn_space_to_depth = {
    .name = "nn.space_to_depth", .doc = "Blocks of pixels become channels.",
    .attr_size = sizeof(tn_depth_attr), .attr = depth_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = data_in,
    .infer = space_to_depth_infer, .compute = space_to_depth_compute,
};
/* clang-format on */
