/* Writing output files.
 *
 * The list is an array of names that live until their file has its place. It changes, and files are made and renamed,
 * only between begin_change and end_change: no signal handler runs on that thread meanwhile, and tn_outputs_drop waits
 * for the others, having told them that it is over. It is the one state of base that is not a constant: a
 * handler has no other way to reach anything. */
#include "base/output.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 256, TRIES = 1000 };
static _Atomic(char *) listed[MOST];
static atomic_int changing;
static atomic_bool over;

static void begin_change(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, old);
    atomic_fetch_add(&changing, 1);
}

static void end_change(const sigset_t *old)
{
    atomic_fetch_sub(&changing, 1);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* The process ends in a moment: what it would say about that is of no interest. */
static int wait_for_the_end(void)
{
    poll(NULL, 0, 1000);
    return EINTR;
}

void tn_outputs_drop(void)
{
    atomic_store(&over, true);
    while (atomic_load(&changing)) {
        poll(NULL, 0, 1);
    }
    for (size_t i = 0; i < MOST; i++) {
        char *name = atomic_load(&listed[i]);
        if (name) {
            unlink(name);
        }
    }
}

static bool list_name(char *from, char *to)
{
    for (size_t i = 0; i < MOST; i++) {
        char *was = from;
        if (atomic_compare_exchange_strong(&listed[i], &was, to)) {
            return true;
        }
    }
    return false;
}

/* A new file of that name (mkstemp would ignore the umask). */
static int make(tn_output *o, mode_t mode)
{
    sigset_t old;
    int err = 0;
    begin_change(&old);
    bool end = atomic_load(&over);
    if (!end && !list_name(NULL, o->temporary)) {
        err = EMFILE;
    } else if (!end) {
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        err = o->fd < 0 ? errno : 0;
        if (err) {
            (void)list_name(o->temporary, NULL);
        }
    }
    end_change(&old);
    return end ? wait_for_the_end() : err;
}

static int open_beside(tn_output *o, mode_t mode)
{
    size_t room = strlen(o->place) + 48;
    int err = EEXIST;
    o->temporary = malloc(room);
    if (!o->temporary) {
        return ENOMEM;
    }
    for (unsigned i = 0; i < TRIES && err == EEXIST; i++) {
        snprintf(o->temporary, room, "%s.%ld-%u.tmp", o->place, (long)getpid(), i);
        err = make(o, mode);
    }
    return err;
}

static void forget(tn_output *o)
{
    free(o->temporary);
    free(o->place);
    *o = (tn_output){.fd = -1};
}

int tn_output_open(tn_output *o, const char *path)
{
    struct stat st;
    int err = 0;
    *o = (tn_output){.fd = -1, .durable = true};
    bool there = stat(path, &st) == 0;
    if (!there && lstat(path, &st) == 0) {
        return ENOENT; /* a link to nothing: such as /dev/stdout where that is closed */
    }
    if (there && S_ISDIR(st.st_mode)) {
        return EISDIR;
    }
    if (there && !S_ISREG(st.st_mode)) {
        o->fd = open(path, O_WRONLY | O_CLOEXEC);
        return o->fd < 0 ? errno : 0;
    }
    o->place = there ? realpath(path, NULL) : strdup(path); /* through a symbolic link: replace what it names */
    err = o->place ? open_beside(o, 0666) : errno;
    if (err) {
        forget(o);
    }
    return err;
}

int tn_output_open_private(tn_output *o, const char *path)
{
    *o = (tn_output){.fd = -1, .place = strdup(path)};
    int err = o->place ? open_beside(o, 0600) : ENOMEM;
    if (err) {
        forget(o);
    }
    return err;
}

int tn_output_open_temporary(tn_output *o, const char *path)
{
    *o = (tn_output){.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    return o->fd < 0 ? errno : 0;
}

void tn_output_add(tn_output *o, const void *data, size_t n)
{
    const char *at = data;
    while (n && !o->error) {
        ssize_t k = write(o->fd, at, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (k < 0 && errno != EINTR) {
            o->error = errno;
        }
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        }
    }
}

void tn_sink_add(tn_sink *s, const void *data, size_t n)
{
    s->n += n;
    if (s->sum) {
        tn_sha256_add(s->sum, data, n);
    }
    if (s->output) {
        tn_output_add(s->output, data, n);
    } else if (s->buf) {
        tn_buf_add(s->buf, data, n);
    }
}

int tn_output_finish(tn_output *o)
{
    if (o->fd < 0) {
        return o->error;
    }
    if (!o->error && o->temporary && o->durable && fsync(o->fd) != 0) {
        o->error = errno;
    }
    if (close(o->fd) != 0 && !o->error) {
        o->error = errno;
    }
    o->fd = -1;
    return o->error;
}

/* Returns 0 or an error of renaming. */
static int settle(tn_output *o, bool keep)
{
    int err = keep && rename(o->temporary, o->place) != 0 ? errno : 0;
    if (!keep || err) {
        unlink(o->temporary);
    }
    (void)list_name(o->temporary, NULL);
    return err;
}

int tn_outputs_close(int n, tn_output *const o[], bool keep)
{
    sigset_t old;
    int err = 0;
    for (int i = 0; i < n; i++) {
        int mine = tn_output_finish(o[i]);
        err = err ? err : mine;
    }
    begin_change(&old);
    bool end = atomic_load(&over);
    for (int i = 0; i < n && !end; i++) {
        int mine = o[i]->temporary ? settle(o[i], keep && !err) : 0;
        err = err ? err : mine;
    }
    end_change(&old);
    if (end) {
        return wait_for_the_end(); /* the names stay listed */
    }
    for (int i = 0; i < n; i++) {
        forget(o[i]);
    }
    return err;
}
