/* ChunkSums: a long sum is added up in chunks, so that its error grows with the length of a chunk and the number of
 * chunks instead of their product. A loop
 *
 *     for k < K: acc[0] = acc[0] + term(k)
 *
 * becomes
 *
 *     for c < ceil(K / N):
 *       buffer part: f32[1] in register
 *       part[0] = 0
 *       for k < min(N, K - c*N): part[0] = part[0] + term(c*N + k)
 *       acc[0] = acc[0] + part[0]
 *
 * for all elements that the loop, with the loops inside it, does nothing with but add to them: registers, and memory at
 * an address that does not change. A part of a register gets the masks of the additions, which may change inside the
 * loop, as those of padding do. Loops are looked at from the inside out, and the loop over the chunks again: from MANY
 * chunks on it is cut at the square root of their number, so very long sums have several levels.
 * `if k == 0: acc[0] = 0` at the beginning of the loop is moved out of it first. A sum known to have at most SHORT
 * terms stays as it is. Nothing happens in strict functions.
 *
 * A turn of the loop may add to an element several times; its weight says how often, and a chunk is counted in
 * additions. The parts cost one addition an element and chunk; backends keep what is not in use inside a chunk on the
 * stack. Cost: linear in the statements for each depth of nesting. */
#include "lower/lower_impl.h"

enum {
    LEAST = 128,
    USUAL = 256,
    MOST = 384,        /* additions of a chunk */
    SHORT = 512,       /* additions of a sum that needs no chunks */
    MANY = 32,         /* chunks that are added up in chunks */
    MAX_IN_MEMORY = 24 /* elements in memory that one loop sums in registers */
};

typedef struct {
    const tn_expr *load; /* of the element */
    const tn_expr *mask; /* in memory: of all its stores, or NULL */
    int64_t weight;      /* additions a turn */
    uint32_t part;       /* the register that sums a chunk */
} element;

typedef struct {
    tn_func *f;
    tn_stmt *loop;
    element *element;
    uint32_t n, cap;
    tn_map number; /* load -> number of its element */
    tn_map other;  /* buffers that are accessed otherwise */
    tn_map inside; /* variables defined by the loop and inside it */
    bool refused;
} sums;

static tn_buffer *buffer_of(const sums *x, const tn_expr *load) { return &x->f->buffer[load->u.load.buffer]; }

static bool is_register(const sums *x, const tn_expr *load)
{
    return buffer_of(x, load)->scope == TN_SCOPE_REGISTER;
}

/* ---- which elements are summed ---- */

static bool same_element(const tn_stmt *store, const tn_expr *e)
{
    return e->kind == TN_E_LOAD && e->u.load.buffer == store->u.store.buffer &&
           e->src[0] == store->u.store.index[0] &&
           (!tn_load_mask(e) || tn_load_mask(e) == store->u.store.mask);
}

/* acc = dot2bf(acc, x, w), which counts as one addition */
static bool is_call(const tn_expr *v) { return v->kind == TN_E_CALL && v->u.call.id == TN_F_dot2bf; }

/* The operand of `acc = acc + term` that is acc; -1: the store is not that. */
static int own_operand(const tn_stmt *store)
{
    const tn_expr *v = store->u.store.value;
    if (is_call(v))
        return same_element(store, v->src[0]) ? 0 : -1;
    if (v->kind != TN_E_ADD || !tn_dtype_is_float(v->dtype) || v->dtype.bits > 32)
        return -1;
    return same_element(store, v->src[0]) ? 0 : same_element(store, v->src[1]) ? 1 : -1;
}

static bool note_load(const tn_expr *e, void *user)
{
    sums *x = user;
    if (e->kind == TN_E_LOAD)
        tn_map_put(&x->other, e->u.load.buffer, 1);
    return true;
}

static const tn_expr *note_loads(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, note_load, user);
    return e;
}

/* Has the register a value before the loop, whatever happens inside? */
static bool begins_before(const sums *x, const tn_expr *load)
{
    for (const tn_stmt *s = x->loop; s; s = tn_stmt_parent(s))
        for (const tn_stmt *p = s->prev; p; p = p->prev) {
            if (p->kind == TN_S_BUFFER && p->u.decl.buffer == load->u.load.buffer)
                return false;
            if (p->kind == TN_S_STORE && p->u.store.buffer == load->u.load.buffer &&
                p->u.store.index[0] == load->src[0] && !p->u.store.mask)
                return true;
        }
    return false;
}

static bool is_fixed(const sums *x, const tn_expr *e)
{
    return !e || (!e->has_load && !tn_uses_defined(e, &x->inside));
}

static bool fits(const sums *x, const tn_stmt *store, const tn_expr *load, bool certain)
{
    if (is_register(x, load))
        return !tn_load_mask(load) && begins_before(x, load);
    return certain && is_fixed(x, load->src[0]) && is_fixed(x, store->u.store.mask);
}

static void add_element(sums *x, const tn_stmt *store, const tn_expr *load, int64_t times)
{
    uint64_t at;
    if (!tn_map_get(&x->number, tn_map_key(load), &at)) {
        if (x->n == x->cap) {
            x->cap = x->cap ? 2 * x->cap : 16;
            element *more = TN_NEW_N(x->f->arena, element, x->cap);
            for (uint32_t i = 0; i < x->n; i++)
                more[i] = x->element[i];
            x->element = more;
        }
        tn_map_put(&x->number, tn_map_key(load), at = x->n);
        x->element[x->n++] =
            (element){.load = load, .mask = is_register(x, load) ? NULL : store->u.store.mask};
    }
    element *e = &x->element[at];
    if (!is_register(x, load) && e->mask != store->u.store.mask)
        tn_map_put(&x->other, load->u.load.buffer, 1);
    e->weight = e->weight + times < INT32_MAX ? e->weight + times : INT32_MAX;
}

static void look_at_store(sums *x, tn_stmt *s, int64_t times, bool certain)
{
    int own = own_operand(s);
    const tn_expr *v = s->u.store.value;
    if (own < 0 || !fits(x, s, v->src[own], certain)) {
        tn_map_put(&x->other, s->u.store.buffer, 1);
        tn_stmt_exprs(s, note_loads, x);
        return;
    }
    for (int i = 0; i < v->nsrc; i++)
        if (i != own)
            note_loads(v->src[i], x);
    add_element(x, s, v->src[own], times);
}

/* How often a loop runs at most, as far as that is known; else 1. */
static int64_t most_turns(const sums *x, const tn_stmt *loop)
{
    int64_t n;
    if (tn_is_int(loop->u.loop.extent, &n))
        return n;
    tn_facts facts;
    tn_stmt_facts(x->f, loop, &facts);
    tn_range r = tn_bounds(&facts, loop->u.loop.extent);
    tn_facts_deinit(&facts);
    return r.hi < SHORT ? r.hi : 1;
}

/* times: how often the list runs in one turn of the loop; certain: always at least once */
static void look_at(sums *x, tn_body *b, int64_t times, bool certain)
{
    for (tn_stmt *s = b->first; s; s = s->next) {
        tn_body *body[2];
        int n = tn_stmt_bodies(s, body);
        if (s->kind == TN_S_STORE) {
            look_at_store(x, s, times, certain);
            continue;
        }
        if (s->kind == TN_S_BUFFER)
            tn_map_put(&x->other, s->u.decl.buffer, 1);
        tn_stmt_exprs(s, note_loads, x);
        if (s->kind == TN_S_FOR) {
            int64_t turns, most = most_turns(x, s);
            x->refused |= s->u.loop.kind == TN_LOOP_PARALLEL;
            look_at(x, body[0], most > 0 && times < INT32_MAX / most ? times * most : times,
                    certain && tn_is_int(s->u.loop.extent, &turns) && turns > 0);
        } else {
            for (int i = 0; i < n; i++)
                look_at(x, body[i], times, false);
        }
    }
}

/* Leaves the elements of buffers that are used for nothing else; returns the largest weight, 0: none are left. */
static int64_t choose(sums *x)
{
    uint32_t n = 0, in_memory = 0;
    int64_t weight = 0;
    uint64_t is;
    tn_map_clear(&x->number);
    for (uint32_t i = 0; i < x->n; i++) {
        element e = x->element[i];
        if (tn_map_get(&x->other, e.load->u.load.buffer, &is))
            continue;
        tn_map_put(&x->number, tn_map_key(e.load), n);
        x->element[n++] = e;
        in_memory += !is_register(x, e.load);
        weight = e.weight > weight ? e.weight : weight;
    }
    x->n = n;
    return in_memory <= MAX_IN_MEMORY ? weight : 0;
}

/* ---- the chunks ---- */

/* Turns of a chunk: such that all chunks are equal, if that is possible. */
static int64_t chunk_turns(int64_t turns, int64_t weight)
{
    for (int64_t n = MOST / weight; turns > 0 && n * weight >= LEAST; n--)
        if (turns % n == 0)
            return n;
    return weight < USUAL ? USUAL / weight : 1;
}

static uint32_t part_register(sums *x, const tn_expr *load)
{
    const tn_expr *one = tn_idx(x->f->pool, 1);
    tn_buffer b = {.name = "part",
                   .dtype = load->dtype,
                   .ndim = 1,
                   .dim = &one,
                   .scope = TN_SCOPE_REGISTER,
                   .param = -1};
    return tn_func_add_buffer(x->f, &b);
}

static const tn_expr *part_load(const sums *x, const element *e)
{
    const tn_expr *zero = tn_idx(x->f->pool, 0);
    return tn_load(x->f->pool, e->load->dtype, e->part, 1, &zero, NULL, NULL);
}

static tn_stmt *part_store(const sums *x, const element *e, const tn_expr *v, const tn_expr *mask)
{
    const tn_expr *zero = tn_idx(x->f->pool, 0);
    return tn_stmt_store(x->f, e->part, 1, &zero, v, mask);
}

/* Sums go to the parts: under their own masks if they went to registers; else one mask holds for the whole loop. */
static void redirect(tn_stmt *s, void *user)
{
    sums *x = user;
    uint64_t at;
    int own = s->kind == TN_S_STORE ? own_operand(s) : -1;
    if (own < 0 || !tn_map_get(&x->number, tn_map_key(s->u.store.value->src[own]), &at))
        return;
    const element *e = &x->element[at];
    const tn_expr *v = s->u.store.value, *part = part_load(x, e), *sum;
    if (is_call(v))
        sum = tn_expr_with(x->f->pool, v, (const tn_expr *[]){part, v->src[1], v->src[2]});
    else
        sum = tn_add(x->f->pool, v->src[1 - own], part);
    tn_stmt_replace(s, part_store(x, e, sum, is_register(x, e->load) ? s->u.store.mask : NULL));
}

static void split_loop(sums *x, int64_t turns)
{
    tn_pool *p = x->f->pool;
    tn_stmt *l = x->loop;
    const tn_expr *k = l->u.loop.var, *n = l->u.loop.extent, *c = tn_func_add_var(x->f, "chunk", k->dtype),
                  *first = tn_mul(p, c, tn_idx(p, turns)), *at = tn_add(p, first, k);
    int64_t known;
    bool equal = tn_is_int(n, &known) && known % turns == 0;
    tn_stmt *inner = tn_stmt_for(
        x->f, k, equal ? tn_idx(p, turns) : tn_min(p, tn_idx(p, turns), tn_sub(p, n, first)), TN_LOOP_SERIAL);
    tn_body_move(&inner->u.loop.body, NULL, &l->u.loop.body);
    for (tn_stmt *s = inner->u.loop.body.first; s; s = s->next)
        tn_stmt_subst(x->f, s, 1, &k, &at);
    tn_body_append(&l->u.loop.body, inner);
    l->u.loop.var = c;
    l->u.loop.extent = tn_simplify(p, NULL, tn_ceildiv(p, n, turns));
}

static void make_chunks(sums *x, int64_t turns)
{
    tn_pool *p = x->f->pool;
    tn_body *body = &x->loop->u.loop.body;
    for (uint32_t i = 0; i < x->n; i++)
        x->element[i].part = part_register(x, x->element[i].load);
    tn_stmt_walk(body, NULL, redirect, x);
    if (turns > 1)
        split_loop(x, turns);
    tn_stmt *first = body->first;
    for (uint32_t i = 0; i < x->n; i++) {
        const element *e = &x->element[i];
        const tn_expr *index = e->load->src[0], *sum = tn_add(p, e->load, part_load(x, e));
        tn_body_insert(body, first, tn_stmt_decl(x->f, e->part));
        tn_body_insert(body, first, part_store(x, e, tn_const(p, e->load->dtype, 0), NULL));
        tn_body_append(body, tn_stmt_store(x->f, e->load->u.load.buffer, 1, &index, sum, e->mask));
    }
}

/* ---- what begins a sum inside the loop ---- */

/* The condition without its part `k is 0`; NULL: it has none. What is always true if nothing is left. */
static const tn_expr *beyond_first(tn_pool *p, const tn_expr *cond, const tn_expr *k)
{
    if (cond == tn_eq(p, k, tn_int(p, k->dtype, 0)))
        return tn_bool(p, true);
    if (cond->kind != TN_E_AND)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const tn_expr *less = beyond_first(p, cond->src[i], k);
        if (less)
            return tn_and(p, less, cond->src[1 - i]);
    }
    return NULL;
}

/* What a loop does first, and in its first turn alone, moves out of it: unscheduled sums begin so. */
static void move_first_out(tn_func *f, tn_stmt *loop)
{
    tn_pool *p = f->pool;
    const tn_expr *k = loop->u.loop.var, *zero = tn_int(p, k->dtype, 0), *cond;
    tn_stmt *s;
    while ((s = loop->u.loop.body.first) && s->kind == TN_S_IF && !s->u.cond.other.first &&
           (cond = beyond_first(p, s->u.cond.cond, k))) {
        int64_t turns;
        bool runs = tn_is_int(loop->u.loop.extent, &turns) && turns > 0;
        cond = tn_subst(p, cond, 1, &k, &zero);
        tn_stmt_remove(s);
        tn_stmt_subst(f, s, 1, &k, &zero);
        s->u.cond.cond = runs ? cond : tn_and(p, cond, tn_lt(p, zero, loop->u.loop.extent));
        tn_body_insert(loop->list, loop, s);
        if (tn_is_value(s->u.cond.cond, 1)) {
            tn_body_move(loop->list, s, &s->u.cond.then);
            tn_stmt_remove(s);
        }
    }
}

static int64_t square_root(int64_t n)
{
    int64_t r = 1;
    while (r * r < n)
        r++;
    return r;
}

/* true: the loop runs over chunks now; `again`: it did before. */
static bool chunk_loop(tn_func *f, tn_stmt *loop, bool again)
{
    sums x = {.f = f, .loop = loop};
    int64_t turns = -1;
    tn_map_put(&x.inside, tn_map_key(loop->u.loop.var), 1);
    tn_stmt_walk(&loop->u.loop.body, tn_note_definition, NULL, &x.inside);
    look_at(&x, &loop->u.loop.body, 1, true);
    int64_t weight = x.refused ? 0 : choose(&x);
    bool known = tn_is_int(loop->u.loop.extent, &turns), is_long = false;
    if (weight > 0 && again)
        is_long = turns > MANY;
    else if (weight > 0)
        is_long = (known                       ? turns
                   : most_turns(&x, loop) == 1 ? SHORT + 1
                                               : most_turns(&x, loop)) > SHORT / weight;
    if (is_long)
        make_chunks(&x, again ? square_root(turns) : chunk_turns(turns, weight));
    tn_map_deinit(&x.number);
    tn_map_deinit(&x.other);
    tn_map_deinit(&x.inside);
    return is_long && known;
}

static void visit(tn_stmt *s, void *user)
{
    if (s->kind != TN_S_FOR || s->u.loop.kind != TN_LOOP_SERIAL || !tn_dtype_is_index(s->u.loop.var->dtype))
        return;
    move_first_out(user, s);
    for (bool again = false; chunk_loop(user, s, again); again = true) {}
}

tn_status tn_lower_chunk_sums(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    if (!f->strict)
        tn_stmt_walk(&f->body, NULL, visit, f);
    return TN_OK;
}
