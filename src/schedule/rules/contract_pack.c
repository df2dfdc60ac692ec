/* Packed tiles of rule contract. In the sum over k of x[i, k]*y[j, k] lanes along j would be gathered, and lanes
 * along k leave sums of lanes to be added up. So what a tile of lanes reads of y is copied once for all rows,
 * transposed:
 *
 *     for vo: y.cache[k, j] = y[j, k]     64 x 16, say, in the nearest cache
 *       for uo: the tile, whose lanes now lie beside each other
 *
 * The copy is made of square tiles that lowering transposes in registers (lower/transpose.c).
 */
#include "schedule/rules/contraction.h"

enum { MAX_DIMS = 8 };

int rule_dim_of(const contraction *x, const tn_expr *load, int axis)
{
    const tn_expr *var = x->block->u.block.iter[axis].var;
    int found = -1;
    for (int d = 0; d < (int)load->u.load.n_index; d++) {
        if (!tn_uses(load->src[d], var))
            continue;
        if (found >= 0 || load->src[d] != var)
            return -1;
        found = d;
    }
    return found;
}

static int the_sum(const contraction *x) { return x->n == x->n_spatial + 1 ? x->n - 1 : -1; }

int rule_pack_view(const contraction *x, int v)
{
    int k = the_sum(x), found = -1;
    if (k < 0 || v >= x->n_spatial || x->n_view != 2 || x->work > 0 || x->extent[k] < 0 ||
        x->block->u.block.mask)
        return -1; /* tiles with padding have an order of their own */
    for (int i = 0; i < x->n_view; i++) {
        const tn_expr *e = x->view[i].e;
        if (e->kind != TN_E_LOAD || e->nsrc > e->u.load.n_index || x->f->buffer[e->u.load.buffer].layout)
            return -1;
        if (x->view[i].step[v] == VIEW_SCATTERED)
            found = found < 0 ? i : x->n_view;
    }
    if (found < 0 || found == x->n_view || x->view[0].e->u.load.buffer == x->view[1].e->u.load.buffer)
        return -1;
    const tn_expr *load = x->view[found].e;
    int at = rule_dim_of(x, load, v), sum = rule_dim_of(x, load, k);
    return at >= 0 && sum == (int)load->u.load.n_index - 1 && sum < MAX_DIMS ? found : -1;
}

void rule_pack(derive *d, const contraction *x, const choice *t, const char *loop)
{
    const tn_expr *load = x->view[t->pack].e;
    const char *name = x->f->buffer[load->u.load.buffer].name, *copy = dv_text(d, "%s.cache", name);
    int n = (int)load->u.load.n_index, to = rule_dim_of(x, load, t->v), from = n - 1;
    const char *names = "", *others = "";
    for (int i = 0; i < n; i++) {
        const char *own = dv_text(d, "p%d", i);
        names = dv_text(d, "%s%s ", names, own);
        if (i != to && i != from)
            others = dv_text(d, "%s %s", others, own);
    }
    dv_do(d, "cache_read \"%s\" local %s", name, loop);
    dv_do(d, "set_scope \"%s\" local inner=%d", copy, to);
    dv_last_loops(d, copy, names, n);
    dv_do(d, "pu pr = split p%d %d", to, t->lanes);
    dv_do(d, "pv px = split p%d %d%s", from, t->lanes, dv_tail(x->extent[x->n - 1], t->lanes));
    dv_do(d, "reorder%s pu pv pr px", others);
    dv_do(d, "vectorize px");
    dv_do(d, "unroll pr");
}
