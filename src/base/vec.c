/* Vector growth: capacity doubles, so n pushes cost O(n). */
#include "base/vec.h"

#include "base/guard.h"
#include "base/size.h"

void *tn_vec_grow(void *at, size_t n, size_t more, size_t *cap, size_t size)
{
    size_t need, bytes = SIZE_MAX;
    bool fits = tn_size_add(n, more, &need);
    size_t want = *cap > SIZE_MAX / 2 ? SIZE_MAX : *cap * 2;
    want = want < 8 ? 8 : want;
    if (fits && want < need)
        want = need;
    if (!fits || !tn_size_mul(want, size, &bytes))
        tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = bytes});
    void *p = tn_realloc(at, bytes);
    *cap = want;
    return p;
}

void tn_vec_free(void *at) { tn_free(at); }
