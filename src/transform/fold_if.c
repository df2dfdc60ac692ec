/* An `if` of constant condition: its branch moves to its place. Symbols that the `if` binds are replaced by the
 * branch's extents, in types and attributes of the whole module. Linear in the branch, and in the module where there
 * are such symbols. */
#include "transform/pass.h"

#include "op/control/control.h"

#include <string.h>

typedef struct {
    uint32_t n;
    const tn_expr **from, **to;
} renaming;

/* What each symbol that only the `if` knows is in this branch. */
static void collect(renaming *s, const tn_node *n, const tn_region *r)
{
    for (uint32_t k = 0; k < n->nout; k++) {
        const tn_type *t = n->type[k], *b = tn_value_type((tn_value){r->result[k].def, r->result[k].out});
        for (int d = 0; !tn_type_is_handle(t) && d < t->n; d++) {
            bool known = t->dim[d]->kind != TN_E_SYM || t->dim[d] == b->dim[d];
            for (uint32_t i = 0; i < s->n && !known; i++)
                known = s->from[i] == t->dim[d];
            if (known)
                continue;
            s->from[s->n] = t->dim[d];
            s->to[s->n++] = b->dim[d];
        }
    }
}

/* Whether t tells less than `want`, the type of an `if` that it is one branch of: an element of a list that is empty
 * there, a value that there never is. Who reads the `if` computes with what t does not have. Depth: that of types. */
static bool tells_less(const tn_type *want, const tn_type *t)
{
    if (want == t || t->kind == TN_T_TENSOR || t->kind == TN_T_ANY || t->kind == TN_T_DATA)
        return false;
    if (want->kind != t->kind || want->n != t->n)
        return true;
    for (int i = 0; i < t->n; i++)
        if (tells_less(want->field[i], t->field[i]))
            return true;
    return false;
}

tn_status tn_if_fold(tn_pass *p, tn_graph *g, tn_node *n)
{
    const tn_node *c = n->in[0].def;
    if (c->op != &tn_op_constant || !c->blob || c->blob->n != 1)
        return TN_OK;
    tn_region *r = n->region[*(const unsigned char *)c->blob->at ? 0 : 1];
    if (tn_region_fails(r)) {
        const tn_fail_attr *a = r->result[0].def->attr;
        return tn_error(g->ctx, "transform-E001", n->loc,
                        "its condition is known, and the branch that it selects cannot run: %s", a->message);
    }
    for (uint32_t k = 0; k < n->nout; k++)
        if (tells_less(n->type[k], tn_value_type((tn_value){r->result[k].def, r->result[k].out})))
            return TN_OK;
    renaming s = {0, NULL, NULL};
    uint32_t dims = 0;
    for (int k = 0; k < n->nout; k++)
        dims += n->type[k]->n;
    s.from = TN_NEW_N(p->scratch, const tn_expr *, dims);
    s.to = TN_NEW_N(p->scratch, const tn_expr *, dims);
    collect(&s, n, r);
    while (r->first)
        tn_node_move(g, r->first, n->owner, n);
    for (uint16_t k = 0; k < n->nout; k++)
        tn_value_replace(g, (tn_value){n, k}, (tn_value){r->result[k].def, r->result[k].out});
    tn_node_remove(g, n);
    for (tn_function *f = s.n ? g->func : NULL; f; f = f->next)
        tn_relay_rename(g, f->body, s.n, s.from, s.to);
    p->changed = true;
    return TN_OK;
}
