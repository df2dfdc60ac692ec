/* CPU features of the machine at hand, by the rows of features.def. */
#include "base/cpu.h"

#include "base/thread.h"

#include <string.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };
enum { L1, L7, L7_1, LX, LEAVES };
static const uint32_t leaves[LEAVES][2] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};
/* What the system must save, and its bits of XCR0: SSE 1, AVX 2, AVX-512 5-7, AMX 17-18. */
enum { PLAIN, YMM, ZMM, TILE };
static const uint32_t saved_bits[] = {0, 0x6, 0xe6, 0x60000};

enum { /* a feature's number; its row is the one before */
       NONE,
#define X86(id, ...) id,
#include "base/features.def"
       AFTER
};
enum { ROWS = AFTER - 1 };

/* Small: texts are in two strings, because a pointer in a shared object takes 32 bytes. */
static const struct row {
    uint8_t place, state, need[3]; /* 4 * leaf + register; its bit + 32 * what the system saves; numbers */
} table[] = {
#define X86(id, name, a, b, c, leaf, reg, bit, save, ...) {leaf << 2 | reg, bit | save << 5, {a, b, c}},
#include "base/features.def"
};
static const char names[] =
#define X86(id, name, ...) name "\0"
#include "base/features.def"
    ;
/* Linux's names; empty where cpuid alone counts. */
static const char linux_names[] =
#define X86(id, name, a, b, c, leaf, reg, bit, save, flag, ...) flag "\0"
#include "base/features.def"
    ;

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

static bool holds(tn_cpu_set set, int feature) { return !feature || set.bits >> (feature - 1) & 1; }

static void drop(tn_cpu_set *set, int feature) { set->bits &= ~((uint64_t)1 << (feature - 1)); }

/* Drops what lacks something it needs, until nothing does. */
static void drop_orphans(tn_cpu_set *set)
{
    for (uint64_t before = 0; before != set->bits;) {
        before = set->bits;
        for (int i = 1; i <= ROWS; i++)
            for (int k = 0; k < 3; k++)
                if (!holds(*set, table[i - 1].need[k]))
                    drop(set, i);
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
    const char *flag = linux_names;
    for (int i = 1; i <= ROWS; i++, flag += strlen(flag) + 1)
        if (*flag && !line_has(line, n, flag))
            drop(&set, i);
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
    uint32_t saved = xcr0(), r[LEAVES][4];
    for (size_t k = 0; k < LEAVES; k++)
        cpuid(leaves[k][0], leaves[k][1], r[k]);
    for (size_t i = 0; i < ROWS; i++) {
        uint32_t need = saved_bits[table[i].state >> 5], place = table[i].place;
        bool there = (r[place >> 2][place & 3] >> (table[i].state & 31) & 1) && (saved & need) == need;
        set.bits |= (uint64_t)there << i;
    }
    if (!may_have_tiles())
        drop(&set, AMX_TILE);
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

enum { UNTOLD = 128 };
static const uint8_t table[] = {
#define ROW(id, name, a, b, bit, ...) bit,
#if defined(__aarch64__)
#define ARM64 ROW
#elif defined(__arm__)
#define ARM ROW
#elif defined(__riscv)
#define RISCV ROW
#endif
#include "base/features.def"
    UNTOLD};
#undef ROW
static const char names[] =
#define ROW(id, name, ...) name "\0"
#if defined(__aarch64__)
#define ARM64 ROW
#elif defined(__arm__)
#define ARM ROW
#elif defined(__riscv)
#define RISCV ROW
#endif
#include "base/features.def"
    "";
enum { ROWS = sizeof table > 1 ? sizeof table - 1 : 1 }; /* without rows, one that no machine has */

tn_cpu_set tn_cpu_detect(void)
{
    uint64_t cap[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    tn_cpu_set set = {0};
    for (size_t i = 0; i < ROWS; i++)
        if (table[i] != UNTOLD)
            set.bits |= (uint64_t)(cap[table[i] / 64] >> table[i] % 64 & 1) << i;
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

_Static_assert((int)ROWS <= (int)TN_CPU_FEATURES, "a feature is a bit of tn_cpu_set");

/* The number of its row; ROWS: there is none. */
static size_t find(const char *feature)
{
    size_t i = 0;
    for (const char *s = names; i < ROWS && strcmp(s, feature) != 0; s += strlen(s) + 1)
        i++;
    return i;
}

bool tn_cpu_set_has(tn_cpu_set set, const char *feature)
{
    size_t i = find(feature);
    return i < ROWS && set.bits >> i & 1;
}

size_t tn_cpu_set_names(tn_cpu_set set, const char **out_name, size_t room)
{
    size_t n = 0;
    const char *s = names;
    for (size_t i = 0; i < ROWS; i++, s += strlen(s) + 1)
        if (set.bits >> i & 1) {
            if (n < room)
                out_name[n] = s;
            n++;
        }
    return n;
}

bool tn_cpu_has(const char *feature) { return tn_cpu_set_has(tn_cpu_detect(), feature); }

bool tn_cpu_permit(const char *feature)
{
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
    enum { REQUEST_PERMISSION = 0x1023, XTILEDATA = 18 };
    size_t i = find(feature);
    return i == ROWS || table[i].state >> 5 != TILE ||
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, XTILEDATA) == 0;
#else
    (void)feature;
    return true;
#endif
}

#if defined(__x86_64__)
bool tn_cpu_evict(const void *at, size_t n)
{
    enum { LINE = 64 };
    for (uintptr_t line = (uintptr_t)at / LINE * LINE; line < (uintptr_t)at + n; line += LINE)
        __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
    __asm__ volatile("mfence" : : : "memory");
    return true;
}
#elif defined(__aarch64__) && defined(__linux__)
bool tn_cpu_evict(const void *at, size_t n)
{
    uint64_t types;
    __asm__("mrs %0, ctr_el0" : "=r"(types));
    uintptr_t bytes = (uintptr_t)4 << (types >> 16 & 15);
    for (uintptr_t line = (uintptr_t)at / bytes * bytes; line < (uintptr_t)at + n; line += bytes)
        __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
    return true;
}
#else
bool tn_cpu_evict(const void *at, size_t n)
{
    (void)at, (void)n;
    return false;
}
#endif
