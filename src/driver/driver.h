#ifndef TN_DRIVER_DRIVER_H
#define TN_DRIVER_DRIVER_H
/* The driver's state: one build, from a model to a unit. Everything a stage makes lives in the build's arenas. */
#include "base/output.h"
#include "codegen/codegen.h"
#include "frontend/export.h"
#include "frontend/frontend.h"
#include "schedule/schedule.h"
#include "target/target.h"
#include "tenon/tenon.h"
#include "transform/pass.h"
#include "tune/record.h"

#include <pthread.h>
#include <stdatomic.h>

/* How a kernel is made, the best way first; a later one only where those before are refused: as a rule schedules it; as
 * the loops it came from; with every operator a block of its own, as those loops. */
enum tn_form { TN_FORM_SCHEDULED, TN_FORM_SERIAL, TN_FORM_PLAIN, TN_N_FORMS };

/* A context of its own for one kernel (base/ctx.h): all that is made of it, from its TIR to its flat
 * functions, is here, so that kernels can be made in parallel. The build keeps it. */
typedef struct tn_child {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph graph;         /* the build's, as the child sees it */
    const tn_func *meaning; /* its TIR, canonical: kernels of one meaning are one */
    uint64_t hash;          /* of the meaning */
    tn_status status;
} tn_child;

typedef struct tn_group { /* one kernel of the program */
    const char *name;     /* func_name */
    const char *source;
    tn_child *child;
    const tn_node *call; /* the first of its calls */
    uint8_t form;        /* enum tn_form */
    bool no_records;     /* its recorded schedules are refused */
    uint32_t n_recorded; /* variants that have them */
    tn_func *te;         /* as the tensor expressions made it */
    uint32_t n_variant;
    const tn_expr **guard; /* these, and work_bytes in flat, are the build's when a stage is over */
    const tn_func **base;  /* what sched starts from: te, or te in the case that the guard says */
    bool *is_tile;         /* the register tile is given: no record is for it */
    tn_sched *sched;
    tn_flat *flat;
    uint32_t n_in, n_out;
    uint8_t *may_overlap; /* by output and input: 0 not known yet, 1 no, 2 yes; NULL: none known */
} tn_group;

typedef struct tn_call_site {
    const tn_node *call;
    uint32_t group;
} tn_call_site; /* call: of a group, in any region */

/* Objects: compiled, from the cache; of how many at the most, for those that look on (NULL: nobody). */
typedef struct tn_code_count {
    atomic_uint made, loaded;
    uint32_t most;
    struct tn_build *watched;
} tn_code_count;

typedef struct tn_build {
    tn_ctx *ctx;
    const struct tn_build *origin; /* what this one began as a copy of; NULL: nothing */
    tn_arena arena, scratch;
    tn_pool pool;
    tn_graph graph;
    tn_machine machine;
    tn_target target;
    tenon_options opt;
    tn_pass_options pass_options; /* from opt, by tn_passes_init */
    tn_graph_picks picks;         /* what passes chose; given_picks: what they are told */
    tn_picks given_picks;
    tn_rng pick_rng;
    const tn_picks *found_picks; /* by a search: they hold where they fit */
    uint64_t graph_workload;     /* of the graph before passes choose */
    bool graph_recorded;         /* a record says given_picks */
    bool kernels_built_in;       /* records are for the graph alone */
    struct tn_pass_time *pass_time;
    uint32_t n_pass_time; /* in order of the first run */
    const char *model;
    tn_export_params exported; /* by tn_dump in a format of model files: what its text refers to */
    tn_file params_file;       /* constants of a Relay text, mapped; they point into it */
    tn_resource *params;       /* their table, of the runtime */
    tn_records records;        /* that the options name */
    bool has_records;
    const char *record_machine; /* whose records are taken */
    bool all_machines;          /* those of others are read, too: a search begins with them */
    tn_file file;
    tn_vec(tn_group) groups;
    tn_child *child; /* n_child: of the groups, and of those found equal to others */
    uint32_t n_child;
    tn_vec(tn_call_site) calls; /* in execution order */
    const char **feature;
    uint32_t n_feature; /* code generation features, recorded in the package */
    tn_kernel_ir *kernel;
    tn_kernel_signature *signature; /* of the groups, for the program */
    tn_program_ir program;
    tn_program_function_ir *main; /* its first function */
    const tn_node **constant;
    const char **constant_name;
    uint32_t n_constant;      /* of the CONST slots of all functions */
    const char **output_name; /* of @main's results; unique */
    tn_graph_state *state;    /* the model's, and those that the options ask for */
    uint32_t n_state;
    const tn_expr *peak; /* exact peak bytes over the symbols */
    tn_arena_plan *plan; /* of the program's segments, from 0 */
    uint32_t n_in_place; /* results that took an operand's memory */
    tn_unit unit;
    struct {
        double import, graph, tir, schedule, lower, codegen, cc, package;
    } seconds;
    tn_code_count objects;
    struct {
        pthread_mutex_t lock;
        const char *stage;
        size_t done;
    } progress; /* as said last */
} tn_build;

void tn_build_init(tn_build *b, tn_ctx *ctx, const tenon_options *o);
void tn_build_take(tn_build *b, const tenon_options *o); /* other options; NULL: defaults */
/* With a copy of from's module, which has a @main, in a child of from's context. `from` must stay as it is while b
 * lives. */
void tn_build_init_from(tn_build *b, const tn_build *from, tn_ctx *child, const tenon_options *o);
void tn_build_deinit(tn_build *b);

/* target.c: the options' target and machine. */
TN_WARN_UNUSED tn_status tn_target_parse(tn_build *b);
/* foreign.c: code for other machines. Has the output what it takes to link it (driver-E023)? Is a linked library
 * for the machine of the target (driver-E024)? */
TN_WARN_UNUSED tn_status tn_target_check_tools(tn_build *b, const char *output);
TN_WARN_UNUSED tn_status tn_target_check_library(tn_build *b, const tn_buf *so);

/* about.c: this build and this machine, as text, and the machine as JSON (machine.h). */
TN_WARN_UNUSED tn_status tn_about(tn_ctx *ctx, tn_buf *out_text, tn_buf *out_machine);

/* The threads that compile: as the options say, else one for each CPU. */
unsigned tn_build_threads(const tn_build *b);

/* import.c: the model in b->file, called b->model, becomes b->graph; its constants come from b->params. */
TN_WARN_UNUSED tn_status tn_stage_import(tn_build *b);

/* pipeline.c: the stages, each taking the build one door further. */
/* names.c: every input and output of @main gets a name of its own; `find` says which, in b's arena. */
void tn_names_find(tn_build *b, const char ***out_input, const char ***out_output);
void tn_names_settle(tn_build *b);
/* Constants are called by it and a number; no input is. */
const char *tn_constant_prefix(tn_build *b);
/* states.c: which states there are; driver-E097, E098, E111 to E114. A pair's types may become known with the passes:
 * `last` says that they are. */
TN_WARN_UNUSED tn_status tn_states_find(tn_build *b);
TN_WARN_UNUSED tn_status tn_state_check(tn_build *b, const tn_graph_state *s, bool last);
/* What the first run sees, a constant; NULL: zeros. After the check. */
const tn_node *tn_state_first(tn_build *b, const tn_graph_state *s);
int64_t tn_state_of_input(const tn_build *b, uint32_t input); /* -1: it is an input */
bool tn_is_state_result(const tn_build *b, uint32_t output);
/* passes.c: "did you mean FoldConstant?", or where the names are listed. */
const char *tn_pass_advice(tn_build *b, const char *name);
/* propose.c: after an import that failed for symbolic shapes, a note with shapes that work, if some are found. It tries
 * for seconds at most. */
void tn_propose_shapes(tn_build *b);
/* relay-E204 for each constant of a text that was read without its data and has at most so many elements. */
tn_status tn_check_constants(tn_build *b, int64_t most);
TN_WARN_UNUSED tn_status tn_stage_graph(tn_build *b); /* graph passes: relay -> relay-fused */
/* kernels.c */
TN_WARN_UNUSED tn_status tn_stage_tir(tn_build *b); /* groups -> TIR functions, equal ones once */
TN_WARN_UNUSED tn_status tn_stage_schedule(tn_build *b);
/* constants.c: calls of kernels, which are flat by now, get constants in the layouts that schedules give them. */
TN_WARN_UNUSED tn_status tn_constants_lay_out(tn_build *b);
TN_WARN_UNUSED tn_status tn_stage_lower(tn_build *b);
void tn_kernels_drop(tn_build *b);                      /* their contexts */
TN_WARN_UNUSED tn_status tn_stage_program(tn_build *b); /* AOT program, memory plan (program.c) */
/* All of them: everything before machine code; the target is known. */
TN_WARN_UNUSED tn_status tn_stage_kernels(tn_build *b);
/* The same where code is made next: its generator is opened meanwhile, if there are threads to spare. */
TN_WARN_UNUSED tn_status tn_stage_kernels_for_code(tn_build *b);
extern const char *const tn_graph_pipeline[]; /* pass names in order, NULL-terminated */

/* passes.c: what the options say to passes, and one pass run as they say. */
typedef struct tn_pass_time {
    const char *name;
    uint32_t runs;
    double seconds;
} tn_pass_time;
TN_WARN_UNUSED tn_status tn_passes_init(tn_build *b); /* reads the options; driver-E006, E06x */
tn_pass tn_pass_context(tn_build *b);
/* The next name of a list separated by commas, interned; NULL at the end. */
const char *tn_passes_next(tn_build *b, const char **at);
/* Graph passes by name over b's module, whatever the level; each is followed by the verifier. */
TN_WARN_UNUSED tn_status tn_passes_run(tn_build *b, const char *passes);
/* Graph pass: unless disabled or above the level. */
TN_WARN_UNUSED tn_status tn_pass_step(tn_build *b, tn_pass *p, const char *name);
TN_WARN_UNUSED tn_status tn_lower_step(tn_build *b, tn_func *f, tn_flat *out);
/* Does the call of a group only rename the shape of one dense value? Then it makes no kernel. */
bool tn_group_renames(const tn_node *call);
void tn_passes_report(tn_build *b); /* the times, if asked for */

/* program_memory.c: the ranges that the module's symbols have: some may be 0. The caller releases them. */
void tn_symbol_facts(const tn_graph *g, tn_facts *out);
/* operations.c: the arithmetic of one call, over the symbols; 0 where the length of a loop is known in the run only. */
void tn_operations_count(const tn_func *f, const tn_expr *out[TN_N_OPERATIONS]);
/* peak.c: the peak as a formula without max() inside of sums; its bytes where every symbol is 1, or its
 * smallest (0: they cannot be told), and these values: "n=1, m=2". */
void tn_peak_print(tn_build *b, tn_buf *out);
uint64_t tn_peak_example(tn_build *b, tn_buf *out_symbols);

/* package.c and the files of a package. */
/* Opens the constants of a Relay text, from a file or from memory; they live as long as b. */
TN_WARN_UNUSED tn_status tn_params_read(tn_build *b, const char *path);
TN_WARN_UNUSED tn_status tn_params_open(tn_build *b, const char *path, const void *data, size_t n);
/* Those constants by index; none where none were opened. */
TN_WARN_UNUSED tn_status tn_params_constants(tn_build *b, const tn_blob *const **out, size_t *out_n);
/* All others there: parameters by their names, as TVM's save_param_dict writes them. Returns their number. */
size_t tn_params_named(tn_build *b, const tn_relay_param **out);
/* aligned: with fillers, as mod.params has them. */
void tn_params_write(uint32_t n, const char *const name[], const tn_node *const constant[], bool aligned,
                     tn_sink *out);
/* Code by the target's generator: objects, or one C file, which do not depend on the machine that compiles. */
enum { TN_OBJECTS = 64 };
/* cache.c */
tn_code_cache tn_code_cache_open(tn_code_count *count);
/* The key of n words of text, the command that compiles them say; a program is told from others by its file. */
void tn_code_cache_key(const tn_buf *text, int n, const char *const word[], uint8_t out[32]);
/* How it is made, with objects from the cache, which are counted in b; says that it begins. */
tn_code_options tn_code_begin(tn_build *b, tn_code_cache *cache);
TN_WARN_UNUSED tn_status tn_link(tn_build *b, uint32_t n, const tn_buf code[], tn_buf *out_so);
void tn_params_make(tn_build *b, tn_sink *out); /* mod.params, straight from the constants */
/* Writes what the output's name asks for: .so .o .a .c (bundle.c), else the tar. output NULL: the tar goes to
 * *memory. */
TN_WARN_UNUSED tn_status tn_package_write(tn_build *b, const char *output, tn_buf *memory, size_t *out_bytes);
/* bundle.c: one file with kernels, weights and the runtime, and its header beside it. */
enum tn_bundle_form { TN_BUNDLE_NONE, TN_BUNDLE_SO, TN_BUNDLE_O, TN_BUNDLE_A, TN_BUNDLE_C };
enum tn_bundle_form tn_bundle_form_of(const char *output);
TN_WARN_UNUSED tn_status tn_bundle_write(tn_build *b, enum tn_bundle_form form, uint32_t n,
                                         const tn_buf code[], const char *output, size_t *out_bytes);
const char *tn_note_make(tn_build *b); /* note.c: what `verify` shows of a library */
/* Lists a package without running any of it (verify.c). driver-E05x. */
TN_WARN_UNUSED tn_status tn_verify(tn_build *b, const char *package, tn_buf *out);
void tn_bundle_header(tn_build *b, enum tn_bundle_form form, tn_buf *out); /* header.c: the C declarations */

/* call.c, for tests: the heaps of calls from now on ask it at each allocation, which fails if it says so;
 * NULL: none. */
void tn_session_fail(tenon *t, bool (*fail)(void *user), void *user);

/* dump.c: takes the build as far as the stage needs and prints it. */
extern const char *const tn_stage_names[]; /* NULL-terminated */
TN_WARN_UNUSED tn_status tn_dump(tn_build *b, const char *stage, tn_buf *out);

/* "# name: model nodes (where n == 1)": above what is printed of a variant. */
void tn_group_heading(const tn_group *g, uint32_t v, tn_buf *out);

/* tasks.c: workloads of the scheduled kernels, each once; in b's arena. */
typedef struct tn_build_task {
    const tn_group *group; /* the first of its kernels, */
    uint32_t variant;      /* and the variant */
    uint32_t calls;        /* in the program, of all its kernels */
    uint64_t workload;
} tn_build_task;
size_t tn_tasks_find(tn_build *b, tn_build_task **out);

/* records.c, records_place.c: schedules that were found before, in files (records.h). The user's own file,
 * $TENON_RECORDS or tenon/records.db in the data folder; false: there is none. */
enum { TN_RECORDS_PATH = 4096 };
bool tn_records_home(char out[TN_RECORDS_PATH]);
bool tn_records_exist(tn_ctx *ctx, const char *path);
/* What is wrong is reported with this severity, as driver-E160 or E189 and, of a database, E199 to E203.
 * machine NULL: the records of all; else of a database the fastest few of each workload and number of
 * threads alone. */
TN_WARN_UNUSED tn_status tn_records_read(tn_ctx *ctx, const char *path, tn_records *r, const char *machine,
                                         enum tn_severity severity);
/* Those of this machine for b: of the files that the options say; of a file; of the user's own. */
TN_WARN_UNUSED tn_status tn_records_open(tn_build *b);
TN_WARN_UNUSED tn_status tn_records_take(tn_build *b, const char *path);
void tn_records_take_home(tn_build *b);
/* The schedule that is recorded for f: the best that still fits f. Of better ones that are passed over f's context is
 * told once (driver-W008; where: the kernel's nodes, or NULL). false: none is recorded, or none fits. */
bool tn_records_apply(const tn_build *b, const tn_func *f, const tn_loc *where, tn_arena *arena,
                      tn_pool *pool, tn_sched *out);
/* The choices that are recorded for a graph in b->records; false: none are. Texts live in b. */
#define TN_GRAPH_GENERATOR "graph"
bool tn_records_graph(tn_build *b, uint64_t workload, tn_picks *out);
/* As the public API shows it. */
struct tenon_record;
void tn_record_view(const tn_record *r, struct tenon_record *out);
/* Adds records to a file, which is made where it is not there: all at once, workloads of a pair before. Of
 * none, it shows whether the file can be written. base-E003; of a database, driver-E199 to E203. */
TN_WARN_UNUSED tn_status tn_records_append(tn_ctx *ctx, const char *path, uint32_t n, const tn_record *r);

/* space.c: the module's tasks and their picks; a map of picks from a file; the schedule of a function at its point.
 * driver-E15x. */
struct tn_sched_generator;
void tn_space_print(tn_build *b, tn_buf *out);
TN_WARN_UNUSED tn_status tn_picks_read(tn_ctx *ctx, const tn_loc *at, const char *text, size_t n,
                                       tn_arena *arena,
                                       tn_picks *out); /* where text begins: at; driver-E150 */
TN_WARN_UNUSED tn_status tn_explore_read(tn_build *b, const char *path, tn_picks *out);
TN_WARN_UNUSED tn_status tn_explore_func(tn_build *b, const struct tn_sched_generator *by, const tn_func *f,
                                         const tn_picks *given, const char *path, tn_sched *s);

/* variants.c: the scheduled variants of a group. */
enum { TN_MAX_VARIANTS = 2 * (TN_MAX_POINTS + TN_MAX_ROW_TILES) };
void tn_variants_make(tn_build *b, tn_group *g);
/* f where symbols are what the equations of a conjunction say, as "n == 64 and m == k": each names a symbol
 * that no later one has. Its comparisons leave f as it is. The symbols keep their places. */
tn_func *tn_specialise(const tn_func *f, const tn_expr *where);

/* tir_text.c: functions of TIR that were read from a text (b->file), and passes over them. */
typedef struct tn_tir_text tn_tir_text;
bool tn_tir_text_sniff(const tn_file *file);
TN_WARN_UNUSED tn_status tn_tir_text_read(tn_build *b, tn_tir_text **out);
TN_WARN_UNUSED tn_status tn_tir_text_run(tn_build *b, tn_tir_text *x, const char *passes);
void tn_tir_text_print(const tn_tir_text *x, tn_buf *out);
size_t tn_tir_text_count(const tn_tir_text *x);
const tn_func *tn_tir_text_at(const tn_tir_text *x, size_t i);
/* interpret.c */
/* The user is a tn_build *. tn_eval_constant interprets; tn_eval_auto compiles what would take that seconds. */
tn_eval_fn tn_eval_auto, tn_eval_constant;
TN_WARN_UNUSED tn_status tn_find_input(tn_build *b, const tn_node *param, int n_in, const tenon_tensor in[],
                                       const tenon_tensor **out); /* type and rank fit; driver-E042, E043 */
void tn_tensor_give(tenon_tensor *o, const char *name, tn_dtype t, int ndim, const int64_t dim[], void *data,
                    size_t n);
/* interpret_program.c: the program on the runtime, its kernels by the TIR interpreter. */
/* tn_graph.call_host: on the runtime, with the functions of src/host. */
TN_WARN_UNUSED tn_status tn_interpret_host(tn_graph *g, const tn_node *n, struct value *const in[],
                                           struct value *out[]);
TN_WARN_UNUSED tn_status tn_interpret_program(tn_build *b, const char *stage, int n_in,
                                              const tenon_tensor in[], int *n_out, tenon_tensor **out);
TN_WARN_UNUSED tn_status tn_interpret(tn_build *b, const char *stage, int n_in, const tenon_tensor in[],
                                      int *n_out, tenon_tensor **out);

/* From any thread; one call at a time reaches the user, and `done` of a stage never falls. */
void tn_progress_say(tn_build *b, const char *stage, size_t done, size_t of);

#endif
