/* Vector growth: capacity doubles, so n pushes cost O(n). */
#include "base/vec.h"

#include "base/size.h"

#include <stdio.h>
#include <stdlib.h>

void *tn_vec_grow(void *at, size_t n, size_t more, size_t *cap, size_t size)
{
    size_t need, bytes;
    bool fits = tn_size_add(n, more, &need);
    size_t want = *cap > SIZE_MAX / 2 ? SIZE_MAX : *cap * 2;
    want = want < 8 ? 8 : want;
    if (fits && want < need)
        want = need;
    void *p = fits && tn_size_mul(want, size, &bytes) ? realloc(at, bytes) : NULL;
    if (!p) {
        fprintf(stderr, "tenon: out of memory (a vector of %zu + %zu elements of %zu bytes)\n", n, more,
                size);
        exit(4);
    }
    *cap = want;
    return p;
}

void tn_vec_free(void *at) { free(at); }
