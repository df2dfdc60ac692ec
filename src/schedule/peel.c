/* Step peel: cuts a loop into first / middle / last copies, so that masks which only fail at the borders
 * become constant there and vanish in the middle. */
#include "schedule/sched_impl.h"

/* Moves loop to run over [from, from + extent). */
static void shift(tn_sched *s, tn_stmt *loop, const tn_expr *from, const tn_expr *extent)
{
    tn_pool *p = s->func->pool;
    const tn_expr *old = loop->u.loop.var;
    const tn_expr *var = tn_func_add_var(s->func, tn_sched_var_name(s, old), TN_IDX);
    const tn_expr *value = tn_add(p, var, from);
    loop->u.loop.var = var;
    loop->u.loop.extent = extent;
    tn_body *body = &loop->u.loop.body;
    for (tn_stmt *c = body->first; c; c = c->next)
        tn_stmt_subst(s->func, c, 1, &old, &value);
}

tn_verdict tn_do_peel(tn_sched *s, tn_step *t)
{
    tn_pool *p = s->func->pool;
    tn_stmt *loop = tn_sched_loop(s, t->in[0]);
    int64_t first = t->arg[0].i, last = t->arg[1].i, n;
    if (t->arg[0].s || t->arg[1].s || first < 0 || last < 0 || first + last == 0)
        return TN_REJECT_FACTOR;
    if (t->nout != 3)
        return TN_REJECT_ARITY;
    if (loop->u.loop.kind != TN_LOOP_SERIAL || !tn_is_int(loop->u.loop.extent, &n))
        return TN_REJECT_LOOP;
    if (first >= n || last >= n - first) /* no middle part would be left */
        return TN_REJECT_FACTOR;
    tn_stmt *part[3] = {loop, loop, loop};
    if (first > 0) {
        part[0] = tn_stmt_clone_fresh(s->func, loop, ".first");
        tn_body_insert(loop->list, loop, part[0]);
    }
    if (last > 0) {
        part[2] = tn_stmt_clone_fresh(s->func, loop, ".last");
        tn_body_insert(loop->list, loop->next, part[2]);
        shift(s, part[2], tn_idx(p, n - last), tn_idx(p, last));
    }
    if (first > 0) {
        shift(s, part[0], tn_idx(p, 0), tn_idx(p, first));
        shift(s, loop, tn_idx(p, first), tn_idx(p, n - first - last));
    } else {
        loop->u.loop.extent = tn_idx(p, n - last);
    }
    tn_sched_consume(s, loop);
    for (int k = 0; k < 3; k++)
        t->out[k] = tn_sched_value(s, t, k, part[k]);
    return TN_DONE;
}
