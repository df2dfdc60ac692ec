/* Rule conv: direct convolution (not depthwise) as register tiles over one row of the output.
 *
 * conv/channels   the output's channels (and the weight) are blocked: vectors of output channels, tiles of pixels x vectors;
 *                 each step broadcasts a pixel and loads the vectors of the weight
 * conv/pixels     otherwise: vectors of pixels, tiles of channels x vectors; each step broadcasts a weight
 *
 * The taps that lie outside the image are masked by the block. Rows: the mask bounds the loop over kh. Columns: only the
 * first and last tiles of a row have such taps, so they are peeled off, and there kw and the pixels are unrolled, which
 * makes every mask a constant.
 * A task is a group of rows of one panel of channels, of about 10 us.
 */
#include "schedule/rules/derive.h"

#include <string.h>

enum { N, OC, OH, OW, IC, KH, KW, AXES };
enum { TASK_US = 10, TASKS_A_CORE = 4, MAX_BORDER = 4 };

typedef struct {
    const char *block;
    int64_t extent[AXES];        /* -1: symbolic */
    uint16_t lanes;
    uint32_t bytes;
    int64_t block_in;            /* channels beside each other in the data, 0: not blocked */
    bool channels;               /* vectors of output channels */
    int64_t width, stride, dilation, before; /* along a row: of the data, of the window; width -1: not known */
    tile tile;
    int64_t rows;                /* output rows of a task */
    int64_t first, last;         /* tiles of a row with taps outside the image */
    int64_t tiles;               /* of a row; -1: symbolic */
} conv;

bool rule_conv_matches(const tn_func *f, const tn_machine *m)
{
    tn_stmt *b = rule_tagged(f, "conv2d");
    return b && rule_plain_nest(b) && b->u.block.n_iter == AXES && rule_n_spatial(b) == 4 &&
           rule_lanes(m, rule_target(f, b)->dtype) > 1;
}

typedef struct { derive *d; const tn_stmt *block; conv *c; bool grouped; int64_t weight_factor; } reader;

/* Coefficient of var in e, e without it in *rest; false: not linear, or not constant. */
static bool coefficient(tn_pool *p, const tn_expr *e, const tn_expr *var, int64_t *coef, const tn_expr **rest)
{
    const tn_expr *k;
    *coef = 0;
    *rest = e;
    if (!tn_uses(e, var))
        return true;
    return tn_linear(p, NULL, e, var, &k, rest) && tn_is_int(k, coef);
}

/* The data is the operand that rows of the output index; the weight is the other. */
static void read_load(const tn_expr *load, void *user)
{
    reader *r = user;
    const tn_iter *it = r->block->u.block.iter;
    const tn_buffer *b = &r->d->s->func->buffer[load->u.load.buffer];
    if (load->u.load.n_index != 4)
        return;
    if (!tn_uses(load, it[OW].var)) {
        if (load->src[0] == it[OC].var)
            r->weight_factor = rule_inner_factor(b, 0);
        return;
    }
    const tn_expr *rest;
    int64_t before;
    conv *c = r->c;
    r->grouped |= tn_uses(load, it[OC].var);
    c->block_in = rule_inner_factor(b, 1) > 1 ? rule_inner_factor(b, 1) : 0;
    tn_pool *p = r->d->s->func->pool;
    if (coefficient(p, load->src[3], it[OW].var, &c->stride, &rest) && coefficient(p, rest, it[KW].var, &c->dilation, &rest) &&
        tn_is_int(tn_simplify(p, NULL, rest), &before)) {
        c->before = -before;
        c->width = rule_extent(b->dim[3]);
    }
}

/* Tiles of a row that touch the border: those whose first tap is left of the image, whose last is right of it. */
static void find_borders(conv *c, int64_t pixels)
{
    c->tiles = c->extent[OW] < 0 ? -1 : (c->extent[OW] + pixels - 1) / pixels;
    c->first = c->last = 0;
    if (c->tiles < 0 || c->width < 0 || c->extent[KW] < 0)
        return;
    for (int64_t t = 0; t < c->tiles; t++) {
        int64_t end = (t + 1) * pixels < c->extent[OW] ? (t + 1) * pixels : c->extent[OW];
        bool left = t * pixels * c->stride < c->before;
        bool right = (end - 1) * c->stride + (c->extent[KW] - 1) * c->dilation - c->before >= c->width;
        right |= (t + 1) * pixels > c->extent[OW];
        if (left)
            c->first = t + 1;
        else if (right && !c->last)
            c->last = c->tiles - t;
    }
}

/* Rows of a task: about TASK_US of work, but enough tasks for all cores; a divisor, so that no row is masked. */
static int64_t rows_of_task(const derive *d, const conv *c, int64_t panels)
{
    int64_t oh = c->extent[OH], n = c->extent[N] < 0 ? 1 : c->extent[N];
    double work = 2.0 * c->tile.rows * c->tile.nv * c->lanes * (double)(c->tiles < 0 ? 1 : c->tiles);
    for (int i = IC; i <= KW; i++)
        work *= c->extent[i] < 0 ? 1 : (double)c->extent[i];
    double rate = d->m->peak_gflops * 1e3 * 4 / c->bytes * c->tile.efficiency; /* operations in a us */
    if (oh < 0 || rate <= 0)
        return 1;
    int64_t best = 1;
    for (int64_t r = 1; r <= oh; r++)
        if (oh % r == 0 && work * (double)r <= 2 * TASK_US * rate && n * panels * (oh / r) >= TASKS_A_CORE * (int64_t)d->m->cores)
            best = r;
    return best;
}

static bool read_conv(derive *d, tn_stmt *b, conv *c)
{
    const tn_func *f = d->s->func;
    *c = (conv){.block = b->u.block.name, .width = -1};
    for (int i = 0; i < AXES; i++)
        c->extent[i] = rule_extent(b->u.block.iter[i].extent);
    c->lanes = rule_lanes(d->m, rule_target(f, b)->dtype);
    c->bytes = tn_dtype_bytes(rule_target(f, b)->dtype);
    reader r = {d, b, c, false, -1};
    rule_loads(b, read_load, &r);
    tn_stmt *all[RULE_MAX_BLOCKS];
    int n = rule_blocks(f, all);
    int64_t out_factor = rule_inner_factor(rule_target(f, all[n - 1]), 1);
    c->channels = out_factor > 1 || r.weight_factor > 1;
    int64_t factor = out_factor > 1 ? out_factor : r.weight_factor;
    if (c->channels && factor < c->lanes)
        c->lanes = (uint16_t)factor;
    if (r.grouped || c->lanes < 2 || (c->lanes & (c->lanes - 1)) != 0 || (c->channels && factor % c->lanes != 0))
        return false;
    int64_t pixels = c->extent[OW], channels = c->extent[OC];
    c->tile = c->channels ? rule_tile(d->m, c->lanes, pixels, channels, 0) : rule_tile(d->m, c->lanes, channels, pixels, 0);
    int rows = c->channels ? c->tile.rows : c->tile.nv * c->lanes;
    int64_t panel = c->channels ? (int64_t)c->tile.nv * c->lanes : c->tile.rows;
    find_borders(c, rows);
    c->rows = rows_of_task(d, c, channels < 0 ? 1 : (channels + panel - 1) / panel);
    return true;
}

/* Splits and orders the loops; the tile's three innermost loops are called r (rows), v (vectors), x (lanes). */
static void tile_loops(derive *d, const conv *c)
{
    static const char *const name[AXES] = {"n", "oc", "oh", "ow", "ic", "kh", "kw"};
    dv_loops(d, c->block, name, AXES);
    if (c->channels) {
        dv_do(d, "co v x = split oc %d %d tail=mask", c->tile.nv, c->lanes);
        dv_do(d, "wo r = split ow %d tail=mask", c->tile.rows);
    } else {
        dv_do(d, "co r = split oc %d tail=mask", c->tile.rows);
        dv_do(d, "wo v x = split ow %d %d tail=mask", c->tile.nv, c->lanes);
    }
    const char *reduce = "ic kh kw";
    if (c->block_in) {
        dv_do(d, "ico ici = split ic %lld", (long long)c->block_in);
        reduce = "ico kh kw ici";
    }
    if (c->rows > 1)
        dv_do(d, "ho hi = split oh %lld tail=exact", (long long)c->rows);
    dv_do(d, "reorder n co %s wo %s r v x", c->rows > 1 ? "ho hi" : "oh", reduce);
    dv_do(d, "task = fuse n co %s", c->rows > 1 ? "ho" : "oh");
}

static void tile_epilogue(derive *d, const conv *c, const char *last)
{
    const char *name[TN_MAX_LOOPS];
    int n = tn_sched_n_loops(d->s, last), outer = c->rows > 1 ? 3 : 2;
    if (n != outer + 4) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    for (int i = 0; i < n; i++)
        name[i] = "_";
    name[outer + OC] = "ec";
    name[outer + OW] = "ew";
    dv_loops(d, last, name, n);
    if (c->channels) {
        dv_do(d, "ev ex = split ec %d", c->lanes);
        dv_do(d, "reorder ev ew ex");
        dv_do(d, "unroll ev ew");
    } else {
        dv_do(d, "ev ex = split ew %d", c->lanes);
        dv_do(d, "unroll ec ev");
    }
    dv_do(d, "vectorize ex");
}

static void split_init(derive *d, const conv *c)
{
    dv_do(d, "decompose_reduction \"%s\" %s", c->block, c->block_in ? "ico" : "ic");
    dv_do(d, c->rows > 1 ? "_ _ _ zr zv zx = loops \"%s.init\"" : "_ _ zr zv zx = loops \"%s.init\"", c->block);
    dv_do(d, "set_scope \"%s\" register%s", c->block, c->channels ? " inner=1" : "");
    dv_do(d, "vectorize x zx");
    dv_do(d, "unroll r v zr zv");
}

/* In the tiles at one border every mask along the row becomes constant. */
static void unroll_border(derive *d, const conv *c, const char *suffix, const char *tiles, int64_t count)
{
    if (count > 1)
        dv_do(d, "unroll %s", tiles);
    if (!c->channels || c->extent[KW] <= 1)
        return; /* lanes are pixels: their masks are vectors */
    const char *kw = dv_text(d, "kw%s", suffix);
    dv_do(d, c->rows > 1 ? "_ _ _ _ _ %s%s _ _ _ = loops \"%s%s%s\"" : "_ _ _ _ %s%s _ _ _ = loops \"%s%s%s\"", kw,
          c->block_in ? " _" : "", c->block, *suffix ? "." : "", suffix);
    dv_do(d, "unroll %s", kw);
}

static void peel_borders(derive *d, const conv *c)
{
    if (c->first + c->last == 0)
        return;
    if (c->first + c->last >= c->tiles) { /* no tile is free of borders */
        unroll_border(d, c, "", "wo", c->tiles);
        return;
    }
    dv_do(d, "wf wm wl = peel wo %lld %lld", (long long)c->first, (long long)c->last);
    if (c->first)
        unroll_border(d, c, "first", "wf", c->first);
    if (c->last)
        unroll_border(d, c, "last", "wl", c->last);
}

tn_verdict rule_conv(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    conv c;
    tn_stmt *b = rule_tagged(s->func, "conv2d");
    if (!read_conv(&d, b, &c))
        return TN_REJECT_NEST;
    double peak = m->peak_gflops * 4 / c.bytes;
    dv_comment(&d, "rule conv/%s: %d %s x %d vectors of %d, %lld rows a task, predicted %.0f GFLOP/s of %.0f, bound: %s",
               c.channels ? "channels" : "pixels", c.tile.rows, c.channels ? "pixels" : "channels", c.tile.nv, c.lanes,
               (long long)c.rows, peak * c.tile.efficiency, peak, c.tile.bound);
    rule_others(&d, c.block);
    const char *last = rule_epilogue(&d, c.block);
    tile_loops(&d, &c);
    if (last)
        dv_do(&d, "reverse_compute_at \"%s\" wo", last);
    if (dv_ok(&d))
        tile_epilogue(&d, &c, last);
    split_init(&d, &c);
    dv_do(&d, "parallel task");
    peel_borders(&d, &c);
    return d.v;
}
