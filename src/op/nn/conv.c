/* Convolution: nn.conv1d, nn.conv2d and nn.conv3d over logical NC(D)(H)W data and OI(D)(H)W weights.
 *
 * One definition serves direct, grouped and depthwise convolution, any stride, dilation and (asymmetric)
 * padding: a reduction over (ic, kh, kw) whose terms count only inside the image, so there is no padded copy.
 * Blocked forms are layouts of its operands, not other operators. nn.conv1d is nn.conv2d of one row; nn.conv3d is
 * nn.conv2d of images that hold all depths a result reads as channels.
 */
#include "op/qnn/build.h"

#include "machine/machine.h"
#include "op/gradient.h"
#include "op/nn/nn.h"
#include "op/nn/winograd.h"
#include "op/tensor/tensor.h"

#include <string.h>

enum { MANY_TAPS = 4 }; /* from here on a relayout of the data costs less than empty parts of blocks */

/* Spatial dimensions of a convolution of this node. */
static int n_spatial(const tn_node *n)
{
    return n->op == &tn_op_nn_conv1d ? 1 : n->op == &tn_op_nn_conv3d ? 3 : 2;
}

static tn_window window_of(const tn_conv2d_attr *a, int axis)
{
    return (tn_window){.stride = a->strides.at[axis],
                       .dilation = a->dilation.at[axis],
                       .before = a->padding.at[axis],
                       .after = a->padding.at[a->padding.n / 2 + (uint32_t)axis]};
}

/* ---- type relation ---- */

static tn_status check_layouts(tn_graph *g, const tn_node *n, const tn_conv2d_attr *a)
{
    static const char *const kernel[] = {"OIW", "OIHW", "OIDHW"};
    int dims = n_spatial(n);
    const char *data = tn_rule_channels_first(dims);
    TN_TRY(tn_rule_layout_is(g, n, "data_layout", a->data_layout, data, "data"));
    TN_TRY(tn_rule_layout_is(g, n, "kernel_layout", a->kernel_layout, kernel[dims - 1], "weight"));
    return tn_rule_layout_is(g, n, "out_layout", a->out_layout, data, "result");
}

static tn_status normalise(tn_graph *g, tn_node *n, tn_conv2d_attr *a)
{
    uint32_t dims = (uint32_t)n_spatial(n);
    TN_TRY(check_layouts(g, n, a));
    TN_TRY(tn_rule_steps(g, n, &a->strides, &a->dilation, &a->padding, dims));
    if (a->kernel_size.n)
        TN_TRY(tn_rule_ints(g, n, "kernel_size", &a->kernel_size, dims, 1, 1));
    TN_TRY(tn_rule_groups(g, n, "groups", a->groups));
    tn_rule_set_attr(g, n, a);
    return TN_OK;
}

static tn_status check_channels(tn_graph *g, const tn_node *n, const tn_conv2d_attr *a, const tn_type *data,
                                const tn_type *weight)
{
    const tn_expr *groups = tn_idx(g->pool, a->groups);
    int64_t oc;
    if (!tn_rule_agree(g, n, data->dim[1], tn_mul(g->pool, weight->dim[1], groups)))
        return tn_rule_fail(
            g, n, "op-E008", "data %s has %s channels, but weight %s takes %s in each of %lld groups",
            tn_rule_type_text(g, data), tn_rule_dim_text(g, data->dim[1]), tn_rule_type_text(g, weight),
            tn_rule_dim_text(g, weight->dim[1]), (long long)a->groups);
    if (tn_is_int(weight->dim[0], &oc) && oc % a->groups != 0)
        return tn_rule_fail(g, n, "op-E008", "%lld output channels are not a multiple of %lld groups",
                            (long long)oc, (long long)a->groups);
    if (a->channels && !tn_rule_agree(g, n, weight->dim[0], tn_idx(g->pool, a->channels)))
        return tn_rule_fail(g, n, "op-E008", "channels is %lld, but weight is %s", (long long)a->channels,
                            tn_rule_type_text(g, weight));
    for (uint32_t i = 0; i < a->kernel_size.n; i++)
        if (!tn_rule_agree(g, n, weight->dim[2 + i], tn_idx(g->pool, a->kernel_size.at[i])))
            return tn_rule_fail(g, n, "op-E008", "kernel_size[%u] is %lld, but weight is %s", (unsigned)i,
                                (long long)a->kernel_size.at[i], tn_rule_type_text(g, weight));
    return TN_OK;
}

static tn_status conv_infer(tn_graph *g, tn_node *n)
{
    tn_conv2d_attr a = *(const tn_conv2d_attr *)n->attr;
    const tn_type *data, *weight;
    const tn_expr *dim[5];
    tn_dtype dtype;
    int dims = n_spatial(n);
    TN_TRY(tn_rule_tensor(g, n, 0, dims + 2, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, dims + 2, &weight));
    TN_TRY(tn_rule_product(g, n, a.out_dtype, &dtype));
    TN_TRY(normalise(g, n, &a));
    TN_TRY(check_channels(g, n, &a, data, weight));
    dim[0] = data->dim[0];
    dim[1] = weight->dim[0];
    for (int i = 0; i < dims; i++) {
        tn_window w = window_of(&a, i);
        TN_TRY(tn_rule_window(g, n, data, 2 + i, weight->dim[2 + i], &w, &dim[2 + i]));
    }
    return tn_rule_result(g, n, 0, dtype, dims + 2, dim);
}

/* ---- tensor expression ---- */

static bool is_depthwise(const tn_node *n)
{
    const tn_conv2d_attr *a = n->attr;
    return a->groups > 1 && tn_is_value(tn_in_type(n, 0)->dim[1], a->groups);
}

/* The data channel that output channel oc reads at position ic of its group. */
static const tn_expr *data_channel(tn_pool *p, const tn_node *n, const tn_expr *oc, const tn_expr *ic)
{
    const tn_conv2d_attr *a = n->attr;
    if (a->groups == 1)
        return ic;
    const tn_expr *oc_in_group = tn_fdiv(p, n->type[0]->dim[1], tn_idx(p, a->groups));
    const tn_expr *group = tn_fdiv(p, oc, oc_in_group);
    return tn_add(p, tn_mul(p, group, tn_in_type(n, 1)->dim[1]), ic);
}

static void conv2d_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    bool depthwise = is_depthwise(n);
    const char *name = depthwise ? "depthwise_conv2d" : "conv2d";
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, name, name, "b oc oh ow");
    const tn_expr *oc = t->axis[1], *at[2], *tap[2], *where = NULL;
    const tn_expr *ic = depthwise ? tn_idx(p, 0) : tn_te_reduce_axis(te, t, "ic", in[1]->dim[1]);
    for (int i = 0; i < 2; i++) {
        tn_window w = window_of(n->attr, i);
        tap[i] = tn_te_reduce_axis(te, t, i ? "kw" : "kh", in[1]->dim[2 + i]);
        at[i] = tn_rule_window_index(p, t->axis[2 + i], tap[i], &w);
        where = tn_rule_both(p, where, tn_rule_window_inside(p, at[i], in[0]->dim[2 + i], &w));
        tn_rule_require_window(te, t, 2 + i);
        tn_rule_require_taps(te, in[1]->dim[2 + i]);
    }
    const tn_expr *x = tn_at4(te, in[0], t->axis[0], data_channel(p, n, oc, ic), at[0], at[1]);
    tn_te_sum(te, t, tn_rule_times(p, t->dtype, x, tn_at4(te, in[1], oc, ic, tap[0], tap[1])), where);
}

/* ---- nn.conv3d: convolutions of images whose channels are those of all depths that a result reads ---- */

static tn_value call(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int nin, const tn_value in[])
{
    for (int i = 0; i < nin; i++)
        if (!in[i].def)
            return (tn_value){0};
    return tn_val(tn_make_call(g, n->owner, n, op, nin, in, attr, n->loc));
}

static tn_value reshaped(tn_graph *g, tn_node *n, tn_value v, int rank, const tn_expr *const dim[])
{
    tn_reshape_attr a = {tn_dims_make(g->arena, (uint32_t)rank, dim), true};
    return call(g, n, &tn_op_reshape, &a, 1, &v);
}

static tn_ints without_depth(tn_graph *g, tn_ints v) { return tn_ints_make(g->arena, 2, v.at + 1); }

static tn_status conv3d_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t depth_first[] = {0, 2, 1, 3, 4}, channels_first[] = {0, 2, 1, 3, 4};
    const tn_conv2d_attr *a = n->attr;
    const tn_type *w = tn_in_type(n, 1), *y = n->type[0];
    const tn_expr *const *pad = a->padding.at;
    tn_pool *p = g->pool;
    tn_conv2d_attr b = *a;
    tn_depths_attr d = {.stride = a->strides.at[0],
                        .dilation = a->dilation.at[0],
                        .groups = a->groups,
                        .before = tn_dims_make(g->arena, 1, a->padding.at),
                        .taps = tn_dims_make(g->arena, 1, w->dim + 2),
                        .size = tn_dims_make(g->arena, 1, y->dim + 2)};
    tn_transpose_attr front = {tn_ints_make(g->arena, 5, depth_first)},
                      back = {tn_ints_make(g->arena, 5, channels_first)};
    tn_value x = tn_in(n, 0), weight = tn_in(n, 1);
    b.strides = without_depth(g, a->strides);
    b.dilation = without_depth(g, a->dilation);
    b.padding = tn_dims_make(g->arena, 4, (const tn_expr *const[]){pad[1], pad[2], pad[4], pad[5]});
    b.kernel_size = (tn_ints){0};
    b.data_layout = b.out_layout = "NCHW";
    b.kernel_layout = "OIHW";
    x = call(g, n, &tn_op_nn_depth_columns, &d, 1, &x);
    weight = call(g, n, &tn_op_transpose, &front, 1, &weight);
    const tn_expr *flat[4] = {w->dim[0], tn_simplify_extent(g, tn_mul(p, w->dim[1], w->dim[2])), w->dim[3],
                              w->dim[4]};
    weight = reshaped(g, n, weight, 4, flat);
    tn_value v = call(g, n, &tn_op_nn_conv2d, &b, 2, (const tn_value[]){x, weight});
    const tn_expr *apart[5] = {y->dim[0], y->dim[2], y->dim[1], y->dim[3], y->dim[4]};
    v = reshaped(g, n, v, 5, apart);
    out[0] = call(g, n, &tn_op_transpose, &back, 1, &v);
    return out[0].def ? TN_OK : TN_FAIL;
}

/* nn.depth_columns: [n, c, d, h, w] -> [n * size, groups * taps * c / groups, h, w] */
static tn_status depths_infer(tn_graph *g, tn_node *n)
{
    const tn_depths_attr *a = n->attr;
    const tn_type *t;
    int64_t c, taps = 1;
    TN_TRY(tn_rule_tensor(g, n, 0, 5, &t));
    if (a->taps.n != 1 || a->size.n != 1 || (tn_is_int(a->taps.at[0], &taps) && taps < 1) || a->stride < 1 ||
        a->dilation < 1 || a->before.n != 1 || a->groups < 1 || !tn_is_int(t->dim[1], &c) ||
        c % a->groups != 0)
        return tn_rule_fail(g, n, "op-E007", "stride, dilation, taps, size or groups do not match %s",
                            tn_rule_type_text(g, t));
    const tn_expr *dim[4] = {tn_mul(g->pool, t->dim[0], a->size.at[0]),
                             tn_mul(g->pool, t->dim[1], a->taps.at[0]), t->dim[3], t->dim[4]};
    return tn_rule_result(g, n, 0, t->dtype, 4, dim);
}

static void depths_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_depths_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "depth_columns", "injective", NULL);
    const tn_expr *each = tn_fdiv(p, in[0]->dim[1], tn_idx(p, a->groups)), *taps = a->taps.at[0];
    const tn_expr *group = tn_fdiv(p, t->axis[1], tn_mul(p, taps, each)), *zero = tn_idx(p, 0);
    const tn_expr *tap = tn_fmod(p, tn_fdiv(p, t->axis[1], each), taps);
    const tn_expr *channel = tn_add(p, tn_mul(p, group, each), tn_fmod(p, t->axis[1], each));
    const tn_expr *at = tn_mul(p, tn_fmod(p, t->axis[0], a->size.at[0]), tn_idx(p, a->stride));
    at = tn_sub(p, tn_add(p, at, tn_mul(p, tap, tn_idx(p, a->dilation))), a->before.at[0]);
    const tn_expr *index[5] = {tn_fdiv(p, t->axis[0], a->size.at[0]), channel, at, t->axis[2], t->axis[3]};
    const tn_expr *inside = tn_and(p, tn_le(p, zero, at), tn_lt(p, at, in[0]->dim[2]));
    tn_te_define(te, t, tn_at_if(te, in[0], 5, index, inside, tn_const(p, t->dtype, 0)));
}

/* ---- nn.conv1d: one row ---- */

static tn_ints with_row(tn_graph *g, tn_ints v)
{
    return v.n ? tn_ints_make(g->arena, 2, (const int64_t[]){1, v.at[0]}) : v;
}

static tn_status conv1d_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    const tn_conv2d_attr *a = n->attr;
    static const tn_expand_dims_attr row = {2, 1};
    static const int64_t at_row = 2;
    const tn_expr *none = tn_idx(g->pool, 0);
    tn_squeeze_attr drop = {tn_ints_make(g->arena, 1, &at_row)};
    tn_conv2d_attr b = *a;
    tn_value in[2];
    b.strides = with_row(g, a->strides);
    b.dilation = with_row(g, a->dilation);
    b.padding =
        tn_dims_make(g->arena, 4, (const tn_expr *const[]){none, a->padding.at[0], none, a->padding.at[1]});
    b.kernel_size = with_row(g, a->kernel_size);
    b.data_layout = b.out_layout = "NCHW";
    b.kernel_layout = "OIHW";
    for (int i = 0; i < 2; i++) {
        tn_value v = tn_in(n, i);
        in[i] = tn_val(tn_make_call(g, n->owner, n, &tn_op_expand_dims, 1, &v, &row, n->loc));
        if (!in[i].def)
            return TN_FAIL;
    }
    tn_value y = tn_val(tn_make_call(g, n->owner, n, &tn_op_nn_conv2d, 2, in, &b, n->loc));
    if (!y.def)
        return TN_FAIL;
    out[0] = tn_val(tn_make_call(g, n->owner, n, &tn_op_squeeze, 1, &y, &drop, n->loc));
    return out[0].def ? TN_OK : TN_FAIL;
}

/* ---- layout ----
 * Channels go in blocks of one vector where there are enough of them; the weight is blocked by output channels (and by
 * input channels where the data is; where products of bytes are added by fours, by groups of four input channels). A
 * weight that is computed keeps its layout: packing is for compile time. */

static int64_t tap_count(const tn_node *n)
{
    const tn_type *w = tn_in_type(n, 1);
    int64_t h, v;
    return tn_is_int(w->dim[2], &h) && tn_is_int(w->dim[3], &v) && h < INT32_MAX && v < INT32_MAX ? h * v : 1;
}

static bool is_channels_last(const tn_layout *l)
{
    static const uint8_t order[] = {0, 2, 3, 1};
    for (int i = 0; i < 4 && l && l->ndim == 4; i++)
        if (l->axis[i].dim != order[i])
            return false;
    return l && l->ndim == 4 && tn_rule_permutes(l);
}

/* Blocks of pixels have fewer empty elements than blocks of channels. One in ten pays for rows that begin anywhere,
 * most for pixels that are not beside each other. */
static bool suits_pixels(const tn_conv2d_attr *a, int64_t oc, int64_t width, int block)
{
    bool apart = a->strides.n > 1 && a->strides.at[1] != 1;
    if (oc >= (apart ? block / 2 : block) || width < 2 * block)
        return false;
    int64_t blocks = (width + block - 1) / block;
    return 10 * oc * blocks < 9 * width;
}

static void conv2d_layout(tn_layout_query *q)
{
    const tn_node *n = q->node;
    const tn_conv2d_attr *a = n->attr;
    if (q->desired ? strcmp(q->desired, "NHWC") == 0 : is_channels_last(q->in[0])) {
        const tn_layout *last =
            tn_rule_layout(q->g, "NCHW:NHWC"); /* not before: a structure keeps its first text */
        bool named = q->desired_kernel && strcmp(q->desired_kernel, "default") != 0;
        const char *kernel = named ? q->desired_kernel : "HWIO";
        bool packed = q->desired_kernel || !q->in[1]; /* what was asked for before stays */
        q->in[0] = q->out[0] = last;
        if (packed)
            q->in[1] =
                tn_op_is(tn_in(n, 1).def, &tn_op_constant) ? tn_rule_layout(q->g, "OIHW:%s", kernel) : NULL;
        return;
    }
    int block = tn_machine_block(q->machine);
    bool depthwise = is_depthwise(n), packs = tn_op_is(tn_in(n, 1).def, &tn_op_constant);
    int64_t ic = 0, oc = 0, width = 0;
    q->in[0] = q->in[1] = q->out[0] = NULL;
    if (!tn_is_int(tn_in_type(n, 0)->dim[1], &ic) || !tn_is_int(n->type[0]->dim[1], &oc) || block < 2)
        return;
    bool whole = a->groups == 1 || oc / a->groups % block == 0; /* no block holds channels of two groups */
    bool whole_in = whole && (a->groups == 1 || ic / a->groups % block == 0);
    bool blocks_in = ic >= block && (depthwise ? oc == ic : whole_in);
    (void)tn_is_int(n->type[0]->dim[3], &width);
    bool pixels = !depthwise && tap_count(n) > MANY_TAPS && suits_pixels(a, oc, width, block);
    blocks_in &= !pixels;
    bool blocks_out = depthwise ? blocks_in : whole && oc >= block / 2 && !pixels;
    const tn_unit_row *lanes = tn_rule_unit(q, TN_UNIT_LANES);
    bool fours = lanes && lanes->most[TN_UNIT_TERMS] == 4 && a->groups == 1 && packs && block >= 4,
         few = fours && !blocks_in && blocks_out;
    if (blocks_in)
        q->in[0] = tn_rule_layout(q->g, "NCHW%dc", block);
    if (few)
        q->in[0] = tn_rule_layout(q->g, "NCHW4c");
    if (blocks_out)
        q->out[0] = tn_rule_layout(q->g, "NCHW%dc", block);
    if (!packs || !(blocks_in || blocks_out))
        return;
    if (few)
        q->in[1] = tn_rule_weight_layout(q, 1, "OIHW%do4i", block);
    else if (fours && blocks_in)
        q->in[1] = tn_rule_weight_layout(q, 1, "OIHW%di%do4i", block / 4, block);
    if (few || (fours && blocks_in))
        return;
    q->in[1] = blocks_in && !depthwise ? tn_rule_weight_layout(q, 1, "OIHW%di%do", block, block)
                                       : tn_rule_weight_layout(q, 1, "OIHW%do", block);
}

/* ---- for passes ---- */

static enum tn_scale conv2d_scale(const tn_node *n, bool forward, bool positive, int axis, int *other)
{
    const tn_conv2d_attr *a = n->attr;
    (void)positive;
    if (axis != 1)
        return TN_SCALE_NONE;
    if (!forward) {
        *other = 0;
        return TN_SCALE_WEIGHT;
    }
    *other = is_depthwise(n) ? 0 : 1;
    bool one_to_one = is_depthwise(n) && n->type[0]->dim[1] == tn_in_type(n, 0)->dim[1];
    return a->groups == 1 || one_to_one ? TN_SCALE_WEIGHT : TN_SCALE_NONE;
}

static bool conv2d_combine(const tn_node *n, tn_combine *out)
{
    *out = (tn_combine){TN_COMBINE_CONV2D, 0, 1, offsetof(tn_conv2d_attr, channels)};
    return ((const tn_conv2d_attr *)n->attr)->groups == 1;
}

/* Of an image, what is away from its edges, where strides step over none. */
static void conv2d_reads(const tn_node *n, int64_t out[2])
{
    const tn_type *t = n->type[0];
    out[0] = tn_rule_least(t->dim + 1, 1) / ((const tn_conv2d_attr *)n->attr)->groups * tap_count(n);
    out[1] = tn_rule_least(t->dim, 1) * tn_rule_least(t->dim + 2, 2);
}

/* ---- zeros around the data ---- */

/* Zeros around an image alone, of extents that are known: what a convolution's own padding is. axes: where the image's
 * dimensions, [n,c,h,w], stand in what is padded. */
static bool pads_image(const tn_node *n, const int64_t axes[4])
{
    const tn_pad_attr *a = n->attr;
    int64_t width;
    if (n->op != &tn_op_nn_pad || a->pad_mode[0] != 'c' || a->pad_value != 0 || (n->nin > 1 && n->in[1].def))
        return false;
    for (int i = 0; i < 8; i++)
        if (!tn_is_int(a->pad_width.at[2 * axes[i / 2] + i % 2], &width) || width < 0 || (i < 4 && width > 0))
            return false;
    return true;
}

/* An nn.pad in front, also of data whose dimensions are put in order behind it, becomes padding. */
static tn_status conv2d_simplify(tn_graph *g, tn_node *n, tn_value *out)
{
    static const int64_t in_order[] = {0, 1, 2, 3};
    tn_conv2d_attr a = *(const tn_conv2d_attr *)n->attr;
    tn_value in[2] = {tn_in(n, 0), tn_in(n, 1)};
    const tn_node *order = in[0].def->op == &tn_op_transpose ? in[0].def : NULL;
    const int64_t *axes = order ? ((const tn_transpose_attr *)order->attr)->axes.at : in_order;
    const tn_node *pad = order ? tn_in(order, 0).def : in[0].def;
    const tn_expr *padding[4];
    if (!pads_image(pad, axes))
        return TN_OK;
    const tn_pad_attr *w = pad->attr;
    for (int i = 0; i < 2; i++) {
        padding[i] = tn_add(g->pool, a.padding.at[i], w->pad_width.at[2 * axes[2 + i]]);
        padding[2 + i] = tn_add(g->pool, a.padding.at[2 + i], w->pad_width.at[2 * axes[2 + i] + 1]);
    }
    a.padding = tn_dims_make(g->arena, 4, padding);
    in[0] = tn_in(pad, 0);
    if (order)
        in[0] = tn_val(tn_make_call(g, n->owner, n, order->op, 1, in, order->attr, order->loc));
    *out = in[0].def ? tn_val(tn_make_call(g, n->owner, n, n->op, 2, in, &a, n->loc)) : (tn_value){0};
    return out->def ? TN_OK : TN_FAIL;
}

/* clang-format off */
static const tn_attr_field conv1d_fields[] = TN_ATTR_TABLE(tn_conv2d_attr, TN_CONV1D_ATTRS);
static const tn_attr_field conv2d_fields[] = TN_ATTR_TABLE(tn_conv2d_attr, TN_CONV2D_ATTRS);
static const tn_attr_field conv3d_fields[] = TN_ATTR_TABLE(tn_conv2d_attr, TN_CONV3D_ATTRS);
static const char *const conv_in[] = {"data", "weight"};

const tn_op tn_op_nn_conv1d = {
    .name = "nn.conv1d", .doc = "1-D convolution (cross-correlation) of NCW data with OIW weights, zero padding.",
    .attr_size = sizeof(tn_conv2d_attr), .attr = conv1d_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = conv_in,
    .infer = conv_infer, .expand = conv1d_expand,
};
static const tn_alternative conv2d_ways[] = {
    {"shifted", "int8 data as uint8, for dot products of bytes", qnn_shifts, NULL, qnn_conv2d_shifted},
    {"winograd_4x4", "36 products instead of 144 for 4 x 4 results, of which 16-bit floats are made",
        nn_winograd_4x4_applies, nn_winograd_4x4_pays, nn_conv2d_by_4x4},
    {"winograd_2x2", "16 products instead of 36 for 2 x 2 results",
        nn_winograd_2x2_applies, nn_winograd_2x2_pays, nn_conv2d_by_2x2},
};

const tn_op tn_op_nn_conv2d = {
    .name = "nn.conv2d",
        .doc = "2-D convolution (cross-correlation) of NCHW data with OIHW weights, zero padding.",
    .attr_size = sizeof(tn_conv2d_attr), .attr = conv2d_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = conv_in,
    .infer = conv_infer, .layout = conv2d_layout, .compute = conv2d_compute,
    .alternative = conv2d_ways, .n_alternative = 3,
    .scale = conv2d_scale, .combine = conv2d_combine, .precision = TN_PRECISION_LOW, .layouts = "NCHW NHWC",
    .reads = conv2d_reads, .simplify = conv2d_simplify,
    .gradient = tn_gradient_conv2d,
};
const tn_op tn_op_nn_conv3d = {
    .name = "nn.conv3d",
        .doc = "3-D convolution (cross-correlation) of NCDHW data with OIDHW weights, zero padding.",
    .attr_size = sizeof(tn_conv2d_attr), .attr = conv3d_fields,
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = conv_in,
    .infer = conv_infer, .expand = conv3d_expand,
};

static const tn_attr_field depths_fields[] = TN_ATTR_TABLE(tn_depths_attr, TN_DEPTHS_ATTRS);
const tn_op tn_op_nn_depth_columns = {
    .name = "nn.depth_columns",
        .doc = "Images of all depths that each result of a 3-D convolution reads, as channels of one image.",
    .attr_size = sizeof(tn_depths_attr), .attr = depths_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = conv_in,
    .infer = depths_infer, .compute = depths_compute,
};
/* clang-format on */
