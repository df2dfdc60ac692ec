#ifndef TN_OP_TREE_TREE_H
#define TN_OP_TREE_TREE_H
/* Decision trees. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/tree/ops.def"
#undef OP

#endif
