#ifndef TN_IR_OP_H
#define TN_IR_OP_H
/* The operator record: the only place that knows an operator. The records are in op/; this is the struct, so that
 * graphs, passes and frontends can read it without knowing any operator by name. */
#include "ir/graph.h"

typedef struct tn_te tn_te;
typedef struct tn_tensor tn_tensor;
struct tn_machine;

enum tn_fuse { /* how an operator takes part in fusion */
               TN_FUSE_ELEMWISE,
               TN_FUSE_BROADCAST,
               TN_FUSE_INJECTIVE,
               TN_FUSE_REDUCE,
               TN_FUSE_ANCHOR,
               TN_FUSE_OPAQUE,
               TN_FUSE_NONE /* constants, variables, functions, calls: not kernels */
};

enum { TN_ANY_REGIONS = 255 };

enum tn_op_flag {
    TN_OP_EFFECT = 1,     /* never removed or reordered */
    TN_OP_INDEX_MAP = 2,  /* pure data movement: every output element is one input element (or a constant) */
    TN_OP_SHARES = 4,     /* row-major data is unchanged: output may share its input's storage */
    TN_OP_HOST_INDEX = 8, /* may carry index expressions of small integer tensors (shape arithmetic) */
    TN_OP_BINDS = 16,     /* symbols in its attributes are bound by it, during the run */
    TN_OP_RELAYOUT = 32,  /* changes nothing but the physical layout */
    TN_OP_CHEAP = 64,     /* so little work that each reader may do it for itself */
    TN_OP_BROADCASTS = 128, /* elementwise over operands that repeat by numpy's rules */
    TN_OP_VIEW = 256        /* operand 0's bytes as other elements: an alias in programs, in no kernel */
};

/* ---- what graph passes ask beyond types; every answer is optional ---- */

/* How factors along one axis pass an operator f (FoldScaleAxis). Forward they stand on operand 0 along `axis`, backward
 * on the result. */
enum tn_scale {
    TN_SCALE_NONE,
    TN_SCALE_FACTOR, /* f is the product of its two operands */
    TN_SCALE_PASS,   /* f(s * x) = s * f(x): they are on the other side along *other */
    TN_SCALE_SUM, /* f(s * x, s * y, ...) = s * f(x, y, ...); operand 1 has them along *other if that is >= 0 */
    TN_SCALE_WEIGHT /* operand 1 takes them, along its axis *other */
};

/* Siblings that read one tensor become one call (CombineParallel...): their operands 1 joined along weight_axis, the
 * result cut along out_axis. */
enum tn_combine_kind { TN_COMBINE_CONV2D, TN_COMBINE_DENSE, TN_COMBINE_BATCH_MATMUL };
typedef struct tn_combine {
    enum tn_combine_kind kind;
    int weight_axis, out_axis;
    int count_offset; /* of an int64_t attribute with the extent of out_axis, which becomes 0; -1: none */
} tn_combine;

enum tn_precision { /* ToMixedPrecision */
                    /* index maps and plain arithmetic follow their operands, all else keeps its dtype */
                    TN_PRECISION_AUTO,
                    TN_PRECISION_LOW,    /* gains from 16-bit floats */
                    TN_PRECISION_FOLLOW, /* 16-bit if its operands are */
                    TN_PRECISION_KEEP    /* needs the range or the digits */
};

/* Layout negotiation (AlterOpLayout). `in` and `out` come filled with what neighbours offer (NULL: identity); the rule
 * overwrites them with what it will take and give. */
typedef struct tn_layout_query {
    tn_graph *g;
    const struct tn_machine *machine;
    const tn_node *node;
    const tn_layout **in, **out; /* nin, nout entries */
    const char *desired,
        *desired_kernel; /* what a user asks for ("NHWC", "HWIO" or "default"); NULL: nothing */
} tn_layout_query;

typedef struct tn_alternative { /* another algorithm for the same operator, better where it applies */
    const char *name;           /* "shifted" */
    const char *doc;
    bool (*applies)(const tn_node *n, const struct tn_machine *m);
    bool (*pays)(const tn_node *n, const struct tn_machine *m); /* where it applies; NULL: always */
    tn_status (*expand)(tn_graph *g, tn_node *n, tn_value out[]);
} tn_alternative;

/* Reverse-mode differentiation of one node: from the gradients of its results to those of its operands. */
typedef struct tn_gradient {
    tn_graph *g;
    const tn_node *node;
    tn_region *r;       /* new nodes stand at its end */
    const tn_value *of; /* one a result; absent: 0 */
    const bool *wanted; /* one an operand: it is a tensor of floats that the gradient is asked for */
    tn_value *in;       /* one an operand: to be set where it is wanted and not 0 */
    bool failed;        /* a call could not be made, which has been said */
} tn_gradient;

struct tn_op {
    const char *name; /* "nn.conv2d" */
    const char *doc;  /* one sentence */
    uint16_t attr_size;
    const tn_attr_field *attr; /* NULL-terminated table, or NULL */
    int8_t nin;                /* -1: any number (at least min_in) */
    int8_t min_in;             /* optional inputs are the last ones */
    int8_t nout;               /* -1: decided by infer from attributes through nout_of */
    uint16_t flags;            /* enum tn_op_flag */
    uint8_t precision;         /* enum tn_precision */
    uint8_t nregion;           /* how many regions its nodes hold; TN_ANY_REGIONS: its inference knows */
    enum tn_fuse fuse;
    const char *const *in_name; /* nin names for messages, or NULL */

    int (*nout_of)(const void *attr); /* only if nout < 0 */
    /* Type relation: reads input types, sets node->type[]; errors name node->loc. */
    tn_status (*infer)(tn_graph *g, tn_node *node);
    void (*layout)(tn_layout_query *q); /* NULL: identity everywhere */

    /* Exactly one of the four definitions (none for TN_FUSE_NONE operators, which host functions or instructions of the
     * program are). */
    const char *formula; /* elementwise: scalar text over x (or a, b, c; broadcast) and attribute names */
    void (*compute)(tn_te *te, const tn_node *node, tn_tensor *const in[], tn_tensor *out[]);
    tn_status (*expand)(tn_graph *g, tn_node *node,
                        tn_value out[]); /* into simpler operators, placed before node */
    void (*body)(tn_te *te, const tn_node *node, tn_tensor *const in[], tn_tensor *out[]);

    /* The host function that does it in the run, "seq.at": such an operator has none of the definitions, is no part
     * of a kernel (TN_FUSE_NONE), and takes values of all types. Its attributes are one more input, a JSON object's
     * text as a tensor of bytes; an absent operand is a constructor without fields. */
    const char *host;

    const tn_alternative *alternative; /* the first that applies and pays is taken */
    uint8_t n_alternative;
    /* Integer shape arithmetic: index expressions of outputs from those of inputs; NULL where not applicable. */
    bool (*shape_value)(tn_graph *g, const tn_node *node, const tn_dims in[], tn_dims out[]);

    /* Rewrites, each with nodes placed before `node`. An equal, simpler value for output 0; *out stays absent if there
     * is none. */
    tn_status (*simplify)(tn_graph *g, tn_node *node, tn_value *out);
    /* The same by operators that other passes know more of (bias_add by add). */
    tn_status (*canonical)(tn_graph *g, tn_node *node, tn_value out[]);
    /* Another way to say it that suits the machine; absent: it is fine as it is. */
    tn_status (*legalize)(tn_graph *g, tn_node *node, const struct tn_machine *m, tn_value *out);
    /* Operands but the first are constants: the same with attributes in their place. */
    tn_status (*to_static)(tn_graph *g, tn_node *node, tn_value *out);
    const char *layouts; /* data layouts that users may ask for, "NCHW NHWC"; NULL: none (ConvertLayout) */
    enum tn_scale (*scale)(const tn_node *node, bool forward, bool positive, int axis, int *other);
    bool (*combine)(const tn_node *node, tn_combine *out);
    /* Of a product of two tensors, whose sums are float32 where both are narrower floats: how often, at least, it
     * reads each element of either one. */
    void (*reads)(const tn_node *node, int64_t out[2]);
    /* NULL: that of the formula or of the expansion; else there is none. */
    tn_status (*gradient)(tn_gradient *q);
    /* attr (a copy of the node's) becomes that of the call over data whose dimensions have not been transposed by
     * axes, so that the call's result transposed by axes is the node's. */
    bool (*permute)(tn_graph *g, const tn_node *node, const int64_t axes[], void *attr);
    /* Where the result, which holds the elements of operand 0, each once, and nothing else, has the one at from[]: an
     * index for each dimension of the result. NULL: it holds something else. */
    void (*moves_to)(tn_pool *p, const tn_node *node, const tn_expr *const from[], const tn_expr *to[]);
};

/* The two records that graphs make nodes of themselves; with all others in op/. */
extern const tn_op tn_op_var, tn_op_constant;

static inline bool tn_op_is(const tn_node *n, const tn_op *op) { return n->op == op; }

#endif
