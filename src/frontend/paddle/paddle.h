#ifndef TN_FRONTEND_PADDLE_H
#define TN_FRONTEND_PADDLE_H
/* The PaddlePaddle importer: what its readers and its converters share. Converters are written with import/convert.h.
 *
 * Operators have named operands ("X", "Filter"), each a list of values. The two dialects, programs as protocol buffers
 * and as JSON (PIR), become the same structs with the names of the former, so each operator has one converter.
 * Variables may be assigned several times: a name stands for what was assigned last. */
#include "frontend/import/layers.h"
#include "frontend/paddle/proto.h"

typedef struct pd_tensor { /* a parameter, which points into its file */
    tn_dtype dtype;
    uint32_t n;
    const int64_t *dim;
    tn_bytes data;
} pd_tensor;

typedef struct pd_pending { /* a variable that a conditional block would assign */
    tn_bytes name;
    const pd_op *op;
} pd_pending;

typedef struct pd_import {
    imp_model im; /* first: an imp_node's model is one */
    const pd_program *program;
    const char *params_name; /* of the file of parameters, for messages */
    tn_strmap params;        /* variable -> index in tensor */
    tn_vec(pd_tensor) tensor;
    const pd_block *block; /* being converted */
    tn_vec(pd_pending) pending;
    size_t outside;             /* how many of them are not of the block that is read */
    tn_vec(const pd_op *) done; /* operators that were converted along with another one */
} pd_import;

static inline pd_import *pd_of(const imp_node *c) { return (pd_import *)c->im; }

/* An operator being converted: an imp_node's origin. */
typedef struct pd_call {
    const pd_op *op;
    uint64_t asked; /* operands a converter asked for, by position */
} pd_call;

static inline const pd_op *pd_op_of(const imp_node *c) { return ((const pd_call *)c->origin)->op; }

/* Tables by family, ended by a row without a name. */
extern const imp_row pd_rows_element[], pd_rows_nn[], pd_rows_norm[], pd_rows_shape[], pd_rows_create[],
    pd_rows_index[], pd_rows_reduce[], pd_rows_recurrent[], pd_rows_box[], pd_rows_flow[], pd_rows_image[];
extern const imp_format pd_format; /* all of them, and the ids of diagnostics (operators.c) */

/* A model in memory: both parts lie in `file`, which outlives the graph; params.at NULL: none. */
TN_WARN_UNUSED tn_status pd_import_pair(tn_graph *g, const char *path, const tn_file *file, tn_bytes program,
                                        tn_bytes params);

/* ---- parameters (params.c) ---- */
/* Reads the tensor at *at of a file and moves *at behind it; false: reported. */
bool pd_read_tensor(pd_import *p, tn_bytes file, const char *file_name, const char *name, size_t *at,
                    pd_tensor *out);

/* ---- programs in JSON (pir.c) ---- */
bool pd_is_json(const uint8_t *at, size_t n);
/* NULL: reported. */
const pd_program *pd_read_json(pd_import *p, tn_bytes file, const char *name);

/* ---- types (attr.c) ---- */
bool pd_dtype_by_number(int64_t number, tn_dtype *out);
/* The number that protocol buffers have for a type; -1: unknown. */
int64_t pd_number_of_type(tn_bytes name);
/* Attribute `name`; `def` where absent or below 0. */
tn_dtype pd_dtype(imp_node *c, const char *name, tn_dtype def);
void pd_read_attrs(pd_import *p, const pd_op *op, imp_node *c);
bool pd_bool(imp_node *c, const char *name, bool def);
/* A list of floats; false: absent. */
bool pd_floats(imp_node *c, const char *name, size_t *out_n, const float **out);

/* ---- operands and results by name (operands.c) ---- */
uint32_t pd_count(imp_node *c, const char *param); /* how many values it has */
tn_value pd_at(imp_node *c, const char *param, uint32_t i);
tn_value pd_in(imp_node *c, const char *param);  /* required: reported if missing */
tn_value pd_opt(imp_node *c, const char *param); /* absent if not given */
void pd_out_at(imp_node *c, const char *param, uint32_t i, tn_value v);
static inline void pd_out(imp_node *c, const char *param, tn_value v) { pd_out_at(c, param, 0, v); }
uint32_t pd_out_count(const imp_node *c, const char *param);
/* Numbers from the operand `tensor`, else from the operands `list`, else from the attribute. Any may be NULL. */
tn_dims pd_extents(imp_node *c, const char *tensor, const char *list, const char *attr);
tn_ints pd_ints(imp_node *c, const char *tensor, const char *list, const char *attr);
int64_t pd_int(imp_node *c, const char *tensor, const char *attr, int64_t def);
/* One number, as a value of rank 0 and type t. */
tn_value pd_scalar_in(imp_node *c, const char *tensor, const char *attr, double def, tn_dtype t);
/* The one value of a list or scalar that only the run may know: int64, one dimension; absent: an attribute says it. */
tn_value pd_list_value(imp_node *c, const char *tensor, const char *list);

/* ---- blocks (import.c) ---- */
/* Converts the operators of a block that the values of these names need. */
void pd_convert_block(pd_import *p, const pd_block *b, size_t n, const tn_bytes result[]);
const pd_param *pd_find_param(const tn_pb_array *params, const char *name); /* NULL: absent */
const pd_attr *pd_find_attr(const pd_op *op, const char *name);

/* ---- shared by converters ---- */
tn_value pd_number(imp_node *c, tn_value like, double v); /* rank 0, of its type */
tn_value pd_full(imp_node *c, tn_value v, tn_dims shape); /* v, of rank 0, everywhere */
tn_value pd_reduce(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep);
tn_value pd_real(imp_node *c, tn_value v); /* integers as float32 */
bool pd_is_last(imp_node *c, const char *attr);

#endif
