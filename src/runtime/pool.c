/* Thread pool: one global, workers started at the first job that can use them.
 *
 * A job lives in one of JOBS slots. Its tasks are cut into chunks, claimed in order through an atomic counter
 * by the caller and by every worker that visits the slot. A slot is closed by its caller once no chunk is
 * left; the job is over when the slot is closed and nobody visits it. Two Dekker-like handshakes, both
 * sequentially consistent, make that safe without a lock:
 *
 *   visit    worker: visitors++, then is it open?        caller: open = 0, then are there visitors?
 *   sleep    worker: sleepers++, then wait if epoch is old; caller: epoch++, then are there sleepers?
 *
 * so either the worker sees the change or the caller sees the worker. Results do not depend on who runs which
 * task: chunks are claimed in order, a chunk claimed is run up to its first failure, so the lowest failing
 * task always runs.
 *
 * Waiting: about 20 us of polling (200 us while some model runs), then futex. No polling at all where the
 * process has less than one core, or more threads than cores. After fork the child has no workers and starts
 * its own. */
#include "runtime/pool.h"

#include "base/thread.h"
#include "runtime/cpus.h"
#include "runtime/error.h"
#include "runtime/floating.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    JOBS = 8,
    LINE = 64,
    SPIN_NS = 20000,
    SPIN_BUSY_NS = 200000,
    POLLS_PER_CLOCK = 32,
    CHUNKS_PER_MEMBER = 64
};

struct job {
    _Alignas(LINE) atomic_uint taken; /* 1: belongs to a caller */
    atomic_uint open;     /* 1: workers may join; set after the fields below, which are then constant */
    atomic_uint visitors; /* workers looking at it or working on it; also the futex the caller waits on */
    atomic_uint waiting;  /* 1: the caller sleeps until there are no visitors */
    tnr_task_fn *fn;
    void *context;
    uint32_t n_task, chunk, n_chunk, limit;
    _Alignas(LINE) atomic_uint next; /* chunk to be claimed; at most n_chunk + visits, far below overflow */
    atomic_uint joined;              /* workers that took part so far */
    atomic_uint failed;              /* 1: stop claiming */
    pthread_mutex_t fail_lock;       /* guards the two below */
    uint32_t fail_task;
    int32_t fail_status;
};

#define COLD __attribute__((cold)) /* not part of a run: compiled to be small */

static struct pool {
    pthread_mutex_t lock; /* starting, stopping, counting; never held while a task runs on the caller */
    _Alignas(LINE)
        atomic_uint epoch; /* bumped when there is something new to see; the futex workers sleep on */
    atomic_uint sleepers;
    atomic_uint busy; /* runs in progress; only a hint */
    atomic_uint stop;
    atomic_uint started; /* workers alive; 0 before the start, UINT_MAX: none wanted */
    atomic_int threads;  /* wanted, caller included; 0: not found out yet */
    atomic_bool spin;    /* whether polling before sleeping makes sense */
    bool hooked;         /* fork handlers are in place */
    uint32_t n_worker;   /* entries of worker */
    pthread_t worker[TNR_POOL_MAX];
    struct job job[JOBS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void futex_wait(atomic_uint *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Poll until *word differs from seen; false when the patience is over. */
static bool poll_change(atomic_uint *word, uint32_t seen)
{
    if (!atomic_load_explicit(&pool.spin, memory_order_relaxed))
        return atomic_load(word) != seen;
    for (int64_t start = now_ns();;) {
        for (int i = 0; i < POLLS_PER_CLOCK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            relax();
        }
        int64_t patience = atomic_load_explicit(&pool.busy, memory_order_relaxed) ? SPIN_BUSY_NS : SPIN_NS;
        if (now_ns() - start > patience)
            return false;
    }
}

COLD static void record_failure(struct job *j, uint32_t task, int32_t status)
{
    pthread_mutex_lock(&j->fail_lock);
    if (j->fail_status == 0 || task < j->fail_task) {
        j->fail_task = task;
        j->fail_status = status;
    }
    pthread_mutex_unlock(&j->fail_lock);
    atomic_store(&j->failed, 1);
}

static void work_on(struct job *j, uint32_t member)
{
    while (!atomic_load_explicit(&j->failed, memory_order_relaxed)) {
        uint32_t c = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (c >= j->n_chunk)
            return;
        uint32_t begin = c * j->chunk, left = j->n_task - begin, n = left < j->chunk ? left : j->chunk;
        for (uint32_t i = 0; i < n; i++) {
            int32_t status = j->fn(j->context, begin + i, member);
            if (status) {
                record_failure(j, begin + i, status);
                return;
            }
        }
    }
}

/* Look into a job and help if there is something to do. */
static void visit(struct job *j)
{
    if (!atomic_load_explicit(&j->open, memory_order_relaxed))
        return;
    atomic_fetch_add(&j->visitors, 1);
    if (atomic_load(&j->open) && atomic_load_explicit(&j->next, memory_order_relaxed) < j->n_chunk) {
        uint32_t member = 1 + atomic_fetch_add(&j->joined, 1);
        if (member < j->limit)
            work_on(j, member);
    }
    if (atomic_fetch_sub(&j->visitors, 1) == 1 && atomic_load(&j->waiting))
        futex_wake(&j->visitors, 1);
}

static void *worker_main(void *argument)
{
    uint32_t self = (uint32_t)(uintptr_t)argument;
    (void)tnr_floating_default();
    while (!atomic_load(&pool.stop)) {
        uint32_t seen = atomic_load(&pool.epoch);
        for (uint32_t i = 0; i < JOBS;
             i++) /* begin elsewhere each, so that concurrent jobs share the workers */
            visit(&pool.job[(self + i) % JOBS]);
        if (atomic_load(&pool.stop) || poll_change(&pool.epoch, seen))
            continue;
        atomic_fetch_add(&pool.sleepers, 1);
        futex_wait(&pool.epoch, seen);
        atomic_fetch_sub(&pool.sleepers, 1);
    }
    return NULL;
}

/* ---- starting, stopping, fork; pool.lock is held ---- */

COLD static void reset_jobs(void)
{
    for (int i = 0; i < JOBS; i++) {
        struct job *j = &pool.job[i];
        atomic_store(&j->taken, 0);
        atomic_store(&j->open, 0);
        atomic_store(&j->visitors, 0);
        atomic_store(&j->waiting, 0);
        pthread_mutex_init(&j->fail_lock, NULL);
    }
}

static void before_fork(void) { pthread_mutex_lock(&pool.lock); }

static void after_fork_parent(void) { pthread_mutex_unlock(&pool.lock); }

/* The child has only the thread that forked: forget the workers and the jobs of other threads. */
COLD static void after_fork_child(void)
{
    atomic_store(&pool.started, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.busy, 0);
    atomic_store(&pool.stop, 0);
    pool.n_worker = 0;
    reset_jobs();
    pthread_mutex_unlock(&pool.lock);
}

/* CPUs the control group grants, possibly below 1; 0: no limit. */
COLD static double quota(void) { return tn_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup"); }

COLD static int32_t find_threads(void)
{
    int32_t n = tnr_cpus_environment();
    if (n == 0) {
        n = tnr_cpus_affinity();
        double granted = quota();
        if (granted > 0 && granted < n) {
            int32_t whole = (int32_t)granted;
            n = whole < granted ? whole + 1 : whole;
        }
    }
    return n < TNR_POOL_MAX ? n : TNR_POOL_MAX;
}

/* Fewer workers than wanted, where the system gives no more, only make a run slower. */
COLD static void start_workers(void)
{
    int32_t wanted = atomic_load(&pool.threads);
    double granted = quota();
    atomic_store(&pool.spin, (granted <= 0 || granted >= 1) && wanted <= tnr_cpus_affinity());
    if (!pool.hooked) {
        reset_jobs();
        pool.hooked = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
        if (!pool.hooked)
            wanted = 1; /* workers that a child would wait for in vain are worse than none */
    }
    sigset_t all, old;
    sigfillset(&all); /* signals are the host program's business: its own threads take them */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    uint32_t n = 0;
    while ((int32_t)n + 1 < wanted &&
           pthread_create(&pool.worker[n], NULL, worker_main, (void *)(uintptr_t)n) == 0)
        n++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pool.n_worker = n;
    atomic_store(&pool.started, n ? n : UINT_MAX);
}

COLD static void stop_workers(void)
{
    atomic_store(&pool.stop, 1);
    atomic_fetch_add(&pool.epoch, 1);
    futex_wake(&pool.epoch, INT_MAX);
    for (uint32_t i = 0; i < pool.n_worker; i++)
        pthread_join(pool.worker[i], NULL);
    pool.n_worker = 0;
    atomic_store(&pool.started, 0);
    atomic_store(&pool.stop, 0);
}

int32_t tnr_threads_get(void)
{
    int32_t n = atomic_load(&pool.threads);
    if (n == 0) {
        pthread_mutex_lock(&pool.lock);
        n = atomic_load(&pool.threads);
        if (n == 0) {
            n = find_threads();
            atomic_store(&pool.threads, n);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    return n;
}

COLD tnr_status tnr_threads_set(int32_t n, tnr_error *err)
{
    if (n < 0 || n > TNR_POOL_MAX)
        return tnr_fail(err, TNR_E_ARG, 0, "%" PRId32 " threads: the number must be 0 (default) to %d", n,
                        TNR_POOL_MAX);
    pthread_mutex_lock(&pool.lock);
    stop_workers();
    atomic_store(&pool.threads, n ? n : find_threads());
    pthread_mutex_unlock(&pool.lock);
    return TNR_OK;
}

/* Workers alive, started now if there are none yet. */
static uint32_t workers(void)
{
    uint32_t n = atomic_load_explicit(&pool.started, memory_order_acquire);
    if (n == 0) {
        (void)tnr_threads_get();
        pthread_mutex_lock(&pool.lock);
        if (atomic_load(&pool.started) == 0)
            start_workers();
        n = atomic_load(&pool.started);
        pthread_mutex_unlock(&pool.lock);
    }
    return n == UINT_MAX ? 0 : n;
}

void tnr_pool_busy(void) { atomic_fetch_add_explicit(&pool.busy, 1, memory_order_relaxed); }

void tnr_pool_idle(void)
{
    if (atomic_load_explicit(&pool.busy, memory_order_relaxed) > 0) /* a fork may have forgotten us */
        atomic_fetch_sub_explicit(&pool.busy, 1, memory_order_relaxed);
}

/* ---- jobs ---- */

static struct job *take_job(void)
{
    for (int i = 0; i < JOBS; i++) {
        uint32_t is_free = 0;
        if (atomic_compare_exchange_strong(&pool.job[i].taken, &is_free, 1))
            return &pool.job[i];
    }
    return NULL;
}

static void wait_visitors(struct job *j)
{
    for (uint32_t v; (v = atomic_load(&j->visitors)) != 0;) {
        if (poll_change(&j->visitors, v))
            continue;
        atomic_store(&j->waiting, 1);
        if ((v = atomic_load(&j->visitors)) != 0)
            futex_wait(&j->visitors, v);
        atomic_store(&j->waiting, 0);
    }
}

static int32_t run_alone(uint32_t n_task, tnr_task_fn *fn, void *context)
{
    for (uint32_t t = 0; t < n_task; t++) {
        int32_t status = fn(context, t, 0);
        if (status)
            return status;
    }
    return 0;
}

int32_t tnr_pool_run(uint32_t n_task, uint32_t limit, tnr_task_fn *fn, void *context)
{
    uint32_t helpers = n_task > 1 && limit > 1 ? workers() : 0;
    struct job *j = helpers ? take_job() : NULL;
    if (!j)
        return run_alone(n_task, fn, context);
    if (helpers > limit - 1)
        helpers = limit - 1;
    uint32_t chunk = n_task / ((helpers + 1) * CHUNKS_PER_MEMBER);
    j->chunk = chunk ? chunk : 1;
    j->n_chunk = n_task / j->chunk + (n_task % j->chunk != 0);
    j->fn = fn;
    j->context = context;
    j->n_task = n_task;
    j->limit = limit;
    j->fail_status = 0;
    atomic_store_explicit(&j->next, 0, memory_order_relaxed);
    atomic_store_explicit(&j->joined, 0, memory_order_relaxed);
    atomic_store_explicit(&j->failed, 0, memory_order_relaxed);
    atomic_store(&j->open, 1);
    atomic_fetch_add(&pool.epoch, 1);
    uint32_t asleep = atomic_load(&pool.sleepers);
    if (asleep) {
        uint32_t useful = j->n_chunk - 1 < helpers ? j->n_chunk - 1 : helpers;
        futex_wake(&pool.epoch, (int)(asleep < useful ? asleep : useful));
    }
    work_on(j, 0);
    atomic_store(&j->open, 0);
    wait_visitors(j);
    int32_t status = j->fail_status;
    atomic_store(&j->taken, 0);
    return status;
}
