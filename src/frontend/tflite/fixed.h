#ifndef TN_FRONTEND_TFLITE_FIXED_H
#define TN_FRONTEND_TFLITE_FIXED_H
/* Functions of 16-bit fixed-point numbers, with the bits of gemmlowp's: what integer recurrent layers compute. */
#include "frontend/tflite/quant.h"

int16_t tfl_logistic16(int16_t x, int integer_bits); /* of x * 2^(integer_bits - 15), times 2^15; bits 3 */
int16_t tfl_tanh16(int16_t x, int integer_bits);     /* bits: at most 6 */

/* LOGISTIC and TANH of 16 bits: x, of operand 0, by interpolation as their reference kernels do. */
int64_t tfl_logistic_of(imp_node *c, int64_t x);
int64_t tfl_tanh_of(imp_node *c, int64_t x);

/* f of integers in the range of int16 (of any integer type), by a table: int32. */
tn_value tfl_apply16(imp_node *c, tn_value v, int16_t (*f)(int16_t x, int integer_bits), int integer_bits);

#endif
