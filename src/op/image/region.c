/* Blocks of images: nn.col2im (blocks that overlap), and the moves between channels and space, nn.depth_to_space and
 * nn.space_to_depth. */
#include "op/code.h"

#include "op/image/image.h"
#include "op/nn/nn.h"

#include <string.h>

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
    return tn_rule_window_extent(p, a->image.at[i], a->block.at[i], &w);
}

/* Extents of at least 1, as far as they are numbers. */
static tn_status col2im_extents(tn_graph *g, const tn_node *n, const char *name, tn_dims d)
{
    int64_t v;
    for (uint32_t i = 0; i < d.n; i++)
        if (tn_is_int(d.at[i], &v) && (v < 1 || v > INT32_MAX))
            return tn_rule_fail(g, n, "op-E007", "%s[%u] is %lld, but must be in [1, 2^31)", name,
                                (unsigned)i, (long long)v);
    return TN_OK;
}

/* Numbers that do not fit are refused here, others in the run. */
static tn_status col2im_infer(tn_graph *g, tn_node *n)
{
    tn_col2im_attr a = *(const tn_col2im_attr *)n->attr;
    const tn_type *t;
    const tn_expr *dim[2 + MAX_IMAGE], *blocks = tn_idx(g->pool, 1), *taps = tn_idx(g->pool, 1);
    uint32_t dims = a.image.n;
    int64_t each, rows;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &t));
    TN_TRY(tn_rule_number(g, n, 0));
    if (dims < 1 || dims > MAX_IMAGE || a.block.n != dims)
        return tn_rule_fail(g, n, "op-E007",
                            "image has %u entries, block %u, but both need the same, 1 to %d", (unsigned)dims,
                            (unsigned)a.block.n, MAX_IMAGE);
    TN_TRY(col2im_extents(g, n, "image", a.image));
    TN_TRY(col2im_extents(g, n, "block", a.block));
    TN_TRY(tn_rule_steps(g, n, &a.strides, &a.dilation, &a.padding, dims));
    tn_rule_set_attr(g, n, &a);
    for (uint32_t i = 0; i < dims; i++) {
        taps = tn_simplify_extent(g, tn_mul(g->pool, taps, a.block.at[i]));
        blocks = tn_simplify_extent(g, tn_mul(g->pool, blocks, blocks_along(g->pool, &a, (int)i)));
        dim[2 + i] = a.image.at[i];
    }
    bool fits = tn_is_int(t->dim[1], &rows) && (!tn_is_int(taps, &each) || rows % each == 0) &&
                (blocks->kind != TN_E_INT || tn_rule_agree(g, n, t->dim[2], blocks));
    if (!fits)
        return tn_rule_fail(g, n, "op-E008", "data %s must have a multiple of %s rows and %s columns",
                            tn_rule_type_text(g, t), tn_rule_dim_text(g, taps), tn_rule_dim_text(g, blocks));
    dim[0] = t->dim[0];
    dim[1] = tn_fdiv(g->pool, t->dim[1], taps);
    return tn_rule_result(g, n, 0, t->dtype, (int)dims + 2, dim);
}

/* What infer could not know. */
static void col2im_require(tn_te *te, const tn_col2im_attr *a, const tn_tensor *in)
{
    tn_pool *p = te->pool;
    const tn_expr *taps = tn_idx(p, 1), *blocks = tn_idx(p, 1);
    for (uint32_t i = 0; i < a->image.n; i++) {
        taps = tn_mul(p, taps, a->block.at[i]);
        blocks = tn_mul(p, blocks, blocks_along(p, a, (int)i));
    }
    if (taps->kind != TN_E_INT)
        tn_te_require(te, tn_eq(p, tn_fmod(p, in->dim[1], taps), tn_idx(p, 0)),
                      "Col2Im: the rows are not a multiple of a block's elements");
    if (taps->kind != TN_E_INT || blocks->kind != TN_E_INT)
        tn_te_require(te, tn_eq(p, in->dim[2], blocks), "Col2Im: there are not as many columns as blocks");
}

static void col2im_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    static const char *const names[] = {"k0", "k1", "k2"};
    const tn_col2im_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "col2im", "reduce", NULL);
    col2im_require(te, a, in[0]);
    const tn_expr *row = t->axis[1], *column = tn_idx(p, 0), *where = NULL, *zero = tn_idx(p, 0);
    for (int i = 0; i < t->ndim - 2; i++) {
        const tn_expr *tap = tn_te_reduce_axis(te, t, names[i], a->block.at[i]),
                      *s = tn_idx(p, a->strides.at[i]);
        const tn_expr *at = tn_add(p, t->axis[2 + i], a->padding.at[i]);
        at = tn_sub(p, at, tn_mul(p, tap, tn_idx(p, a->dilation.at[i])));
        const tn_expr *block = tn_fdiv(p, at, s), *count = blocks_along(p, a, i);
        const tn_expr *inside = tn_and(p, tn_le(p, zero, block), tn_lt(p, block, count));
        if (a->strides.at[i] > 1)
            inside = tn_and(p, inside, tn_eq(p, tn_fmod(p, at, s), zero));
        where = tn_rule_both(p, where, inside);
        row = tn_add(p, tn_mul(p, row, a->block.at[i]), tap);
        column = tn_add(p, tn_mul(p, column, count), block);
    }
    tn_te_sum(te, t, tn_at3(te, in[0], t->axis[0], row, column), where);
}

/* clang-format off */
static const tn_attr_field col2im_fields[] = TN_ATTR_TABLE(tn_col2im_attr, TN_COL2IM_ATTRS);
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
    if (!a->mode || (a->mode[0] && strcmp(a->mode, "DCR") != 0 && strcmp(a->mode, "CRD") != 0))
        return tn_rule_fail(g, n, "op-E007", "mode is \"%s\"; DCR and CRD are known", a->mode ? a->mode : "");
    if (a->block_size < 1 || a->block_size > 64)
        return tn_rule_fail(g, n, "op-E007", "block_size is %lld, but must be in [1, 64]",
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
    if (tn_is_int(t->dim[1], &c) && c % (b * b) != 0)
        return tn_rule_fail(g, n, "op-E008", "channels of %s are not a multiple of %lld",
                            tn_rule_type_text(g, t), (long long)(b * b));
    const tn_expr *k = tn_idx(g->pool, b);
    const tn_expr *dim[4] = {t->dim[0], tn_fdiv(g->pool, t->dim[1], tn_idx(g->pool, b * b)),
                             tn_mul(g->pool, t->dim[2], k), tn_mul(g->pool, t->dim[3], k)};
    return tn_rule_result(g, n, 0, t->dtype, 4, dim);
}

/* As the phases of a transposed convolution; CRD has one group a channel. */
static tn_status depth_to_space_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    static const int64_t none[] = {0, 0};
    const tn_depth_attr *a = n->attr;
    int64_t block[] = {a->block_size, a->block_size};
    tn_phases_attr p = {.strides = tn_ints_make(g->arena, 2, block),
                        .groups = a->mode[0] == 'C' ? 0 : 1,
                        .skip = tn_make_dims(g, 2, none),
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
static const tn_attr_field depth_fields[] = TN_ATTR_TABLE(tn_depth_attr, TN_DEPTH_ATTRS);

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
