#ifndef TN_OP_QNN_H
#define TN_OP_QNN_H
/* Shared by the record files of quantised operators: building their expansions, and scales and zero points.
 *
 * A quantised tensor x stands for scale * (x - zero_point). Scale and zero point are operands: scalars, vectors along
 * one axis, or tensors of the data's rank that broadcast to it. Builders give an absent value after a failed call, and
 * take absent values. */
#include "op/rule.h"

/* A call before n with n's location. */
tn_value qnn_call(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int nin, const tn_value in[]);
/* An equal call that was made before, if one stands before n; else a new one. */
tn_value qnn_call_once(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, int nin,
                       const tn_value in[]);
static inline tn_value qnn_call1(tn_graph *g, tn_node *n, const tn_op *op, const void *attr, tn_value a)
{
    return qnn_call(g, n, op, attr, 1, &a);
}
static inline tn_value qnn_call2(tn_graph *g, tn_node *n, const tn_op *op, tn_value a, tn_value b)
{
    return qnn_call(g, n, op, NULL, 2, (const tn_value[]){a, b});
}
tn_value qnn_cast(tn_graph *g, tn_node *n, tn_value v, tn_dtype t);
/* v, a scalar or a vector along `axis` of data of `rank` dimensions, so that it broadcasts. */
tn_value qnn_spread(tn_graph *g, tn_node *n, tn_value v, int64_t axis, int rank);

/* A constant all of whose elements are 0. */
bool qnn_is_zero(tn_value v);
/* Least and largest element of an integer constant, also behind operators that only move data. */
bool qnn_range(tn_value v, int64_t *out_min, int64_t *out_max);

/* Alternative of nn.conv2d and nn.dense where products of uint8 data are faster: int8 data is shifted by 128. */
bool qnn_shifts(const tn_node *n, const struct tn_machine *m);
tn_status qnn_conv2d_shifted(tn_graph *g, tn_node *n, tn_value out[]);
tn_status qnn_dense_shifted(tn_graph *g, tn_node *n, tn_value out[]);

/* Operands i (scales) and i + 1 (zero point), for data with the dims of t. */
TN_WARN_UNUSED tn_status qnn_check_pair(tn_graph *g, const tn_node *n, int i, const tn_type *t, int64_t axis);
TN_WARN_UNUSED tn_status qnn_check_scale(tn_graph *g, const tn_node *n, int i, const tn_type *t,
                                         int64_t axis);
TN_WARN_UNUSED tn_status qnn_check_zero(tn_graph *g, const tn_node *n, int i, const tn_type *t, int64_t axis);
/* Operand i holds quantised numbers: integers of 16 bits or less (`wide`: or int32). */
TN_WARN_UNUSED tn_status qnn_check_data(tn_graph *g, const tn_node *n, int i, bool wide);
/* out_dtype: an integer dtype of quantised numbers. */
TN_WARN_UNUSED tn_status qnn_check_out(tn_graph *g, const tn_node *n, tn_dtype t);

#endif
