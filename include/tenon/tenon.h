#ifndef TENON_TENON_H
#define TENON_TENON_H
/* The Tenon compiler: compiles a model file to a package, and shows every stage in between.
 *
 *     tenon *t = tenon_new();
 *     tenon_options o = {.target = "llvm"};
 *     if (tenon_compile(t, "model.onnx", &o, "module.tar", NULL))
 *         fputs(tenon_messages(t), stderr);
 *     tenon_free(t);
 *
 * Conventions
 *   result   0, or 1 after an error; tenon_messages then says what went wrong, one line per diagnostic
 *   texts    the session owns returned text; it lives until the next call on the session, or tenon_free
 *   threads  different threads may use different sessions; only one thread at a time may use a session
 *   files    an output file is written whole or not at all
 *   failure  exhausted memory, a limit, a cancel and an internal contradiction are errors like any other; no call ends
 *            the process. The session may be used again
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
    const char *machine_file;           /* JSON machine description instead of the machine at hand */
    const char *input_shapes;           /* "x:[1,3,224,224] y:[batch,-1]"; a name, or <= 0: symbolic */
    const char *model_format;           /* "onnx", "relay"; default: guessed from the file */
    const char *module_name;            /* "default": prefix of kernel names */
    const char *disabled_pass;          /* pass names, separated by commas */
    const char *cross_compiler;         /* linker driver for mod.so instead of ld (or cc for target c) */
    const char *cross_compiler_options; /* split on spaces */
    int opt_level;                      /* 1..4; 0: the default, 3; TENON_O0: nothing is optimised */
    int no_variants;                    /* 1: no specialised variant for dimension 1 */
    const char *const *pass_config;     /* "key=value" texts, NULL after the last */
    const char *desired_layout; /* "NHWC", "NCHW" or "DATA:KERNEL"; one for all operators, or one for each */
    const char *desired_layout_ops;                                          /* "nn.conv2d ..." */
    int mixed_precision;                                                     /* 1: run ToMixedPrecision */
    const char *mixed_precision_ops;                                         /* "nn.conv2d nn.dense" */
    const char *mixed_precision_calculation_type, *mixed_precision_acc_type; /* "float16", "float32" */
    const char *print_ir_before, *print_ir_after; /* print IR around passes: names by commas, or "all" */
    int print_pass_times;                         /* 1: print a table of passes at the end of a compilation */
    int no_in_place;                              /* 1: never reuse an operand's memory for a result */
    void (*print)(void *user,
                  const char *text); /* receives what these options print; NULL: nothing is printed */
    void *print_user;
    /* Progress of tenon_compile. `stage` is a static string: "import", "graph", "tir", "schedule", "lower", "code" or
     * "package". `done` of `of` units are finished (kernels in tir, schedule and lower); `of` is 0 while the total is
     * unknown. Called at the beginning of each stage and now and then during it, from the caller's thread or from one
     * of the compiler's, but never by two at once. NULL: not called. */
    void (*progress)(void *user, const char *stage, uint32_t done, uint32_t of);
    void *progress_user;
    const char *dump_format; /* tenon_dump of a graph: "svg", "dot" or "html", a picture; default "text" */
    /* Limits of one call; 0: none. A call that reaches one fails, and says which. */
    uint64_t max_memory; /* bytes of the compiler's own data */
    uint64_t max_nodes;  /* of the graph at once */
    double max_seconds;
    /* The call fails soon after this is not 0. Any thread, or a signal handler, may set it. NULL: never. */
    const int *cancel;
    int threads; /* threads that compile; 0: one for each CPU that this process may use */
    int reserved0;
    void *reserved[1];
} tenon_options;

typedef struct tenon_report { /* what tenon_compile says about its work */
    uint32_t kernels, instructions;
    uint64_t constant_bytes, arena_bytes, input_bytes, output_bytes, scratch_bytes; /* 0 where symbolic */
    uint64_t package_bytes;
    double seconds_import, seconds_graph, seconds_tir, seconds_schedule, seconds_codegen, seconds_package;
    double seconds_cc;  /* time of the C compiler, if the target is c */
    const char *memory; /* the exact peak as text: a number, or a formula in the symbols */
    const char *target, *machine;
    uint32_t objects_made, objects_cached; /* kernels compiled now, and taken from the kernel cache */
    /* plan_bytes is the size of the arenas, alive_bytes a lower bound for any plan, both with every symbol at 4 (or its
     * nearest value). plan_smallest: the plan is proved to be the smallest, even if it is above the bound. in_place:
     * number of results that reuse an operand's memory. */
    uint64_t plan_bytes, alive_bytes;
    uint32_t plan_smallest, in_place;
    double seconds_lower; /* from scheduled to flat TIR */
    const char *features; /* CPU features that the code may use, separated by blanks */
    /* the peak where the symbols are as in memory_symbols, "n=1, m=1" ("": there are none) */
    uint64_t memory_bytes;
    const char *memory_symbols;
} tenon_report;

tenon *tenon_new(void); /* NULL: out of memory */
void tenon_free(tenon *t);
const char *tenon_version(void);
/* What this build is (commit, LLVM) and the machine as the compiler sees it, with the origin of each number, as
 * lines of text; and the machine as JSON, which `machine_file` reads. Valid until the next call. Returns 0, or 1. */
int tenon_about(tenon *t, const char **out_text, const char **out_machine);
typedef struct
    tenon_rates { /* 10^9 operations/s of one core of this machine, at best; a multiply-add is two */
    double float32, bfloat16, int8; /* bfloat16, int8: of multiply-adds; no less than float32 */
    uint32_t cores;
} tenon_rates;
/* What this machine can do. Measures the processor for some milliseconds if no call did before, on disk too. */
int tenon_machine_rates(tenon *t, tenon_rates *out);
/* All diagnostics of the last call, one per line; "" if there were none. */
const char *tenon_messages(const tenon *t);

/* Compile a model to a package: a tar with mod.so, mod.params and, if the graph is static, mod.json. `report` may
 * be NULL. */
int tenon_compile(tenon *t, const char *model, const tenon_options *o, const char *output,
                  tenon_report *report);

/* Print one stage: "relay", "relay-fused", "tir", "schedule", "tir-scheduled", "flat", "c", "ll", "asm", "memory".
 * The session owns *out_text. In "relay" and "relay-fused", constants appear as meta[...]; *out_params receives
 * their data as a mod.params blob (out_params may be NULL). */
int tenon_dump(tenon *t, const char *model, const tenon_options *o, const char *stage, const char **out_text,
               const void **out_params, size_t *out_params_n);

/* Find everything in a model that prevents its compilation. Each report names file, node, operator, the problem and
 * what to do. *out_trouble is the number of reports that are errors. Returns 0 if the model can be compiled. */
int tenon_check(tenon *t, const char *model, const tenon_options *o, size_t *out_trouble);

/* Run passes over a text file: graph passes on Relay, loop passes and `Schedule=FILE` (a trace) on TIR. */
int tenon_opt(tenon *t, const char *file, const char *passes, const tenon_options *o, const char **out_text);

typedef struct tenon_tensor { /* dense, row-major */
    const char *name;
    uint8_t code, bits; /* DLPack type code and bits */
    int32_t ndim;
    int64_t shape[8];
    void *data;
    size_t bytes;
} tenon_tensor;

/* Evaluate a model with an interpreter. Stage "relay" evaluates each operator unfused and unscheduled (large ones are
 * compiled in this process, from their unscheduled loops). Stages "tir", "tir-scheduled" and "flat" run the program's
 * kernels at that stage with the TIR interpreter. The session owns *out (n_out tensors). */
int tenon_interpret(tenon *t, const char *model, const tenon_options *o, const char *stage, int n_in,
                    const tenon_tensor in[], int *n_out, const tenon_tensor **out);
/* Names, types and shapes (-1: symbolic) of a model's inputs, for callers that make their own data. */
int tenon_inputs(tenon *t, const char *model, const tenon_options *o, int *n_in, const tenon_tensor **out);

/* Describe a package as text without running any of it: files, target, features, inputs, outputs, sizes. */
int tenon_verify(tenon *t, const char *package, const char **out_text);

/* Read argument defaults from a JSON file in the format of tvmc's --config. The session owns the resulting words, such
 * as "--opt-level=3"; NULL follows the last. `name` is a path, or a file below $TVM_CONFIGS_JSON_DIR, with or without
 * ".json". */
int tenon_config(tenon *t, const char *name, const char *const **out_words);

/* Write the program's own output files as the compiler writes its files: the bytes go to a temporary file
 * beside `path`, which replaces `path` at the end. A pipe or a device is written directly. Error numbers are
 * those of errno. */
enum { TENON_OUTPUTS = 8 };
typedef struct tenon_output tenon_output;
tenon_output *tenon_output_open(const char *path, int *out_error); /* NULL: *out_error says why */
void tenon_output_add(tenon_output *o, const void *data, size_t n);
/* Returns 0 if the file contains everything that was added, else the first error. Add nothing after this call. */
int tenon_output_finish(tenon_output *o);
/* Put n outputs (at most TENON_OUTPUTS) in place together, and free them. If keep is 0, or after an error in one of
 * them, all are removed instead. */
int tenon_outputs_close(int n, tenon_output *const o[], int keep);
/* Remove every unfinished file that the process is writing, in any call. For a process that is about to end: it cannot
 * write files afterwards. Safe in a signal handler. */
void tenon_outputs_drop(void);

/* For programs that talk to people. */
/* Says what a file is that was given where another kind belongs, and what to do: "in.npy is a single NumPy
 * array (.npy), not an .npz archive of arrays; ...". *out_text NULL: it may well be what is wanted, or
 * nothing is known about it. */
enum tenon_wanted { TENON_WANTED_MODEL, TENON_WANTED_PACKAGE, TENON_WANTED_ARRAYS };
int tenon_explain_file(tenon *t, const char *path, enum tenon_wanted wanted, const char **out_text);
/* Bytes of the UTF-8 character at `text` that a terminal can show; 0 for a control byte, and for a byte that
 * is no UTF-8. */
size_t tenon_character(const char *text);
/* For "did you mean": how many letters of word[0..n) are typed otherwise than in `name`; -1: too many to propose it. */
int tenon_words_apart(const char *word, size_t n, const char *name);

/* Names for listings, by index: stages, graph passes and loop passes; NULL after the last. */
const char *tenon_stage_name(size_t i);
const char *tenon_pass_name(size_t i, const char **out_doc);
int tenon_pass_level(
    size_t i); /* the lowest optimisation level at which a graph pass runs; -1: a loop pass */

#ifdef __cplusplus
}
#endif
#endif
