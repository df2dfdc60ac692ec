#ifndef TN_FRONTEND_TFLITE_TFLITE_H
#define TN_FRONTEND_TFLITE_TFLITE_H
/* What the reader and the converters of TFLite models share.
 *
 * A model is a FlatBuffer: operators' codes, buffers, and graphs of tensors and operators, the first of which is the
 * model. Tensors are numbers in their graph; here each has a unique name. Integer tensors may be quantised: value =
 * scale * (integer - zero point), along one dimension perhaps with a scale for each index. */
#include "base/wire/flatbuf.h"
#include "frontend/import/convert.h"
#include "frontend/import/window.h"

enum { TFL_STRING = 5, TFL_COMPLEX64 = 8 }; /* of TensorType */

typedef struct tfl_tensor {
    tn_bytes name; /* unique in its graph */
    int type;      /* TensorType of the schema */
    tn_dtype dtype;
    bool known; /* dtype is a tensor's that can be read */
    bool has_rank, variable;
    uint32_t n;                       /* dimensions */
    const int64_t *shape, *signature; /* signature: -1 where the extent may be any */
    uint32_t buffer;
    uint32_t n_scale; /* 0: not quantised */
    const float *scale;
    const int64_t *zero; /* n_scale entries */
    int axis;            /* of several scales */
    tn_flat_table sparsity;
} tfl_tensor;

typedef struct tfl_code {
    const char *name; /* of the schema, or a custom operator's own */
    bool custom;
    int64_t version;
} tfl_code;

typedef struct tfl_graph {
    uint32_t n_tensor, n_in, n_out;
    const tfl_tensor *tensor;
    const int32_t *in, *out;
    tn_flat_vector operators;
    const char *prefix; /* of the tensors' names: of graphs inside the model */
} tfl_graph;

typedef struct tfl_kept tfl_kept;
typedef struct tfl_table tfl_table;

typedef struct tfl_import {
    imp_model im; /* first: converters get from it to here */
    tn_flatbuf buf;
    tn_flat_table model;
    tn_flat_vector graphs, buffers;
    uint32_t n_code;
    const tfl_code *code;
    uint32_t n_used;         /* graphs converted so far, for their names */
    bool bad_scales;         /* of some tensor */
    tn_vec(tfl_kept *) kept; /* variables */
    tn_vec(tfl_table *) tables;
    tn_map handles, table_handles; /* nodes that stand for handles -> tfl_kept, tfl_table */
    bool once;                     /* a graph of CALL_ONCE is being read */
} tfl_import;

typedef struct tfl_node { /* origin of an imp_node */
    const tfl_graph *graph;
    tn_flat_table op;
    uint32_t n_in, n_out;
    const int32_t *in, *out; /* tensors; -1: not given */
    bool flex;               /* it holds a node of TensorFlow */
} tfl_node;

extern const imp_format tfl_format;
extern const imp_row tfl_rows_custom[], tfl_rows_landmarks[], tfl_rows_detection[], tfl_rows_flow[],
    tfl_rows_post_process[], tfl_rows_math[], tfl_rows_nn[], tfl_rows_shape[], tfl_rows_reduce[],
    tfl_rows_resize[], tfl_rows_index[], tfl_rows_complex[], tfl_rows_window[], tfl_rows_stablehlo[],
    tfl_rows_hlo_index[], tfl_rows_recurrent[], tfl_rows_state[], tfl_rows_table[], tfl_rows_audio[];

/* ---- reading (model.c) ---- */
/* Tensors, inputs and outputs of graph i; NULL: reported. */
const tfl_graph *tfl_read_graph(tfl_import *o, uint32_t i);
TN_WARN_UNUSED tn_status tfl_read_model(tfl_import *o, const tn_file *file);
tn_bytes tfl_buffer(tfl_import *o, uint32_t i); /* n 0: empty, or outside (buf.damaged) */

/* ---- what it says of itself (metadata.c) ---- */
/* The graph that becomes @main: the first one, or that of the signature that the user chose. NULL: reported. */
const tfl_graph *tfl_read_main(tfl_import *o);
void tfl_read_metadata(tfl_import *o, const tfl_graph *main);

/* ---- constants (constant.c) ---- */
bool tfl_is_constant(tfl_import *o, const tfl_tensor *t);
tn_node *tfl_constant(tfl_import *o, const tfl_tensor *t, const tn_loc *loc); /* NULL: reported */
/* A tensor of texts; NULL: its data are damaged (table.c). */
tn_node *tfl_text_constant(tfl_import *o, const tfl_tensor *t, tn_bytes data, const tn_loc *loc);

/* ---- operators (import.c) ---- */
/* The operators of a graph, in the region that is open; its inputs have been defined. */
tn_status tfl_convert_graph(tfl_import *o, const tfl_graph *g);
/* Output i of a graph that has been converted; absent: nothing computes it. */
tn_value tfl_result(tfl_import *o, const tfl_graph *g, uint32_t i, const tn_loc *loc);
const imp_attr *tfl_read_options(tfl_import *o, const tn_flat_table *op, size_t *out_n);

/* The numbers of a custom operator's map of options (flex.c); n 0: it has none. */
const imp_attr *tfl_read_flex(tfl_import *o, tn_bytes data, size_t *out_n);
/* Entry i of options that are a list, a text; n 0: it is none. */
tn_bytes tfl_flex_text(tfl_import *o, tn_bytes data, uint32_t i);

/* The results of graph `which` of the model for these operands, in the region that is open (ops_flow.c); false:
 * reported. */
bool tfl_run_graph(imp_node *c, int64_t which, uint32_t n, const tn_value in[], uint32_t n_out,
                   tn_value out[]);

/* ---- what a model keeps from one run to the next (state.c) ---- */
/* Operand i, a variable tensor, as the operator finds it; n extents. */
tn_value tfl_state(imp_node *c, uint32_t i, int n, const tn_expr *const dim[]);
/* ... and as it leaves it. */
void tfl_set_state(imp_node *c, uint32_t i, tn_value v);

/* ---- for converters (quant.c) ---- */
const tfl_tensor *tfl_in(const imp_node *c, uint32_t i); /* NULL: not given */
const tfl_tensor *tfl_out(const imp_node *c, uint32_t i);
bool tfl_is_quantised(const tfl_tensor *t); /* integers of at most 16 bits with one scale */
bool tfl_has_scales(const tfl_tensor *t);   /* with one, or along a dimension, as weights may */
tn_value tfl_real(imp_node *c, uint32_t i); /* operand i as float32 */
/* v, real, as result i has it: quantised where that is. */
void tfl_give(imp_node *c, uint32_t i, tn_value v);
/* A number of an activation function applied to real v. */
tn_value tfl_activate(imp_node *c, tn_value v, int64_t function);

#endif
