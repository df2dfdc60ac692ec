/* ChooseAlgorithm: an operator is replaced by the first of its alternatives that applies on this machine and pays, or
 * as the pick `algorithm` of its node says: by another one that applies, or (`direct`) by none. */
#include "transform/pass.h"

enum { MAX_OUT = 16, MAX_WAYS = 8 };

enum { PAYS, DIRECT, LOSES, N_TURNS };

/* NULL: it stays as it is. */
static const tn_alternative *choose(tn_pass *p, const tn_node *n)
{
    const tn_op *op = n->op;
    const tn_alternative *way[MAX_WAYS] = {NULL};
    bool applies[MAX_WAYS], pays[MAX_WAYS], any = false;
    tn_choice name[MAX_WAYS];
    uint32_t k = 0, at;
    TN_ASSERT(op->n_alternative < MAX_WAYS);
    for (int i = 0; i < op->n_alternative; i++) {
        const tn_alternative *a = &op->alternative[i];
        applies[i] = a->applies(n, p->machine);
        pays[i] = applies[i] && (!a->pays || a->pays(n, p->machine));
        any |= applies[i];
    }
    if (!any)
        return NULL;
    for (int turn = PAYS; turn < N_TURNS; turn++) {
        if (turn == DIRECT)
            name[k++] = (tn_choice){"direct", 0};
        for (int i = 0; i < op->n_alternative && turn != DIRECT; i++)
            if (applies[i] && pays[i] == (turn == PAYS)) {
                way[k] = &op->alternative[i];
                name[k++] = (tn_choice){op->alternative[i].name, 0};
            }
    }
    tn_pass_pick(p, n, NULL, "algorithm", k, name, &at);
    return way[at];
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
