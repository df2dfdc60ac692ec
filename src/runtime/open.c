/* Opening packages and libraries from files or memory. Apart from module.c, because what a package contains
 * is not known where the runtime is linked: this brings all families of instructions, tars and dlopen. */
#include "runtime/error.h"
#include "runtime/family.h"
#include "runtime/imports.h"
#include "runtime/module.h"

static const tnr_family *const all[]
    __attribute__((used)) = {&tnr_family_frame, &tnr_family_host, &tnr_family_state, &tnr_family_value};

/* From path, or from data if path is NULL. */
static tnr_status open_package(const char *path, tnr_span data, const tnr_module_options *options,
                               tnr_module **out_module, tnr_error *err)
{
    uint32_t flags = options ? options->flags : 0;
    if (!out_module || (!path && !data.at) ||
        (flags & ~(uint32_t)(TNR_MODULE_READ | TNR_MODULE_TEMP_FILE | TNR_MODULE_CHECK_WEIGHTS)))
        return tnr_fail_argument("tnr_module_open", err);
    tnr_module *m = tnr_module_new(err);
    if (!m)
        return TNR_E_MEMORY;
    if (path && tnr_package_is_library(path)) {
        tnr_span params = {0};
        tnr_status opened = tnr_library_open_file(path, flags, &m->object[0], &m->library, &params, err);
        return tnr_module_finish(m, opened ? opened : tnr_module_check(m, (tnr_span){0}, params, err),
                                 out_module);
    }
    tnr_status status = path ? tnr_package_open(path, flags, &m->package, err)
                             : tnr_package_open_memory(data.at, data.n, flags, &m->package, err);
    if (!status)
        status = tnr_library_open(m->package.so.at, m->package.so.n, flags & TNR_MODULE_TEMP_FILE,
                                  &m->object[0], &m->library, err);
    if (!status && m->library->n_module > 1)
        status = tnr_imports_open(m, flags & TNR_MODULE_TEMP_FILE, err);
    if (!status)
        status = tnr_package_finish(&m->package, err);
    if (!status)
        status = tnr_module_check(m, m->package.json, m->package.params, err);
    return tnr_module_finish(m, status, out_module);
}

tnr_status tnr_module_open(const char *path, const tnr_module_options *options, tnr_module **out_module,
                           tnr_error *err)
{
    return open_package(path, (tnr_span){0}, options, out_module, err);
}

tnr_status tnr_module_open_memory(const void *data, size_t n, const tnr_module_options *options,
                                  tnr_module **out_module, tnr_error *err)
{
    return open_package(NULL, (tnr_span){data, n}, options, out_module, err);
}
