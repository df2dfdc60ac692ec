#ifndef TN_FRONTEND_IMPORT_MATRIX_H
#define TN_FRONTEND_IMPORT_MATRIX_H
/* Products of matrices, of any format. */
#include "frontend/import/convert.h"

typedef struct imp_zeros { /* zero points of quantised operands */
    tn_value a, b;
} imp_zeros;

bool imp_is_constant(tn_value v);
tn_value imp_transposed(imp_node *c, tn_value v); /* a matrix turned */
/* The last two dimensions change places, if `is` and if there are two. */
tn_value imp_transposed_if(imp_node *c, tn_value v, bool is);
/* x times the transpose of a weight [units, in]; z: NULL, or of quantised operands, the int32 sums. */
tn_value imp_dense(imp_node *c, tn_value x, tn_value weight, const imp_zeros *z);
/* a b by NumPy's rules: leading dimensions broadcast, a vector is a row on the left and a column on the right; z: of
 * quantised operands with these zero points, the int32 sums. */
tn_value imp_matmul(imp_node *c, tn_value a, tn_value b, const imp_zeros *z);

/* Diagonals of the last two dimensions; number k lies k above the main one, or -k below it. */
tn_value imp_diagonal(imp_node *c, tn_value x, int64_t k);
/* A matrix of these extents with d on diagonal k, `rest` elsewhere. An extent that is NULL: as small as can be; both:
 * it is square. */
tn_value imp_diagonal_matrix(imp_node *c, tn_value d, int64_t k, const tn_expr *rows, const tn_expr *columns,
                             tn_value rest);
tn_value imp_with_diagonal(imp_node *c, tn_value x, tn_value d, int64_t k); /* x with d on its diagonal k */

#endif
