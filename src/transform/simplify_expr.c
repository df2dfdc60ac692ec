/* SimplifyExpr: a value is replaced by an equal, simpler one where its operator's record knows one. What a rewrite puts
 * in is looked at again; what nobody reads any more goes at once, so that rules that want a single reader see it.
 * Each region is walked until a walk changes nothing, MAX_WALKS times at most; rules only shrink or move one way.
 */
#include "transform/pass.h"

enum { MAX_WALKS = 32 };

typedef struct {
    tn_pass *p;
    tn_graph *g;
    tn_vec(tn_node *) todo;
} simplifier;

/* Removes n and what only it used. */
static void drop(simplifier *s, tn_node *n)
{
    const tn_region *owner = n->owner; /* which a removed node has no more */
    tn_vec_clear(&s->todo);
    tn_vec_push(&s->todo, n);
    while (s->todo.n) {
        tn_node *d = tn_vec_pop(&s->todo), *from = NULL;
        bool used = d->op->fuse == TN_FUSE_NONE || (d->op->flags & TN_OP_EFFECT);
        for (int k = 0; k < d->nout; k++)
            used |= d->users[k] != NULL;
        if (used)
            continue;
        for (int i = 0; i < d->nin; i++) {
            bool again = d->in[i].def == from;
            from = d->in[i].def;
            for (int j = 0; j < i && !again; j++)
                again = d->in[j].def == from;
            if (from && !again && from->owner == owner)
                tn_vec_push(&s->todo, from);
        }
        tn_node_remove(s->g, d);
    }
}

/* `next` stays: what goes stands before it. */
static tn_status walk(simplifier *s, tn_region *r, bool *changed)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        tn_value to = {0};
        next = n->next;
        if (!n->op->simplify || n->op->fuse == TN_FUSE_NONE || n->nout != 1)
            continue;
        TN_TRY(n->op->simplify(s->g, n, &to));
        if (!to.def)
            continue;
        tn_value_replace(s->g, tn_val(n), to);
        drop(s, n);
        *changed = s->p->changed = true;
    }
    return TN_OK;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    simplifier s = {.p = p, .g = g};
    tn_status st = TN_OK;
    bool changed = true;
    for (int i = 0; i < MAX_WALKS && changed && st == TN_OK; i++) {
        changed = false;
        st = walk(&s, r, &changed);
    }
    tn_vec_deinit(&s.todo);
    return st;
}

tn_status tn_pass_SimplifyExpr(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, region); }
