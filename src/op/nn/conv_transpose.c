/* Transposed convolution: nn.conv1d_transpose, nn.conv2d_transpose, nn.conv3d_transpose.
 *
 * out[y] gets the sum of x[i] * w[k] over y + pad = stride*i + dilation*k. The results of one remainder of y + pad by
 * the stride (a phase) are a convolution of x with every stride-th tap. So all phases together are one convolution with
 * stride-times as many output channels, whose results are then interleaved:
 *
 *   nn.conv_transpose_weight   w [ic, oc/g, k..] -> [g * phases * oc/g, ic/g, taps..], turned round, missing taps 0
 *   nn.convNd                  every phase at every position
 *   nn.interleave_phases       out[o, y] = phases[phase(y + pad), o, (y + pad) / stride]
 *
 * With stride 1 there is one phase and the convolution is all. Weights are constants as a rule, so the first is folded.
 */
#include "op/rule.h"

#include "op/nn/nn.h"

#include <string.h>

static int n_spatial(const tn_node *n)
{
    return n->op == &tn_op_nn_conv1d_transpose ? 1 : n->op == &tn_op_nn_conv3d_transpose ? 3 : 2;
}

/* ---- type relation ---- */

static tn_status check_layouts(tn_graph *g, const tn_node *n, const tn_conv_transpose_attr *a)
{
    static const char *const kernel[] = {"IOW", "IOHW", "IODHW"}, *const named[] = {"OIW", "OIHW", "OIDHW"};
    int dims = n_spatial(n);
    const char *data = tn_rule_channels_first(dims);
    TN_TRY(tn_rule_layout_is(g, n, "data_layout", a->data_layout, data, "data"));
    if (!a->kernel_layout ||
        strcmp(a->kernel_layout, named[dims - 1]) != 0) /* the older name of the same order */
        TN_TRY(tn_rule_layout_is(g, n, "kernel_layout", a->kernel_layout, kernel[dims - 1], "weight"));
    return tn_rule_layout_is(g, n, "out_layout", a->out_layout, data, "result");
}

static tn_status normalise(tn_graph *g, tn_node *n, tn_conv_transpose_attr *a)
{
    uint32_t dims = (uint32_t)n_spatial(n);
    TN_TRY(check_layouts(g, n, a));
    TN_TRY(tn_rule_steps(g, n, &a->strides, &a->dilation, &a->padding, dims));
    TN_TRY(tn_rule_ints(g, n, "output_padding", &a->output_padding, dims, 0, 0));
    if (a->kernel_size.n)
        TN_TRY(tn_rule_ints(g, n, "kernel_size", &a->kernel_size, dims, 1, 1));
    TN_TRY(tn_rule_groups(g, n, "groups", a->groups));
    tn_rule_set_attr(g, n, a);
    return TN_OK;
}

static tn_status check_weight(tn_graph *g, const tn_node *n, const tn_conv_transpose_attr *a,
                              const tn_type *data, const tn_type *weight)
{
    int64_t ic, taps = 1;
    if (!tn_rule_agree(g, n, data->dim[1], weight->dim[0]))
        return tn_rule_fail(g, n, "op-E008", "data %s has %s channels, but weight %s takes %s",
                            tn_rule_type_text(g, data), tn_rule_dim_text(g, data->dim[1]),
                            tn_rule_type_text(g, weight), tn_rule_dim_text(g, weight->dim[0]));
    bool told = tn_is_int(weight->dim[0], &ic) || tn_is_int(data->dim[1], &ic); /* they agree */
    if (told ? ic % a->groups != 0 : a->groups > 1)
        return tn_rule_fail(g, n, "op-E008", "%s input channels are not a multiple of %lld groups",
                            tn_rule_dim_text(g, weight->dim[0]), (long long)a->groups);
    for (int i = 1; i < weight->n; i++)
        if (tn_is_int(weight->dim[i], &taps) && (taps < 1 || taps > INT32_MAX))
            return tn_rule_fail(g, n, "op-E008", "weight %s must have a window of at least 1",
                                tn_rule_type_text(g, weight));
    for (uint32_t i = 0; i < a->kernel_size.n; i++)
        if (!tn_rule_agree(g, n, weight->dim[2 + i], tn_idx(g->pool, a->kernel_size.at[i])))
            return tn_rule_fail(g, n, "op-E008", "kernel_size[%u] is %lld, but weight is %s", (unsigned)i,
                                (long long)a->kernel_size.at[i], tn_rule_type_text(g, weight));
    if (a->channels && !tn_rule_agree(g, n, tn_mul(g->pool, weight->dim[1], tn_idx(g->pool, a->groups)),
                                      tn_idx(g->pool, a->channels)))
        return tn_rule_fail(g, n, "op-E008", "channels is %lld, but weight is %s", (long long)a->channels,
                            tn_rule_type_text(g, weight));
    return TN_OK;
}

/* How far the last tap is from the first along a dimension: dilation * (taps - 1). */
static const tn_expr *span(tn_pool *p, const tn_conv_transpose_attr *a, const tn_type *weight, int i)
{
    return tn_mul(p, tn_sub(p, weight->dim[2 + i], tn_idx(p, 1)), tn_idx(p, a->dilation.at[i]));
}

static tn_status transpose_infer(tn_graph *g, tn_node *n)
{
    tn_conv_transpose_attr a = *(const tn_conv_transpose_attr *)n->attr;
    const tn_type *data, *weight;
    const tn_expr *dim[5];
    tn_pool *p = g->pool;
    int dims = n_spatial(n);
    TN_TRY(tn_rule_tensor(g, n, 0, dims + 2, &data));
    TN_TRY(tn_rule_tensor(g, n, 1, dims + 2, &weight));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_same_dtype(g, n, 1));
    TN_TRY(normalise(g, n, &a));
    TN_TRY(check_weight(g, n, &a, data, weight));
    dim[0] = data->dim[0];
    dim[1] = tn_mul(g->pool, weight->dim[1], tn_idx(g->pool, a.groups));
    for (int i = 0; i < dims; i++) {
        int64_t extent;
        const tn_expr *extra = tn_add(p, span(p, &a, weight, i), tn_idx(p, 1 + a.output_padding.at[i]));
        const tn_expr *last =
            tn_mul(p, tn_sub(p, data->dim[2 + i], tn_idx(p, 1)), tn_idx(p, a.strides.at[i]));
        extra = tn_sub(p, extra, tn_add(p, a.padding.at[i], a.padding.at[dims + i]));
        dim[2 + i] = tn_simplify_extent(g, tn_add(p, last, extra));
        if (tn_is_int(dim[2 + i], &extent) && extent < 1)
            return tn_rule_fail(
                g, n, "op-E009",
                "dimension %d of the result would be %lld: of data %s, padding [%s, %s] leaves nothing",
                2 + i, (long long)extent, tn_rule_type_text(g, data), tn_rule_dim_text(g, a.padding.at[i]),
                tn_rule_dim_text(g, a.padding.at[dims + i]));
    }
    return tn_rule_result(g, n, 0, data->dtype, dims + 2, dim);
}

/* ---- expansion ---- */

typedef struct plan {              /* along one dimension */
    const tn_expr *before, *after; /* padding of the convolution */
    const tn_expr *skip;           /* results of phases before the first one used */
} plan;

/* Where before would be less than 0, the first results used begin later than there is padding to leave out. */
static plan plan_of(tn_graph *g, const tn_conv_transpose_attr *a, const tn_type *weight, int i, int dims)
{
    tn_pool *p = g->pool;
    const tn_expr *zero = tn_idx(p, 0), *s = tn_idx(p, a->strides.at[i]), *pad = a->padding.at[i];
    const tn_expr *d = span(p, a, weight, i), *left = tn_fdiv(p, pad, s);
    const tn_expr *before = tn_simplify_extent(g, tn_sub(p, tn_fdiv(p, d, s), left));
    const tn_expr *late = tn_max(p, tn_sub(p, zero, before), zero);
    const tn_expr *after =
        tn_sub(p, tn_add(p, d, tn_idx(p, a->output_padding.at[i])), a->padding.at[dims + i]);
    return (plan){
        .before = tn_simplify_extent(g, tn_max(p, before, zero)),
        .after = tn_simplify_extent(g, tn_max(p, tn_fdiv(p, after, s), zero)),
        .skip = tn_simplify_extent(g, tn_add(p, tn_fmod(p, pad, s), tn_mul(p, late, s))),
    };
}

static tn_value call(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, tn_value x, tn_value y)
{
    tn_value in[2] = {x, y};
    if (!x.def || (op->min_in > 1 && !y.def))
        return (tn_value){0};
    return tn_val(tn_make_call(g, n->owner, n, op, op->min_in, in, attr, n->loc));
}

static const tn_op *const convs[] = {&tn_op_nn_conv1d, &tn_op_nn_conv2d, &tn_op_nn_conv3d};

/* A number of at least 0. What the run knows might be less. */
static bool is_padding(const tn_expr *e)
{
    int64_t v;
    return tn_is_int(e, &v) && v >= 0;
}

/* Every stride is 1: the convolution pads by what is left of the window's reach. */
static bool is_convolution(tn_graph *g, const tn_conv_transpose_attr *a, const tn_type *weight, int dims,
                           const tn_expr *pad[6])
{
    bool plain = true;
    tn_pool *p = g->pool;
    for (int i = 0; i < dims; i++) {
        const tn_expr *d = span(p, a, weight, i), *more = tn_add(p, d, tn_idx(p, a->output_padding.at[i]));
        pad[i] = tn_simplify_extent(g, tn_sub(p, d, a->padding.at[i]));
        pad[dims + i] = tn_simplify_extent(g, tn_sub(p, more, a->padding.at[dims + i]));
        plain = plain && a->strides.at[i] == 1 && is_padding(pad[i]) && is_padding(pad[dims + i]);
    }
    return plain;
}

static tn_status transpose_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t ones[] = {1, 1, 1};
    const tn_conv_transpose_attr *a = n->attr;
    const tn_type *weight = tn_in_type(n, 1);
    int dims = n_spatial(n);
    uint32_t count = (uint32_t)dims;
    const tn_expr *pad[6], *skip[3];
    tn_conv2d_attr conv = {.groups = a->groups,
                           .strides = tn_ints_make(g->arena, count, ones),
                           .dilation = tn_ints_make(g->arena, count, ones)};
    tn_phases_attr w = {.strides = a->strides, .dilation = a->dilation, .groups = a->groups};
    bool plain = is_convolution(g, a, weight, dims, pad);
    if (plain) {
        conv.dilation = a->dilation;
        w.dilation = tn_ints_make(g->arena, count, ones);
    } else {
        for (int i = 0; i < dims; i++) {
            plan p = plan_of(g, a, weight, i, dims);
            pad[i] = p.before;
            pad[dims + i] = p.after;
            skip[i] = p.skip;
        }
    }
    conv.padding = tn_dims_make(g->arena, 2 * count, pad);
    tn_value packed = call(g, n, &tn_op_nn_conv_transpose_weight, &w, tn_in(n, 1), (tn_value){0});
    tn_value y = call(g, n, convs[dims - 1], &conv, tn_in(n, 0), packed);
    if (!plain) {
        w.skip = tn_dims_make(g->arena, count, skip);
        w.size = tn_dims_make(g->arena, count, n->type[0]->dim + 2);
        y = call(g, n, &tn_op_nn_interleave_phases, &w, y, (tn_value){0});
    }
    out[0] = y;
    return y.def ? TN_OK : TN_FAIL;
}

/* clang-format off */
#define TRANSPOSE(dims, LIST) \
    static const tn_attr_field conv##dims##_fields[] = TN_ATTR_TABLE(tn_conv_transpose_attr, LIST); \
    const tn_op tn_op_nn_conv##dims##_transpose = { \
        .name = "nn.conv" #dims "_transpose", \
            .doc = "Transposed convolution: each element of the data adds the kernel to the result.", \
        .attr_size = sizeof(tn_conv_transpose_attr), .attr = conv##dims##_fields, \
        .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_ANCHOR, .in_name = conv_in, \
        .infer = transpose_infer, .expand = transpose_expand, \
    };
static const char *const conv_in[] = {"data", "weight"};

TRANSPOSE(1d, TN_CONV1D_TRANSPOSE_ATTRS)
TRANSPOSE(2d, TN_CONV2D_TRANSPOSE_ATTRS)
TRANSPOSE(3d, TN_CONV3D_TRANSPOSE_ATTRS)
/* clang-format on */

/* ---- nn.conv_transpose_weight ---- */

static int64_t n_phases(const tn_phases_attr *a)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < a->strides.n; i++)
        n *= a->strides.at[i];
    return n;
}

static bool is_skip(const tn_expr *e)
{
    int64_t v;
    return !tn_is_int(e, &v) || v >= 0;
}

static tn_status check_phases(tn_graph *g, const tn_node *n, const tn_phases_attr *a, int rank)
{
    int64_t least = n->op == &tn_op_nn_interleave_phases ? 0 : 1;
    bool ok = a->strides.n == (uint32_t)rank - 2 && a->groups >= least && a->groups <= INT32_MAX;
    int64_t all = 1;
    for (uint32_t i = 0; i < a->strides.n && ok; i++) {
        ok = a->strides.at[i] >= 1 && a->strides.at[i] <= 4096 && (all *= a->strides.at[i]) <= 4096;
        ok = ok && (a->dilation.n == 0 || (a->dilation.n == a->strides.n && a->dilation.at[i] >= 1));
        ok = ok && (a->skip.n == 0 || (a->skip.n == a->strides.n && is_skip(a->skip.at[i])));
    }
    return ok ? TN_OK
              : tn_rule_fail(
                    g, n, "op-E007",
                    "strides, dilation, skip or groups do not match %s; at most 4096 phases are supported",
                    tn_rule_type_text(g, tn_in_type(n, 0)));
}

static tn_status weight_infer(tn_graph *g, tn_node *n)
{
    const tn_phases_attr *a = n->attr;
    const tn_type *w;
    const tn_expr *dim[5];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &w));
    if (w->n < 3 || w->n > 5)
        return tn_rule_fail(g, n, "op-E003", "weight must have 3, 4 or 5 dimensions, but is %s",
                            tn_rule_type_text(g, w));
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(check_phases(g, n, a, w->n));
    dim[0] = tn_mul(g->pool, w->dim[1], tn_idx(g->pool, a->groups * n_phases(a)));
    dim[1] = tn_fdiv(g->pool, w->dim[0], tn_idx(g->pool, a->groups));
    for (int i = 0; i < w->n - 2; i++) {
        const tn_expr *d = tn_idx(g->pool, a->dilation.n ? a->dilation.at[i] : 1);
        const tn_expr *reach = tn_mul(g->pool, tn_sub(g->pool, w->dim[2 + i], tn_idx(g->pool, 1)), d);
        reach = tn_add(g->pool, reach, tn_idx(g->pool, 1));
        dim[2 + i] = tn_simplify_extent(g, tn_ceildiv(g->pool, reach, a->strides.at[i]));
    }
    return tn_rule_result(g, n, 0, w->dtype, w->n, dim);
}

/* A number of mixed radix taken apart: digit[i] in [0, base[i]), the first the most significant. */
static void digits(tn_pool *p, const tn_expr *number, tn_ints base, const tn_expr *digit[])
{
    for (int i = (int)base.n - 1; i >= 0; i--) {
        digit[i] = i ? tn_fmod(p, number, tn_idx(p, base.at[i])) : number;
        number = tn_fdiv(p, number, tn_idx(p, base.at[i]));
    }
}

static void weight_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_phases_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "phases_weight", "injective", NULL);
    const tn_expr *oc = in[0]->dim[1], *block = tn_mul(p, oc, tn_idx(p, n_phases(a))), *phase[3], *index[5],
                  *where = NULL;
    const tn_expr *group = tn_fdiv(p, t->axis[0], block);
    digits(p, tn_fdiv(p, tn_fmod(p, t->axis[0], block), oc), a->strides, phase);
    index[0] = tn_add(p, tn_mul(p, group, t->dim[1]), t->axis[1]);
    index[1] = tn_fmod(p, t->axis[0], oc);
    for (int i = 0; i < t->ndim - 2; i++) {
        const tn_expr *tap = tn_sub(p, tn_sub(p, t->dim[2 + i], tn_idx(p, 1)), t->axis[2 + i]);
        const tn_expr *at = tn_add(p, tn_mul(p, tap, tn_idx(p, a->strides.at[i])), phase[i]);
        int64_t d = a->dilation.n ? a->dilation.at[i] : 1;
        index[2 + i] = tn_fdiv(p, at, tn_idx(p, d));
        if (d > 1)
            where = tn_rule_both(p, where, tn_eq(p, tn_fmod(p, at, tn_idx(p, d)), tn_idx(p, 0)));
        where = tn_rule_both(p, where, tn_lt(p, index[2 + i], in[0]->dim[2 + i]));
    }
    tn_te_define(te, t, tn_at_if(te, in[0], t->ndim, index, where, tn_const(p, t->dtype, 0)));
}

/* ---- nn.interleave_phases ---- */

static tn_status interleave_infer(tn_graph *g, tn_node *n)
{
    const tn_phases_attr *a = n->attr;
    const tn_type *t;
    const tn_expr *dim[5];
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (t->n < 3 || t->n > 5)
        return tn_rule_fail(g, n, "op-E003", "data must have 3, 4 or 5 dimensions, but is %s",
                            tn_rule_type_text(g, t));
    TN_TRY(check_phases(g, n, a, t->n));
    if (a->size.n != a->strides.n || a->skip.n != a->strides.n)
        return tn_rule_fail(g, n, "op-E007",
                            "size and skip must have an entry for each spatial dimension of %s",
                            tn_rule_type_text(g, t));
    dim[0] = t->dim[0];
    int64_t channels, unit = (a->groups ? a->groups : 1) * n_phases(a);
    if (tn_is_int(t->dim[1], &channels) && channels % unit != 0)
        return tn_rule_fail(g, n, "op-E008", "channels of %s are not a multiple of %lld",
                            tn_rule_type_text(g, t), (long long)unit);
    dim[1] = tn_fdiv(g->pool, t->dim[1], tn_idx(g->pool, n_phases(a)));
    for (int i = 0; i < t->n - 2; i++) {
        int64_t have, want, skip, s = a->strides.at[i];
        dim[2 + i] = a->size.at[i];
        if (tn_is_int(t->dim[2 + i], &have) && tn_is_int(dim[2 + i], &want) &&
            tn_is_int(a->skip.at[i], &skip) && want + skip > have * s)
            return tn_rule_fail(g, n, "op-E008",
                                "%lld results of dimension %d, %lld skipped, need more than %s has",
                                (long long)want, 2 + i, (long long)skip, tn_rule_type_text(g, t));
    }
    return tn_rule_result(g, n, 0, t->dtype, t->n, dim);
}

static void interleave_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_phases_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "interleave", "injective", NULL);
    const tn_expr *index[5], *phase = tn_idx(p, 0);
    const tn_expr *oc = a->groups ? tn_fdiv(p, t->dim[1], tn_idx(p, a->groups)) : tn_idx(p, 1);
    const tn_expr *unit = tn_mul(p, oc, tn_idx(p, n_phases(a)));
    tn_te_require(te,
                  tn_eq(p, tn_fmod(p, in[0]->dim[1], tn_idx(p, n_phases(a) * (a->groups ? a->groups : 1))),
                        tn_idx(p, 0)),
                  "the channels are not a multiple of the phases");
    for (int i = 0; i < t->ndim - 2; i++) {
        const tn_expr *at = tn_add(p, t->axis[2 + i], a->skip.at[i]), *s = tn_idx(p, a->strides.at[i]);
        phase = tn_add(p, tn_mul(p, phase, s), tn_fmod(p, at, s));
        index[2 + i] = tn_min(p, tn_fdiv(p, at, s), tn_sub(p, in[0]->dim[2 + i], tn_idx(p, 1)));
    }
    const tn_expr *first = tn_mul(p, phase, oc), *c = t->axis[1];
    if (a->groups != 1) {
        first = tn_add(p, first, tn_mul(p, tn_fdiv(p, c, oc), unit));
        c = tn_fmod(p, c, oc);
    }
    index[0] = t->axis[0];
    index[1] = tn_add(p, first, c);
    tn_te_define(te, t, tn_at(te, in[0], t->ndim, index));
}

/* Blocks of channels stay whole if each phase of a group fills its own. */
static void interleave_layout(tn_layout_query *q)
{
    const tn_phases_attr *a = q->node->attr;
    int64_t oc;
    uint32_t block = tn_rule_channel_block(q->in[0]);
    if (!block || !tn_is_int(q->node->type[0]->dim[1], &oc) || !a->groups || (oc / a->groups) % block != 0)
        q->in[0] = NULL;
    q->out[0] = q->in[0];
}

/* clang-format off */
static const tn_attr_field phases_fields[] = TN_ATTR_TABLE(tn_phases_attr, TN_PHASES_ATTRS);
static const char *const weight_in[] = {"weight"}, *const phases_in[] = {"data"};

const tn_op tn_op_nn_conv_transpose_weight = {
    .name = "nn.conv_transpose_weight", .doc = "Weight of the convolution that gives all phases of a transposed one.",
    .attr_size = sizeof(tn_phases_attr), .attr = phases_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = weight_in,
    .infer = weight_infer, .compute = weight_compute,
};
const tn_op tn_op_nn_interleave_phases = {
    .name = "nn.interleave_phases", .doc = "Interleaves the phases of a transposed convolution.",
    .attr_size = sizeof(tn_phases_attr), .attr = phases_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_INDEX_MAP, .fuse = TN_FUSE_INJECTIVE, .in_name = phases_in,
    .infer = interleave_infer, .layout = interleave_layout, .compute = interleave_compute,
};
/* clang-format on */
