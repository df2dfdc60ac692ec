#ifndef TN_TUNE_BOOST_H
#define TN_TUNE_BOOST_H
/* Boosted regression trees: a sum of small trees, each fitted to what those before it leave over (Friedman
 * 2001, "Greedy function approximation"; squares of errors, leaves shrunk and features cut into bins as in
 * Chen and Guestrin 2016, "XGBoost"). The same rows in the same order give the same trees. */
#include <stdint.h>

typedef struct tn_boost_options {
    uint32_t rounds, depth; /* trees; splits from the root to a leaf, at most 8 */
    uint32_t least;         /* rows of a leaf */
    double rate;            /* how much of a tree counts */
    double shrink;          /* rows of value 0 that are added to each leaf */
} tn_boost_options;

typedef struct tn_boost tn_boost;
/* n rows of n_feature numbers (x, row by row; no NaN), and what is to be said of each. The caller frees it. */
tn_boost *tn_boost_fit(const tn_boost_options *o, uint32_t n, uint32_t n_feature, const float *x,
                       const double y[]);
double tn_boost_predict(const tn_boost *b, const float x[]); /* of one row */
void tn_boost_free(tn_boost *b);                             /* NULL is allowed */

#endif
