/* Functions: tables of buffers, variables and symbols, and the copy of a whole function.
 *
 * Invariants: every name is an identifier of the text form and no reserved word of it (so what is printed
 * reads back); buffer names and the names given to blocks are unique; tables live in the function's arena and
 * only grow. Names are interned in the context. A clone shares expressions and names, nothing else.
 */
#include "tir/func.h"

#include "base/size.h"
#include "ir/lex.h"

#include <stdio.h>
#include <string.h>

const char *const tn_scope_names[TN_SCOPE_COUNT] = {"global", "local", "register", "tile"};
const char *const tn_loop_names[TN_LOOP_COUNT] = {"", "parallel", "vector", "unrolled", "tensor"};

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool name_char(char c) { return letter(c) || (c >= '0' && c <= '9'); }

bool tn_tir_is_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || !letter(name[0]) || !name_char(name[n - 1]) || tn_lex_reserved(name))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!name_char(name[i]) && !(name[i] == '.' && name[i - 1] != '.'))
            return false;
    return true;
}

const char *tn_tir_name(tn_ctx *ctx, const char *name)
{
    if (!name || !*name)
        name = "v";
    if (tn_tir_is_name(name))
        return tn_intern(ctx, name);
    tn_buf b = {0};
    if (!letter(*name))
        tn_buf_char(&b, '_');
    for (const char *c = name; *c; c++) {
        bool dot = *c == '.' && c != name && c[-1] != '.' && c[1];
        tn_buf_char(&b, name_char(*c) || dot ? *c : '_');
    }
    if (tn_lex_reserved(b.at))
        tn_buf_char(&b, '_');
    const char *s = tn_intern(ctx, b.at);
    tn_buf_deinit(&b);
    return s;
}

/* A capital, then capitals and groups of a number and a small letter, at least one group: NK32n, OI8iHW. A
 * layout without a group is the identity or has a colon. */
bool tn_tir_layout_like(const char *s, size_t n)
{
    size_t groups = 0;
    if (n == 0 || s[0] < 'A' || s[0] > 'Z')
        return false;
    for (size_t i = 1; i < n; i++) {
        if (s[i] >= 'A' && s[i] <= 'Z')
            continue;
        size_t digits = i;
        while (i < n && s[i] >= '0' && s[i] <= '9')
            i++;
        if (i == digits || i == n || s[i] < 'a' || s[i] > 'z')
            return false;
        groups++;
    }
    return groups > 0;
}

const char *tn_tir_suffixed(tn_ctx *ctx, const char *name, uint32_t k)
{
    char text[16];
    tn_buf b = {0};
    snprintf(text, sizeof text, "_%u", (unsigned)k);
    tn_buf_str(&b, name);
    tn_buf_str(&b, text);
    const char *s = tn_intern(ctx, b.at);
    tn_buf_deinit(&b);
    return s;
}

/* Doubles an arena array when full; the old one is left to the arena. */
static void *grow(tn_arena *a, void *at, uint32_t n, uint32_t *cap, size_t size, size_t align)
{
    if (n < *cap)
        return at;
    uint32_t want = *cap ? *cap * 2 : 8;
    TN_ASSERT(want > *cap);
    void *to = tn_arena_array(a, want, size, align);
    if (n)
        memcpy(to, at, n * size);
    *cap = want;
    return to;
}
#define GROW(f, at, n, cap) ((at) = grow((f)->arena, (at), (n), &(cap), sizeof *(at), 16))

tn_func *tn_func_new(tn_ctx *ctx, tn_arena *arena, tn_pool *pool, const char *name)
{
    tn_func *f = TN_NEW(arena, tn_func);
    f->ctx = ctx;
    f->arena = arena;
    f->pool = pool;
    f->name = tn_tir_name(ctx, name);
    f->source = "";
    f->stage = TN_STAGE_BLOCKS;
    return f;
}

static const tn_expr *const *copy_dims(tn_arena *a, const tn_expr *const *dim, uint32_t n)
{
    return n ? tn_arena_copy(a, dim, n * sizeof *dim, _Alignof(const tn_expr *)) : NULL;
}

static bool buffer_named(const tn_func *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_buffer; i++)
        if (f->buffer[i].name == name)
            return true;
    return false;
}

uint32_t tn_func_add_buffer(tn_func *f, const tn_buffer *b)
{
    const char *base = tn_tir_name(f->ctx, b->name), *name = base;
    for (uint32_t k = 1; buffer_named(f, name); k++)
        name = tn_tir_suffixed(f->ctx, base, k);
    GROW(f, f->buffer, f->n_buffer, f->cap_buffer);
    tn_buffer *to = &f->buffer[f->n_buffer];
    *to = *b;
    to->name = name;
    to->dim = copy_dims(f->arena, b->dim, b->ndim);
    to->param = -1;
    to->written = to->constant = to->laid_out = false;
    return f->n_buffer++;
}

void tn_func_add_param(tn_func *f, uint32_t buffer, bool written)
{
    TN_ASSERT(buffer < f->n_buffer && f->buffer[buffer].param < 0);
    uint32_t cap = f->n_param; /* no field for it: full at every power of two from 8 on */
    if (f->n_param && (f->n_param < 8 || (f->n_param & (f->n_param - 1)) != 0))
        cap = f->n_param + 1;
    GROW(f, f->param, f->n_param, cap);
    f->buffer[buffer].param = (int32_t)f->n_param;
    f->buffer[buffer].written = written;
    f->buffer[buffer].scope = TN_SCOPE_GLOBAL;
    f->param[f->n_param++] = buffer;
}

const tn_expr *tn_func_add_var(tn_func *f, const char *name, tn_dtype t)
{
    GROW(f, f->var, f->n_var, f->cap_var);
    f->var[f->n_var] = (tn_var_info){tn_tir_name(f->ctx, name), t};
    return tn_var(f->pool, t, f->n_var++);
}

void tn_func_name_var(tn_func *f, const tn_expr *var, const char *name)
{
    f->var[var->u.i].name = tn_tir_name(f->ctx, name);
}

void tn_func_add_symbol(tn_func *f, const char *name, int64_t min, int64_t max)
{
    name = tn_intern(f->ctx, name);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        if (f->symbol[i].name == name)
            return;
    GROW(f, f->symbol, f->n_symbol, f->cap_symbol);
    f->symbol[f->n_symbol++] = (tn_symbol_range){name, min, max};
}

const char *tn_func_block_name(tn_func *f, const char *name)
{
    const char *base = tn_tir_name(f->ctx, name), *got = base;
    for (uint32_t k = 1;; k++) {
        uint32_t i = 0;
        while (i < f->n_block_name && f->block_name[i] != got)
            i++;
        if (i == f->n_block_name)
            break;
        got = tn_tir_suffixed(f->ctx, base, k);
    }
    GROW(f, f->block_name, f->n_block_name, f->cap_block_name);
    return f->block_name[f->n_block_name++] = got;
}

static void *copy_table(tn_arena *a, const void *at, uint32_t n, size_t size)
{
    return n ? tn_arena_copy(a, at, n * size, 16) : NULL;
}

tn_func *tn_func_clone(const tn_func *f, tn_arena *arena, tn_pool *pool)
{
    tn_func *c = TN_NEW(arena, tn_func);
    *c = *f;
    c->arena = arena;
    c->pool = pool;
    c->ctx = pool->ctx;
    c->buffer = copy_table(arena, f->buffer, f->n_buffer, sizeof *f->buffer);
    c->var = copy_table(arena, f->var, f->n_var, sizeof *f->var);
    c->symbol = copy_table(arena, f->symbol, f->n_symbol, sizeof *f->symbol);
    c->block_name = copy_table(arena, f->block_name, f->n_block_name, sizeof *f->block_name);
    c->cap_buffer = f->n_buffer;
    c->cap_var = f->n_var;
    c->cap_symbol = f->n_symbol;
    c->cap_block_name = f->n_block_name;
    for (uint32_t i = 0; i < c->n_buffer; i++)
        c->buffer[i].dim = copy_dims(arena, f->buffer[i].dim, f->buffer[i].ndim);
    c->param = NULL; /* its capacity follows from n_param, so it is rebuilt by the same steps */
    c->n_param = 0;
    for (uint32_t i = 0; i < f->n_param; i++) {
        c->buffer[f->param[i]].param = -1;
        tn_func_add_param(c, f->param[i], f->buffer[f->param[i]].written);
    }
    c->body = (tn_body){0};
    tn_body_clone(c, &c->body, &f->body);
    return c;
}

static const char *var_name(void *user, uint32_t number)
{
    const tn_func *f = user;
    return number < f->n_var ? f->var[number].name : "?";
}

static const char *buffer_name(void *user, uint32_t number)
{
    const tn_func *f = user;
    return number < f->n_buffer ? f->buffer[number].name : "?";
}

void tn_func_names(const tn_func *f, tn_names *out)
{
    *out = (tn_names){.var = var_name, .buffer = buffer_name, .user = (void *)(uintptr_t)f};
}

/* ---- sizes ---- */

bool tn_func_value(const tn_func *f, const tn_expr *e, const int64_t sym[], int64_t *out)
{
    for (uint32_t i = 0; i < f->n_symbol && e->kind != TN_E_INT; i++) {
        const tn_expr *from = tn_sym(f->pool, f->symbol[i].name), *to = tn_idx(f->pool, sym[i]);
        e = tn_simplify(f->pool, NULL, tn_subst(f->pool, e, 1, &from, &to));
    }
    return tn_is_int(e, out);
}

bool tn_func_parameter_bytes(const tn_func *f, const int64_t sym[], uint64_t out[])
{
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        const tn_expr *dim[TN_LAYOUT_MAX_AXES];
        int64_t n = tn_dtype_bytes(b->dtype), extent;
        tn_layout_dims(f->pool, b->layout, b->ndim, b->dim, dim);
        for (int d = 0; d < tn_layout_naxis(b->layout, b->ndim); d++)
            if (!tn_func_value(f, dim[d], sym, &extent) || extent < 0 || !tn_i64_mul(n, extent, &n))
                return false;
        out[i] = (uint64_t)n;
    }
    return true;
}
