/* A compiled library: bytes -> dlopen -> query -> may it run here? */
#include "runtime/library.h"

#include "base/cpu.h"
#include "base/wire/elf.h"
#include "base/wire/sum.h"
#include "runtime/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ENTRY = 256 };

static bool write_all(int fd, const uint8_t *data, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, data, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        n -= (size_t)done;
    }
    return true;
}

static bool open_memfd(const void *data, size_t n, tnr_shared_object *o)
{
    char path[40];
    o->fd = memfd_create("mod.so", MFD_CLOEXEC);
    if (o->fd >= 0 && write_all(o->fd, data, n)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", o->fd);
        o->handle = dlopen(path, RTLD_LOCAL | RTLD_NOW);
    }
    if (o->handle)
        return true;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    return false;
}

static tnr_status open_temp_file(const void *data, size_t n, tnr_shared_object *o, tnr_error *err)
{
    const char *dir = getenv("TMPDIR");
    char path[512];
    int len = snprintf(path, sizeof path, "%s/tenon-XXXXXX.so", dir && *dir ? dir : "/tmp");
    int fd = len > 0 && len < (int)sizeof path ? mkstemps(path, 3) : -1; /* mode 0600 */
    if (fd < 0)
        return tnr_fail(err, TNR_E_IO, 0, "the library cannot be unpacked: no temporary file in %.400s: %s",
                        dir && *dir ? dir : "/tmp", strerror(errno));
    bool written = write_all(fd, data, n);
    int error = errno;
    const char *why = NULL;
    if (close(fd) == 0 && written) {
        o->handle = dlopen(path, RTLD_LOCAL | RTLD_NOW);
        why = o->handle ? NULL : dlerror();
    }
    unlink(path);
    if (!written)
        return tnr_fail(err, TNR_E_IO, 0, "the library cannot be unpacked: %s", strerror(error));
    if (!o->handle)
        return tnr_fail(err, TNR_E_FORMAT, 0, "the library cannot be loaded: %.400s",
                        why ? why : "unknown reason");
    return TNR_OK;
}

static tnr_status refuse_version(const char *why, tnr_error *err)
{
    return why ? tnr_fail(err, TNR_E_VERSION, 0, "the library cannot run: %s", why) : TNR_OK;
}

/* The loader trusts what it maps: a cut file would end the process by a signal. */
static tnr_status examine(const void *data, size_t n, tn_elf *out, tnr_error *err)
{
    const char *why = tn_elf_read(data, n, out);
    if (why)
        return tnr_fail(err, TNR_E_FORMAT, 0, "the library is damaged: %s; compile the model again", why);
    if (tn_elf_machine() && out->machine != tn_elf_machine())
        return tnr_fail(err, TNR_E_CPU, 0,
                        "this package is for another kind of machine (ELF machine %u, this one is %u)",
                        out->machine, tn_elf_machine());
    char text[200];
    return refuse_version(tn_elf_refuse(out, TENON_ABI_OLDEST, TENON_ABI_VERSION, text), err);
}

union code { /* C has no cast from an object pointer to a function */
    void *object;
    tn_library_query_fn *query;
    tn_bundle_fn *bundle;
};

static tnr_status query(tn_library_query_fn *ask, const tn_library **out_library, tnr_error *err)
{
    const tn_library *library = ask(TENON_ABI_VERSION);
    if (!library)
        return tnr_fail(err, TNR_E_VERSION, 0,
                        "this package needs a newer runtime: its kernels use an ABI above version %u; update "
                        "Tenon or compile the model again",
                        TENON_ABI_VERSION);
    *out_library = library;
    return tnr_library_permit(library, err);
}

static tnr_status query_package(tnr_shared_object *o, const tn_library **out_library, tnr_error *err)
{
    union code symbol = {.object = dlsym(o->handle, TENON_QUERY_SYMBOL)};
    if (!symbol.object)
        return tnr_fail(err, TNR_E_VERSION, 0,
                        "the library has no symbol " TENON_QUERY_SYMBOL
                        ": Tenon did not make it; compile the model again");
    return query(symbol.query, out_library, err);
}

tnr_status tnr_library_open(const void *data, size_t n, bool temp_file, tnr_shared_object *out_object,
                            const tn_library **out_library, tnr_error *err)
{
    tn_elf e;
    tnr_shared_object o = {.fd = -1};
    tnr_status status = examine(data, n, &e, err);
    if (!status && (temp_file || !open_memfd(data, n, &o)))
        status = open_temp_file(data, n, &o, err);
    if (!status)
        status = query_package(&o, out_library, err);
    if (status)
        tnr_library_close(&o);
    else
        *out_object = o;
    return status;
}

static tnr_status check_sums(const void *data, size_t n, const tn_elf *e, uint32_t flags, tnr_error *err)
{
    bool code = tn_sum_check_code(data, n, e) != TN_SUM_WRONG;
    if (code && (!(flags & TNR_MODULE_CHECK_WEIGHTS) || tn_sum_check_weights(data, n, e) != TN_SUM_WRONG))
        return TNR_OK;
    return tnr_fail(err, TNR_E_FORMAT, 0,
                    "the library is damaged: its %s do not match their checksum; copy it again or compile "
                    "the model again",
                    code ? "weights" : "contents");
}

/* entry: the name of the function it is opened by, "" if there is none. */
static tnr_status examine_file(const char *path, uint32_t flags, char entry[MAX_ENTRY], tnr_error *err)
{
    struct stat st;
    tn_elf e;
    tnr_status status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    void *at = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        status = tnr_fail(err, TNR_E_IO, 0, "cannot map %.400s: %s", path, strerror(errno));
    } else {
        status = examine(at, n, &e, err);
        if (!status)
            status = check_sums(at, n, &e, flags, err);
        bool named = !status && e.entry && e.entry_n < MAX_ENTRY;
        memcpy(entry, named ? e.entry : "", named ? e.entry_n : 0);
        entry[named ? e.entry_n : 0] = 0;
        munmap(at, n);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

static tnr_status query_bundle(tnr_shared_object *o, const char *entry, const tn_library **out_library,
                               tnr_span *out_params, tnr_error *err)
{
    union code symbol = {.object = *entry ? dlsym(o->handle, entry) : NULL};
    if (!symbol.object && dlsym(o->handle, TENON_QUERY_SYMBOL))
        return tnr_fail(err, TNR_E_FORMAT, 0,
                        "this library contains kernels without weights, like the mod.so of a package; open "
                        "the package instead");
    if (!symbol.object)
        return tnr_fail(err, TNR_E_FORMAT, 0,
                        "this library contains no model: it was not made by Tenon, or by an older version of "
                        "it; compile the model again");
    const tn_bundle *b = symbol.bundle();
    *out_params = (tnr_span){b->params, (size_t)b->params_bytes};
    return query(b->query, out_library, err);
}

tnr_status tnr_library_open_file(const char *path, uint32_t flags, tnr_shared_object *out_object,
                                 const tn_library **out_library, tnr_span *out_params, tnr_error *err)
{
    char entry[MAX_ENTRY] = "";
    tnr_shared_object o = {.fd = -1};
    tnr_status whole = examine_file(path, flags, entry, err);
    if (whole)
        return whole;
    char *real = realpath(path, NULL); /* a name without a slash would be searched for elsewhere */
    o.handle = real ? dlopen(real, RTLD_LOCAL | RTLD_NOW) : NULL;
    free(real);
    if (!o.handle) {
        const char *why = dlerror();
        return tnr_fail(err, TNR_E_FORMAT, 0, "%.400s cannot be loaded: %.400s", path,
                        why ? why : "unknown reason");
    }
    tnr_status status = query_bundle(&o, entry, out_library, out_params, err);
    if (status)
        tnr_library_close(&o);
    else
        *out_object = o;
    return status;
}

void tnr_library_close(tnr_shared_object *object)
{
    if (object->handle)
        dlclose(object->handle);
    if (object->fd >= 0)
        close(object->fd);
    *object = (tnr_shared_object){.fd = -1};
}

tnr_status tnr_library_permit(const tn_library *library, tnr_error *err)
{
    char text[200];
    tnr_status version =
        refuse_version(tn_elf_refuse_abi(library->version, TENON_ABI_OLDEST, TENON_ABI_VERSION, text), err);
    if (version)
        return version;
    tn_cpu_set cpu = library->n_feature ? tn_cpu_detect() : (tn_cpu_set){0}; /* which takes a while */
    for (uint32_t i = 0; library->feature && i < library->n_feature; i++) {
        const char *name = library->feature[i];
        if (!name)
            return tnr_fail(err, TNR_E_FORMAT, 0, "the library is damaged: a CPU feature without a name");
        if (!tn_cpu_set_has(cpu, name))
            return tnr_fail(err, TNR_E_CPU, 0,
                            "this package needs CPU feature \"%.400s\", which this machine lacks", name);
        if (!tn_cpu_permit(name))
            return tnr_fail(err, TNR_E_CPU, 0,
                            "this package needs CPU feature \"%.400s\", which this system does not allow the "
                            "process to use",
                            name);
    }
    return TNR_OK;
}
