/* CanonicalizeOps: operators become others that passes know more of, as their records say (bias_add becomes add).
 * CanonicalizeCast: a value that is cheap to compute (a cast) and has several readers is computed anew for each, so
 * that it becomes part of the reader's kernel and the narrow operand is what is stored and read. */
#include "transform/pass.h"

enum { MAX_OUT = 16 };

static tn_status canonicalize(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        tn_value out[MAX_OUT] = {{0}};
        next = n->next;
        if (!n->op->canonical || n->nout > MAX_OUT)
            continue;
        TN_TRY(n->op->canonical(g, n, out));
        tn_pass_replace(p, g, n, out);
    }
    return TN_OK;
}

tn_status tn_pass_CanonicalizeOps(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, canonicalize); }

/* Storing the result costs more than computing it again: it is no narrower than what it is made of. */
static bool worth_copying(const tn_node *n)
{
    return (n->op->flags & TN_OP_CHEAP) && n->nin == 1 && n->nout == 1 &&
           n->in[0].def->op != &tn_op_constant && n->type[0]->dtype.bits >= tn_in_type(n, 0)->dtype.bits;
}

static tn_status duplicate(tn_pass *p, tn_graph *g, tn_region *r)
{
    for (tn_node *n = r->first; n; n = n->next) {
        if (!worth_copying(n))
            continue;
        tn_use *next, *u = n->users[0] ? n->users[0]->next : NULL; /* one reader keeps the original */
        for (; u; u = next) {
            tn_value in = tn_in(n, 0);
            next = u->next;
            if (!u->user || u->user->owner != n->owner || u->user->op->fuse == TN_FUSE_NONE)
                continue;
            tn_node *copy = tn_make_call(g, n->owner, u->user, n->op, 1, &in, n->attr, n->loc);
            if (!copy)
                return TN_FAIL;
            tn_use_set(g, u, tn_val(copy));
            p->changed = true;
        }
    }
    return TN_OK;
}

tn_status tn_pass_CanonicalizeCast(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, duplicate); }
