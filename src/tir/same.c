/* Equality of functions, whatever pools their expressions are in: the canonical copy of each becomes a sequence of
 * words. The words of two functions are compared with expressions imported into one pool, where equal ones are one; a
 * hash takes the expressions' own hashes. Names of model nodes and the function's own name are no part of it. */
#include "base/vec.h"
#include "tir/func.h"

#include <string.h>

enum { END = TN_S_COUNT }; /* of a list of statements */

typedef struct {
    tn_pool *pool; /* NULL: only the hash is wanted */
    uint64_t hash;
    tn_vec(uint64_t) word;
} words;

static void add(words *w, uint64_t v)
{
    if (w->pool)
        tn_vec_push(&w->word, v);
    else
        w->hash = tn_hash_u64(w->hash, v);
}

static void add_text(words *w, const char *s)
{
    add(w, w->pool ? tn_map_key(tn_intern(w->pool->ctx, s)) : tn_hash_bytes(s, strlen(s), 0));
}

static void add_expr(words *w, const tn_expr *e)
{
    add(w, !e ? 0 : w->pool ? tn_map_key(tn_expr_import(w->pool, e)) : 1 + (uint64_t)e->hash);
}

static void add_exprs(words *w, uint32_t n, const tn_expr *const e[])
{
    add(w, n);
    for (uint32_t i = 0; i < n; i++)
        add_expr(w, e[i]);
}

static void add_dtype(words *w, tn_dtype t)
{
    add(w, (uint64_t)t.code << 32 | (uint64_t)t.bits << 16 | t.lanes);
}

/* ---- statements ---- */

static void add_block(words *w, const tn_stmt *s)
{
    add_text(w, s->u.block.name);
    add_text(w, s->u.block.tag);
    add(w, s->u.block.n_iter);
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        add(w, it->kind);
        add_exprs(w, 3, (const tn_expr *const[]){it->var, it->extent, it->value});
    }
    add_expr(w, s->u.block.mask);
}

static void add_fields(words *w, const tn_stmt *s)
{
    switch (s->kind) {
    case TN_S_FOR:
        add(w, s->u.loop.kind);
        add(w, s->u.loop.tensor);
        add_exprs(w, 2, (const tn_expr *const[]){s->u.loop.var, s->u.loop.extent});
        break;
    case TN_S_BLOCK: add_block(w, s); break;
    case TN_S_STORE:
        add(w, s->u.store.buffer);
        add_exprs(w, s->u.store.n_index, s->u.store.index);
        add_exprs(w, 2, (const tn_expr *const[]){s->u.store.value, s->u.store.mask});
        break;
    case TN_S_IF: add_expr(w, s->u.cond.cond); break;
    case TN_S_LET: add_exprs(w, 2, (const tn_expr *const[]){s->u.let.var, s->u.let.value}); break;
    case TN_S_BUFFER: add(w, s->u.decl.buffer); break;
    case TN_S_CHECK:
        add_expr(w, s->u.check.cond);
        add_text(w, s->u.check.text);
        break;
    default: add(w, s->u.prefetch.buffer); add_exprs(w, s->u.prefetch.n_index, s->u.prefetch.index);
    }
}

static void add_list(words *w, const tn_body *b)
{
    for (const tn_stmt *s = b->first; s; s = s->next) {
        tn_body *inner[2];
        add(w, s->kind);
        add_fields(w, s);
        int n = tn_stmt_bodies((tn_stmt *)s, inner);
        for (int i = 0; i < n; i++)
            add_list(w, inner[i]);
    }
    add(w, END);
}

/* ---- functions ---- */

static void add_buffer(words *w, const tn_buffer *b)
{
    add_text(w, b->name);
    add_dtype(w, b->dtype);
    add_exprs(w, b->ndim, b->dim);
    add(w, tn_map_key(b->layout));
    add(w, (uint64_t)b->scope << 34 | (uint64_t)b->constant << 33 | (uint64_t)b->written << 32 |
               (uint32_t)b->param);
    add(w, b->slack);
    add(w, b->scratch_offset);
    add_expr(w, b->work_offset);
}

static void add_func(words *w, const tn_func *f)
{
    add(w, (uint64_t)f->stage << 1 | f->strict);
    add(w, f->n_buffer);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        add_buffer(w, &f->buffer[i]);
    add(w, f->n_var);
    for (uint32_t i = 0; i < f->n_var; i++) {
        add_text(w, f->var[i].name);
        add_dtype(w, f->var[i].dtype);
    }
    add(w, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        add_text(w, f->symbol[i].name);
        add(w, (uint64_t)f->symbol[i].min);
        add(w, (uint64_t)f->symbol[i].max);
    }
    add_list(w, &f->body);
}

const tn_func *tn_func_canonical(const tn_func *f)
{
    const char **names;
    tn_pool *pool = TN_NEW(f->arena, tn_pool);
    tn_pool_init(pool, f->ctx, f->arena, f->pool);
    return tn_func_number(f, f->arena, pool, &names);
}

uint64_t tn_func_hash(const tn_func *f)
{
    words w = {0};
    add_func(&w, f);
    return w.hash;
}

bool tn_func_same(const tn_func *a, const tn_func *b, tn_pool *pool)
{
    words x = {.pool = pool}, y = {.pool = pool};
    add_func(&x, a);
    add_func(&y, b);
    bool same = x.word.n == y.word.n && memcmp(x.word.at, y.word.at, x.word.n * sizeof *x.word.at) == 0;
    tn_vec_deinit(&x.word);
    tn_vec_deinit(&y.word);
    return same;
}
