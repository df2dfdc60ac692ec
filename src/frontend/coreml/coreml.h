#ifndef TN_FRONTEND_COREML_H
#define TN_FRONTEND_COREML_H
/* The Core ML importer: what its reader and its converters share. A model is a neural network (layers) or an ML program
 * (operations). The parameters of both become attributes of imp_node, so many converters serve both. */
#include "frontend/import/layers.h"

/* ---- parameters of layers (spec.c) ---- */

enum cm_message {
    CM_EMPTY,
#define MESSAGE(name) CM_##name,
#include "frontend/coreml/spec.def"
    CM_N_MESSAGES
};

typedef tn_vec(imp_attr) cm_attrs;

/* The fields of a message as attributes. Those of a message inside are PREFIX.name; its presence is an integer of its
 * own. Weights are tensors (tn_bytes), networks are graphs (tn_bytes), repeated messages are texts, and amounts of
 * borders integers: start and end of each dimension. NULL, or what is wrong. */
const char *cm_read_params(imp_model *im, enum cm_message message, tn_bytes data, const char *prefix,
                           cm_attrs *out);
/* The layer's own field: its name and parameters; false: it has none that is known. */
bool cm_find_layer(tn_bytes layer, const char **out_name, enum cm_message *out_message, tn_bytes *out_params);
/* The integers of a repeated field, packed or not. */
tn_ints cm_read_ints(tn_arena *a, tn_bytes message, uint32_t field);

/* ---- the model ---- */

typedef struct cm_feature { /* an input or output as the model describes it */
    tn_bytes name;
    enum { CM_OTHER, CM_ARRAY, CM_IMAGE, CM_NUMBER, CM_STATE } kind;
    tn_dtype dtype;
    size_t n;
    imp_dim dim[IMP_MAX_RANK];
    bool bgr, dictionary;
    bool steps; /* a list for which the user gives steps and a batch in front */
} cm_feature;

typedef struct cm_import {
    imp_model im;    /* first: an imp_node's model is one */
    bool five;       /* values are [sequence, 1, channels, rows, columns], of which the 1 is left out here */
    bool image_five; /* images alone are so, with the 1 */
    bool program;    /* no network */
    bool lists_grow; /* those of a program, which has made one of a dynamic length */
    tn_strmap constant; /* names of a program's constants -> const imp_attr * */
} cm_import;

static inline cm_import *cm_of(const imp_node *c) { return (cm_import *)c->im; }

typedef struct cm_key { /* the parameter that an operand of an operation is for */
    tn_bytes name;
    bool asked;
} cm_key;

typedef struct cm_operation { /* of a program: imp_node's origin; a layer has none */
    cm_key *key;              /* of each operand */
    tn_bytes message;
} cm_operation;

extern const imp_format cm_format; /* operators.c */
extern const imp_row cm_rows_window[], cm_rows_layers[], cm_rows_element[], cm_rows_shape[], cm_rows_index[],
    cm_rows_recurrent[], cm_rows_program[], cm_rows_flow[], cm_rows_image[], cm_rows_packed[], cm_rows_list[],
    cm_rows_cut[], cm_rows_matrix[], cm_rows_random[];

/* Layers of a network in order. */
tn_status cm_read_network(cm_import *m, tn_bytes network);
/* A layer that copies: its result may have another value already. */
void cm_copy(imp_model *im, imp_node *c);
/* The operations of a block, in order. */
void cm_read_block(cm_import *m, tn_bytes block);
/* The function of a program that is meant; at NULL: there is none. */
tn_bytes cm_find_function(tn_bytes program);
/* The type of a function's input, if it says one. */
void cm_input_type(tn_bytes function, cm_feature *f);
/* The operations of a function. */
tn_status cm_read_function(cm_import *m, tn_bytes function);
/* Positions in x along an axis: counted from the front, checked. */
tn_value cm_positions(imp_node *c, tn_value at, tn_value x, int axis);
tn_status cm_damaged(imp_model *im, const char *what);
/* A layer that is code of whoever wrote the app. */
void cm_refuse_custom(imp_model *im, tn_bytes class, const tn_loc *loc);

/* ---- for converters ---- */

/* Weights of a layer in these dimensions; they may be packed. Absent: reported. */
tn_value cm_weights(imp_node *c, const char *name, uint32_t n, const int64_t dim[]);
/* ... but absent unless the flag `has` is set */
tn_value cm_weights_if(imp_node *c, const char *has, const char *name, uint32_t n, const int64_t dim[]);
bool cm_is_one_weight(imp_node *c, const char *name); /* are they a single number? */
tn_value cm_as_floats(imp_node *c, tn_value v);       /* float32 of float16 weights */
bool cm_flag(imp_node *c, const char *name);
tn_ints cm_ints(imp_node *c, const char *name); /* none: n 0 */
/* Operand i of a layer, or the one called `name` of an operation; its constant is no attribute then. */
tn_value cm_in(imp_node *c, uint32_t i, const char *name);
tn_value cm_opt(imp_node *c, uint32_t i, const char *name); /* absent if not given */
bool cm_has(imp_node *c, uint32_t i, const char *name);
bool cm_dtype_of(const char *name, tn_dtype *out); /* of programs: "fp16", ...; false: unknown */
static inline bool cm_is_layer(const imp_node *c) { return !c->origin; }

/* Operands of two types become the wider one. */
tn_value cm_bin(imp_node *c, const tn_op *op, tn_value a, tn_value b);
tn_value cm_axes(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep); /* axes n 0: all */
tn_value cm_affine(imp_node *c, tn_value x, double scale, double shift);
tn_value cm_flip(imp_node *c, tn_value x, int axis);

/* How positions in an interval of a dimension are found; layers give numbers, operations names. */
enum { CM_STRICT, CM_ALIGN, CM_DEFAULT, CM_OFFSET, CM_UNALIGN, CM_N_SAMPLING };
int cm_sampling(imp_node *c, const char *name); /* unknown: refused */
/* Images [b, channels, h, w] in a new size, sampled bilinearly. */
tn_value cm_resize(imp_node *c, tn_value x, int64_t h, int64_t w, int mode);

#endif
