/* Symbols that turn out to be other extents: replaced in the types and attributes of a region. Linear in its nodes. */
#include "relay/relay.h"

#include "op/control/control.h"

typedef struct {
    tn_graph *g;
    uint32_t n;
    const tn_expr *const *from, *const *to;
} renaming;

static const tn_expr *renamed(const renaming *s, const tn_expr *e)
{
    return tn_simplify_extent(s->g, tn_subst(s->g->pool, e, (int)s->n, s->from, s->to));
}

static const tn_type *renamed_type(const renaming *s, const tn_type *t)
{
    if (!t || (t->kind != TN_T_TENSOR && t->kind != TN_T_TUPLE)) /* others have no symbols */
        return t;
    if (t->kind == TN_T_TUPLE) {
        const tn_type **field = TN_NEW_N(s->g->arena, const tn_type *, t->n);
        for (int i = 0; i < t->n; i++) /* depth: that of types, bounded by who made them */
            field[i] = renamed_type(s, t->field[i]);
        return tn_type_tuple(s->g->pool, t->n, field);
    }
    const tn_expr **dim = TN_NEW_N(s->g->arena, const tn_expr *, t->n);
    for (int d = 0; d < t->n; d++)
        dim[d] = renamed(s, t->dim[d]);
    return tn_type_tensor(s->g->pool, t->dtype, t->n, dim, t->layout);
}

static void rename_node(const renaming *s, tn_node *n)
{
    char *attr = NULL;
    for (int k = 0; k < n->nout; k++)
        n->type[k] = renamed_type(s, n->type[k]);
    for (const tn_attr_field *f = n->attr ? n->op->attr : NULL; f && f->name; f++) {
        if (f->kind != TN_A_DIMS)
            continue;
        if (!attr)
            n->attr = attr = tn_arena_copy(s->g->arena, n->attr, n->op->attr_size, 16);
        tn_dims *d = (tn_dims *)(void *)(attr + f->offset);
        const tn_expr **at = TN_NEW_N(s->g->arena, const tn_expr *, d->n);
        for (uint32_t i = 0; i < d->n; i++)
            at[i] = renamed(s, d->at[i]);
        d->at = d->n ? at : d->at;
    }
}

static void rename_region(const renaming *s, tn_region *r)
{
    for (tn_node *n = r->first; n; n = n->next) {
        rename_node(s, n);
        for (int i = 0; i < n->nregion; i++) /* depth: bounded by the readers */
            rename_region(s, n->region[i]);
    }
}

void tn_relay_rename(tn_graph *g, tn_region *r, uint32_t n, const tn_expr *const from[],
                     const tn_expr *const to[])
{
    rename_region(&(renaming){g, n, from, to}, r);
}

/* What has been found so far. */
static renaming found(tn_graph *g)
{
    uint32_t n = 0;
    const tn_expr **from = TN_NEW_N(g->arena, const tn_expr *, g->n_symbol),
                  **to = TN_NEW_N(g->arena, const tn_expr *, g->n_symbol);
    for (uint32_t i = 0; i < g->n_symbol; i++) {
        if (g->symbol[i].is) {
            from[n] = tn_sym(g->pool, g->symbol[i].name);
            to[n++] = g->symbol[i].is;
        }
    }
    return (renaming){g, n, from, to};
}

const tn_type *tn_relay_settled(tn_graph *g, const tn_type *t)
{
    renaming s = found(g);
    return s.n ? renamed_type(&s, t) : t;
}

/* The model's input that has a symbol as a dimension of its own, and which; NULL: none, it is no input's. */
static const tn_node *input_of(const tn_graph *g, const tn_expr *symbol, int *out_dim)
{
    for (uint32_t i = 0; g->func && i < g->func->body->n_param; i++) {
        const tn_node *x = g->func->body->param[i];
        const tn_type *t = x->type[0];
        for (*out_dim = 0; t && t->kind == TN_T_TENSOR && *out_dim < t->n; ++*out_dim)
            if (t->dim[*out_dim] == symbol)
                return x;
    }
    return NULL;
}

/* Whoever compiles the model hears now what its runs will demand. */
static void tell(tn_graph *g, const tn_symbol_info *s)
{
    int d, d2;
    int64_t v;
    const tn_node *x = input_of(g, tn_sym(g->pool, s->name), &d), *y = s->is ? input_of(g, s->is, &d2) : NULL;
    if (!x)
        return;
    const char *only = s->is && tn_is_int(s->is, &v)
                           ? tn_arena_printf(g->arena, "%lld", (long long)v)
                           : tn_arena_printf(g->arena, "%lld to %lld", (long long)s->min, (long long)s->max);
    if (!s->is || s->is->kind == TN_E_INT)
        (void)tn_report(
            g->ctx, TN_WARNING, "relay-W004", s->because,
            "dimension %d (%s) of input \"%s\" can only be %s, because of this node; a run with another is "
            "refused",
            d, s->name, x->name, only);
    else if (y)
        (void)tn_report(
            g->ctx, TN_NOTE, "relay-N001", s->because,
            "dimension %d (%s) of input \"%s\" must equal dimension %d (%s) of input \"%s\", because of "
            "this node",
            d, s->name, x->name, d2, s->is->u.s, y->name);
}

/* What a match_shape checks may be known by now. */
static void drop_matches(tn_graph *g, tn_region *r)
{
    for (tn_node *n = r->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregion; i++) /* depth: bounded by the readers */
            drop_matches(g, n->region[i]);
        if (!tn_op_is(n, &tn_op_match_shape) || !tn_type_eq(tn_in_type(n, 0), n->type[0]))
            continue;
        tn_value_replace(g, tn_val(n), tn_in(n, 0));
        tn_node_remove(g, n);
    }
}

tn_status tn_relay_settle(tn_graph *g)
{
    renaming s = found(g);
    g->settles = false;
    for (uint32_t i = 0; i < g->n_symbol; i++)
        if (g->symbol[i].told)
            tell(g, &g->symbol[i]);
    if (s.n && g->func)
        rename_region(&s, g->func->body);
    TN_TRY(tn_relay_infer(g));
    for (tn_function *f = g->func; f; f = f->next)
        drop_matches(g, f->body);
    return TN_OK;
}
