/* The table of graph passes and the way to run one. */
#include "transform/pass.h"

#include "op/core/core.h"

#include <string.h>

const tn_pass_info tn_passes[] = {
#define PASS(name, level, doc) {#name, level, tn_pass_##name, doc},
#include "transform/passes.def"
#undef PASS
};
const size_t tn_n_passes = sizeof tn_passes / sizeof *tn_passes;

const tn_pass_info *tn_pass_find(const char *name)
{
    for (size_t i = 0; i < tn_n_passes; i++)
        if (strcmp(tn_passes[i].name, name) == 0)
            return &tn_passes[i];
    return NULL;
}

tn_status tn_pass_run(tn_pass *p, const tn_pass_info *pass, tn_graph *g)
{
    p->changed = false;
    tn_status s = pass->run(p, g);
    tn_arena_reset(p->scratch);
#ifdef TN_DEBUG
    if (s == TN_OK)
        s = tn_relay_verify(g);
#endif
    return s;
}

/* ---- what passes share ---- */

static tn_status each_region(tn_pass *p, tn_graph *g, tn_region *r, tn_region_fn *fn)
{
    TN_TRY(fn(p, g, r));
    for (tn_node *n = r->first; n; n = n->next) {
        if (n->op == &tn_op_fn && ((const tn_fn_attr *)n->attr)->Primitive)
            continue;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(each_region(p, g, n->region[i], fn));
    }
    return TN_OK;
}

tn_status tn_pass_regions(tn_pass *p, tn_graph *g, tn_region_fn *fn)
{
    for (tn_function *f = g->func; f; f = f->next)
        TN_TRY(each_region(p, g, f->body, fn));
    return TN_OK;
}

void tn_pass_replace(tn_pass *p, tn_graph *g, tn_node *n, const tn_value out[])
{
    for (uint16_t k = 0; k < n->nout; k++)
        tn_value_replace(g, (tn_value){n, k}, out[k]);
    tn_node_remove(g, n);
    p->changed = true;
}

void tn_pass_out_dtype(const tn_op *op, void *attr, tn_dtype t)
{
    for (const tn_attr_field *f = op->attr; f && f->name; f++)
        if (f->kind == TN_A_DTYPE && strcmp(f->name, "out_dtype") == 0)
            memcpy((char *)attr + f->offset, &t, sizeof t);
}

tn_status tn_pass_InferType(tn_pass *p, tn_graph *g)
{
    (void)p;
    return tn_relay_infer(g);
}
