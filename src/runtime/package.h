#ifndef TNR_PACKAGE_H
#define TNR_PACKAGE_H
/* The package file: bytes of a tar, mapped, read or borrowed, and where its parts lie. */
#include "base/wire/tar.h"
#include "tenon/runtime.h"

#include <stdbool.h>

typedef struct tnr_span {
    const void *at; /* NULL: absent */
    size_t n;
} tnr_span;

enum { TNR_MAX_MODULE = 8 }; /* beside mod.so */

typedef struct tnr_package {
    void *owned; /* NULL: borrowed */
    size_t n;
    bool mapped;                    /* owned by munmap, else by tnr_mem_free */
    tnr_span so, json, params, sum; /* mod.so and mod.params are never absent after success */
    uint32_t n_file;
    tn_tar_entry file[TNR_MAX_MODULE]; /* of modules, "mod.1.library", until they are taken */
} tnr_package;

/* Does the file begin as a shared object does? */
bool tnr_package_is_library(const char *path);
/* flags: enum tnr_module_flag. Checksums of code and mod.json are checked where the package has them, those
 * of the weights if asked for. */
TNR_CHECKED tnr_status tnr_package_open(const char *path, uint32_t flags, tnr_package *out_package,
                                        tnr_error *err);
TNR_CHECKED tnr_status tnr_package_open_memory(const void *data, size_t n, uint32_t flags,
                                               tnr_package *out_package, tnr_error *err);
/* Takes the file of a module, checked against its line of mod.sum; afterwards the package has no such file. */
TNR_CHECKED tnr_status tnr_package_take(tnr_package *package, const char *name, tnr_span *out,
                                        tnr_error *err);
/* No file is left that nothing took. */
TNR_CHECKED tnr_status tnr_package_finish(const tnr_package *package, tnr_error *err);
void tnr_package_close(tnr_package *package);

#endif
