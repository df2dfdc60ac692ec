/* CPU features: one table, a row a feature: where cpuid reports it and which registers the system must save.
 * Source: Intel SDM vol. 2A CPUID, vol. 1 section 13 (XCR0); AMD APM vol. 3 appendix E. */
#include "base/cpu.h"

#include "base/thread.h"

#include <string.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum reg { EAX, EBX, ECX, EDX };
/* XCR0: SSE 1, AVX 2, AVX-512 5-7, AMX 17-18. */
enum saved { ANY = 0, YMM = 0x6, ZMM = 0xe6, TILE = 0x60000 };

typedef struct row { /* texts in place: a pointer in a shared object takes 32 bytes */
    char name[16];
    uint32_t leaf;
    uint32_t sub : 1, reg : 2, bit : 5, saved : 24; /* saved: XCR0 bits that must be set */
} row;

/* clang-format off */
static const row table[] = {
    { "cmov",            1,          0, EDX, 15, ANY },
    { "cx8",             1,          0, EDX,  8, ANY },
    { "mmx",             1,          0, EDX, 23, ANY },
    { "fxsr",            1,          0, EDX, 24, ANY },
    { "sse",             1,          0, EDX, 25, ANY },
    { "sse2",            1,          0, EDX, 26, ANY },
    { "sse3",            1,          0, ECX,  0, ANY },
    { "pclmul",          1,          0, ECX,  1, ANY },
    { "ssse3",           1,          0, ECX,  9, ANY },
    { "fma",             1,          0, ECX, 12, YMM },
    { "cx16",            1,          0, ECX, 13, ANY },
    { "sse4.1",          1,          0, ECX, 19, ANY },
    { "sse4.2",          1,          0, ECX, 20, ANY },
    { "movbe",           1,          0, ECX, 22, ANY },
    { "popcnt",          1,          0, ECX, 23, ANY },
    { "aes",             1,          0, ECX, 25, ANY },
    { "avx",             1,          0, ECX, 28, YMM },
    { "f16c",            1,          0, ECX, 29, YMM },
    { "rdrnd",           1,          0, ECX, 30, ANY },
    { "bmi",             7,          0, EBX,  3, ANY },
    { "avx2",            7,          0, EBX,  5, YMM },
    { "bmi2",            7,          0, EBX,  8, ANY },
    { "avx512f",         7,          0, EBX, 16, ZMM },
    { "avx512dq",        7,          0, EBX, 17, ZMM },
    { "rdseed",          7,          0, EBX, 18, ANY },
    { "adx",             7,          0, EBX, 19, ANY },
    { "avx512ifma",      7,          0, EBX, 21, ZMM },
    { "clflushopt",      7,          0, EBX, 23, ANY },
    { "clwb",            7,          0, EBX, 24, ANY },
    { "avx512cd",        7,          0, EBX, 28, ZMM },
    { "sha",             7,          0, EBX, 29, ANY },
    { "avx512bw",        7,          0, EBX, 30, ZMM },
    { "avx512vl",        7,          0, EBX, 31, ZMM },
    { "avx512vbmi",      7,          0, ECX,  1, ZMM },
    { "avx512vbmi2",     7,          0, ECX,  6, ZMM },
    { "gfni",            7,          0, ECX,  8, ANY },
    { "vaes",            7,          0, ECX,  9, YMM },
    { "vpclmulqdq",      7,          0, ECX, 10, YMM },
    { "avx512vnni",      7,          0, ECX, 11, ZMM },
    { "avx512bitalg",    7,          0, ECX, 12, ZMM },
    { "avx512vpopcntdq", 7,          0, ECX, 14, ZMM },
    { "avx512fp16",      7,          0, EDX, 23, ZMM },
    { "amx-bf16",        7,          0, EDX, 22, TILE },
    { "amx-tile",        7,          0, EDX, 24, TILE },
    { "amx-int8",        7,          0, EDX, 25, TILE },
    { "avxvnni",         7,          1, EAX,  4, YMM },
    { "avx512bf16",      7,          1, EAX,  5, ZMM },
    { "amx-fp16",        7,          1, EAX, 21, TILE },
    { "avxifma",         7,          1, EAX, 23, YMM },
    { "avxvnniint8",     7,          1, EDX,  4, YMM },
    { "avxneconvert",    7,          1, EDX,  5, YMM },
    { "amx-complex",     7,          1, EDX,  8, TILE },
    { "avxvnniint16",    7,          1, EDX, 10, YMM },
    { "sahf",            0x80000001, 0, ECX,  0, ANY },
    { "lzcnt",           0x80000001, 0, ECX,  5, ANY },
    { "prfchw",          0x80000001, 0, ECX,  8, ANY },
};
/* clang-format on */
enum { ROWS = sizeof table / sizeof *table };
_Static_assert((int)ROWS <= (int)TN_CPU_FEATURES, "a feature is a bit of tn_cpu_set");

/* Features that generated code uses, by Linux's names. Every kernel since 4.16 knows all of them (those of amx: every
 * kernel that saves tiles), so one that is not listed was switched off. */
static const struct {
    char name[11], linux_name[12];
} listed[] = {
    {"sse3", "pni"},          {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},     {"sse4.2", "sse4_2"},
    {"avx", "avx"},           {"avx2", "avx2"},
    {"fma", "fma"},           {"f16c", "f16c"},
    {"bmi", "bmi1"},          {"bmi2", "bmi2"},
    {"avx512f", "avx512f"},   {"avx512bw", "avx512bw"},
    {"avx512cd", "avx512cd"}, {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"}, {"avx512vnni", "avx512_vnni"},
    {"amx-tile", "amx_tile"}, {"amx-int8", "amx_int8"},
    {"amx-bf16", "amx_bf16"},
};

/* A feature whose name begins so needs another; in the order in which the loss of one goes on to others. */
static const struct {
    char prefix[13], needs[9];
} family[] = {
    {"ssse3", "sse3"},
    {"sse4.1", "ssse3"},
    {"sse4.2", "sse4.1"},
    {"avx", "sse4.2"},
    {"avx", "avx"},
    {"fma", "avx"},
    {"f16c", "avx"},
    {"vaes", "avx"},
    {"vpclmulqdq", "avx"},
    {"avxvnni", "avx2"},
    {"avxifma", "avx2"},
    {"avxne", "avx2"},
    {"avx512", "avx2"},
    {"avx512", "fma"},
    {"avx512", "f16c"},
    {"avx512", "avx512f"},
    {"avx512vbmi", "avx512bw"},
    {"avx512bitalg", "avx512bw"},
    {"avx512bf16", "avx512bw"},
    {"avx512fp16", "avx512bw"},
    {"avx512fp16", "avx512vl"},
    {"avx512fp16", "avx512dq"},
    {"amx", "amx-tile"},
};

static const char *name_at(size_t i) { return table[i].name; }

static void cpuid(uint32_t leaf, uint32_t sub, uint32_t out[4])
{
    memset(out, 0, 4 * sizeof *out);
    __get_cpuid_count(leaf, sub, &out[EAX], &out[EBX], &out[ECX], &out[EDX]); /* checks the highest leaf */
}

static uint32_t xcr0(void)
{
    uint32_t r[4], low, high;
    cpuid(1, 0, r);
    if (!(r[ECX] >> 27 & 1)) /* OSXSAVE */
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void drop(tn_cpu_set *set, const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(table[i].name, name) == 0)
            set->bits &= ~((uint64_t)1 << i);
}

/* Drops what lacks something it needs. */
static void drop_orphans(tn_cpu_set *set)
{
    for (size_t k = 0; k < sizeof family / sizeof *family; k++) {
        for (size_t i = 0; i < ROWS && !tn_cpu_set_has(*set, family[k].needs); i++)
            if (strncmp(table[i].name, family[k].prefix, strlen(family[k].prefix)) == 0)
                set->bits &= ~((uint64_t)1 << i);
    }
}

static bool line_has(const char *line, size_t n, const char *flag)
{
    size_t length = strlen(flag);
    for (size_t i = 0; i + length <= n; i++) {
        bool whole = i > 0 && line[i - 1] == ' ' && (i + length == n || line[i + length] == ' ');
        if (whole && memcmp(line + i, flag, length) == 0)
            return true;
    }
    return false;
}

tn_cpu_set tn_cpu_set_listed(tn_cpu_set set, const char *cpuinfo)
{
    static const char head[] = "\nflags\t";
    const char *line = strstr(cpuinfo, head), *end = line ? strchr(line + 1, '\n') : NULL;
    size_t n = end ? (size_t)(end - line) : 0;
    if (!line_has(line, n, "fpu")) /* cut, or not what Linux writes */
        return set;
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (!line_has(line, n, listed[i].linux_name))
            drop(&set, listed[i].name);
    drop_orphans(&set);
    return set;
}

#if defined(__linux__)
static tn_cpu_set as_listed(tn_cpu_set set)
{
    char text[8192]; /* the first CPU takes about 2,500 bytes */
    return tn_cpu_text("/proc/cpuinfo", text, sizeof text) ? tn_cpu_set_listed(set, text) : set;
}
#else
static tn_cpu_set as_listed(tn_cpu_set set) { return set; }
#endif

#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
/* Whether a process may ask for the tile state; asks for nothing. */
static bool may_have_tiles(void)
{
    enum { GET_SUPPORTED = 0x1021, XTILEDATA = 18 };
    uint64_t mask = 0;
    return syscall(SYS_arch_prctl, GET_SUPPORTED, &mask) == 0 && mask >> XTILEDATA & 1;
}
#else
static bool may_have_tiles(void) { return false; }
#endif

tn_cpu_set tn_cpu_detect(void)
{
    tn_cpu_set set = {0};
    uint32_t saved = xcr0(), r[4] = {0}, leaf = 0, sub = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (i == 0 || table[i].leaf != leaf || table[i].sub != sub) {
            leaf = table[i].leaf;
            sub = table[i].sub;
            cpuid(leaf, sub, r);
        }
        bool there = (r[table[i].reg] >> table[i].bit & 1) && (saved & table[i].saved) == table[i].saved;
        set.bits |= (uint64_t)there << i;
    }
    if (tn_cpu_set_has(set, "amx-tile") && !may_have_tiles())
        drop(&set, "amx-tile");
    drop_orphans(&set);
    return as_listed(set);
}

/* Leaves 4 and 0x8000001d have one format; a maker fills one of them. */
uint64_t tn_cpu_cache_bytes(unsigned level)
{
    static const uint32_t leaf[] = {4, 0x8000001d};
    for (size_t k = 0; k < 2; k++) {
        for (uint32_t sub = 0; sub < 16; sub++) {
            uint32_t r[4];
            cpuid(leaf[k], sub, r);
            unsigned type = r[EAX] & 0x1f; /* 1 data, 2 instruction, 3 unified */
            if (type == 0)
                break;
            if (type != 2 && (r[EAX] >> 5 & 7) == level) {
                uint64_t ways = (r[EBX] >> 22) + 1, parts = (r[EBX] >> 12 & 0x3ff) + 1,
                         line = (r[EBX] & 0xfff) + 1;
                return ways * parts * line * ((uint64_t)r[ECX] + 1);
            }
        }
    }
    return 0;
}

unsigned tn_cpu_base_mhz(void)
{
    uint32_t r[4];
    cpuid(0x16, 0, r);
    return r[EAX] & 0xffff;
}

void tn_cpu_name(char out[TN_CPU_NAME_BYTES])
{
    char text[TN_CPU_NAME_BYTES] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t r[4];
        cpuid(0x80000002 + i, 0, r);
        memcpy(text + i * sizeof r, r, sizeof r);
    }
    for (const char *s = text; *s; s++) {
        bool blank = *s == ' ' && (n == 0 || s[1] == ' ' || !s[1]);
        if (*s >= ' ' && *s <= '~' && !blank)
            out[n++] = *s;
    }
    out[n] = '\0';
}

static uint64_t mix(uint64_t hash, uint32_t v) { return (hash ^ v) * 0x100000001b3u; } /* FNV-1a, by words */

uint64_t tn_cpu_identity(void)
{
    static const uint32_t leaf[] = {0, 0x80000002, 0x80000003, 0x80000004};
    uint64_t hash = 0xcbf29ce484222325u;
    uint32_t r[4];
    for (size_t i = 0; i < sizeof leaf / sizeof *leaf; i++) {
        cpuid(leaf[i], 0, r);
        for (size_t k = 0; k < 4; k++)
            hash = mix(hash, r[k]);
    }
    cpuid(1, 0, r);
    hash = mix(hash, r[EAX]); /* family, model, stepping; the rest tells of the core this thread is on */
    if (r[ECX] >> 31) {       /* a hypervisor, by its name; not a leaf that __get_cpuid_count allows */
        __cpuid(0x40000000, r[EAX], r[EBX], r[ECX], r[EDX]);
        hash = mix(mix(mix(hash, r[EBX]), r[ECX]), r[EDX]);
    }
    uint64_t set = tn_cpu_detect().bits;
    return mix(mix(hash, (uint32_t)set), (uint32_t)(set >> 32));
}

#else /* other ISAs: what the system's auxiliary vector says */

#if defined(__linux__)
#include <fcntl.h>
#include <sys/auxv.h>
#else
#define AT_HWCAP 16
#define AT_HWCAP2 26
static unsigned long getauxval(unsigned long type) { return type * 0; }
#endif

/* Bits of HWCAP (Linux, uapi/asm/hwcap.h), from 64 on of HWCAP2. */
static const struct {
    const char *name;
    uint8_t bit;
} table[] = {
#if defined(__aarch64__)
    {"fp-armv8", 0}, {"neon", 1},      {"aes", 3},   {"sha2", 6},       {"crc", 7},
    {"lse", 8},      {"fullfp16", 10}, {"rdm", 12},  {"sha3", 17},      {"dotprod", 20},
    {"sve", 22},     {"fp16fml", 23},  {"sve2", 65}, {"i8mm", 64 + 13}, {"bf16", 64 + 14},
#elif defined(__arm__)
    {"vfp2", 6}, {"neon", 12}, {"vfp3", 13},      {"vfp4", 16},
    {"fp16", 1}, {"d32", 19},  {"hwdiv-arm", 17}, {"crc", 64 + 4},
#elif defined(__riscv)
    {"a", 0}, {"c", 2}, {"d", 3}, {"f", 5}, {"m", 12}, {"v", 21},
#else
    {"", 63}, /* none is known */
#endif
};
enum { ROWS = sizeof table / sizeof *table };

static const char *name_at(size_t i) { return table[i].name; }

tn_cpu_set tn_cpu_detect(void)
{
    uint64_t cap[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    tn_cpu_set set = {0};
    for (size_t i = 0; i < ROWS; i++)
        set.bits |= (uint64_t)(cap[table[i].bit / 64] >> table[i].bit % 64 & 1) << i;
    return set;
}

tn_cpu_set tn_cpu_set_listed(tn_cpu_set set, const char *cpuinfo)
{
    (void)cpuinfo;
    return set;
}

uint64_t tn_cpu_cache_bytes(unsigned level)
{
    (void)level;
    return 0;
}

unsigned tn_cpu_base_mhz(void) { return 0; }

void tn_cpu_name(char out[TN_CPU_NAME_BYTES]) { out[0] = '\0'; }

uint64_t tn_cpu_identity(void)
{
    uint64_t hash = tn_cpu_detect().bits * 0x9e3779b97f4a7c15u;
#if defined(__linux__)
    char text[64]; /* of Arm: which core, by its maker's number */
    int fd = open("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : 0;
    for (ssize_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    if (fd >= 0)
        close(fd);
#endif
    return hash;
}
#endif

bool tn_cpu_set_has(tn_cpu_set set, const char *feature)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(name_at(i), feature) == 0)
            return set.bits >> i & 1;
    return false;
}

size_t tn_cpu_set_names(tn_cpu_set set, const char **out_name, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (set.bits >> i & 1) {
            if (n < room)
                out_name[n] = name_at(i);
            n++;
        }
    }
    return n;
}

bool tn_cpu_has(const char *feature) { return tn_cpu_set_has(tn_cpu_detect(), feature); }

bool tn_cpu_permit_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
    enum { REQUEST_PERMISSION = 0x1023, XTILEDATA = 18 };
    return tn_cpu_has("amx-tile") && syscall(SYS_arch_prctl, REQUEST_PERMISSION, XTILEDATA) == 0;
#else
    return false;
#endif
}
