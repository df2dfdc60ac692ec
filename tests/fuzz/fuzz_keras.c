/* Keras (import.h). Files beside the model are not looked for in a folder that does not exist. */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_import(tn_import_keras, "/nowhere/fuzz.keras", data, n);
}
