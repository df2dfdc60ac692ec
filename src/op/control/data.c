/* Values of data types: `construct` makes one of a constructor's fields, `match` takes it apart. A match has a region
 * for each constructor, in the order of the definition, whose parameters are the fields; the reader makes nested
 * patterns into matches of matches. Fields are handles, so extents in them are numbers or `?`. */
#include "op/rule.h"

#include "op/control/control.h"

static const tn_type **open_parameters(tn_graph *g, const tn_data *d)
{
    const tn_type **p = TN_NEW_N(g->arena, const tn_type *, d->n_param);
    for (uint32_t i = 0; i < d->n_param; i++)
        p[i] = tn_type_none(g->pool);
    return p;
}

/* ---- construct ---- */

static tn_status construct_infer(tn_graph *g, tn_node *n)
{
    const char *name = ((const tn_construct_attr *)n->attr)->name;
    const tn_constructor *c = tn_graph_constructor(g, name);
    TN_ASSERT(c);
    if (n->nin != (int)c->n_field)
        return tn_rule_fail(g, n, "op-E070", "%s takes %u fields, but %d are given", name,
                            (unsigned)c->n_field, n->nin);
    const tn_type **param = open_parameters(g, c->of);
    int fit = 0; /* fields that go together */
    while (fit < n->nin && tn_in_type(n, fit) &&
           tn_type_widen(g->pool, c->field[fit], tn_in_type(n, fit), param))
        fit++;
    for (int i = fit < n->nin ? fit : 0; i < n->nin; i++) {
        const tn_type *want = tn_type_filled(g->pool, c->field[i], param), *t = tn_in_type(n, i);
        if (i == fit || !tn_type_fits(want, t))
            return tn_rule_fail(g, n, "op-E070", "field %d of %s is %s, which does not fit %s", i, name,
                                t ? tn_rule_type_text(g, t) : "None", tn_rule_type_text(g, want));
    }
    n->type[0] = tn_type_data(g->pool, c->of, param);
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field construct_fields[] = TN_ATTR_TABLE(tn_construct_attr, TN_CONSTRUCT_ATTRS);

const tn_op tn_op_construct = {
    .name = "construct", .doc = "A value of a data type: a constructor with its fields.",
    .attr_size = sizeof(tn_construct_attr), .attr = construct_fields,
    .nin = -1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = construct_infer,
};
/* clang-format on */

/* ---- match ---- */

static tn_status check_clause(tn_graph *g, const tn_node *n, const tn_type *t, uint32_t k)
{
    const tn_constructor *c = &t->data->constructor[k];
    const tn_region *r = n->region[k];
    bool fits = r->n_param == c->n_field;
    for (uint32_t i = 0; i < c->n_field && fits; i++)
        fits = tn_type_fits(r->param[i]->type[0], tn_type_filled(g->pool, c->field[i], t->field));
    return fits ? TN_OK
                : tn_rule_fail(g, n, "op-E072", "the parameters of the clause of %s are not the fields of %s",
                               c->name, tn_rule_type_text(g, t));
}

/* What a result of one clause is to who reads the match: no extent is a symbol of the clause. */
static const tn_type *outside(tn_graph *g, const tn_region *r, const tn_type *t)
{
    if (t->kind != TN_T_TENSOR)
        return t;
    const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, t->n);
    for (int d = 0; d < t->n; d++)
        dim[d] = tn_region_binds(r, t->dim[d]) ? tn_any_dim(g->pool) : t->dim[d];
    return tn_type_tensor(g->pool, t->dtype, t->n, dim, NULL);
}

/* Result k: what all clauses that yield results have in common. */
static tn_status join_result(tn_graph *g, tn_node *n, uint32_t k)
{
    const tn_type *all = NULL;
    for (int i = 0; i < n->nregion; i++) {
        const tn_region *r = n->region[i];
        if (tn_region_fails(r))
            continue;
        const tn_type *t = outside(g, r, tn_value_type((tn_value){r->result[k].def, r->result[k].out})),
                      *both = all ? tn_type_join(g->pool, all, t) : t;
        if (!both)
            return tn_rule_fail(
                g, n, "op-E073",
                "result %u is %s in one clause and %s in another, but both must have the same type",
                (unsigned)k, tn_rule_type_text(g, all), tn_rule_type_text(g, t));
        all = both;
    }
    n->type[k] = all ? all : tn_type_none(g->pool);
    return TN_OK;
}

static tn_status match_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t = tn_in_type(n, 0);
    if (t->kind != TN_T_DATA)
        return tn_rule_fail(g, n, "op-E072", "the operand must be of a data type, but is %s",
                            tn_rule_type_text(g, t));
    if (n->nregion != (int)t->data->n_constructor)
        return tn_rule_fail(g, n, "op-E072", "there are %d clauses, but %s has %u constructors",
                            (int)n->nregion, tn_rule_type_text(g, t), (unsigned)t->data->n_constructor);
    for (int i = 0; i < n->nregion; i++) {
        TN_TRY(check_clause(g, n, t, (uint32_t)i));
        if (!tn_region_fails(n->region[i]) && n->region[i]->n_result != n->nout)
            return tn_rule_fail(g, n, "op-E073",
                                "the clauses have %d and %u results, but must have the same number",
                                (int)n->nout, (unsigned)n->region[i]->n_result);
    }
    for (uint32_t k = 0; k < n->nout; k++)
        TN_TRY(join_result(g, n, k));
    return TN_OK;
}

/* clang-format off */
const tn_op tn_op_match = {
    .name = "match", .doc = "The results of the region of its operand's constructor, over the fields.",
    .nin = 1, .min_in = 1, .nout = -1, .nregion = TN_ANY_REGIONS, .fuse = TN_FUSE_NONE, .infer = match_infer,
};
/* clang-format on */
