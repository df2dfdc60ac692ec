/* Boxes and regions in MXNet: pooling of regions, prior boxes. */
#include "frontend/mxnet/mxnet.h"

#include "op/vision/vision.h"

#include <math.h>

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

static void roi_align(imp_node *c)
{
    tn_roi_attr a;
    tn_value x = imp_in(c, 0), rois = imp_in(c, 1);
    int64_t ratio = mx_int(c, "sample_ratio", -1);
    if (mx_bool(c, "position_sensitive", false))
        imp_refuse(c, IMP_BAD_VALUE, "position_sensitive regions are not supported");
    if (!read_regions(c, &a))
        return;
    a.sample_ratio = ratio > 0 ? ratio : 0;
    a.aligned = mx_bool(c, "aligned", false);
    a.mode = "avg";
    tn_value box = imp_slice(c, rois, 1, 1, 5),
             batch = imp_cast(c, imp_squeeze(c, imp_slice(c, rois, 1, 0, 1), 1), TN_I64);
    imp_out(c, 0, imp_call(c, &tn_op_vision_roi_align, &a, 3, (const tn_value[]){x, box, batch}));
}

/* Boxes of each place of a map, of its rows and columns alone: numbers known while the model is read. */
static void multibox_prior(imp_node *c)
{
    enum { MOST = 64 };
    double size[MOST] = {1}, ratio[MOST] = {1}, step[2] = {-1, -1}, offset[2] = {0.5, 0.5};
    uint32_t sizes = 0, ratios = 0, some;
    tn_value x = imp_in(c, 0);
    int64_t h = 0, w = 0;
    sizes = mx_floats(c, "sizes", MOST, &sizes, size) && sizes ? sizes : 1;
    ratios = mx_floats(c, "ratios", MOST, &ratios, ratio) && ratios ? ratios : 1;
    (void)mx_floats(c, "steps", 2, &some, step);
    (void)mx_floats(c, "offsets", 2, &some, offset);
    bool clip = mx_bool(c, "clip", false);
    if (!c->bad && (imp_rank(x) != 4 || !tn_is_int(imp_type(x)->dim[2], &h) ||
                    !tn_is_int(imp_type(x)->dim[3], &w) || h < 1 || w < 1 || h > 1 << 12 || w > 1 << 12))
        imp_refuse(c, IMP_OPERANDS, "data %s must be images of fixed extents", imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    int64_t each = sizes + ratios - 1, dim[3] = {1, h * w * each, 4};
    float *at = TN_NEW_N(c->arena, float, (size_t)(dim[1] * 4)), *out = at;
    for (int64_t i = 0; i < h * w * each; i++) {
        int64_t k = i % each, row = i / each / w, column = i / each % w;
        double y = ((double)row + offset[0]) * (step[0] > 0 ? step[0] : 1.0 / (double)h),
               z = ((double)column + offset[1]) * (step[1] > 0 ? step[1] : 1.0 / (double)w),
               s = size[k < sizes ? k : 0], r = sqrt(k < sizes ? ratio[0] : ratio[k - sizes + 1]);
        double bw = s * (double)h / (double)w * r / 2, bh = s / r / 2,
               edge[4] = {z - bw, y - bh, z + bw, y + bh};
        for (int e = 0; e < 4; e++)
            *out++ = (float)(clip ? fmin(fmax(edge[e], 0), 1) : edge[e]);
    }
    imp_out(c, 0, tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, 3, dim, at, NULL)));
}

// clang-format off
const imp_row mx_rows_box[] = {
    {"ROIPooling",                     0, 0, 2, 1, roi_pooling,    NULL},
    {"_contrib_ROIAlign",              0, 0, 2, 1, roi_align,      NULL},
    {"_contrib_MultiBoxPrior",         0, 0, 1, 1, multibox_prior, NULL},
    {0},
};
// clang-format on
