/* Sums of few results: parts of them become results, rows or columns for rule reduce, and are added up last. */
#include "schedule/rules/derive.h"

enum {
    ROW_BYTES = 16384, /* data of a task: see rule elementwise */
    TASKS_A_CORE = 4,
    CHAINS = 4,   /* vectors in flight, so that the latency of one operation is hidden */
    LARGE = 65536 /* turns of a block that are worth tasks of their own */
};

/* A reduction to one element whose last axis has an extent that only the run knows: as many parts as there are lanes of
 * several vectors, which are columns of rows as wide. */
const char *rule_columns_of_sum(derive *d, const char *block, const char *prefix)
{
    tn_stmt *b = tn_func_block(d->s->func, block);
    int n = (int)b->u.block.n_iter;
    const char *name[TN_MAX_LOOPS], *rest = "";
    if (d->s->func->strict || n == 0 || rule_extent(b->u.block.iter[n - 1].extent) >= 0)
        return NULL;
    for (int i = 0; i < n; i++)
        name[i] = dv_text(d, "%sr%d", prefix, i);
    int lanes = rule_lanes(d->m, rule_target(d->s->func, b)->dtype);
    int chains = (int)dv_pick_power(d, block, "chains", CHAINS, 1, 2 * CHAINS);
    dv_loops(d, block, name, n);
    dv_do(d, "%sc %sk = split %s %d", prefix, prefix, name[n - 1], chains * lanes);
    for (int i = 0; i + 1 < n; i++)
        rest = dv_text(d, "%s %s", rest, name[i]);
    dv_do(d, "reorder %sk%s %sc", prefix, rest, prefix);
    dv_do(d, "%sp = rfactor \"%s\" %sk", prefix, block, prefix);
    return dv_text(d, "%s.rf", block);
}

/* A reduction to one element has no rows, and one to few columns too few of them. */
const char *rule_cut_sum(derive *d, const char *block, const char *prefix)
{
    tn_stmt *b = tn_func_block(d->s->func, block);
    int n = (int)b->u.block.n_iter, at = 0, n_spatial = rule_n_spatial(b);
    const char *name[TN_MAX_LOOPS], *rest = "";
    int64_t e, longest = 0, all = 1;
    for (int i = 0; i < n; i++) {
        e = rule_extent(b->u.block.iter[i].extent);
        if (e < 0 || d->s->func->strict)
            return NULL;
        all = all > INT32_MAX ? all : all * e;
        if (i >= n_spatial && e > longest) {
            longest = e;
            at = i;
        }
        name[i] = dv_text(d, "%sr%d", prefix, i);
    }
    int64_t least = n_spatial ? LARGE : ROW_BYTES / tn_dtype_bytes(rule_target(d->s->func, b)->dtype);
    if (all < least)
        return NULL;
    for (int i = 0; i < n; i++) { /* loops stay in the order of the block's iterations */
        rest = i == n_spatial ? dv_text(d, "%s %sc", rest, prefix) : rest;
        rest = dv_text(d, "%s %s", rest, i == at ? dv_text(d, "%sk", prefix) : name[i]);
    }
    int64_t most = TASKS_A_CORE * (int64_t)d->m->cores, parts = longest < most ? longest : most;
    parts = dv_pick_power(d, block, "parts", parts, (int64_t)d->m->cores,
                          2 * most < longest ? 2 * most : longest);
    dv_loops(d, block, name, n);
    dv_do(d, "%sc %sk = split %s %lld", prefix, prefix, name[at], (long long)((longest + parts - 1) / parts));
    dv_do(d, "reorder%s", rest);
    dv_do(d, "%sp = rfactor \"%s\" %sc", prefix, block, prefix);
    return dv_text(d, "%s.rf", block);
}

void rule_sum_serially(derive *d, const char *block, const char *prefix)
{
    int n = tn_sched_n_loops(d->s, block), first = rule_n_spatial(tn_func_block(d->s->func, block));
    const char *name[TN_MAX_LOOPS];
    for (int i = 0; i < n; i++)
        name[i] = dv_text(d, "%sr%d", prefix, i);
    dv_loops(d, block, name, n);
    if (n > first)
        dv_do(d, "decompose_reduction \"%s\" %s", block, name[first]);
}
