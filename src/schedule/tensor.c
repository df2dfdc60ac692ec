/* Step tensorize: a nest of loops is one call of a unit of the machine (tir/unit.h). */
#include "schedule/sched_impl.h"

#include "tir/unit.h"

/* Rows and columns drive spatial iterations alone, terms a reduction alone. */
static bool axes_fit(tn_sched *s, const tn_unit_nest *n)
{
    for (int axis = 0; axis < TN_UNIT_AXES; axis++) {
        const tn_stmt *l = n->loop[axis];
        bool sums = axis == TN_UNIT_TERMS || axis == TN_UNIT_GROUPS;
        if (l && (tn_loop_feeds(s, l, n->block, TN_ITER_SPATIAL) == sums ||
                  tn_loop_feeds(s, l, n->block, TN_ITER_REDUCE) != sums))
            return false;
    }
    return true;
}

tn_verdict tn_do_tensorize(tn_sched *s, tn_step *t)
{
    int row = t->arg[0].s && !t->arg[0].key ? tn_unit_named(t->arg[0].s) : -1;
    tn_unit_nest n;
    if (row < 0)
        return TN_REJECT_NAME;
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        if (l->u.loop.kind != TN_LOOP_SERIAL)
            return TN_REJECT_LOOP;
        if (i && tn_body_only(&tn_sched_loop(s, t->in[i - 1])->u.loop.body) != l)
            return TN_REJECT_NEST;
    }
    for (const tn_stmt *l = tn_sched_loop(s, t->in[0]); l; l = tn_stmt_parent(l))
        if (l->kind == TN_S_FOR && l->u.loop.kind == TN_LOOP_VECTOR)
            return TN_REJECT_LOOP; /* a call is no lane */
    tn_stmt *last = tn_sched_loop(s, t->in[t->nin - 1]);
    if (tn_unit_read(tn_sched_loop(s, t->in[0]), &tn_units[row], &n) || n.inner != last || !n.block)
        return TN_REJECT_UNIT;
    if (!tn_unit_suits(n.row, n.block))
        return TN_REJECT_UNIT;
    if (s->func->strict && tn_dtype_is_float(n.row->sum))
        return TN_REJECT_REDUCE;
    if (!axes_fit(s, &n))
        return TN_REJECT_REDUCE;
    for (int i = 0; i < t->nin; i++) {
        tn_stmt *l = tn_sched_loop(s, t->in[i]);
        l->u.loop.kind = TN_LOOP_TENSOR;
        l->u.loop.tensor = (uint8_t)row;
    }
    return TN_DONE;
}
