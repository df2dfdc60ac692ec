#ifndef TN_OP_TENSOR_TENSOR_H
#define TN_OP_TENSOR_TENSOR_H
/* Elementwise formulas, shapes, movement, selection, indices, reductions along axes, extents that depend on data. */
#include "op/core/core.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/tensor/ops.def"
#undef OP

/* clang-format off */
/* inferred: no -1 left, and a 0 only with allowzero */
#define TN_RESHAPE_ATTRS(ATTR, s) \
    ATTR(s, DIMS, newshape,  NULL,    "extents; 0 keeps a dimension, -1 takes the rest") \
    ATTR(s, BOOL, allowzero, "False", "0 is an extent of 0")
TN_ATTR_STRUCT(tn_reshape_attr, TN_RESHAPE_ATTRS);

/* Is it known whether data has as many elements as newshape says, so that `reshape` in region r decides? Else *out are
 * the extents, which the run must check; -1 is rounded down. */
bool tn_reshape_known(tn_graph *g, tn_region *r, tn_value data, const tn_reshape_attr *a, const tn_loc *loc,
                      tn_dims *out);

#define TN_EXPAND_DIMS_ATTRS(ATTR, s) \
    ATTR(s, I64, axis,        NULL, "position of the first new dimension") \
    ATTR(s, I64, num_newaxis, "1",  "how many")
TN_ATTR_STRUCT(tn_expand_dims_attr, TN_EXPAND_DIMS_ATTRS);

/* n 0: all of extent 1 */
#define TN_SQUEEZE_ATTRS(ATTR, s) \
    ATTR(s, INTS, axis, "None", "dimensions to drop; None: all of extent 1")
TN_ATTR_STRUCT(tn_squeeze_attr, TN_SQUEEZE_ATTRS);

#define TN_TRANSPOSE_ATTRS(ATTR, s) \
    ATTR(s, INTS, axes, "None", "order of data's dimensions in the result; None: reversed")
TN_ATTR_STRUCT(tn_transpose_attr, TN_TRANSPOSE_ATTRS);

/* pad_width: before0 after0 before1 ... */
#define TN_PAD_ATTRS(ATTR, s) \
    ATTR(s, DIMS, pad_width, NULL,           "before and after each dimension; negative: cut off") \
    ATTR(s, F64,  pad_value, "0",            "the padding value, unless it is an operand") \
    ATTR(s, STR,  pad_mode,  "\"constant\"", \
         "or \"edge\" (the nearest element), \"reflect\" (mirrored at the ends), \"wrap\" (the other end)")
TN_ATTR_STRUCT(tn_pad_attr, TN_PAD_ATTRS);

#define TN_DYN_PAD_ATTRS(ATTR, s) \
    ATTR(s, DIMS, extent,    NULL,           "extents of the result") \
    ATTR(s, F64,  pad_value, "0",            "the padding value, unless it is an operand") \
    ATTR(s, STR,  pad_mode,  "\"constant\"", "as of nn.pad")
TN_ATTR_STRUCT(tn_dyn_pad_attr, TN_DYN_PAD_ATTRS);

#define TN_CONCATENATE_ATTRS(ATTR, s) TN_AXIS_ATTRS(ATTR, s, "0", "the axis along which they are concatenated")

/* begin, end: clipped by infer where they and the extent are numbers */
#define TN_SLICE_ATTRS(ATTR, s) \
    ATTR(s, DIMS, begin,   NULL,   "first position, one for each axis") \
    ATTR(s, DIMS, end,     NULL,   "position to stop before") \
    ATTR(s, INTS, strides, "[1]",  "steps; missing ones are 1") \
    ATTR(s, INTS, axes,    "None", "the axes meant; None: the first ones")
TN_ATTR_STRUCT(tn_slice_attr, TN_SLICE_ATTRS);

/* mode "clip" or "wrap" */
#define TN_TAKE_ATTRS(ATTR, s) \
    ATTR(s, I64, axis, NULL,       "the axis of data that indices select from") \
    ATTR(s, STR, mode, "\"clip\"", "indices outside: \"clip\" and \"fast\" take the nearest, \"wrap\" counts round")
TN_ATTR_STRUCT(tn_take_attr, TN_TAKE_ATTRS);

#define TN_CAST_ATTRS(ATTR, s) ATTR(s, DTYPE, dtype, NULL, "type of the result's elements")
#define TN_SHAPE_OF_ATTRS(ATTR, s) ATTR(s, DTYPE, dtype, "\"int32\"", "integer type of the result")
TN_ATTR_STRUCT(tn_cast_attr, TN_CAST_ATTRS);

#define TN_BIAS_ADD_ATTRS(ATTR, s) TN_AXIS_ATTRS(ATTR, s, "1", "the axis that bias runs along")

#define TN_BROADCAST_TO_ATTRS(ATTR, s) \
    ATTR(s, DIMS, shape, NULL, "the result's extents")
TN_ATTR_STRUCT(tn_broadcast_to_attr, TN_BROADCAST_TO_ATTRS);

/* where_true, dyn.*; checked_index */
#define TN_EXTENT_ATTRS(ATTR, s) ATTR(s, DIMS, extent, NULL, "extents of the result")
#define TN_CHECKED_INDEX_ATTRS(ATTR, s) \
    ATTR(s, DIMS, extent, NULL, "extent that indices select from; several: one for each entry of the last dimension")
TN_ATTR_STRUCT(tn_extent_attr, TN_EXTENT_ATTRS);

#define TN_GATHER_ATTRS(ATTR, s) TN_AXIS_ATTRS(ATTR, s, NULL, "the axis that indices are for")

#define TN_GATHER_ND_ATTRS(ATTR, s) \
    ATTR(s, I64, batch_dims, "0", "leading dimensions that are paired")
TN_ATTR_STRUCT(tn_gather_nd_attr, TN_GATHER_ND_ATTRS);

#define TN_ONE_HOT_ATTRS(ATTR, s) \
    ATTR(s, DIMS, depth, "[1]", "extent of the new axis") \
    ATTR(s, I64,  axis,  "-1", "position of the new axis")
TN_ATTR_STRUCT(tn_one_hot_attr, TN_ONE_HOT_ATTRS);

#define TN_REVERSE_SEQUENCE_ATTRS(ATTR, s) \
    ATTR(s, I64, seq_axis,   "1", "the axis that is turned round") \
    ATTR(s, I64, batch_axis, "0", "the axis of the lengths")
TN_ATTR_STRUCT(tn_reverse_sequence_attr, TN_REVERSE_SEQUENCE_ATTRS);

#define TN_TENSOR_SCATTER_ATTRS(ATTR, s) \
    ATTR(s, I64, axis, "-2",         "the axis that grows") \
    ATTR(s, STR, mode, "\"linear\"", "\"circular\": positions count round")
TN_ATTR_STRUCT(tn_tensor_scatter_attr, TN_TENSOR_SCATTER_ATTRS);

/* scatter_elements; scatter_nd without an axis */
#define TN_SCATTER_ND_ATTRS(ATTR, s) \
    ATTR(s, STR, reduction, "\"update\"", "how an update combines with the old value: update, add, mul, min, max, mean")
#define TN_SCATTER_ATTRS(ATTR, s) \
    ATTR(s, I64, axis, "0", "the axis that indices are for") \
    TN_SCATTER_ND_ATTRS(ATTR, s)
TN_ATTR_STRUCT(tn_scatter_attr, TN_SCATTER_ATTRS);

#define TN_TRILU_ATTRS(ATTR, s) \
    ATTR(s, BOOL, upper, "True", "keeps what is above the k-th diagonal; " "otherwise what is below")
TN_ATTR_STRUCT(tn_trilu_attr, TN_TRILU_ATTRS);

#define TN_EYE_ATTRS(ATTR, s) \
    ATTR(s, DIMS,  shape, NULL,          "rows and columns") \
    ATTR(s, I64,   k,     "0",           "the diagonal; above 0: to the right") \
    ATTR(s, DTYPE, dtype, "\"float32\"", "type of the result")
TN_ATTR_STRUCT(tn_eye_attr, TN_EYE_ATTRS);

#define TN_ARANGE_ATTRS(ATTR, s) \
    ATTR(s, DIMS, count, NULL, "how many elements")
TN_ATTR_STRUCT(tn_arange_attr, TN_ARANGE_ATTRS);

#define TN_TILE_ATTRS(ATTR, s) \
    ATTR(s, DIMS, reps, NULL, "how often along each dimension, aligned at the last")
TN_ATTR_STRUCT(tn_tile_attr, TN_TILE_ATTRS);

/* cumsum, cumprod, cummax, cummin */
#define TN_SCAN_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,      NULL,    "the axis to run along") \
    ATTR(s, BOOL, exclusive, "False", "without the element itself") \
    ATTR(s, BOOL, reverse,   "False", "from the last element on")
TN_ATTR_STRUCT(tn_scan_attr, TN_SCAN_ATTRS);

#define TN_TOPK_ATTRS(ATTR, s) \
    ATTR(s, DIMS,  k,         "[1]",       "how many") \
    ATTR(s, I64,   axis,      "-1",        "the axis that is searched") \
    ATTR(s, BOOL,  is_ascend, "False",     "the smallest instead of the largest") \
    ATTR(s, DTYPE, dtype,     "\"int64\"", "type of the positions")
TN_ATTR_STRUCT(tn_topk_attr, TN_TOPK_ATTRS);

/* reductions; n 0: all */
#define TN_AXES_ATTRS(ATTR, s) \
    ATTR(s, INTS, axis,     "None",  "axes to reduce; None: all") \
    ATTR(s, BOOL, keepdims, "False", "reduced axes stay, with extent 1") \
    ATTR(s, BOOL, exclude,  "False", "axis lists what is not reduced")
TN_ATTR_STRUCT(tn_axes_attr, TN_AXES_ATTRS);

/* argmax, argmin: one axis */
#define TN_ARG_ATTRS(ATTR, s) \
    ATTR(s, I64,   axis,              NULL,        "the axis that is searched") \
    ATTR(s, BOOL,  keepdims,          "False",     "the axis stays, with extent 1") \
    ATTR(s, BOOL,  select_last_index, "False",     "of equal elements the last one, not the first") \
    ATTR(s, DTYPE, dtype,             "\"int32\"", "type of the positions")
TN_ATTR_STRUCT(tn_arg_attr, TN_ARG_ATTRS);

#define TN_EINSUM_ATTRS(ATTR, s) \
    ATTR(s, STR, equation, NULL, "labels of the operands' dimensions -> of the result's")
TN_ATTR_STRUCT(tn_einsum_attr, TN_EINSUM_ATTRS);

#define TN_ALPHA_ATTRS(ATTR, s) \
    ATTR(s, F64, alpha, NULL, "factor where x < 0")
#define TN_SLOPE_ATTRS(ATTR, s) /* nn.leaky_relu */ \
    ATTR(s, F64, alpha, "0.25", "factor where x < 0")
TN_ATTR_STRUCT(tn_alpha_attr, TN_ALPHA_ATTRS);

#define TN_CLIP_ATTRS(ATTR, s) \
    ATTR(s, F64, a_min, NULL, "smallest value") \
    ATTR(s, F64, a_max, NULL, "largest value")
TN_ATTR_STRUCT(tn_clip_attr, TN_CLIP_ATTRS);

#define TN_ALPHABETA_ATTRS(ATTR, s) \
    ATTR(s, F64, alpha, "0.2", "slope") \
    ATTR(s, F64, beta,  "0.5", "value at 0")
TN_ATTR_STRUCT(tn_alphabeta_attr, TN_ALPHABETA_ATTRS);

#define TN_SELU_ATTRS(ATTR, s) \
    ATTR(s, F64, alpha, "1.67326319217681884765625", "limit below 0") \
    ATTR(s, F64, gamma, "1.05070102214813232421875", "factor of all")
TN_ATTR_STRUCT(tn_selu_attr, TN_SELU_ATTRS);

#define TN_SHRINK_ATTRS(ATTR, s) \
    ATTR(s, F64, lambd, "0.5", "what is nearer to 0 becomes 0") \
    ATTR(s, F64, bias,  "0",   "how far the rest moves")
TN_ATTR_STRUCT(tn_shrink_attr, TN_SHRINK_ATTRS);
/* clang-format on */

#endif
