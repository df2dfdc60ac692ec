/* ChooseAlgorithm: an operator with alternatives is replaced by the one of least predicted time among those
 * that apply and whose CPU features the machine has. An alternative without expansion is the record's own
 * definition. */
#include "transform/pass.h"

#include <math.h>
#include <string.h>

enum { MAX_OUT = 16 };

static bool has_features(const struct tn_machine *m, const char *list)
{
    char name[64];
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (n >= sizeof name)
            return false;
        memcpy(name, list, n);
        name[n] = 0;
        if (!tn_machine_has(m, name))
            return false;
        list += n + (list[n] == ',');
    }
    return true;
}

static const tn_alternative *choose(const tn_pass *p, const tn_node *n)
{
    const tn_alternative *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < n->op->n_alternative; i++) {
        const tn_alternative *a = &n->op->alternative[i];
        if ((a->applies && !a->applies(n, p->machine)) || !has_features(p->machine, a->features))
            continue;
        double t = a->cost ? a->cost(n, p->machine) : 0;
        if (t < least) {
            least = t;
            best = a;
        }
    }
    return best;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        next = n->next;
        const tn_alternative *a = choose(p, n);
        if (!a || !a->expand)
            continue;
        tn_value out[MAX_OUT] = {{0}};
        TN_ASSERT(n->nout <= MAX_OUT);
        TN_TRY(a->expand(g, n, out));
        tn_pass_replace(p, g, n, out);
    }
    return TN_OK;
}

tn_status tn_pass_ChooseAlgorithm(tn_pass *p, tn_graph *g) { return tn_pass_regions(p, g, region); }
