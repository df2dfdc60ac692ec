#ifndef TN_TUNE_ROWS_H
#define TN_TUNE_ROWS_H
/* What models of run times are fitted to. */
#include <stdint.h>

typedef enum tn_loss {
    TN_LOSS_SQUARES, /* a model says the numbers themselves */
    TN_LOSS_PAIRS,   /* it only puts the rows of a group in order */
    TN_LOSS_GOOD, /* only the good ones before the others: those at least half as good as the best of the group */
    TN_N_LOSSES
} tn_loss;

typedef struct tn_rows {
    uint32_t n, n_feature;
    const float *x;        /* row by row; no NaN */
    const double *y;       /* what is to be said of each; the larger, the better */
    uint32_t n_group;      /* rows of a group stand together; 0: all are one */
    const uint32_t *group; /* how many each has */
} tn_rows;

#endif
