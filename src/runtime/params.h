#ifndef TNR_PARAMS_H
#define TNR_PARAMS_H
/* Parameters by name, for the executors. */
#include "tenon/runtime.h"

#include <stdbool.h>

/* false: no such tensor (or params NULL). O(log n). */
bool tnr_params_get(const tnr_params *params, const char *name, DLTensor *out_view, uint64_t *out_bytes);

#endif
