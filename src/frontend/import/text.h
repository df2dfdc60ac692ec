#ifndef TN_FRONTEND_IMPORT_TEXT_H
#define TN_FRONTEND_IMPORT_TEXT_H
/* Tensors of texts, of any format, and tables from keys to values. Host functions read texts in the run (op/host). */
#include "frontend/import/convert.h"

bool imp_is_text(tn_value v); /* a tensor of texts */
/* n texts as a constant of these dimensions. */
tn_node *imp_texts(imp_model *im, size_t n_dim, const int64_t dim[], size_t n, const tn_bytes text[],
                   const tn_loc *loc);
tn_value imp_text_list(imp_node *c, size_t n, const tn_bytes text[]); /* absent if the converter failed */
tn_value imp_const_text(imp_node *c, const char *text);               /* rank 0 */

tn_value imp_text_numbers(imp_node *c, tn_value v, int64_t k);     /* of operand k of string.take */
tn_value imp_take_texts(imp_node *c, tn_value texts, tn_value at); /* elements of a list; at: int64 */
/* For a call that only moves elements of n operands of one type: out are its operands, in the place of texts their
 * numbers; then `at` is its result, for which the texts are read. */
void imp_movable(imp_node *c, int n, const tn_value v[], tn_value out[]);
tn_value imp_moved(imp_node *c, int n, const tn_value v[], tn_value at);
/* Calls the row's converter, which only moves elements, with numbers of elements in the place of texts; of its results
 * the first `results` are texts again (below 0: all). zero: what 0 stands for then; absent: the first element. */
void imp_move_texts(imp_node *c, int results, tn_value zero);

/* ---- tables ---- */
/* 1 + where the elements of x stand among n keys (the last of equal keys), 0 for those that do not: int64. */
tn_value imp_find_number(imp_node *c, tn_value x, tn_value keys, int64_t n, bool nan_is_nan);
tn_value imp_find_text(imp_node *c, tn_value x, tn_value keys, int64_t n);
/* values[at - 1], or rest, of one element, where `at` is 0. */
tn_value imp_looked_up(imp_node *c, tn_value rest, tn_value values, tn_value at);

#endif
