/* Rule gemm by tiles of a unit (tir/unit.h): a few tiles of sums stay in the registers that the machine has for them
 * through the whole reduction, and the epilogue reads them from memory of the task. A task has several such blocks
 * below each other, as to begin and to end with tiles takes about as long as a step of a block. */
#include "schedule/rules/gemm.h"

enum { TASK_CYCLES = 27500, TASKS_A_CORE = 4 }; /* cycles that a task may have */
enum { MOST_TURNS = 4096 };                     /* blocks of a task */

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

tiles rule_tiles_of(const derive *d, const tn_stmt *b, const gemm *g)
{
    gemm with = *g;
    bool can = g->group > 1 && g->panel > 0 && g->row >= 0 && g->rows > 1 && g->columns > 0 && g->k > 0;
    const tn_unit_row *u = can ? rule_tile_unit(d, b, g->weight, g->group) : NULL;
    with.tiles = (tiles){0};
    if (u && g->panel % u->most[TN_UNIT_COLUMNS] == 0)
        with.tiles = (tiles){u->name, u->most[TN_UNIT_ROWS], u->most[TN_UNIT_COLUMNS],
                             u->most[TN_UNIT_GROUPS] * u->most[TN_UNIT_TERMS],
                             tn_machine_tiles(d->m, tn_dtype_bytes(u->x))};
    return with.tiles.unit && least_columns(&with) ? with.tiles : (tiles){0};
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
    for (int64_t t = 1; t <= blocks && t <= MOST_TURNS; t++)
        if (blocks % t == 0 && (double)t * one <= TASK_CYCLES &&
            blocks / t * panels >= (int64_t)TASKS_A_CORE * d->m->cores)
            most = t;
    n = dv_add_candidate(n, turn, most);
    for (int64_t t = 1; t <= blocks && t <= MOST_TURNS; t++)
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
bool rule_tiles_are_faster(const derive *d, const gemm *g)
{
    product p = rule_product_of(g);
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

void rule_tiles(derive *d, const gemm *g)
{
    block t = pick_block(d, g);
    const char *batch = rule_batch_loops(d, g), *turns = t.turns > 1 ? dv_text(d, "%d ", (int)t.turns) : "";
    const char *turn = t.turns > 1 ? "it " : "";
    if (!dv_ok(d))
        return;
    const tiles *u = &g->tiles;
    double all = 2.0 * (double)(g->rows * g->columns * g->k), peak = u->on.ops_a_cycle;
    dv_comment(d,
               "rule gemm/tiles: %d x %d tiles of %d x %d, %d blocks a task, predicted %.0f GFLOP/s of %.0f",
               (int)t.rows, (int)t.columns, (int)u->rows, (int)u->columns, (int)t.turns,
               all / t.cycles * d->m->clock_ghz, peak * d->m->clock_ghz);
    rule_others(d, g->block, NULL);
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
