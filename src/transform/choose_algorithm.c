/* ChooseAlgorithm: an operator is replaced by the first of its alternatives that applies on this machine. */
#include "transform/pass.h"

enum { MAX_OUT = 16 };

static const tn_alternative *choose(const tn_pass *p, const tn_node *n)
{
    for (int i = 0; i < n->op->n_alternative; i++)
        if (n->op->alternative[i].applies(n, p->machine))
            return &n->op->alternative[i];
    return NULL;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        next = n->next;
        const tn_alternative *a = choose(p, n);
        if (!a)
            continue;
        tn_value out[MAX_OUT] = {{0}};
        TN_ASSERT(n->nout <= MAX_OUT);
        TN_TRY(a->expand(g, n, out));
        tn_pass_replace(p, g, n, out);
    }
    return TN_OK;
}

tn_status tn_pass_ChooseAlgorithm(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, region); }
