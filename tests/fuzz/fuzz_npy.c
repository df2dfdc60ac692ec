/* .npy headers: any bytes. What is accepted lies inside the bytes, has extents that fit, and survives being written
 * and read back. */
#include "base/wire/npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void round_trip(const tn_npy *a)
{
    char bytes[1024], text[128];
    const char *why;
    tn_npy back;
    size_t n = tn_npy_print(a, bytes);
    require(n <= sizeof bytes && tn_npy_parse(bytes, n, &back, text, &why) == 0);
    require(back.header_bytes == n && back.data_bytes == a->data_bytes && back.ndim == a->ndim);
    require(back.code == a->code && back.bits == a->bits);
    require(memcmp(back.shape, a->shape, sizeof *a->shape * (size_t)a->ndim) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[128];
    const char *why = NULL;
    tn_npy a;
    if (tn_npy_parse(data, n, &a, text, &why)) {
        require(why && *why && strlen(why) < 128);
        return 0;
    }
    require(a.header_bytes <= n && a.header_bytes <= TN_NPY_HEADER_MAX && a.ndim >= 0 &&
            a.ndim <= TN_NPY_DIMS);
    size_t bytes = tn_npy_element_bytes(&a);
    for (int d = 0; d < a.ndim; d++) {
        require(a.shape[d] >= 0);
        bytes *= (size_t)a.shape[d];
    }
    require(bytes == a.data_bytes);
    round_trip(&a);
    return 0;
}
