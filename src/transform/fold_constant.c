/* FoldConstant: a node whose inputs are all constants is evaluated now, an `if` of known condition is its branch.
 * Values keep the layout of the node's type, so weights come out in the order their kernel reads them. */
#include "transform/pass.h"

#include <stdlib.h>

enum { MAX_OUT = 16 };

static bool foldable(const tn_node *n)
{
    if (n->op->fuse == TN_FUSE_NONE || (n->op->flags & TN_OP_EFFECT) || n->nregion || n->nout > MAX_OUT)
        return false;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i].def && (n->in[i].def->op != &tn_op_constant || !n->in[i].def->blob))
            return false; /* a constant of text that was read without its data stays as it is */
    if (!tn_attr_fixed(n->op->attr, n->attr))
        return false;
    for (int k = 0; k < n->nout; k++)
        if (!n->type || !n->type[k] || n->type[k]->kind != TN_T_TENSOR || !tn_type_dims_const(n->type[k], NULL))
            return false;
    return true;
}

static void release(tn_blob *b)
{
    free((void *)b->at);
}

/* A blob that owns the value's memory. */
static const tn_blob *keep(tn_graph *g, tn_tensor_value *v)
{
    if (v->borrowed) {
        void *at;
        tn_blob *copy = tn_graph_blob(g, v->n, &at);
        __builtin_memcpy(at, v->at, v->n);
        return copy;
    }
    tn_blob *b = tn_graph_blob_ref(g, v->at, v->n);
    b->release = release;
    tn_vec_push(&g->blob, b);
    v->at = NULL;
    return b;
}

static tn_status fold(tn_pass *p, tn_graph *g, tn_node *n)
{
    tn_tensor_value out[MAX_OUT] = {{{0}, 0, {0}, NULL, 0, false}};
    const char *name = NULL;
    for (int i = 0; i < n->nin && !name; i++)
        name = n->in[i].def ? n->in[i].def->name : NULL;
    TN_TRY(tn_relay_eval_node(g, n, out, p->eval, p->eval_user));
    for (uint16_t k = 0; k < n->nout; k++) {
        tn_node *c = tn_constant_new(g, n->owner, n, n->type[k], keep(g, &out[k]), name);
        c->loc = n->loc;
        tn_value_replace(g, (tn_value){n, k}, tn_val(c));
        tn_tensor_value_deinit(&out[k]);
    }
    tn_node_remove(g, n);
    p->changed = true;
    return TN_OK;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        tn_node *before = n->prev;
        next = n->next;
        if (foldable(n))
            TN_TRY(fold(p, g, n));
        else if (n->op == &tn_op_if)
            TN_TRY(tn_if_fold(p, g, n));
        if (!n->owner) /* gone: what came in its place comes next */
            next = before ? before->next : r->first;
    }
    return TN_OK;
}

tn_status tn_pass_FoldConstant(tn_pass *p, tn_graph *g)
{
    return tn_pass_regions(p, g, region);
}
