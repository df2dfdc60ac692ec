/* Rule recurrence: a serial loop whose steps multiply what the step before left by weights, and compute the next of it:
 * chains of a product and the elementwise blocks behind it. A tile of rows x vectors of units, for all gates, stays in
 * registers through the whole sum, so a step loads the weights of a tile once for all of its rows; what follows is
 * computed for each tile. What a product reads itself is copied when all tiles are done.
 *
 * Rows never meet, so by default a task takes those of a tile through all steps (step join). Where the weights are more
 * than a core's caches hold, and there are cores to share them, units are tasks within each step. */
#include "schedule/rules/derive.h"

#include <string.h>

enum { ROWS = 4, MOST_ROWS = 8, MOST_VECTORS = 8, MAX_GATES = 16, FMA_LATENCY = 4 };

typedef struct {
    const char *name;
    int n;        /* iterations: gates .. row unit [k], or row .. unit */
    int chain;    /* of which it is; -1: it stands alone */
    bool product; /* the first of a chain */
    bool inside;  /* of the loop over steps */
} nest;

typedef struct {
    nest nest[RULE_MAX_BLOCKS];
    tn_stmt *block[RULE_MAX_BLOCKS]; /* until the first step is done */
    int n, n_chain;
    tn_stmt *steps;
    const tn_expr *rows;  /* extent */
    int64_t units, depth; /* of the products; -1: symbolic */
    int64_t gates;        /* most of a chain */
    int64_t weight_bytes;
    uint16_t lanes;
} recurrence;

/* ---- what it is ---- */

/* Is the statement of that list the nest of the block's own loops? */
static bool stands_in(tn_stmt *block, const tn_body *list)
{
    const tn_stmt *top = tn_own_loops(block);
    return top && top->list == list;
}

static tn_stmt *inner_block(tn_stmt *s)
{
    while (s && s->kind == TN_S_FOR)
        s = tn_body_only(&s->u.loop.body);
    return s && s->kind == TN_S_BLOCK ? s : NULL;
}

typedef struct {
    const tn_expr *load[2];
    int n;
} factors;

static void note_factor(const tn_expr *load, void *user)
{
    factors *x = user;
    if (x->n < 2)
        x->load[x->n] = load;
    x->n++;
}

/* Is it a sum of products of what the rows have and what the units have? *out_weight: the latter. */
static bool is_product(const tn_stmt *block, const tn_expr **out_weight, const tn_expr **out_state)
{
    const tn_iter *it = block->u.block.iter;
    int n = (int)block->u.block.n_iter, own = rule_reduces(block) ? tn_update_operand(block) : -1;
    factors x = {.n = 0};
    if (n < 3 || rule_n_spatial(block) != n - 1 || it[n - 1].kind != TN_ITER_REDUCE || own < 0 ||
        block->u.block.mask)
        return false;
    const tn_expr *sum = block->u.block.body.first->u.store.value;
    rule_loads(block, note_factor, &x);
    if (sum->kind != TN_E_ADD || x.n != 2)
        return false;
    int w = tn_uses(x.load[0], it[n - 2].var) ? 0 : 1;
    const tn_expr *weight = x.load[w], *state = x.load[1 - w];
    for (int i = 0; i < n; i++) {
        bool row = i == n - 3, k = i == n - 1;
        if ((tn_uses(weight, it[i].var) && row) || (tn_uses(state, it[i].var) && !row && !k))
            return false;
    }
    *out_weight = weight;
    *out_state = state;
    return tn_uses(weight, it[n - 2].var) && tn_uses(weight, it[n - 1].var) && tn_uses(state, it[n - 3].var);
}

/* The gates, sizes and weights of a product; false: it does not go with the others. */
static bool add_product(recurrence *x, const tn_func *f, const tn_stmt *block, const tn_expr *weight)
{
    const tn_iter *it = block->u.block.iter;
    int n = (int)block->u.block.n_iter;
    int64_t gates = 1, units = rule_extent(it[n - 2].extent), depth = rule_extent(it[n - 1].extent);
    for (int i = 0; i < n - 3; i++) {
        int64_t extent = rule_extent(it[i].extent);
        if (extent < 1 || extent > MAX_GATES / gates)
            return false;
        gates *= extent;
    }
    if (units < 1 || units > 1 << 20 || depth < 1 || depth > 1 << 20 ||
        (x->n_chain && (x->rows != it[n - 3].extent || x->units != units)))
        return false;
    x->rows = it[n - 3].extent;
    x->units = units;
    x->depth = depth;
    x->gates = gates > x->gates ? gates : x->gates;
    x->weight_bytes += gates * units * depth * tn_dtype_bytes(f->buffer[weight->u.load.buffer].dtype);
    return true;
}

/* Elementwise blocks behind a product are of its chain, up to the one that writes what it reads. */
static bool add_inside(recurrence *x, const tn_func *f, tn_stmt *block, const tn_expr **io_state)
{
    nest *b = &x->nest[x->n];
    const tn_expr *weight, *state;
    *b = (nest){block->u.block.name, (int)block->u.block.n_iter, -1, false, true};
    b->product = is_product(block, &weight, &state);
    if (b->product) {
        if (!add_product(x, f, block, weight))
            return false;
        *io_state = state;
        b->chain = x->n_chain++;
    } else if (rule_reduces(block) || b->n < 2) {
        return false;
    } else if (*io_state && tn_block_target(block) == (int64_t)(*io_state)->u.load.buffer) {
        *io_state = NULL;
    } else if (*io_state) {
        b->chain = x->n_chain - 1;
    }
    x->block[x->n++] = block;
    return true;
}

static bool read_steps(recurrence *x, const tn_func *f)
{
    tn_body *list = &x->steps->u.loop.body;
    const tn_expr *state = NULL;
    for (tn_stmt *s = list->first; s; s = s->next) {
        tn_stmt *block = inner_block(s);
        if (!block || x->n == RULE_MAX_BLOCKS || tn_block_target(block) < 0 || tn_block_scans(block) ||
            !stands_in(block, list) || !add_inside(x, f, block, &state))
            return false;
    }
    return x->n_chain > 0;
}

static bool read_around(recurrence *x, tn_stmt *s)
{
    tn_stmt *block = inner_block(s);
    if (!block || x->n == RULE_MAX_BLOCKS || tn_block_target(block) < 0 || rule_reduces(block) ||
        block->u.block.n_iter < 2 || !stands_in(block, s->list))
        return false;
    x->nest[x->n] = (nest){block->u.block.name, (int)block->u.block.n_iter, -1, false, false};
    x->block[x->n++] = block;
    return true;
}

/* The loop over steps holds several nests, all others are those of one block. */
static bool read_recurrence(recurrence *x, const tn_func *f, const tn_machine *m)
{
    *x = (recurrence){.n = 0};
    for (tn_stmt *s = f->body.first; s; s = s->next) {
        if (s->kind == TN_S_BUFFER || s->kind == TN_S_CHECK)
            continue;
        if (s->kind != TN_S_FOR)
            return false;
        if (inner_block(s) ? !read_around(x, s) : x->steps || s->u.loop.kind != TN_LOOP_SERIAL)
            return false;
        if (inner_block(s))
            continue;
        x->steps = s;
        if (!read_steps(x, f))
            return false;
    }
    if (!x->steps)
        return false;
    for (int i = 0; i < x->n; i++) {
        const tn_iter *it = x->block[i]->u.block.iter;
        if (x->nest[i].product)
            x->lanes = rule_lanes(m, rule_target(f, x->block[i])->dtype);
        else if (it[0].extent != x->rows ||
                 (x->nest[i].chain >= 0 && rule_extent(it[x->nest[i].n - 1].extent) != x->units))
            return false;
    }
    return true;
}

bool rule_recurrence_matches(const tn_func *f, const tn_machine *m)
{
    recurrence x;
    return read_recurrence(&x, f, m);
}

/* ---- choices ---- */

typedef struct {
    int64_t rows, vectors[RULE_MAX_BLOCKS]; /* of a tile; vectors by chain */
    bool through;                           /* does a task go through all steps? */
} choice;

static bool fits(const derive *d, int64_t gates, int64_t rows, int64_t vectors)
{
    return gates * rows * vectors + 2 <= (int64_t)d->m->n_vector_regs;
}

/* As many rows as half of the registers hold, evenly divided. */
static int64_t pick_rows(derive *d, const recurrence *x)
{
    int64_t n = rule_extent(x->rows), most = (int64_t)d->m->n_vector_regs / 2 / x->gates;
    most = most < 1 ? 1 : most > ROWS ? ROWS : most;
    int64_t tiles = n < 1 ? 1 : (n + most - 1) / most;
    int64_t candidate[MAX_CANDIDATES] = {n < 0 ? most : n == 0 ? 1 : (n + tiles - 1) / tiles};
    int count = 1;
    for (int64_t k = 1; k <= MOST_ROWS && (n < 0 || k <= n); k++)
        if (fits(d, x->gates, k, 1))
            count = dv_add_candidate(count, candidate, k);
    return dv_pick(d, x->nest[0].name, "rows", count, candidate);
}

static int64_t gates_of(const tn_stmt *block)
{
    int64_t gates = 1;
    for (uint32_t i = 0; i + 3 < block->u.block.n_iter; i++)
        gates *= rule_extent(block->u.block.iter[i].extent);
    return gates;
}

/* So many vectors that sums hide the latency of a multiply-add, none of them empty. More are only more streams of
 * memory (measured on Zen 4: LSTM of 512 units in 455 us with 4 sums, 676 with 8). */
static int64_t pick_vectors(derive *d, const recurrence *x, int i, int64_t rows)
{
    int64_t all = (x->units + x->lanes - 1) / x->lanes, gates = gates_of(x->block[i]), n = 1;
    int64_t enough = FMA_LATENCY * (int64_t)d->m->fma_ports;
    for (int64_t k = 2; k <= MOST_VECTORS && k <= all; k++) {
        bool few = 2 * n * gates * rows < enough && k * gates * rows <= 2 * enough;
        if (all % k == 0 && (few || k * gates * rows <= enough))
            n = k;
    }
    int64_t candidate[MAX_CANDIDATES] = {n};
    int count = 1;
    for (int64_t k = 1; k <= MOST_VECTORS && k <= all; k++)
        if (fits(d, gates, rows, k))
            count = dv_add_candidate(count, candidate, k);
    return dv_pick(d, x->nest[i].name, "vectors", count, candidate);
}

/* Weights that a core's caches do not hold are loaded anew in every step, so cores had better share them. */
static bool pick_through(derive *d, const recurrence *x)
{
    bool large = d->m->l2_bytes && x->weight_bytes > (int64_t)d->m->l2_bytes / 2 && d->m->cores > 1;
    return dv_pick_flag(d, x->nest[0].name, "through", !large);
}

static choice pick(derive *d, const recurrence *x)
{
    choice c = {.rows = pick_rows(d, x)};
    for (int i = 0; i < x->n; i++)
        if (x->nest[i].product)
            c.vectors[x->nest[i].chain] = pick_vectors(d, x, i, c.rows);
    c.through = pick_through(d, x);
    return c;
}

/* ---- steps ---- */

static const char *sub(derive *d, int i, const char *loop) { return dv_text(d, "%s%d", loop, i); }

/* Loops of nest i before those of rows: gI_0 gI_1 .. */
static const char *fronts(derive *d, int i, int n)
{
    const char *all = "";
    for (int k = 0; k < n; k++)
        all = dv_text(d, "%s g%d_%d", all, i, k);
    return all;
}

/* Rows of nest i in tiles: loops bI and, of several, iI. */
static void split_rows(derive *d, const recurrence *x, const choice *c, int i)
{
    if (c->rows > 1)
        dv_do(d, "b%d i%d = split r%d %d%s", i, i, i, (int)c->rows, dv_tail(rule_extent(x->rows), c->rows));
}

static const char *outer_row(derive *d, const choice *c, int i) { return sub(d, i, c->rows > 1 ? "b" : "r"); }
static const char *inner_row(derive *d, const choice *c, int i)
{
    return c->rows > 1 ? dv_text(d, " i%d", i) : "";
}

/* Units in tiles: loops jI vI xI. */
static void split_units(derive *d, const recurrence *x, int i, int64_t vectors)
{
    dv_do(d, "j%d v%d x%d = split u%d %d %d%s", i, i, i, i, (int)vectors, (int)x->lanes,
          dv_tail(x->units, vectors * x->lanes));
}

/* Constant weights whose units do not lie in panels come to do so. */
static void lay_weights_out(derive *d, const recurrence *x, const tn_stmt *block)
{
    const tn_expr *weight, *state, *unit = block->u.block.iter[block->u.block.n_iter - 2].var;
    if (!is_product(block, &weight, &state))
        return;
    const tn_buffer *w = &d->s->func->buffer[weight->u.load.buffer];
    for (int k = 0; w->constant && !w->layout && x->lanes > 1 && k < w->ndim - 1; k++)
        if (weight->src[k] == unit) {
            rule_panels(d, w->name, w->ndim, k, k, x->lanes);
            return;
        }
}

/* A nest of a chain in tiles; its loops are outer, then [k] gates rows vectors lanes. */
static void tile_nest(derive *d, const recurrence *x, const choice *c, int i)
{
    const nest *b = &x->nest[i];
    int front = b->product ? b->n - 3 : b->n - 2;
    const char *row = outer_row(d, c, i), *rows = inner_row(d, c, i);
    const char *outer = c->through ? dv_text(d, "%s j%d", row, i) : dv_text(d, "j%d %s", i, row);
    const char *names = b->product ? dv_text(d, "%s r%d u%d k%d", fronts(d, i, front), i, i, i)
                                   : dv_text(d, "r%d%s u%d", i, fronts(d, i, front), i);
    dv_last_loops(d, b->name, names, b->n);
    split_rows(d, x, c, i);
    split_units(d, x, i, c->vectors[b->chain]);
    dv_do(d, "reorder %s%s%s%s v%d x%d", outer, b->product ? dv_text(d, " k%d", i) : "", fronts(d, i, front),
          rows, i, i);
    if (b->product)
        dv_do(d, "decompose_reduction \"%s\" k%d", b->name, i);
    if (x->lanes > 1)
        dv_do(d, "vectorize x%d", i);
    dv_do(d, "unroll%s%s v%d", fronts(d, i, front), rows, i);
}

/* The sums' beginning, whose loops are those of the product: zI_.. [ziI] zvI zxI. */
static void tile_init(derive *d, const recurrence *x, const choice *c, int i)
{
    const nest *b = &x->nest[i];
    const char *gates = "", *rows = c->rows > 1 ? dv_text(d, "zi%d ", i) : "";
    for (int k = 0; k < b->n - 3; k++)
        gates = dv_text(d, "%sz%d_%d ", gates, i, k);
    dv_last_loops(d, dv_text(d, "%s.init", b->name), dv_text(d, "%s%szv%d zx%d", gates, rows, i, i),
                  b->n - 3 + (c->rows > 1) + 2);
    if (x->lanes > 1)
        dv_do(d, "vectorize zx%d", i);
    dv_do(d, "unroll %s%szv%d", gates, rows, i);
}

/* A nest that stands alone: rows in tiles, vectors along the units. */
static void lone_nest(derive *d, const recurrence *x, const choice *c, int i)
{
    const nest *b = &x->nest[i];
    int64_t extent = rule_extent(x->block[i]->u.block.iter[b->n - 1].extent);
    dv_last_loops(d, b->name, dv_text(d, "r%d%s u%d", i, fronts(d, i, b->n - 2), i), b->n);
    split_rows(d, x, c, i);
    if (x->lanes > 1) {
        dv_do(d, "j%d x%d = split u%d %d%s", i, i, i, (int)x->lanes, dv_tail(extent, x->lanes));
        dv_do(d, "vectorize x%d", i);
    }
    if (c->rows > 1)
        dv_do(d, "unroll i%d", i);
}

/* One of the loops with that first letter of all nests of the chain (-1: of all nests at all). */
static void join(derive *d, const recurrence *x, const choice *c, const char *name, char which, int chain)
{
    const char *all = "";
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        if (chain >= 0 && x->nest[i].chain != chain)
            continue;
        all = dv_text(d, "%s %s", all, which == 'r' ? outer_row(d, c, i) : sub(d, i, "j"));
        n++;
    }
    if (n > 1)
        dv_do(d, "%s = join%s", name, all);
    else if (chain >= 0) /* nothing follows the product */
        dv_refuse(d, TN_REJECT_NEST);
}

static int chain_of(const recurrence *x, const char *block)
{
    for (int i = 0; i < x->n; i++)
        if (strcmp(x->nest[i].name, block) == 0)
            return x->nest[i].chain;
    return -1;
}

/* Is what block i makes used in its chain alone? */
static bool stays_in_tile(derive *d, const recurrence *x, int i)
{
    tn_stmt *at[RULE_MAX_BLOCKS];
    uint32_t buffer = (uint32_t)tn_block_target(tn_func_block(d->s->func, x->nest[i].name));
    int n = tn_blocks_accessing(&d->s->func->body, buffer, false, RULE_MAX_BLOCKS, at);
    for (int k = 0; k < n; k++)
        if (k == RULE_MAX_BLOCKS || chain_of(x, at[k]->u.block.name) != x->nest[i].chain)
            return false;
    return x->nest[i].chain >= 0;
}

/* What is made and used within a tile stays in registers, what the steps of a task keep in memory of its own; what
 * other tasks read stays where it is. */
static void place_buffers(derive *d, const recurrence *x, const choice *c)
{
    for (int i = 0; i < x->n && dv_ok(d); i++) {
        const tn_buffer *t = rule_target(d->s->func, tn_func_block(d->s->func, x->nest[i].name));
        if (t->param >= 0 || t->scope != TN_SCOPE_GLOBAL)
            continue;
        if (stays_in_tile(d, x, i) && dv_try(d, "set_scope \"%s\" register", x->nest[i].name))
            continue;
        if (c->through)
            (void)dv_try(d, "set_scope \"%s\" local", x->nest[i].name);
    }
}

/* Rows as tasks, each through all steps. */
static void go_through(derive *d, const recurrence *x, const choice *c)
{
    join(d, x, c, "task", 'r', -1);
    for (int k = 0; k < x->n_chain && dv_ok(d); k++)
        join(d, x, c, dv_text(d, "tile%d", k), 'j', k);
    place_buffers(d, x, c);
    dv_do(d, "parallel task");
}

/* Units as tasks: the tiles of a chain are those of one loop, in each of which the rows go by. */
static void share_steps(derive *d, const recurrence *x, const choice *c)
{
    for (int k = 0; k < x->n_chain && dv_ok(d); k++) {
        const char *task = dv_text(d, "task%d", k);
        join(d, x, c, task, 'j', k);
        join(d, x, c, dv_text(d, "rows%d", k), 'r', k);
    }
    place_buffers(d, x, c);
    for (int k = 0; k < x->n_chain && dv_ok(d); k++)
        dv_do(d, "parallel task%d", k);
    for (int i = 0; i < x->n && dv_ok(d); i++)
        if (x->nest[i].inside && x->nest[i].chain < 0 && !dv_try(d, "rotate \"%s\"", x->nest[i].name))
            lone_nest(d, x, c, i);
}

tn_verdict rule_recurrence(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    recurrence x;
    if (!read_recurrence(&x, s->func, m))
        return TN_REJECT_NEST;
    while (x.lanes > 1 && x.lanes / 2 >= x.units) /* no wider than the units */
        x.lanes /= 2;
    choice c = pick(&d, &x);
    dv_comment(&d, "rule recurrence: tiles of %d rows x %d gates x %d vectors of %d, %s", (int)c.rows,
               (int)x.gates, (int)c.vectors[0], x.lanes,
               c.through ? "tasks through all steps" : "tasks of units in each step");
    for (int i = 0; i < x.n; i++)
        if (x.nest[i].product)
            lay_weights_out(&d, &x, x.block[i]);
    for (int i = 0; i < x.n && dv_ok(&d); i++) {
        if (x.nest[i].chain >= 0)
            tile_nest(&d, &x, &c, i);
        else if (c.through)
            lone_nest(&d, &x, &c, i);
        else if (!x.nest[i].inside)
            (void)rule_elementwise_nest(&d, x.nest[i].name, dv_text(&d, "n%d_", i));
        if (x.nest[i].product)
            tile_init(&d, &x, &c, i);
    }
    if (c.through)
        go_through(&d, &x, &c);
    else
        share_steps(&d, &x, &c);
    return d.v;
}
