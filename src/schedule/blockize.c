/* Step blockize: what a loop does becomes a block of its own, whose iterations are the loops around it.
 *
 *     for io, jo, ii, ji: block b(i = io*4 + ii, j = jo*8 + ji)
 *
 * becomes
 *
 *     for io, jo: block b.o(io, jo): for ii, ji: block b(i = io*4 + ii, j = jo*8 + ji)
 *
 * Steps on the outer loops then see one block, and do not ask what is in it. It has a mask where b has one: what b's
 * says of the first turns of the loops inside.
 */
#include "schedule/sched_impl.h"

typedef struct {
    tn_stmt *loop, *block;
    int n;
    tn_stmt *outer[TN_MAX_LOOPS];
    const tn_expr *first; /* what b's mask says of the first turns inside; NULL: nothing */
} tiles;

/* Loops from x->loop to the block. */
static void find_first(tn_sched *s, tiles *x)
{
    const tn_expr *var[TN_MAX_LOOPS];
    int n = 0;
    for (const tn_stmt *l = tn_stmt_parent(x->block); l != tn_stmt_parent(x->loop) && n < TN_MAX_LOOPS;
         l = tn_stmt_parent(l))
        var[n++] = l->u.loop.var;
    if (!x->block->u.block.init.first) /* which runs whatever the mask */
        (void)tn_first_turn(s, x->block, n, var, &x->first);
}

static bool used_in(tn_stmt *loop, const tn_expr *var)
{
    return tn_uses(loop->u.loop.extent, var) || tn_body_uses(&loop->u.loop.body, var);
}

static tn_verdict check(tn_sched *s, tiles *x)
{
    x->block = x->loop;
    while (x->block && x->block->kind == TN_S_FOR) {
        if (x->block->u.loop.kind != TN_LOOP_SERIAL && x->block->u.loop.kind != TN_LOOP_UNROLLED)
            return TN_REJECT_LOOP;
        x->block = tn_body_only(&x->block->u.loop.body);
    }
    if (!x->block || x->block->kind != TN_S_BLOCK || tn_block_target(x->block) < 0)
        return TN_REJECT_NEST;
    if (tn_block_scans(x->block))
        return TN_REJECT_DEPEND;
    x->n = 0;
    for (tn_stmt *l = tn_stmt_parent(x->loop); l; l = tn_stmt_parent(l)) {
        if (l->kind != TN_S_FOR || l->u.loop.kind == TN_LOOP_VECTOR || l->u.loop.kind == TN_LOOP_TENSOR)
            return TN_REJECT_LOOP;
        bool spatial = tn_loop_feeds(s, l, x->block, TN_ITER_SPATIAL),
             reduce = tn_loop_feeds(s, l, x->block, TN_ITER_REDUCE);
        if ((spatial && reduce) || (reduce && x->block->u.block.init.first))
            return TN_REJECT_REDUCE; /* which of them begin the sums is not the block's to know */
        if (!spatial && !reduce && used_in(x->loop, l->u.loop.var))
            return TN_REJECT_MASK;
        if (spatial || reduce)
            x->outer[x->n++] = l;
    }
    return TN_DONE;
}

tn_verdict tn_do_blockize(tn_sched *s, tn_step *t)
{
    tn_func *f = s->func;
    tiles x = {.loop = tn_sched_loop(s, t->in[0])};
    tn_verdict v = check(s, &x);
    if (v != TN_DONE)
        return v;
    find_first(s, &x);
    const char *name = tn_arena_printf(s->arena, "%s.o", x.block->u.block.name);
    tn_stmt *outer = tn_stmt_block(f, name, x.block->u.block.tag, x.n);
    outer->u.block.source = x.block->u.block.source;
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS];
    for (int i = 0; i < x.n; i++) { /* they were collected from the inside */
        const tn_stmt *l = x.outer[x.n - 1 - i];
        bool reduce = tn_loop_feeds(s, l, x.block, TN_ITER_REDUCE);
        from[i] = l->u.loop.var;
        to[i] = tn_func_add_var(f, tn_sched_var_name(s, from[i]), TN_IDX);
        outer->u.block.iter[i] =
            (tn_iter){to[i], l->u.loop.extent, from[i], reduce ? TN_ITER_REDUCE : TN_ITER_SPATIAL};
    }
    tn_stmt_replace(x.loop, outer);
    tn_body_append(&outer->u.block.body, x.loop);
    tn_stmt_subst(f, x.loop, x.n, from, to);
    if (x.first)
        tn_block_need(s, outer, tn_subst(f->pool, x.first, x.n, from, to));
    return TN_DONE;
}
