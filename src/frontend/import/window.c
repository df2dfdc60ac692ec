/* Operators with windows: convolution, transposed convolution, pooling, resizing. */
#include "frontend/import/window.h"

#include <string.h>

/* ---- windows ---- */

void imp_pad_none(imp_node *c, imp_window *w)
{
    for (int i = 0; i < 2 * IMP_MAX_SPATIAL; i++)
        w->pad[i] = tn_idx(c->pool, 0);
}

void imp_pad_both(imp_node *c, imp_window *w, const int64_t pad[])
{
    for (int i = 0; i < 2 * w->dims; i++)
        w->pad[i] = tn_idx(c->pool, pad[i]);
}

bool imp_window_init(imp_node *c, tn_value x, bool last, imp_window *w)
{
    *w = (imp_window){.dims = imp_rank(x) - 2, .last = last};
    for (int i = 0; i < IMP_MAX_SPATIAL; i++)
        w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
    imp_pad_none(c, w);
    if (!c->bad && (w->dims < 1 || w->dims > IMP_MAX_SPATIAL))
        imp_refuse(c, IMP_TOO_LARGE,
                   "%s on %s is not supported, only 1-D, 2-D and 3-D (three to five dimensions)", c->row->op,
                   imp_type_text(c, imp_type(x)));
    return !c->bad;
}

bool imp_window_of_any_weight(imp_node *c, tn_value weight, imp_window *w)
{
    const tn_type *t = imp_type(weight);
    if (!c->bad && imp_rank(weight) != w->dims + 2)
        imp_refuse(c, IMP_TOO_LARGE,
                   "weight %s must have %d dimensions, as the data has; the model is damaged",
                   imp_type_text(c, t), w->dims + 2);
    for (int i = 0; i < w->dims && !c->bad; i++)
        w->run_kernel[i] = tn_is_int(t->dim[2 + i], &w->kernel[i]) ? NULL : t->dim[2 + i];
    return !c->bad;
}

static bool is_fixed(imp_node *c, const imp_window *w, int i)
{
    if (w->run_kernel[i])
        imp_refuse(c, IMP_TOO_LARGE, "the window of the weight must be fixed along spatial dimension %d", i);
    return !c->bad;
}

bool imp_window_of_weight(imp_node *c, tn_value weight, imp_window *w)
{
    bool ok = imp_window_of_any_weight(c, weight, w);
    for (int i = 0; i < w->dims && ok; i++)
        ok = is_fixed(c, w, i);
    return ok;
}

static bool is_size(int64_t n) { return n >= 1 && n <= INT32_MAX; }

int64_t imp_window_span(imp_node *c, const imp_window *w, int i)
{
    bool fits = is_size(w->stride[i]) && is_size(w->dilation[i]) && is_size(w->kernel[i]);
    int64_t s = fits ? (w->kernel[i] - 1) * w->dilation[i] + 1 : 0;
    if (!is_fixed(c, w, i))
        return 1;
    if (!fits || s > INT32_MAX)
        imp_refuse(c, IMP_BAD_VALUE,
                   "strides, dilations and windows must be at least 1, and smaller than 2^31");
    return c->bad ? 1 : s;
}

const tn_expr *imp_window_reach(imp_node *c, const imp_window *w, int i)
{
    tn_pool *p = c->pool;
    imp_window one = *w;
    if (!w->run_kernel[i])
        return tn_idx(p, imp_window_span(c, w, i));
    one.kernel[i] = 1;
    one.run_kernel[i] = NULL;
    (void)imp_window_span(c, &one, i);
    const tn_expr *steps = tn_sub(p, w->run_kernel[i], tn_idx(p, 1));
    return tn_add(p, tn_mul(p, steps, tn_idx(p, w->dilation[i])), tn_idx(p, 1));
}

const tn_expr *imp_window_extent(tn_value x, const imp_window *w, int i)
{
    return imp_type(x)->dim[(w->last ? 1 : 2) + i];
}

/* What is symbolic and may be less than none is cut off at the end, where no window reaches, so that extents stay
 * sums. */
void imp_pad_share(imp_node *c, imp_window *w, int i, const tn_expr *total, bool before)
{
    tn_pool *p = c->pool;
    const tn_expr *some = imp_simplify(c, tn_max(p, total, tn_idx(p, 0)));
    w->pad[i] = imp_simplify(c, before ? tn_ceildiv(p, some, 2) : tn_fdiv(p, some, tn_idx(p, 2)));
    w->pad[w->dims + i] = imp_simplify(c, tn_sub(p, total->kind == TN_E_INT ? some : total, w->pad[i]));
}

void imp_pad_same(imp_node *c, tn_value x, imp_window *w, bool before)
{
    tn_pool *p = c->pool;
    for (int i = 0; i < w->dims && !c->bad; i++) {
        const tn_expr *reach = imp_window_reach(c, w, i);
        int64_t s = w->stride[i];
        if (c->bad)
            return;
        if (tn_is_value(reach, 1))
            continue; /* no window reaches outside */
        const tn_expr *in = imp_window_extent(x, w, i),
                      *steps = tn_mul(p, tn_ceildiv(p, in, s), tn_idx(p, s));
        imp_pad_share(c, w, i, tn_add(p, tn_sub(p, steps, in), tn_sub(p, reach, tn_idx(p, s))), before);
    }
}

void imp_pad_output(imp_node *c, tn_value x, imp_window *w, const tn_expr *const size[], bool before,
                    int64_t more[])
{
    tn_pool *p = c->pool;
    for (int i = 0; i < w->dims && !c->bad; i++) {
        int64_t n;
        if (tn_is_int(size[i], &n) && (n < 1 || n > INT32_MAX)) {
            imp_refuse(c, IMP_BAD_VALUE, "the result would have %lld elements along spatial dimension %d",
                       (long long)n, i);
            return;
        }
        const tn_expr *steps = tn_sub(p, imp_window_extent(x, w, i), tn_idx(p, 1)),
                      *reach = tn_add(p, imp_window_reach(c, w, i), tn_idx(p, more[i])),
                      *all = tn_add(p, tn_mul(p, steps, tn_idx(p, w->stride[i])), reach),
                      *over = imp_simplify(c, tn_sub(p, all, size[i]));
        imp_pad_share(c, w, i, over, before);
        if (tn_is_int(over, &n) && n < 0)
            more[i] -= n;
    }
}

static tn_ints list(imp_node *c, int n, const int64_t at[])
{
    return tn_ints_make(c->arena, (uint32_t)n, at);
}

/* What attributes say of the kernel: nothing where the run decides. */
static tn_ints kernel_size(imp_node *c, const imp_window *w)
{
    for (int i = 0; i < w->dims; i++)
        if (w->run_kernel[i])
            return (tn_ints){0};
    return list(c, w->dims, w->kernel);
}

static tn_dims pads(imp_node *c, const imp_window *w)
{
    return tn_dims_make(c->arena, 2 * (uint32_t)w->dims, w->pad);
}

/* ---- orders of dimensions ---- */

tn_value imp_reorder(imp_node *c, tn_value v, const char *from, const char *to)
{
    int64_t perm[IMP_MAX_RANK];
    int n = (int)strlen(to);
    for (int i = 0; i < n; i++)
        perm[i] = strchr(from, to[i]) - from;
    if (!c->bad && imp_rank(v) != n)
        imp_refuse(c, IMP_TOO_LARGE, "weight %s must have %d dimensions; the model is damaged",
                   imp_type_text(c, imp_type(v)), n);
    return c->bad || strcmp(from, to) == 0 ? v : imp_transpose(c, v, n, perm);
}

tn_value imp_depthwise_weight(imp_node *c, tn_value v)
{
    static const char *const from[] = {"WCM", "HWCM", "DHWCM"}, *const to[] = {"CMW", "CMHW", "CMDHW"};
    const tn_expr *dim[2 + IMP_MAX_SPATIAL];
    int n = imp_rank(v);
    if (c->bad || n < 3 || n > 2 + IMP_MAX_SPATIAL) {
        imp_refuse(c, IMP_TOO_LARGE, "weight %s must have three to five dimensions; the model is damaged",
                   imp_type_text(c, imp_type(v)));
        return v;
    }
    v = imp_reorder(c, v, from[n - 3], to[n - 3]);
    const tn_type *t = imp_type(v);
    dim[0] = c->bad ? NULL : imp_simplify(c, tn_mul(c->pool, t->dim[0], t->dim[1]));
    dim[1] = tn_idx(c->pool, 1);
    for (int i = 2; i < n && !c->bad; i++)
        dim[i] = t->dim[i];
    return c->bad ? v : imp_reshape(c, v, n, dim);
}

tn_value imp_channels_first(imp_node *c, tn_value x)
{
    int64_t perm[IMP_MAX_RANK];
    int n = imp_rank(x);
    for (int i = 0; i < n; i++)
        perm[i] = i == 0 ? 0 : i == 1 ? n - 1 : i - 1;
    return n < 3 ? x : imp_transpose(c, x, n, perm);
}

tn_value imp_channels_last(imp_node *c, tn_value y)
{
    int64_t perm[IMP_MAX_RANK];
    int n = imp_rank(y);
    for (int i = 0; i < n; i++)
        perm[i] = i == 0 ? 0 : i == n - 1 ? 1 : i + 1;
    return n < 3 ? y : imp_transpose(c, y, n, perm);
}

static tn_value into(imp_node *c, tn_value x, bool last) { return last ? imp_channels_first(c, x) : x; }

static tn_value back(imp_node *c, tn_value y, bool last)
{
    return last && !c->bad ? imp_channels_last(c, y) : y;
}

/* ---- convolution ---- */

const tn_op *imp_conv_op(int dims)
{
    static const tn_op *const ops[] = {&tn_op_nn_conv1d, &tn_op_nn_conv2d, &tn_op_nn_conv3d};
    return ops[dims < 1 || dims > IMP_MAX_SPATIAL ? 1 : dims - 1];
}

bool imp_conv_attr(imp_node *c, const imp_window *w, tn_value weight, int64_t groups, const tn_op *op,
                   tn_conv2d_attr *a)
{
    if (c->bad || tn_attr_init(c->pool, op->attr, sizeof *a, a) != TN_OK)
        return false;
    a->strides = list(c, w->dims, w->stride);
    a->dilation = list(c, w->dims, w->dilation);
    a->padding = pads(c, w);
    a->kernel_size = kernel_size(c, w);
    a->groups = groups;
    (void)tn_is_int(imp_type(weight)->dim[0], &a->channels);
    return true;
}

tn_value imp_conv(imp_node *c, tn_value x, tn_value weight, const imp_window *w, int64_t groups)
{
    tn_conv2d_attr a;
    const tn_op *op = imp_conv_op(w->dims);
    if (!imp_conv_attr(c, w, weight, groups, op, &a))
        return (tn_value){0};
    return back(c, imp_call2(c, op, &a, into(c, x, w->last), weight), w->last);
}

tn_value imp_conv_transpose(imp_node *c, tn_value x, tn_value weight, const imp_window *w,
                            const int64_t more[], int64_t groups)
{
    static const tn_op *const ops[] = {&tn_op_nn_conv1d_transpose, &tn_op_nn_conv2d_transpose,
                                       &tn_op_nn_conv3d_transpose};
    static const int64_t none[IMP_MAX_SPATIAL] = {0};
    tn_conv_transpose_attr a;
    if (c->bad || tn_attr_init(c->pool, ops[w->dims - 1]->attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    a.strides = list(c, w->dims, w->stride);
    a.dilation = list(c, w->dims, w->dilation);
    a.padding = pads(c, w);
    a.output_padding = list(c, w->dims, more ? more : none);
    a.kernel_size = kernel_size(c, w);
    a.groups = groups;
    return back(c, imp_call2(c, ops[w->dims - 1], &a, into(c, x, w->last), weight), w->last);
}

/* How much is cut off dimension i so that the result has this extent, or added to it, below 0; `else_`: where that is
 * no number. */
static int64_t cut_to(imp_node *c, tn_value x, const imp_window *w, int i, const tn_expr *size, int64_t else_)
{
    int64_t total;
    const tn_expr *before_last = tn_sub(c->pool, imp_window_extent(x, w, i), tn_idx(c->pool, 1));
    const tn_expr *steps = tn_mul(c->pool, before_last, tn_idx(c->pool, w->stride[i]));
    const tn_expr *all = tn_add(c->pool, steps, tn_idx(c->pool, imp_window_span(c, w, i)));
    return tn_is_int(imp_simplify(c, tn_sub(c->pool, all, size)), &total) ? total : else_;
}

/* The cuts of dimension i and, as the result, what is added after it. */
static int64_t cut(imp_node *c, tn_value x, imp_window *w, int i, const tn_expr *size, enum imp_padding how)
{
    int64_t before = 0, after = 0, total;
    if (how == IMP_SAME) {
        total = cut_to(c, x, w, i, size, imp_window_span(c, w, i) - w->stride[i]);
        imp_pad_share(c, w, i, tn_idx(c->pool, total), false);
        return total < 0 ? -total : 0;
    }
    if (how == IMP_EXPLICIT && (!tn_is_int(w->pad[i], &before) || !tn_is_int(w->pad[w->dims + i], &after)))
        return 0;
    total = cut_to(c, x, w, i, size, before + after);
    if (total > before + after)
        w->pad[w->dims + i] = tn_idx(c->pool, total - before);
    return total < before + after ? before + after - total : 0;
}

tn_value imp_conv_transpose_to(imp_node *c, tn_value x, tn_value weight, imp_window *w, tn_dims size,
                               enum imp_padding how)
{
    int64_t more[IMP_MAX_SPATIAL] = {0};
    uint32_t dims = (uint32_t)w->dims, first = w->last ? 1 : 2, skip = size.n == dims ? 0 : first;
    if (!c->bad && size.n != dims + 2 && size.n != dims)
        imp_refuse(c, IMP_BAD_VALUE, "the extents of the result have %u entries for %s", (unsigned)size.n,
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < w->dims && !c->bad; i++)
        more[i] = cut(c, x, w, i, size.at[skip + (uint32_t)i], how);
    tn_value v = imp_conv_transpose(c, x, weight, w, more, 1);
    for (uint32_t i = 0; i < dims && !c->bad; i++)
        if (!imp_with_extent(c, &v, (int)(first + i), size.at[skip + i]))
            imp_refuse(c, IMP_BAD_VALUE, "the extents of the result do not fit %s",
                       imp_type_text(c, imp_type(x)));
    return v;
}

tn_value imp_bias(imp_node *c, tn_value v, tn_value bias, bool last)
{
    tn_axis_attr a = {last ? -1 : 1};
    return bias.def ? imp_call2(c, &tn_op_nn_bias_add, &a, v, bias) : v;
}

/* ---- pooling ---- */

const tn_op *imp_pool_op(enum imp_pool_kind kind, int dims)
{
    static const tn_op *const ops[][IMP_MAX_SPATIAL] = {
        [IMP_POOL_MAX] = {&tn_op_nn_max_pool1d, &tn_op_nn_max_pool2d, &tn_op_nn_max_pool3d},
        [IMP_POOL_AVERAGE] = {&tn_op_nn_avg_pool1d, &tn_op_nn_avg_pool2d, &tn_op_nn_avg_pool3d},
    };
    return ops[kind][dims - 1];
}

bool imp_pool_attr(imp_node *c, const imp_window *w, const tn_op *op, tn_pool2d_attr *a)
{
    if (c->bad || tn_attr_init(c->pool, op->attr, sizeof *a, a) != TN_OK)
        return false;
    a->pool_size = list(c, w->dims, w->kernel);
    a->strides = list(c, w->dims, w->stride);
    a->dilation = list(c, w->dims, w->dilation);
    a->padding = pads(c, w);
    return true;
}

tn_value imp_pool(imp_node *c, enum imp_pool_kind kind, tn_value x, const imp_window *w, bool included)
{
    tn_pool2d_attr a;
    const tn_op *op = imp_pool_op(kind, w->dims);
    if (!imp_pool_attr(c, w, op, &a))
        return (tn_value){0};
    a.count_include_pad = included;
    return back(c, imp_call1(c, op, &a, into(c, x, w->last)), w->last);
}

/* ---- resizing, limits ---- */

tn_value imp_resize(imp_node *c, tn_value x, bool last, tn_dims size, tn_resize_attr how)
{
    static const tn_op *const by_dims[] = {&tn_op_image_resize1d, &tn_op_image_resize2d,
                                           &tn_op_image_resize3d};
    imp_window w;
    tn_resize_attr a;
    if (imp_window_init(c, x, last, &w) && size.n != (uint32_t)w.dims)
        imp_refuse(c, IMP_BAD_VALUE, "the size has %u entries for %s, but an image of %u has %u dimensions",
                   (unsigned)size.n, imp_type_text(c, imp_type(x)), (unsigned)size.n, (unsigned)size.n + 2);
    if (c->bad || tn_attr_init(c->pool, by_dims[w.dims - 1]->attr, sizeof a, &a) != TN_OK)
        return (tn_value){0};
    how.size = tn_dims_make(c->arena, size.n, size.at);
    how.layout = a.layout;
    return back(c, imp_call1(c, by_dims[w.dims - 1], &how, into(c, x, last)), last);
}

tn_value imp_clip(imp_node *c, tn_value v, double least, double most)
{
    tn_clip_attr a = {least, most};
    return imp_call1(c, &tn_op_clip, &a, v);
}
