/* Darknet: a configuration and, behind a zero byte, its weights (import.h). */
#include "frontend/darknet/darknet.h"

#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_pair p = fuzz_split(data, n);
    tn_file f = {data, n, 0};
    fuzz_model m;
    fuzz_begin(&m);
    fuzz_end(&m, dk_import_pair(&m.g, "fuzz.cfg", &f, p.first, p.second), n);
    return 0;
}
