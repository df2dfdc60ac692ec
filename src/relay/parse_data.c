/* Data types of Relay text: type List[A] { Cons(A, List[A]), Nil }. The first scan finds where definitions are; each is
 * read when it is first named, so they may name each other. A definition of the text hides one of the prelude that has
 * its name or a name of its constructors. */
#include "op/control/control.h"
#include "relay/parse.h"

#include <string.h>

enum { MAX_PARAMS = 16, MAX_CONSTRUCTORS = 1000 };

/* [A, B], as parameters. */
tn_status parse_type_names(parser *p, ptypes *out)
{
    const char *name[MAX_PARAMS];
    const tn_type *is[MAX_PARAMS];
    uint32_t n = 0;
    TN_TRY(parse_expect(p, "["));
    while (!tn_lex_is(&p->l, "]")) {
        tn_dtype t;
        if (n == MAX_PARAMS)
            return tn_lex_fail(&p->l, "relay-E221", "at most %d type parameters are supported", MAX_PARAMS);
        if (p->l.tok == TN_TOK_IDENT && tn_dtype_parse(p->l.text, p->l.n, &t))
            return tn_lex_fail(&p->l, "relay-E221", "a type parameter cannot have the name of a type");
        name[n] = tn_lex_ident(&p->l);
        if (!name[n])
            return TN_FAIL;
        is[n] = tn_type_param(p->g->pool, (int)n);
        n++;
        if (!parse_accept(p, ","))
            break;
    }
    *out = (ptypes){n, tn_arena_copy(&p->scratch, name, n * sizeof *name, _Alignof(char *)),
                    tn_arena_copy(&p->scratch, is, n * sizeof *is, _Alignof(tn_type *))};
    return parse_expect(p, "]");
}

ptypes parse_types_within(parser *p, const ptypes *own, const ptypes *around)
{
    const char **name = TN_NEW_N(&p->scratch, const char *, own->n + around->n);
    const tn_type **is = TN_NEW_N(&p->scratch, const tn_type *, own->n + around->n);
    for (uint32_t i = 0; i < own->n + around->n; i++) {
        name[i] = i < own->n ? own->name[i] : around->name[i - own->n];
        is[i] = i < own->n ? own->is[i] : around->is[i - own->n];
    }
    return (ptypes){own->n + around->n, name, is};
}

/* ---- definitions ---- */

static tn_status check_field(parser *p, const tn_type *t, uint32_t line, uint32_t col)
{
    if (t && tn_type_eq_logical(t, tn_type_unbound(p->g->pool, t)))
        return TN_OK;
    return parse_error(p, line, col, "relay-E080", "extents inside of a data type are numbers or `?`");
}

/* Cons(A, List[A]) */
static tn_status parse_fields_of(parser *p, tn_constructor *c)
{
    tn_vec(const tn_type *) field = {0};
    tn_status s = TN_OK;
    while (s == TN_OK && !tn_lex_is(&p->l, ")")) {
        const tn_type *t = NULL;
        uint32_t line = p->l.tok_line, col = p->l.tok_col;
        s = field.n == UINT16_MAX ? tn_lex_fail(&p->l, "relay-E013", "too many fields") : parse_type(p, &t);
        if (s == TN_OK && check_field(p, t, line, col) == TN_OK)
            tn_vec_push(&field, t);
        if (s == TN_OK && !parse_accept(p, ","))
            break;
    }
    c->n_field = (uint32_t)field.n;
    c->field = tn_arena_copy(p->g->arena, field.n ? (const void *)field.at : "", field.n * sizeof *field.at,
                             _Alignof(tn_type *));
    tn_vec_deinit(&field);
    return s == TN_OK ? parse_expect(p, ")") : s;
}

static tn_status check_name(parser *p, const tn_constructor *c, uint32_t line, uint32_t col)
{
    tn_dtype t;
    bool taken = tn_graph_constructor(p->g, c->name) || tn_ops_find(c->name) ||
                 tn_dtype_parse(c->name, strlen(c->name), &t);
    for (uint32_t i = 0; i < c->tag && !taken; i++)
        taken = c[-(int64_t)c->tag + i].name == c->name;
    if (!taken)
        return TN_OK;
    return parse_error(p, line, col, "relay-E222",
                       "%s is the name of another constructor, of an operator or of a type", c->name);
}

/* At the first constructor. */
static tn_status parse_constructors(parser *p, tn_data *d, tn_constructor *c)
{
    uint32_t n = 0;
    while (!tn_lex_is(&p->l, "}")) {
        uint32_t line = p->l.tok_line, col = p->l.tok_col;
        if (n == MAX_CONSTRUCTORS)
            return tn_lex_fail(&p->l, "relay-E222", "a type has at most %d constructors", MAX_CONSTRUCTORS);
        c[n] = (tn_constructor){.name = tn_lex_ident(&p->l), .of = d, .tag = n};
        if (!c[n].name)
            return TN_FAIL;
        TN_TRY(check_name(p, &c[n], line, col));
        if (parse_accept(p, "("))
            TN_TRY(parse_fields_of(p, &c[n]));
        n++;
        if (!parse_accept(p, ","))
            break;
    }
    if (!n)
        return tn_lex_fail(&p->l, "relay-E222", "a type has at least one constructor");
    d->constructor = tn_arena_copy(p->g->arena, c, n * sizeof *c, _Alignof(tn_constructor));
    d->n_constructor = n;
    return parse_expect(p, "}");
}

/* A type of the prelude of which the text has something under the same name. */
static bool is_hidden(const parser *p, const pdata *d)
{
    tn_lexer l = d->at;
    for (; d->known && !tn_lex_is(&l, "}"); tn_lex_next(&l))
        if (l.tok == TN_TOK_IDENT && tn_graph_constructor(p->g, tn_intern_n(p->g->ctx, l.text, l.n)))
            return true;
    return false;
}

static tn_status parse_body(parser *p, pdata *d)
{
    parse_next(p); /* type */
    parse_next(p); /* its name; the first scan has seen both */
    if (tn_lex_is(&p->l, "["))
        TN_TRY(parse_type_names(p, &p->types));
    d->data->n_param = p->types.n;
    d->data->param = tn_arena_copy(p->g->arena, p->types.n ? (const void *)p->types.name : "",
                                   p->types.n * sizeof *p->types.name, _Alignof(char *));
    TN_TRY(parse_expect(p, "{"));
    p->dims = DIM_ANY;
    return parse_constructors(p, d->data, TN_NEW_N(&p->scratch, tn_constructor, MAX_CONSTRUCTORS));
}

/* Reads it where it stands, if that was not done yet. */
static tn_status read_data(parser *p, pdata *d)
{
    if (d->begun)
        return TN_OK;
    d->begun = true;
    if (is_hidden(p, d))
        return TN_OK;
    parse_place here = parse_go(p, &d->at, d->file);
    TN_TRY(parse_data_def(p, d));
    parse_back(p, &here);
    return TN_OK;
}

tn_status parse_data_def(parser *p, pdata *d)
{
    d->begun = true;
    d->data = tn_graph_add_data(p->g, d->name);
    d->data->known = d->known;
    parse_saved was = parse_enter_function(p, NULL);
    uint32_t inner = p->inner;
    p->inner = 0;
    tn_status s = parse_body(p, d);
    p->inner = inner;
    parse_leave_function(p, &was);
    return s;
}

tn_status parse_data_named(parser *p, const char *name, const tn_data **out)
{
    *out = NULL;
    for (size_t i = 0; i < p->data.n && !*out; i++) {
        pdata *d = &p->data.at[i];
        if (strcmp(d->name, name) != 0)
            continue;
        TN_TRY(read_data(p, d));
        *out = d->data;
    }
    return TN_OK;
}

tn_status parse_constructor(parser *p, const char *name, const tn_constructor **out)
{
    *out = tn_graph_constructor(p->g, name);
    for (size_t i = 0; i < p->data.n && !*out; i++) {
        TN_TRY(read_data(p, &p->data.at[i]));
        *out = tn_graph_constructor(p->g, name);
    }
    return TN_OK;
}

/* ---- types ---- */

tn_status parse_data_type(parser *p, const tn_type **out, bool *out_found)
{
    const char *name = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
    uint32_t line = p->l.tok_line, col = p->l.tok_col, n = 0;
    const tn_type *param[MAX_PARAMS];
    const tn_data *d;
    for (uint32_t i = 0; i < p->types.n; i++) {
        if (strcmp(p->types.name[i], name) != 0)
            continue;
        *out_found = true;
        *out = p->types.is[i];
        parse_next(p);
        return TN_OK;
    }
    TN_TRY(parse_data_named(p, name, &d));
    *out_found = d;
    if (!d)
        return TN_OK;
    parse_next(p);
    enum dim_mode dims = p->dims;
    p->dims = dims == DIM_PARAM ? DIM_ANY : dims; /* `?` is any extent */
    p->inner++;
    tn_status s = TN_OK;
    bool some = parse_accept(p, "[");
    while (s == TN_OK && some && n < MAX_PARAMS && !tn_lex_is(&p->l, "]")) {
        s = parse_type(p, &param[n++]);
        if (s == TN_OK && !parse_accept(p, ","))
            break;
    }
    p->inner--;
    p->dims = dims;
    s = s == TN_OK && some ? parse_expect(p, "]") : s;
    TN_TRY(s);
    if (n != d->n_param)
        return tn_lex_fail(&p->l, "relay-E221", "%s takes %u types, but %u are given", name,
                           (unsigned)d->n_param, (unsigned)n);
    *out = tn_type_data(p->g->pool, d, param);
    return check_field(p, *out, line, col);
}

/* ---- values ---- */

/* The values of the fields; a function among them that says no types takes those of the field. */
static bool field_values(parser *p, const tn_constructor *c, const pvals *field, tn_value in[])
{
    const tn_type **none = TN_NEW_N(&p->scratch, const tn_type *, c->of->n_param);
    for (uint32_t i = 0; i < c->of->n_param; i++)
        none[i] = tn_type_none(p->g->pool);
    for (size_t i = 0; i < field->n; i++) {
        const pval *v = &field->at[i];
        bool typed = v->kind == PVAL_POLY && i < c->n_field;
        if (typed ? !parse_poly_value(p, v, tn_type_filled(p->g->pool, c->field[i], none), &in[i])
                  : !parse_value(p, v, &in[i]))
            return false;
    }
    return true;
}

tn_status parse_construct(parser *p, const tn_constructor *c, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_construct_attr attr = {c->name};
    pvals field = {0};
    tn_status s = TN_OK;
    parse_next(p);
    bool some = parse_accept(p, "(");
    if (!some && c->n_field) {
        *out = (pval){.kind = PVAL_POLY, .poly = {.constructor = c}, .line = line, .col = col};
        return TN_OK;
    }
    while (s == TN_OK && some && !tn_lex_is(&p->l, ")")) {
        pval v;
        s = field.n == PARSE_MAX_ARGS
                ? tn_lex_fail(&p->l, "relay-E042", "a call has at most %d arguments", PARSE_MAX_ARGS)
                : parse_expr(p, &v);
        if (s == TN_OK)
            tn_vec_push(&field, v);
        if (s == TN_OK && !parse_accept(p, ","))
            break;
    }
    s = s == TN_OK && some ? parse_expect(p, ")") : s;
    tn_value *in = TN_NEW_N(&p->scratch, tn_value, field.n);
    bool ok = s == TN_OK && field_values(p, c, &field, in);
    *out = ok ? parse_node(p, &tn_op_construct, (int)field.n, in, &attr, line, col) : pval_bad(line, col);
    tn_vec_deinit(&field);
    return s;
}
