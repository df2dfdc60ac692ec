#ifndef TNR_CPUS_H
#define TNR_CPUS_H
/* How many cores this process may use. */
#include <stdbool.h>
#include <stdint.h>

/* Cores in the affinity mask, one per physical core; at least 1. */
int32_t tnr_cpus_affinity(void);

/* First number of TVM_NUM_THREADS, else of OMP_NUM_THREADS; 0 where neither holds one in [1, 65535]. */
int32_t tnr_cpus_environment(void);

#endif
