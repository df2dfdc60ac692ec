/* Waiting for processes, so that a cancel or the end of this process ends them.
 *
 * The list of running ones is, like that of base/output.c, there for a signal handler. Its entries are process groups
 * that have not been waited for, so none of their numbers is another's by now. */
#include "base/process.h"

#include "base/guard.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST = 256, LOOK_MS = 20, STACK_BYTES = 8 << 20 };
static atomic_int listed[MOST];

static void list(int from, int to)
{
    for (size_t i = 0; i < MOST; i++) {
        int was = from;
        if (atomic_compare_exchange_strong(&listed[i], &was, to))
            return;
    }
}

void tn_processes_kill(void)
{
    for (size_t i = 0; i < MOST; i++) {
        int pid = atomic_load(&listed[i]);
        if (pid)
            kill(-pid, SIGKILL);
    }
}

typedef struct process {
    pid_t pid; /* 0: none, or it was waited for */
    int fd;    /* becomes readable at its end; -1: none */
    int from;  /* what it writes; -1: none */
} process;

static void forget(process *p)
{
    list(p->pid, 0);
    p->pid = 0;
    if (p->fd >= 0)
        close(p->fd);
    if (p->from >= 0)
        close(p->from);
    p->fd = p->from = -1;
}

static void release(tn_resource *r)
{
    process *p = r->at;
    if (p->pid) {
        kill(-p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    forget(p);
}

static tn_resource *process_new(process **out)
{
    tn_resource *r = tn_resource_new(release);
    process *p = *out = tn_alloc_array(1, sizeof *p);
    *p = (process){.fd = -1, .from = -1};
    r->at = p;
    return r;
}

static void begun(process *p, pid_t pid)
{
    p->pid = pid;
    list(0, pid);
    p->fd = (int)syscall(SYS_pidfd_open, pid, 0);
}

static void end(tn_resource *r)
{
    process *p = r->at;
    tn_resource_end(r);
    tn_free(p);
}

/* Lets the process work on, for a moment at most. Raises if the call is to end. */
static void look(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    tn_poll_now();
    (void)poll(&p, fd >= 0, fd >= 0 ? LOOK_MS : 1);
}

static int wait_for(process *p, int *out_status)
{
    for (;;) {
        pid_t done = waitpid(p->pid, out_status, WNOHANG);
        int err = done < 0 ? errno : 0;
        if (done > 0 || (err && err != EINTR)) {
            forget(p);
            return err;
        }
        look(p->fd);
    }
}

/* ---- programs ---- */

static int spawn(const char *const argv[], const char *output, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int err = posix_spawn_file_actions_init(&actions);
    if (err)
        return err;
    err = posix_spawnattr_init(&attr);
    if (!err) {
        err = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
        if (!err && output)
            err = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT, 0600);
        if (!err)
            err = posix_spawnp(out_pid, argv[0], &actions, &attr, (char *const *)argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

int tn_process_run(const char *const argv[], const char *output, int *out_status)
{
    process *p;
    pid_t pid;
    tn_resource *r = process_new(&p);
    int err = spawn(argv, output, &pid);
    if (!err) {
        begun(p, pid);
        err = wait_for(p, out_status);
    }
    end(r);
    return err;
}

/* ---- a copy of this process ---- */

/* Bytes of data that this process has mapped. */
static uint64_t data_bytes(void)
{
    char text[256];
    unsigned long long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    if (sscanf(text, "%*s %*s %*s %*s %*s %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

typedef struct {
    const tn_process_work *work;
    int fd;
} child;

/* A copy is killed where its call is cancelled. Who can cancel it may keep that on the stack of another thread, whose
 * memory a copy gives to threads of its own. */
static void forget_cancel(void)
{
    for (const tn_guard *g = tn_guard_get(); g; g = g->outer)
        if (g->heap)
            g->heap->limits.cancel = NULL;
}

static void work_in_child(void *user)
{
    const child *c = user;
    c->work->fn(c->work->user, c->fd);
}

/* Files of the parent that stay open here would hide that their other ends are gone: the sockets of other children. */
static void close_others(int fd)
{
#ifdef SYS_close_range
    if (fd > STDERR_FILENO + 1)
        syscall(SYS_close_range, STDERR_FILENO + 1, fd - 1, 0);
    syscall(SYS_close_range, fd + 1, ~0U, 0);
#else
    (void)fd;
#endif
}

_Noreturn static void be_child(const tn_process_work *work, int fd, uint64_t most_bytes, pid_t parent)
{
    child c = {work, fd};
    struct rlimit none = {0, 0}, most = {most_bytes, most_bytes};
    sigset_t empty;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int s = 1; s < NSIG;
         s++) /* handlers are those of a program that is not here: of Python, of a debugger */
        signal(s, SIG_DFL);
    sigemptyset(&empty);
    pthread_sigmask(SIG_SETMASK, &empty, NULL);
    setrlimit(RLIMIT_CORE, &none);
    if (work->memory_bytes)
        setrlimit(RLIMIT_DATA, &most);
    forget_cancel();
    close_others(fd);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    _exit(tn_protect(NULL, work_in_child, &c).kind ? 1 : 0);
}

static void read_all(process *p, tn_buf *out)
{
    char piece[65536];
    for (;;) {
        look(p->from);
        ssize_t n = read(p->from, piece, sizeof piece);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return;
        if (n > 0)
            tn_buf_add(out, piece, (size_t)n);
    }
}

/* The child has ends[1], this process the other. Returns errno. */
static int start_copy(process *p, const tn_process_work *work, const int ends[2])
{
    uint64_t most = data_bytes() + work->memory_bytes + (uint64_t)tn_cpu_count() * STACK_BYTES;
    pid_t parent = getpid();
    p->from = ends[0];
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(work, ends[1], most, parent);
    }
    int err = pid < 0 ? errno : 0;
    close(ends[1]);
    if (!err) {
        setpgid(pid, pid);
        begun(p, pid);
    }
    return err;
}

int tn_process_call(const tn_process_work *work, tn_buf *out, int *out_status)
{
    process *p;
    int ends[2];
    tn_resource *r = process_new(&p);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int err = errno;
        end(r);
        return err;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int err = start_copy(p, work, ends);
    if (!err) {
        read_all(p, out);
        err = wait_for(p, out_status);
    }
    end(r);
    return err;
}

static void end_copy(tn_resource *r)
{
    process *p = r->at;
    release(r);
    tn_free(p);
}

tn_resource *tn_process_begin(const tn_process_work *work, int *out_fd, int *out_error)
{
    process *p;
    int ends[2];
    tn_resource *r = process_new(&p);
    *out_error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
    if (!*out_error)
        *out_error = start_copy(p, work, ends);
    if (*out_error) {
        end(r);
        return NULL;
    }
    r->release = end_copy;
    *out_fd = p->from;
    return r;
}
