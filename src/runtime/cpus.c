/* Cores, quotas and environment: read once, when the pool needs its number of threads. */
#include "runtime/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A small text file, NUL-terminated; false if it cannot be read. */
static bool read_text(const char *path, char *text, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t have = 0;
    for (;;) {
        ssize_t got = read(fd, text + have, n - 1 - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += (size_t)got;
    }
    close(fd);
    text[have] = '\0';
    return true;
}

/* Whether a hardware thread with a smaller number, on the same core as cpu, is in the mask too ("0,64", "0-1"). */
static bool core_counted(int cpu, const cpu_set_t *mask)
{
    char path[96], list[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!read_text(path, list, sizeof list)) return false;
    for (char *at = list; *at >= '0' && *at <= '9';) {
        long first = strtol(at, &at, 10), last = first;
        if (*at == '-') last = strtol(at + 1, &at, 10);
        for (long c = first; c <= last && c < cpu; c++)
            if (c < CPU_SETSIZE && CPU_ISSET((size_t)c, mask)) return true;
        if (*at == ',') at++;
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
        if (CPU_ISSET((size_t)cpu, &mask) && !core_counted(cpu, &mask)) cores++;
    return cores > 0 ? cores : 1;
}

/* Thousandths of a core from a limit file: "max 100000" or "50000 100000" (v2), or the two files of v1. 0: none. */
static int64_t limit_at(const char *dir, bool v2)
{
    char path[640], text[64];
    int64_t quota = -1, period = 0;
    snprintf(path, sizeof path, "%s/%s", dir, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    if (!read_text(path, text, sizeof text)) return 0;
    if (v2) {
        if (sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) != 2) return 0;
    } else {
        if (sscanf(text, "%" SCNd64, &quota) != 1) return 0;
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
        if (!read_text(path, text, sizeof text) || sscanf(text, "%" SCNd64, &period) != 1) return 0;
    }
    if (quota <= 0 || period <= 0 || quota > INT64_MAX / 1000) return 0;
    int64_t milli = quota * 1000 / period;
    return milli > 0 ? milli : 1;
}

/* The smallest limit from the group at `path` up to the mount point. */
static int64_t limit_up(const char *mount, const char *path, bool v2)
{
    char dir[560];
    int n = snprintf(dir, sizeof dir, "%s%s", mount, path);
    if (n < 0 || n >= (int)sizeof dir) n = snprintf(dir, sizeof dir, "%s", mount);
    int64_t least = 0;
    for (size_t at = (size_t)n, root = strlen(mount);; at--) {
        if (at > root && dir[at] != '/' && dir[at] != '\0') continue;
        dir[at] = '\0';
        int64_t one = limit_at(dir, v2);
        if (one > 0 && (least == 0 || one < least)) least = one;
        if (at <= root) return least;
    }
}

/* Whether the comma list of controllers ("cpu,cpuacct") holds cpu. */
static bool has_cpu(const char *list, const char *end)
{
    for (const char *at = list; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (stop - at == 3 && memcmp(at, "cpu", 3) == 0) return true;
        at = stop + 1;
    }
    return false;
}

int64_t tnr_cpus_quota(const char *root)
{
    char path[256], mount[256], text[4096];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!read_text(path, text, sizeof text)) return 0;
    int64_t least = 0;
    for (char *line = text; *line;) { /* "0::/path" or "4:cpu,cpuacct:/path" */
        char *end = strchr(line, '\n');
        if (end) *end = '\0';
        char *list = strchr(line, ':'), *dir = list ? strchr(list + 1, ':') : NULL;
        bool v2 = list && dir == list + 1;
        if (dir && (v2 || has_cpu(list + 1, dir))) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, v2 ? "" : "/cpu");
            int64_t one = limit_up(mount, dir + 1, v2);
            if (one > 0 && (least == 0 || one < least)) least = one;
        }
        line = end ? end + 1 : line + strlen(line);
    }
    return least;
}

int32_t tnr_cpus_environment(void)
{
    static const char *const name[] = {"TVM_NUM_THREADS", "OMP_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(name[i]);
        char *end;
        long n = text ? strtol(text, &end, 10) : 0;
        if (text && end != text && (*end == '\0' || *end == ',') && n >= 1 && n <= 65535) return (int32_t)n;
    }
    return 0;
}
