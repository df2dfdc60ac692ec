/* Parallel for: threads are started for one call and take indices from a shared counter. The compiler's units of
 * work (a kernel to compile, a candidate to measure) last milliseconds, so starting threads costs nothing. */
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MAX = 256 };

typedef struct job {
    void (*fn)(void *user, size_t i, unsigned worker);
    void *user;
    size_t n;
    atomic_size_t next;
} job;

typedef struct worker {
    job *job;
    unsigned id;
} worker;

static void work(job *j, unsigned id)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (i >= j->n)
            return;
        j->fn(j->user, i, id);
    }
}

static void *start(void *arg)
{
    const worker *w = arg;
    work(w->job, w->id);
    return NULL;
}

void tn_parallel_for(size_t n, unsigned threads, void (*fn)(void *user, size_t i, unsigned worker),
                     void *user)
{
    pthread_t thread[THREADS_MAX];
    worker w[THREADS_MAX];
    unsigned n_thread = 1; /* the caller is worker 0 */
    job j = {.fn = fn, .user = user, .n = n};
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    threads = threads > n ? (unsigned)n : threads;
    while (n_thread < threads) {
        w[n_thread] = (worker){&j, n_thread};
        if (pthread_create(&thread[n_thread], NULL, start, &w[n_thread]) != 0)
            break; /* the others take its share */
        n_thread++;
    }
    work(&j, 0);
    while (--n_thread > 0)
        pthread_join(thread[n_thread], NULL);
}
