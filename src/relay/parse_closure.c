/* Closures of Relay text: fn (%x: float32) -> float32 { ... }. */
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
    if (parse_accept(p, "->")) {
        p->dims = DIM_CHECK;
        tn_status s = parse_type(p, &declared);
        p->dims = DIM_USE;
        TN_TRY(s);
    }
    tn_node *self = let && declared ? name_self(p, r, let, declared) : NULL;
    const char *untyped = p->untyped;
    p->untyped = let && !declared ? let : untyped;
    TN_TRY(parse_expect(p, "{"));
    TN_TRY(parse_block(p, "}", &v));
    p->untyped = untyped;
    *out_ok = parse_results(p, r, &v, declared, line, col) == TN_OK;
    if (self && !self->users[0])
        tn_node_remove(p->g, self);
    return TN_OK;
}

tn_status parse_fn(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_fn_attr *attr = TN_NEW(p->g->arena, tn_fn_attr);
    bool ok = false;
    pscope scope;
    *out = pval_bad(line, col);
    parse_next(p);
    if (tn_lex_is(&p->l, "[")) {
        return tn_lex_fail(&p->l, "relay-E021",
                           "a closure has no type parameters; write def @name[A](...), or one for each type");
    }
    TN_TRY(parse_expect(p, "("));
    TN_TRY(tn_attr_init(p->g->pool, tn_op_fn.attr, tn_op_fn.attr_size, attr));
    tn_node *n =
        tn_node_new(p->g, p->scope->region, NULL, &tn_op_fn, 0, NULL, 1, attr, parse_loc(p, line, col, NULL));
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
        *out = pval_one(n, line, col);
    return TN_OK;
}
