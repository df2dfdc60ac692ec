#ifndef TN_FRONTEND_MXNET_QUANT_H
#define TN_FRONTEND_MXNET_QUANT_H
/* Quantised tensors of MXNet (contrib.quantization), with the arithmetic of its CPU kernels.
 *
 * A tensor is three values: whole numbers, and the least and the largest real number of what they were made from, each
 * [1]. With r the larger magnitude of these, a number v stands for v / q * r, where q is 127.5 for int8 and 255.5 for
 * uint8. Products are summed in int32; one float32 factor and one rounding, to even, make 8-bit numbers of the sums.
 * Ranges of sums and _contrib_requantize count with 127 and 255, however. */
#include "frontend/mxnet/mxnet.h"

typedef struct mx_quantised {
    tn_value v, low, high;
} mx_quantised;

/* Operand `data`, whose range are operands `range` and the one after it. */
mx_quantised mx_quantised_in(imp_node *c, uint32_t data, uint32_t range);
void mx_quantised_out(imp_node *c, mx_quantised q); /* the three results; ranges where they are used */
bool mx_takes_bytes(imp_node *c, tn_value v);       /* false: v is not of 8 bits, reported */
tn_value mx_magnitude(imp_node *c, tn_value low, tn_value high); /* the larger one */
/* Numbers of type t for 1: q / magnitude, and 2^31 where that is 0. */
tn_value mx_steps(imp_node *c, tn_dtype t, tn_value magnitude);
tn_value mx_steps_of(imp_node *c, const mx_quantised *q);
tn_value mx_whole(imp_node *c, tn_value x, tn_dtype t); /* rounded to even, limited to t */
/* The attributes min_calib_range and max_calib_range, what the result holds; false: not given. */
bool mx_calibrated(imp_node *c, mx_quantised *out);
/* The range of int32 sums of products of these; is_unsigned: the second one counts with 255. */
void mx_range_of_sums(imp_node *c, const mx_quantised *a, const mx_quantised *b, bool is_unsigned,
                      mx_quantised *out);

/* ---- float32 arithmetic ---- */
static inline tn_value mx_times(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, &tn_op_multiply, a, b);
}
static inline tn_value mx_by(imp_node *c, tn_value a, tn_value b)
{
    return imp_binary(c, &tn_op_divide, a, b);
}
static inline tn_value mx_number_by(imp_node *c, double a, tn_value b)
{
    return mx_by(c, imp_const(c, TN_F32, a), b);
}
/* Whole numbers times a real factor. */
static inline tn_value mx_scaled(imp_node *c, tn_value v, tn_value factor)
{
    return mx_times(c, imp_cast(c, v, TN_F32), factor);
}

#endif
