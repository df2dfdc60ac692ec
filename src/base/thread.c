/* Parallel for: threads are started for one call and take indices from a shared counter. The compiler's units of
 * work (a kernel to compile, a candidate to measure) last milliseconds, so starting threads costs nothing. */
#include "base/thread.h"

#include "base/guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 256 };

typedef struct job {
    void (*fn)(void *user, size_t i, unsigned worker);
    void *user;
    size_t n;
    tn_heap *heap;
    atomic_size_t next;
    atomic_bool stop; /* a task raised, or was abandoned */
    pthread_mutex_t mutex;
    pthread_cond_t ended; /* one of the threads has, or was abandoned */
    unsigned n_ended;
} job;

typedef struct worker {
    job *job;
    unsigned id;
    size_t at; /* the index that it is at, or that raised */
    tn_raised raised;
    bool abandoned;
    pthread_t thread;
} worker;

/* Indices are taken in order, so whatever raises, those before it have begun. */
static void work(void *arg)
{
    worker *w = arg;
    job *j = w->job;
    while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        w->at = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (w->at >= j->n)
            return;
        tn_poll();
        j->fn(j->user, w->at, w->id);
    }
}

static void end(worker *w)
{
    pthread_mutex_lock(&w->job->mutex);
    w->job->n_ended++;
    pthread_cond_signal(&w->job->ended);
    pthread_mutex_unlock(&w->job->mutex);
}

static void *start(void *arg)
{
    worker *w = arg;
    w->raised = tn_protect(w->job->heap, work, w);
    if (w->raised.kind)
        atomic_store(&w->job->stop, true);
    end(w);
    return NULL;
}

_Noreturn void tn_thread_abandon(void)
{
    const tn_guard *g = tn_guard_get();
    while (g->outer)
        g = g->outer;
    worker *w = g->user;
    w->abandoned = true;
    atomic_store(&w->job->stop, true);
    end(w);
    for (;;)
        pause();
}

/* Starts workers first ... threads - 1; returns the number after the last. */
static unsigned start_all(job *j, worker w[], unsigned first, unsigned threads)
{
    unsigned n = first;
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    threads = threads > j->n ? (unsigned)j->n : threads;
    while (n < threads) {
        w[n] = (worker){.job = j, .id = n};
        if (pthread_create(&w[n].thread, NULL, start, &w[n]) != 0)
            break; /* the others take its share */
        n++;
    }
    return n;
}

/* Waits for all, and raises what the task with the least index raised. */
static void join_all(job *j, const worker w[], unsigned first, unsigned n)
{
    const worker *raised = NULL;
    pthread_mutex_lock(&j->mutex);
    while (j->n_ended < n)
        pthread_cond_wait(&j->ended, &j->mutex);
    pthread_mutex_unlock(&j->mutex);
    for (unsigned i = first; i < n; i++)
        if (w[i].abandoned)
            pthread_detach(w[i].thread);
        else
            pthread_join(w[i].thread, NULL);
    for (unsigned i = 0; i < n; i++)
        if (w[i].raised.kind && (!raised || w[i].at < raised->at))
            raised = &w[i];
    if (raised)
        tn_raise(raised->raised);
}

/* Runs the job on `apart` threads, or the caller and threads - 1. Returns how many there were; they have ended. */
static unsigned run(job *j, worker w[], unsigned threads, bool apart)
{
    const tn_guard *g = tn_guard_get();
    unsigned first = apart ? 0 : 1;
    j->heap = g ? g->heap : NULL;
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->ended, NULL);
    w[0] = (worker){.job = j};
    unsigned n = start_all(j, w, first, threads > first ? threads : 1);
    if (!apart)
        (void)start(&w[0]);
    join_all(j, w, first, n);
    return n;
}

void tn_parallel_for(size_t n, unsigned threads, void (*fn)(void *user, size_t i, unsigned worker),
                     void *user)
{
    worker w[THREADS_MAX];
    (void)run(&(job){.fn = fn, .user = user, .n = n}, w, threads, false);
}

bool tn_parallel_apart(size_t n, unsigned threads, void (*fn)(void *user, size_t i, unsigned worker),
                       void *user)
{
    worker w[THREADS_MAX];
    unsigned n_thread = run(&(job){.fn = fn, .user = user, .n = n}, w, threads, true);
    bool done = n_thread > 0 || n == 0;
    for (unsigned i = 0; i < n_thread; i++)
        done = done && !w[i].abandoned;
    return done;
}
