#ifndef TNR_DEVICE_H
#define TNR_DEVICE_H
/* What differs between devices: the members of a row of devices.def. Nobody compares kinds. Packages name the host
 * alone so far, so whatever belongs to a value, a kernel or a run takes its row. */
#include "runtime/launch.h"

typedef struct tnr_device {
    const char *kind;
    int32_t type, reaches;
    uint32_t align;
    void *(*alloc)(size_t n);
    void (*free)(void *memory);
    tnr_status (*launch)(const tnr_call_site *site, uint32_t *out_variant, tnr_error *err);
} tnr_device;

enum { TNR_HOST }; /* the host's row */
extern const tnr_device tnr_devices[];
/* NULL: this runtime does not know the kind. */
const tnr_device *tnr_device_find(const char *kind);
/* Can the device's kernels work on memory of that DLPack type? */
static inline bool tnr_device_works_on(const tnr_device *d, int64_t type)
{
    return type == d->type || type == d->reaches;
}

#endif
