/* MakePhases: every top-level nest becomes a parallel loop. Neighbouring serial statements share one task. */
#include "lower/lower_impl.h"

static bool stays(const tn_stmt *s)
{
    return s->kind == TN_S_BUFFER || s->kind == TN_S_CHECK || (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_PARALLEL);
}

tn_status tn_lower_make_phases(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_stmt *open = NULL, *next;
    for (tn_stmt *s = f->body.first; s; s = next) {
        next = s->next;
        if (s->kind == TN_S_BUFFER) { /* work memory is declared before the first phase */
            tn_stmt_remove(s);
            tn_body_insert(&f->body, f->body.first, s);
            continue;
        }
        if (stays(s)) {
            open = NULL;
            continue;
        }
        if (!open) {
            open = tn_stmt_for(f, tn_func_add_var(f, "task", TN_IDX), tn_idx(f->pool, 1), TN_LOOP_PARALLEL);
            tn_body_insert(&f->body, s, open);
        }
        tn_stmt_remove(s);
        tn_body_append(&open->u.loop.body, s);
    }
    return TN_OK;
}
