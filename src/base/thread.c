/* Parallel for: threads are started for one call and take indices from a shared counter. The compiler's units of
 * work (a kernel to compile, a candidate to measure) last milliseconds, so starting threads costs nothing. */
#include "base/thread.h"

#include "base/guard.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MAX = 256 };

typedef struct job {
    void (*fn)(void *user, size_t i, unsigned worker);
    void *user;
    size_t n;
    tn_heap *heap;
    atomic_size_t next;
    atomic_bool raised;
} job;

typedef struct worker {
    job *job;
    unsigned id;
    size_t at; /* the index that it is at, or that raised */
    tn_raised raised;
} worker;

/* Indices are taken in order, so whatever raises, those before it have begun. */
static void work(void *arg)
{
    worker *w = arg;
    job *j = w->job;
    while (!atomic_load_explicit(&j->raised, memory_order_relaxed)) {
        w->at = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (w->at >= j->n)
            return;
        tn_poll();
        j->fn(j->user, w->at, w->id);
    }
}

static void *start(void *arg)
{
    worker *w = arg;
    w->raised = tn_protect(w->job->heap, work, w);
    if (w->raised.kind)
        atomic_store(&w->job->raised, true);
    return NULL;
}

void tn_parallel_for(size_t n, unsigned threads, void (*fn)(void *user, size_t i, unsigned worker),
                     void *user)
{
    pthread_t thread[THREADS_MAX];
    worker w[THREADS_MAX];
    unsigned n_thread = 1; /* the caller is worker 0 */
    const tn_guard *here = tn_guard_get();
    job j = {.fn = fn, .user = user, .n = n, .heap = here ? here->heap : NULL};
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    threads = threads > n ? (unsigned)n : threads;
    w[0] = (worker){.job = &j};
    while (n_thread < threads) {
        w[n_thread] = (worker){.job = &j, .id = n_thread};
        if (pthread_create(&thread[n_thread], NULL, start, &w[n_thread]) != 0)
            break; /* the others take its share */
        n_thread++;
    }
    (void)start(&w[0]);
    const worker *first = &w[0];
    for (unsigned i = 1; i < n_thread; i++) {
        pthread_join(thread[i], NULL);
        if (w[i].raised.kind && (!first->raised.kind || w[i].at < first->at))
            first = &w[i];
    }
    if (first->raised.kind)
        tn_raise(first->raised);
}
