/* Steps on where the cells of a buffer lie in memory: transform_layout (the order and the groups of its dimensions) of
 * a temporary, or of a constant input, which whoever builds the kernel then has in that layout; and storage_align (how
 * far apart the rows of a dimension are) of a temporary. Indices stay as they are, so no block changes. */
#include "schedule/sched_impl.h"

#include <string.h>

/* The buffer that the block of the step's first argument writes, if it is a temporary of the function's own. */
static tn_verdict find_temporary(tn_sched *s, const tn_step *t, tn_buffer **out)
{
    const tn_stmt *b = t->arg[0].s && !t->arg[0].key ? tn_func_block(s->func, t->arg[0].s) : NULL;
    if (!b)
        return TN_REJECT_NAME;
    int64_t target = tn_block_target(b);
    if (target < 0 || s->func->buffer[target].param >= 0 || s->func->buffer[target].scope == TN_SCOPE_TILE)
        return TN_REJECT_SCOPE;
    *out = &s->func->buffer[target];
    return TN_DONE;
}

/* The constant of the step's first argument; NULL: there is none of that name. */
static tn_buffer *find_constant(tn_sched *s, const tn_step *t)
{
    for (uint32_t i = 0; i < s->func->n_buffer && t->arg[0].s && !t->arg[0].key; i++)
        if (s->func->buffer[i].constant && strcmp(s->func->buffer[i].name, t->arg[0].s) == 0)
            return &s->func->buffer[i];
    return NULL;
}

tn_verdict tn_do_transform_layout(tn_sched *s, tn_step *t)
{
    tn_ctx *ctx = s->func->ctx;
    tn_buffer *b;
    const tn_layout *l;
    const tn_arg *map = tn_step_key(t, "layout");
    tn_verdict v = TN_DONE;
    if ((b = find_constant(s, t)) == NULL && (v = find_temporary(s, t, &b)) != TN_DONE)
        return v;
    if (!map || !map->s)
        return TN_REJECT_NAME;
    size_t before = ctx->n_diag;
    if (tn_layout_parse(ctx, map->s, NULL, &l) != TN_OK) {
        tn_diag_rewind(ctx, before);
        return TN_REJECT_TEXT;
    }
    if (l ? l->ndim != b->ndim || l->fill != TN_FILL_ANY : strlen(map->s) != b->ndim)
        return TN_REJECT_ARITY;
    if (b->constant && !b->laid_out) {
        b->laid_out = true;
        b->given = b->layout;
    }
    b->layout = l;
    return TN_DONE;
}

/* A dimension is as long as it takes to make the elements from one row to the next factor * k + offset. */
tn_verdict tn_do_storage_align(tn_sched *s, tn_step *t)
{
    tn_pool *p = s->func->pool;
    tn_buffer *b;
    int64_t axis = t->arg[1].i, factor = t->arg[2].i, offset = t->arg[3].i, row = 1, n;
    tn_verdict v = find_temporary(s, t, &b);
    if (v != TN_DONE)
        return v;
    for (int i = 1; i < 4; i++)
        if (t->arg[i].s || t->arg[i].key)
            return TN_REJECT_ARITY;
    if (axis < 0 || axis + 1 >= b->ndim || factor < 1 || factor > 4096 || offset < 0 || offset >= factor)
        return TN_REJECT_FACTOR;
    if (b->layout)
        return TN_REJECT_SCOPE; /* its rows are not those of the dimensions */
    for (int d = b->ndim - 1; d > axis + 1; d--)
        if (!tn_is_int(b->dim[d], &n) || n < 1 || n > (1 << 20) || (row *= n) > (1 << 24))
            return TN_REJECT_REGION;
    if (!tn_is_int(b->dim[axis + 1], &n) || n < 0 || n > (1 << 24))
        return TN_REJECT_REGION;
    for (int64_t more = 0; more < factor; more++) {
        if ((n + more) * row % factor != offset)
            continue;
        const tn_expr **dim = tn_arena_copy(s->func->arena, b->dim, b->ndim * sizeof *b->dim, 8);
        dim[axis + 1] = tn_idx(p, n + more);
        b->dim = dim;
        return TN_DONE;
    }
    return TN_REJECT_FACTOR; /* what is inside of the dimension has a factor in common with it */
}
