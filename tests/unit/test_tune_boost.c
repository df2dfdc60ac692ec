/* tune/boost: trees say what they were fitted to, and put rows that they have not seen in the right order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "base/rng.h"
#include "tune/boost.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { N = 600, N_FEATURE = 9, N_NEW = 200 };
static const tn_boost_options trees = {.rounds = 150, .depth = 5, .least = 2, .rate = 0.2, .shrink = 1};

typedef struct rows {
    float x[N][N_FEATURE];
    double y[N];
} rows;

/* Two features together, one alone; the others say nothing. Feature 8 is the same everywhere. */
static void make(rows *r, uint64_t seed)
{
    tn_rng rng = {seed};
    for (int i = 0; i < N; i++) {
        for (int f = 0; f < N_FEATURE; f++)
            r->x[i][f] = f == 8 ? 3 : (float)(tn_rng_below(&rng, 1000) / 100.0);
        r->y[i] =
            (r->x[i][0] > 5 ? r->x[i][1] : 10 - r->x[i][1]) + 0.3 * r->x[i][4] + 0.2 * tn_rng_unit(&rng);
    }
}

static double rank(const double v[], int n, int i)
{
    double r = 0;
    for (int k = 0; k < n; k++)
        r += v[k] < v[i];
    return r;
}

/* Spearman's. */
static double correlation(const double a[], const double b[], int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double d = rank(a, n, i) - rank(b, n, i);
        sum += d * d;
    }
    return 1 - 6 * sum / ((double)n * ((double)n * n - 1));
}

static void new_rows_come_in_order(void **state)
{
    (void)state;
    static rows seen, fresh;
    double said[N_NEW];
    make(&seen, 1);
    make(&fresh, 2);
    tn_boost *b = tn_boost_fit(&trees, &(tn_rows){N, N_FEATURE, seen.x[0], seen.y, 0, NULL});
    for (int i = 0; i < N_NEW; i++)
        said[i] = tn_boost_predict(b, fresh.x[i]);
    assert_true(correlation(said, fresh.y, N_NEW) > 0.95);
    tn_boost_free(b);
}

static void a_fit_repeats(void **state)
{
    (void)state;
    static rows seen;
    make(&seen, 3);
    tn_boost *a = tn_boost_fit(&trees, &(tn_rows){N, N_FEATURE, seen.x[0], seen.y, 0, NULL});
    tn_boost *b = tn_boost_fit(&trees, &(tn_rows){N, N_FEATURE, seen.x[0], seen.y, 0, NULL});
    for (int i = 0; i < N; i++)
        assert_true(tn_boost_predict(a, seen.x[i]) == tn_boost_predict(b, seen.x[i]));
    tn_boost_free(a);
    tn_boost_free(b);
}

/* One row, rows that are all the same, a value that is missing nowhere: the mean. */
static void few_rows_give_their_mean(void **state)
{
    (void)state;
    const float x[] = {1, 2, 1, 2, 1, 2};
    const double y[] = {4, 5, 9};
    for (uint32_t n = 1; n <= 3; n++) {
        double mean = 0;
        tn_boost *b = tn_boost_fit(&trees, &(tn_rows){n, 2, x, y, 0, NULL});
        for (uint32_t i = 0; i < n; i++)
            mean += y[i] / n;
        assert_true(fabs(tn_boost_predict(b, x) - mean) < 1e-9);
        tn_boost_free(b);
    }
    tn_boost_free(NULL);
}

/* A step between two values is found where it is, also between neighbours of float32. */
static void cuts_lie_between_values(void **state)
{
    (void)state;
    const float low = 1, high = nextafterf(1, 2), x[] = {low, high, low, high, low, high, low, high};
    const double y[] = {0, 1, 0, 1, 0, 1, 0, 1};
    tn_boost *b = tn_boost_fit(&trees, &(tn_rows){8, 1, x, y, 0, NULL});
    assert_true(tn_boost_predict(b, &low) < 0.05 && tn_boost_predict(b, &high) > 0.95);
    tn_boost_free(b);
}

/* One split, and numbers that floats hold exactly: the mean, then half of what is left over. */
static void a_sum_by_hand(void **state)
{
    (void)state;
    const tn_boost_options o = {.rounds = 2, .depth = 1, .least = 1, .rate = 0.5};
    const float x[] = {1, 1, 2, 2};
    const double y[] = {0, 0, 2, 2};
    tn_boost *b = tn_boost_fit(&o, &(tn_rows){4, 1, x, y, 0, NULL});
    assert_true(tn_boost_predict(b, &x[0]) == 1 - 0.5 - 0.25);
    assert_true(tn_boost_predict(b, &x[3]) == 1 + 0.5 + 0.25);
    tn_boost_free(b);
}

/* Of two rows the better one is pushed up as far as the other one down: by a half of 1 / (1 / 4). */
static void a_pair_by_hand(void **state)
{
    (void)state;
    const tn_boost_options o = {.rounds = 1, .depth = 1, .least = 1, .rate = 0.5, .loss = TN_LOSS_PAIRS};
    const float x[] = {1, 2};
    const double y[] = {3, 7};
    tn_boost *b = tn_boost_fit(&o, &(tn_rows){2, 1, x, y, 0, NULL});
    assert_true(tn_boost_predict(b, &x[0]) == -1 && tn_boost_predict(b, &x[1]) == 1);
    tn_boost_free(b);
}

enum { N_GROUP = 6 };
static const uint32_t group[N_GROUP] = {10, 90, 250, 0, 150, 100};

static void pairs_order_new_rows(void **state)
{
    (void)state;
    static rows seen, fresh;
    double said[N_NEW];
    tn_boost_options o = trees;
    o.loss = TN_LOSS_PAIRS;
    make(&seen, 4);
    make(&fresh, 5);
    for (uint32_t g = 0, i = 0; g < N_GROUP; g++) /* what groups have in common is the order alone */
        for (uint32_t k = 0; k < group[g]; k++, i++)
            seen.y[i] = exp(seen.y[i] / (1 + g)) + 1000 * (g % 3);
    tn_boost *b = tn_boost_fit(&o, &(tn_rows){N, N_FEATURE, seen.x[0], seen.y, N_GROUP, group});
    for (int i = 0; i < N_NEW; i++)
        said[i] = tn_boost_predict(b, fresh.x[i]);
    assert_true(correlation(said, fresh.y, N_NEW) > 0.9);
    tn_boost_free(b);
}

/* Numbers that have the same order in each group give the same trees, bit for bit. */
static void pairs_see_the_order_alone(void **state)
{
    (void)state;
    static rows seen;
    static double other[N];
    tn_boost_options o = trees;
    o.loss = TN_LOSS_PAIRS;
    o.rounds = 20;
    make(&seen, 6);
    for (uint32_t g = 0, i = 0; g < N_GROUP; g++)
        for (uint32_t k = 0; k < group[g]; k++, i++)
            other[i] = 3 * seen.y[i] - 100 * g;
    tn_boost *a = tn_boost_fit(&o, &(tn_rows){N, N_FEATURE, seen.x[0], seen.y, N_GROUP, group});
    tn_boost *b = tn_boost_fit(&o, &(tn_rows){N, N_FEATURE, seen.x[0], other, N_GROUP, group});
    for (int i = 0; i < N; i++)
        assert_true(tn_boost_predict(a, seen.x[i]) == tn_boost_predict(b, seen.x[i]));
    tn_boost_free(a);
    tn_boost_free(b);
}

/* Where nothing is better than another row, nothing is said. */
static void equal_rows_have_no_order(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3};
    const double y[] = {5, 5, 5};
    tn_boost_options o = trees;
    o.loss = TN_LOSS_PAIRS;
    for (uint32_t n = 1; n <= 3; n++) {
        tn_boost *b = tn_boost_fit(&o, &(tn_rows){n, 1, x, y, 0, NULL});
        assert_true(tn_boost_predict(b, x) == 0);
        tn_boost_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows_come_in_order),
        cmocka_unit_test(a_fit_repeats),
        cmocka_unit_test(few_rows_give_their_mean),
        cmocka_unit_test(cuts_lie_between_values),
        cmocka_unit_test(a_sum_by_hand),
        cmocka_unit_test(a_pair_by_hand),
        cmocka_unit_test(pairs_order_new_rows),
        cmocka_unit_test(pairs_see_the_order_alone),
        cmocka_unit_test(equal_rows_have_no_order),
    };
    return cmocka_run_group_tests_name("tune_boost", tests, NULL, NULL);
}
