#ifndef TN_TESTS_LOWER_PROGRAM_H
#define TN_TESTS_LOWER_PROGRAM_H
/* A lowered expression as a list of operations that can be evaluated often. */
#include "ir/eval.h"
#include "lower/lower_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
} world;

static inline int enter(void **state)
{
    static world w;
    memset(&w, 0, sizeof w);
    tn_ctx_init(&w.ctx);
    tn_arena_init(&w.arena);
    tn_pool_init(&w.pool, &w.ctx, &w.arena, NULL);
    *state = &w;
    return 0;
}

static inline int leave(void **state)
{
    world *w = *state;
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
    return 0;
}

/* ---- a lowered intrinsic as a list of operations ---- */

enum { MAX_NODES = 1000 };
typedef struct program {
    int n;
    const tn_expr *node[MAX_NODES];
    int src[MAX_NODES][3];
    tn_scalar value[MAX_NODES];
    const tn_expr *arg[2];
} program;

static inline int find_node(const program *p, const tn_expr *e)
{
    for (int i = 0; i < p->n; i++)
        if (p->node[i] == e)
            return i;
    return -1;
}

static inline bool add_node(const tn_expr *e, void *user)
{
    program *p = user;
    if (find_node(p, e) >= 0)
        return true;
    assert_true(p->n < MAX_NODES && e->nsrc <= 3);
    for (int i = 0; i < e->nsrc; i++)
        p->src[p->n][i] = find_node(p, e->src[i]);
    p->node[p->n++] = e;
    return true;
}

/* Arguments x, y as variables of the given types. */
static inline void program_init(program *out, tn_func *f, tn_dtype x, tn_dtype y)
{
    memset(out, 0, sizeof *out);
    out->arg[0] = tn_func_add_var(f, "x", x);
    out->arg[1] = tn_func_add_var(f, "y", y);
}

static inline tn_machine machine_with(bool fma)
{
    static const char *const features[] = {"sse4.1", "fma"};
    return (tn_machine){.triple = "x86_64-unknown-linux-gnu", .feature = features, .n_feature = fma ? 2 : 0};
}

/* `value`, over out's arguments, after the given pass and ContractFma. */
static inline tn_status program_lower(tn_func *f, const tn_expr *value, tn_lower_fn *pass,
                                      const tn_machine *m, program *out)
{
    const tn_expr *dim = tn_idx(f->pool, 1), *zero = tn_idx(f->pool, 0);
    tn_buffer b = {.name = "out", .dtype = value->dtype, .ndim = 1, .dim = &dim, .param = -1};
    tn_stmt *s = tn_stmt_store(f, tn_func_add_buffer(f, &b), 1, &zero, value, NULL);
    tn_body_append(&f->body, s);
    f->stage = TN_STAGE_FLAT;
    tn_status st = pass(f, m);
    if (st == TN_OK)
        st = tn_lower_contract(f, m);
    for (s = f->body.first; s && st == TN_OK; s = s->next) {
        bool let = s->kind == TN_S_LET;
        const tn_expr *v = let ? s->u.let.value : s->u.store.value;
        tn_each(v, add_node, out);
        if (let) { /* its variable is the node's second name */
            out->node[out->n] = s->u.let.var;
            out->src[out->n++][0] = find_node(out, v);
        }
    }
    return st;
}

static inline tn_scalar program_run(program *p, tn_scalar x, tn_scalar y)
{
    for (int i = 0; i < p->n; i++) {
        const tn_expr *e = p->node[i];
        tn_scalar in[3];
        for (int j = 0; j < (e->kind == TN_E_VAR ? 1 : e->nsrc); j++)
            in[j] = p->value[p->src[i][j]];
        if (e == p->arg[0] || e == p->arg[1])
            p->value[i] = e == p->arg[0] ? x : y;
        else if (e->kind == TN_E_VAR)
            p->value[i] = in[0];
        else if (e->kind == TN_E_SELECT)
            p->value[i] = in[0].i ? in[1] : in[2];
        else
            assert_true(tn_eval_op((enum tn_ek)e->kind, e->dtype, e->u, e->nsrc ? e->src[0]->dtype : e->dtype,
                                   e->nsrc, in, &p->value[i]));
    }
    return p->value[p->n - 1];
}

#endif
