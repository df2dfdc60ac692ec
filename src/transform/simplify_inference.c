/* SimplifyInference: an operator whose record has an expansion is replaced by it (batch_norm by multiply and add). */
#include "transform/pass.h"

enum { MAX_OUT = 16 };

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(region(p, g, n->region[i]));
        if (!n->op->expand)
            continue;
        tn_value out[MAX_OUT] = {{0}};
        tn_node *before = n->prev;
        TN_ASSERT(n->nout <= MAX_OUT);
        TN_TRY(n->op->expand(g, n, out));
        for (uint16_t k = 0; k < n->nout; k++)
            tn_value_replace(g, (tn_value){n, k}, out[k]);
        tn_node_remove(g, n);
        next = before ? before->next : r->first; /* what was put in may expand again */
        p->changed = true;
    }
    return TN_OK;
}

tn_status tn_pass_SimplifyInference(tn_pass *p, tn_graph *g)
{
    for (tn_function *f = g->func; f; f = f->next)
        TN_TRY(region(p, g, f->body));
    return TN_OK;
}
