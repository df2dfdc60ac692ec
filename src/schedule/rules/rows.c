/* Products, and sums over lists, whose number of rows only the run knows: no tile is good for all numbers, so a few are
 * compiled and each is used where it is the cheapest (tn_rule_row_tiles). The rules say what a tile of so many rows
 * does. */
#include "schedule/rules/derive.h"

enum { MANY_ROWS = 192, SLACK_PERCENT = 8, BIAS_PERCENT = 3 };

typedef struct {
    int n;                 /* tiles of 1 to n rows */
    int first, last, step; /* numbers of rows that a run may have, as far as they are weighed */
    double cost[RULE_TILE_ROWS + 1];
    bool chosen[RULE_TILE_ROWS + 1];
} tiles;

static double cost_of(const tiles *t, int tile_rows, int rows)
{
    return (double)((rows + tile_rows - 1) / tile_rows) * t->cost[tile_rows];
}

/* The tile that takes least for so many rows, of all or of those chosen; 0: none. */
static int cheapest(const tiles *t, int rows, bool chosen)
{
    int best = 0;
    for (int r = 1; r <= t->n; r++)
        if (t->cost[r] > 0 && (!chosen || t->chosen[r]) &&
            (!best || cost_of(t, r, rows) <= cost_of(t, best, rows)))
            best = r;
    return best;
}

/* The numbers that `rows` may be: a symbol, or a multiple of one; else any number. */
static void find_numbers(tiles *t, const tn_func *f, const tn_expr *rows)
{
    int64_t step = 1, min = 1, max = MANY_ROWS;
    for (int i = 0; i < 2 && rows->kind == TN_E_MUL; i++)
        if (tn_is_int(rows->src[i], &step)) {
            rows = rows->src[1 - i];
            break;
        }
    for (uint32_t i = 0; i < f->n_symbol && rows->kind == TN_E_SYM; i++)
        if (rows == tn_sym(f->pool, f->symbol[i].name)) {
            min = f->symbol[i].min > 1 ? f->symbol[i].min : 1;
            max = f->symbol[i].max;
        }
    step = step < 1 ? 1 : step < MANY_ROWS ? step : MANY_ROWS;
    min = min < MANY_ROWS / step ? min : MANY_ROWS / step;
    max = max < MANY_ROWS / step ? max : MANY_ROWS / step;
    t->step = (int)step;
    t->first = (int)((min < 1 ? 1 : min) * step);
    t->last = (int)((max < 1 ? 1 : max) * step);
}

/* The rule's choice for very many rows, or the best for the most that there may be; and, as long as a number of rows
 * loses more than the slack by those that are there, the best for the number that loses most. */
static void choose_tiles(tiles *t, int for_many)
{
    t->chosen[t->last + t->step > MANY_ROWS ? for_many : cheapest(t, t->last, false)] = true;
    for (int n = 1; n < TN_MAX_ROW_TILES; n++) {
        double most = 1 + SLACK_PERCENT / 100.0;
        int wanted = 0;
        for (int rows = t->first; rows <= t->last; rows += t->step) {
            int best = cheapest(t, rows, false);
            double loss = cost_of(t, cheapest(t, rows, true), rows) / cost_of(t, best, rows);
            if (loss > most) {
                most = loss;
                wanted = best;
            }
        }
        if (!wanted)
            return;
        t->chosen[wanted] = true;
    }
}

/* In percent of what one of very many rows costs. Other tiles must be better by more than the model can tell. */
static int64_t exported_cost(const tiles *t, int r, int for_many)
{
    double cost = t->cost[r] / t->cost[for_many] * for_many;
    return (int64_t)(cost * (r == for_many ? 100 : 100 + BIAS_PERCENT) + 0.5);
}

bool tn_rule_row_tiles(const tn_func *f, const tn_machine *m, tn_arena *arena, tn_pool *pool,
                       tn_row_tiles *out)
{
    static bool (*const rule[])(derive *, rule_rows *) = {rule_gemm_rows, rule_contract_rows, rule_jam_rows};
    rule_rows x = {.many = 0};
    bool found = false;
    for (size_t i = 0; i < sizeof rule / sizeof *rule && !found; i++) {
        tn_sched s;
        tn_sched_init(&s, f, arena, pool);
        found = rule[i](&(derive){&s, m, TN_DONE}, &x);
    }
    tiles t = {.n = RULE_TILE_ROWS};
    for (int r = 1; r <= t.n; r++)
        t.cost[r] = x.efficiency[r] > 0 ? r / x.efficiency[r] : 0;
    *out = (tn_row_tiles){.rows = x.rows};
    if (!found || x.many > t.n || t.cost[x.many] <= 0)
        return false;
    out->pick = tn_arena_printf(arena, "%s.rows", x.block);
    find_numbers(&t, f, x.rows);
    choose_tiles(&t, x.many);
    for (int r = 1; r <= t.n; r++)
        if (t.chosen[r])
            out->tile[out->n++] = (tn_row_tile){r, exported_cost(&t, r, x.many)};
    return out->n > 0;
}
