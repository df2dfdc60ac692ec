#ifndef TN_OP_OP_H
#define TN_OP_OP_H
/* The operator records: one place per operator (ops.def lists them, one line each; elementwise ones are
 * formula rows in elementwise.def), and what everybody needs to call an operator. */
#include "ir/op.h"
#include "te/te.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/ops.def"
#undef OP

const tn_op *tn_ops_find(const char *name);        /* "nn.conv2d"; NULL: none */
size_t tn_ops_count(void);
const tn_op *tn_ops_at(size_t i);                   /* 0 <= i < tn_ops_count(), in order of ops.def */

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
/* A rank-0 float or int constant of dtype t. */
tn_node *tn_make_scalar(tn_graph *g, tn_region *r, tn_node *before, tn_dtype t, double v);
/* Defines the outputs of a node in te (formula, compute or body; expand is not handled here: TN_FAIL,
 * internal). */
TN_WARN_UNUSED tn_status tn_define_node(tn_te *te, tn_graph *g, const tn_node *n, tn_tensor *const in[],
                                        tn_tensor *out[]);
/* Infers broadcasting of two shapes (numpy rules; different symbols are errors naming both). */
TN_WARN_UNUSED tn_status tn_infer_broadcast(tn_graph *g, const tn_node *n, const tn_type *a, const tn_type *b,
                                            tn_dtype t, const tn_type **out);

/* Attribute structs that frontends and passes fill in. Fields as in the records' tables.
 * Padding: top left bottom right. */
typedef struct tn_conv2d_attr {
    tn_ints strides, padding, dilation;
    int64_t groups;
    tn_ints kernel_size;
    int64_t channels;
    const char *data_layout, *kernel_layout, *out_layout;
} tn_conv2d_attr;
typedef struct tn_pool2d_attr {
    tn_ints pool_size, strides, dilation, padding;
    bool ceil_mode, count_include_pad;
    const char *layout;
} tn_pool2d_attr;
typedef struct tn_global_pool2d_attr { const char *layout; } tn_global_pool2d_attr;
typedef struct tn_dense_attr { int64_t units; } tn_dense_attr;
/* bias_add, softmax, concatenate, ... */
typedef struct tn_axis_attr { int64_t axis; } tn_axis_attr;
/* reductions: Relay's "axis"; n 0: all */
typedef struct tn_axes_attr { tn_ints axes; bool keepdims, exclude; } tn_axes_attr;
typedef struct tn_reshape_attr { tn_dims newshape; } tn_reshape_attr;   /* resolved dims: no 0 or -1 left */
typedef struct tn_transpose_attr { tn_ints axes; } tn_transpose_attr;
typedef struct tn_slice_attr { tn_ints begin, end, strides, axes; } tn_slice_attr; /* end clipped by infer */
typedef struct tn_expand_dims_attr { int64_t axis, num_newaxis; } tn_expand_dims_attr;
typedef struct tn_cast_attr { tn_dtype dtype; } tn_cast_attr;
/* pad_width: before0 after0 before1 ... */
typedef struct tn_pad_attr { tn_ints pad_width; double pad_value; } tn_pad_attr;
typedef struct tn_batch_norm_attr { int64_t axis; double epsilon; bool center, scale; } tn_batch_norm_attr;
typedef struct tn_clip_attr { double a_min, a_max; } tn_clip_attr;
typedef struct tn_alpha_attr { double alpha; } tn_alpha_attr;
typedef struct tn_broadcast_to_attr { tn_dims shape; } tn_broadcast_to_attr;
typedef struct tn_fn_attr { int64_t Primitive; const char *name, *algorithm; } tn_fn_attr; /* op `fn` */
typedef struct tn_tuple_get_attr { int64_t index; } tn_tuple_get_attr;
typedef struct tn_relayout_attr { const char *dst_layout; } tn_relayout_attr; /* NULL: row-major */
typedef struct tn_alphabeta_attr { double alpha, beta; } tn_alphabeta_attr;
typedef struct tn_squeeze_attr { tn_ints axis; } tn_squeeze_attr; /* n 0: all of extent 1 */
typedef struct tn_take_attr { int64_t axis; const char *mode; } tn_take_attr; /* mode "clip" or "wrap" */
typedef struct tn_if_attr {
    tn_dims join;
} tn_if_attr; /* all dims of all outputs; n 0: the branches agree */
typedef struct tn_fail_attr {
    const char *message;
} tn_fail_attr;
typedef struct tn_bind_extent_attr {
    tn_dims extent;
} tn_bind_extent_attr; /* symbols are bound, the rest is checked */
typedef struct tn_matmul_attr { bool transpose_a, transpose_b; } tn_matmul_attr; /* nn.batch_matmul */

#endif
