/* Pooling over the spatial dimensions of NC(D)(H)W data: maximum, mean or p-norm of a window, the place of the maximum,
 * mean of all. */
#include "op/rule.h"

#include "op/gradient.h"
#include "op/nn/nn.h"

#include <string.h>

static tn_window window_of(const tn_pool2d_attr *a, int axis)
{
    return (tn_window){.stride = a->strides.at[axis],
                       .dilation = a->dilation.at[axis],
                       .before = a->padding.at[axis],
                       .after = a->padding.at[a->padding.n / 2 + (uint32_t)axis],
                       .ceil_mode = a->ceil_mode};
}

/* ---- windows ---- */

/* Spatial dimensions, by the record's name: nn.max_pool2d; 0: as the data has. */
static int n_spatial(const tn_node *n)
{
    const char *name = n->op->name;
    size_t length = strlen(name);
    return name[length - 1] == 'd' ? name[length - 2] - '0' : tn_in_type(n, 0)->n - 2;
}

static tn_status normalise(tn_graph *g, tn_node *n, tn_pool2d_attr *a)
{
    int dims = n_spatial(n);
    uint32_t count = (uint32_t)dims;
    TN_TRY(tn_rule_layout_is(g, n, "layout", a->layout, tn_rule_channels_first(dims), "data"));
    if (!a->pool_size.n)
        return tn_rule_fail(g, n, "op-E007", "pool_size is not given");
    TN_TRY(tn_rule_ints(g, n, "pool_size", &a->pool_size, count, 1, 1));
    TN_TRY(tn_rule_steps(g, n, &a->strides, &a->dilation, &a->padding, count));
    for (int i = 0; i < 2 * dims; i++) { /* else there were windows without any element */
        int64_t pad;
        if (tn_is_int(a->padding.at[i], &pad) &&
            pad > (a->pool_size.at[i % dims] - 1) * a->dilation.at[i % dims])
            return tn_rule_fail(g, n, "op-E007", "padding[%d] is %lld, but must be smaller than the window",
                                i, (long long)pad);
    }
    tn_rule_set_attr(g, n, a);
    return TN_OK;
}

static tn_status window_infer(tn_graph *g, tn_node *n, tn_dtype result, bool any_rank)
{
    tn_pool2d_attr a = *(const tn_pool2d_attr *)n->attr;
    const tn_type *data;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int dims = n_spatial(n);
    TN_TRY(tn_rule_tensor(g, n, 0, any_rank ? -1 : dims + 2, &data));
    TN_TRY(tn_rule_number(g, n, 0));
    if (dims < 1 || dims > 3)
        return tn_rule_fail(g, n, "op-E003", "data must have 3, 4 or 5 dimensions, but is %s",
                            tn_rule_type_text(g, data));
    TN_TRY(normalise(g, n, &a));
    dim[0] = data->dim[0];
    dim[1] = data->dim[1];
    for (int i = 0; i < dims; i++) {
        tn_window w = window_of(&a, i);
        TN_TRY(tn_rule_window(g, n, data, 2 + i, tn_idx(g->pool, a.pool_size.at[i]), &w, &dim[2 + i]));
    }
    return tn_rule_result(g, n, 0, result, dims + 2, dim);
}

static tn_status max_pool_infer(tn_graph *g, tn_node *n)
{
    return window_infer(g, n, tn_in_type(n, 0)->dtype, false);
}

static tn_status indices_infer(tn_graph *g, tn_node *n) { return window_infer(g, n, TN_I64, true); }

static tn_status avg_pool_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(max_pool_infer(g, n));
    return tn_rule_countable(g, n, 0);
}

static tn_status lp_pool_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(window_infer(g, n, tn_in_type(n, 0)->dtype, true));
    if (((const tn_pool2d_attr *)n->attr)->p < 1)
        return tn_rule_fail(g, n, "op-E007", "p is %lld, but must be at least 1",
                            (long long)((const tn_pool2d_attr *)n->attr)->p);
    return tn_rule_float(g, n, 0);
}

/* The element of `in` under a tap of out's position, and where it is one. New reduce axes of t are the taps. */
typedef struct reach {
    const tn_expr *index[5], *where;
} reach;

static reach reach_of(tn_te *te, const tn_node *n, const tn_tensor *in, tn_tensor *t)
{
    static const char *const names[] = {"kd", "kh", "kw"};
    const tn_pool2d_attr *a = n->attr;
    tn_pool *p = te->pool;
    reach r = {{t->axis[0], t->axis[1]}, NULL};
    int dims = in->ndim - 2;
    for (int i = 0; i < dims; i++) {
        tn_window w = window_of(a, i);
        const tn_expr *tap = tn_te_reduce_axis(te, t, names[3 - dims + i], tn_idx(p, a->pool_size.at[i]));
        r.index[2 + i] = tn_rule_window_index(p, t->axis[2 + i], tap, &w);
        r.where = tn_rule_both(p, r.where, tn_rule_window_inside(p, r.index[2 + i], in->dim[2 + i], &w));
        tn_rule_require_window(te, t, 2 + i);
    }
    return r;
}

static const char *tag_of(const tn_tensor *in) { return in->ndim == 4 ? "pool2d" : "pool"; }

static const char *axes_of(const tn_tensor *in)
{
    return in->ndim == 3 ? "b c ow" : in->ndim == 4 ? "b c oh ow" : "b c od oh ow";
}

/* t := reduction over the taps that lie inside the image. */
static void reduce_window(tn_te *te, const tn_node *n, const tn_tensor *in, tn_tensor *t, enum tn_reducer r)
{
    reach x = reach_of(te, n, in, t);
    tn_te_reduce(te, t, r, tn_cast(te->pool, t->dtype, tn_at(te, in, in->ndim, x.index)), x.where, NULL);
}

static void max_pool_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    out[0] = tn_rule_out(te, n, 0, "max_pool", tag_of(in[0]), axes_of(in[0]));
    reduce_window(te, n, in[0], out[0], TN_RED_MAX);
}

/* Position of an element of `in` among all, row by row. */
static const tn_expr *flat_index(tn_pool *p, const tn_tensor *in, const tn_expr *const index[])
{
    const tn_expr *flat = index[0];
    for (int i = 1; i < in->ndim; i++)
        flat = tn_add(p, tn_mul(p, flat, in->dim[i]), index[i]);
    return flat;
}

/* The same element's position where spatial dimensions are counted in reverse order: the first of them
 * changes fastest. */
static const tn_expr *reversed_index(tn_pool *p, const tn_tensor *in, const tn_expr *flat)
{
    const tn_expr *rest = flat, *digit[TN_RULE_MAX_RANK];
    for (int i = in->ndim - 1; i >= 2; i--) {
        const tn_expr *extent = tn_cast(p, TN_I64, in->dim[i]);
        digit[i] = tn_fmod(p, rest, extent);
        rest = tn_fdiv(p, rest, extent);
    }
    for (int i = in->ndim - 1; i >= 2; i--)
        rest = tn_add(p, tn_mul(p, rest, tn_cast(p, TN_I64, in->dim[i])), digit[i]);
    return rest;
}

/* The first element, row by row, that equals the maximum; the first NaN, if it is that. */
static void indices_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_pool2d_attr *a = n->attr;
    tn_pool *p = te->pool;
    te->tag = tag_of(in[0]);
    tn_tensor *largest =
        tn_te_new(te, "max_pool", in[0]->dtype, n->type[0]->n, n->type[0]->dim, axes_of(in[0]));
    reduce_window(te, n, in[0], largest, TN_RED_MAX);
    tn_tensor *t = tn_rule_out(te, n, 0, "max_pool_indices", "reduce", axes_of(in[0]));
    reach x = reach_of(te, n, in[0], t);
    const tn_expr *zero = tn_const(p, in[0]->dtype, 0);
    const tn_expr *here = x.where ? tn_at_if(te, in[0], in[0]->ndim, x.index, x.where, zero)
                                  : tn_at(te, in[0], in[0]->ndim, x.index);
    const tn_expr *same = tn_eq(p, here, tn_at(te, largest, t->ndim, t->axis));
    if (tn_dtype_is_float(in[0]->dtype))
        same = tn_bin(p, TN_E_OR, same, tn_intrinsic1(p, TN_F_isnan, here));
    const tn_expr *found = tn_rule_both(p, x.where, same);
    const tn_expr *flat = tn_cast(p, TN_I64, flat_index(p, in[0], x.index)),
                  *none = tn_int(p, TN_I64, INT64_MAX);
    tn_te_reduce(te, t, TN_RED_MIN, tn_select(p, found, flat, none), NULL, NULL);
    out[0] = t;
    if (a->storage_order == 0)
        return;
    out[0] = tn_rule_out(te, n, 0, "max_pool_columns", "elementwise", axes_of(in[0]));
    tn_te_define(te, out[0], reversed_index(p, in[0], tn_at(te, t, t->ndim, out[0]->axis)));
}

/* (sum of |x|^p)^(1/p); taps outside count as 0. */
static void lp_pool_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_pool2d_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_dtype acc = tn_rule_accumulator(in[0]->dtype);
    te->tag = tag_of(in[0]);
    tn_tensor *sum = tn_te_new(te, "pool_sum", acc, n->type[0]->n, n->type[0]->dim, axes_of(in[0]));
    reach x = reach_of(te, n, in[0], sum);
    const tn_expr *v = tn_intrinsic1(p, TN_F_abs, tn_cast(p, acc, tn_at(te, in[0], in[0]->ndim, x.index)));
    const tn_expr *power[2] = {v, tn_flt(p, acc, (double)a->p)};
    tn_te_sum(te, sum,
              a->p == 1   ? v
              : a->p == 2 ? tn_mul(p, v, v)
                          : tn_intrinsic(p, TN_F_pow, 2, power),
              x.where);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "lp_pool", "elementwise", axes_of(in[0]));
    const tn_expr *s = tn_at(te, sum, t->ndim, t->axis), *root[2] = {s, tn_flt(p, acc, 1.0 / (double)a->p)};
    s = a->p == 1 ? s : a->p == 2 ? tn_intrinsic1(p, TN_F_sqrt, s) : tn_intrinsic(p, TN_F_pow, 2, root);
    tn_te_define(te, t, tn_cast(p, t->dtype, s));
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
 * count_include_pad inside the image and its padding. Rows times columns, each in dtype t. */
static const tn_expr *window_count(tn_pool *p, const tn_node *n, tn_dtype t, const tn_tensor *in,
                                   const tn_tensor *out)
{
    const tn_pool2d_attr *a = n->attr;
    const tn_expr *count = tn_const(p, t, 1);
    for (int i = 0; i < in->ndim - 2; i++) {
        tn_window w = window_of(a, i);
        bool cut =
            w.ceil_mode || (!a->count_include_pad && (tn_rule_may_pad(w.before) || tn_rule_may_pad(w.after)));
        const tn_expr *taps = tn_idx(p, a->pool_size.at[i]), *low = tn_idx(p, 0), *high = in->dim[2 + i];
        if (a->count_include_pad) {
            low = tn_sub(p, low, w.before);
            high = tn_add(p, high, w.after);
        }
        if (cut)
            taps = taps_between(p, out->axis[2 + i], a->pool_size.at[i], &w, low, high);
        count = tn_mul(p, count, tn_cast(p, t, taps));
    }
    return count;
}

static const tn_expr *quotient(tn_pool *p, const tn_expr *sum, const tn_expr *count)
{
    return tn_bin(p, tn_dtype_is_float(sum->dtype) ? TN_E_DIV : TN_E_TRUNCDIV, sum, count);
}

static void avg_pool_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *sum = tn_rule_sum(te, n, "pool_sum", tag_of(in[0]), axes_of(in[0]));
    reduce_window(te, n, in[0], sum, TN_RED_SUM);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "avg_pool", "elementwise", axes_of(in[0]));
    const tn_expr *count = window_count(p, n, sum->dtype, in[0], t);
    tn_te_define(te, t, tn_cast(p, t->dtype, quotient(p, tn_at(te, sum, t->ndim, t->axis), count)));
}

/* clang-format off */
static const char *const pool_in[] = {"data"};

#define POOLS(dims, ones, zeros, order, rule) \
    static const tn_attr_field max_pool##dims##_fields[] = { \
        TN_POOL_ATTRS(TN_ATTR_ROW, tn_pool2d_attr, ones, zeros, order){0}}; \
    static const tn_attr_field avg_pool##dims##_fields[] = { \
        TN_AVG_POOL_ATTRS(TN_ATTR_ROW, tn_pool2d_attr, ones, zeros, order){0}}; \
    const tn_op tn_op_nn_max_pool##dims = { \
        .name = "nn.max_pool" #dims, .doc = "Largest element of a sliding window; padding never wins.", \
        .attr_size = sizeof(tn_pool2d_attr), .attr = max_pool##dims##_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in, \
        .infer = max_pool_infer, .layout = rule, .compute = max_pool_compute, .scale = tn_scale_largest, \
        .precision = TN_PRECISION_FOLLOW, \
    }; \
    const tn_op tn_op_nn_avg_pool##dims = { \
        .name = "nn.avg_pool" #dims, .doc = "Mean of a sliding window.", \
        .attr_size = sizeof(tn_pool2d_attr), .attr = avg_pool##dims##_fields, \
        .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in, \
        .infer = avg_pool_infer, .layout = rule, .compute = avg_pool_compute, .scale = tn_scale_channels, \
    };

POOLS(1d, "[1]", "[0, 0]", "\"NCW\"", NULL)
POOLS(2d, "[1, 1]", "[0, 0, 0, 0]", "\"NCHW\"", tn_layout_channel_block)
POOLS(3d, "[1, 1, 1]", "[0, 0, 0, 0, 0, 0]", "\"NCDHW\"", NULL)

static const tn_attr_field indices_fields[] = TN_ATTR_TABLE(tn_pool2d_attr, TN_POOL_INDICES_ATTRS);
static const tn_attr_field lp_fields[] = TN_ATTR_TABLE(tn_pool2d_attr, TN_LP_POOL_ATTRS);

const tn_op tn_op_nn_max_pool_indices = {
    .name = "nn.max_pool_indices", .doc = "Where the largest element of a sliding window is, among all elements.",
    .attr_size = sizeof(tn_pool2d_attr), .attr = indices_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = indices_infer, .compute = indices_compute,
};
const tn_op tn_op_nn_lp_pool = {
    .name = "nn.lp_pool", .doc = "p-norm of a sliding window.",
    .attr_size = sizeof(tn_pool2d_attr), .attr = lp_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = lp_pool_infer, .layout = tn_layout_channel_block, .compute = lp_pool_compute,
};
/* clang-format on */

/* ---- nn.global_avg_pool2d, nn.global_max_pool2d ---- */

static tn_status global_result(tn_graph *g, tn_node *n)
{
    const tn_global_pool2d_attr *a = n->attr;
    const tn_type *data = tn_in_type(n, 0);
    TN_TRY(tn_rule_layout_is(g, n, "layout", a->layout, tn_rule_channels_first(2), "data"));
    const tn_expr *one = tn_idx(g->pool, 1), *dim[4] = {data->dim[0], data->dim[1], one, one};
    TN_TRY(tn_rule_result(g, n, 0, data->dtype, 4, dim));
    for (int i = 2; i < 4; i++)
        TN_TRY(tn_rule_elements(g, n, data, i));
    return TN_OK;
}

static tn_status global_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &(const tn_type *){NULL}));
    TN_TRY(tn_rule_countable(g, n, 0));
    return global_result(g, n);
}

static tn_status global_max_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(tn_rule_tensor(g, n, 0, 4, &(const tn_type *){NULL}));
    TN_TRY(tn_rule_number(g, n, 0));
    return global_result(g, n);
}

static void global_max_pool2d_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "global_max_pool2d", "pool2d", "b c oh ow");
    tn_rule_require_elements(te, in[0], 2, t);
    tn_rule_require_elements(te, in[0], 3, t);
    const tn_expr *h = tn_te_reduce_axis(te, t, "kh", in[0]->dim[2]),
                  *w = tn_te_reduce_axis(te, t, "kw", in[0]->dim[3]);
    tn_te_reduce(te, t, TN_RED_MAX, tn_at4(te, in[0], t->axis[0], t->axis[1], h, w), NULL, NULL);
}

static void global_avg_pool2d_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *sum = tn_rule_sum(te, n, "pool_sum", "pool2d", "b c oh ow");
    const tn_expr *h = tn_te_reduce_axis(te, sum, "kh", in[0]->dim[2]),
                  *w = tn_te_reduce_axis(te, sum, "kw", in[0]->dim[3]);
    tn_te_sum(te, sum, tn_cast(p, sum->dtype, tn_at4(te, in[0], sum->axis[0], sum->axis[1], h, w)), NULL);
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "global_avg_pool2d", "elementwise", "b c oh ow");
    tn_rule_require_elements(te, in[0], 2, t);
    tn_rule_require_elements(te, in[0], 3, t);
    const tn_expr *all = tn_max(p, tn_mul(p, in[0]->dim[2], in[0]->dim[3]), tn_idx(p, 1));
    const tn_expr *count = tn_cast(p, sum->dtype, all);
    tn_te_define(te, t, tn_cast(p, t->dtype, quotient(p, tn_at(te, sum, 4, t->axis), count)));
}

/* clang-format off */
static const tn_attr_field global_fields[] = TN_ATTR_TABLE(tn_global_pool2d_attr, TN_GLOBAL_POOL2D_ATTRS);

const tn_op tn_op_nn_global_avg_pool2d = {
    .name = "nn.global_avg_pool2d", .doc = "Mean over all rows and columns of NCHW data, as [N, C, 1, 1].",
    .attr_size = sizeof(tn_global_pool2d_attr), .attr = global_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = global_infer, .layout = tn_layout_channel_block, .compute = global_avg_pool2d_compute,
    .scale = tn_scale_channels,
    .gradient = tn_gradient_global_average,
};

const tn_op tn_op_nn_global_max_pool2d = {
    .name = "nn.global_max_pool2d", .doc = "Largest element of all rows and columns of NCHW data, as [N, C, 1, 1].",
    .attr_size = sizeof(tn_global_pool2d_attr), .attr = global_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = pool_in,
    .infer = global_max_infer, .layout = tn_layout_channel_block, .compute = global_max_pool2d_compute,
};
/* clang-format on */

/* ---- nn.max_unpool ---- */

static tn_status unpool_infer(tn_graph *g, tn_node *n)
{
    const tn_unpool_attr *a = n->attr;
    const tn_type *data, *at;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &data));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_tensor(g, n, 1, data->n, &at));
    if (!tn_dtype_eq(at->dtype, TN_I64))
        return tn_rule_fail(g, n, "op-E011", "indices must be int64, but are %s; cast them",
                            tn_rule_dtype_text(g, at->dtype));
    if (a->from.n != a->shape.n || a->from.n < 1 || a->from.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E007", "from has %u entries, shape has %u, but both need 1 to %d",
                            (unsigned)a->from.n, (unsigned)a->shape.n, TN_RULE_MAX_RANK);
    for (int i = 0; i < data->n; i++)
        if (!tn_rule_agree(g, n, data->dim[i], at->dim[i]))
            return tn_rule_fail(g, n, "op-E008", "data %s and indices %s differ", tn_rule_type_text(g, data),
                                tn_rule_type_text(g, at));
    for (uint32_t i = 0; i < a->from.n; i++) {
        int64_t from, to;
        if (tn_is_int(a->from.at[i], &from) && tn_is_int(a->shape.at[i], &to) && (from > to || from < 1))
            return tn_rule_fail(g, n, "op-E007",
                                "shape[%u] is %lld, which is less than the %lld that indices count in",
                                (unsigned)i, (long long)to, (long long)from);
    }
    return tn_rule_result(g, n, 0, data->dtype, (int)a->shape.n, a->shape.at);
}

/* Loops over dim[] around nothing yet; index[] are their variables. Returns the innermost list. */
static tn_body *loops(tn_te *te, tn_body *at, int n, const tn_expr *const dim[], const tn_expr *index[])
{
    for (int i = 0; i < n; i++) {
        index[i] = tn_func_add_var(te->func, "i", TN_IDX);
        tn_stmt *loop = tn_stmt_for(te->func, index[i], dim[i], TN_LOOP_SERIAL);
        tn_body_append(at, loop);
        at = &loop->u.loop.body;
    }
    return at;
}

/* Zeros, then each element where its index says; of equal indices the last one counts. */
static void unpool_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_unpool_attr *a = n->attr;
    tn_pool *p = te->pool;
    int rank = (int)a->from.n;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "max_unpool", "", NULL);
    const tn_expr *index[TN_RULE_MAX_RANK], *to[TN_RULE_MAX_RANK], *all = tn_idx(p, 1);
    tn_te_extern(te, t);
    tn_body *b = loops(te, &t->body, t->ndim, t->dim, index);
    tn_body_append(b, tn_stmt_store(te->func, t->buffer, t->ndim, index, tn_const(p, t->dtype, 0), NULL));
    b = loops(te, &t->body, in[0]->ndim, in[0]->dim, index);
    const tn_expr *flat = tn_func_add_var(te->func, "at", TN_IDX);
    tn_body_append(b, tn_stmt_let(te->func, flat, tn_cast(p, TN_IDX, tn_at(te, in[1], in[1]->ndim, index))));
    for (int i = 0; i < rank; i++)
        all = tn_mul(p, all, a->from.at[i]);
    const tn_expr *inside = tn_and(p, tn_le(p, tn_idx(p, 0), flat), tn_lt(p, flat, all)), *rest = flat;
    tn_body_append(b, tn_stmt_check(te->func, inside, "nn.max_unpool: an index is outside the result"));
    for (int i = rank - 1; i >= 0; i--) {
        to[i] = i ? tn_fmod(p, rest, a->from.at[i]) : rest;
        rest = tn_fdiv(p, rest, a->from.at[i]);
    }
    tn_body_append(b,
                   tn_stmt_store(te->func, t->buffer, rank, to, tn_at(te, in[0], in[0]->ndim, index), NULL));
}

/* clang-format off */
static const tn_attr_field unpool_fields[] = TN_ATTR_TABLE(tn_unpool_attr, TN_UNPOOL_ATTRS);
static const char *const unpool_in[] = {"data", "indices"};

const tn_op tn_op_nn_max_unpool = {
    .name = "nn.max_unpool", .doc = "Puts each element where its index says; all else is 0.",
    .attr_size = sizeof(tn_unpool_attr), .attr = unpool_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = unpool_in,
    .infer = unpool_infer, .body = unpool_body,
};
/* clang-format on */
