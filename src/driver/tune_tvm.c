/* Where a search begins that is given records of TVM: each task near the tile sizes of those that fit it. */
#include "driver/tuning.h"

/* The best of what was found so far for a task. */
typedef struct nearest {
    const tn_tvm_lines *lines; /* NULL: nothing fits */
    tn_tiling_fit fit;
} nearest;

/* Operands of the same sizes first, as of a convolution with the same strides; then the faster. */
static bool is_nearer(const nearest *n, const tn_tvm_lines *lines, const tn_tiling_fit *fit)
{
    return !n->lines || fit->strange < n->fit.strange ||
           (fit->strange == n->fit.strange && lines->seconds < n->lines->seconds);
}

static void offer(nearest *n, const tn_tiled_loops *loops, tn_tvm_lines *lines, tn_arena *arena)
{
    for (uint32_t i = 0; i < lines->n_tiling; i++) {
        tn_tiling_fit fit;
        if (!tn_tiling_fits(loops, &lines->tiling[i], arena, &fit))
            continue;
        lines->fits = true;
        if (is_nearer(n, lines, &fit))
            *n = (nearest){lines, fit};
    }
}

const tn_picks *tn_tuning_tvm(tn_tuning *t, const tn_task *k)
{
    tn_build *b = t->b;
    tn_pool pool;
    tn_tiled_loops loops;
    nearest best = {0};
    uint32_t n;
    if (!b->has_records || b->records.tvm.n == 0)
        return NULL;
    tn_pool_init(&pool, k->load.func->ctx, &b->arena, k->load.func->pool);
    if (!tn_tiled_loops_read(k->load.func, &b->machine, &b->arena, &pool, &loops))
        return NULL;
    for (size_t i = 0; i < b->records.tvm.n; i++)
        offer(&best, &loops, &b->records.tvm.at[i], &b->arena);
    return best.lines ? tn_tuning_point(t, k, best.fit.n, best.fit.wish, &n) : NULL;
}

void tn_tuning_tell_tvm(tn_tuning *t)
{
    uint32_t all = 0, left = 0;
    const tn_tvm_lines *first = NULL;
    for (size_t i = 0; t->b->has_records && i < t->b->records.tvm.n; i++) {
        const tn_tvm_lines *x = &t->b->records.tvm.at[i];
        all += x->n;
        left += x->fits ? 0 : x->n;
        first = first || x->fits ? first : x;
    }
    if (left && t->n_chosen)
        (void)tn_report(t->b->ctx, TN_WARNING, "driver-W003",
                        &(tn_loc){.file = first->path, .line = first->line, .col = 1},
                        "%u of %u records of TVM have no tile sizes that fit a task and are passed over, the "
                        "first of them here; %s",
                        (unsigned)left, (unsigned)all,
                        left < all ? "the search begins near those of the others"
                                   : "name a database of this model");
}
