/* MakePhases: every top-level nest becomes a parallel loop, the tasks of one phase. Neighbouring serial
 * statements share one task. Work memory and checks of symbols come first, so the top level is: buffers,
 * checks, parallel loops.
 *
 * A serial loop with parallel loops in its list (a recurrence) stays, if there is one: its turns are the steps of the
 * kernel, its list holds the phases (JoinSteps). */
#include "lower/lower_impl.h"

static bool serialise(tn_stmt *s, void *user)
{
    (void)user;
    if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_PARALLEL)
        s->u.loop.kind = TN_LOOP_SERIAL;
    return true;
}

/* A value named at the top level is put where it is used: phases share no variables. */
static void put_let(tn_func *f, tn_stmt *let)
{
    for (tn_stmt *s = let->next; s; s = s->next)
        tn_stmt_subst(f, s, 1, &let->u.let.var, &let->u.let.value);
    tn_stmt_remove(let);
}

/* Does s stay at the top level, before the first phase? */
static bool leads(const tn_func *f, const tn_stmt *s)
{
    return (s->kind == TN_S_BUFFER && f->buffer[s->u.decl.buffer].scope == TN_SCOPE_GLOBAL) ||
           (s->kind == TN_S_CHECK && !s->u.check.cond->has_load);
}

/* The list becomes one of phases, but for the loop over steps. */
static void make_phases(tn_func *f, tn_body *list, const tn_stmt *steps)
{
    tn_stmt *open = NULL, *first = NULL, *next;
    for (tn_stmt *s = list->first; s; s = next) {
        next = s->next;
        if (s->kind == TN_S_LET) {
            put_let(f, s);
        } else if (leads(f, s)) {
            if (first) { /* else it leads already */
                tn_stmt_remove(s);
                tn_body_insert(list, first, s);
            }
        } else if (s == steps || (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_PARALLEL)) {
            first = first ? first : s;
            open = NULL;
        } else {
            if (!open) {
                open =
                    tn_stmt_for(f, tn_func_add_var(f, "task", TN_IDX), tn_idx(f->pool, 1), TN_LOOP_PARALLEL);
                tn_body_insert(list, s, open);
                first = first ? first : open;
            }
            tn_stmt_remove(s);
            tn_body_append(&open->u.loop.body, s);
        }
    }
    for (tn_stmt *s = list->first; s; s = s->next)
        if (s->kind == TN_S_FOR && s != steps)
            tn_stmt_walk(&s->u.loop.body, serialise, NULL, NULL);
}

tn_status tn_lower_make_phases(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_stmt *steps = tn_steps_of(f);
    if (steps)
        make_phases(f, &steps->u.loop.body, NULL);
    make_phases(f, &f->body, steps);
    return TN_OK;
}
