/* The arithmetic of a kernel, counted once in the loops that the tensor expressions made: what the algorithm needs,
 * whatever a schedule repeats, pads or vectorises. An iteration counts although a mask (of padding, say) skips it.
 *
 *   1   + - * / of floating-point numbers; exp, tanh, sqrt, pow and the like
 *   2   a multiply-add: of floating-point numbers, and of integers where a sum of products is accumulated
 *   0   min, max, comparisons, select, conversions, rounding, absolute values, loads; all other arithmetic of integers
 *
 * A value that occurs several times in an expression is computed once. What a reduction begins with does not count. */
#include "driver/driver.h"

typedef struct {
    uint32_t buffer; /* what is stored */
    int64_t n[TN_N_OPERATIONS];
} iteration;

/* The product of two values that were bfloat16. */
static bool is_narrow(const tn_expr *e)
{
    for (int i = 0; e->kind == TN_E_MUL && i < 2; i++) {
        const tn_expr *x = e->src[i]->kind == TN_E_CAST ? e->src[i]->src[0] : e->src[i];
        if (x->dtype.code != TN_BFLOAT)
            return false;
    }
    return e->kind == TN_E_MUL;
}

/* accumulator + a product */
static bool is_dot(const tn_expr *e, uint32_t accumulator)
{
    for (int i = 0; i < 2; i++)
        if (e->src[i]->kind == TN_E_LOAD && e->src[i]->u.load.buffer == accumulator &&
            e->src[1 - i]->kind == TN_E_MUL)
            return true;
    return false;
}

static bool is_work(const tn_expr *e)
{
    if (e->kind != TN_E_CALL)
        return e->kind == TN_E_ADD || e->kind == TN_E_SUB || e->kind == TN_E_MUL || e->kind == TN_E_DIV ||
               e->kind == TN_E_FMA;
    return tn_intrins[e->u.call.id].poly || e->u.call.id == TN_F_sqrt;
}

static bool count_node(const tn_expr *e, void *user)
{
    iteration *it = user;
    if (tn_dtype_is_float(e->dtype) && is_work(e)) {
        bool narrow = is_narrow(e) || (e->kind == TN_E_ADD && (is_narrow(e->src[0]) || is_narrow(e->src[1])));
        it->n[narrow ? TN_OPERATIONS_BFLOAT16 : TN_OPERATIONS_FLOAT] += e->kind == TN_E_FMA ? 2 : 1;
    } else if (tn_dtype_is_int(e->dtype) && e->kind == TN_E_ADD && is_dot(e, it->buffer)) {
        it->n[TN_OPERATIONS_INTEGER] += 2;
    }
    return true;
}

typedef struct {
    tn_pool *pool;
    const tn_expr **sum; /* TN_N_OPERATIONS */
} counter;

static void count_body(counter *c, const tn_body *b, const tn_expr *times);

static void count_value(counter *c, const tn_expr *value, uint32_t buffer, const tn_expr *times)
{
    iteration it = {.buffer = buffer};
    tn_each(value, count_node, &it);
    for (int k = 0; k < TN_N_OPERATIONS; k++)
        if (it.n[k])
            c->sum[k] = tn_add(c->pool, c->sum[k], tn_mul(c->pool, times, tn_idx(c->pool, it.n[k])));
}

static void count_stmt(counter *c, const tn_stmt *s, const tn_expr *times)
{
    if (s->kind == TN_S_FOR) {
        count_body(c, &s->u.loop.body, tn_mul(c->pool, times, s->u.loop.extent));
    } else if (s->kind == TN_S_BLOCK) {
        count_body(c, &s->u.block.body, times);
    } else if (s->kind == TN_S_IF) {
        count_body(c, &s->u.cond.then, times);
        count_body(c, &s->u.cond.other, times);
    } else if (s->kind == TN_S_STORE) {
        count_value(c, s->u.store.value, s->u.store.buffer, times);
    } else if (s->kind == TN_S_LET) {
        count_value(c, s->u.let.value, UINT32_MAX, times);
    }
}

static void count_body(counter *c, const tn_body *b, const tn_expr *times)
{
    for (const tn_stmt *s = b->first; s; s = s->next)
        count_stmt(c, s, times);
}

static bool is_size(const tn_expr *e, void *user)
{
    (void)user;
    return e->kind != TN_E_VAR && e->kind != TN_E_LOAD;
}

void tn_operations_count(const tn_func *f, const tn_expr *out[TN_N_OPERATIONS])
{
    for (int k = 0; k < TN_N_OPERATIONS; k++)
        out[k] = tn_idx(f->pool, 0);
    counter c = {.pool = f->pool, .sum = out};
    count_body(&c, &f->body, tn_idx(f->pool, 1));
    for (int k = 0; k < TN_N_OPERATIONS; k++) {
        out[k] = tn_simplify(f->pool, NULL, out[k]);
        if (!tn_each(out[k], is_size, NULL)) /* loops whose length only the run knows */
            out[k] = tn_idx(f->pool, 0);
    }
}
