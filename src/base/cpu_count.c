/* How many CPUs this process may use. Reads three or four small files; nothing is allocated but the CPU mask of
 * machines with more than 1,024 CPUs.
 *
 * A container sees its own cgroup at the root, or the whole path of /proc/self/cgroup below it: every directory
 * from that path up to the root is tried, and the smallest limit counts. */
#include "base/thread.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 64 };

bool tn_cpu_text(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    if (fd < 0)
        return false;
    for (ssize_t k; n < room - 1 && (k = read(fd, out + n, room - 1 - n)) > 0;)
        n += (size_t)k;
    close(fd);
    out[n] = '\0';
    return n > 0;
}

static double ratio(long quota, long period)
{
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* v2: "max 100000" or "150000 100000". 0: no limit, or not there. */
static double limit_v2(const char *dir)
{
    char path[PATH_BYTES + LINE_BYTES], text[LINE_BYTES], *end;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (!tn_cpu_text(path, text, sizeof text))
        return 0;
    long quota = strtol(text, &end, 10);
    return ratio(quota, strtol(end, NULL, 10));
}

/* v1: two files, the quota -1 without a limit. */
static double limit_v1(const char *dir)
{
    char path[PATH_BYTES + LINE_BYTES], text[LINE_BYTES];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    long quota = tn_cpu_text(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    return tn_cpu_text(path, text, sizeof text) ? ratio(quota, strtol(text, NULL, 10)) : 0;
}

/* The smallest limit from dir up to its first root_n bytes. */
static double smallest(char *dir, size_t root_n, double (*limit)(const char *dir))
{
    double least = 0;
    for (;;) {
        double v = limit(dir);
        least = v > 0 && (least <= 0 || v < least) ? v : least;
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < root_n)
            return least;
        *slash = '\0';
    }
}

/* Whether `list` ("cpu,cpuacct") names the controller cpu. */
static bool has_cpu(const char *list, size_t n)
{
    for (const char *p = list, *end = list + n; p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        size_t len = (size_t)((comma ? comma : end) - p);
        if (len == 3 && memcmp(p, "cpu", 3) == 0)
            return true;
        p += len + 1;
    }
    return false;
}

double tn_cpu_quota(const char *proc_cgroup, const char *root)
{
    char text[PATH_BYTES], dir[PATH_BYTES];
    double least = 0;
    if (!tn_cpu_text(proc_cgroup, text, sizeof text))
        return 0;
    /* "0::/user.slice/x" (v2), "4:cpu,cpuacct:/docker/1f" (v1: mounted at root/cpu,cpuacct and root/cpu) */
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || path[1] != '/')
            continue;
        bool v2 = path == list + 1, v1 = has_cpu(list + 1, (size_t)(path - list - 1));
        if (!v2 && !v1)
            continue;
        int n = snprintf(dir, sizeof dir, "%s%s%s", root, v2 ? "" : "/cpu", path + 1);
        if (n < 0 || (size_t)n >= sizeof dir)
            continue;
        double v = smallest(dir, strlen(root) + (v2 ? 0 : 4), v2 ? limit_v2 : limit_v1);
        least = v > 0 && (least <= 0 || v < least) ? v : least;
    }
    return least;
}

static unsigned affinity(void)
{
    for (int bits = CPU_SETSIZE; bits <= 1 << 20; bits *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)bits);
        size_t bytes = CPU_ALLOC_SIZE((size_t)bits);
        int n = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (n > 0)
            return (unsigned)n;
    }
    return 1;
}

unsigned tn_cpu_count(void)
{
    unsigned n = affinity();
    double quota = tn_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota > 0 && quota < (double)n) {
        unsigned whole = (unsigned)quota;
        n = (double)whole < quota ? whole + 1 : whole;
    }
    return n > 0 ? n : 1;
}
