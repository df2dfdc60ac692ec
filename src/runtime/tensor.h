#ifndef TNR_TENSOR_H
#define TNR_TENSOR_H
/* What the runtime asks of a tensor that comes from outside: type names, byte counts, denseness. */
#include "tenon/runtime.h"

#include <stdbool.h>

enum { TNR_SHAPE_TEXT = 96 }; /* room for a printed shape in a message */

/* Equal types; bool is the same whether written (bool, 8) or (uint, 1). */
bool tnr_dtype_same(DLDataType a, DLDataType b);

/* "float32" and the like, n bytes, not NUL-terminated. false: not a type of one lane the runtime knows. */
bool tnr_dtype_parse(const char *text, size_t n, DLDataType *out_dtype);

/* "[n, 3, ?]" into text: names where symbol (may be NULL) has one, else numbers. Cut with "..." if too
 * long. */
const char *tnr_shape_print(int32_t ndim, const int64_t *shape, const char *const *symbol,
                            char text[TNR_SHAPE_TEXT]);

/* First element of a dense CPU tensor, aligned to its element size; `what` ("input") and name go into the
 * message. Checks device, lanes, strides, data and alignment, not dtype and shape. */
TNR_CHECKED tnr_status tnr_tensor_data(const DLTensor *t, const char *what, const char *name, void **out_data,
                                       uint64_t *out_bytes, tnr_error *err);

#endif
