#ifndef TN_TUNE_MODEL_H
#define TN_TUNE_MODEL_H
/* Models of run times: who learns from rows, and says of others which are better. A row each (model.c). */
#include "tune/rows.h"

#include <stdbool.h>

enum { TN_MODEL_WHY = 400 };
typedef struct tn_learner {
    const char *name;
    /* What it works with, which the caller frees by tn_free when its models are gone. NULL: it cannot be had here; why
     * says what is missing and what to do. open NULL: it works with nothing. */
    void *(*open)(char why[TN_MODEL_WHY]);
    /* The caller frees the model. NULL: it failed, why says how; so with the other one. loss: squares or pairs
     * (tn_model_fit has the others). */
    void *(*fit)(void *with, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY]);
    bool (*predict)(void *model, uint32_t n, const float *x, double out[], char why[TN_MODEL_WHY]);
    void (*free)(void *model); /* NULL is allowed */
} tn_learner;
extern const tn_learner tn_learners[]; /* the first one is the default */
extern const uint32_t tn_n_learners;
const tn_learner *tn_learner_find(const char *name); /* NULL: none of that name */

/* As fit of `by`, with any loss: for TN_LOSS_GOOD it puts rows that are 1 or 0 in order. */
void *tn_model_fit(const tn_learner *by, void *with, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY]);

/* The parameters of all of them. */
enum { TN_MODEL_ROUNDS = 40, TN_MODEL_DEPTH = 5, TN_MODEL_LEAST = 2 /* rows of a leaf */ };
#define TN_MODEL_RATE 0.2
#define TN_MODEL_SHRINK 1.0

#endif
