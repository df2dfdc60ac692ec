#ifndef TN_FRONTEND_NNVM_WRITE_H
#define TN_FRONTEND_NNVM_WRITE_H
/* Relay -> a graph of NNVM: what the walk over the module (nnvm_write.c) and the converters of its calls
 * (nnvm_write_ops.c, nnvm_write_nn.c) share. NNVM has fixed shapes of at least one dimension, and no type of
 * truth values: what compares gives numbers of the type compared, so a value that is bool in Relay stands for
 * such a tensor of 0 and 1. */
#include "base/map.h"
#include "frontend/export.h"
#include "frontend/mxnet/mxnet.h"

typedef struct nw_value {
    uint32_t node;
    tn_dtype dtype; /* as NNVM has it: not bool */
} nw_value;

typedef struct nw {
    tn_graph *g;
    tn_arena *arena; /* of names and lists that outlive the walk */
    tn_buf node, arg,
        row; /* JSON: nodes; numbers of variables; of each node, how many results stand before it */
    uint32_t n_node, n_result, n_arg;
    nw_value *value; /* by id of a node of Relay: what stands for its first result */
    bool *known;     /* ... and whether there is one */
    tn_strmap names;
    tn_vec(const char *) param;
    tn_vec(const tn_node *) constant;
} nw;

typedef struct nw_row nw_row;
typedef struct nw_call { /* a call of Relay being written */
    nw *w;
    const tn_node *n;
    const nw_row *row;
    tn_buf attrs;   /* of the node of NNVM that comes next */
    uint32_t n_out; /* its results */
    bool bad;       /* refused, and reported */
} nw_call;

struct nw_row {
    const tn_op *relay;
    const char *op; /* NNVM's */
    void (*write)(nw_call *c);
    const char
        *other[3]; /* of two operands: with repetition; with a number on the right, on the left; NULL: none */
};
extern const nw_row nw_rows[]; /* ended by a row without an operator of Relay */
void nw_layer(nw_call *c), nw_bias_add(nw_call *c), nw_pool2d(nw_call *c), nw_batch_norm(nw_call *c),
    nw_lrn(nw_call *c), nw_resize(nw_call *c); /* nnvm_write_nn.c */

/* ---- what converters are written with; after a refusal they give 0 ---- */
void nw_refuse(nw_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int nw_rank(const nw_call *c, uint32_t i); /* of operand i */
/* Fixed extents of operand i, or of the result. */
int64_t nw_extent(const nw_call *c, uint32_t i, int d);
int64_t nw_result_extent(const nw_call *c, int d);
int64_t nw_axis(int64_t axis, int rank); /* counted from the front */
/* The first n numbers of an attribute, into out[]. */
bool nw_numbers(nw_call *c, const char *name, tn_dims d, uint32_t n, int64_t out[]);
uint32_t nw_in(nw_call *c, uint32_t i);                 /* operand i: a tensor of numbers */
nw_value nw_in_any(nw_call *c, uint32_t i);             /* ... or of truth values */
uint32_t nw_in_wide(nw_call *c, uint32_t i);            /* a number is a tensor of one element */
bool nw_in_number(nw_call *c, uint32_t i, double *out); /* is it a number that is known? */
const char *nw_dtype_name(nw_call *c, tn_dtype t);

void nw_word(nw_call *c, const char *name, const char *value);
void nw_int(nw_call *c, const char *name, int64_t value);
void nw_real(nw_call *c, const char *name, double value);
void nw_bool(nw_call *c, const char *name, bool value);
void nw_tuple(nw_call *c, const char *name, size_t n, const int64_t at[]);
/* A node with the attributes so far; `last` is the one that the call's name belongs to. */
uint32_t nw_node(nw_call *c, const char *op, bool last, uint32_t n_in, const uint32_t in[]);
void nw_out(nw_call *c, uint32_t node);
void nw_out_as(nw_call *c, uint32_t node, tn_dtype dtype); /* of a truth value */

#endif
