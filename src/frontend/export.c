/* The table of formats that modules are written in. */
#include "frontend/export.h"

#include <string.h>

static const tn_export_format formats[] = {
    {"nnvm", tn_export_nnvm},
};

const tn_export_format *tn_export_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}
