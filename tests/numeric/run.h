#ifndef TENON_TESTS_NUMERIC_RUN_H
#define TENON_TESTS_NUMERIC_RUN_H
/* Operators in tests: types and attributes from short text, one node defined as a function and run by the
 * interpreter. Include cmocka.h first. */
#include "op/op.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct env {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_region *body;
} env;

static inline void env_init(env *e)
{
    tn_ctx_init(&e->ctx);
    tn_arena_init(&e->arena);
    tn_pool_init(&e->pool, &e->ctx, &e->arena, NULL);
    tn_graph_init(&e->g, &e->ctx, &e->arena, &e->pool);
    e->body = tn_graph_add_function(&e->g, "main")->body;
}

static inline void env_deinit(env *e)
{
    tn_graph_deinit(&e->g);
    tn_arena_deinit(&e->arena);
    tn_ctx_deinit(&e->ctx);
}

/* What was reported, for messages of failing tests. */
static inline const char *env_errors(env *e)
{
    tn_buf b = {0};
    tn_diag_print_all(&e->ctx, &b);
    const char *s = tn_arena_strdup(&e->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

#define REQUIRE(e, cond) \
    do { \
        if (!(cond)) \
            fail_msg("%s\n%s", #cond, env_errors(e)); \
    } while (0)

/* "float32 n 3 8": dtype, then extents; a word is a symbol, and a word with + * a sum or product of two
 * ("3*n"). */
static inline const tn_expr *dim_of(env *e, const char *word)
{
    const char *op = strpbrk(word, "*+");
    if (op) {
        const tn_expr *a = dim_of(e, tn_arena_strndup(&e->arena, word, (size_t)(op - word))),
                      *b = dim_of(e, op + 1);
        return *op == '*' ? tn_mul(&e->pool, a, b) : tn_add(&e->pool, a, b);
    }
    if (*word >= '0' && *word <= '9')
        return tn_idx(&e->pool, strtoll(word, NULL, 10));
    tn_graph_symbol(&e->g, word);
    return tn_sym(&e->pool, word);
}

static inline const tn_type *type_of(env *e, const char *text)
{
    const tn_expr *dim[16];
    tn_dtype t;
    int n = 0;
    size_t k = strcspn(text, " ");
    assert_true(tn_dtype_parse(text, k, &t));
    for (text += k; *text; text += k) {
        text += strspn(text, " ");
        k = strcspn(text, " ");
        if (k)
            dim[n++] = dim_of(e, tn_arena_strndup(&e->arena, text, k));
    }
    return tn_type_tensor(&e->pool, t, n, dim, NULL);
}

static inline tn_value operand(env *e, const char *type)
{
    return tn_val(tn_region_add_param(&e->g, e->body, "x", type_of(e, type)));
}

/* Attributes of op: its defaults, then "name=value, ..." */
static inline void *attr_of(env *e, const tn_op *op, const char *text)
{
    tn_lexer l;
    void *attr = tn_arena_alloc(&e->arena, op->attr_size, 16);
    if (op->attr)
        REQUIRE(e, tn_attr_init(&e->pool, op->attr, op->attr_size, attr) == TN_OK);
    tn_lex_init(&l, &e->ctx, "attributes", text, strlen(text), false);
    while (l.tok != TN_TOK_END) {
        const char *name = tn_lex_ident(&l);
        REQUIRE(e, name && tn_lex_expect(&l, "=") == TN_OK &&
                       tn_attr_parse(&l, &e->pool, NULL, op->attr, name, attr) == TN_OK);
        if (!tn_lex_accept(&l, ","))
            break;
    }
    return attr;
}

/* A node over fresh parameters of the given types; NULL with diagnostics if it is refused. */
static inline tn_node *node_of(env *e, const tn_op *op, int nin, const char *const types[], const char *attrs)
{
    tn_value in[64];
    for (int i = 0; i < nin; i++)
        in[i] = operand(e, types[i]);
    return tn_make_call(&e->g, e->body, NULL, op, nin, in, op->attr_size ? attr_of(e, op, attrs) : NULL,
                        NULL);
}

/* The function of one node: its operands are the parameters, then its results. */
static inline tn_func *func_of(env *e, const tn_node *n)
{
    tn_te te;
    tn_tensor *in[64], *out[8];
    tn_te_init(&te, &e->ctx, &e->arena, &e->pool, "f");
    for (int i = 0; i < n->nin; i++)
        in[i] = tn_te_input(&te, tn_arena_printf(&e->arena, "p%d", i), tn_in_type(n, i));
    REQUIRE(e, tn_define_node(&te, &e->g, n, in, out) == TN_OK);
    tn_func *f = tn_te_finish(&te, n->nout, out, NULL);
    if (tn_func_verify(f) != TN_OK) {
        tn_buf b = {0};
        tn_func_print(f, &b);
        print_error("%s\n", tn_buf_cstr(&b));
        tn_buf_deinit(&b);
        REQUIRE(e, !"verified");
    }
    return f;
}

/* Runs a node of several results; sym: values of the function's symbols in order, or NULL. */
static inline void run_results(env *e, const tn_node *n, const void *const in[], void *const out[],
                               const int64_t *sym)
{
    void *arg[72];
    for (int i = 0; i < n->nin; i++)
        arg[i] = (void *)(uintptr_t)in[i];
    for (int k = 0; k < n->nout; k++)
        arg[n->nin + k] = out[k];
    REQUIRE(e, tn_func_run(func_of(e, n), arg, sym) == TN_OK);
}

static inline void run_node(env *e, const tn_node *n, const void *const in[], void *out, const int64_t *sym)
{
    run_results(e, n, in, &out, sym);
}

static inline int64_t count_of(const tn_type *t)
{
    int64_t dim[16], n = 1;
    assert_true(tn_type_dims_const(t, dim));
    for (int i = 0; i < t->n; i++)
        n *= dim[i];
    return n;
}

/* n floats in [-1, 1), different from each other with high probability. */
static inline float *floats(env *e, int64_t n, uint64_t seed)
{
    float *at = TN_NEW_N(&e->arena, float, (size_t)n);
    tn_rng r = {seed};
    for (int64_t i = 0; i < n; i++)
        at[i] = (float)(tn_rng_unit(&r) * 2 - 1);
    return at;
}

static inline void expect_close(const float *got, const double *want, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("element %lld is %.9g, expected %.9g", (long long)i, got[i], want[i]);
}

#endif
