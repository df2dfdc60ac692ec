#ifndef TN_TUNE_WORKER_H
#define TN_TUNE_WORKER_H
/* The inside of a measurer: what it and its workers share. */
#include "tune/measure.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TN_MOST_WORKERS = 2 };
typedef struct tn_shared {                      /* memory of all processes */
    pthread_mutex_t timing;                     /* who times has it, and where `apart` says so, */
    pthread_mutex_t compiling[TN_MOST_WORKERS]; /* those of all others, too; who compiles has its own */
    atomic_bool apart;                          /* nobody compiles while another times */
} tn_shared;

enum tn_job_flags { TN_JOB_CHECK = 1, TN_JOB_COMPILE_ONLY = 2, TN_JOB_ANY_TIME = 4 };
/* A message to a worker; the trace follows, n bytes. It is answered by a tn_trial. */
typedef struct tn_job {
    uint32_t workload, flags, worker; /* worker: the number of the one that has it */
    uint64_t number;
    double rival;
    size_t n;
} tn_job;

typedef struct tn_worker_setup {
    tn_measure_options o;
    uint32_t n;
    const tn_workload *workload;
    tn_shared *shared;
} tn_worker_setup;

/* The child's work (tn_process_work.fn); user: a tn_worker_setup. */
void tn_worker_serve(void *user, int fd);
/* Reads or writes n bytes; false: the other end is gone. */
bool tn_job_read(int fd, void *at, size_t n);
bool tn_job_write(int fd, const void *at, size_t n);

#endif
