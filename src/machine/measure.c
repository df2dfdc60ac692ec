/* Times short loops of one instruction on this machine.
 *
 * Each loop runs for about 10 microseconds, in turn, for 3 milliseconds; the least time of a loop counts, so
 * interrupts, other processes and a clock that is still rising do no harm. A chain of xor gives the clock (one
 * cycle each on every CPU); 12 independent accumulators cover the latency of a multiply-add (4 cycles, two a cycle) and
 * leave nothing but the ports as the limit. Instructions are written as text, since this file is compiled for every CPU
 * of the architecture. */
#include "machine/measure.h"

#include "base/cpu.h"
#include "base/file.h"
#include "base/output.h"
#include "base/sha256.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { KINDS_MAX = 8, LEAST_ROUNDS = 8, MOST_ROUNDS = 400, CHAIN = 64, ACCUMULATORS = 12 };
static const double ENOUGH_SECONDS = 3e-3;

enum measured { CLOCK, FMA, DOT, BF16 };

typedef struct kind {
    const char *feature; /* that the loop needs; NULL: none */
    enum measured what;
    double work; /* operations (of the clock: cycles) of one turn */
    long turns;
    void (*run)(long turns);
} kind;

#if defined(__x86_64__)
static void chain(long turns)
{
    uint32_t a = 1, b = 3;
    __asm__ volatile("1:\n\t"
                     ".rept 64\n\txorl %2, %0\n\t.endr\n\t"
                     "decq %1\n\tjnz 1b"
                     : "+r"(a), "+r"(turns)
                     : "r"(b)
                     : "cc");
}

#define LINE(op, reg, i) op " %%" reg "12, %%" reg "13, %%" reg #i "\n\t"
#define ZERO(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"
#define LOOP(name, op, reg) \
    static void name(long turns) \
    { \
        __asm__ volatile(ZERO(0) ZERO(1) ZERO(2) ZERO(3) ZERO(4) ZERO(5) ZERO(6) ZERO(7) ZERO(8) ZERO(9) \
                             ZERO(10) ZERO(11) ZERO(12) ZERO(13) "1:\n\t" LINE(op, reg, 0) LINE(op, reg, 1) \
                                 LINE(op, reg, 2) LINE(op, reg, 3) LINE(op, reg, 4) LINE(op, reg, 5) \
                                     LINE(op, reg, 6) LINE(op, reg, 7) LINE(op, reg, 8) LINE(op, reg, 9) \
                                         LINE(op, reg, 10) \
                                             LINE(op, reg, 11) "decq %0\n\tjnz 1b\n\tvzeroupper" \
                         : "+r"(turns) \
                         : \
                         : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"); \
    }
LOOP(fma_ymm, "vfmadd231ps", "ymm")
LOOP(fma_zmm, "vfmadd231ps", "zmm")
LOOP(dot_zmm, "vpdpbusd", "zmm")
LOOP(bf16_zmm, "vdpbf16ps", "zmm")

static const kind kinds[] = {
    {NULL, CLOCK, CHAIN, 500, chain},
    {"fma", FMA, ACCUMULATORS * 16, 3000, fma_ymm},
    {"avx512f", FMA, ACCUMULATORS * 32, 2000, fma_zmm},
    {"avx512vnni", DOT, ACCUMULATORS * 128, 2000, dot_zmm},
    {"avx512bf16", BF16, ACCUMULATORS * 64, 1500, bf16_zmm},
};
#elif defined(__aarch64__)
static void chain(long turns)
{
    uint32_t a = 1, b = 3;
    __asm__ volatile("1:\n\t"
                     ".rept 64\n\teor %w0, %w0, %w2\n\t.endr\n\t"
                     "subs %1, %1, #1\n\tb.ne 1b"
                     : "+r"(a), "+r"(turns)
                     : "r"(b)
                     : "cc");
}

static void fma_neon(long turns)
{
    __asm__ volatile(
        ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21\n\tmovi v\\i\\().4s, #0\n\t.endr\n1:\n\t"
        ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19\n\tfmla v\\i\\().4s, v20.4s, v21.4s\n\t.endr\n\t"
        "subs %0, %0, #1\n\tb.ne 1b"
        : "+r"(turns)
        :
        : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21");
}

static const kind kinds[] = {
    {NULL, CLOCK, CHAIN, 500, chain},
    {"neon", FMA, ACCUMULATORS * 8, 3000, fma_neon},
};
#else
static const kind kinds[] = {{"", CLOCK, 1, 1, NULL}}; /* no feature has this name */
#endif
enum { KINDS = sizeof kinds / sizeof *kinds };
_Static_assert((int)KINDS <= (int)KINDS_MAX, "room for the times");

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_plausible(const tn_rates *r)
{
    double cycle = r->clock_ghz > 0 ? r->fma_gflops / r->clock_ghz : -1; /* operations a cycle */
    return r->clock_ghz >= 0.05 && r->clock_ghz <= 20 && cycle >= 0 && cycle <= 1024 && r->dot_gops <= 1e5 &&
           r->bf16_gflops <= 1e5;
}

bool tn_rates_measure(tn_rates *out)
{
    tn_cpu_set cpu = tn_cpu_detect();
    double least[KINDS_MAX] = {0}, start = now(), at = start;
    bool usable[KINDS_MAX];
    for (size_t k = 0; k < KINDS; k++)
        usable[k] = !kinds[k].feature || tn_cpu_set_has(cpu, kinds[k].feature);
    for (int round = 0; round < MOST_ROUNDS && (round < LEAST_ROUNDS || at - start < ENOUGH_SECONDS); round++)
        for (size_t k = 0; k < KINDS; k++) {
            if (!usable[k])
                continue;
            double before = now();
            kinds[k].run(kinds[k].turns);
            at = now();
            if (least[k] <= 0 || at - before < least[k])
                least[k] = at - before;
        }
    *out = (tn_rates){0};
    double *const field[] = {&out->clock_ghz, &out->fma_gflops, &out->dot_gops, &out->bf16_gflops};
    for (size_t k = 0; k < KINDS; k++) {
        double rate =
            usable[k] && least[k] > 0 ? kinds[k].work * (double)kinds[k].turns / least[k] * 1e-9 : 0;
        if (rate > *field[kinds[k].what])
            *field[kinds[k].what] = rate;
    }
    return is_plausible(out);
}

/* ---- the cache: one small file a kind of machine, with a hash of its bytes; another version has another magic ---- */

typedef struct entry {
    char magic[8];
    tn_rates rates;
    uint8_t hash[32];
} entry;
static const char magic[8] = "TNRATE1";

static void seal(const entry *e, uint8_t out[32])
{
    tn_sha256 s;
    tn_sha256_init(&s);
    tn_sha256_add(&s, e, offsetof(entry, hash));
    tn_sha256_end(&s, out);
}

static bool load(const char *path, tn_rates *out)
{
    entry e;
    uint8_t hash[32], more;
    FILE *f = fopen(path, "rb");
    bool whole = f && fread(&e, sizeof e, 1, f) == 1 && fread(&more, 1, 1, f) == 0;
    if (f)
        fclose(f);
    if (!whole || memcmp(e.magic, magic, sizeof magic) != 0)
        return false;
    seal(&e, hash);
    if (memcmp(hash, e.hash, sizeof hash) != 0 || !is_plausible(&e.rates))
        return false;
    *out = e.rates;
    return true;
}

static void save(const char *path, const tn_rates *rates)
{
    tn_output o;
    entry e;
    memset(&e, 0, sizeof e);
    memcpy(e.magic, magic, sizeof magic);
    e.rates = *rates;
    seal(&e, e.hash);
    tn_folders_make(path);
    if (tn_output_open_private(&o, path))
        return; /* measured again next time */
    tn_output_add(&o, &e, sizeof e);
    (void)tn_outputs_close(1, (tn_output *const[]){&o}, true);
}

bool tn_rates_get(tn_rates *out)
{
    char name[40], path[4096];
    snprintf(name, sizeof name, "rates-%016llx", (unsigned long long)tn_cpu_identity());
    bool kept = tn_cache_path(name, path, sizeof path);
    if (kept && load(path, out))
        return true;
    if (!tn_rates_measure(out))
        return false;
    if (kept)
        save(path, out);
    return true;
}
