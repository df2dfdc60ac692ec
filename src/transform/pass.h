#ifndef TN_TRANSFORM_PASS_H
#define TN_TRANSFORM_PASS_H
/* Graph passes: one file and one row of passes.def each. A pass rewrites the module in place, keeps it well-typed, sets
 * p->changed if it did anything, and never names an operator (it asks the operator record). Names are those users of
 * TVM know; `tenon opt --pass=A,B` runs them on text. */
#include "base/map.h"
#include "base/picks.h"
#include "machine/machine.h"
#include "relay/relay.h"

/* ---- what a caller may tell passes ---- */

enum tn_config { /* rows of config.def */
#define CONFIG(id, key, type, def, known) TN_CONFIG_##id,
#include "transform/config.def"
#undef CONFIG
                 TN_N_CONFIG
};
typedef struct tn_pass_options {
    const char *config[TN_N_CONFIG]; /* values as given; NULL: not given */
    const char *desired_layout;      /* ConvertLayout: "NHWC", "NHWC:HWIO"; one for all or one each operator,
                                           * blanks between; NULL: the pass does nothing */
    const char *desired_layout_ops;  /* operators, blanks between; NULL: all that can */
    bool mixed_precision;            /* ToMixedPrecision runs */
    const char *mixed_precision_ops; /* operators that shall be lowered; NULL: what the records say */
    tn_dtype calculation_type, acc_type; /* zero: float16 */
} tn_pass_options;
/* Takes "key=value"; driver-E060 unknown key (lists the known ones), E061 value of another type, E062 known but not
 * supported with this value. */
TN_WARN_UNUSED tn_status tn_pass_configure(tn_ctx *ctx, tn_pass_options *o, const char *text);
/* The value given for an integer or boolean key, else its default. */
int64_t tn_pass_config_int(const tn_pass_options *o, enum tn_config key);

/* ---- what passes choose ----
 * Picks (base/picks.h) of a graph. A name is an operator, the hash of what a node computes, and a role:
 * `nn.conv2d.4f1a22b09c77e310.layout`. Equal nodes, of one model or of several, have one pick. Which are asked for may
 * depend on those before, as another algorithm is other nodes. */
typedef struct tn_pick_place {
    uint32_t n;        /* nodes */
    const char *first; /* the model's name for the first of them */
    tn_choice value;   /* what each takes, where it is a candidate there; else its default */
    bool given, taken;
} tn_pick_place;
typedef struct tn_graph_picks {
    tn_arena *arena;
    const tn_picks *given;       /* NULL: defaults */
    tn_asked asked;              /* with the candidates of the first node */
    tn_pick_place *place;        /* by pick */
    uint32_t cap_place, n_known; /* n_known: of `given`, in the map of it */
    tn_strmap by_name, given_at;
    tn_map counted; /* nodes of picks */
} tn_graph_picks;
void tn_graph_picks_deinit(tn_graph_picks *g);
bool tn_graph_picks_taken(const tn_graph_picks *g); /* is there a node that takes what is given? */
/* Was all that is given asked for (transform-E002), and a candidate somewhere (transform-E003)? */
TN_WARN_UNUSED tn_status tn_graph_picks_check(tn_ctx *ctx, const tn_graph_picks *g);

typedef struct tn_pass {
    tn_ctx *ctx;
    tn_arena *scratch; /* reset after each pass */
    const struct tn_machine *machine;
    int opt_level;                  /* 0..4 */
    const tn_pass_options *options; /* NULL: defaults */
    tn_graph_picks *picks;          /* NULL: defaults, and nobody wants to know */
    bool no_grouping;               /* FuseOps is disabled: one kernel for each operator */
    bool no_inlining;               /* tn_lower_te makes a block of every operator */
    tn_eval_fn *eval;
    void *eval_user; /* how constants are evaluated (interpreter or JIT) */
    bool changed;
} tn_pass;

typedef tn_status tn_pass_fn(tn_pass *p, tn_graph *g);
typedef struct tn_pass_info {
    const char *name;
    int opt_level;
    tn_pass_fn *run;
    const char *doc;
} tn_pass_info;
extern const tn_pass_info tn_passes[];
extern const size_t tn_n_passes;
#define PASS(name, level, doc) tn_pass_fn tn_pass_##name;
#include "transform/passes.def"
#undef PASS
const tn_pass_info *tn_pass_find(const char *name); /* NULL: unknown */
/* Runs one pass, verifies the module in debug builds. */
TN_WARN_UNUSED tn_status tn_pass_run(tn_pass *p, const tn_pass_info *pass, tn_graph *g);

/* The hash of what a node computes: its operator, attributes, types without layouts, and which operands are constants.
 * The same in all models, and everywhere, as long as symbols of its extents have the same names. */
uint64_t tn_node_workload(const tn_node *n);
/* The hash of a module's nodes by this, and of what each of them reads. */
uint64_t tn_graph_workload(const tn_graph *g);
/* Which candidate to take at n, the first by default. beside: another node that is concerned, or NULL. Candidates may
 * depend on more than the nodes: a value that is none here leaves the default. */
void tn_pass_pick(tn_pass *p, const tn_node *n, const tn_node *beside, const char *role, uint32_t n_candidate,
                  const tn_choice candidate[], uint32_t *out);

/* An `if` whose condition is a constant becomes its branch; symbols it would bind become that branch's extents. */
TN_WARN_UNUSED tn_status tn_if_fold(tn_pass *p, tn_graph *g, tn_node *n);
/* Calls fn for each region of the module that is not inside a group: bodies of functions, then the regions that their
 * nodes hold (If, closures). */
typedef tn_status tn_region_fn(tn_pass *p, tn_graph *g, tn_region *r);
TN_WARN_UNUSED tn_status tn_pass_regions(tn_pass *p, tn_graph *g, tn_region_fn *fn);
/* Replaces all outputs of n by out[] and removes it. */
void tn_pass_replace(tn_pass *p, tn_graph *g, tn_node *n, const tn_value out[]);
/* Sets out_dtype in the attributes of a node of op, if it has that one. */
void tn_pass_out_dtype(const tn_op *op, void *attr, tn_dtype t);

/* The fused group that a `call` node calls (its `fn` has Primitive=1), or NULL. */
tn_node *tn_group_fn(const tn_node *call);
/* TIR of one group: tensor expressions of its operators, everything inlinable inlined, blocks tagged and
 * sourced, layouts of parameters and results from the types. Symbol-dependent dims stay symbolic. */
TN_WARN_UNUSED tn_status tn_lower_te(tn_pass *p, tn_graph *g, const tn_node *call, const char *name,
                                     tn_arena *arena, tn_func **out);
/* "fused_nn_dense_nn_bias_add_nn_relu": operators in order, cut at 80 characters with a hash; caller makes it
 * unique. */
const char *tn_group_name(tn_graph *g, const tn_node *call);
/* group_equal.c: calls of equal groups have the same hash, and kernels that differ in the names of model
 * nodes alone. */
uint64_t tn_group_hash(const tn_node *call);
bool tn_group_equal(const tn_node *a, const tn_node *b);
/* Model nodes of the group, "Gemm_0, Relu_1". */
const char *tn_group_source(tn_graph *g, const tn_node *call);

#endif
