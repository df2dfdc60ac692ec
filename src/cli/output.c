/* Writing output files: beside the target, synced, renamed over it. */
#include "cli/output.h"
#include "cli/args.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *at, size_t n)
{
    while (n) {
        ssize_t k = write(fd, at, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (k < 0 && errno != EINTR)
            return errno;
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        }
    }
    return 0;
}

static int write_and_close(int fd, const void *data, size_t n, bool sync)
{
    int err = write_all(fd, data, n);
    if (!err && sync && fsync(fd) != 0)
        err = errno;
    if (close(fd) != 0 && !err)
        err = errno;
    return err;
}

static int write_direct(const char *path, const void *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? errno : write_and_close(fd, data, n, false);
}

static int write_and_rename(const char *path, const void *data, size_t n)
{
    size_t room = strlen(path) + 48;
    char *name = malloc(room);
    int fd = -1, err = name ? EEXIST : ENOMEM;
    for (unsigned i = 0; err == EEXIST && i < 100; i++) { /* mkstemp would ignore the umask */
        snprintf(name, room, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        err = fd < 0 ? errno : 0;
    }
    if (!err) {
        err = write_and_close(fd, data, n, true);
        if (!err && rename(name, path) != 0)
            err = errno;
        if (err)
            unlink(name);
    }
    free(name);
    return err;
}

int tn_output_write(const char *path, const void *data, size_t n)
{
    struct stat st;
    int err;
    if (stat(path, &st) != 0) {
        err = write_and_rename(path, data, n);
    } else if (S_ISDIR(st.st_mode)) {
        err = EISDIR;
    } else if (!S_ISREG(st.st_mode)) {
        err = write_direct(path, data, n);
    } else {
        char *target = realpath(path, NULL); /* through a symbolic link: replace what it names */
        err = target ? write_and_rename(target, data, n) : errno;
        free(target);
    }
    return err ? tn_error_print("%s: cannot write the file: %s", path, strerror(err)) : TN_EXIT_OK;
}
