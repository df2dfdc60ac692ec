/* Step prefetch: asks ahead for what the next turn of a loop reads of a buffer, a little in every turn of an inner
 * loop, so that it is near when its turn comes.
 *
 *     prefetch "w" jo ko      for jo, io < 10, ko < 96, ki < 8, (32 columns): reads w[column, ko*8 + ki]
 *
 * In a turn of ko the loops inside read 8 * 2 lines of memory. Each of the 10 turns of io, on which w does not depend,
 * asks for its share of those of the next jo: turn io for line io * 16 / 10 and the one after it. What lies behind the
 * end of the buffer is asked for as well: a prefetch has no effect on values, docs/tir.md. Where the extent of io is
 * symbolic, each four turns of it share the lines.
 */
#include "schedule/sched_impl.h"

#include <string.h>

enum { LINE_BYTES = 64, MAX_LINES = 16, MAX_TURNS = 4096, LIKELY_TURNS = 4 };

typedef struct {
    tn_sched *s;
    uint32_t buffer;
    tn_stmt *over, *at, *block;
    int n_index;
    const tn_expr *index[TN_BOX_DIMS]; /* of the first read, over loop variables */
} ahead;

static bool find_load(const tn_expr *e, void *user)
{
    ahead *a = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != a->buffer || a->n_index > 0 ||
        e->u.load.n_index > TN_BOX_DIMS)
        return true;
    a->n_index = (int)e->u.load.n_index;
    for (int d = 0; d < a->n_index; d++)
        a->index[d] = tn_block_over_loops(a->s, a->block, e->src[d]);
    return true;
}

static const tn_expr *look(const tn_expr *e, void *user)
{
    (void)tn_each(e, find_load, user);
    return e;
}

static bool look_statement(tn_stmt *x, void *user)
{
    tn_stmt_exprs(x, look, user);
    return true;
}

static void look_block(tn_stmt *block, void *user)
{
    ahead *a = user;
    a->block = a->n_index > 0 ? a->block : block;
    tn_stmt_walk(&block->u.block.body, look_statement, NULL, a);
}

static bool feeds(const ahead *a, const tn_stmt *loop)
{
    for (int d = 0; d < a->n_index; d++)
        if (tn_uses(a->index[d], loop->u.loop.var))
            return true;
    return false;
}

static bool find_buffer(ahead *a, const char *name)
{
    const tn_func *f = a->s->func;
    for (a->buffer = 0; a->buffer < f->n_buffer; a->buffer++)
        if (strcmp(f->buffer[a->buffer].name, name) == 0)
            return true;
    return false;
}

/* Loops and how often they turn, innermost first. */
typedef struct {
    int n;
    const tn_stmt *loop[TN_MAX_LOOPS];
    int64_t extent[TN_MAX_LOOPS], turns;
} nest;

/* likely: how often a loop of symbolic extent is taken to turn, 0: there must be none. */
static bool add_loop(nest *x, const tn_stmt *loop, int64_t likely)
{
    int64_t n = likely;
    (void)tn_is_int(loop->u.loop.extent, &n);
    if (x->n == TN_MAX_LOOPS || n < 1 || n > INT32_MAX / x->turns)
        return false;
    x->turns *= n;
    x->extent[x->n] = n;
    x->loop[x->n++] = loop;
    return true;
}

/* The loops from `from` outwards to `to` (which is left out) that feed the index, or those that do not. */
static bool collect(const ahead *a, const tn_stmt *from, const tn_stmt *to, bool feed, nest *out)
{
    *out = (nest){.turns = 1};
    for (const tn_stmt *l = from; l != to; l = tn_stmt_parent(l))
        if (l->kind != TN_S_FOR || (feeds(a, l) == feed && !add_loop(out, l, feed ? 0 : LIKELY_TURNS)))
            return false;
    return true;
}

/* Which turn of them all it is; of a symbolic extent, beginning again and again. */
static const tn_expr *turn_of(tn_pool *p, const nest *x)
{
    const tn_expr *turn = tn_idx(p, 0);
    for (int i = x->n - 1; i >= 0; i--) {
        const tn_expr *var = x->loop[i]->u.loop.var, *extent = tn_idx(p, x->extent[i]);
        var = x->loop[i]->u.loop.extent == extent ? var : tn_fmod(p, var, extent);
        turn = tn_add(p, tn_mul(p, turn, extent), var);
    }
    return turn;
}

/* In e, their variables as they are in this turn. */
static const tn_expr *in_turn(tn_pool *p, const tn_expr *e, const nest *x, const tn_expr *turn)
{
    const tn_expr *from[TN_MAX_LOOPS], *to[TN_MAX_LOOPS];
    for (int i = 0; i < x->n; i++) {
        from[i] = x->loop[i]->u.loop.var;
        to[i] = tn_fmod(p, turn, tn_idx(p, x->extent[i]));
        turn = tn_fdiv(p, turn, tn_idx(p, x->extent[i]));
    }
    return tn_subst(p, e, x->n, from, to);
}

/* Where in memory the element lies that is read, over the loops inside, all others being at 0. */
static const tn_expr *place(const ahead *a, const nest *inside)
{
    tn_pool *p = a->s->func->pool;
    const tn_buffer *b = &a->s->func->buffer[a->buffer];
    const tn_expr *zero[TN_MAX_LOOPS], *var[TN_MAX_LOOPS], *sum = tn_idx(p, 0);
    const tn_expr *index[TN_BOX_DIMS], *at[TN_LAYOUT_MAX_AXES], *dim[TN_LAYOUT_MAX_AXES];
    const tn_stmt *loops[TN_MAX_LOOPS];
    int n_loops = tn_loops_between(NULL, a->block, TN_MAX_LOOPS, loops), n = 0;
    for (int i = 0; i < n_loops; i++) {
        bool is_inside = false;
        for (int k = 0; k < inside->n && !is_inside; k++)
            is_inside = inside->loop[k] == loops[i];
        if (!is_inside) {
            zero[n] = tn_idx(p, 0);
            var[n++] = loops[i]->u.loop.var;
        }
    }
    for (int d = 0; d < a->n_index; d++)
        index[d] = tn_subst(p, a->index[d], n, var, zero);
    tn_layout_index(p, b->layout, b->ndim, index, at);
    tn_layout_dims(p, b->layout, b->ndim, b->dim, dim);
    for (int d = 0; d < tn_layout_naxis(b->layout, b->ndim); d++)
        sum = tn_add(p, tn_mul(p, sum, dim[d]), at[d]);
    tn_facts facts;
    tn_facts_init(&facts);
    for (int i = 0; i < inside->n; i++)
        tn_facts_range(&facts, inside->loop[i]->u.loop.var, 0, inside->extent[i] - 1);
    sum = tn_simplify(p, &facts, sum);
    tn_facts_deinit(&facts);
    return sum;
}

/* How many turns of the loops inside read the same line; 0: not so many everywhere, or more than one line a turn. */
static int64_t turns_a_line(const ahead *a, const nest *inside)
{
    int64_t line = -1, each = 0, bytes = tn_dtype_bytes(a->s->func->buffer[a->buffer].dtype), offset;
    const tn_expr *at = place(a, inside);
    tn_pool *p = a->s->func->pool;
    for (int64_t k = 0; k < inside->turns; k++) {
        if (!tn_is_int(in_turn(p, at, inside, tn_idx(p, k)), &offset) || offset < 0)
            return 0;
        int64_t here = offset * bytes / LINE_BYTES;
        if (each == 0 && k > 0 && here != line)
            each = k;
        if ((here != line) != (each == 0 ? k == 0 : k % each == 0))
            return 0;
        line = here;
    }
    return each ? each : inside->turns;
}

static tn_verdict ask(const ahead *a)
{
    tn_func *f = a->s->func;
    tn_pool *p = f->pool;
    nest idle, inside;
    if (!collect(a, a->at, a->over, false, &idle) ||
        !collect(a, tn_stmt_parent(a->block), a->at, true, &inside) || inside.turns > MAX_TURNS)
        return TN_REJECT_REGION;
    int64_t each = turns_a_line(a, &inside);
    if (each == 0)
        return TN_REJECT_REGION;
    int64_t lines = inside.turns / each, count = (lines + idle.turns - 1) / idle.turns;
    if (count > MAX_LINES)
        return TN_REJECT_FACTOR;
    const tn_expr *over = a->over->u.loop.var, *next = tn_add(p, over, tn_idx(p, 1));
    const tn_expr *first = tn_fdiv(p, tn_mul(p, turn_of(p, &idle), tn_idx(p, lines)), tn_idx(p, idle.turns));
    tn_stmt *before = a->at->u.loop.body.first;
    tn_facts facts;
    tn_stmt_facts(f, before, &facts);
    for (int64_t k = 0; k < count; k++) {
        const tn_expr *index[TN_BOX_DIMS], *line = tn_add(p, first, tn_idx(p, k));
        for (int d = 0; d < a->n_index; d++) {
            const tn_expr *e = tn_subst(p, a->index[d], 1, &over, &next);
            index[d] = tn_simplify(p, &facts, in_turn(p, e, &inside, tn_mul(p, line, tn_idx(p, each))));
        }
        tn_body_insert(&a->at->u.loop.body, before, tn_stmt_prefetch(f, a->buffer, a->n_index, index));
    }
    tn_facts_deinit(&facts);
    return TN_DONE;
}

tn_verdict tn_do_prefetch(tn_sched *s, tn_step *t)
{
    ahead a = {.s = s, .over = tn_sched_loop(s, t->in[0]), .at = tn_sched_loop(s, t->in[1])};
    if (!t->arg[0].s || !find_buffer(&a, t->arg[0].s))
        return TN_REJECT_NAME;
    if (s->func->buffer[a.buffer].param < 0 || s->func->buffer[a.buffer].written)
        return TN_REJECT_SCOPE; /* what the kernel makes itself is near */
    if (a.at == a.over || !tn_stmt_inside(a.at, a.over))
        return TN_REJECT_NEST;
    if (a.at->u.loop.kind != TN_LOOP_SERIAL)
        return TN_REJECT_LOOP;
    tn_each_block(a.at, look_block, &a);
    if (a.n_index == 0)
        return TN_REJECT_NAME;
    return feeds(&a, a.over) ? ask(&a) : TN_REJECT_DEPEND; /* else its next turn reads the same */
}
