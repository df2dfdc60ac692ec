/* Files. A mapped file must not be truncated by others while it is mapped (the kernel raises SIGBUS).
 * Devices and pipes (`-o /dev/stdout`) are written directly: renaming over them would replace them. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tn_status open_failed(tn_ctx *ctx, const char *path, int err)
{
    tn_loc loc = {.file = path};
    return tn_error(ctx, "base-E001", &loc, "cannot open the file: %s", strerror(err));
}

tn_status tn_file_map(tn_ctx *ctx, const char *path, tn_file *out_file)
{
    static const uint8_t empty[1];
    tn_loc loc = {.file = path};
    *out_file = (tn_file){.at = empty};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang us */
    if (fd < 0) {
        return open_failed(ctx, path, errno);
    }
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return tn_error(ctx, "base-E002", &loc, "not a regular file; give the path of a file");
    }
    tn_status status = TN_OK;
    if (st.st_size > 0) {
        bool fits = (uintmax_t)st.st_size <= SIZE_MAX;
        errno = EFBIG;
        void *p = fits ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
        if (p == MAP_FAILED) {
            status = open_failed(ctx, path, errno);
        } else {
            *out_file = (tn_file){.at = p, .n = (size_t)st.st_size, .mapped = 1};
        }
    }
    close(fd);
    return status;
}

void tn_file_cool(const tn_file *f)
{
    if (f->mapped)
        (void)madvise((void *)(uintptr_t)f->at, f->n, MADV_DONTNEED); /* read-only: they come back from the file */
}

void tn_file_unmap(tn_file *f)
{
    if (f->mapped) {
        munmap((void *)(uintptr_t)f->at, f->n);
    }
    *f = (tn_file){0};
}

/* 0 or errno. */
static int write_all(int fd, const char *at, size_t n)
{
    while (n) {
        ssize_t k = write(fd, at, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (k < 0 && errno != EINTR) {
            return errno;
        }
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        }
    }
    return 0;
}

static int write_direct(const char *path, int flags, const void *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
    int err = fd < 0 ? errno : write_all(fd, data, n);
    if (fd >= 0 && close(fd) != 0 && !err) {
        err = errno;
    }
    return err;
}

/* Opens a new file beside `path`, its name in *out_name (heap). mkstemp would ignore the umask. */
static int open_beside(const char *path, char **out_name, int *out_fd)
{
    size_t room = strlen(path) + 48;
    char *name = malloc(room);
    *out_name = NULL;
    if (!name) {
        return ENOMEM;
    }
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, room, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        *out_fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*out_fd >= 0) {
            *out_name = name;
            return 0;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    int err = errno;
    free(name);
    return err;
}

static int write_and_rename(const char *path, const void *data, size_t n)
{
    char *name;
    int fd = -1;
    int err = open_beside(path, &name, &fd);
    if (err) {
        return err;
    }
    err = write_all(fd, data, n);
    if (!err && fsync(fd) != 0) {
        err = errno;
    }
    if (close(fd) != 0 && !err) {
        err = errno;
    }
    if (!err && rename(name, path) != 0) {
        err = errno;
    }
    if (err) {
        unlink(name);
    }
    free(name);
    return err;
}

static tn_status report(tn_ctx *ctx, const char *path, int err)
{
    tn_loc loc = {.file = path};
    return err ? tn_error(ctx, "base-E003", &loc, "cannot write the file: %s", strerror(err)) : TN_OK;
}

tn_status tn_file_write(tn_ctx *ctx, const char *path, const void *data, size_t n)
{
    struct stat st;
    int err;
    if (stat(path, &st) != 0) {
        err = write_and_rename(path, data, n);
    } else if (S_ISDIR(st.st_mode)) {
        err = EISDIR;
    } else if (!S_ISREG(st.st_mode)) {
        err = write_direct(path, 0, data, n);
    } else {
        char *target = realpath(path, NULL); /* through a symbolic link: replace what it names */
        err = target ? write_and_rename(target, data, n) : errno;
        free(target);
    }
    return report(ctx, path, err);
}

tn_status tn_file_write_temporary(tn_ctx *ctx, const char *path, const void *data, size_t n)
{
    return report(ctx, path, write_direct(path, O_CREAT | O_EXCL, data, n));
}
