/* Equality of functions: what differs in any one thing is not the same, what reads the same is, in any pool. */
#include "tir_random.h"

static const char base[] = "func @f(A: f32[n, 64], B: f32[64]) -> (C: f32[n, 64]) {\n"
                           "  symbols n in [1, 100]\n"
                           "  buffer t: f32[64]\n"
                           "  for i < n, j < 64, k < 4:\n"
                           "    block c(i: spatial, j: spatial, k: reduce) mask j < 60 tag \"dense\":\n"
                           "      init C[i, j] = 0\n"
                           "      C[i, j] = C[i, j] + A[i, j]*2f\n"
                           "  for j < 64:\n"
                           "    if j < 3:\n"
                           "      t[j] = B[j]\n"
                           "    else:\n"
                           "      let x: f32 = B[j]\n"
                           "      t[j] = x\n"
                           "    check 0 < n \"n is too small\"\n"
                           "}\n";

typedef struct {
    const char *from, *to;
} change;
static const change changes[] = {
    {"A: f32[n, 64]", "A: f32[n, 65]"},
    {"B: f32[64]", "B: f32[70]"},
    {"[1, 100]", "[0, 100]"},
    {"t: f32[64]", "t: f32[64] in local"},
    {"k < 4", "k < 5"},
    {"k: reduce", "k: spatial"},
    {"mask j < 60 ", ""},
    {"\"dense\"", "\"conv\""},
    {"block c(", "block d("},
    {"= 0\n", "= 1f\n"},
    {"*2f", "*3f"},
    {"if j < 3", "if j < 4"},
    {"t[j] = x", "t[0] = x"},
    {"too small", "too large"},
    {"  for j < 64:\n    if", "  parallel for j < 64:\n    if"},
    {"t[j] = B[j]", "t[j] = B[0]"},
};

static const char *changed(fixture *x, const change *c)
{
    const char *at = strstr(base, c->from);
    assert_non_null(at);
    return tn_arena_printf(&x->arena, "%.*s%s%s", (int)(at - base), base, c->to, at + strlen(c->from));
}

static bool same(fixture *x, const char *a, const char *b, bool *out_hashes)
{
    tn_pool other;
    tn_pool_init(&other, &x->ctx, &x->arena, NULL);
    const tn_func *f = tn_func_canonical(read_func(x, a)), *g = tn_func_canonical(read_func(x, b));
    *out_hashes = tn_func_hash(f) == tn_func_hash(g);
    return tn_func_same(f, g, &other);
}

static void one_difference_is_enough(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    bool hashes;
    assert_true(same(&x, base, base, &hashes) && hashes);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (same(&x, base, changed(&x, &changes[i]), &hashes) || hashes)
            fail_msg("\"%s\" for \"%s\" is the same", changes[i].to, changes[i].from);
    fixture_deinit(&x);
}

/* A function, and what its text reads back to in a pool where its expressions have other numbers. */
static void texts_and_functions_agree(void **state)
{
    (void)state;
    for (int seed = 0; seed < 300; seed++) {
        fixture x;
        tn_pool other;
        tn_func *g = NULL;
        size_t n;
        fixture_init(&x);
        tn_pool_init(&other, &x.ctx, &x.arena, NULL);
        for (int i = 0; i < seed; i++)
            (void)tn_idx(&other, i);
        tn_func *f = random_function(&x, (uint64_t)seed);
        const char *text = printed(&x, f);
        assert_int_equal(tn_func_parse(&x.ctx, &x.arena, &other, "t.tir", text, strlen(text), &g, 1, &n),
                         TN_OK);
        const tn_func *a = tn_func_canonical(f), *b = tn_func_canonical(g);
        assert_true(tn_func_hash(a) == tn_func_hash(b));
        assert_true(tn_func_same(a, b, &x.pool));
        fixture_deinit(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_difference_is_enough),
        cmocka_unit_test(texts_and_functions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
