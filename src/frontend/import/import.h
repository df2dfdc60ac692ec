#ifndef TN_FRONTEND_IMPORT_IMPORT_H
#define TN_FRONTEND_IMPORT_IMPORT_H
/* What the readers of all formats of models share: names and scopes, inputs and their shapes, constants, and the walk
 * over operators that reports everything that is wrong in one run. Nothing here knows a format.
 *
 * A format is a folder with its reader, its tables of converters (import/convert.h is what these are written
 * with) and an imp_format. Its reader opens an imp_model, adds inputs and constants under the names that the
 * model gives them, calls imp_row_of for every operator and then imp_convert for every operator in an order
 * of computation, and ends with imp_set_results and imp_close. An operator that fails only silences those
 * that read its results. */
#include "frontend/frontend.h"
#include "op/op.h"

enum { IMP_HOST_MAX = 64, IMP_MAX_RANK = 8, IMP_MAX_SYMBOLS = 256, IMP_MAX_DEPTH = 32 };

typedef struct imp_node imp_node;

/* What can be wrong with a model of any format. */
enum imp_trouble {
    IMP_NO_OUTPUTS,
    IMP_UNKNOWN_OPERATOR,
    IMP_OTHER_VERSION, /* the operator exists in other versions only */
    IMP_ATTR_TYPE,
    IMP_ATTR_MISSING,
    IMP_ATTR_UNKNOWN,
    IMP_BAD_VALUE, /* of an attribute or of a constant operand */
    IMP_BAD_TENSOR,
    IMP_BAD_FILE,     /* of data beside the model */
    IMP_UNKNOWN_NAME, /* nothing computes it */
    IMP_NAME_TWICE,
    IMP_NO_TENSOR,    /* an input or output that has no shape or is no tensor */
    IMP_NOT_CONSTANT, /* a value that must be known at compile time */
    IMP_OPERANDS,     /* missing or too many */
    IMP_NO_INPUT,     /* a shape is given for an input that the model does not have */
    IMP_OTHER_RANK,   /* ... of another rank */
    IMP_BAD_SIZES,    /* ... that contradicts itself or another */
    IMP_UNSUPPORTED_RESULT,
    IMP_MEMORY,
    IMP_TOO_LARGE, /* ranks and sizes */
    IMP_SYMBOLS,   /* too many unknown dimensions */
    IMP_ERRORS,    /* too many errors */
    IMP_N_TROUBLE
};

typedef struct imp_row { /* an operator of a range of versions */
    const char *op;
    int since, until;    /* versions, inclusive; until 0: all from `since` on */
    int max_in, max_out; /* -1: any number; outputs beyond max_out may be named but not used */
    void (*convert)(imp_node *n);
    const tn_op *relay; /* for converters that serve several rows */
} imp_row;

typedef struct imp_table {
    const char *domain;  /* "com.microsoft"; NULL: the format's own operators */
    const imp_row *rows; /* ended by a row without a name; NULL: the end of the tables */
} imp_table;

typedef struct imp_format {
    const char *version; /* what the version of a set of operators is called: "opset"; NULL: there are none */
    const imp_table *tables;
    bool
        signatures; /* a model has several functions, of which the user may choose one (options->signature) */
    bool reassigns; /* names are variables: each may be given another value */
    void (*check)(imp_node *n); /* before any converter; may be NULL */
    void (*convert)(
        imp_node *n); /* calls the row's converter, or does it in another way; NULL: the row's alone */
    const char *id[IMP_N_TROUBLE]; /* of diagnostics */
} imp_format;

/* ---- values ---- */

enum imp_state {
    IMP_OK,
    IMP_BAD,      /* its maker failed and said so */
    IMP_UNUSABLE, /* an output that we do not compute */
    IMP_ABSENT    /* an optional input of a function that its call does not give */
};

typedef struct imp_value { /* what a name of the model stands for */
    tn_value v;
    enum imp_state state;
    const tn_loc *loc; /* UNUSABLE: the operator */
    uint32_t output;   /* UNUSABLE: which of its outputs */
} imp_value;

/* What a name stood for before a scope gave it another meaning; IMP_NO_VALUE: nothing. */
typedef struct imp_undo {
    tn_bytes name;
    uint64_t at;
} imp_undo;
#define IMP_NO_VALUE UINT64_MAX

typedef struct imp_data_file {
    const char *location;
    const tn_file *file; /* NULL: reported */
} imp_data_file;

typedef struct imp_kept { /* what the model keeps from run to run */
    const char *name;
    tn_value begins, ends; /* with what a run begins, and what it leaves */
    const char *first;     /* function of the first contents; NULL: zeros */
} imp_kept;

typedef struct imp_model { /* a model being read */
    const imp_format *format;
    tn_graph *g;
    tn_region *r; /* where nodes go: body of @main, or a branch */
    tn_vec(
        tn_region *) region; /* of branches and bodies, in the order of their making; a node may hold them */
    const char *file;        /* interned */
    const tn_import_options *options;
    tn_bytes whole; /* the file, which outlives the graph */
    tn_arena scratch;
    tn_strmap names; /* -> index in value */
    tn_vec(imp_value) value;
    tn_vec(imp_undo) undo; /* of the scopes that are open */
    size_t scope;          /* values of the innermost scope begin here: only these must not be given twice */
    int depth;             /* graphs inside graphs, functions inside functions */
    size_t had_errors;
    tn_vec(imp_kept) kept;
    tn_vec(imp_data_file) data;        /* files of data that are open */
    tn_vec(tn_dims) host;              /* elements of small integer tensors by node id; at NULL: not known */
    tn_strmap symbols;                 /* name of a dimension -> const tn_expr * */
    size_t memory_start, memory_limit; /* bytes, as imp_memory counts them */
    size_t own_bytes;                  /* of constants that do not lie in files */
    bool stopped; /* too much of something, which has been said: nothing more is converted */
} imp_model;

/* ---- the model (import.c) ---- */
/* The size of the file limits what the import may take. */
void imp_open(imp_model *im, const imp_format *f, tn_graph *g, const char *path, const tn_file *file,
              const tn_import_options *o);
void imp_start(imp_model *im); /* the file has been read: @main begins */
void imp_close(imp_model *im);
/* The results of @main by their names, unless the user chose others. What has no use is removed: shape
 * arithmetic that was worked out, above all. */
TN_WARN_UNUSED tn_status imp_set_results(imp_model *im, size_t n, const tn_bytes name[]);
/* Bytes that the import holds now, the constants of the graph included. */
size_t imp_memory(const imp_model *im);
/* More errors or memory than a model may take: reported, and im->stopped. */
bool imp_too_much(imp_model *im, const tn_loc *loc);
bool imp_too_many_errors(const imp_model *im);
const tn_loc *imp_make_loc(imp_model *im, const char *node, const char *op);
/* Names of files are untrusted: what cannot be shown becomes \xNN. Interned. */
const char *imp_text(imp_model *im, tn_bytes s);
tn_status imp_error(imp_model *im, enum imp_trouble t, const tn_loc *loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool imp_same(tn_bytes a, tn_bytes b);
bool imp_is(tn_bytes s, const char *text);

/* ---- names (names.c) ---- */
const imp_value *imp_lookup(const imp_model *im, tn_bytes name); /* NULL: unknown */
tn_status imp_define(imp_model *im, tn_bytes name, imp_value v, const tn_loc *loc);
/* A scope sees the names around it and may give them another meaning; an `isolated` one sees its own only. */
typedef struct imp_scope {
    bool isolated;
    tn_strmap names;
    size_t undo, scope;
} imp_scope;
imp_scope imp_enter(imp_model *im, bool isolated);
void imp_leave(imp_model *im, const imp_scope *outside); /* what it defined is forgotten */

/* ---- inputs (inputs.c) ---- */
typedef struct imp_dim {
    int64_t extent; /* below 0: not told */
    tn_bytes name;  /* of a symbol, where there is no extent */
} imp_dim;

typedef struct imp_input {
    tn_bytes name;
    tn_dtype dtype;
    bool has_shape;
    size_t n;
    const imp_dim *dim;
} imp_input;
/* Shapes that a user gives must be of these inputs; names of dimensions that they fix are fixed everywhere. */
TN_WARN_UNUSED tn_status imp_check_shapes(imp_model *im, size_t n, const imp_input in[]);
bool imp_shape_is_given(const imp_model *im, tn_bytes name); /* by the user */
/* A parameter of @main. The name must have been defined, as IMP_BAD, by the last imp_define. */
TN_WARN_UNUSED tn_status imp_add_input(imp_model *im, const imp_input *in, const tn_loc *loc);

/* ---- states (states.c) ---- */
/* A value that the model keeps from one run to the next, a state of the package that is called so: what it is when a
 * run begins. `first` is what the first run sees, NULL: zeros. The extents of the type must be known. The value has no
 * definition where there is an error, which is reported. */
tn_value imp_state(imp_model *im, const char *name, const tn_type *t, const tn_blob *first,
                   const tn_loc *loc);
/* Makes v, a value of @main of the type of that state, what the next run begins with. The last one counts; without one
 * the state stays as it is. */
TN_WARN_UNUSED tn_status imp_set_state(imp_model *im, const char *name, tn_value v, const tn_loc *loc);
/* That last one, or what the run begins with; absent: there is no such state. */
tn_value imp_state_now(imp_model *im, const char *name);
/* The states of the graph; their last values come after the n results in v and name, which have room for them. Returns
 * how many there are then. */
size_t imp_add_states(imp_model *im, size_t n, tn_value v[], const char *name[]);

/* ---- constants (data.c, external.c) ---- */
/* Elements and bytes of a tensor; false: reported, `name` is the tensor's. */
bool imp_measure(imp_model *im, const char *name, size_t n, const int64_t dim[], tn_dtype t,
                 const tn_loc *loc, size_t *out_count, size_t *out_bytes);
/* Data in the file, which must outlive the module. What lies elsewhere is copied, and so are bools other than 0 and
 * 1, which become 1. */
const tn_blob *imp_blob(imp_model *im, tn_bytes data, tn_dtype t);
/* Asked before a constant gets memory of its own, which a small file could claim much of. false: all together would
 * take more than the model's files may mean, which is reported, and im->stopped. */
bool imp_may_own(imp_model *im, size_t bytes);
tn_node *imp_constant(imp_model *im, tn_dtype t, size_t n, const int64_t dim[], const tn_blob *data,
                      const char *name);
tn_node *imp_refuse_tensor(imp_model *im, const tn_loc *loc, const char *name, const char *why); /* NULL */
/* Data in a file beside the model. A model may come from anybody, so it names files of its own folder only. */
typedef struct imp_external {
    const char *location;
    uint64_t offset, length;
} imp_external;
/* The mapping of such a file, made once, which lives as long as the module. NULL: *out_why, in which "%s" stands for
 * the location, or NULL if that was reported. */
const tn_file *imp_open_file(imp_model *im, const char *location, const char **out_why);
/* `bytes`: what the dimensions need; `name`: the tensor's. NULL: reported. */
const tn_blob *imp_external_data(imp_model *im, const imp_external *e, size_t bytes, const char *name,
                                 const tn_loc *loc);
const tn_blob *imp_refuse_file(imp_model *im, const tn_loc *loc, const char *name, const char *fmt,
                               const char *what);

/* ---- operators (nodes.c) ---- */

enum imp_attr_kind {
    IMP_A_UNKNOWN = -1,
    IMP_A_ANY, /* not told: whichever field is asked for */
    IMP_A_FLOAT,
    IMP_A_INT,
    IMP_A_TEXT,
    IMP_A_TENSOR,
    IMP_A_GRAPH,
    IMP_A_FLOATS,
    IMP_A_INTS,
    IMP_A_TEXTS,
    IMP_A_TENSORS,
    IMP_A_GRAPHS,
    IMP_A_SPARSE_TENSOR,
    IMP_A_SPARSE_TENSORS,
    IMP_A_TYPE,
    IMP_A_TYPES
};

typedef struct imp_attr { /* an attribute of an operator, in the field of its kind */
    tn_bytes name;
    enum imp_attr_kind kind;
    int64_t i; /* INT, and bools */
    double f;
    tn_bytes text;
    struct {
        size_t n;
        const int64_t *at;
    } ints;
    struct {
        size_t n;
        const float *at;
    } floats;
    struct {
        size_t n;
        const tn_bytes *at;
    } texts;
    const void *tensor, *sparse, *graph; /* the format's own; NULL: none */
} imp_attr;

struct imp_node { /* an operator of the model, being converted */
    /* given by the reader */
    const imp_row *row; /* NULL: reported */
    int64_t version;
    const tn_loc *loc;
    size_t n_in, n_out, n_attr;
    const tn_bytes *in_name, *out_name; /* n 0: not given, not named */
    const imp_attr *attr;
    const void *origin; /* the format's own */
    /* set by imp_convert */
    imp_model *im;
    tn_graph *g;
    tn_pool *pool;
    tn_arena *arena;       /* the graph's */
    uint64_t asked;        /* attributes a converter asked for, by position */
    bool bad;              /* failed, which has been said */
    const tn_value *given; /* n_in operands in the place of what the names stand for; NULL: as they are */
    tn_value *out;         /* n_out entries, at least one */
};

/* The row of an operator at a version of its domain ("": the format's own). NULL: there is none, which is reported if
 * `report`. */
const imp_row *imp_row_of(imp_model *im, tn_bytes domain, tn_bytes op, int64_t version, const tn_loc *loc,
                          bool report);
/* What follows "is damaged: why": what to do, unless `why` says it. */
const char *imp_again(const char *why);
/* Looks up the operands, converts by the row, defines the results by their names. */
void imp_convert(imp_model *im, imp_node *n);
/* The parts of it, for what is no row: false: an operand is unknown (reported) or its maker failed. */
bool imp_begin(imp_model *im, imp_node *n);
void imp_end(imp_node *n);

#endif
