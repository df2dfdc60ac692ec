/* ContractFma: a*b + c becomes fma(a, b, c) where the machine has the instruction and the function is not strict. The
 * first product of a sum is taken, so the result depends on the expression alone. */
#include "lower/lower_impl.h"

static const tn_expr *contract(tn_pool *p, const tn_expr *e, void *user)
{
    (void)user;
    if (e->kind != TN_E_ADD || e->dtype.code != TN_FLOAT || e->dtype.bits < 32)
        return NULL;
    const tn_expr *a = e->src[0], *b = e->src[1];
    if (a->kind == TN_E_MUL)
        return tn_fma(p, a->src[0], a->src[1], b);
    if (b->kind == TN_E_MUL)
        return tn_fma(p, b->src[0], b->src[1], a);
    return NULL;
}

static const tn_expr *contract_expr(const tn_expr *e, void *user)
{
    return tn_rewrite(user, e, contract, NULL);
}

static bool contract_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, contract_expr, user);
    return true;
}

tn_status tn_lower_contract(tn_func *f, const struct tn_machine *m)
{
    if (!f->strict && tn_machine_has(m, "fma"))
        tn_stmt_walk(&f->body, contract_stmt, NULL, f->pool);
    return TN_OK;
}
