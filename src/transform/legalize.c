/* Legalize: an operator in another way that suits the machine, as its record says. DynamicToStatic: extents that turned
 * out to be constants become attributes. FastMath: faster, less exact operators, where the record names one. */
#include "transform/pass.h"

enum { MAX_WALKS = 16 };

static tn_status legalize(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        tn_value to = {0};
        next = n->next;
        if (!n->op->legalize || n->nout != 1)
            continue;
        TN_TRY(n->op->legalize(g, n, p->machine, &to));
        if (to.def)
            tn_pass_replace(p, g, n, &to);
    }
    return TN_OK;
}

tn_status tn_pass_Legalize(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, legalize); }

static bool constant_extents(const tn_node *n)
{
    for (int i = 1; i < n->nin; i++)
        if (n->in[i].def && n->in[i].def->op != &tn_op_constant)
            return false;
    return true;
}

static tn_status to_static(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        tn_value to = {0};
        next = n->next;
        if (!n->op->to_static || n->nout != 1 || !constant_extents(n))
            continue;
        TN_TRY(n->op->to_static(g, n, &to));
        if (to.def)
            tn_pass_replace(p, g, n, &to);
    }
    return TN_OK;
}

/* What a node computes from constants alone may be the extent of another. */
tn_status tn_pass_DynamicToStatic(tn_pass *p, tn_graph *g)
{
    bool changed = false;
    for (int i = 0; i < MAX_WALKS; i++) {
        p->changed = false;
        TN_TRY(tn_pass_FoldConstant(p, g));
        TN_TRY(tn_pass_regions(p, g, to_static));
        changed |= p->changed;
        if (!p->changed)
            break;
    }
    p->changed = changed;
    return TN_OK;
}
