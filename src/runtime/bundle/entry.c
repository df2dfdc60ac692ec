/* The functions that the header of a self-contained .so, .o or .a declares. The packager renames those that it needs
 * after the module (tenon_bundle_run -> tvmgen_default_run) and makes all other names local, so that several models
 * live in one program. `-o model.c` has these functions in its text. */
#include "runtime/bundle/bundle.h"

/* What the packager links in: the kernels and weights. */
extern tn_bundle tenon_bundle_model;

#define SEEN __attribute__((visibility("default")))
SEEN int32_t tenon_bundle_run(const void *inputs, const void *outputs);
SEEN int32_t tenon_bundle_run_symbolic(const void *inputs, const void *outputs, int64_t *symbols);
SEEN int32_t tenon_bundle_reset(void);
SEEN int32_t tenon_bundle_threads(int32_t n);
SEEN const char *tenon_bundle_error(void);
SEEN void tenon_bundle_free(void);
SEEN tn_bundle_fn tenon_bundle_library;

int32_t tenon_bundle_run_symbolic(const void *inputs, const void *outputs, int64_t *symbols)
{
    return tnr_bundle_run(&tenon_bundle_model, inputs, outputs, symbols);
}

int32_t tenon_bundle_run(const void *inputs, const void *outputs)
{
    return tenon_bundle_run_symbolic(inputs, outputs, NULL);
}

int32_t tenon_bundle_reset(void) { return tnr_bundle_reset(&tenon_bundle_model); }

int32_t tenon_bundle_threads(int32_t n) { return tnr_bundle_threads(&tenon_bundle_model, n); }

const char *tenon_bundle_error(void) { return tnr_bundle_error(&tenon_bundle_model); }

void tenon_bundle_free(void) { tnr_bundle_free(&tenon_bundle_model); }

const tn_bundle *tenon_bundle_library(void) { return &tenon_bundle_model; }
