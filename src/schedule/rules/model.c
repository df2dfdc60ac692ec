/* The model of a register tile: how many cycles one step of the reduction takes.
 *
 * A tile keeps rows x nv accumulators; a step loads nv vectors of weights, broadcasts `rows` elements and
 * issues rows * nv multiply-adds. It takes the longest of: multiply-adds over the ports, loads over the load
 * ports, and the latency of one multiply-add (each accumulator gets one a step). Registers: accumulators, the
 * weights, one broadcast. Weights that do not stay in L1 come from L2 in every tile, and about a quarter of
 * that time is not hidden behind arithmetic (measured: 512^3 with 8 and 14 rows).
 *
 * AVX-512 on one port (Zen 4) is another matter: a multiply-add reads and broadcasts its factor itself, and there is
 * one a cycle, behind which loads and lines from L2 are hidden (measured: 128 x 768 x 768 with 4, 8 and 13 rows).
 */
#include "schedule/rules/derive.h"

enum {
    FMA_LATENCY = 4,
    ENOUGH = FMA_LATENCY * 3 / 2, /* accumulators, where loads are hidden; */
    PLENTY = 4 * FMA_LATENCY      /* of vectors beside each other */
};
/* Two ports, but lines that arrive from L2 take their turns too (measured: 128 rows by 26 x 1, which wants two loads in
 * every cycle, runs at 60 % of what 13 x 2 does). */
static const double loads_a_cycle = 1.5;

static int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Cache lines of L1 that rows `row_bytes` apart can hold at once. L1 is indexed inside a page, so it has 4096
 * / 64 sets; rows whose distance is a large power of two share a few of them. */
static int64_t lines_for(const tn_machine *m, int64_t row_bytes)
{
    int64_t ways = (int64_t)m->l1_bytes / 4096, step = row_bytes / 64 % 64;
    if (row_bytes <= 0 || row_bytes % 64 != 0)
        return INT64_MAX;
    int64_t share = step ? step & -step : 64; /* power of two in the distance, in sets */
    return ways * 64 / share;
}

static double larger(double a, double b) { return a > b ? a : b; }

bool rule_hides_loads(const tn_machine *m) { return m->fma_ports == 1 && m->vector_bits >= 512; }

double rule_step_cycles(const tn_machine *m, const rule_step *s, const char **bound)
{
    double fma = s->fma / m->fma_ports, load = s->loads / loads_a_cycle;
    if (s->lines > lines_for(m, s->row_bytes))
        load *= 2; /* rows push each other out (measured: 512^3 with 27 rows runs at 65 % instead of 93) */
    double l2 = m->l2_gb_s > 0 ? s->l2_bytes * m->clock_ghz / m->l2_gb_s : 0;
    double most = larger(larger(fma, load), FMA_LATENCY);
    *bound = rule_hides_loads(m) && l2 > most    ? "L2 loads"
             : fma >= load && fma >= FMA_LATENCY ? "FMA issue"
             : load > FMA_LATENCY                ? "L1 loads"
                                                 : "FMA latency";
    return rule_hides_loads(m) ? larger(most, l2) : most + l2 / 4;
}

/* A conversion takes the ports as long as two multiply-adds (measured: sums over uint8 and int16, which are made in
 * pairs: 4 x 1, 4 x 2 and 4 x 3 vectors of 8 take 577, 370 and 339 us, two rows of them 702, 465 and 390). */
static double step_fma(int rows, int nv, bool converts)
{
    return (double)rows * nv + (converts ? 2.0 * (rows + nv) : 0);
}

static double step_cycles(const tn_machine *m, int rows, int nv, bool converts, bool from_l2,
                          int64_t row_bytes, const char **bound)
{
    rule_step s = {.fma = step_fma(rows, nv, converts),
                   .loads = rows + nv,
                   .lines = rows + nv,
                   .row_bytes = row_bytes,
                   .l2_bytes = from_l2 ? nv * m->vector_bits / 8.0 : 0};
    return rule_step_cycles(m, &s, bound);
}

int rule_registers(const tn_machine *m)
{
    return m->n_vector_regs > 4 ? (int)m->n_vector_regs - 1 : (int)m->n_vector_regs;
}

bool rule_tile_fits(const tn_machine *m, int rows, int nv)
{
    return rows * nv + nv + 1 <= (int)m->n_vector_regs;
}

tile rule_tile_of(const tn_machine *m, const product *p, int r, int nv)
{
    int64_t width = (int64_t)nv * p->lanes;
    bool fits = p->panel <= 0 || width % p->panel == 0 || p->panel % width == 0;
    bool wide = p->columns >= 0 && nv > 1 && ceil_of(p->columns, p->lanes) < nv;
    if (!fits || wide)
        return (tile){0};
    const char *bound;
    bool from_l2 = p->depth < 0 || p->depth * width * 4 > (int64_t)m->l1_bytes / 2;
    if (rule_hides_loads(m) && p->passes) /* with two ports not measured */
        from_l2 |= p->columns < 0 || p->depth * p->columns * 4 > (int64_t)m->l1_bytes / 2;
    double cycles = step_cycles(m, r, nv, p->converts, from_l2, p->row_bytes, &bound);
    double tiles = (p->rows < 0 ? 1.0 / r : (double)ceil_of(p->rows, r)) *
                   (p->columns < 0 ? 1.0 / (double)width : (double)ceil_of(p->columns, width));
    double ideal = (p->rows < 0 ? 1 : (double)p->rows) * (p->columns < 0 ? 1 : (double)p->columns) /
                   p->lanes / m->fma_ports;
    return (tile){
        r, nv,         p->rows < 0 || p->columns < 0 ? 0 : (int64_t)tiles, ideal / (tiles * cycles), bound,
        1, p->converts};
}

/* Of tiles that are as fast the one with more rows loads weights less often. Where loads are hidden each row or vector
 * is only one more stream of memory (measured on Zen 4: 128 x 3072 x 768 in 5.4 ms with 8 rows, 8.0 with 13). Vectors
 * beside each other are one stream; a tile takes whole panels of them, as half a panel is read with gaps. Of rows whose
 * number only the run knows, small tiles are compiled besides. */
static bool is_rather(const tn_machine *m, const product *p, const tile *t, const tile *best)
{
    if (!rule_hides_loads(m))
        return t->rows > best->rows;
    bool panels = p->beside && p->panel > 0;
    bool whole = panels && (int64_t)t->nv * p->lanes % p->panel == 0,
         was_whole = panels && (int64_t)best->nv * p->lanes % p->panel == 0;
    int held = best->rows * best->nv,
        enough = p->rows < 0 || p->local || (p->beside && !panels) ? PLENTY : ENOUGH;
    return whole != was_whole ? whole : held < enough && t->rows * t->nv > held;
}

tile rule_tile(const tn_machine *m, const product *p, int of_rows)
{
    int regs = rule_registers(m);
    tile best = {1, 1, 0, 0, "", 1, false};
    for (int nv = 1; nv <= RULE_MAX_NV; nv++) {
        int most = (regs - nv - 1) / nv;
        most = p->rows >= 1 && p->rows < most ? (int)p->rows : most;
        for (int r = of_rows ? of_rows : 1; r <= (of_rows && of_rows < most ? of_rows : most); r++) {
            tile t = rule_tile_of(m, p, r, nv);
            if (t.efficiency > best.efficiency * 1.001 ||
                (t.efficiency > best.efficiency * 0.999 && t.efficiency > 0 && is_rather(m, p, &t, &best)))
                best = t;
        }
    }
    return best;
}

void rule_set_chains(const tn_machine *m, int chains, tile *t)
{
    const char *bound;
    double one = step_cycles(m, t->rows, t->nv, t->converts, false, 0, &bound);
    double loads = (double)(t->rows + t->nv) / loads_a_cycle, latency = (double)FMA_LATENCY / chains,
           fma = step_fma(t->rows, t->nv, t->converts) / m->fma_ports;
    t->chains = chains;
    t->bound = fma > loads && fma > latency ? "FMA issue" : loads > latency ? "L1 loads" : bound;
    t->efficiency *= one / larger(larger(loads, latency), fma);
}

void rule_chains(const tn_machine *m, int64_t depth, tile *t)
{
    int all = FMA_LATENCY * (int)m->fma_ports, chains = 1;
    while (t->rows * t->nv * chains < all)
        chains *= 2;
    if (t->rows == 1 && 2 * t->nv <= all && depth >= 4 * chains)
        rule_set_chains(m, chains, t);
}
