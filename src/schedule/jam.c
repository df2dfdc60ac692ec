/* Step jam: the iterations that a loop makes of a list of statements run side by side, statement by statement, so that
 * each hides what the others wait for (unroll and jam).
 *
 *     for r < 4: block b(i: spatial = o*4 + r): c[0] = root; for k < n: c[0] = next(c[0]); y[i] = c[0]
 *
 * becomes a block of its own with copies inside, whose loops are unrolled:
 *
 *     block b(o: spatial):
 *       for r < 4: block b.1(i, r): c[r, 0] = root
 *       for k < n, r < 4: block b.2(i, r): c[r, 0] = next(c[r, 0])
 *       for r < 4: block b.3(i, r): y[i] = c[r, 0]
 *
 * What the list declares has an element for each copy, also values with names that are used behind a loop. A loop
 * inside whose extent differs among the copies is written twice: as far as all copies go, and for the rest with a
 * condition. The mask of the new block is what the old one's says of the first copy: a mask that another copy may meet
 * alone is refused.
 *
 * With copies=inner, the copy is the last index, c[0, r], and the loops of the copies stay serial: what the copies have
 * lies beside each other, so these loops may be vectors.
 */
#include "base/size.h"
#include "schedule/sched_impl.h"

#include <string.h>

enum { MAX_COPIES = 64, MAX_BYTES = 1 << 30 };

typedef struct {
    tn_sched *s;
    tn_stmt *loop, *block, *outer; /* outer: what takes the loop's place */
    int64_t n;                     /* copies */
    bool inner;                    /* their index is the last */
    bool *differs, *own;           /* by variable: among copies; by buffer: declared in the block */
    uint32_t n_var, n_buffer;      /* that they are for; others are the same, and not the block's */
    int n_around, n_part;
    tn_stmt *around[TN_MAX_LOOPS]; /* loops that drive the block, outermost first */
    const tn_expr *first;          /* of the mask, over loops: what the first copy needs; NULL: nothing */
    /* variables of the old block and its loops, over those of the new one and the loop's own */
    int n_from;
    const tn_expr *from[2 * TN_MAX_LOOPS], *to[2 * TN_MAX_LOOPS];
} jam;

static const tn_expr *var_of(const jam *j) { return j->loop->u.loop.var; }

/* ---- what differs among the copies ---- */

static bool is_same(const tn_expr *e, void *user)
{
    const jam *j = user;
    if (e->kind == TN_E_VAR)
        return e->u.i >= j->n_var || !j->differs[e->u.i];
    return e->kind != TN_E_LOAD || e->u.load.buffer >= j->n_buffer || !j->own[e->u.load.buffer];
}

static bool differs(const jam *j, const tn_expr *e) { return !tn_each(e, is_same, (void *)(uintptr_t)j); }

static bool *longer(const jam *j, const bool *at, uint32_t n, uint32_t to)
{
    bool *all = TN_NEW_N(j->s->arena, bool, to);
    for (uint32_t i = 0; i < n; i++)
        all[i] = at[i];
    return all;
}

/* Room for variables and buffers that were added. */
static void know_all(jam *j)
{
    const tn_func *f = j->s->func;
    j->differs = longer(j, j->differs, j->n_var, f->n_var);
    j->own = longer(j, j->own, j->n_buffer, f->n_buffer);
    j->n_var = f->n_var;
    j->n_buffer = f->n_buffer;
}

/* Dimensions or indices, n, of what the block declares, with that of the copy, `at`; room for one more is in `out`. */
static void with_copy(const jam *j, uint32_t n, const tn_expr *const from[], const tn_expr *at,
                      const tn_expr *out[])
{
    uint32_t first = !j->inner;
    out[j->inner ? n : 0] = at;
    for (uint32_t d = 0; d < n; d++)
        out[d + first] = from[d];
}

/* ---- checks ---- */

static bool is_nested(tn_stmt *x, void *user)
{
    *(bool *)user |= x->kind == TN_S_FOR || x->kind == TN_S_BLOCK || x->kind == TN_S_BUFFER;
    return true;
}

static bool holds_lists(tn_stmt *branch)
{
    bool found = false;
    tn_body *body[2];
    int n = tn_stmt_bodies(branch, body);
    for (int i = 0; i < n; i++)
        tn_stmt_walk(body[i], is_nested, NULL, &found);
    return found;
}

typedef struct {
    const tn_expr *var;
    bool found;
} use;

static const tn_expr *look_for_use(const tn_expr *e, void *user)
{
    use *u = user;
    u->found |= tn_uses(e, u->var);
    return e;
}

static bool used_in(tn_stmt *x, const tn_expr *var)
{
    use u = {var, false};
    tn_body *body[2];
    int n = tn_stmt_bodies(x, body);
    tn_stmt_exprs(x, look_for_use, &u);
    for (int i = 0; i < n && !u.found; i++)
        u.found = tn_body_uses(body[i], var);
    return u.found;
}

/* Is a value used in or behind a loop that stands behind it in its list? */
static bool outlives_part(tn_stmt *let)
{
    bool behind = false, used = false;
    for (tn_stmt *x = let->next; x && !used; x = x->next) {
        behind |= x->kind == TN_S_FOR;
        used = behind && used_in(x, let->u.let.var);
    }
    return used;
}

/* Is the box, of so many constant extents, within what a task may have? Lists of long rows have much of their own. */
static bool fits_task(const tn_box *box, tn_dtype t)
{
    int64_t bytes = tn_dtype_bytes(t), extent;
    for (uint32_t d = 0; d < box->ndim; d++)
        if (!tn_is_int(box->extent[d], &extent) || !tn_i64_mul(bytes, extent, &bytes) || bytes > MAX_BYTES)
            return false;
    return true;
}

static tn_verdict check_memory(jam *j, uint32_t buffer)
{
    const tn_buffer *b = &j->s->func->buffer[buffer];
    tn_box box = {.ndim = b->ndim + 1u};
    if ((b->scope != TN_SCOPE_LOCAL && b->scope != TN_SCOPE_REGISTER) || b->layout || box.ndim > TN_BOX_DIMS)
        return TN_REJECT_SCOPE;
    with_copy(j, b->ndim, b->dim, j->loop->u.loop.extent, box.extent);
    j->own[buffer] = true;
    if (b->scope == TN_SCOPE_LOCAL)
        return fits_task(&box, b->dtype) ? TN_DONE : TN_REJECT_SCOPE;
    return tn_box_fits(&box, b->dtype, b->scope);
}

/* guarded: copies leave a loop around the list at different turns. */
static tn_verdict check_list(jam *j, tn_body *list, bool guarded, int depth)
{
    tn_verdict v = depth < TN_MAX_LOOPS ? TN_DONE : TN_REJECT_NEST;
    for (tn_stmt *x = list->first; x && v == TN_DONE; x = x->next) {
        bool varies = false;
        switch (x->kind) {
        case TN_S_BLOCK: return TN_REJECT_NEST;
        case TN_S_BUFFER: v = check_memory(j, x->u.decl.buffer); break;
        case TN_S_IF: v = holds_lists(x) ? TN_REJECT_NEST : TN_DONE; break;
        case TN_S_LET:
            /* one copy alone may have stored what it loads */
            varies = differs(j, x->u.let.value) || (j->n == 1 && x->u.let.value->has_load);
            j->differs[x->u.let.var->u.i] = varies;
            if (varies && tn_dtype_is_index(x->u.let.var->dtype) && outlives_part(x))
                return TN_REJECT_NEST; /* no memory holds it */
            break;
        case TN_S_FOR:
            varies = differs(j, x->u.loop.extent);
            if (x->u.loop.kind != TN_LOOP_SERIAL)
                return TN_REJECT_LOOP;
            if (varies && (guarded || !tn_each(x->u.loop.extent, tn_is_total, NULL)))
                return TN_REJECT_NEST; /* the mask of a copy says nothing to a quotient */
            v = check_list(j, &x->u.loop.body, guarded || varies, depth + 1);
            break;
        default: break;
        }
    }
    return v;
}

static tn_verdict check_block(jam *j)
{
    const tn_stmt *b = j->block;
    if (b->u.block.init.first || b->u.block.n_iter >= TN_MAX_LOOPS || tn_block_scans(b))
        return TN_REJECT_REDUCE;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        if (b->u.block.iter[i].kind != TN_ITER_SPATIAL)
            return TN_REJECT_REDUCE;
    return tn_loop_feeds(j->s, j->loop, b, TN_ITER_SPATIAL) ? TN_DONE : TN_REJECT_DEPEND;
}

static tn_verdict check(jam *j)
{
    j->block = tn_body_only(&j->loop->u.loop.body);
    if (j->loop->u.loop.kind != TN_LOOP_SERIAL)
        return TN_REJECT_LOOP;
    if (!tn_is_int(j->loop->u.loop.extent, &j->n) || j->n < 1 || j->n > MAX_COPIES)
        return TN_REJECT_FACTOR;
    if (!j->block || j->block->kind != TN_S_BLOCK)
        return TN_REJECT_NEST;
    tn_verdict v = check_block(j);
    for (tn_stmt *l = tn_stmt_parent(j->loop); l && v == TN_DONE; l = tn_stmt_parent(l)) {
        if (l->kind != TN_S_FOR || l->u.loop.kind == TN_LOOP_VECTOR || l->u.loop.kind == TN_LOOP_TENSOR)
            return TN_REJECT_LOOP;
        if (tn_loop_feeds(j->s, l, j->block, TN_ITER_SPATIAL))
            j->around[j->n_around++] = l;
    }
    if (v != TN_DONE)
        return v;
    know_all(j);
    j->differs[var_of(j)->u.i] = true;
    for (uint32_t i = 0; i < j->block->u.block.n_iter; i++)
        j->differs[j->block->u.block.iter[i].var->u.i] = tn_uses(j->block->u.block.iter[i].value, var_of(j));
    const tn_expr *l = var_of(j);
    if (!tn_first_turn(j->s, j->block, 1, &l, &j->first))
        return TN_REJECT_MASK;
    return check_list(j, &j->block->u.block.body, false, 0);
}

/* ---- memory of the copies ---- */

static const tn_expr *index_load(tn_pool *p, const tn_expr *e, void *user)
{
    const jam *j = user;
    const tn_expr *index[TN_BOX_DIMS];
    if (e->kind != TN_E_LOAD || !j->own[e->u.load.buffer])
        return NULL;
    with_copy(j, e->u.load.n_index, e->src, var_of(j), index);
    return tn_load(p, e->dtype, e->u.load.buffer, (int)e->u.load.n_index + 1, index, tn_load_mask(e),
                   tn_load_other(e));
}

static const tn_expr *index_expr(const tn_expr *e, void *user)
{
    const jam *j = user;
    return e->has_load ? tn_rewrite(j->s->func->pool, e, index_load, user) : e;
}

/* Accesses to what the block declares get the copy as an index. */
static bool index_stmt(tn_stmt *x, void *user)
{
    const jam *j = user;
    tn_stmt_exprs(x, index_expr, user);
    if (x->kind != TN_S_STORE || !j->own[x->u.store.buffer])
        return true;
    const tn_expr **index = TN_NEW_N(j->s->func->arena, const tn_expr *, x->u.store.n_index + 1);
    with_copy(j, x->u.store.n_index, x->u.store.index, var_of(j), index);
    x->u.store.index = index;
    x->u.store.n_index++;
    return true;
}

static void widen(jam *j, uint32_t buffer)
{
    tn_buffer *b = &j->s->func->buffer[buffer];
    const tn_expr **dim = TN_NEW_N(j->s->func->arena, const tn_expr *, b->ndim + 1u);
    with_copy(j, b->ndim, b->dim, j->loop->u.loop.extent, dim);
    b->dim = dim;
    b->ndim++;
}

/* An element of each copy, declared at the end of the list. */
static uint32_t cells(jam *j, const char *name, tn_dtype t, tn_body *to, tn_stmt *before)
{
    tn_func *f = j->s->func;
    tn_buffer b = {.name = name, .dtype = t, .ndim = 1, .scope = TN_SCOPE_REGISTER, .param = -1};
    b.dim = (const tn_expr *const[]){j->loop->u.loop.extent};
    uint32_t number = tn_func_add_buffer(f, &b);
    tn_body_insert(to, before, tn_stmt_decl(f, number));
    return number;
}

/* ---- parts: statements of which one copy follows the other ---- */

typedef struct {
    tn_body *to;           /* list that is made */
    const tn_expr *guard;  /* over the old loop: which copies take part; NULL: all */
    tn_stmt *loop, *block; /* of the part at hand; NULL: none */
    const tn_expr *from[2 * TN_MAX_LOOPS + 1], *into[2 * TN_MAX_LOOPS + 1];
} part;

/* What is the same in all copies, where the new block's iterations and the loops inside of it are known. */
static const tn_expr *shared(const jam *j, const tn_expr *e)
{
    return tn_subst(j->s->func->pool, e, j->n_from, j->from, j->to);
}

static const tn_expr *of_copy(const jam *j, const tn_expr *e, int64_t k)
{
    const tn_expr *at = tn_idx(j->s->func->pool, k), *l = var_of(j);
    return tn_subst(j->s->func->pool, shared(j, e), 1, &l, &at);
}

static void open_part(jam *j, part *x)
{
    tn_func *f = j->s->func;
    tn_pool *p = f->pool;
    const tn_stmt *b = j->block;
    uint32_t n = b->u.block.n_iter;
    const char *name = tn_sched_var_name(j->s, var_of(j));
    const tn_expr *at = tn_func_add_var(f, name, TN_IDX), *copy = tn_func_add_var(f, name, TN_IDX),
                  *l = var_of(j);
    x->loop = tn_stmt_for(f, at, j->loop->u.loop.extent, j->inner ? TN_LOOP_SERIAL : TN_LOOP_UNROLLED);
    x->block = tn_stmt_block(f, tn_arena_printf(j->s->arena, "%s.%d", b->u.block.name, ++j->n_part),
                             b->u.block.tag, (int)n + 1);
    x->block->u.block.source = b->u.block.source;
    for (uint32_t i = 0; i < n; i++) {
        const tn_iter *it = &b->u.block.iter[i];
        x->from[i] = it->var;
        x->into[i] = tn_func_add_var(f, tn_sched_var_name(j->s, it->var), TN_IDX);
        x->block->u.block.iter[i] =
            (tn_iter){x->into[i], it->extent, tn_subst(p, shared(j, it->value), 1, &l, &at), it->kind};
    }
    x->block->u.block.iter[n] = (tn_iter){copy, j->loop->u.loop.extent, at, TN_ITER_SPATIAL};
    for (int i = 0; i < j->n_around; i++) {
        x->from[n + (uint32_t)i] = j->around[i]->u.loop.var;
        x->into[n + (uint32_t)i] = j->outer->u.block.iter[i].var;
    }
    x->from[n + (uint32_t)j->n_around] = l;
    x->into[n + (uint32_t)j->n_around] = copy;
    int all = (int)n + j->n_around + 1;
    if (b->u.block.mask)
        x->block->u.block.mask = tn_subst(p, b->u.block.mask, all, x->from, x->into);
    if (x->guard)
        tn_block_add_mask(j->s, x->block, tn_subst(p, x->guard, all, x->from, x->into));
    tn_body_append(&x->loop->u.loop.body, x->block);
    tn_body_append(x->to, x->loop);
}

static void put(jam *j, part *x, tn_stmt *s)
{
    if (!x->loop)
        open_part(j, x);
    tn_stmt_subst(j->s->func, s, (int)j->block->u.block.n_iter + j->n_around + 1, x->from, x->into);
    tn_body_append(&x->block->u.block.body, s);
}

/* The values of the part at hand that statements from `rest` on use move to memory. */
static void close_part(jam *j, part *x, tn_stmt *rest)
{
    tn_func *f = j->s->func;
    for (tn_stmt *s = x->loop ? x->block->u.block.body.first : NULL; s; s = s->next) {
        const tn_expr *var = s->kind == TN_S_LET ? s->u.let.var : NULL, *l = var_of(j);
        bool used = false;
        for (tn_stmt *r = rest; var && r && !used; r = r->next)
            used = used_in(r, var);
        if (!used)
            continue;
        const tn_expr *copy = x->block->u.block.iter[j->block->u.block.n_iter].var;
        uint32_t cell = cells(j, tn_sched_var_name(j->s, var), var->dtype, x->to, x->loop);
        const tn_expr *load = tn_load(f->pool, var->dtype, cell, 1, &l, NULL, NULL);
        tn_body_insert(s->list, s->next, tn_stmt_store(f, cell, 1, &copy, var, NULL));
        for (tn_stmt *r = rest; r; r = r->next)
            tn_stmt_subst(f, r, 1, &var, &load);
    }
    x->loop = x->block = NULL;
}

/* ---- lists and loops ---- */

static void jam_list(jam *j, tn_body *from, tn_body *to, const tn_expr *guard);

static void jam_turns(jam *j, tn_stmt *loop, const tn_expr *extent, tn_body *to, const tn_expr *guard)
{
    tn_body list = {0};
    tn_body_move(&list, NULL, &loop->u.loop.body);
    loop->u.loop.extent = extent;
    tn_body_append(to, loop);
    jam_list(j, &list, &loop->u.loop.body, guard);
}

/* How many turns each copy makes, at least none; a copy that the mask leaves out makes as many as the first. */
static uint32_t count_turns(jam *j, const tn_expr *extent, tn_body *to)
{
    tn_func *f = j->s->func;
    tn_pool *p = f->pool;
    const tn_expr *mask = j->block->u.block.mask;
    uint32_t turns = cells(j, "turns", TN_I64, to, NULL);
    mask = mask ? tn_block_over_loops(j->s, j->block, mask) : NULL;
    for (int64_t k = 0; k < j->n; k++) {
        const tn_expr *at = tn_idx(p, k), *n = of_copy(j, extent, k);
        const tn_expr *where = mask && k ? of_copy(j, mask, k) : NULL;
        n = where ? tn_select(p, where, tn_guard_loads(p, n, where), of_copy(j, extent, 0)) : n;
        n = tn_max(p, n, tn_idx(p, 0));
        tn_body_append(to, tn_stmt_store(f, turns, 1, &at, tn_cast(p, TN_I64, n), NULL));
    }
    return turns;
}

static const tn_expr *turns_of(const jam *j, uint32_t turns, const tn_expr *copy)
{
    tn_pool *p = j->s->func->pool;
    return tn_cast(p, TN_IDX, tn_load(p, TN_I64, turns, 1, &copy, NULL, NULL));
}

static const tn_expr *named(jam *j, const char *name, const tn_expr *value, tn_body *to)
{
    const tn_expr *var = tn_func_add_var(j->s->func, name, TN_IDX);
    tn_body_append(to, tn_stmt_let(j->s->func, var, value));
    return var;
}

/* Turns that all copies make, and those that some do. */
static void jam_both(jam *j, tn_stmt *loop, tn_body *to, const tn_expr *guard)
{
    tn_func *f = j->s->func;
    tn_pool *p = f->pool;
    tn_stmt *rest = tn_stmt_clone_fresh(f, loop, ".rest");
    uint32_t turns = count_turns(j, loop->u.loop.extent, to);
    const tn_expr *least = turns_of(j, turns, tn_idx(p, 0)), *most = least;
    for (int64_t k = 1; k < j->n; k++) {
        least = tn_min(p, least, turns_of(j, turns, tn_idx(p, k)));
        most = tn_max(p, most, turns_of(j, turns, tn_idx(p, k)));
    }
    least = named(j, "least", least, to);
    most = named(j, "most", most, to);
    jam_turns(j, loop, least, to, guard);
    const tn_expr *old = rest->u.loop.var, *var = tn_func_add_var(f, tn_sched_var_name(j->s, old), TN_IDX),
                  *turn = tn_add(p, var, least);
    for (tn_stmt *x = rest->u.loop.body.first; x; x = x->next)
        tn_stmt_subst(f, x, 1, &old, &turn);
    rest->u.loop.var = var;
    know_all(j);
    tn_verdict v = check_list(j, &rest->u.loop.body, true, 0);
    TN_ASSERT(v == TN_DONE); /* the first half was */
    jam_turns(j, rest, tn_sub(p, most, least), to, tn_lt(p, turn, turns_of(j, turns, var_of(j))));
}

static void jam_list(jam *j, tn_body *from, tn_body *to, const tn_expr *guard)
{
    part x = {.to = to, .guard = guard};
    for (tn_stmt *s = from->first; s; s = from->first) {
        if (s->kind == TN_S_FOR)
            close_part(j, &x, s);
        tn_stmt_remove(s);
        if (s->kind == TN_S_FOR && differs(j, s->u.loop.extent)) {
            jam_both(j, s, to, guard);
        } else if (s->kind == TN_S_FOR) {
            jam_turns(j, s, shared(j, s->u.loop.extent), to, guard);
        } else if (s->kind == TN_S_BUFFER) {
            widen(j, s->u.decl.buffer);
            tn_body_insert(to, x.loop, s);
        } else if (s->kind == TN_S_LET && !j->differs[s->u.let.var->u.i]) {
            s->u.let.value = shared(j, s->u.let.value);
            tn_body_insert(to, x.loop, s);
        } else {
            put(j, &x, s);
        }
    }
}

/* ---- the step ---- */

/* The block whose iterations are the loops around; its variables stand for theirs. */
static void make_outer(jam *j)
{
    tn_func *f = j->s->func;
    const tn_stmt *b = j->block;
    j->outer = tn_stmt_block(f, b->u.block.name, b->u.block.tag, j->n_around);
    j->outer->u.block.name = b->u.block.name; /* it stands for the old one */
    j->outer->u.block.source = b->u.block.source;
    for (int i = 0; i < j->n_around; i++) {
        const tn_stmt *l = j->around[i];
        const tn_expr *var = tn_func_add_var(f, tn_sched_var_name(j->s, l->u.loop.var), TN_IDX);
        j->outer->u.block.iter[i] = (tn_iter){var, l->u.loop.extent, l->u.loop.var, TN_ITER_SPATIAL};
        j->from[j->n_from] = l->u.loop.var;
        j->to[j->n_from++] = var;
    }
    for (uint32_t i = 0; i < b->u.block.n_iter; i++) {
        j->from[j->n_from] = b->u.block.iter[i].var;
        j->to[j->n_from] = tn_subst(f->pool, b->u.block.iter[i].value, j->n_around, j->from, j->to);
        j->n_from++;
    }
}

tn_verdict tn_do_jam(tn_sched *s, tn_step *t)
{
    const tn_arg *copies = tn_step_key(t, "copies");
    jam j = {.s = s, .loop = tn_sched_loop(s, t->in[0]), .inner = copies};
    if (t->narg != (copies != NULL))
        return TN_REJECT_ARITY;
    tn_verdict v = copies && (!copies->s || strcmp(copies->s, "inner") != 0) ? TN_REJECT_NAME : check(&j);
    if (v != TN_DONE)
        return v;
    for (int i = 0; i < j.n_around / 2; i++) { /* they were collected from the inside */
        tn_stmt *l = j.around[i];
        j.around[i] = j.around[j.n_around - 1 - i];
        j.around[j.n_around - 1 - i] = l;
    }
    tn_body list = {0};
    tn_stmt_walk(&j.block->u.block.body, index_stmt, NULL, &j);
    make_outer(&j);
    tn_body_move(&list, NULL, &j.block->u.block.body);
    tn_stmt_replace(j.loop, j.outer);
    if (j.first)
        tn_block_need(s, j.outer, shared(&j, j.first));
    tn_sched_consume(s, j.loop);
    jam_list(&j, &list, &j.outer->u.block.body, NULL);
    return TN_DONE;
}
