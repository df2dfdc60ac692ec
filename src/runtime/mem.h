#ifndef TNR_MEM_H
#define TNR_MEM_H
/* All memory of the runtime comes from here; NULL means it failed, and every caller turns that into a
 * status. */
#include <stddef.h>

/* count * size zeroed bytes (at least one), or NULL if that overflows or fails. */
void *tnr_mem_new(size_t count, size_t size);

/* n bytes (at least 64), 64-byte aligned, contents unspecified; big blocks ask for huge pages. */
void *tnr_mem_aligned(size_t n);

void tnr_mem_free(void *p);

#endif
