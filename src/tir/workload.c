/* What a function computes, as a number that is the same in every version and every process: a hash of the function's
 * text, in which everything is called by its place. */
#include "base/sha256.h"
#include "tir/func.h"
#include "tir/unit.h"

#include <ctype.h>
#include <string.h>

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
    s->u.block.tag =
        strcmp(s->u.block.tag, TN_TAG_NORMAL) == 0 ? TN_TAG_NORMAL : ""; /* others are for readers */
    s->u.block.source = "";
    return true;
}

/* The text by places. */
static void print_by_places(const tn_func *f, tn_buf *out)
{
    tn_arena arena;
    tn_pool pool;
    const char **names;
    tn_arena_init(&arena);
    tn_pool_init(&pool, f->ctx, &arena, f->pool);
    tn_func *c = tn_func_clone(f, &arena, &pool);
    rename_symbols(c);
    c = tn_func_number(c, &arena, &pool, &names);
    c->name = "f";
    c->source = "";
    for (uint32_t i = 0; i < c->n_buffer; i++) {
        c->buffer[i].name = tn_arena_printf(&arena, "b%u", (unsigned)i);
        c->buffer[i].constant = false;
        c->buffer[i].layout = c->buffer[i].layout ? renamed_layout(&arena, c->buffer[i].layout) : NULL;
    }
    for (uint32_t i = 0; i < c->n_var; i++)
        c->var[i].name = "v";
    tn_stmt_walk(&c->body, rename_block, NULL, NULL);
    tn_func_print(c, out);
    tn_arena_deinit(&arena);
}

static uint64_t hash_of(const tn_buf *text)
{
    uint8_t digest[32];
    uint64_t out = 0;
    tn_sha256 sum;
    tn_sha256_init(&sum);
    tn_sha256_add(&sum, text->at, text->n);
    tn_sha256_end(&sum, digest);
    for (int i = 0; i < 8; i++)
        out = out << 8 | digest[i];
    return out;
}

uint64_t tn_func_workload(const tn_func *f)
{
    tn_buf text = {0};
    print_by_places(f, &text);
    uint64_t hash = hash_of(&text);
    tn_buf_deinit(&text);
    return hash;
}

static bool is_of_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '.'; }

uint64_t tn_func_form(const tn_func *f)
{
    tn_buf text = {0}, form = {0};
    print_by_places(f, &text);
    for (size_t i = 0; i < text.n;) {
        size_t n = 1; /* a whole word or number, or another character */
        while (is_of_word(text.at[i]) && i + n < text.n && is_of_word(text.at[i + n]))
            n++;
        if (isdigit((unsigned char)text.at[i]))
            tn_buf_char(&form, '#');
        else
            tn_buf_add(&form, text.at + i, n);
        i += n;
    }
    uint64_t hash = hash_of(&form);
    tn_buf_deinit(&text);
    tn_buf_deinit(&form);
    return hash;
}
