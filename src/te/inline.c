/* Inlining: putting what a tensor's element is where it is read, and asking who reads it and how often.
 *
 * A read under a condition (masked load) stays one: the loads of what is put in its place get the condition
 * too, so nothing outside is touched, and operations that could trap get a harmless operand where the
 * condition fails.
 */
#include "te/te.h"

#include "base/vec.h"

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
    const tn_expr *guarded = tn_rewrite(p, value, guard, (void *)(uintptr_t)cond);
    /* A plain read keeps one load instead of a load and a select; what its index reads has the condition, too. */
    if (value->kind == TN_E_LOAD && (!tn_load_other(value) || tn_load_other(value) == other))
        return tn_load(p, value->dtype, value->u.load.buffer, (int)value->u.load.n_index, guarded->src,
                       tn_load_mask(guarded), other);
    return tn_select(p, cond, guarded, other);
}

/* ---- expansion ----
 * A tensor is only marked when it is inlined. Its readers are rewritten once, at the end, from the reader back
 * to what it reads: each read of a marked tensor becomes the tensor's own (short) value at that place, whose
 * reads are expanded in turn. One memo serves a whole construction, so a chain of n tensors costs O(n), and the
 * stack is explicit, so it may be long.
 */
typedef struct pending {
    const tn_expr *e, *value;
    bool opened;
} pending; /* value: of a read, in the reader's terms */
typedef tn_vec(pending) todo;

static const tn_expr *expanded(const tn_te *te, const tn_expr *e)
{
    uint64_t v = 0;
    if (!e || !e->has_load)
        return e;
    return tn_map_get(te->expansion, e->id, &v) ? (const tn_expr *)(uintptr_t)v : NULL;
}

static const tn_tensor *inlined_at(const tn_te *te, const tn_expr *e)
{
    const tn_tensor *t = e->kind == TN_E_LOAD ? te->index.of[e->u.load.buffer] : NULL;
    return t && t->inlined ? t : NULL;
}

static void want(const tn_te *te, todo *work, const tn_expr *e)
{
    if (e && !expanded(te, e))
        tn_vec_push(work, ((pending){.e = e}));
}

/* Pushes the outermost reads of inlined tensors in e. */
static void want_reads(const tn_te *te, todo *work, const tn_expr *e)
{
    tn_map seen = {0};
    tn_vec(const tn_expr *) open = {0};
    uint64_t ignored;
    tn_vec_push(&open, e);
    while (open.n > 0) {
        e = tn_vec_pop(&open);
        if (expanded(te, e) || tn_map_get(&seen, e->id, &ignored))
            continue;
        tn_map_put(&seen, e->id, 0);
        if (inlined_at(te, e))
            tn_vec_push(work, ((pending){.e = e}));
        else
            for (int i = 0; i < e->nsrc; i++)
                tn_vec_push(&open, e->src[i]);
    }
    tn_vec_deinit(&open);
    tn_map_deinit(&seen);
}

/* Opens an expression: what must be expanded before it goes onto the stack. */
static void open_pending(const tn_te *te, todo *work)
{
    pending *top = &tn_vec_last(work);
    const tn_expr *e = top->e;
    const tn_tensor *t = inlined_at(te, e);
    top->opened = true;
    if (!t) {
        want_reads(te, work, e);
        return;
    }
    const tn_expr *value = top->value = tn_subst(te->pool, t->value, t->ndim, t->axis, e->src);
    want(te, work, value);
    want(te, work, tn_load_mask(e));
    want(te, work, tn_load_other(e));
}

static void close_pending(const tn_te *te, const pending *top)
{
    const tn_expr *e = top->e;
    if (!inlined_at(te, e)) {
        tn_rewrite_memo(te->pool, e, te->expansion);
        return;
    }
    const tn_expr *r = expanded(te, top->value);
    if (tn_load_mask(e))
        r = element_where(te->pool, r, expanded(te, tn_load_mask(e)), expanded(te, tn_load_other(e)));
    tn_map_put(te->expansion, e->id, tn_map_key(r));
}

static const tn_expr *expand(const tn_expr *e, void *user)
{
    const tn_te *te = user;
    todo work = {0};
    want(te, &work, e);
    while (work.n > 0) {
        const pending top = tn_vec_last(&work);
        if (expanded(te, top.e)) {
            work.n--;
        } else if (!top.opened) {
            open_pending(te, &work);
        } else {
            close_pending(te, &top);
            work.n--;
        }
    }
    tn_vec_deinit(&work);
    return expanded(te, e);
}

static void make_index(tn_te *te);

static bool expand_in_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, expand, user);
    return true;
}

void tn_te_inline(tn_te *te, tn_tensor *t)
{
    (void)te;
    TN_ASSERT(t->kind == TN_TENSOR_COMPUTE && t->value && t->reducer == TN_RED_NONE && !t->step &&
              !t->inlined);
    t->inlined = true;
}

void tn_te_expand(tn_te *te)
{
    tn_map memo = {0};
    make_index(te);
    te->expansion = &memo;
    for (tn_tensor *u = te->first; u; u = u->next) {
        if (u->inlined)
            continue;
        u->value = expand(u->value, te);
        u->where = expand(u->where, te);
        u->init = expand(u->init, te);
        if (u->kind == TN_TENSOR_EXTERN)
            tn_stmt_walk(&u->body, expand_in_stmt, NULL, te);
    }
    te->expansion = NULL;
    tn_map_deinit(&memo);
}

/* ---- readers ---- */

/* One tensor that reads another: how many different reads, and the last of them. */
struct tn_te_reader {
    const tn_tensor *who;
    int n;
    const tn_expr *load;
    tn_te_reader *next;
};

typedef struct noting {
    tn_te *te;
    const tn_tensor *who;
} noting;

static bool note_load(const tn_expr *e, void *user)
{
    const noting *n = user;
    if (e->kind != TN_E_LOAD)
        return true;
    tn_te_reader **list = &n->te->index.reader[e->u.load.buffer], *r = *list;
    if (!r || r->who != n->who) {
        r = TN_NEW(n->te->arena, tn_te_reader);
        *r = (tn_te_reader){.who = n->who, .next = *list};
        *list = r;
    }
    if (e != r->load) {
        r->n++;
        r->load = e;
    }
    return true;
}

static const tn_expr *note_in(const tn_expr *e, void *user)
{
    if (e && e->has_load)
        tn_each(e, note_load, user);
    return e;
}

static bool note_in_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, note_in, user);
    return true;
}

static void make_index(tn_te *te)
{
    if (te->index.last == te->last && te->last)
        return;
    te->index.of = TN_NEW_N(te->arena, tn_tensor *, te->func->n_buffer);
    te->index.reader = TN_NEW_N(te->arena, tn_te_reader *, te->func->n_buffer);
    te->index.last = te->last;
    for (tn_tensor *u = te->first; u; u = u->next) {
        noting n = {te, u};
        te->index.of[u->buffer] = u;
        note_in(u->value, &n);
        note_in(u->where, &n);
        note_in(u->init, &n);
        if (u->kind == TN_TENSOR_EXTERN)
            tn_stmt_walk(&u->body, note_in_stmt, NULL, &n);
    }
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
typedef struct known {
    tn_pool *pool;
    const tn_facts *facts;
    int n;
    const tn_expr *at[KNOWN_MAX];
} known;

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
    make_index(te);
    for (const tn_te_reader *r = te->index.reader[t->buffer]; r; r = r->next) {
        if (r->who->inlined)
            continue;
        readers++;
        once = once && r->n == 1 && r->who->kind == TN_TENSOR_COMPUTE && injective(te, r->who, r->load);
    }
    *out_once = once;
    return readers;
}

/* ---- element by element ---- */

static bool reads_own_element(const tn_te_reader *r, const tn_tensor *t)
{
    const tn_tensor *w = r->who;
    if (w->kind != TN_TENSOR_COMPUTE || w->reducer != TN_RED_NONE || w->step || r->n != 1 ||
        w->ndim != t->ndim || r->load->u.load.n_index != t->ndim || tn_load_mask(r->load))
        return false;
    for (int i = 0; i < t->ndim; i++)
        if (r->load->src[i] != w->axis[i] && !(tn_is_value(t->dim[i], 1) && tn_is_value(w->dim[i], 1)))
            return false;
    return true;
}

void tn_te_pointwise(tn_te *te, const bool *stays, bool *out)
{
    tn_vec(tn_tensor *) order = {0};
    const tn_tensor **home =
        TN_NEW_N(te->arena, const tn_tensor *, te->func->n_buffer); /* where all ways end */
    make_index(te);
    for (tn_tensor *t = te->first; t; t = t->next)
        tn_vec_push(&order, t);
    while (order.n) {
        const tn_tensor *t = tn_vec_pop(&order), *end = NULL;
        bool all = t->kind == TN_TENSOR_COMPUTE && t->reducer == TN_RED_NONE && !t->step;
        for (const tn_te_reader *r = te->index.reader[t->buffer]; r && all; r = r->next) {
            all = reads_own_element(r, t) && (!end || end == home[r->who->buffer]);
            end = home[r->who->buffer];
        }
        out[t->buffer] = all && end;
        home[t->buffer] = all && end && !stays[t->buffer] ? end : t;
    }
    tn_vec_deinit(&order);
}
