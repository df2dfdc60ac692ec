/* The end of a construction: parameters, buffer declarations, and for each tensor that is needed and not
 * inlined one perfect loop nest (spatial axes, then reduction axes) around one block whose iterations are the
 * loop variables.
 *
 * A block's own variables are the tensor's axes, so values go in as they are, simplified with the ranges of
 * the axes. Tensors nobody reads are left out, so are loops that would run over nothing: an empty tensor has
 * no nest, a reduction over nothing is its initial value. The statement order is the order of definition.
 * Of the tensors that one extern body defines, those nobody reads have neither memory nor stores.
 */
#include "te/te.h"

static const tn_expr *acc_update(tn_pool *p, enum tn_reducer r, const tn_expr *acc, const tn_expr *term)
{
    switch (r) {
    case TN_RED_SUM: return tn_add(p, acc, term);
    case TN_RED_PROD: return tn_mul(p, acc, term);
    case TN_RED_MAX:
        return tn_max(p, acc, term); /* in this order, only the term is asked whether it is NaN */
    case TN_RED_MIN: return tn_min(p, acc, term);
    case TN_RED_ANY: return tn_bin(p, TN_E_OR, acc, term);
    case TN_RED_ALL: return tn_and(p, acc, term);
    default: return term;
    }
}

static void symbol_facts(tn_te *te, tn_facts *f)
{
    tn_facts_init(f);
    for (uint32_t i = 0; i < te->func->n_symbol; i++) {
        const tn_symbol_range *s = &te->func->symbol[i];
        tn_facts_range(f, tn_sym(te->pool, s->name), s->min, s->max);
    }
}

static void facts_of(tn_te *te, const tn_tensor *t, tn_facts *f)
{
    symbol_facts(te, f);
    for (int i = 0; i < t->ndim; i++)
        tn_facts_loop(te->pool, f, t->axis[i], t->dim[i]);
    for (uint32_t i = 0; i < t->n_reduce; i++)
        tn_facts_loop(te->pool, f, t->raxis[i], t->rextent[i]);
}

static void simplify_place(tn_te *te, tn_tensor *t, const tn_facts *f)
{
    uint16_t n = te->func->buffer[t->buffer].ndim;
    const tn_expr **place = TN_NEW_N(te->arena, const tn_expr *, n);
    for (int d = 0; d < n; d++)
        place[d] = tn_simplify(te->pool, f, t->place[d]);
    t->place = place;
}

static void simplify_tensor(tn_te *te, tn_tensor *t)
{
    tn_facts f;
    facts_of(te, t, &f);
    if (t->where) {
        t->where = tn_simplify(te->pool, &f, t->where);
        tn_facts_assume(&f, t->where);
    }
    t->value = tn_simplify(te->pool, &f, t->value);
    t->step = t->step ? tn_simplify(te->pool, &f, t->step) : NULL;
    if (t->place)
        simplify_place(te, t, &f);
    tn_facts_deinit(&f);
    if (t->init) {
        facts_of(te, t, &f); /* init runs where `where` does not hold, too */
        t->init = tn_simplify(te->pool, &f, t->init);
        tn_facts_deinit(&f);
    }
    if (t->where && tn_is_value(t->where, 1))
        t->where = NULL;
}

/* Loops over axis[0..n) in *into; binds iterations from `first` on. Returns the innermost list. */
static tn_body *open_loops(tn_te *te, tn_body *into, tn_stmt *block, uint32_t first, uint32_t n,
                           const tn_expr *const axis[], const tn_expr *const extent[], enum tn_iter_kind kind)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *name = te->func->var[axis[i]->u.i].name;
        const tn_expr *var = tn_func_add_var(te->func, name, TN_IDX);
        tn_stmt *loop = tn_stmt_for(te->func, var, extent[i], TN_LOOP_SERIAL);
        tn_body_append(into, loop);
        into = &loop->u.loop.body;
        block->u.block.iter[first + i] = (tn_iter){axis[i], extent[i], var, (uint8_t)kind};
    }
    return into;
}

static bool has_zero(uint32_t n, const tn_expr *const extent[])
{
    for (uint32_t i = 0; i < n; i++)
        if (tn_is_value(extent[i], 0))
            return true;
    return false;
}

/* ---- what is needed ---- */

/* By buffer. read: an output, or read by a tensor that is made. made: its definition becomes statements. */
typedef struct demand {
    tn_te *te;
    bool *read, *made;
} demand;

static bool mark_load(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_LOAD)
        ((const demand *)user)->read[e->u.load.buffer] = true;
    return true;
}

static const tn_expr *mark_in(const tn_expr *e, void *user)
{
    if (e)
        tn_each(e, mark_load, user);
    return e;
}

static bool mark_in_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, mark_in, user);
    return true;
}

/* Readers stand after what they read, and what a body defines besides after its tensor, so one pass from the last
 * tensor on is enough. */
static void mark_needed(demand *d, size_t n)
{
    tn_tensor **all = TN_NEW_N(d->te->arena, tn_tensor *, n);
    size_t k = 0;
    for (tn_tensor *t = d->te->first; t; t = t->next)
        all[k++] = t;
    while (k-- > 0) {
        tn_tensor *t = all[k];
        if ((!d->read[t->buffer] && !d->made[t->buffer]) || t->inlined || t->kind == TN_TENSOR_INPUT)
            continue;
        d->made[t->part_of ? t->part_of->buffer : t->buffer] = true;
        mark_in(t->value, d);
        mark_in(t->where, d);
        mark_in(t->init, d);
        if (t->kind == TN_TENSOR_EXTERN)
            tn_stmt_walk(&t->body, mark_in_stmt, NULL, d);
    }
}

/* Is the tensor, or one that its body defines, made or an input? */
static bool is_needed(const demand *d, const tn_tensor *t)
{
    return t->kind == TN_TENSOR_INPUT || d->made[t->part_of ? t->part_of->buffer : t->buffer];
}

void tn_te_prune(tn_te *te, int n_out, tn_tensor *const out[])
{
    const uint32_t n = te->func->n_buffer;
    demand d = {te, TN_NEW_N(te->arena, bool, n), TN_NEW_N(te->arena, bool, n)};
    tn_tensor **at = &te->first;
    for (int i = 0; i < n_out; i++)
        d.read[out[i]->buffer] = true;
    mark_needed(&d, n);
    te->last = NULL;
    while (*at) {
        if (!is_needed(&d, *at)) {
            *at = (*at)->next;
            continue;
        }
        te->last = *at;
        at = &te->last->next;
    }
}

/* ---- statements ---- */

/* Removes stores that nobody reads, and loops and branches that are empty without them. */
static void drop_unread(tn_stmt *s, void *user)
{
    const demand *d = user;
    tn_body *list[2];
    bool empty = s->kind == TN_S_STORE && !d->read[s->u.store.buffer];
    int n = tn_stmt_bodies(s, list);
    for (int i = 0; i < n; i++)
        empty = (i == 0 || empty) && !list[i]->first;
    if (empty)
        tn_stmt_remove(s);
}

/* The statements that define t and its parts. */
static void emit_extern(demand *d, tn_tensor *t)
{
    tn_func *f = d->te->func;
    bool empty = true, unread = false;
    for (tn_tensor *x = t; x; x = x->next) {
        if (x != t && x->part_of != t)
            continue;
        if (f->buffer[x->buffer].param < 0 && d->read[x->buffer])
            tn_body_append(&f->body, tn_stmt_decl(f, x->buffer));
        unread = unread || !d->read[x->buffer];
        empty = empty && (!d->read[x->buffer] || has_zero(x->ndim, x->dim));
    }
    if (empty)
        return;
    if (unread)
        tn_stmt_walk(&t->body, NULL, drop_unread, d);
    tn_body_move(&f->body, NULL, &t->body);
}

/* The indices of the element at the axes in the buffer. */
static const tn_expr *const *stored_at(tn_te *te, const tn_tensor *t)
{
    if (!t->step)
        return t->place ? t->place : t->axis;
    const tn_expr **index = TN_NEW_N(te->arena, const tn_expr *, t->ndim);
    for (int d = 0; d < t->ndim; d++)
        index[d] = d == t->scan_dim ? t->step : t->axis[d];
    return index;
}

static void emit(tn_te *te, tn_tensor *t)
{
    tn_func *f = te->func;
    if (f->buffer[t->buffer].param < 0)
        tn_body_append(&f->body, tn_stmt_decl(f, t->buffer));
    if (has_zero(t->ndim, t->dim))
        return;
    if (has_zero(t->n_reduce, t->rextent)) {
        t->value = t->init;
        t->init = t->where = NULL;
        t->reducer = TN_RED_NONE;
        t->n_reduce = 0;
    }
    simplify_tensor(te, t);
    tn_stmt *block = tn_stmt_block(f, f->buffer[t->buffer].name, t->tag, t->ndim + (int)t->n_reduce);
    tn_body *at = open_loops(te, &f->body, block, 0, t->ndim, t->axis, t->dim, TN_ITER_SPATIAL);
    if (t->step)
        block->u.block.iter[t->scan_dim].kind = TN_ITER_SCAN;
    at = open_loops(te, at, block, t->ndim, t->n_reduce, t->raxis, t->rextent, TN_ITER_REDUCE);
    block->u.block.source = t->source;
    block->u.block.mask = t->where;
    const tn_expr *value = t->value;
    if (t->reducer != TN_RED_NONE) {
        const tn_expr *acc =
            tn_load(te->pool, f->buffer[t->buffer].dtype, t->buffer, t->ndim, t->axis, NULL, NULL);
        value = acc_update(te->pool, (enum tn_reducer)t->reducer, acc, value);
        tn_body_append(&block->u.block.init, tn_stmt_store(f, t->buffer, t->ndim, t->axis, t->init, NULL));
    }
    tn_body_append(&block->u.block.body,
                   tn_stmt_store(f, t->buffer, f->buffer[t->buffer].ndim, stored_at(te, t), value, NULL));
    tn_body_append(at, block);
}

/* ---- outputs ---- */

/* A tensor that may become a parameter: t, or a copy of it if it is one already or is stored as another type. */
static tn_tensor *as_output(tn_te *te, tn_tensor *t)
{
    const tn_buffer *b = &te->func->buffer[t->buffer];
    if (b->param < 0 && tn_dtype_eq(b->dtype, t->dtype))
        return t;
    tn_tensor *copy = tn_te_new(te, "out", t->dtype, t->ndim, t->dim, t->ndim <= 4 ? "i j k l" : NULL);
    tn_te_define(te, copy, tn_at(te, t, t->ndim, copy->axis));
    return copy;
}

static bool is_buffer_name(const tn_func *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_buffer; i++)
        if (f->buffer[i].name == name)
            return true;
    return false;
}

/* Outputs are called "out": the function's text does not depend on which operator came last. */
static const char *output_name(tn_te *te)
{
    tn_func *f = te->func;
    const char *name = tn_intern(f->ctx, "out");
    for (unsigned k = 1; is_buffer_name(f, name); k++)
        name = tn_intern(f->ctx, tn_arena_printf(te->arena, "out%u", k));
    return name;
}

/* Those that do not hold for every size. */
static void add_checks(tn_te *te)
{
    tn_facts f;
    symbol_facts(te, &f);
    for (const tn_te_check *c = te->check; c; c = c->next)
        if (tn_prove(te->pool, &f, c->cond) != 1)
            tn_body_append(&te->func->body, tn_stmt_check(te->func, c->cond, c->text));
    tn_facts_deinit(&f);
}

tn_func *tn_te_finish(tn_te *te, int n_out, tn_tensor *const out[], const tn_layout *const layout[])
{
    tn_func *f = te->func;
    tn_tensor **result = TN_NEW_N(te->arena, tn_tensor *, (size_t)n_out);
    for (int i = 0; i < n_out; i++) {
        tn_tensor *t = result[i] = as_output(te, out[i]);
        TN_ASSERT(!t->inlined && (t->value || t->kind == TN_TENSOR_EXTERN));
        tn_func_add_param(f, t->buffer, true);
        f->buffer[t->buffer].layout = layout ? layout[i] : NULL;
        f->buffer[t->buffer].name = output_name(te);
    }
    tn_te_expand(te);
    demand d = {te, TN_NEW_N(te->arena, bool, f->n_buffer), TN_NEW_N(te->arena, bool, f->n_buffer)};
    for (int i = 0; i < n_out; i++)
        d.read[result[i]->buffer] = true;
    mark_needed(&d, f->n_buffer);
    add_checks(te);
    for (tn_tensor *t = te->first; t; t = t->next) {
        if (!d.made[t->buffer] || t->part_of)
            continue;
        if (t->kind == TN_TENSOR_EXTERN)
            emit_extern(&d, t);
        else
            emit(te, t);
    }
    return f;
}
