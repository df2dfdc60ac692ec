/* What schedules and lowering write, and what must become of it: bindings of split and fused loops, layouts,
 * flattened offsets, masks and padding. */
#include "test_arith_text.h"

typedef struct row {
    const char *loops, *assumed, *before, *after;
} row;

static const row rows[] = {
    /* layouts: c = co*16 + ci */
    {"co<4, ci<16", NULL, "(co*16 + ci)/16", "co"},
    {"co<4, ci<16", NULL, "(co*16 + ci)%16", "ci"},
    {"co<4, ci<16", NULL, "(co*16 + ci)/32*2 + (co*16 + ci)%32/16", "co"},
    {"co<4, ci<16", NULL, "(co*16 + ci)/8", "co*2 + ci/8"},
    {"co<C/16, ci<16", NULL, "(co*16 + ci)/16*16 + (co*16 + ci)%16", "co*16 + ci"},
    /* bindings of a fused loop */
    {"task<40, ii<14, jv<2, ji<16", NULL, "(task%8*32 + jv*16 + ji)/32", "task%8"},
    {"task<40, ii<14, jv<2, ji<16", NULL, "(task%8*32 + jv*16 + ji)%32", "jv*16 + ji"},
    {"task<40, ii<14, jv<2, ji<16", NULL, "(task%8*32 + jv*16 + ji)/16", "task%8*2 + jv"},
    {"task<40, ii<14, jv<2, ji<16", NULL, "task/8*14 + ii - task/8*14", "ii"},
    {"task<8", NULL, "task/8", "0"},
    {"task<8", NULL, "task%8", "task"},
    {"task<40", NULL, "task/8/5", "0"},
    {"i<5, j<8", NULL, "(i*8 + j)/8*8 + (i*8 + j)%8", "i*8 + j"},
    {"i<5, j<8, k<4", NULL, "((i*8 + j)*4 + k)/4%8", "j"},
    {"i<5, j<8, k<4", NULL, "((i*8 + j)*4 + k)/32", "i"},
    {"i<5, j<8, k<4", NULL, "((i*8 + j)*4 + k)%32/4", "j"},
    {"i<1, j<8", NULL, "i*8 + j", "j"},
    /* digits of an iteration number, taken apart and put together */
    {"f<1000", NULL, "f/100*100 + f/10%10*10 + f%10", "f"},
    {"f<24", NULL, "(f/12*3 + f/4%3)*4 + f%4", "f"},
    {"f<n*12", NULL, "(f/12*3 + f/4%3)*4 + f%4", "f"},
    {"i<6, j<10", NULL, "(i*10 + j)/5*5 + (i*10 + j)%5", "i*10 + j"},
    /* reshapes and flattened offsets with symbolic extents */
    {"i<n, j<m", NULL, "(i*m + j)/m", "i"},
    {"i<n, j<m", NULL, "(i*m + j)%m", "j"},
    {"i<n, j<m, k<7", NULL, "((i*m + j)*7 + k)/7%m", "j"},
    {"i<n, j<m, k<7", NULL, "((i*m + j)*7 + k)/(m*7)", "i"},
    {"i<n, y<h/2 + 1", NULL, "(i*(h/2 + 1) + y)/(h/2 + 1)", "i"},
    {"f<n*(h/2 + 1)", NULL, "f/(h/2 + 1)*(h/2 + 1) + f%(h/2 + 1)", "f"},
    {"i<n", NULL, "(i + 1)*m*4 - i*m*4", "m*4"},
    {"i<n, y<h, x<w", NULL, "((i*h + y)*w + x)/(h*w)", "i"},
    {"i<n, y<h, x<w", NULL, "((i*h + y)*w + x)%(h*w)", "y*w + x"},
    {"i<n, y<h, x<w", NULL, "((i*h + y)*w + x)/w%h", "y"},
    {"f<n*h*w", NULL, "(f/(h*w)*h + f%(h*w)/w)*w + f%w", "f"},
    {"f<n*h*w", NULL, "f%(h*w)/w*w + f%w", "f%(h*w)"},
    {"f<n*h*4", NULL, "f/4%h*4 + f%4", "f%(h*4)"},
    /* tails */
    {"t<ceildiv(n, 14)", NULL, "min(t*14 + 14, n) - t*14", "min(14, n - t*14)"},
    {"t<4", NULL, "min(t*14 + 14, 56) - t*14", "14"},
    {"t<9", NULL, "min(t*16, 160)", "t*16"},
    {"", NULL, "ceildiv(n, 16)*16 - n", "15 - (n + 15)%16"},
    {"", NULL, "ceildiv(n*32, 16)", "n*2"},
    /* masks that hold */
    {"t<ceildiv(n, 14), ii<14", "t*14 + 14 <= n", "t*14 + ii < n", "true"},
    {"task<ceildiv(n, 14)*8, ii<14", "task/8*14 + 14 <= n", "task/8*14 + ii < n", "true"},
    {"task<ceildiv(n, 14)*8, ii<14", "task/8*14 + 14 <= n", "n < task/8*14 + ii or ii == 14", "false"},
    {"task<ceildiv(n, 14)*8", NULL, "task/8 < ceildiv(n, 14)", "true"},
    {"task<ceildiv(n, 14)*8", NULL, "task/8*14 < n", "true"},
    {"task<ceildiv(n, 14)*8, ii<14", NULL, "task/8*14 + ii < n", "task/8*14 + ii < n"},
    {"t<n/16, ii<16", NULL, "t*16 + ii < n", "true"},
    {"t<ceildiv(n, 14), ii<min(14, n - t*14)", NULL, "t*14 + ii < n", "true"},
    {"i<n, j<m", NULL, "i*m + j < n*m", "true"},
    {"t<9", "t < n*h*6", "t/6/h < n and t/6%h < h", "true"}, /* h is not 0 where it divides */
    {"t<9", "t <= n*h*6", "t/6/h < n", "t < n*h*6"},
    {"i<n, y<h, x<w", NULL, "(i*h + y)*w + x < n*h*w", "true"},
    {"i<n, y<h, x<w", NULL, "0 <= (i*h + y)*w + x", "true"},
    /* divisible extents */
    {"", "n%16 == 0", "ceildiv(n, 16)", "n/16"},
    {"", "n%16 == 0", "n/16*16", "n"},
    {"", "n%16 == 0", "ceildiv(n, 16)*16 - n", "0"},
    {"", "n%16 == 0", "n*3%48 + n%8", "0"},
    {"", "n%16 == 3", "(n + 13)/16*16", "n + 13"},
    {"t<n/16, i<16", "n%16 == 0", "min(t*16 + 16, n)", "t*16 + 16"},
    {"i<n", NULL, "0 <= i and i < n", "true"},
    {"i<n", "n <= 64", "i < 64", "true"},
    {"i<n", "n == 1", "i", "0"},
    {"i<8", "i < 1", "i", "0"},
    {"i<n", "i < 5 and 3 < i", "i + n", "n + 4"},
    {"co<4, ci<16", NULL, "co*16 + ci < 64", "true"},
    {"co<4, ci<16", NULL, "co*16 + ci < 48", "co < 3"},
    {"co<C, ci<16", NULL, "co*16 + ci < C*16", "true"},
    /* padding */
    {"oh<112, kh<7", NULL, "0 <= oh*2 + kh - 3", "3 <= oh*2 + kh"},
    {"oh<112, kh<7", NULL, "oh*2 + kh - 3 < 224", "oh*2 + kh < 227"},
    {"oh<112, kh<7", "1 < oh", "0 <= oh*2 + kh - 3", "true"},
    {"oh<112, kh<7", "1 < oh and oh < 111", "0 <= oh*2 + kh - 3 and oh*2 + kh - 3 < 224", "true"},
    {"oh<112", NULL, "0 <= oh*2 - 1 and 1 <= oh", "1 <= oh"},
    {"y<56, x<56", NULL, "y*56 + x == 0", "y == 0 and x == 0"},
    {"y<56", NULL, "not(y < 3) and not(50 <= y)", "3 <= y and y < 50"},
    {"y<56", NULL, "y/8 < 3", "y < 24"},
    {"y<56", NULL, "3 <= y/8 and y < 24", "false"},
    /* minimum and maximum */
    {"i<14", NULL, "min(i, 20)", "i"},
    {"i<14", NULL, "max(min(i, 7), 9)", "9"},
    {"i<n", NULL, "min(i, n)", "i"},
    {"i<14", NULL, "max(i - 3, 0) + 3", "max(i - 3, 0) + 3"},
    {"i<14, j<5", NULL, "min(i + j, i) - i", "0"},
    /* select, conversions */
    {"i<14", NULL, "select(i < 14, i, 0)", "i"},
    {"i<14", NULL, "select(i < 7, i, 7)", "min(i, 7)"},
    {"i<14", NULL, "index(i32(i*4 + 3))", "i*4 + 3"},
    {"i<14", NULL, "i32(i64(i))", "i32(i)"},
    {"i<14", NULL, "i8(i32(i*1000))", "i8(i32(i*1000))"},
    /* vectors */
    {"j<4", NULL, "ramp(j*16, 1, 16) + splat(3, 16)", "ramp(j*16 + 3, 1, 16)"},
    {"j<4", NULL, "ramp(j*16, 1, 16)/16", "splat(j, 16)"},
    {"j<4", NULL, "ramp(j*16, 1, 16)%16", "ramp(0, 1, 16)"},
    {"j<4", NULL, "ramp(j*16, 1, 16)*4", "ramp(j*64, 4, 16)"},
    {"j<4", NULL, "ramp(j*16, 1, 16) < 64", "splat(true, 16)"},
    {"j<4", NULL, "ramp(j*16, 1, 16) < 65 and splat(j < 2, 16)", "splat(j < 2, 16)"},
    {"j<n", "j*16 + 16 <= n", "ramp(j*16, 1, 16) < n", "splat(true, 16)"},
    {"j<4", NULL, "ramp(j*16, 2, 8)/2", "ramp(j*8, 1, 8)"},
    {"j<4", NULL, "splat(1f, 16)*splat(f32(j), 16)", "splat(f32(j), 16)"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_world t;
        text_init(&t, rows[i].loops, rows[i].assumed);
        const tn_expr *e = text_parse(&t, rows[i].before), *want = text_parse(&t, rows[i].after);
        const tn_expr *got = tn_simplify(&t.w.pool, &t.w.facts, e);
        if (got != want && strcmp(text_print(&t, got), rows[i].after) != 0 &&
            got != tn_simplify(&t.w.pool, NULL, want)) /* the order of commuting operands is the pool's */
            fail_msg("%s [%s, %s]: got %s, not %s", rows[i].before, rows[i].loops,
                     rows[i].assumed ? rows[i].assumed : "", text_print(&t, got), rows[i].after);
        text_deinit(&t);
    }
}

/* ---- facts ---- */

static void test_facts_change(void **state)
{
    text_world t;
    (void)state;
    text_init(&t, "i<14", NULL);
    tn_pool *p = &t.w.pool;
    tn_facts *f = &t.w.facts;
    const tn_expr *small = text_parse(&t, "i < 10"), *n = text_parse(&t, "n");
    assert_int_equal(tn_prove(p, f, small), -1);
    tn_facts_mark mark = tn_facts_here(f);
    tn_facts_assume(f, text_parse(&t, "i < 8"));
    assert_int_equal(tn_prove(p, f, small), 1);
    tn_facts_assume(f, text_parse(&t, "n < i"));
    assert_int_equal(tn_bounds(f, t.var[0]).hi, 7);
    assert_int_equal(tn_prove(p, f, text_parse(&t, "n < 7")), 1);
    tn_facts_release(f, mark);
    assert_int_equal(tn_prove(p, f, small), -1);
    assert_int_equal(tn_bounds(f, t.var[0]).hi, 13);
    assert_int_equal(tn_prove(p, f, text_parse(&t, "n < 7")), -1);
    tn_facts_range(f, t.var[0], 10, 13);
    assert_int_equal(tn_prove(p, f, small), 0);
    tn_facts_loop(p, f, t.var[0], n);
    assert_int_equal(tn_prove(p, f, text_parse(&t, "i < n")), 1);
    tn_facts_loop(p, f, t.var[0], tn_idx(p, 9)); /* another loop over the same variable */
    assert_int_equal(tn_prove(p, f, small), 1);
    assert_int_equal(tn_prove(p, f, text_parse(&t, "i < n")), -1);
    text_deinit(&t);
}

static void test_no_facts(void **state)
{
    text_world t;
    (void)state;
    text_init(&t, "i<14", NULL);
    tn_pool *p = &t.w.pool;
    assert_int_equal(tn_prove(p, NULL, text_parse(&t, "0 < n")), -1); /* some symbols may be 0 */
    assert_int_equal(tn_prove(p, NULL, text_parse(&t, "0 <= n")), 1);
    assert_int_equal(tn_prove(p, NULL, text_parse(&t, "0 <= i")), -1);
    tn_range r = tn_bounds(NULL, text_parse(&t, "n*4 - 1"));
    assert_int_equal(r.lo, -1);
    assert_true(r.hi == 4 * INT64_C(0x7fffffff) - 1);
    assert_true(tn_bounds(NULL, t.var[0]).lo == INT64_MIN && tn_bounds(NULL, t.var[0]).hi == INT64_MAX);
    assert_true(tn_equal(p, NULL, text_parse(&t, "(i + n)*(i - n)"), text_parse(&t, "i*i - n*n")));
    assert_false(tn_equal(p, NULL, text_parse(&t, "i*2"), text_parse(&t, "i + n")));
    assert_false(tn_equal(p, NULL, text_parse(&t, "i32(i)"), text_parse(&t, "i")));
    text_deinit(&t);
}

/* ---- bounds ---- */

static void test_bounds(void **state)
{
    static const struct {
        const char *e;
        int64_t lo, hi;
    } bounds[] = {
        {"i", 0, 13},
        {"i*3 - j", -4, 39},
        {"i - i + j", 0, 4},
        {"(i*5 + j)/5", 0, 13},
        {"i%4", 0, 3},
        {"(i + 14)%28", 14, 27},
        {"(0 - i)/4", -4, 0},
        {"(0 - i)%4", 0, 3},
        {"min(i, j)", 0, 4},
        {"max(i - 20, j)", 0, 4},
        {"select(i < 3, i, 0 - j)", -4, 13},
        {"i*j", 0, 52},
        {"(i - 5)*(j - 2)", -16, 16},
        {"i/n", 0, 13},
        {"i%n", 0, 13},
        {"truncdiv(0 - i, 3)", -13, 13},
        {"index(i8(i32(i)))", 0, 13},
        {"index(i8(i32(i*100)))", -128, 127},
        {"index(u8(i32(i)*3i32))", 0, 39},
        {"index(bitand(i32(i), 7i32))", 0, 7},
        {"index(i < 3)", 0, 1},
        {"abs(i - 5)", 0, 8},
        {"min(i, 9) - min(i, 4)", 0, 5},
        {"max(i, 9) - max(i, 4) - j", -4, 5},
        {"i - min(i, 9)", 0, 4},
        {"n - min(n, 9)", 0, INT32_MAX - 9},
    };
    text_world t;
    (void)state;
    text_init(&t, "i<14, j<5", NULL);
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        tn_range r = tn_bounds(&t.w.facts, text_parse(&t, bounds[k].e));
        if (r.lo != bounds[k].lo || r.hi != bounds[k].hi)
            fail_msg("%s: [%lld, %lld]", bounds[k].e, (long long)r.lo, (long long)r.hi);
    }
    text_deinit(&t);
}

/* Of i nothing is known. */
static void test_unbounded(void **state)
{
    static const struct {
        const char *e;
        int64_t lo, hi;
    } bounds[] = {
        {"i - min(i, 4)", 0, INT64_MAX},
        {"min(i, 4) - i", INT64_MIN, 0},
        {"min(i, 4) - min(i, 9)", -5, 0},
        {"max(i, 9) - max(i, 4)", 0, 5},
        {"max(i, 4) - max(i, 9) + i", INT64_MIN, INT64_MAX},
        {"min(i, 4) - max(i, 9)", INT64_MIN, -5},
        {"min(i, 4) + max(i, 9) - i", 4, 9},
        {"min(i, 4)*3 - min(i, 9)*2", INT64_MIN, 4},
        {"min(i, 9000000000000000000) - min(i, -9000000000000000000)", INT64_MIN, INT64_MAX},
    };
    text_world t;
    (void)state;
    text_init(&t, "i<14", NULL);
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        tn_range r = tn_bounds(NULL, text_parse(&t, bounds[k].e));
        if (r.lo != bounds[k].lo || r.hi != bounds[k].hi)
            fail_msg("%s: [%lld, %lld]", bounds[k].e, (long long)r.lo, (long long)r.hi);
    }
    text_deinit(&t);
}

/* ---- floats keep every bit ---- */

static void test_floats(void **state)
{
    static const struct {
        const char *before, *after;
    } same[] = {
        {"f32(i)*1f", "f32(i)"},
        {"f32(i) + 0f", "f32(i) + 0f"},
        {"f32(i)*0f", "f32(i)*0f"},
        {"f32(i) - f32(i)", "f32(i) - f32(i)"},
        {"f32(i) + 1f + 2f", "f32(i) + 1f + 2f"},
        {"f32(i)/f32(i)", "f32(i)/f32(i)"},
        {"select(i < 14, f32(i), 0f)", "f32(i)"},
        {"not(f32(i) < f32(n))", "not(f32(i) < f32(n))"},
        {"select(f32(i) < f32(n), f32(i), f32(n))", "select(f32(i) < f32(n), f32(i), f32(n))"},
        {"f32(i + n - n)*2f", "f32(i)*2f"},
        {"f32(i) == f32(i)", "f32(i) == f32(i)"},
        {"max(f32(i), f32(i))", "f32(i)"},
    };
    text_world t;
    (void)state;
    text_init(&t, "i<14", NULL);
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        const tn_expr *got = tn_simplify(&t.w.pool, &t.w.facts, text_parse(&t, same[k].before));
        if (got != text_parse(&t, same[k].after))
            fail_msg("%s became %s", same[k].before, text_print(&t, got));
    }
    text_deinit(&t);
}

/* ---- hard shapes: deep, shared, huge ---- */

static void test_deep_and_shared(void **state)
{
    world w;
    (void)state;
    world_init(&w);
    tn_pool *p = &w.pool;
    const tn_expr *v = tn_var(p, TN_IDX, 0), *e = v, *m = v, *x = tn_var(p, TN_F32, 1), *y = x, *q = v;
    for (int i = 0; i < 20000; i++) {
        e = tn_expr_make(p, TN_E_ADD, TN_IDX, (tn_payload){0}, 2,
                         (const tn_expr *const[]){e, i % 2 ? v : tn_idx(p, 1)});
        m = tn_expr_make(p, TN_E_MIN, TN_IDX, (tn_payload){0}, 2,
                         (const tn_expr *const[]){m, tn_idx(p, 20000 - i)});
        y = tn_add(p, tn_mul(p, y, x), x);
    }
    for (int i = 0; i < 200; i++) /* 2^200 paths */
        q = tn_fdiv(p, tn_add(p, tn_mul(p, q, tn_idx(p, 3)), q), tn_idx(p, 3));
    assert_ptr_equal(tn_simplify(p, &w.facts, e),
                     tn_add(p, tn_mul(p, v, tn_idx(p, 10001)), tn_idx(p, 10000)));
    assert_ptr_equal(tn_simplify(p, &w.facts, m), tn_min(p, v, tn_idx(p, 1)));
    assert_ptr_equal(tn_simplify(p, &w.facts, y), y);
    assert_non_null(tn_simplify(p, NULL, q));
    tn_bounds(&w.facts, e);
    tn_bounds(&w.facts, q);
    world_deinit(&w);
}

static void test_huge_numbers(void **state)
{
    static const char *const texts[] = {
        "i*9223372036854775807 + i*9223372036854775807",
        "(i + 9223372036854775807)/2",
        "i*4611686018427387904*4",
        "i + 9223372036854775807 < j - 9223372036854775807",
        "(i*9223372036854775807)%9223372036854775807",
        "i/0x8000000000000000",
        "i%0x8000000000000000",
        "(i - 9223372036854775807 - 5)/9223372036854775807",
        "min(i + 9223372036854775807, j - 9223372036854775807)",
        "i*i*i*i*i*i*i*i*i*i*i*i*i*i*i*i*i*i*i*i*i",
        "(i + j + 1)*(i + j + 2)*(i + j + 3)*(i + j + 4)*(i + j + 5)*(i + j + 6)*(i + j + 7)",
        "i/0",
        "i%0",
        "5/0 < i",
    };
    text_world t;
    (void)state;
    text_init(&t, "i<14, j<5", NULL);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const tn_expr *e = text_parse(&t, texts[k]), *s = tn_simplify(&t.w.pool, &t.w.facts, e);
        point at = {{t.var[0], t.var[1]}, {13, 4}, 2};
        tn_scalar a, b;
        if (eval_at(e, &at, &a) && (!eval_at(s, &at, &b) || a.i != b.i))
            fail_msg("%s became %s", texts[k], text_print(&t, s));
    }
    text_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_facts_change),
        cmocka_unit_test(test_no_facts),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_unbounded),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_deep_and_shared),
        cmocka_unit_test(test_huge_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
