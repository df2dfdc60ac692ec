#ifndef TN_CLI_TUNE_REPORT_H
#define TN_CLI_TUNE_REPORT_H
/* What a search did, trial by trial, and the page of it. */
#include "cli/cli.h"
#include "tenon/tune.h"

typedef struct tn_tune_event { /* a trial that ended; the one of the built-in schedule is number 0 */
    uint32_t task, trial;
    double elapsed, seconds; /* seconds: that it took; 0: it has no time */
    double best, total;      /* of the task then; of all kernels */
} tn_tune_event;
typedef struct tn_tune_history {
    tn_tune_event *at;
    size_t n, room;
    bool lost; /* memory ran out */
} tn_tune_history;

void tn_tune_history_add(tn_tune_history *h, const tenon_tune_progress *p, double total);
void tn_tune_history_deinit(tn_tune_history *h);
/* Writes the page; an enum tn_exit. */
int tn_tune_report_write(const char *path, const char *model, const tn_tune_history *h, uint32_t n,
                         const tenon_tune_task *task);

#endif
