#ifndef TNR_BUNDLE_H
#define TNR_BUNDLE_H
/* A model in the program itself. The functions of a generated header call these: entry.c in objects and libraries, the
 * C text of `-o model.c` by declarations of its own (driver/bundle.c), so a change here is one there. */
#include "tenon/abi.h"

/* inputs, outputs: the header's structs, a pointer for each in the model's order; symbols: NULL if there are
 * none; those that the run finds hold what there is room for before, and what there is after. */
int32_t tnr_bundle_run(tn_bundle *b, const void *inputs, const void *outputs, int64_t *symbols);
int32_t tnr_bundle_reset(tn_bundle *b);              /* states get their first contents */
int32_t tnr_bundle_threads(tn_bundle *b, int32_t n); /* for all models that share this code */
const char *tnr_bundle_error(const tn_bundle *b);
void tnr_bundle_free(tn_bundle *b); /* with the last open model the threads end */

#endif
