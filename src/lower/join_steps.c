/* JoinSteps: a kernel is one list of phases, which runs as often as it has steps. Where phases stand before or behind a
 * loop over steps, the list of its phases does their work, too, in turns before the first step and behind the last one:
 *
 *     parallel for task < 4: x        for step < n + 2:
 *     for t < n:                        parallel for task < 8:
 *       parallel for task < 8: y   ->     if step == 0 and task < 4: x
 *     parallel for task < 1: z            if 1 <= step and step < n + 1: y, of t = step - 1
 *                                         if step == n + 1 and task < 1: z
 */
#include "lower/lower_impl.h"

bool tn_has_phases(const tn_stmt *loop)
{
    for (const tn_stmt *s = loop->u.loop.body.first; s; s = s->next)
        if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_PARALLEL)
            return true;
    return false;
}

tn_stmt *tn_steps_of(const tn_func *f)
{
    tn_stmt *steps = NULL;
    for (tn_stmt *s = f->body.first; s; s = s->next) {
        if (s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_SERIAL || !tn_has_phases(s))
            continue;
        if (steps)
            return NULL;
        steps = s;
    }
    return steps;
}

typedef struct {
    tn_stmt **at;
    int n;
} phases;

/* Those of a list, from one statement on up to another. */
static phases phases_of(tn_func *f, tn_stmt *from, const tn_stmt *to)
{
    phases p = {.n = 0};
    for (tn_stmt *s = from; s && s != to; s = s->next)
        p.n += s->kind == TN_S_FOR;
    p.at = TN_NEW_N(f->arena, tn_stmt *, p.n + 1);
    p.n = 0;
    for (tn_stmt *s = from; s && s != to; s = s->next)
        if (s->kind == TN_S_FOR)
            p.at[p.n++] = s;
    return p;
}

/* Phase `of`, where there is one, in the tasks of `all` in which cond holds, over variables of theirs. */
static void put_phase(tn_func *f, tn_stmt *all, tn_body *list, const tn_expr *cond, tn_stmt *of)
{
    tn_pool *p = f->pool;
    const tn_expr *task = all->u.loop.var, *n = of->u.loop.extent;
    tn_stmt *branch = tn_stmt_if(f, n == all->u.loop.extent ? cond : tn_and(p, cond, tn_lt(p, task, n)));
    tn_stmt_subst(f, of, 1, &of->u.loop.var, &task);
    tn_body_move(&branch->u.cond.then, NULL, &of->u.loop.body);
    tn_body_append(list, branch);
    if (of->list)
        tn_stmt_remove(of);
}

/* So many turns of n phases hold them all. */
static int turns_for(const phases *p, int n) { return (p->n + n - 1) / n; }

/* Phases before the loop are those of turns before its first, phases behind it those of turns behind its last: the list
 * of phases is the same in each turn. */
static void put_into_steps(tn_func *f, tn_stmt *steps, const phases *before, const phases *in,
                           const phases *after)
{
    tn_pool *p = f->pool;
    int early = turns_for(before, in->n), late = turns_for(after, in->n);
    const tn_expr *old = steps->u.loop.var, *turns = tn_max(p, steps->u.loop.extent, tn_idx(p, 0)),
                  *turn = tn_func_add_var(f, "step", TN_IDX), *end = tn_add(p, turns, tn_idx(p, early));
    const tn_expr *now = tn_sub(p, turn, tn_idx(p, early));
    tn_stmt *loop = tn_stmt_for(f, turn, tn_add(p, end, tn_idx(p, late)), TN_LOOP_SERIAL);
    tn_body_insert(steps->list, steps, loop);
    for (int k = 0; k < in->n; k++) {
        const tn_expr *most = in->at[k]->u.loop.extent;
        for (int i = k; i < before->n; i += in->n)
            most = tn_max(p, most, before->at[i]->u.loop.extent);
        for (int i = k; i < after->n; i += in->n)
            most = tn_max(p, most, after->at[i]->u.loop.extent);
        tn_stmt *all =
            tn_stmt_for(f, tn_func_add_var(f, "task", TN_IDX), tn_simplify(p, NULL, most), TN_LOOP_PARALLEL);
        tn_body *list = &all->u.loop.body;
        tn_body_append(&loop->u.loop.body, all);
        for (int i = k; i < before->n; i += in->n)
            put_phase(f, all, list, tn_eq(p, turn, tn_idx(p, i / in->n)), before->at[i]);
        tn_stmt_subst(f, in->at[k], 1, &old, &now);
        put_phase(f, all, list, tn_and(p, tn_le(p, tn_idx(p, early), turn), tn_lt(p, turn, end)), in->at[k]);
        for (int i = k; i < after->n; i += in->n)
            put_phase(f, all, list, tn_eq(p, turn, tn_add(p, end, tn_idx(p, i / in->n))), after->at[i]);
    }
    tn_stmt_remove(steps);
}

tn_status tn_lower_join_steps(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_stmt *steps = tn_steps_of(f);
    if (!steps)
        return TN_OK;
    phases before = phases_of(f, f->body.first, steps), in = phases_of(f, steps->u.loop.body.first, NULL),
           after = phases_of(f, steps->next, NULL);
    if (before.n + after.n)
        put_into_steps(f, steps, &before, &in, &after);
    return TN_OK;
}
