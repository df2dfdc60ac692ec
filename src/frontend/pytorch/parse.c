/* Code to trees: recursive descent of bounded depth. */
#include "frontend/pytorch/code.h"
#include "frontend/pytorch/lex.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 200, LONGEST_CHAIN = 2000 /* a + b + c, a.b.c: the tree is as deep */ };

typedef struct parser {
    pt_lexer l;
    tn_arena *arena;
    const char *file, *why;
    int line, depth;
} parser;

typedef tn_vec(pt_expr *) expr_list;

static void fail(parser *p, const char *why)
{
    if (!p->why) {
        p->why = p->l.kind == PT_T_BAD ? p->l.why : why;
        p->line = p->l.line;
    }
}

static bool same(tn_bytes s, const char *text) { return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0; }

static bool sees(const parser *p, const char *text)
{
    return !p->why && (p->l.kind == PT_T_MARK || p->l.kind == PT_T_NAME) && same(p->l.text, text);
}

static void next(parser *p)
{
    if (!p->why)
        pt_lex_next(&p->l);
    if (p->l.kind == PT_T_BAD)
        fail(p, NULL);
}

static bool accept(parser *p, const char *text)
{
    bool is = sees(p, text);
    if (is)
        next(p);
    return is;
}

static void expect(parser *p, const char *text)
{
    if (!accept(p, text))
        fail(p, tn_arena_printf(p->arena, "\"%s\" is missing", text));
}

static tn_bytes name(parser *p)
{
    tn_bytes s = p->l.text;
    if (p->l.kind != PT_T_NAME)
        fail(p, "a name is missing");
    next(p);
    return s;
}

/* ---- expressions ---- */

static pt_expr *expression(parser *p);

static pt_expr *node(parser *p, enum pt_expr_kind kind, size_t n, pt_expr *const arg[])
{
    pt_expr *e = TN_NEW(p->arena, pt_expr);
    *e = (pt_expr){.kind = kind, .line = p->l.line, .n = n};
    e->arg = TN_NEW_N(p->arena, pt_expr *, n);
    if (n)
        memcpy(e->arg, arg, n * sizeof *arg);
    return e;
}

static pt_expr *finish(parser *p, enum pt_expr_kind kind, expr_list *list)
{
    pt_expr *e = node(p, kind, list->n, list->at);
    tn_vec_deinit(list);
    return e;
}

/* Up to `end`, separated by commas. */
static void items(parser *p, expr_list *list, const char *end)
{
    while (!p->why && !sees(p, end)) {
        tn_vec_push(list, expression(p));
        if (!accept(p, ","))
            break;
    }
    expect(p, end);
}

static pt_expr *number(parser *p)
{
    enum { LONGEST = 400 };
    char text[LONGEST + 1] = "", *end;
    enum pt_token_kind kind = p->l.kind;
    pt_expr *e = node(p,
                      kind == PT_T_FLOAT     ? PT_E_FLOAT
                      : kind == PT_T_COMPLEX ? PT_E_COMPLEX
                                             : PT_E_INT,
                      0, NULL);
    if (p->l.text.n > LONGEST)
        fail(p, "a number is too long");
    else
        memcpy(text, p->l.text.at, p->l.text.n);
    if (kind != PT_T_INT)
        e->f = strtod(text, &end);
    else
        e->i = (int64_t)strtoull(text, &end, 10);
    if (kind == PT_T_COMPLEX) {
        e->i = *end != 'j';
        e->imaginary = e->i ? strtod(end, &end) : e->f;
        e->f = e->i ? e->f : 0;
        end += *end == 'j';
    }
    if (*end)
        fail(p, "a number is not valid");
    next(p);
    return e;
}

/* (a), (a, b), () */
static pt_expr *parentheses(parser *p)
{
    expr_list list = {0};
    bool comma = false;
    expect(p, "(");
    while (!p->why && !sees(p, ")")) {
        tn_vec_push(&list, expression(p));
        comma = accept(p, ",");
        if (!comma)
            break;
        comma = true;
    }
    expect(p, ")");
    if (list.n == 1 && !comma) {
        pt_expr *e = list.at[0];
        tn_vec_deinit(&list);
        return e;
    }
    return finish(p, PT_E_TUPLE, &list);
}

static pt_expr *dict(parser *p)
{
    expr_list list = {0};
    expect(p, "{");
    while (!p->why && !sees(p, "}")) {
        tn_vec_push(&list, expression(p));
        expect(p, ":");
        tn_vec_push(&list, expression(p));
        if (!accept(p, ","))
            break;
    }
    expect(p, "}");
    return finish(p, PT_E_DICT, &list);
}

static pt_expr *word(parser *p)
{
    pt_expr *e = node(p, PT_E_NAME, 0, NULL);
    e->text = name(p);
    if (same(e->text, "None"))
        e->kind = PT_E_NONE;
    if (same(e->text, "True") || same(e->text, "False")) {
        e->kind = PT_E_BOOL;
        e->i = same(e->text, "True");
    }
    return e;
}

static pt_expr *atom(parser *p)
{
    expr_list list = {0};
    pt_expr *e;
    switch (p->l.kind) {
    case PT_T_INT:
    case PT_T_COMPLEX:
    case PT_T_FLOAT: return number(p);
    case PT_T_TEXT:
        e = node(p, PT_E_TEXT, 0, NULL);
        e->text = p->l.text;
        next(p);
        return e;
    case PT_T_NAME: return word(p);
    default: break;
    }
    if (sees(p, "("))
        return parentheses(p);
    if (sees(p, "{"))
        return dict(p);
    if (accept(p, "[")) {
        items(p, &list, "]");
        return finish(p, PT_E_LIST, &list);
    }
    fail(p, "an expression is missing");
    return node(p, PT_E_NONE, 0, NULL);
}

static pt_expr *call(parser *p, pt_expr *f)
{
    expr_list list = {0};
    tn_vec(tn_bytes) word = {0};
    tn_vec_push(&list, f);
    tn_vec_push(&word, ((tn_bytes){0}));
    while (!p->why && !sees(p, ")")) {
        pt_expr *e = expression(p);
        tn_bytes key = {0};
        if (e->kind == PT_E_NAME && accept(p, "=")) {
            key = e->text;
            e = expression(p);
        }
        tn_vec_push(&list, e);
        tn_vec_push(&word, key);
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
    pt_expr *e = node(p, PT_E_CALL, list.n, list.at);
    e->keyword = tn_arena_copy(p->arena, word.at, word.n * sizeof *word.at, 8);
    tn_vec_deinit(&list);
    tn_vec_deinit(&word);
    return e;
}

static pt_expr *postfix(parser *p)
{
    pt_expr *e = atom(p);
    for (int k = 0; !p->why; k++) {
        if (k > LONGEST_CHAIN)
            fail(p, "an expression is too long");
        if (accept(p, ".")) {
            e = node(p, PT_E_FIELD, 1, &e);
            e->text = name(p);
        } else if (accept(p, "(")) {
            e = call(p, e);
        } else if (accept(p, "[")) {
            expr_list list = {0};
            tn_vec_push(&list, e);
            items(p, &list, "]");
            e = finish(p, PT_E_INDEX, &list);
        } else {
            break;
        }
    }
    return e;
}

static const char *const levels[][9] = {
    {"or"},       {"and"},    {"<", ">", "==", "!=", "<=", ">=", "in", "is"},
    {"|"},        {"^"},      {"&"},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}};
enum { N_LEVEL = sizeof levels / sizeof *levels };

static pt_expr *unary(parser *p)
{
    if (sees(p, "-") || sees(p, "~") || sees(p, "not")) {
        tn_bytes op = p->l.text;
        next(p);
        p->depth++;
        pt_expr *of = p->depth > MAX_DEPTH ? node(p, PT_E_NONE, 0, NULL) : unary(p);
        if (p->depth-- > MAX_DEPTH)
            fail(p, "expressions are nested too deep");
        if (op.at[0] == '-' && (of->kind == PT_E_INT || of->kind == PT_E_FLOAT)) {
            of->i = (int64_t)(0 - (uint64_t)of->i);
            of->f = -of->f;
            return of;
        }
        if (op.at[0] == '-' && of->kind == PT_E_COMPLEX) { /* of the first number */
            of->f = of->i ? -of->f : of->f;
            of->imaginary = of->i ? of->imaginary : -of->imaginary;
            return of;
        }
        pt_expr *e = node(p, PT_E_UNARY, 1, &of);
        e->text = op;
        return e;
    }
    pt_expr *e = postfix(p);
    if (accept(p, "**")) {
        pt_expr *two[] = {e, postfix(p)};
        e = node(p, PT_E_BINARY, 2, two);
        e->text = (tn_bytes){(const uint8_t *)"**", 2};
    }
    return e;
}

static const char *operator_of(const parser *p, int level)
{
    for (int i = 0; i < 9 && levels[level][i]; i++)
        if (sees(p, levels[level][i]))
            return levels[level][i];
    return NULL;
}

static pt_expr *binary(parser *p, int level)
{
    if (level == N_LEVEL)
        return unary(p);
    pt_expr *a = binary(p, level + 1);
    const char *op;
    for (int k = 0; !p->why && (op = operator_of(p, level)); k++) {
        if (k > LONGEST_CHAIN)
            fail(p, "an expression is too long");
        next(p);
        bool turned = strcmp(op, "is") == 0 && accept(p, "not");
        pt_expr *two[] = {a, binary(p, level + 1)};
        a = node(p, PT_E_BINARY, 2, two);
        op = turned ? "is not" : op;
        a->text = (tn_bytes){(const uint8_t *)op, strlen(op)};
    }
    return a;
}

static pt_expr *expression(parser *p)
{
    if (++p->depth > MAX_DEPTH) {
        fail(p, "expressions are nested too deep");
        p->depth--;
        return node(p, PT_E_NONE, 0, NULL);
    }
    pt_expr *e = binary(p, 0);
    if (accept(p, "if")) {
        pt_expr *condition = binary(p, 0);
        expect(p, "else");
        pt_expr *three[] = {condition, e, expression(p)};
        e = node(p, PT_E_CHOICE, 3, three);
    }
    p->depth--;
    return e;
}

/* ---- statements ---- */

static pt_block block(parser *p);

static void end_line(parser *p)
{
    if (p->l.kind == PT_T_LINE)
        next(p);
    else
        fail(p, "the end of a statement is missing");
}

/* a, b, : a tuple where there is a comma. */
static pt_expr *targets(parser *p)
{
    pt_expr *e = expression(p);
    expr_list list = {0};
    if (!sees(p, ","))
        return e;
    tn_vec_push(&list, e);
    while (accept(p, ","))
        if (!sees(p, "=") && p->l.kind != PT_T_LINE)
            tn_vec_push(&list, expression(p));
    return finish(p, PT_E_TUPLE, &list);
}

static void assignment(parser *p, pt_stmt *s)
{
    s->kind = PT_S_EXPR;
    s->value = targets(p);
    if (accept(p, ":"))
        (void)expression(p); /* its type */
    if (accept(p, "=")) {
        s->kind = PT_S_ASSIGN;
        s->target = s->value;
        s->value = targets(p);
        if (s->target->kind == PT_E_TUPLE && s->value->kind == PT_E_CALL)
            s->value->wanted = (uint32_t)s->target->n;
    }
    end_line(p);
}

static void condition(parser *p, pt_stmt *s, enum pt_stmt_kind kind)
{
    s->kind = kind;
    s->value = expression(p);
    expect(p, ":");
    s->body = block(p);
    if (kind != PT_S_IF)
        return;
    if (accept(p, "elif")) {
        pt_stmt *inner = TN_NEW(p->arena, pt_stmt);
        inner->line = p->l.line;
        if (++p->depth > MAX_DEPTH)
            fail(p, "there are too many conditions one behind the other");
        condition(p, inner, PT_S_IF);
        p->depth--;
        s->orelse.at = TN_NEW_N(p->arena, pt_stmt *, 1);
        s->orelse.at[0] = inner;
        s->orelse.n = 1;
    } else if (accept(p, "else")) {
        expect(p, ":");
        s->orelse = block(p);
    }
}

/* NULL: it says nothing. */
static pt_stmt *statement(parser *p)
{
    pt_stmt *s = TN_NEW(p->arena, pt_stmt);
    s->line = p->l.line;
    if (accept(p, "pass")) {
        end_line(p);
        return NULL;
    }
    if (accept(p, "if")) {
        condition(p, s, PT_S_IF);
    } else if (accept(p, "while")) {
        condition(p, s, PT_S_WHILE);
    } else if (accept(p, "for")) {
        s->kind = PT_S_FOR;
        s->target = postfix(p);
        expect(p, "in");
        s->value = expression(p);
        expect(p, ":");
        s->body = block(p);
    } else if (accept(p, "with")) {
        s->kind = PT_S_WITH;
        s->value = expression(p);
        expect(p, ":");
        s->body = block(p);
    } else if (accept(p, "return")) {
        s->kind = PT_S_RETURN;
        s->value = p->l.kind == PT_T_LINE ? NULL : targets(p);
        end_line(p);
    } else {
        assignment(p, s);
    }
    return s;
}

static pt_block block(parser *p)
{
    tn_vec(pt_stmt *) list = {0};
    pt_block b = {0};
    if (++p->depth > MAX_DEPTH)
        fail(p, "blocks are nested too deep");
    end_line(p);
    if (p->l.kind == PT_T_INDENT)
        next(p);
    else
        fail(p, "a block is missing");
    while (!p->why && p->l.kind != PT_T_DEDENT && p->l.kind != PT_T_END) {
        pt_stmt *s = statement(p);
        if (s)
            tn_vec_push(&list, s);
    }
    if (p->l.kind == PT_T_DEDENT)
        next(p);
    p->depth--;
    b.n = list.n;
    b.at = tn_arena_copy(p->arena, list.at, list.n * sizeof *list.at, 8);
    tn_vec_deinit(&list);
    return b;
}

/* ---- definitions ---- */

static pt_def *definition(parser *p)
{
    tn_vec(pt_param) list = {0};
    pt_def *d = TN_NEW(p->arena, pt_def);
    d->file = p->file;
    d->name = name(p);
    expect(p, "(");
    while (!p->why && !sees(p, ")")) {
        pt_param a = {.name = name(p)};
        if (accept(p, ":"))
            a.type = expression(p);
        if (accept(p, "="))
            a.value = expression(p);
        tn_vec_push(&list, a);
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
    if (accept(p, "->"))
        (void)expression(p);
    expect(p, ":");
    d->n = list.n;
    d->param = tn_arena_copy(p->arena, list.at, list.n * sizeof *list.at, 8);
    tn_vec_deinit(&list);
    d->body = block(p);
    return d;
}

/* name : type [= value], or name = value */
static pt_param field(parser *p)
{
    pt_expr *e = expression(p);
    pt_param f = {.name = e->kind == PT_E_NAME ? e->text : (tn_bytes){0}};
    if (accept(p, ":"))
        f.type = expression(p);
    if (accept(p, "="))
        f.value = targets(p);
    end_line(p);
    return f;
}

static pt_class *class_(parser *p)
{
    tn_vec(pt_param) fields = {0};
    tn_vec(pt_def *) defs = {0};
    pt_class *c = TN_NEW(p->arena, pt_class);
    c->name = name(p);
    if (accept(p, "(")) {
        pt_expr *base = sees(p, ")") ? NULL : expression(p);
        c->base = base && base->kind == PT_E_NAME ? base->text : (tn_bytes){0};
        expect(p, ")");
    }
    expect(p, ":");
    end_line(p);
    if (p->l.kind == PT_T_INDENT)
        next(p);
    while (!p->why && p->l.kind != PT_T_DEDENT && p->l.kind != PT_T_END)
        if (accept(p, "def"))
            tn_vec_push(&defs, definition(p));
        else if (accept(p, "pass"))
            end_line(p);
        else
            tn_vec_push(&fields, field(p));
    if (p->l.kind == PT_T_DEDENT)
        next(p);
    c->n = fields.n;
    c->field = tn_arena_copy(p->arena, fields.at, fields.n * sizeof *fields.at, 8);
    c->n_def = defs.n;
    c->def = tn_arena_copy(p->arena, defs.at, defs.n * sizeof *defs.at, 8);
    tn_vec_deinit(&fields);
    tn_vec_deinit(&defs);
    return c;
}

/* op_version_set = 1, CONSTANTS and imports of old versions say nothing. */
static void other(parser *p)
{
    while (!p->why && p->l.kind != PT_T_LINE && p->l.kind != PT_T_END)
        next(p);
    if (p->l.kind == PT_T_LINE)
        next(p);
}

pt_source *pt_parse(tn_arena *a, const char *file, tn_bytes text, const char **why, int *line)
{
    parser p = {.arena = a, .file = file};
    tn_vec(pt_class *) classes = {0};
    tn_vec(pt_def *) defs = {0};
    pt_source *s = TN_NEW(a, pt_source);
    pt_lex_open(&p.l, a, text);
    while (!p.why && p.l.kind != PT_T_END)
        if (accept(&p, "class"))
            tn_vec_push(&classes, class_(&p));
        else if (accept(&p, "def"))
            tn_vec_push(&defs, definition(&p));
        else
            other(&p);
    *s = (pt_source){file, classes.n, defs.n, tn_arena_copy(a, classes.at, classes.n * sizeof *classes.at, 8),
                     tn_arena_copy(a, defs.at, defs.n * sizeof *defs.at, 8)};
    tn_vec_deinit(&classes);
    tn_vec_deinit(&defs);
    *why = p.why;
    *line = p.line;
    return p.why ? NULL : s;
}
