#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H
/* The Tenon runtime: loads a compiled package and runs it. It is plain C on top of libc, libm, pthreads and
 * dlopen, and it never exits, prints or longjmps. docs/abi.md describes packages, memory, threads and floating point.
 *
 *     tnr_module *m; tnr_instance *i; DLTensor y; tnr_error err;
 *     if (tnr_module_open("model.tar", NULL, &m, &err) || tnr_instance_new(m, NULL, &i, &err) ||
 *         tnr_set_input(i, "x", &x, &err) || tnr_run(i, &err) || tnr_get_output_at(i, 0, &y, &err))
 *         fprintf(stderr, "%s\n", err.message);
 *
 * These conventions hold for every function below unless its comment says otherwise:
 *   result    0 (TNR_OK) or one of enum tnr_code. A failure leaves out parameters unchanged and fills in *err.
 *             `err` may be NULL. Success leaves *err unchanged.
 *   units     shapes and dimensions in elements, sizes in bytes, times in nanoseconds
 *   names     NUL-terminated UTF-8; returned strings live as long as the module
 *   threads   Functions on a module may be called from any thread at any time. Only one thread at a time may use
 *             an instance; several instances of one module may run at once.
 *   ownership The caller owns what *_new and *_open return; everything else is borrowed.
 */
#include "tenon/abi.h"
#include "tenon/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#define TNR_CHECKED __attribute__((warn_unused_result))
#else
#define TNR_CHECKED
#endif

typedef int tnr_status;

enum tnr_code {
    TNR_OK = 0,
    TNR_E_ARG = 1,     /* an argument is invalid (NULL, index out of range, unknown option) */
    TNR_E_MEMORY = 2,  /* an allocation failed */
    TNR_E_IO = 3,      /* a file cannot be opened, read or mapped */
    TNR_E_FORMAT = 4,  /* a package, its JSON, its parameters or its tables are damaged or not understood */
    TNR_E_VERSION = 5, /* the package needs a newer ABI, or names none */
    TNR_E_CPU = 6,     /* this machine lacks a CPU feature the package needs */
    TNR_E_NAME = 7,    /* no input, output or parameter has that name */
    TNR_E_DTYPE = 8,   /* a tensor does not have the expected element type */
    TNR_E_SHAPE = 9,   /* a tensor's rank or dimensions do not match, or contradict those of another tensor */
    TNR_E_LAYOUT = 10, /* a tensor is strided, misaligned, on a device, overlapping, or without data */
    TNR_E_STATE = 11,  /* called at the wrong time (input missing, not run yet, running in another thread) */
    TNR_E_CHECK = 12,  /* a run-time check of the model failed; the message names the node */
    TNR_E_EXECUTOR = 13, /* the requested executor cannot run the package */
    TNR_E_CANCEL = 14    /* the flag of tnr_cancel_set has ended the run */
};

typedef struct tnr_error {
    int32_t code; /* enum tnr_code */
    int32_t reserved0;
    uint64_t position; /* byte of a file or blob, instruction of a program, or node of mod.json; else 0 */
    char message[256]; /* one sentence, NUL-terminated, without partial characters or control bytes */
} tnr_error;

typedef struct tnr_module
    tnr_module; /* a loaded package: code, program, weights; immutable, reference-counted */
typedef struct tnr_instance tnr_instance; /* one executor for a module, with its arena, inputs and outputs */
typedef struct tnr_params tnr_params;     /* named tensors, read from a mod.params blob */

/* The runtime's version, "0.1.0". */
const char *tnr_version(void);

/* ---- modules ---- */

enum tnr_module_flag {
    TNR_MODULE_READ =
        1, /* read the file instead of mapping it; the file may then change while the module lives */
    TNR_MODULE_CHECK_WEIGHTS = 4, /* compare the weights with their checksum, which reads all of them */
    TNR_MODULE_TEMP_FILE = 2 /* open mod.so through a temporary file even where memfd works (for tests) */
};

typedef struct tnr_module_options { /* zero-initialise; NULL means all defaults */
    uint32_t flags;                 /* enum tnr_module_flag */
    uint32_t reserved0;
    void *reserved[3];
} tnr_module_options;

/* Load a package: a tar with mod.so, mod.params and, if the graph is static, mod.json.
 *
 *   effect  Maps the file, opens mod.so privately, and checks its version, its CPU features and every table once.
 *           Weights that start at a multiple of 64 bytes are used in place; others are copied.
 *   note    A package is native code: opening one runs it with the rights of the caller. Unless TNR_MODULE_READ is
 *           set, the file must not be truncated or overwritten in place while the module lives.
 *   fails   TNR_E_IO, TNR_E_FORMAT, TNR_E_VERSION, TNR_E_CPU, TNR_E_MEMORY
 *   owns    *out_module has one reference, released with tnr_module_release */
TNR_CHECKED tnr_status tnr_module_open(const char *path, const tnr_module_options *options,
                                       tnr_module **out_module, tnr_error *err);

/* Load a package from a tar in memory. `data` is borrowed for as long as the module lives. */
TNR_CHECKED tnr_status tnr_module_open_memory(const void *data, size_t n, const tnr_module_options *options,
                                              tnr_module **out_module, tnr_error *err);

typedef struct
    tnr_parts { /* a package's parts that are already in memory (from a JIT, or from one .so with everything) */
    const tn_library *library;
    const char *json; /* NULL: no graph executor */
    size_t json_n;
    const void *params; /* NULL: no constants */
    size_t params_n;
    void *const *user; /* library->n_kernel pointers: tn_call.user of each kernel; NULL: none */
    void *reserved[1];
} tnr_parts;

/* Make a module from parts, with the same checks. All parts are borrowed for as long as the module lives. */
TNR_CHECKED tnr_status tnr_module_open_parts(const tnr_parts *parts, tnr_module **out_module, tnr_error *err);

/* Add or drop a reference, atomically. Each instance holds one. release(NULL) does nothing. */
void tnr_module_retain(tnr_module *module);
void tnr_module_release(tnr_module *module);

/* What made the package ("tenon 0.1.0"), and the target it was made for, as text. */
const char *tnr_module_producer(const tnr_module *module);
const char *tnr_module_target(const tnr_module *module);

/* Bytes of weights, without fillers. */
uint64_t tnr_module_constant_bytes(const tnr_module *module);

enum tnr_executor { TNR_EXECUTOR_AOT = 0, TNR_EXECUTOR_GRAPH = 1 };

/* 1 if that executor can run the module, else 0. */
int tnr_module_has_executor(const tnr_module *module, int executor);

typedef struct tnr_tensor_info {
    const char *name; /* the model's; outputs without a name are "output_0", ... */
    DLDataType dtype;
    int32_t ndim;
    const int64_t *shape; /* ndim extents; -1: symbolic */
    const char *const
        *symbol; /* ndim names; NULL where the extent is fixed, "?" where it is an expression such as 4*h */
} tnr_tensor_info;

/* The model's inputs and outputs, in the model's order. An index >= count is TNR_E_ARG. */
uint32_t tnr_input_count(const tnr_module *module);
uint32_t tnr_output_count(const tnr_module *module);
TNR_CHECKED tnr_status tnr_input_info(const tnr_module *module, uint32_t index, tnr_tensor_info *out_info,
                                      tnr_error *err);
TNR_CHECKED tnr_status tnr_output_info(const tnr_module *module, uint32_t index, tnr_tensor_info *out_info,
                                       tnr_error *err);

/* The index of a name, or -1. Output N is also found as "output_N", unless an output has that name itself; so it is in
 * every function that takes the name of an output. */
int64_t tnr_input_find(const tnr_module *module, const char *name);
int64_t tnr_output_find(const tnr_module *module, const char *name);

/* What the model says of itself, as text in the model's order: "producer_name", "producer_version", "domain",
 * "model_version", "doc_string", and "metadata_props.KEY" for each property of its own. Absent entries are left out.
 * tnr_metadata: the value of the first entry with that key, or NULL. An index >= count is TNR_E_ARG. */
uint32_t tnr_metadata_count(const tnr_module *module);
TNR_CHECKED tnr_status tnr_metadata_at(const tnr_module *module, uint32_t index, const char **out_key,
                                       const char **out_value, tnr_error *err);
const char *tnr_metadata(const tnr_module *module, const char *key);

typedef struct tnr_symbol_info {
    const char *name;
    int64_t min, max; /* inclusive */
} tnr_symbol_info;

uint32_t tnr_symbol_count(const tnr_module *module);
TNR_CHECKED tnr_status tnr_symbol_info_get(const tnr_module *module, uint32_t index,
                                           tnr_symbol_info *out_info, tnr_error *err);

/* The parameters in the package, without fillers. Borrowed from the module; never NULL. */
const tnr_params *tnr_module_params(const tnr_module *module);

/* ---- instances ---- */

enum tnr_instance_flag {
    /* A debug run: every input, output and temporary has memory of its own between two guards, which are looked at
     * after each instruction; what was written outside of a value is TNR_E_CHECK and names node, kernel and
     * slot. Memory begins as NaN. The tasks of a kernel run last to first, on the calling thread: results that differ
     * from those of another run come from tasks that depend on each other. Slow, and takes as much memory as all
     * values together. */
    TNR_INSTANCE_CHECK = 1
};

typedef struct tnr_instance_options { /* zero-initialise; NULL means all defaults */
    int32_t executor;                 /* enum tnr_executor */
    int32_t threads; /* number of threads in a run, the caller included; 0: as many as the pool has */
    uintptr_t flags; /* enum tnr_instance_flag; others are TNR_E_ARG */
    void *reserved[2];
} tnr_instance_options;

/* Make an executor with its own arena. It shares the weights and retains the module.
 *   fails  TNR_E_EXECUTOR (the package lacks that executor), TNR_E_ARG, TNR_E_MEMORY */
TNR_CHECKED tnr_status tnr_instance_new(tnr_module *module, const tnr_instance_options *options,
                                        tnr_instance **out_instance, tnr_error *err);
void tnr_instance_free(tnr_instance *instance); /* NULL does nothing; must not be called during a run */
tnr_module *tnr_instance_module(const tnr_instance *instance);

/* Set an input, without copying it.
 *
 *   tensor  In CPU memory, dense and row-major, with the first element aligned to the element size. The dtype, rank
 *           and fixed dimensions must match tnr_input_info. A symbolic dimension must be in its range, or 0 if the
 *           range begins at 1: the run then returns empty outputs, or is refused if an output would have elements.
 *           bool (code 6, 8 bits) and uint with 1 bit are the same type.
 *   effect  Copies the shape and borrows the data. The data must stay valid and unchanged during every tnr_run
 *           until another tensor is set for this input. tnr_run binds the symbols, from all inputs together.
 *   fails   TNR_E_NAME, TNR_E_DTYPE, TNR_E_SHAPE, TNR_E_LAYOUT; the input then keeps its previous tensor */
TNR_CHECKED tnr_status tnr_set_input(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                     tnr_error *err);
TNR_CHECKED tnr_status tnr_set_input_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor,
                                        tnr_error *err);

/* Make runs write an output to the caller's memory, which must meet the same requirements as an input. It must not
 * overlap any input or other output (tnr_run checks this), and it must stay valid until replaced. In every run that
 * follows, its shape must equal the output's shape. NULL for tensor returns to the instance's own memory. */
TNR_CHECKED tnr_status tnr_set_output(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                      tnr_error *err);
TNR_CHECKED tnr_status tnr_set_output_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor,
                                         tnr_error *err);

/* Run once, on the calling thread and the pool.
 *
 *   needs   every input is set
 *   effect  Binds the symbols, reallocates the arena only if they changed, and computes all outputs. Runs with the
 *           default floating-point control (round to nearest, denormals kept, traps masked) and restores the
 *           caller's. Results have the same bits for every number of threads.
 *   fails   TNR_E_STATE (an input is missing, or the instance is already running), TNR_E_SHAPE (symbols contradict
 *           each other), TNR_E_MEMORY, TNR_E_CHECK (position: the instruction), TNR_E_FORMAT (the program
 *           contradicts itself). Outputs are then unspecified, and tnr_get_output fails until a run succeeds. The
 *           instance stays usable. */
TNR_CHECKED tnr_status tnr_run(tnr_instance *instance, tnr_error *err);

/* View an output of the last run. *out_view (strides NULL, byte_offset 0) points into the instance, or into the
 * caller's memory if that was set. It is valid until the next tnr_run, tnr_set_output or tnr_instance_free.
 *   fails  TNR_E_STATE, TNR_E_NAME */
TNR_CHECKED tnr_status tnr_get_output(tnr_instance *instance, const char *name, DLTensor *out_view,
                                      tnr_error *err);
TNR_CHECKED tnr_status tnr_get_output_at(tnr_instance *instance, uint32_t index, DLTensor *out_view,
                                         tnr_error *err);

/* The shape that the next run will give output `index`, as the inputs say that are set now; so that memory
 * for it can be set before. out_shape: an extent for each dimension that tnr_output_info tells; -1 where only
 * the run knows it, which it does alone where an extent of an input is 0, or where the run will refuse the
 * inputs.
 *   fails  TNR_E_STATE (an input is not set), TNR_E_SHAPE (inputs contradict each other) */
TNR_CHECKED tnr_status tnr_output_shape(tnr_instance *instance, uint32_t index, int64_t *out_shape,
                                        tnr_error *err);

/* Copy an output of the last run into `tensor`, which must be in CPU memory, dense, and of the same dtype and shape. */
TNR_CHECKED tnr_status tnr_copy_output(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                       tnr_error *err);
TNR_CHECKED tnr_status tnr_copy_output_at(tnr_instance *instance, uint32_t index, const DLTensor *tensor,
                                          tnr_error *err);

typedef struct tnr_memory { /* in bytes; exact for the bound dimensions */
    uint64_t constants;     /* weights, shared by all instances of the module */
    uint64_t arena;         /* temporaries, and work memory of kernels */
    uint64_t inputs;        /* held by the caller */
    uint64_t outputs;       /* outside the arena, held by the instance or the caller */
    uint64_t scratch;       /* scratch per thread, times the number of threads */
    uint64_t states;        /* held by the instance from the first to the last run */
} tnr_memory;

/* The memory of a run with the inputs that are set now. A model without symbols needs no input set. The peak is the
 * sum of all fields.
 *   fails  TNR_E_STATE (the inputs set so far leave a symbol unbound), TNR_E_SHAPE */
TNR_CHECKED tnr_status tnr_memory_get(tnr_instance *instance, tnr_memory *out_memory, tnr_error *err);
TNR_CHECKED tnr_status tnr_peak_bytes(tnr_instance *instance, uint64_t *out_bytes, tnr_error *err);

/* ---- states: memory of an instance that survives its runs ---- */

typedef struct tnr_state_info {
    const char *name;
    DLDataType dtype;
    int32_t ndim;
    int32_t axis;     /* along which it grows; -1: it does not */
    int64_t capacity; /* the largest extent there; -1 if it does not grow */
    uint64_t bytes;
} tnr_state_info;

/* The states of the module. Each instance has its own. An index >= count is TNR_E_ARG. */
uint32_t tnr_state_count(const tnr_module *module);
TNR_CHECKED tnr_status tnr_state_info_get(const tnr_module *module, uint32_t index, tnr_state_info *out_info,
                                          tnr_error *err);

/* A state as the last run left it, or with its first contents if none has run. A run that fails leaves states as the
 * instructions before the failure left them.
 *   get    views it with its current extent; strides are those of its capacity (NULL: it does not grow). The
 *   view is valid
 *          until the next get of this state; runs change what it shows.
 *   set    copies a dense tensor in, whose extent along the growing axis becomes the state's
 *   reset  gives all states their first contents and extents back
 *   fails  TNR_E_NAME, TNR_E_DTYPE, TNR_E_SHAPE, TNR_E_LAYOUT, TNR_E_STATE (a run is active); where the first
 *   contents are
 *          computed, as tnr_run does */
TNR_CHECKED tnr_status tnr_state_get(tnr_instance *instance, const char *name, DLTensor *out_view,
                                     tnr_error *err);
TNR_CHECKED tnr_status tnr_state_set(tnr_instance *instance, const char *name, const DLTensor *tensor,
                                     tnr_error *err);
TNR_CHECKED tnr_status tnr_state_reset(tnr_instance *instance, tnr_error *err);

/* ---- values: what is not a tensor of the caller's ---- */

/* Some models take, give or pass to host functions lists, strings, tuples and other data types. Their inputs and
 * outputs have the element type kDLOpaqueHandle, no dimensions, and are set and got as values. A value is counted,
 * does not change (but for what a reference holds), and belongs to one instance: it is used as the instance is, by one
 * thread at a time, is given to no other instance, and ends with the instance at the latest. */
typedef struct tnr_value tnr_value;

enum tnr_value_kind {
    TNR_VALUE_TENSOR = 1,      /* elements in memory of its own */
    TNR_VALUE_CLOSURE = 2,     /* a function of the model; can be passed on */
    TNR_VALUE_CONSTRUCTOR = 3, /* a tag and fields: list cells, options, tuples (tag 0) */
    TNR_VALUE_REFERENCE = 4,   /* holds a value, another one after a run perhaps */
    TNR_VALUE_TEXT = 5         /* bytes */
};

typedef struct tnr_value_info { /* zero-initialise to make a value */
    int32_t kind;               /* enum tnr_value_kind */
    uint32_t tag;               /* CONSTRUCTOR */
    uint32_t n_field, reserved0;
    tnr_value *const *field; /* n_field: a CONSTRUCTOR's fields, what a REFERENCE holds */
    const char *text;        /* TEXT: text_n bytes; of a value that exists, and a NUL */
    size_t text_n;
    DLTensor tensor; /* TENSOR */
} tnr_value_info;

/* Look into a value. What *out_info points to is valid as long as the value, and read-only. */
void tnr_value_get(const tnr_value *value, tnr_value_info *out_info);

/* Make a tensor (of a dense one in CPU memory), a text or a constructor's value: contents are copied, fields get one
 * reference more each.
 *   fails  TNR_E_ARG (another kind, a field that is NULL or another instance's, a model without values),
 *          TNR_E_LAYOUT, TNR_E_SHAPE, TNR_E_MEMORY
 *   owns   *out_value has one reference, released with tnr_value_release */
TNR_CHECKED tnr_status tnr_value_new(tnr_instance *instance, const tnr_value_info *info,
                                     tnr_value **out_value, tnr_error *err);

/* Make a CONSTRUCTOR's value of the fields of another and one more behind them, each with one reference more. The time
 * does not depend on how many there are, if each list is appended to once.
 *   fails  TNR_E_ARG (no constructor, another instance's), TNR_E_MEMORY
 *   owns   *out_value as tnr_value_new */
TNR_CHECKED tnr_status tnr_value_append(tnr_instance *instance, const tnr_value *list, tnr_value *last,
                                        tnr_value **out_value, tnr_error *err);
void tnr_value_retain(tnr_value *value);
void tnr_value_release(tnr_value *value); /* NULL does nothing; never after the instance is freed */

/* Set an input that is a value, by its index (tnr_input_find). The instance keeps a reference until another one is
 * set.
 *   fails  TNR_E_ARG (no such input, another instance's value), TNR_E_DTYPE (the input is a tensor) */
TNR_CHECKED tnr_status tnr_set_input_value(tnr_instance *instance, uint32_t index, tnr_value *value,
                                           tnr_error *err);

/* Get an output that is a value, by its index (tnr_output_find): borrowed, and valid until the next tnr_run unless it
 * is retained.
 *   fails  TNR_E_ARG, TNR_E_STATE, TNR_E_DTYPE (the output is a tensor) */
TNR_CHECKED tnr_status tnr_get_output_value(tnr_instance *instance, uint32_t index, tnr_value **out_value,
                                            tnr_error *err);

/* ---- host functions: what a model calls by name ---- */

/* What a function keeps from run to run for one call of the program in one instance, such as a table of a constant
 * operand: its own struct that begins with this one. */
typedef struct tnr_host_kept tnr_host_kept;
struct tnr_host_kept {
    void (*free)(tnr_host_kept *kept); /* never NULL */
};

typedef struct tnr_host_call { /* valid during the call */
    tnr_instance *instance;    /* for tnr_value_new; no other function of it may be called */
    const char *name;          /* of the host function */
    const char *node;          /* names of model nodes, for messages */
    uint32_t n_in, n_out;
    /* n_in + n_out dense tensors in CPU memory. Inputs are read-only. Results have their memory, whose contents are
     * unspecified before: the function fills all of it. A value has the type kDLOpaqueHandle and no data. */
    const DLTensor *tensor;
    /* n_in + n_out: an input that is a value, borrowed; for a result that is one, NULL, which the function replaces by
     * a value of the instance and one reference to it, which the run takes; NULL for tensors */
    tnr_value **value;
    /* n_in: 1 where the input is a constant of the package, which has the same bytes in all runs of the instance */
    const uint8_t *constant;
    /* Where the function may leave what it keeps for this call: NULL at first, then what it left there. No other call
     * and no other instance has it, so it needs no lock. A function that leaves something else frees what was there.
     * The runtime calls `free` when the instance is freed, or has a function registered under the name; references to
     * values of the instance can be released then. It costs an instance 8 bytes for each instruction of its program. */
    tnr_host_kept **kept;
} tnr_host_call;

/* A function that a model calls. It returns 0, or a failure and one sentence in err->message, which is empty before
 * (tnr_error.code and position need not be set). The run then ends with "<nodes>: <sentence>", the returned code if it
 * is of enum tnr_code, else TNR_E_CHECK. It is called on the thread of tnr_run, between kernels, with the default
 * floating-point control, and must return: no longjmp, no thread exit. It may use other instances. Several
 * instances may call it at once. */
typedef tnr_status tnr_host_fn(void *user, const tnr_host_call *call, tnr_error *err);

/* Register a function under the name that the model calls it by, with a module or with one instance; NULL for fn
 * takes it back. An instance begins with the functions that its module has when it is made, and goes on with its own:
 * register with a module from one thread, before instances are made. A name that the model does not call is ignored. A
 * run of a model that calls a name without a function fails at its beginning (TNR_E_NAME) and says which.
 * `user` is borrowed for as long as the function is registered.
 *   fails  TNR_E_ARG, TNR_E_MEMORY, TNR_E_STATE (the instance is running) */
TNR_CHECKED tnr_status tnr_host_register(tnr_module *module, const char *name, tnr_host_fn *fn, void *user,
                                         tnr_error *err);
TNR_CHECKED tnr_status tnr_instance_host_register(tnr_instance *instance, const char *name, tnr_host_fn *fn,
                                                  void *user, tnr_error *err);

typedef struct tnr_operations { /* arithmetic; a multiply-add counts 2 */
    uint64_t floats;            /* of floating-point numbers, except the following */
    uint64_t bfloat16;          /* multiply-adds of bfloat16 values */
    uint64_t integers;          /* multiply-adds of integers */
} tnr_operations;

typedef struct tnr_profile_event { /* valid during the callback */
    const char *node;              /* names of model nodes, "Gemm_0, Relu_1" */
    const char *kernel;            /* name of the kernel function; "__copy" for a copy */
    uint64_t nanoseconds;          /* wall time of this instruction */
    uint32_t index;                /* number of the instruction */
    uint32_t variant;              /* the variant of the kernel that ran */
    uint32_t n_in, n_out;
    const DLTensor
        *arg; /* n_in + n_out views. Inputs and outputs of the model have their own shapes, other values the
                            shape they have in memory (blocks of channels). A result may overlap an argument. */
    const uint32_t *slot;      /* the slots of these n_in + n_out values */
    tnr_operations operations; /* 0 for a copy, and in packages of a tenon that did not count them */
    const char *function; /* of the program: "main", or one that main calls; index and slot are its own */
} tnr_profile_event;

/* Called on the running thread after each instruction. It must not call functions on that instance. */
typedef void tnr_profile_fn(void *user, const tnr_profile_event *event);

/* Set the hook, or remove it with NULL. Without a hook there is no cost. */
void tnr_profile_set(tnr_instance *instance, tnr_profile_fn *fn, void *user);

/* ---- ending a run early ---- */

/* Called on the thread of tnr_run. It must not call functions on that instance. Unless it returns 0, the run ends. */
typedef int tnr_cancel_fn(void *user);

/* Let runs of the instance be ended. Between two instructions, and between two tasks of a kernel that the thread of
 * tnr_run runs, a run looks at *flag, which any thread or handler of a signal may set. If it is not 0, the run ends
 * with TNR_E_CANCEL; where there is a function, each look calls it, and it decides. The instance may run again; its
 * states are as after any run that fails. A look is a load; without a flag, NULL, there is none. */
void tnr_cancel_set(tnr_instance *instance, const int *flag, tnr_cancel_fn *fn, void *user);

/* ---- debugging: step through a run, one kernel at a time ---- */

/* A stepped run stops after each kernel. Between two steps, the other functions of the instance still describe the
 * previous run. Setting an input or an output, or calling tnr_run, ends the stepped run.
 *
 *     tnr_debug_begin(i, &err);
 *     for (int done = 0; !tnr_debug_step(i, &event, &done, &err) && !done;) look_at(&event);
 *
 *   begin   does what tnr_run does before the first kernel, and fails as tnr_run does
 *   step    Runs the next kernel or copy, and any control flow before it. *out_event is what the hook of
 *           tnr_profile_set would receive; it is valid until the next call on this instance. *out_done becomes 1 if
 *           nothing was left to run; *out_event is then unchanged, and the outputs may be read. Fails as tnr_run does,
 *           and with TNR_E_STATE if no stepped run has begun. */
TNR_CHECKED tnr_status tnr_debug_begin(tnr_instance *instance, tnr_error *err);
TNR_CHECKED tnr_status tnr_debug_step(tnr_instance *instance, tnr_profile_event *out_event, int *out_done,
                                      tnr_error *err);

/* Run from the beginning until `name` is computed, and view it. `name` is an input, an output or a node of the model.
 * For a node, *out_view is the result of the kernel that computes it, which may include later nodes fused with it. The
 * stepped run then stands right after that kernel. *out_view is valid until the next call on this instance.
 *   fails  TNR_E_NAME (no kernel computes it, or none did in this run), or as tnr_run does */
TNR_CHECKED tnr_status tnr_debug_value(tnr_instance *instance, const char *name, DLTensor *out_view,
                                       tnr_error *err);

typedef struct tnr_kernel_info { /* one kernel call or copy of the program */
    const char *node;            /* names of model nodes, "Gemm_0, Relu_1" */
    const char *kernel;          /* name of the kernel function; "__copy" for a copy */
    uint32_t index;              /* number of the instruction, as in tnr_profile_event */
    uint32_t n_in, n_out;
    const uint32_t *slot; /* n_in + n_out slots; valid as long as the module */
} tnr_kernel_info;

/* The kernel calls and copies of the program, in program order. An index >= count is TNR_E_ARG. */
uint32_t tnr_kernel_count(const tnr_instance *instance);
TNR_CHECKED tnr_status tnr_kernel_info_get(const tnr_instance *instance, uint32_t index,
                                           tnr_kernel_info *out_info, tnr_error *err);

/* The name of the input, output or parameter in a slot; "" for other values and for a slot that does not exist. */
const char *tnr_slot_name(const tnr_instance *instance, uint32_t slot);

/* ---- threads ---- */

/* The process has one pool, which starts at the first run that can use it. Its number of threads, the caller included,
 * is TVM_NUM_THREADS, else OMP_NUM_THREADS, else the number of cores that the process may use (affinity mask, one
 * thread per core, cgroup quota rounded up).
 *   tnr_threads_set  n > 0 (at most 256) sets the number; 0 restores the default. Waits for the workers to finish
 *                    their tasks. With n = 1 no worker remains: do this before unloading the runtime.
 *   tnr_threads_get  returns the number
 * Both are thread-safe. After fork(), the child starts its own workers. */
TNR_CHECKED tnr_status tnr_threads_set(int32_t n, tnr_error *err);
int32_t tnr_threads_get(void);

/* ---- parameters ---- */

/* Read a mod.params blob. `data` is borrowed until tnr_params_free. Tensors that start at a multiple of 64 bytes are
 * used in place, others are copied, so every tensor is 64-byte aligned. Fillers (uint8 entries named "__pad<digits>")
 * are skipped.
 *   fails  TNR_E_FORMAT (position: the byte), TNR_E_MEMORY */
TNR_CHECKED tnr_status tnr_params_open(const void *data, size_t n, tnr_params **out_params, tnr_error *err);
void tnr_params_free(tnr_params *params); /* NULL does nothing; never free the result of tnr_module_params */
uint32_t tnr_params_count(const tnr_params *params);

/* Get a tensor by index (in the blob's order; out_name may be NULL) or by name. *out_view lives as long as params and
 * is read-only. */
TNR_CHECKED tnr_status tnr_params_at(const tnr_params *params, uint32_t index, const char **out_name,
                                     DLTensor *out_view, tnr_error *err);
TNR_CHECKED tnr_status tnr_params_find(const tnr_params *params, const char *name, DLTensor *out_view,
                                       tnr_error *err);

/* ---- tensors ---- */

/* Write a type's name ("float32", "bool", "bfloat16", "int8x4") to buffer: at most n bytes, NUL included. Returns
 * buffer. */
char *tnr_dtype_print(DLDataType dtype, char *buffer, size_t n);

/* The size of a dense tensor in bytes. A bool takes a byte; other types below 8 bits are packed over the whole tensor.
 *   fails  TNR_E_SHAPE (negative extent, overflow), TNR_E_DTYPE (bits or lanes 0) */
TNR_CHECKED tnr_status tnr_tensor_bytes(DLDataType dtype, int32_t ndim, const int64_t *shape,
                                        uint64_t *out_bytes, tnr_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
