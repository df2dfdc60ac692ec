#ifndef TN_FRONTEND_KERAS_H
#define TN_FRONTEND_KERAS_H
/* The Keras importer: what its reader and its converters share. Converters are written with import/convert.h.
 *
 * A model is a tree of layers. Each has a configuration (a JSON object), variables, and layers inside: those of a
 * model, the one of a wrapper, cells. Layers are called, some several times; a call has arguments, and gives tensors
 * with their masks. A converter (a row of ops_*.c) does one call. Nothing that a file says is executed. */
#include "base/wire/hdf5.h"
#include "base/wire/json.h"
#include "frontend/import/convert.h"
#include "frontend/import/window.h"
#include "frontend/import/zip.h"
#include "op/nn/nn.h"

enum { KERAS_MAX_DEPTH = 24, KERAS_MAX_RESULTS = 32 };

typedef struct keras_layer keras_layer;

typedef struct keras_tensor {
    tn_value v;          /* absent: its maker failed and said so */
    tn_value mask;       /* bool: what counts of the first dimensions; absent: all */
    const tn_json *json; /* a constant among arguments that are tensors, else NULL */
} keras_tensor;

typedef struct keras_argument {
    tn_bytes name;       /* n 0: known by its position */
    const tn_json *json; /* as the file has it; NULL: tensors that were made here */
    bool is_list, asked;
    size_t n; /* tensors; 0: a constant */
    keras_tensor *at;
} keras_argument;

typedef struct keras_call {
    keras_layer *layer;
    size_t n_arg, n_out;
    keras_argument *arg;
    keras_tensor out[KERAS_MAX_RESULTS];
    bool cell; /* one step of a recurrent cell */
} keras_call;

/* A variable of a layer. Rows name them: "kernel bias?use_bias -moving_mean cell/kernel". "-": it is not
 * trained; "?": only if the configuration says so; before "/": the object inside that holds it. */
typedef struct keras_variable {
    tn_bytes path, name;
    bool trained;
    uint64_t object; /* the dataset; 0: none was found */
    tn_value v;      /* once it was asked for */
} keras_variable;

enum keras_flags {
    KERAS_PLAIN = 0,
    KERAS_OPERATION = 1, /* not a layer: a function of Keras or TensorFlow, called as one; drops masks */
    KERAS_DROPS_MASK = 2,
    KERAS_ANY_TYPE = 4, /* operands keep their type, whatever the layer computes with */
    KERAS_MODEL = 8,
    KERAS_DROPS_OLD_MASK = 16 /* up to Keras 2 */
};

typedef struct keras_row {
    imp_row row;
    const char *variables;
    int flags;
    const char
        *inside; /* keys of the configuration that have a layer, or a list of them: "layer backward_layer" */
} keras_row;

struct keras_layer {
    const char *name, *class;
    const tn_json *json, *config;
    const keras_row *row; /* NULL: reported */
    const tn_loc *loc;
    tn_dtype dtype; /* of what it computes; bits 0: that of its operands */
    bool trained;
    size_t n_inside, n_variable;
    keras_layer **inside;
    tn_bytes place; /* of it in its holder: "layer", "cells" */
    keras_variable *variable;
    size_t n_state; /* of a layer that keeps them from call to call, once it was called */
    tn_value *state;
    const char *path;  /* of it in an archive: "layers/dense"; NULL: not known */
    uint64_t asked[4]; /* members of config that a converter asked for */
    bool checked;
    struct keras_graph *graph; /* of a model; NULL: not read yet */
};

typedef struct keras_import {
    imp_model im; /* first: an imp_node's model is one */
    tn_hdf5 h5;
    bool has_weights, by_path; /* variables by path (Keras 3), else by lists of names */
    uint64_t weights;          /* the group that holds them */
    imp_zip archive;           /* the .keras file; n 0: the model is none */
    int version;               /* 1, 2 or 3 */
    bool merges_masked;        /* products, maxima and minima heed masks: from 3.4 on */
    bool of_theano;            /* the backend that wrote the variables */
    keras_layer *root;
    tn_vec(struct keras_graph *) graphs; /* of the models in it, that were read */
    int depth;
    const tn_expr *batch; /* the first extent of what texts become; NULL: not known */
} keras_import;

static inline keras_import *keras_of(const imp_node *c) { return (keras_import *)c->im; }
static inline keras_call *keras_call_of(const imp_node *c) { return (keras_call *)c->origin; }
static inline keras_layer *keras_layer_of(const imp_node *c) { return keras_call_of(c)->layer; }

extern const keras_row keras_rows_core[], keras_rows_window[], keras_rows_local[], keras_rows_shape[],
    keras_rows_merge[], keras_rows_norm[], keras_rows_recurrent[], keras_rows_attention[],
    keras_rows_preprocessing[], keras_rows_audio[], keras_rows_category[], keras_rows_text[],
    keras_rows_operation[], keras_rows_form[], keras_rows_function[], keras_rows_numbers[],
    keras_rows_products[], keras_rows_statistics[], keras_rows_picture[], keras_rows_activation[];
extern const imp_format keras_format;
const keras_row *keras_row_of(keras_import *k, tn_bytes class, bool operation,
                              const tn_loc *loc); /* NULL: reported */

/* ---- JSON (config.c) ---- */
tn_bytes keras_bytes(const tn_json *v);                  /* of a text; n 0: none */
const tn_json *keras_at(const tn_json *array, size_t i); /* NULL: no array, or shorter */
bool keras_number(const tn_json *v, double *out);        /* numbers and truth values */
bool keras_whole(const tn_json *v, int64_t *out);
/* The name of a class or function, and its configuration, in any dialect. */
tn_bytes keras_class(const tn_json *v, const tn_json **out_config);
bool keras_dtype(tn_bytes name, tn_dtype *out);
tn_dtype keras_policy(const tn_json *config); /* bits 0: not told */

/* ---- configuration of the layer that is converted; `def` where absent or null ---- */
const tn_json *keras_config(imp_node *c, const char *key); /* NULL: absent or null */
int64_t keras_int(imp_node *c, const char *key, int64_t def);
double keras_real(imp_node *c, const char *key, double def);
bool keras_bool(imp_node *c, const char *key, bool def);
const char *keras_text(imp_node *c, const char *key, const char *def);
/* n integers, or one for all; false: absent. */
bool keras_ints(imp_node *c, const char *key, int n, int64_t out[]);
/* A list of any length up to `most`; -1: absent. */
int keras_list(imp_node *c, const char *key, int most, int64_t out[]);
void keras_ignore(imp_node *c, const char *key);
bool keras_channels_last(imp_node *c);
void keras_check_config(imp_node *c);      /* reports what no converter asked for */
bool keras_says_nothing(const tn_json *v); /* null, false, 0, an empty list */

/* ---- arguments and results of the call that is converted (calls.c) ---- */
size_t keras_n_in(const imp_node *c);       /* tensors of the first argument */
tn_value keras_in(imp_node *c, size_t i);   /* tensor i of it */
tn_value keras_mask(imp_node *c, size_t i); /* its mask; absent: none */
const keras_argument *keras_argument_of(imp_node *c, int position, const char *name); /* NULL: not given */
tn_value keras_tensor_of(imp_node *c, int position, const char *name);                /* absent: not given */
/* A constant, or NULL. */
const tn_json *keras_constant_of(imp_node *c, int position, const char *name);
void keras_out(imp_node *c, tn_value v); /* the only result; its mask is that of the first operand */
void keras_out_masked(imp_node *c, tn_value v, tn_value mask);
/* A number, or lists of numbers, of lists too: a dimension for each depth. */
tn_value keras_json_tensor(imp_node *c, const tn_json *v, tn_dtype t);
/* A call of a layer inside: operands with their masks; false: failed. */
bool keras_apply(imp_node *c, keras_layer *l, size_t n, const keras_tensor in[], keras_call *out);
void keras_convert(keras_import *k, keras_call *call, tn_region *r);

/* ---- parameters of functions, by one of the names (with blanks between), or by their place (parameters.c) ---- */
const tn_json *keras_param(imp_node *c, int position, const char *names); /* NULL: not given */
int64_t keras_param_whole(imp_node *c, int position, const char *names, int64_t def);
double keras_param_real(imp_node *c, int position, const char *names, double def);
bool keras_param_truth(imp_node *c, int position, const char *names);
/* Up to IMP_MAX_RANK integers, or one; -1: not given. */
int keras_param_list(imp_node *c, int position, const char *names, int64_t out[]);
tn_dtype keras_param_dtype(imp_node *c, int position, tn_dtype def); /* "dtype" */
int keras_param_axis(imp_node *c, int position, const char *names, int64_t def, int rank);
tn_value keras_operand(imp_node *c, int position,
                       const char *names); /* absent: it is no tensor of the model */
tn_value keras_any_operand(imp_node *c, int position,
                           const char *names); /* or a constant; absent: reported */
tn_value keras_optional_operand(imp_node *c, int position,
                                const char *names); /* the same, and absent where it is not given, or None */
tn_dtype keras_float_of(tn_dtype t);                /* t, or float32 */
/* The type of a tensor of type t and a number, or a constant tensor, together. */
tn_dtype keras_type_with(imp_node *c, tn_dtype t, const tn_json *number);
/* Two operands of one type: a number has that of the other, two tensors have one that holds both; false: reported. */
bool keras_two(imp_node *c, tn_value *a, tn_value *b);
/* Without an axis, keras.ops takes all elements as a list; TensorFlow takes the first axis. */
tn_value keras_without_axis(imp_node *c, tn_value x, int position);
/* The type that a constant tensor or a list has by itself; false: a number, which takes that of the other operand. */
bool keras_json_dtype(const tn_json *v, tn_dtype *out);

/* ---- variables (weights.c) ---- */
tn_value keras_variable_of(imp_node *c, const char *name);         /* required; "kernel" or "cell/kernel" */
tn_value keras_optional(imp_node *c, const char *name);            /* absent: the configuration has none */
tn_value keras_raw(imp_node *c, keras_layer *l, const char *name); /* in the type of the file */
tn_status keras_bind(keras_import *k);                             /* finds the dataset of each variable */
bool keras_inflate(tn_bytes from, void *to, size_t n);
size_t keras_count_variables(const keras_layer *l); /* with those of layers inside */

/* ---- files in the archive (import.c) ---- */
/* A file that the layer keeps beside its variables; false: there is none, or it is damaged, which is reported. */
bool keras_asset(imp_node *c, const char *name, tn_bytes *out);

/* ---- layers (layers.c) ---- */
keras_layer *keras_read_layer(keras_import *k, const tn_json *json, int depth); /* NULL: reported */

/* ---- models (model.c) ---- */
void keras_call_model(imp_node *c);
size_t keras_inputs(keras_import *k, keras_layer *model, keras_layer ***out);
void keras_free_graphs(keras_import *k);
/* The results of the outermost model for these inputs. */
bool keras_run(keras_import *k, keras_layer *model, size_t n, const keras_tensor in[], keras_call *out);
const char *keras_result_name(keras_import *k, keras_layer *model, size_t i);

/* ---- shared by converters ---- */
tn_value keras_activate(imp_node *c, const tn_json *how, tn_value x); /* how NULL: x */
tn_value keras_activation(imp_node *c, tn_value x);                   /* by the key "activation" */
const char *keras_cell_activation(imp_node *c, const char *key, const char *def);
tn_value keras_like(imp_node *c, tn_value x, double v); /* a constant of x's type */
tn_value keras_as(imp_node *c, tn_value v, tn_value x); /* v in x's type */
/* The least type that holds numbers of both, as Keras 3 promotes them (keras.backend.result_type). */
tn_dtype keras_result_type(tn_dtype a, tn_dtype b);
void keras_promote(imp_node *c, size_t n, tn_value v[]); /* all to one type */
tn_value keras_as_float(imp_node *c, tn_value x);        /* x, or float32 where it is no float */
tn_value keras_as_number(imp_node *c, tn_value x);       /* truth values as int32 */
/* Along n axes; none: x itself. */
tn_value keras_reduce(imp_node *c, const tn_op *op, tn_value x, int n, const int64_t axis[], bool keep);
tn_value keras_softmax(imp_node *c, tn_value x, int64_t axis);
/* Resized as Keras 3 does: what weights give of whole numbers is rounded and saturated. */
tn_value keras_resized(imp_node *c, tn_value x, bool last, tn_dims size, tn_resize_attr a);
/* An interpolation by a filter whose weights are constants (ops_preprocessing.c): of pictures with fixed extents. */
bool keras_is_filter(const char *interpolation);
tn_value keras_filtered(imp_node *c, tn_value x, bool last, const int64_t to[2], const char *interpolation,
                        bool antialias);
tn_value keras_matmul(imp_node *c, tn_value a, tn_value b); /* NumPy's: batches broadcast */
tn_value keras_dense(imp_node *c, tn_value x, tn_value kernel, tn_value bias); /* over the last dimension */
/* A kernel (D)(H)WIO as OI(D)(H)W; a convolution with it, by the steps and the padding of the configuration. */
tn_value keras_conv_weight(imp_node *c, tn_value kernel, int dims);
tn_value keras_convolve(imp_node *c, tn_value x, tn_value weight, int64_t groups);
tn_value keras_einsum(imp_node *c, const char *equation, tn_value a, tn_value b);

#endif
