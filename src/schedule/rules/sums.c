/* Rule sums: sums over blocks of products of matrices, each times a factor of its block, as products with weights that
 * have a scale for each block of the reduction:
 *
 *   part[i, b, j] = sum over k of x[i, b, k]*w[b, k, j]      y[i, j] = sum over b of part[i, b, j]*scale[b, j] + ...
 *
 * A tile of rows x vectors of y stays in registers through the loop over b, and the parts that a turn of it reads are
 * summed there, in registers too, but for those that have no columns, whose lanes run along the reduction. */
#include "schedule/rules/derive.h"

enum {
    MAX_PARTS = 4,
    MAX_ROWS = 6,      /* in one tile; */
    MORE_ROWS = 4,     /* of a tile where there are more, or only the run knows how many */
    SHORT_EPILOGUE = 4 /* instructions */
};

typedef struct {
    tn_stmt *block;
    int column; /* the iteration that walks the columns, the last dimension of the part; -1: none */
} part;

typedef struct {
    tn_stmt *block; /* the outer sum */
    int n, row; /* its spatial iterations, the last of which are the columns; that of the rows, -1: none */
    int64_t rows, columns; /* -1: symbolic */
    int64_t period;        /* of quotients of columns */
    uint16_t lanes;
    int n_part;
    part part[MAX_PARTS];
} sums;

/* ---- the pattern ---- */

static const tn_expr *axis(const tn_stmt *b, int i) { return b->u.block.iter[i].var; }

/* What a block adds to its sum; NULL: it is no sum. */
static const tn_expr *term_of(const tn_stmt *b)
{
    int own = rule_reduces(b) ? tn_update_operand(b) : -1;
    const tn_expr *v = own < 0 ? NULL : b->u.block.body.first->u.store.value;
    return v && v->kind == TN_E_ADD ? v->src[1 - own] : NULL;
}

typedef struct {
    const tn_stmt *outer;
    uint32_t buffer;
    const tn_expr *load; /* the only one */
    bool ok;
} read_search;

static bool look_at_read(const tn_expr *e, void *user)
{
    read_search *s = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != s->buffer)
        return true;
    s->ok &= !s->load && e->nsrc == e->u.load.n_index;
    for (uint32_t d = 0; d < e->u.load.n_index && s->ok; d++)
        s->ok = tn_own_iteration(s->outer, e->src[d]) >= 0 || tn_is_value(e->src[d], 0);
    s->load = e;
    return s->ok;
}

/* Is b a sum that only the outer sum reads, an element for each of its turns? Its columns are the outer
 * sum's, or none. */
static bool is_part(tn_func *f, const sums *x, tn_stmt *b, part *out)
{
    const tn_expr *term = term_of(b);
    tn_stmt *reader[2];
    int64_t target = tn_block_target(b);
    if (!term || !rule_plain_nest(b) || target < 0 || f->buffer[target].param >= 0 ||
        tn_blocks_accessing(&f->body, (uint32_t)target, false, 2, reader) != 2)
        return false; /* itself and the outer sum */
    read_search s = {x->block, (uint32_t)target, NULL, true};
    (void)tn_each(term_of(x->block), look_at_read, &s);
    const tn_expr *turn = axis(x->block, x->n), *column = axis(x->block, x->n - 1);
    bool turns = !tn_is_value(x->block->u.block.iter[x->n].extent, 1);
    if (!s.ok || !s.load || (turns && !tn_uses(s.load, turn)))
        return false;
    *out = (part){b, -1};
    for (uint32_t d = 0; d < s.load->u.load.n_index; d++)
        if (s.load->src[d] == column) {
            if (d + 1 < s.load->u.load.n_index)
                return false;
            out->column = tn_own_iteration(b, b->u.block.body.first->u.store.index[d]);
            return out->column >= 0 && rule_loads_runs(f, term, axis(b, out->column), x->lanes);
        }
    return true;
}

/* Is the part a product, one factor of which all columns share? */
static bool shares_factor(const part *x)
{
    const tn_expr *term = term_of(x->block), *column = axis(x->block, x->column);
    return term->kind == TN_E_MUL && tn_uses(term->src[0], column) != tn_uses(term->src[1], column) &&
           term->src[0]->has_load && term->src[1]->has_load;
}

static bool read_outer(const tn_func *f, const tn_machine *m, sums *x)
{
    tn_stmt *b = x->block;
    const tn_expr *term = term_of(b);
    x->n = rule_n_spatial(b);
    x->row = x->n - 2;
    if (!term || !rule_plain_nest(b) || b->u.block.mask || x->n < 1 || (int)b->u.block.n_iter != x->n + 1)
        return false;
    x->lanes = rule_lanes(m, rule_target(f, b)->dtype);
    x->columns = rule_extent(b->u.block.iter[x->n - 1].extent);
    x->rows = x->row < 0 ? 1 : rule_extent(b->u.block.iter[x->row].extent);
    return x->lanes > 1 && rule_loads_runs(f, term, axis(b, x->n - 1), x->lanes);
}

/* The last reduction and those before it. */
static bool read_sums(const tn_func *f, const tn_machine *m, sums *x)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(f, b), last = n - 1;
    *x = (sums){.n_part = 0};
    while (last > 0 && !rule_reduces(b[last]))
        last--;
    if (last < 1 || last > MAX_PARTS)
        return false;
    x->block = b[last];
    if (!read_outer(f, m, x))
        return false;
    x->period = rule_period(term_of(x->block), axis(x->block, x->n - 1));
    bool multiplies = false;
    for (int i = 0; i < last; i++) {
        part *p = &x->part[x->n_part++];
        if (!is_part((tn_func *)f, x, b[i], p))
            return false;
        if (p->column < 0)
            continue;
        int64_t q = rule_period(term_of(p->block), axis(p->block, p->column));
        x->period = q && x->period ? q / tn_gcd(q, x->period) * x->period : 0;
        multiplies |= shares_factor(p);
    }
    return multiplies && x->period > 0;
}

bool rule_sums_matches(const tn_func *f, const tn_machine *m)
{
    sums x;
    return read_sums(f, m, &x);
}

/* ---- the tile ---- */

/* Sums of parts stay in registers through a turn, and a row of vectors that several rows share; sums of the
 * outer sum may lie in memory meanwhile. */
static bool fits(const derive *d, const sums *x, int64_t rows, int64_t nv)
{
    int wide = 0;
    for (int i = 0; i < x->n_part; i++)
        wide += x->part[i].column >= 0;
    return rows * nv * wide + (rows > 1 ? nv : 1) + 1 < (int64_t)d->m->n_vector_regs;
}

static bool suits_columns(const sums *x, int64_t nv)
{
    int64_t width = nv * x->lanes;
    return x->period % width == 0 || width % x->period == 0;
}

static int64_t pick_rows(derive *d, const sums *x)
{
    int64_t first = x->rows > 0 && x->rows <= MAX_ROWS ? x->rows : MORE_ROWS, candidate[MAX_CANDIDATES];
    while (first > 1 && !fits(d, x, first, 1))
        first--;
    int n = dv_add_candidate(0, candidate, first);
    for (int64_t r = 1; r <= 2 * MAX_ROWS && (x->rows < 0 || r <= x->rows); r++)
        if (fits(d, x, r, 1))
            n = dv_add_candidate(n, candidate, r);
    return dv_pick(d, x->block->u.block.name, "rows", n, candidate);
}

/* As many vectors as registers hold, of no more columns than there are, nor than quotients take to begin anew. */
static int64_t pick_vectors(derive *d, const sums *x, int64_t rows)
{
    int64_t first = 1, candidate[MAX_CANDIDATES];
    for (int64_t nv = 2; nv <= RULE_MAX_NV && fits(d, x, rows, nv); nv *= 2)
        if (suits_columns(x, nv) && (x->period == 1 || nv * x->lanes <= x->period) &&
            (x->columns < 0 || (nv - 1) * x->lanes < x->columns))
            first = nv;
    int n = dv_add_candidate(0, candidate, first);
    for (int64_t nv = 1; nv <= RULE_MAX_NV && fits(d, x, rows, nv); nv++)
        if (suits_columns(x, nv))
            n = dv_add_candidate(n, candidate, nv);
    return dv_pick(d, x->block->u.block.name, "vectors", n, candidate);
}

/* Vectors that lie beside each other are one of several registers: code generators then put its loads first
 * (measured on Zen 4: 3 rows by 1024 x 1024 bytes take 68.7 us, 70.9 with vectors of one register). Returns
 * how many there are then. There must be registers for all of them, and what is computed of them must not
 * take long, as it holds as many of each value. */
static int64_t join_vectors(const derive *d, sums *x, const epilogue *e, int64_t rows, int64_t nv)
{
    tn_func *f = d->s->func;
    bool runs = rule_tile_fits(d->m, (int)rows, (int)nv);
    for (int k = 0; k < e->n; k++)
        runs &= rule_instructions(d->m, tn_func_block(f, e->block[k]), x->lanes) <= SHORT_EPILOGUE;
    while (runs && nv % 2 == 0) {
        uint16_t lanes = (uint16_t)(2 * x->lanes);
        runs = rule_loads_runs(f, term_of(x->block), axis(x->block, x->n - 1), lanes);
        for (int i = 0; i < x->n_part; i++)
            if (x->part[i].column >= 0)
                runs &= rule_loads_runs(f, term_of(x->part[i].block),
                                        axis(x->part[i].block, x->part[i].column), lanes);
        if (runs) {
            x->lanes = lanes;
            nv /= 2;
        }
    }
    return nv;
}

/* ---- steps ---- */

/* The loops of the outer sum: tiles as tasks, the turns, the tile. */
static void cut_outer(derive *d, const sums *x, int64_t rows, int64_t nv)
{
    const char *name[TN_MAX_LOOPS], *batch = "";
    for (int i = 0; i < x->n; i++) {
        name[i] = i == x->n - 1 ? "j" : i == x->row ? "i" : dv_text(d, "b%d", i);
        batch = i < x->row ? dv_text(d, "%s%s ", batch, name[i]) : batch;
    }
    name[x->n] = "turn";
    dv_loops(d, x->block->u.block.name, name, x->n + 1);
    if (x->row >= 0)
        dv_do(d, "io ii = split i %lld%s", (long long)rows, dv_tail(x->rows, rows));
    dv_do(d, "jo jv jx = split j %lld %d%s", (long long)nv, x->lanes, dv_tail(x->columns, nv * x->lanes));
    dv_do(d, "reorder %sjo%s turn%s jv jx", batch, x->row >= 0 ? " io" : "", x->row >= 0 ? " ii" : "");
    dv_do(d, "task = fuse %sjo%s", batch, x->row >= 0 ? " io" : "");
}

/* A block below n_around loops, the last of whose own is lanes, or where it is not cut yet, columns. All others are
 * unrolled. */
static void spread(derive *d, const sums *x, const char *block, const char *prefix, int n_around, bool cut)
{
    int n = dv_ok(d) ? tn_sched_n_loops(d->s, block) - n_around : 0;
    const char *names = "", *rows = "", *lanes = dv_text(d, "%s%d", prefix, n - 1);
    if (n < 1) {
        dv_refuse(d, TN_REJECT_NEST);
        return;
    }
    for (int i = 0; i < n; i++) {
        names = dv_text(d, "%s%s%d ", names, prefix, i);
        rows = i < n - 1 ? dv_text(d, "%s %s%d", rows, prefix, i) : rows;
    }
    dv_do(d, "%s%s= loops \"%s\"", dv_blanks(d, n_around), names, block);
    if (!cut) {
        dv_do(d, "%sv %sx = split %s %d", prefix, prefix, lanes, x->lanes);
        rows = dv_text(d, "%s %sv", rows, prefix);
        lanes = dv_text(d, "%sx", prefix);
    }
    dv_do(d, "vectorize %s", lanes);
    dv_do(d, "unroll%s", rows);
}

/* The loops of a part in its turn, named by the prefix and their number; its reductions, outermost, and what
 * they are. */
typedef struct {
    const char *names, *sums, *rows, *first;
    int64_t depth; /* of the last reduction */
    const char *last;
} loops;

static loops name_loops(derive *d, const part *p, const char *prefix)
{
    loops l = {"", "", "", NULL, -1, NULL};
    const tn_stmt *b = dv_ok(d) ? tn_func_block(d->s->func, p->block->u.block.name) : NULL;
    for (int i = 0; b && i < (int)b->u.block.n_iter; i++) {
        const char *own = dv_text(d, "%s%d", prefix, i);
        l.names = dv_text(d, "%s %s", l.names, own);
        if (b->u.block.iter[i].kind == TN_ITER_REDUCE) {
            l.sums = dv_text(d, "%s %s", l.sums, own);
            l.first = l.first ? l.first : own;
            l.last = own;
            l.depth = rule_extent(b->u.block.iter[i].extent);
        } else if (i != p->column) {
            l.rows = dv_text(d, "%s %s", l.rows, own);
        }
    }
    return l;
}

/* A part with columns: vectors of it, summed in registers. */
static void sum_columns(derive *d, const sums *x, const part *p, const char *name, const char *prefix)
{
    loops l = name_loops(d, p, prefix);
    dv_do(d, "_ _%s = loops \"%s\"", l.names, name);
    dv_do(d, "%sv %sx = split %s%d %d", prefix, prefix, prefix, p->column, x->lanes);
    dv_do(d, "reorder%s%s %sv %sx", l.sums, l.rows, prefix, prefix);
    dv_do(d, "decompose_reduction \"%s\" %s", name, l.first);
    spread(d, x, dv_text(d, "%s.init", name), dv_text(d, "%sz", prefix), 2, true);
    dv_do(d, "vectorize %sx", prefix);
    dv_do(d, "unroll%s %sv", l.rows, prefix);
}

/* One without: lanes along its last reduction are added up. */
static void sum_lanes(derive *d, const sums *x, const part *p, const char *name, const char *prefix)
{
    loops l = name_loops(d, p, prefix);
    int64_t lanes = x->lanes;
    dv_do(d, "_ _%s = loops \"%s\"", l.names, name);
    while (lanes > 1 && (l.depth < 1 || l.depth % lanes != 0))
        lanes /= 2;
    const tn_expr *mask = p->block->u.block.mask;
    bool whole = lanes > 1 && !mask && !d->s->func->strict;
    if (*l.rows)
        dv_do(d, "reorder%s%s", l.rows, l.sums);
    if (whole)
        dv_do(d, "%so %sx = split %s %lld", prefix, prefix, l.last, (long long)lanes);
    bool one = l.first == l.last;
    dv_do(d, "decompose_reduction \"%s\" %s%s", name, whole && one ? prefix : l.first,
          whole && one ? "o" : "");
    if (whole)
        (void)dv_try(d, "vectorize %sx", prefix);
    if (*l.rows)
        dv_do(d, "unroll%s", l.rows);
}

tn_verdict rule_sums(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    sums x;
    if (!read_sums(s->func, m, &x))
        return TN_REJECT_NEST;
    const char *block = x.block->u.block.name;
    int64_t rows = x.row < 0 ? 1 : pick_rows(&d, &x), nv = pick_vectors(&d, &x, rows);
    dv_comment(&d, "rule sums: %d rows x %d vectors of %d, of parts that are summed in each turn", (int)rows,
               (int)nv, x.lanes);
    epilogue e = rule_epilogue(&d, block);
    if (dv_ok(&d))
        nv = join_vectors(&d, &x, &e, rows, nv);
    cut_outer(&d, &x, rows, nv);
    for (int k = 0; k < e.n; k++)
        dv_do(&d, "reverse_compute_at \"%s\" task", e.block[k]);
    for (int i = x.n_part - 1; i >= 0; i--)
        dv_do(&d, "compute_at \"%s\" turn", x.part[i].block->u.block.name);
    for (int i = 0; i < x.n_part && dv_ok(&d); i++) {
        const char *name = x.part[i].block->u.block.name, *prefix = dv_text(&d, "p%d_", i);
        if (x.part[i].column >= 0)
            sum_columns(&d, &x, &x.part[i], name, prefix);
        else
            sum_lanes(&d, &x, &x.part[i], name, prefix);
        dv_do(&d, "set_scope \"%s\" register", name);
    }
    for (int k = 0; k < e.n; k++)
        spread(&d, &x, e.block[k], dv_text(&d, "o%d_", k), 1, false);
    dv_do(&d, "decompose_reduction \"%s\" turn", block);
    spread(&d, &x, dv_text(&d, "%s.init", block), "z", 1, true);
    dv_do(&d, "set_scope \"%s\" register", block);
    dv_do(&d, "vectorize jx");
    dv_do(&d, x.row >= 0 ? "unroll ii jv" : "unroll jv");
    dv_do(&d, "parallel task");
    return d.v;
}
