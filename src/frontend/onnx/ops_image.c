/* Images, boxes and grids: DepthToSpace, SpaceToDepth, CenterCropPad, GridSample, AffineGrid, RoiAlign, MaxRoiPool,
 * Col2Im, DeformConv; CropAndResize of com.microsoft. */
#include "frontend/import/crop.h"
#include "frontend/onnx/flow.h"

#include "op/host/host.h"
#include "op/image/image.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

#include <string.h>

/* ---- DepthToSpace, SpaceToDepth ---- */

static void depth_space(imp_node *c)
{
    bool has_mode = c->version >= (c->row->relay == &tn_op_nn_depth_to_space ? 11 : 28);
    imp_attr_need(c, "blocksize");
    tn_depth_attr a = {.block_size = imp_attr_int(c, "blocksize", 1),
                       .mode = has_mode ? imp_attr_string(c, "mode", "DCR") : "DCR",
                       .layout = "NCHW"};
    imp_out(c, 0, imp_call1(c, c->row->relay, &a, imp_in(c, 0)));
}

/* ---- CenterCropPad ---- */

static void center_crop_pad(imp_node *c)
{
    tn_ints axes;
    const tn_expr *width[2 * IMP_MAX_RANK], *two = tn_idx(c->pool, 2);
    tn_value x = imp_in(c, 0);
    int rank = imp_rank(x);
    bool named = imp_attr_ints(c, "axes", &axes);
    int n = named ? (int)axes.n : rank;
    if (!onnx_fix_length(c, 1, n, n))
        return;
    tn_dims shape = imp_extents_in(c, imp_in(c, 1), "shape");
    for (int i = 0; i < 2 * rank; i++)
        width[i] = tn_idx(c->pool, 0);
    if (!c->bad && shape.n != (named ? axes.n : (uint32_t)rank))
        imp_fail(c, "onnx-E009", "shape has %u entries for %u dimensions to crop or pad", (unsigned)shape.n,
                 named ? (unsigned)axes.n : (unsigned)rank);
    for (uint32_t i = 0; i < shape.n && !c->bad; i++) {
        int d = named ? imp_axis(c, axes.at[i], rank) : (int)i;
        if (c->bad)
            return;
        const tn_expr *more = tn_sub(c->pool, shape.at[i], imp_type(x)->dim[d]), *zero = tn_idx(c->pool, 0);
        const tn_expr *less = tn_fdiv(c->pool, tn_sub(c->pool, zero, more), two);
        /* towards zero: an odd one goes after, whether it is added or cut off */
        const tn_expr *half = tn_select(c->pool, tn_le(c->pool, zero, more), tn_fdiv(c->pool, more, two),
                                        tn_sub(c->pool, zero, less));
        width[2 * d] = imp_simplify(c, half);
        width[2 * d + 1] = imp_simplify(c, tn_sub(c->pool, more, half));
    }
    if (tn_dtype_is_bool(imp_type(x)->dtype))
        x = imp_cast(c, x, TN_U8);
    tn_pad_attr a = {.pad_width = tn_dims_make(c->arena, 2 * (uint32_t)rank, width), .pad_mode = "constant"};
    imp_out(c, 0, imp_cast(c, imp_call1(c, &tn_op_nn_pad, &a, x), imp_type(imp_in(c, 0))->dtype));
}

/* ---- GridSample, AffineGrid ---- */

static void grid_sample(imp_node *c)
{
    const char *mode = imp_attr_string(c, "mode", c->version < 20 ? "bilinear" : "linear");
    tn_grid_attr a = {.method = "bilinear",
                      .layout = imp_rank(imp_in(c, 0)) == 5 ? "NCDHW" : "NCHW",
                      .padding_mode = imp_attr_string(c, "padding_mode", "zeros"),
                      .align_corners = imp_attr_int(c, "align_corners", 0) != 0};
    if (strcmp(mode, "nearest") == 0)
        a.method = "nearest";
    else if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
        a.method = "bicubic";
    else if (strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\"; linear, nearest and cubic are known", mode);
    tn_value x = imp_in(c, 0), grid = imp_in(c, 1);
    imp_out(c, 0, imp_call2(c, &tn_op_image_grid_sample, &a, x, grid));
}

static void affine_grid(imp_node *c)
{
    tn_value theta = imp_in(c, 0);
    tn_dims size = imp_extents_in(c, imp_in(c, 1), "size");
    if (!c->bad && size.n != 4 && size.n != 5)
        imp_fail(c, "onnx-E009", "size has %u entries, but must have 4 or 5", (unsigned)size.n);
    if (c->bad)
        return;
    tn_affine_grid_attr a = {tn_dims_make(c->arena, size.n - 2, size.at + 2),
                             imp_attr_int(c, "align_corners", 0) != 0};
    imp_out(c, 0, imp_call1(c, &tn_op_image_affine_grid, &a, theta));
}

/* ---- RoiAlign, MaxRoiPool ---- */

static void roi_align(imp_node *c)
{
    static const char *const modes[] = {"avg", "max"};
    const char *mode = imp_attr_string(c, "mode", "avg"),
               *how = imp_attr_string(c, "coordinate_transformation_mode",
                                      c->version < 16 ? "output_half_pixel" : "half_pixel");
    int64_t size[2] = {imp_attr_int(c, "output_height", 1), imp_attr_int(c, "output_width", 1)};
    tn_roi_attr a = {.pooled_size = tn_ints_make(c->arena, 2, size),
                     .spatial_scale = imp_attr_float(c, "spatial_scale", 1),
                     .sample_ratio = imp_attr_int(c, "sampling_ratio", 0),
                     .layout = "NCHW"};
    a.mode = strcmp(mode, "max") == 0 ? modes[1] : modes[0];
    a.aligned = strcmp(how, "half_pixel") == 0;
    if (strcmp(mode, a.mode) != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\"; avg and max are known", mode);
    if (!a.aligned && strcmp(how, "output_half_pixel") != 0)
        imp_fail(c, "onnx-E009",
                 "coordinate_transformation_mode is \"%s\"; half_pixel and output_half_pixel are known", how);
    tn_value in[3] = {imp_in(c, 0), imp_in(c, 1), imp_cast(c, imp_in(c, 2), TN_I64)};
    imp_out(c, 0, imp_call(c, &tn_op_vision_roi_align, &a, 3, in));
}

static void max_roi_pool(imp_node *c)
{
    tn_ints size;
    imp_attr_need(c, "pooled_shape");
    (void)imp_attr_ints(c, "pooled_shape", &size);
    tn_roi_attr a = {
        .pooled_size = size, .spatial_scale = imp_attr_float(c, "spatial_scale", 1), .layout = "NCHW"};
    tn_value x = imp_in(c, 0), rois = imp_in(c, 1);
    imp_out(c, 0, imp_call2(c, &tn_op_vision_roi_pool, &a, x, rois));
}

/* ---- Col2Im ---- */

static void col2im(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_col2im_attr a = {.image = imp_sizes_in(c, imp_in(c, 1), "image_shape"),
                        .block = imp_sizes_in(c, imp_in(c, 2), "block_shape")};
    tn_ints pads;
    (void)imp_attr_ints(c, "strides", &a.strides);
    (void)imp_attr_ints(c, "dilations", &a.dilation);
    (void)imp_attr_ints(c, "pads", &pads);
    a.padding = tn_make_dims(c->g, pads.n, pads.at);
    imp_out(c, 0, imp_call1(c, &tn_op_nn_col2im, &a, x));
}

/* ---- DeformConv ---- */

static void deform_conv(imp_node *c)
{
    tn_value in[4] = {imp_in(c, 0), imp_in(c, 2), imp_in(c, 1), imp_opt(c, 4)}, bias = imp_opt(c, 3);
    tn_deform_attr a = {.groups = imp_attr_int(c, "group", 1),
                        .deformable_groups = imp_attr_int(c, "offset_group", 1),
                        .edges = "faded"};
    tn_ints kernel, pads;
    (void)imp_attr_ints(c, "strides", &a.strides);
    (void)imp_attr_ints(c, "dilations", &a.dilation);
    (void)imp_attr_ints(c, "pads", &pads);
    a.padding = tn_make_dims(c->g, pads.n, pads.at);
    if (imp_attr_ints(c, "kernel_shape", &kernel) && !c->bad)
        for (uint32_t i = 0; i < kernel.n && imp_rank(in[2]) == 4; i++)
            if (kernel.n != 2 || !tn_is_value(imp_type(in[2])->dim[2 + i], kernel.at[i]))
                imp_fail(c, "onnx-E009", "kernel_shape does not match the weight %s; the model is damaged",
                         imp_type_text(c, imp_type(in[2])));
    tn_value y = imp_call(c, &tn_op_nn_deformable_conv2d, &a, in[3].def ? 4 : 3, in);
    tn_axis_attr channels = {1};
    imp_out(c, 0, bias.def ? imp_call2(c, &tn_op_nn_bias_add, &channels, y, bias) : y);
}

/* ---- CropAndResize of com.microsoft ---- */

/* images [b, channels, h, w], boxes [n, 4], their images [n], size */
static void crop_and_resize(imp_node *c)
{
    static const int64_t last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2};
    if (!onnx_fix_length(c, 3, 2, 2))
        return;
    tn_value image = imp_in(c, 0), boxes = imp_in(c, 1);
    tn_dims size = imp_extents_in(c, imp_in(c, 3), "crop_size");
    const char *mode = imp_attr_string(c, "mode", "bilinear");
    imp_crop k = {.which = imp_in(c, 2),
                  .outside = imp_const(c, TN_F32, imp_attr_float(c, "extrapolation_value", 0)),
                  .nearest = strcmp(mode, "nearest") == 0};
    if (!c->bad && !k.nearest && strcmp(mode, "bilinear") != 0)
        imp_fail(c, "onnx-E009", "mode is \"%s\", but must be \"bilinear\" or \"nearest\"", mode);
    if (!c->bad && (size.n != 2 || imp_rank(image) != 4 || imp_rank(boxes) != 2 || imp_rank(k.which) != 1))
        imp_fail(c, "onnx-E022", "boxes %s of images %s cannot be cropped", imp_type_text(c, imp_type(boxes)),
                 imp_type_text(c, imp_type(image)));
    if (c->bad)
        return;
    k.image = imp_transpose(c, image, 4, last);
    imp_out(c, 0, imp_transpose(c, imp_make_crop_of_boxes(c, &k, boxes, size), 4, first));
}

/* The file is whatever bytes come in the run. */
static void image_decoder(imp_node *c)
{
    tn_image_decode_attr a = {imp_attr_string(c, "pixel_format", "RGB")};
    imp_out(c, 0, imp_call1(c, &tn_op_image_decode, &a, imp_in(c, 0)));
}

// clang-format off
const imp_row onnx_rows_image[] = {
    {"DepthToSpace",   1,  0, 1, 1, depth_space,     &tn_op_nn_depth_to_space},
    {"SpaceToDepth",   1,  0, 1, 1, depth_space,     &tn_op_nn_space_to_depth},
    {"CenterCropPad", 18,  0, 2, 1, center_crop_pad, NULL},
    {"GridSample",    16,  0, 2, 1, grid_sample,     NULL},
    {"AffineGrid",    20,  0, 2, 1, affine_grid,     NULL},
    {"RoiAlign",      10,  0, 3, 1, roi_align,       NULL},
    {"MaxRoiPool",     1,  0, 2, 1, max_roi_pool,    NULL},
    {"Col2Im",        18,  0, 3, 1, col2im,          NULL},
    {"DeformConv",    19,  0, 5, 1, deform_conv,     NULL},
    {"ImageDecoder", 20, 0, 1, 1, image_decoder, NULL},
    {0},
};

const imp_row onnx_rows_image_microsoft[] = {
    {"CropAndResize", 1, 0, 4, 1, crop_and_resize, NULL},
    {0},
};
// clang-format on
