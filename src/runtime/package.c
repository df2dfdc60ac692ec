/* Package files: a tar with mod.so, mod.params, mod.json where the graph is static, and the files of modules; nothing
 * else. */
#include "runtime/package.h"

#include "base/wire/sum.h"
#include "base/wire/tar.h"
#include "runtime/error.h"
#include "runtime/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_named(const tn_tar_entry *e, const char *name)
{
    return strlen(name) == e->name_n && memcmp(name, e->name, e->name_n) == 0;
}

static tnr_status unexpected(const tn_tar_entry *e, tnr_error *err)
{
    const char *why = NULL;
    int n = (int)(e->name_n < 80 ? e->name_n : 80);
    if (is_named(e, "metadata.json"))
        why = "it is a model library (MLF) for microcontrollers, which is built into firmware, not run";
    else if (is_named(e, "lib.so") || is_named(e, "lib.tar"))
        why = "it is a package for the VM executor of TVM, which this runtime does not have";
    else if (is_named(e, "mod.tar"))
        why = "its code is object files; compile it with --output-format so";
    if (why)
        return tnr_fail(err, TNR_E_FORMAT, e->offset, "this package cannot be run: it contains %.*s: %s", n,
                        e->name, why);
    return tnr_fail(err, TNR_E_FORMAT, e->offset,
                    "not a package: a package is a tar of mod.so, mod.json and mod.params, without \"%.*s\"",
                    n, e->name);
}

static tnr_status missing(const char *name, tnr_error *err)
{
    return tnr_fail(err, TNR_E_FORMAT, 0, "not a package: %.100s is missing", name);
}

/* "mod.1.library": a file that mod.so may name. */
static bool is_module(const tn_tar_entry *e)
{
    return e->name_n > 5 && memcmp(e->name, "mod.", 4) == 0 && e->name[4] >= '1' && e->name[4] <= '9';
}

static tnr_status find_parts(const void *data, size_t n, tnr_package *p, tnr_error *err)
{
    struct {
        const char *name;
        tnr_span *part;
    } row[] = {{"mod.so", &p->so}, {"mod.params", &p->params}, {"mod.json", &p->json}, {"mod.sum", &p->sum}};
    tn_tar tar = tn_tar_open(data, n);
    tn_tar_entry e;
    while (tn_tar_next(&tar, &e) == 1) {
        tnr_span *part = NULL;
        if (e.name_n > 2 && memcmp(e.name, "./", 2) == 0) {
            e.name += 2;
            e.name_n -= 2;
        }
        for (size_t i = 0; i < 4; i++)
            if (is_named(&e, row[i].name))
                part = row[i].part;
        if (part && part->at)
            return tnr_fail(err, TNR_E_FORMAT, e.offset, "the package is damaged: it contains \"%.*s\" twice",
                            (int)e.name_n, e.name);
        if (part)
            *part = (tnr_span){e.at, e.n};
        else if (is_module(&e) && p->n_file < TNR_MAX_MODULE)
            p->file[p->n_file++] = e;
        else
            return unexpected(&e, err);
    }
    if (tar.error)
        return tnr_fail(err, TNR_E_FORMAT, tar.pos, "the package is not a valid tar file: %.400s at byte %zu",
                        tar.error, tar.pos);
    for (size_t i = 0; i < 2; i++)
        if (!row[i].part->at)
            return missing(row[i].name, err);
    return TNR_OK;
}

/* Packages of older versions have no checksums. */
static tnr_status check_sum(const tnr_package *p, const char *name, tnr_span part, tnr_error *err)
{
    if (!p->sum.at || tn_sum_check(p->sum.at, p->sum.n, name, part.at, part.n) == TN_SUM_RIGHT)
        return TNR_OK;
    return tnr_fail(err, TNR_E_FORMAT, 0,
                    "the package is damaged: %.100s does not match its checksum in mod.sum; copy the package "
                    "again or compile the model again",
                    name);
}

static tnr_status read_tar(const void *data, size_t n, uint32_t flags, tnr_package *p, tnr_error *err)
{
    tnr_status status = find_parts(data, n, p, err);
    if (!status)
        status = check_sum(p, "mod.so", p->so, err);
    if (!status && p->json.at)
        status = check_sum(p, "mod.json", p->json, err);
    if (!status && flags & TNR_MODULE_CHECK_WEIGHTS)
        status = check_sum(p, "mod.params", p->params, err);
    return status;
}

tnr_status tnr_package_take(tnr_package *p, const char *name, tnr_span *out, tnr_error *err)
{
    for (uint32_t i = 0; i < p->n_file; i++)
        if (is_named(&p->file[i], name)) {
            *out = (tnr_span){p->file[i].at, p->file[i].n};
            p->file[i] = p->file[--p->n_file];
            return check_sum(p, name, *out, err);
        }
    return missing(name, err);
}

tnr_status tnr_package_finish(const tnr_package *package, tnr_error *err)
{
    return package->n_file ? unexpected(&package->file[0], err) : TNR_OK;
}

tnr_status tnr_package_open_memory(const void *data, size_t n, uint32_t flags, tnr_package *out_package,
                                   tnr_error *err)
{
    tnr_package p = {.n = n};
    tnr_status status = read_tar(data, n, flags, &p, err);
    if (!status)
        *out_package = p;
    return status;
}

static bool read_all(int fd, uint8_t *to, size_t n)
{
    while (n > 0) {
        ssize_t got = read(fd, to, n < (1u << 30) ? n : 1u << 30);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

static tnr_status take_file(int fd, size_t n, const char *path, bool read, tnr_package *p, tnr_error *err)
{
    if (read) {
        p->owned = tnr_mem_aligned(n);
        if (!p->owned)
            return tnr_fail_memory(err, n);
        if (!read_all(fd, p->owned, n))
            return tnr_fail(err, TNR_E_IO, 0, "cannot read %.400s: %s", path, strerror(errno));
        return TNR_OK;
    }
    void *at = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return tnr_fail(err, TNR_E_IO, 0, "cannot map %.400s: %s", path, strerror(errno));
    (void)madvise(at, n, MADV_WILLNEED); /* the first run should not wait for the disk page by page */
    p->owned = at;
    p->mapped = true;
    return TNR_OK;
}

bool tnr_package_is_library(const char *path)
{
    char magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool elf = fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    if (fd >= 0)
        close(fd);
    return elf;
}

tnr_status tnr_package_open(const char *path, uint32_t flags, tnr_package *out_package, tnr_error *err)
{
    struct stat st;
    tnr_package p = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return tnr_fail(err, TNR_E_IO, 0, "cannot open %.400s: %s", path, strerror(error));
    }
    tnr_status status = TNR_OK;
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > SIZE_MAX / 2)
        status = tnr_fail(err, TNR_E_IO, 0, "cannot open %.400s: not a file, or empty", path);
    p.n = status ? 0 : (size_t)st.st_size;
    if (!status)
        status = take_file(fd, p.n, path, flags & TNR_MODULE_READ, &p, err);
    close(fd);
    if (!status)
        status = read_tar(p.owned, p.n, flags, &p, err);
    if (status)
        tnr_package_close(&p);
    else
        *out_package = p;
    return status;
}

void tnr_package_close(tnr_package *package)
{
    if (package->owned && package->mapped)
        munmap(package->owned, package->n);
    else
        tnr_mem_free(package->owned);
    *package = (tnr_package){0};
}
