#ifndef TN_FRONTEND_ONNX_H
#define TN_FRONTEND_ONNX_H
/* The ONNX importer's own interface: what converters are written with.
 *
 * A converter turns one node into Relay calls. It never returns a status: what fails is reported once and leaves c->bad
 * set; from then on every helper gives an absent value (or zeros), so converters read straight through. Attributes that
 * a converter never asked for are errors: nothing in a model is ignored silently.
 *
 * Small integer tensors (up to ONNX_HOST_MAX elements) carry their elements as index expressions, worked out by the
 * operator records' shape_value: a reshape target computed from Shape is known although the batch is a symbol.
 */
#include "frontend/frontend.h"
#include "frontend/onnx/onnx_proto.h"
#include "op/nn/nn.h"
#include "op/op.h"
#include "op/tensor/tensor.h"

enum { ONNX_HOST_MAX = 64, ONNX_OPSET_MAX = 28, ONNX_MAX_RANK = 8, ONNX_MAX_SYMBOLS = 256 };

enum onnx_state {
    ONNX_OK,
    ONNX_BAD /* its maker failed and said so */,
    ONNX_UNUSABLE /* an output we do not compute */,
    ONNX_ABSENT /* an optional input of a function that its call does not give */
};

typedef struct onnx_value { /* what a name of the model stands for */
    tn_value v;
    enum onnx_state state;
    const tn_loc *loc; /* UNUSABLE: the node */
    uint32_t output;   /* UNUSABLE: which of its outputs */
} onnx_value;

/* What a name stood for before a scope gave it another meaning; ONNX_NO_VALUE: nothing. */
typedef struct onnx_undo {
    tn_pb_bytes name;
    uint64_t at;
} onnx_undo;
#define ONNX_NO_VALUE UINT64_MAX

/* A call of one of the model's own functions that is being converted. */
typedef struct onnx_frame {
    struct onnx_frame *up;
    const onnx_function *fn;
    const onnx_node *call;
    const char *name;
} onnx_frame;

typedef struct onnx_data_file {
    const char *location;
    tn_file *file;
} onnx_data_file; /* file NULL: reported */

typedef struct onnx_import {
    tn_graph *g;
    tn_region *r; /* where nodes go: body of @main, or a branch */
    tn_vec(
        tn_region *) region; /* of branches and bodies, in the order of their making; a node may hold them */
    const char *file;        /* interned */
    const onnx_model *model;
    const tn_import_options *options;
    tn_arena scratch; /* the messages */
    int64_t opset;
    tn_strmap names; /* -> index in value */
    tn_vec(onnx_value) value;
    tn_vec(onnx_undo) undo; /* of the scopes that are open */
    size_t scope;           /* values of the innermost scope begin here: only these must not be given twice */
    int depth;              /* graphs inside graphs, functions inside functions */
    onnx_frame *frame;      /* the function being converted, or NULL */
    tn_map checked;         /* functions whose operators were looked up */
    tn_map none;            /* nodes that stand for empty optional values (ops_sequence.c) */
    size_t had_errors;
    tn_vec(onnx_data_file) data;       /* files of tensors' data that are open */
    tn_vec(tn_dims) host;              /* by node id; at NULL: not known */
    tn_strmap symbols;                 /* dim_param -> const tn_expr * */
    size_t memory_start, memory_limit; /* bytes, as onnx_memory counts them */
    bool stopped; /* too much of something, which has been said: nothing more is converted */
} onnx_import;

typedef struct onnx_conv onnx_conv;

typedef struct onnx_row { /* one operator of a range of opsets */
    const char *op;
    int since, until;    /* opsets, inclusive */
    int max_in, max_out; /* -1: any number; outputs beyond max_out may be named but not used */
    void (*convert)(onnx_conv *c);
    const tn_op *relay; /* for converters that serve several rows */
} onnx_row;

struct onnx_conv { /* one node being converted */
    onnx_import *im;
    tn_graph *g;
    tn_pool *pool;
    tn_arena *arena; /* the graph's */
    const onnx_node *node;
    const onnx_row *row;
    int64_t opset;
    const tn_loc *loc;
    uint64_t asked; /* attributes a converter asked for, by position */
    bool bad;
    tn_value *out; /* node->output.n entries */
};

/* Tables by family, ended by a row without a name. */
extern const onnx_row onnx_rows_resize[], onnx_rows_norm[], onnx_rows_activation[], onnx_rows_flow[],
    onnx_rows_dynamic[], onnx_rows_image[], onnx_rows_loss[];
extern const onnx_row onnx_rows_math[], onnx_rows_logic[], onnx_rows_nn[], onnx_rows_matrix[],
    onnx_rows_reduce[], onnx_rows_move[], onnx_rows_shape[], onnx_rows_quant[], onnx_rows_microsoft[],
    onnx_rows_fused[];
extern const onnx_row onnx_rows_element[], onnx_rows_index[], onnx_rows_pattern[], onnx_rows_random[];
extern const onnx_row onnx_rows_recurrent[], onnx_rows_attention[], onnx_rows_signal[], onnx_rows_sequence[];

/* ---- graphs inside the model (graphs.c) ---- */
enum { ONNX_MAX_DEPTH = 32 };
const onnx_value *onnx_lookup(const onnx_import *im, tn_pb_bytes name); /* NULL: unknown */
tn_status onnx_define(onnx_import *im, tn_pb_bytes name, onnx_value v, const tn_loc *loc);
const tn_loc *onnx_node_loc(onnx_import *im, const onnx_node *n, size_t number);
/* Bytes that the import holds now, the constants of the graph included. */
size_t onnx_memory(const onnx_import *im);
/* Looks up all operators of nodes, of graphs inside them and of functions they call; reports what is unknown. */
void onnx_check_nodes(onnx_import *im, const tn_pb_array *nodes);
void onnx_convert_nodes(onnx_import *im, const tn_pb_array *nodes);
const onnx_function *onnx_function_of(const onnx_import *im,
                                      const onnx_node *n); /* NULL: none of the model's own */
void onnx_call_function(onnx_conv *c, const onnx_function *fn);
/* Nodes of a graph that is an attribute, at the end of region r; out: g->output.n values. false: reported. */
bool onnx_body(onnx_conv *c, const onnx_graph *g, tn_region *r, uint32_t n_in, const tn_value in[],
               tn_value out[]);
const onnx_graph *onnx_attr_graph(onnx_conv *c, const char *name); /* required */
/* import.c, for graphs.c */
const onnx_row *onnx_row_of(onnx_import *im, const onnx_node *n, const tn_loc *loc, bool report);
void onnx_convert(onnx_import *im, const onnx_node *n, const onnx_row *row, const tn_loc *loc);
bool onnx_is_standard(tn_pb_bytes domain);
const tn_loc *onnx_make_loc(onnx_import *im, const char *node, const char *op);

/* ---- messages (names of files are untrusted: what cannot be shown becomes \xNN) ---- */
void onnx_fail(onnx_conv *c, const char *id, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
const char *onnx_text(onnx_import *im, tn_pb_bytes s); /* interned, printable */
const char *onnx_type_text(onnx_conv *c, const tn_type *t);

/* ---- operands ---- */
uint32_t onnx_n_in(const onnx_conv *c);        /* named or not */
bool onnx_has(const onnx_conv *c, uint32_t i); /* operand i is given */
tn_value onnx_in(onnx_conv *c, uint32_t i);    /* required: reported if missing */
tn_value onnx_opt(onnx_conv *c, uint32_t i);   /* absent if not given */
const tn_type *onnx_type(tn_value v);          /* never NULL: a float scalar for absent values */
int onnx_rank(tn_value v);
/* Elements as index expressions, for integers and bools whose values are known. */
bool onnx_host(onnx_conv *c, tn_value v, tn_dims *out);
void onnx_set_host(onnx_conv *c, tn_value v, tn_dims elements);
/* ... required; `what` names the operand in the report. */
tn_dims onnx_host_in(onnx_conv *c, tn_value v, const char *what);
tn_ints onnx_ints_in(onnx_conv *c, tn_value v, const char *what); /* constant integers */
/* Extents that only the run knows (ops_dynamic.c): the elements of v as new symbols, at most `most` (may be NULL). */
tn_dims onnx_bind(onnx_conv *c, tn_value v, const tn_expr *most);
/* onnx_host_in, but elements that are not known are bound during the run. */
tn_dims onnx_extents_in(onnx_conv *c, tn_value v, const char *what);
/* true: a target was computed during the run, and the converter is done. */
bool onnx_dynamic_reshape(onnx_conv *c, tn_value x, tn_value shape, bool allow_zero);
tn_value onnx_reshape_to(onnx_conv *c, tn_value x, const tn_reshape_attr *a);
bool onnx_dynamic_expand(onnx_conv *c, tn_value x, tn_value shape);
bool onnx_dynamic_slice(onnx_conv *c, tn_value x, tn_value start, tn_value end, tn_value axes,
                        tn_value steps);
const tn_expr *onnx_dynamic_count(onnx_conv *c, const tn_value in[3]); /* of Range */
tn_value onnx_count_up(onnx_conv *c, const tn_expr *n);                /* int64 0 1 .. n - 1 */
tn_value onnx_extent_of(onnx_conv *c, tn_value x, int d);        /* dim d of x in the run: int64, rank 0 */
int64_t onnx_int_in(onnx_conv *c, tn_value v, const char *what); /* one of them */
/* A constant of one element, of any number type. */
bool onnx_scalar(onnx_conv *c, tn_value v, double *out);

/* ---- sequences (ops_sequence.c) ---- */
bool onnx_is_sequence(tn_value v);       /* or an empty optional value */
void onnx_check_sequences(onnx_conv *c); /* reports those where the operator takes tensors */
void onnx_need_tensors(onnx_conv *c, const char *what, size_t n, const tn_value v[]);

/* ---- attributes; `def` where absent ---- */
bool onnx_has_attr(const onnx_conv *c, const char *name);
int64_t onnx_attr_int(onnx_conv *c, const char *name, int64_t def);
double onnx_attr_float(onnx_conv *c, const char *name, float def);
const char *onnx_attr_string(onnx_conv *c, const char *name, const char *def);
bool onnx_attr_ints(onnx_conv *c, const char *name, tn_ints *out);   /* false: absent */
const onnx_tensor *onnx_attr_tensor(onnx_conv *c, const char *name); /* NULL: absent */
const onnx_attr *onnx_attr_find(onnx_conv *c, const char *name,
                                enum onnx_attr_type type); /* NULL: absent or wrong */
void onnx_attr_ignore(onnx_conv *c, const char *name);     /* has no bearing on the result */
void onnx_attr_need(onnx_conv *c, const char *name);       /* reported if missing */
/* Integers from attribute `name` before opset `since`, from operand i after. false: not given. */
bool onnx_ints_arg(onnx_conv *c, const char *name, int since, uint32_t i, tn_ints *out);
int onnx_axis(onnx_conv *c, int64_t axis, int rank); /* [-rank, rank) to [0, rank) */

/* The second operand of a binary operator, its dimensions aligned (ops_math.c). */
tn_value onnx_second(onnx_conv *c, tn_value a);

/* Attributes of the convolution `op` (nn.conv2d and its kin) that the node describes, one entry a spatial dimension. */
bool onnx_conv_attr(onnx_conv *c, tn_value x, tn_value weight, const tn_op *op, tn_conv2d_attr *a);
tn_value onnx_average_pool(onnx_conv *c, tn_value x); /* as the node describes it */
/* Product of a and b as MatMul has it; z: of quantised operands with these zero points, the int32 sums. */
typedef struct onnx_zeros {
    tn_value a, b;
} onnx_zeros;
tn_value onnx_matmul(onnx_conv *c, tn_value a, tn_value b, const onnx_zeros *z);
/* A matrix turned. */
tn_value onnx_transposed(onnx_conv *c, tn_value v);

/* ---- calls: absent if the converter failed before or the call does ---- */
tn_value onnx_call(onnx_conv *c, const tn_op *op, const void *attr, int n, const tn_value in[]);
static inline tn_value onnx_call1(onnx_conv *c, const tn_op *op, const void *attr, tn_value a)
{
    return onnx_call(c, op, attr, 1, &a);
}
static inline tn_value onnx_call2(onnx_conv *c, const tn_op *op, const void *attr, tn_value a, tn_value b)
{
    return onnx_call(c, op, attr, 2, (const tn_value[]){a, b});
}
tn_value onnx_const(onnx_conv *c, tn_dtype t, double v);                                     /* rank 0 */
tn_value onnx_const_ints(onnx_conv *c, tn_dtype t, int ndim, uint32_t n, const int64_t v[]); /* rank 0 or 1 */
tn_value onnx_reshape(onnx_conv *c, tn_value v, int ndim, const tn_expr *const dim[]);
tn_value onnx_transpose(onnx_conv *c, tn_value v, int n, const int64_t perm[]);
/* What sums of it are kept in: float32 for 16-bit floats, which a sum may not fit; else t. */
tn_dtype onnx_sum_dtype(tn_dtype t);
tn_value onnx_cast(onnx_conv *c, tn_value v, tn_dtype t); /* v itself if it has dtype t */
tn_value onnx_slice(onnx_conv *c, tn_value v, int64_t axis, int64_t begin,
                    int64_t end); /* end INT64_MAX: all */
tn_value onnx_concat(onnx_conv *c, uint32_t n, const tn_value in[],
                     int64_t axis); /* in[0] itself if n is 1 */
tn_value onnx_unsqueeze(onnx_conv *c, tn_value v, int64_t axis);
tn_value onnx_squeeze(onnx_conv *c, tn_value v, int64_t axis);
const tn_expr *onnx_simplify(onnx_conv *c, const tn_expr *e);
const tn_expr *onnx_product(onnx_conv *c, const tn_type *t, int from, int to); /* of dims [from, to) */
static inline void onnx_out(onnx_conv *c, uint32_t i, tn_value v) { c->out[i] = v; }
static inline void onnx_out_any(onnx_conv *c, uint32_t i, tn_value v) /* of an output that may be left out */
{
    if (i < c->node->output.n)
        c->out[i] = v;
}

/* ---- tensors (tensor.c) ---- */
/* A constant of the tensor's data: it points into the file where the file holds it raw. NULL: reported at loc. */
tn_node *onnx_constant(onnx_import *im, const onnx_tensor *t, const char *name, const tn_loc *loc);
/* Data of a tensor that lies in a file beside the model (external.c): a blob of `bytes` bytes; NULL: reported. */
const tn_blob *onnx_external(onnx_import *im, const onnx_tensor *t, const char *name, size_t bytes,
                             const tn_loc *loc);
/* The dtype of a TensorProto.DataType; false: reported, `what` names the tensor. */
bool onnx_dtype(onnx_import *im, int64_t type, const char *what, const tn_loc *loc, tn_dtype *out);
bool onnx_dtype_by_name(const char *name, tn_dtype *out); /* "FLOAT", as the oldest Cast has it */

#endif
