#ifndef TN_RELAY_RELAY_H
#define TN_RELAY_RELAY_H
/* Relay, the graph IR: text form (TVM's `#[version = "0.0.5"]`), type inference, verifier, reference interpreter. The
 * data structure is ir/graph.h, the operators op/; docs/relay.md has grammar and semantics. */
#include "op/op.h"

/* Prints the module. Constants of rank 0 inline; others as meta[relay.Constant][k] with a comment (name,
 * shape). A group (an `fn` with Primitive=1 and the call of it) prints as two lines, as in docs/relay.md. */
void tn_relay_print(const tn_graph *g, tn_buf *out);
/* A parameter of @main that is a constant. */
typedef struct tn_relay_param {
    const char *name;
    tn_dtype dtype;
    int ndim;
    const int64_t *dim;
    const tn_blob *blob;
} tn_relay_param;
/* What belongs to a text: what it refers to as meta[TYPE][k], and parameters that have values. */
typedef struct tn_relay_metadata {
    /* Data of meta[relay.Constant][k] by index ("<file>.params"); they must outlive the graph. */
    const tn_blob *const *constant;
    size_t n_constant;
    const tn_relay_param *param; /* of names that differ */
    size_t n_param;
    /* The attributes meta[type][k] of a call of op as a text, "(axis=1, mode=\"add\")", that lives as long as the call
     * of tn_relay_parse. NULL: *out_why says why not. */
    const char *(*attributes)(void *user, const char *type, int64_t k, const char *op, const char **out_why);
    void *user;
    /* Tables of more operators that the text may call (relay/forms.h), each ended by a row without a name; the list
     * ends with NULL. NULL: none. */
    const struct form *const *forms;
} tn_relay_metadata;
/* Reads a module into an empty graph. meta NULL, or constants NULL: constants read as opaque ones of the annotated type
 * (blob NULL: dump and passes work, running does not), as one does whose entry is NULL. Types are inferred. Reports up
 * to about 20 mistakes; after TN_FAIL the graph is of no use. */
TN_WARN_UNUSED tn_status tn_relay_parse(tn_graph *g, const char *file, const char *text, size_t n,
                                        const tn_relay_metadata *meta);
/* Building a function piece by piece, by the text of its expressions, in g's arena and context. A call reports what is
 * wrong as reading a text does; its line is the number of the call. */
typedef struct tn_relay_builder tn_relay_builder;
typedef struct tn_relay_value tn_relay_value; /* a tensor, a tuple, or the results of an operator */
/* more: as tn_relay_metadata.forms. NULL: reported */
tn_relay_builder *tn_relay_builder_new(tn_graph *g, const char *name, const struct form *const *more);
/* type: "Tensor[(n, 64), float32]"; NULL: reported */
tn_relay_value *tn_relay_build_param(tn_relay_builder *b, const char *name, const char *type);
tn_relay_value *tn_relay_build_constant(tn_relay_builder *b, tn_dtype t, int ndim, const int64_t dim[],
                                        const void *data);
/* %0, %1, ... in the text are arg[], %name is a parameter. */
tn_relay_value *tn_relay_build(tn_relay_builder *b, const char *text, int n, tn_relay_value *const arg[]);
TN_WARN_UNUSED tn_status tn_relay_build_end(tn_relay_builder *b, int n, tn_relay_value *const result[]);
const tn_type *tn_relay_build_type(const tn_relay_value *v); /* NULL: of several results */
/* Operator i of those that are several calls here (forms.c) and of `more`: a text that calls it is read as
 * these. most 0 of least above 0: any number of operands. false: there are not so many. */
typedef struct tn_relay_form {
    const char *name, *doc;
    uint32_t least, most;
    const tn_attr_field *attr;
} tn_relay_form;
bool tn_relay_form_at(const struct form *const *more, size_t i, tn_relay_form *out);
/* An attribute that a text may give to a call of an operator, a form, or TVM's operator of that name; NULL: another. */
const tn_attr_field *tn_relay_find_attr(const struct form *const *more, const char *op, const char *name);
/* Attribute k that only TVM's operator of the name has and that counts, for a call of op; NULL: there are not
 * so many. */
const tn_attr_field *tn_relay_foreign_at(const tn_op *op, uint32_t k);
/* Collects the constants in printing order (for the .params file beside a dump). Returns their number. */
size_t tn_relay_constants(const tn_graph *g, const tn_node **out, size_t max);

/* Infers all types, in order; every failing node is reported (up to 20). */
TN_WARN_UNUSED tn_status tn_relay_infer(tn_graph *g);
/* Replaces symbols in the types and attributes of a region. */
void tn_relay_rename(tn_graph *g, tn_region *r, uint32_t n, const tn_expr *const from[],
                     const tn_expr *const to[]);
/* t with the extents that its symbols were found to be while the model is read. */
const tn_type *tn_relay_settled(tn_graph *g, const tn_type *t);
/* Ends the reading of a model: writes what operators found its symbols to be into @main, and infers all types. */
TN_WARN_UNUSED tn_status tn_relay_settle(tn_graph *g);
/* Only results of groups and values of no boundary have a layout, equal on both sides of a call. Types are present. */
TN_WARN_UNUSED tn_status tn_relay_check_layouts(const tn_graph *g);
/* Structure, dominance, types present and equal to what infer gives, layouts equal at calls and boundaries,
 * use lists. */
TN_WARN_UNUSED tn_status tn_relay_verify(const tn_graph *g);

/* A tensor value of the interpreter: dim are logical extents, `at` holds n bytes, dense, in the physical layout of its
 * type. Heap memory, unless borrowed. */
typedef struct tn_tensor_value {
    tn_dtype dtype;
    uint16_t ndim;
    int64_t dim[8];
    void *at;
    size_t n;
    bool borrowed;
} tn_tensor_value;
void tn_tensor_value_deinit(tn_tensor_value *v);
void *tn_tensor_value_memory(size_t bytes); /* zeroed, 64-byte aligned, for `at`; NULL: exhausted */
/* Bytes of a dense tensor in a layout (NULL: row-major). false: overflow, or a negative extent. */
bool tn_relay_bytes(tn_dtype t, int ndim, const int64_t dim[], const tn_layout *l, size_t *out_bytes);
/* Fills `bytes` of such a tensor with the fill value of its layout, 0 if it has none. */
void tn_relay_fill(tn_dtype t, const tn_layout *l, void *at, size_t bytes);
/* v is in layout `from`; *out becomes the same tensor in layout `to`, in fresh memory. Cells outside the
 * logical shape get the fill value of `to`, 0 if it has none. O(elements). */
TN_WARN_UNUSED tn_status tn_relay_relayout(tn_ctx *ctx, const tn_tensor_value *v, const tn_layout *from,
                                           const tn_layout *to, tn_tensor_value *out);
/* A constant of type t that takes over the memory of v, a value in t's layout (a copy of it where it is borrowed). */
tn_node *tn_relay_constant(tn_graph *g, tn_region *r, tn_node *before, const tn_type *t, tn_tensor_value *v,
                           const char *name);
/* Runs a block-stage function on memory; the interpreter by default, a JIT where the caller has one. Every arg[i] is
 * 64-byte aligned; outputs are zeroed (or hold their layout's fill value). */
typedef tn_status tn_eval_fn(const tn_func *f, void *const arg[], const int64_t sym[], void *user);
tn_status tn_eval_interp(const tn_func *f, void *const arg[], const int64_t sym[], void *user);

/* Evaluates @main, each operator record unfused and unscheduled. Symbols bind from the inputs' dims. out has
 * one entry per result (tuples are flattened); they are the caller's to deinit. */
TN_WARN_UNUSED tn_status tn_relay_run(tn_graph *g, int n_in, const tn_tensor_value in[], int n_out,
                                      tn_tensor_value out[], tn_eval_fn *eval, void *eval_user);
/* Evaluates one node whose inputs are all constants (symbol-free; for a call: but for the function). out: nout entries,
 * each in the layout of its type. Used by FoldConstant. */
TN_WARN_UNUSED tn_status tn_relay_eval_node(tn_graph *g, tn_node *n, tn_tensor_value out[], tn_eval_fn *eval,
                                            void *eval_user);

#endif
