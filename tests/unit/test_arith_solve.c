/* Questions about one variable: linear form, span, bounds solved from masks; affine forms by themselves. */
#include "test_arith_text.h"

static bool same(text_world *t, const tn_expr *got, const char *want)
{
    if (!got || strcmp(want, "none") == 0)
        return !got && strcmp(want, "none") == 0;
    const tn_expr *e = text_parse(t, want);
    return got == tn_simplify(&t->w.pool, &t->w.facts, e);
}

/* ---- tn_linear ---- */

static void test_linear(void **state)
{
    static const struct {
        const char *loops, *e, *coef, *rest;
    } rows[] = {
        /* in the last loop's variable; coef NULL: not linear */
        {"task<64, k<64, ji<16", "(task%8*64 + k)*32 + ji", "1", "task%8*2048 + k*32"},
        {"co<4, y<7, ci<16", "((co*16 + ci)/16*7 + y)*16 + (co*16 + ci)%16", "1", "co*112 + y*16"},
        {"i<n, j<m", "i*m + j*2 + 3", "2", "i*m + 3"},
        {"j<m, i<n", "i*m + j - i", "m - 1", "j"},
        {"j<m, i<n", "i*(m*7 + 1)*3", "m*21 + 3", "0"},
        {"i<n", "m*5", "0", "m*5"},
        {"i<16", "i%16 + i/16*4", "1", "0"},
        {"i<64", "i%16", NULL, NULL},
        {"i<64", "i*i", NULL, NULL},
        {"i<64", "min(i, n)", NULL, NULL},
        {"i<64", "i32(i)", NULL, NULL},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        text_world t;
        const tn_expr *coef = NULL, *rest = NULL;
        text_init(&t, rows[k].loops, NULL);
        bool ok = tn_linear(&t.w.pool, &t.w.facts, text_parse(&t, rows[k].e), t.var[t.n - 1], &coef, &rest);
        if (ok != (rows[k].coef != NULL) ||
            (ok && (!same(&t, coef, rows[k].coef) || !same(&t, rest, rows[k].rest))))
            fail_msg("%s: %s, %s", rows[k].e, text_print(&t, coef), text_print(&t, rest));
        text_deinit(&t);
    }
}

/* ---- tn_affine ---- */

static void test_affine(void **state)
{
    text_world t;
    tn_affine a;
    (void)state;
    text_init(&t, "i<14, j<5", NULL);
    tn_pool *p = &t.w.pool;
    assert_true(tn_affine_of(p, text_parse(&t, "(i + 2)*3 - j*i + 4 - i"), &a));
    assert_int_equal(a.c, 10);
    assert_int_equal(a.n, 2);
    for (int k = 0; k < 2; k++)
        assert_int_equal(a.term[k].coef, a.term[k].atom == t.var[0] ? 2 : -1);
    assert_ptr_equal(tn_affine_expr(p, &a), tn_simplify(p, &t.w.facts, text_parse(&t, "i*2 - j*i + 10")));
    assert_true(tn_affine_of(p, text_parse(&t, "(i - j)*(i + j) - i*i + j*j"), &a));
    assert_int_equal(a.n, 0);
    assert_ptr_equal(tn_affine_expr(p, &a), tn_idx(p, 0));
    assert_false(tn_affine_of(p, text_parse(&t, "i*4611686018427387904*2"), &a));
    assert_false(tn_affine_of(p, text_parse(&t, "i32(i)"), &a));
    const tn_expr *many = tn_idx(p, 0);
    for (uint32_t k = 0; k <= TN_AFFINE_MAX; k++)
        many = tn_add(p, many, tn_var(p, TN_IDX, 100 + k));
    assert_false(tn_affine_of(p, many, &a));
    assert_true(tn_affine_of(p, text_parse(&t, "0 - i - 5"), &a));
    assert_string_equal(text_print(&t, tn_affine_expr(p, &a)), "i*-1 - 5");
    assert_true(tn_affine_of(p, text_parse(&t, "7 - i - j*3"), &a));
    assert_string_equal(text_print(&t, tn_affine_expr(p, &a)), "7 - j*3 - i");
    text_deinit(&t);
}

/* ---- tn_span ---- */

typedef struct span_row {
    const char *loops;
    int inner;
    const char *e, *lo, *hi;
} span_row; /* the last `inner` loops run */

static const span_row spans[] = {
    {"task<64, ii<14", 1, "task/8*14 + ii", "task/8*14", "task/8*14 + 13"},
    {"task<64, jv<2, ji<16", 2, "task%8*32 + jv*16 + ji", "task%8*32", "task%8*32 + 31"},
    {"task<64, jv<2, ji<16", 2, "(task%8*32 + jv*16 + ji)/32", "task%8", "task%8"},
    {"oh<112, oi<4, kh<7", 2, "(oh*4 + oi)*2 + kh - 3", "oh*8 - 3", "oh*8 + 9"},
    {"oh<112, oi<4", 1, "5 - oi", "2", "5"},
    {"i<n, j<m", 1, "i*m + j", "i*m", "i*m + m - 1"},
    {"j<m, i<n", 1, "i*m + j", "j", "(n - 1)*m + j"},
    {"i<8, j<5", 1, "(i*5 + j)/3", "i*5/3", "(i*5 + 4)/3"},
    {"i<8, j<5", 1, "max(i*5 + j - 3, 0)", "max(i*5 - 3, 0)", "max(i*5 + 1, 0)"},
    {"i<8, j<5", 1, "i", "i", "i"},
    {"i<8, j<5", 1, "j%3", NULL, NULL},
    {"i<8, j<5", 1, "j*j - j*3", NULL, NULL},
    {"i<8, j<5", 1, "j*(i - 3)", NULL, NULL},
    {"i<8, j<5", 1, "select(i < 3, j, 0)", NULL, NULL},
};

static void test_span(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof spans / sizeof *spans; k++) {
        text_world t;
        const tn_expr *extent[TEXT_VARS], *lo = NULL, *hi = NULL;
        text_init(&t, spans[k].loops, NULL);
        int first = t.n - spans[k].inner;
        for (int i = first; i < t.n; i++) {
            uint64_t at;
            extent[i] = tn_map_get(&t.w.facts.range, tn_map_key(t.var[i]), &at)
                            ? tn_idx(&t.w.pool, t.w.facts.at[at].hi + 1)
                            : NULL;
            for (size_t u = 0; u < t.w.facts.n_upper; u++)
                extent[i] = t.w.facts.upper[u].leaf == t.var[i]
                                ? tn_add(&t.w.pool, t.w.facts.upper[u].max, tn_idx(&t.w.pool, 1))
                                : extent[i];
        }
        bool ok = tn_span(&t.w.pool, &t.w.facts, text_parse(&t, spans[k].e), spans[k].inner, &t.var[first],
                          &extent[first], &lo, &hi);
        if (ok != (spans[k].lo != NULL) || (ok && (!same(&t, lo, spans[k].lo) || !same(&t, hi, spans[k].hi))))
            fail_msg("%s: %s .. %s", spans[k].e, text_print(&t, lo), text_print(&t, hi));
        text_deinit(&t);
    }
}

/* The extents given count, not what the facts happen to say. */
static void test_span_without_facts(void **state)
{
    text_world t;
    const tn_expr *lo, *hi, *sixteen;
    (void)state;
    text_init(&t, "x<64", NULL);
    tn_pool *p = &t.w.pool;
    sixteen = tn_idx(p, 16);
    const tn_expr *v = tn_var(p, TN_IDX, 9),
                  *e = tn_fmod(p, tn_add(p, tn_mul(p, t.var[0], sixteen), v), sixteen);
    assert_true(tn_span(p, NULL, e, 1, &v, &sixteen, &lo, &hi));
    assert_true(tn_is_value(lo, 0) && tn_is_value(hi, 15));
    text_deinit(&t);
}

/* ---- tn_solve_bounds ---- */

typedef struct solve_row {
    const char *loops, *cond, *var, *lo, *hi, *rest;
} solve_row;

static const solve_row solves[] = {
    {"oh<112, kh<7", "0 <= oh*2 + kh - 3 and oh*2 + kh - 3 < 224", "kh", "3 - oh*2", "227 - oh*2", "none"},
    {"oh<112, kh<7", "0 <= oh*2 + kh - 3 and oh*2 + kh - 3 < 224", "oh", "(4 - kh)/2", "(226 - kh)/2 + 1",
     "none"},
    {"oh<56, kh<3", "0 <= oh + kh*2 - 2 and oh + kh*2 - 2 < 56", "kh", "(3 - oh)/2", "(57 - oh)/2 + 1",
     "none"},
    {"oh<56, kh<3", "0 <= oh + kh*2 - 2 and oh + kh*2 - 2 < 56", "oh", "2 - kh*2", "58 - kh*2", "none"},
    {"ow<W, kw<3", "0 <= ow + kw - 1 and ow + kw - 1 < W", "kw", "1 - ow", "W - ow + 1", "none"},
    {"ow<W, kw<3", "0 <= ow + kw - 1 and ow + kw - 1 < W", "ow", "1 - kw", "W - kw + 1", "none"},
    {"i<n", "i*s < m and 2 <= i", "i", "2", "(m - 1)/s + 1", "none"},
    {"i<64", "3 <= i and i < 20 and 5 <= i", "i", "5", "20", "none"},
    {"i<64, j<64", "3 <= i and j < 20 and i*j < 7", "i", "3", "none", "j < 20 and i*j < 7"},
    {"i<64, j<64", "i + j == 9", "i", "9 - j", "10 - j", "none"},
    {"i<64, j<64", "i*3 + j == 9", "i", "(9 - j)/3", "(9 - j)/3 + 1", "(9 - j)%3 == 0"},
    {"i<64, j<64", "i/4 + j < 9", "i", "none", "36 - j*4", "none"},
    {"i<64, j<64", "j <= i/4", "i", "j*4", "none", "none"},
    {"i<64, j<64", "i < min(j, n)", "i", "none", "min(j, n)", "none"},
    {"i<64", "i < 64 and 0 <= i", "i", "none", "none", "none"},
    {"i<64", "i%4 == 0 and i < 9", "i", "none", "9", "i%4 == 0"},
    {"i<64", "i < 3 or 7 < i", "i", "none", "none", "i < 3 or 7 < i"},
    {"i<64", "i < 0", "i", "none", "none", "false"},
};

static void test_solve(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof solves / sizeof *solves; k++) {
        const solve_row *r = &solves[k];
        text_world t;
        const tn_expr *lo, *hi, *rest;
        text_init(&t, r->loops, NULL);
        tn_solve_bounds(&t.w.pool, &t.w.facts, text_parse(&t, r->cond), text_parse(&t, r->var), &lo, &hi,
                        &rest);
        if (!same(&t, lo, r->lo) || !same(&t, hi, r->hi) || !same(&t, rest, r->rest))
            fail_msg("%s for %s: %s <= %s < %s, rest %s", r->cond, r->var, text_print(&t, lo), r->var,
                     text_print(&t, hi), text_print(&t, rest));
        text_deinit(&t);
    }
}

/* Convolution masks with every stride, dilation and padding: the solved bounds and the mask agree at each
 * point. */
static bool at_point(const tn_expr *e, const point *at, int64_t otherwise, int64_t *out)
{
    tn_scalar v = {.i = otherwise};
    bool ok = !e || eval_at(e, at, &v);
    *out = v.i;
    return ok;
}

static void check_masks(text_world *t, const tn_expr *cond, const tn_expr *var)
{
    const tn_expr *lo, *hi, *rest;
    tn_solve_bounds(&t->w.pool, &t->w.facts, cond, var, &lo, &hi, &rest);
    assert_true(!lo || !tn_uses(lo, var));
    assert_true(!hi || !tn_uses(hi, var));
    for (int64_t y = 0; y < 9; y++) {
        for (int64_t k = 0; k < 5; k++) {
            point at = {{t->var[0], t->var[1]}, {y, k}, 2};
            int64_t l = 0, h = 0, r = 0, v = var == t->var[0] ? y : k;
            tn_scalar m;
            assert_true(eval_at(cond, &at, &m) && at_point(lo, &at, -100, &l) && at_point(hi, &at, 100, &h) &&
                        at_point(rest, &at, 1, &r));
            if ((l <= v && v < h && r) != (m.i != 0))
                fail_msg("%s at %lld, %lld: %s .. %s, rest %s", text_print(t, cond), (long long)y,
                         (long long)k, text_print(t, lo), text_print(t, hi), text_print(t, rest));
        }
    }
}

static void test_masks(void **state)
{
    (void)state;
    for (int s = 1; s <= 3; s++) {
        for (int d = 1; d <= 3; d++) {
            for (int pad = 0; pad <= 4; pad++) {
                char text[200];
                text_world t;
                text_init(&t, "oh<9, kh<5", NULL);
                snprintf(text, sizeof text, "0 <= oh*%d + kh*%d - %d and oh*%d + kh*%d - %d < 8", s, d, pad,
                         s, d, pad);
                const tn_expr *cond = text_parse(&t, text);
                check_masks(&t, cond, t.var[0]);
                check_masks(&t, cond, t.var[1]);
                snprintf(text, sizeof text, "oh*%d + kh - %d == 4 and (oh + kh*%d)/%d < 3", s, pad, d, s + 1);
                cond = text_parse(&t, text);
                check_masks(&t, cond, t.var[0]);
                check_masks(&t, cond, t.var[1]);
                text_deinit(&t);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear), cmocka_unit_test(test_affine),
        cmocka_unit_test(test_span),   cmocka_unit_test(test_span_without_facts),
        cmocka_unit_test(test_solve),  cmocka_unit_test(test_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
