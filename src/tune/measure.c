/* The parent's side of a measurer: it keeps workers busy, and replaces those that a candidate ended. */
#include "tune/worker.h"

#include "base/process.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOOK_MS = 20, PROBE_RUNS = 5 };

/* A trial that a worker has, first come first. */
typedef struct queued {
    tn_job job;
    char *trace;
} queued;

typedef struct worker {
    tn_resource *process; /* NULL: there is none */
    int fd;
    uint32_t n;
    queued queue[TN_MEASURE_QUEUE];
    double since; /* the first of them has been at work */
    size_t got;   /* bytes of its answer */
    tn_trial answer;
} worker;

struct tn_measurer {
    tn_worker_setup setup;
    tn_resource *memory; /* of setup.shared */
    uint32_t n;
    worker worker[TN_MOST_WORKERS];
};

/* ---- workers ---- */

static void unmap(tn_resource *r) { munmap(r->at, r->n); }

static int share(tn_measurer *m)
{
    pthread_mutexattr_t a;
    m->memory = tn_resource_new(unmap);
    void *at = mmap(NULL, sizeof(tn_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return errno;
    m->memory->at = m->setup.shared = at;
    m->memory->n = sizeof(tn_shared);
    int error = pthread_mutexattr_init(&a);
    if (error)
        return error;
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    error = pthread_mutex_init(&m->setup.shared->timing, &a);
    for (int i = 0; i < TN_MOST_WORKERS && !error; i++)
        error = pthread_mutex_init(&m->setup.shared->compiling[i], &a);
    pthread_mutexattr_destroy(&a);
    return error;
}

static int start(tn_measurer *m, worker *w)
{
    int error;
    w->process = tn_process_begin(&(tn_process_work){tn_worker_serve, &m->setup, 0}, &w->fd, &error);
    w->got = 0;
    return error;
}

tn_measurer *tn_measurer_new(const tn_measure_options *o, uint32_t n, const tn_workload workload[],
                             int *out_error)
{
    tn_measurer *m = tn_alloc_array(1, sizeof *m);
    unsigned cpus = tn_cpu_count();
    uint32_t workers = o->workers ? o->workers : cpus > 1 && o->threads == 1 ? 2 : 1;
    m->setup = (tn_worker_setup){.o = *o, .n = n, .workload = workload};
    m->n = workers > TN_MOST_WORKERS ? TN_MOST_WORKERS : workers;
    *out_error = share(m);
    for (uint32_t i = 0; i < m->n && !*out_error; i++)
        *out_error = start(m, &m->worker[i]);
    if (!*out_error)
        return m;
    tn_measurer_end(m);
    return NULL;
}

void tn_measurer_end(tn_measurer *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        tn_resource_end(m->worker[i].process);
        for (uint32_t k = 0; k < m->worker[i].n; k++)
            tn_free(m->worker[i].queue[k].trace);
    }
    tn_resource_end(m->memory);
    tn_free(m);
}

/* ---- trials ---- */

uint32_t tn_measurer_room(const tn_measurer *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        n += TN_MEASURE_QUEUE - m->worker[i].n;
    return n;
}

/* A worker that is gone is noticed where its answer is waited for. */
static void send_job(worker *w, const queued *q)
{
    if (w->process && tn_job_write(w->fd, &q->job, sizeof q->job))
        (void)tn_job_write(w->fd, q->trace, q->job.n);
}

static void give(tn_measurer *m, worker *w, const tn_candidate *c, uint32_t flags)
{
    queued *q = &w->queue[w->n];
    size_t n = strlen(c->trace);
    q->job = (tn_job){c->workload, flags, (uint32_t)(w - m->worker), c->number, c->rival, n};
    q->trace = memcpy(tn_alloc(n + 1), c->trace, n + 1);
    if (w->n++ == 0)
        w->since = tn_now();
    send_job(w, q);
}

void tn_measurer_add(tn_measurer *m, const tn_candidate *c)
{
    worker *w = &m->worker[0];
    for (uint32_t i = 1; i < m->n; i++)
        if (m->worker[i].n < w->n)
            w = &m->worker[i];
    TN_ASSERT(w->n < TN_MEASURE_QUEUE && c->workload < m->setup.n);
    give(m, w, c, c->check ? TN_JOB_CHECK : 0);
}

/* The first trial of w has ended. */
static void take(worker *w, tn_trial *out)
{
    *out = w->answer;
    tn_free(w->queue[0].trace);
    memmove(&w->queue[0], &w->queue[1], --w->n * sizeof w->queue[0]);
    w->since = tn_now();
    w->got = 0;
}

/* Its first trial ended w, or has to be ended with it. The others go to a new process. */
static void lose(tn_measurer *m, worker *w, enum tn_trial_fate fate, tn_trial *out)
{
    const tn_job *first = &w->queue[0].job;
    tn_resource_end(w->process);
    w->process = NULL;
    w->answer = (tn_trial){.workload = first->workload, .number = first->number, .fate = (uint8_t)fate};
    int error = start(m, w);
    if (error)
        snprintf(w->answer.why, sizeof w->answer.why, "no process can be started: %s", strerror(error));
    else
        snprintf(w->answer.why, sizeof w->answer.why,
                 fate == TN_TRIAL_ENDLESS ? "it did not end within %g s" : "it ended the process",
                 m->setup.o.most_seconds);
    take(w, out);
    for (uint32_t k = 0; k < w->n; k++)
        send_job(w, &w->queue[k]);
}

/* Reads what there is of the answer; true: the trial has ended. */
static bool receive(tn_measurer *m, worker *w, tn_trial *out)
{
    ssize_t k = w->process ? read(w->fd, (char *)&w->answer + w->got, sizeof w->answer - w->got) : 0;
    if (k == 0 || (k < 0 && errno != EINTR && errno != EAGAIN)) {
        lose(m, w, TN_TRIAL_CRASHED, out);
        return true;
    }
    w->got += k > 0 ? (size_t)k : 0;
    if (w->got < sizeof w->answer)
        return false;
    take(w, out);
    return true;
}

/* Of those that wait for each other only the time of one counts. */
static bool is_endless(const tn_measurer *m, const worker *w)
{
    return m->setup.o.most_seconds > 0 && tn_now() - w->since > m->setup.o.most_seconds * m->n;
}

bool tn_measurer_next(tn_measurer *m, tn_trial *out)
{
    for (;;) {
        struct pollfd p[TN_MOST_WORKERS];
        worker *of[TN_MOST_WORKERS];
        nfds_t n = 0;
        for (uint32_t i = 0; i < m->n; i++) {
            worker *w = &m->worker[i];
            if (!w->n)
                continue;
            if (!w->process && receive(m, w, out))
                return true;
            if (is_endless(m, w)) {
                lose(m, w, TN_TRIAL_ENDLESS, out);
                return true;
            }
            of[n] = w;
            p[n++] = (struct pollfd){.fd = w->fd, .events = POLLIN};
        }
        if (!n)
            return false;
        tn_poll_now();
        if (poll(p, n, LOOK_MS) <= 0)
            continue;
        for (nfds_t i = 0; i < n; i++)
            if (p[i].revents && receive(m, of[i], out))
                return true;
    }
}

/* ---- does the neighbour disturb? ---- */

static double best_of(tn_measurer *m, const tn_candidate *c, bool beside)
{
    double best = 0;
    for (int i = 0; i < PROBE_RUNS; i++) {
        tn_trial t;
        give(m, &m->worker[0], c, TN_JOB_ANY_TIME);
        for (int k = 0; k < TN_MEASURE_QUEUE && beside; k++)
            give(m, &m->worker[1], c, TN_JOB_ANY_TIME | TN_JOB_COMPILE_ONLY);
        while (tn_measurer_next(m, &t))
            if (t.runs && (best == 0 || t.median < best))
                best = t.median;
    }
    return best;
}

double tn_measurer_probe(tn_measurer *m, const tn_candidate *c, double most)
{
    if (m->n < 2)
        return 0;
    double alone = best_of(m, c, false), beside = best_of(m, c, true);
    double share = alone > 0 ? beside / alone - 1 : 0;
    atomic_store(&m->setup.shared->apart, share > most);
    return share;
}
