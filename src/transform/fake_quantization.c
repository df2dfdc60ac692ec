/* FakeQuantizationToInteger: islands of real arithmetic between dequantised inputs and quantised outputs are computed
 * on the integers.
 *
 * One walk in execution order: a node over dequantised operands is replaced by its integer form, which ends in a
 * dequantisation again, so that the next node can follow; at a quantisation the two meet and become one change of
 * scale, or nothing. Where no form exists the dequantised value is used as before. What is left over is dead code.
 */
#include "transform/pass.h"

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        tn_value form;
        next = n->next;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(region(p, g, n->region[i]));
        if (n->nout != 1 || n->op->fuse == TN_FUSE_NONE || !n->users[0])
            continue;
        TN_TRY(tn_integer_form(g, n, &form));
        if (!form.def)
            continue;
        tn_value_replace(g, tn_val(n), form);
        tn_node_remove(g, n);
        p->changed = true;
    }
    return TN_OK;
}

tn_status tn_pass_FakeQuantizationToInteger(tn_pass *p, tn_graph *g)
{
    for (tn_function *f = g->func; f; f = f->next)
        TN_TRY(region(p, g, f->body));
    return TN_OK;
}
