#ifndef TN_DRIVER_ELF_LINK_H
#define TN_DRIVER_ELF_LINK_H
/* A linker for shared objects of x86-64 (System V ABI, chapters 4 and 5, and its x86-64 supplement): packages and
 * self-contained libraries are made where no linker is installed. */
#include "base/ctx.h"
#include "base/output.h"

#include <stdbool.h>

typedef struct tn_elf_export { /* a function that the shared object exports, and the name by which it does */
    const char *name, *as;
} tn_elf_export;

typedef struct tn_elf_job {
    uint32_t n_object, n_root, n_export;
    const tn_bytes *object;  /* all of each is linked */
    tn_bytes archive;        /* (.a) of these, the sections that something linked refers to; n 0: none */
    const char *const *root; /* names that are needed, though nothing refers to them */
    const tn_elf_export *exported; /* n_export 0: the one name that the objects export */
    /* The C library that functions are imported from, in its default versions. n 0: the objects need memcpy and memset
     * alone, in whatever version. */
    tn_bytes library;
    bool stays; /* dlclose leaves it in the process: it has threads */
} tn_elf_job;

/* Is this an object for x86-64? */
bool tn_elf_link_can(tn_bytes object);
/* Objects as the LLVM code generator and gcc make them for PIC code without thread-local data. driver-E120. */
TN_WARN_UNUSED tn_status tn_elf_link(tn_ctx *ctx, const tn_elf_job *job, tn_sink *out);

#endif
