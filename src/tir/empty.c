/* Reductions of nothing: a loop that blocks reduce along may have no iterations, and then their init has to run all the
 * same. Where the loop holds loops and blocks alone, it begins once with the bodies masked, which costs least. Else the
 * inits run in front of it, in a copy of the loop that holds nothing else. */
#include "tir/func.h"

enum { MAX_LOOPS = 16 };

typedef struct {
    tn_func *f;
    const tn_expr *var;             /* of the loop */
    const tn_expr *loop[MAX_LOOPS]; /* this variable and those of the loops in it */
    int n_loop;
    bool reduces, other; /* a block reduces along it; something prevents that it begins empty */
    const tn_expr *cond; /* goes to the masks of the blocks; NULL: none does */
} reduction;

/* Is it defined whatever the symbols are? */
static bool divides_by_number(const tn_expr *e, void *user)
{
    int64_t n;
    (void)user;
    return e->kind < TN_E_FLOORDIV || e->kind > TN_E_TRUNCMOD || tn_is_int(e->src[1], &n);
}

/* Is it 0 in the first iteration of all loops? Only there may the init run. */
static bool begins_at_zero(const reduction *r, const tn_expr *e)
{
    const tn_expr *zero[MAX_LOOPS];
    int64_t n;
    for (int i = 0; i < r->n_loop; i++)
        zero[i] = tn_idx(r->f->pool, 0);
    e = tn_subst(r->f->pool, e, r->n_loop, r->loop, zero);
    return tn_is_int(tn_simplify(r->f->pool, NULL, e), &n) && n == 0;
}

static void look_at_block(reduction *r, tn_stmt *s)
{
    bool along = false;
    const tn_expr *mask = s->u.block.mask;
    r->other = r->other || (mask && (mask->has_load || !tn_each(mask, divides_by_number, NULL)));
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        bool uses = tn_uses(it->value, r->var);
        along = along || (uses && it->kind == TN_ITER_REDUCE);
        r->other = r->other || (uses && s->u.block.init.first && it->kind == TN_ITER_SPATIAL) ||
                   (uses && !tn_each(it->value, divides_by_number, NULL)) ||
                   (it->kind == TN_ITER_REDUCE && !begins_at_zero(r, it->value));
    }
    r->reduces = r->reduces || (along && s->u.block.init.first);
    r->other = r->other || tn_body_uses(&s->u.block.init, r->var);
    r->other = r->other || (!along && s->u.block.init.first);
}

static bool look(tn_stmt *s, void *user)
{
    reduction *r = user;
    if (s->kind == TN_S_BLOCK)
        look_at_block(r, s);
    else
        r->other = r->other || s->kind != TN_S_FOR || r->n_loop == MAX_LOOPS;
    if (s->kind == TN_S_FOR && !r->other)
        r->loop[r->n_loop++] = s->u.loop.var;
    return s->kind == TN_S_FOR || s->kind == TN_S_IF;
}

static bool narrow(tn_stmt *s, void *user)
{
    reduction *r = user;
    if (s->kind == TN_S_BLOCK)
        s->u.block.mask = s->u.block.mask ? tn_and(r->f->pool, r->cond, s->u.block.mask) : r->cond;
    return s->kind == TN_S_FOR;
}

/* ---- the inits in front of the loop ---- */

static bool reduces_along(const tn_stmt *s, const tn_expr *var)
{
    bool along = false;
    for (uint32_t i = 0; i < s->u.block.n_iter; i++)
        along =
            along || (s->u.block.iter[i].kind == TN_ITER_REDUCE && tn_uses(s->u.block.iter[i].value, var));
    return along && s->u.block.init.first;
}

static void clear(tn_body *b)
{
    while (b->first)
        tn_stmt_remove(b->first);
}

/* Leaves the init of a block that reduces along the variable; false: there is nothing to leave. */
static bool leave_init(tn_func *f, tn_stmt *s, const tn_expr *var)
{
    if (!reduces_along(s, var) || tn_body_uses(&s->u.block.init, var))
        return false; /* an init that says which iteration it is begins nothing before the loop */
    clear(&s->u.block.body);
    s->u.block.mask = NULL;
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        tn_iter *it = &s->u.block.iter[i];
        if (it->kind == TN_ITER_REDUCE) {
            it->value = tn_idx(f->pool, 0);
            it->extent = tn_max(f->pool, it->extent, tn_idx(f->pool, 1));
        } else if (tn_uses(it->value, var)) {
            return false; /* which elements they are is not known */
        }
    }
    return true;
}

/* Is it the same before the loop as in it? */
static bool outside(const tn_expr *e, const tn_expr *var) { return !e->has_load && !tn_uses(e, var); }

static void leave_inits(tn_func *f, tn_body *b, const tn_expr *var);

/* Of a loop in it; one that no element depends on runs once, also if it would have no iterations. */
static bool leave_loop(tn_func *f, tn_stmt *s, const tn_expr *var)
{
    if (!outside(s->u.loop.extent, var))
        return false;
    leave_inits(f, &s->u.loop.body, var);
    if (tn_body_uses(&s->u.loop.body, s->u.loop.var))
        return true;
    tn_body_move(s->list, s, &s->u.loop.body);
    return false;
}

/* Of an if, whose condition may say which elements there are. */
static bool leave_branches(tn_func *f, tn_stmt *s, const tn_expr *var)
{
    if (!outside(s->u.cond.cond, var))
        return false;
    leave_inits(f, &s->u.cond.then, var);
    leave_inits(f, &s->u.cond.other, var);
    return s->u.cond.then.first || s->u.cond.other.first;
}

/* Leaves the inits of what reduces along the variable, and what they need. Nothing stays that follows a name for a
 * value which the loop alone knows: it may use it. Depth: that of loops. */
static void leave_inits(tn_func *f, tn_body *b, const tn_expr *var)
{
    bool known = true;
    for (tn_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        known = known && (s->kind != TN_S_LET || outside(s->u.let.value, var));
        bool stays = known && (s->kind == TN_S_FOR     ? leave_loop(f, s, var)
                               : s->kind == TN_S_IF    ? leave_branches(f, s, var)
                               : s->kind == TN_S_BLOCK ? leave_init(f, s, var)
                                                       : s->kind == TN_S_LET || s->kind == TN_S_BUFFER);
        if (!stays)
            tn_stmt_remove(s);
    }
}

static void init_before(tn_func *f, tn_stmt *loop)
{
    tn_stmt *copy = tn_stmt_clone_fresh(f, loop, ".empty");
    leave_inits(f, &copy->u.loop.body, copy->u.loop.var);
    if (!copy->u.loop.body.first)
        return;
    tn_stmt *empty = tn_stmt_if(f, tn_lt(f->pool, loop->u.loop.extent, tn_idx(f->pool, 1)));
    tn_body_move(&empty->u.cond.then, NULL, &copy->u.loop.body);
    tn_body_insert(loop->list, loop, empty);
}

static bool begin_empty(tn_stmt *s, void *user)
{
    tn_func *f = user;
    tn_facts facts;
    if (s->kind != TN_S_FOR)
        return true;
    reduction r = {.f = f, .var = s->u.loop.var, .loop = {s->u.loop.var}, .n_loop = 1};
    const tn_expr *n = s->u.loop.extent, *one = tn_idx(f->pool, 1);
    tn_stmt_walk(&s->u.loop.body, look, NULL, &r);
    if (!r.reduces)
        return true;
    tn_stmt_facts(f, s, &facts);
    bool known = tn_prove(f->pool, &facts, tn_le(f->pool, one, n)) == 1;
    tn_facts_deinit(&facts);
    if (!known && r.other) {
        init_before(f, s);
    } else if (!known) {
        s->u.loop.extent = tn_max(f->pool, n, one);
        r.cond = tn_lt(f->pool, s->u.loop.var, n);
        tn_stmt_walk(&s->u.loop.body, narrow, NULL, &r);
    }
    return true;
}

void tn_func_begin_empty(tn_func *f) { tn_stmt_walk(&f->body, begin_empty, NULL, f); }
