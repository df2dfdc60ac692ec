/* Rule reduce: reductions of any shape, alone or in a chain (softmax: maximum, exponentials, sum, quotients),
 * and whatever the more special rules refuse.
 *
 * Everything that belongs to one row of the first reduction is computed in one task while it is near: the
 * later blocks move into the row. A block that cannot move begins a phase of its own. Within a row each block
 * picks its vectors by what is contiguous in memory:
 *
 *   a spatial axis   vectors along it, accumulators in registers
 *   pairs            vectors across their rows: lanes load every second element (lower/pattern.c), and what follows
 *                    runs along the pairs
 *   a reduction axis partial results for each lane (rfactor), added up at the end of the row
 *   nothing          scalars
 */
#include "schedule/rules/reduce.h"

#include <string.h>

enum {
    ROW_BYTES = 16384,             /* data of a task: see rule elementwise */
    ABREAST_BYTES = ROW_BYTES / 4, /* what all blocks of a task pass to each other stays in L1 */
    WIDE_ROW = 1024,               /* bytes: its vectors hide what its blocks wait for */
    SHORT_ROW = 16,                /* bytes: a task has more of them even where that takes a mask */
    TASKS_A_CORE = 4,
    LARGE = 65536 /* turns of a block that are worth tasks of their own */
};

/* ---- rows ---- */

/* Largest divisor of n up to most, at least 1. */
static int64_t divisor_below(int64_t n, int64_t most)
{
    for (int64_t k = most; k > 1; k--)
        if (n % k == 0)
            return k;
    return 1;
}

/* How many rows make a task: about `bytes` of data, but enough tasks for all cores. A task takes whole inner loops of
 * the n around a row and a part of the next, loop *out_cut, which the result divides: indices are then those of the
 * task and of the turn, each for itself. */
static int64_t rows_of_task(const rows *w, int n, const int64_t extent[], int64_t n_rows, int64_t row_bytes,
                            int *out_cut)
{
    *out_cut = n - 1;
    if (row_bytes < 0 || row_bytes >= w->task_bytes)
        return 1;
    int64_t most = w->task_bytes / (row_bytes < 1 ? 1 : row_bytes), some = most < 8 ? 1 : 8;
    if (n_rows < 0) /* blocks with a mask for the rest of a symbolic extent do not move into rows */
        return extent[n - 1] >= 0                   ? divisor_below(extent[n - 1], some)
               : w->alone && row_bytes <= SHORT_ROW ? some
                                                    : 1;
    int64_t share = n_rows / (TASKS_A_CORE * (int64_t)w->d->m->cores);
    most = most < share ? most : share;
    for (int i = n - 1; i >= 0; i--) {
        *out_cut = i;
        if (extent[i] > most)
            return divisor_below(extent[i], most);
        most /= extent[i] > 0 ? extent[i] : 1;
    }
    return 1; /* all loops together are less than a share of them */
}

/* Fuses the loops around a row: into tasks, and the turns of one. */
static void make_tasks(rows *w, int n, const char *const name[], const int64_t extent[], int64_t n_rows,
                       int64_t row_bytes)
{
    derive *d = w->d;
    const char *outer = "", *inside = "", *p = w->prefix;
    int cut;
    int64_t count = rows_of_task(w, n, extent, n_rows, row_bytes, &cut);
    bool turns = count > 1 || cut < n - 1;
    for (int i = 0; i < n; i++) {
        const char *o = name[i], *in = name[i];
        if (i == cut && count > 1) {
            o = dv_text(d, "%sto", p);
            in = dv_text(d, "%sti", p);
            dv_do(d, "%s %s = split %s %lld", o, in, name[i], (long long)count);
        }
        if (i <= cut || !turns)
            outer = dv_text(d, "%s %s", outer, o);
        if (turns && (i > cut || (i == cut && count > 1)))
            inside = dv_text(d, "%s %s", inside, in);
    }
    w->row = w->task = dv_text(d, "%s%s", p, turns ? "task" : "row");
    w->n_outer = 1;
    dv_do(d, "%s = fuse%s", w->task, outer);
    if (turns) {
        w->row = dv_text(d, "%sturn", p);
        dv_do(d, "%s = fuse%s", w->row, inside);
        w->n_outer = 2;
    }
}

/* How wide the part of a spatial axis is that a row has; 0: rows are elements. */
static int64_t width_of_row(derive *d, const tn_stmt *b, int v)
{
    if (v < 0 || v >= rule_n_spatial(b))
        return 0;
    int64_t e = rule_extent(b->u.block.iter[v].extent);
    uint16_t lanes = rule_lanes(d->m, rule_target(d->s->func, b)->dtype);
    int64_t vectors = e < 0 ? INT32_MAX : (e + lanes - 1) / lanes;
    int64_t first = vectors < REDUCE_CHAINS ? vectors : REDUCE_CHAINS;
    return lanes * dv_pick_power(d, b->u.block.name, "width", first, 1,
                                 vectors < 4 * REDUCE_CHAINS ? vectors : 4 * REDUCE_CHAINS);
}

static void count_rows(rows *w, const tn_stmt *b)
{
    int v = rule_vector_iter(w->d, b, w->pairs);
    int64_t wide = width_of_row(w->d, b, v);
    w->beside = wide > 0;
    w->count = 1;
    for (int i = 0; i < rule_n_spatial(b); i++) {
        int64_t e = rule_extent(b->u.block.iter[i].extent);
        e = i == v && wide ? (e + wide - 1) / wide : e;
        if (e > 0 && w->count < INT32_MAX)
            w->count *= e;
    }
}

/* Makes the loops around a row of the first reduction: spatial axes (of the vector axis its outer part) fused. */
static void make_rows(rows *w, const char *block)
{
    derive *d = w->d;
    tn_stmt *b = tn_func_block(d->s->func, block);
    int n = rule_n_spatial(b), all = (int)b->u.block.n_iter, v = rule_vector_iter(d, b, w->pairs);
    const char *name[TN_MAX_LOOPS], *outer = "", *reduce = "";
    int64_t n_rows = 1, row = tn_dtype_bytes(rule_target(d->s->func, b)->dtype), e[TN_MAX_LOOPS];
    int64_t wide = width_of_row(d, b, v);
    for (int i = 0; i < all; i++) {
        name[i] = dv_text(d, "%s%s%d", w->prefix, i < n ? "s" : "r", i < n ? i : i - n);
        e[i] = rule_extent(b->u.block.iter[i].extent);
    }
    dv_loops(d, block, name, all);
    const char *inside = "";
    if (wide) {
        dv_do(d, "%svo %svt = split %s %lld%s", w->prefix, w->prefix, name[v], (long long)wide,
              dv_tail(e[v], wide));
        e[v] = e[v] < 0 ? -1 : (e[v] + wide - 1) / wide;
        name[v] = dv_text(d, "%svo", w->prefix);
        inside = dv_text(d, " %svt", w->prefix);
        row *= wide;
    }
    for (int i = 0; i < all; i++) {
        *(i < n ? &outer : &reduce) = dv_text(d, "%s %s", i < n ? outer : reduce, name[i]);
        int64_t *x = i < n ? &n_rows : &row;
        *x = *x < 0 || e[i] < 0 || *x > INT64_MAX / 2 / (e[i] + 1) ? -1 : *x * e[i];
    }
    if (*inside)
        dv_do(d, "reorder%s%s%s", outer, reduce, inside);
    w->task_bytes = row < 0 ? ROW_BYTES
                            : dv_pick_power(d, block, "task_bytes", w->abreast ? ABREAST_BYTES : ROW_BYTES,
                                            ROW_BYTES / 16, 16 * ROW_BYTES);
    make_tasks(w, n, name, e, n_rows, row);
    w->comment = w->pairs ? "vectors across rows of two"
                 : v < 0  ? "scalars"
                 : v < n  ? "vectors across the reduction"
                          : "vectors along the reduction";
}

/* What a block reads of the blocks before it in its phase, which the row holds one turn of. */
typedef struct {
    const derive *d;
    const tn_stmt *block;
    const char *const *before;
    int n;
    bool across;    /* it reduces over what a reduction gives, row by row: it needs all rows */
    uint64_t fixed; /* its iterations that the row fixes */
    uint64_t inner; /* its iterations along which it reads contiguous memory */
} row_reads;

static void look_at_read(const tn_expr *load, void *user)
{
    row_reads *a = user;
    const tn_buffer *from = &a->d->s->func->buffer[load->u.load.buffer];
    for (int i = 0; i < (int)a->block->u.block.n_iter && i < 64 && from->layout; i++)
        if (rule_steps_by_one(a->d->s->func, load->src[rule_innermost_dim(from)],
                              a->block->u.block.iter[i].var))
            a->inner |= (uint64_t)1 << i;
    for (int k = 0; k < a->n; k++) {
        tn_stmt *b = tn_func_block(a->d->s->func, a->before[k]);
        if (b->u.block.body.first->u.store.buffer != load->u.load.buffer)
            continue;
        for (int i = 0; i < (int)a->block->u.block.n_iter && i < 64; i++) {
            bool uses = tn_uses(load, a->block->u.block.iter[i].var);
            if (uses && a->block->u.block.iter[i].kind == TN_ITER_REDUCE)
                a->across |= rule_reduces(b);
            else if (uses)
                a->fixed |= (uint64_t)1 << i;
        }
    }
}

/* Whether the block should move into the rows. Not where it needs several; and if it has work enough for tasks of its
 * own, not where the rows are too few for all cores, nor where they would take its vectors or its blocks of memory. */
static bool belongs_to_row(const rows *w, const char *const block[], int at)
{
    derive *d = w->d;
    tn_stmt *b = tn_func_block(d->s->func, block[at]);
    row_reads a = {d, b, block, at, false, 0, 0};
    int64_t turns = 1;
    int v = rule_vector_iter(d, b, w->pairs);
    bool lines = false; /* it has rows inside the row */
    rule_loads(b, look_at_read, &a);
    for (int i = 0; i < (int)b->u.block.n_iter; i++) {
        int64_t e = rule_extent(b->u.block.iter[i].extent);
        turns *= e > 0 && turns < LARGE ? e : 1;
        lines |= b->u.block.iter[i].kind == TN_ITER_SPATIAL && !(a.fixed >> i & 1) && e != 1;
    }
    bool along = v >= 0 && b->u.block.iter[v].kind == TN_ITER_REDUCE;
    if (rule_reduces(b) && (a.across || (lines && (along || w->abreast))))
        return false;
    if (v >= 0)
        a.inner |= (uint64_t)1 << v;
    bool here = turns < LARGE ||
                (!rule_reduces(b) && !lines) || /* the latter: an epilogue, an element for each row */
                (w->count >= 2 * (int64_t)d->m->cores && (w->beside || !(a.fixed & a.inner)));
    return dv_pick_flag(d, block[at], "in_row", here);
}

/* The blocks of a short row wait for one another, each for the last vector of the one before: tasks take all their rows
 * through one block, then through the next (measured on Zen 4: softmax of 1,536 rows of 128 in 72 us instead
 * of 82, of 6,144 rows of 32 in 85 instead of 134). */
static bool goes_abreast(const rows *w, const tn_stmt *b)
{
    derive *d = w->d;
    int v = rule_vector_iter(d, b, false), n = rule_n_spatial(b);
    if (w->alone || w->pairs || w->beside || d->s->func->strict ||
        v < n) /* sums that are strict are not in lanes */
        return false;
    int64_t row = tn_dtype_bytes(rule_target(d->s->func, b)->dtype);
    for (int i = n; i < (int)b->u.block.n_iter; i++) {
        int64_t e = rule_extent(b->u.block.iter[i].extent);
        row = e < 0 || row > ROW_BYTES ? ROW_BYTES : row * e;
    }
    return 2 * row <= ROW_BYTES && dv_pick_flag(d, b->u.block.name, "abreast", row < WIDE_ROW);
}

/* Does the block reduce pairs of neighbours, of enough rows for vectors? */
static bool has_pairs(derive *d, const tn_stmt *b)
{
    int n = rule_n_spatial(b), v = rule_vector_iter(d, b, false);
    if (d->s->func->strict || v < n || n + 1 != (int)b->u.block.n_iter ||
        rule_extent(b->u.block.iter[n].extent) != 2)
        return false;
    int64_t count = rule_extent(b->u.block.iter[n - 1].extent);
    return count >= REDUCE_CHAINS * rule_lanes(d->m, rule_target(d->s->func, b)->dtype);
}

static void schedule_in_row(rows *w, const char *block, bool first, const char *prefix)
{
    rows own = *w;
    bool reduces = rule_reduces(tn_func_block(w->d->s->func, block));
    if (w->abreast && !first)
        own.n_outer--; /* it stands in the task */
    if (w->abreast && !first && reduces)
        rule_enter_row(&own, block, prefix);
    rule_nest_in_row(&own, block, prefix);
    memcpy(w->peel, own.peel, sizeof w->peel);
    w->n_peel = own.n_peel;
    if (w->abreast && reduces)
        dv_try(w->d, "set_scope \"%s\" local", block);
}

/* All blocks of the row. Runs of pairs are fused when nothing has to know their boxes any more. */
static void schedule_blocks(rows *w, int n, const char *const block[])
{
    derive *d = w->d;
    for (int turn = 0; turn < (w->pairs ? 2 : 1); turn++) {
        for (int i = 0; i < n && turn == 1 && dv_ok(d); i++)
            if (!rule_reduces(tn_func_block(d->s->func, block[i])))
                dv_try(d, "set_scope \"%s\" local", block[i]);
        for (int i = 0; i < n && dv_ok(d); i++)
            if (!w->pairs || rule_reduces(tn_func_block(d->s->func, block[i])) == (turn == 0))
                schedule_in_row(w, block[i], i == 0, dv_text(d, "%s%c", w->prefix, 'a' + i % 26));
    }
}

/* Moves a block into the task, or into the row. Rows of a task that are turns of several loops are one index, whose
 * parts are no boxes of the task: they go one by one. */
static bool move_in(rows *w, const char *block, bool first)
{
    if (w->abreast && dv_try(w->d, "reverse_compute_at \"%s\" %s", block, w->task))
        return true;
    if (w->abreast && !first) /* those before it have taken all rows of the task */
        return false;
    w->abreast = false;
    return dv_try(w->d, "reverse_compute_at \"%s\" %s", block, w->row);
}

/* One phase: the block and every later one that can move into its rows. Returns how many blocks that were. */
static int phase(derive *d, int number, int n, const char *const block[], const char **out_comment)
{
    rows w = {.d = d, .prefix = number ? dv_text(d, "p%d_", number) : "", .alone = n <= 2};
    tn_stmt *b = tn_func_block(d->s->func, block[0]);
    if (!rule_plain_nest(b) || rule_n_spatial(b) == 0) {
        dv_refuse(d, TN_REJECT_NEST);
        return 1;
    }
    w.pairs = has_pairs(d, b);
    count_rows(&w, b);
    const char *own[2] = {block[0], NULL};
    if (n > 1 && w.beside && !belongs_to_row(&w, block, 1) &&
        dv_try(d, "cache_write \"%s\" global", block[0]))
        /* later phases read the result: it is summed in registers and copied */
        own[1] = dv_text(d, "%s.out", block[0]);
    w.abreast = !own[1] && goes_abreast(&w, b);
    make_rows(&w, block[0]);
    w.abreast &= w.row != w.task;
    if (own[1])
        dv_do(d, "reverse_compute_at \"%s\" %s", own[1], w.row);
    int moved = 1;
    while (moved < n && !own[1] && dv_ok(d) && belongs_to_row(&w, block, moved) &&
           move_in(&w, block[moved], moved == 1))
        moved++;
    w.abreast &= moved > 1;
    schedule_blocks(&w, own[1] ? 2 : moved, own[1] ? own : block);
    for (int i = 0; i < moved && dv_ok(d);
         i++) /* values that only pass between blocks of the row stay near */
        if (!rule_reduces(tn_func_block(d->s->func, block[i])))
            dv_try(d, "set_scope \"%s\" local", block[i]);
    dv_do(d, "parallel %s", w.task);
    for (int i = 0; i < w.n_peel; i++)
        dv_do(d, "%s", w.peel[i]);
    *out_comment = w.comment;
    return moved;
}

/* Does it add up along columns that are too few for all cores? */
static bool has_few_rows(derive *d, const tn_stmt *b)
{
    rows w = {.d = d, .pairs = has_pairs(d, b)};
    count_rows(&w, b);
    return w.beside && w.count < (int64_t)d->m->cores;
}

/* Is the extent of the last loop around a row symbolic? */
static bool has_symbolic_rows(const tn_stmt *block)
{
    int n = rule_n_spatial(block);
    return n > 0 && rule_extent(block->u.block.iter[n - 1].extent) < 0;
}

/* Rows of several extents are rows of one: no quotients and remainders to tell them apart. */
static void merge_rows(derive *d)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    while (rule_blocks(d->s->func, b) > 0 && has_symbolic_rows(b[0]) && dv_try(d, "merge"))
        continue;
}

bool rule_reduce_matches(const tn_func *f, const tn_machine *m)
{
    (void)m;
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(f, b);
    bool reduces = false;
    for (int i = 0; i < n; i++) {
        if (!rule_plain_nest(b[i]))
            return false;
        reduces |= rule_reduces(b[i]);
    }
    return reduces;
}

int rule_reduce_block(derive *d, int at, int n, const char *const name[], const char **comment)
{
    tn_stmt *block = tn_func_block(d->s->func, name[at]);
    const char *part = NULL, *how = NULL, *own = dv_text(d, "p%d_", at), *rest = dv_text(d, "p%d_q", at);
    int moved = 1;
    if (!rule_reduces(block)) {
        rule_elementwise_nest(d, name[at], dv_text(d, "n%d_", at));
    } else if (rule_n_spatial(block) == 0) {
        const char *columns = NULL;
        part = rule_cut_sum(d, name[at], own);
        if (!part && dv_ok(d))
            part = columns = rule_columns_of_sum(d, name[at], own);
        if (part && dv_ok(d))
            phase(d, at + RULE_MAX_BLOCKS, columns ? 2 : 1, (const char *[]){part, name[at]}, &how);
        else if (dv_ok(d))
            rule_sum_serially(d, name[at], rest);
        how = how ? how : "one element";
    } else if (has_few_rows(d, block) && (part = rule_cut_sum(d, name[at], own))) {
        if (dv_ok(d))
            phase(d, at + RULE_MAX_BLOCKS, 2, (const char *[]){part, name[at]}, &how);
        if (dv_ok(d))
            rule_sum_serially(d, name[at], rest);
    } else {
        moved = phase(d, at, n - at, &name[at], &how);
    }
    *comment = *comment ? *comment : how;
    return at + moved;
}

tn_verdict rule_reduce(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    tn_stmt *b[RULE_MAX_BLOCKS];
    const char *name[2 * RULE_MAX_BLOCKS], *comment = NULL;
    dv_squeeze(&d);
    merge_rows(&d);
    int n = rule_blocks(s->func, b), k = 0;
    for (int i = 0; i < n; i++) {
        name[k++] = b[i]->u.block.name;
        if (rule_reduces(b[i]) && rule_target(s->func, b[i])->param >= 0) {
            dv_do(&d, "cache_write \"%s\" global", b[i]->u.block.name);
            name[k++] = dv_text(&d, "%s.out", b[i]->u.block.name);
        }
    }
    for (int i = 0; i < k && dv_ok(&d);)
        i = rule_reduce_block(&d, i, k, name, &comment);
    dv_comment(&d, "rule reduce: %s", comment);
    return d.v;
}
