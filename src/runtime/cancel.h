#ifndef TNR_CANCEL_H
#define TNR_CANCEL_H
/* Ending a run early. A look is a load, so that it may come between any two instructions. */
#include "tenon/runtime.h"

typedef struct tnr_cancel {
    const int *flag; /* NULL: nobody ends runs */
    tnr_cancel_fn *fn;
    void *user;
} tnr_cancel;

TNR_CHECKED tnr_status tnr_cancel_ask(const tnr_cancel *cancel, uint64_t position, tnr_error *err);

/* TNR_OK or TNR_E_CANCEL. */
static inline tnr_status tnr_cancel_look(const tnr_cancel *cancel, uint64_t position, tnr_error *err)
{
    return cancel->flag && __atomic_load_n(cancel->flag, __ATOMIC_RELAXED)
               ? tnr_cancel_ask(cancel, position, err)
               : TNR_OK;
}

#endif
