/* PyTorch (import.h). Seeds are archives of stored entries, so that mutations reach the pickle and the code. */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_import(tn_import_pytorch, "fuzz.pt", data, n);
}
