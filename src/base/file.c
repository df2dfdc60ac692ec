/* Files. A mapped file must not be truncated by others while it is mapped (the kernel raises SIGBUS). */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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

static void unmap(tn_resource *r) { munmap(r->at, r->n); }

/* errno, or 0. */
static int map(int fd, const struct stat *st, tn_file *out)
{
    if (st->st_size == 0)
        return 0;
    if ((uintmax_t)st->st_size > SIZE_MAX)
        return EFBIG;
    void *p = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return errno;
    out->mapping->at = p;
    out->at = p;
    out->n = out->mapping->n = (size_t)st->st_size;
    return 0;
}

tn_status tn_file_map(tn_ctx *ctx, const char *path, tn_file *out_file)
{
    static const uint8_t empty[1];
    tn_loc loc = {.file = path};
    *out_file = (tn_file){.at = empty, .mapping = tn_resource_new(unmap)};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang us */
    int err = fd < 0 ? errno : 0;
    struct stat st;
    bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (regular)
        err = map(fd, &st, out_file);
    if (fd >= 0)
        close(fd);
    if (!err && regular)
        return TN_OK;
    tn_file_unmap(out_file);
    out_file->at = empty;
    return err ? open_failed(ctx, path, err)
               : tn_error(ctx, "base-E002", &loc, "not a regular file; give the path of a file");
}

void tn_file_cool(const tn_file *f)
{
    if (f->mapping)
        (void)madvise(f->mapping->at, f->n, MADV_DONTNEED); /* read-only: they come back from the file */
}

void tn_file_unmap(tn_file *f)
{
    tn_resource_end(f->mapping);
    *f = (tn_file){0};
}

tn_status tn_file_report(tn_ctx *ctx, const char *path, int err)
{
    tn_loc loc = {.file = path};
    return err ? tn_error(ctx, "base-E003", &loc, "cannot write the file: %s", strerror(err)) : TN_OK;
}

static int write_part(tn_output *o, const tn_file_part *p)
{
    tn_sink to = {.output = o};
    tn_output_add(o, p->data, p->n);
    if (p->write)
        p->write(p->user, &to);
    return tn_output_finish(o);
}

tn_status tn_files_write(tn_ctx *ctx, int n, const tn_file_part part[])
{
    tn_output *o = tn_alloc_array(TN_FILE_PARTS, sizeof *o), *all[TN_FILE_PARTS] = {NULL};
    tn_resource *held[TN_FILE_PARTS]; /* a call may be to end while a part is written */
    int k = 0, failed = 0, err = 0;
    TN_ASSERT(n <= TN_FILE_PARTS);
    for (int i = 0; i < n; i++)
        held[i] = tn_resource_new(tn_output_abandon);
    while (k < n && !err) {
        err = tn_output_open(all[k] = &o[k], part[failed = k].path);
        held[k]->at = err ? NULL : &o[k];
        k += !err;
    }
    for (int i = 0; i < k && !err; i++)
        err = write_part(all[i], &part[failed = i]);
    for (int i = 0; i < n; i++)
        held[i]->at = NULL;
    int last = tn_outputs_close(k, all, !err);
    for (int i = 0; i < n; i++)
        tn_resource_drop(held[i]);
    tn_free(o);
    return tn_file_report(ctx, part[failed].path, err ? err : last);
}

tn_status tn_file_write(tn_ctx *ctx, const char *path, const void *data, size_t n)
{
    return tn_files_write(ctx, 1, &(tn_file_part){.path = path, .data = data, .n = n});
}

tn_status tn_file_write_temporary(tn_ctx *ctx, const char *path, const void *data, size_t n)
{
    tn_output o;
    int err = tn_output_open_temporary(&o, path);
    if (!err) {
        tn_output_add(&o, data, n);
        err = tn_outputs_close(1, (tn_output *const[]){&o}, true);
    }
    return tn_file_report(ctx, path, err);
}

/* A file in tenon's folder of one kind (XDG Base Directory Specification); `usual` is that of the home folder. */
static bool home_path(const char *variable, const char *usual, const char *name, char *out, size_t room)
{
    const char *xdg = getenv(variable), *home = getenv("HOME");
    int n = -1;
    if (xdg && xdg[0] == '/') /* the specification: others are to be ignored */
        n = snprintf(out, room, "%s/tenon/%s", xdg, name);
    else if (home && home[0] == '/')
        n = snprintf(out, room, "%s/%s/tenon/%s", home, usual, name);
    return n > 0 && (size_t)n < room;
}

bool tn_cache_path(const char *name, char *out, size_t room)
{
    const char *off = getenv("TENON_CACHE");
    return !(off && (strcmp(off, "off") == 0 || strcmp(off, "0") == 0)) &&
           home_path("XDG_CACHE_HOME", ".cache", name, out, room);
}

bool tn_data_path(const char *name, char *out, size_t room)
{
    return home_path("XDG_DATA_HOME", ".local/share", name, out, room);
}

void tn_folders_make(const char *path)
{
    char folder[4096];
    size_t n = strlen(path);
    if (n >= sizeof folder)
        return;
    memcpy(folder, path, n + 1);
    for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(folder, 0700);
        *at = '/';
    }
}
