#ifndef TN_DRIVER_ELF_MODEL_H
#define TN_DRIVER_ELF_MODEL_H
#include "base/ctx.h"
#include "base/output.h"

#include <stdbool.h>

enum { TN_ELF_MODEL_WEIGHTS = 64 }; /* where the weights begin in the object, and their alignment */

typedef struct tn_elf_model {
    tn_bytes code; /* an object for the same machine and ABI */
    const char
        *entry;     /* the function by which the runtime opens a library: notes are added; NULL: it is none */
    bool large;     /* the weights may lie more than 2 GiB from code */
    uint64_t bytes; /* of the weights, which `write` adds */
    void (*write)(void *user, tn_sink *out);
    void *user;
} tn_elf_model;

/* An object that defines tenon_bundle_model, whose weights (mod.params) are aligned to 64 bytes. driver-E121: a machine
 * that is not known. */
TN_WARN_UNUSED tn_status tn_elf_model_write(tn_ctx *ctx, const tn_elf_model *m, tn_sink *out);

#endif
