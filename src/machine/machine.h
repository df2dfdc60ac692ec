#ifndef TN_MACHINE_MACHINE_H
#define TN_MACHINE_MACHINE_H
/* What a machine can do: the numbers that schedules, algorithms and cost models ask for.
 *
 * Detected here, read from a JSON file (--machine FILE), or derived from a triple and features (cross compilation).
 * Decisions ask for features, sizes and rates; `name` is for people alone and CPU models are known nowhere.
 * Rates are those of one core that runs alone, so they are comparable with each other; totals multiply by cores up
 * to what is shared. Clock and the arithmetic rates of the machine at hand are measured (measure.h), so they waver a
 * little: reports and choices between algorithms that differ much may use them. A schedule must not, since the same
 * machine gives the same code every time; it counts cycles (tn_machine_flops_a_cycle).
 *
 *   peak_gflops = vector_bits/32 * fma_ports * 2 * clock_ghz      float32
 */
#include "base/ctx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_machine {
    const char *name;           /* for people */
    const char *triple;         /* as LLVM writes it, "x86_64-unknown-linux-gnu" */
    const char *const *feature; /* n_feature names in LLVM's spelling, "avx512f" */
    size_t n_feature;
    const char *clock_from, *rates_from; /* for people: how these are known; NULL: by a formula */
    uint32_t cores;                      /* physical ones that may be used, >= 1 */
    uint32_t vector_bits;                /* of one vector register, a power of two >= 32 */
    uint32_t n_vector_regs;
    uint32_t fma_ports;                         /* vector multiply-adds a cycle that tiles provide for */
    double clock_ghz;                           /* sustained */
    uint64_t l1_bytes, l2_bytes;                /* data, of one core; 0: none */
    uint64_t l3_bytes;                          /* of all cores together; 0: none */
    double l1_gb_s, l2_gb_s, l3_gb_s, mem_gb_s; /* 10^9 bytes/s one core reads, data being in that level */
    double peak_gflops; /* 10^9 float32 operations/s of one core; a multiply-add is two */
    double int8_gops;   /* the same of the best integer dot product of bytes */
    double bf16_gflops; /* and of bfloat16; 0 where converting to float32 is no slower */
} tn_machine;

/* The machine this process runs on. Strings live in ctx. Never fails for want of information: what neither the system
 * nor a measurement tells is assumed, on the low side. */
TN_WARN_UNUSED tn_status tn_machine_detect(tn_ctx *ctx, tn_machine *out);
/* The same with /sys and /proc below `root` ("" is the real ones), and nothing measured. */
TN_WARN_UNUSED tn_status tn_machine_detect_at(tn_ctx *ctx, const char *root, tn_machine *out);

/* Fills every field that is 0 from the others: registers from triple and features, caches, clock and rates by the
 * conservative formulae in derive.c. Needs triple; strings are kept, name becomes the triple if it is NULL. */
void tn_machine_derive(tn_machine *m);

/* One that has what every machine of the triple has, to be derived. */
void tn_machine_of_triple(tn_ctx *ctx, const char *triple, tn_machine *out);
/* "x86", "AArch64", "Arm", "RISC-V"; "" where no features are known. */
const char *tn_machine_arch(const tn_machine *m);
/* Is it the name of a feature of m's architecture, whether m has it or not? */
bool tn_machine_knows(const tn_machine *m, const char *name);

/* Changes the features to those of a CPU and a list, and sets to 0 what follows from them (tn_machine_derive). The CPU
 * (NULL: none) is a name that LLVM knows ("skylake-avx512", "generic") and stands for its features alone. The list is
 * "+avx2,+fma", "-avx512f" or "". The features begin with what every machine of the triple has and the CPU's; without
 * a CPU with the former where the list has a `+`, and with m's own where it has none. +x brings what x needs, -x takes
 * what needs x along. Errors: machine-E005 (the architecture has no such feature), -E006 (a word without its sign),
 * -E007 (-x of what every machine of the architecture has), -E009 (the architecture has no such CPU), -E010
 * (no CPUs of the architecture are known). */
TN_WARN_UNUSED tn_status tn_machine_attributes(tn_ctx *ctx, const char *cpu, const char *list, tn_machine *m);

/* A JSON object of the members that tn_machine_print writes. Rates may be absent (derived); all else must
 * be there, nothing else may. Errors: machine-E001 (not JSON), -E002 (unknown member), -E003 (missing member),
 * -E004 (wrong kind or range). */
TN_WARN_UNUSED tn_status tn_machine_read(tn_ctx *ctx, const char *path, tn_machine *out);
TN_WARN_UNUSED tn_status tn_machine_parse(tn_ctx *ctx, const char *file, const char *text, size_t n,
                                          tn_machine *out);
void tn_machine_print(const tn_machine *m, tn_buf *out); /* reads back to an equal machine */

/* Whether the machine lists a feature, by LLVM's name. For what a machine can do, whatever its ISA calls it: */
bool tn_machine_has(const tn_machine *m, const char *feature);
enum tn_ability {
#define ABILITY(id, what) TN_CAN_##id,
#include "machine/abilities.def"
    TN_N_ABILITIES
};
bool tn_machine_can(const tn_machine *m, enum tn_ability ability);
/* Whether it is of the architecture, as tn_machine_arch names it, and lists a feature of it ("": any has it). For rows
 * that name features. */
bool tn_machine_given(const tn_machine *m, const char *arch, const char *feature);

/* Takes the features away that give an ability, and the rates that follow from them. */
void tn_machine_without(tn_ctx *ctx, enum tn_ability ability, tn_machine *m);

/* Of the machine's features, those that generated code uses and a package therefore needs; room for n_feature names.
 * Returns how many there are. */
size_t tn_machine_code_features(const tn_machine *m, const char **out);
/* C compilers for its architecture take -mFEATURE for each of them. */
bool tn_machine_has_flags(const tn_machine *m);
/* C text has to tell the compiler, by a pragma, that it may use the feature. */
bool tn_feature_is_told(const char *name);
/* Bytes of the widest vector register that machines with these features have; 16 at least. */
uint32_t tn_features_vector_bytes(size_t n, const char *const feature[]);
/* Cycles in which one core reads so many bytes, which lie where there is room for `all` of them. */
double tn_machine_read_cycles(const tn_machine *m, double bytes, double all);
/* The same of bytes that were not read lately: they come from beyond L2, at best. */
double tn_machine_fetch_cycles(const tn_machine *m, double bytes);
/* Does the last cache hold so many bytes? Where that is L2, up to four times as many cost little more. */
bool tn_machine_holds(const tn_machine *m, double bytes);
/* Elements of a block of channels in layouts: the float32 of a vector. */
int tn_machine_block(const tn_machine *m);
/* float32 operations a cycle of one core, by fma_ports; the same in every process. */
double tn_machine_flops_a_cycle(const tn_machine *m);
/* How it multiplies tiles of factors of so many bytes (TN_CAN_TILES). The same in every process. */
typedef struct tn_tiles {
    double ops_a_cycle;  /* of one core; 0: it has none */
    int registers, sums; /* how many it has for them; the most accumulators */
    int of_factor;       /* registers that a factor takes */
    int ends;            /* products that one takes as long as whose factors are copied first */
    double reads;        /* factors that are read in the time of a product */
} tn_tiles;
tn_tiles tn_machine_tiles(const tn_machine *m, uint32_t bytes);

#endif
