/* Who learns. */
#include "tune/model.h"

#include "base/alloc.h"
#include "tune/boost.h"
#include "tune/xgboost.h"

#include <string.h>

static const double GOOD = 0.5; /* of the best of a group, as AutoTVM has it */

typedef struct trees {
    tn_boost *b;
    uint32_t n_feature;
} trees;

static void *fit_trees(void *with, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY])
{
    (void)with;
    (void)why;
    const tn_boost_options o = {.rounds = TN_MODEL_ROUNDS,
                                .depth = TN_MODEL_DEPTH,
                                .least = TN_MODEL_LEAST,
                                .rate = TN_MODEL_RATE,
                                .shrink = TN_MODEL_SHRINK,
                                .loss = loss};
    trees *t = tn_alloc_array(1, sizeof *t);
    *t = (trees){tn_boost_fit(&o, r), r->n_feature};
    return t;
}

static bool predict_trees(void *model, uint32_t n, const float *x, double out[], char why[TN_MODEL_WHY])
{
    const trees *t = model;
    (void)why;
    for (uint32_t i = 0; i < n; i++)
        out[i] = tn_boost_predict(t->b, x + (size_t)i * t->n_feature);
    return true;
}

static void free_trees(void *model)
{
    trees *t = model;
    if (!t)
        return;
    tn_boost_free(t->b);
    tn_free(t);
}

/* Of each row 1 if it is good, else 0: between two that are both one order is as right as the other. */
static double *sides_of(const tn_rows *r)
{
    double *side = tn_alloc_array(r->n, sizeof *side);
    uint32_t n_group = r->n_group ? r->n_group : 1, first = 0;
    const uint32_t *group = r->n_group ? r->group : &r->n;
    for (uint32_t g = 0; g < n_group; first += group[g++]) {
        double best = 0;
        for (uint32_t i = first; i < first + group[g]; i++)
            best = r->y[i] > best ? r->y[i] : best;
        for (uint32_t i = first; i < first + group[g]; i++)
            side[i] = r->y[i] >= GOOD * best;
    }
    return side;
}

void *tn_model_fit(const tn_learner *by, void *with, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY])
{
    if (loss != TN_LOSS_GOOD)
        return by->fit(with, loss, r, why);
    tn_rows sides = *r;
    double *side = sides_of(r);
    sides.y = side;
    void *model = by->fit(with, TN_LOSS_PAIRS, &sides, why);
    tn_free(side);
    return model;
}

/* clang-format off */
const tn_learner tn_learners[] = {
    {"trees",   NULL,            fit_trees,      predict_trees,      free_trees}, /* boost.h */
    {"xgboost", tn_xgboost_open, tn_xgboost_fit, tn_xgboost_predict, tn_xgboost_free},
};
/* clang-format on */
const uint32_t tn_n_learners = sizeof tn_learners / sizeof *tn_learners;

const tn_learner *tn_learner_find(const char *name)
{
    for (uint32_t i = 0; i < tn_n_learners; i++)
        if (strcmp(tn_learners[i].name, name) == 0)
            return &tn_learners[i];
    return NULL;
}
