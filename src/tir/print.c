/* The text of functions (grammar in docs/tir.md). One statement a line; nested loops that hold nothing else
 * share a line.
 *
 * What is printed is the canonical copy (number.c), so reading it back and printing it again gives the same
 * bytes. O(size of the text) plus the copy.
 */
#include "ir/lex.h"
#include "tir/func.h"
#include "tir/unit.h"

#include <inttypes.h>
#include <string.h>

enum { WIDTH = 90 }; /* columns after which a chain of loops goes on in the next line */

typedef struct printer {
    const tn_func *f;
    const char *const *name; /* of variables */
    tn_names names;
    tn_buf *out;
    tn_aliases alias; /* of the statement at hand; the first n_alias of them are defined */
    size_t n_alias;
    size_t line; /* where the current line starts in out */
} printer;

static const char *var_name(void *user, uint32_t number)
{
    const printer *pr = user;
    return number < pr->f->n_var ? pr->name[number] : "undefined";
}

static const char *buffer_name(void *user, uint32_t number)
{
    const printer *pr = user;
    return number < pr->f->n_buffer ? pr->f->buffer[number].name : "undefined";
}

static bool alias_of(void *user, const tn_expr *e, uint32_t *out_number)
{
    const printer *pr = user;
    uint64_t number;
    if (pr->n_alias == 0 || !tn_map_get(&pr->alias.number, e->id, &number) || number >= pr->n_alias)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

static void str(printer *pr, const char *s) { tn_buf_str(pr->out, s); }

static void expr(printer *pr, const tn_expr *e) { tn_expr_print(e, &pr->names, pr->out); }

static void newline(printer *pr, int indent)
{
    tn_buf_char(pr->out, '\n');
    pr->line = pr->out->n;
    tn_buf_fill(pr->out, ' ', (size_t)indent * 2);
}

static void labelled(printer *pr, const char *word, const char *text)
{
    if (*text) {
        str(pr, word);
        tn_text_quote(text, pr->out);
    }
}

/* A symbol at the end that looks like a layout stands in parentheses, so that `f32[n, NC8c]` is never ambiguous. */
static void dim(printer *pr, const tn_expr *e, bool last)
{
    bool paren = last && e->kind == TN_E_SYM && tn_tir_layout_like(e->u.s, strlen(e->u.s));
    str(pr, paren ? "(" : "");
    expr(pr, e);
    str(pr, paren ? ")" : "");
}

/* name: f32[n, 64, NK32n] slack 16 */
static void buffer_type(printer *pr, const tn_buffer *b)
{
    str(pr, b->name);
    str(pr, ": ");
    tn_dtype_print(b->dtype, true, pr->out);
    tn_buf_char(pr->out, '[');
    for (uint32_t d = 0; d < b->ndim; d++) {
        str(pr, d ? ", " : "");
        dim(pr, b->dim[d], d + 1u == b->ndim && !b->layout);
    }
    if (b->layout) {
        str(pr, b->ndim ? ", " : "");
        str(pr, b->layout->text);
    }
    tn_buf_char(pr->out, ']');
    if (b->slack)
        tn_buf_printf(pr->out, " slack %" PRIu32, b->slack);
}

static void decl(printer *pr, const tn_stmt *s)
{
    str(pr, "buffer ");
    if (s->u.decl.buffer >= pr->f->n_buffer) {
        str(pr, "undefined");
        return;
    }
    const tn_buffer *b = &pr->f->buffer[s->u.decl.buffer];
    buffer_type(pr, b);
    if (b->scope != TN_SCOPE_GLOBAL)
        tn_buf_printf(pr->out, " in %s", tn_scope_names[b->scope]);
    if (b->work_offset) {
        str(pr, " at ");
        expr(pr, b->work_offset);
    } else if (b->scratch_offset) {
        tn_buf_printf(pr->out, " at %" PRIu64, b->scratch_offset);
    }
}

/* Lines before s that name what its text would repeat. */
static void aliases(printer *pr, const tn_stmt *s, int indent)
{
    tn_aliases_find(&pr->alias, s);
    for (pr->n_alias = 0; pr->n_alias < pr->alias.named.n; pr->n_alias++) {
        const tn_expr *e = pr->alias.named.at[pr->n_alias];
        tn_buf_printf(pr->out, "%%%zu: ", pr->n_alias);
        tn_dtype_print(e->dtype, true, pr->out);
        str(pr, " = ");
        expr(pr, e);
        newline(pr, indent);
    }
}

static void store(printer *pr, const tn_stmt *s)
{
    str(pr, buffer_name(pr, s->u.store.buffer));
    tn_buf_char(pr->out, '[');
    bool scalar_index = true;
    for (uint32_t i = 0; i < s->u.store.n_index; i++) {
        str(pr, i ? ", " : "");
        expr(pr, s->u.store.index[i]);
        scalar_index = scalar_index && s->u.store.index[i]->dtype.lanes == 1;
    }
    if (s->u.store.value->dtype.lanes > 1 && scalar_index)
        tn_buf_printf(pr->out, s->u.store.n_index ? " : %u" : ": %u", s->u.store.value->dtype.lanes);
    str(pr, "] = ");
    expr(pr, s->u.store.value);
    if (s->u.store.mask) {
        str(pr, " mask ");
        expr(pr, s->u.store.mask);
    }
}

static void prefetch(printer *pr, const tn_stmt *s)
{
    str(pr, "prefetch ");
    str(pr, buffer_name(pr, s->u.prefetch.buffer));
    for (uint32_t i = 0; i < s->u.prefetch.n_index; i++) {
        str(pr, i ? ", " : "[");
        expr(pr, s->u.prefetch.index[i]);
    }
    tn_buf_char(pr->out, ']');
}

static void list(printer *pr, const tn_body *b, int indent);

/* The loop that variable v belongs to, around s; NULL: none. */
static const tn_stmt *loop_of(const tn_stmt *s, const tn_expr *v)
{
    for (const tn_stmt *p = tn_stmt_parent(s); p; p = tn_stmt_parent(p))
        if (p->kind == TN_S_FOR && p->u.loop.var == v)
            return p;
    return NULL;
}

/* `k: reduce` where k is bound to the loop variable of that name and extent; else what differs is spelled out. */
static void iter(printer *pr, const tn_stmt *s, const tn_iter *it)
{
    const char *name = var_name(pr, (uint32_t)it->var->u.i);
    bool same_name = it->value->kind == TN_E_VAR && strcmp(name, var_name(pr, (uint32_t)it->value->u.i)) == 0;
    const tn_stmt *loop = it->value->kind == TN_E_VAR ? loop_of(s, it->value) : NULL;
    str(pr, name);
    if (!loop || loop->u.loop.extent != it->extent) {
        str(pr, " < ");
        expr(pr, it->extent);
    }
    str(pr, it->kind == TN_ITER_REDUCE ? ": reduce" : it->kind == TN_ITER_SCAN ? ": scan" : ": spatial");
    if (!same_name) {
        str(pr, " = ");
        expr(pr, it->value);
    }
}

static void block(printer *pr, const tn_stmt *s, int indent)
{
    str(pr, "block ");
    str(pr, s->u.block.name);
    tn_buf_char(pr->out, '(');
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        str(pr, i ? ", " : "");
        iter(pr, s, &s->u.block.iter[i]);
    }
    tn_buf_char(pr->out, ')');
    if (s->u.block.mask) {
        str(pr, " mask ");
        expr(pr, s->u.block.mask);
    }
    labelled(pr, " tag ", s->u.block.tag);
    labelled(pr, " source ", s->u.block.source);
    tn_buf_char(pr->out, ':');
    const tn_body *init = &s->u.block.init;
    if (init->first) {
        newline(pr, indent + 1);
        str(pr, "init");
        tn_aliases_find(&pr->alias, init->first); /* with aliases it needs lines of its own */
        if (init->first == init->last && init->first->kind == TN_S_STORE && pr->alias.named.n == 0) {
            tn_buf_char(pr->out, ' ');
            store(pr, init->first);
        } else {
            tn_buf_char(pr->out, ':');
            list(pr, init, indent + 2);
        }
    }
    if (s->u.block.body.first || !init->first)
        list(pr, &s->u.block.body, indent + 1);
}

static bool is_alike(const tn_stmt *a, const tn_stmt *b)
{
    return a->u.loop.kind == b->u.loop.kind && a->u.loop.tensor == b->u.loop.tensor;
}

/* A loop and the loops that are alone in it: one line as long as it fits. */
static void loops(printer *pr, const tn_stmt *s, int indent)
{
    for (const tn_stmt *at = s;; at = at->u.loop.body.first) {
        if (at == s || !is_alike(at, tn_stmt_parent(at)) || pr->out->n == pr->line + (size_t)indent * 2) {
            str(pr, tn_loop_names[at->u.loop.kind]);
            if (at->u.loop.kind == TN_LOOP_TENSOR)
                tn_buf_printf(pr->out, " \"%s\"", tn_units[at->u.loop.tensor].name);
            str(pr, at->u.loop.kind == TN_LOOP_SERIAL ? "for " : " for ");
        }
        expr(pr, at->u.loop.var);
        if (!tn_dtype_is_index(at->u.loop.var->dtype)) {
            str(pr, ": ");
            tn_dtype_print(at->u.loop.var->dtype, true, pr->out);
        }
        str(pr, " < ");
        expr(pr, at->u.loop.extent);
        const tn_stmt *in = at->u.loop.body.first;
        if (!in || in->next || in->kind != TN_S_FOR) {
            tn_buf_char(pr->out, ':');
            list(pr, &at->u.loop.body, indent + 1);
            return;
        }
        if (pr->out->n - pr->line > WIDTH) {
            tn_buf_char(pr->out, ':');
            newline(pr, ++indent);
        } else {
            str(pr, is_alike(in, at) ? ", " : ": ");
        }
    }
}

static void branch(printer *pr, const tn_stmt *s, int indent)
{
    str(pr, "if ");
    expr(pr, s->u.cond.cond);
    tn_buf_char(pr->out, ':');
    list(pr, &s->u.cond.then, indent + 1);
    if (s->u.cond.other.first) {
        newline(pr, indent);
        str(pr, "else:");
        list(pr, &s->u.cond.other, indent + 1);
    }
}

static void stmt(printer *pr, const tn_stmt *s, int indent)
{
    pr->n_alias = 0;
    if (s->kind != TN_S_FOR &&
        s->kind != TN_S_BLOCK) /* their heads define variables: no line can stand before */
        aliases(pr, s, indent);
    switch (s->kind) {
    case TN_S_FOR: loops(pr, s, indent); break;
    case TN_S_BLOCK: block(pr, s, indent); break;
    case TN_S_STORE: store(pr, s); break;
    case TN_S_IF: branch(pr, s, indent); break;
    case TN_S_LET:
        str(pr, "let ");
        expr(pr, s->u.let.var);
        str(pr, ": ");
        tn_dtype_print(s->u.let.var->dtype, true, pr->out);
        str(pr, " = ");
        expr(pr, s->u.let.value);
        break;
    case TN_S_BUFFER: decl(pr, s); break;
    case TN_S_CHECK:
        str(pr, "check ");
        expr(pr, s->u.check.cond);
        tn_buf_char(pr->out, ' ');
        tn_text_quote(s->u.check.text, pr->out);
        break;
    case TN_S_PREFETCH: prefetch(pr, s); break;
    default: break;
    }
}

static void list(printer *pr, const tn_body *b, int indent)
{
    if (!b->first) {
        newline(pr, indent);
        str(pr, "pass");
    }
    for (const tn_stmt *s = b->first; s; s = s->next) {
        newline(pr, indent);
        stmt(pr, s, indent);
    }
}

static void params(printer *pr, bool written)
{
    bool first = true;
    for (uint32_t i = 0; i < pr->f->n_param; i++) {
        const tn_buffer *b = &pr->f->buffer[pr->f->param[i]];
        if (b->written != written)
            continue;
        str(pr, first ? written ? " -> (" : "(" : ", ");
        buffer_type(pr, b);
        str(pr, b->constant ? " constant" : "");
        first = false;
    }
    str(pr, !first ? ")" : written ? "" : "()");
}

static bool default_range(const tn_symbol_range *r) { return r->min == 1 && r->max == INT32_MAX; }

typedef struct order {
    const tn_func *f;
    uint32_t n;
    bool same;
} order;

static bool next_symbol(const tn_expr *e, void *user)
{
    order *o = user;
    if (e->kind != TN_E_SYM)
        return true;
    uint32_t i = 0;
    while (i < o->f->n_symbol && o->f->symbol[i].name != e->u.s)
        i++;
    if (i == o->n)
        o->n++;
    else if (i > o->n)
        o->same = false;
    return true;
}

/* Does the signature alone give the table of symbols: all of them, in order of appearance, default ranges? */
static bool plain_symbols(const tn_func *f)
{
    order o = {f, 0, true};
    for (int written = 0; written < 2; written++)
        for (uint32_t i = 0; i < f->n_param; i++) {
            const tn_buffer *b = &f->buffer[f->param[i]];
            for (uint32_t d = 0; b->written == (written == 1) && d < b->ndim; d++)
                tn_each(b->dim[d], next_symbol, &o);
        }
    for (uint32_t i = 0; i < f->n_symbol; i++)
        o.same = o.same && default_range(&f->symbol[i]);
    return o.same && o.n == f->n_symbol;
}

static void symbols(printer *pr)
{
    if (pr->f->n_symbol == 0 || plain_symbols(pr->f))
        return;
    newline(pr, 1);
    str(pr, "symbols ");
    for (uint32_t i = 0; i < pr->f->n_symbol; i++) {
        const tn_symbol_range *r = &pr->f->symbol[i];
        str(pr, i ? ", " : "");
        str(pr, r->name);
        if (!default_range(r))
            tn_buf_printf(pr->out, " in [%" PRId64 ", %" PRId64 "]", r->min, r->max);
    }
}

void tn_func_print(const tn_func *f, tn_buf *out)
{
    tn_arena arena;
    tn_pool pool;
    const char **names;
    tn_arena_init(&arena);
    tn_pool_init(&pool, f->ctx, &arena, f->pool);
    printer pr = {.f = tn_func_number(f, &arena, &pool, &names), .out = out};
    pr.name = names;
    pr.names = (tn_names){var_name, buffer_name, &pr, alias_of};
    pr.line = out->n;
    str(&pr, f->stage == TN_STAGE_FLAT ? "phase @" : "func @");
    str(&pr, f->name);
    params(&pr, false);
    params(&pr, true);
    str(&pr, f->strict ? " strict" : "");
    labelled(&pr, " source ", f->source);
    str(&pr, " {");
    symbols(&pr);
    if (pr.f->body.first)
        list(&pr, &pr.f->body, 1);
    str(&pr, "\n}\n");
    tn_aliases_deinit(&pr.alias);
    tn_arena_deinit(&arena);
}
