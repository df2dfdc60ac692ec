/* Images: resizing, positions that are data, windows as columns, boxes; torchvision's operators. */
#include "frontend/pytorch/ops.h"

#include "frontend/import/window.h"
#include "op/vision/vision.h"

#include <math.h>

/* ---- resizing ---- */

typedef struct resize {
    tn_value x;
    int n; /* spatial dimensions */
    const tn_expr *size[IMP_MAX_SPATIAL];
    double scale[IMP_MAX_SPATIAL]; /* new by old extent; 0: their quotient */
    tn_resample_attr how;
} resize;

static pt_value entry(pt_value list, int i)
{
    return pt_is_sequence(list) ? pt_at(list, list.list->n == 1 ? 0 : (size_t)i) : list;
}

/* A factor whose product with an extent is exact as a quotient of integers. */
static bool is_in_eighths(double scale)
{
    return scale > 0 && scale <= 4096 && scale * 8 == floor(scale * 8);
}

static const tn_expr *in_eighths(imp_node *c, const tn_expr *n, double scale)
{
    int64_t of = 8;
    while (of > 1 && scale * (double)(of / 2) == floor(scale * (double)(of / 2)))
        of /= 2;
    const tn_expr *times = tn_mul(c->pool, n, tn_idx(c->pool, (int64_t)(scale * (double)of)));
    return imp_simplify(c, tn_fdiv(c->pool, times, tn_idx(c->pool, of)));
}

/* New extents from a list of them, or from factors. */
static void read_sizes(imp_node *c, resize *r, pt_value sizes, pt_value scales, bool one_by_one, int first)
{
    for (int i = 0; i < r->n && !c->bad; i++) {
        const tn_expr *in = imp_type(r->x)->dim[2 + i];
        pt_value s = one_by_one               ? pt_arg(c, first + i)
                     : scales.kind == PT_NONE ? pt_none()
                                              : entry(scales, i);
        int64_t n;
        if (s.kind != PT_NONE) {
            pt_of(c)->arg[PT_MAX_ARG - 1] = s;
            r->scale[i] = pt_real(c, PT_MAX_ARG - 1);
        }
        if (sizes.kind != PT_NONE)
            r->size[i] = pt_extent(c, entry(sizes, i));
        else if (tn_is_int(in, &n))
            r->size[i] = tn_idx(c->pool, (int64_t)floor((double)n * r->scale[i]));
        else if (is_in_eighths(r->scale[i]))
            r->size[i] = in_eighths(c, in, r->scale[i]);
        else
            imp_refuse(c, IMP_NOT_CONSTANT,
                       "resizing by a fraction needs a known extent: give the input a fixed shape");
        int64_t to;
        if (!c->bad && tn_is_int(in, &n) && tn_is_int(r->size[i], &to) &&
            (double)to == (double)n * r->scale[i])
            r->scale[i] = 0;
    }
}

static tn_value resized(imp_node *c, const resize *r)
{
    tn_resample at[IMP_MAX_SPATIAL];
    bool plain = !r->how.antialias;
    for (int i = 0; i < r->n; i++) {
        plain = plain && r->scale[i] == 0;
        at[i] = (tn_resample){.a = r->how};
        at[i].a.axis = 2 + i;
        at[i].a.size = (tn_dims){1, &r->size[i]};
        at[i].a.scale = r->scale[i];
    }
    if (c->bad)
        return (tn_value){0};
    if (plain)
        return imp_resize(
            c, r->x, false, (tn_dims){(uint32_t)r->n, r->size},
            (tn_resize_attr){.method = r->how.method,
                             .coordinate_transformation_mode = r->how.coordinate_transformation_mode,
                             .rounding_method = r->how.rounding_method,
                             .cubic_alpha = r->how.cubic_alpha});
    tn_value y = tn_make_resample(c->g, c->im->r, NULL, r->x, r->n, at, c->loc);
    c->bad = c->bad || !y.def;
    return y;
}

/* upsample_KINDnd(x, sizes, [align_corners], factors or a factor for each dimension) */
static void upsample(imp_node *c)
{
    const char *s = pt_of(c)->row->schema;
    bool near = strstr(s, "nearest") != NULL, exact = strstr(s, "exact") != NULL, cubic = strstr(s, "cubic"),
         antialias = strstr(s, "_aa(") != NULL, one_by_one = strstr(s, "scales") != NULL;
    bool align = !near && pt_truth(c, 2);
    resize r = {.x = pt_in(c, 0), .n = *strpbrk(s, "123") - '0'};
    if (imp_rank(r.x) != r.n + 2 || !tn_dtype_is_float(imp_type(r.x)->dtype)) {
        imp_refuse(c, IMP_OPERANDS, "%s is resized, but must be floats of %d dimensions",
                   imp_type_text(c, imp_type(r.x)), r.n + 2);
        return;
    }
    if (antialias && align)
        imp_refuse(c, IMP_BAD_VALUE, "antialiasing with align_corners is not supported");
    r.how = (tn_resample_attr){.method = near    ? "nearest_neighbor"
                                         : cubic ? "cubic"
                                                 : "linear",
                               .coordinate_transformation_mode = align            ? "align_corners"
                                                                 : near && !exact ? "asymmetric"
                                                                                  : "half_pixel",
                               .rounding_method = near ? exact ? "round_prefer_ceil" : "floor" : "round",
                               .cubic_alpha = antialias ? -0.5 : -0.75,
                               .cubic_exclude = antialias,
                               .antialias = antialias,
                               .roi_end = 1};
    int after = near ? 2 : 3;
    pt_value factors = one_by_one ? pt_none() : pt_arg(c, after);
    read_sizes(c, &r, pt_arg(c, 1), factors, one_by_one, after);
    for (int i = 0; i < r.n && align; i++)
        r.scale[i] = 0; /* corners say it all */
    pt_out(c, resized(c, &r));
}

/* grid_sampler(x, grid, mode, padding, align_corners) */
static void grid_sample(imp_node *c)
{
    static const char *const method[] = {"bilinear", "nearest", "bicubic"}, *const outside[] = {"zeros",
                                                                                                "border",
                                                                                                "reflection"};
    tn_value x = pt_in(c, 0), grid = pt_in(c, 1);
    int64_t mode = pt_integer(c, 2), pad = pt_integer(c, 3);
    if (c->bad || mode < 0 || mode > 2 || pad < 0 || pad > 2) {
        imp_refuse(c, IMP_BAD_VALUE, "mode %lld and padding %lld are not known", (long long)mode,
                   (long long)pad);
        return;
    }
    tn_grid_attr a = {.method = method[mode],
                      .layout = imp_rank(x) == 5 ? "NCDHW" : "NCHW",
                      .padding_mode = outside[pad],
                      .align_corners = pt_truth(c, 4)};
    tn_dtype t = imp_type(x)->dtype;
    x = pt_wide(c, x);
    grid = imp_cast(c, grid, imp_type(x)->dtype);
    pt_out(c, imp_cast(c, imp_call2(c, &tn_op_image_grid_sample, &a, x, grid), t));
}

static void affine_grid(imp_node *c)
{
    tn_value theta = pt_in(c, 0);
    tn_dims size = pt_dims(c, 1);
    if (c->bad || (size.n != 4 && size.n != 5)) {
        imp_refuse(c, IMP_BAD_VALUE, "the size of a grid has %u entries, but must have 4 or 5",
                   (unsigned)size.n);
        return;
    }
    tn_affine_grid_attr a = {tn_dims_make(c->arena, size.n - 2, size.at + 2), pt_truth(c, 2)};
    pt_out(c, imp_call1(c, &tn_op_image_affine_grid, &a, theta));
}

/* ---- windows as columns ---- */

typedef struct columns {
    const int64_t *k, *dilation, *pad, *stride;
    const tn_expr *out[2]; /* windows along each side */
} columns;

/* How many windows there are. A side of an extent that only the run knows is taken to hold one. */
static bool count_windows(imp_node *c, tn_value x, columns *w)
{
    for (int d = 0; d < 2 && !c->bad; d++) {
        int64_t n = 1, more = 2 * w->pad[d] - w->dilation[d] * (w->k[d] - 1) - 1;
        if (imp_rank(x) != 4 || tn_dim_is_any(imp_type(x)->dim[2 + d]) || w->stride[d] < 1) {
            imp_refuse(c, IMP_NOT_CONSTANT, "unfolding needs an image of known extents (--input-shapes)");
            return false;
        }
        const tn_expr *room = tn_add(c->pool, imp_type(x)->dim[2 + d], tn_idx(c->pool, more));
        room = tn_fdiv(c->pool, room, tn_idx(c->pool, w->stride[d]));
        w->out[d] = imp_simplify(c, tn_add(c->pool, room, tn_idx(c->pool, 1)));
        if (tn_is_int(w->out[d], &n) && n < 1)
            break;
        if (d == 1 && w->k[0] >= 1 && w->k[1] >= 1 && w->k[0] * w->k[1] <= 4096)
            return true;
    }
    imp_refuse(c, IMP_BAD_VALUE, "the window does not fit, or has more than 4096 elements");
    return false;
}

/* The element at `from` of all windows along side d. */
static tn_value tap_along(imp_node *c, tn_value x, const columns *w, int d, int64_t from)
{
    int64_t n, axis = 2 + d;
    if (c->bad || !tn_is_int(w->out[d], &n)) {
        tn_value number = imp_count_up(c, w->out[d]), step = imp_i64(c, w->stride[d]);
        tn_value at = imp_binary(c, &tn_op_multiply, number, step), first = imp_i64(c, from);
        return imp_take(c, x, imp_binary(c, &tn_op_add, at, first), (int)axis);
    }
    int64_t end = from + (n - 1) * w->stride[d] + 1;
    tn_slice_attr cut = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &end),
                         tn_ints_make(c->arena, 1, &w->stride[d]), tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_strided_slice, &cut, x);
}

/* Element i of all windows: [n, c, 1, rows, columns]. */
static tn_value tap_of(imp_node *c, tn_value x, const columns *w, int64_t i)
{
    x = tap_along(c, x, w, 0, i / w->k[1] * w->dilation[0]);
    return imp_unsqueeze(c, tap_along(c, x, w, 1, i % w->k[1] * w->dilation[1]), 2);
}

/* im2col(x, kernel, dilation, padding, stride): [n, c * taps, windows] */
static void im2col(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    bool alone = imp_rank(x) == 3;
    x = alone ? imp_unsqueeze(c, x, 0) : x;
    columns w = {pt_repeated(c, 1, 2), pt_repeated(c, 2, 2), pt_repeated(c, 3, 2), pt_repeated(c, 4, 2), {0}};
    if (c->bad || !count_windows(c, x, &w))
        return;
    int64_t width[8] = {0, 0, 0, 0, w.pad[0], w.pad[0], w.pad[1], w.pad[1]}, n = w.k[0] * w.k[1];
    tn_pad_attr a = {tn_make_dims(c->g, 8, width), 0, "constant"};
    bool logic = pt_is_bool(x);
    x = imp_call1(c, &tn_op_nn_pad, &a, logic ? imp_cast(c, x, TN_U8) : x);
    tn_value *tap = TN_NEW_N(c->arena, tn_value, (size_t)n);
    for (int64_t i = 0; i < n && !c->bad; i++)
        tap[i] = tap_of(c, x, &w, i);
    tn_value y = imp_concat(c, (uint32_t)n, tap, 2);
    if (c->bad)
        return;
    const tn_expr *dim[3] = {imp_type(y)->dim[0],
                             imp_simplify(c, tn_mul(c->pool, imp_type(y)->dim[1], imp_type(y)->dim[2])),
                             imp_simplify(c, tn_mul(c->pool, w.out[0], w.out[1]))};
    y = imp_reshape(c, y, 3, dim);
    y = logic ? imp_cast(c, y, TN_BOOL1) : y;
    pt_out(c, alone ? imp_squeeze(c, y, 0) : y);
}

/* col2im(x, size, kernel, dilation, padding, stride) */
static void col2im(imp_node *c)
{
    tn_value x = pt_in(c, 0);
    bool alone = imp_rank(x) == 2;
    tn_dims image = pt_dims(c, 1), block = pt_dims(c, 2);
    const int64_t *dilation = pt_repeated(c, 3, 2), *pad = pt_repeated(c, 4, 2),
                  *stride = pt_repeated(c, 5, 2);
    if (c->bad || image.n != 2 || block.n != 2) {
        imp_refuse(c, IMP_BAD_VALUE, "folding needs two sizes and a window of two");
        return;
    }
    int64_t pads[4] = {pad[0], pad[1], pad[0], pad[1]};
    tn_col2im_attr a = {.image = image,
                        .block = block,
                        .strides = tn_ints_make(c->arena, 2, stride),
                        .dilation = tn_ints_make(c->arena, 2, dilation),
                        .padding = tn_make_dims(c->g, 4, pads)};
    tn_value y = imp_call1(c, &tn_op_nn_col2im, &a, alone ? imp_unsqueeze(c, x, 0) : x);
    pt_out(c, alone ? imp_squeeze(c, y, 0) : y);
}

/* max_unpoolNd(x, indices, size, ...): positions count within a channel */
static void max_unpool(imp_node *c)
{
    tn_value x = pt_in(c, 0), at = pt_in(c, 1);
    tn_dims size = pt_dims(c, 2);
    int rank = imp_rank(x), lead = rank - (int)size.n;
    const tn_expr *dim[IMP_MAX_RANK], *flat[3], *whole[3];
    if (c->bad || lead < 1 || lead > 2 || rank > IMP_MAX_RANK) {
        imp_refuse(c, IMP_BAD_VALUE, "a pool of %u dimensions is undone in %d", (unsigned)size.n, rank);
        return;
    }
    const tn_expr *plane = tn_idx(c->pool, 1);
    for (int d = 0; d < rank; d++) {
        dim[d] = d < lead ? imp_type(x)->dim[d] : size.at[d - lead];
        plane = d < lead ? plane : imp_simplify(c, tn_mul(c->pool, plane, dim[d]));
    }
    flat[0] = whole[0] = imp_product(c, imp_type(x), 0, lead);
    flat[1] = imp_product(c, imp_type(x), lead, rank);
    whole[1] = plane;
    tn_value zeros = pt_expand(c, pt_num(c, x, 0), tn_dims_make(c->arena, 2, whole));
    tn_value places = pt_from_end(c, imp_reshape(c, at, 2, flat), plane);
    tn_scatter_attr a = {1, "update"};
    const tn_value in[3] = {zeros, places, imp_reshape(c, x, 2, flat)};
    pt_out(c, imp_reshape(c, imp_call(c, &tn_op_scatter_elements, &a, 3, in), rank, dim));
}

/* ---- torchvision ---- */

/* nms(boxes, scores, iou_threshold): positions of what stays, by score */
static void nms(imp_node *c)
{
    tn_value boxes = pt_in(c, 0), scores = pt_in(c, 1);
    tn_nms_attr a = {false};
    if (c->bad || imp_rank(boxes) != 2 || imp_rank(scores) != 1) {
        imp_refuse(c, IMP_OPERANDS, "boxes must be [n, 4] and scores [n]");
        return;
    }
    tn_value n = imp_extent_of(c, boxes, 0), s = imp_unsqueeze(c, imp_unsqueeze(c, scores, 0), 0);
    const tn_value in[5] = {imp_cast(c, imp_unsqueeze(c, boxes, 0), TN_F32), imp_cast(c, s, TN_F32), n,
                            imp_const(c, TN_F32, pt_real(c, 2)), imp_const(c, TN_F32, -INFINITY)};
    tn_value chosen = imp_flat(c, imp_call(c, &tn_op_vision_nms_select, &a, 5, in));
    tn_value at = imp_positions(c, imp_binary(c, &tn_op_greater_equal, chosen, imp_i64(c, 0)));
    pt_out(c, imp_take(c, chosen, at, 0));
}

/* roi_align(x, rois, scale, height, width, samples, aligned) */
static void roi_align(imp_node *c)
{
    tn_value x = pt_in(c, 0), boxes = pt_in(c, 1), rois = imp_cast(c, boxes, imp_type(x)->dtype);
    int64_t size[2] = {pt_integer(c, 3), pt_integer(c, 4)}, samples = pt_integer(c, 5);
    tn_roi_attr a = {.pooled_size = tn_ints_make(c->arena, 2, size),
                     .spatial_scale = pt_real(c, 2),
                     .sample_ratio = samples < 0 ? 0 : samples,
                     .aligned = pt_truth(c, 6),
                     .layout = "NCHW",
                     .mode = "avg"};
    if (c->bad || imp_rank(rois) != 2) {
        imp_refuse(c, IMP_OPERANDS, "boxes must be [n, 5]");
        return;
    }
    tn_value batch = imp_cast(c, imp_squeeze(c, imp_slice(c, rois, 1, 0, 1), 1), TN_I64);
    const tn_value in[3] = {x, imp_slice(c, rois, 1, 1, 5), batch};
    pt_out(c, imp_call(c, &tn_op_vision_roi_align, &a, 3, in));
}

/* roi_pool(x, rois, scale, height, width): the second result serves training alone */
static void roi_pool(imp_node *c)
{
    tn_value x = pt_in(c, 0), boxes = pt_in(c, 1), rois = imp_cast(c, boxes, imp_type(x)->dtype);
    int64_t size[2] = {pt_integer(c, 3), pt_integer(c, 4)};
    tn_roi_attr a = {
        .pooled_size = tn_ints_make(c->arena, 2, size), .spatial_scale = pt_real(c, 2), .layout = "NCHW"};
    pt_value out[2] = {pt_bad(), pt_bad()};
    tn_value y = imp_call2(c, &tn_op_vision_roi_pool, &a, x, rois);
    if (c->bad)
        return;
    out[0] = pt_tensor_new(pt_of(c)->p, y);
    pt_out_value(c, pt_make(&c->im->scratch, PT_TUPLE, 2, out));
}

/* deform_conv2d(x, weight, offset, mask, bias, 2 strides, 2 paddings, 2 dilations, groups, offset groups, use mask) */
static void deform_conv(imp_node *c)
{
    tn_value x = pt_in(c, 0), bias = pt_in(c, 4);
    int64_t v[6];
    for (int i = 0; i < 6; i++)
        v[i] = pt_integer(c, 5 + i);
    int64_t pads[4] = {v[2], v[3], v[2], v[3]};
    tn_deform_attr a = {.strides = tn_ints_make(c->arena, 2, v),
                        .padding = tn_make_dims(c->g, 4, pads),
                        .dilation = tn_ints_make(c->arena, 2, v + 4),
                        .groups = pt_integer(c, 11),
                        .deformable_groups = pt_integer(c, 12),
                        .edges = "faded"};
    tn_value offset = pt_in(c, 2), w = pt_in(c, 1), mask = pt_in(c, 3);
    const tn_value in[4] = {x, offset, w, mask};
    tn_value y = imp_call(c, &tn_op_nn_deformable_conv2d, &a, pt_truth(c, 13) ? 4 : 3, in);
    pt_out(c, imp_bias(c, y, bias, false));
}

#define SCALES1 "float? scales=None)"
#define SCALES2 "float? scales_h=None, float? scales_w=None)"
#define SCALES3 "float? scales_d=None, float? scales_h=None, float? scales_w=None)"
#define NEAREST(name, scales) \
    {name "(Tensor input, int[]? output_size, float[]? scale_factors)", upsample, NULL, 0}, \
        {name "(Tensor self, int[] output_size, " scales, upsample, NULL, 0}
#define SMOOTH(name, scales) \
    {name "(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors)", upsample, NULL, \
     0}, \
        {name "(Tensor self, int[] output_size, bool align_corners, " scales, upsample, NULL, 0}
#define GRID(name) \
    {name "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)", \
     grid_sample, NULL, 0}
const pt_row pt_rows_image[] = {
    NEAREST("upsample_nearest1d", SCALES1),
    NEAREST("upsample_nearest2d", SCALES2),
    NEAREST("upsample_nearest3d", SCALES3),
    NEAREST("_upsample_nearest_exact1d", SCALES1),
    NEAREST("_upsample_nearest_exact2d", SCALES2),
    NEAREST("_upsample_nearest_exact3d", SCALES3),
    SMOOTH("upsample_linear1d", SCALES1),
    SMOOTH("upsample_bilinear2d", SCALES2),
    SMOOTH("upsample_bicubic2d", SCALES2),
    SMOOTH("upsample_trilinear3d", SCALES3),
    SMOOTH("_upsample_bilinear2d_aa", SCALES2),
    SMOOTH("_upsample_bicubic2d_aa", SCALES2),
    GRID("grid_sampler"),
    GRID("grid_sampler_2d"),
    GRID("grid_sampler_3d"),
    GRID("_grid_sampler_2d_cpu_fallback"),
    {"affine_grid_generator(Tensor theta, int[] size, bool align_corners)", affine_grid, NULL, 0},
    {"im2col(Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride)", im2col, NULL,
     PT_PARTS},
    {"col2im(Tensor self, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride)",
     col2im, NULL, PT_PARTS},
    {"max_unpool2d(Tensor self, Tensor indices, int[] output_size)", max_unpool, NULL, 0},
    {"max_unpool3d(Tensor self, Tensor indices, int[] output_size, any stride, any padding)", max_unpool,
     NULL, 0},
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold)", nms, NULL, 0},
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
     "pooled_width, int sampling_ratio, bool aligned)",
     roi_align, NULL, 0},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
     "pooled_width)",
     roi_pool, NULL, 0},
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int "
     "stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int "
     "offset_groups, bool use_mask)",
     deform_conv, NULL, 0},
    {0},
};
