/* Rule gemm: products of a matrix with a (packed) matrix. A tile of rows x vectors stays in registers through the whole
 * reduction; every step loads the vectors of the weight once and broadcasts one element a row. The epilogue runs on the
 * accumulators. A task is one tile.
 *
 * Products of bytes, or of 16 bits, whose weights lie in groups of k are summed by groups: one step of the
 * reduction is a group, which is a call of a unit (tir/unit.h).
 *
 * Where the machine multiplies tiles, and that is faster: gemm_tiles.c. Where another block makes the weights:
 * gemm_made.c.
 *
 * One row (GEMV) is the same tile with more vectors: several streams of weights hide the latency. Where the row has few
 * vectors, neighbouring steps of the reduction have accumulators of their own (chains), which are added up at the end.
 *
 * Rows of a batch that share their weight are rows of one matrix (step merge). Where only the run knows how many there
 * are, no tile is good for all numbers; then a few are compiled, and each is used where it is the cheapest.
 */
#include "schedule/rules/gemm.h"

enum { MAX_GROUP = 8, FETCH_STEPS = 8 };

static tn_stmt *anchor(const tn_func *f) { return rule_only(f, 1u << RULE_PRODUCT); }

typedef struct {
    const tn_func *f;
    const tn_expr *column;
    int64_t panel, group;
    bool filled;
    const char *name;
    const tn_expr *load;
    int dim; /* whose index is the column */
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
        int64_t group = tn_dtype_bytes(b->dtype) <= 2 ? rule_group(b, last) : 1, by_groups = 0;
        if (group > 1 && group <= MAX_GROUP)
            by_groups = rule_grouped_factor(b, (int)d, last, group);
        w->panel = by_groups ? by_groups : rule_inner_factor(b, (int)d);
        w->group = by_groups ? group : 1;
        w->filled = b->layout && b->layout->fill != TN_FILL_ANY;
        w->name = b->name;
        w->load = load;
        w->dim = (int)d;
    }
}

static weight_search weight_of(const tn_func *f, const tn_stmt *b)
{
    weight_search w = {f, b->u.block.iter[rule_n_spatial(b) - 1].var, -1, 1, false, NULL, NULL, 0};
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

/* Which operand is streamed once and which stays in L2: weights that do not fit half of L2 go outside. */
static bool prefers_columns_outside(const derive *d, const gemm *g)
{
    uint64_t bytes = (uint64_t)(g->columns * g->k / g->group) * g->bytes;
    return g->rows != 1 && g->columns > 0 && g->k > 0 && bytes > d->m->l2_bytes / 2;
}

/* How many matrices of weights there are; 1 where all of a batch share one, or only the run knows. */
static int64_t count_matrices(const gemm *g, const tn_stmt *block, const tn_expr *weight)
{
    int64_t n = 1;
    for (int i = 0; i < g->n - 1; i++) {
        const tn_iter *it = &block->u.block.iter[i];
        int64_t extent = i != g->row && tn_uses(weight, it->var) ? rule_extent(it->extent) : 1;
        n = extent > 0 && extent <= INT32_MAX / n ? n * extent : n;
    }
    return n;
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
    g.converts = rule_converts(f, b);
    g.lanes = rule_lanes(d->m, rule_target(f, b)->dtype);
    weight_search w = weight_of(f, b);
    g.panel = w.panel;
    g.filled = w.filled;
    g.group = w.group;
    g.weight = w.name;
    g.unit = g.group > 1 ? rule_lane_unit(d, b, g.weight, g.group) : NULL;
    g.tiles = rule_tiles_of(d, b, &g);
    g.passes = g.rows != 1 && !prefers_columns_outside(d, &g);
    g.matrices = count_matrices(&g, b, w.load);
    g.is_input = f->buffer[w.load->u.load.buffer].param >= 0;
    rule_find_maker(d, b, w.load, w.dim, &g);
    if (g.maker)
        g.made = rule_best_made(d, &g);
    for (int i = 0; i < g.n - 1; i++)
        g.name[i] = i == g.row ? "i" : dv_text(d, "b%d", i);
    g.name[g.n - 1] = "j";
    g.name[g.n] = "k";
    return g;
}

static void predict(derive *d, const gemm *g, const tile *t)
{
    double peak = d->m->peak_gflops * 4 / g->bytes * (double)g->group, speed = peak * t->efficiency;
    const char *bound = t->bound;
    bool known = g->rows > 0 && g->columns > 0 && g->k > 0;
    if (known && g->made == MADE_BEFORE) { /* weights are read once at least */
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

const char *rule_batch_loops(derive *d, const gemm *g)
{
    const char *s = "";
    for (int i = 0; i < g->n - 1; i++)
        if (i != g->row)
            s = dv_text(d, "%s%s ", s, g->name[i]);
    return s;
}

/* Do several steps of the reduction share what the tile makes weights of? */
static bool shares_steps(const gemm *g)
{
    return g->made == MADE_IN_TILE && g->share > 1 && (g->k < 0 || g->share < g->k);
}

/* Weights from L3 or memory that several tiles of rows need: those of the next columns are asked for meanwhile, in each
 * tile a share of what FETCH_STEPS steps of the reduction read. */
static bool can_fetch_ahead(const gemm *g, const tile *t)
{
    bool several = g->rows < 0 ? t->rows > 1 : g->rows > t->rows;
    return g->is_input && g->row >= 0 && several && g->columns_outside && t->chains == 1 && g->k > 0 &&
           g->k % (FETCH_STEPS * g->group) == 0;
}

/* The outermost loop of the reduction. */
static const char *first_sum(const gemm *g)
{
    return g->fetches_ahead ? "kf" : shares_steps(g) ? "ks" : g->group > 1 ? "ko" : "k";
}

/* Cuts the reduction as the tile wants it; its loops, outermost first. */
static const char *cut_sum(derive *d, const gemm *g, const tile *t)
{
    const char *sum = g->group > 1 ? "ko" : "k";
    if (g->group > 1)
        dv_do(d, "ko ik = split k %d%s", (int)g->group, dv_tail(g->k, g->group));
    if (g->fetches_ahead)
        dv_do(d, "kf ks = split %s %d", sum, FETCH_STEPS);
    if (t->chains > 1)
        dv_do(d, "ko kc = split k %d%s", t->chains, dv_tail(g->k, t->chains));
    if (shares_steps(g))
        dv_do(d, "ks kr = split k %lld%s", (long long)g->share, dv_tail(g->k, g->share));
    return g->fetches_ahead ? "kf ks" : t->chains > 1 ? "ko kc" : shares_steps(g) ? "ks kr" : sum;
}

static void tile_product(derive *d, const gemm *g, const tile *t)
{
    const char *batch = rule_batch_loops(d, g), *outer, *inside = "";
    bool rows = g->row >= 0;
    int64_t width = (int64_t)t->nv * g->lanes;
    dv_loops(d, g->block, g->name, g->n + 1);
    if (g->turns)
        dv_do(d, "ip io ii = split i %d %d%s", (int)g->turns, t->rows, dv_tail(g->rows, g->turns * t->rows));
    else if (rows)
        dv_do(d, "io ii = split i %d%s", t->rows, dv_tail(g->rows, t->rows));
    if (g->made == MADE_IN_TASK) {
        dv_do(d, "jp jo jv ji = split j %d %d %d%s", (int)(g->task_columns / width), t->nv, g->lanes,
              dv_tail(g->columns, g->task_columns));
        outer = g->turns ? "jp ip" : "jp";
        inside = rows ? " io jo" : " jo";
    } else {
        dv_do(d, "jo jv ji = split j %d %d%s", t->nv, g->lanes, dv_tail(g->columns, width));
        outer = !rows ? "jo" : g->columns_outside ? "jo io" : "io jo";
    }
    const char *sum = cut_sum(d, g, t);
    dv_do(d, "reorder %s%s%s %s %s jv ji%s", batch, outer, inside, sum, rows ? "ii" : "",
          g->group > 1 ? " ik" : "");
    if (g->fetches_ahead)
        dv_do(d, "prefetch \"%s\" jo kf", g->weight);
    dv_do(d, "task = fuse %s%s", batch, outer);
}

/* Loops around those of a tile: the tasks, and the tiles of a task. */
static int n_around(const gemm *g) { return g->made != MADE_IN_TASK ? 1 : g->row >= 0 ? 3 : 2; }

/* Block k of the epilogue over one tile: rows and vectors as in the product, in loops o (o1, o2, ...). */
static void tile_epilogue(derive *d, const gemm *g, const char *block, int k)
{
    int n = tn_sched_n_loops(d->s, block);
    const char *name[TN_MAX_LOOPS], *o = k ? dv_text(d, "o%d", k) : "o";
    for (int i = 0; i < n; i++)
        name[i] = "_";
    if (n != g->n + n_around(g)) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    if (g->row >= 0)
        name[n_around(g) + g->row] = dv_text(d, "%si", o);
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
    const char *around = dv_blanks(d, n_around(g));
    dv_do(d, "decompose_reduction \"%s\" %s", g->block, outermost);
    dv_do(d, "%s%szv zx = loops \"%s.init\"", around, g->row >= 0 ? "zi " : "", g->block);
}

/* Rows that share their weight are rows of one matrix. */
static void merge_rows(derive *d, const tn_stmt **io_anchor)
{
    while (rule_n_spatial(*io_anchor) > 2 && dv_try(d, "merge"))
        *io_anchor = anchor(d->s->func);
}

product rule_product_of(const gemm *g)
{
    /* tiles end where quotients of columns begin anew; vectors that are made in them do everywhere */
    bool quotients = g->made == MADE_IN_TASK && g->period > 1, in_tile = g->made == MADE_IN_TILE;
    int64_t panel = quotients ? g->period : g->panel > 0 ? g->panel : 0;
    return (product){g->lanes,
                     g->rows,
                     g->columns,
                     g->k < 0 ? -1 : (g->k + g->group - 1) / g->group,
                     panel,
                     g->k > 0 ? g->k * (int64_t)g->bytes / g->group : 0,
                     g->converts && !g->unit,
                     !in_tile,
                     g->passes && g->made == MADE_BEFORE,
                     g->made == MADE_IN_TASK};
}

static tile tile_for(const derive *d, const gemm *g, int of_rows)
{
    tile t = rule_made_tile(d, g, of_rows);
    if (g->group == 1 && g->made != MADE_IN_TILE && (of_rows ? of_rows : g->rows) == 1)
        rule_chains(d->m, d->s->func->strict ? 0 : g->k, &t);
    return t;
}

/* ---- picks ---- */

static void pick_chains(derive *d, const gemm *g, tile *t)
{
    int64_t candidate[MAX_CANDIDATES] = {1}, depth = d->s->func->strict || g->group > 1 ? 0 : g->k;
    tile chained = *t;
    if (g->made != MADE_BEFORE)
        return;
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
    product p = rule_product_of(g);
    tile first = rule_made_tile(d, g, 0), t = rule_pick_tile(d, g->block, "rows", &p, &first, 0);
    pick_chains(d, g, &t);
    if (g->made == MADE_IN_TASK)
        return t;
    bool outside = prefers_columns_outside(d, g);
    g->columns_outside =
        g->row >= 0 && g->rows != 1 ? dv_pick_flag(d, g->block, "columns_outside", outside) : outside;
    g->fetches_ahead = can_fetch_ahead(g, &t) && dv_pick_flag(d, g->block, "prefetch", outside);
    return t;
}

/* Constant weights in panels of as many columns as a tile has: then it reads one stream of memory. By default they lie
 * as they are, unless rows of them are apart and do not fit into L2, or those of a batch into half of it. */
static void pick_panel(derive *d, gemm *g, const tn_stmt *block, const tile *t)
{
    weight_search w = weight_of(d->s->func, block);
    const tn_buffer *b = &d->s->func->buffer[w.load->u.load.buffer];
    int64_t width = (int64_t)t->nv * g->lanes, candidate[2] = {g->panel, width}, n = g->matrices;
    if (!b->constant || g->group > 1 || g->filled || g->panel == width || g->columns < width || !dv_ok(d))
        return;
    double bytes = (double)(g->columns * g->k) * g->bytes * (double)n;
    if (g->panel == 0 && bytes > (double)d->m->l2_bytes / (n > 1 ? 2 : 1)) {
        candidate[0] = width;
        candidate[1] = 0;
    }
    if (dv_pick(d, g->block, "panel", 2, candidate) != width)
        return;
    int outer = 0; /* whole matrices stay together */
    while (outer < w.dim && outer < g->n - 1 && w.load->src[outer] == block->u.block.iter[outer].var)
        outer++;
    rule_panels(d, b->name, b->ndim, outer, w.dim, width);
    g->panel = width;
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

tn_verdict rule_gemm(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    const tn_stmt *b = anchor(s->func);
    merge_rows(&d, &b);
    gemm g = read_gemm(&d, b);
    if (g.tiles.unit && dv_pick_flag(&d, g.block, "tiles", rule_tiles_are_faster(&d, &g))) {
        rule_tiles(&d, &g);
        return d.v;
    }
    if (g.maker)
        rule_pick_made(&d, &g);
    tile t = pick_tile(&d, &g);
    if (g.made == MADE_IN_TASK)
        rule_pick_task(&d, &g, &t);
    pick_panel(&d, &g, b, &t);
    if (!dv_ok(&d))
        return d.v;
    predict(&d, &g, &t);
    if (g.made == MADE_IN_TILE)
        dv_do(&d, "compute_inline \"%s\"", g.maker);
    rule_others(&d, g.block, g.made == MADE_IN_TASK ? g.maker : NULL);
    epilogue e = rule_epilogue(&d, g.block);
    tile_product(&d, &g, &t);
    if (t.chains > 1)
        add_chains(&d, &g);
    for (int k = 0; k < e.n; k++)
        dv_do(&d, "reverse_compute_at \"%s\" %s", e.block[k], g.made == MADE_IN_TASK ? "jo" : "task");
    if (g.made == MADE_IN_TASK)
        rule_make_weights(&d, &g);
    for (int k = 0; k < e.n && dv_ok(&d); k++)
        tile_epilogue(&d, &g, e.block[k], k);
    split_init(&d, &g, t.chains > 1 ? "c" : first_sum(&g));
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
