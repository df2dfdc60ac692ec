/* Layouts of constants for a contraction. Lanes along an axis of the result need what walks it to be beside each other
 * in memory. A constant can be laid out so, since that is done once, when the kernel is built: panels of a vector of
 * that axis innermost, the axis itself outermost, the other dimensions as they were. Of w[o, i, k] for lanes along o:
 * O16o, so OIK:OIK16o. Ansor rewrites the layouts of its placeholders alike (Zheng et al. 2020, section 4.2).
 *
 * The pick `panels` is the number of that axis, or -1: as it is. The default is what the model's best tile gains by. */
#include "schedule/rules/contraction.h"

static const double LEAST_GAIN = 1.03; /* of the best tile, for another layout */

/* The dimension of the constant that the axis walks one by one and no other does; -1: there is none. */
static int panel_dim(const contraction *x, const tn_expr *load, int axis)
{
    const tn_buffer *b = &x->f->buffer[load->u.load.buffer];
    return b->constant && !b->layout && b->ndim > 1 ? rule_dim_of(x, load, axis) : -1;
}

/* Does some constant gain by panels of the axis? */
static bool suits(const contraction *x, int axis)
{
    bool any = false;
    for (int i = 0; i < x->n_view; i++)
        for (int k = 0; k < x->view[i].n_load; k++)
            any |= x->view[i].step[axis] == VIEW_SCATTERED && panel_dim(x, x->view[i].load[k], axis) >= 0;
    return any;
}

void rule_panels(derive *d, const char *buffer, int ndim, int outer, int dim, int64_t width)
{
    const char *all = "", *order = "";
    for (int i = 0; i < ndim; i++) {
        if (i == outer)
            order = dv_text(d, "%s%c", order, 'A' + dim);
        all = dv_text(d, "%s%c", all, 'A' + i);
        order = i == dim ? order : dv_text(d, "%s%c", order, 'A' + i);
    }
    dv_do(d, "transform_layout \"%s\" layout=%s:%s%lld%c", buffer, all, order, (long long)width,
          'a' + dim); /* outer = 0: "ABC:BAC16b" */
}

static void lay_out(derive *d, const contraction *x, int axis)
{
    int lanes = rule_lanes_along(d, x, axis);
    for (int i = 0; i < x->n_view; i++)
        for (int k = 0; k < x->view[i].n_load; k++) {
            const tn_buffer *b = &d->s->func->buffer[x->view[i].load[k]->u.load.buffer];
            int dim = panel_dim(x, x->view[i].load[k], axis);
            if (dim >= 0 && !b->layout)
                rule_panels(d, b->name, b->ndim, 0, dim, lanes);
        }
}

/* What the model's best tile reaches with panels of the axis. */
static double efficiency_of(const derive *d, const contraction *x, int axis)
{
    tn_sched after;
    contraction y;
    tn_sched_fork(d->s, &after);
    derive with = {&after, d->m, TN_DONE};
    lay_out(&with, x, axis);
    tn_stmt *block = tn_func_block(after.func, x->block->u.block.name);
    return dv_ok(&with) && block && rule_read_reduction(after.func, block, &y)
               ? rule_choose(d, &y, NULL).efficiency
               : 0;
}

bool rule_pick_panels(derive *d, contraction *x)
{
    int64_t candidate[CONTRACTION_AXES + 1] = {-1};
    int n = 1;
    double best = 0;
    for (int a = 0; a < x->n_spatial; a++) {
        double e = x->extent[a] != 1 && suits(x, a) ? efficiency_of(d, x, a) : 0;
        if (e <= 0)
            continue;
        best = n == 1 ? LEAST_GAIN * rule_choose(d, x, NULL).efficiency : best;
        candidate[n++] = a;
        if (e > best) {
            best = e;
            candidate[n - 1] = candidate[0];
            candidate[0] = a;
        }
    }
    int64_t axis = n > 1 ? dv_pick(d, x->block->u.block.name, "panels", n, candidate) : -1;
    if (axis < 0 || !dv_ok(d))
        return dv_ok(d);
    lay_out(d, x, (int)axis);
    return dv_ok(d) && rule_read_reduction(d->s->func, x->block, x);
}
