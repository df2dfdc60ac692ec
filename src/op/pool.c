/* Pooling over the rows and columns of NCHW data: maximum, mean of a window, mean of all. */
#include "op/rule.h"

#include <string.h>

enum { TOP, LEFT, BOTTOM, RIGHT };

static tn_window window_of(const tn_pool2d_attr *a, int axis)
{
    return (tn_window){.stride = a->strides.at[axis],
                       .dilation = a->dilation.at[axis],
                       .before = a->padding.at[TOP + axis],
                       .after = a->padding.at[BOTTOM + axis],
                       .ceil_mode = a->ceil_mode};
}

static tn_status check_layout(tn_graph *g, const tn_node *n, const char *layout)
{
    if (!layout || strcmp(layout, "NCHW") == 0)
        return TN_OK;
    return tn_rule_fail(g, n, "op-E010", "layout \"%s\" is not supported, only \"NCHW\"; transpose the data",
                        layout);
}

/* ---- nn.max_pool2d, nn.avg_pool2d ---- */

static tn_status normalise(tn_graph *g, tn_node *n, tn_pool2d_attr *a)
{
    TN_TRY(check_layout(g, n, a->layout));
    if (!a->pool_size.n)
        return tn_rule_fail(g, n, "op-E007", "pool_size is not given");
    TN_TRY(tn_rule_ints(g, n, "pool_size", &a->pool_size, 2, 1, 1));
    TN_TRY(tn_rule_ints(g, n, "strides", &a->strides, 2, 1, 1));
    TN_TRY(tn_rule_ints(g, n, "dilation", &a->dilation, 2, 1, 1));
    TN_TRY(tn_rule_padding(g, n, &a->padding));
    for (int i = 0; i < 4; i++) /* else there were windows without any element */
        if (a->padding.at[i] > (a->pool_size.at[i % 2] - 1) * a->dilation.at[i % 2])
            return tn_rule_fail(g, n, "op-E007", "padding[%d] is %lld; it must be smaller than the window", i,
                                (long long)a->padding.at[i]);
    tn_rule_set_attr(g, n, a);
    return TN_OK;
}

static tn_status pool2d_infer(tn_graph *g, tn_node *n)
{
    tn_pool2d_attr a = *(const tn_pool2d_attr *)n->attr;
    const tn_type *data;
    const tn_expr *dim[4];
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &data));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(normalise(g, n, &a));
    dim[0] = data->dim[0];
    dim[1] = data->dim[1];
    for (int i = 0; i < 2; i++) {
        tn_window w = window_of(&a, i);
        int64_t extent;
        dim[2 + i] = tn_rule_simplify(
            g, tn_rule_window_extent(g->pool, data->dim[2 + i], tn_idx(g->pool, a.pool_size.at[i]), &w));
        if (tn_is_int(dim[2 + i], &extent) && extent < 1)
            return tn_rule_fail(g, n, "op-E009", "the window %lldx%lld does not fit into data %s",
                                (long long)a.pool_size.at[0], (long long)a.pool_size.at[1],
                                tn_rule_type_text(g, data));
    }
    return tn_rule_result(g, n, 0, data->dtype, 4, dim);
}

static tn_status avg_pool2d_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(pool2d_infer(g, n));
    return tn_rule_countable(g, n, 0);
}

/* t(b, c, oh, ow) := reduction over the taps that lie inside the image. */
static void reduce_window(tn_te *te, const tn_node *n, const tn_tensor *in, tn_tensor *t, enum tn_reducer r)
{
    const tn_pool2d_attr *a = n->attr;
    tn_pool *p = te->pool;
    const tn_expr *at[2], *where = NULL;
    for (int i = 0; i < 2; i++) {
        tn_window w = window_of(a, i);
        const tn_expr *tap = tn_te_reduce_axis(te, t, i ? "kw" : "kh", tn_idx(p, a->pool_size.at[i]));
        at[i] = tn_rule_window_index(p, t->axis[2 + i], tap, &w);
        where = tn_rule_both(p, where, tn_rule_window_inside(p, at[i], in->dim[2 + i], &w));
    }
    tn_te_reduce(te, t, r, tn_at4(te, in, t->axis[0], t->axis[1], at[0], at[1]), where, NULL);
}

static void max_pool2d_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    out[0] = tn_rule_out(te, n, 0, "max_pool2d", "pool2d", "b c oh ow");
    reduce_window(te, n, in[0], out[0], TN_RED_MAX);
}

/* Taps k in [0, kernel) with low <= out*stride + k*dilation - before < high, as a count; at least 1. */
static const tn_expr *taps_between(tn_pool *p, const tn_expr *out, int64_t kernel, const tn_window *w,
                                   const tn_expr *low, const tn_expr *high)
{
    const tn_expr *zero = tn_idx(p, 0), *start = tn_rule_window_index(p, out, zero, w),
                  *d = tn_idx(p, w->dilation);
    const tn_expr *first = tn_max(p, tn_ceildiv(p, tn_sub(p, low, start), w->dilation), zero);
    const tn_expr *end =
        tn_min(p, tn_add(p, tn_fdiv(p, tn_sub(p, tn_sub(p, high, tn_idx(p, 1)), start), d), tn_idx(p, 1)),
               tn_idx(p, kernel));
    return tn_max(p, tn_sub(p, end, first), tn_idx(p, 1));
}

/* How many elements the mean at out's position divides by: the window's taps inside the image, or with
 * count_include_pad inside the image and its padding. Rows times columns, each in the data's dtype. */
static const tn_expr *window_count(tn_pool *p, const tn_node *n, const tn_tensor *in, const tn_tensor *out)
{
    const tn_pool2d_attr *a = n->attr;
    const tn_expr *count = tn_const(p, out->dtype, 1);
    for (int i = 0; i < 2; i++) {
        tn_window w = window_of(a, i);
        bool cut = a->count_include_pad ? w.ceil_mode : w.before > 0 || w.after > 0 || w.ceil_mode;
        const tn_expr *taps = tn_idx(p, a->pool_size.at[i]), *low = tn_idx(p, 0), *high = in->dim[2 + i];
        if (a->count_include_pad) {
            low = tn_idx(p, -w.before);
            high = tn_add(p, high, tn_idx(p, w.after));
        }
        if (cut)
            taps = taps_between(p, out->axis[2 + i], a->pool_size.at[i], &w, low, high);
        count = tn_mul(p, count, tn_cast(p, out->dtype, taps));
    }
    return count;
}

static const tn_expr *quotient(tn_pool *p, const tn_expr *sum, const tn_expr *count)
{
    return tn_bin(p, tn_dtype_is_float(sum->dtype) ? TN_E_DIV : TN_E_FLOORDIV, sum, count);
}

static void avg_pool2d_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *sum = tn_rule_out(te, n, 0, "pool_sum", "pool2d", "b c oh ow");
    reduce_window(te, n, in[0], sum, TN_RED_SUM);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "avg_pool2d", "elementwise", "b c oh ow");
    tn_te_define(te, t, quotient(te->pool, tn_at(te, sum, 4, t->axis), window_count(te->pool, n, in[0], t)));
}

/* clang-format off */
#define WINDOW_FIELDS \
    {"pool_size", TN_A_INTS, offsetof(tn_pool2d_attr, pool_size), NULL, "window, rows and columns"}, \
    {"strides", TN_A_INTS, offsetof(tn_pool2d_attr, strides), "[1, 1]", "step of the window"}, \
    {"dilation", TN_A_INTS, offsetof(tn_pool2d_attr, dilation), "[1, 1]", "distance of the window's taps"}, \
    {"padding", TN_A_INTS, offsetof(tn_pool2d_attr, padding), "[0, 0, 0, 0]", \
        "around the image: top, left, bottom, right"}, \
    {"layout", TN_A_STR, offsetof(tn_pool2d_attr, layout), "\"NCHW\"", "order of the data's dimensions"}, \
    {"ceil_mode", TN_A_BOOL, offsetof(tn_pool2d_attr, ceil_mode), "False", "a last, partial window counts"}

static const tn_attr_field max_pool2d_fields[] = {WINDOW_FIELDS, {0}};
static const tn_attr_field avg_pool2d_fields[] = {
    WINDOW_FIELDS,
    {"count_include_pad", TN_A_BOOL, offsetof(tn_pool2d_attr, count_include_pad), "False",
        "padding counts as elements"},
    {0},
};
static const char *const pool_in[] = {"data"};

const tn_op tn_op_nn_max_pool2d = {
    .name = "nn.max_pool2d", .doc = "Largest element of a sliding window over NCHW data; padding never wins.",
    .attr_size = sizeof(tn_pool2d_attr), .attr = max_pool2d_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = pool2d_infer, .layout = tn_layout_channel_block, .compute = max_pool2d_compute,
    .scale = tn_scale_largest,
};

const tn_op tn_op_nn_avg_pool2d = {
    .name = "nn.avg_pool2d", .doc = "Mean of a sliding window over NCHW data.",
    .attr_size = sizeof(tn_pool2d_attr), .attr = avg_pool2d_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = avg_pool2d_infer, .layout = tn_layout_channel_block, .compute = avg_pool2d_compute,
    .scale = tn_scale_channels,
};
/* clang-format on */

/* ---- nn.global_avg_pool2d ---- */

static tn_status global_infer(tn_graph *g, tn_node *n)
{
    const tn_global_pool2d_attr *a = n->attr;
    const tn_type *data;
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &data));
    TN_TRY(tn_rule_countable(g, n, 0));
    TN_TRY(check_layout(g, n, a->layout));
    const tn_expr *one = tn_idx(g->pool, 1), *dim[4] = {data->dim[0], data->dim[1], one, one};
    if (tn_is_value(data->dim[2], 0) || tn_is_value(data->dim[3], 0))
        return tn_rule_fail(g, n, "op-E009", "data %s has no elements to take the mean of",
                            tn_rule_type_text(g, data));
    return tn_rule_result(g, n, 0, data->dtype, 4, dim);
}

static void global_avg_pool2d_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *sum = tn_rule_out(te, n, 0, "pool_sum", "pool2d", "b c oh ow");
    const tn_expr *h = tn_te_reduce_axis(te, sum, "kh", in[0]->dim[2]),
                  *w = tn_te_reduce_axis(te, sum, "kw", in[0]->dim[3]);
    tn_te_sum(te, sum, tn_at4(te, in[0], sum->axis[0], sum->axis[1], h, w), NULL);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "global_avg_pool2d", "elementwise", "b c oh ow");
    const tn_expr *count = tn_cast(p, t->dtype, tn_mul(p, in[0]->dim[2], in[0]->dim[3]));
    tn_te_define(te, t, quotient(p, tn_at(te, sum, 4, t->axis), count));
}

/* clang-format off */
static const tn_attr_field global_fields[] = {
    {"layout", TN_A_STR, offsetof(tn_global_pool2d_attr, layout), "\"NCHW\"",
        "order of the data's dimensions"},
    {0},
};

const tn_op tn_op_nn_global_avg_pool2d = {
    .name = "nn.global_avg_pool2d", .doc = "Mean over all rows and columns of NCHW data, as [N, C, 1, 1].",
    .attr_size = sizeof(tn_global_pool2d_attr), .attr = global_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = global_infer, .layout = tn_layout_channel_block, .compute = global_avg_pool2d_compute,
    .scale = tn_scale_channels,
};
/* clang-format on */
