#ifndef TN_LAUNCH_KERNEL_H
#define TN_LAUNCH_KERNEL_H
/* One kernel of a library on memory of the caller, run by the runtime: a program in memory that gives the kernel's
 * symbols their values and calls it. Variants, steps, phases and threads are the runtime's business.
 *
 *     tn_kernel_runner *r = tn_kernel_open(&(tn_kernel_use){.library = lib, .bytes = bytes}, &err);
 *     if (!r || tn_kernel_run(r, arg, &err))
 *         fprintf(stderr, "%s\n", err.message);
 *     tn_kernel_close(r);
 */
#include "tenon/runtime.h"

#include <stdbool.h>

typedef struct tn_kernel_use {
    const tn_library *library; /* borrowed until tn_kernel_close; its program is not looked at */
    uint32_t kernel;           /* its number */
    const char *node;          /* for messages; NULL: the kernel's own name */
    const uint64_t *bytes;     /* of each argument: inputs, then outputs */
    const int64_t *sym;        /* n_sym values; NULL if there are none */
    int32_t threads;           /* 0: as many as the runtime's pool has */
    bool check;                /* TNR_INSTANCE_CHECK */
} tn_kernel_use;

/* It belongs to the heap of the thread that opens it (base/guard.h). NULL: the runtime refuses it, see *err. */
typedef struct tn_kernel_runner tn_kernel_runner;
tn_kernel_runner *tn_kernel_open(const tn_kernel_use *use, tnr_error *err);
void tn_kernel_close(tn_kernel_runner *r); /* NULL is ignored */

/* Runs it on these inputs, then outputs, which stay with the runner until others are given. */
TNR_CHECKED tnr_status tn_kernel_run(tn_kernel_runner *r, void *const arg[], tnr_error *err);
/* Before each task of the first thread, `ends` is asked whether the run ends there, with TNR_E_CANCEL. NULL: nobody. */
void tn_kernel_ends(tn_kernel_runner *r, tnr_cancel_fn *ends, void *user);
/* Runs it again on the same arguments. */
TNR_CHECKED tnr_status tn_kernel_again(tn_kernel_runner *r, tnr_error *err);

#endif
