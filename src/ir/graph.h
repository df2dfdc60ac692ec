#ifndef TN_IR_GRAPH_H
#define TN_IR_GRAPH_H
/* The graph IR: mutable SSA in regions, rewritten by replacing uses, never by copying.
 *
 * Everything lives in one arena. Nodes have stable addresses and dense ids; analyses are side arrays by id.
 * Execution order is a list per region, so "before" is a fact. Inner regions use outer values by dominance; a closure
 * is an `fn` node (one region), called by a `call` node whose first input it is. A region's parameters are nodes of
 * op `var` at its head; graph inputs are the parameters of @main's region; constants are nodes of op `constant`.
 */
#include "ir/attr.h"
#include "ir/metadata.h"
#include "ir/type.h"
#include "base/vec.h"

typedef struct tn_op tn_op;
typedef struct tn_node tn_node;
typedef struct tn_region tn_region;

typedef struct tn_use {
    tn_node *def;               /* NULL: absent optional input, printed None */
    uint32_t out;               /* which output of def */
    tn_node *user;              /* NULL: a region result */
    tn_region *region;          /* region result: its region */
    uint32_t slot;              /* index in user->in or region->result */
    struct tn_use *prev, *next; /* other uses of the same output */
} tn_use;

typedef struct tn_value {
    tn_node *def;
    uint32_t out;
} tn_value; /* def NULL: absent */

struct tn_node {
    const tn_op *op; /* never NULL */
    uint32_t id;     /* dense per graph, never reused */
    uint16_t nin, nout, nregion;
    const void *attr;           /* op->attr_size bytes; NULL if 0 */
    const tn_type **type;       /* nout entries; NULL until inferred */
    const tn_loc *loc;          /* model node it came from; NULL: made up */
    const char *name;           /* VAR: parameter name; CONSTANT: weight name; else NULL or a hint */
    const struct tn_blob *blob; /* CONSTANT: its data; else NULL */
    tn_region *owner, **region;
    tn_use **users; /* nout heads */
    tn_node *prev, *next;
    tn_use in[];
};

struct tn_region {
    tn_node *holder;       /* node it belongs to; NULL: function body */
    tn_node *first, *last; /* parameters (op var) first */
    uint32_t n_param, n_result;
    tn_node **param;
    tn_use *result; /* n_result uses */
};

/* Constant data: reference into a mapped file or owned memory; shared, never copied by arenas. Physical bytes of
 * the constant's type (layout applied). */
typedef struct tn_blob {
    const void *at;
    size_t n;
    void (*release)(struct tn_blob *b);
    void *user;
} tn_blob;

typedef struct tn_symbol_info {
    const char *name;
    int64_t min, max;
    const tn_expr
        *is; /* what it was found to be while the model was read: a number, another symbol; NULL: itself */
    const tn_loc *because; /* where that, or a narrower range, was found out; valid if `told` */
    bool told;
    bool
        is_length; /* of a list of axes, or that decides about ranks: one of 0 elements says as much as any other */
    tn_ints point; /* values that kernels have variants for */
} tn_symbol_info;

enum { TN_MAX_POINTS = 32 }; /* of the symbols of a kernel, all combinations */

typedef struct tn_assumption {
    const tn_expr *from, *is;
} tn_assumption;

typedef struct tn_function {
    const char *name; /* "main" */
    tn_region *body;
    const tn_type *result_type; /* as declared, or NULL */
    struct tn_function *next;
} tn_function;

/* What the model keeps from one run to the next: a parameter of @main that begins a run as the result of the run before
 * left it. */
typedef struct tn_graph_state {
    uint32_t param, result;
    const char *first; /* function whose only result is a constant, what the first run sees; NULL: zeros */
} tn_graph_state;

struct value;
typedef struct tn_graph { /* a module */
    tn_ctx *ctx;
    tn_arena *arena;
    tn_pool *pool;
    tn_function *func; /* list, main first */
    uint32_t n_node;   /* next id */
    uint32_t n_alive;  /* nodes that were not removed */
    tn_symbol_info *symbol;
    uint32_t n_symbol, cap_symbol; /* symbols of the module with their ranges */
    /* a model of one function is being read: operators find out what symbols of its inputs are */
    /* Calls the host function of an operator for who evaluates the graph; NULL: none can be called. A `value` is one of
     * the interpreter of Relay. */
    tn_status (*call_host)(struct tn_graph *g, const tn_node *n, struct value *const in[],
                           struct value *out[]);
    bool wants_shapes; /* the import failed since an extent is symbolic: a fixed one may help */
    bool settles;
    /* while a node is inferred, with `assumes`: extents that must be equal for it, which only the run can check */
    bool assumes;
    tn_vec(tn_assumption) assumed;
    tn_map named;             /* interned name of a symbol -> its number, of those looked up so far */
    tn_strmap fresh;          /* prefix -> the number that its next new symbol may have */
    const char **result_name; /* what the model calls the results of @main */
    uint32_t n_result_name;   /* as many as results, or 0: it does not say */
    tn_vec(tn_graph_state) state;
    tn_data *data; /* definitions of types, in the text's order */
    tn_vec(tn_metadata) metadata;
    tn_vec(tn_blob *) blob; /* owned blobs, released by tn_graph_deinit */
    uint64_t room;          /* bytes that folding may yet add to the constants, if... */
    bool room_known;        /* ...it has begun */
    bool is_view;           /* symbols cannot be declared */
} tn_graph;

void tn_graph_init(tn_graph *g, tn_ctx *ctx, tn_arena *arena, tn_pool *pool);
void tn_graph_deinit(tn_graph *g); /* releases blobs; memory is the arena's */
/* g as a child of its frozen context sees it: for reading; what is made meanwhile goes to the child. Symbols are found,
 * not declared. It is not deinitialised, and there is tn_graph_index(g) before. */
void tn_graph_view(tn_graph *view, const tn_graph *g, tn_ctx *child, tn_arena *arena, tn_pool *pool);
void tn_graph_index(tn_graph *g); /* symbols declared so far are found without changing g */
/* Makes the empty graph `to` equal to `from`, down to ids and the order of uses, for changing it alone.
 * Types, names and constants are shared, so `from`, its arena and its pool must outlive `to`, whose pool is a
 * child of from's. */
void tn_graph_clone(const tn_graph *from, tn_graph *to);
tn_function *tn_graph_function(tn_graph *g, const char *name); /* NULL: none */
tn_function *tn_graph_add_function(tn_graph *g, const char *name);
/* Appends a definition, whose constructors are to be filled in; finds a constructor (NULL: none). */
tn_data *tn_graph_add_data(tn_graph *g, const char *name);
const tn_constructor *tn_graph_constructor(const tn_graph *g, const char *name);
/* Declares or finds a symbol; default range [1, 2^31 - 1]. Valid until the next symbol is declared. */
tn_symbol_info *tn_graph_find_symbol(tn_graph *g, const char *name); /* NULL: not declared */
tn_symbol_info *tn_graph_symbol(tn_graph *g, const char *name);
void tn_symbol_add_point(tn_graph *g, tn_symbol_info *s, int64_t v); /* once; beyond TN_MAX_POINTS: not */
/* fresh zeroed 64-aligned memory; exhaustion raises */
tn_blob *tn_graph_blob(tn_graph *g, size_t n, void **out_at);
tn_blob *tn_graph_blob_ref(tn_graph *g, const void *at, size_t n); /* borrowed: must outlive g */
/* Other graphs refer to the blobs of this one from now on: they stay as long as the heap that they are in. */
void tn_graph_lend_blobs(tn_graph *g);
/* Releases owned blobs that no node of the module refers to. */
void tn_graph_sweep_blobs(tn_graph *g);

tn_region *tn_region_new(tn_graph *g, tn_node *holder); /* becomes holder's last region */
tn_node *tn_region_add_param(tn_graph *g, tn_region *r, const char *name, const tn_type *type);
/* Makes n regions that stand alone (holder NULL) those of a node that holds none yet: If is made after its branches,
 * whose results say how many it has. */
void tn_node_hold(tn_graph *g, tn_node *node, int n, tn_region *const r[]);
void tn_region_discard(tn_graph *g, tn_region *r); /* one that stands alone: its nodes use nothing any more */
void tn_region_set_results(tn_graph *g, tn_region *r, int n, const tn_value v[]);

/* Creates a node before `before` (NULL: at the end of region r). attr (op->attr_size bytes) is copied. Types are not
 * inferred here: relay's builder does both. */
tn_node *tn_node_new(tn_graph *g, tn_region *r, tn_node *before, const tn_op *op, int nin,
                     const tn_value in[], int nout, const void *attr, const tn_loc *loc);
void tn_node_remove(tn_graph *g, tn_node *n); /* no uses may be left; also drops its regions */
void tn_node_move(tn_graph *g, tn_node *n, tn_region *r, tn_node *before);
tn_node *tn_constant_new(tn_graph *g, tn_region *r, tn_node *before, const tn_type *type, const tn_blob *blob,
                         const char *name);
void tn_use_set(tn_graph *g, tn_use *u, tn_value v);            /* rewires one use */
void tn_value_replace(tn_graph *g, tn_value from, tn_value to); /* rewires all uses */
static inline tn_value tn_val(tn_node *n) { return (tn_value){n, 0}; }
static inline tn_value tn_in(const tn_node *n, int i) { return (tn_value){n->in[i].def, n->in[i].out}; }
static inline const tn_type *tn_value_type(tn_value v) { return v.def ? v.def->type[v.out] : NULL; }
static inline const tn_type *tn_in_type(const tn_node *n, int i) { return tn_value_type(tn_in(n, i)); }
uint32_t tn_value_n_uses(tn_value v);
bool tn_value_eq(tn_value a, tn_value b);

#endif
