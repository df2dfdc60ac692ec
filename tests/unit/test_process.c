/* base/process: programs and copies of this process, ended when the call that waits for them is. */
#include "base/ctx.h"
#include "base/process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void programs(void **state)
{
    (void)state;
    static const struct {
        const char *word[4];
        int error, code, signal;
    } row[] = {
        {{"true"}, 0, 0, 0},
        {{"sh", "-c", "exit 3"}, 0, 3, 0},
        {{"sh", "-c", "kill -9 $$"}, 0, 0, SIGKILL},
        {{"no-such-program-of-tenon"}, ENOENT, 0, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int status = 0;
        assert_int_equal(tn_process_run(row[i].word, NULL, &status), row[i].error);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, row[i].signal);
        assert_int_equal(row[i].signal ? 0 : WEXITSTATUS(status), row[i].code);
    }
}

static void say_much(void *user, int fd)
{
    for (int i = 0; i < 1000; i++)
        if (write(fd, user, 1000) != 1000)
            exit(9);
    TN_ASSERT(((char *)user)[0] == 'x');
}

static void end_by_signal(void *user, int fd)
{
    if (write(fd, user, 1) == 1)
        abort();
}

static void handle(int signal) { _exit(signal); /* as faulthandler of Python's does in the end */ }

static void use_memory(void *user, int fd)
{
    size_t n = 64 << 20;
    char *p = malloc(n);
    (void)user;
    memset(p ? p : (char *)&n, 1, p ? n : 1);
    if (write(fd, p ? "y" : "n", 1) != 1)
        abort();
    free(p);
}

static int call(void (*fn)(void *user, int fd), char *user, uint64_t memory, tn_buf *out)
{
    int status = 0;
    tn_buf_clear(out);
    assert_int_equal(tn_process_call(&(tn_process_work){fn, user, memory}, out, &status), 0);
    return status;
}

static void copies_of_this_process(void **state)
{
    (void)state;
    tn_buf out = {0};
    static char text[1001];
    memset(text, 'x', 1000);
    assert_int_equal(call(say_much, text, 0, &out), 0);
    assert_int_equal(out.n, 1000000);
    memset(text, 'y', 1000);
    int status = call(say_much, text, 0, &out); /* a broken invariant ends the child alone */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(out.n, 1000000);
    signal(SIGABRT, handle); /* which is not for the child */
    status = call(end_by_signal, text, 0, &out);
    signal(SIGABRT, SIG_DFL);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(tn_buf_cstr(&out), "y");
    assert_int_equal(call(use_memory, NULL, 0, &out), 0);
    assert_string_equal(tn_buf_cstr(&out), "y");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    assert_int_equal(call(use_memory, NULL, 1 << 20, &out), 0);
    assert_string_equal(tn_buf_cstr(&out), "n");
#endif
    tn_buf_deinit(&out);
}

/* What the memory of another thread's stack may become in a copy. */
static void lose_memory(void *user, int fd)
{
    munmap(user, 4096);
    tn_poll_now();
    if (write(fd, "y", 1) != 1)
        abort();
}

static void call_cancellable(void *user)
{
    tn_buf out = {0};
    assert_int_equal(call(lose_memory, user, 0, &out), 0);
    assert_string_equal(tn_buf_cstr(&out), "y");
    tn_buf_deinit(&out);
}

static void copies_do_not_look_at_cancel(void **state)
{
    (void)state;
    int *cancel = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tn_heap h;
    assert_ptr_not_equal(cancel, MAP_FAILED);
    tn_heap_init(&h);
    tn_heap_limit(&h, &(tn_limits){.cancel = cancel});
    assert_int_equal(tn_protect(&h, call_cancellable, cancel).kind, TN_RAISED_NOTHING);
    tn_heap_free(&h);
    munmap(cancel, 4096);
}

/* Answers each byte with the next one, until 'z'. */
static void answer(void *user, int fd)
{
    char c;
    (void)user;
    while (read(fd, &c, 1) == 1 && c != 'z') {
        c++;
        if (write(fd, &c, 1) != 1)
            abort();
    }
}

static void a_child_works_on_request(void **state)
{
    (void)state;
    tn_resource *r[2];
    int fd[2], error;
    char c;
    for (int i = 0; i < 2; i++) {
        r[i] = tn_process_begin(&(tn_process_work){answer, NULL, 0}, &fd[i], &error);
        assert_non_null(r[i]);
    }
    for (int i = 0; i < 6; i++) {
        c = (char)('a' + i);
        assert_int_equal(write(fd[i % 2], &c, 1), 1);
        assert_int_equal(read(fd[i % 2], &c, 1), 1);
        assert_int_equal(c, 'b' + i);
    }
    assert_int_equal(write(fd[0], "z", 1), 1);
    assert_int_equal(read(fd[0], &c, 1), 0);
    for (int i = 0; i < 2; i++)
        tn_resource_end(r[i]); /* one has ended by itself */
}

static void sleep_long(void *user)
{
    int status;
    (void)tn_process_run((const char *const[]){"sleep", "60", NULL}, NULL, &status);
    (void)user;
}

static void pause_in_child(void *user, int fd)
{
    (void)user, (void)fd;
    sleep(60);
}

static void copy_long(void *user)
{
    tn_buf out = {0};
    int status;
    (void)tn_process_call(&(tn_process_work){pause_in_child, user, 0}, &out, &status);
}

static void waiting_ends_with_the_call(void **state)
{
    (void)state;
    static void (*const waits[])(void *) = {sleep_long, copy_long};
    for (size_t i = 0; i < 2; i++) {
        tn_heap h;
        double start = tn_now();
        tn_heap_init(&h);
        tn_heap_limit(&h, &(tn_limits){.seconds = 0.1});
        assert_int_equal(tn_protect(&h, waits[i], NULL).kind, TN_RAISED_SECONDS);
        tn_heap_free(&h);
        assert_true(tn_now() - start < 20);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, not even a dead one */
        assert_int_equal(errno, ECHILD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs),
        cmocka_unit_test(copies_of_this_process),
        cmocka_unit_test(copies_do_not_look_at_cancel),
        cmocka_unit_test(a_child_works_on_request),
        cmocka_unit_test(waiting_ends_with_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
