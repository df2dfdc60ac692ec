/* Type inference of a module: each node once, in order, inner regions before the node that holds them. */
#include "relay/limits.h"
#include "relay/relay.h"

enum { MAX_REPORTS = 20 };

typedef struct inferrer {
    tn_graph *g;
    size_t n_fail, n_untyped;
} inferrer;

static bool enough(const inferrer *f) { return f->n_fail >= MAX_REPORTS; }

/* A node whose inputs could not be typed is not reported again. */
static bool inputs_typed(const tn_node *n)
{
    for (int i = 0; i < n->nin; i++) {
        tn_value v = tn_in(n, i);
        if (v.def && !tn_value_type(v))
            return false;
    }
    return true;
}

static bool results_typed(const tn_node *n)
{
    for (int i = 0; i < n->nregion; i++) {
        const tn_region *r = n->region[i];
        for (uint32_t k = 0; k < r->n_result; k++)
            if (!r->result[k].def || !tn_value_type((tn_value){r->result[k].def, r->result[k].out}))
                return false;
    }
    return true;
}

static void infer_region(inferrer *f, tn_region *r, int depth)
{
    if (depth > TN_RELAY_MAX_NEST) {
        f->n_fail++;
        (void)tn_error(f->g->ctx, "relay-E107", r->holder ? r->holder->loc : NULL,
                       "closures are nested more than %d deep", TN_RELAY_MAX_NEST);
        return;
    }
    for (tn_node *n = r->first, *next; n && !enough(f); n = next) {
        next = n->next;
        for (int i = 0; i < n->nregion; i++)
            infer_region(f, n->region[i], depth + 1);
        bool ready = inputs_typed(n) && results_typed(n), typed = ready && tn_infer_node(f->g, n) == TN_OK;
        f->n_fail += ready && !typed;
        if (!typed) {
            f->n_untyped++;
            for (int k = 0; k < n->nout && !tn_op_is(n, &tn_op_var) && !tn_op_is(n, &tn_op_constant); k++)
                n->type[k] = NULL;
        }
    }
}

tn_status tn_relay_infer(tn_graph *g)
{
    inferrer f = {.g = g};
    for (tn_function *fn = g->func; fn && !enough(&f); fn = fn->next)
        infer_region(&f, fn->body, 0);
    return f.n_fail || f.n_untyped ? TN_FAIL : TN_OK;
}
