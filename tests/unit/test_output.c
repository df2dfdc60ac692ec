/* base/output: a process that writes files all the time is ended by a signal whose handler drops what is
 * being written; no temporary is left, however many times and at whatever moment, and what has its place is
 * whole. */
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROUNDS = 200, THREADS = 3, BYTES = 10000 };

static void on_signal(int number)
{
    (void)number;
    tn_outputs_drop();
    _exit(7);
}

/* Pairs of files, over and over; durable or not in turn. */
static void *write_on(void *user)
{
    static char data[BYTES];
    const char *dir = user;
    char one[160], two[160];
    static _Atomic int next;
    int me = next++;
    snprintf(one, sizeof one, "%s/a%d", dir, me);
    snprintf(two, sizeof two, "%s/b%d", dir, me);
    for (;;) {
        tn_output o[2];
        if (tn_output_open_private(&o[0], one))
            continue;
        if (tn_output_open_private(&o[1], two))
            _exit(1);
        tn_output_add(&o[0], data, BYTES);
        tn_output_add(&o[1], data, BYTES);
        (void)tn_outputs_close(2, (tn_output *const[]){&o[0], &o[1]}, true);
    }
    return NULL;
}

static void child(char *dir)
{
    pthread_t t;
    signal(SIGTERM, on_signal);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&t, NULL, write_on, dir);
    write_on(dir);
}

/* Number of names; each must be whole. */
static int look(const char *dir, bool clear)
{
    DIR *d = opendir(dir);
    char path[512];
    struct stat st;
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        assert_null(strstr(e->d_name, ".tmp"));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, BYTES);
        n++;
        if (clear)
            unlink(path);
    }
    closedir(d);
    return n;
}

static void ended_at_any_moment(void **state)
{
    char dir[] = "tn-output-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        int status;
        if (pid == 0)
            child(dir);
        nanosleep(&(struct timespec){.tv_nsec = 500000 + 37000 * (i % 50)}, NULL);
        kill(pid, SIGTERM);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status)) /* before it had its handler */
            assert_int_equal(WTERMSIG(status), SIGTERM);
        else
            assert_int_equal(WEXITSTATUS(status), 7);
        assert_int_equal(look(dir, true) % 2, 0); /* pairs */
    }
    assert_int_equal(rmdir(dir), 0);
}

/* Pieces, an output given up, and one whose partner fails. */
static void kept_or_not(void **state)
{
    char dir[] = "tn-output-XXXXXX", path[64], other[64], text[8] = "";
    tn_output o[2];
    struct stat st;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a", dir);
    snprintf(other, sizeof other, "%s/b", dir);
    assert_int_equal(tn_output_open(&o[0], path), 0);
    tn_output_add(&o[0], "ab", 2);
    tn_output_add(&o[0], "c", 1);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(tn_outputs_close(1, (tn_output *const[]){&o[0]}, true), 0);
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(text, 1, sizeof text, f), 3);
    assert_string_equal(text, "abc");
    fclose(f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(tn_output_open(&o[0], path), 0);
    assert_int_equal(tn_outputs_close(1, (tn_output *const[]){&o[0]}, false), 0);
    assert_int_equal(tn_output_open(&o[0], path), 0);
    assert_int_equal(tn_output_open(&o[1], other), 0);
    o[1].error = ENOSPC;
    assert_int_equal(tn_outputs_close(2, (tn_output *const[]){&o[0], &o[1]}, true), ENOSPC);
    assert_int_equal(tn_output_open(&o[0], dir), EISDIR);
    assert_int_equal(symlink("absent", path), 0); /* a link is never replaced, and this one leads nowhere */
    assert_int_equal(tn_output_open(&o[0], path), ENOENT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(look(dir, false), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_or_not),
        cmocka_unit_test(ended_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
