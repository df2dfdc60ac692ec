/* Heap sort of indices by name. */
#include "runtime/sort.h"

#include <string.h>

static void sift(const char *const *name, uint32_t *order, uint64_t root, uint64_t n)
{
    for (;;) {
        uint64_t child = 2 * root + 1;
        if (child >= n)
            return;
        if (child + 1 < n && strcmp(name[order[child]], name[order[child + 1]]) < 0)
            child++;
        if (strcmp(name[order[root]], name[order[child]]) >= 0)
            return;
        uint32_t t = order[root];
        order[root] = order[child];
        order[child] = t;
        root = child;
    }
}

void tnr_sort_names(const char *const *name, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n / 2; i-- > 0;)
        sift(name, order, i, n);
    for (uint32_t end = n; end-- > 1;) {
        uint32_t t = order[0];
        order[0] = order[end];
        order[end] = t;
        sift(name, order, 0, end);
    }
}
