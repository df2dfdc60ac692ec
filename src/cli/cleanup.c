/* Interrupts. A handler may only wake somebody, so a thread waits for it, removes what is being written, and ends the
 * process by the same signal. Signals wait while begin and end are at work, so there is no moment at which one leaves
 * something behind.
 *
 * The one state that is not on a stack in src/cli: a signal handler has no other way to reach anything. */
#include "cli/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    sem_t wake;
    pthread_t thread;
    bool on;
    volatile sig_atomic_t signal; /* 0: none yet */
    char *tmp, *old_tmp;          /* our folder in TMPDIR, NULL: none; what TMPDIR was */
    int lock;                     /* the folder, locked while the process lives */
} cleanup;

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_CAUGHT = sizeof caught / sizeof *caught, MAX_DEPTH = 4, TRIES = 100, MAX_READ = 10000 };
#define FOLDER "tenon-work-" /* and six letters of mkdtemp */

static void on_signal(int number)
{
    cleanup.signal = number;
    sem_post(&cleanup.wake);
}

/* The folder's content, then the folder. What lies there is the linker's and the compiler's, a few files deep; other
 * threads and programs may be making more of it, until the folder is gone. */
static void remove_folder(const char *path, int depth)
{
    struct stat st;
    char name[4096];
    for (int i = 0; i < TRIES && depth < MAX_DEPTH; i++) {
        DIR *d = opendir(path);
        for (struct dirent *e; d && (e = readdir(d));) {
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            if ((size_t)snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= sizeof name)
                continue;
            if (lstat(name, &st) == 0 && S_ISDIR(st.st_mode))
                remove_folder(name, depth + 1);
            else
                unlink(name);
        }
        if (d)
            closedir(d);
        if (rmdir(path) == 0 || errno != ENOTEMPTY)
            return;
        poll(NULL, 0, 1);
    }
}

static void *wait_for_signal(void *unused)
{
    while (sem_wait(&cleanup.wake) != 0)
        ;
    int number = cleanup.signal;
    sigset_t only;
    if (!number)
        return unused;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO); /* what now fails, since its files are gone, is of no interest */
    tn_outputs_drop();
    if (cleanup.tmp)
        remove_folder(cleanup.tmp, 0);
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* all other threads may have it blocked */
    kill(getpid(), number);
    return unused;
}

/* The folder, locked, if that name stands for one of this user that nobody has locked; else -1. */
static int lock_folder(const char *name)
{
    struct stat it, there;
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &it) != 0 || it.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) != 0 ||
                    lstat(name, &there) != 0 || it.st_dev != there.st_dev || it.st_ino != there.st_ino)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Folders of processes that were killed: theirs are not locked any more. A large TMPDIR is not read to its end. */
static void remove_left_folders(const char *tmp)
{
    char name[4096];
    DIR *d = opendir(tmp);
    struct dirent *e;
    for (int i = 0; d && i < MAX_READ && (e = readdir(d)); i++) {
        size_t n = sizeof FOLDER - 1;
        if (strncmp(e->d_name, FOLDER, n) != 0 || strlen(e->d_name) != n + 6 ||
            (size_t)snprintf(name, sizeof name, "%s/%s", tmp, e->d_name) >= sizeof name)
            continue;
        int fd = lock_folder(name);
        if (fd >= 0) {
            remove_folder(name, 0);
            close(fd);
        }
    }
    if (d)
        closedir(d);
}

/* A new folder. Before it is locked another process may take it for one that was left: then there is another. Without
 * a lock, where the file system has none, no process removes it. */
static bool make_folder(const char *tmp, char *name, size_t room)
{
    struct stat st;
    for (int i = 0; i < TRIES; i++) {
        if ((size_t)snprintf(name, room, "%s/%sXXXXXX", tmp, FOLDER) >= room || !mkdtemp(name))
            return false;
        cleanup.lock = lock_folder(name);
        int fd = cleanup.lock < 0 ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        bool lockless = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno != EWOULDBLOCK;
        if (fd >= 0)
            close(fd);
        if ((cleanup.lock >= 0 || lockless) && stat(name, &st) == 0)
            return true;
    }
    return false;
}

static void make_private_tmp(void)
{
    const char *tmp = getenv("TMPDIR");
    char name[256];
    tmp = tmp && *tmp ? tmp : "/tmp";
    remove_left_folders(tmp);
    if (!make_folder(tmp, name, sizeof name))
        return; /* who needs a temporary file will say that there is no place for it */
    cleanup.tmp = strdup(name);
    cleanup.old_tmp = strdup(tmp);
    if (cleanup.tmp)
        setenv("TMPDIR", name, 1);
    else
        rmdir(name);
}

static void hold_signals(sigset_t *old)
{
    sigset_t all;
    sigemptyset(&all);
    for (int i = 0; i < N_CAUGHT; i++)
        sigaddset(&all, caught[i]);
    pthread_sigmask(SIG_BLOCK, &all, old);
}

void tn_cleanup_begin(bool private_tmp)
{
    sigset_t mask;
    hold_signals(&mask);
    if (private_tmp)
        make_private_tmp();
    cleanup.signal = 0;
    sem_init(&cleanup.wake, 0, 0);
    cleanup.on = pthread_create(&cleanup.thread, NULL, wait_for_signal, NULL) == 0;
    struct sigaction old, now = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&now.sa_mask);
    for (int i = 0; i < N_CAUGHT && cleanup.on; i++)
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) /* nohup stays */
            sigaction(caught[i], &now, NULL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void tn_cleanup_end(void)
{
    struct sigaction old;
    sigset_t mask;
    hold_signals(&mask);
    if (cleanup.on) {
        sem_post(&cleanup.wake);
        pthread_join(cleanup.thread, NULL);
    }
    sem_destroy(&cleanup.wake);
    if (cleanup.tmp) {
        rmdir(cleanup.tmp);
        if (cleanup.lock >= 0)
            close(cleanup.lock);
        setenv("TMPDIR", cleanup.old_tmp ? cleanup.old_tmp : "/tmp", 1);
    }
    free(cleanup.tmp);
    free(cleanup.old_tmp);
    cleanup.tmp = cleanup.old_tmp = NULL;
    cleanup.on = false;
    for (int i = 0; i < N_CAUGHT; i++)
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler == on_signal)
            signal(caught[i], SIG_DFL);
    if (cleanup.signal) /* on another thread, just now */
        kill(getpid(), cleanup.signal);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}
