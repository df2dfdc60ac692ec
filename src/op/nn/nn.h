#ifndef TN_OP_NN_NN_H
#define TN_OP_NN_NN_H
/* Layers of networks: convolution, matrices, pooling, normalisation, attention, recurrent cells. */
#include "op/core/core.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/nn/ops.def"
#undef OP

/* clang-format off */
/* nn.conv1d, conv2d, conv3d. Windows: of any number of dimensions; padding: before each dimension, then after each (top
 * left bottom right), as index expressions, which symbolic extents may stand in. */
#define TN_CONV_ATTRS(ATTR, s, ones, zeros, data, kernel) \
    ATTR(s, INTS, strides,       ones,   "step of the window in each dimension") \
    ATTR(s, DIMS,  padding,       zeros,  "zeros around the image: before each dimension, then after each") \
    ATTR(s, INTS,  dilation,      ones,   "distance of the window's taps") \
    ATTR(s, I64,   groups,        "1",    "independent groups of channels") \
    ATTR(s, I64,   channels,      "0",    "output channels; 0: as the weight has") \
    ATTR(s, INTS,  kernel_size,   "None", "window; None: as the weight has") \
    ATTR(s, STR,   data_layout,   data,   "order of the data's dimensions") \
    ATTR(s, STR,   kernel_layout, kernel, "order of the weight's dimensions") \
    ATTR(s, STR,   out_layout,    "\"\"", "order of the result's dimensions; empty: as the data")
#define TN_CONV2D_WINDOW_ATTRS(ATTR, s) TN_CONV_ATTRS(ATTR, s, "[1, 1]", "[0, 0, 0, 0]", "\"NCHW\"", "\"OIHW\"")
#define TN_SUM_DTYPE_ATTRS(ATTR, s) \
    ATTR(s, DTYPE, out_dtype, "None", "type of sums and result; None: that of the operands")
#define TN_CONV1D_ATTRS(ATTR, s) \
    TN_CONV_ATTRS(ATTR, s, "[1]", "[0, 0]", "\"NCW\"", "\"OIW\"") \
    TN_SUM_DTYPE_ATTRS(ATTR, s)
#define TN_CONV2D_ATTRS(ATTR, s) \
    TN_CONV2D_WINDOW_ATTRS(ATTR, s) \
    TN_SUM_DTYPE_ATTRS(ATTR, s)
#define TN_CONV3D_ATTRS(ATTR, s) \
    TN_CONV_ATTRS(ATTR, s, "[1, 1, 1]", "[0, 0, 0, 0, 0, 0]", "\"NCDHW\"", "\"OIDHW\"") \
    TN_SUM_DTYPE_ATTRS(ATTR, s)
TN_ATTR_STRUCT(tn_conv2d_attr, TN_CONV2D_ATTRS);

/* nn.depth_columns */
#define TN_DEPTHS_ATTRS(ATTR, s) \
    ATTR(s, I64,  stride,   "1",   "step of the window along the depth") \
    ATTR(s, I64,  dilation, "1",   "distance of its taps") \
    ATTR(s, DIMS, before,   "[0]", "zeros before the first depth") \
    ATTR(s, I64,  groups,   "1",   "independent groups of channels") \
    ATTR(s, DIMS, taps,     NULL,  "taps of the window") \
    ATTR(s, DIMS, size,     NULL,  "results along the depth")
TN_ATTR_STRUCT(tn_depths_attr, TN_DEPTHS_ATTRS);

/* nn.winograd_data, nn.winograd_result */
#define TN_WINOGRAD_ATTRS(ATTR, s) \
    ATTR(s, I64,  tile,    NULL, "results of a tile along each dimension: 2 or 4") \
    ATTR(s, INTS, tiles,   NULL, "tiles of an image: below and beside each other") \
    ATTR(s, INTS, padding, "[]", "of winograd_data: zeros above and left of the image")
TN_ATTR_STRUCT(tn_winograd_attr, TN_WINOGRAD_ATTRS);

/* padding: numbers */
#define TN_CONV_TRANSPOSE_ATTRS(ATTR, s, ones, zeros, pads, data, kernel) \
    ATTR(s, INTS, strides,        ones,   "distance of neighbours' results") \
    ATTR(s, DIMS, padding,        pads,   "cut off the result: before each dimension, then after each") \
    ATTR(s, INTS, output_padding, zeros,  "more results after each dimension") \
    ATTR(s, INTS, dilation,       ones,   "distance of the window's taps") \
    ATTR(s, I64,  groups,         "1",    "independent groups of channels") \
    ATTR(s, I64,  channels,       "0",    "output channels; 0: as the weight has") \
    ATTR(s, INTS, kernel_size,    "None", "window; None: as the weight has") \
    ATTR(s, STR,  data_layout,    data,   "order of the data's dimensions") \
    ATTR(s, STR,  kernel_layout,  kernel, "order of the weight's dimensions: input channels first") \
    ATTR(s, STR,  out_layout,     "\"\"", "order of the result's dimensions; empty: as the data")
#define TN_CONV1D_TRANSPOSE_ATTRS(ATTR, s) \
    TN_CONV_TRANSPOSE_ATTRS(ATTR, s, "[1]", "[0]", "[0, 0]", "\"NCW\"", "\"IOW\"")
#define TN_CONV2D_TRANSPOSE_ATTRS(ATTR, s) \
    TN_CONV_TRANSPOSE_ATTRS(ATTR, s, "[1, 1]", "[0, 0]", "[0, 0, 0, 0]", "\"NCHW\"", "\"IOHW\"")
#define TN_CONV3D_TRANSPOSE_ATTRS(ATTR, s) \
    TN_CONV_TRANSPOSE_ATTRS(ATTR, s, "[1, 1, 1]", "[0, 0, 0]", "[0, 0, 0, 0, 0, 0]", "\"NCDHW\"", "\"IODHW\"")
TN_ATTR_STRUCT(tn_conv_transpose_attr, TN_CONV2D_TRANSPOSE_ATTRS);

/* nn.conv_transpose_weight, nn.interleave_phases */
#define TN_PHASES_ATTRS(ATTR, s) \
    ATTR(s, INTS, strides,  NULL, "phases along each dimension") \
    ATTR(s, INTS, dilation, "[]", "of the weight's taps; none: 1") \
    ATTR(s, I64,  groups,   "1",  "independent groups of channels; 0, of interleave_phases: each channel is one") \
    ATTR(s, DIMS, skip,     "[]", "results left out before the first") \
    ATTR(s, DIMS, size,     "[]", "extents of the result")
TN_ATTR_STRUCT(tn_phases_attr, TN_PHASES_ATTRS);

#define TN_UNITS_ATTRS(ATTR, s) ATTR(s, I64, units, "0", "outputs; 0: as the weight has")
#define TN_DENSE_ATTRS(ATTR, s) \
    TN_UNITS_ATTRS(ATTR, s) TN_SUM_DTYPE_ATTRS(ATTR, s) \
    ATTR(s, BOOL, flush_denormals, "False", "denormal factors and sums of bfloat16 may count as 0")
TN_ATTR_STRUCT(tn_dense_attr, TN_DENSE_ATTRS);

/* nn.batch_matmul */
#define TN_TRANSPOSED_ATTRS(ATTR, s) \
    ATTR(s, BOOL, transpose_a, "False", "the first operand is [b, k, m]") \
    ATTR(s, BOOL, transpose_b, "False", "the second operand is [b, n, k]")
#define TN_MATMUL_ATTRS(ATTR, s) TN_TRANSPOSED_ATTRS(ATTR, s) TN_SUM_DTYPE_ATTRS(ATTR, s)
TN_ATTR_STRUCT(tn_matmul_attr, TN_MATMUL_ATTRS);

/* storage_order: nn.max_pool_indices alone; p: nn.lp_pool alone */
#define TN_POOL_ATTRS(ATTR, s, ones, zeros, order) \
    ATTR(s, INTS, pool_size, NULL,    "window, in each dimension") \
    ATTR(s, INTS, strides,   ones,    "step of the window") \
    ATTR(s, INTS, dilation,  ones,    "distance of the window's taps") \
    ATTR(s, DIMS, padding,   zeros,   "around the image: before each dimension, then after each") \
    ATTR(s, STR,  layout,    order,   "order of the data's dimensions") \
    ATTR(s, BOOL, ceil_mode, "False", "a last, partial window counts")
#define TN_AVG_POOL_ATTRS(ATTR, s, ones, zeros, order) \
    TN_POOL_ATTRS(ATTR, s, ones, zeros, order) \
    ATTR(s, BOOL, count_include_pad, "False", "padding counts as elements")
#define TN_STORAGE_ORDER_ATTRS(ATTR, s) \
    ATTR(s, I64, storage_order, "0", "1: positions count with the spatial dimensions in reverse order")
#define TN_POOL_P_ATTRS(ATTR, s) ATTR(s, I64, p, "2", "of the norm")
#define TN_POOL_INDICES_ATTRS(ATTR, s) \
    TN_POOL_ATTRS(ATTR, s, "[1]", "[0]", "None") TN_STORAGE_ORDER_ATTRS(ATTR, s)
#define TN_LP_POOL_ATTRS(ATTR, s) TN_POOL_ATTRS(ATTR, s, "[1]", "[0]", "None") TN_POOL_P_ATTRS(ATTR, s)
#define TN_ANY_POOL_ATTRS(ATTR, s) \
    TN_AVG_POOL_ATTRS(ATTR, s, "", "", "") TN_STORAGE_ORDER_ATTRS(ATTR, s) TN_POOL_P_ATTRS(ATTR, s)
TN_ATTR_STRUCT(tn_pool2d_attr, TN_ANY_POOL_ATTRS);

#define TN_GLOBAL_POOL2D_ATTRS(ATTR, s) \
    ATTR(s, STR, layout, "\"NCHW\"", "order of the data's dimensions")
TN_ATTR_STRUCT(tn_global_pool2d_attr, TN_GLOBAL_POOL2D_ATTRS);

/* nn.max_unpool: indices count in `from`, the result is `shape` */
#define TN_UNPOOL_ATTRS(ATTR, s) \
    ATTR(s, DIMS, from,  NULL, "extents that the indices count in, row by row") \
    ATTR(s, DIMS, shape, NULL, "extents of the result")
TN_ATTR_STRUCT(tn_unpool_attr, TN_UNPOOL_ATTRS);

#define TN_SOFTMAX_ATTRS(ATTR, s) TN_AXIS_ATTRS(ATTR, s, "-1", "elements along it add up to 1")

#define TN_BATCH_NORM_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,    "1",     "the channels") \
    ATTR(s, F64,  epsilon, "1e-05", "added to the variance") \
    ATTR(s, BOOL, center,  "True",  "beta is added") \
    ATTR(s, BOOL, scale,   "True",  "gamma is multiplied")
TN_ATTR_STRUCT(tn_batch_norm_attr, TN_BATCH_NORM_ATTRS);

#define TN_LRN_ATTRS(ATTR, s) \
    ATTR(s, I64, size,  "5",     "neighbours that count, itself one of them") \
    ATTR(s, I64, axis,  "1",     "the channels") \
    ATTR(s, F64, bias,  "2",     "added to the squares' sum") \
    ATTR(s, F64, alpha, "0.0001", "factor of the squares' sum, divided by size") \
    ATTR(s, F64, beta,  "0.75",  "exponent")
TN_ATTR_STRUCT(tn_lrn_attr, TN_LRN_ATTRS);

/* nn.instance_norm, nn.layer_norm, nn.rms_norm; nn.group_norm */
#define TN_NORM_ATTRS(ATTR, s, along) \
    ATTR(s, I64,  axis,    along,   "the axis that gamma and beta run along") \
    ATTR(s, F64,  epsilon, "1e-05", "added to the variance") \
    ATTR(s, BOOL, center,  "True",  "beta is added") \
    ATTR(s, BOOL, scale,   "True",  "gamma is multiplied")
#define TN_INSTANCE_NORM_ATTRS(ATTR, s) TN_NORM_ATTRS(ATTR, s, "1")
#define TN_RMS_NORM_ATTRS(ATTR, s) TN_NORM_ATTRS(ATTR, s, "-1")
#define TN_MOMENTS_ATTRS(ATTR, s) \
    ATTR(s, BOOL, moments, "False", "mean and 1 / deviation of each row are results, too, the axis with extent 1")
#define TN_LAYER_NORM_ATTRS(ATTR, s) TN_NORM_ATTRS(ATTR, s, "-1") TN_MOMENTS_ATTRS(ATTR, s)
#define TN_GROUP_NORM_ATTRS(ATTR, s) \
    ATTR(s, I64, num_groups, NULL, "groups of channels") \
    TN_NORM_ATTRS(ATTR, s, "1")
#define TN_ANY_NORM_ATTRS(ATTR, s) TN_GROUP_NORM_ATTRS(ATTR, s) TN_MOMENTS_ATTRS(ATTR, s)
TN_ATTR_STRUCT(tn_norm_attr, TN_ANY_NORM_ATTRS);

#define TN_ATTENTION_MASK_ATTRS(ATTR, s) \
    ATTR(s, BOOL, causal, "False", "a query sees no later key") \
    ATTR(s, I64,  left,   "-1",    "how many keys before its place a query sees; -1: all") \
    ATTR(s, I64,  right,  "-1",    "how many keys after its place a query sees; -1: all") \
    ATTR(s, DIMS, past,   "[0]",   "keys before the first query's place")
TN_ATTR_STRUCT(tn_attention_mask_attr, TN_ATTENTION_MASK_ATTRS);

#define TN_CACHE_APPEND_ATTRS(ATTR, s) ATTR(s, DIMS, extent, NULL, "rows of the result")
TN_ATTR_STRUCT(tn_cache_append_attr, TN_CACHE_APPEND_ATTRS);

#define TN_LINEAR_ATTENTION_ATTRS(ATTR, s) \
    ATTR(s, F64, scale, "1", "results are multiplied with it")
TN_ATTR_STRUCT(tn_linear_attention_attr, TN_LINEAR_ATTENTION_ATTRS);

#define TN_RECURRENT_ATTRS(ATTR, s) \
    ATTR(s, STR,  cell,                NULL,    "\"rnn\", \"gru\" (gates z r n) or \"lstm\" (gates i o f c)") \
    ATTR(s, STR, activations, "\"\"", "\"name:alpha:beta ...\"; \"\": tanh; sigmoid tanh; sigmoid tanh tanh") \
    ATTR(s, F64,  clip,                "0",     "what gates see is limited to [-clip, clip]; 0: not") \
    ATTR(s, BOOL, reverse,             "False", "from the last step to the first") \
    ATTR(s, BOOL, linear_before_reset, "False", "gru: the reset gate multiplies h R^T + bias, not h") \
    ATTR(s, BOOL, input_forget,        "False", "lstm: the forget gate is 1 - i")
TN_ATTR_STRUCT(tn_recurrent_attr, TN_RECURRENT_ATTRS);
/* clang-format on */

#endif
