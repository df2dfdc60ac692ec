#ifndef TNR_CPUS_H
#define TNR_CPUS_H
/* How many cores this process may use. */
#include <stdbool.h>
#include <stdint.h>

/* Cores in the affinity mask, one per physical core; at least 1. */
int32_t tnr_cpus_affinity(void);

/* CPU time the control group grants, in thousandths of a core; 0: no limit. Reads root/proc/self/cgroup and
 * root/sys/fs/cgroup ("" outside tests); versions 1 and 2, the smallest limit on the way to the root counts. */
int64_t tnr_cpus_quota(const char *root);

/* First number of TVM_NUM_THREADS, else of OMP_NUM_THREADS; 0 where neither holds one in [1, 65535]. */
int32_t tnr_cpus_environment(void);

#endif
