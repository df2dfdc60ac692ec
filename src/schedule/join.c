/* Step join: loops beside each other become one (loop fusion), which goes around what they are in.
 *
 *     for b: x           for b:
 *     for t:               x
 *       for b: y     ->    for t:
 *       for b: z             y
 *     for b: w               z
 *                          w
 *
 * The loops are the statements of one list, next to each other, or all the statements of a serial loop in that list,
 * which then runs anew in each turn. That is legal where different turns never meet: each buffer that is written in
 * there has a dimension of which every access, in whichever loop, touches a part of the turn's own.
 */
#include "schedule/sched_impl.h"

#include <string.h>

typedef struct {
    tn_sched *s;
    int n;
    tn_stmt *loop[TN_MAX_LOOPS];
    tn_body *list;        /* the outer one */
    tn_stmt *first, *end; /* of the statements in it that go into the new loop; end: behind the last */
} join;

/* ---- is it legal? ---- */

static bool has(const join *j, const tn_stmt *s)
{
    for (int i = 0; i < j->n; i++)
        if (j->loop[i] == s)
            return true;
    return false;
}

static tn_verdict read_loops(join *j, const tn_step *t)
{
    if (t->nin < 2 || t->nin > TN_MAX_LOOPS)
        return TN_REJECT_ARITY;
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(j->s, t->in[i]);
        if (has(j, l) || l->u.loop.kind != TN_LOOP_SERIAL || tn_holds_tasks(l))
            return TN_REJECT_LOOP;
        j->loop[j->n++] = l;
        if (!tn_equal(j->s->func->pool, NULL, l->u.loop.extent, j->loop[0]->u.loop.extent))
            return TN_REJECT_NEST;
    }
    return TN_DONE;
}

static int depth(const tn_stmt *s)
{
    int n = 0;
    for (s = tn_stmt_parent(s); s; s = tn_stmt_parent(s))
        n++;
    return n;
}

/* How many of the loops the statement of the outer list stands for; 0: for none, or it holds others besides. */
static int stands_for(const join *j, const tn_stmt *s)
{
    int n = 0;
    if (has(j, s))
        return 1;
    if (s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_SERIAL || s->u.loop.extent->has_load)
        return 0;
    for (const tn_stmt *in = s->u.loop.body.first; in; in = in->next, n++)
        if (!has(j, in))
            return 0;
    return n;
}

/* The loops, and those around some of them, next to each other but for declarations of buffers. */
static bool find_run(join *j)
{
    const tn_stmt *outermost = j->loop[0];
    int found = 0;
    for (int i = 1; i < j->n; i++)
        if (depth(j->loop[i]) < depth(outermost))
            outermost = j->loop[i];
    j->list = outermost->list;
    for (tn_stmt *s = j->list->first; s && found < j->n; s = s->next) {
        int n = stands_for(j, s);
        if (n == 0 && j->first && s->kind != TN_S_BUFFER)
            return false;
        j->first = n && !j->first ? s : j->first;
        j->end = s->next;
        found += n;
    }
    return found == j->n;
}

/* Is the buffer used in one of the loops alone, whose turns stay in their order? */
static bool stays_in_order(const join *j, uint32_t buffer)
{
    tn_stmt *at[1];
    int users = 0, inner = 0;
    for (int i = 0; i < j->n; i++) {
        tn_body *b = &j->loop[i]->u.loop.body;
        if (tn_blocks_accessing(b, buffer, true, 1, at) || tn_blocks_accessing(b, buffer, false, 1, at)) {
            users++;
            inner += j->loop[i]->list != j->list;
        }
    }
    return users <= 1 && inner == 0;
}

static bool is_written(const join *j, uint32_t buffer)
{
    tn_stmt *at[1];
    for (int i = 0; i < j->n; i++)
        if (tn_blocks_accessing(&j->loop[i]->u.loop.body, buffer, true, 1, at))
            return true;
    return false;
}

static bool belongs_to_turn(const join *j, uint32_t buffer)
{
    const tn_stmt *decl = tn_decl_of(j->s->func, buffer);
    for (int i = 0; decl && i < j->n; i++)
        if (tn_stmt_inside(decl, j->loop[i]))
            return true;
    return false;
}

typedef struct {
    tn_sched *s;
    const tn_stmt *loop;
    bool found;
} order;

static void look_for_order(tn_stmt *block, void *user)
{
    order *o = user;
    o->found |= tn_loop_feeds(o->s, o->loop, block, TN_ITER_REDUCE) ||
                tn_loop_feeds(o->s, o->loop, block, TN_ITER_SCAN);
}

static tn_verdict check_turns(join *j)
{
    for (int i = 0; i < j->n; i++) {
        order o = {j->s, j->loop[i], false};
        tn_each_block(j->loop[i], look_for_order, &o);
        if (o.found)
            return TN_REJECT_REDUCE;
    }
    for (uint32_t b = 0; b < j->s->func->n_buffer; b++)
        if (is_written(j, b) && !belongs_to_turn(j, b) && !stays_in_order(j, b) &&
            !tn_loops_apart(j->s, j->n, j->loop, b))
            return TN_REJECT_DEPEND;
    return TN_DONE;
}

/* ---- the edit ---- */

/* The loop's list, over the new variable, takes its place. */
static void open(join *j, tn_stmt *loop, const tn_expr *var)
{
    tn_stmt_subst(j->s->func, loop, 1, &loop->u.loop.var, &var);
    tn_sched_consume(j->s, loop);
    tn_body_move(loop->list, loop, &loop->u.loop.body);
    tn_stmt_remove(loop);
}

tn_verdict tn_do_join(tn_sched *s, tn_step *t)
{
    join j = {.s = s};
    tn_func *f = s->func;
    tn_verdict v = read_loops(&j, t);
    if (v == TN_DONE && !find_run(&j))
        v = TN_REJECT_NEST;
    if (v == TN_DONE)
        v = check_turns(&j);
    if (v != TN_DONE)
        return v;
    const tn_stmt *old = j.loop[0];
    const char *name = t->out_name && strcmp(t->out_name[0], "_") != 0
                           ? t->out_name[0]
                           : tn_sched_var_name(s, old->u.loop.var);
    const tn_expr *var = tn_func_add_var(f, name, TN_IDX), *extent = old->u.loop.extent;
    tn_stmt *all = tn_stmt_for(f, var, extent, TN_LOOP_SERIAL), *next;
    tn_body_insert(j.list, j.first, all);
    for (tn_stmt *x = j.first; x != j.end; x = next) {
        next = x->next;
        tn_stmt_remove(x);
        if (x->kind == TN_S_BUFFER)
            tn_body_insert(j.list, all, x);
        else
            tn_body_append(&all->u.loop.body, x);
    }
    for (int i = 0; i < j.n; i++)
        open(&j, j.loop[i], var);
    t->out[0] = tn_sched_value(s, t, 0, all);
    return TN_DONE;
}
