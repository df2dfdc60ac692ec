#ifndef TN_CODEGEN_CODEGEN_H
#define TN_CODEGEN_CODEGEN_H
/* What every code generator takes: a unit of flat kernels and the AOT program; what it gives: text or bytes
 * that meet the runtime only through tenon/abi.h. A backend walks the same flat TIR in the same order; tables
 * indexed by expression and statement kind are complete by static assert. Output is deterministic. */
#include "ir/metadata.h"
#include "lower/lower.h"
#include "program/program.h"

enum { TN_OPERATIONS_FLOAT, TN_OPERATIONS_BFLOAT16, TN_OPERATIONS_INTEGER, TN_N_OPERATIONS };
typedef struct tn_kernel_ir {
    const char *name;   /* C identifier, func_name of mod.json */
    const char *source; /* model nodes */
    uint32_t n_in, n_out;
    /* all with the same parameters and symbols (first one's order counts) */
    uint32_t n_variant;
    const tn_flat *variant;
    const tn_expr *operations[TN_N_OPERATIONS]; /* fields of tn_operations; NULL: 0 */
} tn_kernel_ir;

typedef struct tn_unit {
    tn_ctx *ctx;
    const char *name;              /* module name, "default" */
    const char *producer, *target; /* for the library header */
    const char *const *feature;
    uint32_t n_feature;
    uint32_t n_kernel;
    const tn_kernel_ir *kernel;
    const tn_program_ir *program; /* may be NULL */
    uint32_t n_metadata;
    const tn_metadata *metadata; /* what the model says of itself */
    const char *note;            /* what is inside, for `verify`; an ELF note of the library. NULL: none */
    bool private;                /* C: the query function is static, for text that goes on */
} tn_unit;

/* ---- C (codegen/source) ---- */
/* One self-contained C file (includes nothing but what it defines; GNU vector extensions where lanes > 1). Bit-equal to
 * the interpreter when compiled without contraction; the file sets that by pragma for gcc and clang. */
TN_WARN_UNUSED tn_status tn_emit_c(const tn_unit *u, tn_buf *out);
/* The same as files to be compiled apart and linked together: the tables, then the kernels in at most max -
 * 1. What lies where depends on the unit and max alone. The caller frees out[0..*out_n). */
TN_WARN_UNUSED tn_status tn_emit_c_parts(const tn_unit *u, uint32_t max, tn_buf out[], uint32_t *out_n);

/* ---- what every generator is told ---- */
/* Objects made before, by a hash of all they are made of. Both are called from several threads at once. */
typedef struct tn_code_cache {
    void *user;
    bool (*load)(void *user, const uint8_t key[32], tn_buf *out); /* false: not there */
    void (*save)(void *user, const uint8_t key[32], const tn_buf *code);
} tn_code_cache;
typedef struct tn_code_options {
    const char *triple;         /* NULL: this machine */
    const char *features;       /* LLVM feature string "+avx2,+fma"; NULL: from unit->feature */
    int opt_level;              /* 0..3, of the machine code generator */
    const tn_code_cache *cache; /* NULL: none */
    unsigned threads;           /* at most so many at once; 0: one for each CPU */
} tn_code_options;

/* ---- LLVM (codegen/llvm, a shared object opened on first use) ---- */
enum tn_llvm_form { TN_LLVM_LL, TN_LLVM_ASM, TN_LLVM_OBJECT };
typedef struct tn_jit tn_jit;
/* The shared object's only export; the argument goes to tn_guard_share. */
typedef const struct tn_llvm_api *tn_llvm_get(tn_guard **(*place)(void));
typedef struct tn_llvm_api {
    uint32_t version; /* TN_LLVM_INTERFACE, a number of the headers it was built with */
    tn_status (*emit)(const tn_unit *u, const tn_code_options *o, enum tn_llvm_form form, tn_buf *out);
    /* Objects of a unit, to be linked together: the tables, then the kernels in at most max - 1; which kernel goes
     * where depends on the unit and max alone. With a cache, each kernel has a context of its own. The caller frees
     * out[0..*out_n). */
    tn_status (*objects)(const tn_unit *u, const tn_code_options *o, uint32_t max, tn_buf out[],
                         uint32_t *out_n);
    /* Compiles a unit into this process, with a cache as `objects` does, else as one object; library: what
     * tenon_library_query would return. */
    tn_status (*jit)(const tn_unit *u, const tn_code_options *o, tn_jit **out_jit,
                     const tn_library **out_library);
    void (*jit_free)(tn_jit *j);
    void (*jit_keep)(tn_jit *j); /* it outlives the heap that it was made in: whoever keeps it frees it */
    void (*llvm_version)(unsigned out[3]);
} tn_llvm_api;
/* The folder of what Tenon opens or links while it works: $TENON_LIBDIR, else ../lib/tenon beside this program's (or
 * library's) folder. */
void tn_library_folder(tn_buf *out);
/* codegen-E001 where LLVM is not installed, codegen-E013 where another build of it is; ctx NULL: nothing is
 * reported. */
TN_WARN_UNUSED tn_status tn_llvm_open(tn_ctx *ctx, const tn_llvm_api **out);
/* LLVM is large, and to load it takes as long as to compile a kernel. Begins that on a thread of its own; what fails is
 * for tn_llvm_open to find. The result's end waits for the thread. */
tn_resource *tn_llvm_open_early(void);

/* ---- generators as rows (generators.c): targets name one, and nobody else asks which it is ---- */
typedef struct tn_generator {
    const char *name;
    bool multiplies_tiles; /* it has the instructions of units that do (tir/unit.def, MATRIX) */
    bool gives_text;       /* parts are C texts, of which a C compiler makes objects; else they are objects */
    bool caches_kernels;   /* it looks for each kernel in the cache itself */
    /* Begins to load what it needs; NULL: nothing. The result's end waits. */
    tn_resource *(*open_early)(void);
    /* A unit as parts to be linked together, max at the most. The caller frees out[0..*out_n). */
    tn_status (*parts)(const tn_unit *u, const tn_code_options *o, uint32_t max, tn_buf out[],
                       uint32_t *out_n);
    tn_status (*text)(const tn_unit *u, tn_buf *out); /* as one text that compilers take; NULL: it has none */
    /* Code in this process, which outlives the heap that it was made in until here_free(its resource, whose `at` is the
     * code); NULL: none. */
    tn_status (*here)(const tn_unit *u, const tn_code_options *o, void **out_code,
                      const tn_library **out_library);
    void (*here_free)(tn_resource *code);
} tn_generator;
extern const tn_generator tn_generator_llvm, tn_generator_c;

/* The bytes of the section .note.tenon (name "Tenon", type 1, data unit->note); nothing if there is no note. */
void tn_unit_note(const tn_unit *u, tn_buf *out);

/* Is parameter number i of a phase apart from all others in memory? Not so outputs and the inputs they lie over. */
bool tn_flat_apart(const tn_flat *v, uint32_t param);

/* Helpers shared by backends. The loop over the steps of a kernel, whose list holds the phases; NULL: one step, the
 * phases stand at the top level. */
const tn_stmt *tn_flat_steps(const tn_func *f);
const tn_body *tn_flat_phase_list(const tn_func *f);
/* The phases of a flat function, in order. */
uint32_t tn_flat_phases(const tn_func *f, uint32_t max, const tn_stmt *out[]);
/* The first of the statements up to `loop` itself whose checks the tasks of this phase make: those behind the last
 * phase before it that is known to have tasks. */
const tn_stmt *tn_flat_first_check(const tn_stmt *loop);
/* The place of a check among those of the function, from 1; NULL: how many there are. */
uint32_t tn_flat_check_number(const tn_func *f, const tn_stmt *check);
/* CHECK texts of a kernel in order of appearance (index + 1 is the phase status). */
uint32_t tn_flat_checks(const tn_kernel_ir *k, uint32_t max, const char *out[]);

#endif
