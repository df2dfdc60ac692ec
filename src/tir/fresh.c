/* Copies of subtrees with buffers, lets and loops of their own, and renaming of buffers: to peel, and to cut tails. */
#include "base/vec.h"
#include "tir/tir.h"

typedef struct {
    tn_func *f;
    uint32_t from, to;
} renamer;

static const tn_expr *rename_load(tn_pool *p, const tn_expr *e, void *user)
{
    renamer *r = user;
    if (e->kind != TN_E_LOAD || e->u.load.buffer != r->from)
        return NULL;
    tn_payload u = e->u;
    u.load.buffer = r->to;
    return tn_expr_make(p, TN_E_LOAD, e->dtype, u, e->nsrc, e->src);
}

static const tn_expr *rename_expr(const tn_expr *e, void *user)
{
    renamer *r = user;
    return e->has_load ? tn_rewrite(r->f->pool, e, rename_load, r) : e;
}

static bool rename_stmt(tn_stmt *s, void *user)
{
    renamer *r = user;
    if (s->kind == TN_S_STORE && s->u.store.buffer == r->from)
        s->u.store.buffer = r->to;
    if (s->kind == TN_S_PREFETCH && s->u.prefetch.buffer == r->from)
        s->u.prefetch.buffer = r->to;
    if (s->kind == TN_S_BUFFER && s->u.decl.buffer == r->from)
        s->u.decl.buffer = r->to;
    tn_stmt_exprs(s, rename_expr, r);
    return true;
}

void tn_stmt_rename_buffer(tn_func *f, tn_stmt *root, uint32_t from, uint32_t to)
{
    renamer r = {f, from, to};
    rename_stmt(root, &r);
    tn_body *body[2];
    int n = tn_stmt_bodies(root, body);
    for (int i = 0; i < n; i++)
        tn_stmt_walk(body[i], rename_stmt, NULL, &r);
}

typedef struct {
    tn_func *f;
    const char *suffix;
    tn_vec(uint32_t) buffer;
    tn_vec(tn_stmt *) defines; /* lets and loops */
} copier;

static bool freshen(tn_stmt *x, void *user)
{
    copier *c = user;
    if (x->kind == TN_S_BLOCK)
        x->u.block.name =
            tn_func_block_name(c->f, tn_arena_printf(c->f->arena, "%s%s", x->u.block.name, c->suffix));
    if (x->kind == TN_S_BUFFER)
        tn_vec_push(&c->buffer, x->u.decl.buffer);
    if (x->kind == TN_S_LET || x->kind == TN_S_FOR)
        tn_vec_push(&c->defines, x);
    return true;
}

static const tn_expr **defined(tn_stmt *s) { return s->kind == TN_S_FOR ? &s->u.loop.var : &s->u.let.var; }

static void freshen_variables(copier *c, tn_stmt *copy)
{
    size_t n = c->defines.n;
    const tn_expr **from = TN_NEW_N(c->f->arena, const tn_expr *, n),
                  **to = TN_NEW_N(c->f->arena, const tn_expr *, n);
    for (size_t i = 0; i < n; i++) {
        const tn_expr **var = defined(c->defines.at[i]);
        from[i] = *var;
        to[i] = *var = tn_func_add_var(c->f, c->f->var[from[i]->u.i].name, from[i]->dtype);
    }
    if (n)
        tn_stmt_subst(c->f, copy, (int)n, from, to);
}

void tn_stmt_freshen(tn_func *f, tn_stmt *copy, const char *suffix)
{
    copier c = {.f = f, .suffix = suffix};
    freshen(copy, &c);
    tn_body *body[2];
    int n = tn_stmt_bodies(copy, body);
    for (int i = 0; i < n; i++)
        tn_stmt_walk(body[i], freshen, NULL, &c);
    freshen_variables(&c, copy);
    for (size_t i = 0; i < c.buffer.n; i++) {
        tn_buffer b = f->buffer[c.buffer.at[i]];
        b.name = tn_arena_printf(f->arena, "%s%s", b.name, suffix);
        tn_stmt_rename_buffer(f, copy, c.buffer.at[i], tn_func_add_buffer(f, &b));
    }
    tn_vec_deinit(&c.buffer);
    tn_vec_deinit(&c.defines);
}

tn_stmt *tn_stmt_clone_fresh(tn_func *f, const tn_stmt *s, const char *suffix)
{
    tn_stmt *copy = tn_stmt_clone(f, s);
    tn_stmt_freshen(f, copy, suffix);
    return copy;
}
