/* Extents: when two of them are equal, and what symbols are then.
 *
 * An extent is an index expression over symbols, simplified with what is known of them. While a model is read,
 * operators whose operands must agree tell what the symbols of the model's inputs are: a number where one meets a
 * number, one symbol where two meet, at most 64 where T meets min(T, 64). Only what runs whenever the model does tells
 * that, so no node of a branch. Once the model is read, tn_relay_settle writes it into its types, so the run checks it
 * where it takes the inputs. What can be neither proved nor settled nor ruled out is left to the run: the operands that
 * have the extent in their shape pass through a match_shape, which says what it must be. In a broadcast, the kernel
 * looks at it (tn_rule_stretch).
 */
#include "op/rule.h"

#include "base/size.h"
#include "op/control/control.h"

/* The symbols of an expression: what is known of them, and which are something else. */
typedef struct {
    tn_graph *g;
    tn_facts *facts;
    tn_vec(const tn_expr *) from, to;
} symbols;

static bool note_symbol(const tn_expr *e, void *user)
{
    symbols *x = user;
    const tn_symbol_info *s = e->kind == TN_E_SYM ? tn_graph_find_symbol(x->g, e->u.s) : NULL;
    if (s && s->is) {
        tn_vec_push(&x->from, e);
        tn_vec_push(&x->to, s->is);
    } else if (s) {
        tn_facts_range(x->facts, e, s->min, s->max);
    }
    return true;
}

/* Asks about the symbols in e alone: a graph may have thousands. */
const tn_expr *tn_simplify_extent(tn_graph *g, const tn_expr *e)
{
    tn_facts f;
    if (e->kind == TN_E_SYM) {
        const tn_symbol_info *s = tn_graph_find_symbol(g, e->u.s);
        return s && s->is ? s->is : e;
    }
    if (e->nsrc == 0)
        return e;
    tn_facts_init(&f);
    symbols x = {.g = g, .facts = &f};
    (void)tn_each(e, note_symbol, &x);
    for (uint32_t turn = 0; x.from.n && turn < g->n_symbol; turn++) { /* what one is may have others in it */
        e = tn_subst(g->pool, e, (int)x.from.n, x.from.at, x.to.at);
        x.from.n = x.to.n = 0;
        (void)tn_each(e, note_symbol, &x);
    }
    e = tn_simplify(g->pool, &f, e);
    tn_facts_deinit(&f);
    tn_vec_deinit(&x.from);
    tn_vec_deinit(&x.to);
    return e;
}

bool tn_rule_dim_eq(tn_graph *g, const tn_expr *a, const tn_expr *b)
{
    if (a == b)
        return true;
    if (a->kind == TN_E_INT && b->kind == TN_E_INT)
        return false;
    return tn_is_value(tn_simplify_extent(g, tn_sub(g->pool, a, b)), 0);
}

/* ---- what symbols are ---- */

/* A symbol that the model's inputs bind, where it may be settled; else NULL. */
static tn_symbol_info *open_symbol(tn_graph *g, const tn_node *n, const tn_expr *e)
{
    const tn_function *main = g->func;
    if (!g->settles || e->kind != TN_E_SYM || !main || n->owner != main->body)
        return NULL;
    for (uint32_t i = 0; i < main->body->n_param; i++) {
        const tn_type *t = main->body->param[i]->type[0];
        for (int d = 0; t && t->kind == TN_T_TENSOR && d < t->n; d++)
            if (tn_simplify_extent(g, t->dim[d]) == e)
                return tn_graph_find_symbol(g, e->u.s);
    }
    return NULL;
}

/* From now on s is t, or the number v where t is NULL, as n tells; false: out of its range. */
static bool become(tn_graph *g, const tn_node *n, tn_symbol_info *s, tn_symbol_info *t, int64_t v)
{
    const tn_expr *old = tn_sym(g->pool, s->name), *is = t ? tn_sym(g->pool, t->name) : tn_idx(g->pool, v);
    if (t ? s->min > t->max || t->min > s->max : v < s->min || v > s->max)
        return false;
    if (t) {
        t->min = s->min > t->min ? s->min : t->min;
        t->max = s->max < t->max ? s->max : t->max;
    }
    for (uint32_t i = 0; i < g->n_symbol; i++)
        if (g->symbol[i].is == old)
            g->symbol[i].is = is;
    s->is = is;
    s->because = n->loc;
    s->told = true;
    return true;
}

/* From a = b, k * s + c = 0, follows what s is; NULL: nothing that may be settled. */
static tn_symbol_info *solve(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b, int64_t *out)
{
    tn_affine zero;
    if (!g->settles || !tn_affine_of(g->pool, tn_sub(g->pool, a, b), &zero) || zero.n != 1 ||
        zero.c % zero.term[0].coef != 0)
        return NULL;
    *out = -(zero.c / zero.term[0].coef);
    return open_symbol(g, n, zero.term[0].atom);
}

/* The same, and from k * s = k * t that they are one: the one that was there first. */
static bool settle(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    tn_affine zero;
    int64_t v;
    tn_symbol_info *s = solve(g, n, a, b, &v);
    if (s)
        return become(g, n, s, NULL, v);
    if (!g->settles || !tn_affine_of(g->pool, tn_sub(g->pool, a, b), &zero) || zero.n != 2 || zero.c != 0 ||
        zero.term[0].coef + zero.term[1].coef != 0)
        return false;
    s = open_symbol(g, n, zero.term[0].atom);
    tn_symbol_info *t = open_symbol(g, n, zero.term[1].atom);
    return s && t && become(g, n, s < t ? t : s, s < t ? s : t, 0);
}

/* a must be the lesser, or the greater, of itself and a number; a is k * s + c. */
static bool settle_limit(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *limit)
{
    bool least = limit->kind == TN_E_MIN;
    tn_affine sum;
    int64_t v;
    if (!g->settles || (!least && limit->kind != TN_E_MAX) || !tn_is_int(limit->src[1], &v) ||
        !tn_rule_dim_eq(g, limit->src[0], a) || !tn_affine_of(g->pool, a, &sum) || sum.n != 1 ||
        sum.term[0].coef < 1 || !tn_i64_sub(v, sum.c, &v))
        return false;
    v = least ? tn_floordiv(v, sum.term[0].coef) : -tn_floordiv(-v, sum.term[0].coef);
    tn_symbol_info *s = open_symbol(g, n, sum.term[0].atom);
    if (!s || (least ? v < s->min : v > s->max))
        return false;
    if (least ? v < s->max : v > s->min) {
        s->because = n->loc;
        s->told = true;
    }
    s->max = least && v < s->max ? v : s->max;
    s->min = !least && v > s->min ? v : s->min;
    return true;
}

bool tn_rule_settled(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    a = tn_simplify_extent(g, a);
    b = tn_simplify_extent(g, b);
    return tn_rule_dim_eq(g, a, b) || settle(g, n, a, b) || settle_limit(g, n, a, b) ||
           settle_limit(g, n, b, a);
}

/* ---- what the run checks ---- */

/* Of two extents that are equal, the one that says more. */
static const tn_expr *plainer(const tn_expr *a, const tn_expr *b)
{
    if (a->kind == TN_E_INT || b->kind == TN_E_INT)
        return a->kind == TN_E_INT ? a : b;
    return a->kind == TN_E_SYM || b->kind != TN_E_SYM ? a : b;
}

static bool never_equal(tn_graph *g, const tn_expr *a, const tn_expr *b)
{
    return tn_is_value(tn_simplify_extent(g, tn_eq(g->pool, a, b)), 0);
}

/* Would an operand of n have another extent, if e were another one? */
static bool is_given(tn_graph *g, const tn_node *n, const tn_expr *e)
{
    for (int i = 0; i < n->nin; i++) {
        const tn_type *t = n->in[i].def ? tn_in_type(n, i) : NULL;
        for (int d = 0; t && t->kind == TN_T_TENSOR && d < t->n; d++) {
            const tn_expr *dim = tn_simplify_extent(g, t->dim[d]);
            if (dim == e || (e->kind == TN_E_SYM && tn_uses(dim, e)))
                return true;
        }
    }
    return false;
}

static bool assume(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    tn_affine zero;
    a = tn_simplify_extent(g, a);
    b = tn_simplify_extent(g, b);
    const tn_expr *is = plainer(a, b), *from = is == a ? b : a;
    if (!g->assumes || never_equal(g, a, b))
        return false;
    if (tn_affine_of(g->pool, tn_sub(g->pool, a, b), &zero) && zero.n == 1 &&
        zero.term[0].atom->kind == TN_E_SYM) { /* k * s + c = 0 */
        if (zero.c % zero.term[0].coef != 0)
            return false;
        from = zero.term[0].atom;
        is = tn_idx(g->pool, -(zero.c / zero.term[0].coef));
    }
    if (!is_given(g, n, from) && is->kind == TN_E_SYM && !tn_uses(from, is)) { /* it is worked out here */
        const tn_expr *given = is;
        is = from;
        from = given;
    }
    tn_vec_push(&g->assumed, ((tn_assumption){from, is}));
    return true;
}

bool tn_rule_agree(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    return tn_rule_settled(g, n, a, b) || assume(g, n, a, b);
}

/* e with what is assumed of it. */
static const tn_expr *assumed(tn_graph *g, const tn_expr *e)
{
    for (size_t i = 0; i < g->assumed.n; i++) {
        const tn_assumption *a = &g->assumed.at[i];
        e = a->from->nsrc == 0 ? tn_subst(g->pool, e, 1, &a->from, &a->is) : e == a->from ? a->is : e;
        e = tn_simplify_extent(g, e);
    }
    return e;
}

/* The extents that operand i comes to have; NULL: those that it has. */
static const tn_expr **matched(tn_graph *g, tn_node *n, int i)
{
    const tn_type *t = n->in[i].def ? tn_in_type(n, i) : NULL;
    if (!t || t->kind != TN_T_TENSOR)
        return NULL;
    const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, t->n);
    bool same = true;
    for (int d = 0; d < t->n; d++) {
        const tn_expr *had = tn_simplify_extent(g, t->dim[d]);
        dim[d] = assumed(g, had);
        same = same && dim[d] == had;
    }
    return same ? NULL : dim;
}

/* All extents are worked out first: to infer a match_shape forgets what is assumed. */
bool tn_rule_match(tn_graph *g, tn_node *n)
{
    bool changed = false;
    const tn_expr ***dim = TN_NEW_N(g->arena, const tn_expr **, n->nin);
    for (int i = 0; i < n->nin; i++)
        dim[i] = matched(g, n, i);
    for (int i = 0; i < n->nin; i++) {
        if (!dim[i])
            continue;
        tn_value v = tn_in(n, i);
        tn_match_shape_attr a = {tn_dims_make(g->arena, (uint32_t)tn_in_type(n, i)->n, dim[i])};
        tn_node *m = tn_make_call(g, n->owner, n, &tn_op_match_shape, 1, &v, &a, n->loc);
        for (int j = i; m && j < n->nin; j++)
            if (tn_value_eq(tn_in(n, j), v)) {
                tn_use_set(g, &n->in[j], tn_val(m));
                dim[j] = NULL;
            }
        changed = changed || m;
    }
    return changed;
}

/* ---- broadcasting ---- */

/* Where a and b are equal, symbols of the model's inputs are known: kernels have variants for that. */
static void expect_equal(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    int64_t v = 0;
    tn_symbol_info *s = solve(g, n, a, b, &v);
    if (s && v >= s->min && v <= s->max)
        tn_symbol_add_point(g, s, v);
}

/* Is x, or was it broadcast to, what select(n == 1, m, n) says? Depth: that of expressions. */
static bool covers(const tn_expr *wide, const tn_expr *x)
{
    return wide == x || (wide->kind == TN_E_SELECT && (covers(wide->src[1], x) || covers(wide->src[2], x)));
}

/* One dimension of a broadcast of a and b, neither of which is known to be 1; NULL: they do not fit. An extent that
 * may be 1 is looked at in the run (tn_rule_stretch). */
static const tn_expr *broadcast_dim(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    tn_pool *p = g->pool;
    const tn_expr *one = tn_idx(p, 1);
    if (tn_rule_dim_eq(g, a, b))
        return plainer(a, b);
    if (covers(a, b) || covers(b, a))
        return covers(a, b) ? a : b;
    bool a_one = !never_equal(g, a, one), b_one = !never_equal(g, b, one), equal = !never_equal(g, a, b);
    if (!a_one && !b_one)
        return tn_rule_settled(g, n, a, b) ? tn_simplify_extent(g, plainer(a, b))
               : equal                     ? plainer(a, b)
                                           : NULL;
    if (!a_one || !b_one) {
        expect_equal(g, n, a, b);
        return a_one ? b : a;
    }
    const tn_expr *zero = tn_idx(p, 0), *empty = tn_or(p, tn_eq(p, a, zero), tn_eq(p, b, zero));
    bool full = tn_is_value(tn_simplify_extent(g, empty), 0); /* 0 beside 1 is 0 */
    return tn_simplify_extent(g, full ? tn_max(p, a, b) : tn_select(p, tn_eq(p, a, one), b, a));
}

const tn_expr *tn_rule_wider(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b)
{
    a = tn_simplify_extent(g, a);
    b = tn_simplify_extent(g, b);
    return tn_is_value(a, 1) ? b : tn_is_value(b, 1) ? a : broadcast_dim(g, n, a, b);
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
        dim[i] = !da ? db : !db ? da : tn_rule_wider(g, n, da, db);
        if (dim[i])
            continue;
        bool symbolic = da->kind != TN_E_INT || db->kind != TN_E_INT;
        return tn_rule_fail(g, n, symbolic ? "op-E006" : "op-E005",
                            "shapes of %s and %s do not broadcast: dimension %s against %s%s",
                            tn_rule_type_text(g, a), tn_rule_type_text(g, b), tn_rule_dim_text(g, da),
                            tn_rule_dim_text(g, db), symbolic ? ", which are never equal" : "");
    }
    *out = tn_type_tensor(g->pool, t, rank, dim, NULL);
    return TN_OK;
}

const tn_expr *tn_broadcast_extent(tn_graph *g, tn_region *r, const tn_loc *loc, const tn_expr *a,
                                   const tn_expr *b)
{
    tn_node n = {.owner = r, .loc = loc};
    return tn_rule_wider(g, &n, a, b);
}
