/* Ending a run early. */
#include "runtime/error.h"
#include "runtime/floating.h"
#include "runtime/instance.h"

tnr_status tnr_cancel_ask(const tnr_cancel *cancel, uint64_t position, tnr_error *err)
{
    if (cancel->fn) {
        tnr_floating ours = tnr_floating_default();
        int ends = cancel->fn(cancel->user);
        tnr_floating_restore(ours);
        if (!ends)
            return TNR_OK;
    }
    return tnr_fail(err, TNR_E_CANCEL, position, "the run was cancelled");
}

void tnr_cancel_set(tnr_instance *instance, const int *flag, tnr_cancel_fn *fn, void *user)
{
    instance->cancel = (tnr_cancel){.flag = flag, .fn = fn, .user = user};
}
