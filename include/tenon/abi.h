#ifndef TENON_ABI_H
#define TENON_ABI_H
/* The complete interface between compiled code and the runtime (docs/abi.md).
 *
 * The mod.so of a package exports exactly one symbol, tenon_library_query. Everything else is constant data and
 * functions that are reached from the tn_library it returns. Structs carry a version and reserved words; within a
 * version, fields are never moved or reused. The only undefined symbols of compiled code are memcpy and memset.
 *
 * Vocabulary
 *   symbol   a dimension known at run time (batch, sequence length); call->sym[i], in elements
 *   size     a number known at compile time, or a function of the symbols
 *   kernel   one fused group; its arguments are the inputs, then the outputs
 *   variant  one way to run a kernel; the first variant whose guard holds runs
 *   phase    part of a variant; its tasks may run in parallel and in any order
 *   scratch  memory of one worker, 64-byte aligned, contents unspecified at the start of every task
 *   work     memory of one call, 64-byte aligned, shared by all tasks; lives through all phases and steps
 *   function instructions over slots and symbols; a frame is one activation of it
 *   state    memory of an instance that survives its runs
 *   handle   a counted reference to a value: a tensor, closure, constructor, reference or string
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_ABI_VERSION 1u
#define TENON_ABI_OLDEST 1u /* the runtime reads versions from here on */
#define TENON_QUERY_SYMBOL "tenon_library_query"

/* Defined whatever the symbols are: a division by 0 gives 0. */
typedef int64_t tn_size_fn(const int64_t *sym);

typedef struct tn_size { /* the number is fn(sym), or value if fn is NULL */
    int64_t value;
    tn_size_fn *fn;
} tn_size;

typedef struct tn_host { /* services the host offers to compiled code; none in version 1 */
    uint32_t version, reserved0;
    void *reserved[7];
} tn_host;

typedef struct tn_call { /* shared by all tasks of a call, read-only */
    void *const *arg;    /* the first element of each dense tensor: n_in inputs, then n_out outputs */
    const int64_t *sym;  /* the kernel's symbols; NULL if it has none */
    void *work;          /* NULL if the variant needs none */
    const tn_host *host; /* never NULL */
    void *user;          /* what the host keeps for this kernel (tnr_parts.user); NULL for compiled code */
    void *reserved[1];
} tn_call;

/* Runs task `task` of step `step`. Returns 0, or 1 + an index into the kernel's `check` texts if a run-time check
 * failed. Must not unwind. */
typedef int32_t tn_phase_fn(const tn_call *call, uint32_t step, uint32_t task, void *scratch);

/* A phase that a device runs: extents of grid and block, and bytes of shared memory. Its arguments are the kernel's; a
 * device's memory is a handle and an offset, which only the runtime sees. */
typedef struct tn_launch {
    const char *function; /* of the kernel's module */
    tn_size grid[3], block[3];
    tn_size shared_bytes;
} tn_launch;

enum tn_phase_flag { TN_PHASE_NO_BARRIER = 1 }; /* the next phase may start before this one has ended */

typedef struct tn_phase {
    tn_phase_fn *run; /* NULL: launch */
    tn_size tasks;    /* >= 0, <= UINT32_MAX */
    uint32_t flags;   /* enum tn_phase_flag */
    uint32_t reserved0;
    const tn_launch *launch; /* NULL: run */
} tn_phase;

typedef struct tn_variant {
    tn_size guard; /* the variant may run if this is not 0 */
    tn_size steps; /* how many times the list of phases runs, usually 1 */
    tn_size work_bytes;
    uint64_t scratch_bytes;
    const tn_phase *phase;
    uint64_t n_phase; /* 0: nothing to do, all outputs are empty */
} tn_variant;

enum tn_overlap_kind {
    TN_OVERLAP_MAY = 0, /* the result may use the operand's memory */
    TN_OVERLAP_MUST = 1 /* the result is the operand, changed in place; a call has one STATE slot for both */
};

typedef struct tn_overlap {
    uint16_t in, out; /* numbers of an input and of an output */
    uint32_t kind;    /* enum tn_overlap_kind */
} tn_overlap;

typedef struct tn_kernel {
    const char *name;   /* as in mod.json func_name, e.g. "tvmgen_default_fused_nn_dense_nn_relu" */
    const char *source; /* the model nodes it computes, "Gemm_0, Relu_1"; for messages */
    const tn_variant *variant;
    const char *const *check; /* texts of the n_check run-time checks */
    uint32_t n_variant, n_check;
    uint32_t n_in, n_out, n_sym;
    uint32_t n_overlap;
    const tn_overlap *overlap; /* pairs that may or must share memory; no other result overlaps anything */
    const char *function;      /* its name in another module; NULL in this library */
    uint32_t module;           /* index into tn_library.module; 0: this library */
    uint32_t device;           /* index into tn_library.device: where its arguments lie; 0: the host */
} tn_kernel;

/* The arithmetic of one call of a kernel; a multiply-add counts 2 (docs/cli.md, "Arithmetic", says what counts). */
typedef struct tn_operations {
    tn_size floats, bfloat16,
        integers; /* bfloat16: multiply-adds of bfloat16 values; integers: of integers */
} tn_operations;

/* ---- the program: functions of constant instructions over slots and symbols ---- */

enum tn_slot_kind { TN_SLOT_INPUT, TN_SLOT_OUTPUT, TN_SLOT_CONST, TN_SLOT_TEMP, TN_SLOT_STATE };

enum tn_slot_storage {
    TN_STORAGE_BYTES,  /* elements in memory */
    TN_STORAGE_HANDLE, /* a handle, NULL until it is written; has no dimensions, bytes and offset */
    TN_STORAGE_POOL /* TEMP: elements in a block of the instance's pool, which RENEW takes and gives back */
};

typedef struct tn_slot {
    const char *name;      /* of the input or output; CONST: entry of mod.params; TEMP: "" */
    uint8_t kind, storage; /* enum tn_slot_kind, enum tn_slot_storage */
    uint8_t code, bits;    /* DLPack type code and bits; lanes is 1 */
    uint16_t ndim;
    uint16_t device;    /* index into tn_library.device; 0: the host */
    const tn_size *dim; /* ndim entries, logical shape, in elements; STATE: its capacity */
    /* INPUT: for each dimension the symbol it binds (first use), or -1: only checked; else NULL */
    const int32_t *bind;
    tn_size bytes; /* size of the physical (laid out) value */
    tn_size
        offset; /* TEMP: place in the arena, a multiple of 64, of the pool -1; OUTPUT: place in the arena, or -1 */
    /* OUTPUT: the INPUT, CONST or OUTPUT slot that is copied to it at the end; STATE: index into the program's
     * states; else -1 */
    int64_t alias;
    uint32_t segment; /* 0, or the segment whose PLAN places it and whose arena its offset refers to */
    uint32_t reserved0;
} tn_slot;

enum tn_inst_op {
#define INST(name, number, family, a, operands, doc) TN_INST_##name = number,
#include "tenon/inst.def"
#undef INST
    TN_INST_COUNT
};

typedef struct tn_inst {
    uint32_t op, a;              /* enum tn_inst_op; tenon/inst.def says what `a` is */
    uint32_t operand, n_operand; /* its range in the function's operands */
    const char *node;            /* names of model nodes, for messages and profiles */
} tn_inst;

typedef struct tn_symbol {
    const char *name; /* "n", "batch_size" */
    int64_t min, max; /* inclusive range, checked when the symbol is bound */
} tn_symbol;

typedef struct tn_program_function { /* a frame of it has the slots' memory, the symbols and the arenas */
    const char *name;                /* "main" */
    const tn_slot *slot;
    const tn_symbol *symbol;
    const tn_inst *inst;
    const uint32_t *operand;
    uint32_t n_slot, n_symbol, n_inst, n_operand;
    uint32_t n_late; /* instructions bind the last n_late symbols; inputs bind all others */
    uint32_t n_size, n_segment;
    uint32_t reserved0;
    tn_size arena_bytes; /* exact size: temporaries at their offsets, and work memory */
    tn_size
        work_offset; /* work memory of calls that name no slot for it: from here to the end of the arena */
    /* For symbols that are bound during the run; NULL if there are none. */
    const tn_size *size;          /* what instructions refer to by index */
    const tn_size *segment_bytes; /* size of the arena of segment 1, 2, ... */
} tn_program_function;

typedef struct tn_state { /* two instances share none */
    const char *name;
    const char
        *initial; /* entry of mod.params with its first contents; NULL: zeros, or what `init` computes */
    const tn_size *dim; /* ndim entries: the capacity, numbers */
    uint64_t bytes;     /* of the capacity */
    uint64_t extent;    /* the first extent along `axis` */
    uint8_t code, bits;
    uint16_t ndim;
    int16_t axis; /* along which it grows up to its capacity; -1: it does not */
    uint16_t device;
    int32_t init; /* function without inputs whose only output is the first contents; -1: none */
    uint32_t reserved0;
} tn_state;

typedef struct tn_program {
    const tn_program_function *function; /* the first one is main */
    const tn_state *state;
    const char *const *text;
    uint32_t n_function, n_state, n_text;
    uint32_t depth; /* frames at most; 0: as many as the runtime allows */
    void *reserved[2];
} tn_program;

/* Code that is not in this library: a device's, or an external code generator's. */
typedef struct tn_module {
    const char *name,
        *kind;        /* "mod.1.cuda", "cuda"; a runtime that does not know the kind refuses the package */
    const void *blob; /* its contents; NULL: the package has a file of that name */
    uint64_t bytes;
    const uint32_t *import; /* modules that it needs, by index; each is below its own */
    uint32_t n_import, reserved0;
} tn_module;

typedef struct tn_device {
    const char *kind; /* "cpu" */
    uint32_t id;
    uint32_t align; /* of values in its memory, in bytes; a power of two */
} tn_device;

typedef struct tn_library {
    uint32_t version; /* the TENON_ABI_VERSION that the library was built for */
    uint32_t n_kernel;
    const tn_kernel *kernel;
    const tn_program *program; /* NULL: kernels only */
    const char *producer;      /* "tenon 0.1.0" */
    const char *target;        /* the target it was compiled for, as text */
    /* the CPU features it needs, in LLVM's spelling ("avx512f"); all are checked before the first call */
    const char *const *feature;
    uint32_t n_feature;
    uint32_t n_metadata;
    const char *const *metadata;     /* n_metadata times key, value: what the model says of itself */
    const tn_operations *operations; /* n_kernel entries; NULL: not known */
    const tn_module *module;         /* entry 0 is this library; NULL: there are no others */
    const tn_device *device;         /* entry 0 is the host; NULL: there are no others */
    uint32_t n_module, n_device;
    void *reserved[4];
} tn_library;

/* Returns NULL if the library needs a newer host than max_version. */
typedef const tn_library *tn_library_query_fn(uint32_t max_version);

/* A self-contained model: its kernels and its weights. The functions of the generated header use one of these. A
 * self-contained library does not export tenon_library_query, because two such libraries in one process would clash.
 * It exports tvmgen_<module>_library, a tn_bundle_fn, and names it in the ELF note "Tenon" of type 2. */
typedef struct tn_bundle {
    tn_library_query_fn *query;
    const void *params; /* the mod.params blob, 64-byte aligned */
    uint64_t params_bytes;
    void *state; /* belongs to the linked-in runtime; NULL at first */
} tn_bundle;
typedef const tn_bundle *tn_bundle_fn(void);

#ifndef __cplusplus
_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(tn_size) == 16 && sizeof(tn_call) == 48 && sizeof(tn_launch) == 120 &&
                    sizeof(tn_phase) == 40 && sizeof(tn_variant) == 72 && sizeof(tn_overlap) == 8 &&
                    sizeof(tn_kernel) == 80 && sizeof(tn_slot) == 80 && sizeof(tn_inst) == 24 &&
                    sizeof(tn_symbol) == 24 && sizeof(tn_program_function) == 120 && sizeof(tn_state) == 56 &&
                    sizeof(tn_program) == 56 && sizeof(tn_module) == 48 && sizeof(tn_device) == 16 &&
                    sizeof(tn_library) == 128 && sizeof(tn_operations) == 48),
               "ABI structs must not change size within a version");
#endif

#ifdef __cplusplus
}
#endif
#endif
