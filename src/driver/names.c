/* Names of inputs, outputs and constants, after a model was read: each input and each output has one, no two inputs
 * share one and no two outputs do, and constants stay clear of all of them. What a model calls something is kept where
 * that is possible; the rest gets a suffix. */
#include "driver/driver.h"

#include <string.h>

static bool is_taken(tn_strmap *taken, const char *name)
{
    uint64_t at;
    return tn_strmap_get(taken, name, strlen(name), &at);
}

/* name[i] NULL or "": it gets one. The first of several keeps its name. */
static void settle(tn_build *b, uint32_t n, const char **name, const char *what)
{
    tn_strmap taken = {0}, wanted = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (!name[i] || !*name[i])
            name[i] = tn_arena_printf(&b->arena, "%s_%u", what, i);
        tn_strmap_put(&wanted, name[i], strlen(name[i]), i);
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *x = name[i];
        for (int k = 2; is_taken(&taken, x) || (x != name[i] && is_taken(&wanted, x)); k++)
            x = tn_arena_printf(&b->arena, "%s_%d", name[i], k);
        name[i] = tn_intern(b->ctx, x);
        tn_strmap_put(&taken, name[i], strlen(name[i]), i);
    }
    tn_strmap_deinit(&taken);
    tn_strmap_deinit(&wanted);
}

void tn_names_find(tn_build *b, const char ***out_input, const char ***out_output)
{
    tn_graph *g = &b->graph;
    tn_region *r = tn_graph_function(g, "main")->body;
    const char **in = *out_input = TN_NEW_N(&b->arena, const char *, r->n_param),
               **out = *out_output = TN_NEW_N(&b->arena, const char *, r->n_result);
    for (uint32_t i = 0; i < r->n_param; i++)
        in[i] = r->param[i]->name;
    for (uint32_t i = 0; i < r->n_result && g->n_result_name == r->n_result; i++)
        out[i] = g->result_name[i];
    settle(b, r->n_param, in, "input");
    settle(b, r->n_result, out, "output");
}

void tn_names_settle(tn_build *b)
{
    tn_graph *g = &b->graph;
    tn_region *r = tn_graph_function(g, "main")->body;
    const char **in;
    tn_names_find(b, &in, &b->output_name);
    for (uint32_t i = 0; i < r->n_param; i++)
        r->param[i]->name = in[i];
    g->n_result_name = g->n_result_name == r->n_result ? r->n_result : 0;
}

const char *tn_constant_prefix(tn_build *b)
{
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    const char *prefix = "p";
    for (uint32_t i = 0; i < r->n_param; i++) {
        const char *name = r->param[i]->name;
        size_t n = strlen(prefix);
        if (strncmp(name, prefix, n) == 0 && name[n] && !name[n + strspn(name + n, "0123456789")]) {
            prefix = tn_arena_printf(&b->arena, "_%s", prefix);
            i = UINT32_MAX; /* from the beginning */
        }
    }
    return prefix;
}
