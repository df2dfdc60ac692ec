/* Rules conv and window: convolution, depthwise convolution and pooling as register tiles over one row of the output.
 *
 * channels   the channels of the output are beside each other in memory: vectors of channels, tiles of pixels x vectors
 * pixels     otherwise: vectors of pixels, tiles of channels x vectors
 *
 * In a convolution each step of the reduction loads the vectors of the weight once and broadcasts one element
 * a row. Depthwise and pooling have no reduction over channels: each step loads a vector of the data for each
 * accumulator.
 *
 * The taps that lie outside the image are masked by the block. Rows: the mask bounds the loop over kh.
 * Columns: only the first and last tiles of a row have such taps, so they are peeled off, and there kw and
 * the pixels are unrolled, which makes every mask a constant.
 * Products of uint8 data and int8 weights that lie in groups of four input channels are summed by fours: one step of
 * the reduction is a group, which is a call of a unit (tir/unit.h).
 * A task is a group of rows of one panel of channels, of about 10 us.
 * Where the rows of the output are one pixel wide, its columns may be taken for them: `ow` and `kw` are the loops along
 * a column then. They make better tiles, but fewer tasks.
 */
#include "schedule/rules/derive.h"

#include <string.h>

enum { N, C, OH, OW, IC, KH, KW, AXES };
enum { GROUP = 4, TASK_CYCLES = 27500, TASKS_A_CORE = 4, MAX_UNROLLED_TILES = 8, MAX_TASK_ROWS = 256 };

typedef struct {
    const char *block;
    bool sums_channels;   /* a convolution; else a window on each channel */
    int64_t extent[AXES]; /* -1: symbolic */
    uint16_t lanes;
    uint32_t bytes;
    int64_t fours;      /* channels that one step sums: GROUP, or 1 */
    int64_t block_in;   /* channels beside each other in the data, 0: not blocked */
    bool channels;      /* vectors of output channels */
    bool channels_last; /* all channels of a pixel of the result lie beside each other */
    const char *weight; /* the operand */
    const char *unit;   /* that sums channels by fours; NULL: none */
    bool converts;      /* operands are of another type than the sums */
    bool turned;        /* and the result is stored by pixels */
    bool columns;       /* taken for rows */
    int64_t apart;      /* output channels of a group that reads its own input channels; 0: one group */
    int64_t width, stride, dilation,
        before; /* along a row: of the data, of the window; width -1: not known */
    tile tile;
    bool far;            /* its weights are prefetched */
    int64_t rows;        /* output rows of a task */
    double speed;        /* peaks of a core that all cores reach together */
    int64_t first, last; /* tiles of a row with taps outside the image */
    int64_t tiles;       /* of a row; -1: symbolic */
} conv;

/* ---- what the block is ---- */

static bool shaped_like(const tn_func *f, const tn_machine *m, tn_stmt *b, uint32_t n_iter)
{
    return b && rule_plain_nest(b) && b->u.block.n_iter == n_iter && rule_n_spatial(b) == 4 &&
           rule_lanes(m, rule_target(f, b)->dtype) > 1;
}

static tn_stmt *conv_block(const tn_func *f) { return rule_only(f, 1u << RULE_CONVOLUTION); }
static tn_stmt *window_block(const tn_func *f)
{
    return rule_only(f, 1u << RULE_WINDOW | 1u << RULE_WEIGHTED_WINDOW);
}

bool rule_conv_matches(const tn_func *f, const tn_machine *m)
{
    return shaped_like(f, m, conv_block(f), AXES);
}

bool rule_window_matches(const tn_func *f, const tn_machine *m)
{
    return shaped_like(f, m, window_block(f), AXES - 1);
}

/* The position of an axis among those of images, where columns are taken for rows. */
static int place(const conv *c, int which)
{
    static const int turned[AXES] = {N, C, OW, OH, IC, KW, KH};
    return c->columns ? turned[which] : which;
}

/* The block's iteration of an axis; the window rule has no IC. */
static const tn_iter *axis(const conv *c, const tn_stmt *b, int which)
{
    return &b->u.block.iter[place(c, which) - (which > IC && !c->sums_channels)];
}

typedef struct {
    derive *d;
    const tn_stmt *block;
    conv *c;
    bool grouped;
    int64_t weight_factor;
} reader;

typedef struct {
    const tn_expr *oc;
    int64_t by;
} quotient;

static bool find_quotient(const tn_expr *e, void *user)
{
    quotient *q = user;
    if (e->kind == TN_E_FLOORDIV && e->src[0] == q->oc)
        (void)tn_is_int(e->src[1], &q->by);
    return true;
}

/* Output channels of a group: the data's channel holds oc / group. 0: it does not hold it so. */
static int64_t group_of(const tn_expr *channel, const tn_expr *oc)
{
    quotient q = {oc, 0};
    tn_each(channel, find_quotient, &q);
    return q.by;
}

/* How many channels stand beside each other: a block of the layout; where all do (channels last), what vectors and
 * steps of the reduction can be made of: the largest power of two up to four vectors that divides them. */
static int64_t channels_inside(const conv *c, int64_t factor, int64_t channels)
{
    int64_t n = 4 * c->lanes;
    if (factor != 0)
        return factor > 1 ? factor : 0;
    if (!c->sums_channels)
        return channels < 0 || channels >= c->lanes / 2 ? c->lanes : 0;
    while (n > 1 && (channels < 0 || channels % n != 0))
        n /= 2;
    return n > 1 ? n : 0;
}

/* The data is the operand that pixels of the output index; the weight is the other. */
static void read_load(const tn_expr *load, void *user)
{
    reader *r = user;
    conv *c = r->c;
    const tn_expr *oc = axis(c, r->block, C)->var, *ow = axis(c, r->block, OW)->var,
                  *kw = axis(c, r->block, KW)->var, *rest;
    const tn_buffer *b = &r->d->s->func->buffer[load->u.load.buffer];
    int64_t before;
    if (load->u.load.n_index != 4)
        return;
    int along = place(c, OW);
    const tn_expr *at = load->src[along];
    if (!tn_uses(at, ow) && !tn_uses(at, axis(c, r->block, OH)->var) && load->src[0] == oc) {
        int64_t by_fours = tn_dtype_bytes(b->dtype) == 1 ? rule_grouped_factor(b, 0, 1, GROUP) : 0;
        c->fours = by_fours ? GROUP : 1;
        c->weight = b->name;
        r->weight_factor = by_fours ? by_fours : rule_inner_factor(b, 0);
        return;
    }
    if (c->sums_channels && tn_uses(load->src[1], oc))
        c->apart = group_of(load->src[1], oc);
    r->grouped |= c->sums_channels ? tn_uses(load->src[1], oc) && !c->apart : load->src[1] != oc;
    c->block_in = channels_inside(c, rule_inner_factor(b, 1), c->extent[c->sums_channels ? IC : C]);
    const tn_func *f = r->d->s->func;
    if (rule_coefficient(f, at, ow, &c->stride, &rest) &&
        rule_coefficient(f, rest, kw, &c->dilation, &rest) &&
        tn_is_int(tn_simplify(f->pool, NULL, rest), &before)) {
        c->before = -before;
        c->width = rule_extent(b->dim[along]);
    }
}

/* Channels of the output beside each other, as far as vectors can follow: 0: none. */
static int64_t output_factor(const derive *d, const tn_stmt *b, conv *c)
{
    tn_stmt *all[RULE_MAX_BLOCKS];
    int n = rule_blocks(d->s->func, all);
    int64_t factor = rule_inner_factor(rule_target(d->s->func, all[n - 1]), 1);
    (void)b;
    c->channels_last = factor == 0;
    if (c->channels_last)
        return c->extent[C] < 0 || c->extent[C] >= c->lanes / 2 ? c->lanes : 0;
    return factor > 1 ? factor : 0;
}

/* ---- decisions ---- */

/* Depthwise and pooling: accumulators, the vectors of data that neighbouring pixels share, and one weight must fit the
 * registers; at least four accumulators hide the latency. More than FEW pixels gain nothing where loads are hidden
 * (measured on a Zen 4: depthwise convolutions with tiles of 8 take 0.96 to 0.99 of the time with 14). */
static tile window_tile(const derive *d, const conv *c)
{
    enum { FEW = 8 };
    int64_t pixels = c->extent[OW], kw = c->extent[KW] > 0 ? c->extent[KW] : 3, channels = c->extent[C];
    int most = (int)(((int64_t)d->m->n_vector_regs - (kw < 8 ? kw : 8) - 1) / 2);
    tile t = {1, 1, 0, 1, "L1 loads", 1, false};
    most = most < 1 ? 1 : most;
    bool few = rule_hides_loads(d->m) && c->weight && !c->converts && most > FEW && pixels > FEW;
    if (c->channels && few) {
        t.rows = FEW;
    } else if (c->channels) {
        t.rows = pixels < 0 ? most
                            : (int)((pixels + (pixels + most - 1) / most - 1) / ((pixels + most - 1) / most));
        while (t.rows * t.nv < 4 && 2 * t.nv <= 8 && channels > (int64_t)t.nv * c->lanes)
            t.nv *= 2;
    } else {
        int64_t vectors = pixels < 0 ? 2 : (pixels + c->lanes - 1) / c->lanes;
        t.nv = (int)(vectors > most ? most : vectors > 4 ? 4 : vectors);
        while (t.rows * t.nv < 4 && (channels < 0 || channels % (2 * t.rows) == 0))
            t.rows *= 2;
    }
    return t;
}

/* Tiles of a row that touch the border: those whose first tap is left of the image, whose last is right of it. */
static void find_borders(conv *c, int64_t pixels)
{
    int64_t width = c->extent[OW], free = 0;
    c->tiles = width < 0 ? -1 : (width + pixels - 1) / pixels;
    c->first = c->last = 0;
    if (c->tiles < 0 || c->width < 0 || c->extent[KW] < 0)
        return;
    if (c->before > 0)
        c->first = c->stride > 0 ? (c->before + pixels * c->stride - 1) / (pixels * c->stride) : c->tiles;
    if (c->first > c->tiles)
        c->first = c->tiles;
    int64_t room =
        c->width + c->before - (c->extent[KW] - 1) * c->dilation; /* for the first taps of pixels */
    if (room > 0)
        free = c->stride > 0 ? (room - 1) / c->stride + 1 : width;
    free = (free < width ? free : width) /
           pixels; /* whole tiles, from the left, with no tap right of the image */
    c->last = c->tiles - (free > c->first ? free : c->first);
}

/* Divisors of the output's rows, so that no row is masked. */
static int64_t pick_rows_of_task(derive *d, const conv *c)
{
    int64_t oh = c->extent[OH], candidate[MAX_CANDIDATES] = {c->rows};
    int n = 1;
    for (int64_t i = 1; i <= oh && i <= MAX_TASK_ROWS; i++)
        n = oh % i == 0 ? dv_add_candidate(n, candidate, i) : n;
    return dv_pick(d, c->block, "task_rows", n, candidate);
}

/* Rows of a task: about TASK_CYCLES of work, but enough tasks for all cores; a divisor, so that no row is masked.
 * O(sqrt(rows)). */
static int64_t rows_of_task(const derive *d, const conv *c, int64_t panels)
{
    int64_t oh = c->extent[OH], n = c->extent[N] < 0 ? 1 : c->extent[N], best = 1;
    double work = 2.0 * c->tile.rows * c->tile.nv * c->lanes * (double)(c->tiles < 0 ? 1 : c->tiles);
    for (int i = IC; i <= KW; i++)
        work *= c->extent[i] < 0 ? 1 : (double)c->extent[i];
    double rate =
        tn_machine_flops_a_cycle(d->m) * 4 / c->bytes * c->tile.efficiency; /* operations in a cycle */
    rate *= (double)c->fours;
    for (int64_t i = 1; i <= oh / i; i++)
        for (int k = 0; k < 2 && oh % i == 0; k++) {
            int64_t r = k ? oh / i : i;
            if (r > best && work * (double)r <= 2 * TASK_CYCLES * rate &&
                n * panels * (oh / r) >= TASKS_A_CORE * (int64_t)d->m->cores)
                best = r;
        }
    return best;
}

static bool read_conv(derive *d, tn_stmt *b, bool columns, conv *c)
{
    const tn_func *f = d->s->func;
    *c = (conv){.block = b->u.block.name,
                .width = -1,
                .fours = 1,
                .sums_channels = b->u.block.n_iter == AXES,
                .columns = columns};
    for (int i = 0; i < AXES; i++)
        c->extent[i] = i == IC && !c->sums_channels ? 1 : rule_extent(axis(c, b, i)->extent);
    c->lanes = rule_lanes(d->m, rule_target(f, b)->dtype);
    c->bytes = tn_dtype_bytes(rule_target(f, b)->dtype);
    c->converts = rule_converts(f, b);
    reader r = {d, b, c, false, -1};
    rule_loads(b, read_load, &r);
    int64_t factor = output_factor(d, b, c);
    if (c->sums_channels)
        factor = factor ? factor : r.weight_factor;
    else
        factor = c->block_in;
    c->channels = factor > 1;
    if (!c->sums_channels)
        c->block_in = 0;
    if (c->block_in % GROUP != 0 || !c->channels || !c->block_in)
        c->fours = 1;
    c->unit = c->fours > 1 ? rule_lane_unit(d, b, c->weight, GROUP) : NULL;
    if (c->channels && factor < c->lanes)
        c->lanes = (uint16_t)factor;
    if (c->apart && c->channels && c->apart % c->lanes != 0)
        return false; /* a vector would hold channels of several groups */
    return !r.grouped && c->lanes >= 2 && (c->lanes & (c->lanes - 1)) == 0 &&
           (!c->channels || factor % c->lanes == 0);
}

/* Are the channels of a vector apart in the memory of the result? */
static bool is_turned(const derive *d, const conv *c)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(d->s->func, b);
    const tn_buffer *sum = rule_target(d->s->func, tn_func_block(d->s->func, c->block)), *result = sum;
    if (n > 0)
        result = rule_target(d->s->func, b[n - 1]);
    return c->channels && result->ndim == sum->ndim && rule_inner_factor(result, 1) < 0;
}

/* Then tiles are transposed to be stored: log2(lanes) shuffles a vector, one a cycle, beside `depth` multiply-adds. */
static void add_shuffles(const derive *d, conv *c, int64_t depth)
{
    double adds = (double)(depth < 0 ? 1024 : depth) / d->m->fma_ports, shuffles = __builtin_ctz(c->lanes);
    double cycles = adds / c->tile.efficiency + shuffles;
    c->turned = true;
    c->tile.efficiency = adds / cycles;
    if (2 * shuffles > cycles)
        c->tile.bound = "shuffles";
}

/* Cores that have a task, times what each reaches. */
static double speed(const derive *d, const conv *c, int64_t panels)
{
    int64_t n = c->extent[N] < 0 ? 1 : c->extent[N], cores = (int64_t)d->m->cores,
            tasks = c->extent[OH] < 0 ? cores : n * panels * (c->extent[OH] / c->rows);
    double used = 1; /* of the lanes */
    if (!c->channels && c->tiles > 0)
        used = (double)c->extent[OW] / ((double)c->tiles * c->tile.nv * c->lanes);
    return used * c->tile.efficiency * (double)(tasks < cores ? tasks : cores);
}

static bool can_fetch(const conv *c) { return c->channels && c->weight && c->extent[OH] > 1; }

/* More than half of L2, so each panel of weights comes from L3 or memory, and the rows of an image give time for it. */
static bool weights_are_far(const derive *d, const conv *c)
{
    int64_t bytes = c->bytes / c->fours;
    for (int i = 0; i < AXES; i++)
        if (i == C || i >= IC)
            bytes = c->extent[i] < 0 || bytes > INT32_MAX ? -1 : bytes * c->extent[i];
    return bytes > (int64_t)d->m->l2_bytes / 2;
}

static product product_of(const conv *c, int64_t depth)
{
    int64_t pixels = c->extent[OW], channels = c->extent[C];
    bool converts = c->converts && !c->unit;
    return c->channels
               ? (product){c->lanes, pixels,   channels,         depth, c->apart,
                           0,        converts, c->channels_last, false, false}
               : (product){
                     c->lanes, c->apart ? c->apart : channels, pixels, depth, 0, 0, converts, true, false,
                     false};
}

/* The tile of a window: accumulators and the data that neighbouring pixels share fit the registers. */
static tile pick_window_tile(derive *d, const conv *c, tile first)
{
    int64_t rows[MAX_CANDIDATES] = {first.rows};
    int n = 1, kw = (int)(c->extent[KW] > 0 && c->extent[KW] < 8 ? c->extent[KW] : 8);
    int most = ((int)d->m->n_vector_regs - kw - 1) / 2;
    int64_t extent = c->extent[c->channels ? OW : C];
    for (int r = 1; r <= most && (extent < 0 || r <= extent); r++)
        n = dv_add_candidate(n, rows, r);
    first.rows = (int)dv_pick(d, c->block, "pixels", n, rows);
    int widest = most / first.rows < RULE_MAX_NV ? most / first.rows : RULE_MAX_NV;
    first.nv = (int)dv_pick_power(d, c->block, "vectors", first.nv, 1, widest);
    return first;
}

/* The tile by the model, or, if `ask`, the one that is picked. */
static tile choose_tile(derive *d, const conv *c, int64_t depth, bool ask)
{
    const product p = product_of(c, depth);
    tile t = c->sums_channels ? rule_tile(d->m, &p, 0) : window_tile(d, c);
    int64_t whole = c->channels ? 0 : c->apart; /* a tile's channels share what they read */
    while (whole && whole % t.rows != 0)
        t.rows--;
    if (!ask)
        return t;
    return c->sums_channels ? rule_pick_tile(d, c->block, "pixels", &p, &t, whole)
                            : pick_window_tile(d, c, t);
}

static void choose(derive *d, conv *c, bool ask)
{
    int64_t channels = c->extent[C], depth = 1;
    for (int i = IC; i <= KW; i++)
        depth = depth < 0 || c->extent[i] < 0 ? -1 : depth * c->extent[i];
    depth = depth < 0 ? -1 : (depth + c->fours - 1) / c->fours;
    c->tile = choose_tile(d, c, depth, ask);
    if (c->sums_channels && is_turned(d, c))
        add_shuffles(d, c, depth);
    int64_t vectors = (int64_t)c->tile.nv * c->lanes, panel = c->channels ? vectors : c->tile.rows;
    find_borders(c, c->channels ? c->tile.rows : vectors);
    int64_t panels = channels < 0 ? 1 : (channels + panel - 1) / panel;
    c->rows = rows_of_task(d, c, panels);
    if (ask)
        c->rows = pick_rows_of_task(d, c);
    c->speed = speed(d, c, panels);
}

static bool plan(derive *d, tn_stmt *b, conv *c)
{
    conv by_columns;
    if (!read_conv(d, b, false, c))
        return false;
    choose(d, c, false);
    if (c->extent[OW] == 1 && c->extent[OH] != 1 && read_conv(d, b, true, &by_columns) &&
        (c->channels || c->width == 1)) { /* vectors of pixels lie in a row */
        choose(d, &by_columns, false);
        if (dv_pick_flag(d, c->block, "columns", by_columns.speed >= c->speed))
            *c = by_columns;
    }
    choose(d, c, true);
    c->far = can_fetch(c) && dv_pick_flag(d, c->block, "prefetch", weights_are_far(d, c));
    return true;
}

/* ---- steps ---- */

/* A block of input channels is more than one step of the reduction. */
static bool splits_block(const conv *c) { return c->block_in > c->fours; }

/* The outermost loop of the reduction. */
static const char *first_sum(const conv *c)
{
    return splits_block(c) ? "ico" : !c->sums_channels ? "kh" : c->fours > 1 ? "ig" : "ic";
}

/* Splits and orders the loops; the tile's three innermost loops are called r (rows), v (vectors), x (lanes). */
static void tile_loops(derive *d, const conv *c)
{
    static const char *const axes[AXES] = {"n", "c", "oh", "ow", "ic", "kh", "kw"};
    const char *name[AXES];
    int64_t vectors = (int64_t)c->tile.nv * c->lanes;
    int n = 0;
    for (int i = 0; i < AXES; i++)
        if (i != IC || c->sums_channels)
            name[n++] = axes[place(c, i)];
    dv_loops(d, c->block, name, n);
    const char *rows = c->channels ? "wo r = split ow" : "co r = split c",
               *vector = c->channels ? "co v x = split c" : "wo v x = split ow";
    dv_do(d, "%s %d %d%s", vector, c->tile.nv, c->lanes, dv_tail(c->extent[c->channels ? C : OW], vectors));
    dv_do(d, "%s %d%s", rows, c->tile.rows, dv_tail(c->extent[c->channels ? OW : C], c->tile.rows));
    const char *reduce = c->sums_channels ? "ic kh kw" : "kh kw";
    if (c->fours > 1)
        dv_do(d, "ig ik = split ic %d%s", GROUP, dv_tail(c->extent[IC], GROUP));
    if (c->fours > 1)
        reduce = "ig kh kw";
    if (splits_block(c)) {
        dv_do(d, "ico ici = split %s %lld", c->fours > 1 ? "ig" : "ic", (long long)(c->block_in / c->fours));
        reduce = "ico kh kw ici";
    }
    if (c->rows > 1)
        dv_do(d, "ho hi = split oh %lld tail=exact", (long long)c->rows);
    dv_do(d, "reorder n co %s wo %s r v x%s", c->rows > 1 ? "ho hi" : "oh", reduce,
          c->fours > 1 ? " ik" : "");
    if (c->far)
        dv_try(d, "prefetch \"%s\" co %s", c->weight, splits_block(c) ? "kw" : "kh");
    dv_do(d, "task = fuse n co %s", c->rows > 1 ? "ho" : "oh");
}

/* `count` times "_ ", for loops that need no name. */
static const char *blanks(derive *d, int count)
{
    const char *s = "";
    for (int i = 0; i < count; i++)
        s = dv_text(d, "%s_ ", s);
    return s;
}

/* Loops around a tile: task, rows of it, tile of the row. */
static int outer_loops(const conv *c) { return c->rows > 1 ? 3 : 2; }

/* Block k of the epilogue, in loops e (e1, e2, ...). */
static void tile_epilogue(derive *d, const conv *c, const char *block, int k)
{
    const char *e = k ? dv_text(d, "e%d", k) : "e", *ec = dv_text(d, "%sc", e), *ew = dv_text(d, "%sw", e);
    if (tn_sched_n_loops(d->s, block) != outer_loops(c) + 4) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    dv_do(d, c->columns ? "%s_ %s %s _ = loops \"%s\"" : "%s_ %s _ %s = loops \"%s\"",
          blanks(d, outer_loops(c)), ec, ew, block);
    dv_do(d, "%sv %sx = split %s %d", e, e, c->channels ? ec : ew, c->lanes);
    if (c->channels)
        dv_do(d, "reorder %sv %s %sx", e, ew, e);
    else
        dv_do(d, "reorder %s %sv %sx", ec, e, e);
    if (c->channels)
        dv_do(d, "unroll %sv %s", e, ew);
    else
        dv_do(d, "unroll %s %sv", ec, e);
    dv_do(d, "vectorize %sx", e);
}

static void split_init(derive *d, const conv *c)
{
    dv_do(d, "decompose_reduction \"%s\" %s", c->block, first_sum(c));
    dv_do(d, "%szr zv zx = loops \"%s.init\"", blanks(d, outer_loops(c)), c->block);
    dv_do(d, "set_scope \"%s\" register%s", c->block, c->channels ? " inner=1" : "");
    dv_do(d, c->unit ? "vectorize zx" : "vectorize x zx");
    dv_do(d, c->fours > 1 && !c->unit ? "unroll r v zr zv ik" : "unroll r v zr zv");
    if (c->unit)
        dv_do(d, "tensorize x ik \"%s\"", c->unit);
}

/* Taps along the row are unrolled where their masks are to become constants, of pixels or of lanes, and where
 * neighbouring pixels share the loads of the taps (windows). */
static bool unrolls_taps(const conv *c, bool border)
{
    return c->extent[KW] > 1 && c->extent[KW] <= 16 && (border || (c->channels && !c->sums_channels));
}

/* Unrolls kw in a copy of the tile. */
static void unroll_taps(derive *d, const conv *c, const char *suffix)
{
    const char *kw = dv_text(d, "kw%s", suffix);
    int before = outer_loops(c) + (c->sums_channels ? 2 : 1);
    dv_do(d, "%s%s %s_ _ _%s = loops \"%s%s%s\"", blanks(d, before), kw, splits_block(c) ? "_ " : "",
          c->fours > 1 ? " _" : "", c->block, *suffix ? "." : "", suffix);
    dv_do(d, "unroll %s", kw);
}

static void peel_borders(derive *d, const conv *c)
{
    bool inside = c->first + c->last < c->tiles || c->tiles < 0, border = c->first + c->last > 0;
    if (border && inside) {
        dv_do(d, "wf wm wl = peel wo %lld %lld", (long long)c->first, (long long)c->last);
        if (c->first > 1 && c->first <= MAX_UNROLLED_TILES)
            dv_do(d, "unroll wf");
        if (c->last > 1 && c->last <= MAX_UNROLLED_TILES)
            dv_do(d, "unroll wl");
        if (c->first && unrolls_taps(c, true))
            unroll_taps(d, c, "first");
        if (c->last && unrolls_taps(c, true))
            unroll_taps(d, c, "last");
    } else if (border && c->tiles > 1 && c->tiles <= MAX_UNROLLED_TILES) {
        dv_do(d, "unroll wo"); /* no tile is free of borders */
    }
    if (unrolls_taps(c, border && !inside))
        unroll_taps(d, c, "");
}

static void predict(derive *d, const char *name, const conv *c)
{
    double peak = d->m->peak_gflops * 4 / c->bytes * (double)c->fours;
    const char *what =
        dv_text(d, "rule %s/%s: %d %s x %d vectors of %d%s, %lld rows a task", name,
                c->channels ? "channels" : "pixels", c->tile.rows, c->channels ? "pixels" : "channels",
                c->tile.nv, c->lanes, c->turned ? " transposed" : "", (long long)c->rows);
    if (c->sums_channels)
        dv_comment(d, "%s, predicted %.0f GFLOP/s of %.0f, bound: %s", what, peak * c->tile.efficiency, peak,
                   c->tile.bound);
    else
        dv_comment(d, "%s, bound: %s", what, c->tile.bound);
}

static tn_verdict derive_tiles(tn_sched *s, const tn_machine *m, tn_stmt *b, const char *name)
{
    derive d = {s, m, TN_DONE};
    conv c;
    if (!plan(&d, b, &c))
        return TN_REJECT_NEST;
    if (!dv_ok(&d))
        return d.v;
    predict(&d, name, &c);
    rule_others(&d, c.block, NULL);
    epilogue e = rule_epilogue(&d, c.block);
    tile_loops(&d, &c);
    for (int k = 0; k < e.n; k++)
        dv_do(&d, "reverse_compute_at \"%s\" wo", e.block[k]);
    for (int k = 0; k < e.n && dv_ok(&d); k++)
        tile_epilogue(&d, &c, e.block[k], k);
    split_init(&d, &c);
    dv_do(&d, "parallel task");
    peel_borders(&d, &c);
    return d.v;
}

tn_verdict rule_conv(tn_sched *s, const tn_machine *m)
{
    return derive_tiles(s, m, conv_block(s->func), "conv");
}

tn_verdict rule_window(tn_sched *s, const tn_machine *m)
{
    tn_stmt *b = window_block(s->func);
    return derive_tiles(s, m, b, rule_pattern(b) == RULE_WINDOW ? "pool" : "depthwise");
}
