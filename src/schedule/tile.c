/* Steps that are short for others, or say more than a mark: tile (two splits and an order), pragma (a limit up to which
 * loops are written out) and bind (axes of machines that there are not). */
#include "schedule/sched_impl.h"

#include <string.h>

tn_verdict tn_do_tile(tn_sched *s, tn_step *t)
{
    tn_sched after;
    tn_ref at[4]; /* xo xi yo yi */
    tn_arg arg[2][2];
    const char *name[2][2];
    const tn_arg *tail = tn_step_key(t, "tail");
    if (t->nin != 2 || t->narg != 2 + (tail != NULL) || t->arg[0].key || t->arg[1].key)
        return TN_REJECT_ARITY;
    if (tn_sched_loop(s, t->in[0]) == tn_sched_loop(s, t->in[1]))
        return TN_REJECT_LOOP; /* one loop may have two names */
    tn_sched_fork(s, &after);
    for (int i = 0; i < 2; i++) {
        arg[i][0] = t->arg[i];
        if (tail)
            arg[i][1] = *tail;
        for (int k = 0; k < 2 && t->out_name; k++)
            name[i][k] = t->out_name[i + 2 * k];
        tn_step split = {.nin = 1,
                         .in = &t->in[i],
                         .narg = tail ? 2 : 1,
                         .arg = arg[i],
                         .nout = 2,
                         .out = &at[2 * i],
                         .out_name = t->out_name ? name[i] : NULL};
        tn_verdict v = tn_do_split(&after, &split);
        if (v != TN_DONE)
            return v;
    }
    const tn_ref order[4] = {at[0], at[2], at[1], at[3]};
    tn_step reorder = {.nin = 4, .in = order};
    tn_verdict v = tn_do_reorder(&after, &reorder);
    if (v != TN_DONE)
        return v;
    *s = after;
    memcpy(t->out, order, sizeof order);
    return TN_DONE;
}

/* ---- pragma ---- */

/* How many statements it is, written out; loops of which that is at most `limit` are marked. -1: it is not
 * written out. */
static int64_t unroll_below(tn_stmt *x, int64_t limit)
{
    int64_t all = 0, turns;
    if (x->kind != TN_S_FOR)
        return x->kind == TN_S_BLOCK || x->kind == TN_S_STORE;
    for (tn_stmt *c = x->u.loop.body.first; c; c = c->next) {
        int64_t n = unroll_below(c, limit);
        all = n < 0 || all < 0 ? -1 : all + n;
    }
    if (x->u.loop.kind == TN_LOOP_VECTOR || x->u.loop.kind == TN_LOOP_TENSOR || all < 0)
        return all;
    if (!tn_is_int(x->u.loop.extent, &turns) || turns > 1024 || turns * all > limit)
        return -1;
    if (x->u.loop.kind == TN_LOOP_SERIAL)
        x->u.loop.kind = TN_LOOP_UNROLLED;
    return x->u.loop.kind == TN_LOOP_UNROLLED ? turns * all : -1;
}

tn_verdict tn_do_pragma(tn_sched *s, tn_step *t)
{
    const tn_arg *steps = tn_step_key(t, "auto_unroll_max_step");
    if (!steps || steps->s)
        return TN_REJECT_PRAGMA;
    if (steps->i < 0 || steps->i > (1 << 16))
        return TN_REJECT_FACTOR;
    (void)unroll_below(tn_sched_loop(s, t->in[0]), steps->i);
    return TN_DONE;
}

/* ---- bind ---- */

tn_verdict tn_do_bind(tn_sched *s, tn_step *t)
{
    (void)s;
    (void)t;
    return TN_REJECT_AXIS; /* tasks are `parallel` here, and lanes `vectorize` */
}
