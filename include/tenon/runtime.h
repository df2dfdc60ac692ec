#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H
/* The Tenon runtime: loads a compiled package and runs it. Plain C over libc, libm, pthreads and dlopen; it
 * never exits, prints or longjmps. docs/abi.md describes packages, memory, threads and floating point.
 *
 *     tnr_module *m; tnr_instance *i; DLTensor y; tnr_error err;
 *     if (tnr_module_open("model.tar", NULL, &m, &err) || tnr_instance_new(m, NULL, &i, &err) ||
 *         tnr_set_input(i, "x", &x, &err) || tnr_run(i, &err) || tnr_get_output_at(i, 0, &y, &err))
 *         fprintf(stderr, "%s\n", err.message);
 *
 * Conventions, true of every function below unless it says otherwise
 *   result    0 (TNR_OK) or one of enum tnr_code; on failure out parameters are untouched and *err is filled
 *             in. `err` may be NULL. On success *err is untouched.
 *   units     shapes and dimensions in elements, sizes in bytes, times in nanoseconds
 *   names     NUL-terminated UTF-8; returned strings live as long as the module
 *   threads   functions of a module may be called from any thread at any time. An instance may be used by one
 *             thread at a time; several instances of one module may run at once.
 *   ownership what a *_new or *_open returns belongs to the caller; all else is borrowed
 */
#include "tenon/abi.h"
#include "tenon/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TNR_CHECKED __attribute__((warn_unused_result))
#else
#define TNR_CHECKED
#endif

typedef int tnr_status;

enum tnr_code {
    TNR_OK = 0,
    TNR_E_ARG = 1,      /* an argument makes no sense (NULL, index out of range, unknown option) */
    TNR_E_MEMORY = 2,   /* an allocation failed */
    TNR_E_IO = 3,       /* a file cannot be opened, read or mapped */
    TNR_E_FORMAT = 4,   /* a package, its json, its parameters or its tables are damaged or not understood */
    TNR_E_VERSION = 5,  /* made for a newer (or no) ABI */
    TNR_E_CPU = 6,      /* this machine lacks a CPU feature the package needs */
    TNR_E_NAME = 7,     /* no input, output or parameter of that name */
    TNR_E_DTYPE = 8,    /* a tensor's element type is not the expected one */
    TNR_E_SHAPE = 9,    /* a tensor's rank or dimensions do not fit, or contradict those of another tensor */
    TNR_E_LAYOUT = 10,  /* a tensor is strided, misaligned, on a device, overlapping, or without data */
    TNR_E_STATE = 11,   /* called at the wrong time (input missing, not run yet, running in another thread) */
    TNR_E_CHECK = 12,   /* the model's own run-time check failed; the message names the node */
    TNR_E_EXECUTOR = 13 /* the package cannot be run by the executor asked for */
};

typedef struct tnr_error {
    int32_t code; /* enum tnr_code */
    int32_t reserved0;
    uint64_t position; /* where: byte of a file or blob, instruction of a program, node of mod.json; else 0 */
    char message[256]; /* one sentence, NUL-terminated; whole characters, no control bytes */
} tnr_error;

typedef struct tnr_module tnr_module;     /* a loaded package: code, program, weights; immutable, counted */
typedef struct tnr_instance tnr_instance; /* one executor over a module: its arena, inputs and outputs */
typedef struct tnr_params tnr_params;     /* tensors by name, read from a mod.params blob */

/* The runtime's version, "0.1.0". */
const char *tnr_version(void);

/* ---- modules ---- */

enum tnr_module_flag {
    TNR_MODULE_READ = 1, /* read the file instead of mapping it: it may then change while the module lives */
    TNR_MODULE_TEMP_FILE = 2 /* open mod.so through a temporary file even where memfd works (for tests) */
};

typedef struct tnr_module_options { /* zero-initialise; NULL means all defaults */
    uint32_t flags;                 /* enum tnr_module_flag */
    uint32_t reserved0;
    void *reserved[3];
} tnr_module_options;

/* Load a package: a tar that holds mod.so and mod.params, and mod.json where the graph is static.
 *
 *   effect  maps the file (weights are used in place where they start at a multiple of 64 bytes, else
 *           copied), opens mod.so privately, checks its version, its CPU features and every table once
 *   note    a package is native code: opening one runs it with the rights of the caller. The file must not be
 *           truncated or overwritten in place while the module lives, unless TNR_MODULE_READ
 *   fails   TNR_E_IO, TNR_E_FORMAT, TNR_E_VERSION, TNR_E_CPU, TNR_E_MEMORY
 *   owns    *out_module has one reference, released with tnr_module_release */
TNR_CHECKED tnr_status tnr_module_open(const char *path, const tnr_module_options *options,
                                       tnr_module **out_module, tnr_error *err);

/* The same over a tar that lies in memory. `data` is borrowed until the module is gone. */
TNR_CHECKED tnr_status tnr_module_open_memory(const void *data, size_t n, const tnr_module_options *options,
                                              tnr_module **out_module, tnr_error *err);

typedef struct
    tnr_parts { /* a package's parts that are in memory already (a JIT, or one .so with everything) */
    const tn_library *library;
    const char *json; /* NULL: no graph executor */
    size_t json_n;
    const void *params; /* NULL: no constants */
    size_t params_n;
    void *reserved[2];
} tnr_parts;

/* The same checks and the same module from parts; all of them are borrowed until the module is gone. */
TNR_CHECKED tnr_status tnr_module_open_parts(const tnr_parts *parts, tnr_module **out_module, tnr_error *err);

/* Count references, atomically. Instances hold one each. release(NULL) does nothing. */
void tnr_module_retain(tnr_module *module);
void tnr_module_release(tnr_module *module);

/* What it was made by ("tenon 0.1.0") and for (target text). */
const char *tnr_module_producer(const tnr_module *module);
const char *tnr_module_target(const tnr_module *module);

/* Bytes of weights in use (fillers excluded). */
uint64_t tnr_module_constant_bytes(const tnr_module *module);

enum tnr_executor { TNR_EXECUTOR_AOT = 0, TNR_EXECUTOR_GRAPH = 1 };

/* Whether the module can be run so: 1 or 0. */
int tnr_module_has_executor(const tnr_module *module, int executor);

typedef struct tnr_tensor_info {
    const char *name; /* outputs of packages with mod.json alone are "output_0", ... */
    DLDataType dtype;
    int32_t ndim;
    const int64_t *shape; /* ndim extents; -1: symbolic */
    const char *const
        *symbol; /* ndim names; NULL where the extent is fixed, "?" where it is an expression such as 4*h */
} tnr_tensor_info;

/* The model's inputs and outputs, in the model's order. info: index >= count is TNR_E_ARG. */
uint32_t tnr_input_count(const tnr_module *module);
uint32_t tnr_output_count(const tnr_module *module);
TNR_CHECKED tnr_status tnr_input_info(const tnr_module *module, uint32_t index, tnr_tensor_info *out_info,
                                      tnr_error *err);
TNR_CHECKED tnr_status tnr_output_info(const tnr_module *module, uint32_t index, tnr_tensor_info *out_info,
                                       tnr_error *err);

/* Index of a name, or -1. */
int64_t tnr_input_find(const tnr_module *module, const char *name);
int64_t tnr_output_find(const tnr_module *module, const char *name);

typedef struct tnr_symbol_info {
    const char *name;
    int64_t min, max; /* inclusive */
} tnr_symbol_info;

uint32_t tnr_symbol_count(const tnr_module *module);
TNR_CHECKED tnr_status tnr_symbol_info_get(const tnr_module *module, uint32_t index,
                                           tnr_symbol_info *out_info, tnr_error *err);

/* The parameters the package carries (fillers excluded); borrowed from the module. Never NULL. */
const tnr_params *tnr_module_params(const tnr_module *module);

/* ---- instances ---- */

enum tnr_instance_flag {
    /* A debug run: every input, output and temporary has memory of its own between two guards, which are looked at
     * after each instruction; what was written outside of a value is TNR_E_CHECK and names node, kernel and
     * slot. Memory begins as NaN. Slow, and takes as much memory as all values together. */
    TNR_INSTANCE_CHECK = 1
};

typedef struct tnr_instance_options { /* zero-initialise; NULL means all defaults */
    int32_t executor;                 /* enum tnr_executor */
    int32_t threads; /* threads that take part in a run, the caller included; 0: the pool's number */
    uintptr_t flags; /* enum tnr_instance_flag; others are TNR_E_ARG */
    void *reserved[2];
} tnr_instance_options;

/* Make an executor with its own arena; weights stay shared. Retains the module.
 *   fails  TNR_E_EXECUTOR (the package lacks that executor), TNR_E_ARG, TNR_E_MEMORY */
TNR_CHECKED tnr_status tnr_instance_new(tnr_module *module, const tnr_instance_options *options,
                                        tnr_instance **out_instance, tnr_error *err);
void tnr_instance_free(tnr_instance *instance); /* NULL does nothing; not while it runs */
tnr_module *tnr_instance_module(const tnr_instance *instance);

/* Give an input, without copying.
 *
 *   tensor  CPU memory, dense row-major, first element aligned to its element size; dtype, rank and fixed
 *           dimensions as tnr_input_info says; symbolic dimensions within their ranges, or 0 where the range
 *           begins at 1: the run then gives empty outputs, or is refused if one would have elements.
 *           bool (6, 8 bits) and uint 1 are one type.
 *   effect  shape is copied; the data is borrowed: it must stay valid, and unchanged by others, during every
 *           tnr_run until another tensor is given for this input. Symbols are bound by tnr_run, from all
 *           inputs together.
 *   fails   TNR_E_NAME, TNR_E_DTYPE, TNR_E_SHAPE, TNR_E_LAYOUT; the input then keeps what it had */
TNR_CHECKED tnr_status tnr_set_input(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                     tnr_error *err);
TNR_CHECKED tnr_status tnr_set_input_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor,
                                        tnr_error *err);

/* Have an output written to the caller's memory (same demands as for inputs). It must overlap no input and no
 * other output (checked by tnr_run) and stay valid until replaced; tensor NULL: back to the instance's own
 * memory. The shape must equal the output's shape in every run that follows. */
TNR_CHECKED tnr_status tnr_set_output(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                      tnr_error *err);
TNR_CHECKED tnr_status tnr_set_output_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor,
                                         tnr_error *err);

/* Run once, on the calling thread and the pool.
 *
 *   needs   every input set
 *   effect  binds symbols; reallocates the arena only if they changed; computes all outputs. Runs with the
 *           default floating-point control (round to nearest, denormals kept, traps masked) and restores the
 *           caller's. Results are the same bits for every number of threads.
 *   fails   TNR_E_STATE (an input is missing, already running), TNR_E_SHAPE (symbols contradict),
 *           TNR_E_MEMORY, TNR_E_CHECK (position: the instruction), TNR_E_FORMAT (the program contradicts
 *           itself). Outputs are then unspecified and tnr_get_output refuses until a run succeeds; the
 *           instance stays usable. */
TNR_CHECKED tnr_status tnr_run(tnr_instance *instance, tnr_error *err);

/* Look at an output of the last run: *out_view (strides NULL, byte_offset 0) points into the instance, or
 * into the caller's memory if given; valid until the next tnr_run, tnr_set_output or tnr_instance_free.
 * fails: TNR_E_STATE, TNR_E_NAME */
TNR_CHECKED tnr_status tnr_get_output(tnr_instance *instance, const char *name, DLTensor *out_view,
                                      tnr_error *err);
TNR_CHECKED tnr_status tnr_get_output_at(tnr_instance *instance, uint32_t index, DLTensor *out_view,
                                         tnr_error *err);

/* Copy an output of the last run into `tensor` (CPU, dense, same dtype and shape). */
TNR_CHECKED tnr_status tnr_copy_output(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                       tnr_error *err);
TNR_CHECKED tnr_status tnr_copy_output_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor,
                                          tnr_error *err);

typedef struct tnr_memory { /* bytes; exact for the dimensions bound */
    uint64_t constants;     /* weights, shared by all instances of the module */
    uint64_t arena;         /* temporaries and kernels' work memory */
    uint64_t inputs;        /* held by the caller */
    uint64_t outputs;       /* outside the arena: the instance's, or the caller's */
    uint64_t scratch;       /* per-thread scratch times threads */
} tnr_memory;

/* Memory of a run with the inputs set now; a model without symbols needs none set. Peak: the sum of all
 * fields.
 *   fails  TNR_E_STATE (a symbol is not bound by the inputs set so far), TNR_E_SHAPE */
TNR_CHECKED tnr_status tnr_memory_get(tnr_instance *instance, tnr_memory *out_memory, tnr_error *err);
TNR_CHECKED tnr_status tnr_peak_bytes(tnr_instance *instance, uint64_t *out_bytes, tnr_error *err);

typedef struct tnr_profile_event { /* valid during the callback */
    const char *node;              /* model nodes, "Gemm_0, Relu_1" */
    const char *kernel;            /* func_name; "__copy" for a copy */
    uint64_t nanoseconds;          /* wall time of this instruction */
    uint32_t index;                /* instruction */
    uint32_t variant;              /* which variant of the kernel ran */
    uint32_t n_in, n_out;
    const DLTensor *arg; /* n_in + n_out views: inputs and outputs of the model in their shapes, other values as
                            they lie in memory (blocks of channels); a result may lie over an argument */
    const uint32_t *slot; /* n_in + n_out: their slots */
} tnr_profile_event;

/* Called on the thread that runs, after each instruction. It must not call functions of that instance. */
typedef void tnr_profile_fn(void *user, const tnr_profile_event *event);

/* Set (or with NULL remove) the hook; costs nothing when absent. */
void tnr_profile_set(tnr_instance *instance, tnr_profile_fn *fn, void *user);

/* ---- debugging: a run one kernel at a time ---- */

/* A run that stops after each kernel. Between two steps all that other functions of the instance say is true of
 * the run before; setting an input or an output, and tnr_run, end a stepped run.
 *
 *     tnr_debug_begin(i, &err);
 *     for (int done = 0; !tnr_debug_step(i, &event, &done, &err) && !done;) look_at(&event);
 *
 *   begin   what tnr_run does before the first kernel. fails as tnr_run
 *   step    runs the next kernel or copy, and the control flow before it. *out_event as the hook of tnr_profile_set
 *           gets it, valid until the next call for this instance. *out_done is 1 when nothing was left to run:
 *           outputs may be looked at then, *out_event is untouched. fails as tnr_run, TNR_E_STATE (not begun) */
TNR_CHECKED tnr_status tnr_debug_begin(tnr_instance *instance, tnr_error *err);
TNR_CHECKED tnr_status tnr_debug_step(tnr_instance *instance, tnr_profile_event *out_event, int *out_done,
                                      tnr_error *err);

/* Run from the beginning until `name` is computed and look at it: a node of the model, then *out_view is the result of
 * the kernel that computes it (which may go on to other nodes fused with it), or an input or output of the model.
 * The stepped run stands behind that kernel. *out_view is valid until the next call for this instance.
 *   fails  TNR_E_NAME (no kernel computes it, or none did in this run), as tnr_run */
TNR_CHECKED tnr_status tnr_debug_value(tnr_instance *instance, const char *name, DLTensor *out_view, tnr_error *err);

typedef struct tnr_kernel_info { /* one kernel call or copy of the program */
    const char *node;   /* model nodes, "Gemm_0, Relu_1" */
    const char *kernel; /* func_name; "__copy" */
    uint32_t index;     /* instruction, as in tnr_profile_event */
    uint32_t n_in, n_out;
    const uint32_t *slot; /* n_in + n_out; valid as long as the module */
} tnr_kernel_info;

/* The calls and copies of the program, in its order. info: index >= count is TNR_E_ARG. */
uint32_t tnr_kernel_count(const tnr_instance *instance);
TNR_CHECKED tnr_status tnr_kernel_info_get(const tnr_instance *instance, uint32_t index, tnr_kernel_info *out_info,
                                           tnr_error *err);

/* What a slot is called: an input's, output's or parameter's name; "" for other values, and where there is no
 * such slot. */
const char *tnr_slot_name(const tnr_instance *instance, uint32_t slot);

/* ---- threads ---- */

/* The process has one pool, started at the first run that can use it: as many threads (the caller included)
 * as TVM_NUM_THREADS, else OMP_NUM_THREADS, else the cores this process may use (affinity mask, one thread
 * per core, cgroup quota rounded up) say.
 * tnr_threads_set: n > 0 (at most 256) sets that number, 0 goes back to the default; waits for the workers to
 * leave their tasks. With n = 1 no worker is left: do so before unloading the runtime.
 * tnr_threads_get: that number. Thread-safe, both. After fork() the child starts workers of its own. */
TNR_CHECKED tnr_status tnr_threads_set(int32_t n, tnr_error *err);
int32_t tnr_threads_get(void);

/* ---- parameters ---- */

/* Read a mod.params blob. `data` is borrowed until tnr_params_free: tensors that start at a multiple of 64
 * bytes are used in place, others are copied (so every tensor is 64-byte aligned). Fillers (uint8 entries
 * named "__pad<digits>") are skipped.   fails  TNR_E_FORMAT (position: byte), TNR_E_MEMORY */
TNR_CHECKED tnr_status tnr_params_open(const void *data, size_t n, tnr_params **out_params, tnr_error *err);
void tnr_params_free(tnr_params *params); /* NULL does nothing; not for what tnr_module_params returns */
uint32_t tnr_params_count(const tnr_params *params);

/* Tensor by index (in the blob's order; out_name may be NULL) or by name; *out_view lives as long as params.
 * Never write to it. */
TNR_CHECKED tnr_status tnr_params_at(const tnr_params *params, uint32_t index, const char **out_name,
                                     DLTensor *out_view, tnr_error *err);
TNR_CHECKED tnr_status tnr_params_find(const tnr_params *params, const char *name, DLTensor *out_view,
                                       tnr_error *err);

/* ---- tensors ---- */

/* "float32", "bool", "bfloat16", "int8x4"; writes at most n bytes, NUL included. Returns buffer. */
char *tnr_dtype_print(DLDataType dtype, char *buffer, size_t n);

/* Bytes of a dense tensor (types below 8 bits: bool is a byte, others are packed over the whole tensor).
 *   fails  TNR_E_SHAPE (negative extent, overflow), TNR_E_DTYPE (bits or lanes 0) */
TNR_CHECKED tnr_status tnr_tensor_bytes(DLDataType dtype, int32_t ndim, const int64_t *shape,
                                        uint64_t *out_bytes, tnr_error *err);

#ifdef __cplusplus
}
#endif
#endif
