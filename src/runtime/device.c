/* The table of devices. */
#include "runtime/device.h"

#include "runtime/mem.h"

#include <string.h>

const tnr_device tnr_devices[] = {
#define DEVICE(kind, type, reaches, align, alloc, free, launch) \
    {kind, type, reaches, align, alloc, free, launch},
#include "runtime/devices.def"
#undef DEVICE
};
enum { ROWS = sizeof tnr_devices / sizeof *tnr_devices };

const tnr_device *tnr_device_find(const char *kind)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(tnr_devices[i].kind, kind) == 0)
            return &tnr_devices[i];
    return NULL;
}
