#ifndef TNR_LAUNCH_H
#define TNR_LAUNCH_H
/* Calling one kernel: variant, steps, phases, tasks. */
#include "runtime/cancel.h"

#include <stdbool.h>

static inline int64_t tnr_size_get(tn_size s, const int64_t *sym) { return s.fn ? s.fn(sym) : s.value; }

typedef struct tnr_call_site {
    const tn_kernel *kernel; /* checked by tnr_library_check */
    const char *node;        /* for messages */
    uint64_t position;       /* instruction; for messages */
    void *const *arg;        /* n_in + n_out */
    const int64_t *sym;      /* n_sym */
    void *user;              /* tn_call.user */
    void *work;              /* 64-byte aligned */
    uint64_t work_room;      /* bytes at work */
    uint8_t *scratch; /* threads times scratch_stride bytes, 64-byte aligned; NULL if no kernel needs any */
    uint64_t scratch_stride; /* >= every variant's scratch_bytes, multiple of 64 */
    uint32_t threads;        /* > 0 */
    bool check;              /* tasks last to first on one thread; before each, its scratch is NaN */
    const tnr_cancel *cancel;
} tnr_call_site;

/* Index of the first variant whose guard holds, or -1. */
int64_t tnr_variant_find(const tn_kernel *kernel, const int64_t *sym);

/* Run it to the end, or until it is cancelled (TNR_E_CANCEL); barrier after every phase (TN_PHASE_NO_BARRIER permits
 * more, it does not demand it). */
TNR_CHECKED tnr_status tnr_launch(const tnr_call_site *site, uint32_t *out_variant, tnr_error *err);

#endif
