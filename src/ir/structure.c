/* The records of the two operators that the graph itself makes: parameters and constants. Their type is given
 * with them. */
#include "ir/op.h"

static tn_status typed_already(tn_graph *g, tn_node *n)
{
    if (n->type && n->type[0])
        return TN_OK;
    return tn_error(g->ctx, "op-E016", n->loc, "%s: its type was not given", n->op->name);
}

/* clang-format off */
const tn_op tn_op_var = {
    .name = "var", .doc = "A parameter of a function or region.",
    .nout = 1, .fuse = TN_FUSE_NONE, .infer = typed_already,
};

const tn_op tn_op_constant = {
    .name = "constant", .doc = "A tensor whose value is known when the model is compiled.",
    .nout = 1, .fuse = TN_FUSE_NONE, .infer = typed_already,
};
/* clang-format on */
