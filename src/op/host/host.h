#ifndef TN_OP_HOST_HOST_H
#define TN_OP_HOST_HOST_H
/* Operators over values that no kernel computes with: sequences, optional values. Host functions do them in the run. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/host/ops.def"
#undef OP

/* clang-format off */
#define TN_SEQ_SPLIT_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,     "0",    "which is cut") \
    ATTR(s, BOOL, keepdims, "True", "False: parts of 1 lose the axis, if no sizes are given")
TN_ATTR_STRUCT(tn_seq_split_attr, TN_SEQ_SPLIT_ATTRS);

#define TN_SEQ_CONCAT_ATTRS(ATTR, s) \
    ATTR(s, I64,  axis,     "0",     "along which the elements follow each other") \
    ATTR(s, BOOL, new_axis, "False", "the axis is a new one")
TN_ATTR_STRUCT(tn_seq_concat_attr, TN_SEQ_CONCAT_ATTRS);
/* clang-format on */

#endif
