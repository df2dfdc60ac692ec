#ifndef TENON_TENON_H
#define TENON_TENON_H
/* The Tenon compiler as a library: models are read into modules, passes run over them, and a module is built into a
 * package, or into code in this process.
 *
 *     tenon *t = tenon_new();
 *     tenon_module *m = tenon_module_read(t, "model.onnx", NULL);
 *     if (!m || tenon_build(m, NULL, "model.tar", NULL))
 *         fputs(tenon_messages(t), stderr);
 *     tenon_free(t);
 *
 * tenon/relay.h builds modules by hand. tenon/te.h builds single kernels from tensor expressions and schedules. The
 * results run by tenon/runtime.h.
 *
 * Conventions
 *   result     0, or 1 after an error. A function that returns a handle returns NULL after an error. The diagnostics of
 *              the call then say what went wrong. A NULL handle as an argument is an error that was reported before:
 *              the call fails and leaves the diagnostics as they are.
 *   ownership  A session owns what is made with it; tenon_free frees everything. Texts and arrays that a call returns
 *              live until the next call on the session, unless the function says otherwise.
 *   threads    Different threads may use different sessions. Only one thread at a time may use a session and what was
 *              made with it.
 *   files      An output file is written whole or not at all.
 *   structs    A struct that the caller fills in begins with its size: {.size = sizeof(tenon_options)}. Structs grow at
 *              the end, so a program that was compiled with an older header keeps its meaning. A struct from a newer
 *              header is refused unless all that this version does not know is 0. docs/versions.md has the policy.
 *   failure    Exhausted memory, a limit, a cancel and an internal contradiction are errors like any other. No
 *              call ends the process, and the session may be used again. A module that such a call was changing is
 *              of no use.
 */
#include "tenon/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_O0 = -1 };

typedef struct tenon tenon;               /* a session */
typedef struct tenon_module tenon_module; /* a program: functions of Relay, or of TIR */

/* ---- sessions ---- */

tenon *tenon_new(void);    /* NULL: out of memory */
void tenon_free(tenon *t); /* and everything that was made with it; NULL does nothing */
const char *tenon_version(void);

enum tenon_severity { TENON_NOTE, TENON_WARNING, TENON_ERROR };
typedef struct tenon_diagnostic { /* fields may be added at the end */
    const char *id;               /* "onnx-E012": stable, never used for another meaning */
    enum tenon_severity severity;
    const char *file;      /* model or text; NULL: none */
    uint32_t line, col;    /* from 1 on; 0: not in a text */
    const char *node, *op; /* the model's node and its operator; NULL: none */
    const char *text;      /* what is wrong */
    const char *hint;      /* what to do, or more about it; NULL: none */
} tenon_diagnostic;
/* What the last call on the session reported, in order. An index >= count gives NULL. */
size_t tenon_diagnostic_count(const tenon *t);
const tenon_diagnostic *tenon_diagnostic_get(const tenon *t, size_t i);
/* The same as text, one line each: "model.onnx: node Gemm_0 (Gemm): error: ... [onnx-E012]"; "" if there is none. Where
 * the same is said of several nodes, a second line lists the others: "model.onnx: error: for the same reason: Gemm_1
 * (Gemm), Gemm_2 (Gemm) [onnx-E012]". */
const char *tenon_messages(const tenon *t);

/* ---- options ---- */

typedef struct tenon_options { /* how models are read and compiled; NULL or 0 means the default */
    size_t size;               /* sizeof(tenon_options) */
    /* "llvm" (this machine), "llvm -mattr=+avx2,+fma -num-cores=4", "c"; default "llvm" */
    const char *target;
    const char *machine_file; /* JSON machine description instead of the machine at hand */
    /* "x:[1,3,224,224] y:[batch,-1] z:[1..8,16|64]"; a name, or <= 0: symbolic; a range; sizes with own code */
    const char *input_shapes;
    const char *model_format;           /* "onnx", "relay", "tir"; default: guessed from the content */
    const char *module_name;            /* "default": prefix of kernel names */
    const char *disabled_pass;          /* pass names, separated by commas */
    const char *cross_compiler;         /* linker driver for mod.so instead of ld (or cc for target c) */
    const char *cross_compiler_options; /* split on spaces */
    int opt_level;                      /* 1..4; 0: the default, 3; TENON_O0: nothing is optimised */
    int no_variants;                    /* 1: no specialised variant for dimension 1 */
    const char *const *pass_config;     /* "key=value" texts, NULL after the last */
    const char *desired_layout; /* "NHWC", "NCHW" or "DATA:KERNEL"; one for all operators, or one for each */
    const char *desired_layout_ops;               /* "nn.conv2d ..." */
    int mixed_precision;                          /* 1: run ToMixedPrecision */
    const char *mixed_precision_ops;              /* "nn.conv2d nn.dense" */
    const char *mixed_precision_calculation_type; /* "float16", "bfloat16", "float32" */
    const char *mixed_precision_acc_type;         /* the same, or float32 (default) */
    const char *print_ir_before, *print_ir_after; /* print IR around passes: names by commas, or "all" */
    int print_pass_times;                         /* 1: print a table of passes at the end of a build */
    int no_in_place;                              /* 1: never reuse an operand's memory for a result */
    void (*print)(void *user,
                  const char *text); /* receives what these options print; NULL: nothing is printed */
    void *print_user;
    /* Progress of tenon_build. `stage` is a static string: "import", "graph", "tir", "schedule", "lower", "code" or
     * "package". `done` of `of` units are finished (kernels in tir, schedule and lower); `of` is 0 while the total is
     * unknown. Called at the beginning of each stage and now and then during it, from the caller's thread or from one
     * of the compiler's, but never by two at once. NULL: not called. */
    void (*progress)(void *user, const char *stage, uint32_t done, uint32_t of);
    void *progress_user;
    const char
        *dump_format; /* tenon_module_dump of a graph: "svg", "dot" or "html", a picture; of the stage "relay"
                       * "nnvm", a graph of NNVM; default "text" */
    /* Limits of one call; 0: none. A call that reaches one fails, and says which. */
    int max_memory; /* MiB of the compiler's data; and, apart from it, of LLVM, which then works in a child process */
    int max_seconds;
    int max_nodes; /* of the graph at once */
    /* The call fails soon after this is not 0. Any thread, or a signal handler, may set it. NULL: never. */
    const int *cancel;
    int threads;   /* threads that compile; 0: one for each CPU that this process may use */
    int reserved0; /* 0 */
    /* "INPUT=OUTPUT" texts, NULL after the last. That input becomes a state of each instance: it begins with zeros, and
     * each run stores that output in it. Neither is the model's any more; tnr_state_get and its kin have the state. */
    const char *const *states;
    /* Where temporaries live: "plan", in one arena whose places are known (the default); "pool", each in a block of its
     * own that the run takes from a pool of its instance and gives back after the last use. */
    const char *memory;
    /* Names of the model's values that become its results, in this order, separated by blanks or commas; NULL: the
     * results are those that the model says. */
    const char *outputs;
    const char *signature; /* which of the model's signatures is meant; NULL: the model's default one */
    /* "resnet18": the network that a file of weights is for (a state dict of PyTorch, safetensors). NULL: not told */
    const char *architecture;
    /* File of tuning records (tenon/tune.h): kernels that have one for this machine are scheduled by it. NULL: none */
    const char *tuning_records;
    int no_records; /* 1: the user's own records, which tuning keeps, are left alone; tuning_records counts */
    int reserved1;  /* 0 */
} tenon_options;

/* Report everything in the options that cannot work, before work begins. `output`: the file that tenon_build is to
 * write; NULL: none. Every call with options checks them again as far as it needs them. */
int tenon_options_check(tenon *t, const tenon_options *o, const char *output);

/* ---- modules ---- */

/* Read a model file: ONNX, Relay text (with the constants in FILE.params) or TIR text. The module maps the file, which
 * must not change while the module lives. O(size of the graph); weights are not copied. */
tenon_module *tenon_module_read(tenon *t, const char *path, const tenon_options *o);
/* The same from memory, which is borrowed for as long as the module lives. `name` is what messages call it; external
 * data are looked for beside it. options.model_format is needed where the content does not tell. */
tenon_module *tenon_module_from_memory(tenon *t, const char *name, const void *data, size_t n,
                                       const tenon_options *o);
/* Relay text (or TIR) as it is written, without a name and without options. `params`: the data of the constants, as
 * tenon_module_dump gave it, borrowed like the text; NULL: none. */
tenon_module *tenon_module_parse(tenon *t, const char *text, const void *params, size_t n_params);
/* A module of its own, for passes that are to leave this one as it is. It shares the weights, so memory of this one may
 * stay until the copy is freed, too. O(size of the graph). */
tenon_module *tenon_module_copy(tenon_module *m);
void tenon_module_free(tenon_module *m); /* before tenon_free, to save memory; NULL does nothing */

typedef struct tenon_tensor { /* dense, row-major */
    const char *name;
    uint8_t code, bits; /* DLPack type code and bits */
    int32_t ndim;
    int64_t shape[8]; /* -1: symbolic (descriptions alone) */
    void *data;
    size_t bytes;
} tenon_tensor;

typedef struct tenon_value_info { /* an input or an output of @main */
    const char *name;
    const char *type; /* as Relay writes it: "Tensor[(n, 64), float32]" */
    DLDataType dtype; /* bits 0: no tensor */
    int32_t ndim;
    const int64_t *shape;      /* -1: symbolic */
    const char *const *extent; /* ndim texts: "64", "n", "4*h" */
} tenon_value_info;
typedef struct tenon_function_info {
    const char *name;
    uint32_t n_param, n_result, n_node;
} tenon_function_info;
typedef struct tenon_operator_info { /* how often the module calls an operator */
    const char *name;
    uint32_t n_call;
} tenon_operator_info;
typedef struct tenon_metadata_info { /* what the model says of itself */
    const char *key, *value;
} tenon_metadata_info;
typedef struct tenon_constructor_info {
    const char *name;
    uint32_t n_field;
    const char *const *field; /* types; A, B, ... are the parameters of the definition */
} tenon_constructor_info;
typedef struct tenon_data_info { /* a data type */
    const char *name;
    uint32_t n_param, n_constructor;
    const tenon_constructor_info *constructor; /* in order of their tags */
    int is_known; /* 1: of the prelude, named somewhere; texts do not define it */
} tenon_data_info;
typedef struct tenon_module_info { /* fields may be added at the end */
    uint32_t n_input, n_output, n_function, n_operator, n_symbol, n_metadata;
    const tenon_value_info *input, *output;
    const tenon_function_info *function; /* main first */
    const tenon_operator_info *op;       /* in order of their names */
    const tnr_symbol_info *symbol;
    const tenon_metadata_info *metadata;
    uint32_t n_data;
    const tenon_data_info *data;
    int is_tir; /* 1: functions of TIR, of which there is nothing but their names and numbers of parameters */
} tenon_module_info;
/* What is in a module, as it stands. Valid until the next tenon_module_inspect of the module, or its end. NULL after an
 * error. */
const tenon_module_info *tenon_module_inspect(tenon_module *m);

/* The module as text, which tenon_module_parse reads; Relay's constants appear as meta[...]. Valid until the next
 * tenon_module_print of the module, or its end. NULL after an error. */
const char *tenon_module_print(tenon_module *m);
/* Take a copy of the module to a stage and print that: "relay", "relay-fused", "tir", "schedule", "tir-scheduled",
 * "flat", "program", "c", "ll", "asm", "memory". *out_params receives the constants of the relay stages as a mod.params
 * blob, or, of a format of model files, the parameters that it refers to; NULL where there is none (out_params may be
 * NULL). */
int tenon_module_dump(tenon_module *m, const tenon_options *o, const char *stage, const char **out_text,
                      const void **out_params, size_t *out_n_params);
/* The same into a file; the constants of the relay stages go to "PATH.params", straight from where they are
 * (of a format of model files, to NAME.params beside NAME.json). Either all files are written or none. */
int tenon_module_dump_to(tenon_module *m, const tenon_options *o, const char *stage, const char *path);

typedef struct tenon_kernel_time { /* of one call, as tnr_profile_event has it */
    const char *nodes, *kernel;
    uint64_t nanoseconds;
} tenon_kernel_time;
/* The graph as it was read and as it is fused, as one HTML page to zoom, move and search in; kernels with their times,
 * if some are given. */
int tenon_module_view(tenon_module *m, const tenon_options *o, uint32_t n, const tenon_kernel_time time[],
                      const char **out_html);

/* Run passes over the module, in place. `passes`: names separated by commas. Relay takes graph passes, configured by
 * options.pass_config. TIR takes loop passes, `Rule` (the built-in schedule) and `Schedule=FILE` (a trace). Both take
 * `Verify`. After an error the module is of no use. */
int tenon_pass_run(tenon_module *m, const char *passes, const tenon_options *o);

/* ---- building ---- */

typedef struct tenon_report { /* what a build says about its work; lives as other results do */
    size_t size;              /* sizeof(tenon_report), set by the caller */
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
    uint64_t state_bytes;
    uint32_t kernels_recorded; /* kernels and variants that are scheduled by a tuning record */
    uint32_t graph_recorded;   /* 1: so are choices of the graph (tenon_tune_graph) */
} tenon_report;

/* Build a package: a tar with mod.so, mod.params and, if the graph is static, mod.json; or one self-contained file
 * (.so, .o, .a, .c). The module stays as it is. `report` may be NULL. */
int tenon_build(tenon_module *m, const tenon_options *o, const char *output, tenon_report *report);
/* Why tenon_build refuses this name of an output, which promises what is not made (".exe"); NULL: it does not. */
const char *tenon_output_advice(const char *output);
/* The tar in memory, for tnr_module_open_memory. The caller owns *out_data until tenon_package_free. */
int tenon_build_memory(tenon_module *m, const tenon_options *o, void **out_data, size_t *out_n,
                       tenon_report *report);
void tenon_package_free(void *data); /* NULL does nothing */
/* Code in this process, ready to run: needs target llvm and a machine like this one. Instances run it as they run a
 * package. The caller owns *out_module and releases it, and its instances, before tenon_free: code and weights are the
 * session's. */
int tenon_build_here(tenon_module *m, const tenon_options *o, tnr_module **out_module, tenon_report *report);
/* Find everything that prevents a build, without making code. */
int tenon_check(tenon_module *m, const tenon_options *o);

typedef struct tenon_kernel_report { /* fields may be added at the end */
    const char *name;
    const char *nodes, *operators; /* the model's nodes of all its calls; Relay's operators */
    const char *schedule;          /* what its schedule says of itself: "rule gemm/vector: ..." */
    uint32_t n_call;
    double
        seconds; /* of all its calls: an estimate that says what matters; symbols have their smallest value */
    const char *problem, *advice; /* why it is slow, and what to do; NULL: nothing is wrong with it */
} tenon_kernel_report;
typedef struct tenon_host_report { /* an operator that no kernel computes */
    const char *node, *op;         /* "": unnamed */
    const char *function;          /* of the host, which computes it in the run: "text.concat" */
} tenon_host_report;
typedef struct tenon_check_report { /* fields may be added at the end */
    uint32_t n_kernel;
    const tenon_kernel_report *kernel;
    double seconds; /* of all of them */
    uint32_t n_host;
    const tenon_host_report *host; /* in the model's order */
} tenon_check_report;
/* The same, and what is slow in a model that can be built. */
int tenon_check_kernels(tenon_module *m, const tenon_options *o, tenon_check_report *out);

/* Evaluate a module with an interpreter. Stage "relay" evaluates each operator unfused and unscheduled (large ones are
 * compiled in this process, from their unscheduled loops). Stages "tir", "tir-scheduled" and "flat" run the program's
 * kernels at that stage with the TIR interpreter. *out: n_out tensors. */
int tenon_interpret(tenon_module *m, const tenon_options *o, const char *stage, int n_in,
                    const tenon_tensor in[], int *out_n, const tenon_tensor **out);

/* ---- parts of an ONNX file ---- */

typedef struct tenon_node_info { /* a node of the file's graph */
    const char *name, *op;       /* "": none */
    uint32_t n_in, n_out;
    const char *const
        *in; /* values that it reads, and that graphs inside it read from outside; "": not given */
    const char *const *out;
    uint32_t n_operand; /* of `in`: those that the node itself reads; the others are read inside */
} tenon_node_info;
typedef struct tenon_file_info { /* fields may be added at the end */
    uint32_t n_node, n_input, n_output;
    const tenon_node_info *node;
    const char *const *input, *const *output; /* inputs without those that are initialisers */
} tenon_file_info;
/* What the graph of an ONNX file consists of, as it stands there; nothing is converted. */
int tenon_file_inspect(tenon *t, const char *path, const tenon_file_info **out);

typedef struct tenon_part {
    size_t size; /* sizeof(tenon_part) */
    uint32_t n_input, n_output;
    /* Values that become inputs. One with data becomes an initialiser. NULL: the inputs of the file, all of them. */
    const tenon_tensor *input;
    const char *const *output; /* values that become outputs */
    int whole;                 /* 1: data in files beside the model become part of it */
    int reserved0;             /* 0 */
    /* With a result of a node, the part is a graph inside that node: the attribute `body`, all of it ("then_branch";
     * output: NULL). `input` begins with a value for each input of the graph, which keeps its own name; those that
     * follow are values that it may read from outside, by name. */
    const char *node, *body;
    /* NULL, or the element type and number of dimensions of each output, for those of which the file says nothing;
     * bits 0: not known. Tools that check models want them. */
    const tenon_tensor *output_type;
} tenon_part;
/* The part of an ONNX file that computes the outputs from the inputs, as an ONNX file: nodes and initialisers are
 * copied byte for byte. */
int tenon_file_cut(tenon *t, const char *path, const tenon_part *part, const void **out_data, size_t *out_n);

/* ---- packages and machines ---- */

/* Describe a package as text without running any of it: files, target, features, inputs, outputs, sizes. */
int tenon_verify(tenon *t, const char *package, const char **out_text);
/* What a file is that is no model, no package or no archive of arrays, and what to do with it. *out_text NULL: it may
 * well be what is wanted, or nothing is known about it. */
enum tenon_wanted { TENON_WANTED_MODEL, TENON_WANTED_PACKAGE, TENON_WANTED_ARRAYS };
int tenon_explain_file(tenon *t, const char *path, enum tenon_wanted wanted, const char **out_text);
/* What this build is (commit, LLVM) and the machine as the compiler sees it, with the origin of each number, as
 * lines of text; and the machine as JSON, which `machine_file` reads. */
int tenon_about(tenon *t, const char **out_text, const char **out_machine);
/* 10^9 operations/s of one core of this machine, at best; a multiply-add is two */
typedef struct tenon_rates {
    double float32, bfloat16, int8; /* bfloat16, int8: of multiply-adds; no less than float32 */
    uint32_t cores;
} tenon_rates;
/* What this machine can do. Measures the processor for some milliseconds if no call did before, on disk too. */
int tenon_machine_rates(tenon *t, tenon_rates *out);

/* Whether tenon_build_here takes the target, a text as in the options; unknown ones count as if it did. */
int tenon_target_runs_here(const char *target);

/* ---- lists: by index, NULL (or -1) after the last ---- */

const char *tenon_stage_name(size_t i);
const char *tenon_target_name(size_t i, const char **out_doc); /* the first word of tenon_options.target */
const char *tenon_pass_name(size_t i, const char **out_doc);
int tenon_pass_level(
    size_t i); /* the lowest optimisation level at which a graph pass runs; -1: a loop pass */
const char *tenon_operator_name(size_t i, const char **out_doc);

#ifdef __cplusplus
}
#endif
#endif
