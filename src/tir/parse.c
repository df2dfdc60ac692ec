/* The reader of functions: one token of look-ahead, indentation as the lexer reports it (grammar in
 * docs/tir.md).
 *
 * A statement is put into its list before its body is read, so parents are known. Variables are visible where
 * docs/tir.md says; buffers from their declaration to the end of the function (the verifier checks their
 * lifetime). The first error ends the reading. Recursion follows the nesting of statements, at most
 * TN_TIR_DEPTH deep.
 */
#include "base/vec.h"
#include "ir/lex.h"
#include "tir/func.h"
#include "tir/unit.h"

#include <string.h>

typedef struct bound {
    uint64_t key, before;
} bound;

typedef struct parser {
    tn_lexer lex;
    tn_ctx *ctx;
    tn_pool *pool;
    tn_func *f;
    tn_map name;   /* interned name -> VAR or SYM expression; 0: nothing */
    tn_map buffer; /* interned name -> buffer number + 1 */
    tn_vec(bound) undo;
    tn_scope_fns scope;
    bool signature; /* an unknown name is a new symbol */
    int depth;
} parser;

/* ---- names ---- */

static const tn_expr *visible(const parser *ps, const char *name)
{
    uint64_t v = 0;
    tn_map_get(&ps->name, tn_map_key(name), &v);
    return (const tn_expr *)(uintptr_t)v;
}

static const tn_expr *scope_name(void *user, const char *name)
{
    parser *ps = user;
    name = tn_intern(ps->ctx, name);
    const tn_expr *e = visible(ps, name);
    if (e || !ps->signature || !tn_tir_is_name(name))
        return e;
    tn_func_add_symbol(ps->f, name, 1, INT32_MAX);
    e = tn_sym(ps->pool, name);
    tn_map_put(&ps->name, tn_map_key(name), tn_map_key(e));
    return e;
}

static bool find_buffer(const parser *ps, const char *name, uint32_t *out)
{
    uint64_t v = 0;
    tn_map_get(&ps->buffer, tn_map_key(name), &v);
    *out = (uint32_t)v - 1;
    return v != 0;
}

static bool scope_buffer(void *user, const char *name, uint32_t *out_number, tn_dtype *out_dtype)
{
    parser *ps = user;
    if (!find_buffer(ps, tn_intern(ps->ctx, name), out_number))
        return false;
    *out_dtype = ps->f->buffer[*out_number].dtype;
    return true;
}

static void bind(parser *ps, const char *name, const tn_expr *e)
{
    tn_vec_push(&ps->undo, ((bound){tn_map_key(name), tn_map_key(visible(ps, name))}));
    tn_map_put(&ps->name, tn_map_key(name), tn_map_key(e));
}

static void unbind(parser *ps, size_t mark)
{
    while (ps->undo.n > mark) {
        bound b = tn_vec_pop(&ps->undo);
        tn_map_put(&ps->name, b.key, b.before);
    }
}

/* The current token as the name of a new variable. Only iteration variables may hide a variable. */
static tn_status new_name(parser *ps, bool hides, const char **out)
{
    if (ps->lex.tok == TN_TOK_IDENT && !tn_lex_is(&ps->lex, "true") && !tn_lex_is(&ps->lex, "false")) {
        const char *name = tn_intern_n(ps->ctx, ps->lex.text, ps->lex.n);
        const tn_expr *e = visible(ps, name);
        if (!tn_tir_is_name(name))
            return tn_lex_fail(&ps->lex, "tir-E003",
                               "`%s` cannot be the name of a variable, because it has another meaning", name);
        if (e && (e->kind == TN_E_SYM || !hides))
            return tn_lex_fail(&ps->lex, "tir-E004", "`%s` is already a %s here; choose another name", name,
                               e->kind == TN_E_SYM ? "symbol" : "variable");
    }
    *out = tn_lex_ident(&ps->lex);
    return *out ? TN_OK : TN_FAIL;
}

static tn_status parse_expr(parser *ps, tn_dtype want, const tn_expr **out)
{
    return tn_expr_parse(&ps->lex, ps->pool, &ps->scope, want, out);
}

/* An expression that must have dtype `want`. */
static tn_status parse_typed(parser *ps, tn_dtype want, const char *what, const tn_expr **out)
{
    tn_lexer at = ps->lex;
    TN_TRY(parse_expr(ps, want, out));
    if (tn_dtype_eq((*out)->dtype, want))
        return TN_OK;
    tn_buf got = {0}, wanted = {0};
    tn_dtype_print((*out)->dtype, true, &got);
    tn_dtype_print(want, true, &wanted);
    tn_lex_fail(&at, "tir-E005", "%s must be %s, but this is %s; cast it", what, tn_buf_cstr(&wanted),
                tn_buf_cstr(&got));
    tn_buf_deinit(&got);
    tn_buf_deinit(&wanted);
    return TN_FAIL;
}

static tn_status parse_string(parser *ps, const char **out)
{
    *out = tn_lex_string(&ps->lex);
    return *out ? TN_OK : TN_FAIL;
}

static tn_status parse_dtype(parser *ps, tn_dtype *out)
{
    if (ps->lex.tok != TN_TOK_IDENT || !tn_dtype_parse(ps->lex.text, ps->lex.n, out) ||
        tn_dtype_is_complex(*out))
        return tn_lex_fail(&ps->lex, "tir-E008", "expected a type such as f32, i64, bool, index or f32x16");
    tn_lex_next(&ps->lex);
    return TN_OK;
}

/* ---- buffers ---- */

/* Is the current token the start of a layout: one word like NK32n at the end, or a word before a colon or brace? */
static bool at_layout(const parser *ps)
{
    if (ps->lex.tok != TN_TOK_IDENT)
        return false;
    const char *next = ps->lex.text + ps->lex.n;
    while (next < ps->lex.end && *next == ' ')
        next++;
    char c = next < ps->lex.end ? *next : '\0';
    return c == ':' || c == '{' || (c == ']' && tn_tir_layout_like(ps->lex.text, ps->lex.n));
}

/* The text up to `]` is the layout. */
static tn_status parse_layout(parser *ps, const tn_layout **out)
{
    const char *from = ps->lex.text, *to = from;
    tn_loc loc = {.file = tn_intern(ps->ctx, ps->lex.file), .line = ps->lex.tok_line, .col = ps->lex.tok_col};
    while (to < ps->lex.end && *to != ']' && *to != '\n')
        to++;
    while (ps->lex.tok != TN_TOK_END && ps->lex.tok != TN_TOK_NEWLINE && ps->lex.text < to)
        tn_lex_next(&ps->lex);
    if (ps->lex.failed)
        return TN_FAIL;
    return tn_layout_parse(ps->ctx, tn_intern_n(ps->ctx, from, (size_t)(to - from)), &loc, out);
}

static tn_status parse_shape(parser *ps, tn_buffer *b, const tn_expr **dim)
{
    TN_TRY(tn_lex_expect(&ps->lex, "["));
    b->dim = dim;
    for (bool first = true; !tn_lex_accept(&ps->lex, "]"); first = false) {
        if (!first)
            TN_TRY(tn_lex_expect(&ps->lex, ","));
        if (at_layout(ps)) {
            tn_lexer at = ps->lex;
            TN_TRY(parse_layout(ps, &b->layout));
            if (b->layout && b->layout->ndim != b->ndim)
                return tn_lex_fail(&at, "tir-E009", "the layout has %d dimensions, but `%s` has %d",
                                   b->layout->ndim, b->name, b->ndim);
            return tn_lex_expect(&ps->lex, "]");
        }
        if (b->ndim == TN_TIR_DIMS)
            return tn_lex_fail(&ps->lex, "tir-E009", "`%s` has more than %d dimensions", b->name,
                               TN_TIR_DIMS);
        TN_TRY(parse_typed(ps, TN_IDX, "an extent", &dim[b->ndim++]));
    }
    return TN_OK;
}

/* name: f32[n, 64, NK32n] slack 16 */
static tn_status parse_buffer(parser *ps, bool signature, tn_buffer *b, const tn_expr **dim)
{
    uint32_t other;
    int64_t slack = 0;
    tn_lexer at = ps->lex;
    b->name = tn_lex_ident(&ps->lex);
    if (!b->name)
        return TN_FAIL;
    if (!tn_tir_is_name(b->name))
        return tn_lex_fail(&at, "tir-E003",
                           "`%s` cannot be the name of a buffer, because it has another meaning", b->name);
    if (find_buffer(ps, b->name, &other))
        return tn_lex_fail(&at, "tir-E004", "a buffer `%s` exists already; choose another name", b->name);
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    TN_TRY(parse_dtype(ps, &b->dtype));
    ps->signature = signature;
    tn_status s = parse_shape(ps, b, dim);
    ps->signature = false;
    TN_TRY(s);
    if (tn_lex_accept(&ps->lex, "slack"))
        TN_TRY(tn_lex_int(&ps->lex, 0, UINT32_MAX, &slack));
    b->slack = (uint32_t)slack;
    return TN_OK;
}

static uint32_t add_buffer(parser *ps, const tn_buffer *b)
{
    uint32_t number = tn_func_add_buffer(ps->f, b);
    tn_map_put(&ps->buffer, tn_map_key(ps->f->buffer[number].name), number + 1);
    return number;
}

static tn_status parse_params(parser *ps, bool written)
{
    TN_TRY(tn_lex_expect(&ps->lex, "("));
    for (bool first = true; !tn_lex_accept(&ps->lex, ")"); first = false) {
        const tn_expr *dim[TN_TIR_DIMS];
        tn_buffer b = {.param = -1};
        if (!first)
            TN_TRY(tn_lex_expect(&ps->lex, ","));
        TN_TRY(parse_buffer(ps, true, &b, dim));
        uint32_t number = add_buffer(ps, &b);
        tn_func_add_param(ps->f, number, written);
        ps->f->buffer[number].constant = !written && tn_lex_accept(&ps->lex, "constant");
    }
    return TN_OK;
}

static tn_status parse_scope(parser *ps, uint8_t *out)
{
    for (uint8_t k = 0; k < TN_SCOPE_COUNT; k++)
        if (tn_lex_accept(&ps->lex, tn_scope_names[k])) {
            *out = k;
            return TN_OK;
        }
    return tn_lex_fail(&ps->lex, "tir-E010", "unknown scope; a buffer is in global, local, register or tile");
}

static tn_status parse_decl(parser *ps, tn_body *to)
{
    const tn_expr *dim[TN_TIR_DIMS];
    tn_buffer b = {.param = -1};
    int64_t at = 0;
    TN_TRY(parse_buffer(ps, false, &b, dim));
    if (tn_lex_accept(&ps->lex, "in"))
        TN_TRY(parse_scope(ps, &b.scope));
    if (tn_lex_accept(&ps->lex, "at")) {
        if (b.scope == TN_SCOPE_GLOBAL)
            TN_TRY(parse_typed(ps, TN_IDX, "an offset", &b.work_offset));
        else
            TN_TRY(tn_lex_int(&ps->lex, 0, INT64_MAX, &at));
        b.scratch_offset = (uint64_t)at;
    }
    tn_body_append(to, tn_stmt_decl(ps->f, add_buffer(ps, &b)));
    return TN_OK;
}

/* ---- statements ---- */

static tn_status parse_suite(parser *ps, tn_body *to);

static bool at_end(const parser *ps)
{
    return ps->lex.tok == TN_TOK_END || ps->lex.tok == TN_TOK_DEDENT || tn_lex_is(&ps->lex, "}");
}

static tn_status end_line(parser *ps)
{
    if (ps->lex.tok == TN_TOK_NEWLINE)
        tn_lex_next(&ps->lex);
    else if (!at_end(ps))
        return tn_lex_fail(&ps->lex, "tir-E011", "expected the end of the line");
    return ps->lex.failed ? TN_FAIL : TN_OK;
}

static tn_status parse_loop_kind(parser *ps, uint8_t *kind, uint8_t *tensor)
{
    *kind = TN_LOOP_SERIAL;
    *tensor = 0;
    for (uint8_t k = 1; k < TN_LOOP_COUNT; k++)
        if (tn_lex_accept(&ps->lex, tn_loop_names[k]))
            *kind = k;
    if (*kind == TN_LOOP_TENSOR) {
        const char *name;
        TN_TRY(parse_string(ps, &name));
        int row = tn_unit_named(name);
        if (row < 0)
            return tn_lex_fail(&ps->lex, "tir-E016", "there is no unit `%s`; docs/tir.md lists them", name);
        *tensor = (uint8_t)row;
    }
    return tn_lex_expect(&ps->lex, "for");
}

/* for i < n, j < 256: */
static tn_status parse_for(parser *ps, tn_body *to)
{
    size_t mark = ps->undo.n;
    int depth = ps->depth;
    bool first = true;
    uint8_t kind, tensor;
    TN_TRY(parse_loop_kind(ps, &kind, &tensor));
    do {
        const char *name;
        const tn_expr *extent;
        tn_dtype t = TN_IDX;
        if (!first && ps->depth++ >= TN_TIR_DEPTH) /* parse_stmt counted the first */
            return tn_lex_fail(&ps->lex, "tir-E012", "statements are nested more than %d deep", TN_TIR_DEPTH);
        TN_TRY(new_name(ps, false, &name));
        if (tn_lex_accept(&ps->lex, ":"))
            TN_TRY(parse_dtype(ps, &t));
        TN_TRY(tn_lex_expect(&ps->lex, "<"));
        TN_TRY(parse_typed(ps, t, "an extent", &extent));
        const tn_expr *var = tn_func_add_var(ps->f, name, t);
        tn_stmt *s = tn_stmt_for(ps->f, var, extent, kind);
        s->u.loop.tensor = tensor;
        tn_body_append(to, s);
        bind(ps, name, var);
        to = &s->u.loop.body;
        first = false;
    } while (tn_lex_accept(&ps->lex, ","));
    TN_TRY(parse_suite(ps, to));
    unbind(ps, mark);
    ps->depth = depth;
    return TN_OK;
}

/* The extent of the loop around s that var belongs to; NULL: none. */
static const tn_expr *loop_extent(const tn_stmt *s, const tn_expr *var)
{
    for (const tn_stmt *p = tn_stmt_parent(s); p; p = tn_stmt_parent(p))
        if (p->kind == TN_S_FOR && p->u.loop.var == var)
            return p->u.loop.extent;
    return NULL;
}

/* k < 64: reduce = ko*8 + ki. The value (default: the variable k around the block) and the extent (default:
 * that of the loop it is bound to) are read before any iteration variable is visible. */
static tn_status parse_iter(parser *ps, const tn_stmt *s, tn_iter *it, const char **out_name)
{
    tn_lexer at = ps->lex;
    TN_TRY(new_name(ps, true, out_name));
    if (tn_lex_accept(&ps->lex, "<"))
        TN_TRY(parse_typed(ps, TN_IDX, "an extent", &it->extent));
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    it->kind = tn_lex_is(&ps->lex, "reduce") ? TN_ITER_REDUCE
               : tn_lex_is(&ps->lex, "scan") ? TN_ITER_SCAN
                                             : TN_ITER_SPATIAL;
    if (it->kind != TN_ITER_SPATIAL)
        tn_lex_next(&ps->lex);
    else
        TN_TRY(tn_lex_expect(&ps->lex, "spatial"));
    if (tn_lex_accept(&ps->lex, "="))
        TN_TRY(parse_typed(ps, TN_IDX, "what an iteration variable is bound to", &it->value));
    else if ((it->value = visible(ps, *out_name)) == NULL || !tn_dtype_eq(it->value->dtype, TN_IDX))
        return tn_lex_fail(
            &at, "tir-E013",
            "no loop around the block has the variable `%s`; write `%s < extent: spatial = value`", *out_name,
            *out_name);
    if (!it->extent && !(it->extent = loop_extent(s, it->value)))
        return tn_lex_fail(
            &at, "tir-E013",
            "`%s` is not bound to a loop variable, so it needs an extent, as in `%s < extent: ...`",
            *out_name, *out_name);
    return TN_OK;
}

enum { MAX_ITER = 64 };

static tn_status parse_iters(parser *ps, tn_stmt *s)
{
    tn_iter it[MAX_ITER];
    const char *name[MAX_ITER];
    uint32_t n = 0;
    TN_TRY(tn_lex_expect(&ps->lex, "("));
    while (!tn_lex_accept(&ps->lex, ")")) {
        if (n == MAX_ITER)
            return tn_lex_fail(&ps->lex, "tir-E014", "a block has at most %d iteration variables", MAX_ITER);
        if (n)
            TN_TRY(tn_lex_expect(&ps->lex, ","));
        tn_lexer at = ps->lex;
        it[n] = (tn_iter){0};
        TN_TRY(parse_iter(ps, s, &it[n], &name[n]));
        for (uint32_t i = 0; i < n; i++)
            if (name[i] == name[n])
                return tn_lex_fail(&at, "tir-E004", "the block already has a variable `%s`", name[n]);
        n++;
    }
    s->u.block.n_iter = n;
    s->u.block.iter = TN_NEW_N(ps->f->arena, tn_iter, n);
    for (uint32_t i = 0; i < n; i++) {
        it[i].var = tn_func_add_var(ps->f, name[i], TN_IDX);
        bind(ps, name[i], it[i].var);
        s->u.block.iter[i] = it[i];
    }
    return TN_OK;
}

static tn_status parse_stmt(parser *ps, tn_body *to);
static tn_status parse_simple(parser *ps, tn_body *to);

/* What follows the head of a block: `init` first, then statements. */
static tn_status parse_block_body(parser *ps, tn_stmt *s)
{
    if (ps->lex.tok != TN_TOK_NEWLINE)
        return parse_stmt(ps, &s->u.block.body);
    tn_lex_next(&ps->lex);
    if (ps->lex.tok != TN_TOK_INDENT)
        return tn_lex_fail(&ps->lex, "tir-E011",
                           "expected indented statements (write `pass` if there are none)");
    tn_lex_next(&ps->lex);
    if (tn_lex_accept(&ps->lex, "init")) {
        ps->depth++; /* it is indented twice */
        if (tn_lex_is(&ps->lex, ":"))
            TN_TRY(parse_suite(ps, &s->u.block.init));
        else
            TN_TRY(parse_simple(ps, &s->u.block.init));
        ps->depth--;
    }
    while (ps->lex.tok != TN_TOK_DEDENT && ps->lex.tok != TN_TOK_END)
        TN_TRY(parse_stmt(ps, &s->u.block.body));
    tn_lex_next(&ps->lex);
    return ps->lex.failed ? TN_FAIL : TN_OK;
}

/* block acc(i: spatial, k: reduce) mask i < n tag "dense" source "Gemm_0": */
static tn_status parse_block(parser *ps, tn_body *to)
{
    size_t mark = ps->undo.n;
    tn_lexer at = ps->lex;
    const char *name = tn_lex_ident(&ps->lex);
    if (!name)
        return TN_FAIL;
    if (!tn_tir_is_name(name))
        return tn_lex_fail(&at, "tir-E003",
                           "`%s` cannot be the name of a block, because it has another meaning", name);
    tn_stmt *s = tn_stmt_block(ps->f, name, "", 0);
    if (s->u.block.name != name)
        return tn_lex_fail(&at, "tir-E004", "a block `%s` exists already; choose another name", name);
    tn_body_append(to, s);
    TN_TRY(parse_iters(ps, s));
    if (tn_lex_accept(&ps->lex, "mask"))
        TN_TRY(parse_typed(ps, TN_BOOL1, "a mask", &s->u.block.mask));
    if (tn_lex_accept(&ps->lex, "tag"))
        TN_TRY(parse_string(ps, &s->u.block.tag));
    if (tn_lex_accept(&ps->lex, "source"))
        TN_TRY(parse_string(ps, &s->u.block.source));
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    TN_TRY(parse_block_body(ps, s));
    unbind(ps, mark);
    return TN_OK;
}

static tn_status parse_if(parser *ps, tn_body *to)
{
    const tn_expr *cond;
    TN_TRY(parse_typed(ps, TN_BOOL1, "a condition", &cond));
    tn_stmt *s = tn_stmt_if(ps->f, cond);
    tn_body_append(to, s);
    TN_TRY(parse_suite(ps, &s->u.cond.then));
    if (tn_lex_accept(&ps->lex, "else"))
        TN_TRY(parse_suite(ps, &s->u.cond.other));
    return TN_OK;
}

static tn_status parse_let(parser *ps, tn_body *to)
{
    const char *name;
    tn_dtype t;
    const tn_expr *value;
    TN_TRY(new_name(ps, false, &name));
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    TN_TRY(parse_dtype(ps, &t));
    TN_TRY(tn_lex_expect(&ps->lex, "="));
    TN_TRY(parse_typed(ps, t, "the value", &value));
    const tn_expr *var = tn_func_add_var(ps->f, name, t);
    tn_body_append(to, tn_stmt_let(ps->f, var, value));
    bind(ps, name, var);
    return TN_OK;
}

static tn_status parse_check(parser *ps, tn_body *to)
{
    const tn_expr *cond;
    const char *text;
    TN_TRY(parse_typed(ps, TN_BOOL1, "a condition", &cond));
    TN_TRY(parse_string(ps, &text));
    tn_body_append(to, tn_stmt_check(ps->f, cond, text));
    return TN_OK;
}

/* Indices of a store up to `]`; *out_lanes: those after the colon, else those of a vector index. */
static tn_status parse_indices(parser *ps, const tn_expr **index, int *out_n, uint16_t *out_lanes)
{
    int n = 0;
    *out_lanes = 1;
    TN_TRY(tn_lex_expect(&ps->lex, "["));
    while (!tn_lex_is(&ps->lex, "]") && !tn_lex_is(&ps->lex, ":")) {
        if (n == TN_TIR_DIMS)
            return tn_lex_fail(&ps->lex, "tir-E009", "more than %d indices", TN_TIR_DIMS);
        if (n)
            TN_TRY(tn_lex_expect(&ps->lex, ","));
        TN_TRY(parse_expr(ps, TN_IDX, &index[n]));
        if (index[n]->dtype.lanes > 1)
            *out_lanes = index[n]->dtype.lanes;
        n++;
    }
    if (tn_lex_accept(&ps->lex, ":")) {
        int64_t lanes = 1;
        TN_TRY(tn_lex_int(&ps->lex, 2, UINT16_MAX, &lanes));
        *out_lanes = (uint16_t)lanes;
    }
    *out_n = n;
    return tn_lex_expect(&ps->lex, "]");
}

/* A buffer and where in it: out[off : 16]. */
static tn_status parse_place(parser *ps, const char *what, uint32_t *buffer, const tn_expr **index, int *n,
                             uint16_t *lanes)
{
    tn_lexer at = ps->lex;
    const char *name = tn_lex_ident(&ps->lex);
    if (!name)
        return TN_FAIL;
    if (!find_buffer(ps, name, buffer))
        return tn_lex_fail(&at, "tir-E002", "`%s` is %s declared before this line", name, what);
    return parse_indices(ps, index, n, lanes);
}

/* out[off : 16] = value mask cond */
static tn_status parse_store(parser *ps, tn_body *to)
{
    const tn_expr *index[TN_TIR_DIMS] = {0}, *value, *mask = NULL;
    uint32_t buffer;
    uint16_t lanes;
    int n = 0;
    TN_TRY(parse_place(ps, "neither a statement nor a buffer", &buffer, index, &n, &lanes));
    TN_TRY(tn_lex_expect(&ps->lex, "="));
    tn_dtype t = ps->f->buffer[buffer].dtype;
    TN_TRY(parse_expr(ps, tn_dtype_lanes(t, 1), &value));
    lanes = t.lanes > lanes ? t.lanes : lanes;
    if (value->dtype.lanes == 1)
        value = tn_splat(ps->pool, value, lanes);
    if (tn_lex_accept(&ps->lex, "mask")) {
        TN_TRY(parse_expr(ps, TN_BOOL1, &mask));
        if (mask->dtype.lanes == 1)
            mask = tn_splat(ps->pool, mask, lanes);
    }
    tn_body_append(to, tn_stmt_store(ps->f, buffer, n, index, value, mask));
    return TN_OK;
}

/* prefetch w[i, j] */
static tn_status parse_prefetch(parser *ps, tn_body *to)
{
    const tn_expr *index[TN_TIR_DIMS] = {0};
    uint32_t buffer;
    uint16_t lanes;
    int n = 0;
    tn_lexer at = ps->lex;
    TN_TRY(parse_place(ps, "not a buffer", &buffer, index, &n, &lanes));
    if (lanes != 1)
        return tn_lex_fail(&at, "tir-E005", "a prefetch takes one element, but this has %u lanes", lanes);
    tn_body_append(to, tn_stmt_prefetch(ps->f, buffer, n, index));
    return TN_OK;
}

static tn_status parse_simple(parser *ps, tn_body *to)
{
    if (tn_lex_accept(&ps->lex, "let"))
        TN_TRY(parse_let(ps, to));
    else if (tn_lex_accept(&ps->lex, "buffer"))
        TN_TRY(parse_decl(ps, to));
    else if (tn_lex_accept(&ps->lex, "check"))
        TN_TRY(parse_check(ps, to));
    else if (tn_lex_accept(&ps->lex, "prefetch"))
        TN_TRY(parse_prefetch(ps, to));
    else if (!tn_lex_accept(&ps->lex, "pass"))
        TN_TRY(parse_store(ps, to));
    return end_line(ps);
}

/* %0: f32 = x * 2f; a name of the text: it stands for the expression up to the end of the list. */
static tn_status parse_alias(parser *ps)
{
    int64_t number;
    tn_dtype t;
    const tn_expr *value;
    TN_TRY(tn_lex_int(&ps->lex, 0, UINT32_MAX, &number));
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    TN_TRY(parse_dtype(ps, &t));
    TN_TRY(tn_lex_expect(&ps->lex, "="));
    TN_TRY(parse_typed(ps, t, "the value", &value));
    tn_buf name = {0};
    tn_buf_printf(&name, "%%%lld", (long long)number);
    bind(ps, tn_intern(ps->ctx, tn_buf_cstr(&name)), value);
    tn_buf_deinit(&name);
    return end_line(ps);
}

static tn_status parse_stmt(parser *ps, tn_body *to)
{
    while (tn_lex_accept(&ps->lex, "%"))
        TN_TRY(parse_alias(ps));
    if (ps->depth >= TN_TIR_DEPTH)
        return tn_lex_fail(&ps->lex, "tir-E012", "statements are nested more than %d deep", TN_TIR_DEPTH);
    tn_status s;
    ps->depth++;
    if (tn_lex_is(&ps->lex, "for") || tn_lex_is(&ps->lex, "parallel") || tn_lex_is(&ps->lex, "vector") ||
        tn_lex_is(&ps->lex, "unrolled") || tn_lex_is(&ps->lex, "tensor"))
        s = parse_for(ps, to);
    else if (tn_lex_accept(&ps->lex, "block"))
        s = parse_block(ps, to);
    else if (tn_lex_accept(&ps->lex, "if"))
        s = parse_if(ps, to);
    else
        s = parse_simple(ps, to);
    ps->depth--;
    return s;
}

/* `:` and one statement in the same line, or indented lines. What let binds ends with the list. */
static tn_status parse_suite(parser *ps, tn_body *to)
{
    size_t mark = ps->undo.n;
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    if (ps->lex.tok != TN_TOK_NEWLINE) {
        TN_TRY(parse_stmt(ps, to));
    } else {
        tn_lex_next(&ps->lex);
        if (ps->lex.tok != TN_TOK_INDENT)
            return tn_lex_fail(&ps->lex, "tir-E011",
                               "expected indented statements (write `pass` if there are none)");
        tn_lex_next(&ps->lex);
        while (ps->lex.tok != TN_TOK_DEDENT && ps->lex.tok != TN_TOK_END)
            TN_TRY(parse_stmt(ps, to));
        tn_lex_next(&ps->lex);
    }
    unbind(ps, mark);
    return ps->lex.failed ? TN_FAIL : TN_OK;
}

/* ---- functions ---- */

static void put_symbol(parser *ps, const char *name, int64_t min, int64_t max, uint32_t at)
{
    tn_func *f = ps->f;
    tn_func_add_symbol(f, name, min, max);
    uint32_t i = 0;
    while (f->symbol[i].name != name)
        i++;
    for (; i > at; i--)
        f->symbol[i] = f->symbol[i - 1];
    f->symbol[at] = (tn_symbol_range){name, min, max};
    tn_map_put(&ps->name, tn_map_key(name), tn_map_key(tn_sym(ps->pool, name)));
}

/* symbols n in [1, 512], m: the table, in this order; symbols of the signature that it leaves out come after. */
static tn_status parse_symbols(parser *ps)
{
    uint32_t n = 0;
    do {
        tn_lexer at = ps->lex;
        int64_t min = 1, max = INT32_MAX;
        const char *name = tn_lex_ident(&ps->lex);
        if (!name)
            return TN_FAIL;
        if (!tn_tir_is_name(name))
            return tn_lex_fail(&at, "tir-E003",
                               "`%s` cannot be the name of a symbol, because it has another meaning", name);
        for (uint32_t i = 0; i < n; i++)
            if (ps->f->symbol[i].name == name)
                return tn_lex_fail(&at, "tir-E004", "the symbol `%s` is listed twice", name);
        if (tn_lex_accept(&ps->lex, "in")) {
            TN_TRY(tn_lex_expect(&ps->lex, "["));
            TN_TRY(tn_lex_int(&ps->lex, INT64_MIN, INT64_MAX, &min));
            TN_TRY(tn_lex_expect(&ps->lex, ","));
            TN_TRY(tn_lex_int(&ps->lex, INT64_MIN, INT64_MAX, &max));
            TN_TRY(tn_lex_expect(&ps->lex, "]"));
        }
        put_symbol(ps, name, min, max, n++);
    } while (tn_lex_accept(&ps->lex, ","));
    return end_line(ps);
}

static tn_status parse_body(parser *ps)
{
    TN_TRY(tn_lex_expect(&ps->lex, "{"));
    if (tn_lex_accept(&ps->lex, "}"))
        return TN_OK;
    if (ps->lex.tok == TN_TOK_NEWLINE)
        tn_lex_next(&ps->lex);
    if (ps->lex.tok == TN_TOK_INDENT) {
        tn_lex_next(&ps->lex);
        if (tn_lex_accept(&ps->lex, "symbols"))
            TN_TRY(parse_symbols(ps));
        while (ps->lex.tok != TN_TOK_DEDENT && ps->lex.tok != TN_TOK_END)
            TN_TRY(parse_stmt(ps, &ps->f->body));
        tn_lex_next(&ps->lex);
    }
    return tn_lex_expect(&ps->lex, "}");
}

static tn_status parse_func(parser *ps, tn_arena *arena, tn_func **out)
{
    bool flat = tn_lex_is(&ps->lex, "phase");
    if (!flat && !tn_lex_is(&ps->lex, "func"))
        return tn_lex_fail(&ps->lex, "tir-E001", "expected `func @name(...)` or `phase @name(...)`");
    tn_lex_next(&ps->lex);
    TN_TRY(tn_lex_expect(&ps->lex, "@"));
    const char *name = tn_lex_ident(&ps->lex);
    if (!name)
        return TN_FAIL;
    ps->f = tn_func_new(ps->ctx, arena, ps->pool, name);
    ps->f->name = name;
    ps->f->stage = flat ? TN_STAGE_FLAT : TN_STAGE_BLOCKS;
    TN_TRY(parse_params(ps, false));
    if (tn_lex_accept(&ps->lex, "->"))
        TN_TRY(parse_params(ps, true));
    ps->f->strict = tn_lex_accept(&ps->lex, "strict");
    if (tn_lex_accept(&ps->lex, "source"))
        TN_TRY(parse_string(ps, &ps->f->source));
    TN_TRY(parse_body(ps));
    *out = ps->f;
    return TN_OK;
}

tn_status tn_func_parse(tn_ctx *ctx, tn_arena *arena, tn_pool *pool, const char *file, const char *text,
                        size_t n, tn_func **out_funcs, size_t max, size_t *out_n)
{
    tn_status s = TN_OK;
    *out_n = 0;
    parser ps = {.ctx = ctx, .pool = pool};
    tn_lex_init(&ps.lex, ctx, file, text, n, true);
    while (s == TN_OK && !ps.lex.failed) {
        while (ps.lex.tok == TN_TOK_NEWLINE)
            tn_lex_next(&ps.lex);
        if (ps.lex.tok == TN_TOK_END)
            break;
        ps.scope = (tn_scope_fns){scope_name, scope_buffer, &ps};
        ps.depth = 0;
        tn_vec_clear(&ps.undo);
        tn_map_clear(&ps.name);
        tn_map_clear(&ps.buffer);
        if (*out_n == max)
            s = tn_lex_fail(&ps.lex, "tir-E015", "at most %zu functions can be read at once", max);
        else if ((s = parse_func(&ps, arena, &out_funcs[*out_n])) == TN_OK)
            ++*out_n;
    }
    tn_vec_deinit(&ps.undo);
    tn_map_deinit(&ps.name);
    tn_map_deinit(&ps.buffer);
    return s != TN_OK || ps.lex.failed ? TN_FAIL : TN_OK;
}
