/* The choice of a register tile for a contraction: every combination of axes for rows, columns and lanes is weighed by
 * the model of a step (model.c), with every size that the registers hold. Cost: axes^3 times about a hundred sizes. */
#include "schedule/rules/contraction.h"

enum {
    MAX_NV = 8,
    NOMINAL = 256,    /* turns of an axis of symbolic extent */
    TREE_CYCLES = 5,  /* the lanes of one accumulator added up */
    TILE_CYCLES = 24, /* a tile begins and ends */
    PACK_VECTORS = 2, /* of a packed tile, as a rule */
    PACK_CYCLES = 2,  /* an element of a packed tile */
    MAX_SUMS = 512    /* vectors of sums that are written out, where all tiles have padding */
};

bool rule_along(const contraction *x, const choice *t) { return t->v >= x->n_spatial; }

int64_t rule_width(const choice *t, int axis)
{
    int64_t n = axis == t->u ? t->rows : 1;
    n *= axis == t->c ? t->nv : 1;
    return n * (axis == t->v ? t->lanes : 1);
}

/* Is a reduction axis few taps, each of which masks other lanes, or moves them by parts of an element? */
static bool is_tap(const contraction *x, const choice *t, int a)
{
    return a >= x->n_spatial && !rule_along(x, t) && x->extent[a] > 1 && x->extent[a] <= CONTRACTION_TAPS &&
           (rule_masks_both(x, t->v, a) || rule_divides_both(x, t->v, a));
}

bool rule_writes_out(const contraction *x, const choice *t, int axis, int border)
{
    return is_tap(x, t, axis) && (border == t->v || rule_divides_both(x, t->v, axis));
}

bool rule_is_narrow(const contraction *x, const choice *t, int64_t width, int64_t vectors)
{
    int64_t e = x->extent[t->v], taps = 0, tiles = (e + width - 1) / width;
    for (int a = x->n_spatial; a < x->n; a++)
        taps = is_tap(x, t, a) ? (taps ? taps : 1) * x->extent[a] : taps;
    return taps > 0 && e > 0 && tiles <= CONTRACTION_TILES && tiles * taps * vectors <= MAX_SUMS;
}

void rule_peel_ends(derive *d, const char *tiles, int64_t first, int64_t last, bool write_out)
{
    dv_do(d, "pf pm pl = peel %s %lld %lld", tiles, (long long)first, (long long)last);
    if (write_out && first > 1 && first <= CONTRACTION_TILES)
        dv_do(d, "unroll pf");
    if (write_out && last > 1 && last <= CONTRACTION_TILES)
        dv_do(d, "unroll pl");
}

bool rule_moves(const view *w, const choice *t, int axis)
{
    return axis >= 0 && w->step[axis] != VIEW_STAYS &&
           !(w->every[axis] > 0 && w->every[axis] % rule_width(t, axis) == 0);
}

/* Do vectors of the view begin anywhere in a cache line? Those of a window do, whose taps move them by elements, and
 * those of rows that are no whole number of vectors. */
static bool is_askew(const contraction *x, const view *w, const choice *t)
{
    int64_t bytes = w->n_load ? (int64_t)t->lanes * tn_dtype_bytes(w->load[0]->dtype) : 1;
    for (int a = 0; a < x->n; a++)
        if (a != t->v && x->extent[a] != 1 && w->bytes[a] % bytes != 0)
            return true;
    return false;
}

/* Loads of a vector of those: one that crosses the end of a line takes two (measured on Zen 3, a convolution of 3 x 3 x
 * 3 taps: 8 sums from 4 such vectors and 2 broadcasts take 1.6 ms, from 2 and 4 of them 1.37). */
static double askew_loads(const view *w, const choice *t)
{
    double element = tn_dtype_bytes(w->load[0]->dtype);
    return 1 + (t->lanes - 1) * element / LINE_BYTES;
}

/* Cycles of the load ports for one value of the view. */
static double load_cost(const contraction *x, int i, const choice *t)
{
    const view *w = &x->view[i];
    if (i == t->pack || !rule_moves(w, t, t->v))
        return 1;
    switch (w->step[t->v]) {
    case VIEW_BESIDE: return is_askew(x, w, t) ? askew_loads(w, t) : 1;
    case VIEW_EVENLY: return 2.0 * (double)w->apart[t->v];
    default: return t->lanes;
    }
}

/* One step of the reduction over the tile. */
static rule_step step_of_tile(const derive *d, const contraction *x, const choice *t)
{
    rule_step s = {.fma = (double)t->rows * t->nv * (1 + x->work)};
    int shared = 0, own = 0;
    bool by_column[2] = {false, false}; /* of the shared, of those of each row */
    for (int i = 0; i < x->n_view; i++) {
        const view *w = &x->view[i];
        bool u = rule_moves(w, t, t->u), c = rule_moves(w, t, t->c);
        int values = (u ? t->rows : 1) * (c ? t->nv : 1);
        s.loads += values * w->n_load * load_cost(x, i, t);
        s.fma += values * w->work;
        *(u ? &own : &shared) += 1;
        by_column[u] |= c;
        s.lines += values * (w->n_load > 0);
        if (u && w->bytes[t->u] > s.row_bytes)
            s.row_bytes = w->bytes[t->u];
        if (!u && c && rule_moves(w, t, t->v))
            s.l2_bytes += (double)t->nv * d->m->vector_bits / 8;
    }
    s.fma += shared > 1 ? (shared - 1) * (by_column[0] ? t->nv : 1) : 0;
    s.fma += own > 1 ? (own - 1) * t->rows * (by_column[1] ? t->nv : 1) : 0;
    return s;
}

double rule_turns(int64_t extent, int64_t by)
{
    return extent < 0 ? (double)NOMINAL / (double)by : (double)((extent + by - 1) / by);
}

/* Fills in what the choice of axes and sizes makes of the contraction. */
static void weigh(const derive *d, const contraction *x, choice *t)
{
    double steps = 1, tiles = 1, all = 1;
    for (int a = 0; a < x->n; a++) {
        *(a < x->n_spatial ? &tiles : &steps) *= rule_turns(x->extent[a], rule_width(t, a));
        all *= rule_turns(x->extent[a], 1);
    }
    rule_step s = step_of_tile(d, x, t);
    if (steps * s.l2_bytes <= (double)d->m->l1_bytes / 2)
        s.l2_bytes = 0;
    double end = TILE_CYCLES, accumulators = (double)t->rows * t->nv;
    if (rule_along(x, t))
        end += t->c == t->v ? t->rows * (TREE_CYCLES + t->nv) : accumulators * TREE_CYCLES;
    else if (x->beside != t->v)
        end += accumulators * __builtin_ctz(t->lanes);
    if (t->pack >= 0) /* once for all rows */
        end += steps * (double)rule_width(t, t->v) * PACK_CYCLES / rule_turns(x->extent[t->u], t->rows);
    t->cycles = steps * rule_step_cycles(d->m, &s, &t->bound) + end;
    t->efficiency =
        all / rule_lanes(d->m, rule_target(x->f, x->block)->dtype) / d->m->fma_ports / (tiles * t->cycles);
}

/* No view is scattered along it, and vectors of it are worth it. */
static bool suits_lanes(const derive *d, const contraction *x, int axis, int pack)
{
    if (x->extent[axis] == 1 || (axis >= x->n_spatial && d->s->func->strict))
        return false;
    bool beside = pack >= 0;
    for (int i = 0; i < x->n_view; i++) {
        beside |= x->view[i].step[axis] == VIEW_BESIDE || x->view[i].step[axis] == VIEW_EVENLY;
        if (i != pack && x->view[i].step[axis] == VIEW_SCATTERED && x->view[i].every[axis] == 0)
            return false;
    }
    return beside;
}

/* The panels of a blocked layout are not cut. */
static bool fits_panels(const contraction *x, const choice *t)
{
    const tn_expr *var = x->block->u.block.iter[t->v].var;
    for (int i = 0; i < x->n_view; i++)
        for (int k = 0; k < x->view[i].n_load; k++) {
            const tn_expr *load = x->view[i].load[k];
            const tn_buffer *b = &x->f->buffer[load->u.load.buffer];
            int64_t panel = b->ndim ? rule_inner_factor(b, rule_innermost_dim(b)) : 0,
                    w = rule_width(t, t->v);
            if (panel > 0 && tn_uses(load, var) && (panel % t->lanes || (w % panel && panel % w)))
                return false;
        }
    return true;
}

/* A view that stays over parts of the lanes of a vector is no vector. */
static bool splits_lanes(const contraction *x, const choice *t)
{
    for (int i = 0; i < x->n_view; i++)
        if (i != t->pack && x->view[i].step[t->v] == VIEW_SCATTERED && rule_moves(&x->view[i], t, t->v))
            return true;
    return false;
}

/* of_rows > 0: of those with so many rows. */
static void try_sizes(const derive *d, const contraction *x, choice t, int of_rows, choice *best)
{
    int regs = rule_registers(d->m), more = x->n_view > 2;
    int64_t rows = t.u < 0 ? 1 : x->extent[t.u], columns = t.c < 0 ? 1 : x->extent[t.c];
    columns = t.c == t.v && columns > 0 ? (columns + t.lanes - 1) / t.lanes : columns;
    for (t.nv = 1; t.nv <= (columns < 0 || columns > MAX_NV ? MAX_NV : (int)columns); t.nv++) {
        int most = (regs - t.nv * (1 + more) - 1) / t.nv;
        most = rows >= 0 && rows < most ? (int)rows : most;
        most = of_rows && of_rows < most ? of_rows : most;
        for (t.rows = of_rows ? of_rows : 1; t.rows <= most; t.rows++) {
            if (splits_lanes(x, &t) || !fits_panels(x, &t))
                continue;
            weigh(d, x, &t);
            if (t.efficiency > best->efficiency * 1.001 ||
                (t.efficiency > best->efficiency * 0.999 && t.rows > best->rows))
                *best = t;
        }
    }
}

int rule_lanes_along(const derive *d, const contraction *x, int axis)
{
    int n = rule_lanes(d->m, rule_target(x->f, x->block)->dtype);
    while (x->extent[axis] > 0 && n / 2 >= x->extent[axis] && n > 2)
        n /= 2;
    return n;
}

/* Rows share the packed tile, which stays in a cache, so tasks are made of the other axes alone. What lies beside each
 * other in the result does so in the tile: else results are transposed when they are stored, which costs more than it
 * gains. */
static bool suits_pack(const derive *d, const contraction *x, const choice *t)
{
    const view *w = &x->view[t->pack];
    int64_t depth = x->extent[x->n - 1];
    double tasks = 1;
    for (int a = 0; a < x->n_spatial; a++)
        tasks *= a == t->u ? 1 : rule_turns(x->extent[a], a == t->v ? PACK_VECTORS * t->lanes : 1);
    return t->u >= 0 && x->beside == t->v && w->step[t->u] == VIEW_STAYS &&
           (t->c == t->v || w->step[t->c] == VIEW_STAYS) && tasks >= (double)d->m->cores &&
           depth >= t->lanes && depth * MAX_NV * t->lanes * x->bytes <= (int64_t)d->m->l2_bytes / 2;
}

/* Those with lanes along axis v; rows: as rule_choose. */
static void choose_with(const derive *d, const contraction *x, int v, const choice *rows, choice *best)
{
    choice t = {.v = v, .lanes = (uint16_t)rule_lanes_along(d, x, v), .pack = rule_pack_view(x, v)};
    if (!suits_lanes(d, x, v, t.pack))
        return;
    for (t.u = x->n_spatial - 1; t.u >= -1; t.u--) {
        if (t.u == v || (t.u >= 0 && x->extent[t.u] == 1) || (rows && t.u != rows->u))
            continue;
        for (t.c = x->n_spatial; t.c >= 0; t.c--) { /* that of the lanes first */
            choice with = t;
            with.c = t.c == x->n_spatial ? v : t.c;
            if (t.c == t.u || t.c == v || x->extent[with.c] == 1 ||
                (with.pack >= 0 && !suits_pack(d, x, &with)))
                continue;
            try_sizes(d, x, with, rows ? rows->rows : 0, best);
        }
    }
}

choice rule_choose(const derive *d, const contraction *x, const choice *rows)
{
    choice best = {.efficiency = 0};
    for (int v = x->n - 1; v >= 0; v--)
        choose_with(d, x, v, rows, &best);
    return best;
}

choice rule_choose_lanes(const derive *d, const contraction *x, int v)
{
    choice best = {.efficiency = 0};
    choose_with(d, x, v, NULL, &best);
    return best;
}
