/* match (%x) { Cons(%h, Cons(_, %t)) => { ... }, (_, Nil) => %y, _ => 0f }: the first clause whose pattern fits.
 *
 * Nested patterns become `match` nodes of one level each: rows of patterns stand against columns of values; the first
 * column that the first row asks something of is taken apart, once for each constructor, with the rows that may still
 * fit (Maranget 2008). A clause whose row remains in several places is read again in each. */
#include "op/control/control.h"
#include "relay/parse.h"

#include <string.h>

enum { MAX_CLAUSES = 1000, MAX_COLUMNS = 64, MAX_LEAVES = 100000, MAX_AGAIN = 1 << 20 };

typedef struct pattern {
    enum { ANY, CONSTRUCTOR, TUPLE } kind;
    const char *name;    /* ANY: the value's; NULL: `_` */
    const tn_type *type; /* ANY, of a constructor's field: what the clause takes it for; NULL: its own */
    const tn_constructor *c;
    uint32_t n;
    struct pattern *sub;
    uint32_t line, col;
} pattern;

typedef struct clause {
    tn_lexer at; /* its expression, or `{` */
    bool used;
    uint32_t line, col;
} clause;

typedef struct named {
    const char *name;
    pval v;
    struct named *next;
} named;

typedef struct row {
    const pattern **column;
    named *names;
    clause *of;
} row;

/* An example of what is matched, as far as it is known. */
typedef struct example {
    const tn_constructor *c;
    uint32_t n;
    struct example *sub;
} example;

typedef struct matcher {
    parser *p;
    bool partial;
    uint32_t line, col;
    example *root;
} matcher;

/* What is left to decide: rows against columns. */
typedef struct matrix {
    uint32_t n_row, n_column;
    row *row;
    const pval *value;
    example **seen;
} matrix;

/* ---- reading ---- */

static tn_status parse_pattern(parser *p, pattern *out);

/* %h, or %h: Tensor[(?, 4), float32] */
static tn_status parse_field_pattern(parser *p, pattern *out)
{
    TN_TRY(parse_pattern(p, out));
    if (out->kind != ANY || !parse_accept(p, ":"))
        return TN_OK;
    enum dim_mode dims = p->dims;
    p->dims = DIM_CHECK;
    tn_status s = parse_type(p, &out->type);
    p->dims = dims;
    return s;
}

static tn_status parse_subpatterns(parser *p, pattern *out)
{
    tn_vec(pattern) sub = {0};
    tn_status s = parse_expect(p, "(");
    while (s == TN_OK && !tn_lex_is(&p->l, ")")) {
        pattern one;
        s = sub.n == MAX_COLUMNS
                ? tn_lex_fail(&p->l, "relay-E226", "a pattern has at most %d parts", MAX_COLUMNS)
            : out->kind == CONSTRUCTOR ? parse_field_pattern(p, &one)
                                       : parse_pattern(p, &one);
        if (s == TN_OK)
            tn_vec_push(&sub, one);
        if (s == TN_OK && !parse_accept(p, ","))
            break;
    }
    out->n = (uint32_t)sub.n;
    out->sub = tn_arena_copy(&p->scratch, sub.n ? (const void *)sub.at : "", sub.n * sizeof *sub.at,
                             _Alignof(pattern));
    tn_vec_deinit(&sub);
    return s == TN_OK ? parse_expect(p, ")") : s;
}

static tn_status parse_constructor_pattern(parser *p, pattern *out)
{
    const char *name = tn_lex_ident(&p->l);
    if (!name)
        return TN_FAIL;
    out->kind = CONSTRUCTOR;
    TN_TRY(parse_constructor(p, name, &out->c));
    if (!out->c)
        return tn_lex_fail(&p->l, "relay-E227", "no data type has a constructor %s", name);
    if (tn_lex_is(&p->l, "("))
        TN_TRY(parse_subpatterns(p, out));
    return out->n == out->c->n_field
               ? TN_OK
               : tn_lex_fail(&p->l, "relay-E227", "%s has %u fields, but the pattern has %u", name,
                             (unsigned)out->c->n_field, (unsigned)out->n);
}

static tn_status parse_pattern(parser *p, pattern *out)
{
    *out = (pattern){.kind = ANY, .line = p->l.tok_line, .col = p->l.tok_col};
    TN_TRY(parse_enter(p));
    tn_status s = TN_OK;
    if (parse_accept(p, "%")) {
        if (p->l.tok != TN_TOK_IDENT || memchr(p->l.text, '.', p->l.n))
            return tn_lex_fail(&p->l, "relay-E032", "expected a name after `%%`");
        out->name = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
        parse_next(p);
    } else if (tn_lex_is(&p->l, "(")) {
        out->kind = TUPLE;
        s = parse_subpatterns(p, out);
    } else if (!parse_accept(p, "_")) {
        s = parse_constructor_pattern(p, out);
    }
    p->nest--;
    return s;
}

/* Over the expression of a clause. */
static void skip_clause(parser *p)
{
    for (int depth = 0; p->l.tok != TN_TOK_END; parse_next(p)) {
        bool opens = tn_lex_is(&p->l, "(") || tn_lex_is(&p->l, "[") || tn_lex_is(&p->l, "{"),
             closes = tn_lex_is(&p->l, ")") || tn_lex_is(&p->l, "]") || tn_lex_is(&p->l, "}");
        if (depth == 0 && (closes || tn_lex_is(&p->l, ",")))
            return;
        depth += opens - closes;
    }
}

typedef tn_vec(row) rows;

static tn_status parse_clauses(parser *p, rows *out)
{
    while (!tn_lex_is(&p->l, "}")) {
        pattern *a = TN_NEW(&p->scratch, pattern);
        clause *c = TN_NEW(&p->scratch, clause);
        row r = {TN_NEW_N(&p->scratch, const pattern *, 1), NULL, c};
        if (out->n == MAX_CLAUSES)
            return tn_lex_fail(&p->l, "relay-E226", "a match has at most %d clauses", MAX_CLAUSES);
        TN_TRY(parse_pattern(p, a));
        TN_TRY(parse_expect(p, "=>"));
        *c = (clause){.at = p->l, .line = a->line, .col = a->col};
        r.column[0] = a;
        tn_vec_push(out, r);
        skip_clause(p);
        if (!parse_accept(p, ","))
            break;
    }
    return parse_expect(p, "}");
}

/* ---- clauses ---- */

static void print_example(const example *e, tn_buf *out)
{
    if (e->c)
        tn_buf_str(out, e->c->name);
    else if (!e->n)
        tn_buf_char(out, '_');
    for (uint32_t i = 0; i < e->n; i++) {
        tn_buf_str(out, i ? ", " : "(");
        print_example(&e->sub[i], out);
    }
    tn_buf_str(out, e->n ? ")" : "");
}

/* No clause is left: an error, or of `match?` the end of the run. */
static tn_status missing(matcher *m, pval *out)
{
    parser *p = m->p;
    tn_buf b = {0};
    print_example(m->root, &b);
    if (m->partial) {
        tn_fail_attr a = {tn_intern(
            p->g->ctx, tn_arena_printf(&p->scratch, "no clause of the match is for %s", tn_buf_cstr(&b)))};
        *out = parse_node(p, &tn_op_fail, 0, NULL, &a, m->line, m->col);
    } else {
        (void)parse_error(p, m->line, m->col, "relay-E220",
                          "no clause of the match is for %s; add one, or write match? to end the run there",
                          tn_buf_cstr(&b));
        *out = pval_bad(m->line, m->col);
    }
    tn_buf_deinit(&b);
    return TN_OK;
}

/* Reads the expression of a clause, whose names are known. */
static tn_status leaf(matcher *m, const row *r, pval *out)
{
    parser *p = m->p;
    pscope scope;
    bool again = r->of->used;
    r->of->used = true;
    if (p->n_leaf++ >= MAX_LEAVES)
        return tn_lex_fail(&p->l, "relay-E226", "the clauses of matches overlap too much: %d were read",
                           MAX_LEAVES);
    parse_place here = parse_go(p, &r->of->at, p->file);
    for (const named *v = r->names; v; v = v->next)
        for (const named *w = v->next; w; w = w->next)
            if (strcmp(v->name, w->name) == 0)
                return tn_lex_fail(&p->l, "relay-E229",
                                   "the pattern names two values %%%s; give each its own name", v->name);
    parse_open(p, &scope, p->scope->region);
    for (const named *v = r->names; v; v = v->next)
        parse_define(p, v->name, v->v);
    bool block = parse_accept(p, "{");
    tn_status s = block ? parse_block(p, "}", out) : parse_expr(p, out);
    s = s == TN_OK && block ? parse_expect(p, "}") : s;
    parse_close(p);
    TN_TRY(s);
    p->n_again += again ? (size_t)(p->l.at - r->of->at.at) : 0;
    if (p->n_again > MAX_AGAIN)
        return tn_lex_fail(&p->l, "relay-E226",
                           "the clauses of matches overlap too much: more than %d bytes were read again",
                           MAX_AGAIN);
    parse_back(p, &here);
    return TN_OK;
}

/* ---- deciding ---- */

static tn_status decide(matcher *m, const matrix *x, pval *out);

static void give_name(parser *p, row *r, const pattern *a, const pval *v)
{
    if (a->kind != ANY || !a->name)
        return;
    named *n = TN_NEW(&p->scratch, named);
    *n = (named){a->name, *v, r->names};
    r->names = n;
}

/* The rows that may fit where column k is taken apart into n parts, a constructor's (NULL: a tuple's). */
static matrix taken_apart(matcher *m, const matrix *x, uint32_t k, const tn_constructor *c, uint32_t n,
                          const pval part[])
{
    static const pattern any = {.kind = ANY};
    tn_arena *a = &m->p->scratch;
    matrix to = {.n_column = x->n_column - 1 + n, .row = TN_NEW_N(a, row, x->n_row)};
    pval *value = TN_NEW_N(a, pval, to.n_column);
    to.value = value;
    to.seen = TN_NEW_N(a, example *, to.n_column);
    x->seen[k]->c = c;
    x->seen[k]->n = n;
    x->seen[k]->sub = TN_NEW_N(a, example, n);
    for (uint32_t i = 0, at = n; i < x->n_column; i++) {
        if (i == k)
            continue;
        value[at] = x->value[i];
        to.seen[at++] = x->seen[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        value[i] = part[i];
        to.seen[i] = &x->seen[k]->sub[i];
    }
    for (uint32_t r = 0; r < x->n_row; r++) {
        const pattern *p = x->row[r].column[k];
        if (p->kind == CONSTRUCTOR && p->c != c)
            continue;
        row *made = &to.row[to.n_row++];
        *made = x->row[r];
        made->column = TN_NEW_N(a, const pattern *, to.n_column);
        give_name(m->p, made, p, &x->value[k]);
        for (uint32_t i = 0; i < n; i++)
            made->column[i] = p->kind == ANY ? &any : &p->sub[i];
        for (uint32_t i = 0, at = n; i < x->n_column; i++)
            if (i != k)
                made->column[at++] = x->row[r].column[i];
    }
    return to;
}

static tn_status too_wide(matcher *m, uint32_t n)
{
    return n <= MAX_COLUMNS
               ? TN_OK
               : tn_lex_fail(&m->p->l, "relay-E226", "a pattern has at most %d parts", MAX_COLUMNS);
}

static tn_status bad_pattern(matcher *m, const pattern *a, const tn_type *t, pval *out)
{
    tn_buf b = {0};
    if (t)
        tn_type_print(t, &b);
    (void)parse_error(m->p, a->line, a->col, "relay-E227", "this pattern is not for a value of type %s",
                      t ? tn_buf_cstr(&b) : "?");
    tn_buf_deinit(&b);
    *out = pval_bad(m->line, m->col);
    return TN_OK;
}

/* Rows are left over if the run does not get to them. */
static void use_all(const matrix *x)
{
    for (uint32_t i = 0; i < x->n_row; i++)
        x->row[i].of->used = true;
}

static bool is_never(const pval *v) { return v->kind == PVAL_ONE && parse_is_never(v->v); }

static tn_status decide_tuple(matcher *m, const matrix *x, uint32_t k, pval *out)
{
    const pattern *a = x->row[0].column[k];
    pval part[MAX_COLUMNS];
    const pval *v = &x->value[k];
    const tn_type *t = v->kind == PVAL_ONE ? tn_value_type(v->v) : NULL;
    uint32_t n = v->kind == PVAL_LIST || v->kind == PVAL_NODE ? pval_n_items(v)
                 : t && t->kind == TN_T_TUPLE                 ? t->n
                                                              : 0;
    for (uint32_t r = 0; r < x->n_row; r++)
        if (x->row[r].column[k]->kind == CONSTRUCTOR ||
            (x->row[r].column[k]->kind == TUPLE && x->row[r].column[k]->n != n))
            return bad_pattern(m, x->row[r].column[k], t, out);
    TN_TRY(too_wide(m, n + x->n_column));
    for (uint32_t i = 0; i < n; i++) {
        part[i] = parse_project(m->p, v, i, a->line, a->col);
        if (part[i].kind == PVAL_BAD) {
            *out = part[i];
            return TN_OK;
        }
    }
    matrix to = taken_apart(m, x, k, NULL, n, part);
    return decide(m, &to, out);
}

/* No value has the constructor: its clauses are not read. */
static tn_status never(matcher *m, const matrix *x, pval *out)
{
    tn_fail_attr a = {tn_intern(m->p->g->ctx, "a value of no type is matched")};
    use_all(x);
    *out = parse_node(m->p, &tn_op_fail, 0, NULL, &a, m->line, m->col);
    return TN_OK;
}

/* The type of field i of constructor c, which is t where no pattern says another one. NULL: bad, reported. */
static const tn_type *field_type(matcher *m, const matrix *x, uint32_t k, const tn_constructor *c, uint32_t i,
                                 const tn_type *t)
{
    const tn_type *said = NULL;
    for (uint32_t r = 0; r < x->n_row; r++) {
        const pattern *a = x->row[r].column[k];
        const tn_type *is = a->c == c ? a->sub[i].type : NULL;
        pval bad;
        if (is && ((said && !tn_type_eq(said, is)) || !tn_type_fits(is, t) ||
                   !tn_type_eq_logical(is, tn_type_unbound(m->p->g->pool, is)))) {
            (void)bad_pattern(m, &a->sub[i], said ? said : t, &bad);
            return NULL;
        }
        said = is ? is : said;
    }
    return said ? said : t;
}

/* The region of one constructor; *out_ok: its results are typed. */
static tn_status decide_region(matcher *m, const matrix *x, uint32_t k, const tn_constructor *c, tn_region *r,
                               bool *out_ok)
{
    parser *p = m->p;
    pscope scope;
    pval part[MAX_COLUMNS] = {0}, v;
    const tn_type *t = tn_value_type(x->value[k].v);
    example was = *x->seen[k];
    bool none = false; /* a field of the type of no value: no value has this constructor */
    TN_TRY(too_wide(m, c->n_field + x->n_column));
    for (uint32_t i = 0; i < c->n_field; i++) {
        const char *name = NULL;
        for (uint32_t j = 0; j < x->n_row && !name; j++)
            name = x->row[j].column[k]->c == c ? x->row[j].column[k]->sub[i].name : NULL;
        const tn_type *is = field_type(m, x, k, c, i, tn_type_filled(p->g->pool, c->field[i], t->field));
        if (!is)
            return TN_OK;
        tn_node *n = tn_region_add_param(p->g, r, name, is);
        n->loc = parse_loc(p, m->line, m->col, NULL);
        part[i] = pval_one(n, m->line, m->col);
        none |= n->type[0]->kind == TN_T_NONE;
    }
    matrix to = taken_apart(m, x, k, c, c->n_field, part);
    size_t n_bound = p->bound.n;
    parse_open(p, &scope, r);
    tn_status s = none ? never(m, &to, &v) : decide(m, &to, &v);
    *out_ok = s == TN_OK && v.kind != PVAL_BAD && parse_results(p, r, &v, NULL, m->line, m->col) == TN_OK;
    parse_close(p);
    parse_forget_symbols(p, n_bound);
    *x->seen[k] = was;
    return s;
}

static tn_status decide_constructor(matcher *m, const matrix *x, uint32_t k, pval *out)
{
    parser *p = m->p;
    const tn_data *d = x->row[0].column[k]->c->of;
    const tn_type *t = x->value[k].kind == PVAL_ONE ? tn_value_type(x->value[k].v) : NULL;
    for (uint32_t i = 0; i < x->n_row; i++) {
        const pattern *a = x->row[i].column[k];
        if (a->kind == TUPLE ||
            (a->kind == CONSTRUCTOR && (!t || t->kind != TN_T_DATA || a->c->of != t->data)))
            return bad_pattern(m, a, t, out);
    }
    tn_region **r = TN_NEW_N(&p->scratch, tn_region *, d->n_constructor);
    bool all = true;
    int yields = -1;
    *out = pval_bad(m->line, m->col);
    for (uint32_t i = 0; i < d->n_constructor; i++) {
        bool ok = false;
        r[i] = tn_region_new(p->g, NULL);
        TN_TRY(decide_region(m, x, k, &d->constructor[i], r[i], &ok));
        all = all && ok;
        yields = all && yields < 0 && !tn_region_fails(r[i]) ? (int)i : yields;
    }
    if (!all)
        return TN_OK;
    parse_agree(p, d->n_constructor, r);
    tn_node *n =
        tn_node_new(p->g, p->scope->region, NULL, &tn_op_match, 1, &x->value[k].v,
                    yields < 0 ? 1 : (int)r[yields]->n_result, NULL, parse_loc(p, m->line, m->col, NULL));
    tn_node_hold(p->g, n, (int)d->n_constructor, r);
    if (tn_infer_node(p->g, n) == TN_OK)
        *out = pval_one(n, m->line, m->col);
    else
        p->n_error++;
    return TN_OK;
}

/* Depth: that of patterns. */
static tn_status decide(matcher *m, const matrix *x, pval *out)
{
    if (x->n_row == 0)
        return missing(m, out);
    uint32_t k = 0;
    while (k < x->n_column && x->row[0].column[k]->kind == ANY)
        k++;
    if (k == x->n_column) {
        for (uint32_t i = 0; i < k; i++)
            give_name(m->p, &x->row[0], x->row[0].column[i], &x->value[i]);
        return leaf(m, &x->row[0], out);
    }
    if (is_never(&x->value[k])) {
        use_all(x);
        *out = x->value[k];
        return TN_OK;
    }
    TN_TRY(parse_enter(m->p));
    tn_status s =
        x->row[0].column[k]->kind == TUPLE ? decide_tuple(m, x, k, out) : decide_constructor(m, x, k, out);
    m->p->nest--;
    return s;
}

static void warn_unused(matcher *m, const rows *r)
{
    for (size_t i = 0; i < r->n && !m->p->n_error; i++)
        if (!r->at[i].of->used)
            (void)tn_report(
                m->p->g->ctx, TN_WARNING, "relay-W220",
                parse_loc(m->p, r->at[i].of->line, r->at[i].of->col, NULL),
                "this clause is never taken: those before it are for all that its pattern is for");
}

static tn_status match_clauses(matcher *m, rows *r, const pval *v, pval *out)
{
    example root = {0}, *seen[1] = {&root};
    TN_TRY(parse_clauses(m->p, r));
    *out = pval_bad(m->line, m->col);
    if (v->kind == PVAL_BAD)
        return TN_OK;
    m->root = &root;
    matrix x = {(uint32_t)r->n, 1, r->at, v, seen};
    TN_TRY(decide(m, &x, out));
    warn_unused(m, r);
    return TN_OK;
}

tn_status parse_match(parser *p, pval *out)
{
    matcher m = {.p = p, .line = p->l.tok_line, .col = p->l.tok_col};
    pval v;
    parse_next(p);
    m.partial = parse_accept(p, "?");
    TN_TRY(parse_expect(p, "("));
    TN_TRY(parse_expr(p, &v));
    TN_TRY(parse_expect(p, ")"));
    TN_TRY(parse_expect(p, "{"));
    rows r = {0};
    tn_status s = match_clauses(&m, &r, &v, out);
    tn_vec_deinit(&r);
    return s;
}
