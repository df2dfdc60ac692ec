/* mod.params: any bytes. What is accepted can be read whole, is found by name, and starts at multiples of 64. */
#include "tenon/runtime.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static uint64_t touched;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tnr_params *p;
    tnr_error err = {0};
    if (tnr_params_open(data, n, &p, &err)) {
        require(err.code != 0 && err.message[0] && err.position <= n);
        return 0;
    }
    for (uint32_t i = 0; i < tnr_params_count(p); i++) {
        const char *name;
        DLTensor t, same;
        uint64_t bytes = 0;
        require(tnr_params_at(p, i, &name, &t, NULL) == TNR_OK);
        require(tnr_params_find(p, name, &same, NULL) == TNR_OK && same.data == t.data);
        require(tnr_tensor_bytes(t.dtype, t.ndim, t.shape, &bytes, NULL) == TNR_OK);
        require(bytes == 0 || (uintptr_t)t.data % 64 == 0);
        for (uint64_t k = 0; k < bytes; k++)
            touched += ((const uint8_t *)t.data)[k]; /* the sanitizer checks where it lies */
    }
    tnr_params_free(p);
    return 0;
}
