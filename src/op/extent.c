/* Extents: when two of them are equal, and what symbols are then.
 *
 * An extent is an index expression over symbols, simplified with what is known of them. While a model is read,
 * operators whose operands must agree tell what the symbols of the model's inputs are: a number where one meets a
 * number, one symbol where two meet, at most 64 where T meets min(T, 64). Only what runs whenever the model does tells
 * that, so no node of a branch. Once the model is read, tn_relay_settle writes it into its types, so the run checks it
 * where it takes the inputs. Everything else that cannot be proved is an error that names both extents; in a broadcast,
 * it is looked at in the run (tn_rule_require_equal).
 */
#include "op/rule.h"

#include "base/size.h"

const tn_expr *tn_simplify_extent(tn_graph *g, const tn_expr *e)
{
    tn_facts f;
    if (e->nsrc == 0 && e->kind != TN_E_SYM)
        return e;
    tn_facts_init(&f);
    for (uint32_t i = 0; i < g->n_symbol; i++) {
        const tn_symbol_info *s = &g->symbol[i];
        const tn_expr *sym = tn_sym(g->pool, s->name);
        if (s->is)
            e = tn_subst(g->pool, e, 1, &sym, &s->is);
        else
            tn_facts_range(&f, sym, s->min, s->max);
    }
    e = e->nsrc ? tn_simplify(g->pool, &f, e) : e;
    tn_facts_deinit(&f);
    return e;
}

bool tn_rule_dim_eq(tn_graph *g, const tn_expr *a, const tn_expr *b)
{
    if (a == b) return true;
    if (a->kind == TN_E_INT && b->kind == TN_E_INT) return false;
    return tn_is_value(tn_simplify_extent(g, tn_sub(g->pool, a, b)), 0);
}

/* ---- what symbols are ---- */

/* A symbol that the model's inputs bind, where it may be settled; else NULL. */
static tn_symbol_info *open_symbol(tn_graph *g, const tn_node *n, const tn_expr *e)
{
    const tn_function *main = g->func;
    if (!g->reading || e->kind != TN_E_SYM || !main || n->owner != main->body)
        return NULL;
    for (uint32_t i = 0; i < main->body->n_param; i++) {
        const tn_type *t = main->body->param[i]->type[0];
        for (int d = 0; t && t->kind == TN_T_TENSOR && d < t->n; d++)
            if (tn_simplify_extent(g, t->dim[d]) == e)
                return tn_graph_find_symbol(g, e->u.s);
    }
    return NULL;
}

/* What k * s + c = b says of s. */
static void solve_for(tn_pool *p, const tn_expr **a, const tn_expr **b)
{
    int64_t k, v, w;
    while (tn_is_int(*b, &v) && (*a)->nsrc == 2 && tn_is_int((*a)->src[1], &k)) {
        if ((*a)->kind == TN_E_ADD && tn_i64_sub(v, k, &w))
            *b = tn_idx(p, w);
        else if ((*a)->kind == TN_E_MUL && k != 0 && v % k == 0)
            *b = tn_idx(p, v / k);
        else
            return;
        *a = (*a)->src[0];
    }
}

/* From now on symbol a is b, a number of its range or a symbol. */
static bool settle(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    solve_for(g->pool, &a, &b);
    tn_symbol_info *s = open_symbol(g, n, a), *t = open_symbol(g, n, b);
    int64_t v;
    if (!s || (!t && !(tn_is_int(b, &v) && v >= s->min && v <= s->max)))
        return false;
    if (t) {
        if (s->min > t->max || t->min > s->max)
            return false;
        t->min = s->min > t->min ? s->min : t->min;
        t->max = s->max < t->max ? s->max : t->max;
    }
    for (uint32_t i = 0; i < g->n_symbol; i++)
        if (g->symbol[i].is == a)
            g->symbol[i].is = b;
    s->is = b;
    return true;
}

/* a must be the lesser of itself and a number. */
static bool settle_most(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *least)
{
    for (int i = 0; i < 2 && least->kind == TN_E_MIN; i++) {
        const tn_expr *same = least->src[i], *most = least->src[1 - i], *symbol = a;
        int64_t v, over = 0;
        if (a->kind == TN_E_ADD && tn_is_int(a->src[1], &over))
            symbol = a->src[0];
        tn_symbol_info *s = open_symbol(g, n, symbol);
        if (!s || !tn_is_int(most, &v) || v - over < s->min || !tn_rule_dim_eq(g, same, a))
            continue;
        s->max = v - over < s->max ? v - over : s->max;
        return true;
    }
    return false;
}

bool tn_rule_agree(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    a = tn_simplify_extent(g, a);
    b = tn_simplify_extent(g, b);
    return tn_rule_dim_eq(g, a, b) || settle(g, n, b, a) || settle(g, n, a, b) || settle_most(g, n, a, b) ||
           settle_most(g, n, b, a);
}

/* ---- broadcasting ---- */

/* Of two extents that are equal, the one that says more. */
static const tn_expr *plainer(const tn_expr *a, const tn_expr *b)
{
    if (a->kind == TN_E_INT || b->kind == TN_E_INT)
        return a->kind == TN_E_INT ? a : b;
    return a->kind == TN_E_SYM || b->kind != TN_E_SYM ? a : b;
}

/* One dimension of a broadcast; NULL if a and b do not fit. */
static const tn_expr *broadcast_dim(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    a = tn_simplify_extent(g, a);
    b = tn_simplify_extent(g, b);
    if (tn_is_value(a, 1) || tn_is_value(b, 1))
        return tn_is_value(a, 1) ? b : a;
    if (tn_rule_agree(g, n, a, b))
        return tn_simplify_extent(g, plainer(a, b));
    const tn_expr *equal = tn_simplify_extent(g, tn_eq(g->pool, a, b));
    return tn_is_value(equal, 0) ? NULL : plainer(a, b);
}

tn_status tn_infer_broadcast(tn_graph *g, const tn_node *n, const tn_type *a, const tn_type *b, tn_dtype t,
                             const tn_type **out)
{
    const tn_expr *dim[TN_RULE_MAX_RANK];
    int rank = a->n > b->n ? a->n : b->n;
    TN_ASSERT(rank <= TN_RULE_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        int ia = i - (rank - a->n), ib = i - (rank - b->n);
        const tn_expr *da = ia < 0 ? NULL : a->dim[ia], *db = ib < 0 ? NULL : b->dim[ib];
        dim[i] = !da ? db : !db ? da : broadcast_dim(g, n, da, db);
        if (dim[i]) continue;
        bool symbolic = da->kind != TN_E_INT || db->kind != TN_E_INT;
        return tn_rule_fail(g, n, symbolic ? "op-E006" : "op-E005",
                            "shapes of %s and %s do not broadcast: dimension %s against %s%s",
                            tn_rule_type_text(g, a), tn_rule_type_text(g, b), tn_rule_dim_text(g, da),
                            tn_rule_dim_text(g, db),
                            symbolic ? ", which are never equal" : "");
    }
    *out = tn_type_tensor(g->pool, t, rank, dim, NULL);
    return TN_OK;
}
