/* Writing output files.
 *
 * A temporary file is locked (flock) until it has its place or is gone. The names are the same for all processes, so
 * the next one that writes to a place finds what a killed one left there: a file without a lock, which it removes. Who
 * made a file and who removes one both look, lock held, whether the name still stands for it. Where a file system has
 * no locks, what a killed process left stays.
 *
 * The list is an array of names that live until their file has its place. It changes, and files are made and renamed,
 * only between begin_change and end_change: no signal handler runs on that thread meanwhile, and tn_outputs_drop waits
 * for the others, having told them that it is over. It is the one state of base that is not a constant: a
 * handler has no other way to reach anything. */
#include "base/output.h"
#include "base/process.h"
#include "base/guard.h"
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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 256, TRIES = 1000, PIECE = 4 << 20 };
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
    tn_processes_kill();
    atomic_store(&over, true);
    while (atomic_load(&changing))
        poll(NULL, 0, 1);
    for (size_t i = 0; i < MOST; i++) {
        char *name = atomic_load(&listed[i]);
        if (name)
            unlink(name);
    }
}

static bool list_name(char *from, char *to)
{
    for (size_t i = 0; i < MOST; i++) {
        char *was = from;
        if (atomic_compare_exchange_strong(&listed[i], &was, to))
            return true;
    }
    return false;
}

/* Does the name stand for that open file? */
static bool stands_for(const char *name, int fd)
{
    struct stat it, there;
    return fstat(fd, &it) == 0 && lstat(name, &there) == 0 && it.st_dev == there.st_dev &&
           it.st_ino == there.st_ino;
}

/* Removes a file of this user that nobody has locked: whoever made it was killed. */
static bool remove_left(const char *name)
{
    struct stat st;
    int fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool gone = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                flock(fd, LOCK_EX | LOCK_NB) == 0 && stands_for(name, fd) && unlink(name) == 0;
    close(fd);
    return gone;
}

/* A new file of that name (mkstemp would ignore the umask), locked where there are locks; EEXIST: another has it. */
static int create(tn_output *o, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    o->fd = open(o->temporary, flags, mode);
    int err = o->fd < 0 ? errno : 0;
    if (err == EEXIST && remove_left(o->temporary)) {
        o->fd = open(o->temporary, flags, mode);
        err = o->fd < 0 ? errno : 0;
    }
    if (err)
        return err;
    bool taken = flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (taken || !stands_for(o->temporary, o->fd)) { /* by one that removes it, before it was locked */
        close(o->fd);
        o->fd = -1;
        return EEXIST;
    }
    return 0;
}

static int make(tn_output *o, mode_t mode)
{
    sigset_t old;
    int err = 0;
    begin_change(&old);
    bool end = atomic_load(&over);
    if (!end && !list_name(NULL, o->temporary)) {
        err = EMFILE;
    } else if (!end) {
        err = create(o, mode);
        if (err)
            (void)list_name(o->temporary, NULL);
    }
    end_change(&old);
    return end ? wait_for_the_end() : err;
}

static char *temporary_name(const char *place, unsigned i)
{
    size_t room = strlen(place) + 48;
    char *name = malloc(room);
    if (name)
        snprintf(name, room, "%s.tenon-%u.tmp", place, i);
    return name;
}

static int open_beside(tn_output *o, mode_t mode)
{
    int err = EEXIST;
    unsigned i = 0;
    for (; i < TRIES && err == EEXIST; i++) {
        free(o->temporary);
        o->temporary = temporary_name(o->place, i);
        err = o->temporary ? make(o, mode) : ENOMEM;
    }
    for (bool more = !err; more; i++) { /* what several killed processes left */
        char *name = temporary_name(o->place, i);
        more = name && remove_left(name);
        free(name);
    }
    return err;
}

static void forget(tn_output *o)
{
    free(o->temporary);
    free(o->place);
    *o = (tn_output){.fd = -1, .lock = -1};
}

int tn_output_open(tn_output *o, const char *path)
{
    struct stat st;
    int err = 0;
    *o = (tn_output){.fd = -1, .lock = -1, .durable = true};
    bool there = stat(path, &st) == 0;
    if (!there && lstat(path, &st) == 0)
        return ENOENT; /* a link to nothing: such as /dev/stdout where that is closed */
    if (there && S_ISDIR(st.st_mode))
        return EISDIR;
    if (there && !S_ISREG(st.st_mode)) {
        o->fd = open(path, O_WRONLY | O_CLOEXEC);
        return o->fd < 0 ? errno : 0;
    }
    o->place =
        there ? realpath(path, NULL) : strdup(path); /* through a symbolic link: replace what it names */
    err = o->place ? open_beside(o, 0666) : errno;
    if (err)
        forget(o);
    return err;
}

int tn_output_open_private(tn_output *o, const char *path)
{
    *o = (tn_output){.fd = -1, .lock = -1, .place = strdup(path)};
    int err = o->place ? open_beside(o, 0600) : ENOMEM;
    if (err)
        forget(o);
    return err;
}

int tn_output_open_temporary(tn_output *o, const char *path)
{
    *o = (tn_output){.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), .lock = -1};
    return o->fd < 0 ? errno : 0;
}

void tn_output_add(tn_output *o, const void *data, size_t n)
{
    const char *at = data;
    while (n && !o->error) {
        ssize_t k = write(o->fd, at, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (k < 0 && errno != EINTR)
            o->error = errno;
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        }
    }
}

void tn_sink_add(tn_sink *s, const void *data, size_t n)
{
    const char *at = data;
    s->n += n;
    while (n) { /* in pieces, because the call may be to end */
        size_t k = n < PIECE ? n : PIECE;
        tn_poll_now();
        if (s->sum)
            tn_sha256_add(s->sum, at, k);
        if (s->output)
            tn_output_add(s->output, at, k);
        else if (s->buf)
            tn_buf_add(s->buf, at, k);
        at += k;
        n -= k;
    }
}

int tn_output_finish(tn_output *o)
{
    if (o->fd < 0)
        return o->error;
    if (!o->error && o->temporary && o->durable && fsync(o->fd) != 0)
        o->error = errno;
    if (o->temporary)
        o->lock = fcntl(o->fd, F_DUPFD_CLOEXEC, 0); /* keeps the lock until the file has its place */
    if (close(o->fd) != 0 && !o->error)
        o->error = errno;
    o->fd = -1;
    return o->error;
}

/* Returns 0 or an error of renaming. */
static int settle(tn_output *o, bool keep)
{
    int err = keep && rename(o->temporary, o->place) != 0 ? errno : 0;
    if (!keep || err)
        unlink(o->temporary);
    (void)list_name(o->temporary, NULL);
    if (o->lock >= 0)
        close(o->lock);
    return err;
}

int tn_outputs_close(int n, tn_output *const o[], bool keep)
{
    sigset_t old;
    int err = 0;
    for (int i = 0; i < n; i++) {
        o[i]->durable = o[i]->durable && keep;
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
    if (end)
        return wait_for_the_end(); /* the names stay listed */
    for (int i = 0; i < n; i++)
        forget(o[i]);
    return err;
}

void tn_output_abandon(tn_resource *r)
{
    tn_output *o = r->at;
    (void)tn_outputs_close(1, &o, false);
}
