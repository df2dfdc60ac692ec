/* Step rfactor: a reduction over a loop becomes a spatial axis of a partial result, reduced last.
 *
 *     for s, ko, ki < F: block b: acc[s] = acc[s] op term(ko*F + ki)
 *
 * becomes
 *
 *     for s, ko, ki < F: block b.rf: part[s, ki] = part[s, ki] op term(ko*F + ki)
 *     for s, l < F:      block b:    acc[s] = acc[s] op part[s, l]
 *
 * so that the turns of the loop can be lanes of a vector, or tasks. It changes the order of the reduction:
 * refused in strict functions. Each part begins with the initial value, so that must be neutral, or op
 * idempotent.
 */
#include "schedule/sched_impl.h"

#include <string.h>

typedef struct {
    tn_stmt *block, *loop, *home; /* home: the last reduction comes inside it, or NULL */
    int iter;                     /* the reduce iteration that the loop feeds */
    int64_t turns;                /* of the loop */
    const tn_expr *value;         /* what the iteration's rest is bound to; NULL: nothing is left */
    int64_t step,
        rest; /* k = l * step + rest, or l + rest * turns (rest: its extent; -1: the latter, ceil) */
    int64_t buffer;
} factoring;

static bool is_own_load(const tn_expr *e, const tn_stmt *store)
{
    if (e->kind != TN_E_LOAD || e->u.load.buffer != store->u.store.buffer || tn_load_mask(e))
        return false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++)
        if (e->src[d] != store->u.store.index[d])
            return false;
    return true;
}

static bool other_reads(const tn_expr *e, void *user)
{
    return !(e->kind == TN_E_LOAD && e->u.load.buffer == *(uint32_t *)user);
}

int tn_update_operand(const tn_stmt *block)
{
    const tn_stmt *store = tn_body_only(&block->u.block.body);
    if (!store || store->kind != TN_S_STORE || store->u.store.mask || store->u.store.value->nsrc != 2)
        return -1;
    const tn_expr *v = store->u.store.value;
    bool associates = v->kind == TN_E_ADD || v->kind == TN_E_MUL || v->kind == TN_E_MAX ||
                      v->kind == TN_E_MIN || v->kind == TN_E_AND || v->kind == TN_E_OR;
    int own = is_own_load(v->src[0], store) ? 0 : is_own_load(v->src[1], store) ? 1 : -1;
    uint32_t buffer = store->u.store.buffer;
    return associates && own >= 0 && tn_each(v->src[1 - own], other_reads, &buffer) ? own : -1;
}

/* An update with an initial value that may be used more than once. */
static tn_verdict check_update(const factoring *x)
{
    const tn_stmt *init = tn_body_only(&x->block->u.block.init);
    if (!init || init->kind != TN_S_STORE || init->u.store.mask || tn_update_operand(x->block) < 0)
        return TN_REJECT_REDUCE;
    const tn_expr *first = init->u.store.value;
    enum tn_ek k = x->block->u.block.body.first->u.store.value->kind;
    int neutral = k == TN_E_MUL;
    if (k != TN_E_ADD && k != TN_E_MUL)
        return TN_DONE; /* idempotent */
    return tn_is_value(first, neutral) || (first->kind == TN_E_FLOAT && first->u.f == neutral)
               ? TN_DONE
               : TN_REJECT_REDUCE;
}

/* How the loop enters its iteration: as the inner part (step 1) or the outer part of it. */
static tn_verdict find_parts(tn_sched *s, factoring *x)
{
    tn_pool *p = s->func->pool;
    const tn_expr *var = x->loop->u.loop.var, *coef, *rest;
    x->iter = -1;
    for (uint32_t i = 0; i < x->block->u.block.n_iter; i++) {
        const tn_iter *it = &x->block->u.block.iter[i];
        if (!tn_uses(it->value, var))
            continue;
        if (it->kind != TN_ITER_REDUCE || x->iter >= 0)
            return TN_REJECT_REDUCE;
        x->iter = (int)i;
    }
    if (x->iter < 0 || !tn_is_int(x->loop->u.loop.extent, &x->turns) || x->turns < 1)
        return TN_REJECT_REDUCE;
    const tn_iter *it = &x->block->u.block.iter[x->iter];
    tn_facts facts;
    tn_stmt_facts(s->func, x->block, &facts);
    tn_verdict v = TN_REJECT_REGION;
    if (tn_linear(p, &facts, it->value, var, &coef, &rest) && tn_is_int(coef, &x->step)) {
        rest = tn_simplify(p, &facts, rest);
        const tn_expr *turns = tn_idx(p, x->turns);
        if (tn_is_value(rest, 0) && x->step == 1) {
            x->value = NULL;
            v = TN_DONE;
        } else if (x->step == 1 && tn_is_value(tn_simplify(p, &facts, tn_fmod(p, rest, turns)), 0)) {
            x->value = tn_simplify(p, &facts, tn_fdiv(p, rest, turns));
            x->rest = -1;
            v = TN_DONE;
        } else if (x->step > 1 && tn_prove(p, &facts, tn_le(p, tn_idx(p, 0), rest)) == 1 &&
                   tn_prove(p, &facts, tn_lt(p, rest, tn_idx(p, x->step))) == 1) {
            x->value = rest;
            x->rest = x->step;
            v = TN_DONE;
        }
    }
    tn_facts_deinit(&facts);
    return v;
}

/* Nothing but blocks in later statements may read the result: the last reduction comes right after the nest. */
static tn_verdict check_place(tn_sched *s, const factoring *x)
{
    tn_stmt *reader[64], *top = tn_nest_top(x->block, x->home);
    const tn_buffer *b = &s->func->buffer[x->buffer];
    if (b->scope != TN_SCOPE_GLOBAL || b->ndim + 1 > 16)
        return TN_REJECT_SCOPE;
    if (!tn_writes_alone(s, x->block, (uint32_t)x->buffer))
        return TN_REJECT_REDUCE;
    int n = tn_blocks_accessing(&s->func->body, (uint32_t)x->buffer, false, 64, reader);
    for (int i = 0; i < n && i < 64; i++)
        if (reader[i] != x->block && (reader[i] == top || tn_stmt_inside(reader[i], top)))
            return TN_REJECT_DEPEND;
    return n <= 64 && tn_twin_legal(s, x->block, x->home, x->loop) ? TN_DONE : TN_REJECT_NEST;
}

static uint32_t partial_buffer(tn_sched *s, const factoring *x)
{
    tn_func *f = s->func;
    tn_buffer part = f->buffer[x->buffer];
    const tn_expr **dim = TN_NEW_N(s->arena, const tn_expr *, part.ndim + 1u);
    for (int d = 0; d < part.ndim; d++)
        dim[d] = part.dim[d];
    dim[part.ndim++] = tn_idx(f->pool, x->turns);
    part.name = tn_arena_printf(s->arena, "%s.rf", part.name);
    part.dim = dim;
    part.param = -1;
    part.written = false;
    part.layout = NULL;
    part.slack = 0;
    return tn_func_add_buffer(f, &part);
}

/* acc op part: the update with its term replaced by a load. */
static const tn_expr *last_value(tn_pool *p, const tn_expr *update, const tn_stmt *store, const tn_expr *acc,
                                 const tn_expr *part)
{
    bool first = is_own_load(update->src[0], store);
    return tn_bin(p, (enum tn_ek)update->kind, first ? acc : part, first ? part : acc);
}

/* The last reduction: acc[s] = acc[s] op part[s, l], in a nest of its own behind the block's. */
static tn_stmt *make_last(tn_sched *s, const factoring *x, uint32_t part)
{
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    const tn_stmt *store = x->block->u.block.body.first;
    const char *name = x->block->u.block.name;
    tn_twin w;
    tn_twin_make(s, x->block, x->home, x->loop, name, 1, &w);
    const tn_expr *index[TN_MAX_LOOPS + 1];
    int n = (int)store->u.store.n_index;
    for (int d = 0; d < n; d++)
        index[d] = tn_subst(p, store->u.store.index[d], w.n, w.old, w.fresh);
    const tn_expr *loop_var = tn_func_add_var(f, "l", TN_IDX), *l = tn_func_add_var(f, "l", TN_IDX);
    w.block->u.block.iter[w.n] = (tn_iter){l, tn_idx(p, x->turns), loop_var, TN_ITER_REDUCE};
    index[n] = l;
    const tn_expr *acc = tn_load(p, f->buffer[x->buffer].dtype, (uint32_t)x->buffer, n, index, NULL, NULL),
                  *v = tn_load(p, f->buffer[part].dtype, part, n + 1, index, NULL, NULL);
    tn_body_append(&w.block->u.block.body,
                   tn_stmt_store(f, (uint32_t)x->buffer, n, index,
                                 last_value(p, store->u.store.value, store, acc, v), NULL));
    tn_stmt *init = tn_stmt_clone(f, x->block->u.block.init.first);
    tn_stmt_subst(f, init, w.n, w.old, w.fresh);
    tn_body_append(&w.block->u.block.init, init);
    tn_stmt *loop = tn_stmt_for(f, loop_var, tn_idx(p, x->turns), TN_LOOP_SERIAL);
    if (w.top == w.block)
        w.top = loop;
    else
        tn_stmt_replace(w.block, loop);
    tn_body_append(&loop->u.loop.body, w.block);
    tn_stmt *top = tn_nest_top(x->block, x->home);
    tn_body_insert(top->list, top->next, w.top);
    tn_block_guard_domain(s, w.block);
    return loop;
}

/* The block becomes the partial one: the loop's part of the iteration is spatial now, the partial buffer its target. */
static void make_partial(tn_sched *s, const factoring *x, uint32_t part)
{
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    tn_stmt *b = x->block;
    uint32_t n = b->u.block.n_iter;
    tn_iter *iter = TN_NEW_N(f->arena, tn_iter, n + 1), old = b->u.block.iter[x->iter];
    const tn_expr *l = tn_func_add_var(f, "l", TN_IDX), *k = l;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        if (b->u.block.iter[i].kind == TN_ITER_SPATIAL)
            iter[at++] = b->u.block.iter[i];
    iter[at++] = (tn_iter){l, tn_idx(p, x->turns), x->loop->u.loop.var, TN_ITER_SPATIAL};
    for (uint32_t i = 0; i < n; i++) {
        if (b->u.block.iter[i].kind != TN_ITER_REDUCE)
            continue;
        if ((int)i != x->iter) {
            iter[at++] = b->u.block.iter[i];
        } else if (x->value) {
            const tn_expr *r = tn_func_add_var(f, tn_sched_var_name(s, old.var), TN_IDX);
            iter[at++] = (tn_iter){r, x->rest < 0 ? tn_ceildiv(p, old.extent, x->turns) : tn_idx(p, x->rest),
                                   x->value, TN_ITER_REDUCE};
            k = x->rest < 0 ? tn_add(p, tn_mul(p, r, tn_idx(p, x->turns)), l)
                            : tn_add(p, tn_mul(p, l, tn_idx(p, x->step)), r);
        }
    }
    b->u.block.iter = iter;
    b->u.block.n_iter = at;
    if (b->u.block.mask)
        b->u.block.mask = tn_subst(p, b->u.block.mask, 1, &old.var, &k);
    tn_stmt *part_of[2] = {b->u.block.init.first, b->u.block.body.first};
    for (int i = 0; i < 2; i++)
        tn_stmt_subst(f, part_of[i], 1, &old.var, &k);
    tn_stmt *store = part_of[1];
    const tn_expr **index = TN_NEW_N(f->arena, const tn_expr *, store->u.store.n_index + 1u);
    for (uint32_t d = 0; d < store->u.store.n_index; d++)
        index[d] = store->u.store.index[d];
    index[store->u.store.n_index] = l;
    const tn_expr *v = store->u.store.value, *term = v->src[is_own_load(v->src[0], store) ? 1 : 0];
    const tn_expr *acc =
        tn_load(p, f->buffer[part].dtype, part, (int)store->u.store.n_index + 1, index, NULL, NULL);
    bool first = is_own_load(v->src[0], store);
    for (int i = 0; i < 2; i++) {
        part_of[i]->u.store.buffer = part;
        part_of[i]->u.store.index =
            tn_arena_copy(f->arena, index, (part_of[i]->u.store.n_index + 1u) * sizeof *index, 8);
        part_of[i]->u.store.n_index += 1;
    }
    if (b->u.block.iter[at - 1].kind == TN_ITER_SPATIAL && !b->u.block.mask) { /* nothing left to reduce */
        acc = part_of[0]->u.store.value;
        b->u.block.init = (tn_body){.owner = b};
    }
    store->u.store.value = tn_bin(p, (enum tn_ek)v->kind, first ? acc : term, first ? term : acc);
}

tn_verdict tn_do_rfactor(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    factoring x = {.block = t->arg[0].s ? tn_func_block(f, t->arg[0].s) : NULL,
                   .loop = tn_sched_loop(s, t->in[0]),
                   .home = t->nin > 1 ? tn_sched_loop(s, t->in[1]) : NULL};
    if (t->nin > 2)
        return TN_REJECT_ARITY;
    if (!x.block)
        return TN_REJECT_NAME;
    if (f->strict)
        return TN_REJECT_DEPEND;
    if (!tn_stmt_inside(x.block, x.loop) || x.loop->u.loop.kind != TN_LOOP_SERIAL ||
        (x.home && !tn_stmt_inside(x.loop, x.home)))
        return TN_REJECT_LOOP;
    x.buffer = tn_block_target(x.block);
    const tn_expr *term[TN_MAX_TERMS];
    int n_term = tn_loop_terms(x.block, TN_MAX_TERMS, term);
    for (int i = 0; i < n_term; i++)
        if (tn_uses(term[i], x.loop->u.loop.var))
            n_term = -1; /* some parts would never begin */
    tn_verdict v = x.buffer < 0 ? TN_REJECT_REDUCE : n_term < 0 ? TN_REJECT_MASK : check_update(&x);
    if (v == TN_DONE)
        v = find_parts(s, &x);
    if (v == TN_DONE)
        v = check_place(s, &x);
    if (v != TN_DONE)
        return v;
    const char *name = x.block->u.block.name;
    uint32_t part = partial_buffer(s, &x);
    tn_stmt *last = make_last(s, &x, part), *block = tn_body_only(&last->u.loop.body);
    make_partial(s, &x, part);
    x.block->u.block.name = tn_func_block_name(f, tn_arena_printf(s->arena, "%s.rf", name));
    block->u.block.name = name;
    tn_body_insert(&f->body, tn_top_of(x.block), tn_stmt_decl(f, part));
    t->out[0] = tn_sched_value(s, t, 0, last);
    return TN_DONE;
}
