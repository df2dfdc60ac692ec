#ifndef TN_RELAY_INTERP_H
#define TN_RELAY_INTERP_H
/* Inside of the interpreter: interp_value.c has values and dimensions, interp.c evaluation, interp_flow.c calls and
 * control flow, interp_empty.c inputs without elements. */
#include "relay/limits.h"
#include "relay/relay.h"

enum { INTERP_MAX_DEPTH = 600 };

/* DATA: of a data type, and what host functions take: sequences (tag 0), optional values (tag 1 holds something); TEXT:
 * bytes, which are in t. */
enum value_kind { VALUE_TENSOR, VALUE_TUPLE, VALUE_CLOSURE, VALUE_REF, VALUE_DATA, VALUE_TEXT };

typedef struct value value;
struct binding;
struct value {
    uint32_t refs;
    uint8_t kind;      /* enum value_kind */
    tn_tensor_value t; /* TENSOR */
    uint32_t n, tag;   /* DATA: which constructor */
    value **field;     /* TUPLE, DATA */
    value *next;       /* of those whose last reference is gone, while they are released */
    tn_region *body;   /* CLOSURE: of the function; n values captured in `field` */
    tn_value *captured;
    struct binding *sym; /* CLOSURE: symbols where it was made */
    size_t n_sym;
};

/* An output of a node that has been evaluated. */
typedef struct slot {
    value *v;
    uint32_t left;
} slot; /* left: uses to come; PINNED: until the region ends */
#define PINNED UINT32_MAX

typedef struct binding {
    const char *name;
    int64_t value;
} binding;

typedef struct interp {
    tn_graph *g;
    tn_eval_fn *eval;
    void *user;
    struct interp_frame {
        tn_map index; /* node -> its first slot */
        tn_vec(slot) slot;
        tn_vec(binding) sym;
        const value *self; /* the closure that is called; NULL: @main */
    } f;                   /* of the innermost call */
    tn_arena scratch;      /* of one operator */
    int depth;             /* calls, branches and expansions under way */
} interp;

const tn_loc *interp_where(const tn_node *n); /* n may be NULL */
tn_status interp_no_memory(interp *p, const tn_node *n);

value *value_retain(value *v);
void value_release(value *v);           /* NULL: nothing */
value *value_new(enum value_kind kind); /* one reference; NULL: no memory */
/* A tuple of n fields; takes over their references, also when it fails. */
tn_status value_make_tuple(interp *p, const tn_node *at, uint32_t n, value *const field[], value **out);
/* A zeroed tensor of type t under the bindings. */
tn_status value_make_tensor(interp *p, const tn_type *t, const tn_node *n, value **out);
/* Lets v (whose extents and bytes are set) have the v->t.n bytes at `at`; a copy of them where they are not aligned. */
tn_status value_borrow(interp *p, const tn_node *n, const void *at, value *v);

bool interp_symbol(const interp *p, const char *name, int64_t *out);
tn_status interp_bind(interp *p, const char *name, int64_t v, const tn_node *at); /* its range is checked */
tn_status interp_dim(interp *p, const tn_expr *e, const tn_node *n, int64_t *out);
/* Extents and bytes of a tensor type under the bindings. */
tn_status interp_type(interp *p, const tn_type *t, const tn_node *n, int64_t dim[], size_t *out_bytes);
/* A region's parameters against its arguments: symbols that are a dimension themselves take the argument's extent at
 * first use (and hide outer ones of that name); then every dimension is checked. */
tn_status interp_bind_params(interp *p, const tn_region *r, value *const arg[]);
tn_status interp_check_param(interp *p, const tn_node *v, const value *arg); /* under the bindings */
/* @main where an extent of an input is 0 and its symbol begins at 1; *out_done: out has its results, which are empty.
 * Else it is to be evaluated. */
tn_status interp_empty(interp *p, const tn_region *r, const tn_tensor_value in[], int n_out,
                       tn_tensor_value out[], bool *out_done);

/* out: n_result references, or none after TN_FAIL. */
tn_status interp_region(interp *p, tn_region *r, value *const arg[], value *out[]);
/* A slot of the innermost frame that holds v, which nothing drops before the frame ends. */
void interp_define(interp *p, const tn_node *n, uint32_t out, value *v);
tn_status interp_value(interp *p, const tn_node *n, uint32_t out, const tn_node *at, value **out_value);
void interp_frame_deinit(struct interp_frame *f);
tn_status interp_enter(interp *p,
                       const tn_node *n); /* one level deeper: relay-E207; depth is taken back by hand */
tn_status interp_closure(interp *p, tn_node *fn, value **out);
/* Nodes of these operators: out gets nout references, or some after TN_FAIL. */
tn_status interp_call(interp *p, tn_node *n, value *const in[], value *out[]);
tn_status interp_if(interp *p, tn_node *n, value *const in[], value *out[]);
tn_status interp_match(interp *p, tn_node *n, value *const in[], value *out[]);
tn_status interp_loop(interp *p, tn_node *n, value *const in[], value *out[]);
tn_status interp_bind_extent(interp *p, const tn_node *n, value *in, value **out);
tn_status interp_match_shape(interp *p, const tn_node *n, value *in, value **out);
tn_status interp_ref(interp *p, const tn_node *n, value *const in[], value **out); /* of each operator */
tn_status interp_host(interp *p, tn_node *n, value *const in[], value *out[]);     /* of op/host */
tn_status interp_unbox(interp *p, const tn_node *n, value *in, value **out);

#endif
