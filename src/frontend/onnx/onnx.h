#ifndef TN_FRONTEND_ONNX_H
#define TN_FRONTEND_ONNX_H
/* The ONNX importer: what its reader and its converters share. Converters are written with import/convert.h. */
#include "frontend/import/complex.h"
#include "frontend/import/matrix.h"
#include "frontend/import/text.h"
#include "frontend/onnx/onnx_proto.h"
#include "op/nn/nn.h"

enum { ONNX_OPSET_MAX = 28 };
enum { ONNX_STRING = 8 }; /* of TensorProto.DataType */

/* A call of one of the model's own functions that is being converted. */
typedef struct onnx_frame {
    struct onnx_frame *up;
    const onnx_function *fn;
    const onnx_node *call;
    const char *name;
} onnx_frame;

/* A node in the order in which nodes are converted. */
typedef struct onnx_step {
    const onnx_node *node;
    size_t number; /* in its graph */
    bool put_off;  /* behind what others that follow need beside it (rest.c) */
} onnx_step;

/* What is left to convert of a graph or function, and what its results are called. The branch of an `if` of known
 * condition is part of the graph around: what is left there follows. */
typedef struct onnx_rest {
    const onnx_step *step;
    size_t n_step, at, n_result;
    const tn_bytes *result;
    struct onnx_rest *around; /* else NULL */
    imp_node *in_place_of;    /* the `if`; its results are those of the graph */
    tn_value *value; /* set by a node that has computed the results, with all that is left; else NULL */
    bool taken;      /* by a node that goes on with what is left around */
} onnx_rest;

/* What is known where nodes are converted that the run reaches for some sizes alone. */
typedef struct onnx_size {
    const tn_expr *extent; /* NULL: it is about the rank of a value */
    tn_value value;
    int64_t n;
    bool is;             /* is it n? */
    bool any;            /* the model does not say which ranks the value may have */
    const tn_type *type; /* of the value, where its rank is n */
    tn_value opened;     /* ... the value as a tensor of this type */
} onnx_size;

typedef struct onnx_import {
    imp_model im; /* first: an imp_node's model is one */
    const onnx_model *model;
    onnx_rest *rest;   /* of the innermost graph */
    onnx_frame *frame; /* the function being converted, or NULL */
    tn_map checked;    /* functions whose operators were looked up */
    uint64_t dense;    /* bytes that sparse tensors have become */
    tn_vec(onnx_size) sizes;
    tn_map ranks; /* nodes that give values of several ranks -> const onnx_ranks *, one a result */
    tn_map none;  /* nodes that stand for empty optional values (ops_sequence.c) */
} onnx_import;

static inline onnx_import *onnx_of(const imp_node *c) { return (onnx_import *)c->im; }

/* Tables by family, ended by a row without a name. */
extern const imp_row onnx_rows_resize[], onnx_rows_norm[], onnx_rows_activation[], onnx_rows_flow[],
    onnx_rows_if[], onnx_rows_scan[], onnx_rows_dynamic[], onnx_rows_cast[], onnx_rows_image[],
    onnx_rows_loss[];
extern const imp_row onnx_rows_math[], onnx_rows_logic[], onnx_rows_nn[], onnx_rows_matrix[],
    onnx_rows_reduce[], onnx_rows_move[], onnx_rows_shape[], onnx_rows_quant[], onnx_rows_microsoft[],
    onnx_rows_fused[];
extern const imp_row onnx_rows_element[], onnx_rows_index[], onnx_rows_pattern[], onnx_rows_random[];
extern const imp_row onnx_rows_recurrent[], onnx_rows_attention[], onnx_rows_signal[], onnx_rows_sequence[],
    onnx_rows_training[], onnx_rows_ml[], onnx_rows_trees[], onnx_rows_preview[], onnx_rows_transformer[],
    onnx_rows_embedding[], onnx_rows_packed[], onnx_rows_recurrent_quant[], onnx_rows_forms[],
    onnx_rows_experts[], onnx_rows_gates[], onnx_rows_nn_microsoft[], onnx_rows_image_microsoft[],
    onnx_rows_rotary[], onnx_rows_string[], onnx_rows_token[], onnx_rows_map[];
extern const imp_format onnx_format; /* all of them, and the ids of diagnostics (operators.c) */

/* Bytes that hold several numbers of `bits` bits each along the last dimension, the first in the lowest bits: the
 * numbers, int32 (ops_packed.c). */
tn_value onnx_split_bytes(imp_node *c, tn_value v, int64_t bits);

/* ---- graphs inside the model (graphs.c) ---- */
/* Looks up all operators of nodes, of graphs inside them and of functions they call; reports what is unknown. */
void onnx_check_nodes(onnx_import *o, const tn_pb_array *nodes);
void onnx_convert_nodes(onnx_import *o, const tn_pb_array *nodes, size_t n_result, const tn_bytes result[]);
const tn_bytes *onnx_result_names(onnx_import *o, const onnx_graph *g);
bool onnx_is_standard(tn_bytes domain); /* ONNX's own operators */
/* Nodes of a graph that is an attribute, at the end of region r; out: g->output.n values. false: reported. */
bool onnx_body(imp_node *c, const onnx_graph *g, tn_region *r, uint32_t n_in, const tn_value in[],
               tn_value out[]);
/* The same where c stands, as a part of c's graph. *taken: a node of it has computed what is left of c's graph, too. */
bool onnx_body_in_place(imp_node *c, const onnx_graph *g, tn_value out[], bool *taken);
/* onnx_body, if there is a graph, then what is left of the graphs around c, up to the last one in `rest`; out: the
 * results of that graph. */
bool onnx_body_and_rest(imp_node *c, const onnx_graph *g, const onnx_rest *rest, tn_region *r,
                        tn_value out[]);

/* ---- what is left (rest.c) ---- */
/* Puts nodes that compute what earlier ones read in front of these (order.c). */
void onnx_order_steps(onnx_import *o, size_t n, onnx_step step[]);
onnx_rest onnx_rest_of(onnx_import *o, const tn_pb_array *nodes, size_t n_result, const tn_bytes result[]);
/* What follows c in its graph and in `more` graphs around it. */
onnx_rest *onnx_copy_rest(imp_node *c, const onnx_rest *have, int more);
/* What follows c, taken apart: c itself and what depends on it, and the others, which can be converted afterwards.
 * false: c is converted later, when others are, which what depends on c needs, too; it defines nothing now. */
bool onnx_take_apart(imp_node *c, onnx_rest *have, onnx_rest *out_dependent, onnx_rest *out_others);
const onnx_graph *onnx_attr_graph(imp_node *c, const char *name); /* required */

/* ---- sequences (ops_sequence.c) ---- */
bool onnx_is_over_values(const imp_row *row); /* does the operator take values that are no tensors? */
void onnx_check_sequences(imp_node *c);       /* reports those where the operator takes tensors */
void onnx_need_tensors(imp_node *c, const char *what, size_t n, const tn_value v[]);

/* ---- complex numbers (complex.c) ---- */
/* false: an operand is of complex numbers, but the operator takes real ones, which is reported. */
bool onnx_check_complex(imp_node *c);

/* ---- tensors of texts (ops_string.c) ---- */
/* The row's converter; where texts are operands, what serves them. */
void onnx_convert_row(imp_node *c);
tn_value onnx_texts_attr(imp_node *c, const char *name,
                         int64_t *out_n); /* a list; absent where the attribute is */
tn_value onnx_text_of(imp_node *c, tn_value x);
/* Of a wide type that holds what t does. */
tn_value onnx_number_of(imp_node *c, tn_value x, tn_dtype t);

/* ---- values that are no tensors, and tensors of several ranks (values.c, ranks.c) ---- */
bool onnx_is_value_type(const onnx_type_proto *t); /* of sequences, optional values and maps */
TN_WARN_UNUSED tn_status onnx_add_value_input(imp_model *im, const onnx_value_info *v, const tn_loc *loc);
bool onnx_is_none(const imp_node *c, tn_value v); /* an optional value that is known to be empty */
/* A sequence, optional value, map or tensor of any rank that only the run knows. */
bool onnx_is_value(tn_value v);
bool onnx_is_any_rank(tn_value v); /* a tensor of numbers whose rank only the run knows */
/* Gives the operator tensors of a rank for operands that have several. false: c is done, by a fork, or has failed. */
bool onnx_open_operands(imp_node *c);
/* What is known while the model is read as a value of the run; v itself if it is one. */
tn_value onnx_as_value(imp_node *c, tn_value v);
tn_value onnx_as_optional(imp_node *c, tn_value v);
/* v in the form that it has where it may be v or other: a branch's result, what a loop carries. */
tn_value onnx_like(imp_node *c, tn_value v, tn_value other);
/* The type of what is a now and b in the next iteration, one of them no tensor. */
const tn_type *onnx_join_types(imp_node *c, const tn_type *a, const tn_type *b);
tn_value onnx_opened(imp_node *c, tn_value v); /* a tensor of any extent as one whose extents have names */
void onnx_finish_results(onnx_import *o, size_t n, const tn_bytes name[]);

/* ---- shared by converters ---- */
/* The second operand of a binary operator, its dimensions aligned (ops_math.c). */
tn_value onnx_second(imp_node *c, tn_value a);
/* Attributes of the convolution `op` (nn.conv2d and its kin) that the node describes, one entry a spatial dimension.
 * The run compares the weight with what they say of it. */
bool onnx_conv_attr(imp_node *c, tn_value x, tn_value *weight, const tn_op *op, tn_conv2d_attr *a);
tn_value onnx_average_pool(imp_node *c, tn_value x);                  /* as the node describes it */
tn_value onnx_max_pool(imp_node *c, tn_value x, tn_value *positions); /* positions: of the largest, or NULL */
void onnx_trilu(imp_node *c);                                         /* the converter of Trilu */
tn_value onnx_gemm(imp_node *c);                                      /* as the node describes it */
/* Softmax or its kin as the node describes it; before opset 13 everything from the axis on is one dimension. */
tn_value onnx_softmax(imp_node *c, const tn_op *op, tn_value x, int64_t opset);
/* x as uint8, quantised as a whole in the run (ops_quant.c). */
typedef struct onnx_quantized {
    tn_value y, scale, zero;
} onnx_quantized;
onnx_quantized onnx_quantize_dynamic(imp_node *c, tn_value x);
/* Positions in a dimension of this extent; the run fails where one is outside. */
tn_value onnx_checked(imp_node *c, tn_value at, const tn_expr *extent);
/* x as elements of type t, as Cast does it; of FLOAT8E8M0 the node may say how to round. */
tn_value onnx_convert(imp_node *c, tn_value x, tn_dtype t, bool saturate);
/* Scores [samples, n] after the post_transform of that name (ops_ml.c). */
/* Labels of classes, texts or the integers of that attribute; absent where there are none. Those of `best`, int64. */
tn_value onnx_ml_labels(imp_node *c, const char *ints, int64_t *out_n);
tn_value onnx_ml_label(imp_node *c, tn_value labels, tn_value best);
tn_value onnx_ml_transform(imp_node *c, tn_value scores, const char *kind);
int64_t onnx_seed(imp_node *c); /* of random numbers (ops_random.c) */
/* The float64 numbers that NumPy's RandomState(seed) gives for this shape. */
tn_value onnx_state(imp_node *c, tn_dims shape, int64_t seed, bool normal);

/* ---- tensors (tensor.c) ---- */
/* A constant of the tensor's data: it points into the file where the file holds it raw. NULL: reported at loc. */
tn_node *onnx_constant(imp_model *im, const onnx_tensor *t, const char *name, const tn_loc *loc);
const onnx_tensor *onnx_attr_tensor(imp_node *c, const char *name); /* NULL: absent */
/* The same, of texts too. */
tn_node *onnx_any_constant(imp_model *im, const onnx_tensor *t, const char *name, const tn_loc *loc);
tn_bytes onnx_sparse_name(const onnx_sparse *s);
/* A sparse tensor as a dense constant; NULL: reported. */
tn_node *onnx_sparse_constant(imp_model *im, const onnx_sparse *s, const char *name, const tn_loc *loc);
/* Defines the initialisers of a graph, dense and sparse ones. */
void onnx_constants(imp_model *im, const onnx_graph *g, const tn_loc *loc);
/* The dtype of a TensorProto.DataType; false: reported, `what` names the tensor. any: or texts. */
bool onnx_any_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out);
bool onnx_dtype(imp_model *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out);
bool onnx_dtype_by_name(const char *name, tn_dtype *out); /* "FLOAT", as the oldest Cast has it */

#endif
