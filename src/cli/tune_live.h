#ifndef TN_CLI_TUNE_LIVE_H
#define TN_CLI_TUNE_LIVE_H
/* A search at work, on a terminal: a table of tasks that is drawn again in its place. */
#include "tenon/tune.h"

#include <stdio.h>

typedef struct tn_tune_live {
    FILE *to; /* the terminal; NULL: nothing is shown */
    const char *model;
    double seconds;  /* that the search has; 0: as long as its trials take */
    uint32_t trials; /* that it has; 0: as many as fit */
    double shown;    /* elapsed, then */
    int lines;       /* as they stand */
} tn_tune_live;

/* Draws the table, ten times a second at most. */
void tn_tune_live_show(tn_tune_live *l, const tenon_tune_progress *p);
void tn_tune_live_clear(tn_tune_live *l);

#endif
