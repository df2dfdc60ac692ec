/* Rule elementwise: each nest without a reduction becomes tasks of about 16 KiB of results whose innermost
 * axis, the one that is contiguous in the result, runs in vectors. Where operands are contiguous along another
 * axis, tiles are transposed (transpose.c).
 *
 * Trailing dimensions that every operand walks alike (or not at all) are one run of memory: they are fused
 * first, so that vectors cross the ends of short rows. So are rows that divide a vector where operands have rows too,
 * of up to twice that length: lanes then load a constant way apart, which lowering makes shuffles (lower/pattern.c).
 *
 * Long chains, as of sin, overlap with those of the next vector by themselves: their loop is not unrolled, and where
 * elements of the result are narrower than float32, its lanes are no more than float32 has.
 *
 * Where an index divides the innermost axis, as by 3 where three elements are one of an operand, so many vectors make a
 * turn that each is at the same place of every turn: its quotients and remainders are then constants of its lanes.
 *
 * Where an index is rounded from what is computed of the innermost axis, as for a resampled row, the row is written
 * out if it is short enough, for the same reason; of a long row, the loop over vectors is around that over rows, so
 * that what rows share is computed once.
 */
#include "schedule/rules/elementwise.h"

#include <string.h>

enum {
    TASK_BYTES =
        16384, /* results of a task: long against the 0.3 us that handing it out takes, small against L1 */
    TASKS_A_CORE = 4,      /* so that cores finish together */
    UNROLL = 4,            /* vectors of one turn of the inner loop, where they divide it */
    MAX_PERIOD = 8,        /* vectors of a turn that quotients ask for */
    MAX_GATHERED = 128,    /* loads of vectors of a row that is written out */
    MAX_INSTRUCTIONS = 256 /* of a turn of the inner loop, where less will do */
};

/* ---- the run of memory ---- */

typedef struct {
    const tn_func *f;
    const tn_stmt *block;
    int first;
    bool ok;
} run_check;

static int iter_of(const run_check *c, const tn_expr *e)
{
    for (int i = 0; i < (int)c->block->u.block.n_iter; i++)
        if (c->block->u.block.iter[i].var == e)
            return i;
    return -1;
}

/* A load either walks the dimensions from `first` on like the result does, as its own last ones, or uses none
 * of them. */
static bool walks_alike(const run_check *c, const tn_expr *load)
{
    const tn_buffer *b = &c->f->buffer[load->u.load.buffer];
    int n = (int)c->block->u.block.n_iter, count = n - c->first, from = (int)b->ndim - count;
    bool alike = from >= 0 && !b->layout;
    for (int k = 0; k < count && alike; k++) {
        const tn_iter *it = &c->block->u.block.iter[c->first + k];
        alike = load->src[from + k] == it->var && (k == 0 || b->dim[from + k] == it->extent);
    }
    for (uint32_t i = 0; i < load->nsrc; i++) {
        if (alike && (int)i >= from && i < load->u.load.n_index)
            continue;
        for (int k = c->first; k < n; k++)
            if (tn_uses(load->src[i], c->block->u.block.iter[k].var))
                return false;
    }
    return true;
}

static bool check_node(const tn_expr *e, void *user)
{
    run_check *c = user;
    if (e->kind == TN_E_LOAD) {
        c->ok &= walks_alike(c, e);
        return c->ok;
    }
    for (int i = 0; i < e->nsrc; i++)
        c->ok &= iter_of(c, e->src[i]) < c->first;
    return c->ok;
}

/* Index arithmetic inside a load was judged with the load: only expressions above loads are visited here. */
static void check_value(run_check *c, const tn_expr *e)
{
    if (iter_of(c, e) >= c->first)
        c->ok = false;
    else if (e->kind == TN_E_LOAD)
        check_node(e, c);
    else if (tn_each(e, check_node, c))
        return;
}

/* ---- short rows ---- */

typedef struct {
    const tn_func *f;
    const tn_expr *row, *at;
    int64_t extent;
    bool ok;
} row_check;

/* e is the iteration, or a constant way from it. */
static bool steps_along(const row_check *c, const tn_expr *e, const tn_expr *var)
{
    const tn_expr *coef, *rest;
    int64_t n;
    return tn_linear(c->f->pool, NULL, e, var, &coef, &rest) && tn_is_value(coef, 1) && tn_is_int(rest, &n);
}

/* The row of the result walks rows of the operand, and the element in it the elements of those; or neither is there. */
static bool reads_rows(const row_check *c, const tn_expr *load)
{
    const tn_buffer *b = &c->f->buffer[load->u.load.buffer];
    int n = b->ndim;
    int64_t extent = n > 0 ? rule_extent(b->dim[n - 1]) : -1;
    if (b->layout ||
        (tn_load_mask(load) && (tn_load_mask(load)->has_load || tn_uses(tn_load_mask(load), c->row))))
        return false;
    for (int d = 0; d < n; d++) {
        const tn_expr *e = load->src[d];
        bool row = tn_uses(e, c->row), at = tn_uses(e, c->at);
        if ((row || at) && (e->has_load || (row && at)))
            return false;
        if (at && (d != n - 1 || !steps_along(c, e, c->at)))
            return false;
        if (row && !(d == n - 1 && steps_along(c, e, c->row)) &&
            !(d == n - 2 && steps_along(c, e, c->row) && extent > 0 && extent <= 2 * c->extent))
            return false;
    }
    return true;
}

static bool check_rows(const tn_expr *e, void *user)
{
    row_check *c = user;
    c->ok &= e->kind != TN_E_LOAD || reads_rows(c, e);
    return c->ok;
}

/* Do the last two dimensions make one run of short rows? */
static bool short_rows(const nest *x)
{
    const tn_stmt *store = tn_body_only(&x->block->u.block.body);
    const tn_iter *it = x->block->u.block.iter;
    if (x->n < 2 || x->lanes < 4)
        return false;
    int64_t rows = rule_extent(it[x->n - 2].extent), extent = rule_extent(it[x->n - 1].extent);
    if (extent < 2 || x->lanes % extent != 0 || extent == x->lanes ||
        (rows >= 0 && rows * extent < 4 * x->lanes))
        return false;
    row_check c = {x->d->s->func, it[x->n - 2].var, it[x->n - 1].var, extent, true};
    tn_each(store->u.store.value, check_rows, &c);
    return c.ok;
}

/* First of the trailing dimensions that make one run. */
static int run_start(nest *x)
{
    tn_stmt *store = tn_body_only(&x->block->u.block.body);
    const tn_buffer *target = rule_target(x->d->s->func, x->block);
    if (!store || x->block->u.block.mask || target->layout || (int)store->u.store.n_index != x->n ||
        store->u.store.mask)
        return x->n - 1;
    for (int i = 0; i < x->n; i++)
        if (store->u.store.index[i] != x->block->u.block.iter[i].var)
            return x->n - 1;
    for (int first = 0; first < x->n - 1; first++) {
        run_check c = {x->d->s->func, x->block, first, true};
        check_value(&c, store->u.store.value);
        if (c.ok)
            return first;
    }
    return short_rows(x) ? x->n - 2 : x->n - 1;
}

/* ---- loops ---- */

void rule_push_outer(nest *x, const char *name, int64_t extent)
{
    x->outer[x->n_outer] = name;
    x->extent[x->n_outer++] = extent;
}

static const char *named(nest *x, const char *base) { return dv_text(x->d, "%s%s", x->prefix, base); }

typedef struct {
    const tn_expr *at;
    int64_t lanes, period;
} quotients;

static bool look_at_quotient(const tn_expr *e, void *user)
{
    quotients *q = user;
    int64_t by;
    if ((e->kind != TN_E_FLOORDIV && e->kind != TN_E_FLOORMOD) || !tn_is_int(e->src[1], &by) || by < 2 ||
        by > MAX_PERIOD * q->lanes || !tn_uses(e->src[0], q->at))
        return true;
    int64_t turns = by / tn_gcd(by, q->lanes);
    q->period *= turns / tn_gcd(q->period, turns);
    return q->period <= MAX_PERIOD;
}

/* After how many vectors along an iteration the quotients of its lanes are the same again, but for what all lanes
 * share. 1: always, or after too many. */
static int64_t period(const nest *x, const tn_expr *at, int64_t lanes)
{
    quotients q = {at, lanes, 1};
    const tn_stmt *store = tn_body_only(&x->block->u.block.body);
    return store && tn_each(store->u.store.value, look_at_quotient, &q) ? q.period : 1;
}

typedef struct {
    const tn_expr *at;
    int loads;
    bool computed;
} index_search;

/* Does a float become an integer that depends on the iteration, and not on what is read? */
static bool look_at_rounding(const tn_expr *e, void *user)
{
    index_search *s = user;
    s->computed |= e->kind == TN_E_CAST && !e->has_load && !tn_dtype_is_float(e->dtype) &&
                   tn_dtype_is_float(e->src[0]->dtype) && tn_uses(e, s->at);
    return true;
}

static bool look_at_index(const tn_expr *e, void *user)
{
    index_search *s = user;
    if (e->kind != TN_E_LOAD)
        return true;
    s->loads++;
    for (int d = 0; d < (int)e->u.load.n_index; d++)
        (void)tn_each(e->src[d], look_at_rounding, s);
    return true;
}

/* Loads of the block, if the index of one is rounded from what is computed of the iteration; else 0. */
static int computed_loads(const nest *x, const tn_expr *at)
{
    index_search s = {at, 0, false};
    const tn_stmt *store = tn_body_only(&x->block->u.block.body);
    if (store && at)
        (void)tn_each(store->u.store.value, look_at_index, &s);
    return s.computed ? s.loads : 0;
}

/* Vectors outside of the loop that was the innermost: its turns share what lanes compute. */
static void turn_rows_inside(nest *x)
{
    int n = x->n_outer;
    if (n < 2)
        return;
    const char *rows = x->outer[n - 2];
    int64_t extent = x->extent[n - 2];
    dv_do(x->d, "reorder %s %s", x->outer[n - 1], rows);
    x->outer[n - 2] = x->outer[n - 1];
    x->extent[n - 2] = x->extent[n - 1];
    x->outer[n - 1] = rows;
    x->extent[n - 1] = extent;
}

/* Turns of many instructions overlap by themselves, and only make code long. */
static int64_t short_unroll(const nest *x)
{
    int64_t unroll = UNROLL, n = rule_instructions(x->d->m, x->block, x->lanes);
    while (unroll > 1 && unroll * n > MAX_INSTRUCTIONS)
        unroll /= 2;
    return unroll;
}

/* Lanes of a vector of results, whose elements may be narrower than what they are computed of: then several registers
 * hold each value of it, which must not be too many values. */
static uint16_t lanes_of(const derive *d, const tn_stmt *block, tn_dtype t)
{
    uint16_t lanes = rule_lanes(d->m, t), floats = rule_lanes(d->m, TN_F32);
    while (lanes > floats && rule_instructions(d->m, block, lanes) > MAX_INSTRUCTIONS)
        lanes /= 2;
    return lanes;
}

/* Results of a task: as long as that it outweighs handing it out, as small as that it stays in cache. */
static int64_t pick_task_bytes(derive *d, const char *block)
{
    return dv_pick_power(d, block, "task_bytes", TASK_BYTES, TASK_BYTES / 4, 16 * TASK_BYTES);
}

/* Vectors along `loop` of the given extent (-1: symbolic), which stays the innermost. It is iteration `at`, or NULL. */
static void vectorize_run(nest *x, const char *loop, int64_t extent, const tn_expr *at)
{
    int64_t lanes = x->lanes, task = x->task_bytes / x->bytes / lanes, unroll;
    const char *o = named(x, "vo"), *m = named(x, "vm"), *u = named(x, "vu"), *v = named(x, "v");
    if (lanes < 2 || (extent >= 0 && extent < 2)) {
        rule_push_outer(x, loop, extent);
        x->inner = 1;
        return;
    }
    while (extent >= 0 && lanes / 2 >= extent) /* no wider than the run, rounded up to a power of two */
        lanes /= 2;
    int64_t turns = at ? period(x, at, lanes) : 1, vectors = extent < 0 ? -1 : (extent + lanes - 1) / lanes;
    int loads = turns > 1 ? 0 : computed_loads(x, at);
    bool whole = loads && vectors >= 0 && vectors * loads <= MAX_GATHERED;
    if (turns > 1)
        unroll = vectors >= 0 && vectors < turns ? vectors : turns;
    else if (whole) /* but for a last vector that is not full */
        unroll = dv_pick_power(x->d, x->block->u.block.name, "unroll",
                               extent % lanes != 0 && vectors > 1 ? vectors - 1 : vectors, 1, 2 * UNROLL);
    else
        unroll = dv_pick_power(
            x->d, x->block->u.block.name, "unroll",
            extent >= 0 && extent < 2 * task * lanes && extent % (lanes * UNROLL) != 0 ? 1 : short_unroll(x),
            1, 2 * UNROLL);
    int64_t step = unroll * lanes;
    if (extent < 0 || extent >= 2 * task * lanes) {
        dv_do(x->d, "%s %s %s %s = split %s %lld %lld %lld tail=mask", o, m, u, v, loop,
              (long long)(task / unroll), (long long)unroll, (long long)lanes);
        int64_t more = task / unroll * step;
        rule_push_outer(x, o, extent < 0 ? -1 : (extent + more - 1) / more);
        rule_push_outer(x, m, task / unroll);
    } else {
        const char *by = unroll > 1 ? dv_text(x->d, "%s %s = split %s %lld", u, v, loop, (long long)unroll)
                                    : dv_text(x->d, "%s = split %s", v, loop);
        dv_do(x->d, "%s %s %lld%s", o, by, (long long)lanes, dv_tail(extent, step));
        rule_push_outer(x, o, (extent + step - 1) / step);
        if (extent % step != 0 && extent > step)
            x->peel = o;
        if (loads && !whole)
            turn_rows_inside(x);
    }
    x->unroll = unroll > 1 ? u : NULL;
    x->inner = step;
    x->vector = v;
}

static void fuse_run(nest *x)
{
    int first = run_start(x);
    int64_t extent = 1;
    const char *all = "";
    for (int i = 0; i < first; i++)
        rule_push_outer(x, x->name[i], rule_extent(x->block->u.block.iter[i].extent));
    for (int i = first; i < x->n; i++) {
        int64_t e = rule_extent(x->block->u.block.iter[i].extent);
        extent = extent < 0 || e < 0 ? -1 : extent * e;
        all = dv_text(x->d, "%s %s", all, x->name[i]);
    }
    const char *run = x->name[x->n - 1];
    if (first < x->n - 1) {
        run = named(x, "f");
        dv_do(x->d, "%s = fuse%s", run, all);
    }
    vectorize_run(x, run, extent, first < x->n - 1 ? NULL : x->block->u.block.iter[first].var);
}

/* The result is blocked: loops in the order of its physical axes, vectors along the innermost. */
static void follow_layout(nest *x, const tn_layout *l)
{
    const char *order = "", *part[TN_LAYOUT_MAX_DIMS][4];
    int used[TN_LAYOUT_MAX_DIMS] = {0}, count[TN_LAYOUT_MAX_DIMS] = {0};
    int64_t extent[TN_LAYOUT_MAX_DIMS];
    for (int i = 0; i < l->naxis; i++)
        count[l->axis[i].dim]++;
    for (int dim = 0; dim < x->n; dim++) {
        extent[dim] = rule_extent(x->block->u.block.iter[dim].extent);
        part[dim][0] = x->name[dim];
        if (count[dim] != 2)
            continue;
        int64_t factor = 1;
        for (int i = 0; i < l->naxis; i++)
            if (l->axis[i].dim == dim && l->axis[i].factor)
                factor = l->axis[i].factor;
        part[dim][0] = dv_text(x->d, "%so", x->name[dim]);
        part[dim][1] = dv_text(x->d, "%si", x->name[dim]);
        dv_do(x->d, "%s %s = split %s %lld tail=mask", part[dim][0], part[dim][1], x->name[dim],
              (long long)factor);
        extent[dim] = extent[dim] < 0 ? -1 : (extent[dim] + factor - 1) / factor;
    }
    const char *inner = NULL;
    int64_t run = 1;
    for (int i = 0; i < l->naxis; i++) {
        int dim = l->axis[i].dim;
        if (count[dim] > 2) {
            dv_refuse(x->d, TN_REJECT_REGION);
            return;
        }
        inner = part[dim][used[dim]++];
        run = l->axis[i].factor ? (int64_t)l->axis[i].factor : extent[dim];
        order = dv_text(x->d, "%s %s", order, inner);
        if (i < l->naxis - 1)
            rule_push_outer(x, inner, run);
    }
    if (l->naxis > 1)
        dv_do(x->d, "reorder%s", order);
    vectorize_run(x, inner, run, NULL);
}

/* ---- tasks ---- */

/* The largest divisor of n that is at most `most`, if it is at least half of it; else `most`. */
static int64_t good_factor(int64_t n, int64_t most)
{
    for (int64_t k = most; k > most / 2; k--)
        if (n % k == 0)
            return k;
    return most;
}

/* Cuts the outer loops into tasks (fused) and what one task runs. */
static void make_tasks(nest *x)
{
    int64_t most = x->task_bytes / x->bytes, total = x->inner, inside = x->inner;
    for (int i = 0; i < x->n_outer; i++)
        total = total < 0 || x->extent[i] < 0 || total > INT64_MAX / 2 / (x->extent[i] + 1)
                    ? -1
                    : total * x->extent[i];
    int64_t share = total < 0 ? most : total / (TASKS_A_CORE * (int64_t)x->d->m->cores);
    most = share > most ? share : most;
    if (most > 16 * x->task_bytes / x->bytes)
        most = 16 * x->task_bytes / x->bytes;
    int k = x->n_outer;
    while (k > 0 && x->extent[k - 1] >= 0 && inside * x->extent[k - 1] <= most)
        inside *= x->extent[--k];
    if (k == 0)
        return; /* too little for tasks */
    const char *all = "", *last = x->outer[k - 1];
    int64_t factor = most / inside;
    if (factor >= 2) {
        const char *o = named(x, "to"), *i = named(x, "ti");
        factor = x->extent[k - 1] < 0 ? factor : good_factor(x->extent[k - 1], factor);
        dv_do(x->d, "%s %s = split %s %lld", o, i, last, (long long)factor);
        if (x->peel == last)
            x->peel = NULL; /* its last turn is in another task now */
        last = o;
    }
    for (int i = 0; i < k - 1; i++) {
        all = dv_text(x->d, "%s %s", all, x->outer[i]);
        if (x->peel == x->outer[i])
            x->peel = NULL;
    }
    dv_do(x->d, "%s = fuse%s %s", named(x, "task"), all, last);
    dv_do(x->d, "parallel %s", named(x, "task"));
    if (x->peel == x->outer[k - 1])
        x->peel = NULL;
}

bool rule_elementwise_nest(derive *d, const char *name, const char *prefix)
{
    tn_stmt *b = tn_func_block(d->s->func, name);
    nest x = {.d = d, .block = b, .prefix = prefix};
    if (!rule_plain_nest(b) || rule_reduces(b)) {
        dv_refuse(d, TN_REJECT_NEST);
        return false;
    }
    x.n = rule_n_spatial(b);
    if (x.n == 0)
        return false;
    const tn_buffer *target = rule_target(d->s->func, b);
    x.lanes = lanes_of(d, b, target->dtype);
    x.bytes = tn_dtype_bytes(target->dtype);
    for (int i = 0; i < x.n; i++)
        x.name[i] = dv_text(d, "%si%d", prefix, i);
    dv_loops(d, name, x.name, x.n);
    x.task_bytes = pick_task_bytes(d, name);
    bool turned = rule_transpose_nest(&x);
    if (!turned && target->layout && target->ndim == x.n)
        follow_layout(&x, target->layout);
    else if (!turned)
        fuse_run(&x);
    if (x.vector)
        dv_do(d, "vectorize %s", x.vector);
    if (x.unroll)
        dv_do(d, "unroll %s", x.unroll);
    make_tasks(&x);
    if (x.peel)
        dv_do(d, "%s %s %s = peel %s 0 1", named(&x, "p0"), named(&x, "p1"), named(&x, "p2"), x.peel);
    return turned;
}

bool rule_elementwise_matches(const tn_func *f, const tn_machine *m)
{
    (void)m;
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(f, b);
    for (int i = 0; i < n; i++)
        if (rule_reduces(b[i]) || !rule_plain_nest(b[i]))
            return false;
    return n > 0;
}

tn_verdict rule_elementwise(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    tn_stmt *b[RULE_MAX_BLOCKS];
    dv_squeeze(&d);
    int n = rule_blocks(s->func, b);
    int64_t task_bytes =
        n > 0 && rule_n_spatial(b[0]) > 0 ? pick_task_bytes(&d, b[0]->u.block.name) : TASK_BYTES;
    bool turned = false;
    for (int i = 0; i < n; i++)
        turned |= rule_elementwise_nest(&d, b[i]->u.block.name, i ? dv_text(&d, "n%d_", i) : "");
    dv_comment(&d, "rule elementwise%s: tasks of about %d KiB, bound: memory bandwidth",
               turned ? "/tiles transposed" : "", (int)(task_bytes / 1024));
    return d.v;
}

void rule_others(derive *d, const char *block, const char *but)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(d->s->func, b);
    for (int i = 0; i < n && strcmp(b[i]->u.block.name, block) != 0; i++)
        if (!but || strcmp(b[i]->u.block.name, but) != 0)
            rule_elementwise_nest(d, b[i]->u.block.name, dv_text(d, "n%d_", i));
}
