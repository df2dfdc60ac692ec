/* What a block computes, told from how it reads memory, whatever it is called and whoever wrote it:
 *
 *   product      y[.., i, j] += x[.., k] * w[j, k]     one reduction; the last axis indexes one operand alone
 *   convolution  y[n, c, h, w] += x[n, ., h + p, w + q] * f[c, r, p, q]
 *   window       y[n, c, h, w] op= x[n, c, h + p, w + q], or times f[c, ., p, q]
 *
 * where an index such as h + p stands for anything that the axes h and p, and no other, are in.
 */
#include "schedule/rules/derive.h"

enum { N, C, H, W, IMAGE };

typedef struct {
    int64_t target;
    const tn_expr *load; /* the only one, or NULL */
    int n;
} reads;

static bool count_load(const tn_expr *e, void *user)
{
    reads *r = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer != r->target) {
        r->load = e;
        r->n++;
    }
    return true;
}

/* The only load in e; NULL: none, or several. */
static const tn_expr *only_load(const tn_stmt *block, const tn_expr *e)
{
    reads r = {tn_block_target(block), NULL, 0};
    (void)tn_each(e, count_load, &r);
    return r.n == 1 ? r.load : NULL;
}

/* What the block adds to its accumulator in each turn, or combines with it; NULL: it is no update. */
static const tn_expr *term_of(const tn_stmt *block)
{
    int own = rule_reduces(block) ? tn_update_operand(block) : -1;
    return own < 0 ? NULL : block->u.block.body.first->u.store.value->src[1 - own];
}

/* The two operands of a sum of products, one load in each. */
static bool find_factors(const tn_stmt *block, const tn_expr *out[2])
{
    const tn_expr *e = term_of(block);
    while (e && e->kind == TN_E_CAST)
        e = e->src[0];
    if (!e || e->kind != TN_E_MUL || block->u.block.body.first->u.store.value->kind != TN_E_ADD)
        return false;
    for (int i = 0; i < 2; i++)
        out[i] = only_load(block, e->src[i]);
    return out[0] && out[1];
}

static const tn_expr *axis(const tn_stmt *block, int i) { return block->u.block.iter[i].var; }

/* An axis of one element is in no index. */
static bool is_one(const tn_stmt *block, int i) { return tn_is_value(block->u.block.iter[i].extent, 1); }

static bool uses(const tn_stmt *block, const tn_expr *e, int i)
{
    return is_one(block, i) || tn_uses(e, axis(block, i));
}

static bool is_axis(const tn_stmt *block, const tn_expr *e, int i)
{
    return e == axis(block, i) || (is_one(block, i) && tn_is_value(e, 0));
}

/* Is it one of the indices by itself? */
static bool indexes_alone(const tn_expr *load, const tn_expr *var)
{
    for (uint32_t d = 0; d < load->u.load.n_index; d++)
        if (load->src[d] == var)
            return true;
    return false;
}

static bool is_product(const tn_stmt *block)
{
    int n = rule_n_spatial(block);
    const tn_expr *x[2];
    if (n < 1 || (int)block->u.block.n_iter != n + 1 || !find_factors(block, x))
        return false;
    const tn_expr *column = axis(block, n - 1);
    int weight = tn_uses(x[0], column) ? 0 : 1;
    return indexes_alone(x[weight], column) && !tn_uses(x[1 - weight], column) && uses(block, x[0], n) &&
           uses(block, x[1], n);
}

/* Is an axis of the window in the index, and no other but one of the image? */
static bool slides(const tn_stmt *block, const tn_expr *index, int along, int tap)
{
    for (int i = 0; i < (int)block->u.block.n_iter; i++)
        if (i != along && i != tap && tn_uses(index, axis(block, i)))
            return false;
    return uses(block, index, tap);
}

/* Data of which a window is read: the last two iterations are its taps. */
static bool is_data(const tn_stmt *block, const tn_expr *load)
{
    int taps = (int)block->u.block.n_iter - 2;
    return load->u.load.n_index == IMAGE && is_axis(block, load->src[N], N) &&
           slides(block, load->src[H], H, taps) && slides(block, load->src[W], W, taps + 1);
}

static bool is_filter(const tn_stmt *block, const tn_expr *load)
{
    int n = (int)block->u.block.n_iter;
    return load->u.load.n_index == IMAGE && is_axis(block, load->src[N], C) &&
           is_axis(block, load->src[H], n - 2) && is_axis(block, load->src[W], n - 1);
}

enum rule_pattern rule_pattern(const tn_stmt *block)
{
    const tn_expr *x[2], *term = term_of(block);
    if (!term)
        return RULE_OTHER;
    if (is_product(block))
        return RULE_PRODUCT;
    int taps = (int)block->u.block.n_iter - IMAGE;
    if (rule_n_spatial(block) != IMAGE || taps < 2 || taps > 3)
        return RULE_OTHER;
    if (find_factors(block, x)) {
        int data = is_filter(block, x[1]) ? 0 : 1;
        if (!is_data(block, x[data]) || !is_filter(block, x[1 - data]))
            return RULE_OTHER;
        return taps == 3 ? RULE_CONVOLUTION : RULE_WEIGHTED_WINDOW;
    }
    const tn_expr *load = only_load(block, term);
    return taps == 2 && load && is_data(block, load) && is_axis(block, load->src[C], C) ? RULE_WINDOW
                                                                                        : RULE_OTHER;
}

tn_stmt *rule_only(const tn_func *f, unsigned patterns)
{
    tn_stmt *b[RULE_MAX_BLOCKS], *found = NULL;
    int n = rule_blocks(f, b);
    for (int i = 0; i < n; i++) {
        if (!(patterns >> rule_pattern(b[i]) & 1))
            continue;
        if (found)
            return NULL;
        found = b[i];
    }
    return found;
}

/* ---- quotients ---- */

enum { MAX_PERIOD = 1024, MAX_DEPTH = 8 };

typedef struct {
    const tn_expr *var;
    int64_t period;
} period;

static bool find_period(const tn_expr *e, void *user)
{
    period *q = user;
    int64_t by;
    if ((e->kind != TN_E_FLOORDIV && e->kind != TN_E_FLOORMOD) || !tn_uses(e->src[0], q->var))
        return true;
    /* (i / 32) % 2 is that of i within 64 */
    const tn_expr *inner = e->src[0];
    int64_t within;
    if (!tn_is_int(e->src[1], &by) || by < 1)
        return true;
    if (inner->kind == TN_E_FLOORDIV && tn_is_int(inner->src[1], &within) && within > 0 && by <= MAX_PERIOD &&
        within <= MAX_PERIOD)
        by *= within;
    q->period = by > MAX_PERIOD ? 0 : q->period / tn_gcd(q->period, by) * by;
    q->period = q->period > MAX_PERIOD ? 0 : q->period;
    return q->period > 0;
}

int64_t rule_period(const tn_expr *e, const tn_expr *var)
{
    period q = {var, 1};
    (void)tn_each(e, find_period, &q);
    return q.period;
}

/* Is e the same for all of so many neighbours along var? */
static bool stays(const tn_expr *e, const tn_expr *var, int64_t lanes, int depth)
{
    int64_t by;
    if (!tn_uses(e, var))
        return true;
    if (e->kind == TN_E_FLOORDIV && e->src[0] == var && tn_is_int(e->src[1], &by) && by % lanes == 0)
        return true;
    bool all = e != var && depth < MAX_DEPTH;
    for (int i = 0; i < e->nsrc && all; i++)
        all = stays(e->src[i], var, lanes, depth + 1);
    return all;
}

/* Does e grow by one from each of so many neighbours to the next? */
static bool counts(const tn_func *f, const tn_expr *e, const tn_expr *var, int64_t lanes)
{
    int64_t by;
    if (e->kind == TN_E_FLOORMOD && e->src[0] == var)
        return tn_is_int(e->src[1], &by) && by % lanes == 0;
    return rule_steps_by_one(f, e, var);
}

typedef struct {
    const tn_func *f;
    const tn_expr *var;
    int64_t lanes;
} runs;

static bool is_run(const tn_expr *load, void *user)
{
    const runs *r = user;
    if (load->kind != TN_E_LOAD || !tn_uses(load, r->var))
        return true;
    const tn_buffer *b = &r->f->buffer[load->u.load.buffer];
    int inner = b->ndim ? rule_innermost_dim(b) : 0;
    bool all = b->ndim > 0 && !b->layout && counts(r->f, load->src[inner], r->var, r->lanes);
    for (int d = 0; d < (int)b->ndim; d++)
        all = all && (d == inner || stays(load->src[d], r->var, r->lanes, 0));
    return all;
}

bool rule_loads_runs(const tn_func *f, const tn_expr *e, const tn_expr *var, int64_t lanes)
{
    runs r = {f, var, lanes};
    return tn_each(e, is_run, &r);
}
