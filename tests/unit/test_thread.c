/* base/thread: every index once, workers told apart, limits of affinity and cgroups. */
#include "base/ctx.h"
#include "base/file.h"
#include "base/thread.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct {
    atomic_uint times[5000];
    atomic_uint busy[300];
    atomic_uint bad;
    unsigned threads;
} tally;

static void count(void *user, size_t i, unsigned worker)
{
    tally *t = user;
    if (worker >= (t->threads ? t->threads : 1) || atomic_fetch_add(&t->busy[worker], 1) != 0)
        atomic_fetch_add(&t->bad, 1); /* one worker is in one call at a time */
    atomic_fetch_add(&t->times[i], 1);
    atomic_fetch_sub(&t->busy[worker], 1);
}

static void every_index_once(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        unsigned threads;
    } row[] = {
        {0, 4}, {1, 4}, {5, 0}, {5, 1}, {3, 8}, {5000, 2}, {5000, 7}, {5000, 300},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        tally *t = calloc(1, sizeof *t);
        t->threads = row[k].threads;
        tn_parallel_for(row[k].n, row[k].threads, count, t);
        assert_int_equal(t->bad, 0);
        for (size_t i = 0; i < 5000; i++)
            assert_int_equal(t->times[i], i < row[k].n);
        free(t);
    }
}

static void note_thread(void *user, size_t i, unsigned worker)
{
    ((pid_t *)user)[i] = gettid();
    assert_int_equal(worker, 0);
}

static void inline_for_one_thread(void **state)
{
    (void)state;
    pid_t id[4] = {0};
    tn_parallel_for(4, 1, note_thread, id);
    for (int i = 0; i < 4; i++)
        assert_int_equal(id[i], gettid());
}

static void honours_affinity(void **state)
{
    (void)state;
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    assert_in_range(tn_cpu_count(), 1, (unsigned)CPU_COUNT(&old));
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &old))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned n = tn_cpu_count();
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    assert_int_equal(n, 1);
}

/* A made-up /sys/fs/cgroup below a fresh directory. */
static void cgroup_quotas(void **state)
{
    (void)state;
    static const struct {
        const char *proc;
        const char *file[4][2];
        double want;
    } row[] = {
        {"0::/\n", {{"cpu.max", "150000 100000\n"}}, 1.5},
        {"0::/\n", {{"cpu.max", "max 100000\n"}}, 0},
        {"0::/\n", {{"cpu.max", "junk"}}, 0},
        {"0::/\n", {{NULL}}, 0},
        {"0::/a/b\n", {{"a/cpu.max", "200000 100000\n"}, {"a/b/cpu.max", "max 100000\n"}}, 2},
        {"0::/a/b\n", {{"a/cpu.max", "200000 100000\n"}, {"a/b/cpu.max", "50000 100000\n"}}, 0.5},
        {"0::/a/b\n", {{"cpu.max", "100000 100000\n"}, {"a/b/cpu.max", "300000 100000\n"}}, 1},
        {"0::/host/path\n", {{"cpu.max", "300000 100000\n"}}, 3}, /* container: path of the host */
        {"12:memory:/x\n4:cpu,cpuacct:/a\n",
         {{"cpu/a/cpu.cfs_quota_us", "250000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
         2.5},
        {"4:cpuacct,cpu:/a\n",
         {{"cpu/cpu.cfs_quota_us", "100000\n"},
          {"cpu/cpu.cfs_period_us", "100000\n"},
          {"cpu/a/cpu.cfs_quota_us", "-1\n"},
          {"cpu/a/cpu.cfs_period_us", "100000\n"}},
         1},
        {"4:cpuset:/a\n",
         {{"cpu/a/cpu.cfs_quota_us", "100000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
         0},
        {"garbage", {{"cpu.max", "100000 100000\n"}}, 0},
    };
    tn_ctx c;
    tn_ctx_init(&c);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char dir[] = "tn-cg-XXXXXX", path[256], command[512];
        assert_non_null(mkdtemp(dir));
        snprintf(command, sizeof command, "mkdir -p %s/fs/a/b %s/fs/cpu/a", dir, dir);
        assert_int_equal(system(command), 0);
        for (size_t k = 0; k < 4 && row[i].file[k][0]; k++) {
            snprintf(path, sizeof path, "%s/fs/%s", dir, row[i].file[k][0]);
            assert_int_equal(tn_file_write(&c, path, row[i].file[k][1], strlen(row[i].file[k][1])), TN_OK);
        }
        snprintf(path, sizeof path, "%s/proc", dir);
        assert_int_equal(tn_file_write(&c, path, row[i].proc, strlen(row[i].proc)), TN_OK);
        snprintf(command, sizeof command, "%s/fs", dir);
        double got = tn_cpu_quota(path, command);
        assert_true(got == row[i].want);
        snprintf(command, sizeof command, "rm -r %s", dir);
        assert_int_equal(system(command), 0);
    }
    assert_true(tn_cpu_quota("no/such/file", "x") == 0);
    tn_ctx_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_once),
        cmocka_unit_test(inline_for_one_thread),
        cmocka_unit_test(honours_affinity),
        cmocka_unit_test(cgroup_quotas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
