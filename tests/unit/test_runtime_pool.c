/* The thread pool: every task once, the lowest failure, concurrent and nested jobs, resizing, fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "runtime/cpus.h"
#include "runtime/pool.h"
#include "runtime/tsan_fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TASK = 5000 };

typedef struct job {
    atomic_int done[MAX_TASK];
    atomic_int active[16]; /* per member: 1 while it works */
    atomic_int clashes;
    uint32_t fail_from; /* tasks from here on fail with 1 + task % 100 */
    uint32_t limit;
} job;

static int32_t count_task(void *context, uint32_t task, uint32_t member)
{
    job *j = context;
    if (member >= j->limit || atomic_fetch_add(&j->active[member], 1) != 0)
        atomic_fetch_add(&j->clashes, 1);
    atomic_fetch_add(&j->done[task], 1);
    if (member < j->limit)
        atomic_fetch_sub(&j->active[member], 1);
    return task >= j->fail_from ? (int32_t)(1 + task % 100) : 0;
}

/* Runs n tasks; the number of tasks not run exactly once plus clashes of members. */
static int faults(uint32_t n, uint32_t limit)
{
    job *j = calloc(1, sizeof *j);
    j->fail_from = UINT32_MAX;
    j->limit = limit;
    int bad = tnr_pool_run(n, limit, count_task, j) != 0;
    for (uint32_t i = 0; i < n; i++)
        bad += atomic_load(&j->done[i]) != 1;
    bad += atomic_load(&j->clashes);
    free(j);
    return bad;
}

static void every_task_runs_once(void **state)
{
    static const uint32_t n[] = {0, 1, 2, 3, 7, 64, 100, 513, 5000};
    (void)state;
    for (int32_t threads = 1; threads <= 8; threads++) {
        assert_int_equal(tnr_threads_set(threads, NULL), TNR_OK);
        for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
            for (uint32_t limit = 1; limit <= 9; limit += 4)
                assert_int_equal(faults(n[i], limit), 0);
    }
}

static void the_lowest_failure_wins(void **state)
{
    (void)state;
    job *j = calloc(1, sizeof *j);
    j->limit = 8;
    for (int32_t threads = 1; threads <= 8; threads += 3) {
        assert_int_equal(tnr_threads_set(threads, NULL), TNR_OK);
        for (uint32_t first = 0; first < 3000; first += 117) {
            memset(j->done, 0, sizeof j->done);
            j->fail_from = first;
            assert_int_equal(tnr_pool_run(3000, 8, count_task, j), 1 + first % 100);
            for (uint32_t i = 0; i <= first; i++)
                assert_int_equal(atomic_load(&j->done[i]), 1);
        }
    }
    free(j);
}

static int32_t nest(void *context, uint32_t task, uint32_t member)
{
    (void)task, (void)member;
    atomic_fetch_add((atomic_int *)context, faults(50, 3));
    return 0;
}

static void jobs_nest(void **state)
{
    (void)state;
    atomic_int bad = 0;
    assert_int_equal(tnr_threads_set(4, NULL), TNR_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(tnr_pool_run(30, 4, nest, &bad), 0);
    assert_int_equal(atomic_load(&bad), 0);
}

static void *submit(void *context)
{
    for (int i = 0; i < 200; i++)
        atomic_fetch_add((atomic_int *)context, faults((uint32_t)i, 4));
    return NULL;
}

static void many_threads_submit_at_once(void **state)
{
    (void)state;
    atomic_int bad = 0;
    pthread_t t[12]; /* more than there are slots for jobs */
    assert_int_equal(tnr_threads_set(4, NULL), TNR_OK);
    for (int i = 0; i < 12; i++)
        assert_int_equal(pthread_create(&t[i], NULL, submit, &bad), 0);
    for (int32_t n = 1; n < 7; n++) /* and the pool changes its size meanwhile */
        assert_int_equal(tnr_threads_set(n, NULL), TNR_OK);
    for (int i = 0; i < 12; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&bad), 0);
}

static void sleeping_workers_wake(void **state)
{
    (void)state;
    assert_int_equal(tnr_threads_set(4, NULL), TNR_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(faults(64, 4), 0);
        usleep(2000); /* longer than any polling */
    }
}

static void a_fork_has_a_pool_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(tnr_threads_set(4, NULL), TNR_OK);
    assert_int_equal(faults(100, 4), 0);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            int bad = tnr_threads_get() != 4;
            for (int k = 0; k < 50; k++)
                bad += faults(200, 4);
            bad += tnr_threads_set(1, NULL) != TNR_OK;
            _exit(bad ? 1 : 0);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(faults(100, 4), 0);
    }
}

/* ---- the number of threads ---- */

static void environment_gives_the_number(void **state)
{
    const struct {
        const char *tvm, *omp;
        int32_t n;
    } row[] = {
        {NULL, NULL, 0},    {"3", NULL, 3},
        {NULL, "5", 5},     {"3", "5", 3},
        {"0", "5", 5},      {"x", "5", 5},
        {NULL, "4,2", 4},   {"-1", NULL, 0},
        {"3 cats", "2", 2}, {"99999999999999999999", "2", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        unsetenv("TVM_NUM_THREADS");
        unsetenv("OMP_NUM_THREADS");
        if (row[i].tvm)
            setenv("TVM_NUM_THREADS", row[i].tvm, 1);
        if (row[i].omp)
            setenv("OMP_NUM_THREADS", row[i].omp, 1);
        assert_int_equal(tnr_cpus_environment(), row[i].n);
    }
    setenv("TVM_NUM_THREADS", "3", 1);
    assert_int_equal(tnr_threads_set(0, NULL), TNR_OK);
    assert_int_equal(tnr_threads_get(), 3);
    unsetenv("TVM_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(tnr_threads_set(0, NULL), TNR_OK);
    assert_true(tnr_threads_get() >= 1 && tnr_threads_get() <= tnr_cpus_affinity());
}

static int back_to_default(void **state)
{
    (void)state;
    return tnr_threads_set(1, NULL); /* no worker is left behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(the_lowest_failure_wins),
        cmocka_unit_test(jobs_nest),
        cmocka_unit_test(many_threads_submit_at_once),
        cmocka_unit_test(sleeping_workers_wake),
        cmocka_unit_test(a_fork_has_a_pool_of_its_own),
        cmocka_unit_test(environment_gives_the_number),
    };
    return cmocka_run_group_tests(tests, NULL, back_to_default);
}
