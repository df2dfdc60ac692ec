/* Caffe2: the net that fills weights and the one that predicts, in one file (import.h). */
#include "frontend/caffe2/caffe2.h"

#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char info[] = "{\"x\": [1, [1, 2, 3, 3]]}";
    tn_file f = {data, n, 0};
    size_t k = n ? data[0] % n : 0; /* where the second begins */
    fuzz_model m;
    fuzz_begin(&m);
    tn_bytes net = {data + (n > 0), n ? n - 1 : 0}, init = {data + k, n - k};
    fuzz_end(&m,
             c2_import_nets(&m.g, "fuzz_predict_net.pb", &f, net, init,
                            (tn_bytes){(const uint8_t *)info, sizeof info - 1}, NULL),
             n);
    return 0;
}
