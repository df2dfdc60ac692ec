#ifndef TNR_LIBRARY_H
#define TNR_LIBRARY_H
/* Opening mod.so and modules from memory, and asking a library whether it may run here. */
#include "runtime/package.h"

#include <stdbool.h>

typedef struct tnr_shared_object {
    void *handle; /* dlopen's; NULL: none */
    int fd;       /* kept open: the loader knows objects by name, "/proc/self/fd/<fd>"; -1: none */
} tnr_shared_object;

/* Open n bytes of an ELF shared object privately: through memfd_create, else (or if temp_file) through a
 * temporary file in TMPDIR that is unlinked at once. Finds its tn_library, which may run here. */
TNR_CHECKED tnr_status tnr_library_open(const void *data, size_t n, bool temp_file,
                                        tnr_shared_object *out_object, const tn_library **out_library,
                                        tnr_error *err);
/* A self-contained library (`compile -o model.so`): opened where it lies; its weights. */
TNR_CHECKED tnr_status tnr_library_open_file(const char *path, uint32_t flags, tnr_shared_object *out_object,
                                             const tn_library **out_library, tnr_span *out_params,
                                             tnr_error *err);
void tnr_library_close(tnr_shared_object *object);

/* Version and CPU features; asks the kernel for the leave that a feature needs. Runs nothing of the
 * library. */
TNR_CHECKED tnr_status tnr_library_permit(const tn_library *library, tnr_error *err);

#endif
