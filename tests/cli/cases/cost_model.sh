# tune --cost-model: XGBoost where its library is, and what is said where it is not, or fails.
digit=$here/../../examples/models/mnist_cntk.onnx
expect 2 "" tune "$digit" -o found --cost-model mlp
given=${TENON_XGBOOST:-}
export TENON_XGBOOST=/absent/libxgboost.so
expect 4 "the library of XGBoost cannot be opened: /absent/libxgboost.so" tune "$digit" -o found --cost-model xgboost
expect 4 "install XGBoost (Debian: libxgboost0), or set TENON_XGBOOST to the path of its libxgboost.so [driver-E206]" tune "$digit" -o found --cost-model xgboost
must "nothing was searched before" test ! -e found
TENON_XGBOOST=$bin/../lib/libtenon_runtime.so
expect 4 "not one of version 1.0 or later: it has no " tune "$digit" -o found --cost-model xgboost
expect 0 "8 trials" tune "$digit" -o found --tasks dense --trials 8 --cost-model trees
rm -f found

# a library that fails at its third round: the search ends with what it has found, and says why
cat >fails.c <<'EOS'
#include <stdint.h>
typedef void *handle;
static int round_;
void XGBoostVersion(int *a, int *b, int *c) { *a = 9, *b = *c = 0; }
const char *XGBGetLastError(void) { return "no more of this\nStack trace:\n  0x0"; }
int XGDMatrixCreateFromMat_omp(const float *x, uint64_t n, uint64_t m, float f, handle *out, int t) { return *out = &round_, 0; }
int XGDMatrixSetFloatInfo(handle m, const char *field, const float *at, uint64_t n) { return 0; }
int XGDMatrixSetUIntInfo(handle m, const char *field, const unsigned *at, uint64_t n) { return 0; }
int XGDMatrixFree(handle m) { return 0; }
int XGBoosterCreate(const handle m[], uint64_t n, handle *out) { return *out = &round_, 0; }
int XGBoosterSetParam(handle b, const char *name, const char *value) { return 0; }
int XGBoosterUpdateOneIter(handle b, int round, handle m) { return ++round_ < 3 ? 0 : -1; }
int XGBoosterPredict(handle b, handle m, int w, unsigned t, int r, uint64_t *n, const float **out) { return -1; }
int XGBoosterFree(handle b) { return 0; }
EOS
must "a library that fails" ${compilers##* } -w -shared -fPIC fails.c -o fails.so
TENON_XGBOOST=$work/fails.so
expect 4 "the cost model xgboost ended the search: XGBoost fails: no more of this; what was found is recorded, and another cost model goes on [driver-E207]" tune "$digit" -o found --tasks conv --trials 80 --min-repeat-ms 1 --cost-model xgboost
must "a file of records, whatever was found" test -f found

TENON_XGBOOST=$given
if python3 -c 'import ctypes, os; ctypes.CDLL(os.environ.get("TENON_XGBOOST") or "libxgboost.so.0")' 2>/dev/null; then
    for tuner in xgb xgb_rank xgb_knob xgb_rank_curve xgb_rank_binary; do
        expect 0 "40 trials" tune "$digit" -o found --tasks conv --trials 40 --min-repeat-ms 1 --cost-model xgboost --tuner $tuner
    done
fi
