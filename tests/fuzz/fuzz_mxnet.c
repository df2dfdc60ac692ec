/* MXNet: a symbol and, behind a zero byte, its parameters (import.h). */
#include "frontend/mxnet/mxnet.h"

#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_pair p = fuzz_split(data, n);
    mx_pair pair = {p.first, p.second, "fuzz-symbol.json", "fuzz-0000.params"};
    tn_file f = {data, n, 0};
    fuzz_model m;
    fuzz_begin(&m);
    fuzz_end(&m, mx_import_pair(&m.g, "fuzz-symbol.json", &f, &pair), n);
    return 0;
}
