/* Step regroup: in a sum of products, the factors that a loop moves are multiplied with each other, and so are the
 * others, before the two products are:
 *
 *     for i, j, k: y[i] += x[i, j] * a[j, k] * b[k]        x * a * b  ->  x * (a * b)   by i
 *
 * so that what a tile's rows share is computed once for all of them. It changes the order in which factors are
 * multiplied: refused in strict functions. */
#include "schedule/sched_impl.h"

enum { MAX_FACTORS = 16 };

/* The factors of e, each as often as it stands there; 0: more than fit. */
static int factors_of(const tn_expr *e, const tn_expr *out[MAX_FACTORS])
{
    const tn_expr *todo[MAX_FACTORS + 1];
    int n = 0, k = 0;
    todo[n++] = e;
    while (n > 0) {
        e = todo[--n];
        if (n + k + 2 > MAX_FACTORS)
            return 0;
        if (e->kind == TN_E_MUL) {
            todo[n++] = e->src[1];
            todo[n++] = e->src[0];
        } else {
            out[k++] = e;
        }
    }
    return k;
}

static const tn_expr *times(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return a ? tn_mul(p, a, b) : b;
}

tn_verdict tn_do_regroup(tn_sched *s, tn_step *t)
{
    tn_pool *p = s->func->pool;
    tn_stmt *b = t->arg[0].s ? tn_func_block(s->func, t->arg[0].s) : NULL, *loop = tn_sched_loop(s, t->in[0]);
    if (!b)
        return TN_REJECT_NAME;
    if (s->func->strict)
        return TN_REJECT_DEPEND;
    if (!tn_stmt_inside(b, loop))
        return TN_REJECT_LOOP;
    int own = tn_update_operand(b);
    tn_stmt *store = own < 0 ? NULL : b->u.block.body.first;
    const tn_expr *factor[MAX_FACTORS], *group[2] = {NULL, NULL};
    int n = own < 0 ? 0 : factors_of(store->u.store.value->src[1 - own], factor);
    if (n < 3 || store->u.store.value->kind != TN_E_ADD)
        return TN_REJECT_REDUCE;
    for (int i = 0; i < n; i++) {
        bool moved = tn_uses(tn_block_over_loops(s, b, factor[i]), loop->u.loop.var);
        group[moved] = times(p, group[moved], factor[i]);
    }
    const tn_expr *acc = store->u.store.value->src[own];
    const tn_expr *term = group[0] ? (group[1] ? tn_mul(p, group[0], group[1]) : group[0]) : group[1];
    store->u.store.value = own == 0 ? tn_add(p, acc, term) : tn_add(p, term, acc);
    return TN_DONE;
}
