/* The checks on a library's kernel tables, done once at load. They cannot tell whether a pointer is valid,
 * but every count, index and constant size that the executor relies on is looked at here. */
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/exe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_COUNT = 1 << 28 }; /* of anything in a table; far above sense, far below overflow */

static bool in_range(tn_size s, int64_t min, int64_t max)
{
    return s.fn || (s.value >= min && s.value <= max);
}

static const char *variant_fault(const tn_variant *v)
{
    if ((v->n_phase > 0 && !v->phase) || v->n_phase > MAX_COUNT)
        return "a variant without phases";
    if (!in_range(v->steps, 0, UINT32_MAX))
        return "a variant whose steps are out of range";
    if (!in_range(v->work_bytes, 0, INT64_MAX))
        return "a variant with a negative work size";
    if (v->scratch_bytes > MAX_COUNT)
        return "a variant whose scratch is out of range";
    for (uint64_t p = 0; p < v->n_phase; p++)
        if (!v->phase[p].run || !in_range(v->phase[p].tasks, 0, UINT32_MAX))
            return "a phase without a function or with a task count out of range";
    return NULL;
}

static const char *kernel_fault(const tn_kernel *k)
{
    if (!k->source)
        return "no source text";
    if (k->module != 0 || k->device != 0)
        return "a module, a function or a device that does not exist";
    if (k->n_overlap > MAX_COUNT || (k->n_overlap > 0 && !k->overlap))
        return "no list of overlaps";
    if (!k->variant || k->n_variant == 0 || k->n_variant > MAX_COUNT)
        return "no variants";
    if (k->n_in > MAX_COUNT || k->n_out > MAX_COUNT || k->n_sym > MAX_COUNT)
        return "argument counts out of range";
    if (k->n_check > MAX_COUNT || (k->n_check > 0 && !k->check))
        return "no check texts";
    for (uint32_t i = 0; i < k->n_check; i++)
        if (!k->check[i])
            return "a missing check text";
    for (uint32_t i = 0; i < k->n_overlap; i++)
        if (k->overlap[i].in >= k->n_in || k->overlap[i].out >= k->n_out ||
            k->overlap[i].kind > TN_OVERLAP_MUST)
            return "an overlap of arguments that it does not have";
    for (uint32_t v = 0; v < k->n_variant; v++) {
        const char *fault = variant_fault(&k->variant[v]);
        if (fault)
            return fault;
    }
    return NULL;
}

static bool module_is_whole(const tn_module *m)
{
    return m->name && m->kind && (m->n_import == 0 || m->import);
}

tnr_status tnr_library_tables(const tn_library *l, tnr_error *err)
{
    bool whole = l->producer && l->target && (l->n_kernel == 0 || l->kernel) && l->n_kernel <= MAX_COUNT &&
                 (l->n_feature == 0 || l->feature) && l->n_metadata <= MAX_COUNT &&
                 (l->n_metadata == 0 || l->metadata) && l->n_module <= MAX_COUNT &&
                 (l->n_module == 0 || l->module) && l->n_device <= MAX_COUNT &&
                 (l->n_device == 0 || l->device);
    for (uint32_t i = 1; whole && i < l->n_module; i++)
        whole = module_is_whole(&l->module[i]);
    return whole ? TNR_OK
                 : tnr_fail(err, TNR_E_FORMAT, 0, "the library is damaged: its record has missing tables");
}

tnr_status tnr_library_refuse_module(const tn_module *module, tnr_error *err)
{
    return tnr_fail(err, TNR_E_FORMAT, 0,
                    "this package needs code of kind \"%.100s\" (%.100s), which this runtime does not run",
                    module->kind, module->name);
}

/* Each device is known, and the first one is the host. */
static tnr_status check_devices(const tn_library *l, tnr_error *err)
{
    for (uint32_t i = 0; i < l->n_device; i++)
        if (!l->device[i].kind || tnr_device_find(l->device[i].kind) != &tnr_devices[TNR_HOST] || i > 0)
            return tnr_fail(
                err, TNR_E_FORMAT, i,
                "this package needs a device of kind \"%.100s\", which this runtime does not know",
                l->device[i].kind ? l->device[i].kind : "");
    return TNR_OK;
}

tnr_status tnr_library_check(const tn_library *library, tnr_error *err)
{
    tnr_status status = tnr_library_tables(library, err);
    if (!status && library->n_module > 1)
        status = tnr_library_refuse_module(&library->module[1], err);
    if (!status)
        status = check_devices(library, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < 2 * library->n_metadata; i++)
        if (!library->metadata[i])
            return tnr_fail(err, TNR_E_FORMAT, i, "mod.so is damaged: metadata without a key or a value");
    for (uint32_t i = 0; i < library->n_kernel; i++) {
        const tn_kernel *k = &library->kernel[i];
        if (!k->name)
            return tnr_fail(err, TNR_E_FORMAT, i, "mod.so is damaged: kernel %" PRIu32 " has no name", i);
        const char *fault = kernel_fault(k);
        if (fault)
            return tnr_fail(err, TNR_E_FORMAT, i, "mod.so is damaged: kernel %.400s has %s", k->name, fault);
    }
    return TNR_OK;
}
