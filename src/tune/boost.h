#ifndef TN_TUNE_BOOST_H
#define TN_TUNE_BOOST_H
/* Boosted regression trees: a sum of small trees, each fitted to what those before it leave over (Friedman
 * 2001, "Greedy function approximation"; gradients and second derivatives of the loss, leaves shrunk and features cut
 * into bins as in Chen and Guestrin 2016, "XGBoost"). The same rows in the same order give the same trees.
 *
 * TN_LOSS_PAIRS: for two rows of a group, log(1 + exp(what is said of the worse - of the better one)), the mean over
 * the pairs of each row (Burges et al. 2005, "Learning to rank using gradient descent"). In a group of more than PAIRS
 * rows each is paired with about so many. Cost of a tree: n * min(PAIRS, n) besides that of its splits. */
#include "tune/rows.h"

typedef struct tn_boost_options {
    uint32_t rounds, depth; /* trees; splits from the root to a leaf, at most 8 */
    uint32_t least;         /* rows of a leaf */
    double rate;            /* how much of a tree counts */
    double shrink;          /* rows of value 0 that are added to each leaf */
    tn_loss loss;
} tn_boost_options;

typedef struct tn_boost tn_boost;
tn_boost *tn_boost_fit(const tn_boost_options *o, const tn_rows *r); /* the caller frees it */
double tn_boost_predict(const tn_boost *b, const float x[]);         /* of one row */
void tn_boost_free(tn_boost *b);                                     /* NULL is allowed */

#endif
