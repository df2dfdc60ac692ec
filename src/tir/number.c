/* The canonical copy of a function: what its text reads back to.
 *
 * Buffers are numbered in the order of the text (inputs, outputs, then declarations), variables in the order
 * of their definitions, one number a definition. The order of commuting operands depends on these numbers, so
 * the printer prints the copy: then print, parse, print gives the same text.
 *
 * The same pass chooses the printed name of each variable: its own where no visible variable or symbol has
 * it, else with a suffix. A block's iteration variable may take the name of a variable around the block that
 * the block does not use. Recursion follows the nesting of statements, at most TN_TIR_DEPTH deep; what is
 * deeper is left out.
 */
#include "base/vec.h"
#include "tir/func.h"

typedef struct undo {
    uint64_t key;
    uint64_t before;
    bool name;
} undo;

typedef struct number {
    const tn_func *f; /* the original */
    tn_func *g;       /* the copy, edited in place */
    tn_map var;       /* old number -> new VAR; 0: not in scope */
    tn_map name;      /* interned name -> old number + 1 of the visible variable; 0: free */
    tn_vec(undo) undo;
    tn_vec(const char *) names; /* printed name by new number */
    uint32_t *buffer;           /* old number -> new */
    uint32_t n_buffer;
    int depth;
} number;

static uint64_t get(const tn_map *m, uint64_t key)
{
    uint64_t v = 0;
    tn_map_get(m, key, &v);
    return v;
}

static void set(number *c, bool name, uint64_t key, uint64_t value)
{
    tn_map *m = name ? &c->name : &c->var;
    tn_vec_push(&c->undo, ((undo){key, get(m, key), name}));
    tn_map_put(m, key, value);
}

static void restore(number *c, size_t mark)
{
    while (c->undo.n > mark) {
        undo u = tn_vec_pop(&c->undo);
        tn_map_put(u.name ? &c->name : &c->var, u.key, u.before);
    }
}

static const tn_expr *new_var(number *c, const tn_expr *old, const char *name)
{
    tn_vec_push(&c->names, name);
    return tn_func_add_var(c->g, name, old->dtype);
}

static const char *base_name(const number *c, const tn_expr *var)
{
    return (uint64_t)var->u.i < c->f->n_var ? c->f->var[var->u.i].name : tn_intern(c->f->ctx, "undefined");
}

/* Does the block use variable `old` of the original where its iteration variables are visible? Its statements are not
 * yet rewritten. */
static bool used_inside(const number *c, tn_stmt *block, uint64_t old)
{
    if (old >= c->f->n_var)
        return true;
    const tn_expr *var = tn_var(c->g->pool, c->f->var[old].dtype, (uint32_t)old), *mask = block->u.block.mask;
    return (mask && tn_uses(mask, var)) || tn_body_uses(&block->u.block.init, var) ||
           tn_body_uses(&block->u.block.body, var);
}

static bool symbol_named(const number *c, const char *name)
{
    for (uint32_t i = 0; i < c->f->n_symbol; i++)
        if (c->f->symbol[i].name == name)
            return true;
    return false;
}

static bool named_since(const number *c, const char *name, size_t mark)
{
    for (size_t i = mark; i < c->undo.n; i++)
        if (c->undo.at[i].name && c->undo.at[i].key == tn_map_key(name))
            return true;
    return false;
}

/* Makes old's new variable visible. Iteration variables: block, the variable it is bound to (or NULL), and mark
 * is where the block's definitions begin. It may hide its own name, or the variable it is bound to. */
static const tn_expr *define(number *c, const tn_expr *old, tn_stmt *block, const tn_expr *value, size_t mark)
{
    const char *base = base_name(c, old), *name = base;
    for (uint32_t k = 1;; k++) {
        uint64_t owner = get(&c->name, tn_map_key(name));
        bool may_hide = block && (k == 1 || (value && (uint64_t)value->u.i == owner - 1));
        bool hides = owner && may_hide && !named_since(c, name, mark) && !used_inside(c, block, owner - 1);
        if ((!owner || hides) && !symbol_named(c, name))
            break;
        name = tn_tir_suffixed(c->f->ctx, base, k);
    }
    const tn_expr *var = new_var(c, old, name);
    set(c, false, (uint64_t)old->u.i, tn_map_key(var));
    set(c, true, tn_map_key(name), (uint64_t)old->u.i + 1);
    return var;
}

static uint32_t renumbered(const number *c, uint32_t buffer)
{
    return buffer < c->f->n_buffer ? c->buffer[buffer] : buffer;
}

static const tn_expr *rule(tn_pool *p, const tn_expr *e, void *user)
{
    number *c = user;
    if (e->kind == TN_E_VAR) {
        uint64_t v = get(&c->var, (uint64_t)e->u.i);
        if (v == 0) { /* used where it is not defined: an invalid function, but it must print */
            const tn_expr *var = new_var(c, e, base_name(c, e));
            tn_map_put(&c->var, (uint64_t)e->u.i, tn_map_key(var));
            return var;
        }
        return (const tn_expr *)(uintptr_t)v;
    }
    if (e->kind == TN_E_LOAD) {
        int n = (int)e->u.load.n_index;
        bool masked = e->nsrc > n;
        return tn_load(p, e->dtype, renumbered(c, e->u.load.buffer), n, e->src, masked ? e->src[n] : NULL,
                       masked ? e->src[n + 1] : NULL);
    }
    return NULL;
}

static const tn_expr *rewrite(const tn_expr *e, void *user)
{
    number *c = user;
    return tn_rewrite(c->g->pool, e, rule, c);
}

static void list(number *c, tn_body *b);

static void block(number *c, tn_stmt *s)
{
    size_t mark = c->undo.n;
    const tn_expr **bound =
        TN_NEW_N(c->g->arena, const tn_expr *, s->u.block.n_iter); /* VARs of the original, or NULL */
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        tn_iter *it = &s->u.block.iter[i];
        bound[i] = it->value->kind == TN_E_VAR ? it->value : NULL;
        it->extent = rewrite(it->extent, c);
        it->value = rewrite(it->value, c);
    }
    for (uint32_t i = 0; i < s->u.block.n_iter; i++)
        s->u.block.iter[i].var = define(c, s->u.block.iter[i].var, s, bound[i], mark);
    if (s->u.block.mask)
        s->u.block.mask = rewrite(s->u.block.mask, c);
    c->depth++;
    list(c, &s->u.block.init);
    c->depth--;
    list(c, &s->u.block.body);
    restore(c, mark);
}

static void stmt(number *c, tn_stmt *s)
{
    const size_t mark = c->undo.n;
    if (s->kind == TN_S_BLOCK) {
        block(c, s);
        return;
    }
    tn_stmt_exprs(s, rewrite, c);
    switch (s->kind) {
    case TN_S_FOR:
        s->u.loop.var = define(c, s->u.loop.var, NULL, NULL, 0);
        list(c, &s->u.loop.body);
        restore(c, mark);
        break;
    case TN_S_IF:
        list(c, &s->u.cond.then);
        list(c, &s->u.cond.other);
        break;
    case TN_S_LET: s->u.let.var = define(c, s->u.let.var, NULL, NULL, 0); break;
    case TN_S_STORE: s->u.store.buffer = renumbered(c, s->u.store.buffer); break;
    case TN_S_PREFETCH: s->u.prefetch.buffer = renumbered(c, s->u.prefetch.buffer); break;
    case TN_S_BUFFER: s->u.decl.buffer = renumbered(c, s->u.decl.buffer); break;
    default: break;
    }
}

static void list(number *c, tn_body *b)
{
    const size_t mark = c->undo.n;
    if (c->depth < TN_TIR_DEPTH) {
        c->depth++;
        for (tn_stmt *s = b->first; s; s = s->next)
            stmt(c, s);
        c->depth--;
    } else {
        *b = (tn_body){.owner = b->owner};
    }
    restore(c, mark);
}

static void number_buffer(number *c, uint32_t old)
{
    if (old < c->f->n_buffer && c->buffer[old] == UINT32_MAX)
        c->buffer[old] = c->n_buffer++;
}

static bool number_decl(tn_stmt *s, void *user)
{
    if (s->kind == TN_S_BUFFER)
        number_buffer(user, s->u.decl.buffer);
    return true;
}

/* Parameters, declarations in order, then what no statement declares. */
static void number_buffers(number *c)
{
    const tn_func *f = c->f;
    c->buffer = TN_NEW_N(c->g->arena, uint32_t, f->n_buffer);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        c->buffer[i] = UINT32_MAX;
    for (int written = 0; written < 2; written++)
        for (uint32_t i = 0; i < f->n_param; i++)
            if (f->buffer[f->param[i]].written == (written == 1))
                number_buffer(c, f->param[i]);
    tn_stmt_walk(&c->g->body, number_decl, NULL, c);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        number_buffer(c, i);
}

static void copy_buffers(number *c)
{
    const tn_func *f = c->f;
    tn_func *g = c->g;
    g->buffer = TN_NEW_N(g->arena, tn_buffer, f->n_buffer);
    for (uint32_t i = 0; i < f->n_buffer; i++) {
        tn_buffer *b = &g->buffer[c->buffer[i]];
        *b = f->buffer[i];
        const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, b->ndim);
        for (uint32_t d = 0; d < b->ndim; d++)
            dim[d] = rewrite(b->dim[d], c);
        b->dim = dim;
        if (b->work_offset)
            b->work_offset = rewrite(b->work_offset, c);
    }
    for (uint32_t i = 0; i < f->n_param; i++)
        g->param[i] = c->buffer[f->param[i]];
}

tn_func *tn_func_number(const tn_func *f, tn_arena *arena, tn_pool *pool, const char ***out_names)
{
    number c = {.f = f};
    c.g = tn_func_clone(f, arena, pool);
    c.g->n_var = 0;
    number_buffers(&c);
    copy_buffers(&c);
    list(&c, &c.g->body);
    *out_names = tn_arena_copy(arena, c.names.at, c.names.n * sizeof *c.names.at, _Alignof(const char *));
    tn_map_deinit(&c.var);
    tn_map_deinit(&c.name);
    tn_vec_deinit(&c.undo);
    tn_vec_deinit(&c.names);
    return c.g;
}
