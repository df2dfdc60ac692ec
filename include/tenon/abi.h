#ifndef TENON_ABI_H
#define TENON_ABI_H
/* What compiled code and the runtime agree on, and nothing else (docs/abi.md).
 *
 * mod.so of a package exports exactly one symbol, tenon_library_query. Everything is constant data and
 * functions reached from the tn_library it returns. Structs carry a version and reserved words: fields are never
 * moved or re-used within a version. Compiled code has no undefined symbols but memcpy and memset.
 *
 * Vocabulary
 *   symbol   a run-time dimension (batch, sequence length); call->sym[i], in elements
 *   size     a number known at compile time, or a function of the symbols
 *   kernel   one fused group; arguments are inputs then outputs
 *   variant  one way to run a kernel; the first whose guard holds is taken
 *   phase    part of a variant whose tasks may run in any order in parallel
 *   scratch  memory of one worker, 64-byte aligned, contents unspecified at the start of every task
 *   work     memory of one call, 64-byte aligned, shared by all tasks; lives through all phases and steps
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_ABI_VERSION 0u
#define TENON_QUERY_SYMBOL "tenon_library_query"

typedef int64_t tn_size_fn(const int64_t *sym);

typedef struct tn_size { /* fn == NULL: value; else fn(sym) */
    int64_t value;
    tn_size_fn *fn;
} tn_size;

typedef struct tn_host { /* services the host offers to compiled code; none in version 0 */
    uint32_t version, reserved0;
    void *reserved[7];
} tn_host;

typedef struct tn_call { /* shared by all tasks of a call, read-only */
    void *const *arg;    /* n_in inputs then n_out outputs; first element of each dense tensor */
    const int64_t *sym;  /* the kernel's symbols; NULL if it has none */
    void *work;          /* NULL if the variant needs none */
    const tn_host *host; /* never NULL */
    void *user;          /* what the host keeps for this kernel (tnr_parts.user); NULL for compiled code */
    void *reserved[1];
} tn_call;

/* Runs task `task` of step `step`. 0, or a positive status: 1 + index into the kernel's `check` texts
 * (a run-time check failed). Must not unwind. */
typedef int32_t tn_phase_fn(const tn_call *call, uint32_t step, uint32_t task, void *scratch);

enum tn_phase_flag { TN_PHASE_NO_BARRIER = 1 }; /* the next phase may start before this one has ended */

typedef struct tn_phase {
    tn_phase_fn *run;
    tn_size tasks;  /* >= 0, <= UINT32_MAX */
    uint32_t flags; /* enum tn_phase_flag */
    uint32_t reserved0;
} tn_phase;

typedef struct tn_variant {
    tn_size guard;         /* taken if non-zero */
    tn_size steps;         /* the phase list runs this often, usually 1 */
    tn_size work_bytes;
    uint64_t scratch_bytes;
    const tn_phase *phase;
    uint64_t n_phase; /* 0: nothing to do, all outputs are empty */
} tn_variant;

typedef struct tn_kernel {
    const char *name;   /* as in mod.json func_name, e.g. "tvmgen_default_fused_nn_dense_nn_relu" */
    const char *source; /* model nodes it computes, "Gemm_0, Relu_1"; for messages */
    const tn_variant *variant;
    const char *const *check; /* texts of the run-time checks; n_check entries */
    uint32_t n_variant, n_check;
    uint32_t n_in, n_out, n_sym;
    uint32_t in_place; /* bit k: the output (the only one) may have the memory of input k; 0: it overlaps nothing */
} tn_kernel;

/* ---- the AOT program: constant instructions over slots and symbols ---- */

enum tn_slot_kind { TN_SLOT_INPUT, TN_SLOT_OUTPUT, TN_SLOT_CONST, TN_SLOT_TEMP };

typedef struct tn_slot {
    const char *name;    /* graph input/output name; CONST: entry of mod.params; TEMP: "" */
    uint32_t kind;       /* enum tn_slot_kind */
    uint8_t code, bits;  /* DLPack type code and bits; lanes is 1 */
    uint16_t ndim;
    const tn_size *dim;  /* ndim entries, logical shape, in elements */
    const int32_t *bind; /* INPUT: per dimension the symbol it binds (first use), or -1: checked; else NULL */
    tn_size bytes;       /* of the physical (laid out) value */
    tn_size offset;      /* TEMP: in the arena, multiple of 64; OUTPUT: -1, or in the arena */
    int64_t alias;       /* OUTPUT: the INPUT, CONST or OUTPUT slot it equals, to be copied at the end; else -1 */
} tn_slot;

enum tn_inst_op {
    TN_INST_CALL = 0, /* a: kernel, operands: slots (inputs then outputs), then the program symbols that are
                              the kernel's symbols; then, maybe, a TEMP slot: the call's work memory */
    TN_INST_COPY = 1, /* operands: from slot, to slot; equal bytes */
    TN_INST_FAIL = 2, /* a: index into text */
    TN_INST_JUMP = 3, /* a: instruction */
    TN_INST_JUMP_FALSE = 4, /* a: instruction, operands: slot (bool scalar) */
    TN_INST_BIND = 5,       /* a: symbol, one of the last n_late; operands: index into size, its value */
    TN_INST_BIND_SLOT = 6,  /* a: the same; operands: slot of integers, element */
    TN_INST_CHECK =
        7, /* a: index into text; operands: slot of integers, element, index into size: both are equal */
    TN_INST_JUMP_ZERO = 9,  /* a: instruction, operands: index into size; taken if that is 0 */
    TN_INST_SET = 10,       /* operands: slot of one int64, index into size: it becomes that */
    TN_INST_STORE = 11,     /* operands: from slot, to slot, index into size: row of `to`, as large as `from` */
    TN_INST_PLAN = 8        /* a: segment, from 1: its slots get memory for the symbols as they are now */
};

typedef struct tn_inst {
    uint32_t op, a;
    uint32_t operand, n_operand; /* range in program->operand */
    const char *node;            /* model nodes, for messages and profiles */
} tn_inst;

typedef struct tn_symbol {
    const char *name; /* "n", "batch_size" */
    int64_t min, max; /* inclusive range; checked when bound */
} tn_symbol;

typedef struct tn_program {
    const tn_slot *slot;
    const tn_symbol *symbol;
    const tn_inst *inst;
    const uint32_t *operand;
    const char *const *text;
    uint32_t n_slot, n_symbol, n_inst, n_operand, n_text;
    uint32_t n_late;     /* the last n_late symbols are bound by instructions, all others by inputs */
    tn_size arena_bytes; /* exact: temporaries at their offsets, work memory */
    tn_size work_offset; /* from here to the end of the arena: work memory of calls that name no slot for it */
    /* What symbols bound during the run need; NULL and 0 where there are none. */
    const tn_size *size;          /* of BIND and CHECK */
    const tn_size *segment_bytes; /* arena of segment 1, 2, ... */
    const uint32_t
        *slot_segment; /* n_slot entries: 0, or the segment whose PLAN places the slot; offsets are in its
                                     arena */
    uint32_t n_size, n_segment;
} tn_program;

typedef struct tn_library {
    uint32_t version;   /* TENON_ABI_VERSION it was built for */
    uint32_t n_kernel;
    const tn_kernel *kernel;
    const tn_program *program;  /* NULL: kernels only */
    const char *producer;       /* "tenon 0.1.0" */
    const char *target;         /* target text it was compiled for */
    /* CPU features it needs, LLVM spelling ("avx512f"), each checked before the first call */
    const char *const *feature;
    uint32_t n_feature, reserved0;
    void *reserved[4];
} tn_library;

/* NULL if the library needs a newer host than max_version. */
typedef const tn_library *tn_library_query_fn(uint32_t max_version);

/* A self-contained model: its kernels and its weights. One of these stands behind the functions of the generated
 * header. A self-contained library exports no tenon_library_query, which two of them in one process would fight
 * over, but tvmgen_<module>_library, a tn_bundle_fn, whose name stands in the ELF note "Tenon" of type 2. */
typedef struct tn_bundle {
    tn_library_query_fn *query;
    const void *params; /* the mod.params blob, 64-byte aligned */
    uint64_t params_bytes;
    void *state;        /* of the runtime that is linked in; NULL at first */
} tn_bundle;
typedef const tn_bundle *tn_bundle_fn(void);

#ifndef __cplusplus
_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(tn_size) == 16 && sizeof(tn_call) == 48 && sizeof(tn_phase) == 32 &&
                    sizeof(tn_variant) == 72 && sizeof(tn_kernel) == 56 && sizeof(tn_slot) == 72 &&
                    sizeof(tn_inst) == 24 && sizeof(tn_symbol) == 24 && sizeof(tn_library) == 88 &&
                    sizeof(tn_program) == 128),
               "ABI structs must not change size within a version");
#endif

#ifdef __cplusplus
}
#endif
#endif
