/* How rules ask: picks named after a block, and those of a register tile. */
#include "schedule/rules/derive.h"
#include "schedule/space.h"

#include <string.h>

static uint32_t ask(derive *d, const char *block, const char *role, uint32_t n, const tn_choice candidate[])
{
    uint32_t i = 0;
    if (dv_ok(d))
        d->v = tn_pick_do(d->s, dv_text(d, "%s.%s", block, role), n, candidate, &i);
    return i;
}

int64_t dv_pick(derive *d, const char *block, const char *role, int n, const int64_t candidate[])
{
    tn_choice c[MAX_CANDIDATES];
    n = n < MAX_CANDIDATES ? n : MAX_CANDIDATES;
    for (int i = 0; i < n; i++)
        c[i] = (tn_choice){NULL, candidate[i]};
    return candidate[ask(d, block, role, (uint32_t)n, c)];
}

int64_t dv_pick_power(derive *d, const char *block, const char *role, int64_t first, int64_t least,
                      int64_t most)
{
    int64_t candidate[MAX_CANDIDATES] = {first};
    int n = 1;
    for (int64_t k = least; k <= most; k *= 2)
        n = dv_add_candidate(n, candidate, k);
    return dv_pick(d, block, role, n, candidate);
}

bool dv_pick_flag(derive *d, const char *block, const char *role, bool first)
{
    const tn_choice c[2] = {{first ? "yes" : "no", 0}, {first ? "no" : "yes", 0}};
    return ask(d, block, role, 2, c) == 0 ? first : !first;
}

int dv_add_candidate(int n, int64_t candidate[MAX_CANDIDATES], int64_t value)
{
    for (int i = 0; i < n; i++)
        if (candidate[i] == value)
            return n;
    if (n < MAX_CANDIDATES)
        candidate[n++] = value;
    return n;
}

/* ---- register tiles ---- */

typedef struct {
    int n;
    int64_t value[MAX_CANDIDATES];
    double efficiency[MAX_CANDIDATES]; /* falls, behind the first */
} ranked;

/* The first stays first. */
static void rank(ranked *x, int64_t value, double efficiency)
{
    int at = x->n;
    if (x->n == MAX_CANDIDATES || efficiency <= 0)
        return;
    for (; at > 1 && x->efficiency[at - 1] < efficiency; at--) {
        x->value[at] = x->value[at - 1];
        x->efficiency[at] = x->efficiency[at - 1];
    }
    x->value[at] = value;
    x->efficiency[at] = efficiency;
    x->n++;
}

tile rule_pick_tile(derive *d, const char *block, const char *role, const product *p, const tile *first,
                    int64_t whole)
{
    ranked rows = {1, {first->rows}, {1}}, vectors = {1, {first->nv}, {1}};
    for (int r = 1; r < (int)d->m->n_vector_regs; r++)
        if (r != first->rows && (whole <= 0 || whole % r == 0))
            rank(&rows, r, rule_tile(d->m, p, r).efficiency);
    int r = (int)dv_pick(d, block, role, rows.n, rows.value);
    tile best = r == first->rows ? *first : rule_tile(d->m, p, r);
    vectors.value[0] = best.nv;
    for (int nv = 1; nv <= RULE_MAX_NV; nv++)
        if (nv != best.nv && rule_tile_fits(d->m, r, nv))
            rank(&vectors, nv, rule_tile_of(d->m, p, r, nv).efficiency);
    int nv = (int)dv_pick(d, block, "vectors", vectors.n, vectors.value);
    return nv == best.nv ? best : rule_tile_of(d->m, p, r, nv);
}
