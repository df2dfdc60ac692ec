/* The table of graph passes and the way to run one. */
#include "transform/pass.h"

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

tn_status tn_pass_InferType(tn_pass *p, tn_graph *g)
{
    (void)p;
    return tn_relay_infer(g);
}
