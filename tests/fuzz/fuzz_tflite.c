/* TFLite (import.h). */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_import(tn_import_tflite, "fuzz.tflite", data, n);
}
