/* Boxes and regions in MXNet: pooling of regions, prior boxes, convolution at positions that are data. */
#include "frontend/import/boxes.h"
#include "frontend/mxnet/mxnet.h"

#include "op/image/image.h"
#include "op/vision/vision.h"

/* Regions [batch, x1, y1, x2, y2]: the batch apart for RoiAlign. */
static bool read_regions(imp_node *c, tn_roi_attr *a)
{
    tn_ints size;
    imp_attr_need(c, "pooled_size");
    (void)mx_ints(c, "pooled_size", &size);
    *a = (tn_roi_attr){
        .pooled_size = size, .spatial_scale = mx_float(c, "spatial_scale", 1), .layout = "NCHW"};
    if (!c->bad && size.n != 2)
        imp_refuse(c, IMP_BAD_VALUE, "pooled_size has %u entries, but must have 2", (unsigned)size.n);
    if (!c->bad && imp_rank(imp_in(c, 1)) != 2)
        imp_refuse(c, IMP_OPERANDS, "regions %s must be a matrix", imp_type_text(c, imp_type(imp_in(c, 1))));
    return !c->bad;
}

static void roi_pooling(imp_node *c)
{
    tn_roi_attr a;
    tn_value x = imp_in(c, 0), rois = imp_in(c, 1);
    if (read_regions(c, &a))
        imp_out(c, 0, imp_call2(c, &tn_op_vision_roi_pool, &a, x, rois));
}

/* Of regions whose bins have channels of their own, those: [regions,channels * rows * columns,rows,columns] without the
 * rest. */
static tn_value of_own_bin(imp_node *c, tn_value y, tn_ints size)
{
    const tn_type *t = imp_type(y);
    int64_t h = c->bad ? 1 : size.at[0], w = c->bad ? 1 : size.at[1], channels = 0, n = h * w;
    if (c->bad || !tn_is_int(t->dim[1], &channels) || channels % n || n > 1 << 12) {
        imp_refuse(c, IMP_OPERANDS, "%lld channels cannot be shared by %lld by %lld bins",
                   (long long)channels, (long long)h, (long long)w);
        return (tn_value){0};
    }
    const tn_expr *all[3] = {t->dim[0], tn_idx(c->pool, channels / n), tn_idx(c->pool, n * n)},
                  *own[4] = {t->dim[0], all[1], t->dim[2], t->dim[3]};
    int64_t *at = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        at[i] = i * n + i;
    tn_value list = imp_reshape(c, y, 3, all), place = imp_const_ints(c, TN_I64, 1, (uint32_t)n, at);
    return imp_reshape(c, imp_take(c, list, place, 2), 4, own);
}

static void roi_align(imp_node *c)
{
    tn_roi_attr a;
    tn_value x = imp_in(c, 0), rois = imp_in(c, 1);
    int64_t ratio = mx_int(c, "sample_ratio", -1);
    bool own = mx_bool(c, "position_sensitive", false);
    if (!read_regions(c, &a))
        return;
    a.sample_ratio = ratio > 0 ? ratio : 0;
    a.aligned = mx_bool(c, "aligned", false);
    a.mode = "avg";
    tn_value box = imp_slice(c, rois, 1, 1, 5),
             batch = imp_cast(c, imp_squeeze(c, imp_slice(c, rois, 1, 0, 1), 1), TN_I64);
    tn_value y = imp_call(c, &tn_op_vision_roi_align, &a, 3, (const tn_value[]){x, box, batch});
    imp_out(c, 0, own ? of_own_bin(c, y, a.pooled_size) : y);
}

/* ---- PSROIPooling ---- */

/* Along rows (k 0) or columns: which of the pixels are in each bin, float32 [regions,bins,pixels], and how many,
 * [regions,bins]. */
typedef struct bins {
    tn_value inside, count;
} bins;

static bins make_bins(imp_node *c, tn_value rois, int k, tn_value x, int64_t n, double scale)
{
    tn_value edge[2], end = imp_cast(c, imp_extent_of(c, x, 2 + k), TN_F32);
    for (int i = 0; i < 2; i++) {
        tn_value at = mx_round_away(c, imp_slice(c, rois, 1, 2 * i + 2 - k, 2 * i + 3 - k));
        edge[i] = imp_with(c, &tn_op_multiply, i ? imp_with(c, &tn_op_add, at, 1) : at, scale);
    }
    tn_value size = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_subtract, edge[1], edge[0]), 0.1);
    tn_value each = imp_with(c, &tn_op_divide, size, (double)n), limit[2];
    for (int i = 0; i < 2; i++) {
        tn_value number = imp_cast(c, imp_count_up(c, tn_idx(c->pool, n)), TN_F32);
        number = i ? imp_with(c, &tn_op_add, number, 1) : number;
        tn_value at = imp_binary(c, &tn_op_add, imp_binary(c, &tn_op_multiply, number, each), edge[0]);
        at = imp_with(c, &tn_op_maximum, imp_unary(c, i ? &tn_op_ceil : &tn_op_floor, at), 0);
        limit[i] = imp_unsqueeze(c, imp_binary(c, &tn_op_minimum, at, end), 2);
    }
    tn_value pixel = imp_cast(c, imp_count_up(c, imp_type(x)->dim[2 + k]), TN_F32);
    tn_value from = imp_binary(c, &tn_op_greater_equal, pixel, limit[0]),
             to = imp_binary(c, &tn_op_less, pixel, limit[1]);
    bins b = {imp_cast(c, imp_binary(c, &tn_op_logical_and, from, to), TN_F32), {0}};
    tn_value count = imp_with(c, &tn_op_maximum, imp_binary(c, &tn_op_subtract, limit[1], limit[0]), 0);
    b.count = imp_squeeze(c, count, 2);
    return b;
}

/* Each bin has channels of its own: x as [bins of a row,columns,channels,bins of a column,images,rows]. */
static tn_value by_bin(imp_node *c, tn_value x, int64_t channels, int64_t groups, int64_t n)
{
    static const int64_t perm[] = {3, 5, 1, 2, 0, 4};
    const tn_type *t = imp_type(x);
    const tn_expr *dim[6] = {
        t->dim[0], tn_idx(c->pool, channels), tn_idx(c->pool, groups), tn_idx(c->pool, groups), t->dim[2],
        t->dim[3]};
    int64_t *group = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        group[i] = i * groups / n;
    tn_value v = imp_reshape(c, x, 6, dim), at = imp_const_ints(c, TN_I64, 1, (uint32_t)n, group);
    for (int axis = 2; axis < 4 && groups != n; axis++)
        v = imp_take(c, v, at, axis);
    return imp_transpose(c, v, 6, perm);
}

/* The mean of each bin's pixels: products with what is inside, along columns, then rows of the region's image. */
static tn_value bin_means(imp_node *c, tn_value v, tn_value rois, const bins side[2])
{
    static const int64_t columns_first[] = {1, 0, 2}, back[] = {1, 2, 3, 0};
    const tn_type *t = imp_type(v), *r = imp_type(side[0].inside);
    const tn_expr *one = tn_idx(c->pool, 1), *rest = imp_product(c, t, 2, 6), *rows = imp_product(c, t, 4, 6);
    const tn_expr *flat[3] = {t->dim[0], t->dim[1], rest},
                  *sums[5] = {t->dim[0], r->dim[0], t->dim[2], t->dim[3], rows},
                  *own[5] = {one, r->dim[0], one, t->dim[3], rows};
    tn_value columns = imp_transpose(c, side[1].inside, 3, columns_first), list = imp_reshape(c, v, 3, flat);
    tn_value y = imp_reshape(c, imp_matmul(c, columns, list, NULL), 5, sums);
    tn_value image = imp_cast(c, imp_count_up(c, t->dim[4]), TN_F32);
    tn_value batch = imp_unary(c, &tn_op_trunc, imp_slice(c, rois, 1, 0, 1));
    tn_value is = imp_cast(c, imp_binary(c, &tn_op_equal, batch, image), TN_F32); /* [regions,images] */
    is = imp_unsqueeze(c, imp_unsqueeze(c, is, 1), 3);
    tn_value inside = imp_binary(c, &tn_op_multiply, is, imp_unsqueeze(c, side[0].inside, 2));
    y = imp_binary(c, &tn_op_multiply, y, imp_reshape(c, inside, 5, own));
    y = imp_transpose(c, imp_reduce(c, &tn_op_sum, y, 4), 4, back);
    tn_value high = imp_unsqueeze(c, imp_unsqueeze(c, side[0].count, 1), 3),
             wide = imp_unsqueeze(c, imp_unsqueeze(c, side[1].count, 1), 2);
    tn_value area = imp_binary(c, &tn_op_multiply, high, wide);
    return imp_binary(c, &tn_op_divide, y, imp_with(c, &tn_op_maximum, area, 1)); /* 0 of none */
}

static void ps_roi_pooling(imp_node *c)
{
    const int64_t most = 1 << 12;
    tn_value x = imp_in(c, 0), rois = imp_in(c, 1);
    int64_t n = mx_int(c, "pooled_size", 0), groups = mx_int(c, "group_size", 0),
            channels = mx_int(c, "output_dim", 0);
    double scale = mx_float(c, "spatial_scale", 1);
    groups = groups ? groups : n;
    if (!c->bad &&
        (n < 1 || n > most || groups < 1 || groups > most || channels < 1 || channels > INT32_MAX ||
         imp_rank(x) != 4 || imp_rank(rois) != 2 || !tn_is_value(imp_type(rois)->dim[1], 5) ||
         !tn_is_value(imp_type(x)->dim[1], channels * groups * groups)))
        imp_refuse(c, IMP_OPERANDS,
                   "data %s and regions %s do not fit %lld by %lld bins of %lld groups and %lld channels",
                   imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(rois)), (long long)n,
                   (long long)n, (long long)groups, (long long)channels);
    if (c->bad)
        return;
    bins side[2];
    for (int k = 0; k < 2; k++)
        side[k] = make_bins(c, rois, k, x, n, scale);
    imp_out(c, 0, bin_means(c, by_bin(c, x, channels, groups, n), rois, side));
}

/* Boxes of each place of a map, of its rows and columns alone: numbers known while the model is read. */
static void multibox_prior(imp_node *c)
{
    enum { MOST = 64 };
    double size[MOST] = {1}, ratio[MOST] = {1};
    uint32_t sizes = 0, ratios = 0, some;
    imp_multibox m = {.size = size, .ratio = ratio, .step = {-1, -1}, .offset = {0.5, 0.5}};
    m.sizes = mx_floats(c, "sizes", MOST, &sizes, size) && sizes ? sizes : 1;
    m.ratios = mx_floats(c, "ratios", MOST, &ratios, ratio) && ratios ? ratios : 1;
    (void)mx_floats(c, "steps", 2, &some, m.step);
    (void)mx_floats(c, "offsets", 2, &some, m.offset);
    m.clip = mx_bool(c, "clip", false);
    imp_out(c, 0, imp_multibox_prior(c, imp_in(c, 0), &m));
}

/* ---- convolution at positions that are data ---- */

static tn_ints pair(imp_node *c, const char *name, int64_t def)
{
    tn_ints v;
    if (mx_ints(c, name, &v) && v.n && v.n != 2)
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s has %u entries, but must have 2", name, (unsigned)v.n);
    return v.n == 2 ? v : tn_ints_make(c->arena, 2, (const int64_t[]){def, def});
}

/* The modulated form has a mask as operand 2, and its taps fade to 0 at the image's edges. */
static void deformable(imp_node *c)
{
    static const char *const layouts[] = {"NCHW", NULL};
    bool modulated = c->row->max_in > 4;
    uint32_t weight = modulated ? 3 : 2;
    tn_ints pad = pair(c, "pad", 0);
    const int64_t both[4] = {pad.at[0], pad.at[1], pad.at[0], pad.at[1]};
    tn_deform_attr a = {.groups = mx_int(c, "num_group", 1),
                        .deformable_groups = mx_int(c, "num_deformable_group", 1),
                        .strides = pair(c, "stride", 1),
                        .dilation = pair(c, "dilate", 1),
                        .padding = tn_make_dims(c->g, 4, both),
                        .edges = modulated ? "faded" : "held"};
    tn_value x = imp_in(c, 0), w = imp_in(c, weight),
             bias = mx_bool(c, "no_bias", false) ? (tn_value){0} : imp_in(c, weight + 1);
    const tn_value in[4] = {x, imp_in(c, 1), w, modulated ? imp_in(c, 2) : (tn_value){0}};
    (void)mx_choice(c, "layout", 0, layouts);
    (void)pair(c, "kernel", 1); /* as the weight has it */
    imp_attr_need(c, "kernel");
    imp_attr_ignore(c, "num_filter");
    imp_attr_ignore(c, "im2col_step");
    tn_value y = imp_call(c, &tn_op_nn_deformable_conv2d, &a, modulated ? 4 : 3, in);
    imp_out(c, 0, imp_bias_add(c, y, bias, 1));
}

// clang-format off
const imp_row mx_rows_box[] = {
    {"ROIPooling",                     0, 0, 2, 1, roi_pooling,    NULL},
    {"_npx_roi_pooling",               0, 0, 2, 1, roi_pooling,    NULL},
    {"_contrib_ROIAlign",              0, 0, 2, 1, roi_align,      NULL},
    {"_contrib_PSROIPooling",          0, 0, 2, 1, ps_roi_pooling, NULL},
    {"_contrib_MultiBoxPrior",         0, 0, 1, 1, multibox_prior, NULL},
    {"_npx_multibox_prior",            0, 0, 1, 1, multibox_prior, NULL},
    {"_contrib_DeformableConvolution", 0, 0, 4, 1, deformable,     NULL},
    {"_contrib_ModulatedDeformableConvolution", 0, 0, 5, 1, deformable, NULL},
    {0},
};
// clang-format on
