/* Nests that turn memory around: what they read lies in a row along one axis, what they write along another.
 * They run in square tiles: vectors along what is read, unrolled along what is written, which lowering
 * transposes in registers (lower/transpose.c). A part of rule elementwise.
 *
 * Axes that the result and all operands walk as one piece of memory are fused, so that tiles cross the ends of rows.
 */
#include "schedule/rules/elementwise.h"

enum { MAX_TILE = 16 };

typedef struct {
    const tn_func *f;
    const tn_stmt *block;
    int to, from; /* iterations: contiguous in the result, in what is read; from -1: not found yet */
    bool ok;
} turn;

/* Operands that do not vary along the result's axis, or not along the other, may be read as they come. */
static void look_at_load(const tn_expr *load, void *user)
{
    turn *t = user;
    const tn_buffer *b = &t->f->buffer[load->u.load.buffer];
    const tn_iter *it = t->block->u.block.iter;
    if (b->ndim == 0 || !tn_uses(load, it[t->to].var))
        return;
    const tn_expr *e = load->src[rule_innermost_dim(b)];
    if (tn_uses(e, it[t->to].var) || load->nsrc > load->u.load.n_index)
        t->ok &= rule_n_used(load, t->block) == 1; /* a vector along the result's axis, such as a bias */
    for (int i = 0; i < (int)t->block->u.block.n_iter; i++) {
        if (i == t->to || !rule_steps_by_one(t->f, e, it[i].var))
            continue;
        t->ok &= t->from < 0 || t->from == i;
        t->from = i;
    }
}

/* ---- axes that are one piece of memory ---- */

typedef struct {
    const tn_func *f;
    const tn_stmt *block;
    int first;
    bool ok;
} pair;

/* Dimension d + 1 of b follows d in memory, so that both together are one. */
static bool joined(const tn_buffer *b, uint32_t d, const tn_expr *extent)
{
    if (d + 1 >= b->ndim || b->dim[d + 1] != extent)
        return false;
    if (!b->layout)
        return true;
    int at = -1, count = 0;
    for (int i = 0; i < b->layout->naxis; i++) {
        bool one = b->layout->axis[i].dim == (int)d, next = b->layout->axis[i].dim == (int)d + 1;
        count += one || next;
        at = one ? i : at;
    }
    return count == 2 && at + 1 < b->layout->naxis && b->layout->axis[at + 1].dim == (int)d + 1;
}

static bool walks_both(const pair *p, const tn_buffer *b, uint32_t n, const tn_expr *const index[], int nsrc)
{
    const tn_iter *it = &p->block->u.block.iter[p->first];
    for (uint32_t d = 0; d < (uint32_t)nsrc; d++) {
        bool here =
            d + 1 < n && index[d] == it[0].var && index[d + 1] == it[1].var && joined(b, d, it[1].extent);
        if (here)
            d++;
        else if (tn_uses(index[d], it[0].var) || tn_uses(index[d], it[1].var))
            return false;
    }
    return true;
}

static void look_at_pair(const tn_expr *load, void *user)
{
    pair *p = user;
    p->ok &= walks_both(p, &p->f->buffer[load->u.load.buffer], load->u.load.n_index, load->src, load->nsrc);
}

static bool outside_loads(const tn_expr *e, void *user)
{
    const pair *p = user;
    for (int i = 0; i < e->nsrc && e->kind != TN_E_LOAD; i++)
        for (int k = 0; k < 2; k++)
            if (e->src[i] == p->block->u.block.iter[p->first + k].var)
                return tn_dtype_is_index(e->dtype); /* an index of a load, judged with it */
    return true;
}

static bool fusable(const nest *x, int first)
{
    const tn_func *f = x->d->s->func;
    pair p = {f, x->block, first, true};
    const tn_stmt *store = x->block->u.block.body.first;
    rule_loads(x->block, look_at_pair, &p);
    return p.ok && tn_each(store->u.store.value, outside_loads, &p) &&
           walks_both(&p, rule_target(f, x->block), store->u.store.n_index,
                      (const tn_expr *const *)store->u.store.index, (int)store->u.store.n_index);
}

/* Fuses loops first .. last, of which `last` keeps the name; the others have none then. */
static int64_t fuse(nest *x, int first, int last, const char *name, const char *axis[])
{
    const char *all = "";
    int64_t extent = 1;
    for (int i = first; i <= last; i++) {
        int64_t e = rule_extent(x->block->u.block.iter[i].extent);
        extent = extent < 0 || e < 0 ? -1 : extent * e;
        all = dv_text(x->d, "%s %s", all, axis[i]);
        axis[i] = NULL;
    }
    axis[last] = x->name[last];
    if (first < last) {
        axis[last] = dv_text(x->d, "%s%s", x->prefix, name);
        dv_do(x->d, "%s = fuse%s", axis[last], all);
    }
    return extent;
}

/* ---- the nest ---- */

static bool find_turn(const nest *x, turn *out)
{
    const tn_func *f = x->d->s->func;
    const tn_stmt *store = tn_body_only(&x->block->u.block.body);
    const tn_buffer *target = rule_target(f, x->block);
    if (!store || x->block->u.block.mask || store->u.store.mask || (int)store->u.store.n_index != x->n ||
        x->n < 2 || x->n > TN_MAX_LOOPS)
        return false;
    for (int i = 0; i < x->n; i++)
        if (store->u.store.index[i] != x->block->u.block.iter[i].var)
            return false;
    *out = (turn){f, x->block, rule_innermost_dim(target), -1, true};
    rule_loads(x->block, look_at_load, out);
    return out->ok && out->from >= 0;
}

/* Cuts `loop` of the given extent into tiles of at most `most`: the loop inside; its extent, a power of two. */
static const char *cut(nest *x, const char *loop, int64_t extent, int64_t most, const char *o, const char *i,
                       const char **outer, int64_t *turns, int64_t *inside)
{
    int64_t n = most;
    while (extent >= 0 && n / 2 >= extent)
        n /= 2;
    o = dv_text(x->d, "%s%s", x->prefix, o);
    i = dv_text(x->d, "%s%s", x->prefix, i);
    dv_do(x->d, "%s %s = split %s %lld%s", o, i, loop, (long long)n, dv_tail(extent, n));
    *outer = o;
    *turns = extent < 0 ? -1 : (extent + n - 1) / n;
    *inside = n;
    return i;
}

bool rule_transpose_nest(nest *x)
{
    turn t;
    const char *axis[TN_MAX_LOOPS], *outer[TN_MAX_LOOPS], *order = "", *vector, *row;
    int64_t extent[TN_MAX_LOOPS], lanes, rows;
    if (x->lanes < 4 || !find_turn(x, &t))
        return false;
    const tn_buffer *target = rule_target(x->d->s->func, x->block);
    int64_t block = target->layout ? rule_inner_factor(target, t.to) : 0, n_from, n_to, most = x->lanes;
    int from = t.from, to = t.to;
    most = most > MAX_TILE ? MAX_TILE : most;
    while (from > 0 && from - 1 != t.to && fusable(x, from - 1))
        from--;
    while (!target->layout && to > 0 && to - 1 != t.from && fusable(x, to - 1))
        to--;
    n_from = n_to = 1;
    for (int i = 0; i < x->n; i++) {
        int64_t e = rule_extent(x->block->u.block.iter[i].extent);
        axis[i] = x->name[i];
        extent[i] = e;
        if (i >= from && i <= t.from)
            n_from = n_from < 0 || e < 0 ? -1 : n_from * e;
        if (i >= to && i <= t.to)
            n_to = n_to < 0 || e < 0 ? -1 : n_to * e;
    }
    if ((n_from >= 0 && n_from < 4) || (n_to >= 0 && n_to < 2) || block > most ||
        (target->layout && (block < 2 || target->layout->naxis != x->n + 1)))
        return false;
    if (!dv_pick_flag(x->d, x->block->u.block.name, "transpose", true))
        return false;
    extent[t.from] = fuse(x, from, t.from, "ff", axis);
    extent[t.to] = fuse(x, to, t.to, "ft", axis);
    vector = cut(x, axis[t.from], extent[t.from], most, "vo", "v", &outer[t.from], &extent[t.from], &lanes);
    row =
        cut(x, axis[t.to], extent[t.to], block ? block : most, "uo", "u", &outer[t.to], &extent[t.to], &rows);
    for (int i = 0; i < x->n; i++) {
        if (!axis[i])
            continue;
        outer[i] = i == t.from || i == t.to ? outer[i] : axis[i];
        order = dv_text(x->d, "%s %s", order, outer[i]);
        rule_push_outer(x, outer[i], extent[i]);
    }
    dv_do(x->d, "reorder%s %s %s", order, row, vector);
    x->inner = rows * lanes;
    x->vector = vector;
    x->unroll = row;
    return true;
}
