#ifndef TN_FRONTEND_PYTORCH_PYTORCH_H
#define TN_FRONTEND_PYTORCH_PYTORCH_H
/* What PyTorch's readers (TorchScript, torch.export) and converters share.
 *
 * A model is run once, with tensors that are values of the graph: Python numbers, lists and objects are worked out,
 * calls of operators become Relay calls. A condition that only the run knows becomes an `if`; where its branches have
 * no common form, everything after it is read twice, once for each (run.c). */
#include "frontend/import/zip.h"
#include "frontend/pytorch/code.h"
#include "frontend/pytorch/value.h"

typedef struct pt_import pt_import;

/* ---- operators ---- */
enum { PT_MAX_ARG = 24 };
enum {
    PT_VIEW = 1,      /* the result shares the memory of the first operand */
    PT_QUANTISED = 2, /* the converter itself says how its results are quantised */
    /* what the operator gives of complex numbers, made of what it gives of real ones (complex.c): */
    PT_PARTS = 4,    /* of the first operand's real and imaginary part, each */
    PT_SUM = 8,      /* the same of all tensors; the imaginary part of real ones is zero */
    PT_PRODUCT = 16, /* it is a product of its tensors */
    /* A constant of rank 0 as its second operand is a number, which does not decide the type (types.c). */
    PT_OF_NUMBER = 32,
    PT_ORDERED = 64, /* a view whose elements lie in the order of its dimensions if those of the operand do */
    PT_IF_ORDERED = 128, /* it is a view only then; else a copy, of which PyTorch decides by the strides */
    PT_WIDE =
        256, /* a formula of several steps, which 16-bit floats take in float32, rounded once (args.c) */
};

typedef struct pt_row {
    /* as PyTorch declares it, without an overload's name and result: "sub(Tensor self, Tensor other, *, Scalar
     * alpha=1)". A parameter Tensor takes a number, too; Complex a tensor of complex numbers. Several rows of a name:
     * the first that fits the arguments. */
    const char *schema;
    void (*convert)(imp_node *c);
    const tn_op *relay; /* for converters that serve several rows */
    int flags;
} pt_row;

extern const pt_row pt_rows_math[], pt_rows_nn[], pt_rows_norm[], pt_rows_move[], pt_rows_split[],
    pt_rows_index[], pt_rows_reduce[], pt_rows_make[], pt_rows_matrix[], pt_rows_activation[],
    pt_rows_recurrent[], pt_rows_loss[], pt_rows_image[], pt_rows_quantised[], pt_rows_complex[];

typedef struct pt_call { /* an operator being converted; `n` is what import/convert.h works on */
    imp_node n;
    pt_import *p;
    const pt_row *row;
    const char *name; /* "aten::add" */
    pt_value arg[PT_MAX_ARG];
    pt_value out;
    enum { PT_OF_ITSELF, PT_TO_REAL, PT_TO_COMPLEX } to; /* the type of elements that an argument asks for */
    bool part;                                           /* of a call over complex numbers */
    tn_dtype narrow; /* of a row with PT_WIDE: the 16-bit type of its operands; no bits: another one */
    uint32_t wanted; /* variables that the code unpacks its result into; 0: it does not */
} pt_call;

typedef struct pt_args {
    size_t n; /* by position first, then by keyword */
    const pt_value *at;
    const tn_bytes *keyword; /* empty: by position */
} pt_args;

/* Is it known that its elements lie in the order of its dimensions? */
bool pt_is_ordered(const pt_tensor *t);
pt_call *pt_call_again(const pt_call *k); /* of the same arguments, which may be changed */
pt_value pt_perform(pt_call *k);          /* its result, which shows the memory that it shows */
/* name: "add", "quantized::conv2d"; the result is UNKNOWN (-1) where it failed, which is reported. */
pt_value pt_apply(pt_import *p, tn_bytes name, const pt_args *a);
/* An operator, or a function that takes no tensors, with arguments by position. */
pt_value pt_call_named(pt_import *p, const char *name, size_t n, const pt_value at[]);
pt_value pt_replay(const pt_call *call, pt_value first); /* the call with another first operand */
bool pt_is_ignored(tn_bytes keyword);                    /* an argument without a bearing on results */
/* Of arguments that are all named: those that stand as the operator declares them lose their names. */
void pt_place_named(pt_import *p, tn_bytes name, size_t n, tn_bytes keyword[]);
bool pt_is_bad(pt_value v);
/* The type and the name of parameter i of a row, which has it. */
void pt_parameter(const pt_row *r, size_t i, tn_bytes *type, tn_bytes *name);
static inline pt_value pt_bad(void) { return (pt_value){.kind = PT_UNKNOWN, .i = -1}; }

/* ---- arguments of a converter (args.c) ---- */
static inline pt_call *pt_of(imp_node *c) { return (pt_call *)c; }
static inline pt_value pt_arg(imp_node *c, int i) { return pt_of(c)->arg[i]; }
static inline bool pt_given(imp_node *c, int i) { return pt_of(c)->arg[i].kind != PT_NONE; }
tn_value pt_in(imp_node *c, int i);                /* a tensor; a number as one of rank 0; absent for None */
tn_value pt_as_tensor(imp_node *c, pt_value v);    /* the same of any value */
tn_value pt_as(imp_node *c, pt_value v, tn_dtype); /* ... of that type */
tn_value pt_real_value(imp_node *c, pt_tensor *quantised); /* (ops_quantised.c) */
void pt_keep_steps(imp_node *c);     /* quantises a result that PyTorch gives as the first operand is */
tn_dims pt_dims(imp_node *c, int i); /* extents; what only the run knows is bound */
const tn_expr *pt_extent(imp_node *c, pt_value v); /* one of them */
tn_ints pt_ints(imp_node *c, int i);               /* known integers; a number is a list of one */
int64_t pt_integer(imp_node *c, int i);
double pt_real(imp_node *c, int i);
bool pt_truth(imp_node *c, int i);
const char *pt_string(imp_node *c, int i);
bool pt_dtype(imp_node *c, int i, tn_dtype *out); /* false: None */
int pt_axis(imp_node *c, int i, int rank);
/* n integers from a list of n or of 1 */
const int64_t *pt_repeated(imp_node *c, int i, int n);
uint32_t pt_n_in(imp_node *c, int i);                  /* elements of a list of tensors */
tn_value *pt_list_in(imp_node *c, int i, uint32_t *n); /* a list of tensors */

/* A function of architectures/, with arguments by position. */
pt_value pt_library_call(imp_node *c, const char *name, size_t n, const pt_value at[]);

/* ---- results ---- */
void pt_out(imp_node *c, tn_value v);
void pt_out_many(imp_node *c, enum pt_kind kind, uint32_t n, const tn_value v[]); /* LIST or TUPLE */
void pt_out_value(imp_node *c, pt_value v);

/* ---- types (types.c) ---- */
bool pt_dtype_of(int64_t code, tn_dtype *out); /* of a ScalarType */
int64_t pt_code_of(tn_dtype t);
bool pt_complex_of(int64_t code, tn_dtype *part); /* of a ScalarType of complex numbers */
int64_t pt_complex_code(tn_dtype part);
tn_dtype pt_promote(tn_dtype a, tn_dtype b);
/* The type in which an operator over these arguments computes. */
tn_dtype pt_result_type(imp_node *c, int n, const pt_value v[]);
tn_dtype pt_float_type(tn_dtype t); /* itself, or float32 */
void pt_mark_constant(pt_value v);  /* an entry of the table CONSTANTS */
/* The arguments of an operator that has such rows: constants that count as numbers are numbers. */
pt_args pt_with_numbers(pt_import *p, const pt_row *row, const pt_args *a);
/* The same for code that an operator is made of: there, no constant counts as a number. */
pt_args pt_without_constants(pt_import *p, const pt_args *a);

/* ---- numbers, lists, texts (python.c) ---- */
/* What a call of a function that takes no tensors gives; false: it is none of these. */
bool pt_python_binary(pt_import *p, tn_bytes name, const pt_args *a, pt_value *out);
bool pt_python(pt_import *p, tn_bytes name, const pt_args *a, pt_value *out);
pt_value pt_binary(pt_import *p, const char *op, pt_value a, pt_value b);
pt_value pt_convert(pt_import *p, enum pt_kind kind, pt_value v);   /* int(v), float(v), bool(v) */
pt_value pt_number_of(pt_import *p, enum pt_kind kind, tn_value v); /* rank 0; known where v is */
tn_value pt_number_value(pt_import *p, pt_value v);                 /* int64, float64 or bool, rank 0 */
tn_value pt_cell_value(pt_import *p, pt_value v); /* that of a VALUE, LATE_LIST, TENSOR or number */
pt_value pt_item(pt_import *p, pt_value of, pt_value at);
/* `what` has to be known while the model is read. */
void pt_refuse_late(pt_import *p, const char *what);
/* dict[key] = value; a key that only the run knows is refused. */
void pt_dict_put(pt_import *p, pt_value dict, pt_value key, pt_value value);
bool pt_identical(pt_import *p, pt_value a, pt_value b); /* "is"; refused where only the run knows */

/* ---- tensors (tensor.c) ---- */
/* Those that became stale since there were `mark` of them are no longer. */
void pt_fresh_after(pt_import *p, size_t mark);
void pt_make_stale(pt_import *p, pt_tensor *t);
/* A condition, a loop or the order of elements makes a of what may be b: where one is changed in place, the
 * other can be read no more. */
void pt_may_be(pt_import *p, pt_tensor *a, pt_tensor *b);
bool pt_is_contiguous(const pt_tensor *t); /* of the file */
pt_value pt_tensor_new(pt_import *p, tn_value v);
pt_value pt_tensor_like(pt_import *p, pt_value like, tn_value v); /* a TENSOR or LATE_LIST, as `like` is */
tn_value pt_tensor_value(pt_import *p, pt_tensor *t);             /* as it is now */
void pt_tensor_set(pt_import *p, pt_tensor *t, tn_value v);
/* Does, or may, it share its memory with what must not change? */
bool pt_is_fixed(pt_import *p, pt_tensor *t);
void pt_refuse_fixed(pt_import *p, const char *op);
/* It shares its memory with a copy that the operator has made. */
void pt_tensor_fix(pt_tensor *t, const char *op);

/* ---- lists of the run (late_list.c) ---- */
/* The list is read again as one of the run; false: it cannot be one. */
bool pt_make_late(pt_import *p, pt_list *l);
void pt_may_take(pt_list *l, pt_value v); /* one that gets such an element may not be */
pt_value pt_late_list(pt_import *p, const pt_list *l);
pt_value pt_late_sum(pt_import *p, pt_value a, const pt_list *b, bool first); /* a + b; b is first: b + a */
pt_value pt_late_item(pt_import *p, pt_value list, pt_value at);
pt_value pt_late_tensor(pt_import *p, pt_value list);     /* of its numbers */
void pt_late_set(pt_import *p, pt_tensor *t, tn_value v); /* (tensor.c) */

/* ---- complex numbers (complex.c) ---- */
pt_value pt_complex(pt_import *p, pt_value re, pt_value im); /* of two tensors */
bool pt_holds_complex(pt_value v);                           /* is it one, or a list that has one? */
bool pt_any_complex(size_t n, const pt_value at[]);
pt_value pt_perform_complex(pt_call *k);          /* of a row that has a flag for it */
tn_value pt_joined(imp_node *c, pt_value z);      /* [..., 2] */
pt_value pt_taken_apart(imp_node *c, tn_value v); /* of [..., 2] */

/* ---- the run (run.c, flow.c) ---- */
typedef struct pt_log {
    pt_cell *cell;
    pt_value before;
} pt_log;

typedef struct pt_path { /* what was decided about a condition that split the run */
    uint32_t number;     /* of the condition */
    bool outcome;
    tn_value subject; /* an int, of which it is known whether it is `with`; absent: of none */
    int64_t with;
    bool equal;
} pt_path;

typedef struct pt_kept { /* what a run changes and the next one begins with */
    pt_cell *cell;
    pt_tensor *tensor; /* whose value that is, of the file; NULL: an attribute */
    const char *name;
} pt_kept;

typedef struct pt_meant { /* the type of an input, by what the code does with it */
    const char *name;
    tn_dtype dtype;
} pt_meant;

enum { PT_MAX_CALLS = 200, PT_MAX_DEPTH = 3000, PT_MAX_PATH = 8, PT_MAX_RUNS = 64, PT_MAX_UNROLL = 4096 };

typedef struct pt_input { /* a tensor or number that the model takes */
    const char *name;
    tn_value v;
} pt_input;

struct pt_import {
    imp_model im;
    imp_zip zip;
    const char *root; /* of the archive's names, with its slash */
    tn_strmap storages, sources, reported;
    pt_value constants, self;
    bool restoring;           /* classes make of the file's objects what their states say */
    const pt_source *library; /* functions that code calls by their names alone; NULL: none */
    /* the place where the run is */
    const tn_loc *loc;
    const char *file;
    int line;
    const char *loc_file;
    int loc_line;
    const char *loc_op;
    uint32_t wanted;  /* variables that the next call's result is unpacked into; 0: none */
    int calls, depth; /* depth: expressions, statements and values inside values that are open */
    /* what changed, so that branches can be undone */
    tn_vec(pt_log) log; /* of the run */
    int logging;        /* branches that the run is in */
    tn_vec(pt_kept) kept;
    bool settled;       /* what is kept has become states */
    bool stop;          /* the run is abandoned */
    const char *raised; /* the model has raised an exception, which says this */
    /* conditions */
    uint32_t n_condition;
    tn_vec(const void *) late; /* expressions whose lists are lists of the run */
    tn_vec(uint32_t) splits;   /* numbers of conditions that must split, on the path being read */
    bool again;                /* the path must be read again, since one more must split */
    pt_path path[PT_MAX_PATH];
    uint32_t n_path, n_passed, n_run; /* n_passed: conditions of the path that this run has met */
    uint64_t steps;
    uint32_t n_tensor;         /* made so far, by pt_tensor_new */
    uint32_t n_walk;           /* over tensors that may be of one memory */
    tn_vec(pt_tensor *) stale; /* in the order in which they became so */
    /* the model as a function */
    pt_value (*body)(pt_import *p, void *user);
    void *user;
    pt_value result; /* of the run */
    bool finished;   /* a split has given the result */
    tn_vec(pt_meant) meant;
    bool mistaken; /* an input was taken to be of another type than it is: the file must be read again */
};

tn_status pt_fail(pt_import *p, const char *id, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
imp_node *pt_ctx(pt_import *p); /* for helpers outside of converters; its failure stops the run */
/* Begins a step of the run that may hold others; false, and pt_leave must not follow: the run has too many, or they are
 * nested too deep, or it takes too much memory, which is reported and stops it. */
bool pt_enter(pt_import *p);
static inline void pt_leave(pt_import *p) { p->depth--; }
void pt_put(pt_cell *c, pt_value v); /* the same unlogged */
void pt_set(pt_import *p, pt_cell *c, pt_value v);
const tn_loc *pt_place(pt_import *p, const char *op);
/* Is v something that can be used? An UNKNOWN one splits the run at the condition that made it. */
bool pt_usable(pt_import *p, pt_value v);
bool pt_must_split(const pt_import *p, uint32_t number); /* the run, at that condition */
void pt_stop_if_bad(pt_import *p, imp_node *c);
/* What is known of an input whose type nothing says; bits 0: nothing. */
tn_dtype pt_meant_dtype(const pt_import *p, const char *name);

typedef void pt_branch(pt_import *p, void *user);
/* Runs one of two pieces of code by a condition. */
void pt_if(pt_import *p, pt_value condition, pt_branch *then, pt_branch *orelse, void *user);
typedef struct pt_loop {
    pt_value trip;                            /* INT or NUMBER; NONE: no limit */
    pt_value (*go)(pt_import *p, void *user); /* before each iteration; NULL: always */
    void (*body)(pt_import *p, void *user, pt_value i);
    void *user;
} pt_loop;
void pt_loop_run(pt_import *p, const pt_loop *l);

void pt_undo(pt_import *p, size_t mark); /* what the log has from there on */
tn_region *pt_region_new(pt_import *p);
void pt_discard_regions(pt_import *p, size_t from);
/* Runs the model where p->im.r is. false: it raises or cannot be read; *why says so, where errors are `kept` back. */
bool pt_run(pt_import *p, const char **why);
/* Two values as one: by an `if` whose branches give them. */
typedef struct pt_join pt_join;
/* Reads the model once for every path; the result's tensors are those of @main. */
tn_status pt_read(pt_import *p, pt_value (*body)(pt_import *p, void *user), void *user, pt_value *out);

/* The nodes, regions and changes of the runs since then are forgotten. */
typedef struct pt_mark {
    tn_node *last;
    size_t regions, diagnostics;
} pt_mark;
pt_mark pt_mark_of(const pt_import *p);
/* Takes back what was said since there were n_diag diagnostics. Operators that are not known are said once more. */
void pt_unsay(pt_import *p, size_t n_diag);
void pt_forget(pt_import *p, pt_mark mark);
/* Two readings of which the run chooses one: results in common, or it fails. */
pt_value pt_fork(pt_import *p, tn_value condition, pt_value (*read)(pt_import *p, void *user, bool outcome),
                 void *user);

/* ---- from run to run (keep.c) ---- */
/* A cell that outlives the run has been given a value. */
void pt_keep(pt_import *p, pt_cell *cell, pt_tensor *tensor, const char *name);
bool pt_keep_list(pt_import *p, const pt_list *list); /* false: no attribute holds it */
/* pt_read; what a model changes that is kept becomes states. */
tn_status pt_read_with_states(pt_import *p, pt_value (*body)(pt_import *p, void *user), void *user,
                              pt_value *out);

/* ---- TorchScript (script.c, eval.c) ---- */
pt_value pt_call_method(pt_import *p, pt_object *self, tn_bytes name, const pt_args *a);
const pt_source *pt_source_of(pt_import *p, tn_bytes qualified,
                              tn_bytes *out_name); /* file and last name; NULL */
pt_value pt_run_def(pt_import *p, const pt_def *d, const pt_value *self, const pt_args *a);
const pt_class *pt_class_of(pt_import *p, tn_bytes qualified);
const pt_def *pt_method_of(pt_import *p, const pt_object *o, tn_bytes name);
tn_status pt_unpickle_entry(pt_import *p, const char *name, const char *folder, pt_value *out);
tn_status pt_import_script(pt_import *p);

const pt_def *pt_find_def(const pt_source *s, tn_bytes name); /* NULL: none, or no source */

/* ---- weights without code (weights.c, architecture.c) ---- */
/* A zip archive or a pickle; a file of safetensors. */
tn_status pt_import_weights(pt_import *p);
bool pt_is_pickle(tn_bytes file);
bool pt_is_safetensors(tn_bytes file);
/* The network that the user names, with these weights: a dict of tensors by their names. */
tn_status pt_run_architecture(pt_import *p, pt_value weights);
const char *pt_architecture_names(tn_arena *a); /* for messages */
const pt_source *pt_library(pt_import *p);      /* their functions, and operators that are made of others */

/* ---- torch.export (export.h) ---- */
#define PT_MODEL_JSON "models/model.json"                  /* of torch 2.8 and newer */
#define PT_PROGRAM_JSON "serialized_exported_program.json" /* of older ones */
tn_status pt_import_export(pt_import *p);

/* ---- archives (import.c) ---- */
/* Opens the archive of p->zip. p->root is what its names begin with, by one that is always there; NULL: it is not. Big-
 * endian numbers are refused. */
tn_status pt_open_archive(pt_import *p, tn_bytes file, const char *name);

/* ---- inputs and results (signature.c) ---- */
/* `more`: a dict of further results by their names, or none. */
tn_status pt_give_results(pt_import *p, pt_value result, pt_value more);

extern const imp_format pt_format;

#endif
