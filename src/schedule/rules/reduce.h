#ifndef TN_SCHEDULE_RULES_REDUCE_H
#define TN_SCHEDULE_RULES_REDUCE_H
/* A phase of rule reduce while its loops are made. Private to the rule. */
#include "schedule/rules/derive.h"

enum { REDUCE_CHAINS = 4 /* vectors in flight, so that the latency of one operation is hidden */ };

typedef struct rows {
    derive *d;
    const char *prefix; /* of loop names: each phase has its own */
    const char *row;    /* the loop around all of a task's row */
    int n_outer;        /* loops down to it */
    int64_t task_bytes; /* of a task, about */
    int64_t count;      /* how many rows; symbolic extents counted as 1 */
    bool beside;        /* a row is several vectors wide */
    bool alone;         /* nothing but a copy follows the reduction */
    bool pairs;         /* reductions of two elements each: vectors across rows */
    bool abreast;       /* each block of a task takes all its rows before the next block does */
    int lanes;          /* 1 + the iteration that runs in vectors; 0: what is contiguous says */
    const char *task;
    const char *comment; /* how the first reduction runs */
    /* steps for the end: copies of a loop make boxes that no other step understands */
    const char *peel[RULE_MAX_BLOCKS];
    int n_peel;
} rows;

/* The iteration along which a block should run in vectors; -1: none. pairs: where a reduction has two elements, its
 * rows are better. */
int rule_vector_iter(derive *d, const tn_stmt *b, bool pairs);
/* The nest of a block inside the row: the loops below w->n_outer. */
void rule_nest_in_row(rows *w, const char *block, const char *prefix);
/* Names the loops over rows of a reduction that moved into the task, where blocks are abreast; w then stands inside its
 * row. */
void rule_enter_row(rows *w, const char *block, const char *prefix);

#endif
