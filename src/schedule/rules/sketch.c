/* Sketches: schedules from what a function computes alone, as Ansor derives them (Zheng et al. 2020, section 4). The
 * structure follows from the blocks and from which axes each operand moves along; sizes, orders and places are picks:
 *
 *   inlining       producers without a reduction move into what reads them
 *   levels of tiles   a reduction runs in tiles S0 S1 R0 S2 R1 S3: tasks, tiles of a task, the outer reduction, middle
 *                  tiles, the inner reduction, and a tile that is written out, with lanes along one axis
 *   cache write    sums stay in registers, or in local memory where they are more than one inner tile
 *   fusion         what follows moves under the tiles, inner or outer
 *   rfactor        lanes along a reduction keep a part each, and are added up at the end
 *   annotation     tasks, lanes, unrolling, borders of padding peeled off, taps that mask lanes written out
 *
 * The first candidate of each pick is what the model of a register tile (contract_tile.c) takes. Reductions beside the
 * one in tiles, and nests without a reduction, are scheduled as by the rules reduce and elementwise.
 * Cost: that of rule contract for each axis that may have the lanes.
 */
#include "schedule/rules/contraction.h"
#include "schedule/rules/sketch.h"

#include <string.h>

enum { LEAST_GATHERED = 4 }; /* sums that are worth a vector */

/* ---- the block ---- */

/* Does it read the same several times, or has it few taps, whose lanes along results need no sum of their own? */
static bool gains_by_tiles(const contraction *x) { return rule_shares_views(x) || rule_is_window(x); }

bool rule_find_anchor(const tn_func *f, const tn_machine *m, contraction *out)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    contraction x;
    bool found = false;
    int n = rule_blocks(f, b);
    for (int i = 0; i < n; i++) {
        if (!rule_plain_nest(b[i]))
            return false;
        if (!rule_reduces(b[i]) || !rule_read_reduction(f, b[i], &x) ||
            rule_lanes(m, rule_target(f, b[i])->dtype) < 2 || (found && !gains_by_tiles(&x)))
            continue;
        *out = x;
        found = true;
        if (gains_by_tiles(&x))
            break;
    }
    return found;
}

bool rule_sketch_shares(const tn_func *f, const tn_machine *m)
{
    contraction x;
    return rule_find_anchor(f, m, &x) && gains_by_tiles(&x);
}

bool rule_sketch_others(const tn_func *f, const tn_machine *m)
{
    contraction x;
    return rule_find_anchor(f, m, &x) && !gains_by_tiles(&x);
}

/* ---- inlining ---- */

/* Tensor expressions come with what repeats no work inlined; the rest may still be better off where it is read. */
static void inline_producers(derive *d)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    const char *name[RULE_MAX_BLOCKS];
    int n = rule_blocks(d->s->func, b), k = 0;
    for (int i = 0; i < n && !rule_reduces(b[i]); i++)
        name[k++] = b[i]->u.block.name;
    for (int i = 0; i < k && k < n; i++) {
        tn_sched after;
        tn_sched_fork(d->s, &after);
        if (tn_sched_block(&after, TN_STEP_compute_inline, name[i], NULL) == TN_DONE &&
            dv_pick_flag(d, name[i], "inline", false))
            dv_do(d, "compute_inline \"%s\"", name[i]);
    }
}

/* ---- parts of a sum ---- */

/* Results too few for tasks of vectors? Then parts of the sum can be tasks. */
static bool has_few_results(const sketch *k)
{
    double n = 1;
    for (int a = 0; a < k->x.n_spatial; a++)
        n *= rule_turns(k->x.extent[a], 1);
    int lanes = rule_lanes(k->d->m, rule_target(k->x.f, k->x.block)->dtype);
    return n < (double)CONTRACTION_TASKS_A_CORE * k->d->m->cores * lanes;
}

/* The parts are what is put into tiles, then. */
static void cut_into_parts(sketch *k)
{
    derive *d = k->d;
    const char *block = k->x.block->u.block.name;
    if (!has_few_results(k) || !dv_pick_flag(d, block, "rfactor", false))
        return;
    const char *part = rule_cut_sum(d, block, "part_");
    tn_stmt *b = part && dv_ok(d) ? tn_func_block(d->s->func, part) : NULL;
    if (!b || !rule_plain_nest(b) || !rule_read_reduction(d->s->func, b, &k->x))
        dv_refuse(d, TN_REJECT_REDUCE);
    k->parts = true;
}

/* ---- loops ---- */

static const char *add(derive *d, const char *list, const char *name)
{
    return name ? dv_text(d, "%s %s", list, name) : list;
}

/* Loops of one level, in the order of tiles; lanes are left out. */
static const char *level(const sketch *k, int at)
{
    const char *s = "";
    for (int i = 0; i < k->x.n_spatial; i++)
        s = add(k->d, s, k->axis[k->order[i]].loop[at]);
    return s;
}

static int count(const sketch *k, int at)
{
    int n = 0;
    for (int a = 0; a < k->x.n_spatial; a++)
        n += k->axis[a].loop[at] != NULL;
    return n;
}

static const char *sums(const sketch *k, int at)
{
    const char *s = k->along && at == OUTER_SUM ? add(k->d, "", k->lanes_outer) : "";
    for (int a = k->x.n_spatial; a < k->x.n; a++)
        s = add(k->d, s, k->axis[a].loop[at]);
    return s;
}

/* The outermost loop of the reduction; NULL: none is left beside the lanes. */
static const char *first_sum(const sketch *k)
{
    const char *s = sums(k, OUTER_SUM);
    s = *s ? s : sums(k, INNER_SUM);
    return *s ? dv_text(k->d, "%.*s", (int)strcspn(s + 1, " "), s + 1) : NULL;
}

static void cut_spatial(sketch *k, int a)
{
    derive *d = k->d;
    axis_tile *t = &k->axis[a];
    const int64_t by[LEVELS] = {0, t->outer, t->middle, t->inner};
    const char *names = "", *factors = "";
    for (int i = 0; i < LEVELS; i++) {
        bool there = i == TASK || by[i] > 1;
        t->loop[i] = there ? dv_text(d, "%c%d", "tuwi"[i], a) : NULL;
        names = there ? dv_text(d, "%s%s ", names, t->loop[i]) : names;
        factors = i != TASK && there ? dv_text(d, "%s %lld", factors, (long long)by[i]) : factors;
    }
    if (a == k->t.v) {
        names = dv_text(d, "%svx ", names);
        factors = dv_text(d, "%s %d", factors, k->t.lanes);
    }
    if (*factors)
        dv_do(d, "%s= split s%d%s%s", names, a, factors,
              dv_tail(k->x.extent[a], t->outer * sketch_width(k, a)));
    else
        t->loop[TASK] = dv_text(d, "s%d", a);
}

static void cut_sum(sketch *k, int a)
{
    derive *d = k->d;
    axis_tile *t = &k->axis[a];
    int64_t e = k->x.extent[a];
    const char *own = dv_text(d, "s%d", a);
    if (k->along && a == k->t.v) {
        k->lanes = e == k->t.lanes ? own : "vx";
        k->lanes_outer = e == k->t.lanes ? NULL : "vo";
        if (k->lanes_outer)
            dv_do(d, "vo vx = split %s %d", own, k->t.lanes);
        return;
    }
    t->loop[OUTER_SUM] = t->inner != e || e == 1 ? own : NULL;
    t->loop[INNER_SUM] = t->inner == e && e != 1 ? own : NULL;
    if (t->inner > 1 && t->inner != e) {
        t->loop[OUTER_SUM] = dv_text(d, "r%d", a);
        t->loop[INNER_SUM] = dv_text(d, "q%d", a);
        dv_do(d, "r%d q%d = split %s %lld", a, a, own, (long long)t->inner);
    }
}

static void cut_loops(sketch *k)
{
    derive *d = k->d;
    const char *name[CONTRACTION_AXES];
    for (int a = 0; a < k->x.n; a++)
        name[a] = dv_text(d, "s%d", a);
    dv_loops(d, k->block, name, k->x.n);
    if (k->x.n_view > 2 && k->t.u >= 0)
        (void)dv_try(d, "regroup \"%s\" s%d", k->block, k->t.u);
    k->lanes = "vx";
    for (int a = 0; a < k->x.n; a++)
        if (a < k->x.n_spatial)
            cut_spatial(k, a);
        else
            cut_sum(k, a);
    dv_do(d, "reorder%s%s%s%s%s%s %s", level(k, TASK), level(k, TILE), sums(k, OUTER_SUM), level(k, MIDDLE),
          sums(k, INNER_SUM), level(k, INNER), k->lanes);
    dv_do(d, "task = fuse%s", level(k, TASK));
    k->home = "task";
    for (int i = 0; i < k->x.n_spatial; i++)
        if (k->axis[k->order[i]].loop[TILE])
            k->home = k->axis[k->order[i]].loop[TILE];
}

/* ---- sums ---- */

static const char *numbered(const sketch *k, const char *prefix, int n)
{
    const char *s = "";
    for (int i = 0; i < n; i++)
        s = dv_text(k->d, "%s%s%d ", s, prefix, i);
    return s;
}

static void unroll(const sketch *k, const char *names)
{
    if (*names)
        dv_do(k->d, "unroll %s", names);
}

/* Sums of one inner tile stay in registers; of several, or of what is stored later, in memory nearby. */
static void keep_sums(const sketch *k, bool in_registers)
{
    int dim = k->along ? -1 : k->x.dim[k->t.v], ndim = rule_target(k->d->s->func, k->x.block)->ndim;
    const char *scope = in_registers ? "register" : "local";
    if (dim >= 0 && dim < ndim - 1)
        dv_do(k->d, "set_scope \"%s\" %s inner=%d", k->block, scope, dim);
    else
        dv_do(k->d, "set_scope \"%s\" %s", k->block, scope);
}

/* Lanes along a result axis. */
static void sum_across(sketch *k)
{
    derive *d = k->d;
    const char *first = first_sum(k);
    int inner = count(k, INNER), middle = *sums(k, OUTER_SUM) ? count(k, MIDDLE) : 0;
    if (!first) {
        dv_refuse(d, TN_REJECT_REDUCE);
        return;
    }
    dv_do(d, "decompose_reduction \"%s\" %s", k->block, first);
    dv_last_loops(d, dv_text(d, "%s.init", k->block),
                  dv_text(d, "%s%szx", numbered(k, "zm", middle), numbered(k, "zi", inner)),
                  middle + inner + 1);
    keep_sums(k, count(k, MIDDLE) == 0 && (k->fuse_inner || count(k, TILE) == 0));
    dv_do(d, "vectorize vx zx");
    unroll(k, level(k, INNER));
    unroll(k, numbered(k, "zi", inner));
}

/* Lanes along a reduction: each keeps a part of the sum. */
static void sum_along(sketch *k)
{
    derive *d = k->d;
    const char *first = first_sum(k), *part = dv_text(d, "%s.rf", k->block);
    int inner = count(k, INNER);
    dv_do(d, "l = rfactor \"%s\" %s %s", k->block, k->lanes, k->home);
    if (first) {
        dv_do(d, "decompose_reduction \"%s\" %s", part, first);
        dv_last_loops(d, dv_text(d, "%s.init", part), dv_text(d, "%szx", numbered(k, "zi", inner)),
                      inner + 1);
        unroll(k, numbered(k, "zi", inner));
        dv_do(d, "vectorize zx");
    }
    unroll(k, level(k, INNER));
    dv_do(d, "vectorize %s", k->lanes);
    dv_do(d, "decompose_reduction \"%s\" l", k->block);
    if (inner) {
        dv_last_loops(d, k->block, dv_text(d, "%s_", numbered(k, "f", inner)), inner + 1);
        unroll(k, numbered(k, "f", inner));
    }
    dv_do(d, "vectorize l");
    dv_do(d, "set_scope \"%s\" register", part);
    keep_sums(k, !k->gather);
}

/* ---- what follows ---- */

/* What follows the reduction, or a copy where other reductions follow, which then have phases of their own. */
static epilogue find_epilogue(sketch *k, bool last)
{
    derive *d = k->d;
    if (last)
        return rule_epilogue(d, k->block);
    epilogue e = {.n = 1, .block = {dv_text(d, "%s.out", k->block)}};
    dv_do(d, "cache_write \"%s\" global", k->block);
    return e;
}

/* Sums whose loops are no longer than that is, and taps whose masks or quotients then are constants. */
static void write_out(sketch *k)
{
    derive *d = k->d;
    const char *first = first_sum(k), *taps = "";
    for (int a = k->x.n_spatial; a < k->x.n && k->taps; a++)
        if (rule_writes_out(&k->x, &k->t, a, k->border))
            taps = add(d, add(d, taps, k->axis[a].loop[OUTER_SUM]), k->axis[a].loop[INNER_SUM]);
    if (*taps)
        dv_do(d, "unroll%s", taps);
    else if (k->unroll > 0 && first)
        dv_do(d, "pragma %s auto_unroll_max_step=%lld", first, (long long)k->unroll);
}

/* Tiles with padding are apart, and written out where masks of their lanes then are constants. */
static void peel_border(sketch *k)
{
    derive *d = k->d;
    const char *tiles = k->axis[k->border].loop[TILE];
    if (k->all) {
        if (tiles)
            dv_do(d, "unroll %s", tiles);
        return;
    }
    rule_peel_ends(d, tiles, k->head, k->tail, k->taps && k->border == k->t.v);
}

static void finish(sketch *k, const epilogue *e, int axis[][CONTRACTION_AXES])
{
    derive *d = k->d;
    for (int i = 0; i < e->n && dv_ok(d); i++) {
        int n = (int)tn_func_block(d->s->func, e->block[i])->u.block.n_iter;
        int lanes = !k->along || k->gather ? RULE_CONTIGUOUS : RULE_SCALARS;
        for (int a = 0; a < n && !k->along; a++)
            lanes = axis[i][a] == k->t.v ? a : lanes;
        rule_nest_in(d, e->block[i], dv_text(d, "e%d_", i), k->fuse_inner ? 1 + count(k, TILE) : 1, lanes);
    }
    write_out(k);
    dv_do(d, "parallel task");
    if (k->border >= 0)
        peel_border(k);
    else if (k->lanes_outer && k->x.extent[k->t.v] % k->t.lanes != 0 && k->x.extent[k->t.v] > k->t.lanes)
        dv_do(d, "va vb vc = peel vo 0 1");
}

static void tile_block(sketch *k, bool last)
{
    derive *d = k->d;
    int axis[RULE_MAX_BLOCKS][CONTRACTION_AXES];
    bool maps;
    epilogue e = find_epilogue(k, last);
    if (!dv_ok(d) || !rule_follow_axes(&k->x, d->s->func, &e, axis, &maps)) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    k->gather = maps && k->along && k->x.beside >= 0 && sketch_width(k, k->x.beside) >= LEAST_GATHERED;
    cut_loops(k);
    for (int i = 0; i < e.n; i++)
        dv_do(d, "reverse_compute_at \"%s\" %s", e.block[i], k->fuse_inner ? k->home : "task");
    if (k->along)
        sum_along(k);
    else
        sum_across(k);
    if (dv_ok(d))
        finish(k, &e, axis);
}

tn_verdict rule_sketch(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    tn_stmt *b[RULE_MAX_BLOCKS];
    const char *name[RULE_MAX_BLOCKS], *comment = NULL;
    sketch k = {.d = &d, .border = -1};
    dv_squeeze(&d);
    while (dv_try(&d, "merge"))
        continue;
    inline_producers(&d);
    if (!dv_ok(&d) || !rule_find_anchor(s->func, m, &k.x))
        return dv_ok(&d) ? TN_REJECT_NEST : d.v;
    cut_into_parts(&k);
    if (!dv_ok(&d) || !rule_pick_panels(&d, &k.x))
        return dv_ok(&d) ? TN_REJECT_NEST : d.v;
    int n = rule_blocks(s->func, b), at = 0;
    bool last = true;
    for (int i = 0; i < n; i++) {
        name[i] = b[i]->u.block.name;
        at = b[i] == k.x.block ? i : at;
    }
    for (int i = at + 1; i < n; i++)
        last &= !rule_reduces(b[i]);
    k.block = name[at];
    if (!sketch_choose(&k))
        return dv_ok(&d) ? TN_REJECT_NEST : d.v;
    for (int i = 0; i < at && dv_ok(&d);)
        i = rule_reduce_block(&d, i, at, name, &comment);
    if (dv_ok(&d))
        tile_block(&k, last);
    if (k.parts && dv_ok(&d))
        rule_sum_serially(&d, name[++at], "sum_");
    for (int i = at + 1; i < n && !last && dv_ok(&d);)
        i = rule_reduce_block(&d, i, n, name, &comment);
    dv_comment(&d, "sketch: lanes %s axis %d, %d of %d sums in a tile, bound: %s",
               k.along ? "along" : "across", k.t.v, k.vectors, k.t.lanes, k.t.bound);
    return d.v;
}
