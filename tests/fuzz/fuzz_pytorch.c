/* A PyTorch file: TorchScript, a program of torch.export, or weights, which one file in four is read as. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const tn_import_options weights = {.architecture = "mtcnn_pnet"};
    tn_file f = {data, n, 0};
    fuzz_model m;
    if (n % 4 != 2 && n && data[0] == 'P')
        return fuzz_import(tn_import_pytorch, "fuzz.pt", data, n);
    fuzz_begin(&m);
    fuzz_end(&m, tn_import_pytorch(&m.g, "fuzz.pt", &f, &weights), n);
    return 0;
}
