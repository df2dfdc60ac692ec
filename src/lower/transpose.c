/* TransposeTiles: vectors that are scattered with one stride, each an element further than the one before, are the rows
 * of a tile whose columns are contiguous in memory:
 *
 *   y[ramp(at, s, 16)]      = row 0            row r stored to y[at + r], y[at + s + r], y[at + 2*s + r] ...
 *   y[ramp(at + 1, s, 16)]  = row 1     ->     column l stored to y[at + l*s : 16]
 *   ...
 *
 * So are results whose channels are lanes and whose pixels lie beside each other. Columns are made of rows by shuffles
 * (columns.c).
 *
 * Rows that are no power of two in number are filled up, and a mask keeps the rest from memory. Where elements of the
 * tile overlap (a stride below the number of rows), the one stored last stays the last: with s > 0 it is that of the
 * lowest lane, so columns are stored from the last to the first.
 */
#include "lower/lower_impl.h"

enum { MAX_ACROSS = 8 };

/* A store of the list, or what stands alone under its condition. */
typedef struct {
    tn_stmt *at, *store;
    const tn_expr *base, *stride;
    uint16_t lanes;
} scatter;

/* What keeps a row from memory: terms that are the same in all lanes, scalar, and terms by lane. */
typedef struct {
    int n_same, n_lane;
    const tn_expr *same[TN_MAX_TERMS], *lane[TN_MAX_TERMS];
} terms;

/* What keeps the rows of a tile from memory: the terms of the first one; of these some count rows, `x < bound` there is
 * `x + r < bound` in row r; and one term more that the rows from late_from on have. */
typedef struct {
    terms first;
    bool counts[TN_MAX_TERMS];
    const tn_expr *late; /* NULL: none */
    int late_from;
} guard;

typedef struct {
    tn_func *f;
    scatter s[TN_MAX_ROWS * MAX_ACROSS]; /* row after row */
    int rows, across;                    /* tiles beside each other: their lanes go on */
    guard guard[MAX_ACROSS];
} tiles;

/* ---- what keeps rows from memory ---- */

/* false: too many */
static bool terms_of(const scatter *s, terms *out)
{
    const tn_expr *term[TN_MAX_TERMS];
    const tn_expr *mask = s->store->u.store.mask;
    *out = (terms){0};
    if (s->at != s->store)
        out->n_same = tn_terms(s->at->u.cond.cond, out->same);
    int n = mask ? tn_terms(mask, term) : 0;
    if (n + out->n_same > TN_MAX_TERMS)
        return false;
    for (int i = 0; i < n; i++)
        if (term[i]->kind == TN_E_SPLAT)
            out->same[out->n_same++] = term[i]->src[0];
        else
            out->lane[out->n_lane++] = term[i];
    return true;
}

static bool is_apart(tn_pool *p, const tn_expr *a, const tn_expr *b, const tn_expr *by)
{
    return tn_is_value(tn_simplify(p, NULL, tn_sub(p, tn_sub(p, b, a), by)), 0);
}

static bool is_true(tn_func *f, const tn_stmt *s, const tn_expr *cond)
{
    tn_facts facts;
    tn_stmt_facts(f, s, &facts);
    bool yes = tn_prove(f->pool, &facts, cond) == 1;
    tn_facts_deinit(&facts);
    return yes;
}

/* The place of the term that x has besides those of the first row. */
static int extra(const guard *g, const terms *x)
{
    int i = 0;
    while (i < g->first.n_same && (g->counts[i] || g->first.same[i] == x->same[i]))
        i++;
    return i;
}

static void leave_out(terms *x, int i)
{
    for (x->n_same--; i < x->n_same; i++)
        x->same[i] = x->same[i + 1];
}

/* A bound on rows that the first one always keeps was dropped there, but not in the second: it is put back. */
static void put_back(const tiles *t, guard *g, const terms *second)
{
    tn_pool *p = t->f->pool;
    terms *first = &g->first;
    int i = extra(g, second);
    const tn_expr *e = second->same[i];
    if (e->kind != TN_E_LT)
        return;
    const tn_expr *x = tn_simplify(p, NULL, tn_sub(p, e->src[0], tn_int(p, e->src[0]->dtype, 1)));
    const tn_expr *term = tn_lt(p, x, e->src[1]);
    if (!is_true(t->f, t->s[0].at, term))
        return;
    for (int k = first->n_same++; k > i; k--)
        first->same[k] = first->same[k - 1];
    first->same[i] = term;
}

/* The guard that fits the first two rows, and those after them until one has a term more. */
static guard guard_of(const tiles *t, int tile)
{
    guard g = {.late_from = t->rows};
    terms x, *first = &g.first;
    terms_of(&t->s[tile], first);
    for (int row = 1; row < t->rows && !g.late; row++) {
        terms_of(&t->s[row * t->across + tile], &x);
        if (row == 1 && x.n_same == first->n_same + 1)
            put_back(t, &g, &x);
        int more = x.n_same == first->n_same + 1 ? extra(&g, &x) : -1;
        if (more >= 0 && !x.same[more]->has_load) {
            g.late = x.same[more];
            g.late_from = row;
            leave_out(&x, more);
        }
        for (int i = 0; row == 1 && i < first->n_same && x.n_same == first->n_same; i++)
            g.counts[i] = first->same[i] != x.same[i];
    }
    return g;
}

/* Are the terms of row `row` those that the guard says? */
static bool fits(tn_pool *p, const guard *g, int row, terms x)
{
    const terms *first = &g->first;
    if (row >= g->late_from) {
        int i = extra(g, &x);
        if (x.n_same != first->n_same + 1 || x.same[i] != g->late)
            return false;
        leave_out(&x, i);
    }
    if (x.n_same != first->n_same || x.n_lane != first->n_lane)
        return false;
    for (int i = 0; i < x.n_lane; i++)
        if (x.lane[i] != first->lane[i])
            return false;
    for (int i = 0; i < x.n_same; i++) {
        const tn_expr *a = first->same[i], *b = x.same[i];
        bool is = g->counts[i] ? a->kind == TN_E_LT && b->kind == TN_E_LT && a->src[1] == b->src[1] &&
                                     is_apart(p, a->src[0], b->src[0], tn_int(p, a->src[0]->dtype, row))
                               : a == b;
        if (!is)
            return false;
    }
    return true;
}

/* ---- tiles ---- */

static bool read_scatter(tn_func *f, tn_stmt *s, scatter *out)
{
    out->at = out->store = s;
    if (s && s->kind == TN_S_IF && !s->u.cond.other.first && !s->u.cond.cond->has_load) {
        out->store = s = s->u.cond.then.first;
        if (s && s->next)
            return false;
    }
    if (!s || s->kind != TN_S_STORE || s->u.store.index[0]->kind != TN_E_RAMP ||
        f->buffer[s->u.store.buffer].scope == TN_SCOPE_REGISTER)
        return false;
    const tn_expr *at = s->u.store.index[0];
    out->base = at->src[0];
    out->stride = at->src[1];
    out->lanes = at->dtype.lanes;
    return !tn_is_value(out->stride, 1) && (out->lanes & (out->lanes - 1)) == 0 && terms_of(out, &(terms){0});
}

/* Is this scatter the one of that row and tile? */
static bool belongs(tiles *t, const scatter *s, int row, int tile)
{
    tn_pool *p = t->f->pool;
    const scatter *o = &t->s[0];
    const tn_stmt *a = o->store, *b = s->store;
    if (a->u.store.buffer != b->u.store.buffer || s->stride != o->stride || s->lanes != o->lanes ||
        tn_loads_from(b->u.store.value, b->u.store.buffer))
        return false;
    tn_dtype it = o->base->dtype;
    const tn_expr *by =
        tn_add(p, tn_int(p, it, row), tn_mul(p, o->stride, tn_int(p, it, tile * (int64_t)o->lanes)));
    return is_apart(p, o->base, s->base, by);
}

/* Scatters that may be rows and tiles, as far as what they store goes, from s[0] on. */
static void find_rows(tiles *t)
{
    scatter *s = t->s;
    tn_stmt *next = s[0].at->next;
    t->rows = t->across = 1;
    while (t->across < MAX_ACROSS && read_scatter(t->f, next, &s[t->across]) &&
           belongs(t, &s[t->across], 0, t->across)) {
        t->across++;
        next = next->next;
    }
    for (; t->rows < TN_MAX_ROWS; t->rows++) {
        scatter *row = &s[t->rows * t->across];
        for (int k = 0; k < t->across; k++) {
            if (!read_scatter(t->f, next, &row[k]) || !belongs(t, &row[k], t->rows, k))
                return;
            next = next->next;
        }
    }
}

/* The tiles that begin with the scatter s[0]; false: there are not two rows. */
static bool find_tiles(tiles *t)
{
    terms x;
    find_rows(t);
    for (int k = 0; k < t->across; k++)
        t->guard[k] = guard_of(t, k);
    for (int row = 1; row < t->rows; row++) {
        for (int k = 0; k < t->across && row < t->rows; k++) {
            terms_of(&t->s[row * t->across + k], &x);
            if (!fits(t->f->pool, &t->guard[k], row, x))
                t->rows = row;
        }
    }
    return t->rows > 1;
}

/* ---- stores ---- */

/* What a condition by lane is in lane l. */
static const tn_expr *in_lane(tn_pool *p, const tn_expr *e, int l)
{
    const tn_expr *src[3];
    uint8_t at = (uint8_t)l;
    if (e->kind == TN_E_SPLAT)
        return e->src[0];
    if (e->kind == TN_E_RAMP)
        return tn_add(p, e->src[0], tn_mul(p, e->src[1], tn_int(p, e->src[1]->dtype, l)));
    bool plain = e->kind >= TN_E_ADD && e->kind <= TN_E_SELECT && e->nsrc <= 3;
    if (!plain)
        return tn_shuffle(p, e, NULL, 1, &at);
    for (int i = 0; i < e->nsrc; i++)
        src[i] = in_lane(p, e->src[i], l);
    return tn_simplify(p, NULL, tn_rebuild(p, e, src));
}

/* The mask of a column over rows row .. row + width, of which `rows` are there; NULL: none. What is the same in all of
 * them is left to `whole`: a store that is masked as a whole, at memory that no buffer has, takes about 70 cycles
 * (measured on Zen 4). */
static const tn_expr *column_mask(const tiles *t, int tile, int row, int rows, int width,
                                  const tn_expr **whole)
{
    tn_pool *p = t->f->pool;
    const guard *g = &t->guard[tile];
    const tn_expr *mask = NULL, *one = tn_idx(p, 1);
    uint16_t w = (uint16_t)width;
    if (rows < width)
        mask = tn_lt(p, tn_ramp(p, tn_idx(p, 0), one, w), tn_splat(p, tn_idx(p, rows), w));
    for (int i = 0; i < g->first.n_same; i++) {
        const tn_expr *e = g->first.same[i];
        if (!g->counts[i]) {
            *whole = tn_and(p, *whole, e);
            continue;
        }
        const tn_expr *x = tn_simplify(p, NULL, tn_add(p, e->src[0], tn_int(p, e->src[0]->dtype, row)));
        mask =
            tn_both(p, mask, tn_lt(p, tn_ramp(p, x, tn_int(p, x->dtype, 1), w), tn_splat(p, e->src[1], w)));
    }
    int always = g->late_from - row;
    if (g->late && always < rows) {
        if (always <= 0) {
            *whole = tn_and(p, *whole, g->late);
            return mask;
        }
        const tn_expr *early = tn_lt(p, tn_ramp(p, tn_idx(p, 0), one, w), tn_splat(p, tn_idx(p, always), w));
        mask = tn_both(p, mask, tn_bin(p, TN_E_OR, tn_splat(p, g->late, w), early));
    }
    return mask;
}

static void store_columns(const tiles *t, int tile, int row, int rows, const tn_columns *c,
                          const tn_expr *const cond[])
{
    tn_pool *p = t->f->pool;
    const scatter *s = &t->s[row * t->across + tile];
    tn_dtype it = s->base->dtype;
    for (int l = s->lanes - 1; l >= 0; l--) {
        if (tn_is_value(cond[l], 0))
            continue;
        const tn_expr *at = tn_add(p, s->base, tn_mul(p, s->stride, tn_int(p, it, l)));
        at = tn_simplify(p, NULL, at);
        const tn_expr *whole = cond[l], *mask = column_mask(t, tile, row, rows, c->width, &whole);
        tn_stmt *store = tn_stmt_store(t->f, s->store->u.store.buffer, 1, &at, tn_column(c, l), mask);
        if (!tn_is_value(whole, 1)) {
            tn_stmt *i = tn_stmt_if(t->f, whole);
            tn_body_append(&i->u.cond.then, store);
            store = i;
        }
        tn_body_insert(c->before->list, c->before, store);
    }
}

/* Registers may be read at any time. */
static bool is_memory(const tn_func *f, const tn_expr *load, void *user)
{
    (void)user;
    return f->buffer[load->u.load.buffer].scope != TN_SCOPE_REGISTER;
}

/* Rows row .. row + rows of one tile as columns. */
static void put(const tiles *t, int tile, int row, int rows, int width, tn_stmt *before)
{
    tn_pool *p = t->f->pool;
    int lanes = t->s[0].lanes;
    const terms *first = &t->guard[tile].first;
    const tn_expr *cond[TN_MAX_ROWS], *value[TN_MAX_ROWS];
    bool stored[TN_MAX_ROWS], any = false;
    for (int l = 0; l < lanes; l++) {
        cond[l] = tn_bool(p, true);
        for (int i = 0; i < first->n_lane; i++)
            cond[l] = tn_and(p, cond[l], in_lane(p, first->lane[i], l));
        cond[l] = tn_simplify(p, NULL, cond[l]);
        stored[l] = !tn_is_value(cond[l], 0);
        any |= stored[l];
    }
    if (!any)
        return;
    for (int r = 0; r < rows; r++) {
        const scatter *s = &t->s[(row + r) * t->across + tile];
        value[r] = s->store->u.store.value;
        if (s->at != s->store)
            value[r] = tn_mask_loads(t->f, value[r], s->at->u.cond.cond, is_memory, NULL);
    }
    tn_columns c = {.f = t->f, .before = before, .width = width};
    tn_columns_of(&c, rows, value, stored);
    store_columns(t, tile, row, rows, &c, cond);
}

/* Replaces the tiles that begin at s; *next is the statement after them. false: none do. */
static bool replace(tn_func *f, tn_stmt *s, tiles *t, tn_stmt **next)
{
    *t = (tiles){.f = f};
    const scatter *first = &t->s[0];
    if (!read_scatter(f, s, &t->s[0]) ||
        tn_loads_from(first->store->u.store.value, first->store->u.store.buffer) || !find_tiles(t) ||
        !is_true(f, s, tn_lt(f->pool, tn_int(f->pool, t->s[0].stride->dtype, 0), t->s[0].stride)))
        return false;
    int lanes = t->s[0].lanes, done = 0;
    while (t->rows - done > 1) {
        int rows = t->rows - done < lanes ? t->rows - done : lanes, width = 2;
        while (width < rows)
            width *= 2;
        for (int k = t->across - 1; k >= 0; k--)
            put(t, k, done, rows, width, s);
        done += rows;
    }
    *next = t->s[t->rows * t->across - 1].at->next;
    for (int i = 0; i < done * t->across; i++)
        tn_stmt_remove(t->s[i].at);
    return true;
}

static void transpose_list(tn_func *f, tn_body *b, tiles *t, int depth)
{
    TN_ASSERT(depth < 512);
    tn_stmt *next;
    for (tn_stmt *s = b->first; s; s = next) {
        tn_body *in[2];
        int n = tn_stmt_bodies(s, in);
        next = s->next;
        if ((s->kind == TN_S_STORE || s->kind == TN_S_IF) && replace(f, s, t, &next))
            continue;
        for (int i = 0; i < n; i++)
            transpose_list(f, in[i], t, depth + 1);
    }
}

tn_status tn_lower_transpose(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    transpose_list(f, &f->body, TN_NEW(f->arena, tiles), 0);
    return TN_OK;
}
