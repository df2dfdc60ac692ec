/* Statements: building, editing the tree in place, walking, copying, substituting, facts.
 *
 * Invariants: a statement is in at most one list; list->owner is its parent; the two lists of a statement are
 * embedded in it, so their addresses are stable. Walks and copies climb by parent links: no recursion, any
 * depth.
 */
#include "base/vec.h"
#include "tir/func.h"

#include <string.h>

tn_stmt *tn_stmt_new(tn_func *f, enum tn_sk kind)
{
    tn_stmt *s = TN_NEW(f->arena, tn_stmt);
    s->kind = (uint8_t)kind;
    tn_body *body[2];
    int n = tn_stmt_bodies(s, body);
    for (int i = 0; i < n; i++)
        body[i]->owner = s;
    return s;
}

tn_stmt *tn_stmt_for(tn_func *f, const tn_expr *var, const tn_expr *extent, enum tn_loop_kind kind)
{
    TN_ASSERT(var->kind == TN_E_VAR);
    tn_stmt *s = tn_stmt_new(f, TN_S_FOR);
    s->u.loop.var = var;
    s->u.loop.extent = extent;
    s->u.loop.kind = (uint8_t)kind;
    return s;
}

static const tn_expr **copy_exprs(tn_func *f, const tn_expr *const *at, uint32_t n)
{
    const tn_expr **to = TN_NEW_N(f->arena, const tn_expr *, n);
    if (n)
        memcpy(to, at, n * sizeof *to);
    return to;
}

tn_stmt *tn_stmt_store(tn_func *f, uint32_t buffer, int n, const tn_expr *const index[], const tn_expr *value,
                       const tn_expr *mask)
{
    tn_stmt *s = tn_stmt_new(f, TN_S_STORE);
    s->u.store.buffer = buffer;
    s->u.store.n_index = (uint32_t)n;
    s->u.store.index = copy_exprs(f, index, (uint32_t)n);
    s->u.store.value = value;
    s->u.store.mask = mask;
    return s;
}

tn_stmt *tn_stmt_block(tn_func *f, const char *name, const char *tag, int n_iter)
{
    tn_stmt *s = tn_stmt_new(f, TN_S_BLOCK);
    s->u.block.name = tn_func_block_name(f, name);
    s->u.block.tag = tn_intern(f->ctx, tag ? tag : "");
    s->u.block.source = "";
    s->u.block.n_iter = (uint32_t)n_iter;
    s->u.block.iter = TN_NEW_N(f->arena, tn_iter, (size_t)n_iter);
    return s;
}

tn_stmt *tn_stmt_if(tn_func *f, const tn_expr *cond)
{
    tn_stmt *s = tn_stmt_new(f, TN_S_IF);
    s->u.cond.cond = cond;
    return s;
}

tn_stmt *tn_stmt_let(tn_func *f, const tn_expr *var, const tn_expr *value)
{
    TN_ASSERT(var->kind == TN_E_VAR);
    tn_stmt *s = tn_stmt_new(f, TN_S_LET);
    s->u.let.var = var;
    s->u.let.value = value;
    return s;
}

tn_stmt *tn_stmt_decl(tn_func *f, uint32_t buffer)
{
    tn_stmt *s = tn_stmt_new(f, TN_S_BUFFER);
    s->u.decl.buffer = buffer;
    return s;
}

tn_stmt *tn_stmt_check(tn_func *f, const tn_expr *cond, const char *text)
{
    tn_stmt *s = tn_stmt_new(f, TN_S_CHECK);
    s->u.check.cond = cond;
    s->u.check.text = tn_intern(f->ctx, text ? text : "");
    return s;
}

tn_stmt *tn_stmt_prefetch(tn_func *f, uint32_t buffer, int n, const tn_expr *const index[])
{
    tn_stmt *s = tn_stmt_new(f, TN_S_PREFETCH);
    s->u.prefetch.buffer = buffer;
    s->u.prefetch.n_index = (uint32_t)n;
    s->u.prefetch.index = copy_exprs(f, index, (uint32_t)n);
    return s;
}

void tn_body_insert(tn_body *b, tn_stmt *before, tn_stmt *s)
{
    TN_ASSERT(!s->list && (!before || before->list == b));
    s->list = b;
    s->next = before;
    s->prev = before ? before->prev : b->last;
    if (s->prev)
        s->prev->next = s;
    else
        b->first = s;
    if (before)
        before->prev = s;
    else
        b->last = s;
}

void tn_body_append(tn_body *b, tn_stmt *s) { tn_body_insert(b, NULL, s); }

void tn_stmt_remove(tn_stmt *s)
{
    tn_body *b = s->list;
    TN_ASSERT(b);
    if (s->prev)
        s->prev->next = s->next;
    else
        b->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
    else
        b->last = s->prev;
    s->prev = s->next = NULL;
    s->list = NULL;
}

void tn_stmt_replace(tn_stmt *old, tn_stmt *with)
{
    tn_body *b = old->list;
    tn_stmt *next = old->next;
    tn_stmt_remove(old);
    tn_body_insert(b, next, with);
}

void tn_body_move(tn_body *to, tn_stmt *before, tn_body *from)
{
    TN_ASSERT(to != from);
    while (from->first) {
        tn_stmt *s = from->first;
        tn_stmt_remove(s);
        tn_body_insert(to, before, s);
    }
}

bool tn_stmt_inside(const tn_stmt *s, const tn_stmt *ancestor)
{
    for (const tn_stmt *p = tn_stmt_parent(s); p; p = tn_stmt_parent(p))
        if (p == ancestor)
            return true;
    return false;
}

int tn_stmt_bodies(tn_stmt *s, tn_body *out[2])
{
    switch (s->kind) {
    case TN_S_FOR: out[0] = &s->u.loop.body; return 1;
    case TN_S_BLOCK:
        out[0] = &s->u.block.init;
        out[1] = &s->u.block.body;
        return 2;
    case TN_S_IF:
        out[0] = &s->u.cond.then;
        out[1] = &s->u.cond.other;
        return 2;
    default: return 0;
    }
}

/* The first statement in the owner's lists that come after `list` (NULL: from the first one on). */
static tn_stmt *first_after(tn_stmt *owner, const tn_body *list)
{
    tn_body *body[2];
    int n = tn_stmt_bodies(owner, body), i = 0;
    if (list)
        while (i < n && body[i++] != list)
            ;
    for (; i < n; i++)
        if (body[i]->first)
            return body[i]->first;
    return NULL;
}

void tn_stmt_walk(tn_body *b, bool (*enter)(tn_stmt *s, void *user), void (*leave)(tn_stmt *s, void *user),
                  void *user)
{
    tn_stmt *s = b->first;
    while (s) {
        bool in = enter ? enter(s, user) : true;
        tn_stmt *to = in ? first_after(s, NULL) : NULL;
        while (!to) {
            tn_body *list = s->list; /* leave may unlink s */
            tn_stmt *next = s->next, *owner = list->owner;
            if (leave)
                leave(s, user);
            if (!next && list == b)
                return;
            to = next ? next : first_after(owner, list);
            s = owner;
        }
        s = to;
    }
}

static tn_stmt *clone_one(tn_func *f, const tn_stmt *s)
{
    tn_stmt *c = tn_stmt_new(f, s->kind);
    switch (s->kind) {
    case TN_S_FOR:
        c->u.loop.var = s->u.loop.var;
        c->u.loop.extent = s->u.loop.extent;
        c->u.loop.kind = s->u.loop.kind;
        c->u.loop.tensor = s->u.loop.tensor;
        break;
    case TN_S_BLOCK:
        c->u.block.name = s->u.block.name;
        c->u.block.tag = s->u.block.tag;
        c->u.block.source = s->u.block.source;
        c->u.block.mask = s->u.block.mask;
        c->u.block.n_iter = s->u.block.n_iter;
        c->u.block.iter = TN_NEW_N(f->arena, tn_iter, s->u.block.n_iter);
        if (s->u.block.n_iter)
            memcpy(c->u.block.iter, s->u.block.iter, s->u.block.n_iter * sizeof(tn_iter));
        break;
    case TN_S_STORE:
        c->u.store = s->u.store;
        c->u.store.index = copy_exprs(f, s->u.store.index, s->u.store.n_index);
        break;
    case TN_S_IF: c->u.cond.cond = s->u.cond.cond; break;
    case TN_S_LET: c->u.let = s->u.let; break;
    case TN_S_BUFFER: c->u.decl = s->u.decl; break;
    case TN_S_CHECK: c->u.check = s->u.check; break;
    case TN_S_PREFETCH:
        c->u.prefetch = s->u.prefetch;
        c->u.prefetch.index = copy_exprs(f, s->u.prefetch.index, s->u.prefetch.n_index);
        break;
    default: TN_ASSERT(0);
    }
    return c;
}

/* Where the copy of `to` goes when `from` (a statement or one of its siblings' children) has the copy list d. */
static tn_body *same_list(tn_stmt *owner, tn_stmt *copy, const tn_body *list)
{
    tn_body *a[2], *b[2];
    int n = tn_stmt_bodies(owner, a);
    tn_stmt_bodies(copy, b);
    for (int i = 0; i < n; i++)
        if (a[i] == list)
            return b[i];
    return NULL;
}

void tn_body_clone(tn_func *f, tn_body *dst, const tn_body *src)
{
    const tn_stmt *s = src->first;
    tn_body *d = dst; /* the copy of s->list */
    while (s) {
        tn_stmt *c = clone_one(f, s);
        tn_body_append(d, c);
        tn_stmt *to = first_after((tn_stmt *)(uintptr_t)s, NULL), *owner = (tn_stmt *)(uintptr_t)s, *copy = c;
        if (to)
            d = same_list(owner, copy, to->list);
        while (!to) {
            const tn_body *list = s->list;
            if ((to = s->next) != NULL || list == src)
                break;
            owner = list->owner;
            copy = d->owner;
            to = first_after(owner, list);
            if (to) {
                d = same_list(owner, copy, to->list);
            } else {
                s = owner;
                d = copy->list;
            }
        }
        s = to;
    }
}

tn_stmt *tn_stmt_clone(tn_func *f, const tn_stmt *s)
{
    tn_stmt *c = clone_one(f, s);
    tn_body *from[2], *to[2];
    int n = tn_stmt_bodies((tn_stmt *)(uintptr_t)s, from);
    tn_stmt_bodies(c, to);
    for (int i = 0; i < n; i++)
        tn_body_clone(f, to[i], from[i]);
    return c;
}

static void slot(const tn_expr **e, const tn_expr *(*fn)(const tn_expr *e, void *user), void *user)
{
    if (*e)
        *e = fn(*e, user);
}

void tn_stmt_exprs(tn_stmt *s, const tn_expr *(*fn)(const tn_expr *e, void *user), void *user)
{
    switch (s->kind) {
    case TN_S_FOR: slot(&s->u.loop.extent, fn, user); break;
    case TN_S_BLOCK:
        for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
            slot(&s->u.block.iter[i].extent, fn, user);
            slot(&s->u.block.iter[i].value, fn, user);
        }
        slot(&s->u.block.mask, fn, user);
        break;
    case TN_S_STORE:
        for (uint32_t i = 0; i < s->u.store.n_index; i++)
            slot(&s->u.store.index[i], fn, user);
        slot(&s->u.store.value, fn, user);
        slot(&s->u.store.mask, fn, user);
        break;
    case TN_S_IF: slot(&s->u.cond.cond, fn, user); break;
    case TN_S_LET: slot(&s->u.let.value, fn, user); break;
    case TN_S_CHECK: slot(&s->u.check.cond, fn, user); break;
    case TN_S_PREFETCH:
        for (uint32_t i = 0; i < s->u.prefetch.n_index; i++)
            slot(&s->u.prefetch.index[i], fn, user);
        break;
    default: break;
    }
}

typedef struct uses {
    const tn_expr *var;
    bool found;
} uses;

static const tn_expr *uses_expr(const tn_expr *e, void *user)
{
    uses *u = user;
    u->found = u->found || tn_uses(e, u->var);
    return e;
}

static bool uses_stmt(tn_stmt *s, void *user)
{
    uses *u = user;
    if (!u->found)
        tn_stmt_exprs(s, uses_expr, user);
    return !u->found;
}

bool tn_is_total(const tn_expr *e, void *user)
{
    (void)user;
    bool divides = tn_dtype_is_index(e->dtype) && e->kind >= TN_E_FLOORDIV && e->kind <= TN_E_TRUNCMOD;
    bool shifts = e->kind == TN_E_SHL || e->kind == TN_E_SHR;
    return (!divides && !shifts) || !e->src[1]->has_load;
}

bool tn_body_uses(tn_body *b, const tn_expr *var)
{
    uses u = {var, false};
    tn_stmt_walk(b, uses_stmt, NULL, &u);
    return u.found;
}

typedef struct subst {
    tn_pool *pool;
    int n;
    const tn_expr *const *from, *const *to;
} subst;

static const tn_expr *subst_expr(const tn_expr *e, void *user)
{
    const subst *u = user;
    return tn_subst(u->pool, e, u->n, u->from, u->to);
}

static bool subst_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, subst_expr, user);
    return true;
}

void tn_stmt_subst(tn_func *f, tn_stmt *s, int n, const tn_expr *const from[], const tn_expr *const to[])
{
    subst u = {f->pool, n, from, to};
    subst_stmt(s, &u);
    tn_body *body[2];
    int nb = tn_stmt_bodies(s, body);
    for (int i = 0; i < nb; i++)
        tn_stmt_walk(body[i], subst_stmt, NULL, &u);
}

typedef struct find {
    const char *name;
    tn_stmt *found;
} find;

static bool find_block(tn_stmt *s, void *user)
{
    find *u = user;
    if (!u->found && s->kind == TN_S_BLOCK && strcmp(s->u.block.name, u->name) == 0)
        u->found = s;
    return !u->found;
}

tn_stmt *tn_func_block(tn_func *f, const char *name)
{
    find u = {name, NULL};
    tn_stmt_walk(&f->body, find_block, NULL, &u);
    return u.found;
}

int tn_stmt_loops(tn_stmt *s, int max, tn_stmt *out[])
{
    int n = 0;
    for (tn_stmt *p = tn_stmt_parent(s); p; p = tn_stmt_parent(p))
        n += p->kind == TN_S_FOR;
    int k = n;
    for (tn_stmt *p = tn_stmt_parent(s); p; p = tn_stmt_parent(p))
        if (p->kind == TN_S_FOR && --k < max)
            out[k] = p;
    return n < max ? n : max;
}

/* A condition with a load may stop holding at the next store, so it is no fact. */
static void assume(tn_facts *out, const tn_expr *cond)
{
    if (cond && !cond->has_load)
        tn_facts_assume(out, cond);
}

static void facts_let(tn_pool *p, const tn_stmt *s, tn_facts *out)
{
    const tn_expr *var = s->u.let.var, *value = s->u.let.value;
    if (var->dtype.lanes != 1 || (!tn_dtype_is_index(var->dtype) && !tn_dtype_is_int(var->dtype)))
        return;
    tn_range r = tn_bounds(out, value);
    tn_facts_range(out, var, r.lo, r.hi);
    if (!value->has_load)
        tn_facts_assume(out, tn_eq(p, var, value));
}

/* Iteration variables are in their domains; in init the mask may not hold, and a reduce variable is 0. */
static void facts_block(tn_pool *p, const tn_stmt *s, bool in_body, tn_facts *out)
{
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        if (in_body || it->kind == TN_ITER_SPATIAL)
            tn_facts_loop(p, out, it->var, it->extent);
        else
            tn_facts_range(out, it->var, 0, 0);
    }
    if (in_body)
        assume(out, s->u.block.mask);
}

/* Where its body runs, a loop has a turn: what is positive then, and, of an extent of one symbol, how large that is. */
static void assume_turn(tn_pool *p, const tn_expr *extent, tn_facts *out)
{
    int64_t k, least = 0;
    tn_affine a;
    if (extent->kind == TN_E_MAX && tn_is_value(extent->src[1], 0)) {
        assume(out, tn_lt(p, tn_idx(p, 0), extent->src[0]));
        return;
    }
    if (extent->kind == TN_E_FLOORDIV && tn_is_int(extent->src[1], &k) && k > 0) {
        least = k - 1;
        extent = extent->src[0];
    }
    if (tn_affine_of(p, extent, &a) && a.n == 1 && a.term[0].atom->kind == TN_E_SYM &&
        tn_bounds(out, extent).lo <= least)
        assume(out, tn_lt(p, tn_idx(p, least), extent));
}

void tn_stmt_facts_enter(tn_pool *p, const tn_stmt *s, const tn_body *in, tn_facts *out)
{
    if (s->kind == TN_S_FOR) {
        tn_facts_loop(p, out, s->u.loop.var, s->u.loop.extent);
        assume_turn(p, s->u.loop.extent, out);
    } else if (s->kind == TN_S_BLOCK)
        facts_block(p, s, in == &s->u.block.body, out);
    else if (s->kind == TN_S_IF)
        assume(out, in == &s->u.cond.then ? s->u.cond.cond : tn_not(p, s->u.cond.cond));
}

void tn_stmt_facts_after(tn_pool *p, const tn_stmt *s, tn_facts *out)
{
    if (s->kind == TN_S_LET)
        facts_let(p, s, out);
    else if (s->kind == TN_S_CHECK)
        assume(out, s->u.check.cond);
}

void tn_stmt_facts(tn_func *f, const tn_stmt *s, tn_facts *out)
{
    tn_vec(const tn_stmt *) path = {0}; /* s, its parent, ... */
    for (const tn_stmt *p = s; p; p = tn_stmt_parent(p))
        tn_vec_push(&path, p);
    tn_facts_init(out);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        tn_facts_range(out, tn_sym(f->pool, f->symbol[i].name), f->symbol[i].min, f->symbol[i].max);
    for (size_t i = path.n; i-- > 0;) {
        const tn_stmt *at = path.at[i];
        for (const tn_stmt *b = at->list ? at->list->first : at; b != at; b = b->next)
            tn_stmt_facts_after(f->pool, b, out);
        if (i)
            tn_stmt_facts_enter(f->pool, at, path.at[i - 1]->list, out);
    }
    tn_vec_deinit(&path);
}
