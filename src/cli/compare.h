#ifndef TN_CLI_COMPARE_H
#define TN_CLI_COMPARE_H
/* tenon compare: two ways to compute a model (sides), what they compute (values), where it differs. */
#include "cli/cli.h"
#include "cli/npz.h"
#include "tenon/runtime.h"

/* ---- values (compare_values.c) ---- */

typedef struct tn_values { /* arrays by name, which own their names and data */
    uint32_t n, room;
    tn_array *array;
} tn_values;

int tn_values_add(tn_values *v, const char *name, const DLTensor *t,
                  size_t bytes);                                      /* copied; an enum tn_exit */
const tn_array *tn_values_find(const tn_values *v, const char *name); /* NULL: none */
void tn_values_deinit(tn_values *v);
DLTensor tn_array_view(const tn_array *a);

/* Elements differ if |a - b| > atol + rtol * max(|a|, |b|). */
typedef struct tn_tolerance {
    double rtol, atol; /* below 0: the default of the type */
} tn_tolerance;

enum { TN_DIFF_TOP = 5, TN_DIFF_BINS = 66, TN_DIFF_ODD = TN_DIFF_BINS - 1 };
typedef struct tn_diff {
    bool shapes; /* the shapes differ, or one is of floats and the other is not: nothing else is known */
    uint64_t n, n_bad; /* elements; those that differ */
    double rtol, atol; /* as they were used */
    uint64_t bin
        [TN_DIFF_BINS]; /* elements by distance in ULPs: 0, 1, 2..3, 4..7, ...; ODD: NaN or infinity on one side */
    uint32_t n_top;
    struct tn_diff_at {
        uint64_t at;
        double a, b, error, ulps;
    } top[TN_DIFF_TOP]; /* the largest errors, largest first; NaN stands before all */
} tn_diff;

void tn_diff_make(const tn_array *a, const tn_array *b, const tn_tolerance *t, tn_diff *out);
bool tn_diff_is(const tn_diff *d); /* they differ */
/* "equal", or how many differ and the largest error, in one line. */
void tn_diff_print_line(const tn_diff *d, const tn_array *a, const tn_array *b);
void tn_diff_print(const tn_diff *d, const tn_array *a); /* the histogram and the largest errors */

/* ---- sides (compare_side.c) ---- */

enum tn_side_kind { TN_SIDE_MODEL, TN_SIDE_PACKAGE, TN_SIDE_ARRAYS, TN_SIDE_ONNXRUNTIME };
typedef struct tn_side {
    char letter; /* 'A' or 'B' */
    enum tn_side_kind kind;
    const char *path;  /* of ONNX Runtime: the model's */
    const char *stage; /* of an interpreter; NULL: compiled */
    tn_args args;      /* flags of both sides, then its own */
    tn_model_options model;
    char **word;
    tn_values given; /* ARRAYS */
} tn_side;

/* `own`: the flags of this side alone, n of them. Prints what fails; deinit either way. */
int tn_side_init(tn_side *s, char letter, const tn_args *args, const char *path, int n, char *const own[]);
void tn_side_deinit(tn_side *s);
/* Its inputs without a shape get, for all runs of this side, as many dimensions as the arrays of `npz`. */
int tn_side_inputs(tn_side *s, const char *npz, const char *mode, tn_values *out);
int tn_side_same_ranks(tn_side *s, const tn_side *from, const char *npz); /* as `from` has got */
/* Runs a model (NULL: the side's own file) with the inputs, by name; what it does not take is ignored. `quiet`: what
 * fails is not printed. */
typedef struct tn_side_model {
    const void *at; /* the bytes of an ONNX file, or a text of Relay */
    size_t n;
    bool relay;
    const void *params; /* constants of Relay */
    size_t n_params;
} tn_side_model;
int tn_side_run(const tn_side *s, const tn_side_model *model, const tn_values *in, bool quiet,
                tn_values *out);
/* Runs its own file twice; fn looks at the second run. */
int tn_side_profile(const tn_side *s, const tn_values *in, tnr_profile_fn *fn, void *user);
bool tn_side_can_run(const tn_side *s); /* other models than its own */

/* ONNX Runtime, where python3 has it (onnxruntime.c). */
int tn_onnxruntime_run(const char *path, const tn_side_model *model, bool optimise, const tn_values *in,
                       bool quiet, tn_values *out);

/* ---- where it begins (compare_find.c) ---- */

typedef struct tn_compare {
    tn_side side[2];
    tn_values in, value[2]; /* inputs of the model; outputs of each side */
    uint32_t n_compared;    /* outputs that both have */
    tn_tolerance tolerance;
    const char *output; /* the part is written to <output>.onnx or .relay, and <output>.npz */
    const char *
        inside; /* "In the then_branch", where the sides are a graph inside a node; NULL: they are whole models */
    bool found; /* an operator that differs first */
} tn_compare;

/* Finds the first operator whose outputs differ and writes it as a model of its own. *differ: whether the outputs of
 * the model do; becomes true where values inside it differ that an archive has. */
int tn_compare_find(tn_compare *c, bool *differ);

#endif
