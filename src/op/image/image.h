#ifndef TN_OP_IMAGE_IMAGE_H
#define TN_OP_IMAGE_IMAGE_H
/* Images: resizing, pixels at positions that are data, blocks. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/image/ops.def"
#undef OP

/* clang-format off */
/* image.resize1d, 2d, 3d */
#define TN_RESIZE_ATTRS(ATTR, s, order) \
    ATTR(s, DIMS, size,            NULL,           "new extents") \
    ATTR(s, STR,  layout,          order,          "order of the data's dimensions") \
    ATTR(s, STR,  method,          "\"linear\"",     "nearest_neighbor, linear or cubic") \
    ATTR(s, STR,  coordinate_transformation_mode, "\"half_pixel\"", "which old position a new one has") \
    ATTR(s, STR,  rounding_method, "\"round\"", \
         "what is nearest to a position; empty: round where corners are aligned, else floor") \
    ATTR(s, F64,  cubic_alpha,     "-0.5",         "parameter of the cubic") \
    ATTR(s, I64,  cubic_exclude,   "0",            "1: elements outside count as absent")
#define TN_RESIZE1D_ATTRS(ATTR, s) TN_RESIZE_ATTRS(ATTR, s, "\"NCW\"")
#define TN_RESIZE2D_ATTRS(ATTR, s) TN_RESIZE_ATTRS(ATTR, s, "\"NCHW\"")
#define TN_RESIZE3D_ATTRS(ATTR, s) TN_RESIZE_ATTRS(ATTR, s, "\"NCDHW\"")
TN_ATTR_STRUCT(tn_resize_attr, TN_RESIZE2D_ATTRS);

/* image.nearest, image.resample, image.weights: one axis; size: one entry; scale 0: size by the old extent;
 * extent: image.weights alone. The operand `how`, float32 [3], holds scale, roi_start and roi_end where only the run
 * knows them; antialiasing then needs `taps`, an even extent bound to 2 * ceil(reach / min(scale, 1)), the reach
 * being 2 for cubic and 1 for linear. */
#define TN_RESAMPLE_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,                           NULL,             "the axis resampled") \
    ATTR(s, DIMS, size,                           NULL,             "its new extent") \
    ATTR(s, F64,  scale,                          "0",              "new by old extent; 0: their quotient") \
    ATTR(s, STR,  method,                         "\"nearest_neighbor\"", "nearest_neighbor, linear or cubic") \
    ATTR(s, STR,  coordinate_transformation_mode, "\"half_pixel\"", "which old position a new one has") \
    ATTR(s, STR,  rounding_method,                "\"round\"",      "what is nearest to a position") \
    ATTR(s, F64,  cubic_alpha,                    "-0.75",          "parameter of the cubic") \
    ATTR(s, BOOL, cubic_exclude, "False", "elements outside count as absent, not as copies of the border") \
    ATTR(s, BOOL, antialias,                      "False",          "wider filter where the image shrinks") \
    ATTR(s, F64,  roi_start,                      "0",              "tf_crop_and_resize: begin, of the extent") \
    ATTR(s, F64,  roi_end,                        "1",              "tf_crop_and_resize: end") \
    ATTR(s, F64,  extrapolation_value,            "0",              "tf_crop_and_resize: result outside of the data") \
    ATTR(s, DIMS, extent,                         "[]",             "image.weights: the old extent") \
    ATTR(s, DTYPE, dtype,                         "\"float32\"",  "type of positions and weights: float32 or float64") \
    ATTR(s, DIMS, taps, "[]", "where the scale is data: how many neighbours are weighed")
TN_ATTR_STRUCT(tn_resample_attr, TN_RESAMPLE_ATTRS);

/* One axis to resample. */
typedef struct tn_resample {
    tn_resample_attr a;
    tn_value how; /* the operand, or absent */
} tn_resample;
/* Calls that resample several axes of v, in a good order; at least float32 in between. Absent after an error. */
tn_value tn_make_resample(tn_graph *g, tn_region *r, tn_node *before, tn_value v, int n, const tn_resample at[],
                          const tn_loc *loc);

/* image.grid_sample */
#define TN_GRID_ATTRS(ATTR, s) \
    ATTR(s, STR,  method,        "\"bilinear\"", "nearest, bilinear or bicubic") \
    ATTR(s, STR,  layout,        "None",         "order of the data's dimensions: NCHW or NCDHW") \
    ATTR(s, STR,  padding_mode,  "\"zeros\"",    "what lies outside: zeros, border or reflection") \
    ATTR(s, BOOL, align_corners, "True", "-1 and 1 are the centres of the corners' pixels, not their outer edges")
TN_ATTR_STRUCT(tn_grid_attr, TN_GRID_ATTRS);

#define TN_AFFINE_GRID_ATTRS(ATTR, s) \
    ATTR(s, DIMS, target_shape,  NULL,   "rows and columns of the grid") \
    ATTR(s, BOOL, align_corners, "True", "-1 and 1 are the centres of the corners' pixels, not their outer edges")
TN_ATTR_STRUCT(tn_affine_grid_attr, TN_AFFINE_GRID_ATTRS);

/* nn.deformable_conv2d, nn.deform_columns (kernel_size: it alone) */
#define TN_DEFORM_ATTRS(ATTR, s) \
    ATTR(s, INTS, strides,           "[1, 1]",       "step of the window") \
    ATTR(s, DIMS, padding, "[0, 0, 0, 0]", "zeros around the image: before each dimension, then after each") \
    ATTR(s, INTS, dilation,          "[1, 1]",       "distance of the window's taps") \
    ATTR(s, I64,  deformable_groups, "1",            "groups of channels with own offsets") \
    ATTR(s, I64,  groups,            "1",            "independent groups of channels") \
    ATTR(s, STR,  edges, "\"cut\"", \
         "taps within a pixel behind the last one: cut fade, held have its value; faded: and before the first") \
    ATTR(s, DIMS, kernel_size,       "[]",           "nn.deform_columns: the window")
TN_ATTR_STRUCT(tn_deform_attr, TN_DEFORM_ATTRS);

#define TN_COL2IM_ATTRS(ATTR, s) \
    ATTR(s, DIMS, image,    NULL,  "extents of the image") \
    ATTR(s, DIMS, block,    NULL,  "extents of a block") \
    ATTR(s, INTS, strides,  "[1]", "distance of the blocks") \
    ATTR(s, INTS, dilation, "[1]", "distance of a block's elements") \
    ATTR(s, DIMS, padding,  "[0]", "of the image: before each dimension, then after each")
TN_ATTR_STRUCT(tn_col2im_attr, TN_COL2IM_ATTRS);

#define TN_DEPTH_ATTRS(ATTR, s) \
    ATTR(s, I64, block_size, "1",        "rows and columns of a block") \
    ATTR(s, STR, layout,     "\"NCHW\"", "order of the data's dimensions") \
    ATTR(s, STR, mode, "\"DCR\"", "DCR: a block's elements lie whole sets of channels apart; CRD: beside each other")
TN_ATTR_STRUCT(tn_depth_attr, TN_DEPTH_ATTRS);
/* clang-format on */

#endif
