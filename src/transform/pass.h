#ifndef TN_TRANSFORM_PASS_H
#define TN_TRANSFORM_PASS_H
/* Graph passes: one file and one row of passes.def each. A pass rewrites the module in place, keeps it well-typed, sets
 * p->changed if it did anything, and never names an operator (it asks the operator record). Names are those users of
 * TVM know; `tenon opt --pass=A,B` runs them on text. */
#include "machine/machine.h"
#include "relay/relay.h"

typedef struct tn_pass {
    tn_ctx *ctx;
    tn_arena *scratch;             /* reset after each pass */
    const struct tn_machine *machine;
    int opt_level;                 /* 0..3 */
    tn_eval_fn *eval; void *eval_user;   /* how constants are evaluated (interpreter or JIT) */
    bool changed;
} tn_pass;

typedef tn_status tn_pass_fn(tn_pass *p, tn_graph *g);
typedef struct tn_pass_info { const char *name; int opt_level; tn_pass_fn *run; const char *doc; } tn_pass_info;
extern const tn_pass_info tn_passes[];
extern const size_t tn_n_passes;
#define PASS(name, level, doc) tn_pass_fn tn_pass_##name;
#include "transform/passes.def"
#undef PASS
const tn_pass_info *tn_pass_find(const char *name);  /* NULL: unknown */
/* Runs one pass, verifies the module in debug builds. */
TN_WARN_UNUSED tn_status tn_pass_run(tn_pass *p, const tn_pass_info *pass, tn_graph *g);

/* An `if` whose condition is a constant becomes its branch; symbols it would bind become that branch's extents. */
TN_WARN_UNUSED tn_status tn_if_fold(tn_pass *p, tn_graph *g, tn_node *n);

/* The fused group that a `call` node calls (its `fn` has Primitive=1), or NULL. */
tn_node *tn_group_fn(const tn_node *call);
/* TIR of one group: tensor expressions of its operators, everything inlinable inlined, blocks tagged and
 * sourced, layouts of parameters and results from the types. Symbol-dependent dims stay symbolic. */
TN_WARN_UNUSED tn_status tn_lower_te(tn_pass *p, tn_graph *g, const tn_node *call, const char *name,
                                     tn_arena *arena, tn_func **out);
/* "fused_nn_dense_nn_bias_add_nn_relu": operators in order, cut at 80 characters with a hash; caller makes it
 * unique. */
const char *tn_group_name(tn_graph *g, const tn_node *call);
/* Model nodes of the group, "Gemm_0, Relu_1". */
const char *tn_group_source(tn_graph *g, const tn_node *call);

#endif
