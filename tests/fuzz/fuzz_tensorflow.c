/* TensorFlow: graphs, and what keeps variables beside it, which are not there (import.h). */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_import(tn_import_tensorflow, "/nowhere/fuzz.pb", data, n);
}
