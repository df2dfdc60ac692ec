#ifndef TN_SCHEDULE_RULES_ELEMENTWISE_H
#define TN_SCHEDULE_RULES_ELEMENTWISE_H
/* A nest without a reduction while its loops are made. Private to rule elementwise. */
#include "schedule/rules/derive.h"

typedef struct nest {
    derive *d;
    tn_stmt *block;
    const char *prefix; /* of loop names */
    int n;              /* spatial loops */
    const char *name[TN_MAX_LOOPS];
    uint16_t lanes;
    uint32_t bytes;
    int64_t task_bytes;
    const char *outer[TN_MAX_LOOPS]; /* loops around the vectors, outermost first */
    int64_t extent[TN_MAX_LOOPS];    /* of these; -1: symbolic */
    int n_outer;
    int64_t inner;               /* results of one turn of the innermost outer loop */
    const char *vector, *unroll; /* loops, or NULL */
    const char *peel;            /* loop whose last turn is masked */
} nest;

void rule_push_outer(nest *x, const char *name, int64_t extent);
/* Loops in tiles, where the nest turns memory around; false: it does not, and nothing was done. */
bool rule_transpose_nest(nest *x);

#endif
