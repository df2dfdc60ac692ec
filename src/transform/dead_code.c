/* DeadCodeElimination: from the end, nodes without uses and effects go, then the data of constants that are gone. */
#include "transform/pass.h"

#include "op/core/core.h"

static bool used(const tn_node *n)
{
    for (int k = 0; k < n->nout; k++)
        if (n->users[k])
            return true;
    return n->nout == 0;
}

/* Symbols that it binds may be in the types of others. */
static bool binds(const tn_node *n)
{
    for (const tn_attr_field *f = n->op->flags & TN_OP_BINDS ? n->op->attr : NULL; f && f->name; f++) {
        const tn_dims *d = (const tn_dims *)(const void *)((const char *)n->attr + f->offset);
        for (uint32_t i = 0; f->kind == TN_A_DIMS && i < d->n; i++)
            if (d->at[i]->kind == TN_E_SYM)
                return true;
    }
    return false;
}

/* It has an effect, or one of its blocks calls a function, which may have some, or writes to a reference. */
static bool must_stay(const tn_node *n)
{
    if (tn_has_effect(n))
        return true;
    for (int i = 0; i < n->nregion && n->op != &tn_op_fn; i++)
        for (const tn_node *x = n->region[i]->first; x; x = x->next) {
            bool ends = (n->op->flags & TN_OP_BINDS) && x->nin == 0; /* `fail` */
            if (x->nregion ? must_stay(x) : tn_has_effect(x) && !ends && !(x->op->flags & TN_OP_BINDS))
                return true;
        }
    return false;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *prev;
    for (tn_node *n = r->last; n; n = prev) {
        prev = n->prev;
        bool stays = n->op == &tn_op_var || must_stay(n) || used(n) || binds(n);
        for (int i = 0; i < n->nregion && stays; i++)
            TN_TRY(region(p, g, n->region[i]));
        if (stays)
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
