/* Weights of rule gemm that a block before the product makes of something that takes less memory, as weights
 * of a few bits that are scaled and shifted. By default they are never all in memory:
 *
 *   in the task   a task is some columns and all rows, or many; it makes its weights first, in memory of its own
 *
 *       for task: weight[k, j] of its columns
 *         for io, jo: the tile
 *
 *   in the tile   each tile makes each vector of weights in registers, for its rows; where one or two take all */
#include "schedule/rules/contraction.h"
#include "schedule/rules/gemm.h"

enum {
    LEAST_SHARE = 8, /* steps of the reduction, to be a loop of their own */
    TASKS_A_CORE = 2,
    LEAST_TURNS = 4, /* tiles of rows for which weights are made once, where a task does not take all */
    MOST_TURNS = 32,
    ENOUGH_ROWS = 4,   /* that a vector of weights is made for, where loads are hidden */
    MAX_UNROLLED = 8,  /* vectors of made weights */
    PAGE_BYTES = 4096, /* of a way of L1 */
    NEAR_L2 = 4        /* sizes of L2 */
};
static const double task_is_better = 0.9; /* than a tile that does less than so much of what its own does */

/* The block that alone writes the buffer, which `reader` alone reads. */
static tn_stmt *only_writer(tn_func *f, uint32_t buffer, const tn_stmt *reader)
{
    tn_stmt *writes[2], *reads[2];
    return tn_blocks_accessing(&f->body, buffer, true, 2, writes) == 1 &&
                   tn_blocks_accessing(&f->body, buffer, false, 2, reads) == 1 && reads[0] == reader
               ? writes[0]
               : NULL;
}

/* One plain store of what is read, each index an iteration of its own. */
static bool only_maps(tn_func *f, tn_stmt *b)
{
    const tn_stmt *store = tn_body_only(&b->u.block.body);
    if (!store || store->kind != TN_S_STORE || store->u.store.mask || b->u.block.mask || rule_reduces(b) ||
        !rule_plain_nest(b) || !store->u.store.value->has_load || rule_target(f, b)->layout ||
        rule_target(f, b)->param >= 0 || store->u.store.n_index != b->u.block.n_iter)
        return false;
    for (uint32_t d = 0; d < store->u.store.n_index; d++)
        if (tn_own_iteration(b, store->u.store.index[d]) != (int)d)
            return false;
    return true;
}

/* Has each product of a batch weights of its own? */
static bool are_all_used_once(const tn_stmt *b, const tn_expr *load, const gemm *g)
{
    for (int i = 0; i < g->n - 1; i++)
        if (i != g->row && !tn_is_value(b->u.block.iter[i].extent, 1) &&
            !tn_uses(load, b->u.block.iter[i].var))
            return false;
    return true;
}

typedef struct {
    const tn_func *f;
    double bytes;
} sources;

/* Those of a buffer, each time it is read. */
static void add_source(const tn_expr *load, void *user)
{
    sources *s = user;
    const tn_buffer *b = &s->f->buffer[load->u.load.buffer];
    double bytes = tn_dtype_bytes(b->dtype);
    for (int i = 0; i < (int)b->ndim; i++)
        bytes *= rule_turns(rule_extent(b->dim[i]), 1);
    s->bytes += bytes;
}

void rule_find_maker(const derive *d, const tn_stmt *b, const tn_expr *load, int dim, gemm *g)
{
    tn_func *f = d->s->func;
    tn_stmt *maker = only_writer(f, load->u.load.buffer, b);
    if (!maker || g->group > 1 || g->tiles.unit || load->nsrc != load->u.load.n_index ||
        dim != (int)load->u.load.n_index - 1 || !only_maps(f, maker) || !are_all_used_once(b, load, g))
        return;
    const tn_iter *it = maker->u.block.iter;
    const tn_expr *value = maker->u.block.body.first->u.store.value, *k = b->u.block.iter[g->n].var;
    g->period = rule_period(value, it[dim].var);
    if (g->period < 1 || !rule_loads_runs(f, value, it[dim].var, g->lanes))
        return;
    sources from = {f, 0};
    rule_loads(maker, add_source, &from);
    g->source_bytes = from.bytes;
    g->maker = maker->u.block.name;
    g->share = 1;
    for (int i = 0; i < dim; i++)
        if (load->src[i] == k)
            g->share = rule_period(value, it[i].var);
    g->share = g->share < LEAST_SHARE ? 1 : g->share;
}

/* A tile of so many rows, for which each vector of weights is made where it is used. Where loads are hidden a
 * multiply-add reads and broadcasts its factor itself; of several vectors they do not (measured on Zen 4: 4 rows of
 * 1024 x 1024 weights of 4 bits take 92 us with one vector, 130 with two and 107 with four). */
static tile tile_with(const derive *d, const gemm *g, int64_t rows)
{
    gemm in_tile = *g;
    in_tile.made = MADE_IN_TILE;
    product p = rule_product_of(&in_tile);
    if (rows < 1 || rows >= (int64_t)d->m->n_vector_regs)
        return (tile){0};
    tile t = rule_hides_loads(d->m) && rows >= ENOUGH_ROWS ? rule_tile_of(d->m, &p, (int)rows, 1)
                                                           : rule_tile(d->m, &p, (int)rows);
    return rule_tile_fits(d->m, t.rows, t.nv) ? t : (tile){0};
}

/* The tile that takes all rows, or half of them where loads are hidden (measured on Zen 4: a vector of weights takes
 * 1.3 cycles in the tile, 3.2 in the task) and what weights are made of comes from near (8 MB do not: 16 rows of 4096 x
 * 4096 weights take 1.1 times as long then). Efficiency 0: it is worse than one of rows that a task has made
 * weights for, as where rows push each other out of L1; as many as it has ways never do. */
static tile tile_of_all(const derive *d, const gemm *g)
{
    gemm in_task = *g;
    in_task.made = MADE_IN_TASK;
    product p = rule_product_of(&in_task);
    double least = task_is_better * rule_tile(d->m, &p, 0).efficiency;
    bool hides = rule_hides_loads(d->m), near = g->source_bytes <= NEAR_L2 * (double)d->m->l2_bytes;
    for (int parts = 1; parts <= (hides && near ? 2 : 1); parts++) {
        tile t = tile_with(d, g, (g->rows + parts - 1) / parts);
        if (t.efficiency >= least ||
            (t.efficiency > 0 && hides && t.rows <= (int)d->m->l1_bytes / PAGE_BYTES))
            return t;
    }
    return (tile){0};
}

enum made rule_best_made(const derive *d, const gemm *g)
{
    return tile_of_all(d, g).efficiency > 0 ? MADE_IN_TILE : MADE_IN_TASK;
}

/* A tile in a task is no wider than quotients of columns take to begin anew: that is a task. */
tile rule_made_tile(const derive *d, const gemm *g, int of_rows)
{
    product p = rule_product_of(g);
    tile t = {0};
    if (g->made == MADE_IN_TILE && !of_rows)
        t = tile_of_all(d, g);
    t = t.efficiency > 0 ? t : rule_tile(d->m, &p, of_rows);
    int64_t nv = g->period / g->lanes;
    return g->made == MADE_IN_TASK && nv >= 1 && t.nv > nv ? rule_tile_of(d->m, &p, t.rows, (int)nv) : t;
}

void rule_pick_made(derive *d, gemm *g)
{
    if (dv_pick_flag(d, g->block, "in_tile", g->made == MADE_IN_TILE))
        g->made = MADE_IN_TILE;
    else
        g->made = dv_pick_flag(d, g->block, "in_task", true) ? MADE_IN_TASK : MADE_BEFORE;
}

static int64_t count_tasks(const gemm *g, int64_t columns)
{
    return g->matrices * ((g->columns + columns - 1) / columns);
}

/* Columns of a task: those within the quotients' period, as far as their weights stay in L2 and there are tasks
 * for the cores. */
static void pick_columns(derive *d, gemm *g, int64_t width)
{
    int64_t candidate[MAX_CANDIDATES] = {width}, column = g->k > 0 ? g->k * (int64_t)g->bytes : 1;
    int n = 1;
    for (int64_t c = 2 * width; c <= g->period && g->period % c == 0; c *= 2)
        if (c * column <= (int64_t)d->m->l2_bytes &&
            (g->columns < 0 || count_tasks(g, c) >= TASKS_A_CORE * (int64_t)d->m->cores))
            candidate[0] = c;
    for (int64_t c = width; c <= g->period || c <= 4 * width; c *= 2)
        n = dv_add_candidate(n, candidate, c);
    g->task_columns = dv_pick(d, g->block, "task_columns", n, candidate);
}

/* How many tiles of rows a task takes, a divisor: all, if there are tasks enough for the cores, or only the run
 * knows how many. */
static void pick_turns(derive *d, gemm *g, int rows)
{
    int64_t down = g->rows < 0 ? 0 : (g->rows + rows - 1) / rows, want = TASKS_A_CORE * (int64_t)d->m->cores;
    int64_t tasks = g->columns < 0 ? want : count_tasks(g, g->task_columns), candidate[MAX_CANDIDATES] = {0};
    for (int64_t t = down - 1; t >= LEAST_TURNS && tasks > 0; t--)
        if (down % t == 0 && tasks * (down / (candidate[0] ? candidate[0] : down)) < want)
            candidate[0] = t;
    int n = dv_add_candidate(1, candidate, 0);
    for (int64_t t = 1; t < down && t <= MOST_TURNS; t++)
        if (down % t == 0)
            n = dv_add_candidate(n, candidate, t);
    g->turns = dv_pick(d, g->block, "blocks", n, candidate);
}

void rule_pick_task(derive *d, gemm *g, const tile *t)
{
    pick_columns(d, g, (int64_t)t->nv * g->lanes);
    if (g->row >= 0)
        pick_turns(d, g, t->rows);
}

void rule_make_weights(derive *d, const gemm *g)
{
    dv_do(d, "compute_at \"%s\" task", g->maker);
    int n = dv_ok(d) ? tn_sched_n_loops(d->s, g->maker) : 2;
    const char *name[TN_MAX_LOOPS];
    if (n < 2 || n > TN_MAX_LOOPS) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    for (int i = 0; i < n; i++)
        name[i] = i == n - 1 ? "wj" : "_";
    dv_loops(d, g->maker, name, n);
    dv_do(d, "wv wx = split wj %d", g->lanes);
    dv_do(d, "vectorize wx");
    if (g->task_columns <= MAX_UNROLLED * g->lanes)
        dv_do(d, "unroll wv");
}
