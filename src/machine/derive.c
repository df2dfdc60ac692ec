/* What follows from features: registers, issue, rates. Conservative: a machine of that kind reaches these numbers.
 *
 * fma_ports: two for AVX-512, AVX2 with fma, and AdvSIMD. Some AVX-512 CPUs have one 512-bit port; of them only AMD's
 * Zen 4 is told from the others by features. Tiles that feed two ports also feed one (measured on Zen 4: 2 to 12 %
 * slower than a single vector of channels), while tiles for one (28 rows of a single vector) may reach a fifth of the
 * speed of two.
 * Without fma, a port that multiplies has one that adds beside it.
 * Bandwidths, in bytes per cycle of one core, from vector loads of b bytes: L1 b, L2 0.6 b, L3 at most 10,
 * memory at most 5.5 (line-fill buffers bound both, not the width). Measured on servers with b = 64 at 2.96 GHz:
 * 69, 42, 10, 5.4.
 * AMX multiplies 16x16x32 bfloat16 (16x16x64 int8) in 16 cycles: 1,024 (2,048) operations a cycle; nine tenths of that
 * are sustained, since the clock falls. i8mm multiplies 2x2x8 bytes an instruction, 64 operations, on each port; the
 * tenth that is not sustained is for rows that are put together. Integer dot products (VNNI, dotprod) do four times the
 * float32 work an instruction; without them three instructions do that. avx512bf16 does the work of fma on some
 * machines and twice that on others (Zen 4), so it counts for nothing.
 */
#include "base/words.h"
#include "machine/machine.h"

#include <string.h>

typedef struct simd {
    const char *arch, *feature;
    uint32_t vector_bits, n_regs, fma_ports;
} simd;

/* The first row whose architecture begins the triple and whose feature (NULL: any) is there. */
static const simd simd_rows[] = {
    {"x86_64", "avx512f", 512, 32, 2},
    {"x86_64", "fma", 256, 16, 2},
    {"x86_64", "avx", 256, 16, 1},
    {"x86_64", NULL, 128, 16, 1},
    {"i", "sse2", 128, 8, 1}, /* i386 to i686 */
    {"i", NULL, 32, 8, 1},
    {"aarch64", NULL, 128, 32, 2},
    {"arm64", NULL, 128, 32, 2},
    {"arm", "neon", 128, 16, 1},
    {"thumb", "neon", 128, 16, 1},
    {"riscv", "v", 128, 32, 1},
    {"wasm", "simd128", 128, 16, 1},
    {"arm", NULL, 32, 16, 1},
    {"thumb", NULL, 32, 16, 1},
    {"riscv", NULL, 32, 32, 1},
    {"", NULL, 32, 16, 1},
};

static const struct {
    enum tn_ability ability;
    const char *arch, *feature;
} given[] = {
#define GIVEN(id, arch, feature) {TN_CAN_##id, arch, feature},
#include "machine/abilities.def"
};

static bool arch_is(const tn_machine *m, const char *arch)
{
    return strncmp(m->triple, arch, strlen(arch)) == 0;
}

bool tn_machine_has(const tn_machine *m, const char *feature)
{
    return tn_words_hold(m->feature, m->n_feature, feature);
}

bool tn_machine_given(const tn_machine *m, const char *arch, const char *feature)
{
    return strcmp(arch, tn_machine_arch(m)) == 0 && (!*feature || tn_machine_has(m, feature));
}

bool tn_machine_can(const tn_machine *m, enum tn_ability ability)
{
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].ability == ability && tn_machine_given(m, given[i].arch, given[i].feature))
            return true;
    return false;
}

static const simd *simd_of(const tn_machine *m)
{
    const simd *r = simd_rows;
    while (!arch_is(m, r->arch) || (r->feature && !tn_machine_has(m, r->feature)))
        r++; /* the last row fits all */
    return r;
}

/* Zen 4 executes 512 bits in two halves. It has avx512bf16 and vaes; other CPUs that have both have one of the rest. */
static bool halves_avx512(const tn_machine *m)
{
    return tn_machine_has(m, "avx512bf16") && tn_machine_has(m, "vaes") && !tn_machine_has(m, "avxvnni") &&
           !tn_machine_has(m, "avx512fp16") && !tn_machine_has(m, "amx-tile");
}

static double least(double a, double b) { return a < b ? a : b; }

static void default_real(double *field, double v) { *field = *field > 0 ? *field : v; }

static void default_u32(uint32_t *field, uint32_t v) { *field = *field ? *field : v; }

double tn_machine_read_cycles(const tn_machine *m, double bytes, double all)
{
    double rate = all <= (double)m->l2_bytes   ? m->l2_gb_s
                  : all <= (double)m->l3_bytes ? m->l3_gb_s
                                               : m->mem_gb_s;
    return bytes * m->clock_ghz / rate;
}

double tn_machine_fetch_cycles(const tn_machine *m, double bytes)
{
    double beyond = (double)m->l2_bytes + 1;
    return tn_machine_read_cycles(m, bytes, bytes < beyond ? beyond : bytes);
}

bool tn_machine_holds(const tn_machine *m, double bytes)
{
    return bytes <= (double)(m->l3_bytes ? m->l3_bytes : 4 * m->l2_bytes);
}

int tn_machine_block(const tn_machine *m) { return (int)(m->vector_bits / 32); }

double tn_machine_flops_a_cycle(const tn_machine *m) { return m->vector_bits / 32.0 * m->fma_ports * 2; }

tn_tiles tn_machine_tiles(const tn_machine *m, uint32_t bytes)
{
    if (bytes <= 2 && tn_machine_has(m, bytes == 1 ? "amx-int8" : "amx-bf16"))
        return (tn_tiles){2048.0 / bytes, .registers = 8, .sums = 6, .of_factor = 1, .ends = 3, .reads = 4};
    if (bytes == 1 && tn_machine_given(m, "AArch64", "i8mm"))
        return (tn_tiles){64.0 * m->fma_ports, .registers = 32, .sums = 16,
                          .of_factor = 2,      .ends = 3,       .reads = 2};
    return (tn_tiles){0};
}

static double int8_gops(const tn_machine *m)
{
    double tiles = tn_machine_tiles(m, 1).ops_a_cycle;
    if (tiles > 0)
        return 0.9 * tiles * m->clock_ghz;
    bool dot =
        tn_machine_has(m, "avx512vnni") || tn_machine_has(m, "avxvnni") || tn_machine_has(m, "dotprod");
    bool bytes = tn_machine_has(m, "avx2") || tn_machine_has(m, "avx512bw");
    return m->peak_gflops * (dot ? 4 : bytes ? 4.0 / 3 : 1);
}

void tn_machine_derive(tn_machine *m)
{
    const simd *s = simd_of(m);
    m->name = m->name ? m->name : m->triple;
    default_u32(&m->cores, 1);
    default_u32(&m->vector_bits, s->vector_bits);
    default_u32(&m->n_vector_regs, s->n_regs);
    default_u32(&m->fma_ports, halves_avx512(m) ? 1 : s->fma_ports);
    default_real(&m->clock_ghz, 2.0);
    if (m->l1_bytes == 0 && m->l2_bytes == 0 && m->l3_bytes == 0) {
        m->l1_bytes = 32 << 10;
        m->l2_bytes = 256 << 10;
    }
    double vector_bytes = m->vector_bits / 8.0;
    default_real(&m->l1_gb_s, vector_bytes * m->clock_ghz);
    default_real(&m->l2_gb_s, 0.6 * vector_bytes * m->clock_ghz);
    default_real(&m->l3_gb_s, least(10, 0.5 * vector_bytes) * m->clock_ghz);
    default_real(&m->mem_gb_s, least(5.5, 0.4 * vector_bytes) * m->clock_ghz);
    default_real(&m->peak_gflops, tn_machine_flops_a_cycle(m) * m->clock_ghz);
    default_real(&m->int8_gops, int8_gops(m));
    default_real(&m->bf16_gflops, 0.9 * tn_machine_tiles(m, 2).ops_a_cycle * m->clock_ghz);
}

uint32_t tn_features_vector_bytes(size_t n, const char *const feature[])
{
    uint32_t bits = 128;
    for (size_t i = 0; i < sizeof simd_rows / sizeof *simd_rows; i++)
        if (simd_rows[i].feature && simd_rows[i].vector_bits > bits &&
            tn_words_hold(feature, n, simd_rows[i].feature))
            bits = simd_rows[i].vector_bits;
    return bits / 8;
}
