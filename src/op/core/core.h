#ifndef TN_OP_CORE_CORE_H
#define TN_OP_CORE_CORE_H
/* Structure: variables, constants, functions, calls, tuples, relayout; and the attribute that many families share. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/core/ops.def"
#undef OP

/* clang-format off */
#define TN_FN_ATTRS(ATTR, s) \
    ATTR(s, I64, Primitive, "0",    "1: one kernel") \
    ATTR(s, STR, name,      "None", "name of the kernel") \
    ATTR(s, STR, algorithm, "None", "alternative chosen for its anchor")
TN_ATTR_STRUCT(tn_fn_attr, TN_FN_ATTRS);

#define TN_GLOBAL_ATTRS(ATTR, s) \
    ATTR(s, STR, name, NULL, "of the function")
TN_ATTR_STRUCT(tn_global_attr, TN_GLOBAL_ATTRS);

#define TN_TUPLE_GET_ATTRS(ATTR, s) \
    ATTR(s, I64, index, NULL, "which field")
TN_ATTR_STRUCT(tn_tuple_get_attr, TN_TUPLE_GET_ATTRS);

/* dst_layout NULL: row-major */
#define TN_RELAYOUT_ATTRS(ATTR, s) \
    ATTR(s, STR, dst_layout, "None", "layout of the result, \"NCHW16c\"; None: row-major")
TN_ATTR_STRUCT(tn_relayout_attr, TN_RELAYOUT_ATTRS);

/* one axis: softmax, bias_add, concatenate, ... */
#define TN_AXIS_ATTRS(ATTR, s, def, doc) ATTR(s, I64, axis, def, doc)
#define TN_ANY_AXIS_ATTRS(ATTR, s) TN_AXIS_ATTRS(ATTR, s, NULL, "")
TN_ATTR_STRUCT(tn_axis_attr, TN_ANY_AXIS_ATTRS);
/* clang-format on */

#endif
