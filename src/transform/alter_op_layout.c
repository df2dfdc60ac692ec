/* AlterOpLayout: values get the physical layouts their operators want.
 *
 * One walk in execution order. Each operator is asked, through its record's layout rule, what it takes and gives when
 * offered what its inputs have now; where an input has another layout a `relayout` is put before it.
 * Relayouts of one value are shared and never stack: a relayout of a relayout starts at the original.
 * What enters an `if`, a loop or a call, and every region's results, are row-major again. What relayouts constants is
 * folded afterwards, but for layouts with a fill, which is done at once.
 *
 * Where an anchor's rule gives layouts, and where another one's changes what its operands offer, the pick
 * `layout` chooses: what the rule says, what it would say of vectors of half or twice the width, or `plain`,
 * row-major. A choice is called after the layouts of operands and results, as `NCHW8c,OIHW8i8o:NCHW8c`, so
 * that it means the same on every machine.
 */
#include "transform/alter.h"

#include "op/core/core.h"

#include <string.h>

typedef struct {
    tn_value from;
    const tn_layout *layout;
    tn_value to;
} known;
typedef struct {
    tn_pass *p;
    tn_graph *g;
    tn_alter_ask *ask;
    bool chooses;
    tn_vec(known) made;
} alter;
typedef struct {
    const tn_layout **in, **out; /* nin, nout */
} layouts;

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

static layouts plain(const alter *a, const tn_node *n)
{
    return (layouts){TN_NEW_N(a->p->scratch, const tn_layout *, n->nin),
                     TN_NEW_N(a->p->scratch, const tn_layout *, n->nout)};
}

/* What n's rule says on this machine. */
static layouts ruled(const alter *a, const tn_node *n, const tn_machine *m)
{
    layouts x = plain(a, n);
    tn_layout_query q = {.g = a->g, .machine = m, .node = n, .in = x.in, .out = x.out};
    for (int i = 0; i < n->nin; i++)
        x.in[i] = layout_of(tn_in(n, i));
    if (!n->op->layout || !a->ask(a->p, n, &q))
        return plain(a, n);
    n->op->layout(&q);
    return x;
}

/* ---- choices ---- */

static bool same(const tn_node *n, const layouts *x, const layouts *y)
{
    return (!n->nin || memcmp(x->in, y->in, n->nin * sizeof *x->in) == 0) &&
           (!n->nout || memcmp(x->out, y->out, n->nout * sizeof *x->out) == 0);
}

/* Is there something to choose, or are they none, or what the operands offer, handed on? */
static bool is_choice(const tn_node *n, const layouts *x)
{
    const bool anchor = n->op->fuse == TN_FUSE_ANCHOR;
    bool offered = false, given = false;
    for (int i = 0; i < n->nin; i++) {
        const tn_layout *has = layout_of(tn_in(n, i));
        if (x->in[i] && (anchor || x->in[i] != has))
            return true;
        offered |= has != NULL;
    }
    for (int k = 0; k < n->nout; k++)
        given |= x->out[k] != NULL;
    return given && (anchor || !offered);
}

/* Without fills, whose `=` no map could hold. */
static const char *name_of(const alter *a, const tn_node *n, const layouts *x)
{
    const char *s = "";
    const layouts none = plain(a, n);
    if (same(n, x, &none))
        return "plain";
    for (int i = 0; i < n->nin + n->nout; i++) {
        const tn_layout *l = i < n->nin ? x->in[i] : x->out[i - n->nin];
        const char *text = l ? l->text : "plain";
        s = tn_arena_printf(a->p->picks->arena, "%s%s%.*s", s,
                            !i            ? ""
                            : i == n->nin ? ":"
                                          : ",",
                            (int)strcspn(text, "{"), text);
    }
    return s;
}

static void choose(alter *a, const tn_node *n, layouts *x)
{
    layouts way[4] = {*x};
    tn_choice name[4] = {{NULL, 0}};
    uint32_t k = 1, at;
    if (!a->p->picks || !is_choice(n, x))
        return;
    for (int i = 0; i < 3; i++) {
        tn_machine m = *a->p->machine;
        m.vector_bits = i ? m.vector_bits * 2 : m.vector_bits / 2;
        way[k] = i < 2 ? ruled(a, n, &m) : plain(a, n);
        bool fresh = true;
        for (uint32_t j = 0; j < k && fresh; j++)
            fresh = !same(n, &way[j], &way[k]);
        k += fresh;
    }
    for (uint32_t i = 0; i < k; i++)
        name[i] = (tn_choice){name_of(a, n, &way[i]), 0};
    tn_pass_pick(a->p, n, NULL, "layout", k, name, &at);
    *x = way[at];
}

static tn_status node(alter *a, tn_node *n)
{
    if (n->op->flags & TN_OP_RELAYOUT)
        return TN_OK;
    if (n->op->fuse == TN_FUSE_NONE) /* if, loop, calls: what enters and leaves a region is row-major */
        return take(a, n, plain(a, n).in);
    layouts x = ruled(a, n, a->p->machine);
    if (a->chooses)
        choose(a, n, &x);
    TN_TRY(take(a, n, x.in));
    for (int k = 0; k < n->nout; k++)
        if (n->type[k]->kind == TN_T_TENSOR)
            n->type[k] = tn_type_relayout(a->g->pool, n->type[k], x.out[k]);
    return TN_OK;
}

static tn_status region(tn_pass *p, tn_graph *g, tn_region *r, tn_alter_ask *ask, bool chooses)
{
    alter a = {.p = p, .g = g, .ask = ask, .chooses = chooses};
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
static tn_status regions(tn_pass *p, tn_graph *g, tn_region *r, tn_alter_ask *ask, bool chooses)
{
    TN_TRY(region(p, g, r, ask, chooses));
    for (tn_node *n = r->first; n; n = n->next) {
        if (n->op == &tn_op_fn && ((const tn_fn_attr *)n->attr)->Primitive)
            continue;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(regions(p, g, n->region[i], ask, chooses));
    }
    return TN_OK;
}

tn_status tn_alter_layouts(tn_pass *p, tn_graph *g, tn_alter_ask *ask, bool chooses)
{
    for (tn_function *f = g->func; f; f = f->next)
        TN_TRY(regions(p, g, f->body, ask, chooses));
    return TN_OK;
}

static bool everything(const tn_pass *p, const tn_node *n, tn_layout_query *q)
{
    (void)p;
    (void)n;
    (void)q;
    return true;
}

tn_status tn_pass_AlterOpLayout(tn_pass *p, tn_graph *g) { return tn_alter_layouts(p, g, everything, true); }
