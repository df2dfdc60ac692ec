/* tune/model: who learns says much the same of the same rows, and a library that is not there is no crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "base/alloc.h"
#include "base/guard.h"
#include "base/rng.h"
#include "tune/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400, N_FEATURE = 6, N_NEW = 150, N_GROUP = 3 };
static const uint32_t group[N_GROUP] = {100, 0, 300};

typedef struct rows {
    float x[N][N_FEATURE];
    double y[N];
} rows;

/* As shares of the best speed are: above 0, at most 1. */
static void make(rows *r, uint64_t seed)
{
    tn_rng rng = {seed};
    for (int i = 0; i < N; i++) {
        for (int f = 0; f < N_FEATURE; f++)
            r->x[i][f] = (float)tn_rng_below(&rng, 12);
        double cost = 1 + fabs(r->x[i][0] - 5) + (r->x[i][1] > 6 ? 2 : 0) + 0.3 * r->x[i][2];
        r->y[i] = (1 - 0.05 * tn_rng_unit(&rng)) / cost;
    }
}

/* Spearman's, of numbers some of which may be equal. */
static double correlation(const double a[], const double b[], int n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < n; i++) {
        double x = 0, y = 0;
        for (int k = 0; k < n; k++) {
            x += (a[k] < a[i]) - (a[k] > a[i]);
            y += (b[k] < b[i]) - (b[k] > b[i]);
        }
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static void learn(const tn_learner *by, tn_loss loss, double said[N_NEW], double truth[N_NEW])
{
    static rows seen, fresh;
    char why[TN_MODEL_WHY] = "";
    make(&seen, 1);
    make(&fresh, 2);
    void *with = by->open ? by->open(why) : NULL;
    if (by->open && !with)
        fail_msg("%s", why);
    void *model =
        tn_model_fit(by, with, loss, &(tn_rows){N, N_FEATURE, seen.x[0], seen.y, N_GROUP, group}, why);
    if (!model || !by->predict(model, N_NEW, fresh.x[0], said, why))
        fail_msg("%s", why);
    by->free(model);
    by->free(NULL);
    tn_free(with);
    memcpy(truth, fresh.y, N_NEW * sizeof *truth);
}

/* libxgboost belongs to the packages of `tools/setup test`, but nothing else needs it. */
static bool is_there(const tn_learner *by)
{
    char why[TN_MODEL_WHY];
    void *with = by->open ? by->open(why) : NULL;
    tn_free(with);
    return !by->open || with;
}

static void new_rows_come_in_order(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_n_learners; i++)
        for (int loss = TN_LOSS_SQUARES; loss <= TN_LOSS_PAIRS && is_there(&tn_learners[i]); loss++) {
            double said[N_NEW], again[N_NEW], truth[N_NEW];
            learn(&tn_learners[i], (tn_loss)loss, said, truth);
            double r = correlation(said, truth, N_NEW);
            if (r < 0.9)
                fail_msg("%s, loss %d: rank correlation %g", tn_learners[i].name, loss, r);
            learn(&tn_learners[i], (tn_loss)loss, again, truth);
            assert_memory_equal(said, again, sizeof said);
        }
}

/* Good ones come before the others, whichever comes first among the good: half of the best of new rows is half of the
 * best that was learnt from. */
static void good_rows_come_first(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_n_learners && is_there(&tn_learners[i]); i++) {
        double said[N_NEW], again[N_NEW], truth[N_NEW];
        uint32_t right = 0, pairs = 0;
        learn(&tn_learners[i], TN_LOSS_GOOD, said, truth);
        for (int k = 0; k < N_NEW; k++)
            for (int l = 0; l < N_NEW; l++)
                if (truth[k] >= 0.5 && truth[l] < 0.5) {
                    pairs++;
                    right += said[k] > said[l];
                }
        if (right < 0.95 * pairs || pairs < N_NEW)
            fail_msg("%s: %u of %u pairs are in order", tn_learners[i].name, (unsigned)right,
                     (unsigned)pairs);
        learn(&tn_learners[i], TN_LOSS_GOOD, again, truth);
        assert_memory_equal(said, again, sizeof said);
    }
}

/* What is told of a row is its side alone, by the best of its own group. */
static void sides_are_those_of_groups(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6};
    const double y[] = {1, 0.5, 0.49, 0.2, 0.1, 0.09}, sides[] = {1, 1, 0, 1, 1, 0};
    const uint32_t groups[] = {3, 0, 3};
    for (uint32_t i = 0; i < tn_n_learners && is_there(&tn_learners[i]); i++) {
        const tn_learner *by = &tn_learners[i];
        char why[TN_MODEL_WHY];
        double a[6], b[6];
        void *with = by->open ? by->open(why) : NULL;
        void *m = tn_model_fit(by, with, TN_LOSS_GOOD, &(tn_rows){6, 1, x, y, 3, groups}, why);
        void *n = by->fit(with, TN_LOSS_PAIRS, &(tn_rows){6, 1, x, sides, 3, groups}, why);
        assert_true(m && n && by->predict(m, 6, x, a, why) && by->predict(n, 6, x, b, why));
        assert_memory_equal(a, b, sizeof a);
        assert_true(a[0] != a[5]);
        by->free(m);
        by->free(n);
        tn_free(with);
    }
}

static void xgboost_agrees_with_trees(void **state)
{
    (void)state;
    const tn_learner *xgboost = tn_learner_find("xgboost");
    if (!is_there(xgboost))
        skip();
    for (int loss = TN_LOSS_SQUARES; loss <= TN_LOSS_PAIRS; loss++) {
        double a[N_NEW], b[N_NEW], truth[N_NEW];
        learn(tn_learner_find("trees"), (tn_loss)loss, a, truth);
        learn(xgboost, (tn_loss)loss, b, truth);
        double r = correlation(a, b, N_NEW);
        if (r < 0.9)
            fail_msg("loss %d: rank correlation of the two %g", loss, r);
    }
}

static void few_rows_are_no_crash(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4};
    const double y[] = {1, 1};
    for (uint32_t i = 0; i < tn_n_learners; i++)
        for (int loss = TN_LOSS_SQUARES; loss < TN_N_LOSSES && is_there(&tn_learners[i]); loss++)
            for (uint32_t n = 1; n <= 2; n++) {
                const tn_learner *by = &tn_learners[i];
                char why[TN_MODEL_WHY];
                double said[2];
                void *with = by->open ? by->open(why) : NULL;
                void *model = tn_model_fit(by, with, (tn_loss)loss, &(tn_rows){n, 2, x, y, 0, NULL}, why);
                assert_non_null(model);
                assert_true(by->predict(model, n, x, said, why));
                assert_true(isfinite(said[0]) && said[0] == said[n - 1]);
                by->free(model);
                tn_free(with);
            }
}

/* A call that is ended while there is a model leaves nothing behind. */
static void end_early(void *user)
{
    const tn_learner *by = user;
    char why[TN_MODEL_WHY];
    const float x[] = {1, 2, 3, 4};
    const double y[] = {1, 2, 3, 4};
    void *with = by->open(why);
    (void)by->fit(with, TN_LOSS_SQUARES, &(tn_rows){4, 1, x, y, 0, NULL}, why);
}

static void an_end_frees_the_model(void **state)
{
    (void)state;
    const tn_learner *by = tn_learner_find("xgboost");
    if (!is_there(by))
        skip();
    for (int i = 0; i < 3; i++) {
        tn_heap heap;
        tn_heap_init(&heap);
        (void)tn_protect(&heap, end_early, (void *)(uintptr_t)by);
        tn_heap_end(&heap);
        tn_heap_free(&heap);
    }
}

static void what_is_no_library_is_told(void **state)
{
    (void)state;
    const tn_learner *by = tn_learner_find("xgboost");
    const char *was = getenv("TENON_XGBOOST");
    char *kept = was ? strdup(was) : NULL, why[TN_MODEL_WHY];
    setenv("TENON_XGBOOST", "/absent/libxgboost.so", 1);
    assert_null(by->open(why));
    assert_non_null(strstr(why, "cannot be opened: /absent/libxgboost.so"));
    setenv("TENON_XGBOOST", "libm.so.6", 1);
    assert_null(by->open(why));
    assert_non_null(strstr(why, "it has no "));
    if (kept)
        setenv("TENON_XGBOOST", kept, 1);
    else
        unsetenv("TENON_XGBOOST");
    free(kept);
    assert_null(tn_learner_find("mlp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows_come_in_order),     cmocka_unit_test(good_rows_come_first),
        cmocka_unit_test(sides_are_those_of_groups),  cmocka_unit_test(xgboost_agrees_with_trees),
        cmocka_unit_test(few_rows_are_no_crash),      cmocka_unit_test(an_end_frees_the_model),
        cmocka_unit_test(what_is_no_library_is_told),
    };
    return cmocka_run_group_tests_name("tune_model", tests, NULL, NULL);
}
