#ifndef TN_OP_QNN_QNN_H
#define TN_OP_QNN_QNN_H
/* Quantised numbers. */
#include "op/nn/nn.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/qnn/ops.def"
#undef OP

/* clang-format off */
/* qnn.quantize, qnn.dequantize; qnn.requantize */
#define TN_QNN_AXIS_ATTRS(ATTR, s) ATTR(s, I64, axis, "-1", "the axis that vectors of scales run along")
#define TN_QNN_OUT_ATTRS(ATTR, s, def) ATTR(s, DTYPE, out_dtype, def, "type of the result")
#define TN_QNN_ROUNDING_ATTRS(ATTR, s, def) \
    ATTR(s, STR, rounding, def, "of ties: UPWARD; TONEAREST: away from zero; None: to even")
#define TN_QUANTIZE_ATTRS(ATTR, s) \
    TN_QNN_AXIS_ATTRS(ATTR, s) \
    TN_QNN_ROUNDING_ATTRS(ATTR, s, "\"TONEAREST\"") \
    TN_QNN_OUT_ATTRS(ATTR, s, "\"int8\"")
#define TN_DEQUANTIZE_ATTRS(ATTR, s) TN_QNN_AXIS_ATTRS(ATTR, s) TN_QNN_OUT_ATTRS(ATTR, s, "\"float32\"")
#define TN_REQUANTIZE_ATTRS(ATTR, s) \
    TN_QNN_AXIS_ATTRS(ATTR, s) \
    TN_QNN_ROUNDING_ATTRS(ATTR, s, "\"UPWARD\"") \
    ATTR(s, STR, compute_dtype, "None", "float32; None: the same") \
    TN_QNN_OUT_ATTRS(ATTR, s, "\"int8\"")
TN_ATTR_STRUCT(tn_qnn_attr, TN_REQUANTIZE_ATTRS);

#define TN_RESCALE_ATTRS(ATTR, s) \
    ATTR(s, BOOL, once, "False", "the whole is rounded once, ties up, not the product's high half first")
TN_ATTR_STRUCT(tn_rescale_attr, TN_RESCALE_ATTRS);

/* the structs of nn.conv2d, nn.dense and nn.batch_matmul */
#define TN_QNN_CONV2D_ATTRS(ATTR, s) TN_CONV2D_WINDOW_ATTRS(ATTR, s) TN_QNN_OUT_ATTRS(ATTR, s, "\"int32\"")
#define TN_QNN_DENSE_ATTRS(ATTR, s) TN_UNITS_ATTRS(ATTR, s) TN_QNN_OUT_ATTRS(ATTR, s, "\"int32\"")
#define TN_QNN_BATCH_MATMUL_ATTRS(ATTR, s) TN_TRANSPOSED_ATTRS(ATTR, s) TN_QNN_OUT_ATTRS(ATTR, s, "\"int32\"")

/* qnn.add, subtract, mul */
#define TN_QNN_BINARY_ATTRS(ATTR, s) \
    ATTR(s, I64, lhs_axis, "-1", "the axis of the first operand's scales") \
    ATTR(s, I64, rhs_axis, "-1", "the axis of the second operand's scales")
TN_ATTR_STRUCT(tn_qnn_binary_attr, TN_QNN_BINARY_ATTRS);

/* qnn.packed_dense */
enum { TN_PACKED_PANEL = 64 }; /* columns beside each other */
#define TN_PACKED_ATTRS(ATTR, s) \
    ATTR(s, I64, bits,  NULL, "of a weight: 2, 4 or 8") \
    ATTR(s, I64, block, NULL, "weights along the reduction that share a scale") \
    ATTR(s, I64, units, NULL, "columns of the result")
TN_ATTR_STRUCT(tn_packed_attr, TN_PACKED_ATTRS);
/* clang-format on */

#endif
