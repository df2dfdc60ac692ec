/* Copies of subtrees that own their buffers, and renaming of buffers: what peeling and tail partition need. */
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

enum { MAX_DECLS = 64 };
typedef struct {
    tn_func *f;
    const char *suffix;
    uint32_t buffer[MAX_DECLS];
    int n;
} copier;

static bool freshen(tn_stmt *x, void *user)
{
    copier *c = user;
    if (x->kind == TN_S_BLOCK)
        x->u.block.name =
            tn_func_block_name(c->f, tn_arena_printf(c->f->arena, "%s%s", x->u.block.name, c->suffix));
    if (x->kind == TN_S_BUFFER && c->n < MAX_DECLS)
        c->buffer[c->n++] = x->u.decl.buffer;
    return true;
}

tn_stmt *tn_stmt_clone_fresh(tn_func *f, const tn_stmt *root, const char *suffix)
{
    tn_stmt *copy = tn_stmt_clone(f, root);
    copier c = {.f = f, .suffix = suffix};
    freshen(copy, &c);
    tn_body *body[2];
    int n = tn_stmt_bodies(copy, body);
    for (int i = 0; i < n; i++)
        tn_stmt_walk(body[i], freshen, NULL, &c);
    for (int i = 0; i < c.n; i++) {
        tn_buffer b = f->buffer[c.buffer[i]];
        b.name = tn_arena_printf(f->arena, "%s%s", b.name, suffix);
        tn_stmt_rename_buffer(f, copy, c.buffer[i], tn_func_add_buffer(f, &b));
    }
    return copy;
}
