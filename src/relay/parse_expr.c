/* Expressions of Relay text: literals, names, constants, projections, tuples, infix operators. */
#include "relay/parse.h"

#include "ir/eval.h"
#include "op/control/control.h"
#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

enum { MAX_PROJECTIONS = 16 };

/* What users of the reference system write and this reader knows but cannot take yet. */
static const struct refused {
    const char *word, *id, *text;
} refused[] = {
    {"let", "relay-E026", "`let` must begin a line of its own, as in let %x = ...;"},
    {"free_var", "relay-E027",
     "`free_var` can only precede a bare expression; in a function, write a parameter"},
};

pval pval_bad(uint32_t line, uint32_t col) { return (pval){.kind = PVAL_BAD, .line = line, .col = col}; }

pval pval_one(tn_node *n, uint32_t line, uint32_t col)
{
    return (pval){.kind = n->nout == 1 ? PVAL_ONE : PVAL_NODE, .v = tn_val(n), .line = line, .col = col};
}

/* Gives a node made since there were `first` nodes the source that the comment after it names. A comment is for the
 * innermost expression that ends before it; one in brackets leaves it to what is around. */
static void annotate(parser *p, const pval *v, uint32_t first)
{
    const char *s;
    size_t n;
    bool made = (v->kind == PVAL_ONE || v->kind == PVAL_NODE) && v->v.def->id >= first &&
                !tn_op_is(v->v.def, &tn_op_constant);
    if (!made || !parse_annot(p, &s, &n) || s == p->annot_used)
        return;
    p->annot_used = s;
    const char *source = tn_annot_source(p->g->ctx, s, n);
    const tn_loc *had = v->v.def->loc, *loc = source ? parse_loc(p, v->line, v->col, source) : had;
    for (tn_node *d = v->v.def; d && d->loc == had && loc != had; d = d->prev) /* with its match_shapes */
        d->loc = loc;
}

bool parse_is_never(tn_value v)
{
    const tn_type *t = v.def ? tn_value_type(v) : NULL;
    return t && t->kind == TN_T_NONE;
}

/* Operand i is only held, or given on. */
static bool is_held(const tn_op *op, int i)
{
    return op && (op == &tn_op_tuple || op == &tn_op_construct || op == &tn_op_ref || op->host ||
                  (i > 0 && (op == &tn_op_call || op == &tn_op_ref_write)) || (i > 1 && op == &tn_op_loop));
}

const tn_value *parse_never(const tn_op *op, int n, const tn_value in[])
{
    for (int i = 0; i < n; i++)
        if (parse_is_never(in[i]) && !is_held(op, i))
            return &in[i];
    return NULL;
}

void parse_decided(tn_graph *g, tn_region *r, tn_dtype t, tn_value *v)
{
    static const uint8_t one[8] = {1};
    if (parse_is_never(*v))
        *v = tn_val(tn_make_constant(g, r, NULL, t, 0, NULL, one, NULL));
}

/* A node of op over in[], typed; bad after an error. */
pval parse_node(parser *p, const tn_op *op, int n, const tn_value in[], const void *attr, uint32_t line,
                uint32_t col)
{
    const tn_value *never = parse_never(op, n, in);
    if (never)
        return (pval){.kind = PVAL_ONE, .v = *never, .line = line, .col = col};
    tn_node *node =
        tn_make_call(p->g, p->scope->region, NULL, op, n, in, attr, parse_loc(p, line, col, NULL));
    if (!node) {
        p->n_error++;
        return pval_bad(line, col);
    }
    return pval_one(node, line, col);
}

/* ---- values ---- */

uint32_t pval_n_items(const pval *v) { return v->kind == PVAL_NODE ? v->v.def->nout : v->n; }

pval pval_item(const pval *v, uint32_t i)
{
    if (v->kind == PVAL_LIST)
        return v->item[i];
    return (pval){.kind = PVAL_ONE, .v = {v->v.def, i}, .line = v->line, .col = v->col};
}

bool parse_value(parser *p, const pval *v, tn_value *out)
{
    *out = (tn_value){0};
    if (v->kind == PVAL_POLY)
        parse_poly_refuse(p, v);
    if (v->kind == PVAL_POLY || v->kind == PVAL_BAD || v->kind == PVAL_NONE)
        return v->kind == PVAL_NONE;
    if (v->kind == PVAL_ONE) {
        *out = v->v;
        return true;
    }
    uint32_t n = pval_n_items(v);
    tn_value *in = TN_NEW_N(&p->scratch, tn_value, n);
    for (uint32_t i = 0; i < n; i++) {
        pval item = pval_item(v, i);
        if (!parse_value(p, &item, &in[i]))
            return false;
        if (item.kind == PVAL_NONE) {
            (void)parse_error(p, v->line, v->col, "relay-E033",
                              "`None` can only be an argument of a call, for an absent operand");
            return false;
        }
    }
    pval t = parse_node(p, &tn_op_tuple, (int)n, in, NULL, v->line, v->col);
    *out = t.v;
    return t.kind == PVAL_ONE;
}

/* ---- literals ---- */

static pval scalar(parser *p, tn_dtype t, tn_scalar v, uint32_t line, uint32_t col)
{
    unsigned char data[8] = {0};
    tn_scalar_write(t, data, v);
    return pval_one(tn_make_constant(p->g, p->scope->region, NULL, t, 0, NULL, data, NULL), line, col);
}

/* dtype of a number's suffix; none: int32 or float32. */
static bool suffix_dtype(const char *s, size_t n, bool real, tn_dtype *out)
{
    if (n == 0) {
        *out = real ? TN_F32 : TN_I32;
        return true;
    }
    if (n == 1 && *s == 'f') {
        *out = TN_F32;
        return true;
    }
    return tn_dtype_parse(s, n, out) && out->lanes == 1 && out->bits <= 64 &&
           (tn_dtype_is_float(*out) || tn_dtype_is_int(*out));
}

static bool fits(tn_dtype t, int64_t i)
{
    if (t.bits == 64)
        return t.code == TN_INT || i >= 0;
    int64_t half = (int64_t)1 << (t.bits - 1);
    return t.code == TN_INT ? i >= -half && i < half : i >= 0 && i < 2 * half;
}

static tn_status parse_number(parser *p, bool minus, pval *out)
{
    tn_lexer *l = &p->l;
    uint32_t line = l->tok_line, col = l->tok_col;
    bool real = l->tok == TN_TOK_REAL;
    tn_dtype t;
    tn_scalar v;
    if (!suffix_dtype(l->suffix, l->n_suffix, real, &t)) {
        return tn_lex_fail(l, "relay-E030",
                           "unknown suffix '%.*s' of a number; use f, f64, f16, bf16, i8 ... i64, u8 ... u64",
                           (int)(l->n_suffix < 32 ? l->n_suffix : 32), l->suffix);
    }
    if (tn_dtype_is_float(t)) {
        double d = tn_lex_real(l, t);
        v.f = minus ? -d : d;
    } else {
        v.i = minus && l->i > 0 ? -l->i : l->i; /* a hexadecimal number may have come out negative */
        if (real || l->i < 0 || !fits(t, v.i)) {
            return tn_lex_fail(l, "relay-E031", "%s%.*s does not fit its integer type", minus ? "-" : "",
                               (int)(l->n < 64 ? l->n : 64), l->text);
        }
    }
    parse_next(p);
    *out = scalar(p, t, tn_dtype_is_float(t) ? tn_eval_cast(TN_F64, t, v) : v, line, col);
    return TN_OK;
}

/* True, False, inff, nanf64 ...: an identifier that is a literal. */
static bool word_literal(const tn_lexer *l, tn_dtype *t, tn_scalar *v)
{
    if (l->tok != TN_TOK_IDENT)
        return false;
    if (tn_lex_is(l, "True") || tn_lex_is(l, "False")) {
        *t = TN_BOOL1;
        v->i = l->n == 4;
        return true;
    }
    bool inf = l->n > 3 && !memcmp(l->text, "inf", 3), nan = l->n > 3 && !memcmp(l->text, "nan", 3);
    if ((!inf && !nan) || !suffix_dtype(l->text + 3, l->n - 3, true, t) || !tn_dtype_is_float(*t))
        return false;
    v->f = inf ? (double)INFINITY : (double)NAN;
    return true;
}

/* ---- constants: meta[relay.Constant][k] with its annotation ---- */

static pconst *meta_entry(parser *p, int64_t k)
{
    uint64_t at;
    if (!tn_map_get(&p->meta_index, (uint64_t)k, &at)) {
        at = p->meta.n;
        tn_map_put(&p->meta_index, (uint64_t)k, at);
        tn_vec_push(&p->meta, (pconst){0});
    }
    return &p->meta.at[at];
}

static bool in_scope(const parser *p, const tn_region *r)
{
    for (const pscope *s = p->scope; s; s = s->up)
        if (s->region == r)
            return true;
    return false;
}

static tn_node *first_line(const tn_region *r)
{
    tn_node *n = r->first;
    while (n && tn_op_is(n, &tn_op_var))
        n = n->next;
    return n;
}

static tn_status constant_blob(parser *p, int64_t k, const tn_type *t, uint32_t line, uint32_t col,
                               const tn_blob **out)
{
    int64_t bytes = -1;
    const tn_expr *e = tn_type_bytes(p->g->pool, t);
    *out = NULL;
    if (!e || !tn_is_int(e, &bytes))
        return parse_error(p, line, col, "relay-E015", "this constant is larger than any memory");
    if (!p->given.constant || ((uint64_t)k < p->given.n_constant && !p->given.constant[k]))
        return TN_OK;
    if ((uint64_t)k >= p->given.n_constant || !p->given.constant[k] ||
        p->given.constant[k]->n != (uint64_t)bytes) {
        size_t have = (uint64_t)k < p->given.n_constant && p->given.constant[k] ? p->given.constant[k]->n : 0;
        return parse_error(p, line, col, "relay-E034",
                           "meta[relay.Constant][%lld] needs %lld bytes, but its parameter has %zu; use the "
                           ".params file that was written with this text",
                           (long long)k, (long long)bytes, have);
    }
    *out = p->given.constant[k];
    return TN_OK;
}

/* One node for each k and function. It is made where it is first used; a later use from outside that closure moves it
 * to the head of the function, which dominates everything. */
static tn_status use_constant(parser *p, int64_t k, uint32_t line, uint32_t col, pval *out)
{
    pconst *c = meta_entry(p, k);
    if (c->node && c->body == p->body) {
        if (!in_scope(p, c->node->owner))
            tn_node_move(p->g, c->node, p->body, first_line(p->body));
        *out = pval_one(c->node, line, col);
        return TN_OK;
    }
    const tn_blob *blob;
    if (constant_blob(p, k, c->type, line, col, &blob) != TN_OK) {
        *out = pval_bad(line, col);
        return TN_OK;
    }
    c->node = tn_constant_new(p->g, p->scope->region, NULL, c->type, blob, c->name);
    c->node->loc = parse_loc(p, line, col, NULL);
    c->body = p->body;
    *out = pval_one(c->node, line, col);
    return TN_OK;
}

static tn_status parse_meta(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    const char *s;
    size_t n;
    parse_next(p);
    TN_TRY(parse_expect(p, "["));
    if (!tn_lex_is(&p->l, "relay.Constant"))
        return tn_lex_fail(&p->l, "relay-E035", "only meta[relay.Constant][k] can stand here");
    parse_next(p);
    TN_TRY(parse_expect(p, "]"));
    TN_TRY(parse_expect(p, "["));
    int64_t k = p->l.i;
    if (p->l.tok != TN_TOK_INT || p->l.n_suffix)
        return tn_lex_fail(&p->l, "relay-E035", "expected the number of a constant");
    parse_next(p);
    TN_TRY(parse_expect(p, "]"));
    tn_annot_const a;
    pconst *c = meta_entry(p, k);
    if (!c->type && parse_annot(p, &s, &n) && tn_annot_constant(p->g->ctx, s, n, &a)) {
        c->name = a.name;
        if (parse_constant_type(p, &a, line, col, &c->type) != TN_OK) {
            *out = pval_bad(line, col);
            p->n_error++;
            return TN_OK;
        }
    }
    if (!c->type) {
        *out = pval_bad(line, col);
        (void)parse_error(p, line, col, "relay-E036",
                          "the type of meta[relay.Constant][%lld] is unknown; write it in a comment after "
                          "it, as in /* name (256, 64) */",
                          (long long)k);
        return TN_OK;
    }
    return use_constant(p, k, line, col, out);
}

/* ---- projections ---- */

/* v.k */
pval parse_project(parser *p, const pval *v, uint32_t k, uint32_t line, uint32_t col)
{
    if (v->kind == PVAL_BAD)
        return pval_bad(line, col);
    if (v->kind == PVAL_ONE && parse_is_never(v->v))
        return *v;
    bool many = v->kind == PVAL_NODE || v->kind == PVAL_LIST;
    const tn_type *t = v->kind == PVAL_ONE ? tn_value_type(v->v) : NULL;
    uint32_t n = many ? pval_n_items(v) : t && t->kind == TN_T_TUPLE ? t->n : 0;
    if (k >= n) {
        (void)parse_error(p, line, col, "relay-E037",
                          n ? "there is no field %u; the tuple has %u fields"
                            : "only a tuple has fields such as .%u",
                          k, n);
        return pval_bad(line, col);
    }
    if (many) {
        pval r = pval_item(v, k);
        r.line = line, r.col = col;
        return r;
    }
    tn_tuple_get_attr attr = {.index = k};
    return parse_node(p, &tn_op_tuple_get, 1, &v->v, &attr, line, col);
}

/* "0.1": numbers separated by points, applied in turn. */
static tn_status project_text(parser *p, const char *s, size_t n, pval *v)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    for (int i = 0; n; i++) {
        size_t k = 0, used = 0;
        while (used < n && s[used] >= '0' && s[used] <= '9' && used < 9)
            k = k * 10 + (size_t)(s[used++] - '0');
        if (!used || (used < n && s[used] != '.') || used + 1 == n || i == MAX_PROJECTIONS) {
            return tn_lex_fail(&p->l, "relay-E037",
                               "expected the number of a field after the point, as in %%0.1");
        }
        *v = parse_project(p, v, (uint32_t)k, line, col);
        n -= used < n ? used + 1 : used;
        s += used + 1;
    }
    return TN_OK;
}

/* At the token after a point. */
static tn_status parse_field(parser *p, pval *v)
{
    if ((p->l.tok != TN_TOK_INT && p->l.tok != TN_TOK_REAL) || p->l.n_suffix) {
        return tn_lex_fail(&p->l, "relay-E037",
                           "expected the number of a field after the point, as in %%0.1");
    }
    const char *s = p->l.text;
    size_t n = p->l.n;
    TN_TRY(project_text(p, s, n, v));
    parse_next(p);
    return TN_OK;
}

/* %x, %0, %t.0 (which is one word to the lexer) */
static tn_status parse_local(parser *p, pval *out)
{
    tn_lexer *l = &p->l;
    uint32_t line = l->tok_line, col = l->tok_col;
    parse_next(p);
    const bool odd = p->odd.n && parse_odd_name(p);
    if ((l->tok != TN_TOK_IDENT && l->tok != TN_TOK_INT) || (l->tok == TN_TOK_INT && l->n_suffix))
        return tn_lex_fail(l, "relay-E032", "expected a name or a number after `%%`");
    const char *dot = odd ? NULL : memchr(l->text, '.', l->n);
    size_t n = dot ? (size_t)(dot - l->text) : l->n;
    const char *name = tn_intern_n(p->g->ctx, l->text, n);
    if (!parse_lookup(p, name, out)) {
        *out = pval_bad(line, col);
        if (p->untyped && !strcmp(p->untyped, name))
            (void)parse_error(p, line, col, "relay-E228",
                              "%%%s calls itself; write the type of its result, as in fn (...) -> float32",
                              name);
        else
            (void)parse_error(p, line, col, "relay-E039", "%%%s is not defined here", name);
    }
    out->line = line, out->col = col;
    if (dot)
        TN_TRY(project_text(p, dot + 1, l->n - n - 1, out));
    parse_next(p);
    return TN_OK;
}

/* ---- brackets, primaries ---- */

/* (e), (), (a,), (a, b) */
static tn_status parse_parens(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    pvals v = {0};
    bool tuple = true;
    tn_status s = TN_OK;
    parse_next(p);
    while (s == TN_OK && !tn_lex_is(&p->l, ")")) {
        pval item;
        s = v.n == PARSE_MAX_ARGS
                ? tn_lex_fail(&p->l, "relay-E042", "a tuple has at most %d fields", PARSE_MAX_ARGS)
                : parse_expr(p, &item);
        if (s == TN_OK) {
            tn_vec_push(&v, item);
            tuple = parse_accept(p, ",");
            if (!tuple) {
                tuple = v.n > 1;
                break;
            }
        }
    }
    s = s == TN_OK ? parse_expect(p, ")") : s;
    if (s == TN_OK && !tuple) {
        *out = v.at[0];
    } else if (s == TN_OK) {
        *out = (pval){.kind = PVAL_LIST, .n = (uint32_t)v.n, .line = line, .col = col};
        out->item = TN_NEW_N(&p->scratch, pval, v.n);
        memcpy(out->item, v.n ? v.at : (void *)out->item, v.n * sizeof *v.at);
        for (size_t i = 0; i < v.n; i++)
            out->kind = v.at[i].kind == PVAL_BAD ? PVAL_BAD : out->kind;
    }
    tn_vec_deinit(&v);
    return s;
}

static tn_status parse_word(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_dtype t;
    tn_scalar v;
    if (word_literal(&p->l, &t, &v)) {
        parse_next(p);
        *out = scalar(p, t, v, line, col);
        return TN_OK;
    }
    if (parse_accept(p, "None")) {
        *out = (pval){.kind = PVAL_NONE, .line = line, .col = col};
        return TN_OK;
    }
    if (tn_lex_is(&p->l, "meta"))
        return parse_meta(p, out);
    if (tn_lex_is(&p->l, "fn"))
        return parse_fn(p, out);
    if (tn_lex_is(&p->l, "if"))
        return parse_if(p, out);
    if (tn_lex_is(&p->l, "loop"))
        return parse_loop(p, out);
    if (tn_lex_is(&p->l, "match"))
        return parse_match(p, out);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (tn_lex_is(&p->l, refused[i].word))
            return tn_lex_fail(&p->l, refused[i].id, "%s", refused[i].text);
    const tn_constructor *c;
    TN_TRY(parse_constructor(p, tn_intern_n(p->g->ctx, p->l.text, p->l.n), &c));
    if (c)
        return parse_construct(p, c, out);
    tn_lexer ahead = p->l;
    tn_lex_next(&ahead);
    const tn_op *op = tn_lex_is(&ahead, "(") ? NULL : tn_ops_find(tn_intern_n(p->g->ctx, p->l.text, p->l.n));
    if (op && parse_is_plain(op)) {
        *out = (pval){.kind = PVAL_POLY, .poly = {.op = op}, .line = line, .col = col};
        parse_next(p);
        return TN_OK;
    }
    if (!tn_lex_is(&ahead, "(")) {
        return tn_lex_fail(
            &p->l, "relay-E046",
            "'%.*s' is not a value; values are %%names, constants, constructors and calls, op(...)",
            (int)(p->l.n < 64 ? p->l.n : 64), p->l.text);
    }
    return parse_op_call(p, out);
}

static tn_status parse_primary(parser *p, pval *out)
{
    tn_lexer *l = &p->l;
    switch (l->tok) {
    case TN_TOK_INT:
    case TN_TOK_REAL: return parse_number(p, false, out);
    case TN_TOK_IDENT: return parse_word(p, out);
    case TN_TOK_PUNCT: break;
    case TN_TOK_STRING:
        return tn_lex_fail(l, "relay-E046", "a string is not a tensor; strings can only be attributes");
    default: return tn_lex_fail(l, "relay-E047", "expected an expression, found the end of the text");
    }
    if (tn_lex_is(l, "%"))
        return parse_local(p, out);
    if (tn_lex_is(l, "("))
        return parse_parens(p, out);
    if (tn_lex_is(l, "@"))
        return parse_global_call(p, out);
    return tn_lex_fail(l, "relay-E047", "expected an expression, found '%.*s'", (int)l->n, l->text);
}

static tn_status parse_postfix(parser *p, pval *out)
{
    uint32_t first = tn_lex_is(&p->l, "(") ? UINT32_MAX : p->g->n_node;
    TN_TRY(parse_primary(p, out));
    for (;;) {
        annotate(p, out, first);
        first = first == UINT32_MAX ? p->g->n_node : first;
        if (parse_accept(p, "."))
            TN_TRY(parse_field(p, out));
        else if (tn_lex_is(&p->l, "("))
            TN_TRY(parse_apply(p, out));
        else
            return TN_OK;
    }
}

/* ---- operators ---- */

static const struct infix {
    const char *text;
    int level;
    const tn_op *op;
} infixes[] = {
    {"*", 4, &tn_op_multiply},   {"/", 4, &tn_op_divide},         {"+", 3, &tn_op_add},
    {"-", 3, &tn_op_subtract},   {"<", 2, &tn_op_less},           {"<=", 2, &tn_op_less_equal},
    {">", 2, &tn_op_greater},    {">=", 2, &tn_op_greater_equal}, {"==", 1, &tn_op_equal},
    {"!=", 1, &tn_op_not_equal},
};

static const struct infix *infix_at(const parser *p)
{
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++)
        if (p->l.tok == TN_TOK_PUNCT && tn_lex_is(&p->l, infixes[i].text))
            return &infixes[i];
    return NULL;
}

static tn_status parse_unary(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    bool read = tn_lex_is(&p->l, "!");
    if (!read && !tn_lex_is(&p->l, "-"))
        return parse_postfix(p, out);
    parse_next(p);
    if (!read && (p->l.tok == TN_TOK_INT || p->l.tok == TN_TOK_REAL))
        return parse_number(p, true, out);
    tn_dtype t;
    tn_scalar s;
    if (!read && word_literal(&p->l, &t, &s) && tn_dtype_is_float(t)) {
        parse_next(p);
        s.f = -s.f;
        *out = scalar(p, t, s, line, col);
        return TN_OK;
    }
    TN_TRY(parse_enter(p));
    TN_TRY(parse_unary(p, out));
    p->nest--;
    tn_value v;
    *out = parse_value(p, out, &v)
               ? parse_node(p, read ? &tn_op_ref_read : &tn_op_negative, 1, &v, NULL, line, col)
               : pval_bad(line, col);
    return TN_OK;
}

/* Operators of at least this level, left to right. */
static tn_status parse_infix(parser *p, int level, pval *out)
{
    const struct infix *op;
    TN_TRY(parse_unary(p, out));
    while ((op = infix_at(p)) && op->level >= level) {
        uint32_t line = p->l.tok_line, col = p->l.tok_col;
        pval right;
        tn_value in[2];
        parse_next(p);
        TN_TRY(parse_infix(p, op->level + 1, &right));
        bool ok = parse_value(p, out, &in[0]);
        ok = parse_value(p, &right, &in[1]) && ok;
        *out =
            ok ? parse_node(p, parse_quotient(op->op, 2, in), 2, in, NULL, line, col) : pval_bad(line, col);
    }
    return TN_OK;
}

/* After `%r := `, whose reference is *out. */
static tn_status parse_write(parser *p, pval *out)
{
    pval what;
    tn_value in[2];
    TN_TRY(parse_expect(p, "="));
    TN_TRY(parse_infix(p, 1, &what));
    bool ok = parse_value(p, out, &in[0]);
    ok = parse_value(p, &what, &in[1]) && ok;
    *out = ok ? parse_node(p, &tn_op_ref_write, 2, in, NULL, out->line, out->col)
              : pval_bad(out->line, out->col);
    return TN_OK;
}

tn_status parse_expr(parser *p, pval *out)
{
    *out = pval_bad(p->l.tok_line, p->l.tok_col);
    uint32_t first = p->g->n_node;
    TN_TRY(parse_enter(p));
    tn_status s = parse_infix(p, 1, out);
    if (s == TN_OK && parse_accept(p, ":"))
        s = parse_write(p, out);
    p->nest--;
    if (s == TN_OK)
        annotate(p, out, first);
    return s;
}
