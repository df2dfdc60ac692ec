/* Modules: what kinds of code this runtime runs beside mod.so, one row each. A kernel that names a function of a module
 * gets the variants of that function at load; afterwards nothing knows of modules. */
#include "runtime/imports.h"

#include "runtime/error.h"
#include "runtime/mem.h"

#include <string.h>

/* Whatever the kind, a module is a library here: its functions are the kernels, found by name. */
typedef tnr_status open_fn(const void *data, size_t n, bool temp_file, tnr_shared_object *out_object,
                           const tn_library **out_library, tnr_error *err);

static const struct kind {
    const char *name;
    open_fn *open;
} kinds[] = {
    {"library", tnr_library_open}, /* another shared object of this ABI */
};

static tnr_status bad(const tn_module *x, const char *what, tnr_status code, tnr_error *err)
{
    return tnr_fail(err, code, 0, "module %.100s: %.400s", x->name, what);
}

static tnr_status open_module(tnr_module *m, uint32_t at, bool temp_file, const tn_library **out,
                              tnr_error *err)
{
    const tn_module *x = &m->library->module[at];
    tnr_span contents = {x->blob, (size_t)x->bytes};
    tnr_error why;
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].name, x->kind) != 0)
        k++;
    if (k == sizeof kinds / sizeof *kinds)
        return tnr_library_refuse_module(x, err);
    for (uint32_t i = 0; i < x->n_import; i++)
        if (x->import[i] >= at)
            return bad(x, "it imports itself or a later module", TNR_E_FORMAT, err);
    tnr_status status = x->blob ? TNR_OK : tnr_package_take(&m->package, x->name, &contents, err);
    if (status)
        return status;
    status = kinds[k].open(contents.at, contents.n, temp_file, &m->object[at], out, &why);
    if (!status)
        status = tnr_library_tables(*out, &why);
    if (status)
        return bad(x, why.message, status, err);
    return (*out)->n_module > 1 ? bad(x, "it has modules of its own", TNR_E_FORMAT, err) : TNR_OK;
}

static const tn_kernel *find(const tn_library *l, const char *function)
{
    for (uint32_t i = 0; i < l->n_kernel; i++)
        if (l->kernel[i].name && strcmp(l->kernel[i].name, function) == 0)
            return &l->kernel[i];
    return NULL;
}

/* The same arguments, and the same of them share memory. */
static bool agree(const tn_kernel *a, const tn_kernel *b)
{
    return a->n_in == b->n_in && a->n_out == b->n_out && a->n_sym == b->n_sym && a->device == b->device &&
           b->module == 0 && a->n_overlap == b->n_overlap &&
           (a->n_overlap == 0 || (a->overlap && b->overlap &&
                                  memcmp(a->overlap, b->overlap, a->n_overlap * sizeof *a->overlap) == 0));
}

static tnr_status resolve(tn_kernel *k, const tn_library *l, const tn_module *x, tnr_error *err)
{
    const tn_kernel *f = find(l, k->function);
    if (!f || !agree(k, f))
        return tnr_fail(err, TNR_E_FORMAT, 0, "module %.100s: its function %.100s %s kernel %.100s", x->name,
                        k->function, f ? "has other arguments than" : "is missing, for", k->name);
    k->variant = f->variant;
    k->n_variant = f->n_variant;
    k->check = f->check;
    k->n_check = f->n_check;
    k->module = 0;
    return TNR_OK;
}

tnr_status tnr_imports_open(tnr_module *m, bool temp_file, tnr_error *err)
{
    const tn_library *l = m->library, *from[1 + TNR_MAX_MODULE];
    tnr_status status = tnr_library_tables(l, err);
    if (!status && l->n_module > 1 + TNR_MAX_MODULE)
        status =
            tnr_fail(err, TNR_E_FORMAT, 0, "this package has %u modules, but this runtime opens up to %d",
                     l->n_module - 1, TNR_MAX_MODULE);
    for (uint32_t i = 1; !status && i < l->n_module; i++)
        status = open_module(m, i, temp_file, &from[i], err);
    if (status)
        return status;
    size_t bytes = sizeof *l + l->n_kernel * sizeof *l->kernel;
    m->merged = tnr_mem_new(1, bytes);
    if (!m->merged)
        return tnr_fail_memory(err, bytes);
    tn_kernel *kernel = (tn_kernel *)(m->merged + 1);
    for (uint32_t i = 0; !status && i < l->n_kernel; i++) {
        tn_kernel *k = &kernel[i]; /* what is not resolved is damage, which tnr_library_check names */
        *k = l->kernel[i];
        if (k->module > 0 && k->module < l->n_module && k->name && k->function)
            status = resolve(k, from[k->module], &l->module[k->module], err);
    }
    *m->merged = *l;
    m->merged->kernel = kernel;
    m->merged->n_module = 0;
    m->library = m->merged;
    return status;
}
