#ifndef TNR_SORT_H
#define TNR_SORT_H
/* Order of names, without allocation (qsort may allocate) and without a bad case (heap sort, O(n log n)). */
#include <stdint.h>

/* order[0..n) becomes the indices of name[] in strcmp order. */
void tnr_sort_names(const char *const *name, uint32_t *order, uint32_t n);

#endif
