#ifndef TEST_ARITH_EVAL_H
#define TEST_ARITH_EVAL_H
/* What the tests of arith share: a pool that cleans up after itself and an evaluator of expressions at a
 * point, which uses the one definition of arithmetic (ir/eval.h) and nothing of arith. */
#include "arith/arith.h"
#include "ir/eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_facts facts;
} world;

static void world_init(world *w)
{
    tn_ctx_init(&w->ctx);
    tn_arena_init(&w->arena);
    tn_pool_init(&w->pool, &w->ctx, &w->arena, NULL);
    tn_facts_init(&w->facts);
}

static void world_deinit(world *w)
{
    tn_facts_deinit(&w->facts);
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
}

/* Values of leaves. */
typedef struct point {
    const tn_expr *leaf[16];
    int64_t value[16];
    int n;
} point;

/* false: undefined here (division by zero, overflow). Scalars without loads. */
static bool eval_at(const tn_expr *e, const point *at, tn_scalar *out)
{
    tn_scalar in[4];
    if (e->kind == TN_E_INT || e->kind == TN_E_FLOAT) {
        out->i = e->u.i;
        return true;
    }
    if (e->nsrc == 0) {
        for (int i = 0; i < at->n; i++)
            if (at->leaf[i] == e)
                return out->i = at->value[i], true;
        fail_msg("leaf without a value");
    }
    for (int i = 0; i < e->nsrc; i++)
        if (!eval_at(e->src[i], at, &in[i]))
            return false;
    if (e->kind == TN_E_SELECT) {
        *out = in[0].i ? in[1] : in[2];
        return true;
    }
    return tn_eval_op((enum tn_ek)e->kind, e->dtype, e->u, e->src[0]->dtype, e->nsrc, in, out);
}

/* Printed form in a buffer of the ctx's arena, for messages. */
static inline const char *text_of(world *w, const tn_expr *e)
{
    tn_buf b = {0};
    if (!e)
        return "(none)";
    tn_expr_print(e, NULL, &b);
    const char *s = tn_arena_strdup(&w->ctx.arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

#endif
