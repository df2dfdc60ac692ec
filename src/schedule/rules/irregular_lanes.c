/* Part of rule irregular: lists whose iterations all take the same steps become lanes, one a row.
 *
 * Such a list holds values, stores and loops that turn as often whatever the row and the data are. Its iterations run
 * side by side (jam), what it declares having the copies beside each other, and the loops of the copies are vectors.
 * That pays where lanes gather and scatter less than they have in memory of their own. */
#include "schedule/rules/derive.h"

enum { MAX_DEPTH = 32, SHORT = 4 /* lanes that are worth memory beyond the cache */ };

typedef struct {
    const tn_func *f;
    bool *differs;   /* by variable: among rows */
    bool even;       /* all rows take the same steps */
    double own, far; /* accesses to what the list declares, and to what differs among rows */
    double bytes;    /* that it declares */
    tn_dtype widest; /* of it; no bits: nothing */
    double turns;    /* of the loops around */
} list;

static bool is_constant(const tn_expr *e, void *user)
{
    (void)user;
    return e->kind != TN_E_VAR && e->kind != TN_E_LOAD;
}

static bool is_own(const list *l, uint32_t buffer) { return l->f->buffer[buffer].scope != TN_SCOPE_GLOBAL; }

static bool is_shared(const tn_expr *e, void *user)
{
    const list *l = user;
    return e->kind == TN_E_VAR ? !l->differs[e->u.i] : e->kind != TN_E_LOAD || !is_own(l, e->u.load.buffer);
}

static void count_access(list *l, uint32_t buffer, uint32_t n, const tn_expr *const index[])
{
    bool shared = true;
    for (uint32_t d = 0; d < n; d++)
        shared = shared && tn_each(index[d], is_shared, l);
    if (is_own(l, buffer))
        l->own += l->turns;
    else if (!shared)
        l->far += l->turns;
}

static bool count_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        count_access(user, e->u.load.buffer, e->u.load.n_index, e->src);
    return true;
}

static void count_memory(list *l, const tn_buffer *b)
{
    int64_t extent, n = 1;
    for (int d = 0; d < b->ndim && l->even; d++) {
        l->even = tn_is_int(b->dim[d], &extent) && extent <= INT32_MAX / (n ? n : 1);
        n *= l->even ? extent : 1;
    }
    l->bytes += (double)n * tn_dtype_bytes(b->dtype);
    l->widest = l->widest.bits < b->dtype.bits ? b->dtype : l->widest;
}

static void look_at_list(list *l, const tn_body *body, int depth)
{
    for (const tn_stmt *s = body->first; s && l->even; s = s->next) {
        double turns = l->turns;
        int64_t n = 1;
        switch (s->kind) {
        case TN_S_BUFFER: count_memory(l, &l->f->buffer[s->u.decl.buffer]); break;
        case TN_S_LET:
            l->differs[s->u.let.var->u.i] = !tn_each(s->u.let.value, is_shared, l);
            tn_each(s->u.let.value, count_load, l);
            break;
        case TN_S_STORE:
            count_access(l, s->u.store.buffer, s->u.store.n_index, s->u.store.index);
            tn_each(s->u.store.value, count_load, l);
            break;
        case TN_S_FOR:
            (void)tn_is_int(s->u.loop.extent, &n);
            l->even = depth < MAX_DEPTH && tn_each(s->u.loop.extent, is_constant, NULL);
            l->turns *= (double)(n > 1 ? n : 1);
            look_at_list(l, &s->u.loop.body, depth + 1);
            l->turns = turns;
            break;
        default: l->even = false;
        }
    }
}

/* Names its last loop, and splits it. */
static void split_rows(derive *d, const tn_stmt *block, const char *prefix, int64_t lanes)
{
    int64_t rows = rule_extent(block->u.block.iter[block->u.block.n_iter - 1].extent);
    dv_last_loops(d, block->u.block.name, dv_text(d, "%srow", prefix), 1);
    dv_do(d, "_ %slane = split %srow %lld%s", prefix, prefix, (long long)lanes, dv_tail(rows, lanes));
    dv_do(d, "jam %slane copies=inner", prefix);
}

static bool can_be_lanes(const derive *d, const tn_stmt *block, const char *prefix, int64_t lanes)
{
    tn_sched after;
    tn_sched_fork(d->s, &after);
    derive trial = {&after, d->m, TN_DONE};
    split_rows(&trial, tn_func_block(after.func, block->u.block.name), prefix, lanes);
    return dv_ok(&trial);
}

/* As many as a vector has, or a line of the cache: what is computed of one vector hides what the other waits for. */
static int64_t whole_lines(const derive *d, const list *l)
{
    int64_t vector = rule_lanes(d->m, l->widest), line = LINE_BYTES / (int64_t)tn_dtype_bytes(l->widest);
    return vector > 1 && vector < line ? line : vector;
}

/* The most lanes for a list: fewer where there are fewer rows, or where jam refuses so many. */
static int64_t most_lanes(const derive *d, const list *l, const tn_stmt *block, const char *prefix)
{
    int64_t n = l->even && l->widest.bits ? whole_lines(d, l) : 1,
            rows = n > 1 ? rule_extent(block->u.block.iter[block->u.block.n_iter - 1].extent) : 1;
    while (n > 1 && rows >= 0 && n / 2 >= rows)
        n /= 2;
    while (n > 1 && !can_be_lanes(d, block, prefix, n))
        n /= 2;
    return n;
}

/* What the memory of a list may take: L2, or of a core's share of L3 what others leave. */
static double cache_for_lists(const tn_machine *m)
{
    double share = (double)(m->l3_bytes / m->cores / 4), l2 = (double)m->l2_bytes;
    return share > l2 ? share : l2;
}

/* Fewer than the most where what they need is long for the caches, and 1 where lanes do not pay. */
static int64_t pick_lanes(derive *d, const list *l, const tn_stmt *block, int64_t most)
{
    int64_t n = l->own < l->far ? 1 : most;
    double cache = cache_for_lists(d->m);
    while (n > SHORT && cache > 0 && (double)n * l->bytes > cache)
        n /= 2;
    return dv_pick_power(d, block->u.block.name, "lanes", n, 1, most);
}

/* The values that a block names. */
static int64_t count_values(const tn_stmt *block)
{
    int64_t n = 0;
    for (const tn_stmt *s = block->u.block.body.first; s; s = s->next)
        n += s->kind == TN_S_LET;
    return n;
}

/* The lanes of a part of the list; vector after vector, where its values need more registers than there are. */
static void make_vectors(derive *d, const char *part, const char *loop, int64_t lanes, int64_t vector)
{
    int64_t values = count_values(tn_func_block(d->s->func, part)) * (lanes / vector);
    bool cut = lanes > vector && values > d->m->n_vector_regs;
    dv_last_loops(d, part, loop, 1);
    if (cut)
        dv_do(d, "_ %sx = split %s %lld", loop, loop, (long long)vector);
    (void)dv_try(d, "vectorize %s%s", loop, cut ? "x" : "");
}

void rule_list_lanes(derive *d, const char *name, const char *prefix)
{
    const tn_stmt *block = tn_func_block(d->s->func, name);
    uint32_t n = block->u.block.n_iter;
    const tn_func *f = d->s->func;
    list l = {.f = f, .differs = TN_NEW_N(d->s->arena, bool, f->n_var), .even = n > 0, .turns = 1};
    if (n)
        l.differs[block->u.block.iter[n - 1].var->u.i] = true;
    look_at_list(&l, &block->u.block.body, 0);
    int64_t most = most_lanes(d, &l, block, prefix), lanes = most > 1 ? pick_lanes(d, &l, block, most) : 1;
    if (lanes < 2 || !dv_ok(d))
        return;
    split_rows(d, block, prefix, lanes);
    for (int i = 1; dv_ok(d); i++) {
        const char *part = dv_text(d, "%s.%d", name, i), *loop = dv_text(d, "%sv%d", prefix, i);
        if (tn_sched_n_loops(d->s, part) < 0)
            break;
        make_vectors(d, part, loop, lanes, rule_lanes(d->m, l.widest));
    }
}
