/* Relay text, the reading side: modules, functions, lines, scopes (grammar in docs/relay.md).
 *
 * A first scan finds every `def`, so that a call may stand before the function it calls; then functions are read in
 * order, each once. A call of a global function is replaced by its body, unless the function calls itself. Time
 * is linear in the text but for that copying.
 */
#include "relay/parse.h"

#include "op/core/core.h"

#include <string.h>

/* ---- tokens, errors ---- */

void parse_next(parser *p)
{
    p->prev_end = p->l.at;
    tn_lex_next(&p->l);
}

bool parse_accept(parser *p, const char *text)
{
    if (!tn_lex_is(&p->l, text))
        return false;
    parse_next(p);
    return true;
}

tn_status parse_expect(parser *p, const char *text)
{
    return parse_accept(p, text) ? TN_OK : tn_lex_expect(&p->l, text);
}

const tn_loc *parse_loc(parser *p, uint32_t line, uint32_t col, const char *node)
{
    tn_loc *l = TN_NEW(p->g->arena, tn_loc);
    *l = (tn_loc){.file = p->file, .node = node, .line = line, .col = col};
    return l;
}

tn_status parse_error(parser *p, uint32_t line, uint32_t col, const char *id, const char *fmt, ...)
{
    if (p->l.failed)
        return TN_FAIL;
    tn_loc l = {.file = p->file, .line = line, .col = col};
    va_list ap;
    va_start(ap, fmt);
    tn_status s = tn_vreport(p->g->ctx, TN_ERROR, id, &l, fmt, ap);
    va_end(ap);
    p->n_error++;
    return s;
}

tn_status parse_enter(parser *p)
{
    if (p->nest == PARSE_MAX_NEST) {
        return tn_lex_fail(&p->l, "relay-E007", "nested more than %d deep; name the parts, as in %%a = ...;",
                           PARSE_MAX_NEST);
    }
    p->nest++;
    return TN_OK;
}

bool parse_annot(parser *p, const char **out_text, size_t *out_n)
{
    const char *to = p->l.tok == TN_TOK_END ? p->l.at : p->l.text;
    return p->prev_end && to && tn_annot_find(p->prev_end, to, out_text, out_n);
}

parse_place parse_go(parser *p, const tn_lexer *to, const char *file)
{
    parse_place was = {p->l, p->prev_end, p->annot_used, p->file};
    p->l = *to;
    p->file = file;
    p->prev_end = p->annot_used = NULL;
    return was;
}

void parse_back(parser *p, const parse_place *to)
{
    p->l = to->l;
    p->prev_end = to->prev_end;
    p->annot_used = to->annot_used;
    p->file = to->file;
}

/* ---- scopes ---- */

void parse_open(parser *p, pscope *s, tn_region *r)
{
    *s = (pscope){.up = p->scope, .region = r, .until = UINT32_MAX};
    p->scope = s;
}

void parse_close(parser *p)
{
    tn_strmap_deinit(&p->scope->name);
    p->scope = p->scope->up;
}

void parse_define(parser *p, const char *name, pval v)
{
    uint64_t had = 0;
    pname *kept = TN_NEW(&p->scratch, pname);
    (void)tn_strmap_get(&p->scope->name, name, strlen(name), &had);
    *kept = (pname){v, p->n_name++, (const pname *)(uintptr_t)had};
    tn_strmap_put(&p->scope->name, name, strlen(name), (uint64_t)(uintptr_t)kept);
}

bool parse_lookup(parser *p, const char *name, pval *out)
{
    uint64_t at;
    for (pscope *s = p->scope; s; s = s->up) {
        if (!tn_strmap_get(&s->name, name, strlen(name), &at))
            continue;
        const pname *x = (const pname *)(uintptr_t)at;
        while (x && x->order >= s->until)
            x = x->hidden;
        if (x) {
            *out = x->v;
            return true;
        }
    }
    return false;
}

/* ---- lines ---- */

/* `%name`, at the token after %; the name of a parameter, a line or a let. */
static tn_status parse_name(parser *p, const char **out)
{
    tn_lexer *l = &p->l;
    bool plain = l->tok == TN_TOK_IDENT && !memchr(l->text, '.', l->n);
    if (!plain && (l->tok != TN_TOK_INT || l->n_suffix))
        return tn_lex_fail(l, "relay-E032", "expected a name or a number after `%%`");
    *out = tn_intern_n(p->g->ctx, l->text, l->n);
    parse_next(p);
    return TN_OK;
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Parameters may be called what models call their values, as in TVM's texts: %layer.0.weight, %conv/w:0. What is no
 * word ends in front of the `:` with white space behind it that its type follows. */

enum { MOST_OF_NAME = 256 };

/* Characters from the current token on that a name may have. */
static size_t count_name(const tn_lexer *l)
{
    size_t n = 0;
    while (l->text + n < l->end && n <= MOST_OF_NAME && !memchr(" \t\r\n,()=;{}\"", l->text[n], 12))
        n++;
    return n;
}

/* The name of a parameter, at the token behind `%`, if it is odd; else NULL. */
static const char *note_odd_name(parser *p)
{
    const size_t n = count_name(&p->l);
    bool word = true;
    if (n < 2 || n > MOST_OF_NAME || p->l.text[n - 1] != ':')
        return NULL;
    for (size_t i = 0; i + 1 < n; i++)
        word = word && in_name(p->l.text[i]);
    if (word)
        return NULL;
    tn_lex_widen(&p->l, n - 1);
    const char *name = tn_intern_n(p->g->ctx, p->l.text, n - 1);
    tn_strmap_put(&p->odd, name, n - 1, 1);
    return name;
}

/* Names of other functions do not count. */
static bool is_odd_here(parser *p, size_t n)
{
    uint64_t unused;
    pval v;
    bool end = p->l.text + n == p->l.end || !in_name(p->l.text[n]);
    return end && tn_strmap_get(&p->odd, p->l.text, n, &unused) &&
           parse_lookup(p, tn_intern_n(p->g->ctx, p->l.text, n), &v);
}

bool parse_odd_name(parser *p)
{
    size_t n = count_name(&p->l);
    while (n && !is_odd_here(p, n))
        n--;
    if (n)
        tn_lex_widen(&p->l, n);
    return n > 0;
}

/* `%name =` comes next: a line, not the result. */
static bool at_line(const parser *p)
{
    tn_lexer ahead = p->l;
    if (!tn_lex_is(&ahead, "%"))
        return false;
    tn_lex_next(&ahead);
    tn_lex_next(&ahead);
    return tn_lex_is(&ahead, "=");
}

static tn_status check_declared(parser *p, const tn_type *declared, const tn_type *actual, const char *what,
                                uint32_t line, uint32_t col)
{
    if (parse_type_fits(declared, actual) ||
        parse_type_fits(tn_relay_settled(p->g, declared), tn_relay_settled(p->g, actual)))
        return TN_OK;
    tn_buf a = {0}, b = {0};
    tn_type_print(declared, &a);
    if (actual)
        tn_type_print(actual, &b);
    else
        tn_buf_str(&b, "unknown");
    tn_status s = parse_error(p, line, col, "relay-E050", "%s is declared as %s, but its type is %s", what,
                              tn_buf_cstr(&a), tn_buf_cstr(&b));
    tn_buf_deinit(&a);
    tn_buf_deinit(&b);
    return s;
}

/* Where the type of a function is said, one that has type parameters is a value. */
static void give_type(parser *p, pval *v, const tn_type *declared)
{
    tn_value one;
    if (v->kind == PVAL_POLY && declared && declared->kind == TN_T_FUNC)
        *v = parse_poly_value(p, v, declared, &one) ? pval_one(one.def, v->line, v->col)
                                                    : pval_bad(v->line, v->col);
}

/* The value of a named line. A tuple literal becomes a node here, so that it stays a line when printed. */
static tn_status define_line(parser *p, const char *name, pval v, const tn_type *declared)
{
    tn_value one;
    if (v.kind == PVAL_NONE) {
        (void)parse_error(p, v.line, v.col, "relay-E033",
                          "`None` can only be an argument of a call, for an absent operand");
        v.kind = PVAL_BAD;
    }
    give_type(p, &v, declared);
    if (v.kind == PVAL_LIST) {
        v.kind = parse_value(p, &v, &one) ? PVAL_ONE : PVAL_BAD;
        v.v = one;
        const char *s;
        size_t n;
        const char *source =
            v.kind == PVAL_ONE && parse_annot(p, &s, &n) ? tn_annot_source(p->g->ctx, s, n) : NULL;
        if (source)
            one.def->loc = parse_loc(p, v.line, v.col, source);
    }
    if (v.kind == PVAL_ONE && declared && !tn_ref_take(p->g, v.v.def, declared))
        (void)check_declared(p, declared, tn_value_type(v.v), "the value", v.line, v.col);
    parse_define(p, name, v);
    return TN_OK;
}

static tn_status parse_line(parser *p, bool let)
{
    const char *name;
    const tn_type *declared = NULL, *open = NULL;
    ptypes names = {0};
    uint64_t seen;
    pval v;
    if (let) {
        parse_next(p);
        if (!tn_lex_is(&p->l, "%"))
            return parse_expect(p, "%");
    }
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    parse_next(p);
    TN_TRY(parse_name(p, &name));
    if (let && parse_accept(p, ":")) {
        p->dims = DIM_CHECK;
        tn_status s = parse_at_open_type(p) ? parse_open_type(p, &names, &open) : parse_type(p, &declared);
        p->dims = DIM_USE;
        TN_TRY(s);
    }
    TN_TRY(parse_expect(p, "="));
    if (!let && tn_strmap_get(&p->scope->name, name, strlen(name), &seen))
        (void)parse_error(p, line, col, "relay-E051", "%%%s is defined twice", name);
    p->let = tn_lex_is(&p->l, "fn") ? name : NULL;
    TN_TRY(parse_expr(p, &v));
    if (open)
        TN_TRY(parse_check_open(p, &v, &names, open));
    TN_TRY(define_line(p, name, v, declared));
    return parse_expect(p, ";");
}

tn_status parse_block(parser *p, const char *end, pval *out)
{
    for (;;) {
        if (p->n_error >= PARSE_MAX_ERRORS)
            return tn_lex_fail(&p->l, "relay-E008", "too many errors; reading stops here");
        bool let = tn_lex_is(&p->l, "let");
        if (let || at_line(p)) {
            TN_TRY(parse_line(p, let));
            continue;
        }
        if (*end && tn_lex_is(&p->l, end)) {
            return tn_lex_fail(
                &p->l, "relay-E052",
                "the block has no result; end it with an expression without `;` and without a name");
        }
        TN_TRY(parse_expr(p, out));
        if (!parse_accept(p, ";"))
            return TN_OK;
        /* done for its effect alone */
    }
}

/* ---- functions ---- */

/* The value of a parameter of @main. TVM prints a name that begins with no letter with a `v` in front. NULL: none. */
static const tn_relay_param *find_given(parser *p, const tn_region *r, const char *name)
{
    const tn_function *main = p->given.n_param ? tn_graph_function(p->g, "main") : NULL;
    uint64_t at;
    if (!main || r != main->body)
        return NULL;
    if (tn_strmap_get(&p->given_param, name, strlen(name), &at))
        return &p->given.param[at];
    const char next = (char)(name[0] == 'v' ? name[1] | 32 : 'a');
    return !(next >= 'a' && next <= 'z') && tn_strmap_get(&p->given_param, name + 1, strlen(name + 1), &at)
               ? &p->given.param[at]
               : NULL;
}

/* t with the value's extents for symbols; NULL: it is of another type. */
static const tn_type *type_of_given(parser *p, const tn_relay_param *q, const tn_type *t)
{
    int64_t dim;
    bool same = t->kind == TN_T_TENSOR && tn_dtype_eq(t->dtype, q->dtype) && t->n == q->ndim;
    const tn_expr **own = TN_NEW_N(&p->scratch, const tn_expr *, same ? t->n : 0);
    for (int d = 0; same && d < t->n; d++) {
        own[d] = tn_idx(p->g->pool, q->dim[d]);
        same = t->dim[d]->kind == TN_E_SYM || (tn_is_int(t->dim[d], &dim) && dim == q->dim[d]);
    }
    return same ? tn_type_tensor(p->g->pool, t->dtype, t->n, own, t->layout) : NULL;
}

/* false: the parameter is none; it has a value, which is a constant, or has another type, which is reported. */
static bool is_open_param(parser *p, tn_region *r, const char *name, const char *own, const tn_type *t,
                          uint32_t line, uint32_t col)
{
    const tn_relay_param *q = find_given(p, r, own ? own : name);
    if (!q)
        return true;
    const tn_type *is = type_of_given(p, q, t);
    if (is) {
        tn_vec_push(
            &p->weight,
            ((pconst){.type = is, .name = name, .blob = q->blob, .loc = parse_loc(p, line, col, NULL)}));
        return false;
    }
    tn_buf b = {0};
    tn_type_print(t, &b);
    (void)parse_error(
        p, line, col, "relay-E092",
        "%%%s is %s, but the value in the .params file has another type or shape; use the file that "
        "was written with this text",
        name, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    parse_define(p, name, (pval){.kind = PVAL_BAD, .line = line, .col = col});
    return false;
}

/* Constants follow the parameters. */
static void make_weights(parser *p, tn_region *r)
{
    for (size_t i = 0; i < p->weight.n; i++) {
        const pconst *w = &p->weight.at[i];
        tn_node *n = tn_constant_new(p->g, r, NULL, w->type, w->blob, w->name);
        n->loc = w->loc;
        parse_define(p, w->name,
                     (pval){.kind = PVAL_ONE, .v = tn_val(n), .line = w->loc->line, .col = w->loc->col});
    }
    p->weight.n = 0;
}

static void add_param(parser *p, tn_region *r, const char *name, const tn_type *t, uint32_t line,
                      uint32_t col)
{
    const char *s, *own = NULL, *source = NULL;
    size_t n;
    uint64_t seen;
    if (parse_annot(p, &s, &n))
        tn_annot_param(p->g->ctx, s, n, &own, &source);
    if (!is_open_param(p, r, name, own, t, line, col))
        return;
    tn_node *v = tn_region_add_param(p->g, r, own ? own : name, t);
    v->loc = parse_loc(p, line, col, source);
    if (tn_strmap_get(&p->scope->name, name, strlen(name), &seen))
        (void)parse_error(p, line, col, "relay-E051", "%%%s is defined twice", name);
    parse_define(p, name, (pval){.kind = PVAL_ONE, .v = tn_val(v), .line = line, .col = col});
}

/* Symbols that a parameter mentions inside an expression (4*h) must be a dimension of their own somewhere. */
void parse_check_bound(parser *p, uint32_t line, uint32_t col)
{
    for (size_t i = 0; i < p->bound.n; i++) {
        if (!p->bound.entry[i].value) {
            (void)parse_error(p, line, col, "relay-E016",
                              "nothing binds '%s'; some parameter must have '%s' itself as a dimension, "
                              "because expressions are checked, not solved",
                              p->bound.entry[i].key, p->bound.entry[i].key);
            tn_strmap_put(&p->bound, p->bound.entry[i].key, p->bound.entry[i].len, 1);
        }
    }
}

tn_status parse_param(parser *p, tn_region *r, enum dim_mode dims)
{
    const char *name;
    const tn_type *t = NULL;
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    TN_TRY(parse_expect(p, "%"));
    name = note_odd_name(p);
    if (name)
        parse_next(p);
    else
        TN_TRY(parse_name(p, &name));
    if (parse_accept(p, ":")) {
        p->dims = dims;
        tn_status s = parse_type(p, &t);
        p->dims = DIM_USE;
        TN_TRY(s);
        const tn_function *main = tn_graph_function(p->g, "main");
        if (!t && !(main && r == main->body)) /* what nothing gives a value to */
            t = tn_type_none(p->g->pool);
    }
    if (!t) {
        (void)parse_error(p, line, col, "relay-E053",
                          "%%%s needs a type, as in %%%s: Tensor[(1, 3), float32]", name, name);
        parse_define(p, name, (pval){.kind = PVAL_BAD, .line = line, .col = col});
        return TN_OK;
    }
    add_param(p, r, name, dims == DIM_PARAM ? parse_bound(p, t) : t, line, col);
    return TN_OK;
}

/* Attributes of a function that are for others' tools are read over. */
static tn_status skip_fn_attr(parser *p, const char *name, bool global)
{
    (void)tn_report(p->g->ctx, TN_WARNING, "relay-W003", parse_loc(p, p->l.tok_line, p->l.tok_col, NULL),
                    "the attribute %s of a %sfunction is ignored", name, global ? "global " : "");
    return parse_skip_value(p);
}

static bool is_fn_attr(const char *name)
{
    for (const tn_attr_field *f = tn_op_fn.attr; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return true;
    return false;
}

tn_status parse_params(parser *p, tn_region *r, tn_fn_attr *fn, enum dim_mode dims)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    while (!tn_lex_is(&p->l, ")")) {
        if (p->l.tok == TN_TOK_IDENT) {
            const char *name = tn_lex_ident(&p->l);
            TN_TRY(parse_expect(p, "="));
            tn_scope_fns scope = parse_dims_scope(p);
            TN_TRY(fn && is_fn_attr(name) ? tn_attr_parse(&p->l, p->g->pool, &scope, tn_op_fn.attr, name, fn)
                                          : skip_fn_attr(p, name, !fn));
        } else {
            TN_TRY(parse_param(p, r, dims));
        }
        if (!parse_accept(p, ","))
            break;
    }
    parse_check_bound(p, line, col);
    make_weights(p, r);
    return parse_expect(p, ")");
}

static const tn_type *results_type(parser *p, uint32_t n, const tn_value v[])
{
    const tn_type **field = TN_NEW_N(&p->scratch, const tn_type *, n);
    for (uint32_t i = 0; i < n; i++) {
        field[i] = tn_value_type(v[i]);
        if (!field[i])
            return NULL;
    }
    return n == 1 ? field[0] : tn_type_tuple(p->g->pool, (int)n, field);
}

/* A tuple that is only made to be returned, in the last line, is the list of results (as the printer shows it); the
 * tuple node goes. */
static const tn_node *returned_tuple(const tn_region *r, const pval *v)
{
    const tn_node *d = v->kind == PVAL_ONE ? v->v.def : NULL;
    const tn_node *last = r->last;
    while (last && tn_op_is(last, &tn_op_constant))
        last = last->prev;
    bool alone = d && d == last && tn_op_is(d, &tn_op_tuple) && d->nin > 1 && tn_value_n_uses(v->v) == 0;
    return alone ? d : NULL;
}

/* Inference knows no layouts: a group says that of its result. */
static void take_layout(parser *p, tn_value v, const tn_type *declared)
{
    const tn_type *t = tn_value_type(v);
    bool fits = t && t->kind == TN_T_TENSOR && declared->kind == TN_T_TENSOR && t->n == declared->n;
    if (fits && declared->layout && !tn_op_is(v.def, &tn_op_var) && !tn_op_is(v.def, &tn_op_constant))
        v.def->type[v.out] = tn_type_relayout(p->g->pool, t, declared->layout);
}

tn_status parse_results(parser *p, tn_region *r, const pval *is, const tn_type *declared, uint32_t line,
                        uint32_t col)
{
    pval given = *is;
    const pval *v = &given;
    give_type(p, &given, declared);
    const tn_node *tuple = returned_tuple(r, v);
    uint32_t n = v->kind == PVAL_NODE ? v->v.def->nout : v->kind == PVAL_LIST ? v->n : tuple ? tuple->nin : 1;
    bool split = v->kind == PVAL_NODE || (v->kind == PVAL_LIST && n > 1) || tuple;
    n = split ? n : 1;
    tn_value *res = TN_NEW_N(&p->scratch, tn_value, n);
    for (uint32_t i = 0; i < n; i++) {
        pval item = v->kind == PVAL_LIST && split ? v->item[i] : *v;
        bool ok = true;
        if (tuple)
            res[i] = tn_in(tuple, (int)i);
        else if (v->kind == PVAL_NODE)
            res[i] = (tn_value){v->v.def, i};
        else
            ok = parse_value(p, &item, &res[i]);
        if (ok && !res[i].def) {
            ok = parse_error(p, v->line, v->col, "relay-E033",
                             "`None` can only be an argument of a call, for an absent operand") == TN_OK;
        }
        if (!ok)
            return TN_FAIL;
    }
    const tn_function *main = tn_graph_function(p->g, "main");
    for (uint32_t i = 0; main && r == main->body && i < n; i++) /* what leaves has a shape */
        res[i] = tn_unboxed(p->g, res[i]);
    for (uint32_t i = 0; declared && r->holder && i < n; i++) {
        bool several = declared->kind == TN_T_TUPLE && n > 1 && i < declared->n;
        take_layout(p, res[i], several ? declared->field[i] : declared);
    }
    tn_region_set_results(p->g, r, (int)n, res);
    if (tuple)
        tn_vec_push(&p->opened, v->v.def);
    return check_declared(p, declared, results_type(p, n, res), "the result", line, col);
}

static bool has_list(const tn_region *r) { return !tn_region_fails(r) && r->n_result != 1; }

/* One result that a list of others can be in place of, as a tuple. */
static bool has_tuple(const tn_region *r)
{
    const tn_type *t =
        r->n_result == 1 ? tn_value_type((tn_value){r->result[0].def, r->result[0].out}) : NULL;
    return tn_region_fails(r) || (t && (t->kind == TN_T_TUPLE || t->kind == TN_T_NONE));
}

void parse_agree(parser *p, uint32_t n, tn_region *const r[])
{
    uint32_t lists = 0, tuples = 0;
    for (uint32_t i = 0; i < n; i++) {
        lists += has_list(r[i]);
        tuples += has_tuple(r[i]) && !tn_region_fails(r[i]);
    }
    if (!lists || !tuples)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (!has_list(r[i]))
            continue;
        tn_value *v = TN_NEW_N(&p->scratch, tn_value, r[i]->n_result);
        for (uint32_t k = 0; k < r[i]->n_result; k++)
            v[k] = (tn_value){r[i]->result[k].def, r[i]->result[k].out};
        tn_node *t = tn_node_new(p->g, r[i], NULL, &tn_op_tuple, (int)r[i]->n_result, v, 1, NULL, NULL);
        if (tn_infer_node(p->g, t) != TN_OK)
            p->n_error++;
        tn_value made = tn_val(t);
        tn_region_set_results(p->g, r[i], 1, &made);
    }
}

void parse_drop_opened(parser *p, size_t from)
{
    tn_map seen = {0};
    uint64_t at;
    for (size_t i = from; i < p->opened.n; i++) {
        tn_node *t = p->opened.at[i];
        if (!tn_map_get(&seen, tn_map_key(t), &at) && tn_value_n_uses(tn_val(t)) == 0) {
            tn_map_put(&seen, tn_map_key(t), 1);
            tn_node_remove(p->g, t);
        }
    }
    tn_map_deinit(&seen);
    p->opened.n = from;
}

/* All inputs of a function that calls itself are handles, so `?` may stay. */
static tn_status parse_def_inside(parser *p, tn_function *f, bool recursive)
{
    const tn_type *declared = NULL;
    pval v;
    TN_TRY(parse_params(p, f->body, NULL, recursive ? DIM_ANY : DIM_PARAM));
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    if (parse_accept(p, "->")) {
        line = p->l.tok_line, col = p->l.tok_col;
        p->dims = DIM_CHECK;
        tn_status s = parse_type(p, &declared);
        p->dims = DIM_USE;
        TN_TRY(s);
        if (recursive && !declared) /* a call goes by it, so it is not inferred */
            declared = tn_type_none(p->g->pool);
    }
    f->result_type = declared;
    TN_TRY(parse_expect(p, "{"));
    TN_TRY(parse_block(p, "}", &v));
    (void)parse_results(p, f->body, &v, declared, line, col);
    return parse_expect(p, "}");
}

parse_saved parse_enter_function(parser *p, tn_region *body)
{
    parse_saved s = {p->scope, p->body, p->bound, p->dims, p->opened.n, p->types};
    p->scope = NULL;
    p->types = (ptypes){0};
    p->body = body;
    p->bound = (tn_strmap){0};
    p->dims = DIM_USE;
    return s;
}

void parse_leave_function(parser *p, const parse_saved *s)
{
    parse_drop_opened(p, s->n_opened);
    tn_strmap_deinit(&p->bound);
    p->scope = s->scope;
    p->body = s->body;
    p->bound = s->bound;
    p->dims = s->dims;
    p->types = s->types;
}

/* At `def`. */
tn_status parse_def(parser *p, pfunc *f)
{
    pscope scope;
    parse_next(p); /* def */
    parse_next(p); /* @ */
    parse_next(p); /* name; the first scan has seen all three */
    while (f->types.n && !tn_lex_is(&p->l, "("))
        parse_next(p); /* its type parameters */
    TN_TRY(parse_expect(p, "("));
    f->state = 1;
    tn_function *fn = tn_graph_add_function(p->g, f->name);
    f->func = fn;
    parse_saved s = parse_enter_function(p, fn->body);
    p->types = f->types;
    parse_open(p, &scope, fn->body);
    tn_status r = parse_def_inside(p, fn, f->recursive);
    parse_close(p);
    parse_leave_function(p, &s);
    f->state = 2;
    return r;
}

pfunc *parse_global(parser *p, const char *name, uint32_t line, uint32_t col)
{
    size_t i = 0;
    while (i < p->func.n && strcmp(p->func.at[i].name, name))
        i++;
    if (i == p->func.n) {
        (void)parse_error(p, line, col, "relay-E048", "there is no function @%s", name);
        return NULL;
    }
    if (p->func.at[i].recursive && strcmp(name, "main") == 0) {
        (void)parse_error(p, line, col, "relay-E060",
                          "@main calls itself; a package runs it, but nothing can call it");
        return NULL;
    }
    return &p->func.at[i];
}

tn_status parse_function(parser *p, pfunc *f, uint32_t line, uint32_t col, tn_function **out)
{
    *out = NULL;
    if (f->state == 1) {
        *out = f->func->result_type ? f->func : NULL;
        if (!*out)
            (void)parse_error(p, line, col, "relay-E025",
                              "@%s calls itself; write the type of its result, as in def @%s(...) -> float32",
                              f->name, f->name);
        return TN_OK;
    }
    if (f->state == 0) {
        TN_TRY(parse_enter(p));
        parse_place here = parse_go(p, &f->at, f->file);
        TN_TRY(parse_def(p, f));
        p->nest--;
        parse_back(p, &here);
    }
    *out = p->n_error ? NULL : f->func; /* a body with a mistake is not copied */
    return TN_OK;
}
