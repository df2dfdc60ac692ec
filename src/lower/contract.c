/* ContractFma: a*b + c becomes fma(a, b, c) where the machine has the instruction and the function is not
 * strict. Of two products, one is chosen by what they compute, whatever the place: elements of a vector, of
 * its unrolled copies and of what they leave over get the same bits from the same numbers. */
#include "base/map.h"
#include "lower/lower_impl.h"

/* A hash that ignores lanes and indices, of the upper levels of e. */
static uint64_t form_of(const tn_expr *e, int levels)
{
    while (e->kind == TN_E_SPLAT)
        e = e->src[0];
    uint64_t h = tn_hash_u64(e->kind, (uint64_t)e->dtype.code << 8 | e->dtype.bits), operands = 0;
    if (e->kind == TN_E_LOAD)
        return tn_hash_u64(h, e->u.load.buffer);
    if (e->kind == TN_E_INT || e->kind == TN_E_FLOAT || e->kind == TN_E_CALL)
        h = tn_hash_u64(h, e->u.bits);
    for (int i = 0; levels && i < e->nsrc; i++) /* their order may depend on indices */
        operands += form_of(e->src[i], levels - 1);
    return tn_hash_u64(h, operands);
}

static const tn_expr *contract(tn_pool *p, const tn_expr *e, void *user)
{
    (void)user;
    if (e->kind != TN_E_ADD || e->dtype.code != TN_FLOAT || e->dtype.bits < 32)
        return NULL;
    const tn_expr *a = e->src[0], *b = e->src[1];
    bool first = a->kind == TN_E_MUL, second = b->kind == TN_E_MUL;
    if (first && second)
        second = form_of(a, 5) > form_of(b, 5);
    if (second)
        return tn_fma(p, b->src[0], b->src[1], a);
    return first ? tn_fma(p, a->src[0], a->src[1], b) : NULL;
}

static const tn_expr *contract_expr(const tn_expr *e, void *user)
{
    return tn_rewrite(user, e, contract, NULL);
}

static bool contract_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, contract_expr, user);
    return !tn_stmt_is_nest(s);
}

tn_status tn_lower_contract(tn_func *f, const struct tn_machine *m)
{
    if (!f->strict && tn_machine_can(m, TN_CAN_FMA))
        tn_stmt_walk(&f->body, contract_stmt, NULL, f->pool);
    return TN_OK;
}
