/* Cores and environment: read once, when the pool needs its number of threads. Quotas: base/cpu_count.c. */
#include "runtime/cpus.h"

#include "base/thread.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a hardware thread with a smaller number, on the same core as cpu, is in the mask too ("0,64",
 * "0-1"). */
static bool core_counted(int cpu, const cpu_set_t *mask)
{
    char path[96], list[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!tn_cpu_text(path, list, sizeof list))
        return false;
    for (char *at = list; *at >= '0' && *at <= '9';) {
        long first = strtol(at, &at, 10), last = first;
        if (*at == '-')
            last = strtol(at + 1, &at, 10);
        for (long c = first; c <= last && c < cpu; c++)
            if (c < CPU_SETSIZE && CPU_ISSET((size_t)c, mask))
                return true;
        if (*at == ',')
            at++;
    }
    return false;
}

int32_t tnr_cpus_affinity(void)
{
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) { /* more processors than the mask has bits */
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n > 0 && n <= INT32_MAX ? (int32_t)n : 1;
    }
    int32_t cores = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &mask) && !core_counted(cpu, &mask))
            cores++;
    return cores > 0 ? cores : 1;
}

int32_t tnr_cpus_environment(void)
{
    static const char name[][16] = {"TVM_NUM_THREADS", "OMP_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(name[i]);
        char *end;
        long n = text ? strtol(text, &end, 10) : 0;
        if (text && end != text && (*end == '\0' || *end == ',') && n >= 1 && n <= 65535)
            return (int32_t)n;
    }
    return 0;
}
