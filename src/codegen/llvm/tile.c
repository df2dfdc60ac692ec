/* Nests of tensor loops as products of tiles (tir/unit.h, MATRIX), by what the machine has for them (tile.h).
 *
 * An accumulator is memory of the task, in scope `tile`. It is in a register through a *run*: the statements of a list,
 * beside each other, in which nothing but nests uses accumulators. Before the run it is loaded, or cleared if the first
 * nest of the run says so; after it, it is stored. A run is as long as it can be, so it is a whole reduction. Runs
 * with too many accumulators are left to the lists inside, down to a nest, which has one. */
#include "codegen/llvm/tile.h"

#include <string.h>

typedef struct {
    enum tn_unit_id unit;
    const tn_l_tiling *by;
    const char *call, *feature;
} product;

static const product *product_of(const tn_lgen *g, const tn_unit_row *row)
{
    static const product products[] = {
#define LLVM_TILES(unit, by, call, feature) {TN_UNIT_##unit, &tn_l_##by, call, feature},
#include "codegen/intrinsics.def"
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (&tn_units[products[i].unit] == row && tn_l_has_feature(g, products[i].feature))
            return &products[i];
    return NULL;
}

/* ---- nests ---- */

static bool is_near(const tn_lgen *g, uint32_t buffer)
{
    return g->func->buffer[buffer].scope == TN_SCOPE_TILE;
}

/* A nest that this machine's tiles compute, and its accumulator. */
static bool read_nest(tn_lgen *g, const tn_stmt *s, tn_unit_nest *n, tn_l_accumulator *out)
{
    tn_pool *p = g->func->pool;
    tn_unit_tile t;
    const tn_unit_row *row = tn_stmt_is_nest(s) ? &tn_units[s->u.loop.tensor] : NULL;
    if (!row || row->kind != TN_UNIT_MATRIX || !product_of(g, row) ||
        tn_unit_read((tn_stmt *)(uintptr_t)s, row, n) || n->cond || !tn_unit_tile_of(p, n, TN_UNIT_SUM, &t))
        return false;
    *out = (tn_l_accumulator){.buffer = n->store->u.store.buffer,
                              .rows = row->most[TN_UNIT_ROWS],
                              .columns = row->most[TN_UNIT_COLUMNS],
                              .turned = row->x.code == TN_INT && row->w.code == TN_UINT};
    if (!is_near(g, out->buffer) || !tn_is_int(t.stride, &out->stride) || !tn_is_int(t.first, &out->first))
        return false;
    return !n->x || (!tn_load_mask(n->x) && !tn_load_mask(n->w) && tn_unit_tile_of(p, n, TN_UNIT_X, &t) &&
                     tn_unit_tile_of(p, n, TN_UNIT_W, &t));
}

/* ---- runs ---- */

/* Do two have no element in common? */
static bool are_apart(const tn_l_accumulator *a, const tn_l_accumulator *b)
{
    if (a->buffer != b->buffer)
        return true;
    if (a->stride != b->stride || a->stride < a->columns || a->rows != b->rows || a->columns != b->columns)
        return false;
    int64_t by = a->first < b->first ? b->first - a->first : a->first - b->first, aside = by % a->stride;
    return by >= a->rows * a->stride || (aside >= a->columns && aside + a->columns <= a->stride);
}

typedef struct {
    tn_lgen *g;
    tn_l_tiles *run;
    bool whole;   /* accumulators are used by nests alone, and there are not too many */
    bool certain; /* the statement is run whenever the run is, before all others that use its accumulator */
} survey;

static bool note_load(const tn_expr *e, void *user)
{
    survey *v = user;
    v->whole &= e->kind != TN_E_LOAD || !is_near(v->g, e->u.load.buffer);
    return v->whole;
}

static const tn_expr *note_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        (void)tn_each(e, note_load, user);
    return e;
}

static bool is_same(const tn_l_accumulator *a, const tn_l_accumulator *b)
{
    return a->buffer == b->buffer && a->first == b->first && a->stride == b->stride && a->rows == b->rows &&
           a->columns == b->columns && a->turned == b->turned;
}

static void note_sum(survey *v, const tn_l_accumulator *a, const tn_l_tiling *by, bool clears)
{
    tn_l_tiles *r = v->run;
    v->whole &= !r->by || r->by == by;
    r->by = by;
    for (uint32_t i = 0; i < r->n; i++) {
        if (is_same(&r->sum[i], a))
            return;
        v->whole &= are_apart(&r->sum[i], a);
    }
    v->whole &= r->n < by->most_sums;
    if (!v->whole)
        return;
    r->sum[r->n] = *a;
    r->sum[r->n++].cleared = clears && v->certain;
}

static bool note_stmt(tn_stmt *s, void *user)
{
    survey *v = user;
    tn_unit_nest n;
    tn_l_accumulator a;
    if (tn_stmt_is_nest(s)) {
        bool fits = read_nest(v->g, s, &n, &a);
        v->whole &= fits;
        if (fits)
            note_sum(v, &a, product_of(v->g, n.row)->by, !n.x);
        return false;
    }
    v->whole &= s->kind != TN_S_CHECK && !(s->kind == TN_S_STORE && is_near(v->g, s->u.store.buffer)) &&
                !(s->kind == TN_S_BUFFER && is_near(v->g, s->u.decl.buffer));
    tn_stmt_exprs(s, note_expr, v);
    return v->whole;
}

static bool can_add(tn_lgen *g, const tn_stmt *s, tn_l_tiles *run)
{
    tn_l_tiles more = *run;
    survey v = {g, &more, true, tn_stmt_is_nest(s)};
    tn_stmt *at = (tn_stmt *)(uintptr_t)s; /* looked at alone */
    tn_body *inner[2];
    int n = note_stmt(at, &v) ? tn_stmt_bodies(at, inner) : 0;
    for (int i = 0; i < n; i++)
        tn_stmt_walk(inner[i], note_stmt, NULL, &v);
    if (v.whole)
        *run = more;
    return v.whole;
}

/* ---- code ---- */

void tn_l_tiles_before(tn_lgen *g, const tn_stmt *s)
{
    tn_l_tiles run = {.last = s};
    if (g->tiles.last || !can_add(g, s, &run) || run.n == 0)
        return;
    while (run.last->next && can_add(g, run.last->next, &run))
        run.last = run.last->next;
    run.next = run.n;
    g->tiles = run;
    for (uint32_t i = 0; i < run.n; i++)
        if (!run.sum[i].cleared)
            run.by->load(g, i);
}

void tn_l_tiles_after(tn_lgen *g, const tn_stmt *s)
{
    if (g->tiles.last != s)
        return;
    for (uint32_t i = 0; i < g->tiles.n; i++)
        g->tiles.by->store(g, i);
    g->tiles.last = NULL;
    tn_map_clear(&g->memo);
}

void tn_l_tiles_forget(tn_lgen *g) { memset(g->tiles.operand, 0, sizeof g->tiles.operand); }

bool tn_l_tile(tn_lgen *g, const tn_stmt *loop)
{
    tn_unit_nest n;
    tn_l_accumulator a;
    if (!g->tiles.last || !read_nest(g, loop, &n, &a))
        return false;
    uint32_t sum = 0;
    while (!is_same(&g->tiles.sum[sum], &a))
        sum++;
    if (n.x)
        g->tiles.by->multiply(g, sum, &n, product_of(g, n.row)->call);
    else
        g->tiles.by->clear(g, sum);
    return true;
}

bool tn_l_tiles_have_state(const tn_lgen *g) { return g->tiles.by && g->tiles.by->on; }

void tn_l_tiles_on(tn_lgen *g)
{
    if (tn_l_tiles_have_state(g))
        g->tiles.by->on(g);
}

void tn_l_tiles_off(tn_lgen *g)
{
    if (tn_l_tiles_have_state(g))
        g->tiles.by->off(g);
}
