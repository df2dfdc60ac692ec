#ifndef TN_CLI_PROGRESS_H
#define TN_CLI_PROGRESS_H
/* One line on a terminal that says how far a compilation is. Elsewhere nothing is written: where standard error is no
 * terminal or a dumb one, and where the program's texts are printed as passes run. */
#include "tenon/tenon.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tn_progress {
    const char *model;
    tenon_options *options; /* that report here */
    pthread_t clock;        /* writes the line again now and then, for the seconds */
    pthread_mutex_t lock;   /* stages of several threads, and the clock */
    pthread_cond_t over;
    bool on, ended;
    uint64_t start, shown; /* nanoseconds; shown: when the line was last written, 0: never */
    const char *stage;
    uint32_t done, of;
    int columns, width; /* of the terminal; of the line as it stands */
    bool colour;
} tn_progress;

/* Lets the compiler report to p, which must live until tn_progress_end. Does nothing where nothing is to be shown. */
void tn_progress_begin(tn_progress *p, const char *model, tenon_options *o);
void tn_progress_end(tn_progress *p); /* erases the line; the options report no more */

#endif
