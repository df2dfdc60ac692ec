#ifndef TN_FRONTEND_MXNET_H
#define TN_FRONTEND_MXNET_H
/* The MXNet importer: what its reader and its converters share. Converters are written with import/convert.h. */
#include "base/wire/json.h"
#include "frontend/import/layers.h"
#include "op/nn/nn.h"

/* A file of parameters (params.c): tensors by name, which point into the file. */
typedef struct mx_tensor {
    tn_bytes name; /* without "arg:" or "aux:" */
    tn_dtype dtype;
    uint32_t n;
    const int64_t *dim;
    tn_bytes data;
} mx_tensor;

typedef struct mx_node {
    tn_bytes op, name;     /* op "null": a variable */
    const tn_json *attr;   /* an object of texts, or NULL */
    const tn_json *graphs; /* inside the node, or NULL */
    uint32_t n_in, n_out;  /* n_out: as many as others use, at least 1 */
    tn_bytes *in, *out;    /* names of values */
    bool used;             /* some result needs it */
} mx_node;

typedef struct mx_graph { /* the model's, or one inside a node */
    uint32_t n, n_head;
    mx_node *node;
    tn_bytes *head; /* names of values */
} mx_graph;

typedef struct mx_import {
    imp_model im;    /* first: an imp_node's model is one */
    int64_t version; /* 10901: 1.9.1; 0: before 0.9 */
    mx_tensor *tensor;
    size_t n_tensor;
    tn_strmap params; /* name -> index in tensor */
    tn_strmap names;  /* of values that nodes have taken */
    bool alone;       /* there is no file of parameters */
    bool nnvm;        /* operators are NNVM's */
} mx_import;

static inline mx_import *mx_of(const imp_node *c) { return (mx_import *)c->im; }

/* A model in memory: both parts lie in `file`, which outlives the graph. */
typedef struct mx_pair {
    tn_bytes symbol, params; /* params.at NULL: none */
    const char *symbol_name, *params_name;
} mx_pair;
TN_WARN_UNUSED tn_status mx_import_pair(tn_graph *g, const char *path, const tn_file *file,
                                        const mx_pair *pair);

/* Tables by family, ended by a row without a name. */
extern const imp_row mx_rows_element[], mx_rows_nn[], mx_rows_norm[], mx_rows_shape[], mx_rows_create[],
    mx_rows_index[], mx_rows_reduce[], mx_rows_recurrent[], mx_rows_box[], mx_rows_detect[], mx_rows_flow[],
    mx_rows_quant[], mx_rows_fused[], mx_rows_nnvm[];
extern const imp_format mx_format; /* all of them, and the ids of diagnostics (operators.c) */

bool mx_is_params(const uint8_t *at, size_t n); /* the file begins as MXNet's list of parameters does */
/* An archive of NumPy's arrays (npz.c); an array is called as HybridBlock.export calls it. */
bool mx_is_npz(const uint8_t *at, size_t n);
bool mx_is_export(const uint8_t *at, size_t n);
bool mx_read_npz(mx_import *m, tn_bytes file, const tn_loc *loc);
tn_bytes mx_without_prefix(tn_bytes name); /* "arg:" or "aux:" */
/* Reads a file of parameters; false: reported. */
bool mx_read_params(mx_import *m, tn_bytes file, const char *name);
bool mx_is_nnvm(const mx_import *m, const mx_graph *g); /* the graph is one of NNVM (nnvm.c) */
/* MXNet's name of an operator of NNVM; c's attributes become MXNet's. */
tn_bytes mx_respell(mx_import *m, tn_bytes op, imp_node *c);
/* Reads and checks a graph (graph.c); NULL: reported. */
mx_graph *mx_read_graph(mx_import *m, const tn_json *root);
/* An entry of the node's attributes, or a zeroed one. */
tn_bytes mx_attr_text(const mx_node *n, const char *name);
tn_value mx_param(mx_import *m, tn_bytes name); /* as a constant; absent: there is none */
/* Converts the used operators of a graph whose variables are defined. */
void mx_convert_graph(mx_import *m, const mx_graph *g);
/* The first result of an operator of a graph inside c, for these n->n_in operands. */
tn_value mx_apply(imp_node *c, const mx_node *n, const tn_value in[]);

/* ---- graphs inside an operator (ops_flow.c) ---- */
enum { MX_MAX_INNER = 1024 }; /* variables of a graph */
typedef struct mx_inner {
    const mx_graph *g;
    uint32_t n;          /* its variables: */
    const tn_bytes *var; /* names of their values */
} mx_inner;
bool mx_read_inner(imp_node *c, uint32_t i, mx_inner *out); /* false: reported */
/* The graph's results for values of its variables. */
void mx_inner_values(imp_node *c, const mx_inner *g, const tn_value in[], tn_value out[]);

/* ---- attributes, which are texts: `def` where absent or "None" (attr.c) ---- */
const char *mx_text(imp_node *c, const char *name, const char *def);
int64_t mx_int(imp_node *c, const char *name, int64_t def);
bool mx_bool(imp_node *c, const char *name, bool def);
double mx_float(imp_node *c, const char *name, double def);
/* "(1, 2)", "[1, 2]", "3"; an entry None is MX_NONE. false: absent or None. */
#define MX_NONE INT64_MIN
bool mx_ints(imp_node *c, const char *name, tn_ints *out);
bool mx_floats(imp_node *c, const char *name, uint32_t most, uint32_t *n, double out[]);
tn_dtype mx_dtype(imp_node *c, const char *name, tn_dtype def);
/* The text of JSON attribute values as these functions read them, for what is no operator. */
bool mx_parse_ints(tn_bytes text, uint32_t most, uint32_t *n, int64_t out[]);
bool mx_dtype_by_name(const char *name, tn_dtype *out);
bool mx_dtype_by_number(int64_t number, bool nnvm, tn_dtype *out); /* the two number some types otherwise */
bool mx_nnvm_number(tn_dtype t, int *out);                         /* false: NNVM has no such type */
/* One of `words`, ended by NULL; anything else is refused. */
int mx_choice(imp_node *c, const char *name, int def, const char *const words[]);

/* ---- shared by converters ---- */
tn_value mx_round_away(imp_node *c, tn_value x); /* halves away from 0 */
/* Convolution, FullyConnected and Pooling by c's attributes (ops_nn.c); bias may be absent. Of 8-bit numbers the first
 * two give int32 sums, as bias is. */
tn_value mx_convolve(imp_node *c, tn_value x, tn_value weight, tn_value bias);
tn_value mx_connect(imp_node *c, tn_value x, tn_value weight, tn_value bias);
tn_value mx_pool(imp_node *c, tn_value x);

#endif
