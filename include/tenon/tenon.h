#ifndef TENON_TENON_H
#define TENON_TENON_H
/* The Tenon compiler: a model file in, a package out, and a look through every door on the way.
 *
 *     tenon *t = tenon_new();
 *     tenon_options o = {.target = "llvm"};
 *     if (tenon_compile(t, "model.onnx", &o, "module.tar", NULL))
 *         fputs(tenon_messages(t), stderr);
 *     tenon_free(t);
 *
 * Conventions
 *   result   0, or 1 after an error; what went wrong is in tenon_messages, one line a diagnostic
 *   texts    returned text belongs to the session and lives until the next call on it, or tenon_free
 *   threads  two sessions may be used in two threads; one session by one thread at a time
 *   files    an output file is written whole or not at all
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_O0 = -1 };

typedef struct tenon tenon; /* a session: messages and the last result */

typedef struct tenon_options { /* zero-initialise; NULL or 0 means the default */
    /* "llvm" (this machine), "llvm -mattr=+avx2,+fma -num-cores=4", "c"; default "llvm" */
    const char *target;
    const char *machine_file;  /* JSON machine description instead of the machine at hand */
    const char *input_shapes;  /* "x:[1,3,224,224] y:[-1,10]"; <= 0: symbolic */
    const char *model_format;  /* "onnx", "relay"; default: guessed */
    const char *module_name;   /* "default": prefix of kernel names */
    const char *disabled_pass; /* comma list of pass names */
    const char *cross_compiler;         /* linker driver for mod.so instead of ld (or cc for target c) */
    const char *cross_compiler_options; /* split on spaces */
    int opt_level;             /* 1..4; 0: the default, 3; TENON_O0: nothing is optimised */
    int no_variants;           /* 1: no specialised variant for dimension 1 */
    const char *const *pass_config;    /* "key=value" texts, NULL after the last */
    const char *desired_layout;        /* "NHWC", "NCHW" or "DATA:KERNEL", for all or one an operator, blanks between */
    const char *desired_layout_ops;    /* "nn.conv2d ..." */
    int mixed_precision;               /* 1: run ToMixedPrecision */
    const char *mixed_precision_ops;   /* "nn.conv2d nn.dense" */
    const char *mixed_precision_calculation_type, *mixed_precision_acc_type; /* "float16", "float32" */
    const char *print_ir_before, *print_ir_after; /* comma lists of pass names, or "all": printed as passes run */
    int print_pass_times;              /* 1: a table of passes at the end of a compilation */
    int no_in_place;                   /* 1: no result takes the memory of an operand */
    void (*print)(void *user, const char *text);  /* where these are printed; NULL: nowhere */
    void *print_user;
    /* How far tenon_compile is: "import", "graph", "tir", "schedule", "lower", "code" or "package", and how much of it
     * is done; of 0: it is not known how much there is. Kernels in tir, schedule and lower. Called at the beginning of
     * each and now and then, in "code" by several threads at once. `stage` lives for ever. NULL: not called. */
    void (*progress)(void *user, const char *stage, uint32_t done, uint32_t of);
    void *progress_user;
    void *reserved[2];
} tenon_options;

typedef struct tenon_report { /* what tenon_compile says about its work */
    uint32_t kernels, instructions;
    uint64_t constant_bytes, arena_bytes, input_bytes, output_bytes, scratch_bytes; /* 0 where symbolic */
    uint64_t package_bytes;
    double seconds_import, seconds_graph, seconds_tir, seconds_schedule, seconds_codegen, seconds_package;
    double seconds_cc; /* of the C compiler, where the target is c */
    const char *memory;       /* the exact peak, a number or a formula in the symbols, as text */
    const char *target, *machine;
    uint32_t objects_made, objects_cached; /* compiled now; taken from the kernel cache */
    /* What the arenas take and what no plan could take less than, with every symbol at 4 (or its nearest value);
     * plan_smallest: they are proved the smallest, whatever the bound says. in_place: results that took an operand's
     * memory. */
    uint64_t plan_bytes, alive_bytes;
    uint32_t plan_smallest, in_place;
    double seconds_lower; /* after the schedule: to flat TIR */
    const char *features; /* CPU features that the code may use, blanks between */
} tenon_report;

tenon *tenon_new(void); /* NULL: out of memory */
void tenon_free(tenon *t);
const char *tenon_version(void);
/* All diagnostics of the last call, one a line; "" if there were none. */
const char *tenon_messages(const tenon *t);

/* Compile a model to a package (tar with mod.so, mod.json where the graph is static, mod.params). report may
 * be NULL. */
int tenon_compile(tenon *t, const char *model, const tenon_options *o, const char *output, tenon_report *report);

/* The text of one stage: "relay", "relay-fused", "tir", "schedule", "tir-scheduled", "flat", "c", "ll",
 * "asm", "memory". *out_text as described above. For "relay" and "relay-fused" constants are meta[...];
 * *out_params (may be NULL) gets their data as a mod.params blob. */
int tenon_dump(tenon *t, const char *model, const tenon_options *o, const char *stage, const char **out_text,
               const void **out_params, size_t *out_params_n);

/* Finds everything in a model that cannot be compiled: all of it is reported, each with file, node, operator, the
 * trouble and what to do. *out_trouble: how many reports are errors. Returns 0 if nothing stands
 * against compiling it. */
int tenon_check(tenon *t, const char *model, const tenon_options *o, size_t *out_trouble);

/* Runs passes over a text file: graph passes on Relay, loop passes and `Schedule=FILE` (a trace) on TIR. */
int tenon_opt(tenon *t, const char *file, const char *passes, const tenon_options *o, const char **out_text);

typedef struct tenon_tensor { /* dense, row-major */
    const char *name;
    uint8_t code, bits;        /* DLPack type code and bits */
    int32_t ndim;
    int64_t shape[8];
    void *data;
    size_t bytes;
} tenon_tensor;

/* Evaluates a model with an interpreter. stage "relay": each operator unfused and unscheduled (large ones are
 * compiled in this process from their unscheduled loops); "tir", "tir-scheduled", "flat": the program's
 * kernels at that stage, by the TIR interpreter. *out (n_out tensors) belongs to the session. */
int tenon_interpret(tenon *t, const char *model, const tenon_options *o, const char *stage, int n_in,
                    const tenon_tensor in[], int *n_out, const tenon_tensor **out);
/* Names, types and shapes (-1: symbolic) of a model's inputs, for callers that make their own. */
int tenon_inputs(tenon *t, const char *model, const tenon_options *o, int *n_in, const tenon_tensor **out);

/* What a package holds, without running any of it: files, target, features, inputs, outputs, sizes, as text. */
int tenon_verify(tenon *t, const char *package, const char **out_text);

/* Argument defaults from a JSON file as tvmc's --config takes it: words such as "--opt-level=3", NULL after
 * the last, which belong to the session. `name` is a path, or a file below $TVM_CONFIGS_JSON_DIR; ".json" may
 * lack. */
int tenon_config(tenon *t, const char *name, const char *const **out_words);

/* Output files as the compiler writes them, for what a program has to say of its own: the bytes go to a temporary file
 * beside `path`, which takes its place at the end; a pipe or a device is written directly. Numbers are errno's. */
enum { TENON_OUTPUTS = 8 };
typedef struct tenon_output tenon_output;
tenon_output *tenon_output_open(const char *path, int *out_error); /* NULL: why not is in *out_error */
void tenon_output_add(tenon_output *o, const void *data, size_t n);
/* Is all that was added in the file? 0, or the first error. Nothing is added after this. */
int tenon_output_finish(tenon_output *o);
/* Lets n of them (at most TENON_OUTPUTS) take their places together; with keep 0, or after an error in one,
 * removes all. Frees them. */
int tenon_outputs_close(int n, tenon_output *const o[], int keep);
/* Removes what the process is writing, whichever call is at it, for one that is about to end: it writes no more files.
 * Safe in a signal handler. */
void tenon_outputs_drop(void);

/* Names for listings: stages, graph passes, loop passes, targets; NULL after the last. */
const char *tenon_stage_name(size_t i);
const char *tenon_pass_name(size_t i, const char **out_doc);
int tenon_pass_level(size_t i); /* optimisation level from which on a graph pass runs; -1: a loop pass */

#ifdef __cplusplus
}
#endif
#endif
