#ifndef TN_IR_OP_H
#define TN_IR_OP_H
/* The operator record: the only place that knows an operator. The records are in op/; this is the struct, so that
 * graphs, passes and frontends can read it without knowing any operator by name. */
#include "ir/graph.h"

typedef struct tn_te tn_te;
typedef struct tn_tensor tn_tensor;
struct tn_machine;

enum tn_fuse { /* how an operator takes part in fusion */
    TN_FUSE_ELEMWISE, TN_FUSE_BROADCAST, TN_FUSE_INJECTIVE, TN_FUSE_REDUCE, TN_FUSE_ANCHOR, TN_FUSE_OPAQUE,
    TN_FUSE_NONE /* constants, variables, functions, calls: not kernels */
};

enum tn_op_flag {
    TN_OP_EFFECT = 1,     /* never removed or reordered */
    TN_OP_INDEX_MAP = 2,  /* pure data movement: every output element is one input element (or a constant) */
    TN_OP_SHARES = 4,     /* row-major data is unchanged: output may share its input's storage */
    TN_OP_HOST_INDEX = 8, /* may carry index expressions of small integer tensors (shape arithmetic) */
    TN_OP_BINDS = 16,     /* symbols in its attributes are bound by it, during the run */
    TN_OP_RELAYOUT = 32,  /* changes nothing but the physical layout */
    TN_OP_CHEAP = 64      /* costs no more than a read of its operand: done again by each reader */
};

/* Layout negotiation (AlterOpLayout). `in` and `out` come filled with what neighbours offer (NULL: identity); the rule
 * overwrites them with what it will take and give. */
typedef struct tn_layout_query {
    tn_graph *g;
    const struct tn_machine *machine;
    const tn_node *node;
    const tn_layout **in, **out;   /* nin, nout entries */
} tn_layout_query;

typedef struct tn_alternative { /* another algorithm for the same operator */
    const char *name;           /* "direct", "winograd_f43", "bf16x6" */
    const char *features;       /* CPU features it needs, comma list, or NULL */
    const char *doc;
    bool (*applies)(const tn_node *n, const struct tn_machine *m);
    double (*cost)(const tn_node *n, const struct tn_machine *m); /* predicted seconds */
    tn_status (*expand)(tn_graph *g, tn_node *n, tn_value out[]); /* NULL: the record's own definition */
} tn_alternative;

struct tn_op {
    const char *name;       /* "nn.conv2d" */
    const char *doc;        /* one sentence */
    uint16_t attr_size;
    const tn_attr_field *attr;    /* NULL-terminated table, or NULL */
    int8_t nin;             /* -1: any number (at least min_in) */
    int8_t min_in;          /* optional inputs are the last ones */
    int8_t nout;            /* -1: decided by infer from attributes through nout_of */
    uint8_t flags;          /* enum tn_op_flag */
    uint8_t nregion;        /* how many regions its nodes hold */
    enum tn_fuse fuse;
    const char *const *in_name;   /* nin names for messages, or NULL */

    int (*nout_of)(const void *attr);              /* only if nout < 0 */
    /* Type relation: reads input types, sets node->type[]; errors name node->loc. */
    tn_status (*infer)(tn_graph *g, tn_node *node);
    void (*layout)(tn_layout_query *q);            /* NULL: identity everywhere */

    /* Exactly one of the four definitions (none for TN_FUSE_NONE operators). */
    const char *formula;    /* elementwise: scalar text over x (or a, b, c; broadcast) and attribute names */
    void (*compute)(tn_te *te, const tn_node *node, tn_tensor *const in[], tn_tensor *out[]);
    tn_status (*expand)(tn_graph *g, tn_node *node, tn_value out[]); /* into simpler operators, placed before node */
    void (*body)(tn_te *te, const tn_node *node, tn_tensor *const in[], tn_tensor *out[]);

    tn_status (*grad)(tn_graph *g, tn_node *node, const tn_value out_grad[], tn_value in_grad[]);
    const tn_alternative *alternative; uint8_t n_alternative;
    /* Integer shape arithmetic: index expressions of outputs from those of inputs; NULL where not applicable. */
    bool (*shape_value)(tn_graph *g, const tn_node *node, const tn_dims in[], tn_dims out[]);
};

/* The two records that graphs make nodes of themselves; with all others in op/. */
extern const tn_op tn_op_var, tn_op_constant;

static inline bool tn_op_is(const tn_node *n, const tn_op *op) { return n->op == op; }

#endif
