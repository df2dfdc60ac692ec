/* An input with an extent of 0 whose symbol begins at 1, as a package takes it (docs/abi.md, "Symbols"): nothing is
 * evaluated, because types hold within the ranges alone. The results are empty, of the extents that their types say; if
 * one of them would not be, the input is refused. */
#include "relay/interp.h"

#include <string.h>

/* The first extent of a parameter that is 0 and out of range; NULL: there is none. */
static const tn_node *find_empty(const interp *p, const tn_region *r, const tn_tensor_value in[],
                                 const char **out)
{
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        for (int d = 0; t->kind == TN_T_TENSOR && d < t->n && d < in[i].ndim; d++) {
            const tn_symbol_info *s =
                t->dim[d]->kind == TN_E_SYM ? tn_graph_find_symbol(p->g, t->dim[d]->u.s) : NULL;
            if (s && s->min > 0 && in[i].dim[d] == 0) {
                *out = s->name;
                return r->param[i];
            }
        }
    }
    return NULL;
}

/* Depth: that of regions. */
static bool calls_host(const tn_region *r)
{
    bool calls = false;
    for (const tn_node *n = r->first; n && !calls; n = n->next) {
        calls = n->op->host;
        for (uint32_t i = 0; i < n->nregion && !calls; i++)
            calls = calls_host(n->region[i]);
    }
    return calls;
}

/* A run without evaluation would not do that. */
static bool changes_things(const interp *p)
{
    bool changes = p->g->state.n > 0;
    for (const tn_function *f = p->g->func; f && !changes; f = f->next)
        changes = calls_host(f->body);
    return changes;
}

/* Symbols of the parameters, whatever their ranges. */
static void bind_all(interp *p, const tn_region *r, const tn_tensor_value in[])
{
    int64_t had;
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        for (int d = 0; t->kind == TN_T_TENSOR && d < t->n && d < in[i].ndim; d++)
            if (t->dim[d]->kind == TN_E_SYM && !interp_symbol(p, t->dim[d]->u.s, &had))
                tn_vec_push(&p->f.sym, ((binding){t->dim[d]->u.s, in[i].dim[d]}));
    }
}

typedef struct known {
    const interp *p;
    bool all;
} known;

static bool is_known(const tn_expr *e, void *user)
{
    known *k = user;
    int64_t v;
    k->all = k->all && (e->kind != TN_E_SYM || interp_symbol(k->p, e->u.s, &v));
    return k->all;
}

static tn_status empty_result(interp *p, const tn_node *at, const char *symbol, uint32_t i, const tn_type *t,
                              tn_tensor_value *out)
{
    size_t bytes = 1;
    known k = {p, t && t->kind == TN_T_TENSOR && !tn_type_is_handle(t) && t->n <= TN_RELAY_MAX_RANK};
    for (int d = 0; k.all && d < t->n; d++)
        tn_each(t->dim[d], is_known, &k);
    if (k.all)
        TN_TRY(interp_type(p, t, at, out->dim, &bytes));
    if (bytes)
        return tn_error(p->g->ctx, "relay-E203", interp_where(at),
                        "%s is 0, and result %u %s: at least 1 is needed", symbol, (unsigned)i,
                        k.all ? "would not be empty" : "has a shape that depends on data");
    out->dtype = t->dtype;
    out->ndim = t->n;
    out->at = tn_tensor_value_memory(0);
    return out->at ? TN_OK : interp_no_memory(p, at);
}

tn_status interp_empty(interp *p, const tn_region *r, const tn_tensor_value in[], int n_out,
                       tn_tensor_value out[], bool *out_done)
{
    const char *symbol = NULL;
    const tn_node *at = find_empty(p, r, in, &symbol);
    *out_done = at && (uint32_t)n_out == r->n_result && !changes_things(p);
    if (!*out_done)
        return TN_OK;
    bind_all(p, r, in);
    for (uint32_t i = 0; i < r->n_param; i++) {
        value v = {.kind = VALUE_TENSOR, .t = in[i]};
        if (r->param[i]->type[0]->kind == TN_T_TENSOR)
            TN_TRY(interp_check_param(p, r->param[i], &v));
    }
    for (uint32_t i = 0; i < r->n_result; i++)
        TN_TRY(empty_result(p, at, symbol, i, tn_value_type((tn_value){r->result[i].def, r->result[i].out}),
                            &out[i]));
    return TN_OK;
}
