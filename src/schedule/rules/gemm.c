/* Rule gemm: products of a matrix with a (packed) matrix. A tile of rows x vectors stays in registers through the whole
 * reduction; every step loads the vectors of the weight once and broadcasts one element a row. The epilogue runs on the
 * accumulators. A task is one tile.
 *
 * Products of bytes whose weights lie in groups of k are summed by groups: one step of the reduction is a group, which
 * is a call of a unit (tir/unit.h).
 *
 * Where the machine multiplies tiles, and that is faster by what is wasted at the ends, a few tiles of sums stay in its
 * registers through the whole reduction, and the epilogue reads them from memory of the task. A task has several such
 * blocks below each other, as to begin and to end with tiles takes about as long as a step of a block.
 *
 * One row (GEMV) is the same tile with more vectors: several streams of weights hide the latency. Where the row has few
 * vectors, neighbouring steps of the reduction have accumulators of their own (chains), which are added up at the end.
 *
 * Rows of a batch that share their weight are rows of one matrix (step merge). Where only the run knows how many there
 * are, no tile is good for all numbers; then a few are compiled, and each is used where it is the cheapest.
 */
#include "schedule/rules/derive.h"

enum { MAX_GROUP = 8, FETCH_STEPS = 8 };
enum { TASK_CYCLES = 27500, TASKS_A_CORE = 4 }; /* cycles that a task may have */

/* The tiles of a unit: their sides and the terms of a step; and what the machine holds of them. */
typedef struct {
    const char *unit; /* NULL: the machine multiplies none for the product's types */
    int64_t rows, columns, terms;
    tn_tiles on;
} tiles;

typedef struct {
    const char *block;
    int n, row;               /* spatial loops; which of them is the rows, -1: none (a vector of outputs) */
    int64_t rows, columns, k; /* -1: symbolic */
    int64_t panel;            /* columns beside each other in memory: 0: all, -1: not contiguous */
    bool filled;              /* what the last of these has beyond the columns is 0, and may be read */
    int64_t group;            /* of k that one step sums, or 1 */
    const char *unit;         /* that sums it; NULL: none */
    tiles tiles;
    uint16_t lanes;
    uint32_t bytes;     /* of an accumulator */
    const char *weight; /* the operand with the columns */
    const char *name[TN_MAX_LOOPS];
    bool columns_outside, fetches_ahead;
} gemm;

static tn_stmt *anchor(const tn_func *f) { return rule_only(f, 1u << RULE_PRODUCT); }

typedef struct {
    const tn_func *f;
    const tn_expr *column;
    int64_t panel, group;
    bool filled;
    const char *name;
    const tn_expr *load;
} weight_search;

/* The operand that the column indexes alone in one of its dimensions. */
static void find_weight(const tn_expr *load, void *user)
{
    weight_search *w = user;
    const tn_buffer *b = &w->f->buffer[load->u.load.buffer];
    for (uint32_t d = 0; d < load->u.load.n_index; d++) {
        if (load->src[d] != w->column)
            continue;
        int last = (int)load->u.load.n_index - 1;
        int64_t group = tn_dtype_bytes(b->dtype) == 1 ? rule_group(b, last) : 1, by_groups = 0;
        if (group > 1 && group <= MAX_GROUP)
            by_groups = rule_grouped_factor(b, (int)d, last, group);
        w->panel = by_groups ? by_groups : rule_inner_factor(b, (int)d);
        w->group = by_groups ? group : 1;
        w->filled = b->layout && b->layout->fill != TN_FILL_ANY;
        w->name = b->name;
        w->load = load;
    }
}

static weight_search weight_of(const tn_func *f, const tn_stmt *b)
{
    weight_search w = {f, b->u.block.iter[rule_n_spatial(b) - 1].var, -1, 1, false, NULL, NULL};
    rule_loads(b, find_weight, &w);
    return w;
}

/* Which spatial loop is the rows, -1: none. */
static int find_row(const tn_stmt *b)
{
    for (int i = rule_n_spatial(b) - 2; i >= 0; i--)
        if (!tn_is_value(b->u.block.iter[i].extent, 1) || i == 0)
            return i;
    return -1;
}

/* Columns of the weight lie beside each other, and all rows share it; else it is for rule contract. */
bool rule_gemm_matches(const tn_func *f, const tn_machine *m)
{
    tn_stmt *b = anchor(f);
    if (!b || !rule_plain_nest(b) || b->u.block.mask || rule_lanes(m, rule_target(f, b)->dtype) < 2)
        return false;
    weight_search w = weight_of(f, b);
    int row = find_row(b);
    return w.panel >= 0 && (row < 0 || !tn_uses(w.load, b->u.block.iter[row].var));
}

static tiles find_tiles(const derive *d, const tn_stmt *b, const gemm *g)
{
    tiles t = {NULL};
    bool can = g->group > 1 && g->panel > 0 && g->row >= 0 && g->rows > 1 && g->columns > 0 && g->k > 0;
    const tn_unit_row *u = can ? rule_tile_unit(d, b, g->weight, g->group) : NULL;
    if (u && g->panel % u->most[TN_UNIT_COLUMNS] == 0)
        t = (tiles){u->name, u->most[TN_UNIT_ROWS], u->most[TN_UNIT_COLUMNS],
                    u->most[TN_UNIT_GROUPS] * u->most[TN_UNIT_TERMS], tn_machine_tiles(d->m)};
    return t;
}

static gemm read_gemm(derive *d, const tn_stmt *b)
{
    const tn_func *f = d->s->func;
    gemm g = {.block = b->u.block.name, .n = rule_n_spatial(b), .rows = 1};
    const tn_iter *it = b->u.block.iter;
    g.columns = rule_extent(it[g.n - 1].extent);
    g.k = rule_extent(it[g.n].extent);
    g.row = find_row(b);
    if (g.row >= 0)
        g.rows = rule_extent(it[g.row].extent);
    g.bytes = tn_dtype_bytes(rule_target(f, b)->dtype);
    g.lanes = rule_lanes(d->m, rule_target(f, b)->dtype);
    weight_search w = weight_of(f, b);
    g.panel = w.panel;
    g.filled = w.filled;
    g.group = w.group;
    g.weight = w.name;
    g.unit = g.group > 1 ? rule_lane_unit(d, b, g.weight, g.group) : NULL;
    g.tiles = find_tiles(d, b, &g);
    for (int i = 0; i < g.n - 1; i++)
        g.name[i] = i == g.row ? "i" : dv_text(d, "b%d", i);
    g.name[g.n - 1] = "j";
    g.name[g.n] = "k";
    return g;
}

/* Which operand is streamed once and which stays in L2: weights that do not fit half of L2 go outside. */
static bool prefers_columns_outside(const derive *d, const gemm *g)
{
    uint64_t bytes = (uint64_t)(g->columns * g->k / g->group) * g->bytes;
    return g->rows != 1 && g->columns > 0 && g->k > 0 && bytes > d->m->l2_bytes / 2;
}

static void predict(derive *d, const gemm *g, const tile *t)
{
    double peak = d->m->peak_gflops * 4 / g->bytes * (double)g->group, speed = peak * t->efficiency;
    const char *bound = t->bound;
    if (g->rows > 0 && g->columns > 0 && g->k > 0) { /* weights are read once at least */
        double bytes = (double)g->columns * (double)g->k * g->bytes / (double)g->group;
        double rate = bytes <= (double)d->m->l2_bytes   ? d->m->l2_gb_s
                      : bytes <= (double)d->m->l3_bytes ? d->m->l3_gb_s
                                                        : d->m->mem_gb_s;
        double most = 2.0 * (double)(g->rows * g->group) / g->bytes * rate;
        if (most < speed) {
            speed = most;
            bound = bytes <= (double)d->m->l2_bytes   ? "L2 bandwidth"
                    : bytes <= (double)d->m->l3_bytes ? "L3 bandwidth"
                                                      : "memory bandwidth";
        }
    }
    const char *chains = t->chains > 1 ? dv_text(d, " x %d chains", t->chains) : "";
    dv_comment(d, "rule gemm/vector: %d rows x %d vectors of %d%s, predicted %.0f GFLOP/s of %.0f, bound: %s",
               t->rows, t->nv, g->lanes, chains, speed, peak, bound);
}

/* Loops that are neither rows, columns nor reduction: each value is another product. */
static const char *batch_loops(derive *d, const gemm *g)
{
    const char *s = "";
    for (int i = 0; i < g->n - 1; i++)
        if (i != g->row)
            s = dv_text(d, "%s%s ", s, g->name[i]);
    return s;
}

/* Weights from L3 or memory that several tiles of rows need: those of the next columns are asked for meanwhile, in each
 * tile a share of what FETCH_STEPS steps of the reduction read. */
static bool can_fetch_ahead(const gemm *g, const tile *t)
{
    bool several = g->rows < 0 ? t->rows > 1 : g->rows > t->rows;
    return g->row >= 0 && several && g->columns_outside && t->chains == 1 && g->k > 0 &&
           g->k % (FETCH_STEPS * g->group) == 0;
}

static void tile_product(derive *d, const gemm *g, const tile *t)
{
    const char *batch = batch_loops(d, g);
    bool rows = g->row >= 0, far = g->fetches_ahead;
    dv_loops(d, g->block, g->name, g->n + 1);
    if (rows)
        dv_do(d, "io ii = split i %d%s", t->rows, dv_tail(g->rows, t->rows));
    dv_do(d, "jo jv ji = split j %d %d%s", t->nv, g->lanes, dv_tail(g->columns, (int64_t)t->nv * g->lanes));
    const char *outer = !rows ? "jo" : g->columns_outside ? "jo io" : "io jo";
    if (g->group > 1)
        dv_do(d, "ko ik = split k %d%s", (int)g->group, dv_tail(g->k, g->group));
    const char *sum = g->group > 1 ? "ko" : "k";
    if (far)
        dv_do(d, "kf ks = split %s %d", sum, FETCH_STEPS);
    if (t->chains > 1)
        dv_do(d, "ko kc = split k %d%s", t->chains, dv_tail(g->k, t->chains));
    sum = far ? "kf ks" : t->chains > 1 ? "ko kc" : sum;
    dv_do(d, "reorder %s%s %s %s jv ji%s", batch, outer, sum, rows ? "ii" : "", g->group > 1 ? " ik" : "");
    if (far)
        dv_do(d, "prefetch \"%s\" jo kf", g->weight);
    dv_do(d, "task = fuse %s%s", batch, outer);
}

/* Block k of the epilogue over one tile: rows and vectors as in the product, in loops o (o1, o2, ...). */
static void tile_epilogue(derive *d, const gemm *g, const char *block, int k)
{
    int n = tn_sched_n_loops(d->s, block);
    const char *name[TN_MAX_LOOPS], *o = k ? dv_text(d, "o%d", k) : "o";
    for (int i = 0; i < n; i++)
        name[i] = "_";
    if (n != g->n + 1) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    if (g->row >= 0)
        name[1 + g->row] = dv_text(d, "%si", o);
    name[n - 1] = dv_text(d, "%sj", o);
    dv_loops(d, block, name, n);
    dv_do(d, "%sv %sx = split %sj %d", o, o, o, g->lanes);
}

/* Vectors and unrolled rows of the blocks behind the first. */
static void unroll_further(derive *d, const gemm *g, int n)
{
    for (int k = 1; k < n; k++) {
        dv_do(d, "vectorize o%dx", k);
        dv_do(d, g->row >= 0 ? "unroll o%di o%dv" : "unroll o%dv", k, k);
    }
}

/* The chains of a tile are added up. */
static void add_chains(derive *d, const gemm *g)
{
    bool rows = g->row >= 0;
    dv_do(d, "c = rfactor \"%s\" kc task", g->block);
    dv_do(d, rows ? "_ fi fv fx _ = loops \"%s\"" : "_ fv fx _ = loops \"%s\"", g->block);
    dv_do(d, "reorder c%s fv fx", rows ? " fi" : "");
    dv_do(d, "decompose_reduction \"%s.rf\" ko", g->block);
    dv_do(d, rows ? "_ yc yi yv yx = loops \"%s.rf.init\"" : "_ yc yv yx = loops \"%s.rf.init\"", g->block);
    dv_do(d, "set_scope \"%s.rf\" register inner=%d", g->block, g->n - 1);
    dv_do(d, "vectorize fx yx");
    dv_do(d, rows ? "unroll kc c fi fv yc yi yv" : "unroll kc c fv yc yv");
}

static void split_init(derive *d, const gemm *g, const char *outermost)
{
    dv_do(d, "decompose_reduction \"%s\" %s", g->block, outermost);
    dv_do(d, g->row >= 0 ? "_ zi zv zx = loops \"%s.init\"" : "_ zv zx = loops \"%s.init\"", g->block);
}

/* Rows that share their weight are rows of one matrix. */
static void merge_rows(derive *d, const tn_stmt **io_anchor)
{
    while (rule_n_spatial(*io_anchor) > 2 && dv_try(d, "merge"))
        *io_anchor = anchor(d->s->func);
}

static product product_of(const gemm *g)
{
    return (product){g->lanes,
                     g->rows,
                     g->columns,
                     g->k < 0 ? -1 : (g->k + g->group - 1) / g->group,
                     g->panel > 0 ? g->panel : 0,
                     g->k > 0 ? g->k * (int64_t)g->bytes / g->group : 0};
}

static tile tile_for(const derive *d, const gemm *g, int of_rows)
{
    product p = product_of(g);
    tile t = rule_tile(d->m, &p, of_rows);
    if (g->group == 1 && (of_rows ? of_rows : g->rows) == 1)
        rule_chains(d->m, d->s->func->strict ? 0 : g->k, &t);
    return t;
}

/* ---- picks ---- */

static void pick_chains(derive *d, const gemm *g, tile *t)
{
    int64_t candidate[MAX_CANDIDATES] = {1}, depth = d->s->func->strict || g->group > 1 ? 0 : g->k;
    tile chained = *t;
    if (g->group == 1 && t->rows == 1 && g->rows <= 1)
        rule_chains(d->m, depth, &chained);
    candidate[0] = chained.chains;
    int n = 1;
    for (int chains = 1; chains <= 8 && depth >= 4 * chains; chains *= 2)
        if (rule_tile_fits(d->m, t->rows * chains, t->nv))
            n = dv_add_candidate(n, candidate, chains);
    int64_t chains = dv_pick(d, g->block, "chains", n, candidate);
    if (chains > 1)
        rule_set_chains(d->m, (int)chains, t);
}

/* The register tile, then the order of the loops around it. */
static tile pick_tile(derive *d, gemm *g)
{
    product p = product_of(g);
    tile first = rule_tile(d->m, &p, 0), t = rule_pick_tile(d, g->block, "rows", &p, &first, 0);
    pick_chains(d, g, &t);
    bool outside = prefers_columns_outside(d, g);
    g->columns_outside =
        g->row >= 0 && g->rows != 1 ? dv_pick_flag(d, g->block, "columns_outside", outside) : outside;
    g->fetches_ahead = can_fetch_ahead(g, &t) && dv_pick_flag(d, g->block, "prefetch", outside);
    return t;
}

bool rule_gemm_rows(derive *d, rule_rows *out)
{
    if (!rule_gemm_matches(d->s->func, d->m))
        return false;
    const tn_stmt *b = anchor(d->s->func);
    merge_rows(d, &b);
    gemm g = read_gemm(d, b);
    if (g.rows >= 0)
        return false;
    for (int r = 1; r <= RULE_TILE_ROWS; r++)
        out->efficiency[r] = tile_for(d, &g, r).efficiency;
    out->many = tile_for(d, &g, 0).rows;
    out->rows = b->u.block.iter[g.row].extent;
    out->block = g.block;
    return true;
}

/* ---- tiles of a unit ---- */

/* A block of sums in registers: rows x columns tiles; how many blocks of rows a task has. */
typedef struct {
    int64_t rows, columns, turns;
    double cycles; /* of all products */
} block;

static int64_t tiles_of(int64_t n, int64_t each) { return (n + each - 1) / each; }

/* Tiles that a step of a block reads: those of the weights stay for all rows where registers are left for them. */
static int64_t block_reads(const tiles *t, int64_t rows, int64_t columns)
{
    bool stay = rows * columns + (1 + columns) * t->on.of_factor <= t->on.registers;
    return rows + (stay ? columns : rows * columns);
}

/* Cycles of all products. A tile is read in a part of the time that a product takes, beyond what overlaps. */
static double block_cycles(const gemm *g, int64_t rows, int64_t columns)
{
    const tiles *t = &g->tiles;
    double one = 2.0 * (double)(t->rows * t->columns * t->terms) / t->on.ops_a_cycle;
    double step = one * ((double)(rows * columns) + (double)block_reads(t, rows, columns) / t->on.reads);
    int64_t down = tiles_of(g->rows, t->rows * rows), across = tiles_of(g->columns, t->columns * columns);
    bool ends = g->rows % (t->rows * rows) != 0;
    double steps = (double)(g->k / t->terms) + (g->k % t->terms ? t->on.ends : 0);
    return (double)across * steps * step * ((double)down + (ends ? t->on.ends - 1 : 0));
}

/* Blocks of columns are vectors, and do not stick out of the weight, or of its last panel where that is filled. */
static bool columns_fit(const gemm *g, int64_t c)
{
    const tiles *t = &g->tiles;
    bool whole = tiles_of(g->columns, t->columns) % c == 0, inside = g->panel % (c * t->columns) == 0;
    return c * t->columns % g->lanes == 0 && (whole || (inside && g->filled));
}

/* The fewest tiles beside each other; 0: none fit. */
static int64_t least_columns(const gemm *g)
{
    for (int64_t c = 1; c <= g->tiles.on.sums; c++)
        if (columns_fit(g, c))
            return c;
    return 0;
}

/* The block of the fewest cycles. */
static block best_block(const gemm *g)
{
    block best = {.cycles = -1};
    int64_t down = tiles_of(g->rows, g->tiles.rows);
    for (int64_t r = 1; r <= g->tiles.on.sums && r <= down; r++)
        for (int64_t c = 1; c * r <= g->tiles.on.sums; c++) {
            double cycles = block_cycles(g, r, c);
            if (columns_fit(g, c) && (best.cycles < 0 || cycles < best.cycles))
                best = (block){r, c, 1, cycles};
        }
    return best;
}

/* How many blocks below each other a task has: as many as its cycles allow, and the cores want. */
static int64_t pick_turns(derive *d, const gemm *g, int64_t blocks, int64_t panels, double cycles)
{
    int64_t turn[MAX_CANDIDATES], most = 1;
    int n = 0;
    double one = cycles / (double)(blocks * panels);
    for (int64_t t = 1; t <= blocks; t++)
        if (blocks % t == 0 && (double)t * one <= TASK_CYCLES &&
            blocks / t * panels >= (int64_t)TASKS_A_CORE * d->m->cores)
            most = t;
    n = dv_add_candidate(n, turn, most);
    for (int64_t t = 1; t <= blocks; t++)
        if (blocks % t == 0)
            n = dv_add_candidate(n, turn, t);
    return dv_pick(d, g->block, "blocks", n, turn);
}

static block pick_block(derive *d, const gemm *g)
{
    int64_t row[MAX_CANDIDATES], column[MAX_CANDIDATES], sums = g->tiles.on.sums;
    int64_t across = tiles_of(g->columns, g->tiles.columns), down = tiles_of(g->rows, g->tiles.rows);
    block best = best_block(g);
    int n = dv_add_candidate(0, row, best.rows);
    for (int64_t r = 1; r * least_columns(g) <= sums && r <= down; r++)
        n = dv_add_candidate(n, row, r);
    best.rows = dv_pick(d, g->block, "row_tiles", n, row);
    n = best.rows * best.columns <= sums ? dv_add_candidate(0, column, best.columns) : 0;
    for (int64_t c = 1; c * best.rows <= sums; c++)
        if (columns_fit(g, c))
            n = dv_add_candidate(n, column, c);
    best.columns = dv_pick(d, g->block, "column_tiles", n, column);
    best.cycles = block_cycles(g, best.rows, best.columns);
    best.turns = pick_turns(d, g, tiles_of(down, best.rows), tiles_of(across, best.columns), best.cycles);
    return best;
}

/* The model's choice: what lanes take, and what tiles do. Groups that no unit of lanes adds are for tiles. */
static bool is_faster_by_tiles(const derive *d, const gemm *g)
{
    product p = product_of(g);
    tile t = rule_tile(d->m, &p, 0);
    double lanes = 2.0 * (double)(g->rows * g->columns * g->k) /
                   (tn_machine_flops_a_cycle(d->m) * 4 / g->bytes * (double)g->group * t.efficiency);
    return !g->unit || best_block(g).cycles < lanes;
}

static void block_epilogue(derive *d, const gemm *g, const block *t, const char *name, int k)
{
    int n = tn_sched_n_loops(d->s, name), outer = t->turns > 1 ? 2 : 1;
    const char *loop[TN_MAX_LOOPS], *o = k ? dv_text(d, "o%d", k) : "o";
    for (int i = 0; i < n; i++)
        loop[i] = "_";
    if (n != g->n + outer) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    loop[n - 1] = dv_text(d, "%sj", o);
    dv_loops(d, name, loop, n);
    dv_do(d, "%sv %sx = split %sj %d", o, o, o, g->lanes);
    dv_do(d, "vectorize %sx", o);
    dv_do(d, "unroll %sv", o);
}

static void rule_tiles(derive *d, const gemm *g)
{
    block t = pick_block(d, g);
    const char *batch = batch_loops(d, g), *turns = t.turns > 1 ? dv_text(d, "%d ", (int)t.turns) : "";
    const char *turn = t.turns > 1 ? "it " : "";
    if (!dv_ok(d))
        return;
    const tiles *u = &g->tiles;
    double all = 2.0 * (double)(g->rows * g->columns * g->k), peak = u->on.ops_a_cycle;
    dv_comment(d,
               "rule gemm/tiles: %d x %d tiles of %d x %d, %d blocks a task, predicted %.0f GFLOP/s of %.0f",
               (int)t.rows, (int)t.columns, (int)u->rows, (int)u->columns, (int)t.turns,
               all / t.cycles * d->m->clock_ghz, peak * d->m->clock_ghz);
    rule_others(d, g->block);
    epilogue e = rule_epilogue(d, g->block);
    dv_loops(d, g->block, g->name, g->n + 1);
    dv_do(d, "io %siv ii = split i %s%d %d%s", turn, turns, (int)t.rows, (int)u->rows,
          dv_tail(g->rows, t.turns * t.rows * u->rows));
    dv_do(d, "jo jv ji = split j %d %d%s", (int)t.columns, (int)u->columns,
          dv_tail(g->columns, t.columns * u->columns));
    dv_do(d, "ko kg ki = split k %d %d%s", (int)(u->terms / g->group), (int)g->group,
          dv_tail(g->k, u->terms));
    dv_do(d, "reorder %sjo io %sko iv jv ii ji kg ki", batch, turn);
    dv_do(d, "task = fuse %sjo io", batch);
    for (int k = 0; k < e.n; k++)
        dv_do(d, "reverse_compute_at \"%s\" %s", e.block[k], t.turns > 1 ? "it" : "task");
    for (int k = 0; k < e.n && dv_ok(d); k++)
        block_epilogue(d, g, &t, e.block[k], k);
    dv_do(d, "decompose_reduction \"%s\" ko", g->block);
    dv_do(d, "_ %szr zc zi zj = loops \"%s.init\"", t.turns > 1 ? "_ " : "", g->block);
    dv_do(d, "set_scope \"%s\" tile", g->block);
    dv_do(d, "tensorize zi zj \"%s\"", u->unit);
    dv_do(d, "tensorize ii ji kg ki \"%s\"", u->unit);
    dv_do(d, "unroll iv jv zr zc");
    dv_do(d, "parallel task");
}

tn_verdict rule_gemm(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    const tn_stmt *b = anchor(s->func);
    merge_rows(&d, &b);
    gemm g = read_gemm(&d, b);
    if (g.tiles.unit && least_columns(&g) && dv_pick_flag(&d, g.block, "tiles", is_faster_by_tiles(&d, &g))) {
        rule_tiles(&d, &g);
        return d.v;
    }
    tile t = pick_tile(&d, &g);
    if (!dv_ok(&d))
        return d.v;
    predict(&d, &g, &t);
    rule_others(&d, g.block);
    epilogue e = rule_epilogue(&d, g.block);
    tile_product(&d, &g, &t);
    if (t.chains > 1)
        add_chains(&d, &g);
    for (int k = 0; k < e.n; k++)
        dv_do(&d, "reverse_compute_at \"%s\" task", e.block[k]);
    for (int k = 0; k < e.n && dv_ok(&d); k++)
        tile_epilogue(&d, &g, e.block[k], k);
    split_init(&d, &g, g.fetches_ahead ? "kf" : t.chains > 1 ? "c" : g.group > 1 ? "ko" : "k");
    dv_do(&d, "set_scope \"%s\" register", g.block);
    dv_do(&d, g.unit ? "vectorize ox zx" : "vectorize ji ox zx");
    dv_do(&d, g.row >= 0 ? "unroll ii jv oi ov zi zv" : "unroll jv ov zv");
    unroll_further(&d, &g, e.n);
    if (g.unit)
        dv_do(&d, "tensorize ji ik \"%s\"", g.unit);
    else if (g.group > 1)
        dv_do(&d, "unroll ik");
    dv_do(&d, "parallel task");
    return d.v;
}
