#ifndef TN_MACHINE_MEASURE_H
#define TN_MACHINE_MEASURE_H
/* Clock and arithmetic rates of this machine, measured in a few milliseconds and kept for later processes. For the
 * numbers that neither cpuid nor sysfs tell; no schedule depends on them, since no two measurements are equal. */
#include <stdbool.h>

typedef struct tn_rates {
    double clock_ghz; /* of one busy core */
    double fma_gflops, dot_gops,
        bf16_gflops; /* 10^9 operations/s of one core, multiply-add: two; 0: not measured */
} tn_rates;

/* False on architectures without kernels to measure, and where the results make no sense. 3 ms. */
bool tn_rates_measure(tn_rates *out);
/* The same from the cache folder if this machine was measured before. A damaged entry counts as none. */
bool tn_rates_get(tn_rates *out);

#endif
