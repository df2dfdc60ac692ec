#ifndef TN_TUNE_GUIDE_H
#define TN_TUNE_GUIDE_H
/* What a search learns: features of the points that were tried and how good each was, and from these what is good among
 * points that were not. One model knows all tasks, whose rows are a group each; where the numbers of two tasks have
 * nothing in common, each has a model of its own. The same rows give the same models. */
#include "tune/feature_sets.h"
#include "tune/model.h"

typedef struct tn_guide_options {
    const tn_learner *learner;
    const tn_feature_set *features;
    tn_loss loss;
    uint32_t n_task; /* and groups of rows from elsewhere, which stand behind the tasks */
    uint32_t least;  /* rows that a model is fitted to */
} tn_guide_options;

typedef struct tn_guide tn_guide;
/* The caller frees it. NULL: the learner cannot be had, why says what to do. */
tn_guide *tn_guide_new(const tn_guide_options *o, char why[TN_MODEL_WHY]);
void tn_guide_free(tn_guide *g); /* NULL is allowed */
/* Features of a candidate of a task, in an arena; x->knobs is not looked at. */
const float *tn_guide_features(tn_guide *g, uint32_t task, const tn_featured *x, tn_arena *arena);
/* Forgets all rows; then those of each task come, task by task. y: of the task's fastest 1, of what has no time 0. */
void tn_guide_clear(tn_guide *g);
void tn_guide_add(tn_guide *g, uint32_t task, const float *feature, double y);
/* Fits the models to them. false: it failed. */
bool tn_guide_fit(tn_guide *g, char why[TN_MODEL_WHY]);
bool tn_guide_knows(const tn_guide *g, uint32_t task); /* there is a model */
/* How good each of n points is: the more, the better. false: it failed. */
bool tn_guide_judge(tn_guide *g, uint32_t task, uint32_t n, const float *const feature[], double out[],
                    char why[TN_MODEL_WHY]);

#endif
