/* ir/expr: interning, canonical order, builders, rewriting; printed text reads back to the same pointer. */
#include "base/rng.h"
#include "ir/lex.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
} world;

static int enter(void **state)
{
    static world w;
    memset(&w, 0, sizeof w);
    tn_ctx_init(&w.ctx);
    tn_arena_init(&w.arena);
    tn_pool_init(&w.pool, &w.ctx, &w.arena, NULL);
    *state = &w;
    return 0;
}

static int leave(void **state)
{
    world *w = *state;
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
    return 0;
}

/* ---- names: v<k> has dtype var_types[k % n], b<k> elements of var_types[k % n], others are symbols ---- */

static const tn_dtype types[] = {
    {TN_INDEX, 64, 1}, {TN_FLOAT, 32, 1}, {TN_INT, 32, 1}, {TN_BOOL, 8, 1},  {TN_FLOAT, 64, 1},
    {TN_UINT, 8, 1},   {TN_FLOAT, 16, 1}, {TN_INT, 64, 1}, {TN_UINT, 64, 1}, {TN_BFLOAT, 16, 1},
    {TN_INT, 8, 1},    {TN_FLOAT, 32, 4}, {TN_INT, 32, 4},
};
enum { N_TYPES = sizeof types / sizeof *types, N_SCALARS = 11 };

static tn_dtype named(const char *text)
{
    tn_dtype t = {0};
    assert_true(tn_dtype_parse(text, strlen(text), &t));
    return t;
}

static const tn_expr *find_name(void *user, const char *name)
{
    unsigned k;
    if (name[0] == 'v' && sscanf(name + 1, "%u", &k) == 1)
        return tn_var(user, types[k % N_TYPES], k);
    return name[0] == 'n' || name[0] == 'm' ? tn_sym(user, name) : NULL;
}

static bool find_buffer(void *user, const char *name, uint32_t *out_number, tn_dtype *out_dtype)
{
    (void)user;
    if (name[0] != 'b' || sscanf(name + 1, "%u", out_number) != 1)
        return false;
    *out_dtype = types[*out_number % N_SCALARS];
    return true;
}

static const tn_expr *parse_as(tn_pool *p, const char *text, tn_dtype want)
{
    tn_scope_fns scope = {find_name, find_buffer, p};
    tn_lexer l;
    const tn_expr *e = NULL;
    tn_lex_init(&l, p->ctx, "t", text, strlen(text), false);
    tn_status s = tn_expr_parse(&l, p, &scope, want, &e);
    if (s == TN_OK && l.tok != TN_TOK_END)
        s = tn_lex_expected(&l, "the end");
    if (s != TN_OK) {
        tn_buf b = {0};
        tn_diag_print_all(p->ctx, &b);
        print_message("%s\n%s\n", text, tn_buf_cstr(&b));
        tn_buf_deinit(&b);
        return NULL;
    }
    return e;
}

static const tn_expr *parse(tn_pool *p, const char *text) { return parse_as(p, text, TN_IDX); }

static void assert_prints(const tn_expr *e, const char *text)
{
    tn_buf b = {0};
    assert_non_null(e);
    tn_expr_print(e, NULL, &b);
    assert_string_equal(tn_buf_cstr(&b), text);
    tn_buf_deinit(&b);
}

/* ---- interning ---- */

static void equal_means_same_pointer(void **state)
{
    tn_pool *p = &((world *)*state)->pool;
    const tn_expr *i = tn_var(p, TN_IDX, 0), *n = tn_sym(p, "n");
    assert_ptr_equal(tn_add(p, tn_mul(p, i, tn_idx(p, 4)), n), tn_add(p, n, tn_mul(p, tn_idx(p, 4), i)));
    assert_ptr_not_equal(tn_sub(p, i, n), tn_sub(p, n, i));
    assert_ptr_not_equal(tn_var(p, TN_IDX, 1), tn_var(p, TN_I32, 1));
    assert_ptr_not_equal(tn_flt(p, TN_F32, 0.0), tn_flt(p, TN_F32, -0.0));
    assert_ptr_equal(tn_flt(p, TN_F32, NAN), tn_flt(p, TN_F32, -NAN));
    assert_ptr_not_equal(tn_flt(p, TN_F32, 1), tn_flt(p, TN_F64, 1));
    assert_ptr_equal(tn_int(p, TN_U8, 257), tn_int(p, TN_U8, 1));
    assert_int_equal(tn_int(p, TN_DT(TN_INT, 8), 255)->u.i, -1);
    const tn_expr *e = tn_add(p, i, n);
    assert_true(e->id > i->id && e->id > n->id);
}

static void a_child_pool_finds_its_parents_expressions(void **state)
{
    world *w = *state;
    tn_arena arena;
    tn_pool child, grandchild;
    const tn_expr *n = tn_sym(&w->pool, "n"), *e = tn_add(&w->pool, n, tn_idx(&w->pool, 1));
    tn_arena_init(&arena);
    tn_pool_init(&child, &w->ctx, &arena, &w->pool);
    assert_ptr_equal(tn_add(&child, tn_sym(&child, "n"), tn_idx(&child, 1)), e);
    assert_int_equal(child.n, 0);
    const tn_expr *own = tn_mul(&child, e, n);
    assert_int_equal(own->id, w->pool.n);
    assert_int_equal(child.n, 1);
    tn_pool_init(&grandchild, &w->ctx, &arena, &child);
    assert_ptr_equal(tn_mul(&grandchild, n, e), own);
    assert_int_equal(tn_add(&grandchild, own, n)->id, w->pool.n + 1);
    tn_arena_deinit(&arena);
}

/* Builds sum of n leaves pairwise, with leaves made in an order that `seed` shuffles; prints it. */
static void sum_text(uint64_t seed, tn_buf *out)
{
    enum { N = 40 };
    tn_ctx ctx;
    tn_arena arena;
    tn_pool p;
    tn_rng r = {seed};
    char name[8];
    const tn_expr *leaf[N];
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&p, &ctx, &arena, NULL);
    for (uint64_t k = tn_rng_below(&r, 100); k > 0; k--)
        tn_idx(&p, (int64_t)tn_rng_below(&r, 1000) + 10);
    for (int k = 0, at = (int)tn_rng_below(&r, N); k < N; k++, at = (at + 7) % N) {
        snprintf(name, sizeof name, "n%d", at);
        leaf[at] = at % 5 == 4 ? tn_idx(&p, at) : tn_sym(&p, name);
    }
    for (int n = N; n > 1; n = (n + 1) / 2) {
        for (int k = 0; k < n / 2; k++) {
            bool swap = tn_rng_below(&r, 2);
            const tn_expr *pair[2] = {leaf[2 * k + swap], leaf[2 * k + 1 - swap]};
            leaf[k] = tn_expr_make(&p, k % 2 ? TN_E_ADD : TN_E_MUL, TN_IDX, (tn_payload){0}, 2, pair);
        }
        if (n % 2)
            leaf[n / 2] = leaf[n - 1];
    }
    tn_expr_print(leaf[0], NULL, out);
    tn_buf_printf(out, " %u", leaf[0]->hash);
    tn_arena_deinit(&arena);
    tn_ctx_deinit(&ctx);
}

static void commuting_order_is_independent_of_creation(void **state)
{
    (void)state;
    tn_buf first = {0};
    sum_text(0, &first);
    for (uint64_t seed = 1; seed < 200; seed++) {
        tn_buf b = {0};
        sum_text(seed, &b);
        assert_string_equal(b.at, first.at);
        tn_buf_deinit(&b);
    }
    tn_buf_deinit(&first);
}

static void constants_come_last(void **state)
{
    tn_pool *p = &((world *)*state)->pool;
    for (int64_t c = -20; c < 20; c++) {
        for (uint32_t v = 0; v < 10; v++) {
            const tn_expr *src[2] = {tn_idx(p, c), tn_var(p, TN_IDX, v)};
            assert_ptr_equal(tn_expr_make(p, TN_E_MUL, TN_IDX, (tn_payload){0}, 2, src)->src[1], src[0]);
        }
    }
}

/* ---- builders ---- */

static const tn_expr *build_again(tn_pool *p, const tn_expr *e, void *user)
{
    (void)user;
    return tn_rebuild(p, e, e->src);
}

static void builders_fold(void **state)
{
    static const struct {
        const char *build, *result, *want;
    } rows[] = {
        {"n + 0", "n", "index"},
        {"0 + n", "n", "index"},
        {"n*1", "n", "index"},
        {"n*0", "0", "index"},
        {"n - 0", "n", "index"},
        {"n - n", "0", "index"},
        {"n/1", "n", "index"},
        {"n%1", "0", "index"},
        {"n + 2 + 3", "n + 5", "index"},
        {"2*(n*3)", "n*6", "index"},
        {"n + 2 + -2", "n", "index"},
        {"7/2 + -7/2*10", "-37", "index"},
        {"-7 % 3", "2", "index"},
        {"5/0", "5/0", "index"},
        {"9223372036854775807 + 1", "9223372036854775807 + 1", "index"},
        {"n + 9223372036854775807 + 1", "n + 9223372036854775807 + 1", "index"},
        {"2147483647i32 + 1", "-2147483648i32", "i32"},
        {"v1 + 0", "v1 + 0f", "f32"},
        {"v1 + -0f", "v1", "f32"},
        {"v1 - 0f", "v1", "f32"},
        {"v1 * 1", "v1", "f32"},
        {"v1 * 0", "v1 * 0f", "f32"},
        {"v1 - v1", "v1 - v1", "f32"},
        {"v1 == v1", "v1 == v1", "bool"},
        {"v2 == v2", "true", "bool"},
        {"v3 and true", "v3", "bool"},
        {"v3 and false", "false", "bool"},
        {"v3 or false", "v3", "bool"},
        {"not not v3", "v3", "bool"},
        {"select(true, n, m)", "n", "index"},
        {"select(v3, n, n)", "n", "index"},
        {"sqrt(4f)", "2f", "f32"},
        {"exp(0f)", "exp(0f)", "f32"},
        {"i32(3.9)", "3i32", "i32"},
        {"bitcast(i32, 1f)", "1065353216i32", "i32"},
        {"f32(5)", "5f", "f32"},
        {"fma(2f, 3f, 1f)", "7f", "f32"},
        {"splat(2f, 4) * 3f", "splat(6f, 4)", "f32"},
        {"min(n, n)", "n", "index"},
        {"ramp(n, 0, 4)", "splat(n, 4)", "index"},
    };
    tn_pool *p = &((world *)*state)->pool;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_expr *e = parse_as(p, rows[i].build, named(rows[i].want));
        assert_non_null(e);
        assert_prints(tn_rewrite(p, e, build_again, NULL), rows[i].result);
    }
}

static void builders_splat_scalars(void **state)
{
    tn_pool *p = &((world *)*state)->pool;
    const tn_expr *x = tn_var(p, types[11], 11), *s = tn_var(p, TN_F32, 1), *c = tn_var(p, TN_BOOL1, 3);
    assert_prints(tn_sub(p, s, x), "splat(v1, 4) - v11");
    assert_prints(tn_select(p, c, x, s), "select(splat(v3, 4), v11, splat(v1, 4))");
    assert_prints(tn_lt(p, x, s), "v11 < splat(v1, 4)");
    assert_int_equal(tn_lt(p, x, s)->dtype.lanes, 4);
    assert_prints(tn_flt(p, types[11], 2), "splat(2f, 4)");
    assert_ptr_equal(tn_splat(p, s, 1), s);
    assert_prints(tn_ceildiv(p, tn_sym(p, "n"), 14), "ceildiv(n, 14)");
}

/* ---- walks ---- */

typedef struct counts {
    int visits;
    const tn_expr *last;
} counts;

static bool count(const tn_expr *e, void *user)
{
    counts *c = user;
    c->visits++;
    c->last = e;
    return c->visits < 1000000;
}

static const tn_expr *double_constants(tn_pool *p, const tn_expr *e, void *user)
{
    ++*(int *)user;
    return e->kind == TN_E_INT ? tn_idx(p, e->u.i * 2) : NULL;
}

static void walks_visit_a_dag_once(void **state)
{
    enum { DEPTH = 200000 };
    tn_pool *p = &((world *)*state)->pool;
    const tn_expr *e = tn_sym(p, "n"), *v = tn_var(p, TN_IDX, 0);
    for (int i = 0; i < DEPTH; i++) /* 2^DEPTH paths, DEPTH nodes */
        e = tn_expr_make(p, TN_E_ADD, TN_IDX, (tn_payload){0}, 2, (const tn_expr *const[]){e, e});
    counts c = {0};
    assert_true(tn_each(e, count, &c));
    assert_int_equal(c.visits, DEPTH + 1);
    assert_ptr_equal(c.last, e);
    assert_true(tn_uses(e, tn_sym(p, "n")));
    assert_false(tn_uses(e, v));
    int rules = 0;
    assert_ptr_equal(tn_rewrite(p, e, double_constants, &rules), e);
    assert_int_equal(rules, DEPTH + 1);
    const tn_expr *n = tn_sym(p, "n"), *zero = tn_idx(p, 0);
    assert_true(tn_is_value(tn_subst(p, e, 1, &n, &zero), 0));
    c = (counts){.visits = 999990};
    assert_false(tn_each(e, count, &c));
    assert_int_equal(c.visits, 1000000);
}

static void rewrite_sees_rewritten_operands(void **state)
{
    tn_pool *p = &((world *)*state)->pool;
    int rules = 0;
    assert_prints(tn_rewrite(p, parse(p, "(3 + n)*(3 + n) - 7/2"), double_constants, &rules),
                  "(n + 6)*(n + 6) - 14/4");
    assert_int_equal(rules, 8); /* 3, n, 3 + n, its square, 7, 2, 7/2, the difference */
}

static void subst_replaces_at_once(void **state)
{
    tn_pool *p = &((world *)*state)->pool;
    const tn_expr *n = tn_sym(p, "n"), *m = tn_sym(p, "m"), *from[2] = {n, m}, *to[2] = {m, n};
    assert_ptr_equal(tn_subst(p, parse(p, "n*2 - m"), 2, from, to), parse(p, "m*2 - n"));
    const tn_expr *i = tn_var(p, TN_IDX, 0), *lanes = tn_ramp(p, n, tn_idx(p, 1), 4);
    assert_prints(tn_subst(p, parse(p, "b1[v0*2] + v1"), 1, &i, &lanes),
                  "splat(v1, 4) + b1[ramp(n, 1, 4)*splat(2, 4)]");
    assert_true(tn_add(p, parse(p, "b0[n]"), n)->has_load);
    assert_false(parse(p, "n + 1")->has_load);
}

/* ---- text ---- */

static void text_reads_well(void **state)
{
    /* what is written, what is printed ("" the same) */
    static const struct {
        const char *text, *printed, *want;
    } rows[] = {
        {"(n + 1)*4 - (n - m)*2/n", "", "index"},
        {"n - (m - 1)", "", "index"},
        {"n - m - 1", "", "index"},
        {"n/4*4", "", "index"},
        {"n/(m*4)", "", "index"},
        {"n % 32", "n%32", "index"},
        {"ceildiv(n, 14)*8", "", "index"},
        {"(n + 13)/14", "ceildiv(n, 14)", "index"},
        {"n > m", "m < n", "bool"},
        {"v1 + 0", "v1 + 0f", "f32"},
        {"max(v1, 0)", "max(v1, 0f)", "f32"},
        {"0.5", "0.5f", "f32"},
        {"1e10f64", "10000000000f64", "f64"},
        {"-v1", "-0f - v1", "f32"},
        {"-n", "0 - n", "index"},
        {"- -5", "5", "index"},
        {"n - -5", "", "index"},
        {"-5*n", "n*-5", "index"},
        {"f32(inf)", "", "f32"},
        {"-inf", "f16(-inf)", "f16"},
        {"f32(n)", "", "f32"},
        {"f32x4(v12)", "", "f32"},
        {"f32(v12)", "f32x4(v12)", "f32"},
        {"shuffle(v11, 2:2)", "", "f32"},
        {"shuffle(v11, 1:2:2)", "", "f32"},
        {"shuffle(v11, 3)", "", "f32"},
        {"shuffle(v11, v11 * 2, 7, 0:3, 5)", "shuffle(v11, v11 * splat(2f, 4), 7, 0:3, 5)", "f32"},
        {"shuffle(v11, 0, 1, 2, 3)", "shuffle(v11, 0:4)", "f32"},
        {"shuffle(v11, 1:2:0) * 2f", "shuffle(v11, 1:2:0) * splat(2f, 2)", "f32"},
        {"b1[n*4 : 16]", "", "f32"},
        {"b1[ramp(n, 4, 8)]", "", "f32"},
        {"b1[]", "", "f32"},
        {"(b1[n] mask n < m else 1)", "(b1[n] mask n < m else 1f)", "f32"},
        {"(b1[n] mask v3)", "(b1[n] mask v3 else 0f)", "f32"},
        {"(b1[n : 4] mask ramp(n, 1, 4) < m else 0)",
         "(b1[n : 4] mask ramp(n, 1, 4) < splat(m, 4) else splat(0f, 4))", "f32"},
        {"select(v3, 1, v1)", "select(v3, 1f, v1)", "f32"},
        {"v11 * 2", "v11 * splat(2f, 4)", "f32"},
        {"shl(v2, 3)", "shl(v2, 3i32)", "i32"},
        {"bitcast(i32, v1)", "", "i32"},
        {"pow(v1, 2)", "pow(v1, 2f)", "f32"},
        {"isnan(v1) == true", "isnan(v1) == true", "bool"},
        {"0x10", "16", "index"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_expr *e = parse_as(&w->pool, rows[i].text, named(rows[i].want));
        assert_prints(e, *rows[i].printed ? rows[i].printed : rows[i].text);
    }
}

static void bad_text_is_refused(void **state)
{
    static const struct {
        const char *text, *id, *want;
    } rows[] = {
        {"", "ir-E001", "index"},
        {"n +", "ir-E001", "index"},
        {"(n", "ir-E001", "index"},
        {"n < m < 3", "ir-E001", "bool"},
        {"n m", "ir-E001", "index"},
        {"q", "ir-E003", "index"},
        {"q[1]", "ir-E003", "index"},
        {"n[1]", "ir-E001", "index"},
        {"frob(1)", "ir-E003", "index"},
        {"%", "ir-E001", "index"},
        {"v1 + v2", "ir-E005", "f32"},
        {"v1 % 2", "ir-E005", "f32"},
        {"v1 + n", "ir-E005", "f32"},
        {"n + 1.5", "ir-E005", "index"},
        {"n + true", "ir-E005", "index"},
        {"v5 + 256", "ir-E005", "u8"},
        {"v5 + -1", "ir-E005", "u8"},
        {"1 and v3", "ir-E005", "bool"},
        {"-v3", "ir-E005", "bool"},
        {"exp(n)", "ir-E005", "f32"},
        {"max(v1)", "ir-E001", "f32"},
        {"max(v1, 1, 2)", "ir-E001", "f32"},
        {"bitand(n, 1)", "ir-E005", "index"},
        {"bitcast(i64, v1)", "ir-E005", "i64"},
        {"bitcast(1, v1)", "ir-E006", "i64"},
        {"bitcast(i64, 1)", "ir-E005", "i64"},
        {"dot2bf(v1, v1, v1)", "ir-E005", "f32"},
        {"dot2bf(i32(v1), i32(v1), i32(v1))", "ir-E005", "i32"},
        {"dot2bf(v1, i32(v11), i32(v11))", "ir-E005", "f32"},
        {"dot4us(v1, i32(v1), i32(v1))", "ir-E005", "f32"},
        {"ramp(n, 1, 1)", "ir-E002", "index"},
        {"ramp(n, 1, 65536)", "ir-E002", "index"},
        {"ramp(v1, 1, 4)", "ir-E005", "f32"},
        {"splat(v11, 4)", "ir-E005", "f32"},
        {"shuffle(v1, 0)", "ir-E005", "f32"},
        {"shuffle(v11, v1, 0)", "ir-E005", "f32"},
        {"shuffle(v11)", "ir-E001", "f32"},
        {"shuffle(v11, 4)", "ir-E002", "f32"},
        {"shuffle(v11, 2:3)", "ir-E006", "f32"},
        {"b1[v1]", "ir-E005", "f32"},
        {"b1[n", "ir-E001", "f32"},
        {"(b1[n] mask n)", "ir-E005", "f32"},
        {"(b1[n] mask v3 else n)", "ir-E005", "f32"},
        {"(b1[n] mask ramp(n, 1, 4) < n)", "ir-E005", "f32"},
        {"select(n, 1, 2)", "ir-E005", "index"},
        {"select(ramp(n, 1, 4) < n, v11, splat(v1, 8))", "ir-E005", "f32"},
        {"ceildiv(n, 0)", "ir-E006", "index"},
        {"ceildiv(v1, 2)", "ir-E005", "f32"},
        {"1zz", "ir-E002", "index"},
        {"9223372036854775808", "ir-E002", "index"},
        {"0x10000000000000000", "ir-E002", "index"},
        {"n ? 1", "ir-E001", "index"},
        {"n + \x01", "ir-E002", "index"},
        {"true", NULL, "index"},
    };
    world *w = *state;
    tn_scope_fns scope = {find_name, find_buffer, &w->pool};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_lexer l;
        const tn_expr *e = NULL;
        tn_diag_clear(&w->ctx);
        tn_lex_init(&l, &w->ctx, "t", rows[i].text, strlen(rows[i].text), false);
        tn_status s = tn_expr_parse(&l, &w->pool, &scope, named(rows[i].want), &e);
        if (s == TN_OK && l.tok != TN_TOK_END)
            s = tn_lex_expected(&l, "the end");
        if ((s == TN_OK) != !rows[i].id ||
            (rows[i].id && (w->ctx.n_diag != 1 || strcmp(w->ctx.diag[0].id, rows[i].id) != 0)))
            fail_msg("%s: %s, not %s", rows[i].text, s ? w->ctx.diag[0].id : "no error",
                     rows[i].id ? rows[i].id : "well");
    }
}

static void nesting_is_bounded(void **state)
{
    world *w = *state;
    static const char *const open[] = {"-(", "-", "not ", "max(n, ", "b0[", "f32("};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        tn_buf b = {0};
        for (int k = 0; k < 100000; k++)
            tn_buf_str(&b, open[i]);
        tn_lexer l;
        const tn_expr *e;
        tn_scope_fns scope = {find_name, find_buffer, &w->pool};
        tn_diag_clear(&w->ctx);
        tn_lex_init(&l, &w->ctx, "t", b.at, b.n, false);
        assert_int_equal(tn_expr_parse(&l, &w->pool, &scope, TN_IDX, &e), TN_FAIL);
        assert_string_equal(w->ctx.diag[0].id, "ir-E004");
        tn_buf_deinit(&b);
    }
    tn_buf b = {0}; /* long is not deep */
    tn_buf_str(&b, "n");
    for (int k = 0; k < 20000; k++)
        tn_buf_printf(&b, " - %d", k);
    assert_prints(parse(&w->pool, b.at), b.at);
    tn_buf_clear(&b); /* parentheses may be as deep as the operators that need them */
    for (int k = 0; k < 20000; k++)
        tn_buf_printf(&b, "%d - (", k);
    tn_buf_str(&b, "n - 1");
    for (int k = 0; k < 20000; k++)
        tn_buf_str(&b, ")");
    assert_prints(parse(&w->pool, b.at), b.at);
    tn_buf_deinit(&b);
}

/* ---- random expressions ---- */

typedef struct gen {
    tn_pool *p;
    tn_rng rng;
} gen;

static uint32_t pick(gen *g, uint32_t n) { return (uint32_t)tn_rng_below(&g->rng, n); }

static const tn_expr *random_expr(gen *g, tn_dtype t, int depth);

static const tn_expr *random_leaf(gen *g, tn_dtype t)
{
    static const double reals[] = {0.0,   -0.0,     1,         -1.5, 0.1,     1e30,   -1e-30,
                                   65504, INFINITY, -INFINITY, NAN,  3.0e-45, 1e-310, 16777217};
    static const int64_t wholes[] = {0,   1,         -1,        7,         127,       -128,
                                     255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 65536};
    tn_dtype one = tn_dtype_lanes(t, 1);
    if (t.lanes > 1)
        return tn_splat(g->p, random_leaf(g, one), t.lanes);
    if (tn_dtype_is_index(t) && pick(g, 3) == 0)
        return tn_sym(g->p, pick(g, 2) ? "n" : "m2");
    if (pick(g, 2)) {
        uint32_t k = pick(g, N_TYPES);
        while (!tn_dtype_eq(types[k % N_TYPES], t))
            k++;
        return tn_var(g->p, t, k + N_TYPES * pick(g, 3));
    }
    if (tn_dtype_is_float(t) && pick(g, 3) == 0) /* any bits */
        return tn_flt(g->p, t, ldexp(tn_rng_unit(&g->rng) - 0.5, (int)pick(g, 300) - 150));
    if (tn_dtype_is_float(t))
        return tn_flt(g->p, t, reals[pick(g, sizeof reals / sizeof *reals)]);
    return tn_int(g->p, t, wholes[pick(g, sizeof wholes / sizeof *wholes)]);
}

static const tn_expr *random_node(gen *g, enum tn_ek k, tn_dtype t, tn_payload u, int n, const tn_dtype in[],
                                  int depth)
{
    const tn_expr *src[8];
    for (int i = 0; i < n; i++)
        src[i] = random_expr(g, in[i], depth - 1);
    return tn_expr_make(g->p, k, t, u, n, src);
}

static const tn_expr *random_load(gen *g, tn_dtype t, int depth)
{
    uint32_t buffer = 0;
    tn_dtype in[5], index = tn_dtype_lanes(pick(g, 4) ? TN_IDX : TN_I32, 1);
    while (!tn_dtype_eq(types[buffer % N_SCALARS], tn_dtype_lanes(t, 1)))
        buffer++;
    bool gather = t.lanes > 1 && pick(g, 2);
    int n = gather ? 1 + (int)pick(g, 2) : (int)pick(g, 4);
    for (int i = 0; i < n; i++)
        in[i] = gather ? tn_dtype_lanes(index, t.lanes) : index;
    bool masked = pick(g, 2);
    in[n] = tn_dtype_lanes(TN_BOOL1, t.lanes);
    in[n + 1] = t;
    return random_node(g, TN_E_LOAD, t, (tn_payload){.load = {buffer, (uint32_t)n}}, masked ? n + 2 : n, in,
                       depth);
}

static const tn_expr *random_shuffle(gen *g, tn_dtype t, int depth)
{
    char lane[8];
    int n = 1 + (int)pick(g, 2), step = (int)pick(g, 4);
    for (int i = 0; i < t.lanes; i++)
        lane[i] = (char)(1 + (step ? (i * step + 1) % (4 * n) : (int)pick(g, 4 * (uint32_t)n)));
    tn_dtype in = tn_dtype_lanes(t, 4);
    tn_payload u = {.lanes = tn_intern_n(g->p->ctx, lane, t.lanes)};
    return random_node(g, TN_E_SHUFFLE, t, u, n, (tn_dtype[]){in, in}, depth);
}

static const tn_expr *random_bool(gen *g, tn_dtype t, int depth)
{
    static const enum tn_ek logic[] = {TN_E_AND, TN_E_OR, TN_E_NOT, TN_E_EQ, TN_E_NE};
    static const enum tn_ek order[] = {TN_E_EQ, TN_E_NE, TN_E_LT, TN_E_LE};
    tn_dtype x = tn_dtype_lanes(types[pick(g, N_SCALARS)], t.lanes), in[2] = {x, x};
    if (pick(g, 8) == 0)
        return random_node(g, TN_E_CALL, t, (tn_payload){.call = {.id = TN_F_isnan}}, 1,
                           (tn_dtype[]){tn_dtype_lanes(TN_F32, t.lanes)}, depth);
    if (tn_dtype_is_bool(x) || pick(g, 3) == 0) {
        enum tn_ek k = logic[pick(g, 5)];
        return random_node(g, k, t, (tn_payload){0}, tn_eks[k].nsrc, (tn_dtype[]){t, t}, depth);
    }
    return random_node(g, order[pick(g, 4)], t, (tn_payload){0}, 2, in, depth);
}

static const tn_expr *random_number(gen *g, tn_dtype t, int depth)
{
    static const enum tn_ek any[] = {TN_E_ADD, TN_E_SUB, TN_E_MUL, TN_E_MIN, TN_E_MAX};
    static const enum tn_ek real[] = {TN_E_DIV, TN_E_FMA};
    static const enum tn_ek whole[] = {TN_E_FLOORDIV, TN_E_FLOORMOD, TN_E_TRUNCDIV, TN_E_TRUNCMOD};
    static const enum tn_ek bits[] = {TN_E_BITAND, TN_E_BITOR, TN_E_BITXOR, TN_E_SHL, TN_E_SHR};
    tn_dtype in[3] = {t, t, t};
    enum tn_ek k = any[pick(g, 5)];
    if (pick(g, 5) == 0 && !tn_dtype_is_float(t) && t.bits > 8)
        return tn_ceildiv(g->p, random_expr(g, t, depth - 1), 1 + pick(g, 9));
    if (pick(g, 2) && tn_dtype_is_float(t))
        k = real[pick(g, 2)];
    else if (pick(g, 2) && tn_dtype_is_int(t))
        k = bits[pick(g, 5)];
    else if (pick(g, 2) && !tn_dtype_is_float(t))
        k = whole[pick(g, 4)];
    if (tn_dtype_is_float(t) && pick(g, 4) == 0) {
        uint32_t f = pick(g, TN_F_isnan);
        return random_node(g, TN_E_CALL, t, (tn_payload){.call = {.id = f}}, tn_intrins[f].nargs, in, depth);
    }
    return random_node(g, k, t, (tn_payload){0}, tn_eks[k].nsrc, in, depth);
}

static const tn_expr *random_expr(gen *g, tn_dtype t, int depth)
{
    tn_dtype one = tn_dtype_lanes(t, 1), from = tn_dtype_lanes(types[pick(g, N_SCALARS)], t.lanes);
    if (depth <= 0 || pick(g, 8) == 0)
        return random_leaf(g, t);
    switch (pick(g, 8)) {
    case 0: return random_load(g, t, depth);
    case 1:
        return random_node(g, TN_E_SELECT, t, (tn_payload){0}, 3,
                           (tn_dtype[]){tn_dtype_lanes(TN_BOOL1, t.lanes), t, t}, depth);
    case 2:
        if (!tn_dtype_eq(from, t))
            return random_node(g, TN_E_CAST, t, (tn_payload){0}, 1, &from, depth);
        break;
    case 3:
        if (pick(g, 4) == 0)
            return random_shuffle(g, t, depth);
        if (t.lanes > 1 && (tn_dtype_is_int(t) || tn_dtype_is_index(t)) && pick(g, 2))
            return random_node(g, TN_E_RAMP, t, (tn_payload){0}, 2, (tn_dtype[]){one, one}, depth);
        if (t.lanes > 1)
            return random_node(g, TN_E_SPLAT, t, (tn_payload){0}, 1, &one, depth);
        if (tn_dtype_eq(t, TN_F32))
            return random_node(g, TN_E_BITCAST, t, (tn_payload){0}, 1, (tn_dtype[]){TN_I32}, depth);
        break;
    default: break;
    }
    return tn_dtype_is_bool(t) ? random_bool(g, t, depth) : random_number(g, t, depth);
}

static void printed_expressions_read_back(void **state)
{
    world *w = *state;
    uint64_t printed = 0, kinds = 0;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        gen g = {&w->pool, {seed}};
        tn_dtype t = tn_dtype_lanes(types[pick(&g, N_SCALARS)], pick(&g, 3) ? 1 : 4);
        const tn_expr *e = random_expr(&g, t, 1 + (int)pick(&g, 5));
        tn_buf b = {0};
        tn_expr_print(e, NULL, &b);
        const tn_expr *back = parse_as(&w->pool, b.at, t);
        if (back != e)
            fail_msg("seed %llu: %s", (unsigned long long)seed, b.at);
        printed += b.n;
        kinds |= UINT64_C(1) << e->kind;
        tn_buf_deinit(&b);
    }
    assert_true(printed > 500000);
    assert_int_equal(kinds, (UINT64_C(1) << TN_E_COUNT) - 1); /* every kind occurred */
}

/* Damaged text: an error, reported once, or an expression that prints and reads back; never a failed assertion. */
static void damaged_text_is_refused_or_read(void **state)
{
    static const char *const scraps[] = {
        "(",     ")",    "[",      "]",     ",",      " : 4",   "-",
        "not ",  "1",    "1f",     "v3",    "v11",    "b0[",    "f32(",
        "i8(",   "max(", "splat(", "ramp(", " mask ", " else ", "bitcast(i32, ",
        " and ", " < ",  "/",      "%",     "n",      "inf",    "u64"};
    world *w = *state;
    tn_scope_fns scope = {find_name, find_buffer, &w->pool};
    int read = 0;
    for (uint64_t seed = 0; seed < 30000; seed++) {
        gen g = {&w->pool, {seed}};
        tn_dtype t = tn_dtype_lanes(types[pick(&g, N_SCALARS)], pick(&g, 3) ? 1 : 4);
        tn_buf a = {0}, b = {0};
        tn_expr_print(random_expr(&g, t, 1 + (int)pick(&g, 3)), NULL, &a);
        size_t at = pick(&g, (uint32_t)a.n + 1), drop = pick(&g, 4), from = at + drop < a.n ? at + drop : a.n;
        tn_buf_add(&b, a.at, at);
        tn_buf_str(&b, scraps[pick(&g, sizeof scraps / sizeof *scraps)]);
        tn_buf_add(&b, a.at + from, a.n - from);
        tn_lexer l;
        const tn_expr *e = NULL;
        tn_diag_clear(&w->ctx);
        tn_lex_init(&l, &w->ctx, "t", b.at, b.n, false);
        if (tn_expr_parse(&l, &w->pool, &scope, t, &e) == TN_OK) {
            tn_buf_clear(&a);
            tn_expr_print(e, NULL, &a);
            assert_ptr_equal(parse_as(&w->pool, a.at, tn_dtype_lanes(e->dtype, 1)), e);
            read++;
        } else {
            assert_int_equal(w->ctx.n_diag, 1);
        }
        tn_buf_deinit(&a);
        tn_buf_deinit(&b);
    }
    assert_true(read > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_means_same_pointer, enter, leave),
        cmocka_unit_test_setup_teardown(a_child_pool_finds_its_parents_expressions, enter, leave),
        cmocka_unit_test(commuting_order_is_independent_of_creation),
        cmocka_unit_test_setup_teardown(constants_come_last, enter, leave),
        cmocka_unit_test_setup_teardown(builders_fold, enter, leave),
        cmocka_unit_test_setup_teardown(builders_splat_scalars, enter, leave),
        cmocka_unit_test_setup_teardown(walks_visit_a_dag_once, enter, leave),
        cmocka_unit_test_setup_teardown(rewrite_sees_rewritten_operands, enter, leave),
        cmocka_unit_test_setup_teardown(subst_replaces_at_once, enter, leave),
        cmocka_unit_test_setup_teardown(text_reads_well, enter, leave),
        cmocka_unit_test_setup_teardown(bad_text_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(nesting_is_bounded, enter, leave),
        cmocka_unit_test_setup_teardown(printed_expressions_read_back, enter, leave),
        cmocka_unit_test_setup_teardown(damaged_text_is_refused_or_read, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
