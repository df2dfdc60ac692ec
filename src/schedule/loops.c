/* Steps on loops alone: loops, split, fuse, reorder, vectorize, unroll, parallel. */
#include "schedule/sched_impl.h"

#include <string.h>

tn_verdict tn_do_loops(tn_sched *s, tn_step *t)
{
    if (!t->arg[0].s)
        return TN_REJECT_NAME;
    tn_stmt *b = tn_func_block(s->func, t->arg[0].s), *loop[TN_MAX_LOOPS];
    if (!b)
        return TN_REJECT_NAME;
    int n = tn_stmt_loops(b, TN_MAX_LOOPS, loop);
    if (n != t->nout)
        return TN_REJECT_ARITY;
    for (int i = 0; i < n; i++)
        t->out[i] = tn_sched_value(s, t, i, loop[i]);
    return TN_DONE;
}

typedef struct {
    int n;
    int64_t factor[8], product;
    int tail;
} split_args;

static tn_verdict split_read(const tn_step *t, split_args *a)
{
    *a = (split_args){.product = 1, .tail = TN_TAIL_GUARD};
    for (int i = 0; i < t->narg; i++) {
        const tn_arg *g = &t->arg[i];
        if (g->key && strcmp(g->key, "tail") == 0 && g->s) {
            a->tail = strcmp(g->s, "mask") == 0    ? TN_TAIL_MASK
                      : strcmp(g->s, "exact") == 0 ? TN_TAIL_EXACT
                      : strcmp(g->s, "guard") == 0 ? TN_TAIL_GUARD
                                                   : -1;
            if (a->tail < 0)
                return TN_REJECT_NAME;
            continue;
        }
        if (g->key || g->s || a->n == 8)
            return TN_REJECT_ARITY;
        if (g->i <= 0 || g->i > (1 << 24) || (a->product *= g->i) > (1 << 24))
            return TN_REJECT_FACTOR;
        a->factor[a->n++] = g->i;
    }
    return a->n > 0 && t->nout == a->n + 1 ? TN_DONE : TN_REJECT_ARITY;
}

static void guard_block(tn_stmt *block, void *user) { tn_block_guard_domain(user, block); }

/* Turns of a split loop beyond its old extent are masked. Where such a turn falls outside the domain of a
 * spatial iteration (the loop runs over a whole one, or over several fused, of which it is the outermost) the
 * domain's guard does it. Else the condition on the loop joins the mask; but an init runs whatever the mask,
 * so then there must be none. */
typedef struct {
    tn_sched *s;
    const tn_stmt *loop;
    const tn_expr *cond;
    bool legal;
} tail;

static bool guarded_by_domain(const tail *t, const tn_stmt *block)
{
    tn_pool *p = t->s->func->pool;
    const tn_expr *var = t->loop->u.loop.var, *n = t->loop->u.loop.extent;
    bool found = false;
    tn_facts facts;
    tn_stmt_facts(t->s->func, t->loop, &facts);
    for (uint32_t i = 0; i < block->u.block.n_iter && !found; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        bool grows = it->value == var || (it->value->kind == TN_E_FLOORDIV && it->value->src[0] == var);
        found = grows && tn_prove(p, &facts, tn_le(p, it->extent, tn_subst(p, it->value, 1, &var, &n))) == 1;
    }
    tn_facts_deinit(&facts);
    return found;
}

static bool reduces_only(const tail *t, const tn_stmt *block)
{
    return tn_loop_feeds(t->s, t->loop, block, TN_ITER_REDUCE) &&
           !tn_loop_feeds(t->s, t->loop, block, TN_ITER_SPATIAL);
}

/* Is some reduce iteration above 0 in every turn beyond the end, being k*var + rest with k > 0, rest >= 0? Then no init
 * runs there. */
static bool away_from_zero(const tail *t, const tn_stmt *block)
{
    tn_pool *p = t->s->func->pool;
    const tn_expr *var = t->loop->u.loop.var, *coef, *rest;
    bool found = false;
    tn_facts facts;
    for (const tn_stmt *l = tn_stmt_parent(block); l != t->loop; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && tn_uses(l->u.loop.extent, var))
            return false; /* what is known of its variable ends with the loop */
    tn_stmt_facts(t->s->func, block, &facts);
    for (uint32_t i = 0; i < block->u.block.n_iter && !found; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        int64_t k;
        found = it->kind == TN_ITER_REDUCE && tn_linear(p, NULL, it->value, var, &coef, &rest) &&
                tn_is_int(coef, &k) && k > 0 && tn_prove(p, &facts, tn_le(p, tn_idx(p, 0), rest)) == 1;
    }
    tn_facts_deinit(&facts);
    return found;
}

static void check_tail(tn_stmt *block, void *user)
{
    tail *t = user;
    if (block->u.block.init.first && !(reduces_only(t, block) && away_from_zero(t, block)))
        t->legal &= guarded_by_domain(t, block);
}

/* Called while the old loop's variable still stands in the block. */
static void mask_tail(tn_stmt *block, void *user)
{
    const tail *t = user;
    if (!guarded_by_domain(t, block))
        tn_block_add_mask(t->s, block, t->cond);
}

static const char *split_suffix(int k, int n)
{
    static const char *const two[] = {"o", "i"}, *const three[] = {"o", "v", "i"}, *const more[] = {"o", "m",
                                                                                                    "n", "p",
                                                                                                    "q", "r",
                                                                                                    "v", "i",
                                                                                                    "x"};
    return n == 2 ? two[k] : n == 3 ? three[k] : more[k];
}

/* Replaces `loop` by the n loops over var/extent (outermost first) and moves its body inside. */
static void put_nest(tn_sched *s, tn_stmt *loop, int n, tn_stmt *nest[])
{
    for (int k = 0; k + 1 < n; k++)
        tn_body_append(&nest[k]->u.loop.body, nest[k + 1]);
    tn_body_move(&nest[n - 1]->u.loop.body, NULL, &loop->u.loop.body);
    tn_stmt_replace(loop, nest[0]);
    tn_sched_consume(s, loop);
}

tn_verdict tn_do_split(tn_sched *s, tn_step *t)
{
    split_args a;
    tn_verdict v = split_read(t, &a);
    if (v != TN_DONE)
        return v;
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    tn_stmt *loop = tn_sched_loop(s, t->in[0]);
    if (loop->u.loop.kind != TN_LOOP_SERIAL)
        return TN_REJECT_LOOP;
    tn_facts facts;
    tn_stmt_facts(f, loop, &facts);
    const tn_expr *N = loop->u.loop.extent, *old = loop->u.loop.var;
    const tn_expr *rest = tn_simplify(p, &facts, tn_fmod(p, N, tn_idx(p, a.product)));
    bool exact = tn_is_value(rest, 0);
    const tn_expr *outer =
        tn_simplify(p, &facts, exact ? tn_fdiv(p, N, tn_idx(p, a.product)) : tn_ceildiv(p, N, a.product));
    tn_facts_deinit(&facts);
    if (!exact && a.tail == TN_TAIL_EXACT)
        return TN_REJECT_FACTOR;
    tail beyond = {s, loop, tn_lt(p, old, N), true};
    if (!exact)
        tn_each_block(loop, check_tail, &beyond);
    if (!beyond.legal)
        return TN_REJECT_MASK;

    tn_stmt *nest[9];
    const tn_expr *sum = tn_idx(p, 0);
    int64_t stride = a.product;
    for (int k = 0; k <= a.n; k++) {
        const char *name =
            t->out_name && strcmp(t->out_name[k], "_") != 0
                ? t->out_name[k]
                : tn_arena_printf(s->arena, "%s%s", tn_sched_var_name(s, old), split_suffix(k, a.n + 1));
        const tn_expr *var = tn_func_add_var(f, name, TN_IDX);
        nest[k] = tn_stmt_for(f, var, k ? tn_idx(p, a.factor[k - 1]) : outer, TN_LOOP_SERIAL);
        sum = tn_add(p, sum, tn_mul(p, var, tn_idx(p, stride)));
        if (k < a.n)
            stride /= a.factor[k];
    }
    if (!exact)
        tn_each_block(loop, mask_tail, &beyond);
    tn_stmt_subst(f, loop, 1, &old, &sum);
    put_nest(s, loop, a.n + 1, nest);
    if (!exact)
        tn_each_block(nest[0], guard_block, s);
    for (int k = 0; k <= a.n; k++)
        t->out[k] = tn_sched_value(s, t, k, nest[k]);
    return TN_DONE;
}

typedef struct {
    tn_sched *s;
    const tn_step *t;
    bool mixed;
} mix;

/* Every loop feeds spatial iterations alone or reduce iterations alone: an init would not come first otherwise. */
static void look_for_mix(tn_stmt *block, void *user)
{
    mix *m = user;
    bool spatial = false, reduce = false;
    for (int i = 0; i < m->t->nin; i++) {
        const tn_stmt *l = tn_sched_loop(m->s, m->t->in[i]);
        spatial |= tn_loop_feeds(m->s, l, block, TN_ITER_SPATIAL);
        reduce |= tn_loop_feeds(m->s, l, block, TN_ITER_REDUCE);
    }
    m->mixed |= spatial && reduce;
}

tn_verdict tn_do_fuse(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    tn_pool *p = f->pool;
    tn_stmt *first = tn_sched_loop(s, t->in[0]), *in = first;
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        if (l->u.loop.kind != TN_LOOP_SERIAL)
            return TN_REJECT_LOOP;
        if (i && (tn_body_only(&in->u.loop.body) != l))
            return TN_REJECT_NEST;
        for (int j = 0; j < i; j++)
            if (tn_uses(l->u.loop.extent, tn_sched_loop(s, t->in[j])->u.loop.var))
                return TN_REJECT_NEST;
        in = l;
    }
    mix m = {s, t, false};
    tn_each_block(in, look_for_mix, &m);
    if (m.mixed)
        return TN_REJECT_REDUCE;
    char name[64] = "";
    const tn_expr *extent = tn_idx(p, 1);
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        extent = tn_mul(p, extent, l->u.loop.extent);
        const char *vn = tn_sched_var_name(s, l->u.loop.var);
        if (strlen(name) + strlen(vn) + 1 < sizeof name)
            memcpy(name + strlen(name), vn, strlen(vn) + 1);
    }
    const tn_expr *var = tn_func_add_var(
        f, t->out_name && strcmp(t->out_name[0], "_") ? t->out_name[0] : tn_arena_strdup(s->arena, name),
        TN_IDX);
    tn_facts facts;
    tn_stmt_facts(f, first, &facts);
    extent = tn_simplify(p, &facts, extent);
    tn_facts_deinit(&facts);
    tn_stmt *fused = tn_stmt_for(f, var, extent, TN_LOOP_SERIAL);
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS], *rest = var;
    for (int i = t->nin - 1; i >= 0; i--) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        from[i] = l->u.loop.var;
        to[i] = i ? tn_fmod(p, rest, l->u.loop.extent) : rest;
        rest = tn_fdiv(p, rest, l->u.loop.extent);
    }
    tn_stmt *last = in;
    tn_body_move(&fused->u.loop.body, NULL, &last->u.loop.body);
    tn_stmt_replace(first, fused);
    tn_stmt_subst(f, fused, t->nin, from, to);
    for (int i = 0; i < t->nin; i++)
        tn_sched_consume(s, tn_sched_loop(s, t->in[i]));
    t->out[0] = tn_sched_value(s, t, 0, fused);
    return TN_DONE;
}

static void count_blocks(tn_stmt *block, void *user)
{
    (void)block;
    ++*(int *)user;
}

typedef struct {
    tn_sched *s;
    const tn_stmt *loop;
    enum tn_iter_kind kind;
    bool found;
} feed;

static void look_for_feed(tn_stmt *block, void *user)
{
    feed *w = user;
    w->found |= tn_loop_feeds(w->s, w->loop, block, w->kind);
}

/* Is the order among loops over axes of that kind another one? */
static bool moved(tn_sched *s, enum tn_iter_kind kind, int n, tn_stmt *const chain[], tn_stmt *const order[])
{
    tn_stmt *before[TN_MAX_LOOPS];
    int k = 0, at = 0;
    for (int i = 0; i < n; i++) {
        feed w = {s, chain[i], kind, false};
        tn_each_block(chain[i], look_for_feed, &w);
        if (w.found)
            before[k++] = chain[i];
    }
    for (int i = 0; i < n; i++) {
        if (at < k && order[i] == before[at])
            at++;
        else
            for (int j = at; j < k; j++)
                if (order[i] == before[j])
                    return true;
    }
    return false;
}

tn_verdict tn_do_reorder(tn_sched *s, tn_step *t)
{
    tn_stmt *chain[TN_MAX_LOOPS], *top = NULL;
    /* the loops must lie on one chain of single children; top is the outermost of them */
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        for (int j = 0; j < i; j++)
            if (tn_sched_loop(s, t->in[j]) == l)
                return TN_REJECT_LOOP; /* one loop may have two names */
        if (!top || tn_stmt_inside(top, l))
            top = l;
    }
    int n = 0, seen = 0;
    for (tn_stmt *l = top; l && l->kind == TN_S_FOR && n < TN_MAX_LOOPS; l = tn_body_only(&l->u.loop.body)) {
        chain[n++] = l;
        for (int i = 0; i < t->nin; i++)
            seen += tn_sched_loop(s, t->in[i]) == l;
        if (seen == t->nin)
            break;
    }
    if (seen != t->nin)
        return TN_REJECT_NEST;
    tn_stmt *order[TN_MAX_LOOPS];
    for (int i = 0, k = 0; i < n; i++) {
        bool named = false;
        for (int j = 0; j < t->nin; j++)
            named |= tn_sched_loop(s, t->in[j]) == chain[i];
        order[i] = named ? tn_sched_loop(s, t->in[k++]) : chain[i];
    }
    for (int i = 0; i < n; i++) {
        if (chain[i]->u.loop.kind == TN_LOOP_PARALLEL && order[i] != chain[i])
            return TN_REJECT_LOOP;
        for (int j = i + 1; j < n; j++)
            if (tn_uses(order[i]->u.loop.extent, order[j]->u.loop.var))
                return TN_REJECT_NEST;
    }
    int blocks = 0;
    tn_each_block(top, count_blocks, &blocks);
    if (blocks != 1)
        return TN_REJECT_DEPEND;
    if ((s->func->strict && moved(s, TN_ITER_REDUCE, n, chain, order)) ||
        moved(s, TN_ITER_SCAN, n, chain, order))
        return TN_REJECT_DEPEND;
    tn_body rest = {0};
    tn_body_move(&rest, NULL, &chain[n - 1]->u.loop.body);
    tn_stmt *place = tn_stmt_new(s->func, TN_S_CHECK); /* holds the place of the nest */
    tn_stmt_replace(top, place);
    for (int i = 1; i < n; i++)
        tn_stmt_remove(chain[i]);
    tn_stmt_replace(place, order[0]);
    for (int i = 0; i + 1 < n; i++)
        tn_body_append(&order[i]->u.loop.body, order[i + 1]);
    tn_body_move(&order[n - 1]->u.loop.body, NULL, &rest);
    return TN_DONE;
}

/* Does it depend on the turn of the loop whether the block runs? */
static bool mask_varies(tn_sched *s, const tn_stmt *l, const tn_stmt *block)
{
    const tn_expr *mask = block->u.block.mask;
    return mask && tn_uses(tn_block_over_loops(s, block, mask), l->u.loop.var);
}

static bool is_call(tn_stmt *x, void *user)
{
    *(bool *)user |= x->kind == TN_S_FOR && x->u.loop.kind == TN_LOOP_TENSOR;
    return true;
}

typedef struct {
    tn_sched *s;
    const tn_stmt *loop, *block;
    bool all;
} lane_stores;

/* A store to what lives outside of the loop goes to an element of its own in each lane: an iteration that no
 * index uses is no help, even where its mask leaves one lane. */
static bool store_by_lane(tn_stmt *x, void *user)
{
    lane_stores *w = user;
    bool own = x->kind != TN_S_STORE || !w->block;
    if (x->kind == TN_S_BLOCK)
        w->block = x;
    for (uint32_t d = 0; !own && d < x->u.store.n_index; d++)
        own = tn_uses(tn_block_over_loops(w->s, w->block, x->u.store.index[d]), w->loop->u.loop.var);
    if (!own) {
        const tn_stmt *decl = tn_decl_of(w->s->func, x->u.store.buffer);
        w->all &= decl && tn_stmt_inside(decl, w->loop);
    }
    return true;
}

static bool lanes_apart(tn_sched *s, tn_stmt *l)
{
    lane_stores w = {s, l, NULL, true};
    tn_stmt_walk(&l->u.loop.body, store_by_lane, NULL, &w);
    return w.all || tn_is_value(l->u.loop.extent, 1);
}

/* Lanes may drive a reduction that is all there is in the loop: their terms are combined by a tree. */
static tn_verdict lanes_reduce(tn_sched *s, tn_stmt *l)
{
    bool calls = false;
    tn_stmt_walk(&l->u.loop.body, is_call, NULL, &calls);
    if (calls)
        return TN_REJECT_LOOP; /* a call of a unit is no lane */
    tn_stmt *b = tn_body_only(&l->u.loop.body);
    if (!b || b->kind != TN_S_BLOCK || !tn_loop_feeds(s, l, b, TN_ITER_REDUCE))
        return lanes_apart(s, l) ? tn_turns_independent(s, l) : TN_REJECT_DEPEND;
    bool decomposed = !b->u.block.init.first && !mask_varies(s, l, b),
         spatial = tn_loop_feeds(s, l, b, TN_ITER_SPATIAL);
    return !s->func->strict && decomposed && !spatial && tn_update_operand(b) >= 0 ? TN_DONE
                                                                                   : TN_REJECT_REDUCE;
}

typedef struct {
    tn_sched *s;
    const tn_stmt *loop;
    bool feeds;
} feeding;

static bool is_fed(tn_stmt *x, void *user)
{
    feeding *w = user;
    if (x->kind == TN_S_BLOCK)
        w->feeds |= tn_loop_feeds(w->s, w->loop, x, TN_ITER_SPATIAL) ||
                    tn_loop_feeds(w->s, w->loop, x, TN_ITER_REDUCE) ||
                    tn_loop_feeds(w->s, w->loop, x, TN_ITER_SCAN);
    return true;
}

static bool is_constant(const tn_expr *load, void *user)
{
    tn_func *f = ((tn_sched *)user)->func;
    tn_stmt *at[1];
    return load->kind != TN_E_LOAD || !tn_blocks_accessing(&f->body, load->u.load.buffer, true, 1, at);
}

/* Are the loop's turns steps of the kernel? It iterates no block, no other loop has tasks inside, and its list declares
 * nothing, which would belong to one task, and names no value of what is written. How many there are is known
 * before. */
static bool has_steps(tn_sched *s, tn_stmt *loop)
{
    feeding w = {s, loop, false};
    if (loop->kind != TN_S_FOR || loop->u.loop.kind != TN_LOOP_SERIAL || tn_stmt_parent(loop) ||
        loop->u.loop.extent->has_load)
        return false;
    for (tn_stmt *top = s->func->body.first; top; top = top->next)
        if (top != loop && top->kind == TN_S_FOR && tn_holds_tasks(top))
            return false;
    for (const tn_stmt *in = loop->u.loop.body.first; in; in = in->next)
        if (in->kind == TN_S_BUFFER || (in->kind == TN_S_LET && !tn_each(in->u.let.value, is_constant, s)))
            return false;
    tn_stmt_walk(&loop->u.loop.body, is_fed, NULL, &w);
    return !w.feeds;
}

/* Does the loop use memory of a task that is declared outside of it? */
static bool uses_memory_of_task(tn_sched *s, tn_stmt *l)
{
    tn_stmt *at[1];
    for (uint32_t b = 0; b < s->func->n_buffer; b++) {
        const tn_stmt *decl = s->func->buffer[b].scope != TN_SCOPE_GLOBAL ? tn_decl_of(s->func, b) : NULL;
        if (decl && !tn_stmt_inside(decl, l) &&
            (tn_blocks_accessing(&l->u.loop.body, b, true, 1, at) ||
             tn_blocks_accessing(&l->u.loop.body, b, false, 1, at)))
            return true;
    }
    return false;
}

static bool may_be_parallel(tn_sched *s, tn_stmt *l)
{
    tn_stmt *around = tn_stmt_parent(l);
    bool steps = around && has_steps(s, around) && !l->u.loop.extent->has_load &&
                 !tn_uses(l->u.loop.extent, around->u.loop.var);
    return !tn_holds_tasks(l) && (!around || steps) && !uses_memory_of_task(s, l);
}

static tn_verdict mark(tn_sched *s, tn_step *t, enum tn_loop_kind kind)
{
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        if (l->u.loop.kind != TN_LOOP_SERIAL)
            return TN_REJECT_LOOP;
        int64_t n;
        if (kind != TN_LOOP_PARALLEL && (!tn_is_int(l->u.loop.extent, &n) || n > 1024))
            return TN_REJECT_FACTOR;
        if (kind == TN_LOOP_PARALLEL && (!may_be_parallel(s, l) || t->nin != 1))
            return TN_REJECT_LOOP;
        tn_verdict v = kind == TN_LOOP_UNROLLED ? TN_DONE
                       : kind == TN_LOOP_VECTOR ? lanes_reduce(s, l)
                                                : tn_turns_independent(s, l);
        if (v != TN_DONE)
            return v;
    }
    for (int i = 0; i < t->nin; i++)
        tn_sched_loop(s, t->in[i])->u.loop.kind = (uint8_t)kind;
    return TN_DONE;
}

tn_verdict tn_do_vectorize(tn_sched *s, tn_step *t) { return mark(s, t, TN_LOOP_VECTOR); }
tn_verdict tn_do_unroll(tn_sched *s, tn_step *t) { return mark(s, t, TN_LOOP_UNROLLED); }
tn_verdict tn_do_parallel(tn_sched *s, tn_step *t) { return mark(s, t, TN_LOOP_PARALLEL); }
