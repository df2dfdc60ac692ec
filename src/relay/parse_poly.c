/* Functions as arguments that say no types: a constructor (`Cons`), a function with type parameters (`@id`), an
 * operator (`nn.relu`). Where a function is wanted they become one, fn (%x: A) { nn.relu(%x) }, over the parameters
 * that are wanted; a `let` may give them another name. Elsewhere they are no value. */
#include "op/control/control.h"
#include "relay/parse.h"

void parse_poly_refuse(parser *p, const pval *v)
{
    const ppoly *k = &v->poly;
    tn_construct_attr attr = {k->constructor ? k->constructor->name : NULL};
    if (k->constructor)
        (void)parse_node(p, &tn_op_construct, 0, NULL, &attr, v->line, v->col);
    else if (k->func)
        (void)parse_error(p, v->line, v->col, "relay-E223",
                          "%s has type parameters, so it can only be called, be the argument of a call, or "
                          "get a plain type, as "
                          "in let %%g: fn (float32) -> float32 = ...",
                          parse_label(p, k->func));
    else
        (void)parse_error(
            p, v->line, v->col, "relay-E046",
            "'%s' is not a value; values are %%names, constants, constructors and calls, op(...)",
            k->op->name);
}

static const char *name_of(parser *p, const ppoly *k)
{
    return k->constructor ? k->constructor->name : k->func ? parse_label(p, k->func) : k->op->name;
}

tn_status parse_poly_call(parser *p, const pval *v, uint32_t n, tn_value in[], const pval arg[], pval *out)
{
    const ppoly *k = &v->poly;
    *out = pval_bad(v->line, v->col);
    if (k->func)
        return parse_call_global(p, k->func, n, in, arg, out);
    for (uint32_t i = 0; i < n; i++)
        if (arg[i].kind == PVAL_POLY) {
            parse_poly_refuse(p, &arg[i]);
            return TN_OK;
        }
    tn_construct_attr construct = {k->constructor ? k->constructor->name : NULL};
    void *attr = &construct;
    if (k->op && parse_default_attr(p, k->op, v->line, v->col, &attr) != TN_OK)
        return TN_OK;
    *out = parse_node(p, k->op ? k->op : &tn_op_construct, (int)n, in, attr, v->line, v->col);
    return TN_OK;
}

/* The parameters of the closure; false: one of no type. */
static bool add_params(parser *p, tn_region *r, const pval *v, const tn_type *want, tn_value in[], pval arg[])
{
    for (int i = 0; i + 1 < want->n; i++) {
        const tn_type *t = tn_type_unbound(p->g->pool, want->field[i]);
        if (t->kind == TN_T_NONE) {
            (void)parse_error(
                p, v->line, v->col, "relay-E083",
                "what %s takes here does not follow from the other arguments; write fn (%%x: type) { "
                "... } that calls it",
                name_of(p, &v->poly));
            return false;
        }
        tn_node *x = tn_region_add_param(p->g, r, "x", parse_bound(p, t));
        x->loc = parse_loc(p, v->line, v->col, NULL);
        in[i] = tn_val(x);
        arg[i] = pval_one(x, v->line, v->col);
    }
    return true;
}

bool parse_poly_value(parser *p, const pval *v, const tn_type *want, tn_value *out)
{
    pscope scope;
    pval made;
    tn_fn_attr *attr = TN_NEW(p->g->arena, tn_fn_attr);
    if (want->kind != TN_T_FUNC) {
        parse_poly_refuse(p, v);
        return false;
    }
    if (tn_attr_init(p->g->pool, tn_op_fn.attr, tn_op_fn.attr_size, attr) != TN_OK)
        return false;
    tn_value *in = TN_NEW_N(&p->scratch, tn_value, want->n);
    pval *arg = TN_NEW_N(&p->scratch, pval, want->n);
    tn_node *n = tn_node_new(p->g, p->scope->region, NULL, &tn_op_fn, 0, NULL, 1, attr,
                             parse_loc(p, v->line, v->col, NULL));
    tn_region *r = tn_region_new(p->g, n);
    parse_open(p, &scope, r);
    bool ok = add_params(p, r, v, want, in, arg) &&
              parse_poly_call(p, v, (uint32_t)want->n - 1, in, arg, &made) == TN_OK &&
              made.kind != PVAL_BAD && parse_results(p, r, &made, NULL, v->line, v->col) == TN_OK;
    parse_close(p);
    if (ok && tn_infer_node(p->g, n) != TN_OK) {
        p->n_error++;
        ok = false;
    }
    *out = tn_val(n);
    return ok;
}

bool parse_poly_values(parser *p, uint32_t n, const pval arg[], const tn_type *const want[], tn_value in[])
{
    bool ok = true;
    for (uint32_t i = 0; i < n; i++)
        if (arg[i].kind == PVAL_POLY && !in[i].def)
            ok = parse_poly_value(p, &arg[i], want[i], &in[i]) && ok;
    return ok;
}
