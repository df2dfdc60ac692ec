/* Memory: calloc and aligned_alloc behind two names, so that one place knows about alignment and huge
 * pages. */
#include "runtime/mem.h"

#include "base/size.h"

#include <stdlib.h>
#include <sys/mman.h>

void *tnr_mem_new(size_t count, size_t size) { return calloc(count ? count : 1, size ? size : 1); }

void *tnr_mem_aligned(size_t n)
{
    size_t align = n >= TN_HUGE_FROM ? TN_HUGE_PAGE : TN_LINE, bytes;
    if (!tn_size_align(n ? n : 1, align, &bytes))
        return NULL;
    void *p = aligned_alloc(align, bytes);
#ifdef MADV_HUGEPAGE
    if (p && align == TN_HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* a hint: arenas and large values are walked end to end */
#endif
    return p;
}

void tnr_mem_free(void *p) { free(p); }
