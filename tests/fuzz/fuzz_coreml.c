/* Core ML: networks and ML programs (import.h). */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_import(tn_import_coreml, "fuzz.mlmodel", data, n);
}
