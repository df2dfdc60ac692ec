/* Nests of loops, and what they touch. */
#include "tune/nest.h"

#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { LINE = 64, UNKNOWN = 16 };

float tn_amount(double x) { return (float)log2(1 + x); }

double tn_nest_value(const tn_func *f, const int64_t sym[], const tn_expr *e)
{
    int64_t v;
    if (tn_func_value(f, e, sym, &v))
        return v > 0 ? (double)v : 0;
    for (int i = 0; i < e->nsrc && e->kind == TN_E_MIN; i++) /* of a tail: the number of a full one */
        if (tn_func_value(f, e->src[i], sym, &v))
            return v > 0 ? (double)v : 0;
    return UNKNOWN;
}

/* ---- accesses ---- */

/* e over the loops around s instead of the iterations of blocks. */
static const tn_expr *over_loops(const tn_func *f, const tn_stmt *s, const tn_expr *e)
{
    for (const tn_stmt *b = tn_stmt_parent(s); b; b = tn_stmt_parent(b))
        for (uint32_t i = 0; b->kind == TN_S_BLOCK && i < b->u.block.n_iter; i++)
            e = tn_subst(f->pool, e, 1, &b->u.block.iter[i].var, &b->u.block.iter[i].value);
    return e;
}

static void set_steps(const tn_nest *x, const tn_expr *index, float step[TN_NEST_LOOPS])
{
    tn_affine sum;
    const tn_expr *e = over_loops(x->f, x->store, index);
    bool plain = tn_affine_of(x->f->pool, e, &sum);
    for (int l = 0; l < x->n; l++) {
        const tn_expr *var = x->loop[l]->u.loop.var;
        step[l] = plain || !tn_uses(e, var) ? 0 : HUGE_VALF;
        for (int i = 0; plain && i < sum.n; i++)
            if (sum.term[i].atom == var)
                step[l] = fabsf((float)sum.term[i].coef);
            else if (tn_uses(sum.term[i].atom, var))
                step[l] = HUGE_VALF;
    }
}

static void add_access(tn_nest *x, uint32_t buffer, bool writes, uint32_t n_index,
                       const tn_expr *const index[])
{
    const tn_buffer *b = &x->f->buffer[buffer];
    tn_access a = {.buffer = buffer, .writes = writes, .bytes = (int)tn_dtype_bytes(b->dtype)};
    a.n_dim = n_index < TN_NEST_DIMS ? (int)n_index : TN_NEST_DIMS;
    for (int d = 0; d < a.n_dim; d++) {
        a.extent[d] = tn_nest_value(x->f, x->sym, b->dim[d]);
        set_steps(x, index[d], a.step[d]);
    }
    for (int i = 0; i < x->n_access; i++) /* the same once more */
        if (x->access[i].buffer == buffer && memcmp(x->access[i].step, a.step, sizeof a.step) == 0) {
            x->access[i].writes |= writes;
            return;
        }
    if (x->n_access < TN_NEST_ACCESSES)
        x->access[x->n_access++] = a;
}

static bool add_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        add_access(user, e->u.load.buffer, false, e->u.load.n_index, e->src);
    return true;
}

static void read_nest(tn_nest *x, const tn_func *f, const int64_t sym[], tn_stmt *store)
{
    tn_stmt *loop[TN_NEST_LOOPS];
    *x = (tn_nest){.f = f, .sym = sym, .store = store, .turns = 1};
    x->n = tn_stmt_loops(store, TN_NEST_LOOPS, loop);
    for (int l = 0; l < x->n; l++) {
        x->loop[l] = loop[l];
        x->extent[l] = tn_nest_value(f, sym, loop[l]->u.loop.extent);
        x->turns *= x->extent[l];
    }
}

static void read_accesses(tn_nest *x)
{
    const tn_stmt *s = x->store;
    add_access(x, s->u.store.buffer, true, s->u.store.n_index, s->u.store.index);
    (void)tn_each(s->u.store.value, add_load, x);
}

/* ---- boxes ---- */

/* Elements along dimension d that the loops from number `from` on reach. */
static double reach(const tn_nest *x, const tn_access *a, int d, int from)
{
    double r = 1;
    for (int l = from; l < x->n; l++)
        if (a->step[d][l] > 0 && x->extent[l] > 1)
            r += a->step[d][l] * (x->extent[l] - 1);
    return r < a->extent[d] ? r : a->extent[d] > 1 ? a->extent[d] : 1;
}

/* Bytes of the lines that one access touches. */
static double box(const tn_nest *x, const tn_access *a, int from)
{
    double n = 1;
    for (int d = 0; d < a->n_dim; d++) {
        double r = reach(x, a, d, from);
        n *= d + 1 < a->n_dim ? r : ceil(r * a->bytes / LINE) * LINE;
    }
    return n;
}

static bool in_memory(const tn_nest *x, const tn_access *a)
{
    uint8_t scope = x->f->buffer[a->buffer].scope;
    return scope == TN_SCOPE_GLOBAL || scope == TN_SCOPE_LOCAL;
}

double tn_nest_touched(const tn_nest *x, int from)
{
    double sum = 0;
    for (int i = 0; i < x->n_access; i++)
        sum += in_memory(x, &x->access[i]) ? box(x, &x->access[i], from) : 0;
    return sum;
}

bool tn_access_moves(const tn_access *a, int loop)
{
    bool moves = false;
    for (int d = 0; d < a->n_dim; d++)
        moves |= a->step[d][loop] > 0;
    return moves;
}

/* ---- the function ---- */

typedef struct survey {
    tn_survey s;
    tn_vec(tn_stmt *) store;
} survey;

static bool is_init(const tn_stmt *s)
{
    for (const tn_stmt *at = s; at; at = tn_stmt_parent(at)) {
        tn_stmt *b = tn_stmt_parent(at);
        if (b && b->kind == TN_S_BLOCK && at->list == &b->u.block.init)
            return true;
    }
    return false;
}

static bool look(tn_stmt *s, void *user)
{
    survey *v = user;
    if (s->kind == TN_S_STORE && !is_init(s))
        tn_vec_push(&v->store, s);
    v->s.masks += s->kind == TN_S_IF || (s->kind == TN_S_STORE && s->u.store.mask) ||
                  (s->kind == TN_S_BLOCK && s->u.block.mask);
    v->s.prefetches += s->kind == TN_S_PREFETCH;
    return true;
}

/* Puts x where it belongs among the n of most turns. */
static void sort_in(const tn_nest *x, int n, tn_nest most[])
{
    int at = n;
    while (at > 0 && (!most[at - 1].store || x->turns > most[at - 1].turns))
        at--;
    if (at == n)
        return;
    memmove(&most[at + 1], &most[at], (size_t)(n - at - 1) * sizeof *most);
    most[at] = *x;
}

tn_survey tn_nests_of(const tn_func *f, const int64_t sym[], int n, tn_nest most[])
{
    survey v = {.s = {0}};
    tn_nest x;
    memset(most, 0, (size_t)n * sizeof *most);
    tn_stmt_walk(&((tn_func *)(uintptr_t)f)->body, look, NULL, &v);
    v.s.stores = (uint32_t)v.store.n;
    for (size_t i = 0; i < v.store.n; i++) {
        read_nest(&x, f, sym, v.store.at[i]);
        v.s.turns += x.turns;
        sort_in(&x, n, most);
    }
    for (int k = 0; k < n && most[k].store; k++)
        read_accesses(&most[k]);
    tn_vec_deinit(&v.store);
    return v.s;
}

/* ---- parameters ---- */

enum { SEEN = 16 };

static double parameter_bytes(const tn_nest *x, const tn_access *a)
{
    double all = a->bytes, turns = x->turns * a->bytes;
    for (int d = 0; d < a->n_dim; d++)
        all *= a->extent[d];
    return all < turns ? all : turns;
}

void tn_nest_parameters(const tn_func *f, const int64_t sym[], double out[])
{
    tn_nest most[SEEN];
    (void)tn_nests_of(f, sym, SEEN, most);
    for (uint32_t i = 0; i < f->n_param; i++) {
        out[i] = 0;
        for (int k = 0; k < SEEN && most[k].store; k++)
            for (int n = 0; n < most[k].n_access; n++)
                if (most[k].access[n].buffer == f->param[i])
                    out[i] = fmax(out[i], parameter_bytes(&most[k], &most[k].access[n]));
    }
}
