/* Interrupts. A handler may only wake somebody, so a thread waits for it, removes what the libraries and
 * tn_output_write may have left half done, and ends the process by the same signal.
 *
 * The one state that is not on a stack in src/cli: a signal handler has no other way to reach anything. */
#include "cli/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    sem_t wake;
    pthread_t thread;
    bool on;
    volatile sig_atomic_t signal; /* 0: none yet */
    char *target;                 /* the file whose temporaries go, links resolved; NULL: none */
    char *tmp, *old_tmp;          /* our folder in TMPDIR, NULL: none; what TMPDIR was */
} cleanup;

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_CAUGHT = sizeof caught / sizeof *caught, MAX_DEPTH = 4 };

static void on_signal(int number)
{
    cleanup.signal = number;
    sem_post(&cleanup.wake);
}

/* The folder's content, then the folder. What lies there is the linker's and the compiler's, a few files deep. */
static void remove_folder(const char *path, int depth)
{
    DIR *d = depth < MAX_DEPTH ? opendir(path) : NULL;
    struct stat st;
    char name[4096];
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
    rmdir(path);
}

static void remove_temporaries(const char *target)
{
    char name[4096];
    for (int i = 0; i < 4; i++)
        if ((size_t)snprintf(name, sizeof name, "%s.%ld-%d.tmp", target, (long)getpid(), i) < sizeof name)
            unlink(name);
}

static void *wait_for_signal(void *unused)
{
    while (sem_wait(&cleanup.wake) != 0)
        ;
    int number = cleanup.signal;
    if (!number)
        return unused;
    if (cleanup.tmp)
        remove_folder(cleanup.tmp, 0);
    if (cleanup.target)
        remove_temporaries(cleanup.target);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    return unused;
}

static void make_private_tmp(void)
{
    const char *tmp = getenv("TMPDIR");
    char name[256];
    tmp = tmp && *tmp ? tmp : "/tmp";
    if ((size_t)snprintf(name, sizeof name, "%s/tenon-XXXXXX", tmp) >= sizeof name || !mkdtemp(name))
        return; /* who needs a temporary file will say that there is no place for it */
    cleanup.tmp = strdup(name);
    cleanup.old_tmp = strdup(tmp);
    if (cleanup.tmp)
        setenv("TMPDIR", name, 1);
    else
        rmdir(name);
}

void tn_cleanup_begin(const char *path, bool private_tmp)
{
    if (path)
        cleanup.target = realpath(path, NULL);
    if (path && !cleanup.target)
        cleanup.target = strdup(path);
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
}

void tn_cleanup_end(void)
{
    struct sigaction old;
    for (int i = 0; i < N_CAUGHT; i++)
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler == on_signal)
            signal(caught[i], SIG_DFL);
    if (cleanup.on) {
        sem_post(&cleanup.wake);
        pthread_join(cleanup.thread, NULL);
    }
    sem_destroy(&cleanup.wake);
    if (cleanup.tmp) {
        rmdir(cleanup.tmp);
        setenv("TMPDIR", cleanup.old_tmp ? cleanup.old_tmp : "/tmp", 1);
    }
    free(cleanup.tmp);
    free(cleanup.old_tmp);
    free(cleanup.target);
    cleanup.tmp = cleanup.old_tmp = cleanup.target = NULL;
    cleanup.on = false;
}
