#ifndef TN_OP_VISION_VISION_H
#define TN_OP_VISION_VISION_H
/* Boxes: suppression, regions of images. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/vision/ops.def"
#undef OP

/* clang-format off */
/* vision.nms_select */
#define TN_NMS_ATTRS(ATTR, s) \
    ATTR(s, BOOL, center_point_box, "False", "boxes are center and size, not two corners")
TN_ATTR_STRUCT(tn_nms_attr, TN_NMS_ATTRS);

/* vision.roi_pool; vision.roi_align */
#define TN_ROI_POOL_ATTRS(ATTR, s) \
    ATTR(s, INTS, pooled_size,   NULL,       "rows and columns of each result") \
    ATTR(s, F64,  spatial_scale, NULL,       "pixels of the data for one of the boxes") \
    ATTR(s, STR,  layout,        "\"NCHW\"", "order of the data's dimensions")
#define TN_ROI_ALIGN_ATTRS(ATTR, s) \
    TN_ROI_POOL_ATTRS(ATTR, s) \
    ATTR(s, I64,  sample_ratio,  "0",        "samples of a bin, each way; 0: as it has pixels") \
    ATTR(s, BOOL, aligned,       "False",    "pixels' centres lie at halves") \
    ATTR(s, STR,  mode,          "\"avg\"", \
         "avg; max: the largest weighted corner of any sample; sample_max: the largest sample")
TN_ATTR_STRUCT(tn_roi_attr, TN_ROI_ALIGN_ATTRS);
/* vision.roi_taps */
#define TN_ROI_TAPS_ATTRS(ATTR, s) \
    ATTR(s, I64,  bins,          NULL,    "parts of a box, along rows or columns") \
    ATTR(s, F64,  spatial_scale, NULL,    "pixels of the data for one of the boxes") \
    ATTR(s, I64,  sample_ratio,  "0",     "samples of a bin; 0: as it has pixels") \
    ATTR(s, BOOL, aligned,       "False", "pixels' centres lie at halves") \
    ATTR(s, BOOL, columns,       "False", "columns, not rows") \
    ATTR(s, DIMS, extent,        NULL,    "images, and pixels along rows or columns")
TN_ATTR_STRUCT(tn_roi_taps_attr, TN_ROI_TAPS_ATTRS);
/* clang-format on */

#endif
