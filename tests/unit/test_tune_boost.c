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
    tn_boost *b = tn_boost_fit(&trees, N, N_FEATURE, seen.x[0], seen.y);
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
    tn_boost *a = tn_boost_fit(&trees, N, N_FEATURE, seen.x[0], seen.y);
    tn_boost *b = tn_boost_fit(&trees, N, N_FEATURE, seen.x[0], seen.y);
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
        tn_boost *b = tn_boost_fit(&trees, n, 2, x, y);
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
    tn_boost *b = tn_boost_fit(&trees, 8, 1, x, y);
    assert_true(tn_boost_predict(b, &low) < 0.05 && tn_boost_predict(b, &high) > 0.95);
    tn_boost_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows_come_in_order),
        cmocka_unit_test(a_fit_repeats),
        cmocka_unit_test(few_rows_give_their_mean),
        cmocka_unit_test(cuts_lie_between_values),
    };
    return cmocka_run_group_tests_name("tune_boost", tests, NULL, NULL);
}
