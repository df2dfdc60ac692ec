/* Step decompose_reduction: the init of a reduction block becomes a block of its own before the given loop. */
#include "schedule/sched_impl.h"

#include <string.h>

/* inner: the loops the init runs over too; once: those of one turn that feed nothing. */
typedef struct {
    tn_stmt *block, *loop;
    int n, n_once;
    tn_stmt *inner[TN_MAX_LOOPS], *once[TN_MAX_LOOPS];
} split_off;

static bool in_terms(const tn_stmt *block, const tn_expr *var)
{
    const tn_expr *term[TN_MAX_TERMS];
    bool found = false;
    for (int i = tn_loop_terms(block, TN_MAX_TERMS, term) - 1; i >= 0; i--)
        found |= tn_uses(term[i], var);
    return found;
}

typedef struct {
    tn_func *f;
    const tn_stmt *loop;
    bool found;
} inner_use;

static bool look_for_inner(const tn_expr *e, void *user)
{
    inner_use *u = user;
    const tn_stmt *decl = e->kind == TN_E_LOAD ? tn_decl_of(u->f, e->u.load.buffer) : NULL;
    u->found |= decl && tn_stmt_inside(decl, u->loop);
    return !u->found;
}

static const tn_expr *look_for_loads(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, look_for_inner, user);
    return e;
}

/* Does the init read memory that is declared in the loop? */
static bool reads_inner(const tn_sched *s, const split_off *d)
{
    inner_use u = {s->func, d->loop, false};
    for (tn_stmt *x = d->block->u.block.init.first; x; x = x->next)
        tn_stmt_exprs(x, look_for_loads, &u);
    return u.found;
}

static tn_verdict check(tn_sched *s, split_off *d)
{
    const tn_expr *term[TN_MAX_TERMS];
    if (!d->block->u.block.init.first)
        return TN_REJECT_REDUCE;
    if (tn_loop_terms(d->block, TN_MAX_TERMS, term) < 0)
        return TN_REJECT_MASK;
    if (!tn_stmt_inside(d->block, d->loop))
        return TN_REJECT_LOOP;
    for (const tn_stmt *x = tn_stmt_parent(d->block); x != d->loop; x = tn_stmt_parent(x))
        if (x->kind != TN_S_FOR)
            return TN_REJECT_NEST; /* a block around it has iterations that its init is over */
    int64_t target = tn_block_target(d->block);
    if (target >= 0 && !tn_writes_alone(s, d->block, (uint32_t)target))
        return TN_REJECT_REDUCE; /* a part of a peeled reduction: only the first may begin anew */
    const tn_stmt *decl = target < 0 ? NULL : tn_decl_of(s->func, (uint32_t)target);
    if ((decl && tn_stmt_inside(decl, d->loop)) || reads_inner(s, d))
        return TN_REJECT_SCOPE; /* the init would stand outside of a buffer's life */
    for (tn_stmt *l = tn_stmt_parent(d->loop); l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && tn_loop_feeds(s, l, d->block, TN_ITER_REDUCE))
            return TN_REJECT_REDUCE;
    const tn_stmt *inner[TN_MAX_LOOPS];
    int n = tn_loops_between(d->loop, d->block, TN_MAX_LOOPS - 1, inner);
    d->n = d->n_once = 0;
    const tn_stmt *all[TN_MAX_LOOPS] = {d->loop};
    for (int i = 0; i < n; i++)
        all[i + 1] = inner[i];
    for (int i = 0; i <= n; i++) {
        bool spatial = tn_loop_feeds(s, all[i], d->block, TN_ITER_SPATIAL);
        bool reduces = tn_loop_feeds(s, all[i], d->block, TN_ITER_REDUCE);
        if (spatial && reduces)
            return TN_REJECT_REDUCE;
        if (!spatial && !reduces && tn_body_uses(&d->block->u.block.init, all[i]->u.loop.var))
            return TN_REJECT_DEPEND; /* the variable is none of the init's */
        if (!spatial && !reduces && tn_is_value(all[i]->u.loop.extent, 1))
            d->once[d->n_once++] = (tn_stmt *)all[i];
        else if (!spatial && !reduces && in_terms(d->block, all[i]->u.loop.var))
            return TN_REJECT_MASK; /* which turns run is not for the init to know */
        else if (!spatial && !reduces)
            return TN_REJECT_DEPEND; /* each turn begins the sum anew */
        if (spatial)
            d->inner[d->n++] = (tn_stmt *)all[i];
    }
    return TN_DONE;
}

/* The init block: the spatial iterations with fresh variables, bound as in the update. */
static tn_stmt *make_init(tn_sched *s, split_off *d)
{
    tn_func *f = s->func;
    tn_stmt *b = d->block;
    int n = 0;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        n += b->u.block.iter[i].kind == TN_ITER_SPATIAL;
    tn_stmt *init =
        tn_stmt_block(f, tn_arena_printf(s->arena, "%s.init", b->u.block.name), b->u.block.tag, n);
    init->u.block.source = b->u.block.source;
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS];
    int k = 0;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++) {
        tn_iter it = b->u.block.iter[i];
        if (it.kind != TN_ITER_SPATIAL)
            continue;
        from[k] = it.var;
        it.var = tn_func_add_var(f, tn_sched_var_name(s, it.var), TN_IDX);
        to[k] = it.var;
        init->u.block.iter[k++] = it;
    }
    tn_body_move(&init->u.block.body, NULL, &b->u.block.init);
    for (tn_stmt *x = init->u.block.body.first; x; x = x->next)
        tn_stmt_subst(f, x, k, from, to);
    return init;
}

tn_verdict tn_do_decompose_reduction(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    split_off d = {.block = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL,
                   .loop = tn_sched_loop(s, t->in[0])};
    if (!d.block)
        return TN_REJECT_NAME;
    tn_verdict v = check(s, &d);
    if (v != TN_DONE)
        return v;
    tn_stmt *init = make_init(s, &d), *top = init;
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS];
    for (int i = d.n - 1; i >= 0; i--) {
        const tn_stmt *l = d.inner[i];
        from[i] = l->u.loop.var;
        to[i] = tn_func_add_var(f, tn_sched_var_name(s, l->u.loop.var), TN_IDX);
        tn_stmt *copy = tn_stmt_for(f, to[i], l->u.loop.extent, TN_LOOP_SERIAL);
        tn_body_append(&copy->u.loop.body, top);
        top = copy;
    }
    for (uint32_t i = 0; i < init->u.block.n_iter; i++)
        init->u.block.iter[i].value = tn_subst(f->pool, init->u.block.iter[i].value, d.n, from, to);
    /* init stores that were rewritten over loop variables (set_scope) follow the fresh loops too */
    for (tn_stmt *x = init->u.block.body.first; x; x = x->next)
        tn_stmt_subst(f, x, d.n, from, to);
    tn_body_insert(d.loop->list, d.loop, top);
    for (int i = 0; i < d.n_once; i++) {
        from[d.n + i] = d.once[i]->u.loop.var;
        to[d.n + i] = tn_idx(f->pool, 0);
    }
    tn_take_loop_terms(s, d.block, init, d.n + d.n_once, from, to);
    tn_block_guard_domain(s, init);
    return TN_DONE;
}
