#ifndef TNR_POOL_H
#define TNR_POOL_H
/* The process's thread pool. Any number of threads may hand in jobs at once; each works on its own job and
 * idle workers join whatever job has tasks left, so concurrent models share the workers and none waits for
 * another. */
#include "tenon/runtime.h"

#include <stdint.h>

enum { TNR_POOL_MAX = 256 }; /* threads, callers included */

/* Runs one task. member: 0 for the caller, else unique among the threads of this job, below its limit.
 * Returns 0 or a status; must not unwind. */
typedef int32_t tnr_task_fn(void *context, uint32_t task, uint32_t member);

/* Run tasks 0 .. n_task-1 on the caller and at most limit-1 workers; returns when all have ended.
 * A task that fails keeps others from being started; the status of the lowest failing task is returned, which
 * is the same one whatever the number of threads. May be called from within a task. Cannot fail itself:
 * without workers the caller does everything. */
int32_t tnr_pool_run(uint32_t n_task, uint32_t limit, tnr_task_fn *fn, void *context);

/* A run begins or ends: meanwhile workers wait for work more patiently before they sleep. */
void tnr_pool_busy(void);
void tnr_pool_idle(void);

#endif
