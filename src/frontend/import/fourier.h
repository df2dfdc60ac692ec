#ifndef TN_FRONTEND_IMPORT_FOURIER_H
#define TN_FRONTEND_IMPORT_FOURIER_H
/* Discrete Fourier transforms of rows [rows, elements, 1 or 2]: real numbers, or the real and imaginary parts of
 * complex ones. The result is [rows, n, 2]; onesided: forward the first n / 2 + 1 frequencies, backward a real result
 * [rows, n, 1] of them. Backward the result is divided by n. */
#include "frontend/import/convert.h"

tn_value imp_fourier(imp_node *c, tn_value rows, int64_t n, bool inverse, bool onesided);
/* The same of the last dimension but one of x [..., elements, 1 or 2]. */
tn_value imp_fourier_last(imp_node *c, tn_value x, int64_t n, bool inverse, bool onesided);

/* Of a length that only the run knows, an extent and the same as a value (int64, rank 0): a product with the matrix of
 * roots, O(n^2) a row. The rows have as many elements as the transform takes. */
tn_value imp_fourier_any(imp_node *c, tn_value rows, const tn_expr *n, tn_value length, bool inverse,
                         bool onesided);

#endif
