/* Long work of the compiler and Python's signals: a handler written in Python runs only on the main thread and only
 * while that executes Python, so the work goes to another thread, and the caller looks for signals while it waits. */
#include "core.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { PAUSE = 20000000 }; /* nanoseconds between two looks */

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    core_work *work;
    void *user;
    int done, failed;
} job;

static void *run(void *user)
{
    job *j = user;
    int failed = j->work(j->user);
    pthread_mutex_lock(&j->lock);
    j->failed = failed;
    j->done = 1;
    pthread_cond_signal(&j->ended);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* Signals are for the threads that were there. */
static int start(job *j, pthread_t *out)
{
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    int failed = pthread_create(out, NULL, run, j);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return failed;
}

/* Waits a moment, or until the end. */
static int wait_a_moment(job *j)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&j->lock);
    if (!j->done)
        pthread_cond_timedwait(&j->ended, &j->lock, &until);
    int done = j->done;
    pthread_mutex_unlock(&j->lock);
    return done;
}

static void await(core_options *o, job *j, pthread_t thread)
{
    int done = 0;
    while (!done) {
        Py_BEGIN_ALLOW_THREADS;
        done = wait_a_moment(j);
        Py_END_ALLOW_THREADS;
        if (!o->raised[0] && PyErr_CheckSignals()) {
            PyErr_Fetch(&o->raised[0], &o->raised[1], &o->raised[2]);
            __atomic_store_n(&o->cancel, 1, __ATOMIC_RELAXED);
        }
    }
    Py_BEGIN_ALLOW_THREADS;
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS;
}

int core_call(core_options *o, core_work *work, void *user, int *out_failed)
{
    job j = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .work = work, .user = user};
    pthread_t thread;
    if (start(&j, &thread) == 0) {
        await(o, &j, thread);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        j.failed = work(user);
        Py_END_ALLOW_THREADS;
    }
    *out_failed = j.failed;
    if (!o->raised[0])
        return 0;
    PyErr_Restore(o->raised[0], o->raised[1], o->raised[2]);
    o->raised[0] = o->raised[1] = o->raised[2] = NULL;
    return -1;
}
