#ifndef TN_OP_OP_H
#define TN_OP_OP_H
/* What everybody needs to find and to call an operator. The records and attributes of a family of operators are in its
 * header, op/<family>/<family>.h. */
#include "ir/op.h"
#include "te/te.h"

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
/* v, or if it is a tensor of any extent, the `unbox` of it behind its definition, which is made where there is none. */
tn_value tn_unboxed(tn_graph *g, tn_value v);
/* Gives a node the type t if it makes a reference, which may then hold whatever fits; false: it does not, or not so. */
bool tn_ref_take(tn_graph *g, tn_node *n, const tn_type *t);
/* Does the node make a reference whose type says more than what it holds at first? */
bool tn_ref_is_wider(tn_pool *p, const tn_node *n);
/* Must it stay where it is, even if nothing reads its results? What a function does is not looked at. */
bool tn_has_effect(const tn_node *n);
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
 * made before n (op/qnn/form.c); absent: there is none. */
TN_WARN_UNUSED tn_status tn_integer_form(tn_graph *g, tn_node *n, tn_value *out);
/* What the record says, or, where it says nothing (AUTO), what follows from its flags and the nodes of its formula. */
enum tn_precision tn_precision_of(tn_graph *g, const tn_node *n);
/* An expression of extents, simplified with what is known of the module's symbols. */
const tn_expr *tn_simplify_extent(tn_graph *g, const tn_expr *e);
/* The extent of two that are broadcast in region r; NULL if they do not fit. */
const tn_expr *tn_broadcast_extent(tn_graph *g, tn_region *r, const tn_loc *loc, const tn_expr *a,
                                   const tn_expr *b);
/* Infers broadcasting of two shapes (numpy rules; the run checks symbolic extents, which may turn out to be 1). */
TN_WARN_UNUSED tn_status tn_infer_broadcast(tn_graph *g, const tn_node *n, const tn_type *a, const tn_type *b,
                                            tn_dtype t, const tn_type **out);

#endif
