/* Where a value may have a layout other than the plain one. The verifier asks, and so does the reader of text, which
 * refuses what breaks these rules. */
#include "op/core/core.h"
#include "relay/relay.h"

enum { MAX_REPORTS = 20 };

static size_t fail(const tn_graph *g, const tn_node *n, const char *text)
{
    (void)tn_error(g->ctx, "relay-E108", n->loc, "%s (%s)", text, n->op->name);
    return 1;
}

static const tn_layout *layout_of(const tn_type *t) { return t && t->kind == TN_T_TENSOR ? t->layout : NULL; }

static bool layouts_equal(const tn_type *a, const tn_type *b)
{
    bool fields = a && b && a->kind == b->kind && a->kind != TN_T_TENSOR && a->n == b->n;
    for (int i = 0; fields && i < a->n; i++)
        if (!layouts_equal(a->field[i], b->field[i]))
            return false;
    return layout_of(a) == layout_of(b);
}

static bool has_layout(const tn_type *t)
{
    for (int i = 0; t && t->kind == TN_T_TUPLE && i < t->n; i++)
        if (has_layout(t->field[i]))
            return true;
    return layout_of(t);
}

static size_t check_call(const tn_graph *g, const tn_node *n)
{
    size_t bad = 0;
    const tn_type *f = n->nin && n->in[0].def ? tn_in_type(n, 0) : NULL;
    if (!f || f->kind != TN_T_FUNC || f->n != n->nin)
        return 0; /* inference reports it */
    for (int i = 1; i < n->nin; i++)
        if (!layouts_equal(tn_in_type(n, i), f->field[i - 1]))
            bad += fail(g, n, "an argument and its parameter have different layouts");
    const tn_type *r = f->field[f->n - 1];
    for (int k = 0; k < n->nout; k++) {
        const tn_type *want = n->nout == 1 ? r : r->kind == TN_T_TUPLE && k < r->n ? r->field[k] : NULL;
        if (!layouts_equal(n->type[k], want))
            bad += fail(g, n, "a result and the function's type have different layouts");
    }
    return bad;
}

static bool is_result(const tn_region *r, const tn_node *n, int k)
{
    for (uint32_t i = 0; i < r->n_result; i++)
        if (r->result[i].def == n && r->result[i].out == (uint32_t)k)
            return true;
    return false;
}

/* Inside a group only results have a layout. */
static size_t check_group(const tn_graph *g, const tn_region *r)
{
    size_t bad = 0;
    for (const tn_node *n = r->first; n; n = n->next)
        for (int k = 0; k < n->nout && !tn_op_is(n, &tn_op_var); k++)
            if (has_layout(n->type[k]) && !is_result(r, n, k))
                bad += fail(g, n, "a value inside a group has a layout");
    return bad;
}

/* Parameters and results of functions and of the regions of control flow are row-major. */
static size_t check_boundary(const tn_graph *g, const tn_region *r)
{
    size_t bad = 0;
    for (uint32_t i = 0; i < r->n_param; i++)
        if (has_layout(r->param[i]->type[0]))
            bad += fail(g, r->param[i], "a parameter of a function or a region has a layout");
    for (uint32_t i = 0; i < r->n_result; i++)
        if (has_layout(r->result[i].def->type[r->result[i].out]))
            bad += fail(g, r->result[i].def,
                        "a result of a function or a region has a layout; `relayout` it to the plain one");
    return bad;
}

/* closure: its parameters and results have the layouts of its type, which its calls are checked for */
static size_t check_region(const tn_graph *g, const tn_region *r, bool closure)
{
    size_t bad = closure ? 0 : check_boundary(g, r);
    for (const tn_node *n = r->first; n && bad < MAX_REPORTS; n = n->next) {
        bool fn = tn_op_is(n, &tn_op_fn);
        if (tn_op_is(n, &tn_op_call))
            bad += check_call(g, n);
        if (fn && ((const tn_fn_attr *)n->attr)->Primitive)
            bad += check_group(g, n->region[0]);
        for (int i = 0; i < n->nregion; i++)
            bad += check_region(g, n->region[i], fn);
    }
    return bad;
}

tn_status tn_relay_check_layouts(const tn_graph *g)
{
    size_t bad = 0;
    for (const tn_function *f = g->func; f && bad < MAX_REPORTS; f = f->next)
        bad += check_region(g, f->body, false);
    return bad ? TN_FAIL : TN_OK;
}
