/* The machine at hand: features from cpuid, caches and topology from sysfs (cpuid where that is silent), the clock and
 * arithmetic rates by measurement (where that is impossible, the first source of a clock that does not change with the
 * load). */
#include "machine/machine.h"

#include "base/cpu.h"
#include "base/thread.h"
#include "machine/measure.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256, CACHES_MAX = 16 };
#define CPU0 "/sys/devices/system/cpu/cpu0/"

#if defined(__linux__) && defined(__gnu_linux__)
#define OS "-unknown-linux-gnu"
#elif defined(__linux__)
#define OS "-unknown-linux-musl"
#else
#define OS "-unknown-unknown"
#endif
#if defined(__x86_64__)
#define TRIPLE "x86_64" OS
#elif defined(__aarch64__)
#define TRIPLE "aarch64" OS
#elif defined(__i386__)
#define TRIPLE "i686" OS
#elif defined(__arm__)
#define TRIPLE "armv7" OS "eabihf"
#elif defined(__riscv) && __riscv_xlen == 64
#define TRIPLE "riscv64" OS
#else
#define TRIPLE "unknown" OS
#endif

/* The first line of root/path, without its newline; false if it is not there. */
static bool read_line(const char *root, const char *path, char out[TEXT_BYTES])
{
    char full[4096];
    int n = snprintf(full, sizeof full, "%s%s", root, path);
    FILE *f = n > 0 && (size_t)n < sizeof full ? fopen(full, "r") : NULL;
    bool got = f && fgets(out, TEXT_BYTES, f);
    if (f)
        fclose(f);
    if (got)
        out[strcspn(out, "\n")] = '\0';
    return got;
}

static double read_number(const char *root, const char *path)
{
    char text[TEXT_BYTES];
    return read_line(root, path, text) ? strtod(text, NULL) : 0;
}

/* CPUs in a kernel list, "0-3,8"; the first of them in *out_first. 0: malformed. */
static unsigned list_count(const char *s, unsigned *out_first)
{
    unsigned count = 0;
    while (*s) {
        char *end;
        unsigned long a = strtoul(s, &end, 10), b = a;
        if (end == s)
            return 0;
        if (*end == '-')
            b = strtoul(end + 1, &end, 10);
        if (b < a || b > 1 << 20)
            return 0;
        *out_first = count ? *out_first : (unsigned)a;
        count += (unsigned)(b - a) + 1;
        s = *end == ',' ? end + 1 : end;
    }
    return count;
}

static unsigned list_file(const char *root, const char *path, unsigned *out_first)
{
    char text[TEXT_BYTES];
    *out_first = 0;
    return read_line(root, path, text) ? list_count(text, out_first) : 0;
}

/* "48K", "2M". */
static uint64_t cache_size(const char *text)
{
    char *end;
    uint64_t v = strtoull(text, &end, 10);
    return *end == 'K' ? v << 10 : *end == 'M' ? v << 20 : v;
}

/* A cache that several cores share counts for a core by its share, except the third level. */
static uint64_t sysfs_cache(const char *root, double level)
{
    unsigned first, threads = list_file(root, CPU0 "topology/thread_siblings_list", &first);
    for (unsigned i = 0; i < CACHES_MAX; i++) {
        char path[TEXT_BYTES], text[TEXT_BYTES];
        snprintf(path, sizeof path, CPU0 "cache/index%u/level", i);
        double l = read_number(root, path);
        if (l <= 0)
            return 0;
        snprintf(path, sizeof path, CPU0 "cache/index%u/type", i);
        if (l < level || l > level || !read_line(root, path, text) || strcmp(text, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, CPU0 "cache/index%u/size", i);
        uint64_t bytes = read_line(root, path, text) ? cache_size(text) : 0;
        snprintf(path, sizeof path, CPU0 "cache/index%u/shared_cpu_list", i);
        unsigned sharing = list_file(root, path, &first);
        return level < 3 && threads && sharing > threads ? bytes / (sharing / threads) : bytes;
    }
    return 0;
}

static uint64_t cache(const char *root, unsigned level)
{
    uint64_t bytes = sysfs_cache(root, level);
    return bytes ? bytes : tn_cpu_cache_bytes(level);
}

/* Usable CPUs that are not second threads of a core already counted. */
static uint32_t cores(const char *root)
{
    cpu_set_t usable, seen;
    unsigned n = 0, limit = tn_cpu_count();
    CPU_ZERO(&seen);
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return limit;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char path[TEXT_BYTES];
        unsigned first;
        if (!CPU_ISSET(cpu, &usable))
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
        if (!list_file(root, path, &first) || first >= CPU_SETSIZE)
            first = cpu;
        n += !CPU_ISSET(first, &seen);
        CPU_SET(first, &seen);
    }
    return n && n < limit ? n : limit;
}

static double cpuinfo_mhz(const char *root)
{
    char path[4096], line[TEXT_BYTES];
    double mhz = 0;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *f = fopen(path, "r");
    while (f && mhz <= 0 && fgets(line, sizeof line, f)) {
        const char *colon = strncmp(line, "cpu MHz", 7) == 0 ? strchr(line, ':') : NULL;
        mhz = colon ? strtod(colon + 1, NULL) : 0;
    }
    if (f)
        fclose(f);
    return mhz;
}

typedef struct clock_source {
    const char *from;
    double mhz;
} clock_source;

/* The first that is known, in steps of 0.1 GHz. A base frequency is far from what a core that is alone runs at, and
 * /proc/cpuinfo may tell that of the time stamp counter. 0: unknown. */
static void find_clock(const char *root, double measured_ghz, tn_machine *m)
{
    const clock_source source[] = {
        {"measured", measured_ghz * 1000},
        {"sysfs, base_frequency", read_number(root, CPU0 "cpufreq/base_frequency") / 1000},
        {"cpuid, base frequency", tn_cpu_base_mhz()},
        {"sysfs, cpuinfo_max_freq", read_number(root, CPU0 "cpufreq/cpuinfo_max_freq") / 1000},
        {"/proc/cpuinfo", cpuinfo_mhz(root)},
    };
    for (size_t i = 0; i < sizeof source / sizeof *source; i++) {
        if (source[i].mhz >= 50 && source[i].mhz < 20000) {
            m->clock_ghz = floor(source[i].mhz / 100 + 0.5) / 10;
            m->clock_from = source[i].from;
            return;
        }
    }
}

/* To three digits, so that what is printed promises no more than was measured. */
static double rounded(double v)
{
    double unit = v > 0 ? pow(10, floor(log10(v)) - 2) : 1;
    return floor(v / unit + 0.5) * unit;
}

/* bfloat16 counts only if its dot product is clearly faster than float32. */
static void set_rates(const tn_rates *r, tn_machine *m)
{
    bool amx = tn_machine_can(m, TN_CAN_TILES); /* by formula: tiles need leave to be measured */
    m->peak_gflops = rounded(r->fma_gflops);
    m->int8_gops = amx ? 0 : rounded(r->dot_gops);
    m->bf16_gflops = amx || r->bf16_gflops < 1.2 * r->fma_gflops ? 0 : rounded(r->bf16_gflops);
    m->rates_from = r->fma_gflops > 0 ? "measured" : NULL;
}

static void detect(tn_ctx *ctx, const char *root, const tn_rates *rates, tn_machine *out)
{
    const char *name[TN_CPU_FEATURES];
    size_t n = tn_cpu_set_names(tn_cpu_detect(), name, TN_CPU_FEATURES);
    const char **feature = TN_NEW_N(&ctx->arena, const char *, n);
    memcpy(feature, name, n * sizeof *feature);
    *out = (tn_machine){
        .name = "host",
        .triple = TRIPLE,
        .feature = feature,
        .n_feature = n,
        .cores = cores(root),
        .l1_bytes = cache(root, 1),
        .l2_bytes = cache(root, 2),
        .l3_bytes = cache(root, 3),
    };
    set_rates(rates, out);
    find_clock(root, rates->clock_ghz, out);
    tn_machine_derive(out);
}

tn_status tn_machine_detect_at(tn_ctx *ctx, const char *root, tn_machine *out)
{
    detect(ctx, root, &(tn_rates){0}, out);
    return TN_OK;
}

tn_status tn_machine_detect(tn_ctx *ctx, tn_machine *out)
{
    tn_rates rates;
    if (!tn_rates_get(&rates))
        rates = (tn_rates){0};
    detect(ctx, "", &rates, out);
    return TN_OK;
}
