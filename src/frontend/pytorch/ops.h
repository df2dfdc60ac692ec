#ifndef TN_FRONTEND_PYTORCH_OPS_H
#define TN_FRONTEND_PYTORCH_OPS_H
/* What converters of several families share. */
#include "frontend/pytorch/pytorch.h"

#include "op/core/core.h"
#include "op/nn/nn.h"

#include <string.h>

/* Sums of bools are "or", products "and", the larger of two "or". */
static inline bool pt_is_bool(tn_value v) { return tn_dtype_is_bool(imp_type(v)->dtype); }
static inline tn_value pt_max(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, pt_is_bool(a) ? &tn_op_logical_or : &tn_op_maximum, a, b);
}
static inline tn_value pt_min(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, pt_is_bool(a) ? &tn_op_logical_and : &tn_op_minimum, a, b);
}
static inline tn_value pt_add(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, pt_is_bool(a) ? &tn_op_logical_or : &tn_op_add, a, b);
}
static inline tn_value pt_sub(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, &tn_op_subtract, a, b);
}
static inline tn_value pt_mul(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, pt_is_bool(a) ? &tn_op_logical_and : &tn_op_multiply, a, b);
}
static inline tn_value pt_div(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, &tn_op_divide, a, b);
}
/* A number of the type of x. */
tn_value pt_num(imp_node *c, tn_value x, double v);
/* Operands i and j in the type that they compute in (ops_math.c). */
void pt_pair(imp_node *c, int i, int j, tn_value out[2]);
tn_value pt_float_in(imp_node *c, int i); /* as floats: float32 where they are integers */
/* Sums and functions of 16-bit floats are computed in 32 bits. */
static inline tn_value pt_wide(imp_node *c, tn_value x)
{
    return imp_cast(c, x, imp_sum_dtype(imp_type(x)->dtype));
}
static inline bool pt_starts(imp_node *c, const char *name) /* does the row's name begin so? */
{
    return strncmp(pt_of(c)->row->schema, name, strlen(name)) == 0;
}
tn_value pt_log1p(imp_node *c, tn_value x);
tn_value pt_expand(imp_node *c, tn_value v, tn_dims shape);
tn_value pt_full(imp_node *c, tn_dims shape, tn_value v);
tn_dims pt_shape(imp_node *c, tn_value v);
/* Axes as PyTorch gives them: None or an empty list: all. */
tn_ints pt_axes(imp_node *c, int i, int rank);
tn_value pt_sum(imp_node *c, const tn_op *op, tn_value v, tn_ints axes, bool keep);
tn_value pt_norm(imp_node *c, tn_value x, double p, tn_ints axes, bool keep);
tn_value pt_softmax_of(imp_node *c, const tn_op *op, tn_value x, int axis);
tn_value pt_gather(imp_node *c, tn_value x, tn_value at, int axis);
tn_value pt_linear(imp_node *c, tn_value x, tn_value w, tn_value b);
tn_value pt_matmul(imp_node *c, tn_value a, tn_value b);
tn_value pt_positions(imp_node *c, tn_value at); /* which must be integers */
/* Positions below 0 count from the end of that extent. */
tn_value pt_from_end(imp_node *c, tn_value at, const tn_expr *extent);
tn_value pt_permute(imp_node *c, tn_value v, int n, const int64_t axis[]);
tn_value pt_swap(imp_node *c, tn_value v, int a, int b);
tn_value pt_select(imp_node *c, tn_value v, int axis, int64_t at);
tn_value pt_broadcast_rank(imp_node *c, tn_value v, int rank); /* ones in front */
void pt_nonzero(imp_node *c); /* nonzero, argwhere; nonzero_numpy and where of a condition give a list */
/* loss after its reduction: 0 none, 1 mean, 2 sum */
tn_value pt_reduction(imp_node *c, tn_value v, int64_t how);

#endif
