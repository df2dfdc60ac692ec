#ifndef TN_FRONTEND_IMPORT_COMPLEX_H
#define TN_FRONTEND_IMPORT_COMPLEX_H
/* Complex numbers in models of any format. A value of them is a tensor of dtype complex64 or complex128, which enters,
 * leaves, passes branches, loops and sequences as every other. A Relay call over such values is made of calls over
 * their parts (imp_call), so converters that move elements, add or multiply them need not know. */
#include "frontend/import/convert.h"

bool imp_is_complex(tn_value v);
tn_value imp_complex(imp_node *c, tn_value re,
                     tn_value im); /* of two tensors of float32 or float64 of one shape */
/* The real (0) or imaginary (1) part of complex numbers; of others, which have none, they themselves and zeros. */
tn_value imp_part(imp_node *c, tn_value v, int part);
tn_value imp_parts(imp_node *c, tn_value v); /* both, in a last dimension */
tn_value imp_conjugate(imp_node *c, tn_value v);
tn_value imp_squares(imp_node *c, tn_value v); /* of magnitudes */

/* ---- what call.c leaves to complex.c ---- */
tn_value imp_complex_const(imp_node *c, tn_dtype t, double v);
/* From or to complex numbers; those as bools: are they not 0? As real numbers they are refused. */
tn_value imp_complex_cast(imp_node *c, tn_value v, tn_dtype t);
/* The call of op where one of n operands is of complex numbers; reported where it is not supported. */
tn_value imp_call_complex(imp_node *c, const tn_op *op, const void *attr, int n, const tn_value in[]);

#endif
