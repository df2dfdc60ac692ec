#ifndef TN_FRONTEND_IMPORT_RANDOM_H
#define TN_FRONTEND_IMPORT_RANDOM_H
/* Random numbers: the same in every run. */
#include "frontend/import/convert.h"

/* A seed of its own for an operator that says none, made from the name of its result. */
int64_t imp_own_seed(const imp_node *c);
/* low and high of uniform numbers, which stay below; mean and deviation of normal ones. */
tn_value imp_random(imp_node *c, tn_dims shape, bool normal, double low, double high, int64_t seed,
                    tn_dtype t);
/* Bools, true with probability p, which is broadcast. */
tn_value imp_random_below(imp_node *c, tn_dims shape, tn_value p, int64_t seed);
/* Of rows of log-probabilities up to a summand, floats of 32 or 64 bits: that many classes of each row, int32.
 * The number of classes is known, or refused. */
tn_value imp_random_class(imp_node *c, tn_value rows, int64_t samples, int64_t seed);

#endif
