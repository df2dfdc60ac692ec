/* Features of scheduled functions. */
#include "tune/features.h"

#include "base/vec.h"
#include "machine/machine.h"

#include <math.h>
#include <string.h>

enum { MAX_LOOPS = 24, MAX_DIMS = 6, MAX_ACCESSES = 16, LINE = 64, UNKNOWN = 16 };

typedef struct access {
    uint32_t buffer;
    bool writes;
    int n_dim, bytes;                /* of an element */
    double extent[MAX_DIMS];         /* of the buffer */
    float step[MAX_DIMS][MAX_LOOPS]; /* of an index, by loop; HUGE_VALF: anywhere */
} access;

typedef struct nest { /* of a store */
    const tn_func *f;
    const int64_t *sym;
    const tn_stmt *store;
    int n;
    const tn_stmt *loop[MAX_LOOPS]; /* outermost first */
    double extent[MAX_LOOPS], turns;
    int n_access;
    access access[MAX_ACCESSES];
} nest;

static float amount(double x) { return (float)log2(1 + x); }

static double value_of(const tn_func *f, const int64_t sym[], const tn_expr *e)
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

static void set_steps(const nest *x, const tn_expr *index, float step[MAX_LOOPS])
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

static void add_access(nest *x, uint32_t buffer, bool writes, uint32_t n_index, const tn_expr *const index[])
{
    const tn_buffer *b = &x->f->buffer[buffer];
    access a = {.buffer = buffer, .writes = writes, .bytes = (int)tn_dtype_bytes(b->dtype)};
    a.n_dim = n_index < MAX_DIMS ? (int)n_index : MAX_DIMS;
    for (int d = 0; d < a.n_dim; d++) {
        a.extent[d] = value_of(x->f, x->sym, b->dim[d]);
        set_steps(x, index[d], a.step[d]);
    }
    for (int i = 0; i < x->n_access; i++) /* the same once more */
        if (x->access[i].buffer == buffer && memcmp(x->access[i].step, a.step, sizeof a.step) == 0) {
            x->access[i].writes |= writes;
            return;
        }
    if (x->n_access < MAX_ACCESSES)
        x->access[x->n_access++] = a;
}

static bool add_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        add_access(user, e->u.load.buffer, false, e->u.load.n_index, e->src);
    return true;
}

static void read_nest(nest *x, const tn_func *f, const int64_t sym[], tn_stmt *store)
{
    tn_stmt *loop[MAX_LOOPS];
    *x = (nest){.f = f, .sym = sym, .store = store, .turns = 1};
    x->n = tn_stmt_loops(store, MAX_LOOPS, loop);
    for (int l = 0; l < x->n; l++) {
        x->loop[l] = loop[l];
        x->extent[l] = value_of(f, sym, loop[l]->u.loop.extent);
        x->turns *= x->extent[l];
    }
}

static void read_accesses(nest *x)
{
    const tn_stmt *s = x->store;
    add_access(x, s->u.store.buffer, true, s->u.store.n_index, s->u.store.index);
    (void)tn_each(s->u.store.value, add_load, x);
}

/* ---- boxes ---- */

/* Elements along dimension d that the loops from number `from` on reach. */
static double reach(const nest *x, const access *a, int d, int from)
{
    double r = 1;
    for (int l = from; l < x->n; l++)
        if (a->step[d][l] > 0 && x->extent[l] > 1)
            r += a->step[d][l] * (x->extent[l] - 1);
    return r < a->extent[d] ? r : a->extent[d] > 1 ? a->extent[d] : 1;
}

/* Bytes of the lines that one access touches. */
static double box(const nest *x, const access *a, int from)
{
    double n = 1;
    for (int d = 0; d < a->n_dim; d++) {
        double r = reach(x, a, d, from);
        n *= d + 1 < a->n_dim ? r : ceil(r * a->bytes / LINE) * LINE;
    }
    return n;
}

static bool in_memory(const nest *x, const access *a)
{
    uint8_t scope = x->f->buffer[a->buffer].scope;
    return scope == TN_SCOPE_GLOBAL || scope == TN_SCOPE_LOCAL;
}

static double touched(const nest *x, int from)
{
    double sum = 0;
    for (int i = 0; i < x->n_access; i++)
        sum += in_memory(x, &x->access[i]) ? box(x, &x->access[i], from) : 0;
    return sum;
}

/* What comes from beyond a cache: the outermost loop whose boxes fit keeps them there. */
static double traffic(const nest *x, double cache)
{
    double around = 1;
    int from = 0;
    for (; from < x->n && touched(x, from) > cache; from++)
        around *= x->extent[from];
    return around * touched(x, from);
}

static double nearby(const nest *x, double turns)
{
    int from = x->n;
    for (double inside = 1; from > 0 && inside < turns;)
        inside *= x->extent[--from];
    return touched(x, from);
}

/* ---- a store ---- */

static double turns_of(const nest *x, enum tn_loop_kind kind)
{
    double n = 1;
    for (int l = 0; l < x->n; l++)
        n *= x->loop[l]->u.loop.kind == kind ? x->extent[l] : 1;
    return n;
}

/* The innermost serial loop; -1: none. */
static int inner_loop(const nest *x)
{
    int l = x->n - 1;
    while (l >= 0 && (x->loop[l]->u.loop.kind != TN_LOOP_SERIAL || x->extent[l] <= 1))
        l--;
    return l;
}

/* Times that a turn of the loop before number `from` makes the access anew: for all loops inside that move it. */
static double times(const nest *x, const access *a, int from, bool lanes)
{
    double n = 1;
    for (int l = from; l < x->n; l++) {
        bool moves = false;
        for (int d = 0; d < a->n_dim; d++)
            moves |= a->step[d][l] > 0;
        n *= moves && (lanes || x->loop[l]->u.loop.kind != TN_LOOP_VECTOR) ? x->extent[l] : 1;
    }
    return n;
}

/* How the lanes lie: 0 one element, 1 neighbours, 2 elsewhere. */
static int lanes_of(const nest *x, const access *a)
{
    int how = 0;
    for (int l = 0; l < x->n; l++) {
        if (x->loop[l]->u.loop.kind != TN_LOOP_VECTOR || x->extent[l] <= 1)
            continue;
        for (int d = 0; d < a->n_dim; d++)
            if (a->step[d][l] > 0)
                how = d == a->n_dim - 1 && a->step[d][l] == 1 && how < 2 ? 1 : 2;
    }
    return how;
}

static void count_accesses(const nest *x, int inner, float out[])
{
    double count[3] = {0};
    const access *to = &x->access[0];
    bool fixed = true;
    for (int i = 0; i < x->n_access; i++) {
        const access *a = &x->access[i];
        bool one = a->buffer == to->buffer; /* what is added to, too */
        for (int d = 0; d < a->n_dim && one && inner >= 0; d++)
            fixed &= a->step[d][inner] == 0;
        int how = lanes_of(x, a);
        if (!one || how == 2)
            count[how] += times(x, a, inner + 1, false);
    }
    out[TN_FEATURE_REDUCES] = inner >= 0 && fixed;
    out[TN_FEATURE_RESULTS] = amount(times(x, to, inner + 1, true));
    out[TN_FEATURE_SPLATS] = amount(count[0]);
    out[TN_FEATURE_VECTORS] = amount(count[1]);
    out[TN_FEATURE_GATHERS] = amount(count[2]);
}

static void describe(const nest *x, const struct tn_machine *m, float out[])
{
    int inner = inner_loop(x), loops = 0;
    for (int l = 0; l < x->n; l++)
        loops += x->extent[l] > 1;
    double l1 = traffic(x, (double)m->l1_bytes), l2 = traffic(x, (double)m->l2_bytes);
    out[TN_FEATURE_TURNS] = amount(x->turns);
    out[TN_FEATURE_PARALLEL] = amount(turns_of(x, TN_LOOP_PARALLEL));
    out[TN_FEATURE_LANES] = amount(turns_of(x, TN_LOOP_VECTOR));
    out[TN_FEATURE_UNROLLED] = amount(turns_of(x, TN_LOOP_UNROLLED));
    out[TN_FEATURE_TENSOR] = amount(turns_of(x, TN_LOOP_TENSOR));
    out[TN_FEATURE_INNER] = amount(inner >= 0 ? x->extent[inner] : 1);
    count_accesses(x, inner, out);
    out[TN_FEATURE_TURN_BYTES] = amount(touched(x, inner + 1));
    out[TN_FEATURE_LOOP_BYTES] = amount(touched(x, inner < 0 ? 0 : inner));
    out[TN_FEATURE_BYTES] = amount(touched(x, 0));
    out[TN_FEATURE_L1_BYTES] = amount(l1);
    out[TN_FEATURE_L2_BYTES] = amount(l2);
    out[TN_FEATURE_L1_REUSE] = amount(x->turns) - amount(l1);
    out[TN_FEATURE_NEAR_256] = amount(nearby(x, 256));
    out[TN_FEATURE_NEAR_4096] = amount(nearby(x, 4096));
    out[TN_FEATURE_NEAR_65536] = amount(nearby(x, 65536));
    out[TN_FEATURE_LOOPS] = (float)loops;
}

/* ---- the function ---- */

typedef struct survey {
    const tn_func *f;
    const int64_t *sym;
    tn_vec(tn_stmt *) store;
    uint32_t masks, prefetches;
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
    v->masks += s->kind == TN_S_IF || (s->kind == TN_S_STORE && s->u.store.mask) ||
                (s->kind == TN_S_BLOCK && s->u.block.mask);
    v->prefetches += s->kind == TN_S_PREFETCH;
    return true;
}

static double buffers(const survey *v, enum tn_scope scope, bool bytes)
{
    double sum = 0;
    for (uint32_t i = 0; i < v->f->n_buffer; i++) {
        const tn_buffer *b = &v->f->buffer[i];
        double n = bytes ? tn_dtype_bytes(b->dtype) : 1;
        if (b->scope != scope || b->param >= 0)
            continue;
        for (int d = 0; d < b->ndim; d++)
            n *= value_of(v->f, v->sym, b->dim[d]);
        sum += n;
    }
    return sum;
}

void tn_features_of(const tn_func *f, const int64_t sym[], const struct tn_machine *m,
                    float out[TN_N_FEATURES])
{
    survey v = {.f = f, .sym = sym};
    nest most[TN_FEATURE_STORES_SEEN] = {{.turns = -1}, {.turns = -1}}, x;
    double rest = 0;
    memset(out, 0, TN_N_FEATURES * sizeof *out);
    tn_stmt_walk(&((tn_func *)(uintptr_t)f)->body, look, NULL, &v);
    for (size_t i = 0; i < v.store.n; i++) {
        read_nest(&x, f, sym, v.store.at[i]);
        rest += x.turns;
        int at = x.turns > most[0].turns ? 0 : x.turns > most[1].turns ? 1 : 2;
        if (at == 0)
            most[1] = most[0];
        if (at < 2)
            most[at] = x;
    }
    for (int k = 0; k < TN_FEATURE_STORES_SEEN && most[k].turns >= 0; k++) {
        read_accesses(&most[k]);
        describe(&most[k], m, out + k * TN_N_STORE_FEATURES);
        rest -= most[k].turns;
    }
    out[TN_FEATURE_STORES] = (float)v.store.n;
    out[TN_FEATURE_REST] = amount(rest);
    out[TN_FEATURE_GLOBAL] = amount(buffers(&v, TN_SCOPE_GLOBAL, true));
    out[TN_FEATURE_LOCAL] = amount(buffers(&v, TN_SCOPE_LOCAL, true));
    out[TN_FEATURE_REGISTER] = amount(buffers(&v, TN_SCOPE_REGISTER, false));
    out[TN_FEATURE_MASKS] = (float)v.masks;
    out[TN_FEATURE_PREFETCHES] = (float)v.prefetches;
    tn_vec_deinit(&v.store);
}
