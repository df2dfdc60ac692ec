#ifndef TN_FRONTEND_TFLITE_QUANT_H
#define TN_FRONTEND_TFLITE_QUANT_H
/* Integer arithmetic that gives the bits of TFLite's reference kernels. */
#include "frontend/tflite/tflite.h"

/* A real factor as multiplier * 2^(shift - 31). */
typedef struct tfl_factor {
    int32_t multiplier;
    int shift; /* above 0: to the left */
} tfl_factor;

tfl_factor tfl_factor_of(double real);
/* v (int32) times one factor, or one for each index of `axis`, rounded twice as most kernels do, or once. */
tn_value tfl_scaled(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis);
tn_value tfl_scaled_once(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis);
/* v (int64), whose kernels keep 15 bits of the factor and round once: int32. */
tn_value tfl_scaled_wide(imp_node *c, tn_value v, uint32_t n, const tfl_factor f[], int axis);
enum { TFL_RELU_0_TO_1 = 1000 }; /* beside the activation functions of the format, as no file has it */
/* v (int32) plus t's zero point, limited to t's type and to the range of an activation function, as t. */
tn_value tfl_narrow(imp_node *c, tn_value v, const tfl_tensor *t, int64_t function);
/* Operand i, 8 or 16 bits, less its zero point: int32. */
tn_value tfl_centered(imp_node *c, uint32_t i);
tn_value tfl_rounded(imp_node *c, tn_value v); /* real, to the nearest integer, ties away from 0 */
tn_value tfl_int(imp_node *c, int64_t v);      /* int32, rank 0 */
/* op of v and a number of its type. */
tn_value tfl_with(imp_node *c, const tn_op *op, tn_value v, double k);
/* Numbers of int32 along `axis` of data of `rank` dimensions; one: a scalar. */
tn_value tfl_vector(imp_node *c, uint32_t n, const int32_t v[], int axis, int rank);
/* The integers of at most 16 bits that f gives for those of operand 0, limited to the result's type, by a table. */
void tfl_by_table(imp_node *c, int64_t (*f)(imp_node *c, int64_t x));
float tfl_table_real(imp_node *c, int64_t x); /* what integer x of operand 0 stands for */
int64_t tfl_table_give(imp_node *c, float v); /* the integer of the result that stands for v */
typedef struct tfl_grid {                     /* real = scale * (integer - zero) */
    float scale;
    int64_t zero;
} tfl_grid;
/* f of integers in the range of int16 (of any integer type), by the reference kernels' lines between 513 points. */
tn_value tfl_by_curve(imp_node *c, tn_value v, tfl_grid x, tfl_grid y, float (*f)(imp_node *c, float x));
/* SOFTMAX of 16 bits, along the last axis, as int16 of 2^-15. */
tn_value tfl_softmax16(imp_node *c, double beta);

#endif
