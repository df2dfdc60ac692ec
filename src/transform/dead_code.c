/* DeadCodeElimination: from the end, nodes without uses and effects go. */
#include "transform/pass.h"

static bool used(const tn_node *n)
{
    for (int k = 0; k < n->nout; k++)
        if (n->users[k])
            return true;
    return n->nout == 0;
}

tn_status tn_pass_DeadCodeElimination(tn_pass *p, tn_graph *g)
{
    for (tn_function *f = g->func; f; f = f->next) {
        tn_node *prev;
        for (tn_node *n = f->body->last; n; n = prev) {
            prev = n->prev;
            if (n->op == &tn_op_var || (n->op->flags & TN_OP_EFFECT) || used(n))
                continue;
            tn_node_remove(g, n);
            p->changed = true;
        }
    }
    return TN_OK;
}
