/* Rule contract: sums of products of any number of operands and axes (contraction.h), for what rules gemm, conv and
 * window do not know: einsums, convolutions of one and three dimensions, transposed products, groups. Also other
 * reductions whose operands are all read for several results, as distances of rows, or maxima of sums, and windows of
 * one or three dimensions, whose taps along the lanes are unrolled.
 *
 * A tile of accumulators stays in registers through the whole reduction. It has rows along one spatial axis
 * (u), further vectors along another one (c) or along that of the lanes, and lanes along an axis v in which
 * no view is scattered:
 *
 *   across   v is spatial: its views are loaded as vectors, the others broadcast. Where the lanes are apart in the
 *            result, tiles are transposed when they are stored. One view may be copied so that they are beside each
 *            other (contract_pack.c)
 *   along    v is a reduction, in which the operands lie beside each other: each lane keeps a part of the sum
 *            (rfactor), and the lanes of an accumulator are added up at the end
 *
 * Axes and sizes are chosen by what each choice costs (contract_tile.c). Of more than two factors, those
 * that rows share are multiplied first (regroup), once for all rows.
 *
 * Padding masks: the tiles at the ends of an axis with such a mask are peeled off, so the others have none. Where they
 * are on lanes, the taps that they depend on are unrolled, which makes them constants.
 */
#include "schedule/rules/contraction.h"

#include <string.h>

enum {
    LEAST_LANES = 4 /* of a vector of sums */
};

typedef struct plan {
    derive *d;
    contraction x;
    choice t;
    const char *name[CONTRACTION_AXES];  /* loops as they were */
    const char *outer[CONTRACTION_AXES]; /* loops over tiles, outermost first */
    int64_t turns[CONTRACTION_AXES];
    int n_outer, n_task; /* the first n_task of them are tasks */
    const char *home;    /* the loop around a tile */
    int border;          /* axis whose tiles at the ends have padding, -1: none */
    int64_t first, last; /* such tiles */
    bool all;            /* of the axis have padding: they are unrolled */
    bool maps;           /* the epilogue is more than a copy */
} plan;

static tn_stmt *find_block(const tn_func *f, contraction *x)
{
    tn_stmt *b[RULE_MAX_BLOCKS], *found = NULL;
    int n = rule_blocks(f, b);
    for (int i = 0; i < n; i++) {
        if (!rule_plain_nest(b[i]) || (found && rule_reduces(b[i])))
            return NULL;
        if (rule_reduces(b[i]))
            found = b[i];
    }
    if (!found)
        return NULL;
    if (rule_read_contraction(f, found, x) && rule_shares_views(x))
        return found;
    return rule_read_reduction(f, found, x) && (rule_shares_each_view(x) || rule_is_window(x)) ? found : NULL;
}

bool rule_contract_matches(const tn_func *f, const tn_machine *m)
{
    contraction x;
    return find_block(f, &x) && rule_lanes(m, rule_target(f, x.block)->dtype) > 1;
}

/* ---- steps ---- */

/* Looks for an axis of the tile that a padding mask is on. */
static void find_borders(plan *p)
{
    const int axis[3] = {p->t.v, p->t.c, p->t.u};
    int64_t width[CONTRACTION_AXES];
    for (int a = 0; a < p->x.n; a++)
        width[a] = rule_width(&p->t, a);
    p->border = rule_find_border(&p->x, 1, axis, width, &p->first, &p->last);
    p->all = p->border < 0 && rule_is_narrow(&p->x, &p->t, width[p->t.v], p->t.rows * p->t.nv);
    if (p->all)
        p->border = p->t.v;
    else if (p->border < 0)
        p->border = rule_find_border(&p->x, 2, axis + 1, width, &p->first, &p->last);
}

static void add_outer(plan *p, const char *name, int axis)
{
    int64_t e = p->x.extent[axis], w = rule_width(&p->t, axis);
    p->turns[p->n_outer] = e < 0 ? -1 : (e + w - 1) / w;
    p->outer[p->n_outer++] = name;
}

/* Bytes of the views that lanes and columns walk and rows do not: what several tiles of rows read again. */
static bool columns_are_far(const plan *p)
{
    const contraction *x = &p->x;
    double most = 0;
    for (int i = 0; i < x->n_view; i++) {
        const view *w = &x->view[i];
        double bytes = w->n_load ? tn_dtype_bytes(w->load[0]->dtype) : 0;
        for (int a = 0; a < x->n; a++)
            if (w->step[a] != VIEW_STAYS && (a >= x->n_spatial || a == p->t.c || a == p->t.v))
                bytes *= rule_turns(x->extent[a], 1);
        if (!rule_moves(w, &p->t, p->t.u) && bytes > most)
            most = bytes;
    }
    return most > (double)p->d->m->l2_bytes / 2;
}

static const char *outer_name(const plan *p, int axis)
{
    return axis == p->t.v ? "vo" : axis == p->t.c ? "co" : axis == p->t.u ? "uo" : p->name[axis];
}

/* The loops over tiles: other axes, then rows and columns, that with borders last. */
static void order_outer(plan *p)
{
    const contraction *x = &p->x;
    const choice *t = &p->t;
    int last[3], n = 0, axes[3] = {t->u, t->c != t->v ? t->c : -1, t->v};
    if (t->pack >= 0) {
        axes[0] = t->v;
        axes[2] = t->u;
    } else if (columns_are_far(p)) {
        axes[0] = axes[1];
        axes[1] = t->v;
        axes[2] = t->u;
    }
    for (int i = 0; i < 3; i++)
        if (axes[i] >= 0 && axes[i] < x->n_spatial && axes[i] != p->border)
            last[n++] = axes[i];
    if (p->border >= 0)
        last[n++] = p->border;
    for (int a = 0; a < x->n_spatial; a++)
        if (a != t->u && a != t->c && a != t->v)
            add_outer(p, p->name[a], a);
    for (int i = 0; i < n; i++)
        add_outer(p, outer_name(p, last[i]), last[i]);
}

/* Inner loops stay in a task while it takes less than about 10 us and there are tasks enough. */
static void cut_tasks(plan *p)
{
    double work = p->t.cycles, tasks = 1;
    if (p->n_outer < 2)
        p->border = -1; /* that loop is the tasks */
    for (int i = 0; i < p->n_outer; i++)
        tasks *= rule_turns(p->turns[i], 1);
    p->n_task = p->n_outer - (p->border >= 0 || p->t.pack >= 0);
    for (int i = p->n_outer - 1; i > 0 && p->turns[i] > 0; i--) {
        work *= (double)p->turns[i];
        tasks /= (double)p->turns[i];
        if (i < p->n_task &&
            (work > 2 * CONTRACTION_TASK_CYCLES || tasks < CONTRACTION_TASKS_A_CORE * (double)p->d->m->cores))
            break;
        p->n_task = i < p->n_task ? i : p->n_task;
    }
    p->home = p->n_task < p->n_outer ? p->outer[p->n_outer - 1] : "task";
}

static const char *joined(derive *d, int n, const char *const name[])
{
    const char *s = "";
    for (int i = 0; i < n; i++)
        s = dv_text(d, "%s %s", s, name[i]);
    return s;
}

/* Cuts the axes of the tile and puts their loops into order. The reduction of the lanes comes before the others, whose
 * turns are nearest in memory. */
static void tile_loops(plan *p)
{
    derive *d = p->d;
    const contraction *x = &p->x;
    const choice *t = &p->t;
    const char *sum = "", *inside = "";
    int64_t wide = rule_width(t, t->v);
    if (t->u >= 0)
        dv_do(d, "uo ui = split %s %d%s", p->name[t->u], t->rows, dv_tail(x->extent[t->u], t->rows));
    if (rule_along(x, t) && x->extent[t->v] != wide)
        dv_do(d, "vo vl = split %s %lld", p->name[t->v], (long long)wide);
    else if (!rule_along(x, t) && t->c == t->v)
        dv_do(d, "vo cv vx = split %s %d %d%s", p->name[t->v], t->nv, t->lanes,
              dv_tail(x->extent[t->v], wide));
    else if (!rule_along(x, t))
        dv_do(d, "vo vx = split %s %d%s", p->name[t->v], t->lanes, dv_tail(x->extent[t->v], wide));
    if (t->c != t->v)
        dv_do(d, "co cv = split %s %d%s", p->name[t->c], t->nv, dv_tail(x->extent[t->c], t->nv));
    if (rule_along(x, t) && x->extent[t->v] != wide)
        sum = " vo";
    for (int a = x->n_spatial; a < x->n; a++)
        if (a != t->v)
            sum = dv_text(d, "%s %s", sum, p->name[a]);
    inside = dv_text(d, "%s%s %s", t->u >= 0 ? " ui" : "", rule_along(x, t) && t->c == t->v ? "" : " cv",
                     rule_along(x, t) ? "vl" : "vx");
    dv_do(d, "reorder%s%s%s", joined(d, p->n_outer, p->outer), sum, inside);
    dv_do(d, "task = fuse%s", joined(d, p->n_task, p->outer));
}

/* The outermost loop of the reduction; NULL: none is left beside the lanes. */
static const char *first_sum(const plan *p)
{
    const contraction *x = &p->x;
    if (rule_along(x, &p->t) && x->extent[p->t.v] != rule_width(&p->t, p->t.v))
        return "vo";
    for (int a = x->n_spatial; a < x->n; a++)
        if (a != p->t.v)
            return p->name[a];
    return NULL;
}

static int n_around(const plan *p) { return 1 + p->n_outer - p->n_task; }

/* ---- the epilogue ---- */

/* The axis whose elements are lanes in the epilogue; -1: none. Sums of lanes are single elements: where more is to be
 * done than to store them, they go through memory to become lanes of what lies beside each other in the result. */
static int result_lanes(const plan *p, int *out_lanes)
{
    const choice *t = &p->t;
    int a = p->x.beside, most = rule_lanes(p->d->m, rule_target(p->x.f, p->x.block)->dtype);
    *out_lanes = t->lanes;
    if (!rule_along(&p->x, t))
        return t->v;
    if (!p->maps || a < 0 || (a != t->u && a != t->c) || rule_width(t, a) < LEAST_LANES)
        return -1;
    for (*out_lanes = LEAST_LANES; *out_lanes < most && *out_lanes < rule_width(t, a);)
        *out_lanes *= 2;
    return a;
}

/* Block k of the epilogue over one tile, in loops e (e1, e2, ...). */
static void tile_epilogue(plan *p, const char *block, int k, const int *axis)
{
    derive *d = p->d;
    const choice *t = &p->t;
    int n_iter = dv_ok(d) ? (int)tn_func_block(d->s->func, block)->u.block.n_iter : 0, n_lanes;
    int beside = result_lanes(p, &n_lanes);
    const char *e = k ? dv_text(d, "e%d", k) : "e", *names = "", *rows = "", *lanes = NULL;
    if (!dv_ok(d) || tn_sched_n_loops(d->s, block) != n_around(p) + n_iter) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    for (int i = 0; i < n_iter; i++) {
        bool cut = axis[i] >= 0 && (axis[i] == t->u || axis[i] == t->c || axis[i] == t->v);
        const char *own = cut ? dv_text(d, "%s%d", e, i) : "_";
        names = dv_text(d, "%s%s ", names, own);
        if (cut && axis[i] == beside)
            lanes = own;
        else if (cut)
            rows = dv_text(d, "%s %s", rows, own);
    }
    dv_do(d, "%s%s= loops \"%s\"", dv_blanks(d, n_around(p)), names, block);
    if (lanes) {
        dv_do(d, "%sv %sx = split %s %d", e, e, lanes, n_lanes);
        dv_do(d, "reorder%s %sv %sx", rows, e, e);
        rows = dv_text(d, "%s %sv", rows, e);
        dv_do(d, "vectorize %sx", e);
    }
    if (*rows)
        dv_do(d, "unroll%s", rows);
}

/* Lanes across: the accumulators begin before the reduction and live in registers. */
static void sum_across(plan *p)
{
    derive *d = p->d;
    const contraction *x = &p->x;
    const char *b = x->block->u.block.name;
    int dim = x->dim[p->t.v], ndim = rule_target(d->s->func, x->block)->ndim;
    bool rows = p->t.u >= 0;
    dv_do(d, "decompose_reduction \"%s\" %s", b, first_sum(p));
    dv_last_loops(d, dv_text(d, "%s.init", b), rows ? "zu zc zx" : "zc zx", 2 + rows);
    dv_do(d, dim < ndim - 1 ? "set_scope \"%s\" register inner=%d" : "set_scope \"%s\" register", b, dim);
    dv_do(d, "vectorize vx zx");
    dv_do(d, rows ? "unroll ui cv zu zc" : "unroll cv zc");
}

static void unroll_tile(derive *d, const char *prefix, bool rows, bool columns)
{
    if (rows)
        dv_do(d, "unroll %su", prefix);
    if (columns)
        dv_do(d, "unroll %sc", prefix);
}

/* Lanes along the reduction: of several vectors first the vectors are added, then the lanes. */
static void sum_along(plan *p)
{
    derive *d = p->d;
    const choice *t = &p->t;
    const char *b = p->x.block->u.block.name, *part = dv_text(d, "%s.rf", b), *last = part;
    const char *first = first_sum(p), *lanes = "vl", *turn = "l";
    bool rows = t->u >= 0, several = t->c == t->v && t->nv > 1, columns = t->c != t->v;
    dv_do(d, "l = rfactor \"%s\" vl %s", b, p->home);
    if (several) {
        dv_do(d, "cv vx = split vl %d", t->lanes);
        dv_do(d, "lv lx = split l %d", t->lanes);
        lanes = "vx";
        turn = "ly";
        last = dv_text(d, "%s_1", part);
        dv_do(d, "ly = rfactor \"%s\" lx %s", b, p->home);
    }
    bool inner = columns || several;
    if (first) {
        dv_do(d, "decompose_reduction \"%s\" %s", part, first);
        dv_last_loops(d, dv_text(d, "%s.init", part),
                      dv_text(d, "%s%szx", rows ? "zu " : "", inner ? "zc " : ""), 1 + rows + inner);
        unroll_tile(d, "z", rows, inner);
        dv_do(d, "vectorize zx");
    }
    if (rows || inner)
        dv_do(d, rows && inner ? "unroll ui cv" : rows ? "unroll ui" : "unroll cv");
    dv_do(d, "vectorize %s", lanes);
    if (several) {
        dv_last_loops(d, last, rows ? "ku kv kx" : "kv kx", 2 + rows);
        dv_do(d, "decompose_reduction \"%s\" kv", last);
        dv_last_loops(d, dv_text(d, "%s.init", last), rows ? "ju jx" : "jx", 1 + rows);
        dv_do(d, rows ? "unroll ku kv ju" : "unroll kv");
        dv_do(d, "vectorize kx jx");
        dv_do(d, "set_scope \"%s\" register", part);
    }
    dv_do(d, "decompose_reduction \"%s\" %s", b, turn);
    if (rows || columns) {
        const char *own = dv_text(d, "%s%s", rows ? "fu " : "", columns ? "fc " : "");
        dv_last_loops(d, b, dv_text(d, "%s_", own), 1 + rows + columns);
        unroll_tile(d, "f", rows, columns);
    }
    dv_do(d, "vectorize %s", turn);
    dv_do(d, "set_scope \"%s\" register", last);
    int n_lanes;
    dv_do(d, "set_scope \"%s\" %s", b, result_lanes(p, &n_lanes) < 0 ? "register" : "local");
}

/* The tiles with padding become apart, and the masks of their lanes constants. */
static void peel_borders(plan *p)
{
    const contraction *x = &p->x;
    derive *d = p->d;
    for (int a = x->n_spatial; a < x->n; a++)
        if (rule_writes_out(x, &p->t, a, p->border))
            dv_do(d, "unroll %s", p->name[a]);
    if (p->border < 0)
        return;
    if (p->all) {
        dv_do(d, "unroll %s", p->outer[p->n_outer - 1]);
        return;
    }
    rule_peel_ends(d, p->outer[p->n_outer - 1], p->first, p->last, p->border == p->t.v);
}

static void predict(plan *p)
{
    const choice *t = &p->t;
    double peak = p->d->m->peak_gflops * 4 / p->x.bytes;
    dv_comment(p->d,
               "rule contract/%s: %d rows x %d vectors of %d, predicted %.0f GFLOP/s of %.0f, bound: %s",
               rule_along(&p->x, t) ? "along" : "across", t->rows, t->nv, t->lanes, peak * t->efficiency,
               peak, t->bound);
}

/* The factors that the rows share are multiplied first. */
static void regroup(plan *p)
{
    if (p->x.n_view > 2 && p->t.u >= 0)
        dv_try(p->d, "regroup \"%s\" %s", p->x.block->u.block.name, p->name[p->t.u]);
}

/* Takes away what is in the way and finds the block. */
static bool read_block(derive *d, contraction *x)
{
    dv_squeeze(d);
    while (dv_try(d, "merge"))
        continue;
    return find_block(d->s->func, x) != NULL;
}

/* Of what is no product, lanes along few terms cost more to be added up than rule reduce needs for all (measured:
 * distances of 512 by 512 rows take 1.08 times as long of 12 terms with lanes of 8, 0.89 times of 16). */
static bool is_shallow(const tn_machine *m, const contraction *x, const choice *t)
{
    int64_t e = x->extent[t->v];
    return x->work > 0 && rule_along(x, t) && e >= 0 &&
           e < 2 * rule_lanes(m, rule_target(x->f, x->block)->dtype);
}

/* Do neighbours along the lanes share taps, or are there too few for lanes along them? */
static bool overlaps(const contraction *x, const choice *t, int tap)
{
    int64_t apart = 1;
    for (int i = 0; i < x->n_view; i++)
        if (x->view[i].step[t->v] == VIEW_EVENLY)
            apart = x->view[i].apart[t->v];
    return x->extent[tap] < LEAST_LANES || apart < x->extent[tap];
}

/* A window whose tile reads nothing for several results gains by taps along the lanes, which are written out. */
static bool is_still(const contraction *x, const choice *t)
{
    for (int a = x->n_spatial; a < x->n; a++)
        if (!rule_along(x, t) && x->extent[a] > 1 && rule_slides_along(x, a, t->v) && overlaps(x, t, a))
            return false;
    return !rule_shares_views(x);
}

static bool has_symbolic_rows(const contraction *x, const choice *t)
{
    return t->u >= 0 && x->extent[t->u] < 0;
}

bool rule_contract_rows(derive *d, rule_rows *out)
{
    contraction x;
    if (!rule_contract_matches(d->s->func, d->m) || !read_block(d, &x))
        return false;
    choice t = rule_choose(d, &x, NULL);
    if (t.efficiency <= 0 || !has_symbolic_rows(&x, &t) || is_shallow(d->m, &x, &t) || is_still(&x, &t))
        return false;
    out->many = t.rows;
    out->rows = x.block->u.block.iter[t.u].extent;
    out->block = x.block->u.block.name;
    for (t.rows = 1; t.rows <= RULE_TILE_ROWS; t.rows++)
        out->efficiency[t.rows] = rule_choose(d, &x, &t).efficiency;
    return true;
}

/* Another number of rows of the tile along the same axes. */
static void pick_rows(derive *d, plan *p)
{
    int64_t candidate[MAX_CANDIDATES] = {p->t.rows};
    int n = 1;
    choice t = p->t;
    for (t.rows = 1; t.rows <= RULE_TILE_ROWS; t.rows++)
        if (rule_choose(d, &p->x, &t).efficiency > 0)
            n = dv_add_candidate(n, candidate, t.rows);
    t.rows = (int)dv_pick(d, p->x.block->u.block.name, "rows", n, candidate);
    if (t.rows != candidate[0])
        p->t = rule_choose(d, &p->x, &t);
}

static bool make_plan(derive *d, plan *p)
{
    *p = (plan){.d = d, .border = -1};
    if (!read_block(d, &p->x) || !rule_pick_panels(d, &p->x))
        return false;
    p->t = rule_choose(d, &p->x, NULL);
    if (p->t.efficiency > 0 && p->t.u >= 0)
        pick_rows(d, p);
    for (int a = 0; a < p->x.n; a++)
        p->name[a] =
            dv_text(d, "%c%d", a < p->x.n_spatial ? 's' : 'r', a < p->x.n_spatial ? a : a - p->x.n_spatial);
    if (rule_along(&p->x, &p->t) && p->x.extent[p->t.v] == rule_width(&p->t, p->t.v))
        p->name[p->t.v] = "vl";
    return p->t.efficiency > 0 && !is_shallow(d->m, &p->x, &p->t) && !is_still(&p->x, &p->t);
}

/* The loop around those that a packed tile serves. */
static const char *pack_home(const plan *p)
{
    int i = p->n_outer - 1;
    while (i > 0 && strcmp(p->outer[i], "vo") != 0)
        i--;
    return i < p->n_task ? "task" : "vo";
}

tn_verdict rule_contract(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    plan p;
    if (!make_plan(&d, &p) || !dv_ok(&d))
        return dv_ok(&d) ? TN_REJECT_NEST : d.v;
    predict(&p);
    const char *b = p.x.block->u.block.name;
    rule_others(&d, b, NULL);
    epilogue e = rule_epilogue(&d, b);
    int axis[RULE_MAX_BLOCKS][CONTRACTION_AXES];
    if (!dv_ok(&d) || !rule_follow_axes(&p.x, s->func, &e, axis, &p.maps))
        return TN_REJECT_NEST;
    find_borders(&p);
    order_outer(&p);
    cut_tasks(&p);
    dv_loops(&d, b, p.name, p.x.n);
    regroup(&p);
    tile_loops(&p);
    for (int k = 0; k < e.n; k++)
        dv_do(&d, "reverse_compute_at \"%s\" %s", e.block[k], p.home);
    if (p.t.pack >= 0)
        rule_pack(&d, &p.x, &p.t, pack_home(&p));
    if (rule_along(&p.x, &p.t))
        sum_along(&p);
    else
        sum_across(&p);
    for (int k = 0; k < e.n && dv_ok(&d); k++)
        tile_epilogue(&p, e.block[k], k, axis[k]);
    dv_do(&d, "parallel task");
    int64_t depth = p.x.extent[p.t.v], wide = rule_width(&p.t, p.t.v);
    if (rule_along(&p.x, &p.t) && depth > wide && depth % wide != 0)
        dv_do(&d, "va vb vc = peel vo 0 1");
    peel_borders(&p);
    return d.v;
}
