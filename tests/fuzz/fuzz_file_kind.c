/* Kinds of files: any bytes under names with each ending. What is known has words for people. */
#include "frontend/file_kind.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const path[] = {"m", "m.onnx", "m.pb", "m.relay", "net-symbol.json"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        const tn_file_kind *k = tn_file_kind_of(path[i], data, n);
        if (k && (!*k->what || (k->role != TN_FILE_KIND_MODEL && !*k->advice)))
            abort();
    }
    return 0;
}
