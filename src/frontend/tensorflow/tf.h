#ifndef TN_FRONTEND_TENSORFLOW_H
#define TN_FRONTEND_TENSORFLOW_H
/* The TensorFlow importer: what its reader and its converters share. Converters are written with import/convert.h.
 *
 * A graph is converted from its results backwards: what no result needs (training, saving) is never looked at. Names
 * of values are those of the file, in one spelling: `node` is the first output of a node, `node:k` another one. */
#include "frontend/import/complex.h"
#include "frontend/import/convert.h"
#include "frontend/import/matrix.h"
#include "frontend/import/text.h"
#include "frontend/tensorflow/node.h"

enum { TF_NONE = -1, TF_MAX_OUT = 65536 };

typedef struct tf_node {
    const tf_node_def *def;
    size_t n_in, n_out, n_control;
    const tn_bytes *in, *out;
    const int64_t *from;    /* n_in: numbers of the nodes that compute them; TF_NONE: no node */
    const int64_t *control; /* nodes that TensorFlow runs before */
    bool under_way;
} tf_node;

typedef struct tf_graph { /* of the model, or of a function */
    tf_node *node;
    size_t n;
    tn_strmap index;
    bool *act;    /* of each node: it assigns, or calls what does; NULL: not looked at yet */
    bool *effect; /* ... or it reads such a node, or runs after it; see tf_find_reads */
} tf_graph;

/* What a handle stands for: no tensor, but a value of the model. */
enum tf_resource_kind { TF_VARIABLE, TF_TABLE, TF_LIST };
typedef struct tf_resource {
    enum tf_resource_kind kind;
    const char *name;
    tn_dtype dtype, key; /* of its values, and of a table's keys */
    tn_value value;      /* of a variable: absent until it is read; of a table: its values */
    tn_value keys;
    bool ref;      /* VariableV2: who reads the handle reads the value */
    bool assigned; /* value is what a run changed it to */
    const tf_node_def *def;
    tn_value count; /* of a list: how many elements it has */
    bool grows;     /* of a list: elements may be written behind its last one */
} tf_resource;

typedef struct tf_checkpoint tf_checkpoint;

typedef struct tf_call_site { /* a node that calls a function */
    const tf_function *in;    /* where it stands; NULL: in the main graph */
    int64_t node, next;       /* next: another call of the same function; TF_NONE: the last one */
} tf_call_site;

typedef tn_vec(int64_t) tf_nodes;

typedef struct tf_import {
    imp_model im; /* first: an imp_node's model is one */
    const tf_graph_def *def;
    const tf_meta_graph *meta; /* NULL: a frozen graph */
    tf_graph *main;
    tf_graph *graph; /* the one being converted */
    tf_frame *frame; /* the function being converted, or NULL */
    tn_strmap functions;
    tn_map graphs; /* of functions that were called */
    tn_vec(tf_graph *) made;
    tn_vec(tf_call_site) calls;
    tn_map callers;   /* function -> its first call */
    tn_map only_call; /* function -> const tf_place *, its only call that the main graph leads to; 0: none */
    bool calls_listed;
    tn_map effects;               /* of functions */
    tn_map changed;               /* nodes of variables that a run assigns */
    tn_vec(tf_resource *) states; /* of these */
    size_t carried;   /* of these the loop or branch that is being converted may change the first ones */
    int conditional;  /* in loops and branches of TensorFlow 1 */
    tn_map resources; /* of the nodes that stand for them */
    tf_checkpoint *checkpoint; /* NULL: there is none */
} tf_import;

static inline tf_import *tf_of(const imp_node *c) { return (tf_import *)c->im; }

#define PLAIN(name) extern const imp_row tf_rows_##name[];
#define OWN PLAIN
#include "frontend/tensorflow/tables.def"
extern const imp_format tf_format; /* all of them, and the ids of diagnostics (operators.c) */

/* ---- graphs (graph.c) ---- */
tf_graph *tf_graph_new(tf_import *t, const tn_pb_array *nodes, bool in_function);
tn_bytes tf_node_name(tn_bytes value);                  /* of the node that computes it */
int64_t tf_find_node(const tf_graph *g, tn_bytes name); /* without `:k`; TF_NONE: there is none */
tn_bytes tf_value_name(tf_import *t, const tf_graph *g, tn_bytes name, bool in_function);
/* What node k reads or must run after, the i-th of n_in + n_control; TF_NONE: nothing that matters. */
int64_t tf_before(const tf_graph *g, int64_t k, size_t i);
/* Converts node number k of the graph and what it needs. */
void tf_demand(tf_import *t, int64_t k);
bool tf_has_value(const tf_import *t, tn_bytes name); /* is it the name of one of the graph? */
/* A value of the graph, converted if it is not yet; NULL: reported. */
const imp_value *tf_value_of(tf_import *t, tn_bytes name, const tn_loc *loc);
const tn_loc *tf_loc(tf_import *t, const tf_node_def *n);
/* Node k as a node to be converted. */
imp_node tf_begin_node(tf_import *t, int64_t k);
bool tf_is_op(const tf_node_def *n, const char *op);
const tf_value *tf_find_attr(const tn_pb_array *attr, const char *name); /* NULL: absent */

/* ---- functions (functions.c) ---- */
const tf_function *tf_find_function(const tf_import *t, tn_bytes name);
tf_graph *tf_function_graph(tf_import *t, const tf_function *fn);    /* made once */
tn_bytes tf_returned(tf_import *t, const tf_function *fn, size_t k); /* the value in it that is result k */
/* Results of a function of these operands where c stands; false: failed. */
bool tf_call(imp_node *c, const tf_func *f, size_t n_in, const imp_value in[], size_t n_out, imp_value out[]);

/* ---- what stands behind operands (trace.c) ---- */
typedef struct tf_place { /* a node of the main graph or of a function */
    tf_graph *graph;
    const tf_function *fn; /* NULL: the main graph */
    int64_t node;
    tn_bytes value; /* which of its results */
} tf_place;
/* The node that computes operand `in`: behind Identity, and of a function's parameter what a call gives for it. */
bool tf_origin(tf_import *t, const tf_place *from, size_t in, tf_place *out);
const tf_node_def *tf_place_def(const tf_place *p);
const tf_tensor *tf_place_constant(const tf_place *p);   /* NULL: it is no Const */
tn_value tf_place_value(imp_node *c, const tf_place *p); /* converted, in @main; absent: reported */

typedef struct tf_visitor {
    bool (*wants)(const tf_node_def *n);
    bool (*visit)(tf_import *t, const tf_place *p, void *user); /* false: no further ones */
    void *user;
} tf_visitor;
/* Every node of the main graph, then of the functions. */
void tf_each_node(tf_import *t, const tf_visitor *v);

/* ---- what a run changes (effects.c) ---- */
/* Also everything that reads one of these nodes, or runs after it, but for nodes that end this (may be NULL) and
 * what only they reach. */
void tf_spread(tf_import *t, const tf_graph *g, bool *reached, bool ends(const tf_node_def *n));
/* Function i that a node calls, whose parameters are the operands from *out_first on; NULL: there are no more. */
const tf_function *tf_callee(const tf_import *t, const tf_node_def *n, size_t i, size_t *out_first);
bool tf_node_has_effects(tf_import *t, const tf_node_def *n); /* it assigns variables, or calls what does */
bool tf_has_act(const tf_graph *g, const bool among[]);  /* has it an act, among these nodes? NULL: all */
void tf_find_reads(tf_import *t, tf_graph *g);           /* g->effect is of reads, too */
void tf_find_effects(tf_import *t, tf_graph *g);         /* fills g->act and g->effect */
void tf_mark_changes(tf_import *t, const bool needed[]); /* of the main graph's nodes */
bool tf_is_changed(const tf_import *t, const tf_node_def *variable);
/* A new handle of a variable that a run changes stands for the same as those before. */
void tf_share_change(tf_import *t, const tf_node_def *variable, tn_value handle);

/* ---- attributes ---- */
const tf_func *tf_attr_func(imp_node *c, const char *name); /* required */
tn_dtype tf_attr_dtype(imp_node *c, const char *name, tn_dtype def);
tn_dtype tf_attr_any_dtype(imp_node *c, const char *name, tn_dtype def); /* of texts, too */
const tf_shape *tf_attr_shape(imp_node *c, const char *name);
const tf_node_def *tf_def(const imp_node *c);

/* ---- tensors (tensor.c) ---- */
/* The dtype of a DataType; false: reported, `what` names the tensor. */
bool tf_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out);
bool tf_any_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc,
                  tn_dtype *out); /* of texts, too */
tn_value tf_constant(imp_node *c, const tf_tensor *t);
/* Does it have a list of just n values, of its type? */
bool tf_has_values(const tf_tensor *t, size_t n);
/* n elements of a list of texts; false: the tensor is none */
bool tf_texts(const tf_tensor *t, size_t *out_n, const tn_bytes **out);

/* ---- variables (state.c, checkpoint.c) ---- */
/* prefix: path of the files without `.index`, or of the one file of the first form. */
TN_WARN_UNUSED tn_status tf_checkpoint_open(tf_import *t, const char *prefix);
void tf_checkpoint_close(tf_import *t);
/* The tensor stored under this name; NULL: none, nothing is reported. */
const tf_bundle_entry *tf_checkpoint_find(const tf_import *t, tn_bytes key);
tn_value tf_checkpoint_load(imp_node *c, const tf_bundle_entry *e, const char *name);
/* The same as its bytes and type; NULL: reported. */
const tn_blob *tf_checkpoint_data(imp_node *c, const tf_bundle_entry *e, const char *name,
                                  const tn_type **out);
typedef struct tf_stored { /* what an entry says, checked */
    tn_dtype dtype;
    size_t n, count, bytes;
    int64_t dim[IMP_MAX_RANK];
} tf_stored;
/* Of the first form (slices.c): the entries of a value of the table in this file; false: it is damaged. */
bool tf_slices_add(tf_import *t, tn_strmap *entries, tn_bytes value, const char *where, const tn_file *file);
tn_value tf_slices_load(imp_node *c, const tf_bundle_entry *e, const char *name, const tf_stored *s);
/* The key of the result of RestoreV2 that this is; .n 0: nothing tells. */
tn_bytes tf_restored_key(tf_import *t, const tf_place *p);
/* The key under which the variable that is this node of the model should be stored; .n 0: there is no checkpoint. */
tn_bytes tf_checkpoint_key(tf_import *t, const tf_node_def *variable);
tf_resource *tf_resource_of(const tf_import *t, tn_value v); /* NULL: v is a tensor */
tn_value tf_resource_new(imp_node *c, tf_resource r);
/* The handle that is operand i; NULL: reported. */
tf_resource *tf_resource_in(imp_node *c, uint32_t i, enum tf_resource_kind kind, const char *what);

/* Variables that a run changes have a value that is kept until the next one. */
TN_WARN_UNUSED tn_status tf_keep_states(tf_import *t);
tn_value *tf_state_values(imp_node *c);                              /* now, of t->states */
void tf_set_state_values(imp_node *c, size_t n, const tn_value v[]); /* of the first n */
/* The variables among these handles have a value in @main. */
void tf_begin_states(imp_node *c, size_t n, const tn_value handle[]);
/* Gives the operator the values of variables of TensorFlow 1 in the place of their handles. */
void tf_read_refs(imp_node *c);

/* ---- lists (ops_list.c) ---- */
/* A sequence of the run with as many elements as the handle `list` says, of this shape, whose first extent is 0. */
tn_value tf_sequence_new(imp_node *c, tn_value list, tn_dims shape, tn_dtype t);
/* The list as a sequence; if it is a handle, of zeros of type `item`. */
tn_value tf_sequence_of(imp_node *c, tn_value list, const tn_type *item);

/* ---- complex numbers (ops_complex.c) ---- */
/* Converts an operator of which an operand is complex; false: it serves real numbers alone. */
bool tf_convert_complex(imp_node *c);
tn_value tf_atan2(imp_node *c, tn_value y, tn_value x);

/* ---- shared by converters ---- */
void tf_convert_row(
    imp_node *c); /* the row's converter; where texts are operands, what serves them (ops_text.c) */
bool tf_is_last(imp_node *c); /* data_format: are the channels the last dimension? */
tn_value tf_full(imp_node *c, tn_value v, tn_dims shape); /* v, of rank 0, everywhere */
tn_value tf_scalar_in(imp_node *c, uint32_t i);           /* operand i, of one element, with rank 0 */
tn_value tf_number(imp_node *c, tn_value like, double v); /* rank 0, of its type */
/* Axes of a value of this rank from operand i. */
tn_ints tf_axes_in(imp_node *c, uint32_t i, int rank);
tn_value tf_reduce(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep);

#endif
