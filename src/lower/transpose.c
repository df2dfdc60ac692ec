/* TransposeTiles: vectors that are scattered with one stride, each an element further than the one before, are the rows
 * of a tile whose columns are contiguous in memory:
 *
 *   y[ramp(at, s, 16)]      = row 0            row r stored to y[at + r], y[at + s + r], y[at + 2*s + r] ...
 *   y[ramp(at + 1, s, 16)]  = row 1     ->     column l stored to y[at + l*s : 16]
 *   ...
 *
 * So are results whose channels are lanes and whose pixels lie beside each other. Columns are made of rows by shuffles:
 * elements are numbered row by row (row number the high bits, lane the low ones), and to take the even ones of all
 * vectors and then the odd ones rotates the bits of the number by one. log2(lanes) times that is the transposition
 * (Stone 1971, the perfect shuffle), with one shuffle a vector each time. Lanes that no row stores are left out first.
 *
 * Rows that are no power of two in number are filled up, and a mask keeps the rest from memory. Where elements of the
 * tile overlap (a stride below the number of rows), the one stored last stays the last: with s > 0 it is that of the
 * lowest lane, so columns are stored from the last to the first.
 */
#include "lower/lower_impl.h"

enum { MAX_ROWS = 64, MAX_ACROSS = 8, MAX_ROUNDS = 6 };

/* A store of the list, or what stands alone under its condition. */
typedef struct { tn_stmt *at, *store; const tn_expr *base, *stride; uint16_t lanes; } scatter;

/* What keeps a row from memory: terms that are the same in all lanes, scalar, and terms by lane. */
typedef struct { int n_same, n_lane; const tn_expr *same[TN_MAX_TERMS], *lane[TN_MAX_TERMS]; } guard;

typedef struct {
    tn_func *f;
    scatter s[MAX_ROWS * MAX_ACROSS];          /* row after row */
    int rows, across;                          /* tiles beside each other: their lanes go on */
    guard first[MAX_ACROSS];
    bool counts[MAX_ACROSS][TN_MAX_TERMS];        /* this term of the guard is `x + row < bound` */
    const tn_expr *late[MAX_ACROSS];           /* one more term from row late_from on; NULL: none */
    int late_from[MAX_ACROSS];
} tiles;

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
    return !tn_is_value(out->stride, 1) && (out->lanes & (out->lanes - 1)) == 0;
}

static bool is_apart(tn_pool *p, const tn_expr *a, const tn_expr *b, const tn_expr *by)
{
    return tn_is_value(tn_simplify(p, NULL, tn_sub(p, tn_sub(p, b, a), by)), 0);
}


/* false: too many terms */
static bool guard_of(const scatter *s, guard *out)
{
    const tn_expr *term[TN_MAX_TERMS];
    const tn_expr *mask = s->store->u.store.mask;
    *out = (guard){0};
    if (s->at != s->store)
        out->n_same = tn_terms(s->at->u.cond.cond, out->same);
    int n = mask ? tn_terms(mask, term) : 0;
    if (n + out->n_same > TN_MAX_TERMS)
        return false;
    for (int i = 0; i < n; i++) {
        if (term[i]->kind == TN_E_SPLAT)
            out->same[out->n_same++] = term[i]->src[0];
        else
            out->lane[out->n_lane++] = term[i];
    }
    return true;
}

static bool is_true(tn_func *f, const tn_stmt *s, const tn_expr *cond)
{
    tn_facts facts;
    tn_stmt_facts(f, s, &facts);
    bool yes = tn_prove(f->pool, &facts, cond) == 1;
    tn_facts_deinit(&facts);
    return yes;
}

/* A bound on rows that the first one always keeps was dropped there: it is put back, before row 1 is compared. */
static void put_back(tiles *t, guard *first, const guard *second)
{
    tn_pool *p = t->f->pool;
    int i = 0;
    while (i < first->n_same && first->same[i] == second->same[i])
        i++;
    const tn_expr *e = second->same[i];
    if (second->n_same != first->n_same + 1 || e->kind != TN_E_LT)
        return;
    const tn_expr *x = tn_simplify(p, NULL, tn_sub(p, e->src[0], tn_int(p, e->src[0]->dtype, 1)));
    const tn_expr *term = tn_lt(p, x, e->src[1]);
    if (!is_true(t->f, t->s[0].at, term))
        return;
    for (int k = first->n_same++; k > i; k--)
        first->same[k] = first->same[k - 1];
    first->same[i] = term;
}

/* A term that the rows from this one on have, and those before do not need, is kept apart. */
static void take_late(tiles *t, int tile, int row, guard *g)
{
    int i = 0;
    const guard *first = &t->first[tile];
    while (i < first->n_same && (t->counts[tile][i] || first->same[i] == g->same[i]))
        i++;
    if (t->late[tile] ? t->late[tile] != g->same[i] : g->same[i]->has_load)
        return;
    if (!t->late[tile])
        t->late_from[tile] = row;
    t->late[tile] = g->same[i];
    for (g->n_same--; i < g->n_same; i++)
        g->same[i] = g->same[i + 1];
}

/* Is the guard of row `row` that of the first row, but for terms that count rows? */
static bool guard_fits(tiles *t, int tile, int row, const scatter *s)
{
    tn_pool *p = t->f->pool;
    guard g, *first = &t->first[tile];
    if (!guard_of(s, &g))
        return false;
    if (row == 1 && g.n_same == first->n_same + 1)
        put_back(t, first, &g);
    if (g.n_same == first->n_same + 1)
        take_late(t, tile, row, &g);
    else if (t->late[tile])
        return false;
    if (g.n_same != first->n_same || g.n_lane != first->n_lane)
        return false;
    for (int i = 0; i < g.n_lane; i++)
        if (g.lane[i] != first->lane[i])
            return false;
    for (int i = 0; i < g.n_same; i++) {
        const tn_expr *a = first->same[i], *b = g.same[i];
        if (a != b && row == 1)
            t->counts[tile][i] = true;
        if (!t->counts[tile][i] && a == b)
            continue;
        bool counts = t->counts[tile][i] && a->kind == TN_E_LT && b->kind == TN_E_LT && a->src[1] == b->src[1];
        if (!counts || !is_apart(p, a->src[0], b->src[0], tn_int(p, a->src[0]->dtype, row)))
            return false;
    }
    return true;
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
    const tn_expr *by = tn_add(p, tn_int(p, it, row), tn_mul(p, o->stride, tn_int(p, it, tile * (int64_t)o->lanes)));
    return is_apart(p, o->base, s->base, by);
}

/* The tiles that begin with the scatter s[0]; false: there are not two rows. */
static bool find_tiles(tiles *t)
{
    scatter *s = t->s;
    tn_stmt *next = s[0].at->next;
    t->rows = t->across = 1;
    if (!guard_of(&s[0], &t->first[0]) ||
        tn_loads_from(s[0].store->u.store.value, s[0].store->u.store.buffer))
        return false;
    while (t->across < MAX_ACROSS && read_scatter(t->f, next, &s[t->across]) &&
           belongs(t, &s[t->across], 0, t->across) && guard_of(&s[t->across], &t->first[t->across])) {
        t->across++;
        next = next->next;
    }
    for (; t->rows < MAX_ROWS; t->rows++) {
        scatter *row = &s[t->rows * t->across];
        for (int k = 0; k < t->across; k++) {
            if (!read_scatter(t->f, next, &row[k]) || !belongs(t, &row[k], t->rows, k) ||
                !guard_fits(t, k, t->rows, &row[k]))
                return t->rows > 1;
            next = next->next;
        }
    }
    return true;
}

/* ---- columns of rows ---- */

typedef struct {
    tn_func *f;
    tn_stmt *before;                        /* where statements go */
    int width, live, each;                  /* rows, powers of two; lanes of each that are stored; lanes of a vector */
    int n;                                  /* vectors */
    const tn_expr *v[MAX_ROWS];
    bool needed[MAX_ROUNDS + 1][MAX_ROWS];
} network;

static const tn_expr *named(network *w, const tn_expr *e)
{
    const tn_expr *var = tn_func_add_var(w->f, "tile", e->dtype);
    tn_body_insert(w->before->list, w->before, tn_stmt_let(w->f, var, e));
    return var;
}

/* Vectors of the live lanes of several rows each, as long as a row was. */
static void leave_out_lanes(network *w, int lanes)
{
    w->n = w->width;
    for (w->each = w->live; w->each < lanes && w->n > 1; w->each *= 2) {
        for (int i = 0; i < w->n / 2; i++) {
            uint8_t lane[TN_MAX_SHUFFLED];
            int from = w->v[2 * i]->dtype.lanes;
            for (int l = 0; l < 2 * w->each; l++)
                lane[l] = (uint8_t)(l < w->each ? l : from + l - w->each);
            w->v[i] = named(w, tn_shuffle(w->f->pool, w->v[2 * i], w->v[2 * i + 1], 2 * w->each, lane));
        }
        w->n /= 2;
    }
}

static int log2_of(int n)
{
    return __builtin_ctz((unsigned)n);
}

/* One vector holds it all. */
static void transpose_one(network *w)
{
    uint8_t lane[TN_MAX_SHUFFLED];
    for (int l = 0; l < w->live; l++)
        for (int r = 0; r < w->width; r++)
            lane[l * w->width + r] = (uint8_t)(r * w->live + l);
    w->v[0] = named(w, tn_shuffle(w->f->pool, w->v[0], NULL, w->live * w->width, lane));
}

/* Rows become columns; which lanes are stored says which vectors are made. */
static void transpose(network *w, const bool stored[])
{
    int rounds = log2_of(w->live), half = w->n / 2;
    if (w->n == 1) {
        transpose_one(w);
        return;
    }
    for (int l = 0; l < w->live; l++)
        w->needed[rounds][l * w->width / w->each] |= stored[l];
    for (int k = rounds; k-- > 0;)
        for (int i = 0; i < half; i++)
            w->needed[k][2 * i] = w->needed[k][2 * i + 1] = w->needed[k + 1][i] || w->needed[k + 1][i + half];
    for (int k = 1; k <= rounds; k++) {
        const tn_expr *old[MAX_ROWS], *made[MAX_ROWS];
        for (int i = 0; i < w->n; i++)
            old[i] = w->v[i];
        for (int i = 0; i < w->n; i++) {
            const tn_expr *a = old[2 * (i % half)], *b = old[2 * (i % half) + 1];
            made[i] = w->needed[k][i] ? tn_lanes(w->f->pool, a, b, i >= half, w->each, 2) : NULL;
            int same = 0; /* rows that fill up are all one */
            while (made[same] != made[i])
                same++;
            if (made[i])
                w->v[i] = same < i ? w->v[same] : named(w, made[i]);
        }
    }
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

/* The mask of a column over rows row .. row + width, of which `rows` are there. NULL: none. */
static const tn_expr *column_mask(const tiles *t, int tile, int row, int rows, int width, const tn_expr *in_lane)
{
    tn_pool *p = t->f->pool;
    const guard *g = &t->first[tile];
    const tn_expr *mask = NULL, *one = tn_idx(p, 1);
    uint16_t w = (uint16_t)width;
    if (rows < width)
        mask = tn_lt(p, tn_ramp(p, tn_idx(p, 0), one, w), tn_splat(p, tn_idx(p, rows), w));
    for (int i = 0; i < g->n_same; i++) {
        const tn_expr *e = g->same[i];
        if (!t->counts[tile][i]) {
            mask = tn_both(p, mask, tn_splat(p, e, w));
            continue;
        }
        const tn_expr *x = tn_simplify(p, NULL, tn_add(p, e->src[0], tn_int(p, e->src[0]->dtype, row)));
        mask = tn_both(p, mask, tn_lt(p, tn_ramp(p, x, tn_int(p, x->dtype, 1), w), tn_splat(p, e->src[1], w)));
    }
    int always = t->late_from[tile] - row;
    if (t->late[tile] && always < rows) {
        const tn_expr *late = tn_splat(p, t->late[tile], w);
        if (always > 0)
            late = tn_bin(p, TN_E_OR, late,
                          tn_lt(p, tn_ramp(p, tn_idx(p, 0), one, w), tn_splat(p, tn_idx(p, always), w)));
        mask = tn_both(p, mask, late);
    }
    return tn_is_value(in_lane, 1) ? mask : tn_both(p, mask, tn_splat(p, in_lane, w));
}

static void store_columns(const tiles *t, int tile, int row, int rows, const network *w, const tn_expr *const cond[])
{
    tn_pool *p = t->f->pool;
    const scatter *s = &t->s[row * t->across + tile];
    tn_dtype it = s->base->dtype;
    for (int l = w->live - 1; l >= 0; l--) {
        if (tn_is_value(cond[l], 0))
            continue;
        const tn_expr *at = tn_add(p, s->base, tn_mul(p, s->stride, tn_int(p, it, l)));
        const tn_expr *v = w->v[l * w->width / w->each];
        at = tn_simplify(p, NULL, at);
        v = tn_lanes(p, v, NULL, l * w->width % w->each, w->width, 1);
        const tn_expr *mask = column_mask(t, tile, row, rows, w->width, cond[l]);
        tn_body_insert(w->before->list, w->before,
                       tn_stmt_store(t->f, s->store->u.store.buffer, 1, &at, v, mask));
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
    int lanes = t->s[0].lanes, last = -1;
    const guard *g = &t->first[tile];
    const tn_expr *cond[64];
    bool stored[64];
    for (int l = 0; l < lanes; l++) {
        cond[l] = tn_bool(p, true);
        for (int i = 0; i < g->n_lane; i++)
            cond[l] = tn_and(p, cond[l], in_lane(p, g->lane[i], l));
        cond[l] = tn_simplify(p, NULL, cond[l]);
        stored[l] = !tn_is_value(cond[l], 0);
        last = stored[l] ? l : last;
    }
    if (last < 0)
        return;
    network w = {.f = t->f, .before = before, .width = width, .live = 1};
    while (w.live <= last)
        w.live *= 2;
    for (int r = 0; r < width; r++) {
        const scatter *s = &t->s[(row + r) * t->across + tile];
        if (r >= rows) {
            w.v[r] = w.v[r - 1];
            continue;
        }
        const tn_expr *v = s->store->u.store.value;
        if (s->at != s->store)
            v = tn_mask_loads(t->f, v, s->at->u.cond.cond, is_memory, NULL);
        w.v[r] = named(&w, v);
    }
    leave_out_lanes(&w, lanes);
    transpose(&w, stored);
    store_columns(t, tile, row, rows, &w, cond);
}

/* Replaces the tiles that begin at s; *next is the statement after them. false: none do. */
static bool replace(tn_func *f, tn_stmt *s, tiles *t, tn_stmt **next)
{
    *t = (tiles){.f = f};
    if (!read_scatter(f, s, &t->s[0]) || !find_tiles(t) ||
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

static void find(tn_func *f, tn_body *b, tiles *t, int depth)
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
            find(f, in[i], t, depth + 1);
    }
}

tn_status tn_lower_transpose(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    find(f, &f->body, TN_NEW(f->arena, tiles), 0);
    return TN_OK;
}
