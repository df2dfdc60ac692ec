/* Runs of models and Python's signals. A handler written in Python, as Ctrl-C's, runs only on the main thread and only
 * while that executes Python. So a run on the main thread looks for signals when a thread of ours raises a flag, which
 * it does every 50 ms of a run: shorter runs take no notice. That thread sleeps while there are no runs. */
#include "instance.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE = 50000000, /* nanoseconds */
    PATIENCE = 20     /* pauses without a run until it sleeps */
};

static int flag; /* runs look at it */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned run, depth; /* runs on the main thread so far; those that go on, one in a handler of another */
    int started, asleep;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* ---- the thread ---- */

static void sleep_until_a_run(unsigned last)
{
    pthread_mutex_lock(&watch.lock);
    __atomic_store_n(&watch.asleep, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&watch.run, __ATOMIC_SEQ_CST) == last)
        pthread_cond_wait(&watch.wake, &watch.lock);
    __atomic_store_n(&watch.asleep, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&watch.lock);
}

static void *keep_watch(void *none)
{
    unsigned last = 0;
    for (int idle = 0;;) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
        unsigned run = __atomic_load_n(&watch.run, __ATOMIC_RELAXED);
        int same = run == last, going = __atomic_load_n(&watch.depth, __ATOMIC_RELAXED) != 0;
        if (same && going)
            __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
        idle = same && !going ? idle + 1 : 0;
        last = run;
        if (idle == PATIENCE) {
            sleep_until_a_run(last);
            idle = 0;
        }
    }
    return none;
}

/* A child has none of its parent's threads. */
static void forked(void)
{
    pthread_mutex_init(&watch.lock, NULL);
    pthread_cond_init(&watch.wake, NULL);
    watch.started = watch.asleep = 0;
}

/* Where there is no thread, runs cannot be interrupted. */
static void start(void)
{
    static int known;
    sigset_t all, was;
    pthread_t thread;
    watch.started = 1;
    if (!known)
        pthread_atfork(NULL, NULL, forked);
    known = 1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    if (pthread_create(&thread, NULL, keep_watch, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
}

static void wake(void)
{
    pthread_mutex_lock(&watch.lock);
    pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
}

/* ---- runs ---- */

static int is_main_thread(void)
{
    static __thread int is; /* asked once for each thread: 1, or -1 */
    if (!is)
        is = gettid() == getpid() ? 1 : -1;
    return is > 0;
}

/* What a handler raises stays this thread's exception. */
static int look(void *user)
{
    (void)user;
    __atomic_store_n(&flag, 0, __ATOMIC_RELAXED);
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    return raised;
}

tnr_status core_run(tnr_instance *x, tnr_error *err)
{
    int watched = is_main_thread();
    tnr_status status;
    tnr_cancel_set(x, watched ? &flag : NULL, look, NULL);
    if (watched) {
        if (!watch.started)
            start();
        __atomic_store_n(&flag, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&watch.depth, watch.depth + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&watch.run, watch.run + 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&watch.asleep, __ATOMIC_SEQ_CST))
            wake();
    }
    Py_BEGIN_ALLOW_THREADS;
    status = tnr_run(x, err);
    Py_END_ALLOW_THREADS;
    if (watched)
        __atomic_store_n(&watch.depth, watch.depth - 1, __ATOMIC_RELAXED);
    return status;
}
