/* tenon_module_inspect: what is in a module, as arrays that live until the module changes. */
#include "driver/api.h"

#include <stdlib.h>
#include <string.h>

static const char *type_text(tn_arena *a, const tn_type *t)
{
    tn_buf text = {0};
    if (t)
        tn_type_print(t, &text);
    const char *s = tn_arena_strdup(a, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

static const char *extent_text(tn_arena *a, const tn_expr *e)
{
    tn_buf text = {0};
    tn_expr_print(e, NULL, &text);
    const char *s = tn_arena_strdup(a, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

static tenon_value_info value_info(tn_arena *a, const char *name, const tn_type *t)
{
    tenon_value_info v = {.name = name, .type = type_text(a, t)};
    if (!t || t->kind != TN_T_TENSOR)
        return v;
    int64_t *shape = TN_NEW_N(a, int64_t, t->n);
    const char **extent = TN_NEW_N(a, const char *, t->n);
    for (int d = 0; d < t->n; d++) {
        if (!tn_is_int(t->dim[d], &shape[d]))
            shape[d] = -1;
        extent[d] = extent_text(a, t->dim[d]);
    }
    v.dtype = (DLDataType){t->dtype.code, t->dtype.bits, 1};
    v.ndim = t->n;
    v.shape = shape;
    v.extent = extent;
    return v;
}

/* Its states are neither inputs nor outputs. */
static bool is_state(const tn_graph *g, bool result, uint32_t i)
{
    for (size_t k = 0; k < g->state.n; k++)
        if (i == (result ? g->state.at[k].result : g->state.at[k].param))
            return true;
    return false;
}

static void see_values(tenon_module *m, const tn_region *r)
{
    const tn_graph *g = &m->build.graph;
    tenon_module_info *x = &m->info;
    tenon_value_info *in = TN_NEW_N(&m->seen, tenon_value_info, r->n_param),
                     *out = TN_NEW_N(&m->seen, tenon_value_info, r->n_result);
    const char **input, **output;
    tn_names_find(&m->build, &input, &output);
    for (uint32_t i = 0; i < r->n_param; i++)
        if (!is_state(g, false, i))
            in[x->n_input++] = value_info(&m->seen, input[i], r->param[i]->type[0]);
    for (uint32_t i = 0; i < r->n_result; i++)
        if (!is_state(g, true, i))
            out[x->n_output++] = value_info(&m->seen, output[i],
                                            tn_value_type((tn_value){r->result[i].def, r->result[i].out}));
    x->input = in;
    x->output = out;
}

/* ---- operators ---- */

typedef struct counter {
    tn_map calls; /* operator -> number */
    tn_vec(const tn_region *) todo;
    uint32_t n_node;
} counter;

static void count_nodes(counter *c, const tn_region *body)
{
    tn_vec_push(&c->todo, body);
    c->n_node = 0;
    while (c->todo.n) {
        const tn_region *r = tn_vec_pop(&c->todo);
        for (const tn_node *n = r->first; n; n = n->next) {
            uint64_t had = 0;
            if (n->op == &tn_op_var || n->op == &tn_op_constant)
                continue;
            (void)tn_map_get(&c->calls, tn_map_key(n->op), &had);
            tn_map_put(&c->calls, tn_map_key(n->op), had + 1);
            c->n_node++;
            for (int i = 0; i < n->nregion; i++)
                tn_vec_push(&c->todo, n->region[i]);
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tenon_operator_info *)a)->name, ((const tenon_operator_info *)b)->name);
}

static void see_operators(tenon_module *m, const counter *c)
{
    uint32_t n = 0;
    tenon_operator_info *op = TN_NEW_N(&m->seen, tenon_operator_info, c->calls.n);
    for (size_t i = 0; i < tn_ops_count(); i++) {
        uint64_t calls = 0;
        if (tn_map_get(&c->calls, tn_map_key(tn_ops_at(i)), &calls))
            op[n++] = (tenon_operator_info){tn_ops_at(i)->name, (uint32_t)calls};
    }
    qsort(op, n, sizeof *op, by_name);
    m->info.n_operator = n;
    m->info.op = op;
}

/* ---- the rest ---- */

static void see_functions(tenon_module *m)
{
    counter c = {0};
    uint32_t n = 0;
    for (const tn_function *f = m->build.graph.func; f; f = f->next)
        n++;
    tenon_function_info *all = TN_NEW_N(&m->seen, tenon_function_info, n);
    m->info.n_function = n;
    m->info.function = all;
    for (const tn_function *f = m->build.graph.func; f; f = f->next) {
        count_nodes(&c, f->body);
        *all++ = (tenon_function_info){f->name, f->body->n_param, f->body->n_result, c.n_node};
    }
    see_operators(m, &c);
    tn_vec_deinit(&c.todo);
    tn_map_deinit(&c.calls);
}

static const tenon_constructor_info *constructors(tn_arena *a, const tn_data *d)
{
    tenon_constructor_info *all = TN_NEW_N(a, tenon_constructor_info, d->n_constructor);
    for (uint32_t i = 0; i < d->n_constructor; i++) {
        const tn_constructor *c = &d->constructor[i];
        const char **field = TN_NEW_N(a, const char *, c->n_field);
        for (uint32_t k = 0; k < c->n_field; k++)
            field[k] = type_text(a, c->field[k]);
        all[i] = (tenon_constructor_info){c->name, c->n_field, field};
    }
    return all;
}

static void see_data(tenon_module *m)
{
    uint32_t n = 0;
    for (const tn_data *d = m->build.graph.data; d; d = d->next)
        n++;
    tenon_data_info *all = TN_NEW_N(&m->seen, tenon_data_info, n);
    m->info.n_data = n;
    m->info.data = all;
    for (const tn_data *d = m->build.graph.data; d; d = d->next)
        *all++ =
            (tenon_data_info){d->name, d->n_param, d->n_constructor, constructors(&m->seen, d), d->known};
}

static void see_module(tenon_module *m)
{
    const tn_graph *g = &m->build.graph;
    tnr_symbol_info *symbol = TN_NEW_N(&m->seen, tnr_symbol_info, g->n_symbol);
    tenon_metadata_info *metadata = TN_NEW_N(&m->seen, tenon_metadata_info, g->metadata.n);
    for (uint32_t i = 0; i < g->n_symbol; i++)
        symbol[i] = (tnr_symbol_info){g->symbol[i].name, g->symbol[i].min, g->symbol[i].max};
    for (size_t i = 0; i < g->metadata.n; i++)
        metadata[i] = (tenon_metadata_info){g->metadata.at[i].key, g->metadata.at[i].value};
    m->info.n_symbol = g->n_symbol;
    m->info.symbol = symbol;
    m->info.n_metadata = (uint32_t)g->metadata.n;
    m->info.metadata = metadata;
}

/* Of TIR there are the functions alone. */
static void see_tir(tenon_module *m)
{
    size_t n = tn_tir_text_count(m->tir);
    tenon_function_info *all = TN_NEW_N(&m->seen, tenon_function_info, n);
    for (size_t i = 0; i < n; i++) {
        const tn_func *f = tn_tir_text_at(m->tir, i);
        all[i].name = f->name;
        for (uint32_t k = 0; k < f->n_param; k++)
            *(f->buffer[f->param[k]].written ? &all[i].n_result : &all[i].n_param) += 1;
    }
    m->info.n_function = (uint32_t)n;
    m->info.function = all;
}

static tn_status inspect(tn_object *x, void *user)
{
    tenon_module *m = (tenon_module *)x;
    const tn_function *main = tn_graph_function(&m->build.graph, "main");
    (void)user;
    tn_arena_reset(&m->seen);
    m->info = (tenon_module_info){0};
    m->info.is_tir = m->tir != NULL;
    if (m->tir) {
        see_tir(m);
        return TN_OK;
    }
    if (main)
        see_values(m, main->body);
    see_functions(m);
    see_data(m);
    see_module(m);
    return TN_OK;
}

const tenon_module_info *tenon_module_inspect(tenon_module *m)
{
    return tn_object_change(m ? &m->object : NULL, NULL, inspect, NULL) ? NULL : &m->info;
}
