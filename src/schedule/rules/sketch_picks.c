/* The picks of a reduction in levels of tiles: lanes, the inner tile, the inner reduction, middle tiles, tiles of a
 * task, their order, where what follows is computed, unrolling. Sizes need not divide extents, but tiles of a
 * task divide the tiles. */
#include "schedule/rules/sketch.h"

enum { MOST_INNER = 16, MOST_SUM = 64, MOST_UNROLL = 512 };

int64_t sketch_width(const sketch *k, int axis)
{
    const axis_tile *t = &k->axis[axis];
    return t->middle * t->inner * (axis == k->t.v ? k->t.lanes : 1);
}

/* Tiles along the axis; -1: symbolic. */
static int64_t tiles_of(const sketch *k, int axis)
{
    int64_t e = k->x.extent[axis], w = sketch_width(k, axis);
    return e < 0 ? -1 : (e + w - 1) / w;
}

static int64_t ask(sketch *k, const char *role, int axis, int n, const int64_t candidate[])
{
    return dv_pick(k->d, k->block, dv_text(k->d, "%s%d", role, axis), n, candidate);
}

/* ---- lanes ---- */

static bool pick_lanes(sketch *k)
{
    choice c[CONTRACTION_AXES];
    int64_t axis[CONTRACTION_AXES];
    int n = 0;
    for (int a = k->x.n - 1; a >= 0; a--) {
        choice t = rule_choose_lanes(k->d, &k->x, a);
        int at = n;
        if (t.efficiency <= 0)
            continue;
        for (n++; at > 0 && c[at - 1].efficiency < t.efficiency; at--) {
            c[at] = c[at - 1];
            axis[at] = axis[at - 1];
        }
        c[at] = t;
        axis[at] = a;
    }
    if (n == 0)
        return false;
    int64_t v = dv_pick(k->d, k->block, "lanes", n, axis);
    for (int i = 0; i < n; i++)
        if (axis[i] == v)
            k->t = c[i];
    k->along = rule_along(&k->x, &k->t);
    return dv_ok(k->d);
}

/* ---- the inner tile ---- */

/* What the model gives the axis, in vectors where it has the lanes. */
static int64_t model_inner(const sketch *k, int a)
{
    int64_t n = a == k->t.u ? k->t.rows : 1;
    return a == k->t.c && !(k->along && k->t.c == k->t.v) ? n * k->t.nv : n;
}

static void pick_inner(sketch *k, int a, int64_t room)
{
    int64_t candidate[MAX_CANDIDATES], e = k->x.extent[a], most = room < MOST_INNER ? room : MOST_INNER;
    int64_t lanes = a == k->t.v ? k->t.lanes : 1;
    if (e >= 0 && most > (e + lanes - 1) / lanes)
        most = (e + lanes - 1) / lanes;
    most = most < 1 ? 1 : most;
    int64_t first = model_inner(k, a);
    candidate[0] = first < most ? first : most;
    int n = 1;
    for (int64_t i = 1; i <= most; i++)
        n = dv_add_candidate(n, candidate, i);
    k->axis[a].inner = ask(k, "inner", a, n, candidate);
    k->vectors *= (int)k->axis[a].inner;
}

/* The axes of the model's tile first: they have the registers. */
static void pick_tile(sketch *k)
{
    const int model[3] = {k->along ? -1 : k->t.v, k->t.c, k->t.u};
    int64_t room = (int64_t)k->d->m->n_vector_regs - 2;
    bool done[CONTRACTION_AXES] = {false};
    k->vectors = 1;
    for (int i = 0; i < 3 + k->x.n_spatial; i++) {
        int a = i < 3 ? model[i] : i - 3;
        if (a < 0 || a >= k->x.n_spatial || done[a])
            continue;
        done[a] = true;
        pick_inner(k, a, room / k->vectors);
    }
}

/* ---- sums, middle tiles ---- */

/* Parts of a reduction that divide it run inside of the middle tiles. */
static bool pick_sums(sketch *k)
{
    bool any = false;
    for (int a = k->x.n_spatial; a < k->x.n; a++) {
        int64_t candidate[MAX_CANDIDATES] = {1}, e = k->x.extent[a];
        int n = 1;
        for (int64_t i = 2; i <= e && i <= MOST_SUM; i++)
            n = e % i == 0 ? dv_add_candidate(n, candidate, i) : n;
        k->axis[a].inner = k->along && a == k->t.v ? 1 : ask(k, "sum", a, n, candidate);
        any |= k->axis[a].inner > 1;
    }
    return any;
}

static void pick_middle(sketch *k)
{
    for (int a = 0; a < k->x.n_spatial; a++) {
        int64_t candidate[MAX_CANDIDATES] = {1}, tiles = tiles_of(k, a);
        int n = 1;
        for (int64_t i = 2; i <= 8 && i <= tiles; i *= 2)
            n = dv_add_candidate(n, candidate, i);
        k->axis[a].middle = ask(k, "middle", a, n, candidate);
    }
}

/* ---- tiles of a task ---- */

/* Other axes, then those of the tile: rows, columns, lanes; another one first, if that is picked. That with the border
 * last. */
static void pick_order(sketch *k)
{
    const int last[3] = {k->t.u, k->t.c, k->t.v};
    int order[CONTRACTION_AXES], n = 0, m = 0;
    int64_t candidate[CONTRACTION_AXES];
    for (int a = 0; a < k->x.n_spatial; a++)
        if (a != last[0] && a != last[1] && a != last[2] && a != k->border)
            order[n++] = a;
    for (int i = 0; i < 3; i++)
        if (last[i] >= 0 && last[i] < k->x.n_spatial && last[i] != k->border && (i < 2 || last[i] != last[1]))
            order[n++] = last[i];
    if (k->border >= 0)
        order[n++] = k->border;
    for (int i = 0; i < n && (i == 0 || order[i] != k->border); i++)
        candidate[m++] = order[i];
    int first = (int)dv_pick(k->d, k->block, "first", m, candidate);
    k->order[0] = first;
    for (int i = 0, at = 1; i < n; i++)
        if (order[i] != first)
            k->order[at++] = order[i];
}

/* The largest divisor of n below t, which is one above 1, in about the root of n steps. */
static int64_t divisor_under(int64_t n, int64_t t)
{
    int64_t i = n / t + 1;
    while (i <= n / i && n % i != 0)
        i++;
    if (i <= n / i)
        return n / i;
    t = t < i ? t - 1 : i - 1;
    while (n % t != 0)
        t--;
    return t;
}

/* Inner loops stay in a task while it takes less than about 10 us and there are tasks enough. */
static void pick_outer(sketch *k)
{
    double tasks = 1, all = k->t.cycles, work;
    for (int a = 0; a < k->x.n_spatial; a++) {
        tasks *= rule_turns(k->x.extent[a], sketch_width(k, a));
        all *= rule_turns(k->x.extent[a], rule_width(&k->t, a));
    }
    work = all / tasks;
    for (int i = k->x.n_spatial - 1; i >= 0; i--) {
        int a = k->order[i];
        int64_t candidate[MAX_CANDIDATES] = {1}, tiles = tiles_of(k, a);
        int n = 1;
        double least_tasks = CONTRACTION_TASKS_A_CORE * (double)k->d->m->cores;
        int64_t t = tiles > 1 ? tiles : 1;
        while (t > 1 && a != k->border &&
               (work * (double)t > 2 * CONTRACTION_TASK_CYCLES || tasks / (double)t < least_tasks))
            t = divisor_under(tiles, t);
        candidate[0] = t;
        for (t = 1; t < tiles && n < MAX_CANDIDATES; t = tiles / divisor_under(tiles, tiles / t))
            n = dv_add_candidate(n, candidate, t);
        n = tiles > 1 ? dv_add_candidate(n, candidate, tiles) : n;
        work *= (double)candidate[0];
        tasks /= (double)candidate[0];
        k->axis[a].outer = ask(k, "outer", a, n, candidate);
    }
}

/* ---- borders ---- */

/* The axis of the lanes first, whose tiles may all have padding; then the others of the tile. */
static void find_border(sketch *k)
{
    int axis[CONTRACTION_AXES + 3], n = 0, v = k->t.v;
    int64_t width[CONTRACTION_AXES], vectors = k->vectors;
    axis[n++] = v;
    axis[n++] = k->t.c;
    axis[n++] = k->t.u;
    for (int a = 0; a < k->x.n_spatial; a++) {
        axis[n++] = a;
        width[a] = sketch_width(k, a);
        vectors *= k->axis[a].middle;
    }
    k->border = rule_find_border(&k->x, 1, axis, width, &k->head, &k->tail);
    k->all = k->border < 0 && !k->along && rule_is_narrow(&k->x, &k->t, width[v], vectors);
    if (k->all)
        k->border = v;
    else if (k->border < 0)
        k->border = rule_find_border(&k->x, n - 1, axis + 1, width, &k->head, &k->tail);
    if (k->border >= 0 && (k->x.n_spatial == 1 || !dv_pick_flag(k->d, k->block, "peel", true)))
        k->border = -1;
}

static void pick_taps(sketch *k)
{
    bool any = false;
    for (int a = k->x.n_spatial; a < k->x.n; a++)
        any |= rule_writes_out(&k->x, &k->t, a, k->border);
    k->taps = any && dv_pick_flag(k->d, k->block, "taps", true);
}

bool sketch_choose(sketch *k)
{
    for (int a = 0; a < k->x.n; a++)
        k->axis[a] = (axis_tile){1, 1, 1, {NULL}};
    if (!pick_lanes(k))
        return false;
    pick_tile(k);
    if (pick_sums(k) && !k->along)
        pick_middle(k);
    find_border(k);
    pick_order(k);
    pick_outer(k);
    bool several = false;
    for (int a = 0; a < k->x.n_spatial; a++)
        several |= k->axis[a].outer > 1;
    if (k->border >= 0 && (k->axis[k->border].outer != tiles_of(k, k->border)))
        k->border = -1; /* its ends are not in each task */
    pick_taps(k);
    k->fuse_inner = !several || k->along || dv_pick_flag(k->d, k->block, "fuse_inner", true);
    k->unroll = dv_pick(k->d, k->block, "unroll", 4, (const int64_t[]){0, 16, 64, MOST_UNROLL});
    return dv_ok(k->d);
}
