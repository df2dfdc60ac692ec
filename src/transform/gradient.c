/* Gradient: @main has more results behind its own: the gradients of the sum of its first result's elements with respect
 * to each parameter that is a tensor of floats, in order. Result `y` and parameter `x` give the name `dy_dx`. */
#include "transform/pass.h"

#include "op/gradient.h"

static void name_results(tn_graph *g, uint32_t had, uint32_t n, const tn_value x[])
{
    if (g->n_result_name != had)
        return;
    const char **name = TN_NEW_N(g->arena, const char *, had + n);
    for (uint32_t i = 0; i < had + n; i++)
        name[i] = i < had ? g->result_name[i]
                          : tn_arena_printf(g->arena, "d%s_d%s", g->result_name[0], x[i - had].def->name);
    g->result_name = name;
    g->n_result_name = had + n;
}

tn_status tn_pass_Gradient(tn_pass *p, tn_graph *g)
{
    tn_function *main = tn_graph_function(g, "main");
    tn_region *r = main ? main->body : NULL;
    if (!r || !r->n_result)
        return TN_OK;
    uint32_t had = r->n_result, n = 0;
    tn_value *x = TN_NEW_N(p->scratch, tn_value, r->n_param),
             *all = TN_NEW_N(p->scratch, tn_value, had + r->n_param);
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        if (t->kind == TN_T_TENSOR && tn_dtype_is_float(t->dtype) && !tn_dtype_is_minifloat(t->dtype))
            x[n++] = tn_val(r->param[i]);
    }
    for (uint32_t i = 0; i < had; i++)
        all[i] = (tn_value){r->result[i].def, r->result[i].out};
    TN_TRY(tn_gradient_of(g, r, all[0], (int)n, x, all + had));
    tn_region_set_results(g, r, (int)(had + n), all);
    name_results(g, had, n, x);
    main->result_type = NULL;
    p->changed = true;
    return TN_OK;
}
