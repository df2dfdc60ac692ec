/* Reads a block as a contraction (contraction.h): finds the factors of what it sums and how each moves along each axis.
 * Cost: linear in the block's expression for each axis. */
#include "schedule/rules/contraction.h"

enum { MAX_APART = 4 };

/* ---- factors ---- */

typedef struct {
    int64_t target;
    view *v;
    bool many; /* more loads than fit */
} load_search;

static bool note_load(const tn_expr *e, void *user)
{
    load_search *s = user;
    if (e->kind != TN_E_LOAD)
        return true;
    s->many |= e->u.load.buffer == s->target || s->v->n_load == CONTRACTION_LOADS;
    if (!s->many)
        s->v->load[s->v->n_load++] = e;
    return true;
}

/* Operations of a view, without those of indices. */
static int operations(const tn_expr *e, int depth)
{
    if (e->kind == TN_E_LOAD || e->nsrc == 0 || depth > 8)
        return 0;
    int n = 1;
    for (int i = 0; i < e->nsrc; i++)
        n += operations(e->src[i], depth + 1);
    return n;
}

static bool same_factor(const contraction *c, const tn_expr *e)
{
    for (int i = 0; i < c->n_view; i++)
        if (c->view[i].e == e)
            return true;
    return false;
}

/* The factors of a product, each once. */
static bool find_views(contraction *c, const tn_expr *e, int64_t target, int *out_factors)
{
    const tn_expr *todo[CONTRACTION_VIEWS + 1];
    int n = 0;
    todo[n++] = e;
    *out_factors = 0;
    while (n > 0) {
        e = todo[--n];
        if (e->kind == TN_E_MUL) {
            if (n + 2 > CONTRACTION_VIEWS)
                return false;
            todo[n++] = e->src[1];
            todo[n++] = e->src[0];
            continue;
        }
        ++*out_factors;
        if (same_factor(c, e))
            continue;
        if (c->n_view == CONTRACTION_VIEWS)
            return false;
        view *v = &c->view[c->n_view++];
        *v = (view){.e = e, .work = operations(e, 0)};
        load_search s = {target, v, false};
        (void)tn_each(e, note_load, &s);
        if (s.many)
            return false;
    }
    return true;
}

typedef struct {
    contraction *c;
    int64_t target;
    bool many;
} load_views;

static bool note_view(const tn_expr *e, void *user)
{
    load_views *s = user;
    if (e->kind != TN_E_LOAD || same_factor(s->c, e))
        return true;
    s->many |= e->u.load.buffer == s->target || s->c->n_view == CONTRACTION_VIEWS;
    if (!s->many)
        s->c->view[s->c->n_view++] = (view){.e = e, .n_load = 1, .load = {e}};
    return true;
}

/* A term that is no product of views of one load each: every load is a view, and all else is work of its own. */
static bool find_loads(contraction *c, const tn_expr *term, int64_t target)
{
    load_views s = {c, target, false};
    c->n_view = 0;
    c->work = operations(term, 0);
    (void)tn_each(term, note_view, &s);
    return !s.many && c->n_view > 0;
}

/* ---- how they move ---- */

typedef struct {
    const tn_expr *var;
    int64_t by;
    bool bare; /* the variable also stands elsewhere */
} quotient;

static bool find_quotient(const tn_expr *e, void *user)
{
    quotient *q = user;
    int64_t by = 0;
    for (int i = 0; i < e->nsrc; i++) {
        if (e->src[i] != q->var)
            continue;
        bool divides = e->kind == TN_E_FLOORDIV && i == 0 && tn_is_int(e->src[1], &by) && by > 1;
        q->bare |= !divides || (q->by && q->by != by);
        q->by = divides ? by : q->by;
    }
    return true;
}

/* Within how many neighbours of the axis the load reads the same; 0: of each something else. */
static int64_t period_of(const tn_expr *load, const tn_expr *var)
{
    quotient q = {var, 0, false};
    (void)tn_each(load, find_quotient, &q);
    return q.bare ? 0 : q.by;
}

/* How far apart neighbours along the axis lie, in bytes; 0: not known, or not evenly. */
static int64_t distance(const tn_func *f, const tn_expr *load, const tn_expr *var)
{
    const tn_buffer *b = &f->buffer[load->u.load.buffer];
    int64_t bytes = tn_dtype_bytes(b->dtype), all = 0, coef;
    const tn_expr *rest;
    for (int d = b->ndim - 1; d >= 0 && !b->layout; d--) {
        if (!rule_coefficient(f, load->src[d], var, &coef, &rest))
            return 0;
        all += coef * bytes;
        int64_t extent = rule_extent(b->dim[d]);
        if (d > 0 && (extent < 0 || bytes > INT32_MAX))
            return 0;
        bytes *= extent;
    }
    return all;
}

/* The quotient in an index that moves along the axis one element in so many iterations, beside taps that may be written
 * out, as of a transposed convolution: (w + q)/2, or that and what does not move. NULL: it is another index. */
static const tn_expr *slow_index(const contraction *c, const tn_expr *e, const tn_expr *var, int64_t *out_by)
{
    const tn_expr *rest;
    int64_t coef;
    while ((e->kind == TN_E_ADD || e->kind == TN_E_SUB) && tn_uses(e->src[0], var) != tn_uses(e->src[1], var))
        e = tn_uses(e->src[0], var) ? e->src[0] : e->src[1];
    if (e->kind != TN_E_FLOORDIV || !tn_is_int(e->src[1], out_by) || *out_by < 2 || *out_by > MAX_APART ||
        !rule_coefficient(c->f, e->src[0], var, &coef, &rest) || coef != 1)
        return NULL;
    bool taps = false;
    for (int a = 0; a < c->n; a++)
        if (tn_uses(rest, c->block->u.block.iter[a].var)) {
            taps = true;
            if (a < c->n_spatial || c->extent[a] < 0 || c->extent[a] > CONTRACTION_TAPS)
                return NULL;
        }
    return taps ? e : NULL;
}

/* The axis walks the innermost dimension, `coef` elements at a time, and no other. */
static enum view_step step_of(const contraction *c, const tn_expr *load, const tn_expr *var,
                              int64_t *out_apart)
{
    const tn_func *f = c->f;
    const tn_buffer *b = &f->buffer[load->u.load.buffer];
    if (!tn_uses(load, var))
        return VIEW_STAYS;
    int inner = b->ndim ? rule_innermost_dim(b) : 0;
    const tn_expr *rest;
    for (int d = 0; d < (int)load->u.load.n_index; d++)
        if (d != inner && tn_uses(load->src[d], var))
            return VIEW_SCATTERED;
    if (b->ndim == 0 || load->src[inner]->has_load)
        return VIEW_SCATTERED;
    if (!b->layout && slow_index(c, load->src[inner], var, out_apart))
        return VIEW_EVENLY;
    if (!rule_coefficient(f, load->src[inner], var, out_apart, &rest))
        return VIEW_SCATTERED;
    int64_t factor = rule_inner_factor(b, inner);
    if (factor > 0 && load->src[inner] != var)
        return VIEW_SCATTERED; /* vectors would cross from block to block of the layout */
    return *out_apart == 1                                            ? VIEW_BESIDE
           : *out_apart > 1 && *out_apart <= MAX_APART && factor == 0 ? VIEW_EVENLY
                                                                      : VIEW_SCATTERED;
}

static void read_moves(const contraction *c, view *v)
{
    for (int a = 0; a < c->n; a++) {
        const tn_expr *var = c->block->u.block.iter[a].var;
        v->step[a] = tn_uses(v->e, var) && v->n_load == 0 ? VIEW_SCATTERED : VIEW_STAYS;
        v->every[a] = v->n_load ? -1 : 0;
        for (int i = 0; i < v->n_load; i++) {
            int64_t apart = 0, every = period_of(v->load[i], var);
            enum view_step s = step_of(c, v->load[i], var, &apart);
            if (s > v->step[a]) {
                v->step[a] = s;
                v->apart[a] = apart;
            }
            if (s != VIEW_STAYS) {
                v->every[a] = v->every[a] < 0 || v->every[a] == every ? every : 0;
                v->bytes[a] = distance(c->f, v->load[i], var);
            }
        }
        v->every[a] = v->every[a] < 0 ? 0 : v->every[a];
    }
}

/* ---- the block ---- */

/* Every index of the result is a spatial axis, each once, or 0. */
static bool read_result(contraction *c)
{
    const tn_stmt *store = c->block->u.block.body.first;
    const tn_buffer *b = rule_target(c->f, c->block);
    c->beside = -1;
    for (int a = 0; a < c->n; a++)
        c->dim[a] = -1;
    for (int d = 0; d < (int)store->u.store.n_index; d++) {
        int a = 0;
        while (a < c->n_spatial && store->u.store.index[d] != c->block->u.block.iter[a].var)
            a++;
        if (a == c->n_spatial && !tn_is_value(store->u.store.index[d], 0))
            return false;
        if (a < c->n_spatial && c->dim[a] >= 0)
            return false;
        if (a < c->n_spatial)
            c->dim[a] = d;
    }
    for (int a = 0; a < c->n_spatial; a++) {
        if (c->dim[a] >= 0 && c->dim[a] == rule_innermost_dim(b))
            c->beside = a;
        if (c->dim[a] < 0 && c->extent[a] != 1)
            return false;
    }
    return true;
}

/* The least number of factors that it has to have: 1 takes what is no product, too. */
static bool read_sum(const tn_func *f, tn_stmt *block, int least, contraction *c)
{
    *c = (contraction){.f = f, .block = block, .n = (int)block->u.block.n_iter};
    c->n_spatial = rule_n_spatial(block);
    int own = rule_reduces(block) ? tn_update_operand(block) : -1, factors = 0;
    if (own < 0 || c->n > CONTRACTION_AXES || c->n_spatial < 1)
        return false;
    for (int a = 0; a < c->n; a++) {
        c->extent[a] = rule_extent(block->u.block.iter[a].extent);
        if (a < c->n_spatial && block->u.block.iter[a].kind != TN_ITER_SPATIAL)
            return false;
    }
    const tn_expr *sum = block->u.block.body.first->u.store.value, *term = sum->src[1 - own];
    while (term->kind == TN_E_CAST)
        term = term->src[0];
    bool multiplies =
        find_views(c, term, tn_block_target(block), &factors) && factors >= 2 && sum->kind == TN_E_ADD;
    for (int i = 0; i < c->n_view && least < 2; i++)
        multiplies &= c->view[i].n_load < 2;
    if (!multiplies && (least > 1 || !find_loads(c, term, tn_block_target(block))))
        return false;
    c->bytes = tn_dtype_bytes(rule_target(f, block)->dtype);
    for (int i = 0; i < c->n_view; i++)
        read_moves(c, &c->view[i]);
    return read_result(c);
}

bool rule_read_contraction(const tn_func *f, tn_stmt *block, contraction *out)
{
    return read_sum(f, block, 2, out);
}

bool rule_read_reduction(const tn_func *f, tn_stmt *block, contraction *out)
{
    return read_sum(f, block, 1, out);
}

/* Do several results read the same of it? */
static bool is_shared(const contraction *x, const view *w)
{
    for (int a = 0; a < x->n_spatial && w->n_load; a++)
        if (x->extent[a] != 1 && (w->step[a] == VIEW_STAYS || w->every[a] > 0))
            return true;
    return false;
}

/* Does a tile read some view less often than it uses it? Else rule reduce does as well, and keeps rows in the cache. */
bool rule_shares_views(const contraction *x)
{
    for (int i = 0; i < x->n_view; i++)
        if (is_shared(x, &x->view[i]))
            return true;
    return false;
}

bool rule_shares_each_view(const contraction *x)
{
    for (int i = 0; i < x->n_view; i++)
        if (x->view[i].n_load && !is_shared(x, &x->view[i]))
            return false;
    return x->n_view > 1;
}

bool rule_slides_along(const contraction *x, int tap, int axis)
{
    const tn_expr *var = x->block->u.block.iter[tap].var, *along = x->block->u.block.iter[axis].var;
    for (int i = 0; i < x->n_view; i++)
        for (int k = 0; k < x->view[i].n_load; k++)
            for (int d = 0; d < (int)x->view[i].load[k]->u.load.n_index; d++)
                if (tn_uses(x->view[i].load[k]->src[d], var) && tn_uses(x->view[i].load[k]->src[d], along))
                    return true;
    return false;
}

bool rule_is_window(const contraction *x)
{
    for (int tap = x->n_spatial; tap < x->n; tap++) {
        bool slides = x->extent[tap] == 1;
        for (int a = 0; a < x->n_spatial; a++)
            slides |= rule_slides_along(x, tap, a);
        if (!slides || x->extent[tap] < 1 || x->extent[tap] > CONTRACTION_TAPS)
            return false;
    }
    return true;
}

/* ---- borders ---- */

/* Elements of the axis from *first up to *end, for which the term is true whatever the other axes are. */
static bool free_of(const contraction *x, const tn_expr *term, int axis, int64_t *first, int64_t *end)
{
    tn_pool *pool = x->f->pool;
    const tn_expr *var[CONTRACTION_AXES], *extent[CONTRACTION_AXES], *lo, *hi, *rest;
    int n = 0;
    for (int a = 0; a < x->n; a++)
        if (a != axis) {
            var[n] = x->block->u.block.iter[a].var;
            extent[n++] = x->block->u.block.iter[a].extent;
        }
    if (term->kind != TN_E_LT && term->kind != TN_E_LE)
        return false;
    const tn_expr *room = tn_simplify(pool, NULL, tn_sub(pool, term->src[1], term->src[0]));
    int64_t coef, base, least = term->kind == TN_E_LT;
    if (!tn_span(pool, NULL, room, n, var, extent, &lo, &hi) ||
        !rule_coefficient(x->f, tn_simplify(pool, NULL, lo), x->block->u.block.iter[axis].var, &coef,
                          &rest) ||
        !tn_is_int(tn_simplify(pool, NULL, rest), &base))
        return false;
    int64_t missing = least - base; /* coef * i >= missing */
    if (coef > 0 && missing > 0 && (missing + coef - 1) / coef > *first)
        *first = (missing + coef - 1) / coef;
    if (coef < 0 && (missing > 0 || -missing / -coef + 1 < *end))
        *end = missing > 0 ? 0 : -missing / -coef + 1;
    return coef != 0;
}

/* The next term of a mask of which n parts are still to be looked at; NULL: none. */
static const tn_expr *next_term(const tn_expr *todo[TN_MAX_TERMS + 1], int *n)
{
    while (*n > 0) {
        const tn_expr *e = todo[--*n];
        if (e->kind != TN_E_AND || *n + 2 > TN_MAX_TERMS)
            return e;
        todo[(*n)++] = e->src[0];
        todo[(*n)++] = e->src[1];
    }
    return NULL;
}

int rule_find_border(const contraction *x, int n_axis, const int axis[], const int64_t width[],
                     int64_t *out_first, int64_t *out_last)
{
    const tn_expr *mask = x->block->u.block.mask, *todo[TN_MAX_TERMS + 1];
    int border = -1;
    *out_first = *out_last = 0;
    for (int k = 0; k < n_axis && mask && border < 0; k++) {
        int a = axis[k], n = 0;
        int64_t first = 0, end = a < 0 ? 0 : x->extent[a];
        if (a < 0 || a >= x->n_spatial || end < 0)
            continue;
        todo[n++] = mask;
        for (const tn_expr *e; (e = next_term(todo, &n));)
            if (tn_uses(e, x->block->u.block.iter[a].var) && free_of(x, e, a, &first, &end))
                border = a;
        int64_t w = width[a], tiles = (x->extent[a] + w - 1) / w;
        *out_first = (first + w - 1) / w;
        *out_last = tiles - end / w;
        if (border >= 0 && (*out_first + *out_last == 0 || *out_first + *out_last >= tiles))
            border = -1;
    }
    return border;
}

bool rule_masks_both(const contraction *x, int a, int b)
{
    const tn_expr *mask = x->block->u.block.mask, *todo[TN_MAX_TERMS + 1];
    int n = 0;
    if (mask)
        todo[n++] = mask;
    for (const tn_expr *e; (e = next_term(todo, &n));)
        if (tn_uses(e, x->block->u.block.iter[a].var) && tn_uses(e, x->block->u.block.iter[b].var))
            return true;
    return false;
}

bool rule_divides_both(const contraction *x, int a, int b)
{
    const tn_expr *var = x->block->u.block.iter[a].var, *other = x->block->u.block.iter[b].var;
    int64_t by;
    for (int i = 0; i < x->n_view; i++)
        for (int k = 0; k < x->view[i].n_load; k++) {
            const tn_expr *load = x->view[i].load[k];
            for (int d = 0; d < (int)load->u.load.n_index; d++) {
                const tn_expr *e = slow_index(x, load->src[d], var, &by);
                if (e && tn_uses(e, other))
                    return true;
            }
        }
    return false;
}

/* ---- what follows ---- */

/* A buffer whose dimensions walk axes of the contraction: the accumulators, and what blocks make of them. */
typedef struct {
    uint32_t buffer;
    int axis[CONTRACTION_AXES]; /* -1: none */
} follower;

typedef struct {
    int n;
    follower of[RULE_MAX_BLOCKS + 1];
    const tn_stmt *block; /* looked at */
    int *axis;            /* of its iterations */
} followers;

static void follow(const tn_expr *load, void *user)
{
    followers *w = user;
    for (int k = 0; k < w->n; k++)
        for (int d = 0; d < (int)load->u.load.n_index && w->of[k].buffer == load->u.load.buffer; d++)
            for (int i = 0; i < (int)w->block->u.block.n_iter; i++)
                if (load->src[d] == w->block->u.block.iter[i].var && w->of[k].axis[d] >= 0)
                    w->axis[i] = w->of[k].axis[d];
}

static void add_follower(followers *w, const tn_stmt *block, const int *axis)
{
    const tn_stmt *store = block->u.block.body.first;
    follower *f = &w->of[w->n++];
    f->buffer = store->u.store.buffer;
    for (int d = 0; d < CONTRACTION_AXES; d++) {
        f->axis[d] = -1;
        for (int i = 0; d < (int)store->u.store.n_index && i < (int)block->u.block.n_iter; i++)
            if (store->u.store.index[d] == block->u.block.iter[i].var)
                f->axis[d] = axis[i];
    }
}

bool rule_follow_axes(const contraction *x, tn_func *f, const epilogue *e, int axis[][CONTRACTION_AXES],
                      bool *out_maps)
{
    followers w = {.n = 0};
    int own[CONTRACTION_AXES];
    *out_maps = false;
    for (int a = 0; a < x->n; a++)
        own[a] = a;
    add_follower(&w, x->block, own);
    for (int k = 0; k < e->n; k++) {
        w.block = tn_func_block(f, e->block[k]);
        w.axis = axis[k];
        if (w.block->u.block.n_iter > CONTRACTION_AXES)
            return false;
        for (int i = 0; i < CONTRACTION_AXES; i++)
            axis[k][i] = -1;
        rule_loads(w.block, follow, &w);
        *out_maps |= w.block->u.block.body.first->u.store.value->kind != TN_E_LOAD;
        add_follower(&w, w.block, axis[k]);
    }
    return true;
}
