/* Rule scan: blocks in which each step along an axis reads what the step before it made, as running sums. What stands
 * beside the axis are tasks. Where that is contiguous in the result, vectors of it run along together; where the axis
 * itself is, some rows do, so that a step of one need not wait for the step before it. Blocks beside them without a
 * reduction are scheduled as by rule elementwise. */
#include "schedule/rules/derive.h"

enum { VECTORS = 4, ROWS = 4 };                 /* that run along together, at most */
enum { TASK_ELEMENTS = 16384, MANY = 1 << 24 }; /* of a task: long against handing it out */

/* The scan's iteration in a perfect nest of the block's own loops; -1: there is none. */
static int scan_of(tn_stmt *block)
{
    int at = 0;
    if (!tn_block_scans(block) || !rule_own_nest(block))
        return -1;
    while (block->u.block.iter[at].kind != TN_ITER_SCAN)
        at++;
    return at;
}

bool rule_scan_matches(const tn_func *f, const tn_machine *m)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(f, b);
    bool found = false;
    (void)m;
    for (int i = 0; i < n; i++) {
        bool scans = scan_of(b[i]) >= 0;
        found |= scans;
        if (!scans && (rule_reduces(b[i]) || !rule_plain_nest(b[i])))
            return false;
    }
    return found;
}

/* The iteration that the innermost dimension of the result is indexed by; -1: none. */
static int innermost(const tn_func *f, const tn_stmt *block)
{
    const tn_stmt *store = block->u.block.body.first;
    if (store->u.store.n_index == 0)
        return -1;
    const tn_expr *index = store->u.store.index[rule_innermost_dim(rule_target(f, block))];
    for (uint32_t i = 0; i < block->u.block.n_iter; i++)
        if (tn_uses(index, block->u.block.iter[i].var))
            return (int)i;
    return -1;
}

/* Iterations beside the scan of which so many run along together in a task. */
static int64_t pick_task(derive *d, const tn_stmt *block, int scan, int beside, int64_t together)
{
    int64_t steps = rule_extent(block->u.block.iter[scan].extent), total = 1;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++) {
        int64_t n = (int)i == scan ? 1 : rule_extent(block->u.block.iter[i].extent);
        n = (int)i == beside && n > 0 ? (n + together - 1) / together : n;
        total = n < 0 || n > MANY / total ? MANY : total * (n ? n : 1);
    }
    int64_t each = (steps > 0 ? steps : TASK_ELEMENTS) * together, turns = TASK_ELEMENTS / (each ? each : 1);
    turns = turns > total ? total : turns;
    while (turns & (turns - 1)) /* quotients of powers of two are cheap */
        turns &= turns - 1;
    return dv_pick_power(d, block->u.block.name, "task_turns", turns < 1 ? 1 : turns, 1,
                         total < TASK_ELEMENTS ? total : TASK_ELEMENTS);
}

static int64_t lanes_together(derive *d, const tn_stmt *block, int64_t extent)
{
    int64_t lanes = rule_lanes(d->m, rule_target(d->s->func, block)->dtype), n = VECTORS * lanes;
    while (extent >= 0 && n > 1 && n / 2 >= extent)
        n /= 2;
    return dv_pick_power(d, block->u.block.name, "lanes", n, 1, VECTORS * lanes);
}

static int64_t rows_together(derive *d, const tn_stmt *block, int64_t extent)
{
    return dv_pick_power(d, block->u.block.name, "rows", extent == 1 ? 1 : ROWS, 1, ROWS);
}

static void scan_nest(derive *d, tn_stmt *block, int scan, const char *prefix)
{
    const char *name[TN_MAX_LOOPS], *around = "", *block_name = block->u.block.name;
    int n = (int)block->u.block.n_iter, last = innermost(d->s->func, block), beside = last;
    if (last == scan) /* rows: those of the nearest iteration */
        beside = scan > 0 ? scan - 1 : n > 1 ? 1 : -1;
    int64_t extent = beside < 0 ? 1 : rule_extent(block->u.block.iter[beside].extent);
    int64_t together = beside < 0     ? 1
                       : last == scan ? rows_together(d, block, extent)
                                      : lanes_together(d, block, extent);
    for (int i = 0; i < n; i++)
        name[i] = dv_text(d, i == scan ? "%sk" : "%si%d", prefix, i);
    int64_t turns = beside < 0 ? 0 : pick_task(d, block, scan, beside, together);
    dv_loops(d, block_name, name, n);
    if (beside < 0)
        return;
    if (together > 1)
        dv_do(d, "%so %sv = split %s %lld%s", prefix, prefix, name[beside], (long long)together,
              dv_tail(extent, together));
    for (int i = 0; i < n; i++)
        if (i != scan)
            around = dv_text(d, "%s %s", around,
                             i == beside && together > 1 ? dv_text(d, "%so", prefix) : name[i]);
    const char *inner = together > 1 ? dv_text(d, " %sv", prefix) : "";
    dv_do(d, "reorder%s %s%s", around, name[scan], inner);
    dv_do(d, "%s%s = fuse%s", prefix, turns > 1 ? "each" : "task", around);
    if (turns > 1)
        dv_do(d, "%stask %sturn = split %seach %lld tail=mask", prefix, prefix, prefix, (long long)turns);
    if (together > 1)
        dv_do(d, last == scan ? "unroll %sv" : "vectorize %sv", prefix);
    dv_do(d, "parallel %stask", prefix);
}

tn_verdict rule_scan(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(s->func, b);
    dv_comment(&d, "rule scan: steps in order, tasks of about %d elements", TASK_ELEMENTS);
    for (int i = 0; i < n && dv_ok(&d); i++) {
        const char *prefix = i ? dv_text(&d, "n%d_", i) : "";
        int scan = scan_of(b[i]);
        if (scan >= 0)
            scan_nest(&d, b[i], scan, prefix);
        else
            (void)rule_elementwise_nest(&d, b[i]->u.block.name, prefix);
    }
    return d.v;
}
