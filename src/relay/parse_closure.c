/* Closures of Relay text: fn (%x: float32) -> float32 { ... }. One with type parameters, fn [A](%x: A) { ... }, is no
 * value. Its text is read over, and then once for each choice of types that a use asks for, in the scope where it
 * stands: these instances are closures of plain types, and stand where it does. */
#include "relay/parse.h"

#include <string.h>

/* In its body, a function that a line or a `let` names is known by this name. */
static tn_node *name_self(parser *p, tn_region *r, const char *name, const tn_type *result)
{
    const tn_type **param = TN_NEW_N(&p->scratch, const tn_type *, r->n_param);
    uint64_t seen;
    for (uint32_t i = 0; i < r->n_param; i++)
        param[i] = r->param[i]->type[0];
    if (tn_strmap_get(&p->scope->name, name, strlen(name), &seen))
        return NULL;
    tn_node *n = tn_node_new(p->g, r, NULL, &tn_op_self, 0, NULL, 1, NULL, r->holder->loc);
    n->type[0] = tn_type_func(p->g->pool, (int)r->n_param, param, result);
    parse_define(p, name, pval_one(n, p->l.tok_line, p->l.tok_col));
    return n;
}

/* Parameters, result type and body, with the scope of the closure open. */
static tn_status parse_fn_inside(parser *p, tn_region *r, tn_fn_attr *attr, bool *out_ok)
{
    const char *let = p->let;
    const tn_type *declared = NULL;
    pval v;
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    p->let = NULL;
    TN_TRY(parse_params(p, r, attr, DIM_PARAM));
    bool typed = parse_accept(p, "->");
    if (typed) {
        p->dims = DIM_CHECK;
        tn_status s = parse_type(p, &declared);
        p->dims = DIM_USE;
        TN_TRY(s);
    }
    const tn_type *none = tn_type_none(p->g->pool);
    tn_node *self = let && typed ? name_self(p, r, let, declared ? declared : none) : NULL;
    const char *untyped = p->untyped;
    p->untyped = let && !typed ? let : untyped;
    TN_TRY(parse_expect(p, "{"));
    TN_TRY(parse_block(p, "}", &v));
    p->untyped = untyped;
    if (self && self->users[0] && !declared) /* a call goes by it, so it is not inferred */
        declared = none;
    *out_ok = parse_results(p, r, &v, declared, line, col) == TN_OK;
    if (self && !self->users[0])
        tn_node_remove(p->g, self);
    return TN_OK;
}

/* At its parameters: the closure, before a node of its region (NULL: at the end); bad: reported. */
static tn_status read_closure(parser *p, tn_node *before, const tn_loc *loc, pval *out)
{
    tn_fn_attr *attr = TN_NEW(p->g->arena, tn_fn_attr);
    bool ok = false;
    pscope scope;
    *out = pval_bad(loc->line, loc->col);
    TN_TRY(parse_expect(p, "("));
    TN_TRY(tn_attr_init(p->g->pool, tn_op_fn.attr, tn_op_fn.attr_size, attr));
    tn_node *n = tn_node_new(p->g, p->scope->region, before, &tn_op_fn, 0, NULL, 1, attr, loc);
    tn_region *r = tn_region_new(p->g, n);
    parse_open(p, &scope, r);
    tn_status s = parse_fn_inside(p, r, attr, &ok);
    parse_close(p);
    n->attr = attr;
    TN_TRY(s);
    TN_TRY(parse_expect(p, "}"));
    if (ok && tn_infer_node(p->g, n) != TN_OK)
        p->n_error++;
    else if (ok)
        *out = pval_one(n, loc->line, loc->col);
    return TN_OK;
}

/* ---- type parameters ---- */

/* At `[`: to the end of the body. */
static tn_status skip_closure(parser *p)
{
    static const char *const opens[] = {"(", "[", "{"}, *const closes[] = {")", "]", "}"};
    int depth = 0;
    bool body = false;
    while (p->l.tok != TN_TOK_END && !(body && depth == 0)) {
        for (int i = 0; i < 3; i++) {
            depth += tn_lex_is(&p->l, opens[i]) ? 1 : tn_lex_is(&p->l, closes[i]) ? -1 : 0;
            body = body || (depth <= 0 && tn_lex_is(&p->l, "}"));
        }
        if (depth < 0)
            return parse_expect(p, "{");
        parse_next(p);
    }
    return body ? TN_OK : parse_expect(p, "}");
}

/* An empty tuple marks the place: it goes when the function has been read, as nothing uses it. */
static tn_status parse_open_fn(parser *p, const tn_lexer *at, pval *out)
{
    pval place = parse_node(p, &tn_op_tuple, 0, NULL, NULL, out->line, out->col);
    pclosure *c = TN_NEW(&p->scratch, pclosure);
    pfunc *f = TN_NEW(&p->scratch, pfunc);
    *c = (pclosure){p->let, p->scope, p->n_name, p->types, place.v.def};
    *f = (pfunc){.name = p->let ? p->let : "fn", .file = p->file, .generic = true, .closure = c, .at = *at};
    p->let = NULL;
    tn_vec_push(&p->opened, c->place);
    *out = (pval){.kind = PVAL_POLY, .poly = {.func = f}, .line = out->line, .col = out->col};
    return skip_closure(p);
}

/* At `fn`, in its scope. */
static tn_status read_instance(parser *p, pfunc *f)
{
    pval made;
    const tn_loc *loc = parse_loc(p, p->l.tok_line, p->l.tok_col, NULL);
    while (!tn_lex_is(&p->l, "("))
        parse_next(p); /* its type parameters, which have been read */
    p->let = f->closure->name;
    TN_TRY(read_closure(p, f->closure->place, loc, &made));
    f->node = made.kind == PVAL_ONE ? made.v.def : NULL;
    return TN_OK;
}

tn_status parse_closure(parser *p, pfunc *f, tn_node **out)
{
    pscope *scope = p->scope, *in = f->closure->scope;
    enum dim_mode dims = p->dims;
    ptypes types = p->types;
    const char *let = p->let, *untyped = p->untyped;
    uint32_t until = in->until;
    if (f->state == 0) {
        TN_TRY(parse_enter(p));
        parse_place here = parse_go(p, &f->at, f->file);
        f->state = 1;
        in->until = f->closure->until;
        p->scope = in;
        p->dims = DIM_USE;
        p->types = parse_types_within(p, &f->types, &f->closure->types);
        p->untyped = NULL;
        tn_status s = read_instance(p, f);
        in->until = until;
        p->scope = scope;
        p->dims = dims;
        p->types = types;
        p->let = let;
        p->untyped = untyped;
        f->state = 2;
        p->nest--;
        TN_TRY(s);
        parse_back(p, &here);
    }
    *out = p->n_error ? NULL : f->node;
    return TN_OK;
}

tn_status parse_fn(parser *p, pval *out)
{
    tn_lexer at = p->l;
    *out = pval_bad(at.tok_line, at.tok_col);
    parse_next(p);
    if (tn_lex_is(&p->l, "["))
        return parse_open_fn(p, &at, out);
    return read_closure(p, NULL, parse_loc(p, at.tok_line, at.tok_col, NULL), out);
}

/* ---- their types ---- */

bool parse_at_open_type(const parser *p)
{
    tn_lexer ahead = p->l;
    return tn_lex_accept(&ahead, "fn") && tn_lex_is(&ahead, "[");
}

tn_status parse_open_type(parser *p, ptypes *out_names, const tn_type **out)
{
    ptypes around = p->types;
    enum dim_mode dims = p->dims;
    parse_next(p);
    TN_TRY(parse_type_names(p, out_names));
    p->types = parse_types_within(p, out_names, &around);
    p->dims = DIM_ANY;
    tn_status s = parse_signature(p, out);
    p->dims = dims;
    p->types = around;
    return s;
}

static bool same_type(parser *p, const tn_type *a, const tn_type *b)
{
    return a && b && tn_type_eq_logical(tn_type_unbound(p->g->pool, a), tn_type_unbound(p->g->pool, b));
}

tn_status parse_check_open(parser *p, const pval *v, const ptypes *names, const tn_type *t)
{
    pfunc *f = v->kind == PVAL_POLY ? v->poly.func : NULL;
    if (v->kind == PVAL_BAD)
        return TN_OK;
    if (f)
        TN_TRY(parse_head(p, f));
    bool same = f && f->types.n == names->n && (int)f->n_open + 1 == t->n &&
                same_type(p, f->gives, t->field[t->n - 1]);
    for (uint32_t i = 0; same && i < f->n_open; i++)
        same = same_type(p, f->open[i], t->field[i]);
    if (!same)
        (void)parse_error(
            p, v->line, v->col, "relay-E084",
            "its text does not say the type that the `let` says, with parameters and result; leave the type "
            "of the `let` out");
    return TN_OK;
}
