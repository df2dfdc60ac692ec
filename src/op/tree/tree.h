#ifndef TN_OP_TREE_TREE_H
#define TN_OP_TREE_TREE_H
/* Decision trees. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/tree/ops.def"
#undef OP

#define TN_TREE_ATTRS(ATTR, s) \
    ATTR(s, STR, take, "\"sum\"", "\"sum\", \"min\" or \"max\" of the leaves") \
    ATTR(s, BOOL, missing, "True", "a feature is twice its number, plus 1 where NaN counts as -infinity")
TN_ATTR_STRUCT(tn_tree_attr, TN_TREE_ATTRS);

#endif
