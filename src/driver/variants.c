/* Variants of a kernel: the general one, and before it those for cases of its symbols: the points that the module names
 * for them; where extents that a broadcast may repeat are equal; 1 for the first symbol, where the schedule
 * differs; and, of a product whose rows only the run knows, a variant for each of a few register tiles. A case is a
 * conjunction of equations. */
#include "driver/driver.h"
#include "schedule/space.h"

enum { MAX_EQUAL = 8 };

/* ---- a function in a case ---- */

/* Which of an equation's sides gives way to the other: a symbol, else what is no number; the pool decides which of the
 * two comes first. */
static int yields(const tn_expr *equation)
{
    TN_ASSERT(equation->kind == TN_E_EQ);
    const tn_expr *const *side = equation->src;
    return side[0]->kind == TN_E_SYM ? 0 : side[1]->kind == TN_E_SYM ? 1 : side[0]->kind == TN_E_INT;
}

static void equate(tn_func *c, const tn_expr *extent, const tn_expr *is)
{
    for (tn_stmt *s = c->body.first; s; s = s->next)
        tn_stmt_subst(c, s, 1, &extent, &is);
    for (uint32_t i = 0; i < c->n_buffer; i++) {
        const tn_expr **dim = TN_NEW_N(c->arena, const tn_expr *, c->buffer[i].ndim);
        for (int d = 0; d < c->buffer[i].ndim; d++)
            dim[d] = tn_simplify(c->pool, NULL, tn_subst(c->pool, c->buffer[i].dim[d], 1, &extent, &is));
        c->buffer[i].dim = dim;
    }
}

/* Depth here and below: the number of equations, MAX_EQUAL and those of the points. */
static void equate_all(tn_func *c, const tn_expr *where)
{
    if (where->kind == TN_E_AND) {
        equate_all(c, where->src[0]);
        equate_all(c, where->src[1]);
    } else if (where->kind == TN_E_EQ) {
        int k = yields(where);
        equate(c, where->src[k], where->src[1 - k]);
    }
}

static const tn_expr *in_case(tn_pool *p, const tn_expr *e, const tn_expr *where)
{
    if (where->kind == TN_E_AND)
        return in_case(p, in_case(p, e, where->src[0]), where->src[1]);
    if (where->kind != TN_E_EQ)
        return e;
    int k = yields(where);
    return tn_simplify(p, NULL, tn_subst(p, e, 1, &where->src[k], &where->src[1 - k]));
}

/* What is read by select(d == 1, 0, i), d being one of these, is read by i. */
typedef struct unrepeated {
    int n;
    const tn_expr *d[MAX_EQUAL];
} unrepeated;

static bool is_listed(const unrepeated *u, const tn_expr *d)
{
    for (int i = 0; i < u->n; i++)
        if (u->d[i] == d)
            return true;
    return false;
}

static const tn_expr *read_once(tn_pool *p, const tn_expr *e, void *user)
{
    bool index = e->kind == TN_E_SELECT && tn_dtype_eq(e->dtype, TN_IDX) && e->src[0]->kind == TN_E_EQ &&
                 tn_is_value(e->src[0]->src[1], 1) && tn_is_value(e->src[1], 0);
    return index && is_listed(user, tn_simplify(p, NULL, e->src[0]->src[0])) ? e->src[2] : NULL;
}

/* The check of a broadcast, "d == to or d == 1": an extent of an operand, and that of the result. */
static bool is_broadcast(const tn_stmt *s, const tn_expr **d, const tn_expr **to)
{
    const tn_expr *c = s->kind == TN_S_CHECK ? s->u.check.cond : NULL;
    if (!c || c->kind != TN_E_OR || c->src[0]->kind != TN_E_EQ || c->src[1]->kind != TN_E_EQ)
        return false;
    int one = tn_is_value(c->src[0]->src[1], 1) ? 0 : 1;
    const tn_expr *const *pair = c->src[1 - one]->src;
    *d = c->src[one]->src[0];
    *to = pair[0] == *d ? pair[1] : pair[0];
    return tn_is_value(c->src[one]->src[1], 1) && (pair[0] == *d || pair[1] == *d);
}

/* Extents that no broadcast repeats in this case. */
static unrepeated find_unrepeated(const tn_func *f, const tn_expr *where)
{
    unrepeated u = {0};
    const tn_expr *d, *to;
    for (int repeated = 0; repeated < 2; repeated++)
        for (const tn_stmt *s = f->body.first; s; s = s->next) {
            if (!is_broadcast(s, &d, &to))
                continue;
            d = in_case(f->pool, d, where);
            bool equal = d == in_case(f->pool, to, where);
            if (!repeated && equal && u.n < MAX_EQUAL && !is_listed(&u, d))
                u.d[u.n++] = d;
            for (int i = 0; repeated && !equal && i < u.n; i++)
                u.d[i] = u.d[i] == d ? u.d[--u.n] : u.d[i];
        }
    return u;
}

static const tn_expr *rewritten(const tn_expr *e, void *user)
{
    void *const *pair = user;
    return tn_rewrite(pair[0], e, read_once, pair[1]);
}

static bool rewrite(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, rewritten, user);
    return true;
}

tn_func *tn_specialise(const tn_func *f, const tn_expr *where)
{
    tn_func *c = tn_func_clone(f, f->arena, f->pool);
    unrepeated u = find_unrepeated(f, where);
    equate_all(c, where);
    if (u.n)
        tn_stmt_walk(&c->body, rewrite, NULL, (void *[]){c->pool, &u});
    return c;
}

/* ---- cases ---- */

/* Does it read or write outside of a buffer, as two elements in the shape [n,2,2]? */
static bool leaves_buffers(const tn_func *f)
{
    size_t n_diag = f->ctx->n_diag;
    bool leaves = tn_func_verify(f) != TN_OK;
    tn_diag_rewind(f->ctx, n_diag);
    return leaves;
}

/* Does the case leave nothing of some extent, as 1 of what a window of 5 is moved over, fail a check, as channels in
 * three groups do, or need more elements than there are? */
static bool is_impossible(const tn_func *f)
{
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        if (s->kind == TN_S_CHECK && tn_is_value(tn_simplify(f->pool, NULL, s->u.check.cond), 0))
            return true;
    for (uint32_t i = 0; i < f->n_buffer; i++)
        for (int d = 0; d < f->buffer[i].ndim; d++)
            if (f->buffer[i].dim[d]->kind == TN_E_INT && f->buffer[i].dim[d]->u.i < 1)
                return true;
    return leaves_buffers(f);
}

typedef struct equations {
    tn_pool *p;
    int n;
    const tn_expr *extent[MAX_EQUAL], *is[MAX_EQUAL];
} equations;

static const tn_expr *equation(tn_pool *p, const tn_expr *extent, const tn_expr *is)
{
    const tn_expr *side[2] = {extent, is};
    return tn_expr_make(p, TN_E_EQ, TN_BOOL1, (tn_payload){0}, 2, side);
}

static bool overlap(const tn_expr *a, const tn_expr *b) { return tn_uses(a, b) || tn_uses(b, a); }

/* Equations may be applied one after the other in any order: none replaces a part of another. */
static void add_equation(equations *q, const tn_expr *extent, const tn_expr *is)
{
    const tn_expr *e = equation(q->p, extent, is);
    bool fits = q->n < MAX_EQUAL && e->src[yields(e)] == extent && !tn_uses(is, extent);
    for (int i = 0; i < q->n && fits; i++)
        fits = !overlap(q->extent[i], extent) && !tn_uses(is, q->extent[i]) && !tn_uses(q->is[i], extent);
    if (!fits)
        return;
    q->extent[q->n] = extent;
    q->is[q->n++] = is;
}

/* An extent of a broadcast is 9, or max(n, m), or select(n == 1, m, n): the likely case is that nothing is repeated. */
static bool find_equation(const tn_expr *e, void *user)
{
    equations *q = user;
    bool wider = e->kind == TN_E_MAX || e->kind == TN_E_SELECT;
    const tn_expr *a = e->nsrc >= 2 ? e->src[e->nsrc - 2] : NULL, *b = a ? e->src[e->nsrc - 1] : NULL;
    bool widens = wider && tn_dtype_eq(e->dtype, TN_IDX) && a->kind != TN_E_INT && b->kind != TN_E_INT;
    bool equals = e->kind == TN_E_EQ && !tn_is_value(b, 1) && !overlap(a, b);
    if (widens || equals) {
        add_equation(q, a, b);
        add_equation(q, b, a);
    }
    return true;
}

/* What the checks of broadcasts, "n == 9 or n == 1", say of symbols. */
static void find_equations(const tn_func *f, equations *q)
{
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        if (s->kind == TN_S_CHECK && s->u.check.cond->kind == TN_E_OR)
            tn_each(s->u.check.cond, find_equation, q);
}

static const tn_expr *both(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return !a ? b : !b ? a : tn_and(p, a, b);
}

/* The equations, in what `where` leaves of them, of extents of which it says nothing. */
static const tn_expr *with_equations(const equations *q, const tn_expr *where)
{
    const tn_expr *all = where;
    for (int i = 0; i < q->n; i++)
        if (!where)
            all = both(q->p, all, equation(q->p, q->extent[i], q->is[i]));
        else if (in_case(q->p, q->extent[i], where) == q->extent[i])
            all = both(q->p, all, equation(q->p, q->extent[i], in_case(q->p, q->is[i], where)));
    return all;
}

/* Case number k of the points of f's symbols, k < *out_n; NULL: there are none. */
static const tn_expr *point(tn_graph *g, const tn_func *f, uint32_t k, uint32_t *out_n)
{
    const tn_expr *where = NULL;
    *out_n = 1;
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        const tn_symbol_info *s = tn_graph_find_symbol(g, f->symbol[i].name);
        if (!s || !s->point.n || *out_n * s->point.n > TN_MAX_POINTS)
            continue;
        int64_t v = s->point.at[k / *out_n % s->point.n];
        where = both(f->pool, where, equation(f->pool, tn_sym(f->pool, s->name), tn_idx(f->pool, v)));
        *out_n *= s->point.n;
    }
    return where;
}

static void add_variant(tn_build *b, tn_group *g, const tn_func *base, const tn_expr *where,
                        const tn_picks *pick)
{
    tn_pool *p = &g->child->pool;
    uint32_t v = g->n_variant++;
    g->base[v] = base;
    g->guard[v] = where ? tn_select(p, where, tn_idx(p, 1), tn_idx(p, 0)) : NULL;
    g->is_tile[v] = pick;
    const tn_loc place = {.node = *g->source ? g->source : NULL};
    const bool by_record = !pick && !g->no_records && !b->kernels_built_in;
    if (by_record && tn_records_apply(b, base, &place, &g->child->arena, p, &g->sched[v]))
        g->n_recorded++;
    else
        tn_rule_apply(&g->sched[v], base, &b->machine, pick, &g->child->arena, p);
}

/* Is tile k cheaper than those behind it? */
static const tn_expr *is_cheapest(tn_pool *p, const tn_row_tiles *t, int k)
{
    const tn_expr *all = NULL, *cost[TN_MAX_ROW_TILES];
    for (int i = k; i < t->n; i++)
        cost[i] = tn_mul(p, tn_ceildiv(p, t->rows, t->tile[i].rows), tn_idx(p, t->tile[i].cost));
    for (int i = k + 1; i < t->n; i++)
        all = both(p, all, tn_lt(p, cost[k], cost[i]));
    return all;
}

/* Is the first tile that of one row, and cheapest for one row alone? */
static bool is_for_one_row(const tn_row_tiles *t)
{
    bool alone = t->n > 1 && t->tile[0].rows == 1;
    for (int64_t rows = 2; rows <= t->tile[t->n - 1].rows && alone; rows++) {
        bool dearer = false;
        for (int i = 1; i < t->n; i++)
            dearer |=
                (rows + t->tile[i].rows - 1) / t->tile[i].rows * t->tile[i].cost <= rows * t->tile[0].cost;
        alone = dearer;
    }
    return alone;
}

static const tn_picks *rows_picked(tn_group *g, const tn_row_tiles *t, int k)
{
    tn_picks *p = TN_NEW(&g->child->arena, tn_picks);
    tn_picks_set(p, &g->child->arena, t->pick, (tn_choice){NULL, t->tile[k].rows});
    return p;
}

/* A variant for each tile, used where that tile is the cheapest; one row that is a symbol is a case of that symbol. */
static void add_tiles(tn_build *b, tn_group *g, const tn_func *base, const tn_expr *where,
                      const tn_row_tiles *t)
{
    tn_pool *p = &g->child->pool;
    bool one = is_for_one_row(t) && t->rows->kind == TN_E_SYM;
    uint32_t first = g->n_variant;
    if (one) {
        const tn_expr *single = both(p, equation(p, t->rows, tn_idx(p, 1)), where);
        const tn_func *of_one = tn_specialise(g->te, single);
        if (!is_impossible(of_one))
            add_variant(b, g, of_one, single, NULL);
    }
    for (int i = one; i + 1 < t->n; i++)
        add_variant(b, g, base, both(p, where, is_cheapest(p, t, i)), rows_picked(g, t, i));
    add_variant(b, g, base, where, rows_picked(g, t, t->n - 1));
    if (t->n - one > 1 && tn_trace_same(&g->sched[g->n_variant - 2], &g->sched[g->n_variant - 1])) {
        g->n_variant = first; /* the rule was refused, and another one has no tiles */
        add_variant(b, g, base, where, NULL);
    }
}

/* A variant, behind one where the first symbol is 1, too, if its schedule differs. */
static void add_with_one(tn_build *b, tn_group *g, const tn_func *base, const tn_expr *where)
{
    tn_pool *p = &g->child->pool;
    const tn_expr *first = tn_sym(p, g->te->symbol[0].name),
                  *single = both(p, equation(p, first, tn_idx(p, 1)), where);
    const tn_func *of_one = tn_specialise(g->te, single);
    uint32_t v = g->n_variant;
    if (!is_impossible(of_one))
        add_variant(b, g, of_one, single, NULL);
    add_variant(b, g, base, where, NULL);
    if (g->n_variant == v + 2 && tn_trace_same(&g->sched[v], &g->sched[v + 1])) {
        g->sched[v] = g->sched[v + 1];
        g->base[v] = base;
        g->guard[v] = g->guard[v + 1];
        g->n_variant--;
    }
}

/* The general variant, or that of a case; tiles: one for each of a few, where rows are many. */
static void add_general(tn_build *b, tn_group *g, const tn_expr *where, bool one, bool tiles)
{
    const tn_func *f = where ? tn_specialise(g->te, where) : g->te;
    tn_row_tiles t = {.n = 0};
    if (where && is_impossible(f))
        return;
    if (tiles && tn_rule_row_tiles(f, &b->machine, &g->child->arena, &g->child->pool, &t))
        add_tiles(b, g, f, where, &t);
    else if (one && !(where && tn_uses(where, tn_sym(&g->child->pool, g->te->symbol[0].name))))
        add_with_one(b, g, f, where);
    else
        add_variant(b, g, f, where, NULL);
}

void tn_variants_make(tn_build *b, tn_group *g)
{
    equations q = {.p = &g->child->pool};
    uint32_t n;
    bool symbolic = g->te->n_symbol > 0 && !b->opt.no_variants;
    bool one = symbolic && g->te->symbol[0].min <= 1;
    if (symbolic)
        find_equations(g->te, &q);
    const tn_expr *where = symbolic ? point(&g->child->graph, g->te, 0, &n) : NULL;
    for (uint32_t k = 0; where && k < n; k++)
        add_general(b, g, with_equations(&q, point(&g->child->graph, g->te, k, &n)), one, false);
    if (q.n)
        add_general(b, g, with_equations(&q, NULL), one, symbolic);
    add_general(b, g, NULL, one && !q.n, symbolic);
}
