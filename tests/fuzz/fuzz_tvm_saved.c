/* Modules that TVM saved as JSON, and metadata of Relay texts (import.h). */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_import(tn_import_relay, "fuzz.json", data, n);
}
