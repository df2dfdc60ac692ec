/* What a function computes, as a number that is the same in every version and every process: a hash of the function's
 * text, in which everything is called by its place. */
#include "base/sha256.h"
#include "tir/func.h"

/* Symbols are called by their numbers: the order of commuting operands depends on what they are called. */
static void rename_symbols(tn_func *f)
{
    uint32_t n = f->n_symbol;
    const tn_expr **old = TN_NEW_N(f->arena, const tn_expr *, n),
                  **numbered = TN_NEW_N(f->arena, const tn_expr *, n);
    for (uint32_t i = 0; i < n; i++) {
        old[i] = tn_sym(f->pool, f->symbol[i].name);
        numbered[i] = tn_sym(f->pool, tn_arena_printf(f->arena, "%%%u", (unsigned)i));
        f->symbol[i].name = numbered[i]->u.s;
    }
    for (tn_stmt *s = f->body.first; s; s = s->next)
        tn_stmt_subst(f, s, (int)n, old, numbered);
    for (uint32_t i = 0; i < f->n_buffer; i++) {
        tn_buffer *b = &f->buffer[i];
        const tn_expr **dim = TN_NEW_N(f->arena, const tn_expr *, b->ndim);
        for (int d = 0; d < b->ndim; d++)
            dim[d] = tn_subst(f->pool, b->dim[d], (int)n, old, numbered);
        b->dim = dim;
    }
}

/* Its axes by the numbers of their dimensions: letters are names only. */
static const tn_layout *renamed_layout(tn_arena *arena, const tn_layout *l)
{
    tn_layout *out = TN_NEW(arena, tn_layout);
    const char *text = "";
    for (int i = 0; i < l->naxis; i++)
        text =
            tn_arena_printf(arena, "%s %u/%u", text, (unsigned)l->axis[i].dim, (unsigned)l->axis[i].factor);
    *out = *l;
    out->text = l->fill ? tn_arena_printf(arena, "%s fill %a", text, l->fill_value) : text;
    return out;
}

static bool rename_block(tn_stmt *s, void *user)
{
    (void)user;
    if (s->kind == TN_S_CHECK)
        s->u.check.text = "";
    if (s->kind != TN_S_BLOCK)
        return true;
    s->u.block.name = "k";
    s->u.block.tag = s->u.block.source = "";
    return true;
}

uint64_t tn_func_workload(const tn_func *f)
{
    tn_arena arena;
    tn_pool pool;
    const char **names;
    uint8_t digest[32];
    uint64_t out = 0;
    tn_buf text = {0};
    tn_arena_init(&arena);
    tn_pool_init(&pool, f->ctx, &arena, f->pool);
    tn_func *c = tn_func_clone(f, &arena, &pool);
    rename_symbols(c);
    c = tn_func_number(c, &arena, &pool, &names);
    c->name = "f";
    c->source = "";
    for (uint32_t i = 0; i < c->n_buffer; i++) {
        c->buffer[i].name = tn_arena_printf(&arena, "b%u", (unsigned)i);
        c->buffer[i].layout = c->buffer[i].layout ? renamed_layout(&arena, c->buffer[i].layout) : NULL;
    }
    for (uint32_t i = 0; i < c->n_var; i++)
        c->var[i].name = "v";
    tn_stmt_walk(&c->body, rename_block, NULL, NULL);
    tn_func_print(c, &text);
    tn_sha256 sum;
    tn_sha256_init(&sum);
    tn_sha256_add(&sum, text.at, text.n);
    tn_sha256_end(&sum, digest);
    tn_buf_deinit(&text);
    tn_arena_deinit(&arena);
    for (int i = 0; i < 8; i++)
        out = out << 8 | digest[i];
    return out;
}
