#ifndef TN_OP_OP_H
#define TN_OP_OP_H
/* The operator records: one place per operator (ops.def lists them, one line each; elementwise ones are
 * formula rows in elementwise.def), and what everybody needs to call an operator. */
#include "ir/op.h"
#include "te/te.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/ops.def"
#undef OP

const tn_op *tn_ops_find(const char *name); /* "nn.conv2d"; NULL: none */
size_t tn_ops_count(void);
const tn_op *tn_ops_at(size_t i); /* 0 <= i < tn_ops_count(), in order of ops.def */

/* Creates a call of op before `before` (NULL: end of r), checks arity, infers its types. attr may be NULL
 * (defaults). NULL after an error (reported with loc). */
tn_node *tn_make_call(tn_graph *g, tn_region *r, tn_node *before, const tn_op *op, int nin,
                      const tn_value in[], const void *attr, const tn_loc *loc);
/* Re-infers one node's types. */
TN_WARN_UNUSED tn_status tn_infer_node(tn_graph *g, tn_node *n);
/* A constant tensor with the given data (copied). */
tn_node *tn_make_constant(tn_graph *g, tn_region *r, tn_node *before, tn_dtype t, int ndim,
                          const int64_t dim[], const void *data, const char *name);
/* A new symbol called prefix0, prefix1, ... with a range; dimensions that are known only during the run have one. */
const tn_expr *tn_fresh_symbol(tn_graph *g, const char *prefix, int64_t min, int64_t max);
/* Does the region end in `fail`? */
bool tn_region_fails(const tn_region *r);
/* Numbers as index expressions, in the graph's arena. */
tn_dims tn_make_dims(tn_graph *g, uint32_t n, const int64_t at[]);
/* A rank-0 float or int constant of dtype t. */
tn_node *tn_make_scalar(tn_graph *g, tn_region *r, tn_node *before, tn_dtype t, double v);
/* Defines the outputs of a node in te (formula, compute or body; expand is not handled here: TN_FAIL,
 * internal). */
TN_WARN_UNUSED tn_status tn_define_node(tn_te *te, tn_graph *g, const tn_node *n, tn_tensor *const in[],
                                        tn_tensor *out[]);
/* An operator over transposed operands as a transpose of its result; *out stays absent where it does not apply. */
TN_WARN_UNUSED tn_status tn_sink_transpose(tn_graph *g, tn_node *n, tn_value *out);
/* What n, over operands made by qnn.dequantize, is on their integers: a value equal to n's result but for rounding,
 * made before n (op/qnn_form.c); absent: there is none. */
TN_WARN_UNUSED tn_status tn_integer_form(tn_graph *g, tn_node *n, tn_value *out);
/* What the record says, or, where it says nothing (AUTO), what follows from its flags and the nodes of its formula. */
enum tn_precision tn_precision_of(tn_graph *g, const tn_node *n);
/* An expression of extents, simplified with what is known of the module's symbols. */
const tn_expr *tn_simplify_extent(tn_graph *g, const tn_expr *e);
/* Infers broadcasting of two shapes (numpy rules; symbolic extents may be taken to be equal, which the run checks). */
TN_WARN_UNUSED tn_status tn_infer_broadcast(tn_graph *g, const tn_node *n, const tn_type *a, const tn_type *b,
                                            tn_dtype t, const tn_type **out);

/* Attribute structs that frontends and passes fill in. Fields as in the records' tables.
 * Windows: of any number of dimensions; padding: before each dimension, then after each (top left bottom right), as
 * index expressions, which symbolic extents may stand in. */
typedef struct tn_recurrent_attr {
    const char *cell, *activations;
    double clip;
    bool reverse, linear_before_reset, input_forget;
} tn_recurrent_attr;
typedef struct tn_attention_mask_attr {
    bool causal;
    int64_t left, right;
    tn_dims past;
} tn_attention_mask_attr;
typedef struct tn_linear_attention_attr {
    double scale;
} tn_linear_attention_attr;
typedef struct tn_frame_attr {
    int64_t length, step;
} tn_frame_attr;
typedef struct tn_dft_attr {
    bool inverse, onesided;
} tn_dft_attr;
typedef struct tn_ngram_attr {
    int64_t units, min, max, skip;
    tn_ints counts;
    const char *mode;
} tn_ngram_attr;
typedef struct tn_conv2d_attr {
    tn_ints strides;
    tn_dims padding;
    tn_ints dilation;
    int64_t groups;
    tn_ints kernel_size;
    int64_t channels;
    const char *data_layout, *kernel_layout, *out_layout;
    tn_dtype out_dtype; /* None: that of the operands */
} tn_conv2d_attr;
typedef struct tn_depths_attr { /* nn.depth_columns */
    int64_t stride, dilation, groups;
    tn_dims before, taps, size;
} tn_depths_attr;
typedef struct tn_conv_transpose_attr {
    tn_ints strides, output_padding, dilation;
    tn_dims padding; /* numbers */
    int64_t groups;
    tn_ints kernel_size;
    int64_t channels;
    const char *data_layout, *kernel_layout, *out_layout;
} tn_conv_transpose_attr;
typedef struct tn_phases_attr { /* nn.conv_transpose_weight, nn.interleave_phases */
    tn_ints strides, dilation;
    int64_t groups;
    tn_ints skip;
    tn_dims size;
} tn_phases_attr;
typedef struct tn_pool2d_attr {
    tn_ints pool_size, strides, dilation;
    tn_dims padding;
    bool ceil_mode, count_include_pad;
    const char *layout;
    int64_t storage_order; /* nn.max_pool_indices alone */
    int64_t p;             /* nn.lp_pool alone */
} tn_pool2d_attr;
typedef struct tn_global_pool2d_attr {
    const char *layout;
} tn_global_pool2d_attr;
typedef struct tn_dense_attr {
    int64_t units;
    tn_dtype out_dtype;
} tn_dense_attr;
/* bias_add, softmax, concatenate, ... */
typedef struct tn_axis_attr {
    int64_t axis;
} tn_axis_attr;
/* reductions: Relay's "axis"; n 0: all */
typedef struct tn_axes_attr {
    tn_ints axes;
    bool keepdims, exclude;
} tn_axes_attr;
/* inferred: no -1 left, and a 0 only with allowzero */
typedef struct tn_reshape_attr {
    tn_dims newshape;
    bool allowzero;
} tn_reshape_attr;
/* Is it known whether data has as many elements as newshape says, so that `reshape` in region r decides? Else *out are
 * the extents, which the run must check; -1 is rounded down. */
bool tn_reshape_known(tn_graph *g, tn_region *r, tn_value data, const tn_reshape_attr *a, const tn_loc *loc,
                      tn_dims *out);
typedef struct tn_transpose_attr {
    tn_ints axes;
} tn_transpose_attr;
/* begin, end: clipped by infer where they and the extent are numbers */
typedef struct tn_slice_attr {
    tn_dims begin, end;
    tn_ints strides, axes;
} tn_slice_attr;
typedef struct tn_expand_dims_attr {
    int64_t axis, num_newaxis;
} tn_expand_dims_attr;
typedef struct tn_cast_attr {
    tn_dtype dtype;
} tn_cast_attr;
/* pad_width: before0 after0 before1 ... */
typedef struct tn_pad_attr {
    tn_dims pad_width;
    double pad_value;
    const char *pad_mode;
} tn_pad_attr;
typedef struct tn_batch_norm_attr {
    int64_t axis;
    double epsilon;
    bool center, scale;
} tn_batch_norm_attr;
typedef struct tn_norm_attr { /* nn.instance_norm, nn.group_norm, nn.layer_norm, nn.rms_norm */
    int64_t axis;
    double epsilon;
    bool center, scale;
    int64_t num_groups; /* nn.group_norm alone */
} tn_norm_attr;
/* nn.max_unpool: indices count in `from`, the result is `shape` */
typedef struct tn_unpool_attr {
    tn_dims from, shape;
} tn_unpool_attr;
typedef struct tn_lrn_attr {
    int64_t size, axis;
    double bias, alpha, beta;
} tn_lrn_attr;
typedef struct tn_clip_attr {
    double a_min, a_max;
} tn_clip_attr;
typedef struct tn_alpha_attr {
    double alpha;
} tn_alpha_attr;
typedef struct tn_broadcast_to_attr {
    tn_dims shape;
} tn_broadcast_to_attr;
typedef struct tn_fn_attr {
    int64_t Primitive;
    const char *name, *algorithm;
} tn_fn_attr; /* op `fn` */
typedef struct tn_tuple_get_attr {
    int64_t index;
} tn_tuple_get_attr;
typedef struct tn_relayout_attr {
    const char *dst_layout;
} tn_relayout_attr; /* NULL: row-major */
typedef struct tn_alphabeta_attr {
    double alpha, beta;
} tn_alphabeta_attr;
typedef struct tn_squeeze_attr {
    tn_ints axis;
} tn_squeeze_attr; /* n 0: all of extent 1 */
typedef struct tn_take_attr {
    int64_t axis;
    const char *mode;
} tn_take_attr; /* mode "clip" or "wrap" */
typedef struct tn_if_attr {
    tn_dims join;
} tn_if_attr; /* all dims of all outputs; n 0: the branches agree */
/* iterations, where results are collected; n 0: none are */
typedef struct tn_loop_attr {
    tn_dims count;
    bool at_most;
} tn_loop_attr;
typedef struct tn_fail_attr {
    const char *message;
} tn_fail_attr;
typedef struct tn_bind_extent_attr {
    tn_dims extent;
} tn_bind_extent_attr; /* symbols are bound, the rest is checked */
/* image.nearest, image.resample, image.weights: one axis; size: one entry; scale 0: size by the old extent */
typedef struct tn_resample_attr {
    int64_t axis;
    tn_dims size;
    double scale;
    const char *method, *coordinate_transformation_mode, *rounding_method;
    double cubic_alpha;
    bool cubic_exclude, antialias;
    double roi_start, roi_end, extrapolation_value;
    tn_dims extent; /* image.weights alone */
} tn_resample_attr;
typedef struct tn_resize_attr { /* image.resize1d, 2d, 3d */
    tn_dims size;
    const char *layout, *method, *coordinate_transformation_mode, *rounding_method;
    double cubic_alpha;
    int64_t cubic_exclude;
} tn_resize_attr;
typedef struct tn_grid_attr { /* image.grid_sample */
    const char *method, *layout, *padding_mode;
    bool align_corners;
} tn_grid_attr;
typedef struct tn_affine_grid_attr {
    tn_dims target_shape;
    bool align_corners;
} tn_affine_grid_attr;
typedef struct tn_deform_attr { /* nn.deformable_conv2d, nn.deform_columns */
    tn_ints strides;
    tn_dims padding;
    tn_ints dilation;
    int64_t deformable_groups, groups;
    tn_dims kernel_size; /* nn.deform_columns alone */
} tn_deform_attr;
typedef struct tn_roi_attr { /* vision.roi_align, vision.roi_pool */
    tn_ints pooled_size;
    double spatial_scale;
    int64_t sample_ratio;
    const char *layout, *mode;
    bool aligned;
} tn_roi_attr;
typedef struct tn_col2im_attr {
    tn_ints image, block, strides, dilation;
    tn_dims padding;
} tn_col2im_attr;
typedef struct tn_depth_attr {
    int64_t block_size;
    const char *layout, *mode;
} tn_depth_attr;
/* Calls that resample several axes of v, in a good order; at least float32 in between. Absent after an error. */
tn_value tn_make_resample(tn_graph *g, tn_region *r, tn_node *before, tn_value v, int n,
                          const tn_resample_attr at[], const tn_loc *loc);
typedef struct tn_extent_attr {
    tn_dims extent;
} tn_extent_attr; /* checked_index */
typedef struct tn_gather_nd_attr {
    int64_t batch_dims;
} tn_gather_nd_attr;
/* scatter_elements, scatter_nd; reduction "update", "add", "mul", "min", "max" */
typedef struct tn_scatter_attr {
    int64_t axis;
    const char *reduction;
} tn_scatter_attr;
typedef struct tn_one_hot_attr {
    tn_dims depth;
    int64_t axis;
} tn_one_hot_attr;
typedef struct tn_reverse_sequence_attr {
    int64_t seq_axis, batch_axis;
} tn_reverse_sequence_attr;
typedef struct tn_trilu_attr {
    bool upper;
} tn_trilu_attr;
typedef struct tn_eye_attr {
    tn_dims shape;
    int64_t k;
    tn_dtype dtype;
} tn_eye_attr;
typedef struct tn_arange_attr {
    tn_dims count;
} tn_arange_attr;
typedef struct tn_random_attr { /* uniform: low, high; normal: mean, deviation */
    tn_dims shape;
    const char *distribution;
    double low, high;
    int64_t seed;
    tn_dtype dtype;
} tn_random_attr;
typedef struct tn_tile_attr {
    tn_dims reps;
} tn_tile_attr;
typedef struct tn_tensor_scatter_attr {
    int64_t axis;
    const char *mode;
} tn_tensor_scatter_attr;
typedef struct tn_scan_attr {
    int64_t axis;
    bool exclusive, reverse;
} tn_scan_attr; /* cumsum, cumprod */
typedef struct tn_topk_attr {
    tn_dims k;
    int64_t axis;
    bool is_ascend;
    tn_dtype dtype;
} tn_topk_attr;
/* argmax, argmin: one axis */
typedef struct tn_arg_attr {
    int64_t axis;
    bool keepdims, select_last_index;
    tn_dtype dtype;
} tn_arg_attr;
/* qnn.quantize, dequantize, requantize (rounding, compute_dtype: requantize alone) */
typedef struct tn_qnn_attr {
    int64_t axis;
    const char *rounding, *compute_dtype;
    tn_dtype out_dtype;
} tn_qnn_attr;
typedef struct tn_qnn_binary_attr {
    int64_t lhs_axis, rhs_axis;
} tn_qnn_binary_attr; /* qnn.add, subtract, mul */
typedef struct tn_nms_attr {
    bool center_point_box;
} tn_nms_attr; /* vision.nms_select */
typedef struct tn_matmul_attr {
    bool transpose_a, transpose_b;
    tn_dtype out_dtype;
} tn_matmul_attr;
typedef struct tn_einsum_attr {
    const char *equation;
} tn_einsum_attr;

#endif
