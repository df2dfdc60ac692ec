/* FlushDenormals: products of bfloat16 may take denormal factors and sums as 0, as instructions for them do
 * (docs/numbers.md), where the user says so. An operator that has such instructions has the attribute
 * `flush_denormals`. O(n). */
#include "ir/attr.h"
#include "transform/pass.h"

#include <string.h>

static bool *flag_of(const tn_node *n)
{
    for (const tn_attr_field *f = n->op->attr; f && f->name; f++)
        if (f->kind == TN_A_BOOL && strcmp(f->name, "flush_denormals") == 0)
            return (bool *)((char *)n->attr + f->offset);
    return NULL;
}

static tn_status flush_in(tn_pass *p, tn_graph *g, tn_region *r)
{
    (void)g;
    for (tn_node *n = r->first; n; n = n->next) {
        bool *flag = flag_of(n);
        if (!flag || *flag || tn_in_type(n, 0)->dtype.code != TN_BFLOAT)
            continue;
        *flag = p->changed = true;
    }
    return TN_OK;
}

tn_status tn_pass_FlushDenormals(tn_pass *p, tn_graph *g)
{
    bool asked = p->options && tn_pass_config_int(p->options, TN_CONFIG_FLUSH_DENORMALS) != 0;
    return asked ? tn_pass_regions(p, g, flush_in) : TN_OK;
}
