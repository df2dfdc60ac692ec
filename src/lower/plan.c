/* PlanMemory: LOCAL and TILE buffers get offsets in the worker's scratch, GLOBAL non-parameters in the call's work
 * memory, 64-byte aligned. Scratch is a stack that follows the nesting of lists: what lives in different
 * lists, or in different phases (a task sees one), overlaps. */
#include "lower/lower_impl.h"

#include "base/size.h"

typedef struct {
    tn_func *f;
    tn_status status;
} plan;

static tn_status too_large(tn_func *f, const tn_buffer *b)
{
    return tn_error(f->ctx, "lower-E004", NULL,
                    "%s: the size of local buffer %s must be constant and fit into memory", f->name, b->name);
}

/* Places one buffer at `at`; returns where the next may begin. */
static int64_t place(plan *w, tn_buffer *b, int64_t at)
{
    int64_t n, end;
    if (b->scope != TN_SCOPE_LOCAL && b->scope != TN_SCOPE_TILE)
        return at;
    if (!tn_is_int(b->dim[0], &n) || !tn_i64_mul(n, tn_dtype_bytes(b->dtype), &n) ||
        !tn_i64_add(at, n, &end) || end > INT64_MAX / 2) {
        w->status = too_large(w->f, b);
        return at;
    }
    b->scratch_offset = (uint64_t)at;
    return (end + 63) / 64 * 64;
}

static void list(plan *w, tn_body *b, int64_t at, int depth)
{
    TN_ASSERT(depth < 512);
    for (tn_stmt *s = b->first; s; s = s->next) {
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        for (int i = 0; i < n; i++)
            list(w, in[i], at, depth + 1);
        if (s->kind == TN_S_BUFFER)
            at = place(w, &w->f->buffer[s->u.decl.buffer], at);
    }
}

tn_status tn_lower_plan(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_pool *p = f->pool;
    plan w = {f, TN_OK};
    const tn_expr *work = tn_idx(p, 0);
    for (tn_stmt *s = f->body.first; s; s = s->next) {
        if (s->kind == TN_S_BUFFER) {
            tn_buffer *b = &f->buffer[s->u.decl.buffer];
            b->work_offset = work;
            const tn_expr *bytes = tn_mul(p, b->dim[0], tn_idx(p, tn_dtype_bytes(b->dtype)));
            work = tn_simplify(p, NULL, tn_add(p, work, tn_mul(p, tn_ceildiv(p, bytes, 64), tn_idx(p, 64))));
        } else if (s->kind == TN_S_FOR) {
            list(&w, &s->u.loop.body, 0, 0);
        }
    }
    return w.status;
}
