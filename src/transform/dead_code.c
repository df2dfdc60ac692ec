/* DeadCodeElimination: from the end, nodes without uses and effects go, then the data of constants that are gone. */
#include "transform/pass.h"

static bool used(const tn_node *n)
{
    for (int k = 0; k < n->nout; k++)
        if (n->users[k])
            return true;
    return n->nout == 0;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *prev;
    for (tn_node *n = r->last; n; n = prev) {
        prev = n->prev;
        for (int i = 0; i < n->nregion && used(n); i++)
            TN_TRY(region(p, g, n->region[i]));
        if (n->op == &tn_op_var || (n->op->flags & TN_OP_EFFECT) || used(n))
            continue;
        tn_node_remove(g, n);
        p->changed = true;
    }
    return TN_OK;
}

tn_status tn_pass_DeadCodeElimination(tn_pass *p, tn_graph *g)
{
    for (tn_function *f = g->func; f; f = f->next)
        TN_TRY(region(p, g, f->body));
    tn_graph_sweep_blobs(g);
    return TN_OK;
}
