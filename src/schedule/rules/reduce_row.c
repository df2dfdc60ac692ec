/* Rule reduce: the nest of one block inside a row. Its vectors run along what is contiguous in memory. */
#include "schedule/rules/reduce.h"

#include <string.h>

enum { MAX_UNROLLED = 256 /* stores */ };

/* ---- what is contiguous ---- */

typedef struct {
    const tn_func *f;
    const tn_stmt *block;
    int uses, spatial, reduce;
} contiguous;

/* The operand that depends on most iterations counts: it is the largest. */
static void look_at_load(const tn_expr *load, void *user)
{
    contiguous *c = user;
    const tn_buffer *b = &c->f->buffer[load->u.load.buffer];
    int uses = 0, spatial = -1, reduce = -1;
    if (b->ndim == 0)
        return;
    const tn_expr *e = load->src[rule_innermost_dim(b)];
    for (int i = 0; i < (int)c->block->u.block.n_iter; i++) {
        const tn_iter *it = &c->block->u.block.iter[i];
        uses += tn_uses(load, it->var);
        if (rule_steps_by_one(c->f, e, it->var))
            *(it->kind == TN_ITER_SPATIAL ? &spatial : &reduce) = i;
    }
    if (uses > c->uses) {
        c->uses = uses;
        c->spatial = spatial;
        c->reduce = reduce;
    }
}

int rule_vector_iter(derive *d, const tn_stmt *b, bool pairs)
{
    const tn_func *f = d->s->func;
    const tn_stmt *store = b->u.block.body.first;
    const tn_buffer *target = rule_target(f, b);
    if (rule_lanes(d->m, target->dtype) < 2 || target->ndim == 0)
        return -1;
    if (!rule_reduces(b)) {
        const tn_expr *e = store->u.store.index[rule_innermost_dim(target)];
        for (int i = 0; i < (int)b->u.block.n_iter; i++)
            if (b->u.block.iter[i].var == e)
                return i;
        return -1;
    }
    contiguous c = {f, b, 0, -1, -1};
    rule_loads(b, look_at_load, &c);
    if (pairs && c.spatial < 0 && c.reduce >= 0 && rule_extent(b->u.block.iter[c.reduce].extent) == 2)
        return rule_n_spatial(b) - 1;
    if (c.spatial < 0 || c.reduce < 0)
        return c.spatial < 0 ? c.reduce : c.spatial;
    int64_t s = rule_extent(b->u.block.iter[c.spatial].extent),
            r = rule_extent(b->u.block.iter[c.reduce].extent);
    bool across = s < 0 || 2 * s >= rule_lanes(d->m, target->dtype) || s >= r;
    return dv_pick_flag(d, b->u.block.name, "across", across) ? c.spatial : c.reduce;
}

/* ---- the nest of one block inside the row ---- */

typedef struct {
    const char *block, *prefix;
    int n; /* loops inside the row */
    const char *name[TN_MAX_LOOPS];
    int64_t extent[TN_MAX_LOOPS]; /* -1: symbolic */
    bool reduces[TN_MAX_LOOPS];
    int vector; /* which of them runs in vectors, or -1 */
    int dim;    /* dimension of the target that it walks, or -1 */
    int ndim;
    bool is_reduction;
    uint16_t lanes;
    const tn_expr *var[TN_MAX_LOOPS]; /* of a loop that is not cut */
} inner;

static void name_inner(rows *w, inner *x, const char *block, const char *prefix)
{
    derive *d = w->d;
    tn_stmt *b = tn_func_block(d->s->func, block), *loop[TN_MAX_LOOPS];
    int all = tn_stmt_loops(b, TN_MAX_LOOPS, loop);
    int v = w->lanes ? w->lanes - 1 : rule_vector_iter(d, b, w->pairs);
    const char *name[TN_MAX_LOOPS];
    const tn_stmt *store = b->u.block.body.first;
    *x = (inner){.block = block,
                 .prefix = prefix,
                 .n = all - w->n_outer,
                 .vector = -1,
                 .dim = -1,
                 .is_reduction = rule_reduces(b)};
    x->lanes = rule_lanes(d->m, rule_target(d->s->func, b)->dtype);
    x->ndim = rule_target(d->s->func, b)->ndim;
    for (int i = 0; i < all; i++) {
        int k = i - w->n_outer;
        if (k < 0) {
            name[i] = "_";
            continue;
        }
        name[i] = x->name[k] = dv_text(d, "%s%d", prefix, k);
        x->var[k] = loop[i]->u.loop.var;
        x->extent[k] = rule_extent(loop[i]->u.loop.extent);
        x->reduces[k] = tn_loop_feeds(d->s, loop[i], b, TN_ITER_REDUCE);
        if (v >= 0 && tn_uses(b->u.block.iter[v].value, loop[i]->u.loop.var) && x->extent[k] != 1)
            x->vector = k;
    }
    /* What reads accumulators in registers of a row along another axis follows them, storing apart. */
    for (int k = 0; k < x->n && v >= 0 && x->vector < 0 && !x->is_reduction; k++)
        if (x->extent[k] > 1)
            x->vector = k;
    for (int k = 0; v >= 0 && k < (int)store->u.store.n_index; k++)
        if (store->u.store.index[k] == b->u.block.iter[v].var)
            x->dim = k;
    dv_loops(d, block, name, all);
    int64_t e = x->vector < 0 ? 0 : x->extent[x->vector];
    while (e > 0 && x->lanes / 2 >= e && x->lanes > 2)
        x->lanes /= 2;
}

static const char *first_reduce(const inner *x)
{
    for (int k = 0; k < x->n; k++)
        if (x->reduces[k])
            return x->name[k];
    return NULL;
}

/* "_ _ ... " for the loops down to the row, and `more` after it. */
static const char *blanks(rows *w, int more)
{
    const char *s = "";
    for (int i = 0; i < w->n_outer + more; i++)
        s = dv_text(w->d, "%s_ ", s);
    return s;
}

/* The last loop around a block beside (its init, its copy) is lanes; with `chains` the one around it vectors. */
static void vector_loops(rows *w, const char *block, const char *prefix, bool chains)
{
    derive *d = w->d;
    int n = dv_ok(d) ? tn_sched_n_loops(d->s, block) - w->n_outer : 2;
    dv_do(d, "%s%s%sx = loops \"%s\"", blanks(w, n - 1 - chains), chains ? dv_text(d, "%sv ", prefix) : "",
          prefix, block);
    if (chains)
        dv_do(d, "unroll %sv", prefix);
    dv_do(d, "vectorize %sx", prefix);
}

/* Scalars: the accumulator of the row in a register. */
static void reduce_scalars(rows *w, const inner *x)
{
    dv_do(w->d, "decompose_reduction \"%s\" %s", x->block, first_reduce(x));
    dv_try(w->d, "set_scope \"%s\" register", x->block);
}

typedef struct {
    tn_sched *s;
    const inner *x;
    const tn_stmt *block;
    bool any;
    uint64_t indices; /* the loops that index them */
} register_reads;

static void look_for_register(const tn_expr *load, void *user)
{
    register_reads *r = user;
    if (r->s->func->buffer[load->u.load.buffer].scope != TN_SCOPE_REGISTER)
        return;
    r->any = true;
    for (uint32_t i = 0; i < load->u.load.n_index; i++) {
        const tn_expr *at = tn_block_over_loops(r->s, r->block, load->src[i]);
        for (int k = 0; k < r->x->n; k++)
            if (tn_uses(at, r->x->var[k]))
                r->indices |= (uint64_t)1 << k;
    }
}

static register_reads registers_read(const rows *w, const inner *x)
{
    const derive *d = w->d;
    register_reads r = {d->s, x, dv_ok(d) ? tn_func_block(d->s->func, x->block) : NULL, false, 0};
    if (r.block)
        rule_loads(r.block, look_for_register, &r);
    return r;
}

/* Vectors along a spatial axis: the reduction runs outside of them. */
static void reduce_beside(rows *w, const inner *x)
{
    derive *d = w->d;
    const char *p = x->prefix, *order = "", *reduce = "";
    int64_t e = x->extent[x->vector];
    bool other = false;
    const uint64_t indexed = registers_read(w, x).indices; /* these loops have to be unrolled */
    for (int k = 0; k < x->n; k++) {
        if (k == x->vector)
            continue;
        if (x->reduces[k])
            reduce = dv_text(d, "%s %s", reduce, x->name[k]);
        else
            order = dv_text(d, "%s %s", order, x->name[k]);
        other |= !x->reduces[k] && x->extent[k] != 1;
    }
    dv_do(d, "%sv %sx = split %s %d%s", p, p, x->name[x->vector], x->lanes, dv_tail(e, x->lanes));
    dv_do(d, "reorder%s%s %sv %sx", order, reduce, p, p);
    dv_do(d, "decompose_reduction \"%s\" %s", x->block, first_reduce(x));
    int n = dv_ok(d) ? tn_sched_n_loops(d->s, dv_text(d, "%s.init", x->block)) - w->n_outer : 2;
    dv_do(d, "%s%szv %szx = loops \"%s.init\"", blanks(w, n - 2), p, p, x->block);
    const char *inside = x->dim >= 0 && x->dim < x->ndim - 1 ? dv_text(d, " inner=%d", x->dim) : "";
    if (indexed & ~((uint64_t)1 << x->vector))
        dv_refuse(d, TN_REJECT_SCOPE);
    if (!other && e <= 16 * x->lanes && !w->pairs) {
        if (dv_try(d, "set_scope \"%s\" register%s", x->block, inside) || indexed)
            dv_do(d, "unroll %sv %szv", p, p);
    } else if (indexed) {
        dv_refuse(d, TN_REJECT_SCOPE);
    } else {
        dv_try(d, "set_scope \"%s\" local%s", x->block, inside);
    }
    dv_do(d, "vectorize %sx %szx", p, p);
}

/* Vectors along the reduction axis: each lane keeps a part. Several vectors of parts where the row is long;
 * they are added to one, whose lanes are added up. */
static void reduce_along(rows *w, const inner *x)
{
    derive *d = w->d;
    const char *p = x->prefix, *b = x->block, *part = dv_text(d, "%s.rf", b), *last = part,
               *turns = dv_text(d, "%sp", p);
    int64_t e = x->extent[x->vector];
    int chains = !w->abreast && (e < 0 || e >= 2 * REDUCE_CHAINS * x->lanes) ? REDUCE_CHAINS : 1, more = 0;
    for (int i = 0; i < x->n; i++)
        more += i != x->vector && x->reduces[i] && x->extent[i] != 1;
    if (chains == 1 && more && e % x->lanes == 0 && e <= 2 * REDUCE_CHAINS * x->lanes)
        chains = (int)(e / x->lanes); /* rows of a reduction over rows: their vectors are the chains */
    chains = (int)dv_pick_power(d, b, "chains", chains, 1, e < 0 ? 2 * REDUCE_CHAINS : e / 2 / x->lanes);
    int wide = chains * x->lanes;
    const char *along = x->name[x->vector], *first = NULL, *lanes = dv_text(d, "%sl", p);
    const char *outer = NULL, *order = "";
    if (e < 0 || e > wide)
        outer = dv_text(d, "%so", p);
    if (e != wide)
        dv_do(d, "%s %s = split %s %d", outer ? outer : "_", lanes, along, wide);
    else
        lanes = along;
    for (int i = 0; i < x->n; i++) {
        if (i != x->vector)
            order = dv_text(d, "%s %s", order, x->name[i]);
        if (x->reduces[i] && i != x->vector && !first)
            first = x->name[i];
    }
    dv_do(d, "reorder%s %s %s", order, outer ? outer : "", lanes);
    bool few = w->abreast && outer && e > 0 && e % wide == 0 && e / wide <= 2 * REDUCE_CHAINS;
    first = first ? first : outer;
    dv_do(d, "%s = rfactor \"%s\" %s %s", turns, b, lanes, w->row);
    if (chains > 1) {
        dv_do(d, "%sv %sx = split %s %d", p, p, lanes, x->lanes);
        dv_do(d, "%sq %sy = split %s %d", p, p, turns, x->lanes);
        turns = dv_text(d, "%sz", p);
        lanes = dv_text(d, "%sx", p);
        last = dv_text(d, "%s_1", part);
        dv_do(d, "%s = rfactor \"%s\" %sy %s", turns, b, p, w->row);
    }
    if (first) {
        dv_do(d, "decompose_reduction \"%s\" %s", part, first);
        vector_loops(w, dv_text(d, "%s.init", part), dv_text(d, "%si", p), chains > 1);
    }
    dv_do(d, "vectorize %s", lanes);
    if (chains > 1) {
        dv_do(d, "decompose_reduction \"%s\" %sq", last, p);
        vector_loops(w, dv_text(d, "%s.init", last), dv_text(d, "%sj", p), false);
        dv_do(d, "unroll %sv %sq", p, p);
        dv_do(d, "vectorize %sy", p);
        dv_do(d, "set_scope \"%s\" register", part);
    }
    dv_do(d, "decompose_reduction \"%s\" %s", b, turns);
    dv_do(d, "vectorize %s", turns);
    dv_do(d, "set_scope \"%s\" register", last);
    dv_try(d, "set_scope \"%s\" register", b);
    if (few)
        dv_do(d, "unroll %s", outer);
    if (e > wide && e % wide != 0)
        w->peel[w->n_peel++] = dv_text(d, "%sa %sb %sc = peel %so 0 1", p, p, p, p);
}

static void map_vectors(rows *w, const inner *x)
{
    derive *d = w->d;
    const char *p = x->prefix, *order = "";
    int64_t e = x->extent[x->vector];
    dv_do(d, "%sv %sx = split %s %d%s", p, p, x->name[x->vector], x->lanes, dv_tail(e, x->lanes));
    for (int k = 0; k < x->n; k++)
        if (k != x->vector)
            order = dv_text(d, "%s %s", order, x->name[k]);
    dv_do(d, "reorder%s %sv %sx", order, p, p);
    dv_do(d, "vectorize %sx", p);
    if (e > 0 && e <= 8 * REDUCE_CHAINS * x->lanes) /* a wide result of narrow data has more vectors */
        dv_do(d, "unroll %sv", p);                  /* reads accumulators in registers, perhaps */
    else if (e > 0 && e % x->lanes != 0)
        w->peel[w->n_peel++] = dv_text(d, "%sa %sb %sc = peel %sv 0 1", p, p, p, p);
}

/* A block of pairs: rows and elements are one run. */
static void map_pairs(rows *w, const inner *x)
{
    const tn_func *f = w->d->s->func;
    const char *p = x->prefix;
    dv_do(w->d, "%sf = fuse %s %s", p, x->name[x->n - 2], x->name[x->n - 1]);
    if (dv_ok(w->d))
        dv_do(w->d, "%sv %sx = split %sf %d", p, p, p,
              rule_lanes(w->d->m, rule_target(f, tn_func_block(w->d->s->func, x->block))->dtype));
    dv_do(w->d, "vectorize %sx", p);
}

/* Stores of the loops in the set, unrolled; more than MAX_UNROLLED: too many, or symbolic. */
static int64_t unrolled(const inner *x, uint64_t set)
{
    int64_t n = 1;
    for (int k = 0; k < x->n; k++)
        if (set >> k & 1)
            n = x->extent[k] < 0 || n > MAX_UNROLLED ? INT32_MAX : n * x->extent[k];
    return n;
}

/* Registers have constant indices: of a block that reads them the loops that index them are unrolled, and all others
 * that are no vectors where that is little. */
static void unroll_readers(rows *w, const inner *x)
{
    derive *d = w->d;
    const register_reads r = registers_read(w, x);
    uint64_t set = 0;
    if (!r.any)
        return;
    for (int k = 0; k < x->n; k++)
        if (k != x->vector && x->extent[k] != 1)
            set |= (uint64_t)1 << k;
    if (unrolled(x, set) > MAX_UNROLLED)
        set &= r.indices;
    if (unrolled(x, set) > MAX_UNROLLED)
        dv_refuse(d, TN_REJECT_SCOPE);
    for (int k = 0; k < x->n; k++)
        if (set >> k & 1)
            dv_do(d, "unroll %s", x->name[k]);
}

void rule_enter_row(rows *w, const char *block, const char *prefix)
{
    const tn_stmt *b = tn_func_block(w->d->s->func, block);
    int n = w->n_outer + (int)b->u.block.n_iter;
    const char *name[TN_MAX_LOOPS];
    for (int i = 0; i < n; i++)
        name[i] = "_";
    w->n_outer += rule_n_spatial(b);
    name[w->n_outer - 1] = w->row = dv_text(w->d, "%srow", prefix);
    dv_loops(w->d, block, name, n);
}

void rule_nest_in_row(rows *w, const char *block, const char *prefix)
{
    inner x;
    if (!dv_ok(w->d))
        return;
    name_inner(w, &x, block, prefix);
    if (x.is_reduction && !first_reduce(&x))
        dv_refuse(w->d, TN_REJECT_NEST);
    else if (x.is_reduction && x.vector >= 0 && x.reduces[x.vector] && !w->d->s->func->strict)
        reduce_along(w, &x);
    else if (x.is_reduction && x.vector >= 0 && !x.reduces[x.vector])
        reduce_beside(w, &x);
    else if (x.is_reduction)
        reduce_scalars(w, &x);
    else if (w->pairs && x.n >= 2 && x.extent[x.n - 1] == 2 && x.extent[x.n - 2] > 1)
        map_pairs(w, &x);
    else if (x.vector >= 0)
        map_vectors(w, &x);
    if (!x.is_reduction)
        unroll_readers(w, &x);
}

void rule_nest_in(derive *d, const char *block, const char *prefix, int n_outer, int vector)
{
    rows w = {.d = d, .n_outer = n_outer, .lanes = vector + 1};
    rule_nest_in_row(&w, block, prefix);
}
