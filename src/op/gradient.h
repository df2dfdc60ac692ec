#ifndef TN_OP_GRADIENT_H
#define TN_OP_GRADIENT_H
/* Gradients: what a pass or a frontend asks for, and what the rules of operators are written with. */
#include "op/op.h"

/* The gradients of the sum of y's elements with respect to each x, as new nodes at the end of region r, where all of
 * them are: out[i] has the type of x[i], and is 0 where y does not depend on it. Each x is taken to be independent of
 * the others. op-E065: an operator on the way has no gradient; op-E066: y or an x is not a tensor of floats. */
TN_WARN_UNUSED tn_status tn_gradient_of(tn_graph *g, tn_region *r, tn_value y, int n, const tn_value x[],
                                        tn_value out[]);

/* ---- for rules: absent operands give an absent value, and q->failed ---- */
tn_value tn_gradient_call(tn_gradient *q, const tn_op *op, const void *attr, int n, const tn_value in[]);
tn_value tn_gradient_call1(tn_gradient *q, const tn_op *op, const void *attr, tn_value a);
tn_value tn_gradient_call2(tn_gradient *q, const tn_op *op, const void *attr, tn_value a, tn_value b);
/* A tensor whose elements are all v. */
tn_value tn_gradient_filled(tn_gradient *q, const tn_type *t, double v);
/* v in the shape of t, which has as many elements. */
tn_value tn_gradient_reshaped(tn_gradient *q, tn_value v, const tn_type *t);
/* The sum over what broadcasting has repeated of a tensor of type t, which has become v's shape. */
tn_value tn_gradient_gathered(tn_gradient *q, tn_value v, const tn_type *t);
/* The rule of a function of single elements: e over variables 0, 1, 2, the operands' elements (derivative.c). */
TN_WARN_UNUSED tn_status tn_gradient_of_elements(tn_gradient *q, const tn_expr *e);
/* Reports op-E065, and why; TN_FAIL. */
tn_status tn_gradient_refuse(tn_gradient *q, const char *why);

/* ---- rules (tensor/gradient.c, nn/gradient.c); each serves the operators that its comment names ---- */
tn_status tn_gradient_shares(tn_gradient *q); /* reshape and its like */
tn_status tn_gradient_transpose(tn_gradient *q);
tn_status tn_gradient_broadcast(tn_gradient *q); /* broadcast_to */
tn_status tn_gradient_concatenate(tn_gradient *q);
tn_status tn_gradient_slice(tn_gradient *q); /* strided_slice */
tn_status tn_gradient_pad(tn_gradient *q);
tn_status tn_gradient_take(tn_gradient *q);
tn_status tn_gradient_cast(tn_gradient *q);
tn_status tn_gradient_bias(tn_gradient *q); /* nn.bias_add */
tn_status tn_gradient_sum(tn_gradient *q);
tn_status tn_gradient_mean(tn_gradient *q);
tn_status tn_gradient_extreme(tn_gradient *q); /* max, min */
tn_status tn_gradient_cumsum(tn_gradient *q);
tn_status tn_gradient_power(tn_gradient *q);
tn_status tn_gradient_dense(tn_gradient *q);
tn_status tn_gradient_batch_matmul(tn_gradient *q);
tn_status tn_gradient_softmax(tn_gradient *q); /* and log_softmax */
tn_status tn_gradient_conv2d(tn_gradient *q);
tn_status tn_gradient_global_average(tn_gradient *q); /* nn.global_avg_pool2d */

#endif
