/* PlanMemory: LOCAL buffers get offsets in the worker's scratch, GLOBAL non-parameters in the call's work memory, 64-byte
 * aligned, one after the other. Scratch of different phases overlaps, since a task sees one phase only. */
#include "lower/lower_impl.h"

typedef struct { tn_func *f; uint64_t scratch; tn_status status; } plan;

static bool place(tn_stmt *s, void *user)
{
    plan *w = user;
    if (s->kind != TN_S_BUFFER)
        return true;
    tn_buffer *b = &w->f->buffer[s->u.decl.buffer];
    int64_t n;
    if (b->scope != TN_SCOPE_LOCAL)
        return true;
    if (!tn_is_int(b->dim[0], &n)) {
        w->status = tn_error(w->f->ctx, "lower-E004", NULL, "%s: local buffer %s has no constant size", w->f->name, b->name);
        return true;
    }
    b->scratch_offset = w->scratch;
    w->scratch += ((uint64_t)n * tn_dtype_bytes(b->dtype) + 63) / 64 * 64;
    return true;
}

tn_status tn_lower_plan(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_pool *p = f->pool;
    plan w = {f, 0, TN_OK};
    const tn_expr *work = tn_idx(p, 0);
    for (tn_stmt *s = f->body.first; s; s = s->next) {
        if (s->kind == TN_S_BUFFER) {
            tn_buffer *b = &f->buffer[s->u.decl.buffer];
            b->work_offset = work;
            const tn_expr *bytes = tn_mul(p, b->dim[0], tn_idx(p, tn_dtype_bytes(b->dtype)));
            work = tn_simplify(p, NULL, tn_add(p, work, tn_mul(p, tn_ceildiv(p, bytes, 64), tn_idx(p, 64))));
        } else if (s->kind == TN_S_FOR) {
            w.scratch = 0;
            tn_stmt_walk(&s->u.loop.body, place, NULL, &w);
        }
    }
    return w.status;
}
