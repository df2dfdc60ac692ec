/* Boxes of images, as data: vision.roi_align, its parts roi_taps and roi_blend, vision.roi_pool. */
#include "op/code.h"

#include "machine/machine.h"
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
        (strcmp(a->mode, "avg") != 0 && strcmp(a->mode, "max") != 0 && strcmp(a->mode, "sample_max") != 0))
        return tn_rule_fail(g, n, "op-E007",
                            "sample_ratio is %lld, mode \"%s\"; known are 0 to 4096 and avg, max, sample_max",
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
    const tn_expr *images, *extent[2]; /* of the data */
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
    const tn_expr *const *d = in[0]->dim;
    box b = {.c = tn_code_open(te, n, 0, name, t), .p = te->pool, .a = n->attr, .images = d[0]};
    b.extent[0] = d[2], b.extent[1] = d[3];
    const tn_expr *one = tn_idx(te->pool, 1);
    b.t = tn_rule_accumulator(in[0]->dtype);
    tn_code_each(&b.c, 4, (*t)->dim, b.v);
    b.sum = tn_code_buffer(&b.c, "sum", b.t, 1, &one, TN_SCOPE_LOCAL);
    return b;
}

static void check_batch(box *b, const tn_expr *batch, const char *text)
{
    b->batch = tn_code_let(&b->c, "batch", batch);
    tn_code_check(
        &b->c, tn_and(b->p, tn_le(b->p, tn_idx(b->p, 0), b->batch), tn_lt(b->p, b->batch, b->images)), text);
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
    const tn_expr *extent = b->extent[k], *last = tn_sub(p, extent, tn_idx(p, 1));
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

static const char outside[] = "vision.roi_align: a batch index is outside the data";

static void roi_align_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    box b = box_open(te, n, in, "roi_align", &out[0]);
    tn_pool *p = b.p;
    bool corner = strcmp(b.a->mode, "max") == 0, largest = corner || b.a->mode[0] == 's';
    check_batch(&b, tn_cast(p, TN_IDX, tn_at1(te, in[2], b.v[0])), outside);
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
        sum = !sum ? v : corner ? tn_max(p, sum, v) : tn_add(p, sum, v);
    }
    sum = tn_select(p, inside, sum, number(&b, 0));
    put(&b, largest ? tn_max(p, get(&b), sum) : tn_add(p, get(&b), sum));
    b.c.at = after;
    const tn_expr *samples = tn_mul(p, rows.count, columns.count), *none = tn_lt(p, samples, tn_idx(p, 1));
    const tn_expr *mean = ratio(&b, get(&b), tn_cast(p, b.t, tn_max(p, samples, tn_idx(p, 1))));
    const tn_expr *v = largest ? tn_select(p, none, number(&b, 0), get(&b)) : mean;
    tn_code_store(&b.c, out[0]->buffer, 4, b.v, tn_cast(p, out[0]->dtype, v));
}

/* ---- roi_align by taps ----
 * The weights of a bin's samples are products of weights along rows and along columns, which all channels share.
 * vision.roi_taps lists, for each bin along one side of its box, the pixels that samples read and their weights:
 * samples that read the same pixel are one tap. vision.roi_blend sums the pixels by rows x columns of taps, for all
 * channels. */

static tn_status taps_infer(tn_graph *g, tn_node *n)
{
    const tn_roi_taps_attr *a = n->attr;
    const tn_type *rois, *batch;
    TN_TRY(tn_rule_tensor(g, n, 0, 2, &rois));
    TN_TRY(tn_rule_tensor(g, n, 1, 1, &batch));
    TN_TRY(tn_rule_float(g, n, 0));
    if (!tn_dtype_eq(batch->dtype, TN_I64) || !tn_is_value(rois->dim[1], 4) || a->extent.n != 2 ||
        a->bins < 1 || a->bins > INT32_MAX || a->sample_ratio < 0 || a->sample_ratio > 4096)
        return tn_rule_fail(g, n, "op-E007",
                            "rois must be [r, 4], batch indices int64, extent of two entries, "
                            "bins above 0, sample_ratio 0 to 4096");
    const tn_expr *most = a->sample_ratio ? tn_idx(g->pool, 2 * a->sample_ratio) : a->extent.at[1];
    const tn_expr *dim[3] = {rois->dim[0], tn_idx(g->pool, a->bins), most};
    TN_TRY(tn_rule_result(g, n, 0, TN_I32, 3, dim));
    TN_TRY(tn_rule_result(g, n, 1, tn_rule_accumulator(rois->dtype), 3, dim));
    return tn_rule_result(g, n, 2, TN_I32, 2, dim);
}

typedef struct taps { /* of a bin, being written */
    box b;
    const tn_tensor *at, *part;
    const tn_expr *v[3];          /* box, bin, and a tap */
    uint32_t count, last, before; /* cells: taps, the pixels of the last two */
} taps;

static const tn_expr *named(taps *w, const char *name, uint32_t cell)
{
    return tn_code_let(&w->b.c, name, tn_code_get(&w->b.c, cell));
}

/* One more sample reads this pixel. Samples go up the pixels, so only the last two taps can be of the same. */
static void add_tap(taps *w, const tn_expr *pixel, const tn_expr *part)
{
    tn_code *c = &w->b.c;
    tn_pool *p = w->b.p;
    tn_body *back = c->at;
    const tn_expr *at = tn_code_let(c, "pixel", tn_cast(p, TN_I32, pixel)), *one = tn_int(p, TN_I32, 1);
    const tn_expr *count = named(w, "count", w->count), *last = named(w, "last", w->last),
                  *before = named(w, "before", w->before);
    const tn_expr *same_last = tn_eq(p, at, last), *same = tn_or(p, same_last, tn_eq(p, at, before));
    const tn_expr *second = tn_select(p, tn_eq(p, at, before), tn_sub(p, count, tn_int(p, TN_I32, 2)), count);
    const tn_expr *place = tn_code_let(c, "place", tn_select(p, same_last, tn_sub(p, count, one), second));
    w->v[2] = tn_cast(p, TN_IDX, place);
    tn_code_if(c, tn_and(p, tn_lt(p, number(&w->b, 0), part), tn_lt(p, w->v[2], w->at->dim[2])));
    const tn_expr *old = tn_load(p, w->b.t, w->part->buffer, 3, w->v, same, number(&w->b, 0));
    tn_code_store(c, w->part->buffer, 3, w->v, tn_add(p, old, part));
    tn_code_store(c, w->at->buffer, 3, w->v, at);
    tn_code_set(c, w->before, tn_select(p, same, before, last));
    tn_code_set(c, w->last, tn_select(p, same, last, at));
    tn_code_set(c, w->count, tn_max(p, count, tn_add(p, place, one)));
    c->at = back;
}

static void taps_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_roi_taps_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_roi_attr whole = {.pooled_size = tn_ints_make(te->arena, 2, (const int64_t[]){a->bins, a->bins}),
                         .spatial_scale = a->spatial_scale,
                         .sample_ratio = a->sample_ratio,
                         .aligned = a->aligned};
    taps w = {.b = {.p = p, .a = &whole, .images = a->extent.at[0]}};
    int k = a->columns ? 1 : 0;
    w.b.c = tn_code_open(te, n, 0, "taps", &out[0]);
    out[1] = tn_code_output(te, n, 1, "parts", out[0]);
    out[2] = tn_code_output(te, n, 2, "counts", out[0]);
    w.at = out[0], w.part = out[1];
    w.b.t = out[1]->dtype;
    w.b.extent[k] = a->extent.at[1];
    for (uint32_t i = 0; i < a->extent.n; i++)
        tn_te_symbols(te, a->extent.at[i]);
    tn_code_each(&w.b.c, 2, out[2]->dim, w.v);
    w.b.v[0] = w.v[0], w.b.v[2 + k] = w.v[1];
    check_batch(&w.b, tn_cast(p, TN_IDX, tn_at1(te, in[1], w.v[0])), outside);
    side s = align_side(&w.b, te, in[0], k);
    w.count = tn_code_cell(&w.b.c, "taps", tn_int(p, TN_I32, 0));
    w.last = tn_code_cell(&w.b.c, "last_pixel", tn_int(p, TN_I32, -1));
    w.before = tn_code_cell(&w.b.c, "pixel_before", tn_int(p, TN_I32, -1));
    tn_body *after = w.b.c.at;
    sample t = align_tap(&w.b, &s, k, tn_code_for(&w.b.c, "i", s.count));
    const tn_expr *count = tn_cast(p, w.b.t, s.count);
    tn_code_if(&w.b.c, t.inside);
    add_tap(&w, t.low, ratio(&w.b, tn_sub(p, number(&w.b, 1), t.part), count));
    add_tap(&w, t.high, ratio(&w.b, t.part, count));
    w.b.c.at = after;
    tn_code_store(&w.b.c, out[2]->buffer, 2, w.v, tn_code_get(&w.b.c, w.count));
}

enum { DATA, BATCH, ROWS, COLUMNS = ROWS + 3, BLEND_IN = COLUMNS + 3 };

static tn_status blend_infer(tn_graph *g, tn_node *n)
{
    const tn_type *data, *batch, *t[2];
    TN_TRY(tn_rule_tensor(g, n, DATA, 4, &data));
    TN_TRY(tn_rule_tensor(g, n, BATCH, 1, &batch));
    TN_TRY(tn_rule_float(g, n, DATA));
    for (int k = 0; k < 2; k++) {
        const tn_type *at, *count;
        TN_TRY(tn_rule_tensor(g, n, ROWS + 3 * k, 3, &at));
        TN_TRY(tn_rule_tensor(g, n, ROWS + 3 * k + 1, 3, &t[k]));
        TN_TRY(tn_rule_tensor(g, n, ROWS + 3 * k + 2, 2, &count));
        bool known = tn_dtype_is_int(at->dtype) && tn_dtype_is_int(count->dtype) &&
                     tn_dtype_eq(t[k]->dtype, tn_rule_accumulator(data->dtype));
        if (!known || !tn_rule_agree(g, n, at->dim[0], batch->dim[0]) ||
            !tn_rule_agree(g, n, at->dim[1], count->dim[1]))
            return tn_rule_fail(g, n, "op-E008", "taps %s, parts %s and counts %s do not match",
                                tn_rule_type_text(g, at), tn_rule_type_text(g, t[k]),
                                tn_rule_type_text(g, count));
    }
    const tn_expr *dim[4] = {batch->dim[0], data->dim[1], t[0]->dim[1], t[1]->dim[1]};
    return tn_rule_result(g, n, 0, data->dtype, 4, dim);
}

static void blend_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *y = out[0] = tn_rule_out(te, n, 0, "blend", "reduce", NULL), *t = y;
    if (!tn_dtype_eq(in[ROWS + 1]->dtype, y->dtype))
        t = tn_te_new(te, "sums", in[ROWS + 1]->dtype, 4, y->dim, "r c i j");
    const tn_expr *zero = tn_idx(p, 0), *where = NULL, *part = NULL, *index[4];
    index[0] = tn_cast(p, TN_IDX, tn_at1(te, in[BATCH], t->axis[0]));
    index[1] = t->axis[1];
    for (int k = 0; k < 2; k++) {
        tn_tensor *const *tap = in + ROWS + 3 * k;
        const tn_expr *i = tn_te_reduce_axis(te, t, k ? "tx" : "ty", tap[0]->dim[2]);
        const tn_expr *count = tn_at2(te, tap[2], t->axis[0], t->axis[2 + k]);
        const tn_expr *weight = tn_at3(te, tap[1], t->axis[0], t->axis[2 + k], i);
        index[2 + k] = tn_cast(p, TN_IDX, tn_at3(te, tap[0], t->axis[0], t->axis[2 + k], i));
        part = part ? tn_mul(p, part, weight) : weight;
        where = tn_rule_both(p, where, tn_lt(p, i, tn_cast(p, TN_IDX, count)));
    }
    for (int d = 0; d < 4; d++) { /* no tap leaves the data */
        const tn_expr *last = tn_sub(p, in[DATA]->dim[d], tn_idx(p, 1));
        index[d] = d == 1 ? index[d] : tn_min(p, tn_max(p, index[d], zero), last);
    }
    const tn_expr *pixel = tn_cast(p, part->dtype, tn_at(te, in[DATA], 4, index));
    tn_te_sum(te, t, tn_mul(p, part, pixel), where);
    if (t != y)
        tn_te_define(te, y, tn_cast(p, y->dtype, tn_at(te, t, 4, y->axis)));
}

static void blend_layout(tn_layout_query *q)
{
    int block = tn_machine_block(q->machine);
    int64_t channels = 0;
    bool known = tn_is_int(q->node->type[0]->dim[1], &channels);
    for (int i = 0; i < BLEND_IN; i++)
        q->in[i] = NULL;
    if (known && block > 1 && channels >= block)
        q->in[DATA] = tn_rule_layout(q->g, "NCHW%dc", block);
    q->out[0] = q->in[DATA];
}

/* Channels fill a block. */
static bool suits_taps(const tn_node *n, const struct tn_machine *m)
{
    int64_t channels;
    return ((const tn_roi_attr *)n->attr)->mode[0] == 'a' && tn_is_int(n->type[0]->dim[1], &channels) &&
           channels >= tn_machine_block(m);
}

static tn_status roi_align_by_taps(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_roi_attr *a = n->attr;
    const tn_type *data = tn_in_type(n, 0);
    tn_value in[BLEND_IN] = {tn_in(n, 0), tn_in(n, 2)}, rois[2] = {tn_in(n, 1), tn_in(n, 2)};
    for (int k = 0; k < 2; k++) {
        const tn_expr *extent[2] = {data->dim[0], data->dim[2 + k]};
        tn_roi_taps_attr t = {.bins = a->pooled_size.at[k],
                              .spatial_scale = a->spatial_scale,
                              .sample_ratio = a->sample_ratio,
                              .aligned = a->aligned,
                              .columns = k == 1,
                              .extent = tn_dims_make(g->arena, 2, extent)};
        tn_node *x = tn_make_call(g, n->owner, n, &tn_op_vision_roi_taps, 2, rois, &t, n->loc);
        if (!x)
            return TN_FAIL;
        for (uint16_t i = 0; i < 3; i++)
            in[ROWS + 3 * k + i] = (tn_value){x, i};
    }
    out[0] = tn_val(tn_make_call(g, n->owner, n, &tn_op_vision_roi_blend, BLEND_IN, in, NULL, n->loc));
    return out[0].def ? TN_OK : TN_FAIL;
}

/* ---- vision.roi_pool ---- */

/* Elements [from, end) of the bin along rows (k 0) or columns. */
static void pool_side(box *b, tn_te *te, const tn_tensor *rois, int k, const tn_expr **from,
                      const tn_expr **count)
{
    tn_pool *p = b->p;
    const tn_expr *corner[2], *zero = tn_idx(p, 0), *extent = b->extent[k];
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
static const tn_attr_field taps_fields[] = TN_ATTR_TABLE(tn_roi_taps_attr, TN_ROI_TAPS_ATTRS);
static const char *const align_in[] = {"data", "rois", "batch_indices"}, *const taps_in[] = {"rois", "batch_indices"};
static const char *const blend_in[BLEND_IN] = {"data", "batch_indices", "row_taps", "row_parts", "row_counts",
    "column_taps", "column_parts", "column_counts"};
static const tn_alternative align_ways[] = {
    {"taps", "rows and columns of weights that all channels share", suits_taps, NULL, roi_align_by_taps},
};

const tn_op tn_op_vision_roi_align = {
    .name = "vision.roi_align", .doc = "Boxes of images, resampled to one size.",
    .attr_size = sizeof(tn_roi_attr), .attr = align_fields,
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = align_in,
    .infer = roi_align_infer, .body = roi_align_body,
    .alternative = align_ways, .n_alternative = 1,
};
const tn_op tn_op_vision_roi_taps = {
    .name = "vision.roi_taps",
        .doc = "Pixels that the bins of boxes read along rows or columns, their weights and their numbers.",
    .attr_size = sizeof(tn_roi_taps_attr), .attr = taps_fields,
    .nin = 2, .min_in = 2, .nout = 3, .fuse = TN_FUSE_OPAQUE, .in_name = taps_in,
    .infer = taps_infer, .body = taps_body,
};
const tn_op tn_op_vision_roi_blend = {
    .name = "vision.roi_blend", .doc = "Sums of pixels by the weights that vision.roi_taps gives for rows and columns.",
    .nin = BLEND_IN, .min_in = BLEND_IN, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = blend_in,
    .infer = blend_infer, .layout = blend_layout, .compute = blend_compute,
};
const tn_op tn_op_vision_roi_pool = {
    .name = "vision.roi_pool", .doc = "Boxes of images, each cut into bins of which the largest element stays.",
    .attr_size = sizeof(tn_roi_attr), .attr = pool_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = align_in,
    .infer = roi_pool_infer, .body = roi_pool_body,
};
/* clang-format on */
