#ifndef TN_IR_EVAL_H
#define TN_IR_EVAL_H
/* The meaning of each scalar operation, in one place: constant folding and all interpreters call it.
 * A value holds one lane: ints sign- or zero-extended to 64 bits after wrapping to dtype, floats as the double that
 * equals the value of dtype (every operation rounds to dtype; float32 and float64 are computed in their own type). */
#include "ir/expr.h"

#include <math.h>

typedef union tn_scalar {
    int64_t i;
    double f;
} tn_scalar;

/* Computes kind k (not LOAD, VAR, SYM, RAMP, SPLAT, SELECT) of dtype t over n operands of dtype in_t.
 * false: undefined here (division by zero, shift out of range, index overflow); *out untouched. */
bool tn_eval_op(enum tn_ek k, tn_dtype t, tn_payload u, tn_dtype in_t, int n, const tn_scalar in[],
                tn_scalar *out);
tn_scalar tn_eval_cast(tn_dtype from, tn_dtype to, tn_scalar v);
/* Memory form of one element, little endian: 1, 2, 4 or 8 bytes. */
tn_scalar tn_scalar_read(tn_dtype t, const void *p);
void tn_scalar_write(tn_dtype t, void *p, tn_scalar v);
/* Magnitudes of finite values: the largest, and the smallest that is not 0. */
typedef struct tn_magnitude {
    double most, least;
} tn_magnitude;
#define TN_MAGNITUDE ((tn_magnitude){0, INFINITY})
void tn_magnitude_add(tn_magnitude *m, tn_dtype t, const void *at, int64_t n); /* n values of float type t */
float tn_half_to_float(uint16_t h);
uint16_t tn_float_to_half(float f); /* to nearest even */

#endif
