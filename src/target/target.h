#ifndef TN_TARGET_TARGET_H
#define TN_TARGET_TARGET_H
/* What can be compiled for. */
#include "codegen/codegen.h"

/* The loop pipelines (pipelines.c). */
extern const tn_pipeline tn_pipeline_cpu;

/* The options of a target's text; NULL: not given. */
typedef struct tn_target_options {
    const char *mcpu, *mattr, *mtriple, *cores;
    const char *machine_file; /* not part of the text: a description instead of the machine at hand */
} tn_target_options;

typedef struct tn_target tn_target;
typedef tn_status tn_target_machine(tn_ctx *ctx, const tn_target_options *o, tn_target *t, tn_machine *out);

/* A row of targets.def. */
typedef struct tn_target_row {
    const char *name, *options;
    tn_target_machine *machine;
    const tn_generator *generator;
    const tn_pipeline *pipeline;
    const char *doc;
} tn_target_row;
enum tn_target_id {
#define TARGET(id, ...) TN_TARGET_##id,
#include "target/targets.def"
#undef TARGET
    TN_N_TARGETS
};
extern const tn_target_row tn_target_rows[TN_N_TARGETS];
/* The row of that name, n bytes; NULL: there is none. */
const tn_target_row *tn_target_find(const char *name, size_t n);
/* The row that the first word of a text names; NULL: none. */
const tn_target_row *tn_target_of_text(const char *text);

struct tn_target {
    const tn_target_row *row;
    const char *text;   /* as given */
    const char *triple; /* NULL: this machine */
};

/* A target's text (NULL: the default), "llvm -mattr=+avx2 -num-cores=4", and the machine that it means.
 * Strings live in ctx. driver-E001 to E003, E080, E094. */
TN_WARN_UNUSED tn_status tn_target_read(tn_ctx *ctx, const char *text, const char *machine_file,
                                        tn_target *out, tn_machine *out_machine);

/* Machines and systems by triples (triple.c). Why Tenon cannot make code for one; NULL: it can. */
const char *tn_triple_obstacle(const char *triple);
/* Its code does not run here. */
bool tn_triple_is_foreign(const char *triple);
uint16_t tn_triple_machine(const char *triple);      /* e_machine of its ELF files; EM_NONE: unknown */
const char *tn_triple_arch_of(uint16_t elf_machine); /* how its triples begin */

#endif
