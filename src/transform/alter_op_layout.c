/* AlterOpLayout: values get the physical layouts their operators want.
 *
 * One walk in execution order. Each operator is asked, through its record's layout rule, what it takes and gives when
 * offered what its inputs have now; where an input has another layout a `relayout` is put before it.
 * Relayouts of one value are shared and never stack: a relayout of a relayout starts at the original.
 * What enters an `if`, a loop or a call, and every region's results, are row-major again. What relayouts constants is
 * folded afterwards, but for layouts with a fill, which is done at once.
 */
#include "transform/alter.h"

#include "op/core/core.h"

typedef struct {
    tn_value from;
    const tn_layout *layout;
    tn_value to;
} known;
typedef struct {
    tn_pass *p;
    tn_graph *g;
    tn_alter_ask *ask;
    tn_vec(known) made;
} alter;

static const tn_layout *layout_of(tn_value v)
{
    const tn_type *t = tn_value_type(v);
    return t && t->kind == TN_T_TENSOR ? t->layout : NULL;
}

/* A layout with a fill is a constant's, laid out here: no kernel has to write what fills it. */
static tn_status lay_out(alter *a, tn_node *n, const char *name, tn_value *out)
{
    tn_tensor_value v[1] = {0};
    TN_TRY(tn_relay_eval_node(a->g, n, v, a->p->eval, a->p->eval_user));
    tn_node *c = tn_relay_constant(a->g, n->owner, n, n->type[0], v, name);
    c->loc = n->loc;
    tn_node_remove(a->g, n);
    *out = tn_val(c);
    return TN_OK;
}

static tn_status relayout(alter *a, tn_value v, const tn_layout *want, tn_region *r, tn_node *before,
                          tn_value *out)
{
    *out = v;
    if (layout_of(v) == want)
        return TN_OK;
    if (v.def->op->flags & TN_OP_RELAYOUT)
        v = tn_in(v.def, 0);
    *out = v;
    if (layout_of(v) == want)
        return TN_OK;
    for (size_t i = 0; i < a->made.n; i++)
        if (tn_value_eq(a->made.at[i].from, v) && a->made.at[i].layout == want) {
            *out = a->made.at[i].to;
            return TN_OK;
        }
    tn_relayout_attr attr = {want ? want->text : NULL};
    tn_node *n = tn_make_call(a->g, r, before, &tn_op_relayout, 1, &v, &attr, v.def->loc);
    if (!n)
        return TN_FAIL;
    *out = tn_val(n);
    if (want && want->fill == TN_FILL_VALUE)
        TN_TRY(lay_out(a, n, v.def->name, out));
    tn_vec_push(&a->made, ((known){v, want, *out}));
    a->p->changed = true;
    return TN_OK;
}

/* n reads its operands in these layouts. */
static tn_status take(alter *a, tn_node *n, const tn_layout *const in[])
{
    for (int i = 0; i < n->nin; i++) {
        tn_value v = tn_in(n, i), to;
        if (!v.def)
            continue;
        TN_TRY(relayout(a, v, in[i], n->owner, n, &to));
        if (!tn_value_eq(v, to))
            tn_use_set(a->g, &n->in[i], to);
    }
    return TN_OK;
}

static tn_status node(alter *a, tn_node *n)
{
    if (n->op->flags & TN_OP_RELAYOUT)
        return TN_OK;
    const tn_layout **in = TN_NEW_N(a->p->scratch, const tn_layout *, n->nin),
                    **out = TN_NEW_N(a->p->scratch, const tn_layout *, n->nout);
    tn_layout_query q = {.g = a->g, .machine = a->p->machine, .node = n, .in = in, .out = out};
    if (n->op->fuse == TN_FUSE_NONE) /* if, loop, calls: what enters and leaves a region is row-major */
        return take(a, n, in);
    for (int i = 0; i < n->nin; i++)
        in[i] = layout_of(tn_in(n, i));
    if (n->op->layout && a->ask(a->p, n, &q))
        n->op->layout(&q);
    else
        for (int i = 0; i < n->nin; i++)
            in[i] = NULL;
    TN_TRY(take(a, n, in));
    for (int k = 0; k < n->nout; k++)
        if (n->type[k]->kind == TN_T_TENSOR)
            n->type[k] = tn_type_relayout(a->g->pool, n->type[k], out[k]);
    return TN_OK;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r, tn_alter_ask *ask)
{
    alter a = {.p = p, .g = g, .ask = ask};
    tn_status s = TN_OK;
    for (tn_node *n = r->first; n && s == TN_OK; n = n->next)
        s = node(&a, n);
    for (uint32_t i = 0; i < r->n_result && s == TN_OK; i++) {
        tn_value v = {r->result[i].def, r->result[i].out}, to;
        if (!v.def)
            continue;
        s = relayout(&a, v, NULL, r, NULL, &to);
        if (s == TN_OK && !tn_value_eq(v, to))
            tn_use_set(g, &r->result[i], to);
    }
    tn_vec_deinit(&a.made);
    return s;
}

/* Inner regions follow: they relay outer values where they read them. */
static tn_status regions(tn_pass *p, tn_graph *g, tn_region *r, tn_alter_ask *ask)
{
    TN_TRY(region(p, g, r, ask));
    for (tn_node *n = r->first; n; n = n->next) {
        if (n->op == &tn_op_fn && ((const tn_fn_attr *)n->attr)->Primitive)
            continue;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(regions(p, g, n->region[i], ask));
    }
    return TN_OK;
}

tn_status tn_alter_layouts(tn_pass *p, tn_graph *g, tn_alter_ask *ask)
{
    for (tn_function *f = g->func; f; f = f->next)
        TN_TRY(regions(p, g, f->body, ask));
    return TN_OK;
}

static bool everything(const tn_pass *p, const tn_node *n, tn_layout_query *q)
{
    (void)p;
    (void)n;
    (void)q;
    return true;
}

tn_status tn_pass_AlterOpLayout(tn_pass *p, tn_graph *g) { return tn_alter_layouts(p, g, everything); }
