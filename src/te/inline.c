/* Inlining: putting what a tensor's element is where it is read, and asking who reads it and how often.
 *
 * A read under a condition (masked load) stays one: the loads of what is put in its place get the condition
 * too, so nothing outside is touched, and operations that could trap get a harmless operand where the
 * condition fails. O(nodes) for each reader.
 */
#include "te/te.h"

/* ---- inlining ---- */

/* Puts `cond` on all that may not happen where it fails. */
static const tn_expr *guard(tn_pool *p, const tn_expr *e, void *user)
{
    const tn_expr *cond = user;
    if (e->kind == TN_E_LOAD) {
        const tn_expr *mask = tn_load_mask(e), *other = tn_load_other(e);
        return tn_load(p, e->dtype, e->u.load.buffer, (int)e->u.load.n_index, e->src,
                       mask ? tn_and(p, mask, cond) : cond, other ? other : tn_const(p, e->dtype, 0));
    }
    bool divides = tn_dtype_is_index(e->dtype) && e->kind >= TN_E_FLOORDIV && e->kind <= TN_E_TRUNCMOD;
    bool shifts = e->kind == TN_E_SHL || e->kind == TN_E_SHR;
    if ((!divides && !shifts) || !e->src[1]->has_load)
        return NULL;
    const tn_expr *src[2] = {e->src[0], tn_select(p, cond, e->src[1], tn_int(p, e->src[1]->dtype, divides))};
    return tn_rebuild(p, e, src);
}

static const tn_expr *element_where(tn_pool *p, const tn_expr *value, const tn_expr *cond,
                                    const tn_expr *other)
{
    /* A plain read keeps one load instead of a load and a select. */
    if (value->kind == TN_E_LOAD && (!tn_load_other(value) || tn_load_other(value) == other)) {
        const tn_expr *mask = tn_load_mask(value);
        return tn_load(p, value->dtype, value->u.load.buffer, (int)value->u.load.n_index, value->src,
                       mask ? tn_and(p, mask, cond) : cond, other);
    }
    return tn_select(p, cond, tn_rewrite(p, value, guard, (void *)(uintptr_t)cond), other);
}

static const tn_expr *replace_load(tn_pool *p, const tn_expr *e, void *user)
{
    const tn_tensor *t = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != t->buffer)
        return NULL;
    const tn_expr *value = tn_subst(p, t->value, t->ndim, t->axis, e->src);
    return tn_load_mask(e) ? element_where(p, value, tn_load_mask(e), tn_load_other(e)) : value;
}

typedef struct replacing { tn_pool *pool; tn_tensor *t; } replacing;

static const tn_expr *replace_in(const tn_expr *e, void *user)
{
    replacing *r = user;
    return e && e->has_load ? tn_rewrite(r->pool, e, replace_load, r->t) : e;
}

static bool replace_in_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, replace_in, user);
    return true;
}

void tn_te_inline(tn_te *te, tn_tensor *t)
{
    TN_ASSERT(t->kind == TN_TENSOR_COMPUTE && t->value && t->reducer == TN_RED_NONE && !t->inlined);
    replacing r = {te->pool, t};
    for (tn_tensor *u = te->first; u; u = u->next) {
        if (u == t)
            continue;
        u->value = replace_in(u->value, &r);
        u->where = replace_in(u->where, &r);
        u->init = replace_in(u->init, &r);
        if (u->kind == TN_TENSOR_EXTERN)
            tn_stmt_walk(&u->body, replace_in_stmt, NULL, &r);
    }
    t->inlined = true;
}

/* ---- readers ---- */

/* The loads of one tensor in one reader: how many different ones, and the last of them. */
typedef struct reads { uint32_t buffer; int n; const tn_expr *load; } reads;

static bool count_load(const tn_expr *e, void *user)
{
    reads *r = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer == r->buffer && e != r->load) {
        r->n++;
        r->load = e;
    }
    return true;
}

static const tn_expr *count_in(const tn_expr *e, void *user)
{
    if (e && e->has_load)
        tn_each(e, count_load, user);
    return e;
}

static bool count_in_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, count_in, user);
    return true;
}

/* ---- injectivity ----
 * Index expressions whose value is known are collected; what follows from them is added until nothing new
 * does:
 *
 *   a sum whose unknown terms do not overlap (mixed radix)   gives each term's atom
 *   floordiv(x, c) and floormod(x, c)                        give x
 *
 * The map is injective if every axis becomes known. Sums use integer coefficients and constant bounds, so a
 * symbolic stride is answered with "not known".
 */
enum { KNOWN_MAX = 64 };
typedef struct known { tn_pool *pool; const tn_facts *facts; int n; const tn_expr *at[KNOWN_MAX]; } known;

static bool is_known(const known *k, const tn_expr *e)
{
    for (int i = 0; i < k->n; i++)
        if (k->at[i] == e)
            return true;
    return false;
}

static void learn(known *k, const tn_expr *e)
{
    if (k->n < KNOWN_MAX && e->kind != TN_E_INT && !is_known(k, e))
        k->at[k->n++] = e;
}

/* The most that the unknown terms of a except `skip` with a smaller coefficient add up to; -1: unbounded. */
static int64_t rest_span(const known *k, const tn_affine *a, int skip)
{
    int64_t sum = 0, mine = a->term[skip].coef < 0 ? -a->term[skip].coef : a->term[skip].coef;
    for (int i = 0; i < a->n; i++) {
        int64_t c = a->term[i].coef < 0 ? -a->term[i].coef : a->term[i].coef, width, span;
        if (i == skip || c > mine || is_known(k, a->term[i].atom))
            continue;
        tn_range r = tn_bounds(k->facts, a->term[i].atom);
        if (r.lo == INT64_MIN || r.hi == INT64_MAX || __builtin_sub_overflow(r.hi, r.lo, &width) ||
            __builtin_mul_overflow(width, c, &span) || __builtin_add_overflow(sum, span, &sum))
            return -1;
        if (c == mine) /* two terms of one weight overlap unless one is constant */
            return width ? -1 : sum;
    }
    return sum;
}

static void learn_terms(known *k, const tn_expr *e)
{
    tn_affine a;
    if (!tn_affine_of(k->pool, e, &a) || (a.n == 1 && a.term[0].atom == e))
        return;
    for (int i = 0; i < a.n; i++) {
        int64_t mine = a.term[i].coef < 0 ? -a.term[i].coef : a.term[i].coef;
        int64_t rest = is_known(k, a.term[i].atom) ? 0 : rest_span(k, &a, i);
        if (rest < 0 || rest >= mine)
            return; /* terms are told apart only if all of them are */
    }
    for (int i = 0; i < a.n; i++)
        learn(k, a.term[i].atom);
}

static void learn_quotient(known *k, const tn_expr *mod)
{
    if (mod->kind != TN_E_FLOORMOD)
        return;
    const tn_expr *x = mod->src[0];
    if (is_known(k, tn_simplify(k->pool, k->facts, tn_fdiv(k->pool, x, mod->src[1]))))
        learn(k, x);
}

/* Is load's index an injective map of the axes (and reduction axes) of its reader? */
static bool injective(tn_te *te, const tn_tensor *reader, const tn_expr *load)
{
    tn_facts facts;
    known k = {.pool = te->pool, .facts = &facts};
    tn_facts_init(&facts);
    for (int i = 0; i < reader->ndim; i++)
        tn_facts_loop(te->pool, &facts, reader->axis[i], reader->dim[i]);
    for (uint32_t i = 0; i < reader->n_reduce; i++)
        tn_facts_loop(te->pool, &facts, reader->raxis[i], reader->rextent[i]);
    for (uint32_t i = 0; i < load->u.load.n_index; i++)
        learn(&k, tn_simplify(te->pool, &facts, load->src[i]));
    for (int before = -1; before != k.n;) {
        before = k.n;
        for (int i = 0; i < k.n; i++) {
            learn_terms(&k, k.at[i]);
            learn_quotient(&k, k.at[i]);
        }
    }
    bool all = true;
    for (int i = 0; i < reader->ndim; i++)
        all = all && (tn_is_value(reader->dim[i], 1) || is_known(&k, reader->axis[i]));
    for (uint32_t i = 0; i < reader->n_reduce; i++)
        all = all && (tn_is_value(reader->rextent[i], 1) || is_known(&k, reader->raxis[i]));
    tn_facts_deinit(&facts);
    return all;
}

int tn_te_readers(tn_te *te, const tn_tensor *t, bool *out_once)
{
    int readers = 0;
    bool once = true;
    for (tn_tensor *u = te->first; u; u = u->next) {
        reads r = {.buffer = t->buffer};
        if (u->inlined || u == t)
            continue;
        count_in(u->value, &r);
        count_in(u->where, &r);
        count_in(u->init, &r);
        if (u->kind == TN_TENSOR_EXTERN)
            tn_stmt_walk(&u->body, count_in_stmt, NULL, &r);
        if (!r.n)
            continue;
        readers++;
        once = once && r.n == 1 && u->kind == TN_TENSOR_COMPUTE && injective(te, u, r.load);
    }
    *out_once = once;
    return readers;
}
