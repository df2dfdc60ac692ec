#ifndef TN_OP_CONTROL_CONTROL_H
#define TN_OP_CONTROL_CONTROL_H
/* Control flow: if, loop, fail; extents bound during the run; tensors of any extent. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/control/ops.def"
#undef OP

/* clang-format off */
/* all dims of all outputs; n 0: the branches agree */
#define TN_IF_ATTRS(ATTR, s) \
    ATTR(s, DIMS, join, "None", "extents of all results, symbols where the branches differ; None: they agree")
TN_ATTR_STRUCT(tn_if_attr, TN_IF_ATTRS);

/* all dims of what is collected; n 0: nothing is */
#define TN_LOOP_ATTRS(ATTR, s) \
    ATTR(s, DIMS, collect, "None", \
         "extents of what is collected: iterations, then those of the rows; symbols that are not bound yet, are")
TN_ATTR_STRUCT(tn_loop_attr, TN_LOOP_ATTRS);

#define TN_FAIL_ATTRS(ATTR, s) \
    ATTR(s, STR, message, "\"\"", "what is wrong, and what to do")
TN_ATTR_STRUCT(tn_fail_attr, TN_FAIL_ATTRS);

/* symbols are bound, the rest is checked */
#define TN_BIND_EXTENT_ATTRS(ATTR, s) \
    ATTR(s, DIMS, extent, "None", \
         "one an element: a symbol is bound to it, anything else must equal it; None: new symbols") \
    ATTR(s, STR,  says,   "None", "what is wrong where one is not equal")
TN_ATTR_STRUCT(tn_bind_extent_attr, TN_BIND_EXTENT_ATTRS);

#define TN_MATCH_SHAPE_ATTRS(ATTR, s) \
    ATTR(s, DIMS, extents, "[]", "what the extents of the operand are")
TN_ATTR_STRUCT(tn_match_shape_attr, TN_MATCH_SHAPE_ATTRS);

#define TN_UNBOX_ATTRS(ATTR, s) \
    ATTR(s, DIMS, extent, "None", \
         "one a dimension: a symbol is bound to it, anything else must equal it; None: new symbols")
TN_ATTR_STRUCT(tn_unbox_attr, TN_UNBOX_ATTRS);
#define TN_CONSTRUCT_ATTRS(ATTR, s) \
    ATTR(s, STR, name, NULL, "of the constructor")
TN_ATTR_STRUCT(tn_construct_attr, TN_CONSTRUCT_ATTRS);
/* clang-format on */

/* Does a node of the region bind a symbol that e mentions? */
bool tn_region_binds(const tn_region *r, const tn_expr *e);

#endif
